// Domains, conditions on data, precision: what a value is where it is one.
#include "attack.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <inlay/codegen/provenance.h>
#include <inlay/solver/prover.h>

namespace values_test {

using namespace adversary;

namespace {

using Of = std::function<Expr(Expr)>;

// y(i) = specified(x(row of y, i)), z(i) = x(1, i); what z is stored as is `mapped` of row `from` of x, on some way.
enum class Way { at_once, in_two, through_lds, in_other_lanes };
struct Mapped {
  Of specified, of_z, mapped;
  int row = 0, from = 1;
  Way way = Way::at_once;
  Of then = {}; ///< the second map, of a value that the first one's is
};
std::function<Program()> mapped(Mapped how) {
  return [how] {
    Program k("mapped", target(), 128);
    const Sym n = k.size("n", {.most = 1 << 20});
    const Tensor y = k.output("y", Element::f32, {n}), z = k.output("z", Element::f32, {n}),
                 x = k.input("x", Element::f32, {Sym(2), n}), lds = k.lds("lds", Element::f32, {256});
    k.computes(y, [&](const auto& i) { return how.specified(k(x, {Sym(how.row), i[0]})); });
    k.computes(z, [&](const auto& i) { return how.of_z(k(x, {Sym(1), i[0]})); });
    const Sym w = k.workgroups(0, n, 256);
    const Layout tv = line_tv(256, 1, 128), pairs = line_tv(256, 2, 128);
    const auto row = [&](int r) { return k.load(k.tile(x, {1, 256}, {Sym(r), w}).keep({1}), tv, 1); };
    k.store(k.map({row(how.row)}, [&](const auto& v) { return how.specified(v[0]); }), k.tile(y, {256}, {w}),
            1);
    Fragment f = k.map({row(how.from)}, [&](const auto& v) { return how.mapped(v[0]); });
    if (how.way == Way::through_lds) {
      k.store(f, k.whole(lds), 1);
      f = k.read(lds, pairs, 1);
    }
    if (how.way == Way::in_other_lanes) f = k.relayout(f, pairs, Element::f32);
    if (how.then) f = k.map({f}, [&](const auto& v) { return how.then(v[0]); });
    k.store(f, k.tile(z, {256}, {w}), 1);
    return k;
  };
}

} // namespace

TEST_CASE("adversary: a condition that another element asks for") {
  const std::string lost = "a map loses no condition of what it takes";
  const Of same = [](Expr x) { return x; };
  const auto zero = [](Expr x) { return x - x; };
  struct Function {
    std::string name;
    Of of, computed, plain; // plain is what the normal form of computed is
  };
  const std::vector<Function> functions = {
      {"sqrt", [](Expr x) { return sqrt(x); }, [](Expr x) { return sqrt(x) * sqrt(x); }, same},
      {"1/x", [](Expr x) { return rcp(x); }, [](Expr x) { return x * x / x; }, same},
      {"log", [](Expr x) { return log(x); }, [=](Expr x) { return x + zero(log(x)); }, same},
      {"rsqrt", [](Expr x) { return rsqrt(x); }, [=](Expr x) { return x + zero(rsqrt(x)); }, same},
      {"1/(x-1)", [](Expr x) { return rcp(x - 1.0); }, [](Expr x) { return x * ((x - 1.0) / (x - 1.0)); },
       same},
  };
  // What tokens and the emulator draw is positive; NaN is what negative data would show.
  const std::string positive = "only data that the test does not draw shows it";
  std::vector<Attack> all;
  const std::vector<Sizes> sizes = {{5}, {300}};
  for (const Function& f : functions) {
    for (const int row : {0, 1}) // of the other output; row 1: of the same element, and of another output
      all.push_back({f.name + " of row 1, asked of row " + std::to_string(row) + " by y",
                     lost,
                     mapped({f.of, same, f.computed, row}),
                     sizes,
                     {},
                     positive});
    all.push_back({f.name + " through LDS",
                   lost,
                   mapped({f.of, same, f.computed, 0, 1, Way::through_lds}),
                   sizes,
                   {},
                   positive});
    all.push_back({f.name + " in other lanes",
                   lost,
                   mapped({f.of, same, f.computed, 0, 1, Way::in_other_lanes}),
                   sizes,
                   {},
                   positive});
    // Of the same element of the same output it is no loss, whatever the way.
    for (const Way way : {Way::at_once, Way::through_lds, Way::in_other_lanes})
      all.push_back({f.name + " asked by the specification, way " + std::to_string(static_cast<int>(way)), "",
                     mapped({f.of, f.computed, f.computed, 0, 1, way}), sizes});
  }
  // Lost by one map and by the next.
  all.push_back(
      {"a root squared by the next map",
       lost,
       mapped({functions[0].of, same, functions[0].of, 0, 1, Way::through_lds, [](Expr x) { return x * x; }}),
       sizes,
       {},
       positive});
  all.push_back({"an exponential's logarithm", "",
                 mapped({same, [](Expr x) { return x; }, [](Expr x) { return x * exp(x) / exp(x); }}),
                 sizes});
  attack(all);
}

TEST_CASE("adversary: a condition that is asked for where another holds") {
  const std::string lost = "a map loses no condition of what it takes",
                    positive = "only data that the test does not draw shows it";
  const Of same = [](Expr x) { return x; };
  const auto number = [](Expr x, double v) { return x.arena->constant(v); };
  const Of root = [](Expr x) { return sqrt(x) * sqrt(x); };
  // Of numbers that are not negative, and 0 of the others: it asks for nothing.
  const Of guarded = [=](Expr x) { return select(x, number(x, 0), root(x), number(x, 0)); };
  const Of plain = [=](Expr x) { return select(x, number(x, 0), x, number(x, 0)); };
  const Of below = [=](Expr x) { return select(number(x, 0), x, number(x, 0), root(x)); };
  const Of also = [=](Expr x) { return plain(x) + (root(x) - x); };
  const Of asked = [=](Expr x) { return guarded(x) + (root(x) - x); };
  const Of other = [=](Expr x) { return select(number(x, 0), x, number(x, 0), x) + (root(x) - x); };
  const std::vector<Sizes> sizes = {{5}, {300}};
  // y(i) = i < 3 ? x(i) x(i) / x(i) : 0, and what is stored asks for it of all i.
  const auto within = [=](bool guard) {
    return [=] {
      Program k("within", target(), 64);
      const Sym n = k.size("n", {.most = 1 << 20});
      const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
      const auto ratio = [](Expr v) { return v * v / v; };
      k.computes(y, [&](const auto& i) { return inside(i[0], 3, ratio(k(x, {i[0]})), 0); });
      const Sym w = k.workgroups(0, n, 64);
      const Fragment f = k.load(k.tile(x, {64}, {w}), line_tv(64, 1, 64), 1);
      const Sym at = Sym(64) * w + k.position(0);
      k.store(k.map({f},
                    [&](const auto& v) {
                      return guard ? inside(at, 3, ratio(v[0]), 0)
                                   : inside(at, 3, v[0], 0) + (ratio(v[0]) - v[0]);
                    }),
              k.tile(y, {64}, {w}), 1);
      return k;
    };
  };
  attack({
      {"a root of all, asked where it is not negative", lost, mapped({same, guarded, also}), sizes},
      {"a root of all, asked on the other side", lost, mapped({same, below, other}), sizes},
      {"a root of all beside one that is guarded", lost, mapped({same, plain, asked}), sizes},
      {"a root of all in two maps",
       lost,
       mapped({same, guarded, root, 0, 1, Way::through_lds, plain}),
       sizes,
       {},
       positive},
      {"a root where it is not negative, and so asked", "", mapped({same, guarded, guarded}), sizes},
      {"a quotient of all, asked of the first three", lost, within(false), {{5}, {300}}, {}, positive},
      {"a quotient of the first three", "", within(true), {{5}, {300}}},
  });
}

TEST_CASE("adversary: a condition that a sum, a product or a fold loses") {
  const std::string lost = "a map loses no condition of what it takes";
  // y(r) = sum of x, as the sum of what is x for numbers that are not negative; z asks for a root of another row.
  const auto summed = [](bool before, Of computed) {
    return [=] {
      Program k("summed", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
      const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), z = k.output("z", Element::f32, {m, Sym(1)}),
                   x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) { return k.sum(n, [&](Sym j) { return k(x, {i[0], j}); }); });
      k.computes(z, [&](const auto& i) {
        return sqrt(k(x, {i[0], Sym(0)})) + rcp(k.sum(n, [&](Sym j) { return k(x, {i[0], j}); }));
      });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64), one = without_axis(tv, 1);
      const Fragment sum = k.zeros(Element::f32, one, {1, 1});
      k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
        Fragment f = k.load(k.tile(x, {1, 64}, {r, t}), tv, 1);
        if (before) f = k.map({f}, [&](const auto& v) { return computed(v[0]); });
        k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
      });
      k.store(before ? sum : k.map({sum}, [&](const auto& v) { return computed(v[0]); }),
              k.tile(y, {1, 1}, {r, 0}), 1);
      const Fragment first = k.load(k.tile(x, {1, 1}, {r, 0}), one, 1);
      k.store(k.map({first, sum}, [](const auto& v) { return sqrt(v[0]) + rcp(v[1]); }),
              k.tile(z, {1, 1}, {r, 0}), 1);
      return k;
    };
  };
  const std::string data = "only data that the test does not draw shows it";
  const std::vector<Sizes> sizes = {{2, 70}, {1, 1}};
  attack({
      {"roots before the sum", lost, summed(true, [](Expr x) { return sqrt(x) * sqrt(x); }), sizes, {}, data},
      {"quotients before the sum", lost, summed(true, [](Expr x) { return x * x / x; }), sizes, {}, data},
      {"the root of the sum", lost, summed(false, [](Expr x) { return sqrt(x) * sqrt(x); }), sizes, {}, data},
      {"the sum by itself", lost, summed(false, [](Expr x) { return x * x / x; }), sizes, {}, data},
      {"nothing lost", "", summed(false, [](Expr x) { return x * 2.0 - x; }), sizes},
  });
}

