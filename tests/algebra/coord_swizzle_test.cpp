// Coordinate swizzles, coshape and coprofile against their definitions.
#include <inlay/algebra/coord_swizzle.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <catch2/catch.hpp>
#include <set>

namespace coord_swizzle_test {

using namespace inlay;
using namespace inlay::literals;

namespace {
IntTuple pair(Int row, Int column) { return IntTuple::of({row, column}); }

template <class F>
void for_all(const F& f) {
  for (int bits = 0; bits <= 3; ++bits)
    for (int row_base = 0; row_base <= 2; ++row_base)
      for (int column_base = 0; column_base <= 2; ++column_base)
        f(CoordSwizzle(bits, row_base, Axis{0}, column_base, Axis{1}));
}
} // namespace

TEST_CASE("coordinate swizzle is an involution: bits of the row onto the column, nothing else") {
  for_all([](const CoordSwizzle& s) {
    const std::int64_t field = (std::int64_t{1} << s.bits()) - 1;
    for (std::int64_t row = 0; row < 40; ++row)
      for (std::int64_t column = 0; column < 40; ++column) {
        const std::int64_t moved = column ^ (((row >> s.row_base()) & field) << s.column_base());
        REQUIRE(s(pair(row, column)) == pair(row, moved));
        REQUIRE(s(s(pair(row, column))) == pair(row, column));
      }
    CHECK(parse_coord_swizzle(to_string(s)) == s);
    for (const int n : {1, 2, 4}) {
      const CoordSwizzle down = downcast(s, n);
      CHECK(upcast(down, n) == s);
      for (Int row = 0; row < 16; row += 1)
        for (Int column = 0; column < 16; column += 1)
          REQUIRE(down(pair(row * n, column * n)) == pair(row * n, s(pair(row, column)).leaves()[1] * n));
    }
  });
  CHECK_THROWS_AS(upcast(CoordSwizzle(2, 0, Axis{0}, 3, Axis{1}), 2), LayoutError);
  CHECK_THROWS_AS(upcast(CoordSwizzle(2, 3, Axis{0}, 3, Axis{1}), 3), LayoutError);
}

TEST_CASE("coordinate swizzle: nested paths, one leaf, what is refused") {
  const CoordSwizzle nested = parse_coord_swizzle("CS<2, 1, [0,1], 0, [1]>");
  CHECK(to_string(nested) == "CS<2,1,[0,1],0,[1]>");
  CHECK(to_string(nested(parse_int_tuple("((7,6),8)"))) == "((7,6),11)");
  CHECK(to_string(parse_coord_swizzle("CS<1,3,[0],0,[0]>")(parse_int_tuple("(8,5)"))) == "(9,5)");
  CHECK_THROWS_WITH(nested(parse_int_tuple("(7,8)")), Catch::Contains("[0,1]"));
  CHECK_THROWS_WITH(nested(parse_int_tuple("((7,6),(1,2))")), Catch::Contains("[1] is not an integer"));
  CHECK_THROWS_AS(nested(parse_int_tuple("5")), LayoutError);
  for (const char* bad :
       {"CS<1,0,[0],0,[0]>", "CS<2,1,[0],0,[0]>", "CS<-1,0,[0],0,[1]>", "CS<1,0,[],0,[1]>",
        "CS<40,0,[0],40,[1]>", "CS<1,0,[0],0,[1]", "CS<1,0,[999],0,[1]>", "CS<99,0,[0],0,[1]>"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_coord_swizzle(bad), LayoutError);
  }
}

TEST_CASE("coordinate swizzle on symbols is the same map") {
  SymContext context;
  const Sym r = context.symbol("r"), c = context.symbol("c");
  for_all([&](const CoordSwizzle& s) {
    TupleBuilder<Sym> b;
    b.profile(pair(0, 0).profile().view());
    b.leaves().push_back(r);
    b.leaves().push_back(c);
    const BasicIntTuple<Sym> moved = s(std::move(b).finish());
    for (std::int64_t row = 1; row < 12; ++row)
      for (std::int64_t column = 1; column < 12; ++column) {
        const IntTuple want = s(pair(row, column));
        Assignment values;
        values.set(r, row);
        values.set(c, column);
        for (std::size_t i = 0; i < 2; ++i) REQUIRE(evaluate(moved.leaves()[i], values) == want.leaves()[i]);
      }
  });
}

TEST_CASE("composition with a coordinate swizzle: a swizzle of offsets where there is one") {
  unsigned found = 0, refused = 0;
  for (const char* text : {"(8,8):(8,1)", "(8,8):(16,1)", "(8,8):(9,1)", "(16,8):(32,2)", "(8,4):(4,1)",
                           "(4,(2,4)):(8,(4,1))", "(8,8):(1,8)", "(8,8):(8,0)"}) {
    const Layout a = parse_layout(text);
    for_all([&](const CoordSwizzle& s) {
      try {
        const ComposedLayout both = composition(a, s);
        ++found;
        for (Int i = 0; i < a.size(); i += 1) {
          const IntTuple c = idx2crd(i, a.shape());
          REQUIRE(both(c) == a(s(c)));
        }
      } catch (const LayoutError&) {
        ++refused;
      }
    });
  }
  CHECK(found > 60);
  CHECK(refused > 60);
  CHECK(to_string(composition("(8,8):(8,1)"_layout, parse_coord_swizzle("CS<3,0,[0],0,[1]>"))) ==
        "Sw<3,0,3> o 0 o (8,8):(8,1)");
  CHECK_THROWS_WITH(composition("(8,8):(9,1)"_layout, parse_coord_swizzle("CS<3,0,[0],0,[1]>")),
                    Catch::Contains("powers of two"));
}

TEST_CASE("a coordinate swizzle frees any pitch of rows from meeting in a column") {
  // Rows of 9 chunks of 16 bytes: no swizzle of offsets is the chunk number XOR the row number.
  const CoordSwizzle s = parse_coord_swizzle("CS<3,0,[0],0,[1]>");
  const Layout tile = parse_layout("(8,8):(9,1)");
  std::set<std::int64_t> offsets;
  for (Int i = 0; i < 64; i += 1) offsets.insert(tile(s(idx2crd(i, tile.shape()))).value());
  CHECK(offsets.size() == 64);
}

TEST_CASE("coshape and coprofile: the extents of the values, by axis") {
  const auto text = [](const char* e) { return to_string(evaluate_expression(e)); };
  CHECK(text("coshape((4,5):(1@0,2@1))") == "(4,9)");
  CHECK(text("coprofile((4,5):(1@0,2@1))") == "(0,0)");
  CHECK(text("coshape((4,5):(1,4))") == "20");
  CHECK(text("coprofile((4,5):(1,4))") == "0");
  CHECK(text("coshape(((2,3),4):((1@0,2@0),-3@1@1))") == "(6,(1,10))");
  CHECK(text("coprofile(((2,3),4):((1@0,2@0),-3@1@1))") == "(0,(0,0))");
  CHECK(text("CS<2,0,[0],1,[1]>") == "CS<2,0,[0],1,[1]>");
  CHECK(text("coord_swizzle(CS<2,0,[0],1,[1]>, (3,5))") == "(3,3)");
  CHECK(text("composition((8,8):(8,1), CS<3,0,[0],0,[1]>)") == "Sw<3,0,3> o 0 o (8,8):(8,1)");
  // Every value lies inside, the last is reached: for layouts without negative strides.
  for (const char* l : {"(4,5):(1@0,2@1)", "((2,3),4):((1@0,2@0),3@1)", "(3,4):(5@0,1@1)"}) {
    const Layout layout = parse_layout(l);
    const IntTuple extents = coshape(layout), end = value_at(layout, layout.size() - 1);
    for (Int i = 0; i < layout.size(); i += 1) {
      const IntTuple v = value_at(layout, i);
      for (std::size_t k = 0; k < v.leaves().size(); ++k) REQUIRE(v.leaves()[k] < extents.leaves()[k]);
    }
    for (std::size_t k = 0; k < end.leaves().size(); ++k) CHECK(end.leaves()[k] + 1 == extents.leaves()[k]);
  }
  // An offset beside coordinates is no value; it is said instead of dropped.
  CHECK_THROWS_AS(value_at(parse_layout("(2,3):(1,1@0)"), parse_int_tuple("(1,1)")), LayoutError);
  CHECK_THROWS_AS(coshape(parse_layout("(2,3):(1,1@0)")), LayoutError);
}

} // namespace coord_swizzle_test
