// From assembly text to the registers of a wave: operands, accumulation registers, constants, fields.
#include "emulator/matrix.h"
#include "mfma_support.h"

#include <bit>
#include <catch2/catch.hpp>
#include <inlay/runtime/isa/assemble.h>

namespace mfma_prepare_test {

using namespace inlay::runtime;
using oracle::Problem;
using oracle::Registers;

namespace {

isa::Instruction one(const std::string& text, isa::Arch arch) {
  const isa::Program program = isa::decode(isa::assemble(text, arch), 0x1000, arch);
  REQUIRE(program.instructions.size() == 1);
  return program.instructions[0];
}

void place(emulator::WaveState& wave, unsigned row, const Registers& r) {
  std::copy(r.begin(), r.end(), wave.row(row));
}

Registers rows(const emulator::WaveState& wave, unsigned row, std::size_t words) {
  return Registers(wave.row(row), wave.row(row) + words);
}

// Random small integers in a, b and c.
void fill(Problem& p, unsigned seed) {
  std::mt19937 random(seed);
  for (auto* matrix : {&p.a, &p.b, &p.c}) {
    for (auto& x : *matrix) {
      x = static_cast<double>(static_cast<int>(random() % 9) - 4);
    }
  }
  p.store();
}

} // namespace

TEST_CASE("operands in vector and accumulation registers", "[mfma]") {
  const auto text = "v_mfma_f32_32x32x8_f16 a[16:31], v[2:3], a[4:5], a[32:47]";
  const auto instruction = one(text, isa::Arch::gfx942);
  const auto prepared = emulator::prepare_matrix(instruction, isa::Arch::gfx942, 128);
  REQUIRE(prepared != nullptr);
  Problem p(*find_matrix_op("v_mfma_f32_32x32x8_f16"), {}, numerics::Fp8::fnuz);
  fill(p, 1);
  emulator::WaveState wave(128);
  place(wave, 2, p.a_registers);
  place(wave, 132, p.b_registers);
  place(wave, 160, p.c_registers);
  wave.set_scalar64(emulator::exec_lo, 0); // plays no part
  prepared->execute(wave);
  CHECK(p.numbers(rows(wave, 144, p.c_registers.size())) == p.definition());
  CHECK(rows(wave, 160, p.c_registers.size()) == p.c_registers);
}

TEST_CASE("constants for C", "[mfma]") {
  struct Case {
    const char* text;
    const char* name;
    double value;
  };
  for (const auto& [text, name, value] :
       {Case{"v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], 0", "v_mfma_f32_16x16x16_f16", 0.0},
        Case{"v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], -4.0", "v_mfma_f32_16x16x16_f16", -4.0},
        Case{"v_mfma_i32_16x16x32_i8 v[0:3], v[8:9], v[10:11], -16", "v_mfma_i32_16x16x32_i8", -16.0},
        Case{"v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0.5", "v_mfma_f64_16x16x4_f64", 0.5}}) {
    CAPTURE(text);
    Problem p(*find_matrix_op(name), {}, numerics::Fp8::fnuz);
    fill(p, 2);
    p.c.assign(p.c.size(), value);
    emulator::WaveState wave;
    place(wave, 8, p.a_registers);
    place(wave, 10, p.b_registers);
    emulator::prepare_matrix(one(text, isa::Arch::gfx942), isa::Arch::gfx942, 256)->execute(wave);
    CHECK(p.numbers(rows(wave, 0, p.c_registers.size())) == p.definition());
  }
}

TEST_CASE("the bytes of fp8 are FNUZ on gfx942 and OCP on gfx950", "[mfma]") {
  for (const auto arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    emulator::WaveState wave;
    for (unsigned r = 0; r < 4; ++r) {
      std::fill_n(wave.row(8 + r), 64, 0x38383838u);
    }
    emulator::prepare_matrix(one("v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[8:9], v[10:11], 0", arch), arch, 256)
        ->execute(wave);
    // 32 products of 0.5 * 0.5, or of 1 * 1.
    CHECK(std::bit_cast<float>(wave.row(2)[17]) == (arch == isa::Arch::gfx942 ? 8.0f : 32.0f));
  }
}

TEST_CASE("signs of f64, broadcasts, sparse indices", "[mfma]") {
  {
    Problem p(*find_matrix_op("v_mfma_f64_4x4x4_4b_f64"), {}, numerics::Fp8::fnuz);
    fill(p, 3);
    emulator::WaveState wave;
    place(wave, 8, p.a_registers);
    place(wave, 10, p.b_registers);
    place(wave, 0, p.c_registers);
    emulator::prepare_matrix(
        one("v_mfma_f64_4x4x4_4b_f64 v[0:1], v[8:9], v[10:11], v[0:1] neg:[1,0,1]", isa::Arch::gfx942),
        isa::Arch::gfx942, 256)
        ->execute(wave);
    auto want = p.definition();
    for (auto& x : want) {
      x = -x;
    }
    CHECK(p.numbers(rows(wave, 0, p.c_registers.size())) == want);
  }
  {
    Problem p(*find_matrix_op("v_mfma_f32_4x4x4_16b_f16"), {}, numerics::Fp8::fnuz);
    fill(p, 4);
    emulator::WaveState wave;
    place(wave, 8, p.a_registers);
    place(wave, 10, p.b_registers);
    place(wave, 0, p.c_registers);
    emulator::prepare_matrix(
        one("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], v[0:3] cbsz:2 abid:3", isa::Arch::gfx942),
        isa::Arch::gfx942, 256)
        ->execute(wave);
    Problem q = p;
    for (int block = 0; block < 16; ++block) {
      for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 4; ++k) {
          q.a[q.at_a(block, i, k)] = p.a[p.at_a(block / 4 * 4 + 3, i, k)];
        }
      }
    }
    CHECK(p.numbers(rows(wave, 0, p.c_registers.size())) == q.definition());
  }
  {
    Problem p(*find_matrix_op("v_smfmac_f32_16x16x32_f16"), {.abid = 2}, numerics::Fp8::fnuz);
    fill(p, 5);
    for (auto& word : p.index) {
      word = 0xee8899ccu; // bits 23:16 are 0x88, the third set
    }
    emulator::WaveState wave;
    place(wave, 8, p.a_registers);
    place(wave, 12, p.b_registers);
    place(wave, 20, p.index);
    place(wave, 0, p.c_registers);
    emulator::prepare_matrix(
        one("v_smfmac_f32_16x16x32_f16 v[0:3], v[8:9], v[12:15], v20 abid:2", isa::Arch::gfx942),
        isa::Arch::gfx942, 256)
        ->execute(wave);
    CHECK(p.numbers(rows(wave, 0, p.c_registers.size())) == p.definition());
  }
}

