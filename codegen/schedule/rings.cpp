// Registers of a loop on the circle of its trips.
#include "circle.h"

#include <inlay/codegen/schedule.h>

#include <inlay/codegen/address.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>

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

Rings fit(std::vector<Arc> arcs, int circle, int cut) {
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
    while (at.size() < static_cast<std::size_t>(place + a.dwords)) at.emplace_back().reserve(8);
    for (int d = place; d < place + a.dwords; ++d)
      at[static_cast<std::size_t>(d)].push_back({a.begin, a.size});
    out.place[{a.reg, a.copy}] = place;
  }
  out.dwords = static_cast<int>(at.size());
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
    if (Rings r = fit(arcs, circle, t * circle / tries); r.dwords < best.dwords) best = std::move(r);
  best.copies = copies;
  return best;
}

int waves_at_once(const Program& program) {
  const int lanes = program.target().wave_size * program.target().simds;
  return (program.threads() + lanes - 1) / lanes;
}

int load_addresses(const std::vector<Inst>& body) {
  std::set<std::pair<int, std::vector<int>>> loads;
  for (const Inst& i : body)
    if (i.kind == InstKind::load) loads.insert({i.access.tensor, i.access.elements[0]});
  return static_cast<int>(loads.size());
}

int address_registers(const std::vector<Inst>& body, const Program& program, int ring) {
  std::set<std::pair<int, std::pair<bool, int>>> lds;
  std::map<int, std::int64_t> bytes; // of each tensor's stages
  for (const Inst& i : body) {
    if (i.kind != InstKind::lds_read && i.kind != InstKind::lds_write) continue;
    // A swizzle moves the reads of each step elsewhere; the rest is constant distances.
    const bool read = i.kind == InstKind::lds_read;
    if (!i.direct) // a transfer's place is a scalar
      lds.insert({i.access.tensor, {read, read ? i.access.elements[0].back() : 0}});
    const Tensor& t = program.tensor(i.access.tensor);
    bytes[t.id] = ring * t.stage_elements() * bits(t.element) / 8;
  }
  // An immediate reaches 64 KiB: of all stages, or in phases, of a tile's.
  const auto reached = [](std::int64_t all) { return std::max(static_cast<int>((all + 65535) / 65536), 1); };
  std::int64_t sum = 0;
  for (const auto& [tensor, all] : bytes) sum += all;
  const bool phases = std::any_of(body.begin(), body.end(), [](const Inst& i) { return i.phase >= 0; });
  int registers = 0;
  for (const auto& address : lds) registers += reached(phases ? bytes.at(address.first) : sum);
  return load_addresses(body) + registers + 6;
}

} // namespace inlay::codegen
