#include <inlay/codegen/nest.h>

#include <algorithm>

namespace inlay::codegen {

bool Nest::of(const std::vector<Inst>& list) const {
  return std::any_of(list.begin(), list.end(), [&](const Inst& i) { return i.op > op && i.op <= last; });
}

namespace {
bool holds_branches(const LoopOp& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(),
                     [](const Op& op) { return std::holds_alternative<IfOp>(op.what); });
}
} // namespace

bool is_nest(const LoopOp& loop) {
  return holds_branches(loop) || std::any_of(loop.body.begin(), loop.body.end(), [](const Op& op) {
           return std::holds_alternative<LoopOp>(op.what);
         });
}

std::vector<Nest> nests_of(const Program& program) {
  std::vector<Nest> out;
  int number = 0; // as each_op counts
  const auto in = [&](const auto& self, const std::vector<Op>& ops, std::size_t guards) -> void {
    for (const Op& op : ops) {
      const int own = number++;
      if (const auto* l = std::get_if<LoopOp>(&op.what)) {
        const std::size_t at = out.size();
        if (is_nest(*l))
          out.push_back({l->t, l->extent, l->tile, own, own, guards, holds_branches(*l), op.where});
        self(self, l->body, guards);
        if (is_nest(*l)) out[at].last = number - 1;
      } else if (const auto* branch = std::get_if<IfOp>(&op.what)) {
        self(self, branch->then, guards + 1), self(self, branch->otherwise, guards + 1);
      } else if (const auto* roles = std::get_if<RolesOp>(&op.what)) {
        for (const RolesOp::Role& role : roles->roles) self(self, role.body, guards);
      }
    }
  };
  in(in, program.body(), 0);
  return out;
}

std::vector<AtomId> trips_of(const Program& program, const Uniform& uniform) {
  std::vector<AtomId> out;
  const std::vector<AtomId> all = symbols(uniform.at);
  each_op(program.body(), [&](const Op& op) {
    const auto* l = std::get_if<LoopOp>(&op.what);
    if (l && std::find(all.begin(), all.end(), *l->t.as_atom()) != all.end()) out.push_back(*l->t.as_atom());
  });
  return out;
}

bool counts_trips_of_nest(const Program& program, AtomId symbol) {
  const auto in = [&](const auto& self, const std::vector<Op>& ops) -> bool {
    return std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
      if (const auto* l = std::get_if<LoopOp>(&op.what))
        return is_nest(*l) && (*l->t.as_atom() == symbol || self(self, l->body));
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
