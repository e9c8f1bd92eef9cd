/// Choices of arithmetic that the matrix instructions are given.
#pragma once

#include <cstdint>
#include <inlay/runtime/matrix_arithmetic.h>

namespace inlay::runtime::numerics {

using runtime::MatrixArithmetic;

/// What the opcodes that say fp8 and bf8 read: FNUZ on CDNA3, OCP on CDNA4.
enum class Fp8 : std::uint8_t { fnuz, ocp };

} // namespace inlay::runtime::numerics
