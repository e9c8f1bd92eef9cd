// From decoded instructions to operations: handler, operands, register sets, branch targets.
#include "engine.h"
#include "mfma.h"
#include "scaled_convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <inlay/runtime/isa/instruction_facts.h>
#include <set>

namespace inlay::runtime::emulator {
namespace {

void run_unknown(Wave& w, const Operation& op) {
  const isa::Instruction& i = *op.instruction;
  fail(w, i.is_unknown() ? "these bytes are no instruction of " + std::string(isa::to_string(w.arch))
                         : "this emulator does not execute " + std::string(i.mnemonic));
}

void run_matrix(Wave& w, const Operation& op) {
  if (!w.vskip) op.matrix->execute(w);
}

bool prepare_matrix_operation(Operation& op, MatrixArithmetic matrix, isa::Arch arch, unsigned accum_offset) {
  const isa::Instruction& i = *op.instruction;
  op.matrix = prepare_matrix(i, arch, accum_offset, matrix);
  if (op.matrix == nullptr) return false;
  op.execute = run_matrix;
  op.cls = Class::matrix;
  op.whole_wave = true;
  op.reads_lanes = LaneReads::all;
  op.widens = 32;
  if (const MatrixOp* entry = find_matrix_op(i.mnemonic)) {
    op.multiply_adds = static_cast<u64>(multiply_adds(*entry));
  }
  const bool sparse = i.mnemonic.starts_with("v_smfmac");
  for (std::size_t k = 0; k < i.operands.size(); ++k) {
    const isa::Operand& o = i.operands[k];
    if (o.kind == isa::OperandKind::sgpr) {
      for (unsigned r = o.index; r < o.index + unsigned{o.width} && r < 128; ++r)
        op.scalar_reads[r / 64] |= u64{1} << (r % 64);
    }
    if (!o.is_vector()) continue;
    const RowRange range{
        static_cast<u16>(o.kind == isa::OperandKind::agpr ? o.index + accum_offset : o.index), o.width};
    if (k == 0) op.writes.push_back(range);
    if (k != 0 || sparse) op.reads.push_back(range);
  }
  return true;
}

void run_conversion(Wave& w, const Operation& op) {
  if (!w.vskip) op.matrix->execute(w);
}

bool prepare_conversion(Operation& op, isa::Arch arch, unsigned accum_offset) {
  const isa::Instruction& i = *op.instruction;
  op.matrix = prepare_scaled_conversion(i, arch, accum_offset);
  if (op.matrix == nullptr) return false;
  op.execute = run_conversion;
  op.cls = Class::vector;
  op.keeps_part = true; // some write a half or a byte, as op_sel says
  for (std::size_t k = 0; k < i.operands.size(); ++k) {
    const isa::Operand& o = i.operands[k];
    if (o.kind == isa::OperandKind::sgpr) op.scalar_reads[o.index / 64] |= u64{1} << (o.index % 64);
    if (!o.is_vector()) continue;
    const RowRange range{
        static_cast<u16>(o.kind == isa::OperandKind::agpr ? o.index + accum_offset : o.index), o.width};
    (k == 0 ? op.writes : op.reads).push_back(range);
  }
  return true;
}

bool prepare_one(Operation& op, PreparedProgram& owner, isa::Arch arch, unsigned accum_offset) {
  switch (op.instruction->format) {
  case isa::Format::unknown: return false;
  case isa::Format::sop1:
  case isa::Format::sop2:
  case isa::Format::sopk:
  case isa::Format::sopc:
  case isa::Format::sopp:
  case isa::Format::smem: return prepare_scalar(op, arch);
  case isa::Format::mfma: return prepare_matrix_operation(op, owner.matrix, arch, accum_offset);
  case isa::Format::ds:
  case isa::Format::mubuf:
  case isa::Format::mtbuf:
  case isa::Format::flat:
  case isa::Format::global:
  case isa::Format::scratch: return prepare_memory(op, arch, accum_offset);
  default: return prepare_vector(op, owner, arch, accum_offset) || prepare_conversion(op, arch, accum_offset);
  }
}

/// Registers of the file that a row range may name: 512 in all.
bool in_file(const RowRanges& ranges) {
  return std::all_of(ranges.begin(), ranges.end(),
                     [](const RowRange& r) { return r.first + r.count <= static_cast<int>(vector_rows); });
}

} // namespace

namespace {

bool overlaps(const RowRanges& some, const RowRange& r) {
  return std::any_of(some.begin(), some.end(), [&](const RowRange& s) {
    return s.first < r.first + r.count && r.first < s.first + s.count;
  });
}

/// Whether the result of `load`, in the loop [first, last], can decide a branch of it.
bool decides_loop(const PreparedProgram& program, const Operation& load, u32 first, u32 last) {
  std::array<bool, vector_rows + 8> row{};
  u64 scalar[2] = {0, 0};
  bool scc = false, decides = false;
  const auto taint = [&](const Operation& op) {
    for (const RowRange& r : op.writes) std::fill_n(row.begin() + r.first, r.count, true);
    scalar[0] |= op.scalar_writes[0];
    scalar[1] |= op.scalar_writes[1];
  };
  taint(load);
  for (unsigned trip = 0; trip < 2 && !decides; ++trip) {
    for (u32 i = first; i <= last; ++i) {
      const Operation& op = program.operations[i];
      bool reads = ((op.scalar_reads[0] & scalar[0]) | (op.scalar_reads[1] & scalar[1])) != 0;
      for (const RowRange& r : op.reads)
        reads = reads ||
                std::any_of(row.begin() + r.first, row.begin() + r.first + r.count, [](bool t) { return t; });
      if (op.cls == Class::branch) {
        decides = decides || reads || (op.decision == Decision::scc && scc) ||
                  (op.decision == Decision::vcc && (scalar[vcc_lo / 64] >> (vcc_lo % 64) & 3U) != 0) ||
                  (op.instruction->mnemonic.starts_with("s_cbranch_exec") &&
                   (scalar[exec_lo / 64] >> (exec_lo % 64) & 3U) != 0);
        continue;
      }
      if (!reads) continue;
      taint(op);
      scc = scc || op.cls == Class::scalar;
    }
  }
  return decides;
}

/// Executes an instruction that may wait for another workgroup, and counts how often the wave has found the same as before. One that
/// takes turns at a lock, or combines by compare and swap, finds something else each time.
void poll(Wave& w, const Operation& op) {
  op.polling(w, op);
  const MemoryFields& f = op.memory;
  const u64 exec = w.exec();
  u64 found = exec * 31;
  const auto mix = [&](u64 v) { found = (found ^ v) * 0x9e3779b97f4a7c15ULL; };
  const auto lane = exec == 0 ? 0U : static_cast<unsigned>(std::countr_zero(exec));
  if (f.dest >= 0) mix(w.row(static_cast<unsigned>(f.dest))[lane]);
  if (f.vaddr >= 0) mix(w.row(static_cast<unsigned>(f.vaddr))[lane]);
  for (unsigned half = 0; half < 2 && f.dest < 0; ++half)
    for (u64 set = op.scalar_writes[half]; set != 0; set &= set - 1)
      mix(w.scalar[half * 64 + static_cast<unsigned>(std::countr_zero(set))]);
  w.group->polled += w.polled_at == w.current && w.polled_value == found ? 1U : 0U;
  w.polled_at = w.current;
  w.polled_value = found;
}

/// Which instructions wait for another workgroup likewise: loads of device scope, atomics that return, scalar loads of a loop that empties
/// their cache.
bool polls_memory(const PreparedProgram& program, const Operation& op, u32 first, u32 last) {
  const MemoryFields& f = op.memory;
  const auto any = [&](auto f_of) {
    for (u32 k = first; k <= last; ++k)
      if (f_of(program.operations[k])) return true;
    return false;
  };
  const std::string_view name = op.instruction->mnemonic;
  if (op.cls == Class::scalar_memory) {
    if (!name.starts_with("s_load") && !name.starts_with("s_buffer_load")) return false;
    if (!any([](const Operation& o) { return o.instruction->mnemonic.starts_with("s_dcache_inv"); }))
      return false;
  } else {
    if (op.cls != Class::memory || f.space == MemoryFields::Space::scratch) return false;
    const bool loads = f.kind == MemoryFields::Kind::load && f.device_scope;
    if (!loads && !(f.kind == MemoryFields::Kind::atomic && f.returns)) return false;
    const RowRange address{static_cast<u16>(f.vaddr), f.vaddr_words};
    if (f.vaddr >= 0 && any([&](const Operation& o) { return overlaps(o.writes, address); })) return false;
  }
  const bool moves = any([&](const Operation& o) {
    return ((o.scalar_writes[0] & op.scalar_reads[0]) | (o.scalar_writes[1] & op.scalar_reads[1])) != 0;
  });
  return !moves && decides_loop(program, op, first, last);
}

/// Which loads only begin a loop of compare and swap: what they bring, copied, is what it expects, and the loop ends when that holds.
/// LLVM makes every atomic so for which there is no instruction (AtomicExpand): a value that is old by then does no harm.
void find_guesses(PreparedProgram& program, std::size_t count) {
  constexpr u32 reach = 400;
  for (u32 last = 0; last < count; ++last) {
    const u32 first = program.operations[last].target;
    if (program.operations[last].cls != Class::branch || first > last) continue;
    for (u32 at = first; at <= last; ++at) {
      const Operation& swap = program.operations[at];
      const MemoryFields& f = swap.memory;
      if (swap.cls != Class::memory || f.atomic != AtomicOp::cmpswap || !f.returns || f.data < 0 ||
          !decides_loop(program, swap, first, last))
        continue;
      // Backwards from what it expects, through copies, to the load.
      std::array<bool, vector_rows + 8> rows{};
      u64 scalars[2] = {0, 0};
      const unsigned words = f.bytes / 4U;
      std::fill_n(rows.begin() + f.data + words, words, true);
      for (u32 k = at; k-- > 0 && at - k < reach;) {
        Operation& op = program.operations[k];
        bool writes = ((op.scalar_writes[0] & scalars[0]) | (op.scalar_writes[1] & scalars[1])) != 0;
        for (const RowRange& r : op.writes)
          writes = writes || std::any_of(rows.begin() + r.first, rows.begin() + r.first + r.count,
                                         [](bool row) { return row; });
        if (!writes) continue;
        const std::string_view name = op.instruction->mnemonic;
        op.guesses = op.guesses || (op.cls == Class::memory && op.memory.kind == MemoryFields::Kind::load) ||
                     name.starts_with("s_load") || name.starts_with("s_buffer_load");
        for (const RowRange& r : op.writes) std::fill_n(rows.begin() + r.first, r.count, false);
        for (unsigned half = 0; half < 2; ++half) scalars[half] &= ~op.scalar_writes[half];
        if (!name.starts_with("v_mov_b") && !name.starts_with("s_mov_b") && !name.starts_with("v_accvgpr") &&
            !name.starts_with("v_readfirstlane"))
          continue;
        for (const RowRange& r : op.reads) std::fill_n(rows.begin() + r.first, r.count, true);
        for (unsigned half = 0; half < 2; ++half) scalars[half] |= op.scalar_reads[half];
      }
    }
  }
}

bool changes_memory(const Operation& op) {
  return (op.cls == Class::lds || op.cls == Class::memory) && op.memory.kind != MemoryFields::Kind::load &&
         op.memory.kind != MemoryFields::Kind::none;
}

/// The first read of a loop that waits for a flag, where LLVM has taken it out of the loop (LoopRotate): it reads what `in_loop`, of the
/// loop [first, last], reads, and a branch that depends on it goes past the loop. Nothing but reads stands between.
void find_peeled(PreparedProgram& program, const Operation& in_loop, u32 first, u32 last) {
  constexpr u32 reach = 64;
  const MemoryFields& f = in_loop.memory;
  const RowRange address{static_cast<u16>(f.vaddr), 1};
  bool leaves = false;
  for (u32 i = first; i-- > 0 && first - i <= reach;) {
    Operation& op = program.operations[i];
    const MemoryFields& g = op.memory;
    leaves = leaves || (op.cls == Class::branch && op.target > last);
    if (op.cls == Class::lds && g.kind == f.kind && g.vaddr == f.vaddr && g.offset == f.offset && !g.two &&
        g.bytes == f.bytes) {
      op.polls = leaves && !overlaps(op.writes, address) && decides_loop(program, op, i, first - 1);
      return;
    }
    if (overlaps(op.writes, address) || op.instruction->mnemonic == "s_barrier" || changes_memory(op)) return;
  }
}

/// Which LDS instructions wait for another wave by reading one place until it has changed: those of a loop whose end depends on what
/// they read, at an address that the loop does not change. A load only in a loop that does nothing else to memory; an atomic that
/// takes what it finds (compare and swap, exchange) in any, as locks do.
void find_polls(PreparedProgram& program, std::size_t count) {
  constexpr u32 longest = 256;
  for (u32 last = 0; last < count; ++last) {
    const u32 first = program.operations[last].target;
    if (program.operations[last].cls != Class::branch || first > last || last - first > longest) continue;
    bool effects = false;
    for (u32 i = first; i <= last; ++i) {
      const Operation& op = program.operations[i];
      const bool takes = op.cls == Class::lds && op.memory.returns;
      effects = effects || op.instruction->mnemonic == "s_barrier" || (changes_memory(op) && !takes);
    }
    for (u32 i = first; i <= last; ++i) {
      Operation& op = program.operations[i];
      const MemoryFields& f = op.memory;
      if (op.polling == nullptr && polls_memory(program, op, first, last)) {
        program.polls_memory = true;
        op.polling = op.execute;
        op.execute = poll;
      }
      if (op.cls != Class::lds || f.two || f.bytes < 4 || f.vaddr < 0) continue;
      const bool takes = f.kind == MemoryFields::Kind::atomic && f.returns;
      const bool exchanges = f.atomic == AtomicOp::cmpswap || f.atomic == AtomicOp::swap;
      if (!takes && f.kind != MemoryFields::Kind::load) continue;
      if (effects && !(takes && exchanges)) continue;
      const RowRange address{static_cast<u16>(f.vaddr), 1};
      bool moves = false;
      for (u32 k = first; k <= last; ++k) moves = moves || overlaps(program.operations[k].writes, address);
      if (moves || !decides_loop(program, op, first, last)) continue;
      op.polls = program.polls_lds = true;
      if (!takes) find_peeled(program, op, first, last);
    }
  }
}

} // namespace

std::unique_ptr<PreparedProgram> prepare(const isa::Program& program, u64 load_base, unsigned accum_offset,
                                         MatrixArithmetic matrix) {
  auto out = std::make_unique<PreparedProgram>();
  out->program = &program;
  out->load_base = load_base;
  out->matrix = matrix;
  const std::size_t count = program.instructions.size();
  out->operations.resize(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    Operation& op = out->operations[i];
    op.instruction = &program.instructions[i];
    op.next = static_cast<u32>(i + 1);
    op.target = static_cast<u32>(count);
    if (op.instruction->branch_target) {
      if (const auto target = program.index_of(*op.instruction->branch_target))
        op.target = static_cast<u32>(*target);
    }
    bool known = false;
    try {
      known = prepare_one(op, *out, program.arch, accum_offset);
    } catch (const std::exception&) { // operands that the instruction cannot have
    }
    if (!known || !in_file(op.reads) || !in_file(op.writes)) {
      op.execute = run_unknown;
      op.reads.clear();
      op.writes.clear();
    } else {
      prepare_hazards(op, program.arch);
    }
    const isa::Counted counted = isa::counted(*op.instruction);
    op.counters = static_cast<u8>((counted.vm ? counts_vm : 0) | (counted.lgkm ? counts_lgkm : 0) |
                                  (op.cls == Class::scalar_memory ? is_scalar_load : 0));
    if (op.memory.kind == MemoryFields::Kind::atomic && op.memory.space != MemoryFields::Space::lds &&
        (op.memory.floating || op.memory.returns)) {
      out->order_sensitive_atomics = true;
      out->float_atomics = out->float_atomics || op.memory.floating;
    }
    out->flat = out->flat || op.instruction->format == isa::Format::flat;
    out->loads_to_lds = out->loads_to_lds || op.memory.kind == MemoryFields::Kind::to_lds;
    if (op.cls == Class::scalar_memory && op.instruction->mnemonic.find("atomic") != std::string_view::npos) {
      out->order_sensitive_atomics = true;
    }
  }
  find_polls(*out, count);
  find_guesses(*out, count);
  // Running off the end of the code.
  static const isa::Instruction past_the_end = [] {
    isa::Instruction i;
    i.text = "(past the end of the code)";
    return i;
  }();
  Operation& last = out->operations[count];
  last.instruction = &past_the_end;
  last.execute = run_unknown;
  last.next = static_cast<u32>(count);
  return out;
}

} // namespace inlay::runtime::emulator

namespace inlay::runtime {

bool is_emulated(const isa::Instruction& instruction, isa::Arch arch) {
  emulator::PreparedProgram owner;
  emulator::Operation op;
  op.instruction = &instruction;
  try {
    return emulator::prepare_one(op, owner, arch, 256);
  } catch (const std::exception&) { // operands that the instruction cannot have
    return false;
  }
}

} // namespace inlay::runtime
