// The table of operations by name, and the reader of expressions.

// g++ 12 takes the move of a variant of vectors for a use of its other alternatives.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "text_reader.h"

#include <inlay/algebra/expression.h>
#include <inlay/algebra/linear_layout.h>
#include <inlay/algebra/nearest.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/construct.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/ops/thread_value.h>
#include <inlay/algebra/ops/tuple.h>
#include <inlay/algebra/print.h>

#include <array>
#include <map>

namespace inlay {
namespace {

// The arguments of one call, read by position.
class Arguments {
public:
  explicit Arguments(std::span<const Value> values) : values_(values) {}
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const Value& operator[](std::size_t i) const {
    if (i >= values_.size())
      throw LayoutError({"argument",
                         "argument",
                         "too few arguments",
                         {},
                         std::to_string(values_.size()) + " given",
                         {},
                         ""});
    return values_[i];
  }
  [[nodiscard]] Layout layout(std::size_t i) const { return (*this)[i].as_layout(); }
  [[nodiscard]] IntTuple tuple(std::size_t i) const { return (*this)[i].as_tuple(); }
  [[nodiscard]] Int integer(std::size_t i) const { return (*this)[i].as_int(); }
  [[nodiscard]] Tile tile(std::size_t i) const { return (*this)[i].as_tile(); }
  [[nodiscard]] std::size_t index(std::size_t i) const { return to_index((*this)[i].as_int()); }
  [[nodiscard]] std::vector<std::size_t> indices(std::size_t i) const {
    const IntTuple t = tuple(i);
    std::vector<std::size_t> out;
    for (const Int n : t.leaves()) out.push_back(to_index(n));
    return out;
  }
  // [B,M,S], offset, layout
  [[nodiscard]] ComposedLayout composed(std::size_t i) const {
    return {(*this)[i].as_swizzle(), integer(i + 1), layout(i + 2)};
  }

private:
  static std::size_t to_index(Int n) {
    if (n < 0 || n > Int(max_leaves))
      throw LayoutError({"argument", "argument", "not the number of a mode", {}, to_string(n), {}, ""});
    return static_cast<std::size_t>(n.value());
  }
  std::span<const Value> values_;
};

Value plain_or_composed(const ComposedLayout& c) { return c.is_plain() ? Value(c.inner()) : Value(c); }
template <class L, class S>
Value pair(const Sliced<L, S>& s) {
  return List{Value(s.layout), Value(s.offset)};
}

MmaAtom mma_atom(const Value& v) {
  return {v["shape_mnk"].as_tuple(), v["thrid"].as_layout(), v["A"].as_layout(), v["B"].as_layout(),
          v["C"].as_layout()};
}
CopyAtom copy_atom(const Value& v) {
  return {v["src"].as_layout(), v["dst"].as_layout(), v["ref"].as_layout()};
}
TiledMma tiled_mma(const Arguments& a) { return make_tiled_mma(mma_atom(a[0]), a.layout(1), a.tile(2)); }
Operand operand(const Value& v) {
  const std::string* s = v.get<std::string>();
  if (s && *s == "A") return Operand::a;
  if (s && *s == "B") return Operand::b;
  if (s && *s == "C") return Operand::c;
  throw LayoutError(
      {"argument", "argument", "expected an operand A, B or C", {{"found", to_string(v)}}, "", {}, ""});
}
Value tiler_value(const Tile& t) { // integers stay integers
  List list;
  auto part = t.parts().begin();
  for (const TileKind kind : t.kinds().leaves()) {
    const Layout l(*part);
    ++part;
    list.push_back(kind == TileKind::keep     ? Value()
                   : kind == TileKind::extent ? Value(l.modes()[0].extent)
                                              : Value(l));
  }
  return list;
}
// A part of a tensor: of a plain one a pair (layout, offset), of a composed one the function itself, with the offset where the outer map
// sees it.
template <class F>
Value part_of_tensor(const Value& tensor, const F& f) {
  if (const NestedLayout* n = tensor.get<NestedLayout>()) {
    const auto [layout, offset] = f(n->inner());
    std::vector<NestedLayout::Step> steps = n->steps();
    if (steps.back().offset.is_leaf())
      steps.back().offset = IntTuple(steps.back().offset.leaf() + offset);
    else if (offset != 0)
      throw LayoutError({"argument",
                         "partition",
                         "the innermost map is of coordinates",
                         {{"tensor", to_string(tensor)}},
                         "",
                         {},
                         "slice takes such a tensor: slice((9,_), zipped_divide(T, <8,8>))"});
    return NestedLayout(std::move(steps), layout);
  }
  const ComposedLayout* c = tensor.get<ComposedLayout>();
  if (!c || c->is_plain()) return pair(f(tensor.as_layout()));
  const auto [layout, offset] = f(c->inner());
  return ComposedLayout(c->outer(), c->offset() + offset, layout);
}

Value copy_record(const TiledCopy& c, bool sides) {
  Record r{{"tiler", tiler_value(c.tiler)}, {"layout_tv", c.layout_tv}};
  if (sides) {
    r.emplace_back("S_TV", layout_tv(c, Side::source));
    r.emplace_back("D_TV", layout_tv(c, Side::destination));
  }
  return r;
}
TiledCopy value_copy(const Arguments& a) {
  return make_tiled_copy(CopyAtom::universal(a.integer(0)), a.layout(1), a.layout(2));
}
TiledCopy ldsm_copy(const Arguments& a) {
  return make_tiled_copy(copy_atom(a[4]), tiled_mma(a), operand(a[3]));
}
TiledCopy tv_copy(const Arguments& a) { return {CopyAtom::universal(1), a.layout(1), a.tile(0)}; }

template <class F>
ComposedLayout on_inner(const ComposedLayout& c, const F& f) {
  return c.with_inner(f(c.inner()));
}

// What operations do with the inner layout alone, for plain and for composed layouts.
template <class F>
Value mapped(const Value& v, const F& f) {
  if (const ComposedLayout* c = v.get<ComposedLayout>()) return on_inner(*c, f);
  if (const NestedLayout* n = v.get<NestedLayout>()) return n->with_inner(f(n->inner()));
  return f(v.as_layout());
}

// Shape, size and rank are those of the layout that is applied first.
Layout domain_of(const Value& v) {
  const NestedLayout* n = v.get<NestedLayout>();
  return n ? n->inner() : v.as_composed().inner();
}

// The map that is applied last, what is added before it, and what it is applied to.
enum class Part { outer, offset, inner };
Value part_of(const Value& v, Part part) {
  if (const NestedLayout* n = v.get<NestedLayout>()) {
    const NestedLayout::Step& first = n->steps().front();
    if (part == Part::outer) return std::visit([](const auto& m) { return Value(m); }, first.map);
    if (part == Part::offset) return first.offset;
    Value innermost = n->inner();
    if (n->steps().size() == 1) return innermost;
    const std::vector<NestedLayout::Step> rest(n->steps().begin() + 1, n->steps().end());
    const Value second = std::visit([](const auto& m) { return Value(m); }, rest.front().map);
    if (rest.size() == 1) return nested(second, rest.front().offset, innermost);
    return NestedLayout(rest, n->inner());
  }
  const ComposedLayout c = v.as_composed();
  if (part == Part::outer) return std::visit([](const auto& m) { return Value(m); }, c.outer());
  return part == Part::offset ? Value(c.offset()) : Value(c.inner());
}

Value append_or_prepend(const Arguments& a, bool front) {
  const Layout l = a.layout(0);
  if (a.size() == 2) return front ? prepend(l, a.layout(1)) : append(l, a.layout(1));
  return front ? prepend(l, a.index(1), a.layout(2)) : append(l, a.index(1), a.layout(2));
}

/// Of make_layout(shape, LayoutRight{}).
Layout compact(const IntTuple& shape, const std::string& order) {
  if (order != "LayoutLeft" && order != "LayoutRight")
    throw LayoutError({"bad_order",
                       "make_layout",
                       "'" + order + "' is no order of strides",
                       {},
                       "",
                       {},
                       "LayoutLeft or LayoutRight"});
  return order == "LayoutRight" ? Layout::row_major(shape) : Layout::col_major(shape);
}
Value group_of(const Value& v, const Arguments& a, std::size_t first) {
  return mapped(v, [&](const Layout& l) {
    const Int end = a.integer(first + 1);
    return group(l, a.index(first), end == -1 ? l.rank() : a.index(first + 1));
  });
}

Value coalesce_of(const Value& v, const Arguments& a, std::size_t next) {
  return mapped(v,
                [&](const Layout& l) { return a.size() > next ? coalesce(l, a.tuple(next)) : coalesce(l); });
}

// The same bytes in other elements: each part of a composed layout down to the bits that both have in common, then up.
Value recast_of(const Value& v, Int old_bits, Int new_bits) {
  const ComposedLayout* c = v.get<ComposedLayout>();
  if (!c || c->is_plain()) return recast(v.as_layout(), old_bits, new_bits);
  if (old_bits < 1 || new_bits < 1) return recast(c->inner(), old_bits, new_bits); // its error
  const Int common = gcd(old_bits, new_bits);
  return plain_or_composed(upcast(downcast(*c, floor_div(old_bits, common)), floor_div(new_bits, common)));
}

// As a tuple of numbers; basis strides are no numbers.
IntTuple strides_of(const Layout& l) {
  TupleBuilder<Int> out;
  out.profile(l.profile().view());
  for (const Mode& m : l.modes()) {
    if (m.stride.is_basis())
      throw LayoutError({"basis",
                         "stride",
                         "basis strides are no integers",
                         {{"layout", to_string(l)}},
                         "",
                         {},
                         "print the layout"});
    out.leaves().push_back(m.stride.scale);
  }
  return std::move(out).finish();
}

// The images of the index bits.
List columns_of(const ComposedLayout& l) {
  const auto matrix = BitMatrix::of(l);
  if (!matrix)
    throw LayoutError({"linear",
                       "bit_matrix",
                       "the layout is not linear over bits",
                       {{"layout", to_string(l)}},
                       "",
                       {},
                       "extents are powers of two, strides are not negative and no two weights share a bit"});
  List columns;
  for (std::size_t k = 0; k < matrix->columns(); ++k) columns.push_back(Int(matrix->column(k)));
  return columns;
}

#define ROW(name, signature, ...)                                                                            \
  {                                                                                                          \
    name, signature, [](std::span<const Value> values) -> Value {                                            \
      const Arguments a(values);                                                                             \
      return __VA_ARGS__;                                                                                    \
    }                                                                                                        \
  }
#define LAYOUT_TILE(op)                                                                                      \
  ROW(#op, "(layout, tiler)", mapped(a[0], [&](const Layout& l) { return op(l, a.tile(1)); }))
#define COMPOSED_TILE(op)                                                                                    \
  ROW("composed_" #op, "(swizzle, offset, layout, tiler)",                                                   \
      on_inner(a.composed(0), [&](const Layout& l) { return op(l, a.tile(3)); }))
#define IDENTITY_TILE(op)                                                                                    \
  ROW("identity_" #op, "(shape, tiler)", op(make_identity_layout(a.tuple(0)), a.tile(1)))

const auto table = std::to_array<NamedOperation>({
    ROW("add", "(tuple, tuple)", add(a.tuple(0), a.tuple(1))),
    ROW("append", "(layout, [rank,] mode)", append_or_prepend(a, false)),
    ROW("bit_matrix", "(layout)", columns_of(a[0].as_composed())),
    ROW("blocked_product", "(layout, tiler)", mapped(a[0], [&](const Layout& l) { return blocked_product(l, a.layout(1)); })),
    ROW("ceil_div", "(tuple, tuple)", ceil_div(a.tuple(0), a.tuple(1))),
    ROW("coalesce", "(layout [, profile])", coalesce_of(a[0], a, 1)),
    ROW("colex_less", "(tuple, tuple)", colex_less(a.tuple(0), a.tuple(1))),
    ROW("compact_col_major", "(shape [, start])", compact_col_major(a.tuple(0), a.size() > 1 ? a.tuple(1) : IntTuple(Int(1)))),
    ROW("compact_row_major", "(shape [, start])", compact_row_major(a.tuple(0), a.size() > 1 ? a.tuple(1) : IntTuple(Int(1)))),
    ROW("compatible", "(shape, shape)", compatible(a.tuple(0), a.tuple(1))),
    ROW("complement", "(layout [, cotarget])", a.size() > 1 ? complement(a.layout(0), a.tuple(1)) : complement(a.layout(0))),
    ROW("composed", "(swizzle, offset, layout)", plain_or_composed(a.size() == 1 ? a[0].as_composed() : a.composed(0))),
    ROW("composed_blocked_product", "(swizzle, offset, layout, tiler)",
        on_inner(a.composed(0), [&](const Layout& l) { return blocked_product(l, a.layout(3)); })),
    ROW("composed_coalesce", "(swizzle, offset, layout [, profile])", coalesce_of(a.composed(0), a, 3)),
    COMPOSED_TILE(composition),
    ROW("composed_downcast", "(swizzle, offset, layout, n)", downcast(a.composed(0), a.integer(3))),
    ROW("composed_flatten", "(swizzle, offset, layout)", on_inner(a.composed(0), [](const Layout& l) { return flatten(l); })),
    ROW("composed_get", "(swizzle, offset, layout, mode)",
        on_inner(a.composed(0), [&](const Layout& l) { return get(l, a.indices(3)); })),
    ROW("composed_group", "(swizzle, offset, layout, begin, end)", group_of(a.composed(0), a, 3)),
    ROW("composed_left_inverse", "(swizzle, offset, layout)", left_inverse(a.composed(0))),
    COMPOSED_TILE(logical_divide),
    COMPOSED_TILE(logical_product),
    ROW("composed_max_common_vector", "(swizzle, offset, layout, layout)",
        max_common_vector(a.composed(0), a[3].as_composed())),
    ROW("composed_part_inner", "(composed layout)", part_of(a[0], Part::inner)),
    ROW("composed_part_offset", "(composed layout)", part_of(a[0], Part::offset)),
    ROW("composed_part_outer", "(composed layout)", part_of(a[0], Part::outer)),
    ROW("composed_right_inverse", "(swizzle, offset, layout)", right_inverse(a.composed(0))),
    ROW("composed_slice_values", "(swizzle, offset, layout, coord)", slice(a[3].as_coordinate(), a.composed(0))),
    ROW("composed_tile_to_shape", "(swizzle, offset, layout, trg_shape [, ord_shape])",
        on_inner(a.composed(0),
                 [&](const Layout& l) {
                   return a.size() > 4 ? tile_to_shape(l, a.tuple(3), a.tuple(4)) : tile_to_shape(l, a.tuple(3));
                 })),
    ROW("composed_upcast", "(swizzle, offset, layout, n)", upcast(a.composed(0), a.integer(3))),
    COMPOSED_TILE(zipped_divide),
    ROW("composition", "(lhs, rhs layout or tiler or swizzle)",
        a.size() == 3 ? nested(a[0], a.tuple(1), a[2]) // CuTe's (Swizzle, offset, layout)
        : a[0].get<Swizzle>() && (a[1].get<Layout>() || a[1].get<ComposedLayout>() || a[1].get<NestedLayout>())
            ? nested(a[0], IntTuple(Int(0)), a[1])
        : a[0].get<Swizzle>() ? Value(composition(a[0].as_swizzle(), a[1].as_swizzle()))
        : a[1].get<Swizzle>() ? plain_or_composed(composition(a.layout(0), a[1].as_swizzle()))
        : a[1].get<CoordSwizzle>() ? plain_or_composed(composition(a.layout(0), a[1].as_coord_swizzle()))
        : a[1].get<ComposedLayout>() ? plain_or_composed(composition(a.layout(0), a[1].as_composed()))
                              : mapped(a[0], [&](const Layout& l) { return composition(l, a.tile(1)); })),
    ROW("composition_layout_composed", "(layout, swizzle, offset, layout)", composition(a.layout(0), a.composed(1))),
    ROW("composition_layout_swizzle", "(layout, swizzle)", composition(a.layout(0), a[1].as_swizzle())),
    ROW("congruent", "(tuple, tuple)", congruent(a.tuple(0), a.tuple(1))),
    ROW("coord_swizzle", "(coordinate swizzle, coordinate)", a[0].as_coord_swizzle()(a.tuple(1))),
    ROW("coord_swizzle_downcast", "(coordinate swizzle, n)", downcast(a[0].as_coord_swizzle(), a.integer(1))),
    ROW("coord_swizzle_upcast", "(coordinate swizzle, n)", upcast(a[0].as_coord_swizzle(), a.integer(1))),
    ROW("coprofile", "(layout)", coprofile(a.layout(0))),
    ROW("coshape", "(layout)", coshape(a.layout(0))),
    ROW("cosize", "(layout)", a.layout(0).cosize()),
    ROW("crd2crd", "(coord, src_shape, dst_shape)", crd2crd(a.tuple(0), a.tuple(1), a.tuple(2))),
    ROW("crd2idx", "(coord, shape [, stride] or layout)",
        a.size() > 2                                ? Value(crd2idx(a.tuple(0), a.tuple(1), a.tuple(2)))
        : a[1].get<List>() || a[1].get<Int>() ? Value(crd2idx(a.tuple(0), a.tuple(1)))
                                              : value_of(a[1], a[0])),
    ROW("depth", "(layout)", Int(a.layout(0).depth())),
    ROW("dice", "(coord, layout)", dice(a[0].as_coordinate(), a.layout(1))),
    ROW("div", "(tuple, tuple)", div(a.tuple(0), a.tuple(1))),
    ROW("domain_distribute", "(shape, n)", domain_distribute(a.tuple(0), a.integer(1))),
    ROW("downcast", "(layout, n)",
        a[0].get<ComposedLayout>() ? Value(downcast(a[0].as_composed(), a.integer(1))) : Value(downcast(a.layout(0), a.integer(1)))),
    ROW("elem_less", "(tuple, tuple)", elem_less(a.tuple(0), a.tuple(1))),
    ROW("elem_scale", "(tuple, tuple)", elem_scale(a.tuple(0), a.tuple(1))),
    ROW("evenly_divides", "(shape, tiler)", evenly_divides(a.tuple(0), a.tile(1))),
    ROW("filter", "(layout [, profile])",
        mapped(a[0], [&](const Layout& l) { return a.size() > 1 ? filter(l, a.tuple(1)) : filter(l); })),
    ROW("filter_zeros", "(layout [, profile])", a.size() > 1 ? filter_zeros(a.layout(0), a.tuple(1)) : filter_zeros(a.layout(0))),
    LAYOUT_TILE(flat_divide),
    LAYOUT_TILE(flat_product),
    ROW("flatten", "(layout or tuple)",
        a[0].get<List>() || a[0].get<Int>() ? Value(flatten(a.tuple(0))) : mapped(a[0], [](const Layout& l) { return flatten(l); })),
    ROW("gcd", "(tuple)", gcd(a.tuple(0))),
    ROW("get", "(layout, path)", mapped(a[0], [&](const Layout& l) { return get(l, a.indices(1)); })),
    ROW("get_1d_coord", "(layout, offset)", get_1d_coord(a.layout(0), a.tuple(1))),
    ROW("get_flat_coord", "(layout, offset)", get_flat_coord(a.layout(0), a.tuple(1))),
    ROW("get_hier_coord", "(layout, offset)", get_hier_coord(a.layout(0), a.tuple(1))),
    ROW("group", "(layout, begin, end)", group_of(a[0], a, 1)),
    ROW("identity_call", "(shape, coord)", value_at(make_identity_layout(a.tuple(0)), a.tuple(1))),
    IDENTITY_TILE(composition),
    IDENTITY_TILE(logical_divide),
    IDENTITY_TILE(zipped_divide),
    ROW("idx2crd", "(idx, shape [, stride])",
        a.size() > 2 ? idx2crd(a.tuple(0), a.tuple(1), a.tuple(2)) : idx2crd(a.tuple(0), a.tuple(1))),
    ROW("inner_product", "(tuple, tuple)", inner_product(a.tuple(0), a.tuple(1))),
    ROW("layout_call", "(layout, coord)", value_of(a[0], a[1])),
    ROW("ldsm_copy", "(mma_atom, atom_layout_mnk, permutation_mnk, operand, copy_atom)", copy_record(ldsm_copy(a), true)),
    ROW("ldsm_copy_partition_S", "(mma_atom, atom_layout_mnk, permutation_mnk, operand, copy_atom, tensor, thr_idx)",
        part_of_tensor(a[5], [&](const Layout& l) { return partition(ldsm_copy(a), Side::source, l, a.integer(6)); })),
    ROW("left_inverse", "(layout)",
        a[0].get<ComposedLayout>() ? plain_or_composed(left_inverse(a[0].as_composed())) : Value(left_inverse(a.layout(0)))),
    ROW("lex_less", "(tuple, tuple)", lex_less(a.tuple(0), a.tuple(1))),
    ROW("linear_layout", "(layout_tv, shape [, lanes])",
        to_string(linear_layout(a.layout(0), a.tuple(1), a.size() > 2 ? a.integer(2) : Int(64)))),
    ROW("local_partition", "(tensor, thr_layout, thr_idx)", part_of_tensor(a[0], [&](const Layout& l) { return local_partition(l, a.layout(1), a.integer(2)); })),
    ROW("local_tile", "(tensor, tiler, coord)", part_of_tensor(a[0], [&](const Layout& l) { return local_tile(l, a.tile(1), a[2].as_coordinate()); })),
    LAYOUT_TILE(logical_divide),
    LAYOUT_TILE(logical_product),
    ROW("make_cotiled_copy", "(atom_tv_layout, data_layout)",
        copy_record(make_cotiled_copy(CopyAtom::universal(1), a.layout(0), a.layout(1)), false)),
    ROW("make_composed_layout", "(outer, [offset,] inner)",
        a.size() > 2 ? nested(a[0], a.tuple(1), a[2]) : nested(a[0], IntTuple(Int(0)), a[1])),
    ROW("make_fragment_like", "(layout)", make_fragment_like(a.layout(0))),
    ROW("make_identity_layout", "(shape)", make_identity_layout(a.tuple(0))),
    ROW("make_layout", "(layout, ...) or (shape [, stride])",
        a[0].get<List>() || a[0].get<Int>()
            ? (a.size() < 2 ? Layout::col_major(a.tuple(0))
               : a[1].get<std::string>() != nullptr ? compact(a.tuple(0), *a[1].get<std::string>())
                                                    : Layout::from(a.tuple(0), a.tuple(1)))
            : [&] {
                std::vector<Layout> modes;
                for (std::size_t i = 0; i < a.size(); ++i) modes.push_back(a.layout(i));
                return concatenate(std::span<const Layout>(modes));
              }()),
    ROW("make_layout_like", "(layout)", make_layout_like(a.layout(0))),
    ROW("make_ordered_layout", "(shape, order)", make_ordered_layout(a.tuple(0), a.tuple(1))),
    ROW("make_swizzle", "(source mask, target mask)",
        Swizzle::from_masks(static_cast<std::uint64_t>(a.integer(0).value()), static_cast<std::uint64_t>(a.integer(1).value()))),
    ROW("make_tiled_copy", "(copy_atom, thr_layout, val_layout)", copy_record(value_copy(a), true)),
    ROW("max", "(tuple)", max(a.tuple(0))),
    ROW("max_alignment", "(layout)", max_alignment(a.layout(0))),
    ROW("max_common_layout", "(layout, layout)", max_common_layout(a.layout(0), a.layout(1))),
    ROW("max_common_vector", "(layout, layout)",
        a[0].get<ComposedLayout>() || a[1].get<ComposedLayout>() ? max_common_vector(a[0].as_composed(), a[1].as_composed())
                                                                 : max_common_vector(a.layout(0), a.layout(1))),
    ROW("min", "(tuple)", min(a.tuple(0))),
    ROW("mod", "(tuple, tuple)", mod(a.tuple(0), a.tuple(1))),
    ROW("mul", "(tuple, tuple)", mul(a.tuple(0), a.tuple(1))),
    ROW("nullspace", "(layout)", nullspace(a.layout(0))),
    ROW("prepend", "(layout, [rank,] mode)", append_or_prepend(a, true)),
    ROW("product", "(tuple)", product(a.tuple(0))),
    ROW("product_each", "(tuple)", product_each(a.tuple(0))),
    ROW("product_like", "(tuple, guide)", product_like(a.tuple(0), a.tuple(1))),
    ROW("raked_product", "(layout, tiler)", mapped(a[0], [&](const Layout& l) { return raked_product(l, a.layout(1)); })),
    ROW("rank", "(layout or tuple)", a[0].get<List>() ? Int(a.tuple(0).rank()) : Int(domain_of(a[0]).rank())),
    ROW("recast_layout", "(layout, old bits, new bits)", recast_of(a[0], a.integer(1), a.integer(2))),
    ROW("replace", "(layout, mode, layout)", replace(a.layout(0), a.index(1), a.layout(2))),
    ROW("right_inverse", "(layout)",
        a[0].get<ComposedLayout>() ? plain_or_composed(right_inverse(a[0].as_composed())) : Value(right_inverse(a.layout(0)))),
    ROW("round_up", "(tuple, tuple)", round_up(a.tuple(0), a.tuple(1))),
    ROW("select", "(layout, modes)", mapped(a[0], [&](const Layout& l) { return select(l, a.indices(1)); })),
    ROW("shape", "(layout)", domain_of(a[0]).shape()),
    ROW("shape_div", "(tuple, tuple)", shape_div(a.tuple(0), a.tuple(1))),
    ROW("size", "(layout or tuple)", a[0].get<List>() || a[0].get<Int>() ? size(a.tuple(0)) : domain_of(a[0]).size()),
    ROW("slice", "(coord, layout)",
        a[1].get<NestedLayout>()     ? Value(slice(a[0].as_coordinate(), *a[1].get<NestedLayout>()))
        : a[1].get<ComposedLayout>() ? Value(slice(a[0].as_coordinate(), a[1].as_composed()))
                                   : Value(slice(a[0].as_coordinate(), a.layout(1)))),
    ROW("slice_and_offset", "(coord, layout)", pair(slice_and_offset(a[0].as_coordinate(), a.layout(1)))),
    ROW("stride", "(layout)", strides_of(a.layout(0))),
    ROW("sub", "(tuple, tuple)", sub(a.tuple(0), a.tuple(1))),
    ROW("sum", "(tuple)", sum(a.tuple(0))),
    ROW("swizzle", "(swizzle, offset or offsets)",
        [&]() -> Value {
          const Swizzle s = a[0].as_swizzle();
          const IntTuple offsets = a.tuple(1);
          if (offsets.is_leaf()) return s(offsets.leaf());
          List out;
          for (const Int x : offsets.leaves()) out.push_back(s(x));
          return out;
        }()),
    ROW("swizzle_compose", "(swizzle, swizzle)", composition(a[0].as_swizzle(), a[1].as_swizzle())),
    ROW("swizzle_downcast", "(swizzle, n)", downcast(a[0].as_swizzle(), a.integer(1))),
    ROW("swizzle_upcast", "(swizzle, n)", upcast(a[0].as_swizzle(), a.integer(1))),
    ROW("take", "(layout, begin, end)", mapped(a[0], [&](const Layout& l) { return take(l, a.index(1), a.index(2)); })),
    ROW("tile_to_shape", "(block, trg_shape [, ord_shape])",
        mapped(a[0],
               [&](const Layout& l) {
                 return a.size() > 2 ? tile_to_shape(l, a.tuple(1), a.tuple(2)) : tile_to_shape(l, a.tuple(1));
               })),
    ROW("tiled_copy_partition", "(copy_atom, thr_layout, val_layout, tensor, thr_idx)",
        part_of_tensor(a[3], [&](const Layout& l) { return partition(value_copy(a), Side::source, l, a.integer(4)); })),
    ROW("tiled_copy_retile", "(copy_atom, thr_layout, val_layout, fragment)", retile(value_copy(a), a.layout(3))),
    ROW("tiled_copy_tidfrg", "(copy_atom, thr_layout, val_layout, tensor)", mapped(a[3], [&](const Layout& l) { return tidfrg(value_copy(a), Side::source, l); })),
    LAYOUT_TILE(tiled_divide),
    ROW("tiled_mma", "(mma_atom, atom_layout_mnk, permutation_mnk)",
        [&]() -> Value {
          const TiledMma m = tiled_mma(a);
          return Record{{"thr_layout_vmnk", m.thr_layout_vmnk},
                        {"tile_mnk", tile_mnk(m)},
                        {"A_TV", layout_tv(m, Operand::a)},
                        {"B_TV", layout_tv(m, Operand::b)},
                        {"C_TV", layout_tv(m, Operand::c)}};
        }()),
    ROW("tiled_mma_partition_A", "(mma_atom, atom_layout_mnk, permutation_mnk, tensor, thr_idx)",
        part_of_tensor(a[3], [&](const Layout& l) { return partition(tiled_mma(a), Operand::a, l, a.integer(4)); })),
    ROW("tiled_mma_partition_B", "(mma_atom, atom_layout_mnk, permutation_mnk, tensor, thr_idx)",
        part_of_tensor(a[3], [&](const Layout& l) { return partition(tiled_mma(a), Operand::b, l, a.integer(4)); })),
    ROW("tiled_mma_partition_C", "(mma_atom, atom_layout_mnk, permutation_mnk, tensor, thr_idx)",
        part_of_tensor(a[3], [&](const Layout& l) { return partition(tiled_mma(a), Operand::c, l, a.integer(4)); })),
    ROW("tiled_mma_partition_shape_A", "(mma_atom, atom_layout_mnk, permutation_mnk, shape)",
        partition_shape(tiled_mma(a), Operand::a, a.tuple(3))),
    ROW("tiled_mma_partition_shape_B", "(mma_atom, atom_layout_mnk, permutation_mnk, shape)",
        partition_shape(tiled_mma(a), Operand::b, a.tuple(3))),
    ROW("tiled_mma_partition_shape_C", "(mma_atom, atom_layout_mnk, permutation_mnk, shape)",
        partition_shape(tiled_mma(a), Operand::c, a.tuple(3))),
    ROW("tiled_mma_thrfrg_A", "(mma_atom, atom_layout_mnk, permutation_mnk, tensor)", mapped(a[3], [&](const Layout& l) { return thrfrg(tiled_mma(a), Operand::a, l); })),
    ROW("tiled_mma_thrfrg_B", "(mma_atom, atom_layout_mnk, permutation_mnk, tensor)", mapped(a[3], [&](const Layout& l) { return thrfrg(tiled_mma(a), Operand::b, l); })),
    ROW("tiled_mma_thrfrg_C", "(mma_atom, atom_layout_mnk, permutation_mnk, tensor)", mapped(a[3], [&](const Layout& l) { return thrfrg(tiled_mma(a), Operand::c, l); })),
    LAYOUT_TILE(tiled_product),
    ROW("tv_partition", "(tiler, layout_tv, tensor, thr_idx)",
        part_of_tensor(a[2], [&](const Layout& l) { return partition(tv_copy(a), Side::source, l, a.integer(3)); })),
    ROW("tv_tidfrg", "(tiler, layout_tv, tensor)", mapped(a[2], [&](const Layout& l) { return tidfrg(tv_copy(a), Side::source, l); })),
    ROW("unflatten", "(layout, profile)", unflatten(a.layout(0), a.tuple(1))),
    ROW("upcast", "(layout, n)",
        a[0].get<ComposedLayout>() ? Value(upcast(a[0].as_composed(), a.integer(1))) : Value(upcast(a.layout(0), a.integer(1)))),
    ROW("weakly_congruent", "(shape, shape)", weakly_congruent(a.tuple(0), a.tuple(1))),
    ROW("zip", "(layout)", zip(a.layout(0))),
    LAYOUT_TILE(zipped_divide),
    LAYOUT_TILE(zipped_product),
});
#undef ROW
#undef LAYOUT_TILE
#undef COMPOSED_TILE
#undef IDENTITY_TILE

} // namespace

std::span<const NamedOperation> named_operations() { return table; }

Value apply_operation(std::string_view name, std::span<const Value> arguments) {
  for (const NamedOperation& op : table)
    if (name == op.name) {
      try {
        return op.apply(arguments);
      } catch (const LayoutError& e) {
        if (e.code() != "argument") throw;
        ErrorFields f = e.fields(); // say which operation wanted what
        f.operation = op.name;
        f.hint = std::string(op.name) + op.signature;
        throw LayoutError(std::move(f));
      }
    }
  const NamedOperation* nearest = &table[0];
  const std::string_view shown = name.substr(0, 64);
  for (const NamedOperation& op : table)
    if (edit_distance(shown, op.name) < edit_distance(shown, nearest->name)) nearest = &op;
  throw LayoutError({"unknown_operation",
                     "expression",
                     "there is no operation '" + std::string(shown) + "'",
                     {},
                     "",
                     {},
                     std::string("the nearest name is ") + nearest->name + nearest->signature});
}

Value value_of(const Value& function, const Value& coordinate) {
  const IntTuple c = coordinate.as_tuple();
  if (const CoordSwizzle* s = function.get<CoordSwizzle>()) return (*s)(c);
  if (const Swizzle* s = function.get<Swizzle>(); s && c.is_leaf()) return (*s)(c.leaf());
  if (const NestedLayout* n = function.get<NestedLayout>()) return (*n)(c);
  const auto f = as_function(function);
  if (!f)
    throw LayoutError({"argument",
                       "expression",
                       "the value is not a function",
                       {{"found", to_string(function)}},
                       "",
                       {},
                       ""});
  if (f->inner().has_basis_strides()) return value_at(f->inner(), c);
  return (*f)(c);
}

namespace {

using detail::TextReader;

class ExpressionReader {
public:
  ExpressionReader(TextReader& in, const NameLookup& names) : in_(in), names_(names) {}

  Value expression() {
    if (++depth_ > 64) detail::throw_limit("nesting of an expression", depth_, 64);
    Value v = primary();
    if (in_.peek() == ':') v = detail::read_strides(in_, v.as_tuple(), 0);
    if (at_composition()) v = composed(v);
    --depth_;
    return v;
  }

private:
  // ` o ` composes; a name that merely starts with o does not.
  bool at_composition() {
    if (in_.peek() != 'o') return false;
    const char next = in_.peek_at(1);
    return next == ' ' || next == '(' || next == '-' || (next >= '0' && next <= '9');
  }
  Value composed(const Value& outer) {
    in_.expect('o');
    const IntTuple offset = primary().as_tuple();
    in_.expect('o');
    const bool bracket = in_.accept('['); // as FlyDSL prints a composed layout inside another
    const Value inner = expression();
    if (bracket) in_.expect(']');
    return nested(outer, offset, inner);
  }
  Value primary() {
    if (in_.at_number() || in_.peek() == '-') return braced(in_.signed_number()); // _64{}
    if (in_.accept('(')) return list(')');
    if (in_.accept('<')) return list('>');
    if (in_.peek() == '#' || in_.peek() == '!') return detail::read_triton_layout(in_);
    const std::size_t start = (void(in_.peek()), in_.position());
    if (!in_.at_name()) in_.fail("a number, a tuple, a layout or an operation");
    const std::string_view name = in_.name();
    if (name == "_") return {};
    if (in_.peek_at(0) == '<') {
      if (name == "Sw" || name == "S" || name == "Swizzle") return braced(swizzle());
      if (name == "tensor") {
        in_.rewind(start);
        return detail::read_triton_layout(in_);
      }
      if (name == "group_modes" || name == "take" || name == "get" || name == "select") return of_modes(name);
      if (name != "CS")
        if (const auto v = cute_type(name)) return braced(*v);
    }
    if (name == "CS") return detail::read_coord_swizzle(in_);
    if (name == "LayoutLeft" || name == "LayoutRight") return braced(std::string(name));
    if (name == "A" || name == "B" || name == "C")
      if (in_.peek() != '(') return std::string(name);
    if (in_.peek() != '(' && names_)
      if (auto v = names_(name)) return std::move(*v);
    if (!in_.accept('('))
      in_.fail_at(start,
                  "'" + std::string(name.substr(0, 64)) +
                      "' is not a value: symbols belong to `prove`, and an operation has its arguments in "
                      "parentheses");
    Value arguments = list(')');
    for (const char* tuple : {"make_shape", "make_stride", "make_coord", "make_tile", "make_tuple"})
      if (name == tuple) return arguments;
    return apply_operation(name, *arguments.get<List>());
  }
  Value list(char close) {
    List entries;
    if (!in_.accept(close)) {
      do {
        entries.push_back(expression());
        if (entries.size() > max_leaves) detail::throw_limit("number of entries", entries.size(), max_leaves);
      } while (in_.accept(','));
      in_.expect(close);
    }
    return entries;
  }
  // Shape<_8,_64>, Int<64>, Layout<Shape<..>,Stride<..>>: CuTe's types, which are their own values.
  std::optional<Value> cute_type(std::string_view name) {
    if (name == "Int" || name == "C") {
      in_.expect('<');
      const Int n = in_.signed_number();
      in_.expect('>');
      return Value(n);
    }
    if (name == "Copy_Atom") return copy_atom();
    if (name != "Shape" && name != "Stride" && name != "Step" && name != "Coord" && name != "Tile" &&
        name != "Layout")
      return std::nullopt;
    in_.expect('<');
    Value parts = list('>');
    if (name != "Layout") return parts;
    const List& l = *parts.get<List>();
    if (l.empty() || l.size() > 2) in_.fail("a shape and a stride");
    return l.size() == 1 ? Layout::col_major(l[0].as_tuple())
                         : Layout::from(l[0].as_tuple(), l[1].as_tuple());
  }
  // Copy_Atom<UniversalCopy<uint128_t>, half_t>: how many elements one copy moves; how it does changes no layout.
  Value copy_atom() {
    in_.expect('<');
    void(in_.name());
    in_.expect('<');
    const Int moved = type_bits();
    in_.expect('>');
    in_.expect(',');
    const Int element = type_bits();
    in_.expect('>');
    if (floor_div(moved, element) * element != moved) in_.fail("a type that divides the one that is copied");
    return Value(floor_div(moved, element));
  }
  Int type_bits() {
    static const std::map<std::string_view, int> bits = {
        {"uint128_t", 128},  {"uint64_t", 64},   {"int64_t", 64},    {"double", 64},     {"uint32_t", 32},
        {"int32_t", 32},     {"int", 32},        {"float", 32},      {"tfloat32_t", 32}, {"uint16_t", 16},
        {"int16_t", 16},     {"half_t", 16},     {"bfloat16_t", 16}, {"uint8_t", 8},     {"int8_t", 8},
        {"float_e4m3_t", 8}, {"float_e5m2_t", 8}};
    if (in_.at_name())
      if (const auto found = bits.find(in_.name()); found != bits.end()) return Int(found->second);
    in_.fail("a type, as uint128_t, half_t, float");
  }
  // group_modes<0,2>(layout), get<0,1>(layout): CuTe's way to name modes.
  Value of_modes(std::string_view name) {
    in_.expect('<');
    const Value modes = list('>');
    in_.expect('(');
    Value arguments = list(')');
    List all = *arguments.get<List>();
    if (name == "get" || name == "select")
      all.push_back(modes);
    else
      for (const Value& m : *modes.get<List>()) all.push_back(m);
    return apply_operation(name == "group_modes" ? "group" : name, all);
  }
  Value braced(Value v) { // Swizzle<3,4,3>{}
    if (in_.accept('{')) in_.expect('}');
    return v;
  }
  Value swizzle() {
    in_.expect('<');
    const Value fields = list('>');
    return fields.as_swizzle();
  }
  TextReader& in_;
  const NameLookup& names_;
  std::size_t depth_ = 0;
};

} // namespace

Value evaluate_expression(std::string_view text, const NameLookup& names) {
  TextReader in(text, "expression");
  Value v = ExpressionReader(in, names).expression();
  in.finish();
  return v;
}

} // namespace inlay
