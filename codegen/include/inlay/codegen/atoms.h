/// `Atom`: one instruction that moves data or multiplies matrices, as data.
///
/// Everything above (tiles, schedules, proofs, emitters) asks this table what an instruction does; nothing else in the
/// project knows it. The layouts are probed against the emulator element by element and the LLVM names against what
/// LLVM selects, so that the layout in the table is the layout the instruction has.
///
/// **Movement.** An atom carries *slots*: numbered bits, lane after lane. Each of its two sides says by two layouts
/// from (lane, bit) where slots are:
///
///     data     (lane, bit) -> slot      which slot that bit is
///     address  (lane, bit) -> bits      where it lies, counted from the address on that side (or in the register)
///
/// Where both sides agree about slots, bits are copied: from address_s to address_d. For a plain load both data layouts
/// are the same; where they differ is what makes an instruction special. Running examples:
///
///     buffer_load_dwordx4        source       address (64,128):(0,1)    data (64,128):(128,1)     an address a lane
///                                destination  address (64,128):(0,1)    data (64,128):(128,1)     registers of the lane
///     buffer_load_dwordx4 lds    destination  address (64,128):(128,1)  data (64,128):(128,1)     one address, M0, a wave
///     ds_read_b64_tr_b16         destination  data ((16,4),(16,4)):((16,1024),(1,256))            lane t gets column t
///
/// so a transfer memory -> LDS has no freedom where a lane's data lies in LDS (`forced_place`); a tile there must be
/// permuted by choosing which source each lane fetches.
///
/// **Matrices.** D = A B + C with A m x k, B k x n (seen as (n, k)), for `blocks` independent products. `a`, `b`, `c` map
/// (lane, value) to (row, column, block) by basis strides: `mma->a` of v_mfma_f32_16x16x16_f16 is
/// ((16,4),4):((1@0,4@1),1@1): lane l holds row l % 16, k = 4 (l / 16) + value. Values are packed without gaps into
/// registers, value 0 lowest.
///
/// **Names** are the assembler's: the mnemonic and the modifiers that make it this atom, `v_mfma_f32_16x16x128_f8f6f4
/// cbsz:4 blgp:4`, `buffer_load_dwordx4 lds`, `v_mov_b32_dpp row_shr:1`. One mnemonic may have two rows where the
/// targets differ: fp8 is FNUZ on CDNA3 and OCP on CDNA4.
///
///     const Atom& mma = Atom::mma_best(mi355x, Element::f16, Element::f16, Element::f32, 16);   // 16x16x32
///     const Atom& in  = Atom::named(mi355x, "buffer_load_dwordx4 lds");
///     Atom::named(mi300x, "buffer_load_dwordx4 lds");       // CodegenError: CDNA4 has it
///
/// Sources: "AMD Instinct MI300 ISA (CDNA3)" and "AMD Instinct CDNA4 ISA" Reference Guides, chapters on matrix
/// arithmetic, vector memory, scalar memory and data share; AMD Matrix Instruction Calculator (layouts, passes); LLVM 22
/// IntrinsicsAMDGPU.td, AMDGPU scheduling model and hazard recogniser.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/codegen/element.h>

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::codegen {

/// Where one side's bits are.
enum class AtomSpace : std::uint8_t { vector_registers, scalar_registers, global, lds };

/// What gives the address of a side.
enum class Addressing : std::uint8_t {
  none,             ///< registers
  descriptor,       ///< a buffer descriptor (SGPRs), 32 bits of offset a lane, 32 bits of scalar offset
  pointer,          ///< 64 bits a lane, or a scalar base and 32 bits a lane (global_*)
  flat,             ///< 64 bits a lane, global or LDS or scratch by value
  lds,              ///< 32 bits a lane
  m0,               ///< one LDS address a wave: M0 (memory -> LDS)
  scalar,           ///< one 64-bit address a wave (s_load)
  scalar_descriptor ///< one descriptor and offset a wave (s_buffer_load)
};

/// What must reach zero (or a count) before the result may be used.
enum class Counter : std::uint8_t { none, vm, lgkm, vm_and_lgkm };

/// What memory becomes from itself and the register.
enum class Combine : std::uint8_t {
  none,
  add,
  sub,
  min,
  max,
  umin,
  umax,
  bit_and,
  bit_or,
  bit_xor,
  swap,
  compare_swap,
  increment,
  decrement
};

/// One side of a movement; see the head of this file.
struct AtomSide {
  AtomSpace space = AtomSpace::vector_registers;
  Addressing addressing = Addressing::none;
  Layout address; ///< (lane, bit) -> bits from the address
  Layout data;    ///< (lane, bit) -> slot
  /// One address for all lanes.
  [[nodiscard]] bool uniform() const {
    return addressing == Addressing::m0 || addressing == Addressing::scalar ||
           addressing == Addressing::scalar_descriptor;
  }
};

/// The matrix product of an mma atom.
struct Mma {
  int m, n, k, blocks;
  Element a_element, b_element, c_element; ///< of A, B, and of C and D
  Layout a; ///< (lane, value) -> (m, k, block); sparse: k counts the packed elements, two of every four
  Layout b; ///< (lane, value) -> (n, k, block)
  Layout c; ///< (lane, value) -> (m, n, block), of C and D
  /// A holds two of every four k; the index register, laid out as A, has 2 bits a packed element.
  bool sparse = false;
  bool scaled = false; ///< A and B are multiplied by e8m0 scales of 32 k each
  /// (lane, 1) -> (row, first k): byte 0 of that lane's register scales k .. k + 31 of the row. Both have this layout.
  std::optional<Layout> scale = {};
  int passes = 0; ///< of 4 clocks each, that the matrix pipe is busy
  /// Wait states until D can be read by the VALU, by memory instructions or as A or B; -1: not published.
  int result_wait_states = -1;

  [[nodiscard]] int a_values() const; ///< elements of A that a lane holds
  [[nodiscard]] int b_values() const;
  [[nodiscard]] int c_values() const;
  [[nodiscard]] std::int64_t multiply_adds() const; ///< m n k blocks, zeros of a sparse A counted
  [[nodiscard]] int clocks() const { return 4 * passes; }
};

/// The constant that an instruction adds to its address: multiples of `unit` bytes from min to max.
struct Immediate {
  int min = 0, max = 0, unit = 1;
  [[nodiscard]] bool holds(std::int64_t bytes) const {
    return bytes % unit == 0 && bytes >= min && bytes <= max;
  }
};

/// How LLVM IR expresses the atom.
struct Emission {
  /// `llvm.amdgcn...`, mangled, or an instruction: `load`, `store`, `atomicrmw fadd`, `cmpxchg`. Empty: LLVM has no way
  /// to ask for it.
  std::string name;
  std::string result;                ///< LLVM type, `void` where there is none
  std::vector<std::string> operands; ///< LLVM types in order, with the value where the atom fixes it: `i32 4`
};

struct Atom {
  enum class Kind : std::uint8_t {
    mma,      ///< D = A B + C
    copy,     ///< load, store, memory -> LDS
    atomic,   ///< memory = combine(memory, register)
    relayout, ///< registers to registers of other lanes
  };

  std::string name; ///< as in assembly; unique on each target
  Kind kind = Kind::copy;
  TargetSet targets;
  Emission emission;

  /// @name Movement: copy, atomic, relayout
  /// @{
  AtomSide source, destination;
  int bits = 0;      ///< that a lane moves
  int parts = 1;     ///< 2: two places of bits / 2 each, with an immediate of their own (ds_read2, ds_write2)
  int alignment = 1; ///< bytes of which an address must be a multiple
  bool sign_extends = false; ///< of loads below 32 bits into a register; otherwise they are zero-extended
  Immediate immediate;
  /// The immediate moves the LDS place too (memory -> LDS).
  bool immediate_moves_both = false;
  Combine combine = Combine::none;
  Element element = Element::i32; ///< of atomics; two of them where bits = 32 and it has 16
  bool returns = false;           ///< the old value comes back in a register
  /// Relayouts between lanes fixed by the instruction: lane l receives lane gather[l]; -1: nothing (0, or what the
  /// destination held). Empty where the layouts say it (swaps) or a register does (bpermute, readlane).
  std::vector<int> gather;
  /// @}

  std::optional<Mma> mma;

  Counter counter = Counter::none;
  bool in_order = true; ///< completes in the order of issue among those of its counter (not s_load, not flat)

  /// Where a lane's data goes is not the lane's choice: memory -> LDS.
  [[nodiscard]] bool forced_place() const { return destination.addressing == Addressing::m0; }
  [[nodiscard]] bool is_load() const {
    return kind == Kind::copy && destination.space != AtomSpace::global &&
           source.addressing != Addressing::none;
  }
  [[nodiscard]] bool is_store() const { return kind == Kind::copy && source.addressing == Addressing::none; }
  /// The mnemonic alone: up to the first blank.
  [[nodiscard]] std::string_view mnemonic() const;

  /// Every atom of every target.
  [[nodiscard]] static const std::deque<Atom>& all();
  /// Those of one target, in the table's order.
  [[nodiscard]] static std::vector<const Atom*> on(const Target& target);
  /// By name; nullptr when the target has none of that name.
  [[nodiscard]] static const Atom* find(const Target& target, std::string_view name);
  /// By name. Errors: CodegenError naming the targets that have it, or names that are near.
  [[nodiscard]] static const Atom& named(const Target& target, std::string_view name);

  /// The dense product with m = n = `m`, one block and that k. Errors: CodegenError naming the shapes that the target
  /// has for these types, and the targets that have what was asked for.
  [[nodiscard]] static const Atom& mma_of(const Target& target, Element a, Element b, Element c, int m,
                                          int k);
  /// The one with the largest k: `mma_best(mi355x, f16, f16, f32, 16)` is v_mfma_f32_16x16x32_f16. Without scales; for
  /// 8 bits and below on CDNA4 that is f8f6f4. Errors: as mma_of.
  [[nodiscard]] static const Atom& mma_best(const Target& target, Element a, Element b, Element c, int m);
  /// The one that multiplies A and B by e8m0 scales of 32 k each. Errors: CodegenError naming the targets that have it.
  [[nodiscard]] static const Atom& mma_scaled(const Target& target, Element a, Element b, int m);

  /// @name Movement by what it does. Errors: CodegenError naming the widths there are and the targets that have it.
  /// @{
  /// Memory or LDS to registers, zero-extended below 32 bits: `load(t, Addressing::descriptor, 128)`.
  [[nodiscard]] static const Atom& load(const Target& target, Addressing from, int bits);
  [[nodiscard]] static const Atom& store(const Target& target, Addressing to, int bits);
  /// Instructions that read so many bits of LDS to registers side by side: one, and of 192 bits, 32 elements of 6, three of 64. (Of two of
  /// 96 bits the second would begin at an odd register, and the file has pairs.)
  [[nodiscard]] static constexpr int lds_reads(int bits) { return bits == 192 ? 3 : 1; }
  [[nodiscard]] static const Atom& lds_read(const Target& target, int bits) {
    return load(target, Addressing::lds, bits / lds_reads(bits));
  }
  /// Memory to LDS without registers; from: descriptor or pointer.
  [[nodiscard]] static const Atom& lds_dma(const Target& target, Addressing from, int bits);
  /// LDS to registers, transposing 16 x n blocks of elements of that many bits: 4, 6, 8, 16.
  [[nodiscard]] static const Atom& transposing_read(const Target& target, int element_bits);
  /// memory = combine(memory, register), at once; 2 elements where `packed`.
  [[nodiscard]] static const Atom& atomic(const Target& target, Addressing to, Combine combine,
                                          Element element, bool packed = false, bool returns = false);
  /// @}
};

[[nodiscard]] std::string to_string(Atom::Kind kind);
[[nodiscard]] std::string to_string(AtomSpace space);
[[nodiscard]] std::string to_string(Addressing addressing);
[[nodiscard]] std::string to_string(Counter counter);
[[nodiscard]] std::string to_string(Combine combine);

} // namespace inlay::codegen
