// Accumulators of several sums: what they held before, and products of other operands, in one loop or in several.
#include "attack.h"

#include <catch2/catch.hpp>

namespace sums_test {

namespace sums {

using namespace adversary;

namespace {

enum class Begins { with_zeros, with_a_row, with_a_matrix };
struct Several {
  int products = 2;
  bool one_loop = true;
  Begins begins = Begins::with_zeros;
  bool taps = false;    ///< of one row of pixels: products of x(m + tap, i), by windows
  bool forgets = false; ///< the last product
  bool twice = false;   ///< instead, the first product again
  bool after = false;   ///< a map in the loop looks at the accumulator
  bool stale = false;   ///< the specification has no row or matrix
  Pipeline pipeline{.distance = 1, .ring = 2};
};
// c(m, n) = what was there + sum of x_s(m, i) w_s(n, i) over i, for each s.
std::function<Program()> several(Several how) {
  return [how] {
    const Element e = Element::f16;
    const MmaTiling mma =
        MmaTiling::of(Atom::mma_best(target(), e, e, Element::f32, 16), 2, 1, 32, 32, 32, 8);
    Program k("several", target(), mma.threads());
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10, .multiple = 4}),
              deep = k.size("k", {.most = 1 << 10, .multiple = 8});
    const Tensor c = k.output("c", Element::f32, {m, n}), row = k.input("row", Element::f32, {1, n}),
                 matrix = k.input("matrix", Element::f32, {m, n});
    std::vector<Tensor> x, w;
    const Tensor pixels = how.taps ? k.input("pixels", e, {m, deep}) : Tensor{};
    for (int s = 0; s < how.products; ++s) {
      const std::string number = std::to_string(s);
      x.push_back(how.taps
                      ? k.window("tap" + number, pixels, {{m, {{m, 0}}}, {deep, {{deep, 1}}}}, {s - 1, 0})
                      : k.input("x" + number, e, {m, deep}));
      w.push_back(k.input("w" + number, e, {n, deep}));
    }
    k.computes(c, [&](const auto& at) {
      Expr all = how.stale                             ? k.constant(0)
                 : how.begins == Begins::with_a_row    ? k(row, {0, at[1]})
                 : how.begins == Begins::with_a_matrix ? k(matrix, {at[0], at[1]})
                                                       : k.constant(0);
      for (std::size_t s = 0; s < x.size(); ++s)
        all = all + k.sum(deep, [&](Sym i) { return k(x[s], {at[0], i}) * k(w[s], {at[1], i}); });
      return all;
    });
    const Sym bn = k.workgroups(0, n, 32), bm = k.workgroups(1, m, 32);
    const Layout rows = rows_tv(32, 32, 8, mma.threads());
    const std::vector<int> tile{32, 32};
    Fragment acc =
        how.begins == Begins::with_a_matrix
            ? k.map({k.load(k.tile(matrix, tile, {bm, bn}), mma.c(), 1)}, [](const auto& v) { return v[0]; })
            : k.zeros(Element::f32, mma.c(), tile);
    if (how.begins == Begins::with_a_row)
      k.update(acc, {k.load(k.tile(row, {1, 32}, {0, bn}), without_axis(mma.c(), 0), 1)},
               [](const auto& v) { return v[0] + v[1]; });
    std::vector<Tensor> lds;
    for (int s = 0; s < (how.one_loop ? how.products : 1); ++s)
      for (const char* name : {"x_lds", "w_lds"})
        lds.push_back(k.lds(name + std::to_string(s), e, tile, Swizzle(2, 3, 3)));
    const auto add = [&](std::size_t s, Sym t) {
      const std::size_t of = how.twice && s == x.size() - 1 ? 0 : s, at = how.one_loop ? 2 * s : 0;
      k.copy(k.tile(x[of], tile, {bm, t}), lds[at], rows, 8);
      k.copy(k.tile(w[of], tile, {bn, t}), lds[at + 1], rows, 8);
      k.mma(acc, k.read(lds[at], mma.a(), 8), k.read(lds[at + 1], mma.b(), 8), mma);
      if (how.after) k.update(acc, {}, [](const auto& v) { return v[0] * 2; });
    };
    const std::size_t count = x.size() - (how.forgets ? 1 : 0);
    if (how.one_loop)
      k.loop(deep, 32, how.pipeline, [&](Sym t) {
        for (std::size_t s = 0; s < count; ++s) add(s, t);
      });
    else
      for (std::size_t s = 0; s < count; ++s) k.loop(deep, 32, how.pipeline, [&, s](Sym t) { add(s, t); });
    k.store(acc, k.tile(c, tile, {bm, bn}), 4);
    return k;
  };
}

// y(m) = the fold of a row, of which some waves have the same elements.
std::function<Program()> replicas(Monoid monoid, const std::string& layout, int columns, int threads) {
  return [=] {
    Program k("replicas", target(), threads);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = columns});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k.fold(monoid, n, [&](Sym i) { return k(x, {c[0], i}); }); });
    const Sym b = k.workgroups(0, m, 4);
    const Fragment row = k.load(k.tile(x, {4, columns}, {b, 0}), parse_layout(layout), 1);
    const Fragment all = monoid == Monoid::sum ? row : k.fill(row, 1, 0, n, empty_element(monoid));
    k.store(k.fold(monoid, all, 1), k.tile(y, {4, 1}, {b, 0}), 1);
    return k;
  };
}

