// What an observer of addresses and of the way through the code need not have executed: instructions whose results no address, no branch and no lane
// mask depends on, and what loads and stores move if nothing that is loaded is needed. A GEMM's epilogue and attention's exponentials decide nothing of
// where a launch goes.
//
// Backwards over the code, a register is needed where something later reads it that is needed itself: branches and scalar loads always, memory
// instructions for their addresses, others if a register that they write is. What is stored is needed if anything that is loaded from there is. A vector
// instruction ends the need of what it writes only if it writes every lane that the wave began with, so the lane mask is followed first, forwards.
#include "engine.h"

#include <algorithm>
#include <bitset>
#include <optional>

namespace inlay::runtime::emulator {
namespace {

using Kind = MemoryFields::Kind;
using Space = MemoryFields::Space;
constexpr std::size_t scalars = vector_rows;
constexpr std::size_t scc = scalars + 128;
/// A bit for each row, from `scalars` on each scalar register, and SCC.
using Registers = std::bitset<scc + 1>;

void add(Registers& set, const RowRange& r) {
  for (unsigned i = r.first; i < unsigned{r.first} + r.count; ++i) set.set(i);
}
void add(Registers& set, const u64* of) {
  for (unsigned i = 0; i < 128; ++i)
    if ((of[i / 64] >> (i % 64) & 1U) != 0) set.set(scalars + i);
}
Registers written_rows(const Operation& op) {
  Registers set;
  for (const RowRange& r : op.writes) add(set, r);
  return set;
}
Registers written_scalars(const Operation& op) {
  Registers set;
  add(set, op.scalar_writes);
  return set;
}

bool begins(std::string_view name, std::initializer_list<std::string_view> with) {
  return std::any_of(with.begin(), with.end(), [&](std::string_view w) { return name.starts_with(w); });
}
bool reads_scc(std::string_view name) {
  return begins(name, {"s_cbranch_scc", "s_cselect", "s_addc", "s_subb", "s_cmov"});
}
/// Of these it is certain; any other scalar instruction may.
bool writes_scc(std::string_view name) {
  return begins(name, {"s_cmp_", "s_cmpk_", "s_bitcmp", "s_add_", "s_sub_", "s_addc", "s_subb", "s_and_b",
                       "s_or_b", "s_xor_b", "s_andn2_b", "s_lshl_b", "s_lshr_b", "s_ashr_i"});
}
/// Registers that are read without being named: EXEC, M0, where scratch lies, and those of traps.
bool writes_special(const Operation& op) {
  return (op.scalar_writes[1] >> (flat_scratch_lo - 64)) != 0 &&
         ((op.scalar_writes[1] >> (flat_scratch_lo - 64)) & ~(u64{3} << (vcc_lo - flat_scratch_lo))) != 0;
}

/// What is known of a lane mask against the one that the wave began with: no lane outside it; all lanes of it besides.
struct Mask {
  bool within = false, whole = false;
};

/// The lane masks in EXEC and in pairs of scalar registers, on every way to an instruction.
struct Masks {
  Mask exec{true, true};
  u64 within = 0, whole = 0; ///< a bit each pair
  [[nodiscard]] Mask of(unsigned pair) const {
    return {(within >> pair & 1U) != 0, (whole >> pair & 1U) != 0};
  }
  void put(unsigned pair, Mask m) {
    within = (within & ~(u64{1} << pair)) | u64{m.within} << pair;
    whole = (whole & ~(u64{1} << pair)) | u64{m.whole} << pair;
  }
  void meet(const Masks& other) {
    exec = {exec.within && other.exec.within, exec.whole && other.exec.whole};
    within &= other.within, whole &= other.whole;
  }
  bool operator==(const Masks& o) const {
    return exec.within == o.exec.within && exec.whole == o.exec.whole && within == o.within &&
           whole == o.whole;
  }
};

Mask mask_of(const Masks& m, const isa::Instruction& i, std::size_t operand) {
  if (operand >= i.operands.size()) return {};
  const isa::Operand& o = i.operands[operand];
  if (o.kind != isa::OperandKind::sgpr || o.index % 2 != 0 || o.width != 2) return {};
  return o.index == exec_lo ? m.exec : m.of(o.index / 2U);
}

/// The masks after `op`.
Masks after(const Masks& before, const Operation& op) {
  Masks out = before;
  for (unsigned pair = 0; pair < 64; ++pair)
    if ((op.scalar_writes[pair / 32] >> (pair % 32 * 2) & 3U) != 0) out.put(pair, {});
  const bool writes_exec = (op.scalar_writes[exec_lo / 64] >> (exec_lo % 64) & 3U) != 0;
  const isa::Instruction& i = *op.instruction;
  const std::string_view name = i.mnemonic;
  if (op.cls == Class::vector) { // comparisons and carries: no bit of a lane that is off
    if (op.mask_destination >= 0 && op.mask_destination % 2 == 0 && op.vector != nullptr)
      out.put(static_cast<unsigned>(op.mask_destination) / 2, {true, false});
    if (writes_exec) out.exec = {before.exec.within, false};
    return out;
  }
  const Mask a = mask_of(before, i, 1), b = mask_of(before, i, 2), e = before.exec;
  std::optional<Mask> result, exec; // of the first operand; of EXEC where the instruction saves it
  if (name == "s_mov_b64") result = a;
  if (name == "s_and_b64") result = Mask{a.within || b.within, a.whole && b.whole};
  if (name == "s_andn2_b64") result = Mask{a.within, false};
  if (name == "s_or_b64") result = Mask{a.within && b.within, a.within && b.within && (a.whole || b.whole)};
  if (name == "s_xor_b64") result = Mask{a.within && b.within, false};
  if (name == "s_and_saveexec_b64") result = e, exec = Mask{e.within, e.whole && a.whole};
  if (name == "s_andn2_saveexec_b64") result = e, exec = Mask{a.within, false};
  if (name == "s_or_saveexec_b64")
    result = e, exec = Mask{a.within && e.within, a.within && e.within && (a.whole || e.whole)};
  if (result && !i.operands.empty() && i.operands[0].kind == isa::OperandKind::sgpr &&
      i.operands[0].width == 2 && i.operands[0].index % 2 == 0) {
    if (i.operands[0].index == exec_lo) {
      out.exec = *result;
      return out;
    }
    out.put(i.operands[0].index / 2U, *result);
  }
  if (writes_exec) out.exec = exec.value_or(Mask{});
  return out;
}

class Needs {
public:
  Needs(const PreparedProgram& program, u32 entry, bool matrix)
      : program_(program), matrix_(matrix), reached_(program.operations.size(), 0),
        masks_(program.operations.size()), needed_(program.operations.size()) {
    follow_masks(entry);
  }

