// Branches inside of loops: what either path of a trip leaves to the next one, and what is stored under a condition.
#include "attack.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <inlay/algebra/parse.h>

namespace choices_test {

namespace choices { // names of their own: the folder is one unit

using namespace adversary;

namespace {

const auto add = [](const auto& v) { return v[0] + v[1]; };

// y(m) = sum of x(m, n) over n, 64 columns a trip; `branch` says what a trip does with them: 1 adds them, with `fill` 2, and others are
// a fault each.
struct Sums {
  std::function<void(Program&, Sym t, Sym n, Sym w, const std::function<void(int)>&)> trip;
  int rows = 4;
  bool squares = false; ///< of the specification
};
std::function<Program()> sums(Sums how) {
  return [how] {
    Program k("sums", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& i) {
      return k.sum(n, [&](Sym j) {
        return how.squares ? k(x, {i[0], j}) * k(x, {i[0], j}) : k(x, {i[0], j});
      });
    });
    const Sym w = k.workgroups(0, m, how.rows);
    const Layout tv = rows_tv(how.rows, 64, 1, 64), row = without_axis(tv, 1);
    const Fragment sum = k.zeros(Element::f32, row, {how.rows, 1});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      how.trip(k, t, n, w, [&](int what) {
        Fragment f = k.load(k.tile(x, {how.rows, 64}, {w, what == 3 ? Sym(0) : t}), tv, 1);
        if (what == 2) f = k.fill(f, 1, Sym(64) * t, n, 0);
        if (what == 4) f = k.map({f}, [](const auto& v) { return v[0] * v[0]; });
        k.update(sum, {k.fold(Monoid::sum, f, 1)}, add);
        if (what == 5) k.update(sum, {k.fold(Monoid::sum, f, 1)}, add);
        if (what == 6) k.store(sum, k.tile(y, {how.rows, 1}, {w, 0}), 1);
      });
    });
    k.store(sum, k.tile(y, {how.rows, 1}, {w, 0}), 1);
    return k;
  };
}

// y(m) = sum of x(m, n) over n < end, 64 columns a trip; tiles behind the end are left out.
enum class End { size, memory };
struct Past {
  End kind = End::size;
  std::function<std::pair<Sym, Sym>(Sym t, Sym end)> when = [](Sym t, Sym end) {
    return std::pair(Sym(64) * t, end);
  };
  bool masked = true, either = false;
  bool through_lds = false;
  Monoid monoid = Monoid::sum;
  int always = 0;     ///< trips that add whatever the condition says
  bool never = false; ///< others add nothing
  bool last = false;  ///< but the last one does
  bool two = false;   ///< where it does not hold the tile is added, and the one behind it
};
std::function<Program()> past(Past how) {
  return [how] {
    Program k("past", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              size = k.size("end", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n}),
                 ends = k.input("ends", Element::i32, {1}), lds = k.lds("lds", Element::f32, {4, 64});
    const Sym end = how.kind == End::size ? size : k.uniform(ends, 0);
    const double empty = empty_element(how.monoid);
    k.computes(y, [&](const auto& i) {
      return k.fold(how.monoid, n, [&](Sym j) { return inside(j, end, k(x, {i[0], j}), empty); });
    });
    const Sym w = k.workgroups(0, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64), down = parse_layout("((64,1),(1,4)):((1@1,0),(0,1@0))"),
                 of = how.through_lds ? down : tv, row = without_axis(of, 1);
    const Fragment all = k.full(empty, row, {4, 1});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const auto add_tile = [&](Sym tile) {
        Fragment f;
        if (how.through_lds) {
          k.copy(k.tile(x, {4, 64}, {w, tile}), lds, tv, 1);
          f = k.read(lds, down, 1);
        } else {
          f = k.load(k.tile(x, {4, 64}, {w, tile}), tv, 1);
        }
        f = k.map({f}, [&](const auto& v) {
          const Sym at = Sym(64) * tile + k.position(1);
          const Expr there = inside(at, n, v[0], empty);
          return how.masked ? inside(at, end, there, empty) : there;
        });
        const auto joined = [&](const auto& v) {
          return how.monoid == Monoid::sum ? v[0] + v[1] : max(v[0], v[1]);
        };
        k.update(all, {k.fold(how.monoid, f, 1)}, joined);
      };
      const auto body = [&] { add_tile(t); };
      const auto both = [&] { add_tile(t), add_tile(t + Sym(1)); };
      const auto [a, b] = how.when(t, end);
      const auto asks = [&, a = a, b = b] {
        const auto last = [&] { k.if_less(ceil_div(n, Sym(64)), t + Sym(2), body); };
        if (how.never && how.last)
          last();
        else if (!how.never)
          k.if_less(a, b, body,
                    how.either ? std::function<void()>(body)
                    : how.two  ? std::function<void()>(both)
                    : how.last ? std::function<void()>(last)
                               : std::function<void()>());
      };
      if (how.always == 0)
        asks();
      else
        k.if_less(t, how.always, body, asks);
    });
    k.store(all, k.tile(y, {4, 1}, {w, 0}), 1);
    return k;
  };
}

