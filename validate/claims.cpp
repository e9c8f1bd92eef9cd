// Addresses of machine code against claims: terms become formulas in integers, the prover decides.
#include <inlay/validate/claims.h>

#include "claims_text.h"
#include "steps.h"

#include <inlay/runtime/kernarg.h>
#include <inlay/runtime/symbolic/quotient.h>
#include <inlay/runtime/symbolic/witness.h>

#include <inlay/algebra/parse.h>
#include <inlay/algebra/sym.h>
#include <inlay/solver/prove.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace inlay::kernels::validate {
namespace {

using runtime::symbolic::AccessRecord;
using runtime::symbolic::LaneAddress;
using runtime::symbolic::OrderReport;
using runtime::symbolic::PathConditions;
using runtime::symbolic::Term;
using runtime::symbolic::TermKind;
using runtime::symbolic::TermPart;
using runtime::symbolic::Terms;
using solver::Outcome;
using SymVerdict = runtime::symbolic::Verdict;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

class Checker {
public:
  Checker(const OrderReport& report, const runtime::isa::Program& program, const runtime::Kernel& kernel,
          const Claims& claims, const ClaimOptions& options)
      : report_(report), t_(*report.terms), program_(program), claims_(claims),
        steps_(options.budget, options.progress), quotients_(t_, program, report.rounds_to_nearest) {
    facts_ = claims.where;
    buffers_ = claims.buffers;
    // Arguments that a kernel reads by an index of its own; those at constant places are not recorded.
    buffers_.push_back({"kernarg", std::to_string(kernel.kernarg_bytes)});
    for (auto& fact : grid_facts(claims)) facts_.push_back(std::move(fact));
  }

  std::vector<ClaimResult> run();

private:
  std::optional<std::string> formula(Term t);
  std::optional<std::string> condition(Term t, bool value);
  bool in_range(const std::string& text, u64 limit);
  solver::Verdict ask(bool within, const std::string& a, const std::string& b,
                      const std::vector<std::string>& more);
  std::optional<std::pair<std::string, Term>> pointer(Term address);
  /// The conditions of a path; nothing when one has no formula.
  std::optional<std::vector<std::string>> path_of(const PathConditions& path, std::vector<std::string> more) {
    for (const auto& [term, value] : path) {
      const auto c = condition(term, value);
      if (!c) return std::nullopt;
      more.push_back(*c);
    }
    return more;
  }
  /// Decides on each path of the record what is refuted without them: proved on all, refuted on one. `at` is that path.
  template <class Ask>
  std::optional<solver::Verdict> on_paths(const AccessRecord& a, const std::vector<std::string>& more,
                                          const PathConditions** at, const Ask& asks) {
    std::optional<solver::Verdict> all;
    bool open = false;
    for (const PathConditions& path : a.paths) {
      *at = &path;
      const auto facts = path_of(path, more);
      std::optional<solver::Verdict> v = facts ? asks(*facts) : std::nullopt;
      const bool sure = !a.merged || &path != &a.paths.back();
      if (v && v->outcome == Outcome::refuted && sure) return v;
      if (!v || v->outcome != Outcome::proved) open = true;
      all = std::move(v);
    }
    if (open && all && all->outcome != Outcome::unknown) all = std::nullopt;
    return all;
  }
  bool never(Term c, bool value, const std::vector<std::string>& facts);
  /// Whether no path of the record ever has the lane active.
  bool never_active(const AccessRecord& a, const LaneAddress& x) {
    return std::all_of(a.paths.begin(), a.paths.end(), [&](const PathConditions& path) {
      const auto facts = path_of(path, {});
      return never(x.guard, true, facts ? *facts : std::vector<std::string>{});
    });
  }
  [[nodiscard]] std::string without_formula() const {
    return missing_.empty() ? "no integer formula" : "no integer formula for " + missing_;
  }
  ClaimResult inside(std::size_t site, const std::vector<const AccessRecord*>& records);
  ClaimResult matches(const AccessClaim& claim, const std::vector<const AccessRecord*>& records);
  /// The greatest value of a symbol: of a word, or of the periods of a loop when the claims bound its trips.
  [[nodiscard]] std::string most(const std::string& name) const {
    return claims_.trips && name.starts_with("periods_") ? std::to_string(*claims_.trips) : "4294967295";
  }
  bool identical(const std::string& a, const std::string& b);
  std::optional<std::string> differ_on(PathConditions path, Term guard, const std::string& x,
                                       const std::string& y);
  std::string missing_;

