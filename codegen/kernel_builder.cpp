// The module that a kernel is built in, the order of its memory accesses, its regions.
#include "kernel_builder_impl.h"
#include "wait_limits.h"

#include <llvm/ADT/StringExtras.h>

namespace inlay::codegen {

std::string to_string(Type type) {
  return type.lanes == 1 ? to_string(type.element)
                         : to_string(type.element) + "x" + std::to_string(type.lanes);
}

KernelBuilder::KernelBuilder(const Target& target, const std::string& name,
                             std::span<const Argument> arguments, LaunchBounds bounds)
    : impl_(std::make_unique<Impl>(target)) {
  Impl& s = *impl_;
  if (bounds.workgroup_size < 1 || bounds.workgroup_size > target.max_workgroup_size)
    throw CodegenError("workgroup size out of range", "size   " + std::to_string(bounds.workgroup_size),
                       "1 to " + std::to_string(target.max_workgroup_size) + " on " +
                           std::string(target.name));
  s.bounds = bounds;
  s.module = std::make_unique<llvm::Module>(name, *s.context);
  s.module->addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", 500);
  std::vector<llvm::Type*> types;
  for (const Argument& a : arguments) {
    types.push_back(s.type(a.type));
    s.argument_types.push_back(a.type);
  }
  s.function = llvm::Function::Create(llvm::FunctionType::get(s.ir.getVoidTy(), types, false),
                                      llvm::GlobalValue::ExternalLinkage, name, *s.module);
  s.function->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  for (unsigned i = 0; i < arguments.size(); ++i) {
    s.function->getArg(i)->setName(arguments[i].name);
    if (arguments[i].type.element == Element::global) {
      if (arguments[i].alone) s.function->addParamAttr(i, llvm::Attribute::NoAlias);
      s.function->addParamAttr(i, llvm::Attribute::NoUndef);
    }
  }
  // As many of the first as fit are in scalar registers when a wave begins: it waits for none of them.
  unsigned dwords = 0;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    const unsigned size = arguments[i].type.element == Element::global ? 2 : 1;
    dwords = (dwords + size - 1) / size * size + size;
    if (dwords > static_cast<unsigned>(target.preloaded_dwords)) break;
    s.function->addParamAttr(i, llvm::Attribute::InReg);
  }
  const std::string size = std::to_string(bounds.workgroup_size);
  s.function->addFnAttr("amdgpu-flat-work-group-size", size + "," + size);
  s.function->addFnAttr("uniform-work-group-size", "true");
  s.function->addFnAttr("amdgpu-waves-per-eu", std::to_string(bounds.waves_per_simd));
  s.function->addFnAttr(llvm::Attribute::NoUnwind);
  s.ir.SetInsertPoint(llvm::BasicBlock::Create(*s.context, "entry", s.function));
}

KernelBuilder::~KernelBuilder() = default;

const Target& KernelBuilder::target() const { return live().target; }

KernelBuilder::Impl& KernelBuilder::live() const {
  INLAY_CHECK(impl_, "a builder that has not handed out its module");
  return *impl_;
}

IrModule KernelBuilder::finish() && {
  (void)live();
  const std::unique_ptr<Impl> spent = std::move(impl_);
  Impl& s = *spent;
  s.ir.CreateRetVoid();
  if (s.debug) s.debug->finalize();
  auto out = std::make_unique<IrModule::Impl>();
  out->context = std::move(s.context);
  out->module = std::move(s.module);
  out->build_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - s.start).count();
  return IrModule(std::move(out));
}

