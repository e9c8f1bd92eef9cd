// `validate_code`: our kernels are validated; damaged machine code is refuted by name; code that only differs after many
// trips is not validated; and the parts that this rests on, each against its definition.
#include "../../validate/places.h"
#include "formulas.h"
#include "matrix_words.h"
#include "values_of_words.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/target.h>
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/launch.h>
#include <inlay/kernels/rows/spec.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>
#include <set>

namespace code_test {

using namespace inlay;
using namespace inlay::kernels::validate;
using Catch::Matchers::Contains;
using MachineVerdict = runtime::symbolic::Verdict;

namespace {

runtime::CodeObject object_of(const kernels::Bytes& bytes) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return runtime::CodeObject::parse({p, p + bytes.size()});
}

std::string text_of(const CodeReport& r) {
  std::string s(runtime::symbolic::to_string(r.verdict));
  for (const auto& f : r.refuted) s += "\n  refuted '" + f.text + "': " + f.message;
  for (const auto& u : r.undecided) s += "\n  undecided: " + u;
  return s;
}

CodeReport validate(const kernels::Artifact& a, const kernels::Bytes& bytes, bool numbers_first = false) {
  const auto object = object_of(bytes);
  CodeOptions o;
  o.first_runs = numbers_first ? o.refuter_runs : 0;
  return validate_code(object, object.kernel(a.kernel), a.source->code, o);
}

/// The file with instruction number `which` of those whose text begins so replaced by bytes of the same size. With "...X" in
/// the text: whose text begins with what is before and ends with X.
kernels::Bytes patched(const kernels::Artifact& a, const std::string& text, std::size_t which,
                       const std::function<void(std::vector<std::uint8_t>&)>& change) {
  const std::string begins = text.substr(0, text.find("..."));
  const std::string ends = text == begins ? "" : text.substr(begins.size() + 3);
  const auto object = object_of(a.hsaco);
  const auto& section = object.sections()[object.kernel(a.kernel).section];
  const auto program =
      runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
  kernels::Bytes out = a.hsaco;
  const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
  const auto at = std::search(p, p + a.hsaco.size(), section.bytes.begin(), section.bytes.end()) - p;
  for (const auto& i : program.instructions) {
    if (!std::string_view(i.text).starts_with(begins) || !std::string_view(i.text).ends_with(ends) ||
        which-- != 0)
      continue;
    std::vector<std::uint8_t> code = i.encoding;
    change(code);
    REQUIRE(code != i.encoding);
    std::memcpy(out.data() + at + static_cast<std::ptrdiff_t>(i.address - program.begin), code.data(),
                code.size());
    return out;
  }
  FAIL("no instruction is " << text);
  return out;
}

/// The kernel's assembly, changed, with 16 vector registers.
CodeReport validate_assembly(const kernels::Artifact& a, std::string text, const CodeOptions& options = {}) {
  for (const char* count : {".amdhsa_next_free_vgpr ", ".amdhsa_accum_offset "}) {
    const std::size_t at = text.find(count) + std::strlen(count);
    text.replace(at, text.find('\n', at) - at, "16");
  }
  const auto bytes = runtime::isa::assemble_code_object(text, runtime::isa::Arch::gfx942);
  const auto object = runtime::CodeObject::parse(bytes);
  return validate_code(object, object.kernel(a.kernel), a.source->code, options);
}

kernels::GemmSpec small_gemm() {
  kernels::GemmSpec s;
  s.tile_m = 32, s.tile_n = 32, s.tile_k = 64, s.waves_m = 1, s.waves_n = 1;
  return s;
}

} // namespace

TEST_CASE("a quotient of a quotient is one quotient, with the same value") {
  using kernels::validate::Formulas;
  SymContext context;
  const Sym x = context.symbol("x", {Int(-50), Int(2000)}), y = context.symbol("y", {Int(1), Int(9)});
  for (const std::int64_t a : {1, 2, 7, 256})
    for (const std::int64_t c : {-3, -1, 0, 1, 3, 5})
      for (const std::int64_t b : {1, 3, 4}) {
        const Sym nested = floor_div(floor_div(x, Sym(a)) + Sym(c), Sym(b)),
                  s = y * nested * nested - nested + x,
                  of_two = floor_div(floor_div(x, Sym(a)) + floor_div(y, Sym(3)), Sym(b)),
                  by_y = floor_div(floor_div(x, y) + Sym(c), Sym(b));
        for (std::int64_t v = -50; v <= 2000; v += v < 20 ? 1 : 89)
          for (const std::int64_t w : {1, 2, 9}) {
            Assignment numbers;
            numbers.set(x, Int(v)), numbers.set(y, Int(w));
            for (const Sym& f : {nested, s, of_two, by_y})
              if (evaluate(Formulas::one_quotient(f), numbers) != evaluate(f, numbers))
                FAIL(to_string(f) << " and " << to_string(Formulas::one_quotient(f)) << " at x = " << v
                                  << ", y = " << w);
          }
      }
  CHECK(to_string(Formulas::one_quotient(floor_div(floor_div(x + Sym(255), Sym(256)) + Sym(3), Sym(4)))) ==
        to_string(floor_div(x + Sym(1023), Sym(1024))));
}

TEST_CASE("machine code of our kernels is validated for all sizes") {
  for (const char* arch : {"gfx942", "gfx950"}) {
    kernels::GemmSpec gemm = small_gemm();
    gemm.arch = arch;
    kernels::GemmSpec shuffled = gemm;
    shuffled.preshuffled_b = true, shuffled.in = shuffled.out = codegen::Element::bf16;
    kernels::RowSpec row;
    row.arch = arch, row.threads = 128, row.vectors = 2;
    kernels::RowSpec added = row;
    added.residual = true;
    for (const kernels::Artifact& a :
         {kernels::build_gemm(gemm), kernels::build_gemm(shuffled), kernels::build_softmax(row),
          kernels::build_rmsnorm(row), kernels::build_layernorm(row), kernels::build_layernorm(added),
          kernels::build_silu_and_mul(row)}) {
      const CodeReport r = validate(a, a.hsaco, true); // by numbers as well as by symbols
      INFO(a.kernel << " " << arch << ": " << text_of(r));
      CHECK(r.verdict == MachineVerdict::validated);
      CHECK(r.loops == (a.kernel.find("gemm") == std::string::npos ? 0 : 1));
    }
  }
}

TEST_CASE("waves that begin in another MODE are not what the instructions compute with") {
  const kernels::Artifact a = kernels::build_gemm(small_gemm());
  const runtime::CodeObject object = object_of(a.hsaco);
  const auto verdict = [&](const std::function<void(runtime::KernelDescriptor&)>& change) {
    runtime::Kernel kernel = object.kernel(a.kernel);
    change(kernel.descriptor);
    return validate_code(object, kernel, a.source->code, {}).verdict;
  };
  CHECK(verdict([](auto&) {}) == MachineVerdict::validated);
  CHECK(verdict([](auto& d) { d.mode.denorm_32 = 0; }) == MachineVerdict::undecided);
  CHECK(verdict([](auto& d) { d.mode.round_32 = 1; }) == MachineVerdict::undecided);
  CHECK(verdict([](auto& d) { d.mode.round_16_64 = 3; }) == MachineVerdict::undecided);
  CHECK(verdict([](auto& d) { d.mode.denorm_16_64 = 0; }) == MachineVerdict::undecided);
  CHECK(verdict([](auto& d) { d.mode.fp16_overflow = true; }) == MachineVerdict::undecided);
  CHECK(verdict([](auto& d) { d.mode.ieee = false; }) == MachineVerdict::undecided);
  CHECK(verdict([](auto& d) { d.tg_split = true; }) == MachineVerdict::undecided);
}

