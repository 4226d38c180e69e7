/* Rehearsal: a library may prepare a kernel and refuse it later, when it first runs or when it is captured. In the
 * middle of a step that is too late: the ops before it may have changed weights and statistics. So each such kernel
 * runs once before the first step of its plan, at its addresses in the arena. Between steps only persistent storages
 * have contents. No op that writes a persistent storage is rehearsed: all variants of such ops are our own. */
#include <string.h>

#include "runtime/device/desc.h"
#include "runtime/exec/exec_internal.h"

void plim_exec_forget_refused(plim_exec *exec) {
  exec->failures.n = 0;
  if (exec->options.failures) exec->options.failures->n = 0;
}

plim_status plim_exec_refuse(plim_exec *exec, const plim_graph *graph, const plim_plan_variant *variant,
                             plim_status failed) {
  plim_exec_failures *f = &exec->failures;
  char why[PLIM_DROPPED_WHY_BYTES];
  if (failed != PLIM_EDEVICE && failed != PLIM_EUNSUPPORTED) return failed;
  PLIM_TRY(
      plim_device_outlives(exec->device, failed, graph->op[variant->op].name, variant->variant.name, why, sizeof why));
  if (f->n == 0) exec->refused_with = failed;
  if (f->n == PLIM_EXEC_FAILURES) return PLIM_OK;
  plim_exec_failure *row = &f->row[f->n++];
  *row = (plim_exec_failure){.graph = graph, .op = variant->op};
  memcpy(row->variant, variant->variant.name, sizeof row->variant);
  memcpy(row->why, why, sizeof row->why);
  for (char *at = row->why; *at; at++) *at = *at < 0x20 || *at > 0x7e ? '?' : *at; /* what a document may hold */
  return PLIM_OK;
}

int plim_exec_has_refused(const plim_exec *exec, const plim_graph *graph, const plim_plan_variant *variant) {
  plim_op_desc wanted, other;
  plim_desc_of(graph, variant->op, &wanted);
  for (int32_t i = 0; i < exec->failures.n; i++) {
    const plim_exec_failure *row = &exec->failures.row[i];
    plim_desc_of(row->graph, row->op, &other);
    if (strcmp(row->variant, variant->variant.name) == 0 && plim_desc_equal(&wanted, &other)) return 1;
  }
  return 0;
}

plim_status plim_exec_refused(plim_exec *exec) {
  const plim_exec_failures *f = &exec->failures;
  if (f->n == 0) return PLIM_OK;
  if (exec->options.failures) *exec->options.failures = *f;
  return plim_fail(exec->ctx, exec->refused_with, "op \"%s\", variant \"%s\": %s",
                   f->row[0].graph->op[f->row[0].op].name, f->row[0].variant, f->row[0].why);
}

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
  if (exec->options.own_kernels || !device->api->rehearse || !exec->arena) return PLIM_OK;
  for (int32_t j = 0; j < bound->plan->n_commands; j++) {
    const plim_bound_command *command = &bound->command[j];
    if (command->op < 0) continue; /* a copy */
    const plim_plan_variant *variant = &bound->plan->variant[bound->plan->command[j].variant];
    if (!is_harmless(bound->graph, &bound->graph->op[command->op])) continue;
    if (plim_prepared_mark_rehearsed(&exec->prepared, bound->graph, variant)) continue;
    const plim_kernel_args args = plim_bound_plan_args(bound, j);
    plim_status status = device->api->rehearse(device, command->kernel, &args);
    if (status != PLIM_OK) PLIM_TRY(plim_exec_refuse(exec, bound->graph, variant, status));
  }
  return plim_exec_refused(exec);
}
