// Right programs that some rule refused, or that did not build, when a stranger wrote them: D1 to D13, each with its neighbours. Proved,
// and so said tokens and the emulator. (D10 is of validation: tests/validate/code_test.cpp.)
#include "attack.h"

#include <inlay/algebra/parse.h>

#include <catch2/catch.hpp>
#include <cmath>

namespace walls_test {

namespace walls { // names of their own: the folder is one unit

using namespace adversary;

namespace {

const auto sum_of = [](const auto& v) { return v[0] + v[1]; };

// y(d) = sum over p of w(ids(p), d), the ids loaded in the trip that gathers by them.
std::function<Program()> bag(Pipeline pipeline, bool mapped, int multiple) {
  return [=] {
    Program k("bag", target(), 64);
    const Sym t = k.size("t", {.most = 1 << 10, .multiple = multiple}), v = k.size("v", {.most = 1 << 10}),
              d = k.size("d", {.most = 1 << 10, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {1, d}), w = k.input("w", Element::f32, {v, d}),
                 ids = k.input("ids", Element::i32, {t});
    k.computes(y, [&](const auto& c) { return k.sum(t, [&](Sym p) { return k(w, {k.at(ids, p), c[1]}); }); });
    const Sym b = k.workgroups(0, d, 256);
    const Layout tv = rows_tv(8, 256, 4, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 0), {1, 256});
    k.loop(t, 8, pipeline, [&](Sym i) {
      const Fragment of = k.load(k.tile(ids, {8}, {i}), without_axis(tv, 1), 1);
      Fragment x = k.load(k.tile(w, {8, 256}, {0, b}).through(0, of), tv, 4);
      if (mapped)
        x = k.map({x}, [&](const auto& a) { return inside(Sym(8) * i + k.position(0), t, a[0], 0); });
      k.update(acc, {k.fold(Monoid::sum, x, 0)}, sum_of);
    });
    k.store(acc, k.tile(y, {1, 256}, {0, b}), 4);
    return k;
  };
}

// Of the columns of x: their sums, or what is left of their squares without the mean.
std::function<Program()> columns(bool variance, int rows) {
  return [=] {
    Program k("columns", target(), 64);
    const Sym m = k.size("m", {.most = rows}), n = k.size("n", {.most = 1 << 12, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {1, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      const Expr mean = k.sum(m, [&](Sym i) { return k(x, {i, c[1]}); }) / k.number(m);
      if (!variance) return mean;
      return k.sum(m, [&](Sym i) { return (k(x, {i, c[1]}) - mean) * (k(x, {i, c[1]}) - mean); });
    });
    const Sym b = k.workgroups(0, n, 256);
    const Layout tv = rows_tv(rows, 256, 4, 64);
    const Fragment all = k.load(k.tile(x, {rows, 256}, {0, b}), tv, 4);
    const Fragment mean =
        k.map({k.fold(Monoid::sum, all, 0)}, [&](const auto& a) { return a[0] * codegen::rcp(k.number(m)); });
    const auto apart = [&](const auto& a) {
      return inside(k.position(0), m, (a[0] - a[1]) * (a[0] - a[1]), 0);
    };
    k.store(variance ? k.fold(Monoid::sum, k.map({all, mean}, apart), 0) : mean, k.tile(y, {1, 256}, {0, b}),
            4);
    return k;
  };
}

// The greatest of each row of a square matrix, whose one size masks both axes.
enum class Mask { column, row, column_of_row, row_of_column };
std::function<Program()> square(Mask how) {
  return [=] {
    Program k("square", target(), 256);
    const Sym n = k.size("n", {.most = 64, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {n, 1}), x = k.input("x", Element::f32, {n, n});
    k.computes(y, [&](const auto& c) {
      return k.fold(Monoid::max, n, [&](Sym i) { return k(x, {c[0], i}); });
    });
    const Sym b = k.workgroups(0, n, 64), row = Sym(64) * b + k.position(0), column = k.position(1);
    const Fragment all = k.load(k.tile(x, {64, 64}, {b, 0}), rows_tv(64, 64, 4, 256), 4);
    const Fragment masked = k.map({all}, [&](const auto& v) {
      const auto in_row = [&](Expr e, double fill) { return inside(row, n, e, fill); };
      const auto in_column = [&](Expr e, double fill) { return inside(column, n, e, fill); };
      return how == Mask::column          ? in_column(v[0], -INFINITY)
             : how == Mask::row           ? in_row(v[0], -INFINITY)
             : how == Mask::column_of_row ? in_column(in_row(v[0], 0), -INFINITY)
                                          : in_row(in_column(v[0], -INFINITY), 0);
    });
    k.store(k.fold(Monoid::max, masked, 1), k.tile(y, {64, 1}, {b, 0}), 1);
    return k;
  };
}

// y(m) = sum over t and j of a(m, t, j) x(t, j), lane by lane over t, in either order of the specification.
std::function<Program()> lanes(bool inner_first, int least) {
  return [=] {
    Program k("lanes", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), t = k.size("t", {.least = least, .most = 1 << 8});
    const Tensor y = k.output("y", Element::f32, {m, 1}), a = k.input("a", Element::f16, {m, t, 512}),
                 x = k.input("x", Element::f16, {1, t, 512});
    k.computes(y, [&](const auto& c) {
      const auto product = [&](Sym s, Sym j) { return k(a, {c[0], s, j}) * k(x, {0, s, j}); };
      if (inner_first)
        return k.sum(512, [&](Sym j) { return k.sum(t, [&](Sym s) { return product(s, j); }); });
      return k.sum(t, [&](Sym s) { return k.sum(512, [&](Sym j) { return product(s, j); }); });
    });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 512, 8, 64);
    const Fragment acc = k.zeros(Element::f32, tv, {1, 512});
    k.loop(t, 1, {.distance = 1, .ring = 1}, [&](Sym s) {
      const Fragment of_a = k.load(k.tile(a, {1, 1, 512}, {row, s, 0}).keep({0, 2}), tv, 8),
                     of_x = k.load(k.tile(x, {1, 1, 512}, {0, s, 0}).keep({0, 2}), without_axis(tv, 0), 8);
      k.update(acc, {of_a, of_x}, [](const auto& v) { return v[0] + v[1] * v[2]; });
    });
    k.store(k.fold(Monoid::sum, acc, 1), k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// The same over one axis of any length, of which the lanes sum progressions; folded in each trip or after the loop.
std::function<Program()> progressions(bool after, int rows) {
  return [=] {
    Program k("progressions", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 14, .multiple = 8});
    const Tensor y = k.output("y", Element::f32, {m, 1}), a = k.input("a", Element::f16, {m, n}),
                 x = k.input("x", Element::f16, {1, n});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) { return k(a, {c[0], i}) * k(x, {0, i}); });
    });
    const Sym b = k.workgroups(0, m, rows);
    const Layout tv = rows_tv(rows, 512, 8, 64);
    const Fragment acc = after ? k.zeros(Element::f32, tv, {rows, 512})
                               : k.zeros(Element::f32, without_axis(tv, 1), {rows, 1});
    k.loop(n, 512, {.distance = 1, .ring = 1}, [&](Sym t) {
      const Fragment of_a = k.load(k.tile(a, {rows, 512}, {b, t}), tv, 8),
                     of_x = k.load(k.tile(x, {1, 512}, {0, t}), without_axis(tv, 0), 8);
      if (after) return k.update(acc, {of_a, of_x}, [](const auto& v) { return v[0] + v[1] * v[2]; });
      const Fragment product = k.map({of_a, of_x}, [](const auto& v) { return v[0] * v[1]; });
      k.update(acc, {k.fold(Monoid::sum, product, 1)}, sum_of);
    });
    k.store(after ? k.fold(Monoid::sum, acc, 1) : acc, k.tile(y, {rows, 1}, {b, 0}), 1);
    return k;
  };
}

// y(r) = sum of the first `len` of the row, `len` from memory: by masks alone, or by a loop that ends there.
enum class Ends { nowhere, there, at_the_least };
std::function<Program()> prefix(Ends how) {
  return [=] {
    Program k("prefix", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 14, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n}),
                 lens = k.input("len", Element::i32, {1});
    const Sym len = k.uniform(lens, 0);
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) { return inside(i, len, k(x, {c[0], i}), 0); });
    });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 256, 4, 64), one = without_axis(tv, 1);
    const View to = k.tile(y, {1, 1}, {row, 0});
    const auto body = [&] {
      const Fragment acc = k.zeros(Element::f32, one, {1, 1});
      const Sym end = how == Ends::nowhere ? n : how == Ends::there ? len : min(n, len);
      k.loop(end, 256, {.distance = 0, .ring = 1}, [&](Sym t) {
        const Fragment part = k.map({k.load(k.tile(x, {1, 256}, {row, t}), tv, 4)}, [&](const auto& a) {
          return inside(Sym(256) * t + k.position(1), len, a[0], 0);
        });
        k.update(acc, {k.fold(Monoid::sum, part, 1)}, sum_of);
      });
      k.store(acc, to, 1);
    };
    if (how == Ends::nowhere)
      body();
    else
      k.if_less(Sym(0), len, body, [&] { k.store(k.zeros(Element::f32, one, {1, 1}), to, 1); });
    return k;
  };
}