namespace {

// Clocks of issue, as a wave of 64 lanes pays them; nothing for what is no instruction.
int clocks_of(const llvm::Instruction& i) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
  const int lanes = vector ? static_cast<int>(vector->getNumElements()) : 1;
  switch (i.getOpcode()) {
  case llvm::Instruction::FAdd:
  case llvm::Instruction::FSub:
  case llvm::Instruction::FMul: return 2 * lanes + 2 * (lanes % 2);
  case llvm::Instruction::BitCast:
  case llvm::Instruction::ExtractElement:
  case llvm::Instruction::InsertElement:
  case llvm::Instruction::ShuffleVector: return 0;
  case llvm::Instruction::Call:
    switch (llvm::cast<llvm::CallInst>(i).getIntrinsicID()) {
    case intrinsic::fma: return 2 * lanes + 2 * (lanes % 2);
    case intrinsic::amdgcn_exp2:
    case intrinsic::amdgcn_log:
    case intrinsic::amdgcn_rcp:
    case intrinsic::amdgcn_rsq: return 8 * lanes;
    default: return 4 * lanes;
    }
  default: return 4 * lanes;
  }
}
bool is_matrix(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName().contains(".mfma.");
}

} // namespace

void KernelBuilder::spread_arithmetic() {
  for (llvm::BasicBlock& block : *live().function) {
    int matrix = 0, clocks = 0;
    std::vector<llvm::Instruction*> order;
    std::map<const llvm::Instruction*, bool> waits; // arithmetic that is not placed yet
    for (llvm::Instruction& i : block) {
      order.push_back(&i);
      if (is_matrix(i)) {
        ++matrix;
      } else if (!llvm::isa<llvm::PHINode>(i) && !i.isTerminator() && !i.mayReadOrWriteMemory() &&
                 !i.mayHaveSideEffects()) {
        waits[&i] = true;
        clocks += clocks_of(i);
      }
    }
    if (matrix < 8 || clocks == 0) continue;
    const int portion = (clocks + matrix - 1) / matrix;
    std::vector<llvm::Instruction*> out, queue;
    const std::function<void(llvm::Instruction*)> place = [&](llvm::Instruction* i) {
      if (const auto w = waits.find(i); w != waits.end()) {
        if (!w->second) return;
        w->second = false;
      }
      for (llvm::Value* v : i->operands())
        if (auto* o = llvm::dyn_cast<llvm::Instruction>(v); o && waits.contains(o)) place(o);
      out.push_back(i);
    };
    std::size_t head = 0;
    int credit = 0;
    for (llvm::Instruction* i : order) {
      if (i->isTerminator() || llvm::isa<llvm::PHINode>(i)) continue;
      if (waits.contains(i)) {
        queue.push_back(i);
        continue;
      }
      place(i);
      if (!is_matrix(*i)) continue;
      credit = std::min(credit + portion, 2 * portion);
      for (; head < queue.size() && (credit > 0 || !waits.at(queue[head])); ++head) {
        if (!waits.at(queue[head])) continue;
        credit -= clocks_of(*queue[head]);
        place(queue[head]);
      }
    }
    for (; head < queue.size(); ++head) place(queue[head]);
    llvm::Instruction* end = block.getTerminator();
    for (llvm::Instruction* i : out)
      if (end) {
        i->moveBefore(end->getIterator());
      } else {
        i->moveBefore(block, block.end());
      }
  }
}

Value KernelBuilder::argument(int index) {
  Impl& s = live();
  INLAY_CHECK(index >= 0 && index < static_cast<int>(s.argument_types.size()), "index of an argument");
  return s.make(s.function->getArg(unsigned(index)), s.argument_types[std::size_t(index)]);
}

Value KernelBuilder::workgroup_id(int axis) {
  const intrinsic::ID ids[] = {intrinsic::amdgcn_workgroup_id_x, intrinsic::amdgcn_workgroup_id_y,
                               intrinsic::amdgcn_workgroup_id_z};
  INLAY_CHECK(axis >= 0 && axis < 3, "axis of a grid");
  return live().i32(live().call(ids[axis]));
}

Value KernelBuilder::work_item_id() {
  Impl& s = live();
  llvm::CallInst* id = s.call(intrinsic::amdgcn_workitem_id_x);
  id->addRangeRetAttr(
      llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, unsigned(s.bounds.workgroup_size))));
  return s.i32(id);
}

