// Atoms, tiled copies and tiled MMAs against their definitions, element by element.
#include <catch2/catch.hpp>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/atoms/copy.h>
#include <inlay/codegen/atoms/mfma.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/lds.h>
#include <inlay/codegen/tiled_copy.h>
#include <inlay/codegen/tiled_mma.h>

#include <set>

using namespace inlay;
using namespace inlay::codegen;

namespace {
const Target& gfx942 = Target::named("gfx942");
const Target& gfx950 = Target::named("gfx950");

using Point = std::vector<Int>;
Point at(const Layout& tv, int t, int v) { return coordinate(tv, t, v); }

// How often (thread, value) reach each coordinate.
std::map<Point, int> visits(const Layout& tv) {
  std::map<Point, int> n;
  for (int t = 0; t < tv.mode(0).size().value(); ++t)
    for (int v = 0; v < tv.mode(1).size().value(); ++v) ++n[at(tv, t, v)];
  return n;
}
bool each_once(const Layout& tv, int rows, int columns, int times = 1) {
  const auto n = visits(tv);
  if (n.size() != static_cast<std::size_t>(rows * columns)) return false;
  for (const auto& [p, count] : n)
    if (count != times || p[0] < Int(0) || p[0] >= Int(rows) || p[1] < Int(0) || p[1] >= Int(columns))
      return false;
  return true;
}
} // namespace

TEST_CASE("matrix instructions hold every element once, where the ISA guide says") {
  for (const MfmaAtom& atom : MfmaAtom::all()) {
    INFO(atom.instruction);
    CHECK(each_once(atom.operand_layout(), atom.m, atom.k));
    CHECK(each_once(atom.result_layout(), atom.m, atom.n));
    // The formulas of AMD's matrix instruction calculator.
    for (int lane = 0; lane < 64; ++lane) {
      for (int v = 0; v < atom.operand_values(); ++v)
        CHECK(at(atom.operand_layout(), lane, v) ==
              Point{lane % atom.m, atom.k * atom.m / 64 * (lane / atom.m) + v});
      for (int v = 0; v < atom.result_values(); ++v)
        CHECK(at(atom.result_layout(), lane, v) ==
              Point{8 / (32 / atom.m) * (v / 4) * (atom.m == 32 ? 1 : 0) + 4 * (lane / atom.n) + v % 4,
                    lane % atom.n});
    }
  }
  CHECK(to_string(MfmaAtom::of(gfx942, Element::f16, 16, 16).operand_layout()) ==
        "((16,4),4):((1@0,4@1),1@1)");
  CHECK(to_string(MfmaAtom::of(gfx942, Element::f16, 16, 16).result_layout()) ==
        "((16,4),(4,1)):((1@1,4@0),(1@0,16@0))");
}

TEST_CASE("atoms that an architecture lacks are refused by name") {
  CHECK(MfmaAtom::best(gfx942, Element::f16, 16).k == 16);
  CHECK(MfmaAtom::best(gfx950, Element::f16, 16).k == 32);
  CHECK(MfmaAtom::best(gfx950, Element::bf16, 32).k == 16);
  CHECK_THROWS_WITH(MfmaAtom::of(gfx942, Element::f16, 16, 32), Catch::Contains("16x16x32") &&
                                                                    Catch::Contains("gfx942") &&
                                                                    Catch::Contains("16x16x16, 32x32x8"));
  CHECK_THROWS_AS(MfmaAtom::best(gfx950, Element::f32, 16), CodegenError);
  CHECK_THROWS_WITH(CopyAtom::lds_dma(gfx942, 128), Catch::Contains("128 bits") && Catch::Contains("gfx942"));
  CHECK(CopyAtom::lds_dma(gfx950, 128).bits == 128);
  CHECK(to_string(CopyAtom::lds_dma(gfx950, 32).destination) == "(64,32):(32,1)");
  CHECK_THROWS_AS(CopyAtom::lds_dma(gfx950, 64), CodegenError);
  CHECK_THROWS_AS(CopyAtom::buffer_load(gfx950, 256), CodegenError);
  CHECK(CopyAtom::buffer_load(gfx942, 128).instruction == "buffer_load_dwordx4");
  CHECK(CopyAtom::buffer_load(gfx942, 16).instruction == "buffer_load_ushort");
  CHECK(CopyAtom::lds_read(gfx942, 128).instruction == "ds_read_b128");
}

