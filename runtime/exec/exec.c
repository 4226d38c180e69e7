/* Runs a step (run_in_order, run_queued): one walk over flat arrays of bound pointers.
 *
 * Everything is decided at open, with one exception. Before a command a caller may give another plan that begins with
 * the commands that have run (plim_plan_switch_ask): it takes the place of the bound plan, and the loop goes on in it.
 * For each command the memory meter sees the arguments. Then the device, the device's watcher or the caller gets a call
 * that is assembled from the arrays. In a plan with copies run_queued runs queue 0, and queues.c the others; on a GPU
 * run_in_order puts every command on its queue (streams.c). */
#include "runtime/exec/exec.h"

#include <assert.h>
#include <string.h>

#include "runtime/exec/exec_device.h"
#include "runtime/exec/streams.h"

/* A step that runs: its plan, and what computes its commands, chosen once. Threads of other queues read it. */
typedef struct running_step {
  plim_exec *exec;
  plim_exec_plan *plan;
  plim_bound_plan *bound;
  plim_run *run; /* the caller's; NULL: the device with prepared kernels */
  void *user;
  plim_run *compute;              /* run_prepared, run_callers or run_on_stream */
  const plim_device_watch *watch; /* NULL: nobody watches */
} running_step;

/* What computes a command. A watcher cannot tell the device and the caller's function apart. */
typedef struct target {
  const running_step *step;
  void *kernel;
} target;

static plim_status run_prepared(void *user, const plim_run_call *call) {
  const target *t = user;
  plim_device *device = t->step->exec->device;
  return device->api->kernels.run(device, call->queue, t->kernel, &call->args);
}

static plim_status run_callers(void *user, const plim_run_call *call) {
  const running_step *s = ((const target *)user)->step;
  plim_status status = s->run(s->user, call);
  if (status == PLIM_OK) return PLIM_OK;
  return plim_fail(s->exec->ctx, status, "the caller's kernel returned \"%s\"", plim_status_name(status));
}

/* A command of a plan with copies, on a device that has queues of its own. */
static plim_status run_on_stream(void *user, const plim_run_call *call) {
  const running_step *s = ((const target *)user)->step;
  const int32_t j = call->command;
  PLIM_TRY(plim_streams_before(s->exec, s->bound, j));
  if (s->bound->plan->command[j].kind == PLIM_COMMAND_COPY) {
    PLIM_TRY(plim_streams_copy(s->exec, s->bound, j));
  } else {
    PLIM_TRY(s->run ? run_callers(user, call) : run_prepared(user, call));
  }
  return plim_streams_after(s->exec, s->bound, j);
}

static plim_status run_command(const running_step *s, int32_t j) {
  plim_exec *exec = s->exec;
  const plim_bound_plan *bound = s->bound;
  const plim_bound_command *command = &bound->command[j];
  plim_run_call call = {.graph = bound->graph,
                        .command = j,
                        .op = command->op,
                        .variant = command->variant,
                        .queue = command->queue,
                        .args = plim_bound_plan_args(bound, j),
                        .workspace_bytes = command->workspace_bytes};
  call.args.seed = exec->step.seed;
  call.args.step = exec->step.number;
  assert(s->run || !exec->options.own_kernels); /* plim_exec_step refuses such a step */
  target t = {s, command->kernel};
  return s->watch ? s->watch->command(exec->device, &call, s->compute, &t) : s->compute(&t, &call);
}

static plim_status run_timed(const running_step *s, int32_t j) {
  int64_t start = plim_exec_device_clock(s->exec);
  PLIM_TRY(run_command(s, j));
  PLIM_TRY(plim_exec_device_sync(s->exec));
  s->bound->time_ns[j] = plim_exec_device_clock(s->exec) - start;
  return PLIM_OK;
}

