// The trees of sums (sum_order.h). Begin at `run`; `one` is one instruction.
#include <inlay/codegen/sum_order.h>

#include <inlay/codegen/address.h>
#include <inlay/codegen/expression.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <bit>
#include <bitset>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>

namespace inlay::codegen {
namespace {

using Key = std::vector<std::int64_t>;
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const std::int64_t x : key)
      h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15, h ^= h >> 29;
    return h;
  }
};

/// Of a node: what stands first in its key.
enum Kind : std::uint8_t {
  unset,   ///< nothing, or something that is not followed
  load,    ///< tensor, coordinates
  fill,    ///< the value's bits
  product, ///< atom, accumulator, the row of either operand (a list of k), and of scales
  list,    ///< nodes
  map,     ///< expression, element, places, operands
  fold,    ///< monoid, nodes in order
  lanes,   ///< monoid, two nodes
  carried, ///< loop, pass, class: what a loop has from the trip before
  loop,    ///< region, before the loop, what a trip makes of it, the carried one
  branch,  ///< number of the condition, then, otherwise
  mixed,   ///< of several rows
  drawn    ///< a ticket's number
};

/// What a tree depends on beside data.
struct Cause {
  enum class What : std::uint8_t { cut, bound, grid, uniform, share, ticket, rows, unknown } what;
  AtomId atom = 0; ///< the size, or the number
  int op = -1;
  std::source_location where;
  std::string text;
};
constexpr std::size_t most_causes = 256;
using Causes = std::bitset<most_causes>; ///< the last one: there are more

struct Node {
  std::span<const std::int64_t> key;
  Causes causes;
  bool exact = false; ///< sums of integers: the same in any order
};

/// A tree and the row that its leaves of a row are of.
struct Value {
  int id = 0;
  int row = 0; ///< none, several, or a number of `rows_`
  friend bool operator==(const Value&, const Value&) = default;
};
constexpr int no_row = 0, several = 1;

/// Along one axis of the first output.
class Trees {
public:
  /// `batch`: how many rows there are; nothing: no rows are looked at.
  Trees(const Graph& graph, std::optional<Sym> batch) : g_(graph), p_(*graph.program), batch_(batch) {
    intern({unset}, cause({Cause::What::unknown, 0, -1, p_.where(), "a value that the rules do not follow"}));
    number_ops();
    find_rows();
  }

  void run() {
    regs_.resize(g_.registers.size());
    for (std::size_t r = 0; r < regs_.size(); ++r)
      regs_[r].resize(static_cast<std::size_t>(p_.threads() * g_.registers[r].count));
    regions(0, g_.regions.size(), 0);
  }

  /// What is stored of an output.
  struct Stored {
    Causes causes;
    bool foreign = false; ///< a row of it is of other rows
    bool apart = false;   ///< two rows are summed in different ways
    std::map<Key, int> by_column;
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

  [[nodiscard]] std::optional<std::size_t> row_axis(const Tensor& t) const {
    if (!batch_) return {};
    for (std::size_t a = 0; a < t.shape.size(); ++a)
      if (t.shape[a] == *batch_) return a;
    return {};
  }
  /// Whether a number of the workgroup is the entry of the row that it has.
  [[nodiscard]] bool of_own_row(AtomId uniform) {
    const auto row = only_row();
    for (const Uniform& u : p_.uniforms()) {
      if (!row || *u.symbol.as_atom() != uniform) continue;
      return u.at == *row; // a function of it may be one of several rows
    }
    return false;
  }
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
  std::size_t cause(Cause c) {
    for (std::size_t n = 0; n < causes.size(); ++n)
      if (causes[n].what == c.what && causes[n].atom == c.atom && (c.atom != 0 || causes[n].op == c.op))
        return n;
    if (causes.size() + 1 >= most_causes) return most_causes - 1;
    causes.push_back(std::move(c));
    return causes.size() - 1;
  }
  // One node for one key, what it depends on and whether it is exact: two that differ in these alone are two.
  int intern(Key key, const Causes& own, bool exact = false) {
    const std::size_t length = key.size();
    key.push_back(sets_.try_emplace(own, static_cast<int>(sets_.size())).first->second);
    key.push_back(exact ? 1 : 0);
    const auto [at, fresh] = ids_.try_emplace(std::move(key), static_cast<int>(nodes_.size()));
    if (fresh) nodes_.push_back({std::span(at->first).first(length), own, exact});
    return at->second;
  }
  int intern(Key key, std::size_t own) {
    Causes c;
    c.set(own);
    return intern(std::move(key), c);
  }
  [[nodiscard]] const Node& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Causes& causes_of(int id) const { return node(id).causes; }

  void causes_of_atoms(Causes& out, const std::vector<AtomId>& atoms, Cause::What of_size, int op,
                       const std::source_location& where, const std::string& text) {
    for (const AtomId a : atoms) {
      if (loops_.contains(a) || p_.symbols().atom(a).name.starts_with("_at"))
        continue; // places are part of the key
      Cause::What what = Cause::What::unknown;
      if (std::any_of(p_.sizes().begin(), p_.sizes().end(),
                      [&](const Size& z) { return *z.symbol.as_atom() == a; }))
        what = of_size;
      for (const GridAxis& x : p_.grid())
        if (*x.symbol.as_atom() == a) what = Cause::What::grid;
      for (const Uniform& u : p_.uniforms())
        if (*u.symbol.as_atom() == a) what = Cause::What::uniform;
      for (const Ticket& t : p_.tickets())
        if (*t.symbol.as_atom() == a) what = Cause::What::ticket;
      if (shares_.contains(a)) what = Cause::What::share;
      out.set(cause({what, a, op, where, text}));
    }
  }
  Causes of_formula(Sym s, Cause::What of_size, const Inst& i, const std::string& text) {
    Causes out;
    causes_of_atoms(out, symbols(s), of_size, i.op, i.where, text);
    return out;
  }

  // Several nodes and rows as one value of `key`.
  Value make(const Inst& i, Key key, std::span<const Value> of, Causes own = {}, bool exact = false) {
    int row = no_row;
    Causes all = own;
    for (const Value& v : of) {
      all |= causes_of(v.id);
      if (v.row == no_row || row == v.row) continue;
      row = row == no_row ? v.row : several;
    }
    // Where it began is said once.
    const bool begins =
        row == several && std::none_of(of.begin(), of.end(), [](const Value& v) { return v.row == several; });
    if (begins) {
      const std::size_t c = cause({Cause::What::rows, 0, i.op, i.where, "values of several rows meet"});
      all.set(c);
      key.insert(key.begin(), {mixed, static_cast<std::int64_t>(c)});
    }
    return {intern(std::move(key), all, exact), row};
  }

