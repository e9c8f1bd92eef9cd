/// The engine's own types: prepared instructions, waves, workgroups and launches. Which file does what:
///
///   prepare.cpp   instruction -> Operation: handler, operands, registers read and written
///   scalar.cpp    SOP1, SOP2, SOPK, SOPC, SOPP, SMEM
///   vector.cpp    VOP*: fetches operands (DPP, SDWA, op_sel, modifiers), calls vector_functions, writes back
///   memory.cpp    DS, buffer, flat, global, scratch; atomics; direct-to-LDS loads; see memory.h
///   host_calls    the host's end of printf in kernels
///   debug.cpp     breakpoints and watched memory
///   checks.cpp    the sanitizers: registers and waits; lds_checks.cpp, global_checks.cpp: races
///   definedness   the sanitizer of values that nothing wrote, bit by bit
///   hazards.cpp   the notes about wait states
///   devices.cpp   several devices: which stores and loads of others are in order before what a wave does
///   schedule.cpp  waves of a workgroup taking turns, barriers
///   residents.cpp workgroups over threads; those that wait for others take turns, until nothing can change any more
///   device.cpp    the Device interface
#pragma once

#include "definedness.h"
#include "host_calls.h"
#include "matrix.h"
#include "memory_map.h"
#include "vector_functions.h"
#include "wave.h"

#include <atomic>
#include <bit>
#include <deque>
#include <inlay/runtime/emulator.h>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>

namespace inlay::runtime::emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

struct Operation;
struct Wave;
struct Workgroup;
struct Launch;
struct Call;

using Handler = void (*)(Wave&, const Operation&);

enum class Class : u8 { scalar, vector, matrix, lds, memory, scalar_memory, branch, wait, other };

/// High halves of the flat apertures' base addresses.
inline constexpr u32 shared_aperture = 0x00010000;
inline constexpr u32 private_aperture = 0x00020000;
/// High half of the base address that a descriptor of scratch has (Target::architected_scratch): no memory of a process lies there.
inline constexpr u32 scratch_window = 0x0000ffff;

/// A source of a vector instruction.
struct Source {
  enum class Kind : u8 { none, row, scalar, special, constant };
  Kind kind = Kind::none;
  Type type = Type::b32;
  u16 index = 0;                 ///< row, scalar register or special encoding
  const u32* constant = nullptr; ///< two rows
  bool neg = false, abs = false, sext = false;
  isa::Select select = isa::Select::dword;
  bool plain = true; ///< no modifier, no selection
};

enum class AtomicOp : u8 {
  none,
  add,
  sub,
  rsub,
  swap,
  cmpswap,
  cmpswap_f,
  smin,
  umin,
  smax,
  umax,
  bit_and,
  bit_or,
  bit_xor,
  inc,
  dec,
  add_f,
  min_f,
  max_f,
  pk_add_f16,
  pk_add_bf16,
  mskor,
  wrap,
  condxchg32,
  append,
  consume
};

/// All lanes of an atomic at once: see atomics.h.
using AtomicRows = void (*)(u8* base, const LaneOffsets& at, const u32* value, const u32* compare, u32* old,
                            u64 mask);

/// What a memory instruction does, read from its mnemonic.
struct MemoryFields {
  enum class Kind : u8 { load, store, atomic, to_lds, swizzle, permute, bpermute, transpose, add_tid, none };
  enum class Space : u8 { lds, buffer, flat, global, scratch };
  Kind kind = Kind::none;
  Space space = Space::lds;
  u8 bytes = 4; ///< of one lane's element
  bool is_signed = false, d16 = false, high = false;
  bool two = false; ///< ds_read2, ds_write2, ds_wrxchg2
  bool returns = false;
  AtomicOp atomic = AtomicOp::none;
  bool floating = false;
  u8 format_count = 0; ///< components of buffer_load_format_*, tbuffer_load_format_*; 0: none
  bool typed = false;  ///< MTBUF: the instruction has the format, not the descriptor
  u8 transpose_bits = 0;
  int vaddr = -1; ///< row, -1: none
  u8 vaddr_words = 1;
  int data = -1, data2 = -1; ///< rows of stored data
  int dest = -1;             ///< row of the result
  int saddr = -1;            ///< scalar register of the base (global, scratch)
  int srsrc = -1;
  isa::Operand soffset;
  i32 offset = 0, offset1 = 0; ///< bytes
  bool idxen = false, offen = false;
  bool device_scope = false, system_scope = false; ///< isa::of_device_scope, isa::of_system_scope
  AtomicRows rows = nullptr,
             shared_rows = nullptr; ///< of an atomic that all lanes can do at once; see atomics.h
};

/// A stretch of consecutive rows.
struct RowRange {
  u16 first = 0;
  u16 count = 0;
};

