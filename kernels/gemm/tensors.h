/// The sizes and tensors of a GEMM, and what it computes of them. Private.
#pragma once

#include "parts.h"

namespace inlay::kernels::gemm {

struct GemmTensors {
  /// Declares them, in the order in which a launch has them.
  GemmTensors(Program& k, const GemmSpec& s);
  /// What is computed: D, of split-K with fixup the parts of its sums, and amax.
  void specify() const;
  /// What becomes of a sum, in the specification and in the kernel: x is the sum, and of these what there is: sa, sb, alpha, beta, C, bias,
  /// row_bias, residual. Where beta is 0, C counts nothing, even NaN (BLAS's rule); a beta that is NaN is no 0.
  [[nodiscard]] Expr finished(const Exprs& x) const;
  /// Elements of K that part `number` has.
  [[nodiscard]] Sym length(Sym number) const;

  Program& k;
  const GemmSpec& s;
  int multiple_n;              ///< divides N
  Sym M{}, N{}, K{}, parts{1}; ///< parts of K that are stored
  Tensor C, A, B;              ///< C is the result
  std::optional<Tensor> SA, SB, bias, row_bias, alpha, beta, added, residual, amax, P; ///< P: the parts

private:
  [[nodiscard]] Expr product(Sym m, Sym n, Sym i) const;
  [[nodiscard]] Expr value(const std::vector<Sym>& c) const;
};

} // namespace inlay::kernels::gemm
