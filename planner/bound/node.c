/* Nodes of branch and cut: bounds a node by the linear program with more rows, and branches on the column with the
 * largest expected gain (pseudo costs). Only a certificate in integers closes a node. */
#include "planner/bound/cut_solver.h"

#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/lp.h"

/* A certified bound for the box of the node, from the multipliers of the program. */
static int64_t certify(plim_cut_solver *s, int64_t *reduced) {
  plim_cut_box box = {s->n_columns, s->cost, s->low, s->high};
  plim_lp_multipliers(s->lp, (double)s->cutoff / s->scale, s->multiplier);
  s->other_work += 8 * (int64_t)s->n_columns;
  for (int32_t r = 0; r < s->rows.n; r++) {
    s->multiplier[r] *= s->scale / (double)s->rows.row[r].demand;
    s->other_work += 2 * (int64_t)s->rows.row[r].n;
  }
  return plim_cut_certify(&box, s->rows.n, s->rows.row, s->multiplier, s->scratch, reduced);
}

static double ceiling_of(const plim_cut_solver *s) {
  return ((double)s->cutoff + bound_tuning.node.cutoff_part) / s->scale;
}

/* By how much the bound is expected to rise when column j is fixed to `value`: the average of earlier rises. */
static double expected_gain(const plim_cut_solver *s, int32_t j, int value) {
  const plim_cut_gain *g = &s->gains[2 * j + value];
  double way = value ? 1 - s->x[j] : s->x[j];
  return way * (g->n > 0 ? g->sum / g->n : (double)s->cost[j]) + bound_tuning.node.gain_min;
}

/* The column to branch on; -1: the point is integral. */
static int32_t choose_column(const plim_cut_solver *s) {
  int32_t best = -1;
  double best_score = -1;
  for (int32_t j = 0; j < s->n_columns; j++) {
    if (s->x[j] < bound_tuning.node.fractional || s->x[j] > 1 - bound_tuning.node.fractional) continue;
    double score = expected_gain(s, j, 0) * expected_gain(s, j, 1);
    if (score <= best_score) continue;
    best_score = score;
    best = j;
  }
  return best;
}

/* Is there a row that the box cannot meet? */
static int box_fails(const plim_cut_solver *s) {
  for (int32_t r = 0; r < s->rows.n; r++) {
    const plim_cut_row *row = &s->rows.row[r];
    int64_t left = row->demand;
    for (int32_t k = 0; k < row->n && left > 0; k++) left -= s->high[row->column[k]] ? row->weight[k] : 0;
    if (left > 0) return 1;
  }
  return 0;
}

/* The program has ended without a proof. Unless a row shows that the node has no solution, its bound counts to the end.
 */
static void give_up(plim_cut_solver *s, int64_t *bound) {
  if (box_fails(s)) {
    *bound = s->all_cost + 1;
  } else if (*bound < s->given_up) {
    s->given_up = *bound;
  }
}

/* Bound the node whose box is set. *branch: the column to branch on, -1: the node is done. */
static plim_status bound_node(plim_cut_solver *s, int32_t rounds, int64_t *bound, int32_t *branch) {
  int32_t added = 0, rebuilt = 0;
  *branch = -1;
  for (int32_t round = 0;; round++) {
    if (plim_lp_full(s->lp)) plim_cut_sift(s);
    plim_lp_end end = plim_lp_solve(s->lp, ceiling_of(s), s->end_work - plim_cut_solver_work(s));
    int64_t proven = certify(s, NULL);
    if (proven > *bound) *bound = proven;
    if (*bound >= s->cutoff) return PLIM_OK;
    if (end != PLIM_LP_OPTIMAL && !rebuilt && !plim_cut_solver_over(s)) { /* rounding errors may have added up */
      rebuilt = 1;
      plim_cut_sift(s);
      continue;
    }
    plim_lp_point(s->lp, s->x);
    if (end != PLIM_LP_INFEASIBLE) *branch = choose_column(s);
    if (end != PLIM_LP_OPTIMAL && (*branch < 0 || !plim_cut_solver_over(s))) {
      *branch = -1;
      give_up(s, bound);
      return PLIM_OK;
    }
    if (*branch >= 0 && (round >= rounds || plim_cut_solver_over(s))) return PLIM_OK;
    if (*branch < 0) {
      for (int32_t j = 0; j < s->n_columns; j++) s->x[j] = s->trial[j] = s->x[j] > bound_tuning.node.rounded_up;
    }
    PLIM_TRY(plim_cut_separate(s, s->x, *branch < 0 ? 0 : bound_tuning.node.tolerance,
                               *branch < 0 || rounds == bound_tuning.node.rounds_root, &added));
    if (s->impossible) return PLIM_OK;
    if (added < 0 && *branch < 0) give_up(s, bound);
    if (added == 0 && *branch < 0) {
      plim_cut_solution_take(s, s->trial);
      if (*bound < s->cutoff) give_up(s, bound); /* the program's value is less sure than the certificate */
    }
    if (added <= 0) return PLIM_OK;
  }
}

