// Edges, lifetimes, pressure: what an order has to respect and what it costs.
#include <inlay/codegen/schedule.h>

#include <inlay/algebra/error.h>

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <tuple>

namespace inlay::codegen {
namespace {

bool in_lds(const Inst& i) { return i.kind == InstKind::lds_read || i.kind == InstKind::lds_write; }

// (trip, slot) of each node for iteration 0.
struct Place {
  int ahead = 0, slot = -1;
};
std::map<int, Place> places_of(const LoopSchedule& schedule) {
  std::map<int, Place> places;
  for (std::size_t s = 0; s < schedule.slots.size(); ++s)
    places[schedule.slots[s].node] = {schedule.slots[s].ahead, static_cast<int>(s)};
  return places;
}

} // namespace

const char* to_string(EdgeKind kind) {
  static const char* const names[] = {"value", "accumulated", "arrived", "free"};
  return names[static_cast<std::size_t>(kind)];
}

std::map<int, int> operand_sides(const std::vector<Inst>& body) {
  std::map<int, int> tensor_of, sides; // by register; by tensor
  for (const Inst& i : body)
    if (i.kind == InstKind::lds_read || i.kind == InstKind::load) tensor_of[i.def.id] = i.access.tensor;
  for (const Inst& i : body) {
    if (i.kind != InstKind::mma) continue;
    const std::size_t parts = operand_parts(i);
    for (std::size_t u = 0; u < i.uses.size(); ++u) {
      const auto tensor = tensor_of.find(i.uses[u].id);
      if (tensor == tensor_of.end()) continue;
      const int side = static_cast<int>(u < 2 * parts ? u / parts : u - 2 * parts); // scales after operands
      if (const auto [known, first] = sides.try_emplace(tensor->second, side);
          !first && known->second != side)
        known->second = -1;
    }
  }
  return sides;
}

std::vector<int> lds_parts(const Region& loop, const Program& program) {
  const auto& body = loop.body;
  std::map<int, std::size_t> vector; // by tensor, elements of the shortest access
  for (const Inst& i : body)
    if (in_lds(i)) {
      const auto [at, fresh] = vector.try_emplace(i.access.tensor, i.access.elements.size());
      at->second = std::min(at->second, i.access.elements.size());
    }
  std::vector<int> part(body.size(), -1);
  std::map<std::pair<int, std::vector<int>>, int> first; // place -> who touched it first
  const auto root = [&](int n) {
    while (part[static_cast<std::size_t>(n)] != n) n = part[static_cast<std::size_t>(n)];
    return n;
  };
  for (std::size_t n = 0; n < body.size(); ++n) {
    const Inst& i = body[n];
    if (!in_lds(i)) continue;
    part[n] = static_cast<int>(n);
    std::vector<std::vector<int>> threads;
    for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis)
      threads.push_back(thread_coordinates(i.access.threads, axis));
    for (int thread = 0; thread < program.threads(); ++thread)
      for (std::size_t e = 0; e < i.access.elements.size(); e += vector.at(i.access.tensor)) {
        std::vector<int> place;
        for (std::size_t axis = 0; axis < threads.size(); ++axis)
          place.push_back(threads[axis][static_cast<std::size_t>(thread)] + i.access.elements[e][axis]);
        const auto [at, fresh] = first.try_emplace({i.access.tensor, std::move(place)}, static_cast<int>(n));
        if (!fresh) part[static_cast<std::size_t>(root(at->second))] = root(static_cast<int>(n));
      }
  }
  for (std::size_t n = 0; n < body.size(); ++n)
    if (part[n] >= 0) part[n] = root(static_cast<int>(n));
  return part;
}

std::vector<Edge> edges_of(const Region& loop, const std::vector<Register>& registers,
                           const std::vector<int>& parts) {
  std::vector<Edge> edges;
  const auto& body = loop.body;
  const int count = static_cast<int>(body.size());
  const auto outside = [&](int reg) { return registers[static_cast<std::size_t>(reg)].outside; };

  // Registers of one iteration are renamed by it: only what reads them waits for what writes them. What lives across trips
  // has one place: its accesses keep their order, from the last one to the first one of the next iteration too.
  std::map<int, int> written;
  std::map<int, std::vector<int>> touched;
  for (int n = 0; n < count; ++n) {
    const Inst& i = body[static_cast<std::size_t>(n)];
    std::vector<int> here;
    for (const Reg& r : i.uses) {
      if (outside(r.id)) {
        here.push_back(r.id);
      } else if (const auto w = written.find(r.id); w != written.end()) {
        const Edge e{w->second, n, 0, EdgeKind::value};
        if (std::find(edges.begin(), edges.end(), e) == edges.end()) edges.push_back(e);
      }
    }
    if (i.def.id >= 0) {
      if (outside(i.def.id)) {
        here.push_back(i.def.id);
      } else {
        written[i.def.id] = n;
      }
    }
    for (const int reg : here)
      if (auto& list = touched[reg]; list.empty() || list.back() != n) list.push_back(n);
  }
  for (const auto& [reg, list] : touched) {
    const bool changes = std::any_of(list.begin(), list.end(), [&, id = reg](int n) {
      return body[static_cast<std::size_t>(n)].def.id == id;
    });
    if (!changes) continue;
    for (std::size_t k = 0; k + 1 < list.size(); ++k)
      edges.push_back({list[k], list[k + 1], 0, EdgeKind::accumulated});
    edges.push_back({list.back(), list.front(), 1, EdgeKind::accumulated});
  }

  // A stage of LDS is used again `ring` iterations later.
  for (int a = 0; a < count; ++a) {
    const Inst& x = body[static_cast<std::size_t>(a)];
    if (!in_lds(x)) continue;
    for (int b = a; b < count; ++b) {
      const Inst& y = body[static_cast<std::size_t>(b)];
      if (!in_lds(y) || x.access.tensor != y.access.tensor) continue;
      const bool xw = x.kind == InstKind::lds_write, yw = y.kind == InstKind::lds_write;
      if (!parts.empty() && parts[static_cast<std::size_t>(a)] != parts[static_cast<std::size_t>(b)])
        continue;
      if (xw && yw && x.combine.has_value() != y.combine.has_value()) { // zeros, and what is added to them
        edges.push_back({a, b, 0, EdgeKind::free});
        edges.push_back({b, a, loop.pipeline.ring, EdgeKind::free});
        continue;
      }
      if (xw == yw) continue; // two writes of one tile are to different places, or provenance refuses them
      edges.push_back({a, b, 0, xw ? EdgeKind::arrived : EdgeKind::free});
      edges.push_back({b, a, loop.pipeline.ring, yw ? EdgeKind::arrived : EdgeKind::free});
    }
  }
  return edges;
}

