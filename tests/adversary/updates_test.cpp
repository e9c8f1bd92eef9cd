// Several updates of one accumulator: lane by lane, of sums modulo 2^32, of one product twice, and of masks that belong together.
#include "attack.h"

#include <catch2/catch.hpp>

namespace updates_test {

namespace updates {

using namespace adversary;

namespace {

using Operands = std::vector<Expr>;
using Add = std::function<Expr(Program&, const Operands&)>;

// y(m) = the sum of what the updates of a trip add lane by lane: each takes what was there, x(m, i) and z(m, i).
struct Lanes {
  std::vector<Add> updates;
  std::function<Expr(Program&, Expr, Expr)> said; ///< of x(m, i) and z(m, i)
  bool words = false;                             ///< of i32, modulo 2^32
  int threads = 64;
  Pipeline pipeline{.distance = 1, .ring = 2};
  int further = 0;     ///< tiles of z after the trip's
  bool looks = false;  ///< a map between the updates takes the sum
  int changes = -1;    ///< x (0) or z (1) is doubled between the updates
  bool branch = false; ///< the second update is in a branch
  bool nested = false; ///< rows of the workgroup in a loop around
};
std::function<Program()> lanes(Lanes how) {
  return [how] {
    Program k("lanes", target(), how.threads);
    const int wide = 2 * how.threads;
    const Element e = how.words ? Element::i32 : Element::f32;
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", e, {m, 1}), x = k.input("x", e, {m, n}), z = k.input("z", e, {m, n});
    k.computes(y, [&](const auto& c) {
      const auto at = [&](const Tensor& t, Sym i) {
        return how.words ? integer(k(t, {c[0], i})) : k(t, {c[0], i});
      };
      return k.sum(n, [&](Sym i) { return how.said(k, at(x, i), at(z, i)); });
    });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, wide, 2, how.threads);
    const Fragment acc = k.zeros(e, tv, {1, wide});
    const auto number = [&](Expr v) { return how.words ? integer(v) : v; };
    k.loop(n, wide, how.pipeline, [&](Sym t) {
      const auto load = [&](const Tensor& of, Sym at) {
        return k.load(k.tile(of, {1, wide}, {r, at}), tv, 1);
      };
      const Fragment f[] = {load(x, t), load(z, t + Sym(how.further))};
      for (std::size_t u = 0; u < how.updates.size(); ++u) {
        const auto update = [&] {
          k.update(acc, {f[0], f[1]}, [&](const auto& v) {
            return how.updates[u](k, {number(v[0]), number(v[1]), number(v[2])});
          });
        };
        if (how.branch && u == 1)
          k.if_less(t, n - Sym(5), update);
        else
          update();
        if (u + 1 == how.updates.size()) continue;
        if (how.looks) k.update(acc, {}, [&](const auto& v) { return number(v[0]) * 2; });
        if (how.changes >= 0) k.update(f[how.changes], {}, [&](const auto& v) { return number(v[0]) * 2; });
      }
    });
    const Fragment sum = how.words ? k.fold(Monoid::sum, acc, 1, Element::i32) : k.fold(Monoid::sum, acc, 1);
    k.store(sum, k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
}
Expr plus_x(Program&, const Operands& v) { return v[0] + v[1]; }
Expr plus_z(Program&, const Operands& v) { return v[0] + v[2]; }
Expr less_z(Program&, const Operands& v) { return v[0] - v[2]; }
Expr both(Program&, Expr x, Expr z) { return x + z; }

// y(m) = sum of x(m, i) over `columns` of them, 64 a trip, and the sum itself again; or w(m), what it was between two updates.
std::function<Program()> fixed(int columns, bool itself) {
  return [=] {
    Program k("fixed", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n(columns);
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      const auto at = [&](Sym i) { return k(x, {c[0], i}); };
      return itself ? k.sum(n, at) : k.sum(n, Sym(0), Sym(64), [&](Sym i) { return at(i) * 3; });
    });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.zeros(Element::f32, tv, {1, 64}), between = k.zeros(Element::f32, tv, {1, 64});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {1, 64}, {r, t}), tv, 1);
      k.update(acc, {f}, [](const auto& v) { return v[0] + v[1]; });
      if (itself) return k.update(acc, {acc}, [](const auto& v) { return v[0] + v[1]; });
      k.update(between, {acc}, [](const auto& v) { return v[1]; });
      k.update(acc, {f}, [](const auto& v) { return v[0] + v[1] * 2; });
    });
    k.store(k.fold(Monoid::sum, itself ? acc : between, 1), k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
}

// y(m) = two maxima of 64, added, and a sum is said.
Program maxima() {
  Program k("maxima", target(), 64);
  const Sym m = k.size("m", {.most = 1 << 8}), n(64);
  const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n}),
               mask = k.input("mask", Element::i32, {m, n});
  k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }); });
  const Sym r = k.workgroups(0, m, 1);
  const Layout tv = rows_tv(1, 64, 1, 64);
  const auto load = [&](const Tensor& of) { return k.load(k.tile(of, {1, 64}, {r, 0}), tv, 1); };
  const Fragment f = load(x), g = load(mask);
  const auto greatest = [&](bool yes) {
    return k.fold(Monoid::max,
                  k.map({f, g},
                        [&](const auto& v) {
                          return choose(less_signed(integer(v[1]), k.integer(1)), yes ? v[0] : k.constant(0),
                                        yes ? k.constant(0) : v[0]);
                        }),
                  1);
  };
  k.store(k.map({greatest(true), greatest(false)}, [](const auto& v) { return v[0] + v[1]; }),
          k.tile(y, {1, 1}, {r, 0}), 1);
  return k;
}

