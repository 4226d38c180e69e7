/* The portability layer of kernels: one source for the CPU, for CUDA, and for a test of CUDA's walks on the CPU.
 *
 * A kernel is a function NAME_tile(call, tile), which computes one tile of the work with a block of K_THREADS threads.
 * On the CPU a block is one thread, so a barrier is nothing and a loop over threads is a plain loop. On CUDA it is a
 * thread block. With K_BLOCK it is that many threads of the CPU: slow, but it needs no GPU. Only this file and those
 * that it includes know which.
 *
 * What the macros become, by the example of y = a + b (kernels/single_source/elementwise.inc):
 *
 *   in the source                                one thread, CPU: width is    a thread of many, GPU: width is
 *                                                all of the tile              8, or less at the end of the tile
 *   ------------------------------------------   --------------------------   ------------------------------------
 *   K_READ(as, a, e, width);                                                  float as[8]; k_read(a + e, width, as);
 *   K_READ(bs, b, e, width);                                                  float bs[8]; k_read(b + e, width, bs);
 *   K_RESULT(ys);                                                             float ys[8];
 *   K_EACH_IN_VECTOR (j, width)                  #pragma omp simd             #pragma unroll
 *                                                for (j = 0; j < width; j++)  the j < width of j = 0 .. 7
 *     K_PUT(ys, y, e, j, K_GOT(as, a, e, j)        k_store(y, e + j,            ys[j] = as[j] + bs[j];
 *                      + K_GOT(bs, b, e, j));        k_load(a, e + j)
 *                                                    + k_load(b, e + j));
 *   K_WRITE(ys, y, e, width);                                                 k_write(y + e, width, ys);
 *
 * So a GPU's thread reads and writes 16 bytes an access and computes in registers, and the CPU's compiler gets one loop
 * that it can vectorize. Both need the pointer p and the first element e in each macro. What K_PUT has set must not be
 * read before K_WRITE. A vector that was read may be set by K_PUT, element by element, and written back by K_WRITE.
 *
 * Vectors: elements p[e .. e + w - 1], w <= K_VECTOR where there are many threads
 *   K_READ(v, p, e, w)         read vector v; K_GOT(v, p, e, j) is its element j
 *   K_READ_IF(c, v, p, e, w)   the same where condition c holds; K_GOT only there
 *   K_RESULT(v)                a vector to write: K_PUT(v, p, e, j, x) sets element j, K_WRITE(v, p, e, w) stores all
 *   K_READ_F32, _U8, and so on the same for float, for bytes; without a suffix elements are K_T
 *   K_VECTOR                   elements of a vector: K_WIDTH on the CPU, 8 on a GPU, which is 16 bytes of bf16
 *   K_VECTORS                  vectors that a thread keeps sums for at a time, as registers allow: 4 on the CPU, 1 on a
 *                              GPU
 *   k_nonzero(p)               a bit for each of K_VECTOR elements
 * Loops over the elements of one thread
 *   K_EACH_IN_VECTOR(j, w)     j = 0 .. w - 1, w <= K_VECTOR; turns are independent
 *   K_EACH_VECTOR(v, n)        v = 0, K_VECTOR, ...: the first elements of the n vectors of a thread
 *   K_ALL_IN_VECTOR(j, n)      j = 0 .. n - 1: all elements of those vectors
 *   K_VEC(j, w)                j = 0 .. w - 1; independent, a vector instruction or two
 *   K_VEC_OR(j, w, bits)       the same, collecting bits |= ...
 *   K_ROUNDS(i, n)             i = 0 .. n - 1, with the registers of one turn at a time
 *   K_AHEAD                    before a loop: the reads of several turns are under way at once
 * Loops that the threads of a block share
 *   K_EACH(i, n)               the iterations 0 .. n - 1
 *   K_EACH_SIMD(i, n)          the same, where they are independent (out == in is fine)
 *   K_EACH_WIDE(e, w, n)       the elements 0 .. n - 1 by vectors: w of them from e on. One thread: all of them at once
 *   K_EACH_PAIR(i, n, j, m)    the pairs of i = 0 .. n - 1 and j = 0 .. m - 1
 *   K_ROWS(i, row, n)          0 .. n - 1 by the rows of the thread block (kernels/single_source/channel_vectors.inc)
 * Threads of a block
 *   K_THREADS, k_thread()      how many, and the number of this one
 *   K_SHARED                   storage that they share for the time of a tile
 *   k_sync()                   barrier: what was written before it is seen by all after it
 *   k_sum(x), k_max(x)         over the threads in a fixed tree; every thread gets the result
 * Types and functions
 *   K_T, K_ACC                 what activations are stored as, and what is computed with; k_load and k_store convert.
 *                              Each kernel is compiled for float and, with K_BF16, for bf16. That is rounded by integer
 *                              arithmetic, so that no instruction set rounds in its own way
 *   K_FN                       qualifiers of every function of a kernel
 *   k_quotient(a, b)           a / b of numbers below 2^32: numbers of tiles, rows and columns
 *
 * Rules for kernels: fixed-order reductions, no atomics, and nothing that depends on the number of tiles that run at
 * once; so bits depend neither on threads nor on the instruction set. A value kept across k_sync belongs to a thread
 * that owns a contiguous range. */
#ifndef PLIM_KERNELS_KERNEL_H
#define PLIM_KERNELS_KERNEL_H

#include <stdint.h>

#include "kernels/call.h"

#ifdef K_BF16
#define K_T uint16_t
#else
#define K_T float
#endif
#define K_ACC float

#ifdef __CUDACC__
#define K_FN [[maybe_unused]] static __device__ __forceinline__
#define PLIM_PHILOX_FN static inline __host__ __device__
#else
#define K_FN __attribute__((always_inline, unused)) static inline
#endif

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

#if defined(__CUDACC__) || defined(K_BLOCK)
#include "kernels/kernel_block.h"
#else
#include "kernels/kernel_thread.h"
#endif

#endif
