/* The run as a whole. */
#include <stdlib.h>

#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/trace_views.h"

enum { TOP = 10 };

typedef struct costly {
  int64_t ns;
  int32_t op, runs;
} costly;

static int by_cost(const void *a, const void *b) {
  const costly *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
  return (x->op > y->op) - (x->op < y->op);
}

/* Time that each op takes beside its first run. */
static plim_status count_repeats(const traced *t, costly **out) {
  costly *row = NULL;
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_ops, sizeof *row, &row));
  for (int32_t op = 0; op < t->graph->n_ops; op++) row[op].op = op;
  for (int32_t j = 0; j < t->plan->n_steps; j++) {
    if (!plim_inspect_is_repeat(t->inspect, j)) continue;
    row[t->plan->step[j].op].ns += traced_planned_ns(t, j);
    row[t->plan->step[j].op].runs++;
  }
  qsort(row, (size_t)t->graph->n_ops, sizeof *row, by_cost);
  *out = row;
  return PLIM_OK;
}

static json_t *repeats_json(const traced *t, const costly *row) {
  json_t *list = json_array();
  for (int32_t i = 0; i < t->graph->n_ops && row[i].runs > 0; i++) {
    (void)json_array_append_new(list, json_pack("{s:s, s:i, s:I}", "op", t->graph->op[row[i].op].name, "runs",
                                                (int)row[i].runs, "planned_ns", (json_int_t)row[i].ns));
  }
  return list;
}

/* A run that did not end has no overhead: how far it came, and why not further. */
static void add_end(const traced *t, figures *f) {
  plim_online_end end = traced_end(t);
  int32_t last = t->plan->n_steps - 1;
  figures_text(f, 0, "status", end == PLIM_ONLINE_OK ? NULL : "status", plim_online_end_name(end));
  if (end == PLIM_ONLINE_OK) return;
  figures_note(f, 0, " at step %d, %s", (int)last, traced_op_name(t, last));
  figures_count(f, 0, "end_step", NULL, last);
  figures_text(f, 0, "end_op", NULL, traced_op_name(t, last));
  figures_text(f, 0, "error", NULL, plim_decision_log_failure(t->decisions));
}

plim_status trace_view_summary(const traced *t, int as_json, FILE *to) {
  const plim_plan *plan = t->plan;
  int32_t repeats = 0;
  costly *row = NULL;
  figures f;
  PLIM_TRY(count_repeats(t, &row));
  for (int32_t j = 0; j < plan->n_steps; j++) repeats += plim_inspect_is_repeat(t->inspect, j);
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", t->graph->name);
  figures_note(&f, 0, ", %d ops; by %s", t->graph->n_ops, plan->planner);
  figures_count(&f, 0, "ops", NULL, t->graph->n_ops);
  figures_text(&f, 0, "by", NULL, plan->planner);
  add_end(t, &f);
  if (plan->budget_bytes < INT64_MAX) figures_bytes(&f, 0, "budget_bytes", "budget", plan->budget_bytes);
  if (plan->packed) figures_bytes(&f, 0, "arena_bytes", "arena", plan->arena_bytes);
  figures_bytes(&f, 0, "peak_bytes", "peak", plan->peak_bytes);
  figures_count(&f, 0, "plan_steps", "steps", plan->n_steps);
  figures_count(&f, 0, "repeats", NULL, repeats);
  figures_note(&f, 0, ", %d of them again", (int)repeats);
  figures_count(&f, 0, "training_steps", "training steps", t->runs);
  figures_real(&f, 0, "planned_ms", "planned", "%.3f ms", (double)plan->time_ns / 1e6);
  if (t->runs > 0) {
    figures_real(&f, 0, "measured_ms", "measured", "%.3f ms", (double)traced_measured_ns(t) / 1e6);
  } else {
    figures_null(&f, 0, "measured_ms");
  }
  if (traced_end(t) == PLIM_ONLINE_OK) {
    figures_real(&f, 0, "overhead_percent", "overhead, predicted", "%.2f %%", plim_plan_overhead_percent(plan));
  } else {
    figures_null(&f, 0, "overhead_percent");
  }
  (void)json_object_set_new(f.object, "repeated", repeats_json(t, row));
  figures_print_to(&f, as_json, to);
  figures_end(&f);
  for (int32_t i = 0; i < TOP && i < t->graph->n_ops && row[i].runs > 0 && !as_json; i++) {
    fprintf(to, "%s%-28s  %d again, %.1f us\n", i == 0 ? "costliest repeats\n  " : "  ", t->graph->op[row[i].op].name,
            (int)row[i].runs, (double)row[i].ns / 1e3);
  }
  plim_release(t->ctx, row, t->graph->n_ops, sizeof *row);
  return PLIM_OK;
}
