/// What the command line asks of a GEMM, and its options: what is computed, its sizes, and the form. Private.
#pragma once

#include "../options.h"
#include "forms.h"

#include <inlay/kernels/gemm/spec.h>

namespace inlay::kernels {

/// What is asked of bits.
enum class Same : std::uint8_t {
  any,
  launch, ///< a second launch gives the same, beside other rows too: the claims of codegen/sum_order.h
  batch   ///< and so do the forms that are chosen for another m
};
struct GemmAsked : GemmSpec {
  std::int64_t m = 256, n = 256, k = 256;
  GemmPads pads;
  GemmGroups groups;
  Same same = Same::any;
};
using ReadsGemm = Reads<GemmAsked>;
using Added = GemmSpec::Added;

inline constexpr std::int64_t most_asked = 1 << 24; // refuses nonsense; plan_gemm_launch has the real limits

/// Elements of 128 bytes of a row, or what has a register of scales.
[[nodiscard]] inline int line_of(const GemmSpec& s) {
  return s.has_block_scales() ? 256 : 1024 / codegen::bits(s.in);
}

/// `pre`: of preshuffle_gemm.
[[nodiscard]] std::vector<Option<GemmAsked>> options_of_values(bool pre);
[[nodiscard]] std::vector<Option<GemmAsked>> options_of_sizes(bool pre);
[[nodiscard]] std::vector<Option<GemmAsked>> options_of_form(bool pre);

} // namespace inlay::kernels
