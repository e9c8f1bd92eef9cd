/// V_CVT_SCALEF32_* of CDNA4: conversions between f32, f16, bf16 and the 8-, 6- and 4-bit formats with a
/// block scale.
///
/// The scale is a float of which only the exponent field counts, as an E8M0 code: 127 is 1, 255 is NaN.
/// Narrowing divides by the scale, widening multiplies; the quotient is exact before its one rounding. The
/// mnemonic says everything else:
///
///     v_cvt_scalef32_[sr_][pk_|pk32_|2xpk16_]<destination>_<source>
///
///     v_cvt_scalef32_pk_fp8_f32      two f32 to two bytes of one half of the destination (OPSEL[3])
///     v_cvt_scalef32_sr_fp8_f16      one f16 to byte OPSEL[3:2], rounded stochastically, seed in source 1
///     v_cvt_scalef32_pk32_f32_fp6    32 packed 6-bit numbers to 32 registers
///     v_cvt_scalef32_2xpk16_fp6_f32  16 + 16 f32, interleaved, to 32 packed 6-bit numbers
///
/// fp8 and bf8 are OCP formats here; their overflow follows MODE.FP16_OVFL. With several elements the seed of
/// each is prng() of the one before.
/// Source: "AMD Instinct CDNA4 ISA Reference Guide", chapter 12, the V_CVT_SCALEF32_* pages.
#pragma once

#include "emulator/numerics/formats.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace inlay::runtime::numerics {

/// A number's type in a scaled conversion.
struct ScaledType {
  bool f32 = false; ///< else `format`
  Format format = Format::f16;
  [[nodiscard]] int bits() const { return f32 ? 32 : facts(format).bits(); }
};

/// What a mnemonic says.
struct ScaledConversion {
  ScaledType destination, source;
  int count;         ///< elements: 1, 2 or 32
  bool stochastic;   ///< the source before the scale is a seed
  bool interleaved;  ///< two sources of 16 elements, taken in turn
  bool two_operands; ///< two sources of one element
  [[nodiscard]] bool narrows() const { return destination.bits() < 16; }
  /// Source operands: values, seed, scale.
  [[nodiscard]] int sources() const {
    return 1 + (interleaved || two_operands ? 1 : 0) + (stochastic ? 1 : 0) + 1;
  }
};

/// The mnemonics, without suffix.
[[nodiscard]] std::span<const std::string_view> scaled_conversion_names();
/// The meaning of a mnemonic; nothing when it is none of them.
[[nodiscard]] std::optional<ScaledConversion> scaled_conversion(std::string_view name);

/// One element narrowed: x / 2^(scale - 127), one rounding.
///     narrow_scaled(Format::e2m1, 12.0f, 128, Rounding::nearest_even) == 0x7    (12 / 2 is 6)
[[nodiscard]] std::uint32_t narrow_scaled(Format format, float x, std::uint32_t scale, Rounding rounding,
                                          Overflow overflow = Overflow::special, std::uint32_t seed = 0);
/// One element widened: code times 2^(scale - 127), as a double that holds it exactly; NaN for scale 255.
[[nodiscard]] double widen_scaled(Format format, std::uint32_t code, std::uint32_t scale);

/// One lane. `sources[n]` are the registers of the source operands one after the other (`stride` words
/// apart), modifiers applied; `destination` likewise. `op_sel` is the field of the encoding, `overflow`
/// MODE.FP16_OVFL.
void convert_scaled(const ScaledConversion& conversion, const std::uint32_t* const* sources,
                    std::uint32_t* destination, int stride, unsigned op_sel, Overflow overflow);

} // namespace inlay::runtime::numerics
