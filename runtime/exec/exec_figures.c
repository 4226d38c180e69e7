/* What an executor measured, and the sizes of its memory. */
#include <assert.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/streams.h"

plim_exec_use plim_exec_measured(const plim_exec *exec, int32_t plan_index) {
  return exec->plan[plan_index].use;
}

void plim_exec_timing_begin(plim_exec *exec) {
  exec->step.timing_users++;
}

void plim_exec_timing_end(plim_exec *exec) {
  assert(exec->step.timing_users > 0);
  exec->step.timing_users--;
}

const int64_t *plim_exec_times(const plim_exec *exec, int32_t plan_index) {
  const plim_bound_plan *bound = &exec->plan[plan_index].bound;
  const int on_gpu_queues = plim_bound_plan_has_queues(bound) && plim_streams_has(exec); /* nothing is timed there */
  return exec->step.timing_users > 0 && !on_gpu_queues ? bound->time_ns : NULL;
}

plim_exec_timeline plim_exec_last_timeline(const plim_exec *exec, int32_t plan_index) {
  const plim_bound_plan *bound = &exec->plan[plan_index].bound;
  if (!plim_bound_plan_has_queues(bound) || plim_streams_has(exec)) return (plim_exec_timeline){NULL, NULL, NULL};
  return (plim_exec_timeline){bound->begin_ns, bound->time_ns, bound->waited_ns};
}

const char *plim_exec_space_how(const plim_exec *exec, int32_t space) {
  return space >= 0 && space < exec->spaces.n ? exec->spaces.how[space] : "";
}

static int is_page(const plim_exec *exec, int32_t space) {
  return space > 0 && space < exec->spaces.n;
}

int64_t plim_exec_page_bytes(const plim_exec *exec, int32_t space) {
  return is_page(exec, space) ? exec->spaces.memory[space].bytes : 0;
}

const char *plim_exec_page_name(const plim_exec *exec, int32_t space) {
  return is_page(exec, space) ? exec->spaces.name[space] : "";
}

plim_exec_copies plim_exec_copied(const plim_exec *exec, int32_t plan_index) {
  const plim_bound_plan *bound = &exec->plan[plan_index].bound;
  plim_exec_copies sum = {.n = 0};
  for (int32_t j = 0; plim_bound_plan_has_queues(bound) && j < bound->plan->n_commands; j++) {
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
  return exec->spaces.memory[0].bytes;
}

int64_t plim_exec_first_bytes(const plim_exec *exec) {
  return exec->arena.first_bytes;
}
