// The sums of the matrix cores of CDNA3 as MMA-Sim measured them; see numerics/arithmetic.h. In integers: a
// product is (significand, exponent), an aligned sum a 64-bit integer with a fixed number of fraction bits.
#include "emulator/mfma_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace inlay::runtime::detail {
namespace {

struct InputFacts {
  int fraction_bits;
  int lowest; ///< exponent of the subnormals
};

InputFacts input_facts(Element e, numerics::Fp8 fp8) {
  const bool ocp = fp8 == numerics::Fp8::ocp;
  switch (e) {
  case Element::f16: return {10, -14};
  case Element::bf16: return {7, -126};
  case Element::fp8: return {3, ocp ? -6 : -7};
  case Element::bf8: return {2, ocp ? -14 : -15};
  default: return {10, -126}; // xf32
  }
}

struct Scaled {
  std::int64_t significand; ///< signed, with a number of fraction bits that the context knows
  int exponent;
};

// x as significand * 2^(exponent - fraction_bits); subnormals keep the lowest exponent, zero has -126.
Scaled decompose(double x, int fraction_bits, int lowest) {
  if (x == 0) {
    return {0, -126};
  }
  const int exponent = std::max(std::ilogb(x), lowest);
  return {static_cast<std::int64_t>(std::ldexp(x, fraction_bits - exponent)), exponent};
}

std::int64_t truncated(std::int64_t x, int shift) {
  const std::int64_t magnitude = std::abs(x) >> std::min(shift, 63);
  return x < 0 ? -magnitude : magnitude;
}

std::int64_t floored(std::int64_t x, int shift) { return x >> std::min(shift, 63); }

constexpr int kept = 24; // fraction bits of an aligned product

// The products of every `stride`-th element from `first`, cut to 24 fraction bits below their largest
// exponent.
Scaled aligned_sum(const Scaled* products, int count, int first, int stride, int fraction_bits) {
  int largest = std::numeric_limits<int>::min();
  for (int n = first; n < count; n += stride) {
    largest = std::max(largest, products[n].exponent);
  }
  std::int64_t sum = 0;
  for (int n = first; n < count; n += stride) {
    sum += truncated(products[n].significand * (std::int64_t{1} << (kept - fraction_bits)),
                     largest - products[n].exponent);
  }
  return {sum, largest};
}

// The aligned sum (24 fraction bits) and the accumulator, both cut to a common exponent, rounded to nearest
// even.
float accumulate(Scaled sum, float accumulator, bool drops_small) {
  const Scaled c = decompose(static_cast<double>(accumulator), 23, -126);
  const int top = std::max(sum.exponent, c.exponent);
  const std::int64_t s = floored(sum.significand * (1 << (31 - kept)), top - sum.exponent);
  std::int64_t t = floored(c.significand * 2, top - c.exponent);
  if (drops_small && c.exponent < top - 25) {
    t = 0;
  }
  return static_cast<float>(std::ldexp(static_cast<double>(s + t * (1 << 7)), top - 31));
}

struct Group {
  int size = 0;
  double a[16], b[16];
};

float multiply_group(const Group& g, float c, InputFacts a, InputFacts b, bool fp8) {
  double plain = 0;
  double infinite = 0;
  Scaled products[16];
  for (int n = 0; n < g.size; ++n) {
    const double product = g.a[n] * g.b[n];
    plain += product;
    infinite +=
        std::fabs(product) >= 0x1p128 ? std::copysign(std::numeric_limits<double>::infinity(), product) : 0.0;
    if (std::isfinite(product)) {
      const Scaled x = decompose(g.a[n], a.fraction_bits, a.lowest);
      const Scaled y = decompose(g.b[n], b.fraction_bits, b.lowest);
      products[n] = {x.significand * y.significand, x.exponent + y.exponent};
    }
  }
  plain += static_cast<double>(c);
  if (!std::isfinite(plain)) {
    return static_cast<float>(plain);
  }
  if (infinite != 0) { // a product beyond the range of float counts as infinite
    return static_cast<float>(infinite);
  }
  const int fraction_bits = a.fraction_bits + b.fraction_bits;
  if (!fp8) {
    return accumulate(aligned_sum(products, g.size, 0, 1, fraction_bits), c, false);
  }
  const Scaled even = aligned_sum(products, g.size, 0, 2, fraction_bits);
  const Scaled odd = aligned_sum(products, g.size, 1, 2, fraction_bits);
  const int top = std::max(even.exponent, odd.exponent);
  const std::int64_t sum =
      floored(even.significand, top - even.exponent) + floored(odd.significand, top - odd.exponent);
  return accumulate({sum, top}, c, true);
}

} // namespace

void multiply_cdna3(const MatrixPlan& plan, Element a_type, Element b_type, numerics::Fp8 fp8, int packed,
                    const std::uint16_t* rows, const float* a, const float* b, const float* c, float* d) {
  const bool is_fp8 = bits_of(a_type) == 8;
  const int depth = rows == nullptr ? plan.k : packed;
  const int size = std::min(is_fp8 ? 16 : a_type == Element::xf32 ? 4 : 8, depth);
  const InputFacts a_facts = input_facts(a_type, fp8);
  const InputFacts b_facts = input_facts(b_type, fp8);
  for (int block = 0; block < plan.blocks; ++block) {
    for (int i = 0; i < plan.m; ++i) {
      for (int j = 0; j < plan.n; ++j) {
        // The blocks of 4x4 share registers: their distance in D is that of their lanes.
        const int at = plan.d[i] + (plan.n == 4 ? block * 4 : block * plan.d_block) + j;
        float sum = c[at];
        for (int k = 0; k < depth; k += size) {
          Group group;
          group.size = std::min(size, depth - k);
          for (int n = 0; n < group.size; ++n) {
            const int line = rows == nullptr ? plan.b[k + n] + block * plan.n : rows[(k + n) * plan.m + i];
            group.a[n] = static_cast<double>(a[plan.a[k + n] + block * plan.m + i]);
            group.b[n] = static_cast<double>(b[line + j]);
          }
          sum = multiply_group(group, sum, a_facts, b_facts, is_fp8);
        }
        d[at] = std::isnan(sum) ? __builtin_nanf("") : sum;
      }
    }
  }
}

} // namespace inlay::runtime::detail
