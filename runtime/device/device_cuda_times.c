/* The cuda device: times by timing events on the stream, of single kernels and of steps, and rehearsals of kernels. */
#include "runtime/base/integers.h"
#include "runtime/device/device_cuda_internal.h"

plim_status plim_cuda_reserve_timing_events(plim_device *device, int32_t n) {
  plim_cuda_state *cuda = device->state;
  int code;
  plim_status status = plim_cuda_timing_events_reserve(&cuda->timing_events, device->ctx, cuda->driver, n, &code);
  return status == PLIM_EDEVICE ? plim_cuda_check(device, code, "making a timing event") : status;
}

plim_status plim_cuda_record_timing_event(plim_device *device, int32_t index) {
  const plim_cuda_state *cuda = device->state;
  return plim_cuda_check(device,
                         cuda->driver->timing_event_record(cuda->timing_events.timing_event[index], cuda->stream[0]),
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
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(plim_cuda_reserve_timing_events(device, 2));
  plim_status status = launch_between_events(device, kernel, args, n);
  if (status == PLIM_OK) status = plim_cuda_end_recording(device, &cuda->once);
  if (status == PLIM_OK) {
    status = plim_cuda_check(device, cuda->driver->captured_launch(cuda->once, cuda->stream[0]), "launching");
  }
  if (status == PLIM_OK)
    status = plim_cuda_check(device, cuda->driver->stream_sync(cuda->stream[0]), "waiting for the GPU");
  if (status == PLIM_OK) {
    status = plim_cuda_check(device, plim_cuda_timing_events_read(&cuda->timing_events, cuda->driver, 1, time_ns),
                             "reading a timing event");
  }
  plim_cuda_forget(cuda);
  return status;
}

/* The cost of a timing event is the time between two events with nothing in between. */
plim_status plim_cuda_find_timing_event_cost(plim_device *device) {
  enum { TIMES = 9 };
  plim_cuda_state *cuda = device->state;
  int64_t sample[TIMES];
  if (cuda->timing_event_ns >= 0) return PLIM_OK;
  for (int i = 0; i < TIMES; i++) PLIM_TRY(time_runs(device, NULL, NULL, 0, &sample[i]));
  plim_integers_sort(sample, TIMES);
  cuda->timing_event_ns = sample[TIMES / 2] > 0 ? sample[TIMES / 2] : 0;
  return PLIM_OK;
}

int64_t plim_device_cuda_timing_event_ns(const plim_device *device) {
  return ((const plim_cuda_state *)device->state)->timing_event_ns;
}

/* Number of runs to time together, so that the resolution of the GPU's clock, 0.5 us or more, does not matter. */
static int32_t batch_for(int64_t time_ns) {
  enum { SMALL_NS = 20000, TOGETHER_NS = 50000, RUNS_MAX = 32 };
  if (time_ns >= SMALL_NS) return 1;
  const int64_t n = TOGETHER_NS / time_ns;
  return n < RUNS_MAX ? (int32_t)n : RUNS_MAX;
}

plim_status plim_cuda_measure(plim_device *device, void *kernel, const plim_kernel_args *args, int64_t *time_ns) {
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_cuda_find_timing_event_cost(device));
  PLIM_TRY(plim_cuda_set_now(device, 0, args));
  PLIM_TRY(plim_cuda_check(device,
                           plim_cuda_kernel_load(kernel, &cuda->engine, plim_cuda_stream(cuda, 0), args, cuda->now),
                           "launching a kernel"));
  int32_t batch = plim_cuda_kernel_batch(kernel);
  const int first = batch == 0;
  if (first) {
    PLIM_TRY(time_runs(device, kernel, args, 1, time_ns));
    batch = batch_for(plim_cuda_timing_events_less(*time_ns, cuda->timing_event_ns));
    plim_cuda_kernel_set_batch(kernel, batch);
  }
  if (!first || batch > 1) PLIM_TRY(time_runs(device, kernel, args, batch, time_ns));
  *time_ns = (plim_cuda_timing_events_less(*time_ns, cuda->timing_event_ns) + batch / 2) / batch;
  if (*time_ns < 1) *time_ns = 1;
  return PLIM_OK;
}

/* Run the kernel inside a capture, as a step does; then discard what was captured. */
static plim_status rehearse_capture(plim_device *device, plim_cuda_kernel *kernel, const plim_kernel_args *args) {
  plim_cuda_state *cuda = device->state;
  PLIM_TRY(plim_cuda_begin_recording(device));
  PLIM_TRY(plim_cuda_launch(device, 0, kernel, args));
  return plim_cuda_end_recording(device, &cuda->once);
}

plim_status plim_cuda_rehearse(plim_device *device, void *kernel, const plim_kernel_args *args) {
  plim_cuda_state *cuda = device->state;
  if (!plim_cuda_kernel_has_stages(kernel)) return PLIM_OK; /* our own kernel, which no library can refuse */
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_cuda_launch(device, 0, kernel, args));
  PLIM_TRY(plim_cuda_check(device, cuda->driver->stream_sync(cuda->stream[0]), "waiting for the GPU"));
  plim_status status = cuda->eager ? PLIM_OK : rehearse_capture(device, kernel, args);
  if (status == PLIM_OK) plim_cuda_forget_once(cuda);
  return status; /* after a failure the caller calls `recover`, which frees the recording */
}

plim_status plim_cuda_times(plim_device *device, int64_t *time_ns) {
  const plim_cuda_state *cuda = device->state;
  const int32_t n = cuda->step.last + 1;
  PLIM_TRY(plim_cuda_enter(device));
  PLIM_TRY(plim_cuda_check(device, plim_cuda_timing_events_read(&cuda->timing_events, cuda->driver, n, time_ns),
                           "reading timing events"));
  plim_cuda_timing_events_share(
      time_ns, n, cuda->timing_event_ns,
      cuda->step.whole_ns > 0 ? plim_cuda_timing_events_less(cuda->step.whole_ns, cuda->timing_event_ns) : 0);
  return PLIM_OK;
}

/* Takes the least time over all launches of a captured step, since the first launch may load something. */
plim_status plim_cuda_read_step_time(plim_device *device) {
  const plim_cuda_state *cuda = device->state;
  plim_cuda_graph_row *step = cuda->step.row;
  int64_t time_ns = 0;
  if (!step->has_timing_event || cuda->step.timed) return PLIM_OK;
  PLIM_TRY(plim_cuda_check(device, plim_cuda_timing_events_read(&cuda->timing_events, cuda->driver, 1, &time_ns),
                           "reading a timing event"));
  if (time_ns > 0 && (step->time_ns == 0 || time_ns < step->time_ns)) step->time_ns = time_ns;
  return PLIM_OK;
}
