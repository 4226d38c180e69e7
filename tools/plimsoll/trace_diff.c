/* Two runs of one graph beside each other. */
#include "tools/plimsoll/trace_diff.h"

#include "tools/plimsoll/trace_jump.h"

static int32_t runs_of(const plim_plan *plan, int32_t op) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_steps; j++) n += plan->step[j].kind == PLIM_STEP_RUN && plan->step[j].op == op;
  return n;
}

static int64_t measured(const traced *t) {
  int64_t sum = 0;
  for (int32_t j = 0; j < t->plan->n_steps; j++) sum += t->measured_ns[j];
  return sum;
}

static const char *name_at(const traced *t, int32_t step) {
  return step < t->plan->n_steps ? traced_op_name(t, step) : "the end";
}

plim_status trace_diff(const traced *a, const traced *b, FILE *to, int *same) {
  trace_parting differ;
  PLIM_TRY(trace_divergence(a, b, &differ));
  fprintf(to, "steps         %12d  %12d\n", (int)a->plan->n_steps, (int)b->plan->n_steps);
  fprintf(to, "peak bytes    %12lld  %12lld\n", (long long)a->plan->peak_bytes, (long long)b->plan->peak_bytes);
  fprintf(to, "planned ms    %12.3f  %12.3f\n", (double)a->plan->time_ns / 1e6, (double)b->plan->time_ns / 1e6);
  fprintf(to, "measured ms   %12.3f  %12.3f\n", (double)measured(a) / 1e6, (double)measured(b) / 1e6);
  if (differ.run >= 0) {
    fprintf(to, "first difference at step %d: %s, %s\n", (int)differ.run, name_at(a, differ.run),
            name_at(b, differ.run));
  } else {
    fprintf(to, "the same steps\n");
  }
  if (differ.place >= 0) fprintf(to, "first other address or life at step %d\n", (int)differ.place);
  for (int32_t op = 0; op < a->graph->n_ops; op++) {
    int32_t of_a = runs_of(a->plan, op), of_b = runs_of(b->plan, op);
    if (of_a != of_b) fprintf(to, "  %-28s runs %d times, %d times\n", a->graph->op[op].name, (int)of_a, (int)of_b);
  }
  *same = differ.run < 0 && differ.place < 0;
  return PLIM_OK;
}
