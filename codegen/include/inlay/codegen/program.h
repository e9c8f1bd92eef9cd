/// `Program`: a kernel as tiles and operations on them, and the index expression that it computes.
///
/// A program says nothing about waits, barriers, stages, registers or addresses: it is sequential, and every address is
/// a view's. From it `expand` (code.h) makes instructions, `provenance.h` what each place holds, and `emit_ir.h` LLVM IR.
/// The running example is a GEMM of 128 x 128 tiles:
///
///     Program k("gemm", target, 256);
///     Sym M = k.size("m"), N = k.size("n"), K = k.size("k", {.multiple = 8});
///     Tensor C = k.output("c", f16, {M, N}), A = k.input("a", f16, {M, K}), B = k.input("b", f16, {N, K});
///     k.computes(C, [&](auto& c) { return k.sum(K, [&](Sym i) { return k(A, {c[0], i}) * k(B, {c[1], i}); }); });
///     Sym bn = k.workgroups(0, N, 128), bm = k.workgroups(1, M, 128);
///     Tensor a = k.lds("a", f16, {128, 64}, swizzle), b = k.lds("b", f16, {128, 64}, swizzle);
///     Fragment acc = k.zeros(Element::f32, mma.c(), {128, 128});
///     k.loop(K, 64, {.distance = 2, .ring = 2}, [&](Sym t) {
///       k.copy(k.tile(A, {128, 64}, {bm, t}), a, by_rows, 8);
///       k.copy(k.tile(B, {128, 64}, {bn, t}), b, by_rows, 8);
///       Fragment of_a = k.read(a, mma.a(), 8), of_b = k.read(b, mma.b(), 8);
///       k.mma(acc, of_a, of_b, mma);
///     });
///     k.store(acc, k.tile(C, {128, 128}, {bm, bn}), 4);
///
/// Sizes are symbols with declared facts (range, multiple), which the launch contract checks; everything proven is
/// proven for all sizes that satisfy them. Each operation carries the line of the specification that wrote it.
///
/// A program cannot be half wrong quietly: `derive` (provenance.h) refuses it, with the operation, the line and a
/// counterexample, when what the stores write is not the index expression.
#pragma once

#include <inlay/codegen/atoms.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/expression.h>
#include <inlay/codegen/mma_tiling.h>
#include <inlay/codegen/tile_order.h>
#include <inlay/codegen/view.h>

#include <functional>
#include <optional>
#include <source_location>
#include <variant>

