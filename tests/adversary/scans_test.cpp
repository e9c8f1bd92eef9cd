// Sums up to each element, extremes that lanes carry over trips, and masks on either side of a cut.
#include "attack.h"

#include <catch2/catch.hpp>

namespace scans_test {

using namespace adversary;

namespace {

using Operands = std::vector<Expr>;
Expr plus(const Operands& v) { return v[0] + v[1]; }

// y(m, i) = what `said` makes of the sum of x(m, 0) to x(m, i), of rows of one tile; `made`: of the sums up to each element.
using Made = std::function<Fragment(Program&, const Fragment& x, const Program::Scan&, const Layout&)>;
std::function<Program()> tile(const Made& made,
                              const std::function<Expr(Program&, Tensor, Sym, Sym, Sym)>& said, int rows = 1,
                              Monoid monoid = Monoid::sum, bool exact = false) {
  return [=] {
    Program k("tile", target(), 64);
    const int wide = 128 / rows;
    const Sym m = k.size("m", {.most = 1 << 8}),
              n = exact ? Sym(wide) : k.size("n", {.most = wide, .multiple = 2});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return said(k, x, n, c[0], c[1]); });
    const Sym r = k.workgroups(0, m, rows);
    const Layout tv = rows_tv(rows, wide, 2, 64);
    const Fragment of = k.load(k.tile(x, {rows, wide}, {r, 0}), tv, 2);
    k.store(made(k, of, k.scan(monoid, of, 1), tv), k.tile(y, {rows, wide}, {r, 0}), 1);
    return k;
  };
}
Fragment itself(Program&, const Fragment&, const Program::Scan& s, const Layout&) { return s.prefix; }
auto up_to(int more, double times = 1) {
  return [=](Program& k, const Tensor& x, Sym n, Sym row, Sym i) {
    return k.sum(n, Sym(0), i + Sym(1 + more), [&](Sym j) { return k(x, {row, j}); }) * times;
  };
}

// The same over tiles of a row: what is wrong with how they go on.
enum class Wrong { nothing, forgets, before, twice, other_tile, shifted, lanes, first_only, all_again };
std::function<Program()> tiles(Wrong wrong, int threads = 128, int distance = 1, int more = 0) {
  return [=] {
    Program k("tiles", target(), threads);
    const int wide = threads;
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return up_to(more)(k, x, n, c[0], c[1]); });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, wide, 1, threads);
    const Fragment before = k.zeros(Element::f32, without_axis(tv, 1), {1, 1}),
                   own = k.zeros(Element::f32, tv, {1, wide});
    k.loop(n, wide, {.distance = distance, .ring = 2}, [&](Sym t) {
      const Sym at = wrong == Wrong::other_tile ? t + Sym(1) : t;
      const Program::Scan s = k.scan(Monoid::sum, k.load(k.tile(x, {1, wide}, {r, at}), tv, 1), 1);
      const auto carry = [&] {
        if (wrong == Wrong::first_only)
          k.update(before, {s.all}, [](const auto& v) { return v[1]; });
        else if (wrong == Wrong::lanes)
          k.update(own, {s.prefix}, plus);
        else
          k.update(before, {s.all}, plus);
        if (wrong == Wrong::all_again) k.update(before, {s.all}, plus);
      };
      if (wrong == Wrong::before) carry();
      Fragment sum =
          wrong == Wrong::forgets ? s.prefix : k.map({s.prefix, wrong == Wrong::lanes ? own : before}, plus);
      if (wrong == Wrong::twice) sum = k.map({sum, s.prefix}, plus);
      k.store(sum, k.tile(y, {1, wide}, {r, wrong == Wrong::shifted ? t + Sym(1) : t}), 1);
      if (wrong != Wrong::before) carry();
    });
    return k;
  };
}

