// Rule of maps: pointwise, joining, and linear in a sum under way.
#include "../integer_sums.h"
#include "interpreter.h"

#include <cmath>

namespace inlay::codegen::provenance {

double Interpreter::outside(Expr e, std::span<const double> operand, const Fact& fact) {
  std::unordered_map<int, double> done; // what occurs in many places once
  const auto visit = [&](auto&& self, int id) -> double {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    const ExprNode& n = e.arena->node(id);
    const auto value = [&]() -> double {
      if (n.fn == Fn::constant || n.fn == Fn::integer) return n.value;
      if (n.fn == Fn::parameter) return operand[static_cast<std::size_t>(n.tensor)];
      if (n.fn == Fn::inside) {
        if (same_bound(n.index[0], n.index[1], fact)) return n.value;
        const double in = self(self, n.args[0]); // either of the two
        return in == n.value ? in : anything;
      }
      std::vector<double> x;
      for (const int a : n.args) x.push_back(self(self, a));
      if (n.fn == Fn::choose && x[1] == x[2]) return x[1]; // either of the two
      const bool sum = n.fn == Fn::add || n.fn == Fn::sub;
      if (sum && std::isinf(x[0]) && std::isnan(x[1])) return x[0];
      if (sum && std::isinf(x[1]) && std::isnan(x[0])) return n.fn == Fn::add ? x[1] : -x[1];
      if (times_nothing(n, x)) return 0;
      for (const double v : x)
        if (std::isnan(v)) return anything;
      return x.empty() ? anything : function_value(n, x);
    }();
    return done[id] = value;
  };
  return visit(visit, e.id);
}

bool Interpreter::times_nothing(const ExprNode& n, std::span<const double> x) {
  if (std::find(x.begin(), x.end(), 0.0) == x.end()) return false;
  if (n.fn == Fn::word_mul || n.fn == Fn::word_and) return true;
  if (n.fn != Fn::mul) return false;
  constexpr double largest = std::numeric_limits<float>::max();
  for (std::size_t k = 0; k < x.size(); ++k)
    if (std::isnan(x[k]) ? !(most_whole({&x_, n.args[k]}) <= largest) : !std::isfinite(x[k])) return false;
  return true;
}

double Interpreter::most_whole(Expr e) {
  const ExprNode n = e.node();
  const auto arg = [&](std::size_t k) { return most_whole({&x_, n.args[k]}); };
  switch (n.fn) {
  case Fn::constant: return std::abs(n.value);
  case Fn::number: return 0x1p63; // a Sym has no more
  case Fn::to_number: return 0x1p31;
  case Fn::to_number_unsigned: return 0x1p32;
  case Fn::add:
  case Fn::sub:
  case Fn::mul: {
    double out = arg(0);
    for (std::size_t k = 1; k < n.args.size(); ++k) out = n.fn == Fn::mul ? out * arg(k) : out + arg(k);
    return out;
  }
  default: return INFINITY;
  }
}

Expr Interpreter::strip_inside(Expr e, const std::vector<Fact>& facts) {
  std::unordered_map<int, int> done;
  const auto visit = [&](auto&& self, int id) -> int {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    ExprNode n = x_.node(id);
    const auto known = [&](const Fact& f) { return !f.condition && same_bound(n.index[0], n.index[1], f); };
    int out = 0;
    if (n.fn == Fn::inside && std::any_of(facts.begin(), facts.end(), known)) {
      out = self(self, n.args[0]);
    } else {
      for (int& a : n.args) a = self(self, a);
      out = x_.make(std::move(n)).id;
    }
    return done[id] = out;
  };
  return {&x_, visit(visit, e.id)};
}

std::optional<Term> Interpreter::more_sums(State& s, const Inst& i) {
  const std::size_t n = static_cast<std::size_t>(i.def.count), operands = i.uses.size() / n;
  if (operands < 2 || !code_.registers[static_cast<std::size_t>(i.def.id)].outside ||
      i.uses[0].id != i.def.id)
    return std::nullopt;
  for (std::size_t e = 0; e < n; ++e)
    if (i.uses[e].id != i.def.id || i.uses[e].first != static_cast<int>(e)) return std::nullopt;
  // x0 and multiples of sums under way, each of its own; or x0 and such sums modulo 2^32, as integers or in registers of i32.
  std::vector<std::pair<std::size_t, Expr>> added;
  const Expr once = x_.constant(1);
  bool goes_on = false;
  const ExprNode whole = x_.normal(i.map).node();
  const bool words = whole.fn == Fn::to_number && x_.node(whole.args[0]).fn == Fn::word_add;
  const ExprNode sum = words ? x_.node(whole.args[0]) : whole;
  const bool of_i32 = std::all_of(i.uses.begin(), i.uses.end(), [&](const Reg& r) {
    return code_.registers[static_cast<std::size_t>(r.id)].element == Element::i32;
  });
  if (words && !of_i32) return std::nullopt;
  for (const int id : words || sum.fn == Fn::add ? sum.args : std::vector<int>{}) {
    const ExprNode& own = x_.node(id);
    if (words && own.fn != Fn::word) return std::nullopt;
    const ExprNode term = words ? x_.node(own.args[0]) : own;
    const bool multiple =
        term.fn == Fn::mul && term.args.size() == 2 && x_.node(term.args[0]).fn == Fn::constant;
    const ExprNode& x = multiple ? x_.node(term.args[1]) : term;
    if (x.fn != Fn::parameter || (x.tensor == 0 && multiple)) return std::nullopt;
    if (x.tensor == 0)
      goes_on = true;
    else
      added.emplace_back(x.tensor, multiple ? Expr{&x_, term.args[0]} : once);
  }
  if (!goes_on) return std::nullopt;
  std::vector<int> columns;
  std::vector<Term> sums;
  for (const auto& [k, factor] : added) {
    Term t = assemble(s, std::span(i.uses).subspan(k * n, n));
    const bool wraps = t.partial && t.monoid == Monoid::wrapping_sum && of_i32 && factor == once;
    if (!wraps && (!t.partial || t.monoid != Monoid::sum || words)) return std::nullopt;
    close(t), settle(t);
    if (t.has_part) return std::nullopt;
    asks_nothing(t);
    if (!(factor == once)) t.expr = normal_of(t.expr * factor);
    for (Fact& f : t.facts) f.fill = anything;
    t.summed_by = summed_by(i, k);
    sums.push_back(std::move(t));
  }
  Term out = held(s, i.def).term;
  std::vector<Term*> all{&out};
  for (Term& t : out.others) all.push_back(&t);
  for (Term& t : sums) all.push_back(&t);
  for (const Term* t : all)
    if (t->partial && (t->monoid != sums.front().monoid || t->has_part)) return std::nullopt;
  const bool none = !out.partial && out.others.empty() && out.expr == x_.constant(0);
  // One sum alone is what `linear` knows, and so are sums that are over.
  const auto one = [&] {
    const Term& first = none ? sums[0] : out;
    return out.others.empty() && (none || out.partial) &&
           std::all_of(sums.begin(), sums.end(), [&](const Term& t) {
             Term a = first, b = t;
             rename(a, columns), rename(b, columns);
             if (a.summed_by != b.summed_by && has_all(a, b)) return false; // twice the same
             return one_body(a, b, columns) || one_body_inside(a, b, columns) ||
                    one_body_under(a, b, columns);
           });
  };
  if (one() || std::all_of(sums.begin(), sums.end(), [&](const Term& t) { return covers(t); }))
    return std::nullopt;
  for (Term* t : all) rename(*t, columns);
  for (Term* t : all) t->columns = columns;
  std::size_t next = 0;
  if (none) out = sums[next++];
  for (; next < sums.size(); ++next) out = with_more(out, std::move(sums[next]));
  tidy(out);
  for (Term& t : out.others) tidy(t);
  prove(
      "a map adds to sums under way", [&] { return to_string(i.map, name_of_tensor()); }, "provenance");
  return out;
}

bool Interpreter::extreme_goes_on(Expr map, const std::vector<Term>& terms) {
  if (straight_ || !running_.empty() || choice_ || !joins(map, terms)) return false;
  std::vector<Term> folds;
  std::vector<int> columns;
  for (const Term& t : terms)
    if (t.partial) folds.push_back(t), rename(folds.back(), columns);
  const auto whole = [](const Term& t) {
    return t.intervals.size() == 1 && t.intervals[0] == std::pair(Sym(0), t.limit);
  };
  if (folds.size() == 1) return !whole(folds[0]);
  for (std::size_t k = 1; k < folds.size(); ++k)
    if (!one_limit(folds[0].limit, folds[k].limit) || !one_body(folds[0], folds[k], columns)) return false;
  return folds.size() > 1;
}

void Interpreter::apply_map(State& s, const Inst& i) {
  if (auto sums = more_sums(s, i)) {
    s.regs[key(i.def)] = {*std::move(sums), false};
    return;
  }
  if (adds_beside(s, i)) return;
  const std::size_t n = static_cast<std::size_t>(i.def.count), operands = i.uses.size() / n;
  std::vector<int> columns;
  std::vector<Term> terms;
  const std::set<int> taken = i.map.arena->parameters(i.map);
  if (i.uses.size() % n != 0 || (!taken.empty() && *taken.rbegin() >= static_cast<int>(operands)))
    refute("a map has its operands, element by element",
           std::to_string(i.uses.size()) + " for " + std::to_string(n), to_string(i.map, name_of_tensor()));
  for (std::size_t k = 0; k < operands; ++k) {
    Term t = assemble(s, std::span(i.uses).subspan(k * n, n));
    if (!taken.contains(static_cast<int>(k))) { // whatever it is, also a part of a sum
      t = Term{};
      t.expr = x_.constant(0);
    }
    if (t.partial && !(k == 0 && lane_sums_.contains(i.op))) close(t);
    if (t.partial) settle(t);
    if (t.partial && t.has_part && !(k == 0 && lane_sums_.contains(i.op)))
      refute("parts of a fold are joined before a map uses them", describe(t),
             to_string(i.map, name_of_tensor()));
    terms.push_back(std::move(t));
  }
  const bool on = extreme_goes_on(i.map, terms);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const bool added = k > 0 && lane_sums_.contains(i.op) && !running_.empty(); // by a trip around loops
    Term& t = terms[k];
    // In a trip's branch what is folded over its trips goes on, also where that is all of it: the other path leaves it as it was.
    if (t.partial && !(choice_ && one_limit(t.limit, choice_->extent)) &&
        (straight_ || added || (is_extreme(t.monoid) && !on)) && covers(t))
      t = complete_term(std::move(t));
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
    const Sym symbol =
        context_.symbol(Program::position_name(static_cast<int>(axis)), {Int(0), std::nullopt});
    auto at = std::find(columns.begin(), columns.end(), column);
    if (at == columns.end()) at = columns.insert(columns.end(), column);
    positions.emplace_back(*symbol.as_atom(), dollar(static_cast<std::size_t>(at - columns.begin())));
  }
  Expr map = replaced_(replaced_(world(i.map), positions), trips());
  if (exiting_) map = relate(map); // holds for all that follows
  map = with_insides(map, terms, columns);
  const auto element = [&](const Reg& r) { return code_.registers[static_cast<std::size_t>(r.id)].element; };
  // Registers of i32 are added modulo 2^32, and so are sums that are that.
  const bool wraps =
      adds_operands(i.map) && element(i.def) == Element::i32 &&
      std::all_of(i.uses.begin(), i.uses.end(), [&](const Reg& r) { return element(r) == Element::i32; }) &&
      std::any_of(terms.begin(), terms.end(),
                  [](const Term& t) { return t.partial && t.monoid == Monoid::wrapping_sum; });
  if (wraps) map = to_number(as_words(i.map));