/* Fail with a sentence that begins with command, op and variant, and ends with the context's sentence. */
static plim_status fail_command(const running_step *s, int32_t j, plim_status failed) {
  plim_context *ctx = s->exec->ctx;
  const plim_bound_plan *bound = s->bound;
  const plim_bound_command *command = &bound->command[j];
  if (command->op < 0) {
    return plim_fail(ctx, failed, "command %d (copy of \"%s\"): %s", (int)j,
                     plim_graph_storage_name(bound->graph, bound->plan->command[j].storage, ""),
                     plim_context_error(ctx));
  }
  return plim_fail(ctx, failed, "command %d (op \"%s\", variant \"%s\"): %s", (int)j,
                   bound->graph->op[command->op].name, command->variant, plim_context_error(ctx));
}

/* A run on another thread. */
static plim_status run_beside(void *user, int32_t j) {
  const running_step *s = user;
  plim_status status = run_command(s, j);
  return status == PLIM_OK ? PLIM_OK : fail_command(s, j, status);
}

/* The loop over the commands of a plan with copies. It runs the commands of queue 0, each after the commands that it
 * waits for. The meter counts the commands of all queues in the order of the plan. */
static plim_status run_queued(running_step *s, plim_memory_meter *meter) {
  plim_exec *exec = s->exec;
  plim_bound_plan *bound = s->bound;
  int running = 1;
  plim_exec_begin_meter(exec, bound, meter);
  plim_queues_begin(exec->queues.threads, bound, run_beside, s);
  for (int32_t j = 0; j < bound->plan->n_commands && running; j++) {
    plim_memory_meter_command(meter, bound, j);
    if (bound->plan->command[j].queue != 0) continue;
    plim_queues_wait(exec->queues.threads, j);
    running = !plim_queues_has_stopped(exec->queues.threads);
    if (!running) continue;
    bound->begin_ns[j] = plim_queues_clock(exec->queues.threads);
    plim_status status = run_command(s, j); /* complete when it returns: the device is the cpu */
    bound->time_ns[j] = plim_queues_clock(exec->queues.threads) - bound->begin_ns[j];
    if (status == PLIM_OK) {
      plim_queues_ran(exec->queues.threads);
    } else {
      plim_queues_failed(exec->queues.threads, j, fail_command(s, j, status));
      running = 0;
    }
  }
  PLIM_TRY(plim_queues_end(exec->queues.threads, running, exec->step.number));
  PLIM_TRY(plim_exec_queue_results(exec, s->plan));
  return plim_exec_device_sync(exec);
}

/* What happens before command j of a plan without other threads. It may put another plan in the place of *s->bound. */
typedef plim_status before_fn(const running_step *s, int32_t j, plim_memory_meter *meter);

static plim_status nothing_before(const running_step *s, int32_t j, plim_memory_meter *meter) {
  (void)s, (void)j, (void)meter;
  return PLIM_OK;
}
static plim_status allocate_before(const running_step *s, int32_t j, plim_memory_meter *meter) {
  (void)meter;
  return plim_each_command(s->exec, s->plan, j);
}
static plim_status ask_before(const running_step *s, int32_t j, plim_memory_meter *meter) {
  return j > 0 ? plim_plan_switch_ask(s->exec, s->plan, j, meter) : PLIM_OK;
}

static before_fn *before_of(const running_step *s) {
  if (plim_exec_allocates_each(s->exec)) return allocate_before;
  return s->exec->hook.before_command && !s->watch ? ask_before : nothing_before;
}

/* The loop over the commands of a plan without other threads. */
static plim_status run_in_order(running_step *s, plim_memory_meter *meter) {
  plim_exec *exec = s->exec;
  plim_bound_plan *bound = s->bound;
  const int has_copies = bound->wait != NULL; /* a GPU cannot time the commands of such a plan */
  const int timed = exec->step.timed > 0 && !has_copies;
  const int by_device = timed && !plim_exec_allocates_each(exec) && s->watch && s->watch->times;
  plim_status (*const run_one)(const running_step *, int32_t) = timed && !by_device ? run_timed : run_command;
  before_fn *const before = before_of(s);
  if (s->watch) {
    PLIM_TRY(s->watch->begin(exec->device, bound->graph, bound->plan, exec->arena.base, exec->arena.bytes, timed));
  }
  plim_exec_begin_meter(exec, bound, meter);
  for (int32_t j = 0; j < bound->plan->n_commands; j++) {
    PLIM_TRY(before(s, j, meter)); /* *bound may be another plan from here on */
    plim_memory_meter_command(meter, bound, j);
    const plim_status status = run_one(s, j);
    if (status != PLIM_OK) return fail_command(s, j, status);
  }
  PLIM_TRY(plim_exec_queue_results(exec, s->plan));
  PLIM_TRY(plim_exec_device_sync(exec));
  return by_device ? s->watch->times(exec->device, bound->time_ns) : PLIM_OK;
}

