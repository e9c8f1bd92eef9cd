/// Writing thread-value layouts down in one line. Private.
#pragma once

#include <inlay/algebra/layout.h>

#include <initializer_list>

namespace inlay::codegen {

/// `extent` steps of `scale` along `axis`; axis -1 for a mode that moves nowhere (stride 0).
struct TvMode {
  int extent;
  int scale;
  int axis;
};

/// `thread_value({{16,1,0},{4,8,1}}, {{8,1,1}})` is `((16,4),8):((1@0,8@1),1@1)`.
inline Layout thread_value(std::initializer_list<TvMode> thread, std::initializer_list<TvMode> value) {
  TupleBuilder<Mode> b;
  const auto tuple = [&](std::initializer_list<TvMode> modes) {
    const auto leaf = [&](const TvMode& m) {
      b.leaf(Mode{m.extent, m.axis < 0 ? Stride(0) : Stride(m.scale, {static_cast<std::size_t>(m.axis)})});
    };
    if (modes.size() == 1) return leaf(*modes.begin());
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

} // namespace inlay::codegen