// ---------------------------------------------------------------------------------------------------- order

// s_barrier alone orders nothing for the compiler; the fences do, at workgroup scope, where they cost one
// s_waitcnt lgkmcnt(0). They are told to order LDS only: loads from memory stay in flight.
void KernelBuilder::barrier() {
  Impl& s = live();
  const auto scope = s.context->getOrInsertSyncScopeID("workgroup");
  llvm::MDNode* local =
      llvm::MDNode::get(*s.context, {llvm::MDString::get(*s.context, "amdgpu-synchronize-as"),
                                     llvm::MDString::get(*s.context, "local")});
  s.ir.CreateFence(llvm::AtomicOrdering::Release, scope)->setMetadata(llvm::LLVMContext::MD_mmra, local);
  s.call(intrinsic::amdgcn_s_barrier);
  s.ir.CreateFence(llvm::AtomicOrdering::Acquire, scope)->setMetadata(llvm::LLVMContext::MD_mmra, local);
}

// LLVM "User Guide for AMDGPU Backend", the memory model of CDNA3: at agent scope a release writes the caches back that other
// compute units do not share and waits for every store, an acquire makes what they hold of others' memory invalid.
void KernelBuilder::release(bool system) {
  Impl& s = live();
  const llvm::SyncScope::ID all = llvm::SyncScope::System;
  s.ir.CreateFence(llvm::AtomicOrdering::Release, system ? all : s.context->getOrInsertSyncScopeID("agent"));
  // The write-back counts in vmcnt, which LLVM 22.1 does not know: where no store is outstanding it drops the fence's own wait.
  if (s.target.scopes) wait(0, -1);
}
void KernelBuilder::acquire(bool system) {
  Impl& s = live();
  const llvm::SyncScope::ID all = llvm::SyncScope::System;
  s.ir.CreateFence(llvm::AtomicOrdering::Acquire, system ? all : s.context->getOrInsertSyncScopeID("agent"));
}
void KernelBuilder::meet(Value mine, Value there, Value here) {
  Impl& s = live();
  for (const Value& v : {mine, there, here}) Impl::want(v, Type::global());
  const auto load = [&](Value pointer) {
    llvm::LoadInst* v = s.ir.CreateAlignedLoad(s.ir.getInt32Ty(), s.get(pointer), llvm::MaybeAlign(4));
    v->setAtomic(llvm::AtomicOrdering::Monotonic, llvm::SyncScope::System);
    return v;
  };
  llvm::Value* count = s.ir.CreateAdd(load(mine), s.ir.getInt32(1));
  llvm::StoreInst* store = s.ir.CreateAlignedStore(count, s.get(there), llvm::MaybeAlign(4));
  store->setAtomic(llvm::AtomicOrdering::Monotonic, llvm::SyncScope::System);
  llvm::BasicBlock* again = llvm::BasicBlock::Create(*s.context, "meet", s.function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(*s.context, "after", s.function);
  s.ir.CreateBr(again);
  s.ir.SetInsertPoint(again);
  s.ir.CreateIntrinsic(intrinsic::amdgcn_s_sleep, {}, {s.ir.getInt32(1)});
  s.ir.CreateCondBr(s.ir.CreateICmpSGE(s.ir.CreateSub(load(here), count), s.ir.getInt32(0)), after, again);
  s.ir.SetInsertPoint(after);
}
Value KernelBuilder::count_on(Value pointer, Value last) {
  Impl& s = live();
  Impl::want(pointer, Type::global());
  Impl::want(last, Type::i32());
  return s.make(s.atomic(llvm::AtomicRMWInst::UIncWrap, s.get(pointer), s.get(last)), Type::i32());
}

void KernelBuilder::await(Value pointer, Value wanted) {
  Impl& s = live();
  Impl::want(pointer, Type::global());
  Impl::want(wanted, Type::i32());
  llvm::BasicBlock* again = llvm::BasicBlock::Create(*s.context, "await", s.function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(*s.context, "after", s.function);
  s.ir.CreateBr(again);
  s.ir.SetInsertPoint(again);
  s.ir.CreateIntrinsic(intrinsic::amdgcn_s_sleep, {},
                       {s.ir.getInt32(1)}); // 64 clocks, for those that have something to do
  llvm::LoadInst* now = s.ir.CreateAlignedLoad(s.ir.getInt32Ty(), s.get(pointer), llvm::MaybeAlign(4));
  now->setAtomic(llvm::AtomicOrdering::Monotonic, s.context->getOrInsertSyncScopeID("agent"));
  s.ir.CreateCondBr(s.ir.CreateICmpEQ(now, s.get(wanted)), after, again);
  s.ir.SetInsertPoint(after);
}
void KernelBuilder::atomic_store(Value pointer, Value value) {
  Impl& s = live();
  Impl::want(pointer, Type::global());
  Impl::want(value, Type::i32());
  llvm::StoreInst* store = s.ir.CreateAlignedStore(s.get(value), s.get(pointer), llvm::MaybeAlign(4));
  store->setAtomic(llvm::AtomicOrdering::Monotonic, s.context->getOrInsertSyncScopeID("agent"));
}

void KernelBuilder::print(const std::string& format, std::span<const Value> values) {
  Impl& s = live();
  // The host finds the text by its number, before which stand two fields that HIP does not use.
  llvm::NamedMDNode* texts = s.module->getOrInsertNamedMetadata("llvm.printf.fmts");
  unsigned number = 0; // from 1
  const auto entry = [&](unsigned n) {
    std::string text = "0:0:" + llvm::utohexstr(n, true) + ",";
    for (const char c : format) text += c == '\n' ? "\\n" : std::string(1, c);
    return text;
  };
  for (unsigned n = 1; n <= texts->getNumOperands() && number == 0; ++n)
    if (llvm::cast<llvm::MDString>(texts->getOperand(n - 1)->getOperand(0))->getString() == entry(n))
      number = n;
  if (number == 0) {
    number = texts->getNumOperands() + 1;
    texts->addOperand(llvm::MDNode::get(*s.context, llvm::MDString::get(*s.context, entry(number))));
  }

  // The buffer: bytes in use, bytes in all, and records: their bytes and what they are, the text's number, values of 8 bytes.
  llvm::IRBuilder<>& ir = s.ir;
  constexpr unsigned of_buffer = 72; // among the arguments that the runtime adds, code object version 5
  constexpr unsigned constant_text = 2;
  const auto bytes = static_cast<unsigned>(4 + 8 + 8 * values.size());
  const auto at_byte = [&](llvm::Value* base, unsigned byte) {
    return ir.CreateConstInBoundsGEP1_32(ir.getInt8Ty(), base, byte);
  };
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(*s.context, name, s.function); };
  llvm::BasicBlock *there = block("print.there"), *room = block("print.room"), *take = block("print.take"),
                   *write = block("print.write"), *after = block("print.after");
  llvm::Value* buffer = ir.CreateAlignedLoad(ir.getPtrTy(global_space),
                                             at_byte(s.call(intrinsic::amdgcn_implicitarg_ptr), of_buffer),
                                             llvm::MaybeAlign(8));
  ir.CreateCondBr(ir.CreateIsNull(buffer), after, there);
  ir.SetInsertPoint(there);
  llvm::Value* size = ir.CreateAlignedLoad(ir.getInt32Ty(), at_byte(buffer, 4), llvm::MaybeAlign(4));
  const auto agent = s.context->getOrInsertSyncScopeID("agent");
  llvm::LoadInst* first = ir.CreateAlignedLoad(ir.getInt32Ty(), buffer, llvm::MaybeAlign(4));
  first->setAtomic(llvm::AtomicOrdering::Monotonic, agent);
  ir.CreateBr(room);
  // What has no room takes none: behind it a shorter record may have.
  ir.SetInsertPoint(room);
  llvm::PHINode* at = ir.CreatePHI(ir.getInt32Ty(), 2);
  at->addIncoming(first, there);
  llvm::Value* end = ir.CreateAdd(at, ir.getInt32(bytes));
  ir.CreateCondBr(ir.CreateICmpULE(end, size), take, after);
  ir.SetInsertPoint(take);
  llvm::Value* taken =
      ir.CreateAtomicCmpXchg(buffer, at, end, llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic,
                             llvm::AtomicOrdering::Monotonic, agent);
  at->addIncoming(ir.CreateExtractValue(taken, 0), take);
  ir.CreateCondBr(ir.CreateExtractValue(taken, 1), write, room);
  ir.SetInsertPoint(write);
  llvm::Value* record = ir.CreateGEP(ir.getInt8Ty(), at_byte(buffer, 8), ir.CreateZExt(at, ir.getInt64Ty()));
  ir.CreateAlignedStore(ir.getInt32(bytes << 2 | constant_text), record, llvm::MaybeAlign(4));
  ir.CreateAlignedStore(ir.getInt64(number), at_byte(record, 4), llvm::MaybeAlign(4));
  for (std::size_t v = 0; v < values.size(); ++v) {
    llvm::Value* value = s.get(values[v]);
    value = value->getType()->isFloatTy() ? ir.CreateFPExt(value, ir.getDoubleTy())
                                          : ir.CreateZExt(value, ir.getInt64Ty());
    ir.CreateAlignedStore(value, at_byte(record, static_cast<unsigned>(12 + 8 * v)), llvm::MaybeAlign(4));
  }
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

void KernelBuilder::wait(int vm, int lgkm) {
  // vmcnt in bits 3:0 and 15:14, expcnt in 6:4, lgkmcnt in 11:8; all ones says nothing.
  const auto v = static_cast<unsigned>(vm < 0 ? 63 : std::min(vm, most_vm)),
             l = static_cast<unsigned>(lgkm < 0 ? 15 : std::min(lgkm, most_lgkm));
  llvm::IRBuilder<>& ir = live().ir;
  ir.CreateIntrinsic(intrinsic::amdgcn_s_waitcnt, {},
                     {ir.getInt32((v & 15U) | (v >> 4 << 14) | (7U << 4) | (l << 8))});
}

void KernelBuilder::sched_group(int mask, int count, int group) {
  llvm::IRBuilder<>& ir = live().ir;
  ir.CreateIntrinsic(
      intrinsic::amdgcn_sched_group_barrier, {},
      {ir.getInt32(unsigned(mask)), ir.getInt32(unsigned(count)), ir.getInt32(unsigned(group))});
}
void KernelBuilder::sched_barrier(int allowed) {
  live().ir.CreateIntrinsic(intrinsic::amdgcn_sched_barrier, {}, {live().ir.getInt32(unsigned(allowed))});
}
void KernelBuilder::set_priority(int priority) {
  INLAY_CHECK(priority >= 0 && priority <= 3, "a priority");
  live().ir.CreateIntrinsic(intrinsic::amdgcn_s_setprio, {}, {live().ir.getInt16(std::uint16_t(priority))});
}

// --------------------------------------------------------------------------------------------- control flow

KernelBuilder::Values KernelBuilder::loop(Value begin, Value end, Value step, Values carried,
                                          const std::function<Values(Value, const Values&)>& body) {
  Impl& s = live();
  llvm::BasicBlock* before = s.ir.GetInsertBlock();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(*s.context, "loop", s.function);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(*s.context, "done", s.function);
  // The loop is entered through a test and tested at its end, so that the body is one block.
  llvm::Value* enter = s.ir.CreateICmpULT(s.get(begin), s.get(end));
  s.ir.CreateCondBr(enter, head, exit);

  s.ir.SetInsertPoint(head);
  llvm::PHINode* i = s.ir.CreatePHI(s.ir.getInt32Ty(), 2, "i");
  i->addIncoming(s.get(begin), before);
  std::vector<llvm::PHINode*> phis;
  Values inside;
  for (const Value& v : carried) {
    llvm::PHINode* phi = s.ir.CreatePHI(s.type(v.type), 2);
    phi->addIncoming(s.get(v), before);
    phis.push_back(phi);
    inside.push_back(s.make(phi, v.type));
  }
  s.open_region();
  const Values next = body(s.i32(i), inside);
  s.close_region();
  INLAY_CHECK(next.size() == carried.size(), "a loop body hands on as many values as it was given");
  llvm::Value* following = s.ir.CreateAdd(i, s.get(step), "", true, false);
  llvm::BasicBlock* last = s.ir.GetInsertBlock();
  s.ir.CreateCondBr(s.ir.CreateICmpULT(following, s.get(end)), head, exit);
  i->addIncoming(following, last);
  for (std::size_t k = 0; k < phis.size(); ++k) {
    s.same(next[k], carried[k]);
    phis[k]->addIncoming(s.get(next[k]), last);
  }

  s.ir.SetInsertPoint(exit);
  Values out;
  for (std::size_t k = 0; k < carried.size(); ++k) {
    llvm::PHINode* phi = s.ir.CreatePHI(s.type(carried[k].type), 2);
    phi->addIncoming(s.get(carried[k]), before);
    phi->addIncoming(s.get(next[k]), last);
    out.push_back(s.make(phi, carried[k].type));
  }
  return out;
}

KernelBuilder::Values KernelBuilder::rotate(Value end, int ring, Values carried,
                                            const std::function<Values(int, Value, const Values&)>& body,
                                            const std::function<Values(Value, const Values&)>& exit) {
  Impl& s = live();
  INLAY_CHECK(ring >= 1, "a ring of at least one");
  const auto trip = [&](int residue, Value i, const Values& now) {
    s.open_region();
    Values next = body(residue, i, now);
    s.close_region();
    INLAY_CHECK(next.size() == carried.size(), "a trip hands on as many values as it was given");
    return next;
  };
  // Whole rounds in one block, so that the scheduler sees all of it; the trips that are left follow one by one.
  const Value whole = sub(end, urem(end, constant(ring)));
  Values now = loop(constant(0), whole, constant(ring), carried, [&](Value i, const Values& start) {
    Values inside = start;
    for (int r = 0; r < ring; ++r) inside = trip(r, r == 0 ? i : add(i, constant(r)), inside);
    return inside;
  });
  // A conditional trip changes the values in place; two exits side by side would keep both sets alive, because LLVM lays
  // branches out one after the other.
  // The residue goes along with them: on each path it is a number.
  now.push_back(constant(0));
  for (int r = 0; r + 1 < ring; ++r) {
    const Value i = add(whole, constant(r));
    now = if_values(compare(Compare::ult, i, end), now, [&] {
      Values next = trip(r, i, Values(now.begin(), now.end() - 1));
      next.push_back(constant(r + 1));
      return next;
    });
  }
  const Value residue = now.back();
  now.pop_back();
  return exit(residue, now);
}

LdsBlock KernelBuilder::lds_choose(Value index, std::span<const LdsBlock> among) {
  Impl& s = live();
  Impl::want(index, Type::i32());
  INLAY_CHECK(!among.empty(), "blocks to choose from");
  llvm::Value* chosen = s.blocks[std::size_t(among[0].id)].global;
  int bytes = among[0].bytes;
  for (std::size_t i = 1; i < among.size(); ++i) {
    llvm::Value* here = s.ir.CreateICmpEQ(s.get(index), s.ir.getInt32(unsigned(i)));
    chosen = s.ir.CreateSelect(here, s.blocks[std::size_t(among[i].id)].global, chosen);
    bytes = std::min(bytes, among[i].bytes);
  }
  s.blocks.push_back({chosen, bytes});
  return {static_cast<int>(s.blocks.size()) - 1, bytes};
}

std::source_location KernelBuilder::located() const { return impl_->where; }

void KernelBuilder::locate(const std::source_location& where) {
  Impl& s = live();
  s.where = where;
  if (!s.debug) {
    s.module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    s.debug = std::make_unique<llvm::DIBuilder>(*s.module);
    llvm::DIFile* f = s.file(where.file_name());
    llvm::DICompileUnit* unit =
        s.debug->createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C_plus_plus_14), f,
                                   "inlay", true, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
    s.subprogram = s.debug->createFunction(
        unit, s.function->getName(), s.function->getName(), f, where.line(),
        s.debug->createSubroutineType(s.debug->getOrCreateTypeArray({})), where.line(),
        llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
    s.function->setSubprogram(s.subprogram);
  }
  llvm::DIFile* f = s.file(where.file_name());
  llvm::DIScope* scope = f == s.subprogram->getFile() ? static_cast<llvm::DIScope*>(s.subprogram)
                                                      : s.debug->createLexicalBlockFile(s.subprogram, f);
  s.ir.SetCurrentDebugLocation(llvm::DILocation::get(*s.context, where.line(), where.column(), scope));
}

void KernelBuilder::if_then(Value condition, const std::function<void()>& then) {
  if_values(condition, {}, [&] {
    then();
    return Values();
  });
}

void KernelBuilder::if_else(Value condition, const std::function<void()>& then,
                            const std::function<void()>& otherwise) {
  Impl& s = live();
  Impl::want(condition, Type::i1());
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(*s.context, "then", s.function);
  llvm::BasicBlock* no = llvm::BasicBlock::Create(*s.context, "else", s.function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(*s.context, "after", s.function);
  s.ir.CreateCondBr(s.get(condition), yes, no);
  for (const auto& [block, body] : {std::pair(yes, &then), std::pair(no, &otherwise)}) {
    s.ir.SetInsertPoint(block);
    s.open_region();
    (*body)();
    s.close_region();
    s.ir.CreateBr(after);
  }
  s.ir.SetInsertPoint(after);
}

KernelBuilder::Values KernelBuilder::if_values(Value condition, const Values& otherwise,
                                               const std::function<Values()>& then) {
  return join(condition, &otherwise, then);
}
KernelBuilder::Values KernelBuilder::if_values(Value condition, const std::function<Values()>& then) {
  return join(condition, nullptr, then);
}

KernelBuilder::Values KernelBuilder::join(Value condition, const Values* otherwise,
                                          const std::function<Values()>& then) {
  Impl& s = live();
  Impl::want(condition, Type::i1());
  llvm::BasicBlock* before = s.ir.GetInsertBlock();
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(*s.context, "then", s.function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(*s.context, "after", s.function);
  s.ir.CreateCondBr(s.get(condition), yes, after);
  s.ir.SetInsertPoint(yes);
  s.open_region();
  const Values given = then();
  s.close_region();
  INLAY_CHECK(!otherwise || given.size() == otherwise->size(), "both branches give as many values");
  llvm::BasicBlock* last = s.ir.GetInsertBlock();
  s.ir.CreateBr(after);
  s.ir.SetInsertPoint(after);
  Values out;
  for (std::size_t i = 0; i < given.size(); ++i) {
    llvm::Type* type = s.type(given[i].type);
    if (otherwise) s.same(given[i], (*otherwise)[i]);
    llvm::PHINode* phi = s.ir.CreatePHI(type, 2);
    phi->addIncoming(otherwise ? s.get((*otherwise)[i]) : llvm::PoisonValue::get(type), before);
    phi->addIncoming(s.get(given[i]), last);
    out.push_back(s.make(phi, given[i].type));
  }
  return out;
}

} // namespace inlay::codegen
