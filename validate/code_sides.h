/// Machine code and the Code that it was made from, side by side: what the files of it share.
///
///     code.cpp           what is asked, in which order
///     code_paths.cpp     path by path: what both load, store and multiply
///     code_loop.cpp      a loop by induction: any number of its trips
///     code_meetings.cpp  turns and devices that meet: what waits for what
///     code_at_sizes.cpp  sizes, pointers and elements that are numbers: counterexamples
#pragma once

#include "code_client.h"
#include "guards.h"

namespace inlay::kernels::validate::sides {

/// The regions of a Code from one of them on: those before its next loop, that loop, and those behind it. Where another loop follows, these
/// are the first regions of its own part.
struct Shape {
  std::vector<const CodeRegion*> before, after;
  const CodeRegion* loop = nullptr;
  std::optional<std::size_t> next; ///< the first region behind the loop, where another loop comes
  explicit Shape(const Code& code, std::size_t from = 0) {
    for (std::size_t k = from; k < code.regions.size(); ++k) {
      const CodeRegion& r = code.regions[k];
      if (r.is_loop && loop != nullptr) {
        next = static_cast<std::size_t>(loop - code.regions.data()) + 1;
        after.clear();
        return;
      }
      if (r.is_loop)
        loop = &r;
      else
        (loop == nullptr ? before : after).push_back(&r);
    }
  }
};

/// What is assumed of conditions of branches in front of a loop.
using Assumed = std::vector<codegen::Guard>;

/// What `guards` say of a condition; nullptr: nothing.
inline const codegen::Guard* guard_of(const std::vector<codegen::Guard>& guards,
                                      const codegen::Condition& c) {
  const auto at =
      std::find_if(guards.begin(), guards.end(), [&](const codegen::Guard& g) { return g.condition == c; });
  return at == guards.end() ? nullptr : &*at;
}

/// Whether the region `r` runs wherever `other` does; throws where that depends on something that is not assumed.
inline bool runs_with(const CodeRegion& r, const CodeRegion& other, const Assumed& assumed) {
  for (const codegen::Guard& g : r.guards) {
    const codegen::Guard* known = guard_of(other.guards, g.condition);
    if (known == nullptr) known = guard_of(assumed, g.condition);
    if (known == nullptr) throw NotFollowed{"a branch in front of the code's loop"};
    if (known->holds != g.holds) return false;
  }
  return true;
}

/// Conditions of branches in front of a loop that is in no such branch.
inline std::vector<codegen::Condition> open_conditions(const Code& code) {
  std::vector<codegen::Condition> out;
  for (Shape shape(code);; shape = Shape(code, *shape.next)) {
    if (shape.loop != nullptr)
      for (const CodeRegion* r : shape.before)
        for (const codegen::Guard& g : r->guards) {
          if (guard_of(shape.loop->guards, g.condition) == nullptr &&
              std::find(out.begin(), out.end(), g.condition) == out.end())
            out.push_back(g.condition);
        }
    if (!shape.next) return out;
  }
}

using Versions = std::map<std::pair<Sym, int>, bool>;

inline std::vector<std::pair<Sym, int>> versions_of(const std::vector<const CodeRegion*>& regions) {
  std::vector<std::pair<Sym, int>> out;
  for (const CodeRegion* r : regions)
    for (const auto* list : {&r->prologue, &r->body, &r->epilogue})
      for (const Inst& i : *list)
        if (i.when &&
            std::find(out.begin(), out.end(), std::pair(i.when->size, i.when->modulus)) == out.end())
          out.emplace_back(i.when->size, i.when->modulus);
  return out;
}
inline std::vector<std::pair<Sym, int>> versions_of(const Code& code) {
  std::vector<const CodeRegion*> all;
  for (const CodeRegion& r : code.regions) all.push_back(&r);
  return versions_of(all);
}

/// The bytes after the symbol `zeros`, where they are 0 and no code; an empty range where there are none.
std::pair<std::uint64_t, std::uint64_t> zeros_of(const runtime::CodeObject& object);

/// What a workgroup reads of its problem: pointers by the names of its tensors, sizes by those of their tables.
std::vector<FlowOptions::Table> tables_by_problem(const codegen::Program& program);

/// Sizes and workgroup that the contract allows.
class Draw {
public:
  explicit Draw(const Code& code, std::uint64_t seed = 1) : code_(code), p_(*code.program), random_(seed) {}
  /// The same with that many trips of the loop.
  Sample with_trips(int trips, bool large) {
    exact_ = true;
    large_ = large;
    Sample s = (*this)(trips);
    exact_ = false;
    return s;
  }
  /// The same, each size its least or the largest of these: what is asked of one size against another fails there.
  Sample at_edges(int trips) {
    edges_ = true;
    Sample s = (*this)(trips);
    edges_ = false;
    return s;
  }
  Sample operator()(int trips) {
    Sample s;
    const auto set = [&](const std::string& name, Sym symbol, std::int64_t v) {
      s.numbers.emplace_back(name, v);
      s.symbols.set(symbol, Int(v));
    };
    for (const codegen::Size& z : p_.sizes()) {
      std::int64_t tile = 64;
      bool of_loop = false;
      for (const CodeRegion& r : code_.regions)
        if (r.is_loop && r.extent == z.symbol) tile = r.tile, of_loop = true;
      for (const codegen::GridAxis& g : p_.grid())
        if (g.extent == z.symbol) tile = g.tile;
      const std::int64_t most = std::min<std::int64_t>(z.facts.most, std::max<std::int64_t>(tile, 4) * trips);
      std::int64_t v = 1 + static_cast<std::int64_t>(
                               random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(most, 1)));
      if (random_() % 4 == 0) v = (v + tile - 1) / tile * tile;
      if (exact_ && of_loop)
        v = tile * (trips - 1) + 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(tile));
      if (exact_ && !of_loop && most > 3 * tile) v = v % (3 * tile) + 1;
      if (exact_ && !of_loop && large_) // a workgroup far out
        v = z.facts.least + static_cast<std::int64_t>(
                                random_() % static_cast<std::uint64_t>(z.facts.most - z.facts.least + 1));
      if (exact_ && random_() % 3 == 0) v = (v + 15) / 16 * 16;
      if (exact_ && !of_loop && !large_ && most > 3 * tile && random_() % 3 == 0) // nearly three whole tiles
        v = 3 * tile - static_cast<std::int64_t>(random_() % 4);
      if (edges_) v = random_() % 2 == 0 ? z.facts.least : most;
      v = std::min(std::max(v, z.facts.least), z.facts.most);
      v = std::max(v / z.facts.multiple * z.facts.multiple,
                   (z.facts.least + z.facts.multiple - 1) / z.facts.multiple * z.facts.multiple);
      set(z.name, z.symbol, v);
    }
    // Tensors that fit a memory.
    const auto elements = [&](const codegen::Tensor& t) {
      double n = 1;
      for (const Sym& x : t.shape) n *= static_cast<double>(evaluate(x, s.symbols).value());
      return n;
    };
    for (bool again = true; again;) {
      again = false;
      for (const codegen::Tensor& t : p_.tensors()) {
        if (t.space != codegen::Space::global || elements(t) < 1e11) continue;
        std::size_t largest = 0;
        for (std::size_t z = 0; z < p_.sizes().size(); ++z)
          if (s.numbers[z].second > s.numbers[largest].second) largest = z;
        const codegen::Size& z = p_.sizes()[largest];
        std::int64_t& v = s.numbers[largest].second;
        v = std::max(v / 3 / z.facts.multiple * z.facts.multiple,
                     (z.facts.least + z.facts.multiple - 1) / z.facts.multiple * z.facts.multiple);
        s.symbols.set(z.symbol, Int(v));
        again = true;
      }
    }
    for (const codegen::GridAxis& g : p_.grid()) {
      const std::int64_t extent = evaluate(g.extent, s.symbols).value();
      const std::int64_t count = (extent + g.tile - 1) / g.tile;
      const std::int64_t w = random_() % 2 == 0
                                 ? count - 1
                                 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
      const auto& map = p_.tile_map();
      set(std::string("workgroup_") + "xyz"[g.axis],
          map && g.axis == 0   ? map->id_x
          : map && g.axis == 1 ? map->id_y
                               : g.symbol,
          w);
    }
    if (p_.tile_map())
      for (const auto& d : p_.tile_map()->definitions())
        s.symbols.set(d.symbol, evaluate(d.value, s.symbols));
    return s;
  }

