// Triton's layouts against what Triton 3.9.0 prints of them (tests/golden/triton/layouts.jsonl), and shared memory against the definition.
#include <catch2/catch.hpp>

#include <inlay/algebra/error.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/triton_layout.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace triton_layout_test {

using namespace inlay;
using Json = nlohmann::json;
using Bases = std::vector<std::vector<std::int64_t>>;

namespace {

std::string type_of(const Json& row, const char* kind) {
  std::string out = kind;
  for (const auto& n : row["shape"]) out += std::to_string(n.get<std::int64_t>()) + "x";
  return out + "f16, " + row["layout"].get<std::string>() + ">";
}

std::string value(const std::string& text) { return to_string(evaluate_expression(text)); }

std::string error(const std::string& text) {
  try {
    return value(text);
  } catch (const LayoutError& e) {
    return e.what();
  }
}

} // namespace

TEST_CASE("layouts of registers and of shared memory are those that Triton computes") {
  std::ifstream file(INLAY_TESTS_DIR "/golden/triton/layouts.jsonl");
  std::size_t rows = 0, layouts = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const Json row = Json::parse(line);
    const std::string text = row["layout"];
    const std::vector<std::int64_t> shape = row["shape"];
    INFO(text << " on " << row["shape"]);
    if (row.contains("offset")) { // bit k of the offset is the element at basis k, bits XOR
      const auto f = as_function(parse_triton_layout(type_of(row, "!ttg.memdesc<")));
      REQUIRE(f);
      const Bases bases = row["offset"];
      const std::int64_t size = shape[0] * shape[1];
      for (std::int64_t offset = 0; offset < size; ++offset) {
        std::int64_t row_index = 0, column = 0;
        for (std::size_t k = 0; k < bases.size(); ++k)
          if ((offset >> k) & 1) row_index ^= bases[k][0], column ^= bases[k][1];
        REQUIRE((*f)(IntTuple::of({Int(row_index), Int(column)})) == Int(offset));
      }
      continue;
    }
    const LinearLayout l = triton_linear_layout(text, shape);
    CHECK(l.inputs[0].bases == row["register"].get<Bases>());
    CHECK(l.inputs[1].bases == row["lane"].get<Bases>());
    CHECK(l.inputs[2].bases == row["warp"].get<Bases>());
    // ((lane, warp), register) to the index, by the definition.
    const auto f = as_function(parse_triton_layout(type_of(row, "tensor<")));
    REQUIRE(f);
    ++layouts;
    const std::size_t lanes = l.inputs[1].bases.size(), warps = l.inputs[2].bases.size();
    const std::int64_t threads = std::int64_t{1} << (lanes + warps);
    for (std::int64_t i = 0; i < f->size().value(); i += 1 + i % 7) {
      std::int64_t index = 0, scale = 1;
      const std::int64_t parts[] = {i / threads, i % threads % (std::int64_t{1} << lanes),
                                    i % threads >> lanes};
      for (std::size_t d = 0; d < shape.size(); ++d) {
        std::int64_t x = 0;
        for (std::size_t in = 0; in < 3; ++in)
          for (std::size_t k = 0; k < l.inputs[in].bases.size(); ++k)
            if ((parts[in] >> k) & 1) x ^= l.inputs[in].bases[k][d];
        index += x * scale;
        scale *= shape[d];
      }
      REQUIRE((*f)(Int(i)) == Int(index));
    }
  }
  CHECK(rows == 450);
  CHECK(layouts == 400);
}

TEST_CASE("Triton's layouts stand where a layout may stand") {
  CHECK(value("#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = "
              "[1, 0]}>") == "((8,32),4):((128,1),32)");
  // Its own tile without a shape; an operation takes it.
  CHECK(value("size(#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], "
              "order = [1, 0]}>)") == "1024");
  CHECK(value("size(tensor<64x64xf16, #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, "
              "32, 8], "
              "isTransposed = true}>>)") == "4096");
  CHECK(value("!ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = "
              "[1, 0]}>, #smem, "
              "mutable>") == "Sw<4,2,4> o 0 o (64,64):(64,1)");
}

// offset -> offset + sum of (offset / interval) * padding, in row-major order.
TEST_CASE("padded shared memory by its definition") {
  struct Case {
    const char* text;
    std::vector<std::pair<std::int64_t, std::int64_t>> paddings;
  };
  const Case cases[] = {
      {"!ttg.memdesc<64x32xf16, #ttg.padded_shared<[512:+16] {order = [1, 0], shape = [64, 32]}>, #smem>",
       {{512, 16}}},
      {"#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [64, 32]}>", {{32, 4}}},
      {"#ttg.padded_shared<[16:+4, 128:+8] {order = [1, 0], shape = [64, 32]}>", {{16, 4}, {128, 8}}},
      {"#ttg.padded_shared<[1:+1] {order = [1, 0], shape = [64, 32]}>", {{1, 1}}},
      {"#ttg.padded_shared<[4096:+4] {order = [1, 0], shape = [64, 32]}>", {}},
      {"#ttg.padded_shared<[64:+8] {offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, "
       "0], [8, 0], "
       "[16, 0], [32, 0]], block = []}>",
       {{64, 8}}}};
  for (const Case& c : cases) {
    INFO(c.text);
    const auto f = as_function(parse_triton_layout(c.text));
    REQUIRE(f);
    for (std::int64_t row = 0; row < 64; ++row)
      for (std::int64_t column = 0; column < 32; ++column) {
        const std::int64_t offset = row * 32 + column;
        std::int64_t want = offset;
        for (const auto& [interval, padding] : c.paddings) want += offset / interval * padding;
        REQUIRE((*f)(IntTuple::of({Int(row), Int(column)})) == Int(want));
      }
  }
}

TEST_CASE("a rotating swizzle exchanges by the phase and by the block of rows") {
  const Value v = parse_triton_layout(
      "!ttg.memdesc<64x64xf16, #ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 8, "
      "order = [1, 0]}>, #smem>");
  for (std::int64_t row = 0; row < 64; ++row)
    for (std::int64_t column = 0; column < 64; ++column) {
      const std::int64_t phase = (row % 8) ^ (row / 8 % 8);
      const std::int64_t want = row * 64 + ((column / 4 ^ phase) * 4 + column % 4);
      REQUIRE(to_string(value_of(v, IntTuple::of({Int(row), Int(column)}))) == std::to_string(want));
    }
}

TEST_CASE("what is not read of Triton's says so") {
  CHECK(error("#blocked").find("is a name of another line") != std::string::npos);
  CHECK(error("#ttg.nvidia_mma<{versionMajor = 2}>").find("'nvidia_mma' is not read") != std::string::npos);
  CHECK(error("#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>")
            .find("needs its shape") != std::string::npos);
  CHECK(error("#ttg.blocked<{sizePerThread = [3, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = "
              "[1, 0]}>")
            .find("no power of two") != std::string::npos);
  CHECK(error("#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = "
              "[1, 1]}>")
            .find("no permutation") != std::string::npos);
  CHECK(error("#ttg.blocked<{threadsPerWarp = [8, 8]}>").find("'sizePerThread' is missing") !=
        std::string::npos);
  CHECK(error("tensor<60x64xf16, #ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1], "
              "threadsPerWarp = [64], "
              "warpsPerCTA = [1], order = [0]}>}>>")
            .find("no power of two") != std::string::npos);
  std::string deep;
  for (int k = 0; k < 4000; ++k) deep += "#ttg.slice<{dim = 0, parent = ";
  CHECK(error(deep).find("limit") != std::string::npos);
}

} // namespace triton_layout_test
