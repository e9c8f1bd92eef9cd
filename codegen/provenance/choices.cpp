// Rule of what is chosen: conditions in one order, and branches by what a trip reads.
#include "choices.h"

#include "interpreter.h"

namespace inlay::codegen::provenance {

bool Choices::chooses(Expr e) {
  if (const auto known = chooses_.find(e.id); known != chooses_.end()) return known->second;
  const ExprNode n = e.node();
  bool out = n.fn == Fn::choose;
  for (const int a : n.args) out = out || chooses({&x_, a});
  return chooses_[e.id] = out;
}

const std::set<int>& Choices::conditions(int id) {
  if (const auto known = conditions_.find(id); known != conditions_.end()) return known->second;
  const ExprNode n = x_.node(id);
  std::set<int> out;
  for (const int a : n.args) {
    const std::set<int>& of = conditions(a);
    out.insert(of.begin(), of.end());
  }
  if (n.fn == Fn::choose) out.insert(n.args[0]);
  if (n.fn == Fn::fold)
    std::erase_if(out, [&](int c) {
      const std::vector<AtomId> all = x_.symbols({&x_, c});
      return std::find(all.begin(), all.end(), *n.sym.as_atom()) != all.end();
    });
  return conditions_[id] = std::move(out);
}

Expr Choices::under(Expr e, Expr condition, bool holds) {
  return x_.normal(x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::choose || n.args[0] != condition.id) return std::nullopt;
    return Expr{&x_, n.args[holds ? 1 : 2]};
  }));
}

Expr Choices::ordered(Expr e, bool compared) {
  std::unordered_map<int, int>& known = ordered_[compared ? 1 : 0];
  if (const auto found = known.find(e.id); found != known.end()) return {&x_, found->second};
  const bool outer = std::exchange(compared_, compared);
  Expr out = x_.normal(e);
  if (chooses(out)) out = x_.normal(tree(out, 0));
  compared_ = outer;
  known[e.id] = out.id;
  return out;
}

Expr Choices::tree(Expr e, int level) {
  const std::set<int> all = conditions(e.id);
  if (all.size() > most_conditions) return e;
  if (all.empty()) return leaf(e, level);
  const Expr first{&x_, *all.begin()};
  const auto path = [&](bool holds) {
    const Expr out = under(e, first, holds);
    return !no_number(out) ? std::optional(tree(out, level))
           : undefined(e, first, holds)
               ? std::optional(x_.number(
                     symbol_of(context_, SymbolKind::undefined, {}, "", {std::nullopt, std::nullopt})))
               : std::nullopt;
  };
  const auto yes = path(true), no = path(false);
  if (!yes || !no) return e;
  return *yes == *no ? *yes : choose(first, *yes, *no);
}

bool Choices::undefined(Expr e, Expr condition, bool holds) {
  const ExprNode n = e.node();
  if (!compared_ || n.fn != Fn::mul) return false;
  const Expr zero = x_.constant(0);
  return std::any_of(n.args.begin(), n.args.end(),
                     [&](int f) {
                       return under({&x_, f}, condition, holds) == zero;
                     }) &&
         std::any_of(n.args.begin(), n.args.end(), [&](int f) {
           const ExprNode by = x_.node(f);
           return by.fn == Fn::power && by.value < 0 && under({&x_, by.args[0]}, condition, holds) == zero;
         });
}

bool Choices::no_number(Expr e) {
  if (const auto known = no_number_.find(e.id); known != no_number_.end()) return known->second;
  const ExprNode n = e.node();
  bool out = n.fn == Fn::constant && std::isnan(n.value);
  for (const int a : n.args) out = out || no_number({&x_, a});
  return no_number_[e.id] = out;
}

Expr Choices::leaf(Expr e, int level) {
  std::unordered_map<int, int> done;
  const auto visit = [&](auto&& self, int id) -> int {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    if (!chooses({&x_, id})) return id;
    ExprNode n = x_.node(id);
    if (n.fn == Fn::add)
      if (const auto one = together(n, level)) n = one->node();
    int out = 0;
    if (n.fn == Fn::fold) {
      out = fold(n, level).id;
    } else {
      for (int& a : n.args) a = self(self, a);
      out = x_.make(std::move(n)).id;
    }
    return done[id] = out;
  };
  return x_.normal({&x_, visit(visit, e.id)});
}