// A row over its sum, in tiles of 16 rows over an axis of 8.
Program eight_of_sixteen() {
  Program k("eight", target(), 64);
  const Sym m = k.size("m", {.most = 100});
  const Tensor y = k.output("y", Element::f32, {m, 8, 64}), x = k.input("x", Element::f32, {m, 8, 64});
  k.computes(y, [&](const auto& c) {
    return k(x, {c[0], c[1], c[2]}) - k.sum(64, [&](Sym i) { return k(x, {c[0], c[1], i}); });
  });
  const Sym b = k.workgroups(0, m, 1);
  const auto tile = [&](const Tensor& t) { return k.tile(t, {1, 16, 64}, {b, 0, 0}).keep({1, 2}); };
  const Fragment of = k.load(tile(x), rows_tv(16, 64, 4, 64), 4);
  k.store(k.map({of, k.fold(Monoid::sum, of, 1)}, [](const auto& v) { return v[0] - v[1]; }), tile(y), 4);
  return k;
}

// c = a b^T, of operands that lie along k or across it, both pipelined.
std::function<Program()> product(bool a_across, bool b_across, Pipeline pipeline) {
  return [=] {
    const Element e = Element::bf16;
    const MmaTiling mma =
        MmaTiling::of(Atom::mma_best(target(), e, e, Element::f32, 16), 2, 2, 64, 64, 64, 8);
    Program k("product", target(), mma.threads());
    const Sym m = k.size("m", {.most = 1 << 10, .multiple = 8}),
              n = k.size("n", {.most = 1 << 10, .multiple = 8}),
              depth = k.size("k", {.most = 1 << 10, .multiple = 8});
    const auto operand = [&](const char* name, bool across, Sym rows) {
      return k.input(name, e, across ? std::vector{depth, rows} : std::vector{rows, depth});
    };
    const Tensor c = k.output("c", Element::f32, {m, n}), a = operand("a", a_across, m),
                 b = operand("b", b_across, n);
    const auto element = [&](const Tensor& t, bool across, Sym r, Sym i) {
      return across ? k(t, {i, r}) : k(t, {r, i});
    };
    k.computes(c, [&](const auto& at) {
      return k.sum(depth,
                   [&](Sym i) { return element(a, a_across, at[0], i) * element(b, b_across, at[1], i); });
    });
    const Sym of_n = k.workgroups(0, n, 64), of_m = k.workgroups(1, m, 64);
    const Tensor a_lds = k.lds("a_lds", e, {64, 64}, Swizzle(3, 3, 3)),
                 b_lds = k.lds("b_lds", e, {64, 64}, Swizzle(3, 3, 3));
    const Fragment acc = k.zeros(Element::f32, mma.c(), {64, 64});
    k.loop(depth, 64, pipeline, [&](Sym t) {
      const auto bring = [&](const Tensor& from, const Tensor& to, Sym at, bool across) {
        if (!across) return k.copy(k.tile(from, {64, 64}, {at, t}), to, rows_tv(64, 64, 8, mma.threads()), 8);
        const Layout in = columns_tv(64, 64, 8, mma.threads(), 2), out = codegen::values_exchanged(in);
        const Fragment loaded = k.load(k.tile(from, {64, 64}, {t, at}), in, 8);
        k.store(k.map(
                    out, {loaded}, [](const auto& x) { return x[0]; }, e),
                k.whole(to).keep({1, 0}), 2);
      };
      bring(a, a_lds, of_m, a_across), bring(b, b_lds, of_n, b_across);
      k.mma(acc, k.read(a_lds, mma.a(), 8), k.read(b_lds, mma.b(), 8), mma);
    });
    k.store(acc, k.tile(c, {64, 64}, {of_m, of_n}), 4);
    return k;
  };
}