  Term out;
  const auto open = [](const Term& t) { return t.partial; };
  if (lane_sums_.contains(i.op)) {
    if (auto sum = lane_sum(map, terms, columns)) {
      sum->columns = columns;
      if (code_.registers[static_cast<std::size_t>(i.def.id)].element == Element::i32 && adds_operands(i.map))
        whole_numbers(*sum, [&] { return to_string(i.map, name_of_tensor()); });
      tidy(*sum);
      s.regs[key(i.def)] = {std::move(*sum), false};
      return;
    }
    if (terms[0].partial && terms[0].has_part)
      refute("what is added to a sum is its next part", describe(terms[0]), to_string(map, name_of_tensor()));
  }
  const ExprNode what = x_.normal(map).node();
  if (what.fn == Fn::parameter && terms[static_cast<std::size_t>(what.tensor)].partial) {
    (void)normal_of(map);
    out = terms[static_cast<std::size_t>(what.tensor)]; // a copy
  } else if (std::any_of(terms.begin(), terms.end(), open) &&
             (joins(map, terms) || (element(i.def) == Element::i32 && adds_wrapping(map, terms)))) {
    (void)normal_of(map);
    out = join_all(terms, columns);
  } else {
    // A maximum under way is a number like another; a sum is over, unless the map is linear in it.
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (Term& t = terms[k]; t.partial && is_extreme(t.monoid)) {
        // Of no element, or of minus infinity alone, it is the number that stands beside it.
        const bool number =
            t.monoid == Monoid::max && domains_.bounded(map, static_cast<int>(k)) && !domains_.above(t.expr);
        t = number_of(t, columns, number);
      }
    // Nothing but such sums is linear in one modulo 2^32, and nothing but a max goes on with one of integers.
    for (Term& t : terms)
      if (t.partial && is_of_i32(t.monoid)) {
        t.columns = columns;
        t = complete_term(std::move(t));
        std::vector<int> same = columns;
        rename(t, same); // completing may have dropped columns
      }
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
      out = pointwise(map, terms, columns);
    }
  }
  out.columns = std::move(columns);
  // What the register's type does not have is something else there.
  const Element held = code_.registers[static_cast<std::size_t>(i.def.id)].element;
  for (Fact& f : out.facts)
    if (!std::isnan(f.fill) && !holds(held, f.fill)) f.fill = anything;
  if (held == Element::i32 && adds_operands(i.map) && !wraps)
    whole_numbers(out, [&] { return to_string(i.map, name_of_tensor()); });
  tidy(out);
  s.regs[key(i.def)] = {std::move(out), false};
}

