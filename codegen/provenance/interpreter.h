/// The interpreter of provenance.h: one workgroup runs the code symbolically, all its threads at once. A rule that does not
/// hold throws `Refuted`, and the derivation ends there. One file for each rule; derive.cpp is where it begins.
#pragma once

#include "choices.h"
#include "content.h"
#include "domains.h"
#include "substitutions.h"
#include "terms.h"

#include <inlay/codegen/address.h>
#include <inlay/codegen/nest.h>
#include <inlay/codegen/provenance.h>
#include <inlay/codegen/symbol_kinds.h>

#include <inlay/algebra/print.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace inlay::codegen::provenance {

struct Refuted {
  std::string claim, subject, counterexample;
};

/// Where a loop ends that runs to the least of two: with the size, at the other end, or, where that is a number from memory, before
/// its first trip. `none`: the size is no more than where the loop begins, so that a branch goes around it.
enum class LeastEnd : std::uint8_t { size, other, nothing, none };

class Interpreter {
public:
  /// `ends`: of each loop, and then of each that holds loops, what is looked at (`cases_of`). `joins`: updates that follow one another
  /// are one (find_one_sum).
  Interpreter(const Code& code, Prover& prover, std::vector<LeastEnd> ends, bool joins = true)
      : one_by_one_(!joins), code_(code), p_(*code.program), prover_(prover), x_(p_.expressions()),
        context_(p_.symbols()), ends_of_loops_(std::move(ends)), replaced_(x_), domains_(x_),
        choices_(x_, context_) {
    bound_ = symbol_of(context_, SymbolKind::fold, {}, "", {Int(0), std::nullopt});
  }
  Derivation run();
  /// Whether there were such updates.
  [[nodiscard]] bool joined() const { return !one_sum_.empty(); }

private:
  bool one_by_one_;
  // ------------------------------------------------------------ claims: derive.cpp
  void fail(const Refuted& r);
  // Recorded once: a claim that every trip makes again is one claim.
  // `subject` is a text, or gives it.
  template <class Subject>
  void prove(const std::string& claim, const Subject& subject, const char* method) {
    if (!recorded_.emplace(claim, at_ ? at_->op : -1).second) return;
    if constexpr (std::is_invocable_v<Subject>) {
      add_claim(claim, subject(), method);
    } else {
      add_claim(claim, subject, method);
    }
  }
  /// The line that a claim is about.
  [[nodiscard]] std::source_location where() const;
  void add_claim(const std::string& claim, const std::string& subject, const char* method);
  [[noreturn]] static void refute(const std::string& claim, const std::string& subject,
                                  const std::string& why);
  bool decide(ClaimKind kind, Sym a, Sym b);
  bool less_equal(Sym a, Sym b);
  // The numbers that _c0, _c1, ... can have, as symbols with ranges.
  Sym ranged(Sym s, const std::vector<int>& columns);
  Sym dollar(std::size_t i);

  // ------------------------------------------------------------ sizes and facts: derive.cpp
  // Facts as substitutions: the extent of a grid axis is n*wg + g*(1 + rest), of a loop n*T + g*q.
  void make_world();
  // Numbers of workgroups that ends of loops have by blocks, wg / 64: those of the block and in it.
  void split_workgroups();
  // Whether the workgroups read an entry of a table for each block of so many of them.
  bool reads_by_blocks(Sym number, std::int64_t block) const;
  // A loop over a size, or to min(a size and a rest, an end of whole tiles): what the size is, tile by tile.
  void world_of_loop(const CodeRegion& r, LeastEnd end);
  // How many of so many units its last tile has: one to all of them.
  Sym rest_of(const std::string& name, std::int64_t units);
  // Also those that hold loops or branches.
  std::vector<const CodeRegion*> loops() const;
  // Why it is not known how many trips a loop has.
  [[noreturn]] void unknown_trips(const CodeRegion& r);
  // That a size and `rest` are together 0 or less.
  void world_without_trips(const Size& z, Sym rest);
  // A loop over a part of fixed length, or to the end that a number from memory is: min(256, u - 256*wg).
  void world_of_part(const CodeRegion& r, const std::pair<Sym, Sym>& two, LeastEnd end);
  bool known(Sym s) const; // whether `world_` says something of it
  std::optional<Size> size_in(Sym extent) const;
  Sym world(Sym s) const { return written(replaced_(s, world_)); }
  Expr world(Expr e) const { return written(replaced_(e, world_)); }
  // In terms of what has been written down on the way to this point of the code.
  template <class T>
  T written(T s) const {
    return written_.empty() ? s : replaced_(s, written_);
  }
  // What is known at this point of the code about the number of trips.
  template <class T>
  T relate(T s) const {
    if (!(replaced_(s, known_of_trips()) == s)) asked_for_trips_ = true;
    return replaced_(s, relation_);
  }
  // What `relation_` says of the number of trips of the loop that was left last.
  Substitutions::List known_of_trips() const {
    return Substitutions::List(relation_).subspan(trips_begin_, trips_count_);
  }
  // One thing more; what was known of others in its terms is known in terms of it.
  void learn(AtomId what, Sym is);

