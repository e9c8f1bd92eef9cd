/// `KernelBuilder`: writes LLVM IR. One method is one thing a GPU does.
///
/// A builder writes one kernel, front to back, as LLVM IR for a `Target`. The running example is a vector
/// addition in which each work-item adds one element, and the descriptor's bounds cut off the last workgroup:
///
///     KernelBuilder k(target, "vector_add", {{"c", Type::global()}, {"a", Type::global()},
///                                            {"b", Type::global()}, {"n", Type::i32()}}, {.workgroup_size =
///                                            256});
///     Value bytes = k.mul(k.argument(3), k.constant(4));
///     Value at = k.mul(k.add(k.mul(k.workgroup_id(0), k.constant(256)), k.work_item_id()), k.constant(4));
///     Value a = k.buffer_load(k.buffer(k.argument(1), bytes), at, Type::f32());
///     Value b = k.buffer_load(k.buffer(k.argument(2), bytes), at, Type::f32());
///     k.buffer_store(k.fadd(a, b), k.buffer(k.argument(0), bytes), at);
///     IrModule module = std::move(k).finish();
///
/// A `Value` is a number into the builder's table with its type; it is meaningful only to the builder that
/// made it, and only where it was made or in regions nested there, as in LLVM. Wrong types are an
/// `InternalError` at the call that is wrong, not a message of the verifier later. Requests that the target
/// cannot satisfy (too much LDS, a vector too wide) are a `CodegenError`.
///
/// Sources: LLVM "User Guide for AMDGPU Backend" (intrinsics, address spaces, memory model); CDNA3 and CDNA4
/// ISA reference guides (buffer descriptors, LDS, s_waitcnt, s_setprio).
#pragma once

#include <inlay/algebra/sym.h>
#include <inlay/codegen/cache_policy.h>
#include <inlay/codegen/element.h>
#include <inlay/codegen/emit.h>
#include <inlay/codegen/target.h>

#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace inlay::codegen {

/// An element type and a number of lanes; one lane is a scalar. `Type::f16(8)` is `<8 x half>`.
struct Type {
  Element element = Element::i32;
  int lanes = 1;
  static constexpr Type i1() { return {Element::i1, 1}; }
  static constexpr Type i16(int lanes = 1) { return {Element::i16, lanes}; }
  static constexpr Type i32(int lanes = 1) { return {Element::i32, lanes}; }
  static constexpr Type i64(int lanes = 1) { return {Element::i64, lanes}; }
  static constexpr Type f16(int lanes = 1) { return {Element::f16, lanes}; }
  static constexpr Type bf16(int lanes = 1) { return {Element::bf16, lanes}; }
  static constexpr Type f32(int lanes = 1) { return {Element::f32, lanes}; }
  static constexpr Type global() { return {Element::global, 1}; } ///< a pointer to device memory
  [[nodiscard]] int bytes() const { return bits(element) * lanes / 8; }
  friend bool operator==(const Type&, const Type&) = default;
};
[[nodiscard]] std::string to_string(Type type);

/// A value of the kernel under construction.
struct Value {
  int id = -1;
  Type type;
};

struct Argument {
  std::string name;
  Type type;
  bool alone = true; ///< of pointers: nobody else writes what is read through it while the kernel runs
};

struct LaunchBounds {
  int workgroup_size = 256; ///< work-items, exactly
  int waves_per_simd = 1;   ///< at least that many must fit: it bounds the registers
};

/// A piece of LDS.
struct LdsBlock {
  int id = -1;
  int bytes = 0;
};

enum class Compare : std::uint8_t { eq, ne, ult, ule, slt, sle };

/// What `sched_group` counts, as bits that may be combined.
enum SchedMask : int {
  sched_valu = 0x2,
  sched_mfma = 0x8,
  sched_vmem_read = 0x20,
  sched_ds_read = 0x100,
  sched_ds_write = 0x200
};

/// What `buffer_load` and `buffer_store` add to the address in registers.
struct BufferOffset {
  int immediate = 0;   ///< bytes, part of the instruction where it fits
  Value scalar{};      ///< bytes, the same for the wave (SGPR); absent when its id is -1
  CachePolicy cache{}; ///< see View::cached
};

