#include "llvm_module.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/codegen/kernel_builder.h>

#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace inlay::codegen {
namespace {

namespace intrinsic = llvm::Intrinsic;
constexpr unsigned global_space = 1, lds_space = 3, buffer_space = 8;

} // namespace

std::string to_string(Type type) {
  return type.lanes == 1 ? to_string(type.element)
                         : to_string(type.element) + "x" + std::to_string(type.lanes);
}

struct KernelBuilder::Impl {
  const Target& target;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
  llvm::IRBuilder<> ir{*context};
  llvm::Function* function = nullptr;
  std::vector<Type> argument_types;
  LaunchBounds bounds;

  std::vector<llvm::Value*> values;
  struct Block {
    llvm::Value* global; // the variable, or one chosen among several
    int bytes;
  };
  std::vector<Block> blocks;
  int lds_bytes = 0;

  // What a region has computed from symbols: a region sees its own and those around it.
  std::vector<std::map<Sym, Value>> lowered{1};
  std::vector<std::map<AtomId, Value>> symbols{1};
  const SymContext* one_context =
      nullptr; // atoms are numbers of a context: those of another one would be mistaken for them
  void open_region() { lowered.emplace_back(), symbols.emplace_back(); }
  void close_region() { lowered.pop_back(), symbols.pop_back(); }
  const Value* bound(AtomId symbol) const {
    for (auto region = symbols.rbegin(); region != symbols.rend(); ++region)
      if (const auto found = region->find(symbol); found != region->end()) return &found->second;
    return nullptr;
  }

  // Line table: a compile unit of the first file, a subprogram, and a file for each name.
  std::unique_ptr<llvm::DIBuilder> debug;
  llvm::DISubprogram* subprogram = nullptr;
  std::map<std::string, llvm::DIFile*> files;
  llvm::DIFile* file(const std::string& path) {
    const std::string name = path.substr(path.find_last_of('/') + 1);
    llvm::DIFile*& f = files[name];
    if (!f) f = debug->createFile(name, "");
    return f;
  }

  explicit Impl(const Target& t) : target(t) {}

  llvm::Type* scalar(Element e) {
    switch (e) {
    case Element::f64: return ir.getDoubleTy();
    case Element::f32:
    case Element::xf32: return ir.getFloatTy();
    case Element::f16: return ir.getHalfTy();
    case Element::bf16: return ir.getBFloatTy();
    case Element::global: return ir.getPtrTy(global_space);
    case Element::lds: return ir.getPtrTy(lds_space);
    case Element::buffer: return ir.getPtrTy(buffer_space);
    default: return ir.getIntNTy(unsigned(bits(e))); // narrow floats are bits to LLVM
    }
  }
  llvm::Type* type(Type t) {
    // What is narrower than a byte is moved and multiplied in whole registers, and never taken apart.
    if (bits(t.element) < 8 && t.element != Element::i1) {
      INLAY_CHECK(t.bytes() % 4 == 0 && t.bytes() > 0, "whole registers of " + to_string(t));
      return llvm::FixedVectorType::get(ir.getInt32Ty(), unsigned(t.bytes() / 4));
    }
    return t.lanes == 1 ? scalar(t.element)
                        : llvm::FixedVectorType::get(scalar(t.element), unsigned(t.lanes));
  }
  Value make(llvm::Value* v, Type t) {
    INLAY_CHECK(v->getType() == type(t), "a value of type " + to_string(t));
    values.push_back(v);
    return {static_cast<int>(values.size()) - 1, t};
  }
  llvm::Value* get(Value v) const {
    INLAY_CHECK(v.id >= 0 && v.id < static_cast<int>(values.size()), "a value of this builder");
    return values[static_cast<std::size_t>(v.id)];
  }
  void same(Value a, Value b) const {
    INLAY_CHECK(a.type == b.type, "operands of one type: " + to_string(a.type) + " and " + to_string(b.type));
  }
  static void want(Value a, Type t) {
    INLAY_CHECK(a.type == t, "a value of type " + to_string(t) + ", not " + to_string(a.type));
  }
  Value i32(llvm::Value* v) { return make(v, Type::i32()); }

  // The memory instructions move whole registers or a part of one; LLVM's buffer intrinsics want the integer
  // vector of that size.
  Type memory_type(Type t, const char* what) const {
    const int bytes = t.bytes();
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 12 && bytes != 16)
      throw CodegenError(std::string(what) + ": no instruction of that width",
                         "type   " + to_string(t) + " is " + std::to_string(bytes) + " bytes",
                         "1, 2, 4, 8, 12 or 16 bytes a lane");
    if (bytes == 1) return {Element::i8, 1};
    if (bytes == 2) return Type::i16();
    return Type::i32(bytes / 4);
  }
  llvm::Value* cast(llvm::Value* v, Type to) {
    llvm::Type* t = type(to);
    return v->getType() == t ? v : ir.CreateBitCast(v, t);
  }
  llvm::CallInst* call(intrinsic::ID id) {
    return ir.CreateCall(intrinsic::getOrInsertDeclaration(module.get(), id));
  }
  // An operand as the intrinsic wants it: bf16 travels as i16 in some signatures.
  llvm::Value* parameter(Value v, const llvm::Function& f, unsigned index) {
    llvm::Type* t = f.getFunctionType()->getParamType(index);
    llvm::Value* given = get(v);
    INLAY_CHECK(t->getPrimitiveSizeInBits() == given->getType()->getPrimitiveSizeInBits(),
                "an operand of the size that " + f.getName().str() + " takes, not " + to_string(v.type));
    return given->getType() == t ? given : ir.CreateBitCast(given, t);
  }
  llvm::Value* scalar_offset(const BufferOffset& extra) {
    return extra.scalar.id < 0 ? ir.getInt32(0) : get(extra.scalar);
  }
  llvm::Value* with_immediate(Value byte_offset, int immediate) {
    llvm::Value* v = get(byte_offset);
    return immediate == 0 ? v : ir.CreateAdd(v, ir.getInt32(unsigned(immediate)), "", true, false);
  }
  static int cache_policy(const BufferOffset& extra) { return extra.streaming ? 2 : 0; }
  llvm::Value* lds_pointer(LdsBlock block, Value byte_offset, int immediate) {
    INLAY_CHECK(block.id >= 0 && block.id < static_cast<int>(blocks.size()), "an LDS block of this builder");
    want(byte_offset, Type::i32());
    llvm::Value* p =
        ir.CreateInBoundsGEP(ir.getInt8Ty(), blocks[std::size_t(block.id)].global, get(byte_offset));
    return immediate == 0 ? p : ir.CreateInBoundsGEP(ir.getInt8Ty(), p, ir.getInt32(unsigned(immediate)));
  }

  void of_one_context(Sym a) {
    if (!a.context()) return;
    if (!one_context) one_context = a.context();
    if (one_context != a.context())
      throw CodegenError("symbols of two contexts in one kernel", "value  " + to_string(a),
                         "make the symbols of a kernel in one SymContext");
  }
  Value lower(Sym s);
  Value lower_atom(SymContext& context, AtomId id);
};

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

