// Inputs that must be refused, each with the whole text of its message: tests/errors/algebra.txt.
#include <catch2/catch.hpp>

#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/sym_expression.h>

#include <fstream>
#include <sstream>

namespace errors_test {

using namespace inlay;

namespace {
// Entries are `> expression` and the message below it; repeated text is written {count*text}. `> with m,n: expression`
// has the symbols m and n, and no others.
std::string expanded(std::string text) {
  for (std::size_t open = 0; (open = text.find('{', open)) != std::string::npos;) {
    const std::size_t star = text.find('*', open), close = text.find('}', open);
    const std::string part = text.substr(star + 1, close - star - 1);
    std::string repeated;
    for (std::size_t n = std::stoul(text.substr(open + 1, star)); n > 0; --n) repeated += part;
    text.replace(open, close + 1 - open, repeated);
    open += repeated.size();
  }
  return text;
}

void evaluate(const std::string& entry) {
  if (entry.rfind("with ", 0) != 0) {
    (void)evaluate_expression(expanded(entry));
    return;
  }
  SymContext context;
  const std::size_t colon = entry.find(": ");
  std::istringstream names(entry.substr(5, colon - 5));
  for (std::string name; std::getline(names, name, ',');) (void)context.symbol(name);
  (void)evaluate_sym_expression(context, expanded(entry.substr(colon + 2)), UnknownSymbol::refuse);
}
} // namespace

TEST_CASE("errors say what is wrong, with the operands and a way out") {
  std::ifstream file(std::string(INLAY_TESTS_DIR) + "/errors/algebra.txt");
  REQUIRE(file);
  std::string expression;
  std::string message;
  std::size_t checked = 0;
  const auto check = [&] {
    if (expression.empty()) return;
    INFO(expression);
    std::string got = "accepted";
    try {
      evaluate(expression);
    } catch (const LayoutError& e) {
      got = e.what();
    }
    CHECK(got + "\n" == message);
    ++checked;
  };
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("# ", 0) == 0 || line.empty()) continue;
    if (line.rfind("> ", 0) == 0) {
      check();
      expression = line.substr(2);
      message.clear();
    } else {
      message += line + "\n";
    }
  }
  check();
  CHECK(checked >= 48);
}

TEST_CASE("an overflow on the way is no error when the result fits") {
  const auto eval = [](const char* text) { return to_string(evaluate_expression(text)); };
  // The span of the layout is 2^63; what is left of a target of 2^62 is nothing.
  CHECK(eval("complement((4611686018427387904,2):(1,4611686018427387904), 4611686018427387904)") == "1:0");
  CHECK(eval("coalesce((4611686018427387904,4):(4,0))") == "(4611686018427387904,4):(4,0)");
  // One that does not fit names the mode.
  try {
    (void)evaluate_expression("coalesce((4611686018427387904,4):(0,0))");
    FAIL("accepted");
  } catch (const LayoutError& e) {
    CHECK(e.code() == "overflow");
    CHECK(std::string(e.what()).find("mode 0 of the result, 18446744073709551616:0") != std::string::npos);
  }
}

} // namespace errors_test