  // ------------------------------------------------------------ claims that each view gives: views.cpp
  struct Prepared {
    std::vector<Column> coordinate; ///< [axis], thread by thread
    std::vector<int> column;        ///< the same, interned
    std::vector<Sym> origin;        ///< in terms of the facts
    std::vector<int> places;        ///< of LDS
    std::vector<bool> acts;         ///< thread by thread
  };
  static const char* name_of(const Inst& i) { return to_string(i.kind); }
  const Prepared& prepared(const Inst& inst);
  // The place of each coordinate of a tensor in LDS, the first axis fastest.
  const std::vector<int>& places_of(const Tensor& t);
  void static_claims();
  // What else than an origin a number of the workgroup is used as.
  void uniform_claims(const Uniform& u);
  // The order of the upper half of the waves is the body's in all that one instruction waits for of another: none passes a
  // wait or barrier, accesses keep their order, and so does what shares a register.
  void stagger_claims(const CodeRegion& r);
  void lds_claims(const Inst& i, std::set<std::tuple<int, bool, std::vector<int>>>& patterns);
  void memory_claims(const Inst& i);
  // A coordinate that a register holds is that number alone.
  void named_alone(const Inst& i);
  // A tensor in memory: as many places as coordinates, and of an output no two the same.
  void place_claims(const Tensor& t);
  // Whether the elements of a vector are neighbours along an axis; and whether they are in one block of the axis, of which
  // there is a whole number, so that all of them are inside or none.
  static bool runs_along(const Access& a, std::size_t axis);
  bool in_one_block(const Access& a, const Prepared& r, std::size_t axis);
  // One coordinate, the workgroup's number along a grid axis, of as many as there are workgroups.
  bool counted(const Inst& i, std::size_t axis);
  // What the body of a loop knows of its number of trips: another one comes.
  Sym in_trip(const Inst& i, Sym s);
  // The descriptor ends exactly the rows: nothing inside passes the end of a row (or of a block of rows).
  void guard_claims(const Inst& i, const Tensor& t, const Tensor& in_world, const AddressSplit& a);
  // A window's vectors lie wholly inside of what it looks at or wholly outside; each axis that may be left is compared, as unsigned.
  void halo_claims(const Inst& i, const std::vector<Sym>& at0, const AddressSplit& a);
  // How many coordinates along the descriptor's axis are one block of its place, of which it counts whole ones.
  static Sym block_of(const Tensor& in_world, std::size_t axis);
  // Offsets and records fit 31 bits for all sizes of the contract.
  void range_claims(const Inst& i, const Tensor& t, const AddressSplit& a);
  // Of addresses of 64 bits: what their guards have to be.
  void far_claims(const Inst& i, const Tensor& t, const AddressSplit& a);
  std::string hint_multiple(const Tensor& t, std::int64_t n) const;
  // Why entries of a table that is not cut evenly are not stored by.
  std::string named_past_end(const Tensor& table, int at_once) const;
  /// Where a table names rows of one of the two alone, or others: how they are of one sum.
  std::string hint_paged(Expr a, Expr b) const;
  Tensor tensor_in_world(const Tensor& t) const;

  // ------------------------------------------------------------ regions and loops: loops.cpp
  void regions(State s, std::size_t from);
  // A guard of the region that the path so far says nothing of.
  const Guard* undecided(const CodeRegion& r) const;
  bool runs(const CodeRegion& r) const;
  // The region and what follows it where the guard's condition holds, and where it does not.
  void both_paths(State s, const Guard& g, std::size_t index);
  /// What is known of a workgroup's number from here on, in all that the places hold.
  void write_down(State& s, const std::pair<AtomId, Sym>& what);
  void write_into(Term& t, std::span<const std::pair<AtomId, Sym>> known);
  /// A branch by a number that its trip reads: what it says of the elements of a fold, of which [low, high) are the trip's.
  struct Choice {
    Expr of; ///< 1 where it holds for element `bound`
    Sym low{}, high{};
    Sym extent{};         ///< of the loop
    bool holds = true;    ///< on the path that is run
    bool negated = false; ///< its guard says the opposite
  };
  std::optional<Choice> choice_by(const Condition& c);
  // Both paths of such a branch, and what they leave as one state.
  void by_data(State s, const Guard& g, std::size_t index);
  // yes where the condition holds, else no.
  Term either(const Choice& c, Term yes, Term no);
  // The same of each of the sums in an accumulator.
  Term each_of(const Choice& c, const Term& yes, const Term& no);
  // The body of a fold where the condition is as `holds` says, and the empty element where not.
  Expr chosen(const Choice& c, bool holds, Expr body, double empty);
  // The same of element `index`.
  Choice at_index(Choice c, Sym index);
  // What it is where the condition is as `holds` says, and no more than that: folds over elements of the trip with their bodies chosen.
  Term masked(const Choice& c, bool holds, Term t);
  // What it is where the condition is not: folds without the trip's elements, which are all empty.
  Term left_out(const Choice& c, bool holds, Term t);
  bool without_trip(const Choice& c, bool holds, Expr body, Monoid monoid,
                    std::vector<std::pair<Sym, Sym>>& intervals);
  // Whether [low, high) are elements of the branch's trip.
  bool of_the_trip(const Choice& c, Sym low, Sym high);
  static std::vector<std::pair<Sym, Sym>> intervals_of(const ExprNode& fold);
  // The same by what is known on this path.
  bool one_value(Term a, Term b);
  bool one_limit(Sym a, Sym b);
  Expr of_path(Expr e);
  // In one order of what is chosen; what of it that loses goes to `asked`.
  Expr ordered(Expr e, std::vector<Asked>& asked, bool compared = false);
  // One is the other where the branch's condition is as on this path.
  bool one_body_under(Term& a, Term& b, const std::vector<int>& columns);
  // What a guard says becomes known; false where it cannot be.
  bool assume(const Guard& g);
  // The range of x where slope x + limit >= 0, too.
  Interval narrowed(AtomId x, Int slope, Int limit) const;
  // A symbol of this path; refuses one whose name too many conditions have made.
  Sym told_apart(SymbolKind kind, std::initializer_list<NameNumber> numbers, AtomId of, Interval range);
  // Learns that x lies in that range, as a number or as a symbol of that range; false where nothing does. `how`: see
  // `SymbolKind::path_range`.
  bool lies_in(AtomId x, Interval range, int how);
  // What 0 <= room says of how many trips follow, x, by the range of all others; nothing where that is nothing new.
  std::optional<bool> counted_by(AtomId x, Sym room);
  // 0 <= room as what x is, and whether that can be; nothing where it says nothing of x alone.
  std::optional<bool> assume_of(AtomId x, Sym room, bool holds);
  void run_version(State& s, const std::vector<Inst>& insts, bool divides);
  // modulus | size, as a substitution of the free symbol in what the size stands for.
  void add_condition(std::vector<std::pair<AtomId, Sym>>& to, const When& when);
  // Runs everything after an exit: j is the last trip's number, `residue` its remainder by the ring.
  void leave(State s, const CodeRegion& r, std::size_t index, Sym j, int residue);
  // What follows the exit. Exits that leave the same behind go on in the same way: once, unless what follows asks how many trips
  // there were. `before`: `relation_` before the exit.
  void go_on(State s, std::size_t index, const std::vector<std::pair<AtomId, Sym>>& before);
  // Whether nothing after a region is a loop, or accesses LDS or a tensor in place.
  bool simple_behind(std::size_t index) const;
  // Adds to what is known that trip j is the last one, or that others come later; false where that cannot be.
  bool meet(const CodeRegion& r, Sym j, bool later);
  // Whether the number of trips is a size's, a symbol of its own, and not a number or a workgroup's.
  bool counts_trips(const CodeRegion& r) const;
  // The number of the last trip, with what is known of it here: after another loop over the size, that one's.
  Sym last_trip(const CodeRegion& r) const { return relate(last_trip_.at(&r)); }
  bool positive(const CodeRegion& r, Sym end) const;
  // What is looked at has no such loop: where it runs it has a trip, and here it has none.
  bool passed_by(const CodeRegion& r) const;
  // After how many trips tiles lie as before: in the ring's stage, and in the page of which they are parts.
  int period_of(const CodeRegion& r) const;
  // How many trips a step of the induction takes: whole such periods, and of the workgroups that the loop ends with.
  int round_of(const CodeRegion& r) const;
  void forget_iterations(State& s);
  void loop(State s, const CodeRegion& r, std::size_t index);
  // Registers of iterations: one trip later, each is one iteration nearer.
  void shift(State& s);
  [[noreturn]] void not_inductive(const std::string& why, const std::string& about = {});
  // Refuses a load of the loop that nothing waits for, because nothing takes it.
  void taken_by_nothing(const CodeRegion& r);
  // What follows is about the register that the loop's instruction writes: its line is the claim's.
  void stands_at(const CodeRegion& r, int reg);
  // The state whose origins are those of x at u = 0 and of y at u = 1.
  Term extrapolate(const Term& x, const Term& y, Sym u);
  Expr extrapolate(Expr x, Expr y, const std::function<Sym(Sym, Sym)>& line);
  State extrapolate(const CodeRegion& r, const State& x, const State& y, Sym u);
  void replace_all(Term& t, std::span<const std::pair<AtomId, Sym>> replace);
  bool same(const Term& a, const Term& b, std::span<const std::pair<AtomId, Sym>> next);
  // `values`: what places hold, too, and not only what is under way.
  void compare(const CodeRegion& r, const State& invariant, const State& after,
               std::span<const std::pair<AtomId, Sym>> next, bool values = true);
  // Whether the same is under way in both.
  bool same_under_way(const CodeRegion& r, const State& now, const State& later);

