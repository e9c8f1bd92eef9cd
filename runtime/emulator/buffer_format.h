/// Data in typed buffers: what BUFFER_LOAD_FORMAT, TBUFFER_LOAD_FORMAT and their stores convert between.
///
/// An element in memory is one to four components of 2 to 32 bits, the first in the lowest bits although the
/// manual names them from the top (2_10_10_10: red has bits 9:0, alpha bits 31:30). NFMT says what the bits of a
/// component mean:
///
/// | nfmt    | as 32 bits in a register                                   | bits of a stored register            |
/// |---------|------------------------------------------------------------|--------------------------------------|
/// | unorm   | float x / (2^n - 1)                                        | [0, 1] scaled, nearest even, NaN 0   |
/// | snorm   | float max(x / (2^(n-1) - 1), -1)                           | [-1, 1] scaled, nearest even, NaN 0  |
/// | uscaled | float x                                                    | nearest integer, saturated, NaN 0    |
/// | sscaled | float x, signed                                            | nearest integer, saturated, NaN 0    |
/// | uint    | x                                                          | saturated                            |
/// | sint    | x, sign extended                                           | signed, saturated                    |
/// | float   | float; 10 and 11 bits are unsigned with 5 exponent bits    | nearest even                         |
///
/// Components of 32 bits are moved unchanged whatever NFMT says. `half` is the d16 form: registers hold f16 or 16-bit
/// integers. 8-bit unorm 0x80 is 128/255 = 0.50196...
///
/// The manual is silent on how stores round and saturate (nearest even and the ends of the range here, as Direct3D 11
/// has it), on integers of d16 loads that do not fit (their low 16 bits here), and on components that a store does not
/// supply (zero here).
///
/// Source: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", sections "Buffer Instructions" (DFMT, NFMT), "Buffer Data".
#pragma once

#include <array>
#include <cstdint>

namespace inlay::runtime::emulator {

/// DFMT of the manual's table, its components' widths from the lowest bits; no components: invalid or reserved.
struct BufferFormat {
  std::uint8_t data = 0;   ///< DFMT
  std::uint8_t number = 0; ///< NFMT

  /// Whether the manual gives the pair a meaning: floats need components of 10, 11, 16 or 32 bits, NFMT 6 is reserved.
  [[nodiscard]] bool exists() const;
  [[nodiscard]] unsigned components() const;
  /// Of one element in memory; 0 when there are no components.
  [[nodiscard]] unsigned bytes() const;
  /// Whether a component is an integer in the register, which decides what a selected constant 1 is.
  [[nodiscard]] bool is_integer() const { return number == 4 || number == 5; }
};

using BufferComponents = std::array<std::uint32_t, 4>;

/// Components as registers hold them, zero beyond `format.components()`.
[[nodiscard]] BufferComponents read_components(BufferFormat format, const std::uint8_t* element, bool half);
/// `format.bytes()` bytes from components as registers hold them.
void write_components(BufferFormat format, const BufferComponents& values, bool half, std::uint8_t* element);

} // namespace inlay::runtime::emulator
