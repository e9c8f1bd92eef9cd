// No common value: ranges that do not meet, residues that differ, instances, a solver.
#include "questions/image.h"

#include <algorithm>

namespace inlay::solver {

Verdict decide_disjoint(Engine& e) {
  const Parts &a = e.a(), &b = e.b();
  auto own_a = e.lower_alone(a), own_b = e.lower_alone(b);
  if (own_a && own_b) {
    // Digits of their own for both: nothing relates an index of the one to an index of the other, and each
    // range is over its own box. A box that was rounded up has more values than the domain; apart on more is
    // apart.
    auto ra = own_a->lowering.range(own_a->form), rb = own_b->lowering.range(own_b->form);
    if (ra && rb) {
      if (e.at_least(rb->first, ra->second + Poly(1), "the first ends before the second begins") ||
          e.at_least(ra->first, rb->second + Poly(1), "the second ends before the first begins")) {
        e.digits("first", own_a->lowering);
        e.digits("second", own_b->lowering);
        return e.proved("bounds of digits");
      }
    }
    // All values of A are constant_a modulo g, all of B constant_b modulo g, for every value of the symbols: g divides the contents of all
    // coefficients, and of what is symbolic in the difference of the constants. Larger boxes than the domains do no harm.
    Wide g = 0;
    for (const Form* f : {&own_a->form, &own_b->form}) {
      for (const auto& [d, c] : f->linear) g = gcd(g, c.content());
      // A parity is 0 or 1, so that its weight moves the value by a multiple of g as a digit's coefficient
      // does.
      for (const auto& [m, c] : f->parity) g = gcd(g, c.content());
    }
    Poly apart = own_a->form.constant - own_b->form.constant;
    for (const auto& [m, c] : apart.terms())
      if (!m.empty()) g = gcd(g, c);
    auto constant = apart.terms().find(Monomial{});
    // g = 0 says that nothing varies at all, where the ranges have already decided; g = 1 tells nothing
    // apart.
    if (g > 1 && constant != apart.terms().end() && constant->second % g != 0) {
      e.claims.note("modulo " + to_string(g) + " the values differ by " +
                    to_string(floor_mod(constant->second, g)));
      e.digits("first", own_a->lowering);
      e.digits("second", own_b->lowering);
      return e.proved("residues");
    }
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::shared;
    f.environment = env;
    Evaluator x(a, env), y(b, env);
    // Nothing is said of domains that were not looked at in full but that they share a value.
    if (exceeds(e.evaluations(), {x.size(), y.size()})) {
      // Overlapping tiles mostly share their first element, and one look costs nothing.
      if (x(0) == y(0)) return Check::fails(f);
      return Check::undecided();
    }
    // Sorted, and looked up by the other's values: n log n in place of n m.
    std::vector<std::pair<Wide, Wide>> values;
    for (Wide i = 0; i < x.size(); ++i) values.emplace_back(x(i), i);
    std::sort(values.begin(), values.end());
    for (Wide j = 0; j < y.size(); ++j) {
      Wide v = y(j);
      auto it = std::lower_bound(values.begin(), values.end(), std::pair<Wide, Wide>{v, 0});
      if (it == values.end() || it->first != v) continue;
      f.index = it->second, f.second = j;
      return Check::fails(f);
    }
    return Check::holds();
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  for (bool variables : {true, false}) {
    smt::Query q(e.context);
    q.quotient_variables = variables;
    auto n = q.term(size_formula(a), {}), m = q.term(size_formula(b), {});
    if (!n || !m) break;
    // Two indices with nothing in common. Quotients as variables first, as everywhere: what is linear in them
    // is found at once.
    q.coordinate("i", *n);
    q.coordinate("j", *m);
    auto x = q.term(expand_index(a, variable("\x02i")), {{"\x02i", "i"}});
    auto y = q.term(expand_index(b, variable("\x02j")), {{"\x02j", "j"}});
    if (!x || !y) break;
    q.goal("(= " + *x + " " + *y + ")");
    auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
      Finding f;
      f.kind = Finding::Kind::shared;
      f.environment = e.environment(model);
      f.index = model.at("i"), f.second = model.at("j");
      return f;
    };
    if (auto v = e.ask(q, found)) return *v;
  }
  e.obligation("bounds or residues that keep the two images apart");
  return e.unknown();
}

} // namespace inlay::solver
