/// Which arithmetic the emulator's matrix instructions use where AMD publishes none.
///
/// The manuals give the mathematical result D = A*B + C of a V_MFMA and say nothing of the order of the sums
/// or of the width of the adders. Two answers are offered:
///
/// * `sequential` (default): every product is exact and is added to the accumulator with one rounding to
///   nearest even, in ascending k: d = fma(a[k], b[k], d). For f64 and f32 inputs this is what CDNA3 was
///   measured to do. For the narrow types it is within K half-units of the largest partial sum of what
///   hardware gives, and fast. It is the default because it is the definition a reader of the manual expects, the same on
///   both architectures, and some 90 times as fast (a 512^3 f16 GEMM: 0.07 s against 6.3 s).
/// * `cdna3`: the rules measured on MI300X and published with MMA-Sim ("MMA-Sim: Bit-Accurate Reference Model
///   of Tensor Cores and Matrix Cores", Microsoft): products of a group aligned to the group's largest
///   exponent and truncated at 24 fraction bits, summed exactly, then added to the accumulator cut to a common
///   exponent, then rounded to nearest even. Groups are of 8 (f16, bf16; 4 where K is 4), 4 (xf32), 16 (fp8,
///   even and odd halves apart). Slow: for comparing bits with an MI300X. For what was not measured
///   (CDNA4's doubled K, SMFMAC) the same groups are assumed; f8f6f4 stays sequential.
///
/// Neither depends on MODE: rounding is to nearest even and subnormals are kept whatever the kernel sets, as
/// on CDNA3 (CDNA2 flushed). Integers wrap.
#pragma once

#include <cstdint>
#include <string_view>

namespace inlay::runtime {

enum class MatrixArithmetic : std::uint8_t { sequential, cdna3 };

/// `sequential` or `cdna3`. Errors: std::invalid_argument with the names there are.
[[nodiscard]] MatrixArithmetic parse_matrix_arithmetic(std::string_view text);

} // namespace inlay::runtime
