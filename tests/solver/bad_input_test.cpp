// Malformed questions are one QuestionError, whatever is cut off them.
#include <catch2/catch.hpp>
#include <inlay/solver/prove.h>

namespace bad_input_test {

using namespace inlay::solver;

TEST_CASE("malformed subjects") {
  for (const char* text : {"",
                           "4",
                           "(4,8):(1)",
                           "4:",
                           ":",
                           "(4:1",
                           "4:1)",
                           "0:1",
                           "-3:1",
                           "(4,0):(1,4)",
                           "Sw<3,4> o 4:1",
                           "Sw<3,4,1> o 0 o 4:1",
                           "Sw<40,40,40> o 0 o 4:1",
                           "4:1 o",
                           " o 4:1",
                           "4:1:2",
                           "4:1@0",
                           "()",
                           "():()",
                           "(4,):(1",
                           "99999999999999999999:1",
                           "4:1 o o 4:1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Subject(text), QuestionError);
  }
  for (const char* text : {"i +", "(i", "i / ", "foo(i)", "i $ 2", "min(i)", "select(i, 1)", "(r,r) -> r",
                           "i ->", "0 < i < 4"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Subject(text, "8"), QuestionError);
  }
  CHECK_THROWS_AS(Subject("i + 1"), QuestionError);           // no domain
  CHECK_THROWS_AS(Subject("(r,c) -> r", "8"), QuestionError); // one extent for two coordinates
  CHECK_THROWS_AS(Subject("i", "0"), QuestionError);
  CHECK_THROWS_AS(prove_injective(Subject("i", "i")), QuestionError);
  CHECK_THROWS_AS(Subject(std::string(300, '(') + "i" + std::string(300, ')'), "8"), QuestionError);
  CHECK_THROWS_AS(Subject(std::string(300, '(') + "4:1" + std::string(300, ')')), QuestionError);
}

TEST_CASE("every prefix of a question is an error or an answer, never a crash") {
  std::string text = "Sw<3,4,3> o 0 o ((16,M/4),(2,K)):((K,16*K),(1,2))";
  for (std::size_t n = 0; n <= text.size(); ++n) {
    try {
      (void)prove_injective(Subject(text.substr(0, n)), {},
                            Options{.enumeration_limit = 4096, .solver_steps = 0});
    } catch (const QuestionError&) {
    }
  }
  std::string formula = "(r, c) -> select(r < 4, r*128 + (c ^ (r % 8) << 4), min(r, c) / 3)";
  for (std::size_t n = 0; n <= formula.size(); ++n) {
    try {
      (void)prove_within(Subject(formula.substr(0, n), "(M,128)"), "M*4096", {},
                         Options{.enumeration_limit = 4096, .solver_steps = 0});
    } catch (const QuestionError&) {
    }
  }
}

TEST_CASE("division by zero and extents that vanish are the question's fault") {
  CHECK_THROWS_AS(prove_equal(Subject("i / 0", "8"), Subject("i", "8")), QuestionError);
  CHECK_THROWS_AS(prove_within(Subject("select(i < 3, 0, 8 / (i - 3))", "8"), "100"), QuestionError);
  CHECK_THROWS_AS(prove_injective("M - 1:1"), QuestionError);
  CHECK_NOTHROW(prove_injective("M - 1:1", {"M >= 2"}));
  CHECK_NOTHROW(prove_equal(Subject("select(i == 3, 3, 8 / (i - 3))", "8"), Subject("i", "8")));
}

} // namespace bad_input_test
