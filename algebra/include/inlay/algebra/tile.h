/// `Tile`: how each top-level mode of a layout is treated by a by-mode operation.
///
/// An entry is a layout, an extent `n` (short for the first n elements), or `_`, which keeps the mode. A tile
/// is one entry for the whole layout, or a list of entries (or of lists), one per mode:
///
///     8:1          one layout: tiles the index space of the whole operand
///     <4,2:3,_>    by mode: 4 elements of mode 0, every third of mode 1, mode 2 as it is
///
/// CuTe lets a tuple, a layout and an integer all be "a tiler", and `make_shape(4,8)` and
/// `make_layout(make_shape(4,8))` mean different things, which is its most frequent misunderstanding. Here
/// the difference is the type: operations take a `Tile`, a layout converts to a tile of one entry, and a list
/// is written `Tile::by_mode`.
///
/// Representation: the list structure is a `Profile`, the entries are one layout whose modes they are.
#pragma once

#include <inlay/algebra/layout.h>

#include <string>

namespace inlay {

enum class TileKind : std::uint8_t { layout, extent, keep };

template <class S>
class BasicTile {
public:
  BasicTile(const BasicLayout<S>& layout) {
    add(TileKind::layout, layout.view());
  } // NOLINT: a layout is a tile
  /// `n` elements: `n:1`.
  explicit BasicTile(S extent) { add(TileKind::extent, BasicLayout<S>(extent, BasicStride<S>(S(1))).view()); }
  [[nodiscard]] static BasicTile keep() {
    BasicTile t{Empty{}};
    t.add(TileKind::keep, BasicLayout<S>().view());
    return t;
  }
  [[nodiscard]] static BasicTile by_mode(std::span<const BasicTile> entries) {
    BasicTile t{Empty{}};
    TupleBuilder<TileKind> kinds;
    const std::size_t at = kinds.open();
    LayoutBuilderFor parts;
    const std::size_t parts_at = parts.open();
    std::size_t leaves = 0;
    for (const BasicTile& e : entries) {
      kinds.append(e.kinds_.view());
      for (LayoutViewFor part : e.parts()) parts.append(part);
      leaves += e.kinds_.leaves().size();
    }
    kinds.close(at, entries.size());
    parts.close(parts_at, leaves);
    t.kinds_ = std::move(kinds).finish();
    t.parts_ = std::move(parts).finish();
    return t;
  }
  [[nodiscard]] static BasicTile by_mode(std::initializer_list<BasicTile> entries) {
    return by_mode(std::span<const BasicTile>(entries.begin(), entries.size()));
  }
  /// By mode, the extents of a shape: `Tile::shape((4,8))` is `<4,8>`.
  [[nodiscard]] static BasicTile shape(const BasicIntTuple<S>& shape) {
    if (shape.is_leaf()) return BasicTile(shape.leaf());
    SmallVector<BasicTile, 4> entries;
    for (std::size_t i = 0; i < shape.rank(); ++i) entries.push_back(BasicTile::shape(shape[i]));
    return by_mode(entries.span());
  }
  /// The tile with this structure and one layout per entry. Requires: as many modes in `parts` as leaves in
  /// `kinds`.
  [[nodiscard]] static BasicTile from(Tuple<TileKind> kinds, Tuple<BasicMode<S>> parts) {
    BasicTile t{Empty{}};
    t.kinds_ = std::move(kinds);
    t.parts_ = std::move(parts);
    return t;
  }
  BasicTile() : BasicTile(BasicLayout<S>()) {}

  [[nodiscard]] bool is_single() const { return kinds_.is_leaf(); }
  /// The number of entries at the top.
  [[nodiscard]] std::size_t rank() const { return kinds_.rank(); }
  /// The kinds of the entries, in the structure of the list.
  [[nodiscard]] TupleView<TileKind> kinds() const { return kinds_.view(); }
  /// One mode per entry, in order: its layout; `n:1` for an extent; `1:0` where the mode is kept.
  [[nodiscard]] TupleView<BasicMode<S>> parts() const { return parts_.view(); }

  friend bool operator==(const BasicTile&, const BasicTile&) = default;

private:
  struct Empty {};
  using LayoutBuilderFor = TupleBuilder<BasicMode<S>>;
  using LayoutViewFor = TupleView<BasicMode<S>>;
  explicit BasicTile(Empty) {}
  void add(TileKind kind, LayoutViewFor layout) {
    kinds_ = Tuple<TileKind>(kind);
    LayoutBuilderFor parts;
    const std::size_t at = parts.open();
    parts.append(layout);
    parts.close(at, 1);
    parts_ = std::move(parts).finish();
  }

  Tuple<TileKind> kinds_;
  Tuple<BasicMode<S>> parts_;
};

using Tile = BasicTile<Int>;
using SymTile = BasicTile<Sym>;

/// `<4,2:3,_>`; a single entry prints without brackets.
[[nodiscard]] std::string to_string(const Tile& tile);
[[nodiscard]] std::string to_string(const SymTile& tile);

} // namespace inlay