class KernelBuilder {
public:
  using Values = std::vector<Value>;
  /// Starts the kernel. Errors: CodegenError when the workgroup is larger than the target's.
  KernelBuilder(const Target& target, const std::string& name, std::span<const Argument> arguments,
                LaunchBounds bounds);
  KernelBuilder(const Target& target, const std::string& name, std::initializer_list<Argument> arguments,
                LaunchBounds bounds)
      : KernelBuilder(target, name, std::span(arguments.begin(), arguments.size()), bounds) {}
  ~KernelBuilder();
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  [[nodiscard]] const Target& target() const;
  /// Ends the kernel and hands out its module. The builder is spent.
  [[nodiscard]] IrModule finish() &&;

  /// @name Where the work-item is, and what the kernel was given
  /// @{
  [[nodiscard]] Value argument(int index);
  [[nodiscard]] Value workgroup_id(int axis);
  [[nodiscard]] Value work_item_id(); ///< 0 .. workgroup_size-1, its range known to LLVM
  /// @}

  /// @name Constants
  /// @{
  [[nodiscard]] Value constant(std::int64_t value, Type type = Type::i32());
  [[nodiscard]] Value zero(Type type);
  [[nodiscard]] Value float_constant(double value, Type type = Type::f32());
  /// The number, when everything that an i32 or i64 value depends on is constant.
  [[nodiscard]] std::optional<std::int64_t> known(Value a) const;
  /// @}

  /// @name Integers (operands of one type, element by element)
  /// @{
  [[nodiscard]] Value add(Value a, Value b);
  [[nodiscard]] Value sub(Value a, Value b);
  [[nodiscard]] Value mul(Value a, Value b);
  [[nodiscard]] Value udiv(Value a, Value b);
  [[nodiscard]] Value urem(Value a, Value b);
  [[nodiscard]] Value bit_and(Value a, Value b);
  [[nodiscard]] Value bit_or(Value a, Value b);
  [[nodiscard]] Value bit_xor(Value a, Value b);
  [[nodiscard]] Value shl(Value a, Value b);
  [[nodiscard]] Value lshr(Value a, Value b);
  [[nodiscard]] Value ashr(Value a, Value b);
  [[nodiscard]] Value umin(Value a, Value b);
  [[nodiscard]] Value umax(Value a, Value b);
  [[nodiscard]] Value smin(Value a, Value b);
  [[nodiscard]] Value smax(Value a, Value b);
  /// `a ^ b ^ c` of i32: one instruction a lane where the target has v_bitop3_b32, which LLVM does not select by itself.
  [[nodiscard]] Value bit_xor(Value a, Value b, Value c);
  [[nodiscard]] Value umul_high(Value a, Value b); ///< bits 32 to 63 of the product of i32
  [[nodiscard]] Value popcount(Value a);
  [[nodiscard]] Value leading_zeros(Value a); ///< all bits of 0, likewise the other end
  [[nodiscard]] Value trailing_zeros(Value a);
  [[nodiscard]] Value compare(Compare how, Value a, Value b);
  [[nodiscard]] Value select(Value condition, Value yes, Value no);
  [[nodiscard]] Value flag(Value condition);                   ///< i1 -> 1 or 0 of i32, lane by lane
  [[nodiscard]] Value choose(Value word, Value yes, Value no); ///< word != 0 ? yes : no, lane by lane
  [[nodiscard]] Value zext64(Value a);                         ///< i32 -> i64
  [[nodiscard]] Value trunc32(Value a);                        ///< i64 -> i32
  /// i64 -> i32, the nearest: of 2^32 + 3 it is 2^31 - 1, of -2^40 it is -2^31.
  [[nodiscard]] Value nearest32(Value a);
  [[nodiscard]] Value sext64(Value a); ///< i32 -> i64, with its sign
  /// @}

