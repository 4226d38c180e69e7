/* Between two steps the caller may give other plans than those of the open, as for a smaller budget. They run from the
 * next step on. The tail of the arena may return to the system: persistent storages lie at the low end. */
#include "runtime/exec/exec_device.h"
#include "runtime/graph/check/check.h"

/* ---- for plan_switch.c too ---- */

plim_status plim_exec_resize(plim_exec *exec, int64_t bytes) {
  int64_t returned = 0;
  plim_memory_region *arena = &exec->spaces.memory[0];
  if (bytes == arena->bytes) return PLIM_OK;
  PLIM_TRY(plim_exec_device_resize(exec, bytes, &returned));
  arena->bytes = bytes;
  exec->arena.returned_bytes += returned;
  return PLIM_OK;
}

int64_t plim_exec_returned_bytes(const plim_exec *exec) {
  return exec->arena.returned_bytes;
}

static void sweep(const plim_exec *exec, plim_prepared *prepared) {
  plim_prepared_sweep_begin(prepared);
  for (int32_t i = 0; i < exec->n_plans; i++) {
    const plim_exec_plan *exec_plan = &exec->plan[i];
    plim_prepared_keep(prepared, exec_plan->bound.graph, exec_plan->bound.plan);
    if (exec_plan->taken_over) plim_prepared_keep(prepared, exec_plan->planned.graph, exec_plan->planned.plan);
  }
  plim_prepared_sweep_end(prepared);
}

/* Free the kernels that only replaced plans used: they take memory of the device. While the executor closes there are
 * none any more. */
void plim_exec_free_kernels(plim_exec *exec) {
  if (exec->options.own_kernels) return;
  for (int32_t space = 0; space < PLIM_PLAN_SPACES; space++) {
    if (plim_prepared_has_begun(&exec->spaces.kernels[space])) sweep(exec, &exec->spaces.kernels[space]);
  }
}

/* ---- all plans ---- */

/* Check the new plans as one program, and that persistent storages have the same homes and offsets as in the old plans.
 */
static plim_status check_plans(const plim_exec *exec, const plim_plan *const *plan, int64_t arena_bytes) {
  if (plim_exec_allocates_each(exec) || arena_bytes > exec->arena.first_bytes) {
    return plim_fail(exec->ctx, PLIM_EUSAGE, "an arena of %lld bytes cannot become one of %lld",
                     (long long)exec->arena.first_bytes, (long long)arena_bytes);
  }
  for (int32_t i = 0; i < exec->n_plans; i++) {
    const plim_graph *const graph[] = {exec->plan[0].bound.graph, exec->plan[i].bound.graph};
    const plim_plan *const pair[] = {exec->plan[0].bound.plan, plan[i]};
    PLIM_TRY(plim_exec_check_machine(exec, i, plan[i]));
    PLIM_TRY(plim_program_check(exec->ctx, 2, graph, pair));
    if (plan[i]->arena_bytes <= arena_bytes) continue;
    return plim_fail(exec->ctx, PLIM_EUSAGE, "plan %d needs %lld bytes, the arena is to have %lld", (int)i,
                     (long long)plan[i]->arena_bytes, (long long)arena_bytes);
  }
  return PLIM_OK;
}

/* Make the device drop the steps that it captured of the old plans. They name kernels that are freed afterwards. */
static void forget_steps(const plim_exec *exec) {
  const plim_device_watch *watch = plim_exec_device_watch(exec);
  if (watch && watch->forget_plans) watch->forget_plans(exec->device, exec->spaces.memory[0].base);
}

/* Enlarge the spaces as the new plans need. Bases may move, even on failure: bind the plans that run now again. */
static plim_status grow_spaces(plim_exec *exec, const plim_plan *const *plan) {
  forget_steps(exec); /* they have the old bases */
  plim_status status = plim_exec_grow_spaces(exec, plan);
  for (int32_t i = 0; i < exec->n_plans; i++) plim_bound_plan_set_addresses(&exec->plan[i].bound, exec->spaces.memory);
  return status;
}

plim_status plim_exec_replace(plim_exec *exec, const plim_plan *const *plan, int64_t arena_bytes) {
  plim_bound_plan *fresh = NULL;
  plim_status status = PLIM_OK;
  plim_refused_clear(exec);
  plim_exec_claim(exec, PLIM_NONE);
  PLIM_TRY(check_plans(exec, plan, arena_bytes));
  plim_exec_begin_kernels(exec, plan);
  PLIM_TRY(plim_allocate(exec->ctx, exec->n_plans, sizeof *fresh, &fresh));
  for (int32_t i = 0; i < exec->n_plans; i++) {
    PLIM_TRY_OR_DONE(plim_exec_bind(exec, exec->plan[i].bound.graph, plan[i], 1, &fresh[i]));
  }
  PLIM_TRY_OR_DONE(grow_spaces(exec, plan));
  for (int32_t i = 0; i < exec->n_plans; i++) {
    plim_bound_plan_set_addresses(&fresh[i], exec->spaces.memory);
    PLIM_TRY_OR_DONE(plim_exec_rehearse(exec, &fresh[i])); /* devices that rehearse cannot shrink an arena */
  }
  PLIM_TRY_OR_DONE(plim_exec_resize(exec, arena_bytes));
  forget_steps(exec);
  for (int32_t i = 0; i < exec->n_plans; i++) {
    plim_bound_plan old = exec->plan[i].bound;
    exec->plan[i].bound = fresh[i];
    fresh[i] = old;
  }
done:
  for (int32_t i = 0; i < exec->n_plans; i++) plim_bound_plan_free(&fresh[i]);
  plim_exec_free_kernels(exec); /* of the old plans; on failure of the new ones */
  plim_release(exec->ctx, fresh, exec->n_plans, sizeof *fresh);
  return status;
}

const plim_plan *plim_exec_plan_of(const plim_exec *exec, int32_t plan_index) {
  return exec->plan[plan_index].bound.plan;
}
