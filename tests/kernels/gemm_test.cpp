// The GEMM before it runs: supported specifications, refusals by name, proofs, and broken layouts stopped by them.
#include "../undecided.h"

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/code_object.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <optional>

namespace gemm_test {

using namespace inlay::kernels;
using Catch::Matchers::Contains;

namespace {

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing was thrown";
}

} // namespace

TEST_CASE("gemm: every claim is proved for both architectures, types and matrix instructions") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const auto& [type, out] :
         {std::pair(Element::f16, Element::f16), std::pair(Element::bf16, Element::bf16),
          std::pair(Element::i8, Element::i32),
          std::pair(inlay::codegen::parse_element("fp8", inlay::codegen::Target::named(arch)), Element::f16)})
      for (int mfma : {16, 32}) {
        GemmSpec spec;
        spec.arch = arch;
        spec.in = type;
        spec.out = out;
        spec.mfma = mfma;
        spec.tile_m = spec.tile_n = 64;
        const Artifact kernel = build_gemm(spec);
        INFO(arch << " " << to_string(type) << " " << mfma);
        CHECK(kernel.hsaco.size() > 1000);
        const std::string proofs = kernel.proofs.text();
        for (const char* claim :
             {"c is what the specification says", "A and B are multiplied at the same k, row by row",
              "beyond the end of k both factors are 0", "reading of lds_a has no bank conflict",
              "a sum is over the whole extent, each element once",
              "every element of a tile of c is written once", "workgroups share out axis 0 of c",
              "workgroups share out axis 1 of c",
              "nothing of lds_b is overwritten before every wave has read it",
              "the descriptor of a ends exactly what lies outside along axis 0"})
          CHECK_THAT(proofs, Contains(claim));
      }
}

TEST_CASE("gemm: every claim of 4-bit elements with scales of 32 k is proved, and gfx942 says who has them") {
  for (const bool preshuffled : {false, true})
    for (const Element out : {Element::f32, Element::f16, Element::bf16}) {
      GemmSpec spec;
      spec.arch = "gfx950";
      spec.in = Element::e2m1, spec.out = out;
      spec.preshuffled_b = preshuffled;
      spec.tile_m = spec.tile_n = 64, spec.tile_k = out == Element::f32 ? 512 : 256;
      const Artifact kernel = build_gemm(spec);
      for (const char* claim :
           {"c is what the specification says",
            "each value of an operand meets the scale of its row and block of k",
            "A and B are multiplied at the same k, row by row", "beyond the end of k both factors are 0",
            "a vector of sa is wholly inside or wholly outside",
            "a vector of sb is wholly inside or wholly outside",
            "the descriptor of sa ends exactly what lies outside along axis 0",
            "reading of lds_a has no bank conflict"})
        CHECK_THAT(kernel.proofs.text(), Contains(claim));
      // c, a, b, sa, sb; two elements share a byte.
      const std::vector<std::int64_t> sizes = {130, 80, 512};
      CHECK(kernel.contract.buffers[1].bytes(sizes) == 130 * 256);
      CHECK(kernel.contract.buffers[2].bytes(sizes) == 80 * 256);
      CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, 128, 128); }),
                 Contains("256; a sum may be padded with zeros"));
    }
  for (const Element in : {Element::e2m3, Element::e3m2}) {
    GemmSpec spec;
    spec.arch = "gfx950";
    spec.in = in, spec.out = Element::bf16, spec.transfer = true;
    spec.tile_m = spec.tile_n = 64, spec.tile_k = 256;
    const Undecided here; // elements that begin in the middle of a byte
    const Artifact kernel = build_gemm(spec);
    for (const char* claim :
         {"c is what the specification says",
          "each value of an operand meets the scale of its row and block of k",
          "beyond the end of k both factors are 0", "of lds_b are inside it, aligned and contiguous",
          "reading of lds_a has no bank conflict (ds_read_b64", "a % 4 == 0"})
      CHECK_THAT(kernel.proofs.text(), Contains(claim));
    CHECK(kernel.contract.buffers[1].bytes(std::vector<std::int64_t>{130, 80, 512}) == 130 * 384);
    CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, 128, 128); }),
               Contains("256; a sum may be padded with zeros"));
    spec.transfer = false;
    CHECK_THAT(message_of([&] { (void)build_gemm(spec); }), Contains("direct-to-lds = no"));
  }
  GemmSpec spec;
  spec.in = Element::e2m1, spec.out = Element::bf16, spec.tile_k = 256;
  CHECK_THAT(message_of([&] { (void)build_gemm(spec); }),
             Contains("in = e2m1") &&
                 Contains("gfx950: gfx942 has no matrix instruction for 4-bit elements"));
  spec.arch = "gfx950";
  spec.mfma = 32;
  CHECK_THAT(message_of([&] { (void)build_gemm(spec); }), Contains("mfma = 32"));
  spec.mfma = 16, spec.scales = true;
  CHECK_THAT(message_of([&] { (void)build_gemm(spec); }), Contains("scales = yes") && Contains("e8m0"));
  spec.scales = false, spec.tile_k = 128;
  CHECK_THAT(message_of([&] { (void)build_gemm(spec); }),
             Contains("tile_k = 128") && Contains("at least 256"));
  spec.tile_k = 256, spec.tile_m = 96;
  CHECK_THAT(message_of([&] { (void)build_gemm(spec); }), Contains("tile_m = 96"));
}