// ------------------------------------------------------------------------------------------------ constants

Value KernelBuilder::constant(std::int64_t value, Type type) {
  Impl& s = live();
  llvm::Type* t = s.type(type);
  INLAY_CHECK(t->isIntOrIntVectorTy(), "an integer type, not " + to_string(type));
  return s.make(llvm::ConstantInt::get(t, std::uint64_t(value), true, true), type);
}
Value KernelBuilder::zero(Type type) {
  return live().make(llvm::Constant::getNullValue(live().type(type)), type);
}
Value KernelBuilder::float_constant(double value, Type type) {
  return live().make(llvm::ConstantFP::get(live().type(type), value), type);
}

std::optional<std::int64_t> KernelBuilder::known(Value a) const {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(live().get(a));
  return constant ? std::optional(constant->getSExtValue()) : std::nullopt;
}

// ------------------------------------------------------------------------------------------------- integers

#define INLAY_BINARY(name, create)                                                                           \
  Value KernelBuilder::name(Value a, Value b) {                                                              \
    live().same(a, b);                                                                                       \
    return live().make(live().ir.create(live().get(a), live().get(b)), a.type);                              \
  }
INLAY_BINARY(add, CreateAdd)
INLAY_BINARY(sub, CreateSub)
INLAY_BINARY(mul, CreateMul)
INLAY_BINARY(udiv, CreateUDiv)
INLAY_BINARY(urem, CreateURem)
INLAY_BINARY(bit_and, CreateAnd)
INLAY_BINARY(bit_or, CreateOr)
INLAY_BINARY(bit_xor, CreateXor)
INLAY_BINARY(shl, CreateShl)
INLAY_BINARY(lshr, CreateLShr)
INLAY_BINARY(ashr, CreateAShr)
INLAY_BINARY(fadd, CreateFAdd)
INLAY_BINARY(fsub, CreateFSub)
INLAY_BINARY(fmul, CreateFMul)
#undef INLAY_BINARY

Value KernelBuilder::umin(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::umin, live().get(a), live().get(b)), a.type);
}

Value KernelBuilder::umul_high(Value a, Value b) {
  live().same(a, b);
  auto& ir = live().ir;
  const Type wide = Type::i64(a.type.lanes);
  llvm::Value* product = ir.CreateMul(ir.CreateZExt(live().get(a), live().type(wide)),
                                      ir.CreateZExt(live().get(b), live().type(wide)));
  return live().make(ir.CreateTrunc(ir.CreateLShr(product, 32), live().type(a.type)), a.type);
}
Value KernelBuilder::popcount(Value a) {
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::ctpop, live().get(a)), a.type);
}
Value KernelBuilder::flag(Value condition) {
  const Type to = Type::i32(condition.type.lanes);
  return live().make(live().ir.CreateZExt(live().get(condition), live().type(to)), to);
}
Value KernelBuilder::choose(Value word, Value yes, Value no) {
  live().same(yes, no);
  const Value holds = compare(Compare::ne, word, zero(word.type));
  return live().make(live().ir.CreateSelect(live().get(holds), live().get(yes), live().get(no)), yes.type);
}

Value KernelBuilder::compare(Compare how, Value a, Value b) {
  live().same(a, b);
  INLAY_CHECK(live().get(a)->getType()->isIntOrIntVectorTy(),
              "integers to compare, not " + to_string(a.type));
  static constexpr llvm::CmpInst::Predicate predicates[] = {llvm::CmpInst::ICMP_EQ,  llvm::CmpInst::ICMP_NE,
                                                            llvm::CmpInst::ICMP_ULT, llvm::CmpInst::ICMP_ULE,
                                                            llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_SLE};
  return live().make(
      live().ir.CreateICmp(predicates[static_cast<std::size_t>(how)], live().get(a), live().get(b)),
      {Element::i1, a.type.lanes});
}

Value KernelBuilder::select(Value condition, Value yes, Value no) {
  live().same(yes, no);
  Impl::want(condition, Type::i1());
  return live().make(live().ir.CreateSelect(live().get(condition), live().get(yes), live().get(no)),
                     yes.type);
}

Value KernelBuilder::zext64(Value a) {
  Impl::want(a, Type::i32());
  return live().make(live().ir.CreateZExt(live().get(a), live().ir.getInt64Ty()), Type::i64());
}
Value KernelBuilder::trunc32(Value a) {
  Impl::want(a, Type::i64());
  return live().i32(live().ir.CreateTrunc(live().get(a), live().ir.getInt32Ty()));
}

// -------------------------------------------------------------------------------------------- floating point

Value KernelBuilder::fma(Value a, Value b, Value c) {
  live().same(a, b), live().same(a, c);
  return live().make(live().ir.CreateIntrinsic(intrinsic::fma, {live().type(a.type)},
                                               {live().get(a), live().get(b), live().get(c)}),
                     a.type);
}
Value KernelBuilder::short_nan(Value a) {
  auto& ir = live().ir;
  INLAY_CHECK(a.type.element == Element::f32, "f32, not " + to_string(a.type));
  llvm::Value* v = live().get(a);
  llvm::Value* nan = llvm::ConstantFP::getQNaN(v->getType());
  return live().make(ir.CreateSelect(ir.CreateFCmpUNO(v, v), nan, v), a.type);
}