// y(m) = the greatest of x(m, i), or the least, which each lane carries over the trips.
struct Carried {
  Monoid monoid = Monoid::max;
  double begins = -INFINITY, past_end = -INFINITY; ///< NAN: nothing says what lies past the end
  int step = 1, further = 0;
  std::optional<Monoid> folds{};                         ///< after the loop
  std::function<Expr(const Operands&)> update{}, said{}; ///< said: of x(m, i) and z(m, i)
  bool then_z = false, adds_z = false;                   ///< a second update
  bool scaled = false;                                   ///< it is doubled in each trip
};
std::function<Program()> carried(Carried how) {
  return [how] {
    Program k("carried", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n}),
                 z = k.input("z", Element::f32, {m, n});
    const auto join = [&](const Operands& v) {
      return how.monoid == Monoid::max ? max(v[0], v[1]) : min(v[0], v[1]);
    };
    k.computes(y, [&](const auto& c) {
      return k.fold(how.monoid, n, [&](Sym i) {
        return how.said ? how.said({k(x, {c[0], i}), k(z, {c[0], i})}) : k(x, {c[0], i});
      });
    });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.full(how.begins, tv, {1, 64});
    k.loop(n, 64 * how.step, {.distance = 1, .ring = 2}, [&](Sym t) {
      const auto load = [&](const Tensor& of) {
        const Sym at = Sym(how.step) * t + Sym(how.further);
        const Fragment f = k.load(k.tile(of, {1, 64}, {r, at}), tv, 1);
        return std::isnan(how.past_end) ? f : k.fill(f, 1, Sym(64) * at, n, how.past_end);
      };
      k.update(acc, {load(x)}, how.update ? how.update : join);
      if (how.then_z) k.update(acc, {load(z)}, join);
      if (how.adds_z) k.update(acc, {load(z)}, plus);
      if (how.scaled) k.update(acc, {}, [](const auto& v) { return v[0] * 2; });
    });
    k.store(k.fold(how.folds.value_or(how.monoid), acc, 1), k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
}

// y(m) = a fold of x(m, i) with a mask, i < to(m) or `otherwise`, by two loops: over the first 64, and over the rest.
struct Halves {
  Monoid monoid = Monoid::max;
  bool masked[2] = {true, true};
  int to[2] = {100, 100}, said = 100;
  bool by_row = false;               ///< so many more than the row's number
  std::optional<double> otherwise{}; ///< absent: the empty element
  bool lanes = false;
};
std::function<Program()> halves(Halves how) {
  return [how] {
    Program k("halves", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
    const double nothing = empty_element(how.monoid), otherwise = how.otherwise.value_or(nothing);
    const auto end = [&](int to, Sym row) { return how.by_row ? row + Sym(to) : Sym(to); };
    k.computes(y, [&](const auto& c) {
      return k.fold(how.monoid, n, [&](Sym i) {
        return inside(i, end(how.said, c[0]), k(x, {c[0], i}), otherwise);
      });
    });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.full(nothing, how.lanes ? tv : without_axis(tv, 1), {1, how.lanes ? 64 : 1});
    const auto trip = [&](std::size_t half) {
      return [&, half](Sym t) {
        const Sym at = Sym(64) * t + k.position(1);
        const Fragment f = k.map({k.load(k.tile(x, {1, 64}, {r, t}), tv, 1)}, [&](const auto& v) {
          return inside(at, n, how.masked[half] ? inside(at, end(how.to[half], r), v[0], otherwise) : v[0],
                        nothing);
        });
        k.update(acc, {how.lanes ? f : k.fold(how.monoid, f, 1)},
                 [&](const auto& v) { return how.monoid == Monoid::max ? max(v[0], v[1]) : v[0] + v[1]; });
      };
    };
    const Pipeline plain{.distance = 0, .ring = 1};
    k.loop(min(n, Sym(64)), 64, plain, trip(0));
    k.if_less(Sym(64), n, [&] { k.loop(Sym(64), n, 64, plain, trip(1)); });
    k.store(how.lanes ? k.fold(how.monoid, acc, 1) : acc, k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
}

} // namespace

TEST_CASE("scans: sums up to each element of a tile") {
  const std::vector<Sizes> sizes = {{1, 2}, {3, 128}, {2, 70}}, rows = {{1, 2}, {5, 32}, {4, 20}},
                           whole = {{2}};
  const std::string wrong = "y is what the specification says";
  const auto through = [](const std::string& place, const Layout& from) {
    return [=](Program& k, const Fragment&, const Program::Scan& s, const Layout& tv) {
      const Tensor lds = k.lds("lds", Element::f32, {1, 128});
      k.store(s.prefix, k.whole(lds), 1);
      return k.map(tv, {k.read(lds, place.empty() ? tv : from, 1)}, [](const auto& v) { return v[0]; });
    };
  };
  const auto backwards = [](Program& k, const Tensor& x, Sym n, Sym row, Sym i) {
    return k.sum(n, i, n, [&](Sym j) { return k(x, {row, j}); });
  };
  attack({
      {"as said", "", tile(itself, up_to(0)), sizes},
      {"of four rows", "", tile(itself, up_to(0), 4), rows},
      {"to the element before", wrong, tile(itself, up_to(-1)), sizes},
      {"to the element after", wrong, tile(itself, up_to(1)), sizes},
      {"twice", wrong, tile(itself, up_to(0, 2)), sizes},
      {"twice, as said", "",
       tile([](Program& k, const auto&, const auto& s,
               const auto&) { return k.map({s.prefix}, [](const auto& v) { return v[0] * 2; }); },
            up_to(0, 2)),
       sizes},
      {"from the element on", ":", tile(itself, backwards), sizes},
      {"all of them", ":",
       tile(itself, [](Program& k, const Tensor& x, Sym n, Sym row,
                       Sym) { return k.sum(n, [&](Sym j) {
                                return k(x, {row, j});
                              }); }),
       sizes},
      {"their greatest", ":", tile(itself, up_to(0), 1, Monoid::max), sizes},
      {"without the element itself, by subtraction", "",
       tile(
           [](Program& k, const Fragment& x, const auto& s, const auto&) {
             return k.map({s.prefix, x}, [](const auto& v) { return v[0] - v[1]; });
           },
           [](Program& k, const Tensor& x, Sym n, Sym row, Sym i) {
             return up_to(0)(k, x, n, row, i) - k(x, {row, i});
           }),
       sizes},
      {"the sum of all sums", ":",
       tile(
           [](Program& k, const auto&, const auto& s, const Layout&) {
             return k.map({s.prefix, k.fold(Monoid::sum, s.prefix, 1)},
                          [](const auto& v) { return v[1] + 0.0 * v[0]; });
           },
           [](Program& k, const Tensor& x, Sym n, Sym row, Sym) {
             return k.sum(n, [&](Sym j) { return k(x, {row, j}); });
           }),
       sizes},
      {"by way of LDS", "", tile(through("", {}), up_to(0), 1, Monoid::sum, true), whole},
  });
}

TEST_CASE("scans: rows of many tiles") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 128}, {1, 129}, {2, 400}}, two = {{1, 129}, {2, 400}};
  const std::string wrong = "y is what the specification says";
  attack({
      {"as said", "", tiles(Wrong::nothing), sizes},
      {"one wave, in three stages", "", tiles(Wrong::nothing, 64, 2), sizes},
      {"to the element before", wrong, tiles(Wrong::nothing, 128, 1, -1), sizes},
      {"without the tiles before", wrong, tiles(Wrong::forgets), two},
      {"with the tile itself before it", "every element is summed once", tiles(Wrong::before), sizes},
      {"the tile twice", ":", tiles(Wrong::twice), sizes},
      {"of the next tile", ":", tiles(Wrong::other_tile), sizes},
      {"stored in the next tile", ":", tiles(Wrong::shifted), sizes},
      {"each lane's own sums carried", ":", tiles(Wrong::lanes), two},
      {"the tile before alone", ":", tiles(Wrong::first_only), {{2, 400}}},
      {"what is carried twice", ":", tiles(Wrong::all_again), two},
  });
}

