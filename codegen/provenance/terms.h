/// What the interpreter knows of a place: a term over columns, and the state of a workgroup's registers and LDS.
#pragma once

#include <inlay/codegen/code.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace inlay::codegen::provenance {

using Column = std::vector<int>;

/// Tables, each kept once: equal tables are equal numbers.
class Columns {
public:
  int intern(Column c) {
    const std::string_view bytes(reinterpret_cast<const char*>(c.data()), c.size() * sizeof(int));
    std::vector<int>& bucket = table_[std::hash<std::string_view>{}(bytes)];
    for (const int id : bucket)
      if (columns_[static_cast<std::size_t>(id)] == c) return id;
    bucket.push_back(static_cast<int>(columns_.size()));
    const auto [low, high] = std::minmax_element(c.begin(), c.end());
    ranges_.emplace_back(c.empty() ? 0 : *low, c.empty() ? 0 : *high);
    columns_.push_back(std::move(c));
    return bucket.back();
  }
  const Column& operator[](int id) const { return columns_[static_cast<std::size_t>(id)]; }
  /// The least and the greatest of its numbers; of an empty one 0.
  std::pair<int, int> range(int id) const { return ranges_[static_cast<std::size_t>(id)]; }

private:
  std::deque<Column> columns_;
  std::vector<std::pair<int, int>> ranges_;
  std::unordered_map<std::size_t, std::vector<int>> table_;
};

/// Sets of integers as disjoint intervals [low, high), each kept once.
using Intervals = std::vector<std::pair<int, int>>;
class IndexSets {
public:
  int of(std::vector<int> values, bool& twice) {
    std::sort(values.begin(), values.end());
    Intervals s;
    for (const int v : values) {
      if (!s.empty() && v < s.back().second) {
        twice = true;
      } else if (!s.empty() && v == s.back().second) {
        ++s.back().second;
      } else {
        s.emplace_back(v, v + 1);
      }
    }
    return intern(std::move(s));
  }
  int unite(int a, int b, bool& twice) {
    if (a == b && !sets_[static_cast<std::size_t>(a)].empty()) twice = true;
    const auto key = std::pair(a, b);
    if (const auto found = unions_.find(key); found != unions_.end()) {
      twice = twice || found->second.second;
      return found->second.first;
    }
    Intervals all = sets_[static_cast<std::size_t>(a)], out;
    const Intervals& other = sets_[static_cast<std::size_t>(b)];
    all.insert(all.end(), other.begin(), other.end());
    std::sort(all.begin(), all.end());
    bool overlap = false;
    for (const auto& [low, high] : all) {
      if (!out.empty() && low < out.back().second) overlap = true;
      if (!out.empty() && low <= out.back().second) {
        out.back().second = std::max(out.back().second, high);
      } else {
        out.emplace_back(low, high);
      }
    }
    const int id = intern(std::move(out));
    unions_.emplace(key, std::pair(id, overlap));
    twice = twice || overlap;
    return id;
  }
  const Intervals& operator[](int id) const { return sets_[static_cast<std::size_t>(id)]; }

private:
  int intern(Intervals s) {
    const auto [at, fresh] = ids_.emplace(s, static_cast<int>(sets_.size()));
    if (fresh) sets_.push_back(std::move(s));
    return at->second;
  }
  std::map<Intervals, int> ids_;
  std::vector<Intervals> sets_;
  std::map<std::pair<int, int>, std::pair<int, bool>> unions_;
};

/// Where index >= bound, the value is `fill`, or anything when it is NaN. A condition is one that the expression says too:
/// nothing depends on it, and it may be forgotten.
struct Fact {
  Sym index, bound;
  double fill;
  bool condition = false;
  friend bool operator==(const Fact& a, const Fact& b) {
    return a.index == b.index && a.bound == b.bound && a.condition == b.condition &&
           (a.fill == b.fill || (std::isnan(a.fill) && std::isnan(b.fill)));
  }
};
/// What y says in the order in which x says it: facts are a set, and what was joined in another order has them in another one.
inline void order_like(const std::vector<Fact>& x, std::vector<Fact>& y) {
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
    const auto same = std::find(y.begin() + static_cast<std::ptrdiff_t>(i), y.end(), x[i]);
    if (same != y.end()) std::iter_swap(y.begin() + static_cast<std::ptrdiff_t>(i), same);
  }
}
/// A max or a min of numbers: under way it is a number, too.
constexpr bool is_extreme(Monoid m) { return m == Monoid::max || m == Monoid::min; }
constexpr double anything = std::numeric_limits<double>::quiet_NaN();

