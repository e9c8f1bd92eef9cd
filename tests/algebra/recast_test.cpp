// upcast, downcast, recast where modes disappear in a unit: what is exact is accepted, and is the definition.
#include <catch2/catch.hpp>
#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/layout.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

#include <set>

namespace recast_test {

using namespace inlay;

namespace {
std::string text(const char* expression) { return to_string(evaluate_expression(expression)); }

// The units that the elements lie in, by the definition, and how often each: n elements each when the cast is exact.
std::multiset<std::int64_t> units(const Layout& l, std::int64_t n) {
  std::multiset<std::int64_t> out;
  for (Int i = 0; i < l.size(); i += 1) out.insert(floor_div(l(i), Int(n)).value());
  return out;
}
} // namespace

TEST_CASE("a single element has any stride") {
  CHECK(text("upcast((1,64):(1,1), 8)") == "(1,8):(0,1)");
  CHECK(text("upcast((1,64):(3,1), 8)") == "(1,8):(0,1)");
  CHECK(text("upcast((1,64):(16,1), 8)") == "(1,8):(2,1)");
  CHECK(text("downcast((1,8):(1,1), 2)") == "(1,16):(2,1)");
  CHECK(text("downcast((1,8):(1,3), 2)") == "(2,8):(1,6)");
  CHECK(to_string(recast(parse_layout("(1,64):(1,1)"), 4, 8)) == "(1,32):(0,1)");
}

TEST_CASE("modes of one run divide together") {
  CHECK(text("upcast((16,64):(1,16), 32)") == "(1,32):(0,1)");
  CHECK(text("upcast((4,4,8):(1,4,16), 32)") == "(1,1,4):(0,0,1)");
  CHECK(text("upcast((64,16):(16,1), 32)") == "(32,1):(1,0)");
  CHECK(text("upcast((16,2,64):(1,16,64), 32)") == "(1,1,64):(0,1,2)");
  CHECK(to_string(recast(parse_layout("(16,64):(1,16)"), 4, 128)) == "(1,32):(0,1)");
}

TEST_CASE("what is not exact stays refused") {
  for (const char* wrong : {"upcast(3:1, 2)", "upcast((16,64):(1,17), 32)", "upcast((3,64):(1,3), 2)",
                            "upcast((16,3):(1,16), 32)", "upcast((16,64):(1,-16), 32)", "upcast(16:1, 32)"})
    CHECK_THROWS_AS(evaluate_expression(wrong), LayoutError);
}

TEST_CASE("every accepted upcast of a compact layout counts each unit once") {
  int accepted = 0, together = 0;
  for (std::int64_t a : {1, 2, 3, 4, 8})
    for (std::int64_t b : {1, 2, 3, 4, 8})
      for (std::int64_t c : {1, 2, 4, 6})
        for (std::int64_t n : {2, 3, 4, 6, 8, 12, 16})
          for (bool turned : {false, true}) {
            auto s = [](std::int64_t v) { return std::to_string(v); };
            const Layout l = parse_layout(
                "(" + s(a) + "," + s(b) + "," + s(c) +
                "):" + (turned ? "(" + s(b * c) + "," + s(c) + ",1)" : "(1," + s(a) + "," + s(a * b) + ")"));
            std::optional<Layout> up;
            try {
              up = upcast(l, n);
            } catch (const LayoutError&) {
              continue;
            }
            ++accepted;
            CAPTURE(to_string(l), n, to_string(*up));
            std::multiset<std::int64_t> want = units(l, n), got;
            for (Int i = 0; i < up->size(); i += 1) got.insert((*up)(i).value());
            // Each unit of the result stands for size(l) / size(up) elements.
            REQUIRE(floor_mod(l.size(), up->size()) == 0);
            const std::int64_t share = (l.size().value()) / up->size().value();
            REQUIRE(share == (l.size() < n ? l.size().value() : n));
            for (std::int64_t u : std::set<std::int64_t>(want.begin(), want.end()))
              REQUIRE(static_cast<std::int64_t>(want.count(u)) ==
                      share * static_cast<std::int64_t>(got.count(u)));
            REQUIRE(want.size() == got.size() * static_cast<std::size_t>(share));
            together += a < n && a > 1 && b > 1;
          }
  CHECK(accepted > 300);
  CHECK(together > 30);
}

TEST_CASE("coordinates beyond a mode stay in their axis") {
  CHECK(text("logical_divide((80,1):(1@0,1@1), 7)") == "(7,12):(1@0,7@0)");
  CHECK(text("logical_divide((80,1):(1,80), 7)") == "(7,12):(1,7)");
  CHECK(text("composition((80,1):(1@0,1@1), 84:1)") == "84:1@0");
  CHECK_THROWS_AS(evaluate_expression("logical_divide((80,2):(1@0,1@1), 7)"), LayoutError);
  CHECK_THROWS_AS(evaluate_expression("logical_divide((80,1):(1,100), 7)"), LayoutError);
}

} // namespace recast_test
