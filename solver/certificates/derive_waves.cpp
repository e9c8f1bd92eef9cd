#include "certificates/derive_waves.h"

#include "certificates/definition.h"

#include <algorithm>
#include <set>

namespace inlay::solver::independent {
namespace {

struct Residues : Plain { // numbers of which some stand for everything of their residue class
  struct Value {
    Number n = 0;
    bool any = false;
  };
  static Value number(Number n) { return {n, false}; }
  static Value add(Value a, Value b) { return {plus(a.n, b.n), a.any || b.any}; }
  static Value multiply(Value a, Value b) { return {times(a.n, b.n), a.any || b.any}; }
  static Value exact(Value a, Value b, Number n) {
    // A representative stands for its class through sums and products; a quotient, a mask or a comparison of
    // it would be that of one member.
    if (a.any || b.any) throw Stuck("a symbol that does not enter by + - * only");
    return {n, false};
  }
  static Value divide(Value a, Value b) { return exact(a, b, a.any || b.any ? 0 : Plain::divide(a.n, b.n)); }
  static Value modulo(Value a, Value b) { return exact(a, b, a.any || b.any ? 0 : Plain::modulo(a.n, b.n)); }
  static Value power(Value a) { return exact(a, a, a.any ? 0 : Plain::power(a.n)); }
  static Value bitwise(char op, Value a, Value b) { return exact(a, b, Plain::bitwise(op, a.n, b.n)); }
  static bool truth(Value a) { return exact(a, a, a.n).n != 0; }
  static bool compare(const std::string& op, Value a, Value b) {
    return Plain::compare(op, a.n, exact(a, b, b.n).n);
  }
};

} // namespace

// Below the outer swizzles and offsets the address is a sum of products (else Residues is stuck), so that its residue modulo the period is
// decided by those of its symbols; the period is a multiple of what the banks and the swizzles look at.
std::string banks_by_residues(Derivation& derivation) {
  const Statement& s = derivation.s;
  derivation.symbols();
  Function core = s.functions[0];
  std::vector<Stage> outer;
  while (!core.outer.empty() && core.outer.front().modes.empty()) {
    // These are applied to the sum in the end, as numbers: the period is a multiple of all bits that they
    // read or write.
    outer.push_back(core.outer.front());
    core.outer.erase(core.outer.begin());
  }
  Number period = 4 * static_cast<Number>(lds_access(s.setting("access"), s.setting("arch")).banks);
  for (const Stage& w : outer)
    period = std::max(period, Number{1} << (w.bits + w.base + (w.shift < 0 ? -w.shift : w.shift)));
  Residues algebra;
  Evaluation<Residues> e(algebra);
  struct Free {
    std::string name; // of an inner symbol; "" for an instance coordinate
    Number first, count;
    bool any;
  };
  std::vector<Free> free;
  for (const Variable& v : derivation.d.all) {
    std::string n = v.smt;
    n.erase(std::remove(n.begin(), n.end(), '|'), n.end());
    // Checked: a distance that wrapped around would be a range without a value, and nothing would be looked at.
    Number beyond = v.upper ? plus(*v.upper, -v.lower) : period;
    // A symbol of few values has just those; of more, its residues, whatever its bounds are: more than are asked.
    bool small = beyond < period;
    free.push_back({n.substr(2), v.lower, small ? beyond + 1 : period, !small});
  }
  for (std::size_t k = 1; k < core.extents.size(); ++k) {
    // An instance coordinate of unknown extent takes every residue, also where the extent is less for some
    // values: more than are asked.
    auto n = number_in(derivation.e.expression(core.extents[k], derivation.user));
    bool small = n && *n <= period;
    free.push_back({"", 0, small ? *n : period, !small});
  }
  auto lanes = number_in(derivation.e.expression(core.extents[0], derivation.user));
  if (!lanes || *lanes > 64) throw Stuck("no wave");
  Number points = 1;
  for (const Free& f : free)
    if ((points = times(points, f.count)) * *lanes > most_evaluations)
      throw Stuck("more than 2^24 evaluations");
  std::map<std::string, Expr> lets;
  for (const auto& [key, value] : s.hints)
    // The user's symbols as functions of the inner ones, which are what is enumerated; symbols() has shown
    // that nothing is left out by that.
    if (key == "let")
      lets[value.substr(0, value.find(" = "))] = read_expression(value.substr(value.find(" = ") + 3));
  // Each class at two of its values, and several in all combinations: lanes that want one dword at the first may want two at
  // another one.
  const auto classes = std::count_if(free.begin(), free.end(), [](const Free& f) { return f.any; });
  const Number corners = Number{1} << classes;
  for (Number point = 0; point < corners * points; ++point) {
    Number rest = point / corners, second = point % corners;
    std::map<std::string, Residues::Value> inner, user;
    std::vector<Residues::Value> at(1);
    for (const Free& f : free) {
      Residues::Value v{plus(f.first, rest % f.count + (f.any ? second % 2 * period : 0)), f.any};
      if (f.any) second /= 2;
      rest /= f.count;
      if (f.name.empty()) {
        at.push_back(v);
      } else {
        inner[f.name] = v;
      }
    }
    for (const auto& [name, p] : lets) user[name] = e.expression(p, inner);
    std::vector<std::vector<Number>> bytes;
    for (Number lane = 0; lane < *lanes; ++lane) {
      at[0] = {lane, false};
      Number x = e.at(core, at, user).n;
      for (std::size_t k = outer.size(); k-- > 0;) {
        const Stage& w = outer[k];
        if (w.offset) {
          x = plus(x, e.expression(w.offset, user).n);
          continue;
        }
        int from = w.base + (w.shift > 0 ? w.shift : 0), to = w.base + (w.shift < 0 ? -w.shift : 0);
        // Written out here, so that a mistake in the prover's swizzle() is not made again.
        x ^= ((x >> from) & ((Number{1} << w.bits) - 1)) << to;
      }
      bytes.push_back({x});
    }
    // The definition itself, on the bytes of one point.
    if (!Definition::conflict_free(s, bytes)) throw Stuck("the claim is false where it was evaluated");
  }
  return text(points) + " residues and instances modulo " + text(period);
}

// Each lane's byte is a number plus a sum that the line divides, beside a base that all share. Bytes with one such sum are counted together,
// as they are apart by numbers; those of different sums as if they were on different lines, which is at most too many (coalescing.cpp
// says why the claim survives where they are not). The base is tried at every residue that the gcd of its coefficients leaves it.
std::string lines_by_forms(Derivation& derivation) {
  const Statement& s = derivation.s;
  derivation.symbols();
  const Function& f = s.functions[0];
  Number element = Definition::setting(s, "element-bytes"), allowed = Definition::setting(s, "lines"),
         line = global_memory(s.setting("arch")).line_bytes;
  std::vector<std::optional<Number>> size;
  for (const Expr& x : f.extents) size.push_back(number_in(derivation.e.expression(x, derivation.user)));
  if (!size[0] || *size[0] > 64 || (size.size() > 1 && (!size[1] || *size[1] > 16))) throw Stuck("no wave");
  Number values = size.size() > 1 ? *size[1] : 1, instances = 1;
  std::vector<bool> counted(size.size());
  std::vector<Sum> at(size.size());
  for (std::size_t k = 2; k < size.size(); ++k) {
    // The limit is the prover's, but nothing depends on it: an instance taken as a digit where the prover
    // counted it has more to satisfy.
    counted[k] = size[k] && instances * *size[k] <= 1024;
    if (counted[k]) {
      instances *= *size[k];
    } else {
      at[k] =
          derivation.d.digit(derivation.e.expression(f.extents[k], derivation.user), "x" + std::to_string(k));
    }
  }
  for (Number i = 0; i < instances; ++i) {
    Number rest = i;
    for (std::size_t k = 2; k < size.size(); ++k)
      if (counted[k]) at[k] = constant(rest % *size[k]), rest /= *size[k];
    std::optional<Sum> base;
    Number step = line;
    std::map<Product, int> unused;
    std::vector<std::pair<Sum, Number>> places; // rest, byte
    for (Number lane = 0; lane < *size[0]; ++lane) {
      Number first = 0;
      for (Number value = 0; value < values; ++value) {
        at[0] = constant(lane);
        if (at.size() > 1) at[1] = constant(value);
        Sum x = derivation.e.at(f, at, derivation.user) * constant(element);
        Number c = x.terms.count({}) != 0 ? x.terms.at({}) : 0;
        x = x - constant(c);
        // Lane 0's first byte without its number is what all lanes share: where it is zero modulo the line
        // and where not is the `shift` below.
        if (!base) {
          base = x;
          for (const auto& [p, n] : x.terms) {
            Number a = n < 0 ? -n : n;
            // gcd of the line and all coefficients: the base is a multiple of it at every value of the
            // symbols.
            while (a != 0) std::swap(step %= a, a);
          }
        }
        x = x - *base;
        // What is left between two lanes must not move a byte to another place of its line, or lines could not be counted by numbers.
        for (const auto& [p, n] : x.terms)
          if (n % line != 0) throw Stuck("lanes that differ by no multiple of the line");
        if (value == 0) first = c;
        if (c != first + value * element || (value > 0 && !(places.back().first == x)))
          throw Stuck("a torn vector");
        places.emplace_back(x, c);
      }
    }
    for (Number shift = 0; shift < line; shift += step) {
      std::vector<std::pair<Sum, std::set<Number>>> by_rest;
      for (const auto& place : places) {
        const Sum& x = place.first;
        Number c = place.second;
        auto it = std::find_if(by_rest.begin(), by_rest.end(), [&](const auto& y) { return y.first == x; });
        if (it == by_rest.end()) it = by_rest.insert(it, {x, {}});
        // Byte by byte in a set, where the prover merges intervals: two countings that share nothing.
        for (Number b = 0; b < element; ++b) it->second.insert(c + shift + b);
      }
      Number lines = 0, bytes = 0;
      for (const auto& [x, set] : by_rest) {
        std::set<Number> mine;
        for (Number b : set) mine.insert(quotient(b, line));
        lines += static_cast<Number>(mine.size()), bytes += static_cast<Number>(set.size());
      }
      if (lines > (allowed == 0 ? quotient(bytes + line - 1, line) : allowed))
        throw Stuck("more lines than are claimed");
    }
  }
  return "every lane's bytes modulo " + text(line);
}

} // namespace inlay::solver::independent
