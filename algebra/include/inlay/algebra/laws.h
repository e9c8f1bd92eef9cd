/// The laws of the algebra, each written once.
///
/// A law takes two layouts and a number and says whether it holds there, by the definition: it enumerates. It
/// is used by a fixed zoo, by random inputs that shrink, by all small layouts, and by `inlay fuzz` (which is
/// why this file names no test framework). An operation may refuse an input; then the law says so and nothing
/// has been tested.
#pragma once

#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/construct.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace inlay::laws {

/// What a law is applied to. A law ignores what it does not need.
struct Input {
  Layout a;
  Layout b;
  Int n = 1; // at least 1
};

enum class Verdict { holds, refused, broken };
struct Outcome {
  Verdict verdict = Verdict::holds;
  std::string message;
};

struct Law {
  const char* name;
  const char* statement;
  Outcome (*check)(const Input&);
  bool binary; // uses b
};

namespace detail {

inline Outcome broken(const std::string& what) { return {Verdict::broken, what}; }

/// All values in order of the index. Laws are meant for layouts of moderate size.
inline std::vector<Int> values(const Layout& l) {
  std::vector<Int> v;
  for (Int i = 0; i < l.size(); i += 1) v.push_back(l(i));
  return v;
}

inline std::vector<Int> sorted(std::vector<Int> v) {
  std::sort(v.begin(), v.end());
  return v;
}

inline bool same_function(const Layout& x, const Layout& y) {
  return x.size() == y.size() && values(x) == values(y);
}

inline std::string show(const char* op, const Input& in, const Layout& r) {
  return std::string(op) + " of " + to_string(in.a) + ", " + to_string(in.b) + ", " + to_string(in.n) +
         " is " + to_string(r);
}

/// Runs a check; a LayoutError inside means that the operation refused.
template <class Check>
Outcome guarded(const Check& check) {
  try {
    return check();
  } catch (const LayoutError& e) {
    return {Verdict::refused, e.code()};
  }
}

/// Every coordinate of a congruent tuple, by counting.
inline IntTuple nth_coordinate(const Layout& l, Int i) { return idx2crd(IntTuple(i), l.shape()); }

} // namespace detail

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

inline Outcome divided(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout r = logical_divide(in.a, in.b);
    if (r.rank() != 2 || r.mode(0) != composition(in.a, in.b))
      return detail::broken(detail::show("logical_divide", in, r));
    // Where the tile and its complement cover the index space exactly, offsets are only reordered.
    const Layout whole = Layout(
        Tuple<Mode>::of({Tuple<Mode>(in.b.view()), Tuple<Mode>(complement(in.b, in.a.size()).view())}));
    std::vector<Int> cover = detail::sorted(detail::values(whole));
    bool exact = Int(cover.size()) == in.a.size();
    for (std::size_t i = 0; i < cover.size(); ++i) exact = exact && cover[i] == Int(i);
    if (exact && r.size() == in.a.size() &&
        detail::sorted(detail::values(r)) != detail::sorted(detail::values(in.a)))
      return detail::broken(detail::show("logical_divide", in, r) + ", loses offsets");
    return {};
  });
}

inline Outcome zipped_divided(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    if (in.a.is_leaf()) return {Verdict::refused, "rank"};
    const Tile tile = Tile::by_mode({Tile(in.n)});
    const Layout l = logical_divide(in.a, tile);
    const Layout z = zipped_divide(in.a, tile);
    const Layout t = tiled_divide(in.a, tile);
    const Layout f = flat_divide(in.a, tile);
    // zipped((c), (r, x...)) = logical((c, r), x...) for all coordinates, by comparing the parts.
    const Layout pair = l.mode(0);
    bool good = z.mode(0).mode(0) == pair.mode(0) && z.mode(1).mode(0) == pair.mode(1) &&
                z.mode(1).rank() == in.a.rank();
    for (std::size_t i = 1; i < in.a.rank(); ++i)
      good = good && z.mode(1).mode(i) == l.mode(i) && l.mode(i) == in.a.mode(i);
    good = good && t.mode(0) == z.mode(0) && t.rank() == 1 + in.a.rank() && f.rank() == 1 + in.a.rank();
    good = good && detail::values(z) == detail::values(t) && detail::values(z) == detail::values(f);
    return good ? Outcome{} : detail::broken(detail::show("zipped_divide", in, z));
  });
}

