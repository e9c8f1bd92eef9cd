// What the mutation check (tests/mutate/sources.py, docs/measurements/mutation.md) found untested.
#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>

#include <catch2/catch.hpp>

namespace mutation_test {

using namespace inlay;
using namespace inlay::literals;

TEST_CASE("coalescing never merges along different axes") {
  for (const char* text : {"(4,2):(1@0,0)", "(4,2):(0,1@0)", "(2,3):(1@0,2@1)", "(2,3,2):(1@0,2@0,6@0)",
                           "(2,3):(0,0)", "(2,2,2):(1@1,0,2@1)"}) {
    const Layout layout = parse_layout(text);
    const Layout merged = coalesce(layout);
    INFO(text << " to " << to_string(merged));
    REQUIRE(merged.size() == layout.size());
    for (Int i = 0; i < layout.size(); i += 1) {
      // Trailing zeros of a coordinate depend on which axes occur, not on the function: pad by comparing entry by entry.
      const IntTuple a = value_at(layout, i), b = value_at(merged, i);
      const auto entry = [](const IntTuple& t, std::size_t k) {
        if (t.is_leaf()) return k == 0 ? t.leaf() : Int(0);
        return k < t.rank() ? t[k].leaf() : Int(0);
      };
      for (std::size_t k = 0; k < 2; ++k) CHECK(entry(a, k) == entry(b, k));
    }
  }
  CHECK(to_string(coalesce("(2,3,2):(1@0,2@0,6@0)"_layout)) == "12:1@0");
  CHECK(to_string(coalesce("(2,3):(0@0,0@1)"_layout)) == "6:0"); // but zeros are the same along all of them
}

TEST_CASE("composition with basis strides indexes each mode of the left operand by its own axis") {
  const Layout left = "(4,6):(6,1)"_layout;
  CHECK(to_string(composition(left, "(4,6):(1@0,1@1)"_layout)) == "(4,6):(6,1)");
  CHECK(to_string(composition(left, "(3,2,2):(2@1,1@0,2@0)"_layout)) == "(3,2,2):(2,6,12)");
  const Layout right = "((2,3),(2,2)):((1@1,2@1),(2@0,1@0))"_layout;
  const Layout result = composition(left, right);
  for (Int i = 0; i < right.size(); i += 1) CHECK(result(i) == left(value_at(right, i)));
}

TEST_CASE("grouping and slicing are judged by their nesting too, which values do not show") {
  CHECK(to_string(group("(2,3,5):(1,2,6)"_layout, 1, 3)) == "(2,(3,5)):(1,(2,6))");
  CHECK(to_string(group("(2,3,5):(1,2,6)"_layout, 0, 2)) == "((2,3),5):((1,2),6)");
  CHECK(to_string(group("(2,3,5):(1,2,6)"_layout, 1, 1)) == "(2,3,5):(1,2,6)");
  CHECK(to_string(group("(2,3,5):(1,2,6)"_layout, 2, 3)) == "(2,3,(5)):(1,2,(6))");
  const auto sliced = [](const char* coordinate, const Layout& l) {
    return to_string(slice(parse_coordinate(coordinate), l));
  };
  CHECK(sliced("_", "4:1"_layout) == "4:1");
  CHECK(sliced("(_,0)", "(4,8):(1,4)"_layout) == "(4):(1)");
  CHECK(sliced("((_,1),_)", "((4,2),8):((1,4),8)"_layout) == "(4,8):(1,8)");
  CHECK(to_string(dice(parse_coordinate("(_,0)"), "(4,8):(1,4)"_layout)) == "(8):(4)");
}

TEST_CASE("the mode after the last one does not exist", "[error]") {
  CHECK_THROWS_AS(evaluate_expression("get((2,3):(1,2), <2>)"), LayoutError);
  CHECK_THROWS_AS(evaluate_expression("get((2,3):(1,2), <0,1>)"), LayoutError);
  CHECK_THROWS_AS(evaluate_expression("replace((2,3):(1,2), 2, 4:1)"), LayoutError);
  CHECK(to_string(evaluate_expression("get((2,3):(1,2), <1>)")) == "3:2");
  CHECK(to_string(evaluate_expression("replace((2,3):(1,2), 1, 4:1)")) == "(2,4):(1,1)");
}

TEST_CASE("a composition of symbols assumes the smallest extent that is large enough") {
  SymContext context;
  const SymLayout result =
      composition(parse_sym_layout(context, "(m,n):(n,1)"), parse_sym_layout(context, "96:1"));
  CHECK(to_string(result) == "96:n");
  REQUIRE(context.obligations().size() == 1);
  CHECK(to_string(context.obligations()[0].claim) == "96 <= m");
}

TEST_CASE("a composition of symbols obliges what it assumes, and nothing else") {
  const auto obliged = [](const char* left, const char* right) {
    SymContext context;
    const SymLayout a = parse_sym_layout(context, left);
    const std::string result = to_string(composition(a, parse_sym_layout(context, right)));
    std::string text = result;
    for (const Obligation& o : context.obligations()) text += "; " + to_string(o.claim);
    return text;
  };
  CHECK(obliged("(4,8):(100,1)", "2:d") == "2:d/4; 4 divides d");
  CHECK(obliged("(4,8):(100,1)", "m:3") == "m:300; 3*m-2 <= 4");
}

TEST_CASE("modes whose order symbols leave open are taken in the given order") {
  const auto obliged = [](const char* text) {
    SymContext context;
    std::string all = to_string(complement(parse_sym_layout(context, text), Sym(32)));
    for (const Obligation& o : context.obligations()) all += "; " + to_string(o.claim);
    return all;
  };
  CHECK(obliged("(m,4):(2,2)") == "(2,1/m,4):(1,2*m,8); 2 <= m; 2*m <= 2");
  CHECK_THROWS_AS(obliged("(4,m):(2,2)"), LayoutError);      // the mode of four ends at 8, above 2
  CHECK(obliged("(2,m):(8,1)") == "(8/m,2):(m,16); m <= 8"); // 1 is surely below 8
}

TEST_CASE("symbolic units oblige the division that can hold") {
  const auto obliged = [](const char* layout, const char* unit) {
    SymContext context;
    const SymLayout l = parse_sym_layout(context, layout);
    std::string all = to_string(upcast(l, parse_sym(context, unit)));
    for (const Obligation& o : context.obligations()) all += "; " + to_string(o.claim);
    return all;
  };
  CHECK(obliged("8:2", "2*m") == "8/m:1; m divides 8"); // the stride surely divides the unit
  CHECK(obliged("8:m", "2") == "8:m/2; 2 divides m");   // either may divide the other
  CHECK(obliged("8:3", "m") == "8:3/m; m divides 3");
  CHECK(obliged("8:2*m+1", "4") ==
        "8/(4/(2*m+1)):1; 2*m+1 divides 4; 4/(2*m+1) divides 8"); // the unit surely does not
}

TEST_CASE("the layout without modes is a single element at 0") {
  const Layout none = "():()"_layout;
  CHECK(to_string(composition(none, "(2,3):(1,2)"_layout)) == "(2,3):(0,0)");
  CHECK(to_string(composition("4:2"_layout, none)) == "():()");
  CHECK(to_string(coalesce(none)) == "1:0");
  CHECK(to_string(complement(none, 6)) == "6:1");
  CHECK(to_string(complement("2:1"_layout, IntTuple::of(std::span<const IntTuple>{}))) == "1:0");
  CHECK(to_string(evaluate_expression("right_inverse(():())")) == "1:0");
  CHECK(to_string(evaluate_expression("left_inverse(():())")) == "1:0");
  CHECK(to_string(evaluate_expression("logical_divide(():(), 1)")) == "(1,1):(0,0)");
  CHECK(to_string(evaluate_expression("max_common_vector(():(), 4:1)")) == "1");
}

} // namespace mutation_test
