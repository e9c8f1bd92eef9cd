// What a tree is and depends on, and which axes of which tensors are rows.
#include "trees.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/symbol_kinds.h>

#include <cstring>

namespace inlay::codegen::sums {

std::optional<std::size_t> Trees::row_axis(const Tensor& t) const {
  if (!batch_) return {};
  for (std::size_t a = 0; a < t.shape.size(); ++a)
    if (t.shape[a] == *batch_) return a;
  return {};
}

bool Trees::of_own_row(AtomId uniform) {
  const auto row = only_row();
  for (const Uniform& u : p_.uniforms()) {
    if (!row || *u.symbol.as_atom() != uniform) continue;
    return u.at == *row; // a function of it may be one of several rows
  }
  return false;
}

std::size_t Trees::cause(Cause c) {
  for (std::size_t n = 0; n < causes.size(); ++n)
    if (causes[n].what == c.what && causes[n].atom == c.atom && (c.atom != 0 || causes[n].op == c.op))
      return n;
  if (causes.size() + 1 >= most_causes) return most_causes - 1;
  causes.push_back(std::move(c));
  return causes.size() - 1;
}

int Nodes::add(std::span<const std::int64_t> key, const Causes& causes, bool exact) {
  if (!last_ || *last_ != causes) last_ = &*sets_.insert(causes).first;
  const std::uint64_t h = hash_of(key, reinterpret_cast<std::uintptr_t>(last_) ^ (exact ? 1U : 0U));
  if (4 * nodes_.size() >= 3 * table_.size()) grow();
  std::size_t at = h & (table_.size() - 1);
  for (; table_[at] >= 0; at = (at + 1) & (table_.size() - 1)) {
    const auto id = static_cast<std::size_t>(table_[at]);
    const Node& n = nodes_[id];
    if (hashes_[id] == h && n.causes == last_ && n.exact == exact && std::ranges::equal(n.key, key))
      return table_[at];
  }
  nodes_.push_back({keep(key), last_, exact});
  hashes_.push_back(h);
  return table_[at] = static_cast<int>(nodes_.size()) - 1;
}

std::span<const std::int64_t> Nodes::keep(std::span<const std::int64_t> key) {
  constexpr std::size_t block = 1U << 14;
  if (free_ < key.size()) {
    free_ = std::max(block, key.size());
    next_ = blocks_.emplace_back(std::make_unique_for_overwrite<std::int64_t[]>(free_)).get();
  }
  std::int64_t* const to = next_;
  std::memcpy(to, key.data(), key.size_bytes());
  next_ += key.size(), free_ -= key.size();
  return {to, key.size()};
}

void Nodes::grow() {
  table_.assign(4 * table_.size(), -1);
  for (std::size_t n = 0; n < hashes_.size(); ++n) {
    std::size_t at = hashes_[n] & (table_.size() - 1);
    while (table_[at] >= 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = static_cast<int>(n);
  }
}

int Trees::intern(const Key& key, std::size_t own) {
  Causes c;
  c.set(own);
  return intern(key, c);
}

void Trees::causes_of_atoms(Causes& out, const std::vector<AtomId>& atoms, Cause::What of_size, int op,
                            const std::source_location& where, const std::string& text) {
  for (const AtomId a : atoms) {
    Cause::What what = loops_.contains(a) ? Cause::What::trip : Cause::What::unknown;
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
    // Places in a map are part of the key, too: what else has a name like theirs is known by now.
    if (what == Cause::What::unknown && is_of(p_.symbols().atom(a).name, SymbolKind::position)) continue;
    out.set(cause({what, a, op, where, text}));
  }
}

Causes Trees::of_formula(Sym s, Cause::What of_size, const Inst& i, const std::string& text) {
  Causes out;
  causes_of_atoms(out, symbols(s), of_size, i.op, i.where, text);
  return out;
}

Value Trees::make(const Inst& i, const Key& key, std::span<const Value> of, const Causes& own, bool exact) {
  const int row = row_of(of);
  Causes all = own;
  const Causes* last = nullptr; // most have the same
  for (const Value& v : of)
    if (const Causes* c = node(v.id).causes; c != last) all |= *c, last = c;
  // Where it began is said once.
  const bool begins =
      row == several && std::none_of(of.begin(), of.end(), [](const Value& v) { return v.row == several; });
  if (begins) {
    const std::size_t c = cause({Cause::What::rows, 0, i.op, i.where, "values of several rows meet"});
    all.set(c);
    Key begun = {mixed, static_cast<std::int64_t>(c)};
    begun.append(key.span());
    return {intern(begun, all, exact), row};
  }
  return {intern(key, all, exact), row};
}

void Trees::number_ops() {
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

void Trees::find_rows() {
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

void Trees::loaded(const ExprNode& n, AtomId c) {
  const Tensor& t = p_.tensor(n.tensor);
  if (t.of >= 0) { // and where that is of what it looks at
    const std::vector<Sym> seen = t.seen(n.index);
    for (std::size_t a = 0; a < seen.size(); ++a) put_row(t.of, a, seen[a], c);
  }
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

void Trees::put_row(int tensor, std::size_t axis, Sym at, AtomId c) {
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

namespace {
/// Whether the modes can be put in an order in which each steps over all that those before it reach: then no two coordinates have one
/// place.
bool steps_over(std::vector<SymLayout::Mode> rest, Sym reach) {
  if (rest.empty()) return true;
  for (std::size_t k = 0; k < rest.size(); ++k) {
    const SymLayout::Mode m = rest[k];
    const Interval beyond = interval(m.stride.scale - Sym(1) - reach);
    if (!beyond.lower || *beyond.lower < Int(0)) continue;
    std::vector<SymLayout::Mode> others = rest;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    if (steps_over(std::move(others), reach + (m.extent - Sym(1)) * m.stride.scale)) return true;
  }
  return false;
}
} // namespace

const Tensor* Trees::rows_overlap() const {
  // Sizes as multiples of what divides them: of 256 | k, k is one step over 256 (k / 256).
  std::vector<std::pair<AtomId, Sym>> whole;
  for (const Size& z : p_.sizes())
    if (const std::int64_t by = z.facts.multiple; by > 1)
      whole.emplace_back(*z.symbol.as_atom(),
                         Sym(by) * symbol_of(p_.symbols(), SymbolKind::times, {}, z.name,
                                             {Int((z.facts.least + by - 1) / by), Int(z.facts.most / by)}));
  for (const auto& [at, r] : row_axes_) {
    const Tensor& t = p_.tensor(at.first);
    if (t.output || r.other || t.space != Space::global) continue;
    const SymLayout& place = t.place.inner();
    const SymLayout rows = t.shape.size() == 1 ? place : place.mode(at.second);
    using Mode = SymLayout::Mode;
    const auto alone = [](const Mode& m) { return m.extent == Sym(1); };
    const auto still = [](const Mode& m) { return m.stride.scale == Sym(0); };
    if (std::all_of(rows.modes().begin(), rows.modes().end(),
                    [&](const Mode& m) { return alone(m) || still(m); }))
      continue;
    std::vector<Mode> moving; // coordinates along which nothing moves are one element of the row
    for (const Mode& m : place.modes())
      if (!alone(m) && !still(m))
        moving.push_back(
            Mode{substitute(m.extent, whole), BasicStride<Sym>(substitute(m.stride.scale, whole))});
    if (std::any_of(rows.modes().begin(), rows.modes().end(),
                    [&](const Mode& m) { return still(m) && !alone(m); }) ||
        !steps_over(std::move(moving), Sym(0)))
      return &t;
  }
  return nullptr;
}

std::optional<Sym> Trees::only_row() {
  if (only_row_) return *only_row_;
  std::optional<Sym> out;
  bool one = true;
  for (const Region& r : g_.regions)
    for (const Inst& i : r.body) {
      if (i.kind != InstKind::store) continue;
      const auto axis = row_axis(p_.tensor(i.access.tensor));
      if (!axis || i.access.gathered(*axis)) continue;
      const std::vector<int>& at = at_of(i).axis[*axis];
      if (std::any_of(at.begin(), at.end(), [](int c) { return c != 0; })) one = false;
      if (out && !(*out == i.access.origin[*axis])) one = false;
      out = i.access.origin[*axis];
    }
  only_row_ = one ? out : std::nullopt;
  return *only_row_;
}

} // namespace inlay::codegen::sums