  const OrderReport& report_;
  Terms& t_;
  const runtime::isa::Program& program_;
  const Claims& claims_;
  Steps steps_;
  runtime::symbolic::Quotients quotients_;
  std::vector<std::string> facts_;
  std::vector<BufferClaim> buffers_;
  std::map<Term, std::optional<std::string>> formulas_;
  std::map<std::string, bool> ranges_;
  std::map<std::string, solver::Verdict> answers_;
  std::map<Term, std::string> symbols_;
  SymContext context_;
  std::set<std::string> declared_;
};

/// Whether two formulas have one normal form, all symbols being unsigned words: most lanes need no more.
bool Checker::identical(const std::string& a, const std::string& b) {
  try {
    for (const std::string* text : {&a, &b})
      for (const std::string& name : names(*text))
        if (declared_.insert(name).second)
          static_cast<void>(context_.symbol(name, Interval{Int(0), Int(std::stoll(most(name)))}));
    return parse_sym(context_, a) == parse_sym(context_, b);
  } catch (const std::exception&) { // a formula that this reader does not know: the prover's does
    return false;
  }
}

/// 0 <= a < b, or a = b, under the facts that say something about the symbols that occur.
solver::Verdict Checker::ask(bool within, const std::string& a, const std::string& b,
                             const std::vector<std::string>& more) {
  std::string key = (within ? "w" : "e") + a + "|" + b;
  for (const auto& m : more) key += "|" + m;
  if (const auto at = answers_.find(key); at != answers_.end()) return at->second;
  std::set<std::string> known = names(a);
  known.merge(names(b));
  std::vector<std::string> facts = more;
  std::vector<bool> taken(facts_.size());
  for (const auto& m : more) known.merge(names(m));
  for (bool changed = true; changed;) { // what a fact says of one symbol it says in terms of others
    changed = false;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (taken[i]) continue;
      const auto n = names(facts_[i]);
      if (std::none_of(n.begin(), n.end(), [&](const std::string& x) { return known.contains(x); })) continue;
      known.insert(n.begin(), n.end());
      taken[i] = changed = true;
      facts.push_back(facts_[i]);
    }
  }
  std::string left = "(" + a + ")";
  for (const std::string& name : known) {
    left += " + 0*" + name; // a fact must be about something in the question
    facts.push_back(name + " >= 0");
    facts.push_back(name + " <= " + most(name));
  }
  const solver::Options options = small_questions();
  const auto decided = [&](const std::vector<std::string>& given) {
    solver::Verdict v;
    std::size_t length = left.size() + b.size();
    for (const std::string& f : given) length += f.size();
    steps_.take(Steps::question + length);
    try {
      v = within ? solver::prove_within(solver::Subject(left, "1"), b, given, options)
                 : solver::prove_equal(solver::Subject(left, "1"),
                                       solver::Subject("(" + b + ")" + left.substr(a.size() + 2), "1"), given,
                                       options);
    } catch (const std::exception& e) {
      v.obligations.push_back(e.what());
    }
    if (v.outcome == Outcome::unknown) steps_.take(Steps::left_open);
    return v;
  };
  solver::Verdict v = decided(facts);
  // That a loop comes to that trip is known of its first one alone.
  const auto counts = [](const std::string& name) { return name.starts_with("periods_"); };
  if (v.outcome == Outcome::refuted && std::any_of(known.begin(), known.end(), counts)) {
    for (const std::string& name : known)
      if (counts(name)) facts.push_back(name + " <= 0");
    v = decided(facts);
    if (v.outcome != Outcome::refuted) {
      v = {};
      v.obligations.push_back("so in a later trip, which the loop may not make");
    }
  }
  return answers_[key] = v;
}

bool Checker::in_range(const std::string& text, u64 limit) {
  const std::string key = text + "<" + std::to_string(limit);
  if (const auto at = ranges_.find(key); at != ranges_.end()) return at->second;
  const bool yes = ask(true, text, std::to_string(limit), {}).outcome == Outcome::proved;
  return ranges_[key] = yes;
}