  // ------------------------------------------------------------ loops that hold loops: nests.cpp
  /// A loop that holds loops or branches, as what the rules for loops ask about; and which regions are its own.
  struct Around {
    Nest nest;
    std::size_t begin = 0, end = 0;
    CodeRegion as_loop; ///< all its instructions that stand in no loop inside of it
    std::set<int>
        summed{}; ///< registers that loops inside of it add to: what a trip adds is one element of a sum over trips
  };
  using After = std::function<void(State)>;
  struct Running {
    const Around* around = nullptr;
    Sym number{};
    After after; ///< what follows the trip
  };
  void find_nests();
  // Whether a nest begins with region i, or the trip that is run ends before it; and what there is to do then.
  bool enters_or_ends(State& s, std::size_t i);
  // The trip of that number, and after it what `after` says.
  void trip(State s, const Around& around, Sym number, const After& after);
  // What follows trip `number`: the regions behind the nest where it was the last one, and `on` where it was not. Both with what the
  // number of trips then is known to be.
  void after_trip(State s, const Around& around, Sym number, const After& on);
  // After a loop in rounds of several trips, `trips` = round u + c of them, u is some number of rounds. What is known is written in how
  // many trips these are, and that they are whole rounds is forgotten; nothing where something is no line in u, or half a round.
  void forget_rounds(State& s, Sym trips);
  // The trip from which on branches by its number alone, k.if_less(t, 2, ..), are decided as in all that follow.
  int decided_from(const Around& around);
  std::string far_branch_{}; // by a trip's number that is more: a hint
  void nest(State s, const Around& around);
  void in_all_trips(const State& first, const State& next, const Around& around, Sym base);
  // A condition in the trips that are run.
  Condition in_trip(const Condition& c) const;
  // LDS that a trip writes is its own: nothing is under way, and what it holds the next one does not know.
  void forget_tiles(State& s, const Around& around);
  // Why an element of a tile in LDS is not known to hold anything, for a message.
  std::string unwritten(const Tensor& t) const;
  // Whether a symbol says how many trips a loop has that is run.
  bool counts_nest(AtomId x) const;
  // Whether a trip that runs is of such a number.
  bool numbers_trip(AtomId x) const;
  // What is known of such a symbol in terms of another one: that one says so now.
  void counts_as(AtomId x, Sym now);
  // What is known of sizes, but not of how many trips nests have, in all that the places hold.
  void write_down_others(State& s, const Around& around);
  std::vector<std::pair<AtomId, Sym>> known_of_others(const Around* around = nullptr) const;
  void write_into(State& s, std::span<const std::pair<AtomId, Sym>> known);
  // What a trip has added to its accumulators, in whichever of its regions, is one element of a sum over the trips.
  void add_up(State& s, const Around& around, Sym number);
  // x0 + f of such an accumulator, outside of the loops that add to it: f, beside what it holds. Nothing where that is no such map.
  bool adds_beside(State& s, const Inst& i);
  // For claims about a region's instructions: its nests have more trips than that of the instruction.
  std::vector<std::pair<AtomId, Sym>> in_any_trip(const CodeRegion& r);