/// The stretches that an instruction reads or writes, inside the operation: they are looked at each time it executes.
class RowRanges {
public:
  void push_back(RowRange range) {
    if (count_ == ranges_.size())
      throw std::length_error("an instruction with more register operands than RowRanges holds");
    ranges_[count_++] = range;
  }
  void clear() { count_ = 0; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const RowRange* begin() const { return ranges_.data(); }
  [[nodiscard]] const RowRange* end() const { return ranges_.data() + count_; }
  [[nodiscard]] RowRange& operator[](std::size_t i) { return ranges_[i]; }
  [[nodiscard]] const RowRange& operator[](std::size_t i) const { return ranges_[i]; }
  [[nodiscard]] RowRange& back() { return ranges_[count_ - 1U]; }

private:
  std::array<RowRange, 7> ranges_{};
  u32 count_ = 0;
};

/// By what a row was loaded last: which counters count that load.
enum class Filled : u8 { by_nothing, by_memory, by_lds, by_flat };

/// What the rules about wait states ask of an instruction.
struct HazardFacts {
  enum class Matrix : u8 { none, xdl, sgemm, dgemm }; ///< f32 and f64 inputs have pipes of their own
  bool valu = false, memory = false;                  ///< vector ALU without matrix; vector memory or LDS
  bool transcendental = false, dot = false, dpp = false;
  bool partial = false;                         ///< writes a part of its register
  bool reads_lane = false, lane_access = false; ///< v_readlane, v_readfirstlane; and v_writelane
  bool div_fmas = false, needs_m0 = false;
  bool permlane = false;      ///< v_permlane16_swap_b32, v_permlane32_swap_b32
  bool double_fma = false;    ///< v_fma_f64, v_fmac_f64
  bool compares_exec = false; ///< v_cmpx_*
  bool scalar = false; ///< neither vector nor memory, and no rule about scalar instructions asks about it
  bool plain = false;  ///< a vector instruction that none of the above says anything about
  Matrix matrix = Matrix::none;
  u8 passes = 0, states = 1;                ///< of four clocks; wait states that it is itself
  int accumulator = -1;                     ///< which of the rows read is the accumulator
  int lane_select = -1;                     ///< scalar register
  int wide_store = -1;                      ///< first row of stored data of more than 64 bits a lane
  u8 store_states = 0;                      ///< for so long a vector instruction must not overwrite it
  int set_register = -1, get_register = -1; ///< hardware register that s_setreg writes, s_getreg reads
};

/// What the sources of a scalar instruction decide beside a result.
enum class Decision : u8 { none, scc, vcc, jump, mode };
/// Which lanes of its sources a vector instruction reads: those of EXEC, the first of them, the one that source 1 names, all.
enum class LaneReads : u8 { active, first, one, all };

/// One instruction, resolved.
struct Operation {
  Handler execute = nullptr;
  const isa::Instruction* instruction = nullptr;
  u32 next = 0;
  u32 target = 0;
  Class cls = Class::other;

  const VectorEntry* vector = nullptr;
  std::vector<Source> sources;
  u16 destination = 0;  ///< row
  int mask_source = -1; ///< scalar register of the mask read, -1 none
  int mask_destination = -1;
  u8 vgpr_sources = 0; ///< bit i: source i is a VGPR or an AGPR, which s_set_gpr_idx moves
  bool simple = true;  ///< no DPP, SDWA, op_sel, omod, clamp

  std::unique_ptr<MatrixInstruction> matrix;
  u64 multiply_adds = 0;
  MemoryFields memory;
  void (*scalar_body)(const Call&) = nullptr;
  Handler special = nullptr; ///< vector instructions outside the table

  RowRanges reads, writes;
  Filled fills = Filled::by_nothing; ///< a load: as what it is remembered in the rows that it writes
  u8 counters = 0;                   ///< Counter: which count it, as isa::counted says
  u64 scalar_reads[2] = {0, 0};      ///< bit = register encoding 0..127
  u64 scalar_writes[2] = {0, 0};
  bool polls = false; ///< reads LDS again and again until another wave has changed it: see find_polls
  bool guesses =
      false; ///< a load of what a compare and swap then expects, again until it holds: see find_guesses
  Handler polling =
      nullptr; ///< likewise global memory: `execute` counts it in Workgroup::polled and calls this
  bool always_flushes = false; ///< f32 denormals become zero whatever MODE says
  bool whole_wave = false;     ///< reads and writes every lane whatever EXEC says
  // for the check of definedness
  Decision decision = Decision::none;
  LaneReads reads_lanes = LaneReads::active;
  bool keeps_part = false; ///< may leave a part of its destination, bits or lanes, as it was
  bool moves_bits = false; ///< each result bit is one source bit or its complement
  u8 widens = 0;           ///< 16 or 32: one undefined bit makes a whole element of the result undefined
  HazardFacts hazard;
};

/// The prepared code of one loaded object for one accumulation offset.
struct PreparedProgram {
  const isa::Program* program = nullptr;
  u64 load_base = 0; ///< added to a code address it gives the address in device memory
  std::vector<Operation> operations;
  std::deque<std::array<u32, 128>> constants;
  bool order_sensitive_atomics = false;
  bool float_atomics = false; ///< likewise, and what they sum depends on the order in its last bits
  bool loads_to_lds = false;  ///< some instruction does
  bool flat = false;          ///< some instruction is a flat one
  bool polls_lds = false;     ///< likewise
  bool polls_memory = false;  ///< likewise: workgroups may wait for each other
  MatrixArithmetic matrix = MatrixArithmetic::sequential;
};

std::unique_ptr<PreparedProgram> prepare(const isa::Program& program, u64 load_base, unsigned accum_offset,
                                         MatrixArithmetic matrix);
// needed.cpp
/// A mark for each operation that need not be executed, or of a memory instruction only its addresses, for an observer of addresses
/// and of the way through the code of the kernel at `entry`. `matrix`: whether matrix instructions are, where something depends on
/// them. Empty where not enough is known.
std::vector<u8> unneeded_operations(const PreparedProgram& program, u32 entry, bool matrix);

/// False when nothing executes the instruction.
bool prepare_scalar(Operation& op, isa::Arch arch);
bool prepare_vector(Operation& op, PreparedProgram& owner, isa::Arch arch, unsigned accum_offset);
bool prepare_memory(Operation& op, isa::Arch arch, unsigned accum_offset);
std::vector<std::string_view> scalar_mnemonics();
std::vector<std::string_view> special_vector_mnemonics();

// ---- waits ----------------------------------------------------------------------------------------------------------

enum Counter : u8 {
  counts_vm = 1,
  counts_lgkm = 2,
  is_scalar_load = 4,
  is_memory = 8 ///< stress: vector memory
};

/// The memory instructions that one counter still counts, the oldest first. A counter stalls at its maximum, so that there are never
/// more than 63 (vmcnt) and 15 (lgkmcnt).
template <u32 capacity>
class CounterQueue {
public:
  struct Entry {
    u64 id = 0;
    const Operation* op = nullptr;
    u8 counters = 0; ///< Counter, as it was issued
  };
  static constexpr u32 most = capacity - 1;
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] u32 size() const { return size_; }
  [[nodiscard]] Entry& operator[](u32 i) { return ring_[(first_ + i) % capacity]; }
  [[nodiscard]] const Entry& operator[](u32 i) const { return ring_[(first_ + i) % capacity]; }
  void append(const Entry& e) { ring_[(first_ + size_++) % capacity] = e; }
  void drop_first(u32 count) {
    first_ = (first_ + count) % capacity;
    size_ -= count;
  }
  void erase(u32 i) {
    for (; i + 1 < size_; ++i) (*this)[i] = (*this)[i + 1];
    --size_;
  }

private:
  std::array<Entry, capacity> ring_;
  u32 first_ = 0, size_ = 0;
};

