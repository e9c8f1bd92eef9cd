/// The order of a loop: what it has to respect, who chooses it, and what it costs in registers.
///
///     std::vector<Edge> edges = edges_of(region, graph.registers);      // from, to, distance, kind: data
///     Schedule schedule = modulo_schedule(graph);                       // stage and slot of each instruction
///     violated(edges, schedule.loops[0])                                // none
///     std::vector<Lifetime> live = lifetimes(region, graph.registers, schedule.loops[0]);
///
/// **Edges.** Instruction `to` of iteration i + distance stands after instruction `from` of iteration i. In a loop whose
/// trip j runs node n for iteration j + ahead(n), at slot s(n), that is an inequality between pairs:
///
///     (-ahead(from), s(from))  <  (distance - ahead(to), s(to))        in lexicographic order
///
/// The running example, a GEMM with two stages of LDS: load -> write (value, 0), write -> read (arrived, 0),
/// read -> write (free, 2: the stage is used again two iterations later), read -> product (value, 0), product -> product on
/// one accumulator (accumulated, 0; from the last to the first, 1). Edges of kind `arrived` and `free` join waves: waits and
/// a barrier have to stand between, which `apply` places and provenance demands.
///
/// **The modulo scheduler** gives each matrix instruction of a trip a slot in program order, and puts the memory
/// instructions into the gaps between them. A trip has as many windows as steps of products. The reads of a step stand
/// `lead` windows before it, spread over one window; all accesses to one iteration's stage of LDS lie inside one trip's
/// length from the first read on, so one barrier, where that window begins, separates writers from readers both ways; writes lie one trip
/// before the reads, and each write is followed by a load into the same register, one trip under way, or two to four where a trip is
/// short beside memory's latency. At the end of a window there is a rest without LDS accesses, so that the wait after it
/// finds them done. Waits are gathered at the start of the windows. Of the leads from a whole trip down to one window
/// the first is taken whose registers fit beside as many waves as LDS lets in; with transfers, one that leaves registers for the first
/// tile's masked addresses before any other. `Pipeline::depth` says otherwise. Where rows come from LDS and columns straight from memory, the products
/// of a window are in groups of rows, each by all columns, so that a read is alive for its group alone.
///
/// **Tiles apart.** Two tiles that transfers (memory to LDS, no registers) bring into a ring of two stages would have to
/// begin and arrive within one trip. So each has a half of the trip for its reads, and in the other half, after a barrier, its stage
/// is filled again: transfers are spread over the whole trip and under way for one at least. Two waits and two barriers a trip; where
/// registers suffice, also for the masked addresses of the first tile.
///
/// **Operands in turn.** The same two tiles, products by quarters of the tile: a read stands after the last product that used its
/// register for the iteration before, so registers hold one tile of operands; its place in LDS is two parts, and a barrier hands one on
/// while it frees the other. Three barriers a trip. Taken before tiles apart, where LDS has time for the reads (schedule/turns.h).
///
/// **Scaled sums** (c += s * p, p a short sum of products) are blocks as well: the sums of four results stand among the products of
/// the next four, what comes from memory is under way for one trip, transfers for two, scales for `ring`, with one wait a trip.
///
/// **Loops with arithmetic** (a softmax between two products, scaled results) have their products at even distances over the
/// trip and everything else in the gaps, each instruction with its own number of trips ahead.
///
/// Order is deterministic: it depends on the graph and the target alone.
///
/// Sources: B. R. Rau, "Iterative Modulo Scheduling", MICRO 1994 (edges with distances, slots modulo the length of a trip);
/// "AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapter 4.4 (s_waitcnt).
#pragma once

#include <inlay/codegen/code.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inlay::codegen {

enum class EdgeKind : std::uint8_t {
  value,       ///< a register is written, then read
  accumulated, ///< two products into one accumulator, or two accesses to a register that lives across trips
  arrived,     ///< LDS is written, then read, by other waves too
  free         ///< LDS is read, then written again, by other waves too
};
[[nodiscard]] const char* to_string(EdgeKind kind);