TEST_CASE("attention and scaled products are validated, and refuted when damaged") {
  kernels::AttentionSpec attention;
  attention.waves = 1, attention.tile_q = 16, attention.tile_k = 32, attention.head_dim = 64;
  const kernels::Artifact a = kernels::build(kernels::flash_attention_program(attention));
  kernels::BlockScaleSpec scaled;
  scaled.arch = "gfx950", scaled.tile_m = 32, scaled.waves_m = 1;
  kernels::AttentionSpec causal = attention;
  causal.causal = true, causal.group = 2;
  for (const kernels::Artifact& x : {a, kernels::build(kernels::flash_attention_program(causal)),
                                     kernels::build(kernels::block_scale_gemm_program(scaled))}) {
    const CodeReport r = validate(x, x.hsaco, true); // numbers, too: nothing that is only rounded is refuted
    INFO(x.kernel << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
    CHECK(r.loops == 1);
  }
  const auto refuted = [&](const kernels::Bytes& bytes) {
    const CodeReport r = validate(a, bytes, true);
    INFO(text_of(r));
    CHECK(r.verdict == MachineVerdict::refuted);
  };
  refuted(patched(a, "v_pk_mul_f32", 8, [](auto& c) { c[7] ^= 0x08; })); // another half of its second source
  refuted(patched(a, "v_exp_f32", 2, [](auto& c) { c[0] ^= 1; }));       // what a factor is of
  refuted(patched(a, "v_cmp_gt_i32", 3, [](auto& c) { c[1] ^= 2; }));    // a bound
}

TEST_CASE("damaged machine code is refuted with instruction, lane, sizes and what should be there") {
  const kernels::Artifact a = kernels::build_gemm(small_gemm(), {.loops = "ir"});
  const auto refuted = [&](const kernels::Bytes& bytes) {
    const CodeReport r = validate(a, bytes, true);
    INFO(text_of(r));
    CHECK(r.verdict == MachineVerdict::refuted);
    REQUIRE_FALSE(r.refuted.empty());
    return r.refuted[0];
  };
  SECTION("a row's maximum, its sum, and whether a lane takes part") {
    kernels::RowSpec row;
    row.threads = 128, row.vectors = 1;
    const kernels::Artifact softmax = kernels::build_softmax(row);
    const auto refuted_row = [&](const char* begins, std::size_t which, const auto& change) {
      const CodeReport r = validate(softmax, patched(softmax, begins, which, change), true);
      INFO(begins << ": " << text_of(r));
      CHECK(r.verdict == MachineVerdict::refuted);
    };
    refuted_row("v_sub_f32", 0, [](auto& c) { c[1] ^= 2; });    // another register than the maximum
    refuted_row("ds_write_b32", 1, [](auto& c) { c[1] ^= 4; }); // a wave's sum is elsewhere
    refuted_row("s_cbranch_execz", 0, [](auto& c) { c[2] ^= 1; });
  }
  SECTION("halves that a packed sum takes, and their signs") {
    kernels::RowSpec row;
    row.threads = 128, row.vectors = 1, row.residual = true;
    const kernels::Artifact sum = kernels::build_rmsnorm(row);
    for (const auto& [byte, bit] :
         {std::pair{7, 0x08}, {7, 0x10}, {1, 0x08}, {1, 0x10}, {7, 0x20}, {1, 0x01}}) {
      const CodeReport r = validate(
          sum,
          patched(sum, "v_pk_add_f16", 1,
                  [&](auto& c) { c[static_cast<std::size_t>(byte)] ^= static_cast<std::uint8_t>(bit); }),
          true);
      INFO(byte << " " << bit << ": " << text_of(r));
      CHECK(r.verdict == MachineVerdict::refuted);
    }
  }
  SECTION("integers of 8 bits are rounded by less than one") {
    kernels::RowSpec row;
    row.threads = 128, row.vectors = 1, row.quantised = codegen::Element::i8;
    const kernels::Artifact rounded = kernels::build_rmsnorm(row);
    CHECK(validate(rounded, rounded.hsaco, true).verdict != MachineVerdict::refuted);
    const CodeReport r =
        validate(rounded, patched(rounded, "v_rndne_f32", 2, [](auto& c) { c[0] ^= 1; }), true);
    INFO(text_of(r));
    CHECK(r.verdict == MachineVerdict::refuted);
  }
  SECTION("the offset of a load") {
    const auto f = refuted(patched(a, "buffer_load_dwordx4", 2, [](auto& c) { c[0] ^= 0x20; }));
    CHECK_THAT(f.message, Contains("the code"));
    CHECK_FALSE(f.sizes.empty());
  }
  SECTION("an operand of a matrix instruction") {
    const auto f = refuted(patched(a, "v_mfma", 5, [](auto& c) { c[4] ^= 4; }));
    CHECK_THAT(f.message, Contains("matrix product"));
  }
  SECTION("the accumulator of a matrix instruction") {
    CHECK_THAT(refuted(patched(a, "v_mfma", 1, [](auto& c) { c[6] ^= 16; })).message, Contains("the code"));
  }
  SECTION("the number of records: a guard") {
    CHECK_THAT(refuted(patched(a, "s_min_i32", 0, [](auto& c) { c[1] ^= 0x30; })).message,
               Contains(" c byte "));
  }
  SECTION("an LDS place") {
    CHECK_THAT(refuted(patched(a, "ds_read_b128", 1, [](auto& c) { c[0] ^= 0x40; })).message,
               Contains("the code"));
  }
  SECTION("what is rounded and stored") {
    CHECK_THAT(refuted(patched(a, "v_cvt_f16_f32", 0, [](auto& c) { c[0] ^= 1; })).message,
               Contains("the code"));
  }
  SECTION("a wait") {
    CHECK_THAT(refuted(patched(a, "s_waitcnt vmcnt", 0, [](auto& c) { c[0] = 0x7f, c[1] = 0xcf; })).message,
               Contains("wait"));
  }
}

TEST_CASE("elements packed into words: bytes with a scale for each row, halves that are stored alone") {
  const auto built = [](const char* kernel, kernels::Flags flags) {
    flags["threads"] = "128";
    return kernels::find_kernel(kernel)->build(flags, {});
  };
  for (const char* arch : {"gfx942", "gfx950"}) {
    for (const auto& [kernel, flags] :
         {std::pair<const char*, kernels::Flags>{"rmsnorm", {{"quant", "i8"}, {"vectors", "1"}}},
          {"rmsnorm", {{"quant", "fp8"}, {"vectors", "2"}, {"dtype", "f32"}}},
          {"layernorm", {{"quant", "i8"}, {"vectors", "1"}, {"dtype", "bf16"}}},
          {"layernorm", {{"quant", "fp8"}, {"vectors", "1"}}},
          {"rmsnorm", {{"quant", "fp8"}, {"vector", "1"}}},
          {"rmsnorm", {{"vector", "1"}}},
          {"layernorm", {{"vector", "1"}}},
          {"softmax", {{"vector", "1"}, {"dtype", "bf16"}}},
          {"silu_and_mul", {{"vector", "1"}}}}) {
      kernels::Flags with = flags;
      with["arch"] = arch;
      const kernels::Artifact a = built(kernel, with);
      const CodeReport r = validate(a, a.hsaco, true);
      INFO(kernel << " " << arch << ": " << text_of(r));
      CHECK(r.verdict == MachineVerdict::validated);
    }
  }
  // Damaged: refuted by numbers, and not validated by symbols alone.
  const auto damaged = [&](const kernels::Artifact& a, const char* begins, std::size_t which,
                           const auto& change) {
    const kernels::Bytes bytes = patched(a, begins, which, change);
    const CodeReport numbers = validate(a, bytes, true);
    INFO(begins << ": " << text_of(numbers));
    CHECK(numbers.verdict == MachineVerdict::refuted);
    CHECK(validate(a, bytes).verdict != MachineVerdict::validated);
  };
  const kernels::Artifact i8 = built("rmsnorm", {{"quant", "i8"}, {"vectors", "1"}});
  damaged(i8, "v_or_b32_sdwa", 0, [](auto& c) { c[5] ^= 1; }); // another byte or half of the result
  damaged(i8, "v_or_b32_sdwa", 0, [](auto& c) { c[6] ^= 1; }); // and of a source
  damaged(i8, "v_lshlrev_b16", 1, [](auto& c) { c[0] ^= 1; }); // shifted by another number
  damaged(i8, "v_med3_i32", 1, [](auto& c) { c[4] ^= 1; });    // what is held between the ends
  damaged(i8, "v_rndne_f32", 1, [](auto& c) { c[0] ^= 2; });   // of another element
  const kernels::Artifact fp8 = built("rmsnorm", {{"quant", "fp8"}, {"vectors", "1"}});
  damaged(fp8, "v_cvt_pk_fp8_f32", 1, [](auto& c) { c[1] ^= 0x40; }); // the other half of the word
  damaged(fp8, "v_cvt_pk_fp8_f32", 1, [](auto& c) { c[4] ^= 1; });    // another element
  const kernels::Artifact half = built("layernorm", {{"vector", "1"}});
  damaged(half, "v_fma_mixlo_f16", 0, [](auto& c) { c[7] ^= 0x10; });    // f32 in the place of f16
  damaged(half, "v_fma_mixlo_f16", 1, [](auto& c) { c[1] ^= 0x10; });    // the other half of a word
  damaged(half, "buffer_store_short", 1, [](auto& c) { c[2] ^= 0x04; }); // the upper half is stored
  // The absolute value of one element is its value; no number of the tests has its largest there.
  CHECK(validate(fp8, patched(fp8, "v_cndmask_b32", 3, [](auto& c) { c[1] ^= 2; })).verdict !=
        MachineVerdict::validated);
  // Clamped at another end, which no number of the tests reaches: only symbols see it.
  CHECK(validate(i8, patched(i8, "s_movk_i32", 0, [](auto& c) { c[0] ^= 0x40; })).verdict !=
        MachineVerdict::validated);
}

TEST_CASE("numbers that no integer is near are the ends that the conversion has itself, and no others") {
  const kernels::Artifact a = kernels::find_kernel("moe_blocks")->build({}, {});
  const CodeReport right = validate(a, a.hsaco);
  INFO(text_of(right));
  CHECK(right.verdict == MachineVerdict::validated);
  const auto other = [&](const char* begins, std::size_t which, const auto& change) {
    INFO(begins << " number " << which);
    CHECK(validate(a, patched(a, begins, which, change)).verdict != MachineVerdict::validated);
  };
  // No number of the tests comes to these: -2^30 and 2^31 - 2^30 for the ends, another end, another side of it.
  other("v_bfrev_b32", 0, [](auto& c) { c[0] ^= 3; });
  other("v_bfrev_b32", 1, [](auto& c) { c[0] ^= 3; });
  other("s_mov_b32...0xcf000000", 0, [](auto& c) { c[6] ^= 1; });
  other("s_mov_b32...0x4effffff", 0, [](auto& c) { c[6] ^= 1; });
  other("v_cndmask_b32_e32 v2, 0, v3", 0, [](auto& c) { c[0] ^= 1; }); // 1 for a NaN
}

TEST_CASE("choices by comparison: which relation, of what, and which of the two") {
  for (const auto& [kernel, flags] :
       {std::pair<const char*, kernels::Flags>{"argmax", {{"threads", "64"}, {"vectors", "1"}}},
        {"cross_entropy", {{"threads", "64"}, {"vectors", "1"}}},
        {"cross_entropy_backward", {{"threads", "64"}, {"vectors", "1"}, {"arch", "gfx950"}}},
        {"topk_gating", {{"experts", "64"}, {"k", "2"}, {"arch", "gfx950"}}},
        {"grouped_gating", // what integers choose by, of numbers that are rounded
         {{"experts", "32"}, {"groups", "1"}, {"topk-group", "1"}, {"k", "2"}}},
        {"attention_backward_dq", {{"dtype", "bf16"}, {"causal", "1"}}}, // its loop's counter goes up to 0
        {"attention_backward_dkv",
         {{"dtype", "bf16"}, {"causal", "1"}, {"arch", "gfx950"}}}, // trips as a difference
        {"gate_and_mul", {{"act", "gelu"}, {"threads", "64"}, {"dtype", "bf16"}}}}) {
    const kernels::Artifact a = kernels::find_kernel(kernel)->build(flags, {});
    const CodeReport r = validate(a, a.hsaco, true);
    INFO(kernel << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
  }
  // y = x >= z ? a : b, a row of 64.
  using codegen::Program;
  Program k("choice", codegen::Target::named("gfx942"), 64);
  const Sym n = k.size("n");
  const auto input = [&](const char* name) { return k.input(name, codegen::Element::f32, {n}); };
  const codegen::Tensor y = k.output("y", codegen::Element::f32, {n}), x = input("x"), z = input("z"),
                        a = input("a"), b = input("b");
  k.computes(y,
             [&](const auto& c) { return select(k(x, {c[0]}), k(z, {c[0]}), k(a, {c[0]}), k(b, {c[0]})); });
  const Sym w = k.workgroups(0, n, 64);
  const Layout tv = codegen::line_tv(64, 1, 64);
  const auto load = [&](const codegen::Tensor& t) { return k.load(k.tile(t, {64}, {w}), tv, 1); };
  k.store(k.map({load(x), load(z), load(a), load(b)},
                [&](const auto& e) { return select(e[0], e[1], e[2], e[3]); }),
          k.tile(y, {64}, {w}), 1);
  const kernels::Artifact choice = kernels::build(std::move(k));
  CHECK(validate(choice, choice.hsaco, true).verdict == MachineVerdict::validated);
  const auto damaged = [&](const char* text, const auto& change, bool seen_by_numbers) {
    const kernels::Bytes bytes = patched(choice, text, 0, change);
    const CodeReport symbols = validate(choice, bytes), numbers = validate(choice, bytes, true);
    INFO(text << ": " << text_of(symbols));
    CHECK(symbols.verdict != MachineVerdict::validated);
    CHECK((numbers.verdict == MachineVerdict::refuted) == seen_by_numbers);
  };
  // Every other relation of two f32: f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru. That of numbers not less differs for NaN alone.
  const auto object = object_of(choice.hsaco);
  const auto& section = object.sections()[object.kernel(choice.kernel).section];
  const auto program =
      runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
  const auto compare =
      std::find_if(program.instructions.begin(), program.instructions.end(), [](const auto& i) {
        return i.mnemonic.starts_with("v_cmp_") && i.mnemonic.ends_with("_f32");
      });
  REQUIRE(compare != program.instructions.end());
  REQUIRE(compare->size == 4);
  const unsigned is = (compare->encoding[2] >> 1) & 15U;
  REQUIRE((is == 3 || is == 6)); // le, or ge of the other two
  for (unsigned relation = 0; relation < 16; ++relation)
    if (relation != is)
      damaged(
          "v_cmp_", [&](auto& c) { c[2] = static_cast<std::uint8_t>((c[2] & ~0x1eU) | (relation << 1)); },
          relation != (is == 3 ? 11U : 14U));
  damaged(
      "v_cmp_", [](auto& c) { c[0] ^= 1; }, true); // of another number
  damaged(
      "v_cndmask_b32",
      [](auto& c) {
        std::uint8_t first =
            static_cast<std::uint8_t>(c[1] >> 1 | (c[2] & 1) << 7); // the two the other way around
        const std::uint8_t second = c[0];
        c[0] = first;
        c[1] = static_cast<std::uint8_t>((c[1] & 1) | second << 1);
        c[2] = static_cast<std::uint8_t>((c[2] & ~1) | second >> 7);
      },
      true);
  damaged(
      "v_cndmask_b32", [](auto& c) { c[0] ^= 1; }, true);
}

TEST_CASE("powers of two are numbers of their own: a constant is not that times 2^61") {
  std::set<Number> all;
  for (int e = -1074; e < 1024; ++e) all.insert(of_double(std::ldexp(1.0, e)));
  CHECK(all.size() == 1074 + 1024);
  using Wide = unsigned __int128;
  for (const Number a : {Number{0}, Number{1}, Number{31}, prime - 1, prime / 2, prime - 31})
    for (const Number b : {Number{0}, Number{1}, Number{61}, prime - 1, prime - 2, prime / 3}) {
      CHECK(multiply(a, b) == static_cast<Number>(Wide{a} * b % prime));
      CHECK(add(a, b) == static_cast<Number>((Wide{a} + b) % prime));
      CHECK((a == 0 || multiply(a, inverse(a)) == 1));
    }
  for (const Number x : {~Number{0}, prime, prime - 1, prime + 1, Number{1} << 61, (Number{1} << 61) - 1})
    CHECK(reduce(x) == x % prime);
  CHECK(reduce(~Wide{0}) == static_cast<Number>(~Wide{0} % prime));

  codegen::Program k("tripled", codegen::Target::named("gfx942"), 64);
  const Sym n = k.size("n");
  const codegen::Tensor y = k.output("y", codegen::Element::f32, {n}),
                        x = k.input("x", codegen::Element::f32, {n});
  k.computes(y, [&](const auto& c) { return k(x, {c[0]}) * 3.0; });
  const Sym w = k.workgroups(0, n, 64);
  const Layout tv = codegen::line_tv(64, 1, 64);
  k.store(k.map({k.load(k.tile(x, {64}, {w}), tv, 1)}, [](const auto& e) { return e[0] * 3.0; }),
          k.tile(y, {64}, {w}), 1);
  const kernels::Artifact a = kernels::build(std::move(k));
  CHECK(validate(a, a.hsaco).verdict == MachineVerdict::validated);
  const auto scaled = patched(a, "v_mul_f32", 0, [](auto& c) { // 3 x 2^61
    REQUIRE(c.size() == 8);
    const std::uint32_t word = 0x40400000U + (61U << 23);
    std::memcpy(c.data() + 4, &word, 4);
  });
  CHECK(validate(a, scaled).verdict != MachineVerdict::validated);
}

TEST_CASE("a choice of constants that is compared again is its condition, and no other one") {
  const auto built = [](const char* type, const char* arch, bool small) {
    kernels::Flags flags = {{"dtype", type}, {"arch", arch}};
    if (small)
      flags.merge(kernels::Flags{{"experts", "32"}, {"groups", "4"}, {"topk-group", "2"}, {"k", "2"}});
    return kernels::find_kernel("grouped_gating")->build(flags, {});
  };
  const auto other = [](const kernels::Artifact& a, const char* begins, std::size_t which,
                        const auto& change) {
    INFO(begins << " number " << which);
    CHECK(validate(a, patched(a, begins, which, change)).verdict != MachineVerdict::validated);
  };
  for (const auto& [type, arch] : {std::pair{"f16", "gfx942"}, {"bf16", "gfx950"}}) {
    const kernels::Artifact a = built(type, arch, true);
    const CodeReport r = validate(a, a.hsaco, true);
    INFO(type << " " << arch << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
    // Of the last group that was chosen: its value less, at least this one's, its place after this one's. Of other relations.
    for (const int bits : {1, 2, 4, 8, 15}) {
      const auto flip = static_cast<std::uint8_t>(bits);
      other(a, "v_cmp_nle_f32_e32", 0, [&](auto& c) { c[2] ^= static_cast<std::uint8_t>(flip << 1); });
      for (const std::size_t which : {0U, 1U})
        other(a, "v_cmp_ge_f32_e64", which, [&](auto& c) { c[2] ^= flip; });
    }
  }
  const kernels::Artifact a = built("f16", "gfx942", false); // a group's number is a byte
  CHECK(validate(a, a.hsaco).verdict == MachineVerdict::validated);
  other(a, "v_cvt_f32_ubyte0", 0, [](auto& c) { c[1] ^= 2; }); // another byte: 0 in each lane
  other(a, "v_cvt_f32_ubyte0", 0, [](auto& c) { c[0] ^= 1; });
}

TEST_CASE("signs by their bits: the largest of absolute values of bf16, what is subtracted in f32") {
  const kernels::Artifact most =
      kernels::find_kernel("row_reduce")
          ->build({{"op", "absmax"}, {"dtype", "bf16"}, {"threads", "64"}, {"vectors", "1"}}, {});
  const kernels::Artifact map =
      kernels::find_kernel("map")->build({{"dtype", "f32"}, {"expr", "y = -x"}}, {});
  for (const kernels::Artifact* a : {&most, &map}) {
    const CodeReport r = validate(*a, a->hsaco, true);
    INFO(a->kernel << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
  }
}

TEST_CASE("rows that a table names, below a bound that is a size: atomics of scatter_add") {
  const kernels::Artifact a = kernels::find_kernel("scatter_add")->build({{"threads", "64"}}, {});
  const CodeReport r = validate(a, a.hsaco, true);
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::validated);
  CHECK(r.steps < 1'000'000); // no question to the prover for each work-item
  // The bound of an id, and one row further on.
  CHECK(validate(a, patched(a, "v_cmp_gt_u32", 0, [](auto& c) { c[2] ^= 4; })).verdict !=
        MachineVerdict::validated);
  CHECK(validate(a, patched(a, "buffer_atomic_add_f32", 0, [](auto& c) { c[0] ^= 4; })).verdict !=
        MachineVerdict::validated);
}

TEST_CASE("rows that are put where a table says: a number of the workgroup, and its bound") {
  for (const char* name : {"scatter_rows", "kv_write"}) {
    const kernels::Artifact a = kernels::find_kernel(name)->build({{"threads", "64"}}, {});
    const CodeReport r = validate(a, a.hsaco, true);
    INFO(name << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
    CHECK(r.steps < 4'000'000);
    // Another element, and another row.
    CHECK(validate(a, patched(a, "buffer_store_dwordx4", 0, [](auto& c) { c[0] ^= 4; })).verdict ==
          MachineVerdict::refuted);
  }
}

TEST_CASE("a number from memory that bounds something counts as 0 where it is negative") {
  const kernels::Artifact a = kernels::find_kernel("mla_reduce")->build({}, {});
  const CodeReport r = validate(a, a.hsaco, true);
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::validated);
  // SOP2 has its operation in bits 23 to 29 and src1 in bits 8 to 15.
  const auto changed = [&](unsigned byte, std::uint8_t bits) {
    return validate(a, patched(a, "s_max_i32", 0, [&](auto& c) { c[byte] ^= bits; }), true);
  };
  for (const auto& [byte, bits, what] : {std::tuple{2U, std::uint8_t{0x80}, "s_max_u32: the number as it is"},
                                         std::tuple{1U, std::uint8_t{1}, "the larger of it and 1"},
                                         std::tuple{3U, std::uint8_t{7}, "the lesser of it and 0"}}) {
    const CodeReport other = changed(byte, bits);
    INFO(what << ": " << text_of(other));
    CHECK(other.verdict != MachineVerdict::validated);
    if (byte != 2) continue; // what the table holds is said
    REQUIRE(other.refuted.size() == 1);
    const auto& numbers = other.refuted[0].sizes;
    CHECK(std::any_of(numbers.begin(), numbers.end(),
                      [](const auto& n) { return n.first == "lengths[wg_x]" && n.second < 0; }));
  }
}

TEST_CASE("forms whose machine code was once not followed, or refuted though right") {
  for (const auto& [name, flags] : std::vector<std::pair<const char*, kernels::Flags>>{
           {"moe_stage1", {{"dtype", "fp8"}, {"scales", "block"}}}, // loads of an earlier trip
           {"weight_only_gemm",                                     // registers with one half written
            {{"dtype", "f16"}, {"weights", "i4"}, {"tile-m", "64"}, {"tile-n", "64"}, {"group", "32"}}},
           {"gated_delta_state", {{"dtype", "f16"}, {"chunks", "4"}}}}) { // sums near the largest f16
    const kernels::Artifact a = kernels::find_kernel(name)->build(flags, {});
    const CodeReport r = validate(a, a.hsaco, true);
    INFO(name << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
  }
}

TEST_CASE("numbers that are too small for a float to keep refute nothing, and hide nothing beside them") {
  // exp2(x - 130) and what is made of it: v_exp_f32 gives 0 below 2^-126, real numbers do not.
  using codegen::Expr;
  using codegen::Program;
  const auto built = [](codegen::Element format, const std::function<Expr(Expr)>& of) {
    Program k("tiny", codegen::Target::named("gfx942"), 64);
    const Sym n = k.size("n");
    const codegen::Tensor y = k.output("y", format, {n}), x = k.input("x", codegen::Element::f32, {n});
    k.computes(y, [&](const auto& c) { return of(k(x, {c[0]})); });
    const Sym b = k.workgroups(0, n, 64);
    const Layout tv = codegen::line_tv(64, 1, 64);
    k.store(k.map({k.load(k.tile(x, {64}, {b}), tv, 1)}, [&](const auto& a) { return of(a[0]); }),
            k.tile(y, {64}, {b}), 1);
    return kernels::build(std::move(k));
  };
  const auto tiny = [](Expr e) { return exp2(e - 130.0); };
  const std::vector<std::function<Expr(Expr)>> all{
      tiny,
      [&](Expr e) { return tiny(e) * 0x1p100; },
      [&](Expr e) { return log2(tiny(e)); },
      [&](Expr e) { return sqrt(tiny(e)); },
      [](Expr e) { return e * 0x1p-70 * 0x1p-62; },
      [](Expr e) { return e * 0x1p-130 * 0x1p20; },
      [](Expr e) { return exp2(e * -1.0) / (exp2(e) * 0x1p127) * 0x1p10; }};
  for (const codegen::Element format : {codegen::Element::f32, codegen::Element::bf16})
    for (std::size_t which = 0; which < all.size(); ++which) {
      const kernels::Artifact a = built(format, all[which]);
      const CodeReport r = validate(a, a.hsaco, true);
      INFO(which << " " << to_string(format) << ": " << text_of(r));
      CHECK(r.verdict != MachineVerdict::refuted);
    }
  // What is not small is still compared.
  const kernels::Artifact a = built(codegen::Element::f32, [&](Expr e) { return tiny(e) + e; });
  CHECK(validate(a, a.hsaco, true).verdict != MachineVerdict::refuted);
  const CodeReport r =
      validate(a, patched(a, "v_add_f32", 1, [](auto& c) { c[3] ^= 0x06; }), true); // subtracts
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::refuted);
}

TEST_CASE("weights with scales: a NaN that is another NaN, bytes of fp8") {
  const auto built = [](kernels::Flags flags) {
    return kernels::find_kernel("weight_only_gemm")->build(flags, {});
  };
  const kernels::Artifact i8 = built({{"tile-m", "64"}, {"tile-n", "64"}}),
                          fp8 = built({{"weights", "fp8"}, {"tile-m", "64"}, {"tile-n", "64"}}),
                          ocp = built(
                              {{"weights", "fp8"}, {"tile-m", "64"}, {"tile-n", "64"}, {"arch", "gfx950"}});
  for (const auto* a : {&i8, &fp8, &ocp}) {
    const CodeReport r = validate(*a, a->hsaco, true); // by numbers as well as by symbols
    INFO(text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
  }
  const auto changed = [&](const kernels::Artifact& a, const char* text, std::size_t which,
                           const auto& change, bool numbers_first = false) {
    const CodeReport r = validate(a, patched(a, text, which, change), numbers_first);
    INFO(text << ": " << text_of(r));
    CHECK(r.verdict != MachineVerdict::validated);
    return r.verdict;
  };
  changed(i8, "v_cmp_o_f32_e32", 0, [](auto& c) { c[2] ^= 0x1e; });            // a NaN where it is a number
  changed(i8, "v_cmp_o_f32_e32", 1, [](auto& c) { c[0] ^= 1; });               // another number's
  changed(i8, "v_mov_b32_e32...0x7fc00000", 0, [](auto& c) { c[6] ^= 0x40; }); // an infinity
  // The other half, the other half without it, the bytes of another word.
  for (const auto* a : {&fp8, &ocp}) {
    CHECK(changed(
              *a, "v_cvt_pk_f32_fp8_sdwa...WORD_1", 0, [](auto& c) { c[6] ^= 1; }, true) ==
          MachineVerdict::refuted);
    CHECK(changed(
              *a, "v_cvt_pk_f32_fp8_e32", 0, [](auto& c) { c[0] ^= 1; }, true) == MachineVerdict::refuted);
  }
}

TEST_CASE("a kernel without a loop whose stores have two versions") {
  const kernels::Artifact a = kernels::find_kernel("vector_add")->build({}, {});
  const CodeReport r = validate(a, a.hsaco, true);
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::validated);
}

TEST_CASE("fp4 products with scales: halves of bytes, which byte scales, and of which lane") {
  const auto built = [](const char* kernel, kernels::Flags flags) {
    flags["arch"] = "gfx950", flags["dtype"] = "fp4";
    return kernels::find_kernel(kernel)->build(flags, {});
  };
  const kernels::Artifact gemm = built("gemm", {{"tile", "32x32x256"}, {"waves", "1x1"}}),
                          shuffled = built("preshuffle_gemm", {});
  for (const kernels::Artifact* a : {&gemm, &shuffled}) {
    const CodeReport r = validate(*a, a->hsaco, a == &gemm); // numbers, too
    INFO(a->kernel << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
    CHECK(r.loops == 1);
  }
  const auto refuted = [&](const char* begins, std::size_t which, const auto& change) {
    const kernels::Bytes bytes = patched(gemm, begins, which, change);
    const CodeReport numbers = validate(gemm, bytes, true);
    INFO(begins << ": " << text_of(numbers));
    CHECK(numbers.verdict == MachineVerdict::refuted);
  };
  const auto scale_of_a = [](auto& c) { c[1] ^= 0x08; }; // the byte of A's scale
  CHECK(validate(gemm, patched(gemm, "v_mfma_scale", 3, scale_of_a)).verdict != MachineVerdict::validated);
  refuted("v_mfma_scale", 3, scale_of_a);
  refuted("v_mfma_scale", 3, [](auto& c) { c[1] ^= 0x10; }); // of B's
  refuted("v_mfma_scale", 1, [](auto& c) { c[7] ^= 0x10; }); // its high bit
  refuted("v_mfma_scale", 2, [](auto& c) { c[4] ^= 1; });    // another scale's register
  refuted("v_mfma_scale", 2, [](auto& c) { c[12] ^= 4; });   // another operand
  refuted("buffer_load_dwordx4", 1, [](auto& c) { c[0] ^= 0x10; });
  refuted("buffer_load_dword v", 0, [](auto& c) { c[0] ^= 1; }); // scales from the byte after
}

TEST_CASE("a register that is not reserved is refuted where a wave comes to it") {
  kernels::RowSpec row;
  row.threads = 128, row.vectors = 1;
  const kernels::Artifact a = kernels::build_softmax(row);
  const CodeReport r =
      validate(a, patched(a, "v_lshlrev_b32", 0, [](auto& c) { c[2] |= 0xf0, c[3] |= 0x01; }), true);
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::refuted);
  REQUIRE_FALSE(r.refuted.empty());
  CHECK_THAT(r.refuted[0].message, Contains("not reserved"));
}

TEST_CASE("loads to LDS are followed, and their places are m0's") {
  const kernels::Artifact a = kernels::find_kernel("gemm")->build(
      {{"arch", "gfx950"}, {"transfer", "yes"}, {"tile", "64x64x64"}}, {});
  const CodeReport r = validate(a, a.hsaco);
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::validated);
  // Another place in LDS, and half of what is moved.
  CHECK(validate(a, patched(a, "s_add_u32 m0", 1, [](auto& c) { c[5] ^= 0x20; }), true).verdict ==
        MachineVerdict::refuted);
  CHECK(validate(a, patched(a, "buffer_load_dwordx4", 1, [](auto& c) { c[1] ^= 0x04; }), true).verdict !=
        MachineVerdict::validated);
}

TEST_CASE("an LDS access beyond the workgroup's LDS is none of a view's") {
  // Each in turn, by symbols and by numbers. Hardware drops such a write and reads what is nobody's; where the kernel
  // overwrites, masks or never uses it, nothing else would tell.
  kernels::RowSpec row;
  row.threads = 128, row.vectors = 1;
  kernels::Flags transfer{{"arch", "gfx950"}, {"transfer", "yes"}, {"tile", "64x64x64"}};
  const auto attention =
      kernels::find_kernel("flash_attention")
          ->build({{"waves", "1"}, {"tile-q", "16"}, {"tile-k", "32"}, {"head-dim", "64"}}, {});
  for (const kernels::Artifact& a : {kernels::build_softmax(row), kernels::build_gemm(small_gemm()),
                                     attention, kernels::find_kernel("gemm")->build(transfer, {})}) {
    const auto object = object_of(a.hsaco);
    const auto& section = object.sections()[object.kernel(a.kernel).section];
    const auto program =
        runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
    std::size_t tried = 0, before[2] = {0, 0}; // reads and writes
    for (const auto& i : program.instructions) {
      if (!i.mnemonic.starts_with("ds_read") && !i.mnemonic.starts_with("ds_write")) continue;
      // The upper half of the offset, or the second of two offsets: more than any of these kernels has.
      const std::size_t which = before[i.mnemonic.starts_with("ds_read") ? 0 : 1]++;
      if (which % 7 != 0) continue;
      ++tried;
      const kernels::Bytes bytes =
          patched(a, std::string(i.mnemonic.substr(0, 7)), which, [](auto& c) { c[1] = 0xff; });
      const CodeReport numbers = validate(a, bytes, true);
      INFO(a.kernel << " " << i.text << ": " << text_of(numbers));
      CHECK(numbers.verdict == MachineVerdict::refuted);
      CHECK(validate(a, bytes).verdict != MachineVerdict::validated);
    }
    CHECK(tried > 1);
  }
}

TEST_CASE("accumulators that products of zeros empty are empty, and not those of another number") {
  const kernels::Artifact a =
      kernels::find_kernel("gemm")->build({{"arch", "gfx942"}, {"tile", "128x128x32"}, {"waves", "1x1"}}, {});
  const CodeReport r = validate(a, a.hsaco);
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::validated);
  // 1 in the place of 0: an accumulator, a source of the products, what a product adds.
  const auto one = [](auto& c) { c[4] = 0xf2; }; // 1.0
  CHECK(validate(a, patched(a, "v_accvgpr_write_b32 a5", 0, one), true).verdict == MachineVerdict::refuted);
  CHECK(validate(a, patched(a, "v_accvgpr_write_b32 a0", 0, one), true).verdict == MachineVerdict::refuted);
  CHECK(validate(a, patched(a, "v_mfma_f32_32x32x4_2b_f16", 3, [](auto& c) { c[6] ^= 4; }), true).verdict !=
        MachineVerdict::validated);
}

TEST_CASE("sums by atomics are followed: how often, by which addition, and of what") {
  const kernels::Artifact a = kernels::find_kernel("gemm")->build(
      {{"tile", "32x32x64"}, {"waves", "1x1"}, {"out", "f32"}, {"split", "256"}}, {});
  const CodeReport r = validate(a, a.hsaco, true);
  INFO(text_of(r));
  CHECK(r.verdict == MachineVerdict::validated);
  const auto opcode = [](std::vector<std::uint8_t>& c, unsigned op) {
    c[2] = static_cast<std::uint8_t>((c[2] & 3U) | ((op & 0x3fU) << 2));
    c[3] = static_cast<std::uint8_t>((c[3] & 0xfeU) | (op >> 6));
  };
  // A store in the place of an addition, an addition of integers, one that returns what was there.
  CHECK(validate(a, patched(a, "buffer_atomic_add_f32", 3, [&](auto& c) { opcode(c, 28); }), true).verdict ==
        MachineVerdict::refuted);
  CHECK(validate(a, patched(a, "buffer_atomic_add_f32", 3, [&](auto& c) { opcode(c, 66); }), true).verdict ==
        MachineVerdict::refuted);
  CHECK(validate(a, patched(a, "buffer_atomic_add_f32", 3, [&](auto& c) { c[1] ^= 0x40; }), true).verdict !=
        MachineVerdict::validated);
  // Another number is added, and one elsewhere.
  CHECK(validate(a, patched(a, "buffer_atomic_add_f32", 2, [&](auto& c) { c[5] ^= 1; }), true).verdict ==
        MachineVerdict::refuted);
  CHECK(validate(a, patched(a, "buffer_atomic_add_f32", 5, [&](auto& c) { c[0] ^= 4; }), true).verdict ==
        MachineVerdict::refuted);
  // The code adds twice what the machine code adds once, and stores what it adds; and the other way around.
  const auto object = object_of(a.hsaco);
  const auto against = [&](const auto& change) {
    codegen::Code other = a.source->code;
    for (auto& region : other.regions)
      for (std::size_t k = 0; k < region.body.size(); ++k)
        if (region.body[k].kind == codegen::InstKind::store) {
          change(region.body, k);
          break;
        }
    for (const bool first : {false, true}) {
      CodeOptions o;
      o.first_runs = first ? o.refuter_runs : 0;
      const CodeReport got = validate_code(object, object.kernel(a.kernel), other, o);
      INFO(text_of(got));
      CHECK(got.verdict == MachineVerdict::refuted);
    }
  };
  against(
      [](auto& body, std::size_t k) { body.insert(body.begin() + static_cast<std::ptrdiff_t>(k), body[k]); });
  against([](auto& body, std::size_t k) { body[k].combine.reset(); });
}

TEST_CASE("sums by atomics of pairs: of f16 and of bf16, by token of a table too") {
  const auto opcode = [](unsigned op) {
    return [op](std::vector<std::uint8_t>& c) {
      c[2] = static_cast<std::uint8_t>((c[2] & 3U) | ((op & 0x3fU) << 2));
      c[3] = static_cast<std::uint8_t>((c[3] & 0xfeU) | (op >> 6));
    };
  };
  constexpr unsigned add_f32 = 77, add_f16 = 78, add_bf16 = 82;
  for (const bool gather : {false, true}) {
    const bool f16 = !gather;
    const kernels::Artifact a =
        gather ? kernels::find_kernel("moe_stage2")->build({{"arch", "gfx950"}, {"out", "bf16"}}, {})
               : kernels::find_kernel("gemm")->build({{"arch", "gfx950"},
                                                      {"tile", "32x32x64"},
                                                      {"waves", "1x1"},
                                                      {"out", "f16"},
                                                      {"split", "256"}},
                                                     {});
    const std::string name = f16 ? "buffer_atomic_pk_add_f16" : "buffer_atomic_pk_add_bf16";
    const CodeReport r = validate(a, a.hsaco, true);
    INFO(a.kernel << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
    CHECK(validate(a, patched(a, name, 3, opcode(f16 ? add_bf16 : add_f16)), true).verdict ==
          MachineVerdict::refuted);
    CHECK(validate(a, patched(a, name, 3, opcode(add_f32)), true).verdict == MachineVerdict::refuted);
    CHECK(validate(a, patched(a, name, 2, [](auto& c) { c[5] ^= 1; }), true).verdict == // another pair
          MachineVerdict::refuted);
    CHECK(validate(a, patched(a, name, 2, [](auto& c) { c[0] ^= 4; }), true).verdict == // elsewhere
          MachineVerdict::refuted);
  }
}

namespace {

// More arguments than are in registers when a wave begins: the last one is loaded.
kernels::Artifact more_arguments() {
  return kernels::find_kernel("gemm")->build(
      {{"tile", "32x32x64"}, {"waves", "1x1"}, {"dtype", "i8"}, {"scales", "yes"}, {"bias", "yes"}},
      {.loops = "ir"});
}

} // namespace

TEST_CASE("scalar loads: arguments read through a buffer whose end nothing says are not validated") {
  const kernels::Artifact a = more_arguments();
  REQUIRE(validate(a, a.hsaco).verdict == MachineVerdict::validated);
  const auto buffer = [](auto& c) { c[2] ^= 0x20U; }; // s_load_dwordx2 becomes s_buffer_load_dwordx2
  // The third one: two are for firmware that does not preload.
  CHECK(validate(a, patched(a, "s_load_dwordx2 ", 2, buffer)).verdict != MachineVerdict::validated);
}

TEST_CASE("branches: a path of the machine that begins one row later is refuted") {
  for (const char* name : {"moe_stage1", "moe_stage2"}) {
    const kernels::Artifact a = kernels::find_kernel(name)->build({{"arch", "gfx950"}}, {});
    constexpr unsigned greater = 8; // s_cmp_gt_u32, in the place of s_cmp_ge_u32
    const auto later = patched(a, "s_cmp_ge_u32", 0,
                               [](auto& c) { c[2] = static_cast<std::uint8_t>((c[2] & 0x80U) | greater); });
    const CodeReport r = validate(a, later);
    INFO(name << ": " << text_of(r));
    CHECK(r.verdict != MachineVerdict::validated);
    CHECK(r.order == runtime::symbolic::Verdict::validated);
  }
}

TEST_CASE("orders of tiles: the numbers of the tile are quotients") {
  for (const char* order : {"xcd", "xcd+rows:8", "columns:3"}) {
    const kernels::Artifact a = kernels::find_kernel("gemm")->build(
        {{"tile", "32x32x64"}, {"waves", "1x1"}, {"tile-order", order}}, {});
    const CodeReport r = validate(a, a.hsaco, true);
    INFO(order << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::validated);
    // The code of one order is not that of another one.
    const kernels::Artifact other = kernels::find_kernel("gemm")->build(
        {{"tile", "32x32x64"}, {"waves", "1x1"}, {"tile-order", "rows:4"}}, {});
    CHECK(validate(other, a.hsaco, true).verdict == MachineVerdict::refuted);
    CHECK(validate(a, other.hsaco).verdict == MachineVerdict::refuted);
  }
  const kernels::Artifact a = kernels::find_kernel("gemm")->build(
      {{"tile", "32x32x64"}, {"waves", "1x1"}, {"tile-order", "xcd+rows:8"}}, {});
  const auto damaged = [&](const char* begins, std::size_t which, const auto& change) {
    const CodeReport r = validate(a, patched(a, begins, which, change), true);
    INFO(begins << ": " << text_of(r));
    return r.verdict;
  };
  CHECK(damaged("s_min_i32", 0, [](auto& c) { c[0] ^= 1; }) ==
        MachineVerdict::refuted); // rows of the last strip
  CHECK(damaged("s_cselect_b32", 1, [](auto& c) { c[0] ^= 1; }) != MachineVerdict::validated);
  CHECK(damaged("s_cmp_ge_u32", 2, [](auto& c) { c[1] ^= 1; }) != MachineVerdict::validated);
  CHECK(damaged("v_rcp_iflag_f32", 0, [](auto& c) { c[1] ^= 1; }) != MachineVerdict::validated);
  CHECK(damaged("v_mul_f32", 1, [](auto& c) { c[4] ^= 4; }) != MachineVerdict::validated); // the scale
}

TEST_CASE("code that is another one from the eleventh trip on is not validated") {
  const kernels::Artifact a = kernels::build_gemm(small_gemm());
  codegen::Code other = a.source->code;
  bool changed = false;
  for (auto& region : other.regions)
    for (auto& i : region.body)
      if (region.is_loop && i.kind == codegen::InstKind::load && !changed) {
        // The origin along k stands still from trip 10 on.
        const std::pair<AtomId, Sym> still[] = {{*region.trip.as_atom(), min(region.trip, Sym(10))}};
        for (Sym& o : i.access.origin) o = substitute(o, still);
        changed = true;
      }
  REQUIRE(changed);
  const auto object = object_of(a.hsaco);
  const CodeReport r = validate_code(object, object.kernel(a.kernel), other);
  INFO(text_of(r));
  CHECK(r.verdict != MachineVerdict::validated);
}

TEST_CASE("after the loop: a load of the trip that there is not is not validated, one that was made is "
          "loaded twice") {
  const auto a =
      kernels::find_kernel("gemm")->build({{"arch", "gfx942"}, {"tile", "64x64x64"}}, {.loops = "ir"});
  // The loop's last load of A before its branch back, into a register that nobody reads.
  std::string text = a.assembly;
  const std::size_t back = text.find("\ts_cbranch_scc1 .LBB0_2\n");
  REQUIRE(back != std::string::npos);
  REQUIRE(text.find(".LBB0_2:") < back);
  const std::size_t load = text.rfind("\tbuffer_load_dwordx4 ", back);
  REQUIRE(load != std::string::npos);
  const std::string line = text.substr(load, text.find('\n', load) - load);
  const std::string operands =
      line.substr(line.find("],") + 2); // address, descriptor, offset of the next trip
  for (const char* count : {".amdhsa_next_free_vgpr ", ".amdhsa_accum_offset "}) {
    const std::size_t at = text.find(count) + std::strlen(count);
    text.replace(at, text.find('\n', at) - at, "240");
  }
  const auto with = [&](const std::string& where) {
    std::string more = text;
    more.insert(more.find('\n', more.find(where)) + 1,
                "\tbuffer_load_dword v200," + operands + "\n\ts_waitcnt vmcnt(0)\n");
    const auto bytes = runtime::isa::assemble_code_object(more, runtime::isa::Arch::gfx942);
    const auto object = runtime::CodeObject::parse(bytes);
    return validate_code(object, object.kernel(a.kernel), a.source->code);
  };
  const CodeReport twice = with(line); // beside the load itself
  INFO(text_of(twice));
  CHECK(twice.verdict == MachineVerdict::validated);
  const CodeReport beyond = with("\ts_cbranch_scc1 .LBB0_2");
  INFO(text_of(beyond));
  CHECK(beyond.verdict != MachineVerdict::validated);
  CHECK_THAT(text_of(beyond), Contains("loads what the code loads in a later trip only"));
}

TEST_CASE("code whose waves may stop at an exception is not validated") {
  const kernels::Artifact a = kernels::find_kernel("vector_add")->build({}, {});
  std::string text = a.assembly;
  const std::string none = ".amdhsa_exception_fp_ieee_inexact 0";
  REQUIRE(text.find(none) != std::string::npos);
  text.replace(text.find(none) + none.size() - 1, 1, "1");
  const auto bytes = runtime::isa::assemble_code_object(text, runtime::isa::Arch::gfx942);
  const auto object = runtime::CodeObject::parse(bytes);
  CHECK_THAT(text_of(validate_code(object, object.kernel(a.kernel), a.source->code)),
             Contains(".amdhsa_exception_"));
}

TEST_CASE("an element that two waves store holds what both do or is not validated") {
  const kernels::Artifact a = kernels::find_kernel("vector_add")->build({}, {});
  // Stores `what` to the element that lies `offset` further on where work-items are below `below`, before the kernel's own store.
  const auto with = [&](const std::string& what, const std::string& offset, const std::string& below) {
    std::string text = a.assembly;
    const std::string address = "\tv_lshlrev_b32_e32 v4, 4, v0\n",
                      store = "\tbuffer_store_dwordx4 v[0:3], v4, s[0:3], 0 offen\n",
                      extra = "\tbuffer_store_dwordx4 " + what + ", v15, s[0:3], 0 offen\n";
    text.insert(text.find(address) + address.size(),
                "\tv_" + offset + "\n\tv_mov_b32_e32 v14, 0x80000000\n\tv_cmp_gt_u32_e32 vcc, " + below +
                    ", v0\n\ts_nop 3\n\tv_cndmask_b32_e32 v15, v14, v15, vcc\n");
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(store, at)) != std::string::npos; ++found) {
      text.insert(at, extra);
      at += extra.size() + store.size();
    }
    REQUIRE(found != 0);
    return validate_assembly(a, std::move(text));
  };
  // The next wave's elements: that wave runs later here, on hardware perhaps before.
  const CodeReport next = with("v[10:13]", "add_u32_e32 v15, 0x400, v4", "0xc0");
  INFO(text_of(next));
  CHECK(next.verdict == MachineVerdict::undecided);
  CHECK_THAT(text_of(next), Contains("nothing says which is later"));
  // The same wave's own, which it stores again after that.
  CHECK(with("v[10:13]", "mov_b32_e32 v15, v4", "0x100").verdict == MachineVerdict::validated);
  CHECK(with("v[10:13]", "xor_b32_e32 v15, 16, v4", "0x100").verdict == MachineVerdict::validated);
  // Two lanes of one instruction, of which each stores its own value to the first one's elements.
  const CodeReport lanes = with("v[0:3]", "and_b32_e32 v15, 0xffffffef, v4", "0x100");
  CHECK_THAT(text_of(lanes), Contains("nothing says which is later"));
}

