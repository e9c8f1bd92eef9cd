// Case split over residues: i = P k + r with a residue r for each case. A formula of + - * and of / % & | ^ << >> by numbers is then a
// polynomial in the k's with nothing left to divide, and what is asked of it is asked of the coefficients:
//
//     i (i + 1), is it even?     i = 2k: 2 (2 k^2 + k)     i = 2k + 1: 2 (2 k^2 + 3 k + 1)
//     i i % 4 = i % 2            i = 4k + r: 0, 1, 0, 1 on both sides
//
// Digits cannot say a product of coordinates (lower.h), and solvers do not find the split. It is complete for the divisibility of polynomials:
// their residues modulo W are those of their arguments modulo W.
#include "questions/residues.h"

#include <algorithm>
#include <functional>
#include <map>

namespace inlay::solver {
namespace {

// A thousand cases of a formula take some 10 ms, and the checker's query has a line for each.
constexpr Wide most_classes = 1024;

Wide common_multiple(Wide a, Wide b) { return multiply(a / gcd(a, b), b); }

Wide ones_above(Wide v) { // 2^n - 1 >= v
  Wide ones = 0;
  while (ones < v) ones = add(multiply(ones, 2), 1);
  return ones;
}

class Residues {
public:
  Residues(const Engine& e, const std::vector<Coordinate>& domain) : context_(e.context) {
    // Of the symbols that there are now; quotients that choose() makes come after them and are never split
    // themselves.
    inner_.resize(context_.names().size());
    for (const Coordinate& c : domain) coordinates_[c.name] = {};
  }

  // Asks for the residues that make f a polynomial whose coefficients m divides, the constant aside; false: there are none.
  bool want(const FormulaRef& f, Wide m) {
    if (m > Wide{1} << 60) return false; // far beyond most_classes; products of two of these fit
    auto side = [&](std::size_t k, Wide by) { return want(f->args[k], by); };
    auto sides = [&](Wide by) {
      return std::all_of(f->args.begin(), f->args.end(), [&](const FormulaRef& a) { return want(a, by); });
    };
    switch (f->op) {
    case Op::integer: return true;
    case Op::name: {
      auto refine = [&](Class& c, Wide by) {
        // What several places of the formula ask for together: the residue modulo the multiple knows all of
        // them.
        c.period = common_multiple(c.period, by);
        return c.period <= most_classes;
      };
      if (auto it = coordinates_.find(f->name); it != coordinates_.end()) return refine(it->second, m);
      // M = 128 M': a residue of M' modulo 2 is one of M modulo 256.
      for (const auto& [monomial, c] : context_.user(f->name).terms())
        for (const auto& [s, exponent] : monomial)
          if (!refine(inner_[s], m / gcd(m, c))) return false;
      return true;
    }
    case Op::add:
    case Op::sub:
    case Op::neg: return sides(m);
    case Op::mul:
      // A factor brings its part of the divisor along: for 8 to divide 4 x the parity of x is enough.
      for (std::size_t k = 0; k < 2; ++k)
        if (auto c = number(f->args[k]); c && *c != 0) return side(1 - k, m / gcd(m, *c));
      return sides(m);
    case Op::div:
    case Op::mod: {
      auto d = number(f->args[1]);
      if (!d || *d < 1) return false;
      // x / d modulo m is decided by x modulo d m; x % d is a number, whatever is asked of it.
      return side(0, f->op == Op::div ? multiply(*d, m) : *d);
    }
    case Op::shl:
    case Op::shr: {
      auto s = number(f->args[1]);
      if (!s || *s < 0 || *s > 60) return false;
      Wide power = Wide{1} << static_cast<int>(*s);
      return side(0, f->op == Op::shr ? multiply(power, m) : m / gcd(m, power));
    }
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      // Of an operand below 2^n the other one's bits from n on are untouched (or gone, for &).
      for (std::size_t k = 0; k < 2; ++k)
        if (auto most = greatest(f->args[k])) {
          // The other operand's low bits have to be a number, then the operation is one on numbers; its high
          // bits count modulo m as before.
          Wide block = add(ones_above(*most), 1);
          return side(k, 1) && side(1 - k, f->op == Op::bit_and ? block : common_multiple(block, m));
        }
      return false;
    // The condition has to be a number in each case, and 1 is what makes remainders numbers.
    case Op::select: return side(0, 1) && side(1, m) && side(2, m);
    case Op::min:
    // Whichever side it is. Which, value() asks of the polynomials of each case.
    case Op::max: return sides(m);
    default: return sides(1);
    }
  }

