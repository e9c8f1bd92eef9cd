// The order of sums as claims, and the bits that they speak of (row_bits.h).
#include "row_bits.h"

#include <inlay/algebra/parse.h>
#include <inlay/codegen/sum_order.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/evaluate.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/launch.h>
#include <inlay/kernels/rows/spec.h>
#include <inlay/runtime/emulator.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

namespace sum_order_test {

using namespace inlay;
using namespace inlay::codegen;
using namespace row_bits;
using Verdict = OrderClaim::Verdict;
using Catch::Matchers::Contains;

namespace {

std::string verdicts(const Program& p) {
  std::string out;
  for (const OrderClaim& c : orders(p).claims)
    out += (out.empty() ? "" : ", ") + c.claim + " " + to_string(c.verdict);
  return out;
}

kernels::GemmSpec small(const std::function<void(kernels::GemmSpec&)>& change = {}) {
  kernels::GemmSpec s;
  s.tile_m = 32, s.tile_n = 64, s.out = Element::f32;
  if (change) change(s);
  return s;
}
Program gemm(const std::function<void(kernels::GemmSpec&)>& change = {}) {
  return kernels::gemm_program(small(change));
}

// y(i) = sum over p of x(i,p), column p by workgroup p, in ways that are right and sum in different orders.
enum class Way { loop, adds, ticket };
Program columns(Way way, std::int64_t most = 1000) {
  const Element of = Element::f32;
  Program k("columns", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = most});
  const Tensor y = k.output("y", of, {m});
  std::optional<Tensor> parts;
  if (way == Way::ticket)
    parts = k.output("parts", of, {m, n}, SymLayout::col_major(BasicIntTuple<Sym>::of({m, n})));
  const Tensor x = k.input("x", of, {m, n}, SymLayout::col_major(BasicIntTuple<Sym>::of({m, n})));
  if (parts) k.computes(*parts, [&](const auto& at) { return k(x, {at[0], at[1]}); });
  k.computes(y, [&](const auto& at) {
    return k.sum(n, [&](Sym i) { return k(parts ? *parts : x, {at[0], i}); });
  });
  const Sym row = k.workgroups(0, m, 64);
  const Layout tv = line_tv(64, 1, 64);
  const auto loop_over = [&](const Tensor& from) {
    const Fragment sum = k.zeros(of, tv, {64, 1});
    k.loop(n, 1, {.distance = 1, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(from, {64, 1}, {row, t}), tv, 1);
      k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {64}, {row}), 1);
  };
  if (way == Way::loop) {
    loop_over(x);
    return k;
  }
  const Sym part = k.workgroups(1, n, 1);
  const Fragment one = k.load(k.tile(x, {64, 1}, {row, part}), tv, 1);
  if (way == Way::adds) {
    k.add(k.fold(Monoid::sum, one, 1), k.tile(y, {64}, {row}));
    return k;
  }
  k.store(one, k.tile(*parts, {64, 1}, {row, part}), 1);
  const Sym number = k.ticket("arrived", part);
  k.if_less(n - Sym(2), number, [&] { loop_over(*parts); });
  return k;
}

} // namespace

TEST_CASE("sums of a GEMM: one order, parts in order, and parts in whatever order") {
  const std::string all = "deterministic proved, batch-invariant (m) proved, position-invariant (m) proved, "
                          "split-invariant proved",
                    none =
                        "deterministic refuted, batch-invariant (m) refuted, position-invariant (m) refuted, "
                        "split-invariant refuted";
  CHECK(verdicts(gemm()) == all);
  CHECK(verdicts(gemm([](auto& s) { s.mfma = 32, s.waves_m = 1, s.waves_n = 2; })) == all);
  CHECK(verdicts(gemm([](auto& s) { s.transfer = true, s.tile_m = 64; })) == all);
  CHECK(verdicts(gemm([](auto& s) { s.order = parse_tile_order("xcd+rows:2"); })) == all);
  CHECK(verdicts(gemm([](auto& s) { s.split = 128, s.gather = true; })) == all);
  CHECK(verdicts(gemm([](auto& s) { s.split = 128; })) == none);
  CHECK(verdicts(gemm([](auto& s) { s.workers = 6; })) == none);
  // Sums of integers are the same in any order.
  const auto whole = [](auto& s) { s.in = Element::i8, s.out = Element::i32, s.tile_k = 64; };
  CHECK(verdicts(gemm([&](auto& s) { whole(s), s.split = 128; })) == all);
  CHECK(verdicts(gemm([&](auto& s) { whole(s), s.workers = 6; })) == all);
}

TEST_CASE("what refutes an order is named with its operation and line") {
  const SumOrders added = orders(gemm([](auto&s) { s.split = 128; })),
                  shared = orders(gemm([](auto&s) { s.workers = 6; }));
  CHECK_THAT(to_string(added.claims[0]), Contains("refuted    deterministic: parts of c are added by atomics "
                                                  "of f32, in the order in which workgroups come "
                                                  "[operation ") &&
                                             Contains(", program.cpp:"));
  CHECK(added.claims[0].where.line() > 0);
  CHECK_THAT(
      to_string(*shared.find("batch-invariant")),
      Contains(
          "where a workgroup's share of a sum ends depends on all sizes and on there being 6 workgroups") &&
          Contains("program.cpp:"));
  CHECK(orders(gemm()).orders[0].order == "trips of 64 over k (4 x v_mfma_f32_16x16x16_f16)");
  const SumOrders gathered = orders(gemm([](auto& s) { s.split = 128, s.gather = true; }));
  CHECK(gathered.orders[0].order == "trips of 1 over (k+127)/128 (parts)");
}