// y(j, i) = x(i, j), through registers alone: `relayout` finds the way.
Program turned() {
  Program k("turned", target(), 256);
  const Sym m = k.size("m", {.most = 1 << 10, .multiple = 8}),
            n = k.size("n", {.most = 1 << 10, .multiple = 8});
  const Tensor y = k.output("y", Element::bf16, {n, m}), x = k.input("x", Element::bf16, {m, n});
  k.computes(y, [&](const auto& c) { return k(x, {c[1], c[0]}); });
  const Sym b = k.workgroups(0, n, 64), a = k.workgroups(1, m, 64);
  const Layout tv = rows_tv(64, 64, 4, 256);
  const Fragment f =
      k.relayout(k.load(k.tile(x, {64, 64}, {a, b}), tv, 4), codegen::transposed(tv), Element::bf16);
  k.store(f, k.tile(y, {64, 64}, {b, a}).keep({1, 0}), 4);
  return k;
}

// y(i) = x(i + by) where that is there, and 0.
std::function<Program()> shifted(int by, int vector) {
  return [=] {
    Program k("shifted", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n});
    k.computes(y, [&](const auto& c) { return inside(c[0] + Sym(by), n, k(x, {c[0] + Sym(by)}), 0); });
    const Sym w = k.workgroups(0, n, 256);
    View from = k.tile(x, {256}, {w});
    from.origin[0] = from.origin[0] + Sym(by);
    k.store(k.map({k.load(from, line_tv(256, vector, 64), vector)},
                  [&](const auto& v) { return inside(Sym(256) * w + k.position(0) + Sym(by), n, v[0], 0); }),
            k.tile(y, {256}, {w}), vector);
    return k;
  };
}

// The `count` greatest of 64, and where they are.
std::function<Program()> greatest(int count) {
  return [=] {
    Program k("greatest", target(), 256);
    const Sym m = k.size("m", {.most = 1 << 10});
    const Tensor best = k.output("best", Element::f32, {m, count}),
                 at = k.output("at", Element::f32, {m, count}), x = k.input("x", Element::f32, {m, 64});
    std::function<Expr(Sym, Sym, int)> left; // of x(r, i), after the first `d` are taken
    const auto value = [&](Sym r, int d) {
      return k.fold(Monoid::max, 64, [&](Sym i) { return left(r, i, d); });
    };
    const auto place = [&](Sym r, int d) {
      const Expr most = value(r, d);
      return k.fold(Monoid::min, 64,
                    [&](Sym i) { return select(left(r, i, d), most, k.number(i), k.constant(INFINITY)); });
    };
    const auto without = [&](Expr v, Expr i, Expr taken) {
      return select(i, taken, select(taken, i, k.constant(-INFINITY), v), v);
    };
    left = [&](Sym r, Sym i, int d) {
      return d == 0 ? k(x, {r, i}) : without(left(r, i, d - 1), k.number(i), place(r, d - 1));
    };
    const auto by_column = [&](Sym c, const std::function<Expr(int)>& f) {
      Expr e = f(0);
      for (int d = 1; d < count; ++d) e = select(k.number(c), k.constant(d), f(d), e);
      return e;
    };
    k.computes(best, [&](const auto& c) { return by_column(c[1], [&](int d) { return value(c[0], d); }); });
    k.computes(at, [&](const auto& c) { return by_column(c[1], [&](int d) { return place(c[0], d); }); });
    const Sym row = k.workgroups(0, m, 4);
    Fragment f = k.load(k.tile(x, {4, 64}, {row, 0}), rows_tv(4, 64, 1, 256), 1);
    for (int d = 0; d < count; ++d) {
      const Fragment most = k.fold(Monoid::max, f, 1);
      const Fragment where =
          k.fold(Monoid::min,
                 k.map({f, most},
                       [&](const auto& a) {
                         return select(a[0], a[1], k.number(k.position(1)), k.constant(INFINITY));
                       }),
                 1);
      k.store(most, k.tile(best, {4, 1}, {row, d}), 1);
      k.store(where, k.tile(at, {4, 1}, {row, d}), 1);
      f = k.map({f, where}, [&](const auto& a) { return without(a[0], k.number(k.position(1)), a[1]); });
    }
    return k;
  };
}

