// Vector instructions that the table of plain functions leaves out: compares that write EXEC, literals in the encoding, lanes
// exchanging data, accumulation registers, and the scaled conversions of CDNA4.
#include "differential.h"
#include "emulator/numerics/scaled_convert.h"
#include "emulator/vector_functions.h"
#include "vector_oracle.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace differential;
using inlay::runtime::emulator::Type;

namespace {

constexpr isa::Arch archs[] = {isa::Arch::gfx942, isa::Arch::gfx950, isa::Arch::gfx90a};

std::string vgpr(unsigned n, unsigned words) {
  return words == 1 ? "v" + std::to_string(8 + n)
                    : "v[" + std::to_string(8 + n) + ":" + std::to_string(8 + n + words - 1) + "]";
}

std::vector<Case> lane_cases(isa::Arch arch, std::mt19937_64& random) {
  std::vector<Case> cases;
  const auto add = [&](const std::string& text, std::function<void(State&)> f,
                       std::function<void(State&)> setup = {}) {
    if (!assembles(text, arch)) return;
    State before = random_state(random);
    before.exec = random() % 3 == 0 ? all_lanes : random();
    if (setup) setup(before);
    cases.push_back({text, before, std::move(f)});
  };
  const auto each = [](auto f) {
    return [f](State& s) {
      const State b = s;
      for (unsigned l = 0; l < 64; ++l) {
        if (b.on(l)) f(s, l, b);
      }
    };
  };
  // V_CMPX writes the mask and EXEC; lanes that were off stay off.
  for (const auto& entry : emulator::vector_table()) {
    if (!entry.name.starts_with("v_cmpx")) continue;
    const auto* rule = oracle::rule(entry.name);
    REQUIRE(rule != nullptr);
    const unsigned w0 = emulator::words(entry.s[0]), w1 = emulator::words(entry.s[1]);
    const bool halves = entry.s[0] == Type::f16 || entry.s[0] == Type::b16;
    for (const bool e64 : {false, true}) {
      for (int variant = 0; variant < 2; ++variant) {
        const auto effect = [=](State& s) {
          u64 mask = 0;
          for (unsigned l = 0; l < 64; ++l) {
            oracle::Lane a;
            a.s[0] = w0 == 2 ? s.v64(l, 0) : s.v[l][0];
            a.s[1] = w1 == 2 ? s.v64(l, 4) : s.v[l][4];
            if (halves) a.s[0] &= 0xffffU, a.s[1] &= 0xffffU;
            mask |= u64{s.on(l) && rule->of(a).mask ? 1U : 0U} << l;
          }
          s.exec = mask;
          e64 ? s.set64(8, mask) : void(s.vcc = mask);
        };
        add(std::string(entry.name) + (e64 ? "_e64 s[40:41], " : "_e32 vcc, ") + vgpr(0, w0) + ", " +
                vgpr(4, w1),
            effect, [](State& s) {
              for (unsigned l = 0; l < 64; l += 4)
                s.v[l][4] = s.v[l][0], s.v[l][5] = s.v[l][1]; // equal values
            });
      }
    }
  }
  // Literals: v_fmamk d, x, K, y and v_fmaak d, x, y, K.
  struct Literal {
    const char* name;
    bool middle, half;
  };
  for (const Literal& z : {Literal{"v_fmamk_f32", true, false},
                           {"v_fmaak_f32", false, false},
                           {"v_madmk_f32", true, false},
                           {"v_madak_f32", false, false},
                           {"v_madmk_f16", true, true},
                           {"v_madak_f16", false, true}}) {
    const auto* rule = oracle::rule(z.name);
    REQUIRE(rule != nullptr);
    const u32 k = z.half ? 0x3e01U : 0x3fc12345U;
    const std::string literal = z.half ? "0x3e01" : "0x3fc12345";
    add(std::string(z.name) + " v20, v8, " + (z.middle ? literal + ", v9" : "v9, " + literal),
        each([=](State& s, unsigned l, const State& b) {
          oracle::Lane a;
          const u32 mask = z.half ? 0xffffU : 0xffffffffU;
          a.s[0] = b.v[l][0] & mask;
          a.s[1] = z.middle ? k : b.v[l][1] & mask;
          a.s[2] = z.middle ? b.v[l][1] & mask : k;
          const auto value = static_cast<u32>(rule->of(a).value);
          s.v[l][12] = z.half ? (b.v[l][12] & 0xffff0000U) | (value & 0xffffU) : value;
        }),
        [&](State& s) { // ordinary numbers
          for (auto& lane : s.v) {
            for (unsigned n = 0; n < 2; ++n)
              lane[n] = z.half ? (lane[n] & 0x8fffU) | 0x3000U : (lane[n] & 0x80ffffffU) | 0x3f000000U;
          }
        });
  }
  for (const unsigned table : {0U, 0xffU, 0x96U, 0xe8U, 0xcaU, 0x1bU}) {
    for (const bool half : {false, true}) {
      add(std::string("v_bitop3_b") + (half ? "16" : "32") +
              " v20, v8, v9, v10 bitop3:" + std::to_string(table),
          each([=](State& s, unsigned l, const State& b) {
            u32 r = 0;
            for (unsigned n = 0; n < 32; ++n) {
              const unsigned at =
                  (b.v[l][0] >> n & 1U) * 4 + (b.v[l][1] >> n & 1U) * 2 + (b.v[l][2] >> n & 1U);
              r |= (table >> at & 1U) << n;
            }
            s.v[l][12] = half ? r & 0xffffU : r;
          }));
    }
  }
  // One lane, whatever EXEC says. The lane number counts modulo 64; without lanes the first is lane 0.
  for (const unsigned lane : {0U, 5U, 63U, 77U}) {
    const auto number = [lane](State& s) { s.s[0] = lane; };
    add(
        "v_readlane_b32 s40, v8, s32", [lane](State& s) { s.s[8] = s.v[lane % 64][0]; }, number);
    add(
        "v_writelane_b32 v20, 7, s32", [lane](State& s) { s.v[lane % 64][12] = 7; }, number);
    add("v_writelane_b32 v20, s33, " + std::to_string(lane % 64),
        [lane](State& s) { s.v[lane % 64][12] = s.s[1]; });
    add(
        "v_readfirstlane_b32 s40, v8",
        [](State& s) {
          unsigned first = 0;
          while (first < 64 && !s.on(first)) ++first;
          s.s[8] = s.v[first % 64][0];
        },
        [lane](State& s) { s.exec = lane == 77 ? 0 : s.exec & ~u64{0} << lane; });
  }
  add("v_swap_b32 v8, v9", each([](State& s, unsigned l, const State& b) {
        s.v[l][0] = b.v[l][1];
        s.v[l][1] = b.v[l][0];
      }));
  for (const unsigned size : {16U, 32U}) {
    const auto effect =
        [size](State& s) { // rows of the second half of v8 change places with the first half of v9
          const State b = s;
          for (unsigned l = 0; l < 64; ++l) {
            if (l / size % 2 == 0) {
              s.v[l + size][0] = b.v[l][1];
              s.v[l][1] = b.v[l + size][0];
            }
          }
        };
    for (const char* form : {"_e32", "_e64"}) {
      add("v_permlane" + std::to_string(size) + "_swap_b32" + form + " v8, v9", effect,
          [](State& s) { s.exec = all_lanes; });
    }
  }
  // Accumulation registers hold what was written, lane by lane.
  const auto copy = each([](State& s, unsigned l, const State& b) { s.v[l][12] = b.v[l][0]; });
  add("v_accvgpr_write_b32 a9, v8\n  s_nop 2\n  v_accvgpr_read_b32 v20, a9", copy);
  add("v_accvgpr_write_b32 a9, v8\n  s_nop 2\n  v_accvgpr_mov_b32 a10, a9\n  s_nop 2\n  v_accvgpr_read_b32 "
      "v20, a10",
      copy);
  // Four masked sums of absolute differences.
  for (int variant = 0; variant < 3; ++variant) {
    add("v_mqsad_u32_u8 v[20:23], v[8:9], v10, v[12:15]", each([](State& s, unsigned l, const State& b) {
          for (unsigned k = 0; k < 4; ++k) {
            u32 sum = b.v[l][4 + k];
            for (unsigned n = 0; n < 4; ++n) {
              const int x = static_cast<int>(b.v64(l, 0) >> 8 * (k + n) & 0xffU),
                        y = static_cast<int>(b.v[l][2] >> 8 * n & 0xffU);
              sum += y == 0 ? 0U : static_cast<u32>(std::abs(x - y));
            }
            s.v[l][12 + k] = sum;
          }
        }),
        [](State& s) {
          for (unsigned l = 0; l < 64; l += 2) s.v[l][2] &= 0xff00ff00U;
        });
  }
  // VGPRs and accumulation registers are one file: with an offset of 64, v73 is a9.
  add("v_accvgpr_write_b32 a9, v8\n  s_nop 2\n  v_mov_b32 v20, v73", copy);
  // A literal is the high word of a double; an inline float constant of a packed operand is in the low half only.
  add("v_ceil_f64 v[20:21], 0x40091eb8",
      each([](State& s, unsigned l, const State&) { s.set_v64(l, 12, 0x4010000000000000U); }));
  add("v_pk_max_f16 v20, 0, 1.0", each([](State& s, unsigned l, const State&) { s.v[l][12] = 0x3c00U; }));
  add("v_pk_max_f16 v20, 0, 1.0 op_sel_hi:[1,0]",
      each([](State& s, unsigned l, const State&) { s.v[l][12] = 0x3c003c00U; }));
  // The forms LLVM prints without operands to select: VOP3 of v_clrexcp and v_nop.
  for (const char* text : {"v_nop_e64", "v_clrexcp_e64"}) add(text, [](State&) {});
  return cases;
}

// ---- V_CVT_SCALEF32_* ------------------------------------------------------------------------------------------------

/// Exponent and mantissa bits of a type's name; f32 has 8 and 23.
struct Number {
  unsigned e, m;
  [[nodiscard]] unsigned bits() const { return 1 + e + m; }
};
Number number(const std::string& name) {
  if (name == "f32") return {8, 23};
  if (name == "f16") return {5, 10};
  if (name == "bf16") return {8, 7};
  if (name == "fp8") return {4, 3};
  if (name == "bf8") return {5, 2};
  if (name == "fp6") return {2, 3};
  if (name == "bf6") return {3, 2};
  return {2, 1}; // fp4
}
/// OCP formats: fp6, bf6 and fp4 are numbers throughout, fp8 has NaN in its last code, the others Inf and NaN.
double value_of(Number n, u32 code) {
  const u32 top = (1U << n.e) - 1, exponent = code >> n.m & top, mantissa = code & ((1U << n.m) - 1);
  const double sign = (code >> (n.e + n.m) & 1U) != 0 ? -1 : 1;
  if (n.bits() == 8 && n.e == 4 && exponent == 15 && mantissa == 7) return NAN;
  if (exponent == top && (n.bits() >= 16 || (n.bits() == 8 && n.e == 5)))
    return mantissa == 0 ? sign * HUGE_VAL : NAN;
  const int bias = static_cast<int>((1U << (n.e - 1)) - 1), shift = -bias - static_cast<int>(n.m);
  return sign * (exponent == 0 ? std::ldexp(mantissa, 1 + shift)
                               : std::ldexp(mantissa + (1U << n.m), static_cast<int>(exponent) + shift));
}
/// Whether `code` is a right result for the exact x: the nearest number, or for stochastic rounding a neighbour.
bool is_rounding(Number n, u32 code, double x, bool stochastic) {
  const double got = value_of(n, code);
  if (n.bits() == 32)
    return std::isnan(x) ? std::isnan(got) : got == static_cast<double>(static_cast<float>(x));
  const bool only_numbers = n.bits() < 8;
  double largest = 0;
  for (u32 c = 0; c < 1U << (n.e + n.m); ++c) {
    const double v = value_of(n, c);
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  if (std::isnan(x)) return only_numbers ? std::fabs(got) == largest : std::isnan(got);
  if (std::fabs(x) > largest) { // half a step further is where rounding leaves the numbers
    const double step = std::ldexp(1.0, std::ilogb(largest) - static_cast<int>(n.m));
    const bool over = std::fabs(x) >= largest + (stochastic ? step : step / 2);
    if (only_numbers) return got == std::copysign(largest, x);
    const bool special = n.e == 4 ? std::isnan(got) : got == std::copysign(HUGE_VAL, x);
    return over         ? special
           : stochastic ? special || got == std::copysign(largest, x)
                        : got == std::copysign(largest, x) || special;
  }
  const u32 sign = 1U << (n.e + n.m);
  const u32 magnitude = code & (sign - 1);
  if (!std::isfinite(got) || (got != 0 && std::signbit(got) != std::signbit(x))) return false;
  const double above = magnitude + 1 == sign ? NAN : std::fabs(value_of(n, magnitude + 1)),
               below = magnitude == 0 ? 0 : std::fabs(value_of(n, magnitude - 1));
  const double error = std::fabs(std::fabs(got) - std::fabs(x));
  if (stochastic)
    return (magnitude == 0 || std::fabs(x) > below) && (std::isnan(above) || std::fabs(x) < above);
  const auto worse = [&](double other) {
    const double d = std::fabs(other - std::fabs(x));
    return std::isnan(d) || d > error || (d == error && (code & 1U) == 0);
  };
  return worse(above) && (magnitude == 0 || worse(below));
}

std::vector<Case> scaled_cases(std::mt19937_64& random) {
  std::vector<Case> cases;
  for (const auto full : numerics::scaled_conversion_names()) {
    // v_cvt_scalef32_[sr_][pk_|pk32_|2xpk16_]<destination>_<source>
    std::string name(full.substr(std::string("v_cvt_scalef32_").size()));
    const auto take = [&](const std::string& prefix) {
      const bool has = name.starts_with(prefix);
      if (has) name.erase(0, prefix.size());
      return has;
    };
    const bool stochastic = take("sr_"), interleaved = take("2xpk16_"), many = take("pk32_"),
               pair = take("pk_");
    const Number to = number(name.substr(0, name.find('_'))), from = number(name.substr(name.find('_') + 1));
    const unsigned count = interleaved || many ? 32 : pair ? 2 : 1;
    const bool narrows = to.bits() < 16;
    const bool two =
        pair && narrows && from.bits() == 32; // two registers of one f32; but the stochastic ones take a pair
    unsigned source_words = interleaved ? 16 : std::max(1U, from.bits() * count / 32);
    if (two && !stochastic) source_words = 1;
    const unsigned destination_words = std::max(1U, to.bits() * count / 32);
    // Sources from v8, results after them or the other way round, seed v46, scale v47.
    const bool long_source = source_words * (interleaved ? 2 : 1) > 6;
    const unsigned src = long_source ? 0 : 32, dst = long_source ? 32 : 0;
    std::string text =
        std::string(full) + " " + vgpr(dst, destination_words) + ", " + vgpr(src, source_words);
    if (interleaved || (two && !stochastic)) text += ", " + vgpr(src + source_words, source_words);
    if (stochastic) text += ", v46";
    text += ", v47";
    if (!assembles(text, isa::Arch::gfx950)) {
      INFO(text);
      CHECK(assembles(text, isa::Arch::gfx950));
      continue;
    }
    State before = random_state(random);
    before.exec = ~u64{4};
    for (unsigned l = 0; l < 64; ++l) {
      before.v[l][39] = static_cast<u32>(120 + random() % 15) << 23; // the scale, a power of two
      for (unsigned w = 0; w < source_words * 2 && src + w < 38; ++w) {
        u32& x = before.v[l][src + w];
        x = static_cast<u32>(random());
        if (from.bits() == 32) x = (x & 0x83ffffffU) | 0x3c000000U | (x & 0x04000000U); // about one
      }
    }
    Case c{text, before, {}};
    c.accept = [=](const State& b, const State& got) {
      for (unsigned l = 0; l < 64; ++l) {
        if (!b.on(l)) {
          if (got.v[l] != b.v[l]) return false;
          continue;
        }
        const auto bits = [&](const State& s, unsigned row, unsigned at, unsigned width) {
          u64 code = 0;
          for (unsigned k = 0; k < width; ++k)
            code |= u64{s.v[l][row + (at + k) / 32] >> (at + k) % 32 & 1U} << k;
          return static_cast<u32>(code);
        };
        const double scale = std::ldexp(1.0, static_cast<int>(b.v[l][39] >> 23 & 0xffU) - 127);
        for (unsigned k = 0; k < count; ++k) {
          const unsigned index = interleaved ? k / 2 : k;
          const unsigned row = src + (interleaved && k % 2 == 1 ? source_words : 0);
          const double x = value_of(from, bits(b, row, index * from.bits(), from.bits()));
          const u32 code = bits(got, dst, k * to.bits(), to.bits());
          if (!is_rounding(to, code, narrows ? x / scale : x * scale, stochastic)) return false;
        }
        // What one or two small results leave of their register, and every other register, is as before.
        for (unsigned n = 0; n < vgprs; ++n) {
          const bool inside = n >= dst && n < dst + destination_words;
          const unsigned used = to.bits() * count;
          const u32 kept = !inside ? 0xffffffffU : used < 32 ? ~((1U << used) - 1) : 0;
          if ((got.v[l][n] & kept) != (b.v[l][n] & kept)) return false;
        }
      }
      return true;
    };
    cases.push_back(std::move(c));
  }
  return cases;
}

} // namespace

void differential::lane_family() {
  static const bool once = [] {
    for (const isa::Arch arch : archs) {
      std::mt19937_64 random(31);
      run(arch, lane_cases(arch, random));
    }
    std::mt19937_64 random(32);
    run(isa::Arch::gfx950, scaled_cases(random));
    return true;
  }();
  static_cast<void>(once);
}
