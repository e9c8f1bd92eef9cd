/// `Graph`, `Schedule`, `Code`: a program as instructions, and as instructions in order.
///
///     Graph graph = expand(program);               // one node an instruction of a wave
///     Schedule schedule = default_schedule(graph); // how many trips ahead each node of a loop runs, and in which order
///     Code code = apply(graph, schedule);          // prologue, loop, epilogue, with waits and barriers
///
/// Provenance (provenance.h), the token interpreter (tokens.h) and the emitter (emit_ir.h) read the same `Code`, so what
/// is proven about it is what is emitted. Everything in it is data; a test that changes one field changes the kernel.
///
/// **Iterations.** Trip j of a loop runs node n for iteration j + ahead(n). A register of the loop is named by its
/// number and the iteration it belongs to, counted from the current trip, so that pipelining renames and never copies.
/// The stage of LDS that iteration i uses is i mod ring. When the last tile of the extent may be ragged, iteration 0 is
/// that tile (masked, in the prologue) and iteration i > 0 is tile i - 1: the loop itself then needs no masks.
///
/// **Order.** Waits are counted: `vm` and `lgkm` say how many younger accesses of their queue may still be under way.
/// Barriers are placed where a wave reads or overwrites what another one wrote or reads. Where a branch begins or ends nothing is
/// under way, so that either path leads on from there. All waves walk one list of instructions, each running those that are its
/// role's; waits are counted for the waves that run them, and every barrier is run by all. A loop that is staggered exists twice:
/// accesses of the upper half of the waves stand some products later or earlier, between the same waits and barriers and in the same
/// order, so that each wait covers the same; and two halves that leave a barrier together do not come to LDS together.
///
/// **Ping-pong.** A trip is phases, in turn of products and of accesses, with a barrier after each. Before the loop the upper half of
/// the waves runs one barrier more, and after it the lower half: so all waves run as many, and in between the upper half is one phase
/// behind. While one half multiplies, the other one has the LDS. Let n(w) count the barriers that wave w has passed. What wave a waited
/// for at count n is visible to wave b once n(b) > n. Where all waves are in step that is one barrier of the list; in a ping-pong
/// loop it is one barrier of the list within a half, and two from the upper half to the lower one.
/// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapter 4.4 (s_waitcnt, data dependency resolution).
#pragma once

#include <inlay/codegen/program.h>

#include <map>

namespace inlay::codegen {

enum class InstKind : std::uint8_t {
  fill,      ///< def = value
  load,      ///< def = memory, at coordinates of which some may be uses
  store,     ///< memory = use, or += use (`combine`)
  lds_read,  ///< def = LDS
  lds_write, ///< LDS = use
  /// def += uses[0] x uses[1], the instruction's operands in its order; each in halves where there are 4 uses, or followed by
  /// the scales of both where the instruction takes some.
  mma,
  map,         ///< def[e] = map(uses[e], uses[count + e], ...)
  fold_values, ///< def = the monoid over all uses; with a `lane_mask` over those before number work-item / mask
  /// def = use (+) use of lane ^ mask. Of two uses: the first one, and in lanes whose bit is set (+) the second of lane ^ mask.
  fold_lanes,
  /// def = element number `rank` of the `top` greatest of all uses of the lanes that differ in `lane_mask`, or its place: `access.threads`
  /// and `position` say where each use stands along the axes, of `access.extents`. After them may stand as many uses, what is beside each.
  top,
  /// def = (a, b), the uses, where a of the lanes whose bit `lane_mask` is set and b of the others have changed places:
  /// the first half of def at lane l is a of l, or b of l ^ mask where the bit is set.
  exchange_lanes,
  wait,
  /// For all waves; or for one half of them (`waves`), where a ping-pong loop begins or ends: see Code.
  barrier,
  priority, ///< of the wave among those of its SIMD = value
  release,  ///< what this wave stored is there for all workgroups
  /// def of the work-item that is not idle = the counter of its group of workgroups, which counts on, and after the last is 0.
  ticket,
  await,  ///< the work-item that is not idle waits until its group's word is the workgroup's number
  signal, ///< its group's word = that number + 1, and after the last 0
  /// Work-items 0 to count - 1 (Program::together) each count this workgroup's flag on in the memory of their device, and wait for that
  /// device's flag here.
  meet,
  /// What was released before a number was drawn, and the ticket's symbol = use, the same in all lanes; or before a turn was
  /// signalled that was waited for: it is there. Or before devices met.
  acquire,
  check, ///< the launch ends where a use is 0
  /// One element of all uses: a line (`print`) of as many as it has `{}`, where one more is not 0 or there is none, by a thread that is not idle.
  print
};
[[nodiscard]] const char* to_string(InstKind kind);

/// Elements first .. first + count of a register, of iteration `ahead` after the current trip.
struct Reg {
  int id = -1;
  int ahead = 0;
  int first = 0;
  int count = 1;
  friend bool operator==(const Reg&, const Reg&) = default;
};

/// What a memory instruction touches: element e of thread t is at place(origin + threads(t) + elements[e]).
struct Access {
  int tensor = -1;
  Layout threads;                         ///< thread -> coordinate, basis strides
  std::vector<std::vector<int>> elements; ///< [element][axis], beside the thread's coordinate
  std::vector<Sym> origin;                ///< [axis]
  std::vector<int> extents;               ///< [axis] of the tile that it is a part of
  std::vector<bool> masked; ///< [axis]: nothing is moved where the coordinate is outside the tensor
  int slot = 0;             ///< stage of LDS, counted from the current trip's
  int part = 0;             ///< of the stage: LoopSchedule::parts
  /// Only the threads that this maps to 0: one of those that hold the same. Absent: all.
  std::optional<Layout> idle;
  /// [axis]: the coordinate is what this use of the instruction holds (the index of a gather), or -1. Empty: no axis.
  std::vector<int> rows;
  CachePolicy cache{};