/// Numbers that take the access's path under the facts, when the two formulas differ by the same amount for all numbers.
std::optional<std::string> Checker::differ_on(PathConditions path, Term guard, const std::string& x,
                                              const std::string& y) {
  try {
    static_cast<void>(identical(x, y)); // declares the symbols
    if (!(parse_sym(context_, x) - parse_sym(context_, y)).is_constant()) return std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
  path.emplace_back(guard, true);
  const auto found = runtime::symbolic::find_witness(t_, path);
  if (!found) return std::nullopt;
  std::vector<std::string> facts;
  std::string text;
  for (const auto& [symbol, value] : *found) {
    const auto name = formula(symbol);
    if (!name) return std::nullopt;
    facts.push_back(*name + " == " + std::to_string(value));
    text += (text.empty() ? "" : ", ") + *name + " = " + std::to_string(value);
  }
  if (ask(true, "0", "1", facts).outcome != Outcome::proved) return std::nullopt; // the facts forbid them
  return text;
}

/// The term as an integer formula that is equal to it: to the word itself, modulo 2^64 when it is wide.
std::optional<std::string> Checker::formula(Term t) {
  if (const auto at = formulas_.find(t); at != formulas_.end()) {
    if (!at->second && missing_.empty()) missing_ = t_.text(t, 4);
    return at->second;
  }
  constexpr u64 word = u64{1} << 32;
  const auto child = [&](std::size_t i) { return formula(t_.children(t)[i]); };
  const auto checked = [&](const std::string& text) {
    return in_range(text, word) ? text : "((" + text + ") % 4294967296)";
  };
  std::optional<std::string> out;
  switch (t_.kind(t)) {
  case TermKind::symbol:
  case TermKind::load: {
    auto& name = symbols_[t];
    if (name.empty()) {
      name = t_.kind(t) == TermKind::load ? "memory_" + std::to_string(symbols_.size()) : t_.name(t);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '.' || c == '+'; }, '_');
    }
    out = name;
    break;
  }
  case TermKind::linear: {
    const bool wide = t_.is_wide(t);
    const auto signed_of = [&](u64 v) {
      return wide ? static_cast<i64>(v) : i64{static_cast<std::int32_t>(static_cast<u32>(v))};
    };
    if (t_.is_constant(t)) {
      out = std::to_string(wide ? signed_of(t_.raw(t)) : static_cast<i64>(t_.raw(t)));
      break;
    }
    std::string text;
    bool good = true;
    const std::vector<TermPart> parts(t_.parts(t).begin(), t_.parts(t).end());
    const auto put = [&](i64 k, const std::string& what) {
      const u64 size = k < 0 ? 0 - static_cast<u64>(k) : static_cast<u64>(k);
      text += (k < 0          ? (text.empty() ? "0 - " : " - ")
               : text.empty() ? ""
                              : " + ") +
              std::to_string(size) + (what.empty() ? "" : "*(" + what + ")");
    };
    for (const TermPart& p : parts) {
      const auto f = formula(p.atom);
      good = good && f.has_value();
      if (f) put(signed_of(p.coefficient), *f);
    }
    if (t_.raw(t) != 0) put(signed_of(t_.raw(t)), "");
    if (good) out = wide || t_.cannot_wrap(t) ? "(" + text + ")" : checked("(" + text + ")");
    break;
  }
  case TermKind::multiply: {
    const auto a = child(0);
    const auto b = child(1);
    if (a && b) out = checked("(" + *a + ")*(" + *b + ")");
    break;
  }
  case TermKind::product:
  case TermKind::wide_multiply: {
    const auto a = child(0);
    const auto b = child(1);
    if (a && b) out = "((" + *a + ")*(" + *b + "))";
    break;
  }
  case TermKind::sum:
  case TermKind::zext: out = child(0); break;
  case TermKind::sext:
    if (const auto a = child(0); a && in_range(*a, word / 2)) out = a;
    break;
  case TermKind::minimum_signed:
  case TermKind::minimum_unsigned:
  case TermKind::maximum_signed:
  case TermKind::maximum_unsigned: {
    const auto a = child(0);
    const auto b = child(1);
    const TermKind k = t_.kind(t);
    const bool is_signed = k == TermKind::minimum_signed || k == TermKind::maximum_signed;
    // |x| as the greater of x and -x, where the sign is known.
    if (k == TermKind::maximum_signed &&
        t_.value(t_.add(t_.children(t)[0], t_.children(t)[1])) == std::uint64_t{0}) {
      if (a && in_range(*a, word / 2)) out = a;
      if (b && !out && in_range(*b, word / 2)) out = b;
      break;
    }
    if (!a || !b || (is_signed && !(in_range(*a, word / 2) && in_range(*b, word / 2)))) break;
    out = std::string(k == TermKind::minimum_signed || k == TermKind::minimum_unsigned ? "min" : "max") +
          "(" + *a + ", " + *b + ")";
    break;
  }
  case TermKind::shift_right:
    if (const auto n = t_.value(t_.children(t)[1]))
      if (const auto a = child(0)) out = "((" + *a + ") / " + std::to_string(u64{1} << (*n & 31)) + ")";
    break;
  case TermKind::bit_and:
    if (const auto m = t_.value(t_.children(t)[1])) {
      const auto a = child(0);
      if (!a) break;
      const u64 low = *m & (~*m + 1); // the mask's lowest bit
      if (((*m + 1) & *m) == 0) {
        out = "((" + *a + ") % " + std::to_string(*m + 1) + ")";
      } else if (*m + low == word) {
        out = "(((" + *a + ") / " + std::to_string(low) + ") * " + std::to_string(low) + ")";
      } else {
        out = "((" + *a + ") & " + std::to_string(*m) + ")";
      }
    }
    break;
  case TermKind::bit_xor:
  case TermKind::bit_or: {
    const auto a = child(0);
    const auto b = child(1);
    if (a && b) out = "((" + *a + (t_.kind(t) == TermKind::bit_xor ? ") ^ (" : ") | (") + *b + "))";
    break;
  }
  case TermKind::shift_right_signed:
    if (const auto n = t_.value(t_.children(t)[1]))
      if (const auto a = child(0); a && in_range(*a, word / 2))
        out = (*n & 31) == 31 ? "0" : "((" + *a + ") / " + std::to_string(u64{1} << (*n & 31)) + ")";
    break;
  case TermKind::select: {
    if (const auto q = quotients_.read(t)) {
      const auto x = formula(q->dividend), y = formula(q->divisor);
      if (x && y && ask(true, "(" + *y + ") - 1", "4294967295", {}).outcome == Outcome::proved) {
        out = "((" + *x + (q->remainder ? ") % (" : ") / (") + *y + "))";
        break;
      }
    }
    // |x|, where the sign is known.
    if (const Term c = t_.children(t)[0];
        t_.kind(c) == TermKind::less_signed && t_.value(t_.children(c)[1]) == 0)
      if (const auto x = formula(t_.children(c)[0]); x && in_range(*x, word / 2)) {
        out = child(2);
        break;
      }
    const auto c = condition(t_.children(t)[0], true);
    const auto a = child(1);
    const auto b = child(2);
    if (c && a && b) out = "select(" + *c + ", " + *a + ", " + *b + ")";
    break;
  }
  default: break;
  }
  if (!out && missing_.empty()) missing_ = t_.text(t, 4);
  return formulas_[t] = out;
}

