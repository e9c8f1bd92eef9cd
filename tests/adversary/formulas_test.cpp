// Grids that a formula of sizes counts, and numbers of tables by blocks: what is counted wrongly is refused.
#include "attack.h"

#include <inlay/kernels/build.h>

#include <catch2/catch.hpp>

namespace formulas_test {

namespace formulas { // names of their own: the folder is one unit

using namespace adversary;
using Catch::Matchers::Contains;

namespace {

using Formula = std::function<Sym(Sym)>;
const Formula half = [](Sym n) { return floor_div(n, Sym(2)); }, all = [](Sym n) { return n; },
              but_one = [](Sym n) { return n - Sym(1); },
              of_three = [](Sym n) { return ceil_div(n, Sym(3)); };

// y(i) = x(step i + by) for i below `results`; the grid counts `counted`.
struct Counted {
  int least = 2, multiple = 1, step = 1, by = 0, tile = 64, workers = 0;
  int moved = 0; ///< tiles, of the store
};
std::function<Program()> counted(const Formula& results, const Formula& number, const Counted& d = {}) {
  return [=] {
    Program k("counted", target(), 64);
    const Sym n = k.size("n", {.least = d.least, .most = 1 << 16, .multiple = d.multiple});
    const Sym m = results(n);
    const Tensor y = k.output("y", Element::f32, {m}), x = k.input("x", Element::f32, {n}),
                 of = k.window("of", x, {{m, {{m, 0, d.step}}}}, {d.by});
    k.computes(y, [&](const auto& c) { return k(of, {c[0]}) * 2.0; });
    const Sym w = k.workgroups(0, number(n), d.tile);
    if (d.workers > 0) k.persistent(d.workers);
    const Fragment f = k.load(k.tile(of, {d.tile}, {w}), line_tv(d.tile, 1, 64), 1);
    k.store(k.map({f}, [](const auto& v) { return v[0] * 2.0; }), k.tile(y, {d.tile}, {w + Sym(d.moved)}), 1);
    return k;
  };
}

// The same of m n elements in one row: the grid counts their product.
std::function<Program()> flat(bool of_both) {
  return [=] {
    Program k("flat", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = 1 << 8});
    const Tensor y = k.output("y", Element::f32, {m * n}), x = k.input("x", Element::f32, {m * n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0]}) * 2.0; });
    const Sym w = k.workgroups(0, of_both ? m * n : m * n - n + Sym(1), 64);
    k.store(k.map({k.load(k.tile(x, {64}, {w}), line_tv(64, 1, 64), 1)},
                  [](const auto& v) { return v[0] * 2.0; }),
            k.tile(y, {64}, {w}), 1);
    return k;
  };
}

// y(i) = x(i) where i is below the number of its block of `block`, which the workgroup reads; 0 elsewhere.
struct Blocks {
  int tile = 64, block = 64;
  int read = 1, per = 1, later = 0; ///< the entry that is read: (read * w + later) / per
  int more = 2;                     ///< entries than blocks
};
std::function<Program()> blocks(const Blocks& d) {
  return [=] {
    Program k("blocks", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12, .multiple = d.block});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
                 t = k.input("t", Element::i32, {floor_div(n, Sym(d.block)) + Sym(d.more)});
    k.computes(y, [&](const auto& c) {
      return inside(c[0], k.value(t, floor_div(c[0], Sym(d.block))), k(x, {c[0]}), 0);
    });
    const Sym w = k.workgroups(0, n, d.tile),
              used = k.uniform(t, floor_div(Sym(d.read) * w + Sym(d.later), Sym(d.per)));
    const Fragment f = k.load(k.tile(x, {d.tile}, {w}), line_tv(d.tile, 1, 64), 1);
    k.store(k.map({f}, [&](const auto& v) { return inside(Sym(d.tile) * w + k.position(0), used, v[0], 0); }),
            k.tile(y, {d.tile}, {w}), 1);
    return k;
  };
}

// y(r, i) = 2 x(r, i), where all rows of x, or all columns, are one in memory.
struct Broadcast {
  std::string place;
  int rows = 4, vector = 1, stored = 1;
  bool past = false; ///< the tile of the next row of tiles
};
std::function<Program()> broadcast(const Broadcast& d) {
  return [=] {
    Program k("broadcast", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}),
              n = k.size("n", {.most = 1 << 10, .multiple = std::max(d.vector, d.stored)});
    const Tensor y = k.output("y", Element::f32, {m, n}),
                 x = k.input("x", Element::f32, {m, n}, place_of(k, d.place));
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}) * 2.0; });
    const Sym bn = k.workgroups(0, n, 64 * d.stored), bm = k.workgroups(1, m, d.rows);
    const Layout tv = rows_tv(d.rows, 64 * d.stored, std::max(d.vector, d.stored), 64);
    const Fragment f =
        k.load(k.tile(x, {d.rows, 64 * d.stored}, {bm + Sym(d.past ? 1 : 0), bn}), tv, d.vector);
    k.store(k.map({f}, [](const auto& v) { return v[0] * 2.0; }),
            k.tile(y, {d.rows, 64 * d.stored}, {bm, bn}), d.stored);
    return k;
  };
}