std::function<std::string(int)> Interpreter::name_of_tensor() const {
  return [this](int id) { return p_.tensor(id).name; };
}

bool Interpreter::same_bound(Sym index, Sym bound, const Fact& f) const {
  return (index == f.index && bound == f.bound) ||
         (relate(index) == relate(f.index) && relate(bound) == relate(f.bound));
}

void Interpreter::want(std::vector<Fact>& facts, const Fact& f) const {
  const auto have = std::find_if(facts.begin(), facts.end(),
                                 [&](const Fact& g) { return same_bound(g.index, g.bound, f); });
  if (have == facts.end()) {
    facts.push_back(f);
  } else {
    have->condition = have->condition && f.condition;
  }
}

bool Interpreter::looks_further(const Fact& f) {
  std::vector<std::pair<AtomId, Sym>> first; // of the tile
  for (const Sym& c : dollars_) first.emplace_back(*c.as_atom(), Sym(0));
  const Sym index = replaced_(relate(f.index), first), bound = relate(f.bound);
  bool some = false;
  for (const CodeRegion& r : code_.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        if (i.kind != InstKind::store) continue;
        const Tensor& t = p_.tensor(i.access.tensor);
        for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
          if (!(relate(world(t.shape[axis])) == bound)) continue;
          const auto more = (index - relate(world(i.access.origin[axis]))).constant();
          if (!more || *more <= Int(0)) return false;
          some = true;
        }
      }
  return some;
}