std::optional<std::string> Checker::condition(Term c, bool value) {
  while (t_.kind(c) == TermKind::invert) {
    c = t_.children(c)[0];
    value = !value;
  }
  const TermKind k = t_.kind(c);
  if (const auto v = t_.value(c)) return std::string((*v != 0) == value ? "0 == 0" : "0 == 1");
  if (k == TermKind::all || k == TermKind::any) {
    const std::vector<Term> items(t_.children(c).begin(), t_.children(c).end());
    std::string text;
    for (const Term i : items) {
      const auto f = condition(i, value);
      if (!f) return std::nullopt;
      text += (text.empty() ? "(" : (k == TermKind::all) == value ? " && (" : " || (") + *f + ")";
    }
    return text;
  }
  if (k != TermKind::equal && k != TermKind::less_signed && k != TermKind::less_unsigned) return std::nullopt;
  const auto a = formula(t_.children(c)[0]);
  const auto b = formula(t_.children(c)[1]);
  if (!a || !b) return std::nullopt;
  constexpr u64 half = u64{1} << 31;
  if (k == TermKind::less_signed && !(in_range(*a, half) && in_range(*b, half))) return std::nullopt;
  const char* relation = k == TermKind::equal ? (value ? " == " : " != ") : value ? " < " : " >= ";
  return *a + relation + *b;
}