  // ------------------------------------------------------------ instructions: instructions.cpp
  void list(State& s, const std::vector<Inst>& insts, Sym trip, int number);
  // The numbers of the trip that is run.
  std::vector<std::pair<AtomId, Sym>> trips() const;
  // After an exit the number of trips is known, and holds for all that follows.
  Sym here(Sym s) const;
  RegKey key(const Reg& r) const;
  const Term& value(State& s, const Reg& r);
  // The same of an accumulator, whose sums may be several that go on.
  RegState& held(State& s, const Reg& r);
  std::pair<int, int> stage_of(const Inst& i) const;
  void one(State& s, const Inst& i);
  // What a wait leaves `keep` of under way, in each of the waves that wait.
  static void complete(State& s, std::deque<Queued>& queue, int keep, std::uint32_t waves);
  static void finish(State& s, const Queued& q);
  void run(State& s, const Inst& i);
  // Of a barrier: how many each half of the waves has run after it. For all, or for a half that brings both apart by one or in step
  // again.
  void meet(State& s, const Inst& i);
  // The half of the workgroup that a wave belongs to.
  int half_of(int wave) const { return 2 * wave < p_.threads() / p_.target().wave_size ? 0 : 1; }
  // The waves that run an instruction, as bits.
  std::uint32_t waves_of(const Inst& i) const;
  void load(State& s, const Inst& i);
  // What the specification says at these coordinates, in terms of `columns`. Numbers that it reads of tables are those that the
  // workgroup has read.
  Expr specified(const Program::Specification& spec, std::span<const std::pair<AtomId, Sym>> at,
                 const std::vector<int>& columns = {});
  // An element of a cache that a table names as that of a paged tensor, by its position.
  void by_position(Term& term, const Tensor& cache, std::vector<Sym>& index, std::vector<int>& through,
                   int& tensor);
  // The index of the table whose element is the coordinate along a gathered axis.
  Sym row_index(State& s, const Inst& i, std::size_t axis, Term& into);
  // What a store through a table touches, with the entries in place of the rows that they name.
  std::optional<Prepared> scattered(State& s, const Inst& i, const Program::Specification& spec);
  // Of a tensor in place a workgroup reads what it alone writes (finish), and before: here the reads, there the writes.
  void read_in_place(State& s, const Inst& i, const Prepared& r);
  void overwrite(State& s, const Inst& i, const Prepared& r);
  // From one tile of a tensor in place to another, axis by axis.
  static std::vector<int> distance(const std::string& claim, const Tensor& t, const std::vector<Sym>& from,
                                   const std::vector<Sym>& to);
  // Whoever reads `place` is done before `wave` writes it: other waves after a barrier, the wave itself after a wait, or
  // without one where its accesses are in order: those to memory at one address are.
  void read_before(const State& s, const std::vector<Reading>& readings, int place, int wave, bool in_order,
                   const std::string& what) const;
  void write(State& s, const Inst& i);
  // Atomics add to elements of a tile in LDS that a table names: each is then a part of a sum over the table's entries.
  void add(State& s, const Inst& i);
  // Of what all waves wrote together nobody knows which wave; alone in its workgroup it is the one.
  [[nodiscard]] bool of_wave(const Cell& c, int wave) const {
    return c.wave == wave || (c.wave < 0 && p_.threads() <= p_.target().wave_size);
  }
  void read(State& s, const Inst& i);
  // Elements first .. first + count of every thread.
  Term part(const Term& t, const Reg& r);
  // But for their columns; what commutes, in any order.
  bool equal(const Term& a, const Term& b);
  // Several registers as one term: element e of the result is uses[e].
  Term assemble(State& s, std::span<const Reg> uses);
  std::string describe(const Term& t) const;

  // ------------------------------------------------------------ renaming columns: values.cpp
  // t over the columns `all`, which get t's columns that are not there yet.
  void rename(Term& t, std::vector<int>& all);
  // t over exactly these columns, in this order; unchanged when it has others.
  void align(Term& t, const std::vector<int>& columns);
  void replace_in(Term& t, std::span<const std::pair<AtomId, Sym>> replace);
  // Without columns that nothing refers to.
  void tidy(Term& t);
  // Some index of the expression that is O + _ci: gives O.
  std::optional<Sym> origin_of(Expr e, std::size_t i);
  // Whether s depends on the symbol.
  bool mentions(Sym s, AtomId symbol) const;