Expr Interpreter::with_bounds_of(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns) {
  std::vector<std::pair<AtomId, Sym>> constants; // a load says of a column with one number what that is
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (const auto [low, high] = columns_.range(columns[c]); low == high)
      constants.emplace_back(*dollar(c).as_atom(), Sym(low));
  if (constants.empty()) return map;
  return x_.rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::inside) return std::nullopt;
    for (const Term& t : terms)
      for (const Fact& f : t.facts)
        if (same_bound(replaced_(n.index[0], constants), replaced_(n.index[1], constants),
                       {replaced_(f.index, constants), replaced_(f.bound, constants), f.fill})) {
          ExprNode same = n;
          same.index = {f.index, f.bound};
          return x_.make(std::move(same));
        }
    return std::nullopt;
  });
}

Expr Interpreter::with_insides(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns) {
  // What a word is made of, where that is a number of i32 for all sizes: as a signed one it is that number.
  const auto number_of_word = [&](int id) -> std::optional<Sym> {
    const ExprNode& word = x_.node(id);
    if (word.fn == Fn::integer && word.value <= INT32_MAX) return Sym(static_cast<std::int64_t>(word.value));
    if (word.fn != Fn::word || x_.node(word.args[0]).fn != Fn::number) return std::nullopt;
    const Sym at = x_.node(word.args[0]).sym, most = ranged(relate(at), columns);
    const bool fits =
        less_equal(Sym(0), most) &&
        (less_equal(most, Sym(INT32_MAX)) ||
         std::any_of(p_.sizes().begin(), p_.sizes().end(), [&](const Size& z) {
           return less_equal(most, relate(world(z.symbol)) + Sym(INT32_MAX) - Sym(z.facts.most));
         }));
    return fits ? std::optional(at) : std::nullopt;
  };
  return x_.rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::choose) return std::nullopt;
    const ExprNode less = x_.node(n.args[0]), beyond = x_.node(n.args[2]);
    if ((less.fn != Fn::word_less_signed && less.fn != Fn::word_less) ||
        (beyond.fn != Fn::constant && beyond.fn != Fn::integer))
      return std::nullopt;
    const auto index = number_of_word(less.args[0]), bound = number_of_word(less.args[1]);
    if (!index || !bound || std::none_of(terms.begin(), terms.end(), [&](const Term& t) {
          return std::any_of(t.facts.begin(), t.facts.end(),
                             [&](const Fact& f) { return !f.condition && same_bound(*index, *bound, f); });
        }))
      return std::nullopt;
    const Expr in{&x_, n.args[1]};
    if (beyond.fn == Fn::constant) return inside(*index, *bound, in, beyond.value);
    const double word[] = {beyond.value};
    return integer(inside(*index, *bound, to_number(in), function_value({.fn = Fn::to_number}, word)));
  });
}