TEST_CASE("code that loads what it has stored itself is not validated") {
  const kernels::Artifact a = kernels::find_kernel("map")->build({{"expr", "a = a * 2 + b"},
                                                                  {"operands", "a:f32,b:f32"},
                                                                  {"dtype", "f32"},
                                                                  {"vector", "1"},
                                                                  {"vectors", "1"},
                                                                  {"threads", "128"}},
                                                                 {});
  const auto line = [&](const char* text) {
    const std::size_t at = a.assembly.find(text);
    REQUIRE(at != std::string::npos);
    return a.assembly.substr(at, a.assembly.find('\n', at) + 1 - at);
  };
  const std::string store = line("\tbuffer_store_dword v"), to = store.substr(store.find(',') + 1);
  const std::string of_a = to.substr(to.find("s["), to.find(']') + 1 - to.find("s["));
  std::string load;
  for (std::size_t at = 0; (at = a.assembly.find("\tbuffer_load_dword v", at)) != std::string::npos; ++at)
    if (const std::string l = a.assembly.substr(at, a.assembly.find('\n', at) + 1 - at);
        l.find(of_a) != std::string::npos)
      load = l;
  REQUIRE_FALSE(load.empty());
  const auto with = [&](const std::string& of, const std::string& other, unsigned runs) {
    std::string text = a.assembly;
    text.replace(text.find(of), of.size(), other);
    CodeOptions options;
    options.refuter_runs = runs;
    return validate_assembly(a, std::move(text), options);
  };
  const std::string wait = "\ts_waitcnt vmcnt(0)\n";
  // Without numbers the symbols say so alone.
  for (const unsigned runs : {0U, 40U}) {
    CHECK(with(store, store, runs).verdict == MachineVerdict::validated);
    CHECK(with(load, "\tbuffer_store_dword v0," + to + load, runs).verdict != MachineVerdict::validated);
    const CodeReport again = with(store, store + wait + load + wait + store, runs);
    INFO(text_of(again));
    CHECK(again.verdict != MachineVerdict::validated);
    if (runs == 0) CHECK_THAT(text_of(again), Contains("loads a where it may have been stored to before"));
  }
  // Another wave's element, which that wave has stored by then or has not.
  // The second wave loads what the first has stored, or the first what the second will store.
  for (const auto& [by, said] :
       {std::pair("v_and_b32_e32 v9, 0xfffffeff", "loads a where it may have been stored to"),
        std::pair("v_or_b32_e32 v9, 256", "stores to a what another wave loads")}) {
    const std::string foreign =
        std::string("\t") + by + ", v0\n\tbuffer_load_dword v9, v9, " + of_a + ", 0 offen\n";
    CHECK_THAT(text_of(with(load, foreign + load, 0)), Contains(said));
  }
}