std::optional<Expr> Choices::together(const ExprNode& sum, int level) {
  struct Folds {
    ExprNode first;
    Expr body;
    std::size_t count = 0;
    bool chooses = false;
  };
  const Sym at = symbol_of(context_, SymbolKind::together, {level}, "", {Int(0), std::nullopt});
  std::vector<Folds> all;
  std::vector<int> of(sum.args.size(), -1); // the number among them
  for (std::size_t k = 0; k < sum.args.size(); ++k) {
    // A fold and what it is multiplied by, which its index does not move.
    const ExprNode term = x_.node(sum.args[k]);
    std::vector<int> folds, factors;
    for (const int a : term.fn == Fn::mul ? term.args : std::vector<int>{sum.args[k]})
      (x_.node(a).fn == Fn::fold && x_.node(a).monoid == Monoid::sum ? folds : factors).push_back(a);
    if (folds.size() != 1) continue;
    const ExprNode n = x_.node(folds[0]);
    const std::pair<AtomId, Sym> rename[] = {{*n.sym.as_atom(), at}};
    Expr body = x_.substitute({&x_, n.args[0]}, rename);
    for (const int f : factors) body = body * Expr{&x_, f};
    auto same =
        std::find_if(all.begin(), all.end(), [&](const Folds& f) { return f.first.index == n.index; });
    if (same == all.end()) same = all.insert(all.end(), Folds{n, x_.constant(0)});
    same->body = same->body + body;
    ++same->count;
    same->chooses = same->chooses || chooses({&x_, folds[0]});
    of[k] = static_cast<int>(same - all.begin());
  }
  const auto joins = [&](const Folds& f) {
    return f.count > 1 && f.chooses && conditions(f.body.id).size() <= most_conditions;
  };
  if (std::ranges::none_of(all, joins)) return std::nullopt;
  std::optional<Expr> out;
  const auto add = [&](Expr e) { out = out ? *out + e : e; };
  for (std::size_t k = 0; k < sum.args.size(); ++k)
    if (of[k] < 0 || !joins(all[static_cast<std::size_t>(of[k])])) add({&x_, sum.args[k]});
  for (const Folds& f : all) {
    if (!joins(f)) continue;
    std::vector<std::pair<Sym, Sym>> intervals;
    for (std::size_t k = 1; k + 1 < f.first.index.size(); k += 2)
      intervals.emplace_back(f.first.index[k], f.first.index[k + 1]);
    add(intervals.empty() ? x_.fold(Monoid::sum, at, f.first.index[0], f.body)
                          : x_.partial_fold(Monoid::sum, at, f.first.index[0], intervals, f.body));
  }
  return out;
}

