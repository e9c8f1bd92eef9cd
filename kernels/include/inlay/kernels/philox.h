/// Random numbers by a counter, as expressions: the same bits wherever and in whatever order they are made.
///
///     const auto words = philox4x32({integer(k.number(floor_div(i, Sym(4)))), zero, zero, zero}, {key0, key1});
///
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011 (Philox4x32-10; Random123's known answers
/// are in tests/kernels/integers_test.cpp).
#pragma once

#include <inlay/codegen/expression.h>

#include <array>

namespace inlay::kernels {

/// Four words of ten rounds. Requires: integers.
[[nodiscard]] std::array<codegen::Expr, 4> philox4x32(std::array<codegen::Expr, 4> counter,
                                                      std::array<codegen::Expr, 2> key);

} // namespace inlay::kernels