/* At the root: fix each column that every solution below the cutoff has at one value (reduced cost fixing). */
static void fix_columns(plim_cut_solver *s) {
  int64_t bound = certify(s, s->reduced);
  for (int32_t j = 0; j < s->n_columns; j++) {
    if (s->low[j] == s->high[j] || bound + s->reduced[j] < s->cutoff) continue;
    if (s->scratch[j] > 0) s->high[j] = 0;
    if (s->scratch[j] < 0) s->low[j] = 1;
  }
  memcpy(s->root_low, s->low, (size_t)s->n_columns);
  memcpy(s->root_high, s->high, (size_t)s->n_columns);
}

static void bound_columns(plim_cut_solver *s) {
  for (int32_t j = 0; j < s->n_columns; j++) plim_lp_bound(s->lp, j, s->low[j], s->high[j]);
}

static void set_box(plim_cut_solver *s, int32_t at) {
  if (s->n_done % bound_tuning.node.nodes_a_program == bound_tuning.node.nodes_a_program - 1) plim_cut_sift(s);
  memcpy(s->low, s->root_low, (size_t)s->n_columns);
  memcpy(s->high, s->root_high, (size_t)s->n_columns);
  for (; at >= 0 && s->tree.node[at].parent >= 0; at = s->tree.node[at].parent) {
    s->low[s->tree.node[at].column] = s->high[s->tree.node[at].column] = s->tree.node[at].value;
  }
  bound_columns(s);
}

/* Is the bound so far above the least open one that another node is next? */
static int may_wait(const plim_cut_solver *s, int64_t bound) {
  if (s->tree.n_open == 0 || s->best_cost == INT64_MAX) return 0;
  int64_t least = plim_cut_tree_least(&s->tree);
  return bound - least > (s->cutoff - least) / bound_tuning.node.wait_part;
}

/* Note by how much fixing the node's column has raised the bound. */
static void learn(plim_cut_solver *s, const plim_cut_node *done, int64_t before) {
  if (done->parent < 0 || done->way < bound_tuning.node.fractional || done->bound >= s->cutoff) return;
  plim_cut_gain *g = &s->gains[2 * done->column + done->value];
  g->sum += (double)(done->bound - before) / done->way;
  g->n++;
}

/* Open the sibling; *next is the child nearer to the point. */
static plim_status branch_on(plim_cut_solver *s, int32_t at, int32_t column, int32_t *next) {
  double x = s->x[column];
  int32_t sibling;
  plim_cut_node one = {at, column, x >= 0.5, s->tree.node[at].bound, x >= 0.5 ? 1 - x : x};
  plim_cut_node other = {at, column, !one.value, one.bound, 1 - one.way};
  PLIM_TRY(plim_cut_tree_add(&s->tree, other, &sibling));
  PLIM_TRY(plim_cut_tree_open(&s->tree, sibling));
  return plim_cut_tree_add(&s->tree, one, next);
}

plim_status plim_cut_node_dive(plim_cut_solver *s, int32_t at) {
  for (int32_t depth = 0;; depth++) {
    int32_t column;
    int64_t before = s->tree.node[at].bound;
    if (before >= s->cutoff) return PLIM_OK;
    if (plim_cut_solver_over(s) || (depth > 0 && may_wait(s, before)))
      return plim_cut_tree_open(&s->tree, at); /* its bound counts */
    set_box(s, at);
    s->n_done++;
    PLIM_TRY(bound_node(s, at == 0 ? bound_tuning.node.rounds_root : bound_tuning.node.rounds, &s->tree.node[at].bound,
                        &column));
    if (at == 0) plim_cut_solver_price_rows(s);
    learn(s, &s->tree.node[at], before);
    if (s->impossible || column < 0 || s->tree.node[at].bound >= s->cutoff) return PLIM_OK;
    if (at == 0) {
      plim_lp_point(s->lp, s->x);
      plim_cut_solver_phase(s, plim_cut_solver_large(s) ? 100 : bound_tuning.solve.rounding_percent);
      if (!s->limits->bound_only || !plim_cut_solver_large(s)) plim_cut_solution_round(s, s->x);
      plim_cut_solver_phase(s, 100);
      fix_columns(s);
      plim_lp_point(s->lp, s->x);
    }
    PLIM_TRY(branch_on(s, at, column, &at));
  }
}
