/* Branch and cut: the least time that the cut model allows within a budget.
 *
 * Where a point of the linear program violates a cut, a flow gives a row. The open node of least bound is next, and is
 * followed down to a solution. Every bound that closes a node is a certificate in integers. Costs are divided by their
 * greatest common divisor, so that a bound rounds up to the next possible time. */
#include "planner/bound/cut_solver_internal.h"

#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"

static void forget_rows(plim_cut_solver *solver) {
  memset(solver->program.keep_row, 0, (size_t)solver->program.rows.n);
  plim_cut_rows_sift(&solver->program.rows, solver->program.keep_row);
}

/* Is the phase over? Where only a bound is wanted, also when the bound is enough. What the certificate rounds off is
 * left to the nodes. */
static int stop_ascent(void *user) {
  const plim_cut_solver *solver = user;
  int enough = solver->phase.limits.is_bound_only && plim_cut_ascent_bound(solver->ascent) >= (double)solver->cutoff;
  return enough || plim_cut_solver_over(solver);
}

/* Take over what the ascent has: its bound as a certificate, its binding rows for the program, and a solution rounded
 * from its point. */
static plim_status use_ascent(plim_cut_solver *solver, int64_t *bound) {
  const plim_cut_rows *rows = plim_cut_ascent_rows(solver->ascent);
  const double *multiplier = plim_cut_ascent_multipliers(solver->ascent);
  plim_cut_bounds bounds = {solver->n_columns, solver->program.cost, solver->node.root_low, solver->node.root_high};
  int64_t proven = plim_cut_certify(&bounds, rows->n, rows->row, multiplier, solver->node.scaled_cost, NULL);
  if (proven > *bound) *bound = proven;
  for (int32_t r = 0; r < rows->n && !plim_lp_full(solver->lp); r++) {
    if (multiplier[r] <= 0) continue;
    PLIM_TRY(plim_cut_rows_add(&solver->program.rows, &rows->row[r]));
    solver->program.rows.row[solver->program.rows.n - 1].price =
        multiplier[r] / plim_cut_row_unit(&rows->row[r], solver->budget_bytes);
    plim_lp_add(solver->lp, &rows->row[r]);
    solver->n_rows++;
  }
  if (!solver->phase.limits.is_bound_only) {
    plim_cut_solver_phase(solver, plim_cut_solver_large(solver) ? 100 : bound_tuning.solve.rounding_percent);
    plim_cut_solution_round(solver, plim_cut_ascent_point(solver->ascent));
  }
  return PLIM_OK;
}

/* In a large graph, raise multipliers before the program is solved. *bound: no solution costs less. */
static plim_status ascend(plim_cut_solver *solver, int64_t *bound) {
  plim_status status;
  int32_t impossible = 0;
  if (solver->model->problem->n_ops <= bound_tuning.solve.ascent_ops || solver->n_cuts == 0) {
    plim_cut_solver_begin_rows(solver);
    return PLIM_OK;
  }
  plim_cut_solver_phase(solver, plim_cut_solver_large(solver) ? bound_tuning.solve.ascent_percent_long
                                                              : bound_tuning.solve.ascent_percent);
  PLIM_TRY(plim_cut_ascent_new(solver->model, solver->flow, solver->program.real_cost, solver->n_cuts,
                               solver->budget_bytes, &solver->program.rows, &solver->ascent));
  forget_rows(solver);
  status = plim_cut_ascend(solver->ascent, stop_ascent, solver, &impossible);
  if (status == PLIM_OK && !impossible) status = use_ascent(solver, bound);
  if (impossible) solver->impossible = 1;
  solver->other_work += plim_cut_ascent_work(solver->ascent);
  plim_cut_ascent_free(solver->ascent);
  solver->ascent = NULL;
  plim_cut_solver_phase(solver, plim_cut_solver_large(solver) && !solver->phase.limits.is_bound_only
                                    ? bound_tuning.solve.root_percent
                                    : 100);
  return status;
}

