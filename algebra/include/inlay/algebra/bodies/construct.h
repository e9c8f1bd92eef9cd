/// Bodies of ops/construct.h.
#pragma once

#include <inlay/algebra/bodies/divide.h>

namespace inlay::body {

/// Compact strides in the given order: the modes of smaller order are counted first, equal orders alias.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> ordered(const Operation& op, TupleView<S> shape,
                                               TupleView<Int> order) {
  // Walk both trees: an order leaf owns a sub-shape.
  struct Owner {
    Int order;
    S size;
  };
  SmallVector<Owner, 8> owners;
  SmallVector<std::size_t, 8> owner_of; // per leaf of the shape
  const auto walk = [&](auto&& self, TupleView<S> s, TupleView<Int> o) -> void {
    if (o.is_leaf()) {
      for (std::size_t i = 0; i < s.leaves().size(); ++i) owner_of.push_back(owners.size());
      owners.push_back({o.leaf(), size<S>(s)});
      return;
    }
    if (s.is_leaf() || s.rank() != o.rank()) op.fail("incongruent", "the order does not fit the shape");
    auto e = o.begin();
    for (TupleView<S> mode : s) {
      self(self, mode, *e);
      ++e;
    }
  };
  walk(walk, shape, order);
  LayoutBuilder<S> out;
  out.profile(shape.profile());
  S next = 1;
  for (std::size_t i = 0; i < owner_of.size(); ++i) {
    const std::size_t mine = owner_of[i];
    if (i == 0 || owner_of[i - 1] != mine) {
      next = S(1);
      for (const Owner& other : owners)
        if (other.order < owners[mine].order) next *= other.size;
    }
    const S& extent = shape.leaves()[i];
    out.leaves().push_back({extent, BasicStride<S>(is_one(extent) ? S(0) : next)});
    next *= extent;
  }
  return finish(std::move(out));
}

/// 1@path at every leaf. An integer shape has the plain stride 1.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> identity(TupleView<S> shape) {
  LayoutBuilder<S> out;
  const auto walk = [&](auto&& self, TupleView<S> s, Axis axis) -> void {
    if (s.is_leaf()) {
      out.leaf({s.leaf(), BasicStride<S>(S(1), axis)});
      return;
    }
    const std::size_t at = out.open();
    std::size_t i = 0;
    for (TupleView<S> mode : s) self(self, mode, axis.child(i++));
    out.close(at, i);
  };
  walk(walk, shape, Axis{});
  return finish(std::move(out));
}

/// Flat shape left to right: as much of n as each extent has in common with what is left of it.
[[nodiscard]] constexpr Layout domain_distribute(TupleView<Int> shape, Int n) {
  Modes<Int> out;
  Int next = 1;
  for (const Int s : shape.leaves()) {
    const Int g = gcd(s, n);
    n = exact_div(n, g);
    out.push_back({g, Stride(next)});
    next *= s;
  }
  return unwrapped(coalesced_modes<Int>(out.span(), false));
}

} // namespace inlay::body
