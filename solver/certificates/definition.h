/// Claims about finitely many values, by their definition.
#pragma once

#include "certificates/facts.h"

#include "inlay/solver/coalescing.h"
#include "inlay/solver/lds.h"

#include <map>
#include <optional>
#include <set>

namespace inlay::solver::independent {

using Environment = std::map<std::string, Number>;
constexpr Number most_evaluations = Number{1} << 24;

class Definition {
public:
  explicit Definition(const Statement& s) : s_(s), e_(plain_) {}

  // The property at one assignment; false is a counterexample.
  bool holds(const Environment& env) {
    env_ = &env;
    const std::string& p = s_.property;
    Number n = size(0);
    if (p == "conflict-free" || p == "coalesced") return by_waves(n);
    if (p == "equal") {
      if (n != size(1)) return false;
      if (s_.by_mode && extents(0) != extents(1)) return false;
    }
    Number term = s_.terms.empty() ? 0 : e_.expression(s_.terms[0], env);
    std::set<Number> seen;
    for (Number i = 0; i < (p == "inverse" ? size(1) : n); ++i) {
      if (p == "inverse") {
        Number y = at(1, i);
        if (y < 0 || y >= n || at(0, y) != i) return false;
        continue;
      }
      Number v = at(0, i);
      if (p == "equal" && v != at(1, i)) return false;
      if (p == "bijective" && (v < 0 || v >= n)) return false;
      if (p == "within" && (v < 0 || v >= term)) return false;
      if (p == "aligned" && (term < 1 || v % term != 0)) return false;
      bool fresh = true;
      if (p == "injective" || p == "bijective" || p == "disjoint" || (p == "covers" && v >= 0 && v < term))
        fresh = seen.insert(v).second;
      if ((p == "injective" || p == "bijective") && !fresh) return false;
    }
    if (p == "covers" && static_cast<Number>(seen.size()) < term) return false;
    if (p == "disjoint") {
      Number m = size(1);
      for (Number j = 0; j < m; ++j)
        if (seen.count(at(1, j)) != 0) return false;
    }
    return true;
  }

  Number evaluations = 0;

private:
  Number size(std::size_t k) {
    Number n = 1;
    for (Number x : extents(k)) n = times(n, x);
    return n;
  }
  std::vector<Number> extents(std::size_t k) {
    std::vector<Number> out;
    for (const Expr& x : s_.functions[k].extents) {
      out.push_back(e_.expression(x, *env_));
      if (out.back() < 1) throw Stuck("an extent below 1");
    }
    return out;
  }
  Number at(std::size_t k, Number i) {
    if (++evaluations > 4 * most_evaluations) throw Stuck("more than 2^26 evaluations");
    return e_.at_index(s_.functions[k], i, *env_);
  }
  // An index as colexicographic coordinates, also for a layout: lanes, values, instances.
  Number at_coordinates(const std::vector<Number>& c) {
    if (++evaluations > 4 * most_evaluations) throw Stuck("more than 2^26 evaluations");
    return e_.at(s_.functions[0], c, *env_);
  }
  bool by_waves(Number n) {
    std::vector<Number> size = extents(0);
    bool lds = s_.property == "conflict-free";
    Number values = !lds && size.size() > 1 ? size[1] : 1, wave = times(size[0], values);
    if (size[0] > 64 || values > 16) throw Stuck("no wave");
    for (Number first = 0; first < n; first += wave) {
      std::vector<std::vector<Number>> bytes(static_cast<std::size_t>(size[0]));
      for (Number k = first; k < first + wave; ++k) {
        std::vector<Number> c;
        Number rest = k;
        for (Number x : size) c.push_back(rest % x), rest /= x;
        bytes[static_cast<std::size_t>(c[0])].push_back(at_coordinates(c));
      }
      if (lds ? !conflict_free(s_, bytes) : !coalesced(s_, bytes)) return false;
    }
    return true;
  }

public:
  static bool conflict_free(const Statement& s, const std::vector<std::vector<Number>>& bytes) {
    const LdsAccess& model = lds_access(s.setting("access"), s.setting("arch"));
    Number width = model.bytes, aligned = model.alignment;
    for (const auto& lane : bytes)
      if (lane[0] % aligned != 0) return false;
    for (const auto& phase : model.phases) {
      std::map<Number, Number> dword_in_bank;
      for (unsigned lane : phase) {
        if (lane >= bytes.size()) continue;
        Number first = quotient(bytes[lane][0], 4);
        for (Number dword = first; dword < first + width / 4; ++dword) {
          Number bank = Plain::modulo(dword, model.banks);
          auto [it, fresh] = dword_in_bank.emplace(bank, dword);
          if (!fresh && it->second != dword) return false;
        }
      }
    }
    return true;
  }
  static Number setting(const Statement& s, const char* key) {
    Expr x = read_expression(s.setting(key));
    if (x->op != "int") throw Stuck(std::string(key) + " is no number");
    return x->value;
  }
  static bool coalesced(const Statement& s, const std::vector<std::vector<Number>>& offsets) {
    Number element = setting(s, "element-bytes"), allowed = setting(s, "lines"),
           line = global_memory(s.setting("arch")).line_bytes;
    std::set<Number> bytes, lines;
    for (const auto& lane : offsets)
      for (std::size_t v = 0; v < lane.size(); ++v) {
        if (lane[v] != lane[0] + static_cast<Number>(v)) return false;
        for (Number b = 0; b < element; ++b) bytes.insert(plus(times(lane[v], element), b));
      }
    for (Number b : bytes) lines.insert(quotient(b, line));
    auto count = static_cast<Number>(lines.size()),
         least = quotient(static_cast<Number>(bytes.size()) + line - 1, line);
    return count <= (allowed == 0 ? least : allowed);
  }

private:
  const Statement& s_;
  Plain plain_;
  Evaluation<Plain> e_;
  const Environment* env_ = nullptr;
};

/// The least and the greatest value that the facts leave a symbol where others have theirs, when they bound it from above.
[[nodiscard]] std::optional<std::pair<Number, Number>>
bounds_of(const std::string& name, const std::vector<Expr>& facts, const Environment& others);
/// Every assignment that the facts allow, when they bound each symbol and leave at most 4096.
[[nodiscard]] std::optional<std::vector<Environment>> assignments(const Statement& s);
/// Few enough values in all to look at each?
[[nodiscard]] bool affordable(const Statement& s, const std::vector<Environment>& all,
                              Number most = most_evaluations);
/// "4096 evaluations at 8 assignments". Errors: False when the claim does not hold.
[[nodiscard]] std::string by_definition(const Statement& s, const std::vector<Environment>& all);

} // namespace inlay::solver::independent
