/// `MmaTiling`: a block of C computed by several waves, one matrix instruction at a time.
///
/// C[m,n] = sum_k A[m,k] B[n,k] for an m x n x k block. Waves stand in a grid of waves_m x waves_n; wave (i,j) takes every
/// waves_m-th row of atoms from i on and every waves_n-th column from j on. Two freedoms are used, which is what the
/// algebra's MmaTiling (ops/thread_value.h, after CuTe) leaves to its caller's permutation tile and atom:
///
/// * **K order.** The sum may be taken in any order, as long as A and B agree. So that a lane's operands of one 128-bit LDS
///   read feed several instructions, lane group g owns k = g*v .. g*v + v-1 (v = `k_vector`) instead of the k's that one
///   instruction after the other would give it.
///   An instruction that takes twice as many (f8f6f4 of 32 bytes a lane) gets its operand in two parts, from two fragments
///   along k.
///   Where the instruction multiplies by scales, 32 adjacent k of a row have one: a lane's vector is one such block, of 8 bits half of one.
/// * **Operands swapped.** The instruction computes D^T = B A^T: its rows are our columns. A lane then holds 4 adjacent
///   columns of one row of C, which is one 8- or 16-byte store in a row-major C, not 4 scattered ones.
///
/// * **Columns interleaved.** Atoms beside one another along n may share out their columns so that a lane owns n_vector
///   adjacent ones, 4 of each: columns 8g .. 8g+7 of 32 for lane group g, where 4g .. 4g+3 and 16+4g .. 16+4g+3 are the
///   instruction's. B's rows follow. So results are operands of the next product that takes 8 k a lane, or 16-byte stores.
///
/// Running example, 16x16x16 f16 with 2 x 2 waves on a 64 x 64 x 32 block, k_vector 8:
///
///     a   (thread, value) -> (m, k)    ((16,4,2,2),(8,2,1)):((1@0,8@1,16@0,0),(1@1,32@0,32@1))
///     c   (thread, value) -> (m, n)    ((16,4,2,2),(4,2,2)):((1@0,4@1,16@0,16@1),(1@1,32@0,32@1))
///
/// Source: CuTe documentation, "0t_mma_atom" (tiled MMA, permutations); AMD ISA guides as in atoms.h.
#pragma once

#include <inlay/codegen/atoms.h>

namespace inlay::codegen {

struct MmaTiling {
  const Atom* atom; ///< dense, one block
  int waves_m, waves_n;
  int m, n, k;      ///< of the block
  int k_vector;     ///< adjacent elements of k that a lane owns
  int n_vector = 0; ///< adjacent columns of C that a lane owns; 0: as the instruction has them
  int copies = 1;   ///< groups of waves that all have the whole block

  /// Errors: CodegenError when the waves' atoms do not divide the block, when k_vector is neither a multiple nor the half of
  /// what an instruction takes, or when the instruction has no free K order: sparse, of several blocks, or with A and B of
  /// formats whose values lie at different k (e4m3fn with e2m1). With scales: when a lane's vector is not the run of k that it has in
  /// the instruction, or a wave has no even number of atoms along m, n and k.
  [[nodiscard]] static MmaTiling of(const Atom& atom, int waves_m, int waves_n, int m, int n, int k,
                                    int k_vector);

  /// The same with that many adjacent columns of C in a lane. Errors: CodegenError for atoms that are not 16 x 16, and numbers
  /// that are no multiple of 4 or need more atoms along n than a wave has.
  [[nodiscard]] MmaTiling with_columns(int adjacent) const;

  /// The same by so many groups of waves, each of which computes the whole block: what the next product takes needs no exchange where that one's
  /// columns are the groups'. Group g has threads g t to (g + 1) t - 1 of t. Errors: CodegenError for numbers below 1.
  [[nodiscard]] MmaTiling repeated(int times) const;

  [[nodiscard]] const Mma& mma() const { return *atom->mma; }
  [[nodiscard]] int threads() const { return 64 * waves_m * waves_n * copies; }
  [[nodiscard]] int lane_groups() const { return 64 / mma().m; }               ///< lanes that share a row
  [[nodiscard]] int repeat_m() const { return m / (mma().m * waves_m); }       ///< atoms of a wave along m
  [[nodiscard]] int repeat_n() const { return n / (mma().n * waves_n); }       ///< and along n
  [[nodiscard]] int k_steps() const { return k / (k_vector * lane_groups()); } ///< fragments along k
  [[nodiscard]] int atoms_per_step() const { return k_vector / mma().a_values(); } ///< 0: it takes two steps
  [[nodiscard]] int parts() const { return atoms_per_step() == 0 ? 2 : 1; }        ///< of an operand
  /// That a wave's products of the block keep its matrix pipe busy: repeat_m repeat_n k / (k of an atom) times an atom's.
  [[nodiscard]] int clocks() const { return repeat_m() * repeat_n() * (k / mma().k) * mma().clocks(); }

  /// (thread, (vector, repeat, step)) -> (m, k); threads along waves_n see the same elements (stride 0).
  [[nodiscard]] Layout a() const;
  /// (thread, (vector, repeat, step)) -> (n, k); `repeat` is two modes where columns are interleaved.
  [[nodiscard]] Layout b() const;
  /// (n, k) -> element number of B's tile, row after row in the order of the instruction's lanes: the rows that lanes read side
  /// by side are neighbours, whichever columns they stand for. `((4,2,4,2),128):((128,2048,512,4096),1)` for 64 rows of 128.
  [[nodiscard]] SymLayout b_place() const;
  /// (thread, (an atom's values, repeat_m, repeat_n)) -> (m, n); repeat_n is two modes where columns are interleaved.
  [[nodiscard]] Layout c() const;
  /// (thread, (8, repeat_m, repeat_n / 2)) -> (m, n): where v_permlane16_swap_b32 of an atom's four columns and those of the wave's
  /// next atom leaves them, 8 adjacent ones in a lane. Lane group g has those from 8 (g / 2) of atom g % 2.
  /// Errors: CodegenError for atoms that are not 16 x 16, an odd number of them along n, columns that are interleaved.
  [[nodiscard]] Layout c_by_eights() const;
  /// (thread, ((atom of two, step of two), repeat / 2, step / 2)) -> (m, k / 32): a lane's scales of two rows of atoms by two steps
  /// along k are the bytes of one register, of which an instruction takes one.
  [[nodiscard]] Layout a_scales() const;
  [[nodiscard]] Layout b_scales() const; ///< -> (n, k / 32)
  /// Which value of these layouts scales atom `repeat` of `repeats` in step `step`.
  [[nodiscard]] static int scale_value(int repeat, int repeats, int step) {
    return repeat % 2 + 2 * (step % 2) + 4 * (repeat / 2 + repeats / 2 * (step / 2));
  }
};

} // namespace inlay::codegen
