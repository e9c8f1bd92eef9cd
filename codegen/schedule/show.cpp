// Loops as slots, for people.
#include "show.h"

#include <inlay/algebra/print.h>

#include <algorithm>
#include <map>

namespace inlay::codegen {
namespace {

const char* resource(InstKind kind) {
  switch (kind) {
  case InstKind::mma: return "matrix";
  case InstKind::load:
  case InstKind::store: return "memory";
  case InstKind::lds_read:
  case InstKind::lds_write: return "LDS";
  case InstKind::wait:
  case InstKind::barrier:
  case InstKind::priority: return "";
  default: return "vector";
  }
}

std::string padded(std::string s, std::size_t width) {
  s.resize(std::max(s.size() + 1, width), ' ');
  return s;
}
std::string right(int v, std::size_t width) {
  const std::string s = std::to_string(v);
  return std::string(width - std::min(width, s.size()), ' ') + s;
}

} // namespace

std::vector<ShownLoop> shown_loops(const Code& code) {
  std::vector<ShownLoop> out;
  int loops = 0;
  const auto show = [&](const CodeRegion& r, const std::vector<int>& nodes, const std::string& of) {
    const auto [loop, schedule] = as_region(r, nodes);
    const std::vector<int> alive =
        pressure(lifetimes(loop, code.registers, schedule), static_cast<int>(schedule.slots.size()));
    ShownLoop shown;
    shown.results = accumulators(loop, code.registers);
    shown.title = "loop " + std::to_string(loops) + of + ", " + to_string(r.trips) + " trips of " +
                  std::to_string(r.tile) + ", ring " + std::to_string(r.ring) +
                  (r.exact ? ", in this order" : ", order left to LLVM");
    std::map<std::string, int> counts;
    int run = 0, longest = 0;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const Inst& i = r.body[static_cast<std::size_t>(nodes[n])];
      std::string what = to_string(i.kind);
      if (i.kind == InstKind::mma) what = i.atom->name;
      if (i.access.tensor >= 0) {
        what += " " + code.program->tensor(i.access.tensor).name + " (";
        for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis)
          what += (axis ? ", " : "") + to_string(i.access.origin[axis] + Sym(i.access.elements[0][axis]));
        what += ")";
      }
      const auto reg = [&](const Reg& x) {
        return " v" + std::to_string(x.id) +
               (x.count != code.registers[static_cast<std::size_t>(x.id)].count
                    ? "[" + std::to_string(x.first) + "]"
                    : std::string());
      };
      if (i.def.id >= 0) what += reg(i.def);
      if (i.kind == InstKind::wait)
        what += (i.vm >= 0 ? " vm " + std::to_string(i.vm) : std::string()) +
                (i.lgkm >= 0 ? " lgkm " + std::to_string(i.lgkm) : std::string());
      for (const Reg& u : i.uses) what += reg(u);
      if (i.kind == InstKind::priority) what += " " + std::to_string(static_cast<int>(i.value));
      const bool named =
          i.kind != InstKind::wait && i.kind != InstKind::barrier && i.kind != InstKind::priority;
      shown.slots.push_back({&i, shown.clocks, alive[n], resource(i.kind),
                             !named         ? ""
                             : i.ahead == 0 ? "j"
                                            : "j+" + std::to_string(i.ahead),
                             std::move(what)});
      if (i.kind == InstKind::mma) shown.clocks += i.atom->mma->clocks();
      ++counts[to_string(i.kind)];
      const bool memory = i.kind == InstKind::load || i.kind == InstKind::lds_read ||
                          i.kind == InstKind::lds_write || i.kind == InstKind::store;
      if (memory) longest = std::max(longest, ++run);
      if (i.kind == InstKind::mma) run = 0;
    }
    shown.sum = std::to_string(shown.clocks) + " matrix clocks:";
    for (const auto& [name, n] : counts) shown.sum += " " + std::to_string(n) + " " + name;
    shown.sum += "; at most " + std::to_string(longest) + " memory instructions side by side; " +
                 std::to_string(alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end())) +
                 " dwords alive and " + std::to_string(shown.results) + " of results";
    out.push_back(std::move(shown));
  };
  for (const CodeRegion& r : code.regions) {
    if (!r.is_loop) continue;
    ++loops;
    show(r, own_order(r.body), r.staggered.empty() ? "" : ", lower half of the waves");
    if (!r.staggered.empty()) show(r, r.staggered, ", upper half of the waves");
  }
  return out;
}

std::string show_schedule(const Code& code) {
  std::string out;
  for (const ShownLoop& loop : shown_loops(code)) {
    out += loop.title + "\n  slot  clock  resource  iteration  dwords  instruction\n";
    int slot = 0;
    for (const ShownSlot& s : loop.slots)
      out += right(slot++, 6) + right(s.clock, 7) + "  " + padded(s.resource, 10) + padded(s.iteration, 9) +
             right(s.dwords, 8) + "  " + s.what + "\n";
    out += "  " + loop.sum + "\n";
  }
  return out.empty() ? "no loop\n" : out;
}

} // namespace inlay::codegen
