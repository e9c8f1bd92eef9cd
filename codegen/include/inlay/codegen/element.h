/// `Element`: the types that tensors, registers and instructions hold, as one table.
///
/// A type is a row of facts: how many bits it has, and for a float its fields and what its top codes mean. Everything
/// else (largest finite number, rounding unit, what a code stands for) follows from the row, so that the reference
/// interpreter, the claims and the emitters cannot disagree about a type.
///
/// | element  | bits | E M bias   | top codes                  | largest   | also written          |
/// |----------|------|------------|----------------------------|-----------|-----------------------|
/// | f64      | 64   | 11 52 1023 | Inf, NaN                   | 1.8e308   | fp64, double          |
/// | f32      | 32   | 8 23 127   | Inf, NaN                   | 3.4e38    | fp32, float           |
/// | xf32     | 32   | 8 10 127   | Inf, NaN                   | 3.4e38    | tf32 (near relative)  |
/// | f16      | 16   | 5 10 15    | Inf, NaN                   | 65504     | fp16, half            |
/// | bf16     | 16   | 8 7 127    | Inf, NaN                   | 3.39e38   | bfloat16              |
/// | e4m3fnuz | 8    | 4 3 8      | 0x80 is NaN; no Inf, no -0 | 240       | fp8 on CDNA3          |
/// | e5m2fnuz | 8    | 5 2 16     | 0x80 is NaN; no Inf, no -0 | 57344     | bf8 on CDNA3          |
/// | e4m3fn   | 8    | 4 3 7      | all ones is NaN; no Inf    | 448       | fp8 on CDNA4          |
/// | e5m2     | 8    | 5 2 15     | Inf, NaN                   | 57344     | bf8 on CDNA4          |
/// | e2m3     | 6    | 2 3 1      | numbers                    | 7.5       | fp6                   |
/// | e3m2     | 6    | 3 2 3      | numbers                    | 28        | bf6                   |
/// | e2m1     | 4    | 2 1 1      | numbers                    | 6         | fp4, mxfp4's elements |
/// | e8m0     | 8    | 8 0 127    | 0xff is NaN; no sign, no 0 | 2^127     | scale of an MX block  |
///
/// Integers i64 i32 i16 i8 i4 are two's complement, i1 is 0 or 1; global, lds and buffer are addresses. Elements are
/// packed without gaps, element e in bits [e b, e b + b), least significant first: 32 e2m3 are 24 bytes.
///
/// The same byte means different numbers on the two architectures: `fp8` is e4m3fnuz on CDNA3 and e4m3fn on CDNA4.
/// Here they are different elements, and `parse_element("fp8", target)` says which is meant.
///
///     decode(Element::e4m3fn, 0x38) == 1.0            decode(Element::e4m3fnuz, 0x38) == 0.5
///     encode(Element::e2m1, 2.5) == 0x4               2, the even one of the neighbours 2 and 3
///
/// Sources: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0 (e4m3fn, e5m2); OCP Microscaling Formats 1.0
/// (e2m3, e3m2, e2m1, e8m0); "AMD Instinct MI300 ISA (CDNA3)" and "AMD Instinct CDNA4 ISA" Reference Guides, data
/// types and V_CVT_* (FNUZ, xf32).
#pragma once

#include <inlay/codegen/target.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace inlay::codegen {

enum class Element : std::uint8_t {
  f64,
  f32,
  xf32, ///< f32 in memory; the matrix instructions drop the low 13 bits of the mantissa
  f16,
  bf16,
  e4m3fnuz,
  e5m2fnuz,
  e4m3fn,
  e5m2,
  e2m3,
  e3m2,
  e2m1,
  e8m0,
  i64,
  i32,
  i16,
  i8,
  i4,
  i1,
  global, ///< a pointer to device memory
  lds,    ///< an offset in LDS
  buffer  ///< a buffer descriptor
};

enum class ElementKind : std::uint8_t { floating, integer, pointer };

/// What the codes with the largest exponent are.
enum class TopCodes : std::uint8_t {
  infinity,      ///< Inf and NaNs as in IEEE 754
  one_nan,       ///< numbers, except all-ones, which is NaN
  unsigned_zero, ///< numbers; NaN takes the code of -0
  numbers        ///< numbers, no NaN at all
};

/// One row of the table.
struct ElementFacts {
  Element element;
  std::string_view name; ///< as printed: `e4m3fn`
  int bits;
  ElementKind kind;
  int exponent_bits = 0, mantissa_bits = 0, bias = 0; ///< of floats
  TopCodes top = TopCodes::numbers;
};

/// All of them, in the order of the enumeration.
[[nodiscard]] std::span<const ElementFacts> elements();
[[nodiscard]] const ElementFacts& facts(Element element);

/// Bits of one element: 16 for f16 and bf16, 6 for e2m3, 64 for a global pointer, 128 for a descriptor.
[[nodiscard]] int bits(Element element);
[[nodiscard]] bool is_floating(Element element);
[[nodiscard]] bool is_integer(Element element);
[[nodiscard]] bool is_pointer(Element element);

