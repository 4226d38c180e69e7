/* Runs a step: one walk over flat arrays of bound pointers. Everything is decided at open, but for plan switches.
 *
 *   plim_exec_step         checks, runs, compares the bytes that were measured with the plan's
 *     run_in_order         THE LOOP over the commands. run_queued is that of a plan whose other queues have threads
 *       before_command     allocates the buffers that begin, or lets another plan take over
 *       run_command        assembles the call from the flat arrays: op, variant, operands, workspace
 *         compute          calls the device's kernel or the caller's function; on queues of a GPU it also copies
 *
 * A device that watches steps (sim, check, cuda) stands between the last two: run_command gives it the call, and it
 * calls `compute` when it wants the result. It cannot tell the device's kernel and the caller's function apart.
 *
 * The memory meter sees each command before it runs. A plan switch (plim_plan_switch_ask) replaces the bound plan by
 * one that begins with the commands that have run, and the loop continues in it. */
#include "runtime/exec/exec.h"

#include <assert.h>
#include <string.h>

#include "runtime/exec/exec_device.h"
#include "runtime/exec/streams.h"

/* What runs the queues of the plan other than queue 0: its copies, and the runs of other spaces that compute. */
typedef enum other_queues {
  NO_OTHER_QUEUES,   /* the plan has none */
  QUEUES_ON_THREADS, /* plim_queues, a thread each */
  QUEUES_OF_DEVICE   /* streams.h: those of a GPU */
} other_queues;

/* Who measures the time of each command. */
typedef enum timekeeper {
  NOT_TIMED,
  TIMED_BY_DEVICE, /* the functions of `watch` */
  TIMED_BY_CLOCK   /* the executor waits for each command and reads the clock of the device */
} timekeeper;

/* A step that runs. Threads of other queues read it, but not the meter. */
typedef struct running_step {
  plim_exec *exec;
  plim_exec_plan *plan;
  plim_bound_plan *bound; /* &plan->bound: a plan switch replaces what is there */
  plim_run *run;          /* the caller's function; NULL: the device with prepared kernels */
  void *user;
  const plim_device_watch *watch; /* NULL: the device does not watch */
  plim_memory_meter meter;        /* complete when the step has succeeded */
  other_queues queues;
  timekeeper timekeeper;
  int asks_hook; /* the before-command hook may give another plan */
} running_step;

static other_queues queues_of(const plim_exec *exec, const plim_bound_plan *bound) {
  if (!plim_bound_plan_has_queues(bound)) return NO_OTHER_QUEUES;
  return plim_streams_has(exec) ? QUEUES_OF_DEVICE : QUEUES_ON_THREADS;
}

/* A plan with other queues has no timekeeper: run_queued and the threads time its commands always, and a GPU cannot. */
static timekeeper timekeeper_of(const plim_exec *exec, const plim_bound_plan *bound) {
  const plim_device_watch *watch = plim_exec_device_watch(exec);
  if (exec->step.timing_users == 0 || plim_bound_plan_has_queues(bound)) return NOT_TIMED;
  return watch && watch->times && !plim_exec_allocates_each(exec) ? TIMED_BY_DEVICE : TIMED_BY_CLOCK;
}

/* All that is chosen for a step, once. */
static running_step step_of(plim_exec *exec, plim_exec_plan *exec_plan, plim_run *run, void *user) {
  const plim_device_watch *watch = plim_exec_device_watch(exec);
  return (running_step){.exec = exec,
                        .plan = exec_plan,
                        .bound = &exec_plan->bound,
                        .run = run,
                        .user = user,
                        .watch = watch,
                        .queues = queues_of(exec, &exec_plan->bound),
                        .timekeeper = timekeeper_of(exec, &exec_plan->bound),
                        .asks_hook = exec->hook.before_command && !watch && !plim_exec_allocates_each(exec)};
}

/* ---- one command ---- */

static plim_status run_kernel(const running_step *running, const plim_run_call *call) {
  plim_exec *exec = running->exec;
  if (!running->run) {
    void *kernel = running->bound->command[call->command].kernel;
    return exec->device->api->kernels.run(exec->device, call->queue, kernel, &call->args);
  }
  plim_status status = running->run(running->user, call);
  if (status == PLIM_OK) return PLIM_OK;
  return plim_fail(exec->ctx, status, "the caller's kernel returned \"%s\"", plim_status_name(status));
}

