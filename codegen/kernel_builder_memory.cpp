// Memory: buffers, pointers of 64 bits, LDS; and matrix products.
#include "atoms/tables.h"
#include "kernel_builder_impl.h"

namespace inlay::codegen {

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
  if (addressing_of_sums(s.target, value.type.element) == Addressing::pointer) {
    Value at = s.make(s.with_immediate(byte_offset, extra.immediate), Type::i32());
    if (extra.scalar.id >= 0) at = add(at, extra.scalar);
    const Value words = descriptor_words(buffer);
    const auto word = [&](unsigned n) { return s.ir.CreateExtractElement(s.get(words), n); };
    llvm::Value* high = s.ir.CreateAnd(word(1), s.ir.getInt32(0xffff)); // the rest is the stride, 0
    if_then(compare(Compare::ult, at, s.make(word(2), Type::i32())), [&] {
      llvm::Type* i64 = s.ir.getInt64Ty();
      llvm::Value* base =
          s.ir.CreateOr(s.ir.CreateZExt(word(0), i64), s.ir.CreateShl(s.ir.CreateZExt(high, i64), 32));
      llvm::Value* place =
          s.ir.CreateGEP(s.ir.getInt8Ty(), s.ir.CreateIntToPtr(base, s.ir.getPtrTy(global_space)),
                         s.ir.CreateZExt(s.get(at), i64));
      s.atomic(llvm::AtomicRMWInst::FAdd, place, s.get(value));
    });
    return;
  }
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

Value KernelBuilder::scalar_load(Value pointer, Type type) {
  Impl& s = live();
  Impl::want(pointer, Type::global());
  llvm::LoadInst* load = s.ir.CreateAlignedLoad(s.type(type), s.get(pointer), llvm::Align(4));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(*s.context, {}));
  return s.make(load, type);
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
  const int reads = Atom::lds_reads(8 * type.bytes()), bytes = type.bytes() / reads;
  if (reads == 1) (void)s.memory_type(type, "lds_load");
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

void KernelBuilder::lds_add(Value value, LdsBlock block, Value byte_offset, int immediate) {
  Impl& s = live();
  Impl::want(value, Type::i32());
  s.ir.CreateAtomicRMW(llvm::AtomicRMWInst::Add, s.lds_pointer(block, byte_offset, immediate), s.get(value),
                       llvm::Align(4), llvm::AtomicOrdering::Monotonic,
                       s.context->getOrInsertSyncScopeID("workgroup"));
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

} // namespace inlay::codegen
