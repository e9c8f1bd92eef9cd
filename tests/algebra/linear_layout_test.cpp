// Triton's linear layouts against their definition: bits of register, lane and warp XOR to coordinates of the tile.
#include <catch2/catch.hpp>

#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/linear_layout.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>

namespace linear_layout_test {

using namespace inlay;
using namespace inlay::literals;

namespace {

// C of one 32x32 MFMA, as Triton gives amd_mfma<instrShape = [32, 32]>.
const char* const mfma = "#ttg.linear<{register = [[1, 0], [2, 0], [8, 0], [16, 0]], "
                         "lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [4, 0]], warp = [], block = []}>";

// Coordinates by the definition.
std::vector<std::int64_t> at(const LinearLayout& l, const char* input, std::int64_t index) {
  std::vector<std::int64_t> out;
  for (const LinearLayout::Input& in : l.inputs)
    for (std::size_t k = 0; in.name == input && k < in.bases.size(); ++k) {
      out.resize(in.bases[k].size());
      for (std::size_t j = 0; j < out.size(); ++j) out[j] ^= ((index >> k) & 1) * in.bases[k][j];
    }
  return out;
}

} // namespace

TEST_CASE("a linear layout of Triton is a thread-value layout, and back") {
  const LinearLayout l = parse_linear_layout(mfma);
  CHECK(to_string(l) == mfma);
  CHECK(to_string(tile_of(l)) == "(32,32)");
  const Layout tv = thread_value_layout(l);
  CHECK(to_string(tv) == "((32,2),(4,4)):((32,4),(1,8))");
  for (std::int64_t lane = 0; lane < 64; ++lane)
    for (std::int64_t reg = 0; reg < 16; ++reg) {
      const auto x = at(l, "lane", lane), y = at(l, "register", reg);
      CHECK(tv(Int(lane + 64 * reg)) == Int((x[0] ^ y[0]) + 32 * (x[1] ^ y[1])));
    }
  CHECK(to_string(linear_layout(tv, "(32,32)"_tuple)) == mfma);
  CHECK(bit_matrix(l).rank() == 10);
  // Four warps, the last of them beside each other, and a register that repeats.
  const Layout four = "((64,4),(2,2)):((1,128),(0,64))"_layout;
  const std::string text = to_string(linear_layout(four, "(16,32)"_tuple));
  CHECK(text ==
        "#ttg.linear<{register = [[0, 0], [0, 4]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], "
        "warp = [[0, 8], [0, 16]], block = []}>");
  CHECK(to_string(thread_value_layout(parse_linear_layout(text))) == "((64,4),(2,2)):((1,128),(0,64))");
}

TEST_CASE("Triton's text is an expression") {
  const auto eval = [](const std::string& text) { return to_string(evaluate_expression(text)); };
  CHECK(eval(mfma) == "((32,2),(4,4)):((32,4),(1,8))");
  CHECK(eval("coalesce(" + std::string(mfma) + ")") == "(32,2,4,4):(32,4,1,8)");
  CHECK(eval("linear_layout(((32,2),(4,4)):((32,4),(1,8)), (32,32))") == mfma);
  CHECK(eval("bit_matrix((4,8):(8,1))") == "(8,16,1,2,4)");
  CHECK(eval("bit_matrix(Sw<1,0,2> o 0 o (2,4):(1,2))") == "(1,2,5)");
}

TEST_CASE("what is no linear layout is one message", "[error]") {
  const auto code = [](const auto& run) {
    try {
      run();
    } catch (const LayoutError& e) {
      return e.code();
    }
    return std::string("accepted");
  };
  const auto parsed = [&](const std::string& text) {
    return code([&] { (void)thread_value_layout(parse_linear_layout(text)); });
  };
  CHECK(parsed("#ttg.linear<{}>") == "syntax");
  CHECK(parsed("#ttg.linear<{lane = [[1, 0]], register = [[1]]}>") == "linear");
  CHECK(parsed("#ttg.linear<{lane = [[]]}>") == "syntax");
  CHECK(parsed("#ttg.linear<{lane = [[1], [1]]}>") ==
        "linear"); // two lanes hold one element twice over: no sum
  CHECK(parsed("#ttg.linear<{row = [[1]]}>") == "linear");
  CHECK(parsed("#ttg.linear<{lane = [[9223372036854775807, 1]]}>") == "limit");
  CHECK(parsed("#ttg.linear<{lane = [[1]]") == "syntax");
  CHECK(parsed("#ttg.linear<{lane = []}>") == "accepted");
  CHECK(code([] { (void)linear_layout("(3,2):(1,4)"_layout, "8"_tuple); }) == "linear");
  CHECK(code([] { (void)linear_layout("(4,2):(1,8)"_layout, "8"_tuple); }) == "linear"); // leaves the tile
  CHECK(code([] { (void)linear_layout("4:1"_layout, "8"_tuple); }) == "rank");
  CHECK(code([] { (void)evaluate_expression("#ttg"); }) == "syntax");
  CHECK(code([] { (void)evaluate_expression("bit_matrix(3:1)"); }) == "linear");
}

} // namespace linear_layout_test
