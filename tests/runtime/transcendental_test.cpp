// v_exp_f32 and v_log_f32 in every instruction set of the host against the rounded std::exp2 and std::log2: a sample of all
// floats by default, every one of them under label slow.
#include "emulator/vector_functions.h"
#include "slow.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

namespace transcendental_test {

using namespace inlay::runtime::emulator;

namespace {

/// How many floats `name` gets wrong, and the first of them. Denormals never reach it: they are flushed before.
void compare(const char* name, double (*definition)(double)) {
  std::vector<std::span<const VectorEntry>> tables = {vector_table_portable()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(vector_table_avx2());
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    tables.push_back(vector_table_avx512());
#endif
  std::vector<VectorFunction> functions;
  for (const auto table : tables)
    for (const VectorEntry& e : table)
      if (e.name == name) functions.push_back(e.function);
  REQUIRE(functions.size() == tables.size());
  constexpr unsigned lanes = 64;
  alignas(64) std::uint32_t x[lanes], expected[lanes], got[lanes];
  std::uint64_t wrong = 0;
  std::uint32_t first = 0;
  // A prime: every exponent, and every low bit of the significand.
  const std::uint64_t stride = is_slow() ? 1 : 2053;
  for (std::uint64_t at = 0; at < std::uint64_t{1} << 32;) {
    for (unsigned l = 0; l < lanes; ++l, at += stride) {
      x[l] = static_cast<std::uint32_t>(at);
      if ((x[l] & 0x7f800000) == 0) x[l] &= 0x80000000;
      expected[l] = std::bit_cast<std::uint32_t>(
          static_cast<float>(definition(static_cast<double>(std::bit_cast<float>(x[l])))));
    }
    for (const VectorFunction f : functions) {
      VectorArguments a;
      a.s[0] = x;
      a.d = got;
      f(a);
      for (unsigned l = 0; l < lanes; ++l) {
        const bool both_nan =
            std::isnan(std::bit_cast<float>(got[l])) && std::isnan(std::bit_cast<float>(expected[l]));
        if (got[l] == expected[l] || both_nan) continue;
        if (wrong++ == 0) first = x[l];
      }
    }
  }
  CAPTURE(name, first);
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("v_exp_f32 and v_log_f32 are the rounded exp2 and log2 of every float, in every instruction set",
          "[slow]") {
  compare("v_exp_f32", [](double x) { return std::exp2(x); });
  compare("v_log_f32", [](double x) { return std::log2(x); });
}

} // namespace transcendental_test
