// What the rows of matrix instructions mean for registers.
#include "emulator/mfma.h"

#include <inlay/machine/target.h>

namespace inlay::runtime {
namespace {

Element by_code(std::uint8_t code) {
  const std::size_t last = machine::f8f6f4_operands.size() - 1;
  return machine::f8f6f4_operands[std::min<std::size_t>(code & 7u, last)];
}

} // namespace

std::span<const MatrixOp> matrix_ops() { return machine::matrix_instructions(); }

const MatrixOp* find_matrix_op(std::string_view name) { return machine::find_matrix_instruction(name); }

Element element_a(const MatrixOp& op, const MatrixModifiers& modifiers) {
  return op.typed_by_modifiers ? by_code(modifiers.cbsz) : op.a;
}

Element element_b(const MatrixOp& op, const MatrixModifiers& modifiers) {
  return op.typed_by_modifiers ? by_code(modifiers.blgp) : op.b;
}

MatrixRegisters registers_of(const MatrixOp& op, const MatrixModifiers& modifiers) {
  const int a_elements = op.m * op.k * op.blocks / 64 / (op.sparse ? 2 : 1);
  const int b_elements = op.n * op.k * op.blocks / 64;
  const int d_elements = op.m * op.n * op.blocks / 64;
  return {a_elements * bits_of(element_a(op, modifiers)) / 32,
          b_elements * bits_of(element_b(op, modifiers)) / 32, d_elements * bits_of(op.d) / 32};
}

} // namespace inlay::runtime
