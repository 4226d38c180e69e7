/* The few functions of cuBLAS that are used, declared here and found by name. Matrices row by row are the
 * transposed ones column by column: C' = B' A'. */
#include "kernels/cuda/cublas.h"

#include <dlfcn.h>

#include "kernels/cuda/library.h"

enum { OP_N = 0, OP_T = 1, TYPE_F32 = 0, TYPE_BF16 = 14, SUMS_F32 = 68, SUMS_TF32 = 77, DEFAULT_ALGORITHM = -1 };
enum { SUMS_OF_FLOATS = 16 /* CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: no sums in bf16 */ };

typedef struct cublas {
  plim_kernel_memory memory;
  void *library, *handle;
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*version)(void *handle, int32_t *version);
  int (*set_math)(void *handle, int mode);
  int (*set_stream)(void *handle, void *stream);
  int (*set_workspace)(void *handle, void *workspace, size_t bytes);
  int (*sgemm)(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
               const float *b, int ldb, const float *beta, float *c, int ldc);
  int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
              int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int sums,
              int algorithm);
  int (*gemms)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
               int lda, long long step_a, const void *b, int type_b, int ldb, long long step_b, const void *beta,
               void *c, int type_c, int ldc, long long step_c, int batches, int sums, int algorithm);
} cublas;

#define SYMBOL(name, field) \
  { name, offsetof(cublas, field) }
static const plim_cuda_symbol symbols[] = {SYMBOL("cublasCreate_v2", create),
                                           SYMBOL("cublasDestroy_v2", destroy),
                                           SYMBOL("cublasGetVersion_v2", version),
                                           SYMBOL("cublasSetMathMode", set_math),
                                           SYMBOL("cublasSetStream_v2", set_stream),
                                           SYMBOL("cublasSetWorkspace_v2", set_workspace),
                                           SYMBOL("cublasSgemm_v2", sgemm),
                                           SYMBOL("cublasGemmEx", gemm),
                                           SYMBOL("cublasGemmStridedBatchedEx", gemms)};
#undef SYMBOL
static const char *const files[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
static const plim_cuda_library spec = {"cuBLAS", "PLIM_CUBLAS", files, sizeof symbols / sizeof *symbols, symbols};

int plim_cublas_open(const plim_kernel_memory *memory, void **blas, int32_t *version, char *why, size_t why_bytes) {
  *blas = NULL;
  cublas *b = plim_kernel_allocate(memory, 1, sizeof *b);
  if (!b) return PLIM_CUDA_NO_MEMORY;
  b->memory = *memory;
  b->library = plim_cuda_library_open(&spec, b, why, why_bytes);
  int code = b->library ? b->create(&b->handle) : 0;
  if (b->library && code == 0) {
    code = b->version(b->handle, version);
    if (code == 0) code = b->set_math(b->handle, SUMS_OF_FLOATS);
    if (code != 0) (void)b->destroy(b->handle);
  }
  if (b->library && code == 0) {
    *blas = b;
    return 0;
  }
  if (b->library) (void)dlclose(b->library);
  plim_kernel_release(memory, b, 1, sizeof *b);
  return code == 0 ? 0 : PLIM_CUBLAS_CODES + code;
}

int plim_cublas_close(void *blas) {
  cublas *b = blas;
  const plim_kernel_memory memory = b->memory;
  int code = b->destroy(b->handle);
  (void)dlclose(b->library);
  plim_kernel_release(&memory, b, 1, sizeof *b);
  return code == 0 ? 0 : PLIM_CUBLAS_CODES + code;
}

/* What is an A to us is a B to the library. */
static int multiply(const cublas *library, const plim_cuda_product *p, const void *a, const void *b, void *c) {
  const float one = 1;
  const int op_a = p->b_transposed ? OP_T : OP_N, op_b = p->a_transposed ? OP_T : OP_N;
  const int m = (int)p->n, n = (int)p->m, k = (int)p->k;
  const int lda = p->b_row > 0 ? (int)p->b_row : p->b_transposed ? k : m;
  const int ldc = p->c_row > 0 ? (int)p->c_row : m;
  const int ldb = p->a_row > 0 ? (int)p->a_row : p->a_transposed ? n : k;
  const int type = p->precision == PLIM_PRECISION_BF16 ? TYPE_BF16 : TYPE_F32, type_c = p->c_is_f32 ? TYPE_F32 : type;
  const int sums = p->precision == PLIM_PRECISION_TF32 ? SUMS_TF32 : SUMS_F32;
  if (p->batches > 1) {
    return library->gemms(library->handle, op_a, op_b, m, n, k, &one, b, type, lda, p->b_step, a, type, ldb, p->a_step,
                          &p->beta, c, type_c, ldc, p->c_step, (int)p->batches, sums, DEFAULT_ALGORITHM);
  }
  if (p->precision == PLIM_PRECISION_FP32) {
    return library->sgemm(library->handle, op_a, op_b, m, n, k, &one, b, lda, a, ldb, &p->beta, c, ldc);
  }
  return library->gemm(library->handle, op_a, op_b, m, n, k, &one, b, type, lda, a, type, ldb, &p->beta, c, type_c, ldc,
                       sums, DEFAULT_ALGORITHM);
}

int plim_cublas_multiply(void *blas, const plim_cuda_product *p, const void *a, const void *b, void *c, void *workspace,
                         int64_t workspace_bytes, void *stream) {
  const cublas *library = blas;
  int code = library->set_stream(library->handle, stream);
  if (code == 0) code = library->set_workspace(library->handle, workspace, (size_t)workspace_bytes);
  if (code == 0) code = multiply(library, p, a, b, c);
  return code == 0 ? 0 : PLIM_CUBLAS_CODES + code;
}
