// Branches: what both paths compute, on the emulator, against the specification; and what refuses a branch that is wrong.
#include "specified.h"

namespace branch_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace specified;
using Catch::Matchers::Contains;

namespace {

// y(i) = 2 x(i) below a number that memory holds, and 0 after it.
struct Skip {
  int later = 0;         // the branch is taken so many elements later
  bool fills = true;     // what follows it in the last tile is 0
  double beyond = 0;     // what the other path stores
  bool otherwise = true; // whether it does
  const char* table = "elements_in_use";
};
Program skip(const Skip& s = {}) {
  Program k("skip", Target::named("gfx942"), 64);
  const Sym n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor y = k.output("y", Element::f32, {n}), x = k.input("x", Element::f32, {n}),
               table = k.input(s.table, Element::i32, {1});
  const Sym used = k.uniform(table, 0);
  k.computes(y, [&](const auto& c) { return inside(c[0], used, k(x, {c[0]}) * 2.0, 0); });
  const Sym w = k.workgroups(0, n, 256);
  const Layout tv = line_tv(256, 4, 64);
  const View to = k.tile(y, {256}, {w});
  const auto otherwise = [&] { k.store(k.full(s.beyond, tv, {256}), to, 4); };
  k.if_less(
      Sym(256) * w + Sym(s.later), used,
      [&] {
        const Fragment f =
            k.map({k.load(k.tile(x, {256}, {w}), tv, 4)}, [](const auto& v) { return v[0] * 2.0; });
        k.store(s.fills ? k.fill(f, 0, Sym(256) * w, used, 0) : f, to, 4);
      },
      s.otherwise ? std::function<void()>(otherwise) : nullptr);
  return k;
}

// Row sums: of short rows by registers, of long ones through LDS; and twice as much where there are few rows. Branches inside
// of branches, loops inside of branches, and a sum that lives on after them.
Program sums() {
  Program k("sums", Target::named("gfx950"), 128);
  const Sym m = k.size("m", {.most = 1 << 16}), n = k.size("n", {.most = 1 << 20, .multiple = 4});
  const Tensor y = k.output("y", Element::f32, {m, Sym(1)}), x = k.input("x", Element::f32, {m, n});
  k.computes(y, [&](const auto& c) {
    const Expr sum = k.sum(n, [&](Sym i) { return k(x, {c[0], i}); });
    return inside(m, 3, k.constant(2), 1) * sum;
  });
  const Sym row = k.workgroups(0, m, 1);
  const Layout tv = rows_tv(1, 512, 4, 128);
  const Tensor lds = k.lds("lds", Element::f32, {1, 512});
  const Fragment sum = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
  const auto add = [&](const Fragment& f) {
    k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
  };
  k.if_less(
      n, 600,
      [&] {
        k.loop(n, 512, {.distance = 0, .ring = 1}, [&](Sym t) {
          add(k.load(k.tile(x, {1, 512}, {row, t}), tv, 4));
        });
      },
      [&] {
        k.loop(n, 512, {.distance = 0, .ring = 1}, [&](Sym t) {
          k.copy(k.tile(x, {1, 512}, {row, t}), lds, tv, 4);
          add(k.read(lds, tv, 4));
        });
      });
  const Fragment factor = k.full(1, sum.tv, {1, 1});
  k.if_less(m, 3, [&] { k.update(factor, {}, [](const auto& v) { return v[0] + 1.0; }); });
  k.store(k.map({factor, sum}, [](const auto& v) { return v[0] * v[1]; }), k.tile(y, {1, 1}, {row, 0}), 1);
  return k;
}

// C = A B^T, 64 x 64 tiles: `other` along the first row of workgroups, once or twice the product after it.
Program rows_of_workgroups(int first, double other = 1, bool by_columns = false) {
  const Target& target = Target::named("gfx950");
  const MmaTiling mma = MmaTiling::of(Atom::mma_of(target, Element::f16, Element::f16, Element::f32, 16, 16),
                                      2, 1, 64, 64, 64, 8);
  Program k("rows_of_workgroups", target, 128);
  const Sym m = k.size("m", {.most = 1 << 16}), n = k.size("n", {.most = 1 << 16}),
            d = k.size("k", {.most = 1 << 16, .multiple = 8});
  const Tensor C = k.output("c", Element::f32, {m, n}), A = k.input("a", Element::f16, {m, d}),
               B = k.input("b", Element::f16, {n, d});
  k.computes(C, [&](const auto& c) {
    const Expr sum = k.sum(d, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); });
    return inside(c[by_columns ? 1 : 0], Sym(64 * first), k.constant(1), 2) * sum;
  });
  const Sym bn = k.workgroups(0, n, 64), bm = k.workgroups(1, m, 64);
  const Tensor a = k.lds("lds_a", Element::f16, {64, 64}, Swizzle(3, 3, 3)),
               b = k.lds("lds_b", Element::f16, {64, 64}, Swizzle(3, 3, 3));
  const Layout by_rows = rows_tv(64, 64, 8, 128);
  const auto product = [&](double factor) {
    return [&, factor] {
      const Fragment acc = k.zeros(Element::f32, mma.c(), {64, 64});
      k.loop(d, 64, {.distance = 1, .ring = 1}, [&](Sym t) {
        k.copy(k.tile(A, {64, 64}, {bm, t}), a, by_rows, 8);
        k.copy(k.tile(B, {64, 64}, {bn, t}), b, by_rows, 8);
        k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma);
      });
      k.store(factor == 1 ? acc : k.map({acc}, [&](const auto& v) { return v[0] * factor; }),
              k.tile(C, {64, 64}, {bm, bn}), 1);
    };
  };
  k.if_less(by_columns ? bn : bm, first, product(other), product(2));
  return k;
}

} // namespace