  // ------------------------------------------------------------------------------------------- what the program says
  void number_ops() {
    int number = 0;
    each_op(p_.body(), [&](const Op& op) {
      if (const auto* l = std::get_if<LoopOp>(&op.what)) loop_op_[*l->t.as_atom()] = {number, op.where};
      if (std::holds_alternative<IfOp>(op.what)) if_op_.emplace_back(number, op.where);
      ++number;
    });
    for (const Region& r : g_.regions)
      if (r.is_loop) loops_.insert(*r.t.as_atom());
    if (const auto& s = p_.shares()) {
      for (const Sym& x : {s->worker, s->trips, s->turns, s->turn, s->number, s->begin, s->count})
        if (x.as_atom()) shares_.insert(*x.as_atom());
      for (const auto* list : {&s->once, &s->each})
        for (const auto& d : *list) shares_.insert(*d.symbol.as_atom());
    }
  }

  // Which axes of which tensors have the row's number as index, as the specifications say.
  void find_rows() {
    if (!batch_) return;
    for (const Program::Specification& spec : p_.specifications()) {
      const std::vector<Sym> shape = p_.shape(spec);
      std::size_t axis = 0;
      while (axis < shape.size() && !(shape[axis] == *batch_)) ++axis;
      if (axis == shape.size()) continue;
      const AtomId c = *spec.coordinate[axis].as_atom();
      if (spec.table >= 0 && axis == 0) put_row(spec.table, 0, spec.coordinate[0], c);
      std::set<int> seen;
      const auto visit = [&](auto&& self, Expr e) -> void {
        if (!seen.insert(e.id).second) return;
        const ExprNode n = e.node();
        if (n.fn == Fn::load) loaded(n, c);
        for (const int a : n.args) self(self, Expr{e.arena, a});
      };
      visit(visit, spec.value);
    }
  }
  void loaded(const ExprNode& n, AtomId c) {
    const Tensor& t = p_.tensor(n.tensor);
    for (std::size_t a = 0; a < n.index.size(); ++a) {
      const int through = a < n.through.size() ? n.through[a] : -1;
      if (through < 0) {
        put_row(t.id, a, n.index[a], c);
        if (t.space != Space::paged) continue;
        const std::size_t lead = p_.tensor(t.table).shape.size() - 1; // axes before the position
        if (a < lead) put_row(t.table, a, n.index[a], c);
        if (a > lead) put_row(t.cache, a - lead + 1, n.index[a], c);
        continue;
      }
      const Tensor& table = p_.tensor(through);
      if (table.shape.size() == 1) {
        put_row(through, 0, n.index[a], c);
      } else if (table.shape.size() == 2) { // an entry is its number, row by row
        const Sym one =
            substitute(n.index[a], std::vector<std::pair<AtomId, Sym>>{{c, p_.symbols().value(c) + Sym(1)}});
        if (one - n.index[a] == table.shape[1]) put_row(through, 0, p_.symbols().value(c), c);
      }
    }
  }
  void put_row(int tensor, std::size_t axis, Sym at, AtomId c) {
    const std::vector<AtomId> of = symbols(at);
    if (std::find(of.begin(), of.end(), c) == of.end()) {
      if (const auto found = row_axes_.find({tensor, axis}); found != row_axes_.end())
        found->second.other = true;
      others_.insert({tensor, axis});
      return;
    }
    RowAxis r{at, at == p_.symbols().value(c), c, of.size() != 1 || others_.contains({tensor, axis})};
    const auto [have, fresh] = row_axes_.try_emplace({tensor, axis}, r);
    if (fresh) return;
    // Outputs have coordinates of their own: the same formula of them.
    const Sym as =
        substitute(at, std::vector<std::pair<AtomId, Sym>>{{c, p_.symbols().value(have->second.coordinate)}});
    have->second.other = have->second.other || r.other || !(as == have->second.at);
  }
  // The number of the row where a workgroup has one.
  std::optional<Sym> only_row() {
    if (only_row_) return *only_row_;
    std::optional<Sym> out;
    bool one = true;
    for (const Region& r : g_.regions)
      for (const Inst& i : r.body) {
        if (i.kind != InstKind::store) continue;
        const auto axis = row_axis(p_.tensor(i.access.tensor));
        if (!axis || i.access.gathered(*axis)) continue;
        const std::vector<int>& at = coordinates_of(i)[*axis];
        if (std::any_of(at.begin(), at.end(), [](int c) { return c != 0; })) one = false;
        if (out && !(*out == i.access.origin[*axis])) one = false;
        out = i.access.origin[*axis];
      }
    only_row_ = one ? out : std::nullopt;
    return *only_row_;
  }

  // ------------------------------------------------------------------------------------------- instructions
  /// [axis][thread * elements + e]
  const std::vector<std::vector<int>>& coordinates_of(const Inst& i) {
    const auto [at, fresh] = coordinates_.try_emplace(&i);
    if (!fresh) return at->second;
    for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
      std::vector<int> c;
      for (const int t : thread_coordinates(i.access.threads, axis))
        for (const auto& e : i.access.elements) c.push_back(t + e[axis]);
      at->second.push_back(std::move(c));
    }
    return at->second;
  }
  [[nodiscard]] bool runs(const Inst& i, int thread) const {
    return i.waves.contains(thread / p_.target().wave_size);
  }
  [[nodiscard]] Value at(const Reg& r, int thread, int e = 0) const {
    return regs_[static_cast<std::size_t>(r.id)][static_cast<std::size_t>(
        thread * g_.registers[static_cast<std::size_t>(r.id)].count + r.first + e)];
  }
  void put(const Reg& r, int thread, int e, Value v) {
    regs_[static_cast<std::size_t>(r.id)][static_cast<std::size_t>(
        thread * g_.registers[static_cast<std::size_t>(r.id)].count + r.first + e)] = v;
  }
  template <class F>
  void each_def(const Inst& i, F f) {
    for (int t = 0; t < p_.threads(); ++t)
      if (runs(i, t))
        for (int e = 0; e < i.def.count; ++e) put(i.def, t, e, f(t, e));
  }
  [[nodiscard]] Element element(const Reg& r) const {
    return g_.registers[static_cast<std::size_t>(r.id)].element;
  }