  /// A mark for each operation that need not be executed.
  std::vector<u8> unneeded() {
    for (bool more = true; more;) {
      more = false;
      const bool lds = lds_, memory = memory_;
      for (std::size_t i = program_.operations.size(); i-- > 0;) {
        if (reached_[i] == 0) continue;
        const Registers before = before_of(program_.operations[i], i, after_of(i));
        more = more || before != needed_[i];
        needed_[i] = before;
      }
      // What is copied from memory to LDS and read there was loaded.
      if (lds_ && program_.loads_to_lds) memory_ = true;
      more = more || lds != lds_ || memory != memory_;
    }
    std::vector<u8> out(program_.operations.size(), 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Operation& op = program_.operations[i];
      if (reached_[i] != 0) out[i] = is_needed(op, after_of(i)) ? 0 : 1;
    }
    return out;
  }

private:
  /// f(index) for what may come after operation i.
  template <class F>
  void each_next(std::size_t i, F f) const {
    const Operation& op = program_.operations[i];
    if (op.instruction->mnemonic == "s_endpgm") return;
    if (op.next < program_.operations.size()) f(op.next);
    if (op.cls == Class::branch && op.target < program_.operations.size()) f(op.target);
  }

  void follow_masks(u32 entry) {
    reached_[entry] = 1;
    std::vector<std::size_t> open = {entry};
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      const Masks out = after(masks_[i], program_.operations[i]);
      strays_ = strays_ || !out.exec.within;
      each_next(i, [&](std::size_t next) {
        Masks met = out;
        if (reached_[next] != 0) met.meet(masks_[next]);
        if (reached_[next] != 0 && met == masks_[next]) return;
        reached_[next] = 1, masks_[next] = met;
        open.push_back(next);
      });
    }
  }

  [[nodiscard]] Registers after_of(std::size_t i) const {
    Registers out;
    each_next(i, [&](std::size_t next) { out |= needed_[next]; });
    return out;
  }