// y(m) = sums over i of x and of z, each by a fold that the trips add to one accumulator, modulo 2^32.
struct Folds {
  int updates = 2;      ///< of one sum each; 1: of both
  int of[2] = {0, 1};   ///< x or z
  bool product = false; ///< x z in the place of z
  int times = 1;        ///< that z is added
  bool behind = false;  ///< two accumulators, which a map adds after the loop
  bool said_twice = false, said_one = false, together = false, said_numbers = false;
  int further = 0;
  bool looks = false, numbers = false;
  bool as_numbers = false; ///< `a + b` of i32, which i32 does not hold
  bool begins = false;     ///< with what z has in its first column
};
std::function<Program()> folds(Folds how) {
  return [how] {
    Program k("folds", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::i32, {m, 1}), x = k.input("x", Element::i32, {m, n}),
                 z = k.input("z", Element::i32, {m, n});
    const auto other = [&](Expr a, Expr b) { return how.product ? a * b : b; };
    k.computes(y, [&](const auto& c) {
      const auto at = [&](const Tensor& t, Sym i) { return integer(k(t, {c[0], i})); };
      if (how.together) return k.sum(n, [&](Sym i) { return at(x, i) + other(at(x, i), at(z, i)); });
      const Expr of_x = k.sum(n, [&](Sym i) { return at(x, i); });
      if (how.said_one) return of_x;
      if (how.said_numbers) return to_number(of_x) + to_number(k.sum(n, [&](Sym i) { return at(z, i); }));
      const Expr sum =
          how.said_twice ? of_x + of_x : of_x + k.sum(n, [&](Sym i) { return other(at(x, i), at(z, i)); });
      return how.begins ? sum + integer(k(z, {c[0], 0})) : sum;
    });
    const Sym r = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64), one = without_axis(tv, 1);
    const auto zero = [&] { return k.zeros(Element::i32, one, {1, 1}); };
    Fragment acc = zero();
    if (how.begins)
      acc = k.map(
          {k.load(k.tile(z, {1, 1}, {r, 0}), one, 1)}, [](const auto& v) { return integer(v[0]); },
          Element::i32);
    const Fragment second = how.behind ? zero() : acc;
    k.loop(n, 64, {.distance = 1, .ring = 2}, [&](Sym t) {
      const auto fold = [&](int which) {
        const auto load = [&](const Tensor& of, Sym at) {
          return k.load(k.tile(of, {1, 64}, {r, at}), tv, 1);
        };
        const Fragment a = load(x, t);
        if (which == 0) return k.fold(Monoid::sum, a, 1, Element::i32);
        return k.fold(Monoid::sum,
                      k.map(
                          {a, load(z, t + Sym(how.further))},
                          [&](const auto& v) { return other(integer(v[0]), integer(v[1])); }, Element::i32),
                      1, Element::i32);
      };
      const auto add = [&](const auto& v) {
        if (how.as_numbers) return v[0] + v[1];
        Expr all = integer(v[0]);
        for (std::size_t i = 1; i < v.size(); ++i) all = all + integer(v[i]);
        return all;
      };
      if (how.updates == 1) {
        k.update(acc, {fold(how.of[0]), fold(how.of[1])}, add);
      } else {
        k.update(acc, {fold(how.of[0])}, add);
        if (how.looks) k.update(acc, {}, [](const auto& v) { return integer(v[0]) ^ 1; });
        for (int i = 0; i < how.times; ++i) k.update(second, {fold(how.of[1])}, add);
      }
    });
    if (how.behind)
      acc = k.map(
          {acc, second}, [](const auto& v) { return integer(v[0]) + integer(v[1]); }, Element::i32);
    k.store(acc, k.tile(y, {1, 1}, {r, 0}), 1);
    return k;
  };
}