private:
  const Code& code_;
  const codegen::Program& p_;
  std::mt19937_64 random_;
  bool exact_ = false, large_ = false, edges_ = false;
};

struct Snapshot {
  Flow flow;
};

struct Path {
  Flow flow;
  Trace trace;
  std::vector<std::size_t> samples;
  std::map<std::size_t, std::vector<std::shared_ptr<Flow>>> heads;
  std::map<std::size_t, std::vector<std::size_t>> stored; ///< how many elements, at each of them
  void at_head(std::size_t head) {
    heads[head].push_back(std::make_shared<Flow>(flow));
    stored[head].push_back(trace.stores.size());
  }
  explicit Path(Flow f) : flow(std::move(f)) {}
};

/// A word of the machine at the head of its loop.
struct Related {
  enum class Kind : std::uint8_t { data, linear, unknown };
  Kind kind = Kind::unknown;
  Element format = Element::f32;
  std::vector<int> places; ///< -1: a half of which nothing is known, which may be read and then dropped
  int half = -1;           ///< of f64: which word of the number
  Word step = 0;           ///< of a period: a number, or made of arguments
};

class Sides {
public:
  Sides(const runtime::CodeObject& object, const runtime::Kernel& kernel, const Code& code,
        const CodeOptions& o)
      : object_(object), kernel_(kernel), code_(code), p_(*code.program), options_(o),
        lines_(runtime::isa::LineTable::read(object)), steps_(o.budget, o.progress) {}