/* Choose the loop, and run it. The meter sees each command before it runs; *meter is complete on success. */
static plim_status run_commands(plim_exec *exec, plim_exec_plan *p, plim_memory_meter *meter, plim_run *run,
                                void *user) {
  const int streams = p->bound.wait && plim_streams_has(exec);
  plim_run *compute = run ? run_callers : run_prepared;
  if (streams) compute = run_on_stream; /* which calls one of the two */
  running_step step = {.exec = exec,
                       .plan = p,
                       .bound = &p->bound,
                       .run = run,
                       .user = user,
                       .compute = compute,
                       .watch = plim_exec_device_watch(exec)};
  return p->bound.wait && !streams ? run_queued(&step, meter) : run_in_order(&step, meter);
}

/* Every input that the plan reads must have been written since its last step, because a step reuses the bytes of
 * inputs. */
static plim_status check_inputs(const plim_exec *exec, int32_t plan_index) {
  const plim_exec_plan *p = &exec->plan[plan_index];
  const plim_graph *graph = p->bound.graph;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!p->reads[v] || p->bound.buffer_before[graph->value[v].storage] < 0 || plim_exec_is_written(p, v)) continue;
    return plim_fail(exec->ctx, PLIM_EUSAGE, "input \"%s\" has not been written since the last step of plan %d",
                     graph->value[v].name, (int)plan_index);
  }
  return PLIM_OK;
}

/* What the meter counted in a complete step. */
static plim_exec_use use_of(const plim_memory_meter *meter, const plim_plan *plan, int64_t own_allocations) {
  plim_exec_use use = {.peak_bytes = meter->space[0].peak_bytes,
                       .packed_bytes = meter->space[0].packed_bytes,
                       .own_allocations = own_allocations};
  for (int32_t k = 0; k < plan->n_page_spaces; k++) {
    use.page[k].peak_bytes = meter->space[plim_page_space_at(k)].peak_bytes;
    use.page[k].packed_bytes = meter->space[plim_page_space_at(k)].packed_bytes;
  }
  return use;
}

plim_status plim_exec_step(plim_exec *exec, int32_t plan_index, plim_run *run, void *user) {
  PLIM_TRY(plim_exec_check_index(exec, plan_index));
  if (exec->options.own_kernels && !run) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "own_kernels was set at open: a step needs a function to run");
  }
  PLIM_TRY(check_inputs(exec, plan_index));
  plim_exec_plan *p = &exec->plan[plan_index];
  plim_exec_claim(exec, plan_index);
  PLIM_TRY(plim_exec_check_room(exec, plan_index));
  exec->contents.inputs_of = PLIM_NONE; /* the step reuses their bytes */
  memset(p->written, 0, (size_t)p->bound.graph->n_values);
  int64_t before = plim_context_memory(exec->ctx).allocations;
  plim_memory_meter meter;
  plim_status status = run_commands(exec, p, &meter, run, user);
  if (status == PLIM_OK) {
    p->use = use_of(&meter, p->bound.plan, plim_context_memory(exec->ctx).allocations - before);
    status = plim_memory_meter_compare(&meter, &p->bound);
  }
  if (status == PLIM_OK) {
    exec->contents.outputs_of = plan_index;
  } else if (plim_exec_allocates_each(exec)) {
    plim_each_free_transient(exec, p);
  }
  return status;
}

void plim_exec_set_step(plim_exec *exec, uint64_t seed, int64_t step) {
  exec->step.seed = seed;
  exec->step.number = step;
}
