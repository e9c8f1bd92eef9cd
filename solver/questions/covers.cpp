// The image contains [0, N): strides that leave no gap, or injective and inside, by counting.
#include "questions/bounds.h"
#include "questions/image.h"

#include <algorithm>
#include <functional>

namespace inlay::solver {
namespace {

// base + sum of the digits takes every value of [0, n): some of them make a run [0, reach) without a gap, and there is a place
// for the others at which the run begins at 0 or below and ends at n or beyond.
bool without_gap(Engine& e, const SymbolicFlat& flat, Poly base, const Poly& n) {
  SymbolicFlat left;
  for (const FlatDigit& m : flat) {
    if (m.extent.is_one() || m.stride.is_zero()) continue;
    if (e.context.nonnegative(m.stride)) {
      left.push_back(m);
    } else if (e.context.nonnegative(Poly() - m.stride)) { // from its other end
      base = base + m.stride * (m.extent - Poly(1));
      left.push_back({m.extent, Poly() - m.stride});
    } // a digit whose sign is not known stays 0
  }
  // From [0, reach) with a stride d <= reach and s steps: [0, reach + d (s - 1)), as each copy begins where the one before ends, or
  // earlier. Any order will do: reach only grows, so a stride that fits once fits later.
  Poly reach(1);
  for (bool progress = true; progress;) {
    progress = false;
    for (auto it = left.begin(); it != left.end(); ++it) {
      if (!e.context.nonnegative(reach - it->stride)) continue;
      e.claims.at_least(reach, it->stride, "no gap before this stride");
      reach = reach + it->stride * (it->extent - Poly(1));
      left.erase(it);
      progress = true;
      break;
    }
  }
  auto starts = [&](const Poly& at) { return e.context.nonnegative(Poly() - at); };
  // What leaves a gap stands still at a value that its digit has: the image of fewer indices is part of the image. At most 3^6 ways.
  std::function<std::optional<Poly>(std::size_t, const Poly&)> placed =
      [&](std::size_t k, const Poly& at) -> std::optional<Poly> {
    constexpr std::size_t most = 6;
    if (k == left.size() || k == most) {
      if (starts(at) && e.context.nonnegative(at + reach - n)) return at;
      return std::nullopt;
    }
    const auto& [extent, stride] = left[k];
    if (auto p = placed(k + 1, at)) return p;
    if (auto p = placed(k + 1, at + stride * (extent - Poly(1)))) return p;
    Poly position = quotient_and_rest(Poly() - at, stride).first;
    if (!e.context.nonnegative(position) || !e.context.positive(extent - position)) return std::nullopt;
    return placed(k + 1, at + stride * position);
  };
  if (auto at = placed(0, base)) base = *at; // else the residual conditions may help
  return e.at_least(Poly(), base, "the run begins at 0 or below") &&
         e.at_least(base + reach, n, "everything is reached");
}

} // namespace

Verdict decide_covers(Engine& e) {
  const Parts& a = e.a();
  auto n = e.context.poly(e.term());
  auto size = e.size(a);
  const Parts core = n ? without_block_swizzles(e, a, *n) : a;
  auto own = e.lower_image(core);
  if (own && n && !own->lowering.enlarged()) {
    if (auto flat = own->lowering.flat(own->form); flat && without_gap(e, *flat, own->form.constant, *n)) {
      e.digits("first", own->lowering);
      return e.proved("stride chain");
    }
    e.claims.clear();
    // Injective and inside [0, size): all of it. Only of an exact box, as the values of indices that are none do not count.
    auto r = own->lowering.range(own->form);
    if (r && size && e.at_least(*size, *n, "enough elements") &&
        e.at_least(r->first, Poly(0), "least value") &&
        e.at_least(*size - Poly(1), r->second, "greatest value") && dominated(e, own->lowering, own->form)) {
      e.digits("first", own->lowering);
      return e.proved("domination and count");
    }
    e.claims.clear();
  }
  // As for bijective: digits that reach beyond the domain tell its indices apart, and bounds say that their values stay inside.
  if (own && n && size && e.at_least(*size, *n, "enough elements") &&
      dominated(e, own->lowering, own->form) && within_by_bounds(e, core, *size)) {
    e.digits("first", own->lowering);
    return e.proved("domination and bounds of blocks");
  }
  e.claims.clear();
  auto check = [&](const naive::Environment& env) {
    Finding f;
    f.kind = Finding::Kind::missing;
    f.environment = env;
    // A hole is named by its value, and looked for again when it is replayed.
    Wide bound = evaluate(e.term(), [&](const std::string& s) { return env.at(s); });
    Evaluator x(a, env);
    // Unlike a collision, a hole is found by looking at every index: a part of the domain says nothing.
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
  // Boxes say nothing of gaps; a bijection has none.
  if (by_pieces(e, pieces_of(e, core), all)) return e.proved("pieces");
  e.obligation("strides that leave no gap before " + to_string(e.term()));
  return e.unknown();
}

} // namespace inlay::solver
