/* The portability layer of kernels: one source, two compilers.
 *
 * A kernel computes one tile with a block of threads. On the CPU a block is one thread, so a barrier is nothing and
 * loops over threads are plain loops; on CUDA it is a thread block. With K_BLOCK a block is that many threads of the
 * CPU: slow, but it tests the walks of CUDA where there is no GPU. Only this file knows which.
 *
 *   K_FN                 qualifiers of every function of a kernel
 *   K_SHARED             storage that the thread block shares for the time of a tile
 *   K_THREADS, k_thread()    threads of the thread block, this thread's number
 *   K_VECTOR              elements that a thread of a channel vector handles at a time: K_WIDTH, or what 16 bytes of
 *                         bf16 hold
 *   K_VECTORS            vectors that a thread keeps sums for at a time, as registers allow: 1, 2 or 4
 *   K_EACH(i, n)         the thread block shares the iterations 0 .. n - 1
 *   K_EACH_SIMD(i, n)    the same, where iterations are independent (out == in is fine)
 *   K_EACH_WIDE(e, w, n) the thread block shares the elements 0 .. n - 1: in turn of vectors, w from e on; a single
 *                        thread takes all of them as one
 *   K_EACH_PAIR(i, n, j, m)  the same for pairs, j = 0 .. m - 1 for each i
 *   K_ROWS(i, thread_row, n)   the iterations 0 .. n - 1 are shared by the rows of the thread block
 *                              (kernels/bodies/channel_vectors.inc)
 *   K_AHEAD              before a loop whose turns read without waiting for each other: several are read at once
 *   K_VEC(j, width)      one thread runs j = 0 .. width - 1; independent, a vector instruction or two
 *   K_VEC_OR(j, w, bits) the same, collecting bits |= ...
 *   K_ROUNDS(i, n)        one thread runs i = 0 .. n - 1, with the registers of one turn at a time
 *   K_EACH_VECTOR(v, n)  the first elements v = 0, K_VECTOR, ... of the n vectors of a thread
 *   K_EACH_IN_VECTOR(j, width)  K_VEC for width <= K_VECTOR; K_ALL_IN_VECTOR(j, n) for all n elements of a thread
 *   K_READ(v, p, e, w)   vector v is p[e .. e + w - 1], w <= K_VECTOR; K_GOT(v, p, e, j) its element j
 *   K_READ_IF(c, v, p, e, w)  the same where condition c holds. K_GOT of v is legal only where c holds
 *   K_RESULT(v), K_PUT(v, p, e, j, x), K_WRITE(v, p, e, w)  the same for writing
 *                        A thread block moves 16 bytes at a time so: K_READ loads, K_GOT takes from a register, K_PUT
 *                        sets one, K_WRITE stores. A single thread leaves it to the compiler: K_READ, K_READ_IF and
 *                        K_WRITE are empty, whatever w is; K_GOT loads from p[e + j], and K_PUT stores there at once.
 *                        So both get the p and e of their K_READ or K_WRITE, and what K_PUT has set is not read again
 *                        before K_WRITE
 *   K_READ_F32, K_GOT_F32, K_RESULT_F32, K_PUT_F32, K_WRITE_F32  the same of what is float whatever K_T is
 *   K_READ_U8, K_GOT_U8, K_RESULT_U8, K_PUT_U8, K_WRITE_U8  the same of bytes: a vector is 8 at an access
 *   k_sync()             barrier; what was written before it is seen by the thread block after it
 *   k_quotient(a, b)     a / b of numbers below 2^32: numbers of tiles, rows and columns
 *   k_nonzero(v)         a bit for each of K_VECTOR elements
 *   k_sum(v), k_max(v)   over the threads in a fixed tree; every thread gets the result
 *   K_T, K_ACC           storage type of activations, type to compute in; k_load, k_store convert. Kernels are compiled
 *                        once for float and, with K_BF16, once for bf16, whose rounding is integer arithmetic so that
 *                        no instruction set rounds in its own way
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
