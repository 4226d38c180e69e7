/* planner/exact/dag.c: published graphs pass unchanged; on step graphs every stage schedule of the reduction is a valid
 * schedule of the problem that needs no more bytes, and as many where the reduction says that it is exact. */
#include "planner/core/evaluation.h"
#include "planner/exact/dag.h"

#include <criterion/criterion.h>

#include "tests/support/dag_cases.h"
#include "tests/support/failing_memory.h"
#include "tests/support/planner_case.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { MAX_NODES = 80, MAX_RUNS = 4000, CASES = 300 };

static plim_status make_stages(const planner_case *c, plim_problem **problem, plim_dag **dag) {
  PLIM_TRY(plim_problem_make(c->ctx, c->graph, c->profile, &c->options, PLIM_CLASS_STAGES, problem));
  return plim_dag_make(*problem, INT64_MAX, dag);
}

static planner_case published_case(plim_graph *(*make)(plim_context *ctx)) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  return planner_case_make(ctx, make(ctx), NULL, &options);
}

static plim_graph *two_branches(plim_context *ctx) {
  const int64_t size[] = {4, 24, 24, 4, 4, 8}, time[] = {15, 30, 0, 45, 15, 60};
  const dag_edge edge[] = {{0, 2}, {0, 1}, {1, 3}, {2, 4}, {4, 5}, {3, 5}, {3, 5}};
  return dag_make(ctx, 6, size, time, 7, edge);
}

Test(dag_reduction, a_published_graph_passes_unchanged) {
  planner_case c = published_case(two_branches);
  plim_problem *problem = NULL;
  plim_dag *dag = NULL;
  int32_t node;
  cr_assert_eq(make_stages(&c, &problem, &dag), PLIM_OK, "%s", plim_context_error(c.ctx));
  cr_assert(dag->is_exact && dag->n == 6 && dag->n_inputs == 0 && dag->n_edges == 6 && dag->base_bytes == 0);
  cr_assert(dag->bytes_unit == 4 && dag->time_unit == 15 && dag->time_ns == 165);
  cr_assert(dag->node[5].preds.n == 2 && dag->node[5].preds.at[0] == 3 && dag->node[5].preds.at[1] == 4);
  cr_assert(dag->node[0].succs.n == 2 && dag->node[0].succs.at[0] == 1 && dag->node[0].succs.at[1] == 2);
  cr_assert(dag->node[2].last_stage == 5 && !dag->node[2].is_output && dag->node[2].op == 2);
  cr_assert(plim_dag_working_set(dag, 2) == 28 && plim_dag_least_peak(dag, &node) == 28 && node == 1);
  plim_dag_free(dag);
  plim_problem_free(problem);
  planner_case_free(&c);
}

