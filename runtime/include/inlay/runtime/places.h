/// Addresses as people know them: an argument of the launch and how far from where it points.
///
///     place_of(0x7f00'0000'1100, ranges)      // "y + 0x100 of 256 bytes": the first byte after it
#pragma once

#include <inlay/runtime/emulator.h>

namespace inlay::runtime {

/// A pointer argument: its value, and the buffer that it points into.
struct ArgumentRange {
  std::string name;
  std::uint64_t pointer = 0, begin = 0, bytes = 0;
};

/// The argument whose buffer holds `address`, or lies nearest, when no further than its own size or 64 KiB; else empty.
[[nodiscard]] std::string place_of(std::uint64_t address, std::span<const ArgumentRange> ranges);

/// Findings about global memory with the argument in the place of the address in their messages.
[[nodiscard]] std::vector<Finding> with_places(std::vector<Finding> findings,
                                               std::span<const ArgumentRange> ranges);

/// The ranges of a launch: pointers of `segment`; `find` gives the beginning and the bytes of the buffer that holds an address, {0, 0}
/// when there is none.
[[nodiscard]] std::vector<ArgumentRange>
argument_ranges(const Kernel& kernel, std::span<const std::uint8_t> segment,
                const std::function<std::pair<std::uint64_t, std::uint64_t>(std::uint64_t)>& find);

} // namespace inlay::runtime