Value KernelBuilder::fmax(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::maxnum, live().get(a), live().get(b)),
                     a.type);
}
Value KernelBuilder::fmin(Value a, Value b) {
  live().same(a, b);
  return live().make(live().ir.CreateBinaryIntrinsic(intrinsic::minnum, live().get(a), live().get(b)),
                     a.type);
}
Value KernelBuilder::at_least(Value a, Value b, Value yes, Value no) {
  live().same(a, b);
  live().same(yes, no);
  auto& ir = live().ir;
  return live().make(
      ir.CreateSelect(ir.CreateFCmpOGE(live().get(a), live().get(b)), live().get(yes), live().get(no)),
      yes.type);
}
Value KernelBuilder::round_even(Value a) {
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::roundeven, live().get(a)), a.type);
}
Value KernelBuilder::truncate(Value a) {
  const Type to = Type::i32(a.type.lanes);
  return live().make(live().ir.CreateIntrinsic(intrinsic::fptosi_sat, {live().type(to), live().type(a.type)},
                                               {live().get(a)}),
                     to);
}
Value KernelBuilder::unsigned_to_float(Value a) {
  const Type to = Type::f32(a.type.lanes);
  return live().make(live().ir.CreateUIToFP(live().get(a), live().type(to)), to);
}
Value KernelBuilder::sqrt(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_sqrt, live().get(a)), a.type);
}
Value KernelBuilder::log2(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_log, live().get(a)), a.type);
}
Value KernelBuilder::exp2(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_exp2, live().get(a)), a.type);
}
Value KernelBuilder::rcp(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_rcp, live().get(a)), a.type);
}
Value KernelBuilder::rsqrt(Value a) {
  Impl::want(a, Type::f32());
  return live().make(live().ir.CreateUnaryIntrinsic(intrinsic::amdgcn_rsq, live().get(a)), a.type);
}

// f32 to bytes, four to a dword.
Value KernelBuilder::to_bytes(Value a, Element element) {
  const Type to{element, a.type.lanes};
  auto& ir = live().ir;
  if (element == Element::i8) {
    const Type words = Type::i32(a.type.lanes);
    const auto all = [&](int n) {
      return llvm::ConstantInt::get(live().type(words), static_cast<std::uint64_t>(n), true);
    };
    llvm::Value* whole = ir.CreateUnaryIntrinsic(intrinsic::roundeven, live().get(a));
    llvm::Value* i =
        ir.CreateIntrinsic(intrinsic::fptosi_sat, {live().type(words), live().type(a.type)}, {whole});
    i = ir.CreateBinaryIntrinsic(intrinsic::smax, i, all(-128));
    i = ir.CreateBinaryIntrinsic(intrinsic::smin, i, all(127));
    return live().make(ir.CreateTrunc(i, live().type(to)), to);
  }
  if (!is_float8(live().target, element))
    throw CodegenError("no instruction converts to " + to_string(element),
                       "on " + std::string(live().target.name), float8_names(live().target));
  const bool fp8 = element == codegen::fp8(live().target);
  std::vector<Value> words;
  for (int first = 0; first < a.type.lanes; first += 4) {
    llvm::Value* word = ir.getInt32(0);
    for (int half = 0; half < 2; ++half) {
      const int lane = first + 2 * half;
      if (lane >= a.type.lanes) break;
      const Value x = extract(a, lane), y = lane + 1 < a.type.lanes ? extract(a, lane + 1) : x;
      word = ir.CreateIntrinsic(fp8 ? intrinsic::amdgcn_cvt_pk_fp8_f32 : intrinsic::amdgcn_cvt_pk_bf8_f32, {},
                                {live().get(x), live().get(y), word, ir.getInt1(half == 1)});
    }
    words.push_back(live().i32(word));
  }
  const Value all = pack(words);
  if (a.type.lanes % 4 == 0) return bitcast(all, to);
  INLAY_CHECK(a.type.lanes < 4, "one word, or whole ones");
  llvm::Value* part = ir.CreateTrunc(live().get(all), ir.getIntNTy(static_cast<unsigned>(8 * a.type.lanes)));
  return live().make(ir.CreateBitCast(part, live().type(to)), to);
}

// Bytes to f32, exactly: a word of four at a time.
Value KernelBuilder::from_bytes(Value a) {
  auto& ir = live().ir;
  const Type to{Element::f32, a.type.lanes};
  if (a.type.element == Element::i8 && a.type.lanes % 4 == 0) { // by words: conversions read bytes of them
    llvm::Value* words = live().get(bitcast(a, Type::i32(a.type.lanes / 4)));
    std::vector<Value> each;
    for (int e = 0; e < a.type.lanes; ++e) {
      llvm::Value* word = a.type.lanes == 4 ? words : ir.CreateExtractElement(words, unsigned(e / 4));
      llvm::Value* byte = ir.CreateAShr(ir.CreateShl(word, 24 - 8 * (e % 4)), 24);
      each.push_back(live().make(ir.CreateSIToFP(byte, live().type({Element::f32, 1})), {Element::f32, 1}));
    }
    return pack(each);
  }
  if (a.type.element == Element::i8) {
    llvm::Value* wide = ir.CreateSExt(live().get(a), live().type(Type::i32(a.type.lanes)));
    return live().make(ir.CreateSIToFP(wide, live().type(to)), to);
  }
  INLAY_CHECK(is_float8(live().target, a.type.element), "a type that the target converts");
  const bool fp8 = a.type.element == codegen::fp8(live().target);
  std::vector<Value> pairs;
  for (int first = 0; first < a.type.lanes; first += 4) {
    const int count = std::min(4, a.type.lanes - first);
    llvm::Value* part = live().get(slice(a, first, count));
    llvm::Value* word = ir.CreateZExtOrBitCast(
        ir.CreateBitCast(part, ir.getIntNTy(static_cast<unsigned>(8 * count))), ir.getInt32Ty());
    for (int half = 0; 2 * half < count; ++half) {
      const Value pair = live().make(
          ir.CreateIntrinsic(fp8 ? intrinsic::amdgcn_cvt_pk_f32_fp8 : intrinsic::amdgcn_cvt_pk_f32_bf8, {},
                             {word, ir.getInt1(half == 1)}),
          {Element::f32, 2});
      pairs.push_back(slice(pair, 0, std::min(2, count - 2 * half)));
    }
  }
  return pack(pairs);
}

