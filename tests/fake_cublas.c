/* A cuBLAS for kernels/cuda/cublas.c: matrices lie column by column, and every call is refused that the order or the
 * arguments of the library's description forbid. Its memory is the host's. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WELL = 0, NOT_READY = 1, INVALID = 7, N = 0, T = 1, F32 = 0, BF16 = 14, SUMS_F32 = 68, SUMS_TF32 = 77 };
enum { ONLY_SUMS_OF_FLOATS = 16, VERSION = 130100, LEAST_ALIGNMENT = 256 };

static struct {
  int created, mode;
  void *stream, *workspace;
} fake;

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasGetVersion_v2(void *handle, int32_t *version);
int cublasSetMathMode(void *handle, int mode);
int cublasSetStream_v2(void *handle, void *stream);
int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc);
int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                 int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int sums,
                 int algorithm);
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                               int type_a, int lda, long long step_a, const void *b, int type_b, int ldb,
                               long long step_b, const void *beta, void *c, int type_c, int ldc, long long step_c,
                               int batches, int sums, int algorithm);

int cublasCreate_v2(void **handle) {
  fake.created++;
  *handle = &fake;
  return WELL;
}

int cublasDestroy_v2(void *handle) {
  fake.created--;
  return handle == &fake ? WELL : NOT_READY;
}

int cublasGetVersion_v2(void *handle, int32_t *version) {
  *version = VERSION;
  return handle == &fake ? WELL : NOT_READY;
}

int cublasSetMathMode(void *handle, int mode) {
  fake.mode = mode;
  return handle == &fake ? WELL : NOT_READY;
}

/* The workspace is the library's own again. */
int cublasSetStream_v2(void *handle, void *stream) {
  fake.stream = stream;
  fake.workspace = NULL;
  return handle == &fake ? WELL : NOT_READY;
}

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) {
  if (handle != &fake || bytes == 0 || (uintptr_t)workspace % LEAST_ALIGNMENT != 0) return INVALID;
  fake.workspace = workspace;
  return WELL;
}

static float get(const void *matrix, int type, int64_t at) {
  if (type == F32) return ((const float *)matrix)[at];
  const uint32_t bits = (uint32_t)((const uint16_t *)matrix)[at] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void put(void *matrix, int type, int64_t at, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (type == F32) {
    ((float *)matrix)[at] = value;
  } else {
    ((uint16_t *)matrix)[at] = (uint16_t)(bits >> 16); /* tests multiply numbers that need no rounding */
  }
}

int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                 int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int sums,
                 int algorithm) {
  float one, keep;
  memcpy(&one, alpha, sizeof one);
  memcpy(&keep, beta, sizeof keep);
  if (handle != &fake || !fake.stream || !fake.workspace || fake.mode != ONLY_SUMS_OF_FLOATS) return NOT_READY;
  if (one != 1 || algorithm != -1 || type_a != type_b || (type_c != F32 && type_c != type_a)) return INVALID;
  if (sums != SUMS_F32 && !(sums == SUMS_TF32 && type_a == F32)) return INVALID;
  if (lda < (op_a == N ? m : k) || ldb < (op_b == N ? k : n) || ldc < m) return INVALID;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      float sum = keep == 0 ? 0 : keep * get(c, type_c, i + (int64_t)j * ldc);
      for (int l = 0; l < k; l++) {
        sum += get(a, type_a, op_a == N ? i + (int64_t)l * lda : l + (int64_t)i * lda) *
               get(b, type_b, op_b == N ? l + (int64_t)j * ldb : j + (int64_t)l * ldb);
      }
      put(c, type_c, i + (int64_t)j * ldc, sum);
    }
  }
  return WELL;
}

/* Results may not lie over each other. */
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                               int type_a, int lda, long long step_a, const void *b, int type_b, int ldb,
                               long long step_b, const void *beta, void *c, int type_c, int ldc, long long step_c,
                               int batches, int sums, int algorithm) {
  const long long bytes_ab = type_a == F32 ? 4 : 2, bytes_c = type_c == F32 ? 4 : 2;
  int code = batches < 1 || step_a < 0 || step_b < 0 || step_c < (long long)ldc * n ? INVALID : WELL;
  for (int i = 0; i < batches && code == WELL; i++) {
    code = cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, (const char *)a + i * step_a * bytes_ab, type_a, lda,
                        (const char *)b + i * step_b * bytes_ab, type_b, ldb, beta, (char *)c + i * step_c * bytes_c,
                        type_c, ldc, sums, algorithm);
  }
  return code;
}

int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, F32, lda, b, F32, ldb, beta, c, F32, ldc, SUMS_F32, -1);
}
