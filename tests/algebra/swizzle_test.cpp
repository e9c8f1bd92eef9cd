// Swizzles, composed layouts and bit matrices against their definitions.
#include <catch2/catch.hpp>

#include <inlay/algebra/bit_matrix.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <random>

namespace swizzle_test {

using namespace inlay;
using namespace inlay::literals;

namespace {
template <class F>
void for_all_swizzles(const F& f) {
  for (int b = 0; b <= 3; ++b)
    for (int m = 0; m <= 3; ++m)
      for (int s = -4; s <= 4; ++s)
        if (std::abs(s) >= b) f(Swizzle(b, m, s));
}
} // namespace

TEST_CASE("a swizzle is an involution that moves only its target field") {
  for_all_swizzles([](const Swizzle& s) {
    for (Int x = 0; x < 2048; x += 1) {
      REQUIRE(s(s(x)) == x);
      const std::uint64_t changed = static_cast<std::uint64_t>(s(x).value() ^ x.value());
      REQUIRE((changed & ~s.target_mask()) == 0);
      const int up = s.shift();
      const std::uint64_t field = static_cast<std::uint64_t>(x.value()) & s.source_mask();
      REQUIRE(changed == (up >= 0 ? field >> up : field << -up));
    }
    CHECK(parse_swizzle(to_string(s)) == s);
    if (!s.is_identity()) CHECK(Swizzle::from_masks(s.source_mask(), s.target_mask()) == s);
  });
  CHECK_THROWS_AS(Swizzle(3, 4, 2), LayoutError);
  CHECK_THROWS_AS(Swizzle(-1, 0, 0), LayoutError);
  CHECK_THROWS_AS(Swizzle(20, 20, 30), LayoutError);
  CHECK_THROWS_AS(Swizzle::from_masks(5, 10), LayoutError);
  CHECK_THROWS_AS(parse_swizzle("Sw<3,4,3"), LayoutError);
  CHECK_THROWS_AS(parse_swizzle("Sw<3,4,99999999999>"), LayoutError);
}

TEST_CASE("swizzles in other units, and composed with each other") {
  for_all_swizzles([](const Swizzle& s) {
    for (const int n : {1, 2, 4, 8}) {
      const Swizzle down = downcast(s, n);
      for (Int x = 0; x < 512; x += 1) REQUIRE(floor_div(down(x * n), n) == s(x));
      // A unit goes where all of its elements go; where they go to several, there is no swizzle of units.
      bool whole = true;
      for (Int x = 0; x < 512; x += 1)
        for (Int k = 0; k < n; k += 1) whole = whole && floor_div(s(x * n + k), n) == floor_div(s(x * n), n);
      CAPTURE(to_string(s), n);
      if (!whole) {
        REQUIRE_THROWS_AS(upcast(s, n), LayoutError);
        continue;
      }
      const Swizzle up = upcast(s, n);
      for (Int x = 0; x < 512; x += 1) {
        REQUIRE(up(x) == floor_div(s(x * n), n));
        if ((1 << s.base()) >= n) REQUIRE(up(x) * n == s(x * n));
      }
    }
    for_all_swizzles([&](const Swizzle& t) {
      try {
        const Swizzle both = composition(s, t);
        for (Int x = 0; x < 2048; x += 1)
          if (both(x) != s(t(x))) FAIL(to_string(s) << " after " << to_string(t));
      } catch (const LayoutError&) {
      }
    });
  });
  CHECK(composition(Swizzle(1, 0, 3), Swizzle(1, 1, 3)) == Swizzle(2, 0, 3));
  CHECK_THROWS_AS(upcast(Swizzle(1, 0, 3), 3), LayoutError);
}

TEST_CASE("composed layouts are outer(offset + inner)") {
  const ComposedLayout c = parse_composed_layout("Sw<2,1,3> o 8 o (8,(4,2)):(4,(1,32))");
  CHECK(to_string(c) == "Sw<2,1,3> o 8 o (8,(4,2)):(4,(1,32))");
  for (Int i = 0; i < c.size(); i += 1) CHECK(c(i) == Swizzle(2, 1, 3)(8 + c.inner()(i)));
  const ComposedLayout tile = composition(c, Tile(Layout(4, 2)));
  for (Int i = 0; i < 4; i += 1) CHECK(tile(i) == c(2 * i));
  const ComposedLayout row = slice(parse_coordinate("(3,_)"), c);
  for (Int j = 0; j < 8; j += 1) CHECK(row(j) == c(IntTuple::of({Int(3), j})));
  CHECK(to_string(parse_composed_layout("(4,8):(8,1) o 2 o 3:1")) == "(4,8):(8,1) o 2 o 3:1");
  CHECK_THROWS_AS(parse_composed_layout("Sw<3,4,3> o 0"), LayoutError);
  CHECK_THROWS_AS(parse_composed_layout("Sw<3,4,3 o 0 o 4:1"), LayoutError);

  const ComposedLayout s = parse_composed_layout("Sw<1,0,2> o 0 o (4,4):(4,1)");
  const ComposedLayout l = left_inverse(s);
  const ComposedLayout r = right_inverse(s);
  for (Int i = 0; i < 16; i += 1) {
    CHECK(l(s(i)) == i);
    CHECK(s(r(i)) == i);
  }
  CHECK_THROWS_AS(composition("(3,5):(5,1)"_layout, Swizzle(1, 0, 2)), LayoutError);
  for (const char* a : {"(8,4):(4,1)", "(4,8):(1,4)", "32:1", "32:2"})
    for_all_swizzles([&](const Swizzle& w) {
      try {
        const ComposedLayout aw = composition(parse_layout(a), w);
        for (Int i = 0; i < 32; i += 1) REQUIRE(aw(i) == parse_layout(a)(w(i)));
      } catch (const LayoutError&) {
      }
    });
}

TEST_CASE("a symbolic offset is swizzled by the same bits") {
  SymContext ctx;
  const Sym x = ctx.symbol("x", {Int(0), std::nullopt});
  for_all_swizzles([&](const Swizzle& s) {
    const Sym y = s(x);
    Assignment at;
    for (Int v = 0; v < 600; v += 7) {
      at.set(x, v);
      REQUIRE(evaluate(y, at) == s(v));
    }
  });
}

TEST_CASE("bit matrices are the linear layouts, and only those") {
  for (const char* t : {"(4,8):(8,1)", "(4,2,4):(1,16,4)", "8:1", "1:0", "(2,2):(4,0)", "(2,4):(5,16)"}) {
    const Layout l = parse_layout(t);
    const auto m = BitMatrix::of(l);
    REQUIRE(m.has_value());
    for (Int i = 0; i < l.size(); i += 1) CHECK(Int((*m)(static_cast<std::uint64_t>(i.value()))) == l(i));
    CHECK(parse_bit_matrix(to_string(*m)) == *m);
    const auto back = m->layout();
    REQUIRE(back.has_value());
    CHECK(coalesce(*back) == coalesce(l));
  }
  // (2,2):(1,1) carries: 1 + 1 = 2 is not 1 ^ 1.
  for (const char* t : {"(2,2):(1,1)", "(2,2):(3,1)", "3:1", "4:-1", "4:3", "4:1@0"})
    CHECK_FALSE(BitMatrix::of(parse_layout(t)).has_value());
  for_all_swizzles([](const Swizzle& s) {
    const BitMatrix m = BitMatrix::of(s, 11);
    const auto inverse = m.inverse();
    REQUIRE(inverse.has_value());
    CHECK(m.after(*inverse) == BitMatrix::identity(11));
    CHECK(m.rank() == 11);
    for (Int x = 0; x < 2048; x += 1) REQUIRE(Int(m(static_cast<std::uint64_t>(x.value()))) == s(x));
  });
  CHECK_FALSE(BitMatrix::of("(2,2):(4,0)"_layout)->inverse().has_value());
  // 16-byte chunks of rows of 128 bytes: a column of 8 rows falls on 8 chunks only with the swizzle.
  const Layout column = "8:128"_layout;
  CHECK(BitMatrix::of(column)->rank_in(0x70) == 0);
  CHECK(BitMatrix::of(ComposedLayout(Swizzle(3, 4, 3), 0, column))->rank_in(0x70) == 3);
}

// Composed layouts once more, on plain numbers: what the operations below are judged by.
namespace {
struct ByHand {
  int bits, base, shift;
  std::vector<std::pair<long, long>> modes; // extent and stride

