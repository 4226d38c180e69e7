/* Times between points of a stream, measured by events on the GPU. On the thread of the device. */
#ifndef PLIM_RUNTIME_DEVICE_CUDA_TIMING_EVENTS_H
#define PLIM_RUNTIME_DEVICE_CUDA_TIMING_EVENTS_H

#include "kernels/cuda/driver.h"
#include "runtime/base/context.h"

typedef struct plim_cuda_timing_events {
  int32_t n, capacity; /* events that were made; length of the array */
  void **timing_event; /* [n] */
} plim_cuda_timing_events;

/* Make sure that there are at least `n` timing events.
 *   code  out  with PLIM_EDEVICE: the driver's code
 * PLIM_ENOMEM, PLIM_EDEVICE. */
PLIM_MUST_USE plim_status plim_cuda_timing_events_reserve(plim_cuda_timing_events *timing_events, plim_context *ctx,
                                                          const plim_cuda_driver *driver, int32_t n, int *code);
void plim_cuda_timing_events_free(plim_cuda_timing_events *timing_events, plim_context *ctx,
                                  const plim_cuda_driver *driver);

/* Read the times between timing events 0 and 1, 1 and 2, ..., n - 1 and n, after the stream has passed them.
 *   time_ns  [n]  out  ns
 * Returns 0 or the driver's code. */
int plim_cuda_timing_events_read(const plim_cuda_timing_events *timing_events, const plim_cuda_driver *driver,
                                 int32_t n, int64_t *time_ns);

/* A time between two timing events without the cost of one event, timing_event_ns; at least 1. */
int64_t plim_cuda_timing_events_less(int64_t time_ns, int64_t timing_event_ns);

/* Correct the times of the parts of a step: subtract the cost of a timing event from each, then scale them to a sum of
 * whole_ns.
 *   time_ns   [n]  in/out  ns
 *   whole_ns       in      0: not known, and the times are not scaled */
void plim_cuda_timing_events_share(int64_t *time_ns, int32_t n, int64_t timing_event_ns, int64_t whole_ns);

#endif