  [[nodiscard]] bool gathered(std::size_t axis) const { return axis < rows.size() && rows[axis] >= 0; }
  /// Along any axis.
  [[nodiscard]] bool gathered() const;
  /// Whether that thread takes part.
  [[nodiscard]] bool acts(int thread) const;
};

/// Runs only where `modulus` divides `size`, or only where it does not.
struct When {
  Sym size{};
  int modulus = 1;
  bool divides = true;
  friend bool operator==(const When&, const When&) = default;
};

struct Inst {
  InstKind kind = InstKind::fill;
  int op = -1; ///< number of the operation in the program, in the order of its text
  int ahead = 0;
  Reg def;
  std::vector<Reg> uses;
  Access access;
  const Atom* atom = nullptr;
  Expr map;
  Nan nan = Nan::kept;                    ///< map: MapOp::nan
  FastMath math{};                        ///< map: MapOp::math
  std::vector<std::vector<int>> position; ///< map: [element][axis] of the def's tile, beside `access.threads`
  Monoid monoid = Monoid::sum;
  std::optional<Monoid> combine; ///< store: CopyOp::combine
  int lane_mask = 0;
  int rank = 0, top = 0; ///< top
  bool place = false;    ///< likewise
  bool beside = false;   ///< top: what stands beside it, of the uses after those that have a `position`
  bool places = true;    ///< top: somebody asks for a place in its list, or for what stands beside an element
  int ticket = -1;       ///< ticket, acquire: of Program::tickets
  int turn = -1;         ///< await, signal, acquire: of Program::turns
  int print = -1;        ///< print: of Program::prints
  bool system = false;   ///< release, acquire: for all devices, not for this one's workgroups alone
  double value = 0;      ///< fill
  std::optional<When> when; ///< store: one of two versions, with vectors and without
  Waves waves;              ///< that run it: a role's
  int vm = -1, lgkm = -1;   ///< wait: at most that many under way; -1 says nothing about the queue
  int step = 0;             ///< of the matrix products of its operation that it feeds
  /// load, and the lds_write right after it: one instruction, memory to LDS, without registers, counted by vm.
  bool direct = false;
  bool joint = false; ///< waits that what follows needs, up to the next joint, are gathered here
  int phase = -1;     ///< of a ping-pong loop's trip: even ones multiply, odd ones access LDS and memory
  std::source_location where;
};

/// Registers that an operand of a matrix product comes in: 1, or 2 halves.
[[nodiscard]] std::size_t operand_parts(const Inst& inst);
/// Which side of the matrix products what is read of a tensor feeds, itself or as its scales: 0 the instruction's first
/// operand, 1 its second; -1: both. By tensor.
[[nodiscard]] std::map<int, int> operand_sides(const std::vector<Inst>& body);

struct Register {
  Element element = Element::f32;
  int count = 1;        ///< elements a lane
  bool outside = false; ///< lives across trips: defined outside of loops, or accumulated
};
/// How many uses from number `u` on are a whole register of several elements, one after the other, or 1: as vectors such are folded by
/// halves, (a0 + a2) + (a1 + a3), and single elements in order.
[[nodiscard]] std::size_t whole_register(const Inst& inst, std::size_t u,
                                         const std::vector<Register>& registers);
/// Instructions that a read of LDS is, which lgkm counts: Atom::lds_reads of its bits.
[[nodiscard]] int lds_reads(const Inst& inst, const std::vector<Register>& registers);

/// A region runs where a < b, or where not.
struct Guard {
  Condition condition;
  bool holds = true;
  friend bool operator==(const Guard&, const Guard&) = default;
};

/// A loop or what stands between loops.
struct Region {
  std::vector<Guard> guards; ///< all of them; those of branches around others first
  bool is_loop = false;
  std::vector<Inst> body;
  // of a loop
  Sym t{};
  Sym extent{};
  int tile = 1;
  Pipeline pipeline;
};
/// Whether a map only puts elements into another order: def[e] = uses[e], nothing rounded.
[[nodiscard]] bool renames(const Inst& inst, const std::vector<Register>& registers);

struct Graph {
  const Program* program = nullptr;
  std::vector<Register> registers;
  std::vector<Region> regions;
  /// One instruction a line, in program order: no waits, barriers and stages yet.
  [[nodiscard]] std::string text() const;
};

/// One entry a node of a loop, in the order in which a trip runs them.
struct Slot {
  int node = 0;
  int ahead = 0;
  bool joint = false; ///< waits are gathered before it (Inst::joint)
  int phase = -1;     ///< Inst::phase
};
struct LoopSchedule {
  std::vector<Slot> slots;
  bool tail_first = false; ///< iteration 0 is the last tile
  bool exact = false;      ///< the machine code has this order; otherwise it is LLVM's to change
  bool apart = false;      ///< tiles in LDS have waits and barriers of their own
  int phases = 0; ///< of a trip, with a barrier after each: the two halves of the waves are one phase apart
  /// [node]: parts of a stage in LDS, all its tiles together, that have waits and barriers of their own; accesses of different parts
  /// touch different places. Empty: a stage is one part.
  std::vector<int> parts{};
  /// Nodes of the region after the loop, loads that wait for nothing in it: they stand after the first products of the last trip.
  std::vector<int> early{};
};
struct Schedule {
  std::vector<LoopSchedule> loops; ///< one a loop, in order
};

struct CodeRegion {
  std::vector<Guard> guards; ///< Region::guards
  bool is_loop = false;
  std::vector<Inst> prologue, body, epilogue; ///< straight code is all `body`
  Sym trip{};  ///< the number j of a trip, 0 <= j < trips - 1; the epilogue is the last one
  Sym trips{}; ///< ceil_div(extent, tile)
  Sym extent{};
  int tile = 1;
  int ring = 1;
  bool tail_first = false;
  bool exact = false; ///< LoopSchedule::exact
  bool apart = false; ///< LoopSchedule::apart
  int phases = 0;     ///< LoopSchedule::phases
  /// Numbers in `body` in the order in which the upper half of the waves runs them: a second copy of the loop, with the same
  /// instructions, waits and barriers among them, so that both halves leave it in the same state. Empty: all waves run `body`.
  std::vector<int> staggered;
};
struct Code {
  const Program* program = nullptr;
  std::vector<Register> registers;
  std::vector<CodeRegion> regions;
  /// One instruction a line.
  [[nodiscard]] std::string text() const;
};

/// How many stages of each tile in LDS the code uses, by tensor.
[[nodiscard]] std::map<int, int> lds_stages(const Code& code);

/// Errors: CodegenError for what no instruction of the target does.
[[nodiscard]] Graph expand(const Program& program);
/// Loads run `distance` trips ahead, writes to LDS ring - 1, the reads that feed the first step of matrix products one,
/// everything else none; reads stand one step before the products that they feed.
[[nodiscard]] Schedule default_schedule(const Graph& graph);
/// Errors: CodegenError for a loop that is to be staggered, or in ping-pong, and cannot be (Pipeline::stagger, pingpong).
[[nodiscard]] Code apply(const Graph& graph, const Schedule& schedule);
/// Waits and barriers of `code` anew, and other orders of staggered loops; what `apply` ends with. Ensures: every register is
/// waited for before it is used.
void place_order(Code& code);

} // namespace inlay::codegen