// y(s) = the sum of the rows from starts(s) to before starts(s + 1), by a loop that begins and ends where memory says.
struct Segments {
  int begin = 0, end = 0,
      otherwise = 0;                 ///< added to where the loop begins and ends, and what an empty one is
  bool whole = true, bounded = true; ///< the branch asks for both; the loop ends with the rows
  bool far = false;
  Pipeline pipeline{.distance = 0, .ring = 1};
  bool square = false; ///< of the sum
};
std::function<Program()> segments(Segments how) {
  return [how] {
    Program k("segments", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              d = k.size("d", {.most = 1 << 9, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {m, d}), x = k.input("x", Element::f32, {n, d}),
                 starts = k.input("starts", Element::i32, {m + Sym(1)});
    if (how.far) k.far(x);
    k.computes(y, [&](const auto& c) {
      const Expr sum = k.sum(n, k.value(starts, c[0]), k.value(starts, c[0] + Sym(1)), [&](Sym i) {
        return k(x, {i, c[1]});
      });
      return how.square ? sum * sum : sum;
    });
    const Sym s = k.workgroups(0, m, 1), b = k.workgroups(1, d, 256), first = k.uniform(starts, s),
              last = k.uniform(starts, s + Sym(1));
    const Layout tv = rows_tv(1, 256, 4, 64), row = without_axis(tv, 0);
    const View to = k.tile(y, {1, 256}, {s, b});
    const Sym end = how.bounded ? min(n, last) : last;
    k.if_less(
        first, how.whole ? min(n, last) : last,
        [&] {
          const Fragment acc = k.zeros(Element::f32, row, {1, 256});
          k.loop(first + Sym(how.begin), end + Sym(how.end), 1, how.pipeline, [&](Sym t) {
            k.update(acc, {k.load(k.tile(x, {1, 256}, {t, b}), tv, 4)},
                     [](const auto& v) { return v[0] + v[1]; });
          });
          k.store(how.square ? k.map({acc}, [](const auto& v) { return v[0] * v[0]; }) : acc, to, 4);
        },
        [&] {
          k.store(k.full(how.otherwise, row, {1, 256}), to, 4);
        });
    return k;
  };
}

} // namespace

TEST_CASE("sums: segments, from where memory says to where it says") {
  const std::vector<Sizes> sizes = {{9, 8, 4}, {3, 1, 260}, {20, 30, 8}};
  const std::string specified = "y is what the specification says", once = "the loop runs at least once";
  attack({{"as they are", "", segments({}), sizes},
          {"by 64 bits", "", segments({.far = true}), sizes},
          {"squared", "", segments({.square = true}), sizes},
          {"loaded ahead", "begins where memory says loads nothing ahead",
           segments({.pipeline = {.distance = 1, .ring = 2}}), sizes},
          {"one row late", once, segments({.begin = 1}), sizes},
          {"an end one row late", once, segments({.end = 1}), sizes},
          {"an empty one is 1", specified, segments({.otherwise = 1}), sizes},
          {"not asked whether it begins inside", once, segments({.whole = false}), sizes},
          {"beyond the rows",
           "may start past n",
           segments({.bounded = false}),
           sizes,
           {},
           "right where no segment ends past the rows"}});
}

TEST_CASE("sums: waves that have the same elements of a row") {
  std::vector<Attack> all;
  for (const Monoid monoid : {Monoid::sum, Monoid::max})
    for (const char* layout :
         {"((16,4,2,2),2):((2@1,1@0,0,32@1),1@1)", "((16,4,2,2),2):((2@1,1@0,32@1,0),1@1)",
          "((32,2,2,2),2):((1@1,2@0,32@1,0),1@0)"})
      all.push_back({std::string(to_string(monoid)) + " " + layout,
                     "",
                     replicas(monoid, layout, 64, 256),
                     {{4, 64}, {7, 33}, {1, 1}}});
  all.push_back({"six waves",
                 "a number of waves that is a power of two",
                 replicas(Monoid::sum, "((16,4,2,3),2):((2@1,1@0,0,32@1),1@1)", 96, 384),
                 {{4, 96}, {7, 33}}});
  attack(all);
}

namespace {
// y(m) is `factor` times the sum of x(m, n) over n, of two sums that are over and added.
enum class Twice { one_sum, two_sums, updated };
std::function<Program()> twice_summed(Twice how, double factor) {
  return [=] {
    Program k("twice", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }) * factor; });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const auto add = [](const auto& v) { return v[0] + v[1]; };
    const auto sum = [&] {
      const Fragment acc = k.zeros(Element::f32, row, {4, 1});
      k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
        k.update(acc, {k.fold(Monoid::sum, k.load(k.tile(x, {4, 64}, {w, t}), tv, 1), 1)}, add);
      });
      return acc;
    };
    const Fragment one = sum(), other = how == Twice::one_sum ? one : sum();
    if (how == Twice::updated) k.update(other, {one}, add);
    k.store(how == Twice::updated ? other : k.map({one, other}, add), k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}
