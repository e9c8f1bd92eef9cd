// Forms of programs that nothing in the catalogue has: each right on the emulator and proved, and each with what would be proved falsely
// if its rule were too lax.
#include "specified.h"

namespace forms_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;

namespace {

constexpr Element f = Element::f32;
using Exprs = std::vector<Expr>;
const Target& gfx942 = Target::named("gfx942");

// ------------------------------------------------------------------------------------------------ tables in loops

// y(d) = sum over p of w(ids p, d): a trip loads the ids of the rows that it gathers.
struct Bag {
  int distance = 0, ring = 1, multiple = 1;
  bool masked = true;
  int other_trip = 0; // the ids are those of another trip
  bool lanes = false; // summed in each lane, and not by a fold in each trip
};
Program bag(const Bag& b) {
  constexpr int rows = 8;
  Program k("bag", gfx942, 64);
  const Sym T = k.size("t", {.most = 1 << 10, .multiple = b.multiple}), V = k.size("v", {.most = 1 << 10}),
            D = k.size("d", {.most = 1 << 10, .multiple = 4});
  const Tensor Y = k.output("y", f, {1, D}), W = k.input("w", f, {V, D}),
               I = k.input("ids", Element::i32, {T});
  k.computes(Y, [&](const auto& c) { return k.sum(T, [&](Sym p) { return k(W, {k.at(I, p), c[1]}); }); });
  const Sym w = k.workgroups(0, D, 256);
  const Layout l = rows_tv(rows, 256, 4, 64);
  const Layout of = without_axis(l, 0);
  const Fragment acc = b.lanes ? k.zeros(f, l, {rows, 256}) : k.zeros(f, of, {1, 256});
  k.loop(T, rows, {.distance = b.distance, .ring = b.ring}, [&](Sym i) {
    const Fragment ids = k.load(k.tile(I, {rows}, {i + Sym(b.other_trip)}), without_axis(l, 1), 1);
    Fragment x = k.load(k.tile(W, {rows, 256}, {0, w}).through(0, ids), l, 4);
    if (b.masked)
      x = k.map({x}, [&](const Exprs& v) { return inside(rows * i + k.position(0), T, v[0], 0); });
    k.update(acc, {b.lanes ? x : k.fold(Monoid::sum, x, 0)}, [](const Exprs& v) { return v[0] + v[1]; });
  });
  k.store(b.lanes ? k.fold(Monoid::sum, acc, 0) : acc, k.tile(Y, {1, 256}, {0, w}), 4);
  return k;
}

// ------------------------------------------------------------------------------------------------ sums in lanes

// y(m) = sum over n of a(m,n) x(n), each work-item over its own columns, trip by trip, and one fold after the loop.
struct Gemv {
  int rows = 1, threads = 256, distance = 1, ring = 1;
  Element element = Element::f32;
  bool folds = true, twice = false, shifted = false, scaled = false;
};
Program gemv(const Gemv& g) {
  Program k("gemv", gfx942, g.threads);
  const int v = 4, wide = g.threads * v / g.rows;
  const Sym M = k.size("m", {.most = 1 << 16}), N = k.size("n", {.most = 1 << 20, .multiple = v});
  const Tensor Y = k.output("y", f, {M, 1}), A = k.input("a", g.element, {M, N}),
               X = k.input("x", g.element, {1, N});
  k.computes(Y, [&](const auto& c) {
    return k.sum(N, [&](Sym i) { return k(A, {c[0], i}) * k(X, {0, i}); });
  });
  const Sym bm = k.workgroups(0, M, g.rows);
  const Layout tv = rows_tv(g.rows, wide, v, g.threads);
  const Fragment acc = k.zeros(f, tv, {g.rows, wide});
  k.loop(N, wide, {.distance = g.distance, .ring = g.ring}, [&](Sym t) {
    const Fragment a = k.load(k.tile(A, {g.rows, wide}, {bm, t}), tv, v),
                   x = k.load(k.tile(X, {1, wide}, {0, g.shifted ? t + Sym(1) : t}), without_axis(tv, 0), v);
    const auto step = [](const Exprs& e) { return e[0] + e[1] * e[2]; };
    k.update(acc, {a, x}, step);
    if (g.twice) k.update(acc, {a, x}, step);
    if (g.scaled) k.update(acc, {}, [](const Exprs& e) { return e[0] * 0.5; });
  });
  k.store(g.folds ? k.fold(Monoid::sum, acc, 1) : k.fold(Monoid::max, acc, 1),
          k.tile(Y, {g.rows, 1}, {bm, 0}), 1);
  return k;
}

// The same with N as T tiles of `wide`: a work-item sums over t alone, and the specification sums in either order.
Program gemv_of_tiles(bool columns_first, int least) {
  Program k("gemv_of_tiles", gfx942, 64);
  constexpr int wide = 256;
  const Sym M = k.size("m", {.most = 1 << 16}), T = k.size("t", {.least = least, .most = 1 << 8});
  const Tensor Y = k.output("y", f, {M, 1}), A = k.input("a", f, {M, T, wide}),
               X = k.input("x", f, {1, T, wide});
  k.computes(Y, [&](const auto& c) {
    const auto product = [&](Sym t, Sym j) { return k(A, {c[0], t, j}) * k(X, {0, t, j}); };
    if (columns_first)
      return k.sum(wide, [&](Sym j) { return k.sum(T, [&](Sym t) { return product(t, j); }); });
    return k.sum(T, [&](Sym t) { return k.sum(wide, [&](Sym j) { return product(t, j); }); });
  });
  const Sym bm = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, wide, 4, 64);
  const Fragment acc = k.zeros(f, tv, {1, wide});
  k.loop(T, 1, {.distance = 1, .ring = 1}, [&](Sym t) {
    const Fragment a = k.load(k.tile(A, {1, 1, wide}, {bm, t, 0}).keep({0, 2}), tv, 4),
                   x = k.load(k.tile(X, {1, 1, wide}, {0, t, 0}).keep({0, 2}), without_axis(tv, 0), 4);
    k.update(acc, {a, x}, [](const Exprs& v) { return v[0] + v[1] * v[2]; });
  });
  k.store(k.fold(Monoid::sum, acc, 1), k.tile(Y, {1, 1}, {bm, 0}), 1);
  return k;
}

