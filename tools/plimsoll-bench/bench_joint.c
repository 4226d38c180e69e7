/* The default search beside the joint model of recompute, paging and placement, on small graphs made up by seed: its
 * makespan by that of the model's plan, which the simulator gives. Only models that are solved to their end within the
 * time limit count. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "planner/spaces/space_make.h"
#include "tools/plimsoll-bench/bench.h"
#include "tools/plimsoll-bench/joint_case.h"

enum { USUAL_CASES = 200, USUAL_SECONDS = 60 };
static const double most_ratio = 1.005;

typedef struct table {
  session *s;
  json_t *rows;
  int32_t cases, drawn, unproved, refused, above, below;
  double worst, sum;
} table;

/* NULL: refused. */
static plim_status plan(const table *t, const joint_case *c, const char *planner, plim_space_outcome *outcome,
                        plim_space_plan **out) {
  plim_space_options o = plim_space_options_default();
  o.planner = planner;
  o.objective = PLIM_OBJECTIVE_TIME;
  o.budget = c->budget;
  o.threads = 1;
  o.together = 0;
  if (outcome) o.time_limit_ns = (int64_t)((t->s->o->time_limit > 0 ? t->s->o->time_limit : USUAL_SECONDS) * 1e9);
  if (!outcome) o.iterations = t->s->o->iterations;
  plim_status status = plim_space_plan_make(t->s->ctx, c->graph, c->platform, &o, outcome, out);
  progress_clear(&t->s->bar);
  return status == PLIM_ENOFIT ? PLIM_OK : status;
}

static void add_row(table *t, uint64_t seed, const joint_case *c, const plim_space_plan *found,
                    const plim_space_plan *model) {
  double ratio = (double)found->makespan_ns / (double)model->makespan_ns;
  t->cases++;
  t->sum += ratio;
  t->worst = fmax(t->worst, ratio);
  t->above += ratio > most_ratio;
  t->below += ratio < 1;
  if (t->s->o->json) {
    bench_row_add(t->s, t->rows,
                  json_pack("{s:I, s:i, s:i, s:I, s:I, s:f, s:b}", "seed", (json_int_t)seed, "ops", c->graph->n_ops,
                            "devices", c->platform->n_devices, "search_ns", (json_int_t)found->makespan_ns, "model_ns",
                            (json_int_t)model->makespan_ns, "ratio", ratio, "good", ratio <= most_ratio));
  } else if (ratio > most_ratio) {
    printf("seed %llu: %d ops, %d devices: %lld ns, the model's plan has %lld: %.4f\n", (unsigned long long)seed,
           c->graph->n_ops, c->platform->n_devices, (long long)found->makespan_ns, (long long)model->makespan_ns,
           ratio);
    (void)fflush(stdout);
  }
}

static plim_status run_case(table *t, uint64_t seed) {
  joint_case c;
  plim_space_plan *found = NULL, *model = NULL;
  plim_space_outcome outcome;
  plim_status status;
  PLIM_TRY(joint_case_make(t->s->ctx, seed, t->s->o->ops > 0 ? (int32_t)t->s->o->ops : JOINT_OPS, &c));
  t->drawn++;
  PLIM_TRY_OR_DONE(plan(t, &c, "milp", &outcome, &model));
  if (model && !(outcome.model_bound >= outcome.model_objective * (1 - 1e-6))) {
    t->unproved++;
    goto done;
  }
  PLIM_TRY_OR_DONE(plan(t, &c, NULL, NULL, &found));
  if (found && model) add_row(t, seed, &c, found, model);
  t->refused += !model;
  if (!found && model) status = plim_fail(t->s->ctx, PLIM_ENOFIT, "seed %d: the search has no plan", (int)seed);
  if (status == PLIM_OK) status = bench_go_on(t->s);
done:
  plim_space_plan_free(found);
  plim_space_plan_free(model);
  joint_case_free(&c);
  return status;
}

plim_status bench_joint(session *s, const char *folder) {
  (void)folder; /* the graphs are made up */
  table t = {.s = s, .rows = json_array()};
  plim_status status = PLIM_OK;
  int32_t cases = s->o->points > 0 ? (int32_t)s->o->points : USUAL_CASES;
  for (uint64_t seed = (uint64_t)s->o->seed; t.cases < cases && status == PLIM_OK; seed++) status = run_case(&t, seed);
  if (!s->o->json && t.cases > 0) {
    printf(
        "%d graphs whose model is proved (of %d; %d without a plan, %d not proved in time): search by the model's "
        "plan: mean %.5f, most %.5f, above %g: %d, below 1: %d\n",
        t.cases, t.drawn, t.refused, t.unproved, t.sum / t.cases, t.worst, most_ratio, t.above, t.below);
  }
  bench_rows_end(s, status, t.rows);
  return status;
}