Value KernelBuilder::convert(Value a, Element element, Nan nan) {
  const Type to{element, a.type.lanes};
  if (a.type == to) return a;
  if (a.type.element == Element::f32 && bits(element) == 8) return to_bytes(a, element);
  if (bits(a.type.element) == 8 && element == Element::f32) return from_bytes(a);
  llvm::Type* t = live().type(to);
  llvm::Value* v = live().get(a);
  if (a.type.element == Element::i32 && element == Element::f32)
    return live().make(live().ir.CreateSIToFP(v, t), to);
  INLAY_CHECK(v->getType()->isFPOrFPVectorTy() && t->isFPOrFPVectorTy(),
              "a conversion between floating-point types, not " + to_string(a.type) + " to " + to_string(to));
  INLAY_CHECK(bits(a.type.element) != bits(element), "a conversion that widens or narrows");
  if (a.type.element == Element::f32 && element == Element::bf16 && !live().target.packs_bf16 &&
      (a.type.lanes > 1 || nan == Nan::any)) {
    // What LLVM makes of it but for a NaN's payload, each step for all elements: one element after another waits for its
    // comparison every time.
    auto& ir = live().ir;
    const auto all = [&](unsigned n) {
      return llvm::ConstantInt::get(live().type(Type::i32(a.type.lanes)), n);
    };
    llvm::Value* x = ir.CreateBitCast(v, live().type(Type::i32(a.type.lanes)));
    llvm::Value* even = ir.CreateAnd(ir.CreateLShr(x, all(16)), all(1));
    llvm::Value* rounded = ir.CreateAdd(ir.CreateAdd(even, x), all(0x7fff));
    llvm::Value* word = rounded;
    if (nan == Nan::kept) word = ir.CreateSelect(ir.CreateFCmpUNO(v, v), all(0x7fc00000), rounded);
    llvm::Value* half =
        ir.CreateTrunc(ir.CreateLShr(word, all(16)), live().type({Element::i16, a.type.lanes}));
    return live().make(ir.CreateBitCast(half, t), to);
  }
  return live().make(live().ir.CreateFPCast(v, t), to);
}

// -------------------------------------------------------------------------------------------------- vectors

Value KernelBuilder::extract(Value vector, int lane) {
  INLAY_CHECK(lane >= 0 && lane < vector.type.lanes, "lane of " + to_string(vector.type));
  if (vector.type.lanes == 1) return vector;
  return live().make(live().ir.CreateExtractElement(live().get(vector), unsigned(lane)),
                     {vector.type.element, 1});
}

Value KernelBuilder::slice(Value vector, int first, int lanes) {
  INLAY_CHECK(first >= 0 && lanes >= 1 && first + lanes <= vector.type.lanes,
              "lanes of " + to_string(vector.type));
  if (lanes == vector.type.lanes) return vector;
  if (lanes == 1) return extract(vector, first);
  std::vector<int> mask(static_cast<std::size_t>(lanes));
  for (int i = 0; i < lanes; ++i) mask[std::size_t(i)] = first + i;
  return live().make(live().ir.CreateShuffleVector(live().get(vector), mask), {vector.type.element, lanes});
}

Value KernelBuilder::pack(std::span<const Value> parts) {
  INLAY_CHECK(!parts.empty(), "something to pack");
  if (parts.size() == 1) return parts[0];
  int lanes = 0;
  for (const Value& p : parts) {
    INLAY_CHECK(p.type.element == parts[0].type.element, "parts of one element type");
    lanes += p.type.lanes;
  }
  const Type type{parts[0].type.element, lanes};
  llvm::Value* v = llvm::PoisonValue::get(live().type(type));
  unsigned at = 0;
  for (const Value& p : parts)
    for (int i = 0; i < p.type.lanes; ++i)
      v = live().ir.CreateInsertElement(v, live().get(extract(p, i)), at++);
  return live().make(v, type);
}

Value KernelBuilder::bitcast(Value a, Type type) {
  INLAY_CHECK(a.type.bytes() == type.bytes(),
              "types of one size: " + to_string(a.type) + " and " + to_string(type));
  return live().make(live().cast(live().get(a), type), type);
}

// ---------------------------------------------------------------------------------------------------- lanes

Value KernelBuilder::readfirstlane(Value a) {
  Impl::want(a, Type::i32());
  return live().i32(
      live().ir.CreateIntrinsic(intrinsic::amdgcn_readfirstlane, {live().ir.getInt32Ty()}, {live().get(a)}));
}

Value KernelBuilder::lane_xor(Value a, int mask) {
  Impl& s = live();
  INLAY_CHECK(bits(a.type.element) == 32 && a.type.lanes == 1, "a 32-bit value");
  INLAY_CHECK(mask > 0 && mask < s.target.wave_size, "a lane mask");
  llvm::Value* v = s.cast(s.get(a), Type::i32());
  llvm::Value* moved = nullptr;
  if (mask < 16) {
    // Inside rows of 16 lanes: data-parallel primitives, each at the cost of a move or of nothing. row_ror:8 is ^ 8,
    // row_half_mirror ^ 7, row_mirror ^ 15; a quad permutation does the rest.
    const auto move = [&](llvm::Value* x, unsigned control) {
      return s.ir.CreateIntrinsic(
          intrinsic::amdgcn_update_dpp, {s.ir.getInt32Ty()},
          {x, x, s.ir.getInt32(control), s.ir.getInt32(0xf), s.ir.getInt32(0xf), s.ir.getTrue()});
    };
    moved = v;
    unsigned rest = unsigned(mask);
    if (rest >= 12) {
      moved = move(moved, 0x140), rest ^= 15;
    } else if (rest >= 8) {
      moved = move(moved, 0x128), rest ^= 8;
    } else if (rest >= 4) {
      moved = move(moved, 0x141), rest ^= 7;
    }
    unsigned control = 0;
    for (unsigned lane = 0; lane < 4; ++lane) control |= (lane ^ rest) << (2 * lane);
    if (rest != 0) moved = move(moved, control);
  } else if (mask < 32) {
    // Inside halves of the wave: ds_swizzle in its bit-mask mode, xor << 10 | or << 5 | and.
    moved = s.ir.CreateIntrinsic(intrinsic::amdgcn_ds_swizzle, {},
                                 {v, s.ir.getInt32((unsigned(mask) << 10) | 0x1f)});
  } else {
    llvm::Value* all = s.ir.getInt32(~0u);
    llvm::Value* low = s.ir.CreateIntrinsic(intrinsic::amdgcn_mbcnt_lo, {}, {all, s.ir.getInt32(0)});
    llvm::Value* lane = s.ir.CreateIntrinsic(intrinsic::amdgcn_mbcnt_hi, {}, {all, low});
    llvm::Value* from = s.ir.CreateShl(s.ir.CreateXor(lane, s.ir.getInt32(unsigned(mask))), 2);
    moved = s.ir.CreateIntrinsic(intrinsic::amdgcn_ds_bpermute, {}, {from, v});
  }
  return s.make(s.cast(moved, a.type), a.type);
}

