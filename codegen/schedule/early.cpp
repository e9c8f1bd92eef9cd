#include "early.h"

#include <inlay/codegen/nest.h>
#include <inlay/codegen/schedule.h>

namespace inlay::codegen {

std::vector<int> early_loads(const Region& loop, const Region& behind, const Program& program) {
  std::vector<int> out;
  if (!loop.is_loop || behind.is_loop || !(behind.guards == loop.guards)) return out;
  for (const Nest& nest : nests_of(program))
    if (nest.holds(loop) != nest.holds(behind)) return out;
  for (std::size_t n = 0; n < behind.body.size(); ++n) {
    const Inst& i = behind.body[n];
    const bool orders = i.kind == InstKind::barrier || i.kind == InstKind::release ||
                        i.kind == InstKind::ticket || i.kind == InstKind::await ||
                        i.kind == InstKind::signal || i.kind == InstKind::meet || i.kind == InstKind::acquire;
    if (orders) break;
    if (i.kind != InstKind::load || i.direct || !i.uses.empty() || i.when || !i.waves.all() || i.access.idle)
      continue;
    if (const Tensor& t = program.tensor(i.access.tensor); !t.output && t.element != Element::i64)
      out.push_back(static_cast<int>(n));
  }
  return out;
}

int early_registers(const std::vector<int>& early, const Region& behind,
                    const std::vector<Register>& registers, const Program& program) {
  std::vector<Inst> loads;
  int sum = 0;
  for (const int n : early) {
    loads.push_back(behind.body[static_cast<std::size_t>(n)]);
    sum += dwords(registers[static_cast<std::size_t>(loads.back().def.id)]);
  }
  return sum + load_addresses(loads, program);
}

} // namespace inlay::codegen