TEST_CASE("scales: registers and bytes", "[mfma]") {
  Problem p(*find_matrix_op("v_mfma_scale_f32_16x16x128_f8f6f4"), {.cbsz = 4, .blgp = 2}, numerics::Fp8::ocp);
  fill(p, 6);
  emulator::WaveState wave;
  place(wave, 8, p.a_registers);
  place(wave, 16, p.b_registers);
  place(wave, 0, p.c_registers);
  std::fill_n(wave.row(30), 64, 0x7f807f7fu); // byte 2: scale 2
  std::fill_n(wave.row(31), 64, 0x817f7f7fu); // byte 3: scale 4
  const auto instruction = one("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:11], v[16:21], v[0:3], v30, "
                               "v31 op_sel:[0,1,0] op_sel_hi:[1,1,0] cbsz:4 blgp:2",
                               isa::Arch::gfx950);
  emulator::prepare_matrix(instruction, isa::Arch::gfx950, 256)->execute(wave);
  auto want = p.definition();
  for (std::size_t n = 0; n < want.size(); ++n) {
    want[n] = (want[n] - p.c[n]) * 8 + p.c[n];
  }
  CHECK(p.numbers(rows(wave, 0, p.c_registers.size())) == want);
}

TEST_CASE("what is no matrix instruction of the architecture is not prepared", "[mfma]") {
  const auto xf32 = one("v_mfma_f32_16x16x8_xf32 v[0:3], v[8:9], v[10:11], 0", isa::Arch::gfx942);
  CHECK(emulator::prepare_matrix(xf32, isa::Arch::gfx942, 256) != nullptr);
  CHECK(emulator::prepare_matrix(xf32, isa::Arch::gfx950, 256) == nullptr);
  CHECK(emulator::prepare_matrix(one("v_add_f32 v0, v1, v2", isa::Arch::gfx942), isa::Arch::gfx942, 256) ==
        nullptr);
  // An accumulation register beyond the file: an error, not an access.
  const auto far = one("v_mfma_f32_32x32x8_f16 a[240:255], v[2:3], v[4:5], 0", isa::Arch::gfx942);
  CHECK_THROWS_AS(emulator::prepare_matrix(far, isa::Arch::gfx942, 260), isa::IsaError);
}

