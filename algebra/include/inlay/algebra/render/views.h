/// The ways to look at a layout: each function makes a `Picture` (picture.h).
///
///     layout_picture("((2,2),3):((24,2),8)"_layout)             the matrix of its values
///     thread_value_picture(tv, {16, 16})                        the tile it covers: who holds which element
///     mfma_pictures("32x32x8", operands)                        A, B and C of one matrix instruction
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

/// The operands of a matrix instruction as layouts of (lane, value): A onto (M,K), B onto (N,K), C and D onto (M,N), each
/// onto the column-major index of its tile. codegen/atoms.h has them of every instruction.
struct MfmaOperands {
  Layout a, b, c;
  IntTuple a_tile, b_tile, c_tile;
};
/// Rows as columns: of an (N,K) tile the picture with K down.
[[nodiscard]] Picture transposed(Picture picture);
/// A, B and C as they meet in a product: C with B above it (k down, n across) and A to its left. `name` begins their titles. Errors:
/// those of thread_value_picture.
[[nodiscard]] std::vector<Picture> mfma_pictures(const std::string& name, const MfmaOperands& operands);

/// Lines around the tiles of a picture of a layout: `tile_of(i)` is the number of index i's tile.
void outline(Picture& picture, const std::function<int(Int)>& tile_of);

/// How the LDS serves one instruction of a wave: `phases` lists which lanes are served together; within a phase
/// a bank delivers one 32-bit word a clock, whoever asks for it. (solver/lds.h has the measured groups.)
struct BankModel {
  std::string name; ///< `ds_read_b128 on CDNA3`
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
