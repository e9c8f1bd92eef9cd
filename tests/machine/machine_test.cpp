// The tables of the machine: what must hold of every row, and what is asked of them by name.
#include <catch2/catch.hpp>
#include <fstream>
#include <inlay/machine/formats.h>
#include <inlay/machine/lds.h>
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>
#include <map>
#include <set>
#include <sstream>

namespace machine_test {

using namespace inlay::machine;

TEST_CASE(
    "targets: found by name, by product and by generic processor; an unknown one is refused with the list") {
  CHECK(Target::named("gfx942").lds_bytes == 65536);
  CHECK(Target::named("gfx950").lds_bytes == 163840);
  CHECK(find_target("gfx908") == nullptr);
  CHECK(find_runner("gfx90a") == &Target::named("MI250X"));
  CHECK(find_runner("") == nullptr);
  CHECK(find_runner("gfx9-4-generic") == &Target::named("gfx942"));
  CHECK(find_runner("gfx950") == &Target::named("gfx950"));
  CHECK(find_runner("gfx1100") == nullptr);
  CHECK(Target::named("gfx942").is_chip("mi300a"));
  CHECK(!Target::named("gfx942").is_chip("mi300x mi300a"));
  CHECK(!Target::named("gfx950").is_chip("mi300x"));
  CHECK(names(" or ") == "gfx942 or gfx950 or gfx90a");
  CHECK(Target::named("MI300X").name == "gfx942");
  CHECK(Target::named("mi355x").name == "gfx950");
  CHECK(find_chip("GFX950") == &Target::named("gfx950"));
  CHECK(find_chip("MI355") == &Target::named("gfx950"));
  CHECK(find_chip("mi325") == &Target::named("gfx942"));
  for (const char* wrong : {"", "MI100", "gfx", "gfx9422", "MI3", "I355X", "mi300x mi300a", "MI300X "}) {
    INFO(wrong);
    CHECK(find_chip(wrong) == nullptr);
  }
  try {
    (void)Target::named("MI100");
    FAIL("found");
  } catch (const UnknownTarget& e) {
    const std::string what = e.what();
    CHECK(what == "unknown architecture\n  arch   MI100\n  hint   gfx942 (MI300X, MI325X) or gfx950 (MI350X, "
                  "MI355X) or gfx90a "
                  "(MI210, MI250X)");
  }
}

TEST_CASE("targets: what follows from a row") {
  for (const Target& t : targets) {
    INFO(t.name);
    CHECK(!(t.fnuz_fp8 && t.ocp_fp8));
    CHECK(t.has_fp8() == (multiply_adds_per_clock(t.arch, Operand::fp8) > 0));
    CHECK(t.preloaded_dwords == 16 - 2 - (t.architected_scratch ? 0 : 4));
    CHECK(t.lds_bytes % t.lds_granule == 0);
    CHECK(t.occupancy(1) == t.max_waves_per_simd);
    CHECK(t.occupancy(t.registers_per_simd_lane) == 1);
    CHECK(t.occupancy(t.registers_per_simd_lane + 1) == 0);
    CHECK(t.occupancy(128) == 4);
    CHECK(t.occupancy(129) == 3);
    CHECK(every_target.contains(t));
    CHECK(with(&Target::ocp_fp8).contains(t) != without(&Target::ocp_fp8).contains(t));
  }
  CHECK(Target::named("gfx942").lanes_per_transfer() == 4);
  CHECK(Target::named("gfx950").lanes_per_transfer() == 1);
  CHECK(Target::named("gfx950").moves_to_lds(12));
  CHECK(!Target::named("gfx942").moves_to_lds(16));
  CHECK(with(&Target::packs_bf16).names() == "gfx950");
  CHECK(every_target.names() == "gfx942, gfx950, gfx90a");
}

TEST_CASE(
    "LDS: each access has a row, its phases share the lanes out evenly, within the bandwidth of the banks") {
  for (const Target& t : targets)
    for (const bool write : {false, true})
      for (const unsigned bytes : {4u, 8u, 12u, 16u}) {
        const LdsService& s = lds_service(t.arch, write, bytes);
        INFO(t.name << (write ? " write " : " read ") << bytes);
        CHECK((s.arch == t.arch && s.write == write && s.bytes == bytes));
        std::vector<unsigned> lanes(s.phases());
        for (const auto p : s.phase) ++lanes[p];
        CHECK(std::set<unsigned>(lanes.begin(), lanes.end()).size() == 1);
        CHECK(lanes[0] * bytes <= 4 * s.banks);
      }
  CHECK(&lds_service(Arch::gfx942, false, 1) == &lds_service(Arch::gfx942, false, 4));
  CHECK_THROWS_AS(lds_service(Arch::gfx942, false, 20), std::invalid_argument);
  // Two of the published groups, as numbers: the rows have them as text.
  const auto& read = lds_service(Arch::gfx942, false, 16);
  for (unsigned lane = 0; lane < 64; ++lane)
    CHECK((read.phase[lane] == 0) == (lane <= 3 || (lane >= 20 && lane <= 23)));
}

TEST_CASE("matrix instructions: a row has a target, layouts and an intrinsic; names are different") {
  std::set<std::string_view> seen;
  for (const MatrixInstruction& i : matrix_instructions()) {
    INFO(i.name);
    CHECK(seen.insert(i.name).second);
    CHECK(find_matrix_instruction(i.name) == &i);
    CHECK(find_matrix_instruction(std::string(i.name) + "_e64") == &i);
    bool somewhere = false;
    for (const Target& t : targets) {
      somewhere |= i.on(t.arch);
      if (i.typed_by_modifiers) {
        CHECK(i.on(t.arch) == t.mx_formats);
        CHECK(2 * i.timing_on(t.arch, true).passes == i.timing_on(t.arch).passes);
      }
      // The next reader of D waits for all passes, and for some states more where that is published.
      if (i.on(t.arch) && i.timing_on(t.arch).wait_states >= 0)
        CHECK(i.timing_on(t.arch).wait_states > i.timing_on(t.arch).passes);
    }
    CHECK(somewhere);
    CHECK((!i.a_layout.empty() && !i.b_layout.empty() && !i.d_layout.empty() &&
           i.intrinsic.starts_with("llvm.amdgcn.")));
    CHECK(i.scaled == !i.scale_layout.empty());
    CHECK(i.typed_by_modifiers == !i.narrow_layout.empty());
  }
  CHECK(find_matrix_instruction("v_mfma_f32_16x16x17_f16") == nullptr);
}

TEST_CASE("matrix instructions: clocks are those of AMD's calculator and LLVM's scheduling model") {
  std::ifstream file(INLAY_TESTS_DIR "/machine/data/matrix_clocks.txt");
  std::map<std::string, std::array<int, 3>> clocks;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    std::array<int, 3> on{};
    if (line.starts_with("#") || !(fields >> name >> on[0] >> on[1])) continue;
    fields >> on[2];
    clocks[name] = on;
  }
  REQUIRE(clocks.size() == 54 + 27);
  for (const MatrixInstruction& i : matrix_instructions()) {
    if (i.typed_by_modifiers) continue; // tests/runtime/isa_report_test.cpp has each combination
    std::string name(i.name);
    for (std::size_t at; !clocks.contains(name) && (at = name.find("bf8")) != std::string::npos;)
      name.replace(at, 3, "fp8");
    INFO(i.name);
    REQUIRE(clocks.contains(name));
    CHECK(4 * i.timing_on(Arch::gfx942).passes == clocks[name][0]);
    CHECK(4 * i.timing_on(Arch::gfx950).passes == clocks[name][1]);
    CHECK(4 * i.timing_on(Arch::gfx90a).passes == clocks[name][2]);
  }
}