TEST_CASE("branches: products by the number of the workgroup") {
  const Undecided two_loops; // which validation does not follow
  for (const int first : {1, 2})
    for (const bool by_columns : {false, true}) {
      const specified::Built kernel(rows_of_workgroups(first, 1, by_columns));
      for (const std::vector<std::int64_t>& sizes :
           {std::vector<std::int64_t>{64, 64, 32}, {200, 130, 104}, {1, 70, 200}})
        kernel.check(sizes);
    }
  CHECK(refuted(rows_of_workgroups(1)) == "");
  CHECK_THAT(refuted(rows_of_workgroups(1, 2)), Contains("c is what the specification says"));
  // One row of workgroups later than the specification says.
  Program late = rows_of_workgroups(1);
  for (Op& op : late.mutable_body())
    if (auto* branch = std::get_if<IfOp>(&op.what)) branch->condition.b += Sym(1);
  CHECK_THAT(refuted(late), Contains("c is what the specification says"));
}

TEST_CASE("branches: workgroups after a number that memory holds") {
  const specified::Built kernel(skip());
  for (const int used : {0, 1, 255, 256, 257, 700, 1023, 1024, 5000}) {
    INFO("used " << used);
    kernel.check({1024}, used);
  }
  kernel.check({4}, 3);
  // A table may be called as positions, loops and indices are inside.
  for (const char* name : {"at", "t", "i", "trip", "times"}) {
    INFO("a table " << name);
    check(skip({.table = name}), {1024}, 257);
  }
}

TEST_CASE("branches: loops in them, and what they leave behind") {
  // Validation follows one loop; with two, a wrong one would still be refuted.
  const Undecided validation;
  const specified::Built kernel(sums());
  for (const std::int64_t m : {1, 2, 3, 5})
    for (const std::int64_t n : {4, 512, 596, 600, 1500}) {
      INFO(m << " x " << n);
      kernel.check({m, n});
    }
}

TEST_CASE("branches: a wrong one is refused") {
  CHECK(refuted(skip()) == "");
  CHECK_THAT(refuted(skip({.later = 1})), Contains("y is what the specification says | it holds 0"));
  CHECK_THAT(refuted(skip({.fills = false})), Contains("y is what the specification says"));
  CHECK_THAT(refuted(skip({.beyond = 1})), Contains("it holds 1"));
  CHECK_THAT(refuted(skip({.otherwise = false})), Contains("every element of y is written once"));
  // Taken too early it costs time and nothing else.
  CHECK(refuted(skip({.later = -7})) == "");

  Program other = sums();
  for (Op& op : other.mutable_body())
    if (auto* branch = std::get_if<IfOp>(&op.what)) {
      branch->condition.b += Sym(1);
      if (branch->otherwise.empty()) break; // of the second one alone it matters
    }
  CHECK_THAT(refuted(other), Contains("y is what the specification says"));
}

