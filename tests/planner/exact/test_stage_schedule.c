/* planner/exact/stage_schedule.c, repair.c and stage_model.c: the published example of what is kept and what follows,
 * schedules and their way there and back, repairs, and the points of schedules in the integer program. */
#include "planner/core/evaluation.h"
#include "planner/exact/dag.h"
#include "planner/exact/stage_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/import/generate.h"
#include "tests/support/dag_cases.h"
#include "tests/support/planner_case.h"
#include "tests/support/random_graph.h"
#include "tests/support/stage_oracle.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

typedef struct stage_case {
  planner_case c;
  plim_problem *problem;
  plim_dag *dag;
  plim_stage_schedule *schedule;
} stage_case;

static stage_case make_case(planner_case c, int64_t budget) {
  stage_case s = {.c = c};
  plim_status status = plim_problem_make(c.ctx, c.graph, c.profile, &c.options, PLIM_CLASS_STAGES, &s.problem);
  if (status == PLIM_OK) status = plim_dag_make(s.problem, budget, &s.dag);
  if (status == PLIM_OK) status = plim_stage_schedule_new(s.dag, &s.schedule);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(c.ctx));
  return s;
}

static void free_case(stage_case *s) {
  plim_stage_schedule_free(s->schedule);
  plim_dag_free(s->dag);
  plim_problem_free(s->problem);
  planner_case_free(&s->c);
}

static stage_case chain_case(int32_t layers) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  return make_case(planner_case_make(ctx, dag_chain(ctx, layers, 0), NULL, &options), INT64_MAX);
}

static void keep(plim_stage_schedule *s, int32_t t, int32_t i) {
  s->keep[t * s->n + i] = 1;
}

static void expect_sequence(const plim_stage_schedule *s, int32_t n, const int32_t *node) {
  cr_assert_eq(s->n_positions, n, "%d positions", s->n_positions);
  for (int32_t j = 0; j < n; j++) cr_assert_eq(s->node[j], node[j], "position %d runs %d", j, s->node[j]);
}

Test(stage_schedule, what_is_kept_determines_what_runs_again) {
  stage_case c = chain_case(2);
  plim_stage_schedule *s = c.schedule;
  keep(s, 1, 0), keep(s, 2, 1), keep(s, 3, 1), keep(s, 3, 2), keep(s, 4, 3);
  cr_assert_eq(plim_stage_schedule_derive(s), PLIM_OK);
  expect_sequence(s, 6, (const int32_t[]){0, 1, 2, 3, 0, 4});
  cr_assert(s->time_ns == 6 && s->peak_bytes == 3);
  keep(s, 4, 0);
  cr_assert_eq(plim_stage_schedule_derive(s), PLIM_OK);
  expect_sequence(s, 6, (const int32_t[]){0, 1, 2, 0, 3, 4});
  cr_assert(s->time_ns == 6 && s->peak_bytes == 4);
  free_case(&c);
}

/* Random step graphs, a third of them without anything that the reduction gives away. */
static stage_case random_case(uint64_t seed) {
  return make_case(planner_case_random(seed, 4 + (int32_t)(seed % 30)), INT64_MAX);
}

static void keep_at_random(plim_stage_schedule *s, uint64_t *random, int percent) {
  for (int32_t t = 1; t < s->n; t++) {
    for (int32_t i = 0; i < t; i++) s->keep[t * s->n + i] = (uint8_t)test_random_chance(random, percent);
  }
}

static void expect_valid(const stage_case *c, uint64_t seed) {
  plim_timeline *timeline = NULL;
  plim_schedule schedule = {.ctx = c->c.ctx};
  cr_assert_eq(plim_timeline_new(c->problem, &timeline), PLIM_OK);
  cr_assert_eq(plim_dag_schedule(c->dag, c->schedule->n_positions, c->schedule->node, &schedule), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(timeline, &schedule), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
               plim_context_error(c->c.ctx));
  cr_assert_leq(timeline->peak_bytes, c->schedule->peak_bytes);
  cr_assert_eq(timeline->time_ns, c->schedule->time_ns);
  plim_schedule_free(&schedule);
  plim_timeline_free(timeline);
}

