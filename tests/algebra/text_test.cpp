// Text: round trips, and malformed input as one message with a position.
#include <catch2/catch.hpp>

#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

namespace text_test {

using namespace inlay;

TEST_CASE("parse of print is the identity") {
  for (const char* t : {"4:1", "(4):(1)", "((2,2),3):((24,2),8)", "(4,8):(-1,0)", "():()",
                        "((2,3),(2,2)):((1@0,1@1),(2@0,3@1))", "4:1@0@1", "(((4,1),2),3):(((1,0),4),8)",
                        "3:-9223372036854775808"})
    CHECK(to_string(parse_layout(t)) == t);
  for (const char* t : {"7", "-3", "()", "(4)", "((2,2),3)", "(())"})
    CHECK(to_string(parse_int_tuple(t)) == t);
  SymContext ctx;
  for (const char* t :
       {"((128,m),(128,n)):((1,128),(128*m,16384*m))", "(m,n):(1,m+8)", "((m+127)/128,4):(1,4*((m+127)/128))",
        "(m%8,n):(n,min(m,n))", "(m):(n@0)", "(m,2):((m+1)@0,1@1)", "m*m:1", "(select(m<=n,4,8)):(a^b)"}) {
    INFO(t);
    CHECK(to_string(parse_sym_layout(ctx, t)) == t);
    CHECK(parse_sym_layout(ctx, to_string(parse_sym_layout(ctx, t))) == parse_sym_layout(ctx, t));
  }
  CHECK(to_string(parse_layout(" ( 4 , 8 ) : ( 1 , 4 ) ")) == "(4,8):(1,4)");
  CHECK(to_string(parse_sym(ctx, "m < n")) == "(m+1)<=n");
}

TEST_CASE("malformed text is one message") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      (void)parse_layout(text);
    } catch (const LayoutError& e) {
      return e.code() + ": " + e.fields().summary;
    }
    return "accepted";
  };
  CHECK(message("") == "syntax: expected a number, found the end");
  CHECK(message("(4,8):(1,4") == "syntax: expected ')', found the end");
  CHECK(message("(4,8)") == "syntax: expected ':', found the end");
  CHECK(message("(4,8):(1,x)") == "syntax: expected a number, found 'x'");
  CHECK(message("(4,8):(1,4)x") == "syntax: expected the end, found 'x'");
  CHECK(message("(4,8):(1,(4))") == "incongruent: shape and stride are not congruent");
  CHECK(message("99999999999999999999:1") == "syntax: a number does not fit in 64 bits");
  CHECK(message("0:1") == "extent: an extent is not positive");
  CHECK(message("4:1@300") == "limit: index of a basis stride is beyond the limit");
  CHECK(message(std::string(1 << 20, '(')) == "limit: depth is beyond the limit");
  CHECK(message(std::string((1 << 20) + 1, '(')) == "limit: length of the text is beyond the limit");
  std::string wide = "(1";
  for (int i = 0; i < 300; ++i) wide += ",1";
  CHECK(message(wide + "):1") == "limit: rank is beyond the limit");
  CHECK(message(std::string("4\0:1", 4)) == "syntax: expected ':', found byte 0");
  SymContext ctx;
  CHECK_THROWS_AS(parse_sym_layout(ctx, "(m,n):(1,m)", UnknownSymbol::refuse), LayoutError);
  CHECK_THROWS_AS(parse_sym(ctx, "foo(1,2)"), LayoutError);
  CHECK_THROWS_AS(parse_sym(ctx, "min(1)"), LayoutError);
  CHECK_THROWS_AS(parse_sym(ctx, std::string(1 << 20, '(')), LayoutError);
  CHECK_THROWS_AS(parse_sym(ctx, "1/0"), LayoutError);
  CHECK_THROWS_AS(parse_sym_layout(ctx, std::string(1 << 20, '(')), LayoutError);
  CHECK_THROWS_AS(parse_sym_layout(ctx, "0:1"), LayoutError);
  CHECK_THROWS_AS(parse_sym(ctx, std::string(1 << 18, '-')), LayoutError);
}

} // namespace text_test