/// Stress: what a memory instruction does once no counter holds it any more.
struct Deferred {
  u64 id = 0;
  u8 counters = 0; ///< that still do
  std::function<void()> land;
  std::function<void()> reach; ///< what of that happens at a barrier at the latest, see reach_memory
  /// Where flat instructions are: the bytes that it touches, ascending; see memory.cpp, touched_bytes.
  bool flat = false, writes = false;
  std::vector<std::pair<u64, u64>> touched;
};

/// A watched access that has been noted and not yet performed.
struct PendingAccess {
  WatchHit hit;
  const u8* at = nullptr;
};

/// How a vector instruction wrote a row.
enum : u8 { written_by_transcendental = 1, written_by_dot = 2, written_in_part = 4 };

/// When what was last touched, on a clock of wait states; 0: never. The clock begins late enough to tell.
struct HazardState {
  u64 clock = 1;
  std::array<const Operation*, vector_rows> matrix_op{}; ///< the matrix instruction that wrote the row last
  std::array<u64, vector_rows> matrix_write{}, valu_write{}, c_read{};
  std::array<u8, vector_rows> valu_how{}, c_passes{};
  std::array<u16, vector_rows> dot_opcode{};
  std::array<u64, 128> valu_scalar{};
  u64 m0_write = 0, exec_compare = 0;
  std::array<u64, 64> register_write{}; ///< of hardware registers, by s_setreg
  /// The last of any row or register: while they are long past, nothing can be too close.
  u64 last_double = 0, last_matrix = 0, last_valu = 0, last_special = 0, last_wide_store = 0,
      last_valu_scalar = 0;
  /// The data of the last two stores of more than 64 bits a lane, the last one first; until when they must not be overwritten.
  struct WideStore {
    RowRange data{};
    u64 until = 0;
  };
  std::array<WideStore, 2> wide_stores{};
  void store_wide(const HazardFacts& facts, u16 count, u64 now) {
    wide_stores[1] = wide_stores[0];
    wide_stores[0] = {{static_cast<u16>(facts.wide_store), count}, now + 1 + facts.store_states};
    last_wide_store = now + 1;
  }
};

enum class WaveStatus : u8 { running, at_barrier, ended };

/// Up to where a workgroup had come, by wave: to the periods (Workgroup::period) before these.
struct Progress {
  std::array<u32, 16> before{};
  [[nodiscard]] bool covers(u64 period, u64 wave) const { return period < before[wave]; }
  [[nodiscard]] bool none() const { return *this == Progress{}; }
  void join(const Progress& other) {
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = std::max(before[i], other.before[i]);
  }
  bool operator==(const Progress&) const = default;
};

// ---- several devices --------------------------------------------------------------------------------------------------

/// Of another workgroup: what it had done, what of its stores had been written back, and what it had done when the caches of who heard it
/// were cleared last, for other devices; `cleared`: at least those before the L2, which is enough of uncached memory.
struct Heard {
  Progress done, released, acquired, cleared;
  Progress begun; ///< what it had begun, arrived or not
};
/// By the workgroup's number among those of all devices.
using Clock = std::map<u64, Heard>;

/// What a word says that was stored with a scope, or by an atomic: to who reads it with system scope, and on a device.
struct Flag {
  Clock system;
  std::map<u32, Clock> on_device;
  u64 version = 0;
};

/// What of other workgroups is in order before what a wave does, or the waves of a workgroup since its last barrier; see devices.cpp.
struct Peers {
  Clock known;
  Clock from_system, from_device; ///< flags that were read: known once the caches are cleared, by scope
  u64 begun = 0;                  ///< a bit each: devices of which some workgroup is known
  u64 written_back = 0;           ///< and to have written back what lies before
  std::map<u64, u64> versions;    ///< flags read, by address
  void join(const Peers& other);
};

