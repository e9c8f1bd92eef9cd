// The table of instructions and the maps of their operands, against data from elsewhere: LLVM's assembler,
// AMD's matrix calculator, the thread-value layouts that CuTe-style libraries publish.
#include "emulator/mfma_layout.h"

#include "emulator/mfma.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace mfma_layout_test {

using namespace inlay::runtime;

namespace {

std::ifstream data(const std::string& name) {
  std::ifstream in(std::string(INLAY_TESTS_DIR) + "/runtime/data/" + name);
  REQUIRE(in);
  return in;
}

} // namespace

TEST_CASE("the table has the instructions, architectures and register counts of LLVM's assembler", "[mfma]") {
  std::map<std::string, std::set<std::string>> expected, found;
  auto in = data("mfma_llvm22.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::istringstream fields(line);
    std::string arch, name;
    int a = 0, b = 0, d = 0;
    fields >> arch >> name >> a >> b >> d;
    CAPTURE(line);
    const MatrixOp* op = find_matrix_op(name);
    REQUIRE(op != nullptr);
    REQUIRE((op->on(inlay::machine::Target::named(arch).arch)));
    expected[arch].insert(name);
    // Of f8f6f4, the modifiers that give these registers: 8 fp8, 6 fp6, 4 fp4.
    const auto code = [](int registers) {
      return static_cast<std::uint8_t>(registers == 8 ? 0 : registers == 6 ? 2 : 4);
    };
    const MatrixModifiers modifiers =
        op->typed_by_modifiers ? MatrixModifiers{.cbsz = code(a), .blgp = code(b)} : MatrixModifiers{};
    const MatrixRegisters r = registers_of(*op, modifiers);
    CHECK(r.a == a);
    CHECK(r.b == b);
    CHECK(r.d == d);
  }
  for (const auto& op : matrix_ops()) {
    for (const inlay::machine::Target& t : inlay::machine::targets)
      if (op.on(t.arch)) found[std::string(t.name)].insert(std::string(op.name));
  }
  CHECK(found == expected);
  CHECK(find_matrix_op("v_mfma_f32_16x16x16_f16_e64") == find_matrix_op("v_mfma_f32_16x16x16_f16"));
  CHECK(find_matrix_op("v_mfma_f32_16x16x17_f16") == nullptr);
}

TEST_CASE("places agree with the AMD Matrix Instruction Calculator", "[mfma]") {
  auto in = data("mfma_calculator.txt");
  int checked = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::istringstream fields(line);
    std::string name;
    char matrix = 0;
    int block = 0, i = 0, j = 0, k = 0, cbsz = 0, abid = 0, blgp = 0;
    MatrixPlace want{};
    fields >> name >> matrix >> block >> i >> j >> k >> cbsz >> abid >> blgp >> want.reg >> want.bit >>
        want.lane;
    CAPTURE(line);
    const MatrixOp* op = find_matrix_op(name);
    REQUIRE(op != nullptr);
    const int depth = op->sparse ? op->k / 2 : op->k;
    MatrixPlace got{};
    switch (matrix) {
    case 'a':
      // The calculator places a sparse pair as a whole: its first element is meant.
      got = input_place(op->m, depth, op->blocks, bits_of(op->a),
                        broadcast_block(block, op->sparse ? 0 : cbsz, abid), i, op->sparse ? k / 4 * 2 : k);
      break;
    case 'b':
      got = input_place(op->n, op->k, op->blocks, bits_of(op->b), block, j, k);
      got.lane = permuted_lane(got.lane, blgp);
      break;
    case 'k': {
      const int each = depth * op->m / 64;
      got = input_place(op->m, depth, op->blocks, bits_of(op->a), block, i, k / 4 * 2);
      got = {0, index_bit(each, k / 4 * 2 % each, cbsz, abid), got.lane};
      break;
    }
    default: got = output_place(op->m, op->n, bits_of(op->d), block, i, j);
    }
    CHECK(got == want);
    ++checked;
  }
  CHECK(checked > 2000);
}

TEST_CASE("every place of every operand is taken exactly once", "[mfma]") {
  for (const auto& op : matrix_ops()) {
    CAPTURE(op.name);
    const int depth = op.sparse ? op.k / 2 : op.k;
    for (const int width : {0, 2, 4}) {
      const auto code = static_cast<std::uint8_t>(width);
      const MatrixModifiers modifiers{.cbsz = code, .blgp = code};
      const MatrixRegisters r = registers_of(op, modifiers);
      std::set<std::tuple<int, int, int>> a, b, d;
      for (int block = 0; block < op.blocks; ++block) {
        for (int i = 0; i < op.m; ++i) {
          for (int k = 0; k < depth; ++k) {
            const auto p =
                input_place(op.m, depth, op.blocks, bits_of(element_a(op, modifiers)), block, i, k);
            REQUIRE((p.reg < r.a && p.lane < 64 && a.insert({p.reg, p.bit, p.lane}).second));
          }
          for (int k = 0; k < op.k; ++k) {
            const auto p = input_place(op.n, op.k, op.blocks, bits_of(element_b(op, modifiers)), block, i, k);
            REQUIRE((p.reg < r.b && p.lane < 64 && b.insert({p.reg, p.bit, p.lane}).second));
          }
          for (int j = 0; j < op.n; ++j) {
            const auto p = output_place(op.m, op.n, bits_of(op.d), block, i, j);
            REQUIRE((p.reg < r.d && p.lane < 64 && d.insert({p.reg, p.bit, p.lane}).second));
          }
        }
      }
    }
  }
}

TEST_CASE("single-block forms have the thread-value layouts of CuTe-style atoms", "[mfma]") {
  // A and B: ((MN,G),V):((1,MN V),MN), that is lane l, value v: row l % MN, k = (l / MN) V + v.
  // C: ((N,64/N),(4,M/4/(64/N))):((M,4),(1,4 64/N)), that is column l % N, row 4 (l / N) + v % 4 + 4 (64/N)
  // (v / 4).
  struct Atom {
    const char* name;
    int values;
  };
  for (const auto& [name, values] :
       {Atom{"v_mfma_f32_16x16x4_f32", 1}, Atom{"v_mfma_f32_32x32x2_f32", 1},
        Atom{"v_mfma_f32_16x16x16_f16", 4}, Atom{"v_mfma_f32_32x32x8_bf16", 4},
        Atom{"v_mfma_f32_16x16x32_fp8_fp8", 8}, Atom{"v_mfma_i32_32x32x16_i8", 8},
        Atom{"v_mfma_f32_16x16x32_f16", 8}, Atom{"v_mfma_f32_32x32x16_bf16", 8}}) {
    const MatrixOp* op = find_matrix_op(name);
    REQUIRE(op != nullptr);
    CAPTURE(name);
    const int bits = bits_of(op->a);
    for (int lane = 0; lane < 64; ++lane) {
      for (int v = 0; v < values; ++v) {
        const MatrixPlace want{v * bits / 32, v * bits % 32, lane};
        REQUIRE(input_place(op->m, op->k, 1, bits, 0, lane % op->m, lane / op->m * values + v) == want);
      }
      const int across = 64 / op->n;
      for (int v = 0; v < op->m * op->n / 64; ++v) {
        const int row = 4 * (lane / op->n) + v % 4 + 4 * across * (v / 4);
        REQUIRE(output_place(op->m, op->n, 32, 0, row, lane % op->n) == MatrixPlace{v, 0, lane});
      }
    }
  }
}

} // namespace mfma_layout_test