TEST_CASE("gemm: every claim of f32, f64, xf32 and 8 bits with scales of 32 k is proved") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f32, Element::f64, Element::xf32, Element::e4m3fn})
      for (const int mfma : {16, 32}) {
        const bool narrow = type == Element::e4m3fn;
        if (mfma == 32 && (narrow || type == Element::f64)) continue;
        if ((type == Element::xf32 && arch != std::string("gfx942")) ||
            (narrow && arch != std::string("gfx950")))
          continue;
        GemmSpec spec;
        spec.arch = arch, spec.mfma = mfma;
        spec.in = type, spec.block_scales = spec.transfer = narrow;
        spec.out = type == Element::xf32 ? Element::f32 : narrow ? Element::bf16 : type;
        spec.tile_m = spec.tile_n = 64, spec.tile_k = narrow ? 256 : type == Element::f64 ? 16 : 32;
        INFO(arch << " " << to_string(type) << " " << mfma);
        std::optional<Undecided> of_64_bits;
        if (type == Element::f64) of_64_bits.emplace();
        const Artifact kernel = build_gemm(spec);
        for (const char* claim :
             {"c is what the specification says", "A and B are multiplied at the same k, row by row",
              "beyond the end of k both factors are 0", "reading of lds_a has no bank conflict",
              "writing of lds_b has no bank conflict", "a sum is over the whole extent, each element once",
              "every element of a tile of c is written once"})
          CHECK_THAT(kernel.proofs.text(), Contains(claim));
        const char* const instruction = type == Element::f64                 ? "v_mfma_f64_16x16x4_f64"
                                        : type == Element::f32 && mfma == 16 ? "v_mfma_f32_16x16x4_f32"
                                        : type == Element::f32               ? "v_mfma_f32_32x32x2_f32"
                                        : narrow     ? "v_mfma_scale_f32_16x16x128_f8f6f4"
                                        : mfma == 16 ? "v_mfma_f32_16x16x8_xf32"
                                                     : "v_mfma_f32_32x32x4_xf32";
        CHECK_THAT(kernel.assembly, Contains(instruction));
        if (narrow)
          CHECK_THAT(kernel.proofs.text(),
                     Contains("each value of an operand meets the scale of its row and block of k"));
        // A lane's four columns of f64 are made neighbours: two stores of 16 bytes, and single ones where n is odd.
        if (type == Element::f64) CHECK_THAT(kernel.assembly, Contains("buffer_store_dwordx4"));
      }
}

