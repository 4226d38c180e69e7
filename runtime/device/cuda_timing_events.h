/* Times between points of a stream, as the GPU sees them. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_TIMING_EVENTS_H
#define PLIM_RUNTIME_DEVICE_CUDA_TIMING_EVENTS_H

#include "kernels/cuda/driver.h"
#include "runtime/base/context.h"

typedef struct plim_cuda_timing_events {
  int32_t n, room;
  void **timing_event; /* [n] */
} plim_cuda_timing_events;

/* Have at least `n` timing events. *code: the driver's when the status is PLIM_EDEVICE. */
PLIM_MUST_USE plim_status plim_cuda_timing_events_reserve(plim_cuda_timing_events *timing_events, plim_context *ctx,
                                                          const plim_cuda_driver *driver, int32_t n, int *code);
void plim_cuda_timing_events_free(plim_cuda_timing_events *timing_events, plim_context *ctx,
                                  const plim_cuda_driver *driver);

/* What passed between timing events 0 and 1, 1 and 2, ..., ns [n], once the stream is through with them; the driver's
 * code. */
int plim_cuda_timing_events_read(const plim_cuda_timing_events *timing_events, const plim_cuda_driver *driver,
                                 int32_t n, int64_t *time_ns);

/* What is left of a time that was taken between two timing events, of which one costs timing_event_ns; at least 1. */
int64_t plim_cuda_timing_events_less(int64_t time_ns, int64_t timing_event_ns);

/* Times of the parts of a whole, ns [n]: without the cost of a timing event each, then in proportion to a sum of
 * whole_ns; 0: the whole is not known, and the parts keep their own sum. */
void plim_cuda_timing_events_share(int64_t *time_ns, int32_t n, int64_t timing_event_ns, int64_t whole_ns);

#endif
