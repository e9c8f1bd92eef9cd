#include "context.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <random>

namespace inlay::solver {
namespace {

void conjuncts(const FormulaRef& f, std::vector<FormulaRef>& out) {
  if (f->op == Op::logical_and) {
    conjuncts(f->args[0], out);
    conjuncts(f->args[1], out);
  } else {
    out.push_back(f);
  }
}

std::optional<Wide> literal(const FormulaRef& f) {
  if (!names_of(f).empty()) return std::nullopt;
  return evaluate(f, [](const std::string&) -> Wide { return 0; });
}

Op mirrored(Op op) {
  switch (op) {
  case Op::lt: return Op::gt;
  case Op::le: return Op::ge;
  case Op::gt: return Op::lt;
  case Op::ge: return Op::le;
  default: return op;
  }
}

[[noreturn]] void contradiction(const std::string& what) {
  throw QuestionError("where: the conditions contradict each other\n  where  " + what +
                      "\n  hint   no value satisfies them, so everything would follow; drop one");
}

} // namespace

Context::Context(const std::set<std::string>& names, const std::vector<std::string>& conditions) {
  std::set<std::string> relevant = names;
  std::vector<FormulaRef> waiting;
  for (const std::string& text : conditions) {
    FormulaRef f = parse_formula(text);
    if (!is_condition(f->op))
      throw QuestionError("where: '" + text +
                          "' is not a condition\n  hint   write e.g. 'M % 128 == 0 && M >= 256'");
    conjuncts(f, waiting);
  }
  // A condition counts when it shares a name with the question, directly or through another condition.
  for (bool grew = true; grew;) {
    grew = false;
    for (auto it = waiting.begin(); it != waiting.end();) {
      std::set<std::string> in = names_of(*it);
      bool related =
          std::any_of(in.begin(), in.end(), [&](const std::string& n) { return relevant.count(n) != 0; });
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
    for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
    throw QuestionError("where: nothing in the question is called as in '" + to_string(waiting.front()) +
                        "'\n  hint   the question's symbols are: " + (known.empty() ? "none" : known));
  }
  for (const std::string& n : relevant) known_[n];
  for (const FormulaRef& c : conditions_) learn(c);
  settle();
}

void Context::learn(const FormulaRef& f) {
  if (auto value = literal(f)) {
    if (*value == 0) contradiction(to_string(f) + " is false");
    return;
  }
  if (f->op >= Op::lt && f->op <= Op::eq &&
      (learn_atomic(f->op, f->args[0], f->args[1]) || learn_atomic(mirrored(f->op), f->args[1], f->args[0])))
    return;
  residual_.push_back(f);
}

// One comparison with a symbol, or a symbol modulo something, on the left. False: cannot be used.
bool Context::learn_atomic(Op op, const FormulaRef& a, const FormulaRef& b) {
  if (a->op == Op::mod && op == Op::eq && a->args[0]->op == Op::name) {
    Known& k = known_[a->args[0]->name];
    auto residue = literal(b);
    auto modulus = literal(a->args[1]);
    if (residue && modulus) {
      Wide m = *modulus, r = *residue;
      if (m <= 0) throw QuestionError("where: the modulus in '" + to_string(a) + "' is not positive");
      if (r < 0 || r >= m) contradiction(to_string(a) + " is never " + to_string(r));
      // Chinese remainders: r1 mod m1 and r mod m agree iff they do modulo the gcd.
      Wide g = gcd(k.modulus, m);
      if ((r - k.residue) % g != 0)
        contradiction(a->args[0]->name + " is " + to_string(k.residue) + " modulo " + to_string(k.modulus) +
                      " and " + to_string(r) + " modulo " + to_string(m));
      Wide joint = multiply(k.modulus / g, m);
      Wide x = k.residue;
      if (m / g > 4096 && k.modulus > 1) return false; // residue classes too many to walk: stays residual
      while (x % m != r) x = add(x, k.modulus);
      k.modulus = joint;
      k.residue = x;
      return true;
    }
    if (residue == Wide{0} && !k.multiple_of && names_of(a->args[1]).count(a->args[0]->name) == 0) {
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
    case Op::lt: upper(*value - 1); return true;
    case Op::le: upper(*value); return true;
    case Op::gt: lower(*value + 1); return true;
    case Op::ge: lower(*value); return true;
    case Op::eq: lower(*value), upper(*value); return true;
    default: return false;
    }
  }
  if (names_of(b).count(a->name) != 0) return false;
  if (op == Op::eq && !k.equal) {
    k.equal = b;
    return true;
  }
  if ((op == Op::ge || op == Op::gt) && !k.above) {
    k.above = op == Op::ge ? b : make(Op::add, {b, integer(1)});
    return true;
  }
  return false;
}

Symbol Context::fresh(const std::string& hint, Bounds bounds) {
  std::string name = hint;
  while (std::find(names_.begin(), names_.end(), name) != names_.end() ||
         (known_.count(name) != 0 && name != hint))
    name += "'";
  names_.push_back(name);
  bounds_.push_back(bounds);
  return static_cast<Symbol>(names_.size() - 1);
}

// Replaces the user's symbols one after the other, each by a polynomial in symbols of which only bounds are
// known. A symbol is done when those its definition mentions are; definitions that mention each other stay
// residual.
void Context::settle() {
  auto symbol_of = [](const std::string& n) { return variable(n); };
  auto settle_one = [&](const std::string& n, const Known& k) -> bool {
    auto ready = [&](const FormulaRef& f) {
      for (const std::string& m : names_of(f))
        if (user_.count(m) == 0) return false;
      return true;
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
      if (auto p = poly(k.equal)) {
        user_[n] = *p;
        keep_bounds();
        if (!k.lower) residual_.push_back(make(Op::ge, {symbol_of(n), integer(1)}));
        if (k.multiple_of)
          residual_.push_back(make(Op::eq, {make(Op::mod, {symbol_of(n), k.multiple_of}), integer(0)}));
        if (k.above) residual_.push_back(make(Op::ge, {symbol_of(n), *k.above}));
        return true;
      }
      residual_.push_back(make(Op::eq, {symbol_of(n), k.equal}));
    } else if (k.multiple_of) {
      if (!ready(k.multiple_of)) return false;
      auto p = poly(k.multiple_of);
      // With M % 128 == 0 as well as M % T == 0, the constant is the more useful of the two.
      if (p && positive(*p) && k.modulus == 1 && !k.upper && (!k.lower || *k.lower <= 1)) {
        user_[n] = *p * Poly::symbol(fresh(n + "'", Bounds{k.lower && *k.lower < 1 ? Wide{0} : Wide{1}, {}}));
        if (k.above) residual_.push_back(make(Op::ge, {symbol_of(n), *k.above}));
        return true;
      }
      residual_.push_back(make(Op::eq, {make(Op::mod, {symbol_of(n), k.multiple_of}), integer(0)}));
    } else if (k.above) {
      if (!ready(*k.above)) return false;
      auto p = poly(*k.above);
      if (p && k.modulus == 1 && !k.upper && (!k.lower || *k.lower <= 1) && positive(*p)) {
        user_[n] = *p + Poly::symbol(fresh(n + "'", Bounds{0, {}}));
        return true;
      }
    }
    if (k.above) residual_.push_back(make(Op::ge, {symbol_of(n), *k.above}));
    Bounds b;
    if (k.lower) b.lower = *k.lower;
    b.upper = k.upper;
    std::string range =
        n + " >= " + to_string(b.lower) + (b.upper ? " && " + n + " <= " + to_string(*b.upper) : "");
    if (k.modulus != 1) {
      b.lower = -floor_div(-(b.lower - k.residue), k.modulus);
      if (b.upper) b.upper = floor_div(*b.upper - k.residue, k.modulus);
      range += " && " + n + " % " + to_string(k.modulus) + " == " + to_string(k.residue);
    }
    if (b.upper && *b.upper < b.lower) contradiction(range);
    Poly p;
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
    // A cycle (M % N == 0 && N % M == 0): the first of it becomes free and its definition residual.
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
  // A residual condition that the substitution decides is no longer one, or is a contradiction.
  std::vector<FormulaRef> rest;
  for (const FormulaRef& f : residual_) {
    bool decided = false;
    if (f->op >= Op::lt && f->op <= Op::ne) {
      auto a = poly(f->args[0]), b = poly(f->args[1]);
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
    // The part of the dividend whose monomials the divisor divides exactly, and a remainder in [0, divisor).
    Poly exact, rest;
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
        if (!nonnegative(rest) || !positive(*b - rest)) return std::nullopt;
      } else if (!nonnegative(rest) || !positive(*b - rest)) {
        return std::nullopt;
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
    return std::nullopt;
  }
  default: {
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

const Poly& Context::user(const std::string& name) const { return user_.at(name); }

bool Context::nonnegative(const Poly& p) const {
  if (auto c = p.constant()) return *c >= 0;
  // x = lower + x': nonnegative coefficients in the x' >= 0.
  Poly shifted = p;
  for (Symbol s : p.symbols())
    if (bounds_[s].lower != 0) shifted = shifted.substitute(s, Poly(bounds_[s].lower) + Poly::symbol(s));
  bool all = true;
  for (const auto& [m, c] : shifted.terms()) all &= c >= 0;
  if (all) return true;
  // Interval arithmetic on the monomials of p, for symbols that are nonnegative and, where needed, bounded
  // above.
  Wide least = 0;
  for (const auto& [m, c] : p.terms()) {
    Wide value = c;
    for (const auto& [s, e] : m)
      for (unsigned k = 0; k < e; ++k) {
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

bool Context::holds(const std::map<std::string, Wide>& env) const {
  for (const FormulaRef& c : conditions_)
    if (evaluate(c, [&](const std::string& n) { return env.at(n); }) == 0) return false;
  for (const auto& [n, k] : known_)
    if (!k.lower && env.at(n) < 1) return false;
  return true;
}

bool Context::finite(std::size_t limit) const {
  Wide count = 1;
  for (const Bounds& b : bounds_) {
    if (!b.upper) return false;
    count *= *b.upper - b.lower + 1;
    if (count > static_cast<Wide>(limit)) return false;
  }
  return true;
}

bool Context::search(std::size_t limit, const std::function<bool(const std::vector<Wide>&)>& visit) const {
  std::vector<Wide> values(bounds_.size());
  std::size_t tried = 0;
  auto attempt = [&]() -> bool {
    ++tried;
    auto env = environment(values);
    return holds(env) && visit(values);
  };
  if (finite(limit)) {
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = bounds_[k].lower;
    while (true) {
      if (attempt()) return true;
      std::size_t k = 0;
      for (; k < values.size(); ++k) {
        if (++values[k] <= *bounds_[k].upper) break;
        values[k] = bounds_[k].lower;
      }
      if (k == values.size()) return false;
    }
  }
  auto clamp = [&](std::size_t k, Wide offset) {
    Wide v = bounds_[k].lower + offset;
    return bounds_[k].upper ? std::min(v, *bounds_[k].upper) : v;
  };
  // Ascending total distance from the lower bounds: the first hit is a small one.
  std::size_t grid = limit * 3 / 4;
  std::function<bool(std::size_t, Wide)> spread = [&](std::size_t k, Wide left) -> bool {
    if (tried >= grid) return false;
    if (k + 1 == values.size()) {
      if (bounds_[k].upper && bounds_[k].lower + left > *bounds_[k].upper) return false;
      values[k] = bounds_[k].lower + left;
      return attempt();
    }
    for (Wide here = 0; here <= left; ++here) {
      if (bounds_[k].upper && bounds_[k].lower + here > *bounds_[k].upper) break;
      values[k] = bounds_[k].lower + here;
      if (spread(k + 1, left - here)) return true;
    }
    return false;
  };
  if (values.empty()) return attempt();
  for (Wide total = 0; tried < grid && total < 4096; ++total) {
    if (spread(0, total)) return true;
    if (tried >= grid) break;
  }
  std::mt19937_64 random(1); // fixed: results repeat
  for (std::size_t round = 0; round < limit - grid; ++round) {
    int scale = 2 + static_cast<int>(round % 7);
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = clamp(k, static_cast<Wide>(random() % (std::uint64_t{1} << scale)));
    if (attempt()) return true;
  }
  return false;
}

} // namespace inlay::solver
