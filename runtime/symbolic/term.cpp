// Formulas over 32-bit and 64-bit machine words, kept in one pool.
#include <inlay/runtime/symbolic/term.h>

#include <algorithm>
#include <array>
#include <bit>

namespace inlay::runtime::symbolic {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr u64 word_mask = 0xffffffffU;

u64 mask_of(bool wide) { return wide ? ~u64{0} : word_mask; }

/// All bits up to the highest of `x`.
u64 below(u64 x) { return x == 0 ? 0 : ~u64{0} >> std::countl_zero(x); }

void mix(u64& h, u64 v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 32;
}

bool is_condition(TermKind k) { return k >= TermKind::equal && k <= TermKind::invert; }

std::optional<u64> compute(TermKind kind, std::span<const u64> c, u64 value) {
  const auto a = c.empty() ? u64{0} : c[0];
  const auto b = c.size() < 2 ? u64{0} : c[1];
  const auto x = static_cast<u32>(a);
  const auto y = static_cast<u32>(b);
  const auto sx = static_cast<i32>(x);
  const auto sy = static_cast<i32>(y);
  switch (kind) {
  case TermKind::multiply: return x * y;
  case TermKind::multiply_high_unsigned: return (u64{x} * y) >> 32;
  case TermKind::multiply_high_signed: return static_cast<u32>(static_cast<u64>(i64{sx} * sy) >> 32);
  case TermKind::bit_and: return x & y;
  case TermKind::bit_or: return x | y;
  case TermKind::bit_xor: return x ^ y;
  case TermKind::shift_left: return static_cast<u32>(x << (y & 31));
  case TermKind::shift_right: return x >> (y & 31);
  case TermKind::shift_right_signed: return static_cast<u32>(sx >> (y & 31));
  case TermKind::minimum_unsigned: return std::min(x, y);
  case TermKind::minimum_signed: return static_cast<u32>(std::min(sx, sy));
  case TermKind::maximum_unsigned: return std::max(x, y);
  case TermKind::maximum_signed: return static_cast<u32>(std::max(sx, sy));
  case TermKind::select: return a != 0 ? b : c[2];
  case TermKind::equal: return a == b ? 1 : 0;
  case TermKind::less_unsigned: return x < y ? 1 : 0;
  case TermKind::less_signed: return sx < sy ? 1 : 0;
  case TermKind::carry: return (u64{x} + y) >> 32;
  case TermKind::borrow: return x < y ? 1 : 0;
  case TermKind::bit: return (x >> value) & 1U;
  case TermKind::all: return std::all_of(c.begin(), c.end(), [](u64 v) { return v != 0; }) ? 1 : 0;
  case TermKind::any: return std::any_of(c.begin(), c.end(), [](u64 v) { return v != 0; }) ? 1 : 0;
  case TermKind::invert: return a == 0 ? 1 : 0;
  case TermKind::bits: {
    u64 r = 0;
    for (std::size_t i = 0; i < c.size(); ++i) r |= (c[i] & 1U) << i;
    return r;
  }
  case TermKind::pair: return x | (u64{y} << 32);
  case TermKind::zext: return x;
  case TermKind::sext: return static_cast<u64>(i64{sx});
  case TermKind::product: return u64{x} * y;
  case TermKind::product_signed: return static_cast<u64>(i64{sx} * sy);
  case TermKind::wide_multiply: return a * b;
  case TermKind::wide_shift_left: return a << (b & 63);
  case TermKind::wide_shift_right: return a >> (b & 63);
  case TermKind::wide_shift_right_signed: return static_cast<u64>(static_cast<i64>(a) >> (b & 63));
  case TermKind::low: return x;
  case TermKind::high: return a >> 32;
  default: return std::nullopt;
  }
}

} // namespace

Terms::Terms() {
  nodes_.resize(2);
  nodes_[1].kind = TermKind::unknown;
  nodes_[0].bound = nodes_[1].bound = word_mask;
  nodes_[0].maybe = nodes_[1].maybe = word_mask;
}

std::span<const Term> Terms::children(Term t) const {
  const Node& n = nodes_[t];
  if (n.kind == TermKind::linear || n.count == 0) return {};
  return {children_.data() + n.first, n.count};
}

std::span<const TermPart> Terms::parts(Term t) const {
  const Node& n = nodes_[t];
  if (n.kind != TermKind::linear || n.count == 0) return {};
  return {parts_.data() + n.first, n.count};
}

std::optional<u64> Terms::value(Term t) const {
  if (is_constant(t)) return nodes_[t].value;
  return std::nullopt;
}

u64 Terms::bound(Term t) const { return nodes_[t].bound; }

