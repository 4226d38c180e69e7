/* planner/bound/ascent.c: what its multipliers prove, beside what branch and cut proves of the same model. */
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"

#include <criterion/criterion.h>
#include <string.h>

#include "planner/core/problem.h"
#include "tests/support/failing_memory.h"
#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"

enum { MOST_COLUMNS = 200 };

static int never(void *user) {
  (void)user;
  return 0;
}

static int at_once(void *user) {
  (void)user;
  return 1;
}

typedef struct ascent_case {
  planner_case c;
  plim_cut_model *model;
  plim_cut_flow *flow;
  double cost[MOST_COLUMNS];
} ascent_case;

static ascent_case case_make(uint64_t seed, int32_t ops, int32_t fixed) {
  ascent_case a = {.c = planner_case_random(seed, ops)};
  cr_assert_eq(plim_cut_model_make(a.c.problem, fixed, &a.model), PLIM_OK);
  cr_assert_eq(plim_cut_flow_new(a.model, &a.flow), PLIM_OK);
  cr_assert_leq(a.model->n_columns, MOST_COLUMNS);
  for (int32_t j = 0; j < a.model->n_columns; j++) a.cost[j] = (double)a.model->cost_ns[j];
  return a;
}

static void case_free(ascent_case *a) {
  plim_cut_flow_free(a->flow);
  plim_cut_model_free(a->model);
  planner_case_free(&a->c);
}

/* Cuts that do not fit if nothing runs again. */
static int32_t cuts_at(const plim_cut_model *m, int64_t budget) {
  int32_t n = 0;
  while (n < m->n_cuts && m->cut[n].base_bytes + m->cut[n].needed_bytes > budget) n++;
  return n;
}

/* What the ascent proves, in integers; INT64_MAX: that there is no plan. `start`: rows to begin with; they become what
 * is kept of this budget. */
static int64_t proven_from(const ascent_case *a, int64_t budget, int (*stop)(void *user), plim_cut_rows *start) {
  plim_cut_ascent *ascent = NULL;
  uint8_t low[MOST_COLUMNS] = {0}, high[MOST_COLUMNS];
  int64_t scaled_cost[MOST_COLUMNS];
  plim_cut_bounds bounds = {a->model->n_columns, a->model->cost_ns, low, high};
  int32_t impossible;
  memset(high, 1, sizeof high);
  cr_assert_eq(plim_cut_ascent_new(a->model, a->flow, a->cost, cuts_at(a->model, budget), budget, start, &ascent),
               PLIM_OK);
  cr_assert_eq(plim_cut_ascend(ascent, stop, NULL, &impossible), PLIM_OK);
  const plim_cut_rows *rows = plim_cut_ascent_rows(ascent);
  const double *x = plim_cut_ascent_point(ascent), *multiplier = plim_cut_ascent_multipliers(ascent);
  for (int32_t j = 0; j < a->model->n_columns; j++) cr_assert(x[j] >= 0 && x[j] <= 1);
  int64_t bound = plim_cut_certify(&bounds, rows->n, rows->row, multiplier, scaled_cost, NULL);
  plim_cut_rows_free(start);
  for (int32_t r = 0; r < rows->n; r++) {
    cr_assert_eq(plim_cut_rows_add(start, &rows->row[r]), PLIM_OK);
    start->row[r].price = multiplier[r] / plim_cut_row_unit(&rows->row[r], budget);
  }
  plim_cut_ascent_free(ascent);
  return impossible ? INT64_MAX : a->model->least_ns + bound;
}

static int64_t proven(const ascent_case *a, int64_t budget, int (*stop)(void *user)) {
  plim_cut_rows rows = {.ctx = a->c.ctx};
  int64_t bound = proven_from(a, budget, stop, &rows);
  plim_cut_rows_free(&rows);
  return bound;
}

static int64_t solved(const ascent_case *a, int64_t budget) {
  const plim_cut_limits limits = {
      .work = 500000000, .deadline_ns = INT64_MAX, .enough_ns = INT64_MAX, .is_bound_only = 1};
  plim_cut_solver *solver = NULL;
  plim_cut_answer answer;
  cr_assert_eq(plim_cut_solver_new(a->model, &solver), PLIM_OK);
  cr_assert_eq(plim_cut_solve(solver, budget, &limits, &answer), PLIM_OK);
  plim_cut_solver_free(solver);
  return answer.bound_ns;
}

Test(cut_ascent, proves_nothing_that_the_model_denies_and_most_of_what_it_proves) {
  double by_ascent = 0, by_solver = 0;
  int32_t cases = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    ascent_case a = case_make(seed, 12 + (int32_t)(seed % 20), (int32_t)(seed % 2));
    int64_t least = a.model->least_ns;
    int32_t op;
    int64_t low = plim_bound_bytes(a.c.problem, &op), high = a.model->cut[0].base_bytes + a.model->cut[0].needed_bytes;
    for (int64_t k = 1; k <= 3 && low < high; k++) {
      int64_t budget = low + (high - low) * k / 4, bound = proven(&a, budget, never), best = solved(&a, budget);
      cr_assert_leq(bound, best, "seed %d at %lld", (int)seed, (long long)budget);
      if (best == INT64_MAX) continue;
      by_ascent += (double)(bound - least) / (double)least;
      by_solver += (double)(best - least) / (double)least;
      cases++;
    }
    case_free(&a);
  }
  cr_log_info("%d cases: %.3f by the ascent, %.3f by branch and cut", (int)cases, by_ascent, by_solver);
  cr_assert_gt(cases, 30);
  cr_assert_gt(by_ascent, 0.6 * by_solver);
}

