// Wait states that software owes by the documents: which instruction is too close after which.
//
// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide" and "AMD Instinct CDNA4 ISA Reference Guide", chapter 4.5
// "Manually Inserted Wait States (NOPs)"; the distances that LLVM 22's code generator keeps for CDNA3 and CDNA4, which
// agree and say more about matrix instructions, and for CDNA2 (measured from its output: docs/emulator.md). An instruction counts as one
// wait state, s_nop N as N + 1; neighbours are 0 apart.
#include "engine.h"

#include <algorithm>
#include <bit>
#include <inlay/machine/matrix.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/instruction_facts.h>

namespace inlay::runtime::emulator {
namespace {

struct Reader {
  Wave& w;
  const Operation& op;
  const HazardFacts& facts;
  HazardState& state;
  u64 now;

  void note(const std::string& what, const std::string& after, u64 passed, unsigned need) const {
    report(w, FindingKind::hazard,
           what + " " + std::to_string(passed) + " wait states after " + after + "; " + std::to_string(need) +
               (need == 1 ? " is" : " are") + " needed",
           0, 0, true);
  }
  [[nodiscard]] const machine::WaitStates& waits() const { return machine::target(w.arch).waits; }
  /// Wait states since something at `clock` (0: never).
  [[nodiscard]] u64 since(u64 clock) const { return clock == 0 ? 1000 : now - clock; }

  /// Wait states that a reader or writer of a matrix instruction's result must keep; `c`: as the accumulator of a matrix
  /// instruction, `same`: whose registers are exactly those.
  [[nodiscard]] unsigned after_matrix(const HazardFacts& writer, bool c, bool same) const {
    const machine::WaitStates& waits = this->waits();
    const unsigned passes = writer.passes;
    const bool dgemm = writer.matrix == HazardFacts::Matrix::dgemm;
    const bool xdl = writer.matrix == HazardFacts::Matrix::xdl;
    const unsigned later = passes == 2 ? 0 : static_cast<unsigned>(waits.longer),
                   later_f64 = static_cast<unsigned>(waits.longer_f64);
    if (c && same) {
      if (dgemm) return facts.matrix == HazardFacts::Matrix::dgemm && passes == 4 ? 4 : 0;
      return passes == 2 ? static_cast<unsigned>(waits.two_pass_sum) : 0;
    }
    if (c && facts.matrix == HazardFacts::Matrix::xdl && !xdl) return 0;
    if (dgemm) {
      if (passes == 4) return c ? 4 : facts.memory ? 9 : 6;
      if (facts.memory) return 18;
      return (c ? 9 : 11) + later_f64;
    }
    const unsigned part =
        facts.matrix == HazardFacts::Matrix::dgemm ? 1 : static_cast<unsigned>(waits.part_of_sum);
    if (c) return xdl ? passes + part + later : passes;
    return xdl ? passes + 3 + later : passes + 2;
  }

  void check_row(unsigned k, const RowRange& range, bool c) const {
    if (state.matrix_write[k] + matrix_reach > now && state.matrix_op[k] != nullptr) {
      const Operation* const writer = state.matrix_op[k];
      const RowRange& d = writer->writes[0];
      const bool adds = c && facts.matrix != HazardFacts::Matrix::none;
      const unsigned need =
          after_matrix(writer->hazard, adds, adds && d.first == range.first && d.count == range.count);
      if (const u64 passed = since(state.matrix_write[k]); passed < need)
        note(row_name(w, k) + " is read", "'" + writer->instruction->text + "', which writes it", passed,
             need);
    }
    const u64 passed = since(state.valu_write[k]);
    if (passed > 2) return;
    const u8 how = state.valu_how[k];
    // To LLVM a load to LDS is a vector instruction, too.
    const bool takes = facts.valu || op.memory.kind == MemoryFields::Kind::to_lds;
    unsigned need = 0;
    if ((how & written_by_dot) != 0) {
      const bool same_opcode = state.dot_opcode[k] == op.instruction->opcode;
      if (facts.valu || facts.memory) need = !same_opcode ? 3 : c ? 0 : 3;
    } else if (facts.matrix != HazardFacts::Matrix::none) {
      need = 2;
    } else if (facts.dpp || facts.permlane) {
      need = 2;
    } else if (facts.reads_lane) {
      need = static_cast<unsigned>(waits().lane_read);
    } else if (takes && (how & written_in_part) != 0) {
      need = static_cast<unsigned>(waits().partial);
    } else if (takes && !facts.transcendental && (how & written_by_transcendental) != 0) {
      need = static_cast<unsigned>(waits().transcendental);
    }
    if (passed < need) note(row_name(w, k) + " is read", "a vector instruction wrote it", passed, need);
  }

