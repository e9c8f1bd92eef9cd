// Thread-value layouts of copies and tiled MMAs against their definitions, element by element.
#include <catch2/catch.hpp>
#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/ops/thread_value.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/mma_tiling.h>
#include <inlay/codegen/view.h>

#include <map>
#include <set>

namespace layouts_test {

using namespace inlay;
using namespace inlay::codegen;

namespace {
const Target& gfx942 = Target::named("gfx942");
const Target& gfx950 = Target::named("gfx950");

using Point = std::vector<Int>;
// The definition, mode by mode: the digits of (t, v) times the strides along each axis.
Point at(const Layout& tv, int t, int v) {
  const IntTuple value = value_at(tv, IntTuple::of({Int(t), Int(v)}));
  Point p;
  for (const Int x : value.leaves()) p.push_back(x);
  while (p.size() < 2) p.push_back(0);
  return p;
}

// Numbers in place of coordinates: s@i becomes s * strides[i].
Layout offsets(const Layout& l, std::array<Int, 2> strides) {
  TupleBuilder<Mode> b;
  b.profile(l.profile().view());
  for (const Mode& m : l.modes()) {
    const bool counts = m.stride.is_basis() && m.stride.axis[0] < 2;
    b.leaves().push_back(
        Mode{m.extent, Stride(counts ? m.stride.scale * strides[m.stride.axis[0]] : Int(0))});
  }
  return Layout(std::move(b).finish());
}

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

TEST_CASE("a tiled copy moves every element of its tile once") {
  for (const int rows : {32, 64, 128, 256})
    for (const int columns : {32, 64, 128})
      for (const int bits : {32, 64, 128}) {
        INFO(rows << " x " << columns << ", " << bits);
        const int threads = 256, across = columns * 16 / bits, vector = bits / 16;
        if (across > threads || rows % (threads / across) != 0) {
          CHECK_THROWS_AS(rows_tv(rows, columns, vector, threads), CodegenError);
          continue;
        }
        const Layout tv = rows_tv(rows, columns, vector, threads);
        CHECK(each_once(tv, rows, columns));
        CHECK(tv.mode(1).size() * Int(threads) == Int(rows * columns));
        // The elements of one instruction are adjacent in a row and start at a multiple of their number.
        for (int t = 0; t < threads; t += 7)
          for (int v = 0; v < tv.mode(1).size().value(); ++v) {
            const Point first = at(tv, t, v / vector * vector);
            CHECK(first[1].value() % vector == 0);
            CHECK(at(tv, t, v) == Point{first[0], first[1] + Int(v % vector)});
          }
      }
  CHECK(to_string(rows_tv(128, 64, 8, 256)) == "((8,32),(8,4)):((8@1,1@0),(1@1,32@0))");
  CHECK_THROWS_WITH(rows_tv(128, 60, 8, 256), Catch::Contains("128 x 60"));
}

// By the words of the hardware: a wave's 64 lanes take 4 bytes each, which lie one after the other in LDS; a line of memory has 128
// bytes; a read of 16 bytes a lane meets 32 banks of 4 bytes, 8 lanes at a time: 4 rows of one vector and 4 others of the next.
TEST_CASE("transfers of whole lines: each element once, two lines an instruction, lanes one after the "
          "other, no bank twice") {
  for (const int bytes : {1, 2})
    for (const int rows : {16, 48, 112, 128})
      for (const int lines : {1, 2})
        for (const int waves : {1, 2, 4, 8}) {
          INFO(bytes << " bytes, " << rows << " rows of " << lines << " lines, " << waves << " waves");
          const int vector = 16 / bytes, columns = lines * 128 / bytes, each = vector / 4;
          const Layout tv = transfer_tv(rows, columns, vector, 64 * waves, 4, true);
          Tensor tile;
          tile.shape = {Sym(rows), Sym(columns)};
          tile.place = SymComposedLayout(Swizzle(), Sym(0), transfer_place(rows, columns, vector, 4, true));
          const auto byte = [&](const Point& p) {
            return bytes * tile.at(std::vector<std::int64_t>{p[0].value(), p[1].value()});
          };
          CHECK(each_once(tv, rows, columns));
          const int values = static_cast<int>(tv.mode(1).size().value());
          for (int w = 0; w < waves; ++w)
            for (int v = 0; v < values; v += each) {
              std::set<std::pair<std::int64_t, std::int64_t>> asked;
              const std::int64_t first = byte(at(tv, 64 * w, v));
              bool behind = first % 16 == 0;
              for (int lane = 0; lane < 64; ++lane)
                for (int e = 0; e < each; ++e) {
                  const Point p = at(tv, 64 * w + lane, v + e);
                  asked.emplace(p[0].value(), p[1].value() * bytes / 128);
                  behind = behind && byte(p) == first + 4 * lane + e * bytes;
                }
              CHECK(behind);
              CHECK(asked.size() == 2);
            }
          // No two elements in one place.
          std::set<std::int64_t> places;
          for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; ++c) places.insert(byte({Int(r), Int(c)}));
          CHECK(places.size() == static_cast<std::size_t>(rows * columns));
          CHECK(*places.rbegin() + bytes == bytes * tile.stage_elements());
          CHECK(bytes * tile.stage_elements() == rows * columns * bytes + 96);
          // Reads of 16 rows by 4 vectors: rows 4 i .. 4 i + 3 of a vector beside rows 4 j .. of the next.
          for (int c = 0; c + 1 < columns / vector; ++c)
            for (int i = 0; i < 16; i += 4)
              for (int j = 0; j < 16; j += 4) {
                std::set<std::int64_t> banks;
                for (int r = 0; r < 4; ++r) {
                  banks.insert(byte({Int(i + r), Int(c * vector)}) / 16 % 8);
                  banks.insert(byte({Int(j + r), Int((c + 1) * vector)}) / 16 % 8);
                }
                CHECK(banks.size() == 8);
              }
        }
  CHECK(to_string(transfer_place(32, 128, 16, 4, true)) == "((4,2,4),128):((1056,128,256),1)");
  CHECK_THROWS_WITH(transfer_place(32, 64, 16, 4, true), Catch::Contains("32 x 64"));
  CHECK_THROWS_WITH(transfer_tv(16, 128, 16, 1024, 4, true), Catch::Contains("16 x 128"));
}

// The same of elements of 6 bits: a lane brings 12 bytes and reads 24, in three reads of 8 bytes, which meet 64 banks 32 lanes at a time:
// 16 rows of a vector of 32 and of the next.
TEST_CASE("transfers of 12 bytes: each element once, lanes one after the other, no bank twice") {
  for (const int rows : {32, 96, 128})
    for (const int columns : {256, 512})
      for (const int waves : {1, 2, 4, 8}) {
        INFO(rows << " x " << columns << ", " << waves << " waves");
        const Layout tv = transfer_tv(rows, columns, 16, 64 * waves, 1, true);
        Tensor tile;
        tile.shape = {Sym(rows), Sym(columns)};
        tile.place = SymComposedLayout(Swizzle(), Sym(0), transfer_place(rows, columns, 16, 1, true));
        const auto place = [&](const Point& p) {
          return tile.at(std::vector<std::int64_t>{p[0].value(), p[1].value()});
        };
        CHECK(each_once(tv, rows, columns));
        const int values = static_cast<int>(tv.mode(1).size().value());
        bool behind = true, whole = true;
        for (int w = 0; w < waves; ++w)
          for (int v = 0; v < values; v += 16)
            for (int lane = 0; lane < 64; ++lane)
              for (int e = 0; e < 16; ++e)
                behind =
                    behind && place(at(tv, 64 * w + lane, v + e)) == place(at(tv, 64 * w, v)) + 16 * lane + e;
        CHECK(behind);
        std::set<std::int64_t> places;
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < columns; ++c) {
            places.insert(place({Int(r), Int(c)}));
            whole = whole && place({Int(r), Int(c)}) == place({Int(r), Int(c / 32 * 32)}) + c % 32;
          }
        CHECK(whole); // what a lane reads
        CHECK(places.size() == static_cast<std::size_t>(rows * columns));
        CHECK(*places.rbegin() + 1 == tile.stage_elements());
        CHECK(tile.stage_elements() * 6 / 8 == rows * columns * 6 / 8 + 3 * 48);
        for (int row = 0; row < rows; row += 16)
          for (int c = 0; c < columns; c += 64)
            for (int part = 0; part < 3; ++part) {
              std::set<std::int64_t> banks; // pairs of them
              for (int r = 0; r < 16; ++r)
                for (const int half : {0, 32})
                  banks.insert((place({Int(row + r), Int(c + half)}) * 6 / 8 + 8 * part) / 8 % 32);
              CHECK(banks.size() == 32);
            }
      }
  CHECK(to_string(transfer_place(32, 256, 16, 1, true)) == "((4,4,2),256):((256,2112,1024),1)");
  CHECK_THROWS_WITH(transfer_place(24, 256, 16, 1, true), Catch::Contains("24 x 256"));
  CHECK_THROWS_WITH(transfer_tv(32, 256, 16, 1024, 1, true), Catch::Contains("a multiple of 64"));
}

