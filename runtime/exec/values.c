/* Values between steps: their addresses, and when they hold their contents. Persistent storages always do. An input
 * does from its write to the step. An output does from the step until an input of any plan is written, because that
 * input may use the same bytes. */
#include <string.h>

#include "runtime/exec/exec_device.h"

plim_status plim_exec_check_index(const plim_exec *exec, int32_t plan_index) {
  if (plan_index >= 0 && plan_index < exec->n_plans) return PLIM_OK;
  return plim_fail(exec->ctx, PLIM_EUSAGE, "plan %d of a program of %d", (int)plan_index, (int)exec->n_plans);
}

static plim_status check_value(const plim_exec *exec, int32_t plan_index, int32_t value, int64_t bytes) {
  PLIM_TRY(plim_exec_check_index(exec, plan_index));
  const plim_graph *graph = exec->plan[plan_index].bound.graph;
  if (value < 0 || value >= graph->n_values) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "value %d of a graph that has %d", (int)value, (int)graph->n_values);
  }
  if (bytes == graph->value[value].bytes) return PLIM_OK;
  return plim_fail(exec->ctx, PLIM_EUSAGE, "value \"%s\" has %lld bytes, not %lld", graph->value[value].name,
                   (long long)graph->value[value].bytes, (long long)bytes);
}

/* The page file that holds the buffer; NULL: it is in memory. */
static const plim_memory_region *file_of(const plim_exec *exec, const plim_exec_plan *exec_plan, int32_t buffer) {
  const int32_t space = exec_plan->bound.plan->buffer[buffer].space;
  const plim_memory_region *region = &exec->spaces.memory[space];
  return region->fd >= 0 ? region : NULL;
}

/* Address of a value in its buffer; NULL: the buffer has no allocation now. */
static void *address(const plim_exec *exec, const plim_exec_plan *exec_plan, int32_t value, int32_t buffer) {
  const plim_plan_buffer *b = &exec_plan->bound.plan->buffer[buffer];
  int64_t offset = exec_plan->bound.graph->value[value].offset;
  if (plim_exec_allocates_each(exec)) {
    return exec_plan->allocation[buffer] ? (char *)exec_plan->allocation[buffer] + offset : NULL;
  }
  return exec->spaces.memory[b->space].base + b->offset + offset;
}

static plim_role role_of(const plim_exec_plan *exec_plan, int32_t value) {
  return exec_plan->bound.graph->storage[exec_plan->bound.graph->value[value].storage].role;
}

void plim_exec_claim(plim_exec *exec, int32_t plan_index) {
  plim_exec_contents *contents = &exec->contents;
  for (int32_t i = 0; i < exec->n_plans; i++) plim_plan_switch_end(exec, &exec->plan[i]);
  if (contents->outputs_of >= 0 && plim_exec_allocates_each(exec)) {
    plim_each_free_transient(exec, &exec->plan[contents->outputs_of]);
  }
  contents->outputs_of = PLIM_NONE;
  if (contents->inputs_of >= 0 && contents->inputs_of != plan_index) {
    plim_exec_plan *other = &exec->plan[contents->inputs_of];
    memset(other->written, 0, (size_t)other->bound.graph->n_values);
    if (plim_exec_allocates_each(exec)) plim_each_free_transient(exec, other);
  }
  contents->inputs_of = plan_index;
}

/* The program's own plan, which a claim brings back after a plan switch. */
static const plim_bound_plan *own_plan(const plim_exec_plan *exec_plan) {
  return exec_plan->taken_over ? &exec_plan->planned : &exec_plan->bound;
}

plim_status plim_exec_check_room(const plim_exec *exec, int32_t plan_index) {
  int64_t needed = own_plan(&exec->plan[plan_index])->plan->arena_bytes;
  if (plim_exec_allocates_each(exec) || needed <= exec->spaces.memory[0].bytes) return PLIM_OK;
  return plim_fail(exec->ctx, PLIM_EUSAGE, "plan %d needs %lld bytes and the arena has shrunk to %lld", (int)plan_index,
                   (long long)needed, (long long)exec->spaces.memory[0].bytes);
}