  CodeReport run();

private:
  FlowOptions flow_options() const {
    FlowOptions f;
    f.max_bytes = options_.max_bytes;
    f.executed = [this](std::uint64_t n) { steps_.take(n * Steps::followed_instruction); };
    f.block = {static_cast<std::uint32_t>(p_.threads()), 1, 1};
    f.meets = waits_for_others() && !follows_ticket();
    for (const codegen::Size& z : p_.sizes())
      if (rank_ && z.symbol == p_.together().rank) f.values[z.name] = *rank_;
    for (const codegen::Size& z : p_.sizes()) f.maxima[z.name] = static_cast<std::uint32_t>(z.facts.most);
    for (const codegen::GridAxis& g : p_.grid()) {
      const Interval i = interval(ceil_div(g.extent, Sym(g.tile)));
      // At least 1: a carry of what can only be 0 is none, and the sum it belongs to is one no more.
      if (i.upper && *i.upper <= Int(INT32_MAX))
        f.maxima[std::string("workgroup_") + "xyz"[g.axis]] =
            static_cast<std::uint32_t>(std::max<std::int64_t>(i.upper->value() - 1, 1));
    }
    f.tables = tables_by_problem(p_);
    for (const codegen::Problems::Own& own : p_.problems().sizes) {
      f.maxima["workgroup_z"] = 65534;
      f.maxima[p_.tensor_name(own.table)] = f.maxima[to_string(own.size)];
    }
    return f;
  }
  bool same_arguments();
  [[nodiscard]] bool follows_ticket() const;
  [[nodiscard]] std::int64_t number_at(const Sample& s, unsigned k) const;
  [[nodiscard]] bool has_elements(Element e) const;
  void order();
  void judge();
  template <class F>
  void try_to(F f);
  void symbolic();
  /// Whether workgroups or devices wait for each other, and what of that is not followed; empty: nothing.
  [[nodiscard]] bool waits_for_others() const;
  [[nodiscard]] std::string unfollowed() const;
  void meetings(const Path& path, const std::string& where);
  void meeting(const Path& path, const Inst& inst, unsigned wave, std::span<const Meeting> found);
  void concrete(unsigned from, unsigned to);
  struct Abstract;
  void explore(Path start, Abstract* abstract);
  void ended(Path& path, Abstract* abstract);
  /// What follows a loop of the code that has been left on the path, up to another loop and with it: the path goes on in `then`.
  /// `at_head`: it has come to the head of another loop.
  void behind(Path& path, Abstract* abstract, std::optional<int> trips, bool at_head,
              const std::function<void(Path)>& then);
  bool loop(Path& path, std::size_t head, std::string& why);
  bool attempt(Abstract& a, std::string& why);
  void compare(const Path& path, const Events& stores, const Events& loads, int trips, bool by_number,
               const std::string& where);
  bool compare_stores(const Path& path, const Events& stores, const std::string& where);
  void join(Events& to, const Events& from) const;
  void foreign_loads(const Path& path, const Events& loads, int trips, bool by_number,
                     const std::string& where);
  const CodeRun::State& after(Abstract& a, int r);
  const CodeRun::State& boundary(int trips);
  [[nodiscard]] std::vector<std::string> facts(const Path& path, const Abstract* a);
  [[nodiscard]] std::vector<std::string> known_of(const std::vector<std::pair<Word, bool>>& path) const;
  Versions versions(const Path& path, const Abstract* a, const std::vector<const CodeRegion*>& regions);
  std::vector<const CodeRegion*> that_run(const std::vector<const CodeRegion*>& regions, const Path& path,
                                          const Abstract* a);
  bool runs(const CodeRegion& r, const Path& path, const Abstract* a);
  std::optional<int> trips_of(const Path& path, const Abstract* a);
  std::optional<int> trips_of(const Path& path, const Abstract* a, Sym trips, Sym base);
  bool trips_left(const Path& path, Abstract* a, const std::string& where, std::optional<int>& trips);
  void left(const Path& path, Abstract* a, std::optional<int> trips, Events& stores);
  std::vector<std::pair<AtomId, Sym>> counted(const Path& path, const Abstract* a);
  std::vector<std::pair<AtomId, Sym>> resolved(const Path& path, const Abstract* a);
  void settle(Flow& flow, const std::vector<std::pair<AtomId, Sym>>& replaced);
  /// The number of the code's trips, in sizes and entries of tables.
  [[nodiscard]] Sym loop_trips() const { return code_run_->fixed(shape_->loop->trips); }
  /// A formula at those sizes; nothing where it has an entry of a table, which they do not say.
  [[nodiscard]] static std::optional<Int> value_at(const Sample& s, Sym formula) {
    for (const AtomId a : symbols(formula))
      if (!s.symbols.get(a)) return std::nullopt;
    return evaluate(formula, s.symbols);
  }
  /// Where K is a multiple of the tile, K itself is so many: it is not replaced by what a path says of it.
  [[nodiscard]] bool trips_are_a_size() const { return is_a_size(loop_trips()); }
  [[nodiscard]] bool is_a_size(Sym trips) const {
    const auto atom = formulas_->canonical(trips).as_atom();
    return atom && formulas_->context().atom(*atom).kind == AtomKind::symbol;
  }
  void missing(const std::string& what) { reasons_.insert(what); }
  /// Where the two sides name an element differently on a path, or only the path tells: where sizes of a counterexample are
  /// looked for.
  struct Difference {
    std::shared_ptr<const std::vector<std::pair<Word, bool>>> path;
    std::optional<ElementAccess> machine, code;
  };
  std::vector<Difference> differences_;
  template <class Accesses>
  void differs(const Path& path, std::optional<ElementAccess> machine, const Accesses& all,
               std::optional<ElementAccess> code = {});
  [[nodiscard]] bool tells(const Difference& d, const Sample& s, bool outside) const;
  void number_words(Sample& s) const;
  void concrete_at(const Sample& s, unsigned k, const CodeRun::Entries& chosen_entries = {});
  void at_roots();
  void directed();
  void guards();
  std::string at(std::size_t instruction) const {
    const auto& i = flow_->instruction(instruction);
    const auto line = lines_.at(i.address);
    return located(i) + (line ? " (line " + std::to_string(line->line) + ")" : "");
  }
  /// What the code has for that address.
  template <class Accesses>
  std::string instead(const ElementAccess& a, const Accesses& all) const {
    for (const auto& [key, event] : all)
      if (key.name->tensor == a.name->tensor && key.byte == a.byte && key.name->address == a.name->address)
        return "; but " + text(key);
    return "";
  }
  std::string text(const ElementAccess& a) const {
    const AccessName& n = *a.name;
    std::string s = p_.tensor(n.tensor).name + " byte " + to_string(n.address + Sym(a.byte)) + ", room " +
                    to_string(n.room + Sym(a.left));
    if (!(n.step == Sym(0))) s += ", step " + to_string(n.step);
    for (const Sym& d : n.inside.all) s += ", if " + to_string(d) + " >= 0";
    return s;
  }

