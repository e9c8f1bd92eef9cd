#include <inlay/codegen/nest.h>

#include <algorithm>

namespace inlay::codegen {

bool Nest::of(const std::vector<Inst>& list) const {
  return std::any_of(list.begin(), list.end(), [&](const Inst& i) { return i.op > op && i.op <= last; });
}

bool holds_loops(const LoopOp& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(),
                     [](const Op& op) { return std::holds_alternative<LoopOp>(op.what); });
}

std::vector<Nest> nests_of(const Program& program) {
  std::vector<Nest> out;
  int number = 0;
  each_op(program.body(), [&](const Op& op) {
    if (const auto* l = std::get_if<LoopOp>(&op.what); l && holds_loops(*l)) {
      int inside = 0;
      each_op(l->body, [&](const Op&) { ++inside; });
      out.push_back({l->t, l->extent, l->tile, number, number + inside, op.where});
    }
    ++number;
  });
  return out;
}

bool counts_trips_of_nest(const Program& program, AtomId symbol) {
  const auto in = [&](const auto& self, const std::vector<Op>& ops) -> bool {
    return std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
      if (const auto* l = std::get_if<LoopOp>(&op.what))
        return holds_loops(*l) && (*l->t.as_atom() == symbol || self(self, l->body));
      const auto* branch = std::get_if<IfOp>(&op.what);
      return branch && (self(self, branch->then) || self(self, branch->otherwise));
    });
  };
  return in(in, program.body());
}

std::pair<std::size_t, std::size_t> regions_of(const Nest& nest, const Code& code) {
  std::size_t first = 0;
  while (first < code.regions.size() && !nest.holds(code.regions[first])) ++first;
  std::size_t end = first;
  while (end < code.regions.size() && nest.holds(code.regions[end])) ++end;
  return {first, end};
}

} // namespace inlay::codegen
