// Thread-value layouts by the definition: who owns which element of a tile.
#include <catch2/catch.hpp>

#include <inlay/algebra/ops/thread_value.h>
#include <inlay/algebra/ops/tuple.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/symbolic.h>

#include <map>
#include <set>

namespace thread_value_test {

using namespace inlay;
using namespace inlay::literals;

namespace {

// The 16x16x16 matrix instruction of CDNA with 64 lanes and four values each: AMD's matrix instruction calculator says
// A: i = lane % 16, k = 4 * (lane / 16) + v; D: j = lane % 16, i = 4 * (lane / 16) + v.
MmaAtom mfma_16x16x16() {
  return {"(16,16,16)"_tuple, "64:1"_layout, "((16,4),4):((1,64),16)"_layout, "((16,4),4):((1,64),16)"_layout,
          "((16,4),4):((16,4),1)"_layout};
}

std::vector<Int> values(const Sliced<Layout, Int>& part) {
  std::vector<Int> v;
  for (Int i = 0; i < part.layout.size(); i += 1) v.push_back(part.layout(i) + part.offset);
  return v;
}

} // namespace

TEST_CASE("a tiled copy deals every element of the tensor out once") {
  struct Case {
    const char* thr;
    const char* val;
    int vector;
    const char* tensor;
  };
  for (const Case& c :
       {Case{"(8,4):(4,1)", "(1,8):(0,1)", 8, "(16,64):(64,1)"},
        Case{"(4,8):(1,4)", "(2,2):(1,2)", 2, "(16,32):(1,16)"}, Case{"32:1", "4:1", 4, "(256,3):(1,256)"},
        Case{"(16,2):(1,16)", "(2,2):(2,1)", 1, "(64,12):(12,1)"}}) {
    const TiledCopy copy =
        make_tiled_copy(CopyAtom::universal(c.vector), parse_layout(c.thr), parse_layout(c.val));
    const Layout x = parse_layout(c.tensor);
    std::multiset<Int> seen;
    const Int threads = copy.layout_tv.mode(0).size();
    const Layout all = tidfrg(copy, Side::source, x);
    for (Int t = 0; t < threads; t += 1) {
      const auto part = partition(copy, Side::source, x, t);
      const std::vector<Int> mine = values(part);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        seen.insert(mine[i]);
        CHECK(mine[i] == all(t + threads * Int(i))); // the slice is the thread's column of the whole
      }
      // A vector of the atom is contiguous in the tile of values it came from.
      CHECK(part.layout.mode(0).size() == parse_layout(c.val).size());
    }
    CHECK(Int(seen.size()) == x.size());
    CHECK(std::set<Int>(seen.begin(), seen.end()).size() == seen.size());
    CHECK_THROWS_AS(partition(copy, Side::source, x, threads), LayoutError);
    CHECK_THROWS_AS(partition(copy, Side::source, x, -1), LayoutError);
  }
  // 8 values of an atom do not divide 4 values of a thread.
  CHECK_THROWS_AS(
      layout_tv(make_tiled_copy(CopyAtom::universal(8), "32:1"_layout, "4:1"_layout), Side::source),
      LayoutError);
}

TEST_CASE("a tiled MMA deals operands out by its instruction") {
  for (const char* atoms : {"(1,1,1):(0,0,0)", "(2,2,1):(1,2,0)", "(2,1,2):(1,0,2)", "(1,4,1):(0,1,0)"}) {
    const TiledMma mma = make_tiled_mma(mfma_16x16x16(), parse_layout(atoms),
                                        Tile::by_mode({Tile::keep(), Tile::keep(), Tile(Int(32))}));
    const IntTuple mnk = tile_mnk(mma);
    const Int m = mnk.leaves()[0], n = mnk.leaves()[1], k = mnk.leaves()[2];
    const Int threads = mma.thr_layout_vmnk.size();
    const auto operand = [&](Operand o) {
      return o == Operand::a   ? IntTuple::of({m, k})
             : o == Operand::b ? IntTuple::of({n, k})
                               : IntTuple::of({m, n});
    };
    for (const Operand o : {Operand::a, Operand::b, Operand::c}) {
      const Layout x = Layout::col_major(operand(o));
      const Layout tv = layout_tv(mma, o);
      std::map<Int, int> times;
      for (Int t = 0; t < threads; t += 1) {
        const auto part = partition(mma, o, x, t);
        const std::vector<Int> mine = values(part);
        for (std::size_t i = 0; i < mine.size(); ++i) {
          ++times[mine[i]];
          CHECK(tv(IntTuple::of({t, Int(i)})) ==
                mine[i]); // the tile is one tile: same elements in the same order
        }
        // The instruction's own rule inside a lane: row of the first value.
        const Int lane = get_flat_coord(mma.thr_layout_vmnk, IntTuple(t)).leaves()[0];
        const Int row = floor_mod(mine[0], o == Operand::b ? n : m);
        if (std::string(atoms) == "(1,1,1):(0,0,0)")
          CHECK(row == (o == Operand::c ? 4 * floor_div(lane, 16) : floor_mod(lane, 16)));
        CHECK(part.layout.shape() == partition_shape(mma, o, operand(o)));
      }
      CHECK(Int(times.size()) == x.size());
      // Every element equally often: operands are broadcast to the waves that share them.
      for (const auto& [element, count] : times) CHECK(count == times.begin()->second);
    }
  }
}

