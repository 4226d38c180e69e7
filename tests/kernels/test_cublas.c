/* kernels/cuda/cublas: products as the library is asked for them, over a fake that keeps its rules. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLIM_HAVE_CUDA

Test(cublas, is_compiled_where_nvcc_is_found) {
  cr_skip_test("SKIP: built without nvcc");
}

#else

#include "kernels/cuda/cublas.h"

enum { M = 3, N_COLUMNS = 4, K = 5, WORKSPACE_BYTES = 1024 };
enum { BATCHES = 3, GAP = 2 /* elements between two results of a batch */, GUARD = 77 };

static void *blas;
static _Alignas(512) char workspace[WORKSPACE_BYTES];

static void setup(void) {
  char why[200] = "";
  int32_t version = 0;
  (void)setenv("PLIM_CUBLAS", PLIM_BINARY_DIR "/libfake_cublas.so", 1);
  cr_assert_eq(plim_cublas_open(plim_kernel_malloc(), &blas, &version, why, sizeof why), 0);
  cr_assert_not_null(blas, "%s", why);
  cr_assert_eq(version, 130100);
}
static void teardown(void) {
  cr_assert_eq(plim_cublas_close(blas), 0);
}
TestSuite(cublas, .init = setup, .fini = teardown);

/* Small whole numbers, which no type rounds. */
static float entry(int64_t row, int64_t column) {
  return (float)((row * 3 + column * 5) % 7 - 3);
}

static void put(void *matrix, int floats, int64_t at, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (floats) {
    ((float *)matrix)[at] = value;
  } else {
    ((uint16_t *)matrix)[at] = (uint16_t)(bits >> 16);
  }
}

static float get(const void *matrix, int floats, int64_t at) {
  const uint32_t bits = floats ? 0 : (uint32_t)((const uint16_t *)matrix)[at] << 16;
  float value;
  if (floats) return ((const float *)matrix)[at];
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A [M][K] and B [K][N_COLUMNS], each stored across when the product says so. */
static void expect_product(const plim_cuda_product *p) {
  const int floats = p->precision != PLIM_PRECISION_BF16, c_is_f32 = floats || p->c_is_f32;
  float a[M * K], b[K * N_COLUMNS], c[M * N_COLUMNS];
  for (int i = 0; i < M * K; i++) put(a, floats, p->a_transposed ? i % K * M + i / K : i, entry(i / K, i % K));
  for (int i = 0; i < K * N_COLUMNS; i++) {
    const int row = i / N_COLUMNS, column = i % N_COLUMNS;
    put(b, floats, p->b_transposed ? column * K + row : i, entry(column, row + 1));
  }
  for (int i = 0; i < M * N_COLUMNS; i++) put(c, c_is_f32, i, 2);
  cr_assert_eq(plim_cublas_multiply(blas, p, a, b, c, workspace, WORKSPACE_BYTES, workspace), 0);
  for (int i = 0; i < M * N_COLUMNS; i++) {
    float expected = 2 * p->beta;
    for (int l = 0; l < K; l++) expected += entry(i / N_COLUMNS, l) * entry(i % N_COLUMNS, l + 1);
    cr_assert_eq(get(c, c_is_f32, i), expected, "[%d] is %g, not %g", i, (double)get(c, c_is_f32, i), (double)expected);
  }
}

/* The fake multiplies only where sums of parts are floats, and with the stream and then the workspace set. */
Test(cublas, products_are_those_of_matrices_row_by_row_in_every_order_and_precision) {
  for (int i = 0; i < PLIM_PRECISION_COUNT * 16; i++) {
    const plim_cuda_product product = {.m = M,
                                       .n = N_COLUMNS,
                                       .k = K,
                                       .a_transposed = i & 1,
                                       .b_transposed = i >> 1 & 1,
                                       .beta = (float)(i >> 2 & 1),
                                       .c_is_f32 = i >> 3 & 1,
                                       .precision = (plim_precision)(i >> 4)};
    expect_product(&product);
  }
}

/* Product i of a batch has other entries than the one before, where its matrices are not shared. */
static void expect_batch(const plim_cuda_product *p) {
  const int floats = p->precision != PLIM_PRECISION_BF16, c_is_f32 = floats || p->c_is_f32;
  enum { A = M * K, B = K * N_COLUMNS, C = M * N_COLUMNS + GAP };
  float a[BATCHES * A], b[BATCHES * B], c[BATCHES * C];
  for (int i = 0; i < BATCHES * A; i++) {
    const int e = i % A, at = p->a_transposed ? e % K * M + e / K : e;
    put(a, floats, i - e + at, entry(e / K + (p->a_step > 0 ? i / A : 0), e % K));
  }
  for (int i = 0; i < BATCHES * B; i++) {
    const int e = i % B, row = e / N_COLUMNS, column = e % N_COLUMNS;
    put(b, floats, i - e + (p->b_transposed ? column * K + row : e),
        entry(column + (p->b_step > 0 ? i / B : 0), row + 1));
  }
  for (int i = 0; i < BATCHES * C; i++) put(c, c_is_f32, i, i % C < M * N_COLUMNS ? 2 : GUARD);
  cr_assert_eq(plim_cublas_multiply(blas, p, a, b, c, workspace, WORKSPACE_BYTES, workspace), 0);
  for (int i = 0; i < BATCHES * C; i++) {
    const int e = i % C, of_a = p->a_step > 0 ? i / C : 0, of_b = p->b_step > 0 ? i / C : 0;
    float expected = e < M * N_COLUMNS ? 2 * p->beta : GUARD;
    for (int l = 0; l < K && e < M * N_COLUMNS; l++) {
      expected += entry(e / N_COLUMNS + of_a, l) * entry(e % N_COLUMNS + of_b, l + 1);
    }
    cr_assert_eq(get(c, c_is_f32, i), expected, "[%d] is %g, not %g", i, (double)get(c, c_is_f32, i), (double)expected);
  }
}

Test(cublas, products_of_a_batch_are_those_of_matrices_a_step_apart_or_shared) {
  for (int i = 0; i < PLIM_PRECISION_COUNT * 64; i++) {
    const plim_cuda_product product = {.m = M,
                                       .n = N_COLUMNS,
                                       .k = K,
                                       .a_transposed = i & 1,
                                       .b_transposed = i >> 1 & 1,
                                       .beta = (float)(i >> 2 & 1),
                                       .c_is_f32 = i >> 3 & 1,
                                       .batches = BATCHES,
                                       .a_step = i >> 4 & 1 ? M * K : 0,
                                       .b_step = i >> 5 & 1 ? K * N_COLUMNS : 0,
                                       .c_step = M * N_COLUMNS + GAP,
                                       .precision = (plim_precision)(i >> 6)};
    expect_batch(&product);
  }
}

Test(cublas, what_the_library_refuses_is_told_with_its_code) {
  const plim_cuda_product product = {.m = M, .n = N_COLUMNS, .k = K};
  float a[M * K] = {0}, b[K * N_COLUMNS] = {0}, c[M * N_COLUMNS];
  cr_assert_eq(plim_cublas_multiply(blas, &product, a, b, c, workspace + 16, 512, workspace), PLIM_CUBLAS_CODES + 7);
}

#endif
