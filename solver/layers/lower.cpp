#include "layers/lower.h"

#include <algorithm>
#include <bit>

namespace inlay::solver {
namespace {

bool power_of_two(Wide v) { return v > 0 && (v & (v - 1)) == 0; }

} // namespace

// The first reason is kept: what fails after it, fails because of it, and would tell the user of a fact that does not help.
std::nullopt_t Lowering::missing(const std::string& what) {
  if (reason_.empty()) reason_ = what;
  return std::nullopt;
}

// A root is a coordinate's digit, in [0, extent) and independent of all others: on that independence every exact statement below
// (range, uniqueness of forms, counting) rests.
DigitId Lowering::root(const Poly& extent) {
  Digit d;
  d.extent = extent;
  d.is_root = true;
  digits_.push_back(d);
  return static_cast<DigitId>(digits_.size() - 1);
}

Form Lowering::constant(const Poly& p) { return {p, {}, {}}; }

Form Lowering::digit(DigitId d) const {
  Form f;
  f.linear[d] = Poly(1);
  return f;
}

// By the roots' own extents, which are those of the modes: the parts of a root that was rounded up would count further.
Form Lowering::index() const {
  Form sum;
  Poly before(1);
  for (std::size_t k = 0; k < digits_.size(); ++k) {
    if (!digits_[k].is_root) continue;
    sum = sum + scale(digit(static_cast<DigitId>(k)), before);
    before = before * digits_[k].extent;
  }
  return sum;
}

// Zero coefficients go, as in polynomials: forms are compared as maps.
Form operator+(const Form& a, const Form& b) {
  Form r = a;
  r.constant = r.constant + b.constant;
  for (const auto& [d, c] : b.linear) {
    Poly& mine = r.linear[d];
    mine = mine + c;
    if (mine.is_zero()) r.linear.erase(d);
  }
  for (const auto& [m, w] : b.parity) {
    Poly& mine = r.parity[m];
    mine = mine + w;
    if (mine.is_zero()) r.parity.erase(m);
  }
  return r;
}

Form Lowering::scale(const Form& f, const Poly& by) {
  Form r;
  if (by.is_zero()) return r;
  r.constant = f.constant * by;
  for (const auto& [d, c] : f.linear) r.linear[d] = c * by;
  // No product of a nonzero coefficient with a nonzero polynomial is zero, so that nothing has to be erased here.
  for (const auto& [m, w] : f.parity) r.parity[m] = w * by;
  return r;
}

// Only a leaf is split, and for good: forms that mention it are rewritten by normal(), so that no form has to be found and changed.
// A digit that a rotation replaced stays whole, as the claim about it is about the whole of [0, extent). Exact: x -> (x % t, x / t) is a
// bijection of [0, t h) onto [0, t) x [0, h), also where h is 0 for some values of the symbols.
bool Lowering::split(DigitId d, const Poly& factor) {
  auto& it = digits_[static_cast<std::size_t>(d)];
  if (it.turned >= 0) return false;
  Digit low, high;
  low.extent = factor;
  if (auto q = exact_quotient(it.extent, factor)) {
    high.extent = *q;
    // At least 1 where the extent is: what it is elsewhere is nobody's business (Engine::proved asks for the extents).
    if (!context_.nonnegative(high.extent)) return false;
  } else if (mode_ == Mode::exact) {
    return false;
  } else {
    auto e = it.extent.constant(), t = factor.constant();
    // Rounded up: what holds at every point of the larger box holds on the smaller one; images and counts do not carry over,
    // which is why statements about them ask for Mode::exact.
    enlarged_ = true;
    if (e && t) {
      high.extent = Poly(-floor_div(-*e, *t));
    } else {
      // A ceiling is no polynomial. A symbol of its own with nothing known but that it is at least 1 is weaker than the
      // ceiling, and so safe: what holds for every value of it holds for that one.
      high.extent = Poly::symbol(context_.fresh("ceil", Bounds{1, {}, true}));
    }
  }
  it.factor = factor;
  it.low = static_cast<int>(digits_.size());
  it.high = it.low + 1;
  digits_.push_back(low);
  digits_.push_back(high);
  return true;
}

// Splits a digit of constant extent into registered bits, rounding the extent up to a power of two. Bits are numbered over the whole
// lowering, so that a mask of 64 of them says which parity is meant whatever digits they came from.
bool Lowering::into_bits(DigitId d) {
  // The digit is looked up again in every turn: split() appends to digits_, which moves them.
  while (true) {
    Digit& it = digits_[static_cast<std::size_t>(d)];
    if (it.low >= 0) return into_bits(it.low) && into_bits(digits_[static_cast<std::size_t>(d)].high);
    if (it.bit >= 0) return true;
    if (it.turned >= 0) return false;
    auto e = it.extent.constant();
    if (!e) return false;
    if (*e <= 1) return true;
    if (*e == 2) {
      // Masks of parities are words of 64 bits.
      if (bit_count_ >= 64) return false;
      it.bit = bit_count_++;
      return true;
    }
    if (!split(d, Poly(2))) return false;
  }
}

// Forms are made while digits are still whole and compared after they have been split. Equality of forms is equality of normal
// forms alone: a digit and its two parts would otherwise be different words for one thing.
Form Lowering::normal(const Form& f) const {
  Form r;
  r.constant = f.constant;
  auto bit_term = [&](std::uint64_t mask, const Poly& w) {
    Poly& mine = r.parity[mask];
    mine = mine + w;
    if (mine.is_zero()) r.parity.erase(mask);
  };
  std::vector<std::pair<DigitId, Poly>> work(f.linear.begin(), f.linear.end());
  while (!work.empty()) {
    auto [d, c] = work.back();
    work.pop_back();
    const Digit& it = digits_[static_cast<std::size_t>(d)];
    if (it.low >= 0) {
      work.emplace_back(it.low, c);
      work.emplace_back(it.high, c * it.factor);
    } else if (it.extent.is_one() || c.is_zero()) {
      continue;
    } else if (it.bit >= 0) {
      bit_term(std::uint64_t{1} << it.bit, c);
    } else {
      Poly& mine = r.linear[d];
      mine = mine + c;
      if (mine.is_zero()) r.linear.erase(d);
    }
  }
  for (const auto& [m, w] : f.parity) bit_term(m, w);
  return r;
}

// Least significant first, which is the order of the index: roots are pushed in reverse and the low part is popped before the
// high one.
std::vector<DigitId> Lowering::leaves() const {
  std::vector<DigitId> out;
  std::vector<DigitId> stack;
  for (std::size_t k = digits_.size(); k-- > 0;)
    if (digits_[k].is_root) stack.push_back(static_cast<DigitId>(k));
  while (!stack.empty()) {
    DigitId d = stack.back();
    stack.pop_back();
    const Digit& it = digits_[static_cast<std::size_t>(d)];
    if (it.low >= 0) {
      stack.push_back(it.high);
      stack.push_back(it.low);
    } else if (it.turned >= 0) {
      stack.push_back(it.turned);
    } else {
      out.push_back(d);
    }
  }
  return out;
}

std::string Lowering::leaves(const std::function<std::string(const Poly&)>& text) const {
  std::function<std::string(DigitId)> words = [&](DigitId d) -> std::string {
    const Digit& it = digits_[static_cast<std::size_t>(d)];
    if (it.low < 0) return it.turned >= 0 ? words(it.turned) : text(it.extent);
    std::string parts = words(it.low) + " | " + words(it.high);
    bool exact = it.extent == extent(it.low) * extent(it.high);
    return exact ? parts : "[" + text(it.extent) + ": " + parts + "]";
  };
  std::string out;
  for (std::size_t k = 0; k < digits_.size(); ++k)
    if (digits_[k].is_root) out += (out.empty() ? "" : " | ") + words(static_cast<DigitId>(k));
  return out;
}

// A rotation may be a bijection of its digit only once for each value of what it is rotated by. So it is replaced where the rest of the
// form has nothing of the digit itself, and rotations_hold() looks at the end whether anything else did. Several at once are a
// bijection, too: the last one made is turned back first, its s being made of digits that are not replaced (those that are were
// refused here) and of earlier rotations' digits; then the one before it, whose s may name the digit just found.
std::optional<Form> Lowering::rotated(const Form& f, const Poly& d) {
  if (rotations_ == Rotations::none || !context_.positive(d) || d.is_one()) return std::nullopt;
  Form n = normal(f);
  // The same rotation again, in a second occurrence of the formula, is the same digit. Two digits for it would be two
  // independent values for one.
  for (const Rotation& r : rotated_)
    if (r.of == n && r.modulus == d) return digit(r.digit);
  auto bounds = range(n);
  // No remainder at all: divide() does better, as it keeps the digits.
  if (bounds && context_.nonnegative(bounds->first) && context_.positive(d - bounds->second))
    return std::nullopt;
  std::optional<DigitId> found;
  for (const auto& [x, c] : n.linear) {
    if (digits_[static_cast<std::size_t>(x)].turned >= 0) return std::nullopt;
    bool one = c.is_one() || (Poly() - c).is_one();
    if (one && extent(x) == d && (!found || rotations_ == Rotations::of_last)) found = x;
  }
  if (!found) return std::nullopt;
  // What d divides does not turn anything: x + 3 d is x modulo d.
  Form rest = n;
  rest.linear.erase(*found);
  bool turns = !exact_quotient(rest.constant, d) && !rest.constant.is_zero();
  for (const auto& [x, c] : rest.linear) turns = turns || !exact_quotient(c, d);
  for (const auto& [m, w] : rest.parity) turns = turns || !exact_quotient(w, d);
  if (!turns) return std::nullopt;
  Digit y;
  y.extent = d;
  digits_.push_back(y);
  auto id = static_cast<DigitId>(digits_.size() - 1);
  digits_[static_cast<std::size_t>(*found)].turned = id;
  rotated_.push_back({n, d, id});
  return digit(id);
}

bool Lowering::rotations_hold(const Form& f) const {
  Form n = normal(f);
  return std::none_of(n.linear.begin(), n.linear.end(),
                      [&](const auto& t) { return digits_[static_cast<std::size_t>(t.first)].turned >= 0; });
}

// A parity of two bits is no function of one digit: a layout with a swizzle has no flat form.
std::optional<std::vector<FlatDigit>> Lowering::flat(const Form& f) const {
  Form n = normal(f);
  for (const auto& [m, w] : n.parity)
    if (std::popcount(m) != 1) return std::nullopt;
  std::vector<FlatDigit> out;
  for (DigitId d : leaves()) {
    const Digit& it = digits_[static_cast<std::size_t>(d)];
    Poly stride;
    if (it.bit >= 0) {
      auto w = n.parity.find(std::uint64_t{1} << it.bit);
      if (w != n.parity.end()) stride = w->second;
    } else if (auto c = n.linear.find(d); c != n.linear.end()) {
      stride = c->second;
    }
    out.push_back({it.extent, stride});
  }
  return out;
}

// Each digit moves independently of the others, so that the extremes are those of each term. That is exact on the box, not an
// estimate; a coefficient of unknown sign has none.
std::optional<std::pair<Poly, Poly>> Lowering::range(const Form& f) const {
  Form n = normal(f);
  Poly low = n.constant, high = n.constant;
  auto widen = [&](const Poly& span) {
    if (context_.nonnegative(span)) {
      high = high + span;
    } else if (context_.nonnegative(Poly() - span)) {
      low = low + span;
    } else {
      return false;
    }
    return true;
  };
  for (const auto& [d, c] : n.linear) {
    // The sign of the coefficient decides; the extent is at least 1.
    Poly steps = extent(d) - Poly(1);
    if (context_.nonnegative(c)) {
      high = high + c * steps;
    } else if (context_.nonnegative(Poly() - c)) {
      low = low + c * steps;
    } else {
      return std::nullopt;
    }
  }
  // A parity is 0 or 1. Parities of common bits are not independent, so that this is a bound and may not be reached.
  for (const auto& [m, w] : n.parity)
    if (!widen(w)) return std::nullopt;
  return std::pair{low, high};
}

// Every coefficient is split into a multiple of d and a rest; digits are split where the rest divides d. What remains has to lie in
// [0, d) as a whole, else a carry out of it would belong to the quotient: that is the fact that is asked for in the end. In every turn
// f = d q + r + what is left in `work`, so that q and r are quotient and remainder for whatever way they were found.
std::optional<std::pair<Form, Form>> Lowering::divide(const Form& f, const Poly& d) {
  if (!context_.positive(d)) return missing("the divisor " + context_.str(d) + " is positive");
  if (d.is_one()) return std::pair{f, Form{}};
  Form q, r;
  Form n = normal(f);
  if (auto bounds = range(n);
      bounds && context_.nonnegative(bounds->first) && context_.positive(d - bounds->second))
    return std::pair{Form{}, n};
  auto [cq, cr] = quotient_and_rest(n.constant, d);
  q.constant = cq;
  r.constant = cr;
  for (const auto& [m, w] : n.parity) {
    auto [exact, rest] = quotient_and_rest(w, d);
    if (!exact.is_zero()) q.parity[m] = exact;
    if (!rest.is_zero()) r.parity[m] = rest;
  }
  std::vector<std::pair<DigitId, Poly>> work(n.linear.begin(), n.linear.end());
  // Every digit is taken to its end, however many there are: a term left out would make the quotient that of another sum. It ends
  // because only peeling puts a digit back, and one of half the extent.
  while (!work.empty()) {
    auto [x, c] = work.back();
    work.pop_back();
    auto [exact, rest] = quotient_and_rest(c, d);
    if (!exact.is_zero()) q = q + scale(digit(x), exact);
    if (rest.is_zero()) continue;
    if (auto t = exact_quotient(d, rest);
        // A factor of at least the extent needs no cut: the digit never reaches d.
        t && context_.positive(*t) && !context_.nonnegative(*t - extent(x))) {
      if (!split(x, *t))
        return missing("splitting an extent " + context_.str(extent(x)) + " by " + context_.str(*t));
      // rest x = rest low + (rest t) high, and rest t = d.
      const Digit& it = digits_[static_cast<std::size_t>(x)];
      r = r + scale(digit(it.low), rest);
      q = q + digit(it.high);
      continue;
    }
    // No single factor fits (12 x / 8): peel off the top bit when its coefficient divides.
    if (auto e = extent(x).constant(); e && power_of_two(*e) && *e > 2) {
      Poly half(*e / 2);
      auto [top, top_rest] = quotient_and_rest(rest * half, d);
      if (top_rest.is_zero() && split(x, half)) {
        const Digit& it = digits_[static_cast<std::size_t>(x)];
        q = q + scale(digit(it.high), top);
        work.emplace_back(it.low, rest);
        continue;
      }
    }
    r = r + scale(digit(x), rest);
  }
  // The formal quotient of the constant may be one off: r by r + k + 1 is 1 and -(k + 1), not 0 and r.
  if (auto bounds = range(r))
    for (int off : {0, 1, -1}) {
      Poly more = Poly(off) * d;
      if (!context_.nonnegative(bounds->first + more) || !context_.positive(d - bounds->second - more))
        continue;
      r.constant = r.constant + more;
      q.constant = q.constant - Poly(off);
      return std::pair{q, r};
    }
  return missing(str(r) + " is in [0, " + context_.str(d) + ")");
}

// Bits that may be set. Of a negative value all are, and there is no number of them. 100 is beyond every width that bitwise() takes.
std::optional<int> Lowering::width(const Form& f) const {
  auto bounds = range(f);
  if (!bounds || !context_.nonnegative(bounds->first)) return std::nullopt;
  auto high = bounds->second.constant();
  if (!high) return std::nullopt;
  int n = 0;
  while (n < 100 && (Wide{1} << n) <= *high) ++n;
  return n;
}

// f = sum_j 2^j * bit_j + 2^width * high, when no sum below 2^width carries.
std::optional<Lowering::Bits> Lowering::bits(const Form& f, int width) {
  auto parts = divide(f, Poly(Wide{1} << width));
  if (!parts) return std::nullopt;
  for (const auto& [d, c] : normal(parts->second).linear)
    if (!into_bits(d)) return missing("the bits of a digit of extent " + context_.str(extent(d)));
  Form low = normal(parts->second);
  auto constant = low.constant.constant();
  if (!constant) return missing("the bits of " + context_.str(low.constant));
  Bits out;
  out.high = parts->first;
  out.bits.resize(static_cast<std::size_t>(width));
  Wide sum = *constant;
  // Terms may be added as bits where no two of them have a bit in common: then the sum has no carry, and each bit of it is that
  // of one term. A negative weight is the complement of its parity, with a borrow that the constant has to pay for.
  Wide used = 0;
  std::vector<std::pair<std::uint64_t, Wide>> terms;
  for (const auto& [m, w] : low.parity) {
    auto weight = w.constant();
    if (!weight) return missing("the bits of " + context_.str(w));
    terms.emplace_back(m, *weight);
    if (*weight < 0) sum = add(sum, *weight); // -w p = w (1 - p) - w
  }
  if (sum < 0) return missing("no borrow in " + str(low));
  // A weight of several bits (3 p) puts its parity into each of them.
  for (const auto& [m, w] : terms) {
    Wide size = w < 0 ? -w : w;
    if ((size & used) != 0 || (size & sum) != 0) return missing("no carry in " + str(low));
    used |= size;
    for (int j = 0; j < width; ++j)
      if ((size >> j) & 1) out.bits[static_cast<std::size_t>(j)] = {m, w < 0};
  }
  if (used >= (Wide{1} << width) || sum >= (Wide{1} << width)) return missing("no carry out of " + str(low));
  for (int j = 0; j < width; ++j)
    if ((sum >> j) & 1) out.bits[static_cast<std::size_t>(j)] = {0, true};
  return out;
}

// Above the width of the narrower operand the other one's bits stay (xor, or) or go (and); below it each bit of the result
// is a parity, or for & and | one of the operands when the other is constant there.
std::optional<Form> Lowering::bitwise(Op op, const Form& a, const Form& b) {
  auto wa = width(a), wb = width(b);
  if (!wa && !wb) return missing("a bound on an operand of a bit operation");
  // One bounded operand is enough: above its width the result is the other one (^ and |) or nothing (&).
  int w = wa && wb ? std::min(*wa, *wb) : wa ? *wa : *wb;
  // Masks and weights are words of 64 bits with two to spare.
  if (w > 62) return missing("operands of a bit operation below 2^62");
  auto x = bits(a, w), y = bits(b, w);
  if (!x || !y) return std::nullopt;
  Form r;
  // One of the high parts is zero at every index, as that operand is below 2^w there: their sum is their xor and their or. It need not
  // be the form 0, where reading the other operand's bits has made a digit of both larger.
  if (op != Op::bit_and) r = scale(x->high + y->high, Poly(Wide{1} << w));
  for (int j = 0; j < w; ++j) {
    Bit p = x->bits[static_cast<std::size_t>(j)], q = y->bits[static_cast<std::size_t>(j)], s;
    if (op == Op::bit_xor) {
      s = {p.mask ^ q.mask, p.flip != q.flip};
    } else {
      if (q.mask != 0) std::swap(p, q);
      if (q.mask != 0) {
        // p & q of two different parities is a product, which the form has no place for.
        if (p.mask != q.mask || p.flip != q.flip)
          return missing("one operand of & or | being constant in bit " + std::to_string(j));
        s = p;
      } else if (op == Op::bit_and) {
        s = q.flip ? p : Bit{};
      } else {
        s = q.flip ? Bit{0, true} : p;
      }
    }
    // 1 - p for a parity that is flipped.
    Poly weight(Wide{1} << j);
    if (s.flip) r.constant = r.constant + weight;
    if (s.mask != 0) {
      Form term;
      term.parity[s.mask] = s.flip ? Poly() - weight : weight;
      r = r + term;
    }
  }
  return r;
}

// On the whole box or not at all: a comparison that holds in a part of it makes pieces (pieces.h).
std::optional<bool> Lowering::decide(Op op, const Form& a, const Form& b) const {
  auto span = range(a + scale(b, Poly(-1)));
  if (!span) return std::nullopt;
  const auto& [low, high] = *span;
  bool ge = context_.nonnegative(low), le = context_.nonnegative(Poly() - high);
  bool gt = context_.positive(low), lt = context_.positive(Poly() - high);
  // The only way for a difference of forms to be 0 everywhere that is decided here: that its range is.
  bool same = low.is_zero() && high.is_zero();
  auto pick = [](bool yes, bool no) -> std::optional<bool> {
    if (yes) return true;
    if (no) return false;
    return std::nullopt;
  };
  switch (op) {
  case Op::lt: return pick(lt, ge);
  case Op::le: return pick(le, gt);
  case Op::gt: return pick(gt, le);
  case Op::ge: return pick(ge, lt);
  case Op::eq: return pick(same, gt || lt);
  case Op::ne: return pick(gt || lt, same);
  default: return std::nullopt;
  }
}

// What has no coordinate in it is left to the context, whose polynomials know more about symbols (quotients, min, max) than
// digits do.
std::optional<Form> Lowering::lower(const FormulaRef& f, const std::map<std::string, Form>& names) {
  if (f->op == Op::name)
    if (auto it = names.find(f->name); it != names.end()) return it->second;
  bool has_coordinate = false;
  for (const std::string& n : names_of(f)) has_coordinate |= names.count(n) != 0;
  if (!has_coordinate) {
    if (auto p = context_.poly(f)) return constant(*p);
    if (f->args.empty()) return missing("a value for " + to_string(f));
  }
  if (f->op == Op::select) { // the side that is not taken need not have a form
    auto c = lower(f->args[0], names);
    if (!c) return std::nullopt;
    // Bits of the condition may cancel only once digits that it shares are split alike.
    Form decided = normal(*c);
    auto value = decided.constant.constant();
    if (!value || !decided.linear.empty() || !decided.parity.empty())
      return missing("the condition " + to_string(f->args[0]));
    return lower(f->args[*value != 0 ? 1 : 2], names);
  }
  std::vector<Form> args;
  for (const FormulaRef& a : f->args) {
    auto form = lower(a, names);
    if (!form) return std::nullopt;
    args.push_back(normal(*form));
  }
  auto only_constant = [&](std::size_t k) -> std::optional<Poly> {
    if (!args[k].linear.empty() || !args[k].parity.empty()) return std::nullopt;
    return args[k].constant;
  };
  switch (f->op) {
  case Op::add: return args[0] + args[1];
  case Op::sub: return args[0] + scale(args[1], Poly(-1));
  case Op::neg: return scale(args[0], Poly(-1));
  case Op::mul:
    if (auto c = only_constant(1)) return scale(args[0], *c);
    if (auto c = only_constant(0)) return scale(args[1], *c);
    return missing("a factor of " + to_string(f) + " without coordinates");
  case Op::div:
  case Op::mod: {
    auto d = only_constant(1);
    if (!d) return missing("a divisor of " + to_string(f) + " without coordinates");
    if (f->op == Op::mod)
      if (auto y = rotated(args[0], *d)) return y;
    auto parts = divide(args[0], *d);
    if (!parts) return std::nullopt;
    return f->op == Op::div ? parts->first : parts->second;
  }
  case Op::shl:
  case Op::shr: {
    auto s = only_constant(1);
    auto n = s ? s->constant() : std::nullopt;
    if (!n || *n < 0 || *n > 60) return missing("a constant shift in " + to_string(f));
    Poly power(Wide{1} << static_cast<int>(*n));
    if (f->op == Op::shl) return scale(args[0], power);
    auto parts = divide(args[0], power);
    if (!parts) return std::nullopt;
    return parts->first;
  }
  case Op::bit_and:
    for (std::size_t k = 0; k < 2; ++k) // x & (2^n - 1) is x % 2^n for every x, also a symbolic one
      if (auto c = only_constant(k); c && c->constant() && power_of_two(*c->constant() + 1)) {
        auto parts = divide(args[1 - k], Poly(*c->constant() + 1));
        if (!parts) return std::nullopt;
        return parts->second;
      }
    return bitwise(f->op, args[0], args[1]);
  case Op::bit_or:
  case Op::bit_xor: return bitwise(f->op, args[0], args[1]);
  case Op::min:
  case Op::max: {
    // Where both are equal everywhere either side will do.
    auto le = decide(Op::le, args[0], args[1]);
    if (!le && decide(Op::lt, args[0], args[1]) == false) le = false; // not below: the second is no greater
    if (!le)
      return missing("which of " + to_string(f->args[0]) + " and " + to_string(f->args[1]) + " is smaller");
    return args[(f->op == Op::min) == *le ? 0 : 1];
  }
  case Op::lt:
  case Op::le:
  case Op::gt:
  case Op::ge:
  case Op::eq:
  case Op::ne: {
    auto yes = decide(f->op, args[0], args[1]);
    if (!yes) return missing("whether " + to_string(f));
    return constant(Poly(*yes ? 1 : 0));
  }
  case Op::logical_and:
  case Op::logical_or:
  case Op::logical_not: {
    std::vector<FormulaRef> values;
    for (std::size_t k = 0; k < args.size(); ++k) {
      auto c = only_constant(k);
      if (!c || !c->constant()) return missing("whether " + to_string(f));
      values.push_back(integer(*c->constant()));
    }
    return constant(Poly(evaluate(make(f->op, values), [](const std::string&) -> Wide { return 0; })));
  }
  default: return missing("a value for " + to_string(f));
  }
}

std::optional<Poly> Lowering::poly(const Leaf& leaf) const {
  if (!leaf.formula) return Poly(leaf.value);
  return context_.poly(leaf.formula);
}

// The last mode takes what is left, without a remainder: indices beyond the size run on along it (docs/deviations.md).
std::optional<Form> Lowering::apply(const std::vector<std::vector<FlatMode>>& modes, Form x) {
  std::vector<const FlatMode*> flat;
  for (const auto& top : modes)
    for (const FlatMode& m : top) flat.push_back(&m);
  Form sum;
  for (std::size_t k = 0; k < flat.size(); ++k) {
    auto extent = poly(flat[k]->extent), stride = poly(flat[k]->stride);
    if (!extent || !stride) return missing("polynomial extents and strides");
    if (k + 1 == flat.size()) return sum + scale(x, *stride);
    auto parts = divide(x, *extent);
    if (!parts) return std::nullopt;
    sum = sum + scale(parts->second, *stride);
    x = parts->first;
  }
  return sum;
}

std::optional<Form> Lowering::apply_steps(const Parts& f, Form x) {
  for (std::size_t k = f.outer.size(); k-- > 0;) {
    const Step& s = f.outer[k];
    if (s.kind == Step::Kind::swizzle && s.bits == 0) continue; // the identity needs no bits
    std::optional<Form> next;
    if (s.kind == Step::Kind::offset) {
      if (auto p = poly(s.offset)) next = x + constant(*p);
    } else if (s.kind == Step::Kind::layout) {
      next = apply(s.modes, x);
    } else {
      // x ^ ((x & mask) moved): bits [from, from + bits) go to [to, to + bits).
      int from = s.base + std::max(s.shift, 0), to = s.base + std::max(-s.shift, 0);
      Poly block(Wide{1} << (std::max(from, to) + s.bits));
      auto parts = divide(x, block); // the swizzle does not see what is above
      if (!parts) return std::nullopt;
      auto above = divide(parts->second, Poly(Wide{1} << from));
      if (!above) return std::nullopt;
      auto field = divide(above->first, Poly(Wide{1} << s.bits));
      if (!field) return std::nullopt;
      // By digits for its low part alone: what lies above the block may be symbolic without bound, and is added back untouched.
      auto low = bitwise(Op::bit_xor, parts->second, scale(field->second, Poly(Wide{1} << to)));
      if (!low) return std::nullopt;
      next = scale(parts->first, block) + *low;
    }
    if (!next) return missing("a polynomial offset");
    x = normal(*next);
  }
  return x;
}

std::optional<Form> Lowering::lower(const Parts& f, const std::vector<Form>& coordinates) {
  Form x;
  if (f.value) {
    std::map<std::string, Form> names;
    for (std::size_t k = 0; k < f.domain.size(); ++k) names[f.domain[k].name] = coordinates[k];
    auto v = lower(f.value, names);
    if (!v) return std::nullopt;
    x = *v;
  } else {
    for (std::size_t k = 0; k < f.modes.size(); ++k) {
      auto v = apply({f.modes[k]}, coordinates[k]);
      if (!v) return std::nullopt;
      x = x + *v;
    }
  }
  return apply_steps(f, normal(x));
}

// The same function by its index, for comparisons of functions whose coordinates have other shapes. The last coordinate takes the rest
// without a remainder, which is the same below the size; nobody asks beyond it.
std::optional<Form> Lowering::lower_index(const Parts& f, const Form& index) {
  if (!f.value) {
    auto v = apply(f.modes, index);
    if (!v) return std::nullopt;
    return apply_steps(f, normal(*v));
  }
  std::vector<Form> coordinates;
  Form rest = index;
  for (std::size_t k = 0; k < f.domain.size(); ++k) {
    if (k + 1 == f.domain.size()) {
      coordinates.push_back(rest);
      break;
    }
    auto e = context_.poly(f.domain[k].extent);
    if (!e) return missing("a polynomial extent");
    auto parts = divide(rest, *e);
    if (!parts) return std::nullopt;
    coordinates.push_back(parts->second);
    rest = parts->first;
  }
  return lower(f, coordinates);
}

std::string Lowering::str(const Form& f) const {
  Form n = normal(f);
  std::string out = n.constant.is_zero() ? "" : context_.str(n.constant);
  auto term = [&](const Poly& c, const std::string& what) {
    out += (out.empty() ? "" : " + ");
    if (!c.is_one()) out += "(" + context_.str(c) + ")*";
    out += what;
  };
  for (const auto& [d, c] : n.linear) term(c, "x" + std::to_string(d) + "<" + context_.str(extent(d)) + ">");
  for (const auto& [m, w] : n.parity) {
    std::string bits;
    for (int b = 0; b < 64; ++b)
      if ((m >> b) & 1) bits += (bits.empty() ? "b" : "^b") + std::to_string(b);
    term(w, "[" + bits + "]");
  }
  return out.empty() ? "0" : out;
}

} // namespace inlay::solver
