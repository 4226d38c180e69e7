/* Nodes of branch and cut: bounds a node by the linear program with more rows, and branches on the column with the
 * largest expected gain (pseudo costs). Only a certificate in integers closes a node. */
#include "planner/bound/cut_solver_internal.h"

#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/lp.h"

/* A certified bound within the bounds of the node, from the multipliers of the program. */
static int64_t certify(plim_cut_solver *solver, int64_t *reduced) {
  plim_cut_bounds bounds = {solver->n_columns, solver->program.cost, solver->node.low, solver->node.high};
  plim_lp_multipliers(solver->lp, (double)solver->cutoff / solver->program.scale, solver->program.multiplier);
  solver->other_work += 8 * (int64_t)solver->n_columns;
  for (int32_t r = 0; r < solver->program.rows.n; r++) {
    solver->program.multiplier[r] *= solver->program.scale / (double)solver->program.rows.row[r].demand;
    solver->other_work += 2 * (int64_t)solver->program.rows.row[r].n;
  }
  return plim_cut_certify(&bounds, solver->program.rows.n, solver->program.rows.row, solver->program.multiplier,
                          solver->node.scaled_cost, reduced);
}

static double ceiling_of(const plim_cut_solver *solver) {
  return ((double)solver->cutoff + bound_tuning.node.cutoff_part) / solver->program.scale;
}

/* By how much the bound is expected to rise when column j is fixed to `value`: the average of earlier rises. */
static double expected_gain(const plim_cut_solver *solver, int32_t j, int value) {
  const plim_cut_gain *g = &solver->gains[2 * j + value];
  double way = value ? 1 - solver->node.x[j] : solver->node.x[j];
  return way * (g->n > 0 ? g->sum / g->n : (double)solver->program.cost[j]) + bound_tuning.node.gain_min;
}

/* The column to branch on; -1: the point is integral. */
static int32_t choose_column(const plim_cut_solver *solver) {
  int32_t best = -1;
  double best_score = -1;
  for (int32_t j = 0; j < solver->n_columns; j++) {
    if (solver->node.x[j] < bound_tuning.node.fractional || solver->node.x[j] > 1 - bound_tuning.node.fractional) {
      continue;
    }
    double score = expected_gain(solver, j, 0) * expected_gain(solver, j, 1);
    if (score <= best_score) continue;
    best_score = score;
    best = j;
  }
  return best;
}

/* Is there a row that the bounds of the node cannot meet? */
static int bounds_fail(const plim_cut_solver *solver) {
  for (int32_t r = 0; r < solver->program.rows.n; r++) {
    const plim_cut_row *row = &solver->program.rows.row[r];
    int64_t left = row->demand;
    for (int32_t k = 0; k < row->n && left > 0; k++) left -= solver->node.high[row->column[k]] ? row->weight[k] : 0;
    if (left > 0) return 1;
  }
  return 0;
}

/* The program has ended without a proof. Unless a row shows that the node has no solution, its bound counts to the end.
 */
static void give_up(plim_cut_solver *solver, int64_t *bound) {
  if (bounds_fail(solver)) {
    *bound = solver->solution.all_cost + 1;
  } else if (*bound < solver->given_up) {
    solver->given_up = *bound;
  }
}

/* What has been done for the node. */
typedef struct node_effort {
  int32_t solved;     /* times that its program was solved */
  int32_t is_rebuilt; /* 1: the program was made anew */
} node_effort;

/* Solve the program, and raise *bound by its certificate. Where it ends without an optimum, make it anew once:
 * rounding errors may have added up. */
static plim_lp_end solve_and_certify(plim_cut_solver *solver, node_effort *effort, int64_t *bound) {
  for (;;) {
    if (plim_lp_full(solver->lp)) plim_cut_sift(solver);
    plim_lp_end end =
        plim_lp_solve(solver->lp, ceiling_of(solver), solver->phase.end_work - plim_cut_solver_work(solver));
    int64_t proven = certify(solver, NULL);
    effort->solved++;
    if (proven > *bound) *bound = proven;
    if (end == PLIM_LP_OPTIMAL || *bound >= solver->cutoff) return end;
    if (effort->is_rebuilt || plim_cut_solver_over(solver)) return end;
    effort->is_rebuilt = 1;
    plim_cut_sift(solver);
  }
}

/* Add rows that the point violates. An integral point is made a solution in `trial`, and all cuts are looked at.
 *   added  [1]  out  as plim_cut_separate says it: > 0: the program has new rows, and is to be solved again; 0: the
 *                    point violates none; -1: that is not known */
static plim_status add_violated_rows(plim_cut_solver *solver, int is_integral, int is_root, int32_t *added) {
  for (int32_t j = 0; is_integral && j < solver->n_columns; j++) {
    solver->node.x[j] = solver->solution.trial[j] = solver->node.x[j] > bound_tuning.node.rounded_up;
  }
  return plim_cut_separate(solver, solver->node.x, is_integral ? 0 : bound_tuning.node.tolerance,
                           is_integral || is_root, added);
}

/* No row was added for an integral point. Where it violates no cut (is_solution), `trial` is a solution. The node is
 * done only where the certificate says so: the program's value is less sure. */
static void accept_integral_point(plim_cut_solver *solver, int is_solution, int64_t *bound) {
  if (is_solution) plim_cut_solution_take(solver, solver->solution.trial);
  if (!is_solution || *bound < solver->cutoff) give_up(solver, bound);
}