// c(m, n) = `said` times the sum of a(m, i) b(n, i), which each trip adds `times` times.
struct Products {
  int times = 2;
  double said = 2;
  bool next = false; ///< the last time of the next tile
  bool same = false; ///< of the first tile, in all trips
  int deep = 32;     ///< of a tile
  bool two_loops = false;
};
std::function<Program()> products(Products how) {
  return [how] {
    const Element e = Element::f16;
    const MmaTiling mma =
        MmaTiling::of(Atom::mma_best(target(), e, e, Element::f32, 16), 1, 1, 16, 16, how.deep, 8);
    Program k("products", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10, .multiple = 4}),
              deep = k.size("k", {.most = 1 << 10, .multiple = 8});
    const Tensor c = k.output("c", Element::f32, {m, n}), a = k.input("a", e, {m, deep}),
                 b = k.input("b", e, {n, deep});
    k.computes(c, [&](const auto& at) {
      return k.sum(deep, [&](Sym i) { return k(a, {at[0], i}) * k(b, {at[1], i}); }) * how.said;
    });
    const Sym bn = k.workgroups(0, n, 16), bm = k.workgroups(1, m, 16);
    const Fragment acc = k.zeros(Element::f32, mma.c(), {16, 16});
    const auto loop = [&](int times) {
      k.loop(deep, how.deep, {.distance = 0, .ring = 1}, [&](Sym t) {
        for (int i = 0; i < times; ++i) {
          const Sym at = how.same ? Sym(0) : how.next && i + 1 == times ? t + Sym(1) : t;
          k.mma(acc, k.load(k.tile(a, {16, how.deep}, {bm, at}), mma.a(), 8),
                k.load(k.tile(b, {16, how.deep}, {bn, at}), mma.b(), 8), mma);
        }
      });
    };
    if (how.two_loops)
      for (int i = 0; i < how.times; ++i) loop(1);
    else
      loop(how.times);
    k.store(acc, k.tile(c, {16, 16}, {bm, bn}), 4);
    return k;
  };
}