static plim_status compute(void *step, const plim_run_call *call) {
  const running_step *running = step;
  const int32_t j = call->command;
  if (running->queues != QUEUES_OF_DEVICE) return run_kernel(running, call);
  PLIM_TRY(plim_streams_before(running->exec, running->bound, j));
  PLIM_TRY(call->op < 0 ? plim_streams_copy(running->exec, running->bound, j) : run_kernel(running, call));
  return plim_streams_after(running->exec, running->bound, j);
}

static plim_status call_command(running_step *running, int32_t j) {
  plim_exec *exec = running->exec;
  const plim_bound_command *command = &running->bound->command[j];
  plim_run_call call = {.graph = running->bound->graph,
                        .command = j,
                        .op = command->op,
                        .variant = command->variant,
                        .queue = command->queue,
                        .args = plim_bound_plan_args(running->bound, j),
                        .workspace_bytes = command->workspace_bytes};
  call.args.seed = exec->step.seed;
  call.args.step = exec->step.number;
  assert(running->run || !exec->options.own_kernels); /* plim_exec_step refuses such a step */
  return running->watch ? running->watch->command(exec->device, &call, compute, running) : compute(running, &call);
}

/* Fail with a sentence that begins with command, op and variant, and ends with the context's sentence. */
static plim_status fail_command(const running_step *running, int32_t j, plim_status failed) {
  plim_context *ctx = running->exec->ctx;
  const plim_bound_plan *bound = running->bound;
  const plim_bound_command *command = &bound->command[j];
  if (command->op < 0) {
    return plim_fail(ctx, failed, "command %d (copy of \"%s\"): %s", (int)j,
                     plim_graph_storage_name(bound->graph, bound->plan->command[j].storage, ""),
                     plim_context_error(ctx));
  }
  return plim_fail(ctx, failed, "command %d (op \"%s\", variant \"%s\"): %s", (int)j,
                   bound->graph->op[command->op].name, command->variant, plim_context_error(ctx));
}

static plim_status run_command(running_step *running, int32_t j) {
  const int by_clock = running->timekeeper == TIMED_BY_CLOCK;
  const int64_t begin_ns = by_clock ? plim_exec_device_clock(running->exec) : 0;
  plim_status status = call_command(running, j);
  if (status == PLIM_OK && by_clock) {
    status = plim_exec_device_sync(running->exec);
    running->bound->time_ns[j] = plim_exec_device_clock(running->exec) - begin_ns;
  }
  return status == PLIM_OK ? PLIM_OK : fail_command(running, j, status);
}

/* ---- the loops ---- */

/* Allocate the buffers that begin at command j, or ask the hook, after which running->bound may have another plan. */
static plim_status before_command(running_step *running, int32_t j) {
  if (plim_exec_allocates_each(running->exec)) return plim_each_command(running->exec, running->plan, j);
  return running->asks_hook && j > 0 ? plim_plan_switch_ask(running->exec, running->plan, j, &running->meter) : PLIM_OK;
}

/* The loop over the commands of a plan without other threads. */
static plim_status run_in_order(running_step *running) {
  for (int32_t j = 0; j < running->bound->plan->n_commands; j++) {
    PLIM_TRY(before_command(running, j));
    plim_memory_meter_command(&running->meter, running->bound, j);
    PLIM_TRY(run_command(running, j));
  }
  return PLIM_OK;
}

/* A run of another space, on the thread of its queue. */
static plim_status run_on_thread(void *step, int32_t j) {
  return run_command(step, j);
}

/* Run command j of queue 0 after the commands that it waits for, and measure its begin and its time. Returns 0 when the
 * step is to stop, because this command or one of another queue has failed. */
static int run_after_waits(running_step *running, int32_t j) {
  plim_queues *queues = running->exec->queues.workers;
  plim_bound_plan *bound = running->bound;
  plim_queues_wait(queues, j);
  if (plim_queues_has_stopped(queues)) return 0;
  bound->begin_ns[j] = plim_queues_clock(queues);
  const plim_status status = run_command(running, j); /* complete when it returns: the device is the cpu */
  bound->time_ns[j] = plim_queues_clock(queues) - bound->begin_ns[j];
  if (status == PLIM_OK) {
    plim_queues_ran(queues);
  } else {
    plim_queues_failed(queues, j, status);
  }
  return status == PLIM_OK;
}

