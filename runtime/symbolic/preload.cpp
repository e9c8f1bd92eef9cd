#include "symbolic/preload.h"

#include <map>

namespace inlay::runtime::symbolic {

std::string wrong_without_preloading(const isa::Program& program, const Kernel& kernel) {
  const KernelDescriptor& d = kernel.descriptor;
  if (d.preload_length == 0) return "";
  // The registers that a wave is given, in the manual's order.
  unsigned next = (d.private_segment_buffer ? 4 : 0) + (d.dispatch_ptr ? 2 : 0) + (d.queue_ptr ? 2 : 0);
  const unsigned arguments = next;
  next += (d.kernarg_ptr ? 2 : 0) + (d.dispatch_id ? 2 : 0) + (d.flat_scratch_init ? 2 : 0) +
          (d.private_segment_size ? 1 : 0);
  const unsigned first = next;
  const std::string where = " where firmware does not preload: ";
  std::map<unsigned, std::uint64_t> loaded; // register -> byte of the arguments
  bool waited = true;
  for (auto at = program.index_of(kernel.address); at && *at < program.instructions.size(); ++*at) {
    const isa::Instruction& i = program.instructions[*at];
    if (i.address >= kernel.address + 256) break;
    if (i.mnemonic == "s_nop") continue;
    if (i.wait) {
      waited = waited || i.wait->lgkmcnt == 0;
      continue;
    }
    if (i.mnemonic == "s_branch" && i.branch_target == kernel.address + 256) {
      if (!waited) return "no wait for what is loaded" + where + isa::located(i);
      for (unsigned k = 0; k < d.preload_length; ++k) {
        const auto word = loaded.find(first + k);
        if (word == loaded.end() || word->second != 4 * (std::uint64_t{d.preload_offset} + k))
          return "an argument that is not loaded" + where + "s" + std::to_string(first + k);
      }
      return "";
    }
    const bool load = i.mnemonic.starts_with("s_load_dword") && i.operands.size() >= 2 && d.kernarg_ptr &&
                      i.operands[1].kind == isa::OperandKind::sgpr && i.operands[1].index == arguments &&
                      i.operands[1].width == 2 &&
                      (i.operands.size() == 2 || i.operands[2].kind != isa::OperandKind::sgpr);
    if (!load) return "an instruction that loads no argument" + where + isa::located(i);
    const isa::Operand& to = i.operands[0];
    if (to.index < first || to.index + to.width > first + d.preload_length)
      return "a register of no argument is loaded" + where + isa::located(i);
    const auto from = static_cast<std::uint64_t>(std::int64_t{i.modifiers.offset}) +
                      (i.operands.size() == 2 ? 0 : i.operands[2].value);
    for (unsigned k = 0; k < to.width; ++k)
      if (!loaded.emplace(to.index + k, from + 4 * k).second) // loads come back in any order
        return "a register is loaded twice" + where + isa::located(i);
    waited = false;
  }
  return "no jump to the entry" + where + "0x100 after the kernel's address";
}

} // namespace inlay::runtime::symbolic
