// From a decoded matrix instruction to mfma(): registers, constants and fields, resolved once.
#include "emulator/matrix.h"
#include "emulator/mfma.h"
#include <inlay/machine/target.h>

#include <bit>
#include <string>
#include <vector>

namespace inlay::runtime::emulator {
namespace {

// The bits of an inline constant in D's type. Floats were decoded to double: the constants are exact in float
// but for 1/(2 pi), whose hardware value is the float nearest to it (CDNA3 ISA, "Inline constants").
std::uint64_t constant_bits(const isa::Operand& operand, Element type) {
  if (operand.kind != isa::OperandKind::inline_float) {
    return operand.value;
  }
  const auto value = std::bit_cast<double>(operand.value);
  return type == Element::f64 ? operand.value : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// Rows without subnormals, each a zero of its sign (Target::flushes_products).
void flush(std::uint32_t* to, const std::uint32_t* from, int rows, Element e) {
  const std::uint32_t exponent = e == Element::f16    ? 0x7c007c00U
                                 : e == Element::bf16 ? 0x7f807f80U
                                                      : 0x7f800000U;
  for (int n = 0; n < rows * static_cast<int>(lanes); ++n) {
    const std::uint32_t x = from[n];
    if (e == Element::f32) {
      to[n] = (x & exponent) == 0 ? x & 0x80000000U : x;
    } else {
      const std::uint32_t low = (x & exponent & 0xffffU) == 0 ? x & 0x8000U : x & 0xffffU,
                          high = (x & exponent & 0xffff0000U) == 0 ? x & 0x80000000U : x & 0xffff0000U;
      to[n] = low | high;
    }
  }
}

class Prepared final : public MatrixInstruction {
public:
  Prepared(const MatrixOp& op, const isa::Instruction& instruction, isa::Arch arch, unsigned accum_offset,
           MatrixArithmetic arithmetic)
      : op_(op), options_{.arithmetic = arithmetic,
                          .fp8 = machine::target(arch).ocp_fp8 ? numerics::Fp8::ocp : numerics::Fp8::fnuz},
        flushes_(machine::target(arch).flushes_products && (op.a == Element::f16 || op.a == Element::bf16)) {
    const auto& fields = instruction.modifiers;
    modifiers_ = {.cbsz = fields.cbsz, .abid = fields.abid, .blgp = fields.blgp};
    if (op.negates) {
      modifiers_.blgp = static_cast<std::uint8_t>(fields.blgp | fields.neg_lo);
    }
    const auto& operands = instruction.operands;
    const std::size_t expected = op.scaled ? 6 : 4;
    if (operands.size() < expected || instruction.encoding.size() < (op.scaled ? 16u : 8u)) {
      throw isa::IsaError("matrix instruction with missing operands: " + instruction.text);
    }
    form_ = form_of(op, modifiers_);
    const MatrixRegisters& need = form_.registers;
    const auto row = [&](const isa::Operand& operand, int registers) {
      const unsigned first =
          operand.kind == isa::OperandKind::agpr ? accum_offset + operand.index : operand.index;
      if (!operand.is_vector() || first + static_cast<unsigned>(registers) > vector_rows) {
        throw isa::IsaError("matrix instruction with an operand outside the register file: " +
                            instruction.text);
      }
      return first;
    };
    d_ = row(operands[0], need.d);
    a_ = row(operands[1], need.a);
    b_ = row(operands[2], need.b);
    if (op.sparse) {
      index_ = row(operands[3], 1);
    } else if (operands[3].is_vector()) {
      c_ = row(operands[3], need.d);
      has_c_ = true;
    } else {
      constant_ = constant_bits(operands[3], op.d);
    }
    if (op.scaled) {
      scale_a_ = operands[4];
      scale_b_ = operands[5];
      scale_a_.index = static_cast<std::uint16_t>(scale_a_.is_vector() ? row(scale_a_, 1) : scale_a_.index);
      scale_b_.index = static_cast<std::uint16_t>(scale_b_.is_vector() ? row(scale_b_, 1) : scale_b_.index);
      // OPSEL (bits 12:11) and OPSEL_HI (60:59) of the scale half: low and high bit of the byte, A's first.
      const auto& code = instruction.encoding;
      const unsigned low = code[1] >> 3u;
      const unsigned high = code[7] >> 3u;
      modifiers_.scale_byte_a = static_cast<std::uint8_t>((low & 1u) | (high & 1u) << 1u);
      modifiers_.scale_byte_b = static_cast<std::uint8_t>((low >> 1u & 1u) | (high >> 1u & 1u) << 1u);
    }
  }

  void execute(WaveState& wave) const override {
    MatrixOperands o{.a = wave.row(a_),
                     .b = wave.row(b_),
                     .c = has_c_ ? wave.row(c_) : nullptr,
                     .d = wave.row(d_),
                     .constant = constant_};
    if (op_.sparse) {
      o.index = wave.row(index_);
    }
    std::uint32_t scales[2][lanes];
    if (op_.scaled) {
      o.scale_a = scale(wave, scale_a_, scales[0]);
      o.scale_b = scale(wave, scale_b_, scales[1]);
    }
    if (flushes_) return flushed(o);
    mfma(op_, form_, o, modifiers_, options_);
  }

private:
  void flushed(MatrixOperands o) const {
    const auto rows = [](int count) { return static_cast<std::size_t>(count) * lanes; };
    const MatrixRegisters& n = form_.registers;
    std::vector<std::uint32_t> a(rows(n.a)), b(rows(n.b)), c(o.c != nullptr ? rows(n.d) : 0);
    flush(a.data(), o.a, n.a, op_.a);
    flush(b.data(), o.b, n.b, op_.b);
    o.a = a.data(), o.b = b.data();
    if (o.c != nullptr) {
      flush(c.data(), o.c, n.d, op_.d);
      o.c = c.data();
    }
    mfma(op_, form_, o, modifiers_, options_);
    flush(o.d, o.d, n.d, op_.d);
  }
  // A scale register, or a scalar or constant in all lanes.
  static const std::uint32_t* scale(const WaveState& wave, const isa::Operand& operand,
                                    std::uint32_t* spread) {
    if (operand.is_vector()) {
      return wave.row(operand.index);
    }
    const auto value = operand.kind == isa::OperandKind::sgpr
                           ? wave.scalar[operand.index]
                           : static_cast<std::uint32_t>(constant_bits(operand, Element::f32));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      spread[lane] = value;
    }
    return spread;
  }

  const MatrixOp& op_;
  MatrixOptions options_;
  bool flushes_; ///< Target::flushes_products
  MatrixModifiers modifiers_;
  MatrixForm form_;
  unsigned a_ = 0, b_ = 0, c_ = 0, d_ = 0, index_ = 0;
  bool has_c_ = false;
  std::uint64_t constant_ = 0;
  isa::Operand scale_a_, scale_b_;
};

} // namespace

std::unique_ptr<MatrixInstruction> prepare_matrix(const isa::Instruction& instruction, isa::Arch arch,
                                                  unsigned accum_offset, MatrixArithmetic arithmetic) {
  const MatrixOp* op = find_matrix_op(instruction.mnemonic);
  if (op == nullptr || !op->on(arch)) {
    return nullptr;
  }
  return std::make_unique<Prepared>(*op, instruction, arch, accum_offset, arithmetic);
}

} // namespace inlay::runtime::emulator