// y(i) = sum of x(i,n), or not: the orders are asked for, and nobody else. Some trips later a carried value has what another one had.
enum class Late { a_table, another_row };
Program late(Late what) {
  const Element of = Element::f32;
  Program k("late", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1 << 14});
  const Tensor y = k.output("y", of, {m, 1}), x = k.input("x", of, {m, n}), z = k.input("z", of, {1, n}),
               table = k.input("table", Element::i32, {8});
  k.computes(y, [&](const auto& at) { return k.sum(n, [&](Sym i) { return k(x, {at[0], i}); }); });
  const Sym row = k.workgroups(0, m, 1), entry = k.uniform(table, Sym(0));
  const Layout tv = line_tv(64, 1, 64), whole = without_axis(tv, 0);
  std::vector<Fragment> carried;
  // What they begin with is of the row already, or of none, and another number for each: nothing else moves from trip to trip.
  const Fragment begun = k.load(what == Late::another_row ? k.tile(z, {1, 64}, {Sym(0), Sym(0)})
                                                          : k.tile(x, {1, 64}, {row, Sym(0)}),
                                tv, 1);
  for (int i = 0; i < 4; ++i)
    carried.push_back(k.map({begun}, [&](const auto& v) { return v[0] + k.constant(i); }));
  k.loop(n, 64, {.distance = 1, .ring = 1}, [&](Sym t) {
    const Fragment read = k.load(k.tile(x, {1, 64}, {what == Late::another_row ? t : row, t}), tv, 1);
    for (std::size_t i = 0; i < 3; ++i) // each has what the next one had, a trip later
      k.update(carried[i], {carried[i + 1]}, [](const auto& v) { return v[0] + v[1]; });
    k.update(carried[3], {read},
             [&](const auto& v) { return v[0] + (what == Late::a_table ? v[1] * k.number(entry) : v[1]); });
  });
  k.store(k.fold(Monoid::sum, carried[0], 1), k.tile(y, {1, 1}, {row, 0}), 1);
  return k;
}

TEST_CASE("what a carried value depends on after several trips is found") {
  for (const auto& [what, why] :
       {std::pair(Late::a_table, "an entry of a table"), {Late::another_row, "rows"}}) {
    const SumOrders o = orders(late(what));
    const OrderClaim* c = o.find("batch-invariant");
    INFO(text(o));
    REQUIRE(c != nullptr);
    CHECK(c->verdict == Verdict::undecided);
    CHECK_THAT(c->reason, Contains(why));
  }
}

TEST_CASE("rows that are alike in the first trip, and not in the ones after it, are apart") {
  // What is added is 0 in all rows, and from the second trip on another number of each row of the tile.
  const Element of = Element::f32;
  Program k("later", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1 << 14});
  const Tensor y = k.output("y", of, {m, 1}), x = k.input("x", of, {m, n});
  k.computes(y, [&](const auto& at) { return k.sum(n, [&](Sym i) { return k(x, {at[0], i}); }); });
  const Sym row = k.workgroups(0, m, 4);
  const Layout tv = rows_tv(4, 64, 4, 64);
  const Fragment first = k.load(k.tile(x, {4, 64}, {row, Sym(0)}), tv, 4);
  const Fragment other = k.map({first}, [&](const auto& v) { return v[0] + k.number(k.position(0)); });
  const Fragment sum = k.zeros(of, tv, {4, 64}), next = k.zeros(of, tv, {4, 64});
  k.loop(n, 64, {.distance = 0, .ring = 1}, [&](Sym) {
    k.update(sum, {next}, [](const auto& v) { return v[0] + v[1]; });
    k.update(next, {other}, [](const auto& v) { return v[0] + v[1]; });
  });
  k.store(k.fold(Monoid::sum, sum, 1), k.tile(y, {4, 1}, {row, Sym(0)}), 1);
  const SumOrders o = orders(k);
  const OrderClaim* c = o.find("position-invariant");
  INFO(text(o));
  REQUIRE(c != nullptr);
  CHECK(c->verdict == Verdict::undecided);
  CHECK_THAT(c->reason, Contains("summed in different orders"));
}

/// Rows of x by those of w, where what multiplies is carried and has the table's entry after some trips alone: the instruction reads the same
/// registers in every trip.
Program late_products() {
  const Target& target = Target::named("gfx942");
  const Element of = Element::f32;
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, of, of, of, 16), 1, 1, 16, 32, 16, 4);
  Program k("late_products", target, mma.threads());
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1 << 14}),
            depth = k.size("k", {.most = 1 << 14, .multiple = 4});
  const Tensor y = k.output("y", of, {m, n}), x = k.input("x", of, {m, depth}),
               w = k.input("w", of, {n, depth}), table = k.input("table", Element::i32, {8});
  k.computes(y, [&](const auto& c) {
    return k.sum(depth, [&](Sym i) { return k(x, {c[0], i}) * k(w, {c[1], i}); });
  });
  const Sym bm = k.workgroups(0, m, 16), bn = k.workgroups(1, n, 32), entry = k.uniform(table, Sym(0));
  const auto rows = [&](Sym t) { return k.load(k.tile(x, {16, 16}, {bm, t}), mma.a(), 4); };
  const Fragment begun = rows(Sym(0)), sums = k.zeros(of, mma.c(), {16, 32});
  std::vector<Fragment> carried;
  for (int i = 0; i < 4; ++i)
    carried.push_back(k.map({begun}, [&](const auto& v) { return v[0] + k.constant(i); }));
  k.loop(depth, 16, {.distance = 1, .ring = 1}, [&](Sym t) {
    const Fragment columns = k.load(k.tile(w, {32, 16}, {bn, t}), mma.b(), 4);
    k.mma(sums, carried[0], columns, mma);
    for (std::size_t i = 0; i < 3; ++i)
      k.update(carried[i], {carried[i + 1]}, [](const auto& v) { return v[0] + v[1]; });
    k.update(carried[3], {rows(t)}, [&](const auto& v) { return v[0] + v[1] * k.number(entry); });
  });
  k.store(sums, k.tile(y, {16, 32}, {bm, bn}), 1);
  return k;
}

TEST_CASE("what the operand of a product depends on after several trips is found") {
  const SumOrders o = orders(late_products());
  const OrderClaim* c = o.find("batch-invariant");
  INFO(text(o));
  REQUIRE(c != nullptr);
  CHECK(c->verdict == Verdict::undecided);
  CHECK_THAT(c->reason, Contains("an entry of a table"));
}

