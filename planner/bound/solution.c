/* By greed: a cut that does not fit gets the column of its row that gives most for its cost. A column that is taken
 * away concerns the cuts of its segment alone. */
#include "planner/bound/cut_internal.h"

#include <string.h>

int64_t plim_cut_solution_cost(const plim_cut_solver *s, const uint8_t *chosen) {
  int64_t sum = 0;
  for (int32_t j = 0; j < s->n_columns; j++) sum += chosen[j] ? s->cost[j] : 0;
  return sum;
}

void plim_cut_solution_take(plim_cut_solver *s, const uint8_t *chosen) {
  int64_t cost = plim_cut_solution_cost(s, chosen);
  if (cost >= s->best_cost) return;
  memcpy(s->best, chosen, (size_t)s->n_columns);
  s->best_cost = cost;
  if (cost < s->cutoff) s->cutoff = cost;
}

/* Do the collected rows let the choice pass? Much faster than asking the cuts. */
static int rows_hold(plim_cut_solver *s, const uint8_t *chosen) {
  for (int32_t r = 0; r < s->rows.n; r++) {
    const plim_cut_row *row = &s->rows.row[r];
    int64_t left = row->demand;
    s->other_work += row->n;
    for (int32_t k = 0; k < row->n && left > 0; k++) left -= chosen[row->column[k]] ? row->weight[k] : 0;
    if (left > 0) return 0;
  }
  return 1;
}

/* The column of the row, not chosen yet, that gives most for its cost; -1: none. */
static int32_t best_of_row(const plim_cut_solver *s, const plim_cut_row *row, const uint8_t *chosen) {
  int32_t best = -1;
  double best_worth = -1;
  for (int32_t k = 0; k < row->n; k++) {
    double worth = (double)row->weight[k] / ((double)s->cost[row->column[k]] + 1e-3);
    if (chosen[row->column[k]] || worth <= best_worth) continue;
    best = k;
    best_worth = worth;
  }
  return best;
}

static void set_point(plim_cut_solver *s, const uint8_t *chosen) {
  for (int32_t j = 0; j < s->n_columns; j++) s->x[j] = chosen[j];
}

/* Move entry k of the order to its front. */
static void bring_forward(plim_cut_solver *s, int32_t k) {
  int32_t c = s->turn[k];
  memmove(&s->turn[1], &s->turn[0], (size_t)k * sizeof *s->turn);
  s->turn[0] = c;
}

/* Add columns, always the one that gives most for its cost, until the cut fits; 0: that cannot be, or time is over. */
static int repair_cut(plim_cut_solver *s, const plim_cut *cut, uint8_t *chosen, int *added) {
  for (;;) {
    plim_cut_row row;
    if (plim_cut_solver_over(s)) return 0;
    if (plim_cut_flow_run(s->flow, cut, s->x, NULL, s->budget_bytes) <= 0) return 1;
    plim_cut_flow_row(s->flow, &row);
    int64_t left = plim_cut_solver_large(s) ? row.demand : 1;
    int32_t best = best_of_row(s, &row, chosen);
    if (best < 0) return 0;
    for (; best >= 0 && left > 0; best = best_of_row(s, &row, chosen)) {
      left -= row.weight[best];
      chosen[row.column[best]] = 1;
      s->x[row.column[best]] = 1;
    }
    *added = 1;
  }
}

/* One look at each cut: what fits continues to fit while columns are added. */
static int repair(plim_cut_solver *s, uint8_t *chosen) {
  set_point(s, chosen);
  for (int32_t k = 0; k < s->n_cuts; k++) {
    int added = 0;
    if (!repair_cut(s, &s->model->cut[s->turn[k]], chosen, &added)) return 0;
    if (added) bring_forward(s, k);
  }
  return 1;
}

/* Does the cut ask for the column, one of the op, or one of choices where op is -1? */
static int concerns(const plim_cut_model *m, const plim_cut *cut, int32_t column, int32_t op) {
  if (op < 0) return column >= cut->first_column && column < cut->end_column;
  if (!plim_cut_before(&m->order, op, cut->op)) return 0;
  plim_cut_span span = plim_cut_span_of(&m->segments, &m->order, op, cut->op);
  return column >= span.first && column < span.end;
}

/* Do all cuts that fit with the column fit at s->x without it? 0 too when time is over. */
static int fits_without(plim_cut_solver *s, int32_t column) {
  const plim_cut_model *m = s->model;
  int32_t op = column < m->segments.n ? plim_cut_segment_op(&m->segments, column) : -1;
  s->other_work += s->n_cuts;
  for (int32_t k = 0; k < s->n_cuts; k++) {
    const plim_cut *cut = &m->cut[s->turn[k]];
    if (!concerns(m, cut, column, op)) continue;
    if (plim_cut_solver_over(s)) return 0;
    if (plim_cut_flow_run(s->flow, cut, s->x, NULL, s->budget_bytes) <= 0) continue;
    bring_forward(s, k);
    return 0;
  }
  return 1;
}

/* The costliest chosen column after `last` by falling cost, -1: none that costs `least`. */
static int32_t next_dearest(const plim_cut_solver *s, const uint8_t *chosen, int64_t least, int32_t last) {
  int32_t best = -1;
  for (int32_t j = 0; j < s->n_columns; j++) {
    int behind = last < 0 || s->cost[j] < s->cost[last] || (s->cost[j] == s->cost[last] && j > last);
    if (!chosen[j] || s->cost[j] < least || !behind) continue;
    if (best < 0 || s->cost[j] > s->cost[best]) best = j;
  }
  return best;
}

void plim_cut_solution_reduce(plim_cut_solver *s, uint8_t *chosen, int64_t least) {
  set_point(s, chosen);
  for (int32_t j = -1; (j = next_dearest(s, chosen, least, j)) >= 0 && !plim_cut_solver_over(s);) {
    chosen[j] = 0;
    s->x[j] = 0;
    s->other_work += s->n_columns;
    if (rows_hold(s, chosen) && fits_without(s, j)) continue;
    chosen[j] = 1;
    s->x[j] = 1;
  }
}

void plim_cut_solution_round(plim_cut_solver *s, const double *x) {
  for (int32_t j = 0; j < s->n_columns; j++) s->trial[j] = x[j] >= 0.5 || s->cost[j] == 0;
  if (!repair(s, s->trial)) return;
  plim_cut_solution_reduce(s, s->trial, 1);
  plim_cut_solution_take(s, s->trial);
}
