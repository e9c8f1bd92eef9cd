// What can be said of one instruction.
#include <inlay/codegen/code.h>

#include <algorithm>

namespace inlay::codegen {

bool renames(const Inst& inst, const std::vector<Register>& registers) {
  const auto element = [&](const Reg& r) { return registers[static_cast<std::size_t>(r.id)].element; };
  return inst.kind == InstKind::map && inst.map.node().fn == Fn::parameter && inst.map.node().tensor == 0 &&
         std::all_of(inst.uses.begin(), inst.uses.begin() + inst.def.count,
                     [&](const Reg& r) { return element(r) == element(inst.def); });
}

std::size_t operand_parts(const Inst& inst) {
  const bool scaled = inst.atom && inst.atom->mma && inst.atom->mma->scaled; // its scales stand last
  return inst.uses.size() / 2 - (scaled ? 1 : 0);
}

std::size_t whole_register(const Inst& inst, std::size_t u, const std::vector<Register>& registers) {
  const Reg& r = inst.uses[u];
  const int count = registers[static_cast<std::size_t>(r.id)].count;
  if (u + static_cast<std::size_t>(count) > inst.uses.size()) return 1;
  for (int e = 0; e < count; ++e) {
    const Reg& x = inst.uses[u + static_cast<std::size_t>(e)];
    if (x.id != r.id || x.ahead != r.ahead || x.first != e) return 1;
  }
  return static_cast<std::size_t>(count);
}

int lds_reads(const Inst& inst, const std::vector<Register>& registers) {
  return Atom::lds_reads(inst.def.count * bits(registers[static_cast<std::size_t>(inst.def.id)].element));
}

bool Access::gathered() const {
  return std::any_of(rows.begin(), rows.end(), [](int row) { return row >= 0; });
}

bool Access::acts(int thread) const { return !idle || (*idle)(Int(thread)) == Int(0); }

const char* to_string(InstKind kind) {
  static const char* const names[] = {
      "fill",       "load",   "store",          "lds_read", "lds_write", "mma",      "map",     "fold_values",
      "fold_lanes", "top",    "exchange_lanes", "wait",     "barrier",   "priority", "release", "ticket",
      "await",      "signal", "meet",           "acquire",  "check",     "print"};
  return names[static_cast<std::size_t>(kind)];
}

} // namespace inlay::codegen