std::optional<Edge> violated(const std::vector<Edge>& edges, const LoopSchedule& schedule) {
  const std::map<int, Place> places = places_of(schedule);
  for (const Edge& e : edges) {
    if (!places.contains(e.from) || !places.contains(e.to))
      return e; // an order that leaves something out keeps nothing
    const Place &from = places.at(e.from), &to = places.at(e.to);
    if (std::tuple(-from.ahead, from.slot) >= std::tuple(e.distance - to.ahead, to.slot) &&
        !(e.from == e.to && e.distance > 0))
      return e;
  }
  return std::nullopt;
}

int dwords(const Register& reg) { return (reg.count * bits(reg.element) + 31) / 32; }

int accumulators(const Region& loop, const std::vector<Register>& registers) {
  std::vector<int> seen;
  int sum = 0;
  const auto look = [&](int reg) {
    if (reg < 0 || !registers[static_cast<std::size_t>(reg)].outside) return;
    if (std::find(seen.begin(), seen.end(), reg) != seen.end()) return;
    seen.push_back(reg);
    sum += dwords(registers[static_cast<std::size_t>(reg)]);
  };
  for (const Inst& i : loop.body) {
    look(i.def.id);
    for (const Reg& r : i.uses) look(r.id);
  }
  return sum;
}

std::map<int, int> second_halves(const std::vector<Inst>& body) {
  std::map<int, int> first_of;
  for (const Inst& i : body)
    if (i.kind == InstKind::mma && operand_parts(i) == 2)
      for (const std::size_t u : {std::size_t{0}, std::size_t{2}}) {
        const auto [at, fresh] = first_of.try_emplace(i.uses[u + 1].id, i.uses[u].id);
        INLAY_CHECK(at->second == i.uses[u].id && !first_of.contains(i.uses[u].id),
                    "halves of an operand that belong together everywhere");
      }
  return first_of;
}

std::vector<int> own_order(const std::vector<Inst>& body) {
  std::vector<int> nodes(body.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

std::pair<Region, LoopSchedule> as_region(const CodeRegion& r, const std::vector<int>& nodes) {
  Region loop;
  LoopSchedule schedule;
  loop.body = r.body;
  for (const int n : nodes) {
    const Inst& i = r.body[static_cast<std::size_t>(n)];
    schedule.slots.push_back({n, i.ahead, i.joint});
  }
  return {std::move(loop), std::move(schedule)};
}

std::vector<Lifetime> lifetimes(const Region& loop, const std::vector<Register>& registers,
                                const LoopSchedule& schedule) {
  const int length = static_cast<int>(schedule.slots.size());
  const std::map<int, int> first_of = second_halves(loop.body);
  std::map<int, int> size; // of lives that are more than one register
  for (const auto& [second, first] : first_of)
    size[first] = dwords(registers[static_cast<std::size_t>(first)]) +
                  dwords(registers[static_cast<std::size_t>(second)]);
  std::map<int, Lifetime> lives;
  for (int s = 0; s < length; ++s) {
    const Slot& slot = schedule.slots[static_cast<std::size_t>(s)];
    const Inst& i = loop.body[static_cast<std::size_t>(slot.node)];
    const int time = s - slot.ahead * length;
    const auto touch = [&](int reg) {
      if (reg < 0 || registers[static_cast<std::size_t>(reg)].outside) return;
      if (i.direct) return; // never in a register
      if (const auto half = first_of.find(reg); half != first_of.end()) reg = half->second;
      const auto joint = size.find(reg);
      const int many = joint != size.end() ? joint->second : dwords(registers[static_cast<std::size_t>(reg)]);
      auto [at, fresh] = lives.try_emplace(reg, Lifetime{reg, many, time, time});
      at->second.begin = std::min(at->second.begin, time);
      at->second.end = std::max(at->second.end, time);
    };
    touch(i.def.id);
    for (const Reg& r : i.uses) touch(r.id);
  }
  std::vector<Lifetime> out;
  for (const auto& [reg, life] : lives) out.push_back(life);
  return out;
}

std::vector<int> pressure(const std::vector<Lifetime>& lives, int slots) {
  std::vector<int> alive(static_cast<std::size_t>(slots), 0);
  for (const Lifetime& l : lives)
    for (int t = l.begin; t <= l.end; ++t)
      alive[static_cast<std::size_t>(((t % slots) + slots) % slots)] += l.dwords;
  return alive;
}

} // namespace inlay::codegen