TEST_CASE("gemm: a 16-bit C is stored 16 bytes at a time, each element once; 8 where B's loads would be "
          "halves of lines") {
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  for (const char* arch : {"gfx942", "gfx950"})
    for (const int mfma : {16, 32})
      for (const bool preshuffled : {false, true}) {
        if (preshuffled && mfma == 32) continue;
        GemmSpec spec;
        spec.arch = arch;
        spec.mfma = mfma;
        spec.preshuffled_b = preshuffled;
        if (preshuffled) spec.waves_m = 1, spec.waves_n = 4;
        INFO(arch << " " << mfma << " " << preshuffled);
        const Artifact kernel = build_gemm(spec);
        const int elements = spec.tile_m * spec.tile_n / 256;
        CHECK(count(kernel.assembly, "buffer_store_dwordx4") == (preshuffled ? 0 : elements / 8));
        CHECK(count(kernel.assembly, "buffer_store_dwordx2") == (preshuffled ? elements / 4 : 0));
        CHECK(count(kernel.assembly, "buffer_store_short") == (preshuffled ? 0 : elements)); // N % 8, N % 16
      }
  // 64 columns of a wave and products for longer than its loads take: halves of lines are worth it.
  GemmSpec wide;
  wide.preshuffled_b = true, wide.waves_m = 1, wide.waves_n = 4;
  wide.tile_m = wide.tile_n = 256, wide.tile_k = 64;
  CHECK(count(build_gemm(wide).assembly, "buffer_store_dwordx4") == 32);
  CHECK(count(build_gemm(wide).assembly, "buffer_store_dwordx2") == 0);
  // A wave with one block of 16 columns has no neighbour for it.
  GemmSpec narrow;
  narrow.tile_n = 32;
  CHECK(count(build_gemm(narrow).assembly, "buffer_store_dwordx2") > 0);
}

TEST_CASE("gemm: a work-item copies 16 bytes, or less where only then the tile's rows are shared out") {
  const auto widest = [](int rows, int tile_k, int waves) {
    GemmSpec spec;
    spec.in = Element::i8, spec.out = Element::i32;
    spec.preshuffled_b = true;
    spec.tile_m = rows, spec.tile_n = 16 * waves, spec.tile_k = tile_k;
    spec.waves_m = 1, spec.waves_n = waves;
    const std::string text = build_gemm(spec).assembly;
    for (const char* width : {"128", "64", "32"})
      if (text.find(std::string("ds_write_b") + width) != std::string::npos) return std::string(width);
    return std::string("none");
  };
  CHECK(widest(128, 128, 4) == "128");
  CHECK(widest(112, 128, 4) == "64");
  CHECK(widest(16, 128, 8) == "32");
  // Transfers are 16 bytes a lane.
  GemmSpec spec;
  spec.arch = "gfx950", spec.transfer = true;
  spec.tile_m = 48, spec.tile_n = 64, spec.tile_k = 32;
  spec.waves_m = 1, spec.waves_n = 4;
  CHECK_THAT(message_of([&] { (void)build_gemm(spec); }),
             Contains("tile_m = 48") && Contains("a multiple of 64"));
}

TEST_CASE("gemm: whole 256x256 kernels are no larger than the hand-written ones of that tile") {
  // AITER's bf16gemm_bf16_tn_256x256, with and without preshuffled B.
  const auto code = [](const char* kernel, const char* type, const char* tile) {
    const Artifact a = find_kernel(kernel)->build(
        {{"arch", "gfx950"}, {"dtype", type}, {"tile", tile}, {"transfer", "yes"}}, {});
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
    const auto object = inlay::runtime::CodeObject::parse({bytes, bytes + a.hsaco.size()});
    return object.code(object.kernel(a.kernel)).size();
  };
  CHECK(code("gemm", "bf16", "256x256x64") <= 18912);
  CHECK(code("preshuffle_gemm", "bf16", "256x256x64") <= 18040);
  CHECK(code("gemm", "fp8", "256x256x128") <= 18912);
}