TEST_CASE("a conversion to a format of which the code has nothing is not validated") {
  const kernels::Artifact a = kernels::find_kernel("map")->build({{"expr", "y = a + b"},
                                                                  {"operands", "a:f32,b:f32,y:f32"},
                                                                  {"dtype", "f32"},
                                                                  {"vector", "1"},
                                                                  {"vectors", "1"},
                                                                  {"threads", "64"}},
                                                                 {});
  const auto with = [&](const std::function<std::string(const std::string&)>& before) {
    std::string text = a.assembly;
    const std::size_t at = text.find("\tbuffer_store_dword v");
    REQUIRE(at != std::string::npos);
    const std::size_t name = at + std::strlen("\tbuffer_store_dword ");
    text.insert(at, before(text.substr(name, text.find(',', name) - name)));
    const auto bytes = runtime::isa::assemble_code_object(text, runtime::isa::Arch::gfx942);
    const auto object = runtime::CodeObject::parse(bytes);
    return validate_code(object, object.kernel(a.kernel), a.source->code);
  };
  CHECK(with([](const std::string&) { return ""; }).verdict == MachineVerdict::validated);
  const CodeReport f16 = with([](const std::string& v) {
    return "\tv_cvt_f16_f32_e32 " + v + ", " + v + "\n\tv_cvt_f32_f16_e32 " + v + ", " + v + "\n";
  });
  INFO(text_of(f16));
  CHECK(f16.verdict == MachineVerdict::undecided);
  CHECK_THAT(text_of(f16), Contains("convert to f16, of which the code has nothing"));
  const CodeReport bf16 =
      with([](const std::string& v) { return "\tv_and_b32_e32 " + v + ", 0xffff0000, " + v + "\n"; });
  INFO(text_of(bf16));
  CHECK(bf16.verdict == MachineVerdict::undecided);
  CHECK_THAT(text_of(bf16), Contains("convert to bf16, of which the code has nothing"));
}

