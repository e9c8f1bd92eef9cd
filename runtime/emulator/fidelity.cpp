// How exact the emulator's instructions are: docs/emulator_numerics.md as data.
#include "engine.h"

#include <algorithm>
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/instruction_facts.h>
#include <map>

namespace inlay::runtime {

using namespace emulator;

std::string_view to_string(Fidelity fidelity) {
  static constexpr std::string_view names[] = {"exact", "ulp", "assumed"};
  return names[static_cast<std::size_t>(fidelity)];
}

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What is assumed of a matrix instruction; nothing: its sums are defined or were measured.
const char* assumed_of_matrix(std::string_view name, isa::Arch arch, MatrixArithmetic matrix) {
  const bool sparse = name.starts_with("v_smfmac"), measured = machine::target(arch).published_matrix_sums;
  const machine::MatrixInstruction* const row = machine::find_matrix_instruction(name);
  if (row == nullptr || row->a == machine::Operand::i8) return nullptr; // integers, in any order
  if (row->a == machine::Operand::f64 || row->a == machine::Operand::f32)
    return measured ? nullptr : "the order of the sums was measured on MI300X only";
  if (has(name, "f8f6f4"))
    return "order and width of the sums are not published; ascending k, one rounding each";
  if (matrix == MatrixArithmetic::sequential)
    return "sums in ascending k, one rounding each; --matrix cdna3 is what was measured on MI300X";
  if (machine::target(arch).flushes_products)
    return "the sums of MI300X; subnormals are zeros of their sign, as published but for the sign";
  if (!measured) return "the sums of MI300X; those of this processor are not published";
  return sparse ? "the order of the sums of sparse instructions was not measured" : nullptr;
}

struct Rule {
  std::string_view begins;
  Fidelity fidelity;
  const char* why;
};

constexpr const char* table = "1 ulp by the manual, correctly rounded here";
constexpr const char* seed = "stochastic rounding: the bits of the seed are added below those that are kept";
constexpr const char* clock_text = "counts instructions, not time";

constexpr Rule rules[] = {
    {"v_sin_", Fidelity::ulp, table},
    {"v_cos_", Fidelity::ulp, table},
    {"v_exp_", Fidelity::ulp, table},
    {"v_log_", Fidelity::ulp, table},
    {"v_rcp_", Fidelity::ulp, table},
    {"v_rsq_", Fidelity::ulp, table},
    {"v_sqrt_", Fidelity::ulp, table},
    {"v_cvt_sr_", Fidelity::assumed, seed},
    {"v_cvt_scalef32_sr_", Fidelity::assumed, seed},
    {"v_cvt_pknorm_", Fidelity::assumed, "clamped, and not rounded before the nearest even integer is taken"},
    {"v_cvt_norm_", Fidelity::assumed, "clamped, and not rounded before the nearest even integer is taken"},
    {"v_cvt_pk_u8_f32", Fidelity::assumed, "rounds to nearest even and saturates"},
    {"v_dot2_f32_", Fidelity::assumed, "one rounding of the whole sum; the manual names no width"},
    {"v_dot2c_f32_", Fidelity::assumed, "one rounding of the whole sum; the manual names no width"},
    {"v_div_scale_", Fidelity::assumed,
     "denominator and quotient both subnormal: as the quotient needs it, not as the manual has it"},
    {"v_div_fmas_", Fidelity::assumed, "the scale that the quotient needs, not the manual's"},
    {"s_memtime", Fidelity::assumed, clock_text},
    {"s_memrealtime", Fidelity::assumed, clock_text},
    {"s_getreg_b32", Fidelity::assumed,
     "hardware registers other than MODE are what an idle device would have"},
};

} // namespace

InstructionFidelity fidelity_of(const isa::Instruction& i, isa::Arch arch, MatrixArithmetic matrix) {
  InstructionFidelity f{
      .mnemonic = std::string(i.mnemonic), .fidelity = Fidelity::exact, .why = {}, .count = 0};
  const auto say = [&](Fidelity fidelity, const char* why) {
    f.fidelity = fidelity;
    f.why = why;
  };
  const std::string_view name = i.mnemonic;
  if (i.format == isa::Format::mfma) {
    if (const char* const why = assumed_of_matrix(name, arch, matrix)) say(Fidelity::assumed, why);
    return f;
  }
  for (const Rule& r : rules)
    if (name.starts_with(r.begins)) say(r.fidelity, r.why);
  if (machine::target(arch).flushes_products && name.starts_with("v_dot2") && has(name, "_f32_"))
    say(Fidelity::assumed, "subnormals are kept; this processor is said to take them as zero");
  // Values that do not depend on a choice are exact: FP atomics of one address in more than one order are not.
  if (f.fidelity == Fidelity::exact && has(name, "atomic") &&
      (has(name, "_f16") || has(name, "_bf16") || has(name, "_f32") || has(name, "_f64")))
    say(Fidelity::assumed, "floating sums depend on the order of workgroups; here x fastest, lanes upwards");
  return f;
}

} // namespace inlay::runtime

namespace inlay::runtime::emulator {

std::vector<InstructionFidelity> explain_fidelity(const Launch& launch) {
  std::map<std::string, InstructionFidelity> all;
  for (std::size_t k = 0; k + 1 < launch.counts.size(); ++k) {
    if (launch.counts[k] == 0) continue;
    const isa::Instruction& i = *launch.code->operations[k].instruction;
    InstructionFidelity f = fidelity_of(i, launch.arch, launch.options->matrix);
    InstructionFidelity& sum = all.try_emplace(f.mnemonic, f).first->second;
    if (sum.fidelity < f.fidelity) {
      f.count = sum.count;
      sum = f;
    }
    sum.count += launch.counts[k];
  }
  std::vector<InstructionFidelity> out;
  for (auto& [name, f] : all) out.push_back(std::move(f));
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.fidelity > b.fidelity; });
  return out;
}

} // namespace inlay::runtime::emulator
