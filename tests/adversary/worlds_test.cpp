// Worlds: sizes at which a loop has no trip, one, or a rest. A program may be wrong at those alone.
#include "attack.h"

#include <inlay/algebra/parse.h>

#include <catch2/catch.hpp>

namespace worlds_test {

using namespace adversary;

namespace {

Expr sum_of(const std::vector<Expr>& v) { return v[0] + v[1]; }
Expr second(const std::vector<Expr>& v) { return v[1]; }
const Pipeline plain{.distance = 0, .ring = 1};

// y(r) = sum of x(r, i) over i < n, of which the first 64 are there at once, and the others come in a loop. What is stored where there are no
// others is the sum of the first `alone`.
std::function<Program()> first_and_others(int alone) {
  return [=] {
    Program k("worlds", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }); });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const auto tile = [&](Sym t, int of) {
      const Sym at = Sym(64) * t + k.position(1);
      return k.fold(Monoid::sum,
                    k.map({k.load(k.tile(x, {1, 64}, {row, t}), tv, 1)},
                          [&](const auto& v) {
                            const Expr e = inside(at, n, v[0], 0);
                            return of > 0 ? inside(at, Sym(of), e, 0) : e;
                          }),
                    1);
    };
    const Fragment all = tile(0, 0), acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    k.update(acc, {tile(0, alone)}, sum_of);
    k.if_less(Sym(64), n, [&] {
      k.update(acc, {all}, second);
      k.loop(Sym(64), n, 64, plain, [&](Sym t) { k.update(acc, {tile(t, 0)}, sum_of); });
    });
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// y(r) = sum of max(b(r, i), x(r, i) from i = 64 on, else 0) over i < n.
std::function<Program()> from_64(bool first, double beyond) {
  return [=] {
    Program k("worlds", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 12}),
              s = k.size("s", {.most = 1 << 12});
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, n}),
                 b = k.input("b", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) {
        return max(k(b, {c[0], i}), inside(s + Sym(63), i, k(x, {c[0], i}), beyond));
      });
    });
    const Sym row = k.workgroups(0, m, 1);
    const Layout tv = rows_tv(1, 64, 1, 64);
    const auto tile = [&](Sym t) {
      const Sym at = Sym(64) * t + k.position(1);
      return k.fold(
          Monoid::sum,
          k.map({k.load(k.tile(b, {1, 64}, {row, t}), tv, 1), k.load(k.tile(x, {1, 64}, {row, t}), tv, 1)},
                [&](const auto& v) {
                  return inside(at, n, max(v[0], inside(s + Sym(63), at, v[1], beyond)), 0);
                }),
          1);
    };
    const Fragment all = tile(0), acc = k.zeros(Element::f32, without_axis(tv, 1), {1, 1});
    if (first) k.update(acc, {all}, second);
    k.if_less(Sym(64), n, [&] {
      if (!first) k.update(acc, {all}, second);
      k.loop(Sym(64), n, 64, plain, [&](Sym t) { k.update(acc, {tile(t)}, sum_of); });
    });
    k.store(acc, k.tile(y, {1, 1}, {row, 0}), 1);
    return k;
  };
}

// y(r) = sum of x(r, i), i < n + 2, in tiles of 80 that 5 divides as it does n: what is left of the last one need not be even.
std::function<Program()> fives(int vector) {
  return [=] {
    Program k("worlds", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 12, .multiple = 5}),
              all = n + Sym(2);
    const Tensor y = k.output("y", Element::f32, {m, 1}), x = k.input("x", Element::f32, {m, all});
    k.computes(y, [&](const auto& c) { return k.sum(all, [&](Sym i) { return k(x, {c[0], i}); }); });
    const Sym w = k.workgroups(0, m, 8);
    const Layout tv =
        parse_layout(vector == 2 ? "((8,8),(2,5)):((2@1,1@0),(1@1,16@1))" : "((8,8),10):((1@1,1@0),8@1)");
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {8, 1});
    k.loop(all, 80, plain, [&](Sym t) {
      k.update(acc, {k.fold(Monoid::sum, k.load(k.tile(x, {8, 80}, {w, t}), tv, vector), 1)}, sum_of);
    });
    k.store(acc, k.tile(y, {8, 1}, {w, 0}), 1);
    return k;
  };
}

// y(r) = sum of x(r, i) up to i = r, in a loop over what the block of row r sees; `other` in the blocks before `from`.
std::function<Program()> from_block(int from, double other) {
  return [=] {
    Program k("worlds", target(), 64);
    const Sym n = k.size("n", {.most = 1 << 12, .multiple = 16});
    const Tensor y = k.output("y", Element::f32, {n, 1}), x = k.input("x", Element::f32, {n, n});
    k.computes(y, [&](const auto& c) {
      return k.sum(n, [&](Sym i) { return inside(i, c[0] + 1, k(x, {c[0], i}), 0); });
    });
    const Sym w = k.workgroups(0, n, 16);
    const Layout tv = rows_tv(16, 16, 4, 64);
    const Fragment acc = k.zeros(Element::f32, without_axis(tv, 1), {16, 1});
    k.loop(16 * w + Sym(16), 16, plain, [&](Sym t) {
      const Fragment of = k.map({k.load(k.tile(x, {16, 16}, {w, t}), tv, 4)}, [&](const auto& v) {
        return inside(16 * t + k.position(1), 16 * w + k.position(0) + 1, v[0], 0);
      });
      k.update(acc, {k.fold(Monoid::sum, of, 1)}, sum_of);
    });
    k.store(k.map({acc}, [&](const auto& v) { return inside(Sym(from - 1), w, v[0], other); }),
            k.tile(y, {16, 1}, {w, 0}), 1);
    return k;
  };
}