  void one(const Inst& i) {
    switch (i.kind) {
    case InstKind::fill:
      each_def(i, [&, id = intern({fill, std::bit_cast<std::int64_t>(i.value)}, Causes{}, true)](int, int) {
        return Value{id, no_row};
      });
      break;
    case InstKind::load: load_from(i); break;
    case InstKind::store: store_to(i); break;
    case InstKind::lds_read: read(i); break;
    case InstKind::lds_write: write(i); break;
    case InstKind::mma: multiply(i); break;
    case InstKind::map: apply(i); break;
    case InstKind::fold_values:
      each_def(i, [&](int t, int) {
        Key key = {fold, static_cast<std::int64_t>(i.monoid)};
        std::vector<Value> of;
        for (const Reg& r : i.uses) of.push_back(at(r, t)), key.push_back(of.back().id);
        return make(i, std::move(key), of);
      });
      break;
    case InstKind::fold_lanes: {
      const Slots before = regs_[static_cast<std::size_t>(i.uses[0].id)];
      const int count = g_.registers[static_cast<std::size_t>(i.uses[0].id)].count;
      each_def(i, [&](int t, int e) {
        const auto value = [&](int thread) {
          return before[static_cast<std::size_t>(thread * count + i.uses[0].first + e)];
        };
        const std::array<Value, 2> of = {value(t), value(t ^ i.lane_mask)};
        const auto [low, high] = std::minmax(of[0].id, of[1].id); // a + b = b + a, bit for bit
        return make(i, {lanes, static_cast<std::int64_t>(i.monoid), low, high}, of);
      });
      break;
    }
    case InstKind::exchange_lanes:
      each_def(i, [&](int t, int e) {
        const int unit = i.uses[0].count, from = e / unit != 0 ? t | i.lane_mask : t & ~i.lane_mask;
        return at(i.uses[(t & i.lane_mask) != 0 ? 1 : 0], from, e % unit);
      });
      break;
    case InstKind::ticket: {
      const std::size_t c =
          cause({Cause::What::ticket, 0, i.op, i.where, "the order in which workgroups come"});
      each_def(i, [&, id = intern({drawn, i.ticket}, c)](int, int) { return Value{id, no_row}; });
      break;
    }
    case InstKind::await: { // those before it, along the axis
      Causes& c = in_turn_ ? *in_turn_ : in_turn_.emplace();
      causes_of_atoms(c, symbols(p_.axis(p_.turns()[static_cast<std::size_t>(i.turn)].axis).extent),
                      Cause::What::cut, i.op, i.where, "workgroups add one after the other");
      break;
    }
    case InstKind::wait:
    case InstKind::barrier:
    case InstKind::priority:
    case InstKind::release:
    case InstKind::signal:
    case InstKind::acquire:
    case InstKind::check: break;
    }
  }

  int number_of(Sym s) { return syms_.try_emplace(s, static_cast<int>(syms_.size())).first->second; }
  // A row by its number: equal rows are equal numbers, as far as they differ from one another by a constant.
  int row_number(Sym origin, int at) {
    const Int constant = origin.constant_term();
    const auto key = std::pair(number_of(origin - Sym(constant)), constant.value() + at);
    const auto [found, fresh] = rows_.try_emplace(key, static_cast<int>(rows_.size()) + 2);
    if (fresh) row_symbols_.push_back(symbols(origin));
    return found->second;
  }
  // What a trip leaves of its own row is of another row for the next trip, and after the loop.
  [[nodiscard]] int after_trip(int row, AtomId trip) const {
    if (row == no_row || row == several) return row;
    const std::vector<AtomId>& of = row_symbols_[static_cast<std::size_t>(row - 2)];
    return std::find(of.begin(), of.end(), trip) == of.end() ? row : several;
  }

  void load_from(const Inst& i) {
    const Tensor& t = p_.tensor(i.access.tensor);
    const auto& at_axis = coordinates_of(i);
    const std::size_t axes = at_axis.size(), count = i.access.elements.size();
    Causes own;
    std::vector<bool> is_row(axes, false);
    std::vector<int> origin(axes, -1);
    std::vector<std::int64_t> constant(axes, 0);
    bool has_row = false;
    Sym row{};
    std::size_t row_at = 0;
    bool by_formula = false;
    for (std::size_t a = 0; a < axes; ++a) {
      const Sym o = i.access.origin[a];
      if (i.access.gathered(a)) continue;
      const auto found = row_axes_.find({t.id, a});
      const bool output_row = t.output && row_axis(t) == a;
      const RowAxis* r = found != row_axes_.end() && !found->second.other ? &found->second : nullptr;
      const std::vector<int>& at = at_axis[a];
      const bool single = std::all_of(at.begin(), at.end(), [](int c) { return c == 0; });
      if (!has_row && (output_row || (r && r->itself))) {
        is_row[a] = has_row = true, row = o, row_at = a;
      } else if (const auto only = !has_row && r && single ? only_row() : std::nullopt;
                 only &&
                 o == substitute(r->at, std::vector<std::pair<AtomId, Sym>>{{r->coordinate, *only}})) {
        is_row[a] = has_row = true, row = *only, row_at = a, by_formula = true; // of that row's own
      } else {
        // Along an axis of as many as there are rows: of others.
        if (batch_ && mentions_batch(t.shape[a]))
          own.set(cause({Cause::What::rows, 0, i.op, i.where, t.name + " is read at other rows"}));
        own |= of_formula(o, Cause::What::bound, i, "where " + t.name + " is read");
        if (i.access.masked[a])
          own |= of_formula(t.shape[a], Cause::What::bound, i, "where " + t.name + " ends");
        origin[a] = number_of(o - Sym(o.constant_term()));
        constant[a] = o.constant_term().value();
      }
    }
    if (t.output) { // what others stored, or what was there
      if (const auto s = stored.find(t.id); s != stored.end()) {
        Causes theirs = s->second.causes;
        for (std::size_t c = 0; c < causes.size(); ++c)
          if (causes[c].what == Cause::What::grid && s->second.origin.contains(causes[c].atom))
            theirs.reset(c);
        own |= theirs;
        if (s->second.foreign)
          own.set(cause({Cause::What::rows, 0, i.op, i.where, t.name + " was stored of several rows"}));
      }
      if (in_turn_) own |= *in_turn_;
    }
    const bool exact = is_integer(t.element);
    each_def(i, [&](int th, int e) {
      const std::size_t slot = static_cast<std::size_t>(th) * count + static_cast<std::size_t>(e);
      Key key = {load, t.id};
      std::vector<Value> through;
      for (std::size_t a = 0; a < axes; ++a) {
        if (i.access.gathered(a)) {
          const Value v = at(i.uses[static_cast<std::size_t>(i.access.rows[a])], th);
          through.push_back(v), key.push_back(-4), key.push_back(v.id);
        } else if (!is_row[a]) {
          key.push_back(-5), key.push_back(origin[a]), key.push_back(constant[a] + at_axis[a][slot]);
        } else {
          key.push_back(-2);
        }
      }
      Causes all = own;
      int r = has_row ? row_number(row, by_formula ? 0 : at_axis[row_at][slot]) : no_row;
      for (const Value& v : through) {
        all |= causes_of(v.id);
        if (v.row == no_row || v.row == r) continue;
        r = r == no_row ? v.row : several;
      }
      if (r == several)
        all.set(cause({Cause::What::rows, 0, i.op, i.where, t.name + " is read at other rows"}));
      return Value{intern(std::move(key), all, exact), r};
    });
  }
  [[nodiscard]] bool mentions_batch(Sym s) const {
    const std::vector<AtomId> of = symbols(s), batch = symbols(*batch_);
    return std::any_of(of.begin(), of.end(),
                       [&](AtomId a) { return std::find(batch.begin(), batch.end(), a) != batch.end(); });
  }

