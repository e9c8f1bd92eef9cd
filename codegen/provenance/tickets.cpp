// Rule of tickets and turns: what others stored may be read by the workgroup that comes last, and it stores for all of them;
// and what those before stored, by the one whose turn it is.
#include "interpreter.h"

namespace inlay::codegen::provenance {

void Interpreter::release(State& s, const Inst& i) {
  if (!s.vm.empty())
    refute("what a wave stored is there before it is released", "",
           std::to_string(s.vm.size()) + " accesses to memory are under way");
  s.released = Status::done;
  s.released_to_devices = i.system;
}

// A counter for each group: the workgroup's numbers along the other axes, each once.
void Interpreter::counter_of_group(const Inst& i, int tensor, int along, const std::string& does) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::string claim = "a group of workgroups has a counter of its own, " + t.name;
  if (i.access.tensor != tensor) refute(claim, t.name, "it is counted in " + p_.tensor(tensor).name);
  std::vector<bool> used(p_.grid().size(), false);
  for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
    std::size_t g = 0;
    while (g < p_.grid().size() && !(p_.grid()[g].symbol == i.access.origin[axis])) ++g;
    const bool alone = g == p_.grid().size() && i.access.origin[axis] == Sym(0) && t.shape[axis] == Sym(1);
    if (alone) continue;
    if (g == p_.grid().size() || used[g] || p_.grid()[g].axis == along)
      refute(claim, to_string(i.access.origin[axis]), "it is not the workgroup's number along one more axis");
    if (!(t.shape[axis] == ceil_div(p_.grid()[g].extent, Sym(p_.grid()[g].tile))))
      refute(claim, to_string(t.shape[axis]), "the grid has another number of workgroups along the axis");
    used[g] = true;
  }
  for (std::size_t g = 0; g < used.size(); ++g)
    if (!used[g] && p_.grid()[g].axis != along)
      refute(claim, to_string(p_.grid()[g].symbol), "workgroups that differ in it have the same");
  for (const auto& e : i.access.elements)
    if (e != std::vector<int>(e.size(), 0) || i.access.elements.size() != 1)
      refute(claim, t.name, "it is not one element, the workgroup's");
  for (const Mode& m : i.access.threads.modes())
    if (m.extent != Int(1) && m.stride.scale != Int(0))
      refute(claim, to_string(i.access.threads), "work-items have several");
  int acting = 0;
  for (int th = 0; th < p_.threads(); ++th) acting += i.access.acts(th);
  if (acting != 1) refute("one work-item " + does, t.name, std::to_string(acting) + " of them do");
  prove(claim, to_string(p_.axis(along).symbol), "enumeration");
  callers(t.name + " holds 0 before the launch",
          "workgroups count themselves in it; after the launch it holds 0 again");
}

void Interpreter::callers(const std::string& what, const std::string& why) {
  if (std::none_of(out_.contract.begin(), out_.contract.end(),
                   [&](const auto& c) { return c.condition == what; }))
    out_.contract.push_back({what, why, true});
}

void Interpreter::draw(State& s, const Inst& i) {
  const Ticket& k = p_.tickets()[static_cast<std::size_t>(i.ticket)];
  const Tensor& t = p_.tensor(i.access.tensor);
  if (s.released != Status::published)
    refute("a number is drawn when all waves have released what they stored", t.name,
           "no barrier stands between the release of every wave and this");
  if (s.drawn.contains(i.ticket))
    refute("a workgroup draws one number of " + t.name, t.name, "this is the second");
  counter_of_group(i, k.tensor, k.axis, "draws the number of a workgroup");
  s.drawn.insert(i.ticket);
  for (const auto& [tensor, written] : s.stored) s.given.try_emplace(tensor, i.ticket);
  Term term;
  term.expr = x_.number(k.symbol);
  s.regs[key(i.def)] = {std::move(term), true};
  s.vm.push_back({Queued::What::reg, key(i.def), -1, {}});
}

void Interpreter::acquire(State& s, const Inst& i) {
  if (i.system) return acquire_devices(s);
  if (i.turn >= 0) return begin_turn(s, i);
  const Ticket& k = p_.tickets()[static_cast<std::size_t>(i.ticket)];
  const Term term = part(value(s, i.uses[0]), i.uses[0]);
  const std::string claim = "every work-item has the number that the workgroup drew";
  if (!s.drawn.contains(i.ticket) || term.partial || !(term.expr == x_.number(k.symbol)))
    refute(claim, to_string(k.symbol), "it holds " + describe(term));
  prove(claim, to_string(k.symbol), "provenance");
  s.taken.insert(i.ticket);
}

bool Interpreter::last(const Ticket& k) {
  return less_equal(world(p_.count(k.axis)) - Sym(1), world(k.symbol));
}
bool Interpreter::not_last(const Ticket& k) {
  return less_equal(world(k.symbol) + Sym(2), world(p_.count(k.axis)));
}

std::optional<int> Interpreter::stores_for_all(const State& s) {
  for (const int n : s.taken)
    if (last(p_.tickets()[static_cast<std::size_t>(n)])) return n;
  return {};
}