TEST_CASE("what one element of a store depends on, the others need not") {
  // A row of 128 by way of LDS, of which the second half has been multiplied by the table's entry.
  const Element of = Element::f32;
  Program k("halves", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 14});
  const Tensor y = k.output("y", of, {m, 128}), x = k.input("x", of, {m, 128}),
               table = k.input("table", Element::i32, {8}), row_of = k.lds("row", of, {1, 128});
  k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
  const Sym row = k.workgroups(0, m, 1), entry = k.uniform(table, Sym(0));
  const Layout half = rows_tv(1, 64, 1, 64), all = rows_tv(1, 128, 2, 64);
  for (const int part : {0, 1}) {
    const Fragment f = k.load(k.tile(x, {1, 64}, {row, Sym(part)}), half, 1);
    k.store(part == 0 ? f : k.map({f}, [&](const auto& v) { return v[0] * k.number(entry); }),
            k.tile(row_of, {1, 64}, {Sym(0), Sym(part)}), 1);
  }
  k.store(k.load(k.whole(row_of), all, 1), k.tile(y, {1, 128}, {row, Sym(0)}), 1);
  const SumOrders o = orders(k);
  const OrderClaim* c = o.find("batch-invariant");
  INFO(text(o));
  REQUIRE(c != nullptr);
  CHECK(c->verdict == Verdict::undecided);
  CHECK_THAT(c->reason, Contains("an entry of a table"));
}

// y = x w^T, or its transpose, where what multiplies or what the sum begins with is another number in each of a matrix instruction's 16 rows;
// `first`: what the first of two products in a trip multiplies.
enum class Apart { nothing, x, begin, first };
Program products(Apart what, bool transposed) {
  const Target& target = Target::named("gfx942");
  const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, Element::f16, Element::f16, Element::f32, 16), 1,
                                      1, transposed ? 32 : 16, transposed ? 16 : 32, 64, 8);
  Program k("products", target, mma.threads());
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1 << 14}),
            depth = k.size("k", {.most = 1 << 14, .multiple = 8});
  const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f16, {m, depth}),
               w = k.input("w", Element::f16, {n, depth});
  k.computes(y, [&](const auto& c) {
    return k.sum(depth, [&](Sym i) { return k(x, {c[0], i}) * k(w, {c[1], i}); });
  });
  const Sym bm = k.workgroups(0, m, 16), bn = k.workgroups(1, n, 32);
  const int axis = transposed ? 1 : 0; // that m has in the tile of sums
  const auto by_row = [&](const Fragment& f, int of) {
    return k.map({f}, [&](const auto& v) { return v[0] + k.number(k.position(of)); });
  };
  Fragment sums = k.zeros(Element::f32, mma.c(), {transposed ? 32 : 16, transposed ? 16 : 32});
  if (what == Apart::begin) sums = by_row(sums, axis);
  k.loop(depth, 64, {.distance = 1, .ring = 1}, [&](Sym t) {
    Fragment rows = k.load(k.tile(x, {16, 64}, {bm, t}), transposed ? mma.b() : mma.a(), 8);
    const Fragment columns = k.load(k.tile(w, {32, 64}, {bn, t}), transposed ? mma.a() : mma.b(), 8);
    const auto multiply = [&](const Fragment& f) {
      if (transposed)
        k.mma(sums, columns, f, mma);
      else
        k.mma(sums, f, columns, mma);
    };
    const auto uneven = [&] {
      return k.relayout(by_row(rows, 0), transposed ? mma.b() : mma.a(), Element::f16);
    };
    if (what == Apart::first) multiply(uneven());
    if (what == Apart::x) rows = uneven();
    multiply(rows);
  });
  const codegen::View tile = k.tile(y, {16, 32}, {bm, bn});
  k.store(sums, transposed ? tile.keep({1, 0}) : tile, 1);
  return k;
}

TEST_CASE("rows of a tile whose products are not alike are apart") {
  for (const bool transposed : {false, true})
    for (const Apart what : {Apart::nothing, Apart::x, Apart::begin, Apart::first}) {
      const SumOrders o = orders(products(what, transposed));
      const OrderClaim* c = o.find("position-invariant");
      INFO(transposed << "\n" << text(o));
      REQUIRE(c != nullptr);
      if (what == Apart::nothing) {
        CHECK(c->verdict == Verdict::proved);
      } else {
        CHECK(c->verdict == Verdict::undecided);
        CHECK_THAT(c->reason, Contains("summed in different orders"));
      }
    }
}

TEST_CASE("sums of programs of one's own") {
  const std::string all = "deterministic proved, batch-invariant (m) proved, position-invariant (m) proved, "
                          "split-invariant proved";
  CHECK(verdicts(columns(Way::loop)) == all);
  CHECK(verdicts(columns(Way::ticket)) == all);
  CHECK_THAT(text(orders(columns(Way::adds))),
             Contains("refuted    deterministic: parts of y are added by atomics of f32"));
  // Two parts: 0 + a + b is one number in either order.
  CHECK_THAT(text(orders(columns(Way::adds, 2))), Contains("undecided  deterministic: parts of y"));
}

TEST_CASE("rows of an input that share elements are not a row's own") {
  // y(i) = sum over j of x(i,j), whose place is given.
  const auto of = [](const std::function<SymLayout(Sym, Sym)>& place) {
    Program k("rows", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 256});
    const Tensor y = k.output("y", Element::f32, {m}), x = k.input("x", Element::f32, {m, n}, place(m, n));
    k.computes(y, [&](const auto& at) { return k.sum(n, [&](Sym j) { return k(x, {at[0], j}); }); });
    const Sym row = k.workgroups(0, m, 64);
    const Layout tv = line_tv(64, 1, 64);
    const Fragment sum = k.zeros(Element::f32, tv, {64, 1});
    k.loop(n, 1, {.distance = 1, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {64, 1}, {row, t}), tv, 1);
      k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {64}, {row}), 1);
    return k;
  };
  const auto strides = [](Sym m, Sym n, Sym of_row, Sym of_column) {
    TupleBuilder<BasicMode<Sym>> b;
    const std::size_t all = b.open();
    b.leaf(BasicMode<Sym>{m, BasicStride<Sym>(of_row)});
    b.leaf(BasicMode<Sym>{n, BasicStride<Sym>(of_column)});
    b.close(all, 2);
    return SymLayout(std::move(b).finish());
  };
  const std::string proved =
      "deterministic proved, batch-invariant (m) proved, position-invariant (m) proved, "
      "split-invariant proved";
  CHECK(verdicts(of([&](Sym m, Sym n) { return strides(m, n, n, Sym(1)); })) == proved);
  CHECK(verdicts(of([&](Sym m, Sym n) { return strides(m, n, n + Sym(3), Sym(1)); })) == proved);
  CHECK(verdicts(of([&](Sym m, Sym n) { return strides(m, n, Sym(1), m); })) == proved);
  CHECK(verdicts(of([&](Sym m, Sym n) { return strides(m, n, Sym(0), Sym(1)); })) ==
        proved); // one row for all
  for (const auto& place : std::vector<std::function<SymLayout(Sym, Sym)>>{
           [&](Sym m, Sym n) { return strides(m, n, Sym(1), Sym(1)); },
           [&](Sym m, Sym n) { return strides(m, n, n - Sym(1), Sym(1)); },
           [&](Sym m, Sym n) { return strides(m, n, Sym(1), m - Sym(1)); }}) {
    const SumOrders o = orders(of(place));
    INFO(text(o));
    CHECK(o.find("deterministic")->verdict == Verdict::proved);
    CHECK(o.find("batch-invariant")->verdict == Verdict::undecided);
    CHECK(o.find("position-invariant")->verdict == Verdict::undecided);
    CHECK_THAT(o.find("batch-invariant")->reason, Contains("rows of x may share elements"));
  }
}

