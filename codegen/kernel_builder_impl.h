/// What a KernelBuilder holds: LLVM's module and builder, values by number, what regions have computed. Its calls are in four files:
///
///     kernel_builder.cpp          the module, order of memory, regions
///     kernel_builder_values.cpp   constants, integers, floats, vectors, lanes
///     kernel_builder_memory.cpp   buffers, pointers, LDS, matrix products
///     kernel_builder_symbols.cpp  symbolic expressions as values of 32 bits
#pragma once

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

namespace intrinsic = llvm::Intrinsic;
inline constexpr unsigned global_space = 1, lds_space = 3, buffer_space = 8;

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
  bool has_bf16 = false; ///< something of bf16 became f32
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
  std::source_location where;
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
  /// Of words in ordinary memory of this device, for all its workgroups; or else LLVM compares and swaps in a loop (AMDGPU usage, memory
  /// model: no fine-grained, no remote memory).
  llvm::Value* atomic(llvm::AtomicRMWInst::BinOp operation, llvm::Value* pointer, llvm::Value* value) {
    llvm::AtomicRMWInst* out =
        ir.CreateAtomicRMW(operation, pointer, value, llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic,
                           context->getOrInsertSyncScopeID("agent"));
    for (const char* none : {"amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory"})
      out->setMetadata(none, llvm::MDNode::get(*context, {}));
    return out;
  }
  llvm::Value* scalar_offset(const BufferOffset& extra) {
    return extra.scalar.id < 0 ? ir.getInt32(0) : get(extra.scalar);
  }
  llvm::Value* with_immediate(Value byte_offset, int immediate) {
    llvm::Value* v = get(byte_offset);
    return immediate == 0 ? v : ir.CreateAdd(v, ir.getInt32(unsigned(immediate)), "", true, false);
  }
  // LLVM's bits, of gfx90a's names too.
  static int cache_policy(const BufferOffset& extra) {
    return (extra.cache.sc0 ? 1 : 0) | (extra.cache.nt ? 2 : 0) | (extra.cache.sc1 ? 16 : 0);
  }
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

} // namespace inlay::codegen
