/// Synthesis: the swizzle, the padding, the vector width that make a set of claims true, each with its proof.
///
/// A tile in LDS is written in one order and read in another. Which lanes meet in a bank depends on both, so both
/// views are searched for at once; a view maps (lane, instance...) to byte offsets in the tile *before* the swizzle:
///
///     LdsView write{"((8,8),2):((16,128),1024)", "ds_write_b128"};   64 lanes fill 8 rows of 128 bytes
///     LdsView read{"((16,4),2):((128,16),64)", "ds_read_b128"};      MFMA 16x16 operand: row lane%16, chunk lane/16
///     search_swizzle({write, read}, "MI300X", 2048).front() is Sw<3,4,3>
///
/// What is returned has been proved (prove_conflict_free per view, prove_bijective on the tile), not merely scored. A
/// list that is empty means: none among the candidates stated at the function.
#pragma once

#include <inlay/solver/lds.h>
#include <inlay/solver/prove.h>

#include <string>
#include <vector>

namespace inlay::solver {

/// One access to a tile in LDS: the map from (lane, instance...) to bytes, and the instruction.
struct LdsView {
  std::string map;
  std::string instruction;
};

struct SwizzleChoice {
  int bits = 0, base = 0, shift = 0;
  std::uint64_t footprint = 0; ///< bytes: that of the tile, a swizzle needs none of its own
  unsigned degree = 1;         ///< worst conflict over all views and instances
  unsigned clocks = 0;         ///< LDS clocks of one pass over every view
  std::vector<Verdict> proofs; ///< one per view, then the bijection
  [[nodiscard]] std::string text() const;
};

/// Conflict-free swizzles Sw<B,M,S> of a tile of `tile_bytes`, fewest bits first: B <= 6, 2 <= M, 1 <= S, B + M + S
/// bits below the tile size. Requires: tile_bytes is a multiple of a power of two that covers a swizzle's reach.
/// Errors: QuestionError for views that leave the tile.
[[nodiscard]] std::vector<SwizzleChoice> search_swizzle(const std::vector<LdsView>& views,
                                                        std::string_view arch, std::uint64_t tile_bytes);
/// The best there is when nothing is conflict-free: least clocks, then fewest bits; proofs hold the refutations.
[[nodiscard]] SwizzleChoice best_swizzle(const std::vector<LdsView>& views, std::string_view arch,
                                         std::uint64_t tile_bytes);

struct PaddingChoice {
  std::uint64_t row_bytes = 0; ///< value of the symbol
  std::uint64_t footprint = 0; ///< rows * row_bytes
  std::vector<Verdict> proofs;
};

/// Row strides from `row_bytes` on, in steps of `step`, up to twice it, that make every view conflict-free; least
/// footprint first. The views' maps name the stride `symbol`: `((16,4)):((ld,16))`.
/// 128-byte rows read by ds_read_b128 on CDNA3: 160 (32 bytes of padding), not 144.
[[nodiscard]] std::vector<PaddingChoice> search_padding(const std::vector<LdsView>& views,
                                                        std::string_view arch, const std::string& symbol,
                                                        std::uint64_t row_bytes, std::uint64_t rows,
                                                        std::uint64_t step = 16);

struct VectorChoice {
  std::uint64_t elements = 1;
  std::string reason; ///< what stops twice as many
  std::vector<Verdict>
      proofs; ///< per layout: L(i) = L(i - i % w) + i % w, and w divides L where a vector begins
};

/// The widest vector, a power of two up to `limit` elements, with which every one of `layouts` can be read or written
/// as a function of the same index: the first mode of its normal form has stride 1 and an extent that the width
/// divides, and the width divides everything else. `search_vector({"(M,K):(K,1)"...})` counts along the first mode.
[[nodiscard]] VectorChoice search_vector(const std::vector<Subject>& layouts, const Facts& facts = {},
                                         std::uint64_t limit = 16);

struct TilerChoice {
  std::uint64_t rows = 0, columns = 0; ///< of the tile that one pass of all threads moves
  std::string thread_value; ///< ((threads...),(values...)) -> tile offset, column-major in (row, column)
  std::uint64_t lines = 0,
                least_lines = 0; ///< cache lines that a wave's instruction touches; the least possible
  std::vector<Verdict> proofs;   ///< the tile moved once; no more lines for every pitch of whole lines
};

/// Ways in which `threads` threads move a row-major tile with vectors of `vector` elements of `element_bytes` so that
/// rows x columns divides `tile_rows` x `tile_columns`, every element is moved once, and each vector is one instruction's
/// (1 to 16 bytes) and lies in one row; fewest cache lines a wave first.
[[nodiscard]] std::vector<TilerChoice> search_tiler(std::uint64_t tile_rows, std::uint64_t tile_columns,
                                                    std::uint64_t threads, std::uint64_t vector,
                                                    std::uint64_t element_bytes);

} // namespace inlay::solver
