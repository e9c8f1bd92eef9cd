// Sums, maxima and minima that each work-item goes on with from trip to trip, a part of its own.
#include "interpreter.h"

namespace inlay::codegen::provenance {

namespace {
// x0 + f as f; nothing where it is no such sum, or f depends on x0.
std::optional<Expr> without_first(Expressions& x, Expr e) {
  const ExprNode n = e.node();
  const auto first = [&](int id) { return x.node(id).fn == Fn::parameter && x.node(id).tensor == 0; };
  if (n.fn == Fn::add)
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const Expr other{&x, n.args[1 - k]};
      if (first(n.args[k])) return other;
      if (const auto rest = without_first(x, {&x, n.args[k]})) return *rest + other;
    }
  if (n.fn == Fn::sub && first(n.args[0])) return x.constant(0) - Expr{&x, n.args[1]};
  if (n.fn == Fn::sub)
    if (const auto rest = without_first(x, {&x, n.args[0]})) return *rest - Expr{&x, n.args[1]};
  return std::nullopt;
}
// max(x0, f) as f, and min likewise; nothing where it is no such one.
std::optional<Expr> without_first_of(Expressions& x, Fn extreme, Expr e) {
  const ExprNode n = e.node();
  if (n.fn != extreme || n.args.size() != 2) return std::nullopt;
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const Expr one{&x, n.args[k]}, other{&x, n.args[1 - k]};
    if (one.node().fn == Fn::parameter && one.node().tensor == 0) return other;
    if (const auto rest = without_first_of(x, extreme, one))
      return extreme == Fn::max ? max(*rest, other) : min(*rest, other);
  }
  return std::nullopt;
}
} // namespace

std::optional<Expr> Interpreter::wrapping_rest(Expr map) {
  const ExprNode whole = x_.normal(map).node();
  if (whole.fn != Fn::to_number || x_.node(whole.args[0]).fn != Fn::word_add) return std::nullopt;
  const auto first = [&](int id) {
    const ExprNode& word = x_.node(id);
    if (word.fn != Fn::word) return false;
    const ExprNode& x = x_.node(word.args[0]);
    return x.fn == Fn::parameter && x.tensor == 0;
  };
  std::vector<int> args = x_.node(whole.args[0]).args;
  const auto at = std::find_if(args.begin(), args.end(), first);
  if (at == args.end()) return std::nullopt;
  args.erase(at);
  return x_.normal(
      to_number(args.size() == 1 ? Expr{&x_, args[0]} : x_.make({.fn = Fn::word_add, .args = args})));
}

std::optional<Expr> Interpreter::rest_of(Expr map) {
  const auto rest = without_first(x_, map);
  return rest ? rest : wrapping_rest(map);
}

std::optional<std::pair<Monoid, Expr>> Interpreter::goes_on_with(Expr map) {
  if (const auto rest = without_first(x_, map)) return std::pair(Monoid::sum, *rest);
  if (const auto rest = wrapping_rest(map)) return std::pair(Monoid::wrapping_sum, *rest);
  for (const auto& [extreme, monoid] : {std::pair(Fn::max, Monoid::max), std::pair(Fn::min, Monoid::min)})
    if (const auto rest = without_first_of(x_, extreme, map)) return std::pair(monoid, *rest);
  return std::nullopt;
}

bool Interpreter::find_lane_sums(const CodeRegion& r) {
  std::set<int> folded;
  for (const Inst& i : r.body)
    if (i.kind == InstKind::fold_values || i.kind == InstKind::fold_lanes) folded.insert(i.def.id);
  bool found = false;
  const std::size_t known = lane_sums_.size();
  for (const Inst& i : r.body) {
    const auto n = static_cast<std::size_t>(i.def.count);
    if (i.kind != InstKind::map || i.uses.empty() || i.uses.size() < 2 * n) continue;
    const bool update =
        code_.registers[static_cast<std::size_t>(i.def.id)].outside && i.uses[0].id == i.def.id;
    const bool of_fold =
        std::any_of(i.uses.begin(), i.uses.end(), [&](const Reg& u) { return folded.contains(u.id); });
    if (!update || of_fold) continue;
    if (const auto on = goes_on_with(i.map); !on || x_.parameters(on->second).contains(0)) continue;
    lane_sums_.insert(i.op);
    found = true;
  }
  if (!one_by_one_ && lane_sums_.size() != known)
    for (const CodeRegion& region : code_.regions)
      for (const auto* insts : {&region.prologue, &region.body, &region.epilogue}) find_one_sum(*insts);
  return found;
}

