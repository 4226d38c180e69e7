/* The cuda device: steps.
 *
 * A step arrives as begin, one call for each command, and sync. It runs in one of three modes (plim_cuda_step has their
 * states). QUEUE puts every kernel on the stream: in the first run of a plan, so that modules are loaded, and when the
 * executor syncs after each command. RECORD puts the kernels into a capture, and launches the captured step. REPLAY
 * launches the captured step, and ignores the calls. In all modes the first call copies seed and step number to device
 * memory. A timed step is queued, or recorded with timing events between its calls; that capture is launched only once.
 * A failure in any mode frees the plan's captured step. */
#include "kernels/cuda/dnn.h"
#include "runtime/device/device_cuda_internal.h"

enum { SETTLING = 2 /* number of runs of a plan that load or capture something: queued, then recorded */ };

void plim_cuda_forget_once(plim_cuda_state *cuda) {
  if (cuda->once) (void)cuda->driver->captured_free(cuda->once);
  cuda->once = NULL;
}

void plim_cuda_forget(plim_cuda_state *cuda) {
  void *ignored = NULL;
  if (cuda->recording) {
    if (cuda->driver->capture_end(cuda->stream[0], &ignored) == 0) {
      (void)cuda->driver->captured_free(ignored);
    } else {
      cuda->driver->clear(); /* a queue that was not joined yet */
    }
  }
  cuda->recording = 0;
  plim_cuda_forget_once(cuda);
  if (cuda->step.row) plim_cuda_graph_cache_invalidate(&cuda->graphs, cuda->driver, cuda->step.row->arena);
  cuda->step.row = NULL;
}

/* The mode of the current step: queued the first time, so that every module is loaded; captured the second time; then
 * replayed. A timed step is captured again. */
static plim_cuda_mode choose_mode(const plim_cuda_state *cuda) {
  const plim_cuda_step *step = &cuda->step;
  if (cuda->eager || !step->row->arena || step->row->runs == 0) return PLIM_CUDA_QUEUE;
  return step->row->captured && !step->timed ? PLIM_CUDA_REPLAY : PLIM_CUDA_RECORD;
}

/* Number of timing events that the current step needs: around each command of a timed step, or at both ends of a
 * captured step. The first run, which is queued, makes the events of the capture. */
static int32_t timing_events_of(const plim_cuda_state *cuda) {
  if (cuda->step.timed) return cuda->step.row->plan->n_commands + 1;
  return cuda->eager || !cuda->step.row->arena ? 0 : 2;
}

static plim_status cuda_begin(plim_device *device, const plim_graph *graph, const plim_plan *plan, void *arena,
                              int64_t arena_bytes, int timed) {
  plim_cuda_state *cuda = device->state;
  plim_cuda_step *step = &cuda->step;
  (void)arena_bytes;
  plim_status entered = plim_cuda_check(device, cuda->driver->current(device->index), "choosing the GPU");
  plim_cuda_forget(cuda); /* an earlier step may have failed before its end */
  PLIM_TRY(entered);
  if (timed && arena) PLIM_TRY(plim_cuda_find_timing_event_cost(device));
  *step = (plim_cuda_step){.graph = graph, .last = PLIM_NONE, .timed = timed && arena};
  step->row = plim_cuda_graph_cache_find(&cuda->graphs, cuda->driver, plan, arena);
  if (step->row->runs == 0) plim_dnn_trim(cuda->engine.dnn); /* frees cuDNN's plans of variants that were not chosen */
  step->mode = choose_mode(cuda);
  if (step->timed) plim_cuda_graph_row_uncapture(step->row, cuda->driver); /* one captured step a plan at a time */
  step->whole_ns = step->row->time_ns;
  if (step->mode == PLIM_CUDA_RECORD && !step->timed) step->row->has_timing_event = step->row->time_ns == 0;
  return plim_cuda_reserve_timing_events(device, timing_events_of(cuda));
}

/* Are there timing events at the two ends of the current step? */
static int has_ends(const plim_cuda_step *step) {
  return step->mode == PLIM_CUDA_RECORD && !step->timed && step->row->has_timing_event;
}

static plim_status put_command(plim_device *device, const plim_run_call *call, plim_run *run, void *user) {
  plim_cuda_state *cuda = device->state;
  plim_cuda_step *step = &cuda->step;
  if (call->command == 0) {
    PLIM_TRY(plim_cuda_set_now(device, 0, &call->args));
    if (step->mode == PLIM_CUDA_RECORD) PLIM_TRY(plim_cuda_begin_recording(device));
    if (step->timed || has_ends(step)) PLIM_TRY(plim_cuda_record_timing_event(device, 0));
  }
  if (step->mode != PLIM_CUDA_REPLAY) PLIM_TRY(run(user, call));
  step->last = call->command; /* now: a copy that is the last command would else end the step before itself */
  if (step->mode == PLIM_CUDA_REPLAY) return PLIM_OK;
  if (has_ends(step) && call->command + 1 == step->row->plan->n_commands) {
    return plim_cuda_record_timing_event(device, 1);
  }
  return step->timed ? plim_cuda_record_timing_event(device, call->command + 1) : PLIM_OK;
}