/* The end of the bytes from `at` on that a written value of the storage holds; `at`: there is none. */
static int64_t written_from(const plim_exec_plan *exec_plan, int32_t storage, int64_t at) {
  const plim_graph *graph = exec_plan->bound.graph;
  int64_t end = at;
  for (int32_t v = 0; v < graph->n_values; v++) {
    const plim_value *value = &graph->value[v];
    if (!exec_plan->written[v] || value->storage != storage || value->offset > at) continue;
    if (value->offset + value->bytes > end) end = value->offset + value->bytes;
  }
  return end;
}

int plim_exec_is_written(const plim_exec_plan *exec_plan, int32_t value) {
  const plim_value *v = &exec_plan->bound.graph->value[value];
  const int64_t end = v->offset + v->bytes;
  if (exec_plan->written[value]) return 1;
  for (int64_t at = v->offset; at < end;) {
    const int64_t next = written_from(exec_plan, v->storage, at);
    if (next == at) return 0;
    at = next;
  }
  return 1;
}

/* A copy to the value has failed: its bytes are no input, nor is a value that has some of them. */
static void forget_written(plim_exec_plan *exec_plan, int32_t value) {
  const plim_graph *graph = exec_plan->bound.graph;
  const plim_value *to = &graph->value[value];
  for (int32_t v = 0; v < graph->n_values; v++) {
    const plim_value *other = &graph->value[v];
    if (other->storage != to->storage || other->offset >= to->offset + to->bytes) continue;
    if (other->offset + other->bytes > to->offset) exec_plan->written[v] = 0;
  }
}

plim_status plim_exec_write_queued(plim_exec *exec, int32_t plan_index, int32_t value, const void *from,
                                   int64_t bytes) {
  PLIM_TRY(check_value(exec, plan_index, value, bytes));
  plim_exec_plan *exec_plan = &exec->plan[plan_index];
  int32_t storage = exec_plan->bound.graph->value[value].storage;
  plim_role role = role_of(exec_plan, value);
  int32_t buffer = (role == PLIM_ROLE_INPUT ? own_plan(exec_plan) : &exec_plan->bound)->buffer_before[storage];
  if (role == PLIM_ROLE_INPUT) PLIM_TRY(plim_exec_check_room(exec, plan_index));
  if ((!plim_role_persistent(role) && role != PLIM_ROLE_INPUT) || buffer < 0) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "value \"%s\" (%s) cannot be written before a step of plan %d",
                     exec_plan->bound.graph->value[value].name, plim_role_name(role), (int)plan_index);
  }
  if (role == PLIM_ROLE_INPUT) plim_exec_claim(exec, plan_index);
  if (role == PLIM_ROLE_INPUT && plim_exec_allocates_each(exec)) PLIM_TRY(plim_each_input(exec, exec_plan, buffer));
  const plim_memory_region *file = file_of(exec, exec_plan, buffer);
  char *to = address(exec, exec_plan, value, buffer);
  const plim_status status =
      file ? plim_memory_region_put(exec->ctx, file, to, from, bytes) : plim_exec_device_copy(exec, to, from, bytes);
  if (role == PLIM_ROLE_INPUT && status == PLIM_OK) exec_plan->written[value] = 1;
  if (role == PLIM_ROLE_INPUT && status != PLIM_OK) forget_written(exec_plan, value);
  return status;
}

plim_status plim_exec_write(plim_exec *exec, int32_t plan_index, int32_t value, const void *from, int64_t bytes) {
  PLIM_TRY(plim_exec_write_queued(exec, plan_index, value, from, bytes));
  return plim_exec_device_sync(exec);
}

