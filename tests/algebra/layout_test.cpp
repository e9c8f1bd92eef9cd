// Layouts as values: construction, evaluation, equality, order, hash, limits.
#include <catch2/catch.hpp>

#include <inlay/algebra/expression.h>
#include <inlay/algebra/int_big.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <set>

namespace layout_test {

using namespace inlay;
using namespace inlay::literals;

TEST_CASE("Int is checked and divides downwards") {
  CHECK(Int(2) + Int(3) == 5);
  const Int most = std::numeric_limits<std::int64_t>::max();
  const Int least = std::numeric_limits<std::int64_t>::min();
  CHECK_THROWS_AS(most + 1, OverflowError);
  CHECK_THROWS_AS(least - 1, OverflowError);
  CHECK_THROWS_AS(most * 2, OverflowError);
  CHECK_THROWS_AS(-least, OverflowError);
  CHECK_THROWS_AS(floor_div(least, -1), OverflowError);
  CHECK_THROWS_AS(floor_div(Int(1), 0), LayoutError);
  for (std::int64_t a = -20; a <= 20; ++a)
    for (std::int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      const Int q = floor_div(Int(a), Int(b));
      const Int r = floor_mod(Int(a), Int(b));
      CHECK(q * b + r == a);
      CHECK((b > 0 ? r >= 0 && r < b : r <= 0 && r > b));
      CHECK(floor_div(BigInt(Int(a)), BigInt(Int(b))) == BigInt(q));
      CHECK(floor_mod(BigInt(Int(a)), BigInt(Int(b))) == BigInt(r));
    }
  static_assert(floor_div(Int(-7), 2) == -4 && floor_mod(Int(-7), 2) == 1 && gcd(Int(-12), 18) == 6);
}

TEST_CASE("a layout is its formula") {
  const Layout l = "((2,2),3):((24,2),8)"_layout;
  CHECK(l.rank() == 2);
  CHECK(l.depth() == 2);
  CHECK(l.size() == 12);
  CHECK(l.cosize() == 43);
  CHECK(l.shape() == "((2,2),3)"_tuple);
  Int index = 0;
  for (Int k = 0; k < 3; k += 1)
    for (Int j = 0; j < 2; j += 1)
      for (Int i = 0; i < 2; i += 1) {
        const Int value = 24 * i + 2 * j + 8 * k;
        CHECK(l(index) == value);
        CHECK(l(IntTuple::of({IntTuple::of({i, j}), k})) == value);
        CHECK(l(IntTuple::of({i + 2 * j, k})) == value);
        index += 1;
      }
  CHECK("(4,3):(1,10)"_layout(13) == 31);  // the last mode runs on
  CHECK("(4,3):(1,10)"_layout(-5) == -17); // floor: coordinate (3,-2)
  CHECK("((2,2),3):((24,2),8)"_layout.mode(0) == "(2,2):(24,2)"_layout);
  CHECK_THROWS_AS(l.mode(2), LayoutError);
  CHECK_THROWS_AS(l("(1,1,1)"_tuple), LayoutError);
}

TEST_CASE("factories") {
  CHECK(to_string(Layout::col_major("(4,8)"_tuple)) == "(4,8):(1,4)");
  CHECK(to_string(Layout::row_major("(4,8)"_tuple)) == "(4,8):(8,1)");
  CHECK(to_string(Layout::col_major("(4,1,8)"_tuple)) == "(4,1,8):(1,0,4)");
  CHECK(to_string(Layout()) == "1:0");
  CHECK_THROWS_AS(Layout::from("(4,8)"_tuple, "(4,(8))"_tuple), LayoutError);
  CHECK_THROWS_AS(Layout(0, 1), LayoutError);
  CHECK_THROWS_AS("(4,-1):(1,4)"_layout, LayoutError);
}

TEST_CASE("profiles distinguish (4) from 4, and compare, order and hash as values") {
  CHECK("(4):(1)"_layout != "4:1"_layout);
  CHECK(Profile::flat(2) == "(4,8):(1,4)"_layout.profile());
  CHECK("((2,2),3)"_tuple.profile() == "((8,1),5)"_tuple.profile());
  const std::vector<const char*> texts = {"4:1",         "(4):(1)", "(4,2):(1,4)", "((4),2):((1),4)",
                                          "(4,2):(1,5)", "4:1@0"};
  std::set<Layout> ordered;
  std::set<std::uint64_t> hashes;
  for (const char* t : texts) {
    ordered.insert(parse_layout(t));
    hashes.insert(stable_hash(parse_layout(t)));
    CHECK(stable_hash(parse_layout(t)) == stable_hash(parse_layout(t)));
  }
  CHECK(ordered.size() == texts.size());
  CHECK(hashes.size() == texts.size());
}

TEST_CASE("beyond eight modes layouts live on the heap and stay values") {
  std::vector<IntTuple> extents(20, IntTuple(Int(2)));
  const Layout l = Layout::col_major(IntTuple::of(extents));
  Layout copy = l;
  CHECK(copy == l);
  CHECK(l.size() == Int(1) + ((std::int64_t{1} << 20) - 1));
  for (Int i = 0; i < 5000; i += 37) CHECK(l(i) == i);
  copy = Layout();
  CHECK(copy != l);
}

TEST_CASE("tuple arithmetic goes leaf by leaf") {
  const auto eval = [](const char* text) { return to_string(evaluate_expression(text)); };
  CHECK(eval("add((1,(2,3)), (4,(5,6)))") == "(5,(7,9))");
  CHECK(eval("sub((1,(2,3)), 4)") == "(-3,(-2,-1))");
  CHECK(eval("mul((2,3), (4,-1))") == "(8,-3)");
  CHECK(eval("div((7,-7), 2)") == "(3,-4)");
  CHECK(eval("mod((5,-1), 4)") == "(1,3)");
  CHECK(eval("product_like((2,(3,4)), (1,1))") == "(2,12)");
  CHECK(eval("shape((4,(2,4)):(8,(1,2)))") == "(4,(2,4))");
  CHECK(eval("stride((4,(2,4)):(8,(1,2)))") == "(8,(1,2))");
  CHECK(eval("tiled_copy_retile(1, (4,8):(8,1), (2,2):(2,1), (4,3,2):(1,4,12))") ==
        "((1,4),3,2):((0,1),4,12)");
  for (const char* wrong : {"add((1,2), (1))", "add(1, (1,2))", "product_like((2,3), (1,(1,1)))", "div(1, 0)",
                            "stride((4,8):(1@0,1@1))"})
    CHECK_THROWS_AS(evaluate_expression(wrong), LayoutError);
}

} // namespace layout_test