  /// @name Floating point
  /// @{
  [[nodiscard]] Value fadd(Value a, Value b);
  [[nodiscard]] Value fsub(Value a, Value b);
  [[nodiscard]] Value fmul(Value a, Value b);
  [[nodiscard]] Value fma(Value a, Value b, Value c);
  /// f32: the same number; a NaN as 0x7fc00000.
  [[nodiscard]] Value short_nan(Value a);
  [[nodiscard]] Value fmax(Value a, Value b);
  [[nodiscard]] Value fmin(Value a, Value b);
  /// The same of two numbers, neither of which is NaN: nothing is done for one.
  [[nodiscard]] Value greater_of(Value a, Value b);
  [[nodiscard]] Value less_of(Value a, Value b);
  /// `a` itself, with all of its bits, whatever takes it (LLVM's llvm.arithmetic.fence): no instruction.
  [[nodiscard]] Value fence(Value a);
  [[nodiscard]] Value at_least(Value a, Value b, Value yes,
                               Value no);     ///< a >= b ? yes : no, lane by lane; no for NaN
  [[nodiscard]] Value exp2(Value a);          ///< v_exp_f32: 1 ulp, flushes denormal results
  [[nodiscard]] Value rcp(Value a);           ///< v_rcp_f32: 1 ulp
  [[nodiscard]] Value rsqrt(Value a);         ///< v_rsq_f32: 1 ulp
  [[nodiscard]] Value sqrt(Value a);          ///< v_sqrt_f32: 1 ulp
  [[nodiscard]] Value fdiv(Value a, Value b); ///< rounded correctly, in some ten instructions
  [[nodiscard]] Value rounded_sqrt(Value a);  ///< likewise
  [[nodiscard]] Value log2(Value a);          ///< v_log_f32: 1 ulp
  /// Rounds f32 to `element` (nearest even), or widens to f32; i32, signed, to f32. To 8 bits: i8 saturates and is 0 for NaN; the
  /// target's fp8 and bf8 are what the instruction gives beyond the largest number (`conversion`).
  [[nodiscard]] Value convert(Value a, Element element, Nan nan = Nan::kept);
  [[nodiscard]] Value round_even(Value a); ///< v_rndne_f32
  [[nodiscard]] Value truncate(Value a);   ///< f32 -> i32, v_cvt_i32_f32: toward zero, saturates, 0 for NaN
  [[nodiscard]] Value unsigned_to_float(Value a); ///< i32 without a sign -> f32
  /// A formula as f32, rounded to the nearest. Requires: 32 bits, with a sign or without.
  [[nodiscard]] Value to_float(Sym a);
  /// a < b of two formulas. Requires: 32 bits for both, with a sign or without.
  [[nodiscard]] Value less(Sym a, Sym b);
  [[nodiscard]] Value at_most(Sym a, Sym b); ///< a <= b, likewise
  /// @}

  /// @name Vectors
  /// @{
  [[nodiscard]] Value extract(Value vector, int lane);
  [[nodiscard]] Value slice(Value vector, int first, int lanes);
  [[nodiscard]] Value pack(std::span<const Value> scalars_or_vectors); ///< concatenation
  [[nodiscard]] Value bitcast(Value a, Type type);
  /// The bits as whole words of i32; those behind the last lane are anybody's.
  [[nodiscard]] Value words(Value a);
  /// @}

  /// @name Lanes of a wave
  /// @{
  [[nodiscard]] Value readfirstlane(Value a);      ///< i32, uniform afterwards
  [[nodiscard]] Value lane_xor(Value a, int mask); ///< the value of lane `self ^ mask` (32-bit elements)
  [[nodiscard]] Value lanes_of(int mask);          ///< i1: whether the lane's bit is set
  /// a of the lanes whose bit `mask` is set and b of the others, with which they change places: (a, b) afterwards, of i32.
  [[nodiscard]] std::pair<Value, Value> lane_exchange(Value a, Value b, int mask);
  /// @}