// y(m) = sum of x(m, i), of which one sum has the elements that a mask names, and the other ones the rest.
struct Masks {
  std::function<Expr(Program&, Expr mask, Expr x, Expr zero)> first, second;
  std::function<Expr(Program&, Expr mask, Expr x, Expr zero)> said = [](Program&, Expr, Expr x, Expr) {
    return x;
  };
  bool one_update = false;
  double factor = 1;    ///< of the second
  bool in_part = false; ///< the second is said of the first 64 elements alone
};
std::function<Program()> masks(Masks how) {
  return [how] {
    Program k("masks", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n}),
                 mask = k.input("mask", Element::i32, {m, n});
    k.computes(y, [&](const auto& c) {
      const auto of = [&](const auto& said) {
        return [&](Sym i) { return said(k, integer(k(mask, {c[0], i})), k(x, {c[0], i}), k.constant(0)); };
      };
      if (how.in_part) return k.sum(n, of(how.first)) + k.sum(n, Sym(0), Sym(64), of(how.second));
      return k.sum(n, of(how.said));
    });
    const Sym w = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    k.loop(n, 64, {.distance = 1, .ring = 2}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {1, 64}, {w, t}), tv, 1),
                     g = k.load(k.tile(mask, {1, 64}, {w, t}), tv, 1);
      const auto fold = [&](const auto& by) {
        return k.fold(Monoid::sum,
                      k.map({f, g}, [&](const auto& v) { return by(k, integer(v[1]), v[0], k.constant(0)); }),
                      1);
      };
      const auto add = [](const auto& v) { return v[0] + v[1]; };
      const Fragment first = fold(how.first), second = fold(how.second);
      if (how.one_update) {
        k.update(acc, {first, second}, [&](const auto& v) { return v[0] + v[1] + v[2] * how.factor; });
      } else {
        k.update(acc, {first}, add);
        k.update(acc, {second}, [&](const auto& v) { return v[0] + v[1] * how.factor; });
      }
    });
    k.store(acc, k.tile(y, {1, 1}, {w, 0}), 1);
    return k;
  };
}
Expr less(Program& k, Expr mask, int than, Expr yes, Expr no) {
  return choose(less_signed(mask, k.integer(than)), yes, no);
}

// y(m) = the sum over i < n of what is made of x(m, i) and i, of rows that end inside of a tile.
struct Places {
  std::function<Expr(Program&, Expr x, Sym at, Sym n)> body, said;
  bool words = false, lanes = false;
  std::int64_t most = 1 << 12;
  bool of_tile = false; ///< the place in the tile alone
};
std::function<Program()> places(Places how) {
  return [how] {
    Program k("places", target(), 64);
    const Element e = how.words ? Element::i32 : Element::f32;
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = how.most});
    const Tensor y = k.output("y", e, {m, 1}), x = k.input("x", e, {m, n});
    if (how.most > 1 << 20) k.far(x);
    const auto number = [&](Expr v) { return how.words ? integer(v) : v; };
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) { return how.said(k, number(k(x, {c[0], i})), i, n); });
    });
    const Sym w = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64), one = without_axis(tv, 1);
    const Fragment acc = k.zeros(e, how.lanes ? tv : one, {1, how.lanes ? 64 : 1});
    const auto fold = [&](const Fragment& f) {
      return how.words ? k.fold(Monoid::sum, f, 1, Element::i32) : k.fold(Monoid::sum, f, 1);
    };
    k.loop(n, 64, {.distance = 1, .ring = 2}, [&](Sym t) {
      const Sym at = how.of_tile ? k.position(1) : Sym(64) * t + k.position(1);
      const Fragment f = k.load(k.tile(x, {1, 64}, {w, t}), tv, 1);
      const auto body = [&](Expr v) { return how.body(k, number(v), at, n); };
      if (how.lanes)
        k.update(acc, {f}, [&](const auto& v) { return number(v[0]) + body(v[1]); });
      else
        k.update(acc,
                 {fold(k.map(
                     {f}, [&](const auto& v) { return body(v[0]); }, e))},
                 [&](const auto& v) { return number(v[0]) + number(v[1]); });
    });
    k.store(how.lanes ? fold(acc) : acc, k.tile(y, {1, 1}, {w, 0}), 1);
    return k;
  };
}

