/* The kernels for one instruction set and storage type: compiled once each, with K_TABLE the name of the table it
 * exports. */
#include "kernels/single_source/all.inc"

/* Kernels whose time is arithmetic. With AVX-512 they get vectors of 512 bits; the others wait for memory, which is
 * read faster with 256 (kernels/kernels.cmake). Bits are the same. */
/* clang-format off */
#define K_ARITHMETIC(X) \
  X(gelu) X(gelu_bwd) X(silu) X(silu_bwd) X(row_softmax) X(attention) X(attention_bwd) X(matmul) \
  X(linear_xent) X(linear_xent_bwd) X(linear_xent_bwd_words)
/* clang-format on */
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#define K_X(name) \
  __attribute__((target("prefer-vector-width=512"))) static void run_##name(const k_call *call, int64_t tile);
K_ARITHMETIC(K_X)
#undef K_X
#endif

#define K_X(name, blocks, per_tile)                          \
  static void run_##name(const k_call *call, int64_t tile) { \
    name##_tile(call, tile);                                 \
  }
K_KERNELS(K_X)
#undef K_X

extern const k_kernels K_TABLE;
#define K_X(name, blocks, per_tile) run_##name,
const k_kernels K_TABLE = {{K_KERNELS(K_X)}};
#undef K_X
