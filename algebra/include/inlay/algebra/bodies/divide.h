/// Bodies of ops/divide.h and ops/product.h: both pair every tiled mode with its rest and regroup the pairs.
#pragma once

#include <inlay/algebra/bodies/complement.h>
#include <inlay/algebra/bodies/composition.h>

namespace inlay::body {

/// a o (t, complement(t, shape of a)): the tile, and where the tiles start.
template <class S>
constexpr void divide_by_layout(const Operation& op, LayoutBuilder<S>& out, LayoutView<S> a,
                                LayoutView<S> t) {
  const Modes<S> flat = coalesced_modes<S>(a.leaves(), false);
  SmallVector<S, 8> shape;
  for (const BasicMode<S>& m : flat) shape.push_back(m.extent);
  if (shape.empty()) shape.push_back(S(1));
  bool basis = false;
  for (const BasicMode<S>& m : t.leaves()) basis = basis || m.stride.is_basis();
  if (basis) op.fail("basis", "a tile with basis strides has no complement", "", "use a by-mode tile");
  const BasicLayout<S> rest = complement<S>(op, t, shape.span());
  compose_into<S>(op, out, a, pair<S>(t, rest.view()).view());
}

/// The layout an entry of a tile stands for in divides and products: an extent n is n:1, and 1:0 when n is 1.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> entry_layout(const TileCursor<S>& entry) {
  if (entry.kind() == TileKind::extent && is_one(entry.layout().leaf().extent)) return {};
  return BasicLayout<S>(entry.layout());
}

template <class S>
[[nodiscard]] BasicLayout<S> logical_divide(const Operation& op, LayoutView<S> a, const BasicTile<S>& tile) {
  LayoutBuilder<S> out;
  TileCursor<S> cursor(tile);
  by_mode<S>(op, out, a, tile.kinds(), cursor, true,
             [&](LayoutBuilder<S>& b, LayoutView<S> mode, const TileCursor<S>& entry) {
               divide_by_layout<S>(op, b, mode, entry_layout<S>(entry).view());
             });
  return finish(std::move(out));
}

/// (a, complement(a, |a| * cosize(t)) o t): the block, and where its copies start.
template <class S>
constexpr void multiply_by_layout(const Operation& op, LayoutBuilder<S>& out, LayoutView<S> a,
                                  LayoutView<S> t) {
  const std::size_t at = out.open();
  out.append(a);
  S cosize = 1;
  for (const BasicMode<S>& m : t.leaves()) cosize += (m.extent - S(1)) * abs(m.stride.scale);
  const S target = product<S>(a.leaves()) * cosize;
  const BasicLayout<S> gaps = complement<S>(op, a, std::span<const S>(&target, 1));
  compose_into<S>(op, out, gaps.view(), t);
  out.close(at, 2);
}

template <class S>
[[nodiscard]] BasicLayout<S> logical_product(const Operation& op, LayoutView<S> a, const BasicTile<S>& tile) {
  LayoutBuilder<S> out;
  TileCursor<S> cursor(tile);
  by_mode<S>(op, out, a, tile.kinds(), cursor, true,
             [&](LayoutBuilder<S>& b, LayoutView<S> mode, const TileCursor<S>& entry) {
               multiply_by_layout<S>(op, b, mode, entry_layout<S>(entry).view());
             });
  return finish(std::move(out));
}

/// The first (which = 0) or second (which = 1) halves of the pairs that the tile made; the second takes the
/// modes beyond the tile along. A kept mode counts as a pair when it has two modes, as in thread-value
/// partitioning.
template <class S>
void gather(const Operation& op, LayoutBuilder<S>& out, LayoutView<S> l, TupleView<TileKind> kinds,
            int which) {
  if (kinds.is_leaf()) {
    if (l.is_leaf() || l.rank() != 2)
      op.fail("keep", "a kept mode has no tile and rest to gather",
              "a mode of rank " + std::to_string(l.rank()),
              "tile the mode by the extent 1 instead of keeping it");
    out.append(l[static_cast<std::size_t>(which)]);
    return;
  }
  const std::size_t at = out.open();
  auto entry = kinds.begin();
  std::size_t i = 0;
  std::size_t written = 0;
  for (LayoutView<S> mode : l) {
    if (i++ < kinds.rank()) {
      gather<S>(op, out, mode, *entry, which);
      ++entry;
      ++written;
    } else if (which == 1) {
      out.append(mode);
      ++written;
    }
  }
  out.close(at, written);
}

template <class S>
[[nodiscard]] BasicLayout<S> zipped(const Operation& op, const BasicLayout<S>& paired,
                                    const BasicTile<S>& tile) {
  if (tile.is_single()) return paired;
  LayoutBuilder<S> out;
  const std::size_t at = out.open();
  gather<S>(op, out, paired.view(), tile.kinds(), 0);
  gather<S>(op, out, paired.view(), tile.kinds(), 1);
  out.close(at, 2);
  return finish(std::move(out));
}

/// ((T...), (R...)) with the modes of the second half, and of the first too if asked, brought to the top.
template <class S>
[[nodiscard]] BasicLayout<S> unpacked(const Operation& op, const BasicLayout<S>& z, bool both) {
  if (z.is_leaf() || z.rank() != 2) op.fail("keep", "a kept layout has no tile and rest to gather");
  LayoutBuilder<S> out;
  const std::size_t at = out.open();
  std::size_t n = 1;
  if (both) {
    n = append_modes<BasicMode<S>>(out, z.view()[0]);
  } else {
    out.append(z.view()[0]);
  }
  n += append_modes<BasicMode<S>>(out, z.view()[1]);
  out.close(at, n);
  return finish(std::move(out));
}

/// Mode k is (a_k, copies_k), or (copies_k, a_k) when raked; the shorter operand is padded with 1:0.
template <class S>
[[nodiscard]] BasicLayout<S> paired_product(const Operation& op, LayoutView<S> a, LayoutView<S> t,
                                            bool raked) {
  const std::size_t rank = std::max(a.rank(), t.rank());
  const auto padded = [&](LayoutView<S> l) {
    LayoutBuilder<S> b;
    const std::size_t at = b.open();
    append_modes<BasicMode<S>>(b, l);
    for (std::size_t i = l.rank(); i < rank; ++i) b.append(BasicLayout<S>().view());
    b.close(at, rank);
    return finish(std::move(b));
  };
  const BasicLayout<S> block = padded(a);
  LayoutBuilder<S> both;
  multiply_by_layout<S>(op, both, block.view(), padded(t).view());
  const BasicLayout<S> p = finish(std::move(both));
  const LayoutView<S> first = p.view()[raked ? 1 : 0];
  const LayoutView<S> second = p.view()[raked ? 0 : 1];
  LayoutBuilder<S> out;
  const std::size_t at = out.open();
  auto x = first.begin();
  auto y = second.begin();
  for (std::size_t k = 0; k < rank; ++k, ++x, ++y) {
    const std::size_t inner = out.open();
    out.append(*x);
    out.append(*y);
    out.close(inner, 2);
  }
  out.close(at, rank);
  return finish(std::move(out));
}

} // namespace inlay::body
