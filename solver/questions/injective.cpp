// A(i) = A(j) only for i = j: domination, instances, pieces, a solver.
#include "questions/image.h"

namespace inlay::solver {

Verdict decide_injective(Engine& e) {
  const Parts& a = e.a();
  if (surely_injective(e, a)) return e.proved("domination");
  e.claims.clear();
  auto check = [&](const naive::Environment& env) { return check_injective(e, a, env); };
  if (auto v = e.by_instances(check, "enumeration")) return *v;
  // Boxes cannot say a xor, but an outer swizzle does not join two values; what is left below it often is a
  // sum of digits.
  if (by_pieces(e, pieces_of(e, without_outer_bijections(a)), injective)) return e.proved("pieces");
  if (auto v = ask_injective(e, a)) return *v;
  e.obligation("each stride exceeds what the smaller ones reach together");
  return e.unknown();
}

} // namespace inlay::solver
