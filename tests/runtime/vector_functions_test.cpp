// Every function of the vector table against the scalar reference of vector_oracle.h: random and edge operands, all lanes.
#include "emulator/vector_functions.h"
#include "vector_oracle.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <vector>

namespace vector_functions_test {

using namespace inlay::runtime::emulator;

namespace {

constexpr unsigned lane_count = 64;

// A random value of a type: arbitrary bits, edges, or numbers of everyday size.
std::uint64_t operand(Type type, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  constexpr std::array<std::uint32_t, 16> words = {
      0,           1,           0x80000000u, 0x7fffffffu, 0xffffffffu, 0x3f800000u, 0xbf800000u, 0x7f800000u,
      0xff800000u, 0x7fc00000u, 0x7f800001u, 0x00800000u, 0x007fffffu, 0x80000001u, 0x40200000u, 0x7f7fffffu};
  constexpr std::array<std::uint64_t, 12> doubles = {0,
                                                     1,
                                                     0x8000000000000000,
                                                     0x3ff0000000000000,
                                                     0xbff0000000000000,
                                                     0x7ff0000000000000,
                                                     0xfff0000000000000,
                                                     0x7ff8000000000000,
                                                     0x7ff0000000000001,
                                                     0x0010000000000000,
                                                     0x000fffffffffffff,
                                                     0x7fefffffffffffff};
  constexpr std::array<std::uint32_t, 12> halves = {0,      1,      0x8000, 0x3c00, 0xbc00, 0x7c00,
                                                    0xfc00, 0x7e00, 0x7c01, 0x0400, 0x03ff, 0x7bff};
  const auto kind = random() % 8;
  switch (type) {
  case Type::f32:
    return kind == 0  ? words[bits % 16]
           : kind < 5 ? (bits & 0x83ffffffu) | 0x3c000000u | (bits >> 7 & 0x03000000u)
                      : bits & 0xffffffffu;
  case Type::f64:
    return kind == 0  ? doubles[bits % 12]
           : kind < 5 ? (bits & 0x803fffffffffffffu) | 0x3fc0000000000000u
                      : bits;
  case Type::f16: return kind == 0 ? halves[bits % 12] : bits & 0xffffu;
  case Type::b16: return bits & 0xffffu;
  case Type::packed_f16:
    return kind == 0 ? halves[bits % 12] | std::uint64_t{halves[(bits >> 8) % 12]} << 16 : bits & 0xffffffffu;
  case Type::packed_f32: return operand(Type::f32, random) | operand(Type::f32, random) << 32;
  case Type::b64: return kind == 0 ? words[bits % 16] : kind == 1 ? ~std::uint64_t{words[bits % 16]} : bits;
  default: return kind == 0 ? words[bits % 16] : kind == 1 ? bits % 40 : bits & 0xffffffffu;
  }
}

} // namespace

TEST_CASE("every vector function agrees with the scalar reference", "[vector]") {
  std::mt19937_64 random(61);
  std::set<std::string> without;
  int compared = 0;
  for (const auto& table : {vector_table_portable(), vector_table()}) {
    for (const VectorEntry& entry : table) {
      const oracle::Rule* rule = oracle::rule(entry.name);
      if (rule == nullptr) {
        without.insert(std::string(entry.name));
        continue;
      }
      const unsigned sources = entry.sources();
      for (int round = 0; round < 40; ++round) {
        alignas(64) std::uint32_t rows[3][2 * lane_count] = {};
        alignas(64) std::uint32_t result[2 * lane_count] = {};
        std::array<oracle::Lane, lane_count> lanes{};
        VectorArguments a;
        a.exec = ~std::uint64_t{0};
        a.mask_in = random();
        const bool ieee = (random() & 1u) != 0, saturate = (random() & 1u) != 0;
        a.mode = 0xf0u | (ieee ? 1u << 9 : 0u) | (saturate ? 1u << 23 : 0u);
        a.clamp = (entry.flags & integer_clamp) != 0 && (random() & 1u) != 0;
        a.ocp = (random() & 1u) != 0;
        const bool floats = entry.s[0] == Type::packed_f16 || entry.s[0] == Type::packed_f32;
        const bool dots = entry.name.starts_with("v_dot2_");
        const bool mixes = entry.name.starts_with("v_fma_mix");
        const bool packs =
            dots || mixes || entry.s[0] == Type::packed16 || floats || entry.name == "v_pk_mov_b32";
        a.op_sel_hi = 7;
        a.truth = static_cast<std::uint8_t>(random());
        if ((entry.flags & own_op_sel) != 0 && entry.name != "v_pk_fmac_f16" && round % 2 == 1) {
          a.op_sel = static_cast<std::uint8_t>(random() & 15u);
          if (packs) {
            a.op_sel_hi = static_cast<std::uint8_t>(random() & 7u);
          }
          if (floats || mixes || entry.name.starts_with("v_dot2_f32")) {
            a.neg_lo = static_cast<std::uint8_t>(random() & 7u);
            a.neg_hi = static_cast<std::uint8_t>(random() & 7u);
          }
        }
        for (unsigned lane = 0; lane < lane_count; ++lane) {
          auto& in = lanes[lane];
          in.lane = lane;
          in.carry = (a.mask_in >> lane & 1u) != 0;
          in.ieee = ieee;
          in.saturate = saturate;
          in.ocp = a.ocp;
          in.clamp = a.clamp;
          in.op_sel = a.op_sel;
          in.op_sel_hi = a.op_sel_hi;
          in.neg_lo = a.neg_lo;
          in.neg_hi = a.neg_hi;
          in.truth = a.truth;
          for (unsigned n = 0; n < sources; ++n) {
            in.s[n] = operand(entry.s[n], random);
            // The caller flushes sources of functions that always flush.
            if ((entry.flags & flushes_always) != 0) {
              in.s[n] = oracle::b(inlay::runtime::numerics::flush(in.f(static_cast<int>(n))));
            }
          }
          if (entry.name.starts_with("v_div_scale")) { // the first source is one of the others
            in.s[0] = in.s[1 + (random() & 1u)];
          }
          for (unsigned n = 0; n < sources; ++n) {
            rows[n][lane] = static_cast<std::uint32_t>(in.s[n]);
            rows[n][lane + lane_count] = static_cast<std::uint32_t>(in.s[n] >> 32);
          }
        }
        a.d = result;
        for (unsigned n = 0; n < sources; ++n) {
          a.s[n] = rows[n];
        }
        entry.function(a);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
          const auto want = rule->of(lanes[lane]);
          std::uint64_t got =
              result[lane] | (words(entry.d) == 2 ? std::uint64_t{result[lane + lane_count]} << 32 : 0);
          if ((entry.flags & flushes_always) != 0) {
            got = oracle::b(
                inlay::runtime::numerics::flush(std::bit_cast<float>(static_cast<std::uint32_t>(got))));
          }
          const bool masked = entry.d == Type::mask || (entry.flags & carry_out) != 0;
          const bool mask = (a.mask_out >> lane & 1u) != 0;
          if ((entry.d != Type::mask && !oracle::agrees(*rule, lanes[lane], got)) ||
              (masked && mask != want.mask)) {
            const auto& in = lanes[lane];
            CAPTURE(entry.name, lane, in.s[0], in.s[1], in.s[2], in.carry, in.clamp, in.op_sel, in.op_sel_hi,
                    in.neg_lo, in.neg_hi, in.ieee, in.ocp, in.saturate);
            CHECK(got == want.value);
            CHECK(mask == want.mask);
            lane = lane_count;
            round = 1000;
          }
          ++compared;
        }
      }
    }
  }
  CHECK(without == std::set<std::string>{});
  CHECK(compared > 1000000);
}