void Interpreter::find_one_sum(const std::vector<Inst>& insts) {
  const auto meet = [](const Reg& a, const Reg& b) {
    return a.id == b.id && a.first < b.first + b.count && b.first < a.first + a.count;
  };
  for (const Inst& first : insts) {
    if (first.kind != InstKind::map || !lane_sums_.contains(first.op) || one_sum_.contains(&first)) continue;
    const auto n = static_cast<std::size_t>(first.def.count);
    const auto touches = [&](const Reg& r) { return meet(r, first.def); };
    // What an update adds, with nothing of the sum in it.
    const auto added = [&](const Inst& i) { return std::span(i.uses).subspan(n); };
    if (std::ranges::any_of(added(first), touches)) continue;
    Inst all = first;
    std::vector<const Inst*> before;
    const Inst* last = &first;
    for (const Inst* next = &first + 1; next != insts.data() + insts.size(); ++next) {
      if (!touches(next->def) && std::ranges::none_of(next->uses, touches)) {
        // What has been added is still there where all of it is looked at.
        if (std::ranges::any_of(added(all), [&](const Reg& r) { return meet(r, next->def); })) break;
        continue;
      }
      const bool updates =
          next->kind == InstKind::map && lane_sums_.contains(next->op) && next->def == first.def &&
          next->ahead == first.ahead && next->waves == first.waves && next->position == first.position &&
          next->access.threads == first.access.threads &&
          std::equal(first.uses.begin(), first.uses.begin() + first.def.count, next->uses.begin());
      if (!updates || std::ranges::any_of(added(*next), touches)) break;
      // x0 + f and then x0 + g, of operands with numbers behind those before, as x0 + f + g.
      std::vector<Expr> operands{all.map};
      for (std::size_t k = 1; k < next->uses.size() / n; ++k)
        operands.push_back(x_.parameter(static_cast<int>(all.uses.size() / n + k - 1)));
      const Expr map = x_.apply(next->map, operands);
      if (!goes_on_with(map)) break; // of numbers and modulo 2^32, or of a sum and a max
      all.map = map;
      all.uses.insert(all.uses.end(), next->uses.begin() + first.def.count, next->uses.end());
      before.push_back(last), last = next;
    }
    if (before.empty()) continue;
    for (const Inst* one : before) one_sum_[one] = std::nullopt;
    all.op = last->op, all.where = last->where;
    one_sum_[last] = std::move(all);
  }
}

std::optional<Term> Interpreter::lane_sum(Expr map, const std::vector<Term>& terms,
                                          const std::vector<int>& columns) {
  const auto on = goes_on_with(map);
  if (!on || std::any_of(terms.begin() + 1, terms.end(), [](const Term& t) { return t.partial; })) return {};
  const auto& [monoid, rest] = *on;
  if (!terms[0].partial && terms[0].expr.node().fn == Fn::constant) return {}; // nothing was added yet
  std::vector<Term> others = terms;
  others[0] = Term{};
  others[0].expr = x_.constant(0);
  Term next = pointwise(rest, others, columns);
  const auto both = [&](const Term& sum, const Term& now) {
    Term out = join(sum, now);
    for (const Fact& f : now.facts) want(out.facts, f);
    return out;
  };
  if (terms[0].partial) {
    const Term& sum = terms[0];
    // The part that comes now: where it has to begin, and over which column.
    if (sum.monoid != monoid) return {};
    if (!sum.has_part) {
      if (sum.intervals.size() != 1) return {};
      const auto now =
          part_at(next, monoid, sum.intervals[0].second, std::nullopt, columns, sum.expr, sum.limit);
      return now ? std::optional(both(sum, *now)) : std::nullopt;
    }
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (singles(columns[c]) == sum.first_sets)
        if (const auto now =
                part_at(next, monoid, sum.origin + Sym(sum.stride), c, columns, sum.expr, sum.limit))
          return both(sum, *now);
    return {};
  }
  // Two elements, one after the other: which index moves, and by how much.
  std::vector<std::pair<Sym, Sym>> moved;
  Expr body;
  std::optional<std::size_t> column;
  const auto record = [&](Sym a, Sym b) {
    if (!(a == b)) moved.emplace_back(a, b);
    return a == b ? a : bound_;
  };
  try {
    // After a loop, what is known of its trips holds for all that follows.
    const auto known = [&](Expr e) { return x_.normal(exiting_ ? relate(e) : e); };
    body = x_.normal(extrapolate(known(terms[0].expr), known(next.expr), record));
  } catch (const Refuted&) {
    return {};
  }
  if (moved.empty()) return {};
  for (std::size_t c = 0; c < columns.size() && !column; ++c)
    if (mentions(moved[0].first, *dollar(c).as_atom())) column = c;
  const Sym of_column = column ? dollar(*column) : Sym(0);
  const Sym from = moved[0].first - of_column, to = moved[0].second - of_column;
  const auto apart = (to - from).constant();
  if (!apart || *apart < Int(1)) return {};
  for (const auto& [a, b] : moved)
    if (!(a == from + of_column) || !(b == to + of_column)) return {};
  const auto now = part_at(next, monoid, to, column, columns, body, std::nullopt);
  const auto before = now ? part_at(terms[0], monoid, from, column, columns, body, now->limit) : std::nullopt;
  if (!before) return {};
  return both(*before, *now);
}

