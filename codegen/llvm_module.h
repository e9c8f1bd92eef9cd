/// The LLVM headers of this folder, precompiled, and what is behind `IrModule`. Private.
#pragma once

#include <inlay/codegen/emit.h>

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

struct inlay::codegen::IrModule::Impl {
  // The module refers to the context, so the order of the members matters.
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  double build_ms = 0;
};