TEST_CASE("adversary: what lies outside is no number that may be stored") {
  // y is longer than x, or its rows are: past the end the load gives 0, and the specification says nothing.
  const auto longer = [](int axis, double more, bool guarded) {
    return [=] {
      Program k("longer", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
                l = k.size("l", {.most = 1 << 10});
      const Sym rows = axis == 0 ? l : m, columns = axis == 1 ? l : n;
      const Tensor y = k.output("y", Element::f32, {rows, columns}), x = k.input("x", Element::f32, {m, n});
      const auto value = [&](Expr e, Sym i, Sym j) {
        const Expr v = e + more;
        return guarded ? inside(axis == 0 ? i : j, axis == 0 ? m : n, v, 7) : v;
      };
      k.computes(y, [&](const auto& i) { return value(k(x, {i[0], i[1]}), i[0], i[1]); });
      const Sym c = k.workgroups(0, columns, 64), r = k.workgroups(1, rows, 1);
      const Layout tv = rows_tv(1, 64, 1, 64);
      const Fragment f = k.load(k.tile(x, {1, 64}, {r, c}), tv, 1);
      k.store(
          k.map({f}, [&](const auto& v) { return value(v[0], r + k.position(0), 64 * c + k.position(1)); }),
          k.tile(y, {1, 64}, {r, c}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{3, 70, 5}, {2, 30, 100}};
  std::vector<Attack> all;
  for (const int axis : {0, 1}) {
    const std::string of = axis == 0 ? "rows" : "columns",
                      begin = "it holds something else, and that is stored";
    for (const double more : {0.0, 1.0})
      all.push_back({"more " + of + " than there are, plus " + std::to_string(static_cast<int>(more)), begin,
                     longer(axis, more, false), sizes});
    all.push_back({"more " + of + ", told apart", "", longer(axis, 1, true), sizes});
  }
  // One tile for each row: its start is inside, its end is not.
  for (const bool guarded : {false})
    all.push_back(
        {std::string("a row of 64 of fewer") + (guarded ? ", told apart" : ""),
         guarded ? "" : "it holds something else, and that is stored",
         [guarded] {
           Program k("filled", target(), 64);
           const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 64});
           const Tensor y = k.output("y", Element::f32, {m, Sym(64)}), x = k.input("x", Element::f32, {m, n});
           const auto value = [&](Expr e, Sym j) { return guarded ? inside(j, n, e + 1.0, 7) : e + 1.0; };
           k.computes(y, [&](const auto& i) { return value(k(x, {i[0], i[1]}), i[1]); });
           const Sym r = k.workgroups(0, m, 1);
           const Layout tv = rows_tv(1, 64, 1, 64);
           const Fragment f = k.load(k.tile(x, {1, 64}, {r, 0}), tv, 1);
           k.store(k.map({f}, [&](const auto& v) { return value(v[0], k.position(1)); }),
                   k.tile(y, {1, 64}, {r, 0}), 1);
           return k;
         },
         {{3, 40}, {1, 1}}});
  attack(all);
}

TEST_CASE("adversary: folds that see what lies outside, or some elements twice") {
  // y(r) = the fold of the row, in one tile of 64 or in a loop.
  const auto folded = [](Monoid monoid, double filled, double more, bool loop, bool again = false) {
    return [=] {
      Program k("folded", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = loop ? 1 << 10 : 64});
      const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) {
        return k.fold(monoid, n, [&](Sym j) { return k(x, {i[0], j}) + more; });
      });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64), one = without_axis(tv, 1);
      const auto of = [&](Sym t) {
        Fragment f =
            k.map({k.load(k.tile(x, {1, 64}, {r, t}), tv, 1)}, [&](const auto& v) { return v[0] + more; });
        if (filled != 1) f = k.fill(f, 1, 64 * t, n, filled);
        return k.fold(monoid, f, 1);
      };
      const Fragment all = k.full(empty_element(monoid), one, {1, 1});
      const auto join = [&](const auto& v) {
        return monoid == Monoid::sum   ? v[0] + v[1]
               : monoid == Monoid::max ? codegen::max(v[0], v[1])
                                       : codegen::min(v[0], v[1]);
      };
      if (loop) {
        k.loop(n, 64, {.distance = 1, .ring = 2}, [&](Sym t) { k.update(all, {of(t)}, join); });
        if (again) k.update(all, {of(Sym(0))}, join);
        k.store(all, k.tile(y, {1, 1}, {r, 0}), 1);
      } else {
        k.store(of(Sym(0)), k.tile(y, {1, 1}, {r, 0}), 1);
      }
      return k;
    };
  };
  const std::string outside = "is its empty element";
  const std::vector<Sizes> sizes = {{2, 40}, {1, 1}, {3, 64}}, longer = {{2, 40}, {1, 130}, {3, 64}};
  std::vector<Attack> all;
  for (const bool loop : {false, true}) {
    const std::string of = loop ? " in a loop" : "";
    for (const Monoid monoid : {Monoid::sum, Monoid::max, Monoid::min}) {
      const std::string name = to_string(monoid) + of;
      const double empty = empty_element(monoid);
      all.push_back({name + ", filled", "", folded(monoid, empty, 1, loop), loop ? longer : sizes});
      all.push_back(
          {name + " with what is after", outside, folded(monoid, 1, 1, loop), loop ? longer : sizes});
      all.push_back(
          {name + ", filled with another's", outside,
           folded(monoid, monoid == Monoid::sum ? -INFINITY : 0, monoid == Monoid::max ? -10 : 1, loop),
           loop ? longer : sizes});
    }
  }
  all.push_back({"a sum's first tile twice", "y is what the specification says",
                 folded(Monoid::sum, 0, 1, true, true), longer});
  all.push_back({"a maximum's first tile twice", "", folded(Monoid::max, -INFINITY, 1, true, true), longer});
  attack(all);
}

