/* cuBLAS and cuDNN, each where it is found. */
#include "runtime/device/cuda_libraries.h"

#include <stdio.h>

#include "kernels/cuda/dnn.h"

/* Every library that decides times or bits. */
static void describe(plim_cuda_libraries *l, const plim_cuda_engine *engine, int32_t runtime) {
  const size_t room = sizeof l->found;
  int n = snprintf(l->found, room, "cuda %d.%d", (int)(runtime / 1000), (int)(runtime % 1000 / 10));
  if (engine->blas) {
    n += snprintf(l->found + n, room - (size_t)n, ", cublas %d.%d.%d", (int)(l->blas_version / 10000),
                  (int)(l->blas_version / 100 % 100), (int)(l->blas_version % 100));
  }
  if (engine->dnn) (void)snprintf(l->found + n, room - (size_t)n, ", cudnn %s", plim_dnn_version(engine->dnn));
}

int plim_cuda_libraries_open(plim_cuda_libraries *l, plim_cuda_engine *engine, int32_t runtime, const char **what) {
  *what = "opening cuBLAS";
  int code = engine->driver->blas_open(&engine->blas, &l->blas_version, l->no_blas, sizeof l->no_blas);
  if (code != 0) return code;
  *what = "opening cuDNN";
  code = plim_dnn_open(engine->driver, &engine->dnn, l->no_dnn, sizeof l->no_dnn);
  (void)snprintf(l->missing, sizeof l->missing, "%s%s%s", l->no_blas, l->no_blas[0] && l->no_dnn[0] ? "; " : "",
                 l->no_dnn);
  describe(l, engine, runtime);
  return code;
}

void plim_cuda_libraries_close(plim_cuda_engine *engine) {
  plim_dnn_close(engine->dnn);
  if (engine->blas) (void)engine->driver->blas_close(engine->blas);
}
