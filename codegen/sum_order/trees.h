// The trees of sums (codegen/sum_order.h): the same instructions run with trees in place of terms. Start at `run`; `one` is one
// instruction (instructions.cpp), `regions` are loops and branches (flow.cpp), `text` says a tree in words (text.cpp).
#pragma once

#include <inlay/codegen/code.h>
#include <inlay/codegen/expression.h>

#include <inlay/algebra/small_vector.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace inlay::codegen::sums {

using Key = SmallVector<std::int64_t, 8>;
[[nodiscard]] inline std::uint64_t hash_of(std::span<const std::int64_t> key, std::uint64_t h = 0) {
  for (const std::int64_t x : key) h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15, h ^= h >> 29;
  return h;
}

/// Of a node: what stands first in its key.
enum Kind : std::uint8_t {
  unset,   ///< nothing, or something that is not followed
  load,    ///< tensor, coordinates
  fill,    ///< the value's bits
  product, ///< atom, accumulator, the row of either operand (a list of k), and of scales
  list,    ///< nodes
  map,     ///< expression, element, places, operands
  fold,    ///< monoid, nodes in order; before those of a whole register of c > 1 elements, -c
  lanes,   ///< monoid, two nodes
  best,    ///< whether its place, rank, how many, bits of lanes, nodes in the order of lanes and registers
  carried, ///< loop, pass, class: what a loop has from the trip before
  loop,    ///< region, before the loop, what a trip makes of it, the carried one
  branch,  ///< number of the condition, then, otherwise
  mixed,   ///< of several rows
  drawn    ///< a ticket's number
};

/// What a tree depends on beside data.
struct Cause {
  /// `choice`: a map says so. `trip`: the number of a loop's trip.
  enum class What : std::uint8_t {
    cut,
    bound,
    choice,
    grid,
    trip,
    uniform,
    share,
    ticket,
    rows,
    unknown
  } what;
  AtomId atom = 0; ///< the size, or the number
  int op = -1;
  std::source_location where;
  std::string text;
};
inline constexpr std::size_t most_causes = 256;
using Causes = std::bitset<most_causes>; ///< the last one: there are more

struct Node {
  std::span<const std::int64_t> key;
  const Causes* causes = nullptr;
  bool exact = false; ///< sums of integers: the same in any order
};

/// One node for one key, what it depends on and whether it is exact: two that differ in these alone are two.
class Nodes {
public:
  int add(std::span<const std::int64_t> key, const Causes& causes, bool exact);
  [[nodiscard]] const Node& operator[](int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

private:
  std::span<const std::int64_t> keep(std::span<const std::int64_t> key);
  void grow();

  std::vector<Node> nodes_;
  std::vector<std::uint64_t> hashes_;                   ///< by node
  std::vector<int> table_ = std::vector<int>(1024, -1); ///< open addressing: the number of a node, or -1
  std::vector<std::unique_ptr<std::int64_t[]>> blocks_; ///< the words of keys
  std::int64_t* next_ = nullptr;                        ///< the next word in the last block
  std::size_t free_ = 0;                                ///< words left there
  std::unordered_set<Causes> sets_;
  const Causes* last_ = nullptr; ///< most nodes depend on what the one before them does
};

/// A tree and the row that its leaves of a row are of.
struct Value {
  int id = 0;
  int row = 0; ///< none, several, or a number of `rows_`
  friend bool operator==(const Value&, const Value&) = default;
};
inline constexpr int no_row = 0, several = 1;

/// Along one axis of the first output.
class Trees {
public:
  /// `batch`: how many rows there are; nothing: no rows are looked at.
  Trees(const Graph& graph, std::optional<Sym> batch) : g_(graph), p_(*graph.program), batch_(batch) {
    intern({unset}, cause({Cause::What::unknown, 0, -1, p_.where(), "a value that the rules do not follow"}));
    number_ops();
    find_rows();
  }

  void run();

  /// What is stored of an output.
  struct Stored {
    Causes causes;
    bool foreign = false;   ///< a row of it is of other rows
    bool of_rows = false;   ///< it has no axis of rows, and holds what is of one
    bool apart = false;     ///< two rows are summed in different ways
    std::vector<Key> paths; ///< branches that were open
    struct Hash {
      std::size_t operator()(const Key& key) const { return hash_of(key.span()); }
    };
    /// By column: number of a path, and the tree of the first element there.
    std::unordered_map<Key, SmallVector<std::pair<int, int>, 1>, Hash> by_column;
    bool by_trip = false; ///< a row's value depends on the trip that has it
    /// By operation: what says which elements it stores, of where a loop ends and where a tile begins.
    std::map<int, Causes> elements;
    std::set<AtomId> origin; ///< numbers that its coordinates are made of
    int first = -1;          ///< the tree of the first element
    const Inst* at = nullptr;
    std::set<Key> ways; ///< branches that are open where it is stored, up to the first that a ticket decides
    const Inst* drawn = nullptr; ///< stored where a ticket says so
  };
  std::map<int, Stored> stored;
  std::set<std::int64_t> ticket_branches;
  std::vector<Cause> causes;
  std::vector<const Inst*> atomic;                           ///< sums of floats, added by atomics
  std::vector<std::pair<const Inst*, AtomId>> own_of_ticket; ///< the last workgroup's own part

