// Interval arithmetic with one rule that digits do not have: x ^ g and x | g with 0 <= g < 2^k stay in the aligned block of 2^k in which x
// is, so that
//
//     2^k floor(x / 2^k)  <=  x ^ g  <=  2^k floor(x / 2^k) + 2^k - 1
//
// which needs no digits of x: i ^ (i >> 7 & 15) on [0, 16 M) is below 16 M, though 2^11 divides nothing there. On the digits of a box that
// is rounded up it would reach the end of the box.
#include "questions/bounds.h"

#include <algorithm>

namespace inlay::solver {
namespace {

struct Interval {
  Poly low, high;
};

class Intervals {
public:
  Intervals(const Context& context, const std::vector<Coordinate>& domain)
      : context_(context), domain_(domain) {}

  std::optional<Interval> of(const FormulaRef& f) const {
    bool coordinates = false;
    for (const Coordinate& c : domain_) coordinates = coordinates || names_of(f).count(c.name) != 0;
    if (!coordinates) {
      // The context knows more of symbols than intervals do (exact quotients, min, max): a point, and nothing
      // is lost.
      auto p = context_.poly(f);
      if (!p) return std::nullopt;
      return Interval{*p, *p};
    }
    if (f->op == Op::name)
      for (const Coordinate& c : domain_)
        if (c.name == f->name) {
          auto extent = context_.poly(c.extent);
          if (!extent) return std::nullopt;
          // Whether there is an index at all is asked elsewhere (Engine::proved); without one any bounds are
          // right.
          return Interval{Poly(), *extent - Poly(1)};
        }
    // What is left of a division by a number has bounds whatever is divided, and so has what a mask leaves; if that has a value at all.
    if (f->op == Op::mod || f->op == Op::bit_and)
      for (std::size_t k = f->op == Op::mod ? 1 : 0; k < 2; ++k) {
        auto by = of(f->args[k]), other = of(f->args[1 - k]);
        if (other || !by || !defined(f->args[1 - k])) continue;
        if (f->op == Op::bit_and) {
          if (auto most = small(*by)) return Interval{Poly(), Poly(*most)};
        } else if (auto d = number(*by); d && *d >= 1) {
          return Interval{Poly(), Poly(*d - 1)};
        }
      }
    std::vector<Interval> v;
    for (const FormulaRef& a : f->args) {
      auto i = of(a);
      if (!i) return std::nullopt;
      v.push_back(*i);
    }
    switch (f->op) {
    case Op::add: return Interval{v[0].low + v[1].low, v[0].high + v[1].high};
    case Op::sub: return Interval{v[0].low - v[1].high, v[0].high - v[1].low};
    case Op::neg: return Interval{Poly() - v[0].high, Poly() - v[0].low};
    case Op::mul:
      // By a point alone: the ends of a product of two intervals depend on four signs.
      return v[1].low == v[1].high   ? scaled(v[0], v[1].low)
             : v[0].low == v[0].high ? scaled(v[1], v[0].low)
                                     : std::nullopt;
    case Op::div: return divided(v[0], number(v[1]));
    case Op::mod: {
      auto d = number(v[1]);
      if (!d || *d < 1) return std::nullopt;
      // What is below d already is its own rest, and keeps its bounds.
      if (context_.nonnegative(v[0].low) && context_.nonnegative(Poly(*d - 1) - v[0].high)) return v[0];
      return Interval{Poly(), Poly(*d - 1)};
    }
    case Op::shl:
    case Op::shr: {
      auto s = number(v[1]);
      if (!s || *s < 0 || *s > 60) return std::nullopt;
      Wide power = Wide{1} << static_cast<int>(*s);
      return f->op == Op::shl ? scaled(v[0], Poly(power)) : divided(v[0], power);
    }
    case Op::bit_and: { // no more than either operand that is not negative
      auto a = small(v[0]), b = small(v[1]);
      if (!a && !b) return std::nullopt;
      return Interval{Poly(), Poly(a && b ? std::min(*a, *b) : a ? *a : *b)};
    }
    case Op::bit_or:
    case Op::bit_xor: {
      auto a = small(v[0]), b = small(v[1]);
      if (!a && !b) return std::nullopt;
      // The smaller operand has the smaller block, and leaves the other one's bounds nearly as they are.
      bool second = b && (!a || *b < *a);
      Wide block = 1;
      while (block <= (second ? *b : *a)) block = multiply(block, 2);
      // Where the ends of x are at is not known: no further than a block beyond them.
      const Interval& x = v[second ? 0 : 1];
      auto from = down(x.low, block), to = up(x.high, block);
      return Interval{from ? Poly(block) * *from : x.low - Poly(block - 1),
                      (to ? Poly(block) * *to : x.high) + Poly(block - 1)};
    }
    default: return std::nullopt;
    }
  }

private:
  // A formula that divides by 0 for some values of the symbols means nothing there, and nothing is proved of it.
  bool defined(const FormulaRef& f) const {
    for (const FormulaRef& a : f->args)
      if (!defined(a)) return false;
    if (f->op != Op::div && f->op != Op::mod && f->op != Op::shl && f->op != Op::shr) return true;
    auto by = of(f->args[1]);
    if (!by) return false;
    if (f->op == Op::div || f->op == Op::mod)
      return context_.positive(by->low) || context_.positive(Poly() - by->high);
    // The shift that every layer takes; a larger one has no value that could be bounded within 128 bits.
    constexpr Wide most = 60;
    return context_.nonnegative(by->low) && context_.nonnegative(Poly(most) - by->high);
  }