std::pair<Value, Value> KernelBuilder::lane_exchange(Value a, Value b, int mask) {
  Impl& s = live();
  INLAY_CHECK(a.type == Type::i32() && b.type == Type::i32(), "32-bit values");
  if (s.target.swaps_lanes && (mask == 16 || mask == 32)) {
    llvm::Value* both = s.ir.CreateIntrinsic(mask == 16 ? intrinsic::amdgcn_permlane16_swap
                                                        : intrinsic::amdgcn_permlane32_swap,
                                             {}, {s.get(a), s.get(b), s.ir.getFalse(), s.ir.getFalse()});
    return {s.make(s.ir.CreateExtractValue(both, 0), a.type),
            s.make(s.ir.CreateExtractValue(both, 1), b.type)};
  }
  std::uint64_t lanes = 0; // whose bit is set
  for (int lane = 0; lane < s.target.wave_size; ++lane)
    if ((lane & mask) != 0) lanes |= std::uint64_t{1} << lane;
  const Value upper = s.make(
      s.ir.CreateIntrinsic(intrinsic::amdgcn_inverse_ballot, {s.ir.getInt64Ty()}, {s.ir.getInt64(lanes)}),
      Type::i1());
  const Value got = lane_xor(select(upper, a, b), mask);
  return {select(upper, got, a), select(upper, b, got)};
}

// --------------------------------------------------------------------------------------------------- memory

Value KernelBuilder::buffer(Value pointer, Value bytes) {
  Impl& s = live();
  Impl::want(pointer, Type::global());
  Impl::want(bytes, Type::i32());
  return s.make(s.ir.CreateIntrinsic(intrinsic::amdgcn_make_buffer_rsrc,
                                     {s.ir.getPtrTy(buffer_space), s.ir.getPtrTy(global_space)},
                                     {s.get(pointer), s.ir.getInt16(0),
                                      s.ir.CreateZExt(s.get(bytes), s.ir.getInt64Ty()),
                                      s.ir.getInt32(s.target.buffer_flags)}),
                {Element::buffer, 1});
}

Value KernelBuilder::buffer_load(Value buffer, Value byte_offset, Type type, BufferOffset extra) {
  Impl& s = live();
  Impl::want(byte_offset, Type::i32());
  const Type moved = s.memory_type(type, "buffer_load");
  llvm::Value* v =
      s.ir.CreateIntrinsic(intrinsic::amdgcn_raw_ptr_buffer_load, {s.type(moved)},
                           {s.get(buffer), s.with_immediate(byte_offset, extra.immediate),
                            s.scalar_offset(extra), s.ir.getInt32(unsigned(Impl::cache_policy(extra)))});
  return s.make(s.cast(v, type), type);
}

void KernelBuilder::buffer_store(Value value, Value buffer, Value byte_offset, BufferOffset extra) {
  Impl& s = live();
  Impl::want(byte_offset, Type::i32());
  const Type moved = s.memory_type(value.type, "buffer_store");
  s.ir.CreateIntrinsic(intrinsic::amdgcn_raw_ptr_buffer_store, {s.type(moved)},
                       {s.cast(s.get(value), moved), s.get(buffer),
                        s.with_immediate(byte_offset, extra.immediate), s.scalar_offset(extra),
                        s.ir.getInt32(unsigned(Impl::cache_policy(extra)))});
}

void KernelBuilder::buffer_add(Value value, Value buffer, Value byte_offset, BufferOffset extra) {
  Impl& s = live();
  Impl::want(byte_offset, Type::i32());
  const bool pair = value.type == Type{Element::f16, 2} || value.type == Type{Element::bf16, 2};
  const bool floating = pair || value.type == Type::f32();
  if (!floating && value.type != Type::i32())
    throw CodegenError("buffer_add: one f32 or i32 a lane, or a pair of f16 or bf16");
  s.ir.CreateIntrinsic(floating ? intrinsic::amdgcn_raw_ptr_buffer_atomic_fadd
                                : intrinsic::amdgcn_raw_ptr_buffer_atomic_add,
                       {s.type(value.type)},
                       {s.get(value), s.get(buffer), s.with_immediate(byte_offset, extra.immediate),
                        s.scalar_offset(extra), s.ir.getInt32(0)});
}

void KernelBuilder::buffer_load_to_lds(Value buffer, Value byte_offset, int bytes, LdsBlock block,
                                       Value lds_offset, BufferOffset extra) {
  Impl& s = live();
  bool admissible = false;
  std::string widths;
  for (const int w : s.target.lds_dma_bytes) {
    admissible = admissible || w == bytes;
    widths += (widths.empty() ? "" : ", ") + std::to_string(w);
  }
  if (!admissible)
    throw CodegenError("no transfer from memory to LDS of that width",
                       "width  " + std::to_string(bytes) + " bytes a lane on " + std::string(s.target.name),
                       widths);
  s.ir.CreateIntrinsic(intrinsic::amdgcn_raw_ptr_buffer_load_lds, {},
                       {s.get(buffer), s.lds_pointer(block, lds_offset, 0), s.ir.getInt32(unsigned(bytes)),
                        s.get(byte_offset), s.scalar_offset(extra), s.ir.getInt32(unsigned(extra.immediate)),
                        s.ir.getInt32(unsigned(Impl::cache_policy(extra)))});
}