// y(m) is a fold of x(m, n) over n, `step` columns a trip, of which each looks at 64.
std::function<Program()> overlapping(Monoid monoid, int step, bool masked = true) {
  return [=] {
    Program k("overlapping", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k.fold(monoid, n, [&](Sym i) { return k(x, {c[0], i}); }); });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), row = without_axis(tv, 1);
    const double empty = empty_element(monoid);
    const Fragment acc = k.full(empty, row, {4, 1});
    k.loop(n, step, {.distance = 0, .ring = 1}, [&](Sym t) {
      View at = k.tile(x, {4, 64}, {w, 0});
      at.origin[1] = Sym(step) * t;
      Fragment f = k.load(at, tv, 1);
      if (masked)
        f = k.map({f}, [&](const auto& v) { return inside(Sym(step) * t + k.position(1), n, v[0], empty); });
      k.update(acc, {k.fold(monoid, f, 1)}, [&](const auto& v) {
        return monoid == Monoid::sum   ? v[0] + v[1]
               : monoid == Monoid::max ? max(v[0], v[1])
                                       : min(v[0], v[1]);
      });
    });
    k.store(acc, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}
// y(m) = sum of x(m, i) + sum of z(m, i), both in one accumulator of which each trip adds a tile's.
struct Pair {
  bool two_updates = false;
  bool product = false;  ///< x z and x, in place of x and z
  bool mma = false;      ///< beside a product of matrices, c(m, n)
  bool first = false;    ///< the update comes before the product
  bool again = false;    ///< x in the place of z
  bool forgets = false;  ///< z
  bool scales = false;   ///< what was there, too
  bool replaces = false; ///< what was there
  bool twice = false;    ///< z counts twice
  bool looks = false;    ///< a map in the loop looks at the accumulator
  int further = 0;       ///< tiles of z after the trip's
  bool said = true;      ///< z, of the specification
  Pipeline pipeline{.distance = 1, .ring = 2};
};
std::function<Program()> pair(Pair how) {
  return [how] {
    const MmaTiling mma = MmaTiling::of(
        Atom::mma_best(target(), Element::f16, Element::f16, Element::f32, 16), 1, 1, 16, 16, 32, 8);
    Program k("pair", target(), 64);
    const int wide = how.mma ? 32 : 64, rows = how.mma ? 16 : 4;
    const Sym m = k.size("m", {.most = 1 << 9}), n = k.size("n", {.most = 1 << 9}),
              deep = k.size("k", {.most = 1 << 10, .multiple = how.mma ? 8 : 1});
    const Tensor y = k.output("y", Element::f32, {m, how.mma ? n : Sym(1)}),
                 x = k.input("x", Element::f32, {m, deep}), z = k.input("z", Element::f32, {m, deep}),
                 a = k.input("a", Element::f16, {m, deep}), b = k.input("b", Element::f16, {n, deep});
    k.computes(y, [&](const auto& c) {
      const auto sum = [&](const Tensor& t) { return k.sum(deep, [&](Sym i) { return k(t, {c[0], i}); }); };
      if (how.mma)
        return k.sum(deep, [&](Sym i) {
          return k(a, {c[0], i}) * k(b, {c[1], i});
        }) + (how.said ? sum(x) : k.constant(0));
      const Expr other = how.product ? k.sum(deep,
                                             [&](Sym i) {
                                               return k(x, {c[0], i}) * k(z, {c[0], i});
                                             })
                                     : sum(z);
      return how.said ? sum(x) + other : sum(x);
    });
    const Sym bn = how.mma ? k.workgroups(0, n, 16) : Sym(0), bm = k.workgroups(1, m, rows);
    const Layout tv = rows_tv(rows, wide, 1, 64), row = without_axis(tv, 1);
    const std::vector<int> tile{rows, how.mma ? 16 : 1};
    const Fragment acc = k.zeros(Element::f32, how.mma ? mma.c() : row, tile);
    k.loop(deep, wide, how.pipeline, [&](Sym t) {
      const auto load = [&](const Tensor& of, Sym at) {
        return k.load(k.tile(of, {rows, wide}, {bm, at}), tv, 1);
      };
      const auto fold = [&](const Fragment& f) { return k.fold(Monoid::sum, f, 1); };
      const Fragment f = load(x, how.mma ? t + Sym(how.further) : t);
      if (how.mma) {
        const auto update = [&] {
          k.update(acc, {k.relayout(fold(f), without_axis(mma.c(), 1), Element::f32)},
                   [&](const auto& v) { return v[0] + v[1] * k.constant(how.twice ? 2 : 1); });
        };
        if (how.first) update();
        k.mma(acc, k.load(k.tile(a, {16, 32}, {bm, t}), mma.a(), 8),
              k.load(k.tile(b, {16, 32}, {bn, t}), mma.b(), 8), mma);
        if (!how.first && !how.forgets) update();
      } else {
        const Fragment other = load(z, t + Sym(how.further)),
                       both =
                           how.product ? k.map({f, other}, [](const auto&v) { return v[0] * v[1]; }) : other;
        const auto parts = [&](const std::vector<Fragment>& of) {
          k.update(acc, of, [&](const auto& v) {
            Expr all = how.scales ? v[0] * 0.5 : how.replaces ? k.constant(0) : v[0];
            all = all + v[1];
            if (v.size() > 2) all = all + v[2] * k.constant(how.twice ? 2 : 1);
            return all;
          });
        };
        if (how.forgets) {
          parts({fold(f)});
        } else if (how.two_updates) {
          parts({fold(f)}), parts({fold(both)});
        } else {
          parts({fold(f), fold(how.again ? f : both)});
        }
      }
      if (how.looks) k.update(acc, {}, [](const auto& v) { return v[0] * 2; });
    });
    k.store(acc, k.tile(y, tile, {bm, bn}), 1);
    return k;
  };
}
// y(m) is the greatest of 192 columns of x, of which the program looks at 64 from each begin on.
std::function<Program()> greatest_of(std::vector<int> begins) {
  return [=] {
    Program k("greatest", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, Sym(192)});
    k.computes(y, [&](const auto& c) {
      return k.fold(Monoid::max, Sym(192), [&](Sym i) { return k(x, {c[0], i}); });
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64);
    const Fragment acc = k.full(empty_element(Monoid::max), without_axis(tv, 1), {4, 1});
    for (const int begin : begins) {
      View at = k.tile(x, {4, 64}, {w, 0});
      at.origin[1] = Sym(begin);
      k.update(acc, {k.fold(Monoid::max, k.load(at, tv, 1), 1)},
               [](const auto& v) { return max(v[0], v[1]); });
    }
    k.store(acc, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}
} // namespace

TEST_CASE("sums: two sums that a trip adds to one accumulator") {
  const std::vector<Sizes> sizes = {{1, 1, 1}, {5, 1, 64}, {9, 1, 130}, {4, 1, 300}},
                           products = {{1, 1, 32}, {17, 20, 96}, {5, 16, 40}};
  const std::string says = "y is what the specification says";
  attack({
      {"in one update", "", pair({}), sizes},
      {"in two", "", pair({.two_updates = true}), sizes},
      {"a product and a row", "", pair({.product = true}), sizes},
      {"a product and a row in two", "", pair({.two_updates = true, .product = true}), sizes},
      {"one stage", "", pair({.pipeline = {.distance = 0, .ring = 1}}), sizes},
      {"three stages", "", pair({.two_updates = true, .pipeline = {.distance = 2, .ring = 3}}), sizes},
      {"after a product of matrices", "", pair({.mma = true}), products},
      {"before a product of matrices", "", pair({.mma = true, .first = true}), products},
      {"one of them twice", says, pair({.again = true}), sizes},
      {"one of them alone", says, pair({.forgets = true}), sizes},
      {"one that nobody asked for", says, pair({.said = false}), sizes},
      {"one that counts twice", says, pair({.twice = true}), sizes},
      {"what was there by half", ":", pair({.scales = true}), sizes},
      {"what was there by half in two", ":", pair({.two_updates = true, .scales = true}), sizes},
      {"what was there is forgotten", ":", pair({.replaces = true}), sizes},
      {"looked at on the way", ":", pair({.looks = true}), sizes},
      {"of the next tile", ":", pair({.further = 1}), sizes},
      {"a row that counts twice beside a product", says, pair({.mma = true, .twice = true}), products},
      {"a row that is forgotten beside a product", says, pair({.mma = true, .forgets = true}), products},
      {"a row that nobody asked for beside a product", says,
       pair({.mma = true, .first = true, .said = false}), products},
      {"a row of the next tile beside a product", ":", pair({.mma = true, .further = 1}), products},
      {"looked at beside a product", ":", pair({.mma = true, .looks = true}), products},
  });
}

TEST_CASE("sums: tiles that overlap share a maximum, and leave no column between them out") {
  const std::string left_out = "over the whole extent";
  attack({{"side by side", "", greatest_of({0, 64, 128}), {{1}, {5}}},
          {"in another order, overlapping", "", greatest_of({128, 0, 48, 80}), {{1}, {5}}},
          {"a hole", left_out, greatest_of({0, 128}), {{1000}}},
          {"a hole of one column", left_out, greatest_of({0, 63, 128}), {{1000}}},
          {"the last column", left_out, greatest_of({0, 64, 127}), {{1000}}}});
}

TEST_CASE("sums: two that are over, of the same elements") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {3, 200}};
  std::vector<Attack> all;
  for (const Twice how : {Twice::one_sum, Twice::two_sums, Twice::updated}) {
    const std::string name = std::to_string(static_cast<int>(how));
    all.push_back({name, "", twice_summed(how, 2), sizes});
    all.push_back({name + ", of which one is said", "y is what", twice_summed(how, 1), sizes});
  }
  attack(all);
}