TEST_CASE("rows in blocks of 32, and k in blocks that divide it, are a row's own") {
  // y(i) = sum over j of x(i,j), x of whole blocks of rows, side by side: ((32,M/32),(4,N/4)):((4,S),(1,128)), as scales of 32 k lie.
  const auto of = [](int multiple, int rows, const std::function<Sym(Sym)>& stride) {
    Program k("blocks", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 256, .multiple = multiple});
    TupleBuilder<BasicMode<Sym>> b;
    const auto leaf = [&](Sym extent, Sym by) { b.leaf(BasicMode<Sym>{extent, BasicStride<Sym>(by)}); };
    const std::size_t all = b.open(), down = b.open();
    leaf(32, 4), leaf(ceil_div(m, Sym(rows)), stride(n));
    b.close(down, 2);
    const std::size_t along = b.open();
    leaf(4, 1), leaf(floor_div(n, 4), 128);
    b.close(along, 2), b.close(all, 2);
    const Tensor y = k.output("y", Element::f32, {m}),
                 x = k.input("x", Element::f32, {32 * ceil_div(m, Sym(rows)), n},
                             SymLayout(std::move(b).finish()));
    k.computes(y, [&](const auto& at) { return k.sum(n, [&](Sym j) { return k(x, {at[0], j}); }); });
    const Sym row = k.workgroups(0, m, 64);
    const Layout tv = line_tv(64, 1, 64);
    const Fragment sum = k.zeros(Element::f32, tv, {64, 1});
    k.loop(n, 4, {.distance = 1, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {64, 4}, {row, t}), parse_layout("(64,4):(1@0,1@1)"), 1);
      k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
    });
    k.store(sum, k.tile(y, {64}, {row}), 1);
    return k;
  };
  const auto verdict = [&](int multiple, int rows, const std::function<Sym(Sym)>& stride) {
    const SumOrders o = orders(of(multiple, rows, stride));
    INFO(text(o));
    CHECK(o.find("position-invariant")->verdict == o.find("batch-invariant")->verdict);
    return o.find("batch-invariant")->verdict;
  };
  CHECK(verdict(4, 32, [](Sym n) { return Sym(32) * n; }) == Verdict::proved);
  CHECK(verdict(4, 32, [](Sym n) { return Sym(128) * floor_div(n, 4) + Sym(5); }) == Verdict::proved);
  // Half as many rows as there are: which of them read as 0 depends on m.
  CHECK(verdict(4, 64, [](Sym n) { return Sym(32) * n; }) == Verdict::undecided);
  // Blocks that begin before those in front of them end.
  CHECK(verdict(4, 32, [](Sym n) { return Sym(32) * n - Sym(1); }) == Verdict::undecided);
  CHECK(verdict(4, 32, [](Sym n) { return Sym(256) * floor_div(n, 8); }) == Verdict::undecided);
  CHECK(verdict(8, 32, [](Sym n) { return Sym(256) * floor_div(n, 8); }) == Verdict::proved);
}

TEST_CASE("products with scales of 32 k: a row's sums are of its own scales") {
  for (const Element in : {Element::e2m1, Element::e4m3fn})
    for (const bool preshuffled : {false, true}) {
      kernels::GemmSpec s;
      s.arch = "gfx950", s.in = in, s.block_scales = true, s.out = Element::bf16, s.tile_k = 256;
      s.preshuffled_b = preshuffled;
      if (preshuffled) s.waves_m = 1, s.waves_n = 4;
      INFO(to_string(in) << (preshuffled ? ", B preshuffled" : ""));
      CHECK(verdicts(kernels::gemm_program(s)) == "deterministic proved, batch-invariant (m) proved, "
                                                  "position-invariant (m) proved, split-invariant proved");
    }
}

TEST_CASE("which of two orders a row has is not left to who comes first") {
  // y = x, by one path in another way; a ticket of the rows says which, once in one branch, once in two.
  for (const bool two : {false, true}) {
    Program k("drawn", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 256, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
    const Sym row = k.workgroups(0, m, 1), t = k.ticket("arrived", row);
    const Layout tv = rows_tv(1, 256, 4, 64);
    const Fragment f = k.load(k.tile(x, {1, 256}, {row, 0}), tv, 4);
    const auto plain = [&] { k.store(f, k.tile(y, {1, 256}, {row, 0}), 4); };
    const auto other = [&] {
      k.store(k.map({f}, [](const auto& v) { return (v[0] + 3.3) - 3.3; }), k.tile(y, {1, 256}, {row, 0}), 4);
    };
    if (two)
      k.if_less(t, Sym(1), other), k.if_less(Sym(0), t, plain);
    else
      k.if_less(t, Sym(1), other, plain);
    const SumOrders o = orders(k);
    INFO(text(o));
    for (const OrderClaim& c : o.claims) CHECK(to_string(c.verdict) == "undecided");
    CHECK_THAT(to_string(o.claims[0]), Contains("a ticket's number says which one a workgroup takes"));
  }
}

TEST_CASE("a table's entry is the row's own where it is the entry of its number") {
  const auto batch_invariant = [](const std::function<Sym(Sym)>& entry, const std::string& name = "table") {
    Program k("by_entry", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 256, .multiple = 4});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
                 table = k.input(name, Element::i32, {m});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
    const Sym row = k.workgroups(0, m, 1);
    const Fragment f = k.load(k.tile(x, {1, 256}, {row, 0}), rows_tv(1, 256, 4, 64), 4);
    k.if_less(
        k.uniform(table, entry(row)), Sym(1),
        [&] {
          k.store(f, k.tile(y, {1, 256}, {row, 0}), 4);
        },
        [&] {
          k.store(k.map({f}, [](const auto& v) { return (v[0] + 3.3) - 3.3; }), k.tile(y, {1, 256}, {row, 0}),
                  4);
        });
    return to_string(orders(k).find("batch-invariant")->verdict);
  };
  CHECK(batch_invariant([](Sym row) { return row; }) == "proved");
  CHECK(batch_invariant([](Sym row) { return floor_div(row, Sym(2)); }) == "undecided");
  CHECK(batch_invariant([](Sym row) { return floor_mod(row, Sym(2)); }) == "undecided");
  CHECK(batch_invariant([](Sym row) { return row - floor_mod(row, Sym(4)); }) == "undecided");
  // Whatever it is called: places in a map are `_at0`, an entry of this one `_attended0`.
  CHECK(batch_invariant([](Sym row) { return row; }, "attended") == "proved");
  CHECK(batch_invariant([](Sym row) { return floor_div(row, Sym(2)); }, "attended") == "undecided");
}