  static std::optional<Wide> number(const Interval& i) {
    return i.low == i.high ? i.low.constant() : std::nullopt;
  }

  // The greatest value of what is never negative, when it is a number.
  std::optional<Wide> small(const Interval& i) const {
    auto high = i.high.constant();
    if (!high || *high < 0 || !context_.nonnegative(i.low)) return std::nullopt;
    return high;
  }

  std::optional<Interval> scaled(const Interval& i, const Poly& by) const {
    if (context_.nonnegative(by)) return Interval{i.low * by, i.high * by};
    if (context_.nonnegative(Poly() - by)) return Interval{i.high * by, i.low * by};
    return std::nullopt;
  }

  // floor(p / d) >= q where p = q d + r with r >= 0, and floor(p / d) <= q where r < d: any q with such an r is a bound.
  std::optional<Poly> down(const Poly& p, Wide d) const {
    auto [q, r] = quotient_and_rest(p, Poly(d));
    return context_.nonnegative(r) ? std::optional(q) : std::nullopt;
  }
  std::optional<Poly> up(const Poly& p, Wide d) const {
    auto [q, r] = quotient_and_rest(p, Poly(d));
    return context_.nonnegative(Poly(d - 1) - r) ? std::optional(q) : std::nullopt;
  }
  std::optional<Interval> divided(const Interval& i, std::optional<Wide> d) const {
    if (!d || *d < 1) return std::nullopt;
    auto low = down(i.low, *d), high = up(i.high, *d);
    if (!low || !high) return std::nullopt;
    return Interval{*low, *high};
  }

  const Context& context_;
  const std::vector<Coordinate>& domain_;
};

} // namespace

std::optional<std::pair<Poly, Poly>> bounds_of(const Engine& e, const std::vector<Coordinate>& domain,
                                               const FormulaRef& value) try {
  auto i = Intervals(e.context, domain).of(value);
  if (!i) return std::nullopt;
  return std::pair{i->low, i->high};
} catch (const Overflow&) { // digits have smaller numbers
  return std::nullopt;
}

bool within_by_bounds(Engine& e, const Parts& f, const Poly& n) {
  std::vector<Coordinate> domain;
  std::vector<FormulaRef> coordinates;
  for (const FormulaRef& extent : extent_formulas(f)) {
    domain.push_back({"\x02" + std::to_string(domain.size()), extent});
    coordinates.push_back(variable(domain.back().name));
  }
  auto r = bounds_of(e, domain, expand(f, coordinates));
  if (!r || !e.at_least(r->first, Poly(0), "least value") ||
      !e.at_least(n - Poly(1), r->second, "greatest value"))
    return false;
  e.hints.emplace_back("bounds of blocks");
  return true;
}

} // namespace inlay::solver
