// What kernels of rows take, and the forms to choose from.
#include "row.h"

#include "../data.h"
#include "../refusal.h"

#include <bit>

namespace inlay::kernels {

void check_rows(const std::string& kernel, const RowSpec& s) {
  const Refusal refuse{kernel};
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    refuse("type", to_string(s.type), "f16, bf16 or f32; the arithmetic is f32 in any case");
  if (s.threads < 64 || s.threads > 1024 || !std::has_single_bit(static_cast<unsigned>(s.threads)))
    refuse("threads", std::to_string(s.threads), "64, 128, 256, 512 or 1024");
  const int v = s.vector_length();
  if (v < 1 || v > 16 / bytes_of(s.type) || !std::has_single_bit(static_cast<unsigned>(v)))
    refuse("vector", std::to_string(s.vector), "1, 2, 4, and 8 elements of 16 bits; 0 for 16 bytes");
  if (s.vectors < 1 || s.vectors * v > 128)
    refuse("vectors", std::to_string(s.vectors), fmt::format("1 to {}: 128 elements", 128 / v));
  if (!(s.epsilon >= 0) || std::isinf(s.epsilon))
    refuse("epsilon", std::to_string(s.epsilon), "a number that is not negative");
  const codegen::Target& target = codegen::Target::named(s.arch);
  if (s.quantised && *s.quantised != Element::i8 &&
      (!target.has_fp8() || *s.quantised != codegen::fp8(target)))
    refuse("quantised", to_string(*s.quantised),
           target.has_fp8() ? "i8, or " + to_string(codegen::fp8(target)) + " on " + s.arch
                            : "i8: " + s.arch + " has no float of 8 bits");
  if (s.in_place && s.quantised && !s.residual)
    refuse("in_place", "yes", "a residual, which H replaces; a Y of 8 bits cannot take the place of X");
  if (s.streamed && (s.in_place || s.residual || s.quantised))
    refuse("streamed", "yes", "without in_place, residual and quantised: those keep the row in registers");
  if (s.in_place && kernel == "silu_and_mul")
    refuse("in_place", "yes", "another buffer: Y is half as long as X");
}

std::vector<Flags> row_forms(const RowAsked& asked, const Flags& fixed, bool folds) {
  std::vector<Flags> all;
  const auto given = [&](const char* option, std::int64_t otherwise) {
    return fixed.contains(option) ? std::stoll(fixed.at(option)) : otherwise;
  };
  int vector = 128 / codegen::bits(asked.type);
  while (asked.n % vector != 0) vector /= 2;
  for (const std::int64_t threads : {64, 128, 256, 512, 1024}) {
    if (given("threads", threads) != threads && threads != 256) continue;
    const auto add = [&](std::int64_t vectors, int of_vector, bool whole) {
      const std::int64_t moved = of_vector == 128 / codegen::bits(asked.type) ? 0 : of_vector;
      Flags one = {{"threads", std::to_string(given("threads", threads))},
                   {"vectors", std::to_string(given("vectors", vectors))},
                   {"vector", std::to_string(given("vector", moved))}};
      if (folds) one["stream"] = fixed.contains("stream") ? fixed.at("stream") : whole ? "no" : "yes";
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
    };
    const std::int64_t of_row = up(asked.n, given("threads", threads) * vector);
    for (const std::int64_t vectors : {of_row, std::int64_t{2}, std::int64_t{4}}) {
      const bool whole = vectors >= of_row;
      if (vectors * vector > 128 || (vectors != of_row && whole == folds)) continue;
      add(vectors, vector, whole);
    }
    // Where every row has a unit for itself, twice as many lanes with half a vector each are done sooner.
    const int half = vector / 2;
    if (half >= 2 && folds && asked.m <= codegen::Target::named(asked.arch).compute_units &&
        up(asked.n, threads * half) == 1 && of_row == 1)
      add(1, half, true);
  }
  return all;
}

double row_clocks(const RowAsked& asked, bool folds, double moved_of) {
  if (folds && !asked.streamed && asked.n > asked.capacity())
    throw std::invalid_argument("a row is longer than the capacity");
  // A workgroup's latencies (launch, load, folds across waves), and instructions of memory of those that share a unit.
  const double trips = folds ? static_cast<double>(up(asked.n, asked.capacity())) : 1;
  const std::int64_t groups = folds ? asked.m : asked.m * up(asked.n, asked.capacity());
  const int waves = asked.threads / 64, resident = std::clamp(16 / waves, 1, 16);
  const double moved = waves * asked.vectors * 16.0 * moved_of;
  const double alone = 2200 + (folds && waves > 1 ? 250 : 0) + (trips - 1) * 1000, busy = trips * moved;
  return rounds(asked.arch, groups, resident) * std::max(alone + busy, resident * busy);
}

double additions(const RowSpec& spec, std::int64_t n) {
  const auto trips = spec.streamed ? static_cast<double>(n) / spec.capacity() + 1 : 0;
  return spec.vectors * spec.vector_length() + 6 + spec.threads / 64 + trips;
}

} // namespace inlay::kernels
