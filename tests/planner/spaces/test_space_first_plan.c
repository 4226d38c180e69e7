/* planner/spaces/space_first.c and planner/one_arena/unpacked_plan.c: large graphs begin with a plan of one
 * arena. */
#include "planner/spaces/space_make_internal.h"

#include <criterion/criterion.h>

#include "planner/one_arena/arena_plan.h"
#include "planner/spaces/problem/space_problem.h"
#include "runtime/base/effort.h"
#include "runtime/import/generate.h"
#include "tests/support/space_cases.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/joint_case.h"

enum { OPS = 1000 };

static int calls, limited;

/* It finds nothing. */
static plim_status count_call(const plim_graph *graph, const int64_t *cost, int64_t budget_bytes, int64_t time_limit_ns,
                              int32_t threads, plim_plan **out) {
  (void)budget_bytes;
  (void)threads;
  calls++;
  if (!limited) cr_expect_eq(time_limit_ns, 0);
  if (limited) cr_expect_gt(time_limit_ns, 0);
  for (int32_t o = 0; o < graph->n_ops; o++) cr_assert_geq(cost[o], 0);
  *out = NULL;
  return PLIM_OK;
}

static int called(const plim_graph *graph, const plim_platform *platform, const int64_t *budget, int recompute,
                  int page) {
  plim_space_problem *p = NULL;
  plim_space_options options = plim_space_options_default();
  plim_space_events events = {.ctx = graph->ctx};
  const plim_space_search_options asked = {
      .objective = PLIM_OBJECTIVE_TIME, .recompute = recompute, .page = page, .place = 1, .budget = budget};
  options.one_arena = count_call;
  calls = 0;
  cr_assert_eq(plim_space_problem_make(graph, platform, 0, &p), PLIM_OK, "%s", plim_context_error(graph->ctx));
  cr_assert_eq(plim_space_first(p, &asked, &options, 50, &events), PLIM_OK);
  cr_expect_eq(events.n, 0);
  plim_space_events_free(&events);
  plim_space_problem_free(p);
  return calls;
}

Test(space_first, one_arena_is_planned_for_large_graphs_on_one_device_that_may_recompute) {
  plim_context *ctx = plim_test_context();
  const int64_t budget[] = {300000, INT64_MAX};
  plim_platform *m4 = NULL;
  joint_case small;
  plim_graph *large = space_chain(ctx, OPS);
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &m4), PLIM_OK);
  cr_expect_eq(called(large, m4, budget, 1, 1), 1);
  cr_expect_eq(called(large, m4, budget, 0, 1), 0);
  for (uint64_t seed = test_seed(1), end = seed + 2; test_seed_at(seed) < end; seed++) {
    cr_assert_eq(joint_case_make(ctx, seed, JOINT_OPS, &small), PLIM_OK);
    cr_expect_eq(called(small.graph, small.platform, small.budget, 1, 1), 0);
    joint_case_free(&small);
  }
  limited = 1;
  int64_t outer = plim_effort_begin(ctx, plim_now_ns() + 50 * INT64_C(1000000)); /* less than 200 us a node */
  cr_expect_eq(called(large, m4, budget, 1, 1), 0, "starts on demand have no time left");
  cr_expect_eq(plim_effort_end(ctx, outer, PLIM_OK), PLIM_OK);
  outer = plim_effort_begin(ctx, plim_now_ns() + 3600 * INT64_C(1000000000));
  cr_expect_eq(called(large, m4, budget, 1, 1), 1);
  cr_expect_eq(called(large, m4, budget, 1, 0), 1);
  cr_expect_eq(plim_effort_end(ctx, outer, PLIM_OK), PLIM_OK);
  plim_platform_free(m4);
  plim_graph_free(large);
  plim_test_context_end(ctx);
}

static int64_t one_arena_ns, one_arena_bytes;

static plim_status note_plan(const plim_graph *graph, const int64_t *cost, int64_t budget_bytes, int64_t time_limit_ns,
                             int32_t threads, plim_plan **out) {
  plim_status status = plim_one_arena_plan(graph, cost, budget_bytes, time_limit_ns, threads, out);
  if (status == PLIM_OK && *out) one_arena_ns = (*out)->time_ns;
  if (status == PLIM_OK && *out) one_arena_bytes = (*out)->peak_bytes;
  return status;
}

/* The makespan of the plan over spaces that may only recompute. */
static double searched(const plim_graph *graph, const plim_platform *platform, const int64_t *budget,
                       plim_space_one_arena *one_arena) {
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.budget = budget;
  options.page = 0;
  options.iterations = 1;
  options.one_arena = one_arena;
  plim_status status = plim_space_plan_make(graph->ctx, graph, platform, &options, NULL, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(graph->ctx));
  double value = plan ? plim_space_plan_value(plan) : -1;
  if (plan) cr_expect_leq(plan->space[0].peak_bytes, budget[0]);
  plim_space_plan_free(plan);
  return value;
}

Test(space_first, a_plan_over_spaces_is_no_slower_than_the_one_of_one_arena) {
  plim_context *ctx = plim_test_context();
  plim_generate_options shape = plim_generate_options_default("layered");
  plim_graph *graph = NULL;
  plim_platform *platform = NULL;
  shape.n = OPS;
  cr_assert_eq(plim_graph_generate(ctx, &shape, &graph), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
  const int64_t budget[] = {plim_space_keep_all_bytes(graph) / 100 * 85, INT64_MAX};
  double value = searched(graph, platform, budget, note_plan);
  cr_expect_geq(value, 0);
  cr_expect_gt(one_arena_ns, 0);
  cr_expect_leq(one_arena_bytes, budget[0]);
  cr_expect_leq(value, (double)one_arena_ns);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}