// y(m) = the sum of x(m, i) of i8 as a number of i32, which its trips add lane by lane.
std::function<Program()> bytes(std::int64_t most, double factor, bool word = true) {
  return [=] {
    Program k("bytes", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.most = most});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::i8, {m, n});
    const auto of = [&](Expr v) { return to_number(truncated(word ? to_number(integer(v)) : v)); };
    k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return of(k(x, {c[0], i})); }); });
    const Sym w = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.zeros(Element::i32, tv, {1, 64});
    k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {1, 64}, {w, t}), tv, 1);
      k.update(acc,
               {k.map(
                   {f},
                   [&](const auto& v) {
                     const Expr in = word ? to_number(integer(v[0])) : v[0];
                     return truncated(
                         inside(Sym(64) * t + k.position(1), n, factor == 1 ? in : in * factor, 0));
                   },
                   Element::i32)},
               [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(k.fold(Monoid::sum, acc, 1), k.tile(y, {1, 1}, {w, 0}), 1);
    return k;
  };
}
} // namespace

TEST_CASE("updates: several of one accumulator, lane by lane") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 127}, {3, 128}, {2, 257}, {1, 700}};
  const std::string says = "y is what the specification says";
  std::vector<Attack> all;
  const auto put = [&](const std::string& name, const std::string& because, Lanes how,
                       const std::string& unseen = "") {
    all.push_back({name, because, lanes(std::move(how)), sizes, {}, unseen});
  };
  for (const bool words : {false, true}) {
    const std::string of = words ? "integers, " : "numbers, ";
    const auto two = [&](std::vector<Add> updates, const auto& said) {
      Lanes how{.updates = std::move(updates), .said = said};
      how.words = words;
      return how;
    };
    const Lanes right = two({plus_x, plus_z}, both);
    put(of + "x and z", "", right);
    const auto changed = [&](const auto& change) {
      Lanes how = right;
      change(how);
      return how;
    };
    put(of + "three stages", "", changed([](Lanes& h) { h.pipeline = {.distance = 2, .ring = 3}; }));
    put(of + "one stage, two waves", "", changed([](Lanes& h) {
          h.pipeline = {.distance = 0, .ring = 1};
          h.threads = 128;
        }));
    put(of + "three updates", "",
        two({plus_x, plus_z, plus_x}, [](Program&, Expr x, Expr z) { return x + x + z; }));
    put(of + "x squared, then z", "",
        two({[](Program&, const Operands& v) { return v[0] + v[1] * v[1]; }, plus_z},
            [](Program&, Expr x, Expr z) { return x * x + z; }));
    put(of + "less z", "", two({plus_x, less_z}, [](Program&, Expr x, Expr z) { return x - z; }));
    put(of + "x twice", "", two({plus_x, plus_x}, [](Program&, Expr x, Expr) { return x + x; }));
    put(of + "x twice, said once", says, two({plus_x, plus_x}, [](Program&, Expr x, Expr) { return x; }));
    put(of + "less z, said more", says, two({plus_x, less_z}, both));
    put(of + "x alone", says, two({plus_x}, both));
    put(of + "z twice", says, two({plus_x, plus_z, plus_z}, both));
    put(of + "z that nobody asked for", says,
        two({plus_x, plus_z}, [](Program&, Expr x, Expr) { return x; }));
    put(of + "z of the next tile", ":", changed([](Lanes& h) { h.further = 1; }));
    put(of + "looked at between", ":", changed([](Lanes& h) { h.looks = true; }));
    put(of + "z changed between", says, changed([](Lanes& h) { h.changes = 1; }));
    put(of + "x changed between", ":", changed([](Lanes& h) { h.changes = 0; }), "x has been added by then");
    put(of + "x changed between, and said as it is then", ":", changed([](Lanes& h) {
          h.changes = 0;
          h.said = [](Program&, Expr x, Expr z) { return x * 2 + z; };
        }));
    put(of + "half of what was there", ":",
        two({plus_x, [](Program&, const Operands& v) { return v[0] * 3 + v[2]; }}, both));
    put(of + "what was there is forgotten", ":",
        two({plus_x, [](Program&, const Operands& v) { return v[2]; }}, both));
    put(of + "what was there twice", ":",
        two({plus_x, [](Program&, const Operands& v) { return v[0] + v[0] + v[2]; }}, both));
    put(of + "one outside", "what lies outside",
        two({plus_x, [](Program&, const Operands& v) { return v[0] + v[2] + 1; }},
            [](Program&, Expr x, Expr z) { return x + z + 1; }));
    put(of + "in a branch", ":", changed([](Lanes& h) { h.branch = true; }));
  }
  all.push_back({"what it was between", says, fixed(128, false), {{1}, {5}}});
  all.push_back({"the sum itself again", says, fixed(64, true), {{1}, {5}}});
  attack(all);
}

