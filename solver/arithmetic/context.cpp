#include "arithmetic/context.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <random>

namespace inlay::solver {
namespace {

// a && b is two conditions, each of which may become a substitution; a || b is none and stays as it is.
void conjuncts(const FormulaRef& f, std::vector<FormulaRef>& out) {
  if (f->op == Op::logical_and) {
    conjuncts(f->args[0], out);
    conjuncts(f->args[1], out);
  } else {
    out.push_back(f);
  }
}

std::optional<Wide> literal(const FormulaRef& f) {
  // 2*(4-7) is as good as -6: bounds are written as they were computed.
  if (!names_of(f).empty()) return std::nullopt;
  return evaluate(f, [](const std::string&) -> Wide { return 0; });
}

// b >= a is as good as a <= b: only one side of each comparison has to be looked at.
Op mirrored(Op op) {
  switch (op) {
  case Op::lt: return Op::gt;
  case Op::le: return Op::ge;
  case Op::gt: return Op::lt;
  case Op::ge: return Op::le;
  default: return op;
  }
}

// An error and not a proof: whoever states conditions that nothing satisfies has made a mistake, and would be told that anything holds.
[[noreturn]] void contradiction(const std::string& what) {
  throw Contradiction("where: the conditions contradict each other\n  where  " + what +
                      "\n  hint   no value satisfies them, so everything would follow; drop one");
}

// The x in [0, m n / gcd) with x = a modulo m and x = b modulo n, m and n > 0; nullopt: there is none. Overflow when it
// takes more than 128 bits.
struct Class {
  Wide modulus, residue;
};
std::optional<Class> common_residues(const Class& a, const Class& b) {
  // Euclid with one cofactor: g = a.modulus u modulo b.modulus in every turn. With apart = g t, x = a.residue + a.modulus u t solves
  // both; u t counts modulo b.modulus / g only, since a.modulus times that is a multiple of b.modulus.
  Wide g = a.modulus, r = b.modulus, u = 1, next = 0;
  while (r != 0) {
    Wide q = g / r;
    g = subtract(g, multiply(q, r));
    std::swap(g, r);
    u = subtract(u, multiply(q, next));
    std::swap(u, next);
  }
  Wide apart = subtract(b.residue, a.residue);
  if (apart % g != 0) return std::nullopt;
  // Reduced before it is multiplied: both factors are below b.modulus then, so that only moduli beyond 2^63
  // overflow.
  Wide steps = b.modulus / g;
  Wide k = floor_mod(multiply(floor_mod(apart / g, steps), floor_mod(u, steps)), steps);
  return Class{multiply(a.modulus, steps), add(a.residue, multiply(a.modulus, k))};
}

} // namespace

Context::Context(const std::set<std::string>& names, const std::vector<std::string>& conditions,
                 const std::set<std::string>& written) {
  std::set<std::string> relevant = names;
  std::vector<FormulaRef> waiting;
  for (const std::string& text : conditions) {
    FormulaRef f = parse_formula(text);
    // A number would be a condition in C (`M % 128`, meaning that it is not 0), and mostly a mistake.
    if (!is_condition(f->op))
      throw QuestionError("where: '" + text +
                          "' is not a condition\n  hint   write e.g. 'M % 128 == 0 && M >= 256'");
    conjuncts(f, waiting);
  }
  // An unrelated condition is mostly a misspelt name, and to ignore it would change what the user asked.
  // A condition counts when it shares a name with the question, directly or through another condition.
  for (bool grew = true; grew;) {
    grew = false;
    for (auto it = waiting.begin(); it != waiting.end();) {
      std::set<std::string> in = names_of(*it);
      bool related = std::any_of(in.begin(), in.end(), [&](const std::string& n) {
        return relevant.count(n) != 0 || written.count(n) != 0;
      });
      // A condition without names is about everything: `1 == 2` has to be a contradiction and not a
      // misspelling.
      if (!related && !in.empty()) {
        ++it;
        continue;
      }
      relevant.insert(in.begin(), in.end());
      conditions_.push_back(*it);
      it = waiting.erase(it);
      grew = true;
    }
  }
  if (!waiting.empty()) {
    std::string known;
    std::set<std::string> all = names;
    all.insert(written.begin(), written.end());
    for (const std::string& n : all) known += (known.empty() ? "" : ", ") + n;
    throw QuestionError("where: nothing in the question is called as in '" + to_string(waiting.front()) +
                        "'\n  hint   the question's symbols are: " + (known.empty() ? "none" : known));
  }
  for (const std::string& n : relevant) known_[n];
  // All are learnt before any is settled: the lower bound that makes a divisor positive may be the last of
  // them.
  for (const FormulaRef& c : conditions_) learn(c);
  settle();
}

// What is not learnt is not lost: residual conditions are checked of every witness and given to every query.
void Context::learn(const FormulaRef& f) {
  if (auto value = literal(f)) {
    if (*value == 0) contradiction(to_string(f) + " is false");
    return;
  }
  // Either side may hold the symbol: 64 <= K is K >= 64.
  // `!=` says nothing that a substitution or one interval could express.
  if (f->op >= Op::lt && f->op <= Op::eq &&
      (learn_atomic(f->op, f->args[0], f->args[1]) || learn_atomic(mirrored(f->op), f->args[1], f->args[0])))
    return;
  residual_.push_back(f);
}

// One comparison with a symbol, or a symbol modulo something, on the left. False: cannot be used. One definition and one bound by
// another symbol are kept of each symbol, the first ones: a second one cannot be substituted as well and is residual.
bool Context::learn_atomic(Op op, const FormulaRef& a, const FormulaRef& b) {
  if (a->op == Op::mod && op == Op::eq && a->args[0]->op == Op::name) {
    Known& k = known_[a->args[0]->name];
    auto residue = literal(b);
    auto modulus = literal(a->args[1]);
    if (residue && modulus) {
      Wide m = *modulus, r = *residue;
      if (m <= 0) throw QuestionError("where: the modulus in '" + to_string(a) + "' is not positive");
      // Remainders are in [0, m) by the definition of %, so that no value of the symbol satisfies it.
      if (r < 0 || r >= m) contradiction(to_string(a) + " is never " + to_string(r));
      std::optional<Class> joint;
      try {
        joint = common_residues({k.modulus, k.residue}, {m, r});
      } catch (const Overflow&) {
        return false; // beyond 128 bits: stays residual
      }
      if (!joint)
        contradiction(a->args[0]->name + " is " + to_string(k.residue) + " modulo " + to_string(k.modulus) +
                      " and " + to_string(r) + " modulo " + to_string(m));
      k.modulus = joint->modulus;
      k.residue = joint->residue;
      return true;
    }
    if (residue == Wide{0} && !k.multiple_of && names_of(a->args[1]).count(a->args[0]->name) == 0) {
      // N % M == 0 with a symbol for M: the quotient becomes a symbol in settle(), once M is known to be
      // positive.
      k.multiple_of = a->args[1];
      return true;
    }
    return false;
  }
  if (a->op != Op::name) return false;
  Known& k = known_[a->name];
  if (auto value = literal(b)) {
    auto lower = [&](Wide v) { k.lower = k.lower ? std::max(*k.lower, v) : v; };
    auto upper = [&](Wide v) { k.upper = k.upper ? std::min(*k.upper, v) : v; };
    switch (op) {
    case Op::lt: upper(subtract(*value, 1)); return true;
    case Op::le: upper(*value); return true;
    case Op::gt: lower(add(*value, 1)); return true;
    case Op::ge: lower(*value); return true;
    // A number is a range of one value, which settle() makes a constant.
    case Op::eq: lower(*value), upper(*value); return true;
    default: return false;
    }
  }
  // M >= M/2 defines nothing.
  if (names_of(b).count(a->name) != 0) return false;
  if (op == Op::eq && !k.equal) {
    k.equal = b;
    return true;
  }
  // `<=` and `<` with a symbol come here mirrored, as the other symbol's lower bound: an upper bound that is
  // no number is not kept.
  if ((op == Op::ge || op == Op::gt) && !k.above) {
    k.above = op == Op::ge ? b : make(Op::add, {b, integer(1)});
    return true;
  }
  return false;
}

// Primes tell the prover's symbols from the user's, who cannot write them: no parser takes one.
Symbol Context::fresh(const std::string& hint, Bounds bounds) {
  std::string name = hint;
  while (std::find(names_.begin(), names_.end(), name) != names_.end()) name += "'"; // no user's name has one
  // The position is the symbol's number, in names_ and bounds_ alike; nothing is ever taken out.
  names_.push_back(name);
  bounds_.push_back(bounds);
  return static_cast<Symbol>(names_.size() - 1);
}

// As a symbol of which only bounds are known a min is weaker than it is; what is proved of all values in the bounds holds of it. The
// bounds: min(a, b) >= least where both are, max(a, b) where one is; min(a, 8) <= 8.
bool Context::choose(const FormulaRef& f) {
  bool any = false;
  for (const FormulaRef& a : f->args)
    any |= choose(a); // the inner ones first: a choice is between polynomials
  const bool quotient = f->op == Op::div || f->op == Op::mod;
  if ((f->op != Op::min && f->op != Op::max && !quotient) || poly(f)) return any;
  auto a = poly(f->args[0]), b = poly(f->args[1]);
  if (!a || !b) return any;
  if (quotient) {
    if (!positive(*b) || !nonnegative(*a)) return any;
    // a % b is a - b (a / b): one symbol for both. It is 1 or more where a >= b.
    Bounds bounds{nonnegative(*a - *b) ? 1 : 0, {}, true};
    choices_.push_back({Op::div, *a, *b, fresh("((" + str(*a) + ")/(" + str(*b) + "))", bounds)});
    return true;
  }
  // 1 where it holds, as extents have to be positive; 0 is enough for strides and offsets.
  for (Wide least : {1, 0}) {
    bool of_a = nonnegative(*a - Poly(least)), of_b = nonnegative(*b - Poly(least));
    if (f->op == Op::min ? !of_a || !of_b : !of_a && !of_b) continue;
    Bounds bounds{least, {}, true};
    if (f->op == Op::min)
      for (const auto& side : {a->constant(), b->constant()})
        if (side) bounds.upper = side;
    // Its name is what it is, so that a reader of the certificate needs no table.
    std::string name = std::string(f->op == Op::min ? "min(" : "max(") + str(*a) + "," + str(*b) + ")";
    choices_.push_back({f->op, *a, *b, fresh(name, bounds)});
    return true;
  }
  return any;
}

// Replaces the user's symbols one after the other, each by a polynomial in symbols of which only bounds are
// known. A symbol is done when those its definition mentions are; definitions that mention each other stay
// residual.
void Context::settle() {
  auto symbol_of = [](const std::string& n) { return variable(n); };
  auto settle_one = [&](const std::string& n, const Known& k) -> bool {
    // In the order of the definitions: a polynomial can only be made of symbols that are polynomials already.
    auto ready = [&](const FormulaRef& f) {
      for (const std::string& m : names_of(f))
        if (user_.count(m) == 0) return false;
      return true;
    };
    auto keep_multiple = [&] {
      residual_.push_back(make(Op::eq, {make(Op::mod, {symbol_of(n), k.multiple_of}), integer(0)}));
    };
    auto keep_bounds = [&] { // what the definition below does not express
      if (k.lower) residual_.push_back(make(Op::ge, {symbol_of(n), integer(*k.lower)}));
      if (k.upper) residual_.push_back(make(Op::le, {symbol_of(n), integer(*k.upper)}));
      if (k.modulus != 1)
        residual_.push_back(
            make(Op::eq, {make(Op::mod, {symbol_of(n), integer(k.modulus)}), integer(k.residue)}));
    };
    if (k.equal) {
      if (!ready(k.equal)) return false;
      // The definition replaces the symbol, and everything else that is known of it becomes a condition on
      // the right side.
      if (auto p = poly(k.equal)) {
        user_[n] = *p;
        keep_bounds();
        // The default bound is a condition like any other once the symbol is no symbol any more.
        if (!k.lower) residual_.push_back(make(Op::ge, {symbol_of(n), integer(1)}));
        if (k.multiple_of) keep_multiple();
        if (k.above) residual_.push_back(make(Op::ge, {symbol_of(n), *k.above}));
        return true;
      }
      residual_.push_back(make(Op::eq, {symbol_of(n), k.equal}));
      if (k.multiple_of) keep_multiple();
    } else if (k.multiple_of) {
      if (!ready(k.multiple_of)) return false;
      auto p = poly(k.multiple_of);
      // With M % 128 == 0 as well as M % T == 0, the constant is the more useful of the two. An upper bound U would make
      // n' <= U / p, which is no number.
      if (p && positive(*p) && k.modulus == 1 && !k.upper && (!k.lower || *k.lower <= 1)) {
        // n = p n' with p >= 1: n >= L gives n' >= L / p, and that is L or more when L is negative, 0 for 0, 1 for 1. For a
        // p of more than 1 some of these n' are below the bound: it stays a condition.
        Wide least = k.lower ? std::min(*k.lower, Wide{1}) : Wide{1};
        user_[n] = *p * Poly::symbol(fresh(n + "'", Bounds{least, {}}));
        if (least < 0) residual_.push_back(make(Op::ge, {symbol_of(n), integer(least)}));
        if (k.above) residual_.push_back(make(Op::ge, {symbol_of(n), *k.above}));
        return true;
      }
      keep_multiple();
    } else if (k.above) {
      if (!ready(*k.above)) return false;
      auto p = poly(*k.above);
      // n >= p >= 1 says all that a lower bound of at most 1 says; a greater one would bound n' by what depends on p.
      if (p && k.modulus == 1 && !k.upper && (!k.lower || *k.lower <= 1) && positive(*p)) {
        user_[n] = *p + Poly::symbol(fresh(n + "'", Bounds{0, {}}));
        return true;
      }
    }
    if (k.above) residual_.push_back(make(Op::ge, {symbol_of(n), *k.above}));
    Bounds b;
    // What is left is an interval and one residue class, which a symbol of its own expresses exactly.
    if (k.lower) b.lower = *k.lower;
    b.upper = k.upper;
    std::string range =
        n + " >= " + to_string(b.lower) + (b.upper ? " && " + n + " <= " + to_string(*b.upper) : "");
    if (k.modulus != 1) {
      // n = m n' + r: n' >= (lower - r) / m rounded up, which is minus the opposite rounded down, and n' <= (upper - r) / m rounded down.
      b.lower = -floor_div(subtract(k.residue, b.lower), k.modulus);
      if (b.upper) b.upper = floor_div(subtract(*b.upper, k.residue), k.modulus);
      range += " && " + n + " % " + to_string(k.modulus) + " == " + to_string(k.residue);
    }
    if (b.upper && *b.upper < b.lower) contradiction(range);
    Poly p;
    // M == 6, or M % 4 == 2 && M < 8 with 2 <= M: one value is a number, with which everything can be
    // computed.
    if (b.upper && *b.upper == b.lower) {
      p = Poly(b.lower);
    } else {
      p = Poly::symbol(fresh(k.modulus == 1 ? n : n + "'", b));
    }
    user_[n] = Poly(k.modulus) * p + Poly(k.residue);
    return true;
  };
  for (bool progress = true; progress && user_.size() < known_.size();) {
    progress = false;
    for (const auto& [n, k] : known_)
      if (user_.count(n) == 0 && settle_one(n, k)) progress = true;
    if (progress || user_.size() == known_.size()) continue;
    // A cycle (M % N == 0 && N % M == 0): the first of it becomes free and its definition residual. Each turn frees one symbol,
    // which waits for nobody any more, so that this ends.
    for (auto& [n, k] : known_)
      if (user_.count(n) == 0) {
        if (k.equal) residual_.push_back(make(Op::eq, {symbol_of(n), k.equal}));
        if (k.multiple_of)
          residual_.push_back(make(Op::eq, {make(Op::mod, {symbol_of(n), k.multiple_of}), integer(0)}));
        if (k.above) residual_.push_back(make(Op::ge, {symbol_of(n), *k.above}));
        k.equal = nullptr, k.multiple_of = nullptr, k.above.reset();
        progress = true;
        break;
      }
  }
  // A residual condition that the substitution decides is no longer one, or is a contradiction: false for all values within the
  // bounds, which contain all values that satisfy the other conditions.
  std::vector<FormulaRef> rest;
  for (const FormulaRef& f : residual_) {
    bool decided = false;
    if (f->op >= Op::lt && f->op <= Op::ne) {
      auto a = poly(f->args[0]), b = poly(f->args[1]);
      // By polynomials alone. What the context cannot decide stays a condition: nothing is lost but time.
      if (a && b) {
        Poly d = *a - *b;
        auto check = [&](bool yes, bool no) {
          if (no) contradiction(to_string(f));
          decided = yes;
        };
        bool ge = nonnegative(d), le = nonnegative(Poly() - d), gt = positive(d), lt = positive(Poly() - d);
        switch (f->op) {
        case Op::lt: check(lt, ge); break;
        case Op::le: check(le, gt); break;
        case Op::gt: check(gt, le); break;
        case Op::ge: check(ge, lt); break;
        case Op::eq: check(d.is_zero(), gt || lt); break;
        default: check(gt || lt, d.is_zero()); break;
        }
      }
    }
    if (!decided) rest.push_back(f);
  }
  residual_ = std::move(rest);
}

// Quotients are taken exactly or not at all: a / b is a polynomial only where the rest is known to lie in [0, b).
std::optional<Poly> Context::poly(const FormulaRef& f) const {
  auto arg = [&](std::size_t k) { return poly(f->args[k]); };
  switch (f->op) {
  case Op::integer: return Poly(f->value);
  case Op::name: {
    auto it = user_.find(f->name);
    if (it == user_.end()) return std::nullopt;
    return it->second;
  }
  case Op::neg: {
    auto a = arg(0);
    if (!a) return std::nullopt;
    return Poly() - *a;
  }
  case Op::add:
  case Op::sub:
  case Op::mul:
  case Op::div:
  case Op::mod: {
    auto a = arg(0), b = arg(1);
    if (!a || !b) return std::nullopt;
    if (f->op == Op::add) return *a + *b;
    if (f->op == Op::sub) return *a - *b;
    if (f->op == Op::mul) return *a * *b;
    if (b->is_zero()) throw QuestionError("formula: division by zero\n  in     " + to_string(f));
    // Where the divisor may be 0 there is no quotient, not even of 0: what holds of the others is no proof.
    if (!b->constant() && !positive(*b) && !positive(Poly() - *b)) return std::nullopt;
    // The part of the dividend whose monomials the divisor divides exactly, and a remainder in [0, divisor): a = exact b + rest, and
    // there is one such pair only, so that floor(a / b) is `exact` however it was found. For a negative b no rest is in [0, b),
    // and the branches below that need one answer nothing.
    Poly exact, rest;
    auto named = [&]() -> std::optional<Poly> {
      for (const Choice& c : choices_)
        if (c.op == Op::div && c.a == *a && c.b == *b)
          return f->op == Op::div ? Poly::symbol(c.symbol) : *a - *b * Poly::symbol(c.symbol);
      return std::nullopt;
    };
    if (auto q = exact_quotient(*a, *b)) {
      exact = *q;
    } else {
      for (const auto& [m, c] : a->terms()) {
        Poly term(c);
        for (const auto& [s, e] : m)
          for (unsigned k = 0; k < e; ++k) term = term * Poly::symbol(s);
        if (auto t = exact_quotient(term, *b)) {
          exact = exact + *t;
        } else {
          rest = rest + term;
        }
      }
      auto d = b->constant();
      auto r = rest.constant();
      if (d && r) {
        exact = exact + Poly(floor_div(*r, *d));
        rest = Poly(floor_mod(*r, *d));
      } else if (d &&
                 *d > 0) { // (3 M + ...)/2: coefficients beyond the divisor stay, unless the rest is small
        if (!nonnegative(rest) || !positive(*b - rest)) return named();
      } else if (!nonnegative(rest) || !positive(*b - rest)) {
        auto parts = divided(*a, *b);
        if (!parts) return named();
        exact = parts->first, rest = parts->second;
      }
    }
    if (f->op == Op::div) return exact;
    return rest;
  }
  case Op::shl: {
    auto a = arg(0);
    auto s = arg(1);
    if (!a || !s || !s->constant() || *s->constant() < 0 || *s->constant() > 100) return std::nullopt;
    return *a * Poly(Wide{1} << static_cast<int>(*s->constant()));
  }
  case Op::min:
  case Op::max: {
    auto a = arg(0), b = arg(1);
    if (!a || !b) return std::nullopt;
    if (nonnegative(*a - *b)) return f->op == Op::max ? a : b;
    if (nonnegative(*b - *a)) return f->op == Op::max ? b : a;
    // In either order: min(a, b) written as min(b, a) elsewhere is the same symbol, or equal extents would
    // differ.
    for (const Choice& c : choices_)
      if (c.op == f->op && ((c.a == *a && c.b == *b) || (c.a == *b && c.b == *a)))
        return Poly::symbol(c.symbol);
    return std::nullopt;
  }
  default: {
    // Bit operations and conditions of numbers are numbers; of symbols they are no polynomials.
    for (const FormulaRef& a : f->args) {
      auto p = poly(a);
      if (!p || !p->constant()) return std::nullopt;
    }
    std::vector<FormulaRef> args;
    for (const FormulaRef& a : f->args) args.push_back(integer(*poly(a)->constant()));
    return Poly(evaluate(make(f->op, args), [](const std::string&) -> Wide { return 0; }));
  }
  }
}

// The formal quotient may be one off: r by r + k + 1 is 1 and -(k + 1), not 0 and r. Whichever is tried, 0 <= rest < d is what makes
// it the quotient.
std::optional<std::pair<Poly, Poly>> Context::divided(const Poly& p, const Poly& d) const {
  auto [q, r] = quotient_and_rest(p, d);
  // One to either side is what rounding a leading coefficient can miss by.
  for (int off : {0, -1, 1}) {
    Poly rest = r - Poly(off) * d;
    if (nonnegative(rest) && positive(d - rest)) return std::pair{q + Poly(off), rest};
  }
  return std::nullopt;
}

const Poly& Context::user(const std::string& name) const { return user_.at(name); }

// Two sufficient tests. The first one shifts every symbol to its least value, after which nonnegative coefficients are enough; the second one
// takes negative monomials at the greatest values. Neither is complete (both fail on n^2 - 3 n + 3), and what both miss goes to a solver
// (Engine::at_least).
bool Context::nonnegative(const Poly& p) const {
  if (auto c = p.constant()) return *c >= 0;
  // x = lower + x': nonnegative coefficients in the x' >= 0.
  Poly shifted = p;
  for (Symbol s : p.symbols())
    // From the lower ends alone: the upper ones are the second test's, and a shift to them would turn the sign
    // of coefficients that are right as they are.
    if (bounds_[s].lower != 0) shifted = shifted.substitute(s, Poly(bounds_[s].lower) + Poly::symbol(s));
  bool all = true;
  for (const auto& [m, c] : shifted.terms()) all &= c >= 0;
  if (all) return true;
  // Interval arithmetic on the monomials of p, for symbols that are nonnegative and, where needed, bounded
  // above.
  Wide least = 0;
  for (const auto& [m, c] : p.terms()) {
    // A monomial of symbols >= 0 grows with each of them: c times it is least where they are, or for c < 0 at their greatest.
    Wide value = c;
    for (const auto& [s, e] : m)
      for (unsigned k = 0; k < e; ++k) {
        // A power of what may be negative has no end at which it is least.
        if (bounds_[s].lower < 0 || (c < 0 && !bounds_[s].upper)) return false;
        value = multiply(value, c < 0 ? *bounds_[s].upper : bounds_[s].lower);
      }
    least = add(least, value);
  }
  return least >= 0;
}

std::map<std::string, Wide> Context::environment(const std::vector<Wide>& values) const {
  std::map<std::string, Wide> env;
  for (const auto& [n, p] : user_) env[n] = p.at(values);
  return env;
}

// The conditions as they were written, not as they were understood: a witness is judged by the user's words.
bool Context::holds(const std::map<std::string, Wide>& env) const {
  for (const FormulaRef& c : conditions_)
    if (evaluate(c, [&](const std::string& n) { return env.at(n); }) == 0) return false;
  for (const auto& [n, k] : known_)
    // The default bound is nowhere written, and a symbol that a definition replaced may break it.
    if (!k.lower && env.at(n) < 1) return false;
  return true;
}

// Symbols that follow from others (a min) do not multiply the number of assignments. Conditions only take assignments away, so that
// the product of the ranges is enough.
bool Context::finite(std::size_t limit) const {
  Wide count = 1;
  for (const Bounds& b : bounds_) {
    if (b.derived) continue;
    if (!b.upper) return false;
    // One less than there are; bounds may be up to 2^128 - 2 apart, which a Wide does not hold.
    auto here = static_cast<unsigned __int128>(*b.upper) - static_cast<unsigned __int128>(b.lower);
    if (here >= limit) return false;
    count *= static_cast<Wide>(here) + 1;
    if (count > static_cast<Wide>(limit)) return false;
  }
  return true;
}

namespace {

// The values of a symbol in the order in which they are worth trying: 0, 1, -1, 2, ... as far as they are in bounds.
std::optional<Wide> nth_value(const Bounds& b, Wide n) {
  // The value nearest to 0, from which the walk goes to both sides.
  Wide first = std::max<Wide>(b.lower, 0);
  if (b.upper && *b.upper < first) first = *b.upper; // all negative: downwards from the greatest
  Wide up = b.upper ? subtract(*b.upper, first) : n, down = subtract(first, b.lower);
  Wide both = std::min(up, down); // pairs first + k, first - k
  Wide v = 0;
  if (n - both <= both) { // 2 * both may leave 128 bits
    v = n % 2 == 1 ? first + (n + 1) / 2 : first - n / 2;
  } else if (up > down) {
    v = first + (n - both);
  } else {
    v = first - (n - both);
  }
  if (v < b.lower || (b.upper && v > *b.upper)) return std::nullopt;
  return v;
}

} // namespace

bool Context::negative_at_corner(const Poly& p) const {
  std::vector<Wide> values(bounds_.size());
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!bounds_[k].derived) values[k] = bounds_[k].lower;
  for (const auto& [monomial, coefficient] : p.terms()) {
    if (monomial.empty()) continue;
    if (monomial.size() > 1 || monomial[0].second > 1 || bounds_[monomial[0].first].derived) return false;
    const Bounds& b = bounds_[monomial[0].first];
    if (coefficient < 0) values[monomial[0].first] = b.upper ? *b.upper : add(b.lower, Wide{1} << 40);
  }
  try {
    return p.at(values) < 0 && holds(environment(values));
  } catch (const Overflow&) {
    return false;
  }
}