  std::vector<int> places(const Inst& i) {
    const Tensor& t = p_.tensor(i.access.tensor);
    const auto& at_axis = coordinates_of(i);
    std::vector<int> out(static_cast<std::size_t>(p_.threads()) * i.access.elements.size(), 0);
    for (std::size_t a = 0; a < at_axis.size(); ++a) {
      const auto extent = static_cast<int>(t.shape[a].constant()->value()),
                 begin = static_cast<int>(i.access.origin[a].constant()->value());
      for (std::size_t s = 0; s < out.size(); ++s) out[s] = out[s] * extent + begin + at_axis[a][s];
    }
    return out;
  }
  Slots& cells(const Tensor& t) {
    Slots& c = lds_[t.id];
    if (c.empty()) {
      std::size_t n = 1;
      for (const Sym& e : t.shape) n *= static_cast<std::size_t>(e.constant()->value());
      c.resize(n);
    }
    return c;
  }
  void write(const Inst& i) {
    Slots& c = cells(p_.tensor(i.access.tensor));
    const std::vector<int> place = places(i);
    const int count = static_cast<int>(i.access.elements.size());
    for (int t = 0; t < p_.threads(); ++t)
      if (runs(i, t) && i.access.acts(t))
        for (int e = 0; e < count; ++e)
          c[static_cast<std::size_t>(place[static_cast<std::size_t>(t * count + e)])] = at(i.uses[0], t, e);
  }
  void read(const Inst& i) {
    const Slots& c = cells(p_.tensor(i.access.tensor));
    const std::vector<int> place = places(i);
    each_def(i, [&](int t, int e) {
      return c[static_cast<std::size_t>(place[static_cast<std::size_t>(t * i.def.count + e)])];
    });
  }

  void multiply(const Inst& i) {
    const Mma& mma = *i.atom->mma;
    const int lanes_ = p_.target().wave_size, results = mma.c_values();
    const std::size_t parts = operand_parts(i);
    if (mma.blocks != 1 || mma.sparse) {
      each_def(i, [](int, int) { return Value{}; });
      return;
    }
    const bool exact = is_integer(mma.c_element);
    const std::vector<int> c_row = coordinates(mma.c, 0), c_column = coordinates(mma.c, 1);
    std::array<std::vector<int>, 2> row = {coordinates(mma.a, 0), coordinates(mma.b, 0)},
                                    k = {coordinates(mma.a, 1), coordinates(mma.b, 1)};
    const int atom = static_cast<int>(atoms_.try_emplace(i.atom, atoms_.size()).first->second);
    for (int w = 0; w < p_.threads() / lanes_; ++w) {
      if (!i.waves.contains(w)) continue;
      std::array<std::vector<Value>, 2> of_row;
      for (std::size_t side = 0; side < 2; ++side) {
        const int rows = side == 0 ? mma.m : mma.n, full = side == 0 ? mma.a_values() : mma.b_values(),
                  values = full / static_cast<int>(parts);
        std::vector<Value> all(static_cast<std::size_t>(rows * mma.k));
        for (int l = 0; l < lanes_; ++l)
          for (int v = 0; v < full; ++v)
            all[static_cast<std::size_t>(row[side][static_cast<std::size_t>(l * full + v)] * mma.k +
                                         k[side][static_cast<std::size_t>(l * full + v)])] =
                at(i.uses[side * parts + static_cast<std::size_t>(v / values)], w * lanes_ + l, v % values);
        std::vector<std::vector<Value>> scales(static_cast<std::size_t>(rows));
        if (mma.scaled) {
          const std::vector<int> s_row = coordinates(*mma.scale, 0), s_k = coordinates(*mma.scale, 1);
          std::map<std::pair<int, int>, Value> sorted;
          for (int l = 0; l < lanes_; ++l)
            sorted[{s_row[static_cast<std::size_t>(l)], s_k[static_cast<std::size_t>(l)]}] =
                at(i.uses[2 + side], w * lanes_ + l);
          for (const auto& [where, v] : sorted) scales[static_cast<std::size_t>(where.first)].push_back(v);
        }
        for (int r = 0; r < rows; ++r) {
          std::vector<Value> of(all.begin() + r * mma.k, all.begin() + (r + 1) * mma.k);
          const auto& s = scales[static_cast<std::size_t>(r)];
          of.insert(of.end(), s.begin(), s.end());
          Key key = {list};
          bool whole = true;
          for (const Value& v : of) key.push_back(v.id), whole = whole && node(v.id).exact;
          of_row[side].push_back(make(i, std::move(key), of, {}, whole));
        }
      }
      for (int l = 0; l < lanes_; ++l)
        for (int v = 0; v < results; ++v) {
          const auto at_c = static_cast<std::size_t>(l * results + v);
          const std::array<Value, 3> of = {at(i.def, w * lanes_ + l, v),
                                           of_row[0][static_cast<std::size_t>(c_row[at_c])],
                                           of_row[1][static_cast<std::size_t>(c_column[at_c])]};
          const bool all = exact && node(of[0].id).exact && node(of[1].id).exact && node(of[2].id).exact;
          put(i.def, w * lanes_ + l, v, make(i, {product, atom, of[0].id, of[1].id, of[2].id}, of, {}, all));
        }
    }
  }

  void apply(const Inst& i) {
    const std::size_t n = static_cast<std::size_t>(i.def.count), operands = i.uses.size() / n;
    std::vector<Value> before; // an update may overwrite what it reads
    const bool same = renames(i, g_.registers);
    Causes own;
    std::vector<std::size_t> places_used;
    if (!same) {
      const std::vector<AtomId> of = p_.expressions().symbols(i.map);
      causes_of_atoms(own, of, Cause::What::bound, i.op, i.where, "a map says so");
      for (std::size_t a = 0; a < (i.position.empty() ? 0 : i.position[0].size()); ++a) {
        const std::string name = Program::position_name(static_cast<int>(a));
        if (std::any_of(of.begin(), of.end(), [&](AtomId s) { return p_.symbols().atom(s).name == name; }))
          places_used.push_back(a);
      }
    }
    std::vector<std::vector<int>> thread_at;
    for (const std::size_t a : places_used) thread_at.push_back(thread_coordinates(i.access.threads, a));
    for (int t = 0; t < p_.threads(); ++t) {
      if (!runs(i, t)) continue;
      before.clear();
      for (std::size_t e = 0; e < n; ++e) {
        std::vector<Value> of;
        for (std::size_t k = 0; k < operands; ++k) of.push_back(at(i.uses[k * n + e], t));
        if (same) {
          before.push_back(of[0]);
          continue;
        }
        Key key = {map, i.map.id, static_cast<std::int64_t>(element(i.def)),
                   static_cast<std::int64_t>(i.nan)};
        for (std::size_t a = 0; a < places_used.size(); ++a)
          key.push_back(thread_at[a][static_cast<std::size_t>(t)] + i.position[e][places_used[a]]);
        key.push_back(-3);
        for (const Value& v : of) key.push_back(v.id);
        before.push_back(make(i, std::move(key), of, own));
      }
      for (std::size_t e = 0; e < n; ++e) put(i.def, t, static_cast<int>(e), before[e]);
    }
  }

