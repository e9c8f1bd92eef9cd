// Covers: strides that leave no gap up to N, or inside [0, size) and dominated, by counting.
#include "certificates/derivation.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

namespace inlay::solver::independent {

namespace {

// The values of base and of the digits (stride, steps) are every one of [0, n): noted as inequalities, if it can be so. A negative stride
// counts from its other end if `turn`, else its digit stands still.
bool run_of(Digits& d, Sum base, std::vector<std::pair<Sum, Sum>> all, const Sum& n, bool turn) {
  for (auto& [c, steps] : all)
    // Which sign is a guess, made at a point where the facts hold; that the stride turned around is not
    // negative is to be shown.
    if (turn && d.sample(c) < 0) {
      base = base + c * steps;
      c = constant(-1) * c;
      d.nonnegative(c);
    }
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& x, const auto& y) { return d.smaller(x.first, y.first); });
  Sum reach = constant(1);
  // Each step is shown for all values; only which stride is next is guessed, from what it is at some.
  while (!d.surely(base + reach - n)) {
    // Where the order is certain it is not guessed: a guess that is right at one point may be wrong at
    // another.
    auto fits = [&](const auto& x) { return d.surely(x.first) && d.surely(reach - x.first); };
    auto next = std::find_if(all.begin(), all.end(), fits);
    if (Sum over = base + reach - n; next == all.end() && d.sample(base) <= 0 && d.sample(over) >= 0 &&
                                     (!d.far_is_one || d.sample(over, Digits::Point::far) >= 0))
      break; // far enough, by the look of it; strides that may not fit are no help
    if (next == all.end())
      next = std::find_if(all.begin(), all.end(), [&](const auto& x) {
        return d.sample(x.first) > 0 && d.sample(reach - x.first) >= 0;
      });
    if (next == all.end()) break;
    d.nonnegative(next->first);
    d.nonnegative(reach - next->first);
    reach = reach + next->first * next->second;
    all.erase(next);
  }
  // A digit that leaves a gap stands still, where the run from base covers [0, n).
  std::function<bool(std::size_t, const Sum&)> placed = [&](std::size_t k, const Sum& from) -> bool {
    // The prover's own limit (covers.cpp). Digits beyond it stay at 0, which is a value that they have.
    if (k == all.size() || k == 6) {
      if (d.sample(from) > 0 || d.sample(from + reach - n) < 0) return false;
      base = from;
      return true;
    }
    const auto& [c, steps] = all[k];
    if (placed(k + 1, from) || placed(k + 1, from + c * steps)) return true;
    if (c.terms.empty()) return false;
    Sum position = split(constant(-1) * from, c).first;
    // What is noted as an inequality cannot be taken back: so only a way that is right at the sample goes on.
    if (d.sample(position) < 0 || d.sample(steps - position) < 0 || !placed(k + 1, from + c * position))
      return false;
    d.nonnegative(position);
    d.nonnegative(steps - position);
    return true;
  };
  if (!placed(0, base)) return false;
  d.nonnegative(constant(-1) * base);
  d.nonnegative(base + reach - n);
  return true;
}

} // namespace

void Derivation::covers() {
  Sum n = e.expression(s.terms[0], user);
  Function f = without_block_swizzles(s.functions[0], n);
  if (!hints("bounds").empty()) {
    counted_by_bounds(f);
    d.nonnegative(size(f) - n);
    return;
  }
  Place p = own(f);
  Sum v = e.at(f, p.coordinates, user);
  // The method is the prover's word for which of two ways the digits are to be used; each is shown in full.
  if (s.method == "domination and count") {
    inside(v, size(f));
    dominated(v);
    d.nonnegative(size(f) - n);
    return;
  }
  // From [0, reach) with a stride of at most reach: [0, reach + stride * steps).
  std::vector<std::pair<Sum, Sum>> all;
  for (std::size_t k = 0; k < d.all.size(); ++k) {
    const Variable& x = d.all[k];
    if (x.kind == Variable::Kind::symbol) continue;
    Sum c;
    for (const auto& [product, m] : v.terms)
      if (auto without = over(product, {static_cast<int>(k)})) {
        Sum t;
        t.terms[*without] = m;
        c = c + t;
      }
    // One variable after the other leaves the sum, with all terms that hold it; a product of two digits stays
    // in the second one's coefficient and is found below.
    v = v - c * Digits::variable(static_cast<int>(k));
    // Of several bits it is no digit of its own: whether both of its values come with every value of the
    // others is not said.
    if (x.kind == Variable::Kind::parity && std::popcount(x.mask) != 1 && !c.terms.empty())
      throw Stuck("a parity of several bits");
    if (x.turned && !c.terms.empty()) throw Stuck("a digit beside its own rotation");
    if (!c.terms.empty())
      all.emplace_back(c, x.kind == Variable::Kind::parity ? constant(1) : x.extent - constant(1));
  }
  for (const auto& [product, m] : v.terms)
    for (int x : product)
      if (d.all[static_cast<std::size_t>(x)].kind != Variable::Kind::symbol)
        throw Stuck("a product of digits");
  // What is guessed is shown later, for all; of two ways the one with less to guess.
  const std::vector<Sum> before = d.inequalities;
  std::optional<std::vector<Sum>> best;
  auto guesses = [&](const std::vector<Sum>& of) {
    return std::count_if(of.begin(), of.end(), [&](const Sum& x) { return !d.surely(x); });
  };
  for (bool turn : {true, false}) {
    d.inequalities = before;
    if (run_of(d, v, all, n, turn) && (!best || guesses(d.inequalities) < guesses(*best)))
      best = d.inequalities;
  }
  if (!best) throw Stuck("a gap, or too few values");
  d.inequalities = *best;
}

} // namespace inlay::solver::independent