  // ------------------------------------------------------------ products: products.cpp
  struct Side {    // what a column of an operand says
    int rows = -1; ///< it moves with the rows: the column of the result
    int k = -1;    ///< it moves with k: wave by wave, number by number
  };
  const Side& side(const Inst& i, std::size_t half, bool second, int column);
  // Of an operand, the instruction's k that part `half` holds.
  std::vector<int> ks_of(const Inst& i, std::size_t half, bool second) const;
  struct Summed { // the numbers of k that each wave's result sums
    int sets = -1;
    bool twice = false;
  };
  const Summed& summed(const Inst& i, int k);
  struct Product { // what the columns of two operands say, the same for every tile
    std::string error;
    std::vector<std::size_t> x_k, y_k; ///< which columns are k
    std::vector<int> x_rows, y_rows;   ///< result columns, for the others in order
    int sets = -1;
    int low = 0, high = 0; ///< of the k columns
  };
  // Half `half` of `parts` of the operands' values.
  const Product& product(const Inst& i, std::size_t half, const std::vector<int>& xc,
                         const std::vector<int>& yc, std::int64_t shift);
  void multiply(State& s, const Inst& i);
  void multiply(State& s, const Inst& i, std::size_t half, Term x, Term y);
  // An accumulator and more of a sum: of one that it has, or of another.
  Term with_more(const Term& acc, Term sum);
  // Whether a sum has the elements of another one of the same body already.
  bool has_all(const Term& t, const Term& other);
  // The indices of a part of a sum, whichever work-item has which, and what lies between them.
  std::pair<Sym, Sym> around(const Term& t) const;
  // Part `half` of operand `which` times its scales: s(m, k/32) for the values of the instruction's block of 32 k.
  Term scaled(State& s, const Inst& i, std::size_t which, std::size_t half);
  // A column of scales, lane by lane, as one of the values of that part of the operand: the instruction takes the scale of a row and 32 k from
  // the lane that its layout names.
  int value_by_value(const Inst& i, std::size_t which, std::size_t half, int column);
  // Whether each entry of one column is that of another divided by `block`.
  bool blocks_of(int fine, int coarse, int block);

  // ------------------------------------------------------------ folds: folds.cpp
  // Two parts of one fold.
  Term join(const Term& a, const Term& b);
  int unite(int a, int b, Monoid monoid);
  static std::string text(const Intervals& s);
  // What is under way of the trip is one round more; and so is the last one, where the fold is over.
  void end_round(Term& t);
  void next_round(Term& t, Sym origin, int sets);
  void close(Term& t);
  // A part that is one interval, the same for every slot, becomes a symbolic interval, and intervals that meet one.
  void settle(Term& t);
  // Likewise where each slot's part begins at one element and ends at its own.
  void settle_prefix(Term& t);
  Term settled(Term t);
  void add_interval(Term& t, Sym low, Sym high);
  // Intervals that meet become one. Gives an interval that may have something in common with [low, high), and then adds
  // nothing, unless they may.
  std::optional<std::pair<Sym, Sym>> join_interval(std::vector<std::pair<Sym, Sym>>& intervals, Sym low,
                                                   Sym high, bool may_overlap);
  // Whether intervals that are disjoint (or of an idempotent monoid) make up [0, limit).
  // Where intervals end that follow one another from `begin` on; absent when they do not.
  std::optional<Sym> reached(const std::vector<std::pair<Sym, Sym>>& intervals, Sym begin, Monoid monoid);
  bool cover(const std::vector<std::pair<Sym, Sym>>& intervals, const std::vector<Sym>& begins,
             const std::vector<Sym>& ends, Monoid monoid);
  bool covers(const Term& t);
  // a <= b, also by what is given of the two ends of a loop, and because no number from a table that bounds something is negative.
  bool at_most(Sym a, Sym b);
  // Indices from which on the body of a fold is the empty element, because its conditions say so.
  std::vector<Sym> ends_of(const ExprNode& fold);
  // And before which it is: of `index` < `bound`, where that is `summed` and a rest, the first that may be in.
  std::optional<Sym> begin_of(Sym index, Sym bound, Sym summed);
  // `of_finite`: a factor of 0 makes a product 0, as where a loop leaves such trips out.
  std::vector<Sym> begins_of(const ExprNode& fold, bool of_finite = false);
  // Folds under way inside an expression that are over by now.
  // `asked`: what the normal form of that loses goes there.
  Expr resolve(Expr e, const std::vector<int>& columns, std::vector<Asked>* asked = nullptr);
  // Whether two folds are of one body, and a's with what is over by now resolved when that takes it.
  bool one_body(Term& a, const Term& b, const std::vector<int>& columns);
  // Whether one has the body of the other but where an index passes an end that none of its elements does: then it gets the other's.
  bool one_body_inside(Term& a, Term& b, const std::vector<int>& columns);
  // With what branches inside of loops say of sizes on this path, which is written into what a trip leaves.
  Expr with_branches(Expr e);
  Sym with_branches(Sym s);
  [[nodiscard]] bool in_branches() const;
  // A part of a fold, as far as the wanted one where all that it lacks is the empty element.
  void goes_on_empty(Term& t, const Term& wanted);
  // Whether a specification has a fold over a part of its extent: then such a part is a number like another.
  bool names_part_of(Monoid monoid);
  // A fold under way is over: it has to cover [0, limit), or a specification says `sum(n, begin, end, ...)`.
  Term complete_term(Term t);
  // What an accumulator of several sums holds: each of them over, and added.
  Term total(const Term& t, Element element);
  // An element of a tensor whose axis a specification sums, with one coordinate along it: that coordinate, and the sum's index in
  // its place.
  std::optional<Sym> one_of_sum(Term& t);
  // The column of the coordinates that a fold joins.
  int folded_column(const Inst& i);
  // A fold of the monoid's empty elements alone, as where a mask leaves out a whole tile: it is that, and no sum of anything.
  bool folds_nothing(Term& t, const Inst& i, int wanted);
  void fold_values(State& s, const Inst& i);
  void fold_lanes(State& s, const Inst& i);
  void top(State& s, const Inst& i);
  // Elements of other lanes: columns with their rows exchanged.
  void exchange_lanes(State& s, const Inst& i);

