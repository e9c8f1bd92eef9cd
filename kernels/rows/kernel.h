/// The kernels of rows that have a specification of their own (rows/spec.h), on the command line. Private.
#pragma once

#include "../page.h"
#include "row.h"

#include <fmt/format.h>

namespace inlay::kernels {

/// Of f16, by which rounding errs below its smallest normal number, whatever the value.
[[nodiscard]] inline double subnormal(Element type) { return type == Element::f16 ? std::ldexp(1, -25) : 0; }

/// `folds`: not an activation of each element, `normalises`: with weights; `length`: the name of a row's length.
[[nodiscard]] std::unique_ptr<Kernel>
kernel_of_rows(const std::string& name, const std::string& summary, const std::string& length,
               codegen::Program (*program)(const RowSpec&),
               Problem (*problem)(const RowSpec&, std::int64_t, std::int64_t, std::uint64_t), bool folds,
               bool normalises);

} // namespace inlay::kernels
