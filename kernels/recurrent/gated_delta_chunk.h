/// The gated delta rule in chunks of 64 tokens: prefill of what gated_delta_step does token by token. In a chunk whose first state is S, with
/// a(i) the sum of the logarithms g up to token i of the chunk and b(i) its beta,
///
///     A(i,j) = b(i) e^(a(i)-a(j)) k(i).k(j) for j < i,   T = (I + A)^-1      gated_delta_inverse
///     W = T diag(b e^a) K,   U = T diag(b) V                                  gated_delta_rows
///     R = U - W S,   S' = e^a(63) S + K^T diag(e^(a(63)-a)) R                 gated_delta_state, some chunks a launch
///     O = (diag(e^a) Q S + tril(Q K^T e^(a(i)-a(j))) R) / sqrt(D)             gated_delta_out
///
/// gated_delta_gates makes a and b of g and beta, gated_delta_keys queries, keys and keys by columns of q and k. What the stages give one another
/// is [chunk, batch, head, ...], the last chunk filled with tokens of 0, which change nothing; states are [.., value, key].
/// Source: Yang, Wang, Zhang, Shen, Kim, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length", NeurIPS 2024; Yang,
/// Kautz, Hatamizadeh, "Gated Delta Networks", ICLR 2025. Private.
#pragma once

#include "../program_names.h"

#include <inlay/codegen/mma_tiling.h>

#include <bit>

namespace inlay::kernels {

using codegen::Element;

inline constexpr int delta_chunk = 64; ///< tokens
inline constexpr int delta_block = 16; ///< of which the inverse is put together

/// What is asked of a stage; each has the options that it needs.
struct GatedDeltaChunk {
  std::string arch{codegen::usual_target};
  Element type = Element::bf16;
  std::int64_t batch = 2, tokens = 150, heads = 4;
  int group = 2, key = 128, value = 128, columns = 0, chunks_of_launch = 4;
  /// Values of a workgroup of gated_delta_state. Batches and heads are often powers of two: where the units of a device are none, small
  /// workgroups share out evenly (304 units: 64 values took 87558 clocks for 256 heads, 16 take 75905).
  [[nodiscard]] int wide() const {
    const bool even = std::has_single_bit(static_cast<unsigned>(codegen::Target::named(arch).compute_units));
    return columns > 0 ? columns : even ? 64 : 16;
  }
  bool normalise = true;
  [[nodiscard]] std::int64_t chunks() const { return (tokens + delta_chunk - 1) / delta_chunk; }
};

/// The programs, a stage each. Errors: std::invalid_argument naming the option that is not supported.
[[nodiscard]] Program gated_delta_gates_program(const GatedDeltaChunk& s);
[[nodiscard]] Program gated_delta_keys_program(const GatedDeltaChunk& s);
[[nodiscard]] Program gated_delta_inverse_program(const GatedDeltaChunk& s);
[[nodiscard]] Program gated_delta_rows_program(const GatedDeltaChunk& s);
[[nodiscard]] Program gated_delta_state_program(const GatedDeltaChunk& s);
[[nodiscard]] Program gated_delta_out_program(const GatedDeltaChunk& s);

/// Errors: std::invalid_argument for a key, a value, a group or a type that no stage takes.
void check_chunk(const std::string& kernel, const GatedDeltaChunk& s);

/// Sizes of a stage: of all tokens, or of so many chunks.
struct DeltaSizes {
  Sym batch{}, tokens{}, heads{}, chunks{};
  [[nodiscard]] static DeltaSizes of(Program& k, int group, int chunks = 0);
};

/// x where i is n, else 0.
[[nodiscard]] inline Expr where_equal(Sym i, std::size_t n, Expr x) {
  return inside(i, Sym(n + 1), inside(Sym(n) - 1, i, x, 0), 0);
}

/// [.., row, column] of the 64 x 64 numbers of a chunk, stored block by block of 16: (.., (16,4), (16,4)) : (.., (16,1024), (1,256)).
[[nodiscard]] SymLayout by_blocks(Sym chunks, Sym batch, Sym heads);

} // namespace inlay::kernels