Expr Choices::fold(const ExprNode& n, int level) {
  // One name of the index on this level: what is chosen is in one order, whatever else the body holds.
  const Sym at = symbol_of(*n.sym.context(), SymbolKind::chosen, {level}, "", {Int(0), std::nullopt});
  const std::pair<AtomId, Sym> rename[] = {{*n.sym.as_atom(), at}};
  const Expr body = tree(x_.normal(x_.substitute({&x_, n.args[0]}, rename)), level + 1);
  std::vector<std::pair<Sym, Sym>> intervals;
  for (std::size_t k = 1; k + 1 < n.index.size(); k += 2) intervals.emplace_back(n.index[k], n.index[k + 1]);
  const auto build = [&](Expr of) {
    return n.index.size() == 1 ? x_.fold(n.monoid, at, n.index[0], of)
                               : x_.partial_fold(n.monoid, at, n.index[0], intervals, of);
  };
  if (n.monoid != Monoid::sum) return build(body);
  // A term, as what does not depend on the index times what does, is summed where it is one of the body's.
  using Key = std::pair<int, int>;
  const auto product = [&](const std::vector<int>& of) {
    Expr out = x_.constant(1);
    for (const int f : of) out = out * Expr{&x_, f};
    return x_.normal(out).id;
  };
  const auto terms_of = [&](Expr value) {
    std::map<Key, int> out;
    const ExprNode sum = value.node();
    for (const int term : sum.fn == Fn::add ? sum.args : std::vector<int>{value.id}) {
      const ExprNode t = x_.node(term);
      if (t.fn == Fn::constant && t.value == 0) continue;
      std::vector<int> outer, inner;
      for (const int f : t.fn == Fn::mul ? t.args : std::vector<int>{term}) {
        const std::vector<AtomId> all = x_.symbols({&x_, f});
        const bool moves = std::find(all.begin(), all.end(), *at.as_atom()) != all.end();
        (moves ? inner : outer).push_back(f);
      }
      ++out[{product(outer), product(inner)}];
    }
    return out;
  };
  std::map<int, std::map<Key, int>> leaves; // of the body's tree
  std::set<Key> keys;
  const auto collect = [&](auto&& self, Expr e) -> void {
    const ExprNode c = e.node();
    if (c.fn == Fn::choose) return self(self, Expr{&x_, c.args[1]}), self(self, Expr{&x_, c.args[2]});
    for (const auto& [key, times] : leaves.try_emplace(e.id, terms_of(e)).first->second) keys.insert(key);
  };
  collect(collect, body);
  if (keys.size() > most_terms) return build(body);
  Expr out = x_.constant(0);
  for (const Key& key : keys) {
    const auto only = [&](auto&& self, Expr e) -> Expr {
      const ExprNode c = e.node();
      if (c.fn == Fn::choose) {
        const Expr yes = self(self, Expr{&x_, c.args[1]}), no = self(self, Expr{&x_, c.args[2]});
        return yes == no ? yes : choose(Expr{&x_, c.args[0]}, yes, no);
      }
      const auto& terms = leaves.at(e.id);
      const auto has = terms.find(key);
      return has == terms.end() ? x_.constant(0) : x_.normal(Expr{&x_, key.second} * double(has->second));
    };
    out = out + Expr{&x_, key.first} * build(only(only, body));
  }
  return x_.normal(out);
}

Expr Interpreter::ordered(Expr e, std::vector<Asked>& asked, bool compared) {
  const Expr out = choices_.ordered(e, compared);
  for (const auto& [of, need] : domains_.lost(e, out)) ask(asked, asking(of, need, at_));
  return out;
}

Expr Interpreter::chosen(const Choice& c, bool holds, Expr body, double empty) {
  const Expr none = x_.constant(empty);
  const Expr all = holds ? choose(c.of, body, none) : choose(c.of, none, body);
  std::vector<Asked> asked;
  const Expr out = ordered(all, asked);
  if (!asked.empty()) lost(out, asked.front());
  return out;
}

Expr Interpreter::of_path(Expr e) {
  const Expr known = exiting_ ? x_.normal(relate(e)) : with_branches(e);
  const Expr out = choices_.ordered(known);
  return domains_.lost(known, out).empty() ? out : known;
}

bool Interpreter::one_limit(Sym a, Sym b) {
  return a == b || (exiting_ ? relate(a) == relate(b) : with_branches(a) == with_branches(b));
}

bool Interpreter::of_the_trip(const Choice& c, Sym low, Sym high) {
  return less_equal(c.low, low) && less_equal(high, c.high);
}

bool Interpreter::one_body_under(Term& a, Term& b, const std::vector<int>& columns) {
  if (!choice_) return false;
  for (const auto& [bare, masked] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!bare->partial || bare->in_rounds() || bare->first_sets >= 0 || !bare->others.empty()) continue;
    // As they are: the other path has parts of the folds in them.
    const Expr with = masked->expr, same = of_path(resolve(with, columns));
    if (!(same == of_path(chosen(*choice_, choice_->holds, resolve(bare->expr, columns),
                                 empty_element(bare->monoid)))))
      continue;
    // The condition is that of all its elements.
    std::vector<std::pair<Sym, Sym>> parts = bare->intervals;
    if (bare->has_part)
      if (const auto part = around(*bare); !(part.first == part.second)) parts.push_back(part);
    if (!std::all_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return of_the_trip(*choice_, part.first, part.second); }))
      continue;
    bare->expr = masked->expr = with;
    return true;
  }
  return false;
}