bool Interpreter::read_of_others(State& s, const Inst& i, const Prepared& r) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::string claim = "what is read of " + t.name + " was released by whoever stores it";
  if (i.direct || i.access.gathered()) refute(claim, t.name, "it is read by a transfer or through a table");
  // Of a sum that several workgroups add to, all of them have to be through.
  bool added = false;
  for (const CodeRegion& region : code_.regions)
    for (const auto* list : {&region.prologue, &region.body, &region.epilogue})
      for (const Inst& other : *list) added = added || (other.combine && other.access.tensor == t.id);
  const auto passed = s.passed.find(t.id);
  const auto waiting = std::find_if(s.awaited.begin(), s.awaited.end(), [&](const auto& x) {
    return x.second == Status::published && !s.signalled.contains(x.first);
  });
  const bool in_turn = passed != s.passed.end() || waiting != s.awaited.end();
  if (const auto given = s.given.find(t.id); given != s.given.end()) {
    const Ticket& k = p_.tickets()[static_cast<std::size_t>(given->second)];
    const bool taken = s.taken.contains(given->second);
    if (!taken && !in_turn) refute(claim, t.name, "the workgroup has not acquired what others released");
    if (taken && !last(k) && !in_turn)
      refute(claim, to_string(k.symbol),
             "others may come later: it need not be the last of " + to_string(p_.count(k.axis)));
    if (taken && last(k)) {
      if (added && s.stored_part.at(t.id) != k.axis)
        refute(claim, t.name, "workgroups add to it that draw no number of this ticket");
      stored_by_others(claim, s.stored.at(t.id), r, k.axis, {});
      needed_.insert({t.id, false, given->second});
      prove(claim, to_string(k.symbol), "provenance");
      return false;
    }
  }
  if (!in_turn)
    refute("what is read is what was there before the launch", t.name,
           "it is written too, by this workgroup or another one; read another tensor, declare it `inout`, or "
           "draw a "
           "ticket or await a turn after what is stored");
  if (added) refute(claim, t.name, "workgroups add to it, and what others add may come later");
  // What those before stored before their turn was over; whether they do is known when this workgroup's is.
  const int turn = passed != s.passed.end() ? passed->second : waiting->first;
  const int axis = p_.turns()[static_cast<std::size_t>(turn)].axis;
  needed_.insert({t.id, true, turn});
  if (passed == s.passed.end()) {
    s.early.push_back({turn, t.id, r.origin, r.coordinate});
    return true;
  }
  // This workgroup's part is there too: every wave released it, and a barrier stands between.
  stored_by_others(claim, s.stored.at(t.id), r, axis, world(p_.axis(axis).symbol) + Sym(1));
  prove(claim, to_string(p_.axis(axis).symbol), "provenance");
  return true;
}

bool Interpreter::part_of_others(Term& term, const Tensor& t, const std::vector<Sym>& index) {
  const Program::Specification& spec = *p_.specification(t);
  for (const auto& other : p_.specifications()) {
    bool named = false;
    (void)x_.rewrite(other.value, [&](const ExprNode& n) -> std::optional<Expr> {
      named = named || (n.fn == Fn::load && n.tensor == t.id);
      return std::nullopt;
    });
    if (named) return false;
  }
  std::vector<std::pair<AtomId, Sym>> at;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    at.emplace_back(*spec.coordinate[axis].as_atom(), index[axis]);
  const ExprNode n = x_.normal(specified(spec, at)).node();
  if (n.fn != Fn::fold || n.index.size() != 3) return false;
  const std::pair<AtomId, Sym> bound[] = {{*n.sym.as_atom(), bound_}};
  term.expr = x_.normal(replaced_(Expr{&x_, n.args[0]}, bound));
  term.partial = true;
  term.monoid = n.monoid;
  term.limit = n.index[0];
  term.intervals = {{n.index[1], n.index[2]}};
  return true;
}

void Interpreter::stored_by_others(const std::string& claim, const Written& w, const Prepared& r, int along,
                                   std::optional<Sym> before) {
  if (w.axis >= 0 || w.tiles.size() != 1 || !w.tiles[0].whole())
    refute(claim, "", "what a workgroup stores of it is not one whole tile");
  const Sym symbol = p_.axis(along).symbol;
  bool moves = false;
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
    const Sym stored = w.tiles[0].origin[axis];
    const int extent = w.tiles[0].extents[axis];
    const auto [low, high] = std::minmax_element(r.coordinate[axis].begin(), r.coordinate[axis].end());
    if (relate(stored) == relate(world(Sym(extent) * symbol))) { // tile after tile, each of one of them
      moves = true;
      if (!before) continue;
      const Sym at = relate(here(r.origin[axis])), end = at + Sym(*high + 1), least = at + Sym(*low);
      const Sym limit = relate(Sym(extent) * *before);
      if (!at_most(end, limit) || !less_equal(Sym(0), least))
        refute(claim, to_string(end),
               "axis " + std::to_string(axis) + " is read from " + to_string(least) + " to " +
                   to_string(end) + ", and those before store to " +
                   to_string(relate(Sym(extent) * *before)));
      continue;
    }
    if (mentions(stored, *symbol.as_atom()))
      refute(claim, to_string(stored), "axis " + std::to_string(axis) + " moves with " + to_string(symbol));
    if (!(stored == r.origin[axis]) || *low < 0 || *high >= extent)
      refute(claim, to_string(r.origin[axis]),
             "axis " + std::to_string(axis) + ": those that came store from " + to_string(stored) + ", " +
                 std::to_string(extent) + " long");
  }
  if (before && !moves) refute(claim, to_string(symbol), "all of them store the same tile of it");
}