Test(stage_schedule, whatever_is_kept_gives_a_valid_schedule_and_pruning_never_makes_it_worse) {
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    stage_case c = random_case(seed);
    plim_schedule schedule = {.ctx = c.c.ctx};
    uint64_t random = seed;
    keep_at_random(c.schedule, &random, (int)(seed % 100));
    cr_assert_eq(plim_stage_schedule_derive(c.schedule), PLIM_OK);
    expect_valid(&c, seed);
    int64_t time = c.schedule->time_ns;
    cr_assert_eq(plim_stage_schedule_prune(c.schedule), PLIM_OK);
    expect_valid(&c, seed);
    cr_assert_leq(c.schedule->time_ns, time, "seed %llu", (unsigned long long)seed);
    /* what was pruned is its own projection */
    time = c.schedule->time_ns;
    int64_t peak = c.schedule->peak_bytes;
    cr_assert_eq(plim_dag_schedule(c.dag, c.schedule->n_positions, c.schedule->node, &schedule), PLIM_OK);
    cr_assert_eq(plim_stage_schedule_project(c.schedule, &schedule), PLIM_OK);
    cr_assert(c.schedule->time_ns == time && c.schedule->peak_bytes == peak, "seed %llu", (unsigned long long)seed);
    plim_schedule_free(&schedule);
    free_case(&c);
  }
}

Test(stage_schedule, repairs_fit_and_stay_valid_and_never_beat_exhaustive_search) {
  int fits_some = 0, optimal = 0, repaired = 0;
  for (uint64_t seed = test_seed(1), end = seed + 120; test_seed_at(seed) < end; seed++) {
    stage_case c = make_case(planner_case_random(seed, 4 + (int32_t)(seed % 5)), INT64_MAX);
    plim_schedule order = {.ctx = c.c.ctx};
    int32_t fits;
    if (c.dag->n > 12) {
      free_case(&c);
      continue;
    }
    cr_assert_eq(plim_schedule_program_order(c.problem, &order), PLIM_OK);
    cr_assert_eq(plim_stage_schedule_project(c.schedule, &order), PLIM_OK);
    int64_t least = plim_dag_least_peak(c.dag, NULL), limit = least + (c.schedule->peak_bytes - least) / 3;
    int64_t optimum = stage_oracle(c.dag, limit);
    cr_assert_eq(plim_stage_schedule_repair(c.schedule, limit, INT64_MAX, &fits), PLIM_OK);
    expect_valid(&c, seed);
    if (fits) {
      cr_assert_leq(c.schedule->peak_bytes, limit);
      cr_assert(optimum >= 0 && c.schedule->time_ns >= optimum, "seed %llu: %lld beats %lld", (unsigned long long)seed,
                (long long)c.schedule->time_ns, (long long)optimum);
      optimal += c.schedule->time_ns == optimum;
      repaired += c.schedule->time_ns > c.dag->time_ns;
      fits_some++;
    }
    plim_schedule_free(&order);
    free_case(&c);
  }
  cr_assert_geq(fits_some, 40, "only %d repairs fit", fits_some);
  cr_assert_geq(repaired, 8, "only %d repairs needed a repeat", repaired);
  cr_assert_geq(10 * optimal, 8 * fits_some, "%d of %d optimal", optimal, fits_some);
}

/* Largest violation of the model's rows and column bounds at a point. */
static double violation(const plim_model *m, const double *point) {
  double worst = 0;
  for (int32_t j = 0; j < m->n_columns; j++) {
    worst = fmax(worst, fmax(m->low[j] - point[j], point[j] - m->high[j]));
  }
  for (int32_t r = 0; r < m->n_rows; r++) {
    double sum = 0;
    for (int32_t e = m->row_first[r]; e < m->row_first[r + 1]; e++) sum += m->value[e] * point[m->column[e]];
    worst = fmax(worst, fmax(m->row_low[r] - sum, sum - m->row_high[r]));
  }
  return worst;
}

static double objective(const plim_model *m, const double *point) {
  double sum = 0;
  for (int32_t j = 0; j < m->n_columns; j++) sum += m->cost[j] * point[j];
  return sum;
}

Test(stage_schedule, a_cancelled_repair_of_what_fits_makes_no_more_changes) {
  stage_case c = chain_case(8);
  plim_stage_schedule *s = c.schedule;
  int32_t fits;
  cr_assert_eq(plim_stage_schedule_derive(s), PLIM_OK);
  cr_assert_eq(plim_stage_schedule_prune(s), PLIM_OK);
  int64_t time_ns = s->time_ns;
  plim_context_cancel(c.c.ctx);
  cr_assert_eq(plim_stage_schedule_repair(s, INT64_MAX, INT64_MAX, &fits), PLIM_OK);
  cr_assert(fits && s->time_ns == time_ns, "%lld", (long long)s->time_ns);
  cr_assert_eq(plim_stage_schedule_repair(s, 1, INT64_MAX, &fits), PLIM_ECANCEL);
  plim_context_resume(c.c.ctx);
  cr_assert_eq(plim_stage_schedule_repair(s, INT64_MAX, INT64_MAX, &fits), PLIM_OK);
  cr_assert(fits && s->time_ns < time_ns);
  free_case(&c);
}