/// What operations on the way to a value ask of an expression, and the value's normal form does not: bits of Domains::Need.
struct Asked {
  Expr base; ///< in normal form
  unsigned need = 0;
  const Inst* by = nullptr;  ///< what lost it
  std::vector<Expr> where{}; ///< only where all of these are 1 (Domains::Of)
  friend bool operator==(const Asked& a, const Asked& b) {
    return a.base == b.base && a.need == b.need && a.where == b.where;
  }
};

/// A term for each thread and value. Placeholders `_ci` in expressions stand for columns[i].
struct Term {
  Expr expr; ///< the value; the body while a fold is under way
  std::vector<int> columns;
  std::vector<Fact> facts;
  std::vector<Asked> asked; ///< of the same element; none of a fold under way
  // A fold under way: the monoid over `bound` in intervals + (origin + the set of the slot), of [0, limit).
  bool partial = false;
  Monoid monoid = Monoid::sum;
  Sym limit{};
  std::vector<std::pair<Sym, Sym>> intervals;
  std::vector<Sym> ends;   ///< from each of them on, the body is the monoid's empty element
  std::vector<Sym> begins; ///< and before each of these
  bool has_part = false;
  Sym origin{};
  int sets = -1; ///< a column of set numbers
  // Parts of trips before: `rounds` of them, `stride` from one to the next. While the fold goes on they begin at `first`, each of
  // the sets `first_sets`, and the part above is the one under way; once it is over (`close`) `first_sets` is -1, and `origin` and
  // `sets` are those of the first of all rounds.
  std::int64_t stride = 0;
  Sym rounds{}, first{};
  int first_sets = -1;
  [[nodiscard]] bool in_rounds() const { return !(rounds == Sym(0)); }
  /// Of an accumulator: what is added to this one, other sums under way and what it held before them. The place holds all of them
  /// together; whoever takes its value takes `Interpreter::total`.
  std::vector<Term> others{};
  int summed_by = -1; ///< the operation whose products it sums
};

inline bool operator==(const Term& a, const Term& b);
inline bool same_skeleton(const Term& a, const Term& b) {
  return a.expr == b.expr && a.columns.size() == b.columns.size() && a.facts == b.facts &&
         a.asked == b.asked && a.partial == b.partial && a.monoid == b.monoid && a.limit == b.limit &&
         a.intervals == b.intervals && a.ends == b.ends && a.begins == b.begins && a.has_part == b.has_part &&
         a.origin == b.origin && a.stride == b.stride && a.rounds == b.rounds && a.first == b.first &&
         (a.first_sets < 0) == (b.first_sets < 0) && a.others == b.others;
}
inline bool operator==(const Term& a, const Term& b) {
  return same_skeleton(a, b) && a.columns == b.columns && a.sets == b.sets && a.first_sets == b.first_sets;
}

enum class Status : std::uint8_t { pending, done, published };

/// How many barriers the lower and the upper half of the waves have run. All waves walk one list; a barrier for one half alone puts
/// the halves apart, and one for the other half puts them in step again.
using Barriers = std::array<int, 2>;
/// An access that has been waited for, and how many barriers each half had run by then: wave b comes after that of wave a once it has
/// run more of them than a had.
struct Passed {
  bool done = false;
  Barriers at{};
  /// From half `from` to half `to`.
  [[nodiscard]] bool there(const Barriers& now, int from, int to) const {
    return done && now[static_cast<std::size_t>(to)] > at[static_cast<std::size_t>(from)];
  }
  /// From any wave to any other.
  [[nodiscard]] bool published(const Barriers& now) const {
    return done && std::min(now[0], now[1]) > std::max(at[0], at[1]);
  }
  /// All that later barriers ask, as numbers that repeat from trip to trip: barriers since then, as far as they count.
  [[nodiscard]] std::array<int, 3> age(const Barriers& now) const {
    const auto since = [&](std::size_t half) { return done ? std::min(now[half] - at[half], 2) : 0; };
    return {done ? 1 : 0, since(0), since(1)};
  }
};