inline Outcome multiplied(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout r = logical_product(in.a, in.b);
    if (r.rank() != 2 || r.mode(0) != in.a || r.size() != in.a.size() * in.b.size())
      return detail::broken(detail::show("logical_product", in, r));
    // Copies are shifted by values of the complement: no two copies of an injective block by an injective
    // tiler meet.
    const auto injective = [](const Layout& l) {
      const std::vector<Int> v = detail::values(l);
      return std::set<Int>(v.begin(), v.end()).size() == v.size();
    };
    if (injective(in.a) && injective(in.b) && injective(r.mode(1)) && !injective(r))
      return detail::broken(detail::show("logical_product", in, r) + ", copies overlap");
    const Layout gaps = complement(in.a, in.a.size() * in.b.cosize());
    for (Int i = 0; i < in.b.size(); i += 1)
      if (r.mode(1)(i) != gaps(in.b(i))) return detail::broken(detail::show("logical_product", in, r));
    const std::vector<Int> want = detail::sorted(detail::values(r));
    if (detail::sorted(detail::values(blocked_product(in.a, in.b))) != want ||
        detail::sorted(detail::values(raked_product(in.a, in.b))) != want)
      return detail::broken("blocked or raked product of " + to_string(in.a) + ", " + to_string(in.b));
    return {};
  });
}

inline Outcome tiled_to_shape(const Input& in) {
  return detail::guarded([&]() -> Outcome {
    const Layout block = Layout::col_major(in.a.shape());
    std::vector<IntTuple> shape;
    for (std::size_t i = 0; i < block.rank(); ++i)
      shape.push_back(block.mode(i).size() * (i == 0 ? in.n : Int(2)));
    if (block.size() * in.n > 2000) return {Verdict::refused, "size"};
    const Layout r = tile_to_shape(block, IntTuple::of(shape));
    const std::vector<Int> v = detail::sorted(detail::values(r));
    for (std::size_t i = 0; i < v.size(); ++i)
      if (v[i] != Int(i)) return detail::broken(detail::show("tile_to_shape", in, r));
    for (std::size_t i = 0; i < r.rank(); ++i)
      if (r.mode(i).size() != shape[i].leaf()) return detail::broken(detail::show("tile_to_shape", in, r));
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

inline const Law all[] = {
    {"evaluation", "L(c) = sum c_k d_k, and an index is its colexicographic coordinate", evaluation, false},
    {"text", "parse(print(L)) = L", text, false},
    {"coalesce", "coalesce(L)(i) = L(i) on [0, size), idempotent, flat", coalesced, false},
    {"canonical", "equal functions of equal size have equal coalesced layouts, and only those", canonical,
     true},
    {"coalesce by mode", "each mode keeps its function", coalesced_by_mode, false},
    {"filter", "filter(L) has the image of L and no stride 0", filtered, false},
    {"composition", "composition(A, B)(c) = A(B(c)) for every coordinate of B", composed, true},
    {"composition by mode", "mode i of the result is A_i o B_i", composed_by_mode, true},
    {"complement", "increasing, disjoint from L, covers the target; tight on a divisible chain", complemented,
     false},
    {"right inverse", "L(R(i)) = i on [0, |R|); whole when L is a bijection", right_inverted, false},
    {"left inverse", "L(R(L(i))) = L(i), and R(L(i)) = i without strides 0", left_inverted, false},
    {"nullspace", "L(nullspace(j)) = 0", null_space, false},
    {"divide", "mode 0 is A o T; no offset is lost where T divides A", divided, true},
    {"zipped divide", "zipped, tiled and flat divide regroup the logical divide", zipped_divided, false},
    {"product", "mode 0 is A, copies do not overlap; blocked and raked hold the same offsets", multiplied,
     true},
    {"tile to shape", "a compact block tiles onto [0, size)", tiled_to_shape, false},
    {"recast", "upcast maps to the units that the elements lie in", recasted, false},
    {"slice", "slice(c, L)(x) + offset = L(c with _ replaced by x)", sliced, false},
    {"like", "make_layout_like keeps the order of strides", ordered_like, false},
};

} // namespace inlay::laws
