#include "generate.h"

#include <inlay/algebra/error.h>
#include <inlay/codegen/error.h>

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>

#include <map>
#include <mutex>
#include <sstream>

namespace inlay::codegen {

bool has_block(const llvm::Module& module) {
  for (const llvm::Function& f : module)
    for (const llvm::Instruction& i : llvm::instructions(f))
      if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i); call && call->isInlineAsm()) return true;
  return false;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, int level) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&machine); // registers the target's own passes at the extension points
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  const llvm::OptimizationLevel chosen = levels[level];
  llvm::ModulePassManager passes;
  if (level == 0) {
    passes = builder.buildO0DefaultPipeline(chosen);
  } else if (has_block(module)) {
    // The attributor says which of the kernel's inputs are never asked for.
    llvm::cantFail(
        builder.parsePassPipeline(passes, "function(early-cse,reassociate,early-cse),amdgpu-attributor"));
  } else {
    passes = builder.buildPerModuleDefaultPipeline(chosen);
  }
  passes.run(module, mam);
}

namespace {

// Options of the process that hold while this lives. LLVM's machine schedulers, before and after register allocation, cannot be
// taken out as passes: the target hangs others to them. Nor can the passes over addresses: a block's are few, and equal ones are one
// already; they save 16 to 88 bytes of code and take a tenth of code generation.
class Switches {
public:
  Switches(bool keep_order, bool block) {
    if (keep_order)
      for (const char* name : {"enable-misched", "enable-post-misched"}) off(name);
    if (block) off("amdgpu-scalar-ir-passes");
  }
  ~Switches() {
    for (llvm::cl::Option* o : switched_) o->reset();
  }
  Switches(const Switches&) = delete;
  Switches& operator=(const Switches&) = delete;

private:
  void off(const char* name) {
    const auto found = llvm::cl::getRegisteredOptions().find(name);
    INLAY_CHECK(found != llvm::cl::getRegisteredOptions().end(), std::string("LLVM's option ") + name);
    found->second->reset();
    INLAY_CHECK(!found->second->addOccurrence(0, name, "false"), std::string("LLVM's option ") + name);
    switched_.push_back(found->second);
  }

  std::vector<llvm::cl::Option*> switched_;
};

// What LLVM's passes made or merged has line 0, "no single line". It is attributed to the kernel: the first line of its text.
void attribute(std::string& assembly) {
  const std::string loc = "\t.loc\t";
  std::string out, kernel;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    unsigned file = 0, number = 0;
    if (line.starts_with(loc) && std::sscanf(line.c_str() + loc.size(), "%u %u", &file, &number) == 2) {
      if (number == 0 && !kernel.empty()) line = kernel;
      if (kernel.empty()) kernel = loc + std::to_string(file) + " " + std::to_string(number) + " 0";
    }
    out += line + "\n";
  }
  assembly = std::move(out);
}

// What blocks of assembly overwrite, by their texts: `{v20}`, `{v21}`, .. LLVM's passes over IR read a block's whole list anew for each of
// its results, so it is kept from them, and is the instruction's from the first pass over instructions on.
struct Overwrites {
  std::vector<std::string> registers;
  bool memory = false; ///< `~{memory}`, a name that LLVM looks for among all of its registers
  bool given = false;  ///< to an instruction
};
using Overwritten = std::map<std::string, Overwrites, std::less<>>;

Overwritten take_overwritten(llvm::Module& module) {
  Overwritten out;
  for (llvm::Function& f : module)
    for (llvm::Instruction& i : llvm::instructions(f)) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(&i);
      if (!call || !call->isInlineAsm()) continue;
      const auto* const block = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      Overwrites here;
      std::string left;
      llvm::SmallVector<llvm::StringRef> all;
      block->getConstraintString().split(all, ',');
      for (const llvm::StringRef c : all)
        if ((c.starts_with("~{v") || c.starts_with("~{a")) && llvm::isDigit(c[3]))
          here.registers.push_back(c.drop_front().str());
        else if (c == "~{memory}")
          here.memory = true;
        else
          left += (left.empty() ? "" : ",") + c.str();
      if (here.registers.empty()) continue;
      const Overwrites& of = out.try_emplace(block->getAsmString().str(), here).first->second;
      if (of.registers != here.registers || of.memory != here.memory)
        continue; // another list of one text stays
      call->setCalledOperand(llvm::InlineAsm::get(block->getFunctionType(), block->getAsmString(), left,
                                                  block->hasSideEffects(), block->isAlignStack(),
                                                  block->getDialect(), block->canThrow()));
    }
  return out;
}

