/// Coordinates to addresses: how a thread-value layout meets memory.
///
/// A thread-value layout maps (thread, value) to a coordinate of a tile; its strides are basis strides. The
/// running example copies a 32 x 64 tile with 256 threads, 8 elements each, 8 threads along a row:
///
///     tv   ((8,32),8):((8@1,1@0),1@1)           thread t, value v  ->  row t / 8, column 8 (t % 8) + v
///
/// In a row-major matrix with row stride K, coordinate (r, c) is at r K + c, so the offsets are again a
/// layout:
///
///     offsets(tv, {K, 1}) = ((8,32),8):((8,K),1)       and for a symbolic thread t:   K (t/8) + 8 (t%8) + v
///
/// That is the composition of an affine layout with a coordinate layout, exact for every tv. The same
/// function with the strides of the LDS tile gives LDS offsets, and with {1, rows} the index of an element in
/// the tile, which is what coverage is proven on.
///
/// Source: CuTe documentation, "0x_tensor" and "0z_tma_tensors" (basis strides); Cecka, arXiv 2603.02298.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

#include <span>
#include <vector>

namespace inlay::codegen {

/// Replaces `s@i` by `s * strides[i]`. Requires: every stride of tv is a basis stride of one level (or 0).
[[nodiscard]] SymLayout offsets(const Layout& tv, std::span<const Sym> strides);
[[nodiscard]] Layout offsets(const Layout& tv, std::span<const Int> strides);

/// The coordinate (axis 0, axis 1, ...) of thread t, value v.
[[nodiscard]] std::vector<Int> coordinate(const Layout& tv, Int thread, Int value, std::size_t axes = 2);

/// What one thread of a tile touches: `partition(v)` is the offset of its value v, as a formula in the
/// thread.
class Partition {
public:
  /// Requires: rank 2, (thread, value).
  Partition(const SymLayout& thread_value, Sym thread);
  [[nodiscard]] Sym operator()(Int value) const { return base_ + value_(Sym(value)); }
  [[nodiscard]] Sym base() const { return base_; } ///< of value 0
  [[nodiscard]] Int size() const;                  ///< values

private:
  Sym base_;
  SymLayout value_;
};

/// retile: where each value of `from` is among the values of `to`: from(t, i) = to(t, result[i]) for all
/// threads. Errors: CodegenError with the first thread and value for which there is no such place, or for
/// which it depends on the thread: registers cannot be renamed then.
[[nodiscard]] std::vector<int> retile(const Layout& from, const Layout& to);

} // namespace inlay::codegen
