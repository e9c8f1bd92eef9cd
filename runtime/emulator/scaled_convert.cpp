#include "emulator/scaled_convert.h"

#include <inlay/machine/target.h>

#include "emulator/numerics/scaled_convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace inlay::runtime::emulator {
namespace {

class Prepared final : public MatrixInstruction {
public:
  Prepared(const numerics::ScaledConversion& conversion, const isa::Instruction& instruction,
           unsigned accum_offset)
      : conversion_(conversion), op_sel_(instruction.modifiers.op_sel) {
    const auto& operands = instruction.operands;
    const auto count = static_cast<std::size_t>(conversion.sources());
    if (operands.size() < count + 1) {
      throw isa::IsaError("scaled conversion with missing operands: " + instruction.text);
    }
    const auto row = [&](const isa::Operand& operand) {
      const unsigned first =
          operand.kind == isa::OperandKind::agpr ? accum_offset + operand.index : operand.index;
      if (first + operand.width > vector_rows) {
        throw isa::IsaError("scaled conversion with an operand outside the register file: " +
                            instruction.text);
      }
      return first;
    };
    if (!operands[0].is_vector()) {
      throw isa::IsaError("scaled conversion without a vector destination: " + instruction.text);
    }
    destination_ = row(operands[0]);
    for (std::size_t n = 0; n < count; ++n) {
      sources_[n] = operands[n + 1];
      if (sources_[n].is_vector()) {
        rows_[n] = row(sources_[n]);
      }
    }
  }

  void execute(WaveState& wave) const override {
    const auto overflow =
        (wave.mode >> 23u & 1u) != 0 ? numerics::Overflow::saturate : numerics::Overflow::special;
    const auto count = static_cast<std::size_t>(conversion_.sources());
    const std::uint64_t exec = wave.exec();
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if ((exec >> lane & 1u) == 0) {
        continue;
      }
      const std::uint32_t* from[4] = {};
      std::uint32_t copies[4][lanes + 1]; // scalars, and values with modifiers: words 0 and `lanes`
      for (std::size_t n = 0; n < count; ++n) {
        const auto& operand = sources_[n];
        if (operand.is_vector() && !operand.neg && !operand.abs) {
          from[n] = wave.row(rows_[n]) + lane;
          continue;
        }
        for (unsigned word = 0; word < std::min<unsigned>(operand.width, 2); ++word) {
          const std::uint32_t bits =
              operand.is_vector() ? wave.row(rows_[n] + word)[lane] : uniform(wave, operand, word);
          copies[n][word * lanes] = modified(bits, operand, n);
        }
        from[n] = copies[n];
      }
      numerics::convert_scaled(conversion_, from, wave.row(destination_) + lane, lanes, op_sel_, overflow);
    }
  }

private:
  static std::uint32_t uniform(const WaveState& wave, const isa::Operand& operand, unsigned word) {
    switch (operand.kind) {
    case isa::OperandKind::sgpr: return wave.scalar[operand.index + word];
    case isa::OperandKind::inline_float:
      return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)));
    default: return static_cast<std::uint32_t>(operand.value);
    }
  }
  // abs before neg, on the sign bits of f32 or of the halves of a 16-bit value operand.
  [[nodiscard]] std::uint32_t modified(std::uint32_t word, const isa::Operand& operand, std::size_t n) const {
    const bool halves = n == 0 && conversion_.source.bits() == 16;
    const std::uint32_t signs = halves ? 0x80008000u : 0x80000000u;
    word = operand.abs ? word & ~signs : word;
    return operand.neg ? word ^ signs : word;
  }

  numerics::ScaledConversion conversion_;
  unsigned op_sel_;
  unsigned destination_ = 0;
  std::array<isa::Operand, 4> sources_;
  std::array<unsigned, 4> rows_{};
};

} // namespace

std::unique_ptr<MatrixInstruction> prepare_scaled_conversion(const isa::Instruction& instruction,
                                                             isa::Arch arch, unsigned accum_offset) {
  const auto conversion = numerics::scaled_conversion(instruction.mnemonic);
  if (!conversion || !machine::target(arch).mx_formats) {
    return nullptr;
  }
  return std::make_unique<Prepared>(*conversion, instruction, accum_offset);
}

} // namespace inlay::runtime::emulator