// y = x, of one row: a grid axis of one workgroup.
std::function<Program()> one_row(int along) {
  return [=] {
    Program k("one", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {1, n}), x = k.input("x", Element::f32, {1, n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
    const Sym b = k.workgroups(along == 0 ? 1 : 0, n, 64), row = k.workgroups(along, Sym(1), 1);
    k.store(k.load(k.tile(x, {1, 64}, {row, b}), rows_tv(1, 64, 1, 64), 1), k.tile(y, {1, 64}, {row, b}), 1);
    return k;
  };
}

// y(r) = sum of x(r, i) up to i = r, in a loop over what the rows of a block of `block` see.
struct Causal {
  int block = 64, end = 64, plus = 64, tile = 64;
  bool masked = true;
};
std::function<Program()> causal(Causal how) {
  return [how] {
    Program k("causal", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {n, 1}), x = k.input("x", Element::f32, {n, n});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) { return inside(i, c[0] + 1, k(x, {c[0], i}), 0); });
    });
    const Sym row = k.workgroups(0, n, 1);
    const Layout tv = rows_tv(1, how.tile, 1, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    const Sym end = min(n, how.end * floor_div(row, Sym(how.block)) + Sym(how.plus));
    k.loop(end, how.tile, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment of = k.map({k.load(k.tile(x, {1, how.tile}, {row, t}), tv, 1)}, [&](const auto& v) {
        return inside(how.tile * t + k.position(1), how.masked ? row + 1 : n, v[0], 0);
      });
      k.update(acc, {k.fold(Monoid::sum, of, 1)}, sum_of);
    });
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// y(r) = sum of x(r, i), i < limit: a loop to the least of n and `to`, and behind that one from `from` on.
std::function<Program()> head_and_tail(int to, int from, bool guarded = true, int limit = 0) {
  return [=] {
    Program k("two", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) {
        const Expr e = k(x, {c[0], i});
        return limit > 0 ? inside(i, Sym(limit), e, 0) : e;
      });
    });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    const auto trip = [&](Sym t) {
      const Sym at = Sym(64) * t + k.position(1);
      const Fragment of = k.map({k.load(k.tile(x, {1, 64}, {row, t}), tv, 1)}, [&](const auto& v) {
        const Expr e = inside(at, n, v[0], 0);
        return limit > 0 ? inside(at, Sym(limit), e, 0) : e;
      });
      k.update(acc, {k.fold(Monoid::sum, of, 1)}, sum_of);
    };
    const Pipeline plain{.distance = 0, .ring = 1};
    k.loop(min(n, Sym(to)), 64, plain, trip);
    const auto tail = [&] { k.loop(Sym(from), n, 64, plain, trip); };
    if (guarded) k.if_less(Sym(from), n, tail);
    if (!guarded && from > 0) tail();
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// Of each column the sum, or the greatest: the lanes of a wave hold several columns, and each column goes on in other waves. In a loop over
// the rows where there are more than a tile has; kept apart in the lanes until its end, or folded in each trip.
struct Down {
  int rows = 64, columns = 64, vector = 4, threads = 256;
  Monoid monoid = Monoid::sum;
  bool loops = false, each = false;
  const char* arch = "gfx942";
};
std::function<Program()> down(Down how) {
  return [how] {
    Program k("down", Target::named(how.arch), how.threads);
    const Sym m = k.size("m", {.most = how.loops ? 1 << 12 : how.rows}),
              n = k.size("n", {.most = 1 << 12, .multiple = how.vector});
    const Tensor y = k.output("y", Element::f32, {1, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      return k.fold(how.monoid, m, [&](Sym i) { return k(x, {i, c[1]}); });
    });
    const Sym b = k.workgroups(0, n, how.columns);
    const Layout tv = rows_tv(how.rows, how.columns, how.vector, how.threads), row = without_axis(tv, 0);
    const View to = k.tile(y, {1, how.columns}, {0, b});
    const auto part = [&](Sym t) {
      return k.fill(k.load(k.tile(x, {how.rows, how.columns}, {t, b}), tv, how.vector), 0, how.rows * t, m,
                    empty_element(how.monoid));
    };
    const auto join = [&](const auto& v) {
      return how.monoid == Monoid::sum ? v[0] + v[1] : max(v[0], v[1]);
    };
    if (!how.loops) {
      k.store(k.fold(how.monoid, part(0), 0), to, how.vector);
      return k;
    }
    const Fragment acc = how.each ? k.full(empty_element(how.monoid), row, {1, how.columns})
                                  : k.full(empty_element(how.monoid), tv, {how.rows, how.columns});
    k.loop(m, how.rows, {.distance = 0, .ring = 1},
           [&](Sym t) { k.update(acc, {how.each ? k.fold(how.monoid, part(t), 0) : part(t)}, join); });
    k.store(how.each ? acc : k.fold(how.monoid, acc, 0), to, how.vector);
    return k;
  };
}
// What the n-th access to a fold's words in LDS is changed to.
std::function<void(Code&)> of_exchange(InstKind kind, std::size_t number,
                                       const std::function<void(Inst&)>& f) {
  return [=](Code& code) {
    std::size_t n = 0;
    for (CodeRegion& r : code.regions)
      for (auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (Inst& i : *list)
          if (i.kind == kind && i.access.elements[0].size() == 3 && n++ == number) f(i);
  };
}
void without_barriers(Code& code) {
  for (CodeRegion& r : code.regions)
    for (auto* list : {&r.prologue, &r.body, &r.epilogue})
      std::erase_if(*list, [](const Inst& i) { return i.kind == InstKind::barrier; });
}

// c = a b^T + d e^T in two loops one after the other, over tiles of LDS of their own or the same ones.
enum class Sums { apart, one };
std::function<Program()> two_products(bool same_tiles, Pipeline pipeline, Sums sums = Sums::apart) {
  return [=] {
    const Element e = Element::bf16;
    const MmaTiling mma =
        MmaTiling::of(Atom::mma_best(target(), e, e, Element::f32, 16), 2, 2, 64, 64, 64, 8);
    Program k("two", target(), mma.threads());
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10, .multiple = 4});
    const Tensor c = k.output("c", Element::f32, {m, n});
    std::vector<Sym> depths;
    std::vector<Tensor> a, b;
    for (const char* name : {"k", "l"}) {
      depths.push_back(k.size(name, {.most = 1 << 10, .multiple = 8}));
      a.push_back(k.input(std::string("a_") + name, e, {m, depths.back()}));
      b.push_back(k.input(std::string("b_") + name, e, {n, depths.back()}));
    }
    k.computes(c, [&](const auto& at) {
      const auto sum = [&](std::size_t s) {
        return k.sum(depths[s], [&](Sym i) { return k(a[s], {at[0], i}) * k(b[s], {at[1], i}); });
      };
      return sum(0) + sum(1);
    });
    const Sym bn = k.workgroups(0, n, 64), bm = k.workgroups(1, m, 64);
    const Layout rows = rows_tv(64, 64, 8, mma.threads());
    std::vector<Tensor> lds;
    for (const char* name : {"a_lds", "b_lds", "a_again", "b_again"})
      if (!same_tiles || lds.size() < 2) lds.push_back(k.lds(name, e, {64, 64}, Swizzle(3, 3, 3)));
    std::vector<Fragment> acc;
    for (std::size_t s = 0; s < 2; ++s) {
      if (s == 0 || sums == Sums::apart) acc.push_back(k.zeros(Element::f32, mma.c(), {64, 64}));
      const Tensor of_a = lds[same_tiles ? 0 : 2 * s], of_b = lds[same_tiles ? 1 : 2 * s + 1];
      k.loop(depths[s], 64, pipeline, [&](Sym t) {
        k.copy(k.tile(a[s], {64, 64}, {bm, t}), of_a, rows, 8);
        k.copy(k.tile(b[s], {64, 64}, {bn, t}), of_b, rows, 8);
        k.mma(acc.back(), k.read(of_a, mma.a(), 8), k.read(of_b, mma.b(), 8), mma);
      });
    }
    k.store(sums == Sums::one ? acc[0] : k.map({acc[0], acc[1]}, sum_of), k.tile(c, {64, 64}, {bm, bn}), 4);
    return k;
  };
}