struct Cell {
  int term = -1; ///< index into State::terms
  int slot = 0;
  int batch = -1;
  int wave = 0;
};
struct Batch {
  Passed passed;
};
struct Reading {
  Passed passed;
  std::shared_ptr<const std::vector<std::pair<int, int>>> cells; ///< (place, wave), sorted
  std::uint32_t waves = 0;                                       ///< that read, as bits
};
using RegKey = std::pair<int, int>; // register, iteration counted from the loop's start
struct RegState {
  Term term;
  bool pending = false;
  std::uint32_t waves = ~0U; ///< that have it, as bits
  friend bool operator==(const RegState&, const RegState&) = default;
};
struct Queued {
  enum class What { reg, write, read, none } what = What::none;
  RegKey reg{};
  int index = -1;
  std::pair<int, int> stage{};
  std::uint32_t waves = 0, left = 0; ///< whose access it is, and of which it may be under way; as bits
  friend bool operator==(const Queued&, const Queued&) = default;
};

/// The cells of a stage of LDS. States share them until one of them writes: every exit of a loop begins with a copy of its state.
class Cells {
public:
  [[nodiscard]] const std::vector<Cell>& read() const { return *cells_; }
  [[nodiscard]] std::vector<Cell>& write() {
    if (cells_.use_count() != 1) cells_ = std::make_shared<std::vector<Cell>>(*cells_);
    return *cells_;
  }

private:
  std::shared_ptr<std::vector<Cell>> cells_ = std::make_shared<std::vector<Cell>>();
};

/// What a workgroup has written of an output: tiles that stand where they stand, and where they follow one another along an
/// axis, how far.
struct Written {
  struct Tile {
    std::vector<Sym> origin;
    std::vector<int> extents;
    std::vector<bool> done; ///< coordinate by coordinate, the first one fastest
    [[nodiscard]] bool whole() const { return std::find(done.begin(), done.end(), false) == done.end(); }
    /// The number of a coordinate in `done`; absent outside of the tile.
    [[nodiscard]] std::optional<std::size_t> index(const std::vector<int>& at) const {
      std::size_t n = 0;
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        if (at[axis] < 0 || at[axis] >= extents[axis]) return std::nullopt;
        n = n * static_cast<std::size_t>(extents[axis]) + static_cast<std::size_t>(at[axis]);
      }
      return n;
    }
    friend bool operator==(const Tile&, const Tile&) = default;
  };
  friend bool operator==(const Written&, const Written&) = default;
  std::vector<Tile> tiles;               ///< under way; without an axis the only one
  int axis = -1;                         ///< along which tiles follow one another
  std::vector<Sym> origin;               ///< of all of them, but along the axis
  std::vector<int> extents;              ///< likewise
  std::vector<std::pair<Sym, Sym>> runs; ///< of whole tiles, along the axis
};

struct State {
  std::map<RegKey, RegState> regs;
  std::vector<Term> terms; ///< of LDS
  std::map<std::pair<int, int>, Cells> lds;
  std::vector<Batch> batches;
  std::map<std::pair<int, int>, std::vector<Reading>> readings;
  std::deque<Queued> vm, lgkm;
  Barriers barriers{};
  /// By how many the upper half has run more.
  [[nodiscard]] int apart() const { return barriers[1] - barriers[0]; }
  std::map<int, Written> stored; ///< by output tensor
  std::map<int, std::pair<std::vector<Sym>, std::vector<int>>>
      read_tile; ///< of a tensor in place: origin, extents
  std::map<int, std::optional<int>>
      stored_part; ///< the grid axis that counts the parts of it that are added, or of which the last workgroup stores it
  std::optional<Status> released;   ///< since the last store: by the wave (done), by all waves (published)
  bool released_to_devices = false; ///< and that for all devices, not for this one alone
  std::optional<Status>
      meeting; ///< of the devices: work-items have waited for all of them (done), all waves after them (published)
  bool knows_peers = false;        ///< every wave has acquired what came before the meeting
  int read_of_peers = -1;          ///< a tensor of which something was loaded since the last one
  const Inst* peer_load = nullptr; ///< the last that loaded it: where a refusal points
  std::set<int> drawn, taken;      ///< tickets
  std::map<int, int> given;        ///< tensors that were stored before a ticket was drawn: the first such
  std::map<int, Status> awaited;   ///< turns: a work-item has waited, all waves have acquired (published)
  std::set<int> met, signalled;    ///< turns: after a barrier after the wait; passed on
  std::map<int, int> passed;       ///< tensors that were stored before a turn was passed on: the first such
  struct Early {                   ///< read of those before, in a turn that is not over
    int turn, tensor;
    std::vector<Sym> origin;
    std::vector<std::vector<int>> coordinate;
    friend bool operator==(const Early&, const Early&) = default;
  };
  std::vector<Early> early;
};

} // namespace inlay::codegen::provenance
