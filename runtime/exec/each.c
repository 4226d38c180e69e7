/* Each buffer gets an allocation of its own, as from an ordinary allocator with the same schedule. A buffer is freed at
 * the start of the command after its last, so that an in-place pair can give the allocation of its input to its
 * output. The last command may still run on a queue then: the device's release waits for it, and a caller's functions
 * are for devices that are host_visible, which complete each command before they return. */
#include "runtime/exec/exec_device.h"

static plim_status buffer_alloc(plim_exec *exec, int64_t bytes, void **out) {
  if (exec->options.buffer_alloc) {
    void *ptr = exec->options.buffer_alloc(exec->options.user, bytes);
    if (!ptr) return plim_fail(exec->ctx, PLIM_ENOMEM, "a buffer of %lld bytes was refused", (long long)bytes);
    *out = ptr;
    return PLIM_OK;
  }
  return plim_exec_device_alloc(exec, bytes, 0, out);
}

static void buffer_free(plim_exec *exec, void *ptr, int64_t bytes) {
  if (!ptr) return;
  if (exec->options.buffer_free) {
    exec->options.buffer_free(exec->options.user, ptr, bytes);
  } else {
    plim_exec_device_release(exec, ptr, bytes);
  }
}

/* Bytes of a buffer, not rounded. Those of a workspace are stored with the command that uses it. */
static int64_t buffer_bytes(const plim_bound_plan *bound, int32_t buffer) {
  int32_t storage = bound->plan->buffer[buffer].storage;
  return storage >= 0 ? bound->graph->storage[storage].bytes
                      : bound->command[bound->plan->buffer[buffer].begin].workspace_bytes;
}

static int is_persistent_buffer(const plim_bound_plan *bound, int32_t buffer) {
  int32_t storage = bound->plan->buffer[buffer].storage;
  return storage >= 0 && plim_role_persistent(bound->graph->storage[storage].role);
}

/* The first plan's allocation of the persistent buffer at this offset. Persistent buffers are equal in all plans. */
static void *persistent_of_first(const plim_exec *exec, int64_t offset) {
  const plim_exec_plan *first = &exec->plan[0];
  for (int32_t i = 0; i < first->bound.plan->n_buffers && first->bound.plan->buffer[i].begin == 0; i++) {
    if (is_persistent_buffer(&first->bound, i) && first->bound.plan->buffer[i].offset == offset) {
      return first->allocation[i];
    }
  }
  return NULL;
}

plim_status plim_each_open(plim_exec *exec) {
  for (int32_t p = 0; p < exec->n_plans; p++) {
    const plim_bound_plan *bound = &exec->plan[p].bound;
    for (int32_t i = 0; i < bound->plan->n_buffers && bound->plan->buffer[i].begin == 0; i++) {
      if (!is_persistent_buffer(bound, i)) continue;
      if (p > 0) {
        exec->plan[p].allocation[i] = persistent_of_first(exec, bound->plan->buffer[i].offset);
      } else {
        PLIM_TRY(buffer_alloc(exec, buffer_bytes(bound, i), &exec->plan[p].allocation[i]));
      }
    }
  }
  return PLIM_OK;
}

static void free_buffer(plim_exec *exec, plim_exec_plan *exec_plan, int32_t buffer) {
  buffer_free(exec, exec_plan->allocation[buffer], buffer_bytes(&exec_plan->bound, buffer));
  exec_plan->allocation[buffer] = NULL;
}

void plim_each_free_transient(plim_exec *exec, plim_exec_plan *exec_plan) {
  for (int32_t i = 0; i < exec_plan->bound.plan->n_buffers; i++) {
    if (exec_plan->allocation[i] && !is_persistent_buffer(&exec_plan->bound, i)) free_buffer(exec, exec_plan, i);
  }
}

void plim_each_close(plim_exec *exec) {
  for (int32_t k = 0; k < exec->n_plans; k++) {
    plim_exec_plan *exec_plan = &exec->plan[k];
    if (!exec_plan->allocation) continue;
    plim_each_free_transient(exec, exec_plan);
    for (int32_t i = 0; k == 0 && i < exec_plan->bound.plan->n_buffers; i++) free_buffer(exec, exec_plan, i);
  }
}

plim_status plim_each_input(plim_exec *exec, plim_exec_plan *exec_plan, int32_t buffer) {
  return exec_plan->allocation[buffer]
             ? PLIM_OK
             : buffer_alloc(exec, buffer_bytes(&exec_plan->bound, buffer), &exec_plan->allocation[buffer]);
}

/* The output of each pair takes its input's allocation. */
static void hand_over(plim_exec_plan *exec_plan, int32_t j) {
  const plim_command *command = &exec_plan->bound.plan->command[j];
  const plim_bound_command *bound = &exec_plan->bound.command[j];
  for (int32_t i = 0; i < command->n_pairs; i++) {
    int32_t in = exec_plan->bound.operand[bound->first + command->pair[i].in].buffer;
    int32_t out = exec_plan->bound.operand[bound->first + bound->n_in + command->pair[i].out].buffer;
    if (in < 0 || out < 0) continue;
    exec_plan->allocation[out] = exec_plan->allocation[in];
    exec_plan->allocation[in] = NULL;
  }
}

/* Point each operand that a pair overwrites at the output's allocation, which was its own. */
static void point_overwritten(plim_exec_plan *exec_plan, int32_t j) {
  const plim_command *command = &exec_plan->bound.plan->command[j];
  void **in = exec_plan->bound.pointer + exec_plan->bound.command[j].first,
       **out = in + exec_plan->bound.command[j].n_in;
  for (int32_t i = 0; i < command->n_pairs; i++) in[command->pair[i].in] = out[command->pair[i].out];
}

/* The address of operands of 0 bytes, which have no allocation. */
static _Alignas(PLIM_ALIGN) char no_bytes[PLIM_ALIGN];

plim_status plim_each_command(plim_exec *exec, plim_exec_plan *exec_plan, int32_t j) {
  plim_bound_plan *bound = &exec_plan->bound;
  hand_over(exec_plan, j);
  for (int32_t i = bound->ending_first[j]; i < bound->ending_first[j + 1]; i++) {
    free_buffer(exec, exec_plan, bound->ending[i]);
  }
  for (int32_t k = bound->command[j].first; k < bound->command[j + 1].first; k++) {
    int32_t buffer = bound->operand[k].buffer;
    bound->pointer[k] = no_bytes;
    if (buffer < 0) continue;
    if (!exec_plan->allocation[buffer] && bound->plan->buffer[buffer].begin == j) {
      PLIM_TRY(buffer_alloc(exec, buffer_bytes(bound, buffer), &exec_plan->allocation[buffer]));
    }
    bound->pointer[k] =
        exec_plan->allocation[buffer] ? (char *)exec_plan->allocation[buffer] + bound->operand[k].offset : NULL;
  }
  point_overwritten(exec_plan, j);
  return PLIM_OK;
}
