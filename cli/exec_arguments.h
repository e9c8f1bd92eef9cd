/// What the commands that launch any code object read alike: geometry, `--arg`, buffers.
#pragma once

#include "buffer_file.h"

#include <algorithm>
#include <charconv>
#include <inlay/runtime/device.h>
#include <inlay/runtime/kernarg.h>
#include <limits>
#include <memory>
#include <optional>

namespace inlay::cli {

/// Throws runtime::ArgumentError: `what`, and a line with the hint.
[[noreturn]] void refuse(const std::string& what, const std::string& hint);

/// A number in decimal, of integers also hexadecimal with 0x; nothing when the text is no value of T.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T v{};
  if constexpr (std::is_integral_v<T>) {
    const bool negative = text.starts_with('-');
    std::string_view digits = text.substr(negative ? 1 : 0);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (hex) digits.remove_prefix(2);
    std::uint64_t magnitude = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
    const std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (negative) {
      if (!std::is_signed_v<T> || magnitude > most + 1) return std::nullopt;
      return static_cast<T>(-static_cast<std::int64_t>(magnitude - 1) - 1);
    }
    if (magnitude > most) return std::nullopt;
    v = static_cast<T>(magnitude);
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  }
  return v;
}

/// `4`, `4,2` or `4,2,1`, each at least 1. Errors: ArgumentError naming `option`.
[[nodiscard]] runtime::Extent3 parse_extent(const std::string& option, std::string_view text);

/// Of a buffer; only what is touched of it takes memory.
inline constexpr std::uint64_t most_buffer_bytes = std::uint64_t{1} << 43;

/// One --arg: a value, or a buffer with where it comes from and goes to.
struct ArgumentSpec {
  std::optional<runtime::Argument> value;
  BufferFile contents;                ///< of `in` and `inout`
  bool filled = false;                ///< counts as written before the launch
  std::string output_file;            ///< empty: not written back
  std::string spelled;                ///< as given; empty for what a manifest says
  std::uint64_t zero_bytes = 0;       ///< of `zeros` and `out`, which are not held here
  std::string name;                   ///< of the argument, where one is known or given
  std::string type;                   ///< of its elements, where one is known: f16, i32, ...
  std::vector<std::int64_t> shape;    ///< of its elements row by row, where one is known
  bool printed = false;               ///< an output without a file: its first values are printed
  std::optional<std::size_t> same_as; ///< another argument that points into the same buffer
  std::uint64_t offset = 0;           ///< where the argument points to in its buffer
  /// Of `peers:NAME`: the argument whose address on each device is listed; of `peer:NAME:R` that on one of them.
  std::string peers;
  std::optional<std::uint32_t> peer;
  std::optional<std::uint32_t> device; ///< whose it is, of several

  /// Of the buffer.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::max<std::uint64_t>(contents.data.size(), zero_bytes);
  }
  [[nodiscard]] bool output() const { return printed || !output_file.empty(); }
  /// The name or the file that messages use.
  [[nodiscard]] std::string label() const {
    const std::string own = !output_file.empty() ? output_file : name.empty() ? spelled : name;
    return device && output_file.empty() ? own + " of device " + std::to_string(*device) : own;
  }
};

/// `--arg i32:1 f32:2 FILE`: the first that does not begin as an argument does, with a type and a colon, is the file.
void take_file(std::vector<std::string>& arguments, std::string& file);

inline constexpr const char* argument_help =
    "One or several, in order, or NAME=... for one: in:FILE, out:BYTES[:FILE], inout:FILE:FILE, zeros:BYTES, "
    "i32:V i64:V "
    "u32:V u64:V f32:V f64:V, ptr:0, bytes:HEX or bytes:FILE for a structure, at:K:BYTES for a place in the "
    "buffer of argument K; with --devices also "
    "peers:NAME, peer:NAME:R, and {rank} and {devices} in any";

/// `in:FILE`, `out:BYTES`, `out:BYTES:FILE`, `inout:FILE:FILE`, `zeros:BYTES` (a buffer of zeros), `i32:V` ... `ptr:0`, `bytes:HEX` or
/// `bytes:FILE` for a structure, `at:K:BYTES` (so many bytes into the buffer of argument K, counted from 0), `peers:NAME` and `peer:NAME:R` (several devices), each also after `NAME=`. Outputs without a file are
/// printed. Errors: ArgumentError.
[[nodiscard]] ArgumentSpec parse_argument(const std::string& text);

/// Buffers for `specs` on `device`; the arguments that point to them are appended to `arguments`. One entry a spec, null for values and
/// for those that share another one's. `fill_zeros`: write the zeros, which new memory holds anyway, so that they count as written.
[[nodiscard]] std::vector<std::unique_ptr<runtime::Buffer>>
make_buffers(runtime::Device& device, const std::vector<ArgumentSpec>& specs,
             std::vector<runtime::Argument>& arguments, bool fill_zeros = true);

} // namespace inlay::cli
