// The GEMM before it runs: supported specifications, refusals by name, proofs, and broken layouts stopped by them.
#include <inlay/kernels/gemm/spec.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

using namespace inlay::kernels;
using Catch::Matchers::Contains;

namespace {

GemmSpec with(GemmFault fault) {
  GemmSpec spec;
  spec.fault = fault;
  return spec;
}

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
    for (DType type : {DType::f16, DType::bf16})
      for (int mfma : {16, 32}) {
        GemmSpec spec;
        spec.arch = arch;
        spec.in = spec.out = type;
        spec.mfma = mfma;
        spec.tile_m = spec.tile_n = 64;
        const Artifact kernel = build_gemm(spec);
        INFO(arch << " " << to_string(type) << " " << mfma);
        CHECK(kernel.proofs.proved() >= 30);
        CHECK(kernel.proofs.at_launch_count() == 3);
        CHECK(kernel.hsaco.size() > 1000);
        CHECK_THAT(kernel.proofs.text(), Contains("LDS reads of A have no bank conflict"));
      }
}

// Three layouts broken on purpose: the build stops with the counterexample and the line of the specification.

TEST_CASE("gemm, broken: a swizzle on the write side only") {
  const std::string message = message_of([] { (void)build_gemm(with(GemmFault::swizzle_on_write_only)); });
  CHECK_THAT(message, Contains("LDS reads of A see what was written"));
  CHECK_THAT(message, Contains("counterexample: at index 1 = (1,0) the values are 144 and 128"));
  CHECK_THAT(message, Contains("gemm_test.cpp:"));
}

TEST_CASE("gemm, broken: B is fed in another order of k than A") {
  const std::string message = message_of([] { (void)build_gemm(with(GemmFault::k_order_of_b)); });
  CHECK_THAT(message, Contains("A and B are fed in the same order of k"));
  CHECK_THAT(message, Contains("counterexample: at index 1"));
}

TEST_CASE("gemm, broken: the waves' tiles do not cover M") {
  const std::string message = message_of([] { (void)build_gemm(with(GemmFault::tile_does_not_cover_m)); });
  CHECK_THAT(message, Contains("counterexample: no index gives the value"));
  CHECK_THAT(message, Contains("gemm_test.cpp:"));
}

TEST_CASE("gemm: what is not supported is refused by name") {
  const auto refusal = [](auto change) {
    GemmSpec spec;
    change(spec);
    return message_of([&] { (void)build_gemm(spec); });
  };
  CHECK_THAT(refusal([](GemmSpec& s) { s.arch = "gfx90a"; }), Contains("gfx942"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.in = DType::f32; }), Contains("in = f32"));
  CHECK_THAT(refusal([](GemmSpec& s) { s.out = DType::bf16; }), Contains("out = bf16"));
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
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, 128, 12); }), Contains("pad K to 16"));
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 0, 128, 8); }), Contains("M = 0"));
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, -1, 8); }), Contains("N = -1"));
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, 128, 128, std::int64_t{1} << 22); }),
             Contains("too long"));
  CHECK_THAT(message_of([&] { (void)plan_gemm_launch(spec, std::int64_t{1} << 40, 128, 8); }),
             Contains("M = "));
}

TEST_CASE("gemm options: unknown, malformed and contradictory ones are refused with what there is") {
  const auto kernel = find_kernel("gemm");
  const auto refusal = [&](Flags flags) { return message_of([&] { (void)kernel->problem(flags, 1); }); };
  CHECK_THAT(refusal({{"mm", "5"}}), Contains("unknown option '--mm'") && Contains("--tile"));
  CHECK_THAT(refusal({{"m", "x"}}), Contains("--m 'x'"));
  CHECK_THAT(refusal({{"m", "99999999999999999999"}}), Contains("is not a number"));
  CHECK_THAT(refusal({{"tile", "128x128"}}), Contains("--tile '128x128'"));
  CHECK_THAT(refusal({{"tile", "128xx64"}}), Contains("is not of the form 128x128x64"));
  CHECK_THAT(refusal({{"dtype", "f8"}}), Contains("unknown element type 'f8'"));
  CHECK_THAT(message_of([] { (void)find_kernel("gemmm"); }), Contains("gemm, preshuffle_gemm, softmax"));
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
