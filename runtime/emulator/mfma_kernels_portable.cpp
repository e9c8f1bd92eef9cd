// For every processor, and the choice among the three. The fused multiply-add is the C library's where the
// compiler's target has none: slow, but the same bits.
#include "emulator/mfma_kernels.h"

#include <cmath>

namespace inlay::runtime::detail {
namespace {

struct Vector {
  static constexpr int width = 8;
  float v[8];
  static Vector load(const float* p) {
    Vector r;
    for (int n = 0; n < width; ++n) {
      r.v[n] = p[n];
    }
    return r;
  }
  static Vector splat(float x) { return {{x, x, x, x, x, x, x, x}}; }
  static Vector fma(const Vector& a, const Vector& b, const Vector& c) {
    Vector r;
    for (int n = 0; n < width; ++n) {
      r.v[n] = std::fma(a.v[n], b.v[n], c.v[n]);
    }
    return r;
  }
  // NaN is stored as the one quiet NaN: which payload a host's multiply-add passes on depends on its operand
  // order.
  void store(float* p) const {
    for (int n = 0; n < width; ++n) {
      p[n] = v[n] == v[n] ? v[n] : __builtin_nanf("");
    }
  }
  template <int I>
  [[nodiscard]] Vector quad() const {
    return {{v[I], v[I], v[I], v[I], v[4 + I], v[4 + I], v[4 + I], v[4 + I]}};
  }
};

struct Words {
  static constexpr int width = 8;
  std::uint32_t v[8];
  static Words load(const std::uint32_t* p) {
    Words r;
    for (int n = 0; n < width; ++n) {
      r.v[n] = p[n];
    }
    return r;
  }
  static Words splat(std::uint32_t x) { return {{x, x, x, x, x, x, x, x}}; }
  static Words multiply_pairs(const Words& a, const Words& b, const Words& c) {
    Words r;
    for (int n = 0; n < width; ++n) {
      const auto low = [](std::uint32_t x) {
        return static_cast<std::int32_t>(static_cast<std::int16_t>(x & 0xffffu));
      };
      r.v[n] = c.v[n] + static_cast<std::uint32_t>(low(a.v[n]) * low(b.v[n])) +
               static_cast<std::uint32_t>(low(a.v[n] >> 16) * low(b.v[n] >> 16));
    }
    return r;
  }
  template <int I>
  [[nodiscard]] Words quad() const {
    return {{v[I], v[I], v[I], v[I], v[4 + I], v[4 + I], v[4 + I], v[4 + I]}};
  }
  void store(std::uint32_t* p) const {
    for (int n = 0; n < width; ++n) {
      p[n] = v[n];
    }
  }
};

#include "emulator/mfma_kernels.ipp"

} // namespace

const MatrixKernels& matrix_kernels_portable() {
  static constexpr MatrixKernels kernels = {"portable",   unpack,          multiply,    multiply_i8, nullptr,
                                            multiply_f64, multiply_sparse, widen_lanes, narrow_lanes};
  return kernels;
}

const MatrixKernels& matrix_kernels() {
  static const MatrixKernels& best = []() -> const MatrixKernels& {
    if (const auto* kernels = matrix_kernels_avx512()) {
      return *kernels;
    }
    if (const auto* kernels = matrix_kernels_avx2()) {
      return *kernels;
    }
    return matrix_kernels_portable();
  }();
  return best;
}

} // namespace inlay::runtime::detail
