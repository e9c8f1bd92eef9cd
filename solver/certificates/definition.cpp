#include "certificates/definition.h"

#include <algorithm>

namespace inlay::solver::independent {

// Bounds only from comparisons of a symbol with a number; every other fact is a filter. A symbol without a bound from above has
// endlessly many values, and the definition says nothing.
std::optional<std::vector<Environment>> assignments(const Statement& s) {
  std::vector<Expr> facts;
  for (const Expr& f : s.facts) conjuncts(f, facts);
  std::vector<Environment> out{{}};
  for (const std::string& n : symbols_of(s)) {
    std::optional<Number> low, high;
    for (const Expr& f : facts) {
      if (f->args.size() != 2) continue;
      Expr x = f->args[0], y = f->args[1];
      std::string op = f->op;
      if (number_of(x)) {
        std::swap(x, y);
        op = op == "<" ? ">" : op == "<=" ? ">=" : op == ">" ? "<" : op == ">=" ? "<=" : op;
      }
      auto value = number_of(y);
      if (x->op != "name" || x->name != n || !value) continue;
      Number v = *value;
      // `>` as `>=`: a value too many is taken out below, where all facts are evaluated.
      if (op == "==" || op == ">=" || op == ">") low = low ? std::max(*low, v) : v;
      if (op == "==" || op == "<=" || op == "<") high = high ? std::min(*high, v) : v;
    }
    if (!high) return std::nullopt;
    std::vector<Environment> more;
    for (const Environment& e : out)
      for (Number v = low ? *low : 1; v <= *high; ++v) { // a loop of at most 65536 steps
        more.push_back(e);
        more.back()[n] = v;
        // Before the facts have thinned them out; what is left has to be 4096 or less, as each is evaluated
        // over whole domains.
        if (more.size() > 65536) return std::nullopt;
      }
    out = std::move(more);
  }
  Plain plain;
  Evaluation<Plain> e(plain);
  // All facts once more, also those that gave the bounds: which of them were used does not matter then.
  std::erase_if(out, [&](const Environment& env) {
    return std::any_of(facts.begin(), facts.end(), [&](const Expr& f) { return e.expression(f, env) == 0; });
  });
  if (out.empty()) throw Stuck("no value satisfies the facts");
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