  [[nodiscard]] std::optional<std::size_t> row_axis(const Tensor& t) const;
  /// Whether a number of the workgroup is the entry of the row that it has.
  [[nodiscard]] bool of_own_row(AtomId uniform);
  /// An input two rows of which may share elements, as those of (m,n):(1,1) do; not one whose rows are all the same elements.
  [[nodiscard]] const Tensor* rows_overlap() const;
  [[nodiscard]] std::string text(int id) const { return describe(id, 0); }

private:
  struct RowAxis {
    Sym at{};            ///< the specification's index
    bool itself = false; ///< it is the coordinate
    AtomId coordinate = 0;
    bool other = false; ///< or another index elsewhere
  };
  using Slots = std::vector<Value>;
  struct State {
    std::vector<Slots> regs;
    std::map<int, Slots> lds;
  };

  // ------------------------------------------------------------------------------------------- nodes and causes
  std::size_t cause(Cause c);
  int intern(const Key& key, const Causes& own, bool exact = false) {
    return nodes_.add(key.span(), own, exact);
  }
  int intern(const Key& key, std::size_t own);
  [[nodiscard]] const Node& node(int id) const { return nodes_[id]; }
  [[nodiscard]] const Causes& causes_of(int id) const { return *node(id).causes; }

  void causes_of_atoms(Causes& out, const std::vector<AtomId>& atoms, Cause::What of_size, int op,
                       const std::source_location& where, const std::string& text);
  Causes of_formula(Sym s, Cause::What of_size, const Inst& i, const std::string& text);

  // The row of what is made of these.
  [[nodiscard]] static int row_of(int a, int b) {
    return a == no_row || a == b ? b : b == no_row ? a : several;
  }
  [[nodiscard]] static int row_of(std::span<const Value> of) {
    int row = no_row;
    for (const Value& v : of) row = row_of(row, v.row);
    return row;
  }
  // Several nodes and rows as one value of `key`.
  Value make(const Inst& i, const Key& key, std::span<const Value> of, const Causes& own = {},
             bool exact = false);

  // ------------------------------------------------------------------------------------------- what the program says
  void number_ops();

  // Which axes of which tensors have the row's number as index, as the specifications say.
  void find_rows();
  void loaded(const ExprNode& n, AtomId c);
  void put_row(int tensor, std::size_t axis, Sym at, AtomId c);
  // The number of the row where a workgroup has one.
  std::optional<Sym> only_row();

  // ------------------------------------------------------------------------------------------- instructions
  /// Where an instruction's elements are.
  struct At {
    std::vector<std::vector<int>> axis; ///< [axis][thread * elements + e]
    std::vector<int> least, count;      ///< [axis]: the coordinates along it
    std::vector<int> place;             ///< [thread * elements + e] in LDS
  };
  const At& at_of(const Inst& i);
  // Elements by their coordinates along some axes: as numbers below `size`, which is 0 where there are too many.
  struct Column {
    std::vector<std::pair<const int*, int>> along; // from the least on, and how far apart
    std::size_t size = 1;
    int least = 0;
    [[nodiscard]] std::size_t of(std::size_t slot) const {
      int n = -least;
      for (const auto& [axis, step] : along) n += axis[slot] * step;
      return static_cast<std::size_t>(n);
    }
  };
  template <class F>
  static Column column_of(const At& at, F is_part) {
    Column out;
    std::size_t slots = 0;
    for (std::size_t a = 0; a < at.axis.size(); ++a) {
      if (!is_part(a)) continue;
      slots = std::max(slots, at.axis[a].size());
      if (out.size > slots) return out.size = 0, out;
      const int step = static_cast<int>(out.size);
      out.along.emplace_back(at.axis[a].data(), step);
      out.least += at.least[a] * step;
      out.size *= static_cast<std::size_t>(at.count[a]);
    }
    if (out.size > std::max<std::size_t>(4 * slots, 1)) out.size = 0;
    return out;
  }
  [[nodiscard]] bool runs(const Inst& i, int thread) const {
    return i.waves.contains(thread / p_.target().wave_size);
  }
  // The elements of a register that a thread has.
  [[nodiscard]] Value* elements(const Reg& r, int thread) {
    return regs_[static_cast<std::size_t>(r.id)].data() +
           thread * g_.registers[static_cast<std::size_t>(r.id)].count + r.first;
  }
  [[nodiscard]] Value at(const Reg& r, int thread, int e = 0) { return elements(r, thread)[e]; }
  template <class F>
  void each_def(const Inst& i, F f) {
    for (int t = 0; t < p_.threads(); ++t) {
      if (!runs(i, t)) continue;
      Value* const to = elements(i.def, t);
      for (int e = 0; e < i.def.count; ++e) to[e] = f(t, e);
    }
  }
  [[nodiscard]] Element element(const Reg& r) const {
    return g_.registers[static_cast<std::size_t>(r.id)].element;
  }