class GiveOverwritten : public llvm::MachineFunctionPass {
public:
  explicit GiveOverwritten(Overwritten& of) : MachineFunctionPass(id_), of_(of) {}
  llvm::StringRef getPassName() const override { return "inlay: what blocks overwrite"; }
  void getAnalysisUsage(llvm::AnalysisUsage& use) const override {
    use.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(use);
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    bool changed = false;
    for (llvm::MachineBasicBlock& block : function)
      for (llvm::MachineInstr& i : block) {
        if (!i.isInlineAsm()) continue;
        const auto found =
            of_.find(std::string_view(i.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName()));
        if (found == of_.end()) continue;
        give(i, found->second, function);
        found->second.given = changed = true;
      }
    return changed;
  }

private:
  // As instruction selection does, before what else is overwritten.
  static void give(llvm::MachineInstr& i, const Overwrites& what, llvm::MachineFunction& function) {
    const llvm::TargetRegisterInfo& info = *function.getSubtarget().getRegisterInfo();
    const llvm::TargetLowering& lowering = *function.getSubtarget().getTargetLowering();
    unsigned at = llvm::InlineAsm::MIOp_FirstOperand;
    while (at < i.getNumOperands() && i.getOperand(at).isImm()) {
      const llvm::InlineAsm::Flag group(static_cast<std::uint32_t>(i.getOperand(at).getImm()));
      if (group.isClobberKind()) break;
      at += 1 + group.getNumOperandRegisters();
    }
    const std::vector<llvm::MachineOperand> rest(i.operands_begin() + at, i.operands_end());
    while (i.getNumOperands() > at) i.removeOperand(i.getNumOperands() - 1);
    const llvm::MachineInstrBuilder builder(function, i);
    for (const std::string& name : what.registers) {
      const llvm::Register r = lowering.getRegForInlineAsmConstraint(&info, name, llvm::MVT::Other).first;
      INLAY_CHECK(r.isPhysical(), "LLVM knows the register " + name);
      builder.addImm(llvm::InlineAsm::Flag(llvm::InlineAsm::Kind::Clobber, 1))
          .addReg(r, llvm::RegState::ImplicitDefine | llvm::RegState::EarlyClobber);
    }
    for (const llvm::MachineOperand& o : rest) builder.add(o);
    llvm::MachineOperand& flags = i.getOperand(llvm::InlineAsm::MIOp_ExtraInfo);
    if (what.memory)
      flags.setImm(flags.getImm() | llvm::InlineAsm::Extra_MayLoad | llvm::InlineAsm::Extra_MayStore);
  }

  Overwritten& of_;
  static char id_;
};
char GiveOverwritten::id_ = 0;

// Ends the life of what a block leaves in registers and nobody reads, each by an instruction of its own that makes no code.
// Otherwise LLVM's live variables find such a register dead piece by piece, halves, registers, pairs, tuples, and note each piece at
// the block, whose list they go through for every next one: 36 of 65 ms of code generation for 128x128x64 on CDNA4.
class EndDeadRegisters : public llvm::MachineFunctionPass {
public:
  EndDeadRegisters() : MachineFunctionPass(id_) {}
  llvm::StringRef getPassName() const override { return "inlay: end of a block's dead registers"; }
  void getAnalysisUsage(llvm::AnalysisUsage& use) const override {
    use.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(use);
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetRegisterInfo& registers = *function.getSubtarget().getRegisterInfo();
    const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
    bool changed = false;
    for (llvm::MachineBasicBlock& block : function)
      for (llvm::MachineInstr& i : block) {
        if (!i.isInlineAsm()) continue;
        llvm::BitVector read(registers.getNumRegUnits());
        const auto next = std::next(i.getIterator());
        for (auto after = next; after != block.end(); ++after)
          for (const llvm::MachineOperand& o : after->operands())
            if (o.isReg() && o.readsReg() && o.getReg().isPhysical())
              for (const auto unit : registers.regunits(o.getReg().asMCReg()))
                read.set(static_cast<unsigned>(unit));
        for (const llvm::MachineOperand& o : i.operands()) {
          if (!o.isReg() || !o.isDef() || !o.getReg().isPhysical()) continue;
          bool dead = true;
          for (const auto unit : registers.regunits(o.getReg().asMCReg()))
            dead = dead && !read.test(static_cast<unsigned>(unit));
          if (!dead) continue;
          llvm::BuildMI(block, next, i.getDebugLoc(), instructions.get(llvm::TargetOpcode::KILL))
              .addReg(o.getReg(), llvm::RegState::Kill);
          changed = true;
        }
      }
    return changed;
  }

private:
  static char id_;
};
char EndDeadRegisters::id_ = 0;