bool Interpreter::looks_inside(Expr map, const std::vector<Term>& terms, const Fact& f) {
  const auto has = [&](const Term& t) {
    return std::any_of(t.facts.begin(), t.facts.end(),
                       [&](const Fact& g) { return same_bound(g.index, g.bound, f); });
  };
  std::set<int> seen;
  const auto visit = [&](auto&& self, int id) -> bool {
    if (!seen.insert(id).second) return true;
    const ExprNode n = x_.node(id);
    if (n.fn == Fn::inside && same_bound(n.index[0], n.index[1], f)) return true;
    if (n.fn == Fn::parameter) return !has(terms[static_cast<std::size_t>(n.tensor)]);
    return std::all_of(n.args.begin(), n.args.end(), [&](int a) { return self(self, a); });
  };
  return visit(visit, map.id);
}

Term Interpreter::pointwise(Expr map, const std::vector<Term>& terms, const std::vector<int>& columns) {
  Term out;
  map = with_bounds_of(map, terms, columns);
  std::vector<Fact> facts;
  for (const int k : x_.parameters(map)) // what a map does not look at says nothing of what it gives
    for (const Fact& f : terms[static_cast<std::size_t>(k)].facts) want(facts, f);
  (void)x_.rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::inside) want(facts, {n.index[0], n.index[1], anything, true});
    return std::nullopt;
  });
  for (Fact& f : facts) {
    std::vector<double> operand;
    for (const Term& t : terms) {
      const auto has = std::find_if(t.facts.begin(), t.facts.end(),
                                    [&](const Fact& g) { return same_bound(g.index, g.bound, f); });
      operand.push_back(has != t.facts.end() ? has->fill : constant_or_anything(t));
    }
    f.fill = outside(map, operand, f);
    // Nothing says what that is. Where what is stored looks further than its own place, the condition belongs to the value.
    f.condition = f.condition || (std::isnan(f.fill) && looks_further(f) && looks_inside(map, terms, f));
  }
  std::vector<Expr> values;
  for (const Term& t : terms) values.push_back(t.expr);
  out.expr = x_.normal(x_.apply(strip_inside(map, facts), values));
  // What was asked of an operand is asked where the map takes it, and what the map itself asks for with its conditions in it.
  for (const auto& [of, need] : domains_.passed(map, values, [&](int k) {
         Domains::Needs needs;
         for (const Asked& a : terms[static_cast<std::size_t>(k)].asked)
           Domains::add(needs, Domains::Of::of(a.base, a.where), a.need);
         return needs;
       }))
    ask(out.asked, asking(of, need, asked_by(terms, of.base)));
  for (const auto& [of, need] : domains_.lost(x_.apply(map, values), out.expr))
    ask(out.asked, asking(of, need, at_));
  std::erase_if(facts, [](const Fact& f) { return f.condition && std::isnan(f.fill); });
  out.facts = std::move(facts);
  return out;
}

void Interpreter::ask(std::vector<Asked>& all, const Asked& more) {
  // Under fewer conditions it is asked for already.
  unsigned need = more.need;
  for (const Asked& a : all)
    if (a.base == more.base && std::all_of(a.where.begin(), a.where.end(), [&](Expr e) {
          return std::find(more.where.begin(), more.where.end(), e) != more.where.end();
        }))
      need &= ~a.need;
  if (need == 0) return;
  const auto have = std::find_if(
      all.begin(), all.end(), [&](const Asked& a) { return a.base == more.base && a.where == more.where; });
  if (have == all.end()) {
    all.push_back(more);
    all.back().need = need;
  } else {
    have->need |= need;
  }
}

void Interpreter::lost(Expr of, const Asked& what) {
  if (what.by) at_ = what.by;
  refute("a map loses no condition of what it takes", to_string(of, name_of_tensor()),
         "it is that only where " + domains_.text(what.base.id, what.need, name_of_tensor()) +
             ": a root, a reciprocal or a logarithm cancels");
}

Expr Interpreter::normal_of(Expr e) {
  std::vector<Asked> asked;
  const Expr out = normal_of(e, asked);
  if (!asked.empty()) lost(out, asked.front());
  return out;
}

Expr Interpreter::normal_of(Expr e, std::vector<Asked>& asked) {
  const Expr out = x_.normal(e);
  for (const auto& [of, need] : domains_.lost(e, out)) ask(asked, asking(of, need, at_));
  return out;
}

void Interpreter::asks_nothing(const Term& t) {
  if (!t.asked.empty()) lost(t.expr, t.asked.front());
}