TEST_CASE("updates: two sums of integers in one accumulator") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 63}, {3, 64}, {2, 129}, {1, 300}};
  const std::string says = "y is what the specification says";
  attack({
      {"in two updates", "", folds({}), sizes},
      {"in one", "", folds({.updates = 1}), sizes},
      {"a product", "", folds({.product = true}), sizes},
      {"a product, said together", "", folds({.product = true, .together = true}), sizes},
      {"said together", "", folds({.updates = 1, .together = true}), sizes},
      {"added after the loop", "", folds({.behind = true}), sizes},
      {"one of them twice, as said", "", folds({.of = {0, 0}, .said_twice = true}), sizes},
      {"in one update twice, as said", "", folds({.updates = 1, .of = {0, 0}, .said_twice = true}), sizes},
      {"after the loop twice, as said", "", folds({.of = {0, 0}, .behind = true, .said_twice = true}), sizes},
      {"begins with a number", "", folds({.begins = true}), sizes},
      {"as numbers of i32", "", folds({.as_numbers = true}), sizes},
      {"one of them twice", says, folds({.of = {0, 0}}), sizes},
      {"one of them twice, said once", says, folds({.of = {0, 0}, .said_one = true}), sizes},
      {"z twice", says, folds({.times = 2}), sizes},
      {"x alone", says, folds({.times = 0}), sizes},
      {"z that nobody asked for", says, folds({.said_one = true}), sizes},
      {"z, and a product is said", says, folds({.of = {0, 0}, .product = true}), sizes},
      {"a sum of numbers", says, folds({.said_numbers = true}), sizes, {}, "small numbers do not wrap"},
      {"looked at between", ":", folds({.looks = true}), sizes},
      {"of the next tile", ":", folds({.further = 1}), sizes},
      {"one after the loop twice", says, folds({.of = {0, 0}, .behind = true}), sizes},
  });
}

TEST_CASE("updates: a product twice in a trip") {
  const std::vector<Sizes> sizes = {{16, 16, 32}, {17, 20, 96}, {5, 16, 40}};
  const std::string says = "c is what the specification says";
  attack({
      {"twice, as said", "", products({}), sizes},
      {"three times, as said", "", products({.times = 3, .said = 3}), sizes},
      {"of more than one step", "", products({.deep = 64}), sizes},
      {"in two loops", "", products({.two_loops = true}), sizes},
      {"twice, said once", says, products({.said = 1}), sizes},
      {"once, said twice", says, products({.times = 1}), sizes},
      {"three times, said twice", says, products({.times = 3}), sizes},
      {"of the next tile", ":", products({.next = true}), sizes},
      {"the first tile in all trips", "summed once", products({.same = true}), sizes},
      {"the first tile in all trips, once", "summed once", products({.times = 1, .said = 1, .same = true}),
       sizes},
  });
}

