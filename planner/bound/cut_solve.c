/* Branch and cut: the least time that the cut model allows within a budget.
 *
 * Where a point of the linear program violates a cut, a flow gives a row. The open node of least bound is next, and is
 * followed down to a solution. Every bound that closes a node is a certificate in integers. Costs are divided by their
 * greatest common divisor, so that a bound rounds up to the next possible time. */
#include "planner/bound/cut_solver.h"

#include <string.h>

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"

static void forget_rows(plim_cut_solver *s) {
  memset(s->keep_row, 0, (size_t)s->rows.n);
  plim_cut_rows_sift(&s->rows, s->keep_row);
}

/* Is the phase over? Where only a bound is wanted, also when the bound is enough. What the certificate rounds off is
 * left to the nodes. */
static int stop_ascent(void *user) {
  const plim_cut_solver *s = user;
  int enough = s->limits->bound_only && plim_cut_ascent_bound(s->ascent) >= (double)s->cutoff;
  return enough || plim_cut_solver_over(s);
}

/* Take over what the ascent has: its bound as a certificate, its binding rows for the program, and a solution rounded
 * from its point. */
static plim_status use_ascent(plim_cut_solver *s, int64_t *bound) {
  const plim_cut_rows *rows = plim_cut_ascent_rows(s->ascent);
  const double *multiplier = plim_cut_ascent_multipliers(s->ascent);
  plim_cut_box box = {s->n_columns, s->cost, s->root_low, s->root_high};
  int64_t proven = plim_cut_certify(&box, rows->n, rows->row, multiplier, s->scratch, NULL);
  if (proven > *bound) *bound = proven;
  for (int32_t r = 0; r < rows->n && !plim_lp_full(s->lp); r++) {
    if (multiplier[r] <= 0) continue;
    PLIM_TRY(plim_cut_rows_add(&s->rows, &rows->row[r]));
    s->rows.row[s->rows.n - 1].price = multiplier[r] / plim_cut_row_unit(&rows->row[r], s->budget_bytes);
    plim_lp_add(s->lp, &rows->row[r]);
    s->n_rows++;
  }
  if (!s->limits->bound_only) {
    plim_cut_solver_phase(s, plim_cut_solver_large(s) ? 100 : bound_tuning.solve.rounding_percent);
    plim_cut_solution_round(s, plim_cut_ascent_point(s->ascent));
  }
  return PLIM_OK;
}

/* In a large graph, raise multipliers before the program is solved. *bound: no solution costs less. */
static plim_status ascend(plim_cut_solver *s, int64_t *bound) {
  plim_status status;
  int32_t impossible = 0;
  if (s->model->problem->n_ops <= bound_tuning.solve.ascent_ops || s->n_cuts == 0) {
    plim_cut_solver_begin_rows(s);
    return PLIM_OK;
  }
  plim_cut_solver_phase(
      s, plim_cut_solver_large(s) ? bound_tuning.solve.ascent_percent_long : bound_tuning.solve.ascent_percent);
  PLIM_TRY(plim_cut_ascent_new(s->model, s->flow, s->real_cost, s->n_cuts, s->budget_bytes, &s->rows, &s->ascent));
  forget_rows(s);
  status = plim_cut_ascend(s->ascent, stop_ascent, s, &impossible);
  if (status == PLIM_OK && !impossible) status = use_ascent(s, bound);
  if (impossible) s->impossible = 1;
  s->other_work += plim_cut_ascent_work(s->ascent);
  plim_cut_ascent_free(s->ascent);
  s->ascent = NULL;
  plim_cut_solver_phase(s, plim_cut_solver_large(s) && !s->limits->bound_only ? bound_tuning.solve.root_percent : 100);
  return status;
}

static void set_budget(plim_cut_solver *s, int64_t budget_bytes, const plim_cut_limits *limits) {
  const plim_cut_model *m = s->model;
  s->budget_bytes = budget_bytes;
  s->limits = limits;
  s->best_cost = INT64_MAX;
  s->all_cost = 0;
  for (int32_t j = 0; j < s->n_columns; j++) s->all_cost += s->cost[j];
  s->cutoff = s->all_cost + 1;
  int64_t enough = (limits->enough_ns - m->least_ns) / s->unit_ns;
  if (enough < s->all_cost) s->cutoff = enough + ((limits->enough_ns - m->least_ns) % s->unit_ns > 0);
  s->tree.n_nodes = s->tree.n_open = 0;
  s->n_done = s->n_rows = s->impossible = 0;
  s->given_up = INT64_MAX;
  for (s->n_cuts = 0; s->n_cuts < m->n_cuts; s->n_cuts++) {
    const plim_cut *cut = &m->cut[s->n_cuts];
    if (cut->base_bytes + cut->needed_bytes <= budget_bytes) break;
    s->cut_order[s->n_cuts] = s->n_cuts;
    s->fitted[s->n_cuts] = 0;
  }
  for (int32_t j = 0; j < s->n_columns; j++) {
    s->root_low[j] = s->cost[j] == 0;
    s->root_high[j] = 1;
  }
  plim_cut_solver_keep_rows(s);
  plim_cut_solver_phase(s, plim_cut_solver_large(s) && !limits->bound_only ? bound_tuning.solve.root_percent : 100);
}

plim_status plim_cut_solve(plim_cut_solver *s, int64_t budget_bytes, const plim_cut_limits *limits,
                           plim_cut_answer *answer) {
  const plim_cut_model *m = s->model;
  plim_cut_limits own = *limits;
  int64_t now_ns = plim_now_ns(), end_work = plim_cut_solver_work(s) + limits->work;
  own.work = end_work - limits->work / bound_tuning.solve.last_part;
  if (limits->deadline_ns < INT64_MAX) own.deadline_ns -= (limits->deadline_ns - now_ns) / bound_tuning.solve.last_part;
  set_budget(s, budget_bytes, &own);
  int32_t root;
  PLIM_TRY(plim_cut_tree_add(&s->tree, (plim_cut_node){.parent = -1}, &root));
  PLIM_TRY(ascend(s, &s->tree.node[root].bound));
  PLIM_TRY(plim_cut_tree_open(&s->tree, root));
  while (s->tree.n_open > 0 && !s->impossible && plim_cut_tree_least(&s->tree) < s->cutoff &&
         !plim_cut_solver_over(s)) {
    PLIM_TRY(plim_cut_node_dive(s, plim_cut_tree_pop(&s->tree)));
  }
  int64_t bound = s->cutoff;
  if (s->tree.n_open > 0 && plim_cut_tree_least(&s->tree) < bound) bound = plim_cut_tree_least(&s->tree);
  if (s->given_up < bound) bound = s->given_up;
  if (bound > s->all_cost) s->impossible = 1;
  *answer = (plim_cut_answer){.bound_ns = s->impossible ? INT64_MAX : m->least_ns + bound * s->unit_ns,
                              .cost_ns = INT64_MAX,
                              .solution = s->best,
                              .n_nodes = s->n_done,
                              .n_rows = s->n_rows};
  if (s->best_cost < INT64_MAX) {
    own.work = end_work;
    own.deadline_ns = limits->deadline_ns;
    plim_cut_solver_phase(s, 100);
    plim_cut_solution_reduce(s, s->best, 0);
    answer->cost_ns = m->least_ns + s->best_cost * s->unit_ns;
  }
  return plim_context_cancelled(s->ctx) ? PLIM_ECANCEL : PLIM_OK;
}