// -------------------------------------------------------------------------------------------- bounds from memory

// y(m) = sum of the first len of x(m,:): the loop ends where memory says.
struct First {
  bool branch = true, masked = true, least = true;
  double otherwise = 0;
};
Program first_of_row(const First& s) {
  constexpr int wide = 256;
  Program k("first", gfx942, 64);
  const Sym M = k.size("m", {.most = 1 << 16}), N = k.size("n", {.most = 1 << 24, .multiple = 4});
  const Tensor Y = k.output("y", f, {M, 1}), X = k.input("x", f, {M, N}),
               L = k.input("len", Element::i32, {1});
  const Sym len = k.uniform(L, 0);
  k.computes(Y, [&](const auto& c) {
    return k.sum(N, [&](Sym i) { return inside(i, len, k(X, {c[0], i}), 0); });
  });
  const Sym row = k.workgroups(0, M, 1);
  const Layout tv = rows_tv(1, wide, 4, 64), r = without_axis(tv, 1);
  const auto body = [&] {
    const Fragment acc = k.zeros(f, r, {1, 1});
    k.loop(s.least ? min(N, len) : len, wide, {.distance = 0, .ring = 1}, [&](Sym t) {
      Fragment x = k.load(k.tile(X, {1, wide}, {row, t}), tv, 4);
      if (s.masked)
        x = k.map({x}, [&](const Exprs& a) { return inside(wide * t + k.position(1), len, a[0], 0); });
      k.update(acc, {k.fold(Monoid::sum, x, 1)}, [](const Exprs& a) { return a[0] + a[1]; });
    });
    k.store(acc, k.tile(Y, {1, 1}, {row, 0}), 1);
  };
  if (!s.branch)
    body();
  else
    k.if_less(Sym(0), len, body, [&] {
      k.store(k.full(s.otherwise, r, {1, 1}), k.tile(Y, {1, 1}, {row, 0}), 1);
    });
  return k;
}

