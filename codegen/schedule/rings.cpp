// Registers of a loop on the circle of its trips.
#include "circle.h"

#include <inlay/codegen/schedule.h>

#include <inlay/codegen/address.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <tuple>

namespace inlay::codegen {
namespace {

struct Arc {
  int reg, copy, begin, size, dwords, order = 0;
};
struct Stay {
  int begin, size;
};
// Both begin on [0, circle) and may pass its end.
bool meet(const Arc& a, const Stay& b, int circle) {
  const int from_a = b.begin - a.begin + (b.begin < a.begin ? circle : 0);
  return from_a < a.size || (from_a == 0 ? 0 : circle - from_a) < b.size;
}

// Nothing where it takes as many dwords as `bound`.
Rings fit(std::vector<Arc> arcs, int circle, int cut, int bound) {
  // What is alive at the cut first, then by begin from there.
  const auto order = [&](const Arc& a) { // on [-circle, 0) and [0, circle)
    const int from_cut = modulo(a.begin - cut, circle);
    return from_cut + a.size > circle ? from_cut - circle : from_cut;
  };
  for (Arc& a : arcs) a.order = order(a);
  std::stable_sort(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) { return a.order < b.order; });
  Rings out;
  std::vector<std::vector<Stay>> at; // by dword
  for (const Arc& a : arcs) {
    int place = 0;
    for (;; place += a.dwords) {
      bool free = true;
      for (int d = place; d < place + a.dwords && d < static_cast<int>(at.size()) && free; ++d)
        free = std::none_of(at[static_cast<std::size_t>(d)].begin(), at[static_cast<std::size_t>(d)].end(),
                            [&](const Stay& b) { return meet(a, b, circle); });
      if (free) break;
    }
    out.dwords = std::max(out.dwords, place + a.dwords);
    if (out.dwords >= bound) return out;
    while (at.size() < static_cast<std::size_t>(place + a.dwords)) at.emplace_back().reserve(8);
    for (int d = place; d < place + a.dwords; ++d)
      at[static_cast<std::size_t>(d)].push_back({a.begin, a.size});
    out.place[{a.reg, a.copy}] = place;
  }
  return out;
}

} // namespace

Rings ring_registers(const std::vector<Lifetime>& lives, int slots, int ring) {
  int copies = ring;
  for (const Lifetime& l : lives)
    while (l.end - l.begin + 1 > copies * slots) copies += ring;
  const int circle = copies * slots;
  std::vector<Arc> arcs;
  for (const Lifetime& l : lives)
    for (int c = 0; c < copies; ++c)
      arcs.push_back({l.reg, c, modulo(l.begin + c * slots, circle), l.end - l.begin + 1, l.dwords});
  const std::vector<int> alive = pressure(lives, slots);
  const int least = alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end());
  Rings best;
  best.dwords = INT_MAX;
  constexpr int tries = 24;
  for (int t = 0; t < tries && best.dwords > least; ++t)
    if (Rings r = fit(arcs, circle, t * circle / tries, best.dwords); r.dwords < best.dwords)
      best = std::move(r);
  best.copies = copies;
  return best;
}

int waves_at_once(const Program& program) {
  const int lanes = program.target().wave_size * program.target().simds;
  return std::max((program.threads() + lanes - 1) / lanes, program.waves_per_simd());
}

