/* planner/search/searcher.c: one searcher's annealing runs. */
#include "planner/search/search_internal.h"

#include <criterion/criterion.h>

#include "tests/support/dag_cases.h"
#include "tests/support/planner_case.h"

/* Covering, Rotor and the search for the fewest bytes hand over schedules in which ops run many times. */
Test(searcher, a_start_of_more_runs_than_the_usual_room_is_taken_whole) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.budget_bytes = INT64_MAX;
  planner_case c = planner_case_make(ctx, dag_chain(ctx, 9, 0), NULL, &options);
  plim_incumbent *inc = NULL;
  plim_searcher searcher;
  plim_schedule order = {.ctx = ctx}, start = {.ctx = ctx};
  cr_assert_eq(plim_schedule_program_order(c.problem, &order), PLIM_OK);
  for (int32_t i = 0; i < 3 * plim_track_usual_capacity(c.problem); i++) {
    cr_assert_eq(plim_schedule_add(&start, order.op[0], order.choice[0]), PLIM_OK);
  }
  for (int32_t i = 1; i < order.n; i++) {
    cr_assert_eq(plim_schedule_add(&start, order.op[i], order.choice[i]), PLIM_OK);
  }
  cr_assert_eq(plim_incumbent_begin(c.problem, &c.options, &inc), PLIM_OK);
  cr_assert_eq(plim_searcher_begin(inc, 1, &searcher), PLIM_OK);
  const plim_annealing annealing = {100, 1, PLIM_START_GIVEN, {25, 15, 15, 10, 10, 20, 5, 10}};
  for (int again = 0; again < 2; again++) {
    cr_assert_eq(plim_searcher_anneal(&searcher, &annealing, &start, 2000, INT64_MAX), PLIM_OK, "%s",
                 plim_context_error(ctx));
    cr_assert(inc->has_best);
    const plim_timeline *timeline = NULL;
    cr_assert_eq(plim_incumbent_evaluate(inc, &inc->best, &timeline), PLIM_OK);
    cr_assert_eq(timeline->time_ns, inc->best_ns);
  }
  plim_searcher_end(&searcher);
  plim_incumbent_end(inc);
  plim_schedule_free(&start);
  plim_schedule_free(&order);
  planner_case_free(&c);
}

/* The most runs of an op after one annealing run from program order. */
static int32_t most_runs_after(planner_case *c, int32_t cap) {
  const plim_annealing annealing = {100, 1, PLIM_START_GIVEN, {25, 15, 15, 10, 10, 20, 5, 10}};
  plim_incumbent *inc = NULL;
  plim_searcher searcher;
  plim_schedule order = {.ctx = c->ctx};
  int32_t runs[32] = {0}, most = 0;
  cr_assert_eq(plim_schedule_program_order(c->problem, &order), PLIM_OK);
  cr_assert_eq(plim_incumbent_begin(c->problem, &c->options, &inc), PLIM_OK);
  inc->task.runs_an_op_limit = cap;
  cr_assert_eq(plim_searcher_begin(inc, 1, &searcher), PLIM_OK);
  cr_assert_eq(plim_searcher_anneal(&searcher, &annealing, &order, 20000, INT64_MAX), PLIM_OK);
  for (int32_t j = 0; j < searcher.candidate.n; j++) {
    int32_t n = ++runs[searcher.candidate.op[j]];
    most = n > most ? n : most;
  }
  plim_searcher_end(&searcher);
  plim_incumbent_end(inc);
  plim_schedule_free(&order);
  return most;
}

Test(searcher, a_cap_on_runs_is_kept_where_an_op_would_run_more_often) {
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.budget_bytes = 5;
  planner_case c = planner_case_make(ctx, dag_chain(ctx, 12, 0), NULL, &options);
  cr_assert_gt(most_runs_after(&c, 0), 2);
  cr_assert_eq(most_runs_after(&c, 2), 2);
  planner_case_free(&c);
}

/* Moccasin's first search may run an op a few times only, with any number of threads. */
Test(searcher, every_searcher_of_a_portfolio_has_the_task_of_its_incumbent) {
  enum { SEARCHERS = 3, CAP = 2, LESS = 4 };
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.budget_bytes = 5;
  options.threads = SEARCHERS;
  planner_case c = planner_case_make(ctx, dag_chain(ctx, 12, 0), NULL, &options);
  plim_portfolio_member member[SEARCHERS] = {{.status = PLIM_OK}};
  plim_portfolio portfolio = {.n = SEARCHERS, .member = member};
  cr_assert_eq(plim_incumbent_begin(c.problem, &c.options, &portfolio.inc), PLIM_OK);
  portfolio.inc->task.runs_an_op_limit = CAP;
  portfolio.inc->task.budget_bytes = LESS;
  for (int32_t i = 0; i < SEARCHERS; i++) {
    cr_assert_eq(plim_portfolio_begin_member(&portfolio, i), PLIM_OK);
    cr_expect_eq(member[i].searcher.anneal.runs_an_op_limit, CAP, "searcher %d", (int)i);
    cr_expect_eq(member[i].searcher.anneal.mover.limit, LESS, "searcher %d", (int)i);
  }
  for (int32_t i = 0; i < SEARCHERS; i++) plim_portfolio_end_member(&portfolio, i);
  plim_incumbent_end(portfolio.inc);
  planner_case_free(&c);
}
