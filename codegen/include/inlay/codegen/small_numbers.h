/// Numbers of 4 and 6 bits, as integers of a map: how packed codes become numbers, and numbers codes, on every target.
///
/// A map takes elements of 8 bits and more. Codes of fewer bits lie packed in words or bytes, which a map has as integers:
///
///     from_code(Element::e2m1, integer(word) >> 4 * j)              the number that nibble j of a word is
///     integer(a) | (to_code(Element::e2m1, x) << 4)                 two codes in a byte
///
/// Both are made of the integers of expression.h, so that claims, tokens and validation know them already. Both are exact: no number on the
/// way is rounded but by `to_code`'s own rounding. Source: OCP Microscaling Formats (MX) Specification 1.0, 2023 (e2m1, e2m3, e3m2).
#pragma once

#include <inlay/codegen/element.h>
#include <inlay/codegen/expression.h>

namespace inlay::codegen {

/// The number whose code the lowest bits of `code` are; the others are ignored: `from_code(e2m1, 0x7)` is 6. The code of -0 gives 0.
/// An i4 without a sign needs no more than `to_number(code & 15)`.
/// Requires: e2m1, e2m3, e3m2 or i4, and an integer. Errors: CodegenError. Law: decode(element, code).
[[nodiscard]] Expr from_code(Element element, Expr code);

/// The code of the nearest number, ties to the even code; of what is too large, infinite too, the largest one with its sign: `to_code(e2m1, 2.5)`
/// is 4, of 2. Of -0 it is 0. Of NaN it is some code. What is rounded should be an input's element or exact, as of `nearest`.
/// Requires: as `from_code`, and a number. Errors: CodegenError. Law: encode(element, x, Overflow::saturate).
[[nodiscard]] Expr to_code(Element element, Expr x);

} // namespace inlay::codegen
