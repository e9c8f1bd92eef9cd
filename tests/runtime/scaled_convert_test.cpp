// V_CVT_SCALEF32_*: every mnemonic assembled, decoded and executed, against a search among all codes of the
// destination format and the exact product or quotient.
#include "emulator/numerics/scaled_convert.h"

#include "emulator/numerics/float_ops.h"
#include "emulator/scaled_convert.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <inlay/runtime/isa/assemble.h>
#include <random>
#include <string>
#include <vector>

namespace scaled_convert_test {

using namespace inlay::runtime;
using numerics::Format;

namespace {

isa::Instruction one(const std::string& text) {
  const isa::Program program = isa::decode(isa::assemble(text, isa::Arch::gfx950), 0x1000, isa::Arch::gfx950);
  REQUIRE(program.instructions.size() == 1);
  return program.instructions[0];
}

std::string registers(unsigned first, int count) {
  return count == 1 ? "v" + std::to_string(first)
                    : "v[" + std::to_string(first) + ":" +
                          std::to_string(first + static_cast<unsigned>(count) - 1) + "]";
}

// Words a lane needs for `count` elements of a type.
int words(const numerics::ScaledType& type, int count) { return std::max(1, type.bits() * count / 32); }

std::uint32_t bits_at(const emulator::WaveState& wave, unsigned row, unsigned lane, int first, int width) {
  std::uint32_t code = 0;
  for (int n = 0; n < width; ++n) {
    const auto at = static_cast<unsigned>(first + n);
    code |= (wave.row(row + at / 32)[lane] >> at % 32 & 1u) << n;
  }
  return code;
}

double number(const numerics::ScaledType& type, std::uint32_t code) {
  return static_cast<double>(type.f32 ? std::bit_cast<float>(code) : numerics::widen(type.format, code));
}

// Whether `code` is the nearest code (ties to even) to x, or what overflow and NaN become.
bool is_nearest(Format format, std::uint32_t code, double x, bool saturate) {
  const auto f = numerics::facts(format);
  const double got = static_cast<double>(numerics::widen(format, code));
  const double largest = static_cast<double>(numerics::widen(format, f.largest()));
  if (std::isnan(x)) {
    return f.top == numerics::Top::numbers ? std::fabs(got) == largest : std::isnan(got);
  }
  // One step above the largest number, where ties of overflow are decided.
  const double step = largest - static_cast<double>(numerics::widen(format, f.largest() - 1));
  if (std::fabs(x) > largest + step / 2 || (std::fabs(x) == largest + step / 2 && (f.largest() & 1u) != 0)) {
    if (f.top == numerics::Top::numbers || (saturate && f.bits() == 8) || (saturate && std::isfinite(x))) {
      return got == std::copysign(largest, x);
    }
    return f.top == numerics::Top::infinity ? got == std::copysign(HUGE_VAL, x) : std::isnan(got);
  }
  if (std::signbit(got) != std::signbit(x)) {
    return false;
  }
  const double error = std::fabs(got - x);
  const std::uint32_t magnitude = code & (f.sign_bit() - 1);
  const auto value = [&](std::uint32_t c) {
    return std::copysign(static_cast<double>(numerics::widen(format, c)), x);
  };
  const auto beaten = [&](double other) {
    return std::fabs(other - x) < error || (std::fabs(other - x) == error && (code & 1u) != 0);
  };
  return magnitude <= f.largest() && !(magnitude > 0 && beaten(value(magnitude - 1))) &&
         !(magnitude < f.largest() && beaten(value(magnitude + 1)));
}

} // namespace

TEST_CASE("every scaled conversion rounds the exact scaled value once and writes only its place",
          "[numerics]") {
  REQUIRE(numerics::scaled_conversion_names().size() == 49);
  std::mt19937 random(41);
  for (const auto name : numerics::scaled_conversion_names()) {
    const auto c = *numerics::scaled_conversion(name);
    CAPTURE(name);
    const unsigned d_row = 0, s_row = 40, t_row = 80, seed_row = 120, scale_row = 121;
    // Operand sizes as LLVM's assembler demands them: it is the one that accepts the text.
    const int s_words = c.interleaved ? 16 : c.two_operands ? 1 : words(c.source, c.count);
    std::string text = std::string(name) + " " + registers(d_row, words(c.destination, c.count)) + ", " +
                       registers(s_row, s_words);
    if (c.interleaved || c.two_operands) {
      text += ", " + registers(t_row, s_words);
    }
    if (c.stochastic) {
      text += ", " + registers(seed_row, 1);
    }
    text += ", " + registers(scale_row, 1);
    // The places of the small operand: bytes, halves, or everything.
    const int small_bits = std::min(c.destination.bits(), c.source.bits());
    const bool to_half = !c.narrows() && c.destination.bits() == 16 && c.count == 1;
    std::vector<std::string> selects = {""};
    std::vector<int> from_places = {0}, to_places = {0};
    if (c.count < 32 && c.narrows()) {
      const bool halves = c.count == 2 && small_bits == 8;
      // The destination half is the last of op_sel, the byte its last two of four.
      selects =
          halves
              ? std::vector<std::string>{"", c.two_operands ? " op_sel:[0,0,0,1]" : " op_sel:[0,0,1]"}
              : std::vector<std::string>{"", " op_sel:[0,0,1,0]", " op_sel:[0,0,0,1]", " op_sel:[0,0,1,1]"};
      to_places = halves ? std::vector<int>{0, 16} : std::vector<int>{0, 8, 16, 24};
      from_places.assign(to_places.size(), 0);
    } else if (c.count < 32) {
      const bool halves = c.count == 2 && small_bits == 8;
      selects = halves
                    ? std::vector<std::string>{"", " op_sel:[1,0,0]"}
                    : std::vector<std::string>{"", " op_sel:[1,0,0]", " op_sel:[0,1,0]", " op_sel:[1,1,0]"};
      from_places = halves ? std::vector<int>{0, 16} : std::vector<int>{0, 8, 16, 24};
      to_places.assign(from_places.size(), 0);
      if (to_half) {
        selects.push_back(" op_sel:[0,0,1]");
        from_places.push_back(0);
        to_places.push_back(16);
      }
    }
    for (std::size_t select = 0; select < selects.size(); ++select) {
      for (const bool saturate : {false, true}) {
        CAPTURE(text + selects[select], saturate);
        const auto instruction = one(text + selects[select]);
        REQUIRE(instruction.mnemonic == name);
        const auto prepared = emulator::prepare_scaled_conversion(instruction, isa::Arch::gfx950, 256);
        REQUIRE(prepared != nullptr);
        emulator::WaveState wave;
        for (unsigned row = 0; row < 128; ++row) {
          for (unsigned lane = 0; lane < 64; ++lane) {
            wave.row(row)[lane] = static_cast<std::uint32_t>(random());
            if (c.source.f32 && row >= s_row && row < seed_row &&
                lane % 4 != 0) { // sizes that the small formats have
              wave.row(row)[lane] =
                  (wave.row(row)[lane] & 0x83ffffffu) | (0x3c000000u + (wave.row(row)[lane] & 0x04000000u));
            }
          }
        }
        for (unsigned lane = 0; lane < 64; ++lane) {
          const auto code = lane == 7   ? 255u
                            : lane == 8 ? 0u
                            : lane < 40 ? 120u + static_cast<std::uint32_t>(random() % 15)
                                        : static_cast<std::uint32_t>(random() % 255);
          wave.row(scale_row)[lane] = code << 23 | (static_cast<std::uint32_t>(random()) & 0x807fffffu);
        }
        const std::uint64_t exec = 0xfffffffffffffffbu; // not lane 2
        wave.set_scalar64(emulator::exec_lo, exec);
        wave.mode = saturate ? 1u << 23 : 0u;
        std::vector<std::vector<std::uint32_t>> before;
        for (unsigned row = 0; row < 40; ++row) {
          before.emplace_back(wave.row(row), wave.row(row) + 64);
        }
        prepared->execute(wave);
        for (unsigned lane = 0; lane < 64; ++lane) {
          CAPTURE(lane);
          std::uint32_t seed = wave.row(seed_row)[lane];
          const std::uint32_t scale = wave.row(scale_row)[lane] >> 23 & 0xffu;
          const double factor = scale == 255 ? NAN : std::ldexp(1.0, static_cast<int>(scale) - 127);
          int used_bits = 0;
          for (int e = 0; e < c.count; ++e) {
            const unsigned row = (c.interleaved || c.two_operands) && e % 2 == 1 ? t_row : s_row;
            const int index = c.interleaved ? e / 2 : c.two_operands ? 0 : e;
            const double x =
                number(c.source, bits_at(wave, row, lane, from_places[select] + index * c.source.bits(),
                                         c.source.bits()));
            const std::uint32_t got = bits_at(wave, d_row, lane, to_places[select] + e * c.destination.bits(),
                                              c.destination.bits());
            used_bits += c.destination.bits();
            if ((exec >> lane & 1u) == 0) {
              continue;
            }
            CAPTURE(e, x, factor, got);
            if (c.narrows() && c.stochastic) {
              // One of the two neighbours, the one that the seed says; the seed walks along.
              const double exact = x / factor;
              const auto want = numerics::narrow(
                  c.destination.format, numerics::odd_float(exact), numerics::Rounding::stochastic,
                  saturate ? numerics::Overflow::saturate : numerics::Overflow::special, seed);
              // Which of its codes a NaN scale gives is open.
              const bool nan = std::isnan(numerics::widen(c.destination.format, want)) &&
                               std::isnan(numerics::widen(c.destination.format, got));
              REQUIRE(
                  (nan || got == want ||
                   (std::isnan(exact) && (got ^ want) == numerics::facts(c.destination.format).sign_bit())));
              seed = seed << 1 ^ ((seed & 0x80000000u) != 0 ? 197u : 0u);
            } else if (c.narrows()) {
              REQUIRE(is_nearest(c.destination.format, got, x / factor, saturate));
            } else if (c.destination.f32) {
              const auto want = static_cast<float>(x * factor);
              REQUIRE((std::isnan(want) ? std::isnan(std::bit_cast<float>(got))
                                        : got == std::bit_cast<std::uint32_t>(want)));
            } else {
              REQUIRE(is_nearest(c.destination.format, got, x * factor, saturate));
            }
          }
          // Everything else of the first register, and disabled lanes, as before.
          if (used_bits < 32 || (exec >> lane & 1u) == 0) {
            const std::uint32_t mask =
                (exec >> lane & 1u) == 0 ? 0u : ((1u << used_bits) - 1) << to_places[select];
            REQUIRE((wave.row(d_row)[lane] & ~mask) == (before[0][lane] & ~mask));
          }
          for (unsigned row = static_cast<unsigned>(words(c.destination, c.count)); row < 40; ++row) {
            REQUIRE(wave.row(row)[lane] == before[row][lane]);
          }
        }
      }
    }
  }
}

TEST_CASE("scaled conversions read scalars, constants and modifiers", "[numerics]") {
  emulator::WaveState wave;
  wave.set_scalar64(emulator::exec_lo, ~std::uint64_t{0});
  std::fill_n(wave.row(1), 64, std::bit_cast<std::uint32_t>(3.0f));
  std::fill_n(wave.row(2), 64, std::bit_cast<std::uint32_t>(-6.0f));
  wave.scalar[4] = std::bit_cast<std::uint32_t>(2.0f);
  emulator::prepare_scaled_conversion(one("v_cvt_scalef32_pk_fp4_f32 v0, -v1, |v2|, s4"), isa::Arch::gfx950,
                                      256)
      ->execute(wave);
  CHECK((wave.row(0)[9] & 0xffu) == 0x5bu); // -1.5 is 0xb, 3 is 0x5
  emulator::prepare_scaled_conversion(one("v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, 1.0"), isa::Arch::gfx950,
                                      256)
      ->execute(wave);
  CHECK((wave.row(0)[9] & 0xffu) == 0xf5u); // 3 is 0x5, -6 is 0xf
  CHECK(emulator::prepare_scaled_conversion(one("v_add_f32 v0, v1, v2"), isa::Arch::gfx950, 256) == nullptr);
  CHECK(emulator::prepare_scaled_conversion(one("v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, 1.0"),
                                            isa::Arch::gfx942, 256) == nullptr);
}

} // namespace scaled_convert_test
