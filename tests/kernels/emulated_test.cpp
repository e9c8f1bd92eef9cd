// Codes that claims and tokens call right, as machine code: what descriptors cut off and what the emitter makes of operands is
// seen here alone. Each of these was wrong once.
#include "../mutate/emulated.h"

#include <inlay/codegen/provenance.h>
#include <inlay/codegen/schedule.h>
#include <inlay/solver/prover.h>

#include <catch2/catch.hpp>

namespace emulated_test {

using namespace inlay;
using namespace inlay::codegen;

namespace {

void right(const Program& p, const std::vector<mutate::Sizes>& sizes) {
  const Graph graph = expand(p);
  const Code code = apply(graph, default_schedule(graph));
  solver::SolverProver prover;
  const Derivation d = derive(code, prover);
  INFO((d.refuted() ? d.refuted()->claim + " | " + d.refuted()->counterexample : code.text()));
  CHECK(d.ok());
  CHECK(mutate::emulated(code, sizes) == "");
}

} // namespace

TEST_CASE("a loop stores a workgroup's part of each row, to the end of the last one") {
  // The last tile is number trips - 1; its distance must not move the base of the descriptor before the part.
  Program k("parts", Target::named("gfx942"), 128);
  const Sym m = k.size("m"), n = k.size("n", {.most = 1 << 20});
  const Tensor y = k.output("y", Element::f32, {m, n}), x = k.input("x", Element::f32, {m, n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0], c[1]}) * 2.0; });
  const Sym rows = k.workgroups(0, m, 4), part = k.workgroups(1, n, 64);
  const Layout tv = rows_tv(4, 32, 1, 128);
  k.loop(min(Sym(64), n - Sym(64) * part), 32, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Sym at = Sym(2) * part + t;
    const Fragment f =
        k.map({k.load(k.tile(x, {4, 32}, {rows, at}), tv, 1)}, [](const auto& v) { return v[0] * 2.0; });
    k.store(f, k.tile(y, {4, 32}, {rows, at}), 1);
  });
  right(k, {{2, 48}, {1, 1}, {6, 218}, {4, 64}, {9, 100}});
}

TEST_CASE("a loop over columns, column by column in memory") {
  // What the trip adds counts towards a descriptor's records.
  Program k("columns", Target::named("gfx942"), 64);
  const Sym m = k.size("m", {.most = 1 << 14}), n = k.size("n", {.most = 1 << 10});
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t at = b.open();
  b.leaf(BasicMode<Sym>{m, BasicStride<Sym>(Sym(1))}), b.leaf(BasicMode<Sym>{n, BasicStride<Sym>(m)});
  b.close(at, 2);
  const Tensor y = k.output("y", Element::f32, {m}),
               x = k.input("x", Element::f32, {m, n}, SymLayout(std::move(b).finish()));
  k.computes(y, [&](const auto& c) { return k.sum(n, [&](Sym i) { return k(x, {c[0], i}); }); });
  const Sym rows = k.workgroups(0, m, 64);
  const Layout tv = line_tv(64, 1, 64);
  const Fragment sum = k.zeros(Element::f32, tv, {64, 1});
  k.loop(n, 1, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Fragment f = k.load(k.tile(x, {64, 1}, {rows, t}), tv, 1);
    k.update(sum, {k.fold(Monoid::sum, f, 1)}, [](const auto& v) { return v[0] + v[1]; });
  });
  k.store(sum, k.tile(y, {64}, {rows}), 1);
  right(k, {{1, 9}, {64, 4}, {100, 7}});
}

TEST_CASE("operands that are read in halves, of an instruction that takes them whole") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    const Target& target = Target::named(arch);
    Program k("halves", target, 64);
    const Sym m = k.size("m"), n = k.size("n", {.most = 1 << 20}),
              depth = k.size("k", {.most = 1 << 20, .multiple = 4});
    const Tensor c = k.output("c", Element::f32, {m, n}), a = k.input("a", Element::f16, {m, depth}),
                 b = k.input("b", Element::f16, {n, depth});
    k.computes(c, [&](const auto& at) {
      return k.sum(depth, [&](Sym i) { return k(a, {at[0], i}) * k(b, {at[1], i}); });
    });
    const MmaTiling mma = MmaTiling::of(Atom::mma_best(target, Element::f16, Element::f16, Element::f32, 16),
                                        1, 1, 32, 32, 32, 4);
    const Sym bn = k.workgroups(0, n, 32), bm = k.workgroups(1, m, 32);
    const Tensor of_a = k.lds("lds_a", Element::f16, {32, 32}, {}, 4),
                 of_b = k.lds("lds_b", Element::f16, {32, 32}, {}, 4);
    const Fragment acc = k.zeros(Element::f32, mma.c(), {32, 32});
    k.loop(depth, 32, {.distance = 1, .ring = 2}, [&](Sym t) {
      k.copy(k.tile(a, {32, 32}, {bm, t}), of_a, rows_tv(32, 32, 4, 64), 4);
      k.copy(k.tile(b, {32, 32}, {bn, t}), of_b, rows_tv(32, 32, 4, 64), 4);
      k.mma(acc, k.read(of_a, mma.a(), 4), k.read(of_b, mma.b(), 4), mma);
    });
    k.store(acc, k.tile(c, {32, 32}, {bm, bn}), 1);
    right(k, {{33, 40, 100}, {1, 1, 4}});
  }
}

} // namespace emulated_test
