// Expressions over symbols: the same answers as the functions, and the same as plain expressions where there are no symbols.
#include <catch2/catch.hpp>

#include <inlay/algebra/expression.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>
#include <inlay/algebra/sym_expression.h>

namespace sym_expression_test {

using namespace inlay;

TEST_CASE("expressions over symbols") {
  SymContext ctx;
  const auto eval = [&](const char* text) {
    const SymComposedLayout c = evaluate_sym_expression(ctx, text);
    return c.is_plain() ? to_string(c.inner()) : to_string(c);
  };
  CHECK(eval("logical_divide((128*m,64*k):(64*k,1), <128,64>)") == "((128,m),(64,k)):((64*k,8192*k),(1,64))");
  CHECK(eval("zipped_divide((128*m,64*k):(64*k,1), (128,64:1))") ==
        "((128,64),(m,k)):((64*k,1),(8192*k,64))");
  CHECK(eval("coalesce((m,n):(1,m))") == "m*n:1");
  CHECK(eval("composition(coalesce((m,(n,k)):(1,(m,m*n))), (m,n*k):(1,m))") == "(m,k*n):(1,m)");
  CHECK(eval("complement(4:m, 16*m)") == "(m,4):(1,4*m)");
  CHECK(eval("coalesce(Sw<3,4,3> o 0 o (m,n):(1,m))") == "Sw<3,4,3> o 0 o m*n:1");
  CHECK(eval("make_layout((m,n))") == "(m,n):(1,m)");
  CHECK(eval("make_layout(m:1, n:m)") == "(m,n):(1,m)");
  CHECK(eval("((m+1)*2,4):(4,1)") == "(2*m+2,4):(4,1)");
  CHECK(is_sym_operation("coalesce(4:1)"));
  CHECK_FALSE(is_sym_operation("(m,n):(1,m)"));
  CHECK_FALSE(is_sym_operation("min(m,n):1"));
  CHECK_THROWS_AS(eval("coalesc(4:1)"), LayoutError);
  CHECK_THROWS_AS(eval("coalesce("), LayoutError);
  CHECK_THROWS_AS(evaluate_sym_expression(ctx, "coalesce((unknown,2):(1,4))", UnknownSymbol::refuse),
                  LayoutError);
  CHECK_THROWS_AS(evaluate_sym_expression(ctx, "Sw<1,0,2> o 0 o (unknown,2):(1,4)", UnknownSymbol::refuse),
                  LayoutError);
  CHECK_THROWS_AS(eval("composition(4:1)"), LayoutError);
  CHECK_THROWS_AS(eval("take(4:1, 0, x)"), LayoutError);

  // Without symbols both readers agree.
  for (const char* text :
       {"composition((6,2):(8,2), (4,3):(3,1))", "logical_divide((8,6):(1,8), (4,3))",
        "logical_divide((8,6):(1,8), <4,3>)", "flat_divide((8,6):(1,8), <4,_>)",
        "complement((2,4):(1,16), 128)", "right_inverse((4,8):(8,1))",
        "blocked_product((2,5):(5,1), (3,4):(1,3))", "tile_to_shape((2,4):(4,1), (4,8), (1,0))",
        "select((2,3,5):(1,2,6), (2,0))", "group((2,3,5):(1,2,6), 0, 2)", "upcast((8,4):(1,8), 4)"}) {
    std::string plain;
    std::string symbolic;
    try {
      plain = to_string(evaluate_expression(text));
    } catch (const LayoutError& e) {
      plain = e.code();
    }
    try {
      symbolic = eval(text);
    } catch (const LayoutError& e) {
      symbolic = e.code();
    }
    CHECK(plain == symbolic);
  }
}

} // namespace sym_expression_test