/// Bound and possible bits of a new node.
void Terms::describe(Node& n) const {
  const u64 all = mask_of(n.wide);
  n.bound = all;
  n.maybe = all;
  const auto child = [&](u32 i) -> const Node& { return nodes_[children_[n.first + i]]; };
  if (is_condition(n.kind)) {
    n.bound = n.maybe = 1;
    return;
  }
  switch (n.kind) {
  case TermKind::symbol: n.bound = maxima_[n.value]; break;
  case TermKind::linear: {
    if (n.count == 0) {
      n.bound = n.maybe = n.value;
      return;
    }
    unsigned zeros = 64;
    unsigned __int128 sum = n.value;
    for (u32 i = 0; i < n.count; ++i) {
      const TermPart& p = parts_[n.first + i];
      const u64 m = nodes_[p.atom].maybe;
      const unsigned z = (m == 0 ? 0U : static_cast<unsigned>(std::countr_zero(m))) +
                         static_cast<unsigned>(std::countr_zero(p.coefficient));
      zeros = std::min(zeros, z);
      sum += static_cast<unsigned __int128>(p.coefficient) * nodes_[p.atom].bound;
    }
    if (sum <= all) {
      n.bound = static_cast<u64>(sum);
      n.exact = true;
    }
    // Below what all atoms are multiples of, the bits are the constant's.
    const u64 above = zeros >= 64 ? 0 : ~u64{0} << zeros;
    n.maybe = all & (above | (n.value & ~above));
    break;
  }
  case TermKind::bit_and:
    n.maybe = child(0).maybe & child(1).maybe;
    n.bound = std::min(child(0).bound, child(1).bound);
    break;
  case TermKind::bit_or:
  case TermKind::bit_xor: n.maybe = child(0).maybe | child(1).maybe; break;
  case TermKind::shift_right:
    if (const auto k = value(children_[n.first + 1])) {
      n.maybe = child(0).maybe >> (*k & 31);
      n.bound = child(0).bound >> (*k & 31);
    } else {
      n.bound = child(0).bound;
    }
    break;
  case TermKind::minimum_unsigned: n.bound = std::min(child(0).bound, child(1).bound); break;
  case TermKind::maximum_unsigned: n.bound = std::max(child(0).bound, child(1).bound); break;
  case TermKind::select:
    n.bound = std::max(child(1).bound, child(2).bound);
    n.maybe = child(1).maybe | child(2).maybe;
    break;
  case TermKind::multiply_high_unsigned: n.bound = (child(0).bound * child(1).bound) >> 32; break;
  case TermKind::zext:
    n.bound = child(0).bound;
    n.maybe = child(0).maybe;
    break;
  case TermKind::high: n.bound = child(0).bound >> 32; break;
  case TermKind::product: {
    const auto p = static_cast<unsigned __int128>(child(0).bound) * child(1).bound;
    n.bound = static_cast<u64>(p);
    break;
  }
  case TermKind::multiply: {
    const auto p = static_cast<unsigned __int128>(child(0).bound) * child(1).bound;
    if (p <= all) n.bound = static_cast<u64>(p);
    break;
  }
  default: break;
  }
  n.maybe &= below(n.bound);
  n.bound = std::min(n.bound, n.maybe);
}

Term Terms::intern(Node n, std::span<const Term> children, std::span<const TermPart> parts) {
  u64 h = static_cast<u64>(n.kind) * 2 + (n.wide ? 1 : 0);
  mix(h, n.value);
  for (const Term c : children) mix(h, c);
  for (const TermPart& p : parts) {
    mix(h, p.atom);
    mix(h, p.coefficient);
  }
  if (interned_ * 2 >= table_.size()) grow();
  const auto hash = static_cast<u32>(h);
  std::size_t slot = hash & (table_.size() - 1);
  for (; table_[slot].term != 0; slot = (slot + 1) & (table_.size() - 1)) {
    if (table_[slot].hash != hash) continue;
    const Term t = table_[slot].term;
    const Node& o = nodes_[t];
    if (o.kind != n.kind || o.wide != n.wide || o.value != n.value) continue;
    if (n.kind == TermKind::linear) {
      if (o.count == parts.size() && std::equal(parts.begin(), parts.end(), parts_.begin() + o.first))
        return t;
    } else if (o.count == children.size() &&
               std::equal(children.begin(), children.end(), children_.begin() + o.first)) {
      return t;
    }
  }
  if (bytes() > most_bytes_)
    throw TooLarge("the formulas take more than " + std::to_string(most_bytes_ >> 20) + " MB");
  if (n.kind == TermKind::linear) {
    n.first = static_cast<u32>(parts_.size());
    n.count = static_cast<u32>(parts.size());
    parts_.insert(parts_.end(), parts.begin(), parts.end());
  } else {
    n.first = static_cast<u32>(children_.size());
    n.count = static_cast<u32>(children.size());
    children_.insert(children_.end(), children.begin(), children.end());
  }
  describe(n);
  nodes_.push_back(n);
  ++interned_;
  table_[slot] = {hash, static_cast<Term>(nodes_.size() - 1)};
  return table_[slot].term;
}

void Terms::grow() {
  std::vector<Slot> bigger(std::max<std::size_t>(1024, table_.size() * 4));
  for (const Slot& s : table_) {
    if (s.term == 0) continue;
    std::size_t slot = s.hash & (bigger.size() - 1);
    while (bigger[slot].term != 0) slot = (slot + 1) & (bigger.size() - 1);
    bigger[slot] = s;
  }
  table_ = std::move(bigger);
}

Term Terms::make(TermKind kind, std::span<const Term> c, u64 value_in, bool wide) {
  bool constant_children = !c.empty();
  for (const Term t : c) {
    if (t == unknown || nodes_[t].vague) return unknown;
    constant_children = constant_children && is_constant(t);
  }
  if (constant_children) {
    std::vector<u64> numbers;
    for (const Term t : c) numbers.push_back(nodes_[t].value);
    if (const auto v = compute(kind, numbers, value_in))
      return wide ? wide_constant(*v) : constant(static_cast<u32>(*v));
  }
  Node n;
  n.kind = kind;
  n.wide = wide;
  n.value = value_in;
  std::array<Term, 8> copy{}; // they may be children of another node, which move when there are more
  if (c.size() > copy.size()) return intern(n, std::vector<Term>(c.begin(), c.end()), {});
  std::copy(c.begin(), c.end(), copy.begin());
  return intern(n, std::span(copy).first(c.size()), {});
}

Term Terms::constant(u32 value_in) {
  Recent& recent = recent_[(value_in * 0x9e3779b1U) >> 20];
  if (recent.term != 0 && recent.value == value_in) return recent.term;
  Node n;
  n.kind = TermKind::linear;
  n.value = value_in;
  recent = {value_in, intern(n, {}, {})};
  return recent.term;
}
Term Terms::wide_constant(u64 value_in) { return linear({}, value_in, true); }

Term Terms::symbol(std::string_view name_in, u32 maximum_in) {
  auto [at, fresh] = name_index_.try_emplace(std::string(name_in), static_cast<u32>(names_.size()));
  if (fresh) {
    names_.emplace_back(name_in);
    maxima_.push_back(maximum_in);
  }
  Node n;
  n.kind = TermKind::symbol;
  n.value = at->second;
  return intern(n, {}, {});
}

