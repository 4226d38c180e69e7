/* A thread block of one thread: see kernels/kernel.h, which includes this file. */
#ifndef PLIM_KERNELS_KERNEL_THREAD_H
#define PLIM_KERNELS_KERNEL_THREAD_H

/* NOLINTBEGIN(bugprone-macro-parentheses): loops declare the names that they are given */
#define K_SHARED
#define K_THREADS 1
#define K_VECTOR K_WIDTH
#define K_VECTORS 4
#define k_thread() 0
#define k_sync() ((void)0)
#define K_PRAGMA(text) _Pragma(#text)
#define K_AHEAD
#define K_EACH(i, n) for (int64_t i = 0; i < (n); i++)
#define K_EACH_SIMD(i, n) K_PRAGMA(omp simd) for (int64_t i = 0; i < (n); i++)
#define K_EACH_WIDE(e, width, n) for (int64_t e = 0, width = (n); e < (n); e = (n))
#define K_EACH_PAIR(i, n, j, m) \
  K_EACH (i, n)                 \
    K_EACH (j, m)
#define K_ROWS(i, thread_row, n) K_EACH (i, n)
#define K_VEC(j, width) K_PRAGMA(omp simd) for (int j = 0; j < (width); j++)
#define K_VEC_OR(j, width, bits) K_PRAGMA(omp simd reduction(| : bits)) for (int j = 0; j < (width); j++)
#define K_ROUNDS(i, n) for (int i = 0; i < (n); i++)
#define K_EACH_VECTOR(v, vectors) for (int v = 0; v < (vectors)*K_VECTOR; v += K_VECTOR)
#define K_EACH_IN_VECTOR(j, width) K_VEC (j, width)
#define K_ALL_IN_VECTOR(j, n) for (int j = 0; j < (n); j++)
#define K_READ(v, p, e, width)
#define K_READ_IF(condition, v, p, e, width)
#define K_GOT(v, p, e, j) k_load(p, (e) + (j))
#define K_RESULT(v)
#define K_PUT(v, p, e, j, x) k_store(p, (e) + (j), x)
#define K_WRITE(v, p, e, width)
#define K_READ_F32(v, p, e, width)
#define K_READ_F32_IF(condition, v, p, e, width)
#define K_GOT_F32(v, p, e, j) (p)[(e) + (j)]
#define K_RESULT_F32(v)
#define K_PUT_F32(v, p, e, j, x) (p)[(e) + (j)] = (x)
#define K_WRITE_F32(v, p, e, width)
#define K_READ_U8(v, p, e, width)
#define K_GOT_U8(v, p, e, j) (p)[(e) + (j)]
#define K_RESULT_U8(v)
#define K_PUT_U8(v, p, e, j, x) (p)[(e) + (j)] = (x)
#define K_WRITE_U8(v, p, e, width)
/* NOLINTEND(bugprone-macro-parentheses) */

K_FN int64_t k_quotient(int64_t a, int64_t b) {
  return a / b;
}
K_FN float k_sum(float value) {
  return value;
}
K_FN float k_max(float value) {
  return value;
}

#include "kernels/kernel_nonzero.h"

#endif