  void store_to(const Inst& i) {
    const Tensor& t = p_.tensor(i.access.tensor);
    Stored& s = stored[t.id];
    const auto& at_axis = coordinates_of(i);
    const std::size_t axes = at_axis.size(), count = i.access.elements.size();
    if (!s.at) s.at = &i;
    const bool adds = i.combine && *i.combine == Monoid::sum;
    if (adds && !is_integer(t.element) && std::find(atomic.begin(), atomic.end(), &i) == atomic.end())
      atomic.push_back(&i);
    for (const Sym& o : i.access.origin)
      for (const AtomId a : symbols(o)) s.origin.insert(a);
    const auto row_axis_of = row_axis(t);
    const Program::Specification* spec = p_.specification(t);
    const bool named = spec && spec->table >= 0; // rows that a table names: its entry is the row
    const std::size_t row = named ? 0 : row_axis_of.value_or(0);
    const bool has_row =
        named ? batch_ && p_.tensor(spec->table).shape[0] == *batch_ : row_axis_of.has_value();
    Causes all;
    for (const auto& [guard, by_ticket] : guards_)
      if (!by_ticket) all |= guard;
    const bool for_all = std::any_of(guards_.begin(), guards_.end(), [](const auto& g) { return g.second; });
    const auto drawn = std::find_if(guards_.begin(), guards_.end(), [](const auto& g) { return g.second; });
    if (for_all) s.drawn = &i;
    s.ways.emplace(path_.begin(), for_all ? path_.begin() + (drawn - guards_.begin() + 1) : path_.end());
    for (int th = 0; th < p_.threads(); ++th) {
      if (!runs(i, th) || !i.access.acts(th)) continue;
      for (std::size_t e = 0; e < count; ++e) {
        const std::size_t slot = static_cast<std::size_t>(th) * count + e;
        const Value v = at(i.uses[0], th, static_cast<int>(e));
        const Node& n = node(v.id);
        Causes here = n.causes;
        if (n.exact && is_integer(t.element)) // what the specification says, in any order
          for (std::size_t c = 0; c < causes.size(); ++c)
            if (causes[c].what != Cause::What::rows && causes[c].what != Cause::What::unknown &&
                causes[c].what != Cause::What::uniform)
              here.reset(c);
        all |= here;
        if (s.first < 0) s.first = v.id;
        if (!has_row) continue;
        int own = no_row;
        if (i.access.gathered(row))
          own = at(i.uses[static_cast<std::size_t>(i.access.rows[row])], th).row;
        else
          own = row_number(i.access.origin[row], at_axis[row][slot]);
        s.foreign = s.foreign || (v.row != no_row && v.row != own);
        Key column = path_;
        for (std::size_t a = 0; a < axes; ++a) {
          if (a == row) continue;
          const Sym o = i.access.origin[a];
          column.push_back(number_of(o - Sym(o.constant_term())));
          column.push_back(o.constant_term().value() + at_axis[a][slot]);
        }
        const auto [have, fresh] = s.by_column.try_emplace(std::move(column), v.id);
        s.apart = s.apart || (!fresh && have->second != v.id && !(n.exact && is_integer(t.element)));
      }
    }
    if (for_all)
      for (std::size_t c = 0; c < causes.size(); ++c)
        if (all[c] && causes[c].what == Cause::What::grid)
          for (const Ticket& ticket : p_.tickets())
            if (*p_.axis(ticket.axis).symbol.as_atom() == causes[c].atom)
              own_of_ticket.emplace_back(&i, causes[c].atom);
    s.causes |= all;
  }

  // ------------------------------------------------------------------------------------------- regions
  void regions(std::size_t first, std::size_t last, std::size_t depth) {
    for (std::size_t n = first; n < last;) {
      const Region& r = g_.regions[n];
      if (r.guards.size() <= depth) {
        if (r.is_loop)
          run_loop(n);
        else
          for (const Inst& i : r.body) one(i);
        ++n;
        continue;
      }
      const Condition condition = r.guards[depth].condition;
      const auto end_of = [&](std::size_t from, bool holds) {
        while (from < last && g_.regions[from].guards.size() > depth &&
               g_.regions[from].guards[depth] == Guard{condition, holds})
          ++from;
        return from;
      };
      const std::size_t middle = end_of(n, true), end = end_of(middle, false);
      INLAY_CHECK(end > n, "regions of a branch follow one another");
      Causes own;
      const int which = branches_++;
      const auto [op, where] = static_cast<std::size_t>(which) < if_op_.size()
                                   ? if_op_[static_cast<std::size_t>(which)]
                                   : std::pair(-1, p_.where());
      for (const Sym& s : {condition.a, condition.b})
        causes_of_atoms(own, symbols(s), Cause::What::cut, op, where, "a branch is taken where it says so");
      bool by_ticket = false;
      for (std::size_t c = 0; c < causes.size(); ++c)
        by_ticket = by_ticket || (own[c] && causes[c].what == Cause::What::ticket);
      guards_.emplace_back(own, by_ticket);
      if (by_ticket) ticket_branches.insert(which);
      const State before{regs_, lds_};
      path_.push_back(2 * which);
      regions(n, middle, depth + 1);
      State then{std::move(regs_), std::move(lds_)};
      regs_ = before.regs, lds_ = before.lds;
      path_.back() = 2 * which + 1;
      regions(middle, end, depth + 1);
      path_.pop_back(), guards_.pop_back();
      merge(which, own, then);
      n = end;
    }
  }
  void merge(int which, const Causes& own, const State& then) {
    const auto join = [&](const Value& a, Value& b) {
      if (a == b) return;
      const std::array<Value, 2> of = {a, b};
      Causes all = own | causes_of(a.id) | causes_of(b.id);
      const int row = a.row == no_row || a.row == b.row ? b.row : b.row == no_row ? a.row : several;
      if (row == several && a.row != several && b.row != several)
        all.set(cause({Cause::What::rows, 0, -1, p_.where(), "values of several rows meet after a branch"}));
      b = {intern({branch, which, of[0].id, of[1].id, row == several ? 1 : 0}, all), row};
    };
    for (std::size_t r = 0; r < regs_.size(); ++r)
      for (std::size_t s = 0; s < regs_[r].size(); ++s) join(then.regs[r][s], regs_[r][s]);
    for (const auto& [t, c] : then.lds) {
      Slots& here = lds_[t];
      here.resize(c.size());
      for (std::size_t s = 0; s < c.size(); ++s) join(c[s], here[s]);
    }
  }

