/// Basic blocks, dominators and natural loops of one kernel.
///
/// A block is a run of instructions that is entered only at its first and left only at its last. Block a
/// *dominates* b when every path from the entry to b goes through a. An edge back to a dominator closes a
/// *natural loop*: the blocks that reach the edge without passing its target, the header. Loops with one
/// header are one loop.
///
///     ControlFlow f = control_flow(program, kernel.address);
///     f.loops[0].header, f.loops[0].blocks        // indices into f.blocks
///
/// Source: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001); Aho, Lam, Sethi and
/// Ullman, "Compilers", section 9.6.
#pragma once

#include <inlay/runtime/isa/program.h>

namespace inlay::runtime::isa {

struct Block {
  std::size_t first = 0, last = 0;     ///< instruction indices, both inclusive
  std::vector<std::size_t> successors; ///< block indices: fall-through first, then the branch's target
  std::vector<std::size_t> predecessors;
};

struct Loop {
  std::size_t header = 0;
  std::vector<std::size_t> blocks;  ///< ascending, the header included
  std::vector<std::size_t> latches; ///< blocks with an edge back to the header
  bool innermost = true;            ///< holds no other loop

  [[nodiscard]] bool contains(std::size_t block) const;
};

struct ControlFlow {
  std::vector<Block> blocks;           ///< the reachable ones, in address order
  std::vector<std::size_t> order;      ///< reverse postorder from the entry
  std::vector<std::size_t> dominators; ///< immediate dominator; of the entry: itself
  std::vector<Loop> loops;             ///< by header
  bool leaves_program = false;         ///< an indirect jump or a target outside: the graph is a lower bound

  [[nodiscard]] bool dominates(std::size_t a, std::size_t b) const;
};

/// The graph of what is reachable from `entry`. Requires: `entry` is the address of an instruction of
/// `program`. Errors: IsaError when it is not.
[[nodiscard]] ControlFlow control_flow(const Program& program, std::uint64_t entry);

} // namespace inlay::runtime::isa