TEST_CASE("matrix instructions: products a clock are the vendor's peak rates") {
  // ROCm documentation, "Data types and precision support" / AMD's data sheets: dense TFLOPS of MI300X at 2.1 GHz and MI355X at 2.4 GHz.
  const auto peak = [](Arch arch, Operand a) {
    const Target& t = target(arch);
    return 2e-6 * multiply_adds_per_clock(arch, a) * t.compute_units * t.clock_mhz;
  };
  CHECK(peak(Arch::gfx942, Operand::f16) == Approx(1307.4).epsilon(0.001));
  CHECK(peak(Arch::gfx942, Operand::fp8) == Approx(2614.9).epsilon(0.001));
  CHECK(peak(Arch::gfx942, Operand::f64) == Approx(163.4).epsilon(0.001));
  CHECK(peak(Arch::gfx942, Operand::xf32) == Approx(653.7).epsilon(0.001));
  CHECK(peak(Arch::gfx950, Operand::f16) == Approx(2516.6).epsilon(0.001));
  CHECK(peak(Arch::gfx950, Operand::fp8) == Approx(5033.2).epsilon(0.001));
  CHECK(peak(Arch::gfx950, Operand::fp4) == Approx(10066.3).epsilon(0.001));
  CHECK(peak(Arch::gfx950, Operand::f64) == Approx(78.6).epsilon(0.001));
  CHECK(multiply_adds_per_clock(Arch::gfx950, Operand::xf32) == 0);
  // CDNA 2 white paper: an MI250X, two dies at 1.7 GHz: 383 TFLOPS of f16, bf16 and i8, 95.7 of f32 and f64 matrices.
  CHECK(2 * peak(Arch::gfx90a, Operand::f16) == Approx(383.0).epsilon(0.001));
  CHECK(2 * peak(Arch::gfx90a, Operand::bf16) == Approx(383.0).epsilon(0.001));
  CHECK(2 * peak(Arch::gfx90a, Operand::i8) == Approx(383.0).epsilon(0.001));
  CHECK(2 * peak(Arch::gfx90a, Operand::f32) == Approx(95.7).epsilon(0.001));
  CHECK(2 * peak(Arch::gfx90a, Operand::f64) == Approx(95.7).epsilon(0.001));
  CHECK(multiply_adds_per_clock(Arch::gfx90a, Operand::fp8) == 0);
}