  // What is carried from trip to trip: places are of one class while what they had before the loop and what a trip makes of them
  // are the same; classes are split until they stay.
  void run_loop(std::size_t number) {
    const Region& r = g_.regions[number];
    Causes own;
    const auto [op, where] = loop_op_.at(*r.t.as_atom());
    causes_of_atoms(own, symbols(r.extent), Cause::What::cut, op, where,
                    "a loop of trips of " + std::to_string(r.tile) + " over " + to_string(r.extent));
    std::set<int> carried_regs, written;
    for (const Inst& i : r.body) {
      if (i.def.id >= 0 && g_.registers[static_cast<std::size_t>(i.def.id)].outside)
        carried_regs.insert(i.def.id);
      if (i.kind == InstKind::lds_write) written.insert(i.access.tensor);
    }
    const State before{regs_, lds_};
    using Class = std::array<int, 3>;         // before the loop, after a trip, of the pass before
    std::map<int, std::vector<int>> class_of; // [register][slot]
    std::map<int, Slots> result;
    for (const int reg : carried_regs) {
      const Slots& s = before.regs[static_cast<std::size_t>(reg)];
      result[reg] = s;
      class_of[reg].assign(s.size(), 0);
    }
    std::map<int, Causes> last_causes;
    std::map<int, bool> last_exact;
    bool settled = false;
    const std::map<int, Stored> stored_before = stored;
    for (int pass = 0; pass < 16 && !settled; ++pass) {
      // Classes by what was there, and by what a trip made of it in the pass before.
      std::map<Class, int> numbers;
      std::map<int, Causes> carried_causes;
      std::map<int, bool> carried_exact;
      std::map<int, std::vector<int>> next = class_of;
      for (const int reg : carried_regs) {
        const Slots& init = before.regs[static_cast<std::size_t>(reg)];
        for (std::size_t s = 0; s < init.size(); ++s) {
          const Class c = {init[s].id, pass == 0 ? 0 : result[reg][s].id, class_of[reg][s]};
          const int id = numbers.try_emplace(c, static_cast<int>(numbers.size())).first->second;
          next[reg][s] = id;
          carried_causes[id] |= causes_of(init[s].id) | causes_of(result[reg][s].id) | own;
          const auto [e, fresh] = carried_exact.try_emplace(id, true);
          e->second = e->second && node(init[s].id).exact && (pass == 0 || node(result[reg][s].id).exact);
        }
      }
      const bool same =
          pass > 0 && next == class_of && carried_causes == last_causes && carried_exact == last_exact;
      class_of = std::move(next), last_causes = carried_causes, last_exact = carried_exact;
      regs_ = before.regs, lds_ = before.lds, stored = stored_before;
      for (const int t : written)
        if (const auto c = lds_.find(t); c != lds_.end()) c->second.assign(c->second.size(), Value{});
      std::map<int, Slots> heads;
      for (const int reg : carried_regs) {
        Slots& now = regs_[static_cast<std::size_t>(reg)];
        for (std::size_t s = 0; s < now.size(); ++s) {
          const int id = class_of[reg][s];
          const int a = now[s].row, b = after_trip(result[reg][s].row, *r.t.as_atom());
          const int row = a == no_row || a == b ? b : b == no_row ? a : several;
          now[s] = {intern({carried, static_cast<std::int64_t>(number), pass, id}, carried_causes[id],
                           carried_exact[id]),
                    row};
        }
        heads[reg] = now;
      }
      for (const Inst& i : r.body) one(i);
      bool rows = true;
      for (const int reg : carried_regs) {
        const Slots& now = regs_[static_cast<std::size_t>(reg)];
        for (std::size_t s = 0; s < now.size(); ++s)
          rows = rows && (after_trip(now[s].row, *r.t.as_atom()) == heads[reg][s].row ||
                          heads[reg][s].row == several);
        result[reg] = now;
      }
      settled = same && rows;
      if (!settled) continue;
      for (const int reg : carried_regs) {
        Slots& now = regs_[static_cast<std::size_t>(reg)];
        const Slots& init = before.regs[static_cast<std::size_t>(reg)];
        for (std::size_t s = 0; s < now.size(); ++s) {
          now[s].row = after_trip(now[s].row, *r.t.as_atom());
          const int head = heads[reg][s].id;
          now[s].id = intern({loop, static_cast<std::int64_t>(number), init[s].id, now[s].id, head},
                             own | causes_of(init[s].id) | causes_of(now[s].id) | causes_of(head),
                             node(init[s].id).exact && node(now[s].id).exact);
        }
      }
    }
    if (!settled)
      for (const int reg : carried_regs) {
        Slots& now = regs_[static_cast<std::size_t>(reg)];
        now.assign(now.size(), Value{});
      }
    // Of the last trip: not followed further. Nor what belongs to one trip.
    for (const int t : written)
      if (const auto c = lds_.find(t); c != lds_.end()) c->second.assign(c->second.size(), Value{});
    for (const Inst& i : r.body)
      if (i.def.id >= 0 && !g_.registers[static_cast<std::size_t>(i.def.id)].outside) {
        Slots& now = regs_[static_cast<std::size_t>(i.def.id)];
        now.assign(now.size(), Value{});
      }
  }

  // ------------------------------------------------------------------------------------------- as text
  [[nodiscard]] std::string describe(int id, int depth) const {
    if (const auto found = described_.find(id); found != described_.end()) return found->second;
    std::string out = depth > 60 ? ".." : described(id, depth);
    if (out.size() > 400) out = "..";
    return described_[id] = std::move(out);
  }
  [[nodiscard]] std::string described(int id, int depth) const {
    const auto key = node(id).key;
    const auto below = [&](std::int64_t of) { return describe(static_cast<int>(of), depth + 1); };
    switch (static_cast<Kind>(key[0])) {
    case load: return p_.tensor(static_cast<int>(key[1])).name;
    case fill: return "";
    case product: {
      std::string name;
      for (const auto& [atom, n] : atoms_)
        if (static_cast<std::int64_t>(n) == key[1]) name = atom->name;
      int count = 1;
      std::int64_t from = key[2];
      while (node(static_cast<int>(from)).key[0] == product && node(static_cast<int>(from)).key[1] == key[1])
        ++count, from = node(static_cast<int>(from)).key[2];
      const std::string rest = below(from);
      return (rest.empty() ? "" : rest + ", then ") + (count > 1 ? std::to_string(count) + " x " : "") + name;
    }
    case fold: {
      const auto first = node(static_cast<int>(key[2])).key;
      const std::string what = std::string(to_string(static_cast<Monoid>(key[1]))) + " of " +
                               std::to_string(key.size() - 2) + " in order";
      const std::string of = first[0] == load ? "" : below(key[2]);
      return key.size() == 3 ? below(key[2]) : (of.empty() ? "" : of + "; ") + what;
    }
    case lanes: {
      int count = 1;
      std::int64_t from = key[2];
      while (node(static_cast<int>(from)).key[0] == lanes)
        ++count, from = node(static_cast<int>(from)).key[2];
      const std::string of = below(from);
      return (of.empty() ? "" : of + "; ") + std::to_string(1 << count) + " lanes in pairs";
    }
    case loop: {
      const Region& r = g_.regions[static_cast<std::size_t>(key[1])];
      std::string out = below(key[2]); // before the loop
      const std::string body = below(key[3]);
      if (!out.empty()) out += "; ";
      out += "trips of " + std::to_string(r.tile) + " over " + to_string(r.extent);
      if (!body.empty()) out += " (" + body + ")";
      return out;
    }
    case branch: {
      const std::string a = below(key[2]), b = below(key[3]);
      return a == b || b.empty() ? a : a.empty() ? b : "either " + a + " or " + b;
    }
    case map: {
      std::set<std::string> of;
      std::string out;
      const auto begin = std::find(key.begin() + 4, key.end(), -3) + 1;
      for (auto k = begin; k != key.end(); ++k) {
        if (node(static_cast<int>(*k)).key[0] == load) continue;
        const std::string one = below(*k);
        if (!one.empty() && one.size() < 400 && of.insert(one).second) out += (out.empty() ? "" : ", ") + one;
      }
      return out;
    }
    case mixed:
    case unset:
    case list:
    case carried:
    case drawn: return "";
    }
    return "";
  }