// y(i) = sum of x(i, j) over j <= i, 64 rows a workgroup; the diagonal's tile has a mask.
struct Causal {
  std::function<std::pair<Sym, Sym>(Sym t, Sym w)> when = [](Sym t, Sym w) { return std::pair(t, w); };
  bool then = false, otherwise = true; ///< has a mask
  int before = 0;                      ///< columns of the diagonal that the mask leaves out
  Monoid monoid = Monoid::sum;
};
std::function<Program()> causal(Causal how) {
  return [how] {
    Program k("causal", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {n, Sym(1)}), x = k.input("x", Element::f32, {n, n});
    const double empty = empty_element(how.monoid);
    k.computes(y, [&](const auto& i) {
      return k.fold(how.monoid, n, [&](Sym j) { return inside(j, i[0] + Sym(1), k(x, {i[0], j}), empty); });
    });
    const Sym w = k.workgroups(0, n, 64);
    const Layout tv = parse_layout("(64,64):(1@0,1@1)"), row = without_axis(tv, 1);
    const Fragment all = k.full(empty, row, {64, 1});
    k.loop(Sym(64) * w + Sym(64), 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const auto body = [&](bool masked) {
        const Fragment f = k.map({k.load(k.tile(x, {64, 64}, {w, t}), tv, 1)}, [&](const auto& v) {
          const Sym at = Sym(64) * t + k.position(1), end = Sym(64) * w + k.position(0) + Sym(1 - how.before);
          const Expr there = inside(at, n, v[0], empty);
          return masked ? inside(at, end, there, empty) : there;
        });
        const auto joined = [&](const auto& v) {
          return how.monoid == Monoid::sum ? v[0] + v[1] : max(v[0], v[1]);
        };
        k.update(all, {k.fold(how.monoid, f, 1)}, joined);
      };
      const auto [a, b] = how.when(t, w);
      k.if_less(
          a, b, [&] { body(how.then); }, [&] { body(how.otherwise); });
    });
    k.store(all, k.tile(y, {64, 1}, {w, 0}), 1);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: either path of a branch inside of a loop leads to the next trip") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {9, 130}, {4, 300}};
  using Trip = decltype(Sums::trip);
  const auto first = [](int then, int otherwise) -> Trip {
    return [=](Program& k, Sym t, Sym, Sym, const auto& part) {
      k.if_less(
          t, 1,
          [&] {
            if (then > 0) part(then);
          },
          [&] {
            if (otherwise > 0) part(otherwise);
          });
    };
  };
  const auto whole = [](int then, int otherwise) -> Trip {
    return [=](Program& k, Sym t, Sym n, Sym, const auto& part) {
      k.if_less(
          Sym(64) * t + Sym(63), n,
          [&] {
            if (then > 0) part(then);
          },
          [&] {
            if (otherwise > 0) part(otherwise);
          });
    };
  };
  const auto even = [](int then, int otherwise) -> Trip {
    return [=](Program& k, Sym t, Sym, Sym, const auto& part) {
      k.if_less(
          floor_mod(t, Sym(2)), 1,
          [&] {
            if (then > 0) part(then);
          },
          [&] {
            if (otherwise > 0) part(otherwise);
          });
    };
  };
  const auto group = [](int then, int otherwise) -> Trip {
    return [=](Program& k, Sym, Sym, Sym w, const auto& part) {
      k.if_less(
          w, 1,
          [&] {
            if (then > 0) part(then);
          },
          [&] {
            if (otherwise > 0) part(otherwise);
          });
    };
  };
  attack({
      {"no branch to speak of", "", sums({first(2, 2)}), sizes},
      {"a whole tile without a mask", "", sums({whole(1, 2)}), sizes},
      {"the last tile is left out", "x", sums({whole(1, 0)}), sizes},
      {"whole tiles are left out", "x", sums({whole(0, 2)}), sizes},
      {"the first tile is left out", "x", sums({first(0, 2)}), sizes},
      {"only the first tile", "x", sums({first(2, 0)}), sizes},
      {"every other tile", "x", sums({even(2, 0)}), sizes},
      {"in every trip, either way", "", sums({even(2, 2)}), sizes},
      {"the first tile instead of the others", "over the whole extent", sums({first(2, 3)}), sizes},
      {"squares in others", "x", sums({first(2, 4)}), sizes},
      {"added twice in the first", "y is what the specification says", sums({first(5, 2)}), sizes},
      {"added twice in others", "over the whole extent", sums({first(2, 5)}), sizes},
      {"by the workgroup", "", sums({group(2, 2)}), sizes},
      {"by the workgroup, squares in others", "x", sums({group(2, 4)}), sizes},
      {"stored in the first trip too", "x", sums({first(6, 2)}), sizes},
      {"stored in others too", "x", sums({first(2, 6)}), sizes},
  });
}

