// The order of a kernel's sums in reports: claims of codegen/sum_order.h.
#pragma once

#include <inlay/codegen/sum_order.h>
#include <inlay/kernels/artifact.h>

#include <nlohmann/json.hpp>
#include <string>

namespace inlay::cli {

/// Of the program that the kernel was built from; nothing where the artifact does not keep it.
[[nodiscard]] codegen::SumOrders orders_of(const kernels::Artifact& artifact);

/// Lines for people, claims of one verdict and reason in one; the first begins after `indent`, the others with so many spaces.
[[nodiscard]] std::string orders_text(const codegen::SumOrders& orders, std::size_t indent);
/// A line for each claim, and one for each output with sums.
[[nodiscard]] std::string orders_table(const codegen::SumOrders& orders);
/// `{"claims": [{"claim", "verdict", "reason", "operation", "file", "line"}], "sums": {"c": "trips of 64 over k (..)"}}`
[[nodiscard]] nlohmann::ordered_json orders_json(const codegen::SumOrders& orders);

} // namespace inlay::cli
