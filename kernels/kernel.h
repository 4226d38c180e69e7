/* The portability layer of kernel bodies: one source, two compilers.
 *
 * A body computes one tile with a team of lanes. On the CPU a team is one thread with one lane, so a barrier is nothing
 * and lane loops are plain loops; on CUDA a team is a thread block. Only this file knows which.
 *
 *   K_FN                 qualifiers of every function of a body
 *   K_SHARED             storage that the team shares for the time of a tile
 *   K_LANES, k_lane()    lanes of the team, this lane's number
 *   K_VECTORS            vectors that a lane keeps sums for at a time, as registers allow: 1, 2 or 4
 *   K_EACH(i, n)         the team shares the iterations 0 .. n - 1
 *   K_EACH_SIMD(i, n)    the same, where iterations are independent (out == in is fine)
 *   K_VEC(j, width)      one lane runs j = 0 .. width - 1; independent, a vector instruction or two
 *   K_VEC_OR(j, w, bits) the same, collecting bits |= ...
 *   k_sync()             barrier; what was written before it is seen by the team after it
 *   k_nonzero(v)         a bit for each of K_WIDTH elements
 *   k_sum(v), k_max(v)   over the lanes in a fixed tree; every lane gets the result
 *   K_T, K_ACC           storage type of activations, type to compute in; k_load, k_store convert. Bodies are compiled
 *                        once for float and, with K_BF16, once for bf16, whose rounding is integer arithmetic so that
 *                        no instruction set rounds in its own way
 *
 * Rules for bodies: fixed-order reductions, no atomics, and nothing that depends on the number of tiles that run at
 * once; so bits depend neither on threads nor on the instruction set. A value kept across k_sync belongs to a lane that
 * owns a contiguous range. */
#ifndef PLIM_KERNELS_KERNEL_H
#define PLIM_KERNELS_KERNEL_H

#include <stdint.h>

#include "kernels/call.h"
#if defined(__SSE2__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

#ifdef K_BF16
#define K_T uint16_t
#else
#define K_T float
#endif
#define K_ACC float

/* NOLINTBEGIN(bugprone-macro-parentheses): loops declare the names that they are given */
#ifdef __CUDACC__

#define K_FN [[maybe_unused]] static __device__ __forceinline__
#define PLIM_PHILOX_FN static inline __host__ __device__
#define K_SHARED __shared__
#define K_LANES 256
#define K_VECTORS 1
#define k_lane() ((int)threadIdx.x)
#define k_sync() __syncthreads()
#define K_EACH(i, n) for (int64_t i = k_lane(); i < (n); i += K_LANES)
#define K_EACH_SIMD(i, n) K_EACH (i, n)
#define K_VEC(j, width) for (int j = 0; j < (width); j++)
#define K_VEC_OR(j, width, bits) K_VEC (j, width)

/* Halving tree over the block in shared memory. */
#define K_TREE(name, combine)                                \
  K_FN float name(float value) {                             \
    K_SHARED float lane[K_LANES];                            \
    lane[k_lane()] = value;                                  \
    k_sync();                                                \
    for (int half = K_LANES / 2; half > 0; half /= 2) {      \
      if (k_lane() < half) {                                 \
        float a = lane[k_lane()], b = lane[k_lane() + half]; \
        lane[k_lane()] = combine;                            \
      }                                                      \
      k_sync();                                              \
    }                                                        \
    float result = lane[0];                                  \
    k_sync();                                                \
    return result;                                           \
  }
K_TREE(k_sum, a + b)
K_TREE(k_max, a > b ? a : b)
#undef K_TREE

#else

#define K_FN __attribute__((always_inline, unused)) static inline
#define K_SHARED
#define K_LANES 1
#define K_VECTORS 4
#define k_lane() 0
#define k_sync() ((void)0)
#define K_PRAGMA(text) _Pragma(#text)
#define K_EACH(i, n) for (int64_t i = 0; i < (n); i++)
#define K_EACH_SIMD(i, n) K_PRAGMA(omp simd) for (int64_t i = 0; i < (n); i++)
#define K_VEC(j, width) K_PRAGMA(omp simd) for (int j = 0; j < (width); j++)
#define K_VEC_OR(j, width, bits) K_PRAGMA(omp simd reduction(| : bits)) for (int j = 0; j < (width); j++)

K_FN float k_sum(float value) {
  return value;
}
K_FN float k_max(float value) {
  return value;
}

/* Bit j tells whether v[j] is not 0 (NaN is not), for K_WIDTH elements: GCC does not find the instructions for it. */
#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(K_BF16)
K_FN uint32_t k_nonzero(const K_T *v) {
  return _mm256_test_epi16_mask(_mm256_loadu_si256((const __m256i *)v), _mm256_set1_epi16(0x7fff)); /* not the sign */
}
#define K_NONZERO
#elif defined(__SSE2__) && defined(K_BF16)
K_FN uint32_t k_nonzero(const K_T *v) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i low = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)v), 1); /* without the sign */
  const __m128i high = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)(v + 8)), 1);
  return ~(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_cmpeq_epi16(low, zero), _mm_cmpeq_epi16(high, zero)));
}
#define K_NONZERO
#elif defined(__AVX512F__)
K_FN uint32_t k_nonzero(const float *v) {
  return _mm512_cmp_ps_mask(_mm512_loadu_ps(v), _mm512_setzero_ps(), _CMP_NEQ_UQ);
}
#define K_NONZERO
#elif defined(__AVX__)
K_FN uint32_t k_nonzero(const float *v) {
  const __m256 zero = _mm256_setzero_ps();
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(v), zero, _CMP_NEQ_UQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(v + 8), zero, _CMP_NEQ_UQ));
  return (uint32_t)low | (uint32_t)high << 8;
}
#define K_NONZERO
#elif defined(__SSE2__)
K_FN uint32_t k_nonzero(const float *v) {
  uint32_t bits = 0;
  for (int j = 0; j < K_WIDTH; j += 4) {
    bits |= (uint32_t)_mm_movemask_ps(_mm_cmpneq_ps(_mm_loadu_ps(v + j), _mm_setzero_ps())) << j;
  }
  return bits;
}
#define K_NONZERO
#endif

#endif
/* NOLINTEND(bugprone-macro-parentheses) */

#ifdef K_BF16
/* The upper half of a float. */
K_FN K_ACC k_load(const K_T *p, int64_t i) {
  union {
    uint32_t bits;
    K_ACC value;
  } u = {(uint32_t)p[i] << 16};
  return u.value;
}
/* To nearest, ties to even; NaN stays NaN. Without a condition: compilers tangle it with those of the op. */
K_FN void k_store(K_T *p, int64_t i, K_ACC value) {
  union {
    K_ACC value;
    uint32_t bits;
  } u = {value};
  const uint32_t rounded = (u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16;
  const uint32_t is_nan = (uint32_t)((int32_t)(0x7f800000 - (u.bits & 0x7fffffff)) >> 31); /* all bits or none */
  p[i] = (K_T)(rounded | (is_nan & 0x7fc0));
}
#else
K_FN K_ACC k_load(const K_T *p, int64_t i) {
  return p[i];
}
K_FN void k_store(K_T *p, int64_t i, K_ACC value) {
  p[i] = value;
}
#endif

#ifndef K_NONZERO
K_FN uint32_t k_nonzero(const K_T *v) {
  uint32_t bits = 0;
  for (int j = 0; j < K_WIDTH; j++) bits |= (uint32_t)(k_load(v, j) != 0) << j;
  return bits;
}
#endif

#endif