namespace {

// Whether two tensors have the same place at each coordinate that both have: how far the last mode of an axis goes does not matter.
bool places_alike(const Tensor& s, const Tensor& t) {
  if (s.shape.size() != t.shape.size() || bits(s.element) != bits(t.element)) return false;
  const auto modes = [](const Tensor& of, std::size_t axis) {
    return (of.shape.size() == 1 ? of.place.inner() : of.place.inner().mode(axis)).modes();
  };
  if (!s.place.swizzle()->is_identity() || !t.place.swizzle()->is_identity()) return false;
  if (!(s.place.offset() == t.place.offset())) return false;
  for (std::size_t axis = 0; axis < s.shape.size(); ++axis) {
    const auto a = modes(s, axis), b = modes(t, axis);
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (!(a[k].stride == b[k].stride) || (k + 1 < a.size() && !(a[k].extent == b[k].extent))) return false;
  }
  return true;
}

// Loads with one address share its register, of whichever tensor: the same formula in the work-item, after the same comparisons.
bool one_address(const Inst& x, const Inst& y, const Program& program) {
  const Access &a = x.access, &b = y.access;
  const Tensor &s = program.tensor(a.tensor), &t = program.tensor(b.tensor);
  if (a.elements[0] != b.elements[0]) return false;
  if (a.tensor == b.tensor) return true;
  if (a.idle || b.idle || !a.rows.empty() || !b.rows.empty()) return false;
  if (!places_alike(s, t) || !(a.threads == b.threads)) return false;
  // What a descriptor does not end is compared in registers.
  const std::vector<std::size_t> axes = outside_in(s);
  return std::all_of(axes.begin() + 1, axes.end(), [&](std::size_t axis) {
    return a.masked[axis] == b.masked[axis] &&
           (!a.masked[axis] || (a.origin[axis] == b.origin[axis] && s.shape[axis] == t.shape[axis]));
  });
}

} // namespace

int load_addresses(const std::vector<Inst>& body, const Program& program) {
  std::vector<const Inst*> loads;
  for (const Inst& i : body)
    if (i.kind == InstKind::load && std::none_of(loads.begin(), loads.end(), [&](const Inst* other) {
          return one_address(*other, i, program);
        }))
      loads.push_back(&i);
  return static_cast<int>(loads.size());
}

std::map<std::pair<int, int>, int> lds_places(const Program& program, const std::map<int, int>& stages,
                                              bool by_tile) {
  std::map<std::pair<int, int>, int> places;
  int most = 0, at = 0;
  const auto place = [&](int tensor, int stage) {
    const Tensor& t = program.tensor(tensor);
    places[{tensor, stage}] = at;
    at += static_cast<int>((t.stage_elements() * bits(t.element) / 8 + 15) / 16 * 16);
  };
  for (const auto& [tensor, ring] : stages) {
    most = std::max(most, ring);
    for (int s = 0; by_tile && s < ring; ++s) place(tensor, s);
  }
  for (int s = 0; !by_tile && s < most; ++s)
    for (const auto& [tensor, ring] : stages)
      if (s < ring) place(tensor, s);
  return places;
}

int lds_reach(Element element) { return bits(element) == 6 ? 65536 - 16 : 65536; }

int address_registers(const std::vector<Inst>& body, const Program& program,
                      const std::map<int, int>& stages) {
  // What is at a constant distance at all work-items shares a register, within the 64 KiB that an immediate reaches.
  std::map<std::tuple<int, Layout, int>, std::set<std::int64_t>> lds;
  for (const Inst& i : body) {
    if (i.kind != InstKind::lds_read && i.kind != InstKind::lds_write) continue;
    if (i.direct) continue; // a transfer's place is a scalar
    const Tensor& t = program.tensor(i.access.tensor);
    std::vector<std::int64_t> first;
    for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis)
      first.push_back(thread_coordinates(i.access.threads, axis)[0] + i.access.elements[0][axis]);
    // A swizzle moves the reads of each step elsewhere.
    const bool moved = !t.place.swizzle()->is_identity() && i.kind == InstKind::lds_read;
    lds[{i.access.tensor, i.access.threads, moved ? i.access.elements[0].back() : 0}].insert(
        t.at(first) * bits(t.element) / 8);
  }
  const bool by_tile = std::any_of(body.begin(), body.end(), [](const Inst& i) { return i.phase >= 0; });
  const std::map<std::pair<int, int>, int> places = lds_places(program, stages, by_tile);
  std::size_t registers = 0;
  for (const auto& [like, offsets] : lds) {
    std::set<std::int64_t> highs;
    const int tensor = std::get<0>(like), begin = by_tile ? places.at({tensor, 0}) : 0;
    for (int s = 0; s < stages.at(tensor); ++s)
      for (const std::int64_t o : offsets)
        highs.insert((o - *offsets.begin() + places.at({tensor, s}) - begin) /
                     lds_reach(program.tensor(tensor).element));
    registers += highs.size();
  }
  return load_addresses(body, program) + static_cast<int>(registers) + 6;
}

} // namespace inlay::codegen