  void check_rows() const {
    for (std::size_t i = 0; i < op.reads.size(); ++i) {
      const RowRange& r = op.reads[i];
      const bool c = static_cast<int>(i) == facts.accumulator;
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) check_row(k, r, c);
    }
    const bool matrix = facts.matrix != HazardFacts::Matrix::none;
    if (facts.valu || matrix) check_stores(), check_overwritten();
    if (!facts.valu && !facts.memory) return;
    for (const RowRange& r : op.writes) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
        const u64 written = since(state.valu_write[k]);
        if ((state.valu_how[k] & written_by_dot) != 0 && written < 3 &&
            state.dot_opcode[k] != op.instruction->opcode)
          note(row_name(w, k) + " is overwritten", "a v_dot instruction wrote it", written, 3);
        if (state.matrix_write[k] + matrix_reach > now && state.matrix_op[k] != nullptr) {
          const Operation* const writer = state.matrix_op[k];
          // Overwriting waits as long as a vector instruction's read does.
          const HazardFacts as_vector{.valu = true};
          const bool large = writer->hazard.matrix == HazardFacts::Matrix::dgemm &&
                             writer->hazard.passes != 4 && !facts.dpp && !op.keeps_part;
          const unsigned need =
              large ? 11 : Reader{w, op, as_vector, state, now}.after_matrix(writer->hazard, false, false);
          if (const u64 passed = since(state.matrix_write[k]); passed < need)
            note(row_name(w, k) + " is overwritten", "'" + writer->instruction->text + "', which writes it",
                 passed, need);
        }
        const unsigned need = state.c_passes[k] == 0 ? 0 : state.c_passes[k] - 1U;
        if (const u64 passed = since(state.c_read[k]); passed < need)
          note(row_name(w, k) + " is overwritten", "a matrix instruction began to read it as its accumulator",
               passed, need);
      }
    }
  }

  /// What a vector instruction wrote in part, or by a table and is kept in part.
  void check_overwritten() const {
    if (now >= state.last_valu + 2) return;
    for (const RowRange& r : op.writes) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
        const u64 passed = since(state.valu_write[k]);
        const bool part = (state.valu_how[k] & written_in_part) != 0;
        const bool table = (state.valu_how[k] & written_by_transcendental) != 0;
        const int need = part                                              ? waits().partial
                         : table && op.keeps_part && !facts.transcendental ? waits().transcendental
                                                                           : 0;
        if (passed < static_cast<unsigned>(need))
          note(row_name(w, k) + " is overwritten",
               part ? "a vector instruction wrote a part of it" : "a vector instruction wrote it", passed,
               static_cast<unsigned>(need));
      }
    }
  }

  /// What a store of more than 64 bits a lane is still reading.
  void check_stores() const {
    if (now >= state.last_wide_store + 2) return;
    for (const HazardState::WideStore& store : state.wide_stores) {
      if (now >= store.until) continue;
      for (const RowRange& r : op.writes) {
        for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
          if (k - store.data.first >= store.data.count) continue;
          const bool last = &store == &state.wide_stores[0];
          const u64 passed = last ? since(state.last_wide_store) : 1; // the one before it: at least that
          note(row_name(w, k) + " is overwritten", "a store of more than 64 bits a lane began to read it",
               passed, static_cast<unsigned>(store.until - now + passed));
          return;
        }
      }
    }
  }

  void check_scalars() const {
    if (facts.double_fma && since(state.last_double) < 2)
      note("a multiply-add of f64 comes", "a matrix instruction of f64", since(state.last_double), 2);
    const bool matrix = facts.matrix != HazardFacts::Matrix::none;
    if (matrix || facts.valu || facts.memory) {
      for (unsigned half = 0; half < 2; ++half) {
        for (u64 set = op.scalar_reads[half]; set != 0; set &= set - 1) {
          const unsigned r = half * 64 + static_cast<unsigned>(std::countr_zero(set));
          const u64 passed = since(state.valu_scalar[r]);
          if (passed > 4 || r == exec_lo || r == exec_lo + 1) continue;
          const bool vector_memory = op.cls == Class::memory;
          const unsigned need = vector_memory                                        ? 5
                                : facts.lane_select == static_cast<int>(r)           ? 4
                                : facts.div_fmas && (r == vcc_lo || r == vcc_lo + 1) ? 4
                                : facts.valu ? static_cast<unsigned>(waits().scalar_result)
                                             : 0;
          if (passed < need)
            note(scalar_name(r) + " is read" + (vector_memory ? " by vector memory" : ""),
                 "a vector instruction wrote it", passed, need);
        }
      }
      const u64 exec = since(std::max(state.valu_scalar[exec_lo], state.valu_scalar[exec_lo + 1]));
      const unsigned need = facts.dpp || op.cls == Class::memory ? 5
                            : matrix                             ? 4
                            : facts.lane_access                  ? static_cast<unsigned>(waits().lane_exec)
                                                                 : 0;
      if (exec < need) note("exec is used", "a vector instruction wrote it", exec, need);
      if (const u64 passed = since(state.exec_compare); facts.permlane && passed < 4)
        note("exec is used", "a v_cmpx wrote it", passed, 4);
    }
    for (const int hardware : {facts.set_register, facts.get_register}) {
      if (hardware < 0) continue;
      if (const u64 passed = since(state.register_write[static_cast<unsigned>(hardware)]); passed < 2)
        note(std::string("the hardware register is ") + (hardware == facts.get_register ? "read" : "written"),
             "s_setreg wrote it", passed, 2);
    }
    if (facts.needs_m0 && since(state.m0_write) < 1)
      note("m0 is used", "a scalar instruction wrote it", 0, 1);
  }

  /// The same of a plain vector instruction while no matrix instruction matters.
  void remember_plain() const {
    const u64 clock = now + 1;
    state.last_valu = clock;
    for (const RowRange& r : op.writes) {
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
        state.valu_write[k] = clock;
        state.valu_how[k] = 0;
      }
    }
    remember_scalars(clock);
  }
  void remember_scalars(u64 clock) const {
    if (facts.valu && (op.scalar_writes[0] | op.scalar_writes[1]) != 0) state.last_valu_scalar = clock;
    for (unsigned half = 0; half < 2; ++half) {
      for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
        state.valu_scalar[half * 64 + static_cast<unsigned>(std::countr_zero(set))] = facts.valu ? clock : 0;
    }
    if ((op.scalar_writes[m0 / 64] >> (m0 % 64) & 1U) != 0 && !facts.valu) state.m0_write = clock;
    if (facts.compares_exec) state.exec_compare = clock;
    if (facts.set_register >= 0) state.register_write[static_cast<unsigned>(facts.set_register)] = clock;
  }
  void remember() const {
    const u64 clock = now + 1;
    const bool special = facts.transcendental || facts.dot || facts.partial;
    if (facts.matrix != HazardFacts::Matrix::none) state.last_matrix = clock;
    if (facts.valu) state.last_valu = clock;
    if (special) state.last_special = clock;
    if (facts.wide_store >= 0) state.store_wide(facts, stored_rows(op), now);
    const bool matrix = facts.matrix != HazardFacts::Matrix::none;
    const u8 how = static_cast<u8>((facts.transcendental ? written_by_transcendental : 0) |
                                   (facts.dot ? written_by_dot : 0) | (facts.partial ? written_in_part : 0));
    for (const RowRange& r : op.writes) {
      const unsigned end = unsigned{r.first} + r.count;
      for (unsigned k = r.first; k < end; ++k) state.matrix_op[k] = matrix ? &op : nullptr;
      for (unsigned k = r.first; k < end; ++k) state.matrix_write[k] = matrix ? clock : 0;
      for (unsigned k = r.first; k < end; ++k) state.valu_write[k] = facts.valu ? clock : 0;
      for (unsigned k = r.first; k < end && facts.valu; ++k) { // what is asked of those that have a clock
        state.valu_how[k] = how;
        state.dot_opcode[k] = op.instruction->opcode;
      }
    }
    if (facts.matrix == HazardFacts::Matrix::dgemm) state.last_double = clock;
    if (facts.matrix == HazardFacts::Matrix::xdl && facts.accumulator >= 0) {
      const RowRange& r = op.reads[static_cast<std::size_t>(facts.accumulator)];
      for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k) {
        state.c_read[k] = clock;
        state.c_passes[k] = facts.passes;
      }
    }
    remember_scalars(clock);
  }
};

} // namespace

