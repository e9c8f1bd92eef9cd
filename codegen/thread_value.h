/// Writing thread-value layouts down in one line. Private.
#pragma once

#include <inlay/algebra/layout.h>

#include <vector>

namespace inlay::codegen {

/// `extent` steps of `scale` along `axis`; axis -1 for a mode that moves nowhere (stride 0).
struct TvMode {
  int extent;
  int scale;
  int axis;
};

/// `thread_value({{16,1,0},{4,8,1}}, {{8,1,1}})` is `((16,4),8):((1@0,8@1),1@1)`.
inline Layout thread_value(const std::vector<TvMode>& thread, const std::vector<TvMode>& value) {
  TupleBuilder<Mode> b;
  const auto tuple = [&](const std::vector<TvMode>& modes) {
    const auto leaf = [&](const TvMode& m) {
      b.leaf(Mode{m.extent, m.axis < 0 ? Stride(0) : Stride(m.scale, {static_cast<std::size_t>(m.axis)})});
    };
    if (modes.size() == 1) return leaf(modes[0]);
    const std::size_t at = b.open();
    for (const TvMode& m : modes) leaf(m);
    b.close(at, modes.size());
  };
  const std::size_t at = b.open();
  tuple(thread);
  tuple(value);
  b.close(at, 2);
  return Layout(std::move(b).finish());
}

/// Errors: CodegenError for a mode of several steps whose stride is a number of elements: those of a thread-value layout name an axis
/// (`1@0`), or are 0.
void check_axes(const Layout& tv);

/// The layout with other strides: `stride_of(mode)` for each of its modes, from left to right.
template <class F>
Layout with_strides(const Layout& layout, F stride_of) {
  TupleBuilder<Mode> b;
  b.profile(layout.profile().view());
  for (const Mode& m : layout.modes()) b.leaves().push_back(Mode{m.extent, stride_of(m)});
  return Layout(std::move(b).finish());
}

/// Whether a mode moves along an axis.
inline bool moves_along(const Mode& m, std::size_t axis) {
  return m.stride.is_basis() && m.stride.axis[0] == axis;
}

/// The bits of a lane's number that name its row where tiles of `rank` axes are folded along `axis`: those that move along another one.
int row_bits(const Layout& tv, std::size_t rank, std::size_t axis, int wave);

} // namespace inlay::codegen