/// Whether it is shown that the condition never has that value where the facts hold. The facts themselves are no reason: what
/// they contradict is not asked here, the opposite of each comparison is proved.
bool Checker::never(Term c, bool value, const std::vector<std::string>& facts) {
  while (t_.kind(c) == TermKind::invert) {
    c = t_.children(c)[0];
    value = !value;
  }
  if (c == Terms::unknown) return false;
  const TermKind k = t_.kind(c);
  if (const auto v = t_.value(c)) return (*v != 0) != value;
  if (k == TermKind::all || k == TermKind::any) {
    const std::vector<Term> items(t_.children(c).begin(), t_.children(c).end());
    const auto one = [&](Term i) { return never(i, value, facts); };
    return (k == TermKind::all) == value ? std::any_of(items.begin(), items.end(), one)
                                         : std::all_of(items.begin(), items.end(), one);
  }
  if ((k != TermKind::less_signed && k != TermKind::less_unsigned) || !condition(c, value)) return false;
  const auto a = formula(t_.children(c)[0]), b = formula(t_.children(c)[1]);
  const std::string rest = value ? "(" + *a + ") - (" + *b + ")" : "(" + *b + ") - (" + *a + ") - 1";
  return ask(true, rest, "4294967296", facts).outcome == Outcome::proved;
}

/// The pointer argument in an address, and the rest.
std::optional<std::pair<std::string, Term>> Checker::pointer(Term address) {
  if (address == Terms::unknown || address == 0) return std::nullopt;
  std::optional<std::pair<std::string, Term>> found;
  const auto look = [&](Term atom, u64 coefficient) {
    if (t_.kind(atom) != TermKind::pair || coefficient != 1 ||
        t_.kind(t_.children(atom)[0]) != TermKind::symbol)
      return;
    std::string name = t_.name(t_.children(atom)[0]);
    const Term high = t_.children(atom)[1];
    if (!name.ends_with(".lo") || t_.kind(high) != TermKind::symbol ||
        t_.name(high) != name.substr(0, name.size() - 2) + "hi")
      return;
    found = {{name.substr(0, name.size() - 3), atom}};
  };
  if (t_.kind(address) == TermKind::linear) {
    for (const TermPart& p : std::vector<TermPart>(t_.parts(address).begin(), t_.parts(address).end()))
      look(p.atom, p.coefficient);
  } else {
    look(address, 1);
  }
  if (!found) return std::nullopt;
  return {{found->first, t_.subtract(address, found->second)}};
}

/// The numbers that refute, as the end of a sentence; nothing when it is so for all.
std::string for_numbers(const solver::Verdict& v) {
  std::string s;
  if (v.witness)
    for (const auto& [name, value] : v.witness->symbols)
      s += (s.empty() ? " for " : ", ") + name + " = " + std::to_string(value);
  return s;
}

