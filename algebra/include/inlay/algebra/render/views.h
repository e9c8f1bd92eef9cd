/// The ways to look at a layout: each function makes a `Picture` (picture.h).
///
///     layout_picture("((2,2),3):((24,2),8)"_layout)             the matrix of its values
///     thread_value_picture(tv, {16, 16})                        the tile it covers: who holds which element
///     mfma_pictures(32, 32, 8)                                  A, B and C of one matrix instruction
///     bank_picture("...", offset_of_lane, model)                what one LDS access asks of each bank
#pragma once

#include <inlay/algebra/composed.h>
#include <inlay/algebra/render/picture.h>

#include <functional>

namespace inlay {

/// What a drawn function gives at one index: its text, and the number that chooses the colour.
struct DrawnValue {
  std::string text;
  std::int64_t step;
};

/// The matrix of any function on the coordinates of `shape`: value_of(i) for i < size(shape). Errors:
/// `limit`.
[[nodiscard]] Picture function_picture(std::string title, const IntTuple& shape,
                                       const std::function<DrawnValue(Int)>& value_of);

/// The matrix of the values of a layout: offsets, or coordinates where it has basis strides. Errors: `limit`.
[[nodiscard]] Picture layout_picture(const Layout& layout);
/// The same for a swizzled layout: values after the swizzle. Errors: `limit`.
[[nodiscard]] Picture layout_picture(const ComposedLayout& layout);

/// The tile that a thread-value layout covers. TV maps (thread, value) to the colexicographic index of an
/// element of `tile` (an M, or an (M,N)); the cell of that element shows `T<thread>V<value>`, coloured by
/// thread. An element that several hold shows the first and `+n`, one that nobody holds is blank. Requires:
/// rank 2; every value in [0, size(tile)). Errors: `rank`, `range`, `limit`.
/// `thread_value_picture("((4,2),2):((2,8),1)"_layout, {4, 4})`: T0 holds elements 0 and 1 of the first column.
[[nodiscard]] Picture thread_value_picture(const Layout& thread_value, const IntTuple& tile);

/// The three operands of a dense MFMA instruction v_mfma_*_MxNxK with one block, M = N = 16 or 32, as
/// thread-value layouts of 64 lanes. With G = 64/M lane groups and V = K/G values a lane,
///     A: ((M,G),V):((1,M V),M)  onto (M,K)           lane l holds row l % M, k = V (l / M) + v
///     B: ((N,G),V):((1,N V),N)  onto (N,K)
///     C: ((N,G),(4,M/(4 G))):((M,4),(1,4 G))  onto (M,N)   column l % N, four consecutive rows at a time
/// (AMD Instinct MI300 ISA guide, chapter on matrix instructions: "Dense Matrix Multiplication Operations".)
struct MfmaOperands {
  Layout a, b, c;
  IntTuple a_tile, b_tile, c_tile;
};
/// Requires: m = n, 16 or 32, and k a multiple of 64/m. Errors: `mfma_shape`.
[[nodiscard]] MfmaOperands mfma_operands(Int m, Int n, Int k);
[[nodiscard]] std::vector<Picture> mfma_pictures(Int m, Int n, Int k);

/// How the LDS serves one instruction of a wave: `phases` lists which lanes are served together; within a phase
/// a bank delivers one 32-bit word a clock, whoever asks for it. (solver/lds.h has the measured groups.)
struct BankModel {
  std::string name; ///< `ds_read_b128 on gfx942`
  Int bytes_per_lane = 4;
  std::size_t banks = 32;
  std::vector<std::vector<unsigned>> phases;
};

/// Bank occupancy: a row a phase, a column a bank, and in the cell how many different words that bank must
/// deliver. A row takes as many clocks as its largest cell; the caption sums them and names the minimum.
/// `offset_of_lane` gives the byte offset of each of the 64 lanes. Requires: offsets >= 0. Errors: `range`.
[[nodiscard]] Picture bank_picture(std::string title, const std::function<Int(unsigned lane)>& offset_of_lane,
                                   const BankModel& model);

} // namespace inlay