/// Which stores had arrived before a wave has cleared the scalar cache, which no store of a vector instruction changes: of its
/// workgroup, and what others had released before `acquires`, on Launch::clock.
struct ScalarCache {
  Progress cleared;
  u64 acquires = 0;
  void join(const ScalarCache& other) {
    cleared.join(other.cleared);
    acquires = std::max(acquires, other.acquires);
  }
};

struct Wave : WaveState {
  using WaveState::WaveState;
  Workgroup* group = nullptr;
  u32 id = 0;
  u32 at = 0; ///< index of the next operation
  u32 current = 0;
  WaveStatus status = WaveStatus::running;
  u64 executed = 0;
  u32 barrier_at = 0; ///< operation index of the barrier it waits at
  u64 lane_exists = ~u64{0};
  u32 gpr_idx_mode = 0; ///< bits 0..3: src0, src1, src2, dst
  bool vskip = false;

  // checks
  bool tracking = false; ///< some check looks at every instruction
  bool checks_waits = false;
  bool deferring = false;                     ///< stress
  bool watching = false;                      ///< memory of this launch is watched
  u64 writes_back = 0;                        ///< the instruction that begins to, see write_back
  bool writes_back_system = false;            ///< to where other devices look, too
  Progress writing_back;                      ///< what that covers
  Progress written_back, system_written_back; ///< since the last barrier
  u32 stored_in = 0;                          ///< the period of its last store to global memory
  u32 scoped_in = 0;                          ///< of its last one of device scope
  u32 landed = 0; ///< of those before this period all have arrived, as it has told others since
  u32 done = 0;   ///< likewise of all that it has read and stored, for other devices
  ScalarCache scalar_cache;
  Peers peers; ///< since the last barrier
  /// Itself, or before a barrier another wave: Workgroup::synchronizes, Workgroup::acquires.
  u64 synchronizes = 0, acquires = 0;
  u32 polled_at = ~0U; ///< the last instruction that polls, and what it found
  u64 polled_value = 0;
  bool lds_noted = false;               ///< the LDS access being performed needs no check lane by lane
  std::unique_ptr<Definedness> defined; ///< when uninit is on
  /// The load that filled the row last: its number and Filled. Done or not: see pending_of.
  std::array<u64, vector_rows + 4> filled_by{};
  u64 scalar_pending[2] = {0, 0}; ///< scalar registers that an outstanding scalar load will write
  CounterQueue<64> vm_queue;
  CounterQueue<16> lgkm_queue;
  u32 lgkm_in_order = 0;          ///< of those: LDS instructions, which land in order
  std::vector<Deferred> deferred; ///< stress; in order of issue
  u64 next_id = 1;
  static constexpr u64 none_outstanding = ~u64{0};
  u64 oldest_load = none_outstanding; ///< what filled_by is at least of a row that an outstanding load fills
  /// The last instructions of this wave known to have landed, by kind.
  u64 lds_landed = 0, vm_landed = 0, flat_landed = 0;
  u64 lds_landed_at_barrier = 0, vm_landed_at_barrier = 0;
  u64 last_lds_id = 0, last_vm_id = 0, last_lds_read_id = 0;
  u64 lds_issued_at_barrier = 0;
  std::unique_ptr<HazardState> hazards; ///< when that check is on

  /// Findings that this wave made before, by their instruction: see report_again.
  struct Said {
    u32 at = 0;
    FindingKind kind = FindingKind::waits;
    Finding* finding = nullptr;
  };
  std::array<Said, 32> said{};

  std::vector<u32> break_hits, watch_hits;
  std::vector<PendingAccess> accesses;
  ObservedAccess* observed =
      nullptr;                  ///< where a memory instruction says what it did, while somebody looks on
  bool addresses_alone = false; ///< and nothing depends on what it does

  std::vector<u8> scratch;      ///< [lane][bytes]
  Allocation* recent = nullptr; ///< last allocation hit
  alignas(64) u32 temporary[5][128];
  LaunchStatistics stats;
};

/// The lines of 64 bytes, from the first byte of the allocation on, that a store touches, each with its bytes: what is remembered of memory is
/// then touched once a line.
/// Kept by the pattern of the lanes, which is the same trip after trip.
struct StoreLines {
  struct Line {
    i32 at = 0;    ///< from that of lane 0
    u64 bytes = 0; ///< a bit each
  };
  u64 mask = 0;
  bool rising = false;              ///< then the pattern says no more
  u32 width = 0;                    ///< bytes of a lane
  u32 phase = 0;                    ///< place of lane 0 modulo 64
  std::array<u32, lanes> pattern{}; ///< after lane 0
  std::vector<Line> lines;          ///< empty: seen once, not put together yet
  bool shared = false;              ///< two lanes store to one byte
  bool whole = false;               ///< no line in part
};
/// Those of a store to byte `base + at.at[lane]` of an allocation that is upwards, or whose pattern was seen before at its place in the code; nullptr otherwise.
const StoreLines* store_lines(const Wave& wave, u64 base, const LaneOffsets& at, u64 mask, unsigned bytes);

/// Shadow of four bytes of LDS.
struct LdsShadow {
  u32 write_epoch = 0, read_epoch = 0;
  u32 readers = 0;     ///< waves that read in read_epoch
  u16 writer = 0;      ///< wave + 1 that wrote last in write_epoch; 0xffff: several, on different bytes
  u8 bytes = 0;        ///< bytes written in write_epoch
  bool atomic = false; ///< the writes of write_epoch were atomics
  bool dma = false;
  u32 site = 0; ///< operation of the last write
  u32 read_site = 0;
  u16 last_writer = 0; ///< wave + 1, in any epoch
  bool is_lds = false; ///< the last write was an LDS instruction's
  u64 id = 0;          ///< the writer's instruction id, for waits
  u64 vm_landed = 0;   ///< of the writer's loads to LDS, when it wrote
};

