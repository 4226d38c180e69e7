/* A plan switch: another plan takes over in the middle of a step. It may return the tail of the arena to the system:
 * persistent storages lie at the low end.
 *
 * The plan of a switch begins with the commands that have run, so the whole step is a run of that plan. The memory
 * meter counts the step from its start and compares it with that plan at its end. The plan serves this step alone.
 * A storage that stays live may have another offset in it: the storage is copied there. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/exec/exec_device.h"
#include "runtime/graph/check/check.h"

void plim_exec_set_before_command(plim_exec *exec, plim_before_command *before_command, void *user) {
  exec->hook.before_command = before_command;
  exec->hook.user = user;
}

/* Do both plans begin with the same runs, up to `command`? In-place pairs need no comparison: they show in the buffers.
 * Buffers are sorted by begin, then storage, so the buffers that have begun match one by one. *n is their number. */
static int begins_alike(const plim_plan *a, const plim_plan *b, int32_t command, int32_t *n) {
  int32_t j = 0, i = 0;
  if (a->n_commands < command || b->n_commands < command) return 0;
  while (j < command && plim_plan_is_same_run(a, b, j)) j++;
  for (; i < a->n_buffers && a->buffer[i].begin < command; i++) {
    const plim_plan_buffer *x = &a->buffer[i], *y = &b->buffer[i];
    if (i >= b->n_buffers || x->storage != y->storage || x->begin != y->begin) return 0;
  }
  *n = i;
  return j == command && (i == b->n_buffers || b->buffer[i].begin >= command);
}

/* The buffer that overwrites buffer i in place at its end, or PLIM_NONE. O(log buffers + those that begin there). */
static int32_t successor_of(const plim_graph *graph, const plim_plan *plan, int32_t i) {
  const plim_plan_buffer *buffer = &plan->buffer[i];
  if (buffer->storage < 0 || buffer->end >= plan->n_commands) return PLIM_NONE;
  const int32_t out = plim_command_result_over(graph, &plan->command[buffer->end], buffer->storage);
  if (out < 0) return PLIM_NONE;
  const int32_t first = plim_plan_first_buffer(plan, buffer->end);
  for (int32_t h = first; h < plan->n_buffers && plan->buffer[h].begin == buffer->end; h++) {
    if (plan->buffer[h].storage == out) return h;
  }
  return PLIM_NONE;
}

/* Does buffer i, which has begun, continue at `command`? */
static int continues(const plim_graph *graph, const plim_plan *plan, int32_t i, int32_t command) {
  int32_t end = plan->buffer[i].end;
  return end > command || (end == command && successor_of(graph, plan, i) >= 0);
}

/* A plan switch from one plan to another that begins with the same commands. */
typedef struct switching {
  const plim_graph *graph;
  const plim_plan *from, *to;
  int32_t command, n_begun; /* the next command; number of buffers that have begun */
} switching;

static int has_moved(const switching *change, int32_t i) {
  return change->from->buffer[i].offset != change->to->buffer[i].offset &&
         continues(change->graph, change->to, i, change->command);
}

/* Bytes of the arena that a buffer moves from or to. */
typedef struct moved_range {
  int64_t begin, end;
  int is_target;
} moved_range;

static int by_begin(const void *a, const void *b) {
  const moved_range *x = a, *y = b;
  return plim_integers_compare(x->begin, y->begin);
}

static moved_range range_of(const plim_plan_buffer *buffer, int is_target) {
  return (moved_range){buffer->offset, buffer->offset + buffer->bytes, is_target};
}

/* Does a target overlap a source? Sorts the ranges [n]. A range overlaps an earlier one of the other kind if it begins
 * below the highest end of that kind. */
static int targets_hit_sources(moved_range *range, int64_t n) {
  int64_t end[2] = {0, 0}; /* highest so far: of sources, of targets */
  qsort(range, (size_t)n, sizeof *range, by_begin);
  for (int64_t i = 0; i < n; i++) {
    const int kind = range[i].is_target;
    if (range[i].begin < end[!kind]) return 1;
    if (range[i].end > end[kind]) end[kind] = range[i].end;
  }
  return 0;
}

/* Find whether a buffer moves onto bytes from which one moves. Otherwise the order of the copies does not matter.
 *   collide  [1]  out
 * PLIM_ENOMEM. O(n log buffers). */
static plim_status find_collision(plim_context *ctx, const switching *change, int *collide) {
  const int64_t most = 2 * (int64_t)change->n_begun;
  moved_range *range = NULL;
  int64_t n = 0;
  PLIM_TRY(plim_allocate(ctx, most, sizeof *range, &range));
  for (int32_t i = 0; i < change->n_begun; i++) {
    if (!has_moved(change, i)) continue;
    range[n++] = range_of(&change->from->buffer[i], 0);
    range[n++] = range_of(&change->to->buffer[i], 1);
  }
  *collide = n > 0 && targets_hit_sources(range, n);
  plim_release(ctx, range, most, sizeof *range);
  return PLIM_OK;
}

