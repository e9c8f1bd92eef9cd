/// `AddressSplit`: how the address of an access becomes a base, registers and an immediate. One function for everybody.
///
///     place(origin + threads(tid) + element)  =  base + step + lane + immediate        in elements
///
///     base        uniform, the same in every trip: goes into the descriptor's pointer (64 bits)
///     step        uniform, moves with the trip: the scalar offset
///     lane        a formula in the work-item: a vector register
///     immediate   a constant: part of the instruction
///
/// The running example, thread t loading A's tile (bm, u): base = 128 bm K, step = 64 u, lane = (t/8) K + 8 (t%8).
///
/// **Guards.** A descriptor ends after `records` elements from base; that is an exact guard of `descriptor_axis`, the
/// outermost axis along which the tile may leave the tensor, when nothing inside passes the end of a row: the claim
/// `exact`. The scalar offset is not part of what the hardware compares; the guard does not depend on it, because a
/// coordinate inside along the other axes stays inside its row with it and without it. The other masked axes are compared
/// in registers (`predicates`).
///
/// **64 bits.** Offsets of a descriptor are 32 bits. Where rows that a table names may lie farther than that (an embedding table of 100 GB), or
/// the program says so (Program::far), each lane has an address of 64 bits: pointer + base + step + lane + immediate. No descriptor ends
/// anything then: all masks are compared in registers, and who is outside loads from 16 bytes of zeros that the code has.
///
/// `split` checks the identity above in normal form and refuses an address for which it cannot be shown.
/// Sources: "AMD Instinct MI300 ISA (CDNA3) Reference Guide", chapter 9.1.5 (buffer addressing, range checking).
#pragma once

#include <inlay/codegen/code.h>

#include <vector>

namespace inlay::codegen {

struct AddressSplit {
  Sym base, step, lane;
  std::vector<Sym> begin; ///< [axis]: what of the coordinate is in the base
  std::int64_t immediate = 0;
  int descriptor_axis = -1; ///< -1: the descriptor does not end anything
  Sym rows{};               ///< coordinates of that axis from the base on that are inside
  Sym records{};            ///< elements from the base on
  bool to_last = false;     ///< they end with the last row's last element: there has to be one
  /// [axis]: the base is somewhere along that axis, and the records end where they would from the axis's start. Otherwise a
  /// coordinate outside along it, in the last row, is after the base's row and before the records' end.
  std::vector<bool> shortened;
  struct Predicate {
    int axis;         ///< -1: one of what a window looks at
    Sym coordinate{}; ///< from the origin on: threads(tid) + element
    Sym room{};       ///< inside when coordinate < room
    /// The coordinate may be any number, from memory or a window's: compared as unsigned.
    bool data;
  };
  std::vector<Predicate> predicates;
  /// The axis whose coordinate comes from a table for each work-item, or -1. The descriptor then ends with the tensor:
  /// that protects memory and guards nothing.
  int gathered_axis = -1;
  /// So does that of an access with masks along inner axes and one coordinate of the outermost, unmasked one, along which a loop
  /// may run ahead of the end.
  bool ends_with_tensor = false;
  /// Each lane has an address of 64 bits: there is no descriptor, and `predicates` are all guards.
  bool far = false;
  /// Whether the descriptor ends: `records` is said.
  [[nodiscard]] bool ends() const { return descriptor_axis >= 0 || gathered_axis >= 0 || ends_with_tensor; }
};

/// The symbol that stands for the work-item in `lane`.
[[nodiscard]] Sym work_item(const Program& program);
/// A layout of threads with integer strides, as a formula in the work-item.
[[nodiscard]] Sym at_work_item(const Program& program, const Layout& threads);
/// Coordinates of a thread as formulas in the work-item, each layout once: the instructions of an operation share theirs.
class ThreadCoordinates {
public:
  explicit ThreadCoordinates(const Program& program) : program_(&program) {}
  [[nodiscard]] Sym operator()(const Layout& threads, std::size_t axis);
  [[nodiscard]] const Program& program() const { return *program_; }

private:
  struct Known {
    Layout threads;
    std::size_t axis;
    Sym coordinate;
  };
  const Program* program_;
  std::vector<Known> known_;
};
/// Whether an access has an address of 64 bits in each lane. Stores and what is loaded from outputs have none.
[[nodiscard]] bool is_far(const Program& program, const Access& access);
/// The symbol that stands for what a register holds where it is a coordinate along `axis` of `tensor`.
[[nodiscard]] Sym row_symbol(const Program& program, const Tensor& tensor, std::size_t axis, const Reg& row);
/// The table behind an origin that is one number for the workgroup (Program::uniform), or null.
[[nodiscard]] const Uniform* uniform_of(const Program& program, Sym origin);
/// Whether a formula is the symbol and a rest without it: `n + 3 m` of n, not `2 n`, nor `n m`.
[[nodiscard]] bool adds_once(Sym s, Sym symbol);
/// The number from memory that a formula counts from something else on, u of `u - 256*wg_z`, or null.
[[nodiscard]] const Uniform* uniform_in(const Program& program, Sym s);
/// Whether it is compared as a number, by a branch, by a map or by the specification: then nothing in its table may be negative.
[[nodiscard]] bool is_bound(const Code& code, const Uniform& uniform);
/// Whether a formula has a workgroup's number in it.
[[nodiscard]] bool has_workgroup(const Program& program, Sym s);
/// Whether a formula has a number from memory in it.
[[nodiscard]] bool has_uniform(const Program& program, Sym s);
/// The axes of a tensor in memory by their distance, the farthest first; in the order of the coordinate where it is not known
/// for all sizes. `(m,n):(1,m)` gives 1, 0.
[[nodiscard]] std::vector<std::size_t> outside_in(const Tensor& tensor);
/// `uses`: of the instruction, where coordinates come from registers.
/// Errors: CodegenError when the parts do not add up to the view's address for all lanes and sizes.
[[nodiscard]] AddressSplit split(ThreadCoordinates& coordinates, const Access& access,
                                 std::span<const Reg> uses = {});

} // namespace inlay::codegen