namespace inlay::codegen {

/// What the launch promises about a size.
struct SizeFacts {
  std::int64_t least = 1;
  std::int64_t most = INT32_MAX;
  std::int64_t multiple = 1;
};
struct Size {
  std::string name;
  Sym symbol{};
  SizeFacts facts;
};

/// An argument of the kernel: the address of a tensor, 8 bytes, or a size, 4 bytes.
struct KernelArgument {
  const Tensor* tensor = nullptr; ///< or
  const Size* size = nullptr;
  [[nodiscard]] const std::string& name() const { return tensor ? tensor->name : size->name; }
  [[nodiscard]] int bytes() const { return tensor ? 8 : 4; }
};

/// A grid axis: 0 <= symbol < ceil_div(extent, tile) workgroups.
struct GridAxis {
  int axis = 0;
  Sym symbol{};
  Sym extent{};
  int tile = 1;
};

/// A place in the order of a loop that the specification fixes: access `number` (from 0, in the order of the program) of
/// `tensor` stands right after matrix product `behind` of the trip, with nothing but what is pinned there too between
/// them; -1 for its start.
struct Pin {
  enum class Access : std::uint8_t { load, read, write }; ///< from memory; from and to LDS
  Access access = Access::load;
  std::string tensor;
  int number = 0;
  int behind = 0;
};

/// `load a 0 after 5, read lds_b 3 after 17, write lds_a 1 after -1`; nothing for an empty text.
/// Errors: CodegenError.
[[nodiscard]] std::vector<Pin> parse_pins(const std::string& text);
[[nodiscard]] std::string to_string(const Pin& pin);

/// How deep the modulo scheduler pipelines a loop, where the specification says so; 0: its own choice. A window is a step of a
/// trip's products, or a quarter of the trip where there is one step and `lead` is given.
struct Depth {
  int waves = 0;  ///< a SIMD, for which registers are to suffice
  int lead = 0;   ///< windows from a read of LDS to the products that it feeds
  int within = 0; ///< of a trip, in percent from its start: where reads, writes and transfers to LDS stand
  /// Where in a window, in percent from its start, LDS-bypassing loads issue; earlier hides more latency but holds registers longer.
  /// 0: after the last product that reads what they replace.
  int loads = 0;
  int trips = 0; ///< that loads are under way
  /// A trip, where transfers fill two stages: 1 for all that an iteration shares, 2 with tiles apart, 3 with operands read in turn.
  int barriers = 0;
  [[nodiscard]] bool given() const { return !(*this == Depth{}); }
  friend bool operator==(const Depth&, const Depth&) = default;
};

/// `waves 1, lead 5, within 50, trips 3`, any of them, or `barriers 2`; nothing for an empty text. Errors: CodegenError.
[[nodiscard]] Depth parse_depth(const std::string& text);
[[nodiscard]] std::string to_string(const Depth& depth);

/// How a loop may be pipelined; it changes nothing of what the program means. `ring` stages of LDS; the loads from
/// memory run `distance` trips ahead.
struct Pipeline {
  int distance = 2;
  int ring = 2;
  std::vector<Pin> pins{};
  Depth depth{};
  bool stagger = false;  ///< the upper half of the waves has another order (CodeRegion::staggered)
  bool pingpong = false; ///< the upper half of the waves is a phase behind (CodeRegion::phases)
};

struct Op;

/// Moves a tile. Exactly one source and one destination, each a view (memory, LDS) or a fragment (registers).
struct CopyOp {
  std::optional<View> from, to;
  int from_fragment = -1, to_fragment = -1;
  Layout tv;                     ///< (thread, value) -> coordinate of the tile
  int vector = 1;                ///< adjacent values that one instruction moves
  bool direct = false;           ///< memory to LDS without registers
  std::optional<Monoid> combine; ///< memory: with what is there, by an atomic, and not in its place
};
/// acc(m,n) += sum over k of a(m,k) b(n,k), tile by tile of the instruction; with scales, of
/// a(m,k) sa(m,k/32) b(n,k) sb(n,k/32).
struct MmaOp {
  int acc = -1, a = -1, b = -1;
  MmaTiling mma;
  int a_scales = -1, b_scales = -1;
};
struct FillOp {
  int to = -1;
  double value = 0;
};
/// What of a map's arithmetic need not be operation by operation as IEEE 754 rounds it. Claims are of real numbers and do not see it; the
/// program's text says what was asked for.
struct FastMath {
  bool contract = true; ///< a product and the sum that it is a term of are one instruction, rounded once
  bool approximate =
      true; ///< quotients and roots are the hardware's, within 1 ulp of 1 / x and of the root; else rounded correctly
  bool reassociate =
      false; ///< sums and products of four or more by halves, (a + b) + (c + d), else as written
  friend bool operator==(const FastMath&, const FastMath&) = default;
};
/// to(x) = map(from[0](x), from[1](x), ...) at each coordinate; an operand of extent 1 along an axis is broadcast. `to` may
/// be one of them: a value that a loop carries on.
struct MapOp {
  int to = -1;
  std::vector<int> from;
  Expr map;
  Nan nan = Nan::kept;
  FastMath math{};
};
/// to(...) = fold of from along `axis`, over all its coordinates; every thread gets the result.
struct FoldOp {
  int to = -1, from = -1;
  Monoid monoid = Monoid::sum;
  int axis = 0;
  int exchange = -1; ///< the LDS tensor through which waves exchange their parts, -1 when one wave has all
  int prefix =
      -1; ///< prefix(x) = the fold up to x, a fragment laid out like `from`; -1: nobody asks (Program::scan)
};
/// to(...) = element number `rank` of the `count` greatest of from along the axes, of equal ones that of the least place first, or its place
/// (Expressions::top), or what `beside` has there; every thread gets the result. Along the axes a row lies in one wave.
struct TopOp {
  int to = -1, from = -1;
  std::vector<int> axes;
  int rank = 0, count = 1;
  bool place = false;
  int beside = -1;        ///< a fragment laid out like `from`
  bool of_beside = false; ///< what that has
};
/// A bit of the lane's number and a bit of the value's change places, as masks.
struct LaneExchange {
  int lane = 1, value = 1;
};
/// to(x) = from(x) with the elements in other lanes of the wave: the exchanges, one after the other, and value w of the
/// result is value[w] of what they leave.
struct RelayoutOp {
  int to = -1, from = -1;
  std::vector<LaneExchange> exchanges;
  std::vector<int> values;
  Nan nan = Nan::kept;
};
/// for (t = 0; t < ceil_div(extent, tile); ++t) body. The extent is a size, a number of whole tiles, or min(a, b): a size from
/// where the workgroup begins (`K - 1024*split`), and an end of whole tiles (`128*(wg_x + 1)`, the diagonal; 1024, a part).
/// Loops follow one another; those over one size have one tile. What a loop stores are tiles that follow one another along
/// one axis of the output, all of it or the workgroup's part. A loop may hold loops: its trips then follow one another, none of
/// their instructions before what stands before them, and what it carries from trip to trip lives in fragments made before it.
struct LoopOp {
  Sym t{};
  Sym extent{};
  int tile = 1;
  Pipeline pipeline;
  std::vector<Op> body;
};

/// a < b, the same for all of a workgroup: formulas in sizes, workgroups' numbers and `uniform`s.
struct Condition {
  Sym a{}, b{};
  friend bool operator==(const Condition&, const Condition&) = default;
};
/// if (condition) then; else otherwise. Outside of loops; both may hold loops. What lives on after it are the stores of the
/// branch that is taken, and the fragments that it updates.
struct IfOp {
  Condition condition;
  std::vector<Op> then, otherwise;
};

/// Some of a workgroup's waves, one after the other; none of them means all.
struct Waves {
  int first = 0, count = 0;
  [[nodiscard]] bool all() const { return count == 0; }
  [[nodiscard]] bool contains(int wave) const { return all() || (wave >= first && wave < first + count); }
  friend bool operator==(const Waves&, const Waves&) = default;
};
/// Groups of waves that do different things: each role's operations run on its waves alone. In between stands what the program
/// says: what a role writes to LDS, the roles after it may read.
struct RolesOp {
  struct Role {
    std::string name;
    Waves waves;
    std::vector<Op> body;
  };
  std::vector<Role> roles;
};

/// The workgroups that differ in their number along one grid axis alone draw numbers, 0, 1, 2, ... in the order in which they
/// come here. Who draws the last one may read what all of them stored before. Outside of loops and branches.
struct TicketOp {
  int ticket = 0; ///< of Program::tickets
};
struct Ticket {
  Sym symbol{};      ///< the number that was drawn
  int tensor = -1;   ///< one counter for each such group, by the workgroup's numbers along the other axes
  int axis = 0;      ///< of the grid
  int exchange = -1; ///< the LDS tensor through which one work-item tells the others
};

/// The workgroups that differ in their number along one grid axis alone take turns, in the order of that number: `await` waits
/// until all with a lower number have signalled, `signal` passes the turn on. Outside of loops and branches.
struct AwaitOp {
  int turn = 0; ///< of Program::turns
};
struct SignalOp {
  int turn = 0;
};
struct Turn {
  int tensor =
      -1; ///< whose turn it is, one word for each such group, by the workgroup's numbers along the other axes
  int axis = 0; ///< of the grid
};

/// Several devices run the program together, each a launch of its own, of as many workgroups. At a meeting the workgroups of one
/// number, one on each device, wait for one another. Outside of loops and branches.
struct MeetOp {};
struct Devices {
  int count = 0;          ///< 0: one, by itself
  Sym rank{};             ///< this one's number, from 0: a size of the launch
  std::string name;       ///< of the flags; empty before the first meeting
  std::vector<int> flags; ///< tensors, one a device: [workgroup, .., device], how often it was there
};

/// One launch for many problems, each with tensors and some sizes of its own (Program::problems).
struct Problems {
  Sym count{}; ///< a size of the launch; none: one problem
  /// A size that each problem has, and the table that holds them, i32. As an argument the size is the largest of them.
  struct Own {
    Sym size{};
    int table = -1;
  };
  std::vector<Own> sizes;
  std::source_location where;
  [[nodiscard]] bool there() const { return !sizes.empty(); }
};

/// The launch ends where an element of the fragment, i32, is 0.
struct CheckOp {
  int of = -1;
  int assertion = 0; ///< of Program::assertions
};
/// What `Program::check` says, and where.
struct Assertion {
  std::string text;
  std::source_location where;
};

/// A line is printed for each element that a thread is the first to hold and whose element of the fragment `when`, i32, is not 0 (-1: each).
struct PrintOp {
  int when = -1;
  std::vector<int> values; ///< fragments, i32 or f32, laid out like `when`
  int line = 0;            ///< of Program::prints
};
/// What `Program::print` says: a value in the place of each `{}`.
struct PrintLine {
  std::string text;
  std::source_location where;
};

/// A number of the workgroup that is read from memory: symbol = tensor[at].
struct Uniform {
  Sym symbol{};
  int tensor = -1;
  Sym at{};
  std::source_location where;
};

/// The same in a specification, where `at` may depend on the coordinate: symbol = tensor[at].
struct Entry {
  Sym symbol{};
  int tensor = -1;
  Sym at{};
};

struct Op {
  using What = std::variant<CopyOp, MmaOp, FillOp, MapOp, FoldOp, TopOp, RelayoutOp, LoopOp, IfOp, RolesOp,
                            TicketOp, AwaitOp, SignalOp, MeetOp, CheckOp, PrintOp>;
  What what;
  std::source_location where;
};
/// Calls f for every operation, those inside of loops, branches and roles too, in the order of the text.
void each_op(const std::vector<Op>& ops, const std::function<void(const Op&)>& f);

/// The two ends of an extent that is the least of two, `min(n, 64*(wg_x + 1))`; absent for others.
[[nodiscard]] std::optional<std::pair<Sym, Sym>> least_of(Sym extent);

/// The numbers that the tiles of an extent may have: 0 <= i < ceil_div(extent, tile).
[[nodiscard]] Interval tile_numbers(Sym extent, int tile);

class Program {
public:
  Program(std::string name, const Target& target, int threads,
          std::source_location where = std::source_location::current());
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;