  /// @name Memory
  /// Buffer accesses return 0 for what lies beyond the descriptor's bytes and drop such stores.
  /// @{
  [[nodiscard]] Value buffer(Value pointer, Value bytes); ///< a raw descriptor; bytes i32, unsigned
  [[nodiscard]] Value buffer_load(Value buffer, Value byte_offset, Type type, BufferOffset extra = {});
  void buffer_store(Value value, Value buffer, Value byte_offset, BufferOffset extra = {});
  /// Adds to what is there, one f32 or i32 a lane or a pair of f16 or bf16, by an atomic that returns nothing. Where the target adds pairs
  /// of bf16 by pointers alone, lanes beyond the descriptor's bytes are left out by a branch.
  void buffer_add(Value value, Value buffer, Value byte_offset, BufferOffset extra = {});
  /// `bytes` a lane from memory straight to LDS at `block + lds_offset + lane * bytes`; `lds_offset` uniform.
  /// Errors: CodegenError when the target has no transfer of that width.
  void buffer_load_to_lds(Value buffer, Value byte_offset, int bytes, LdsBlock block, Value lds_offset,
                          BufferOffset extra = {});
  [[nodiscard]] Value pointer_add(Value pointer, Value bytes); ///< bytes i64
  /// By an address of 64 bits in each lane, a multiple of 4 or of what is loaded.
  [[nodiscard]] Value global_load(Value pointer, Type type);
  /// By an address that all lanes have, of what nobody writes while the kernel runs: a scalar load.
  [[nodiscard]] Value scalar_load(Value pointer, Type type);
  /// 16 bytes of zeros in the code object.
  [[nodiscard]] Value zeros_in_memory();

  /// Errors: CodegenError when the workgroup would hold more LDS than the target has.
  [[nodiscard]] LdsBlock lds_allocate(const std::string& name, int bytes);
  [[nodiscard]] int lds_bytes() const; ///< allocated so far
  /// The block of that number (uniform): `among[index]`.
  [[nodiscard]] LdsBlock lds_choose(Value index, std::span<const LdsBlock> among);
  [[nodiscard]] Value lds_load(LdsBlock block, Value byte_offset, int immediate, Type type);
  void lds_store(Value value, LdsBlock block, Value byte_offset, int immediate);
  /// LDS += value, one i32 a lane, by an atomic that returns nothing.
  void lds_add(Value value, LdsBlock block, Value byte_offset, int immediate);
  /// @}

  /// Calls a matrix instruction by its intrinsic: d = a x b + c. Atoms (atoms.h) know the names. Those with scales or an
  /// index take more operands and are refused.
  [[nodiscard]] Value mfma(const std::string& intrinsic, Value a, Value b, Value c);
  /// One of the f8f6f4 family without scales: operands of 32 bytes a lane in the formats of CBSZ and BLGP.
  [[nodiscard]] Value mfma_f8f6f4(const std::string& intrinsic, Value a, Value b, Value c, int format_a,
                                  int format_b);

  /// One of the family with scales: byte `byte` of a register, e8m0, multiplies 32 k of a lane's row. Operands in the formats
  /// of CBSZ and BLGP.
  struct Scale {
    Value word; ///< i32
    int byte = 0;
  };
  [[nodiscard]] Value mfma_scaled(const std::string& intrinsic, Value a, Value b, Value c, Scale of_a,
                                  Scale of_b, int format_a, int format_b);

  /// @name Assembly
  /// @{
  /// One operation whose text is assembly, with LLVM's constraints: outputs in the order of `results`, then inputs in
  /// theirs, then clobbers. It is not moved, copied or removed.
  [[nodiscard]] Values assembly(const std::string& text, const std::string& constraints,
                                std::span<const Value> inputs, std::span<const Type> results);
  /// `.loc FILE LINE COLUMN` for such a text, or nothing where the number that LLVM gives the file is not known: the kernel's
  /// own file is 1, and 2 is another one if there is a single one.
  [[nodiscard]] std::string line_directive(const std::source_location& where) const;
  [[nodiscard]] Value lds_address(LdsBlock block, Value byte_offset); ///< in LDS, as a number
  [[nodiscard]] Value descriptor_words(Value buffer);                 ///< i32 x 4
  /// @}