TEST_CASE("scans: extremes that lanes carry over trips") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 64}, {1, 100}, {3, 200}}, two = {{1, 100}, {3, 200}};
  const auto either = [](const Operands& v) { return max(v[0], v[1]); };
  const auto sum = [](const Operands& v) { return v[0] + v[1]; };
  attack({
      {"the greatest", "", carried({}), sizes},
      {"the least", "", carried({.monoid = Monoid::min, .begins = INFINITY, .past_end = INFINITY}), sizes},
      {"the other way round", "", carried({.update = [](const Operands& v) { return max(v[1], v[0]); }}),
       sizes},
      {"of two tensors", "", carried({.said = either, .then_z = true}), sizes},
      {"of two tensors, and of one said", ":", carried({.then_z = true}), sizes},
      {"of one tensor, and of two said", ":", carried({.said = either}), sizes},
      {"begins with 0", ":", carried({.begins = 0}), sizes},
      {"past the end 0", ":", carried({.past_end = 0}), {{1, 1}, {1, 100}}},
      {"past the end as loaded", "what lies outside", carried({.past_end = NAN}), {{1, 1}, {1, 100}}},
      {"the least past its end",
       ":",
       carried({.monoid = Monoid::min, .begins = INFINITY}),
       {{1, 1}, {1, 100}}},
      {"every other tile", ":", carried({.step = 2}), two},
      {"from the next tile on", ":", carried({.further = 1}), sizes},
      {"folded as a sum", ":", carried({.folds = Monoid::sum}), sizes},
      {"folded as the least", ":", carried({.folds = Monoid::min}), sizes},
      {"added", ":", carried({.update = plus}), sizes},
      {"of the lesser of it and twice it", ":",
       carried({.update = [](const Operands& v) { return max(v[0], min(v[1], v[1] * 2)); }}), sizes},
      {"of the lesser of it and twice it, as said", "",
       carried({.update = [](const Operands& v) { return max(v[0], min(v[1], v[1] * 2)); },
                .said = [](const Operands& v) { return min(v[0], v[0] * 2); }}),
       sizes},
      {"of what it was and the element", ":",
       carried({.update = [](const Operands& v) { return max(v[0], v[0] + v[1]); }}), sizes},
      {"and then added", ":", carried({.said = sum, .adds_z = true}), sizes},
      {"and doubled", ":", carried({.scaled = true}), sizes},
  });
}