// y(m,n) = x(m,n) + w(m,n), or w(m,n) alone, w a window of x or of z [h,n].
struct Looks {
  std::vector<WindowAxis> axes;
  std::vector<Sym> origin;
};
Program beside(const std::function<Looks(Sym m, Sym n, Sym h)>& looks, bool of_x = true, bool alone = false) {
  Program k("beside", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
            h = k.size("h", {.most = 1 << 10});
  const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n}),
               z = k.input("z", Element::f32, {h, n});
  Looks l = looks(m, n, h);
  const Tensor w = k.window("w", of_x ? x : z, std::move(l.axes), std::move(l.origin));
  k.computes(y, [&](const auto& c) {
    const Expr seen = k(w, {c[0], c[1]});
    return alone ? seen : k(x, {c[0], c[1]}) + seen;
  });
  const Sym column = k.workgroups(0, n, 64), row = k.workgroups(1, m, 4);
  const auto load = [&](const Tensor& t) {
    return k.load(k.tile(t, {4, 64}, {row, column}), rows_tv(4, 64, 1, 64), 1);
  };
  const View to = k.tile(y, {4, 64}, {row, column});
  if (alone)
    k.store(load(w), to, 1);
  else
    k.store(k.map({load(x), load(w)}, [](const auto& v) { return v[0] + v[1]; }), to, 1);
  return k;
}

TEST_CASE("a window is a row's own where it shows the row itself") {
  struct Case {
    std::string what, verdict;
    std::function<Looks(Sym, Sym, Sym)> looks;
    bool of_x = true;
  };
  const auto along = [](Sym step, Sym origin) {
    return [=](Sym m, Sym n, Sym) { return Looks{{{m, {{m, 0, step}}}, {n, {{n, 1}}}}, {origin, 0}}; };
  };
  const auto columns = [](Sym m, Sym n, Sym) { return Looks{{{m, {{m, 0}}}, {n, {{n, 1, 2}}}}, {0, -1}}; };
  const std::vector<Case> cases = {
      {"itself", "proved", along(1, 0)},
      {"other columns", "proved", columns},
      {"the next row", "undecided", along(1, 1)},
      {"the row before", "undecided", along(1, -1)},
      {"row 0", "undecided", along(0, 0)},
      {"every other row", "undecided", along(2, 0)},
      {"rows as columns", "undecided",
       [](Sym m, Sym n, Sym) {
         return Looks{{{m, {{m, 1}}}, {n, {{n, 0}}}}, {0, 0}};
       }},
      {"columns in two digits", "proved",
       [](Sym m, Sym n, Sym) {
         return Looks{{{m, {{m, 0}}}, {n, {{Sym(2), 1}, {n, 1, 2}}}}, {0, 0}};
       }},
      {"columns move the row, too", "undecided",
       [](Sym m, Sym n, Sym) {
         return Looks{{{m, {{m, 0}}}, {n, {{Sym(64), 1}, {n, 0}}}}, {0, 0}};
       }},
      {"two digits", "undecided",
       [](Sym m, Sym n, Sym) {
         return Looks{{{m, {{Sym(4), 1}, {m, 0}}}, {n, {{n, 1}}}}, {0, 0}};
       }},
      {"an origin that is a size", "undecided",
       [](Sym m, Sym n, Sym h) {
         return Looks{{{m, {{m, 0}}}, {n, {{n, 1}}}}, {h, 0}};
       }},
      {"of another tensor, itself", "proved", along(1, 0), false},
      {"of another tensor, the next row", "undecided", along(1, 1), false},
  };
  for (const Case& one : cases)
    for (const bool alone : {false, true}) {
      INFO(one.what << (alone ? ", alone" : ""));
      const SumOrders o = orders(beside(one.looks, one.of_x, alone));
      INFO(text(o));
      CHECK(to_string(o.find("batch-invariant")->verdict) == one.verdict);
      CHECK(to_string(o.find("position-invariant")->verdict) == one.verdict);
      if (one.verdict == "undecided")
        CHECK_THAT(text(o), Contains("is read at other rows [operation ") && Contains("sum_order_test.cpp:"));
    }
  // And the bits say so.
  agree(beside(along(1, 0)), {0, 61, 3}, "m", 1);
  agree(beside(columns), {0, 61, 3}, "m", 1);
  agree(beside(along(1, 1)), {0, 61, 3}, "m", 1);
  agree(beside(along(0, 0)), {0, 61, 3}, "m", 1);
  agree(beside(along(1, 1), true, true), {0, 61, 3}, "m", 1);
}