Value KernelBuilder::pointer_add(Value pointer, Value bytes) {
  Impl::want(pointer, Type::global());
  Impl::want(bytes, Type::i64());
  return live().make(
      live().ir.CreateInBoundsGEP(live().ir.getInt8Ty(), live().get(pointer), live().get(bytes)),
      Type::global());
}

Value KernelBuilder::global_load(Value pointer, Type type) {
  Impl& s = live();
  Impl::want(pointer, Type::global());
  const Type moved = s.memory_type(type, "global_load");
  const llvm::Align alignment(unsigned(std::min(moved.bytes(), 4)));
  return s.make(s.cast(s.ir.CreateAlignedLoad(s.type(moved), s.get(pointer), alignment), type), type);
}

Value KernelBuilder::zeros_in_memory() {
  Impl& s = live();
  llvm::Type* type = llvm::ArrayType::get(s.ir.getInt8Ty(), 16);
  auto* zeros = new llvm::GlobalVariable(*s.module, type, true, llvm::GlobalValue::InternalLinkage,
                                         llvm::Constant::getNullValue(type), "zeros", nullptr,
                                         llvm::GlobalValue::NotThreadLocal, global_space);
  zeros->setAlignment(llvm::Align(16));
  // Opaque, or a load of one of two places would be a choice between two loads.
  return assembly("", "=s,0", std::array{s.make(zeros, Type::global())}, std::array{Type::global()})[0];
}

LdsBlock KernelBuilder::lds_allocate(const std::string& name, int bytes) {
  Impl& s = live();
  INLAY_CHECK(bytes > 0, "bytes of an LDS block");
  constexpr int alignment = 16;
  const int begin = (s.lds_bytes + alignment - 1) / alignment * alignment;
  if (bytes > s.target.lds_bytes - begin)
    throw CodegenError("the workgroup needs more LDS than there is",
                       "block  " + name + ", " + std::to_string(bytes) + " bytes after " +
                           std::to_string(begin) + ", of " + std::to_string(s.target.lds_bytes) + " on " +
                           std::string(s.target.name));
  s.lds_bytes = begin + bytes;
  llvm::Type* type = llvm::ArrayType::get(s.ir.getInt8Ty(), unsigned(bytes));
  auto* global = new llvm::GlobalVariable(*s.module, type, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::PoisonValue::get(type), name, nullptr,
                                          llvm::GlobalValue::NotThreadLocal, lds_space);
  global->setAlignment(llvm::Align(alignment));
  s.blocks.push_back({global, bytes});
  return {static_cast<int>(s.blocks.size()) - 1, bytes};
}

int KernelBuilder::lds_bytes() const { return live().lds_bytes; }

Value KernelBuilder::lds_load(LdsBlock block, Value byte_offset, int immediate, Type type) {
  Impl& s = live();
  const int bytes = s.memory_type(type, "lds_load").bytes();
  const llvm::Align alignment(bytes == 12 ? 4 : unsigned(bytes));
  return s.make(s.ir.CreateAlignedLoad(s.type(type), s.lds_pointer(block, byte_offset, immediate), alignment),
                type);
}

void KernelBuilder::lds_store(Value value, LdsBlock block, Value byte_offset, int immediate) {
  Impl& s = live();
  const int bytes = s.memory_type(value.type, "lds_store").bytes();
  const llvm::Align alignment(bytes == 12 ? 4 : unsigned(bytes));
  s.ir.CreateAlignedStore(s.get(value), s.lds_pointer(block, byte_offset, immediate), alignment);
}

Value KernelBuilder::mfma(const std::string& name, Value a, Value b, Value c) {
  Impl& s = live();
  const intrinsic::ID id = intrinsic::lookupIntrinsicID(name);
  INLAY_CHECK(id != intrinsic::not_intrinsic, "an intrinsic of LLVM: " + name);
  llvm::Value* none = s.ir.getInt32(0); // cbsz, abid, blgp: no broadcast, no negation
  INLAY_CHECK(!intrinsic::isOverloaded(id), "a matrix instruction without scales, not " + name);
  llvm::Function* f = intrinsic::getOrInsertDeclaration(s.module.get(), id);
  INLAY_CHECK(f->arg_size() == 6, "a matrix instruction of three operands and three modifiers, not " + name);
  return s.make(
      s.ir.CreateCall(f, {s.parameter(a, *f, 0), s.parameter(b, *f, 1), s.get(c), none, none, none}), c.type);
}

Value KernelBuilder::mfma_f8f6f4(const std::string& name, Value a, Value b, Value c, int format_a,
                                 int format_b) {
  INLAY_CHECK(a.type.bytes() == 32 && b.type.bytes() == 32, "operands of 32 bytes a lane");
  // Scales of 0 are the instruction without scales to LLVM.
  return mfma_scaled(name, a, b, c, {constant(0), 0}, {constant(0), 0}, format_a, format_b);
}

Value KernelBuilder::mfma_scaled(const std::string& name, Value a, Value b, Value c, Scale of_a, Scale of_b,
                                 int format_a, int format_b) {
  Impl& s = live();
  const intrinsic::ID id = intrinsic::lookupIntrinsicID(name.substr(0, name.find(".f8f6f4") + 7));
  INLAY_CHECK(id == intrinsic::amdgcn_mfma_scale_f32_16x16x128_f8f6f4 ||
                  id == intrinsic::amdgcn_mfma_scale_f32_32x32x64_f8f6f4,
              "one of the f8f6f4 family, not " + name);
  const auto words = [&](Value v) {
    return s.ir.CreateBitCast(s.get(v),
                              llvm::FixedVectorType::get(s.ir.getInt32Ty(), unsigned(v.type.bytes() / 4)));
  };
  const auto number = [&](int n) { return s.ir.getInt32(unsigned(n)); };
  llvm::Value *x = words(a), *y = words(b);
  return s.make(s.ir.CreateIntrinsic(id, {x->getType(), y->getType()},
                                     {x, y, s.get(c), number(format_a), number(format_b), number(of_a.byte),
                                      s.get(of_a.word), number(of_b.byte), s.get(of_b.word)}),
                c.type);
}

