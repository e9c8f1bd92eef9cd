/// Sorting of a mixture of experts: entries (token, choice) to blocks of rows of one expert, by counting, in four launches.
#pragma once

#include <inlay/codegen/program.h>

namespace inlay::kernels {

/// Of e[i], the expert of entry i (none where it is not one of `experts`), and blocks of `block` rows:
///
///     padded(x) = number of i with e[i] = x, up to a multiple of block
///     starts[x] = sum over y < x of padded(y),          rows_in_use = sum over all y                        moe_starts
///     experts_of_blocks[b] = number of x with starts[x] <= block b, less 1                                  moe_blocks
///     places[i] = starts[e[i]] + number of j < i with e[j] = e[i],  -1 where there is no expert             moe_places
///     ids[places[i]] = i / k,   sorted_weights[places[i]] = weights[i]; other rows keep what they held      moe_sort
///
/// `labels` of moe_starts are the numbers of the experts, 0, 1, 2, ..: what is counted is what has the number of one of them.
/// The order is stable, and so the same in every launch. Sums are of whole numbers of f32: fewer than 2^24 rows.
/// Source: vLLM, csrc/moe/moe_align_sum_kernels.cu; AITER's moe_sorting.
struct MoeSort {
  static constexpr int most_experts = 256, tile = 64; ///< of a workgroup at a time: experts, entries
  std::string arch{codegen::usual_target};
  int block = 32, k = 1;
  std::int64_t n = 512, experts = 64;
  /// Rows that there may be: of each expert one block is not full.
  [[nodiscard]] std::int64_t rows() const { return blocks() * block; }
  [[nodiscard]] std::int64_t blocks() const { return (n + block - 1) / block + experts; }
};

/// Errors: std::invalid_argument naming the option.
[[nodiscard]] codegen::Program moe_starts_program(const MoeSort& s);
[[nodiscard]] codegen::Program moe_blocks_program(const MoeSort& s);
[[nodiscard]] codegen::Program moe_places_program(const MoeSort& s);
[[nodiscard]] codegen::Program moe_sort_program(const MoeSort& s);

} // namespace inlay::kernels