  const Graph& g_;
  const Program& p_;
  std::optional<Sym> batch_;
  std::vector<Node> nodes_;
  std::unordered_map<Key, int, KeyHash> ids_;
  std::unordered_map<Causes, int> sets_;
  std::map<AtomId, std::pair<int, std::source_location>> loop_op_;
  std::vector<std::pair<int, std::source_location>> if_op_;
  std::set<AtomId> loops_, shares_;
  std::map<std::pair<int, std::size_t>, RowAxis> row_axes_;
  std::set<std::pair<int, std::size_t>> others_;
  std::optional<std::optional<Sym>> only_row_;
  std::map<const Inst*, std::vector<std::vector<int>>> coordinates_;
  std::map<const Atom*, std::size_t> atoms_;
  std::map<Sym, int> syms_;
  std::map<std::pair<int, std::int64_t>, int> rows_;
  std::vector<std::vector<AtomId>> row_symbols_; ///< by number of row, from 2 on
  std::vector<Slots> regs_;
  std::map<int, Slots> lds_;
  std::vector<std::pair<Causes, bool>> guards_; ///< open ones, and whether a ticket's number is part of it
  Key path_;                                    ///< branches that are open, and which way
  std::optional<Causes> in_turn_;
  int branches_ = 0;
  mutable std::unordered_map<int, std::string> described_;
};

/// The extents of sums in the specifications, and whether an output's value is a sum over all rows whatever they hold.
std::set<AtomId> summed_sizes(const Program& p) {
  std::set<AtomId> out;
  for (const Program::Specification& spec : p.specifications()) {
    std::set<int> seen;
    const auto visit = [&](auto&& self, Expr e) -> void {
      if (!seen.insert(e.id).second) return;
      const ExprNode n = e.node();
      if (n.fn == Fn::fold)
        for (const AtomId a : symbols(n.index[0])) out.insert(a);
      for (const int a : n.args) self(self, Expr{e.arena, a});
    };
    visit(visit, spec.value);
  }
  return out;
}
/// Of what the specification says, a sum over all of `batch`, of which no element is left out by a condition.
bool sums_over(const Program& p, Sym batch, std::string& output) {
  for (const Program::Specification& spec : p.specifications()) {
    const ExprNode n = spec.value.node();
    if (n.fn != Fn::fold || n.monoid != Monoid::sum || !(n.index[0] == batch) || n.index.size() != 1)
      continue;
    bool plain = true;
    std::set<int> seen;
    const auto visit = [&](auto&& self, Expr e) -> void {
      if (!seen.insert(e.id).second) return;
      const ExprNode x = e.node();
      plain = plain && (x.fn == Fn::load || x.fn == Fn::mul || x.fn == Fn::constant);
      for (const int a : x.args) self(self, Expr{e.arena, a});
    };
    visit(visit, Expr{spec.value.arena, n.args[0]});
    if (plain) return output = p.tensor(spec.tensor).name, true;
  }
  return false;
}

using Verdict = OrderClaim::Verdict;

OrderClaim refuted(const std::string& claim, const std::string& why, int op,
                   const std::source_location& where) {
  return {claim, Verdict::refuted, why, op, where};
}
OrderClaim undecided(const std::string& claim, const std::string& why, int op,
                     const std::source_location& where) {
  return {claim, Verdict::undecided, why, op, where};
}

/// What two claims and more have in common.
class Judge {
public:
  Judge(const Program& program, const Trees& trees) : p_(program), t_(trees) {}

  /// What every claim stands on: nothing is left to the order in which workgroups come.
  [[nodiscard]] std::optional<OrderClaim> order_is_open(const std::string& claim) const {
    for (const Inst* i : t_.atomic) {
      const Tensor& t = p_.tensor(i->access.tensor);
      const std::string what = "parts of " + t.name + " are added by atomics of " + to_string(t.element) +
                               ", in the order in which workgroups come";
      // Two parts and the 0 before them have one sum in either order; nothing says here that there are more.
      bool more = p_.shares().has_value() || i->access.gathered();
      for (const GridAxis& g : p_.grid()) {
        bool in_place = false;
        for (const Sym& o : i->access.origin) {
          const auto of = symbols(o);
          in_place = in_place || std::find(of.begin(), of.end(), *g.symbol.as_atom()) != of.end();
        }
        const Interval parts = tile_numbers(g.extent, g.tile);
        more = more || (!in_place && (!parts.upper || *parts.upper > Int(1)));
      }
      return more ? refuted(claim, what, i->op, i->where) : undecided(claim, what, i->op, i->where);
    }
    for (const auto& [i, axis] : t_.own_of_ticket)
      return undecided(claim,
                       p_.tensor(i->access.tensor).name +
                           " is stored by the last workgroup, of what is its own part",
                       i->op, i->where);
    return {};
  }
  [[nodiscard]] const Cause* first(const std::function<bool(const Cause&)>& is) const {
    for (std::size_t c = 0; c < t_.causes.size(); ++c)
      for (const auto& [tensor, s] : t_.stored)
        if (s.causes[c] && is(t_.causes[c])) return &t_.causes[c];
    return nullptr;
  }
  [[nodiscard]] bool too_many() const {
    return std::any_of(t_.stored.begin(), t_.stored.end(),
                       [](const auto& s) { return s.second.causes[most_causes - 1]; });
  }
  /// Tickets, and what the rules do not follow.
  [[nodiscard]] std::optional<OrderClaim> not_followed(const std::string& claim) const {
    // What one path of a branch on a ticket stores is stored once, by whoever takes it; of several, who comes when decides.
    for (const auto& [tensor, s] : t_.stored)
      if (s.drawn && by_chance(s))
        return undecided(
            claim,
            p_.tensor(tensor).name +
                " is stored on several paths, and a ticket's number says which one a workgroup takes",
            s.drawn->op, s.drawn->where);
    if (too_many())
      return undecided(claim, "there are too many things that sums may depend on", -1, p_.where());
    if (const Cause* c = first([](const Cause& x) { return x.what == Cause::What::ticket; }))
      return undecided(claim, "a value may depend on " + c->text, c->op, c->where);
    if (const Cause* c = first([](const Cause& x) { return x.what == Cause::What::unknown; }))
      return undecided(claim, c->text, c->op, c->where);
    return {};
  }
  [[nodiscard]] std::optional<OrderClaim> shares(const std::string& claim) const {
    if (const Cause* c = first([](const Cause& x) { return x.what == Cause::What::share; }))
      return refuted(claim,
                     "where a workgroup's share of a sum ends depends on all sizes and on there being " +
                         std::to_string(p_.shares()->workers) + " workgroups",
                     c->op, c->where);
    return {};
  }
  [[nodiscard]] std::string name(AtomId a) const { return p_.symbols().atom(a).name; }

private:
  /// Whether two of its ways part in another place than at a branch that no ticket decides.
  [[nodiscard]] bool by_chance(const Trees::Stored& s) const {
    for (const Key& a : s.ways)
      for (const Key& b : s.ways) {
        const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
        if (x == a.end() && y == b.end()) continue;
        if (x == a.end() || y == b.end() || *x / 2 != *y / 2 || t_.ticket_branches.contains(*x / 2))
          return true;
      }
    return false;
  }
  const Program& p_;
  const Trees& t_;
};

