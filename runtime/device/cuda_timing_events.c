/* Measures times on a GPU by its events. Timing events are made once and recorded many times. */
#include "runtime/device/cuda_timing_events.h"

plim_status plim_cuda_timing_events_reserve(plim_cuda_timing_events *timing_events, plim_context *ctx,
                                            const plim_cuda_driver *driver, int32_t n, int *code) {
  *code = 0;
  if (n > timing_events->capacity) {
    PLIM_TRY(plim_resize_array(ctx, &timing_events->timing_event, timing_events->capacity, n,
                               sizeof *timing_events->timing_event));
    timing_events->capacity = n;
  }
  for (; timing_events->n < n; timing_events->n++) {
    *code = driver->timing_event_new(&timing_events->timing_event[timing_events->n]);
    if (*code != 0) return PLIM_EDEVICE;
  }
  return PLIM_OK;
}

void plim_cuda_timing_events_free(plim_cuda_timing_events *timing_events, plim_context *ctx,
                                  const plim_cuda_driver *driver) {
  for (int32_t i = 0; i < timing_events->n; i++) (void)driver->timing_event_free(timing_events->timing_event[i]);
  plim_release(ctx, timing_events->timing_event, timing_events->capacity, sizeof *timing_events->timing_event);
  *timing_events = (plim_cuda_timing_events){0};
}

int plim_cuda_timing_events_read(const plim_cuda_timing_events *timing_events, const plim_cuda_driver *driver,
                                 int32_t n, int64_t *time_ns) {
  for (int32_t i = 0; i < n; i++) {
    int code = driver->elapsed(timing_events->timing_event[i], timing_events->timing_event[i + 1], &time_ns[i]);
    if (code != 0) return code;
  }
  return 0;
}

int64_t plim_cuda_timing_events_less(int64_t time_ns, int64_t timing_event_ns) {
  return time_ns > timing_event_ns + 1 ? time_ns - timing_event_ns : 1;
}

void plim_cuda_timing_events_share(int64_t *time_ns, int32_t n, int64_t timing_event_ns, int64_t whole_ns) {
  int64_t sum_ns = 0, before_ns = 0, shared_ns = 0;
  for (int32_t i = 0; i < n; i++) {
    time_ns[i] = plim_cuda_timing_events_less(time_ns[i], timing_event_ns);
    sum_ns += time_ns[i];
  }
  for (int32_t i = 0; i < n && whole_ns > 0; i++) {
    before_ns += time_ns[i];
    const int64_t end_ns = (int64_t)((double)before_ns / (double)sum_ns * (double)whole_ns + 0.5);
    time_ns[i] = end_ns - shared_ns;
    shared_ns = end_ns;
  }
}