TEST_CASE("adversary: what a branch inside of a loop leaves out is nothing") {
  const std::vector<Sizes> sizes = {{1, 1, 1},    {5, 64, 64},   {9, 130, 64},
                                    {4, 300, 70}, {4, 300, 193}, {3, 200, 500}};
  using Pair = std::pair<Sym, Sym>;
  attack({
      {"tiles behind an end", "", past({}), sizes},
      {"tiles behind an end from memory", "", past({.kind = End::memory}), sizes},
      {"a maximum", "", past({.monoid = Monoid::max}), sizes},
      {"through LDS", "", past({.through_lds = true}), sizes},
      {"either way",
       "a sum is over the whole extent",
       past({.either = true}),
       sizes,
       {},
       "it is right, and no rule sees that both paths are one"},
      {"and the tile in which the end lies", "a sum is over the whole extent",
       past({.when = [](Sym t, Sym end) { return Pair(Sym(64) * t + Sym(63), end); }}), sizes},
      {"and the one before", "a sum is over the whole extent",
       past({.when = [](Sym t, Sym end) { return Pair(Sym(64) * t + Sym(64), end); }}), sizes},
      {"a tile more", "", past({.when = [](Sym t, Sym end) { return Pair(Sym(64) * t, end + Sym(64)); }}),
       sizes},
      {"without a mask", "y is what", past({.masked = false}), sizes},
      {"tiles before the end", "a sum is over the whole extent",
       past({.when = [](Sym t, Sym end) { return Pair(end, Sym(64) * t + Sym(64)); }}), sizes},
  });
}

// What the first trips do, the induction begins with; what others leave out it has to see by itself.
TEST_CASE("adversary: what later trips leave out is nothing") {
  const std::vector<Sizes> sizes = {{1, 1, 1}, {9, 130, 64}, {4, 300, 70}, {4, 300, 193}, {3, 500, 400}};
  using Pair = std::pair<Sym, Sym>;
  const auto behind = [](int more) {
    return [more](Sym t, Sym end) { return Pair(Sym(64) * t + Sym(more), end); };
  };
  attack({
      {"tiles behind an end", "", past({.always = 2}), sizes},
      {"tiles behind an end from memory", "", past({.kind = End::memory, .always = 2}), sizes},
      {"a maximum", "", past({.monoid = Monoid::max, .always = 2}), sizes},
      {"all but the first two", "is over the whole extent", past({.always = 2, .never = true}), sizes},
      {"all but the first three", "is over the whole extent", past({.always = 3, .never = true}), sizes},
      {"and the tile in which the end lies", "is over the whole extent",
       past({.when = behind(63), .always = 2}), sizes},
      {"and the one before", "is over the whole extent", past({.when = behind(64), .always = 2}), sizes},
      {"all between the first two and the last", "a sum is over the whole extent",
       past({.always = 2, .never = true, .last = true}), sizes},
      {"the tile in which the end lies, unless it is the last", "the loop's state repeats",
       past({.when = behind(63), .always = 2, .last = true}), sizes},
      {"the one before the end, unless it is the last", "the loop's state repeats",
       past({.when = behind(64), .always = 2, .last = true}), sizes},
      {"tiles behind an end, unless they are the last",
       "is over the whole extent",
       past({.always = 2, .last = true}),
       sizes,
       {},
       "it is right, and what the last trip adds is not seen to be nothing"},
      {"the last tile twice", "the loop's state repeats",
       past({.when = behind(128), .always = 2, .two = true}), sizes},
  });
}

TEST_CASE("adversary: the diagonal's tile of a loop is another path of its trips") {
  const std::vector<Sizes> sizes = {{1}, {64}, {100}, {200}};
  using Pair = std::pair<Sym, Sym>;
  attack({
      {"the diagonal alone has a mask", "", causal({}), sizes},
      {"a maximum", "", causal({.monoid = Monoid::max}), sizes},
      {"all have", "", causal({.then = true}), sizes},
      {"none has", "a sum is over the whole extent", causal({.otherwise = false}), sizes},
      {"all but the diagonal", "a sum is over the whole extent", causal({.then = true, .otherwise = false}),
       sizes},
      {"a tile too late", "a sum is over the whole extent",
       causal({.when = [](Sym t, Sym w) { return Pair(t, w + Sym(1)); }}), sizes},
      {"a tile too early",
       "the loop's state repeats",
       causal({.when = [](Sym t, Sym w) { return Pair(t + Sym(1), w); }}),
       sizes,
       {},
       "it is right: masks of more tiles than need one"},
      {"without the diagonal itself", "y is what", causal({.before = 1}), sizes},
  });
}

} // namespace choices

} // namespace choices_test
