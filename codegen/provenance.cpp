// The interpreter of provenance.h. Read `Interpreter::run` first, then the rules in the order of the header.
#include <inlay/codegen/address.h>
#include <inlay/codegen/provenance.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace inlay::codegen {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Refuted {
  std::string claim, subject, counterexample;
};

using Column = std::vector<int>;

/// Tables, each kept once: equal tables are equal numbers.
class Columns {
public:
  int intern(Column c) {
    std::uint64_t h = c.size();
    for (const int v : c) h = (h ^ static_cast<std::uint32_t>(v)) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29;
    for (const int id : table_[h])
      if (columns_[static_cast<std::size_t>(id)] == c) return id;
    table_[h].push_back(static_cast<int>(columns_.size()));
    columns_.push_back(std::move(c));
    return table_[h].back();
  }
  const Column& operator[](int id) const { return columns_[static_cast<std::size_t>(id)]; }

private:
  std::deque<Column> columns_;
  std::unordered_map<std::uint64_t, std::vector<int>> table_;
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

/// Where index >= bound, the value is `fill`, or anything when it is NaN.
struct Fact {
  Sym index, bound;
  double fill;
  friend bool operator==(const Fact& a, const Fact& b) {
    return a.index == b.index && a.bound == b.bound &&
           (a.fill == b.fill || (std::isnan(a.fill) && std::isnan(b.fill)));
  }
};
constexpr double anything = std::numeric_limits<double>::quiet_NaN();

/// A term for each thread and value. Placeholders `_ci` in expressions stand for columns[i].
struct Term {
  Expr expr; ///< the value; the body while a fold is under way
  std::vector<int> columns;
  std::vector<Fact> facts;
  // A fold under way: the monoid over `bound` in intervals + (origin + the set of the slot), of [0, limit).
  bool partial = false;
  Monoid monoid = Monoid::sum;
  Sym limit{};
  std::vector<std::pair<Sym, Sym>> intervals;
  bool has_part = false;
  Sym origin{};
  int sets = -1; ///< a column of set numbers
};

bool same_skeleton(const Term& a, const Term& b) {
  return a.expr == b.expr && a.columns.size() == b.columns.size() && a.facts == b.facts &&
         a.partial == b.partial && a.monoid == b.monoid && a.limit == b.limit && a.intervals == b.intervals &&
         a.has_part == b.has_part && a.origin == b.origin;
}

enum class Status : std::uint8_t { pending, done, published };

struct Cell {
  int term = -1; ///< index into State::terms
  int slot = 0;
  int batch = -1;
  int wave = 0;
};
struct Batch {
  Status status = Status::pending;
};
struct Reading {
  Status status = Status::pending;
  std::shared_ptr<const std::vector<std::pair<int, int>>> cells; ///< (place, wave), sorted
};
using RegKey = std::pair<int, int>; // register, iteration counted from the loop's begin
struct RegState {
  Term term;
  bool pending = false;
};
struct Queued {
  enum class What { reg, write, read, none } what = What::none;
  RegKey reg{};
  int index = -1;
  std::pair<int, int> stage{};
};

struct State {
  std::map<RegKey, RegState> regs;
  std::vector<Term> terms; ///< of LDS
  std::map<std::pair<int, int>, std::vector<Cell>> lds;
  std::vector<Batch> batches;
  std::map<std::pair<int, int>, std::vector<Reading>> readings;
  std::deque<Queued> vm, lgkm;
  std::map<int, std::vector<bool>> stored; ///< output tensor -> coordinates of its tile
  std::map<int, std::pair<std::vector<Sym>, std::vector<int>>> stored_tile; ///< origin, extents
};

class Interpreter {
public:
  Interpreter(const Code& code, Prover& prover)
      : code_(code), p_(*code.program), prover_(prover), x_(p_.expressions()), context_(p_.symbols()) {
    bound_ = context_.symbol("_index", {Int(0), std::nullopt});
  }

  Derivation run() {
    try {
      make_world();
      find_blocks();
      static_claims();
      regions(State{}, 0);
      coverage();
    } catch (const Refuted& r) {
      fail(r);
    } catch (const LayoutError& e) {
      fail({"the layouts of the operation fit together", "", e.what()});
    }
    return std::move(out_);
  }

private:
  // ------------------------------------------------------------------------------------------------- claims

  void fail(const Refuted& r) {
    DerivedClaim c{r.claim, r.subject,       "provenance", at_ ? at_->op : -1, at_ ? at_->where : p_.where(),
                   false,   r.counterexample};
    out_.claims.push_back(std::move(c));
  }
  // Recorded once: a claim that every trip makes again is one claim.
  void prove(const std::string& claim, const std::string& subject, const std::string& method) {
    const int op = at_ ? at_->op : -1;
    if (!recorded_.emplace(claim, op).second) return;
    out_.claims.push_back({claim, subject, method, op, at_ ? at_->where : p_.where(), true, ""});
  }
  [[noreturn]] static void refute(const std::string& claim, const std::string& subject,
                                  const std::string& why) {
    throw Refuted{claim, subject, why};
  }

  bool decide(ClaimKind kind, Sym a, Sym b) {
    const Truth t = kind == ClaimKind::less_equal ? le(a, b)
                    : kind == ClaimKind::divides  ? divides(a, b)
                                                  : eq(a, b);
    if (t != Truth::unknown) return t == Truth::yes;
    const auto key = std::tuple(kind, a, b);
    if (const auto found = decided_.find(key); found != decided_.end()) return found->second;
    const bool yes = prover_.decide({kind, {a, b}, {}}) == Truth::yes;
    decided_.emplace(key, yes);
    return yes;
  }
  bool less_equal(Sym a, Sym b) { return decide(ClaimKind::less_equal, relate(a), relate(b)); }

  // The numbers that _c0, _c1, ... can have, as symbols with ranges.
  Sym ranged(Sym s, const std::vector<int>& columns) {
    std::vector<std::pair<AtomId, Sym>> replace;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& c = columns_[columns[i]];
      const auto [low, high] = std::minmax_element(c.begin(), c.end());
      replace.emplace_back(*dollar(i).as_atom(),
                           *low == *high ? Sym(*low)
                                         : context_.symbol("_in" + number_name(*low) + "_" +
                                                               number_name(*high) + "_" + std::to_string(i),
                                                           {Int(*low), Int(*high)}));
    }
    return substitute(s, replace);
  }

  static std::string number_name(int v) { return v < 0 ? "m" + std::to_string(-v) : std::to_string(v); }

  Sym dollar(std::size_t i) {
    while (dollars_.size() <= i)
      dollars_.push_back(context_.symbol("_c" + std::to_string(dollars_.size()), {Int(0), std::nullopt}));
    return dollars_[i];
  }

  // ------------------------------------------------------------------------------------------ sizes and facts

  // Facts as substitutions (DESIGN of Sym): the extent of a grid axis is n*wg + g*(1 + rest), of a loop n*T + g*q.
  void make_world() {
    const auto size_of = [&](Sym s) -> const Size* {
      for (const Size& z : p_.sizes())
        if (z.symbol == s) return &z;
      return nullptr;
    };
    const auto known = [&](Sym s) {
      return std::any_of(world_.begin(), world_.end(),
                         [&](const auto& w) { return w.first == *s.as_atom(); });
    };
    for (const CodeRegion& r : code_.regions) {
      if (!r.is_loop) continue;
      const Size* z = size_of(r.extent);
      if (!z || known(z->symbol)) continue;
      const std::int64_t g = std::gcd(z->facts.multiple, static_cast<std::int64_t>(r.tile));
      const Sym trips = context_.symbol("_trips_" + z->name, {Int(0), Int((z->facts.most - 1) / r.tile)});
      const std::int64_t units = r.tile / g; // of the last tile: 1 to all of them
      const Sym rest = units == 1 ? Sym(1)
                                  : context_.symbol("_rest_" + z->name + "_" + std::to_string(units),
                                                    {Int(1), Int(units)});
      world_.emplace_back(*z->symbol.as_atom(), Sym(r.tile) * trips + Sym(g) * rest);
      last_trip_[&r] = trips;
    }
    for (const GridAxis& a : p_.grid()) {
      const Size* z = size_of(a.extent);
      if (!z || known(z->symbol)) continue;
      const Sym rest = context_.symbol("_over_" + z->name, {Int(0), Int(z->facts.most)});
      if (a.tile == 1 && z->facts.multiple > 1) { // heads that share a head of keys: number G a + b of G n
        const Sym group(z->facts.multiple);
        const Sym outer = context_.symbol("_group_" + z->name, {Int(0), Int(z->facts.most)});
        world_.emplace_back(*a.symbol.as_atom(),
                            group * outer + context_.symbol("_member_" + std::to_string(z->facts.multiple),
                                                            {Int(0), Int(z->facts.multiple - 1)}));
        world_.emplace_back(*z->symbol.as_atom(), group * (outer + rest + Sym(1)));
        continue;
      }
      const std::int64_t g = std::gcd(z->facts.multiple, static_cast<std::int64_t>(a.tile));
      world_.emplace_back(*z->symbol.as_atom(), Sym(a.tile) * a.symbol + Sym(g) * (rest + Sym(1)));
    }
    for (const Size& z : p_.sizes())
      if (!known(z.symbol) && z.facts.multiple > 1)
        world_.emplace_back(
            *z.symbol.as_atom(),
            Sym(z.facts.multiple) *
                context_.symbol("_times_" + z.name,
                                {Int((z.facts.least + z.facts.multiple - 1) / z.facts.multiple),
                                 Int(z.facts.most / z.facts.multiple)}));
    for (const Size& z : p_.sizes()) {
      if (z.facts.multiple > 1)
        out_.contract.push_back({z.name + " % " + std::to_string(z.facts.multiple) + " == 0",
                                 "declared for the size, and used by the claims"});
      out_.contract.push_back(
          {std::to_string(z.facts.least) + " <= " + z.name + " <= " + std::to_string(z.facts.most),
           "declared for the size, and used by the claims"});
    }
    out_.contract.push_back(
        {"outputs lie apart from all other buffers", "what is read is what was there before the launch"});
  }
  Sym world(Sym s) const { return substitute(s, world_); }
  // What is known at this point of the code about the number of trips.
  Sym relate(Sym s) const { return relation_.empty() ? s : substitute(s, relation_); }

  // ----------------------------------------------------------------------------- claims that each view gives

  struct Prepared {
    std::vector<Column> coordinate; ///< [axis], thread by thread
    std::vector<int> column;        ///< the same, interned
    std::vector<Sym> origin;        ///< in terms of the facts
    std::vector<int> places;        ///< of LDS
    std::vector<bool> acts;         ///< thread by thread
  };

  static const char* name_of(const Inst& i) { return to_string(i.kind); }