TEST_CASE("rows that a table names are a row's own where they are no rows of the output") {
  const auto gathered = [](bool of_m, bool both) {
    Program k("gathered", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              h = k.size("h", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {of_m ? m : h, n}),
                 ids = k.input("ids", Element::i32, {m});
    k.computes(y, [&](const auto& c) {
      const Expr of = k(x, {k.at(ids, c[0]), c[1]});
      return both ? of + k(x, {c[0], c[1]}) : of;
    });
    const Sym column = k.workgroups(0, n, 64), row = k.workgroups(1, m, 4);
    const Layout tv = rows_tv(4, 64, 1, 64);
    const Fragment i = k.load(k.tile(ids, {4}, {row}), without_axis(tv, 1), 1),
                   of = k.load(k.tile(x, {4, 64}, {0, column}).through(0, i), tv, 1);
    const View to = k.tile(y, {4, 64}, {row, column});
    if (both)
      k.store(k.map({of, k.load(k.tile(x, {4, 64}, {row, column}), tv, 1)},
                    [](const auto& v) { return v[0] + v[1]; }),
              to, 1);
    else
      k.store(of, to, 1);
    return orders(k);
  };
  for (const bool both : {false, true}) {
    const SumOrders o = gathered(true, both);
    CHECK_THAT(text(o), Contains("undecided  batch-invariant (m): x is read at other rows [operation 1,") &&
                            Contains("undecided  position-invariant (m): x is read at other rows"));
  }
  CHECK_THAT(text(gathered(false, false)),
             Contains("proved     batch-invariant (m)") && Contains("proved     position-invariant (m)"));
}

TEST_CASE("a row of an input that has another number of rows is read at one place") {
  const auto shifted = [](const std::function<Sym(Sym row, Sym m, Sym h)>& other) {
    Program k("shifted", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
              h = k.size("h", {.most = 1 << 10});
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {h, n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}) + k(x, {other(c[0], m, h), c[1]}); });
    const Sym column = k.workgroups(0, n, 64), row = k.workgroups(1, m, 1);
    const auto load = [&](Sym at) {
      return k.load(k.tile(x, {1, 64}, {at, column}), rows_tv(1, 64, 1, 64), 1);
    };
    k.store(k.map({load(row), load(other(row, m, h))}, [](const auto& v) { return v[0] + v[1]; }),
            k.tile(y, {1, 64}, {row, column}), 1);
    return orders(k);
  };
  CHECK(shifted([](Sym row, Sym, Sym) { return row; }).find("batch")->verdict == Verdict::proved);
  const std::vector<std::function<Sym(Sym, Sym, Sym)>> others = {
      [](Sym row, Sym, Sym) { return row + Sym(1); },
      [](Sym, Sym, Sym) { return Sym(0); },
      [](Sym row, Sym m, Sym) { return m - Sym(1) - row; },
      [](Sym row, Sym, Sym h) { return h - Sym(1) - row; },
      [](Sym row, Sym, Sym) { return floor_div(row, Sym(2)); },
  };
  for (const auto& other : others)
    CHECK_THAT(text(shifted(other)), Contains("undecided  batch-invariant (m): x is read at other rows"));
}

TEST_CASE("what is of one row is another one's, too, past an output without rows") {
  Program k("past", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
  const Tensor y = k.output("y", Element::f32, {m, n}), z = k.output("z", Element::f32, {1, n}),
               x = k.input("x", Element::f32, {m, n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}) + k(z, {Sym(0), c[1]}); });
  k.computes(z, [&](const auto& c) { return k(x, {Sym(0), c[1]}); });
  const Sym column = k.workgroups(0, n, 64), row = k.workgroups(1, m, 4);
  const Layout tv = rows_tv(4, 64, 1, 64), one = rows_tv(1, 64, 1, 64);
  k.store(k.load(k.tile(x, {1, 64}, {0, column}), one, 1), k.tile(z, {1, 64}, {0, column}), 1);
  k.store(k.map({k.load(k.tile(x, {4, 64}, {row, column}), tv, 1),
                 k.load(k.tile(z, {1, 64}, {0, column}), without_axis(tv, 0), 1)},
                [](const auto& v) { return v[0] + v[1]; }),
          k.tile(y, {4, 64}, {row, column}), 1);
  CHECK_THAT(text(orders(k)), Contains("undecided  batch-invariant (m): z was stored of several rows"));
}

TEST_CASE("integers that m is an index of depend on m") {
  Program k("by_m", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10}),
            h = k.size("h", {.most = 1 << 11});
  const Tensor y = k.output("y", Element::i32, {m, n}), x = k.input("x", Element::i32, {h, n});
  k.computes(y, [&](const auto& c) { return k(x, {m, c[1]}); });
  const Sym column = k.workgroups(0, n, 64), row = k.workgroups(1, m, 1);
  k.store(k.load(k.tile(x, {1, 64}, {m, column}), rows_tv(1, 64, 1, 64), 1),
          k.tile(y, {1, 64}, {row, column}), 1);
  CHECK_THAT(text(orders(k)),
             Contains("undecided  batch-invariant (m): where x is read, which depends on m"));
}

TEST_CASE("prebuilt kernels that look at other rows are undecided, and others stay proved") {
  const auto claims = [](const std::string& kernel) {
    const kernels::Artifact artifact = kernels::find_kernel(kernel)->build({}, {});
    return text(orders(artifact.source->program));
  };
  CHECK_THAT(claims("conv2d"), Contains("undecided  batch-invariant (pixels): taps is read at other rows") &&
                                   Contains("undecided  position-invariant (pixels)"));
  CHECK_THAT(claims("paged_decode"), Contains("proved     batch-invariant"));
  CHECK_THAT(claims("gather_rows"), Contains("proved     batch-invariant"));
}