void prepare_hazards(Operation& op, isa::Arch arch) {
  HazardFacts& f = op.hazard;
  const isa::Instruction& i = *op.instruction;
  const std::string_view name = i.mnemonic;
  f.states = name == "s_nop" && !i.operands.empty() ? static_cast<u8>(1 + (i.operands[0].value & 15)) : 1;
  f.memory = op.cls == Class::memory || op.cls == Class::lds;
  f.valu = op.cls == Class::vector;
  if (op.cls == Class::matrix) {
    const machine::MatrixInstruction* const row = machine::find_matrix_instruction(name);
    const bool f32 = row != nullptr && row->a == machine::Operand::f32;
    f.matrix = row != nullptr && row->a == machine::Operand::f64 ? HazardFacts::Matrix::dgemm
               : f32 && machine::target(arch).f32_products_apart ? HazardFacts::Matrix::sgemm
                                                                 : HazardFacts::Matrix::xdl;
    f.passes = static_cast<u8>(isa::matrix_clocks(i, arch) / 4);
    const bool sparse = name.starts_with("v_smfmac");
    const auto vectors = std::count_if(
        i.operands.begin() + 1,
        i.operands.begin() + std::min<std::ptrdiff_t>(4, static_cast<std::ptrdiff_t>(i.operands.size())),
        [](const isa::Operand& o) { return o.is_vector(); });
    f.accumulator = sparse ? 0 : vectors == 3 ? 2 : -1;
  }
  if (f.valu && !i.operands.empty()) {
    f.transcendental = isa::is_transcendental(i.mnemonic);
    f.dot = name.starts_with("v_dot");
    const isa::Operand& c = i.operands[i.operands.size() > 3 ? 3 : 0]; // v_dot2c_* adds to its destination
    if (f.dot && c.kind == isa::OperandKind::vgpr && !op.reads.empty() && op.reads.back().first == c.index)
      f.accumulator = static_cast<int>(op.reads.size()) - 1;
    f.dpp = i.form == isa::Form::dpp && !op.reads.empty();
    const bool keeps_part = i.form == isa::Form::sdwa && i.modifiers.dst_sel != isa::Select::dword;
    f.partial = keeps_part || name == "v_fma_mixhi_f16" ||
                (i.form == isa::Form::e64 && (i.modifiers.op_sel & 8U) != 0);
    f.double_fma = name == "v_fma_f64" || name == "v_fmac_f64";
    f.reads_lane = name == "v_readlane_b32" || name == "v_readfirstlane_b32";
    f.lane_access = f.reads_lane || name == "v_writelane_b32";
    f.div_fmas = name.starts_with("v_div_fmas");
    if ((name == "v_readlane_b32" || name == "v_writelane_b32") && i.operands.size() > 2 &&
        i.operands[2].kind == isa::OperandKind::sgpr)
      f.lane_select = i.operands[2].index;
  }
  f.permlane = f.valu && name.starts_with("v_permlane");
  f.compares_exec = name.starts_with("v_cmpx");
  f.plain = f.valu && !f.permlane && !f.transcendental && !f.dot && !f.dpp && !f.partial && !f.reads_lane &&
            !f.lane_access && !f.div_fmas && f.lane_select < 0;
  f.needs_m0 = op.memory.kind == MemoryFields::Kind::to_lds ||
               op.memory.kind == MemoryFields::Kind::add_tid || name.starts_with("s_movrel") ||
               name.starts_with("s_sendmsg") || name == "s_ttracedata";
  if (name.starts_with("s_setreg") || name == "s_getreg_b32") {
    const std::size_t at = name == "s_getreg_b32" ? 1 : 0;
    if (at < i.operands.size())
      (at == 0 ? f.set_register : f.get_register) = static_cast<int>(i.operands[at].value & 63);
  }
  f.scalar = !f.valu && !f.memory && f.matrix == HazardFacts::Matrix::none && !f.needs_m0 &&
             f.set_register < 0 && f.get_register < 0 && (op.scalar_writes[m0 / 64] >> (m0 % 64) & 1U) == 0;
  const bool stores =
      op.memory.kind == MemoryFields::Kind::store || op.memory.kind == MemoryFields::Kind::atomic;
  if (op.cls == Class::memory && stores && stored_rows(op) > 2 && op.memory.data >= 0) {
    // An offset in a register takes a clock in which the data are read.
    const bool offset =
        op.memory.space == MemoryFields::Space::buffer && op.memory.soffset.kind == isa::OperandKind::sgpr;
    f.wide_store = op.memory.data;
    f.store_states = static_cast<u8>(machine::target(arch).waits.wide_store - (offset ? 1 : 0));
  }
}

