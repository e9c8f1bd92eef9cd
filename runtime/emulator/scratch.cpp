// Which instructions reach scratch, and how often: arrays that no register can be named for, and registers that were spilled.
#include "engine.h"

#include <algorithm>
#include <cstdio>

namespace inlay::runtime::emulator {

std::vector<ScratchUse> explain_scratch(const Launch& launch) {
  std::vector<ScratchUse> out;
  for (const auto& [at, accesses] : launch.scratch) {
    const Operation& op = launch.code->operations[at];
    const isa::Instruction& i = *op.instruction;
    out.push_back({.address = i.address,
                   .disassembly = i.text,
                   .source = launch.source(i.address),
                   .accesses = accesses,
                   .bytes = op.memory.bytes,
                   .store = op.memory.kind == MemoryFields::Kind::store});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ScratchUse& a, const ScratchUse& b) { return a.accesses > b.accesses; });
  return out;
}

} // namespace inlay::runtime::emulator

namespace inlay::runtime {

std::string to_string(const ScratchUse& s) {
  char text[120];
  std::snprintf(text, sizeof text, "0x%llx  %llu %s of %u bytes a lane  ",
                static_cast<unsigned long long>(s.address), static_cast<unsigned long long>(s.accesses),
                s.store ? "stores" : "loads", s.bytes);
  return text + s.disassembly + (s.source ? "  " + isa::to_string(*s.source) : "") + "\n";
}

} // namespace inlay::runtime