Term Terms::linear(std::vector<TermPart> p, u64 constant_in, bool wide) {
  const u64 all = mask_of(wide);
  std::sort(p.begin(), p.end(), [](const TermPart& a, const TermPart& b) { return a.atom < b.atom; });
  std::size_t out = 0;
  for (std::size_t i = 0; i < p.size();) {
    TermPart sum = p[i++];
    while (i < p.size() && p[i].atom == sum.atom) sum.coefficient += p[i++].coefficient;
    sum.coefficient &= all;
    if (sum.coefficient != 0) p[out++] = sum;
  }
  p.resize(out);
  constant_in &= all;
  if (p.size() == 1 && p[0].coefficient == 1 && constant_in == 0) return p[0].atom;
  if (p.size() > most_parts) return unknown;
  Node n;
  n.kind = TermKind::linear;
  n.wide = wide;
  n.value = constant_in;
  return intern(n, {}, p);
}

void Terms::gather(Term t, u64 factor, std::vector<TermPart>& out, u64& constant_out) const {
  const Node& n = nodes_[t];
  if (n.kind == TermKind::linear) {
    constant_out += factor * n.value;
    for (u32 i = 0; i < n.count; ++i)
      out.push_back({parts_[n.first + i].atom, parts_[n.first + i].coefficient * factor});
  } else {
    out.push_back({t, factor});
  }
}

Term Terms::combine(Term a, u64 fa, Term b, u64 fb, bool wide) {
  if (a == unknown || b == unknown || nodes_[a].vague || nodes_[b].vague) return unknown;
  std::vector<TermPart> p;
  u64 c = 0;
  gather(a, fa, p, c);
  gather(b, fb, p, c);
  return linear(std::move(p), c, wide);
}

Term Terms::add(Term a, Term b) { return combine(a, 1, b, 1, is_wide(a) || is_wide(b)); }
Term Terms::subtract(Term a, Term b) { return combine(a, 1, b, ~u64{0}, is_wide(a) || is_wide(b)); }

Term Terms::multiply(Term a, Term b) {
  if (value(a) == 0) return a;
  if (value(b) == 0) return b;
  if (a == unknown || b == unknown) return unknown;
  const bool wide = is_wide(a) || is_wide(b);
  if (const auto k = value(a)) return combine(b, *k, wide ? wide_constant(0) : constant(0), 1, wide);
  if (const auto k = value(b)) return combine(a, *k, wide ? wide_constant(0) : constant(0), 1, wide);
  // A constant factor of one side comes out: (4 x) * y = 4 (x * y).
  u64 factor = 1;
  const auto single = [&](Term& t) {
    const auto p = parts(t);
    if (p.size() == 1 && nodes_[t].value == 0) {
      factor *= p[0].coefficient;
      t = p[0].atom;
    }
  };
  single(a);
  single(b);
  if (a > b) std::swap(a, b);
  // (x + c) y = x y + c y, as long as that is short: a counter times a stride advances by the stride.
  const auto terms_of = [&](Term t) { return parts(t).size() + (nodes_[t].value != 0 ? 1 : 0); };
  for (const bool first : {true, false}) {
    const Term sum = first ? a : b, y = first ? b : a;
    if (kind(sum) != TermKind::linear || terms_of(sum) > 4 ||
        (kind(y) == TermKind::linear && terms_of(y) > 4))
      continue;
    const std::vector<TermPart> old(parts(sum).begin(), parts(sum).end());
    const u64 c = nodes_[sum].value;
    std::vector<TermPart> p;
    u64 constant_out = 0;
    for (const TermPart& part : old)
      gather(multiply(part.atom, y), part.coefficient * factor, p, constant_out);
    gather(y, c * factor, p, constant_out);
    return linear(std::move(p), constant_out, wide);
  }
  const Term c[2] = {a, b};
  const Term m = make(wide ? TermKind::wide_multiply : TermKind::multiply, c, 0, wide);
  return factor == 1 ? m : combine(m, factor, wide ? wide_constant(0) : constant(0), 1, wide);
}

Term Terms::multiply_high(Term a, Term b, bool is_signed) {
  if (value(a) == 0) return a;
  if (value(b) == 0) return b;
  if (a == unknown || b == unknown) return unknown;
  if (!is_signed && static_cast<unsigned __int128>(bound(a)) * bound(b) <= word_mask) return constant(0);
  if (a > b) std::swap(a, b);
  const Term c[2] = {a, b};
  return make(is_signed ? TermKind::multiply_high_signed : TermKind::multiply_high_unsigned, c);
}

Term Terms::bitwise(TermKind k, Term a, Term b) {
  std::array<Term, 32> out{};
  for (unsigned i = 0; i < 32; ++i) {
    const Term x = bit(a, i);
    const Term y = bit(b, i);
    out[i] = k == TermKind::bit_and ? both(x, y) : k == TermKind::bit_or ? either(x, y) : differ(x, y);
  }
  return bits(out);
}

Term Terms::bit_and(Term a, Term b) {
  if (kind(a) == TermKind::bits || kind(b) == TermKind::bits) return bitwise(TermKind::bit_and, a, b);
  if (is_constant(a)) std::swap(a, b);
  if (const auto m = value(b)) {
    if (*m == 0) return b;
    if (a == unknown) return unknown;
    if ((maybe(a) & ~*m) == 0) return a;
    if ((maybe(a) & *m) == 0) return constant(0);
    if (kind(a) == TermKind::bit_and) {
      const auto c = children(a);
      const Term x = c[0];
      if (const auto inner = value(c[1])) return bit_and(x, constant(static_cast<u32>(*inner & *m)));
    }
    const bool low_mask = ((*m + 1) & *m) == 0;
    if (kind(a) == TermKind::linear && low_mask) { // what is a multiple of the modulus goes away
      std::vector<TermPart> p;
      bool changed = false;
      for (const TermPart& part : parts(a)) {
        const u64 bits_of = maybe(part.atom);
        const unsigned z = (bits_of == 0 ? 0U : static_cast<unsigned>(std::countr_zero(bits_of)));
        const u64 c = part.coefficient & *m;
        if (c == 0 ||
            z + static_cast<unsigned>(std::countr_zero(c)) >= static_cast<unsigned>(std::popcount(*m))) {
          changed = true;
          continue;
        }
        changed = changed || c != part.coefficient;
        p.push_back({part.atom, c});
      }
      const u64 c = nodes_[a].value & *m;
      changed = changed || c != nodes_[a].value;
      if (changed) return bit_and(linear(std::move(p), c, false), b);
    }
  }
  if (a == unknown || b == unknown) return unknown;
  if (a == b) return a;
  if (!is_constant(b) && a > b) std::swap(a, b);
  const Term c[2] = {a, b};
  return make(TermKind::bit_and, c);
}

