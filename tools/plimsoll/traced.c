/* Files beside a trace, and medians of its times. */
#include "tools/plimsoll/traced.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/graph/check.h"
#include "tools/plimsoll/beside.h"

plim_status traced_save_beside(const plim_graph *graph, const plim_plan *plan, const char *path) {
  char of_plan[BESIDE_PATH_BYTES], of_graph[BESIDE_PATH_BYTES];
  PLIM_TRY(beside_plan_path(graph->ctx, path, of_plan));
  PLIM_TRY(beside_graph_path(graph->ctx, of_plan, of_graph));
  PLIM_TRY(plim_graph_save(graph, of_graph));
  return plim_plan_save(plan, of_plan);
}

static plim_status load(traced *t, const char *path) {
  char of_plan[BESIDE_PATH_BYTES], of_graph[BESIDE_PATH_BYTES], print[PLIM_FINGERPRINT_BYTES];
  PLIM_TRY(plim_trace_load(t->ctx, path, &t->trace));
  PLIM_TRY(beside_plan_path(t->ctx, path, of_plan));
  PLIM_TRY(beside_graph_path(t->ctx, of_plan, of_graph));
  PLIM_TRY(plim_plan_load(t->ctx, of_plan, &t->plan));
  PLIM_TRY(plim_graph_load(t->ctx, of_graph, &t->graph));
  PLIM_TRY(plim_plan_fingerprint(t->plan, print));
  if (strcmp(print, t->trace->plan) != 0) {
    return plim_fail(t->ctx, PLIM_EDATA, "%s: a trace of plan %.12s; %s is plan %.12s", path, t->trace->plan, of_plan,
                     print);
  }
  PLIM_TRY(plim_plan_check(t->ctx, t->graph, t->plan));
  return plim_inspect_new(t->graph, t->plan, &t->inspect);
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static plim_status take_medians(traced *t) {
  int32_t steps = t->trace->n_steps;
  int64_t runs = t->trace->n_rows / steps, *sample = NULL;
  PLIM_TRY(plim_allocate(t->ctx, steps, sizeof *t->measured_ns, &t->measured_ns));
  PLIM_TRY(plim_allocate(t->ctx, runs, sizeof *sample, &sample));
  for (int32_t j = 0; j < steps && runs > 0; j++) {
    for (int64_t r = 0; r < runs; r++) sample[r] = t->trace->row[r * steps + j].time_ns;
    qsort(sample, (size_t)runs, sizeof *sample, by_size);
    t->measured_ns[j] = sample[runs / 2];
  }
  plim_release(t->ctx, sample, runs, sizeof *sample);
  return PLIM_OK;
}

plim_status traced_open(plim_context *ctx, const char *path, traced *out) {
  traced t = {.ctx = ctx};
  plim_status status = load(&t, path);
  if (status == PLIM_OK) status = take_medians(&t);
  if (status != PLIM_OK) {
    traced_close(&t);
    return status;
  }
  *out = t;
  return PLIM_OK;
}

void traced_close(traced *t) {
  if (t->trace) plim_release(t->ctx, t->measured_ns, t->trace->n_steps, sizeof *t->measured_ns);
  plim_inspect_free(t->inspect);
  plim_graph_free(t->graph);
  plim_plan_free(t->plan);
  plim_trace_free(t->trace);
  *t = (traced){.ctx = t->ctx};
}

const char *traced_op_name(const traced *t, int32_t step) {
  const plim_step *s = &t->plan->step[step];
  return s->kind == PLIM_STEP_RUN ? t->graph->op[s->op].name : "copy";
}

int64_t traced_planned_ns(const traced *t, int32_t step) {
  const plim_step *s = &t->plan->step[step];
  return s->kind == PLIM_STEP_RUN ? t->plan->variant[s->variant].variant.time_ns : s->time_ns;
}
