// V_SMFMAC against layouts that AMD's FPSan library (fpsan/amdgcn_smfmac.hpp) reports from probes of an MI350: which
// element of A meets which row of B, with labels of k of its own. The labels differ from the library's for the 8-bit
// types; the products may not.
#include "mfma_support.h"

#include <catch2/catch.hpp>

namespace mfma_sparse_silicon_test {

using namespace inlay::runtime;
using oracle::Problem;
using oracle::Registers;

namespace {

struct Place {
  int lane, element;
};

// How one shape stores packed element c of row i, the index field of group q of row i, and B[k][j].
struct Silicon {
  const char* name;
  Place (*a)(int i, int c);
  Place (*index)(int i, int q);
  Place (*b)(int k, int j);
};

Place b_of_16(int k, int j) { return {16 * (k % 32 / 8) + j, k / 32 * 8 + k % 8}; }
Place b_of_32(int k, int j) { return {32 * (k % 16 / 8) + j, k / 16 * 8 + k % 8}; }

const Silicon shapes[] = {
    {"v_smfmac_f32_16x16x32_f16",
     [](int i, int c) {
       return Place{16 * (c / 4) + i, c % 4};
     },
     [](int i, int q) {
       return Place{16 * (q / 2) + i, q % 2};
     },
     b_of_16},
    {"v_smfmac_f32_32x32x16_bf16",
     [](int i, int c) {
       return Place{32 * (c / 4) + i, c % 4};
     },
     [](int i, int q) {
       return Place{32 * (q / 2) + i, q % 2};
     },
     b_of_32},
    {"v_smfmac_f32_16x16x64_bf16",
     [](int i, int c) {
       return Place{16 * (c / 8) + i, c % 8};
     },
     [](int i, int q) {
       return Place{16 * (q / 4) + i, q % 4};
     },
     b_of_16},
    {"v_smfmac_f32_32x32x32_f16",
     [](int i, int c) {
       return Place{32 * (c / 8) + i, c % 8};
     },
     [](int i, int q) {
       return Place{32 * (q / 4) + i, q % 4};
     },
     b_of_32},
    {"v_smfmac_f32_16x16x64_fp8_bf8",
     [](int i, int c) {
       return Place{16 * (c % 16 / 4) + i, 4 * (c / 16) + c % 4};
     },
     [](int i, int q) {
       return Place{16 * (q % 8 / 2) + i, 2 * (q / 8) + q % 2};
     },
     b_of_16},
    {"v_smfmac_f32_32x32x32_bf8_fp8",
     [](int i, int c) {
       return Place{32 * (c % 8 / 4) + i, 4 * (c / 8) + c % 4};
     },
     [](int i, int q) {
       return Place{32 * (q % 4 / 2) + i, 2 * (q / 4) + q % 2};
     },
     b_of_32},
    {"v_smfmac_f32_16x16x128_fp8_fp8",
     [](int i, int c) {
       return Place{16 * (2 * (c / 32) + c / 8 % 2) + i, 4 * (2 * (c / 4 % 2) + c / 16 % 2) + c % 4};
     },
     [](int i, int q) {
       return Place{16 * (2 * (q / 16) + q / 4 % 2) + i, 2 * (q / 8 % 2) + 4 * (q % 4 / 2) + q % 2};
     },
     b_of_16},
    {"v_smfmac_f32_32x32x64_bf8_bf8",
     [](int i, int c) {
       return Place{32 * (c / 16) + i, 4 * (2 * (c / 4 % 2) + c / 8 % 2) + c % 4};
     },
     [](int i, int q) {
       return Place{32 * (q / 8) + i, q % 2 + 2 * (q / 4 % 2) + 4 * (q / 2 % 2)};
     },
     b_of_32}};

} // namespace

TEST_CASE("sparse products pair the elements that probes of an MI350 paired", "[mfma]") {
  std::mt19937 random(51);
  for (const auto& shape : shapes) {
    CAPTURE(shape.name);
    const MatrixOp& op = *find_matrix_op(shape.name);
    Problem p(op, {}, numerics::Fp8::ocp);
    for (auto* matrix : {&p.a, &p.b, &p.c}) {
      for (auto& x : *matrix) {
        x = static_cast<double>(static_cast<int>(random() % 9) - 4);
      }
    }
    for (auto& word : p.index) {
      word = static_cast<std::uint32_t>(random());
    }
    p.store();
    Registers d = p.c_registers;
    mfma(op, {.a = p.a_registers.data(), .b = p.b_registers.data(), .d = d.data(), .index = p.index.data()},
         {}, {.fp8 = numerics::Fp8::ocp});
    const auto got = p.numbers(d);
    for (int i = 0; i < op.m; ++i) {
      for (int j = 0; j < op.n; ++j) {
        double sum = p.c[p.at_c(0, i, j)];
        for (int q = 0; q < op.k / 4; ++q) {
          const Place field = shape.index(i, q);
          const std::uint32_t bits = p.index[static_cast<std::size_t>(field.lane)] >> 4 * field.element;
          for (int s = 0; s < 2; ++s) {
            const Place left = shape.a(i, 2 * q + s);
            const Place right = shape.b(4 * q + static_cast<int>(bits >> 2 * s & 3u), j);
            sum += oracle::decode(op.a, oracle::get(p.a_registers, left.lane, left.element, bits_of(op.a)),
                                  p.fp8) *
                   oracle::decode(op.b, oracle::get(p.b_registers, right.lane, right.element, bits_of(op.b)),
                                  p.fp8);
          }
        }
        REQUIRE(got[p.at_c(0, i, j)] == sum);
      }
    }
  }
}

} // namespace mfma_sparse_silicon_test
