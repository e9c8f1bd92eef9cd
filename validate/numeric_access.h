/// Accesses whose addresses are numbers.
#pragma once

#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/symbolic/flow.h>

namespace inlay::kernels::validate {

/// Calls f(lane, address, bytes to the end of the descriptor) for each lane that takes part.
/// Errors: IsaError where an address or a guard is no number, or the access is swizzled.
template <class F>
void each_numeric_lane(const runtime::symbolic::Terms& terms, const runtime::symbolic::FlowAccess& access,
                       F f) {
  using runtime::symbolic::Term;
  using runtime::symbolic::Terms;
  const auto number = [&](Term w) {
    const auto v = w == Terms::unknown ? std::nullopt : terms.value(w);
    if (!v) throw runtime::isa::IsaError("an address that is no number with numbers for the sizes");
    return *v;
  };
  for (unsigned l = 0; l < 64; ++l) {
    if (access.guard[l] == 0 || number(access.guard[l]) == 0) continue;
    if (!access.buffer) {
      f(l, number(access.offset[l]), ~std::uint64_t{0});
      continue;
    }
    const std::uint64_t high = number(access.descriptor[1]), flags = number(access.descriptor[3]);
    // A raw access, whatever the descriptor says otherwise; with the lane in the address nothing is compared.
    const bool with_lane = ((flags >> 23) & 1) != 0;
    if ((!access.plain && !access.typed) || (with_lane && (high >> 31) != 0))
      throw runtime::isa::IsaError("an access that is not raw, or swizzled");
    const std::uint64_t stride = ((high >> 16) & 0x3fffU) | (with_lane ? ((flags >> 15) & 15U) << 14 : 0U);
    const std::uint64_t base = number(access.descriptor[0]) | ((high & 0xffffU) << 32);
    const std::uint64_t offset = number(access.offset[l]) + number(access.soffset);
    const std::uint64_t records = number(access.descriptor[2]);
    if (with_lane)
      f(l, (base + offset + l * stride) & 0xffffffffffffULL, ~std::uint64_t{0});
    else
      f(l, (base + offset) & 0xffffffffffffULL, offset < records ? records - offset : 0);
  }
}

} // namespace inlay::kernels::validate
