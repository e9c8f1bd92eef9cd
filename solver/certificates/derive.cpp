#include "certificates/derive.h"

#include "certificates/definition.h"
#include "certificates/derivation.h"
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
  auto all = assignments(s);
  auto by_looking = [&] {
    if (evaluate) out.evaluated = by_definition(s, *all);
    return out;
  };
  // Nobody's arithmetic is better than looking, where it takes no time.
  constexpr Number at_a_glance = Number{1} << 16;
  if (all && affordable(s, *all, at_a_glance)) return by_looking();
  if (digits && !waves) try {
      Derivation d(s);
      d.by_digits();
      out.queries = std::move(d.queries);
      out.stronger = std::move(d.stronger);
      return out;
    } catch (const Stuck&) { // the prover's way is not followed; the definition may be short enough
      if (!all || !affordable(s, *all)) throw;
    }
  if (all && affordable(s, *all)) return by_looking();
  bool pieces = std::any_of(s.hints.begin(), s.hints.end(), [](const auto& h) { return h.first == "case"; });
  if (pieces) try {
      return by_pieces(s);
    } catch (const Stuck&) { // a solver may do without
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
  std::vector<std::string> any_divisor = raw(s, true);
  for (std::size_t k = 0; k < out.queries.size(); ++k) {
    out.stronger.emplace_back();
    if (std::string q = with_quotients(out.queries[k]); !q.empty()) out.stronger.back().push_back(q);
    if (any_divisor[k] != out.queries[k]) out.stronger.back().push_back(any_divisor[k]);
  }
  return out;
}

} // namespace inlay::solver::independent
