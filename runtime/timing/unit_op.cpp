// What an instruction asks of the unit: which part of it, for how long, which registers.
#include "unit_op.h"

#include <inlay/machine/matrix.h>

#include <algorithm>

namespace inlay::runtime::timing::unit {
namespace {

std::vector<std::pair<std::uint16_t, std::uint16_t>> ranges(const isa::RegisterSet& set) {
  std::vector<std::pair<std::uint16_t, std::uint16_t>> out;
  for (std::uint16_t i = 0; i < set.size(); ++i) {
    if (!set.test(i)) continue;
    if (!out.empty() && out.back().first + out.back().second == i) {
      ++out.back().second;
    } else {
      out.emplace_back(i, std::uint16_t{1});
    }
  }
  return out;
}

} // namespace

Op op_of(const isa::Instruction& i, isa::Arch arch, const Parameters& p, Limit without) {
  using isa::Kind;
  const auto slot = static_cast<std::uint64_t>(p["slot_clk"]);
  Op op;
  op.kind = isa::kind_of(i);
  op.issue = static_cast<std::uint16_t>(std::max(1U, p.issue_clocks(i.mnemonic)));
  op.first_block = i.address / fetch_bytes;
  op.last_block = (i.address + i.size - 1) / fetch_bytes;
  const std::string_view m = i.mnemonic;
  switch (op.kind) {
  case Kind::mfma: {
    op.unit = Unit::matrix;
    op.cause = Cause::matrix;
    op.matrix_clocks = static_cast<std::uint16_t>(std::max(4U, isa::matrix_clocks(i, arch)));
    const unsigned passes = op.matrix_clocks / 4U;
    const auto* row = machine::find_matrix_instruction(m);
    const bool f64 = row != nullptr && row->a == machine::Operand::f64,
               f32 = row != nullptr && row->a == machine::Operand::f32 &&
                     machine::target(arch).f32_products_apart;
    op.coexecutes = !f64 && !f32;
    const double extra = passes == 2  ? p["mfma_two_pass_wait_states"] - 2
                         : f64 || f32 ? p["mfma_f32_extra_wait_states"]
                                      : p["mfma_xdl_extra_wait_states"];
    op.result_slots = static_cast<std::uint16_t>(std::max(0.0, passes + extra));
    if (i.operands.size() > 3 && i.operands[3].is_vector()) {
      const auto& c = i.operands[3];
      op.accumulator = c.index + (c.kind == isa::OperandKind::agpr ? 256 : 0);
      op.accumulator_count = c.width;
    } else if (m.starts_with("v_smfmac") && !i.operands.empty() && i.operands[0].is_vector()) {
      const auto& c = i.operands[0];
      op.accumulator = c.index + (c.kind == isa::OperandKind::agpr ? 256 : 0);
      op.accumulator_count = c.width;
    }
    break;
  }
  case Kind::valu:
    op.unit = Unit::vector;
    op.cause = Cause::vector;
    op.packed_f32 = m.starts_with("v_pk_") && m.ends_with("_f32");
    break;
  case Kind::smem:
    op.unit = Unit::scalar;
    op.cause = Cause::scalar;
    op.smem = true;
    op.memtime = m.find("time") != m.npos;
    break;
  case Kind::lds_read:
  case Kind::lds_write:
  case Kind::lds_other:
    op.unit = Unit::memory;
    op.cause = Cause::lds;
    op.lds = true;
    break;
  case Kind::load_to_lds:
  case Kind::load:
  case Kind::store:
  case Kind::atomic: {
    op.unit = Unit::memory;
    op.cause = Cause::memory;
    op.flat = i.format == isa::Format::flat;
    const unsigned bits = std::max(32U, isa::memory_bits(i));
    const char* width = bits <= 32   ? "vmem_dword_clk"
                        : bits <= 64 ? "vmem_dwordx2_clk"
                        : bits <= 96 ? "vmem_dwordx3_clk"
                                     : "vmem_dwordx4_clk";
    op.address_clocks = static_cast<std::uint16_t>(p[width]);
    break;
  }
  case Kind::wait:
    if (i.wait) op.wait = *i.wait;
    break;
  case Kind::nop: {
    const std::uint64_t n = i.operands.empty() ? 0 : i.operands[0].value & 0xf;
    op.issue = static_cast<std::uint16_t>(slot * (n + 1));
    break;
  }
  case Kind::priority:
    op.priority = i.operands.empty() ? 0 : static_cast<std::uint8_t>(i.operands[0].value & 3);
    break;
  case Kind::branch: op.unit = Unit::branch; break;
  case Kind::barrier:
  case Kind::unknown: break;
  default:
    op.unit = Unit::scalar;
    op.cause = Cause::scalar;
    if (m == "s_sleep") {
      op.unit = Unit::internal;
      op.cause = Cause::control;
      const std::uint64_t n = i.operands.empty() ? 0 : i.operands[0].value & 0x7f;
      op.issue = static_cast<std::uint16_t>(std::max<std::uint64_t>(slot, 64 * n)); // ISA: 64 clocks each
    } else if (m == "s_endpgm") {
      op.unit = Unit::internal;
      op.cause = Cause::control;
      op.ends = true;
    } else if (m == "s_setpc_b64" || m == "s_swappc_b64") {
      op.unit = Unit::branch;
      op.cause = Cause::control;
    }
    break;
  }
  op.transcendental = op.kind == Kind::valu && op.issue > 4;
  if (op.unit == Unit::vector || op.unit == Unit::matrix || op.unit == Unit::memory) {
    isa::RegisterSet reads = isa::registers_read(i);
    if (op.accumulator >= 0)
      for (int r = op.accumulator; r < op.accumulator + op.accumulator_count; ++r)
        reads.reset(static_cast<std::size_t>(r));
    // A register that is both source and accumulator stays a source.
    if (op.unit == Unit::matrix)
      for (std::size_t n = 1; n < std::min<std::size_t>(3, i.operands.size()); ++n)
        if (i.operands[n].is_vector())
          for (unsigned r = 0; r < i.operands[n].width; ++r)
            reads.set(i.operands[n].index + r + (i.operands[n].kind == isa::OperandKind::agpr ? 256U : 0U));
    for (std::size_t r = 512; r < 640; ++r) reads.reset(r); // scalar results are ready with the next slot
    op.reads = ranges(reads);
    if (op.unit != Unit::memory) op.writes = ranges(isa::registers_written(i));
  } else if (op.unit == Unit::scalar || op.unit == Unit::branch) {
    isa::RegisterSet reads = isa::registers_read(i), writes = isa::registers_written(i);
    if (m.starts_with("s_cbranch_vcc")) reads.set(512 + 106).set(512 + 107);
    for (std::size_t r = 0; r < 512; ++r) reads.reset(r), writes.reset(r);
    op.reads = ranges(reads);
    if (!op.smem) op.writes = ranges(writes);
  }
  if (without == Limit::issue && op.unit != Unit::matrix) op.issue = 0;
  if (without == Limit::matrix && op.unit == Unit::matrix) {
    op.matrix_clocks = static_cast<std::uint16_t>(slot);
    op.result_slots = 0;
  }
  return op;
}

} // namespace inlay::runtime::timing::unit
