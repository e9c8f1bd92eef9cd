// The default schedule: everything in the order of the program, a step of reads ahead of its products.
#include <inlay/codegen/code.h>

#include <algorithm>
#include <climits>
#include <map>

namespace inlay::codegen {
namespace {

// Which instructions of a loop use a register that the loop itself defines for each iteration.
using Users = std::map<int, std::vector<int>>;
Users users_of(const Region& loop) {
  Users users;
  for (std::size_t i = 0; i < loop.body.size(); ++i)
    for (const Reg& r : loop.body[i].uses) users[r.id].push_back(static_cast<int>(i));
  return users;
}

// One stage of LDS, in a loop that gathers rows through numbers which it loads: the rows are loaded `distance` trips ahead, each after
// the last use of those whose registers it gets, and their numbers a trip before that. Nothing else changes its place, so that a tile is
// written, read and used in one trip, while the next one's rows are under way.
std::vector<Slot> gathers_ahead(const Region& loop, const std::vector<Register>& registers) {
  const auto& body = loop.body;
  const Users users = users_of(loop);
  std::map<int, int> loaded; // register -> the load that fills it
  for (std::size_t n = 0; n < body.size(); ++n)
    if (body[n].kind == InstKind::load && !registers[static_cast<std::size_t>(body[n].def.id)].outside)
      loaded[body[n].def.id] = static_cast<int>(n);
  std::vector<int> ahead(body.size(), 0);
  for (std::size_t n = 0; n < body.size(); ++n) {
    const Inst& i = body[n];
    if (!i.access.gathered() || i.kind != InstKind::load || i.direct || !loaded.contains(i.def.id) ||
        !users.contains(i.def.id) || loop.pipeline.distance == 0)
      continue;
    std::vector<int> numbers;
    for (const int row : i.access.rows)
      if (row >= 0)
        if (const auto from = loaded.find(i.uses[static_cast<std::size_t>(row)].id); from != loaded.end())
          numbers.push_back(from->second);
    if (numbers.empty()) continue;
    ahead[n] = loop.pipeline.distance;
    for (const int number : numbers) ahead[static_cast<std::size_t>(number)] = loop.pipeline.distance + 1;
  }
  // The numbers first: what waits for them waits for nothing that is loaded after them.
  std::vector<std::vector<int>> behind(body.size()); // loads that stand after an instruction
  std::vector<Slot> slots;
  for (std::size_t n = 0; n < body.size(); ++n)
    if (ahead[n] > loop.pipeline.distance)
      slots.push_back({static_cast<int>(n), ahead[n]});
    else if (ahead[n] > 0)
      behind[static_cast<std::size_t>(users.at(body[n].def.id).back())].push_back(static_cast<int>(n));
  for (std::size_t n = 0; n < body.size(); ++n) {
    if (ahead[n] == 0) slots.push_back({static_cast<int>(n), 0});
    for (const int load : behind[n]) slots.push_back({load, ahead[static_cast<std::size_t>(load)]});
  }
  return slots;
}

} // namespace

Schedule default_schedule(const Graph& graph) {
  Schedule schedule;
  for (const Region& region : graph.regions) {
    if (!region.is_loop) continue;
    LoopSchedule loop;
    const auto& body = region.body;
    const int count = static_cast<int>(body.size());
    const bool pipelined = region.pipeline.distance > 0 && region.pipeline.ring > 1;
    if (!pipelined) {
      loop.slots = gathers_ahead(region, graph.registers);
      schedule.loops.push_back(std::move(loop));
      continue;
    }
    const Users users = users_of(region);
    const int write_ahead = region.pipeline.ring - 1;
    std::vector<int> ahead(body.size(), 0), step(body.size(), 0);
    std::vector<bool> staged(body.size(), false); // through registers to LDS, ahead of the trip
    int steps = 1;
    for (const Inst& i : body)
      if (i.kind == InstKind::mma) steps = std::max(steps, i.step + 1);
    // What feeds the matrix products, and in which step first.
    const auto first_step = [&](int node) {
      int first = INT_MAX;
      const auto found = users.find(body[static_cast<std::size_t>(node)].def.id);
      if (found != users.end())
        for (const int u : found->second)
          if (const Inst& user = body[static_cast<std::size_t>(u)]; user.kind == InstKind::mma)
            first = std::min(first, user.step);
      return first;
    };
    // Loads, writes, reads and products, and what is pointwise around them: the order below is made for that. With a fold
    // in the trip (a softmax between two products) the trip keeps the program's order after its memory accesses.
    bool simple = true;
    for (const Inst& inst : body)
      simple = simple && inst.kind != InstKind::fold_values && inst.kind != InstKind::fold_lanes &&
               inst.kind != InstKind::top && inst.kind != InstKind::exchange_lanes &&
               inst.kind != InstKind::store;
    for (int i = 0; i < count; ++i) {
      const Inst& inst = body[static_cast<std::size_t>(i)];
      const auto n = static_cast<std::size_t>(i);
      const auto written_only = [&](auto&& self, const Inst& from) -> bool {
        const auto found = users.find(from.def.id);
        const auto changes = [&](int u) { return body[static_cast<std::size_t>(u)].def.id == from.def.id; };
        if (found == users.end() || std::ranges::any_of(found->second, changes)) return false;
        return std::all_of(found->second.begin(), found->second.end(), [&](int u) {
          const Inst& user = body[static_cast<std::size_t>(u)];
          return user.kind == InstKind::lds_write ||
                 (user.kind == InstKind::map &&
                  !graph.registers[static_cast<std::size_t>(user.def.id)].outside && self(self, user));
        });
      };
      switch (inst.kind) {
      case InstKind::load:
        staged[n] = written_only(written_only, inst);
        ahead[n] = inst.direct ? write_ahead
                   : staged[n] ? std::max(region.pipeline.distance, write_ahead)
                               : 1;
        break;
      case InstKind::lds_write:
        if (inst.combine) { // where the program has it
          simple = false;
          break;
        }
        // What the trip itself has computed cannot be written before.
        for (int m = 0; m < i; ++m)
          staged[n] = staged[n] || (body[static_cast<std::size_t>(m)].def.id == inst.uses[0].id &&
                                    staged[static_cast<std::size_t>(m)]);
        ahead[n] = staged[n] ? write_ahead : 0;
        simple = simple && staged[n];
        break;
      case InstKind::lds_read:
        step[n] = first_step(i);
        if (step[n] == INT_MAX) {
          simple = false;
        } else {
          ahead[n] = step[n] == 0 ? 1 : 0;
        }
        break;
      case InstKind::mma: step[n] = inst.step; break;
      case InstKind::check:
      case InstKind::print: simple = false; break; // where the program has it
      case InstKind::map: {
        // What is made of memory's data alone, and goes to LDS alone.
        staged[n] = written_only(written_only, inst) &&
                    std::all_of(inst.uses.begin(), inst.uses.end(), [&](const Reg& r) -> bool {
                      for (int l = i; l-- > 0;)
                        if (body[static_cast<std::size_t>(l)].def.id == r.id)
                          return staged[static_cast<std::size_t>(l)];
                      return !graph.registers[static_cast<std::size_t>(r.id)].outside;
                    });
        if (staged[n]) {
          ahead[n] = write_ahead;
          break;
        }
        const auto found = users.find(inst.def.id); // what feeds a product is not what comes of it
        if (found != users.end())
          for (const int u : found->second)
            simple = simple && body[static_cast<std::size_t>(u)].kind != InstKind::mma;
        break;
      }
      default: break;
      }
    }
    // Without products the order of the program is kept, its tiles too, and what memory gives is under way so many trips before.
    if (std::none_of(body.begin(), body.end(), [](const Inst& i) { return i.kind == InstKind::mma; })) {
      simple = false;
      for (std::size_t n = 0; n < body.size(); ++n)
        if (body[n].kind == InstKind::load && !staged[n] &&
            !graph.program->tensor(body[n].access.tensor).output)
          staged[n] = true, ahead[n] = region.pipeline.distance;
    }
    // Rows that a table names: their numbers are there a trip before they are gathered.
    for (int i = count; i-- > 0;) {
      const auto n = static_cast<std::size_t>(i);
      const auto found = users.find(body[n].def.id);
      if (found == users.end() || graph.registers[static_cast<std::size_t>(body[n].def.id)].outside) continue;
      int needed = -1;
      for (const int u : found->second) {
        const auto g = static_cast<std::size_t>(u);
        if (!body[g].access.gathered()) continue;
        if (body[n].kind != InstKind::load) staged[g] = false, ahead[g] = 0, simple = false;
        needed = std::max(needed, ahead[g]);
      }
      if (needed < 0 || body[n].kind != InstKind::load) continue;
      ahead[n] = needed + 1;
      staged[n] = true;
    }
    if (!simple)
      for (int i = count; i-- > 0;) { // a gather that keeps its place in the trip
        const auto n = static_cast<std::size_t>(i);
        const auto found = users.find(body[n].def.id);
        if (found == users.end() || body[n].kind != InstKind::load) continue;
        int needed = -1;
        for (const int u : found->second)
          if (const auto g = static_cast<std::size_t>(u); body[g].access.gathered())
            needed = std::max(needed, staged[g] ? ahead[g] : 0);
        if (needed >= 0) ahead[n] = needed + 1;
      }
    if (!simple) {
      const auto take = [&](auto wanted) {
        for (int i = 0; i < count; ++i) {
          const auto n = static_cast<std::size_t>(i);
          if (wanted(body[n], staged[n], ahead[n])) loop.slots.push_back({i, staged[n] ? ahead[n] : 0});
        }
      };
      // A register is written to LDS before the next load into it, unless that is the one to be written. The two halves of a
      // transfer are one instruction.
      const auto load = [](const Inst& i, bool memory) { return memory && i.kind == InstKind::load; };
      take([&](const Inst& i, bool memory, int) { return memory && i.direct; });
      take([&](const Inst& i, bool memory, int by) {
        return load(i, memory) && by == write_ahead && !i.direct;
      });
      take([&](const Inst& i, bool memory, int) { return memory && !load(i, memory) && !i.direct; });
      take([&](const Inst& i, bool memory, int by) { return load(i, memory) && by != write_ahead; });
      take([](const Inst&, bool memory, int) { return !memory; });
      schedule.loops.push_back(std::move(loop));
      continue;
    }
    loop.tail_first = true;
    const auto take = [&](auto wanted) {
      for (int i = 0; i < count; ++i)
        if (wanted(body[static_cast<std::size_t>(i)], static_cast<std::size_t>(i)))
          loop.slots.push_back({i, ahead[static_cast<std::size_t>(i)]});
    };
    // Direct loads first (they are for the next trip), and what is written in the same trip; then each other staged register is
    // written and loaded again.
    const auto early = [&](std::size_t n) { return !staged[n] || ahead[n] == write_ahead; };
    take([&](const Inst& i, std::size_t) { return i.direct; });
    take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::load && early(n) && !i.direct; });
    take([&](const Inst& i, std::size_t n) {
      return (i.kind == InstKind::lds_write && !i.direct) || (i.kind == InstKind::map && staged[n]);
    });
    take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::load && !early(n); });
    take([&](const Inst& i, std::size_t) { return i.kind == InstKind::fill; });
    for (int s = 0; s < steps; ++s) {
      const int next = (s + 1) % steps;
      take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::lds_read && step[n] == next; });
      take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::mma && step[n] == s; });
    }
    take([&](const Inst& i, std::size_t n) { return i.kind == InstKind::map && !staged[n]; });
    schedule.loops.push_back(std::move(loop));
  }
  return schedule;
}

} // namespace inlay::codegen
