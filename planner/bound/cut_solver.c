/* Makes the solver of a model, and measures its work. Work is what the linear program, the flows and the ascent have
 * counted, so that an end by work does not depend on the machine. A phase is a share of the work and time that are
 * left. */
#include "planner/bound/cut_solver_internal.h"

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

static void lay_out(plim_cut_solver *solver, plim_block *block, int32_t rows) {
  int64_t n = solver->n_columns;
  solver->program.cost = plim_block_take(block, n, sizeof *solver->program.cost);
  solver->node.low = plim_block_take(block, n, 1);
  solver->node.high = plim_block_take(block, n, 1);
  solver->node.root_low = plim_block_take(block, n, 1);
  solver->node.root_high = plim_block_take(block, n, 1);
  solver->node.x = plim_block_take(block, n, sizeof *solver->node.x);
  solver->node.price = plim_block_take(block, n, sizeof *solver->node.price);
  solver->program.real_cost = plim_block_take(block, n, sizeof *solver->program.real_cost);
  solver->program.multiplier = plim_block_take(block, rows, sizeof *solver->program.multiplier);
  solver->node.scaled_cost = plim_block_take(block, n, sizeof *solver->node.scaled_cost);
  solver->node.reduced = plim_block_take(block, n, sizeof *solver->node.reduced);
  solver->solution.best = plim_block_take(block, n, 1);
  solver->solution.trial = plim_block_take(block, n, 1);
  solver->program.keep_row = plim_block_take(block, rows, 1);
  solver->gains = plim_block_take(block, 2 * n, sizeof *solver->gains);
  solver->separation.fitted = plim_block_take(block, solver->model->n_cuts, sizeof *solver->separation.fitted);
  solver->separation.violations = plim_block_take(block, solver->model->n_cuts, sizeof *solver->separation.violations);
  solver->solution.cut_order = plim_block_take(block, solver->model->n_cuts, sizeof *solver->solution.cut_order);
}

/* The linear program without rows. Costs in units of their greatest common divisor, scaled to at most 1. */
static plim_status make_program(plim_cut_solver *solver, int32_t rows) {
  const plim_cut_model *model = solver->model;
  int64_t most = 1;
  solver->program.unit_ns = 0;
  for (int32_t j = 0; j < solver->n_columns; j++) {
    solver->program.unit_ns = plim_integers_gcd(solver->program.unit_ns, model->cost_ns[j]);
  }
  if (solver->program.unit_ns == 0) solver->program.unit_ns = 1;
  for (int32_t j = 0; j < solver->n_columns; j++) {
    solver->program.cost[j] = model->cost_ns[j] / solver->program.unit_ns;
    solver->program.real_cost[j] = (double)solver->program.cost[j];
    if (solver->program.cost[j] > most) most = solver->program.cost[j];
  }
  solver->program.scale = (double)most;
  for (int32_t j = 0; j < solver->n_columns; j++) {
    solver->node.x[j] = (double)solver->program.cost[j] / solver->program.scale;
  }
  return plim_lp_new(solver->ctx, solver->n_columns, solver->node.x, rows, &solver->lp);
}

plim_status plim_cut_solver_new(const plim_cut_model *model, plim_cut_solver **out) {
  plim_context *ctx = model->problem->ctx;
  plim_cut_solver *solver = NULL;
  plim_status status;
  int32_t rows = bound_tuning.program.dictionary / (model->n_columns + 1);
  if (rows > bound_tuning.program.rows) rows = bound_tuning.program.rows;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *solver, &solver));
  *solver = (plim_cut_solver){
      .model = model, .ctx = ctx, .n_columns = model->n_columns, .program.rows = {.ctx = ctx}, .tree = {.ctx = ctx}};
  lay_out(solver, &solver->block, rows);
  PLIM_TRY_OR_DONE(plim_block_allocate(ctx, &solver->block));
  lay_out(solver, &solver->block, rows);
  PLIM_TRY_OR_DONE(plim_cut_flow_new(model, &solver->flow));
  PLIM_TRY_OR_DONE(make_program(solver, rows));
  *out = solver;
done:
  if (status != PLIM_OK) plim_cut_solver_free(solver);
  return status;
}

void plim_cut_solver_free(plim_cut_solver *solver) {
  if (!solver) return;
  plim_context *ctx = solver->ctx;
  plim_cut_flow_free(solver->flow);
  plim_lp_free(solver->lp);
  plim_cut_rows_free(&solver->program.rows);
  plim_cut_tree_free(&solver->tree);
  plim_block_release(ctx, &solver->block);
  plim_release(ctx, solver, 1, sizeof *solver);
}

int64_t plim_cut_solver_work(const plim_cut_solver *solver) {
  int64_t ascent = solver->ascent ? plim_cut_ascent_work(solver->ascent) : 0;
  return plim_lp_work(solver->lp) + 8 * plim_cut_flow_work(solver->flow) + ascent + solver->other_work;
}

int plim_cut_solver_over(const plim_cut_solver *solver) {
  return plim_cut_solver_work(solver) >= solver->phase.end_work || plim_effort_over(solver->ctx, PLIM_EFFORT_LOOK) ||
         (solver->phase.end_ns < PLIM_TIME_UNLIMITED && plim_now_ns() >= solver->phase.end_ns);
}

void plim_cut_solver_phase(plim_cut_solver *solver, int32_t percent) {
  int64_t work = plim_cut_solver_work(solver), now_ns = plim_now_ns(), deadline_ns = solver->phase.limits.deadline_ns;
  solver->phase.end_work = work + (solver->phase.limits.work - work) / 100 * percent;
  solver->phase.end_ns =
      deadline_ns == PLIM_TIME_UNLIMITED ? PLIM_TIME_UNLIMITED : now_ns + (deadline_ns - now_ns) / 100 * percent;
}
