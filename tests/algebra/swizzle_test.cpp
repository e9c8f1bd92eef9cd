// Swizzles, composed layouts and bit matrices against their definitions.
#include <catch2/catch.hpp>

#include <inlay/algebra/bit_matrix.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

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
      const Swizzle up = upcast(s, n);
      for (Int x = 0; x < 512; x += 1) {
        REQUIRE(floor_div(down(x * n), n) == s(x));
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
