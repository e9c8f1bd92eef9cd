// How long the sizes of a GEMM may be, and what is refused.
#include "parts.h"

#include <inlay/codegen/schedule.h>
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace inlay::kernels::gemm {

std::int64_t longest_row(int rows, Element element) {
  return std::min(std::int64_t{1} << 21,
                  ((std::int64_t{1} << 31) / (rows * bits(element) / 8) - 32) / 32 * 32);
}

std::int64_t half_of(std::int64_t row) { return row / 2 / 32 * 32; }

void refuse(const std::string& field, const std::string& value, const std::string& hint) {
  throw std::invalid_argument(fmt::format("gemm: {} = {} is not supported\n  hint   {}", field, value, hint));
}

bool multiplies(const Target& target, Element e) { return codegen::is_float8(target, e); }

std::int64_t longest_turned(const GemmSpec& s) {
  return (std::int64_t{1} << 31) / ((s.k_most + 4 * s.tile_k) * bits(s.in) / 8) / 32 * 32 - 32;
}

std::int64_t longest_columns(const GemmSpec& s) {
  std::int64_t row = longest_row(s.tile_m, s.out);
  if (s.padded.c || s.padded.d) row = half_of(row);
  if (s.gather) row = std::min(row, longest_row(s.tile_m, sum_of(s)) / most_parts);
  if (s.turned_b()) row = std::min(row, longest_turned(s));
  return s.order.linear() ? row : std::min(row, std::int64_t{32768} * s.tile_n);
}

std::int64_t longest_k(const GemmSpec& s) {
  std::int64_t row = longest_row(std::max(s.tile_m, s.tile_n), s.in);
  if (s.padded.a || s.padded.b) row = half_of(row);
  if (s.gather) row = std::min(row, std::int64_t{most_parts} * s.split);
  if (s.stored != GemmSpec::Stored::nt) row = std::min(row, s.k_most);
  if (s.in != Element::i8) return row;
  constexpr std::int64_t inside = (std::int64_t{1} << 17) - 64;
  const std::int64_t together =
      std::int64_t{s.split} * s.at_once; // whole rounds of parts, which are summed in i32, too
  return std::min(row, s.gather ? inside / together * together : inside);
}

bool is_mx(const GemmSpec& s) { return s.has_block_scales(); }

Element sum_of(const GemmSpec& s) {
  return s.in == Element::i8 ? Element::i32 : s.in == Element::f64 ? Element::f64 : Element::f32;
}

Element weight_of(const GemmSpec& s) { return s.in == Element::f64 ? Element::f64 : Element::f32; }

int vector_of(Element e) { return bits(e) == 6 ? 32 : 128 / bits(e); }

int copied(const GemmSpec& s, const Target& target, int rows) {
  const int threads = 64 * s.waves_m * s.waves_n, lanes = target.lanes_per_transfer();
  if (bits(s.in) == 6) // 4 rows of 16 halves of a vector a wave
    return s.transfer && s.tile_k % 256 == 0 && rows % (threads / 16) == 0 ? vector_of(s.in) / 2 : 0;
  if (s.transfer && lanes > 1) // 4 rows of 4 vectors a wave
    return s.tile_k % (4 * vector_of(s.in)) == 0 && rows % (threads / 16) == 0 ? vector_of(s.in) / lanes : 0;
  const int least = s.transfer ? 128 : 32;
  for (int v = vector_of(s.in); v * bits(s.in) >= least; v /= 2)
    if (const int across = s.tile_k / v; threads % across == 0 && rows % (threads / across) == 0) return v;
  return 0;
}

const Atom& product(const GemmSpec& s, const Target& target) {
  if (is_mx(s)) return Atom::mma_scaled(target, s.in, s.in, s.mfma);
  const bool narrow = bits(s.in) == 8 && s.in != Element::i8;
  return narrow && (!target.ocp_fp8 || s.tile_k % (2048 / s.mfma) != 0)
             ? Atom::mma_of(target, s.in, s.in, sum_of(s), s.mfma, s.mfma == 16 ? 32 : 16)
             : Atom::mma_best(target, s.in, s.in, sum_of(s), s.mfma);
}

int stage_of_lines(const GemmSpec& s) {
  return s.stage_bytes() + 3 * 2 * 16 * (static_cast<int>(s.staged_a()) + static_cast<int>(s.staged_b()));
}

MmaTiling tiling(const GemmSpec& s, const Target& target) {
  return MmaTiling::of(product(s, target), s.waves_m, s.waves_n, s.tile_m, s.tile_n, s.tile_k,
                       vector_of(s.in));
}

int room(const GemmSpec& s, const Target& target) { return target.lds_bytes - (s.gather ? 4 : 0); }

int stages(const GemmSpec& s, const Target& target) {
  if (s.stages != 0) return s.stages;
  if (!s.transfer) return 2;
  const int trip = tiling(s, target).clocks(), latency = 2 * codegen::Latencies::of(target).memory;
  return std::clamp(std::max(1 + (latency + trip - 1) / trip, 3), 2,
                    std::clamp(room(s, target) / s.stage_bytes(), 2, 4));
}

bool whole_lines(const GemmSpec& s, const Target& target) {
  if (bits(s.in) == 6) return true;
  return s.transfer && target.lanes_per_transfer() == 4 && s.tile_k % (8 * vector_of(s.in)) == 0 &&
         stages(s, target) * stage_of_lines(s) <= room(s, target);
}

bool shares_out(const GemmSpec& s, int rows) {
  try {
    (void)codegen::columns_tv(s.tile_k, rows, columns_at_once(s.in), 64 * s.waves_m * s.waves_n);
    return true;
  } catch (const codegen::CodegenError&) {
    return false;
  }
}

} // namespace inlay::kernels::gemm