TEST_CASE("a copy for an MMA operand and retile agree with the MMA's own partition") {
  const TiledMma mma = make_tiled_mma(mfma_16x16x16(), "(2,2,1):(1,2,0)"_layout,
                                      Tile::by_mode({Tile(Int(64)), Tile(Int(32)), Tile::keep()}));
  for (const Int width : {Int(1), Int(2), Int(4)}) {
    const TiledCopy copy = make_tiled_copy(CopyAtom::universal(width), mma, Operand::c);
    const Layout x = "(128,64):(1,128)"_layout;
    for (const Int t : {Int(0), Int(17), Int(64), Int(255)}) {
      const auto mine = partition(mma, Operand::c, x, t);
      const Layout fragment = Layout::col_major(mine.layout.shape());
      const Layout seen = retile(copy, fragment);
      const auto theirs = partition(copy, Side::destination, x, t);
      REQUIRE(product_each(seen.shape()) == product_each(theirs.layout.shape()));
      std::map<Int, Int> element; // register -> element of x
      for (Int i = 0; i < fragment.size(); i += 1) element[fragment(i)] = mine.layout(i) + mine.offset;
      for (Int i = 0; i < seen.size(); i += 1)
        REQUIRE(element.at(seen(i)) == theirs.layout(i) + theirs.offset);
    }
  }
}

TEST_CASE("symbolic tensors are partitioned like their instances, and by a symbolic thread") {
  SymContext ctx;
  const TiledCopy copy =
      make_tiled_copy(CopyAtom::universal(8), "(16,16):(16,1)"_layout, "(1,8):(0,1)"_layout);
  const SymLayout x = parse_sym_layout(ctx, "(16*m,128*k):(128*k,1)");
  const Sym lane = ctx.symbol("lane", {Int(0), Int(255)});
  const auto by_lane = partition(copy, Side::source, x, lane);
  CHECK(ctx.obligations().empty());
  Assignment at;
  at.set(ctx.symbol("m"), 3);
  at.set(ctx.symbol("k"), 2);
  for (Int t = 0; t < 256; t += 5) {
    at.set(lane, t);
    const auto symbolic = partition(copy, Side::source, x, t);
    const auto plain = partition(copy, Side::source, instantiate(x, at), t);
    CHECK(instantiate(symbolic.layout, at) == plain.layout);
    CHECK(evaluate(symbolic.offset, at) == plain.offset);
    CHECK(instantiate(by_lane.layout, at) == plain.layout);
    CHECK(evaluate(by_lane.offset, at) == plain.offset);
  }
}

TEST_CASE("a cotiled copy covers the addresses it was made from") {
  const Layout atom_tv = "(32,4):(4,1)"_layout; // thread t owns addresses 4t .. 4t+3
  const Layout data = "(16,8):(1,16)"_layout;
  const TiledCopy copy = make_cotiled_copy(CopyAtom::universal(4), atom_tv, data);
  for (Int t = 0; t < 32; t += 1) {
    const auto part = partition(copy, Side::source, data, t);
    std::set<Int> want;
    for (Int v = 0; v < 4; v += 1) want.insert(atom_tv(IntTuple::of({t, v})));
    const std::vector<Int> got = values(part);
    CHECK(std::set<Int>(got.begin(), got.end()) == want);
  }
  CHECK_THROWS_AS(make_cotiled_copy(CopyAtom::universal(1), "(64,4):(4,1)"_layout, data), LayoutError);
}

} // namespace thread_value_test
