/* Workspaces in plans over spaces: bytes beside inputs and output while a run lasts, in the checker, the simulator, the
 * search, the bound and the programs. The residency search is the oracle of sums. */
#include <criterion/criterion.h>
#include <string.h>

#include "planner/solvers/solver.h"
#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/space_make.h"
#include "runtime/import/importers.h"
#include "tests/support/space_interpret.h"
#include "tests/support/space_oracle.h"
#include "tests/support/space_rig.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

/* Run 1 on d1 has 4 + 2 bytes and a workspace of 3, run 2 on d0 4 + 3 and a workspace of 2. */
Test(space_workspace, the_peak_of_a_small_plan_is_that_by_hand) {
  space_rig r;
  int workspaces = 0;
  space_rig_begin(&r, &space_rig_workspaces);
  space_rig_lower(&r, space_rig_sequence, SPACE_RIG_SEQUENCE, 9, 9);
  cr_assert_eq(plim_space_plan_check(r.ctx, r.graph, r.plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_expect_eq(r.plan->space[0].peak_bytes, 9);
  cr_expect_eq(r.plan->space[1].peak_bytes, 9);
  for (int32_t i = 0; i < r.plan->n_buffers; i++) workspaces += r.plan->buffer[i].storage == PLIM_WORKSPACE;
  cr_expect_eq(workspaces, 2);
  space_rig_end(&r);
}

/* The plan with one buffer changed; buffer NULL: without it. */
static void expect_refused(const space_rig *r, int32_t i, const plim_space_buffer *buffer, const char *words) {
  static space_draft d;
  uint64_t random = test_seed(1);
  space_draft_copy(&d, r->plan);
  d.buffer[i] = buffer ? *buffer : d.buffer[--d.plan.n_buffers];
  plim_space_plan *plan = space_draft_finish(r->ctx, &d);
  cr_assert_not_null(plan, "%s", plim_context_error(r->ctx));
  cr_expect_eq(plim_space_plan_check(r->ctx, r->graph, plan), PLIM_EPLAN);
  cr_expect_not_null(strstr(plim_context_error(r->ctx), words), "%s", plim_context_error(r->ctx));
  cr_expect_not_null(space_interpret(r->graph, plan, &random, 200), "%s", words);
  plim_space_plan_free(plan);
}

Test(space_workspace, a_workspace_that_is_missing_or_not_that_of_its_run_is_refused) {
  space_rig r;
  int32_t i = 0;
  space_rig_begin(&r, &space_rig_workspaces);
  space_rig_lower(&r, space_rig_sequence, SPACE_RIG_SEQUENCE, 9, 9);
  while (r.plan->buffer[i].storage >= 0) i++;
  plim_space_buffer b = r.plan->buffer[i];
  expect_refused(&r, i, NULL, "its workspace has no buffer");
  b.bytes--;
  expect_refused(&r, i, &b, "is not that of a run");
  b = r.plan->buffer[i];
  b.end++;
  expect_refused(&r, i, &b, "is not that of a run");
  b = r.plan->buffer[i];
  b.space = 1 - b.space;
  expect_refused(&r, i, &b, "is not that of a run");
  space_rig_end(&r);
}

/* A random instance in which about half of the ops have a workspace. */
static void draw_case(uint64_t *random, space_case *c) {
  space_case_random(random, (int32_t)test_random_between(random, 3, 5), c);
  for (int32_t i = 0; i < c->n; i++) {
    if (test_random_chance(random, 50)) c->workspace[i] = test_random_between(random, 1, 5);
  }
}

/* The least sum of times that a planner finds, -1: it refuses. Its bound is not above the optimum. */
static int64_t serial_of(plim_context *ctx, const space_case *c, const char *planner, const int64_t *budget,
                         int64_t optimum) {
  plim_graph *graph = space_case_graph(ctx, c);
  plim_platform *platform = NULL;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  options.planner = planner;
  options.objective = PLIM_OBJECTIVE_SERIAL;
  options.budget = budget;
  options.iterations = strcmp(planner, "search") == 0 ? 200 : 0;
  cr_assert_eq(plim_platform_from_costs(graph->costs, &platform), PLIM_OK);
  plim_status status = plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  int64_t found = plan ? plan->serial_ns : -1;
  if (plan && strcmp(planner, "search") == 0) cr_expect_leq(plan->bound, (double)optimum);
  for (int32_t s = 0; plan && s < plan->n_spaces; s++) cr_expect_leq(plan->space[s].peak_bytes, budget[s]);
  plim_space_plan_free(plan);
  plim_platform_free(platform);
  plim_graph_free(graph);
  return found;
}

static void expect_near_the_oracle(plim_context *ctx, const char *planner) {
  int equal = 0, missed = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    draw_case(&random, &c);
    int64_t budget[2] = {test_random_between(&random, 8, 20), test_random_between(&random, 8, 20)};
    int64_t least = space_oracle_sum(&c, budget), found = serial_of(ctx, &c, planner, budget, least);
    cr_assert(least < 0 ? found < 0 : found < 0 || found >= least, "seed %llu: %s has %lld, the oracle %lld",
              (unsigned long long)seed, planner, (long long)found, (long long)least);
    equal += found == least;
    missed += found != least;
  }
  cr_expect_leq(missed, 6, "%s: %d equal, %d not", planner, equal, missed);
}

Test(space_workspace, the_search_is_never_below_the_residency_search_and_nearly_always_equal) {
  plim_context *ctx = plim_test_context();
  expect_near_the_oracle(ctx, "search");
  plim_test_context_end(ctx);
}

Test(space_workspace, placement_and_stages_are_never_below_the_residency_search_and_nearly_always_equal) {
  plim_context *ctx = plim_test_context();
  plim_solver *solver = NULL;
  if (plim_solver_open(ctx, NULL, &solver) != PLIM_OK) cr_skip_test("%s", plim_context_error(ctx));
  plim_solver_close(solver);
  expect_near_the_oracle(ctx, "xengine");
  plim_test_context_end(ctx);
}

/* One op of 10 bytes reads one of 10: with a workspace of 7 they need 27 bytes, which the refusal names. */
Test(space_workspace, a_refusal_counts_the_workspace) {
  static const char *const planners[] = {"search", "poet"};
  static const char text[] =
      "{\"graph\": {\"name\": \"two\"}, \"nodes\": [{\"id\": 0, \"out_cost\": 10, \"flops\": 10}, {\"id\": 1, "
      "\"out_cost\": 10, \"flops\": 10, \"workspace\": 7}], \"links\": [{\"source\": 0, \"target\": 1}]}\n";
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_platform *platform = NULL;
  plim_solver *solver = NULL;
  int programs = plim_solver_open(ctx, NULL, &solver) == PLIM_OK;
  plim_solver_close(solver);
  cr_assert_eq(plim_import_nx(ctx, "two.json", text, (int64_t)sizeof text - 1, &graph), PLIM_OK);
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
  cr_expect_eq(plim_space_keep_all_bytes(graph), 27);
  for (int i = 0; i < (programs ? 2 : 1); i++) {
    plim_space_plan *plan = NULL;
    plim_space_options options = plim_space_options_default();
    int64_t budget[2] = {26, INT64_MAX};
    options.planner = planners[i];
    options.objective = PLIM_OBJECTIVE_ENERGY;
    options.budget = budget;
    cr_expect_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_ENOFIT);
    cr_expect_not_null(strstr(plim_context_error(ctx), "ram needs 27 bytes"), "%s", plim_context_error(ctx));
    budget[0] = 27;
    cr_expect_eq(plim_space_plan_make(ctx, graph, platform, &options, NULL, &plan), PLIM_OK, "%s: %s", planners[i],
                 plim_context_error(ctx));
    if (plan) cr_expect_eq(plan->space[0].peak_bytes, 27);
    plim_space_plan_free(plan);
  }
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}