// y = the columns of page 2 of x from 64 on, or zeros where there is none: tiles that may begin behind the end of a row.
std::function<Program()> page_2() {
  return [] {
    Program k("worlds", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              p = k.size("p", {.most = 8});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {p, m, n});
    const auto there = [&](Expr e, Sym column) { return inside(Sym(2), p, inside(column, n, e, 0), 0); };
    k.computes(y, [&](const auto& i) { return there(k(x, {Sym(2), i[0], i[1] + 64}), i[1] + 64); });
    const Sym c = k.workgroups(0, n, 64), r = k.workgroups(1, m, 4);
    const Fragment of = k.load(k.tile(x, {1, 4, 64}, {2, r, c + 1}).keep({1, 2}), rows_tv(4, 64, 1, 64), 1);
    k.store(k.map({of}, [&](const auto& v) { return there(v[0], 64 * c + 64 + k.position(1)); }),
            k.tile(y, {4, 64}, {r, c}), 1);
    return k;
  };
}

// ((64, m/64), n):((stride, 64 stride), 1)
SymLayout rows_apart(Sym m, Sym n, std::int64_t stride) {
  const auto mode = [](Sym e, Sym s) { return BasicMode<Sym>{e, BasicStride<Sym>(s)}; };
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = b.open(), of_rows = b.open();
  b.leaf(mode(64, Sym(stride))), b.leaf(mode(floor_div(m, Sym(64)), Sym(64 * stride)));
  b.close(of_rows, 2);
  b.leaf(mode(n, 1));
  b.close(all, 2);
  return SymLayout(std::move(b).finish());
}

// y = x, of rows that lie in blocks of 64, so many elements apart.
std::function<Program()> apart(std::int64_t stride) {
  return [=] {
    Program k("worlds", target(), 64);
    const Sym m = k.size("m", {.most = 1 << 10, .multiple = 64}), n = k.size("n", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}),
                 x = k.input("x", Element::f32, {m, n}, rows_apart(m, n, stride));
    k.computes(y, [&](const auto& i) { return k(x, {i[0], i[1]}); });
    const Sym c = k.workgroups(0, n, 64), w = k.workgroups(1, m, 64);
    for (const int part : {0, 1}) {
      const std::vector<Sym> at = {Sym(2) * w + part, c};
      k.store(k.load(k.tile(x, {32, 64}, at), rows_tv(32, 64, 1, 64), 1), k.tile(y, {32, 64}, at), 1);
    }
    return k;
  };
}

void without_mask(Code& code, std::size_t axis) {
  for (CodeRegion& r : code.regions)
    for (Inst& i : r.body)
      if (i.kind == InstKind::load) i.access.masked[axis] = false;
}

} // namespace

TEST_CASE("worlds: where a loop has no trip, of all sizes at which it has none") {
  const std::vector<Sizes> sizes = {{1, 1}, {2, 2}, {3, 63}, {2, 64}, {2, 65}, {1, 200}};
  const std::string wrong = "y is what the specification says";
  attack({{"all", "", first_and_others(0), sizes},
          {"the first alone", wrong, first_and_others(1), sizes},
          {"the first 63", wrong, first_and_others(63), sizes}});
}

TEST_CASE("worlds: where a loop has no trip, what it leaves out need not be all there is") {
  const std::vector<Sizes> sizes = {{1, 1, 1}, {2, 2, 3}, {3, 63, 1}, {2, 64, 9}, {2, 65, 1}, {1, 200, 40}};
  for (const double beyond : {0.0, 1.0})
    attack({{"what is added anyway", "", from_64(true, beyond), sizes},
            {"nothing", "y is what the specification says", from_64(false, beyond), sizes}});
}

TEST_CASE("worlds: what is left of the last tile is all that there may be") {
  const std::vector<Sizes> sizes = {{1, 5}, {9, 75}, {8, 80}, {3, 160}};
  attack({{"one by one", "", fives(1), sizes},
          {"in pairs",
           "is wholly inside or wholly outside",
           fives(2),
           sizes,
           {},
           "the descriptor cuts off each dword"}});
}

TEST_CASE("worlds: a loop of a single trip, in the first workgroup alone") {
  const std::vector<Sizes> sizes = {{16}, {32}, {64}};
  const std::string wrong = "y is what the specification says";
  attack({{"all blocks", "", from_block(0, 7), sizes},
          {"not the first", wrong, from_block(1, 7), sizes},
          {"not the first two", wrong, from_block(2, 7), sizes}});
}

TEST_CASE("worlds: a page outside of the descriptor's axis") {
  const std::vector<Sizes> sizes = {{5, 130, 3}, {4, 64, 1}, {9, 100, 2}};
  attack({{"a page that need not be there", "", page_2(), sizes},
          {"as if it were", "axis 0 is not masked", page_2(), sizes, [](Code& c) { without_mask(c, 0); }}});
}

TEST_CASE("worlds: records end with whole blocks") {
  const std::string big = "at sizes that no memory here has";
  attack({{"of 2^31 bytes", "fit 31 bits", apart(1 << 23), {{64, 70}}, {}, big},
          {"a little less", "may begin inside a block of 64", apart((1 << 23) - 1), {{64, 70}}, {}, big}});
}

} // namespace worlds_test
