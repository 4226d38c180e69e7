/* Makes profiles without the variants of much workspace. A plan takes the fastest variant that there is, whatever its
 * workspace. With less workspace to choose from, less has to page. */
#include "planner/paging/paging_internal.h"

/* Bytes that the budget leaves for the workspace of an op, beside its operands and what persists. */
static int64_t workspace_room(const plim_graph *g, const plim_op *op, int64_t budget_bytes) {
  int64_t room = budget_bytes - plim_graph_persistent_bytes(g);
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (!plim_role_persistent(g->storage[op->reads[i]].role)) room -= g->storage[op->reads[i]].bytes;
  }
  for (int32_t i = 0; i < op->n_writes; i++) room -= g->storage[op->writes[i]].bytes;
  return room > 0 ? room : 0;
}

plim_status plim_lean_profile_make(plim_context *ctx, const plim_graph *g, const plim_profile *profile,
                                   int64_t budget_bytes, double share, plim_profile **out) {
  int64_t rows = profile->first[g->n_ops], n = 0;
  plim_variant *variant = NULL;
  int32_t *first = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, rows, sizeof *variant, &variant));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)g->n_ops + 1, sizeof *first, &first));
  for (int32_t o = 0; o < g->n_ops; o++) {
    int64_t max_bytes = (int64_t)((double)workspace_room(g, &g->op[o], budget_bytes) * share), least_bytes = INT64_MAX;
    for (int32_t i = profile->first[o]; i < profile->first[o + 1]; i++) {
      if (profile->variant[i].workspace_bytes < least_bytes) least_bytes = profile->variant[i].workspace_bytes;
    }
    for (int32_t i = profile->first[o]; i < profile->first[o + 1]; i++) {
      if (profile->variant[i].workspace_bytes <= (max_bytes > least_bytes ? max_bytes : least_bytes))
        variant[n++] = profile->variant[i];
    }
    first[o + 1] = (int32_t)n;
  }
  PLIM_TRY_OR_DONE(plim_profile_make(g, &profile->machine, profile->measured, first, variant, out));
done:
  plim_release(ctx, variant, rows, sizeof *variant);
  plim_release(ctx, first, (int64_t)g->n_ops + 1, sizeof *first);
  return status;
}
