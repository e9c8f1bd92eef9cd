/// Thread-value layouts: which thread owns which elements of a tile, as layouts.
///
/// An *atom* is what one instruction does. A copy atom has three layouts (thread, value) -> element of its own small space:
/// where the source, the destination and a common reference have that pair. An MMA atom has one such layout per operand, into
/// (M,K), (N,K) and (M,N). A *tiled* copy or MMA repeats its atom over threads and values. Partitioning a tensor X (a layout)
/// is then nothing but divides and compositions:
///
///     Z  = zipped_divide(X, tiler)                               ((tile), (rest))
///     TV : (thread, value) -> position in the tile
///     (Thread, Value, Rest) = Z with mode 0 composed with TV
///
/// The running example: 32 threads in 8 x 4, each with 1 x 8 contiguous values: `make_tiled_copy(atom, (8,4):(4,1), (1,8):(0,1))`
/// tiles 8 x 32, and its TV layout is `((4,8),8):((64,1),8)`. Atoms are plain layouts here; codegen/ names them.
/// Laws: partitions of all threads cover the tile, each element as often as TV hits it; values agree with the definition.
#pragma once

#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/tile.h>

namespace inlay {

/// (thread, value) -> element, for the source, the destination and the reference between them.
struct CopyAtom {
  Layout source;
  Layout destination;
  Layout reference;
  /// One thread that moves n elements at a time.
  [[nodiscard]] static CopyAtom universal(Int n);
};

struct MmaAtom {
  IntTuple shape_mnk; ///< `(16,16,16)`
  Layout thread_id;   ///< logical to physical lane, `64:1`
  Layout a, b, c;     ///< (thread, value) -> (M,K), (N,K), (M,N), column-major inside the atom
};

/// A copy atom repeated over a tile.
struct TiledCopy {
  CopyAtom atom;
  Layout layout_tv; ///< (thread, value) -> element of the tile, column-major
  Tile tiler;       ///< by mode
};

/// thr and val: compact layouts (thread, value) -> number, e.g. `(8,4):(4,1)` and `(1,8):(0,1)`; their raked product is the tile.
[[nodiscard]] TiledCopy make_tiled_copy(const CopyAtom& atom, const Layout& thr, const Layout& val);
/// From (thread, value) -> address and the layout of the data at those addresses. Errors: `partition` (an address outside the
/// data) and those of left_inverse and composition.
[[nodiscard]] TiledCopy make_cotiled_copy(const CopyAtom& atom, const Layout& atom_tv, const Layout& data);

enum class Side : std::uint8_t { source, destination };

/// (Thread, (Values of an atom, atoms), Rest...) of a tensor, as the side of the atom sees it.
[[nodiscard]] Layout tidfrg(const TiledCopy& copy, Side side, const Layout& tensor);
[[nodiscard]] SymLayout tidfrg(const TiledCopy& copy, Side side, const SymLayout& tensor);
/// The part of one thread: ((atom values, atoms), RestM, RestN, ...) and its offset. Errors: `partition` (no such thread).
[[nodiscard]] Sliced<Layout, Int> partition(const TiledCopy& copy, Side side, const Layout& tensor,
                                            Int thread);
[[nodiscard]] Sliced<SymLayout, Sym> partition(const TiledCopy& copy, Side side, const SymLayout& tensor,
                                               Int thread);
/// The same for a thread that is a formula, such as the lane of a kernel: (Thread, ...) evaluated at `thread`.
[[nodiscard]] Sliced<SymLayout, Sym> partition(const TiledCopy& copy, Side side, const SymLayout& tensor,
                                               Sym thread);
/// (thread, value) -> element of the tile, as one side sees it.
[[nodiscard]] Layout layout_tv(const TiledCopy& copy, Side side);
/// A register fragment (V, M, N, ...) of an MMA regrouped as ((atom values, atoms), M, N, ...) for the copy.
[[nodiscard]] Layout retile(const TiledCopy& copy, const Layout& fragment);

enum class Operand : std::uint8_t { a, b, c };

/// An MMA atom repeated over threads (atom layout) and values (permutation tile per mode, `_` for the natural size).
struct TiledMma {
  MmaAtom atom;
  Layout thr_layout_vmnk; ///< (lane, atom m, atom n, atom k) -> thread
  Tile permutation[3];    ///< of M, N, K; never `_`
};

/// atom_layout: rank at most 3, padded with 1:0. permutation: by mode, at most 3 entries.
[[nodiscard]] TiledMma make_tiled_mma(const MmaAtom& atom, const Layout& atom_layout_mnk,
                                      const Tile& permutation_mnk);
/// The tile of one step: (M, N, K).
[[nodiscard]] IntTuple tile_mnk(const TiledMma& mma);
/// ((ThrV,(ThrM,ThrK)), (FrgV,(RestM,RestK,...))) of an A tensor, and likewise for B and C.
[[nodiscard]] Layout thrfrg(const TiledMma& mma, Operand operand, const Layout& tensor);
[[nodiscard]] SymLayout thrfrg(const TiledMma& mma, Operand operand, const SymLayout& tensor);
/// (FrgV, RestM, RestK, ...) of one thread and its offset. Errors: `partition` (no such thread).
[[nodiscard]] Sliced<Layout, Int> partition(const TiledMma& mma, Operand operand, const Layout& tensor,
                                            Int thread);
[[nodiscard]] Sliced<SymLayout, Sym> partition(const TiledMma& mma, Operand operand, const SymLayout& tensor,
                                               Int thread);
/// (thread, value) -> element of the tile of the operand.
[[nodiscard]] Layout layout_tv(const TiledMma& mma, Operand operand);
/// The shape of every thread's partition of a tensor of this shape.
[[nodiscard]] IntTuple partition_shape(const TiledMma& mma, Operand operand, const IntTuple& shape);
/// A copy that delivers an operand in the order in which the MMA wants it.
[[nodiscard]] TiledCopy make_tiled_copy(const CopyAtom& atom, const TiledMma& mma, Operand operand);

/// Tile number `coordinate` of a tensor; `_` keeps a mode of tiles. `local_tile((8,8):(1,8), <8,2>, (0,3)) = {(8,2):(1,8), 48}`.
[[nodiscard]] Sliced<Layout, Int> local_tile(const Layout& tensor, const Tile& tiler,
                                             const Coordinate& coordinate);
[[nodiscard]] Sliced<SymLayout, Sym> local_tile(const SymLayout& tensor, const SymTile& tiler,
                                                const Coordinate& coordinate);
/// The elements that thread `index` of a thread layout gets when the tensor is dealt out in tiles of its shape.
[[nodiscard]] Sliced<Layout, Int> local_partition(const Layout& tensor, const Layout& threads, Int index);

} // namespace inlay