  // The cases, when there are not too many: how i is named in each, and the hints for the checker.
  bool choose(Engine& e) {
    Wide classes = 1;
    auto take = [&](Class& c, const Bounds& bounds, const std::string& hint) {
      if (c.period == 1) return true;
      // No overflow before the comparison: both factors are at most most_classes.
      if ((classes *= c.period) > most_classes) return false;
      for (Wide r = 0; r < c.period; ++r) {
        // lower <= P k + r <= upper, which no k may satisfy.
        Bounds k{-floor_div(subtract(r, bounds.lower), c.period), {}, false};
        if (bounds.upper) k.upper = floor_div(subtract(*bounds.upper, r), c.period);
        c.quotients.push_back(context_.fresh("k" + std::to_string(context_.names().size()), k));
      }
      all_.push_back(&c);
      hints_.push_back("residues " + hint + " " + to_string(c.period));
      return true;
    };
    for (std::size_t s = 0; s < inner_.size(); ++s)
      if (!take(inner_[s], context_.bounds()[s], "symbol " + e.context.names()[s])) return false;
    for (auto& [name, c] : coordinates_) {
      std::string hint = name == "\x02i" ? "index" : "coordinate " + name.substr(1);
      // A coordinate of which no residue matters is itself a symbol of which only 0 <= x is known: the extent
      // would be a bound that is no number, and a formula that holds for all x holds below it.
      if (c.period == 1) c.quotients = {context_.fresh("x", Bounds{0, {}, false})};
      if (!take(c, Bounds{0, {}, false}, hint)) return false;
    }
    classes_ = classes;
    if (hints_.empty() && !coordinates_.empty()) // a polynomial as it stands: the checker is to see it as one
      hints_.push_back(coordinates_.count("\x02i") != 0 ? "residues index 1" : "residues coordinate 0 1");
    return !coordinates_.empty();
  }

  // Every case, until one does not hold.
  bool every(const std::function<bool()>& holds) {
    for (Wide c = 0; c < classes_; ++c) {
      Wide rest = c;
      bool empty = false;
      for (Class* x : all_) {
        x->residue = rest % x->period, rest /= x->period;
        const Bounds& k = context_.bounds()[x->quotients[static_cast<std::size_t>(x->residue)]];
        // A symbol with bounds may have no value of this residue. The polynomials would be proved over an
        // empty range, or refuted over none.
        empty = empty || (k.upper && *k.upper < k.lower);
      }
      if (!empty && !holds()) return false;
    }
    return true;
  }