void Interpreter::asked_of(Expr wanted, Expr expected, const std::vector<Asked>& asked,
                           const std::function<Expr(Expr)>& settled) {
  if (asked.empty()) return;
  Domains::Needs allowed;
  const auto of = [&](const Asked& a) {
    std::vector<Expr> where;
    for (const Expr e : a.where)
      if (const Expr now = settled(e); !(now == x_.constant(1))) where.push_back(now);
    return Domains::Of::of(settled(a.base), where);
  };
  // What is asked for of the elements of a fold says nothing of those of another one, whose index has the same name.
  std::set<AtomId> indices{*bound_.as_atom()};
  for (const Expr e : {wanted, expected})
    (void)x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::fold) indices.insert(*n.sym.as_atom());
      return std::nullopt;
    });
  const auto of_fold = [&](const Domains::Of& part) {
    const auto has_index = [&](int id) {
      const std::set<AtomId> all = x_.free_symbols({&x_, id});
      return std::any_of(all.begin(), all.end(), [&](AtomId a) { return indices.contains(a); });
    };
    return has_index(part.base) || std::any_of(part.where.begin(), part.where.end(), has_index);
  };
  for (const Expr e : {wanted, expected})
    for (const auto& [what, need] : Domains::Needs(domains_.needs(e)))
      for (const auto& [part, of_part] : parts_of(of(asking(what, need, nullptr)), need))
        if (!of_fold(part)) Domains::add(allowed, part, of_part);
  for (const Asked& a : asked)
    for (const auto& [what, need] : parts_of(of(a), a.need)) {
      const unsigned missing = domains_.open(what.base, need) & ~Domains::met(what, allowed);
      if (missing != 0) lost(expected, {{&x_, what.base}, missing, a.by});
    }
}

Domains::Needs Interpreter::parts_of(const Domains::Of& what, unsigned need) {
  if (!choices_.chooses({&x_, what.base})) return {{what, need}};
  Domains::Needs out;
  const auto split = [&](auto&& self, Expr e, const std::vector<int>& where) -> void {
    const ExprNode n = e.node();
    if (n.fn == Fn::choose) {
      for (const bool holds : {true, false}) {
        std::vector<Expr> under{
            choose(Expr{&x_, n.args[0]}, x_.constant(holds ? 1 : 0), x_.constant(holds ? 0 : 1))};
        for (const int w : where) under.push_back({&x_, w});
        self(self, Expr{&x_, n.args[holds ? 1 : 2]}, Domains::Of::of(e, under).where);
      }
    } else if (n.fn == Fn::mul && need == Domains::not_zero) {
      for (const int f : n.args) self(self, Expr{&x_, f}, where);
    } else if (const unsigned left = domains_.open(e.id, need); left != 0) {
      Domains::add(out, {e.id, where}, left);
    }
  };
  split(split, choices_.ordered({&x_, what.base}), what.where);
  return out;
}

const Inst* Interpreter::asked_by(const std::vector<Term>& terms, int base) const {
  for (const Term& t : terms)
    for (const Asked& a : t.asked)
      if (a.base.id == base && a.by) return a.by;
  return at_;
}

Asked Interpreter::asking(const Domains::Of& of, unsigned need, const Inst* by) {
  Asked out{{&x_, of.base}, need, by};
  for (const int e : of.where) out.where.push_back({&x_, e});
  return out;
}

Expr Interpreter::as_i32(Expr e) { return x_.normal(to_number(integer(e))); }

Expr Interpreter::as_words(Expr map) {
  const ExprNode n = map.node();
  return n.fn == Fn::add ? as_words({&x_, n.args[0]}) + as_words({&x_, n.args[1]}) : integer(map);
}

bool Interpreter::adds_wrapping(Expr map, const std::vector<Term>& terms) {
  const auto wraps = [](const Term& t) { return t.partial && t.monoid == Monoid::wrapping_sum; };
  if (std::none_of(terms.begin(), terms.end(), wraps)) return false;
  const ExprNode whole = x_.normal(map).node();
  if (whole.fn != Fn::to_number || x_.node(whole.args[0]).fn != Fn::word_add) return false;
  std::set<int> added;
  for (const int a : x_.node(whole.args[0]).args) {
    const ExprNode& word = x_.node(a);
    if (word.fn != Fn::word) return false;
    const ExprNode& x = x_.node(word.args[0]);
    if (x.fn != Fn::parameter || !added.insert(x.tensor).second) return false;
  }
  // Several that are over are numbers, and what they come to need be no sum of one body.
  if (std::count_if(terms.begin(), terms.end(), wraps) > 1 && !choice_ &&
      std::all_of(terms.begin(), terms.end(), [&](const Term& t) { return !t.partial || covers(t); }))
    return false;
  return added.size() == terms.size() && std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
           return wraps(t) || (!t.partial && t.expr == x_.constant(0));
         });
}