TEST_CASE("gemm: a tile order is proved, and one with a place changed is refused") {
  GemmSpec spec;
  spec.tile_m = spec.tile_n = 64;
  spec.order = inlay::codegen::parse_tile_order("xcd+rows:8");
  CHECK_THAT(build_gemm(spec).proofs.text(),
             Contains("each tile is one workgroup's, whatever the size of the grid"));
  for (std::size_t d = 0; d < 8; ++d) {
    inlay::codegen::Program p = gemm_program(spec);
    auto& map = *p.mutable_tile_map();
    std::size_t n = 0;
    for (auto* list : {&map.counts, &map.numbering, &map.stretching, &map.tiling})
      for (auto& definition : *list)
        if (n++ == d) definition.value += inlay::Sym(1);
    INFO("definition " << d);
    try {
      (void)build(std::move(p));
      FAIL_CHECK("was built");
    } catch (const std::exception& e) {
      CHECK_THAT(e.what(), Contains("each tile is one workgroup's"));
    }
  }
}

TEST_CASE("gemm: what is not supported is refused by name") {
  const auto refusal = [](auto change) {
    GemmSpec spec;
    change(spec);
    return message_of([&] { (void)build_gemm(spec); });
  };
  CHECK_THAT(refusal([](GemmSpec& s) { s.arch = "gfx908"; }), Contains("gfx942"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.in = Element::i16; }), Contains("in = i16"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.out = Element::bf16; }), Contains("out = bf16"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.in = Element::i8; }), Contains("out = f16") && Contains("i32"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.in = Element::e4m3fn; }),
             Contains("in = e4m3fn ") && Contains("e4m3fnuz"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.out = Element::e5m2; }),
             Contains("out = e5m2 ") && Contains("e5m2fnuz"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.in = Element::i8, s.out = Element::i8, s.scales = true; }),
             Contains("out = i8"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.out = Element::e4m3fnuz, s.split = 64; }),
             Contains("out = e4m3fnuz"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.amax = true; }),
             Contains("waves = 2 x 2") && Contains("along M only"));
  CHECK_THAT(refusal([](GemmSpec& s) {
               s.in = Element::e4m3fnuz;
               s.tile_k = 32;
             }),
             Contains("tile_k = 32") && Contains("at least 64"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.tile_m = 100; }), Contains("tile_m = 100"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.tile_n = 0; }), Contains("tile_n = 0"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.tile_k = 48; }), Contains("tile_k = 48"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.tile_k = 128; }), Contains("bytes of LDS"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.mfma = 4; }), Contains("mfma = 4"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.waves_m = 3; }), Contains("waves = 3 x 2"));
  CHECK_THAT(refusal([](GemmSpec& s) {
               s.waves_m = s.waves_n = 1;
               s.tile_m = s.tile_n = 256;
               s.tile_k = 32;
             }),
             Contains("accumulators"));
}

TEST_CASE("gemm: the launch checks what the proofs left to it") {
  const GemmSpec spec;
  const LaunchPlan plan = plan_gemm_launch(spec, 129, 257, 72);
  CHECK(plan.grid == std::array<std::uint32_t, 3>{3, 2, 1});
  CHECK(plan.block == std::array<std::uint32_t, 3>{256, 1, 1});
  CHECK(plan.arguments.size() == 6);
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, 128, 12); }),
             Contains("8 or 16; a sum may be padded with zeros"));
  CHECK(plan_gemm_launch(spec, 0, 128, 8).grid[0] == 0); // nothing to write
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, 128, 0); }), Contains("k = 0"));
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, -1, 8); }), Contains("n = -1"));
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, 128, std::int64_t{1} << 22); }),
             Contains("1 to 2097152"));
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, std::int64_t{1} << 40, 128, 8); }),
             Contains("m = "));
}

