/// The names that every kernel's program is written with. Private.
#pragma once

#include <inlay/codegen/program.h>

#include <vector>

namespace inlay::kernels {

using codegen::Expr;
using codegen::Fragment;
using codegen::Monoid;
using codegen::Program;
using codegen::Target;
using codegen::Tensor;
using Exprs = std::vector<Expr>; ///< what the function of a map is given

} // namespace inlay::kernels
