// Formulas over 32-bit and 64-bit machine words, kept in one pool.
#include "symbolic/term_words.h"

#include <algorithm>
#include <array>
#include <bit>

namespace inlay::runtime::symbolic {
namespace {

u64 mask_of(bool wide) { return wide ? ~u64{0} : word_mask; }

/// All bits up to the highest of `x`.
u64 below(u64 x) { return x == 0 ? 0 : ~u64{0} >> std::countl_zero(x); }

void mix(u64& h, u64 v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 32;
}

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
  case TermKind::sum: return a;
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
  case TermKind::sum:
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
  // A long sum is one part of others, so that a sum of many is a tree that its lanes share.
  const auto one = [&](Term t) {
    if (wide || nodes_[t].kind != TermKind::linear || nodes_[t].count <= most_flat) return t;
    u64 all = 0;
    for (const TermPart& p : this->parts(t))
      all += nodes_[p.atom].kind == TermKind::sum ? nodes_[p.atom].value : 1;
    const Term whole[] = {t};
    return all > u64{64} * most_parts ? unknown : make(TermKind::sum, whole, all);
  };
  a = one(a), b = one(b);
  if (a == unknown || b == unknown) return unknown;
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
  case TermKind::sum: return arg(0);
  }
  return "?";
}

} // namespace inlay::runtime::symbolic