  const runtime::CodeObject& object_;
  const runtime::Kernel& kernel_;
  const Code& code_;
  const codegen::Program& p_;
  CodeOptions options_;
  runtime::isa::LineTable lines_;
  mutable Steps steps_;
  CodeReport report_;
  std::set<std::string> reasons_;

  std::unique_ptr<Flow> flow_; ///< for terms and texts
  std::unique_ptr<Shape> shape_;
  std::unique_ptr<CodeRun> code_run_;
  std::unique_ptr<Formulas> formulas_;
  std::unique_ptr<ValuesOfWords> values_;
  std::unique_ptr<Client> client_;
  std::vector<Sample> samples_;
  Assumed assumed_;
  using Loads = Flat<ElementAccess, int, HashAccess>;
  /// Of the part of the code that a path is in, around the loop of `shape_`: how the code comes to it, and what it does there.
  struct Part {
    CodeRun::State state;           ///< before its first region
    Events stores;                  ///< up to there, on the path
    std::vector<std::string> facts; ///< and what the path says there, by conditions up to `conditions`
    std::size_t conditions = 0;
    std::vector<Sample> samples; ///< of that path; none: of any
    std::vector<std::pair<AtomId, Sym>>
        periods; ///< of loops before it, by the number of the trips that the code makes
    std::vector<CodeRun::State> boundaries;
    std::size_t most_boundaries = 0; ///< as far as loads of the machine are looked for in later trips
    Loads loads_until;               ///< by which boundary
    std::vector<Events> stores_of;   ///< of the trip that leads to each boundary
  };
  Part part_;
  void begin_part();
  [[nodiscard]] bool several_loops() const {
    return std::count_if(code_.regions.begin(), code_.regions.end(),
                         [](const CodeRegion& r) { return r.is_loop; }) > 1;
  }
  /// Whether the code has left its loop where the path comes to a head: then it has been gone through from there on.
  bool in_next_part(Path& path, Abstract* abstract, std::size_t head);
  unsigned paths_ = 0;
  bool stores_in_loop_ = false;
  std::optional<std::uint32_t> rank_; ///< of several devices, one after the other
  Number fresh_ = 1;
  Number halves_ = 0; ///< of registers that nothing is known of
};

