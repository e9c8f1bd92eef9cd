#include "inlay/solver/prover.h"

#include "arithmetic/formula.h"
#include "questions/ranges.h"

#include <inlay/algebra/layout.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <set>

namespace inlay::solver {

std::vector<Sym> symbols_in(const SymLayout& layout) {
  std::vector<Sym> out;
  for (const auto& m : layout.modes()) {
    out.push_back(m.extent);
    out.push_back(m.stride.scale);
  }
  return out;
}

// What the context knows of the symbols, as conditions.
Facts ranges_of(const std::vector<Sym>& values) {
  Facts facts;
  std::set<std::string> seen;
  for (const Sym& s : values) {
    if (!s.context()) continue;
    for (AtomId id : symbols(s)) {
      const SymAtom& atom = s.context()->atom(id);
      // Once a symbol: the same fact twice does no harm to a proof, but every certificate would carry it.
      if (!seen.insert(atom.name).second) continue;
      if (atom.interval.lower)
        facts.push_back(atom.name + " >= " + std::to_string(atom.interval.lower->value()));
      if (atom.interval.upper)
        facts.push_back(atom.name + " <= " + std::to_string(atom.interval.upper->value()));
      if (atom.residue.modulus > 1)
        facts.push_back(atom.name + " % " + std::to_string(atom.residue.modulus.value()) +
                        " == " + std::to_string(atom.residue.residue.value()));
    }
  }
  return facts;
}

namespace {
// Conditions that share a symbol with the claim, directly or through another condition: others would be refused as being about
// nothing in the question.
Facts relevant(const Facts& facts, const std::vector<Sym>& values) {
  std::set<std::string> names;
  for (const Sym& s : values)
    if (s.context())
      for (AtomId id : symbols(s)) names.insert(s.context()->atom(id).name);
  std::vector<bool> taken(facts.size());
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t k = 0; k < facts.size(); ++k) {
      std::set<std::string> in = names_of(parse_formula(facts[k]));
      // By closure: K matters to a claim about M when M == 2*K is known, though the claim never names K. Text
      // is parsed anew in each round, which for a handful of conditions is nothing beside a proof.
      bool shares =
          std::any_of(in.begin(), in.end(), [&](const std::string& n) { return names.count(n) != 0; });
      if (taken[k] || !shares) continue;
      taken[k] = grew = true;
      names.insert(in.begin(), in.end());
    }
  }
  Facts out;
  for (std::size_t k = 0; k < facts.size(); ++k)
    if (taken[k]) out.push_back(facts[k]);
  return out;
}
} // namespace

Truth SolverProver::decide(const Claim& claim) {
  std::vector<Sym> values = claim.operands;
  for (const SymLayout& l : claim.layouts)
    for (const Sym& s : symbols_in(l)) values.push_back(s);
  Facts facts = ranges_of(values);
  Facts given = relevant(facts_, values);
  facts.insert(facts.end(), given.begin(), given.end());
  auto text = [&](std::size_t k) { return to_string(claim.operands.at(k)); };
  // A number is a function on one index.
  auto number = [](const std::string& formula) { return Subject("0*i + (" + formula + ")", "1"); };
  Verdict v;
  switch (claim.kind) {
  case ClaimKind::equal: v = prove_equal(number(text(0)), number(text(1)), facts, options_); break;
  // a <= b as 0 <= b - a < b - a + 1: `within` has both its bounds as formulas, so that no statement of its own is needed.
  case ClaimKind::less_equal: {
    std::string difference = "(" + text(1) + ") - (" + text(0) + ")";
    v = prove_within(number(difference), difference + " + 1", facts, options_);
    break;
  }
  case ClaimKind::divides: v = prove_aligned(number(text(1)), text(0), facts, options_); break;
  // Claims about layouts get the given facts alone: what the context knows of their symbols travels with the
  // layout (Subject). Claims about operands have no subject that it could travel with; for them it was joined
  // above.
  case ClaimKind::injective: v = prove_injective(claim.layouts.at(0), given, options_); break;
  case ClaimKind::bijective: v = prove_bijective(claim.layouts.at(0), given, options_); break;
  case ClaimKind::disjoint:
    v = prove_disjoint(claim.layouts.at(0), claim.layouts.at(1), given, options_);
    break;
  case ClaimKind::same: v = prove_equal(claim.layouts.at(0), claim.layouts.at(1), given, options_); break;
  }
  // Kept with their certificates: whoever uses the operation may want to show why it was allowed.
  verdicts_.push_back(v);
  // A refutation is a `no` for some values of the symbols and not for all. The algebra asks `is it so for all
  // of them`, which is no then.
  return v.outcome == Outcome::proved    ? Truth::yes
         : v.outcome == Outcome::refuted ? Truth::no
                                         : Truth::unknown;
}

} // namespace inlay::solver