// Running sums of each row, an element at a time: y(r, i) = sum of x(r, j) for j up to i.
struct Scan {
  int from = 0, to = 1;       ///< the specification sums j from `from` to before i + `to`
  bool stores_before = false; ///< what the sum was before the element is added
};
std::function<Program()> scan(const Scan& d) {
  return [=] {
    Program k("scan", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, Sym(d.from), c[1] + Sym(d.to), [&](Sym j) { return k(x, {c[0], j}); });
    });
    const Sym b = k.workgroups(0, m, 64);
    const Layout tv = rows_tv(64, 1, 1, 64);
    const Fragment sum = k.zeros(Element::f32, tv, {64, 1});
    k.loop(n, 4, {.distance = 0, .ring = 1}, [&](Sym t) {
      for (int j = 0; j < 4; ++j) {
        const Sym at = Sym(4) * t + Sym(j);
        const Fragment f = k.load(k.tile(x, {64, 1}, {b, at}), tv, 1);
        if (d.stores_before) k.store(sum, k.tile(y, {64, 1}, {b, at}), 1);
        k.update(sum, {f}, [](const auto& v) { return v[0] + v[1]; });
        if (!d.stores_before) k.store(sum, k.tile(y, {64, 1}, {b, at}), 1);
      }
    });
    return k;
  };
}

// Sums of x and z of a row, up to a length from memory: the condition around both terms, or in each.
struct Terms {
  bool each_said = true, each_done = false;
  double beyond = 0;  ///< of the second term, in the specification
  double factor = -1; ///< of the second term
  int later = 0;      ///< where the map's condition ends
};
std::function<Program()> terms(const Terms& d) {
  return [=] {
    Program k("terms", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n}),
                 z = k.input("z", Element::f32, {m, n}), lens = k.input("len", Element::i32, {1});
    const Sym len = k.uniform(lens, 0);
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) {
        const Expr a = k(x, {c[0], i}), b = k(z, {c[0], i}) * d.factor;
        return d.each_said ? inside(i, len, a, 0) + inside(i, len, b, d.beyond) : inside(i, len, a + b, 0);
      });
    });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Sym i = Sym(64) * t + k.position(1), end = len + Sym(d.later);
      const auto of = [&](const Tensor& from) { return k.load(k.tile(from, {1, 64}, {row, t}), tv, 1); };
      const Fragment f = k.map({of(x), of(z)}, [&](const auto& v) {
        const Expr a = v[0], b = v[1] * d.factor;
        return inside(
            i, n, d.each_done ? inside(i, end, a, 0) + inside(i, end, b, 0) : inside(i, end, a + b, 0), 0);
      });
      k.update(acc, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// y(i) = x(i + 256) where there is one, in a program with a branch: by another size, by the workgroup, or by the length.
enum class By { other, workgroup, size };
std::function<Program()> behind(By by, bool masked) {
  return [=] {
    Program k("behind", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12}), m = k.size("m", {.most = 100});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& c) { return inside(c[0] + Sym(256), n, k(x, {c[0] + Sym(256)}), 0); });
    const Sym w = k.workgroups(0, n, 256);
    const Layout tv = line_tv(256, 1, 64);
    const auto body = [&] {
      const Fragment f = k.load(k.tile(x, {256}, {w + Sym(1)}), tv, 1);
      k.store(masked ? k.map({f},
                             [&](const auto& v) {
                               return inside(Sym(256) * w + Sym(256) + k.position(0), n, v[0], 0);
                             })
                     : f,
              k.tile(y, {256}, {w}), 1);
    };
    if (by == By::other)
      k.if_less(m, Sym(50), body, body);
    else if (by == By::workgroup)
      k.if_less(Sym(256) * w + Sym(256), n, body,
                [&] { k.store(k.zeros(Element::f32, tv, {256}), k.tile(y, {256}, {w}), 1); });
    else
      k.if_less(n, Sym(300), body, body);
    return k;
  };
}