  /// @name Sizes, grid, tensors
  /// @{
  Sym size(const std::string& name, SizeFacts facts = {});
  /// The number of this workgroup along a grid axis; there are ceil_div(extent, tile).
  Sym workgroups(int axis, Sym extent, int tile);
  /// Another workgroup for each tile; it changes nothing of what the program means. Requires: grid axes 0 and 1; a third
  /// one is as it was. Errors: CodegenError for grids that may be too large.
  void order_tiles(const TileOrder& order);
  /// A part of a tile's sum over an extent: trips `begin` <= i < `begin` + `count` of `tile`.
  struct Share {
    Sym begin{}, count{};
  };
  /// All tiles of grid axes 0 and 1, shared out among `workers` workgroups trip by trip of a loop over `extent` (stream-K;
  /// `Shares`): each workgroup runs the program once for each tile that it has a share of. The sums over a share are added to the
  /// output: `k.loop(min(extent - tile begin, tile count), tile, ...)` over tiles `begin + trip`, and `add`. Requires: a complete
  /// grid of two axes; no tickets and turns, which count workgroups along an axis. It is a condition of the launch that there are
  /// at most 2^30 trips in all. Errors: CodegenError.
  Share share(int workers, Sym extent, int tile);
  /// The same in whole tiles: `workers` workgroups walk over all tiles of the grid, tile w, w + workers, w + 2 workers, ... for
  /// workgroup w (a persistent kernel), and each runs the program once for each of its tiles, with all that it says: uniforms, branches,
  /// loops, stores. Nothing but memory goes from tile to tile. Requires: as `share`; a grid of one axis is one of two.
  void persistent(int workers);
  /// One launch for many problems (a grouped GEMM by pointers): workgroup (x, y, z) runs the program for problem z, whose tensors lie where
  /// tables of pointers say, and whose `own` sizes are in tables; other sizes all problems share. For each tensor the launch has the
  /// table NAME_at, i64, and for each own size NAME_of, i32, with an entry a problem; `count` is how many there are, and NAME itself the
  /// largest, by which the grid is made. A workgroup without a tile of its problem ends at once, so that a size of 0 is nothing
  /// to do, and its pointers are not looked at. Everything that is proved of the program is proved of each problem, as that is for all
  /// sizes and wherever tensors lie; what a problem's size has to be a workgroup checks that has a tile (s_trap, as `check`), and what
  /// pointers point to is the caller's to say. Requires: the grid, of axes 0 and 1, without an order of tiles; no shares, tickets, turns,
  /// devices, uniforms. Example: `k.problems("groups", {M})` after the GEMM above. Errors: CodegenError.
  void problems(const std::string& count, const std::vector<Sym>& own,
                std::source_location where = std::source_location::current());
  /// A limit on registers: as many waves have room on a SIMD, 1 to 8, so that a work-item has 512 / waves of them, and loops are ordered
  /// for that. It changes nothing of what the program means. What does not fit, `build` refuses, with what registers and LDS leave.
  /// Errors: CodegenError for another number, and the second time.
  void waves_per_simd(int waves, std::source_location where = std::source_location::current());
  /// table[at], the same for the workgroup: the expert of a block of rows. As an origin it is taken alone, and where it is
  /// no index of the tensor, the elements read as 0; elsewhere, as a bound, it is a condition of the launch that the table holds
  /// nothing negative (and of i64, nothing of 2^31 or more). With a constant `at` it may stand in specifications. Requires: a
  /// tensor of i32 or i64 with one axis.
  Sym uniform(const Tensor& table, Sym at, std::source_location where = std::source_location::current());
  /// A tensor in memory. `place`: coordinate -> element number, row-major when absent. Of i64, as torch has indices: a table of
  /// rows or of numbers, whose entries count as what they are, so that 2^32 + 3 is no row of a tensor, and not row 3; in maps
  /// and specifications integer(x), the nearest number of 32 bits; and a result, an i32 with its sign. In memory alone.
  Tensor input(const std::string& name, Element element, std::vector<Sym> shape,
               std::optional<SymLayout> place = {});
  Tensor output(const std::string& name, Element element, std::vector<Sym> shape,
                std::optional<SymLayout> place = {});
  /// An output that holds an input before the launch: in its specification it is what was there. A workgroup may read what it
  /// alone writes, until it writes it.
  Tensor inout(const std::string& name, Element element, std::vector<Sym> shape,
               std::optional<SymLayout> place = {});
  /// A cache of pages, looked at by position: a tensor without memory. Of a cache [P, page, ...] and a table [S, pages] of i32 or i64,
  ///
  ///     paged(s, i, ...) = cache(table(s, i / page), i % page, ...),        0 where the table names no page
  ///
  /// has the shape [S, page * pages, ...]; the table may have other axes before its last one, or none. It is loaded and copied like
  /// an input, in tiles of whole pages of one sequence, or parts of one: the numbers of the pages are loaded before the rows that they name, and claims
  /// see the position `i` alone. Example: `k.paged("keys", k.input("k", bf16, {P, 16, H, D}), T)`.
  /// Source: Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023.
  /// Errors: CodegenError for a cache or a table that is none, and a page whose length is no number.
  Tensor paged(const std::string& name, const Tensor& cache, const Tensor& table);
  /// An input looked at from elsewhere, with zeros around it (im2col by views): a tensor without memory,
  ///
  ///     window(c) = of(origin + sum of step * digit of c),        0 where that is outside of `of`
  ///
  /// An axis of the window has an extent and its digits, `{extent, axis of the input, step}`, the first one fastest. It is loaded and
  /// copied like an input; claims and the specification see its coordinates alone. What lies outside is compared, as unsigned, for
  /// every axis that may be left. Examples: the next element, `k.window("next", X, {{n, {{n, 0}}}}, {1})`; the taps of a convolution
  /// R x S with stride 2 and padding 1 beside its pixels,
  ///
  ///     k.window("taps", X, {{N * P * Q, {{Q, 2, 2}, {P, 1, 2}, {N, 0}}}, {R * S * C, {{C, 3}, {S, 2}, {R, 1}}}}, {0, -1, -1, 0})
  ///
  /// Source: Chellapilla, Puri, Simard, "High Performance Convolutional Neural Networks for Document Processing", 2006 (im2col).
  /// Errors: CodegenError for what is no input of elements of 8 bits or more with one mode an axis, for other numbers of axes, for
  /// an axis without digits.
  Tensor window(const std::string& name, const Tensor& of, std::vector<WindowAxis> axes,
                std::vector<Sym> origin);
  /// `count` devices run the program together, each a launch of its own with the same sizes but its `rank`, 0 to count - 1, the size
  /// that this gives. Errors: CodegenError for less than 2 or more than 64, twice, and where the target's stores have no scope (MI200).
  Sym devices(int count);
  /// An input of every device, in the memory of each: `name_0` to `name_(count - 1)`, arguments of all of them in the same order. They may be
  /// loaded between two meetings. What the devices compute in common is what none of their specifications has `rank` in:
  ///
  ///     const Sym rank = k.devices(4);
  ///     const std::vector<Tensor> x = k.peers("x", bf16, {n});
  ///     k.computes(y, [&](const auto& c) { return k(x[0], {c[0]}) + k(x[1], {c[0]}) + k(x[2], {c[0]}) + k(x[3], {c[0]}); });
  ///
  /// Errors: CodegenError before `devices`.
  std::vector<Tensor> peers(const std::string& name, Element element, std::vector<Sym> shape,
                            std::optional<SymLayout> place = {});
  /// An input whose tiles are loaded by addresses of 64 bits in each lane, however far apart their rows or the tiles of two trips are. Where
  /// offsets into it fit 31 bits, a descriptor is faster: no masks, and transfers. Rows that a table names (`through`) need no word:
  /// they are loaded so wherever the tensor may have 2 GiB. Errors: CodegenError for an output, a tile in LDS, elements below 8 bits.
  void far(const Tensor& tensor);
  /// A tile in LDS, row-major under `swizzle` (on element numbers), rows `padding` elements apart more than needed.
  Tensor lds(const std::string& name, Element element, const std::vector<int>& shape,
             const Swizzle& swizzle = {}, int padding = 0);
  /// A tile in LDS with a place of its own: coordinate -> element number, under `swizzle`.
  Tensor lds(const std::string& name, Element element, const std::vector<int>& shape, SymLayout place,
             const Swizzle& swizzle = {});
  /// @}