// ------------------------------------------------------------------------------------------------ shifted operands

// y(i) = x(i + by) where there is one, and 0 elsewhere.
Program shifted(int by, int masked_by, int vector, double beyond = 0) {
  Program k("shifted", gfx942, 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor Y = k.output("y", f, {n}), X = k.input("x", f, {n});
  k.computes(Y, [&](const auto& c) { return inside(c[0] + Sym(by), n, k(X, {c[0] + Sym(by)}), 0); });
  const Sym w = k.workgroups(0, n, 256);
  View from = k.tile(X, {256}, {w});
  from.origin[0] += Sym(by);
  const Fragment x = k.map({k.load(from, line_tv(256, vector, 64), vector)}, [&](const Exprs& v) {
    return inside(256 * w + k.position(0) + Sym(masked_by), n, v[0], beyond);
  });
  k.store(x, k.tile(Y, {256}, {w}), vector);
  return k;
}

// ------------------------------------------------------------------------------------------------ several rows at 0

// The sum of squares of each column's distance from its mean; a work-item holds all rows.
Program columns(bool masked) {
  Program k("columns", gfx942, 64);
  const Sym M = k.size("m", {.most = 4}), N = k.size("n", {.most = 1 << 16, .multiple = 4});
  const Tensor Y = k.output("y", f, {1, N}), X = k.input("x", f, {M, N});
  k.computes(Y, [&](const auto& c) {
    const Expr m = k.sum(M, [&](Sym i) { return k(X, {i, c[1]}); }) / k.number(M);
    return k.sum(M, [&](Sym i) { return (k(X, {i, c[1]}) - m) * (k(X, {i, c[1]}) - m); });
  });
  const Sym b = k.workgroups(0, N, 256);
  const Fragment x = k.load(k.tile(X, {4, 256}, {0, b}), rows_tv(4, 256, 4, 64), 4);
  const Fragment s = k.fold(Monoid::sum, x, 0);
  const Fragment d = k.map({x, s}, [&](const Exprs& a) {
    const Expr e = a[0] - a[1] * rcp(k.number(M));
    return masked ? inside(k.position(0), M, e, 0) : e;
  });
  k.store(k.fold(Monoid::sum, k.map({d}, [](const Exprs& a) { return a[0] * a[0]; }), 0),
          k.tile(Y, {1, 256}, {0, b}), 4);
  return k;
}

// One size for both axes: the maximum of each row of a square, masked along one axis.
Program square(int axis) {
  Program k("square", gfx942, 256);
  const Sym N = k.size("n", {.most = 64, .multiple = 4});
  const Tensor Y = k.output("y", f, {N, 1}), X = k.input("x", f, {N, N});
  k.computes(Y, [&](const auto& c) {
    return k.fold(Monoid::max, N, [&](Sym i) { return k(X, {c[0], i}) - 5; });
  });
  const Sym b = k.workgroups(0, N, 64);
  const Fragment x =
      k.map({k.load(k.tile(X, {64, 64}, {b, 0}), rows_tv(64, 64, 4, 256), 4)}, [&](const Exprs& v) {
        return inside(axis == 1 ? k.position(1) : 64 * b + k.position(0), N, v[0] - 5, -INFINITY);
      });
  k.store(k.fold(Monoid::max, x, 1), k.tile(Y, {64, 1}, {b, 0}), 1);
  return k;
}

Program one_workgroup(int workgroups) {
  Program k("one", gfx942, 64);
  const Sym M = k.size("m", {.most = 64});
  const Tensor Y = k.output("y", f, {M}), X = k.input("x", f, {M});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0]}) * 2; });
  (void)k.workgroups(0, Sym(workgroups), 1);
  k.store(
      k.map({k.load(k.tile(X, {64}, {0}), line_tv(64, 1, 64), 1)}, [](const Exprs& v) { return v[0] * 2; }),
      k.tile(Y, {64}, {0}), 1);
  return k;
}

// ------------------------------------------------------------------------------------------- transposed operands

