// 0 <= A(i) < N: by the range of the digits, whose coefficients have known signs; on numbers the extreme indices decide.
#include "questions/bounds.h"
#include "questions/image.h"
#include "questions/pointwise.h"

namespace inlay::solver {

Verdict decide_within(Engine& e) {
  const Parts& a = e.a();
  auto bound = e.context.poly(e.term());
  auto inside = [&](Lowering& l, const Form& f) {
    auto r = l.range(f);
    return r && bound && e.at_least(r->first, Poly(0), "least value") &&
           e.at_least(*bound - Poly(1), r->second, "greatest value");
  };
  // A swizzle that only permutes [0, N) changes nothing about who is inside, and below it the digits are
  // linear.
  const Parts core = bound ? without_block_swizzles(e, a, *bound) : a;
  if (auto own = e.lower_alone(core)) {
    if (inside(own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("bounds of digits");
    }
    e.claims.clear();
  }
  // After the digits, which know that parts of one coordinate depend on each other where intervals take them apart.
  if (bound && within_by_bounds(e, core, *bound)) return e.proved("bounds of blocks");
  e.claims.clear();
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::outside;
    f.environment = env;
    f.bound = evaluate(e.term(), [&](const std::string& n) { return env.at(n); });
    Evaluator x(a, env);
    auto fails = [&](Wide i) -> std::optional<Finding> {
      // Both ends in one comparison each: a bound of 0 or less has no value inside, and the first index is
      // the counterexample.
      Wide v = x(i);
      if (v >= 0 && v < f.bound) return std::nullopt;
      f.index = i;
      return f;
    };
    // Of a layout the two extremes say it all, at any size.
    if (a.is_plain_layout()) {
      ConcreteFlat modes = concrete_modes(a, env);
      // Two indices instead of up to 2^62: a sum of independent terms is least and greatest where each of
      // them is.
      for (bool greatest : {false, true})
        if (auto bad = fails(extreme_index(modes, greatest))) return Check::fails(*bad);
      return Check::holds();
    }
    return scan(e, x.size(), fails);
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  // Boxes are exact where a digit had to be rounded up, and know the sides of min, max and select.
  auto in_bounds = [&](const PieceCase& c) {
    // The bound in the words of the case: its symbols are others than those of the question (M = 16 M'
    // there).
    auto n = c.context.poly(e.term());
    return n && within(c, *n);
  };
  if (by_pieces(e, pieces_of(e, core), in_bounds)) return e.proved("pieces");
  auto proof = [&](Lowering& l, const std::vector<Form>& f) { return inside(l, f[0]); };
  auto negated = [&](smt::Query& q, const std::vector<std::string>& t) -> std::optional<std::string> {
    auto n = q.term(e.term(), {});
    if (!n) return std::nullopt;
    return "(or (< " + t[0] + " 0) (>= " + t[0] + " " + *n + "))";
  };
  if (auto v = prove_pointwise(e, {&core}, proof, negated, Finding::Kind::outside, e.term())) return *v;
  return e.unknown();
}

} // namespace inlay::solver
