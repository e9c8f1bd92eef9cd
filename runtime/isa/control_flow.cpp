#include <inlay/runtime/isa/control_flow.h>

#include <algorithm>
#include <set>

namespace inlay::runtime::isa {

namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

bool conditional(const Instruction& i) { return i.mnemonic.starts_with("s_cbranch"); }

/// Where control can go from instruction `at`, as instruction indices.
std::vector<std::size_t> following(const Program& p, std::size_t at, bool& leaves) {
  const Instruction& i = p.instructions[at];
  std::vector<std::size_t> next;
  const bool falls = !i.ends_flow() || i.mnemonic == "s_swappc_b64";
  if (falls) {
    if (at + 1 < p.instructions.size())
      next.push_back(at + 1);
    else
      leaves = true;
  }
  if (i.branch_target && (conditional(i) || i.mnemonic == "s_branch")) {
    if (const auto target = p.index_of(*i.branch_target))
      next.push_back(*target);
    else
      leaves = true;
  }
  if (i.mnemonic == "s_setpc_b64" || i.mnemonic == "s_swappc_b64" || i.mnemonic == "s_call_b64")
    leaves = true;
  return next;
}

void find_blocks(const Program& p, std::size_t entry, ControlFlow& f) {
  const std::size_t n = p.instructions.size();
  std::vector<bool> reached(n, false), leader(n, false);
  std::vector<std::size_t> work = {entry};
  leader[entry] = true;
  while (!work.empty()) {
    const std::size_t at = work.back();
    work.pop_back();
    if (reached[at]) continue;
    reached[at] = true;
    const auto next = following(p, at, f.leaves_program);
    const bool cuts = p.instructions[at].is_branch() || p.instructions[at].ends_flow();
    for (const std::size_t to : next) {
      if (cuts) leader[to] = true;
      work.push_back(to);
    }
  }
  std::vector<std::size_t> block_of(n, none);
  for (std::size_t at = 0; at < n; ++at) {
    if (!reached[at]) continue;
    if (leader[at] || at == 0 || block_of[at - 1] == none || f.blocks.empty()) {
      f.blocks.push_back({at, at, {}, {}});
    }
    f.blocks.back().last = at;
    block_of[at] = f.blocks.size() - 1;
  }
  for (std::size_t b = 0; b < f.blocks.size(); ++b) {
    bool ignored = false;
    for (const std::size_t to : following(p, f.blocks[b].last, ignored)) {
      const std::size_t target = block_of[to];
      auto& s = f.blocks[b].successors;
      if (std::find(s.begin(), s.end(), target) != s.end()) continue;
      s.push_back(target);
      f.blocks[target].predecessors.push_back(b);
    }
  }
  // The entry first in the order of the walk.
  std::vector<std::uint8_t> state(f.blocks.size(), 0);
  std::vector<std::pair<std::size_t, std::size_t>> stack = {{block_of[entry], 0}};
  state[block_of[entry]] = 1;
  while (!stack.empty()) {
    auto& [b, child] = stack.back();
    if (child < f.blocks[b].successors.size()) {
      const std::size_t to = f.blocks[b].successors[child++];
      if (state[to] == 0) {
        state[to] = 1;
        stack.emplace_back(to, 0);
      }
    } else {
      f.order.push_back(b);
      stack.pop_back();
    }
  }
  std::reverse(f.order.begin(), f.order.end());
}

void find_dominators(ControlFlow& f) {
  std::vector<std::size_t> rank(f.blocks.size(), none);
  for (std::size_t r = 0; r < f.order.size(); ++r) rank[f.order[r]] = r;
  f.dominators.assign(f.blocks.size(), none);
  f.dominators[f.order[0]] = f.order[0];
  const auto meet = [&](std::size_t a, std::size_t b) {
    while (a != b) {
      while (rank[a] > rank[b]) a = f.dominators[a];
      while (rank[b] > rank[a]) b = f.dominators[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 1; r < f.order.size(); ++r) {
      const std::size_t b = f.order[r];
      std::size_t d = none;
      for (const std::size_t p : f.blocks[b].predecessors) {
        if (f.dominators[p] == none) continue;
        d = d == none ? p : meet(p, d);
      }
      if (d != f.dominators[b]) {
        f.dominators[b] = d;
        changed = true;
      }
    }
  }
}

void find_loops(ControlFlow& f) {
  for (const std::size_t header : f.order) {
    Loop loop;
    loop.header = header;
    std::set<std::size_t> body = {header};
    std::vector<std::size_t> work;
    for (const std::size_t p : f.blocks[header].predecessors)
      if (f.dominates(header, p)) loop.latches.push_back(p);
    if (loop.latches.empty()) continue;
    work = loop.latches;
    while (!work.empty()) {
      const std::size_t b = work.back();
      work.pop_back();
      if (!body.insert(b).second) continue;
      for (const std::size_t p : f.blocks[b].predecessors) work.push_back(p);
    }
    loop.blocks.assign(body.begin(), body.end());
    f.loops.push_back(std::move(loop));
  }
  std::sort(f.loops.begin(), f.loops.end(), [](const Loop& a, const Loop& b) { return a.header < b.header; });
  for (Loop& outer : f.loops)
    for (const Loop& inner : f.loops)
      if (inner.header != outer.header && outer.contains(inner.header)) outer.innermost = false;
}

} // namespace

bool Loop::contains(std::size_t block) const {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

bool ControlFlow::dominates(std::size_t a, std::size_t b) const {
  while (b != a && dominators[b] != b) b = dominators[b];
  return a == b;
}

ControlFlow control_flow(const Program& program, std::uint64_t entry) {
  const auto at = program.index_of(entry);
  if (!at) throw IsaError("control flow: no instruction begins at the entry");
  ControlFlow f;
  find_blocks(program, *at, f);
  find_dominators(f);
  find_loops(f);
  return f;
}

} // namespace inlay::runtime::isa
