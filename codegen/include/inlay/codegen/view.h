/// `Tensor` and `View`: where data lies, and which of it an operation means.
///
/// A tensor *places* coordinates; a view *names* coordinates by position. They are never inverted: an address is
///
///     address(position) = place(where(position))         place: coordinate -> element number in its space
///                                                        where: position   -> coordinate
///
/// The running example is the tile of A that workgroup (bm, .) multiplies in trip t, and what thread 9 loads of it:
///
///     A      global f16, shape (M,K), place (M,K):(K,1)
///     tile   A.tile({128,64}, {bm,t})      where (128,64):(1@0,1@1) from (128*bm, 64*t)
///     part   tile.partition(tv)            tv ((8,32),(8,4)):((8@1,1@0),(1@1,32@0)): thread 9, value 0 is row 1,
///                                          column 8, so the element at (128*bm + 1)*K + 64*t + 8
///
/// Everything that reorganises coordinates (tiling, partitioning over threads, dropping an axis) composes on `where`;
/// swizzles, padding and preshuffled orders are in `place`. So nothing outside a view ever computes an address, and a
/// tensor whose order has no inverse (a scale read by many, a key head shared by several query heads) needs no rule of
/// its own. Origins are symbolic and uniform for a workgroup; inside a tile everything is concrete.
///
/// Source: CuTe documentation, "0z_tma_tensors" (basis strides) and "03_tensor" (partitioning); Cecka, arXiv 2603.02298.
#pragma once

#include <inlay/algebra/composed.h>
#include <inlay/algebra/layout.h>
#include <inlay/codegen/cache_policy.h>
#include <inlay/codegen/element.h>

#include <string>
#include <vector>

namespace inlay::codegen {

/// `paged`, `window`: no memory of its own (Program::paged, Program::window).
enum class Space : std::uint8_t { global, lds, paged, window };

/// A digit of a window's coordinate, 0 to extent - 1: each is `step` further along an axis of the tensor that it looks at.
struct Look {
  Sym extent{};
  int axis = 0;
  Sym step = 1;
};
/// An axis of a window: `extent` coordinates, and their digits, the first one fastest. The last digit is what is left.
struct WindowAxis {
  Sym extent{};
  std::vector<Look> looks;
};

/// An array of elements. `place` has one top-level mode an axis and gives element numbers: of the buffer, or of one
/// stage of a block of LDS.
struct Tensor {
  int id = -1;
  std::string name;
  Space space = Space::global;
  Element element = Element::f16;
  std::vector<Sym> shape;
  SymComposedLayout place;
  bool output = false;
  bool in_place = false; ///< an output that is read before it is written
  bool far = false;      ///< loaded by addresses of 64 bits (Program::far)
  int device = -1; ///< of several, in whose memory it is (Program::peers, Program::meet); -1: this one's
  /// Of a problem of several (Program::problems): the table that says where it is; no argument of the kernel. -1: an argument.
  int addresses = -1;
  /// Paged: the tensors that hold its pages, [page, slot, ...], and the numbers of the pages, [..., position / slots].
  int cache = -1, table = -1;
  /// Window: the tensor that it looks at, the shape of that, and where: seen(c) = look_origin + sum of step * digit.
  int of = -1;
  std::vector<Sym> of_shape;
  std::vector<WindowAxis> looks;
  std::vector<Sym> look_origin;

  /// Whose memory it is: its own id, or that of the tensor that a window looks at.
  [[nodiscard]] int memory() const { return of >= 0 ? of : id; }
  /// Window: the coordinate of `of` that a coordinate stands for, which may lie outside of it.
  [[nodiscard]] std::vector<Sym> seen(std::span<const Sym> coordinate) const;
  /// Window: whether seen(c) along `axis` may lie outside while c is inside the window. False where one digit of step 1 from 0 on
  /// goes over that axis, as far as it goes.
  [[nodiscard]] bool leaves(std::size_t axis) const;
  /// The element number of a coordinate: place(coordinate).
  [[nodiscard]] Sym at(std::span<const Sym> coordinate) const;
  /// The same on plain integers, for LDS. Requires: no symbols in `place`.
  [[nodiscard]] std::int64_t at(std::span<const std::int64_t> coordinate) const;
  /// Elements that one stage of a tile in LDS occupies: the cosize, up to the end of what its swizzle exchanges.
  [[nodiscard]] std::int64_t stage_elements() const;
};

struct Fragment;

/// Positions of a tensor. `where` has basis strides: axis i of its value is axis i of the tensor.
struct View {
  int tensor = -1;
  Layout where;
  std::vector<Sym> origin; ///< added to the coordinate, one entry an axis
  /// The fragment whose elements are the coordinates along an axis, or -1: what a gather goes through. Empty: no axis.
  std::vector<int> rows;
  CachePolicy cache{};

  /// The same with positions (thread, value): where o tv. Requires: a tile, plain or reordered.
  /// `tile.partition(((8,32),8):((8@1,1@0),1@1))`. Errors: CodegenError when tv names an axis that the tile lacks.
  [[nodiscard]] View partition(const Layout& tv) const;
  /// The modes of that number alone; the others must have one position. `{1,128,1,64}` kept {1,3} is a tile of 128 x 64.
  [[nodiscard]] View keep(const std::vector<std::size_t>& modes) const;
  /// Position p along mode `mode` of a plain tile is coordinate order(p) of what it was. `tile.reorder(1, (4,4,2):(1,8,4))`
  /// has columns 0-3, 8-11, 16-19, 24-27 and then 4-7 and so on. Requires: as many positions as before.
  [[nodiscard]] View reorder(std::size_t mode, const Layout& order) const;
  /// Each mode is (extent):(1@axis).
  [[nodiscard]] bool plain() const;
  /// Position p along mode `mode` of the tile is coordinate ids(p): rows of a table. An element whose coordinate is not
  /// inside the tensor reads as 0.
  [[nodiscard]] View through(std::size_t mode, const Fragment& ids) const;
  /// Loads, copies and stores of it tell caches so: `k.load(k.tile(x, {256}, {w}).cached("nt"), tv, 4)`. A tile in memory; atomics have
  /// none. Errors: CodegenError for another text than `nt`, `sc0`, `sc1` or several of them.
  [[nodiscard]] View cached(const std::string& policy) const;
  /// Extents of a plain tile.
  [[nodiscard]] std::vector<int> extents() const;
};

/// A tile in registers: (thread, value) -> coordinate of the tile, shared out over the workgroup.
struct Fragment {
  int id = -1;
  Element element = Element::f32;
  Layout tv;
  std::vector<int> extents; ///< of the tile