/* Bytes of the arena that the plan needs from command j on. */
static int64_t bytes_from(const plim_plan *plan, int32_t j) {
  int64_t most = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    int64_t top = plan->buffer[i].offset + plan->buffer[i].bytes;
    if (plan->buffer[i].end > j && top > most) most = top;
  }
  return most;
}

int64_t plim_exec_moved_bytes(const plim_exec *exec) {
  return exec->arena.moved_bytes;
}

/* Give the buffers that ended before the next command offsets above all others; the input of an in-place pair gets the
 * offset of its output.
 *   buffer  [n_buffers]  in/out  those of change->to
 * PLIM_EPLAN: their sum is above 2^63 bytes. */
static plim_status lift_ended_buffers(const plim_exec *exec, const switching *change, plim_plan_buffer *buffer) {
  int64_t top = change->to->arena_bytes;
  for (int32_t i = change->n_begun - 1; i >= 0; i--) {
    if (continues(change->graph, change->to, i, change->command)) continue;
    const int32_t successor = successor_of(change->graph, change->to, i);
    buffer[i].offset = successor >= 0 ? buffer[successor].offset : top;
    if (successor < 0) top = plim_add_checked(top, buffer[i].bytes);
    if (top >= 0) continue;
    return plim_fail(exec->ctx, PLIM_EPLAN,
                     "a plan that takes over at command %d has an arena and buffers above 2^63 bytes in total",
                     (int)change->command);
  }
  return PLIM_OK;
}

/* Check the plan of a switch as one plan. A buffer that moved, now or at an earlier switch, has no single offset for
 * the whole step. So those that ended, which were checked with their own plan, are lifted above the others. */
static plim_status check_as_one_plan(const plim_exec *exec, const switching *change) {
  plim_plan draft = *change->to, *as_one = NULL;
  const int64_t n_buffers = draft.n_buffers;
  plim_plan_buffer *buffer = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(exec->ctx, n_buffers, sizeof *buffer, &buffer));
  memcpy(buffer, draft.buffer, (size_t)n_buffers * sizeof *buffer);
  draft.buffer = buffer;
  draft.budget_bytes = PLIM_BYTES_UNLIMITED;
  PLIM_TRY_OR_DONE(lift_ended_buffers(exec, change, buffer));
  PLIM_TRY_OR_DONE(plim_plan_from_parts(change->graph, &draft, &as_one));
  status = plim_plan_check(exec->ctx, change->graph, as_one);
done:
  plim_release(exec->ctx, buffer, n_buffers, sizeof *buffer);
  plim_plan_free(as_one);
  return status;
}

/* The next step runs the program's own plan, which has the persistent storages at their old places. */
static plim_status check_homes(const plim_exec *exec, const switching *change) {
  for (int32_t i = 0; i < change->n_begun; i++) {
    int32_t storage = change->to->buffer[i].storage;
    if (storage < 0 || !plim_role_persistent(change->graph->storage[storage].role) || !has_moved(change, i)) continue;
    return plim_fail(exec->ctx, PLIM_EPLAN, "a plan that takes over at command %d moves the %s \"%s\"",
                     (int)change->command, plim_role_name(change->graph->storage[storage].role),
                     plim_graph_storage_name(change->graph, storage, "?"));
  }
  return PLIM_OK;
}

/* The plan comes from the caller: its form is checked before anything else of it is read. */
static plim_status check_plan_switch(const plim_exec *exec, int32_t plan_index, switching *change,
                                     int64_t arena_bytes) {
  int32_t command = change->command;
  PLIM_TRY(plim_exec_check_machine(exec, plan_index, change->to));
  if (change->to->n_page_spaces > 0) {
    return plim_fail(exec->ctx, PLIM_EUNSUPPORTED, "a plan with copies cannot take over");
  }
  PLIM_TRY(plim_plan_check_form(exec->ctx, change->graph, change->to));
  if (!change->to->packed || change->to->arena_bytes != bytes_from(change->to, 0)) {
    return plim_fail(exec->ctx, PLIM_EPLAN,
                     "a plan that takes over at command %d says an arena of %lld bytes; it has %lld", (int)command,
                     (long long)change->to->arena_bytes, (long long)bytes_from(change->to, 0));
  }
  if (!begins_alike(change->from, change->to, command, &change->n_begun)) {
    return plim_fail(exec->ctx, PLIM_EPLAN, "a plan that takes over at command %d does not begin with what has run",
                     (int)command);
  }
  int collide = 0;
  PLIM_TRY(find_collision(exec->ctx, change, &collide));
  if (collide) {
    return plim_fail(exec->ctx, PLIM_EPLAN,
                     "a plan that takes over at command %d moves a buffer onto bytes that another one leaves",
                     (int)command);
  }
  PLIM_TRY(check_homes(exec, change));
  PLIM_TRY(check_as_one_plan(exec, change));
  int64_t needed = bytes_from(change->to, command);
  if (needed <= arena_bytes && arena_bytes <= exec->spaces.memory[0].bytes) return PLIM_OK;
  return plim_fail(exec->ctx, PLIM_EPLAN,
                   "a plan that takes over at command %d needs %lld bytes, it is to have %lld of an arena of %lld",
                   (int)command, (long long)needed, (long long)arena_bytes, (long long)exec->spaces.memory[0].bytes);
}

