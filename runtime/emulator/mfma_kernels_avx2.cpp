// Compiled with AVX2 and FMA; reached only where the processor has them.
#include "emulator/mfma_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

namespace inlay::runtime::detail {
namespace {

struct Vector {
  static constexpr int width = 8;
  __m256 v;
  static Vector load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Vector splat(float x) { return {_mm256_set1_ps(x)}; }
  static Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  // NaN is stored as the one quiet NaN, as in the portable form.
  void store(float* p) const {
    _mm256_storeu_ps(
        p, _mm256_blendv_ps(v, _mm256_set1_ps(__builtin_nanf("")), _mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
  }
  template <int I>
  [[nodiscard]] Vector quad() const {
    return {_mm256_permute_ps(v, I * 0x55)};
  }
};

struct Words {
  static constexpr int width = 8;
  __m256i v;
  static Words load(const std::uint32_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  static Words splat(std::uint32_t x) { return {_mm256_set1_epi32(static_cast<int>(x))}; }
  static Words multiply_pairs(Words a, Words b, Words c) {
    return {_mm256_add_epi32(c.v, _mm256_madd_epi16(a.v, b.v))};
  }
  template <int I>
  [[nodiscard]] Words quad() const {
    return {_mm256_shuffle_epi32(v, I * 0x55)};
  }
  void store(std::uint32_t* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
};

#include "emulator/mfma_kernels.ipp"

} // namespace

const MatrixKernels* matrix_kernels_avx2() {
  static constexpr MatrixKernels kernels = {"avx2",       unpack,          multiply,    multiply_i8, nullptr,
                                            multiply_f64, multiply_sparse, widen_lanes, narrow_lanes};
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 ? &kernels : nullptr;
}

} // namespace inlay::runtime::detail
#else
namespace inlay::runtime::detail {
const MatrixKernels* matrix_kernels_avx2() { return nullptr; }
} // namespace inlay::runtime::detail
#endif