TEST_CASE("a tiled copy moves every element of its tile once") {
  for (const int rows : {32, 64, 128, 256})
    for (const int columns : {32, 64, 128})
      for (const int bits : {32, 64, 128}) {
        INFO(rows << " x " << columns << ", " << bits);
        const int threads = 256, across = columns * 16 / bits;
        if (across > threads || rows % (threads / across) != 0) {
          CHECK_THROWS_AS(
              TiledCopy::rows(CopyAtom::buffer_load(gfx942, bits), Element::f16, rows, columns, threads),
              CodegenError);
          continue;
        }
        const TiledCopy c =
            TiledCopy::rows(CopyAtom::buffer_load(gfx942, bits), Element::f16, rows, columns, threads);
        CHECK(each_once(c.tv, rows, columns));
        CHECK(c.instructions() * c.vector() * threads == rows * columns);
        // The elements of one instruction are adjacent in a row and start at a multiple of their number.
        for (int t = 0; t < threads; t += 7)
          for (int v = 0; v < c.instructions() * c.vector(); ++v) {
            const Point first = at(c.tv, t, v / c.vector() * c.vector());
            CHECK(first[1].value() % c.vector() == 0);
            CHECK(at(c.tv, t, v) == Point{first[0], first[1] + Int(v % c.vector())});
          }
      }
  CHECK(to_string(TiledCopy::rows(CopyAtom::buffer_load(gfx942, 128), Element::f16, 128, 64, 256).tv) ==
        "((8,32),(8,4)):((8@1,1@0),(1@1,32@0))");
  CHECK_THROWS_WITH(TiledCopy::rows(CopyAtom::buffer_load(gfx942, 128), Element::f16, 128, 60, 256),
                    Catch::Contains("128 x 60"));
}

// The definition of what a wave computes: for each instruction and pair of lanes' operands with the same k ...
TEST_CASE("a tiled MMA multiplies each (m, n, k) once, and leaves the sum where c says") {
  struct Case {
    const Target* target;
    int mfma, waves_m, waves_n, m, n, k;
  };
  for (const Case& c : {Case{&gfx942, 16, 2, 2, 64, 64, 32}, Case{&gfx942, 32, 2, 1, 64, 64, 32},
                        Case{&gfx950, 16, 1, 2, 32, 64, 64}, Case{&gfx950, 32, 2, 2, 64, 128, 16}}) {
    const MfmaAtom& atom = MfmaAtom::best(*c.target, Element::f16, c.mfma);
    INFO(atom.instruction);
    const TiledMma mma = TiledMma::of(atom, c.waves_m, c.waves_n, c.m, c.n, c.k, 8);
    const Layout a = mma.a(), b = mma.b(), sum = mma.c();
    CHECK(each_once(a, c.m, c.k, c.waves_n));
    CHECK(each_once(b, c.n, c.k, c.waves_m));
    CHECK(each_once(sum, c.m, c.n));
    const Layout operand = atom.operand_layout(), result = atom.result_layout();
    const int width = atom.operand_values();
    std::map<std::vector<std::int64_t>, int> products;
    bool in_place = true;
    for (int wave = 0; wave < c.waves_m * c.waves_n; ++wave)
      for (int step = 0; step < mma.k_steps(); ++step)
        for (int part = 0; part < mma.atoms_per_step(); ++part)
          for (int i = 0; i < mma.repeat_m(); ++i)
            for (int j = 0; j < mma.repeat_n(); ++j) {
              // Which m, n and k each row, column and depth of this instruction stand for (operands swapped).
              std::map<std::pair<int, int>, Point> rows, columns;
              for (int lane = 0; lane < 64; ++lane)
                for (int v = 0; v < width; ++v) {
                  const Point p = at(operand, lane, v);
                  const std::pair<int, int> key(int(p[0].value()), int(p[1].value()));
                  rows[key] = at(b, 64 * wave + lane, part * width + v + 8 * (j + mma.repeat_n() * step));
                  columns[key] = at(a, 64 * wave + lane, part * width + v + 8 * (i + mma.repeat_m() * step));
                }
              for (int r = 0; r < atom.m; ++r)
                for (int col = 0; col < atom.n; ++col)
                  for (int d = 0; d < atom.k; ++d) {
                    const Point &n = rows[{r, d}], &m = columns[{col, d}];
                    REQUIRE(n[1] == m[1]); // the same k on both sides
                    ++products[{m[0].value(), n[0].value(), m[1].value()}];
                  }
              for (int lane = 0; lane < 64; ++lane)
                for (int v = 0; v < atom.result_values(); ++v) {
                  const Point p = at(result, lane, v);
                  const Point expected{columns[{int(p[1].value()), 0}][0], rows[{int(p[0].value()), 0}][0]};
                  in_place = in_place && at(sum, 64 * wave + lane,
                                            v + atom.result_values() * (i + mma.repeat_m() * j)) == expected;
                }
            }
    CHECK(in_place);
    CHECK(products.size() == static_cast<std::size_t>(c.m * c.n * c.k));
    CHECK(std::all_of(products.begin(), products.end(), [](const auto& p) { return p.second == 1; }));
  }
}