// y(b, m) = sum over k of x, whose axes lie as `place` says, in tiles of 16 of m and 16 of k that are loaded ahead; `from`: the tile of m that
// is loaded where tile 0 is stored.
struct Strided {
  std::string axes, place;
  Pipeline pipeline{.distance = 2, .ring = 2};
  int multiple = 16, from = 0;
  std::string table = {}; ///< a row's number comes from there
};

std::function<Program()> strided(Strided how) {
  return [how] {
    Program k("strided", target(), 64);
    const Sym b = k.size("b", {.most = 8}), m = k.size("m", {.most = 64, .multiple = how.from ? 16 : 1}),
              n = k.size("k", {.most = 256, .multiple = how.multiple});
    (void)k.size("p", {.least = 0, .most = 64}); // of `place`
    const auto in_order = [&](auto of_b, auto of_m, auto of_k) {
      std::vector<decltype(of_b)> out;
      for (const char c : how.axes) out.push_back(c == 'b' ? of_b : c == 'm' ? of_m : of_k);
      return out;
    };
    const Tensor y = k.output("y", Element::f32, {b, m}),
                 x = k.input("x", Element::f32, in_order(b, m, n), place_of(k, how.place)),
                 ids = how.table.empty() ? Tensor{} : k.input(how.table, Element::i32, {m});
    k.computes(y, [&](const auto& c) {
      const Index row = how.table.empty() ? Index(c[1] + Sym(16 * how.from)) : k.at(ids, c[1]);
      return k.sum(n, [&](Sym i) {
        const std::vector<Index> at = in_order(Index(c[0]), row, Index(i));
        return at.size() == 2 ? k(x, {at[0], at[1]}) : k(x, {at[0], at[1], at[2]});
      });
    });
    const Sym row = k.workgroups(0, m, 16), matrix = k.workgroups(1, b, 1);
    const Layout tv = rows_tv(16, 16, 1, 64), of_rows = without_axis(tv, 1);
    const auto at = [&](char c) { return how.axes.find(c); };
    const Fragment sum = k.zeros(Element::f32, of_rows, {16, 1});
    const Fragment named = how.table.empty() ? Fragment{} : k.load(k.tile(ids, {16}, {row}), of_rows, 1);
    k.loop(n, 16, how.pipeline, [&](Sym t) {
      const Sym of_m = how.table.empty() ? row + Sym(how.from) : Sym(0);
      View tile = k.tile(x, in_order(1, 16, 16), in_order(matrix, of_m, t));
      if (!how.table.empty()) tile = tile.through(at('m'), named);
      k.update(sum, {k.fold(Monoid::sum, k.load(tile.keep({at('m'), at('k')}), tv, 1), 1)}, sum_of);
    });
    k.store(sum, k.tile(y, {1, 16}, {matrix, row}).keep({1, 0}), 1);
    return k;
  };
}

// y(m) = sum over n of x where the column is past `begin`, in a loop up to column 128 and one behind it; `first`, `second`: with the mask.
std::function<Program()> past_begin(int begin, bool first, bool second, Monoid monoid = Monoid::sum) {
  return [=] {
    Program k("past_begin", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 8}), n = k.size("n", {.least = 129, .most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
    const double empty = empty_element(monoid);
    k.computes(y, [&](const auto& c) {
      return k.fold(monoid, n, [&](Sym i) { return inside(begin, i, k(x, {c[0], i}), empty); });
    });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment sum = k.full(empty, without_axis(tv, 1), {1, 1});
    const auto trip = [&](bool masked) {
      return [&, masked](Sym t) {
        Fragment z = k.fill(k.load(k.tile(x, {1, 64}, {row, t}), tv, 1), 1, 64 * t, n, empty);
        if (masked)
          z = k.map({z},
                    [&](const auto& v) { return inside(begin, Sym(64) * t + k.position(1), v[0], empty); });
        k.update(sum, {k.fold(monoid, z, 1)},
                 [&](const auto& v) { return monoid == Monoid::sum ? v[0] + v[1] : max(v[0], v[1]); });
      };
    };
    k.loop(0, 128, 64, {.distance = 0, .ring = 1}, trip(first));
    k.loop(128, n, 64, {.distance = 0, .ring = 1}, trip(second));
    k.store(sum, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// y(h) = the sum of row h/divisor + shift of x, which has hk rows, for each of q hk + more.
std::function<Program()> shared(int q, int divisor, int more = 0, int shift = 0) {
  return [=] {
    Program k("shared", target(), 64);
    const Sym hk = k.size("hk", {.most = 64}), n = k.size("n", {.most = 1 << 10}),
              h = Sym(q) * hk + Sym(more);
    const Tensor y = k.output("y", Element::f32, {h, 1}), x = k.input("x", Element::f32, {hk, n});
    const auto row = [&](Sym of) { return floor_div(of, Sym(divisor)) + Sym(shift); };
    k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {row(c[0]), i}); }); });
    const Sym w = k.workgroups(0, h, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    k.loop(n, 64, {.distance = 2, .ring = 2}, [&](Sym t) {
      k.update(sum, {k.fold(Monoid::sum, k.load(k.tile(x, {1, 64}, {row(w), t}), tv, 1), 1)}, sum_of);
    });
    k.store(sum, k.tile(y, {1, 1}, {w, 0}), 1);
    return k;
  };
}

