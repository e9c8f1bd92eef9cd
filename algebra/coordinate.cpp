#include "text_reader.h"

#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/tile.h>

namespace inlay {

Coordinate to_coordinate(const IntTuple& t) {
  TupleBuilder<CoordinateLeaf> b;
  b.profile(t.profile().view());
  for (const Int leaf : t.leaves()) b.leaves().push_back({leaf, false});
  return std::move(b).finish();
}

namespace {

template <class T, class Leaf>
void write(std::string& out, TupleView<T> t, const char* open, const char* close, const Leaf& leaf) {
  if (t.is_leaf()) {
    out += leaf(t.leaf());
    return;
  }
  out += open;
  bool first = true;
  for (TupleView<T> entry : t) {
    if (!first) out += ',';
    first = false;
    write(out, entry, open, close, leaf);
  }
  out += close;
}

template <class S>
std::string tile_text(const BasicTile<S>& tile) {
  std::string out;
  auto part = tile.parts().begin();
  write(out, tile.kinds(), "<", ">", [&](TileKind kind) {
    const LayoutView<S> l = *part;
    ++part;
    return kind == TileKind::keep     ? "_"
           : kind == TileKind::extent ? to_string(l.leaf().extent)
                                      : to_string(l);
  });
  return out;
}

Int index_of(TupleView<Int> c, TupleView<Int> shape) {
  if (c.is_leaf()) return c.leaf();
  if (shape.is_leaf() || shape.rank() != c.rank()) detail::throw_incongruent();
  Int sum = 0;
  Int next = 1;
  auto s = shape.begin();
  for (TupleView<Int> e : c) {
    sum += index_of(e, *s) * next;
    next *= size<Int>(*s);
    ++s;
  }
  return sum;
}

// The entries of the coordinate of i, leaves left to right; the last leaf takes what is left.
void write_coordinate(TupleBuilder<Int>& out, TupleView<Int> shape, Int i) {
  out.profile(shape.profile());
  const std::span<const Int> extents = shape.leaves();
  for (std::size_t k = 0; k < extents.size(); ++k) {
    // Not taken modulo its extent: an index beyond the shape keeps its value when it is turned back.
    if (k + 1 == extents.size()) {
      out.leaves().push_back(i);
    } else {
      out.leaves().push_back(floor_mod(i, extents[k]));
      i = floor_div(i, extents[k]);
    }
  }
}

void coordinate_of(TupleBuilder<Int>& out, TupleView<Int> i, TupleView<Int> shape) {
  if (i.is_leaf()) {
    write_coordinate(out, shape, i.leaf());
    return;
  }
  if (shape.is_leaf() || shape.rank() != i.rank()) detail::throw_incongruent();
  const std::size_t at = out.open();
  auto s = shape.begin();
  for (TupleView<Int> e : i) {
    coordinate_of(out, e, *s);
    ++s;
  }
  out.close(at, i.rank());
}

void divide_out(TupleBuilder<Int>& out, TupleView<Int> i, LayoutView<Int> l) {
  if (i.is_leaf()) {
    out.profile(l.profile());
    for (const Mode& m : l.leaves()) {
      const Int d = m.stride.scale;
      // A stride of 0 reaches one offset with every coordinate, of which 0 is the one that a layout begins with.
      out.leaves().push_back(m.extent == 1 || d == 0 ? Int(0) : floor_mod(floor_div(i.leaf(), d), m.extent));
    }
    return;
  }
  if (l.is_leaf() || l.rank() != i.rank()) detail::throw_incongruent();
  const std::size_t at = out.open();
  auto mode = l.begin();
  for (TupleView<Int> e : i) {
    divide_out(out, e, *mode);
    ++mode;
  }
  out.close(at, i.rank());
}

void change(TupleBuilder<Int>& out, TupleView<Int> c, TupleView<Int> from, TupleView<Int> to) {
  // As soon as one side is a number there is nothing to match mode by mode, and the index is what both have in common.
  if (c.is_leaf() || from.is_leaf() || to.is_leaf()) {
    write_coordinate(out, to, index_of(c, from));
    return;
  }
  if (c.rank() != from.rank() || c.rank() != to.rank()) detail::throw_incongruent();
  const std::size_t at = out.open();
  auto f = from.begin();
  auto t = to.begin();
  for (TupleView<Int> e : c) {
    change(out, e, *f, *t);
    ++f;
    ++t;
  }
  out.close(at, c.rank());
}

} // namespace

std::string to_string(const Coordinate& c) {
  std::string out;
  write(out, c.view(), "(", ")", [](const CoordinateLeaf& l) { return l.free ? "_" : to_string(l.value); });
  return out;
}
std::string to_string(const Tile& t) { return tile_text(t); }
std::string to_string(const SymTile& t) { return tile_text(t); }

Int crd2idx(const IntTuple& c, const IntTuple& shape, const IntTuple& stride) {
  return Layout::from(shape, stride)(c);
}
Int crd2idx(const IntTuple& c, const IntTuple& shape) { return index_of(c.view(), shape.view()); }

IntTuple idx2crd(const IntTuple& index, const IntTuple& shape) {
  TupleBuilder<Int> out;
  coordinate_of(out, index.view(), shape.view());
  return std::move(out).finish();
}
IntTuple idx2crd(const IntTuple& index, const IntTuple& shape, const IntTuple& stride) {
  TupleBuilder<Int> out;
  divide_out(out, index.view(), Layout::from(shape, stride).view());
  return std::move(out).finish();
}
IntTuple crd2crd(const IntTuple& c, const IntTuple& from, const IntTuple& to) {
  TupleBuilder<Int> out;
  change(out, c.view(), from.view(), to.view());
  return std::move(out).finish();
}

IntTuple get_hier_coord(const Layout& l, const IntTuple& offset) {
  TupleBuilder<Int> out;
  divide_out(out, offset.view(), l.view());
  return std::move(out).finish();
}
Int get_1d_coord(const Layout& l, const IntTuple& offset) {
  return crd2idx(get_hier_coord(l, offset), l.shape());
}
IntTuple get_flat_coord(const Layout& l, const IntTuple& offset) {
  SmallVector<IntTuple, 8> ones;
  for (std::size_t i = 0; i < l.rank(); ++i) ones.push_back(IntTuple(Int(1)));
  const IntTuple to = l.rank() == 1 ? IntTuple(Int(1)) : IntTuple::of(ones.span());
  return crd2crd(get_hier_coord(l, offset), l.shape(), to);
}

namespace {

// A sum of basis elements under construction: a tree that grows where something is added.
struct Sum {
  Int value = 0;
  std::vector<Sum> entries;
  void add(Int scale, Axis axis) {
    if (axis.empty()) {
      value += scale;
      return;
    }
    if (axis[0] >= entries.size()) entries.resize(axis[0] + 1);
    entries[axis[0]].add(scale, axis.inner());
  }
  [[nodiscard]] IntTuple tuple() const {
    if (entries.empty()) return value;
    // 0 is the sum of nothing and agrees with any tuple; another number beside a coordinate has no meaning.
    if (value != 0)
      throw LayoutError({"basis_value",
                         "layout",
                         "an offset and a coordinate have no sum",
                         {},
                         to_string(value) + " beside a tuple of " + std::to_string(entries.size()),
                         {},
                         "give every stride an axis, 1@0, or none"});
    std::vector<IntTuple> parts;
    for (const Sum& e : entries) parts.push_back(e.tuple());
    return IntTuple::of(parts);
  }
};

void add_values(Sum& sum, LayoutView<Int> l, TupleView<Int> c) {
  if (!c.is_leaf()) {
    if (l.is_leaf() || l.rank() != c.rank()) detail::throw_incongruent();
    auto mode = l.begin();
    for (TupleView<Int> e : c) {
      add_values(sum, *mode, e);
      ++mode;
    }
    return;
  }
  Int i = c.leaf();
  const std::span<const Mode> modes = l.leaves();
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const bool last = k + 1 == modes.size();
    sum.add((last ? i : floor_mod(i, modes[k].extent)) * modes[k].stride.scale, modes[k].stride.axis);
    if (!last) i = floor_div(i, modes[k].extent);
  }
}

} // namespace

IntTuple value_at(const Layout& l, const IntTuple& c) {
  Sum sum;
  add_values(sum, l.view(), c.view());
  return sum.tuple();
}

IntTuple coprofile(const Layout& l) {
  Sum sum;
  for (const Mode& m : l.modes()) sum.add(0, m.stride.axis);
  return sum.tuple();
}

IntTuple coshape(const Layout& l) {
  Sum sum;
  for (const Mode& m : l.modes()) sum.add((m.extent - 1) * abs(m.stride.scale), m.stride.axis);
  const IntTuple last = sum.tuple();
  TupleBuilder<Int> b;
  b.profile(last.profile().view());
  for (const Int n : last.leaves()) b.leaves().push_back(n + 1);
  return std::move(b).finish();
}

Coordinate parse_coordinate(std::string_view text) {
  detail::TextReader in(text, "parse coordinate");
  TupleBuilder<CoordinateLeaf> b;
  detail::read_tuple(in, b, [&] {
    return in.accept('_') ? CoordinateLeaf{0, true} : CoordinateLeaf{in.signed_number(), false};
  });
  in.finish();
  return std::move(b).finish();
}

} // namespace inlay
