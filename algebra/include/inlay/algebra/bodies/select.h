/// Bodies of ops/select.h: choosing, grouping and rearranging modes. They work on any tuple.
#pragma once

#include <inlay/algebra/bodies/operation.h>
#include <inlay/algebra/coordinate.h>

namespace inlay::body {

template <class T>
[[nodiscard]] constexpr Tuple<T> select(const Operation& op, TupleView<T> t,
                                        std::span<const std::size_t> indices) {
  TupleBuilder<T> out;
  const std::size_t at = out.open();
  for (const std::size_t i : indices) {
    if (i >= t.rank())
      op.fail("mode", "there is no such mode",
              "mode " + std::to_string(i) + " of rank " + std::to_string(t.rank()));
    out.append(t[i]);
  }
  out.close(at, indices.size());
  return std::move(out).finish();
}

template <class T>
[[nodiscard]] constexpr TupleView<T> get(const Operation& op, TupleView<T> t,
                                         std::span<const std::size_t> path) {
  for (const std::size_t i : path) {
    if (i >= t.rank())
      op.fail("mode", "there is no such mode",
              "mode " + std::to_string(i) + " of rank " + std::to_string(t.rank()));
    t = t[i];
  }
  return t;
}

template <class T>
[[nodiscard]] constexpr Tuple<T> take(const Operation& op, TupleView<T> t, std::size_t begin,
                                      std::size_t end) {
  if (begin >= end || end > t.rank())
    op.fail("empty_range", "the range of modes is empty or too long",
            "[" + std::to_string(begin) + "," + std::to_string(end) + ") of rank " +
                std::to_string(t.rank()));
  TupleBuilder<T> out;
  const std::size_t at = out.open();
  for (std::size_t i = begin; i < end; ++i) out.append(t[i]);
  out.close(at, end - begin);
  return std::move(out).finish();
}

/// Modes [begin, end) become one nested mode; an empty range changes nothing.
template <class T>
[[nodiscard]] constexpr Tuple<T> group(const Operation& op, TupleView<T> t, std::size_t begin,
                                       std::size_t end) {
  if (end > t.rank() || begin > end)
    op.fail("mode", "there is no such range of modes",
            "[" + std::to_string(begin) + "," + std::to_string(end) + ") of rank " +
                std::to_string(t.rank()));
  if (begin == end) return Tuple<T>(t);
  TupleBuilder<T> out;
  const std::size_t at = out.open();
  std::size_t inner = 0;
  std::size_t i = 0;
  for (TupleView<T> mode : t) {
    if (i == begin) inner = out.open();
    out.append(mode);
    if (++i == end) out.close(inner, end - begin);
  }
  out.close(at, t.rank() - (end - begin) + 1);
  return std::move(out).finish();
}

/// Modes and then `count` copies of `x` at the end, or at the front.
template <class T>
[[nodiscard]] constexpr Tuple<T> extended(TupleView<T> t, TupleView<T> x, std::size_t count, bool front) {
  TupleBuilder<T> out;
  const std::size_t at = out.open();
  for (std::size_t i = 0; front && i < count; ++i) out.append(x);
  append_modes<T>(out, t);
  for (std::size_t i = 0; !front && i < count; ++i) out.append(x);
  out.close(at, t.rank() + count);
  return std::move(out).finish();
}

template <class T>
[[nodiscard]] constexpr Tuple<T> replace(const Operation& op, TupleView<T> t, std::size_t index,
                                         TupleView<T> x) {
  if (index >= t.rank())
    op.fail("mode", "there is no such mode",
            "mode " + std::to_string(index) + " of rank " + std::to_string(t.rank()));
  if (t.is_leaf()) return Tuple<T>(x);
  TupleBuilder<T> out;
  const std::size_t at = out.open();
  std::size_t i = 0;
  for (TupleView<T> mode : t) out.append(i++ == index ? x : mode);
  out.close(at, t.rank());
  return std::move(out).finish();
}

/// ((a,b),(c,d)) becomes ((a,c),(b,d)).
template <class T>
[[nodiscard]] constexpr Tuple<T> zip(const Operation& op, TupleView<T> t) {
  TupleBuilder<T> out;
  const std::size_t at = out.open();
  if (t.is_leaf() || (*t.begin()).is_leaf()) {
    out.append(t);
    out.close(at, 1);
    return std::move(out).finish();
  }
  const std::size_t rank = (*t.begin()).rank();
  for (TupleView<T> mode : t)
    if (mode.is_leaf() || mode.rank() != rank) op.fail("rank", "the modes to zip have different ranks");
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t inner = out.open();
    for (TupleView<T> mode : t) out.append(mode[i]);
    out.close(inner, t.rank());
  }
  out.close(at, rank);
  return std::move(out).finish();
}

/// Keeps the parts at `_` (or at integers, for `dice`), each lifted into the list `out` stands in; returns
/// how many.
template <class T>
constexpr std::size_t filter_by(const Operation& op, TupleBuilder<T>& out, TupleView<CoordinateLeaf> c,
                                TupleView<T> t, bool at_free) {
  if (c.is_leaf()) {
    if (c.leaf().free != at_free) return 0;
    out.append(t);
    return 1;
  }
  if (t.is_leaf() || t.rank() != c.rank()) op.fail("rank", "the coordinate does not fit the layout");
  std::size_t n = 0;
  auto mode = t.begin();
  for (TupleView<CoordinateLeaf> entry : c) {
    n += filter_by<T>(op, out, entry, *mode, at_free);
    ++mode;
  }
  return n;
}
template <class T>
[[nodiscard]] constexpr Tuple<T> filter_by(const Operation& op, TupleView<CoordinateLeaf> c, TupleView<T> t,
                                           bool at_free) {
  TupleBuilder<T> out;
  if (c.is_leaf() && c.leaf().free == at_free) {
    out.append(t);
    return std::move(out).finish();
  }
  const std::size_t at = out.open();
  const std::size_t n = filter_by<T>(op, out, c, t, at_free);
  out.close(at, n);
  return std::move(out).finish();
}

/// The offset of a coordinate in which `_` counts as 0.
template <class S>
[[nodiscard]] constexpr S offset_at(const Operation& op, TupleView<CoordinateLeaf> c, LayoutView<S> l) {
  if (c.is_leaf()) return c.leaf().free ? S(0) : inlay::detail::value_at<S>(l.leaves(), S(c.leaf().value));
  if (l.is_leaf() || l.rank() != c.rank()) op.fail("rank", "the coordinate does not fit the layout");
  S sum = 0;
  auto mode = l.begin();
  for (TupleView<CoordinateLeaf> entry : c) {
    sum += offset_at<S>(op, entry, *mode);
    ++mode;
  }
  return sum;
}

} // namespace inlay::body
