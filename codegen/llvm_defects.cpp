// What LLVM 22 gets wrong, said otherwise before it makes code of it. docs/strangers.md has each with its command.
#include "generate.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

namespace inlay::codegen {
namespace {

namespace match = llvm::PatternMatch;

using OfElement = llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*)>;

/// `f` of each element of a vector, or of the value.
llvm::Value* each(llvm::IRBuilder<>& ir, llvm::Value* v, OfElement f) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (vector == nullptr) return f(ir, v);
  llvm::Value* out = llvm::PoisonValue::get(v->getType());
  for (unsigned e = 0; e < vector->getNumElements(); ++e)
    out = ir.CreateInsertElement(out, f(ir, ir.CreateExtractElement(v, e)), e);
  return out;
}

/// The value itself, of which nothing is known: an instruction without code. llvm.arithmetic.fence of what is the same in all lanes has no
/// instruction (`illegal VGPR to SGPR copy`).
llvm::Value* opaque(llvm::IRBuilder<>& ir, llvm::Value* v) {
  return each(ir, v, [](llvm::IRBuilder<>& b, llvm::Value* x) -> llvm::Value* {
    auto* const type = llvm::FunctionType::get(x->getType(), {x->getType()}, false);
    return b.CreateCall(type, llvm::InlineAsm::get(type, "", "=v,0", false), {x});
  });
}

/// Whether an operation is one of floats, which no pass takes for one of its bits.
bool computes(const llvm::Value* v) {
  const auto* const i = llvm::dyn_cast<llvm::Instruction>(v);
  if (i == nullptr) return false;
  switch (i->getOpcode()) {
  case llvm::Instruction::FAdd:
  case llvm::Instruction::FSub:
  case llvm::Instruction::FMul:
  case llvm::Instruction::FDiv:
  case llvm::Instruction::FPExt:
  case llvm::Instruction::FPTrunc:
  case llvm::Instruction::UIToFP:
  case llvm::Instruction::SIToFP: return true;
  case llvm::Instruction::Call: return i->getType()->isFPOrFPVectorTy();
  default: return false;
  }
}

/// Whether an element of a constant is +0.
bool has_zero(const llvm::Value* v) {
  const auto* const constant = llvm::dyn_cast<llvm::Constant>(v);
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (constant == nullptr) return false;
  for (unsigned e = 0; e < (vector == nullptr ? 1 : vector->getNumElements()); ++e) {
    const llvm::Constant* const of = vector == nullptr ? constant : constant->getAggregateElement(e);
    if (const auto* const x = llvm::dyn_cast_or_null<llvm::ConstantFP>(of);
        x == nullptr || (x->isZero() && !x->isNegative()))
      return true;
  }
  return false;
}

bool mends(llvm::Instruction& i) {
  llvm::IRBuilder<> ir(&i);
  const bool vector = i.getType()->isVectorTy();
  // A sign that is changed in a vector of words: of fneg (bitcast v) LLVM negates the last word alone, and of a choice of v & 0x7fffffff it
  // makes a source modifier of a value that it does not compute.
  llvm::Value* x = nullptr;
  if (vector && match::match(&i, match::m_FNeg(match::m_Value(x))) && !computes(x)) {
    i.replaceAllUsesWith(each(ir, x, [](auto& b, llvm::Value* e) { return b.CreateFNeg(e); }));
    return true;
  }
  if (vector && match::match(&i, match::m_FAbs(match::m_Value(x))) && !computes(x)) {
    i.replaceAllUsesWith(each(
        ir, x, [](auto& b, llvm::Value* e) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, e); }));
    return true;
  }
  const llvm::APInt* mask = nullptr;
  if (vector && i.isBitwiseLogicOp() && i.getType()->getScalarSizeInBits() == 32 &&
      match::match(&i, match::m_c_BinOp(match::m_Value(x), match::m_APInt(mask))) &&
      (mask->isSignMask() || mask->isMaxSignedValue())) {
    auto& op = llvm::cast<llvm::BinaryOperator>(i);
    i.replaceAllUsesWith(each(
        ir, x, [&](auto& b, llvm::Value* e) { return b.CreateBinOp(op.getOpcode(), e, b.getInt(*mask)); }));
    return true;
  }
  // A source modifier for 0 - x, which is 0 where x is 0 and not -0.
  if (i.getOpcode() == llvm::Instruction::FSub && has_zero(i.getOperand(0))) {
    llvm::SmallVector<llvm::Use*> uses;
    for (llvm::Use& u : i.uses()) uses.push_back(&u);
    ir.SetInsertPoint(i.getNextNode());
    llvm::Value* const made = opaque(ir, &i);
    for (llvm::Use* u : uses) u->set(made);
    return false;
  }
  if (i.getOpcode() == llvm::Instruction::FPTrunc && i.getType()->getScalarType()->isHalfTy() &&
      i.getOperand(0)->getType()->getScalarType()->isFloatTy() && is_product(i.getOperand(0), true)) {
    i.setOperand(0, opaque(ir, i.getOperand(0)));
    return false;
  }
  if (auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::arithmetic_fence) {
    i.replaceAllUsesWith(opaque(ir, call->getArgOperand(0)));
    return true;
  }
  return false;
}

} // namespace

bool is_product(const llvm::Value* v, bool also_of_halves) {
  const auto* const i = llvm::dyn_cast<llvm::Instruction>(v);
  if (i == nullptr) return false;
  const auto of = [&](unsigned k) { return is_product(i->getOperand(k), also_of_halves); };
  const auto widened = [&](unsigned k) { return llvm::isa<llvm::FPExtInst>(i->getOperand(k)); };
  switch (i->getOpcode()) {
  case llvm::Instruction::FMul: return also_of_halves || !widened(0) || !widened(1);
  case llvm::Instruction::FNeg:
  case llvm::Instruction::Freeze:
  case llvm::Instruction::ExtractElement: return of(0);
  case llvm::Instruction::InsertElement:
  case llvm::Instruction::ShuffleVector: return of(0) || of(1);
  case llvm::Instruction::Select: return of(1) || of(2);
  default: return false;
  }
}

void mend(llvm::Module& module) {
  for (llvm::Function& f : module)
    for (llvm::BasicBlock& block : f)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block))
        if (mends(i)) i.eraseFromParent();
}

} // namespace inlay::codegen