TEST_CASE("blocks that are loaded by rows are written by columns: the same elements, adjacent either way") {
  for (const int down : {1, 2, 4}) {
    INFO(down);
    const Layout loaded = columns_tv(64, 128, 8, 256, down),
                 written = down > 1 ? values_exchanged(loaded) : loaded, turned = transposed(written);
    CHECK(each_once(loaded, 64, 128));
    CHECK(each_once(written, 64, 128));
    CHECK(each_once(turned, 128, 64));
    for (int t = 0; t < 256; t += 13) {
      std::set<std::pair<int, int>> mine, other;
      for (int v = 0; v < 32; ++v) {
        const Point a = at(loaded, t, v), b = at(written, t, v), c = at(turned, t, v);
        mine.emplace(a[0].value(), a[1].value()), other.emplace(b[0].value(), b[1].value());
        CHECK(c == Point{b[1], b[0]});
        CHECK(a[1] == at(loaded, t, v / 8 * 8)[1] + Int(v % 8));           // along a row
        CHECK(b[0] == at(written, t, v / down * down)[0] + Int(v % down)); // down a column
        if (down > 1) CHECK(b[1] == at(written, t, v / down * down)[1]);
      }
      CHECK(mine == other);
    }
  }
  CHECK(to_string(columns_tv(64, 128, 8, 256, 4)) == "((16,16),(8,4,1)):((4@0,8@1),(1@1,1@0,128@1))");
  CHECK_THROWS_WITH(columns_tv(62, 128, 8, 256, 4), Catch::Contains("62 x 128"));
}

