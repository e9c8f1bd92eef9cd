/// An index expression as numbers: what a kernel should compute, by its definition, in double.
///
///     std::vector<double> c = evaluate(program, spec.value, spec.coordinate, {m, n}, {{m, n, k}, {{A.id, a}, {B.id, b}}});
///
/// Every subexpression is evaluated once for all values of the indices that it depends on, as an array over these; a sum of a
/// product of two is a matrix product (Eigen). So attention costs B H Sq Sk D multiplications, as it should, and not Sk times
/// that. It shares nothing with the code that a kernel becomes but the expression.
#pragma once

#include <inlay/codegen/program.h>

#include <map>
#include <span>
#include <vector>

namespace inlay::kernels {

/// Values of the sizes, in the order of their declaration, and of tensors by id: row-major over their coordinates, wherever
/// their `place` has them.
struct EvaluationInput {
  std::vector<std::int64_t> sizes;
  std::map<int, std::vector<double>> tensors;
};

/// The value at every coordinate 0 <= coordinate[i] < extents[i], row-major. An element whose index comes through a table and
/// is outside of the tensor is 0; any other index outside is an error. An output that is read and not given is what its own
/// specification says.
/// Errors: CodegenError for a tensor that is missing, has another number of elements, or is indexed outside.
[[nodiscard]] std::vector<double> evaluate(const codegen::Program& program, codegen::Expr value,
                                           std::span<const Sym> coordinate,
                                           std::span<const std::int64_t> extents,
                                           const EvaluationInput& input);

/// What the tensor of a specification holds, row-major: its value at every coordinate, or summed at the rows that its table names.
[[nodiscard]] std::vector<double> evaluate(const codegen::Program& program,
                                           const codegen::Program::Specification& specification,
                                           const EvaluationInput& input);

/// Extents of a tensor for these sizes.
[[nodiscard]] std::vector<std::int64_t> extents_of(const codegen::Program& program,
                                                   const codegen::Tensor& tensor,
                                                   const std::vector<std::int64_t>& sizes);

} // namespace inlay::kernels