enum class LdsUse : u8 { read, write, atomic, dma };

/// Who touched LDS, and with what.
struct LdsSource {
  u32 site = 0; ///< operation
  u16 wave = 0;
  bool is_write = false, is_dma = false, is_atomic = false;
  bool is_lds = true; ///< by an LDS instruction, not a flat one
  bool polls = false;
  u64 id = 0;
  u64 vm_landed = 0; ///< of its loads to LDS
};

/// An access to LDS as it is noted while it can do no harm. Lanes that follow each other need no list of addresses.
struct LdsAccess {
  static constexpr u32 no_list = ~0U;
  LdsSource by;
  u8 bytes = 0;
  u64 mask = 0;
  u32 epoch = 0;
  u32 low = 0;        ///< of all lanes
  u32 list = no_list; ///< where its addresses begin in LdsLog::addresses
};

/// What one wave knows another to have done to LDS since the last barrier: its LDS instructions, which LDS executes in order, and its
/// loads to LDS, up to these.
struct Reached {
  u64 lds = 0, vm = 0;
};
using Knowledge = std::vector<Reached>; ///< by wave; empty: nothing

/// The accesses since the last barrier, and those of before that it found on their way.
struct LdsLog {
  static constexpr u32 most = 4096;
  std::vector<LdsAccess> accesses;
  std::unique_ptr<u32[]> addresses; ///< lanes of each access that has a list
  u32 lists = 0;
  void clear() {
    accesses.clear();
    lists = 0;
  }
};

/// The blocks of 256 bytes of LDS that an access touches: `first`, and those that the bits of `set` count from it.
struct LdsPages {
  u32 first = 0;
  u64 set = 0; ///< 0: not known, they are more than 64 or elements lie across their borders
};

/// Who touched 256 bytes of LDS since the last barrier, and whose write they got last.
struct LdsPage {
  static constexpr u8 several = 0xff;
  u32 epoch = 0;
  u32 readers = 0, writers = 0,
      combiners = 0; ///< waves, in `epoch`; combiners: by atomics, which do not race with each other
  u32 write_epoch = 0;
  u32 atomic_epoch = 0; ///< the epoch of which nothing but atomics is on its way to the page
  u32 dma_epoch = 0;    ///< of the last load straight to the page; 0: none
  u8 writer = 0;        ///< wave + 1
  bool dma = false;
  u64 id = 0; ///< of the writer's instruction
};

/// The bank conflicts of one LDS instruction, and the worst of its accesses.
struct ConflictCount {
  u64 accesses = 0, extra = 0; ///< those with a conflict; clocks
  u32 worst = 0, bytes = 0;
  bool is_write = false;
  u64 mask = 0;
  std::array<u32, lanes> addresses{};
  void add(const ConflictCount& other);
};
/// By operation.
using Conflicts = std::map<u32, ConflictCount>;
/// Accesses to scratch, by operation.
using ScratchCounts = std::map<u32, u64>;

struct Workgroup {
  Launch* launch = nullptr;
  Extent3 id{0, 0, 0};
  u64 linear = 0; ///< id as a number, x fastest
  bool lds_is_observed = false;
  std::vector<std::unique_ptr<Wave>> waves;
  std::vector<u8> lds;
  std::vector<u8> lds_undefined; ///< bits of each byte that nothing gave a value; empty: uninit is off
  std::vector<u32> lds_origin;   ///< of each four bytes
  std::vector<u64> lds_defined;  ///< a bit for each 256 bytes: none of them has an undefined bit
  u32 epoch = 1;                 ///< completed barriers + 1
  std::vector<LdsShadow>
      shadow; ///< by word, while `precise`; see lds_word. Empty: nobody asks, or a wave alone without DMA
  std::vector<u32> shadow_of; ///< by 256 bytes: the workgroup that the words' shadow is of, as `generation`
  u32 generation = 0;
  std::vector<LdsPage> pages;
  LdsLog log; ///< while not `precise`
  bool precise = false;
  u32 all_landed_epoch = 0;    ///< the last after which nothing was on its way to or from LDS
  std::vector<u64> words_seen; ///< all zero but while one instruction is looked at
  /// The last read of each word by each wave, [word][wave]: id << 4 | bytes; empty when waits is off or the wave alone.
  std::vector<u32> reads;
  /// By wave: what it knew of the others from which of its LDS instructions on; the last is what it knows now. For polls.
  std::vector<std::vector<std::pair<u64, Knowledge>>> knowledge;
  std::map<u32, Knowledge> arrivals; ///< by word: what those who combined with it by atomics had done
  bool reads_crossing = false;       ///< some wave had an LDS read in flight at the last barrier
  std::vector<u64>
      page_reads;             ///< [page][wave]: the last LDS instruction that read it; empty where `reads` is
  bool tracks_global = false; ///< who stores to which global byte is remembered
  u64 writer = 0; ///< as whom: a number of Launch::writers, another one every writer_periods periods
  /// A new one begins at each barrier, the last of them at `arrived`, and when a wave begins to write back.
  u32 period = 1, arrived = 1;
  /// When, on Launch::clock, a wave has read global memory last in ways that other workgroups may order themselves by; 0: never.
  u64 synchronizes = 0;
  u64 acquires = 0; ///< the last of those after which one that knows it has cleared the caches
  /// As of the last barrier, what was written back; the same to where other devices look; what others may see of it: the last of
  /// Launch::releases.
  Progress written_back, system_written_back, released;
  bool stores_scoped = false; ///< some wave has stored with device scope
  Progress landed;            ///< of those stores: the same as `released`
  ScalarCache scalar_cache;   ///< as of the last barrier
  u32 device = 0;             ///< of a launch on several
  Peers peers;                ///< as of the last barrier
  u32 slices = 0;             ///< turns since it has polled last, see residents.cpp
  std::mt19937_64 random;
  Conflicts conflicts;    ///< where the bank model is on
  ScratchCounts scratch;  ///< likewise
  std::vector<u32> order; ///< in which its waves take turns
  u64 polled = 0;         ///< reads of global memory that wait for somebody to change it
  bool told = false;      ///< it has written a flag for other devices since its turn began
};