// The definition of what a wave computes: for each instruction and pair of lanes' operands with the same k ...
TEST_CASE("a tiled MMA multiplies each (m, n, k) once, and leaves the sum where c says") {
  struct Case {
    const Target* target;
    int mfma, waves_m, waves_n, m, n, k, columns = 4;
  };
  for (const Case& c : {Case{&gfx942, 16, 2, 2, 64, 64, 32}, Case{&gfx942, 32, 2, 1, 64, 64, 32},
                        Case{&gfx950, 16, 1, 2, 32, 64, 64}, Case{&gfx950, 32, 2, 2, 64, 128, 16},
                        Case{&gfx942, 16, 2, 2, 32, 128, 32, 8}, Case{&gfx950, 16, 2, 1, 32, 64, 32, 16}}) {
    const Atom& atom = Atom::mma_best(*c.target, Element::f16, Element::f16, Element::f32, c.mfma);
    INFO(atom.name);
    const MmaTiling all = MmaTiling::of(atom, c.waves_m, c.waves_n, c.m, c.n, c.k, 8),
                    mma = c.columns > 4 ? all.with_columns(c.columns) : all;
    const Layout a = mma.a(), b = mma.b(), sum = mma.c();
    CHECK(each_once(a, c.m, c.k, c.waves_n));
    CHECK(each_once(b, c.n, c.k, c.waves_m));
    CHECK(each_once(sum, c.m, c.n));
    const Layout operand = atom.mma->a, result = atom.mma->c; // a and b are alike in these
    const int width = atom.mma->a_values();
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
              for (int r = 0; r < atom.mma->m; ++r)
                for (int col = 0; col < atom.mma->n; ++col)
                  for (int d = 0; d < atom.mma->k; ++d) {
                    const Point &n = rows[{r, d}], &m = columns[{col, d}];
                    REQUIRE(n[1] == m[1]); // the same k on both sides
                    ++products[{m[0].value(), n[0].value(), m[1].value()}];
                  }
              for (int lane = 0; lane < 64; ++lane)
                for (int v = 0; v < atom.mma->c_values(); ++v) {
                  const Point p = at(result, lane, v);
                  const Point expected{columns[{int(p[1].value()), 0}][0], rows[{int(p[0].value()), 0}][0]};
                  in_place = in_place && at(sum, 64 * wave + lane,
                                            v + atom.mma->c_values() * (i + mma.repeat_m() * j)) == expected;
                }
            }
    CHECK(in_place);
    CHECK(products.size() == static_cast<std::size_t>(c.m * c.n * c.k));
    CHECK(std::all_of(products.begin(), products.end(), [](const auto& p) { return p.second == 1; }));
  }
}