TEST_CASE("branches: what is left out of sums has to be 0") {
  const auto scattered = [](double rest) {
    Program k("scattered", Target::named("gfx942"), 64);
    const Sym n = k.size("n", {.most = 1 << 20}), m = k.size("m", {.most = 1 << 20, .multiple = 64});
    const Tensor z = k.output("z", Element::f32, {n}), x = k.input("x", Element::f32, {m}),
                 ids = k.input("ids", Element::i32, {m}), table = k.input("used", Element::i32, {1});
    const Sym used = k.uniform(table, 0);
    k.scatters(z, ids, [&](const auto& c) { return inside(c[0], used, k(x, {c[0]}), rest); });
    const Sym w = k.workgroups(0, m, 64);
    const Layout tv = line_tv(64, 1, 64);
    k.if_less(Sym(64) * w, used, [&] {
      const Fragment rows = k.load(k.tile(ids, {64}, {w}), tv, 1);
      const Fragment f = k.fill(k.load(k.tile(x, {64}, {w}), tv, 1), 0, Sym(64) * w, used, rest);
      k.add(f, k.tile(z, {64}, {0}).through(0, rows));
    });
    return refuted(k);
  };
  CHECK(scattered(0) == "");
  CHECK_THAT(scattered(1), Contains("what a workgroup leaves out of z is 0"));
}

TEST_CASE("branches: around all of a persistent workgroup's tile, where order is placed anew") {
  Program k("around", Target::named("gfx942"), 128);
  const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
  const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
  const Sym used = k.uniform(k.input("used", Element::i32, {1}), 0);
  k.computes(y, [&](const auto& c) { return inside(c[0], used, k(x, {c[0], c[1]}), 0); });
  const Sym column = k.workgroups(0, n, 128), row = k.workgroups(1, m, 1);
  k.persistent(3);
  const Layout tv = rows_tv(1, 128, 1, 128);
  const Tensor lds = k.lds("lds", Element::f32, {1, 128});
  const View to = k.tile(y, {1, 128}, {row, column});
  k.if_less(
      row, used,
      [&] {
        k.store(k.load(k.tile(x, {1, 128}, {row, column}), tv, 1), k.whole(lds), 1);
        k.store(k.read(lds, tv, 1), to, 1);
      },
      [&] {
        k.store(k.zeros(Element::f32, tv, {1, 128}), to, 1);
      });
  const Graph graph = expand(k);
  Code code = apply(graph, default_schedule(graph));
  CHECK_FALSE(kernels::prove(code).items().empty());
  const std::string once = show_schedule(code);
  place_order(code);
  CHECK(show_schedule(code) == once);
  // Without the barrier where both paths meet a wave may still read what the next tile overwrites.
  REQUIRE(code.regions.back().guards.empty());
  code.regions.pop_back();
  CHECK_THROWS_WITH(kernels::prove(code), Contains("before the workgroup's next tile"));
}

TEST_CASE("branches: refused where they cannot be") {
  Program k("refused", Target::named("gfx942"), 64);
  const Sym n = k.size("n");
  const Fragment sum = k.zeros(Element::f32, line_tv(64, 1, 64), {64});
  k.loop(n, 64, {}, [&](Sym t) {
    k.if_less(t, n, [&] { k.update(sum, {}, [](const auto& v) { return v[0] * 2.0; }); });
  });
  CHECK_THROWS_WITH(expand(k), Contains("a loop that holds loops or branches is not pipelined"));
  Program other("refused", Target::named("gfx942"), 64);
  CHECK_THROWS_WITH(other.if_less(other.position(0), other.size("n"), [] {}),
                    Contains("a workgroup has no position(0)"));
}

} // namespace branch_test
