/* The half dozen functions of cuBLAS that are used, declared here and found by name: neither headers nor library are
 * needed to build, and a program starts without them. Matrices row by row are the transposed ones column by column:
 * C' = B' A'. */
#include "kernels/cuda/cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { OP_N = 0, OP_T = 1, TYPE_F32 = 0, TYPE_BF16 = 14, SUMS_F32 = 68, SUMS_TF32 = 77, DEFAULT_ALGORITHM = -1 };

typedef struct cublas {
  void *library, *handle;
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*set_workspace)(void *handle, void *workspace, size_t bytes);
  int (*sgemm)(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
               const float *b, int ldb, const float *beta, float *c, int ldc);
  int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
              int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int sums,
              int algorithm);
} cublas;

static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
enum { NAMES = sizeof names / sizeof *names };

static void *open_library(void) {
  const char *folder = getenv("PLIM_CUDA_LIBS");
  char path[1024];
  for (int i = 0; folder && i < NAMES; i++) {
    int length = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    void *library = length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library) return library;
  }
  for (int i = 0; i < NAMES; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
  }
  return NULL;
}

/* ISO C has no conversion from object to function pointers; POSIX says that their bytes are the same. */
static int find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  *(void **)function = found;
  return found != NULL;
}

static int find_all(cublas *b) {
  return find(b->library, "cublasCreate_v2", &b->create) && find(b->library, "cublasDestroy_v2", &b->destroy) &&
         find(b->library, "cublasSetStream_v2", &b->set_stream) &&
         find(b->library, "cublasSetWorkspace_v2", &b->set_workspace) &&
         find(b->library, "cublasSgemm_v2", &b->sgemm) && find(b->library, "cublasGemmEx", &b->gemm);
}

int plim_cublas_open(void **blas, char *why, size_t why_bytes) {
  *blas = NULL;
  void *library = open_library();
  if (!library) {
    (void)snprintf(why, why_bytes, "no %s was found, nor in the folder of PLIM_CUDA_LIBS", names[0]);
    return 0;
  }
  cublas *b = calloc(1, sizeof *b);
  int code = b ? 0 : PLIM_CUDA_NO_MEMORY;
  if (b) {
    b->library = library;
    if (find_all(b)) {
      code = b->create(&b->handle);
      if (code == 0) {
        *blas = b;
        return 0;
      }
      code += PLIM_CUBLAS_CODES;
    } else {
      (void)snprintf(why, why_bytes, "the cuBLAS that was found lacks a function of version 12");
    }
  }
  free(b);
  (void)dlclose(library);
  return code;
}

int plim_cublas_close(void *blas) {
  cublas *b = blas;
  int code = b->destroy(b->handle);
  (void)dlclose(b->library);
  free(b);
  return code == 0 ? 0 : PLIM_CUBLAS_CODES + code;
}

/* What is an A to us is a B to the library. */
static int multiply(const cublas *library, const plim_cuda_product *p, const void *a, const void *b, void *c) {
  const float one = 1;
  const int op_a = p->b_across ? OP_T : OP_N, op_b = p->a_across ? OP_T : OP_N;
  const int m = (int)p->n, n = (int)p->m, k = (int)p->k;
  const int lda = p->b_across ? k : m, ldb = p->a_across ? n : k;
  if (p->math == PLIM_MATH_FP32) {
    return library->sgemm(library->handle, op_a, op_b, m, n, k, &one, b, lda, a, ldb, &p->beta, c, m);
  }
  const int type = p->math == PLIM_MATH_BF16 ? TYPE_BF16 : TYPE_F32;
  return library->gemm(library->handle, op_a, op_b, m, n, k, &one, b, type, lda, a, type, ldb, &p->beta, c,
                       p->to_floats ? TYPE_F32 : type, m, p->math == PLIM_MATH_TF32 ? SUMS_TF32 : SUMS_F32,
                       DEFAULT_ALGORITHM);
}

int plim_cublas_multiply(void *blas, const plim_cuda_product *p, const void *a, const void *b, void *c, void *workspace,
                         int64_t workspace_bytes, void *stream) {
  const cublas *library = blas;
  int code = library->set_stream(library->handle, stream);
  if (code == 0) code = library->set_workspace(library->handle, workspace, (size_t)workspace_bytes);
  if (code == 0) code = multiply(library, p, a, b, c);
  return code == 0 ? 0 : PLIM_CUBLAS_CODES + code;
}