bool far_from_matrix(const HazardState& h, const Operation& op) {
  bool near = false;
  for (const RowRange& r : op.reads) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k)
      near |= h.matrix_write[k] + matrix_reach > h.clock;
  }
  for (const RowRange& r : op.writes) {
    for (unsigned k = r.first; k < unsigned{r.first} + r.count; ++k)
      near |= std::max(h.matrix_write[k], h.c_read[k]) + matrix_reach > h.clock;
  }
  return !near;
}

void check_hazards(Wave& w, const Operation& op) {
  HazardState& state = *w.hazards;
  const HazardFacts& facts = op.hazard;
  const u64 now = state.clock;
  state.clock += facts.states;
  // What no rule asks about: the longest distance is 20 after a matrix instruction, 4 after other vector instructions. What
  // an instruction then leaves behind is less than what it would have to erase.
  const bool quiet = now >= state.last_matrix + matrix_reach;
  const bool scalars_quiet = now >= state.last_valu_scalar + 8;
  const Reader reader{w, op, facts, state, now};
  if (facts.plain && now >= state.last_special + 8 && now >= state.last_wide_store + 2 &&
      now >= state.last_double + 2 && (quiet || far_from_matrix(state, op))) {
    if (!scalars_quiet) reader.check_scalars();
    reader.remember_plain();
    return;
  }
  reader.check_rows();
  reader.check_scalars();
  reader.remember();
}

} // namespace inlay::runtime::emulator