// y(m) = the fold of the one element that each row of x has in its tile of one column; twice: its double is claimed.
std::function<Program()> one_column(Monoid monoid, const std::string& held, int columns = 1,
                                    bool sums = false, bool twice = false) {
  return [=] {
    Program k("one_column", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, columns});
    k.computes(y, [&](const auto& c) {
      if (sums) return k.sum(columns, [&](Sym i) { return k(x, {c[0], i}); });
      return twice ? k(x, {c[0], 0}) + k(x, {c[0], 0}) : k(x, {c[0], 0});
    });
    const Sym w = k.workgroups(0, m, 64);
    const Layout tv = parse_layout(held);
    k.store(k.fold(monoid, k.load(k.tile(x, {64, 1}, {w, 0}), tv, 1), 1), k.tile(y, {64, 1}, {w, 0}), 1);
    return k;
  };
}

} // namespace

TEST_CASE("walls: D1, what a table says is loaded in the trip that gathers by it") {
  std::vector<Attack> all;
  for (const int distance : {0, 1, 2})
    for (const int ring : {1, 2})
      for (const bool mapped : {false, true})
        for (const int multiple : {1, 8})
          all.push_back(
              {"distance " + std::to_string(distance) + ", ring " + std::to_string(ring) +
                   (mapped ? ", masked" : "") + (multiple == 1 ? ", of any length" : ""),
               mapped || multiple == 8 ? "" : "elements from", // what lies after the table names row 0
               bag({.distance = distance, .ring = ring}, mapped, multiple),
               multiple == 8 ? std::vector<Sizes>{{24, 7, 8}, {8, 3, 260}}
                             : std::vector<Sizes>{{23, 7, 8}, {1, 3, 260}}});
  attack(all);
}

TEST_CASE("walls: D2, several rows at an origin that is constant") {
  attack({{"means", "", columns(false, 4), {{1, 4}, {3, 260}, {4, 8}}},
          {"what is left", "", columns(true, 4), {{1, 4}, {3, 260}, {4, 8}}},
          {"of eight rows", "", columns(true, 8), {{8, 4}, {5, 12}}}});
}

TEST_CASE("walls: D3, one size for both axes") {
  const std::vector<Sizes> sizes = {{4}, {20}, {64}};
  attack({{"masked by columns", "", square(Mask::column), sizes},
          {"masked by rows alone", "elements from", square(Mask::row), sizes},
          {"masked by both", "", square(Mask::column_of_row), sizes},
          {"masked by both, rows last",
           "elements from",
           square(Mask::row_of_column),
           sizes,
           {},
           "right: the rows that are 0 from some column on are not stored"}});
}

TEST_CASE("walls: D4 and D13, sums lane by lane that are folded after the loop") {
  std::vector<Attack> all;
  for (const bool inner : {false, true})
    for (const int least : {1, 2, 8})
      all.push_back(
          {"over " + std::string(inner ? "j, then t" : "t, then j") + ", least " + std::to_string(least),
           "",
           lanes(inner, least),
           {{1, least}, {3, least + 1}}});
  for (const bool after : {false, true})
    for (const int rows : {1, 4})
      all.push_back({std::to_string(rows) + " rows, folded " + (after ? "after the loop" : "in each trip"),
                     "",
                     progressions(after, rows),
                     {{1, 8}, {5, 520}, {3, 1024}}});
  attack(all);
}

TEST_CASE("walls: D5, a loop that ends where memory says, in the branch that knows it has a trip") {
  const std::vector<Sizes> sizes = {{1, 4}, {2, 300}, {3, 1024}};
  attack({{"the whole row", "", prefix(Ends::nowhere), sizes},
          {"to the length",
           "min(n, k.uniform(table, i)) inside of if_less(0, that",
           prefix(Ends::there),
           sizes,
           {},
           "right where no length is past the row's, and a launch with 2^31 trips is not run here"},
          {"to the lesser", "", prefix(Ends::at_the_least), sizes}});
}

TEST_CASE("walls: D6, tiles that are longer than their axis") {
  attack({{"16 rows of 8", "", eight_of_sixteen, {{1}, {3}}}});
}

TEST_CASE("walls: D7, operands across k are pipelined like the others") {
  std::vector<Attack> all;
  for (const auto& [a, b] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)})
    for (const auto& [distance, ring] : {std::pair(1, 1), std::pair(2, 2)})
      all.push_back({std::string(a ? "t" : "n") + (b ? "t" : "n") + ", distance " + std::to_string(distance),
                     "",
                     product(a, b, {.distance = distance, .ring = ring}),
                     {{8, 72, 136}}});
  attack(all);
}

TEST_CASE("walls: D8, an exchange of registers without conflicts of its own") {
  attack({{"a transpose", "", turned, {{8, 8}, {72, 64}}}});
}

TEST_CASE("walls: D9, shifted elements are specified with where they are") {
  std::vector<Attack> all;
  for (const int by : {1, 3})
    all.push_back({"by " + std::to_string(by), "", shifted(by, 1), {{4}, {64}, {260}}});
  all.push_back({"by 4 in vectors", "", shifted(4, 4), {{4}, {64}, {260}}});
  attack(all);
}

TEST_CASE("walls: D11, the greatest of a row, one after the other") {
  attack({{"one", "", greatest(1), {{1}, {5}}}, {"two", "", greatest(2), {{5}}}});
  const Program eight = greatest(8)(); // and in time: this took half a minute
  const Graph graph = expand(eight);
  CHECK(mutate::refuted(apply(graph, default_schedule(graph))) == "");
}

TEST_CASE("walls: D12, a grid axis of one workgroup") {
  for (const int along : {0, 1, 2}) attack({{std::to_string(along), "", one_row(along), {{1}, {200}}}});
}

TEST_CASE("walls: loops to where a block of rows sees") {
  const std::vector<Sizes> sizes = {{1}, {63}, {64}, {65}, {128}, {130}, {200}};
  const std::string whole = "a sum is over the whole extent";
  attack({
      {"blocks of 64", "", causal({}), sizes},
      {"blocks of 128, two tiles each", "", causal({.block = 128, .end = 128, .plus = 128}), sizes},
      {"a tile more", "", causal({.plus = 128}), sizes},
      {"half of what they see", whole, causal({.block = 128}), sizes},
      {"no tile of the first block", "the loop runs at least once", causal({.plus = 0}), sizes},
      {"all that the block sees", "y is what the specification says", causal({.masked = false}), sizes},
  });
}

