#include "certificates/derive.h"

#include "certificates/definition.h"
#include "certificates/derive_raw.h"
#include "certificates/derive_waves.h"
#include "certificates/queries.h"

#include <algorithm>

namespace inlay::solver::independent {

Derived derive(const Statement& s, bool evaluate) {
  Derived out;
  require_example(s);
  bool waves = s.property == "conflict-free" || s.property == "coalesced";
  bool digits =
      std::any_of(s.hints.begin(), s.hints.end(), [](const auto& h) { return h.first == "digits"; });
  if (digits && !waves) try {
      Derivation d(s);
      d.by_digits();
      out.queries = std::move(d.queries);
      out.stronger = std::move(d.stronger);
      return out;
    } catch (const Stuck&) { // the prover's way is not followed; the definition may be short enough
      auto all = assignments(s);
      if (!all || !affordable(s, *all)) throw;
      if (evaluate) out.evaluated = by_definition(s, *all);
      return out;
    }
  if (auto all = assignments(s); all && affordable(s, *all)) {
    if (evaluate) out.evaluated = by_definition(s, *all);
    return out;
  }
  if (waves) {
    Derivation d(s);
    if (!evaluate) {
      d.symbols();
    } else {
      out.evaluated = s.property == "coalesced" ? lines_by_forms(d) : banks_by_residues(d);
    }
    out.queries = std::move(d.queries);
    return out;
  }
  out.queries = raw(s);
  for (const std::string& q : out.queries) out.stronger.push_back(with_quotients(q));
  return out;
}

} // namespace inlay::solver::independent