TEST_CASE("adversary: a product of two sums is neither of them") {
  // y(r) = sum of one of two, as the sum of what the tiles' sums are together.
  const auto multiplied = [](int which, bool both) {
    return [=] {
      Program k("multiplied", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
      const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), a = k.input("a", Element::f32, {m, n}),
                   b = k.input("b", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) {
        return k.sum(n, [&](Sym j) { return k(which == 0 ? a : b, {i[0], j}); });
      });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64);
      const Fragment all = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
      k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
        const auto of = [&](const Tensor& x) {
          return k.fold(Monoid::sum, k.load(k.tile(x, {1, 64}, {r, t}), tv, 1), 1);
        };
        const Fragment one =
            k.map({of(a), of(b)}, [&](const auto& v) { return both ? v[0] * v[1] : v[which]; });
        k.update(all, {one}, [](const auto& v) { return v[0] + v[1]; });
      });
      k.store(all, k.tile(y, {1, 1}, {r, 0}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{2, 40}, {1, 130}, {3, 64}};
  for (const int which : {0, 1})
    attack({{"one of them", "", multiplied(which, false), sizes},
            {"both", "sum", multiplied(which, true), sizes}});
}

TEST_CASE("adversary: sums lane by lane that leave out what lies between their trips") {
  // y(r) = the sum of the row, of whose blocks of 64 each trip adds every `step`th; and then the last one by itself.
  const auto summed = [](int step, bool last) {
    return [=] {
      Program k("summed", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 8}),
                n = k.size("n", {.least = 128, .most = 1 << 12, .multiple = 128});
      const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) { return k.sum(n, [&](Sym j) { return k(x, {i[0], j}); }); });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64);
      const auto load = [&](Sym t) { return k.load(k.tile(x, {1, 64}, {r, t}), tv, 1); };
      const auto add = [](const auto& v) { return v[0] + v[1]; };
      const Fragment lanes = k.zeros(Element::f32, tv, {1, 64});
      k.loop(n, 64 * step, {.distance = 0, .ring = 1},
             [&](Sym t) { k.update(lanes, {load(Sym(step) * t)}, add); });
      Fragment sum = k.fold(Monoid::sum, lanes, 1);
      if (last) {
        const Fragment rest = k.fold(Monoid::sum, load(exact_div(n, Sym(64)) - Sym(1)), 1);
        sum = k.map({sum, rest}, add);
      }
      k.store(sum, k.tile(y, {1, 1}, {r, 0}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{2, 128}, {1, 256}, {3, 512}};
  attack({
      {"all of them", "", summed(1, false), sizes},
      {"every other one", ":", summed(2, false), sizes},
      {"every other one, and the last", ":", summed(2, true), {{1, 256}, {3, 512}}},
      {"all of them, and the last again", ":", summed(1, true), sizes},
  });
}