/// A workgroup of which somebody may read what it has stored.
struct Writer {
  u64 group = 0;
  u32 first_period = 0; ///< of this number
};

/// What of a workgroup's stores others may see that read something after `at`, on Launch::clock: it was written back, and then
/// something was changed that others can see.
struct Release {
  u64 at = 0;
  Progress stored;
  Progress landed; ///< what was stored with device scope needs nothing but to have arrived
};

/// Of a workgroup: what its waves had stored with device scope, arrived or not, when each of them has changed something last that
/// others can see, and when that was on Launch::clock.
struct Told {
  Progress stored;
  std::array<u64, 16> at{};
};

struct Launch {
  const PreparedProgram* code = nullptr;
  const Kernel* kernel = nullptr;
  isa::Arch arch{};
  LaunchGeometry geometry;
  u64 kernarg = 0, dispatch_packet = 0;
  u32 devices = 1;
  std::vector<std::pair<u64, u64>> segments; ///< the same of each, where there are several
  std::map<u64, Flag> flags;                 ///< by word
  u64 flag_versions = 0;
  std::vector<Clock> ends; ///< of each device: what is in order before its launch ends
  const EmulatorOptions* options = nullptr;
  const isa::LineTable* lines = nullptr;
  MemoryMap* memory = nullptr;
  u32 lds_bytes = 0;
  u32 scratch_bytes = 0; ///< a lane: the kernel's own and, where it wants a stack, what the options give
  u32 entry = 0;
  bool preloaded_entry = false;
  std::atomic<u64> executed{0};
  std::atomic<bool> stop{false};
  Conflicts conflicts;
  ScratchCounts scratch;
  std::vector<u64> counts;     ///< executions by operation, where somebody asks for them
  std::vector<u8> unneeded;    ///< by operation, see unneeded_operations; empty: all are executed
  std::atomic<u64> defects{0}; ///< findings that are no notes, each time
  std::mutex mutex;
  std::map<std::pair<u8, u64>, Finding> findings;
  std::vector<Writer> writers;                  ///< by their number in Allocation::writers
  std::map<u64, std::vector<Release>> releases; ///< by workgroup, each more than the one before
  std::map<u64, Told> told;                     ///< by workgroup
  std::atomic<u64> clock{0};        ///< how often waves have read what they may order themselves by
  std::vector<std::string> origins; ///< of undefined values
  std::map<std::pair<u32, std::string>, u32> origin_ids;
  std::optional<u64>
      no_lds_at;      ///< instruction of the finding that stands for every access to LDS that is not there
  bool alone = false; ///< one thread runs it
  HostCalls* host_calls = nullptr; ///< where the kernel has a buffer for them
  std::function<void()> print{};   ///< what has been printed so far, where the kernel has a buffer for that
  bool changed = false; ///< an atomic that is looked at has changed what it found: see residents.cpp
  [[nodiscard]] std::optional<isa::SourceLine> source(u64 address) const {
    return lines == nullptr ? std::nullopt : lines->at(address);
  }
};

// ---- helpers shared by the files ------------------------------------------------------------------------------------

[[noreturn]] void fail(const Wave& wave, const std::string& what, unsigned lane = 0);
void report(Wave& wave, FindingKind kind, const std::string& message, unsigned lane = 0, u64 address = 0,
            bool note = false);

/// The same once more of what has been found at this instruction and is no note: true when that was all there is to say, so that
/// nobody need say it. False: nothing done.
bool report_again(Wave& wave, FindingKind kind);

u32 read_special(const Wave& wave, unsigned encoding);
u32 read_scalar(const Wave& wave, const isa::Operand& operand);
u64 read_scalar64(const Wave& wave, const isa::Operand& operand);
inline u64 lane_bit(unsigned lane) { return u64{1} << lane; }
inline unsigned first_lane(u64 mask) { return mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(mask)); }

/// An access outside LDS: when there is none at all, one finding says so for the whole launch.
void report_lds_bounds(Wave& wave, u64 address, bool is_write, unsigned lane);

/// `byte 16 of a buffer of 256 bytes, which nothing has written`
std::string unwritten_byte(const Allocation& home, u64 address);