TEST_CASE("tiled MMAs that do not fit are refused by name") {
  const MfmaAtom& atom = MfmaAtom::of(gfx942, Element::f16, 16, 16);
  CHECK_THROWS_WITH(TiledMma::of(atom, 2, 2, 48, 64, 32, 8),
                    Catch::Contains("divide m") && Catch::Contains("32"));
  CHECK_THROWS_WITH(TiledMma::of(atom, 2, 2, 64, 40, 32, 8), Catch::Contains("divide n"));
  CHECK_THROWS_WITH(TiledMma::of(atom, 2, 2, 64, 64, 48, 8), Catch::Contains("divide k"));
  CHECK_THROWS_AS(TiledMma::of(atom, 2, 2, 64, 64, 32, 6), CodegenError);
  CHECK_THROWS_AS(TiledMma::of(atom, 0, 2, 64, 64, 32, 8), CodegenError);
}

TEST_CASE("retile renames registers, or says which thread cannot") {
  const TiledMma mma = TiledMma::of(MfmaAtom::of(gfx942, Element::f16, 16, 16), 2, 2, 64, 64, 32, 8);
  const std::vector<int> same = retile(mma.c(), mma.c());
  for (int i = 0; i < static_cast<int>(same.size()); ++i) CHECK(same[std::size_t(i)] == i);
  // The same elements in another order of values: repeat_n before repeat_m.
  const Layout swapped = parse_layout("((16,4,2,2),(4,1,2,2)):((1@0,4@1,16@0,16@1),(1@1,16@1,32@1,32@0))");
  const std::vector<int> places = retile(swapped, mma.c());
  for (int t = 0; t < 256; t += 11)
    for (int v = 0; v < 16; ++v) CHECK(at(swapped, t, v) == at(mma.c(), t, places[std::size_t(v)]));
  CHECK_THROWS_WITH(retile(mma.a(), mma.b()), Catch::Contains("thread"));
  CHECK_THROWS_AS(retile(mma.a(), mma.c()), CodegenError);
}

TEST_CASE("split LDS addresses are the swizzled offsets") {
  SymContext ctx;
  const Sym thread = ctx.symbol("t", {Int(0), Int(255)});
  for (const auto& [columns, swizzle] : {std::pair(64, Swizzle{3, 3, 3}), std::pair(64, Swizzle{0, 3, 3}),
                                         std::pair(64, Swizzle{3, 3, 4}), std::pair(32, Swizzle{2, 3, 3})}) {
    const LdsTile tile{Element::f16, 64, columns, columns, swizzle};
    const TiledMma mma = TiledMma::of(MfmaAtom::of(gfx942, Element::f16, 16, 16), 2, 2, 64, 64, columns, 8);
    const TiledCopy copy =
        TiledCopy::rows(CopyAtom::buffer_load(gfx942, 128), Element::f16, 64, columns, 256);
    for (const Layout& tv : {mma.a(), mma.b(), copy.tv}) {
      const LdsAddresses addresses(tile, tv, thread);
      for (int t = 0; t < 256; t += 3)
        for (int v = 0; v < tv.mode(1).size().value(); ++v) {
          const auto [base, immediate] = addresses(v);
          Assignment values;
          values.set(thread, t);
          const Point p = at(tv, t, v);
          CHECK(evaluate(base, values) + Int(immediate) == swizzle(p[0] * Int(columns) + p[1]) * Int(2));
        }
    }
  }
}
