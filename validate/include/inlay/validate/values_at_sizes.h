/// What machine code stores, against an index expression, for sizes that are numbers and all values of the elements.
///
/// Each workgroup's machine code is executed with a random number of the field of 2^61 - 1 for every element of memory
/// (values.h): loads, LDS, conversions, packing and matrix instructions carry these numbers along, and what is stored has
/// to be the expression's number. Two expressions that are equal in real arithmetic for all elements agree; two that are not agree
/// with a probability below (degree) / 2^61. Functions such as 2^x are random functions of their argument, so that
/// 2^x 2^y is not known to be 2^(x + y).
///
/// Beside it the emulator runs the launch once with small integers as elements, and an element that is off by more than its error
/// bound is the counterexample. Where the field does not say that both are equal, and the run does not say that they differ, the claim is
/// undecided: *validated on runs only*, with the reason.
///
///     for (const ClaimResult& r : check_values(object, kernel, claims, {.block = {256}})) ...
///
/// Not looked at: rounding (conversions are the identity; runs allow `Claims::within`), and other sizes.
#pragma once

#include <inlay/runtime/device.h>
#include <inlay/validate/claims.h>

namespace inlay::kernels::validate {

struct ValueOptions {
  runtime::Extent3 block{0, 0, 0}; ///< zeros: what the kernel requires
  std::uint32_t dynamic_lds = 0;
  /// The order of waves is validated for all sizes, so that one order of them stands for all; otherwise it is looked at for these.
  bool ordered = true;
  unsigned max_workgroups = 256; ///< that are followed, for one line of sizes
  bool runs = true; ///< false: the field alone, which refutes nothing but stores beside the elements
};

/// One result for a `value` and a line of `sizes`. Errors: std::invalid_argument for claims that do not fit the kernel or
/// have no number at these sizes.
[[nodiscard]] std::vector<ClaimResult> check_values(const runtime::CodeObject& object,
                                                    const runtime::Kernel& kernel, const Claims& claims,
                                                    const ValueOptions& options = {});

} // namespace inlay::kernels::validate