std::vector<std::pair<Sym, Sym>> Interpreter::intervals_of(const ExprNode& fold) {
  std::vector<std::pair<Sym, Sym>> out;
  for (std::size_t k = 1; k + 1 < fold.index.size(); k += 2)
    out.emplace_back(fold.index[k], fold.index[k + 1]);
  return out;
}

Interpreter::Choice Interpreter::at_index(Choice c, Sym index) {
  const std::pair<AtomId, Sym> here[] = {{*bound_.as_atom(), index}};
  c.of = x_.substitute(c.of, here);
  return c;
}

Term Interpreter::masked(const Choice& c, bool holds, Term t) {
  const auto inside = [&](const std::vector<std::pair<Sym, Sym>>& intervals) {
    return std::all_of(intervals.begin(), intervals.end(),
                       [&](const auto& x) { return of_the_trip(c, x.first, x.second); });
  };
  t.expr = x_.rewrite(t.expr, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::fold || n.index.size() < 3) return std::nullopt;
    const auto intervals = intervals_of(n);
    if (!inside(intervals)) return std::nullopt;
    // By its own index: that of a term around it is bound_.
    return x_.partial_fold(n.monoid, n.sym, n.index[0], intervals,
                           chosen(at_index(c, n.sym), holds, {&x_, n.args[0]}, empty_element(n.monoid)));
  });
  if (t.partial && inside(t.intervals)) {
    const double empty = empty_element(t.monoid);
    t.expr = chosen(c, holds, t.expr, empty);
    for (Fact& f : t.facts)
      if (f.fill != empty) f.fill = anything;
  }
  return t;
}

bool Interpreter::without_trip(const Choice& c, bool holds, Expr body, Monoid monoid,
                               std::vector<std::pair<Sym, Sym>>& intervals) {
  if (!(choices_.under(body, c.of, !holds) == x_.constant(empty_element(monoid)))) return false;
  std::vector<std::pair<Sym, Sym>> rest;
  for (const auto& [low, high] : intervals) {
    if (of_the_trip(c, low, high)) continue;
    if (relate(high) == relate(c.high) && less_equal(low, c.low))
      rest.emplace_back(low, c.low);
    else
      rest.emplace_back(low, high);
  }
  const bool changed = rest != intervals;
  intervals = std::move(rest);
  return changed;
}

Term Interpreter::left_out(const Choice& c, bool holds, Term t) {
  t.expr = with_branches(t.expr);
  t.expr = x_.rewrite(t.expr, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::fold || n.index.size() < 3) return std::nullopt;
    auto intervals = intervals_of(n);
    const Expr body{&x_, n.args[0]};
    if (!without_trip(at_index(c, n.sym), holds, x_.normal(body), n.monoid, intervals)) return std::nullopt;
    if (intervals.empty()) return x_.constant(empty_element(n.monoid));
    return x_.partial_fold(n.monoid, n.sym, n.index[0], intervals, body);
  });
  if (t.partial && without_trip(c, holds, x_.normal(t.expr), t.monoid, t.intervals) && t.intervals.empty()) {
    Term none; // of no element
    none.expr = x_.constant(empty_element(t.monoid));
    return none;
  }
  return t;
}