  // ------------------------------ maps: maps.cpp; how large their numbers are: magnitudes.cpp; sums lane by lane: lane_sums.cpp
  // The value of a map where an operand is outside: NaN when it depends on what is not known. An infinite operand
  // absorbs a finite one in a sum; zero times something unknown is not zero.
  double outside(Expr e, std::span<const double> operand, const Fact& fact);
  // Whether an operation is a product of 0 and of what is finite: integers, and numbers that are made of some alone, as those of places.
  bool times_nothing(const ExprNode& n, std::span<const double> x);
  // What the absolute value of such a number is at most; infinite for others.
  double most_whole(Expr e);
  // What says what lies beyond a bound that an operand has is a fact; any other condition is part of the value.
  Expr strip_inside(Expr e, const std::vector<Fact>& facts);
  void apply_map(State& s, const Inst& i);
  // x0 + x1 + ... of an accumulator and sums under way that are not all of one body: it holds each of them. Nothing where that is no
  // such map.
  std::optional<Term> more_sums(State& s, const Inst& i);
  // Who adds an operand of a map to a sum: as no operation's number is.
  static int summed_by(const Inst& map, std::size_t operand) {
    return -2 - (1024 * map.op + static_cast<int>(operand));
  }
  std::function<std::string(int)> name_of_tensor() const;
  // Of one index and bound, at this point of the code. What is known here about the number of trips is not written into
  // what a place holds: the next trip knows something else.
  bool same_bound(Sym index, Sym bound, const Fact& f) const;
  void want(std::vector<Fact>& facts, const Fact& f) const;
  Term pointwise(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns);
  // Whether a bound is of elements further along than all that is stored along its axis: the stores' masks do not say that it holds.
  bool looks_further(const Fact& f);
  // The map with choose(less_signed(i, n), f, c) as inside(i, n, f, c) where an operand ends there, and both are numbers of i32.
  Expr with_insides(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns);
  // Whether the map looks at operands that have a fact only where its index is below the bound.
  bool looks_inside(Expr map, const std::vector<Term>& terms, const Fact& f);
  // The map with its conditions written as the operands' facts are that say the same.
  Expr with_bounds_of(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns);
  // The normal form, which asks for what the expression asks for.
  Expr normal_of(Expr e);
  // The normal form; what of it is lost goes to `asked`.
  Expr normal_of(Expr e, std::vector<Asked>& asked);
  static void ask(std::vector<Asked>& all, const Asked& more);
  Asked asking(const Domains::Of& of, unsigned need, const Inst* by);
  // What is asked of something that is chosen, of each that it may be, and of each factor that is not to be 0.
  Domains::Needs parts_of(const Domains::Of& what, unsigned need);
  [[nodiscard]] const Inst* asked_by(const std::vector<Term>& terms, int base) const;
  [[noreturn]] void lost(Expr of, const Asked& what);
  // What is folded or multiplied is many elements in one: of what was asked of each nothing would be left.
  void asks_nothing(const Term& t);
  // What was asked on the way to what is stored, the specification asks too, of the same element.
  void asked_of(Expr wanted, Expr expected, const std::vector<Asked>& asked,
                const std::function<Expr(Expr)>& settled);
  // What a map adds to operand 0 modulo 2^32, as a number of i32: of integer(x0) + f, float(f). Nothing where it is no such sum.
  std::optional<Expr> wrapping_rest(Expr map);
  // A register of i32 holds a number of i32: what it holds, as sums modulo 2^32 have their elements.
  Expr as_i32(Expr e);
  // x0 + x1 + ... of operands alone as integer(x0) + integer(x1) + ...
  Expr as_words(Expr map);
  // integer(x0) + integer(x1) + ... of wrapping sums under way, each once: the fold goes on.
  bool adds_wrapping(Expr map, const std::vector<Term>& terms);
  // max(m, n) of two maxima under way (or of one and the empty one), a + b of two sums: a fold goes on.
  bool joins(Expr map, const std::vector<Term>& terms);
  // Whether a max or min of parts of one fold is one more part in a loop, also where what a mask leaves has been folded before.
  bool extreme_goes_on(Expr map, const std::vector<Term>& terms);
  Term join_all(const std::vector<Term>& terms, const std::vector<int>& columns);
  // A fold under way as a number: it has to be one, so at least one element has to be there, or it is `bounded`: taken beside a number alone.
  Term number_of(const Term& t, const std::vector<int>& columns, bool bounded);
  // A map that is linear in sums under way: what is multiplied goes into the body, what is added are parts of one sum. A
  // factor that the specification gives as an element of a block of k, s(k/128), is constant where the sum moves in one
  // block.
  std::optional<Term> linear(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns);
  // s(t) as s(k / G), for k from `low` to before `high`, which lie in block t.
  Expr within_block(Sym low, Sym high, Expr factor, const std::vector<int>& columns);
  // Which axes the specification indexes by blocks of a summed index, and how long the blocks are.
  void find_blocks();
  static double constant_or_anything(const Term& t);
  // A sum in registers of i32 is the number itself: no element, nor all of a sum under way, passes 2^31 - 1. `made_by`: by what, for a message.
  void whole_numbers(const Term& t, const std::function<std::string()>& made_by);
  void each_inst(const auto& f) const {
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list) f(i);
  }
  // What maps make of numbers, each step as it is computed and not as the normal form has it.
  struct Computed {
    double most = INFINITY;  ///< the absolute value, if nothing were rounded
    double error = INFINITY; ///< how far off what f32 makes of it may be
    bool whole = false;      ///< all numbers on the way are
    [[nodiscard]] bool exact() const { return whole && error == 0; }
    /// Of one or the other.
    [[nodiscard]] Computed or_else(const Computed& x) const {
      return {std::max(most, x.most), std::max(error, x.error), whole && x.whole};
    }
  };
  static constexpr int depth_of_maps = 4; ///< maps of results of maps that are looked at
  Computed computed(const Reg& reg, int depth = depth_of_maps);
  Computed computed(const Inst& map, Expr e, int depth);
  // Whether integers in it are made of what memory holds, and of nothing that f32 has rounded.
  bool as_loaded(const Inst& map, Expr e);
  // The most that rounding makes of anything that a map truncates.
  double error_of_truncated();
  // What the absolute value is at most, for all sizes of the contract; infinite where nothing says it.
  // `within`: the outputs whose specifications it stands in.
  double most_of(Expr e, std::set<int> within);
  // Maps of a loop that go on with what it carries, x0 + f, integer(x0) + f, max(x0, f) or min, where f is no fold: lane by lane.
  bool find_lane_sums(const CodeRegion& r);
  // What such a map adds to operand 0, of numbers or modulo 2^32.
  std::optional<Expr> rest_of(Expr map);
  // Likewise, also of a max or min: of which monoid they go on.
  std::optional<std::pair<Monoid, Expr>> goes_on_with(Expr map);
  // Several of them one after the other, with nothing between that looks at the sum or changes what they add: the last one adds all of it.
  void find_one_sum(const std::vector<Inst>& insts);
  // What such a map leaves: elements that follow one another from trip to trip are a sum over an index, of which each work-item has
  // a part of its own. Nothing where they are none.
  std::optional<Term> lane_sum(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns);
  // t as the part of a sum of `body`, up to `limit` where that is known, that holds index `origin`, or `origin` and a column. Nothing where t is another element.
  std::optional<Term> part_at(const Term& t, Monoid monoid, Sym origin, std::optional<std::size_t> column,
                              const std::vector<int>& columns, Expr body, std::optional<Sym> limit);
  // The sets that have one number each: those of a column.
  int singles(int column);

  // ------------------------------------------------------------ stores: stores.cpp
  void store(State& s, const Inst& i);
  // Every coordinate of a tile once, and every tile.
  void record(Written& w, const Inst& i, const Prepared& r);
  // A part of a sum that is added to memory as the sum that all workgroups along a grid axis make: part number s is over
  // [n s, n (s + 1)) of [0, limit). Gives the axis.
  int sum_of_parts(Term& t, const Tensor& to);
  // Whether `high` is where a workgroup's part of [0, limit) along a grid axis ends: the part, or the whole before it.
  bool ends_part(Sym extent, Sym end, Sym high, Sym limit);
  static Sym end_of_part(const GridAxis& g) { return Sym(g.tile) * g.symbol + Sym(g.tile); }
  static constexpr int axis_of_shares = 2; ///< of the grid: what they take the place of
  void leaves_lds(const State& s, const char* before);
  /// The store of a tensor that comes last in the code, whose line a message names; none where nothing stores it.
  [[nodiscard]] const Inst* last_store(int tensor) const;
  // floor_div(_c0, 128) and the like are columns of their own.
  Expr tabulate(Expr e, std::vector<int>& columns);
  // Conditions that hold, or do not, for all numbers of the columns.
  Expr all_inside(Expr e, const std::vector<int>& columns, std::vector<Asked>* asked = nullptr);
  // Parts of folds that end with the extent, and of one element or none as what they are: sum(i < n over [3, 4), f(i)) is f(3), where
  // 3 is below n.
  Expr parts_inside(Expr e);
  // Without an `inside` that holds for every element of the fold that it stands in.
  Expr folds_inside(Expr e, const std::vector<int>& columns);
  // ------------------------------------------------------------ tickets: tickets.cpp
  void release(State& s, const Inst& i);
  void draw(State& s, const Inst& i);
  void acquire(State& s, const Inst& i);
  // The counter of a ticket or a turn, and the one work-item that `does` something with it.
  void counter_of_group(const Inst& i, int tensor, int along, const std::string& does);
  // What the launch cannot check.
  void callers(const std::string& what, const std::string& why);
  // Of formats that a map rounds to and the kernel computes with: their range.
  void narrowed();
  void await(State& s, const Inst& i);
  void begin_turn(State& s, const Inst& i);
  void pass(State& s, const Inst& i);
  // Whether this path says that the workgroup comes last, or that it does not.
  bool last(const Ticket& k);
  bool not_last(const Ticket& k);
  // The ticket of which this workgroup knows that it is the last.
  std::optional<int> stores_for_all(const State& s);
  // Of an output: what all workgroups stored of it before their ticket, in the one that is the last; or those before, whose
  // turn is over.
  // The latter gives true.
  bool read_of_others(State& s, const Inst& i, const Prepared& r);
  // What they stored as the part of a fold that its specification says, to go on with; false where it says something else, or
  // another specification names it.
  bool part_of_others(Term& term, const Tensor& t, const std::vector<Sym>& index);
  // That an access touches what workgroups along a grid axis store, `w` each: of all, or of those with numbers below `before`.
  void stored_by_others(const std::string& claim, const Written& w, const Prepared& r, int along,
                        std::optional<Sym> before);
  // A sum under way as the part of it that the specification wants; false where that is none, or another.
  bool part_of_sum(Term& t, Expr wanted);

  // What every exit must have done.
  void finish(const State& s);
  // A path that writes nothing of a tensor that starts as 0 and is added to: its part of the specification has to be 0.
  void adds_nothing(const Program::Specification& spec);
  // The tiles of all workgroups make up the tensor.
  void coverage();

  // ------------------------------------------------------------ several devices: devices.cpp
  void device_claims();
  void meet_devices(State& s, const Inst& i);
  void acquire_devices(State& s);
  // Whose memory it is has begun its launch, and has not ended it.
  void load_of_peer(State& s, const Tensor& t);
  void leave_peers(const State& s);

  // ------------------------------------------------------------ what is known, and what was found before
  const Code& code_;
  const Program& p_;
  Prover& prover_;
  Expressions& x_;
  SymContext& context_;
  Derivation out_;
  Columns columns_;
  IndexSets sets_;
  Sym bound_;
  std::vector<Sym> dollars_;
  std::vector<std::pair<AtomId, Sym>> world_, relation_, written_;
  std::vector<std::pair<AtomId, Sym>> splits_; ///< what `world_` says of workgroups by blocks
  /// There is no loop. After one, a factor that follows a sum may belong inside it: the scale of a block of k.
  bool straight_ =
      std::none_of(code_.regions.begin(), code_.regions.end(), [](const auto& r) { return r.is_loop; });
  std::map<const CodeRegion*, Sym> last_trip_; ///< the number of the last trip
  std::vector<LeastEnd> ends_of_loops_;        ///< see the constructor
  std::map<const CodeRegion*, Sym> no_trips_;  ///< loops that no path comes to, and the end that says so
  const Inst* half_ = nullptr;                 ///< the load of a transfer whose write has to be next
  std::unordered_map<const Inst*, Prepared> prepared_;
  struct Read { // what an instruction read of LDS when it ran last
    std::shared_ptr<const std::vector<std::pair<int, int>>> touched; ///< (place, wave), sorted
    std::vector<int> from, of; ///< slot by slot: the slot that was written, and by which of the writes
    std::vector<std::vector<int>> columns; ///< of each write
    std::vector<int> out;                  ///< what that came to
  };
  std::unordered_map<const Inst*, Read> reads_;
  std::map<int, std::vector<int>> places_; ///< see places_of
  std::map<std::tuple<int, int, int, int>, int> cuts_;
  std::map<std::vector<int>, int> joins_;
  std::map<std::tuple<const Atom*, std::size_t, std::vector<int>, std::vector<int>, std::int64_t>, Product>
      products_;
  std::map<std::tuple<const Atom*, std::size_t, bool, int>, Side> sides_;
  std::map<std::pair<const Atom*, int>, Summed> summed_;
  std::map<std::tuple<const Atom*, std::size_t, std::size_t, int>, int> value_by_value_;
  std::map<std::tuple<int, int, int>, bool> blocks_of_;
  std::map<std::tuple<int, int, Monoid>, int> united_;
  std::map<std::tuple<ClaimKind, Sym, Sym>, bool> decided_;
  std::set<std::pair<std::string, int>> recorded_;
  mutable Substitutions replaced_;
  ThreadCoordinates coordinate_of_{p_};
  std::map<std::tuple<std::size_t, int, int>, Sym> ranged_;           ///< see ranged
  std::map<std::pair<int, std::size_t>, std::optional<Sym>> origins_; ///< see origin_of
  std::map<int, bool> only_symbols_;                                  ///< see tabulate
  std::vector<State>
      left_; ///< what exits of this loop left behind, when what follows does not depend on more
  std::size_t trips_begin_ = 0, trips_count_ = 0; ///< see known_of_trips
  mutable bool asked_for_trips_ = false;
  struct StoredTile {
    std::vector<Sym> origin;
    std::vector<int> extents; ///< 0: all of the axis
    friend bool operator==(const StoredTile&, const StoredTile&) = default;
  };
  std::map<int, StoredTile> stored_tile_; ///< by output tensor: what a workgroup writes of it
  std::map<int, std::optional<int>> stored_part_;
  std::map<int, int> by_ticket_; ///< outputs that the last workgroup of a ticket stores
  /// Tensor, turn or ticket, its number: what some workgroup reads of others, so that all have stored it by then.
  std::set<std::tuple<int, bool, int>> needed_;
  std::vector<std::pair<std::map<int, int>, std::map<int, int>>>
      ends_;                                      ///< State::given and State::passed, path by path
  std::vector<std::pair<int, int>> left_to_last_; ///< output and ticket: paths that leave it to the last
  std::vector<Guard> path_;                       ///< which branches are taken, in which trips
  struct Unwritten {
    const Program::Specification* spec;
    std::vector<std::pair<AtomId, Sym>> relation; ///< what is known on that path
  };
  std::vector<Unwritten> unwritten_;
  /// first <= second: the first coordinate of a workgroup's tile, and what of the size comes with it, of a size that is cut into tiles
  /// along another axis or by a loop, too. `world_` has one of the cuts.
  std::vector<std::pair<Sym, Sym>> begun_;
  std::vector<std::pair<Sym, Sym>> given_; ///< first <= second: which of two ends of a loop is the least
  std::deque<Around> nests_;               ///< outer ones first
  std::vector<Running> running_;           ///< likewise
  struct Open {
    std::set<RegKey> had;                         ///< registers that have a value before it
    Sym last{};                                   ///< the number of its last trip, as it is known before it
    std::set<AtomId> counts{};                    ///< symbols that say more of that in its trips
    std::vector<std::pair<AtomId, Sym>> before{}; ///< `relation_` when it began
  };
  std::map<const Around*, Open> open_; ///< nests that are run
  std::optional<double> error_of_truncated_;
  std::map<int, std::string>
      forgotten_{};    ///< tiles in LDS that somebody has written, and why that is not known further on
  int inductions_ = 0; ///< steps of loops that are under way
  std::optional<Choice> choice_; ///< of the branch that is run
  const Inst* at_ = nullptr;
  std::optional<std::source_location> line_{}; ///< of what is no instruction, where there is no `at_`
  Sym trip_value_{};
  int number_ = 0, ring_ = 1;
  bool exiting_ = false;       ///< on the way out of a loop: its number of trips is known
  int row_table_ = -1;         ///< see row_index
  std::vector<Sym> row_entry_; ///< likewise: by the table's axes
  std::set<int> lane_sums_;    ///< operations: see find_lane_sums
  /// Of maps that add to one sum: the last as one that adds all of it, and the others as nothing.
  std::map<const Inst*, std::optional<Inst>> one_sum_;
  std::map<int, int> singles_; ///< see singles
  Domains domains_;
  Choices choices_;
  Content content_{code_};
  std::map<std::vector<int>, int> coordinates_;                 ///< of tensors in place, each a number
  std::map<std::pair<int, std::size_t>, std::int64_t> blocked_; ///< see factors
  std::set<std::pair<int, std::size_t>> summed_axes_;           ///< tensor and axis: see one_of_sum
};

} // namespace inlay::codegen::provenance
