/* k_nonzero of a thread block of one thread, for each instruction set: see kernels/kernel_thread.h, which includes this
 * file. */
#ifndef PLIM_KERNELS_KERNEL_NONZERO_H
#define PLIM_KERNELS_KERNEL_NONZERO_H

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Bit j tells whether v[j] is not 0 (NaN is not), for K_VECTOR elements: GCC does not find the instructions for it. */
#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(K_BF16)
K_FN uint32_t k_nonzero(const K_T *v) {
  return _mm256_test_epi16_mask(_mm256_loadu_si256((const __m256i *)v), _mm256_set1_epi16(0x7fff)); /* not the sign */
}
#elif defined(__SSE2__) && defined(K_BF16)
K_FN uint32_t k_nonzero(const K_T *v) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i low = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)v), 1); /* without the sign */
  const __m128i high = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)(v + 8)), 1);
  return ~(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_cmpeq_epi16(low, zero), _mm_cmpeq_epi16(high, zero)));
}
#elif defined(__AVX512F__)
K_FN uint32_t k_nonzero(const float *v) {
  return _mm512_cmp_ps_mask(_mm512_loadu_ps(v), _mm512_setzero_ps(), _CMP_NEQ_UQ);
}
#elif defined(__AVX__)
K_FN uint32_t k_nonzero(const float *v) {
  const __m256 zero = _mm256_setzero_ps();
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(v), zero, _CMP_NEQ_UQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(v + 8), zero, _CMP_NEQ_UQ));
  return (uint32_t)low | (uint32_t)high << 8;
}
#elif defined(__SSE2__)
K_FN uint32_t k_nonzero(const float *v) {
  uint32_t bits = 0;
  for (int j = 0; j < K_VECTOR; j += 4) {
    bits |= (uint32_t)_mm_movemask_ps(_mm_cmpneq_ps(_mm_loadu_ps(v + j), _mm_setzero_ps())) << j;
  }
  return bits;
}
#else
K_FN uint32_t k_nonzero(const K_T *v) {
  uint32_t bits = 0;
  for (int j = 0; j < K_VECTOR; j++) bits |= (uint32_t)(k_load(v, j) != 0) << j;
  return bits;
}
#endif

#endif
