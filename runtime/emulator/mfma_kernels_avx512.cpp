// Compiled with the AVX-512 of Skylake-X (F, BW, DQ, VL); reached only where the processor has it.
#include "emulator/mfma_kernels.h"

#ifdef __AVX512BW__
#include <immintrin.h>

namespace inlay::runtime::detail {
namespace {

struct Vector {
  static constexpr int width = 16;
  __m512 v;
  static Vector load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vector splat(float x) { return {_mm512_set1_ps(x)}; }
  static Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  // NaN is stored as the one quiet NaN, as in the portable form.
  void store(float* p) const {
    _mm512_storeu_ps(
        p, _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), _mm512_set1_ps(__builtin_nanf(""))));
  }
  static void halves(const std::uint32_t* words, float* low, float* high) {
    const __m512i w = _mm512_loadu_si512(words);
    _mm512_storeu_ps(low, _mm512_cvtph_ps(_mm512_maskz_cvtepi32_epi16(0xffff, w)));
    _mm512_storeu_ps(
        high, _mm512_cvtph_ps(_mm512_maskz_cvtepi32_epi16(0xffff, _mm512_maskz_srli_epi32(0xffff, w, 16))));
  }
  // The lower and the upper half of 16 words, of bf16 or f16.
  template <bool brain>
  static void halves(const std::uint32_t* words, Vector& low, Vector& high) {
    const __m512i w = _mm512_loadu_si512(words);
    if constexpr (brain) {
      low.v = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, w, 16));
      high.v = _mm512_castsi512_ps(_mm512_and_si512(w, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
    } else {
      low.v = _mm512_cvtph_ps(_mm512_maskz_cvtepi32_epi16(0xffff, w));
      high.v = _mm512_cvtph_ps(_mm512_maskz_cvtepi32_epi16(0xffff, _mm512_maskz_srli_epi32(0xffff, w, 16)));
    }
  }
  // The zeroing form: gcc 12 warns of the undefined operand inside the plain one.
  template <int I>
  [[nodiscard]] Vector quad() const {
    return {_mm512_maskz_permute_ps(0xffff, v, I * 0x55)};
  }
};

struct Words {
  static constexpr int width = 16;
  __m512i v;
  static Words load(const std::uint32_t* p) { return {_mm512_loadu_si512(p)}; }
  static Words splat(std::uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
  static Words multiply_pairs(Words a, Words b, Words c) {
    return {_mm512_add_epi32(c.v, _mm512_madd_epi16(a.v, b.v))};
  }
  template <int I>
  [[nodiscard]] Words quad() const {
    return {_mm512_maskz_shuffle_epi32(0xffff, v, static_cast<_MM_PERM_ENUM>(I * 0x55))};
  }
  void store(std::uint32_t* p) const { _mm512_storeu_si512(p, v); }
};

#include "emulator/mfma_kernels.ipp"

} // namespace

namespace {
void multiply_quads(bool brain, const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d) {
  brain ? multiply_quads_of<Vector, true>(a, b, c, d) : multiply_quads_of<Vector, false>(a, b, c, d);
}
} // namespace

const MatrixKernels* matrix_kernels_avx512() {
  static constexpr MatrixKernels kernels = {"avx512",        unpack,         multiply,
                                            multiply_i8,     multiply_quads, multiply_f64,
                                            multiply_sparse, widen_lanes,    narrow_lanes};
  const bool has = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                   __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return has ? &kernels : nullptr;
}

} // namespace inlay::runtime::detail
#else
namespace inlay::runtime::detail {
const MatrixKernels* matrix_kernels_avx512() { return nullptr; }
} // namespace inlay::runtime::detail
#endif
