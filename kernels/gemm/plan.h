/// The layouts of the GEMM, as functions of the specification: where every element is at every step.
///
/// One workgroup has `threads` work-items and one tile of C. A tile of A is `tile_m` rows of `pitch` bytes of K; a
/// *chunk* is 16 bytes of a row, 8 consecutive k, the unit in which everything moves:
///
///     memory -> registers   work-item t, pass p     row t / chunks + p * rows_per_pass, chunk t % chunks
///     registers -> LDS      the same                byte Sw(row * pitch + 16 * chunk)
///     LDS -> registers      lane l of a wave, repeat r, step s
///                                                   row wave * rows + r * mfma + l % mfma, chunk s * groups + l / mfma
///     matrix unit           chunk of a lane, cut into `mfmas_per_step` operands of `values` k each
///     accumulators          C[m][n]: m = l % mfma, n = 4 * (l / mfma) + v % 4 + 4 * groups * (v / 4) in each block
///
/// Rows of B take the part of the matrix unit's rows and rows of A that of its columns, so that a lane ends up with
/// four consecutive n of one row of C, which is one store. The k of A and B are fed in the same permuted order (chunk
/// by lane group), which leaves the sum unchanged; that both orders agree is one of the claims.
///
/// All numbers are powers of two but the numbers of repeats, so every layout here is a plain layout, and the claims in
/// `prove` are about these texts and nothing else; build.cpp lowers the same numbers.
#pragma once

#include <inlay/codegen/atoms/mfma.h>
#include <inlay/kernels/gemm/spec.h>

#include <cstdint>
#include <string>
#include <vector>

namespace inlay::kernels {

/// `Sw<bits,4,shift>` on byte addresses: chunk bits are XORed with row bits. bits 0: the identity.
struct ChunkSwizzle {
  int bits = 0;
  int shift = 0;
  [[nodiscard]] std::int64_t operator()(std::int64_t byte) const {
    const std::int64_t mask = ((std::int64_t{1} << bits) - 1) << (4 + shift);
    return byte ^ ((byte & mask) >> shift);
  }
  [[nodiscard]] std::string text() const;
};

/// What differs between A and B.
struct OperandPlan {
  std::string name;   ///< `A`
  int tile_rows = 0;  ///< rows of the tile: tile_m or tile_n
  int waves = 0;      ///< waves that share out the rows
  int wave_rows = 0;  ///< rows of one wave
  int repeats = 0;    ///< matrix instructions along the rows of one wave
  int passes = 0;     ///< 16-byte loads of one work-item for one tile
  int lds_offset = 0; ///< of the tile inside a stage
};

struct GemmPlan {
  GemmSpec spec;
  int threads = 0, waves = 0;
  int pitch = 0;         ///< bytes of a row of a tile
  int chunks = 0;        ///< 16-byte chunks of a row
  int rows_per_pass = 0; ///< rows that all work-items load at once
  int groups = 0;        ///< lane groups of the matrix instruction along k
  int steps = 0;         ///< steps of `groups` chunks in a tile of K
  const codegen::MfmaAtom* atom = nullptr;
  int values = 0;         ///< k of one lane in one matrix instruction
  int mfmas_per_step = 0; ///< matrix instructions that one chunk feeds
  int acc_values = 0;     ///< f32 accumulators of a lane in one matrix instruction
  OperandPlan a, b;
  ChunkSwizzle write_swizzle, read_swizzle;
  int stage_bytes = 0, lds_bytes = 0;

  /// A and B, or A alone when B is preshuffled.
  [[nodiscard]] std::vector<const OperandPlan*> through_lds() const;

  /// Byte in LDS, from the begin of the operand's tile, that work-item t writes in pass p.
  [[nodiscard]] std::int64_t write_address(int t, int p) const;
  /// Byte that work-item t reads for repeat r in step s.
  [[nodiscard]] std::int64_t read_address(const OperandPlan& operand, int t, int r, int s) const;

  /// @name The same as text, for the solver
  /// @{
  [[nodiscard]] std::string
  copy_layout(const OperandPlan& operand) const; ///< (work-item, value) -> element of the tile
  [[nodiscard]] std::string
  write_layout(const OperandPlan& operand) const; ///< (lane, instance) -> byte, without swizzle
  [[nodiscard]] std::string read_layout(const OperandPlan& operand) const;
  [[nodiscard]] std::string lds_layout(const OperandPlan& operand,
                                       const ChunkSwizzle& swizzle) const; ///< (row, byte) -> byte
  [[nodiscard]] std::string k_order(bool of_b) const; ///< (value, group, instruction, step) -> k
  [[nodiscard]] std::string c_atom_layout() const;    ///< (lane, value) of one instruction -> m + tile_m * n
  [[nodiscard]] std::string c_layout() const;         ///< (work-item, value) -> m + tile_m * n
  /// @}
};

/// Bounds within which 32-bit offsets are safe: tile rows * 2 * K stays below 2^31.
inline constexpr std::int64_t max_row_elements = std::int64_t{1} << 21;

/// Checks the specification and lays everything out; the swizzle is the smallest one that is free of conflicts.
/// Errors: std::invalid_argument naming the field that is not supported.
[[nodiscard]] GemmPlan plan_gemm(const GemmSpec& spec);

/// Puts every claim that the code relies on to the solver. Errors: ObligationError.
[[nodiscard]] ProofReport prove_gemm(const GemmPlan& plan);

} // namespace inlay::kernels