  /// @name Order between work-items and instructions
  /// @{
  /// What this wave stored before is seen by every work-item of the device, or of all (`system`), that acquires it after an atomic which
  /// comes later.
  void release(bool system = false);
  /// Counts an i32 in memory on, and from `last` back to 0: gives what it was. At device scope; orders nothing by itself.
  Value count_on(Value pointer, Value last);
  /// Waits until an i32 in memory is `wanted`, which another workgroup stores there. At device scope; orders nothing by itself.
  void await(Value pointer, Value wanted);
  /// An i32 to memory, for those that wait for it. Likewise.
  void atomic_store(Value pointer, Value value);
  /// What was released before the atomics that this wave has seen the results of is seen by what follows.
  void acquire(bool system = false);
  /// Of devices that meet, at system scope: the i32 at `there`, in a peer's memory, becomes one more than that at `mine`, which this
  /// workgroup alone sets; then waits until that at `here`, the peer's, is not behind it (it counts around). Orders nothing by itself.
  void meet(Value mine, Value there, Value here);
  void barrier(); ///< all LDS accesses of the workgroup before it are visible after it
  /// s_waitcnt: at most that many accesses to memory (`vm`) and to LDS (`lgkm`) stay under way; -1 says nothing.
  void wait(int vm, int lgkm);
  void sched_group(int mask, int count, int group); ///< llvm.amdgcn.sched.group.barrier
  void sched_barrier(int allowed = 0);              ///< llvm.amdgcn.sched.barrier
  void set_priority(int priority);                  ///< s_setprio 0..3
  /// A record in the buffer that HIP's runtime gives to kernels that print (`hidden_printf_buffer`, as clang's -mprintf-kind=buffered):
  /// `format` in C's conversions, and values of i32 and f32. Nothing where the buffer is full or there is none.
  void print(const std::string& format, std::span<const Value> values);
  /// In each block with matrix instructions and arithmetic: arithmetic in even portions after the matrix instructions, not
  /// before its operands and not after its users; everything else keeps its order. For orders that are final.
  void spread_arithmetic();
  /// @}

  /// @name Control flow
  /// @{
  /// for (i = begin; i < end; i += step) carried = body(i, carried); returns the last `carried`. i32,
  /// unsigned.
  Values loop(Value begin, Value end, Value step, Values carried,
              const std::function<Values(Value i, const Values& carried)>& body);
  /// for (i = 0; i < end; ++i) carried = body(i % ring, i, carried); return exit(end % ring, carried).
  /// Whole rounds of `ring` trips are the loop, so that the first argument is a constant in each copy; what is left of a
  /// round follows trip by trip. `exit` gets the residue as a value.
  Values rotate(Value end, int ring, Values carried,
                const std::function<Values(int residue, Value i, const Values& carried)>& body,
                const std::function<Values(Value residue, const Values& carried)>& exit);
  void if_then(Value condition, const std::function<void()>& then);
  void if_else(Value condition, const std::function<void()>& then, const std::function<void()>& otherwise);
  /// `condition ? then() : otherwise`.
  Values if_values(Value condition, const Values& otherwise, const std::function<Values()>& then);
  /// The same where nobody looks at the values when the condition does not hold.
  Values if_values(Value condition, const std::function<Values()>& then);
  /// @}

  /// What follows comes from that line: it goes into the line table of the code object, by file name without path.
  void locate(const std::source_location& where);
  /// Where that was last.
  [[nodiscard]] std::source_location located() const;

  /// @name Symbols
  /// A `Sym` becomes i32 code; equal subexpressions are computed once in a region.
  /// @{
  /// symbol: a single symbol; value: i32. Holds in this region and those nested in it.
  /// Errors: CodegenError when the symbol is bound here already: code that was lowered from it would stay.
  void bind(Sym symbol, Value value);
  /// Shifts and masks replace divisions by powers of two; `nuw` is set where the intervals prove it.
  /// Requires: every symbol bound. Errors: CodegenError when the value, or one that is divided, compared or shifted right on
  /// the way, may not fit 32 bits, and for symbols of two contexts.
  [[nodiscard]] Value lower(Sym value);
  /// value mod 2^32, exactly: for byte offsets of which a claim says that they fit wherever they are used.
  [[nodiscard]] Value lower_low(Sym value);
  /// @}

private:
  // `otherwise`: none where nobody looks.
  Values join(Value condition, const Values* otherwise, const std::function<Values()>& then);
  Value to_bytes(Value a, Element element);
  Value from_bytes(Value a);
  struct Impl;
  /// Errors: InternalError after `finish`.
  [[nodiscard]] Impl& live() const;
  std::unique_ptr<Impl> impl_;
};

} // namespace inlay::codegen
