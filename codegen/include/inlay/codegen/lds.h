/// Tiles in LDS: a swizzled row-major layout, and how its addresses become few registers and many immediates.
///
/// A swizzle Sw<bits, base, shift> exchanges places: it xors `bits` bits from position base+shift on into
/// those from `base` on (CuTe's `Swizzle`). The running example is a tile of 128 rows of 64 f16, 128 bytes a
/// row, which is all 32 banks of gfx942: without a swizzle, lanes reading the same columns of different rows
/// meet in the same banks; with Sw<3,3,3> (in elements), row r has its eight 16-byte chunks permuted by xor
/// with r % 8.
///
/// **Splitting.** The offset of (thread t, value v) is f(t) + g(v). Where f and g use different bits, + is
/// xor, the swizzle is linear over xor, and sw(f + g) = sw(f) ^ sw(g). The bits of sw(g) that no thread's
/// sw(f) uses can be added by the instruction's 16-bit immediate; only the others need a register of their
/// own. In the example all 16 reads of a thread share two registers. Checked for every thread and value when
/// it is made, not assumed.
#pragma once

#include <inlay/algebra/swizzle.h>
#include <inlay/codegen/kernel_builder.h>
#include <inlay/codegen/tensor.h>

#include <map>

namespace inlay::codegen {

/// Where a tile lies in LDS: element (row, column) at swizzle(row * row_stride + column).
struct LdsTile {
  Element element;
  int rows, columns;
  int row_stride;
  Swizzle swizzle; ///< on offsets counted in elements
  [[nodiscard]] int bytes() const { return rows * row_stride * bits(element) / 8; }
};

/// The byte addresses of one thread's accesses to a tile.
class LdsAddresses {
public:
  /// `tv`: (thread, value) -> (row, column), over `threads` threads; `thread`: bound to the work-item in
  /// `builder`.
  LdsAddresses(const LdsTile& tile, const Layout& tv, Sym thread);

  struct Address {
    Sym base;      ///< bytes, depends on the thread
    int immediate; ///< bytes
  };
  [[nodiscard]] Address operator()(int value) const;

private:
  LdsTile tile_;
  Layout value_;
  Sym base_;
  Layout thread_;
  std::int64_t base_bits_ = 0; // in bytes: every bit that some thread's swizzled base has
  bool splits_ = true;
};

} // namespace inlay::codegen