KernelBuilder::Values KernelBuilder::assembly(const std::string& text, const std::string& constraints,
                                              std::span<const Value> inputs, std::span<const Type> results) {
  Impl& s = live();
  std::vector<llvm::Value*> operands;
  std::vector<llvm::Type*> takes, gives;
  for (const Value& v : inputs) operands.push_back(s.get(v)), takes.push_back(operands.back()->getType());
  for (const Type& t : results) gives.push_back(s.type(t));
  llvm::Type* result = gives.empty() ? s.ir.getVoidTy()
                       : gives.size() == 1
                           ? gives[0]
                           : static_cast<llvm::Type*>(llvm::StructType::get(*s.context, gives));
  llvm::FunctionType* type = llvm::FunctionType::get(result, takes, false);
  std::string problem;
  llvm::raw_string_ostream(problem) << llvm::toString(llvm::InlineAsm::verify(type, constraints));
  INLAY_CHECK(problem.empty(), "constraints that fit the operands: " + problem);
  llvm::CallInst* call = s.ir.CreateCall(llvm::InlineAsm::get(type, text, constraints, true), operands);
  call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  Values out;
  for (unsigned i = 0; i < results.size(); ++i)
    out.push_back(s.make(results.size() == 1 ? call : s.ir.CreateExtractValue(call, i), results[i]));
  return out;
}

std::string KernelBuilder::line_directive(const std::source_location& where) const {
  const Impl& s = live();
  if (!s.subprogram) return "";
  const std::string path = where.file_name(), name = path.substr(path.find_last_of('/') + 1);
  const int number = s.subprogram->getFile()->getFilename() == name ? 1 : s.files.size() == 2 ? 2 : 0;
  return number == 0 ? ""
                     : ".loc " + std::to_string(number) + " " + std::to_string(where.line()) + " " +
                           std::to_string(where.column());
}

Value KernelBuilder::lds_address(LdsBlock block, Value byte_offset) {
  Impl& s = live();
  return s.i32(s.ir.CreatePtrToInt(s.lds_pointer(block, byte_offset, 0), s.ir.getInt32Ty()));
}