static void set_budget(plim_cut_solver *solver, int64_t budget_bytes, const plim_cut_limits *limits) {
  const plim_cut_model *model = solver->model;
  solver->budget_bytes = budget_bytes;
  solver->phase.limits = *limits;
  solver->solution.best_cost = PLIM_TIME_INFINITE;
  solver->solution.all_cost = 0;
  for (int32_t j = 0; j < solver->n_columns; j++) solver->solution.all_cost += solver->program.cost[j];
  solver->cutoff = solver->solution.all_cost + 1;
  int64_t enough = (limits->enough_ns - model->least_ns) / solver->program.unit_ns;
  if (enough < solver->solution.all_cost) {
    solver->cutoff = enough + ((limits->enough_ns - model->least_ns) % solver->program.unit_ns > 0);
  }
  solver->tree.n_nodes = solver->tree.n_open = 0;
  solver->n_done = solver->n_rows = solver->impossible = 0;
  solver->given_up = PLIM_TIME_INFINITE;
  for (solver->n_cuts = 0; solver->n_cuts < model->n_cuts; solver->n_cuts++) {
    const plim_cut *cut = &model->cut[solver->n_cuts];
    if (cut->base_bytes + cut->needed_bytes <= budget_bytes) break;
    solver->solution.cut_order[solver->n_cuts] = solver->n_cuts;
    solver->separation.fitted[solver->n_cuts] = 0;
  }
  for (int32_t j = 0; j < solver->n_columns; j++) {
    solver->node.root_low[j] = solver->program.cost[j] == 0;
    solver->node.root_high[j] = 1;
  }
  plim_cut_solver_keep_rows(solver);
  plim_cut_solver_phase(
      solver, plim_cut_solver_large(solver) && !limits->is_bound_only ? bound_tuning.solve.root_percent : 100);
}

plim_status plim_cut_solve(plim_cut_solver *solver, int64_t budget_bytes, const plim_cut_limits *limits,
                           plim_cut_answer *answer) {
  const plim_cut_model *model = solver->model;
  plim_cut_limits own = *limits;
  int64_t now_ns = plim_now_ns(), end_work = plim_cut_solver_work(solver) + limits->work;
  own.work = end_work - limits->work / bound_tuning.solve.last_part;
  if (limits->deadline_ns < PLIM_TIME_UNLIMITED) {
    own.deadline_ns -= (limits->deadline_ns - now_ns) / bound_tuning.solve.last_part;
  }
  set_budget(solver, budget_bytes, &own);
  int32_t root;
  PLIM_TRY(plim_cut_tree_add(&solver->tree, (plim_cut_node){.parent = -1}, &root));
  PLIM_TRY(ascend(solver, &solver->tree.node[root].bound));
  PLIM_TRY(plim_cut_tree_open(&solver->tree, root));
  while (solver->tree.n_open > 0 && !solver->impossible && plim_cut_tree_least(&solver->tree) < solver->cutoff &&
         !plim_cut_solver_over(solver)) {
    PLIM_TRY(plim_cut_node_dive(solver, plim_cut_tree_pop(&solver->tree)));
  }
  int64_t bound = solver->cutoff;
  if (solver->tree.n_open > 0 && plim_cut_tree_least(&solver->tree) < bound) bound = plim_cut_tree_least(&solver->tree);
  if (solver->given_up < bound) bound = solver->given_up;
  if (bound > solver->solution.all_cost) solver->impossible = 1;
  *answer = (plim_cut_answer){
      .bound_ns = solver->impossible ? PLIM_TIME_INFINITE : model->least_ns + bound * solver->program.unit_ns,
      .cost_ns = PLIM_TIME_INFINITE,
      .solution = solver->solution.best,
      .n_nodes = solver->n_done,
      .n_rows = solver->n_rows};
  if (solver->solution.best_cost < PLIM_TIME_INFINITE) {
    solver->phase.limits.work = end_work;
    solver->phase.limits.deadline_ns = limits->deadline_ns;
    plim_cut_solver_phase(solver, 100);
    plim_cut_solution_reduce(solver, solver->solution.best, 0);
    answer->cost_ns = model->least_ns + solver->solution.best_cost * solver->program.unit_ns;
  }
  return plim_context_cancelled(solver->ctx) ? PLIM_ECANCEL : PLIM_OK;
}