TEST_CASE("arguments: sizes are in registers when a wave begins, in the same order in kernel, contract and "
          "launch") {
  GemmSpec spec;
  spec.arch = "gfx942";
  spec.tile_m = spec.tile_n = spec.tile_k = 64;
  spec.in = Element::i8, spec.out = Element::bf16, spec.scales = true;
  for (const bool bias : {false, true}) {
    spec.bias = bias;
    const Artifact a = build_gemm(spec);
    std::vector<std::string> names = {"c", "a", "b", "sa", "sb", "m", "n", "k"};
    if (bias) names.push_back("bias"); // 15 dwords: one too many
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
    const auto object = inlay::runtime::CodeObject::parse({bytes, bytes + a.hsaco.size()}, spec.arch);
    const inlay::runtime::Kernel& kernel = object.kernel(a.kernel);
    const LaunchPlan plan = a.contract.plan({65, 66, 80});
    REQUIRE(kernel.arguments.size() >= names.size());
    REQUIRE(plan.arguments.size() == names.size());
    std::vector<std::int32_t> sizes;
    for (std::size_t i = 0; i < names.size(); ++i) {
      CHECK(kernel.arguments[i].name == names[i]);
      const LaunchArgument& x = plan.arguments[i];
      const bool size = names[i].size() == 1 && names[i].find_first_of("mnk") == 0;
      CHECK((x.buffer < 0) == size);
      if (!size) {
        CHECK(a.contract.buffers[static_cast<std::size_t>(x.buffer)].name == names[i]);
        continue;
      }
      std::memcpy(&sizes.emplace_back(), x.scalar.data(), 4);
      CHECK(kernel.arguments[i].offset + 4 <= 4 * kernel.descriptor.preload_length);
    }
    CHECK(sizes == std::vector<std::int32_t>{65, 66, 80});
  }
}

TEST_CASE("a launch contract plans only what a dispatch can count: less than 2^32 work-items along x") {
  LaunchContract contract;
  contract.kernel = "rows";
  contract.sizes = {{"m", 1, INT32_MAX, 1}};
  contract.grid = {{0, 0, 1, 1}};
  contract.threads = 1024;
  const auto refusal = [&](std::int64_t m) { return message_of([&] { (void)contract.plan({m}); }); };
  CHECK(contract.plan({4194303}).grid[0] == 4194303); // 2^32 - 1024
  CHECK_THAT(refusal(4194304), Contains("4194304 workgroups of 1024 work-items along axis x") &&
                                   Contains("at most 4194303") && Contains("2^32"));
  CHECK_THAT(refusal(5000000), Contains("at most 4194303"));
  CHECK_THAT(refusal(INT32_MAX), Contains("at most 4194303"));
  contract.threads = 64;
  CHECK_NOTHROW(contract.plan({67108863}));
  CHECK_THAT(refusal(67108864), Contains("at most 67108863"));
  for (int axis : {1, 2}) { // where a workgroup is one work-item wide
    contract.grid = {{axis, 0, 1, 1}};
    CHECK_NOTHROW(contract.plan({65535}));
    CHECK_THAT(refusal(65536), Contains("at most 65535"));
  }
}

TEST_CASE("gemm: no rows or no columns are no launch; no K is refused, as C would be zeros") {
  const Artifact a = build_gemm(GemmSpec{});
  CHECK(a.contract.plan({0, 64, 64}).grid == std::array<std::uint32_t, 3>{0, 0, 0});
  CHECK(a.contract.plan({64, 0, 64}).grid == std::array<std::uint32_t, 3>{0, 0, 0});
  CHECK_THAT(message_of([&] { (void)a.contract.plan({64, 64, 0}); }), Contains("k = 0"));
  const auto device = open_device("emulator", a.arch, {});
  LoadedKernel kernel(*device, a);
  CHECK_NOTHROW(kernel.launch(std::vector<std::uint64_t>{0, 0, 0},
                              std::vector<std::int64_t>{0, 64, 64})); // empty tensors of torch lie at 0
}

