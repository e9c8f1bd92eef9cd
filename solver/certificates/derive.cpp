#include "certificates/derive.h"

#include "certificates/definition.h"
#include "certificates/derivation.h"
#include "certificates/derive_raw.h"
#include "certificates/derive_waves.h"
#include "certificates/queries.h"

#include <algorithm>
#include <optional>

namespace inlay::solver::independent {

namespace {

// The claim as it stands, in up to three spellings; each is the whole claim, so that one answer is enough.
void add_raw(const Statement& s, Derived& out) {
  Way way;
  std::vector<std::string> any_divisor;
  try {
    way.queries = raw(s);
    any_divisor = raw(s, true);
  } catch (const Stuck& stuck) {
    // The first reason is the one of the way that was hinted at: that is what has to be fixed.
    if (out.ways.empty()) throw out.stuck.empty() ? stuck : Stuck(out.stuck);
    return;
  }
  way.is_aside = !out.ways.empty() || !out.stuck.empty();
  for (std::size_t k = 0; k < way.queries.size(); ++k) {
    way.stronger.emplace_back();
    if (std::string q = with_quotients(way.queries[k]); !q.empty()) way.stronger.back().push_back(q);
    if (any_divisor[k] != way.queries[k]) way.stronger.back().push_back(any_divisor[k]);
  }
  out.ways.push_back(std::move(way));
}

} // namespace

// By looking, where that is short; then along the prover's digits, cuts or residues, each of them derived again; at last the claim itself,
// for solvers. A way that is stuck is left for the next one: none of them believes what another one found.
Derived derive(const Statement& s, bool evaluate) {
  Derived out;
  // Before everything else: under conditions that nothing satisfies every way below would succeed.
  require_example(s);
  bool waves = s.property == "conflict-free" || s.property == "coalesced";
  auto hinted = [&](const char* key) {
    return std::any_of(s.hints.begin(), s.hints.end(), [&](const auto& h) { return h.first == key; });
  };
  // The hints say how the prover went. What is not hinted is not searched for: the checker is to be simpler
  // than the prover.
  bool digits = hinted("digits"), residues = hinted("residues"), bounds = hinted("bounds");
  auto all = assignments(s);
  if (all && all->empty()) throw Stuck("no value satisfies the facts");
  auto by_looking = [&] {
    if (evaluate) out.evaluated = by_definition(s, *all);
    return out;
  };
  // Nobody's arithmetic is better than looking, where it takes no time.
  constexpr Number at_a_glance = Number{1} << 16;
  if (all && affordable(s, *all, at_a_glance)) return by_looking();
  if ((digits || residues || bounds) && !waves) try {
      Derivation d(s);
      digits ? d.by_digits() : residues ? d.by_residues() : d.by_bounds();
      out.ways.push_back({std::move(d.queries), std::move(d.stronger)});
      // A guess on the way (which stride is the next one) may be wrong where the claim is right.
      if (evaluate) add_raw(s, out);
      return out;
    } catch (const Stuck& stuck) { // the prover's way is not followed; the definition may be short enough
      out.stuck = stuck.what();
    }
  if (all && affordable(s, *all)) return by_looking();
  const auto cases =
      std::count_if(s.hints.begin(), s.hints.end(), [](const auto& h) { return h.first == "case"; });
  std::optional<Way> by_cases;
  if (cases > 0) try {
      by_cases = by_pieces(s);
    } catch (const Stuck& stuck) { // a solver may do without
      out.stuck = stuck.what();
    }
  if (waves) {
    Derivation d(s);
    // While a certificate is written its queries are wanted, and not the enumeration that the prover has just
    // made itself.
    if (!evaluate) {
      d.symbols();
    } else {
      out.evaluated = s.property == "coalesced" ? lines_by_forms(d) : banks_by_residues(d);
    }
    out.ways.push_back({std::move(d.queries), {}});
    return out;
  }
  add_raw(s, out);
  // Many cases are many queries, and the whole claim is mostly one that a solver answers: a minute of a kernel's claims.
  constexpr auto most_at_first = 8;
  if (by_cases && cases <= most_at_first) {
    out.ways.back().is_aside = true;
    out.ways.insert(out.ways.begin(), *std::move(by_cases));
  } else if (by_cases) {
    out.ways.push_back(*std::move(by_cases));
  }
  return out;
}

} // namespace inlay::solver::independent