// C = A B, where A or B lie with k outermost.
Program transposed_gemm(bool ta, bool tb, int multiple, int distance, int ring) {
  const Element e = Element::bf16;
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(gfx942, e, e, f, 16), 2, 2, 64, 64, 64, 8);
  Program k("transposed", gfx942, mma.threads());
  const Sym M = k.size("m", {.most = 1 << 13, .multiple = 8}),
            N = k.size("n", {.most = 1 << 13, .multiple = 8}),
            K = k.size("k", {.most = 1 << 13, .multiple = multiple});
  const auto in = [&](const char* n, bool t, Sym R) {
    return t ? k.input(n, e, {K, R}) : k.input(n, e, {R, K});
  };
  const Tensor C = k.output("c", f, {M, N}), A = in("a", ta, M), B = in("b", tb, N);
  const auto at = [&](const Tensor& x, bool t, Sym r, Sym i) { return t ? k(x, {i, r}) : k(x, {r, i}); };
  k.computes(C, [&](const auto& c) {
    return k.sum(K, [&](Sym i) { return at(A, ta, c[0], i) * at(B, tb, c[1], i); });
  });
  const Sym bn = k.workgroups(0, N, 64), bm = k.workgroups(1, M, 64);
  const Layout by_rows = rows_tv(64, 64, 8, mma.threads());
  const Tensor a = k.lds("lds_a", e, {64, 64}, Swizzle(3, 3, 3)),
               b = k.lds("lds_b", e, {64, 64}, Swizzle(3, 3, 3));
  const Fragment acc = k.zeros(f, mma.c(), {64, 64});
  k.loop(K, 64, {.distance = distance, .ring = ring}, [&](Sym t) {
    const auto bring = [&](const Tensor& from, const Tensor& to, Sym where, bool transposed) {
      if (!transposed) return k.copy(k.tile(from, {64, 64}, {where, t}), to, by_rows, 8);
      const Layout loaded = columns_tv(64, 64, 8, mma.threads(), 2);
      const Layout written = values_exchanged(loaded);
      k.store(k.map(
                  written, {k.load(k.tile(from, {64, 64}, {t, where}), loaded, 8)},
                  [](const Exprs& x) { return x[0]; }, e),
              k.whole(to).keep({1, 0}), 2);
    };
    bring(A, a, bm, ta), bring(B, b, bn, tb);
    k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma);
  });
  k.store(acc, k.tile(C, {64, 64}, {bm, bn}), 4);
  return k;
}

// A transpose by relayout: through LDS, in a place that it finds itself.
Program transpose(const Target& target) {
  Program k("transpose", target, 256);
  const Sym M = k.size("m", {.most = 1 << 14, .multiple = 4}),
            N = k.size("n", {.most = 1 << 14, .multiple = 4});
  const Tensor Y = k.output("y", f, {N, M}), X = k.input("x", f, {M, N});
  k.computes(Y, [&](const auto& c) { return k(X, {c[1], c[0]}); });
  const Sym bn = k.workgroups(0, N, 64), bm = k.workgroups(1, M, 64);
  const Layout tv = rows_tv(64, 64, 4, 256);
  k.store(k.relayout(k.load(k.tile(X, {64, 64}, {bm, bn}), tv, 4), transposed(tv), f),
          k.tile(Y, {64, 64}, {bn, bm}).keep({1, 0}), 4);
  return k;
}

