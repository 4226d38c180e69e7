/* Runs a step (run_commands): one walk over flat arrays of bound pointers.
 *
 * All that can be decided was decided at open, but for an arena that shrinks under way: plim_plan_switch_ask. A step
 * assembles a call from the arrays, lets the memory meter see its arguments and hands it to the device, to the device's
 * watcher, or to the caller. Of a plan with copies this walk is that of queue 0; those of the copy queues are in
 * copy_queues.c. */
#include "runtime/exec/exec.h"

#include <assert.h>
#include <string.h>

#include "runtime/exec/exec_internal.h"

/* What computes a command: the device with a prepared kernel, or the caller's function. Watchers take both alike. */
typedef struct target {
  plim_context *ctx;
  plim_device *device;
  void *kernel;
  plim_run *run;
  void *user;
} target;

static plim_status run_prepared(void *user, const plim_run_call *call) {
  const target *t = user;
  return t->device->api->run(t->device, call->queue, t->kernel, &call->args);
}

static plim_status run_callers(void *user, const plim_run_call *call) {
  const target *t = user;
  plim_status status = t->run(t->user, call);
  if (status == PLIM_OK) return PLIM_OK;
  return plim_fail(t->ctx, status, "the caller's kernel returned \"%s\"", plim_status_name(status));
}

static plim_status run_command(plim_exec *exec, const plim_bound *bound, int32_t j, plim_run *run, void *user) {
  const plim_bound_command *command = &bound->command[j];
  plim_run_call call = {.graph = bound->graph,
                        .command = j,
                        .op = command->op,
                        .variant = command->variant,
                        .queue = command->queue,
                        .args = plim_bound_args(bound, j),
                        .workspace_bytes = command->workspace_bytes};
  call.args.seed = exec->seed;
  call.args.step = exec->step;
  assert(run || exec->device); /* plim_exec_step has refused the rest */
  target t = {exec->ctx, exec->device, command->kernel, run, user};
  plim_run *compute = run ? run_callers : run_prepared;
  const plim_device_watch *watch = exec->device ? exec->device->api->watch : NULL;
  return watch ? watch->command(exec->device, &call, compute, &t) : compute(&t, &call);
}

static plim_status sync_device(plim_exec *exec) {
  return exec->device ? exec->device->api->sync(exec->device) : PLIM_OK;
}

static int64_t clock_ns(plim_exec *exec) {
  return exec->device ? exec->device->api->clock(exec->device) : plim_now_ns();
}

static plim_status run_timed(plim_exec *exec, const plim_bound *bound, int32_t j, plim_run *run, void *user) {
  int64_t start = clock_ns(exec);
  PLIM_TRY(run_command(exec, bound, j, run, user));
  PLIM_TRY(sync_device(exec));
  bound->time_ns[j] = clock_ns(exec) - start;
  return PLIM_OK;
}

/* Name command, op and variant before what went wrong. */
static plim_status fail_step(plim_exec *exec, const plim_bound *bound, int32_t j, plim_status failed) {
  const plim_bound_command *command = &bound->command[j];
  return plim_fail(exec->ctx, failed, "command %d (op \"%s\", variant \"%s\"): %s", (int)j,
                   bound->graph->op[command->op].name, command->variant, plim_context_error(exec->ctx));
}

/* Does the device report the time of each command when the step ends? */
static int device_times(const plim_exec *exec) {
  return exec->timing > 0 && exec->arena && exec->device && exec->device->api->watch && exec->device->api->watch->times;
}

/* A run on another thread. */
typedef struct queued_step {
  plim_exec *exec;
  const plim_bound *bound;
  plim_run *run;
  void *user;
} queued_step;

static plim_status run_beside(void *user, int32_t j) {
  const queued_step *s = user;
  plim_status status = run_command(s->exec, s->bound, j, s->run, s->user);
  return status == PLIM_OK ? PLIM_OK : fail_step(s->exec, s->bound, j, status);
}

/* The loop over the commands of a plan with copies: the runs of queue 0, each after what it waits for. The meter counts
 * the commands of all queues in the order of the list. */
static plim_status run_queued(plim_exec *exec, plim_exec_plan *p, plim_memory_meter *meter, plim_run *run, void *user) {
  plim_bound *bound = &p->bound;
  int goes = 1;
  char *base[PLIM_PAGE_SPACES + 1];
  plim_exec_bases(exec, base);
  plim_memory_meter_begin(meter, bound, base);
  queued_step beside = {exec, bound, run, user};
  plim_copy_queues_begin(exec->queues, bound, run_beside, &beside);
  for (int32_t j = 0; j < bound->plan->n_commands && goes; j++) {
    plim_memory_meter_command(meter, bound, j);
    if (bound->plan->command[j].queue != 0) continue;
    goes = plim_copy_queues_wait(exec->queues, j);
    if (!goes) continue;
    bound->begin_ns[j] = plim_copy_queues_clock(exec->queues);
    plim_status status = run_command(exec, bound, j, run, user); /* complete when it returns: the device is the cpu */
    bound->time_ns[j] = plim_copy_queues_clock(exec->queues) - bound->begin_ns[j];
    if (status == PLIM_OK) {
      plim_copy_queues_ran(exec->queues);
    } else {
      plim_copy_queues_failed(exec->queues, j, fail_step(exec, bound, j, status));
      goes = 0;
    }
  }
  PLIM_TRY(plim_copy_queues_end(exec->queues, goes, exec->step));
  PLIM_TRY(plim_exec_queue_results(exec, p));
  return sync_device(exec);
}