TEST_CASE("updates: sums of what masks name and of the rest") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {3, 130}, {2, 300}};
  const std::string says = "y is what the specification says";
  const auto named = [](Program& k, Expr mask, Expr x, Expr zero) { return less(k, mask, 1, x, zero); };
  const auto rest = [](Program& k, Expr mask, Expr x, Expr zero) { return less(k, mask, 1, zero, x); };
  std::vector<Attack> all;
  const auto put = [&](const std::string& name, const std::string& because, Masks how) {
    all.push_back({name, because, masks(std::move(how)), sizes});
  };
  put("both", "", {.first = named, .second = rest});
  put("both in one update", "", {.first = named, .second = rest, .one_update = true});
  put("less than one and not less than two", "",
      {.first = named, .second = rest, .said = [](Program& k, Expr mask, Expr x, Expr zero) {
         return less(k, mask, 1, x, zero) + less(k, mask, 1, zero, x);
       }});
  put("of three, two", "",
      {.first = named,
       .second = [](Program& k, Expr mask, Expr x,
                    Expr zero) { return less(k, mask, 1, zero, less(k, mask, 5, x, zero)); },
       .said = [](Program& k, Expr mask, Expr x,
                  Expr zero) { return less(k, mask, 1, x, less(k, mask, 5, x, zero)); }});
  put("the rest counts twice, as said", "",
      {.first = named,
       .second = rest,
       .said = [](Program& k, Expr mask, Expr x, Expr) { return less(k, mask, 1, x, x * 2); },
       .factor = 2});
  put("squares of the rest", "",
      {.first = named,
       .second = [](Program& k, Expr mask, Expr x, Expr zero) { return less(k, mask, 1, zero, x * x); },
       .said = [](Program& k, Expr mask, Expr x, Expr) { return less(k, mask, 1, x, x * x); }});
  put("one of them twice", says, {.first = named, .second = named});
  put("masks that overlap", says, {.first = named, .second = [](Program& k, Expr mask, Expr x, Expr zero) {
                                     return less(k, mask, 0, zero, x);
                                   }});
  put("masks that leave one out", says,
      {.first = named,
       .second = [](Program& k, Expr mask, Expr x, Expr zero) { return less(k, mask, 2, zero, x); }});
  put("the rest with the other sign", says, {.first = named, .second = rest, .factor = -1});
  put("the rest counts twice", says, {.first = named, .second = rest, .one_update = true, .factor = 2});
  put("all, and the rest again", says,
      {.first = [](Program&, Expr, Expr x, Expr) { return x; }, .second = rest});
  put("the rest of a part is said", says, {.first = named, .second = rest, .in_part = true});
  all.push_back({"maxima of both", says, maxima, {{1}, {5}}});
  put("the rest alone is said", says, {.first = named, .second = rest, .said = rest});
  attack(all);
}

