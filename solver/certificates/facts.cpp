#include "certificates/facts.h"

#include <algorithm>

namespace inlay::solver::independent {

// Facts are looked at one by one, for bounds and for the queries; of a || b nothing can be taken apart.
void conjuncts(const Expr& e, std::vector<Expr>& out) {
  if (e->op == "&&") {
    conjuncts(e->args[0], out);
    conjuncts(e->args[1], out);
  } else {
    out.push_back(e);
  }
}

std::optional<Number> number_of(const Expr& e) {
  std::vector<std::string> names;
  collect_names(e, names);
  if (!names.empty()) return std::nullopt;
  Plain plain;
  return Evaluation<Plain>(plain).expression(e, {});
}

// The same reading as the prover's (Context::learn_atomic), in its own words: a symbol that is 1 or more there and anything here, or the
// other way round, would be two different claims.
bool has_lower_bound(const std::string& name, const std::vector<Expr>& facts) {
  for (const Expr& f : facts) {
    if (f->args.size() != 2) continue;
    for (bool swapped : {false, true}) {
      const Expr &x = f->args[swapped ? 1 : 0], &y = f->args[swapped ? 0 : 1];
      if (x->op != "name" || x->name != name || !number_of(y)) continue;
      // An upper bound says nothing of the lower end: `n <= 5` alone leaves n at least 1.
      if (f->op == "==" || f->op == (swapped ? "<=" : ">=") || f->op == (swapped ? "<" : ">")) return true;
    }
  }
  return false;
}

void require_example(const Statement& s) {
  if (s.facts.empty()) return;
  if (s.example.empty()) throw Stuck("nothing shows that the facts hold for any value");
  std::vector<Expr> facts;
  for (const Expr& f : s.facts) conjuncts(f, facts);
  Plain plain;
  Evaluation<Plain> e(plain);
  for (const std::string& n : symbols_of(s)) {
    auto it = s.example.find(n);
    if (it == s.example.end()) throw Stuck("the example has no value for " + n);
    // The default is a condition like the written ones: an example with n = 0 would show that other facts
    // hold somewhere than are meant.
    if (it->second < 1 && !has_lower_bound(n, facts)) throw Stuck("the example is below 1 for " + n);
  }
  // By evaluation, of the facts as they are written: no solver could be wrong about it, and no derivation either.
  for (const Expr& f : facts)
    if (e.expression(f, s.example) == 0) throw Stuck("the example does not satisfy the facts");
}

bool mentions(const Expr& e, std::initializer_list<const char*> ops) {
  for (const char* o : ops)
    if (e->op == o) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return mentions(a, ops); });
}

} // namespace inlay::solver::independent
