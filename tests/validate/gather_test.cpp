// `validate_code` where coordinates come from memory: rows through a table, numbers of the workgroup; and what takes longer.
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/validate/code.h>

#include <catch2/catch.hpp>

namespace gather_test {

using namespace inlay;
using namespace inlay::kernels::validate;
using MachineVerdict = runtime::symbolic::Verdict;

namespace {

CodeReport validate(const kernels::Artifact& a, const codegen::Code& code) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
  const auto object = runtime::CodeObject::parse({p, p + a.hsaco.size()});
  return validate_code(object, object.kernel(a.kernel), code);
}

template <class Change>
codegen::Code changed(const codegen::Code& code, Change change) {
  codegen::Code out = code;
  bool any = false;
  for (auto& region : out.regions)
    for (auto* list : {&region.prologue, &region.body, &region.epilogue})
      for (auto& i : *list)
        if (i.kind == codegen::InstKind::load) any = change(i) || any;
  REQUIRE(any);
  return out;
}

} // namespace

TEST_CASE("rows through a table are validated; without their guard they are not", "[.][slow]") {
  const kernels::Artifact a = kernels::find_kernel("moe_stage1")->build({}, {});
  const codegen::Code& code = a.source->code;
  const CodeReport r = validate(a, code);
  INFO((r.refuted.empty() ? r.undecided.empty() ? "" : r.undecided[0] : r.refuted[0].message));
  CHECK(r.verdict == MachineVerdict::validated);
  CHECK(r.loops == 1);
  // The code's rows are not compared with the number of tokens.
  CHECK(validate(a, changed(code,
                            [](codegen::Inst& i) {
                              if (!i.access.gathered(0)) return false;
                              i.access.masked[0] = false;
                              return true;
                            }))
            .verdict != MachineVerdict::validated);
}

TEST_CASE("numbers know that a table past its end names row 0", "[.][slow]") {
  // Trips that begin before the loop's end is known load their ids past it; found by a random program.
  using namespace codegen;
  for (const char* scheduler : {"default", "modulo"}) {
    Program k("gathers", Target::named("gfx942"), 64);
    const Sym T = k.size("t", {.most = 1 << 12, .multiple = 8}), V = k.size("v", {.most = 1 << 10}),
              D = k.size("d", {.most = 1 << 10, .multiple = 2});
    const Tensor Y = k.output("y", Element::f32, {Sym(1), D}), W = k.input("w", Element::f32, {V, D}),
                 I = k.input("ids", Element::i32, {T});
    k.computes(Y, [&](const auto& c) { return k.sum(T, [&](Sym p) { return k(W, {k.at(I, p), c[1]}); }); });
    const Sym w = k.workgroups(0, D, 64);
    const Layout tv = rows_tv(8, 64, 2, 64);
    const Fragment acc = k.zeros(Element::f32, tv, {8, 64});
    k.loop(T, 8, {.distance = 2, .ring = 1}, [&](Sym t) {
      const Fragment ids = k.load(k.tile(I, {8}, {t}), without_axis(tv, 1), 1),
                     x = k.load(k.tile(W, {8, 64}, {0, w}).through(0, ids), tv, 2);
      k.update(acc, {k.fill(x, 0, 8 * t, T, 0)}, [](const auto& e) { return e[0] + e[1]; });
    });
    k.store(k.fold(Monoid::sum, acc, 0), k.tile(Y, {1, 64}, {0, w}), 1);
    const kernels::Artifact a = kernels::build(std::move(k), {.scheduler = scheduler});
    const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
    const auto object = runtime::CodeObject::parse({p, p + a.hsaco.size()});
    const CodeReport r = validate_code(object, object.kernel(a.kernel), a.source->code,
                                       {.order = false, .symbols = false, .first_runs = 24});
    INFO(scheduler << (r.refuted.empty() ? "" : ": " + r.refuted[0].message));
    CHECK(r.refuted.empty());
  }
}

TEST_CASE("numbers in which a table names one row twice refute nothing: which store is later nothing says",
          "[.][slow]") {
  // 16 rows of which two or more are the same one where there are fewer; found by a random program.
  using namespace codegen;
  for (const double factor : {0.5, 0.25}) {
    Program k("puts", Target::named("gfx950"), 256);
    const Sym T = k.size("t", {.most = 1 << 12, .multiple = 16}), V = k.size("rows", {.most = 1 << 4}),
              N = k.size("n", {.most = 1 << 12, .multiple = 4});
    const Tensor Y = k.inout("y", Element::f32, {V, N}), X = k.input("x", Element::f32, {T, N}),
                 ids = k.input("ids", Element::i32, {T});
    k.puts(Y, ids, [&](const auto& c) { return k(X, {c[0], c[1]}) * 0.5; });
    const Sym bn = k.workgroups(0, N, 128), bm = k.workgroups(1, T, 16);
    const Layout tv = rows_tv(16, 128, 4, 256);
    const Fragment x = k.load(k.tile(X, {16, 128}, {bm, bn}), tv, 4),
                   y = k.map({x}, [&](const auto&e) { return e[0] * 0.5; }),
                   rows = k.load(k.tile(ids, {16}, {bm}), without_axis(tv, 1), 1);
    k.store(y, k.tile(Y, {16, 128}, {0, bn}).through(0, rows), 4);
    const kernels::Artifact a = kernels::build(std::move(k));
    const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
    const auto object = runtime::CodeObject::parse({p, p + a.hsaco.size()});
    codegen::Code code = a.source->code;
    for (auto& i : code.regions[0].body)
      if (i.kind == InstKind::map && factor != 0.5) i.map = i.map * 0.5;
    const CodeReport r = validate_code(object, object.kernel(a.kernel), code, {.first_runs = 24});
    INFO(factor << (r.refuted.empty() ? "" : ": " + r.refuted[0].message));
    CHECK(r.verdict == (factor == 0.5 ? MachineVerdict::validated : MachineVerdict::refuted));
  }
}

TEST_CASE("a word that may hold anything may be read and dropped", "[.][slow]") {
  // The upper half of a conversion to bf16 is of a scalar register with an old mask: it changes from trip to trip.
  kernels::AttentionSpec attention;
  attention.arch = "gfx950";
  const kernels::Artifact a = kernels::build(kernels::flash_attention_program(attention));
  const CodeReport r = validate(a, a.source->code);
  INFO((r.refuted.empty() ? r.undecided.empty() ? "" : r.undecided[0] : r.refuted[0].message));
  CHECK(r.verdict == MachineVerdict::validated);
  CHECK(r.loops == 1);
}

} // namespace gather_test