bool Interpreter::joins(Expr map, const std::vector<Term>& terms) {
  const ExprNode whole = x_.normal(map).node();
  // max(a, b) of integers is choose(a < b, b, a).
  const auto of_two = [&]() -> std::optional<Monoid> {
    const ExprNode n = whole.fn == Fn::to_number ? x_.node(whole.args[0]) : whole;
    if (n.fn != Fn::choose || whole.fn != Fn::to_number) return std::nullopt;
    const ExprNode less = x_.node(n.args[0]);
    const bool with_sign = less.fn == Fn::word_less_signed;
    if (!with_sign && less.fn != Fn::word_less) return std::nullopt;
    if (n.args[1] == less.args[1] && n.args[2] == less.args[0])
      return with_sign ? Monoid::signed_max : Monoid::unsigned_max;
    if (n.args[1] == less.args[0] && n.args[2] == less.args[1])
      return with_sign ? Monoid::signed_min : Monoid::unsigned_min;
    return std::nullopt;
  };
  std::vector<int> of = whole.args;
  const std::optional<Monoid> monoid = whole.fn == Fn::max   ? std::optional(Monoid::max)
                                       : whole.fn == Fn::min ? std::optional(Monoid::min)
                                                             : of_two();
  if (monoid && is_of_i32(*monoid)) { // the words of the operands
    of = x_.node(x_.node(whole.args[0]).args[0]).args;
    for (int& a : of) {
      if (x_.node(a).fn != Fn::word) return false;
      a = x_.node(a).args[0];
    }
  }
  if (!monoid || of.size() != terms.size()) return false;
  for (const int a : of)
    if (x_.node(a).fn != Fn::parameter) return false;
  return std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
    return t.partial ? t.monoid == *monoid : t.expr == x_.constant(empty_element(*monoid));
  });
}

Term Interpreter::join_all(const std::vector<Term>& terms, const std::vector<int>& columns) {
  std::optional<Term> out;
  for (Term t : terms) {
    if (!t.partial) continue; // the empty element
    t.expr = x_.normal(t.expr);
    if (!out) {
      out = t;
      continue;
    }
    if (!one_limit(out->limit, t.limit) ||
        (!one_body(*out, t, columns) && !one_body_inside(*out, t, columns) &&
         !one_body_under(*out, t, columns)))
      refute("parts of a fold are of one fold", describe(*out), describe(t));
    const std::vector<Fact> facts = out->facts;
    out = join(*out, t);
    out->facts = facts;
    for (Fact& f : out->facts)
      if (std::find(t.facts.begin(), t.facts.end(), f) == t.facts.end()) f.fill = anything;
    for (const Fact& f : t.facts) want(out->facts, f);
  }
  return std::move(*out);
}

Term Interpreter::number_of(const Term& t, const std::vector<int>& columns, bool bounded) {
  const auto met = [&](Sym at) { // element `at` is not left out
    const std::pair<AtomId, Sym> first[] = {{*bound_.as_atom(), at}};
    bool yes = less_equal(at + Sym(1), t.limit);
    (void)x_.rewrite(t.expr, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::inside && yes)
        yes = less_equal(ranged(substitute(n.index[0], first), columns) + Sym(1),
                         ranged(substitute(n.index[1], first), columns));
      return std::nullopt;
    });
    return yes;
  };
  // The last one before an end, for those of the columns where that comes first: of a window the first may be left out.
  std::vector<std::pair<AtomId, Sym>> least;
  for (std::size_t c = 0; c < columns.size(); ++c)
    least.emplace_back(*dollar(c).as_atom(), Sym(columns_.range(columns[c]).first));
  std::vector<Sym> last;
  (void)x_.rewrite(t.expr, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::inside && n.index[0] == bound_) last.push_back(substitute(n.index[1], least) - Sym(1));
    return std::nullopt;
  });
  const auto has = [&](const auto& x) {
    if (less_equal(x.first + Sym(1), x.second) && met(x.first)) return true;
    return std::any_of(last.begin(), last.end(), [&](Sym at) {
      return less_equal(x.first, at) && less_equal(at + Sym(1), x.second) && met(at);
    });
  };
  if (!bounded && std::none_of(t.intervals.begin(), t.intervals.end(), has))
    refute("a " + std::string(to_string(t.monoid)) + " that scales is of at least one element", describe(t),
           "its first element may be left out, and then it is infinite");
  if (!bounded && domains_.infinite(t.expr))
    refute("a " + std::string(to_string(t.monoid)) + " that scales is of at least one element", describe(t),
           "its elements so far may all be infinite; `inside` says which are left out");
  prove(
      "a " + std::string(to_string(t.monoid)) + " that scales is " +
          (bounded ? "taken where a number bounds it" : "of at least one element"),
      [&] { return describe(t); }, "provenance");
  Term out;
  out.expr = x_.normal(x_.partial_fold(t.monoid, bound_, t.limit, t.intervals, t.expr));
  out.facts = t.facts;
  std::erase_if(out.facts, [](const Fact& f) { return f.condition; });
  for (Fact& f : out.facts) f.fill = anything;
  return out;
}