  // f in this case; nothing where a division is left over or a comparison is open.
  std::optional<Poly> value(const FormulaRef& f) const {
    if (f->op == Op::integer) return Poly(f->value);
    if (f->op == Op::name) {
      if (auto it = coordinates_.find(f->name); it != coordinates_.end()) return here(it->second);
      Poly p = context_.user(f->name);
      for (std::size_t s = 0; s < inner_.size(); ++s)
        // One after the other is as good as at once: what is put in mentions new symbols alone.
        if (inner_[s].period != 1) p = p.substitute(static_cast<Symbol>(s), here(inner_[s]));
      return p;
    }
    if (f->op == Op::select) {
      auto c = value(f->args[0]);
      auto yes = c ? c->constant() : std::nullopt;
      if (!yes) return std::nullopt;
      // The other side need not have a value in this case: it is not taken at any of its indices.
      return value(f->args[*yes != 0 ? 1 : 2]);
    }
    std::vector<Poly> v;
    for (const FormulaRef& a : f->args) {
      auto p = value(a);
      if (!p) return std::nullopt;
      v.push_back(*p);
    }
    switch (f->op) {
    case Op::add: return v[0] + v[1];
    case Op::sub: return v[0] - v[1];
    case Op::neg: return Poly() - v[0];
    case Op::mul: return v[0] * v[1];
    case Op::div:
    case Op::mod:
    case Op::shr: {
      auto d = v[1].constant();
      if (!d || (f->op == Op::shr ? *d < 0 || *d > 60 : *d < 1)) return std::nullopt;
      auto [q, r] = quotient_and_rest(v[0], Poly(f->op == Op::shr ? Wide{1} << static_cast<int>(*d) : *d));
      // A rest with a k in it would have a carry: not enough residues, or no multiple at all.
      if (!r.constant()) return std::nullopt;
      return f->op == Op::mod ? r : q;
    }
    case Op::shl: {
      auto s = v[1].constant();
      if (!s || *s < 0 || *s > 60) return std::nullopt;
      return v[0] * Poly(Wide{1} << static_cast<int>(*s));
    }
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      for (std::size_t k = 0; k < 2; ++k) {
        auto c = v[k].constant();
        if (!c || *c < 0) continue;
        auto [high, low] = quotient_and_rest(v[1 - k], Poly(add(ones_above(*c), 1)));
        auto bits = low.constant();
        if (!bits) continue;
        if (f->op == Op::bit_and) return Poly(*bits & *c);
        return v[1 - k] - low + Poly(f->op == Op::bit_or ? *bits | *c : *bits ^ *c);
      }
      return std::nullopt;
    case Op::min:
    case Op::max:
      for (bool first : {true, false})
        if (context_.nonnegative(first ? v[1] - v[0] : v[0] - v[1]))
          return v[first == (f->op == Op::min) ? 0 : 1];
      return std::nullopt;
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not: {
      std::vector<FormulaRef> numbers;
      for (const Poly& p : v) {
        if (!p.constant()) return std::nullopt;
        numbers.push_back(integer(*p.constant()));
      }
      return Poly(evaluate(make(f->op, numbers), [](const std::string&) -> Wide { return 0; }));
    }
    default: return compared(f->op, v[1] - v[0]);
    }
  }

  [[nodiscard]] bool nonnegative(const Poly& p) const { return context_.nonnegative(p); }
  [[nodiscard]] const std::vector<std::string>& hints() const { return hints_; }
  [[nodiscard]] Wide classes() const { return classes_; }

private:
  struct Class {
    Wide period = 1, residue = 0;
    std::vector<Symbol> quotients; // one for each residue, with bounds of its own
  };

  static Poly here(const Class& c) {
    return Poly(c.period) * Poly::symbol(c.quotients[static_cast<std::size_t>(c.residue)]) + Poly(c.residue);
  }

  [[nodiscard]] std::optional<Wide> number(const FormulaRef& f) const {
    // A number for all coordinates and symbols alike, so that it may stand as a divisor or a mask in every
    // case.
    for (const std::string& n : names_of(f))
      if (coordinates_.count(n) != 0) return std::nullopt;
    auto p = context_.poly(f);
    return p ? p->constant() : std::nullopt;
  }

