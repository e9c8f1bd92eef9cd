/// `--break`, `--dump`, `--watch` and `--hits` of `inlay exec`: from text to runtime/debug.h; its reports as JSON.
#pragma once

#include "command.h"

#include <inlay/runtime/emulator.h>
#include <nlohmann/json.hpp>

namespace inlay::cli {

/// What the command line asks for. `--watch` may name a buffer by its place among the arguments, whose address is known
/// only when it has been allocated.
struct DebugRequest {
  struct WatchText {
    runtime::Watch watch;
    std::optional<std::size_t> argument; ///< `argN+OFFSET`: `watch.address` is the offset
  };
  std::vector<runtime::Breakpoint> breakpoints;
  std::vector<runtime::RegisterRange> dump;
  std::vector<WatchText> watches;
  std::optional<std::uint32_t> hits;
};

/// `--break 0x1720`, `--break vadd+0x20,wave=0,workgroup=3`; `--dump v[0:3],exec`; `--watch arg1+0x40`, `lds:0x40`,
/// `0x7f0012345678`, each with `/BYTES` and `,wave=W,workgroup=G`. Addresses and offsets are hexadecimal, with or without
/// 0x, as `inlay inspect` prints them; a symbol of that name comes first.
/// `buffer_bytes`: of each argument, nothing for values. Errors: ArgumentError.
[[nodiscard]] DebugRequest parse_debug(const std::vector<std::string>& breaks,
                                       const std::vector<std::string>& dumps,
                                       const std::vector<std::string>& watches,
                                       std::optional<std::uint32_t> hits, const runtime::CodeObject& object,
                                       const std::vector<std::optional<std::uint64_t>>& buffer_bytes);

/// The options for one launch whose arguments are at `addresses`, without the functions that receive reports.
[[nodiscard]] runtime::DebugOptions debug_options(const DebugRequest& request,
                                                  const std::vector<std::uint64_t>& addresses);

[[nodiscard]] nlohmann::ordered_json to_json(const runtime::isa::SourceLine& source);
[[nodiscard]] nlohmann::ordered_json to_json(const runtime::BreakHit& hit);
[[nodiscard]] nlohmann::ordered_json to_json(const runtime::WatchHit& hit);

} // namespace inlay::cli