/* Does the value's storage hold its contents now? */
static int is_there(const plim_exec *exec, int32_t plan_index, int32_t value) {
  const plim_exec_plan *exec_plan = &exec->plan[plan_index];
  plim_role role = role_of(exec_plan, value);
  if (plim_role_persistent(role)) return 1;
  if (role == PLIM_ROLE_INPUT) return plim_exec_is_written(exec_plan, value);
  return role == PLIM_ROLE_OUTPUT && exec->contents.outputs_of == plan_index;
}

plim_status plim_exec_read(plim_exec *exec, int32_t plan_index, int32_t value, void *to, int64_t bytes) {
  PLIM_TRY(check_value(exec, plan_index, value, bytes));
  const plim_exec_plan *exec_plan = &exec->plan[plan_index];
  const int32_t storage = exec_plan->bound.graph->value[value].storage;
  const int is_output = role_of(exec_plan, value) == PLIM_ROLE_OUTPUT;
  int32_t buffer = is_output ? exec_plan->bound.buffer_after[storage] : exec_plan->bound.buffer_before[storage];
  if (!is_there(exec, plan_index, value) || buffer < 0) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "value \"%s\" (%s) of plan %d holds nothing now",
                     exec_plan->bound.graph->value[value].name, plim_role_name(role_of(exec_plan, value)),
                     (int)plan_index);
  }
  const plim_memory_region *file = file_of(exec, exec_plan, buffer);
  if (file) return plim_memory_region_get(exec->ctx, file, to, address(exec, exec_plan, value, buffer), bytes);
  PLIM_TRY(plim_exec_device_copy(exec, to, address(exec, exec_plan, value, buffer), bytes));
  return plim_exec_device_sync(exec);
}

plim_status plim_exec_set_results(plim_exec *exec, int32_t plan_index, const plim_exec_result *result, int32_t n) {
  if (n < 0 || n > PLIM_EXEC_RESULTS) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "%d results of a step: 0 to %d", (int)n, (int)PLIM_EXEC_RESULTS);
  }
  PLIM_TRY(plim_exec_check_index(exec, plan_index));
  plim_exec_plan *exec_plan = &exec->plan[plan_index];
  for (int32_t i = 0; i < n; i++) {
    PLIM_TRY(check_value(exec, plan_index, result[i].value, result[i].bytes));
    if (role_of(exec_plan, result[i].value) == PLIM_ROLE_OUTPUT) continue;
    return plim_fail(exec->ctx, PLIM_EUSAGE, "value \"%s\" (%s) is no output of plan %d",
                     exec_plan->bound.graph->value[result[i].value].name,
                     plim_role_name(role_of(exec_plan, result[i].value)), (int)plan_index);
  }
  if (n > 0) memcpy(exec_plan->result, result, (size_t)n * sizeof *result);
  exec_plan->n_results = n;
  return PLIM_OK;
}

plim_status plim_exec_queue_results(plim_exec *exec, const plim_exec_plan *exec_plan) {
  for (int32_t i = 0; i < exec_plan->n_results; i++) {
    const plim_exec_result *r = &exec_plan->result[i];
    const int32_t buffer = exec_plan->bound.buffer_after[exec_plan->bound.graph->value[r->value].storage];
    if (buffer < 0) continue; /* an output that no op writes */
    PLIM_TRY(plim_exec_device_copy(exec, r->to, address(exec, exec_plan, r->value, buffer), r->bytes));
  }
  return PLIM_OK;
}

void *plim_exec_pointer(const plim_exec *exec, int32_t plan_index, int32_t value) {
  if (plan_index < 0 || plan_index >= exec->n_plans || !plim_exec_device_host_visible(exec)) return NULL;
  const plim_exec_plan *exec_plan = &exec->plan[plan_index];
  if (value < 0 || value >= exec_plan->bound.graph->n_values || !plim_role_persistent(role_of(exec_plan, value))) {
    return NULL;
  }
  int32_t buffer = exec_plan->bound.buffer_before[exec_plan->bound.graph->value[value].storage];
  return buffer < 0 || file_of(exec, exec_plan, buffer) ? NULL : address(exec, exec_plan, value, buffer);
}
