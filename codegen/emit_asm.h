/// A loop as one operation of the IR: a block of assembly with its own registers. Private.
///
/// LLVM's register allocator cannot hold 256 accumulators and the operands around them; it does not have to. Everything
/// before and after the loop is IR; the loop is text in which this file has chosen every register:
///
///     results      accumulators, in AGPRs when they and the rest, the prologue's addresses among it, do not fit into 256 VGPRs, pinned: `=&{a[0:3]}`; the
///                  block writes zeros to them while the first loads are under way (a copy of the first trip whose
///                  products take 0 would do without, and be 2.7 KB of code at 256x256x64)
///     rings        a register of the loop gets one place a copy of the trip, by first fit of its lifetimes on the circle
///                  of `copies` trips; what does not fit into VGPRs beside addresses is in AGPRs, which loads fill and
///                  products read as well (not with scales). Results of up to 128 dwords are in VGPRs then; the loop's prologue is the block's where addresses leave room for it, otherwise
///                  what it has filled comes in pinned
///     arithmetic   sums of scaled products (schedule/scaled_sums.h): temporary results, scales and sums in VGPRs, operands of products
///                  after them or all in AGPRs. The loop's prologue has products and sums of its own, so it is the block's, or there is no block
///     addresses    whatever registers LLVM likes
///
/// The trips are `copies` bodies one after another, so that stages and rings are constants; after each of them the loop
/// may end, and the last trip stands once for each copy. A staggered loop stands there twice, and both leave to the same last
/// trips: places are for the lives of either order. Waits and barriers are the code's. What LLVM's hazard recogniser would do, were it to look inside:
/// nothing between matrix instructions of this distance; wait states before and after the block are written out.
///
/// Sources: LLVM Language Reference, "Inline Assembler Expressions"; "AMD Instinct MI300 ISA (CDNA3) Reference Guide",
/// chapter 4.5 (required NOPs); LLVM 22 GCNHazardRecognizer.cpp (wait states of matrix instructions).
#pragma once

#include <inlay/codegen/code.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inlay::codegen {

/// A place of a register: VGPR n below `first_agpr`, AGPR n - first_agpr from there on.
inline constexpr int first_agpr = 256;
/// `v7`, `v[4:7]`, `a[0:3]`. Requires: all in one file.
[[nodiscard]] std::string register_range(int place, int count);

/// Where the registers of a loop are.
struct BlockRegisters {
  bool results_in_agprs = false;
  int copies = 1;                     ///< of the trip
  int first = 0, last = 0;            ///< VGPRs that the block owns, from first up to last
  std::pair<int, int> agprs = {0, 0}; ///< of its rings, from first up to second
  std::map<int, int> results;         ///< register -> its first place
  std::map<int, int> loaded; ///< what the last trip loads for the code after the loop -> its first VGPR
  std::map<std::pair<int, int>, int> rings; ///< (register, iteration % copies) -> its first place
  bool prologue = false; ///< the loop's prologue may stand in the block: nothing in it needs other places
};

/// How an instruction finds its memory: names of operands in the text.
struct BlockAddress {
  std::string vector, descriptor, scalar; ///< LDS: vector alone
  int immediate = 0;
};

/// A scalar register that each trip moves on.
struct BlockCounter {
  std::string name, start, step; ///< operands; step may be a number
};

struct BlockText {
  /// Of an instruction of the body or the epilogue, in copy `residue`.
  std::function<BlockAddress(const Inst& inst, int residue)> address;
  std::function<std::string(const Inst& inst)> line; ///< `.loc`, or nothing
  std::vector<BlockCounter> counters;
  bool prologue = false;     ///< the loop's prologue is the block's
  std::size_t under_way = 0; ///< but for so many instructions, which stand before the block
  std::string trips;         ///< operand: how many trips run the body
  std::string left;          ///< operand: a scalar register for what is left of them
  std::string wave;          ///< operand: the number of the wave, where the loop is staggered
};

/// Whether the loop can be a block, and the registers then.
[[nodiscard]] std::optional<BlockRegisters> block_registers(const Code& code, const CodeRegion& loop);
/// The text. Operands are named as in LLVM's templates, `$3`.
[[nodiscard]] std::string block_text(const Code& code, const CodeRegion& loop,
                                     const BlockRegisters& registers, const BlockText& how);

} // namespace inlay::codegen
