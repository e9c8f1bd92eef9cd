// lld initialises every target that LLVM was built with, and its link-time optimisation, which nothing here asks for, names Polly. The
// library of the AMDGPU part alone (InlayLLVM.cmake) has neither: for a target that is not there, nothing is to be initialised. The names
// are weak, so that those of AMDGPU are its own.
#include <cstdlib>
#include <llvm/Config/llvm-config.h>
#include <llvm/Plugins/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo() { std::abort(); }

#define NOTHING(name)                                                                                        \
  __attribute__((weak)) void LLVMInitialize##name() {}
extern "C" {
#define LLVM_TARGET(name) NOTHING(name##TargetInfo) NOTHING(name##Target) NOTHING(name##TargetMC)
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PRINTER(name) NOTHING(name##AsmPrinter)
#include <llvm/Config/AsmPrinters.def>
#define LLVM_ASM_PARSER(name) NOTHING(name##AsmParser)
#include <llvm/Config/AsmParsers.def>
#define LLVM_DISASSEMBLER(name) NOTHING(name##Disassembler)
#include <llvm/Config/Disassemblers.def>
}
