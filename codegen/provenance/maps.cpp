// Rule of maps: pointwise, joining, and linear in a sum under way.
#include "interpreter.h"

namespace inlay::codegen::provenance {

double Interpreter::outside(Expr e, std::span<const double> operand, const Fact& fact) const {
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

Expr Interpreter::strip_inside(Expr e, const std::vector<Fact>& facts) {
  const ExprNode n = e.node();
  const auto known = [&](const Fact& f) { return !f.condition && same_bound(n.index[0], n.index[1], f); };
  if (n.fn == Fn::inside && std::any_of(facts.begin(), facts.end(), known))
    return strip_inside({&x_, n.args[0]}, facts);
  ExprNode out = n;
  for (int& a : out.args) a = strip_inside({&x_, a}, facts).id;
  return x_.make(std::move(out));
}

void Interpreter::apply_map(State& s, const Inst& i) {
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
  Expr map = replaced_(replaced_(world(i.map), positions), trips());
  if (exiting_) map = relate(map); // holds for all that follows

  Term out;
  const auto open = [](const Term& t) { return t.partial; };
  const ExprNode what = x_.normal(map).node();
  if (what.fn == Fn::parameter && terms[static_cast<std::size_t>(what.tensor)].partial) {
    (void)normal_of(map);
    out = terms[static_cast<std::size_t>(what.tensor)]; // a copy
  } else if (std::any_of(terms.begin(), terms.end(), open) && joins(map, terms)) {
    (void)normal_of(map);
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

Term Interpreter::pointwise(Expr map, const std::vector<Term>& terms) {
  Term out;
  std::vector<Fact> facts;
  for (const Term& t : terms)
    for (const Fact& f : t.facts) want(facts, f);
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
  }
  std::vector<Expr> values;
  for (const Term& t : terms) {
    values.push_back(t.expr);
    for (const Asked& a : t.asked) ask(out.asked, a);
  }
  out.expr = normal_of(x_.apply(strip_inside(map, facts), values), out.asked);
  std::erase_if(facts, [](const Fact& f) { return f.condition && std::isnan(f.fill); });
  out.facts = std::move(facts);
  return out;
}

void Interpreter::ask(std::vector<Asked>& all, const Asked& more) {
  const auto have = std::find_if(all.begin(), all.end(), [&](const Asked& a) { return a.base == more.base; });
  if (have == all.end()) {
    all.push_back(more);
  } else {
    have->need |= more.need;
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
  for (const auto& [base, need] : domains_.lost(e, out)) ask(asked, {{&x_, base}, need, at_});
  return out;
}

void Interpreter::asks_nothing(const Term& t) {
  if (!t.asked.empty()) lost(t.expr, t.asked.front());
}

void Interpreter::asked_of(Expr wanted, Expr expected, const std::vector<Asked>& asked,
                           const std::function<Expr(Expr)>& settled) {
  if (asked.empty()) return;
  std::vector<Asked> allowed;
  for (const Expr e : {wanted, expected})
    for (const auto& [base, need] : Domains::Needs(domains_.needs(e)))
      ask(allowed, {settled({&x_, base}), need, nullptr});
  for (const Asked& a : asked) {
    const Expr base = settled(a.base);
    unsigned missing = domains_.open(base.id, a.need);
    for (const Asked& b : allowed)
      if (b.base == base) missing &= ~b.need;
    if (missing != 0) lost(expected, {base, missing, a.by});
  }
}

bool Interpreter::joins(Expr map, const std::vector<Term>& terms) {
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

Term Interpreter::join_all(const std::vector<Term>& terms) {
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

Term Interpreter::number_of(const Term& t, const std::vector<int>& columns) {
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
  if (domains_.infinite(t.expr))
    refute("a " + std::string(to_string(t.monoid)) + " that scales is of at least one element", describe(t),
           "its elements so far may all be infinite; `inside` says which are left out");
  prove(
      "a " + std::string(to_string(t.monoid)) + " that scales is of at least one element",
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
    for (const int f : factors)
      t.expr = t.expr * (t.intervals.size() != 1
                             ? Expr{&x_, f}
                             : within_block(t.intervals[0].first, t.intervals[0].second, {&x_, f}, columns));
    t.expr = normal_of(t.expr);
    parts.push_back(std::move(t));
  }
  if (parts.empty()) {
    Term zero;
    zero.expr = x_.constant(0);
    return zero;
  }
  Term out = parts[0];
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const bool one =
        one_body(out, parts[k], columns) && out.limit == parts[k].limit && out.monoid == parts[k].monoid;
    // Sums that are over are numbers, and what is made of them need be no sum.
    if (!one &&
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
    const auto moves = [&](Sym s) { // with k already
      const auto all = symbols(s);
      return std::find(all.begin(), all.end(), *bound_.as_atom()) != all.end();
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
          if (const auto atom = n.index[axis].as_atom(); atom && inner.size() == 1 && inner[0] == *atom &&
                                                         context_.atom(*atom).name.rfind("_i", 0) == 0 &&
                                                         (n.through.empty() || n.through[axis] < 0))
            summed_axes_.emplace(n.tensor, axis);
          if (inner.size() != 1 || context_.atom(inner[0]).name.rfind("_i", 0) != 0) continue;
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