Term Terms::bit_or(Term a, Term b) {
  if (kind(a) == TermKind::bits || kind(b) == TermKind::bits) return bitwise(TermKind::bit_or, a, b);
  if (value(b) == word_mask) return b;
  if (value(a) == word_mask) return a;
  if (a == unknown || b == unknown) return unknown;
  if (a == b) return a;
  if ((maybe(a) & maybe(b)) == 0) return add(a, b);
  if (is_constant(a) || (!is_constant(b) && a > b)) std::swap(a, b);
  const Term c[2] = {a, b};
  return make(TermKind::bit_or, c);
}

Term Terms::bit_xor(Term a, Term b) {
  if (kind(a) == TermKind::bits || kind(b) == TermKind::bits) return bitwise(TermKind::bit_xor, a, b);
  if (a == unknown || b == unknown) return unknown;
  if (a == b) return constant(0);
  if (value(b) == word_mask) return bit_not(a);
  if (value(a) == word_mask) return bit_not(b);
  if ((maybe(a) & maybe(b)) == 0) return add(a, b);
  if (is_constant(a) || (!is_constant(b) && a > b)) std::swap(a, b);
  const Term c[2] = {a, b};
  return make(TermKind::bit_xor, c);
}

Term Terms::bit_not(Term a) {
  if (kind(a) == TermKind::bits) {
    std::array<Term, 32> out{};
    for (unsigned i = 0; i < 32; ++i) out[i] = invert(bit(a, i));
    return bits(out);
  }
  return subtract(constant(0xffffffffU), a); // ~x = -1 - x
}

Term Terms::shl(Term a, Term count) {
  if (const auto k = value(count)) return multiply(a, constant(u32{1} << (*k & 31)));
  const Term c[2] = {a, count};
  return make(TermKind::shift_left, c);
}

Term Terms::shr(Term a, Term count) {
  if (a == unknown || count == unknown) return unknown;
  if (const auto k = value(count)) {
    const unsigned n = *k & 31;
    if (n == 0) return a;
    if ((maybe(a) >> n) == 0) return constant(0);
    if (kind(a) == TermKind::shift_right) {
      const auto c = children(a);
      if (const auto inner = value(c[1])) {
        const u64 sum = (*inner & 31) + n;
        const Term x = c[0];
        return sum >= 32 ? constant(0) : shr(x, constant(static_cast<u32>(sum)));
      }
    }
    if (kind(a) == TermKind::linear && (maybe(a) & ((u64{1} << n) - 1)) == 0) {
      // Every part is a multiple of 2^n, so the shifted sum is exact modulo 2^(32-n).
      bool exact = true;
      std::vector<TermPart> p;
      for (const TermPart& part : parts(a)) {
        exact = exact && (part.coefficient & ((u64{1} << n) - 1)) == 0;
        p.push_back({part.atom, part.coefficient >> n});
      }
      if (exact) {
        const Term shifted = linear(std::move(p), nodes_[a].value >> n, false);
        return bit_and(shifted, constant(static_cast<u32>(word_mask >> n)));
      }
    }
    if (nodes_[a].exact) {
      // No wrap: parts that are multiples of 2^n leave, and so does what the constant has of them.
      std::vector<TermPart> out;
      std::vector<TermPart> rest;
      for (const TermPart& part : parts(a)) {
        if ((part.coefficient & ((u64{1} << n) - 1)) == 0) {
          out.push_back({part.atom, part.coefficient >> n});
        } else {
          rest.push_back(part);
        }
      }
      const u64 c = nodes_[a].value;
      if (!out.empty() || (c >> n) != 0) {
        const Term inner = shr(linear(std::move(rest), c & ((u64{1} << n) - 1), false), count);
        return add(linear(std::move(out), c >> n, false), inner);
      }
    }
  }
  const Term c[2] = {a, count};
  return make(TermKind::shift_right, c);
}

Term Terms::ashr(Term a, Term count) {
  if (a == unknown || count == unknown) return unknown;
  if (value(count) && (*value(count) & 31) == 0) return a;
  if (bound(a) <= 0x7fffffffU) return shr(a, count);
  const Term c[2] = {a, count};
  return make(TermKind::shift_right_signed, c);
}

Term Terms::minimum(Term a, Term b, bool is_signed) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (is_signed && bound(a) <= 0x7fffffffU && bound(b) <= 0x7fffffffU) is_signed = false;
  const Term c[2] = {a, b};
  return make(is_signed ? TermKind::minimum_signed : TermKind::minimum_unsigned, c);
}

Term Terms::maximum(Term a, Term b, bool is_signed) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (is_signed && bound(a) <= 0x7fffffffU && bound(b) <= 0x7fffffffU) is_signed = false;
  const Term c[2] = {a, b};
  return make(is_signed ? TermKind::maximum_signed : TermKind::maximum_unsigned, c);
}