ClaimResult Checker::inside(std::size_t site, const std::vector<const AccessRecord*>& records) {
  ClaimResult r;
  r.address = program_.instructions[site].address;
  r.instruction = program_.instructions[site].text;
  r.claim = "inside";
  r.verdict = SymVerdict::validated;
  std::set<std::string> how;
  std::set<std::tuple<Term, Term, Term>> shown; // on every path
  const auto stop = [&](SymVerdict v, const AccessRecord& a, unsigned lane, const std::string& why) {
    if (r.verdict == SymVerdict::refuted) return;
    r.verdict = v;
    r.wave = a.wave;
    r.lane = lane;
    r.message = why;
  };
  for (const AccessRecord* a : records) {
    // Lanes whose addresses differ by numbers stand for each other: the least and the greatest.
    std::map<std::tuple<Term, Term, Term>, std::array<unsigned, 2>> groups;
    for (unsigned l = 0; l < a->lanes.size(); ++l) {
      const LaneAddress& x = a->lanes[l];
      if (x.guard == 0) continue;
      const auto [base, shift] = t_.split(x.address);
      auto [at, fresh] = groups.try_emplace({x.guard, base, x.records}, std::array<unsigned, 2>{l, l});
      if (fresh) continue;
      const auto offset = [&](unsigned lane) {
        return static_cast<i64>(t_.split(a->lanes[lane].address).second);
      };
      if (static_cast<i64>(shift) < offset(at->second[0])) at->second[0] = l;
      if (static_cast<i64>(shift) > offset(at->second[1])) at->second[1] = l;
    }
    for (const auto& [key, ends] : groups) {
      for (const unsigned l : ends) {
        const LaneAddress& x = a->lanes[l];
        if (shown.contains({x.guard, x.address, x.records})) continue;
        missing_.clear();
        const auto p = pointer(x.address);
        if (!p) {
          if (t_.value(x.guard) != 1 && never_active(*a, x)) continue;
          stop(SymVerdict::undecided, *a, l,
               x.address == Terms::unknown ? "the address is not followed"
                                           : "no pointer argument in the address " + t_.text(x.address, 5));
          continue;
        }
        r.claim = "inside " + p->first;
        const auto buffer = std::find_if(buffers_.begin(), buffers_.end(),
                                         [&](const BufferClaim& b) { return b.argument == p->first; });
        if (buffer == buffers_.end()) {
          stop(SymVerdict::undecided, *a, l, "no claim says how many bytes " + p->first + " has");
          continue;
        }
        const auto decide = [&](const std::optional<std::string>& low, const std::optional<std::string>& high,
                                u64 bytes,
                                const std::vector<std::string>& more) -> std::optional<solver::Verdict> {
          if (!low || !high) return std::nullopt;
          const solver::Verdict first = ask(true, *low, "(" + buffer->bytes + ") + 1", more);
          if (first.outcome != Outcome::proved || *low == *high) {
            if (bytes == 0 || first.outcome != Outcome::proved) return first;
          }
          return ask(true, "(" + *high + ") + " + std::to_string(bytes), "(" + buffer->bytes + ") + 1", more);
        };
        std::optional<solver::Verdict> v;
        if (x.records != 0) { // the descriptor's range
          const Term begin = t_.subtract(p->second, x.offset);
          const auto low = formula(begin);
          const auto size = formula(x.records);
          v = decide(low,
                     low && size ? std::optional<std::string>("(" + *low + ") + (" + *size + ")")
                                 : std::nullopt,
                     0, {});
          if (v && v->outcome == Outcome::proved) {
            how.insert("the descriptor's range, " + v->method);
            shown.emplace(x.guard, x.address, x.records);
            continue;
          }
          if (v && v->outcome == Outcome::refuted) { // is it so on these paths?
            const PathConditions* path = nullptr;
            v = on_paths(*a, {}, &path, [&](const std::vector<std::string>& facts) {
              return decide(low, "(" + *low + ") + (" + *size + ")", 0, facts);
            });
            if (v && v->outcome == Outcome::proved) {
              how.insert("the descriptor's range, " + v->method);
              continue;
            }
          }
          if (!t_.value(x.records)) {
            stop(v && v->outcome == Outcome::refuted ? SymVerdict::refuted : SymVerdict::undecided, *a, l,
                 low && size
                     ? "the descriptor's range begins at byte " + *low + " of " + p->first + " and has " +
                           *size + " bytes, " + p->first + " has " + buffer->bytes + ": " +
                           (v && v->outcome == Outcome::refuted ? "outside" + for_numbers(*v) : "not shown")
                     : without_formula());
            continue;
          }
        }
        std::vector<std::string> more;
        if (t_.value(x.guard) != 1) {
          if (const auto g = condition(x.guard, true)) more.push_back(*g);
        }
        const auto off = formula(p->second);
        const auto by_lane = decide(off, off, a->bytes, more);
        if (by_lane && by_lane->outcome == Outcome::proved) {
          how.insert("lane by lane, " + by_lane->method);
          shown.emplace(x.guard, x.address, x.records);
          continue;
        }
        // What is outside a descriptor's range is dropped and no access.
        const auto drops = [&] {
          if (x.records == 0) return false;
          const auto at = formula(x.offset);
          const auto size = t_.value(x.records);
          return !at || !size ||
                 ask(true, "(" + *at + ") + " + std::to_string(a->bytes), std::to_string(*size + 1), more)
                         .outcome != Outcome::proved;
        };
        if (by_lane && by_lane->outcome == Outcome::refuted && !drops() &&
            more.size() == (t_.value(x.guard) == 1 ? 0 : 1)) {
          const PathConditions* path = nullptr;
          const auto there = on_paths(*a, more, &path, [&](const std::vector<std::string>& facts) {
            return decide(off, off, a->bytes, facts);
          });
          if (there && there->outcome == Outcome::proved) {
            how.insert("lane by lane, " + there->method);
            continue;
          }
          if (there && there->outcome == Outcome::refuted) {
            stop(SymVerdict::refuted, *a, l,
                 std::to_string(a->bytes) + " bytes at byte " + *off + " of " + p->first + ", which has " +
                     buffer->bytes + ": outside" + for_numbers(*there));
            continue;
          }
        }
        if (t_.value(x.guard) != 1 && never_active(*a, x)) {
          how.insert("lanes that are never active");
          continue;
        }
        stop(SymVerdict::undecided, *a, l,
             off ? "not shown: 0 <= " + *off + " and + " + std::to_string(a->bytes) + " <= " + buffer->bytes
                 : without_formula());
      }
    }
  }
  if (r.verdict == SymVerdict::validated) {
    for (const auto& h : how) r.message += (r.message.empty() ? "" : "; ") + h;
  }
  return r;
}

