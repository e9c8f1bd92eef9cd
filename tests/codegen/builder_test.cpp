// The kernel builder: formulas become code that computes them, and what the target lacks is refused.
#include <catch2/catch.hpp>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/kernel_builder.h>
#include <random>

namespace builder_test {

using namespace inlay;
using namespace inlay::codegen;

namespace {
const Target& gfx942 = Target::named("gfx942");
const Target& gfx950 = Target::named("gfx950");

KernelBuilder builder(const Target& target = gfx942) {
  return KernelBuilder(target, "kernel", {{"p", Type::global()}, {"n", Type::i32()}},
                       {.workgroup_size = 256});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}
} // namespace

// Symbols bound to constants: LLVM folds the emitted code, and the result must be the formula's value.
TEST_CASE("lowered formulas compute what evaluation says") {
  const char* const formulas[] = {
      "t*4 + 17",
      "t/8*64 + t%8*8",
      "(t/8*64 + t%8*8) ^ ((t/8 % 8) * 8)",
      "(t + 3*u) / 5 + (t*7) % 12",
      "t*u*u - 3*t + 40000",
      "min(t, u) + max(2*t, 3*u)",
      "(t & 28) | (u << 3) | (t >> 2)",
      "select(t < u, t*2, u*3)",
      "(t <= u) + 2*(t == u)",
      "(t - 100) / 16 + (t - 100) % 16",
      "-t / 8",
      "128*(u/2) + (t + 127) / 128",
  };
  std::mt19937 random(1);
  for (const char* text : formulas) {
    INFO(text);
    for (int round = 0; round < 60; ++round) {
      SymContext ctx;
      const Sym t = ctx.symbol("t", {Int(0), Int(255)}), u = ctx.symbol("u", {Int(0), Int(63)});
      const Sym formula = parse_sym(ctx, text);
      const int tv = int(random() % 256), uv = int(random() % 64);
      KernelBuilder k = builder();
      k.bind(t, k.constant(tv));
      k.bind(u, k.constant(uv));
      Assignment values;
      values.set(t, tv);
      values.set(u, uv);
      INFO("t = " << tv << ", u = " << uv);
      const auto got = k.known(k.lower(formula));
      REQUIRE(got);
      CHECK(Int(*got) == evaluate(formula, values));
    }
  }
}

TEST_CASE("formulas whose difference needs more than 32 bits compute what evaluation says") {
  // t and two numbers from memory, which may be as large as any.
  std::mt19937 random(2);
  const auto large = [&] { return std::int64_t(random() % 2 == 0 ? random() % 300 : random() % 0x7fffffff); };
  for (int round = 0; round < 200; ++round) {
    SymContext ctx;
    const Sym t = ctx.symbol("t", {Int(0), Int(255)}), v = ctx.symbol("v", {Int(0), Int(INT32_MAX)}),
              w = ctx.symbol("w", {Int(0), Int(INT32_MAX)});
    KernelBuilder k = builder();
    Assignment values;
    for (const auto& [symbol, value] :
         {std::pair(t, std::int64_t(random() % 256)), std::pair(v, large()), std::pair(w, large())}) {
      INFO(to_string(symbol) << " = " << value);
      k.bind(symbol, k.constant(static_cast<int>(value)));
      values.set(symbol, Int(value));
    }
    INFO(evaluate(t, values).value() << ", " << evaluate(v, values).value() << ", "
                                     << evaluate(w, values).value());
    for (const char* text : {"max(0, t - v - w)", "t - w - min(t - w, v - w) + 1", "min(t, 300 + v) - 1"}) {
      INFO(text);
      const Sym formula = parse_sym(ctx, text);
      const auto got = k.known(k.lower(formula));
      REQUIRE(got);
      CHECK(Int(*got) == evaluate(formula, values));
    }
    const Sym apart = t - v - w;
    const bool positive = evaluate(apart, values) > Int(0), negative = evaluate(apart, values) < Int(0);
    CHECK((k.known(k.less(Sym(0), apart)).value() != 0) == positive);
    CHECK((k.known(k.less(apart, Sym(0))).value() != 0) == negative);
    CHECK((k.known(k.at_most(Sym(0), apart)).value() != 0) == !negative);
  }
  SymContext ctx; // and what is no difference of two that fit is refused
  const Sym v = ctx.symbol("v", {Int(0), Int(INT32_MAX)});
  KernelBuilder k = builder();
  k.bind(v, k.constant(1));
  CHECK_THROWS_AS(k.lower(max(Sym(0), v * v - v)), CodegenError);
}

TEST_CASE("equal subexpressions are computed once in a region, and not taken out of one") {
  SymContext ctx;
  const Sym t = ctx.symbol("t", {Int(0), Int(255)});
  KernelBuilder k = builder();
  k.bind(t, k.work_item_id());
  const Value rows = k.buffer(k.argument(0), k.argument(1));
  const Sym row = floor_div(t, 8), offset = row * Sym(64) + floor_mod(t, 8) * Sym(8);
  const Value first = k.lower(offset), second = k.lower(offset);
  CHECK(first.id == second.id);
  k.buffer_store(first, rows, k.lower(offset + Sym(4)));
  k.if_then(k.compare(Compare::ult, first, k.argument(1)), [&] {
    k.buffer_store(first, rows, k.lower(row + Sym(1)));
    k.buffer_store(first, rows, k.lower(row * Sym(3)));
  });
  // Made inside the branch, it would not dominate this use: LLVM's verifier sees to it that it is made again.
  k.buffer_store(first, rows, k.lower(row * Sym(3)));
  const IrModule module = std::move(k).finish();
  CHECK(count(module.text(), "lshr i32") == 1);
  CHECK(count(module.text(), "and i32") == 1);
  CHECK(count(module.text(), "udiv") + count(module.text(), "urem") == 0);
  CHECK(!emit(module, gfx942).hsaco.empty());
}

TEST_CASE("wrap flags appear only where the intervals prove them") {
  SymContext ctx;
  const Sym t = ctx.symbol("t", {Int(0), Int(255)}), any = ctx.symbol("any", {Int(0), {}});
  const Sym large = ctx.symbol("large", {Int(0), Int(std::int64_t{1} << 31)});
  const Sym minus = ctx.symbol("minus", {Int(-5), Int(5)});
  const auto text = [&](Sym formula, bool low = false) {
    KernelBuilder k = builder();
    k.bind(t, k.work_item_id());
    k.bind(any, k.argument(1));
    k.bind(minus, k.argument(1));
    k.bind(large, k.argument(1));
    k.buffer_store(low ? k.lower_low(formula) : k.lower(formula), k.buffer(k.argument(0), k.argument(1)),
                   k.constant(0));
    return std::move(k).finish().text();
  };
  CHECK(count(text(t * Sym(12)), "mul nuw") == 1);
  CHECK(count(text(any * Sym(12), true), "nuw") == 0); // may pass 2^32
  CHECK(count(text(Sym(300) - t), "nuw") == 0);        // 300 + (-1) t wraps on the way
  CHECK_THROWS_WITH(text(any * Sym(12)), Catch::Contains("32 bits") && Catch::Contains("any"));
  CHECK_THROWS_AS(text(large * Sym(64)), CodegenError); // passes 2^32
  CHECK(count(text(large * Sym(64), true), "nuw") == 0);
  // Its low bits do not say what the quotient, the smaller one or the comparison is.
  CHECK_THROWS_AS(text(floor_div(large * Sym(63), 128)), CodegenError);
  CHECK_THROWS_AS(text(floor_div(large * Sym(64), 100), true), CodegenError);
  CHECK_THROWS_AS(text(min(large * Sym(64), t), true), CodegenError);
  CHECK_THROWS_AS(text(shift_right(large * Sym(63), Sym(3)), true), CodegenError);
  CHECK_THROWS_AS(text(min(large, minus)), CodegenError); // neither signed nor unsigned
  CHECK_THROWS_AS(text(shift_left(Sym(1), t)), CodegenError);
  CHECK(count(text(t + minus + Sym(7)), "nuw") ==
        0); // the sum is small and positive, a partial sum may not be
  CHECK(count(text(floor_div(minus, 4)), "ashr") == 1);
  CHECK(count(text(floor_div(t, 4)), "lshr") == 1);
  CHECK_THROWS_AS(text(floor_div(minus, 3)), CodegenError);
  CHECK_THROWS_AS(text(t * Sym(std::int64_t{1} << 40)), CodegenError);
}

TEST_CASE("a kernel with every kind of operation verifies and compiles for both architectures") {
  for (const Target* target : {&gfx942, &gfx950}) {
    KernelBuilder k = builder(*target);
    const Value t = k.work_item_id(), rows = k.buffer(k.argument(0), k.argument(1));
    const LdsBlock lds = k.lds_allocate("tile", 4096);
    const Value at = k.mul(t, k.constant(16));
    const Value v = k.buffer_load(rows, at, Type::f16(8),
                                  {.immediate = 32, .scalar = k.argument(1), .cache = {.nt = true}});
    k.lds_store(v, lds, at, 0);
    k.barrier();
    const Value w = k.lds_load(lds, k.bit_xor(at, k.constant(64)), 0, Type::f16(8));
    const Value acc =
        k.mfma("llvm.amdgcn.mfma.f32.16x16x16f16", k.slice(w, 0, 4), k.slice(w, 4, 4), k.zero(Type::f32(4)));
    const KernelBuilder::Values sums = k.loop(
        k.constant(0), k.argument(1), k.constant(1), {acc}, [&](Value i, const KernelBuilder::Values& s) {
          k.sched_group(sched_mfma, 1, 0);
          const Value a =
              k.pack(std::vector<Value>{k.extract(w, 0), k.extract(w, 1), k.extract(w, 6), k.extract(w, 7)});
          const Value next = k.mfma("llvm.amdgcn.mfma.f32.16x16x16f16", a, k.slice(w, 0, 4), s[0]);
          (void)i;
          return KernelBuilder::Values{next};
        });
    const Value x = k.extract(sums[0], 0);
    const Value y = k.fmax(k.fma(k.exp2(x), k.rcp(x), k.rsqrt(x)), k.lane_xor(x, 1));
    k.set_priority(1);
    k.sched_barrier();
    k.buffer_store(k.convert(y, Element::bf16), rows, at);
    k.buffer_store(k.convert(k.slice(sums[0], 0, 2), Element::f16), rows,
                   k.select(k.compare(Compare::ult, t, k.readfirstlane(k.argument(1))), at, k.constant(-1)));
    k.buffer_load_to_lds(rows, at, 4, lds, k.readfirstlane(k.constant(0)));
    const IrModule module = std::move(k).finish();
    const Emitted e = emit(module, *target);
    for (const char* instruction :
         {"buffer_load_dwordx4", " nt", "ds_write_b128", "s_barrier", "ds_read_b128",
          "v_mfma_f32_16x16x16_f16", "v_exp_f32", "v_rcp_f32", "v_rsq_f32", "s_setprio 1",
          "buffer_store_short", "buffer_store_dword", "lds"})
      CHECK(e.assembly.find(instruction) != std::string::npos);
    CHECK((e.assembly.find("v_cvt_pk_bf16_f32") != std::string::npos) == target->packs_bf16);
    CHECK(e.assembly.find(".private_segment_fixed_size: 0") != std::string::npos);
  }
}

TEST_CASE("what the target lacks is refused by name") {
  KernelBuilder k = builder();
  CHECK(k.lds_allocate("first", 100).bytes == 100);
  CHECK(k.lds_bytes() == 100);
  CHECK_THROWS_WITH(k.lds_allocate("second", 65536 - 100),
                    Catch::Contains("second") && Catch::Contains("65536") && Catch::Contains("112"));
  CHECK(k.lds_allocate("second", 65536 - 112).bytes == 65424);
  CHECK_THROWS_AS(k.lds_allocate("third", 1), CodegenError);
  const Value rows = k.buffer(k.argument(0), k.argument(1));
  CHECK_THROWS_WITH(k.buffer_load(rows, k.constant(0), Type::f16(3)), Catch::Contains("f16x3"));
  CHECK_THROWS_WITH(k.buffer_load_to_lds(rows, k.constant(0), 16, LdsBlock{0, 100}, k.constant(0)),
                    Catch::Contains("gfx942") && Catch::Contains("1, 2, 4"));
  CHECK_THROWS_WITH(KernelBuilder(gfx942, "k", {}, {.workgroup_size = 2048}), Catch::Contains("2048"));
}

TEST_CASE("misuse is an internal error at the call that is wrong") {
  KernelBuilder k = builder();
  CHECK_THROWS_AS(k.add(k.constant(1), k.float_constant(1)), InternalError);
  CHECK_THROWS_AS(k.add(Value{}, k.constant(1)), InternalError);
  CHECK_THROWS_AS(k.argument(2), InternalError);
  CHECK_THROWS_AS(k.mfma("llvm.amdgcn.no.such", k.constant(1), k.constant(1), k.constant(1)), InternalError);
  CHECK_THROWS_AS(k.convert(k.constant(1), Element::f16), InternalError);
  SymContext ctx;
  CHECK_THROWS_AS(k.lower_low(ctx.symbol("unbound")), InternalError);
  CHECK_THROWS_AS(k.compare(Compare::ult, k.float_constant(1), k.float_constant(2)), InternalError);
  const Value f8 = k.zero({Element::i32, 8}), acc = k.zero(Type::f32(4));
  CHECK_THROWS_AS(k.mfma("llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4", f8, f8, acc), InternalError);
  const IrModule module = std::move(k).finish();
  CHECK_THROWS_AS(k.constant(1), InternalError);
  CHECK_THROWS_AS(std::move(k).finish(), InternalError);
}

TEST_CASE("a symbol is bound once, and all are of one context") {
  SymContext ctx, other;
  const Sym a = ctx.symbol("a", {Int(0), Int(9)}), b = other.symbol("b", {Int(0), Int(9)});
  KernelBuilder k = builder();
  k.bind(a, k.constant(1));
  CHECK_THROWS_WITH(k.bind(a, k.constant(2)), Catch::Contains("bound twice"));
  CHECK_THROWS_WITH(k.bind(b, k.constant(2)), Catch::Contains("two contexts"));
  CHECK_THROWS_WITH(k.lower(b), Catch::Contains("two contexts"));
}

} // namespace builder_test