/* Bound the node whose bounds are set. *branch: the column to branch on, -1: the node is done. */
static plim_status bound_node(plim_cut_solver *solver, int32_t rounds, int64_t *bound, int32_t *branch) {
  node_effort effort = {0};
  int32_t added = 1;
  *branch = -1;
  while (added > 0) {
    plim_lp_end end = solve_and_certify(solver, &effort, bound);
    if (*bound >= solver->cutoff) return PLIM_OK;
    plim_lp_point(solver->lp, solver->node.x);
    if (end != PLIM_LP_INFEASIBLE) *branch = choose_column(solver);
    if (end != PLIM_LP_OPTIMAL && (*branch < 0 || !plim_cut_solver_over(solver))) {
      *branch = -1;
      give_up(solver, bound);
      return PLIM_OK;
    }
    if (*branch >= 0 && (effort.solved > rounds || plim_cut_solver_over(solver))) return PLIM_OK;
    PLIM_TRY(add_violated_rows(solver, *branch < 0, rounds == bound_tuning.node.rounds_root, &added));
    if (solver->impossible) return PLIM_OK;
  }
  if (*branch < 0) accept_integral_point(solver, added == 0, bound);
  return PLIM_OK;
}

/* At the root: fix each column that every solution below the cutoff has at one value (reduced cost fixing). */
static void fix_columns(plim_cut_solver *solver) {
  int64_t bound = certify(solver, solver->node.reduced);
  for (int32_t j = 0; j < solver->n_columns; j++) {
    if (solver->node.low[j] == solver->node.high[j] || bound + solver->node.reduced[j] < solver->cutoff) continue;
    if (solver->node.scaled_cost[j] > 0) solver->node.high[j] = 0;
    if (solver->node.scaled_cost[j] < 0) solver->node.low[j] = 1;
  }
  memcpy(solver->node.root_low, solver->node.low, (size_t)solver->n_columns);
  memcpy(solver->node.root_high, solver->node.high, (size_t)solver->n_columns);
}

static void bound_columns(plim_cut_solver *solver) {
  for (int32_t j = 0; j < solver->n_columns; j++) {
    plim_lp_bound(solver->lp, j, solver->node.low[j], solver->node.high[j]);
  }
}

static void set_bounds(plim_cut_solver *solver, int32_t at) {
  if (solver->n_done % bound_tuning.node.nodes_a_program == bound_tuning.node.nodes_a_program - 1) {
    plim_cut_sift(solver);
  }
  memcpy(solver->node.low, solver->node.root_low, (size_t)solver->n_columns);
  memcpy(solver->node.high, solver->node.root_high, (size_t)solver->n_columns);
  for (; at >= 0 && solver->tree.node[at].parent >= 0; at = solver->tree.node[at].parent) {
    solver->node.low[solver->tree.node[at].column] = solver->node.high[solver->tree.node[at].column] =
        solver->tree.node[at].value;
  }
  bound_columns(solver);
}

/* Is the bound so far above the least open one that another node is next? */
static int may_wait(const plim_cut_solver *solver, int64_t bound) {
  if (solver->tree.n_open == 0 || solver->solution.best_cost == PLIM_TIME_INFINITE) return 0;
  int64_t least = plim_cut_tree_least(&solver->tree);
  return bound - least > (solver->cutoff - least) / bound_tuning.node.wait_part;
}

/* Note by how much fixing the node's column has raised the bound. */
static void note_gain(plim_cut_solver *solver, const plim_cut_node *done, int64_t before) {
  if (done->parent < 0 || done->way < bound_tuning.node.fractional || done->bound >= solver->cutoff) return;
  plim_cut_gain *g = &solver->gains[2 * done->column + done->value];
  g->sum += (double)(done->bound - before) / done->way;
  g->n++;
}

/* Open the sibling; *next is the child nearer to the point. */
static plim_status branch_on(plim_cut_solver *solver, int32_t at, int32_t column, int32_t *next) {
  double x = solver->node.x[column];
  int32_t sibling;
  plim_cut_node one = {at, column, x >= 0.5, solver->tree.node[at].bound, x >= 0.5 ? 1 - x : x};
  plim_cut_node other = {at, column, !one.value, one.bound, 1 - one.way};
  PLIM_TRY(plim_cut_tree_add(&solver->tree, other, &sibling));
  PLIM_TRY(plim_cut_tree_open(&solver->tree, sibling));
  return plim_cut_tree_add(&solver->tree, one, next);
}

plim_status plim_cut_node_dive(plim_cut_solver *solver, int32_t at) {
  for (int32_t depth = 0;; depth++) {
    int32_t column;
    int64_t before = solver->tree.node[at].bound;
    if (before >= solver->cutoff) return PLIM_OK;
    if (plim_cut_solver_over(solver) || (depth > 0 && may_wait(solver, before))) {
      return plim_cut_tree_open(&solver->tree, at); /* its bound counts */
    }
    set_bounds(solver, at);
    solver->n_done++;
    PLIM_TRY(bound_node(solver, at == 0 ? bound_tuning.node.rounds_root : bound_tuning.node.rounds,
                        &solver->tree.node[at].bound, &column));
    if (at == 0) plim_cut_solver_price_rows(solver);
    note_gain(solver, &solver->tree.node[at], before);
    if (solver->impossible || column < 0 || solver->tree.node[at].bound >= solver->cutoff) return PLIM_OK;
    if (at == 0) {
      plim_lp_point(solver->lp, solver->node.x);
      plim_cut_solver_phase(solver, plim_cut_solver_large(solver) ? 100 : bound_tuning.solve.rounding_percent);
      if (!solver->phase.limits.is_bound_only || !plim_cut_solver_large(solver)) {
        plim_cut_solution_round(solver, solver->node.x);
      }
      plim_cut_solver_phase(solver, 100);
      fix_columns(solver);
      plim_lp_point(solver->lp, solver->node.x);
    }
    PLIM_TRY(branch_on(solver, at, column, &at));
  }
}