  [[nodiscard]] int threads() const { return static_cast<int>(tv.mode(0).size().value()); }
  [[nodiscard]] int values() const { return static_cast<int>(tv.mode(1).size().value()); }
};

/// The coordinate along `axis` of every (thread, value), thread by thread: entry t * values + v.
[[nodiscard]] std::vector<int> coordinates(const Layout& tv, std::size_t axis);

/// The same for a layout of threads alone: entry t.
[[nodiscard]] std::vector<int> thread_coordinates(const Layout& threads, std::size_t axis);

/// Vectors along a line of `extent` elements: `line_tv(1024, 4, 256)` is (256,(4,1)):(4@0,(1@0,1024@0)).
[[nodiscard]] Layout line_tv(int extent, int vector, int threads);
/// `tv` without movement along `axis`: how a row's scale, maximum or index lies beside the tile that has the row.
/// `values_too` leaves the values that move along the axis out, else they stay, with stride 0.
[[nodiscard]] Layout without_axis(const Layout& tv, std::size_t axis, bool values_too = true);
/// (threads along rows of vectors): `rows_tv(128, 64, 8, 256)` is ((8,32),(8,4)):((8@1,1@0),(1@1,32@0)).
/// Errors: CodegenError naming what would divide.
[[nodiscard]] Layout rows_tv(int rows, int columns, int vector, int threads);
/// What a transfer to LDS wants: a wave's 64 lanes are 8 rows of 8 vectors, or 16 rows of 4, row fastest, and lie one after
/// the other, so that reading 16 rows meets every bank once. `transfer_place(32, 32, 8)` is
/// ((16,2),(8,4)):((8,512),(1,128)). Where an instruction moves a part of a vector a lane, `lanes` adjacent ones share it and a wave
/// has 4 rows: `transfer_place(32, 32, 8, 4)` is ((4,8),(8,4)):((8,128),(1,32)). A phase of reads is 4 rows of one vector and 4 of the
/// next: they lie side by side in the 128 bytes of the banks.
///
/// Such a wave asks for half of 4 lines of 128 bytes; `whole_lines` lets it take 2 rows of 8 vectors, all of 2 lines, in half the time of the
/// address unit. Rows r and r + 4 lie side by side, and the rows r, r + 8, .. of each r modulo 4 one after another, two vectors more
/// than they fill from the next r: the 4 rows of a phase are two vectors apart, and the next vector's 4 between them.
/// `transfer_place(32, 128, 16, 4, true)` is ((4,2,4),128):((1056,128,256),1).
///
/// With a lane for each vector `whole_lines` is for those of 12 bytes, two of which are read together, by three reads of 8 bytes: a wave
/// has 4 rows of 16 vectors, and rows r and r + 4 are a quarter of the tile apart and two such pairs more than that has. So the 16 rows
/// and two pairs of a phase meet every bank once: row r has its pairs at 8 r, and the pair of rows 4 q is 2 q after it, modulo 32.
/// `transfer_place(32, 256, 16, 1, true)` is ((4,4,2),256):((256,2112,1024),1).
/// Errors: CodegenError naming what would divide.
[[nodiscard]] Layout transfer_tv(int rows, int columns, int vector, int threads, int lanes = 1,
                                 bool whole_lines = false);
[[nodiscard]] SymLayout transfer_place(int rows, int columns, int vector, int lanes = 1,
                                       bool whole_lines = false);
/// The same for MX scales, one for 32 k, of `columns` / 8 times 8: a lane takes the word of rows i and i + 16 `waves` and of columns g and
/// g + 4 that a product's lane has (MmaTiling::a_scales), 64 lanes 32 rows by 8 columns. `scales_place(128, 8, 1)` is
/// ((16,1,2,4),(4,2,1)):((4,256,1,256),(64,2,1024)).
/// Errors: CodegenError naming what would divide.
[[nodiscard]] Layout scales_transfer_tv(int rows, int columns, int waves, int threads);
[[nodiscard]] SymLayout scales_place(int rows, int columns, int waves);
/// (threads down the rows): `columns_tv(64, 128, 8, 256)` is ((64,4),(8,4)):((1@0,8@1),(1@1,32@1)). With blocks of `down` rows
/// `columns_tv(64, 128, 8, 256, 4)` is ((16,16),(8,4,1)):((4@0,8@1),(1@1,1@0,128@1)).
/// Errors: CodegenError naming what would divide.
[[nodiscard]] Layout columns_tv(int rows, int columns, int vector, int threads, int down = 1);
/// The same elements of each work-item, its first two modes of values exchanged: blocks that are loaded by rows,
/// (8,4):(1@1,1@0), and written by columns, (4,8):(1@0,1@1).
[[nodiscard]] Layout values_exchanged(const Layout& tv);
/// `tv` in the transposed tile: axes 0 and 1 exchanged.
[[nodiscard]] Layout transposed(const Layout& tv);

} // namespace inlay::codegen
