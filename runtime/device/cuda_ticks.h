/* Times between points of a stream, as the GPU sees them. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_TICKS_H
#define PLIM_RUNTIME_DEVICE_CUDA_TICKS_H

#include "kernels/cuda/driver.h"
#include "runtime/base/context.h"

typedef struct plim_cuda_ticks {
  int32_t n, room;
  void **tick; /* [n] */
} plim_cuda_ticks;

/* Have at least `n` ticks. *code: the driver's when the status is PLIM_EDEVICE. */
PLIM_MUST_USE plim_status plim_cuda_ticks_reserve(plim_cuda_ticks *ticks, plim_context *ctx,
                                                  const plim_cuda_driver *driver, int32_t n, int *code);
void plim_cuda_ticks_free(plim_cuda_ticks *ticks, plim_context *ctx, const plim_cuda_driver *driver);

/* What passed between ticks 0 and 1, 1 and 2, ..., ns [n], once the stream is through with them; the driver's code. */
int plim_cuda_ticks_read(const plim_cuda_ticks *ticks, const plim_cuda_driver *driver, int32_t n, int64_t *time_ns);

#endif