TEST_CASE("gfx90a: f16 and bf16 products know no subnormals, those of f32 do", "[mfma]") {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const auto pair = [](std::uint32_t x) { return x | x << 16; };
  // Every element of A, B and C is the same number: D is C + 16 a b where nothing is flushed.
  struct Case {
    const char* text;
    isa::Arch arch;
    std::uint32_t a, b;
    float c, want;
  };
  constexpr float least = 0x1p-126F;
  const auto h = isa::Arch::gfx90a, later = isa::Arch::gfx942;
  for (const auto& [text, arch, a, b, c, want] :
       {// 0x0200 is 2^-15, subnormal in f16; 0x7800 is 2^15; 0x0400 is 2^-14, the least normal number.
        Case{"v_mfma_f32_16x16x16f16 v[0:3], v[8:9], v[10:11], v[0:3]", h, pair(0x0200), pair(0x7800), 1, 1},
        Case{"v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]", later, pair(0x0200), pair(0x7800), 1,
             17},
        Case{"v_mfma_f32_16x16x16f16 v[0:3], v[8:9], v[10:11], v[0:3]", h, pair(0x7800), pair(0x8200), 1, 1},
        Case{"v_mfma_f32_16x16x16f16 v[0:3], v[8:9], v[10:11], v[0:3]", h, pair(0x0400), pair(0x7800), 1, 33},
        // 0x0040 is 2^-127 in bf16, 0x7f00 is 2^127.
        Case{"v_mfma_f32_16x16x16bf16_1k v[0:3], v[8:9], v[10:11], v[0:3]", h, pair(0x0040), pair(0x7f00), 1,
             1},
        Case{"v_mfma_f32_16x16x16_bf16 v[0:3], v[8:9], v[10:11], v[0:3]", later, pair(0x0040), pair(0x7f00),
             1, 17},
        Case{"v_mfma_f32_16x16x8bf16 v[0:3], v8, v10, v[0:3]", h, pair(0x0040), pair(0x7f00), 1, 1},
        // C: 2^-127 comes in as zero.
        Case{"v_mfma_f32_16x16x16f16 v[0:3], v[8:9], v[10:11], v[0:3]", h, 0, 0, least / 2, 0},
        Case{"v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]", later, 0, 0, least / 2, least / 2},
        Case{"v_mfma_f32_16x16x4f32 v[0:3], v8, v10, v[0:3]", h, 0, 0, least / 2, least / 2},
        Case{"v_mfma_f32_16x16x4f32 v[0:3], v8, v10, v[0:3]", h, bits(least / 2), bits(0x1p126F), 1, 3}}) {
    CAPTURE(text, a, b, c);
    emulator::WaveState wave;
    for (unsigned l = 0; l < 64; ++l) {
      for (const unsigned r : {8U, 9U}) wave.row(r)[l] = a;
      for (const unsigned r : {10U, 11U}) wave.row(r)[l] = b;
      for (unsigned r = 0; r < 4; ++r) wave.row(r)[l] = bits(c);
    }
    emulator::prepare_matrix(one(text, arch), arch, 256)->execute(wave);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned r = 0; r < 4; ++r) REQUIRE(wave.row(r)[l] == bits(want));
  }
  // The sign stays.
  emulator::WaveState wave;
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < 12; ++r) wave.row(r)[l] = r < 4 ? bits(-least / 2) : 0x80008000U;
  emulator::prepare_matrix(one("v_mfma_f32_16x16x16f16 v[0:3], v[8:9], v[10:11], v[0:3]", h), h, 256)
      ->execute(wave);
  CHECK((wave.row(0)[0] & 0x7fffffffU) == 0);
}

} // namespace mfma_prepare_test