TEST_CASE("updates: elements times their places, of rows that end inside of a tile") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {3, 130}, {2, 300}};
  const std::string says = "y is what the specification says", outside = "what lies outside";
  std::vector<Attack> all;
  for (const bool words : {false, true})
    for (const bool lanes : {false, true}) {
      const auto put = [&](const std::string& name, const std::string& because, const auto& body,
                           const auto& said, std::int64_t most = 1 << 12, const std::string& unseen = "") {
        Places how{.body = body, .said = said, .words = words, .lanes = lanes, .most = most};
        how.of_tile = name.ends_with("in the tile");
        all.push_back(
            {(words ? "integers, " : "numbers, ") + std::string(lanes ? "lane by lane, " : "folds, ") + name,
             because,
             places(how),
             sizes,
             {},
             unseen});
      };
      const auto place = [=](Program& k, Sym at) { return words ? integer(k.number(at)) : k.number(at); };
      const auto plain = [](Program&, Expr x, Sym, Sym) { return x; };
      const auto weighted = [=](Program& k, Expr x, Sym at, Sym) { return x * place(k, at); };
      put("times the place", "", weighted, weighted);
      const auto twice = [=](Program& k, Expr x, Sym at, Sym) {
        return x * place(k, at) * (place(k, at) + 1);
      };
      put("times two of places", "", twice, twice);
      put("times the place in the tile", ":", weighted, weighted);
      put(
          "the place after", says, [=](Program& k, Expr x, Sym at, Sym) { return x * place(k, at + Sym(1)); },
          weighted);
      put(
          "the place before", says, [=](Program& k, Expr x, Sym at, Sym) { return x * (place(k, at) - 1); },
          weighted);
      put(
          "plus the place", outside, [=](Program& k, Expr x, Sym at, Sym) { return x + place(k, at); },
          [=](Program& k, Expr x, Sym at, Sym) { return x + place(k, at); });
      put(
          "one more, times the place", outside,
          [=](Program& k, Expr x, Sym at, Sym) { return (x + 1) * place(k, at); },
          [=](Program& k, Expr x, Sym at, Sym) { return (x + 1) * place(k, at); });
      // A condition in the place of `inside`.
      const auto beside = [=](Sym more, int beyond, bool less_of_unsigned) {
        return [=](Program& k, Expr x, Sym at, Sym n) {
          const Expr a = integer(k.number(at)), b = integer(k.number(n + more));
          const Expr other = words ? k.integer(beyond) : k.constant(beyond);
          return choose(less_of_unsigned ? less_unsigned(a, b) : less_signed(a, b), x + 1, other);
        };
      };
      const auto one_more = [](Program&, Expr x, Sym, Sym) { return x + 1; };
      put("where the row is", "", beside(Sym(0), 0, false), one_more);
      put("where the row is, unsigned", "", beside(Sym(0), 0, true), one_more);
      put("one place further", ":", beside(Sym(1), 0, false), one_more);
      put("one place less", ":", beside(Sym(-1), 0, false), one_more);
      put("something else outside", outside, beside(Sym(0), 1, false), one_more);
      put("the specification without the one", says, beside(Sym(0), 0, false), plain);
      put(
          "where no row is", ":",
          [=](Program& k, Expr x, Sym at, Sym n) {
            return choose(less_signed(integer(k.number(n)), integer(k.number(at))), x + 1,
                          words ? k.integer(0) : k.constant(0));
          },
          one_more);
      put("places that i32 does not have", lanes ? "what is added to a sum is its next part" : outside,
          beside(Sym(0), 0, false), one_more, INT32_MAX, "right for all sizes that fit the emulator");
    }
  const auto of_unknown = [](const auto& f) { return Places{.body = f, .said = f}; };
  const auto put = [&](const std::string& name, const Places& how, const std::string& unseen = "") {
    all.push_back({name, outside, places(how), sizes, {}, unseen});
  };
  put("a power times the place",
      of_unknown([](Program& k, Expr x, Sym at, Sym) { return exp(x) * k.number(at); }));
  put("times a power of the place",
      of_unknown([](Program& k, Expr x, Sym at, Sym) { return x * exp(k.number(at)); }),
      "where it is infinite outside, it is inside, too");
  put("with the place, times the place",
      of_unknown([](Program& k, Expr x, Sym at, Sym) { return (x + k.number(at)) * k.number(at); }));
  attack(all);
}

TEST_CASE("updates: bytes as integers that are numbers again") {
  const std::vector<Sizes> sizes = {{1, 1}, {5, 64}, {3, 130}};
  // Right ones of integers: tests/python/test_program.py; tokens of bytes are words.
  attack({{"of numbers", "", bytes(1 << 20, 1, false), sizes},
          {"more than i32 has", "stays inside of i32", bytes(1 << 24, 1), {}, {}, "rows of 16 million"},
          {"twice", "y is what the specification says", bytes(1 << 20, 2), sizes}});
}

} // namespace updates

} // namespace updates_test
