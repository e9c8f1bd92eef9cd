// Composed layouts inside one another and over coordinates. Values and texts that FlyDSL 0.3.2 gives for the same expressions; then
// the definition, map by map.
#include <catch2/catch.hpp>
#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/print.h>
#include <random>

namespace nested_test {

using namespace inlay;

namespace {
std::string text(const std::string& expression) { return to_string(evaluate_expression(expression)); }
std::string at(const std::string& function, const std::string& coordinate) {
  return to_string(value_of(evaluate_expression(function), evaluate_expression(coordinate)));
}
const std::string numbers = "32:2 o 5 o [32:1 o 7 o (4,8):(1,4)]";
const std::string coordinates = "CS<3,0,[1],0,[2]> o (0,0,0) o (4,8,8):(1@0,1@1,1@2)";
const std::string twice = "make_composed_layout(" + coordinates + ", (1,2,3), (2,4,8):(1@0,1@1,1@2))";
const std::string pitch = "(4,8,8):(1,100,9) o (0,0,0) o [" + coordinates + "]";
} // namespace

TEST_CASE("composed layouts inside one another") {
  CHECK(text(numbers) == "32:2 o 5 o 32:1 o 7 o (4,8):(1,4)");
  CHECK(text("make_composed_layout(32:2, 5, make_composed_layout(32:1, 7, (4,8):(1,4)))") == text(numbers));
  CHECK(text("make_composed_layout(make_composed_layout(32:2, 5, 32:1), 7, (4,8):(1,4))") == text(numbers));
  CHECK(at(numbers, "(0,0)") == "24");
  CHECK(at(numbers, "(1,0)") == "26");
  CHECK(at(numbers, "(3,5)") == "70");
  CHECK(at(numbers, "(2,7)") == "84");
  CHECK(at(numbers, "23") == "70"); // (3,5) as an index
  CHECK(text("slice((1,_), " + numbers + ")") == "32:2 o 5 o 32:1 o 8 o (8):(4)");
  CHECK(text("composed_part_outer(" + numbers + ")") == "32:2");
  CHECK(text("composed_part_offset(" + numbers + ")") == "5");
  CHECK(text("composed_part_inner(" + numbers + ")") == "32:1 o 7 o (4,8):(1,4)");
  CHECK(text("size(" + numbers + ")") == "32");
  CHECK(text("rank(" + numbers + ")") == "2");
  CHECK(text("shape(" + numbers + ")") == "(4,8)");
  // One map and an integer are a composed layout, which more operations know.
  CHECK(evaluate_expression("32:1 o 7 o [(4,8):(1,4)]").get<ComposedLayout>());
  CHECK(evaluate_expression("composed_part_inner(" + numbers + ")").get<ComposedLayout>());
}

TEST_CASE("composites of coordinate swizzles") {
  CHECK(text(coordinates) == coordinates);
  CHECK(at(coordinates, "(0,0,0)") == "(0,0,0)");
  CHECK(at(coordinates, "(1,3,5)") == "(1,3,6)");
  CHECK(at(coordinates, "(3,7,7)") == "(3,7,0)");
  CHECK(text(twice) == coordinates + " o (1,2,3) o (2,4,8):(1@0,1@1,1@2)");
  CHECK(at(twice, "(0,0,0)") == "(1,2,1)");
  CHECK(at(twice, "(1,3,5)") == "(2,5,13)");
  CHECK(at(twice, "(1,2,7)") == "(2,4,14)");
  CHECK(at(pitch, "(0,0,0)") == "0");
  CHECK(at(pitch, "(1,3,5)") == "355");
  CHECK(at(pitch, "(3,7,7)") == "703");
  CHECK(text("slice((1,_,_), " + coordinates + ")") == "CS<3,0,[1],0,[2]> o (1,0,0) o (8,8):(1@1,1@2)");
  CHECK(text("slice((1,_,_), " + pitch + ")") ==
        "(4,8,8):(1,100,9) o (0,0,0) o CS<3,0,[1],0,[2]> o (1,0,0) o (8,8):(1@1,1@2)");
  CHECK(text("composed_part_outer(" + coordinates + ")") == "CS<3,0,[1],0,[2]>");
  CHECK(text("composed_part_offset(" + coordinates + ")") == "(0,0,0)");
  CHECK(text("composed_part_inner(" + coordinates + ")") == "(4,8,8):(1@0,1@1,1@2)");
}

TEST_CASE("what does not go together is refused") {
  for (const char* wrong :
       {"Sw<3,4,3> o (1,2) o (8,64):(64,1)", "CS<3,0,[1],0,[2]> o 0 o (4,8,8):(1,4,32)",
        "CS<3,0,[1],0,[3]> o (0,0,0) o (4,8,8):(1@0,1@1,1@2)", "(4,8):(1,4) o (1,2) o 32:1"})
    CHECK_THROWS_AS(value_of(evaluate_expression(wrong), Value(Int(3))), LayoutError);
  for (const char* wrong : {"32:2 o 5 o [32:1 o 7 o (4,8):(1,4)", "32:2 o 5 o 32:1 o 7 o (4,8):(1,4)]",
                            "[4:1]", "32:2 o 4:1 o 8:1", "make_composed_layout(3, 0, 4:1)", "32:2 o 5 o 7"})
    CHECK_THROWS_AS(evaluate_expression(wrong), LayoutError);
}

TEST_CASE("nested layouts are their maps one after the other, also in slices, divides and compositions") {
  std::mt19937 engine(20261122);
  auto random = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    // (r, c) -> (r + a, c + b) -> the column exchanged -> (r + d, c + e) -> an offset, -> swizzled or not.
    const int rows = 1 << random(1, 3), columns = 1 << random(2, 3), p = random(8, 20);
    const int a = random(0, 3), b = random(0, 3), d = random(0, 2), e = random(0, 2), bits = random(1, 2);
    const bool swizzled = random(0, 1) == 0;
    auto pair = [](int x, int y) { return "(" + std::to_string(x) + "," + std::to_string(y) + ")"; };
    const std::string domain = pair(rows, columns);
    std::string f = "(64,64):" + pair(p, 1) + " o " + pair(d, e) + " o CS<" + std::to_string(bits) +
                    ",0,[0],0,[1]> o " + pair(a, b) + " o " + domain + ":(1@0,1@1)";
    if (swizzled) f = "Sw<2,1,3> o 5 o " + f;
    const Value nested = evaluate_expression(f);
    CHECK(to_string(nested) == f);
    CHECK(evaluate_expression(to_string(nested)) == nested);
    auto expected = [&](int r, int c) {
      r += a, c += b;
      c ^= r % (1 << bits);
      int x = (r + d) * p + (c + e);
      if (!swizzled) return x;
      x += 5;
      return x ^ ((x & (3 << 4)) >> 3);
    };
    const Value sliced = evaluate_expression("slice((_,1), " + f + ")"),
                fixed = evaluate_expression("slice((1,_), " + f + ")");
    const Value turned =
        evaluate_expression("composition(" + f + ", " + pair(columns, rows) + ":" + pair(rows, 1) + ")");
    const Value divided = evaluate_expression("logical_divide(" + f + ", (2,2))");
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) {
        REQUIRE(value_of(nested, List{Int(r), Int(c)}) == Value(Int(expected(r, c))));
        REQUIRE(value_of(nested, Int(r + rows * c)) == Value(Int(expected(r, c))));
        if (c == 1) REQUIRE(value_of(sliced, Int(r)) == Value(Int(expected(r, 1))));
        if (r == 1) REQUIRE(value_of(fixed, Int(c)) == Value(Int(expected(1, c))));
        REQUIRE(value_of(turned, Int(c + columns * r)) == Value(Int(expected(r, c))));
        const List parts{List{Int(r % 2), Int(r / 2)}, List{Int(c % 2), Int(c / 2)}};
        REQUIRE(value_of(divided, parts) == Value(Int(expected(r, c))));
      }
  }
}

TEST_CASE("crd2idx takes a layout, as FlyDSL's does") {
  // The values of FlyDSL's own tests.
  CHECK(text("crd2idx((2,3), (4,8):(1,4))") == "14");
  CHECK(text("crd2idx((2,3), (4,8):(8,1))") == "19");
  CHECK(text("crd2idx((2,3), 32:2 o 0 o [32:1 o 0 o (4,8):(1,4)])") == "28");
  CHECK(text("crd2idx((2,3), (4,8))") == "14"); // a shape is compact
}

} // namespace nested_test