TEST_CASE("sums: trips that overlap share a maximum or a minimum, and no sum") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {3, 200}, {2, 65}};
  std::vector<Attack> all;
  for (const Monoid monoid : {Monoid::max, Monoid::min})
    for (const int step : {64, 63, 32, 16})
      all.push_back({"step " + std::to_string(step), "", overlapping(monoid, step), sizes});
  all.push_back({"a column left out", "over the whole extent", overlapping(Monoid::max, 65), {{300, 65}}});
  all.push_back({"what is outside", "what lies outside", overlapping(Monoid::max, 32, false), sizes});
  all.push_back({"a sum", "summed once", overlapping(Monoid::sum, 32), sizes});
  attack(all);
}

TEST_CASE("sums: several products into one accumulator, and what it held before") {
  const std::vector<Sizes> sizes = {{32, 32, 32}, {50, 36, 72}, {1, 4, 8}};
  std::vector<Attack> all;
  for (const bool one_loop : {true, false})
    for (const Begins begins : {Begins::with_zeros, Begins::with_a_row, Begins::with_a_matrix})
      for (const auto& [distance, ring] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 2)})
        all.push_back({std::string(one_loop ? "one loop" : "two loops") + ", distance " +
                           std::to_string(distance) + ", begins " + std::to_string(static_cast<int>(begins)),
                       "", several({.one_loop = one_loop, .begins = begins, .pipeline = {distance, ring}}),
                       sizes});
  all.push_back(
      {"one product after a row", "", several({.products = 1, .begins = Begins::with_a_row}), sizes});
  all.push_back({"three taps", "", several({.products = 3, .taps = true}), sizes});
  all.push_back(
      {"three taps in three loops", "", several({.products = 3, .one_loop = false, .taps = true}), sizes});
  const std::string specified = "c is what the specification says";
  for (const bool one_loop : {true, false}) {
    all.push_back(
        {"a product is missing", specified, several({.one_loop = one_loop, .forgets = true}), sizes});
    all.push_back({"a product twice", specified, several({.one_loop = one_loop, .twice = true}), sizes});
    all.push_back({"a row too much", specified,
                   several({.one_loop = one_loop, .begins = Begins::with_a_row, .stale = true}), sizes});
    all.push_back({"doubled on the way", specified, several({.one_loop = one_loop, .after = true}), sizes});
  }
  attack(all);
}

} // namespace sums

} // namespace sums_test