TEST_CASE("a sum over all rows is refuted, and what rows or their number decide is not decided") {
  const auto rows = [](auto body) {
    Program k("rows", Target::named("gfx942"), 64);
    const Sym m = k.size("m", {.most = 1 << 10}), n = k.size("n", {.most = 1 << 10});
    body(k, m, n);
    return orders(k);
  };
  const Layout tv = rows_tv(4, 64, 4, 64);
  // Column sums: y(j) = sum over i of x(i,j) beside z(i,j).
  const SumOrders sums = rows([&](Program& k, Sym m, Sym n) {
    const Tensor z = k.output("z", Element::f32, {m, n}), y = k.output("y", Element::f32, {n}),
                 x = k.input("x", Element::f32, {m, n});
    k.computes(z, [&](const auto& c) { return k(x, {c[0], c[1]}) * 2.0; });
    k.computes(y, [&](const auto& c) { return k.sum(m, [&](Sym i) { return k(x, {i, c[0]}); }); });
    const Sym columns = k.workgroups(0, n, 64);
    const Layout line = line_tv(64, 1, 64);
    const Fragment sum = k.zeros(Element::f32, line, {64});
    k.loop(m, 1, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {1, 64}, {t, columns}).keep({1}), line, 1);
      k.update(sum, {f}, [](const auto& v) { return v[0] + v[1]; });
    });
    (void)z;
    k.store(sum, k.tile(y, {64}, {columns}), 1);
  });
  CHECK_THAT(text(sums), Contains("refuted    batch-invariant (m): y is a sum over all m rows"));
  // x - M + M, M the maximum of a tile's rows: the same number, and other bits beside other rows.
  const SumOrders mixed = rows([&](Program& k, Sym m, Sym n) {
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
    const Sym columns = k.workgroups(0, n, 64), row = k.workgroups(1, m, 4);
    const Fragment f = k.load(k.tile(x, {4, 64}, {row, columns}), tv, 1), most = k.fold(Monoid::max, f, 0);
    k.store(k.map({f, most}, [](const auto& v) { return (v[0] - v[1]) + v[1]; }),
            k.tile(y, {4, 64}, {row, columns}), 1);
  });
  CHECK_THAT(text(mixed),
             Contains("proved     deterministic") &&
                 Contains("undecided  batch-invariant (m): values of several rows meet [operation 1,"));
  // Running sums down the rows, row by row in one loop: what a trip has from the one before is of another row.
  const SumOrders running = rows([&](Program& k, Sym m, Sym n) {
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
    const Sym columns = k.workgroups(0, n, 64), four = k.workgroups(1, m, 4);
    const Layout line = line_tv(64, 1, 64);
    const Fragment sum = k.zeros(Element::f32, line, {64});
    k.loop(Sym(4), 1, {.distance = 0, .ring = 1}, [&](Sym t) {
      const Fragment f = k.load(k.tile(x, {1, 64}, {Sym(4) * four + t, columns}).keep({1}), line, 1);
      k.update(sum, {f}, [](const auto& v) { return v[0] + v[1]; });
      k.store(sum, k.tile(y, {1, 64}, {Sym(4) * four + t, columns}).keep({1}), 1);
    });
  });
  CHECK_THAT(text(running),
             Contains("proved     deterministic") &&
                 Contains("undecided  batch-invariant (m): a row of y may depend on other rows"));
  // As many trips as rows.
  const SumOrders counted = rows([&](Program& k, Sym m, Sym n) {
    const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
    k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}); });
    const Sym columns = k.workgroups(0, n, 64), row = k.workgroups(1, m, 4);
    const Fragment f = k.load(k.tile(x, {4, 64}, {row, columns}), tv, 1),
                   sum = k.zeros(Element::f32, tv, {4, 64});
    k.loop(m, 4, {.distance = 0, .ring = 1},
           [&](Sym) { k.update(sum, {f}, [](const auto& v) { return v[0] + v[1]; }); });
    k.store(sum, k.tile(y, {4, 64}, {row, columns}), 1);
  });
  CHECK_THAT(text(counted), Contains("undecided  batch-invariant (m): a loop of trips of 4 over m") &&
                                Contains("undecided  split-invariant: a loop of trips of 4 over m"));
}

TEST_CASE("gemm --deterministic: what adds by atomics is refused, and auto chooses what does not") {
  const auto gemm = kernels::find_kernel("gemm");
  const kernels::Flags some = {{"tile", "32x64x64"}, {"split", "128"}, {"deterministic", "yes"}};
  const auto and_of = [](kernels::Flags flags, const kernels::Flags& more) {
    for (const auto& [name, value] : more) flags[name] = value;
    return flags;
  };
  CHECK_THROWS_WITH(gemm->build(some, {}),
                    Contains("gemm: --deterministic yes is not what this form does") &&
                        Contains("deterministic is refuted: parts of c are added by atomics of f16") &&
                        Contains("program.cpp:") && Contains("hint   --split-k-fixup yes"));
  CHECK_THROWS_WITH(
      gemm->build({{"tile", "32x64x64"}, {"stream-k-workgroups", "6"}, {"deterministic", "batch"}}, {}),
      Contains("--deterministic batch is not what this form does") &&
          Contains("in place of --stream-k-workgroups"));
  CHECK_NOTHROW(gemm->build(and_of(some, {{"split-k-fixup", "yes"}}), {}));
  CHECK_THROWS_WITH(gemm->build({{"tile", "32x64x128"}, {"deterministic", "batch"}}, {}),
                    Contains("walks along K by 64") && Contains("here by 128") &&
                        Contains("hint   --tile 32x64x64"));
  CHECK_THROWS_WITH(gemm->build({{"deterministic", "perhaps"}}, {}), Contains("is none of no, yes, batch"));
  const kernels::Flags sizes = {{"m", "16"}, {"n", "512"}, {"k", "4096"}};
  const auto forms = [&](const kernels::Flags& more) {
    auto out = gemm->forms(and_of(sizes, more));
    REQUIRE(!out.empty());
    return out;
  };
  const auto any = [](const std::vector<kernels::Form>& of, const std::string& option,
                      const std::string& value) {
    return std::any_of(of.begin(), of.end(), [&](const auto& f) { return f.options.at(option) == value; });
  };
  CHECK(any(forms({{"split", "512"}}), "split-k-fixup", "no"));
  CHECK_FALSE(any(forms({{"split", "512"}, {"deterministic", "yes"}}), "split-k-fixup", "no"));
  // For any m the same walk along K.
  for (const char* m : {"1", "16", "64", "4096"})
    for (const kernels::Form& f : forms({{"m", m}, {"deterministic", "batch"}})) {
      CHECK(f.options.at("split") == "0");
      CHECK(f.options.at("tile").ends_with("x64"));
      CHECK(f.options.at("mfma") == "16");
    }
  CHECK(any(forms({{"deterministic", "batch"}, {"split", "1024"}}), "split", "1024"));
}

