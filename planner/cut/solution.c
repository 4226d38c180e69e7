/* By greed: a cut that does not fit gets the column of its row that gives most for its cost. */
#include "planner/cut/solution.h"

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
static int rows_hold(const plim_cut_solver *s, const uint8_t *chosen) {
  for (int32_t r = 0; r < s->rows.n; r++) {
    const plim_cut_row *row = &s->rows.row[r];
    int64_t left = row->demand;
    for (int32_t k = 0; k < row->n && left > 0; k++) left -= chosen[row->column[k]] ? row->weight[k] : 0;
    if (left > 0) return 0;
  }
  return 1;
}

/* The first cut in turn that does not fit; its row is there to be asked for. */
static const plim_cut *find_violated(plim_cut_solver *s, const uint8_t *chosen) {
  for (int32_t j = 0; j < s->n_columns; j++) s->x[j] = chosen[j];
  for (int32_t k = 0; k < s->n_cuts; k++) {
    int32_t c = s->turn[k];
    if (plim_cut_flow_run(s->flow, &s->model->cut[c], s->x, NULL, s->budget_bytes) <= 0) continue;
    memmove(&s->turn[1], &s->turn[0], (size_t)k * sizeof *s->turn);
    s->turn[0] = c;
    return &s->model->cut[c];
  }
  return NULL;
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

/* Add columns, always the one that gives most for its cost, until every cut fits; 0: that cannot be. */
static int repair(plim_cut_solver *s, uint8_t *chosen) {
  while (find_violated(s, chosen)) {
    plim_cut_row row;
    plim_cut_flow_row(s->flow, &row);
    int64_t left = plim_cut_solver_large(s) ? row.demand : 1;
    int32_t best = best_of_row(s, &row, chosen);
    if (best < 0 || plim_cut_solver_over(s)) return 0;
    for (; best >= 0 && left > 0; best = best_of_row(s, &row, chosen)) {
      left -= row.weight[best];
      chosen[row.column[best]] = 1;
    }
  }
  return 1;
}

void plim_cut_solution_reduce(plim_cut_solver *s, uint8_t *chosen, int64_t least) {
  int64_t last = INT64_MAX;
  int32_t last_column = -1;
  for (;;) {
    int32_t best = -1;
    for (int32_t j = 0; j < s->n_columns; j++) {
      int behind = s->cost[j] < last || (s->cost[j] == last && j > last_column);
      if (!chosen[j] || s->cost[j] < least || !behind) continue;
      if (best < 0 || s->cost[j] > s->cost[best]) best = j;
    }
    if (best < 0 || ((least > 0 || plim_cut_solver_large(s)) && plim_cut_solver_over(s))) return;
    last = s->cost[best];
    last_column = best;
    chosen[best] = 0;
    if (!rows_hold(s, chosen) || find_violated(s, chosen)) chosen[best] = 1;
  }
}

void plim_cut_solution_round(plim_cut_solver *s, const double *x) {
  for (int32_t j = 0; j < s->n_columns; j++) s->trial[j] = x[j] >= 0.5 || s->cost[j] == 0;
  if (!repair(s, s->trial)) return;
  plim_cut_solution_reduce(s, s->trial, 1);
  plim_cut_solution_take(s, s->trial);
}