TEST_CASE("walls: a loop to the least of a size and a number, and one behind it") {
  const std::vector<Sizes> sizes = {{1, 1}, {3, 63}, {2, 64}, {2, 65}, {1, 128}, {3, 200}};
  attack({
      {"64 and the rest", "", head_and_tail(64, 64), sizes},
      {"128 and the rest", "", head_and_tail(128, 128), sizes},
      {"the first 64", "", head_and_tail(64, 0, false, 64), sizes},
      {"the first 100, of 128", "", head_and_tail(128, 0, false, 100), sizes},
      {"the first 64 alone", "a sum is over the whole extent", head_and_tail(64, 0, false), sizes},
      {"the first 100, of 64", "a sum is over the whole extent", head_and_tail(64, 0, false, 100), sizes},
      {"a tile twice", "is cut at 64 and at 128", head_and_tail(128, 64), sizes},
      {"a tile left out", "is cut at 128 and at 64", head_and_tail(64, 128), sizes},
      {"a rest that may be empty",
       "k.if_less(64, n, ..) around it",
       head_and_tail(64, 64, false),
       {{1, 1}, {2, 64}}},
  });
}

TEST_CASE("walls: folds of columns, which lanes hold several of and waves go on with") {
  const std::vector<Sizes> sizes = {{64, 64}, {50, 132}, {1, 4}};
  std::vector<Attack> all;
  for (const Monoid m : {Monoid::sum, Monoid::max}) {
    all.push_back({"four waves", "", down({.monoid = m}), sizes});
    all.push_back({"two waves", "", down({32, 32, 4, 128, m}), {{32, 32}, {7, 36}}});
    all.push_back({"single elements", "", down({64, 16, 1, 256, m}), {{64, 16}, {3, 21}}});
    all.push_back({"a row each of 16 lanes", "", down({16, 64, 4, 256, m}), {{16, 64}, {5, 68}}});
    for (const bool each : {m == Monoid::max, true}) // a maximum is none of a lane's own
      all.push_back({each ? "a loop, folded in each trip" : "a loop, folded behind it",
                     "",
                     down({.monoid = m, .loops = true, .each = each, .arch = "gfx950"}),
                     {{64, 64}, {200, 68}, {1, 4}}});
  }
  all.push_back({"a wave's part twice", "adds a part twice", down({}), sizes,
                 of_exchange(InstKind::lds_read, 1, [](Inst& i) { i.access.elements[0][1] = 0; })});
  all.push_back({"another value's part", "work-item 0 joins 0 and 1", down({}), sizes,
                 of_exchange(InstKind::lds_read, 1, [](Inst& i) { i.access.elements[0][0] = 1; })});
  all.push_back(
      {"a row for all lanes", "work-item 1 joins 4 and 0", down({}), sizes,
       of_exchange(InstKind::lds_read, 1, [](Inst& i) { i.access.threads = parse_layout("(64,4):(0,0)"); })});
  all.push_back(
      {"one writer for all rows", "what is read from fold2 was written", down({}), sizes,
       of_exchange(InstKind::lds_write, 0, [](Inst& i) { i.access.idle = parse_layout("(64,4):(1,0)"); })});
  all.push_back(
      {"no barrier", "what is read from fold2 has arrived there", down({}), sizes, without_barriers});
  attack(all);
}

TEST_CASE("walls: folds over several waves of what is the same everywhere") {
  const auto fold = [](Monoid m, double value) -> std::function<Program()> {
    return [=] {
      Program k("same", target(), 256);
      const Sym n = k.size("n", {.most = 100});
      const Tensor y = k.output("y", Element::f32, {n, 1});
      k.computes(y, [&](const auto&) { return k.constant(value); });
      const Sym b = k.workgroups(0, n, 1);
      const Layout tv = rows_tv(1, 256, 1, 256);
      k.store(k.fold(m, k.full(value, tv, {1, 256}), 1), k.tile(y, {1, 1}, {b, 0}), 1);
      return k;
    };
  };
  attack({{"zeros", "", fold(Monoid::sum, 0), {{1}, {3}}},
          {"nothing", "", fold(Monoid::max, -INFINITY), {{3}}},
          {"ones", "a fold is along an index of its operand", fold(Monoid::sum, 1), {{3}}}});
}

TEST_CASE("walls: tiles of LDS of several loops, with as many stages as each has") {
  const auto loops = [](Pipeline first, Pipeline second) -> std::function<Program()> {
    return [=] {
      Program k("stages", target(), 128);
      const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 12, .multiple = 4});
      const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
      const auto of = [&](Monoid f, Sym row) { return k.fold(f, n, [&](Sym i) { return k(x, {row, i}); }); };
      k.computes(y, [&](const auto& c) { return of(Monoid::max, c[0]) + of(Monoid::sum, c[0]); });
      const Sym row = k.workgroups(0, m, 1);
      const Layout tv = rows_tv(1, 512, 4, 128);
      std::vector<Fragment> all;
      for (const auto& [f, pipeline] : {std::pair(Monoid::max, first), std::pair(Monoid::sum, second)}) {
        all.push_back(k.full(empty_element(f), without_axis(tv, 1), {1, 1}));
        k.loop(n, 512, pipeline, [&, f = f](Sym t) {
          const Fragment part =
              k.fill(k.load(k.tile(x, {1, 512}, {row, t}), tv, 4), 1, 512 * t, n, empty_element(f));
          k.update(all.back(), {k.fold(f, part, 1)},
                   [f](const auto& v) { return f == Monoid::sum ? v[0] + v[1] : max(v[0], v[1]); });
        });
      }
      k.store(k.map(all, sum_of), k.tile(y, {1, 1}, {row, 0}), 1);
      return k;
    };
  };
  std::vector<Attack> all;
  for (const int first : {1, 2, 3})
    for (const int second : {1, 2, 3})
      for (const int distance : {0, 1})
        all.push_back({std::to_string(first) + " and " + std::to_string(second) + " stages, distance " +
                           std::to_string(distance),
                       "",
                       loops({distance, first}, {distance, second}),
                       {{1, 512}, {3, 1540}, {2, 1024}}});
  attack(all);
}