/* A step graph with inputs, updates, outputs and views, but nothing that the reduction gives away. */
static planner_case plain_case(uint64_t seed) {
  plim_context *ctx = NULL;
  plim_graph *graph = NULL;
  random_graph_options options = random_graph_options_default(seed);
  options.n_ops = 2 + (int32_t)(seed % 30);
  options.pair_percent = options.two_out_percent = options.halves_percent = 0;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(random_graph_make(ctx, &options, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  plim_plan_options plan_options = plim_plan_options_default();
  return planner_case_make(ctx, graph, NULL, &plan_options);
}

/* Peak of a sequence by the published rules: a copy is alive to its last reader before the next copy. */
static int64_t published_peak(const plim_dag *d, int32_t n, const int32_t *sequence) {
  static int32_t last[MAX_RUNS], latest[MAX_NODES];
  int64_t alive = d->base_bytes, peak = 0;
  for (int32_t j = 0; j < n; j++) {
    const plim_dag_node *node = &d->node[sequence[j]];
    last[j] = j;
    for (int32_t i = 0; i < node->preds.n; i++) last[latest[node->preds.at[i]]] = j;
    latest[sequence[j]] = j;
  }
  for (int32_t v = 0; v < d->n; v++) {
    if (d->node[v].is_output) last[latest[v]] = n;
  }
  for (int32_t j = 0; j < n; j++) {
    alive += d->node[sequence[j]].bytes;
    /* no run of the problem sees less than all inputs that are needed later: steps before the first op are none */
    if (d->node[sequence[j]].op >= 0 && alive + d->node[sequence[j]].workspace_bytes > peak) {
      peak = alive + d->node[sequence[j]].workspace_bytes;
    }
    for (int32_t i = 0; i <= j; i++) alive -= last[i] == j ? d->node[sequence[i]].bytes : 0;
  }
  return peak;
}

/* Stages with random repeats wherever `last_stage` allows them. */
static int32_t draw_stages(const plim_dag *d, uint64_t *random, int32_t *sequence) {
  int32_t n = 0;
  for (int32_t t = 0; t < d->n; t++) {
    for (int32_t v = 0; v < t; v++) {
      if (d->node[v].last_stage >= t && test_random_chance(random, 8)) sequence[n++] = v;
    }
    sequence[n++] = t;
  }
  return n;
}

Test(dag_reduction, stage_schedules_are_valid_and_need_no_more_bytes_than_the_reduction_says) {
  static int32_t sequence[MAX_RUNS];
  int exact = 0, lower = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    planner_case c = seed % 3 == 0 ? plain_case(seed) : planner_case_random(seed, -1);
    plim_problem *problem = NULL;
    plim_dag *dag = NULL;
    plim_timeline *timeline = NULL;
    plim_schedule schedule = {.ctx = c.ctx};
    uint64_t random = seed;
    cr_assert_eq(make_stages(&c, &problem, &dag), PLIM_OK);
    cr_assert_eq(plim_timeline_new(problem, &timeline), PLIM_OK);
    cr_assert_leq(dag->n, MAX_NODES);
    int32_t n = draw_stages(dag, &random, sequence);
    cr_assert_eq(plim_dag_schedule(dag, n, sequence, &schedule), PLIM_OK);
    cr_assert_eq(plim_timeline_evaluate(timeline, &schedule), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
                 plim_context_error(c.ctx));
    int64_t peak = published_peak(dag, n, sequence);
    cr_assert_leq(timeline->peak_bytes, peak, "seed %llu", (unsigned long long)seed);
    cr_assert_leq(plim_dag_least_peak(dag, NULL), peak);
    if (dag->is_exact) cr_assert_eq(timeline->peak_bytes, peak, "seed %llu", (unsigned long long)seed);
    exact += dag->is_exact;
    lower += timeline->peak_bytes < peak;
    plim_schedule_free(&schedule);
    plim_timeline_free(timeline);
    plim_dag_free(dag);
    plim_problem_free(problem);
    planner_case_free(&c);
  }
  cr_assert_geq(exact, CASES / 4, "only %d cases are exact", exact);
  cr_assert_geq(lower, CASES / 4, "in-place pairs and second outputs save bytes in %d cases only", lower);
}

Test(dag_reduction, the_choice_is_the_fastest_that_fits_beside_its_operands) {
  planner_case c = published_case(two_branches);
  plim_variant variant[7] = {0};
  int32_t first[] = {0, 1, 2, 3, 4, 5, 7};
  plim_machine machine = {.device = "sim", .threads = 1};
  plim_problem *problem = NULL;
  plim_dag *dag = NULL;
  for (int32_t i = 0; i < 7; i++)
    variant[i] = (plim_variant){.name = {(char)('a' + i)}, .numerics_key = "x", .time_ns = 100};
  variant[6].time_ns = 50;
  variant[6].workspace_bytes = 100;
  plim_profile_free(c.profile);
  cr_assert_eq(plim_profile_make(c.graph, &machine, 0, first, variant, &c.profile), PLIM_OK);
  cr_assert_eq(plim_problem_make(c.ctx, c.graph, c.profile, &c.options, PLIM_CLASS_STAGES, &problem), PLIM_OK);
  /* op 5 has 16 bytes of operands */
  cr_assert_eq(plim_dag_make(problem, 116, &dag), PLIM_OK);
  cr_assert(!dag->is_exact && dag->node[5].time_ns == 50 && dag->node[5].workspace_bytes == 100);
  plim_dag_free(dag);
  cr_assert_eq(plim_dag_make(problem, 115, &dag), PLIM_OK);
  cr_assert(dag->node[5].time_ns == 100 && dag->node[5].workspace_bytes == 0);
  plim_dag_free(dag);
  plim_problem_free(problem);
  planner_case_free(&c);
}

static plim_status make_under_failures(plim_context *ctx, void *user) {
  planner_case *c = user;
  plim_problem *problem = NULL;
  plim_dag *dag = NULL;
  plim_schedule schedule = {.ctx = ctx};
  const int32_t sequence[] = {0, 1, 2};
  plim_status status = plim_problem_make(ctx, c->graph, c->profile, &c->options, PLIM_CLASS_STAGES, &problem);
  if (status == PLIM_OK) status = plim_dag_make(problem, INT64_MAX, &dag);
  if (status == PLIM_OK) status = plim_dag_schedule(dag, 3, sequence, &schedule);
  plim_schedule_free(&schedule);
  plim_dag_free(dag);
  plim_problem_free(problem);
  return status;
}

Test(dag_reduction, a_failed_allocation_leaves_nothing_after) {
  planner_case c = published_case(two_branches);
  cr_assert_gt(plim_test_each_allocation(make_under_failures, &c), 5);
  planner_case_free(&c);
}
