// Loops inside of loops: what a trip leaves to the next one, and what trips store.
#include "attack.h"

#include <inlay/algebra/parse.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

namespace nests_test {

using namespace adversary;

namespace {

// y(m) = max of x(m, n) over n: one workgroup, a loop over tiles of 4 rows around a loop over tiles of 64 columns, which go through
// LDS to other work-items.
struct Rows {
  int columns = 0; ///< as many, and not n
  int ring = 2, distance = 1;
  int passes = 1;    ///< of the loop over columns in a trip
  bool reset = true; ///< the maximum begins anew with each tile of rows
  bool late = false; ///< a trip stores what the one before it had
  bool ahead =
      false; ///< and what there is before the loop is of the first tile, a trip's own of the next one
  std::function<Sym(Sym)> to = [](Sym t) { return t; }, from = [](Sym t) { return t; };
  std::function<Sym(Sym)> row = [](Sym i) { return i; }; ///< y(m) is of this row
  Sym (*extent)(Sym m, Sym n) = [](Sym m, Sym) { return m; };
  Pipeline outer{.distance = 0, .ring = 1};
};
std::function<Program()> rows(Rows how) {
  return [how] {
    Program k("rows", target(), 128);
    const Sym m = k.size("m", {.most = 1 << 10}), size = k.size("n", {.most = 1 << 10}),
              n = how.columns > 0 ? Sym(how.columns) : size;
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}),
                 x = k.input("x", Element::f32, {how.ahead ? m + Sym(4) : m, n}),
                 lds = k.lds("lds", Element::f32, {4, 64});
    k.computes(y, [&](const auto& i) {
      return k.fold(Monoid::max, n, [&](Sym j) { return k(x, {how.row(i[0]), j}); });
    });
    (void)k.workgroups(0, 1, 1);
    const Layout tv = rows_tv(4, 64, 1, 128), down = parse_layout("((64,2),(2,1)):((1@1,2@0),(1@0,0))"),
                 row = without_axis(down, 1);
    const auto empty = [&] { return k.full(-INFINITY, row, {4, 1}); };
    const auto best_of = [&](const Fragment& best, Sym tile) {
      k.loop(n, 64, {.distance = how.distance, .ring = how.ring}, [&](Sym c) {
        k.copy(k.tile(x, {4, 64}, {tile, c}), lds, tv, 1);
        const Fragment part = k.fill(k.read(lds, down, 1), 1, Sym(64) * c, n, -INFINITY);
        k.update(best, {k.fold(Monoid::max, part, 1)}, [](const auto& v) { return max(v[0], v[1]); });
      });
    };
    const Fragment before = how.late ? empty() : Fragment{};
    if (how.ahead) best_of(before, 0);
    const std::optional<Fragment> one = how.reset ? std::optional<Fragment>() : std::optional(empty());
    k.loop(how.extent(m, n), 4, how.outer, [&](Sym t) {
      const Fragment best = one ? *one : empty();
      for (int pass = 1; pass < how.passes; ++pass)
        best_of(empty(), how.from(t)); // nobody asks for what it finds
      best_of(best, how.from(how.ahead ? t + Sym(1) : t));
      k.store(how.late ? before : best, k.tile(y, {4, 1}, {how.to(t), 0}), 1);
      if (how.late) k.update(before, {best}, [](const auto& v) { return v[1]; });
    });
    return k;
  };
}

