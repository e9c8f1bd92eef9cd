// The image contains [0, N): strides that leave no gap, or injective and inside, by counting.
#include "questions/image.h"

#include <algorithm>

namespace inlay::solver {

Verdict decide_covers(Engine& e) {
  const Parts& a = e.a();
  auto n = e.context.poly(e.term());
  auto size = e.size(a);
  if (auto own = e.lower_image(a); own && n && !own->lowering.enlarged()) {
    // From [0, reach) with a stride d <= reach and s steps: [0, reach + d (s - 1)).
    auto flat = own->lowering.flat(own->form);
    if (flat && own->form.constant.is_zero()) {
      SymbolicFlat left;
      for (const FlatDigit& m : *flat)
        if (!m.extent.is_one() && !m.stride.is_zero()) left.push_back(m);
      Poly reach(1);
      bool progress = true;
      while (progress && !e.context.nonnegative(reach - *n)) {
        progress = false;
        for (auto it = left.begin(); it != left.end(); ++it) {
          if (!e.context.nonnegative(it->stride) || !e.context.nonnegative(reach - it->stride)) continue;
          e.claims.at_least(reach, it->stride, "no gap before this stride");
          reach = reach + it->stride * (it->extent - Poly(1));
          left.erase(it);
          progress = true;
          break;
        }
      }
      if (e.at_least(reach, *n, "everything is reached")) {
        e.digits("first", own->lowering);
        return e.proved("stride chain");
      }
    }
    // Injective and inside [0, size): all of it.
    auto r = own->lowering.range(own->form);
    if (r && size && e.at_least(*size, *n, "enough elements") &&
        e.at_least(r->first, Poly(0), "least value") &&
        e.at_least(*size - Poly(1), r->second, "greatest value") && dominated(e, own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("domination and count");
    }
    e.claims.clear();
  }
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::missing;
    f.environment = env;
    Wide bound = evaluate(e.term(), [&](const std::string& s) { return env.at(s); });
    Evaluator x(a, env);
    if (x.size() > e.evaluations()) return Check::undecided();
    if (bound <= 0) return Check::holds();
    bound = std::min(bound, x.size() + 1); // size + 1 values cannot all be there
    std::vector<bool> seen(static_cast<std::size_t>(bound));
    for (Wide i = 0; i < x.size(); ++i) {
      Wide v = x(i);
      if (v >= 0 && v < bound) seen[static_cast<std::size_t>(v)] = true;
    }
    auto hole = std::find(seen.begin(), seen.end(), false);
    if (hole == seen.end()) return Check::holds();
    f.bound = hole - seen.begin();
    return Check::fails(f);
  };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  auto all = [&](const PieceCase& c) { // a bijection onto [0, size), and that is enough
    auto here = c.context.poly(size_formula(a)), bound = c.context.poly(e.term());
    return here && bound && c.context.nonnegative(*here - *bound) && injective(c) && within(c, *here);
  };
  if (by_pieces(e, pieces_of(e, a), all)) return e.proved("pieces");
  e.obligation("strides that leave no gap before " + to_string(e.term()));
  return e.unknown();
}

} // namespace inlay::solver
