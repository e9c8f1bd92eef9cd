// Operations on symbolic values that leave the ring: simplified where the facts decide, else one atom.
#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>

#include <algorithm>

namespace inlay {
namespace {

SymContext& context_of(std::initializer_list<Sym> operands) {
  for (const Sym& s : operands)
    if (s.context()) return *s.context();
  detail::check_failed("context", __FILE__, __LINE__, "an operation on constants reached its atom");
}

Sym atom(AtomKind kind, std::initializer_list<Sym> operands) {
  return context_of(operands).operation(kind, std::span<const Sym>(operands.begin(), operands.size()));
}

const SymAtom* only_atom(Sym a, AtomKind kind) {
  const auto id = a.as_atom();
  if (!id) return nullptr;
  const SymAtom& x = a.context()->atom(*id);
  return x.kind == kind ? &x : nullptr;
}

struct Split { // a = quotient * divisor + rest
  Sym quotient;
  Sym rest;
};

// Moves to the quotient every summand whose division by b is exact, and of the others as much as keeps signs.
Split split(Sym a, Sym b) {
  Split s{0, 0};
  if (a.is_constant()) {
    s.rest = a;
    if (const auto c = b.constant()) {
      s.quotient = floor_div(a.constant_term(), *c);
      s.rest = floor_mod(a.constant_term(), *c);
    }
    return s;
  }
  SymContext& context = *a.context();
  for (const Term& t : a.terms()) {
    const Sym term = context.product(t.coefficient, t.factors());
    if (const auto q = divide_exactly(term, b)) {
      s.quotient += *q;
    } else if (const auto c = b.constant(); c && abs(t.coefficient) > abs(*c)) {
      const Int whole = t.coefficient.value() / c->value();
      s.quotient += context.product(whole, t.factors());
      s.rest += context.product(t.coefficient - whole * *c, t.factors());
    } else {
      s.rest += term;
    }
  }
  const Split constant = split(a.constant_term(), b);
  s.quotient += constant.quotient;
  s.rest += constant.rest;
  return s;
}

// The greatest common divisor of the coefficients, without the constant term if asked.
Int content(Sym a, bool with_constant) {
  Int g = with_constant ? abs(a.constant_term()) : Int(0);
  for (const Term& t : a.terms()) g = gcd(g, t.coefficient);
  return g;
}

bool in_range(Sym rest, Sym b) { return le(0, rest) == Truth::yes && le(rest + 1, b) == Truth::yes; }

// floor((g x + c) / (g b)) = floor((x + floor(c / g)) / b): divides a common factor out, remembering c mod g.
struct Reduced {
  Sym rest;
  Sym divisor;
  Int factor;
  Int remainder;
};
Reduced reduce(Sym rest, Sym b) {
  const Int g = gcd(content(rest, false), content(b, true));
  if (g <= 1) return {rest, b, 1, 0};
  const Int c = rest.constant_term();
  const Sym x = *divide_exactly(rest - c, g);
  return {x + floor_div(c, g), *divide_exactly(b, g), g, floor_mod(c, g)};
}

// a / b when every value that the facts allow for a has the same quotient: (q + 7) / 8 = 1 for 1 <= q <= 8.
std::optional<Int> only_quotient(Sym a, Sym b) {
  const auto c = b.constant();
  const Interval r = interval(a);
  if (!c || *c <= 0 || !r.lower || !r.upper) return std::nullopt;
  const Int low = floor_div(*r.lower, *c);
  return low == floor_div(*r.upper, *c) ? std::optional(low) : std::nullopt;
}

} // namespace

Sym floor_div(Sym a, Sym b) {
  if (const auto q = divide_exactly(a, b); q && b != Sym(0)) return *q;
  if (const auto c = b.constant()) {
    if (*c == 0) detail::throw_division_by_zero("/", a.constant_term().value());
    if (a.is_constant()) return floor_div(a.constant_term(), *c);
    if (*c < 0) return floor_div(-a, -b);
  }
  Split s = split(a, b);
  if (s.rest == Sym(0) || in_range(s.rest, b)) return s.quotient;
  const Reduced r = reduce(s.rest, b);
  if (r.factor != 1) return s.quotient + floor_div(r.rest, r.divisor);
  if (const SymAtom* inner = only_atom(s.rest, AtomKind::floor_div); inner && b.is_constant()) {
    const auto c = inner->operands[1].constant();
    if (c && *c > 0) return s.quotient + floor_div(inner->operands[0], *c * b);
  }
  if (le(0, s.rest + b) == Truth::yes && le(s.rest, -1) == Truth::yes) return s.quotient - 1;
  if (const auto q = only_quotient(s.rest, b)) return s.quotient + *q;
  return s.quotient + atom(AtomKind::floor_div, {s.rest, b});
}

Sym floor_mod(Sym a, Sym b) {
  if (divide_exactly(a, b) && b != Sym(0)) return 0;
  if (const auto c = b.constant()) {
    if (*c == 0) detail::throw_division_by_zero("%", a.constant_term().value());
    if (a.is_constant()) return floor_mod(a.constant_term(), *c);
    if (*c < 0) return -floor_mod(-a, -b);
  }
  const Split s = split(a, b);
  if (s.rest == Sym(0)) return 0;
  if (in_range(s.rest, b)) return s.rest;
  const Reduced r = reduce(s.rest, b);
  if (r.factor != 1) return r.factor * floor_mod(r.rest, r.divisor) + r.remainder;
  if (const SymAtom* inner = only_atom(s.rest, AtomKind::mod);
      inner && divides(b, inner->operands[1]) == Truth::yes)
    return floor_mod(inner->operands[0], b);
  if (le(0, s.rest + b) == Truth::yes && le(s.rest, -1) == Truth::yes) return s.rest + b;
  if (const auto q = only_quotient(s.rest, b)) return s.rest - *q * b;
  return atom(AtomKind::mod, {s.rest, b});
}

Sym ceil_div(Sym a, Sym b) { return floor_div(a + b - 1, b); }

Sym min(Sym a, Sym b) {
  if (le(a, b) == Truth::yes) return a;
  if (le(b, a) == Truth::yes) return b;
  return atom(AtomKind::min, {std::min(a, b), std::max(a, b)});
}
Sym max(Sym a, Sym b) {
  if (le(a, b) == Truth::yes) return b;
  if (le(b, a) == Truth::yes) return a;
  return atom(AtomKind::max, {std::min(a, b), std::max(a, b)});
}
Sym abs(Sym a) { return max(a, -a); }

namespace {

bool is_power_of_two(Int n) { return n > 0 && (n.value() & (n.value() - 1)) == 0; }

// a and b share no bit when one is a multiple of 2^k and the other lies in [0, 2^k).
bool disjoint_bits(Sym a, Sym b) {
  const auto below = [](Sym high, Sym low) {
    const Residue r = residue(high);
    const Int g = gcd(r.modulus, r.residue);
    if (g == 0) return true; // high is 0
    const Int aligned = g.value() & -g.value();
    const Interval i = interval(low);
    return i.lower && i.upper && *i.lower >= 0 && *i.upper < aligned;
  };
  return below(a, b) || below(b, a);
}

} // namespace

Sym bit_xor(Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return a.constant_term().value() ^ b.constant_term().value();
  if (a == b) return 0;
  if (a == Sym(0)) return b;
  if (b == Sym(0)) return a;
  if (disjoint_bits(a, b)) return a + b;
  return atom(AtomKind::bit_xor, {std::min(a, b), std::max(a, b)});
}
Sym bit_or(Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return a.constant_term().value() | b.constant_term().value();
  if (a == b || b == Sym(0)) return a;
  if (a == Sym(0)) return b;
  if (disjoint_bits(a, b)) return a + b;
  return atom(AtomKind::bit_or, {std::min(a, b), std::max(a, b)});
}
Sym bit_and(Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return a.constant_term().value() & b.constant_term().value();
  if (a == b) return a;
  if (a == Sym(0) || b == Sym(0) || disjoint_bits(a, b)) return 0;
  if (a.is_constant()) std::swap(a, b);
  if (const auto mask = b.constant()) {
    if (*mask == -1) return a;
    if (*mask > 0) { // a run of bits is a digit
      const Int low = mask->value() & -mask->value();
      const Int digit = floor_div(*mask, low) + 1;
      if (is_power_of_two(digit)) return low * floor_mod(floor_div(a, low), digit);
    }
  }
  return atom(AtomKind::bit_and, {std::min(a, b), std::max(a, b)});
}

namespace {
std::optional<Int> shift_factor(Sym bits) {
  const auto n = bits.constant();
  if (!n) return std::nullopt;
  if (*n < 0 || *n > 62)
    throw LayoutError(
        {"shift", "symbols", "a shift must lie in 0..62", {}, "", {{"bits", to_string(*n)}}, ""});
  return Int(std::int64_t{1} << n->value());
}
} // namespace

Sym shift_left(Sym a, Sym bits) {
  if (const auto factor = shift_factor(bits)) return a * *factor;
  return a == Sym(0) ? Sym(0) : atom(AtomKind::shift_left, {a, bits});
}
Sym shift_right(Sym a, Sym bits) {
  if (const auto factor = shift_factor(bits)) return floor_div(a, *factor);
  return a == Sym(0) ? Sym(0) : atom(AtomKind::shift_right, {a, bits});
}

Sym select(Sym condition, Sym if_nonzero, Sym if_zero) {
  if (if_nonzero == if_zero) return if_zero;
  const Truth zero = eq(condition, 0);
  if (zero == Truth::yes) return if_zero;
  if (zero == Truth::no) return if_nonzero;
  return atom(AtomKind::select, {condition, if_nonzero, if_zero});
}
Sym less_equal(Sym a, Sym b) {
  const Truth t = le(a, b);
  if (t != Truth::unknown) return t == Truth::yes ? 1 : 0;
  return atom(AtomKind::less_equal, {a, b});
}
Sym equal(Sym a, Sym b) {
  const Truth t = eq(a, b);
  if (t != Truth::unknown) return t == Truth::yes ? 1 : 0;
  return atom(AtomKind::equal, {std::min(a, b), std::max(a, b)});
}

namespace {
/// Where the symbol is, or would be put.
auto place_of(auto& values, AtomId symbol) {
  return std::lower_bound(values.begin(), values.end(), symbol,
                          [](const auto& v, AtomId id) { return v.first < id; });
}
} // namespace

void Assignment::set(AtomId symbol, Int value) {
  const auto at = place_of(values_, symbol);
  if (at != values_.end() && at->first == symbol)
    at->second = value;
  else
    values_.insert(at, {symbol, value});
}
void Assignment::set(Sym symbol, Int value) {
  const auto id = symbol.as_atom();
  INLAY_CHECK(id && symbol.context()->atom(*id).kind == AtomKind::symbol, "assignment to a symbol");
  set(*id, value);
}
std::optional<Int> Assignment::get(AtomId symbol) const {
  const auto at = place_of(values_, symbol);
  return at != values_.end() && at->first == symbol ? std::optional(at->second) : std::nullopt;
}

namespace {

Int apply(AtomKind kind, std::span<const Int> x) {
  switch (kind) {
  case AtomKind::symbol: break;
  case AtomKind::floor_div: return floor_div(x[0], x[1]);
  case AtomKind::mod: return floor_mod(x[0], x[1]);
  case AtomKind::min: return min(x[0], x[1]);
  case AtomKind::max: return max(x[0], x[1]);
  case AtomKind::bit_xor: return x[0].value() ^ x[1].value();
  case AtomKind::bit_and: return x[0].value() & x[1].value();
  case AtomKind::bit_or: return x[0].value() | x[1].value();
  case AtomKind::shift_left: return x[0] * *shift_factor(x[1]);
  case AtomKind::shift_right: return floor_div(x[0], *shift_factor(x[1]));
  case AtomKind::select: return x[0] != 0 ? x[1] : x[2];
  case AtomKind::less_equal: return x[0] <= x[1] ? 1 : 0;
  case AtomKind::equal: return x[0] == x[1] ? 1 : 0;
  }
  detail::check_failed("kind", __FILE__, __LINE__, "an operation without a meaning");
}

// Values of atoms are shared inside one evaluation: a chain of quotients refers to each twice.
class Evaluator {
public:
  explicit Evaluator(const Assignment& values) : values_(values) {}
  Int operator()(Sym a) {
    Int sum = a.constant_term();
    for (const Term& t : a.terms()) {
      Int product = t.coefficient;
      for (const Factor& f : t.factors())
        for (std::uint32_t i = 0; i < f.power; ++i) product *= value(*a.context(), f.atom);
      sum += product;
    }
    return sum;
  }

private:
  Int value(SymContext& context, AtomId id) {
    const SymAtom& atom = context.atom(id);
    if (atom.kind == AtomKind::symbol) {
      if (const auto v = values_.get(id)) return *v;
      throw LayoutError({"unassigned", "evaluate", "'" + atom.name + "' has no value", {}, "", {}, ""});
    }
    for (const auto& [known, v] : done_)
      if (known == id) return v;
    SmallVector<Int, 4> x;
    for (const Sym& s : atom.operands) {
      // select evaluates only the branch it takes: the other one may divide by zero.
      const bool skipped = atom.kind == AtomKind::select && x.size() > 0 && (x.size() == 1) == (x[0] == 0);
      x.push_back(skipped ? Int(0) : (*this)(s));
    }
    const Int v = apply(atom.kind, x.span());
    done_.emplace_back(id, v);
    return v;
  }
  const Assignment& values_;
  std::vector<std::pair<AtomId, Int>> done_;
};

Sym rebuild(AtomKind kind, std::span<const Sym> x) {
  switch (kind) {
  case AtomKind::symbol: break;
  case AtomKind::floor_div: return floor_div(x[0], x[1]);
  case AtomKind::mod: return floor_mod(x[0], x[1]);
  case AtomKind::min: return min(x[0], x[1]);
  case AtomKind::max: return max(x[0], x[1]);
  case AtomKind::bit_xor: return bit_xor(x[0], x[1]);
  case AtomKind::bit_and: return bit_and(x[0], x[1]);
  case AtomKind::bit_or: return bit_or(x[0], x[1]);
  case AtomKind::shift_left: return shift_left(x[0], x[1]);
  case AtomKind::shift_right: return shift_right(x[0], x[1]);
  case AtomKind::select: return select(x[0], x[1], x[2]);
  case AtomKind::less_equal: return less_equal(x[0], x[1]);
  case AtomKind::equal: return equal(x[0], x[1]);
  }
  detail::check_failed("kind", __FILE__, __LINE__, "an operation without a meaning");
}

class Substitution {
public:
  explicit Substitution(std::span<const std::pair<AtomId, Sym>> replacements)
      : done_(replacements.begin(), replacements.end()) {}
  Sym operator()(Sym a) {
    if (a.is_constant()) return a;
    Sym sum = a.constant_term();
    for (const Term& t : a.terms()) {
      Sym product = t.coefficient;
      for (const Factor& f : t.factors()) {
        const Sym v = value(*a.context(), f.atom);
        for (std::uint32_t i = 0; i < f.power; ++i) product *= v;
      }
      sum += product;
    }
    return sum;
  }

private:
  Sym value(SymContext& context, AtomId id) {
    for (const auto& [known, v] : done_)
      if (known == id) return v;
    const AtomKind kind = context.atom(id).kind;
    if (kind == AtomKind::symbol) return context.value(id);
    SmallVector<Sym, 4> x;
    for (const Sym& s : std::vector<Sym>(context.atom(id).operands)) x.push_back((*this)(s));
    const Sym v = rebuild(kind, x.span());
    done_.emplace_back(id, v);
    return v;
  }
  std::vector<std::pair<AtomId, Sym>> done_;
};

/// Sorted. Not a flag for each atom of the context: a formula has few of its thousands.
void collect(Sym a, std::vector<AtomId>& seen) {
  for (const Term& t : a.terms())
    for (const Factor& f : t.factors()) {
      const auto at = std::lower_bound(seen.begin(), seen.end(), f.atom);
      if (at != seen.end() && *at == f.atom) continue;
      seen.insert(at, f.atom);
      for (const Sym& s : a.context()->atom(f.atom).operands) collect(s, seen);
    }
}

} // namespace

Int evaluate(Sym a, const Assignment& values) { return Evaluator(values)(a); }

Sym substitute(Sym a, std::span<const std::pair<AtomId, Sym>> replacements) {
  return Substitution(replacements)(a);
}

std::vector<AtomId> symbols(Sym a) {
  std::vector<AtomId> ids;
  if (a.is_constant()) return ids;
  collect(a, ids);
  std::erase_if(ids, [&](AtomId id) { return a.context()->atom(id).kind != AtomKind::symbol; });
  return ids;
}

} // namespace inlay