std::optional<Term> Interpreter::part_at(const Term& t, Monoid monoid, Sym origin,
                                         std::optional<std::size_t> column, const std::vector<int>& columns,
                                         Expr body, std::optional<Sym> limit) {
  const Sym index = column ? origin + dollar(*column) : origin;
  const std::pair<AtomId, Sym> here[] = {{*bound_.as_atom(), index}};
  const Expr wanted = x_.normal(replaced_(body, here)), held = x_.normal(t.expr);
  if (!(wanted == held) && !(exiting_ && x_.normal(relate(wanted)) == x_.normal(relate(held)))) return {};
  const double empty = empty_element(monoid);
  // The body moves with the index alone.
  if (column) {
    const auto used = x_.symbols(body);
    if (std::find(used.begin(), used.end(), *dollar(*column).as_atom()) != used.end()) return {};
  }
  Term out = t;
  out.expr = body;
  out.partial = true;
  out.monoid = monoid;
  out.facts.clear();
  bool limited = false;
  for (const Fact& f : t.facts) {
    if (!(f.index == index) && !(exiting_ && relate(f.index) == relate(index))) {
      if (column && mentions(f.index, *dollar(*column).as_atom())) return {};
      if (f.condition) continue;
      out.facts.push_back(f);
      out.facts.back().fill = anything;
      continue;
    }
    if (f.condition) {
      if (f.fill == empty) out.ends.push_back(f.bound);
      continue;
    }
    if (limit && !(f.bound == *limit)) { // of another axis, at the same coordinate
      if (!less_equal(index + Sym(1), f.bound)) return {};
      continue;
    }
    if (limited && !(f.bound == out.limit)) return {};
    out.limit = f.bound, limited = true;
    if (f.fill != empty && !less_equal(ranged(index, columns) + Sym(1), f.bound))
      refute("what lies outside of a " + std::string(is_extreme(monoid) ? to_string(monoid) : "sum") +
                 " is its empty element",
             describe(t),
             std::isnan(f.fill) ? "it is not known what lies outside; inside(i, n, x, " +
                                      std::string(!is_extreme(monoid)     ? "0"
                                                  : monoid == Monoid::max ? "-INFINITY"
                                                                          : "INFINITY") +
                                      ") says it"
                                : "it is " + to_string(x_.constant(f.fill), name_of_tensor()));
  }
  // What a trip around loops adds may be no element of a tensor that ends: its index is the trip's number, and ends with the trips.
  for (const Running& trip : running_)
    if (!limited && !column && (limit || (trip.around->nest.tile == 1 && trip.number == origin)))
      out.limit = limit ? *limit : world(trip.around->nest.extent), limited = true;
  if (!limited) return {};
  asks_nothing(t); // of many elements in one
  if (column) {
    out.has_part = true;
    out.origin = origin;
    out.sets = singles(columns[*column]);
  } else {
    out.intervals = {{origin, origin + Sym(1)}};
  }
  return out;
}

int Interpreter::singles(int column) {
  auto [at, fresh] = singles_.try_emplace(column, -1);
  if (!fresh) return at->second;
  Column out;
  for (const int v : columns_[column]) {
    bool twice = false;
    out.push_back(sets_.of({v}, twice));
  }
  return singles_[column] = columns_.intern(std::move(out));
}

} // namespace inlay::codegen::provenance
