/* planner/bound/cut.c where there are so many ops that the program of the model does not get done: what is proved and
 * suggested then. */
#include <criterion/criterion.h>

#include "planner/bound/cut_model.h"
#include "planner/core/evaluation.h"
#include "runtime/import/generate.h"
#include "tests/support/planner_case.h"

enum { OPS = 3100 /* just above what counts as many */ };

static planner_case generated(const char *shape, int32_t n) {
  plim_generate_options generate = plim_generate_options_default(shape);
  plim_plan_options options = plim_plan_options_default();
  plim_context *ctx = NULL;
  plim_graph *graph = NULL;
  generate.n = n;
  options.unpacked = 1;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(ctx, &generate, &graph), PLIM_OK);
  return planner_case_make(ctx, graph, NULL, &options);
}

Test(cut_bound_large, little_effort_proves_a_bound_and_suggests_a_plan_near_it) {
  const plim_cut_limits limits = {.work = 1000000000, .deadline_ns = INT64_MAX, .enough_ns = INT64_MAX};
  planner_case c = generated("residual", OPS);
  const plim_problem *p = c.problem;
  plim_schedule schedule = {.ctx = c.ctx};
  plim_timeline *timeline = NULL;
  plim_cut_model *model = NULL;
  plim_cut_solver *solver = NULL;
  plim_cut_flow *flow = NULL;
  plim_cut_answer answer;
  cr_assert_eq(plim_timeline_new(p, &timeline), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(p, &schedule), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(timeline, &schedule), PLIM_OK);
  int64_t budget = timeline->peak_bytes / 10 * 8;
  cr_assert_eq(plim_cut_model_make(p, 1, &model), PLIM_OK);
  cr_assert_eq(plim_cut_solver_new(model, &solver), PLIM_OK);
  cr_assert_eq(plim_cut_flow_new(model, &flow), PLIM_OK);
  cr_assert_gt(p->n_ops, 3000);
  cr_assert_eq(plim_cut_solve(solver, budget, &limits, &answer), PLIM_OK);
  cr_assert_gt(answer.bound_ns, model->least_ns);
  cr_assert_lt(answer.cost_ns, INT64_MAX, "no solution");
  cr_assert_geq(answer.cost_ns, answer.bound_ns);
  cr_assert_lt(answer.cost_ns - model->least_ns, (answer.bound_ns - model->least_ns) * 2);
  cr_assert_eq(plim_cut_walk(flow, model, answer.solution, budget, &schedule), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(timeline, &schedule), PLIM_OK, "%s", plim_context_error(c.ctx));
  cr_assert_leq(timeline->time_ns, answer.cost_ns);
  cr_assert_lt(timeline->peak_bytes, budget + budget / 10);
  plim_cut_flow_free(flow);
  plim_cut_solver_free(solver);
  plim_cut_model_free(model);
  plim_timeline_free(timeline);
  plim_schedule_free(&schedule);
  planner_case_free(&c);
}

/* Of random layers rounding looks at every cut for every column: most of the work where nothing stops it. */
Test(cut_bound_large, no_part_of_it_does_more_than_its_share_of_the_effort) {
  const int64_t work = 30000000;
  planner_case c = generated("layered", 600);
  plim_schedule schedule = {.ctx = c.ctx};
  plim_timeline *timeline = NULL;
  plim_cut_answer answer;
  cr_assert_eq(plim_timeline_new(c.problem, &timeline), PLIM_OK);
  cr_assert_eq(plim_schedule_program_order(c.problem, &schedule), PLIM_OK);
  cr_assert_eq(plim_timeline_evaluate(timeline, &schedule), PLIM_OK);
  for (int32_t fixed = 0; fixed < 2; fixed++) {
    for (int32_t bound_only = 0; bound_only < 2; bound_only++) {
      const plim_cut_limits limits = {
          .work = work, .deadline_ns = INT64_MAX, .enough_ns = INT64_MAX, .is_bound_only = bound_only};
      plim_cut_model *model = NULL;
      plim_cut_solver *solver = NULL;
      cr_assert_eq(plim_cut_model_make(c.problem, fixed, &model), PLIM_OK);
      cr_assert_eq(plim_cut_solver_new(model, &solver), PLIM_OK);
      cr_assert_eq(plim_cut_solve(solver, timeline->peak_bytes / 10 * 6, &limits, &answer), PLIM_OK);
      cr_assert_gt(answer.bound_ns, model->least_ns);
      cr_assert_lt(plim_cut_solver_work(solver), work + work / 10, "fixed %d, bound only %d", fixed, bound_only);
      plim_cut_solver_free(solver);
      plim_cut_model_free(model);
    }
  }
  plim_timeline_free(timeline);
  plim_schedule_free(&schedule);
  planner_case_free(&c);
}

/* A chain of 20,000 ops had none in a second: making the cut model took all of it. */
Test(cut_bound_large, the_search_has_a_plan_however_little_time_there_is) {
  planner_case c = generated("chain", OPS + 20);
  plim_plan *all = NULL, *plan = NULL;
  c.options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_plan_keep_all(c.ctx, c.graph, c.profile, &c.options, &all), PLIM_OK);
  c.options.budget_bytes = all->peak_bytes / 10 * 6;
  c.options.time_limit_ns = 1;
  cr_assert_eq(plim_plan_make(c.ctx, c.graph, c.profile, &c.options, &plan), PLIM_OK, "%s", plim_context_error(c.ctx));
  cr_assert_leq(plan->peak_bytes, c.options.budget_bytes);
  cr_assert_gt(plan->n_commands, c.graph->n_ops, "nothing is recomputed");
  plim_plan_free(plan);
  plim_plan_free(all);
  planner_case_free(&c);
}
