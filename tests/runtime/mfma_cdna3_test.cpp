// The measured arithmetic of CDNA3, against the published rules written out in double arithmetic: truncation
// and floor of scaled significands as MMA-Sim's paper states them, where the library works on shifted
// integers.
#include "mfma_support.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

namespace mfma_cdna3_test {

using namespace inlay::runtime;
using oracle::Problem;
using oracle::Registers;

namespace {

struct Term {
  double significand; // in [1, 2) for normal numbers
  int exponent;
};

Term split(double x, int lowest) {
  if (x == 0) {
    return {0, -126};
  }
  int exponent = 0;
  double significand = std::frexp(x, &exponent) * 2;
  --exponent;
  if (exponent < lowest) {
    significand = std::ldexp(significand, exponent - lowest);
    exponent = lowest;
  }
  return {significand, exponent};
}

int lowest_exponent(Element e, numerics::Fp8 fp8) {
  const bool ocp = fp8 == numerics::Fp8::ocp;
  return e == Element::f16   ? -14
         : e == Element::fp8 ? (ocp ? -6 : -7)
         : e == Element::bf8 ? (ocp ? -14 : -15)
                             : -126;
}

Term fused(const std::vector<Term>& terms, std::size_t first, std::size_t stride) {
  int top = -100000;
  for (std::size_t n = first; n < terms.size(); n += stride) {
    top = std::max(top, terms[n].exponent);
  }
  double sum = 0;
  for (std::size_t n = first; n < terms.size(); n += stride) {
    sum += std::trunc(std::ldexp(terms[n].significand, 24 + terms[n].exponent - top)) * 0x1p-24;
  }
  return {sum, top};
}

double aligned(Term t, int top, int bits) {
  return std::ldexp(std::floor(std::ldexp(t.significand, bits + t.exponent - top)), -bits);
}

// d = the group's products added to c.
float group_sum(const std::vector<double>& a, const std::vector<double>& b, float c, int a_low, int b_low,
                bool fp8) {
  double plain = static_cast<double>(c);
  bool positive = false, negative = false;
  std::vector<Term> terms;
  for (std::size_t n = 0; n < a.size(); ++n) {
    plain += a[n] * b[n];
    positive |= a[n] * b[n] >= 0x1p128;
    negative |= a[n] * b[n] <= -0x1p128;
  }
  if (!std::isfinite(plain)) {
    return static_cast<float>(plain);
  }
  if (positive || negative) {
    return positive && negative ? NAN : positive ? INFINITY : -INFINITY;
  }
  for (std::size_t n = 0; n < a.size(); ++n) {
    const Term x = split(a[n], a_low), y = split(b[n], b_low);
    terms.push_back({x.significand * y.significand, x.exponent + y.exponent});
  }
  const Term acc = split(static_cast<double>(c), -126);
  Term sum{};
  if (fp8) {
    const Term even = fused(terms, 0, 2), odd = fused(terms, 1, 2);
    const int top = std::max(even.exponent, odd.exponent);
    sum = {aligned(even, top, 24) + aligned(odd, top, 24), top};
  } else {
    sum = fused(terms, 0, 1);
  }
  const int top = std::max(sum.exponent, acc.exponent);
  const double s = aligned(sum, top, 31);
  const double t = fp8 && acc.exponent < top - 25 ? 0.0 : aligned(acc, top, 24);
  return static_cast<float>(std::ldexp(s + t, top));
}

std::uint32_t canonical(float x) { return std::isnan(x) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(x); }

} // namespace

TEST_CASE("the cdna3 arithmetic follows the measured rules bit for bit", "[mfma]") {
  std::mt19937 random(21);
  for (const auto& op : matrix_ops()) {
    if (op.d != Element::f32 || op.a == Element::f32 || op.typed_by_modifiers) {
      continue;
    }
    for (const auto kind : oracle::kinds(op)) {
      for (int round = 0; round < 3; ++round) {
        Problem p(op, {}, kind);
        const bool bytes = bits_of(op.a) == 8;
        // Round 0: arbitrary bits. Round 1: exponents close together, where the order and the cuts matter
        // most. Round 2: many zeros and small numbers.
        for (auto* r : {&p.a_registers, &p.b_registers, &p.c_registers}) {
          for (auto& word : *r) {
            word = static_cast<std::uint32_t>(random());
            if (round == 1 && !bytes && r != &p.c_registers) {
              word = op.a == Element::xf32  ? (word & 0x83ffffffu) | 0x3c000000u
                     : op.a == Element::f16 ? (word & 0x8fff8fffu) | 0x30003000u
                                            : (word & 0x83ff83ffu) | 0x3c003c00u;
            }
            if (round != 0 && r == &p.c_registers) {
              word = (word & 0x87ffffffu) | 0x38000000u;
            }
            if (round == 2 && r != &p.c_registers) {
              word &= static_cast<std::uint32_t>(random()) & 0x8fff8fffu;
            }
          }
        }
        p.load();
        Registers d = p.c_registers;
        mfma(op,
             {.a = p.a_registers.data(),
              .b = p.b_registers.data(),
              .c = d.data(),
              .d = d.data(),
              .index = p.index.data()},
             {}, {.arithmetic = numerics::MatrixArithmetic::cdna3, .fp8 = kind});
        const auto size = static_cast<std::size_t>(std::min(bytes                   ? 16
                                                            : op.a == Element::xf32 ? 4
                                                                                    : 8,
                                                            p.packed));
        const auto value = [&](double x) {
          return op.a == Element::xf32 ? static_cast<double>(numerics::xf32(static_cast<float>(x))) : x;
        };
        CAPTURE(op.name, round);
        for (int lane = 0; lane < 64; ++lane) {
          for (int v = 0; v < p.values_of_d(); ++v) {
            const auto [block, i, j] = oracle::output_coordinate(op.n, false, lane, v);
            auto sum = static_cast<float>(p.c[p.at_c(block, i, j)]);
            std::vector<double> a, b;
            for (int e = 0; e < p.packed; ++e) {
              a.push_back(value(p.a[p.at_a(block, i, e)]));
              b.push_back(value(p.b[p.at_b(block, p.k_of(i, e), j)]));
              if (a.size() == size) {
                sum = group_sum(a, b, sum, lowest_exponent(op.a, kind), lowest_exponent(op.b, kind), bytes);
                a.clear();
                b.clear();
              }
            }
            REQUIRE(d[static_cast<std::size_t>(v * 64 + lane)] == canonical(sum));
          }
        }
      }
    }
  }
}

TEST_CASE("one product shows the cut: what lies 25 bits below the largest of a group is lost on CDNA3",
          "[mfma]") {
  const MatrixOp& op = *find_matrix_op("v_mfma_f32_16x16x16_f16");
  Problem p(op, {}, numerics::Fp8::fnuz);
  p.a[p.at_a(0, 0, 0)] = 2048.0;
  p.b[p.at_b(0, 0, 0)] = 2048.0; // 2^22
  p.a[p.at_a(0, 0, 1)] = 0x1p-4;
  p.b[p.at_b(0, 1, 0)] = 1.0; // 2^-4, 26 binary places lower: truncated by the alignment
  p.a[p.at_a(0, 0, 2)] = -2048.0;
  p.b[p.at_b(0, 2, 0)] = 2048.0;
  p.store();
  for (const auto arithmetic : {numerics::MatrixArithmetic::sequential, numerics::MatrixArithmetic::cdna3}) {
    Registers d = p.c_registers;
    mfma(op, {.a = p.a_registers.data(), .b = p.b_registers.data(), .c = d.data(), .d = d.data()}, {},
         {.arithmetic = arithmetic});
    // In order the small product survives only what 24 bits of 2^22 keep of it: nothing either; a product of
    // the other group of eight survives both.
    CHECK(p.numbers(d)[0] == 0.0);
  }
  p.a[p.at_a(0, 0, 1)] = 0x1p-1;
  p.store();
  Registers exact = p.c_registers, ordered = p.c_registers;
  mfma(op, {.a = p.a_registers.data(), .b = p.b_registers.data(), .c = exact.data(), .d = exact.data()}, {},
       {.arithmetic = numerics::MatrixArithmetic::cdna3});
  mfma(op, {.a = p.a_registers.data(), .b = p.b_registers.data(), .c = ordered.data(), .d = ordered.data()},
       {}, {});
  CHECK(p.numbers(exact)[0] == 0.5);
  CHECK(p.numbers(ordered)[0] == 0.5);
  // Four small products: in order each is rounded away, in a group they are kept to 2^-24 of the largest.
  for (int k = 3; k < 7; ++k) {
    p.a[p.at_a(0, 0, k)] = 0x1p-2;
    p.b[p.at_b(0, k, 0)] = 1.0;
  }
  p.a[p.at_a(0, 0, 1)] = 0.0;
  p.a[p.at_a(0, 0, 2)] = 0.0;
  p.a[p.at_a(0, 0, 7)] = -2048.0;
  p.b[p.at_b(0, 7, 0)] = 2048.0;
  p.store();
  exact = p.c_registers;
  ordered = p.c_registers;
  mfma(op, {.a = p.a_registers.data(), .b = p.b_registers.data(), .c = exact.data(), .d = exact.data()}, {},
       {.arithmetic = numerics::MatrixArithmetic::cdna3});
  mfma(op, {.a = p.a_registers.data(), .b = p.b_registers.data(), .c = ordered.data(), .d = ordered.data()},
       {}, {});
  CHECK(p.numbers(exact)[0] == 1.0);
  CHECK(p.numbers(ordered)[0] == 0.0);
}

} // namespace mfma_cdna3_test