/* The loop over the commands of a plan whose other queues have threads: those of queue 0 run here. The meter counts the
 * commands of all queues in the order of the plan. */
static plim_status run_queued(running_step *running) {
  plim_queues *queues = running->exec->queues.workers;
  plim_bound_plan *bound = running->bound;
  int goes_on = 1;
  plim_queues_begin(queues, bound, run_on_thread, running);
  for (int32_t j = 0; j < bound->plan->n_commands && goes_on; j++) {
    plim_memory_meter_command(&running->meter, bound, j);
    if (bound->command[j].queue == 0) goes_on = run_after_waits(running, j);
  }
  return plim_queues_end(queues, goes_on, running->exec->step.number);
}

/* Run all commands, copy the results, and wait. */
static plim_status run_step(running_step *running) {
  plim_exec *exec = running->exec;
  const plim_memory_region *arena = &exec->spaces.memory[0];
  if (running->watch) {
    PLIM_TRY(running->watch->begin(exec->device, running->bound->graph, running->bound->plan, arena->base, arena->bytes,
                                   running->timekeeper != NOT_TIMED));
  }
  plim_memory_meter_begin(&running->meter, running->bound, exec->spaces.memory);
  PLIM_TRY(running->queues == QUEUES_ON_THREADS ? run_queued(running) : run_in_order(running));
  PLIM_TRY(plim_exec_queue_results(exec, running->plan));
  PLIM_TRY(plim_exec_device_sync(exec));
  if (running->timekeeper != TIMED_BY_DEVICE) return PLIM_OK;
  return running->watch->times(exec->device, running->bound->time_ns);
}

/* Every input that the plan reads must have been written since its last step, because a step reuses the bytes of
 * inputs. */
static plim_status check_inputs(const plim_exec *exec, int32_t plan_index) {
  const plim_exec_plan *exec_plan = &exec->plan[plan_index];
  const plim_graph *graph = exec_plan->bound.graph;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!exec_plan->reads[v] || exec_plan->bound.buffer_before[graph->value[v].storage] < 0 ||
        plim_exec_is_written(exec_plan, v)) {
      continue;
    }
    return plim_fail(exec->ctx, PLIM_EUSAGE, "input \"%s\" has not been written since the last step of plan %d",
                     graph->value[v].name, (int)plan_index);
  }
  return PLIM_OK;
}

/* What the meter counted in a complete step. */
static plim_exec_use use_of(const plim_memory_meter *meter, int64_t own_allocations) {
  plim_exec_use use = {.own_allocations = own_allocations};
  for (int32_t space = 0; space < PLIM_PLAN_SPACES; space++) {
    use.space[space].peak_bytes = meter->space[space].peak_bytes;
    use.space[space].packed_bytes = meter->space[space].packed_bytes;
  }
  return use;
}

plim_status plim_exec_step(plim_exec *exec, int32_t plan_index, plim_run *run, void *user) {
  PLIM_TRY(plim_exec_check_index(exec, plan_index));
  if (exec->options.own_kernels && !run) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "own_kernels was set at open: a step needs a function to run");
  }
  PLIM_TRY(check_inputs(exec, plan_index));
  plim_exec_plan *exec_plan = &exec->plan[plan_index];
  PLIM_TRY(plim_exec_check_room(exec, plan_index));
  plim_exec_claim(exec, plan_index);
  exec->contents.inputs_of = PLIM_NONE; /* the step reuses their bytes */
  memset(exec_plan->written, 0, (size_t)exec_plan->bound.graph->n_values);
  int64_t before = plim_context_memory(exec->ctx).allocations;
  running_step running = step_of(exec, exec_plan, run, user);
  plim_status status = run_step(&running);
  if (status == PLIM_OK) {
    exec_plan->use = use_of(&running.meter, plim_context_memory(exec->ctx).allocations - before);
    status = plim_memory_meter_compare(&running.meter, &exec_plan->bound);
  }
  if (status == PLIM_OK) {
    exec->contents.outputs_of = plan_index;
  } else if (plim_exec_allocates_each(exec)) {
    plim_each_free_transient(exec, exec_plan);
  }
  return status;
}

void plim_exec_set_step(plim_exec *exec, uint64_t seed, int64_t step) {
  exec->step.seed = seed;
  exec->step.number = step;
}
