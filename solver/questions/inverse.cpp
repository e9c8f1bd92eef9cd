// A(B(i)) = i and B(i) in the domain of A: A lowered on top of B, over B's digits, is the index again.
#include "questions/image.h"
#include "questions/pointwise.h"

namespace inlay::solver {

Verdict decide_inverse(Engine& e) {
  const Parts &a = e.a(), &b = e.b();
  auto sa = e.size(a);
  if (auto own = e.lower_alone(b); own && sa) {
    // B stays inside where what its outer swizzles are applied to does, which may need fewer digits than B and no rounded ones.
    auto core = e.lower_alone(without_block_swizzles(e, b, *sa));
    auto r = core ? core->lowering.range(core->form) : std::nullopt;
    if (r && e.at_least(r->first, Poly(0), "least value of the second") &&
        e.at_least(*sa - Poly(1), r->second, "greatest value of the second")) {
      // A on top of B, over B's digits; the index over the same digits.
      auto image = own->lowering.lower_index(a, own->form);
      if (image) {
        // At every point of the box, and so of the domain where a digit had to be rounded up.
        Form left = own->lowering.normal(*image), right = own->lowering.normal(own->lowering.index());
        if (left == right) {
          e.claims.equal(left.constant, right.constant, "constant of A(B(i)) - i");
          for (const auto& [d, c] : left.linear) e.claims.equal(c, right.linear.at(d), "coefficient");
          for (const auto& [m, c] : left.parity) e.claims.equal(c, right.parity.at(m), "weight");
          e.digits("second", own->lowering);
          return e.proved("digits");
        }
      } else {
        e.obligation(own->lowering.reason());
      }
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::inverse;
    f.environment = env;
    Evaluator x(a, env), y(b, env);
    // Inside first: beyond its size x has values, too, and one of them may be i.
    return scan(e, y.size(), [&](Wide i) -> std::optional<Finding> {
      Wide v = y(i);
      if (v >= 0 && v < x.size() && x(v) == i) return std::nullopt;
      f.index = i;
      return f;
    });
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  // A solver on A(B(i)) = i and 0 <= B(i) < size A.
  for (bool variables : {true, false}) {
    smt::Query q(e.context);
    q.quotient_variables = variables;
    auto extent = q.term(size_formula(b), {});
    if (!extent) break;
    q.coordinate("i", *extent);
    std::map<std::string, std::string> names{{"\x02i", "i"}};
    auto y = q.term(expand_index(b, variable("\x02i")), names);
    if (!y) break;
    // A name for B(i), as it stands three times in the goal and a solver should see that it is one number.
    q.define("y", *y);
    names["\x02y"] = "y";
    auto x = q.term(expand_index(a, variable("\x02y")), names);
    auto n = q.term(size_formula(a), {});
    if (!x || !n) break;
    q.goal("(or (< y 0) (>= y " + *n + ") (not (= " + *x + " i)))");
    auto found = [&](const std::map<std::string, Wide>& model) -> std::optional<Finding> {
      Finding f;
      f.kind = Finding::Kind::inverse;
      f.environment = e.environment(model);
      f.index = model.at("i");
      return f;
    };
    if (auto v = e.ask(q, found)) return *v;
  }
  return e.unknown();
}

} // namespace inlay::solver