TEST_CASE("matrix instructions: what gfx90a names otherwise computes the same") {
  const auto* later = find_matrix_instruction("v_mfma_f32_16x16x16_bf16");
  CHECK(same_product(*later, Arch::gfx90a) == find_matrix_instruction("v_mfma_f32_16x16x16bf16_1k"));
  CHECK(same_product(*later, Arch::gfx942) == later);
  CHECK(same_product(*find_matrix_instruction("v_mfma_f32_16x16x32_fp8_fp8"), Arch::gfx90a) == nullptr);
  int here = 0;
  for (const MatrixInstruction& i : matrix_instructions()) {
    if (!i.on(Arch::gfx90a)) continue;
    INFO(i.name);
    ++here;
    CHECK((!i.on(Arch::gfx942) && !i.on(Arch::gfx950)));
    CHECK(i.permutes_b == (i.d != Operand::f64));
    if (const auto* same = same_product(i, Arch::gfx942))
      CHECK((same->a_layout == i.a_layout && same->d_layout == i.d_layout && same->intrinsic == i.intrinsic));
  }
  CHECK(here == 27);
}

TEST_CASE("formats: a row's widths add up, names are different") {
  std::set<std::string_view> seen;
  for (const Format& f : formats) {
    INFO(f.name);
    CHECK(seen.insert(f.name).second);
    CHECK(&format(f.name) == &f);
    if (!f.floating() || f.name == "xf32") continue; // xf32 is 32 bits in memory
    CHECK(f.exponent_bits + f.mantissa_bits + (f.name == "e8m0" ? 0 : 1) == f.bits);
  }
  CHECK_THROWS_AS(format("f8"), std::invalid_argument);
}

} // namespace machine_test
