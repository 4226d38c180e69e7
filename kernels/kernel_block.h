/* Thread blocks of many threads: see kernels/kernel.h, which includes this file. */
#ifndef PLIM_KERNELS_KERNEL_BLOCK_H
#define PLIM_KERNELS_KERNEL_BLOCK_H

/* NOLINTBEGIN(bugprone-macro-parentheses): loops declare the names that they are given */
#ifdef __CUDACC__
#define K_SHARED __shared__
#define K_THREADS 256
#define k_thread() ((int)threadIdx.x)
#define k_sync() __syncthreads()
#define K_UNROLL _Pragma("unroll")
#define K_AHEAD _Pragma("unroll 8")
#define K_ROLL _Pragma("unroll 1")
#else
#define K_SHARED static
#define K_THREADS K_BLOCK
int k_block_thread(void);
void k_block_sync(void);
#define k_thread() k_block_thread()
#define k_sync() k_block_sync()
#define K_UNROLL
#define K_AHEAD
#define K_ROLL
#endif

#define K_VECTOR 8
#define K_VECTORS 1
#define K_EACH(i, n) for (int64_t i = k_thread(); i < (n); i += K_THREADS)
#define K_EACH_SIMD(i, n) K_EACH (i, n)
#define K_EACH_WIDE(e, width, n)                                                                                       \
  for (int64_t e = (int64_t)k_thread() * K_VECTOR, width; e < (n) && (width = (n)-e < K_VECTOR ? (n)-e : K_VECTOR, 1); \
       e += K_THREADS * K_VECTOR)
/* In 32 bits, see k_quotient. */
#define K_EACH_PAIR(i, n, j, m)                                                                                    \
  for (uint32_t i##_##j = (uint32_t)k_thread(), i = i##_##j / (uint32_t)(m), j = i##_##j % (uint32_t)(m); i < (n); \
       i##_##j += K_THREADS, i = i##_##j / (uint32_t)(m), j = i##_##j % (uint32_t)(m))
#define K_ROWS(i, thread_row, n) for (int64_t i = (thread_row).row; i < (n); i += (thread_row).rows)
#define K_VEC(j, width) for (int j = 0; j < (width); j++)
#define K_VEC_OR(j, width, bits) K_VEC (j, width)
#define K_ROUNDS(i, n) K_ROLL for (int i = 0; i < (n); i++)
#define K_EACH_VECTOR(v, vectors) for (int v = ((void)(vectors), 0); v < K_VECTOR; v += K_VECTOR)
#define K_EACH_IN_VECTOR(j, width)                                        \
  K_UNROLL for (int j = 0; j < K_VECTOR; j++) if (j >= (width)) continue; \
  else
#define K_ALL_IN_VECTOR(j, n) K_EACH_IN_VECTOR (j, n)
#define K_READ(v, p, e, width) \
  K_ACC v[K_VECTOR];           \
  k_read((p) + (e), width, v)
#define K_READ_IF(condition, v, p, e, width)    \
  K_ACC v[K_VECTOR] = {0};                      \
  do {                                          \
    if (condition) k_read((p) + (e), width, v); \
  } while (0)
#define K_GOT(v, p, e, j) v[j]
#define K_RESULT(v) K_ACC v[K_VECTOR]
#define K_PUT(v, p, e, j, x) v[j] = (x)
#define K_WRITE(v, p, e, width) k_write((p) + (e), width, v)
#define K_READ_F32(v, p, e, width) \
  float v[K_VECTOR];               \
  k_read_f32((p) + (e), width, v)
#define K_READ_F32_IF(condition, v, p, e, width)    \
  float v[K_VECTOR] = {0};                          \
  do {                                              \
    if (condition) k_read_f32((p) + (e), width, v); \
  } while (0)
#define K_GOT_F32(v, p, e, j) v[j]
#define K_RESULT_F32(v) float v[K_VECTOR]
#define K_PUT_F32(v, p, e, j, x) v[j] = (x)
#define K_WRITE_F32(v, p, e, width) k_write_f32((p) + (e), width, v)
#define K_READ_U8(v, p, e, width) \
  uint8_t v[K_VECTOR];            \
  k_read_u8((p) + (e), width, v)
#define K_GOT_U8(v, p, e, j) v[j]
#define K_RESULT_U8(v) uint8_t v[K_VECTOR]
#define K_PUT_U8(v, p, e, j, x) v[j] = (x)
#define K_WRITE_U8(v, p, e, width) k_write_u8((p) + (e), width, v)
/* NOLINTEND(bugprone-macro-parentheses) */

/* In 32 bits: a division of 64 is a function call there, around which registers are spilled. */
K_FN int64_t k_quotient(int64_t a, int64_t b) {
  return (int64_t)((uint32_t)a / (uint32_t)b);
}

#include "kernels/kernel_wide.h"

K_FN uint32_t k_nonzero(const K_T *p) {
  uint32_t bits = 0;
  K_READ(v, p, 0, K_VECTOR);
  K_UNROLL for (int j = 0; j < K_VECTOR; j++) bits |= (uint32_t)(v[j] != 0) << j;
  return bits;
}

/* NOLINTBEGIN(bugprone-macro-parentheses) */
/* Halving tree over the thread block in shared memory. */
#define K_TREE(name, combine)                                    \
  K_FN float name(float value) {                                 \
    K_SHARED float part[K_THREADS];                              \
    part[k_thread()] = value;                                    \
    k_sync();                                                    \
    for (int half = K_THREADS / 2; half > 0; half /= 2) {        \
      if (k_thread() < half) {                                   \
        float a = part[k_thread()], b = part[k_thread() + half]; \
        part[k_thread()] = combine;                              \
      }                                                          \
      k_sync();                                                  \
    }                                                            \
    float result = part[0];                                      \
    k_sync();                                                    \
    return result;                                               \
  }
K_TREE(k_sum, a + b)
K_TREE(k_max, a > b ? a : b)
#undef K_TREE
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
