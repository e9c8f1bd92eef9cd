// Sums up to each element of a row: right on the emulator, proved and validated, and what would be proved falsely if a rule were too lax.
#include "specified.h"

#include <inlay/algebra/parse.h>

#include <set>

namespace scan_test {

using namespace specified;
using Catch::Matchers::Contains;

namespace {

using Exprs = std::vector<Expr>;
Expr add(const Exprs& v) { return v[0] + v[1]; }

/// y(m, i) = the sum of x(m, 0) to x(m, i).
struct Scan {
  int threads = 256, v = 4, rows = 1, runs = 1, distance = 2, ring = 2;
  std::string arch = "gfx942";
  bool words = false;
  // What is wrong:
  bool exclusive = false;    ///< up to the element before is said
  bool forgets = false;      ///< what the tiles before have is not carried
  bool carries_own = false;  ///< it is added before the tile is stored
  bool carries_last = false; ///< the prefix of each work-item goes on, not all of the tile
  bool every_other = false;  ///< tiles
  bool backwards = false;    ///< from the element on to the end is said
  bool unfilled = false;     ///< what lies past the end is 1
};
Program program(const Scan& s) {
  Program k("scan", Target::named(s.arch), s.threads);
  const int wide = s.threads * s.v * s.runs / s.rows;
  const Element e = s.words ? Element::i32 : Element::f32;
  const Sym M = k.size("m", {.most = 1 << 16}), N = k.size("n", {.most = 1 << 20, .multiple = s.v});
  const Tensor Y = k.output("y", e, {M, N}), X = k.input("x", e, {M, N});
  const auto said = [&](Expr x) { return s.words ? integer(x) : s.unfilled ? x + 1 : x; };
  k.computes(Y, [&](const auto& c) {
    const auto x = [&](Sym i) { return said(k(X, {c[0], i})); };
    return s.backwards ? k.sum(N, c[1], N, x) : k.sum(N, Sym(0), c[1] + Sym(s.exclusive ? 0 : 1), x);
  });
  const Sym row = k.workgroups(0, M, s.rows);
  const Layout tv = rows_tv(s.rows, wide, s.v, s.threads);
  const auto join = [&](const Exprs& v) { return s.words ? integer(v[0]) + integer(v[1]) : add(v); };
  const Fragment before = k.zeros(e, without_axis(tv, 1), {s.rows, 1}), own = k.zeros(e, tv, {s.rows, wide});
  k.loop(N, wide, {s.distance, s.ring}, [&](Sym t) {
    const Sym at = s.every_other ? 2 * t : t;
    Fragment x = k.load(k.tile(X, {s.rows, wide}, {row, at}), tv, s.v);
    if (s.unfilled) x = k.map({x}, [](const Exprs& v) { return v[0] + 1; });
    const auto [up_to, all] = k.scan(Monoid::sum, x, 1, e);
    const auto carry = [&, all = all] { k.update(before, {all}, join); };
    if (s.carries_own) carry();
    k.store(s.forgets ? up_to : k.map({up_to, s.carries_last ? own : before}, join, e),
            k.tile(Y, {s.rows, wide}, {row, t}), s.v);
    if (s.carries_last) k.update(own, {up_to}, join);
    if (!s.carries_own) carry();
  });
  return k;
}

std::string proved_and_wrong(const std::function<void(Inst&)>& change, const Scan& s, InstKind kind,
                             std::size_t number) {
  const Program p = program(s);
  Code code = code_of(p);
  std::size_t found = 0;
  for (CodeRegion& r : code.regions)
    for (Inst& i : r.body)
      if (i.kind == kind && found++ == number) change(i);
  CHECK(found > number);
  return refuted(code);
}

} // namespace

TEST_CASE("scan: rows of any length, tile by tile") {
  for (const Scan& s : {Scan{}, Scan{.threads = 64, .v = 1, .distance = 0, .ring = 1},
                        Scan{.threads = 128, .v = 2, .runs = 3, .distance = 1},
                        Scan{.threads = 256, .v = 4, .rows = 4, .arch = "gfx950"},
                        Scan{.threads = 64, .v = 4, .rows = 4, .distance = 1, .ring = 1},
                        Scan{.threads = 192, .v = 1, .arch = "gfx90a"}}) {
    INFO(s.threads << " threads, " << s.v << " of " << s.runs << " runs, " << s.rows << " rows");
    const Built built(program(s));
    const std::int64_t wide = s.threads * s.v * s.runs / s.rows;
    built.check({1, s.v});
    built.check({s.rows + 1, wide});
    built.check({2, 3 * wide - s.v}, 0, true);
    built.check({1, 2 * wide + s.v});
  }
}

TEST_CASE("scan: what is no sum up to the element is refused") {
  const std::string said = "y is what the specification says";
  CHECK(refuted(program({})).empty());
  CHECK(refuted(program({.words = true})).empty());
  CHECK_THAT(refuted(program({.exclusive = true})), Contains(said));
  CHECK_THAT(refuted(program({.forgets = true})), Contains(said));
  CHECK_THAT(refuted(program({.carries_own = true})), Contains("every element is summed once"));
  CHECK_THAT(refuted(program({.carries_last = true})), Contains("|"));
  CHECK_THAT(refuted(program({.every_other = true})), Contains("|"));
  CHECK_THAT(refuted(program({.backwards = true})), Contains("|"));
  CHECK_THAT(refuted(program({.unfilled = true})), Contains("what lies outside of a sum"));
  CHECK_THAT(refuted(program({.rows = 4, .exclusive = true})), Contains(said));
}

TEST_CASE("scan: a step that is another one is refused") {
  const Scan s{.threads = 256, .v = 2, .runs = 2, .distance = 0, .ring = 1};
  const auto nothing = [](Inst&) {};
  REQUIRE(proved_and_wrong(nothing, s, InstKind::fold_lanes, 0).empty());
  const std::size_t steps = 2 * 2 * 6; // what lies below and all of them, of two runs
  for (std::size_t n = 0; n < steps; ++n) {
    INFO("step " << n);
    CHECK_FALSE(proved_and_wrong([](Inst& i) { i.lane_mask = i.lane_mask == 32 ? 1 : 2 * i.lane_mask; }, s,
                                 InstKind::fold_lanes, n)
                    .empty());
    CHECK_FALSE(
        proved_and_wrong([](Inst& i) { i.monoid = Monoid::max; }, s, InstKind::fold_lanes, n).empty());
    // One operand more or less: all of the lanes, or those below.
    CHECK_FALSE(proved_and_wrong(
                    [](Inst& i) {
                      if (i.uses.size() == 2)
                        i.uses.erase(i.uses.begin());
                      else
                        i.uses.push_back(i.uses[0]);
                    },
                    s, InstKind::fold_lanes, n)
                    .empty());
    CHECK_FALSE(proved_and_wrong([](Inst& i) { i.uses.push_back(i.uses[0]), i.uses.push_back(i.uses[0]); }, s,
                                 InstKind::fold_lanes, n)
                    .empty());
  }
  // Waves: those before, one more, one less, half as far apart, none, and what is no such number.
  const Program p = program(s);
  const Code code = code_of(p);
  std::size_t number = 0, masked = 0;
  for (const CodeRegion& r : code.regions)
    for (const Inst& i : r.body) { // what the last trip would carry on nobody asks for
      if (i.kind != InstKind::fold_values) continue;
      if (i.lane_mask > 0) {
        ++masked;
        for (const int mask : {0, 1, 32, 128, 256, 65, -64}) {
          INFO("mask " << mask);
          CHECK_FALSE(proved_and_wrong([&](Inst& x) { x.lane_mask = mask; }, s, InstKind::fold_values, number)
                          .empty());
        }
        CHECK_FALSE(proved_and_wrong([](Inst& x) { std::swap(x.uses[0], x.uses[1]); }, s,
                                     InstKind::fold_values, number)
                        .empty());
        CHECK_FALSE(
            proved_and_wrong([](Inst& x) { x.uses.erase(x.uses.begin()); }, s, InstKind::fold_values, number)
                .empty());
      } else if (i.uses.size() > 1 || i.position.size() == 1) {
        INFO("number " << number << " of " << i.uses.size() << " with " << i.position.size() << " places");
        CHECK_FALSE(
            proved_and_wrong([](Inst& x) { x.lane_mask = 64; }, s, InstKind::fold_values, number).empty());
      }
      ++number;
    }
  CHECK(masked >= 2);
}

TEST_CASE("scan: what it is not made for is an error with what to write") {
  Program k("scan", Target::named("gfx942"), 256);
  const Sym N = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor X = k.input("x", Element::f32, {Sym(2), N}), I = k.input("i", Element::i32, {Sym(1), N});
  const auto of = [&](const Tensor& t, const std::string& tv, std::vector<int> extents) {
    return k.load(k.tile(t, extents, {0, 0}), parse_layout(tv), 1);
  };
  // Two rows, each of two waves; lanes in another order.
  CHECK_THROWS_WITH(k.scan(Monoid::sum, of(X, "((128,2),4):((4@1,1@0),1@1)", {2, 512}), 1),
                    Contains("do not follow one another") && Contains("rows_tv("));
  CHECK_THROWS_WITH(k.scan(Monoid::sum, of(X, "((64,4),1):((4@1,1@1),1@1)", {1, 256}), 1),
                    Contains("do not follow one another"));
  CHECK_THROWS_WITH(k.scan(Monoid::max, of(I, "(256,1):(1@1,1@1)", {1, 256}), 1, Element::i32),
                    Contains("of integers"));
  CHECK_THROWS_WITH(k.scan(Monoid::sum, of(X, "(256,1):(1@1,1@1)", {1, 256}), 2), Contains("no axis 2"));
}

} // namespace scan_test
