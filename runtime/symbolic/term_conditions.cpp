// Conditions of Terms, and masks of 64 of them.
#include "symbolic/term_words.h"

#include <algorithm>
#include <array>
#include <bit>

namespace inlay::runtime::symbolic {

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

} // namespace inlay::runtime::symbolic
