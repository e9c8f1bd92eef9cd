/// Laws of divides and products.
#pragma once

#include <inlay/algebra/laws/law.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/product.h>

namespace inlay::laws {

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
    // tiler meet, as long as the tiler stays inside the complement. (One with holes can be too small for it.)
    const auto injective = [](const Layout& l) {
      const std::vector<Int> v = detail::sorted(detail::values(l));
      return std::adjacent_find(v.begin(), v.end()) == v.end();
    };
    const Layout gaps = complement(in.a, in.a.size() * in.b.cosize());
    const std::vector<Int> copies = detail::values(in.b);
    const bool inside =
        std::all_of(copies.begin(), copies.end(), [&](const Int i) { return i >= 0 && i < gaps.size(); });
    if (inside && injective(in.a) && injective(in.b) && !injective(r))
      return detail::broken(detail::show("logical_product", in, r) + ", copies overlap");
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

} // namespace inlay::laws