// The k largest of 64 and where they are, one after the other: what is taken is minus infinity from then on.
Program top(int count) {
  const int rows = 4, N = 64;
  Program k("top", gfx942, 256);
  const Sym M = k.size("m", {.most = 1 << 20});
  const Tensor W = k.output("weights", f, {M, count}), X = k.input("x", f, {M, N});
  std::vector<std::function<Expr(Sym, Sym)>> left = {[&](Sym r, Sym i) { return k(X, {r, i}); }};
  const auto best = [&](Sym r, int d) {
    return k.fold(Monoid::max, N, [&](Sym i) { return left[static_cast<std::size_t>(d)](r, i); });
  };
  for (int d = 0; d + 1 < count; ++d)
    left.push_back([&, d](Sym r, Sym i) {
      const auto x = [&](Sym j) { return left[static_cast<std::size_t>(d)](r, j); };
      const Expr n = k.number(i), most = best(r, d), taken = k.fold(Monoid::min, N, [&](Sym j) {
        return select(x(j), most, k.number(j), k.constant(INFINITY));
      });
      return select(n, taken, select(taken, n, k.constant(-INFINITY), x(i)), x(i));
    });
  k.computes(W, [&](const auto& c) {
    Expr e = best(c[0], 0);
    for (int d = 1; d < count; ++d) e = select(k.number(c[1]), k.constant(d), best(c[0], d), e);
    return e;
  });
  const Sym row = k.workgroups(0, M, rows);
  const Layout tv = rows_tv(rows, N, 1, 256);
  Fragment x = k.load(k.tile(X, {rows, N}, {row, 0}), tv, 1);
  for (int d = 0; d < count; ++d) {
    const Fragment most = k.fold(Monoid::max, x, 1);
    const auto where = [&](const Exprs& a) {
      return select(a[0], a[1], k.number(k.position(1)), k.constant(INFINITY));
    };
    const Fragment id = k.fold(Monoid::min, k.map({x, most}, where), 1);
    k.store(most, k.tile(W, {rows, 1}, {row, d}), 1);
    if (d + 1 < count)
      x = k.map({x, id}, [&](const Exprs& a) {
        const Expr n = k.number(k.position(1));
        return select(n, a[1], select(a[1], n, k.constant(-INFINITY), a[0]), a[0]);
      });
  }
  return k;
}

} // namespace

TEST_CASE("forms: ids are loaded in the trip that gathers by them, at any distance") {
  for (const auto& [distance, ring] : {std::pair{0, 1}, {1, 2}, {3, 2}})
    for (const int multiple : {1, 8})
      for (const std::int64_t t : {8, 40}) {
        INFO("distance " << distance << ", ring " << ring << ", multiple " << multiple << ", t " << t);
        check(bag({.distance = distance, .ring = ring, .multiple = multiple}), {t, 7, 8});
      }
  check(bag({.distance = 2, .ring = 2}), {1, 3, 260}, 0, true);
  check(bag({.distance = 1, .ring = 1}), {29, 40, 516}, 0, true);
  check(bag({.distance = 1, .lanes = true}), {29, 40, 516}, 0, true);
  // After the table's end an id is 0, and row 0 is not nothing.
  CHECK_THAT(refuted(bag({.masked = false})), Contains("what lies outside"));
  CHECK_THAT(refuted(bag({.other_trip = 1})), Contains("|"));
  CHECK_THAT(refuted(bag({.distance = 2, .ring = 2, .other_trip = 1})), Contains("|"));
}

TEST_CASE("forms: sums lane by lane, folded after the loop") {
  for (const int rows : {1, 4})
    for (const auto& [m, n] :
         {std::pair<std::int64_t, std::int64_t>{1, 4}, {5, 1024}, {7, 1028}, {3, 5000}, {17, 4096}}) {
      INFO(rows << " rows, " << m << " x " << n);
      check(gemv({.rows = rows}), {m, n});
    }
  check(gemv({.rows = 2, .threads = 64, .distance = 3, .ring = 3}), {5, 2052}, 0, true);
  CHECK(refuted(gemv({.element = Element::bf16})) == "");
  // A product twice, operands of two trips, what no longer is the sum, and another fold of it.
  CHECK_THAT(refuted(gemv({.twice = true})), Contains("|"));
  CHECK_THAT(refuted(gemv({.shifted = true})), Contains("|"));
  CHECK_THAT(refuted(gemv({.scaled = true})), Contains("|"));
  CHECK_THAT(refuted(gemv({.folds = false})), Contains("of a max"));
}

TEST_CASE("forms: sums over tiles lane by lane, in the order of the specification or the other one") {
  for (const bool columns_first : {true, false})
    for (const std::int64_t t : {1, 2, 9}) check(gemv_of_tiles(columns_first, 1), {3, t});
  check(gemv_of_tiles(true, 8), {3, 8});
}

