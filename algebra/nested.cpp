// Nested layouts: their values, their text, slices of them.
#include <inlay/algebra/nested.h>
#include <inlay/algebra/print.h>

namespace inlay {
namespace {

// a + b, where what one of them does not have at the end is 0.
void add_padded(TupleBuilder<Int>& out, std::optional<TupleView<Int>> a, std::optional<TupleView<Int>> b,
                const IntTuple& value, const IntTuple& offset) {
  auto zero = [](const std::optional<TupleView<Int>>& t) { return !t || (t->is_leaf() && t->leaf() == 0); };
  if (zero(a) && zero(b)) {
    out.leaf(0);
    return;
  }
  if ((zero(a) || a->is_leaf()) && (zero(b) || b->is_leaf())) {
    out.leaf((zero(a) ? Int(0) : a->leaf()) + (zero(b) ? Int(0) : b->leaf()));
    return;
  }
  if ((!zero(a) && a->is_leaf()) || (!zero(b) && b->is_leaf()))
    throw LayoutError({"incongruent",
                       "nested layout",
                       "a number and a coordinate do not add up",
                       {{"value", to_string(value)}, {"offset", to_string(offset)}},
                       "",
                       {},
                       "the offset is as nested as the values of the layout on its right"});
  auto rank = [&](const std::optional<TupleView<Int>>& t) { return zero(t) ? 0 : t->rank(); };
  auto part = [&](const std::optional<TupleView<Int>>& t, std::size_t k) {
    return k < rank(t) ? std::optional<TupleView<Int>>((*t)[k]) : std::nullopt;
  };
  const std::size_t at = out.open(), n = std::max(rank(a), rank(b));
  for (std::size_t k = 0; k < n; ++k) add_padded(out, part(a, k), part(b, k), value, offset);
  out.close(at, n);
}

IntTuple plus(const IntTuple& value, const IntTuple& offset) {
  TupleBuilder<Int> b;
  add_padded(b, value.view(), offset.view(), value, offset);
  return std::move(b).finish();
}

IntTuple value_of(const Layout& l, const IntTuple& c) {
  return l.has_basis_strides() ? value_at(l, c) : IntTuple(l(c));
}

IntTuple mapped(const NestedLayout::Map& map, const IntTuple& x) {
  if (const auto* l = std::get_if<Layout>(&map)) return value_of(*l, x);
  if (const auto* s = std::get_if<CoordSwizzle>(&map)) return (*s)(x);
  const Swizzle& s = std::get<Swizzle>(map);
  if (!x.is_leaf())
    throw LayoutError({"incongruent",
                       "nested layout",
                       "a swizzle of offsets on a coordinate",
                       {{"swizzle", to_string(s)}, {"coordinate", to_string(x)}},
                       "",
                       {},
                       "a coordinate swizzle CS<...> exchanges parts of a coordinate"});
  return s(x.leaf());
}

} // namespace

IntTuple NestedLayout::operator()(const IntTuple& c) const {
  IntTuple x = value_of(inner_, c);
  // Steps are kept as they are written, outermost first; they act from the inside.
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    x = mapped(step->map, plus(x, step->offset));
  return x;
}

std::string to_string(const NestedLayout& l) {
  std::string out;
  for (const auto& [map, offset] : l.steps())
    out += std::visit([](const auto& m) { return to_string(m); }, map) + " o " + to_string(offset) + " o ";
  return out + to_string(l.inner());
}

NestedLayout slice(const Coordinate& c, const NestedLayout& l) {
  std::vector<NestedLayout::Step> steps = l.steps();
  TupleBuilder<Int> fixed; // the coordinate with 0 where it is free
  fixed.profile(c.profile().view());
  for (const CoordinateLeaf& x : c.leaves()) fixed.leaves().push_back(x.free ? Int(0) : x.value);
  // The fixed part is a constant of what comes next: added to the innermost offset it leaves the outer maps as they are.
  if (!steps.empty())
    steps.back().offset = plus(value_of(l.inner(), std::move(fixed).finish()), steps.back().offset);
  return {std::move(steps), slice(c, l.inner())};
}

} // namespace inlay
