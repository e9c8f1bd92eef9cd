// Bytes to instructions through LLVM MC; the text it prints is turned into data by parse_instruction_text.
#include "llvm.h"

#include <algorithm>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <mutex>

namespace inlay::runtime::isa {

LlvmTarget::LlvmTarget(Arch arch) : triple("amdgcn-amd-amdhsa") {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    LLVMInitializeAMDGPUAsmParser();
  });
  std::string error;
  target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) {
    throw std::logic_error("runtime: this LLVM has no AMDGPU target: " + error);
  }
  registers.reset(target->createMCRegInfo(triple));
  asm_info.reset(target->createMCAsmInfo(*registers, triple, options));
  instructions.reset(target->createMCInstrInfo());
  const std::string_view name = to_string(arch);
  subtarget.reset(target->createMCSubtargetInfo(triple, llvm::StringRef(name.data(), name.size()), ""));
}

namespace {

void find_leaders(Program& program) {
  std::vector<bool> leads(program.instructions.size() + 1, false);
  const auto mark = [&](std::uint64_t address) {
    if (const auto index = program.index_of(address)) {
      leads[*index] = true;
    }
  };
  leads[0] = true;
  for (const Symbol& symbol : program.symbols) {
    mark(symbol.address);
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.branch_target) {
      mark(*instruction.branch_target);
    }
    if (instruction.branch_target || instruction.ends_flow()) {
      leads[i + 1] = true;
    }
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (leads[i]) {
      program.block_leaders.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

} // namespace

Program decode(std::span<const std::uint8_t> code, std::uint64_t address, Arch arch,
               std::vector<Symbol> symbols) {
  const LlvmTarget llvm_target(arch);
  llvm::MCContext context(llvm_target.triple, llvm_target.asm_info.get(), llvm_target.registers.get(),
                          llvm_target.subtarget.get());
  const std::unique_ptr<llvm::MCDisassembler> disassembler(
      llvm_target.target->createMCDisassembler(*llvm_target.subtarget, context));
  // LLVM 22 writes what is wrong with an operand to this stream without asking whether it is there: without it, garbage
  // code crashes (llvm-objdump too).
  disassembler->CommentStream = &llvm::nulls();
  const std::unique_ptr<llvm::MCInstPrinter> printer(llvm_target.target->createMCInstPrinter(
      llvm_target.triple, 0, *llvm_target.asm_info, *llvm_target.instructions, *llvm_target.registers));

  Program program;
  program.arch = arch;
  program.begin = address;
  program.end = address + code.size();
  std::sort(symbols.begin(), symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  program.symbols = std::move(symbols);
  program.instructions.reserve(code.size() / 6 + 1);

  // On some bytes that are no instruction LLVM 22's disassembler and its printer crash, llvm-objdump included (operand
  // errors go to a stream that it has let go). LLVM's own means against crashes in a library turns that into a failure;
  // it is a switch of the whole process, hence the lock.
  static std::mutex crash_recovery;
  const std::lock_guard lock(crash_recovery);
  llvm::CrashRecoveryContext::Enable();

  std::string text;
  for (std::size_t at = 0; at < code.size();) {
    Instruction out;
    out.address = address + at;
    llvm::MCInst inst;
    std::uint64_t size = 0;
    const llvm::ArrayRef<std::uint8_t> rest(code.data() + at, code.size() - at);
    auto status = llvm::MCDisassembler::Fail;
    llvm::CrashRecoveryContext recovery;
    text.clear();
    const bool survived = recovery.RunSafely([&] {
      status = disassembler->getInstruction(inst, size, rest, out.address, llvm::nulls());
      llvm::raw_string_ostream stream(text);
      if (status == llvm::MCDisassembler::Success)
        printer->printInst(&inst, out.address, "", *llvm_target.subtarget, stream);
    });
    if (!survived || status != llvm::MCDisassembler::Success || size == 0 || size > 16 || size % 4 != 0 ||
        size > rest.size() ||
        text.find("/*") != std::string::npos) { // a comment: an operand names no register
      size = std::min<std::uint64_t>(4, rest.size());
      out.size = static_cast<std::uint8_t>(size);
      out.encoding.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      out.text = "unknown";
      out.mnemonic = "unknown";
      out.opcode = mnemonic_id(out.mnemonic);
    } else {
      out.size = static_cast<std::uint8_t>(size);
      out.encoding.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      parse_instruction_text(text, out);
    }
    at += size;
    program.instructions.push_back(std::move(out));
  }
  llvm::CrashRecoveryContext::Disable();
  find_leaders(program);
  return program;
}

} // namespace inlay::runtime::isa