ClaimResult Checker::matches(const AccessClaim& claim, const std::vector<const AccessRecord*>& records) {
  ClaimResult r;
  r.address = claim.address;
  r.claim = "access " + claim.argument;
  r.verdict = SymVerdict::validated;
  std::size_t lanes = 0, idle = 0;
  std::set<std::string> how;
  if (records.empty()) {
    r.verdict = SymVerdict::undecided;
    r.message = "no access was recorded there";
    return r;
  }
  r.instruction = program_.instructions[records[0]->instruction].text;
  for (const AccessRecord* a : records) {
    std::string visit = std::to_string(a->visit);
    for (const auto& [u, step] : a->visit_steps) visit += " + " + std::to_string(step) + "*" + *formula(u);
    for (unsigned l = 0; l < a->lanes.size(); ++l) {
      const LaneAddress& x = a->lanes[l];
      if (x.guard == 0) continue;
      missing_.clear();
      const auto stop = [&](SymVerdict v, const std::string& why) {
        if (r.verdict == SymVerdict::refuted ||
            (r.verdict == SymVerdict::undecided && v != SymVerdict::refuted))
          return;
        r.verdict = v;
        r.wave = a->wave;
        r.lane = l;
        r.message = why;
      };
      const auto p = pointer(x.address);
      const auto idle_lane = [&] {
        const bool yes = t_.value(x.guard) != 1 && never_active(*a, x);
        idle += yes ? 1 : 0;
        return yes;
      };
      if (!p || p->first != claim.argument) {
        if (r.verdict == SymVerdict::refuted || idle_lane()) continue;
        stop(p ? SymVerdict::refuted : SymVerdict::undecided, "the address is " + t_.text(x.address, 6));
        continue;
      }
      std::vector<std::string> more;
      if (t_.value(x.guard) != 1)
        if (const auto g = condition(x.guard, true)) more.push_back(*g);
      Term offset = p->second;
      // Lanes that are sent out of range instead of being switched off: the others count.
      if (x.records != 0) {
        for (const TermPart& part : std::vector<TermPart>(t_.parts(offset).begin(), t_.parts(offset).end())) {
          if (part.coefficient != 1 || t_.kind(part.atom) != TermKind::zext) continue;
          const Term s = t_.children(part.atom)[0];
          if (t_.kind(s) != TermKind::select) continue;
          const Term c = t_.children(s)[0];
          const Term yes = t_.children(s)[1];
          const Term no = t_.children(s)[2];
          const bool drops_no = t_.value(no) == 0x80000000U;
          if (!drops_no && t_.value(yes) != 0x80000000U) continue;
          offset = t_.add(t_.subtract(offset, part.atom), t_.zext(drops_no ? yes : no));
          if (const auto g = condition(c, drops_no)) more.push_back(*g);
        }
      }
      const auto off = formula(offset);
      if (!off) {
        const std::string why = without_formula();
        if (r.verdict != SymVerdict::validated || idle_lane()) continue;
        stop(SymVerdict::undecided, why);
        continue;
      }
      std::string expected;
      for (std::size_t i = 0; i < claim.offset.size();) { // lane, wave and visit are numbers here
        const auto rest = std::string_view(claim.offset).substr(i);
        const auto name = names(rest.substr(
            0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")));
        if (name.size() == 1 && rest.starts_with(*name.begin())) {
          expected += *name.begin() == "lane"    ? std::to_string(l)
                      : *name.begin() == "wave"  ? std::to_string(a->wave)
                      : *name.begin() == "visit" ? "(" + visit + ")"
                                                 : *name.begin();
          i += name.begin()->size();
        } else {
          expected += claim.offset[i++];
        }
      }
      if (identical(*off, expected)) {
        ++lanes;
        how.insert("normal form");
        continue;
      }
      if (r.verdict != SymVerdict::validated) continue; // one lane is enough to say so
      auto v = ask(false, *off, expected, more);
      if (v.outcome == Outcome::unknown && idle_lane()) continue;
      if (v.outcome == Outcome::refuted) { // is it so on these paths?
        const PathConditions* path = nullptr;
        v = on_paths(*a, more, &path, [&](const std::vector<std::string>& facts) {
              return std::optional(ask(false, *off, expected, facts));
            }).value_or(solver::Verdict());
        if (const auto numbers_of = v.outcome == Outcome::unknown && !a->merged
                                        ? differ_on(*path, x.guard, *off, expected)
                                        : std::nullopt) {
          ++lanes;
          stop(SymVerdict::refuted, "the code accesses byte " + *off + ", the claim says " + expected +
                                        "; they differ for all sizes, and " + *numbers_of + " come here");
          continue;
        }
      }
      ++lanes;
      if (v.outcome == Outcome::refuted) {
        stop(SymVerdict::refuted, "the code accesses byte " + *off + ", the claim says " + expected +
                                      "; they differ" + for_numbers(v));
      } else if (v.outcome == Outcome::unknown) {
        stop(SymVerdict::undecided, "not shown: " + *off + " = " + expected +
                                        (v.obligations.empty() ? "" : " (" + v.obligations[0] + ")"));
      } else {
        how.insert(v.method);
      }
    }
  }
  if (r.verdict == SymVerdict::validated) {
    r.message = lanes == 0 ? "no lane is ever active there" : std::to_string(lanes) + " lanes, ";
    for (const auto& h : how) r.message += (h == *how.begin() ? "" : ", ") + h;
    if (lanes != 0 && idle != 0) r.message += "; " + std::to_string(idle) + " are never active";
  }
  return r;
}

std::vector<ClaimResult> Checker::run() {
  std::map<std::size_t, std::vector<const AccessRecord*>> sites;
  for (const AccessRecord& a : report_.accesses)
    if (!a.lds) sites[a.instruction].push_back(&a);
  std::vector<ClaimResult> out;
  const auto within_budget = [&](ClaimResult undecided, const auto& judge) {
    try {
      out.push_back(judge());
    } catch (const NotFollowed& n) {
      undecided.message = n.why;
      out.push_back(std::move(undecided));
    }
  };
  const auto open = [&](std::string claim, std::uint64_t address, std::optional<std::size_t> at) {
    ClaimResult r;
    r.claim = std::move(claim);
    r.address = address;
    if (at) r.instruction = program_.instructions[*at].text;
    return r;
  };
  if (!claims_.buffers.empty())
    for (const auto& [site, records] : sites)
      within_budget(open("inside", program_.instructions[site].address, site),
                    [&, of = site, &all = records] { return inside(of, all); });
  for (const AccessClaim& c : claims_.accesses) {
    const auto at = program_.index_of(c.address);
    within_budget(open("access " + c.argument, c.address, at), [&] {
      return matches(c, at && sites.contains(*at) ? sites[*at] : std::vector<const AccessRecord*>{});
    });
  }
  return out;
}

} // namespace

std::vector<ClaimResult> check_claims(const OrderReport& report, const runtime::isa::Program& program,
                                      const runtime::Kernel& kernel, const Claims& claims,
                                      const ClaimOptions& options) {
  check_names(kernel, claims);
  return Checker(report, program, kernel, claims, options).run();
}

} // namespace inlay::kernels::validate