Term Terms::select(Term condition, Term a, Term b) {
  if (a == b) return a;
  if (const auto k = value(condition)) return *k != 0 ? a : b;
  if (a == unknown || b == unknown || condition == unknown) return unknown;
  if (kind(condition) == TermKind::invert) return select(children(condition)[0], b, a);
  if (value(a) == 1 && value(b) == 0) return condition;
  if (value(a) == 0 && value(b) == 1) return invert(condition);
  const Term c[3] = {condition, a, b};
  return make(TermKind::select, c, 0, is_wide(a));
}

// ---- conditions -----------------------------------------------------------------------------------------------------

Term Terms::equal(Term a, Term b) {
  if (a == unknown || b == unknown || nodes_[a].vague || nodes_[b].vague) return unknown;
  if (a == b) return constant(1);
  const Term d = subtract(a, b);
  if (const auto k = value(d)) return constant(*k == 0 ? 1 : 0);
  if (a > b) std::swap(a, b);
  if (is_constant(a)) std::swap(a, b);
  if (const auto k = value(b)) {
    if (*k > bound(a) || (*k & ~maybe(a)) != 0) return constant(0);
    if (is_condition(kind(a))) return *k == 1 ? a : invert(a);
  }
  const Term c[2] = {a, b};
  return make(TermKind::equal, c);
}

Term Terms::less(Term a, Term b, bool is_signed) {
  if (a == unknown || b == unknown) return unknown;
  if (a == b) return constant(0);
  if (is_signed && bound(a) <= 0x7fffffffU && bound(b) <= 0x7fffffffU) is_signed = false;
  if (!is_signed) {
    if (const auto k = value(a); k && *k >= bound(b)) return constant(0);
    if (const auto k = value(b); k && bound(a) < *k) return constant(1);
    if (value(b) == 0) return constant(0);
    if (value(a) == 0) return nonzero(b);
    if (value(b) == 1) return equal(a, constant(0));
  }
  const Term c[2] = {a, b};
  return make(is_signed ? TermKind::less_signed : TermKind::less_unsigned, c);
}

Term Terms::carry(Term a, Term b) {
  if (a == unknown || b == unknown) return unknown;
  if (value(a) == 0 || value(b) == 0 || bound(a) + bound(b) <= word_mask) return constant(0);
  if (a > b) std::swap(a, b);
  const Term c[2] = {a, b};
  return make(TermKind::carry, c);
}

Term Terms::borrow(Term a, Term b) {
  if (a == unknown || b == unknown) return unknown;
  if (a == b || value(b) == 0) return constant(0);
  const Term c[2] = {a, b};
  return make(TermKind::borrow, c);
}

Term Terms::invert(Term condition) {
  if (condition == unknown) return unknown;
  if (kind(condition) == TermKind::invert) return children(condition)[0];
  const Term c[1] = {condition};
  return make(TermKind::invert, c);
}

/// `all` or `any` of two, flat, sorted, without repetition.
Term Terms::list(TermKind k, Term a, Term b) {
  const u64 neutral = k == TermKind::all ? 1 : 0;
  if (const auto v = value(a)) return *v == neutral ? b : a;
  if (const auto v = value(b)) return *v == neutral ? a : b;
  if (a == unknown || b == unknown) return unknown;
  if (a == b) return a;
  std::vector<Term> items;
  for (const Term t : {a, b}) {
    if (kind(t) == k) {
      const auto c = children(t);
      items.insert(items.end(), c.begin(), c.end());
    } else {
      items.push_back(t);
    }
  }
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  for (const Term t : items) {
    if (kind(t) == TermKind::invert && std::binary_search(items.begin(), items.end(), children(t)[0]))
      return constant(static_cast<u32>(1 - neutral));
  }
  if (items.size() == 1) return items[0];
  return make(k, items);
}

Term Terms::both(Term a, Term b) {
  if (implies(a, b)) return a;
  if (implies(b, a)) return b;
  return list(TermKind::all, a, b);
}
Term Terms::either(Term a, Term b) {
  if (implies(a, b)) return b;
  if (implies(b, a)) return a;
  return list(TermKind::any, a, b);
}
Term Terms::differ(Term a, Term b) {
  if (const auto v = value(a)) return *v == 0 ? b : invert(b);
  if (const auto v = value(b)) return *v == 0 ? a : invert(a);
  if (a == unknown || b == unknown) return unknown;
  if (a == b) return constant(0);
  if (implies(b, a)) return both(a, invert(b)); // the usual exec ^ taken
  if (implies(a, b)) return both(b, invert(a));
  return invert(equal(a, b));
}

Term Terms::nonzero(Term a) {
  if (a == unknown) return unknown;
  if (is_condition(kind(a))) return a;
  if (kind(a) == TermKind::bits) {
    Term r = constant(0);
    const std::vector<Term> c(children(a).begin(), children(a).end());
    for (const Term t : c) r = either(r, t);
    return r;
  }
  if (const auto v = value(a)) return constant(*v != 0 ? 1 : 0);
  return invert(equal(a, is_wide(a) ? wide_constant(0) : constant(0)));
}

bool Terms::implies(Term a, Term b) const {
  if (a == unknown || b == unknown) return false;
  if (a == b || value(b) == 1 || value(a) == 0) return true;
  const auto in = [&](Term t, Term list_term) {
    const auto c = children(list_term);
    return std::binary_search(c.begin(), c.end(), t);
  };
  if (kind(a) == TermKind::all) {
    if (in(b, a)) return true;
    if (kind(b) == TermKind::all) {
      const auto c = children(b);
      return std::all_of(c.begin(), c.end(), [&](Term t) { return in(t, a); });
    }
  }
  if (kind(b) == TermKind::any) {
    if (in(a, b)) return true;
    if (kind(a) == TermKind::any) {
      const auto c = children(a);
      return std::all_of(c.begin(), c.end(), [&](Term t) { return in(t, b); });
    }
  }
  return false;
}

// ---- masks ----------------------------------------------------------------------------------------------------------