// y = 2 x, where each trip stores what the one before it loaded.
struct Held {
  int first = 0, ahead = 1; ///< the tiles that are loaded before the loop and in a trip, from its own on
  bool late = false;        ///< what is stored is what the trip itself loads
};
std::function<Program()> held(const Held& d) {
  return [=] {
    Program k("held", target(), 64);
    const Sym n = k.size("n", {.least = 65, .most = 1 << 14});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0]}) * 2.0; });
    (void)k.workgroups(0, 1, 1);
    const Layout tv = line_tv(64, 1, 64);
    const auto load = [&](Sym t) { return k.load(k.tile(x, {64}, {t}), tv, 1); };
    const auto second = [](const auto& v) { return v[1]; };
    const Fragment now = k.zeros(Element::f32, tv, {64});
    k.update(now, {load(Sym(d.first))}, second);
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const auto store = [&] {
        k.store(k.map({now}, [](const auto& v) { return v[0] * 2.0; }), k.tile(y, {64}, {t}), 1);
      };
      if (!d.late) store();
      k.update(now, {load(t + Sym(d.ahead))}, second);
      if (d.late) store();
    });
    return k;
  };
}

// x below a number of the workgroup, and 0 from there on, of which a map takes the one operand or the other.
std::function<Program()> one_of_two(bool filled, double beyond) {
  return [=] {
    Program k("one", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 14});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
                 lens = k.input("len", Element::i32, {1});
    const Sym len = k.uniform(lens, 0);
    k.computes(y, [&](const auto& c) { return inside(c[0], len, k(x, {c[0]}), 0); });
    const Sym w = k.workgroups(0, n, 64);
    const Fragment f = k.load(k.tile(x, {64}, {w}), line_tv(64, 1, 64), 1),
                   below = k.fill(f, 0, Sym(64) * w, len, beyond);
    k.store(k.map({below, f}, [&](const auto& v) { return v[filled ? 0 : 1]; }), k.tile(y, {64}, {w}), 1);
    return k;
  };
}

// y = 2 x of tiles of 4 rows: a role loads them, and each of two others stores two of them.
struct Halves {
  int read[2] = {0, 1}, stored[2] = {0, 1}; ///< which half a role reads, and which it stores
  double factor = 2;                        ///< of the second one
};
std::function<Program()> halves(const Halves& d) {
  return [=] {
    Program k("halves", target(), 256);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
                 lds = k.lds("lds", Element::f32, {4, 32});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}) * 2.0; });
    const Sym bn = k.workgroups(0, n, 32), bm = k.workgroups(1, m, 4);
    const auto part = [&](int role) {
      const Fragment f = k.load(k.tile(lds, {2, 32}, {d.read[role], 0}), rows_tv(2, 32, 1, 64), 1);
      k.store(k.map({f}, [&](const auto& v) { return v[0] * (role == 0 ? 2.0 : d.factor); }),
              k.tile(y, {2, 32}, {Sym(2) * bm + Sym(d.stored[role]), bn}), 1);
    };
    k.roles({{"loader", 2,
              [&] {
                k.copy(k.tile(x, {4, 32}, {bm, bn}), lds, rows_tv(4, 32, 1, 128), 1);
              }},
             {"upper", 1, [&] { part(0); }},
             {"lower", 1, [&] { part(1); }}});
    return k;
  };
}

// y(r) = sum of a row, tile by tile, of which each trip keeps what there was and adds to it, or does not.
std::function<Program()> kept(bool adds, double factor) {
  return [=] {
    Program k("kept", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 14, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }); });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 256, 4, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    k.loop(n, 256, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment f = k.fill(k.load(k.tile(x, {1, 256}, {row, t}), tv, 4), 1, Sym(256) * t, n, 0);
      k.update(acc, {k.fold(Monoid::sum, f, 1)},
               [&](const auto& v) { return adds ? v[0] * factor + v[1] : v[1]; });
    });
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: grids that a formula of sizes counts") {
  const std::vector<Sizes> sizes = {{2}, {3}, {64}, {65}, {127}, {128}, {129}, {130}, {257}, {300}};
  const std::string counts = "workgroups share out axis 0 of y";
  attack({
      {"every other element", "", counted(half, half, {.step = 2}), sizes},
      {"the odd ones", "", counted(half, half, {.step = 2, .by = 1}), sizes},
      {"all but the first", "", counted(but_one, but_one, {.by = 1}), sizes},
      {"of three", "", counted(of_three, of_three, {.least = 1, .step = 3}), sizes},
      {"by workgroups that walk", "", counted(half, half, {.step = 2, .workers = 2}), sizes},
      {"of a size of pairs", "", counted(half, half, {.multiple = 2, .step = 2}), {{2}, {64}, {130}}},
      {"half of the tiles", counts, counted(all, half), sizes},
      {"a tile too few at 64 k + 1", counts, counted(all, but_one), sizes},
      {"more tiles than there are",
       "tiles of y begin inside it",
       counted(half, all),
       sizes,
       {},
       "right by a descriptor whose room is no number there"},
      {"the tile after", "y", counted(half, half, {.step = 2, .moved = 1}), sizes},
      {"extents that may be 0", "may have no coordinate", counted(half, half, {.least = 1}), {{1}}},
      {"of two sizes", "", flat(true), {{1, 1}, {3, 65}, {64, 2}, {7, 31}}},
      {"of two sizes, too few", counts, flat(false), {{2, 64}, {3, 65}}},
  });
}

