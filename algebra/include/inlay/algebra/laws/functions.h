/// Laws of a layout as a function: evaluation, normal forms, composition, choosing modes.
#pragma once

#include <inlay/algebra/laws/law.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/construct.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/parse.h>

namespace inlay::laws {

inline Outcome evaluation(const Input& in) {
  // A coordinate, as nested as the shape, has the offset of its index, and that offset is sum c_k d_k.
  for (Int i = 0; i < in.a.size(); i += 1) {
    const IntTuple c = detail::nth_coordinate(in.a, i);
    Int sum = 0;
    for (std::size_t k = 0; k < c.leaves().size(); ++k) {
      if (c.leaves()[k] < 0 || c.leaves()[k] >= in.a.modes()[k].extent)
        return detail::broken("coordinate out of range");
      sum += c.leaves()[k] * in.a.modes()[k].stride.scale;
    }
    if (in.a(i) != sum || in.a(c) != sum)
      return detail::broken("value at " + to_string(i) + " of " + to_string(in.a));
    if (crd2idx(c, in.a.shape()) != i) return detail::broken("crd2idx(idx2crd(i)) at " + to_string(i));
  }
  return {};
}

inline Outcome text(const Input& in) {
  return parse_layout(to_string(in.a)) == in.a ? Outcome{}
                                               : detail::broken("parse(print) of " + to_string(in.a));
}

inline Outcome coalesced(const Input& in) {
  const Layout r = coalesce(in.a);
  if (!detail::same_function(r, in.a)) return detail::broken(detail::show("coalesce", in, r));
  if (coalesce(r) != r || r.depth() > 1)
    return detail::broken("coalesce is not idempotent on " + to_string(in.a));
  if (flatten(in.a).depth() > 1 || !detail::same_function(flatten(in.a), in.a))
    return detail::broken("flatten");
  if (unflatten(flatten(in.a), in.a.shape()) != in.a)
    return detail::broken("unflatten(flatten) of " + to_string(in.a));
  return {};
}

inline Outcome canonical(const Input& in) {
  const bool same = detail::same_function(in.a, in.b);
  return same == (coalesce(in.a) == coalesce(in.b))
             ? Outcome{}
             : detail::broken(to_string(in.a) + " against " + to_string(in.b));
}

inline Outcome coalesced_by_mode(const Input& in) {
  if (in.a.is_leaf()) return {};
  std::vector<IntTuple> ones(in.a.rank(), IntTuple(Int(1)));
  const Layout r = coalesce(in.a, IntTuple::of(ones));
  if (r.rank() != in.a.rank()) return detail::broken(detail::show("coalesce", in, r));
  for (std::size_t i = 0; i < r.rank(); ++i)
    if (!detail::same_function(r.mode(i), in.a.mode(i)))
      return detail::broken(detail::show("coalesce", in, r));
  return {};
}

inline Outcome filtered(const Input& in) {
  const Layout r = filter(in.a);
  const auto image = [](const Layout& l) {
    const std::vector<Int> v = detail::values(l);
    return std::set<Int>(v.begin(), v.end());
  };
  if (image(r) != image(in.a)) return detail::broken(detail::show("filter", in, r));
  for (const Mode& m : r.modes())
    if (m.stride.scale == 0 && m.extent != 1) return detail::broken(detail::show("filter", in, r));
  return {};
}

inline Outcome composed(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout r = composition(in.a, in.b);
    if (r.size() != in.b.size()) return detail::broken(detail::show("composition", in, r));
    for (Int i = 0; i < in.b.size(); i += 1)
      if (r(i) != in.a(in.b(i)))
        return detail::broken(detail::show("composition", in, r) + ", wrong at " + to_string(i));
    // Compatible: the same for every coordinate of b, not only for every index.
    for (Int i = 0; i < in.b.size(); i += 1) {
      const IntTuple c = detail::nth_coordinate(in.b, i);
      if (r(c) != in.a(in.b(c)))
        return detail::broken(detail::show("composition", in, r) + ", wrong at " + to_string(c));
    }
    return {};
  });
}

inline Outcome composed_by_mode(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    if (in.a.is_leaf() || in.b.is_leaf() || in.a.rank() != in.b.rank()) return {Verdict::refused, "rank"};
    std::vector<Tile> entries;
    for (std::size_t i = 0; i < in.b.rank(); ++i)
      entries.push_back(i % 3 == 2 ? Tile::keep() : Tile(in.b.mode(i)));
    const Layout r = composition(in.a, Tile::by_mode(entries));
    for (std::size_t i = 0; i < r.rank(); ++i) {
      const Layout want = i % 3 == 2 ? in.a.mode(i) : composition(in.a.mode(i), in.b.mode(i));
      if (r.mode(i) != want) return detail::broken(detail::show("composition by mode", in, r));
    }
    return {};
  });
}

inline Outcome recasted(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout up = upcast(in.a, in.n);
    const Int unit = in.n;
    // Downwards: every unit of n elements of the original is one element of the result.
    std::set<Int> units;
    for (const Int v : detail::values(in.a)) units.insert(floor_div(v, unit));
    for (const Int v : detail::values(up))
      if (!units.count(v) && in.a.size() > 1) return detail::broken(detail::show("upcast", in, up));
    return {};
  });
}

inline Outcome sliced(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    if (in.a.is_leaf() || in.a.rank() < 1) return {Verdict::refused, "rank"};
    const Int i = floor_mod(in.n, in.a.mode(0).size());
    SmallVector<Coordinate, 4> entries;
    entries.push_back(Coordinate(CoordinateLeaf{i, false}));
    for (std::size_t k = 1; k < in.a.rank(); ++k) entries.push_back(Coordinate(CoordinateLeaf{0, true}));
    const auto [rest, offset] = slice_and_offset(Coordinate::of(entries.span()), in.a);
    const Int size0 = in.a.mode(0).size();
    const Int count = floor_div(in.a.size(), size0);
    for (Int k = 0; k < count && in.a.rank() > 1; k += 1)
      if (rest(k) + offset != in.a(i + size0 * k)) return detail::broken(detail::show("slice", in, rest));
    return {};
  });
}

inline Outcome ordered_like(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout r = make_layout_like(in.a);
    for (std::size_t x = 0; x < r.modes().size(); ++x) {
      if (in.a.modes()[x].stride.scale == 0 && r.modes()[x].stride.scale != 0)
        return detail::broken(detail::show("like", in, r));
      for (std::size_t y = 0; y < r.modes().size(); ++y)
        if (in.a.modes()[x].stride.scale != 0 &&
            in.a.modes()[x].stride.scale < in.a.modes()[y].stride.scale && in.a.modes()[x].extent > 1 &&
            in.a.modes()[y].extent > 1 && in.a.modes()[x].stride.scale > 0 &&
            r.modes()[x].stride.scale >= r.modes()[y].stride.scale)
          return detail::broken(detail::show("like", in, r));
    }
    return {};
  });
}

} // namespace inlay::laws
