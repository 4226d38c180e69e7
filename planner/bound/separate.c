/* Separation: which cuts does a point violate? A point of the linear program goes in, rows that it violates come out.
 * Each cut is asked by a flow (flow.c). The cuts that are violated by the largest share of their excess give rows. Cuts
 * that the last points satisfied are asked seldom. */
#include "planner/bound/cut_solver_internal.h"

#include <stdlib.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "runtime/base/integers.h"

void plim_cut_solver_keep_rows(plim_cut_solver *solver) {
  for (int32_t r = 0; r < solver->program.rows.n; r++) {
    plim_cut_row *row = &solver->program.rows.row[r];
    plim_cut_row_fit(row, solver->budget_bytes);
    solver->program.keep_row[r] = row->demand > 0 && row->price > 0;
  }
  plim_cut_rows_sift(&solver->program.rows, solver->program.keep_row);
  plim_lp_clear(solver->lp);
}

void plim_cut_solver_begin_rows(plim_cut_solver *solver) {
  for (int32_t r = 0; r < solver->program.rows.n; r++) plim_lp_add(solver->lp, &solver->program.rows.row[r]);
}

void plim_cut_solver_price_rows(plim_cut_solver *solver) {
  plim_lp_multipliers(solver->lp, 0, solver->program.multiplier);
  for (int32_t r = 0; r < solver->program.rows.n; r++) {
    plim_cut_row *row = &solver->program.rows.row[r];
    row->price =
        solver->program.multiplier[r] * solver->program.scale / (double)(row->needed_bytes - solver->budget_bytes);
  }
}

void plim_cut_sift(plim_cut_solver *solver) {
  plim_lp_multipliers(solver->lp, 0, solver->program.multiplier);
  for (int32_t r = 0; r < solver->program.rows.n; r++) solver->program.keep_row[r] = solver->program.multiplier[r] > 0;
  plim_cut_rows_sift(&solver->program.rows, solver->program.keep_row);
  plim_lp_clear(solver->lp);
  plim_cut_solver_begin_rows(solver);
}

static int by_share(const void *a, const void *b) {
  const plim_cut_violation *p = a, *q = b;
  if (p->share < q->share || p->share > q->share) return p->share > q->share ? -1 : 1;
  return plim_integers_compare(p->cut, q->cut);
}

/* Is the cut to be asked in this pass? */
static int is_due(const plim_cut_solver *solver, int32_t c) {
  return solver->separation.fitted[c] < bound_tuning.separate.always_asked ||
         (solver->separation.passes + c) % bound_tuning.separate.seldom_asked == 0;
}

/* Cuts that x violates by at least `tolerance` of what they have too much: those that are due, or all of them. *whole
 * is 0 when the phase under way ended before all were asked. */
static int32_t find_violations(plim_cut_solver *solver, const double *x, double tolerance, int all, int32_t *whole) {
  int32_t n = 0;
  solver->separation.passes++;
  *whole = 1;
  for (int32_t c = 0; c < solver->n_cuts; c++) {
    const plim_cut *cut = &solver->model->cut[c];
    if (!all && !is_due(solver, c)) continue;
    *whole = !plim_cut_solver_over(solver);
    if (!*whole) break;
    double share = plim_cut_flow_run(solver->flow, cut, x, NULL, solver->budget_bytes) /
                   (double)(cut->base_bytes + cut->needed_bytes - solver->budget_bytes);
    solver->separation.fitted[c] = share > tolerance ? 0 : solver->separation.fitted[c] + 1;
    if (share > tolerance) solver->separation.violations[n++] = (plim_cut_violation){share, c};
  }
  qsort(solver->separation.violations, (size_t)n, sizeof *solver->separation.violations, by_share);
  return n;
}

plim_status plim_cut_separate(plim_cut_solver *solver, const double *x, double tolerance, int all, int32_t *added) {
  int32_t whole;
  int32_t n = find_violations(solver, x, tolerance, 0, &whole);
  if (n == 0 && all && whole) n = find_violations(solver, x, tolerance, 1, &whole);
  *added = 0;
  plim_lp_prices(solver->lp, solver->node.price);
  for (int32_t k = 0;
       k < n && k < bound_tuning.separate.rows_a_round && !solver->impossible && !plim_lp_full(solver->lp); k++) {
    plim_cut_row row;
    if (*added > 0 && plim_cut_solver_over(solver)) break;
    (void)plim_cut_flow_run(solver->flow, &solver->model->cut[solver->separation.violations[k].cut], x,
                            solver->node.price, solver->budget_bytes);
    plim_cut_flow_row(solver->flow, &row);
    if (row.demand <= 0) continue;
    solver->impossible = row.n == 0;
    PLIM_TRY(plim_cut_rows_add(&solver->program.rows, &row));
    plim_lp_add(solver->lp, &row);
    solver->n_rows++;
    ++*added;
  }
  if (*added == 0 && (n > 0 || !whole)) *added = -1;
  return PLIM_OK;
}