  /// Whether what it stores is.
  [[nodiscard]] bool is_stored(const MemoryFields& f) const {
    return ((f.space == Space::lds || f.space == Space::flat) && lds_) || (f.space != Space::lds && memory_);
  }
  /// Whether it must do more than say where it reads and writes memory.
  [[nodiscard]] bool is_needed(const Operation& op, const Registers& after) const {
    const MemoryFields& f = op.memory;
    switch (op.cls) {
    case Class::matrix:
      if (!matrix_) return false;
      break;
    case Class::vector: break;
    case Class::scalar:
      if (op.decision != Decision::none || after[scc]) return true;
      break;
    case Class::lds:
    case Class::memory:
      if (f.kind == Kind::store) return is_stored(f);
      if (f.kind == Kind::to_lds) return lds_;
      if (f.kind == Kind::atomic || f.kind == Kind::add_tid || f.kind == Kind::none) return true;
      break;
    default: return true;
    }
    return writes_special(op) || ((written_rows(op) | written_scalars(op)) & after).any();
  }

  Registers before_of(const Operation& op, std::size_t at, const Registers& after) {
    Registers before = after;
    // Every lane is written, and all of its bits.
    const bool whole = (!strays_ && masks_[at].exec.whole) && !op.keeps_part;
    if (op.cls != Class::lds && op.cls != Class::memory) {
      if (!is_needed(op, after)) return before;
      const std::string_view name = op.instruction->mnemonic;
      // By glc: what other waves have stored. Other scalar loads are of what nobody stores, as their cache is nobody else's.
      if (op.cls == Class::scalar_memory && op.instruction->modifiers.sc0) memory_ = true;
      if (whole) before &= ~written_rows(op);
      before &= ~written_scalars(op);
      if (op.cls == Class::scalar && writes_scc(name)) before.reset(scc);
      for (const RowRange& r : op.reads) add(before, r);
      add(before, op.scalar_reads);
      if (reads_scc(name)) before.set(scc);
      return before;
    }
    const MemoryFields& f = op.memory;
    const Registers written = written_rows(op);
    const bool used = (written & after).any();
    const bool crosses = f.kind == Kind::swizzle || f.kind == Kind::permute || f.kind == Kind::bpermute;
    const bool lds = f.space == Space::lds || f.space == Space::flat;
    const bool memory = f.space != Space::lds;
    if (used && !crosses) lds_ = lds_ || lds, memory_ = memory_ || memory;
    if (whole && !f.d16 && !crosses) before &= ~written;
    for (const RowRange& r : op.reads) {
      const auto is = [&](int row) { return row >= 0 && r.first == row; };
      const bool address = is(f.vaddr) && !crosses;
      const bool data = is(f.data) || is(f.data2);
      const bool kept = is(f.dest) && !data; // the other half of a register
      const bool wanted =
          address || f.kind == Kind::atomic || (crosses || kept ? used : !data || is_stored(f));
      if (wanted) add(before, r);
    }
    add(before, op.scalar_reads);
    return before;
  }

  const PreparedProgram& program_;
  bool matrix_;
  std::vector<u8> reached_;
  std::vector<Masks> masks_;
  std::vector<Registers> needed_;     ///< before each
  bool strays_ = false;               ///< EXEC may have lanes that the wave did not begin with
  bool lds_ = false, memory_ = false; ///< what is loaded from there is needed
};

} // namespace

std::vector<u8> unneeded_operations(const PreparedProgram& program, u32 entry, bool matrix) {
  for (const Operation& op : program.operations) {
    const std::string_view name = op.instruction->mnemonic;
    for (const isa::Operand& o : op.instruction->operands) // vccz, execz, scc
      if (o.kind == isa::OperandKind::special && o.index >= 251 && o.index <= 253) return {};
    // Jumps to anywhere, registers named by others, and memory that others change meanwhile.
    if (op.decision == Decision::jump || name.starts_with("s_set_gpr_idx") || name == "s_setvskip" ||
        name.starts_with("s_dcache") || name.find("movrel") != name.npos || name == "s_call_b64" ||
        name == "s_getpc_b64" || name.starts_with("s_getreg"))
      return {};
  }
  if (program.polls_memory || entry >= program.operations.size()) return {};
  return Needs(program, entry, matrix).unneeded();
}

} // namespace inlay::runtime::emulator