TEST_CASE("walls: two loops over the same tiles of LDS") {
  const std::vector<Sizes> sizes = {{64, 64, 64, 64}, {70, 68, 72, 136}, {1, 4, 200, 8}};
  std::vector<Attack> all;
  for (const bool same : {true, false})
    for (const auto& [distance, ring] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 2)})
      all.push_back({std::string(same ? "the same" : "others") + ", distance " + std::to_string(distance) +
                         ", ring " + std::to_string(ring),
                     "", two_products(same, {.distance = distance, .ring = ring}), sizes});
  for (const bool same : {true, false})
    for (const auto& [distance, ring] : {std::pair(0, 1), std::pair(2, 2)})
      all.push_back({"into one accumulator, " + std::to_string(distance), "",
                     two_products(same, {.distance = distance, .ring = ring}, Sums::one), sizes});
  all.push_back({"no barrier", "what is read from b_lds has arrived there",
                 two_products(true, {.distance = 2, .ring = 2}), sizes, without_barriers});
  attack(all);
}

TEST_CASE("walls: rows and matrices that are apart, loaded ahead") {
  const std::vector<Sizes> sizes = {{1, 1, 16, 0}, {2, 17, 32, 5}, {3, 16, 80, 1}};
  std::vector<Attack> all;
  for (const auto& [axes, place] :
       {std::pair("bmk", "(b,m,k):(m*(k+p),k+p,1)"), std::pair("bmk", "(b,m,k):(2*m*k,2*k,1)"),
        std::pair("bmk", "(b,m,k):(m*512+p,512,1)"), std::pair("bmk", "(b,m,k):(k,b*k+p,1)"),
        std::pair("bmk", "(b,m,k):(m*k,1,m)"), std::pair("bkm", "(b,k,m):((m+p)*k+p,m+p,1)"),
        std::pair("bmk", "(b,m,k):(m,1,b*m)"), std::pair("kbm", "(k,b,m):(b*m+p,m,1)")})
    for (const auto& [distance, ring] : {std::pair(2, 2), std::pair(3, 4)})
      all.push_back({std::string(place) + ", distance " + std::to_string(distance), "",
                     strided({axes, place, {.distance = distance, .ring = ring}}), sizes});
  for (const int multiple : {1, 8})
    all.push_back({"rows that end inside of a tile of " + std::to_string(multiple),
                   "",
                   strided({.axes = "bmk", .place = "(b,m,k):(m*(k+p),k+p,1)", .multiple = multiple}),
                   {{2, 17, 24, 5}, {1, 3, 8, 0}}});
  const std::string ends = "ends exactly what lies outside",
                    seen = "no memory of its own is read: the other rows'";
  attack(all);
  attack({
      {"rows nearer than they are long", ends, strided({"bmk", "(b,m,k):(m*k,k-8,1)"}), sizes, {}, seen},
      {"rows so far apart as a size says", ends, strided({"bmk", "(b,m,k):(m*k,p,1)"}), sizes, {}, seen},
      {"matrices nearer than they are large", ends, strided({"bmk", "(b,m,k):(m*k-m,1,m)"}), sizes, {}, seen},
      {"columns nearer than they are long", ends, strided({"bmk", "(b,m,k):(m*k,1,p)"}), sizes, {}, seen},
      {"the tile of rows after the last",
       "begin inside it",
       strided({.axes = "bmk", .place = "(b,m,k):(m*(k+p),k+p,1)", .from = 1}),
       {{1, 16, 16, 0}, {1, 16, 32, 4}}},
      {"the tile of columns after the last",
       "y is what the specification says",
       strided({.axes = "bmk", .place = "(b,m,k):(m*k,1,m)", .from = 1}),
       {{1, 16, 16, 0}, {1, 32, 32, 4}}},
  });
}

TEST_CASE("walls: a fold of one element is that element") {
  const std::vector<Sizes> sizes = {{1}, {64}, {70}};
  const std::string what = "y is what the specification says", one = "(64,1):(1@0,0)",
                    four = "((4,16),4):((0,1@0),16@0)";
  attack({
      {"a sum", "", one_column(Monoid::sum, one), sizes},
      {"a maximum", "", one_column(Monoid::max, one), sizes},
      {"which four hold", "", one_column(Monoid::sum, four), sizes},
      {"which each holds twice", "no index is the coordinate", one_column(Monoid::sum, "(64,2):(1@0,0)"),
       sizes},
      {"of several", "", one_column(Monoid::sum, one, 4), sizes},
      {"of several, taken for all", "over the whole extent", one_column(Monoid::sum, one, 4, true), sizes},
      {"taken for its double", what, one_column(Monoid::sum, one, 1, false, true), sizes},
      {"which four hold, taken for its double", what, one_column(Monoid::sum, four, 1, false, true), sizes},
  });
}

TEST_CASE("walls: masks that begin at a number, before a cut and behind it") {
  const std::vector<Sizes> sizes = {{1, 129}, {3, 200}};
  const std::string what = "whole extent";
  attack({
      {"both", "", past_begin(99, true, true), sizes},
      {"both, a maximum", "", past_begin(99, true, true, Monoid::max), sizes},
      {"the first alone", "", past_begin(99, true, false), sizes},
      {"the first alone, up to the cut", "", past_begin(127, true, false), sizes},
      {"the first alone, one past the cut", what, past_begin(128, true, false), sizes},
      {"the second alone", "y is what", past_begin(99, false, true), sizes},
      {"none", "y is what", past_begin(99, false, false), sizes},
      {"both, past the cut", "", past_begin(150, true, true), sizes},
  });
}

TEST_CASE("walls: workgroups that share a row") {
  const std::vector<Sizes> sizes = {{1, 1}, {3, 70}};
  attack({
      {"two", "", shared(2, 2), sizes},
      {"eight", "", shared(8, 8), sizes},
      {"fewer than there are", "", shared(2, 4), sizes},
      {"one more than there are", "y is what the specification says", shared(2, 2, 1), sizes},
      {"more rows than there are", "begin inside it", shared(4, 2), sizes},
      {"the next row", "y is what the specification says", shared(2, 2, 0, 1), sizes},
  });
}

} // namespace walls

} // namespace walls_test
