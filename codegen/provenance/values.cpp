// Terms: parts of registers, columns and their names.
#include "interpreter.h"

namespace inlay::codegen::provenance {

Term Interpreter::part(const Term& t, const Reg& r) {
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
  if (out.first_sets >= 0) out.first_sets = cut(out.first_sets);
  return out;
}

void Interpreter::exchange_lanes(State& s, const Inst& i) {
  if (i.uses.size() != 2 || i.uses[0].count != i.uses[1].count || i.def.count != 2 * i.uses[0].count)
    refute("lanes exchange two registers of one size", "v" + std::to_string(i.def.id),
           std::to_string(i.uses.size()) + " operands for " + std::to_string(i.def.count) + " elements");
  std::vector<Reg> elements;
  for (const Reg& r : i.uses)
    for (int e = 0; e < r.count; ++e) elements.push_back({r.id, r.ahead, r.first + e, 1});
  Term t = assemble(s, elements);
  close(t);
  const std::size_t n = elements.size(), unit = n / 2;
  const auto mask = static_cast<std::size_t>(i.lane_mask);
  const auto exchanged = [&](int column) {
    const Column& c = columns_[column];
    Column out(c.size());
    // Half h of the result holds, of the lanes whose bit is h, the half that the bit of the lane is.
    for (std::size_t slot = 0; slot < c.size(); ++slot) {
      const std::size_t th = slot / n, e = slot % n;
      const std::size_t from = e / unit != 0 ? th | mask : th & ~mask;
      out[slot] = c[from * n + ((th & mask) != 0 ? unit : 0) + e % unit];
    }
    return columns_.intern(std::move(out));
  };
  for (int& c : t.columns) c = exchanged(c);
  if (t.partial && t.has_part) t.sets = exchanged(t.sets);
  s.regs[key(i.def)] = {std::move(t), false};
}

bool Interpreter::equal(const Term& a, const Term& b) {
  if (a.expr == b.expr) return same_skeleton(a, b);
  Term x = a, y = b;
  x.expr = x_.normal(x.expr), y.expr = x_.normal(y.expr);
  return same_skeleton(x, y);
}

Term Interpreter::assemble(State& s, std::span<const Reg> uses) {
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
    if (!equal(terms[0], terms[static_cast<std::size_t>(e)]))
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
  if (out.first_sets >= 0) out.first_sets = join([](const Term& t) { return t.first_sets; });
  return out;
}

std::string Interpreter::describe(const Term& t) const {
  std::string s = to_string(t.expr, [&](int id) { return p_.tensor(id).name; });
  if (t.partial) {
    s = std::string(to_string(t.monoid)) + " of " + s + " over";
    for (const auto& [low, high] : t.intervals) s += " [" + to_string(low) + ", " + to_string(high) + ")";
    if (t.has_part)
      s += std::string(t.intervals.empty() ? "" : " and") + " what a work-item has of the tile from " +
           to_string(t.origin) + " on";
    s += ", of [0, " + to_string(t.limit) + ")";
    if (t.in_rounds())
      s += ", after " + to_string(t.rounds) + " parts " + std::to_string(t.stride) + " apart";
  }
  for (std::size_t i = 0; i < t.columns.size() && i < 4; ++i)
    if (!columns_[t.columns[i]].empty())
      s += (i ? ", " : "; work-item 0: ") + std::string("_c") + std::to_string(i) + " = " +
           std::to_string(columns_[t.columns[i]][0]);
  return s;
}

void Interpreter::rename(Term& t, std::vector<int>& all) {
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

void Interpreter::align(Term& t, const std::vector<int>& columns) {
  if (t.columns == columns) return;
  std::vector<int> all = columns;
  Term moved = t;
  rename(moved, all);
  if (all.size() != columns.size()) return;
  moved.columns = columns;
  moved.expr = x_.normal(moved.expr);
  t = std::move(moved);
}

void Interpreter::replace_in(Term& t, std::span<const std::pair<AtomId, Sym>> replace) {
  t.expr = replaced_(t.expr, replace);
  for (Fact& f : t.facts) f.index = replaced_(f.index, replace), f.bound = replaced_(f.bound, replace);
  for (auto* list : {&t.ends, &t.begins})
    for (Sym& e : *list) e = replaced_(e, replace);
  for (auto& [low, high] : t.intervals) low = replaced_(low, replace), high = replaced_(high, replace);
  for (Asked& a : t.asked) {
    a.base = replaced_(a.base, replace);
    for (Expr& e : a.where) e = replaced_(e, replace);
  }
}

void Interpreter::tidy(Term& t) {
  std::vector<AtomId> used = x_.symbols(t.expr);
  for (const Fact& f : t.facts)
    for (const AtomId a : symbols(f.index)) used.push_back(a);
  for (const Fact& f : t.facts)
    for (const AtomId a : symbols(f.bound)) used.push_back(a);
  for (const auto* list : {&t.ends, &t.begins})
    for (const Sym& e : *list)
      for (const AtomId a : symbols(e)) used.push_back(a);
  for (const auto& [low, high] : t.intervals)
    for (const Sym& e : {low, high})
      for (const AtomId a : symbols(e)) used.push_back(a);
  for (const Asked& asked : t.asked) {
    for (const AtomId a : x_.symbols(asked.base)) used.push_back(a);
    for (const Expr& e : asked.where)
      for (const AtomId a : x_.symbols(e)) used.push_back(a);
  }
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

std::optional<Sym> Interpreter::origin_of(Expr e, std::size_t i) {
  const auto known = origins_.find({e.id, i});
  if (known != origins_.end()) return known->second;
  const auto find = [&]() -> std::optional<Sym> {
    const ExprNode n = e.node();
    const AtomId column = *dollar(i).as_atom();
    if (n.fn == Fn::load)
      for (const Sym& s : n.index)
        if (const Sym o = s - dollar(i); !mentions(o, column)) return o;
    for (const int a : n.args)
      if (const auto found = origin_of({&x_, a}, i)) return found;
    return std::nullopt;
  };
  return origins_.emplace(std::pair(e.id, i), find()).first->second;
}

bool Interpreter::mentions(Sym s, AtomId symbol) const {
  for (const inlay::Term& term : s.terms())
    for (const Factor& f : term.factors()) {
      if (f.atom == symbol) return true;
      const SymAtom& atom = context_.atom(f.atom);
      if (std::any_of(atom.operands.begin(), atom.operands.end(),
                      [&](const Sym& x) { return mentions(x, symbol); }))
        return true;
    }
  return false;
}

} // namespace inlay::codegen::provenance