Term Terms::bit(Term a, unsigned index) {
  if (a == unknown) return unknown;
  if (kind(a) == TermKind::bits) return children(a)[index];
  if (((maybe(a) >> index) & 1U) == 0) return constant(0);
  if (const auto v = value(a)) return constant((*v >> index) & 1U);
  if (index == 0 && is_condition(kind(a))) return a;
  if (kind(a) == TermKind::select) {
    const auto c = children(a);
    const Term k = c[0];
    const Term x = c[1];
    const Term y = c[2];
    if (is_constant(x) || is_constant(y)) {
      const Term bx = bit(x, index);
      const Term by = bit(y, index);
      return either(both(k, bx), both(invert(k), by));
    }
  }
  const Term c[1] = {a};
  return make(TermKind::bit, c, index);
}

Term Terms::bits(std::span<const Term> conditions) {
  u32 number = 0;
  bool constant_bits = true;
  for (unsigned i = 0; i < 32 && constant_bits; ++i) {
    const auto v = value(conditions[i]);
    constant_bits = v.has_value();
    if (v && *v != 0) number |= u32{1} << i;
  }
  if (constant_bits) return constant(number);
  // Unknown conditions stay where they are: the other lanes' are known.
  Node n;
  n.kind = TermKind::bits;
  n.vague = std::find(conditions.begin(), conditions.end(), unknown) != conditions.end();
  return intern(n, std::vector<Term>(conditions.begin(), conditions.end()), {});
}

// ---- wide -----------------------------------------------------------------------------------------------------------

Term Terms::zext(Term a) {
  if (const auto v = value(a)) return wide_constant(*v);
  // A sum that cannot wrap is the sum of its parts.
  if (nodes_[a].exact) {
    std::vector<TermPart> p;
    const std::vector<TermPart> old(parts(a).begin(), parts(a).end());
    const u64 c = nodes_[a].value;
    for (const TermPart& part : old) {
      const Term child[1] = {part.atom};
      p.push_back({make(TermKind::zext, child, 0, true), part.coefficient});
    }
    return linear(std::move(p), c, true);
  }
  const Term c[1] = {a};
  return make(TermKind::zext, c, 0, true);
}

Term Terms::sext(Term a) {
  if (const auto v = value(a))
    return wide_constant(static_cast<u64>(i64{static_cast<i32>(static_cast<u32>(*v))}));
  if (bound(a) <= 0x7fffffffU) return zext(a);
  const Term c[1] = {a};
  return make(TermKind::sext, c, 0, true);
}

/// x p + 2^32 (high(x p) + x q + p y) is (x + 2^32 y) (p + 2^32 q): a product of 64 bits, put together by words. 0: it is none.
Term Terms::join_product(Term lo, Term hi) {
  if (kind(hi) != TermKind::linear || nodes_[hi].value != 0) return 0;
  const std::vector<TermPart> all(parts(hi).begin(), parts(hi).end());
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Term m = all[at].atom;
    if (all[at].coefficient != 1 || kind(m) != TermKind::multiply_high_unsigned) continue;
    const Term factors[2] = {children(m)[0], children(m)[1]};
    if (multiply(factors[0], factors[1]) != lo) continue;
    for (const unsigned f : {0U, 1U}) {
      const Term x = factors[f], p = factors[1 - f];
      const Term rest = subtract(hi, m);
      // What a sum has of a factor, as far as one part of the factor shows it; what is left is compared below.
      const auto quotient = [&](Term sum, Term of) {
        TermPart by{of, 1};
        if (!parts(of).empty()) by = parts(of)[0];
        std::vector<TermPart> in(parts(sum).begin(), parts(sum).end());
        if (kind(sum) != TermKind::linear) in = {{sum, 1}};
        Term q = constant(0);
        const u64 number = value(of).value_or(0);
        for (const TermPart& part : in) {
          if (number != 0) { // each part that is so many of its atom
            if (part.coefficient % number == 0)
              q = add(q, multiply(part.atom, constant(static_cast<u32>(part.coefficient / number))));
            continue;
          }
          if (part.coefficient % by.coefficient != 0) continue;
          Term other = 0;
          if (part.atom == by.atom) {
            other = constant(1);
          } else if (kind(part.atom) == TermKind::multiply) {
            const Term a = children(part.atom)[0], b = children(part.atom)[1];
            other = a == by.atom ? b : b == by.atom ? a : 0;
          }
          if (other != 0)
            q = add(q, multiply(other, constant(static_cast<u32>(part.coefficient / by.coefficient))));
        }
        return q;
      };
      const Term q = quotient(rest, x);
      const Term more = subtract(rest, multiply(x, q));
      const Term y = quotient(more, p);
      if (subtract(more, multiply(p, y)) != constant(0)) continue;
      const Term left = join(x, y), right = join(p, q);
      if (kind(left) != TermKind::pair && kind(right) != TermKind::pair) return multiply(left, right);
    }
  }
  return 0;
}

Term Terms::join(Term lo, Term hi) {
  if (lo == unknown || hi == unknown) return unknown;
  const auto l = value(lo);
  const auto h = value(hi);
  if (l && h) return wide_constant(*l | (*h << 32));
  if (h == 0) return zext(lo);
  if (kind(hi) == TermKind::shift_right_signed) {
    const auto c = children(hi);
    if (c[0] == lo && value(c[1]) == 31) return sext(lo);
  }
  if (kind(hi) == TermKind::multiply_high_unsigned || kind(hi) == TermKind::multiply_high_signed) {
    const Term x = children(hi)[0];
    const Term y = children(hi)[1];
    const bool is_signed = kind(hi) == TermKind::multiply_high_signed;
    if (multiply(x, y) == lo) return product(x, y, is_signed);
  }
  if (kind(hi) == TermKind::high) {
    const Term w = children(hi)[0];
    const Term of_low = low(w);
    if (of_low == lo) return w;
    // A sum of what has no bit in common with it: nothing is carried.
    if (const Term more = subtract(lo, of_low); more != unknown && (maybe(of_low) & maybe(more)) == 0)
      return add(w, zext(more));
  }
  if (const auto p = parts(lo);
      p.size() == 1 && nodes_[lo].value == 0 && std::has_single_bit(p[0].coefficient)) {
    // x << n, and what it loses: x >> (32 - n).
    const Term x = p[0].atom;
    const u64 factor = p[0].coefficient;
    if (hi == shr(x, constant(static_cast<u32>(32 - std::countr_zero(factor)))))
      return multiply(zext(x), wide_constant(factor));
  }
  if (const Term p = join_product(lo, hi); p != 0) return p;
  const Term c[2] = {lo, hi};
  return make(TermKind::pair, c, 0, true);
}