TEST_CASE("a number that is rounded otherwise than to nearest even is not validated") {
  const auto build = [](const std::string& expr, const std::string& operands) {
    return kernels::find_kernel("map")->build({{"expr", expr},
                                               {"operands", operands},
                                               {"dtype", "f32"},
                                               {"vector", "1"},
                                               {"vectors", "1"},
                                               {"threads", "64"}},
                                              {});
  };
  const auto verdict = [](const kernels::Artifact& a, const std::string& text) {
    const auto bytes = runtime::isa::assemble_code_object(text, runtime::isa::Arch::gfx942);
    const auto object = runtime::CodeObject::parse(bytes);
    return validate_code(object, object.kernel(a.kernel), a.source->code);
  };
  // The instruction of that name with another one in its place, made of its operands.
  const auto changed = [&](const kernels::Artifact& a, const std::string& name,
                           const std::function<std::string(const std::vector<std::string>&)>& other) {
    CHECK(verdict(a, a.assembly).verdict == MachineVerdict::validated);
    std::string text = a.assembly;
    const std::size_t line = text.find("\t" + name + " ");
    REQUIRE(line != std::string::npos);
    const std::size_t end = text.find('\n', line);
    std::vector<std::string> operands(1);
    for (const char c : text.substr(line + name.size() + 2, end - line - name.size() - 2))
      if (c == ',')
        operands.emplace_back();
      else if (c != ' ')
        operands.back() += c;
    text.replace(line, end - line, "\t" + other(operands));
    const CodeReport r = verdict(a, text);
    INFO(text_of(r));
    CHECK(r.verdict == MachineVerdict::undecided);
    return text_of(r);
  };
  const kernels::Artifact sum = build("y = a + b", "a:f32,b:f32,y:bf16"),
                          copy = build("y = a", "a:f32,y:bf16"),
                          half = build("y = a + b", "a:f32,b:f32,y:f16");
  // The choice between what is rounded and a NaN goes, so that the upper half of the number itself is stored: of a sum, and of what was
  // loaded.
  for (const kernels::Artifact* a : {&sum, &copy})
    CHECK_THAT(changed(*a, "v_cndmask_b32_e32", [](const auto&) { return "s_nop 0"; }),
               Contains("cut off, and not rounded"));
  // A tie to the larger one.
  changed(sum, "v_add3_u32", [](const auto& v) { return "v_add_u32_e32 " + v[0] + ", 0x8000, " + v[2]; });
  changed(half, "v_cvt_f16_f32_e32",
          [](const auto& v) { return "v_cvt_pkrtz_f16_f32 " + v[0] + ", " + v[1] + ", 0"; });
}

