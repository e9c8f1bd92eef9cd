/// Triton's layouts as its dumps write them, as layouts of this algebra.
///
///     #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
///     tensor<64x32xf16, #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>>
///     !ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>, #smem>
///
/// Layouts of registers (`linear`, `blocked`, `amd_mfma`, and `dot_op` and `slice` of them) are thread-value layouts: ((lane, warp),
/// register) to the index in the tensor, first dimension fastest, as `thread_value_layout` has it. Layouts of shared memory
/// (`swizzled_shared`, `amd_rotating_shared`, `padded_shared`, `shared_linear`) go the way a pointer is computed: coordinate of the
/// tensor to offset in elements. A tensor's type brings the shape; without it a layout of registers stands for its own tile, and one
/// of shared memory is refused unless it says its shape. The rules are those of `toLinearLayout` of Triton 3.9; tests compare them
/// with values that it printed.
#pragma once

#include <inlay/algebra/linear_layout.h>
#include <inlay/algebra/value.h>

#include <optional>
#include <string_view>

namespace inlay {

/// Whether a text starts as one of Triton's: `#`, `tensor<` or `!ttg.`.
[[nodiscard]] bool is_triton_layout(std::string_view text);
/// A layout, a composed or a nested one. Errors: `syntax`; `triton` (an attribute that is not read here, a field that is missing or of no
/// use, no shape); `linear`, when a layout of registers is none of extents and strides.
[[nodiscard]] Value parse_triton_layout(std::string_view text);
/// The bits of a layout of registers on a tensor of this shape, `{}` for its own tile. Errors: those above.
[[nodiscard]] LinearLayout triton_linear_layout(std::string_view attribute,
                                                const std::vector<std::int64_t>& shape);

} // namespace inlay
