/* Two runs of one graph beside each other. */
#include "tools/plimsoll/trace_diff.h"

#include "tools/plimsoll/trace_json.h"
#include "tools/plimsoll/trace_jump.h"

static int32_t runs_of(const plim_plan *plan, int32_t op) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_steps; j++) n += plan->step[j].kind == PLIM_STEP_RUN && plan->step[j].op == op;
  return n;
}

static const char *name_at(const traced *t, int32_t step) {
  return step < t->plan->n_steps ? traced_op_name(t, step) : "the end";
}

/* ---- as text ---- */

static void print_pair(FILE *to, const char *what, const char *format, double a, double b) {
  fprintf(to, "%-14s", what);
  fprintf(to, format, a);
  fprintf(to, format, b);
  fprintf(to, "\n");
}

static void print_figures(const traced *a, const traced *b, FILE *to) {
  fprintf(to, "%-14s%14.14s%14.14s\n", "by", a->plan->planner, b->plan->planner);
  print_pair(to, "steps", "%14.0f", a->plan->n_steps, b->plan->n_steps);
  print_pair(to, "peak bytes", "%14.0f", (double)a->plan->peak_bytes, (double)b->plan->peak_bytes);
  if (a->plan->packed && b->plan->packed) {
    print_pair(to, "arena bytes", "%14.0f", (double)a->plan->arena_bytes, (double)b->plan->arena_bytes);
  }
  print_pair(to, "planned ms", "%14.3f", (double)a->plan->time_ns / 1e6, (double)b->plan->time_ns / 1e6);
  if (a->runs == 0 || b->runs == 0) return;
  print_pair(to, "measured ms", "%14.3f", (double)traced_measured_ns(a) / 1e6, (double)traced_measured_ns(b) / 1e6);
}

static void print_diff(const traced *a, const traced *b, const trace_parting *differ, FILE *to) {
  print_figures(a, b, to);
  if (differ->run >= 0) {
    fprintf(to, "first difference at step %d: %s, %s\n", (int)differ->run, name_at(a, differ->run),
            name_at(b, differ->run));
  } else {
    fprintf(to, "the same steps\n");
  }
  if (differ->place >= 0) fprintf(to, "first other address or buffer at step %d\n", (int)differ->place);
  for (int32_t op = 0; op < a->graph->n_ops; op++) {
    int32_t of_a = runs_of(a->plan, op), of_b = runs_of(b->plan, op);
    if (of_a != of_b) {
      fprintf(to, "  %-28s runs %d time%s, %d time%s\n", a->graph->op[op].name, (int)of_a, of_a == 1 ? "" : "s",
              (int)of_b, of_b == 1 ? "" : "s");
    }
  }
}

/* ---- as an object ---- */

static json_t *figures_json(const traced *t) {
  const plim_plan *p = t->plan;
  return json_pack("{s:s, s:i, s:I, s:o, s:I, s:o}", "by", p->planner, "steps", (int)p->n_steps, "peak_bytes",
                   (json_int_t)p->peak_bytes, "arena_bytes", p->packed ? json_integer(p->arena_bytes) : json_null(),
                   "planned_ns", (json_int_t)p->time_ns, "measured_ns",
                   t->runs > 0 ? json_integer(traced_measured_ns(t)) : json_null());
}

static json_t *other_runs_json(const traced *a, const traced *b) {
  json_t *list = json_array();
  for (int32_t op = 0; op < a->graph->n_ops; op++) {
    int32_t of_a = runs_of(a->plan, op), of_b = runs_of(b->plan, op);
    if (of_a == of_b) continue;
    (void)json_array_append_new(
        list, json_pack("{s:s, s:i, s:i}", "op", a->graph->op[op].name, "run", (int)of_a, "other", (int)of_b));
  }
  return list;
}

static json_t *op_at(const traced *t, int32_t step) {
  return step >= 0 && step < t->plan->n_steps ? json_string(traced_op_name(t, step)) : json_null();
}

static json_t *diff_json(const traced *a, const traced *b, const trace_parting *differ) {
  json_t *run = figures_json(a), *other = figures_json(b);
  (void)json_object_set_new(run, "first_op", op_at(a, differ->run));
  (void)json_object_set_new(other, "first_op", op_at(b, differ->run));
  return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "equal", differ->run < 0 && differ->place < 0, "first_step",
                   differ->run < 0 ? json_null() : json_integer(differ->run), "first_place",
                   differ->place < 0 ? json_null() : json_integer(differ->place), "run", run, "other", other, "ops",
                   other_runs_json(a, b));
}

plim_status trace_diff(const traced *a, const traced *b, int as_json, FILE *to, int *same) {
  trace_parting differ;
  PLIM_TRY(trace_divergence(a, b, &differ));
  if (as_json) {
    trace_json_print(diff_json(a, b, &differ), to);
  } else {
    print_diff(a, b, &differ, to);
  }
  *same = differ.run < 0 && differ.place < 0;
  return PLIM_OK;
}