// Small values first, since a small counterexample is the better explanation; then what small values cannot show.
bool Context::search(std::size_t limit, const std::function<bool(const std::vector<Wide>&)>& visit) const {
  std::vector<Wide> values(bounds_.size());
  std::vector<std::size_t> searched;
  for (std::size_t k = 0; k < bounds_.size(); ++k)
    if (!bounds_[k].derived) searched.push_back(k);
  std::size_t tried = 0;
  const bool exhaustive = finite(limit);
  auto attempt = [&]() -> bool {
    ++tried;
    try {
      if (!holds(environment(values))) return false;
    } catch (const Overflow&) {
      if (exhaustive) throw;
      return false;
    }
    return visit(values);
  };
  if (exhaustive) {
    for (std::size_t k : searched) values[k] = bounds_[k].lower;
    while (true) {
      if (attempt()) return true;
      auto k = searched.begin();
      for (; k != searched.end(); ++k) {
        if (++values[*k] <= *bounds_[*k].upper) break;
        values[*k] = bounds_[*k].lower;
      }
      if (k == searched.end()) return false;
    }
  }
  // Ascending total distance from the values nearest to 0: the first hit is a small one.
  std::size_t grid = limit * 3 / 4;
  std::function<bool(std::size_t, Wide)> spread = [&](std::size_t k, Wide left) -> bool {
    if (tried >= grid) return false;
    const Bounds& b = bounds_[searched[k]];
    // The last one takes what is left of the distance, so that no assignment comes twice.
    if (k + 1 == searched.size()) {
      auto v = nth_value(b, left);
      if (!v) return false;
      values[searched[k]] = *v;
      return attempt();
    }
    for (Wide here = 0; here <= left; ++here) {
      auto v = nth_value(b, here);
      if (!v) break;
      values[searched[k]] = *v;
      if (spread(k + 1, left - here)) return true;
    }
    return false;
  };
  // A distance without any assignment (all ranges are shorter) costs no try; 4096 of them end it.
  for (Wide total = 0; tried < grid && total < 4096; ++total) {
    if (spread(0, total)) return true;
    if (tried >= grid) break;
  }
  // Then the corners of what is bounded: a sum of multiples of symbols is least and greatest in one of them.
  std::vector<std::size_t> bounded;
  for (std::size_t k : searched) {
    values[k] = bounds_[k].lower;
    if (bounds_[k].upper) bounded.push_back(k);
  }
  const std::size_t corners = bounded.size() <= 6 ? std::size_t{1} << bounded.size() : 0;
  for (std::size_t corner = 0; corner < corners && tried < limit; ++corner) {
    for (std::size_t k = 0; k < bounded.size(); ++k)
      values[bounded[k]] = (corner >> k & 1) != 0 ? *bounds_[bounded[k]].upper : bounds_[bounded[k]].lower;
    if (attempt()) return true;
  }
  // Then the ends of ranges, and random values of every size: some conditions are broken by large values only.
  std::mt19937_64 random(1); // fixed: results repeat
  // Mostly small, as bounds of conditions are; and a few for what only large values break: 2^33 and more leaves
  // 32 bits, and the product of two of 2^40 leaves 64.
  constexpr int scales[] = {2, 3, 4, 5, 6, 7, 8, 12, 20, 33, 40};
  for (std::size_t round = 0; round < limit - grid; ++round) {
    int scale = scales[round % std::size(scales)];
    for (std::size_t k : searched) {
      const Bounds& b = bounds_[k];
      auto draw = static_cast<Wide>(random() % (std::uint64_t{1} << scale));
      std::uint64_t kind = random() % 8;
      Wide v = kind == 0 && b.upper ? subtract(*b.upper, draw % 3)
               : kind == 1          ? add(b.lower, draw % 3)
               : kind == 2          ? -draw
                                    : add(std::max<Wide>(b.lower, 0), draw);
      v = std::max(v, b.lower);
      values[k] = b.upper ? std::min(v, *b.upper) : v;
    }
    if (attempt()) return true;
  }
  return false;
}

} // namespace inlay::solver