/* After a failure the recording ends at once: the driver frees no memory while it records. */
static plim_status cuda_step(plim_device *device, const plim_run_call *call, plim_run *run, void *user) {
  plim_status status = put_command(device, call, run, user);
  if (status != PLIM_OK) {
    plim_cuda_forget(device->state);
    plim_cuda_wait_for_copies(device->state); /* other queues may still use the arena */
  }
  return status;
}

plim_status plim_cuda_finish_step(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  plim_cuda_step *step = &cuda->step;
  if (step->launched) return PLIM_OK;
  step->launched = 1;
  if (cuda->recording) PLIM_TRY(plim_cuda_end_recording(device, step->timed ? &cuda->once : &step->row->captured));
  if (step->mode == PLIM_CUDA_QUEUE) return PLIM_OK;
  void *captured = step->timed ? cuda->once : step->row->captured;
  return plim_cuda_check(device, cuda->driver->captured_launch(captured, plim_cuda_stream(cuda, 0)),
                         "launching the step");
}

/* Note the device memory outside the arenas: the plan that has just run needs no more. */
static plim_status settle(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  plim_cuda_memory now = {.outside_bytes = 0};
  PLIM_TRY(plim_device_cuda_memory(device, &now));
  cuda->settled = now.outside_bytes;
  return PLIM_OK;
}

/* Name the step that failed, with its first and last op. The driver does not say which kernel failed: a captured step
 * fails as a whole, and a failure in a queue is reported at its end. */
static plim_status name_step(const plim_device *device, plim_status failed) {
  const plim_cuda_state *cuda = device->state;
  const plim_graph *graph = cuda->step.graph;
  return plim_fail(
      device->ctx, failed,
      "step %lld of the run, %s from op \"%s\" to op \"%s\" (--no-cuda-graph with CUDA_LAUNCH_BLOCKING=1 in the "
      "environment tells them apart): %s",
      (long long)cuda->now_step, cuda->step.mode == PLIM_CUDA_QUEUE ? "queued" : "captured", graph->op[0].name,
      graph->op[graph->n_ops - 1].name, plim_context_error(device->ctx));
}

plim_status plim_cuda_fail_step(plim_device *device, plim_status failed) {
  plim_cuda_state *cuda = device->state;
  if (cuda->step.row && cuda->step.row->arena) failed = name_step(device, failed);
  plim_cuda_forget(cuda);
  return failed;
}

int plim_cuda_step_is_complete(const plim_cuda_step *step) {
  return step->row && step->last + 1 == step->row->plan->n_commands;
}

/* Wait for all queues. Ends the current step when its last command has been put: an executor that times commands also
 * syncs before that. */
plim_status plim_cuda_sync(plim_device *device) {
  plim_cuda_state *cuda = device->state;
  plim_status status = plim_cuda_enter(device);
  if (status == PLIM_OK && cuda->step.row) status = plim_cuda_finish_step(device);
  for (int i = 0; i < PLIM_CUDA_QUEUES && status == PLIM_OK; i++) {
    if (cuda->busy & 1U << i) {
      status = plim_cuda_check(device, cuda->driver->stream_sync(cuda->stream[i]), "waiting for the GPU");
    }
  }
  if (status == PLIM_OK) {
    cuda->busy = 0;
    cuda->now_used = 0;
  }
  if (status == PLIM_OK && cuda->step.row) status = plim_cuda_read_step_time(device);
  if (status != PLIM_OK) return plim_cuda_fail_step(device, status);
  if (plim_cuda_step_is_complete(&cuda->step)) {
    const int64_t runs = ++cuda->step.row->runs;
    cuda->step.row = NULL;
    plim_cuda_forget_once(cuda);
    if (runs <= SETTLING) status = settle(device);
  }
  return status;
}

/* Free the captured steps of an arena: they hold kernels and addresses of their plans. */
static void cuda_forget_plans(plim_device *device, const void *arena) {
  plim_cuda_state *cuda = device->state;
  (void)cuda->driver->current(device->index);
  plim_cuda_graph_cache_invalidate(&cuda->graphs, cuda->driver, arena);
}

const plim_device_watch plim_cuda_watch = {
    .begin = cuda_begin, .command = cuda_step, .times = plim_cuda_times, .forget_plans = cuda_forget_plans};