TEST_CASE("rows are gathered and scattered alike by every instruction set of this machine") {
  std::vector<const RowFunctions*> sets = {&row_functions_portable()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(&row_functions_avx2());
#endif
  sets.push_back(&row_functions());
  std::mt19937 random(5);
  std::vector<std::uint8_t> memory(8192);
  for (std::uint8_t& b : memory) b = static_cast<std::uint8_t>(random());
  for (int n = 0; n < 400; ++n) {
    // Apart by a step (2 and 4: one after another), at one place, anywhere; some lanes off in half of them; once past 2^32.
    const std::uint32_t steps[] = {0, 1, 2, 4, 12, 16, 64};
    const std::uint32_t step = steps[random() % 7], add = n % 16 == 0 ? 0xfffffff0U : random() % 1024;
    const std::uint64_t mask =
        n % 2 == 0 ? ~std::uint64_t{0} : (std::uint64_t{random()} << 32 | random()) | 2;
    const unsigned bytes = std::array{1U, 2U, 4U, 8U, 12U, 16U}[random() % 6];
    std::uint32_t row[64];
    for (std::uint32_t l = 0; l < 64; ++l) row[l] = n % 3 == 0 ? random() % 4096 : l * step;
    std::vector<std::vector<std::uint32_t>> seen;
    for (const RowFunctions* f : sets) {
      LaneOffsets at{};
      f->offsets(at, n % 10 == 9 ? nullptr : row, add, mask, bytes);
      std::vector<std::uint32_t> all(at.at, at.at + 64);
      // Of `all` only what it is a multiple of counts.
      all.insert(all.end(), {at.low, at.high, std::min(std::uint32_t{1} << 8, at.all & (~at.all + 1)),
                             at.rising ? 1U : 0U});
      if (add < 4096) {
        std::uint32_t rows[256] = {};
        auto keep = [&] { all.insert(all.end(), rows, rows + 256); };
        if (bytes >= 4) {
          f->gather_near(rows, memory.data(), at.at, bytes / 4);
          keep();
          std::vector<std::uint8_t> to = memory;
          f->scatter_near(to.data(), at.at, rows, bytes / 4, mask);
          for (std::uint8_t b : to) all.push_back(b);
        } else {
          for (bool is_signed : {false, true}) {
            f->gather_small(rows, memory.data(), at.at, bytes, is_signed);
            keep();
          }
        }
      }
      f->apart(at.at, 5 + step);
      all.insert(all.end(), at.at, at.at + 64);
      seen.push_back(all);
    }
    CAPTURE(n, step, add, mask, bytes);
    for (const auto& s : seen) CHECK(s == seen[0]);
  }
}

} // namespace vector_functions_test
