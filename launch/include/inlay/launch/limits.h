/// What a launch may have: sizes, and workgroups along an axis. Said once for the contract of a build and for a manifest that was read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace inlay::launch {

/// Why a launch is refused, and what to write.
struct Refusal {
  std::string what, hint;
};

/// What is wrong with a size; nothing: it is between `least` and `most`, and a multiple. 0 is right where a launch leaves `nothing` to write.
///     refused_size("m", 6, 1, 1000, 4, false)->what   // m = 6 is not a multiple of 4
[[nodiscard]] inline std::optional<Refusal> refused_size(const std::string& name, std::int64_t value,
                                                         std::int64_t least, std::int64_t most,
                                                         std::int64_t multiple, bool nothing) {
  const std::string what = name + " = " + std::to_string(value);
  if ((value < least && !(nothing && value == 0)) || value > most)
    return Refusal{what, std::to_string(least) + " to " + std::to_string(most)};
  if (value % multiple == 0) return std::nullopt;
  const std::int64_t below = value / multiple * multiple;
  return Refusal{what + " is not a multiple of " + std::to_string(multiple),
                 (value < multiple ? "" : std::to_string(below) + " or ") + std::to_string(below + multiple) +
                     "; a sum may be padded with zeros, a maximum or a mean may not"};
}

/// What is wrong with where a buffer of `bytes` bytes lies; nothing: at a multiple of 4, since kernels move words, and not at 0. Of no bytes
/// nothing is touched: empty tensors of torch lie at 0.
///     refused_address("x", 0, 256)->what   // x is a null pointer, and has 256 bytes
[[nodiscard]] inline std::optional<Refusal> refused_address(const std::string& name, std::uint64_t address,
                                                            std::int64_t bytes) {
  if (bytes == 0 || (address != 0 && address % 4 == 0)) return std::nullopt;
  if (address == 0)
    return Refusal{name + " is a null pointer, and has " + std::to_string(bytes) + " bytes",
                   "the address of a buffer: only what has no elements may be null"};
  return Refusal{"the address of " + name + ", " + std::to_string(address) + ", is no multiple of 4",
                 "a buffer that begins at one: kernels move words"};
}

/// How many workgroups of `items` work-items an axis may have. A dispatch counts work-items: grid_size_x of hsa_kernel_dispatch_packet_t (HSA
/// runtime specification) has 32 bits. HIP takes 2^31 - 1 workgroups along x, 65535 along y and z (maxGridSize).
[[nodiscard]] inline std::int64_t most_workgroups(std::size_t axis, std::int64_t items) {
  return axis == 0 ? std::min<std::int64_t>(INT32_MAX, UINT32_MAX / items) : std::int64_t{65535};
}

} // namespace inlay::launch