TEST_CASE("gemm: an output that shares memory with an input is not launched") {
  const LaunchContract contract = build_gemm(GemmSpec{}).contract;
  // c, a, b in this order; m, n, k.
  const std::vector<std::int64_t> sizes = {130, 70, 24};
  CHECK(contract.buffers[0].bytes(sizes) == 130 * 70 * 2);
  CHECK(contract.buffers[1].bytes(sizes) == 130 * 24 * 2);
  CHECK(contract.buffers[2].bytes(sizes) == 70 * 24 * 2);
  const std::uint64_t c = 1 << 20, behind = c + 130 * 70 * 2;
  const auto refusal = [&](std::uint64_t a, std::uint64_t b) {
    return message_of([&] { contract.check_addresses({c, a, b}, sizes); });
  };
  CHECK_THAT(refusal(c, behind), Contains("output c shares memory with a"));
  CHECK_THAT(refusal(behind, behind - 4), Contains("shares memory with b"));
  CHECK_THAT(refusal(behind, c - 70 * 24 * 2 + 4), Contains("shares memory with b"));
  CHECK_NOTHROW(contract.check_addresses({c, behind, c - 70 * 24 * 2}, sizes));
  CHECK_NOTHROW(contract.check_addresses({c, behind, behind}, sizes)); // inputs may
}

TEST_CASE("gemm options: unknown, malformed and contradictory ones are refused with what there is") {
  const auto kernel = find_kernel("gemm");
  const auto refusal = [&](Flags flags) { return message_of([&] { (void)kernel->problem(flags, 1); }); };
  CHECK_THAT(refusal({{"mm", "5"}}), Contains("unknown option '--mm'") && Contains("--tile"));
  CHECK_THAT(refusal({{"m", "x"}}), Contains("--m 'x'"));
  CHECK_THAT(refusal({{"m", "99999999999999999999"}}), Contains("is not a number"));
  CHECK_THAT(refusal({{"tile", "128x128"}}), Contains("--tile '128x128'"));
  CHECK_THAT(refusal({{"tile", "128xx64"}}), Contains("is not of the form 128x128x64"));
  CHECK_THAT(refusal({{"dtype", "f8"}}), Contains("f8"));
  CHECK_THAT(message_of([] { (void)find_kernel("gemmm"); }),
             Contains("did you mean gemm? inlay kernels lists all"));
}

TEST_CASE("gemm: the judge accepts the reference and no single wrong element") {
  const GemmSpec spec;
  const Problem problem = gemm_problem(spec, 5, 7, 16, 3);
  // An exact product, computed here in the plainest way.
  std::vector<Bytes> buffers;
  for (const auto& buffer : problem.buffers) buffers.push_back(buffer.data);
  CHECK_FALSE(problem.check(buffers).ok); // poison is not a result
  const auto half = [](const Bytes& bytes, std::size_t i) {
    const unsigned u = std::to_integer<unsigned>(bytes[2 * i]) | std::to_integer<unsigned>(bytes[2 * i + 1])
                                                                     << 8;
    const int exponent = static_cast<int>(u >> 10 & 31), fraction = static_cast<int>(u & 1023);
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return u >> 15 ? -magnitude : magnitude;
  };
  const auto to_half = [](double value) {
    const _Float16 rounded = static_cast<_Float16>(value);
    std::uint16_t u;
    std::memcpy(&u, &rounded, 2);
    return u;
  };
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 7; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 16; ++k) sum += half(buffers[1], i * 16 + k) * half(buffers[2], j * 16 + k);
      const std::uint16_t u = to_half(sum);
      std::memcpy(buffers[0].data() + 2 * (i * 7 + j), &u, 2);
    }
  const Check good = problem.check(buffers);
  CHECK(good.ok);
  CHECK(good.worst_of_bound <= 1);
  for (std::size_t i : {std::size_t{0}, std::size_t{17}, std::size_t{34}}) {
    std::vector<Bytes> wrong = buffers;
    wrong[0][2 * i + 1] ^= std::byte{0x04}; // one exponent bit
    CHECK_FALSE(problem.check(wrong).ok);
    CHECK_THAT(problem.check(wrong).message, Contains("element ("));
  }
}

} // namespace gemm_test