Value KernelBuilder::descriptor_words(Value buffer) {
  Impl& s = live();
  Impl::want(buffer, {Element::buffer, 1});
  llvm::Value* all = s.ir.CreatePtrToInt(s.get(buffer), s.ir.getInt128Ty());
  return s.make(s.ir.CreateBitCast(all, s.type(Type::i32(4))), Type::i32(4));
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
  return s.make(s.ir.CreateAtomicRMW(llvm::AtomicRMWInst::UIncWrap, s.get(pointer), s.get(last),
                                     llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic,
                                     s.context->getOrInsertSyncScopeID("agent")),
                Type::i32());
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

void KernelBuilder::wait(int vm, int lgkm) {
  // vmcnt in bits 3:0 and 15:14, expcnt in 6:4, lgkmcnt in 11:8; all ones says nothing.
  const auto v = static_cast<unsigned>(vm < 0 ? 63 : std::min(vm, 63)),
             l = static_cast<unsigned>(lgkm < 0 ? 15 : std::min(lgkm, 15));
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

void KernelBuilder::locate(const std::source_location& where) {
  Impl& s = live();
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

// -------------------------------------------------------------------------------------------------- symbols

void KernelBuilder::bind(Sym symbol, Value value) {
  Impl::want(value, Type::i32());
  const auto atom = symbol.as_atom();
  INLAY_CHECK(atom && symbol.context()->atom(*atom).kind == AtomKind::symbol, "a single symbol");
  live().of_one_context(symbol);
  if (live().bound(*atom))
    throw CodegenError("a symbol is bound twice", "symbol " + symbol.context()->atom(*atom).name,
                       "code lowered from it would keep the first value");
  live().symbols.back()[*atom] = value;
}

namespace {

constexpr std::int64_t i32_min = INT32_MIN, u32_max = UINT32_MAX;

// Is the value known to be in [low, high]?
bool known_within(Sym a, std::int64_t low, std::int64_t high) {
  const Interval r = interval(a);
  return r.lower && r.upper && r.lower->value() >= low && r.upper->value() <= high;
}
bool known_nonnegative(Sym a) {
  const Interval r = interval(a);
  return r.lower && r.lower->value() >= 0;
}
std::optional<int> log2_of(Sym a) {
  const auto c = a.constant();
  if (!c || c->value() <= 0 || (c->value() & (c->value() - 1)) != 0) return std::nullopt;
  return __builtin_ctzll(static_cast<unsigned long long>(c->value()));
}
enum class Sign : std::uint8_t { no, yes };
// How these values lie in 32 bits, so that they can be compared, divided and shifted right. Sums, products, shifts left and
// bits need no such thing: their low 32 bits are those of their operands'.
Sign sign_in_32_bits(std::initializer_list<Sym> values) {
  const auto all = [&](std::int64_t low, std::int64_t high) {
    return std::all_of(values.begin(), values.end(), [&](Sym a) { return known_within(a, low, high); });
  };
  if (all(0, u32_max)) return Sign::no;
  if (all(i32_min, INT32_MAX)) return Sign::yes;
  const auto text = [](const std::optional<Int>& bound, const char* none) {
    return bound ? std::to_string(bound->value()) : none;
  };
  std::string lines;
  for (const Sym& a : values) {
    const Interval r = interval(a);
    lines += (lines.empty() ? "value  " : "\nvalue  ") + to_string(a) + "   from " + text(r.lower, "-oo") +
             " to " + text(r.upper, "oo");
  }
  throw CodegenError("an address expression needs more than 32 bits", lines,
                     "give its symbols narrower ranges");
}

} // namespace

Value KernelBuilder::lower(Sym value) {
  (void)sign_in_32_bits({value});
  return lower_low(value);
}
Value KernelBuilder::lower_low(Sym value) {
  live().of_one_context(value);
  return live().lower(value);
}

Value KernelBuilder::to_float(Sym a) {
  const bool is_signed = sign_in_32_bits({a}) == Sign::yes;
  const Value v = lower_low(a);
  auto& ir = live().ir;
  return live().make(is_signed ? ir.CreateSIToFP(live().get(v), ir.getFloatTy())
                               : ir.CreateUIToFP(live().get(v), ir.getFloatTy()),
                     Type::f32());
}
Value KernelBuilder::less(Sym a, Sym b) {
  const bool is_signed = sign_in_32_bits({a, b}) == Sign::yes;
  return compare(is_signed ? Compare::slt : Compare::ult, lower_low(a), lower_low(b));
}
Value KernelBuilder::at_most(Sym a, Sym b) {
  const bool is_signed = sign_in_32_bits({a, b}) == Sign::yes;
  return compare(is_signed ? Compare::sle : Compare::ule, lower_low(a), lower_low(b));
}

Value KernelBuilder::Impl::lower(Sym a) {
  if (const auto c = a.constant()) {
    return i32(ir.getInt32(static_cast<std::uint32_t>(c->value())));
  }
  for (auto region = lowered.rbegin(); region != lowered.rend(); ++region)
    if (const auto found = region->find(a); found != region->end()) return found->second;

  Value result;
  if (const auto atom = a.as_atom()) {
    result = lower_atom(*a.context(), *atom);
  } else {
    // When no term can be negative, no partial result exceeds the sum, and nothing wraps if the sum does not.
    bool grows = known_within(a, 0, u32_max) && a.constant_term().value() >= 0;
    for (const Term& t : a.terms()) {
      grows = grows && t.coefficient.value() > 0;
      for (const Factor& f : t.factors()) grows = grows && known_nonnegative(a.context()->value(f.atom));
    }
    llvm::Value* sum = nullptr;
    for (const Term& t : a.terms()) {
      llvm::Value* p = nullptr;
      for (const Factor& f : t.factors())
        for (std::uint32_t n = 0; n < f.power; ++n) {
          llvm::Value* v = get(lower(a.context()->value(f.atom)));
          p = p ? ir.CreateMul(p, v, "", grows, false) : v;
        }
      const std::int64_t k = t.coefficient.value();
      if (k > 0 && k <= u32_max && (k & (k - 1)) == 0) {
        p = ir.CreateShl(p, ir.getInt32(unsigned(__builtin_ctzll(std::uint64_t(k)))), "", grows);
      } else {
        p = ir.CreateMul(p, ir.getInt32(static_cast<std::uint32_t>(k)), "", grows, false);
      }
      sum = sum ? ir.CreateAdd(sum, p, "", grows, false) : p;
    }
    if (const std::int64_t c = a.constant_term().value(); c != 0)
      sum = ir.CreateAdd(sum, ir.getInt32(static_cast<std::uint32_t>(c)), "", grows, false);
    result = i32(sum);
  }
  lowered.back().emplace(a, result);
  return result;
}

Value KernelBuilder::Impl::lower_atom(SymContext& symbols_of, AtomId id) {
  const SymAtom atom = symbols_of.atom(id);
  const auto operand = [&](std::size_t k) { return get(lower(atom.operands[k])); };
  const auto flag = [&](llvm::Value* condition) { return i32(ir.CreateZExt(condition, ir.getInt32Ty())); };
  const auto is_signed = [&] { return sign_in_32_bits({atom.operands[0], atom.operands[1]}) == Sign::yes; };
  const auto shift = [&] {
    if (!known_within(atom.operands[1], 0, 31))
      throw CodegenError("a shift by a number that may not be 0 to 31",
                         "number " + to_string(atom.operands[1]));
    return operand(1);
  };
  switch (atom.kind) {
  case AtomKind::symbol: {
    const Value* value = bound(id);
    INLAY_CHECK(value, "a value bound to the symbol " + atom.name);
    return *value;
  }
  case AtomKind::floor_div: {
    const Sign sign = sign_in_32_bits({atom.operands[0]});
    if (const auto power = log2_of(atom.operands[1])) // arithmetic shifts round down, as floor division does
      return i32(sign == Sign::no ? ir.CreateLShr(operand(0), unsigned(*power))
                                  : ir.CreateAShr(operand(0), unsigned(*power)));
    if (is_signed())
      throw CodegenError("a division whose sign is not known",
                         "in     " + to_string(atom.operands[0]) + " / " + to_string(atom.operands[1]),
                         "give the symbols ranges from 0 on");
    return i32(ir.CreateUDiv(operand(0), operand(1)));
  }
  case AtomKind::mod: {
    if (const auto power = log2_of(atom.operands[1]))
      return i32(ir.CreateAnd(operand(0), ir.getInt32((1u << unsigned(*power)) - 1)));
    if (is_signed())
      throw CodegenError("a remainder whose sign is not known", "in     an address expression",
                         "give the symbols ranges from 0 on");
    return i32(ir.CreateURem(operand(0), operand(1)));
  }
  case AtomKind::min:
  case AtomKind::max: { // compare and select, which LLVM folds and recognises
    llvm::Value *a = operand(0), *b = operand(1);
    llvm::Value* less = is_signed() ? ir.CreateICmpSLT(a, b) : ir.CreateICmpULT(a, b);
    return i32(atom.kind == AtomKind::min ? ir.CreateSelect(less, a, b) : ir.CreateSelect(less, b, a));
  }
  case AtomKind::bit_xor: return i32(ir.CreateXor(operand(0), operand(1)));
  case AtomKind::bit_and: return i32(ir.CreateAnd(operand(0), operand(1)));
  case AtomKind::bit_or: return i32(ir.CreateOr(operand(0), operand(1)));
  case AtomKind::shift_left: return i32(ir.CreateShl(operand(0), shift()));
  case AtomKind::shift_right:
    return i32(sign_in_32_bits({atom.operands[0]}) == Sign::no ? ir.CreateLShr(operand(0), shift())
                                                               : ir.CreateAShr(operand(0), shift()));
  case AtomKind::select:
    (void)sign_in_32_bits({atom.operands[0]});
    return i32(ir.CreateSelect(ir.CreateICmpNE(operand(0), ir.getInt32(0)), operand(1), operand(2)));
  case AtomKind::less_equal:
    return flag(is_signed() ? ir.CreateICmpSLE(operand(0), operand(1))
                            : ir.CreateICmpULE(operand(0), operand(1)));
  case AtomKind::equal:
    (void)is_signed(); // both in one range
    return flag(ir.CreateICmpEQ(operand(0), operand(1)));
  }
  throw InternalError("unknown atom");
}

} // namespace inlay::codegen