std::optional<Term> Interpreter::linear(Expr map, const std::vector<Term>& terms,
                                        const std::vector<int>& columns) {
  std::vector<Expr> values;
  std::vector<Fact> facts;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    asks_nothing(terms[k]);
    values.push_back(terms[k].partial ? x_.parameter(static_cast<int>(k)) : terms[k].expr);
    for (Fact f : terms[k].facts) {
      if (f.condition || less_equal(ranged(f.index, columns) + Sym(1), f.bound)) continue;
      f.fill = anything;
      want(facts, f);
    }
  }
  const Expr e = normal_of(x_.apply(map, values));
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
      } else if (x_.parameters({&x_, f}).empty()) {
        factors.push_back(f);
      } else {
        operand = -2;
      }
    }
    if (operand < 0) return std::nullopt;
    Term t = terms[static_cast<std::size_t>(operand)];
    for (const int f : factors)
      t.expr = t.expr * (t.intervals.size() != 1
                             ? Expr{&x_, f}
                             : within_block(t.intervals[0].first, t.intervals[0].second, {&x_, f}, columns));
    t.expr = normal_of(t.expr);
    if (choices_.chooses(t.expr)) { // factors meet where the same is chosen
      std::vector<Asked> asked;
      if (const Expr in_order = ordered(t.expr, asked); asked.empty()) t.expr = in_order;
    }
    if (operand != 0) t.summed_by = summed_by(*at_, static_cast<std::size_t>(operand));
    parts.push_back(std::move(t));
  }
  if (parts.empty()) {
    Term zero;
    zero.expr = x_.constant(0);
    return zero;
  }
  Term out = parts[0];
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const bool one = one_limit(out.limit, parts[k].limit) && out.monoid == parts[k].monoid &&
                     (one_body(out, parts[k], columns) || one_body_inside(out, parts[k], columns) ||
                      one_body_under(out, parts[k], columns));
    // Sums that are over are numbers, and what is made of them need be no sum: also twice the same.
    if (!(one && choice_) && // in a trip's branch the sum goes on, also where that is all of it
        std::all_of(terms.begin(), terms.end(), [&](const Term& t) { return !t.partial || covers(t); }))
      return std::nullopt;
    if (!one)
      refute("an accumulator sums one element of the result", describe(out),
             "and then " + describe(parts[k]));
    out = join(out, parts[k]);
  }
  out.facts = std::move(facts);
  prove(
      "a map of a sum under way is linear in it", [&] { return to_string(map, name_of_tensor()); },
      "provenance");
  return out;
}

Expr Interpreter::within_block(Sym low, Sym high, Expr factor, const std::vector<int>& columns) {
  return x_.rewrite(factor, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::load) return std::nullopt;
    const auto moves = [&](Sym s) { // with k already, or with the index of a fold in the factor
      const auto all = symbols(s);
      return std::any_of(all.begin(), all.end(), [&](AtomId a) {
        return a == *bound_.as_atom() || is_of(context_.atom(a).name, SymbolKind::bound);
      });
    };
    ExprNode out = n;
    for (std::size_t axis = 0; axis < n.index.size(); ++axis) {
      const auto g = blocked_.find({n.tensor, axis});
      if (g == blocked_.end() || moves(n.index[axis])) continue;
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

void Interpreter::find_blocks() {
  for (const auto& spec : p_.specifications())
    (void)x_.rewrite(spec.value, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::load)
        for (std::size_t axis = 0; axis < n.index.size(); ++axis) {
          const auto inner = symbols(n.index[axis]);
          if (const auto atom = n.index[axis].as_atom();
              atom && inner.size() == 1 && inner[0] == *atom &&
              is_of(context_.atom(*atom).name, SymbolKind::bound) &&
              (n.through.empty() || n.through[axis] < 0))
            summed_axes_.emplace(n.tensor, axis);
          if (inner.size() != 1 || !is_of(context_.atom(inner[0]).name, SymbolKind::bound)) continue;
          const Sym k = context_.value(inner[0]);
          for (std::int64_t g = 2; g <= 4096; g *= 2)
            if (n.index[axis] == floor_div(k, Sym(g))) blocked_[{n.tensor, axis}] = g;
        }
      return std::nullopt;
    });
}

double Interpreter::constant_or_anything(const Term& t) {
  return t.expr.node().fn == Fn::constant ? t.expr.node().value : anything;
}

} // namespace inlay::codegen::provenance
