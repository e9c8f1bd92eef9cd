/// The first values of a buffer, as people and JSON read them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace inlay::cli {

/// Bytes of an element: f64 f32 f16 bf16, i8 to i64, u8 to u64; hex and types of fewer bits are bytes.
/// Errors: ArgumentError for another name.
[[nodiscard]] std::size_t value_bytes(const std::string& type);

/// `0 1 2 3 4 5 6 7 ... of 64 f32`, of a buffer of `size` bytes; `bytes` are at least its first `most` values.
[[nodiscard]] std::string values_text(std::span<const std::uint8_t> bytes, const std::string& type,
                                      std::size_t most, std::uint64_t size);
/// The same as a list; what JSON has no number for, as text.
[[nodiscard]] nlohmann::ordered_json values_json(std::span<const std::uint8_t> bytes, const std::string& type,
                                                 std::size_t most);

} // namespace inlay::cli