/// Calls f(range) for the rows that `op` reads now, s_set_gpr_idx applied; the second for those it writes.
template <class F>
void each_read(const Wave& w, const Operation& op, F f) {
  if (w.gpr_idx_mode == 0 || op.sources.empty()) {
    for (const RowRange& r : op.reads) f(r);
    return;
  }
  for (std::size_t i = 0; i < op.sources.size(); ++i) {
    const Source& s = op.sources[i];
    if (s.kind != Source::Kind::row) continue;
    const bool moved = ((op.vgpr_sources >> i) & (w.gpr_idx_mode >> i) & 1U) != 0;
    const u32 first = moved ? (s.index + (w.scalar[m0] & 0xff)) % vector_rows : s.index;
    f(RowRange{static_cast<u16>(first), static_cast<u16>(words(s.type))});
  }
}
template <class F>
void each_write(const Wave& w, const Operation& op, F f) {
  for (const RowRange& r : op.writes) {
    const bool moved = (w.gpr_idx_mode & 8U) != 0 && !op.sources.empty();
    f(moved ? RowRange{static_cast<u16>((r.first + (w.scalar[m0] & 0xff)) % vector_rows), r.count} : r);
  }
}

/// A pointer to `bytes` bytes of global memory or nullptr (reported) when no allocation covers them.
u8* global_bytes(Wave& wave, u64 address, unsigned bytes, unsigned lane, bool is_write,
                 Allocation** home = nullptr);

// vector.cpp
/// The lane that each lane's first source comes from under DPP; -1: outside, or not active. The lanes that are written: active ones of
/// enabled rows and banks, whose source is there or counts as 0.
u64 dpp_lanes(const isa::Dpp& dpp, u64 active, std::array<i8, lanes>& from);

// hazards.cpp
void prepare_hazards(Operation& op, isa::Arch arch);
/// Rows of the data of a store, or of a compare and swap, whose two values lie one after another.
inline u16 stored_rows(const Operation& op) {
  return static_cast<u16>(op.memory.bytes / 4 * (op.memory.atomic == AtomicOp::cmpswap ? 2 : 1));
}
void check_hazards(Wave& wave, const Operation& op);
/// Wait states after which no rule asks about a matrix instruction; the longest is 20.
inline constexpr u64 matrix_reach = 32;
/// Whether no matrix instruction that is nearer has written a register of `op`, or reads one that it writes as its accumulator.
bool far_from_matrix(const HazardState& state, const Operation& op);

// checks.cpp
/// `v8`, `a3`; `s4`, `vcc`.
std::string row_name(const Wave& wave, unsigned row);
std::string scalar_name(unsigned index);
void check_registers(Wave& wave, const Operation& op);
void note_issue(Wave& wave, const Operation& op, u8 counters);
/// Under stress: `land` does the work once a wait covers the instruction.
void note_issue(Wave& wave, const Operation& op, u8 counters, std::function<void()> land);
/// Does what `next`, not in the list yet, may not overtake: a flat instruction that touches the same bytes, or any if it is one.
void land_before(Wave& wave, const Deferred& next);
void wait_for(Wave& wave, unsigned vmcnt, unsigned lgkmcnt);
/// Stress, at a barrier: what the wave has under way reads and writes global memory before what comes after the barrier. The waves of a
/// workgroup share a cache that takes what they do in their order, so that LLVM's memory models of CDNA2 and CDNA3 have none of
/// them wait for vmcnt at a barrier outside of tgsplit mode. Registers and LDS get what was loaded as late as ever.
void reach_memory(Wave& wave);
// lds_checks.cpp
/// Whether a flag in LDS has told the wave, itself or by others, that wave `other` had come to some place since the last barrier.
[[nodiscard]] bool has_heard_of(const Wave& wave, u64 other);
/// The latest `when` of the waves of which it has heard so; 0: none.
[[nodiscard]] u64 heard_of_one(const Wave& wave, u64 Wave::*when);
/// An access of several lanes: true when it can do no harm and is noted, false when check_lds must look at each lane.
bool note_lds(Wave& wave, const Operation& op, const u32* addresses, u64 mask, unsigned bytes, LdsUse use);
/// The same by offsets whose pages are known. `rising`: lane after lane without gaps, all of them.
bool note_lds(Wave& wave, const Operation& op, const LaneOffsets& at, const LdsPages& pages, u64 mask,
              unsigned bytes, LdsUse use);
/// Whether those pages are known to have no undefined bit.
bool lds_pages_defined(const Workgroup& group, const LdsPages& pages);
/// Looks at those pages that are not.
void settle_lds_pages(Workgroup& group, const LdsPages& pages);
/// Bytes of LDS may have undefined bits from now on.
void undefine_lds(Workgroup& group, u64 address, unsigned bytes);
/// All waves have come to the barrier.
void lds_at_barrier(Workgroup& group);
/// `value`: what a store, not yet done, puts there.
void check_lds(Wave& wave, const Operation& op, u32 address, unsigned bytes, unsigned lane, bool is_write,
               bool is_atomic, bool is_dma, const u8* value = nullptr);
