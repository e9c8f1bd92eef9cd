/// Laws of what a layout leaves out, brings back, or maps to 0.
#pragma once

#include <inlay/algebra/laws/law.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/inverse.h>

namespace inlay::laws {

inline Outcome complemented(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout r = complement(in.a, in.n);
    // Strictly increasing, and no sum of a value of the (filtered) layout and one of the complement occurs
    // twice.
    const std::vector<Int> starts = detail::values(r);
    for (std::size_t i = 1; i < starts.size(); ++i)
      if (starts[i] <= starts[i - 1])
        return detail::broken(detail::show("complement", in, r) + ", not increasing");
    std::set<Int> seen;
    std::set<Int> image;
    for (const Int v : detail::values(in.a)) image.insert(v);
    for (const Int v : image)
      for (const Int w : starts)
        if (!seen.insert(v + w).second)
          return detail::broken(detail::show("complement", in, r) + ", overlaps");
    // Tight: a chain of divisible strides up to n is covered without holes.
    const Layout f = filter(in.a);
    std::vector<Mode> modes(f.modes().begin(), f.modes().end());
    std::sort(modes.begin(), modes.end(), [](const Mode& x, const Mode& y) { return x.stride < y.stride; });
    Int current = 1;
    bool chain = true;
    for (const Mode& m : modes) {
      if (m.stride.scale == 0) continue;
      chain = chain && floor_mod(m.stride.scale, current) == 0;
      current = m.extent * m.stride.scale;
    }
    // A chain leaves no holes below its span, and the last mode reaches the target.
    if (chain && Int(seen.size()) < in.n)
      return detail::broken(detail::show("complement", in, r) + ", too small");
    if (chain && floor_mod(in.n, current) == 0)
      for (Int i = 0; i < in.n; i += 1)
        if (!seen.count(i))
          return detail::broken(detail::show("complement", in, r) + ", misses " + to_string(i));
    return {};
  });
}

inline Outcome right_inverted(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout r = right_inverse(in.a);
    for (Int i = 0; i < r.size(); i += 1)
      if (r(i) < 0 || r(i) >= in.a.size() || in.a(r(i)) != i)
        return detail::broken(detail::show("right_inverse", in, r));
    // A bijection onto [0, size) is inverted whole.
    const std::vector<Int> v = detail::sorted(detail::values(in.a));
    bool bijective = true;
    for (std::size_t i = 0; i < v.size(); ++i) bijective = bijective && v[i] == Int(i);
    if (bijective && r.size() != in.a.size())
      return detail::broken(detail::show("right_inverse", in, r) + ", too short");
    return {};
  });
}

inline Outcome left_inverted(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout r = left_inverse(in.a);
    const bool zeros = std::any_of(in.a.modes().begin(), in.a.modes().end(),
                                   [](const Mode& m) { return m.stride.scale == 0 && m.extent != 1; });
    for (Int i = 0; i < in.a.size(); i += 1) {
      const Int back = r(in.a(i));
      if (in.a(back) != in.a(i) || (!zeros && back != i))
        return detail::broken(detail::show("left_inverse", in, r) + ", wrong at " + to_string(i));
    }
    return {};
  });
}

inline Outcome null_space(const Input& in) {
  const Layout r = nullspace(in.a);
  Int zeros = 1;
  for (const Mode& m : in.a.modes())
    if (m.stride.scale == 0) zeros *= m.extent;
  if (r.size() != zeros) return detail::broken(detail::show("nullspace", in, r));
  for (Int i = 0; i < r.size(); i += 1)
    if (in.a(r(i)) != 0) return detail::broken(detail::show("nullspace", in, r));
  return {};
}

} // namespace inlay::laws