/// The name in the table. Ensures: `parse_element(to_string(e)) == e`.
[[nodiscard]] std::string to_string(Element element);
/// A name of the table, or one in use elsewhere: fp16, half, bfloat16, float8_e4m3fnuz, f8E4M3FN, fp4, int8, ... Upper
/// and lower case are the same. Errors: CodegenError naming the elements; for `fp8` and `bf8` one that names both
/// kinds.
[[nodiscard]] Element parse_element(std::string_view text);
/// The same where the target is known: `fp8` and `bf8` are FNUZ on CDNA3 and OCP on CDNA4.
[[nodiscard]] Element parse_element(std::string_view text, const Target& target);
/// What the instructions named fp8 and bf8 take on that target.
[[nodiscard]] Element fp8(const Target& target);
[[nodiscard]] Element bf8(const Target& target);
/// Whether the target multiplies and converts that float of 8 bits; MI200 has none.
[[nodiscard]] bool is_float8(const Target& target, Element element);
/// Both, for messages: `e4m3fnuz or e5m2fnuz` and the target, or `no float of 8 bits`.
[[nodiscard]] std::string float8_names(const Target& target);

/// @name What follows from a row (floats and integers)
/// @{
/// 65504 for f16, 6 for e2m1, 127 for i8, 1 for i1.
[[nodiscard]] double largest_finite(Element element);
/// The smallest positive number, subnormal where there are subnormals: 2^-24 for f16, 2^-127 for e8m0, 1 for integers.
[[nodiscard]] double smallest_positive(Element element);
/// Half the distance from 1 to the next larger number, the relative error of rounding to nearest while the result is
/// normal: 2^-(mantissa_bits + 1), so 2^-11 for f16. 0 for integers.
[[nodiscard]] double unit_roundoff(Element element);
[[nodiscard]] bool has_infinity(Element element);
[[nodiscard]] bool has_nan(Element element);
/// @}

/// Where a number between two codes goes.
enum class Rounding : std::uint8_t { nearest_even, toward_zero };

/// What a number beyond the largest finite one becomes.
///
/// `special` is the hardware with MODE.FP16_OVFL = 0: Inf where the type has one, else NaN. `saturate` is
/// MODE.FP16_OVFL = 1: the largest number of that sign; an infinite input stays infinite in types of 16 bits and more
/// and saturates in the 8-bit ones. Types without Inf and NaN, and integers, always saturate.
enum class Overflow : std::uint8_t { special, saturate };

/// What becomes of a NaN that is rounded to fewer bits: a NaN, or anything, where a result that depends on it is one in any case
/// (a row's sum is, so its weights need not be). Targets that round in several instructions save three of five.
enum class Nan : std::uint8_t { kept, any };

/// The number that `code` stands for. Exact, except for i64 beyond 2^53 (nearest double). Bits above the element's are
/// ignored. A NaN keeps its sign, not its payload. xf32 is read as the matrix instructions read it: the low 13 bits count as zero.
/// Requires: not a pointer.
[[nodiscard]] double decode(Element element, std::uint64_t code);

/// The code of the element nearest to `value` by that rounding, with one rounding from the double.
///
/// NaN gives a quiet NaN of its sign without payload; the largest number of its sign where there is no NaN; 0 for
/// integers. Types without -0 give 0. e8m0 rounds to the nearer power of two (a tie to the larger, IEEE 754's rule for one
/// digit), gives 2^-127 for 0 and NaN for negative numbers. xf32 leaves the low 13 bits zero.
/// Ensures: `encode(e, decode(e, c)) == c` for every code c that is not a NaN. Requires: not a pointer.
[[nodiscard]] std::uint64_t encode(Element element, double value, Overflow overflow = Overflow::special,
                                   Rounding rounding = Rounding::nearest_even);
/// @name The code of element number `index` of packed ones: bits [index b, index b + b) of the bytes, least significant first
/// @{
[[nodiscard]] std::uint64_t code_at(std::span<const std::byte> bytes, std::size_t index, Element element);
void put_code(std::span<std::byte> bytes, std::size_t index, Element element, std::uint64_t code);
/// @}
/// decode(encode(value)): the value after a store and a load.
[[nodiscard]] double rounded(Element element, double value, Overflow overflow = Overflow::special,
                             Rounding rounding = Rounding::nearest_even);

/// Whether a value is one of the element's but for rounding: no number past the largest, and no infinity where there is none.
///
///     holds(Element::i8, -128) == true       holds(Element::i8, -INFINITY) == false       holds(Element::f16, 0.1) == true
[[nodiscard]] bool holds(Element element, double value);

/// How a target converts one element to another.
///
///     conversion(mi355x, Element::f32, Element::bf16)->instruction   // v_cvt_pk_bf16_f32, two at a time
///     conversion(mi300x, Element::f32, Element::bf16)->instruction   // "": a sequence of integer operations, exact
///     conversion(mi300x, Element::f32, Element::e4m3fn)              // nullptr: CDNA3 converts to e4m3fnuz only
struct Conversion {
  Element from, to;
  std::string_view instruction; ///< empty when a sequence of other instructions computes it exactly
  std::string_view emitted;     ///< LLVM instruction (`fptrunc`) or intrinsic (`llvm.amdgcn.cvt.pk.fp8.f32`)
  /// That one instruction converts. 2xpk16 takes two vectors of 16 and puts their elements side by side: 0 of the first, 0
  /// of the second, 1 of the first, ...
  int elements;
  bool scaled;       ///< multiplies or divides by a scale operand (2^n) on the way
  Rounding rounding; ///< with MODE's default; irrelevant where the conversion is exact
  Overflow overflow; ///< with MODE's default (FP16_OVFL = 0)
  TargetSet targets;

  [[nodiscard]] bool hardware() const { return !instruction.empty(); }
};
[[nodiscard]] std::span<const Conversion> conversions();
/// The one without a scale operand if there is one, else the scaled one; nullptr when the target has neither.
[[nodiscard]] const Conversion* conversion(const Target& target, Element from, Element to);

} // namespace inlay::codegen
