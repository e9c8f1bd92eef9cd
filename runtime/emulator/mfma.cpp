// One execution: permute what the modifiers permute, unpack, multiply by the chosen arithmetic.
#include "emulator/mfma.h"

#include "emulator/mfma_kernels.h"
#include "emulator/mfma_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace inlay::runtime {
namespace detail {
namespace {

// The widest D: 32x32 in two blocks.
constexpr int most_d = 32;

// Rounding to nearest with subnormals for the time of one instruction; the emulator may run VALU code with
// others.
class NearestRounding {
public:
#ifdef __SSE__
  NearestRounding() : before_(_mm_getcsr()) {
    if ((before_ & controls) != 0) {
      _mm_setcsr(before_ & ~controls);
    }
  }
  ~NearestRounding() {
    if ((before_ & controls) != 0) {
      _mm_setcsr(before_);
    }
  }

private:
  static constexpr unsigned controls = 0xe040; // rounding 14:13, flush to zero 15, denormals are zero 6
  unsigned before_;
#else
  NearestRounding() = default;
  ~NearestRounding() = default;

public:
#endif
  NearestRounding(const NearestRounding&) = delete;
  NearestRounding& operator=(const NearestRounding&) = delete;
};

bool chunked(Element e, int per_lane) {
  return bits_of(e) >= 8 && bits_of(e) <= 16 && per_lane * bits_of(e) > 128;
}

// Plans are computed once an instruction; the types of f8f6f4 matter only by whether they come in chunks.
const MatrixPlan& plan_of(const MatrixOp& op, Element a, Element b) {
  static const auto plans = [] {
    std::vector<std::array<MatrixPlan, 4>> all(matrix_ops().size());
    for (std::size_t n = 0; n < all.size(); ++n) {
      const MatrixOp& row = matrix_ops()[n];
      for (std::size_t variant = 0; variant < (row.typed_by_modifiers ? 4u : 1u); ++variant) {
        all[n][variant] = make_plan(row, row.typed_by_modifiers && (variant & 2u) != 0 ? Element::fp4 : row.a,
                                    row.typed_by_modifiers && (variant & 1u) != 0 ? Element::fp4 : row.b);
      }
    }
    return all;
  }();
  const auto n = static_cast<std::size_t>(&op - matrix_ops().data());
  const std::size_t variant = op.typed_by_modifiers ? (chunked(a, op.m * op.k / 64) ? 0u : 2u) +
                                                          (chunked(b, op.n * op.k / 64) ? 0u : 1u)
                                                    : 0u;
  return plans[n][variant];
}

bool overlaps(const std::uint32_t* x, int x_words, const std::uint32_t* y, int y_words) {
  return std::less<>()(x, y + y_words) && std::less<>()(y, x + x_words);
}

// A, B and C as one execution reads them: lanes permuted, inline constants spread, nothing that D overwrites.
struct Inputs {
  Inputs(const MatrixOp& op, const MatrixOperands& o, const MatrixModifiers& m,
         const MatrixRegisters& registers)
      : a(o.a), b(o.b), c(o.c) {
    if (op.broadcasts_a && m.cbsz != 0) {
      const int cbsz = std::min<int>(m.cbsz, std::countr_zero(static_cast<unsigned>(op.blocks)));
      for (int r = 0; r < registers.a; ++r) {
        for (int lane = 0; lane < lanes; ++lane) {
          const int block = broadcast_block(lane / op.m % op.blocks, cbsz, m.abid);
          const int from = lane / (op.m * op.blocks) * (op.m * op.blocks) + block * op.m + lane % op.m;
          a_copy[r * lanes + lane] = o.a[r * lanes + from];
        }
      }
      a = a_copy;
    }
    if (op.permutes_b && m.blgp != 0) {
      for (int r = 0; r < registers.b; ++r) {
        for (int lane = 0; lane < lanes; ++lane) {
          b_copy[r * lanes + lane] = o.b[r * lanes + permuted_lane(lane, m.blgp & 7)];
        }
      }
      b = b_copy;
    }
    const int d_words = registers.d * lanes;
    if (op.sparse) {
      c = o.d;
    } else if (o.c == nullptr) {
      const bool wide = bits_of(op.d) == 64;
      for (int r = 0; r < registers.d; ++r) {
        std::fill_n(c_copy + r * lanes, lanes,
                    static_cast<std::uint32_t>(wide && r % 2 == 1 ? o.constant >> 32 : o.constant));
      }
      c = c_copy;
    } else if (o.c != o.d && overlaps(o.c, d_words, o.d, d_words)) {
      std::copy_n(o.c, d_words, c_copy);
      c = c_copy;
    }
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  const std::uint32_t* a;
  const std::uint32_t* b;
  const std::uint32_t* c;

private:
  std::uint32_t a_copy[2 * lanes];
  std::uint32_t b_copy[2 * lanes];
  std::uint32_t c_copy[most_d * lanes];
};

// ---- f64
// ------------------------------------------------------------------------------------------------------------

double double_at(const std::uint32_t* registers, const MatrixPlace& p) {
  const std::uint64_t low = registers[p.reg * lanes + p.lane];
  const std::uint64_t high = registers[(p.reg + 1) * lanes + p.lane];
  return std::bit_cast<double>(high << 32 | low);
}

void multiply_doubles(const MatrixKernels& kernels, const MatrixOp& op, const Inputs& in, std::uint32_t* d,
                      unsigned signs) {
  double a[16 * 4], b[4 * 16], sums[4][16 * 16];
  const auto signed_value = [&](double x, unsigned bit) { return (signs & bit) != 0 ? -x : x; };
  for (int block = 0; block < op.blocks; ++block) {
    for (int k = 0; k < op.k; ++k) {
      for (int i = 0; i < op.m; ++i) {
        a[i * op.k + k] =
            signed_value(double_at(in.a, input_place(op.m, op.k, op.blocks, 64, block, i, k)), 1);
      }
      for (int j = 0; j < op.n; ++j) {
        b[k * op.n + j] =
            signed_value(double_at(in.b, input_place(op.n, op.k, op.blocks, 64, block, j, k)), 2);
      }
    }
    for (int i = 0; i < op.m; ++i) {
      for (int j = 0; j < op.n; ++j) {
        sums[block][i * op.n + j] =
            signed_value(double_at(in.c, output_place(op.m, op.n, 64, block, i, j)), 4);
      }
    }
    kernels.multiply_f64(op.m, op.n, op.k, a, b, sums[block]);
  }
  for (int block = 0; block < op.blocks; ++block) {
    for (int i = 0; i < op.m; ++i) {
      for (int j = 0; j < op.n; ++j) {
        const double x = sums[block][i * op.n + j];
        const std::uint64_t bits = std::isnan(x) ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(x);
        const MatrixPlace p = output_place(op.m, op.n, 64, block, i, j);
        d[p.reg * lanes + p.lane] = static_cast<std::uint32_t>(bits);
        d[(p.reg + 1) * lanes + p.lane] = static_cast<std::uint32_t>(bits >> 32);
      }
    }
  }
}

// ---- scales
// ---------------------------------------------------------------------------------------------------------

// Exponents of the scales of one operand by [element][lane] of its unpacked form, 128 for NaN.
struct Scales {
  Scales(const std::uint32_t* registers, int byte, int rows, int depth, bool in_chunks) {
    const int groups = 64 / rows;
    const int per_lane = depth / groups;
    for (int lane = 0; lane < lanes; ++lane) {
      for (int e = 0; e < per_lane; ++e) {
        const int group = lane / rows;
        const int k = in_chunks ? e / 16 * 16 * groups + group * 16 + e % 16 : group * per_lane + e;
        const int from = k / 32 * rows + lane % rows;
        const int code =
            registers == nullptr ? 127 : static_cast<int>(registers[from] >> 8 * (byte & 3) & 0xffu);
        exponents[e * lanes + lane] = static_cast<std::int16_t>(code == 255 ? 128 : code - 127);
        furthest = std::max(furthest, code == 255 ? 0 : std::abs(code - 127));
      }
    }
  }
  void apply(float* values) const {
    for (int n = 0; n < most_elements * lanes; ++n) {
      values[n] *= exponents[n] == 128 ? NAN : std::ldexp(1.0f, exponents[n]);
    }
  }
  std::int16_t exponents[most_elements * lanes] = {};
  int furthest = 0;
};

// acc + p rounded once to float: the double sum is made odd when inexact, so that the second rounding cannot
// err.
float add_once(float acc, double p) {
  const double x = static_cast<double>(acc);
  const double sum = x + p;
  if (!std::isfinite(sum)) {
    return static_cast<float>(sum);
  }
  const double back = sum - x;
  const double error = (x - (sum - back)) + (p - back);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0 && (bits & 1u) == 0) {
    bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
  }
  return static_cast<float>(std::bit_cast<double>(bits));
}

// Scales so large or small that scaled elements leave the range of float.
void multiply_scaled_wide(const MatrixPlan& plan, const float* a, const Scales& sa, const float* b,
                          const Scales& sb, const float* c, float* d) {
  const auto scaled = [](const float* values, const Scales& s, int at) {
    return s.exponents[at] == 128 ? NAN : std::ldexp(static_cast<double>(values[at]), s.exponents[at]);
  };
  for (int i = 0; i < plan.m; ++i) {
    for (int j = 0; j < plan.n; ++j) {
      float sum = c[plan.d[i] + j];
      for (int k = 0; k < plan.k; ++k) {
        sum = add_once(sum, scaled(a, sa, plan.a[k] + i) * scaled(b, sb, plan.b[k] + j));
      }
      d[plan.d[i] + j] = std::isnan(sum) ? __builtin_nanf("") : sum;
    }
  }
}

} // namespace

MatrixPlan make_plan(const MatrixOp& op, Element a, Element b) {
  MatrixPlan plan{};
  plan.m = op.m;
  plan.n = op.n;
  plan.k = op.k;
  plan.blocks = op.blocks;
  // Offsets count elements of the unpacked [element][lane] arrays.
  const auto offset = [](const MatrixPlace& p, int bits) {
    return static_cast<std::uint16_t>((p.reg * 32 + p.bit) / bits * lanes + p.lane);
  };
  const int packed = op.sparse ? op.k / 2 : op.k;
  for (int k = 0; k < packed; ++k) {
    plan.a[k] = offset(input_place(op.m, packed, op.blocks, bits_of(a), 0, 0, k), bits_of(a));
  }
  for (int k = 0; k < op.k; ++k) {
    plan.b[k] = offset(input_place(op.n, op.k, op.blocks, bits_of(b), 0, 0, k), bits_of(b));
  }
  for (int i = 0; i < op.m; ++i) {
    plan.d[i] = offset(output_place(op.m, op.n, 32, 0, i, 0), 32);
  }
  plan.d_block = static_cast<std::uint16_t>(op.m * op.n);
  return plan;
}

void mfma_on(const MatrixKernels& kernels, const MatrixOp& op, const MatrixForm& form,
             const MatrixOperands& operands, const MatrixModifiers& modifiers, const MatrixOptions& options) {
  const NearestRounding guard;
  const MatrixRegisters& registers = form.registers;
  const Element a_type = form.a, b_type = form.b;
  alignas(64) float a[most_elements * lanes];
  alignas(64) float b[most_elements * lanes];
  const auto unpack = [&](const std::uint32_t* a_registers, const std::uint32_t* b_registers) {
    kernels.unpack({a_type, options.fp8, registers.a * 32 / bits_of(a_type)}, a_registers, a);
    kernels.unpack({b_type, options.fp8, registers.b * 32 / bits_of(b_type)}, b_registers, b);
  };
  const bool measured =
      a_type != Element::f32 && !op.typed_by_modifiers; // what MatrixArithmetic::cdna3 speaks of
  const bool as_measured = options.arithmetic == numerics::MatrixArithmetic::cdna3 && measured;
  const int d_words = registers.d * lanes;
  if (form.plain && !as_measured && operands.c != nullptr &&
      (operands.c == operands.d || !overlaps(operands.c, d_words, operands.d, d_words))) { // as a rule
    const auto* c = reinterpret_cast<const float*>(operands.c);
    auto* d = reinterpret_cast<float*>(operands.d);
    const bool brain = a_type == Element::bf16;
    if (form.quads && kernels.multiply_quads != nullptr)
      return kernels.multiply_quads(brain, operands.a, operands.b, c, d);
    unpack(operands.a, operands.b);
    return kernels.multiply(*form.plan, a, b, c, d);
  }
  const Inputs in(op, operands, modifiers, registers);
  if (op.d == Element::f64) {
    return multiply_doubles(kernels, op, in, operands.d, op.negates ? modifiers.blgp : 0u);
  }
  const MatrixPlan& plan = *form.plan;
  if (op.d == Element::i32 && !op.sparse) {
    return kernels.multiply_i8(plan, in.a, in.b, in.c, operands.d);
  }

  const int a_count = registers.a * 32 / bits_of(a_type);
  const int b_count = registers.b * 32 / bits_of(b_type);
  unpack(in.a, in.b);
  const auto* c = reinterpret_cast<const float*>(in.c);
  auto* d = reinterpret_cast<float*>(operands.d);

  // Where each packed element of sparse A finds its row of B, [element][row of A].
  std::uint16_t rows[most_rows * most_k / 2];
  const int packed = op.k / 2;
  if (op.sparse) {
    const int per_lane = a_count;
    for (int e = 0; e < packed; ++e) {
      const int bit = index_bit(per_lane, e % per_lane, modifiers.cbsz, modifiers.abid);
      const std::uint32_t* const index = operands.index + e / per_lane * op.m;
      // Four k side by side are four elements of the same lanes.
      const std::uint16_t* const four = plan.b + e / 2 * 4;
      const auto step = static_cast<std::uint32_t>(four[1] - four[0]);
      for (int i = 0; i < op.m; ++i)
        rows[e * op.m + i] = static_cast<std::uint16_t>(four[0] + (index[i] >> bit & 3u) * step);
    }
  }
  if (op.d == Element::i32) { // sparse i8: products are at most 2^14, sums of 64 of them exact in float
    alignas(64) float sums[16 * lanes] = {};
    kernels.multiply_sparse(plan, packed, rows, a, b, sums);
    for (int n = 0; n < registers.d * lanes; ++n) {
      operands.d[n] += static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[n]));
    }
    return;
  }
  if (as_measured) {
    return multiply_cdna3(plan, a_type, b_type, options.fp8, packed, op.sparse ? rows : nullptr, a, b, c, d);
  }
  if (op.sparse) {
    return kernels.multiply_sparse(plan, packed, rows, a, b, d);
  }
  if (op.scaled && (operands.scale_a != nullptr || operands.scale_b != nullptr)) {
    const Scales sa(operands.scale_a, modifiers.scale_byte_a, op.m, op.k, chunked(a_type, a_count));
    const Scales sb(operands.scale_b, modifiers.scale_byte_b, op.n, op.k, chunked(b_type, b_count));
    if (sa.furthest > 60 || sb.furthest > 60) {
      return multiply_scaled_wide(plan, a, sa, b, sb, c, d);
    }
    sa.apply(a);
    sb.apply(b);
  }
  kernels.multiply(plan, a, b, c, d);
}

} // namespace detail

MatrixForm form_of(const MatrixOp& op, const MatrixModifiers& modifiers) {
  MatrixForm form{registers_of(op, modifiers), element_a(op, modifiers), element_b(op, modifiers)};
  if (op.d != Element::f64) {
    form.plan = &detail::plan_of(op, form.a, form.b);
  }
  form.plain = op.d == Element::f32 && !op.sparse && !op.scaled &&
               !(op.broadcasts_a && modifiers.cbsz != 0) && !(op.permutes_b && modifiers.blgp != 0);
  form.quads =
      op.n == 4 && op.k == 4 && form.a == form.b && (form.a == Element::f16 || form.a == Element::bf16);
  return form;
}

void mfma(const MatrixOp& op, const MatrixForm& form, const MatrixOperands& operands,
          const MatrixModifiers& modifiers, const MatrixOptions& options) {
  detail::mfma_on(detail::matrix_kernels(), op, form, operands, modifiers, options);
}

} // namespace inlay::runtime