Test(stage_schedule, schedules_within_the_budget_are_points_of_the_program_and_others_are_not) {
  int inside = 0, outside = 0;
  for (uint64_t seed = test_seed(1), end = seed + 120; test_seed_at(seed) < end; seed++) {
    stage_case c = random_case(seed);
    plim_stage_model *model = NULL;
    uint64_t random = seed;
    keep_at_random(c.schedule, &random, 40);
    cr_assert_eq(plim_stage_schedule_derive(c.schedule), PLIM_OK);
    cr_assert_eq(plim_stage_schedule_prune(c.schedule), PLIM_OK);
    int64_t least = plim_dag_least_peak(c.dag, NULL), peak = c.schedule->peak_bytes;
    int64_t budget = seed % 2 || peak == least ? peak : least + (peak - least) / 2;
    cr_assert_eq(plim_stage_model_make(c.dag, budget, INT64_MAX, &model), PLIM_OK);
    double *point = calloc((size_t)model->linear.n_columns, sizeof *point);
    cr_assert_not_null(point);
    plim_stage_model_point(model, c.schedule, point);
    int64_t repeats = (c.schedule->time_ns - c.dag->time_ns) / c.dag->time_unit;
    cr_assert_float_eq(objective(&model->linear, point), (double)repeats, 1e-6);
    if (budget == peak) {
      cr_assert_leq(violation(&model->linear, point), 1e-9, "seed %llu", (unsigned long long)seed);
      inside++;
    } else if (peak - c.dag->bytes_unit >= budget) {
      cr_assert_gt(violation(&model->linear, point), 1e-9, "seed %llu", (unsigned long long)seed);
      outside++;
    }
    int64_t time = c.schedule->time_ns;
    cr_assert_eq(plim_stage_model_read(model, point, 0.5, c.schedule), PLIM_OK);
    cr_assert(c.schedule->time_ns == time && c.schedule->peak_bytes == peak, "seed %llu", (unsigned long long)seed);
    free(point);
    plim_stage_model_free(model);
    free_case(&c);
  }
  cr_assert(inside >= 50 && outside >= 20, "%d inside, %d outside", inside, outside);
}

Test(stage_schedule, bounds_are_rounded_up_to_whole_units_after_a_solver_s_tolerances) {
  stage_case c = chain_case(3);
  plim_stage_model *model = NULL;
  cr_assert_eq(plim_stage_model_make(c.dag, 5, INT64_MAX, &model), PLIM_OK);
  cr_assert_eq(plim_stage_model_bound(model, -INFINITY), 7);
  cr_assert_eq(plim_stage_model_bound(model, 0), 7);
  cr_assert_eq(plim_stage_model_bound(model, 1.00000001), 8);
  cr_assert_eq(plim_stage_model_bound(model, 1.2), 9);
  cr_assert_geq(plim_stage_model_bound(model, INFINITY), INT64_MAX / 8);
  plim_stage_model_free(model);
  free_case(&c);
}

Test(stage_schedule, programs_and_schedules_that_would_be_too_large_are_told) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  for (int32_t n = 100; n <= 2500; n += 1200) {
    plim_generate_options generate = plim_generate_options_default("layered");
    plim_plan_options options = plim_plan_options_default();
    plim_graph *graph = NULL;
    plim_problem *problem = NULL;
    plim_dag *dag = NULL;
    plim_stage_schedule *schedule = NULL;
    generate.n = n;
    cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK, "%s", plim_context_error(ctx));
    planner_case c = planner_case_make(ctx, graph, NULL, &options);
    cr_assert_eq(plim_problem_make(ctx, graph, c.profile, &options, PLIM_CLASS_STAGES, &problem), PLIM_OK);
    cr_assert_eq(plim_dag_make(problem, INT64_MAX, &dag), PLIM_OK);
    cr_assert_eq(plim_stage_model_fits(dag), n == 100);
    cr_assert_eq(plim_stage_schedule_new(dag, &schedule), n < 2000 ? PLIM_OK : PLIM_EUSAGE);
    plim_stage_schedule_free(schedule);
    plim_dag_free(dag);
    plim_problem_free(problem);
    plim_problem_free(c.problem);
    plim_profile_free(c.profile);
    plim_graph_free(graph);
  }
  cr_assert_not_null(strstr(plim_context_error(ctx), "at most 2048 ops, not 2500; search takes any"), "%s",
                     plim_context_error(ctx));
  plim_context_free(ctx);
}