TEST_CASE("a block by several groups of waves: each has the whole of it, in the lanes of the first") {
  const Atom& atom = Atom::named(gfx950, "v_mfma_f32_16x16x32_f16");
  for (const MmaTiling& one : {MmaTiling::of(atom, 2, 1, 32, 64, 32, 8),
                               MmaTiling::of(atom, 1, 2, 16, 128, 64, 8).with_columns(8)}) {
    const MmaTiling t = one.repeated(3);
    CHECK(t.threads() == 3 * one.threads());
    const std::pair<Layout, Layout> sides[] = {{t.a(), one.a()}, {t.b(), one.b()}, {t.c(), one.c()}};
    for (const auto& [all, of_one] : sides) {
      REQUIRE(all.mode(0).size() == Int(t.threads()));
      REQUIRE(all.mode(1).size() == of_one.mode(1).size());
      for (int thread = 0; thread < t.threads(); ++thread)
        for (int v = 0; v < all.mode(1).size().value(); ++v)
          REQUIRE(at(all, thread, v) == at(of_one, thread % one.threads(), v));
    }
    CHECK(t.repeated(2).threads() == 6 * one.threads());
    CHECK(one.repeated(1).c() == one.c());
    CHECK_THROWS_WITH(one.repeated(0), Catch::Contains("repeated 0 times"));
  }
  const MmaTiling t = MmaTiling::of(atom, 1, 1, 16, 32, 32, 8).repeated(2);
  for (int v = 0; v < 8; ++v) CHECK(at(t.c_by_eights(), 64, v) == at(t.c_by_eights(), 0, v));
}