TEST_CASE("adversary: grids of formulas, as the launch has them") {
  const kernels::Artifact a = kernels::build(counted(half, half, {.step = 2})());
  CHECK(a.contract.plan({2}).grid[0] == 1);
  CHECK(a.contract.plan({129}).grid[0] == 1);
  CHECK(a.contract.plan({130}).grid[0] == 2);
  CHECK_THROWS_WITH(a.contract.plan({1}), Contains("n = 1"));
  const auto grid = [](const char* name, const std::function<Sym(Program&, Sym, const Tensor&)>& extent) {
    Program k(name, target(), 64);
    const Sym n = k.size("n");
    const Tensor y = k.output("y", Element::f32, {n}), t = k.input("t", Element::i32, {n});
    k.computes(y, [&](const auto&) { return k.constant(0); });
    const Sym w = k.workgroups(0, extent(k, n, t), 64);
    k.store(k.zeros(Element::f32, line_tv(64, 1, 64), {64}), k.tile(y, {64}, {w}), 1);
    (void)kernels::contract_of(k);
  };
  CHECK_THROWS_WITH(grid("empty", [](Program&, Sym n, const Tensor&) { return floor_div(n, Sym(2)); }),
                    Contains("n / 2 of n from 2 on"));
  CHECK_THROWS_WITH(
      grid("uniform", [](Program& k, Sym, const Tensor& t) { return k.uniform(t, 0) + Sym(1); }),
      Contains("before anything is read from memory") && Contains("extent t[0]+1"));
}

TEST_CASE("adversary: a number of a table for each block of what is stored") {
  const std::vector<Sizes> sizes = {{64}, {192}, {256}};
  const std::string entry = "a number that the specification reads of a table";
  attack({
      {"a block a workgroup", "", blocks({}), sizes},
      {"half of one", "", blocks({.tile = 64, .block = 128, .per = 2}), {{128}, {384}}},
      {"as many entries as blocks", "", blocks({.more = 0}), sizes},
      {"half of one, as many entries as blocks",
       "",
       blocks({.tile = 64, .block = 128, .per = 2, .more = 0}),
       {{128}, {384}}},
      {"half of one, fewer entries than blocks",
       "is read inside t",
       blocks({.tile = 64, .block = 128, .per = 2, .more = -1}),
       {{256}, {384}}},
      {"the block after", entry, blocks({.later = 1}), sizes},
      {"the first block", entry, blocks({.read = 0}), sizes},
      {"two blocks a workgroup", entry, blocks({.tile = 128, .block = 64, .read = 2}), {{128}, {192}}},
      {"blocks that end inside of a tile",
       entry,
       blocks({.tile = 64, .block = 96, .more = 1 << 7}),
       {{96}, {192}}},
      {"every second one twice",
       entry,
       blocks({.tile = 64, .block = 128, .per = 2, .later = 1}),
       {{128}, {384}}},
  });
}

TEST_CASE("adversary: rows or columns that are one in memory") {
  const std::vector<Sizes> sizes = {{1, 4}, {3, 64}, {4, 68}, {5, 200}, {64, 4}};
  attack({
      {"rows", "", broadcast({.place = "(m,n):(0,1)"}), sizes},
      {"rows in vectors", "", broadcast({.place = "(m,n):(0,1)", .vector = 4, .stored = 4}), sizes},
      {"columns", "", broadcast({.place = "(m,n):(1,0)"}), sizes},
      {"columns, stored in vectors", "", broadcast({.place = "(m,n):(1,0)", .stored = 4}), sizes},
      {"one element", "", broadcast({.place = "(m,n):(0,0)"}), sizes},
      {"the rows behind them",
       "y",
       broadcast({.place = "(m,n):(0,1)", .past = true}),
       sizes,
       {},
       "right where there are whole tiles more; where there are none it is 0"},
      {"columns in vectors", "vector", broadcast({.place = "(m,n):(1,0)", .vector = 4, .stored = 4}), sizes},
  });
}

