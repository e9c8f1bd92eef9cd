#include "certificates/definition.h"

#include <algorithm>

namespace inlay::solver::independent {

// Bounds only from comparisons of a symbol with a number, or with what is one where others have their values; every other fact is a
// filter. A symbol without a bound from above has endlessly many values, and the definition says nothing.
std::optional<std::pair<Number, Number>> bounds_of(const std::string& name, const std::vector<Expr>& facts,
                                                   const Environment& others) {
  Plain plain;
  Evaluation<Plain> evaluation(plain);
  auto number = [&](const Expr& e) -> std::optional<Number> {
    std::vector<std::string> names;
    collect_names(e, names);
    for (const std::string& n : names)
      if (others.count(n) == 0) return std::nullopt;
    try {
      return evaluation.expression(e, others);
    } catch (const Stuck&) { // a fact without a value is a filter too, and is met below
      return std::nullopt;
    }
  };
  std::optional<Number> low, high;
  for (const Expr& f : facts) {
    if (f->args.size() != 2) continue;
    Expr x = f->args[0], y = f->args[1];
    std::string op = f->op;
    if (y->op == "name" && y->name == name) {
      std::swap(x, y);
      op = op == "<" ? ">" : op == "<=" ? ">=" : op == ">" ? "<" : op == ">=" ? "<=" : op;
    }
    if (x->op != "name" || x->name != name) continue;
    auto value = number(y);
    if (!value) continue;
    Number v = *value;
    // `>` as `>=`: a value too many is taken out where all facts are evaluated. Of what is no number the default
    // stays: it is no bound from below (has_lower_bound).
    if ((op == "==" || op == ">=" || op == ">") && (number_of(y) || op == "=="))
      low = low ? std::max(*low, v) : v;
    if (op == "==" || op == "<=" || op == "<") high = high ? std::min(*high, v) : v;
  }
  if (!high) return std::nullopt;
  Number least = has_lower_bound(name, facts) ? low.value_or(1) : std::max<Number>(low.value_or(1), 1);
  return std::pair(least, *high);
}

std::optional<std::vector<Environment>> assignments(const Statement& s) {
  std::vector<Expr> facts;
  for (const Expr& f : s.facts) conjuncts(f, facts);
  std::vector<Environment> out{{}};
  std::vector<std::string> left = symbols_of(s);
  // One symbol after the other, each time one that the others' values bound.
  while (!left.empty()) {
    std::vector<Environment> more;
    auto next = std::find_if(left.begin(), left.end(), [&](const std::string& n) {
      more.clear();
      for (const Environment& e : out) {
        auto bounds = bounds_of(n, facts, e);
        if (!bounds) return false;
        for (Number v = bounds->first; v <= bounds->second; ++v) { // a loop of at most 65536 steps
          more.push_back(e);
          more.back()[n] = v;
          // Before the facts have thinned them out; what is left has to be 4096 or less, as each is evaluated
          // over whole domains.
          if (more.size() > 65536) return false;
        }
      }
      return true;
    });
    if (next == left.end()) return std::nullopt;
    left.erase(next);
    out = std::move(more);
  }
  Plain plain;
  Evaluation<Plain> e(plain);
  // All facts once more, also those that gave the bounds: which of them were used does not matter then.
  std::erase_if(out, [&](const Environment& env) {
    return std::any_of(facts.begin(), facts.end(), [&](const Expr& f) { return e.expression(f, env) == 0; });
  });
  if (out.size() > 4096) return std::nullopt;
  return out;
}

// In evaluations, of all functions at all assignments, before the first one is made.
bool affordable(const Statement& s, const std::vector<Environment>& all, Number most) {
  Plain plain;
  Evaluation<Plain> e(plain);
  Number count = 0;
  for (const Environment& env : all)
    for (const Function& f : s.functions) {
      Number n = 1;
      for (const Expr& x : f.extents) n = times(n, e.expression(x, env));
      if ((count = plus(count, n)) > most) return false;
    }
  return true;
}

std::string by_definition(const Statement& s, const std::vector<Environment>& all) {
  Definition d(s);
  for (const Environment& env : all)
    // A claim that is false here is no misunderstanding: the prover is wrong, and says so (rechecked()).
    if (!d.holds(env)) throw False("the claim is false where it was evaluated");
  return text(d.evaluations) + " evaluations" +
         (all.size() > 1 ? " at " + std::to_string(all.size()) + " assignments" : "");
}

} // namespace inlay::solver::independent