/* Copy each buffer that continues at another offset. */
static plim_status move_buffers(plim_exec *exec, const switching *change) {
  char *base = exec->spaces.memory[0].base;
  for (int32_t i = 0; i < change->n_begun; i++) {
    const plim_plan_buffer *old = &change->from->buffer[i];
    char *to = base + change->to->buffer[i].offset;
    if (!has_moved(change, i)) continue;
    exec->arena.moved_bytes += old->bytes;
    PLIM_TRY(plim_exec_device_copy(exec, to, base + old->offset, old->bytes));
  }
  return plim_exec_device_sync(exec);
}

/* Put the plan of a switch in place. Keep the binding of the program's plan for later; free that of an earlier plan
 * switch in this step. */
static void install(plim_exec_plan *exec_plan, const plim_bound_plan *fresh, plim_plan *plan) {
  if (exec_plan->taken_over) {
    plim_bound_plan_free(&exec_plan->bound);
    plim_plan_free(exec_plan->taken_over);
  } else {
    exec_plan->planned = exec_plan->bound;
  }
  exec_plan->bound = *fresh;
  exec_plan->taken_over = plan;
}

int64_t plim_exec_switches(const plim_exec *exec) {
  return exec->arena.n_switches;
}

/* Check the plan of a switch, and bind it. Only this part of a switch allocates or prepares kernels. */
static plim_status bind_plan(plim_exec *exec, plim_exec_plan *exec_plan, switching *change, int64_t arena_bytes,
                             plim_bound_plan *fresh) {
  PLIM_TRY(check_plan_switch(exec, (int32_t)(exec_plan - exec->plan), change, arena_bytes));
  return plim_exec_bind(exec, change->graph, change->to, 1, fresh);
}

/* Did bind_plan fail for lack of memory, or because the device refused variants? Then the step can go on without the
 * switch. */
static int can_go_on(const plim_exec *exec, plim_status failed) {
  return failed == PLIM_ENOMEM || (exec->refused.list.n > 0 && failed == exec->refused.status);
}

/* Install the plan that the hook gave. PLIM_OK with taken_over unchanged: the step goes on without it. */
static plim_status switch_plan(plim_exec *exec, plim_exec_plan *exec_plan, int32_t command,
                               const plim_plan_switch *plan_switch, plim_memory_meter *meter) {
  plim_bound_plan fresh = {.ctx = NULL};
  switching change = {
      .graph = exec_plan->bound.graph, .from = exec_plan->bound.plan, .to = plan_switch->plan, .command = command};
  plim_refused_clear(exec);
  plim_status status = bind_plan(exec, exec_plan, &change, plan_switch->arena_bytes, &fresh);
  const int go_on = status != PLIM_OK && can_go_on(exec, status);
  if (status == PLIM_OK) status = move_buffers(exec, &change);
  if (status == PLIM_OK) status = plim_exec_resize(exec, plan_switch->arena_bytes);
  if (status != PLIM_OK) {
    plim_bound_plan_free(&fresh);
    return go_on ? PLIM_OK : status;
  }
  memcpy(fresh.time_ns, exec_plan->bound.time_ns, (size_t)command * sizeof *fresh.time_ns);
  install(exec_plan, &fresh, plan_switch->plan);
  exec->arena.n_switches++;
  plim_bound_plan_set_addresses(&exec_plan->bound, exec->spaces.memory);
  plim_memory_meter_begin(meter, &exec_plan->bound, exec->spaces.memory);
  for (int32_t j = 0; j < command; j++) plim_memory_meter_command(meter, &exec_plan->bound, j);
  return PLIM_OK;
}

plim_status plim_plan_switch_ask(plim_exec *exec, plim_exec_plan *exec_plan, int32_t command,
                                 plim_memory_meter *meter) {
  plim_plan_switch plan_switch = {NULL, exec->spaces.memory[0].bytes};
  plim_status status = exec->hook.before_command(exec->hook.user, (int32_t)(exec_plan - exec->plan), command,
                                                 exec_plan->bound.plan, &plan_switch);
  if (!plan_switch.plan) return status;
  if (status == PLIM_OK) status = switch_plan(exec, exec_plan, command, &plan_switch, meter);
  if (exec_plan->taken_over != plan_switch.plan) {
    plim_plan_free(plan_switch.plan);
    plim_exec_free_kernels(exec); /* those prepared for it */
  }
  return status;
}

void plim_plan_switch_end(plim_exec *exec, plim_exec_plan *exec_plan) {
  if (!exec_plan->taken_over) return;
  plim_bound_plan_free(&exec_plan->bound);
  plim_plan_free(exec_plan->taken_over);
  exec_plan->bound = exec_plan->planned;
  exec_plan->taken_over = NULL;
  plim_exec_free_kernels(exec);
}