/// A loop of the machine for any number of periods.
struct Sides::Abstract {
  std::size_t head = 0;
  const InPlace* before = nullptr; ///< what has been loaded and stored up to its head
  Word periods = 0;
  Sym u;
  int first = 0, period = 1; ///< trips of the code before, and a period
  std::shared_ptr<Flow> from;
  std::vector<std::string> base;  ///< facts of the path to the head
  std::vector<std::string> facts; ///< the same, and the invariants
  std::vector<Sym> invariants;    ///< each at least 0: what the branch back has checked, one period ago
  // Places of the code: blocks of values.
  struct Block {
    bool lds = false;
    int id = 0, at = 0; ///< register and iteration from the current trip on; tensor and stage
    std::size_t base = 0, size = 0;
  };
  std::vector<Block> blocks;
  std::vector<Number> one, two;      ///< values at the two heads
  std::vector<bool> fresh;           ///< of each place: changes from head to head
  std::vector<int> kind, first_kind; ///< places of one kind hold the same
  std::vector<int> first_alike;      ///< of each first kind: the first place that held the same at both heads
  std::vector<int> next_alike;       ///< and after each place the next one; -1: none
  std::vector<Number> start;
  // Words of the machine.
  std::vector<std::vector<int>>
      vectors; ///< [wave][row * 64 + lane]: index into `related`, -1: stays as it is
  std::vector<std::vector<int>> scalars;
  std::vector<int> lds;
  std::vector<bool> scc; ///< of each wave: may be anything
  std::vector<Related> related;
  bool changed = false;
  std::vector<bool> way; ///< how the conditions went from the first head to the second
  bool guessed = false;  ///< invariants have been looked for
  // States of the code after r more trips, made when wanted.
  std::vector<CodeRun::State> runs;
  std::vector<Events> stores;  ///< of each of these trips
  Loads loads;                 ///< by the number of trips after which they have been made
  std::unique_ptr<Flow> begin; ///< the abstract state
};

} // namespace inlay::kernels::validate::sides