  const Prepared& prepared(const Inst& inst) {
    const auto found = prepared_.find(&inst);
    if (found != prepared_.end()) return found->second;
    Prepared r;
    const Access& a = inst.access;
    const std::size_t count = a.elements.size();
    for (std::size_t axis = 0; axis < a.origin.size(); ++axis) {
      const Column thread = thread_coordinates(a.threads, axis);
      Column c;
      c.reserve(thread.size() * count);
      for (const int t : thread)
        for (const auto& e : a.elements) c.push_back(t + e[axis]);
      r.column.push_back(columns_.intern(c));
      r.coordinate.push_back(std::move(c));
      r.origin.push_back(world(a.origin[axis]));
    }
    for (int th = 0; th < p_.threads(); ++th) r.acts.push_back(a.acts(th));
    const Tensor& t = p_.tensor(a.tensor);
    if (t.space == Space::lds) {
      std::vector<std::int64_t> at(a.origin.size());
      const std::int64_t size = t.stage_elements();
      for (std::size_t s = 0; s < static_cast<std::size_t>(p_.threads()) * count; ++s) {
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
          const auto o = r.origin[axis].constant();
          if (!o) refute("a tile in LDS is addressed by numbers", t.name, to_string(r.origin[axis]));
          at[axis] = o->value() + r.coordinate[axis][s];
          if (at[axis] < 0 || at[axis] >= t.shape[axis].constant()->value())
            refute("accesses to " + t.name + " stay inside it", to_string(a.threads),
                   "work-item " + std::to_string(s / count) + " is at " + std::to_string(at[axis]) + " of " +
                       to_string(t.shape[axis]) + " along axis " + std::to_string(axis));
        }
        const std::int64_t place = t.at(at);
        if (place < 0 || place >= size)
          refute("accesses to " + t.name + " stay inside it", to_string(t.place),
                 "work-item " + std::to_string(s / count) + " is at element " + std::to_string(place) +
                     " of " + std::to_string(size));
        r.places.push_back(static_cast<int>(place));
      }
    }
    return prepared_.emplace(&inst, std::move(r)).first->second;
  }

  void static_claims() {
    std::int64_t bytes = 0;
    for (const auto& [tensor, ring] : lds_stages(code_))
      bytes += ring * p_.tensor(tensor).stage_elements() * bits(p_.tensor(tensor).element) / 8;
    out_.lds_bytes = static_cast<int>(bytes);
    if (bytes > p_.target().lds_bytes)
      refute("the stages fit into LDS", std::to_string(bytes) + " bytes",
             std::string(p_.target().name) + " has " + std::to_string(p_.target().lds_bytes));
    if (bytes > 0)
      prove("the stages fit into LDS",
            std::to_string(bytes) + " of " + std::to_string(p_.target().lds_bytes) + " bytes", "enumeration");
    std::set<std::tuple<int, bool, std::vector<int>>> patterns;
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list) {
          if (i.access.tensor < 0) continue;
          at_ = &i;
          if (p_.tensor(i.access.tensor).space == Space::lds) {
            lds_claims(i, patterns);
          } else {
            memory_claims(i);
          }
        }
    at_ = nullptr;
    for (const Uniform& u : p_.uniforms()) {
      const Tensor& t = p_.tensor(u.tensor);
      const Interval range = interval(t.shape[0]);
      if (!decide(ClaimKind::less_equal, world(u.at) + Sym(1), world(t.shape[0])) || !range.upper ||
          range.upper->value() >= std::int64_t{1} << 29)
        refute("a number of the workgroup is read inside " + t.name, to_string(u.at),
               "it may pass " + to_string(t.shape[0]) + ", or that 2^29");
      prove("a number of the workgroup is read inside " + t.name, to_string(u.at), "prover");
    }
  }

  void lds_claims(const Inst& i, std::set<std::tuple<int, bool, std::vector<int>>>& patterns) {
    const Tensor& t = p_.tensor(i.access.tensor);
    const Prepared& r = prepared(i);
    const std::size_t count = i.access.elements.size();
    for (std::size_t s = 0; s < r.places.size(); s += count) {
      if (static_cast<std::int64_t>(r.places[s]) * bits(t.element) %
              (static_cast<std::int64_t>(count) * bits(t.element)) !=
          0)
        refute(std::string(name_of(i)) + "s of " + t.name + " are aligned", to_string(t.place),
               "work-item " + std::to_string(s / count) + " is at element " + std::to_string(r.places[s]) +
                   ", " + std::to_string(count) + " at a time");
      for (std::size_t e = 1; e < count; ++e)
        if (r.places[s + e] != r.places[s] + static_cast<int>(e))
          refute("a vector of " + t.name + " is contiguous", to_string(t.place),
                 "work-item " + std::to_string(s / count) + ": element " + std::to_string(e) + " is at " +
                     std::to_string(r.places[s + e]) + ", element 0 at " + std::to_string(r.places[s]));
    }
    prove(std::string(name_of(i)) + "s of " + t.name + " are inside it, aligned and contiguous",
          to_string(t.place), "enumeration");
    // A transfer has one address a wave: its lanes' data lie one behind another.
    if (i.direct)
      for (std::size_t s = 0; s < r.places.size(); s += count) {
        const std::size_t lane = s / count % static_cast<std::size_t>(p_.target().wave_size);
        if (r.places[s] != r.places[s - lane * count] + static_cast<int>(lane * count))
          refute("a transfer to " + t.name + " puts a wave's data lane after lane", to_string(t.place),
                 "work-item " + std::to_string(s / count) + " is at element " + std::to_string(r.places[s]));
      }
    const bool read = i.kind == InstKind::lds_read;
    LdsPattern pattern{i.op, read, static_cast<int>(count) * bits(t.element) / 8, t.name, {}, i.where};
    std::vector<int> first;
    for (int th = 0; th < p_.threads(); ++th) {
      const std::size_t s = static_cast<std::size_t>(th) * count;
      const bool idle = !r.acts[static_cast<std::size_t>(th)];
      pattern.address.push_back(idle ? -1 : std::int64_t{r.places[s]} * bits(t.element) / 8);
      first.push_back(idle ? -1 : r.places[s]);
    }
    if (patterns.emplace(i.access.tensor, read, first).second) out_.lds.push_back(std::move(pattern));
  }

  void memory_claims(const Inst& i) {
    const Tensor& t = p_.tensor(i.access.tensor);
    const Prepared& r = prepared(i);
    const std::size_t count = i.access.elements.size();
    std::vector<std::pair<AtomId, Sym>> condition;
    if (i.when && i.when->divides) add_condition(condition, *i.when);
    const auto given = [&](Sym s) { return substitute(s, condition); };
    // The address of each element as a formula in the work-item.
    std::vector<Sym> at0;
    for (std::size_t axis = 0; axis < r.origin.size(); ++axis)
      at0.push_back(i.access.gathered(axis)
                        ? row_symbol(p_, t, axis, i.uses[static_cast<std::size_t>(i.access.rows[axis])])
                        : r.origin[axis] + thread_coordinate(p_, i.access.threads, axis) +
                              Sym(i.access.elements[0][axis]));
    const Tensor in_world = tensor_in_world(t);
    const Sym place0 = in_world.at(at0);
    for (std::size_t e = 1; e < count; ++e) {
      std::vector<Sym> at = at0;
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        at[axis] += Sym(i.access.elements[e][axis] - i.access.elements[0][axis]);
      if (!decide(ClaimKind::equal, in_world.at(at), place0 + Sym(e)))
        refute("a vector of " + t.name + " is contiguous", to_string(t.place),
               "element " + std::to_string(e) + " is " + to_string(in_world.at(at) - place0) +
                   " elements behind element 0");
    }
    const std::string what = std::string(name_of(i)) + "s of " + t.name;
    if (count > 1) {
      // Registers are moved in units of 32 bits; a vector of bytes or halves needs the alignment of the whole.
      const auto unit = static_cast<std::int64_t>(count);
      if (!decide(ClaimKind::divides, Sym(unit), given(place0)) && bits(t.element) < 32)
        refute(what + " are aligned to " + std::to_string(unit * bits(t.element) / 8) + " bytes",
               to_string(place0),
               "the element number need not be a multiple of " + std::to_string(unit) +
                   hint_multiple(t, unit));
      prove(what + " are contiguous and aligned", to_string(place0), "facts");
    }
    AddressSplit a;
    try {
      a = split(p_, i.access, i.uses);
    } catch (const std::invalid_argument& e) {
      refute(what + " have the address of their view", to_string(t.place), e.what());
    }
    prove(what + " have the address of their view: base + step + lane + immediate", to_string(place0),
          "normal form");
    // A vector is wholly inside or wholly outside. Descriptors cut off each dword by itself.
    for (std::size_t axis = 0; axis < at0.size(); ++axis) {
      bool varies = false;
      for (const auto& e : i.access.elements) varies = varies || e[axis] != i.access.elements[0][axis];
      if (!varies || (static_cast<int>(axis) == a.descriptor_axis && bits(t.element) == 32)) continue;
      if (!i.access.masked[axis]) continue;
      const Sym room = given(world(t.shape[axis]) - at0[axis]);
      if (!decide(ClaimKind::divides, Sym(count), room))
        refute("a vector of " + t.name + " is wholly inside or wholly outside", to_string(room),
               "vectors of " + std::to_string(count) + " along axis " + std::to_string(axis) + " of extent " +
                   to_string(t.shape[axis]) + hint_multiple(t, static_cast<std::int64_t>(count)));
      prove("a vector of " + t.name + " is wholly inside or wholly outside", to_string(room), "facts");
    }
    // Without a descriptor that ends, every coordinate that is not masked has to be inside.
    if (i.kind == InstKind::load && a.descriptor_axis < 0 && a.gathered_axis < 0)
      for (std::size_t axis = 0; axis < at0.size(); ++axis) {
        const Column& c = r.coordinate[axis];
        const int last = *std::max_element(c.begin(), c.end());
        if (!i.access.masked[axis] &&
            !decide(ClaimKind::less_equal, r.origin[axis] + Sym(last + 1), world(t.shape[axis])))
          refute("loads of " + t.name + " stay inside its memory", to_string(r.origin[axis]),
                 "axis " + std::to_string(axis) + " is not masked, may pass " + to_string(t.shape[axis]) +
                     ", and no descriptor ends it");
      }
    if (i.kind == InstKind::load)
      prove("loads of " + t.name + " stay inside its memory", to_string(t.place), "facts");
    if (a.gathered_axis >= 0) {
      // The descriptor ends with the tensor: nothing inside is cut, nothing behind it is read.
      std::vector<Sym> last(t.shape.size(), Sym(0)), next(t.shape.size(), Sym(0));
      bool from_here = false;
      for (const std::size_t axis : outside_in(t)) {
        from_here = from_here || static_cast<int>(axis) == a.gathered_axis;
        if (from_here) last[axis] = t.shape[axis] - Sym(1);
      }
      const auto g = static_cast<std::size_t>(a.gathered_axis);
      next[g] = t.shape[g];
      if (!decide(ClaimKind::less_equal, t.at(last) + Sym(1), t.at(next)))
        refute("the descriptor of " + t.name + " ends with the tensor", to_string(t.place),
               "its last element is behind element " + to_string(t.at(next)));
      prove("the descriptor of " + t.name + " ends with the tensor", to_string(a.records), "facts");
    }
    guard_claims(t, in_world, a);
    range_claims(i, t, a);
  }

  // The descriptor ends exactly the rows: nothing inside passes the end of a row (or of a block of rows).
  void guard_claims(const Tensor& t, const Tensor& in_world, const AddressSplit& a) {
    if (a.descriptor_axis < 0) return;
    const auto d = static_cast<std::size_t>(a.descriptor_axis);
    const SymLayout mode = t.shape.size() == 1 ? in_world.place.inner() : in_world.place.inner().mode(d);
    Sym block = 1;
    for (std::size_t k = 0; k + 1 < mode.modes().size(); ++k) block *= mode.modes()[k].extent;
    const std::string claim =
        "the descriptor of " + t.name + " ends exactly what lies outside along axis " + std::to_string(d);
    if (!decide(ClaimKind::divides, block, world(a.rows)) &&
        !decide(ClaimKind::divides, block, world(t.shape[d])))
      refute(claim, to_string(a.rows), "it may end inside a block of " + to_string(block));
    std::vector<Sym> last(t.shape.size()), next(t.shape.size(), Sym(0));
    bool outside = true; // of the descriptor's axis: one coordinate for the workgroup
    for (const std::size_t axis : outside_in(t)) {
      outside = outside && axis != d;
      last[axis] = outside ? Sym(0) : world(t.shape[axis]) - Sym(1);
    }
    last[d] = block - Sym(1);
    next[d] = block;
    if (!decide(ClaimKind::less_equal, in_world.at(last) + Sym(1), in_world.at(next)))
      refute(claim, to_string(t.place),
             "a coordinate inside along the other axes passes element " + to_string(in_world.at(next)));
    prove(claim, to_string(a.records), "facts");
  }

  // Offsets and records fit 31 bits for all sizes of the contract.
  void range_claims(const Inst& i, const Tensor& t, const AddressSplit& a) {
    const auto check = [&](Sym elements, const char* part) {
      const Interval range = interval(elements * Sym(bits(t.element)));
      if (!range.upper || range.upper->value() / 8 >= (std::int64_t{1} << 31))
        refute("byte offsets into " + t.name + " fit 31 bits", to_string(elements),
               std::string("the ") + part + " may be " +
                   (range.upper ? std::to_string(range.upper->value() / 8) : "any number") +
                   " bytes; declare the sizes with a smaller `most`, or use smaller tiles");
    };
    std::vector<Sym> most;
    for (const Column& c : prepared(i).coordinate) most.push_back(Sym(*std::max_element(c.begin(), c.end())));
    if (a.gathered_axis >= 0)
      most[static_cast<std::size_t>(a.gathered_axis)] = t.shape[static_cast<std::size_t>(a.gathered_axis)];
    check(t.at(most), "offset of a lane"); // strides of tensors in memory are not negative
    if (a.descriptor_axis >= 0) {
      std::vector<Sym> end(t.shape.size(), Sym(0));
      const auto d = static_cast<std::size_t>(a.descriptor_axis);
      end[d] = Sym(i.access.extents[d]);
      check(t.at(end), "number of records");
    }
    // A tile begins inside the tensor, or behind it by fewer tiles than the loop runs ahead.
    std::vector<Sym> far(t.shape.size(), Sym(0));
    for (std::size_t axis = 0; axis < far.size(); ++axis) {
      bool moves = false;
      for (const AtomId s : symbols(i.access.origin[axis]))
        for (const CodeRegion& r : code_.regions) moves = moves || (r.is_loop && s == *r.trip.as_atom());
      if (moves) far[axis] = t.shape[axis] + Sym(i.ahead * i.access.extents[axis]);
    }
    check(t.at(far), "offset of a trip");
    prove("byte offsets into " + t.name + " fit 31 bits", to_string(a.lane), "facts");
  }
  std::string hint_multiple(const Tensor& t, std::int64_t n) const {
    std::string s;
    for (const Sym& e : t.shape)
      for (const Size& z : p_.sizes())
        if (z.symbol == e && z.facts.multiple % n != 0)
          s += "; declare " + z.name + " a multiple of " + std::to_string(n) +
               " or move fewer elements at a time";
    return s;
  }

  Tensor tensor_in_world(const Tensor& t) const {
    Tensor out = t;
    TupleBuilder<BasicMode<Sym>> b;
    const SymLayout& inner = t.place.inner();
    b.profile(inner.profile().view());
    for (const auto& m : inner.modes())
      b.leaves().push_back(BasicMode<Sym>{world(m.extent), BasicStride<Sym>(world(m.stride.scale))});
    out.place = t.place.with_inner(SymLayout(std::move(b).finish()));
    return out;
  }

  // --------------------------------------------------------------------------------------- regions and loops

  void regions(State s, std::size_t from) {
    for (std::size_t i = from; i < code_.regions.size(); ++i) {
      const CodeRegion& r = code_.regions[i];
      if (!r.is_loop) {
        ring_ = 1;
        std::vector<When> versions;
        for (const Inst& inst : r.body)
          if (inst.when && std::find(versions.begin(), versions.end(), *inst.when) == versions.end())
            versions.push_back(*inst.when);
        if (versions.empty()) {
          list(s, r.body, Sym(0), 0);
          continue;
        }
        // Each version, and what follows it, by itself.
        for (const bool divides : {true, false}) {
          if (std::any_of(versions.begin(), versions.end(), [&](const When& w) {
                return w.size != versions[0].size || w.modulus != versions[0].modulus;
              }))
            refute("versions differ by one condition", to_string(versions[0].size),
                   to_string(versions.back().size));
          When when = versions[0];
          when.divides = divides;
          State version = s;
          const auto before = relation_;
          if (divides) add_condition(relation_, when);
          run_version(version, r.body, divides);
          regions(std::move(version), i + 1);
          relation_ = before;
        }
        return;
      }
      loop(std::move(s), r, i);
      return; // each exit goes on by itself
    }
    finish(s);
  }

  void run_version(State& s, const std::vector<Inst>& insts, bool divides) {
    trip_value_ = Sym(0);
    number_ = 0;
    for (const Inst& i : insts) {
      if (i.when && i.when->divides != divides) continue;
      at_ = &i;
      one(s, i);
    }
    at_ = nullptr;
  }
  // modulus | size, as a substitution of the free symbol in what the size stands for.
  void add_condition(std::vector<std::pair<AtomId, Sym>>& to, const When& when) {
    const Sym value = world(when.size);
    for (const AtomId a : symbols(value)) {
      const SymAtom& atom = context_.atom(a);
      if (atom.name.rfind("_over_", 0) != 0) continue;
      // size = tile*wg + g*(rest + 1)
      const std::pair<AtomId, Sym> at0[] = {{a, Sym(0)}}, at1[] = {{a, Sym(1)}};
      const auto step = (substitute(value, at1) - substitute(value, at0)).constant();
      if (!step || when.modulus % step->value() != 0) continue;
      const std::int64_t n = when.modulus / step->value();
      to.emplace_back(a, Sym(n) * context_.symbol("_whole" + atom.name, {Int(0), std::nullopt}) + Sym(n - 1));
    }
  }

  // Runs everything behind an exit: j is the last trip's number, `residue` its remainder by the ring.
  void leave(State s, const CodeRegion& r, std::size_t index, Sym j, int residue) {
    const auto before = relation_;
    if (const auto t = last_trip_.find(&r); t != last_trip_.end())
      relation_.emplace_back(*t->second.as_atom(), j);
    const bool outer = std::exchange(exiting_, true);
    list(s, r.epilogue, j, residue);
    forget_iterations(s);
    regions(std::move(s), index + 1);
    exiting_ = outer;
    relation_ = before;
  }
  void forget_iterations(State& s) {
    std::erase_if(s.regs, [&](const auto& entry) {
      return !code_.registers[static_cast<std::size_t>(entry.first.first)].outside;
    });
  }

  void loop(State s, const CodeRegion& r, std::size_t index) {
    const auto saved = relation_;
    const auto t = last_trip_.find(&r);
    if (t == last_trip_.end())
      refute("the loop's extent is a size of the kernel", to_string(r.extent),
             "only one loop may run over a size");
    ring_ = r.ring;
    int reach = 0;
    for (const Inst& i : r.body) reach = std::max(reach, i.ahead);
    list(s, r.prologue, Sym(0), 0);
    const int base = (reach + r.ring) / r.ring * r.ring; // from here on every trip is like the others
    State first;
    const auto in_loop = [&](Sym j) {
      relation_ = saved;
      // The loop runs trip j, so the last trip comes later.
      relation_.emplace_back(*t->second.as_atom(),
                             j + Sym(1) + context_.symbol("_later", {Int(0), std::nullopt}));
    };
    for (int j = 0; j < base + r.ring; ++j) {
      if (j == base) first = s;
      relation_ = saved;
      ring_ = r.ring;
      leave(s, r, index, Sym(j), j % r.ring);
      ring_ = r.ring;
      in_loop(Sym(j));
      list(s, r.body, Sym(j), j);
      shift(s);
    }
    const Sym u = context_.symbol("_u", {Int(0), std::nullopt});
    State invariant = extrapolate(first, s, u);
    State now = invariant;
    for (int k = 0; k < r.ring; ++k) {
      const Sym j = Sym(r.ring) * u + Sym(base + k);
      relation_ = saved;
      ring_ = r.ring;
      leave(now, r, index, j, (base + k) % r.ring);
      ring_ = r.ring;
      in_loop(j);
      list(now, r.body, j, base + k);
      shift(now);
    }
    const std::pair<AtomId, Sym> next[] = {{*u.as_atom(), u + Sym(1)}};
    at_ = r.body.empty() ? nullptr : &r.body.front();
    compare(invariant, now, next);
    relation_ = saved;
    prove("the loop's invariant holds in every trip",
          "base " + std::to_string(base) + ", step " + std::to_string(r.ring), "induction");
  }

  // Registers of iterations: one trip later, each is one iteration nearer.
  void shift(State& s) {
    const auto move = [&](RegKey k) {
      return code_.registers[static_cast<std::size_t>(k.first)].outside ? k : RegKey{k.first, k.second - 1};
    };
    std::map<RegKey, RegState> regs;
    for (auto& [key, value] : s.regs) {
      const RegKey k = move(key);
      if (!code_.registers[static_cast<std::size_t>(k.first)].outside && k.second < 0) continue;
      regs.emplace(k, std::move(value));
    }
    s.regs = std::move(regs);
    for (auto* q : {&s.vm, &s.lgkm})
      for (Queued& e : *q)
        if (e.what == Queued::What::reg) e.reg = move(e.reg);
  }

  [[noreturn]] static void not_inductive(const std::string& why) {
    refute("the loop's state repeats from round to round", "", why);
  }

  // The state whose origins are those of x at u = 0 and of y at u = 1.
  Term extrapolate(const Term& x, const Term& y, Sym u) {
    if (x.columns != y.columns || x.partial != y.partial || x.facts.size() != y.facts.size() ||
        x.monoid != y.monoid || x.intervals.size() != y.intervals.size() || x.has_part != y.has_part ||
        x.sets != y.sets)
      not_inductive("a place holds other things in the next round");
    const auto line = [&](Sym a, Sym b) { return a + u * (b - a); };
    Term out = x;
    out.expr = extrapolate(x.expr, y.expr, line);
    for (std::size_t i = 0; i < x.facts.size(); ++i) {
      out.facts[i].index = line(x.facts[i].index, y.facts[i].index);
      out.facts[i].bound = line(x.facts[i].bound, y.facts[i].bound);
    }
    out.limit = line(x.limit, y.limit);
    for (std::size_t i = 0; i < x.intervals.size(); ++i)
      out.intervals[i] = {line(x.intervals[i].first, y.intervals[i].first),
                          line(x.intervals[i].second, y.intervals[i].second)};
    out.origin = line(x.origin, y.origin);
    return out;
  }
  template <class Line>
  Expr extrapolate(Expr x, Expr y, Line line) {
    if (x == y) return x;
    const ExprNode a = x.node(), b = y.node();
    if (a.fn != b.fn || a.args.size() != b.args.size() || a.tensor != b.tensor || a.value != b.value ||
        a.index.size() != b.index.size() || a.monoid != b.monoid || a.through != b.through)
      not_inductive("a place holds another expression in the next round");
    ExprNode n = a;
    n.sym = line(a.sym, b.sym);
    for (std::size_t i = 0; i < a.index.size(); ++i) n.index[i] = line(a.index[i], b.index[i]);
    for (std::size_t i = 0; i < a.args.size(); ++i)
      n.args[i] = extrapolate(Expr{&x_, a.args[i]}, Expr{&x_, b.args[i]}, line).id;
    return x_.make(std::move(n));
  }

  State extrapolate(const State& x, const State& y, Sym u) {
    State out = y; // statuses and queues of the later round; compare checks that they repeat
    for (auto& [key, value] : out.regs) {
      const auto found = x.regs.find(key);
      if (found == x.regs.end()) not_inductive("a register appears in a later round");
      value.term = extrapolate(found->second.term, value.term, u);
    }
    if (x.regs.size() != y.regs.size()) not_inductive("a register is gone in a later round");
    std::map<std::pair<int, int>, int> pairs;
    out.terms.clear();
    for (auto& [stage, cells] : out.lds) {
      const auto found = x.lds.find(stage);
      if (found == x.lds.end() || found->second.size() != cells.size())
        not_inductive("a stage appears in a later round");
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& before = found->second[i];
        Cell& now = cells[i];
        if ((before.term < 0) != (now.term < 0) || before.slot != now.slot || before.wave != now.wave)
          not_inductive("a place of LDS holds something else in the next round");
        if (now.term < 0) continue;
        const auto [at, fresh] =
            pairs.emplace(std::pair(before.term, now.term), static_cast<int>(out.terms.size()));
        if (fresh)
          out.terms.push_back(extrapolate(x.terms[static_cast<std::size_t>(before.term)],
                                          y.terms[static_cast<std::size_t>(now.term)], u));
        now.term = at->second;
      }
    }
    return out;
  }

  bool same(const Term& a, const Term& b, std::span<const std::pair<AtomId, Sym>> next) {
    Term moved = a;
    moved.expr = x_.substitute(a.expr, next);
    for (Fact& f : moved.facts) f.index = substitute(f.index, next), f.bound = substitute(f.bound, next);
    moved.limit = substitute(a.limit, next);
    for (auto& [low, high] : moved.intervals) low = substitute(low, next), high = substitute(high, next);
    moved.origin = substitute(a.origin, next);
    return same_skeleton(moved, b) && moved.columns == b.columns && moved.sets == b.sets;
  }
  void compare(const State& invariant, const State& after, std::span<const std::pair<AtomId, Sym>> next) {
    if (invariant.regs.size() != after.regs.size()) not_inductive("the registers in use differ");
    for (const auto& [key, value] : invariant.regs) {
      const auto found = after.regs.find(key);
      if (found == after.regs.end() || found->second.pending != value.pending)
        not_inductive("register v" + std::to_string(key.first) + " is not in the same state");
      if (!same(value.term, found->second.term, next))
        not_inductive("register v" + std::to_string(key.first) + " does not hold the next round's value");
    }
    std::map<std::pair<int, int>, bool> pairs;
    for (const auto& [stage, cells] : invariant.lds) {
      const auto found = after.lds.find(stage);
      if (found == after.lds.end()) not_inductive("a stage is gone");
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell &a = cells[i], &b = found->second[i];
        if ((a.term < 0) != (b.term < 0)) not_inductive("a place of LDS is not in the same state");
        if (a.term < 0) continue;
        if (a.slot != b.slot || a.wave != b.wave ||
            invariant.batches[static_cast<std::size_t>(a.batch)].status !=
                after.batches[static_cast<std::size_t>(b.batch)].status)
          not_inductive("a place of LDS is not in the same state");
        const auto [at, fresh] = pairs.emplace(std::pair(a.term, b.term), true);
        if (fresh && !same(invariant.terms[static_cast<std::size_t>(a.term)],
                           after.terms[static_cast<std::size_t>(b.term)], next))
          not_inductive("a place of LDS does not hold the next round's value");
      }
    }
    for (const auto& [x, y] :
         {std::pair(&invariant.vm, &after.vm), std::pair(&invariant.lgkm, &after.lgkm)}) {
      if (x->size() != y->size()) not_inductive("other accesses are under way");
      for (std::size_t i = 0; i < x->size(); ++i)
        if ((*x)[i].what != (*y)[i].what || (*x)[i].reg != (*y)[i].reg)
          not_inductive("other accesses are under way");
    }
    for (const auto& [stage, readings] : after.readings) {
      const auto open = [](const std::vector<Reading>& all) {
        return std::count_if(all.begin(), all.end(),
                             [](const Reading& r) { return r.status != Status::published; });
      };
      const auto found = invariant.readings.find(stage);
      if (open(readings) != (found == invariant.readings.end() ? 0 : open(found->second)))
        not_inductive("other reads are under way");
    }
  }

  // ------------------------------------------------------------------------------------------- instructions

  void list(State& s, const std::vector<Inst>& insts, Sym trip, int number) {
    trip_value_ = trip;
    number_ = number;
    for (const Inst& i : insts) {
      at_ = &i;
      one(s, i);
    }
    at_ = nullptr;
  }

  // The numbers of the trip that is run.
  std::vector<std::pair<AtomId, Sym>> trips() const {
    std::vector<std::pair<AtomId, Sym>> replace;
    for (const CodeRegion& r : code_.regions)
      if (r.is_loop) replace.emplace_back(*r.trip.as_atom(), trip_value_);
    return replace;
  }
  // Behind an exit the number of trips is known, and holds for all that follows.
  Sym here(Sym s) const {
    const Sym at = substitute(s, trips());
    return exiting_ ? relate(at) : at;
  }

  RegKey key(const Reg& r) const {
    return {r.id, code_.registers[static_cast<std::size_t>(r.id)].outside ? 0 : r.ahead};
  }
  const Term& value(State& s, const Reg& r) {
    const auto found = s.regs.find(key(r));
    if (found == s.regs.end())
      refute("every register is written before it is read", "v" + std::to_string(r.id),
             std::string(name_of(*at_)) + " reads v" + std::to_string(r.id) + " of iteration " +
                 std::to_string(r.ahead));
    if (found->second.pending)
      refute("every register is waited for before it is used", "v" + std::to_string(r.id),
             std::string(name_of(*at_)) + " uses it while its load is under way");
    return found->second.term;
  }
  std::pair<int, int> stage_of(const Inst& i) const {
    const int n = number_ + i.access.slot;
    return {i.access.tensor, ((n % ring_) + ring_) % ring_};
  }

  void one(State& s, const Inst& i) {
    switch (i.kind) {
    case InstKind::fill: {
      Term t;
      t.expr = x_.constant(i.value);
      s.regs[key(i.def)] = {t, false};
      break;
    }
    case InstKind::load:
      half_ = i.direct ? &i : nullptr;
      load(s, i);
      break;
    case InstKind::store: store(s, i); break;
    case InstKind::lds_read: read(s, i); break;
    case InstKind::lds_write:
      // Both halves of a transfer, one behind the other, of one iteration.
      if (i.direct && (!half_ || !(half_->def == i.uses[0]) || half_->ahead != i.ahead))
        refute("a transfer is one instruction", p_.tensor(i.access.tensor).name,
               "its write does not stand right behind its load");
      half_ = nullptr;
      write(s, i);
      break;
    case InstKind::mma: multiply(s, i); break;
    case InstKind::map: apply_map(s, i); break;
    case InstKind::fold_values: fold_values(s, i); break;
    case InstKind::fold_lanes: fold_lanes(s, i); break;
    case InstKind::wait:
      if (i.vm >= 0) complete(s, s.vm, i.vm);
      if (i.lgkm >= 0) complete(s, s.lgkm, i.lgkm);
      break;
    case InstKind::barrier:
      for (Batch& b : s.batches)
        if (b.status == Status::done) b.status = Status::published;
      for (auto& [stage, readings] : s.readings) {
        for (Reading& r : readings)
          if (r.status == Status::done) r.status = Status::published;
        std::erase_if(readings, [](const Reading& r) { return r.status == Status::published; });
      }
      break;
    }
  }

  static void complete(State& s, std::deque<Queued>& queue, int keep) {
    while (static_cast<int>(queue.size()) > keep) {
      const Queued q = queue.front();
      queue.pop_front();
      if (q.what == Queued::What::reg) {
        if (const auto found = s.regs.find(q.reg); found != s.regs.end()) found->second.pending = false;
      } else if (q.what == Queued::What::write) {
        s.batches[static_cast<std::size_t>(q.index)].status =
            std::max(s.batches[static_cast<std::size_t>(q.index)].status, Status::done);
      }
      if (q.what == Queued::What::reg && q.index >= 0)
        for (Reading& r : s.readings[q.stage])
          if (r.status == Status::pending) {
            r.status = Status::done; // reads of one stage return in order
            break;
          }
    }
  }

  void load(State& s, const Inst& i) {
    const Prepared& r = prepared(i);
    const Tensor& t = p_.tensor(i.access.tensor);
    Term term;
    std::vector<Sym> index;
    std::vector<int> through;
    for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
      const Uniform* u = uniform_of(p_, i.access.origin[axis]);
      if ((u || i.access.gathered(axis)) && !i.access.masked[axis])
        refute("rows that a table names and the tensor has not read as 0", t.name,
               "axis " + std::to_string(axis) + " is not masked");
      if (u) {
        if (std::any_of(r.coordinate[axis].begin(), r.coordinate[axis].end(), [](int c) { return c != 0; }))
          refute("a number of the workgroup is a coordinate by itself", t.name, to_string(u->symbol));
        through.push_back(u->tensor);
        index.push_back(here(world(u->at)));
      } else if (i.access.gathered(axis)) {
        index.push_back(row_index(s, i, axis, term));
        through.push_back(p_.tensor(row_table_).id);
      } else {
        through.push_back(-1);
        index.push_back(here(r.origin[axis]));
        // A tile of one coordinate has no column: it must not count as equal to the first of another axis.
        const std::vector<int>& coordinates = r.coordinate[axis];
        if (i.access.extents[axis] != 1 ||
            std::any_of(coordinates.begin(), coordinates.end(), [](int c) { return c != 0; })) {
          index.back() += dollar(term.columns.size());
          term.columns.push_back(r.column[axis]);
        }
        term.facts.push_back({index.back(), world(t.shape[axis]), i.access.masked[axis] ? 0 : anything});
      }
    }
    term.expr = x_.load(t.id, std::move(index), std::move(through));
    s.regs[key(i.def)] = {std::move(term), !i.direct};
    if (i.direct) return; // the write right behind it is the other half of the instruction
    s.vm.push_back({Queued::What::reg, key(i.def), -1, {}});
  }

  // The index of the table whose element is the coordinate along a gathered axis.
  Sym row_index(State& s, const Inst& i, std::size_t axis, Term& into) {
    const Reg& row = i.uses[static_cast<std::size_t>(i.access.rows[axis])];
    Term ids = part(value(s, row), row);
    const ExprNode n = ids.expr.node();
    if (ids.partial || n.fn != Fn::load || n.index.size() != 1 || !n.through.empty())
      refute("a gathered coordinate is an element of a table", describe(ids), "it is something else");
    row_table_ = n.tensor;
    // One entry for each element that the work-item moves.
    const std::size_t count = i.access.elements.size();
    for (int& c : ids.columns) {
      Column wide;
      for (const int v : columns_[c]) wide.insert(wide.end(), count, v);
      c = columns_.intern(std::move(wide));
    }
    rename(ids, into.columns);
    for (Fact f : ids.facts) {
      f.fill = anything; // beyond the table's end there is nothing to say
      into.facts.push_back(f);
    }
    return ids.expr.node().index[0];
  }

  void write(State& s, const Inst& i) {
    const Prepared& r = prepared(i);
    const Tensor& t = p_.tensor(i.access.tensor);
    Term term = part(value(s, i.uses[0]), i.uses[0]);
    auto& cells = s.lds[stage_of(i)];
    if (cells.empty()) cells.resize(static_cast<std::size_t>(t.stage_elements()));
    const int id = static_cast<int>(s.terms.size());
    s.terms.push_back(std::move(term));
    const int batch = static_cast<int>(s.batches.size());
    s.batches.push_back({});
    const std::size_t count = i.access.elements.size();
    const auto& readings = s.readings[stage_of(i)];
    for (std::size_t slot = 0; slot < r.places.size(); ++slot) {
      const int thread = static_cast<int>(slot / count), wave = thread / p_.target().wave_size;
      if (!r.acts[static_cast<std::size_t>(thread)]) continue;
      Cell& c = cells[static_cast<std::size_t>(r.places[slot])];
      if (c.batch == batch)
        refute("no two work-items write one place of " + t.name, to_string(i.access.threads),
               "element " + std::to_string(r.places[slot]) + " is written twice, at last by work-item " +
                   std::to_string(thread));
      if (c.term >= 0 && c.wave != wave &&
          s.batches[static_cast<std::size_t>(c.batch)].status != Status::published)
        refute("writes to " + t.name + " of different waves are ordered", "",
               "element " + std::to_string(r.places[slot]) + ": wave " + std::to_string(wave) +
                   " overwrites what wave " + std::to_string(c.wave) + " wrote since the last barrier");
      for (const Reading& reading : readings) {
        if (reading.status == Status::published) continue;
        const auto low =
            std::lower_bound(reading.cells->begin(), reading.cells->end(), std::pair(r.places[slot], -1));
        for (auto at = low; at != reading.cells->end() && at->first == r.places[slot]; ++at)
          if (at->second != wave || reading.status == Status::pending)
            refute("nothing of " + t.name + " is overwritten while it is read", "",
                   "element " + std::to_string(r.places[slot]) + ": wave " + std::to_string(wave) +
                       " writes what wave " + std::to_string(at->second) + " may still be reading");
      }
      c = {id, static_cast<int>(slot), batch, wave};
    }
    (i.direct ? s.vm : s.lgkm).push_back({Queued::What::write, {}, batch, {}});
    prove("nothing of " + t.name + " is overwritten before every wave has read it", "", "provenance");
  }

  void read(State& s, const Inst& i) {
    const Prepared& r = prepared(i);
    const Tensor& t = p_.tensor(i.access.tensor);
    const auto& cells = s.lds[stage_of(i)];
    const std::size_t count = i.access.elements.size();
    std::vector<int> from(r.places.size()), of(r.places.size());
    auto& touched = touched_[&i];
    const bool fresh = !touched;
    std::vector<std::pair<int, int>> where;
    int last_term = -1, last_batch = -1, checked_wave = -1;
    bool ok_any_wave = false;
    for (std::size_t slot = 0; slot < r.places.size(); ++slot) {
      const int thread = static_cast<int>(slot / count), wave = thread / p_.target().wave_size;
      const int place = r.places[slot];
      const Cell* c = cells.empty() ? nullptr : &cells[static_cast<std::size_t>(place)];
      if (!c || c->term < 0)
        refute("what is read from " + t.name + " was written", to_string(i.access.threads),
               "work-item " + std::to_string(thread) + " reads element " + std::to_string(place) +
                   ", which nothing has written");
      if (c->batch != last_batch) {
        last_batch = c->batch;
        const Status status = s.batches[static_cast<std::size_t>(c->batch)].status;
        ok_any_wave = status == Status::published;
        checked_wave = status == Status::done ? c->wave : -2;
      }
      if (!ok_any_wave && !(checked_wave != -2 && c->wave == wave))
        refute("what is read from " + t.name + " has arrived there", to_string(i.access.threads),
               "element " + std::to_string(place) + ": wave " + std::to_string(wave) + " reads what wave " +
                   std::to_string(c->wave) + " wrote, with no wait and barrier between");
      if (c->term != last_term) {
        if (last_term >= 0 && !same_skeleton(s.terms[static_cast<std::size_t>(last_term)],
                                             s.terms[static_cast<std::size_t>(c->term)]))
          refute("a fragment of " + t.name + " is of one tile",
                 describe(s.terms[static_cast<std::size_t>(last_term)]),
                 "work-item " + std::to_string(thread) + " reads " +
                     describe(s.terms[static_cast<std::size_t>(c->term)]));
        last_term = c->term;
      }
      from[slot] = c->slot;
      of[slot] = c->term;
      if (fresh) where.emplace_back(place, wave);
    }
    if (fresh) {
      std::sort(where.begin(), where.end());
      where.erase(std::unique(where.begin(), where.end()), where.end());
      touched = std::make_shared<const std::vector<std::pair<int, int>>>(std::move(where));
    }
    Term term = s.terms[static_cast<std::size_t>(last_term)];
    const auto gather = [&](auto column_of) {
      Column c(from.size());
      for (std::size_t slot = 0; slot < from.size(); ++slot)
        c[slot] = columns_[column_of(s.terms[static_cast<std::size_t>(of[slot])])]
                          [static_cast<std::size_t>(from[slot])];
      return columns_.intern(std::move(c));
    };
    for (std::size_t k = 0; k < term.columns.size(); ++k)
      term.columns[k] = gather([&](const Term& x) { return x.columns[k]; });
    if (term.partial && term.has_part) term.sets = gather([](const Term& x) { return x.sets; });
    s.regs[key(i.def)] = {std::move(term), true};
    s.readings[stage_of(i)].push_back({Status::pending, touched});
    s.lgkm.push_back({Queued::What::reg, key(i.def), 1, stage_of(i)});
    prove("what is read from " + t.name + " was written, waited for and published by a barrier", "",
          "provenance");
  }

  // Elements first .. first + count of every thread.
  Term part(const Term& t, const Reg& r) {
    const int total = code_.registers[static_cast<std::size_t>(r.id)].count;
    if (r.first == 0 && r.count == total) return t;
    Term out = t;
    const auto cut = [&](int column) {
      const auto cache = std::tuple(column, total, r.first, r.count);
      if (const auto found = cuts_.find(cache); found != cuts_.end()) return found->second;
      const Column& c = columns_[column];
      Column n;
      n.reserve(static_cast<std::size_t>(p_.threads() * r.count));
      for (int th = 0; th < p_.threads(); ++th)
        for (int e = 0; e < r.count; ++e) n.push_back(c[static_cast<std::size_t>(th * total + r.first + e)]);
      return cuts_.emplace(cache, columns_.intern(std::move(n))).first->second;
    };
    for (int& c : out.columns) c = cut(c);
    if (out.partial && out.has_part) out.sets = cut(out.sets);
    return out;
  }

  // Several registers as one term: element e of the result is uses[e].
  Term assemble(State& s, std::span<const Reg> uses) {
    const int n = static_cast<int>(uses.size());
    bool whole = uses[0].first == 0 && code_.registers[static_cast<std::size_t>(uses[0].id)].count == n;
    for (int e = 0; e < n; ++e) {
      const Reg& r = uses[static_cast<std::size_t>(e)];
      INLAY_CHECK(r.count == 1, "single elements");
      whole = whole && r.id == uses[0].id && r.ahead == uses[0].ahead && r.first == e;
    }
    if (whole) return value(s, uses[0]);
    std::vector<Term> terms;
    for (const Reg& r : uses) terms.push_back(part(value(s, r), r));
    for (int e = 1; e < n; ++e)
      if (!same_skeleton(terms[0], terms[static_cast<std::size_t>(e)]))
        refute("the values of one operand are alike", describe(terms[0]),
               describe(terms[static_cast<std::size_t>(e)]));
    Term out = terms[0];
    const auto join = [&](auto column_of) {
      std::vector<int> cache{n};
      for (const Term& t : terms) cache.push_back(column_of(t));
      if (const auto found = joins_.find(cache); found != joins_.end()) return found->second;
      Column c(static_cast<std::size_t>(p_.threads() * n));
      for (int e = 0; e < n; ++e) {
        const Column& one = columns_[column_of(terms[static_cast<std::size_t>(e)])];
        for (int th = 0; th < p_.threads(); ++th)
          c[static_cast<std::size_t>(th * n + e)] = one[static_cast<std::size_t>(th)];
      }
      return joins_.emplace(cache, columns_.intern(std::move(c))).first->second;
    };
    for (std::size_t k = 0; k < out.columns.size(); ++k)
      out.columns[k] = join([&](const Term& t) { return t.columns[k]; });
    if (out.partial && out.has_part) out.sets = join([](const Term& t) { return t.sets; });
    return out;
  }

  std::string describe(const Term& t) const {
    std::string s = to_string(t.expr, [&](int id) { return p_.tensor(id).name; });
    if (t.partial) {
      s = std::string(to_string(t.monoid)) + " of " + s + " over";
      for (const auto& [low, high] : t.intervals) s += " [" + to_string(low) + ", " + to_string(high) + ")";
      if (t.has_part) s += " and a part from " + to_string(t.origin);
    }
    for (std::size_t i = 0; i < t.columns.size() && i < 4; ++i)
      if (!columns_[t.columns[i]].empty())
        s += (i ? ", " : "; work-item 0: ") + std::string("_c") + std::to_string(i) + " = " +
             std::to_string(columns_[t.columns[i]][0]);
    return s;
  }

  // ------------------------------------------------------------------------------------------- renaming columns

  // t over the columns `all`, which get t's columns that are not there yet.
  void rename(Term& t, std::vector<int>& all) {
    std::vector<std::pair<AtomId, Sym>> replace;
    bool changed = false;
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
      auto at = std::find(all.begin(), all.end(), t.columns[i]);
      if (at == all.end()) at = all.insert(all.end(), t.columns[i]);
      const auto to = static_cast<std::size_t>(at - all.begin());
      changed = changed || to != i;
      replace.emplace_back(*dollar(i).as_atom(), dollar(to));
    }
    if (changed) replace_in(t, replace);
  }
  // t over exactly these columns, in this order; unchanged when it has others.
  void align(Term& t, const std::vector<int>& columns) {
    if (t.columns == columns) return;
    std::vector<int> all = columns;
    Term moved = t;
    rename(moved, all);
    if (all.size() != columns.size()) return;
    moved.columns = columns;
    moved.expr = x_.normal(moved.expr);
    t = std::move(moved);
  }
  void replace_in(Term& t, std::span<const std::pair<AtomId, Sym>> replace) {
    t.expr = x_.substitute(t.expr, replace);
    for (Fact& f : t.facts) f.index = substitute(f.index, replace), f.bound = substitute(f.bound, replace);
  }
  // Without columns that nothing refers to.
  void tidy(Term& t) {
    std::vector<AtomId> used = x_.symbols(t.expr);
    for (const Fact& f : t.facts)
      for (const AtomId a : symbols(f.index)) used.push_back(a);
    std::vector<int> columns;
    std::vector<std::pair<AtomId, Sym>> replace;
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
      const AtomId atom = *dollar(i).as_atom();
      if (std::find(used.begin(), used.end(), atom) == used.end()) continue;
      replace.emplace_back(atom, dollar(columns.size()));
      columns.push_back(t.columns[i]);
    }
    if (columns.size() != t.columns.size()) {
      replace_in(t, replace);
      t.columns = std::move(columns);
    }
  }

  // Some index of the expression that is O + _ci: gives O.
  std::optional<Sym> origin_of(Expr e, std::size_t i) {
    const ExprNode& n = e.node();
    if (n.fn == Fn::load)
      for (const Sym& s : n.index) {
        const Sym o = s - dollar(i);
        const auto used = symbols(o);
        if (std::find(used.begin(), used.end(), *dollar(i).as_atom()) == used.end()) return o;
      }
    for (const int a : n.args)
      if (const auto found = origin_of({&x_, a}, i)) return found;
    return std::nullopt;
  }

  // -------------------------------------------------------------------------------------------------- products

  struct Product { // what the columns of two operands say, the same for every tile
    std::string error;
    std::vector<std::size_t> x_k, y_k; ///< which columns are k
    std::vector<int> x_rows, y_rows;   ///< result columns, for the others in order
    int sets = -1;
    int low = 0, high = 0; ///< of the k columns
  };

  // Half `half` of `parts` of the operands' values.
  const Product& product(const Inst& i, std::size_t half, const std::vector<int>& xc,
                         const std::vector<int>& yc, std::int64_t shift) {
    const auto cache = std::tuple(i.atom, half, xc, yc, shift);
    if (const auto found = products_.find(cache); found != products_.end()) return found->second;
    Product out;
    const int lanes = p_.target().wave_size, waves = p_.threads() / lanes;
    const int parts = static_cast<int>(i.uses.size() / 2), full = i.atom->mma->a_values(),
              values = full / parts, results = i.atom->mma->c_values();
    const Mma& mma = *i.atom->mma;
    const Layout& result = mma.c;
    const Column result_row = coordinates(result, 0), result_column = coordinates(result, 1);
    const int rows = mma.m, ks = mma.k / parts;
    // The instruction's k that this part of an operand holds, numbered.
    const auto ks_of = [&](const Layout& operand) {
      const Column kk = coordinates(operand, 1);
      std::set<int> held;
      for (int l = 0; l < lanes; ++l)
        for (int v = 0; v < values; ++v)
          held.insert(kk[static_cast<std::size_t>(l * full + static_cast<int>(half) * values + v)]);
      return std::vector<int>(held.begin(), held.end());
    };
    const std::vector<int> held = ks_of(mma.a);
    if (held != ks_of(mma.b) || static_cast<int>(held.size()) != ks)
      out.error = "parts of the operands are at different k of the instruction";
    const auto number_of = [&](int k) {
      return static_cast<int>(std::lower_bound(held.begin(), held.end(), k) - held.begin());
    };
    const auto classify = [&](const Layout& operand, const std::vector<int>& columns,
                              std::vector<std::size_t>& k_columns, std::vector<int>& row_columns,
                              const Column& result_index, std::vector<Column>& k_values) {
      const Column all_rows = coordinates(operand, 0), all_k = coordinates(operand, 1);
      Column row, kk;
      for (int l = 0; l < lanes; ++l)
        for (int v = 0; v < values; ++v) {
          const auto at = static_cast<std::size_t>(l * full + static_cast<int>(half) * values + v);
          row.push_back(all_rows[at]), kk.push_back(number_of(all_k[at]));
        }
      for (std::size_t c = 0; c < columns.size() && out.error.empty(); ++c) {
        const Column& column = columns_[columns[c]];
        Column by_row(static_cast<std::size_t>(waves * rows), INT_MIN),
            by_k(static_cast<std::size_t>(waves * ks), INT_MIN);
        bool is_row = true, is_k = true;
        for (int w = 0; w < waves; ++w)
          for (int l = 0; l < lanes; ++l)
            for (int v = 0; v < values; ++v) {
              const int x = column[static_cast<std::size_t>((w * lanes + l) * values + v)];
              int& r =
                  by_row[static_cast<std::size_t>(w * rows + row[static_cast<std::size_t>(l * values + v)])];
              int& q = by_k[static_cast<std::size_t>(w * ks + kk[static_cast<std::size_t>(l * values + v)])];
              if (r == INT_MIN) r = x;
              if (q == INT_MIN) q = x;
              is_row = is_row && r == x;
              is_k = is_k && q == x;
            }
        if (is_row) {
          Column n(static_cast<std::size_t>(p_.threads() * results));
          for (int w = 0; w < waves; ++w)
            for (int l = 0; l < lanes; ++l)
              for (int v = 0; v < results; ++v)
                n[static_cast<std::size_t>((w * lanes + l) * results + v)] = by_row[static_cast<std::size_t>(
                    w * rows + result_index[static_cast<std::size_t>(l * results + v)])];
          row_columns.push_back(columns_.intern(std::move(n)));
        } else if (is_k) {
          k_columns.push_back(c);
          k_values.push_back(std::move(by_k));
        } else {
          out.error = "a row of the operand holds several rows, or lanes of different rows hold different k";
        }
      }
    };
    std::vector<Column> xk, yk;
    classify(mma.a, xc, out.x_k, out.x_rows, result_row, xk);
    classify(mma.b, yc, out.y_k, out.y_rows, result_column, yk);
    if (out.error.empty() && (xk.empty() || yk.empty())) out.error = "an operand does not depend on k";
    if (out.error.empty())
      for (const auto* all : {&xk, &yk})
        for (const Column& c : *all)
          if (c != all->front()) out.error = "two indices of an operand move with k in different ways";
    if (out.error.empty())
      for (std::size_t q = 0; q < xk[0].size() && out.error.empty(); ++q)
        if (xk[0][q] + shift != yk[0][q])
          out.error = "product " + std::to_string(q % static_cast<std::size_t>(ks)) + " of wave " +
                      std::to_string(q / static_cast<std::size_t>(ks)) +
                      " takes k = " + std::to_string(xk[0][q] + shift) + " of one operand and " +
                      std::to_string(yk[0][q]) + " of the other, from the tile's begin";
    if (out.error.empty()) {
      Column sets(static_cast<std::size_t>(p_.threads() * results));
      for (int w = 0; w < waves; ++w) {
        bool twice = false;
        const int set = sets_.of({xk[0].begin() + w * ks, xk[0].begin() + (w + 1) * ks}, twice);
        if (twice) out.error = "a k is summed twice";
        std::fill(sets.begin() + static_cast<std::ptrdiff_t>(w * lanes * results),
                  sets.begin() + static_cast<std::ptrdiff_t>((w + 1) * lanes * results), set);
      }
      out.sets = columns_.intern(std::move(sets));
      out.low = *std::min_element(xk[0].begin(), xk[0].end());
      out.high = *std::max_element(xk[0].begin(), xk[0].end());
    }
    return products_.emplace(cache, std::move(out)).first->second;
  }

  void multiply(State& s, const Inst& i) {
    for (std::size_t half = 0; half < i.uses.size() / 2; ++half) multiply(s, i, half);
  }
  void multiply(State& s, const Inst& i, std::size_t half) {
    const std::string claim = "A and B are multiplied at the same k, row by row";
    const Reg &first = i.uses[half], &second = i.uses[i.uses.size() / 2 + half];
    Term x = complete_term(part(value(s, first), first)), y = complete_term(part(value(s, second), second));
    Term acc = value(s, i.def);
    // The difference of the two origins of k must be a number; it is found from the columns that move with k.
    std::optional<Sym> xo, yo;
    std::int64_t shift_by = 0;
    const Product* product_of = nullptr;
    {
      // Classification does not depend on the shift when it is 0, which is the usual case.
      const Product& guess = product(i, half, x.columns, y.columns, 0);
      if (!guess.x_k.empty() && !guess.y_k.empty()) {
        xo = origin_of(x.expr, guess.x_k[0]);
        yo = origin_of(y.expr, guess.y_k[0]);
        if (xo && yo) {
          const auto d = (*xo - *yo).constant();
          if (!d)
            refute(claim, i.atom->name,
                   "one operand begins at " + to_string(*xo) + ", the other at " + to_string(*yo));
          shift_by = d->value();
        }
      }
      product_of = shift_by == 0 ? &guess : &product(i, half, x.columns, y.columns, shift_by);
    }
    const Product& r = *product_of;
    if (!r.error.empty()) refute(claim, describe(x) + " times " + describe(y), r.error);
    if (!xo || !yo) refute(claim, describe(x) + " times " + describe(y), "no index of an operand is its k");

    // Both operands with k in place of the columns that move with it.
    const auto bind = [&](Term& t, const std::vector<std::size_t>& k_columns, const std::vector<int>& rows,
                          Sym origin) {
      std::vector<std::pair<AtomId, Sym>> replace;
      std::size_t next = 0;
      for (std::size_t c = 0; c < t.columns.size(); ++c) {
        const bool is_k = std::find(k_columns.begin(), k_columns.end(), c) != k_columns.end();
        replace.emplace_back(*dollar(c).as_atom(), is_k ? bound_ - origin : dollar(next));
        if (!is_k) ++next;
      }
      replace_in(t, replace);
      t.columns = rows;
    };
    const Sym origin = *xo;
    bind(x, r.x_k, r.x_rows, *xo);
    bind(y, r.y_k, r.y_rows, *yo);
    Sym limit{};
    bool limited = false;
    for (Term* t : {&x, &y}) {
      std::vector<Fact> rest;
      bool found = false;
      for (const Fact& f : t->facts) {
        if (!(f.index == bound_)) {
          rest.push_back(f);
          continue;
        }
        found = true;
        if (limited && !(limit == f.bound))
          refute(claim, describe(*t), "k ends at " + to_string(limit) + " and at " + to_string(f.bound));
        limit = f.bound;
        limited = true;
        if (f.fill != 0 && !less_equal(origin + Sym(r.high + 1), f.bound))
          refute("beyond the end of k both factors are 0", describe(*t),
                 "k from " + to_string(relate(origin + Sym(r.low))) + " to " +
                     to_string(relate(origin + Sym(r.high))) + " may lie beyond " +
                     to_string(relate(f.bound)) + ", where the operand holds what follows in memory");
      }
      if (!found) refute(claim, describe(*t), "nothing says where k ends");
      t->facts = std::move(rest);
    }
    prove("beyond the end of k both factors are 0", to_string(limit), "provenance");

    Term sum;
    rename(x, sum.columns);
    rename(y, sum.columns);
    sum.expr = x_.normal(x.expr * y.expr);
    sum.facts = x.facts;
    for (Fact& f : sum.facts) f.fill = anything;
    for (Fact f : y.facts) {
      f.fill = anything;
      if (std::find(sum.facts.begin(), sum.facts.end(), f) == sum.facts.end()) sum.facts.push_back(f);
    }
    sum.partial = true;
    sum.limit = limit;
    sum.has_part = true;
    sum.origin = origin;
    sum.sets = r.sets;
    const bool empty = !acc.partial && acc.expr == x_.constant(0);
    if (!empty) {
      align(sum, acc.columns);
      if (!acc.partial || !(acc.expr == sum.expr) || acc.columns != sum.columns ||
          !(acc.limit == sum.limit) || acc.monoid != Monoid::sum)
        refute("an accumulator sums one element of the result", describe(acc), "and then " + describe(sum));
      const std::vector<Fact> more = std::move(sum.facts);
      sum = join(acc, sum);
      for (const Fact& f : more)
        if (std::find(sum.facts.begin(), sum.facts.end(), f) == sum.facts.end()) sum.facts.push_back(f);
    }
    settle(sum);
    s.regs[key(i.def)] = {std::move(sum), false};
    prove(claim, i.atom->name, "provenance");
  }

  // ----------------------------------------------------------------------------------------------------- folds

  // Two parts of one fold.
  Term join(const Term& a, const Term& b) {
    Term out = a;
    if (b.has_part) {
      if (!out.has_part) {
        out.has_part = true;
        out.origin = b.origin;
        out.sets = b.sets;
      } else {
        if (!(out.origin == b.origin))
          refute("a tile is finished before the next one begins", describe(a), "and then " + describe(b));
        out.sets = unite(out.sets, b.sets, a.monoid);
      }
    }
    for (const auto& [low, high] : b.intervals) add_interval(out, low, high);
    return out;
  }
  int unite(int a, int b, Monoid monoid) {
    const auto cache = std::tuple(a, b, monoid);
    if (const auto found = united_.find(cache); found != united_.end()) return found->second;
    const Column &x = columns_[a], &y = columns_[b];
    Column out(x.size());
    for (std::size_t s = 0; s < x.size(); ++s) {
      bool twice = false;
      out[s] = sets_.unite(x[s], y[s], twice);
      if (twice && !idempotent(monoid))
        refute("every element is summed once", std::string(to_string(monoid)),
               "slot " + std::to_string(s) + " adds " + text(sets_[x[s]]) + " and " + text(sets_[y[s]]));
    }
    return united_.emplace(cache, columns_.intern(std::move(out))).first->second;
  }
  static std::string text(const Intervals& s) {
    std::string out;
    for (const auto& [low, high] : s) out += "[" + std::to_string(low) + "," + std::to_string(high) + ")";
    return out;
  }

  // A part that is one interval, the same for every slot, becomes a symbolic interval, and intervals that meet one.
  void settle(Term& t) {
    if (!t.has_part) return;
    const Column& sets = columns_[t.sets];
    const int first = sets.empty() ? -1 : sets[0];
    if (first < 0 || sets_[first].size() != 1) return;
    if (std::any_of(sets.begin(), sets.end(), [&](int x) { return x != first; })) return;
    const auto [low, high] = sets_[first][0];
    t.has_part = false;
    t.sets = -1;
    const Sym o = t.origin;
    t.origin = Sym(0);
    add_interval(t, o + Sym(low), o + Sym(high));
  }
  void add_interval(Term& t, Sym low, Sym high) {
    if (!idempotent(t.monoid))
      for (const auto& [l, h] : t.intervals)
        if (!less_equal(h, low) && !less_equal(high, l))
          refute("every element is summed once", describe(t),
                 "[" + to_string(relate(low)) + ", " + to_string(relate(high)) +
                     ") is not shown to be disjoint from [" + to_string(relate(l)) + ", " +
                     to_string(relate(h)) + ")");
    t.intervals.emplace_back(low, high);
    for (bool merged = true; merged;) {
      merged = false;
      for (std::size_t i = 0; i < t.intervals.size() && !merged; ++i)
        for (std::size_t k = 0; k < t.intervals.size() && !merged; ++k)
          if (i != k && t.intervals[i].second == t.intervals[k].first) {
            t.intervals[i].second = t.intervals[k].second;
            t.intervals.erase(t.intervals.begin() + static_cast<std::ptrdiff_t>(k));
            merged = true;
          }
    }
    std::sort(t.intervals.begin(), t.intervals.end());
  }

  // Whether intervals that are disjoint (or of an idempotent monoid) make up [0, limit).
  bool cover(const std::vector<std::pair<Sym, Sym>>& intervals, Sym of, Monoid monoid) {
    std::vector<std::pair<Sym, Sym>> all;
    for (const auto& [low, high] : intervals) all.emplace_back(relate(low), relate(high));
    Sym reached = 0;
    while (!all.empty()) {
      const auto next = std::find_if(all.begin(), all.end(), [&](const auto& x) {
        return x.first == reached || (idempotent(monoid) && less_equal(x.first, reached));
      });
      if (next == all.end()) return false;
      reached = next->second;
      all.erase(next);
    }
    return less_equal(relate(of), reached);
  }
  bool covers(const Term& t) { return !t.has_part && cover(t.intervals, t.limit, t.monoid); }

  // Folds under way inside an expression that are over by now.
  Expr resolve(Expr e) {
    return x_.normal(x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn != Fn::fold || n.index.size() < 3) return std::nullopt;
      std::vector<std::pair<Sym, Sym>> intervals;
      for (std::size_t k = 1; k + 1 < n.index.size(); k += 2)
        intervals.emplace_back(n.index[k], n.index[k + 1]);
      if (!cover(intervals, n.index[0], n.monoid)) return std::nullopt;
      ExprNode whole = n;
      whole.index.resize(1);
      return x_.make(std::move(whole));
    }));
  }

  // A fold under way is over: it has to cover [0, limit).
  Term complete_term(Term t) {
    if (!t.partial) return t;
    settle(t);
    const Sym limit = relate(t.limit);
    if (!covers(t))
      refute("a " + std::string(to_string(t.monoid)) + " is over the whole extent before it is used",
             describe(t), "wanted [0, " + to_string(limit) + ")");
    prove("a " + std::string(to_string(t.monoid)) + " is over the whole extent, each element once",
          to_string(t.limit), "provenance");
    Term out;
    out.columns = t.columns;
    out.facts = t.facts;
    out.expr = x_.normal(x_.fold(t.monoid, bound_, t.limit, resolve(t.expr)));
    tidy(out);
    return out;
  }

  void fold_values(State& s, const Inst& i) {
    Term t = assemble(s, i.uses);
    const int n = static_cast<int>(i.uses.size());
    const auto threads = static_cast<std::size_t>(p_.threads());
    if (!t.partial) {
      // The index that is folded: the columns that are the coordinate along the axis.
      Column position;
      const Column thread = thread_coordinates(i.access.threads, 0);
      for (std::size_t th = 0; th < threads; ++th)
        for (int e = 0; e < n; ++e)
          position.push_back(thread[th] + i.position[static_cast<std::size_t>(e)][0]);
      const int wanted = columns_.intern(std::move(position));
      std::vector<std::size_t> folded;
      for (std::size_t c = 0; c < t.columns.size(); ++c)
        if (t.columns[c] == wanted) folded.push_back(c);
      std::optional<Sym> origin;
      for (const std::size_t c : folded)
        if (!origin) origin = origin_of(t.expr, c);
      if (!origin)
        refute("a fold is along an index of its operand", describe(t),
               "no index is the coordinate along the axis");
      std::vector<std::pair<AtomId, Sym>> replace;
      std::vector<int> rest;
      for (std::size_t c = 0; c < t.columns.size(); ++c) {
        if (std::find(folded.begin(), folded.end(), c) != folded.end()) {
          replace.emplace_back(*dollar(c).as_atom(), bound_ - *origin);
        } else {
          replace.emplace_back(*dollar(c).as_atom(), dollar(rest.size()));
          rest.push_back(t.columns[c]);
        }
      }
      const Column& column = columns_[wanted];
      Column sets(threads);
      for (std::size_t th = 0; th < threads; ++th) {
        bool twice = false;
        sets[th] = sets_.of({column.begin() + static_cast<std::ptrdiff_t>(th) * n,
                             column.begin() + static_cast<std::ptrdiff_t>(th + 1) * n},
                            twice);
        if (twice && !idempotent(i.monoid))
          refute("every element is summed once", describe(t),
                 "work-item " + std::to_string(th) + " adds one twice");
      }
      const int high = *std::max_element(column.begin(), column.end());
      replace_in(t, replace);
      t.columns = std::move(rest);
      t.partial = true;
      t.monoid = i.monoid;
      t.has_part = true;
      t.origin = *origin;
      t.sets = columns_.intern(std::move(sets));
      bool limited = false;
      std::vector<Fact> facts;
      for (const Fact& f : t.facts) {
        if (!(f.index == bound_)) {
          facts.push_back(f);
          continue;
        }
        if (limited && !(f.bound == t.limit))
          refute("a fold has one extent", describe(t), to_string(f.bound));
        t.limit = f.bound;
        limited = true;
        if (f.fill != empty_element(i.monoid) && !less_equal(*origin + Sym(high + 1), f.bound))
          refute("what lies outside of a " + std::string(to_string(i.monoid)) + " is its empty element",
                 describe(t),
                 std::isnan(f.fill) ? std::string("it is not known what lies outside")
                                    : "it is " + std::to_string(f.fill));
      }
      if (!limited) refute("a fold has an extent", describe(t), "nothing says where the index ends");
      t.facts = std::move(facts);
      prove("what lies outside of a " + std::string(to_string(i.monoid)) + " is its empty element",
            to_string(t.limit), "provenance");
    } else {
      if (t.monoid != i.monoid)
        refute("parts of a fold are joined by its own monoid", describe(t), to_string(i.monoid));
      const Column& sets = columns_[t.sets];
      Column out(threads);
      for (std::size_t th = 0; th < threads; ++th) {
        out[th] = sets[th * static_cast<std::size_t>(n)];
        for (int e = 1; e < n; ++e) {
          bool twice = false;
          out[th] = sets_.unite(out[th], sets[th * static_cast<std::size_t>(n) + static_cast<std::size_t>(e)],
                                twice);
          if (twice && !idempotent(i.monoid))
            refute("every element is summed once", describe(t),
                   "work-item " + std::to_string(th) + " adds a part twice");
        }
      }
      t.sets = columns_.intern(std::move(out));
    }
    // What is joined is of one result.
    for (int& c : t.columns) {
      const Column& column = columns_[c];
      Column out(threads);
      for (std::size_t th = 0; th < threads; ++th) {
        out[th] = column[th * static_cast<std::size_t>(n)];
        for (int e = 1; e < n; ++e)
          if (column[th * static_cast<std::size_t>(n) + static_cast<std::size_t>(e)] != out[th])
            refute(
                "what a fold joins belongs to one result", describe(t),
                "work-item " + std::to_string(th) + " joins " + std::to_string(out[th]) + " and " +
                    std::to_string(column[th * static_cast<std::size_t>(n) + static_cast<std::size_t>(e)]));
      }
      c = columns_.intern(std::move(out));
    }
    s.regs[key(i.def)] = {std::move(t), false};
  }

  void fold_lanes(State& s, const Inst& i) {
    Term t = part(value(s, i.uses[0]), i.uses[0]);
    if (!t.partial || t.monoid != i.monoid || !t.has_part)
      refute("parts of a fold are joined by its own monoid", describe(t), to_string(i.monoid));
    const auto other = [&](int column) {
      const Column& c = columns_[column];
      Column out(c.size());
      for (std::size_t th = 0; th < c.size(); ++th) out[th] = c[th ^ static_cast<std::size_t>(i.lane_mask)];
      return columns_.intern(std::move(out));
    };
    for (const int c : t.columns)
      if (other(c) != c)
        refute("what a fold joins belongs to one result", describe(t),
               "lanes that differ by " + std::to_string(i.lane_mask) + " hold different rows");
    t.sets = unite(t.sets, other(t.sets), t.monoid);
    s.regs[key(i.def)] = {std::move(t), false};
  }

  // ------------------------------------------------------------------------------------------------------ maps

  // The value of a map where an operand is outside: NaN when it depends on what is not known. An infinite operand
  // absorbs a finite one in a sum; zero times something unknown is not zero.
  double outside(Expr e, std::span<const double> operand, const Fact& fact) const {
    const ExprNode& n = e.node();
    if (n.fn == Fn::constant) return n.value;
    if (n.fn == Fn::parameter) return operand[static_cast<std::size_t>(n.tensor)];
    if (n.fn == Fn::inside) {
      if (same_bound(n.index[0], n.index[1], fact)) return n.value;
      const double in = outside({e.arena, n.args[0]}, operand, fact); // either of the two
      return in == n.value ? in : anything;
    }
    std::vector<double> x;
    for (const int a : n.args) x.push_back(outside({e.arena, a}, operand, fact));
    const bool sum = n.fn == Fn::add || n.fn == Fn::sub;
    if (sum && std::isinf(x[0]) && std::isnan(x[1])) return x[0];
    if (sum && std::isinf(x[1]) && std::isnan(x[0])) return n.fn == Fn::add ? x[1] : -x[1];
    for (const double v : x)
      if (std::isnan(v)) return anything;
    return x.empty() ? anything : function_value(n, x);
  }
  // What says what lies beyond a bound that an operand has is a fact; any other condition is part of the value.
  Expr strip_inside(Expr e, const std::vector<Fact>& facts) {
    const ExprNode n = e.node();
    const auto known = [&](const Fact& f) { return same_bound(n.index[0], n.index[1], f); };
    if (n.fn == Fn::inside && std::any_of(facts.begin(), facts.end(), known))
      return strip_inside({&x_, n.args[0]}, facts);
    ExprNode out = n;
    for (int& a : out.args) a = strip_inside({&x_, a}, facts).id;
    return x_.make(std::move(out));
  }

  void apply_map(State& s, const Inst& i) {
    const std::size_t n = static_cast<std::size_t>(i.def.count), operands = i.uses.size() / n;
    std::vector<int> columns;
    std::vector<Term> terms;
    for (std::size_t k = 0; k < operands; ++k) {
      Term t = assemble(s, std::span(i.uses).subspan(k * n, n));
      if (t.partial) settle(t);
      if (t.partial && (straight_ || idempotent(t.monoid)) && covers(t)) t = complete_term(std::move(t));
      if (t.partial && t.has_part)
        refute("parts of a fold are joined before a map uses them", describe(t),
               to_string(i.map, name_of_tensor()));
      terms.push_back(std::move(t));
    }
    for (Term& t : terms) rename(t, columns), t.columns.clear();
    // Positions in the tile, for what the map says about inside and outside.
    std::vector<std::pair<AtomId, Sym>> positions;
    const std::size_t axes = i.position.empty() ? 0 : i.position[0].size();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const Column thread = thread_coordinates(i.access.threads, axis);
      Column c;
      for (const int t : thread)
        for (const auto& e : i.position) c.push_back(t + e[axis]);
      const int column = columns_.intern(std::move(c));
      auto at = std::find(columns.begin(), columns.end(), column);
      if (at == columns.end()) at = columns.insert(columns.end(), column);
      const Sym symbol =
          context_.symbol(Program::position_name(static_cast<int>(axis)), {Int(0), std::nullopt});
      positions.emplace_back(*symbol.as_atom(), dollar(static_cast<std::size_t>(at - columns.begin())));
    }
    Expr map = x_.substitute(i.map, world_);
    map = x_.substitute(map, positions);
    map = x_.substitute(map, trips());
    if (exiting_) map = x_.substitute(map, relation_); // holds for all that follows

    Term out;
    const auto open = [](const Term& t) { return t.partial; };
    const ExprNode what = x_.normal(map).node();
    if (what.fn == Fn::parameter && terms[static_cast<std::size_t>(what.tensor)].partial) {
      out = terms[static_cast<std::size_t>(what.tensor)]; // a copy
    } else if (std::any_of(terms.begin(), terms.end(), open) && joins(map, terms)) {
      out = join_all(terms);
    } else {
      // A maximum under way is a number like another; a sum is over, unless the map is linear in it.
      for (Term& t : terms)
        if (t.partial && idempotent(t.monoid)) t = number_of(t, columns);
      std::optional<Term> sum;
      if (std::any_of(terms.begin(), terms.end(), open)) sum = linear(map, terms, columns);
      if (sum) {
        out = std::move(*sum);
      } else {
        for (Term& t : terms)
          if (t.partial) {
            t.columns = columns;
            t = complete_term(std::move(t));
            std::vector<int> same = columns;
            rename(t, same); // completing may have dropped columns
          }
        out = pointwise(map, terms);
      }
    }
    out.columns = std::move(columns);
    tidy(out);
    s.regs[key(i.def)] = {std::move(out), false};
  }
  std::function<std::string(int)> name_of_tensor() const {
    return [this](int id) { return p_.tensor(id).name; };
  }

  // Of one index and bound, at this point of the code. What is known here about the number of trips is not written into
  // what a place holds: the next trip knows something else.
  bool same_bound(Sym index, Sym bound, const Fact& f) const {
    return (index == f.index && bound == f.bound) ||
           (relate(index) == relate(f.index) && relate(bound) == relate(f.bound));
  }
  void want(std::vector<Fact>& facts, const Fact& f) const {
    if (std::none_of(facts.begin(), facts.end(),
                     [&](const Fact& g) { return same_bound(g.index, g.bound, f); }))
      facts.push_back(f);
  }

  Term pointwise(Expr map, const std::vector<Term>& terms) {
    Term out;
    std::vector<Fact> facts;
    for (const Term& t : terms)
      for (const Fact& f : t.facts) want(facts, f);
    for (Fact& f : facts) {
      std::vector<double> operand;
      for (const Term& t : terms) {
        const auto has = std::find_if(t.facts.begin(), t.facts.end(),
                                      [&](const Fact& g) { return same_bound(g.index, g.bound, f); });
        operand.push_back(has != t.facts.end() ? has->fill : constant_or_anything(t));
      }
      f.fill = outside(map, operand, f);
    }
    std::vector<Expr> values;
    for (const Term& t : terms) values.push_back(t.expr);
    out.expr = x_.normal(x_.apply(strip_inside(map, facts), values));
    out.facts = std::move(facts);
    return out;
  }

  // max(m, n) of two maxima under way (or of one and the empty one), a + b of two sums: a fold goes on.
  bool joins(Expr map, const std::vector<Term>& terms) {
    const ExprNode n = x_.normal(map).node();
    const std::optional<Monoid> monoid = n.fn == Fn::max   ? std::optional(Monoid::max)
                                         : n.fn == Fn::min ? std::optional(Monoid::min)
                                                           : std::nullopt;
    if (!monoid || n.args.size() != terms.size()) return false;
    for (const int a : n.args)
      if (x_.node(a).fn != Fn::parameter) return false;
    return std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
      return t.partial ? t.monoid == *monoid : t.expr == x_.constant(empty_element(*monoid));
    });
  }
  Term join_all(const std::vector<Term>& terms) {
    std::optional<Term> out;
    for (Term t : terms) {
      if (!t.partial) continue; // the empty element
      t.expr = x_.normal(t.expr);
      if (!out) {
        out = t;
        continue;
      }
      if (!(out->expr == t.expr) || !(out->limit == t.limit))
        refute("parts of a fold are of one fold", describe(*out), describe(t));
      const std::vector<Fact> facts = out->facts;
      out = join(*out, t);
      out->facts = facts;
      for (const Fact& f : t.facts) want(out->facts, f);
    }
    return std::move(*out);
  }

  // A fold under way as a number: it has to be one, so at least one element has to be there.
  Term number_of(const Term& t, const std::vector<int>& columns) {
    const auto met = [&](Sym low) {
      const std::pair<AtomId, Sym> first[] = {{*bound_.as_atom(), low}};
      bool yes = less_equal(low + Sym(1), t.limit);
      (void)x_.rewrite(t.expr, [&](const ExprNode& n) -> std::optional<Expr> {
        if (n.fn == Fn::inside && yes)
          yes = less_equal(ranged(substitute(n.index[0], first), columns) + Sym(1),
                           ranged(substitute(n.index[1], first), columns));
        return std::nullopt;
      });
      return yes;
    };
    if (std::none_of(t.intervals.begin(), t.intervals.end(),
                     [&](const auto& x) { return less_equal(x.first + Sym(1), x.second) && met(x.first); }))
      refute("a " + std::string(to_string(t.monoid)) + " that scales is of at least one element", describe(t),
             "its first element may be left out, and then it is infinite");
    prove("a " + std::string(to_string(t.monoid)) + " that scales is of at least one element", describe(t),
          "provenance");
    Term out;
    out.expr = x_.normal(x_.partial_fold(t.monoid, bound_, t.limit, t.intervals, t.expr));
    out.facts = t.facts;
    for (Fact& f : out.facts) f.fill = anything;
    return out;
  }

  // A map that is linear in sums under way: what is multiplied goes into the body, what is added are parts of one sum. A
  // factor that the specification gives as an element of a block of k, s(k/128), is constant where the sum moves in one
  // block.
  std::optional<Term> linear(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns) {
    std::vector<Expr> values;
    std::vector<Fact> facts;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      values.push_back(terms[k].partial ? x_.parameter(static_cast<int>(k)) : terms[k].expr);
      for (Fact f : terms[k].facts) {
        if (less_equal(ranged(f.index, columns) + Sym(1), f.bound)) continue;
        f.fill = anything;
        want(facts, f);
      }
    }
    const Expr e = x_.normal(x_.apply(map, values));
    const auto parameters = [&](int id) {
      std::vector<int> found;
      (void)x_.rewrite({&x_, id}, [&](const ExprNode& n) -> std::optional<Expr> {
        if (n.fn == Fn::parameter) found.push_back(n.tensor);
        return std::nullopt;
      });
      return found;
    };
    std::vector<Term> parts;
    const ExprNode sum = e.node();
    for (const int id : sum.fn == Fn::add ? sum.args : std::vector<int>{e.id}) {
      const ExprNode product = x_.node(id);
      if (product.fn == Fn::constant && product.value == 0) continue;
      std::vector<int> factors;
      int operand = -1;
      for (const int f : product.fn == Fn::mul ? product.args : std::vector<int>{id}) {
        if (x_.node(f).fn == Fn::parameter && operand < 0) {
          operand = x_.node(f).tensor;
        } else if (parameters(f).empty()) {
          factors.push_back(f);
        } else {
          operand = -2;
        }
      }
      if (operand < 0) return std::nullopt;
      Term t = terms[static_cast<std::size_t>(operand)];
      for (const int f : factors) t.expr = t.expr * within_block(t, {&x_, f}, columns);
      t.expr = x_.normal(t.expr);
      parts.push_back(std::move(t));
    }
    if (parts.empty()) {
      Term zero;
      zero.expr = x_.constant(0);
      return zero;
    }
    Term out = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) {
      if (!(out.expr == parts[k].expr) || !(out.limit == parts[k].limit) || out.monoid != parts[k].monoid)
        refute("an accumulator sums one element of the result", describe(out),
               "and then " + describe(parts[k]));
      out = join(out, parts[k]);
    }
    out.facts = std::move(facts);
    prove("a map of a sum under way is linear in it", to_string(map, name_of_tensor()), "provenance");
    return out;
  }

  // s(t) as s(k / G), for the k of a part that lies in block t.
  Expr within_block(const Term& t, Expr factor, const std::vector<int>& columns) {
    if (t.intervals.size() != 1) return factor;
    const auto [low, high] = t.intervals[0];
    return x_.rewrite(factor, [&, low = low, high = high](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn != Fn::load) return std::nullopt;
      ExprNode out = n;
      for (std::size_t axis = 0; axis < n.index.size(); ++axis) {
        const auto g = blocked_.find({n.tensor, axis});
        if (g == blocked_.end()) continue;
        const Sym block(g->second);
        const Sym of = ranged(relate(n.index[axis]), columns);
        if (!decide(ClaimKind::equal, floor_div(relate(low), block), of) ||
            !decide(ClaimKind::equal, floor_div(relate(high) - Sym(1), block), of))
          refute("a factor of a block is used inside it", to_string({&x_, x_.make(n).id}, name_of_tensor()),
                 "k from " + to_string(relate(low)) + " to " + to_string(relate(high)) + ", blocks of " +
                     to_string(block));
        out.index[axis] = floor_div(bound_, block);
      }
      return x_.make(std::move(out));
    });
  }
  // Which axes the specification indexes by blocks of a summed index, and how long the blocks are.
  void find_blocks() {
    for (const auto& spec : p_.specifications())
      (void)x_.rewrite(spec.value, [&](const ExprNode& n) -> std::optional<Expr> {
        if (n.fn == Fn::load)
          for (std::size_t axis = 0; axis < n.index.size(); ++axis) {
            const auto inner = symbols(n.index[axis]);
            if (inner.size() != 1 || context_.atom(inner[0]).name.rfind("_i", 0) != 0) continue;
            const Sym k = context_.value(inner[0]);
            for (std::int64_t g = 2; g <= 4096; g *= 2)
              if (n.index[axis] == floor_div(k, Sym(g))) blocked_[{n.tensor, axis}] = g;
          }
        return std::nullopt;
      });
  }

  static double constant_or_anything(const Term& t) {
    return t.expr.node().fn == Fn::constant ? t.expr.node().value : anything;
  }
  // ---------------------------------------------------------------------------------------------------- stores

  void store(State& s, const Inst& i) {
    const Prepared& r = prepared(i);
    const Tensor& t = p_.tensor(i.access.tensor);
    const Program::Specification* spec = nullptr;
    for (const auto& x : p_.specifications())
      if (x.tensor == t.id) spec = &x;
    if (!spec)
      refute("every tensor that is written has a specification", t.name, "nothing says what it should hold");
    Term term = complete_term(part(value(s, i.uses[0]), i.uses[0]));
    const std::string claim = t.name + " is what the specification says";

    // Specification and term over the same columns: those of the coordinates that are written.
    std::vector<int> columns;
    std::vector<std::pair<AtomId, Sym>> at;
    std::vector<Sym> coordinate;
    for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
      auto where = std::find(columns.begin(), columns.end(), r.column[axis]);
      if (where == columns.end()) where = columns.insert(columns.end(), r.column[axis]);
      coordinate.push_back(relate(here(r.origin[axis])) +
                           dollar(static_cast<std::size_t>(where - columns.begin())));
    }
    for (std::size_t axis = 0; axis < coordinate.size(); ++axis)
      at.emplace_back(*spec->coordinate[axis].as_atom(), coordinate[axis]);
    rename(term, columns);
    // A column with one value is that number.
    std::vector<std::pair<AtomId, Sym>> constants;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Column& column = columns_[columns[c]];
      if (std::all_of(column.begin(), column.end(), [&](int v) { return v == column[0]; }))
        constants.emplace_back(*dollar(c).as_atom(), Sym(column[0]));
    }
    const auto settle_sym = [&](Sym x) { return substitute(relate(x), constants); };
    const auto settle_expr = [&](Expr e) {
      e = x_.substitute(e, world_);
      e = x_.substitute(e, relation_);
      return x_.substitute(e, constants);
    };
    Expr expected = settle_expr(x_.substitute(spec->value, at)), got = settle_expr(resolve(term.expr));
    expected = x_.normal(tabulate(expected, columns));
    got = x_.normal(tabulate(got, columns));
    if (!(expected == got)) {
      const auto name = [&](int id) { return p_.tensor(id).name; };
      std::string columns_text;
      for (std::size_t c = 0; c < columns.size(); ++c)
        if (const int v = first_difference(columns, c); v >= 0)
          columns_text += "\n  _c" + std::to_string(c) + " of slot " + std::to_string(v) + " is " +
                          std::to_string(columns_[columns[c]][static_cast<std::size_t>(v)]);
      refute(claim, to_string(expected, name), "it holds " + to_string(got, name) + columns_text);
    }
    for (const Fact& f : term.facts) {
      const Sym index = settle_sym(f.index), bound = settle_sym(f.bound);
      bool met = false; // what the mask of the store leaves out need not be right
      for (std::size_t axis = 0; axis < coordinate.size(); ++axis)
        met = met || (settle_sym(coordinate[axis]) == index && settle_sym(world(t.shape[axis])) == bound);
      met = met || less_equal(ranged(index, columns) + Sym(1), bound);
      if (!met)
        refute(claim, describe(term),
               "where " + to_string(index) + " >= " + to_string(bound) +
                   " it holds something else, and that is stored");
    }
    // Outside of the tensor nothing is written.
    for (std::size_t axis = 0; axis < coordinate.size(); ++axis)
      if (!i.access.masked[axis] && !less_equal(ranged(settle_sym(coordinate[axis]), columns) + Sym(1),
                                                settle_sym(world(t.shape[axis]))))
        refute("stores stay inside " + t.name, to_string(coordinate[axis]),
               "axis " + std::to_string(axis) + " is not masked and may pass " + to_string(t.shape[axis]));
    prove("stores stay inside " + t.name, to_string(t.place), "facts");

    // Every coordinate of the tile once.
    auto& done = s.stored[t.id];
    auto& [origin, extents] = s.stored_tile[t.id];
    if (done.empty()) {
      extents = i.access.extents;
      for (std::size_t axis = 0; axis < r.origin.size(); ++axis) origin.push_back(r.origin[axis]);
      std::size_t n = 1;
      for (const int e : extents) n *= static_cast<std::size_t>(e);
      done.assign(n, false);
    }
    for (std::size_t axis = 0; axis < origin.size(); ++axis)
      if (!(origin[axis] == r.origin[axis]))
        refute("a workgroup writes one tile of " + t.name, to_string(origin[axis]),
               to_string(r.origin[axis]));
    for (std::size_t slot = 0; slot < r.coordinate[0].size(); ++slot) {
      if (!r.acts[slot / i.access.elements.size()]) continue;
      std::size_t index = 0;
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        const int c = r.coordinate[axis][slot];
        if (c < 0 || c >= extents[axis])
          refute("a workgroup writes one tile of " + t.name, "",
                 "coordinate " + std::to_string(c) + " of axis " + std::to_string(axis) +
                     " lies outside of it");
        index = index * static_cast<std::size_t>(extents[axis]) + static_cast<std::size_t>(c);
      }
      if (done[index])
        refute("every element of " + t.name + " is written once", "",
               "work-item " + std::to_string(slot / i.access.elements.size()) +
                   " writes one that was written before");
      done[index] = true;
    }
    s.vm.push_back({});
    prove(claim, to_string(spec->value, [&](int id) { return p_.tensor(id).name; }), "provenance");
  }
  // floor_div(_c0, 128) and the like are columns of their own.
  Expr tabulate(Expr e, std::vector<int>& columns) {
    std::vector<std::pair<AtomId, Sym>> replace;
    const auto look = [&](Sym s) {
      for (const inlay::Term& term : s.terms())
        for (const Factor& f : term.factors()) {
          const Sym atom = context_.value(f.atom);
          if (context_.atom(f.atom).kind == AtomKind::symbol) continue;
          std::vector<std::size_t> used;
          bool only = true;
          for (const AtomId a : symbols(atom)) {
            std::size_t c = 0;
            while (c < columns.size() && *dollar(c).as_atom() != a) ++c;
            only = only && c < columns.size();
            used.push_back(c);
          }
          if (!only || used.empty()) continue;
          Column out;
          for (std::size_t slot = 0; slot < columns_[columns[used[0]]].size(); ++slot) {
            Assignment at;
            for (const std::size_t c : used) at.set(dollar(c), Int(columns_[columns[c]][slot]));
            out.push_back(static_cast<int>(evaluate(atom, at).value()));
          }
          if (std::all_of(out.begin(), out.end(), [&](int v) { return v == out[0]; })) {
            replace.emplace_back(f.atom, Sym(out[0]));
            continue;
          }
          const int id = columns_.intern(std::move(out));
          auto where = std::find(columns.begin(), columns.end(), id);
          if (where == columns.end()) where = columns.insert(columns.end(), id);
          replace.emplace_back(f.atom, dollar(static_cast<std::size_t>(where - columns.begin())));
        }
    };
    (void)x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
      for (const Sym& s : n.index) look(s);
      if (n.fn == Fn::number) look(n.sym);
      return std::nullopt;
    });
    return replace.empty() ? e : x_.substitute(e, replace);
  }
  int first_difference(const std::vector<int>& columns, std::size_t c) const {
    const Column& column = columns_[columns[c]];
    for (std::size_t s = 0; s < column.size(); ++s)
      if (column[s] != 0) return static_cast<int>(s);
    return column.empty() ? -1 : 0;
  }

  // What every exit must have done.
  void finish(const State& s) {
    for (const auto& spec : p_.specifications()) {
      const auto found = s.stored.find(spec.tensor);
      const std::string& name = p_.tensor(spec.tensor).name;
      if (found == s.stored.end())
        refute("every element of " + name + " is written once", "", "nothing is written");
      const auto& [origin, extents] = s.stored_tile.at(spec.tensor);
      for (std::size_t index = 0; index < found->second.size(); ++index)
        if (!found->second[index]) {
          std::string at;
          std::size_t rest = index;
          for (const int e : extents) {
            at += (at.empty() ? "" : ",") + std::to_string(rest % static_cast<std::size_t>(e));
            rest /= static_cast<std::size_t>(e);
          }
          refute("every element of " + name + " is written once", "",
                 "(" + at + ") of the tile is not written");
        }
      stored_tile_[spec.tensor] = {origin, extents};
      prove("every element of a tile of " + name + " is written once", "", "enumeration");
    }
  }

  // The tiles of all workgroups make up the tensor.
  void coverage() {
    for (const auto& [tensor, tile] : stored_tile_) {
      const auto& [origin, extents] = tile;
      const Tensor& t = p_.tensor(tensor);
      std::set<int> used;
      for (std::size_t axis = 0; axis < origin.size(); ++axis) {
        const Sym extent = world(t.shape[axis]);
        const std::string claim = "workgroups share out axis " + std::to_string(axis) + " of " + t.name;
        bool met = origin[axis] == Sym(0) && less_equal(extent, Sym(extents[axis]));
        for (const GridAxis& g : p_.grid()) {
          if (!(origin[axis] == Sym(extents[axis]) * world(g.symbol))) continue;
          if (g.tile != extents[axis] || !(g.extent == t.shape[axis]))
            refute(claim, to_string(g.extent),
                   "tiles of " + std::to_string(extents[axis]) + " on " + to_string(t.shape[axis]) +
                       ", and ceil(" + to_string(g.extent) + " / " + std::to_string(g.tile) + ") workgroups");
          if (!used.insert(g.axis).second) refute(claim, to_string(g.symbol), "the grid axis is used twice");
          // (r, w) -> tile * w + r is one-to-one onto what the workgroups have, and that is at least the extent.
          const Sym count = context_.symbol("_count" + std::to_string(g.axis));
          TupleBuilder<BasicMode<Sym>> b;
          const std::size_t open = b.open();
          b.leaf(BasicMode<Sym>{Sym(g.tile), BasicStride<Sym>(Sym(1))});
          b.leaf(BasicMode<Sym>{count, BasicStride<Sym>(Sym(g.tile))});
          b.close(open, 2);
          Claim c{ClaimKind::bijective, {}, {SymLayout(std::move(b).finish())}};
          // An extent is tile*q + r + 1 with 0 <= r < tile.
          const Sym extent_form =
              Sym(g.tile) * context_.symbol("_tiles", {Int(0), std::nullopt}) +
              context_.symbol("_last" + std::to_string(g.tile), {Int(0), Int(g.tile - 1)}) + Sym(1);
          met = prover_.decide(c) == Truth::yes &&
                decide(ClaimKind::less_equal, extent_form, Sym(g.tile) * ceil_div(extent_form, Sym(g.tile)));
        }
        if (!met) refute(claim, to_string(origin[axis]), "no grid axis counts these tiles");
        prove(claim, to_string(origin[axis]), "prover");
      }
      for (const GridAxis& g : p_.grid())
        if (!used.contains(g.axis))
          refute("no two workgroups write one element of " + t.name, to_string(g.symbol),
                 "workgroups along grid axis " + std::to_string(g.axis) + " write the same tile");
    }
  }

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
  std::vector<std::pair<AtomId, Sym>> world_, relation_;
  /// There is no loop. Behind one, a factor that follows a sum may belong inside it: the scale of a block of k.
  bool straight_ =
      std::none_of(code_.regions.begin(), code_.regions.end(), [](const auto& r) { return r.is_loop; });
  std::map<const CodeRegion*, Sym> last_trip_;
  const Inst* half_ = nullptr; ///< the load of a transfer whose write has to be next
  std::unordered_map<const Inst*, Prepared> prepared_;
  std::unordered_map<const Inst*, std::shared_ptr<const std::vector<std::pair<int, int>>>> touched_;
  std::map<std::tuple<int, int, int, int>, int> cuts_;
  std::map<std::vector<int>, int> joins_;
  std::map<std::tuple<const Atom*, std::size_t, std::vector<int>, std::vector<int>, std::int64_t>, Product>
      products_;
  std::map<std::tuple<int, int, Monoid>, int> united_;
  std::map<std::tuple<ClaimKind, Sym, Sym>, bool> decided_;
  std::set<std::pair<std::string, int>> recorded_;
  std::map<int, std::pair<std::vector<Sym>, std::vector<int>>> stored_tile_;
  const Inst* at_ = nullptr;
  Sym trip_value_{};
  int number_ = 0, ring_ = 1;
  bool exiting_ = false; ///< on the way out of a loop: its number of trips is known
  int row_table_ = -1;   ///< see row_index
  std::map<std::pair<int, std::size_t>, std::int64_t> blocked_; ///< see factors
};

} // namespace

bool Derivation::ok() const { return refuted() == nullptr; }
const DerivedClaim* Derivation::refuted() const {
  for (const DerivedClaim& c : claims)
    if (!c.proved) return &c;
  return nullptr;
}

Derivation derive(const Code& code, Prover& prover) { return Interpreter(code, prover).run(); }

} // namespace inlay::codegen
