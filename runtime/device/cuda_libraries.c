/* Opens cuBLAS and cuDNN, if they are found, and describes them. */
#include "runtime/device/cuda_libraries.h"

#include <stdio.h>

#include "kernels/cuda/cublas.h"
#include "kernels/cuda/dnn.h"
#include "runtime/device/cuda_environment.h"

extern char **environ; /* POSIX; no header of C11 has it */

enum { NATIVE_BF16 = 8 /* least major compute capability with instructions for bf16 */ };

/* Write every library that decides times or bits, and a hash of the variables of the environment that they read. */
static void describe(plim_cuda_libraries *libraries, const plim_cuda_engine *engine, int32_t runtime) {
  const size_t capacity = sizeof libraries->found;
  int n = snprintf(libraries->found, capacity, "cuda %d.%d", (int)(runtime / 1000), (int)(runtime % 1000 / 10));
  if (engine->blas) {
    n += snprintf(libraries->found + n, capacity - (size_t)n, ", cublas %d.%d.%d",
                  (int)(libraries->blas_version / 10000), (int)(libraries->blas_version / 100 % 100),
                  (int)(libraries->blas_version % 100));
  }
  if (engine->dnn) {
    n += snprintf(libraries->found + n, capacity - (size_t)n, ", cudnn %s", plim_dnn_version(engine->dnn));
  }
  const uint32_t environment = plim_cuda_environment_hash(environ);
  if (environment != 0) {
    (void)snprintf(libraries->found + n, capacity - (size_t)n, ", environment %08x", (unsigned)environment);
  }
}

/* Find out by one product whether cuBLAS emulates bf16: GPUs below 8.0 have no instructions for it. */
static int ask_for_bf16(plim_cuda_libraries *libraries, plim_cuda_engine *engine, void *stream) {
  enum { SIDE = 16, MATRIX_BYTES = SIDE * SIDE * 2, WORKSPACE_BYTES = 1 << 20 };
  const plim_cuda_product product = {.m = SIDE, .n = SIDE, .k = SIDE, .precision = PLIM_PRECISION_BF16};
  void *memory = NULL;
  int code = engine->driver->alloc(&memory, WORKSPACE_BYTES + 3 * MATRIX_BYTES);
  if (code != 0) return code;
  char *matrix = (char *)memory + WORKSPACE_BYTES;
  code = engine->driver->multiply(engine->blas, &product, matrix, matrix + MATRIX_BYTES, matrix + 2 * MATRIX_BYTES,
                                  memory, WORKSPACE_BYTES, stream);
  if (code >= PLIM_CUBLAS_CODES && code < PLIM_CUDNN_CODES) {
    engine->blas_no_bf16 = 1;
    (void)snprintf(libraries->no_blas, sizeof libraries->no_blas, "cuBLAS has no products in bf16 on this GPU");
    code = 0;
  }
  if (code == 0) code = engine->driver->stream_sync(stream);
  int released = engine->driver->release(memory);
  return code != 0 ? code : released;
}

int plim_cuda_libraries_open(plim_cuda_libraries *libraries, plim_cuda_engine *engine, const plim_cuda_facts *facts,
                             void *stream, const char **what) {
  *what = "opening cuBLAS";
  int code = engine->driver->blas_open(&engine->memory, &engine->blas, &libraries->blas_version, libraries->no_blas,
                                       sizeof libraries->no_blas);
  engine->blas_bytes = plim_cuda_gemm_blas_bytes(facts->major);
  if (code == 0 && engine->blas && facts->major < NATIVE_BF16) code = ask_for_bf16(libraries, engine, stream);
  if (code != 0) return code;
  *what = "opening cuDNN";
  code = plim_dnn_open(engine->driver, &engine->memory, &engine->dnn, libraries->no_dnn, sizeof libraries->no_dnn);
  (void)snprintf(libraries->missing, sizeof libraries->missing, "%s%s%s", libraries->no_blas,
                 libraries->no_blas[0] && libraries->no_dnn[0] ? "; " : "", libraries->no_dnn);
  describe(libraries, engine, facts->runtime);
  return code;
}

void plim_cuda_libraries_close(plim_cuda_engine *engine) {
  plim_dnn_close(engine->dnn);
  if (engine->blas) (void)engine->driver->blas_close(engine->blas);
}