/* Fit what was kept to another budget. */
static void fit(plim_cut_rows *rows, int64_t budget) {
  uint8_t keep[1024];
  cr_assert_leq(rows->n, 1024);
  for (int32_t r = 0; r < rows->n; r++) {
    plim_cut_row_fit(&rows->row[r], budget);
    keep[r] = rows->row[r].demand > 0;
  }
  plim_cut_rows_sift(rows, keep);
}

Test(cut_ascent, rows_of_another_budget_prove_nothing_wrong_and_no_less) {
  double warm = 0, cold = 0;
  int32_t started = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    ascent_case a = case_make(seed, 12 + (int32_t)(seed % 20), (int32_t)(seed % 2));
    plim_cut_rows rows = {.ctx = a.c.ctx};
    int64_t least = a.model->least_ns;
    int32_t op;
    int64_t low = plim_bound_bytes(a.c.problem, &op), high = a.model->cut[0].base_bytes + a.model->cut[0].needed_bytes;
    for (int64_t k = 0; k < 9 && low < high; k++) {
      int64_t budget = low + (high - low) * (k < 5 ? 1 + 2 * k : 2 * (9 - k)) / 10, best = solved(&a, budget);
      fit(&rows, budget);
      started += rows.n > 0;
      int64_t bound = proven_from(&a, budget, never, &rows);
      cr_assert_leq(bound, best, "seed %d at %lld", (int)seed, (long long)budget);
      if (best == INT64_MAX) continue;
      warm += (double)(bound - least) / (double)least;
      cold += (double)(proven(&a, budget, never) - least) / (double)least;
    }
    plim_cut_rows_free(&rows);
    case_free(&a);
  }
  cr_log_info("from %d rows: %.3f, from nothing: %.3f", (int)started, warm, cold);
  cr_assert_gt(started, 100);
  cr_assert_gt(warm, 0.98 * cold);
}

Test(cut_ascent, stopped_at_once_it_proves_that_every_op_runs_once) {
  ascent_case a = case_make(3, 24, 1);
  int32_t op;
  cr_assert_eq(proven(&a, plim_bound_bytes(a.c.problem, &op), at_once), a.model->least_ns);
  cr_assert_eq(proven(&a, INT64_MAX, never), a.model->least_ns, "no cut is too large");
  case_free(&a);
}

typedef struct attempt {
  const ascent_case *a;
  int64_t budget;
} attempt;

/* The model's context allocates, so that is the one that fails. */
static plim_status ascend_once(plim_context *ctx, void *user) {
  const attempt *t = user;
  plim_problem *problem = NULL;
  plim_cut_model *model = NULL;
  plim_cut_flow *flow = NULL;
  plim_cut_ascent *ascent = NULL;
  plim_cut_rows rows = {.ctx = ctx};
  plim_status status;
  int32_t impossible;
  PLIM_TRY_OR_DONE(
      plim_problem_make(ctx, t->a->c.graph, t->a->c.profile, &t->a->c.options, PLIM_CLASS_FIXED, &problem));
  PLIM_TRY_OR_DONE(plim_cut_model_make(problem, 1, &model));
  PLIM_TRY_OR_DONE(plim_cut_flow_new(model, &flow));
  PLIM_TRY_OR_DONE(plim_cut_ascent_new(model, flow, t->a->cost, cuts_at(model, t->budget), t->budget, &rows, &ascent));
  status = plim_cut_ascend(ascent, never, NULL, &impossible);
  if (status == PLIM_OK) status = plim_cut_rows_add(&rows, &plim_cut_ascent_rows(ascent)->row[0]);
  if (status != PLIM_OK) goto done;
  rows.row[0].price = 1e-3;
  plim_cut_ascent_free(ascent);
  ascent = NULL;
  PLIM_TRY_OR_DONE(plim_cut_ascent_new(model, flow, t->a->cost, cuts_at(model, t->budget), t->budget, &rows, &ascent));
done:
  plim_cut_rows_free(&rows);
  plim_cut_ascent_free(ascent);
  plim_cut_flow_free(flow);
  plim_cut_model_free(model);
  plim_problem_free(problem);
  return status;
}

Test(cut_ascent, a_refused_allocation_leaves_nothing_after) {
  ascent_case a = case_make(5, 24, 1);
  int32_t op;
  attempt t = {&a, plim_bound_bytes(a.c.problem, &op)};
  cr_assert_gt(plim_test_each_allocation(ascend_once, &t), 10);
  case_free(&a);
}