TEST_CASE("columns interleaved: a lane owns adjacent ones, and B's rows lie in the order of the lanes") {
  const Atom& atom = Atom::named(gfx950, "v_mfma_f32_16x16x32_f16");
  const MmaTiling plain = MmaTiling::of(atom, 2, 1, 32, 64, 32, 8), t = plain.with_columns(8);
  const Layout c = t.c(), b = t.b();
  for (int thread = 0; thread < 128; ++thread) {
    std::map<std::int64_t, std::set<std::int64_t>> columns; // of a row
    for (int v = 0; v < c.mode(1).size().value(); ++v) {
      const Point p = at(c, thread, v);
      columns[p[0].value()].insert(p[1].value());
    }
    for (const auto& [row, of] : columns) // 8 adjacent ones, and 8 of the next 32
      for (const std::int64_t n : of)
        CHECK((of.contains(n ^ 1) && of.contains(n ^ 4) && !of.contains(n ^ 8)));
  }
  // Where b_place puts it, a lane finds its row as if nothing were interleaved.
  const SymLayout place = t.b_place();
  for (int thread = 0; thread < 64; ++thread)
    for (int v = 0; v < b.mode(1).size().value(); ++v) {
      const Point p = at(b, thread, v), q = at(plain.b(), thread, v);
      const Sym element = SymComposedLayout(Swizzle(), Sym(0), place)(
          BasicIntTuple<Sym>::of({Sym(p[0].value()), Sym(p[1].value())}));
      CHECK(element.constant()->value() == q[0].value() * 32 + q[1].value());
    }
  CHECK_THROWS_WITH(plain.with_columns(6), Catch::Contains("6 adjacent columns"));
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 1, 32, 16, 32, 8).with_columns(8), Catch::Contains("there are 1"));
  CHECK_THROWS_AS(
      MmaTiling::of(Atom::named(gfx942, "v_mfma_f32_32x32x8_f16"), 1, 1, 32, 64, 32, 8).with_columns(8),
      CodegenError);
}

TEST_CASE("columns by eights: what lanes have once v_permlane16_swap has exchanged two atoms' columns") {
  const Atom& atom = Atom::named(gfx950, "v_mfma_f32_16x16x32_bf16");
  for (const auto& [waves_m, waves_n] : {std::pair{1, 1}, {2, 2}, {4, 1}}) {
    const MmaTiling t = MmaTiling::of(atom, waves_m, waves_n, 64, 128, 32, 8);
    const Layout c = t.c(), eights = t.c_by_eights();
    CHECK(each_once(eights, 64, 128));
    // The instruction by its definition: odd rows of 16 lanes of the first register and even rows of the second change places.
    const int values = 4 * t.repeat_m() * t.repeat_n();
    for (int wave = 0; wave < waves_m * waves_n; ++wave)
      for (int lane = 0; lane < 64; ++lane)
        for (int v = 0; v < values; ++v) {
          const int i = v / 8 % t.repeat_m(), pair = v / 8 / t.repeat_m(), half = v / 4 % 2; // of the eight
          const int row = lane / 16, from = half == 0      ? row % 2 == 0 ? row : row - 1
                                            : row % 2 == 0 ? row + 1
                                                           : row;
          const int atom_of =
              row %
              2; // the first register after the swap has even rows of the first, the second's in odd ones
          const Point wanted = at(c, 64 * wave + 16 * from + lane % 16,
                                  v % 4 + 4 * (i + t.repeat_m() * (2 * pair + atom_of))),
                      is = at(eights, 64 * wave + lane, v);
          CHECK((wanted[0] == is[0] && wanted[1] == is[1]));
        }
  }
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 1, 32, 16, 32, 8).c_by_eights(),
                    Catch::Contains("an even number of atoms"));
  CHECK_THROWS_AS(MmaTiling::of(atom, 2, 1, 32, 64, 32, 8).with_columns(8).c_by_eights(), CodegenError);
}

TEST_CASE("a tiled MMA's scales are those of its operands' rows and blocks of k, lane by lane") {
  const Atom& atom = Atom::mma_scaled(gfx950, Element::e2m1, Element::e2m1, 16);
  CHECK(atom.name == "v_mfma_scale_f32_16x16x128_f8f6f4 cbsz:4 blgp:4");
  CHECK_THROWS_WITH(Atom::mma_scaled(gfx942, Element::e2m1, Element::e2m1, 16),
                    Catch::Contains("gfx950 has it"));
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 2, 96, 128, 256, 32), Catch::Contains("in fours"));
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 2, 128, 128, 128, 32), Catch::Contains("in fours"));
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 2, 128, 128, 512, 64), Catch::Contains("the scale of its 32 k"));
  for (const auto& [waves_m, waves_n, m, n, k] :
       {std::tuple{1, 4, 32, 256, 256}, {2, 2, 128, 64, 512}, {4, 1, 128, 96, 256}}) {
    const MmaTiling mma = MmaTiling::of(atom, waves_m, waves_n, m, n, k, 32);
    const auto agree = [&](const Layout& operand, const Layout& scales, int repeats) {
      bool all = true;
      for (int thread = 0; thread < mma.threads(); ++thread)
        for (int step = 0; step < mma.k_steps(); ++step)
          for (int r = 0; r < repeats; ++r)
            for (int v = 0; v < 32; ++v) {
              const Point value = at(operand, thread, v + 32 * (r + repeats * step)),
                          scale = at(scales, thread, MmaTiling::scale_value(r, repeats, step));
              all = all && value[0] == scale[0] && floor_div(value[1], Int(32)) == scale[1];
            }
      return all;
    };
    CHECK(agree(mma.a(), mma.a_scales(), mma.repeat_m()));
    CHECK(agree(mma.b(), mma.b_scales(), mma.repeat_n()));
    CHECK(each_once(mma.a_scales(), m, k / 32, waves_n));
    CHECK(each_once(mma.b_scales(), n, k / 32, waves_m));
  }
}