  /// @name The specification
  /// @{
  Expr operator()(const Tensor& tensor, std::initializer_list<Index> index);
  /// table[first, ...] as an index, one number for each axis of the table: `k(X, {k.at(ids, c[0]), i})`,
  /// `k(K, {k.at(pages, s, floor_div(i, 16)), floor_mod(i, 16)})`. An entry is its number, row by row: what passes an inner axis is in
  /// the next row. Requires: i32 or i64. Errors: CodegenError for a table of other axes.
  template <class... More>
  [[nodiscard]] static Index at(const Tensor& table, Sym first, More... more) {
    return {entry(table, {first, Sym(more)...}), table.id};
  }
  /// The number of an entry of a tensor, row by row: `entry(t, {i, j})` of (m,n) is i n + j.
  [[nodiscard]] static Sym entry(const Tensor& table, const std::vector<Sym>& at);
  /// table[at] as a number, where `at` may be made of the coordinates: `inside(i, k.value(lengths, c[0]), x(i), 0)`. What a workgroup
  /// stores is held against it where it has read that entry itself, as `k.uniform(lengths, s)`. Requires: as `uniform`.
  Sym value(const Tensor& table, Sym at);
  Expr number(Sym value) { return expressions_->number(value); }
  Expr constant(double value) { return expressions_->constant(value); }
  /// An integer modulo 2^32; beside integers, numbers in C++ become that.
  Expr integer(std::int64_t value) { return expressions_->integer(value); }
  Expr fold(Monoid monoid, Sym extent, const std::function<Expr(Sym)>& body);
  /// The `count` greatest of body({i, ..}) over the extents, of equal ones that of the least place first, and their places:
  /// `k.top(8, {N}, [&](const auto& i) { return k(X, {r, i[0]}); })`. See Expressions::top.
  TopOf top(int count, const std::vector<Sym>& extents,
            const std::function<Expr(const std::vector<Sym>&)>& body);
  /// body where it stands at a place of `top` over the same extents.
  Expr at_place(Expr place, const std::vector<Sym>& extents,
                const std::function<Expr(const std::vector<Sym>&)>& body);
  Expr sum(Sym extent, const std::function<Expr(Sym)>& body) { return fold(Monoid::sum, extent, body); }
  /// A part of it: the sum of body(i) over begin <= i < end, i < extent.
  Expr sum(Sym extent, Sym begin, Sym end, const std::function<Expr(Sym)>& body);
  /// tensor(i, j, ...) = body({i, j, ...}) for all coordinates. An integer (expression.h) is stored as i32 or,
  /// with its sign, as i64.
  void computes(const Tensor& tensor, const std::function<Expr(const std::vector<Sym>&)>& body);
  /// tensor(r, j, ...) = sum of body({s, j, ...}) over the entries s of a table with table(s) = r: rows that are added to where
  /// they are named, as often as they are. An entry that is no row of the tensor counts nowhere.
  void scatters(const Tensor& tensor, const Tensor& table,
                const std::function<Expr(const std::vector<Sym>&)>& body);
  /// tensor(table(s), j, ...) = body({s, j, ...}) for every entry s of a table: rows that are stored where they are named, as
  /// `numpy.put` and `torch.Tensor.index_copy_` do. A row that no entry names keeps what it held, so the tensor is an `inout`; an entry
  /// that is no row of it is skipped. It is a condition of the launch, the caller's, that no two entries name one row: two workgroups
  /// would store it, which the emulator's check of races reports. The kernel reads nothing of the tensor. What is stored goes to
  /// `k.tile(Y, ..).through(0, entries)`, or to a tile at row `k.uniform(table, s)`, whose base has 64 bits. Example:
  ///
  ///     k.puts(Y, slots, [&](const auto& c) { return k(X, {c[0], c[1]}); });
  ///     k.store(k.load(k.tile(X, {1, 512}, {token, part}), tv, 8), k.tile(Y, {1, 512}, {k.uniform(slots, token), part}), 8);
  ///
  /// Errors: CodegenError for a tensor that is no `inout`, and a table that is no input of i32 or i64 with one axis.
  void puts(const Tensor& tensor, const Tensor& table,
            const std::function<Expr(const std::vector<Sym>&)>& body);
  /// @}