  [[nodiscard]] long size() const {
    long n = 1;
    for (const auto& m : modes) n *= m.first;
    return n;
  }
  [[nodiscard]] long inner(long i) const { // the last mode goes on
    const std::size_t last = modes.size() - 1;
    long sum = 0;
    for (std::size_t k = 0; k < last; i /= modes[k].first, ++k) sum += i % modes[k].first * modes[k].second;
    return sum + i * modes[last].second;
  }
  [[nodiscard]] long swizzled(long x) const {
    for (int k = 0; k < bits; ++k) {
      const int from = base + k + std::max(shift, 0), to = base + k + std::max(-shift, 0);
      if ((x >> from) % 2 != 0) x = (x >> to) % 2 != 0 ? x - (1L << to) : x + (1L << to);
    }
    return x;
  }
  [[nodiscard]] long operator()(long i) const { return swizzled(inner(i)); }
  [[nodiscard]] Layout layout() const {
    std::vector<Layout> parts;
    for (const auto& [extent, stride] : modes) parts.emplace_back(Int(extent), Int(stride));
    return parts.size() == 1 ? parts[0] : concatenate(std::span<const Layout>(parts));
  }
  [[nodiscard]] ComposedLayout composed() const { return {Swizzle(bits, base, shift), 0, layout()}; }
};

class Draw {
public:
  long below(long n) { return static_cast<long>(random_() % static_cast<unsigned long>(n)); }
  ByHand any() { // strides that need not fit together, extents that need not be powers of two
    ByHand l = swizzle();
    for (long k = below(3); k >= 0; --k)
      l.modes.emplace_back(below(4) == 0 ? 1 + below(6) : 1L << below(4),
                           below(6) == 0 ? below(12) : 1L << below(6));
    return l;
  }
  ByHand compact() { // each index once, in some order of the modes; sometimes with a gap
    ByHand l = swizzle();
    const bool powers = below(4) != 0;
    for (long k = below(3); k >= 0; --k) l.modes.emplace_back(powers ? 1L << below(4) : 1 + below(5), 0);
    std::vector<std::size_t> order(l.modes.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random_);
    long stride = 1;
    for (const std::size_t k : order) {
      if (below(8) == 0) stride *= 2;
      l.modes[k].second = stride;
      stride *= l.modes[k].first;
    }
    return l;
  }

private:
  ByHand swizzle() {
    const int bits = static_cast<int>(below(4)), base = static_cast<int>(below(4));
    const int shift = std::max(bits, 1) + static_cast<int>(below(3));
    return {bits, base, below(2) == 0 ? shift : -shift, {}};
  }
  std::mt19937_64 random_{20261122};
};
} // namespace

TEST_CASE(
    "composition with a swizzled layout is the composition at every coordinate, beyond the left one too") {
  Draw draw;
  int beyond = 0, swizzled = 0;
  for (int n = 0; n < 20000; ++n) {
    const ByHand a = n % 2 == 0 ? draw.compact() : draw.any(), b = draw.any();
    ComposedLayout ab;
    try {
      ab = composition(a.layout(), b.composed());
    } catch (const LayoutError&) {
      continue;
    }
    INFO(to_string(a.layout()) << " after " << to_string(b.composed()) << " gave " << to_string(ab));
    REQUIRE(ab.size() == b.size());
    for (long i = 0; i < b.size(); ++i) {
      REQUIRE(ab(i) == a.inner(b(i)));
      if (b(i) >= a.size()) ++beyond;
    }
    if (!ab.is_plain()) ++swizzled;
  }
  CHECK(beyond > 0);
  CHECK(swizzled > 0);
  const auto text = [](const char* a, const char* b) {
    return to_string(composition(parse_layout(a), parse_composed_layout(b)));
  };
  CHECK(text("4:1", "Sw<1,0,2> o 0 o 8:1") == "Sw<1,0,2> o 0 o 8:1");
  CHECK(text("8:1", "Sw<1,3,-1> o 0 o 16:1") == "Sw<1,3,-1> o 0 o 16:1");
  CHECK_THROWS_AS(text("(2,2):(2,1)", "Sw<1,0,2> o 0 o 8:1"), LayoutError);
}

TEST_CASE("inverses of swizzled layouts stay among the layout's indices and values") {
  Draw draw;
  int smaller = 0, larger = 0, right = 0, left = 0;
  for (int n = 0; n < 20000; ++n) {
    const ByHand l = draw.compact();
    const ComposedLayout c = l.composed();
    INFO(to_string(c));
    try {
      const ComposedLayout r = right_inverse(c);
      INFO("right inverse " << to_string(r));
      for (Int i = 0; i < r.size(); i += 1) {
        REQUIRE(r(i) >= 0);
        REQUIRE(r(i) < l.size());
        REQUIRE(l(static_cast<long>(r(i).value())) == i);
      }
      ++right;
      if (r.size() < right_inverse(c.inner()).size()) ++smaller;
    } catch (const LayoutError&) {
    }
    try {
      const ComposedLayout r = left_inverse(c);
      INFO("left inverse " << to_string(r));
      for (long i = 0; i < l.size(); ++i) {
        REQUIRE(r.size() > l(i));
        REQUIRE(r(l(i)) == i);
      }
      ++left;
      if (r.size() > left_inverse(c.inner()).size()) ++larger;
    } catch (const LayoutError&) {
    }
  }
  CHECK(right > 10000);
  CHECK(left > 10000);
  CHECK(smaller > 0);
  CHECK(larger > 0);
  const auto of = [](const char* l) { return parse_composed_layout(l); };
  CHECK(to_string(right_inverse(of("Sw<1,3,-1> o 0 o 16:1")).inner()) == "8:1");
  CHECK(right_inverse(of("Sw<3,0,-3> o 0 o (2,4):(1,2)")).size() == 1);
  CHECK(to_string(left_inverse(of("Sw<1,3,-1> o 0 o 16:1"))) == "Sw<1,3,-1> o 0 o 32:1");
}

} // namespace swizzle_test
