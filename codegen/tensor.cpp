#include <inlay/algebra/error.h>
#include <inlay/codegen/tensor.h>

namespace inlay::codegen {
namespace {

// Each mode keeps its extent; a stride along axis i becomes scale * strides[i].
template <class S>
BasicLayout<S> replace_strides(const Layout& tv, std::span<const S> strides) {
  TupleBuilder<BasicMode<S>> b;
  b.profile(tv.profile().view());
  for (const Mode& m : tv.modes()) {
    S step = 0;
    if (m.stride.is_basis()) {
      const Axis axis = m.stride.axis;
      INLAY_CHECK(axis.size() == 1 && axis[0] < strides.size(), "a stride along one axis of the tensor");
      step = S(m.stride.scale) * strides[axis[0]];
    } else {
      INLAY_CHECK(m.stride.scale == Int(0), "a basis stride");
    }
    b.leaves().push_back(BasicMode<S>{S(m.extent), BasicStride<S>(step)});
  }
  return BasicLayout<S>(std::move(b).finish());
}

} // namespace

SymLayout offsets(const Layout& tv, std::span<const Sym> strides) {
  return replace_strides<Sym>(tv, strides);
}
Layout offsets(const Layout& tv, std::span<const Int> strides) { return replace_strides<Int>(tv, strides); }

std::vector<Int> coordinate(const Layout& tv, Int thread, Int value, std::size_t axes) {
  std::vector<Int> out;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<Int> unit(axes, Int(0));
    unit[axis] = 1;
    out.push_back(offsets(tv, unit)(IntTuple::of({thread, value})));
  }
  return out;
}

} // namespace inlay::codegen