// Forms that `--deterministic batch` may choose for different m: row by row the same bits.
void one_order(const std::string& arch, Element in, const std::vector<std::int64_t>& sizes) {
  std::map<int, std::vector<std::uint8_t>> first;
  for (const int split : {0, 128}) {
    first.clear();
    const auto rows = numbered(3, 20);
    for (int form = 0; form < 4; ++form) {
      kernels::GemmSpec s;
      s.arch = arch, s.in = in, s.out = Element::f32, s.split = split, s.gather = split > 0;
      s.tile_k = 1024 / bits(in);
      s.tile_m = form == 0 ? 16 : form == 1 ? 32 : 64, s.tile_n = form == 3 ? 128 : 64;
      s.waves_m = form == 0 ? 1 : 2, s.waves_n = form == 0 ? 4 : form == 3 ? 4 : 2;
      s.transfer = form >= 2, s.pingpong = form == 3 && split == 0;
      if (form == 2) s.stages = 2;
      INFO(arch << " " << to_string(in) << " split " << split << " form " << form);
      const auto got = Rows(kernels::gemm_program(s), sizes, "m").run(rows);
      if (first.empty()) first = got;
      CHECK(got == first);
    }
  }
}
TEST_CASE("gemm --deterministic batch: forms for different m give the same bits", "[.][nightly]") {
  for (const char* arch : {"gfx942", "gfx950", "gfx90a"})
    for (const std::int64_t k : {264, 512, 1048}) one_order(arch, Element::f16, {0, 64, k});
  one_order("gfx942", Element::bf16, {0, 200, 264});
}
TEST_CASE("preshuffle_gemm --deterministic batch: forms for different m give the same bits", "[.][nightly]") {
  const auto rows = numbered(3, 20);
  const std::vector<std::int64_t> sizes = {0, 128, 288};
  const auto of = [&](int tile_m, int waves_m, bool transfer) {
    return Rows(gemm([&](auto& s) {
                  s.preshuffled_b = true, s.tile_m = tile_m, s.waves_m = waves_m, s.waves_n = 4;
                  s.tile_n = 64, s.transfer = transfer;
                }),
                sizes, "m")
        .run(rows);
  };
  const auto first = of(32, 1, false);
  CHECK(of(64, 2, false) == first);
  CHECK(of(64, 1, true) == first);
}
TEST_CASE("gemm --deterministic batch: two forms with a ragged K give the same bits") {
  const auto rows = numbered(3, 20);
  const std::vector<std::int64_t> sizes = {0, 64, 200};
  const auto one = Rows(gemm([](auto&s) { s.tile_m = 16, s.waves_m = 1, s.waves_n = 4; }), sizes, "m")
                       .run(rows),
             other = Rows(gemm([](auto&s) { s.tile_m = 64, s.transfer = true; }), sizes, "m").run(rows),
             longer = Rows(gemm([](auto&s) { s.tile_k = 128; }), sizes, "m").run(rows);
  CHECK(one == other);
  CHECK(one != longer); // which is why K has one tile
}

// Ten kernels and some of its orders; nightly more of both.
void agree_all(unsigned launches) {
  const std::vector<std::int64_t> sizes = {0, 64, 264};
  agree(gemm(), sizes, "m", launches);
  agree(gemm([](auto& s) { s.split = 64, s.gather = true; }), sizes, "m", launches);
  agree(gemm([](auto& s) { s.split = 64; }), sizes, "m", launches);
  agree(gemm([](auto& s) { s.workers = 5; }), sizes, "m", launches);
  agree(gemm([](auto& s) { s.in = Element::i8, s.out = Element::i32, s.workers = 5; }), {0, 64, 272}, "m",
        launches);
  kernels::RowSpec row;
  row.threads = 64, row.vectors = 1, row.vector = 1;
  agree(kernels::softmax_program(row), {0, 61}, "m", launches);
  row.vectors = 4, row.streamed = true;
  agree(kernels::softmax_program(row), {0, 777}, "m", launches);
  agree(columns(Way::loop), {0, 9}, "m", launches);
  agree(columns(Way::ticket), {0, 9}, "m", launches);
  agree(columns(Way::adds), {0, 9}, "m", launches);
}

TEST_CASE("verdicts agree with bits, in shuffled orders of workgroups and beside other rows") {
  agree_all(1);
}

TEST_CASE("verdicts agree with bits, in 50 orders and batches", "[.][nightly]") {
  const char* fewer = std::getenv("INLAY_ORDERS");
  agree_all(fewer ? static_cast<unsigned>(std::atoi(fewer)) : 50);
  agree(gemm([](auto& s) { s.mfma = 32, s.waves_m = 1, s.waves_n = 2; }), {0, 64, 264}, "m", 3);
  agree(gemm([](auto& s) { s.transfer = true, s.tile_m = 64; }), {0, 64, 264}, "m", 3);
  agree(gemm([](auto& s) { s.arch = "gfx950", s.order = parse_tile_order("xcd+rows:2"); }), {0, 200, 264},
        "m", 3);
  kernels::AttentionSpec attention;
  attention.head_dim = 64, attention.tile_q = 64, attention.waves = 2;
  for (const bool causal : {false, true}) {
    attention.causal = causal;
    agree(kernels::flash_attention_program(attention), {2, 70, 70, 2}, "batch", 2);
    agree(kernels::flash_attention_program(attention), {1, 0, 70, 1}, "queries", 2);
  }
}

TEST_CASE("prebuilt kernels that are deterministic give the same bits in every order", "[.][nightly]") {
  for (const auto& kernel : kernels::registry()) {
    INFO(kernel->name());
    const kernels::Artifact artifact = kernel->build({}, {});
    REQUIRE(artifact.source != nullptr);
    const SumOrders claims = orders(artifact.source->program);
    INFO(text(claims));
    REQUIRE(claims.claims.size() >= 4);
    if (claims.claims[0].verdict != Verdict::proved || artifact.contract.devices > 1) continue;
    const kernels::Problem problem = kernel->problem({}, 1);
    std::vector<kernels::Bytes> buffers;
    for (const auto& b : problem.buffers) buffers.push_back(b.data);
    const auto workgroups =
        std::uint64_t{problem.launch.grid[0]} * problem.launch.grid[1] * problem.launch.grid[2];
    const auto after = launched(artifact, problem.launch, buffers, {});
    for (const std::uint64_t seed : {1, 2}) {
      const auto stressed = launched(artifact, problem.launch, buffers, {}, seed);
      // One workgroup after another: not where they wait for one another.
      const auto shuffled =
          artifact.turns || workgroups > 512 ? stressed : launched(artifact, problem.launch, buffers, seed);
      for (std::size_t b = 0; b < buffers.size(); ++b) {
        if (!problem.buffers[b].output) continue;
        INFO(problem.buffers[b].name);
        CHECK(stressed[b] == after[b]);
        CHECK(shuffled[b] == after[b]);
      }
    }
  }
}

} // namespace sum_order_test