TEST_CASE("a tiled MMA of 8 bits with scales has each value and each scale where the instruction has it") {
  const Atom& atom = Atom::mma_scaled(gfx950, Element::e4m3fn, Element::e5m2, 16);
  const Mma& one = *atom.mma;
  for (const auto& [waves_m, waves_n, m, n, k] :
       {std::tuple{1, 4, 32, 256, 256}, {2, 2, 128, 64, 512}, {4, 1, 128, 96, 256}}) {
    const MmaTiling mma = MmaTiling::of(atom, waves_m, waves_n, m, n, k, 16);
    const auto agree = [&](const Layout& operand, const Layout& scales, int repeats) {
      bool all = true;
      for (int thread = 0; thread < mma.threads(); ++thread)
        for (int step = 0; step < k / 128; ++step)
          for (int r = 0; r < repeats; ++r) {
            const int lane = thread % 64;
            const Point scale = at(scales, thread, MmaTiling::scale_value(r, repeats, step)),
                        in_one = at(*one.scale, lane, 0);
            all = all && scale[1] == Int(4 * step) + floor_div(in_one[1], Int(32));
            for (int v = 0; v < 32; ++v) {
              const Point value = at(operand, thread, v % 16 + 16 * (r + repeats * (2 * step + v / 16)));
              all = all && value[0] == scale[0] && value[1] == Int(128 * step) + at(one.a, lane, v)[1];
            }
          }
      return all;
    };
    CHECK(agree(mma.a(), mma.a_scales(), mma.repeat_m()));
    CHECK(agree(mma.b(), mma.b_scales(), mma.repeat_n()));
    CHECK(each_once(mma.a_scales(), m, k / 32, waves_n));
    CHECK(each_once(mma.b_scales(), n, k / 32, waves_m));
  }
}

TEST_CASE("tiled MMAs that do not fit are refused by name") {
  const Atom& atom = Atom::named(gfx942, "v_mfma_f32_16x16x16_f16");
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 2, 48, 64, 32, 8),
                    Catch::Contains("divide m") && Catch::Contains("32"));
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 2, 64, 40, 32, 8), Catch::Contains("divide n"));
  CHECK_THROWS_WITH(MmaTiling::of(atom, 2, 2, 64, 64, 48, 8), Catch::Contains("divide k"));
  CHECK_THROWS_AS(MmaTiling::of(atom, 2, 2, 64, 64, 32, 6), CodegenError);
  CHECK_THROWS_AS(MmaTiling::of(atom, 2, 2, 64, 64, 32, 0), CodegenError);
  CHECK_THROWS_AS(MmaTiling::of(atom, 0, 2, 64, 64, 32, 8), CodegenError);
  // Where the order of k is not free: blocks, sparsity, formats of different widths.
  for (const char* name :
       {"v_mfma_f32_32x32x4_2b_f16", "v_smfmac_f32_16x16x64_f16", "v_mfma_f32_16x16x128_f8f6f4 cbsz:4"})
    CHECK_THROWS_WITH(MmaTiling::of(Atom::named(gfx950, name), 1, 1, 128, 128, 128, 32),
                      Catch::Contains("order of k") && Catch::Contains(name));
  CHECK_THROWS_WITH(
      MmaTiling::of(Atom::named(gfx950, "v_mfma_scale_f32_16x16x128_f8f6f4"), 1, 1, 128, 128, 256, 32),
      Catch::Contains("vectors of 16, each with the scale of its 32 k"));
  CHECK_THROWS_WITH(MmaTiling::of(Atom::named(gfx950, "ds_read_b128"), 1, 1, 128, 128, 128, 32),
                    Catch::Contains("no matrix instruction"));
}

