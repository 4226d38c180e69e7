/* The smallest budget with a checked plan, and what is proven about it. */
#include <stdio.h>

#include "planner/bound.h"
#include "planner/planning.h"

plim_status plim_plan_smallest(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                               const plim_plan_options *options, plim_plan_floor *out, plim_plan **plan) {
  plim_plan *keep = NULL;
  plim_problem *problem = NULL;
  PLIM_TRY(plim_problem_make(ctx, graph, profile, options, &problem));
  plim_status status;
  PLIM_CHECK(plim_plan_keep_all(ctx, graph, profile, options, &keep));
  out->keep_all_bytes = options->unpacked ? keep->peak_bytes : keep->arena_bytes;
  out->smallest_bytes = out->keep_all_bytes;
  out->bound_bytes = plim_bound_bytes(problem, &out->op);
  if (plan) {
    *plan = keep;
    keep = NULL;
  }
done:
  plim_plan_free(keep);
  plim_problem_free(problem);
  return status;
}

void plim_plan_floor_describe(const plim_graph *graph, const plim_plan_floor *floor, char *text, size_t size) {
  const plim_op *op = &graph->op[floor->op];
  int written = snprintf(text, size, "op '%s' needs", op->name);
  for (int32_t pass = 0; pass < 2; pass++) {
    int32_t n = pass ? op->n_writes : op->n_reads;
    for (int32_t i = 0; i < n && written >= 0 && (size_t)written < size; i++) {
      int32_t s = pass ? op->writes[i] : op->reads[i], v = 0;
      if (plim_role_persistent(graph->storage[s].role)) continue;
      while (graph->value[v].storage != s) v++;
      written += snprintf(text + written, size - (size_t)written, " %s (%lld bytes),", graph->value[v].name,
                          (long long)graph->storage[s].bytes);
    }
  }
  if (written < 0 || (size_t)written >= size) return;
  (void)snprintf(text + written, size - (size_t)written, " at once, beside %lld bytes that stay all the time",
                 (long long)plim_graph_persistent_bytes(graph));
}