struct Edge {
  int from = 0, to = 0; ///< numbers of instructions in the region's body
  int distance = 0;     ///< in iterations
  EdgeKind kind = EdgeKind::value;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// Everything that an order of the loop has to respect. `parts`: LoopSchedule::parts, between which `arrived` and `free` say nothing.
/// Ensures: the order of the program, nothing ahead, respects them all.
[[nodiscard]] std::vector<Edge> edges_of(const Region& loop, const std::vector<Register>& registers,
                                         const std::vector<int>& parts = {});
/// [node]: numbers of the sets of accesses to LDS that share no place with those of other sets, of any stage; -1: no access to LDS.
[[nodiscard]] std::vector<int> lds_parts(const Region& loop, const Program& program);
/// The first edge that the schedule turns around.
[[nodiscard]] std::optional<Edge> violated(const std::vector<Edge>& edges, const LoopSchedule& schedule);

/// What the scheduler knows about a target: clocks.
struct Latencies {
  int lds = 64;     ///< from the issue of a read to its data, with its service, nobody else there
  int memory = 700; ///< from the issue of a load to its data
  const char* source = "";
  [[nodiscard]] static const Latencies& of(const Target& target);
};

/// Registers that are the second half of an operand, with the first: they lie one after another.
[[nodiscard]] std::map<int, int> second_halves(const std::vector<Inst>& body);

/// From the instruction that writes a register to the last one that reads it, both included, for one iteration; in slots,
/// counted from the start of the trip in which the iteration's nodes with ahead 0 run. Halves of an operand are one life, that
/// of the first one's register.
struct Lifetime {
  int reg = -1;
  int dwords = 0;
  int begin = 0, end = 0;
};
[[nodiscard]] std::vector<Lifetime> lifetimes(const Region& loop, const std::vector<Register>& registers,
                                              const LoopSchedule& schedule);
/// A loop of the code as a region and the order of its numbers in `nodes`, waits and barriers among them, so that the same
/// functions count its registers.
[[nodiscard]] std::pair<Region, LoopSchedule> as_region(const CodeRegion& loop,
                                                        const std::vector<int>& nodes);
/// 0, 1, .. for each instruction of a body.
[[nodiscard]] std::vector<int> own_order(const std::vector<Inst>& body);
/// Dwords a lane that are alive at each slot of a trip, beside what lives across trips.
[[nodiscard]] std::vector<int> pressure(const std::vector<Lifetime>& lives, int slots);
/// Dwords a lane of what lives across trips: accumulators.
[[nodiscard]] int accumulators(const Region& loop, const std::vector<Register>& registers);
[[nodiscard]] int dwords(const Register& reg);

/// Places for the registers of a loop: a register and a copy of the trip have one, in dwords from 0 on.
struct Rings {
  int copies = 1;                           ///< of the trip: iteration i lives in copy i % copies
  int dwords = 0;                           ///< that they take altogether
  std::map<std::pair<int, int>, int> place; ///< (register, copy) -> first dword, aligned to its size
};
/// VGPRs beside a block that has its prologue: the work-item, and what a store's address begins with.
inline constexpr int prologue_spare = 2;
/// Waves of one workgroup on a SIMD: their registers have to fit at once.
[[nodiscard]] int waves_at_once(const Program& program);
/// Dwords of the widest operand of a product: places in both files begin at a multiple of it.
inline constexpr int widest_operand = 8;
/// At most as many for a loop as a block, which has one body and one exit for each copy.
inline constexpr int most_copies = 6;
/// First fit of the lifetimes on the circle of `copies` trips, the best of several places to begin; copies is the smallest
/// multiple of `ring` with room for the longest life. At least `pressure`, at most a little more.
/// Ensures: no two lives share a dword at any slot.
[[nodiscard]] Rings ring_registers(const std::vector<Lifetime>& lives, int slots, int ring);
/// Where the stages of tiles are in one block of LDS, in bytes: one stage of all tiles after the other, or `by_tile` the stages of a
/// tile: within the 64 KiB of an immediate one register then reaches them (loops in phases). `stages`: lds_stages.
/// Ensures: (tensor, stage) -> a multiple of 16.
[[nodiscard]] std::map<std::pair<int, int>, int> lds_places(const Program& program,
                                                            const std::map<int, int>& stages, bool by_tile);
/// Bytes that a register reaches in LDS: 64 KiB, less what the last instruction of a read has in its immediate beyond the first one's.
[[nodiscard]] int lds_reach(Element element);
/// VGPRs that the addresses of a loop's accesses take beside them: as many as its text names, and what lives beside.
[[nodiscard]] int address_registers(const std::vector<Inst>& body, const Program& program,
                                    const std::map<int, int>& stages);
/// What of the above is an address of a load.
[[nodiscard]] int load_addresses(const std::vector<Inst>& body, const Program& program);

enum class Scheduler : std::uint8_t { plain, modulo };
/// `default`, `modulo`. Errors: CodegenError naming what there is.
[[nodiscard]] Scheduler parse_scheduler(const std::string& name);
[[nodiscard]] const char* to_string(Scheduler scheduler);

/// Loops of loads, LDS, matrix products and arithmetic; others (a tile in LDS that the trip computes) as `default_schedule`
/// has them.
/// Ensures: no edge is violated; what it scheduled is `exact`.
[[nodiscard]] Schedule modulo_schedule(const Graph& graph);
/// With the pins of the program (Pipeline::pins) held. Errors: CodegenError for pins that name nothing, that an edge forbids, or
/// that are for a loop whose order is LLVM's; for a depth (Pipeline::depth) that registers do not allow, with their number.
[[nodiscard]] Schedule schedule_with(Scheduler scheduler, const Graph& graph);
/// The order with the pins of the loop held and everything else as it was; a pinned access may belong to another iteration
/// than before. Ensures: no edge is violated.
[[nodiscard]] LoopSchedule pinned(const Region& loop, const std::vector<Register>& registers,
                                  const Program& program, LoopSchedule order);

/// The loops of the code as slots, one a line: number, matrix clock, instruction, iteration, dwords alive; and a line that sums up.
[[nodiscard]] std::string show_schedule(const Code& code);
/// The same as a picture (SVG): a row for each resource over the matrix clocks of a trip, waits and barriers as lines through them, the
/// registers below; each slot says when pointed at what the text says of it.
[[nodiscard]] std::string schedule_svg(const Code& code);

} // namespace inlay::codegen
