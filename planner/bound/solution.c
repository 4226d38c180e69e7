/* Solutions by a greedy method: a cut that does not fit gets the column of its row with the largest weight for its
 * cost. Then columns are removed again, the costliest first, as long as every cut fits. Only cuts of the column's
 * segment have to be looked at for that. */
#include "planner/bound/cut_solver_internal.h"

#include <string.h>

#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"

static int64_t cost_of(const plim_cut_solver *solver, const uint8_t *solution) {
  int64_t sum = 0;
  for (int32_t j = 0; j < solver->n_columns; j++) sum += solution[j] ? solver->program.cost[j] : 0;
  return sum;
}

void plim_cut_solution_take(plim_cut_solver *solver, const uint8_t *solution) {
  int64_t cost = cost_of(solver, solution);
  if (cost >= solver->solution.best_cost) return;
  memcpy(solver->solution.best, solution, (size_t)solver->n_columns);
  solver->solution.best_cost = cost;
  if (cost < solver->cutoff) solver->cutoff = cost;
}

/* Does the solution satisfy the collected rows? Much faster than to ask the cuts. */
static int rows_hold(plim_cut_solver *solver, const uint8_t *solution) {
  for (int32_t r = 0; r < solver->program.rows.n; r++) {
    const plim_cut_row *row = &solver->program.rows.row[r];
    int64_t left = row->demand;
    solver->other_work += row->n;
    for (int32_t k = 0; k < row->n && left > 0; k++) left -= solution[row->column[k]] ? row->weight[k] : 0;
    if (left > 0) return 0;
  }
  return 1;
}

/* The entry of the row, not in the solution yet, with the largest weight for its cost; -1: none. */
static int32_t best_of_row(const plim_cut_solver *solver, const plim_cut_row *row, const uint8_t *solution) {
  int32_t best = -1;
  double best_worth = -1;
  for (int32_t k = 0; k < row->n; k++) {
    double worth = (double)row->weight[k] / ((double)solver->program.cost[row->column[k]] + 1e-3);
    if (solution[row->column[k]] || worth <= best_worth) continue;
    best = k;
    best_worth = worth;
  }
  return best;
}

static void set_point(plim_cut_solver *solver, const uint8_t *solution) {
  for (int32_t j = 0; j < solver->n_columns; j++) solver->node.x[j] = solution[j];
}

/* Move entry k of the order of cuts to the front: cuts that failed lately are asked first. */
static void bring_forward(plim_cut_solver *solver, int32_t k) {
  int32_t c = solver->solution.cut_order[k];
  memmove(&solver->solution.cut_order[1], &solver->solution.cut_order[0],
          (size_t)k * sizeof *solver->solution.cut_order);
  solver->solution.cut_order[0] = c;
}

/* Add columns by largest weight for their cost, until the cut fits. Returns 0 where it cannot fit, or the phase is
 * over. */
static int repair_cut(plim_cut_solver *solver, const plim_cut *cut, uint8_t *solution, int32_t *added) {
  for (;;) {
    plim_cut_row row;
    if (plim_cut_solver_over(solver)) return 0;
    if (plim_cut_flow_run(solver->flow, cut, solver->node.x, NULL, solver->budget_bytes) <= 0) return 1;
    plim_cut_flow_row(solver->flow, &row);
    int64_t left = plim_cut_solver_large(solver) ? row.demand : 1;
    int32_t best = best_of_row(solver, &row, solution);
    if (best < 0) return 0;
    for (; best >= 0 && left > 0; best = best_of_row(solver, &row, solution)) {
      left -= row.weight[best];
      solution[row.column[best]] = 1;
      solver->node.x[row.column[best]] = 1;
    }
    *added = 1;
  }
}

/* One pass over the cuts: a cut that fits still fits when columns are added. Returns 0 where one cannot fit. */
static int repair_cuts(plim_cut_solver *solver, uint8_t *solution) {
  set_point(solver, solution);
  for (int32_t k = 0; k < solver->n_cuts; k++) {
    int32_t added = 0;
    if (!repair_cut(solver, &solver->model->cut[solver->solution.cut_order[k]], solution, &added)) return 0;
    if (added) bring_forward(solver, k);
  }
  return 1;
}

/* Does the column matter to the cut? It is one of op `op`, or of a slower choice where op is -1. */
static int can_relieve(const plim_cut_model *model, const plim_cut *cut, int32_t column, int32_t op) {
  if (op < 0) return column >= cut->first_column && column < cut->end_column;
  if (!plim_cut_before(&model->order, op, cut->op)) return 0;
  plim_cut_segment_range span = plim_cut_segment_range_of(&model->segments, &model->order, op, cut->op);
  return column >= span.first && column < span.end;
}

/* Do all cuts fit at solver->node.x, without the column? Also 0 when the phase is over. */
static int fits_without(plim_cut_solver *solver, int32_t column) {
  const plim_cut_model *model = solver->model;
  int32_t op = column < model->segments.n ? plim_cut_segment_op(&model->segments, column) : -1;
  solver->other_work += solver->n_cuts;
  for (int32_t k = 0; k < solver->n_cuts; k++) {
    const plim_cut *cut = &model->cut[solver->solution.cut_order[k]];
    if (!can_relieve(model, cut, column, op)) continue;
    if (plim_cut_solver_over(solver)) return 0;
    if (plim_cut_flow_run(solver->flow, cut, solver->node.x, NULL, solver->budget_bytes) <= 0) continue;
    bring_forward(solver, k);
    return 0;
  }
  return 1;
}

/* The next column of the solution after `last` by descending cost; -1: none costs `min_cost` or more. */
static int32_t next_costliest(const plim_cut_solver *solver, const uint8_t *solution, int64_t min_cost, int32_t last) {
  int32_t best = -1;
  for (int32_t j = 0; j < solver->n_columns; j++) {
    int follows = last < 0 || solver->program.cost[j] < solver->program.cost[last] ||
                  (solver->program.cost[j] == solver->program.cost[last] && j > last);
    if (!solution[j] || solver->program.cost[j] < min_cost || !follows) continue;
    if (best < 0 || solver->program.cost[j] > solver->program.cost[best]) best = j;
  }
  return best;
}

void plim_cut_solution_reduce(plim_cut_solver *solver, uint8_t *solution, int64_t min_cost) {
  set_point(solver, solution);
  for (int32_t j = -1; (j = next_costliest(solver, solution, min_cost, j)) >= 0 && !plim_cut_solver_over(solver);) {
    solution[j] = 0;
    solver->node.x[j] = 0;
    solver->other_work += solver->n_columns;
    if (rows_hold(solver, solution) && fits_without(solver, j)) continue;
    solution[j] = 1;
    solver->node.x[j] = 1;
  }
}

void plim_cut_solution_round(plim_cut_solver *solver, const double *x) {
  for (int32_t j = 0; j < solver->n_columns; j++) {
    solver->solution.trial[j] = x[j] >= 0.5 || solver->program.cost[j] == 0;
  }
  if (!repair_cuts(solver, solver->solution.trial)) return;
  plim_cut_solution_reduce(solver, solver->solution.trial, 1);
  plim_cut_solution_take(solver, solver->solution.trial);
}
