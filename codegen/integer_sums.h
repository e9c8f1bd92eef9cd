/// Sums of whole numbers: where a map of i32 operands adds them as integers.
#pragma once

#include <inlay/codegen/expression.h>

#include <algorithm>

namespace inlay::codegen {

/// `x0 + x1 + ...`, of operands alone: of i32 operands and with a result of i32 these are integers, modulo 2^32, which provenance shows to
/// be the numbers themselves.
inline bool adds_operands(Expr map) {
  const ExprNode& n = map.node();
  return n.fn == Fn::add && std::all_of(n.args.begin(), n.args.end(), [&](int a) {
           const Expr arg{map.arena, a};
           return arg.node().fn == Fn::parameter || adds_operands(arg);
         });
}

} // namespace inlay::codegen