  /// @name Operations, in order
  /// @{
  using Where = std::source_location;
  /// Tile number `index` of a tensor, `extents` long: where (extents):(1@0,1@1,...), origin extents * index.
  [[nodiscard]] View tile(const Tensor& tensor, const std::vector<int>& extents,
                          const std::vector<Sym>& index) const;
  [[nodiscard]] View whole(const Tensor& lds) const;
  void copy(const View& from, const Tensor& to, const Layout& tv, int vector, Where where = Where::current());
  /// The same past the registers, by one instruction: the data of a wave lies in LDS lane after lane (see transfer_place).
  void transfer(const View& from, const Tensor& to, const Layout& tv, int vector,
                Where where = Where::current());
  Fragment load(const View& from, const Layout& tv, int vector, Where where = Where::current());
  Fragment read(const Tensor& from, const Layout& tv, int vector, Where where = Where::current());
  /// Several stores may share out the workgroup's tile along one axis, as parts or trip by trip. Rows that a table names (`through`, or
  /// a `uniform` of it) are stored where the specification says so: see `puts`.
  void store(const Fragment& from, const View& to, int vector, Where where = Where::current());
  /// to += from, element by element, by atomics: the parts of a sum that several workgroups have, or rows that a table names
  /// (`through`, see `scatters`). The tensor holds 0 before the launch. Requires: f32 or i32; f16 or bf16 where the target
  /// adds pairs of them, which then are adjacent values of a work-item.
  ///
  /// Or a tile in LDS, i32 and of one axis, whose elements a table names: a histogram. Element r is then the sum over the entries s that
  /// were added of from(s) where ids(s) = r; what is no index of the tile adds to none. It holds 0 (or what else adds left) before,
  /// and all waves add: `k.add(ones, k.tile(bins, {256}, {0}).through(0, ids))`, as the specification
  /// `k.sum(N, s -> choose(equal(integer(ids(s)), integer(r)), ones(s), 0))` says. Nothing is returned: what an atomic finds depends on the order
  /// in which waves come, and a specification is a function of the inputs.
  void add(const Fragment& from, const View& to, Where where = Where::current());
  Fragment zeros(Element element, const Layout& tv, std::vector<int> extents, Where where = Where::current());
  Fragment full(double value, const Layout& tv, std::vector<int> extents, Where where = Where::current());
  void mma(const Fragment& acc, const Fragment& a, const Fragment& b, const MmaTiling& mma,
           Where where = Where::current());
  /// The same of an instruction that multiplies A and B by scales of 32 k each; they are laid out as `mma.a_scales()` and
  /// `mma.b_scales()` say. Requires: e8m0.
  void mma(const Fragment& acc, const Fragment& a, const Fragment& a_scales, const Fragment& b,
           const Fragment& b_scales, const MmaTiling& mma, Where where = Where::current());
  /// Arithmetic is f32, where integers (expression.h) are exact: their result is i32, `map({x}, [](auto& v) { return integer(v[0]) ^ 5; },
  /// Element::i32)`. Errors: CodegenError for operands and results that it does not convert, for constants that f32 has not.
  Fragment map(const std::vector<Fragment>& from, const std::function<Expr(const std::vector<Expr>&)>& body,
               Element element = Element::f32, Where where = Where::current());
  /// The same, and what of it may be faster than IEEE 754: `k.map({x, y}, f, {.contract = false, .approximate = false})` has the bits of a
  /// host that computes in f32, but for exp and log, which are the hardware's.
  Fragment map(const std::vector<Fragment>& from, const std::function<Expr(const std::vector<Expr>&)>& body,
               FastMath math, Element element = Element::f32, Where where = Where::current());
  /// The same with the result where `tv` wants it. Requires: each thread has the operands of its elements.
  Fragment map(const Layout& tv, const std::vector<Fragment>& from,
               const std::function<Expr(const std::vector<Expr>&)>& body, Element element = Element::f32,
               Where where = Where::current());
  Fragment map(const Layout& tv, const std::vector<Fragment>& from,
               const std::function<Expr(const std::vector<Expr>&)>& body, FastMath math,
               Element element = Element::f32, Where where = Where::current());
  /// to = body(to, from...): what a loop carries from trip to trip.
  void update(const Fragment& to, const std::vector<Fragment>& from,
              const std::function<Expr(const std::vector<Expr>&)>& body, Where where = Where::current());
  void update(const Fragment& to, const std::vector<Fragment>& from,
              const std::function<Expr(const std::vector<Expr>&)>& body, FastMath math,
              Where where = Where::current());
  /// The same elements where `tv` wants them, in `element`: another name where each thread has them already, exchanges
  /// between lanes where a wave has them and that is cheaper, else through LDS.
  Fragment relayout(const Fragment& from, const Layout& tv, Element element, Nan nan = Nan::kept,
                    Where where = Where::current());
  /// The coordinate of an element of a map along `axis` of its tile.
  [[nodiscard]] Sym position(int axis) const;
  /// `from` inside the tensor that it was loaded from, `beyond` outside: what lies past `bound` along `axis`.
  Fragment fill(const Fragment& from, int axis, Sym origin, Sym bound, double beyond,
                Where where = Where::current());
  /// The sum, max or min along an axis, which every thread gets: in f32, or of a fragment of i32 as i32, the sum modulo 2^32. That is
  /// `k.sum(n, body)` of integers, `integer(x(i))`; k.update(acc, {s}, integer(v[0]) + integer(v[1])) goes on with it, and with a max
  /// choose(less_signed(a, b), b, a) of both. Without a sign: Monoid::unsigned_max, and less_unsigned.
  Fragment fold(Monoid monoid, const Fragment& from, int axis, Element element,
                Where where = Where::current());
  Fragment fold(Monoid monoid, const Fragment& from, int axis, Where where = Where::current()) {
    return fold(monoid, from, axis, Element::f32, where);
  }
  /// The same up to each element along the axis, itself included, and of all of them. A row of any length goes on from tile to tile:
  ///
  ///     const auto [up_to, all] = k.scan(Monoid::sum, k.load(tile, tv, 4), 1);
  ///     k.store(k.map({up_to, before}, ...), ...), k.update(before, {all}, ...); // both x[0] + x[1]
  ///
  /// In the specification it is k.sum(N, 0, i + 1, body). Errors: CodegenError where work-items do not follow one another along the axis, as
  /// those of `rows_tv` do, and for a max or min of integers.
  struct Scan {
    Fragment prefix, all;
  };
  Scan scan(Monoid monoid, const Fragment& from, int axis, Element element, Where where = Where::current());
  Scan scan(Monoid monoid, const Fragment& from, int axis, Where where = Where::current()) {
    return scan(monoid, from, axis, Element::f32, where);
  }
  /// The `count` greatest elements of a tile along its axes and their places, numbers in f32, one after the other: of equal ones the least
  /// place first, counted from the tile's begin, and over two axes of extents G and S the place S g + s. Every thread gets them. A NaN is
  /// as minus infinity, -0 as 0. The tile has all of its tensor along the axes, and a row lies in one wave: sorted lists of each lane,
  /// which are merged from lane to lane, whatever the elements are. Errors: CodegenError for a row of several waves, more than 64,
  /// more than there are, and elements that are no numbers of f32 or less.
  struct Top {
    std::vector<Fragment> value, place, beside;
  };
  Top top(int count, const Fragment& from, const std::vector<int>& axes, Where where = Where::current());
  /// The same, and what another fragment, of bf16 or f16 and laid out like `from`, has at those places: in the specification
  /// `k.at_place(place, {N}, [&](const auto& i) { return k(X, {r, i[0]}); })`. Errors: CodegenError for another layout or type, and more than
  /// 2^16 places.
  Top top(int count, const Fragment& from, const Fragment& beside, const std::vector<int>& axes,
          Where where = Where::current());
  void loop(Sym extent, int tile, Pipeline pipeline, const std::function<void(Sym t)>& body,
            Where where = Where::current());
  /// The trips from where `begin` lies on: the body's first `t` is begin / tile. `begin` is a number of whole tiles, a formula of the
  /// workgroup's number, 0 or more, or max(0, that): `k.loop(max(Sym(0), 64 * bq - Sym(256)), Sym(64) * bq + Sym(64), 64, ...)` is what a window of 256
  /// before row 64 bq sees. For a max the body is written twice, in both branches of an if_less. Errors: CodegenError for a
  /// begin that is no number of whole tiles.
  void loop(Sym begin, Sym end, int tile, Pipeline pipeline, const std::function<void(Sym t)>& body,
            Where where = Where::current());
  /// The number of this workgroup in the order in which those come here that differ from it in `number` alone, the symbol of a
  /// grid axis: 0 to their count - 1. `name` is the argument that holds the counters, i32, one for each group of them and 0
  /// before the launch and after it. What a workgroup stored so far is then there for all that draw later, so that the last one,
  /// `if_less(count - 2, k.ticket("arrived", part), ...)`, may load what the others stored of an output, and store for all of
  /// them. Errors: CodegenError inside a loop or a branch, and before the grid is complete.
  Sym ticket(const std::string& name, Sym number, Where where = Where::current());
  /// Waits until it is this workgroup's turn: until all that differ from it in `number` alone, the symbol of a grid axis, and have
  /// a lower one, have signalled. What they stored before that is there, and may be loaded: `k.await("turn", part)`, load what
  /// the workgroup before stored, store, `k.signal("turn")`. `name` is the argument that holds whose turn it is, i32, one for each
  /// group and 0 before the launch and after it. Nobody waits for a workgroup that began later, so that a launch ends however
  /// few of them run at a time (it is a condition of the launch that they begin in the order of their numbers). Errors:
  /// CodegenError inside a loop or a branch, before the grid is complete, twice, and where `order_tiles` gives workgroups other
  /// numbers along the axis.
  void await(const std::string& name, Sym number, Where where = Where::current());
  /// Passes the turn on. What this workgroup stored so far is there for those that wait. Requires: `await`, before.
  void signal(const std::string& name, Where where = Where::current());
  /// Waits until the workgroup of this number is here on all devices, and then until all work-items of this one know. What a device's
  /// stream did before the launch is there for those that meet it, and what they loaded before they came here may be overwritten
  /// afterwards: so a launch meets before its first load of a peer and after its last. `name` is the argument that holds the flags of each
  /// device, `name_0` to `name_(count - 1)`: i32, as many on all devices as one launch left there, and 0 before the first one. The devices'
  /// launches end however few workgroups run at a time, as each waits only for those of its own number (it is a condition of the launch that they
  /// begin in the order of their numbers on every device). Errors: CodegenError inside a loop, a branch or a role, before `devices`, before
  /// the grid is complete, for another name than before.
  void meet(const std::string& name, Where where = Where::current());
  /// Ends the launch (s_trap) where body(from...) is 0 for an element: an assertion of the running kernel. The body is an integer, or a
  /// number that is taken toward zero: `k.check({x}, [&](auto& v) { return select(v[0], k.constant(0), k.constant(1), k.constant(0)); },
  /// "x is not negative")`. On the emulator the launch throws with the text, the line, the workgroup, the wave and the lane; HIP ends
  /// the process as its own assert does. Elements past a tensor are what `load` gives there, 0. It changes no claim, and no other
  /// instruction of the program; a loop that has one has the order of the program, which LLVM schedules.
  void check(const std::vector<Fragment>& from, const std::function<Expr(const std::vector<Expr>&)>& body,
             const std::string& text, Where where = Where::current());
  /// Prints a line for each element where `when` (as the condition of `check`; absent: everywhere) is not 0: `text` with values(from...) in
  /// the place of its `{}` (absent: the elements themselves), integers as such and numbers to 9 digits, after workgroup, wave and lane:
  ///
  ///     k.print("x is {}", {x}, {}, [&](auto& v) { return select(v[0], k.constant(9), k.constant(1), k.constant(0)); });
  ///
  /// `k.number(512 * part + k.position(0))` among the values says which element it is. The emulator prints at once, one workgroup
  /// after the other; on a GPU HIP's runtime does, in any order, and what its buffer has no room for is left out. It changes no
  /// claim and no other instruction; a loop that has one has the order of the program, as with `check`.
  /// Errors: CodegenError: not as many values as `{}`, or more than 16; a text that is no line of ASCII, or has a backslash.
  void print(const std::string& text, const std::vector<Fragment>& from,
             const std::function<std::vector<Expr>(const std::vector<Expr>&)>& values = {},
             const std::function<Expr(const std::vector<Expr>&)>& when = {}, Where where = Where::current());
  /// The same of numbers of the workgroup or the trip, once by its first work-item: `k.print("trip {} of tile {}", {t, bm})`.
  void print(const std::string& text, const std::vector<Sym>& values, Where where = Where::current());
  /// `then` in the workgroups where a < b, `otherwise` in the others: `if_less(64 * bm, k.uniform(rows_in_use, 0), ...)` leaves
  /// out the workgroups after the rows in use. What both paths store is held against the specification, each with what its
  /// condition says. Errors: CodegenError inside a loop, or where a or b depends on a loop.
  void if_less(Sym a, Sym b, const std::function<void()>& then, const std::function<void()>& otherwise = {},
               Where where = Where::current());
  /// A group of waves and what it does.
  struct Role {
    std::string name;
    int waves = 1;
    std::function<void()> body;
  };
  /// The waves of the workgroup in groups, the first `waves` of them for the first role and so on (warp specialization):
  /// `k.roles({{"producer", 2, [&] { k.copy(...); }}, {"consumer", 2, [&] { k.mma(...); }}})`. Inside of a role a
  /// thread-value layout is over the role's work-items, counted from its first wave, and what a fragment holds is the role's
  /// own. May stand in a loop: then the roles of a trip run at the same time as far as waits and barriers, which are placed for
  /// them, let them, and with a ring of stages the producer is trips ahead. Errors: CodegenError where the roles are not the
  /// workgroup's waves, where the number of a role's waves does not divide them and its first wave, and for loops, branches,
  /// tickets, roles and folds over several waves inside of a role.
  void roles(const std::vector<Role>& roles, Where where = Where::current());
  /// @}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Target& target() const { return *target_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] const std::vector<Size>& sizes() const { return sizes_; }
  [[nodiscard]] const std::vector<GridAxis>& grid() const { return grid_; }
  /// Absent: a workgroup has a tile.
  [[nodiscard]] const std::optional<Shares>& shares() const { return shares_; }
  /// What `waves_per_simd` says, 0 before that, and its line.
  [[nodiscard]] int waves_per_simd() const { return waves_per_simd_; }
  [[nodiscard]] const std::source_location& limited() const { return limited_; }
  /// Absent: the workgroup's numbers are the tile's.
  [[nodiscard]] const std::optional<TileMap>& tile_map() const { return tile_map_; }
  [[nodiscard]] const std::vector<Uniform>& uniforms() const { return uniforms_; }
  [[nodiscard]] const std::vector<Entry>& values() const { return values_; }
  [[nodiscard]] const std::vector<Ticket>& tickets() const { return tickets_; }
  [[nodiscard]] const std::vector<Turn>& turns() const { return turns_; }
  [[nodiscard]] const std::vector<Assertion>& assertions() const { return assertions_; }
  [[nodiscard]] const std::vector<PrintLine>& prints() const { return prints_; }
  [[nodiscard]] const Devices& together() const { return devices_; }
  [[nodiscard]] const Problems& problems() const { return problems_; }
  [[nodiscard]] const GridAxis& axis(int number) const;
  /// How many workgroups there are along an axis of the grid.
  [[nodiscard]] Sym count(int axis) const;
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  [[nodiscard]] const Tensor& tensor(int id) const { return tensors_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::vector<Fragment>& fragments() const { return fragments_; }
  [[nodiscard]] const Fragment& fragment(int id) const { return fragments_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::vector<Op>& body() const { return body_; }
  [[nodiscard]] const std::source_location& where() const { return where_; }
  [[nodiscard]] SymContext& symbols() const { return *symbols_; }
  [[nodiscard]] Expressions& expressions() const { return *expressions_; }
  /// The coordinate symbols and the expression of an output; absent when nothing was said about it.
  struct Specification {
    int tensor = -1;
    int table = -1;        ///< `scatters` and `puts`: the first coordinate counts its entries
    bool replaces = false; ///< `puts`
    std::vector<Sym> coordinate;
    Expr value;
  };
  [[nodiscard]] const std::vector<Specification>& specifications() const { return specifications_; }
  [[nodiscard]] const Specification* specification(const Tensor& tensor) const;
  /// What paged tensors are, in terms of their caches and tables, and windows, in terms of what they look at.
  [[nodiscard]] Expr in_memory(Expr e) const;
  /// How far the coordinates of a specification go: the shape of the tensor, or of the table.
  [[nodiscard]] std::vector<Sym> shape(const Specification& specification) const;
  /// The symbol for the element at `coordinate` along `axis` of a fragment inside a map: see `fill`.
  [[nodiscard]] static std::string position_name(int axis) { return "_at" + std::to_string(axis); }
  [[nodiscard]] std::string tensor_name(int id) const { return tensor(id).name; }

  /// One operation a line, indented by loop.
  [[nodiscard]] std::string text() const;

  /// For tests that change one place: every operation, tensor and fragment as data.
  [[nodiscard]] std::vector<Op>& mutable_body() { return body_; }
  [[nodiscard]] std::vector<Tensor>& mutable_tensors() { return tensors_; }
  [[nodiscard]] std::optional<TileMap>& mutable_tile_map() { return tile_map_; }
  [[nodiscard]] std::optional<Shares>& mutable_shares() { return shares_; }

private:
  /// An index of its own for each extent.
  std::vector<std::pair<Sym, Sym>> along(const std::vector<Sym>& extents);
  Top top(int count, const Fragment& from, const Fragment* beside, const std::vector<int>& axes, Where where);
  Fragment fragment(Element element, const Layout& tv, std::vector<int> extents);
  // What a fold along an axis gives, and its monoid of integers where they are that.
  Fragment fold_result(Monoid& monoid, const Fragment& from, int axis, Element element, const Where& where);
  // A layout over the open role's work-items as one over all: every group of as many waves like the role.
  [[nodiscard]] Layout of_role(const Layout& tv, const Where& where) const;
  void append(Op::What what, const Where& where);
  // What a map is: its integers are of operands that hold them.
  [[nodiscard]] Expr checked(Expr map, const std::vector<int>& from, Element to, const Where& where) const;
  // A tile of a paged tensor as rows of its cache that the table names, and `tv` over these; the names are loaded.
  View by_pages(const View& view, Layout& tv, const Where& where);
  // The axis that a number of the workgroup counts, and one counter for each group of workgroups that differ along it alone.
  // Errors: CodegenError inside a loop, a branch or a role: `why` is what every workgroup does once.
  std::pair<int, int> counters(const std::string& what, const std::string& name, Sym number,
                               const std::string& why, const Where& where);
  void add_in_lds(const Fragment& from, const View& to, const Where& where);
  void refuse_argument_named(const std::string& name, const std::string& what) const;
  Tensor global(const std::string& name, Element element, std::vector<Sym> shape,
                std::optional<SymLayout> place, bool output);

  std::string name_;
  const Target* target_;
  int threads_;
  std::source_location where_;
  std::unique_ptr<SymContext> symbols_ = std::make_unique<SymContext>();
  std::unique_ptr<Expressions> expressions_ = std::make_unique<Expressions>();
  std::vector<Size> sizes_;
  std::vector<GridAxis> grid_;
  std::optional<TileMap> tile_map_;
  std::optional<Shares> shares_;
  int waves_per_simd_ = 0;
  std::source_location limited_;
  std::vector<Uniform> uniforms_;
  std::vector<Entry> values_;
  std::vector<Ticket> tickets_;
  std::vector<Turn> turns_;
  std::vector<Assertion> assertions_;
  std::vector<PrintLine> prints_;
  Devices devices_;
  Problems problems_;
  std::vector<Tensor> tensors_;
  std::vector<Fragment> fragments_;
  std::vector<int> exact_; ///< fragments as inputs have them: not rounded
  std::vector<Op> body_;
  std::vector<std::vector<Op>*> open_;
  std::vector<Specification> specifications_;
  int loops_ = 0, loops_open_ = 0, branches_open_ = 0;
  std::vector<AtomId> trips_; ///< the numbers of the loops' trips
  Waves role_;                ///< that is open
  std::string role_name_;     ///< likewise
};

/// The arguments of the kernel in order: tensors, then sizes; where these are more than Target::preloaded_dwords, sizes stand before the last
/// tensors. A size is part of every address, so a wave would wait 740 clocks for one that is not preloaded before it does anything; the
/// last tensors are what is asked for after the loop, or once. Not where tables that say what a workgroup does (uniforms) are among the
/// last tensors: they are asked for first. Pointers into `program`.
[[nodiscard]] std::vector<KernelArgument> arguments_of(const Program& program);

} // namespace inlay::codegen