OrderClaim deterministic(const Program& p, const Trees& trees) {
  const std::string claim = "deterministic";
  const Judge judge(p, trees);
  if (auto open = judge.order_is_open(claim)) return *open;
  if (auto unclear = judge.not_followed(claim)) return *unclear;
  return {claim, Verdict::proved, "every sum has one order", -1, p.where()};
}

OrderClaim split_invariant(const Program& p, const Trees& trees) {
  const std::string claim = "split-invariant";
  const Judge judge(p, trees);
  if (auto open = judge.shares(claim)) return *open;
  if (auto open = judge.order_is_open(claim)) return *open;
  if (auto unclear = judge.not_followed(claim)) return *unclear;
  const std::set<AtomId> own = summed_sizes(p);
  if (const Cause* c =
          judge.first([&](const Cause& x) { return x.what == Cause::What::cut && !own.contains(x.atom); }))
    return undecided(claim, c->text + ": " + judge.name(c->atom) + " is not what is summed over", c->op,
                     c->where);
  return {claim, Verdict::proved, "sums are cut where their own extent and the build say", -1, p.where()};
}

/// `batch-invariant` and `position-invariant` along one axis.
void along_rows(std::vector<OrderClaim>& out, const Program& p, Trees& trees, Sym batch) {
  const std::string size = to_string(batch), of_batch = "batch-invariant (" + size + ")",
                    of_place = "position-invariant (" + size + ")";
  const Judge judge(p, trees);
  const AtomId atom = *batch.as_atom();
  const auto own_entry = [&](AtomId a) { return trees.of_own_row(a); };
  const auto first_of = [&](const std::string& claim) -> OrderClaim {
    if (auto open = judge.shares(claim)) return *open;
    if (auto open = judge.order_is_open(claim)) return *open;
    if (std::string output; sums_over(p, batch, output)) {
      const Cause* c =
          judge.first([&](const Cause& x) { return x.what == Cause::What::cut && x.atom == atom; });
      return refuted(claim, output + " is a sum over all " + size + " rows, as its specification says",
                     c ? c->op : -1, c ? c->where : p.where());
    }
    if (auto unclear = judge.not_followed(claim)) return *unclear;
    if (const Cause* c = judge.first([](const Cause& x) { return x.what == Cause::What::rows; }))
      return undecided(claim, c->text, c->op, c->where);
    for (const auto& [tensor, s] : trees.stored)
      if (s.foreign)
        return undecided(claim, "a row of " + p.tensor(tensor).name + " may depend on other rows", s.at->op,
                         s.at->where);
    if (const Cause* c = judge.first([&](const Cause& x) {
          return (x.what == Cause::What::cut || x.what == Cause::What::bound) && x.atom == atom;
        }))
      return undecided(claim, c->text + ", which depends on " + size, c->op, c->where);
    if (const Cause* c =
            judge.first([&](const Cause& x) { return x.what == Cause::What::uniform && !own_entry(x.atom); }))
      return undecided(claim, c->text + ", which is an entry of a table that is not the row's own", c->op,
                       c->where);
    return {claim, Verdict::proved, "", -1, p.where()};
  };
  OrderClaim b = first_of(of_batch);
  const bool holds = b.verdict == Verdict::proved;
  if (holds) b.reason = "a row's sums are of its own data, and in an order that " + size + " has no part in";
  out.push_back(b);
  if (!holds) {
    b.claim = of_place;
    out.push_back(std::move(b));
    return;
  }
  for (const auto& [tensor, s] : trees.stored)
    if (s.apart) {
      out.push_back(undecided(
          of_place, "rows of a tile of " + p.tensor(tensor).name + " are summed in different orders",
          s.at->op, s.at->where));
      return;
    }
  if (const Cause* c = judge.first([&](const Cause& x) {
        if (x.what != Cause::What::grid) return false;
        for (const GridAxis& g : p.grid())
          if (*g.symbol.as_atom() == x.atom) {
            const auto of = symbols(g.extent);
            return std::find(of.begin(), of.end(), atom) != of.end();
          }
        return true;
      })) {
    out.push_back(undecided(of_place, c->text + ", which depends on the row's number", c->op, c->where));
    return;
  }
  out.push_back({of_place, Verdict::proved, "all rows have one order", -1, p.where()});
}

} // namespace

std::string to_string(OrderClaim::Verdict verdict) {
  static const char* const names[] = {"proved", "refuted", "undecided"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string to_string(const OrderClaim& claim) {
  std::string out = to_string(claim.verdict) + std::string(11 - to_string(claim.verdict).size(), ' ') +
                    claim.claim + ": " + claim.reason;
  if (claim.op < 0) return out;
  const std::string file = claim.where.file_name();
  return out + " [operation " + std::to_string(claim.op) + ", " + file.substr(file.find_last_of('/') + 1) +
         ":" + std::to_string(claim.where.line()) + "]";
}

const OrderClaim* SumOrders::find(const std::string& begin) const {
  for (const OrderClaim& c : claims)
    if (c.claim.starts_with(begin)) return &c;
  return nullptr;
}

SumOrders sum_orders(const Graph& graph) {
  const Program& p = *graph.program;
  // The axes of the first output but the last one: its rows.
  const Program::Specification* first = nullptr;
  for (const Tensor& t : p.tensors())
    if (!first && t.output) first = p.specification(t);
  std::vector<Sym> batches;
  const std::vector<Sym> shape = first ? p.shape(*first) : std::vector<Sym>();
  for (std::size_t a = 0; a < shape.size() && a < std::max<std::size_t>(shape.size() - 1, 1); ++a)
    if (std::any_of(p.sizes().begin(), p.sizes().end(),
                    [&](const Size& z) { return z.symbol == shape[a]; }) &&
        std::find(batches.begin(), batches.end(), shape[a]) == batches.end())
      batches.push_back(shape[a]);

  SumOrders out;
  std::unique_ptr<Trees> trees;
  for (const Sym& batch : batches) {
    trees = std::make_unique<Trees>(graph, batch);
    trees->run();
    along_rows(out.claims, p, *trees, batch);
  }
  if (!trees) {
    trees = std::make_unique<Trees>(graph, std::nullopt);
    trees->run();
    for (const char* claim : {"batch-invariant", "position-invariant"})
      out.claims.push_back(undecided(claim, "no axis of rows of the first output is a size", -1, p.where()));
  }
  out.claims.insert(out.claims.begin(), deterministic(p, *trees));
  out.claims.push_back(split_invariant(p, *trees));
  for (const auto& [tensor, s] : trees->stored)
    if (s.first >= 0)
      if (std::string text = trees->text(s.first); !text.empty())
        out.orders.push_back({p.tensor(tensor).name, std::move(text)});
  return out;
}

} // namespace inlay::codegen