bool Interpreter::one_value(Term a, Term b) {
  if (a.partial != b.partial || !a.asked.empty() || !b.asked.empty() || a.columns != b.columns) return false;
  if (!(of_path(a.expr) == of_path(b.expr))) return false;
  order_like(a.facts, b.facts);
  if (a.facts != b.facts) return false;
  if (!a.partial) return true;
  const auto alike = [&](const auto& x, const auto& y) {
    return one_limit(x.first, y.first) && one_limit(x.second, y.second);
  };
  return a.monoid == b.monoid && one_limit(a.limit, b.limit) && !a.in_rounds() && !b.in_rounds() &&
         std::equal(a.intervals.begin(), a.intervals.end(), b.intervals.begin(), b.intervals.end(), alike) &&
         a.ends == b.ends && a.begins == b.begins;
}

Term Interpreter::each_of(const Choice& c, const Term& yes, const Term& no) {
  const auto apart = [](const Term& t) {
    std::vector<Term> all{t};
    all.front().others.clear();
    all.insert(all.end(), t.others.begin(), t.others.end());
    return all;
  };
  // Whichever belong together, both places hold all of theirs; of one that a path has not begun it has 0.
  std::vector<Term> all = apart(yes), rest = apart(no);
  Term nothing;
  nothing.expr = x_.constant(0);
  for (Term& one : all) {
    const auto same =
        std::find_if(rest.begin(), rest.end(), [&](const Term& t) { return t.summed_by == one.summed_by; });
    Term other = nothing;
    if (same != rest.end()) other = *same, rest.erase(same);
    one = either(c, std::move(one), std::move(other));
  }
  for (Term& one : rest) all.push_back(either(c, nothing, std::move(one)));
  Term out = std::move(all.front());
  out.others.assign(std::make_move_iterator(all.begin() + 1), std::make_move_iterator(all.end()));
  return out;
}

Term Interpreter::either(const Choice& c, Term yes, Term no) {
  if (yes == no) return yes;
  const std::string claim = "a branch by what a trip reads leaves one state, by either path";
  const auto refuse = [&](const std::string& why) { refute(claim, describe(yes), why); };
  if (!yes.others.empty() || !no.others.empty()) return each_of(c, yes, no);
  for (Term* t : {&yes, &no}) {
    close(*t), settle(*t);
    if (t->has_part)
      refuse("each work-item has a part of a sum\n  hint   k.fold(..) along the axis in the branch, before "
             "what it is added to");
  }
  if (yes == no) return yes;
  // What one path leaves with its elements of the trip masked is that, and where the condition is the other one, what the other path
  // leaves.
  for (const bool holds : {true, false}) {
    const Term &longer = holds ? yes : no, &shorter = holds ? no : yes;
    Term out = masked(c, holds, longer);
    if (!one_value(left_out(c, holds, out), shorter)) continue;
    if (shorter.partial) out.limit = shorter.limit; // as it was written before
    return out;
  }
  // Two sums in one accumulator, of which each path goes on with its own.
  const auto sums = [](const Term& t) { return t.partial && t.monoid == Monoid::sum; };
  if (sums(yes) && sums(no) && yes.summed_by != no.summed_by) return each_of(c, yes, no);
  const Monoid monoid = (yes.partial ? yes : no).monoid;
  const Expr empty = x_.constant(empty_element(monoid));
  const std::string other = "the other path leaves " + describe(no);
  const auto goes_on = [&](const Term& t) {
    return t.partial ? t.monoid == monoid : t.facts.empty() && x_.normal(t.expr) == empty;
  };
  if (!goes_on(yes) || !goes_on(no))
    refuse(other +
           ", and not both are one sum, max or min that goes on\n  hint   in the branch, k.update(acc, "
           "[k.fold(\"sum\", x, axis)], "
           "lambda a, b: a + b), or a max or a min, "
           "that goes on; a value of two without a branch, choose(less_signed(c, "
           "entry), a, b) in a k.map that takes "
           "the entry, k.load(k.tile(mask, {1}, {t}), ..), as well");
  refuse(other + "\n  hint   a sum, a max or a min over tiles of " + to_string(c.high - c.low) +
         " that goes on where the condition holds, and its specification choose(" +
         to_string(c.of, name_of_tensor()) + ", .., " + to_string(empty, name_of_tensor()) + ")");
  return yes;
}

} // namespace inlay::codegen::provenance
