// The second run of an operation: the same body on integers without a bound, when 64 bits did not suffice.
#pragma once

#include <inlay/algebra/bodies/operation.h>
#include <inlay/algebra/int_big.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/tile.h>

namespace inlay::detail {

inline BigInt widen(Int a) { return BigInt(a); }
inline Tuple<BigInt> widen(const IntTuple& t) {
  TupleBuilder<BigInt> b;
  b.profile(t.profile().view());
  for (const Int leaf : t.leaves()) b.leaves().push_back(BigInt(leaf));
  return std::move(b).finish();
}
inline Tuple<BasicMode<BigInt>> widen(LayoutView<Int> l) {
  TupleBuilder<BasicMode<BigInt>> b;
  b.profile(l.profile());
  for (const Mode& m : l.leaves())
    b.leaves().push_back({BigInt(m.extent), BasicStride<BigInt>(BigInt(m.stride.scale), m.stride.axis)});
  return std::move(b).finish();
}
inline BigLayout widen(const Layout& l) { return BigLayout::from_modes(widen(l.view())); }
inline BasicTile<BigInt> widen(const Tile& t) {
  return BasicTile<BigInt>::from(Tuple<TileKind>(t.kinds()), widen(t.parts()));
}

[[noreturn]] void throw_too_large(const std::string& where);

inline Int narrowed(const BigInt& a) {
  const auto n = narrow(a);
  if (!n) throw_too_large("the result " + to_string(a));
  return *n;
}
inline Layout narrowed(const BigLayout& l) {
  TupleBuilder<Mode> b;
  b.profile(l.profile().view());
  for (std::size_t i = 0; i < l.modes().size(); ++i) {
    const auto& m = l.modes()[i];
    const auto extent = narrow(m.extent);
    const auto scale = narrow(m.stride.scale);
    if (!extent || !scale)
      throw_too_large("mode " + std::to_string(i) + " of the result, " + to_string(m.extent) + ":" +
                      to_string(m.stride.scale));
    b.leaves().push_back({*extent, Stride(*scale, m.stride.axis)});
  }
  return Layout::from_modes(std::move(b).finish());
}

/// body(arguments...), on big integers if 64 bits overflow.
template <class Body, class... Arguments>
auto exact(const Body& body, const Arguments&... arguments) {
  try {
    return body(arguments...);
  } catch (const OverflowError&) {
  }
  return narrowed(body(widen(arguments)...));
}

} // namespace inlay::detail