TEST_CASE("forms: a loop ends where memory says") {
  for (const auto& [n, len] :
       {std::pair<std::int64_t, int>{4, 0}, {4, 3}, {1000, 1}, {1000, 256}, {1000, 999}, {1000, 1300}}) {
    INFO(n << " elements, " << len << " of them");
    check(first_of_row({}), {2, n}, len, true);
  }
  CHECK_THAT(refuted(first_of_row({.branch = false})),
             Contains("runs at least once") && Contains("if_less(0"));
  CHECK_THAT(refuted(first_of_row({.masked = false})), Contains("|"));
  CHECK_THAT(refuted(first_of_row({.otherwise = 1})), Contains("y is what the specification says"));
  CHECK_THAT(refuted(first_of_row({.least = false})), Contains("|")); // a length that may pass the row
}

TEST_CASE("forms: operands that are shifted") {
  for (const int by : {1, 2, 4, 5, 300}) // the last tile may begin behind the end
    for (const std::int64_t n : {4, 64, 256, 260, 1000}) {
      INFO("by " << by << " of " << n);
      check(shifted(by, by, 1), {n}, 0, true);
    }
  CHECK_THAT(refuted(shifted(1, 2, 1)), Contains("y is what the specification says"));
  CHECK_THAT(refuted(shifted(2, 1, 1)), Contains("y is what the specification says"));
  CHECK_THAT(refuted(shifted(1, 1, 1, 1)), Contains("y is what the specification says"));
}

TEST_CASE("forms: several rows at a constant origin have one mask") {
  for (const std::int64_t m : {1, 3, 4})
    for (const std::int64_t n : {4, 256, 300}) check(columns(true), {m, n});
  CHECK_THAT(refuted(columns(false)), Contains("what lies outside of a sum is its empty element"));
}

TEST_CASE("forms: one size for both axes") {
  for (const std::int64_t n : {4, 20, 64}) check(square(1), {n});
  CHECK_THAT(refuted(square(0)), Contains("|"));
}

TEST_CASE("forms: an axis of the grid with one workgroup") {
  for (const std::int64_t m : {1, 63, 64}) check(one_workgroup(1), {m});
  CHECK_THAT(refuted(one_workgroup(2)), Contains("write the same tile"));
}

TEST_CASE("forms: operands with k outermost are pipelined like the others") {
  for (const auto& [ta, tb] : {std::pair{true, false}, {false, true}, {true, true}}) {
    check(transposed_gemm(ta, tb, 64, 2, 2), {72, 40, 192});
    for (const std::int64_t depth : {8, 200})
      check(transposed_gemm(ta, tb, 8, 3, 2), {72, 136, depth}, 0, true);
  }
}

TEST_CASE("forms: relayout finds a place in LDS without bank conflicts") {
  for (const char* arch : {"gfx942", "gfx950"}) check(transpose(Target::named(arch)), {72, 136});
}

TEST_CASE("forms: a specification of choices of choices is no tree") {
  for (const int count : {1, 2, 3}) check(top(count), {5});
  CHECK(refuted(top(8)) == "");
}

TEST_CASE("forms: constants are numbers of the type that computes") {
  const auto scaled = [](double a, double b) {
    Program k("scaled", gfx942, 64);
    const Sym n = k.size("n", {.most = 64});
    const Tensor Y = k.output("y", f, {n}), X = k.input("x", f, {n});
    k.computes(Y, [&](const auto& c) { return k(X, {c[0]}) * a * b; });
    (void)k.workgroups(0, n, 64);
    k.store(k.map({k.load(k.tile(X, {64}, {0}), line_tv(64, 1, 64), 1)},
                  [&](const Exprs& v) { return v[0] * a * b; }),
            k.tile(Y, {64}, {0}), 1);
  };
  CHECK_THROWS_WITH(scaled(1e300, 1e-300), Contains("1e+300 is no number of f32"));
  CHECK_THROWS_WITH(scaled(1e-300, 1), Contains("1e-300 is no number of f32"));
  CHECK_NOTHROW(scaled(3e38, 2e-45));
  CHECK_NOTHROW(scaled(-INFINITY, 1));
}

} // namespace forms_test
