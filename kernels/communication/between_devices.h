/// What kernels of several devices are asked for, and their programs. Private.
#pragma once

#include "../program_names.h"

namespace inlay::kernels {

using codegen::Element;

/// Errors: std::invalid_argument for a vector that no instruction moves; 0 is the widest.
void check_vector(Element type, int vector);

struct BetweenDevices {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  int devices = 4, vectors = 2, vector = 0, rank = 0; ///< of the device that is judged
  std::int64_t n = 4096;
  [[nodiscard]] int width() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
  [[nodiscard]] std::int64_t most() const { return (std::int64_t{1} << 28) / devices / width() * width(); }
};

/// y(i) = sum over devices d of x_d(i); where it scatters, of x_d(rank, i). Errors: std::invalid_argument naming the option.
[[nodiscard]] Program reduce_program(const BetweenDevices& s, bool scatters);
/// y(d, i) = x_d(i). Errors: std::invalid_argument naming the option.
[[nodiscard]] Program gather_program(const BetweenDevices& s);

struct MoeDevices {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  bool weighted = false; ///< moe_combine
  int devices = 4, k = 2, threads = 256, vector = 0;
  std::int64_t m = 64, rows = 128, n = 1024;
  [[nodiscard]] int width() const { return vector > 0 ? vector : 128 / codegen::bits(type); }
  [[nodiscard]] int of_row() const { return weighted ? k : 1; } ///< entries
  [[nodiscard]] const char* name() const { return weighted ? "moe_combine" : "moe_dispatch"; }
};

/// y(m,:) = sum over entries (m,j) of w(m,j) times the row of x_d that ids(m,j,d) names, for all devices d; an id that is no row counts
/// nothing. Without weights, of one entry. Errors: std::invalid_argument naming the option.
[[nodiscard]] Program moe_devices_program(const MoeDevices& s);

} // namespace inlay::kernels
