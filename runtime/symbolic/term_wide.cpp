// Words of 64 bits in Terms: pairs, products, shifts; loads and functions.
#include "symbolic/term_words.h"

#include <algorithm>
#include <array>
#include <bit>

namespace inlay::runtime::symbolic {

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

/// w + 2^32 n high(x), of a w that has n low(x), is the same with n x in its place: how a product with a word of 64 bits is added. 0: it is none.
Term Terms::join_sum(Term lo, Term hi) {
  if (kind(hi) != TermKind::linear || nodes_[hi].value != 0) return 0;
  const std::vector<TermPart> all(parts(hi).begin(), parts(hi).end());
  const auto count = [&](Term w) {
    return kind(w) == TermKind::linear ? parts(w).size() : is_constant(w) ? 0 : 1;
  };
  for (const TermPart& of_sum : all) {
    if (of_sum.coefficient != 1 || kind(of_sum.atom) != TermKind::high) continue;
    Term sum = children(of_sum.atom)[0];
    if (low(sum) != lo) continue;
    bool whole = true;
    for (const TermPart& part : all) {
      if (part.atom == of_sum.atom) continue;
      Term n = constant(1), above = part.atom;
      if (kind(above) == TermKind::multiply) {
        const Term a = children(above)[0], b = children(above)[1];
        const bool second = kind(b) == TermKind::high;
        n = second ? a : b, above = second ? b : a;
      }
      if (kind(above) != TermKind::high) {
        whole = false;
        break;
      }
      const Term x = children(above)[0];
      const Term by = wide_constant(static_cast<u64>(i64{static_cast<i32>(part.coefficient)}));
      const Term rest = subtract(sum, multiply(product(n, low(x), false), by));
      whole = count(rest) < count(sum);
      if (!whole) break;
      sum = add(rest, multiply(multiply(zext(n), x), by));
    }
    if (whole) return sum;
  }
  return 0;
}

/// sum - x where the two have no bit in common, so that their sum carries nothing; unknown otherwise.
Term Terms::without_carry(Term sum, Term x) {
  const Term more = subtract(sum, x);
  return more != unknown && (maybe(x) & maybe(more)) == 0 ? more : unknown;
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
    const Term of_low = multiply(x, y);
    if (of_low == lo) return product(x, y, is_signed);
    if (const Term more = without_carry(lo, of_low); more != unknown)
      return add(product(x, y, is_signed), zext(more));
  }
  if (kind(hi) == TermKind::high) {
    const Term w = children(hi)[0];
    const Term of_low = low(w);
    if (of_low == lo) return w;
    if (const Term more = without_carry(lo, of_low); more != unknown) return add(w, zext(more));
  }
  if (const auto p = parts(lo);
      p.size() == 1 && nodes_[lo].value == 0 && std::has_single_bit(p[0].coefficient)) {
    // x << n, and what it loses: x >> (32 - n).
    const Term x = p[0].atom;
    const u64 factor = p[0].coefficient;
    const auto lost = static_cast<u32>(32 - std::countr_zero(factor));
    if (hi == shr(x, constant(lost))) return multiply(zext(x), wide_constant(factor));
    if (kind(hi) == TermKind::low &&
        kind(children(hi)[0]) == TermKind::wide_shift_right) { // of a number of 64 bits
      const Term w = children(children(hi)[0])[0];
      if (low(w) == x && value(children(children(hi)[0])[1]) == lost)
        return multiply(w, wide_constant(factor));
    }
  }
  if (const Term p = join_product(lo, hi); p != 0) return p;
  if (const Term p = join_sum(lo, hi); p != 0) return p;
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
  if (kind(w) == TermKind::linear) {
    // 2^32 x + y has x more in its high word than y. Negative coefficients stay as they are.
    const std::vector<TermPart> all(parts(w).begin(), parts(w).end());
    Term rest = w, out = constant(0);
    for (const TermPart& p : all) {
      const u64 above = p.coefficient >> 32;
      if (above == 0 || (p.coefficient >> 63) != 0) continue;
      out = add(out, multiply(low(p.atom), constant(static_cast<u32>(above))));
      rest = subtract(rest, multiply(p.atom, wide_constant(above << 32)));
    }
    if (rest != w) return add(out, high(rest));
  }
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

} // namespace inlay::runtime::symbolic