// y(m) = sum over r of max of x(r, m, n) over n: the outer loop carries the sum.
struct Layers {
  bool adds = true; ///< or keeps the last one
  bool twice = false;
  double start = 0;
  std::function<Sym(Sym)> of = [](Sym r) { return r; };
};
std::function<Program()> layers(Layers how) {
  return [how] {
    Program k("layers", target(), 64);
    const Sym r = k.size("r", {.most = 1 << 6}), m = k.size("m", {.most = 1 << 8}),
              n = k.size("n", {.most = 1 << 8});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {r, m, n});
    k.computes(y, [&](const auto& i) {
      return k.sum(r, [&](Sym l) {
        return k.fold(Monoid::max, n, [&](Sym j) { return k(x, {l, i[0], j}); });
      });
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.full(how.start, row, {4, 1});
    k.loop(r, 1, {.distance = 0, .ring = 1}, [&](Sym l) {
      const Fragment best = k.full(-INFINITY, row, {4, 1});
      k.loop(n, 64, {.distance = 1, .ring = 1}, [&](Sym c) {
        const View tile = k.tile(x, {1, 4, 64}, {how.of(l), w, c}).keep({1, 2});
        const Fragment part = k.fill(k.load(tile, tv, 1), 1, Sym(64) * c, n, -INFINITY);
        k.update(best, {k.fold(Monoid::max, part, 1)}, [](const auto& v) { return max(v[0], v[1]); });
      });
      k.update(sum, {best}, [&](const auto& v) { return how.adds ? v[0] + v[1] : v[1] * 1.0; });
      if (how.twice) k.update(sum, {best}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// y(m) = sum over r of what a trip adds to one accumulator: in a loop over columns, before it, behind it, in another such loop.
struct Added {
  std::string what = "x"; ///< in order: x and v in a loop over n, z by itself, w a fold of one tile
  std::function<Expr(Program&, Sym r, Sym m, const std::function<Expr(char)>&)> said; ///< of a trip
  Sym (*of)(Sym r, Sym n) = [](Sym r, Sym) { return r; };                             ///< the row of z
  Sym (*column)(Sym t) = [](Sym t) { return t; };
  int times = 1; ///< z is added
  double start = 0;
  bool last_out = false; ///< z not in the last trip
  bool masked = false;   ///< z in the trips below 2 alone
  bool doubles = false;  ///< the accumulator, between
  int pipeline = 1;
};
std::function<Program()> added(Added how) {
  return [how] {
    Program k("added", target(), 64);
    const Element e = Element::f32;
    const Sym r = k.size("r", {.most = 1 << 6}), m = k.size("m", {.most = 1 << 8}),
              n = k.size("n", {.most = 1 << 8});
    const Tensor y = k.output("y", e, {m, Sym(1)}), x = k.input("x", e, {r, m, n}),
                 v = k.input("v", e, {r, m, n}), z = k.input("z", e, {r, m, Sym(1)}),
                 w = k.input("w", e, {r, m, Sym(64)});
    k.computes(y, [&](const auto& i) {
      return k.sum(r, [&](Sym l) {
        return how.said(k, l, i[0], [&](char c) {
          if (c == 'z') return k(z, {l, i[0], Sym(0)});
          return k.sum(c == 'w' ? Sym(64) : n, [&](Sym j) {
            return k(c == 'x' ? x : c == 'v' ? v : w, {l, i[0], j});
          });
        });
      });
    });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64), one = without_axis(tv, 1);
    const Fragment acc = k.full(how.start, one, {1, 1});
    const auto plus = [&](const auto& a) { return a[0] + a[1]; };
    const auto fold = [&](const Fragment& f) { return k.fold(Monoid::sum, f, 1); };
    k.loop(r, 1, {.distance = 0, .ring = 1}, [&](Sym l) {
      for (const char c : how.what) {
        if (c == 'z') {
          const Fragment f = k.load(k.tile(z, {1, 1, 1}, {how.of(l, n), row, Sym(0)}).keep({1, 2}), one, 1);
          const auto update = [&] {
            for (int t = 0; t < how.times; ++t) k.update(acc, {f}, plus);
          };
          if (how.last_out)
            k.if_less(l, r - Sym(1), update);
          else if (how.masked)
            k.if_less(l, Sym(2), update);
          else
            update();
        } else if (c == 'w') {
          k.update(acc, {fold(k.load(k.tile(w, {1, 1, 64}, {l, row, Sym(0)}).keep({1, 2}), tv, 1))}, plus);
        } else {
          k.loop(n, 64, {.distance = how.pipeline, .ring = how.pipeline + 1}, [&](Sym t) {
            k.update(acc,
                     {fold(k.load(k.tile(c == 'x' ? x : v, {1, 1, 64}, {l, row, how.column(t)}).keep({1, 2}),
                                  tv, 1))},
                     plus);
          });
        }
        if (how.doubles) k.update(acc, {}, [&](const auto& a) { return a[0] * 2; });
      }
    });
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// y = x by way of LDS and other work-items, in tiles of 4 x 64 that a few workgroups walk over.
std::function<Program()> walked(int workers, const std::function<void(Shares&)>& change = {},
                                bool again = false) {
  return [=] {
    Program k("walked", target(), 128);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
                 lds = k.lds("lds", Element::f32, {4, 64});
    k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
    const Sym bm = k.workgroups(0, m, 4), bn = again ? Sym(0) : k.workgroups(1, n, 64);
    k.persistent(workers);
    if (change) change(*k.mutable_shares());
    k.copy(k.tile(x, {4, 64}, {bm, bn}), lds, rows_tv(4, 64, 1, 128), 1);
    k.store(k.read(lds, parse_layout("((64,2),(2,1)):((1@1,2@0),(1@0,0))"), 1), k.tile(y, {4, 64}, {bm, bn}),
            1);
    return k;
  };
}

const std::vector<Sizes> of_rows = {{4, 64}, {9, 130}, {1, 500}, {14, 70}},
                         of_layers = {{1, 4, 64}, {2, 5, 70}, {3, 1, 130}, {5, 9, 20}};

} // namespace

TEST_CASE("adversary: what trips of a loop around loops store") {
  const std::string once = "every element of y is written once", what = "y is what the specification says",
                    inside = "begin inside it";
  const auto same = [](const std::function<Sym(Sym)>& tile) { return rows({.to = tile, .from = tile}); };
  // y(m) is of row m % 4. A trip stores what the one before it kept.
  const auto first = [](const std::function<Sym(Sym)>& tile) {
    return rows(
        {.late = true, .ahead = true, .from = tile, .row = [](Sym i) { return floor_mod(i, Sym(4)); }});
  };
  // As many trips of the inner loop as come before its induction, and as there are in it.
  for (const int columns : {64, 128, 192, 256, 320, 448})
    for (const int ring : {1, 2, 3})
      attack({{"each its rows, of fixed length", "",
               rows({.columns = columns, .ring = ring, .distance = ring}), of_rows},
              {"what the trip before had", what,
               rows({.columns = columns, .ring = ring, .distance = ring, .late = true}), of_rows}});
  attack({
      {"each its rows", "", rows({}), of_rows},
      {"one stage, nothing ahead", "", rows({.ring = 1, .distance = 0}), of_rows},
      {"two passes, nothing ahead", "", rows({.ring = 1, .distance = 0, .passes = 2}), of_rows},
      {"two passes through the same stages", "", rows({.passes = 2}), of_rows},
      {"two passes through the same stages, two ahead", "", rows({.distance = 2, .passes = 2}), of_rows},
      {"three stages, three ahead", "", rows({.ring = 3, .distance = 3, .passes = 3}), of_rows},
      {"the maximum of all trips so far", what, rows({.reset = false}), of_rows},
      {"what the trip before had", what, rows({.late = true}), of_rows},
      {"to the next rows", inside, rows({.to = [](Sym t) { return t + Sym(1); }}), of_rows},
      {"to the first rows", what, rows({.to = [](Sym) { return Sym(0); }}), of_rows},
      {"of the first rows", what, rows({.from = [](Sym) { return Sym(0); }}), of_rows},
      {"of the next rows", inside, rows({.from = [](Sym t) { return t + Sym(1); }}), of_rows},
      {"the first rows in each trip", once, same([](Sym) { return Sym(0); }), of_rows},
      {"the same rows in two trips", once, same([](Sym t) { return floor_div(t, Sym(2)); }), of_rows},
      {"two tiles in turn", once, same([](Sym t) { return floor_mod(t, Sym(2)); }), of_rows},
      {"every other tile", inside, same([](Sym t) { return Sym(2) * t; }), of_rows},
      {"the first rows in each trip, kept", "", first([](Sym) { return Sym(0); }), {{1, 64}, {41, 70}}},
      {"the first rows in the first five trips, kept for the next",
       "the loop's state repeats",
       first([](Sym t) { return floor_div(t, Sym(5)); }),
       {{41, 70}}},
      {"as many trips as columns have", inside, rows({.extent = [](Sym, Sym n) { return n; }}), of_rows},
  });
}

TEST_CASE("adversary: what a loop around loops carries") {
  const std::string what = "y is what the specification says";
  attack({
      {"a sum of maxima", "", layers({}), of_layers},
      {"the last one alone", what, layers({.adds = false}), of_layers},
      {"each twice", what, layers({.twice = true}), of_layers},
      {"from 1 on", what, layers({.start = 1}), of_layers},
      {"the next layer", "begin inside it", layers({.of = [](Sym l) { return l + Sym(1); }}), of_layers},
      {"the first layer in each trip", what, layers({.of = [](Sym) { return Sym(0); }}), of_layers},
      {"each layer in two trips", what, layers({.of = [](Sym l) { return floor_div(l, Sym(2)); }}),
       of_layers},
  });
}

TEST_CASE("adversary: what loops in a trip, and the trip itself, add to one accumulator") {
  const std::string what = "y is what the specification says";
  using Of = std::function<Expr(char)>;
  const auto all = [](Program&, Sym, Sym, const Of& of) { return of('x') + of('z'); };
  const auto x = [](Program&, Sym, Sym, const Of& of) { return of('x'); };
  const auto xv = [](Program&, Sym, Sym, const Of& of) { return of('x') + of('v'); };
  const auto four = [](Program&, Sym, Sym, const Of& of) { return of('x') + of('v') + of('z') + of('w'); };
  const std::vector<Sizes> sizes = {{1, 2, 1}, {2, 3, 64}, {3, 2, 70}, {5, 1, 200}};
  attack({
      {"one loop", "", added({.what = "x", .said = x}), sizes},
      {"and behind it", "", added({.what = "xz", .said = all}), sizes},
      {"and before it", "", added({.what = "zx", .said = all}), sizes},
      {"two loops", "", added({.what = "xv", .said = xv}), sizes},
      {"two loops, nothing ahead", "", added({.what = "xv", .said = xv, .pipeline = 0}), sizes},
      {"everything", "", added({.what = "xwzv", .said = four}), sizes},
      {"everything, in another order", "", added({.what = "zvxw", .said = four}), sizes},
      {"behind it, and not said", what, added({.what = "xz", .said = x}), sizes},
      {"said, and not added", what, added({.what = "x", .said = all}), sizes},
      {"the first loop twice", what, added({.what = "xx", .said = x}), sizes},
      {"the other one for it", what, added({.what = "xx", .said = xv}), sizes},
      {"twice behind it", what, added({.what = "xz", .said = all, .times = 2}), sizes},
      {"of the first trip in all", what,
       added({.what = "xz", .said = all, .of = [](Sym, Sym) { return Sym(0); }}), sizes},
      {"of the next trip", what,
       added({.what = "xz", .said = all, .of = [](Sym r, Sym) { return r + Sym(1); }}), sizes},
      {"of every second trip", what,
       added({.what = "xz", .said = all, .of = [](Sym r, Sym) { return floor_div(r, Sym(2)); }}), sizes},
      {"the first columns again", "every element is summed once",
       added({.what = "xz", .said = all, .column = [](Sym) { return Sym(0); }}), sizes},
      {"not in the last trip", "is over the whole extent",
       added({.what = "xz", .said = all, .last_out = true}), sizes},
      {"in two trips alone", "is over the whole extent", added({.what = "xz", .said = all, .masked = true}),
       sizes},
      {"from 1 on", what, added({.what = "xz", .said = all, .start = 1}), sizes},
      {"doubled on the way", what, added({.what = "xz", .said = all, .doubles = true}), sizes},
  });
}

TEST_CASE("adversary: workgroups that walk over tiles") {
  const std::vector<Sizes> sizes = {{4, 64}, {9, 130}, {1, 500}, {14, 70}};
  attack({
      {"one", "", walked(1), sizes},
      {"three", "", walked(3), sizes},
      {"more than there are tiles", "", walked(64), sizes},
      {"an axis that they do not walk along", "axis 1 of y", walked(3, {}, true), sizes},
      {"another worker's tiles too", "each trip of each tile is in one share",
       walked(3, [](Shares& s) { s.each[0].value = s.turn; }), sizes},
      {"the next tile", "each trip of each tile is in one share",
       walked(3, [](Shares& s) { s.each[0].value += Sym(1); }), sizes},
  });
}

TEST_CASE("adversary: barriers and waits in a loop around loops") {
  for (const auto& make :
       {rows({}), rows({.ring = 1, .distance = 0}), rows({.ring = 1, .distance = 2}), walked(2)}) {
    const Program p = make();
    const Graph graph = expand(p);
    const Code code = apply(graph, default_schedule(graph));
    int tried = 0, refused = 0;
    for (std::size_t region = 0; region < code.regions.size(); ++region)
      for (const auto list : {&CodeRegion::prologue, &CodeRegion::body, &CodeRegion::epilogue})
        for (std::size_t at = 0; at < (code.regions[region].*list).size(); ++at) {
          const InstKind kind = (code.regions[region].*list)[at].kind;
          if (kind != InstKind::wait && kind != InstKind::barrier) continue;
          Code other = code;
          auto& of = other.regions[region].*list;
          of.erase(of.begin() + static_cast<std::ptrdiff_t>(at));
          ++tried;
          INFO("region " << region << ", " << to_string(kind) << " at " << at << "\n" << code.text());
          const std::string why = mutate::refuted(other);
          refused += !why.empty();
          if (why.empty()) CHECK(mutate::wrong(other, of_rows) == "");
        }
    CHECK(tried > 3);
    CHECK(2 * refused > tried);
  }
}

TEST_CASE("adversary: loops that do not hold loops") {
  const auto nested =
      [](const std::function<void(Program&, Sym, const Tensor&, const Tensor&, const Layout&)>& trip,
         bool in_place = false, const std::function<Sym(Sym, Sym)>& extent = {}) {
        return [=] {
          Program k("nested", target(), 64);
          const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
          const Tensor y = in_place ? k.inout("y", Element::f32, {m, n})
                                    : k.output("y", Element::f32, {m, n}),
                       x = k.input("x", Element::f32, {m, n});
          k.computes(y, [&](const auto& i) {
            return in_place ? k(y, {i[0], i[1]}) * 2.0 : k(x, {i[0], i[1]});
          });
          const Sym w = k.workgroups(0, n, 64);
          k.loop(extent ? extent(m, w) : m, 1, {.distance = 0, .ring = 1},
                 [&](Sym t) { trip(k, t, y, x, rows_tv(1, 64, 1, 64)); });
          return k;
        };
      };
  const auto of_columns = [](Program& k, Sym t, const Tensor& y, const Tensor& x, const Layout& tv) {
    k.loop(1, 1, {.distance = 0, .ring = 1}, [&](Sym) {
      k.store(k.load(k.tile(x, {1, 64}, {t, k.axis(0).symbol}), tv, 1),
              k.tile(y, {1, 64}, {t, k.axis(0).symbol}), 1);
    });
  };
  const std::vector<Sizes> sizes = {{1, 64}, {3, 70}, {6, 130}};
  const std::string unseen = "it is right, and the rules do not follow it";
  attack({
      {"rows one by one", "", nested(of_columns), sizes},
      {"what it doubles in place",
       "read inside of a loop that holds loops",
       nested(
           [](Program& k, Sym t, const Tensor& y, const Tensor&, const Layout& tv) {
             k.loop(1, 1, {.distance = 0, .ring = 1}, [&](Sym) {
               const View at = k.tile(y, {1, 64}, {t, k.axis(0).symbol});
               k.store(k.map({k.load(at, tv, 1)}, [](const auto& v) { return v[0] * 2.0; }), at, 1);
             });
           },
           true),
       sizes,
       {},
       unseen},
      {"to the lesser of two ends", "ends at one number",
       nested(of_columns, false, [](Sym m, Sym w) { return min(m, Sym(64) * w + Sym(64)); }), sizes},
      {"ahead", "is not pipelined", rows({.outer = {.distance = 1, .ring = 2}}), of_rows},
  });
}

TEST_CASE("adversary: the number of a trip after its loop", "[error]") {
  // y(i) = sum over j of x(i, j); what is stored, loaded, or carried on after the loop, depends on its trip.
  const auto refusal = [](int how) {
    Program k("rows", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& i) { return k.sum(n, [&](Sym j) { return k(x, {i[0], j}); }); });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    Sym last{};
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      last = t;
      k.update(sum, {k.fold(Monoid::sum, k.load(k.tile(x, {1, 64}, {row, t}), tv, 1), 1)},
               [](const auto& v) { return v[0] + v[1]; });
    });
    const int line = __LINE__ + 1;
    if (how == 1) (void)k.load(k.tile(x, {1, 64}, {row, last}), tv, 1);
    if (how == 2) sum = k.map({sum}, [&](const auto& v) { return v[0] + k.number(last); });
    k.store(sum, k.tile(y, {1, 1}, {how == 3 ? last : row, 0}), 1);
    try {
      (void)expand(k);
    } catch (const CodegenError& e) {
      const std::string said = e.what();
      CHECK_THAT(said, Catch::Matchers::Contains(", is used outside of its loop") &&
                           Catch::Matchers::Contains("line   " + std::to_string(line + how - 1)) &&
                           Catch::Matchers::Contains("inside of the loop"));
      return true;
    }
    return false;
  };
  CHECK(!refusal(0));
  for (const int how : {1, 2, 3}) CHECK(refusal(how));
}

} // namespace nests_test