TEST_CASE("another kernel's machine code, or another schedule's guard, is not validated") {
  const kernels::Artifact a = kernels::build_gemm(small_gemm());
  kernels::GemmSpec wide = small_gemm();
  wide.tile_n = 64;
  const kernels::Artifact b = kernels::build_gemm(wide);
  CHECK(validate(a, b.hsaco, true).verdict == MachineVerdict::refuted);
  codegen::Code other = a.source->code;
  for (auto& region : other.regions) // the code does not mask its stores along n
    for (auto& i : region.body)
      if (i.kind == codegen::InstKind::store) i.access.masked[1] = false;
  const auto object = object_of(a.hsaco);
  const CodeReport r = validate_code(object, object.kernel(a.kernel), other);
  INFO(text_of(r));
  CHECK(r.verdict != MachineVerdict::validated);
}

TEST_CASE("numbers follow what has no formula, with sizes at which the formulas differ") {
  const auto built = [](const char* kernel, kernels::Flags flags) {
    return kernels::find_kernel(kernel)->build(flags, {.loops = "ir"});
  };
  const kernels::Artifact gemm =
                              built("gemm",
                                    {{"tile", "64x32x32"}, {"waves", "2x1"}, {"mfma", "32"}, {"out", "f32"}}),
                          bf16 = built("gemm", {{"tile", "32x64x32"}, {"waves", "1x2"}, {"dtype", "bf16"}}),
                          softmax = built("softmax", {{"threads", "128"}, {"vectors", "1"}}),
                          rmsnorm =
                              built("rmsnorm", {{"threads", "128"}, {"vectors", "1"}, {"arch", "gfx950"}});
  const auto refuted = [](const kernels::Artifact& a, const char* text, std::size_t which,
                          const auto& change) {
    const CodeReport r = validate(a, patched(a, text, which, change), true);
    INFO(a.kernel << " " << text << ": " << text_of(r));
    CHECK(r.verdict == MachineVerdict::refuted);
    return r.refuted.empty() ? std::string() : r.refuted[0].message;
  };
  // The address of the arguments in an address: it is a number, too.
  refuted(gemm, "s_mul_hi_u32", 0, [](auto& c) { c[2] = static_cast<std::uint8_t>((c[2] & 0x80U) | 65U); });
  // A bound that is one off shows at one width of the last tile only.
  refuted(
      gemm, "v_add_u32_e32...",
      [&] {
        const auto object = object_of(gemm.hsaco);
        const auto& section = object.sections()[object.kernel(gemm.kernel).section];
        const auto program =
            runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
        std::size_t which = 0;
        for (const auto& i : program.instructions) {
          if (i.text.find(", 26, v") != std::string::npos) break;
          which += i.text.starts_with("v_add_u32_e32") ? 1 : 0;
        }
        return which;
      }(),
      [](auto& c) { c[0] ^= 1; });
  // A register that nobody sets may hold what is inside of the tensor.
  refuted(gemm, "v_cndmask_b32_e32", 4,
          [](auto& c) { c[0] = 0x59, c[1] = static_cast<std::uint8_t>(c[1] | 1U); });
  CHECK_THAT(refuted(gemm, "s_cbranch_scc1", 0,
                     [](auto& c) {
                       c = {0x01, 0x00, 0x8d, 0xbf};
                     }),
             Contains("halts"));
  // A typed store in the place of a load, stores by scalars, a call, an LDS atomic, a scratch load of the arguments.
  CHECK_THAT(refuted(gemm, "buffer_load_dwordx4", 1, [](auto& c) { c[2] ^= 0x40; }),
             Contains("where the code stores nothing"));
  refuted(bf16, "buffer_store_short", 0, [](auto& c) { c[3] ^= 0x20; });
  refuted(rmsnorm, "s_and_saveexec_b64", 0, [](auto& c) { c[3] ^= 4; });
  refuted(rmsnorm, "ds_read_b64", 0, [](auto& c) { c[2] ^= 0x20; });
  // An end before these arguments: what they are then, nobody knows.
  const kernels::Artifact moe = built("moe_stage1", {});
  CHECK(validate(moe, patched(moe, "s_load_dwordx4", 1, [](auto& c) { c[2] ^= 0x20; }), true).verdict !=
        MachineVerdict::validated);
  // An index times a stride of 0, and the offset from the register after it.
  refuted(gemm, "buffer_load_dwordx4", 0, [](auto& c) { c[1] |= 0x20; });
  // The loop's remainder by another register: what only the path tells.
  const kernels::Artifact square = built("gemm", {{"tile", "64x64x64"}});
  refuted(square, "s_cmp_eq_u32 s2, s0", 1, [](auto& c) { c[1] ^= 2; });
  // What a format holds as it is, is not rounded: a factor that is wrong by a thousandth.
  CHECK_THAT(refuted(softmax, "s_mov_b32...0x3fb8aa3b", 0, [](auto& c) { c[5] ^= 0x40; }),
             Contains("the code"));
}