TEST_CASE("adversary: sums up to each element, added one by one") {
  const std::vector<Sizes> sizes = {{1, 1}, {3, 5}, {65, 8}, {64, 13}};
  const std::string wrong = "y is what the specification says";
  attack({
      {"up to each", "", scan({}), sizes},
      {"before each", wrong, scan({.stores_before = true}), sizes},
      {"from the second on", wrong, scan({.from = 1}), sizes},
      {"up to the one before", wrong, scan({.to = 0}), sizes},
      {"up to the one after", wrong, scan({.to = 2}), sizes},
      {"before each, said so", "", scan({.to = 0, .stores_before = true}), sizes},
  });
}

TEST_CASE("adversary: a condition of a sum is one of its terms where it leaves 0") {
  const std::vector<Sizes> sizes = {{1, 1}, {3, 64}, {2, 100}, {5, 130}};
  const std::string wrong = "y is what the specification says";
  attack({
      {"said of each", "", terms({}), sizes},
      {"done to each", "", terms({.each_said = false, .each_done = true}), sizes},
      {"both", "", terms({.each_done = true}), sizes},
      {"with a factor", "", terms({.factor = 0.5}), sizes},
      {"one later", wrong, terms({.later = 1}), sizes},
      {"1 beyond", wrong, terms({.beyond = 1}), sizes},
      {"1 beyond, done to each", wrong, terms({.each_done = true, .beyond = 1}), sizes},
  });
}

TEST_CASE("adversary: what is right of one trip, and of no more") {
  const std::vector<Sizes> sizes = {{1, 256}, {2, 300}, {1, 1024}};
  attack({
      {"sums of all trips", "", kept(true, 1), sizes},
      {"the last trip alone", ":", kept(false, 1), sizes},
      {"twice what there was", ":", kept(true, 2), sizes},
      {"less what there was", ":", kept(true, -1), sizes},
  });
}

TEST_CASE("adversary: roles that store a part of a tile each") {
  const std::vector<Sizes> sizes = {{1, 1}, {4, 32}, {6, 40}, {7, 33}};
  const std::string wrong = "y is what the specification says";
  attack({
      {"halves", "", halves({}), sizes},
      {"halves, the lower one first", "", halves({{1, 0}, {1, 0}}), sizes},
      {"the other's half", wrong, halves({{1, 0}, {0, 1}}), sizes},
      {"one half twice", wrong, halves({{0, 0}, {0, 1}}), sizes},
      {"both to one half", "every element of y is written once", halves({{0, 0}, {0, 0}}), sizes},
      {"another factor", wrong, halves({.factor = 3}), sizes},
  });
}

TEST_CASE("adversary: a trip stores what the one before it loaded") {
  const std::vector<Sizes> sizes = {{65}, {128}, {129}, {300}};
  const std::string wrong = "y is what the specification says";
  attack({
      {"a tile ahead", "", held({}), sizes},
      {"its own", "", held({.ahead = 0, .late = true}), sizes},
      {"the first tile twice", wrong, held({.ahead = 0}), sizes},
      {"two ahead", wrong, held({.ahead = 2}), sizes},
      {"the second tile first", wrong, held({.first = 1}), sizes},
      {"the tile after its own", wrong, held({.late = true}), sizes},
  });
}

TEST_CASE("adversary: what a map does not look at says nothing of what it gives") {
  const std::vector<Sizes> sizes = {{1}, {64}, {100}};
  const std::string wrong = "y is what the specification says";
  attack({
      {"the one with a length", "", one_of_two(true, 0), sizes},
      {"the one without", wrong, one_of_two(false, 0), sizes},
      {"another number beyond", wrong, one_of_two(true, 1), sizes},
  });
}

TEST_CASE("adversary: tiles behind the end in programs with branches") {
  const std::vector<Sizes> sizes = {{1, 10}, {255, 60}, {256, 50}, {257, 49}, {600, 3}, {1024, 99}};
  attack({
      {"by another size", "", behind(By::other, true), sizes},
      {"by another size, unmasked", "", behind(By::other, false), sizes},
      {"by what there is", "", behind(By::workgroup, true), sizes},
      {"by the size",
       "tiles of x begin inside it",
       behind(By::size, true),
       sizes,
       {},
       "right: a branch by the size might say that they do"},
  });
}

} // namespace formulas

} // namespace formulas_test