TEST_CASE("scans: masks on either side of a cut") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 64}, {3, 65}, {2, 128}, {1, 200}},
                           long_ones = {{2, 128}, {1, 200}};
  std::vector<Attack> all;
  for (const bool lanes : {false, true})
    for (const Monoid monoid : {Monoid::max, Monoid::sum}) {
      const std::string name = std::string(to_string(monoid)) + (lanes ? ", lane by lane, " : ", ");
      const auto add = [&](const std::string& what, const std::string& because, Halves how,
                           const std::vector<Sizes>& at, const std::string& unseen = "") {
        how.monoid = monoid, how.lanes = lanes;
        all.push_back({name + what, because, halves(how), at, {}, unseen});
      };
      const bool of_max = monoid == Monoid::max;
      const std::string right = "it is right", seldom = of_max ? "one element is seldom the greatest" : "";
      const std::string alone =
          lanes ? "is over the whole extent" : ""; // an element and another one, not a part and another one
      const auto second = [](int to, bool by_row, std::optional<double> otherwise = {}) {
        return Halves{
            .masked = {false, true}, .to = {to, to}, .said = to, .by_row = by_row, .otherwise = otherwise};
      };
      const auto both = [](int to, bool by_row, std::optional<double> otherwise = {}) {
        return Halves{.to = {to, to}, .said = to, .by_row = by_row, .otherwise = otherwise};
      };
      add("to 100", "", {}, sizes);
      add("to 65", "", both(65, false), sizes);
      add("to 64", lanes ? ":" : "", both(64, false), sizes, lanes ? right : "");
      add("to 20 after the row", "", both(20, true), sizes);
      add("3 from 20 after the row on", "", both(20, true, 3), sizes);
      add("to 99 in the second half", ":", {.to = {100, 99}}, long_ones, seldom);
      add("to 100, and 101 said", ":", {.said = 101}, long_ones, seldom);
      add("in the second half alone", alone, second(100, false), sizes, lanes ? right : "");
      add("in the second half alone, to 65", alone, second(65, false), sizes, lanes ? right : "");
      add("in the second half alone, to 63", ":", second(63, false), sizes, seldom);
      add("in the second half alone, to 64 after the row", alone, second(64, true), sizes,
          lanes ? right : "");
      add("in the second half alone, to 63 after the row", ":", second(63, true), sizes, seldom);
      add("3 from 64 after the row on, in the second half alone", alone, second(64, true, 3), sizes,
          lanes ? right : "");
      add("3 from 63 after the row on, in the second half alone", ":", second(63, true, 3), sizes);
      add("in the first half alone", ":", {.masked = {true, false}}, long_ones, seldom);
      add("nowhere", ":", {.masked = {false, false}}, long_ones, seldom);
    }
  attack(all);
}

} // namespace scans_test
