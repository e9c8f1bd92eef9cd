// Rule of tickets: what others stored may be read by the workgroup that comes last, and it stores for all of them.
#include "interpreter.h"

namespace inlay::codegen::provenance {

void Interpreter::release(State& s) {
  if (!s.vm.empty())
    refute("what a wave stored is there before it is released", "",
           std::to_string(s.vm.size()) + " accesses to memory are under way");
  s.released = Status::done;
}

void Interpreter::draw(State& s, const Inst& i) {
  const Ticket& k = p_.tickets()[static_cast<std::size_t>(i.ticket)];
  const Tensor& t = p_.tensor(i.access.tensor);
  if (s.released != Status::published)
    refute("a number is drawn when all waves have released what they stored", t.name,
           "no barrier stands between the release of every wave and this");
  if (s.drawn.contains(i.ticket))
    refute("a workgroup draws one number of " + t.name, t.name, "this is the second");
  // A counter for each group: the workgroup's numbers along the other axes, each once.
  const std::string claim = "a group of workgroups has a counter of its own, " + t.name;
  if (i.access.tensor != k.tensor) refute(claim, t.name, "the ticket is of " + p_.tensor(k.tensor).name);
  std::vector<bool> used(p_.grid().size(), false);
  for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
    std::size_t g = 0;
    while (g < p_.grid().size() && !(p_.grid()[g].symbol == i.access.origin[axis])) ++g;
    const bool alone = g == p_.grid().size() && i.access.origin[axis] == Sym(0) && t.shape[axis] == Sym(1);
    if (alone) continue;
    if (g == p_.grid().size() || used[g] || p_.grid()[g].axis == k.axis)
      refute(claim, to_string(i.access.origin[axis]), "it is not the workgroup's number along one more axis");
    if (!(t.shape[axis] == ceil_div(p_.grid()[g].extent, Sym(p_.grid()[g].tile))))
      refute(claim, to_string(t.shape[axis]), "the grid has another number of workgroups along the axis");
    used[g] = true;
  }
  for (std::size_t g = 0; g < used.size(); ++g)
    if (!used[g] && p_.grid()[g].axis != k.axis)
      refute(claim, to_string(p_.grid()[g].symbol), "workgroups that differ in it have the same");
  for (const auto& e : i.access.elements)
    if (e != std::vector<int>(e.size(), 0) || i.access.elements.size() != 1)
      refute(claim, t.name, "it is not one element, the workgroup's");
  for (const Mode& m : i.access.threads.modes())
    if (m.extent != Int(1) && m.stride.scale != Int(0))
      refute(claim, to_string(i.access.threads), "work-items have several");
  int draws = 0;
  for (int th = 0; th < p_.threads(); ++th) draws += i.access.acts(th);
  if (draws != 1)
    refute("one work-item draws the number of a workgroup", t.name, std::to_string(draws) + " of them do");
  prove(claim, to_string(p_.axis(k).symbol), "enumeration");
  const std::string zero = t.name + " holds 0 before the launch";
  if (std::none_of(out_.contract.begin(), out_.contract.end(),
                   [&](const auto& c) { return c.condition == zero; }))
    out_.contract.push_back({zero, "workgroups count themselves in it; behind the launch it holds 0 again"});
  s.drawn.insert(i.ticket);
  for (const auto& [tensor, written] : s.stored) s.given.try_emplace(tensor, i.ticket);
  Term term;
  term.expr = x_.number(k.symbol);
  s.regs[key(i.def)] = {std::move(term), true};
  s.vm.push_back({Queued::What::reg, key(i.def), -1, {}});
}

void Interpreter::acquire(State& s, const Inst& i) {
  const Ticket& k = p_.tickets()[static_cast<std::size_t>(i.ticket)];
  const Term term = part(value(s, i.uses[0]), i.uses[0]);
  const std::string claim = "every work-item has the number that the workgroup drew";
  if (!s.drawn.contains(i.ticket) || term.partial || !(term.expr == x_.number(k.symbol)))
    refute(claim, to_string(k.symbol), "it holds " + describe(term));
  prove(claim, to_string(k.symbol), "provenance");
  s.taken.insert(i.ticket);
}

bool Interpreter::last(const Ticket& k) { return less_equal(world(p_.count(k)) - Sym(1), world(k.symbol)); }
bool Interpreter::not_last(const Ticket& k) {
  return less_equal(world(k.symbol) + Sym(2), world(p_.count(k)));
}

std::optional<int> Interpreter::stores_for_all(const State& s) {
  for (const int n : s.taken)
    if (last(p_.tickets()[static_cast<std::size_t>(n)])) return n;
  return {};
}

void Interpreter::read_of_others(const State& s, const Inst& i, const Prepared& r) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const auto given = s.given.find(t.id);
  if (given == s.given.end())
    refute("what is read is what was there before the launch", t.name,
           "it is written too, by this workgroup or another one; read another tensor, declare it `inout`, or "
           "draw a "
           "ticket behind what is stored");
  const std::string claim = "what is read of " + t.name + " was released by whoever stores it";
  const Ticket& k = p_.tickets()[static_cast<std::size_t>(given->second)];
  if (!s.taken.contains(given->second))
    refute(claim, t.name, "the workgroup has not acquired what others released");
  if (!last(k))
    refute(claim, to_string(k.symbol),
           "others may come later: it need not be the last of " + to_string(p_.count(k)));
  const Written& w = s.stored.at(t.id);
  if (w.axis >= 0 || w.tiles.size() != 1 || !w.tiles[0].whole())
    refute(claim, t.name, "what a workgroup stores of it is not one whole tile");
  if (i.direct || i.access.gathered()) refute(claim, t.name, "it is read by a transfer or through a table");
  const GridAxis& g = p_.axis(k);
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
    const Sym stored = w.tiles[0].origin[axis];
    const int extent = w.tiles[0].extents[axis];
    if (stored == Sym(extent) * g.symbol) continue; // tile after tile, each of one of those that came
    if (mentions(stored, *g.symbol.as_atom()))
      refute(claim, to_string(stored), "axis " + std::to_string(axis) + " moves with " + to_string(g.symbol));
    const auto [low, high] = std::minmax_element(r.coordinate[axis].begin(), r.coordinate[axis].end());
    if (!(stored == r.origin[axis]) || *low < 0 || *high >= extent)
      refute(claim, to_string(r.origin[axis]),
             "axis " + std::to_string(axis) + ": those that came store from " + to_string(stored) + ", " +
                 std::to_string(extent) + " long");
  }
  prove(claim, to_string(k.symbol), "provenance");
}

bool Interpreter::part_of_sum(Term& t, Expr wanted) {
  const ExprNode n = x_.normal(wanted).node();
  if (n.fn != Fn::fold || n.index.size() != 3 || n.monoid != t.monoid || t.has_part) return false;
  const Sym low = relate(n.index[1]), end = relate(n.index[2]), limit = relate(t.limit);
  const auto high = reached(t.intervals, low, t.monoid);
  // To where the specification goes, or both beyond the end of the sum.
  if (!high || !(relate(n.index[0]) == limit) ||
      !(*high == end || (less_equal(limit, *high) && less_equal(limit, end))))
    return false;
  const std::pair<Sym, Sym> part[] = {{low, end}};
  t.expr = x_.normal(x_.partial_fold(t.monoid, bound_, t.limit, part, resolve(t.expr, t.columns)));
  t.partial = false;
  t.intervals.clear();
  std::erase_if(t.facts, [](const Fact& f) { return f.condition; });
  return true;
}

} // namespace inlay::codegen::provenance
