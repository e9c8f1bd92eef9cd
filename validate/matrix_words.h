/// A machine's matrix instruction on words whose elements are numbers of a field.
#pragma once

#include "values_of_words.h"

#include <inlay/codegen/atoms.h>
#include <inlay/codegen/target.h>

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace inlay::kernels::validate {

/// The matrix product of an instruction on field numbers, by the layouts of its atom.
class MatrixProduct {
public:
  explicit MatrixProduct(const codegen::Mma& mma);
  /// What multiplies each value of A and B where the product is scaled: [lane][value] -> lane of the scale.
  [[nodiscard]] const std::vector<int>& scale_of(int operand) const {
    return operand == 0 ? scale_a_ : scale_b_;
  }
  /// d[lane * c_values + v] = c + a b. Arrays are [lane][value].
  void operator()(std::span<const Number> a, std::span<const Number> b, std::span<const Number> c,
                  std::span<Number> d) const;
  /// The same on real numbers.
  void real(std::span<const Number> a, std::span<const Number> b, std::span<const Number> c,
            std::span<Number> d) const;
  int a_values, b_values, c_values;

private:
  struct Row {
    std::vector<int> at; ///< by k: lane * values + value
  };
  std::map<std::pair<int, int>, Row> rows_a_, rows_b_; ///< (block, row)
  std::vector<int> scale_a_, scale_b_;
  std::vector<std::array<const Row*, 2>> of_; ///< of each place of C
};

/// Whether a product writes zeros because each of its operands is zeros: not one of the code's, but empty accumulators. Then
/// `x.d` is filled.
[[nodiscard]] bool empties(Terms& t, const runtime::isa::Instruction& i, runtime::symbolic::FlowMatrix& x);

/// The matrix product that an instruction is, when its modifiers say nothing else.
[[nodiscard]] const codegen::Atom* matrix_atom(const codegen::Target& target,
                                               const runtime::isa::Instruction& i);

/// Which byte of its scale register an operand of v_mfma_scale takes: its low and its high bit in OPSEL (12:11) and
/// OPSEL_HI (60:59) of the first eight bytes, A's first.
[[nodiscard]] unsigned scale_byte(const runtime::isa::Instruction& i, int operand);

/// Fills `x.d` and gives the result's numbers, [lane][value]; nothing where an operand has no value, and then `why` says which
/// (empty: not a product that is followed).
[[nodiscard]] std::optional<std::vector<Number>>
multiply_words(runtime::symbolic::FlowMatrix& x, const runtime::isa::Instruction& i,
               const codegen::Atom& atom, const MatrixProduct& f, ValuesOfWords& values, std::string& why);

} // namespace inlay::kernels::validate
