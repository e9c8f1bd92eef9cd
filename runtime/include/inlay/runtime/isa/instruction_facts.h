/// What one instruction is and costs, as far as its encoding decides it.
///
/// The report sorts instructions into the kinds that a kernel author schedules by: matrix, vector, scalar,
/// LDS and memory traffic by direction, and the instructions that wait. Each kind has a letter, so that a
/// loop reads as a word: `w B M s L M R M` is a wait, a barrier, a matrix instruction, a scalar one, a load
/// to LDS, ...
///
///     kind_of(buffer_load_dwordx4 ... lds)  ->  Kind::load_to_lds, letter 'L', 128 bits a lane
///
/// Clocks are issue clocks of one wave (every SIMD is offered one slot in 4 clocks) and, for matrix
/// instructions, the clocks the matrix pipe of the SIMD is busy. Sources: "AMD Instinct MI300 ISA" and "CDNA4
/// ISA" guides, chapter on matrix instructions; AMD Matrix Instruction Calculator; LLVM's scheduling model;
/// issue costs measured by AMD's thread tracer on an MI350X and used for both processors. isa/mfma_clocks.inc
/// has the table.
#pragma once

#include <inlay/runtime/isa/program.h>

#include <bitset>

namespace inlay::runtime::isa {

enum class Kind : std::uint8_t {
  mfma,
  valu,
  salu,
  smem,
  lds_read,
  lds_write,
  lds_other, ///< ds_bpermute, ds_swizzle, LDS atomics
  load_to_lds,
  load,
  store,
  atomic,
  wait,
  barrier,
  priority,
  nop,
  branch,
  unknown
};

/// M v s K R W D L G S A w B P n J, and ? for bytes that are no instruction.
[[nodiscard]] char letter(Kind kind);

/// `mfma`, `load_to_lds`, ...
[[nodiscard]] std::string_view to_string(Kind kind);

[[nodiscard]] Kind kind_of(const Instruction& i);

/// Bits that one lane moves; 0 for everything that is no vector memory or LDS instruction.
/// `ds_read2_b32` moves 64, `buffer_load_ubyte` 8.
[[nodiscard]] unsigned memory_bits(const Instruction& i);

/// `b128`, or `trb64` for the transposing reads of CDNA4: how tables name the width.
[[nodiscard]] std::string width_name(const Instruction& i);

/// Whether the transcendental unit executes it: `v_exp_`, `v_log_`, `v_rcp_`, `v_rsq_`, `v_sqrt_`, `v_sin_`, `v_cos_`. Other
/// instructions take as long to issue (v_permlane32_swap_b32, v_bitop3_b16) and ask for no wait state after them.
[[nodiscard]] bool is_transcendental(std::string_view mnemonic);

/// Clocks in which the wave that issues `i` issues nothing else: 4 for most, 4 (N + 1) for `s_nop N`, 8 for
/// transcendentals, 4 + 4 dwords for wide LDS writes.
[[nodiscard]] unsigned issue_clocks(const Instruction& i);

/// Clocks that the SIMD's matrix pipe is busy; 0 for what is no matrix instruction.
/// The f8f6f4 instructions take half as long when both operands have 6 or 4 bits an element (cbsz, blgp >=
/// 2).
[[nodiscard]] unsigned matrix_clocks(const Instruction& i, Arch arch);
/// Whether a load reads, or a store writes, where all of the device sees it: SC1; without scopes (Target::scopes) GLC of a load, and every store.
[[nodiscard]] bool of_device_scope(const Instruction& i, Arch arch);
/// The same where other devices and the host see it: SC0 and SC1, of an atomic SC1 alone, as its SC0 asks for the old value ("AMD Instinct
/// MI300 ISA (CDNA3) Reference Guide", "Memory Scopes and Temporal Hints"; LLVM, the memory model of CDNA3). Without scopes as of_device_scope.
[[nodiscard]] bool of_system_scope(const Instruction& i, Arch arch);

/// Multiplications and additions of one wave's matrix instruction; 0 for other instructions.
[[nodiscard]] std::uint64_t matrix_work(const Instruction& i);

/// A set of registers: VGPR n is bit n, AGPR n bit 256 + n, scalar register n (hardware encoding) bit 512 +
/// n.
using RegisterSet = std::bitset<640>;

/// Which of the counters that s_waitcnt waits for an instruction counts in, while it is under way. `in_order`: with the others of its
/// kind that one counter counts (vector memory; LDS), so that a wait for more than none covers it.
struct Counted {
  bool vm = false, lgkm = false, in_order = false;
};
/// The one list of them, by the kind of instruction: vector memory with its stores, loads to LDS and the cache instructions
/// `buffer_wbl2` and `buffer_inv` in vmcnt; flat in both, in no order; LDS (ds_nop excepted) in lgkmcnt; scalar memory, its caches and clocks, and messages in
/// lgkmcnt, in no order. Sources: CDNA3 and CDNA4 ISA guides, "Data Dependency Resolution"; LLVM's SIInsertWaitcnts, whose pull
/// requests 178316 and 220694 added the two cache instructions.
[[nodiscard]] Counted counted(const Instruction& i);

/// How many leading operands are written.
[[nodiscard]] std::size_t destinations(const Instruction& i);

/// Registers that the operands name as written, and as read. Implicit ones (vcc, scc, exec) are left out.
[[nodiscard]] RegisterSet registers_written(const Instruction& i);
[[nodiscard]] RegisterSet registers_read(const Instruction& i);

} // namespace inlay::runtime::isa
