/* The cuda device: times by timing events on the stream, of single kernels and of steps, and rehearsals of kernels. */
#include "runtime/base/integers.h"
#include "runtime/device/device_cuda_internal.h"

plim_status plim_cuda_reserve_timing_events(plim_device *device, int32_t n) {
  plim_cuda_state *s = device->state;
  int code;
  plim_status status = plim_cuda_timing_events_reserve(&s->timing_events, device->ctx, s->driver, n, &code);
  return status == PLIM_EDEVICE ? plim_cuda_check(device, code, "making a timing event") : status;
}

plim_status plim_cuda_record_timing_event(plim_device *device, int32_t index) {
  const plim_cuda_state *s = device->state;
  return plim_cuda_check(device, s->driver->timing_event_record(s->timing_events.timing_event[index], s->stream[0]),
                         "recording a timing event");
}

static plim_status launch_between_events(plim_device *device, plim_cuda_kernel *kernel, const plim_kernel_args *args,
                                         int32_t n) {
  PLIM_TRY(plim_cuda_begin_recording(device));
  PLIM_TRY(plim_cuda_record_timing_event(device, 0));
  for (int32_t i = 0; i < n; i++) PLIM_TRY(plim_cuda_launch(device, 0, kernel, args));
  return plim_cuda_record_timing_event(device, 1);
}

/* Time n runs of a kernel in a capture of their own, between two timing events, since a step runs it captured too. */
static plim_status time_runs(plim_device *device, plim_cuda_kernel *kernel, const plim_kernel_args *args, int32_t n,
                             int64_t *time_ns) {
  plim_cuda_state *s = device->state;
  PLIM_TRY(plim_cuda_reserve_timing_events(device, 2));
  plim_status status = launch_between_events(device, kernel, args, n);
  if (status == PLIM_OK) status = plim_cuda_end_recording(device, &s->once);
  if (status == PLIM_OK) {
    status = plim_cuda_check(device, s->driver->captured_launch(s->once, s->stream[0]), "launching");
  }
  if (status == PLIM_OK) status = plim_cuda_check(device, s->driver->stream_sync(s->stream[0]), "waiting for the GPU");
  if (status == PLIM_OK) {
    status = plim_cuda_check(device, plim_cuda_timing_events_read(&s->timing_events, s->driver, 1, time_ns),
                             "reading a timing event");
  }
  plim_cuda_forget(s);
  return status;
}

/* The cost of a timing event is the time between two events with nothing in between. */
plim_status plim_cuda_find_timing_event_cost(plim_device *device) {
  enum { TIMES = 9 };
  plim_cuda_state *s = device->state;
  int64_t sample[TIMES];
  if (s->timing_event_ns >= 0) return PLIM_OK;
  for (int i = 0; i < TIMES; i++) PLIM_TRY(time_runs(device, NULL, NULL, 0, &sample[i]));
  plim_integers_sort(sample, TIMES);
  s->timing_event_ns = sample[TIMES / 2] > 0 ? sample[TIMES / 2] : 0;
  return PLIM_OK;
}

int64_t plim_device_cuda_timing_event_ns(const plim_device *device) {
  return ((const plim_cuda_state *)device->state)->timing_event_ns;
}

/* Number of runs to time together, so that the resolution of the GPU's clock, 0.5 us or more, does not matter. */
static int32_t batch_for(int64_t time_ns) {
  enum { SMALL_NS = 20000, TOGETHER_NS = 50000, MOST_RUNS = 32 };
  if (time_ns >= SMALL_NS) return 1;
  const int64_t n = TOGETHER_NS / time_ns;
  return n < MOST_RUNS ? (int32_t)n : MOST_RUNS;
}

plim_status plim_cuda_measure(plim_device *device, void *kernel, const plim_kernel_args *args, int64_t *time_ns) {
  plim_cuda_state *s = device->state;
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_cuda_find_timing_event_cost(device));
  PLIM_TRY(plim_cuda_set_now(device, 0, args));
  PLIM_TRY(plim_cuda_check(device, plim_cuda_kernel_load(kernel, &s->engine, plim_cuda_stream(s, 0), args, s->now),
                           "launching a kernel"));
  int32_t batch = plim_cuda_kernel_batch(kernel);
  const int first = batch == 0;
  if (first) {
    PLIM_TRY(time_runs(device, kernel, args, 1, time_ns));
    batch = batch_for(plim_cuda_timing_events_less(*time_ns, s->timing_event_ns));
    plim_cuda_kernel_set_batch(kernel, batch);
  }
  if (!first || batch > 1) PLIM_TRY(time_runs(device, kernel, args, batch, time_ns));
  *time_ns = (plim_cuda_timing_events_less(*time_ns, s->timing_event_ns) + batch / 2) / batch;
  if (*time_ns < 1) *time_ns = 1;
  return PLIM_OK;
}

/* Run the kernel inside a capture, as a step does; then discard what was captured. */
static plim_status rehearse_capture(plim_device *device, plim_cuda_kernel *kernel, const plim_kernel_args *args) {
  plim_cuda_state *s = device->state;
  PLIM_TRY(plim_cuda_begin_recording(device));
  PLIM_TRY(plim_cuda_launch(device, 0, kernel, args));
  return plim_cuda_end_recording(device, &s->once);
}

plim_status plim_cuda_rehearse(plim_device *device, void *kernel, const plim_kernel_args *args) {
  plim_cuda_state *s = device->state;
  if (!plim_cuda_kernel_has_stages(kernel)) return PLIM_OK; /* our own kernel, which no library can refuse */
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_cuda_launch(device, 0, kernel, args));
  PLIM_TRY(plim_cuda_check(device, s->driver->stream_sync(s->stream[0]), "waiting for the GPU"));
  plim_status status = s->eager ? PLIM_OK : rehearse_capture(device, kernel, args);
  if (status == PLIM_OK) plim_cuda_forget_once(s);
  return status; /* after a failure the caller calls `recover`, which frees the recording */
}

plim_status plim_cuda_times(plim_device *device, int64_t *time_ns) {
  const plim_cuda_state *s = device->state;
  const int32_t n = s->step.last + 1;
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_cuda_check(device, plim_cuda_timing_events_read(&s->timing_events, s->driver, n, time_ns),
                           "reading timing events"));
  plim_cuda_timing_events_share(
      time_ns, n, s->timing_event_ns,
      s->step.whole_ns > 0 ? plim_cuda_timing_events_less(s->step.whole_ns, s->timing_event_ns) : 0);
  return PLIM_OK;
}

/* Takes the least time over all launches of a captured step, since the first launch may load something. */
plim_status plim_cuda_read_step_time(plim_device *device) {
  const plim_cuda_state *s = device->state;
  plim_cuda_graph_row *step = s->step.row;
  int64_t time_ns = 0;
  if (!step->has_timing_event || s->step.timed) return PLIM_OK;
  PLIM_TRY(plim_cuda_check(device, plim_cuda_timing_events_read(&s->timing_events, s->driver, 1, &time_ns),
                           "reading a timing event"));
  if (time_ns > 0 && (step->time_ns == 0 || time_ns < step->time_ns)) step->time_ns = time_ns;
  return PLIM_OK;
}
