// Thread-value layouts: divides and compositions, written once for plain and symbolic tensors.
#include <inlay/algebra/bodies/operation.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/ops/thread_value.h>
#include <inlay/algebra/ops/tuple.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/symbolic.h>

namespace inlay {
namespace {

// The concrete pieces of an atom in the domain of the tensor.
const Layout& in_domain(const Layout& l, Int) { return l; }
SymLayout in_domain(const Layout& l, Sym) { return symbolic(l); }
const Tile& in_domain(const Tile& t, Int) { return t; }
SymTile in_domain(const Tile& t, Sym) { return symbolic(t); }

Coordinate free_leaf() { return Coordinate(CoordinateLeaf{0, true}); }
Coordinate fixed(Int i) { return Coordinate(CoordinateLeaf{i, false}); }
// `_` for every mode; a single one stands for the whole, which keeps its parentheses.
Coordinate all_free(std::size_t rank) {
  if (rank == 1) return free_leaf();
  std::vector<Coordinate> modes(rank, free_leaf());
  return Coordinate::of(modes);
}

template <class S>
BasicLayout<S> with_shape(const Layout& l, const IntTuple& shape, S domain) {
  return in_domain(composition(l, Layout::col_major(shape)), domain);
}

// Mode 0 composed with a layout (or tile), the others as they are.
template <class S>
BasicLayout<S> compose_first(const BasicLayout<S>& l, const BasicTile<S>& first) {
  std::vector<BasicTile<S>> entries{first};
  for (std::size_t i = 1; i < l.rank(); ++i) entries.push_back(BasicTile<S>::keep());
  return composition(l, BasicTile<S>::by_mode(entries));
}

[[noreturn]] void refuse_thread(const char* operation, Int thread, Int count) {
  throw LayoutError({"partition",
                     operation,
                     "there is no such thread",
                     {},
                     "thread " + to_string(thread) + " of " + to_string(count),
                     {{"thread", to_string(thread)}, {"threads", to_string(count)}},
                     ""});
}

const Layout& side_of(const CopyAtom& atom, Side side) {
  return side == Side::source ? atom.source : atom.destination;
}

// ((tile), rest) -> (thread, (atom values, atoms), rest), see the head of thread_value.h.
template <class S>
BasicLayout<S> tile_to_threads(const TiledCopy& copy, Side side, const BasicLayout<S>& zipped) {
  const Layout to_side = composition(right_inverse(copy.atom.reference), side_of(copy.atom, side));
  const Int atom_threads = copy.atom.reference.mode(0).size();
  const Int atom_values = copy.atom.reference.mode(1).size();
  if (copy.layout_tv.rank() != 2 || floor_mod(copy.layout_tv.mode(0).size(), atom_threads) != 0 ||
      floor_mod(copy.layout_tv.mode(1).size(), atom_values) != 0)
    Operation("partition")
        .with("tiled", copy.layout_tv)
        .with("atom", copy.atom.reference)
        .fail("partition", "threads and values of the atom do not divide those of the tiled copy");
  const Layout atoms = zipped_divide(copy.layout_tv, Tile::shape(IntTuple::of({atom_threads, atom_values})));
  const Layout seen = compose_first<Int>(atoms, Tile(to_side)); // ((thr, val), (rest thr, rest val))
  const Layout tv = coalesce(zip(seen), parse_int_tuple("(1,(1,1))"));
  const BasicLayout<S> composed = compose_first<S>(zipped, BasicTile<S>(in_domain(tv, S(0))));
  return slice(Coordinate::of({Coordinate::of({free_leaf(), free_leaf()}), free_leaf()}), composed);
}

template <class S>
BasicLayout<S> tidfrg_body(const TiledCopy& copy, Side side, const BasicLayout<S>& x) {
  return tile_to_threads<S>(copy, side, zipped_divide(x, in_domain(copy.tiler, S(0))));
}

template <class S>
Sliced<BasicLayout<S>, S> partition_body(const TiledCopy& copy, Side side, const BasicLayout<S>& x,
                                         Int thread) {
  const BasicLayout<S> all = tidfrg_body<S>(copy, side, x);
  const Int threads = layout_tv(copy, side).mode(0).size();
  if (thread < 0 || thread >= threads) refuse_thread("partition", thread, threads);
  return slice_and_offset(Coordinate::of({fixed(thread), free_leaf(), all_free(x.rank())}), all);
}

} // namespace

CopyAtom CopyAtom::universal(Int n) {
  const Layout l = Layout::from(IntTuple::of({Int(1), n}), IntTuple::of({Int(0), n == 1 ? Int(0) : Int(1)}));
  return {l, l, l};
}

TiledCopy make_tiled_copy(const CopyAtom& atom, const Layout& thr, const Layout& val) {
  const Layout mn = raked_product(thr, val);
  const Layout tv = composition(right_inverse(mn), Layout::col_major(IntTuple::of({thr.size(), val.size()})));
  return {atom, tv, Tile::shape(product_each(mn.shape()))};
}

TiledCopy make_cotiled_copy(const CopyAtom& atom, const Layout& atom_tv, const Layout& data) {
  const Operation op = Operation("make_cotiled_copy").with("addresses", atom_tv).with("data", data);
  // Address -> coordinate of the data; addresses off its end fall on the stride 0 of the appended mode.
  const Layout parts[] = {left_inverse(data), Layout()};
  const Layout tv_data = composition(concatenate(parts), atom_tv);
  for (Int i = 0; i < atom_tv.size(); i += 1)
    if (data(tv_data(i)) != atom_tv(i))
      op.fail("partition", "an address lies outside the data",
              "address " + to_string(atom_tv(i)) + " of index " + to_string(i));
  const IntTuple flat = product_each(data.shape());
  std::vector<Tile> tiler;
  for (std::size_t mode = 0; mode < flat.rank(); ++mode) {
    std::vector<IntTuple> strides(flat.rank(), IntTuple(Int(0)));
    strides[mode] = Int(1);
    tiler.push_back(Tile(filter(composition(Layout::from(flat, IntTuple::of(strides)), tv_data))));
  }
  const Tile by_mode = Tile::by_mode(tiler);
  const Layout tile_data = composition(Layout::col_major(flat), by_mode);
  return {atom, composition(left_inverse(tile_data), tv_data), by_mode};
}

Layout tidfrg(const TiledCopy& c, Side side, const Layout& x) { return tidfrg_body<Int>(c, side, x); }
SymLayout tidfrg(const TiledCopy& c, Side side, const SymLayout& x) { return tidfrg_body<Sym>(c, side, x); }
Sliced<Layout, Int> partition(const TiledCopy& c, Side side, const Layout& x, Int thread) {
  return partition_body<Int>(c, side, x, thread);
}
Sliced<SymLayout, Sym> partition(const TiledCopy& c, Side side, const SymLayout& x, Int thread) {
  return partition_body<Sym>(c, side, x, thread);
}
Sliced<SymLayout, Sym> partition(const TiledCopy& c, Side side, const SymLayout& x, Sym thread) {
  const SymLayout all = tidfrg_body<Sym>(c, side, x);
  const auto [rest, zero] =
      slice_and_offset(Coordinate::of({fixed(0), free_leaf(), all_free(x.rank())}), all);
  return {rest, zero + all.mode(0)(thread)};
}

Layout layout_tv(const TiledCopy& copy, Side side) {
  // The identity of the tile: its column-major index as value, one rest tile.
  SmallVector<IntTuple, 4> shapes;
  for (LayoutView<Int> part : copy.tiler.parts()) shapes.push_back(Layout(part).shape());
  const Layout reference = Layout::col_major(IntTuple::of({IntTuple::of(shapes.span()), Int(1)}));
  const Layout all = tile_to_threads<Int>(copy, side, reference);
  return slice(Coordinate::of({free_leaf(), free_leaf(), fixed(0)}), all);
}

namespace {
// The layout in units of n, where modes that stay inside one unit vanish: unlike upcast, which refuses to round.
Layout per_unit(const Layout& l, Int n) {
  LayoutBuilder<Int> out;
  out.profile(l.profile().view());
  for (const Mode& m : l.modes()) {
    const Int d = m.stride.scale;
    out.leaves().push_back(d == 0 ? m : Mode{ceil_div(m.extent, ceil_div(n, d)), Stride(ceil_div(d, n))});
  }
  return Layout::from_modes(std::move(out).finish());
}
} // namespace

Layout retile(const TiledCopy& copy, const Layout& fragment) {
  const Int v = fragment.mode(0).size();
  const Int threads = copy.layout_tv.mode(0).size();
  SmallVector<IntTuple, 4> shapes;
  for (LayoutView<Int> part : copy.tiler.parts()) shapes.push_back(Layout(part).shape());
  const Layout by_tile = with_shape<Int>(right_inverse(copy.layout_tv), IntTuple::of(shapes.span()), 0);
  const Layout mn = per_unit(by_tile, threads * v); // (m, n) -> number of the fragment's vector
  const Layout order = zipped_divide(logical_product(Layout::col_major(IntTuple(v)), Tile(right_inverse(mn))),
                                     Tile(Layout::col_major(IntTuple(copy.atom.reference.mode(1).size()))));
  const IntTuple tile = prepend(product_each(mn.shape()), IntTuple(v));
  const Layout tiled = zipped_divide(fragment, Tile::shape(tile)); // ((v, m, n), (1, rest m, rest n, ...))
  const Layout seen = compose_first<Int>(tiled, Tile(order));
  std::vector<Coordinate> rest(fragment.rank(), free_leaf());
  rest[0] = fixed(0);
  return slice(Coordinate::of({free_leaf(), Coordinate::of(rest)}), seen);
}

namespace {

struct Modes2 { // which of M, N, K an operand has
  std::size_t first;
  std::size_t second;
};
Modes2 modes_of(Operand o) {
  return o == Operand::a ? Modes2{0, 2} : o == Operand::b ? Modes2{1, 2} : Modes2{0, 1};
}
const Layout& atom_tv(const MmaAtom& atom, Operand o) {
  return o == Operand::a ? atom.a : o == Operand::b ? atom.b : atom.c;
}

Int tile_size(const Tile& t) {
  Int n = 1;
  for (const Mode& m : t.parts().leaves()) n *= m.extent;
  return n;
}

template <class S>
BasicLayout<S> thrfrg_body(const TiledMma& mma, Operand operand, const BasicLayout<S>& x) {
  const auto [m, n] = modes_of(operand);
  const auto tile = [](const Tile& t) { return in_domain(t, S(0)); };
  const auto line = [](Int extent) { return Tile(Layout::col_major(IntTuple(extent))); };
  const auto permuted =
      logical_divide(x, BasicTile<S>::by_mode({tile(mma.permutation[m]), tile(mma.permutation[n])}));
  const IntTuple& atom = mma.atom.shape_mnk;
  const auto atoms =
      zipped_divide(permuted, tile(Tile::by_mode({line(atom.leaves()[m]), line(atom.leaves()[n])})));
  const auto tv = compose_first<S>(atoms, BasicTile<S>(in_domain(atom_tv(mma.atom, operand), S(0))));
  const Layout& thr = mma.thr_layout_vmnk;
  const Tile threads = Tile::by_mode(
      {Tile::keep(), Tile::by_mode({line(thr.mode(m + 1).size()), line(thr.mode(n + 1).size())})});
  return zipped_divide(tv, tile(threads)); // ((ThrV,(ThrM,ThrN)), (FrgV,(RestM,RestN,...)))
}

Coordinate thread_coordinate(const TiledMma& mma, Operand operand, Int thread) {
  const Int count = mma.thr_layout_vmnk.cosize();
  if (thread < 0 || thread >= count) refuse_thread("partition", thread, count);
  const auto [m, n] = modes_of(operand);
  const IntTuple vmnk = get_flat_coord(mma.thr_layout_vmnk, IntTuple(thread));
  return Coordinate::of(
      {fixed(vmnk.leaves()[0]), Coordinate::of({fixed(vmnk.leaves()[m + 1]), fixed(vmnk.leaves()[n + 1])})});
}

template <class S>
Sliced<BasicLayout<S>, S> partition_mma(const TiledMma& mma, Operand operand, const BasicLayout<S>& x,
                                        Int thread) {
  const BasicLayout<S> all = thrfrg_body<S>(mma, operand, x);
  const std::size_t rest = all.view()[1][1].rank();
  return slice_and_offset(Coordinate::of({thread_coordinate(mma, operand, thread),
                                          Coordinate::of({free_leaf(), all_free(rest)})}),
                          all);
}

} // namespace

TiledMma make_tiled_mma(const MmaAtom& atom, const Layout& atom_layout_mnk, const Tile& permutation_mnk) {
  const Operation op =
      Operation("make_tiled_mma").with("atom layout", atom_layout_mnk).with("permutation", permutation_mnk);
  if (atom.shape_mnk.is_leaf() || atom.shape_mnk.leaves().size() != 3 || atom.shape_mnk.rank() != 3)
    op.fail("rank", "the shape of an atom is (M,N,K)");
  if (atom_layout_mnk.rank() > 3 || permutation_mnk.rank() > 3 || permutation_mnk.is_single() ||
      permutation_mnk.kinds().leaves().size() != permutation_mnk.rank())
    op.fail("rank", "an atom layout and a permutation have at most three modes, one each for M, N and K");
  const Layout mnk = append(atom_layout_mnk, 3, Layout());
  TiledMma mma{atom, tiled_product(atom.thread_id, Tile(mnk)), {}};
  auto part = permutation_mnk.parts().begin();
  for (std::size_t i = 0; i < 3; ++i) {
    const bool given = i < permutation_mnk.rank() && permutation_mnk.kinds().leaves()[i] != TileKind::keep;
    const Int natural = atom.shape_mnk.leaves()[i] * mma.thr_layout_vmnk.mode(i + 1).size();
    mma.permutation[i] = !given ? Tile(natural)
                         : permutation_mnk.kinds().leaves()[i] == TileKind::extent
                             ? Tile((*part).leaf().extent)
                             : Tile(Layout(*part));
    if (i < permutation_mnk.rank()) ++part;
  }
  return mma;
}

IntTuple tile_mnk(const TiledMma& mma) {
  return IntTuple::of(
      {tile_size(mma.permutation[0]), tile_size(mma.permutation[1]), tile_size(mma.permutation[2])});
}

Layout thrfrg(const TiledMma& mma, Operand o, const Layout& x) { return thrfrg_body<Int>(mma, o, x); }
SymLayout thrfrg(const TiledMma& mma, Operand o, const SymLayout& x) { return thrfrg_body<Sym>(mma, o, x); }
Sliced<Layout, Int> partition(const TiledMma& mma, Operand o, const Layout& x, Int thread) {
  return partition_mma<Int>(mma, o, x, thread);
}
Sliced<SymLayout, Sym> partition(const TiledMma& mma, Operand o, const SymLayout& x, Int thread) {
  return partition_mma<Sym>(mma, o, x, thread);
}

Layout layout_tv(const TiledMma& mma, Operand operand) {
  const auto [m, n] = modes_of(operand);
  const IntTuple tile = tile_mnk(mma);
  Layout l = thrfrg(mma, operand, Layout::col_major(IntTuple::of({tile.leaves()[m], tile.leaves()[n]})));
  const Layout& thr = mma.thr_layout_vmnk;
  const Int count_m = thr.mode(1).size();
  const Int count_n = thr.mode(2).size();
  if (operand != Operand::c) { // broadcast over the threads of the mode that the operand does not have
    const IntTuple mn = IntTuple::of({count_m, count_n});
    const IntTuple strides =
        operand == Operand::a ? IntTuple::of({Int(1), Int(0)}) : IntTuple::of({Int(0), Int(1)});
    const Tile spread =
        Tile::by_mode({Tile::keep(), Tile::by_mode({Tile(Layout::from(mn, strides)), Tile::keep()})});
    l = compose_first<Int>(l, spread);
  }
  // Thread number -> index in (ThrV, ThrM, ThrN, ThrK).
  const Layout parts[] = {thr, complement(thr)};
  const Layout number =
      composition(Layout::from(IntTuple::of({thr.size(), Int(1)}), IntTuple::of({Int(1), Int(0)})),
                  right_inverse(concatenate(parts)));
  return compose_first<Int>(l, Tile(number));
}

IntTuple partition_shape(const TiledMma& mma, Operand operand, const IntTuple& shape) {
  return partition(mma, operand, Layout::col_major(shape), 0).layout.shape();
}

TiledCopy make_tiled_copy(const CopyAtom& atom, const TiledMma& mma, Operand operand) {
  const auto [m, n] = modes_of(operand);
  const IntTuple tile = tile_mnk(mma);
  return {atom, layout_tv(mma, operand), Tile::shape(IntTuple::of({tile.leaves()[m], tile.leaves()[n]}))};
}

namespace {
template <class S>
Sliced<BasicLayout<S>, S> local_tile_body(const BasicLayout<S>& x, const BasicTile<S>& tiler,
                                          const Coordinate& c) {
  const BasicLayout<S> z = zipped_divide(x, tiler);
  Coordinate tile = c;
  if (!c.is_leaf()) { // missing modes are kept
    const std::size_t rest = z.view()[1].rank();
    while (tile.rank() < rest) {
      SmallVector<Coordinate, 4> longer;
      for (std::size_t i = 0; i < tile.rank(); ++i) longer.push_back(tile[i]);
      longer.push_back(free_leaf());
      tile = Coordinate::of(longer.span());
    }
  }
  return slice_and_offset(Coordinate::of({all_free(z.view()[0].rank()), tile}), z);
}
} // namespace

Sliced<Layout, Int> local_tile(const Layout& x, const Tile& tiler, const Coordinate& c) {
  return local_tile_body<Int>(x, tiler, c);
}
Sliced<SymLayout, Sym> local_tile(const SymLayout& x, const SymTile& tiler, const Coordinate& c) {
  return local_tile_body<Sym>(x, tiler, c);
}

Sliced<Layout, Int> local_partition(const Layout& x, const Layout& threads, Int index) {
  const Layout z = zipped_divide(x, Tile::shape(product_each(threads.shape())));
  const IntTuple c = get_flat_coord(threads, IntTuple(index));
  return slice_and_offset(
      Coordinate::of({to_coordinate(c.is_leaf() ? IntTuple::of({c}) : c), all_free(z.view()[1].rank())}), z);
}

} // namespace inlay