// One wait state between a buffer store of more than 64 bits a lane with its offset in a scalar register and an instruction that
// overwrites what it stores, which LLVM's own hazard recognizer keeps from 23 on (pull request 197267, measured on MI350X) and 22 does
// not: without it the second word stored is the new one. Any instruction between is one, so that few stores need the s_nop.
// The target's own headers are not installed: its instructions are known here by their names, and operands by their kind.
class WideStores : public llvm::MachineFunctionPass {
public:
  WideStores() : MachineFunctionPass(id_) {}
  llvm::StringRef getPassName() const override { return "inlay: wait states after wide buffer stores"; }
  void getAnalysisUsage(llvm::AnalysisUsage& use) const override {
    use.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(use);
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
    bool changed = false;
    for (auto block = function.begin(); block != function.end(); ++block)
      for (auto i = block->instr_begin(); i != block->instr_end(); ++i) {
        const llvm::Register data = wide_data(*i, function);
        if (!data.isValid() || !overwritten_next(data, block, std::next(i), function)) continue;
        instructions.insertNoop(*block, llvm::MachineBasicBlock::iterator(std::next(i)));
        changed = true;
      }
    return changed;
  }

private:
  // What a wide store with its offset in a register stores, or no register. Operands in order: data, address in vector registers if
  // any, descriptor (four scalar registers), offset (a scalar register, or a number), offset (a number), ...
  static llvm::Register wide_data(const llvm::MachineInstr& i, const llvm::MachineFunction& function) {
    const llvm::TargetRegisterInfo& registers = *function.getSubtarget().getRegisterInfo();
    const llvm::StringRef name = function.getSubtarget().getInstrInfo()->getName(i.getOpcode());
    if (!i.mayStore() || !(name.starts_with("BUFFER_") || name.starts_with("TBUFFER_"))) return {};
    const auto width = [&](llvm::Register r) {
      return registers.getRegSizeInBits(*registers.getMinimalPhysRegClass(r)).getFixedValue();
    };
    const auto scalar = [&](llvm::Register r) { return registers.getName(r)[0] == 'S'; };
    llvm::Register data;
    bool descriptor = false;
    for (const llvm::MachineOperand& o : i.explicit_uses()) {
      if (!o.isReg()) break; // the offset is a number, or after it
      if (descriptor) return data;
      if (!data.isValid()) {
        if (width(o.getReg()) <= 64) return {};
        data = o.getReg();
      }
      descriptor = scalar(o.getReg()) && width(o.getReg()) == 128;
    }
    return {};
  }

  // Whether what runs next, in this block or in those that it falls through to, overwrites the register. A load does so later.
  static bool overwritten_next(llvm::Register data, llvm::MachineFunction::iterator block,
                               llvm::MachineBasicBlock::instr_iterator i,
                               const llvm::MachineFunction& function) {
    const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
    const llvm::TargetRegisterInfo& registers = *function.getSubtarget().getRegisterInfo();
    for (;;) {
      for (; i != block->instr_end(); ++i) {
        if (i->isBundle() || i->isMetaInstruction() || instructions.getInstSizeInBytes(*i) == 0) continue;
        if (i->mayLoad() && !i->isInlineAsm()) return false;
        for (const llvm::MachineOperand& o : i->operands())
          if (o.isReg() && o.isDef() && o.getReg().isPhysical() && registers.regsOverlap(o.getReg(), data))
            return true;
        return false;
      }
      if (++block == function.end()) return false;
      i = block->instr_begin();
    }
  }

  static char id_;
};
char WideStores::id_ = 0;

} // namespace

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, bool keep_order) {
  static std::mutex one_at_a_time; // the options above are the process's
  const std::lock_guard lock(one_at_a_time);
  const Switches switches(keep_order, has_block(module));
  mend(module);
  Overwritten overwritten = take_overwritten(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  // What addPassesToEmitFile does, with the configuration in hand.
  auto* const functions = new llvm::MachineModuleInfoWrapperPass(&machine); // the manager's, as all passes
  llvm::TargetPassConfig* const config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::LiveDebugValuesID); // variables' places; there are lines alone
  config->insertPass(&llvm::FinalizeISelID, new GiveOverwritten(overwritten));
  config->insertPass(&llvm::ProcessImplicitDefsID, new EndDeadRegisters);
  config->insertPass(&llvm::PostRAHazardRecognizerID, new WideStores);
  passes.add(config);
  passes.add(functions);
  const bool failed = config->addISelPasses();
  if (!failed) {
    config->addMachinePasses();
    config->setInitialized();
  }
  if (failed || machine.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                      functions->getMMI().getContext()))
    throw InternalError("LLVM cannot write assembly");
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  for (const auto& [words, of] : overwritten)
    INLAY_CHECK(of.given, "each block of assembly has what it overwrites");
  std::string assembly(text.str());
  attribute(assembly);
  return assembly;
}

} // namespace inlay::codegen