  // An upper bound of a value that is never negative and known exactly in each case: remainders by numbers and what is made of them.
  [[nodiscard]] std::optional<Wide> greatest(const FormulaRef& f) const {
    if (auto n = number(f)) return *n >= 0 ? n : std::nullopt;
    auto of = [&](std::size_t k) { return greatest(f->args[k]); };
    switch (f->op) {
    case Op::mod: {
      auto d = number(f->args[1]);
      return d && *d >= 1 ? std::optional<Wide>(*d - 1) : std::nullopt;
    }
    case Op::bit_and: {
      auto a = of(0), b = of(1);
      return a && b ? std::min(*a, *b) : a ? a : b;
    }
    case Op::bit_or:
    case Op::bit_xor: {
      auto a = of(0), b = of(1);
      if (!a || !b) return std::nullopt;
      return ones_above(std::max(*a, *b));
    }
    case Op::add:
    case Op::mul: {
      auto a = of(0), b = of(1);
      if (!a || !b) return std::nullopt;
      return f->op == Op::add ? add(*a, *b) : multiply(*a, *b);
    }
    case Op::div:
    // Of what is not negative a quotient by 1 or more is no greater; want() has made sure of the divisor.
    case Op::shr: return of(0);
    default: return std::nullopt;
    }
  }

  // Of x OP y with d = y - x, where the sign of d is known.
  [[nodiscard]] std::optional<Poly> compared(Op op, const Poly& d) const {
    bool le = context_.nonnegative(d), ge = context_.nonnegative(Poly() - d);
    bool lt = context_.positive(d), gt = context_.positive(Poly() - d);
    auto pick = [](bool yes, bool no) -> std::optional<Poly> {
      if (yes) return Poly(1);
      if (no) return Poly(0);
      return std::nullopt;
    };
    switch (op) {
    case Op::lt: return pick(lt, ge);
    case Op::le: return pick(le, gt);
    case Op::gt: return pick(gt, le);
    case Op::ge: return pick(ge, lt);
    case Op::eq: return pick(le && ge, lt || gt);
    case Op::ne: return pick(lt || gt, le && ge);
    default: return std::nullopt;
    }
  }

  Context context_; // with the quotients
  std::map<std::string, Class> coordinates_;
  std::vector<Class> inner_; // of the context's symbols
  std::vector<Class*> all_;  // that have more than one residue
  std::vector<std::string> hints_;
  Wide classes_ = 1;
};

} // namespace

bool prove_by_residues(Engine& e, const std::vector<Coordinate>& domain,
                       const std::vector<FormulaRef>& values, Finding::Kind kind,
                       const FormulaRef& bound) try {
  Residues cases(e, domain);
  Wide modulus = 1;
  if (kind == Finding::Kind::misaligned) {
    auto w = e.context.poly(bound);
    // Divisibility by a symbol has no residue classes to go through.
    if (!w || !w->constant() || *w->constant() < 1) return false;
    modulus = *w->constant();
  }
  for (const FormulaRef& f : values)
    if (!cases.want(f, modulus)) return false;
  if (kind == Finding::Kind::outside && !cases.want(bound, 1)) return false;
  // An extent such as ceil_div(n, 4) is a polynomial in each case as well, which is how the checker sees that it is positive.
  for (const Coordinate& c : domain)
    if (!e.context.poly(c.extent)) (void)cases.want(c.extent, 1);
  if (!cases.choose(e)) return false;
  bool yes = cases.every([&] {
    if (e.cancelled()) return false;
    auto v = cases.value(values[0]);
    if (!v) return false;
    if (kind == Finding::Kind::misaligned) return quotient_and_rest(*v, Poly(modulus)).second.is_zero();
    if (kind == Finding::Kind::outside) {
      auto n = cases.value(bound);
      return n && cases.nonnegative(*v) && cases.nonnegative(*n - Poly(1) - *v);
    }
    return cases.value(values[1]) == v;
  });
  if (!yes) return false;
  e.claims.note("all " + to_string(cases.classes()) + " cases of the residues, a polynomial in each");
  e.hints.insert(e.hints.end(), cases.hints().begin(), cases.hints().end());
  return true;
} catch (const Overflow&) { // other layers have smaller numbers
  return false;
}

} // namespace inlay::solver