/* The loop over the commands of a plan. The meter sees each command before it runs; *meter is complete on success. */
static plim_status run_commands(plim_exec *exec, plim_exec_plan *p, plim_memory_meter *meter, plim_run *run,
                                void *user) {
  plim_bound *bound = &p->bound;
  if (bound->wait) return run_queued(exec, p, meter, run, user);
  const plim_device_watch *watch = exec->device ? exec->device->api->watch : NULL;
  if (watch)
    PLIM_TRY(watch->begin(exec->device, bound->graph, bound->plan, exec->arena, exec->arena_bytes, exec->timing > 0));
  int waits = exec->timing > 0 && !device_times(exec), asks = exec->before_command && exec->arena && !watch;
  char *base[] = {exec->arena};
  plim_memory_meter_begin(meter, bound, base);
  for (int32_t j = 0; j < bound->plan->n_commands; j++) {
    if (!exec->arena) PLIM_TRY(plim_each_command(exec, p, j));
    if (j > 0 && asks) PLIM_TRY(plim_plan_switch_ask(exec, p, j, meter));
    plim_memory_meter_command(meter, bound, j);
    plim_status status = waits ? run_timed(exec, bound, j, run, user) : run_command(exec, bound, j, run, user);
    if (status != PLIM_OK) return fail_step(exec, bound, j, status);
  }
  PLIM_TRY(plim_exec_queue_results(exec, p));
  PLIM_TRY(sync_device(exec));
  return watch && device_times(exec) ? watch->times(exec->device, bound->time_ns) : PLIM_OK;
}

/* Every input that the plan reads must have been written since its last step, which reused its bytes. */
static plim_status check_inputs(const plim_exec *exec, int32_t plan_index) {
  const plim_bound *bound = &exec->plan[plan_index].bound;
  const plim_plan *plan = bound->plan;
  for (int32_t i = 0; i < plan->n_buffers && plan->buffer[i].begin == 0; i++) {
    int32_t storage = plan->buffer[i].storage;
    if (storage < 0 || bound->graph->storage[storage].role != PLIM_ROLE_INPUT) continue;
    if (exec->plan[plan_index].written[storage]) continue;
    return plim_fail(exec->ctx, PLIM_EUSAGE, "input \"%s\" has not been written since the last step of plan %d",
                     plim_graph_storage_name(bound->graph, storage, ""), (int)plan_index);
  }
  return PLIM_OK;
}

plim_status plim_exec_step(plim_exec *exec, int32_t plan_index, plim_run *run, void *user) {
  if (plan_index < 0 || plan_index >= exec->n) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "plan %d of a program of %d", (int)plan_index, (int)exec->n);
  }
  if (exec->options.own_kernels && !run) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "own_kernels was set at open: a step needs a function to run");
  }
  PLIM_TRY(check_inputs(exec, plan_index));
  plim_exec_plan *p = &exec->plan[plan_index];
  plim_exec_claim(exec, plan_index);
  PLIM_TRY(plim_exec_fits(exec, plan_index));
  exec->inputs_of = -1; /* the step uses them up */
  memset(p->written, 0, (size_t)p->bound.graph->n_storages);
  int64_t before = plim_context_memory(exec->ctx).allocations;
  plim_memory_meter meter;
  plim_status status = run_commands(exec, p, &meter, run, user);
  if (status == PLIM_OK) {
    p->use = (plim_exec_use){.peak_bytes = meter.space[0].peak_bytes,
                             .packed_bytes = meter.space[0].packed_bytes,
                             .own_allocations = plim_context_memory(exec->ctx).allocations - before};
    for (int32_t k = 0; k < p->bound.plan->n_pages; k++) {
      p->use.page[k].peak_bytes = meter.space[k + 1].peak_bytes;
      p->use.page[k].packed_bytes = meter.space[k + 1].packed_bytes;
    }
    status = plim_memory_meter_compare(&meter, &p->bound);
  }
  if (status == PLIM_OK) {
    exec->outputs_of = plan_index;
  } else if (!exec->arena) {
    plim_each_settle(exec, p);
  }
  return status;
}

void plim_exec_set_step(plim_exec *exec, uint64_t seed, int64_t step) {
  exec->seed = seed;
  exec->step = step;
}

plim_exec_use plim_exec_measured(const plim_exec *exec, int32_t plan_index) {
  return exec->plan[plan_index].use;
}

void plim_exec_timing_begin(plim_exec *exec) {
  exec->timing++;
}

void plim_exec_timing_end(plim_exec *exec) {
  assert(exec->timing > 0);
  exec->timing--;
}

const int64_t *plim_exec_times(const plim_exec *exec, int32_t plan_index) {
  return exec->timing > 0 ? exec->plan[plan_index].bound.time_ns : NULL;
}

plim_exec_timeline plim_exec_last_timeline(const plim_exec *exec, int32_t plan_index) {
  const plim_bound *bound = &exec->plan[plan_index].bound;
  if (!bound->wait) return (plim_exec_timeline){NULL, NULL, NULL};
  return (plim_exec_timeline){bound->begin_ns, bound->time_ns, bound->waited_ns};
}

const char *plim_exec_page_how(const plim_exec *exec, int32_t page) {
  return page >= 0 && page < exec->n_pages ? exec->page_how[page] : "";
}

plim_exec_copies plim_exec_copied(const plim_exec *exec, int32_t plan_index) {
  const plim_bound *bound = &exec->plan[plan_index].bound;
  plim_exec_copies sum = {.n = 0};
  for (int32_t j = 0; bound->wait && j < bound->plan->n_commands; j++) {
    if (bound->plan->command[j].kind == PLIM_COMMAND_COPY) {
      sum.n++;
      sum.copy_ns += bound->time_ns[j];
    } else {
      sum.late += bound->waited_ns[j] > 0;
      sum.waited_ns += bound->waited_ns[j];
    }
  }
  return sum;
}

int64_t plim_exec_arena_bytes(const plim_exec *exec) {
  return exec->arena_bytes;
}
