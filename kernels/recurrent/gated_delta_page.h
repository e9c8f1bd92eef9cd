/// The pages of the stages of the gated delta rule in chunks: their options, sizes and data. Private.
#pragma once

#include "../page.h"
#include "gated_delta_chunk.h"

#include <fmt/format.h>

namespace inlay::kernels {

/// Rows of the options, those that are named.
[[nodiscard]] std::vector<Option<GatedDeltaChunk>> chunk_options(const std::vector<std::string>& names);

/// Sums of gates, none of which is above 0, up to each token of a chunk: rows of them.
[[nodiscard]] std::vector<double> falling_gates(std::int64_t rows, std::uint64_t seed);

/// The page of a stage: sizes, options, and forms to choose of where it has `columns`.
[[nodiscard]] Page<GatedDeltaChunk>
chunk_page(const std::string& name, const std::string& summary, const std::vector<std::string>& options,
           Program (*program)(const GatedDeltaChunk&),
           const std::function<std::string(const GatedDeltaChunk&)>& text);

} // namespace inlay::kernels