TEST_CASE(
    "every instruction with a free order of k tiles a block: each element once, products where c says") {
  for (const Target& target : Target::all())
    for (const Atom* atom : Atom::on(target)) {
      if (!atom->mma || atom->mma->sparse || atom->mma->scaled || atom->mma->blocks != 1) continue;
      const Mma& one = *atom->mma;
      if (one.a != one.b) continue;
      INFO(target.name << ": " << atom->name);
      const MmaTiling mma = MmaTiling::of(*atom, 2, 1, 4 * one.m, one.n, 2 * one.k, one.a_values());
      CHECK(each_once(mma.a(), mma.m, mma.k));
      CHECK(each_once(mma.b(), mma.n, mma.k, 2));
      CHECK(each_once(mma.c(), mma.m, mma.n));
    }
}

// The same tiling as CuTe writes it: the atom with its operands exchanged, waves as atom layout, the order of k as a
// permutation tile. The two functions know nothing of each other.
TEST_CASE("the algebra's TiledMma deals out the same elements") {
  for (const auto& [name, vector] :
       {std::pair("v_mfma_f32_16x16x16_f16", 8), std::pair("v_mfma_f32_32x32x8_bf16", 8),
        std::pair("v_mfma_f32_16x16x32_f16", 8), std::pair("v_mfma_i32_16x16x32_i8", 16)}) {
    INFO(name);
    const Atom& atom = Atom::named(gfx950, name);
    const Mma& one = *atom.mma;
    const MmaTiling t = MmaTiling::of(atom, 2, 2, 4 * one.m, 4 * one.n, 2 * vector * 64 / one.m, vector);
    const auto flat = [](const Layout& l, std::array<Int, 2> strides) { return offsets(l, strides); };
    const auto exchanged = flat(one.c, {one.m, 1}); // our (m, n) is its (column, row)
    const inlay::MmaAtom swapped{IntTuple::of({Int(one.m), Int(one.n), Int(one.k)}), parse_layout("64:1"),
                                 flat(one.b, {1, one.n}), flat(one.a, {1, one.m}), exchanged};
    const int values = one.a_values(), groups = t.lane_groups();
    const Layout k_order =
        Layout::from(IntTuple::of({Int(values), Int(groups), Int(vector / values), Int(t.k_steps())}),
                     IntTuple::of({Int(1), Int(vector), Int(values), Int(vector * groups)}));
    const inlay::TiledMma tiled =
        make_tiled_mma(swapped, parse_layout("(2,2,1):(1,2,0)"),
                       Tile::by_mode({Tile(Int(t.m)), Tile(Int(t.n)), Tile(k_order)}));
    const auto compare = [&](const Layout& ours, Operand operand, int rows) {
      const Layout theirs = layout_tv(tiled, operand);
      REQUIRE(theirs.size() == ours.size());
      for (int thread = 0; thread < t.threads(); ++thread) {
        std::multiset<Int> here, there;
        for (int v = 0; v < ours.mode(1).size().value(); ++v) {
          const Point p = at(ours, thread, v);
          here.insert(p[0] + p[1] * Int(rows));
          there.insert(theirs(IntTuple::of({Int(thread), Int(v)})));
        }
        REQUIRE(here == there);
      }
    };
    compare(t.a(), Operand::a, t.m);
    compare(t.b(), Operand::b, t.n);
    compare(t.c(), Operand::c, t.m);
  }
}

} // namespace layouts_test