TEST_CASE("states that wait at forks and formulas that grow are bounded: undecided, not out of memory") {
  const kernels::Artifact a = kernels::find_kernel("gemm")->build(
      {{"tile", "64x32x32"}, {"waves", "2x1"}, {"mfma", "32"}, {"out", "f32"}}, {.loops = "ir"});
  const auto object = object_of(a.hsaco);
  const auto with = [&](const runtime::CodeObject& o, std::size_t bytes, bool order) {
    CodeOptions options;
    options.max_bytes = bytes;
    options.order = order;
    options.refuter_runs = 0;
    const CodeReport r = validate_code(o, o.kernel(a.kernel), a.source->code, options);
    INFO(text_of(r));
    CHECK(r.verdict == MachineVerdict::undecided);
    std::string all;
    for (const auto& u : r.undecided) all += u + "\n";
    return all;
  };
  CHECK_THAT(with(object, 1 << 20, false), Contains("MB wait at forks"));
  CHECK_THAT(with(object, 1 << 12, true), Contains("the formulas take more"));
  // The epilogue's last jump (the first of all is that of older firmware) goes 32 instructions further: into the middle of what comes back, where registers grow from trip
  // to trip (5 GB before there was a bound).
  const auto further = object_of(patched(a, "s_branch", 2, [](auto& c) { c[0] ^= 0x20; }));
  const std::string why = with(further, 64 << 20, true);
  CHECK_THAT(why, Contains("order: "));
  CHECK(why.size() < 100'000);
  // Whatever takes the memory: here it is who listens.
  std::vector<char> kept;
  CodeOptions options;
  options.max_bytes = std::size_t{100} << 20;
  CHECK(validate_code(object, object.kernel(a.kernel), a.source->code, options).verdict ==
        MachineVerdict::validated);
  options.progress = [&](std::uint64_t) { kept.resize(std::size_t{500} << 20, 1); };
  const CodeReport r = validate_code(object, object.kernel(a.kernel), a.source->code, options);
  CHECK(r.verdict == MachineVerdict::undecided);
  CHECK_THAT(text_of(r), Contains("more than 328 MB of memory in all"));
}

TEST_CASE("numbers of the field are those of the reals where both are defined") {
  std::mt19937_64 random(1);
  const auto dyadic = [&] {
    return std::ldexp(static_cast<double>(static_cast<std::int32_t>(random())), -20);
  };
  for (int k = 0; k < 2000; ++k) {
    const double x = dyadic(), y = std::ldexp(static_cast<double>(random() % 2001) - 1000, -10);
    CHECK(add(of_double(x), of_double(y)) == of_double(x + y));
    CHECK(subtract(of_double(x), of_double(y)) == of_double(x - y));
    CHECK(multiply(of_double(x), of_double(y)) == of_double(x * y));
    CHECK(multiply(of_double(x), inverse(of_double(x))) == (x == 0 ? 0 : 1));
  }
  Extremes e;
  const Number a = 3, b = 4, c = 5;
  CHECK(e.join(e.join(a, b, true), c, true) == e.join(e.join(c, b, true), e.join(a, c, true), true));
  CHECK(e.join(a, b, true) != e.join(a, b, false));
  CHECK(e.join(a, negate(apply(Function::infinity, 1)), true) == a);
}

TEST_CASE("matrix products of the field are sums of its products, and the error of real ones is that of "
          "their factors") {
  std::mt19937_64 random(3);
  int tried = 0;
  for (const char* arch : {"gfx942", "gfx950"})
    for (const codegen::Atom* atom : codegen::Atom::on(codegen::Target::named(arch))) {
      if (!atom->mma || atom->mma->sparse) continue;
      const codegen::Mma& mma = *atom->mma;
      const MatrixProduct f(mma);
      const auto draw = [&](int values) {
        std::vector<Number> out(static_cast<std::size_t>(64 * values));
        for (Number& n : out) n = apply(Function::fresh, random());
        return out;
      };
      const std::vector<Number> a = draw(f.a_values), b = draw(f.b_values), c = draw(f.c_values);
      std::vector<Number> d(c.size());
      f(a, b, c, d);
      // By the layouts, element by element.
      const auto places = [](const Layout& layout) {
        std::map<std::array<int, 3>, std::size_t> out; // (block, row or column, k or column)
        const auto x = codegen::coordinates(layout, 0), y = codegen::coordinates(layout, 1),
                   block = codegen::coordinates(layout, 2);
        for (std::size_t at = 0; at < x.size(); ++at) out[{block[at], x[at], y[at]}] = at;
        return out;
      };
      const auto of_a = places(mma.a), of_b = places(mma.b);
      INFO(arch << " " << atom->name);
      for (const auto& [at, place] : places(mma.c)) {
        Number sum = c[place];
        for (int k = 0; k < mma.k; ++k)
          sum = add(sum, multiply(a[of_a.at({at[0], at[1], k})], b[of_b.at({at[0], at[2], k})]));
        REQUIRE(d[place] == sum);
      }
      // Each factor is 1, but for an error.
      for (const auto& [ea, eb] : {std::pair(0.0, 0.0), {0x1p-10, 0.0}, {0x1p-10, 0x1p-10}}) {
        const std::vector<Number> one(a.size(), RealArithmetic::number(1, ea)),
            other(b.size(), RealArithmetic::number(1, eb)), zero(c.size(), RealArithmetic::number(0, 0));
        f.real(one, other, zero, d);
        for (const Number n : d) {
          REQUIRE(RealArithmetic::real(n) == mma.k);
          const double least = mma.k * (ea + eb + ea * eb);
          REQUIRE(RealArithmetic::error(n) >= least * (1 - 1e-6));
          REQUIRE(RealArithmetic::error(n) <= least * 1.01 + mma.k * 1e-6);
        }
      }
      ++tried;
    }
  CHECK(tried > 40);
}

TEST_CASE("places in plain integers are those of the tensors, swizzled too") {
  int swizzled = 0;
  for (const kernels::Flags& flags : {kernels::Flags{{"tile", "64x64x64"}},
                                      {{"tile", "128x128x64"}, {"arch", "gfx950"}},
                                      {{"tile", "64x64x128"}, {"dtype", "fp8"}},
                                      {{"tile", "64x64x32"}, {"dtype", "f32"}}}) {
    const kernels::Artifact a = kernels::find_kernel("gemm")->build(flags, {});
    const codegen::Program& p = *a.source->code.program;
    Assignment numbers;
    for (const codegen::Size& z : p.sizes()) numbers.set(z.symbol, Int(64 * z.facts.multiple));
    Places places(p, numbers);
    for (const codegen::Tensor& t : p.tensors()) {
      if (t.shape.size() != 2 || t.space == codegen::Space::window) continue;
      swizzled += t.place.swizzle() != nullptr && !t.place.swizzle()->is_identity() ? 1 : 0;
      for (std::int64_t i = 0; i < 64; i += 3)
        for (std::int64_t j = 0; j < 32; ++j) {
          const std::int64_t at[] = {i, j};
          const Sym as_symbols[] = {Sym(i), Sym(j)};
          INFO(t.name << " " << i << " " << j);
          REQUIRE(places.of(t, at) == evaluate(t.at(as_symbols), numbers).value());
        }
    }
  }
  CHECK(swizzled > 0);
}

TEST_CASE("formulas of words are congruent to them, and conditions are the machine's") {
  codegen::Program p("p", codegen::Target::named("gfx942"), 64);
  const Sym m = p.size("m", {.least = 1, .most = 5000}),
            k = p.size("k", {.least = 8, .most = 4096, .multiple = 8});
  Terms t;
  Formulas f(p, t);
  std::mt19937_64 random(2);
  std::vector<Word> words = {t.symbol("m", 5000), t.symbol("k", 4096), t.constant(3), t.constant(64),
                             t.constant(0xffffffc0U)};
  std::vector<Word> conditions;
  for (int n = 0; n < 400; ++n) {
    const auto pick = [&] { return words[random() % words.size()]; };
    const Word a = pick(), b = pick();
    const auto c = static_cast<std::uint32_t>(random() % 8);
    switch (random() % 12) {
    case 0: words.push_back(t.add(a, b)); break;
    case 1: words.push_back(t.subtract(a, b)); break;
    case 2: words.push_back(t.multiply(a, t.constant(c))); break;
    case 3: words.push_back(t.shl(a, t.constant(c))); break;
    case 4: words.push_back(t.shr(a, t.constant(c))); break;
    case 5: words.push_back(t.ashr(a, t.constant(c))); break;
    case 6: words.push_back(t.bit_and(a, t.constant((1U << c) - 1))); break;
    case 7: words.push_back(t.bit_and(a, t.constant(0U - (1U << c)))); break;
    case 8: words.push_back(t.minimum(a, b, c % 2 == 0)); break;
    case 9: words.push_back(t.maximum(a, b, c % 2 == 0)); break;
    case 10: words.push_back(t.bit_or(a, t.constant(1U << (3 * c)))); break;
    default:
      conditions.push_back(c == 6       ? t.carry(a, b) // for which there is no formula
                           : c == 7     ? t.borrow(a, b)
                           : c % 3 == 0 ? t.equal(a, b)
                                        : t.less(a, b, c % 3 == 1));
      break;
    }
    if (words.size() > 40) words.erase(words.begin() + 5 + static_cast<std::ptrdiff_t>(random() % 30));
  }
  std::size_t with_formula = 0, with_condition = 0;
  const auto numbers = [&](auto&& check) {
    for (int n = 0; n < 40; ++n) {
      const std::int64_t vm = 1 + static_cast<std::int64_t>(random() % 5000),
                         vk = 8 * (1 + static_cast<std::int64_t>(random() % 512));
      Assignment at;
      at.set(m, Int(vm));
      at.set(k, Int(vk));
      check(at, Terms::Assignment{{t.symbol("m", 5000), static_cast<std::uint64_t>(vm)},
                                  {t.symbol("k", 4096), static_cast<std::uint64_t>(vk)}});
    }
  };
  for (const Word w : words) {
    const auto s = f.of(w);
    if (!s) continue;
    ++with_formula;
    numbers([&](const Assignment& at, const Terms::Assignment& given) {
      INFO(t.text(w));
      CHECK(static_cast<std::uint32_t>(evaluate(*s, at).value()) == *t.evaluate(w, given));
    });
  }
  for (const Word w : conditions)
    for (const bool value : {true, false}) {
      const auto c = f.condition(w, value);
      if (!c) continue;
      ++with_condition;
      numbers([&](const Assignment& at, const Terms::Assignment& given) {
        const bool holds = std::all_of(c->all.begin(), c->all.end(),
                                       [&](const Sym& d) { return evaluate(d, at) >= Int(0); });
        INFO(t.text(w) << " " << value);
        CHECK(holds == ((*t.evaluate(w, given) != 0) == value));
        if (c->never || f.canonical(*c).never) CHECK_FALSE(holds);
      });
    }
  CHECK(with_formula > 15);
  CHECK(with_condition > 15);
  // Numbers of words that are 0 and less, as sums: what is below 0 is 2^32 more, and 0 is not.
  for (const Word w :
       {t.subtract(t.constant(0), t.symbol("m", 5000)), t.subtract(t.constant(1), t.symbol("m", 5000)),
        t.subtract(t.constant(8), t.symbol("k", 4096)), t.subtract(t.constant(7), t.symbol("k", 4096))}) {
    const auto s = f.number(w);
    for (const std::int64_t v : {8, 16, 4096})
      if (s) {
        Assignment at;
        at.set(m, Int(v == 8 ? 1 : v));
        at.set(k, Int(v));
        INFO(t.text(w) << " " << v);
        CHECK(evaluate(*s, at).value() ==
              static_cast<std::int64_t>(
                  *t.evaluate(w, {{t.symbol("m", 5000), static_cast<std::uint64_t>(v == 8 ? 1 : v)},
                                  {t.symbol("k", 4096), static_cast<std::uint64_t>(v)}})));
      }
  }
  // What may be negative is not shown to be none, whatever atom it is.
  const Sym below = f.context().symbol("_below", {Int(-5), Int(5)});
  for (const Sym& x :
       {below, floor_div(below, Sym(2)), floor_mod(below, Sym(3)) - Sym(1), max(below, Sym(-2)),
        min(below, m), m - k, select(less_equal(Sym(0), below), m, below), Sym(3) * floor_div(below, k)})
    CHECK(f.decide(false, Sym(0), x, {}) != Truth::yes);
}

TEST_CASE("what loads the arguments for firmware that preloads none, one bit changed") {
  const kernels::Artifact a = kernels::find_kernel("vector_add")->build({}, {});
  const auto object = object_of(a.hsaco);
  const runtime::Kernel& kernel = object.kernel(a.kernel);
  REQUIRE(kernel.descriptor.preload_length != 0);
  REQUIRE(validate(a, a.hsaco).verdict == MachineVerdict::validated);
  // Where a section's address is in the file.
  const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
  const auto place = [&](std::size_t section, std::uint64_t address) {
    const auto& of = object.sections()[section];
    return static_cast<std::size_t>(std::search(p, p + a.hsaco.size(), of.bytes.begin(), of.bytes.end()) -
                                    p) +
           static_cast<std::size_t>(address - of.address);
  };
  const auto descriptor = std::find_if(object.symbols().begin(), object.symbols().end(),
                                       [&](const runtime::Symbol& s) { return s.name == a.kernel + ".kd"; });
  REQUIRE(descriptor != object.symbols().end());
  const std::size_t preload = place(descriptor->section, descriptor->address) + 58; // KERNARG_PRELOAD
  // The emulator is older firmware where the descriptor asks for no preloading.
  std::vector<kernels::Bytes> buffers(3, kernels::Bytes(12000)); // of several workgroups
  std::mt19937 random(5);
  for (auto& b : buffers)
    for (std::size_t i = 0; i < 3000; ++i) {
      const float v = static_cast<float>(random() % 1000);
      std::memcpy(b.data() + 4 * i, &v, 4);
    }
  const auto run = [&](const kernels::Bytes& bytes, bool old) {
    kernels::Artifact changed = a;
    changed.hsaco = bytes;
    if (old) std::memset(changed.hsaco.data() + preload, 0, 2);
    const auto device = kernels::open_device("emulator", a.arch, {.checks = runtime::Checks::all()});
    return kernels::run(*device, changed, buffers, {3000});
  };
  const auto expected = run(a.hsaco, false);
  CHECK(run(a.hsaco, true) == expected);
  const std::size_t first = place(kernel.section, kernel.address);
  std::size_t refused = 0, wrong = 0, harmless = 0;
  for (std::size_t bit = 0; bit < 8 * 40; ++bit) { // past the jump nothing is executed
    kernels::Bytes bytes = a.hsaco;
    bytes[first + bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const bool validated = validate(a, bytes).verdict == MachineVerdict::validated;
    bool right = false;
    try {
      right = run(bytes, true) == expected;
    } catch (const std::exception&) { // a fault, or no end
    }
    INFO("bit " << bit);
    if (validated) CHECK(right);
    refused += validated ? 0 : 1;
    wrong += right ? 0 : 1;
    harmless += validated && right ? 1 : 0;
  }
  // One load more, of a register that has its word: which of the two comes last is not said.
  const std::uint32_t again[] = {0xc00200c0U, 0x10, 0xbf8cc07fU,
                                 0xbf820036U}; // to s3, the wait, the jump from byte 36
  for (const std::uint32_t at : {0x10U, 0x4U}) {
    kernels::Bytes bytes = a.hsaco;
    std::memcpy(bytes.data() + first + 24, again, sizeof again);
    std::memcpy(bytes.data() + first + 28, &at, 4);
    const CodeReport r = validate(a, bytes);
    INFO(text_of(r));
    CHECK(r.verdict == MachineVerdict::undecided);
    CHECK_THAT(text_of(r), Catch::Contains("a register is loaded twice"));
  }
  CHECK(wrong > 50);
  CHECK(refused >= wrong);
  CHECK(harmless > 10); // after the jump
}

TEST_CASE("counts from below up to 0, and comparisons of what facts keep from being negative") {
  codegen::Program p("p", codegen::Target::named("gfx942"), 64);
  const Sym m = p.size("m", {.least = 1, .most = 5000}),
            k = p.size("k", {.least = 8, .most = 4096, .multiple = 8});
  Terms t;
  Formulas f(p, t);
  const Word vm = t.symbol("m", 5000), vk = t.symbol("k", 4096);
  // For all m and k of which the facts hold, the conditions are the machine's.
  const auto check = [&](Word w, bool value, const std::vector<std::string>& known, auto&& holds) {
    const auto c = f.condition(w, value, known);
    REQUIRE(c);
    std::size_t seen = 0;
    for (std::int64_t x = 1; x <= 5000; x += x < 40 ? 1 : 7)
      for (std::int64_t y = 8; y <= 4096; y += y < 48 ? 8 : 1000 / 8 * 8) {
        if (!holds(x, y)) continue;
        Assignment at;
        at.set(m, Int(x));
        at.set(k, Int(y));
        const bool all = std::all_of(c->all.begin(), c->all.end(),
                                     [&](const Sym& d) { return evaluate(d, at) >= Int(0); });
        const auto machine = t.evaluate(
            w, Terms::Assignment{{vm, static_cast<std::uint64_t>(x)}, {vk, static_cast<std::uint64_t>(y)}});
        if (all != ((*machine != 0) == value)) FAIL(t.text(w) << " " << x << " " << y);
        seen += all ? 1 : 0;
      }
    CHECK(seen > 0);
  };
  const auto any = [](std::int64_t, std::int64_t) { return true; };
  const Word count = t.subtract(vm, vk); // m - k + 1 carries as a word where it comes to 0
  for (const Word w : {t.carry(count, t.constant(1)), t.carry(t.constant(1), count)}) {
    check(w, true, {}, any);
    CHECK(f.either(w, false, {}).size() == 2);
    CHECK_FALSE(f.condition(w, false, {}));
    check(w, false, {"m <= k-1"}, [](std::int64_t x, std::int64_t y) { return x <= y - 1; });
    check(w, false, {"m >= k-1"}, [](std::int64_t x, std::int64_t y) { return x >= y - 1; });
  }
  CHECK_FALSE(f.condition(t.carry(count, t.constant(2)), true, {}));
  CHECK_FALSE(f.condition(t.carry(count, vm), true, {}));
  for (const bool value : {true, false}) {
    for (const std::vector<std::string>& too_little : {std::vector<std::string>{}, {"m <= k+1"}})
      CHECK_FALSE(f.condition(t.less(vm, t.subtract(vk, vm), false), value, too_little));
    check(t.less(vm, t.subtract(vk, vm), false), value, {"m <= k"},
          [](std::int64_t x, std::int64_t y) { return x <= y; });
    check(t.less(t.subtract(vk, vm), vm, false), value, {"m <= k"},
          [](std::int64_t x, std::int64_t y) { return x <= y; });
  }
}

TEST_CASE("a word is a number up to what conditions leave of it, where it grows with what they bound") {
  codegen::Program p("p", codegen::Target::named("gfx942"), 64);
  const Sym m = p.size("m", {.least = 1, .most = 5000}),
            k = p.size("k", {.least = 8, .most = 4096, .multiple = 8});
  Terms t;
  Formulas f(p, t);
  const Word far = t.shl(t.symbol("k", 4096), t.constant(23)), less = t.subtract(far, t.symbol("m", 5000));
  CHECK_FALSE(f.number(far)); // 2^35 at most
  CHECK(f.number(far, {Sym(100) - k}));
  CHECK_FALSE(f.number(far, {Sym(1000) - k}));
  // It falls with m, so that the largest m says nothing of it.
  CHECK_FALSE(f.number(less, {Sym(1 << 23) * k - m}));
  CHECK(f.number(less, {Sym(100) - k}));
}

TEST_CASE("operations of two numbers are those of two words") {
  codegen::Program p("p", codegen::Target::named("gfx942"), 64);
  Terms t;
  Formulas f(p, t);
  std::mt19937_64 random(7);
  const std::uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffff0000, 0xfffffffe, 0xffffffff};
  for (int n = 0; n < 2000; ++n) {
    const auto pick = [&] {
      return random() % 3 == 0 ? edges[random() % std::size(edges)] : static_cast<std::uint32_t>(random());
    };
    const std::uint32_t x = pick(), y = pick(), by = y & 31;
    const std::pair<TermKind, std::uint32_t> all[] = {
        {TermKind::bit_and, x & y},
        {TermKind::bit_or, x | y},
        {TermKind::bit_xor, x ^ y},
        {TermKind::shift_left, x << by},
        {TermKind::shift_right, x >> by},
        {TermKind::shift_right_signed, static_cast<std::uint32_t>(static_cast<std::int32_t>(x) >> by)},
        {TermKind::multiply_high_unsigned, static_cast<std::uint32_t>((std::uint64_t{x} * y) >> 32)}};
    for (const auto& [kind, expected] : all) {
      INFO(static_cast<int>(kind) << " of " << x << ", " << y);
      const auto s = f.operation(kind, Sym(std::int64_t{x}), Sym(std::int64_t{y}));
      REQUIRE((s && s->constant()));
      CHECK(static_cast<std::uint32_t>(s->constant()->value()) == expected);
    }
  }
}

TEST_CASE("operations of a size and a number are those of their words, or one word of its own") {
  codegen::Program p("p", codegen::Target::named("gfx942"), 64);
  const Sym m = p.size("m", {.least = 1, .most = 5000}),
            k = p.size("k", {.least = 8, .most = 4096, .multiple = 8});
  Terms t;
  Formulas f(p, t);
  std::mt19937_64 random(11);
  const std::vector<Sym> of = {
      m, k, m - Sym(1), k + m, Sym(8) * m + Sym(3), Sym(1 << 19) * m, Sym(1 << 20) * k - Sym(1)};
  std::vector<std::uint32_t> numbers = {1,          6,          8,      0x1ff8,     0x1ffffff8,
                                        0x7ffffff0, 0xfffffff8, 0xffff, 0xfffffffe, 0xffffffff};
  for (int n = 0; n < 20; ++n) numbers.push_back(static_cast<std::uint32_t>(random()) >> random() % 32);
  std::size_t followed = 0;
  for (const Sym& x : of)
    for (const std::uint32_t y : numbers)
      for (const TermKind kind :
           {TermKind::bit_and, TermKind::bit_or, TermKind::bit_xor, TermKind::shift_left,
            TermKind::shift_right, TermKind::shift_right_signed, TermKind::multiply_high_unsigned}) {
        if (kind == TermKind::shift_left && (y & 31) > 15) continue; // congruent, and no number of 64 bits
        const auto s = f.operation(kind, x, Sym(std::int64_t{y}));
        if (!s) continue;
        const auto used = symbols(*s);
        if (std::any_of(used.begin(), used.end(),
                        [&](AtomId a) { return a != *m.as_atom() && a != *k.as_atom(); }))
          continue; // a word of its own
        ++followed;
        for (const std::int64_t v : {8, 16, 1000, 2048, 4096}) {
          Assignment at;
          at.set(m, Int(v == 8 ? 1 : v + 7));
          at.set(k, Int(v));
          const auto a = static_cast<std::uint32_t>(evaluate(x, at).value());
          const std::uint32_t expected =
              kind == TermKind::bit_and       ? a & y
              : kind == TermKind::bit_or      ? a | y
              : kind == TermKind::bit_xor     ? a ^ y
              : kind == TermKind::shift_left  ? a << (y & 31)
              : kind == TermKind::shift_right ? a >> (y & 31)
              : kind == TermKind::shift_right_signed
                  ? static_cast<std::uint32_t>(static_cast<std::int32_t>(a) >> (y & 31))
                  : static_cast<std::uint32_t>((std::uint64_t{a} * y) >> 32);
          INFO(static_cast<int>(kind) << " of " << to_string(x) << " and " << y << ", " << v);
          REQUIRE(static_cast<std::uint32_t>(evaluate(*s, at).value()) == expected);
        }
      }
  CHECK(followed > 500);
  // A factor is taken out of what is least or largest, and out of nothing else.
  for (const Sym& s :
       {min(Sym(4) * m, Sym(8) * k), max(Sym(6) * m, Sym(9) * k + Sym(3)), bit_and(Sym(4) * m, Sym(8) * k),
        bit_or(Sym(4) * m, Sym(8) * k), bit_xor(Sym(4) * m, Sym(8) * k),
        floor_div(Sym(4) * m + Sym(8), Sym(6) * k), select(less_equal(m, k), Sym(4) * m, Sym(8) * k),
        floor_div(min(Sym(4) * m, Sym(8) * k), Sym(12)),
        min(Sym(2) * bit_and(Sym(4) * m, Sym(8) * k), Sym(4) * k)})
    for (const std::int64_t v : {8, 16, 1000, 2048, 4096}) {
      Assignment at;
      at.set(m, Int(3 * v / 4 + 1));
      at.set(k, Int(v));
      INFO(to_string(s) << ", " << v);
      CHECK(evaluate(Formulas::without_factors(s), at) == evaluate(s, at));
    }
  // An element of memory may be below a number that is not positive, and above one that is below 0.
  const Word data = t.datum(0);
  f.value_of_datum = [&](Word w) -> std::optional<std::uint64_t> {
    return w == data ? std::optional<std::uint64_t>(1000) : std::nullopt;
  };
  for (const std::uint32_t y : {0U, 1U, 5U, 0xffffffffU, 0xfffffffdU})
    for (const bool value : {true, false})
      for (const Word c : {t.less(data, t.constant(y), true), t.less(t.constant(y), data, true)}) {
        const auto one = f.condition(c, value);
        INFO(t.text(c) << " " << value);
        if (one) CHECK_FALSE((one->never || f.canonical(*one).never));
        if (one) CHECK_FALSE(one->all.empty());
      }
}

TEST_CASE(
    "what bits, shifts and high halves make of words that nothing is known of is one word, and no other") {
  codegen::Program p("p", codegen::Target::named("gfx942"), 64);
  const Sym m = p.size("m", {.least = 1, .most = 5000});
  Terms t;
  Formulas f(p, t);
  const std::vector<Word> data{t.datum(0), t.datum(1)}; // elements of memory
  f.value_of_datum = [&](Word w) -> std::optional<std::uint64_t> {
    return t.kind(w) == TermKind::datum ? std::optional(1000 + t.raw(w)) : std::nullopt;
  };
  std::size_t compared = 0; // conditions
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Word> words = {t.symbol("m", 5000),     data[0],       data[1],
                               t.constant(0x9e3779b9U), t.constant(6), t.constant(0xffffffffU)};
    for (int n = 0; n < 120; ++n) {
      const auto pick = [&] { return words[random() % words.size()]; };
      const Word a = pick(), b = pick();
      const auto c = static_cast<std::uint32_t>(random() % 31 + 1);
      switch (random() % 15) {
      case 14: words.push_back(t.bit_not(t.bit_xor(a, b))); break;
      case 13: words.push_back(t.bit_and(a, t.constant((1U << c) - 1))); break;
      case 12: words.push_back(t.bit_or(a, t.constant(1U << c))); break;
      case 0: words.push_back(t.add(a, b)); break;
      case 1: words.push_back(t.subtract(a, b)); break;
      case 2:
      case 3: words.push_back(t.bit_xor(a, b)); break;
      case 4: words.push_back(t.bit_and(a, b)); break;
      case 5: words.push_back(t.bit_or(a, b)); break;
      case 6: words.push_back(t.shr(a, t.constant(c))); break;
      case 7: words.push_back(t.ashr(a, t.constant(c))); break;
      case 8: words.push_back(t.multiply_high(a, b, false)); break;
      case 9: words.push_back(t.high(t.product(a, b, false))); break;
      case 10: words.push_back(t.bit_and(a, t.constant(0U - (1U << (c % 8))))); break;
      default: words.push_back(t.multiply(a, t.constant(c))); break;
      }
    }
    std::vector<std::pair<Word, Sym>> with_formula;
    for (const Word w : words)
      if (const auto s = f.of(w)) with_formula.emplace_back(w, Formulas::reduced(*s));
    CHECK(with_formula.size() > 100);
    std::vector<std::tuple<Word, bool, Formulas::Condition>> conditions;
    for (int n = 0; n < 60; ++n) {
      const Word a = words[random() % words.size()], b = words[random() % words.size()];
      const Word w = n % 4 == 0   ? t.equal(a, b)
                     : n % 4 == 1 ? t.less(a, b, true)
                     : n % 4 == 2 ? t.less(a, b, false)
                                  : t.carry(a, b);
      for (const bool value : {true, false})
        if (const auto c = f.condition(w, value)) conditions.emplace_back(w, value, *c);
    }
    compared += conditions.size();
    for (int n = 0; n < 20; ++n) {
      const std::int64_t vm = 1 + static_cast<std::int64_t>(random() % 5000);
      const auto narrow = [&] { return static_cast<std::uint32_t>(random() >> (32 + random() % 32)); };
      const std::array<std::uint32_t, 2> memory{narrow(), narrow()};
      const Terms::Assignment given{{t.symbol("m", 5000), static_cast<std::uint64_t>(vm)}};
      const auto number = [&](Word w) {
        return *t.evaluate(
            w, given, [&](Word x, std::span<const std::uint64_t>) -> std::optional<std::uint64_t> {
              return t.kind(x) == TermKind::datum ? std::optional<std::uint64_t>(memory[t.raw(x)])
                                                  : std::nullopt;
            });
      };
      Assignment at;
      at.set(m, Int(vm));
      std::map<Sym, std::uint64_t> same; // one formula is one number, and a symbol's is what it stands for
      for (const auto& [w, s] : with_formula) {
        const std::uint64_t v = number(w);
        INFO(t.text(w) << " as " << to_string(s));
        CHECK(same.try_emplace(s, v).first->second == v);
        if (const auto atom = s.as_atom(); atom && s.context()->atom(*atom).kind == AtomKind::symbol)
          at.set(s, Int(static_cast<std::int64_t>(v)));
      }
      for (const auto& [w, s] : with_formula) {
        const auto all = symbols(s);
        if (std::any_of(all.begin(), all.end(), [&](AtomId a) { return !at.get(a); })) continue;
        INFO(t.text(w) << " as " << to_string(s));
        std::optional<Int> v;
        try {
          v = evaluate(s, at);
        } catch (const std::exception&) { // beyond 64 bits
        }
        if (v) CHECK(static_cast<std::uint32_t>(v->value()) == number(w));
      }
      for (const auto& [w, value, c] : conditions) {
        const auto known = [&](Sym d) {
          const auto all = symbols(d);
          return std::all_of(all.begin(), all.end(), [&](AtomId a) { return at.get(a).has_value(); });
        };
        if (!std::all_of(c.all.begin(), c.all.end(), known)) continue;
        INFO(t.text(w) << " " << value);
        std::optional<bool> holds;
        try {
          holds = std::all_of(c.all.begin(), c.all.end(),
                              [&](const Sym& d) { return evaluate(d, at) >= Int(0); });
        } catch (const std::exception&) { // beyond 64 bits
        }
        if (holds) CHECK(*holds == ((number(w) != 0) == value));
      }
    }
  }
  CHECK(compared > 300);
}

} // namespace code_test
