// Compile-time layouts: what compiles here has been checked by the compiler.
#include <catch2/catch.hpp>

#include <inlay/algebra/literal.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

namespace literal_test {

using namespace inlay;
using namespace boost::hana::literals;
namespace hana = boost::hana;

namespace {

constexpr Layout a = literal::layout(hana::make_tuple(6_c, 2_c), hana::make_tuple(8_c, 2_c));
constexpr Layout b = literal::layout(hana::make_tuple(4_c, 3_c), hana::make_tuple(3_c, 1_c));
constexpr Layout r = literal::composition(a, b);
static_assert(r.size() == 12 && r(5) == a(b(5)) && r(11) == a(b(11)));
static_assert(literal::coalesce(literal::layout(hana::make_tuple(2_c, hana::make_tuple(3_c, 4_c)))).size() ==
              24);
static_assert(literal::complement(literal::layout(4_c, 2_c), 24)(5) == 17);
static_assert(literal::right_inverse(literal::layout(hana::make_tuple(4_c, 8_c),
                                                     hana::make_tuple(8_c, 1_c)))(9) == 5);
static_assert(literal::left_inverse(literal::layout(4_c, 2_c)).size() == 8);
static_assert(literal::logical_divide(literal::layout(24_c), literal::layout(4_c, 2_c)).rank() == 2);
static_assert(literal::logical_product(literal::layout(4_c), literal::layout(3_c)).size() == 12);

template <LayoutLiteral L>
struct Kernel {
  static constexpr Int elements = from_literal(L).size();
};
static_assert(Kernel<to_literal(r)>::elements == 12);
static_assert(std::is_same_v<Kernel<to_literal(a)>, Kernel<to_literal(from_literal(to_literal(a)))>>);
static_assert(!std::is_same_v<Kernel<to_literal(a)>, Kernel<to_literal(b)>>);

} // namespace

TEST_CASE("constant expressions say what the functions say") {
  CHECK(to_string(r) == "((2,2),3):((24,2),8)");
  CHECK(r == composition(a, b));
  CHECK(literal::complement(b, 48) == complement(b, 48));
  CHECK(literal::logical_divide(r, Layout(3, 4)) == logical_divide(r, Tile(Layout(3, 4))));
  CHECK(from_literal(to_literal(parse_layout("((2,(1,3)),(4)):((24,(0,-2)),(8))"))) ==
        parse_layout("((2,(1,3)),(4)):((24,(0,-2)),(8))"));
  CHECK_THROWS_AS(to_literal(parse_layout("4:1@0")), LayoutError);
  CHECK_THROWS_AS(literal::composition(a, Layout(5, 3)), LayoutError);
}

} // namespace literal_test
