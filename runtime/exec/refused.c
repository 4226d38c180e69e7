/* A device may refuse one kernel, as when a library cannot run it on this GPU, and work on. Such variants are listed
 * here, so that the caller can plan again without them. The list has those of the last open, replacement or plan
 * switch. */
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/device/desc.h"
#include "runtime/exec/exec_internal.h"

void plim_refused_clear(plim_exec *exec) {
  exec->refused.list.n = 0;
  if (exec->options.refused) exec->options.refused->n = 0;
}

plim_status plim_refused_add(plim_exec *exec, const plim_graph *graph, const plim_plan_variant *variant,
                             plim_status failed) {
  plim_refused_list *f = &exec->refused.list;
  char why[PLIM_DROPPED_WHY_BYTES];
  if (failed != PLIM_EDEVICE && failed != PLIM_EUNSUPPORTED) return failed;
  PLIM_TRY(
      plim_device_outlives(exec->device, failed, graph->op[variant->op].name, variant->variant.name, why, sizeof why));
  if (f->n == 0) exec->refused.status = failed;
  if (f->n == PLIM_REFUSED_MAX) return PLIM_OK;
  plim_refused_variant *row = &f->row[f->n++];
  *row = (plim_refused_variant){.graph = graph, .op = variant->op};
  memcpy(row->variant, variant->variant.name, sizeof row->variant);
  memcpy(row->why, why, sizeof row->why);
  plim_text_make_printable(row->why); /* it is written to documents */
  return PLIM_OK;
}

int plim_refused_has(const plim_exec *exec, const plim_graph *graph, const plim_plan_variant *variant) {
  plim_op_desc wanted, other;
  plim_desc_of(graph, variant->op, &wanted);
  for (int32_t i = 0; i < exec->refused.list.n; i++) {
    const plim_refused_variant *row = &exec->refused.list.row[i];
    plim_desc_of(row->graph, row->op, &other);
    if (strcmp(row->variant, variant->variant.name) == 0 && plim_desc_equal(&wanted, &other)) return 1;
  }
  return 0;
}

plim_status plim_refused_report(plim_exec *exec) {
  const plim_refused_list *f = &exec->refused.list;
  if (f->n == 0) return PLIM_OK;
  if (exec->options.refused) *exec->options.refused = *f;
  return plim_fail(exec->ctx, exec->refused.status, "op \"%s\", variant \"%s\": %s",
                   f->row[0].graph->op[f->row[0].op].name, f->row[0].variant, f->row[0].why);
}