Term Terms::low(Term w) {
  if (w == unknown) return unknown;
  if (!is_wide(w)) return w;
  switch (kind(w)) {
  case TermKind::linear: {
    std::vector<TermPart> p;
    u64 c = nodes_[w].value;
    const std::vector<TermPart> old(parts(w).begin(), parts(w).end());
    for (const TermPart& part : old) gather(low(part.atom), part.coefficient, p, c);
    return linear(std::move(p), c, false);
  }
  case TermKind::zext:
  case TermKind::sext:
  case TermKind::pair: return children(w)[0];
  case TermKind::product:
  case TermKind::product_signed: {
    const Term a = children(w)[0];
    const Term b = children(w)[1];
    return multiply(a, b);
  }
  case TermKind::wide_multiply: {
    const Term a = children(w)[0];
    const Term b = children(w)[1];
    const Term x = low(a);
    return multiply(x, low(b));
  }
  case TermKind::select: {
    const std::vector<Term> c(children(w).begin(), children(w).end());
    const Term x = low(c[1]);
    return select(c[0], x, low(c[2]));
  }
  default: break;
  }
  const Term c[1] = {w};
  return make(TermKind::low, c);
}

Term Terms::high(Term w) {
  if (w == unknown) return unknown;
  switch (kind(w)) {
  case TermKind::pair: return children(w)[1];
  case TermKind::zext: return constant(0);
  case TermKind::sext: {
    const Term a = children(w)[0];
    return ashr(a, constant(31));
  }
  default: break;
  }
  if (nodes_[w].bound <= word_mask) return constant(0);
  const Term c[1] = {w};
  return make(TermKind::high, c);
}

Term Terms::product(Term a, Term b, bool is_signed) {
  if (a == unknown || b == unknown) return unknown;
  const Term x = is_signed ? sext(a) : zext(a);
  const Term y = is_signed ? sext(b) : zext(b);
  if (is_constant(x) || is_constant(y)) return multiply(x, y);
  if (!is_signed && static_cast<unsigned __int128>(bound(a)) * bound(b) <= word_mask)
    return zext(multiply(a, b));
  if (a > b) std::swap(a, b);
  const Term c[2] = {a, b};
  return make(is_signed ? TermKind::product_signed : TermKind::product, c, 0, true);
}

Term Terms::wide_shift(TermKind k, Term w, Term count) {
  if (w == unknown || count == unknown) return unknown;
  if (const auto n = value(count)) {
    if ((*n & 63) == 0) return w;
    if (k == TermKind::wide_shift_left) return multiply(w, wide_constant(u64{1} << (*n & 63)));
    if (k == TermKind::wide_shift_right && (*n & 63) == 32) return zext(high(w));
    // The usual way to a sign-extended index: (x << 32) >>s n.
    const auto p = parts(w);
    if (k == TermKind::wide_shift_right_signed && p.size() == 1 && nodes_[w].value == 0 &&
        p[0].coefficient == (u64{1} << 32) && (*n & 63) <= 32) {
      const Term inner = low(p[0].atom);
      return multiply(sext(inner), wide_constant(u64{1} << (32 - (*n & 63))));
    }
    if (nodes_[w].bound <= word_mask && k != TermKind::wide_shift_left)
      return (*n & 63) >= 32 ? wide_constant(0) : zext(shr(low(w), constant(static_cast<u32>(*n & 63))));
  }
  const Term c[2] = {w, count};
  return make(k, c, 0, true);
}

Term Terms::load(Term address) {
  const Term c[1] = {address};
  if (address == unknown) return unknown;
  Node n;
  n.kind = TermKind::load;
  return intern(n, c, {});
}

Term Terms::datum(u64 number) { // millions of them, never looked up
  Node n;
  n.kind = TermKind::datum;
  n.value = number;
  describe(n);
  nodes_.push_back(n);
  return static_cast<Term>(nodes_.size() - 1);
}

Term Terms::function(u32 instruction, u32 word, std::span<const Term> arguments) {
  for (const Term t : arguments)
    if (t == unknown || nodes_[t].vague) return unknown;
  Node n;
  n.kind = TermKind::function;
  n.value = instruction | (u64{word} << 32);
  std::array<Term, 8> copy{};
  if (arguments.size() > copy.size())
    return intern(n, std::vector<Term>(arguments.begin(), arguments.end()), {});
  std::copy(arguments.begin(), arguments.end(), copy.begin());
  return intern(n, std::span(copy).first(arguments.size()), {});
}

// ---- looking --------------------------------------------------------------------------------------------------------

std::pair<Term, u64> Terms::split(Term t) {
  const Node& n = nodes_[t];
  if (n.kind != TermKind::linear || n.value == 0) return {t, 0};
  const u64 c = n.value;
  const bool wide = n.wide;
  const auto p = parts(t);
  return {linear({p.begin(), p.end()}, 0, wide), c};
}