TEST_CASE("adversary: what is after the end of an operand's row, and is stored") {
  // y(r, i) = x(r, i), and `value` from n to 64; the load's zeros are there.
  const auto padded = [](double value, double times) {
    return [=] {
      Program k("padded", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 64});
      const Tensor y = k.output("y", Element::f32, {m, Sym(64)}), x = k.input("x", Element::f32, {m, n});
      k.computes(y, [&](const auto& i) { return inside(i[1], n, k(x, {i[0], i[1]}) * times, value); });
      const Sym r = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 64, 1, 64);
      k.store(k.map({k.load(k.tile(x, {1, 64}, {r, 0}), tv, 1)}, [&](const auto& v) { return v[0] * times; }),
              k.tile(y, {1, 64}, {r, 0}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{2, 1}, {1, 63}, {3, 40}};
  const std::string other = "y is what the specification says";
  attack({
      {"zeros", "", padded(0, 1), sizes},
      {"zeros, twice", "", padded(0, 2), sizes},
      {"ones", other, padded(1, 1), sizes},
      {"ones, twice", other, padded(1, 2), sizes},
      {"less than nothing", other, padded(-3, 1), sizes},
  });
}

TEST_CASE("adversary: rows that a table names") {
  // y(i, j) = x(ids(i + more), j): what the tensor has not reads as 0.
  const auto gathered = [](int more, bool masked, bool other) {
    return std::pair(
        [=] {
          Program k("gathered", target(), 64);
          const Sym p = k.size("p", {.most = 1 << 10}), m = k.size("m", {.most = 1 << 10}),
                    n = k.size("n", {.most = 1 << 10});
          const Tensor y = k.output("y", Element::f32, {p, n}), x = k.input("x", Element::f32, {m, n}),
                       ids = k.input("ids", Element::i32, {p}), others = k.input("others", Element::i32, {p});
          k.computes(y, [&](const auto& i) {
            return k(x, {k.at(ids, i[0]), i[1]}) + 0.0 * k(x, {k.at(others, i[0]), i[1]});
          });
          const Sym c = k.workgroups(0, n, 32), r = k.workgroups(1, p, 2);
          const Layout tv = rows_tv(2, 32, 1, 64);
          const Fragment row = k.load(k.tile(other ? others : ids, {2}, {r + more}), without_axis(tv, 1), 1);
          k.store(k.load(k.tile(x, {2, 32}, {0, c}).through(0, row), tv, 1), k.tile(y, {2, 32}, {r, c}), 1);
          return k;
        },
        [=](Code& code) {
          for (Inst& i : code.regions.back().body)
            if (i.kind == InstKind::load && i.access.gathered()) i.access.masked[0] = masked;
        });
  };
  const std::vector<Sizes> sizes = {{3, 5, 33}, {1, 1, 1}, {4, 2, 70}};
  std::vector<Attack> all;
  for (const auto& [name, because, more, masked, other] :
       {std::tuple("as named", "", 0, true, false), std::tuple("a row on", "", 1, true, false),
        std::tuple("not compared", ":", 0, false, false),
        std::tuple("of another table", "y is what the specification says", 0, true, true)}) {
    const auto [make, change] = gathered(more, masked, other);
    all.push_back({name, more == 1 ? "is what the specification says" : because, make, sizes, change,
                   masked ? "" : "the descriptor ends with the tensor, and its end reads as 0"});
  }
  attack(all);
}

TEST_CASE("adversary: a part of a number that a table holds is one of a number that is not negative") {
  // y(i) = x(t(i) mod r): the code reads t(i) as a number from 0 on, and a specification may not.
  const auto picked = [](const std::function<Sym(Sym, Sym)>& row) {
    Program k("picked", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), r = k.size("r", {.most = 1 << 12}),
              n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {r, n}),
                 t = k.input("t", Element::i32, {m});
    k.computes(y, [&](const auto& i) { return k(x, {row(k.value(t, i[0]), r), i[1]}); });
    const Sym c = k.workgroups(0, n, 64), w = k.workgroups(1, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    k.store(k.load(k.tile(x, {1, 64}, {row(k.uniform(t, w), r), c}), tv, 1), k.tile(y, {1, 64}, {w, c}), 1);
    const Graph graph = expand(k);
    const Code code = apply(graph, default_schedule(graph));
    solver::SolverProver prover;
    const Derivation derived = derive(code, prover);
    return derived.ok() &&
           std::any_of(derived.contract.begin(), derived.contract.end(), [](const LaunchCondition& of) {
             return of.callers && of.condition == "t holds nothing negative";
           });
  };
  CHECK(picked([](Sym t, Sym r) { return floor_mod(t, r); }));
  CHECK(picked([](Sym t, Sym r) { return floor_mod(2 * t + 1, r); }));
}

TEST_CASE("adversary: numbers that a table holds are factors, of each workgroup's own or of all") {
  // y(i, j) = x(i, j) t(i), or t(0): a specification that names the workgroup's number has none of its own.
  const auto scaled = [](bool first, bool named) {
    return [=] {
      Program k("scaled", target(), 64);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
      const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
                   t = k.input("t", Element::i32, {m});
      const Sym c = k.workgroups(0, n, 64), w = k.workgroups(1, m, 1), u = k.uniform(t, first ? Sym(0) : w);
      k.computes(y, [&](const auto& i) {
        return k(x, {i[0], i[1]}) * k.number(named ? u : k.value(t, first ? Sym(0) : i[0]));
      });
      const Layout tv = rows_tv(1, 64, 1, 64);
      k.store(k.map({k.load(k.tile(x, {1, 64}, {w, c}), tv, 1)},
                    [&](const auto& v) { return v[0] * k.number(u); }),
              k.tile(y, {1, 64}, {w, c}), 1);
      return k;
    };
  };
  const std::vector<Sizes> sizes = {{3, 64}, {5, 70}};
  attack({
      {"each row's", "", scaled(false, false), sizes},
      {"the first", "", scaled(true, false), sizes},
      {"the first, by its name", "", scaled(true, true), sizes},
      {"each row's, by its name",
       "says the same in all workgroups",
       scaled(false, true),
       sizes,
       {},
       "the specification has no value to compare with"},
  });
  // The map takes it for a number that is not negative.
  const Program k = scaled(false, false)();
  const Graph graph = expand(k);
  const Code code = apply(graph, default_schedule(graph));
  solver::SolverProver prover;
  const Derivation derived = derive(code, prover);
  CHECK(std::any_of(derived.contract.begin(), derived.contract.end(), [](const LaunchCondition& of) {
    return of.callers && of.condition == "t holds nothing negative";
  }));
}

TEST_CASE("adversary: constants that f32 rounds, or does not hold on the way") {
  const Of same = [](Expr x) { return x; };
  const auto of = [](Expr x, double c) { return x.arena->constant(c); };
  std::vector<Attack> attacks;
  const auto attack_by = [&](const std::string& name, const Of& map, const std::string& because) {
    attacks.push_back({name, because, mapped({same, same, map, 1, 1}), {{300}, {512}}});
  };
  const std::string value = "z is what the specification says",
                    large = "f32, in which it computes, does not hold", small = "which f32 may flush to 0";
  // As f32 the two are one number.
  attack_by(
      "2^24 >= 2^24 + 1", [&](Expr x) { return select(of(x, 16777216), of(x, 16777217), x + 1.0, x); },
      value);
  attack_by(
      "0.1 >= 0.100000001", [&](Expr x) { return select(of(x, 0.1), of(x, 0.100000001), x + 1.0, x); },
      value);
  attack_by(
      "1 >= 1.00000001", [&](Expr x) { return select(x * 0.0 + 1.0, of(x, 1.00000001), x + 1.0, x); }, value);
  attack_by(
      "1e30 * 1e30", [&](Expr x) { return x * (of(x, 1e30) * of(x, 1e30)) * 1e-30 * 1e-30; }, large);
  attack_by(
      "exp(100)", [&](Expr x) { return x * exp(of(x, 100)) * exp(of(x, -100)); }, large);
  attack_by(
      "exp2(-200)", [&](Expr x) { return x * exp2(of(x, -200)) * exp2(of(x, 100)) * exp2(of(x, 100)); },
      large);
  attack_by(
      "1 / 1e-40", [&](Expr x) { return x * rcp(of(x, 1e-40)) * 1e-40; }, small);
  attack_by(
      "x / 1e-40", [&](Expr x) { return x / of(x, 1e-40) * 1e-40; }, small);
  // 1 / INFINITY is 0, of which there is no logarithm.
  const Of of_none = [&](Expr x) { return log(rcp(select(x, of(x, 0), of(x, INFINITY), x * x + 1.0))); };
  attack_by(
      "log(1 / INFINITY) less itself", [&](Expr x) { return x + (of_none(x) - of_none(x)); },
      "a map loses no condition of what it takes");
  attack_by(
      "rsqrt(1e-44)", [&](Expr x) { return x * rsqrt(of(x, 1e-44)) * sqrt(of(x, 1e-44)); }, small);
  attack(attacks);
}

TEST_CASE("adversary: what lies outside, after a reduction over other elements") {
  // y(m) = `monoid` of x(m, n) over n, and `specified` where x has no row m; the rows that x has not hold `left` in the left half of
  // the columns and `right` in the right half, which are reduced each by itself, or at once, and then joined.
  struct Outside {
    Monoid monoid = Monoid::sum;
    double left = 0, right = 0, specified = 0;
    bool at_once = true;
  };
  const auto reduced = [](Outside how) {
    return [how] {
      Program k("reduced", target(), 64);
      const Sym m = k.size("m", {.most = 4});
      const Tensor y = k.output("y", Element::f32, {Sym(4)}), x = k.input("x", Element::f32, {m, Sym(256)});
      k.computes(y, [&](const auto& i) {
        return inside(i[0], m,
                      k.fold(how.monoid, Sym(256),
                             [&](Sym n) {
                               return k(x, {i[0], n});
                             }),
                      how.specified);
      });
      const Sym w = k.workgroups(0, Sym(4), 4);
      const auto half = [&](int columns, int at, double outside) {
        const Fragment f =
            k.load(k.tile(x, {4, columns}, {w, Sym(at)}), rows_tv(4, columns, columns / 64, 64), 1);
        return k.fold(how.monoid, k.fill(f, 0, Sym(4) * w, m, outside), 1);
      };
      if (how.at_once) {
        k.store(half(256, 0, how.left), k.tile(y, {4}, {w}), 1);
      } else {
        const auto both = [&](const auto& v) {
          return how.monoid == Monoid::max ? max(v[0], v[1]) : min(v[0], v[1]);
        };
        k.store(k.map({half(128, 0, how.left), half(128, 1, how.right)}, both), k.tile(y, {4}, {w}), 1);
      }
      return k;
    };
  };
  const std::string other = "y is what the specification says";
  const std::vector<Sizes> sizes = {{1}, {3}, {4}};
  const double infinity = INFINITY;
  attack({
      {"a sum of fives is not five", other, reduced({Monoid::sum, 5, 5, 5}), sizes},
      {"nor is it as many",
       other,
       reduced({Monoid::sum, 5, 5, 1280}),
       sizes,
       {},
       "it is, and no rule says so"},
      {"a sum of zeros is zero", "", reduced({Monoid::sum, 0, 0, 0}), sizes},
      {"the maximum of 5 and 7 is not 5", other, reduced({Monoid::max, 5, 7, 5, false}), sizes},
      {"the minimum of 5 and 3 is not 5", other, reduced({Monoid::min, 5, 3, 5, false}), sizes},
      {"the maximum of nothing and 7 is not nothing", other,
       reduced({Monoid::max, -infinity, 7, -infinity, false}), sizes},
      {"nor that of 7 and nothing", other, reduced({Monoid::max, 7, -infinity, -infinity, false}), sizes},
      {"the maximum of nothing is nothing", "", reduced({Monoid::max, -infinity, -infinity, -infinity}),
       sizes},
      {"nor is it anything in two parts", "", reduced({Monoid::max, -infinity, -infinity, -infinity, false}),
       sizes},
  });
}

TEST_CASE("adversary: proved is not stable") {
  // Equal in real numbers, and no claim about what is rounded: these are proved, and a run's bound is what judges them.
  const auto rounded = [](Of of, Element out = Element::f32) {
    return [=] {
      Program k("rounded", target(), 64);
      const Sym n = k.size("n", {.most = 1 << 20});
      const Tensor y = k.output("y", out, {n}), x = k.input("x", Element::f32, {n});
      k.computes(y, [&](const auto& i) { return k(x, {i[0]}) * 65536.0; });
      const Sym w = k.workgroups(0, n, 64);
      k.store(k.map(
                  {k.load(k.tile(x, {64}, {w}), line_tv(64, 1, 64), 1)},
                  [&](const auto& v) { return of(v[0]); }, out),
              k.tile(y, {64}, {w}), 1);
      return k;
    };
  };
  struct Case {
    std::string name;
    std::function<Program()> make;
    bool right;
  };
  for (const Case& c :
       {Case{"as it is", rounded([](Expr x) { return x * 65536.0; }), true},
        Case{"absorbed", rounded([](Expr x) { return (x * 65536.0 + 1e15) - 1e15; }), false},
        Case{"overflowed", rounded([](Expr x) { return x * 65536.0 * 1e38 * 1e-38; }), false},
        Case{"beyond f16", rounded([](Expr x) { return x * 65536.0; }, Element::f16), false},
        Case{"by exponentials",
             rounded([](Expr x) { return x * 65536.0 * (exp(x + 100.0) / exp(x + 100.0)); }), false}}) {
    INFO(c.name);
    const Program k = c.make();
    const Graph graph = expand(k);
    const Code code = apply(graph, default_schedule(graph));
    CHECK(mutate::refuted(code) == "");
    CHECK((mutate::emulated(code, {{5}, {100}}) == "") == c.right);
  }
}

} // namespace values_test