/// The periods that an entry of Allocation::writers tells apart.
inline constexpr u32 writer_periods = 4096;
/// The workgroup gets a number of its own: at its start, and when its periods pass a multiple of writer_periods.
void name_writer(Workgroup& group);
/// What its waves store from now on is told apart from what they have stored.
void next_period(Workgroup& group);
/// All waves have come to the barrier.
void global_at_barrier(Workgroup& group);
/// The wave reads global memory in a way that other workgroups may order themselves by.
void synchronize(Wave& wave);
/// It clears the caches of what was stored before that.
void acquire(Wave& wave);
/// `buffer_wbl2 sc1`: write_back is for what has been stored before.
void begin_write_back(Wave& wave);
/// `buffer_wbl2 sc1` and a wait for it: what the workgroup has stored is where other workgroups look. `system`: other devices, too.
void write_back(Wave& wave, bool system);
/// Up to where what the workgroup has stored was written back, as an instruction of this wave may tell.
Progress written_back(const Wave& wave, bool system);
/// An atomic, or a store of device scope: others that see it may see what was written back before.
void release_stores(Wave& wave);
/// Whether no store or atomic of the wave to global memory is on its way.
[[nodiscard]] bool stores_have_landed(const Wave& wave);
/// `s_dcache_inv`.
void clear_scalar_cache(Wave& wave);
/// A scalar load of a word that this launch has stored, in order: the scalar cache has to be cleared between.
void check_scalar_read(Wave& wave, Allocation& home, u64 address);
/// A store of `bytes` bytes, not yet done, to global memory: another wave's in this launch that nothing orders before it.
void check_global_write(Wave& wave, Allocation& home, u64 address, const u8* value, unsigned bytes,
                        unsigned lane, bool is_atomic);
/// A load of `bytes` bytes of each lane in `mask` that wants to see what other waves of this launch have stored, and that nothing orders
/// after them. Remembers who loads what somebody has stored, for stores that nothing orders after the load.
void check_global_reads(Wave& wave, Allocation& home, const u64* address, u64 mask, unsigned bytes);
/// The same while nobody has stored to the allocation, at `base + at.at[lane]`.
void note_global_reads(Wave& wave, Allocation& home, u64 base, const LaneOffsets& at, u64 mask,
                       unsigned bytes);
/// What is known of a store before it is done: somebody stored there who may be in conflict; noted; this wave has stored to all these
/// bytes since the last barrier, so that nothing about them can be new.
enum class GlobalNote : u8 { conflict, noted, again };
/// The same of `bytes` bytes of each lane in `mask`. `lines`: the lanes' bytes put together, when they are known.
GlobalNote note_global_writes(Wave& wave, Allocation& home, u64 base, const LaneOffsets& at,
                              const StoreLines* lines, u64 mask, unsigned bytes, bool is_atomic);
/// Two lanes that store different values to one byte of global memory with one instruction. `data`: low parts of small elements in
/// their low bits.
void check_global_lanes(Wave& wave, const Allocation& home, const u64* address, u64 mask, unsigned bytes,
                        const u32* data);
/// Two lanes that store different values to one word of LDS.
void check_lds_lanes(Wave& wave, const Operation& op, const u32* addresses, u64 mask, unsigned bytes,
                     const u32* data);
u32 lds_cycles(isa::Arch arch, const u32* addresses, u64 mask, unsigned bytes, bool is_write, u32& conflicts);
// devices.cpp
/// An atomic, a load or a store with a scope, not yet done: what its words say, and to whom.
void note_flags(Wave& wave, const Operation& op, const u64* address, u64 mask);
/// `buffer_inv`: what flags said is known. `system`: of other devices, too.
void clear_caches(Wave& wave, bool system);
/// All waves have come to the barrier.
void peers_at_barrier(Workgroup& group);
/// Whether other devices see a store, and a load what they store: of system scope, or of device scope where no L2 comes between.
inline bool reaches_devices(const Operation& op, const Allocation& home) {
  return op.memory.system_scope || (home.uncached && op.memory.device_scope);
}
/// The workgroup has ended.
void peers_at_end(const Workgroup& group);
/// What a wave knows of a workgroup of another device.
Heard heard_of(const Wave& wave, u64 group);
// checks.cpp
/// A load with a scope, or an atomic, of what another device has stored last: not to be seen, where one of the two is not of system scope
/// and nothing else orders them.
void check_flag(Wave& wave, Allocation& home, u64 address, unsigned bytes, unsigned lane);
/// A load of device scope sees the memory after the L2 caches: what another workgroup of the device has stored there without a scope
/// has to be written back, and what it has stored with one has to be waited for before it tells something else. For targets with
/// scopes; before the load itself counts as one that orders.
void check_scoped_read(Wave& wave, Allocation& home, u64 address, unsigned bytes, unsigned lane);
/// All workgroups of all devices have ended: what one device does to memory of another that goes on in its stream. `any`: a wave.
void check_ends(Wave& any);
// banks.cpp
/// The same of the wave's instruction, into its statistics and those of the instruction.
void count_banks(Wave& wave, const u32* addresses, u64 mask, unsigned bytes, bool is_write);
/// What is said of them; see LdsConflict.
std::vector<LdsConflict> explain_conflicts(const Launch& launch);
// scratch.cpp
/// See LaunchResult::scratch.
std::vector<ScratchUse> explain_scratch(const Launch& launch);
// fidelity.cpp
/// See LaunchResult::fidelity.
std::vector<InstructionFidelity> explain_fidelity(const Launch& launch);

// schedule.cpp
/// Puts a wave into the state in which `launch` starts it; `threads_before` work-items are in earlier waves.
void start_wave(Wave& wave, const Launch& launch, u32 threads_before, u32 threads_total);
void begin_workgroup(Launch& launch, Workgroup& group);
/// Its waves take turns until it has ended (true), has executed about so many instructions or has polled so often.
bool continue_workgroup(Launch& launch, Workgroup& group, u64 instructions, u64 polls);
void end_workgroup(Workgroup& group, LaunchStatistics& statistics);
/// The next instruction of a wave; `access`: what it does to memory.
void step(Wave& wave, ObservedAccess& access);
// residents.cpp
void run_launch(Launch& launch, LaunchResult& result);

} // namespace inlay::runtime::emulator