std::optional<u64> Terms::evaluate(Term root, const Assignment& given, const Other& other) const {
  std::unordered_map<Term, u64> done;
  std::vector<Term> stack = {root};
  while (!stack.empty()) {
    const Term t = stack.back();
    if (done.contains(t)) {
      stack.pop_back();
      continue;
    }
    const Node& n = nodes_[t];
    if (const auto at = given.find(t);
        at != given.end()) { // whatever it is made of: what memory holds at an address
      done[t] = at->second & mask_of(n.wide);
      stack.pop_back();
      continue;
    }
    bool ready = true;
    const auto need = [&](Term c) {
      if (!done.contains(c)) {
        ready = false;
        stack.push_back(c);
      }
    };
    for (const TermPart& p : parts(t)) need(p.atom);
    for (const Term c : children(t)) need(c);
    if (!ready) continue;
    std::optional<u64> v;
    if (n.kind == TermKind::linear) {
      u64 sum = n.value;
      for (const TermPart& p : parts(t)) sum += p.coefficient * done[p.atom];
      v = sum;
    } else {
      std::vector<u64> numbers;
      for (const Term c : children(t)) numbers.push_back(done[c]);
      v = compute(n.kind, numbers, n.value);
      if (!v && other) v = other(t, numbers);
    }
    if (!v) return std::nullopt;
    done[t] = *v & mask_of(n.wide);
    stack.pop_back();
  }
  return done[root];
}

std::vector<Term> Terms::symbols(Term root) const {
  std::vector<Term> out;
  std::vector<Term> stack = {root};
  std::unordered_map<Term, bool> seen;
  while (!stack.empty()) {
    const Term t = stack.back();
    stack.pop_back();
    if (!seen.try_emplace(t, true).second) continue;
    if (kind(t) == TermKind::symbol) out.push_back(t);
    for (const TermPart& p : parts(t)) stack.push_back(p.atom);
    for (const Term c : children(t)) stack.push_back(c);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool Terms::mentions(Term root, Term what) const {
  std::vector<Term> stack = {root};
  std::unordered_map<Term, bool> seen;
  while (!stack.empty()) {
    const Term t = stack.back();
    stack.pop_back();
    if (t == what) return true;
    if (!seen.try_emplace(t, true).second) continue;
    for (const TermPart& p : parts(t)) stack.push_back(p.atom);
    for (const Term c : children(t)) stack.push_back(c);
  }
  return false;
}

std::string Terms::text(Term t, unsigned depth) const {
  std::size_t room = most_text;
  return text(t, depth, room);
}

std::string Terms::text(Term t, unsigned depth, std::size_t& room) const {
  const Node& n = nodes_[t];
  const bool leaf = n.kind == TermKind::symbol || is_constant(t);
  if (room == 0 || (depth == 0 && !leaf)) return "...";
  room -= std::min<std::size_t>(room, leaf ? 8 : 4);
  const auto c = children(t);
  const auto arg = [&](std::size_t i) { return text(c[i], depth - 1, room); };
  const auto call = [&](const std::string& name_of) {
    std::string s = name_of + "(";
    for (std::size_t i = 0; i < c.size(); ++i) {
      s += (i == 0 ? "" : ", ") + arg(i);
      if (room == 0) break;
    }
    return s + ")";
  };
  const auto infix = [&](const char* op) { return "(" + arg(0) + " " + op + " " + arg(1) + ")"; };
  switch (n.kind) {
  case TermKind::none: return "none";
  case TermKind::unknown: return "?";
  case TermKind::symbol: return names_[n.value];
  case TermKind::linear: {
    const auto number = [&](u64 v) {
      const i64 s = n.wide ? static_cast<i64>(v) : i64{static_cast<i32>(static_cast<u32>(v))};
      return s;
    };
    if (n.count == 0) return std::to_string(number(n.value));
    std::string s;
    for (const TermPart& p : parts(t)) {
      const i64 k = number(p.coefficient);
      if (!s.empty())
        s += k < 0 ? " - " : " + ";
      else if (k < 0)
        s += "-";
      const u64 size = k < 0 ? 0 - static_cast<u64>(k) : static_cast<u64>(k);
      if (size != 1) s += std::to_string(size) + "*";
      s += text(p.atom, depth - 1, room);
      if (room == 0) break;
    }
    if (n.value != 0) {
      const i64 k = number(n.value);
      s += (k < 0 ? " - " : " + ") + std::to_string(k < 0 ? 0 - static_cast<u64>(k) : static_cast<u64>(k));
    }
    return "(" + s + ")";
  }
  case TermKind::multiply:
  case TermKind::wide_multiply:
  case TermKind::product: return infix("*");
  case TermKind::product_signed: return call("multiply_signed");
  case TermKind::multiply_high_unsigned:
  case TermKind::multiply_high_signed: return call("multiply_high");
  case TermKind::bit_and: return infix("&");
  case TermKind::bit_or: return infix("|");
  case TermKind::bit_xor: return infix("^");
  case TermKind::shift_left:
  case TermKind::wide_shift_left: return infix("<<");
  case TermKind::shift_right:
  case TermKind::wide_shift_right: return infix(">>");
  case TermKind::shift_right_signed:
  case TermKind::wide_shift_right_signed: return infix(">>s");
  case TermKind::minimum_unsigned:
  case TermKind::minimum_signed: return call("min");
  case TermKind::maximum_unsigned:
  case TermKind::maximum_signed: return call("max");
  case TermKind::select: return "(" + arg(0) + " ? " + arg(1) + " : " + arg(2) + ")";
  case TermKind::equal: return infix("==");
  case TermKind::less_unsigned: return infix("<");
  case TermKind::less_signed: return infix("<s");
  case TermKind::carry: return call("carry");
  case TermKind::borrow: return call("borrow");
  case TermKind::bit: return arg(0) + "[" + std::to_string(n.value) + "]";
  case TermKind::all: return call("all");
  case TermKind::any: return call("any");
  case TermKind::invert: return "!" + arg(0);
  case TermKind::bits: return "bits(...)";
  case TermKind::load: return "mem[" + arg(0) + "]";
  case TermKind::pair: return arg(0) + ":" + arg(1);
  case TermKind::zext:
  case TermKind::sext: return arg(0);
  case TermKind::low: return call("low");
  case TermKind::high: return call("high");
  case TermKind::function: return call("f" + std::to_string(n.value & word_mask));
  case TermKind::datum: return "d" + std::to_string(n.value);
  }
  return "?";
}

} // namespace inlay::runtime::symbolic