  void one(const Inst& i);

  int number_of(Sym s) { return syms_.try_emplace(s, static_cast<int>(syms_.size())).first->second; }
  /// Where a tile begins along an axis: the number of what is no constant in it, and the constant.
  struct Origin {
    Sym at{};
    int number = -1;
    std::int64_t constant = 0;
  };
  Origin origin_of(Sym s);
  // A row by its number: equal rows are equal numbers, as far as they differ from one another by a constant.
  int row_number(const Origin& origin, int at);
  // The same of an origin's rows, each looked up once.
  class Rows {
  public:
    Rows(Trees& trees, Origin origin) : trees_(trees), origin_(origin) {}
    int operator()(int at) {
      if (at < 0) return trees_.row_number(origin_, at);
      const auto n = static_cast<std::size_t>(at);
      if (n >= known_.size()) known_.resize(n + 1, no_row);
      if (known_[n] == no_row) known_[n] = trees_.row_number(origin_, at);
      return known_[n];
    }

  private:
    Trees& trees_;
    Origin origin_;
    std::vector<int> known_;
  };
  // What a trip leaves of its own row is of another row for the next trip, and after the loop.
  [[nodiscard]] int after_trip(int row, AtomId trip) const;

  void load_from(const Inst& i);
  /// Whether an axis so long has a place for each row, however many there are.
  [[nodiscard]] bool holds_all_rows(Sym extent) const;
  [[nodiscard]] bool mentions_batch(Sym s) const;
  // Of a window whose axis `row` is the rows': whether it shows a row what another one has.
  [[nodiscard]] bool looks_at_others(const Tensor& t, std::optional<std::size_t> row) const;

  const std::vector<int>& places(const Inst& i);
  Slots& cells(const Tensor& t);
  void write(const Inst& i);
  void read(const Inst& i);

  void multiply(const Inst& i);

  void apply(const Inst& i);

  void store_to(const Inst& i);

  // ------------------------------------------------------------------------------------------- regions
  void regions(std::size_t first, std::size_t last, std::size_t depth);
  void merge(int which, const Causes& own, const State& then);

  // What is carried from trip to trip: places are of one class while what they had before the loop and what a trip makes of them
  // are the same; classes are split until they stay.
  void run_loop(std::size_t number);

  // ------------------------------------------------------------------------------------------- as text
  [[nodiscard]] std::string describe(int id, int depth) const;
  [[nodiscard]] std::string described(int id, int depth) const;

  const Graph& g_;
  const Program& p_;
  std::optional<Sym> batch_;
  Nodes nodes_;
  std::map<AtomId, std::pair<int, std::source_location>> loop_op_;
  std::vector<std::pair<int, std::source_location>> if_op_;
  std::set<AtomId> loops_, shares_;
  std::map<std::pair<int, std::size_t>, RowAxis> row_axes_;
  std::set<std::pair<int, std::size_t>> others_;
  std::optional<std::optional<Sym>> only_row_;
  std::unordered_map<const Inst*, At> at_;
  struct Places { ///< of a matrix instruction's results and operands, by lane and element
    int number = 0;
    std::vector<int> c_row, c_column;
    std::array<std::vector<int>, 2> operand; ///< row * k of them + k
  };
  std::map<const Atom*, Places> atoms_;
  struct Operand {                 ///< of a matrix instruction, in one wave
    std::vector<Value> all;        ///< [row * k + k], and the scales lane by lane
    std::vector<Value> list;       ///< of each row
    std::vector<std::size_t> kind; ///< of each row: those of one kind have one list
    std::vector<int> kinds;        ///< the list of each kind
  };
  const Operand& operand(const Inst& i, const Places& of, std::size_t side, int wave);
  std::map<std::array<int, 5>, Operand>
      operands_; ///< as they were last, by operation, side, register and wave
  std::map<Sym, int> syms_;
  std::map<std::pair<int, std::int64_t>, int> rows_;
  std::vector<std::vector<AtomId>> row_symbols_; ///< by number of row, from 2 on
  std::vector<Slots> regs_;
  std::map<int, Slots> lds_;
  std::vector<std::pair<Causes, bool>> guards_; ///< open ones, and whether a ticket's number is part of it
  Key path_;                                    ///< branches that are open, and which way
  std::vector<std::pair<AtomId, Causes>> open_; ///< loops, and what says how many trips they have
  std::optional<Causes> in_turn_;
  int branches_ = 0;
  mutable std::unordered_map<int, std::string> described_;
};

} // namespace inlay::codegen::sums