void Interpreter::await(State& s, const Inst& i) {
  const Turn& k = p_.turns()[static_cast<std::size_t>(i.turn)];
  const std::string& name = p_.tensor(k.tensor).name;
  if (s.awaited.contains(i.turn))
    refute("a workgroup waits once for its turn, " + name, name, "this is the second time");
  if (p_.tile_map() && k.axis != 2)
    refute("those that are waited for began before, " + name, to_string(p_.axis(k.axis).symbol),
           "workgroups begin in another order");
  counter_of_group(i, k.tensor, k.axis, "waits for the turn of a workgroup");
  callers("workgroups begin in the order of their numbers",
          "some wait for those with lower ones, and one that runs goes on running");
  s.awaited[i.turn] = Status::done;
}

void Interpreter::begin_turn(State& s, const Inst& i) {
  const Turn& k = p_.turns()[static_cast<std::size_t>(i.turn)];
  const std::string claim = "every wave knows that it is the workgroup's turn";
  const auto awaited = s.awaited.find(i.turn);
  if (awaited == s.awaited.end() || awaited->second == Status::pending || !s.met.contains(i.turn))
    refute(claim, p_.tensor(k.tensor).name, "no barrier stands between the wait of one work-item and this");
  awaited->second = Status::published;
  prove(claim, to_string(p_.axis(k.axis).symbol), "provenance");
}

void Interpreter::pass(State& s, const Inst& i) {
  const Turn& k = p_.turns()[static_cast<std::size_t>(i.turn)];
  const std::string& name = p_.tensor(k.tensor).name;
  if (s.released != Status::published)
    refute("the turn is passed on when all waves have released what they stored", name,
           "no barrier stands between the release of every wave and this");
  const auto awaited = s.awaited.find(i.turn);
  if (awaited == s.awaited.end() || awaited->second != Status::published)
    refute("the turn that a workgroup passes on is its own", name, "it has not waited for it");
  if (!s.signalled.insert(i.turn).second)
    refute("a workgroup passes its turn on once, " + name, name, "this is the second time");
  counter_of_group(i, k.tensor, k.axis, "passes the turn on");
  for (const auto& [tensor, written] : s.stored) s.passed.try_emplace(tensor, i.turn);
  for (const State::Early& e : s.early) {
    if (e.turn != i.turn) continue;
    const std::string claim =
        "what is read of " + p_.tensor(e.tensor).name + " was released by whoever stores it";
    const auto by = s.passed.find(e.tensor);
    if (by == s.passed.end() || by->second != i.turn)
      refute(claim, p_.tensor(e.tensor).name, "those before do not store it before their turn is over");
    Prepared r;
    r.origin = e.origin, r.coordinate = e.coordinate;
    stored_by_others(claim, s.stored.at(e.tensor), r, k.axis, world(p_.axis(k.axis).symbol));
    prove(claim, to_string(p_.axis(k.axis).symbol), "provenance");
  }
  std::erase_if(s.early, [&](const State::Early& e) { return e.turn == i.turn; });
  s.vm.push_back({Queued::What::none, {}, -1, {}});
}

bool Interpreter::part_of_sum(Term& t, Expr wanted) {
  if (t.has_part) return false;
  const Sym limit = relate(t.limit);
  std::optional<std::pair<Sym, Sym>> part;
  (void)x_.rewrite(x_.normal(wanted), [&](const ExprNode& n) -> std::optional<Expr> {
    if (part || n.fn != Fn::fold || n.index.size() != 3 || n.monoid != t.monoid) return std::nullopt;
    const Sym low = relate(n.index[1]), end = relate(n.index[2]);
    const auto high = reached(t.intervals, low, t.monoid);
    // To where the specification goes, or both beyond the end of the sum.
    if (high && relate(n.index[0]) == limit &&
        (*high == end || (less_equal(limit, *high) && at_most(limit, end))))
      part.emplace(low, end);
    return std::nullopt;
  });
  if (!part) return false;
  const std::pair<Sym, Sym> stated[] = {*part};
  t.expr = x_.normal(x_.partial_fold(t.monoid, bound_, t.limit, stated, resolve(t.expr, t.columns)));
  t.partial = false;
  t.intervals.clear();
  std::erase_if(t.facts, [](const Fact& f) { return f.condition; });
  return true;
}

} // namespace inlay::codegen::provenance
