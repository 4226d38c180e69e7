/* Rehearsal: a library may prepare a kernel and refuse it later, when it first runs or when it is captured. In the
 * middle of a step that is too late: the ops before it may have changed weights and statistics. So each such kernel
 * runs once before the first step of its plan, at its addresses in the arena. Between steps only persistent storages
 * have contents. No op that writes a persistent storage is rehearsed: all variants of such ops are our own. */
#include "runtime/exec/exec_internal.h"

static int is_persistent_value(const plim_graph *graph, int32_t value) {
  return plim_role_persistent(graph->storage[graph->value[value].storage].role);
}

/* Does the op leave all persistent storages as they are? */
static int is_harmless(const plim_graph *graph, const plim_op *op) {
  if (op->n_upd > 0) return 0;
  for (int32_t i = 0; i < op->n_out; i++) {
    if (is_persistent_value(graph, op->out[i])) return 0;
  }
  return 1;
}

plim_status plim_exec_rehearse(plim_exec *exec, const plim_bound_plan *bound) {
  plim_device *device = exec->device;
  if (exec->options.own_kernels || !device->api->kernels.rehearse || plim_exec_allocates_each(exec)) return PLIM_OK;
  for (int32_t j = 0; j < bound->plan->n_commands; j++) {
    const plim_bound_command *command = &bound->command[j];
    if (command->op < 0) continue; /* a copy */
    const plim_command *planned = &bound->plan->command[j];
    const plim_plan_variant *variant = &bound->plan->variant[planned->variant];
    if (!is_harmless(bound->graph, &bound->graph->op[command->op])) continue;
    if (plim_prepared_mark_rehearsed(&exec->spaces.kernels[planned->space], bound->graph, variant)) continue;
    const plim_kernel_args args = plim_bound_plan_args(bound, j);
    plim_status status = device->api->kernels.rehearse(device, command->kernel, &args);
    if (status != PLIM_OK) PLIM_TRY(plim_refused_add(exec, bound->graph, variant, status));
  }
  return plim_refused_report(exec);
}
