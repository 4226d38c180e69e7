/* Makes the solver of a model, and measures its effort. Work is what the linear program, the flows and the ascent have
 * counted, so that an end by work does not depend on the machine. A phase is a share of the work and time that are
 * left. */
#include "planner/bound/cut_solver.h"

#include "planner/bound/bound_tuning.h"
#include "planner/bound/cut_model.h"
#include "planner/bound/lp.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

static void lay_out(plim_cut_solver *s, plim_block *b, int32_t rows) {
  int64_t n = s->n_columns;
  s->cost = plim_block_take(b, n, sizeof *s->cost);
  s->low = plim_block_take(b, n, 1);
  s->high = plim_block_take(b, n, 1);
  s->root_low = plim_block_take(b, n, 1);
  s->root_high = plim_block_take(b, n, 1);
  s->x = plim_block_take(b, n, sizeof *s->x);
  s->price = plim_block_take(b, n, sizeof *s->price);
  s->real_cost = plim_block_take(b, n, sizeof *s->real_cost);
  s->multiplier = plim_block_take(b, rows, sizeof *s->multiplier);
  s->scratch = plim_block_take(b, n, sizeof *s->scratch);
  s->reduced = plim_block_take(b, n, sizeof *s->reduced);
  s->best = plim_block_take(b, n, 1);
  s->trial = plim_block_take(b, n, 1);
  s->keep_row = plim_block_take(b, rows, 1);
  s->gains = plim_block_take(b, 2 * n, sizeof *s->gains);
  s->fitted = plim_block_take(b, s->model->n_cuts, sizeof *s->fitted);
  s->violations = plim_block_take(b, s->model->n_cuts, sizeof *s->violations);
  s->cut_order = plim_block_take(b, s->model->n_cuts, sizeof *s->cut_order);
}

/* The linear program without rows. Costs in units of their greatest common divisor, scaled to at most 1. */
static plim_status make_program(plim_cut_solver *s, int32_t rows) {
  const plim_cut_model *m = s->model;
  int64_t most = 1;
  s->unit_ns = 0;
  for (int32_t j = 0; j < s->n_columns; j++) s->unit_ns = plim_integers_gcd(s->unit_ns, m->cost_ns[j]);
  if (s->unit_ns == 0) s->unit_ns = 1;
  for (int32_t j = 0; j < s->n_columns; j++) {
    s->cost[j] = m->cost_ns[j] / s->unit_ns;
    s->real_cost[j] = (double)s->cost[j];
    if (s->cost[j] > most) most = s->cost[j];
  }
  s->scale = (double)most;
  for (int32_t j = 0; j < s->n_columns; j++) s->x[j] = (double)s->cost[j] / s->scale;
  return plim_lp_new(s->ctx, s->n_columns, s->x, rows, &s->lp);
}

plim_status plim_cut_solver_new(const plim_cut_model *m, plim_cut_solver **out) {
  plim_context *ctx = m->problem->ctx;
  plim_cut_solver *s = NULL;
  plim_status status;
  int32_t rows = bound_tuning.program.dictionary / (m->n_columns + 1);
  if (rows > bound_tuning.program.rows) rows = bound_tuning.program.rows;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *s, &s));
  *s = (plim_cut_solver){.model = m, .ctx = ctx, .n_columns = m->n_columns, .rows = {.ctx = ctx}, .tree = {.ctx = ctx}};
  lay_out(s, &s->block, rows);
  PLIM_CHECK(plim_block_allocate(ctx, &s->block));
  lay_out(s, &s->block, rows);
  PLIM_CHECK(plim_cut_flow_new(m, &s->flow));
  PLIM_CHECK(make_program(s, rows));
  *out = s;
done:
  if (status != PLIM_OK) plim_cut_solver_free(s);
  return status;
}

void plim_cut_solver_free(plim_cut_solver *s) {
  if (!s) return;
  plim_context *ctx = s->ctx;
  plim_cut_flow_free(s->flow);
  plim_lp_free(s->lp);
  plim_cut_rows_free(&s->rows);
  plim_cut_tree_free(&s->tree);
  plim_block_release(ctx, &s->block);
  plim_release(ctx, s, 1, sizeof *s);
}

int64_t plim_cut_solver_work(const plim_cut_solver *s) {
  int64_t ascent = s->ascent ? plim_cut_ascent_work(s->ascent) : 0;
  return plim_lp_work(s->lp) + 8 * plim_cut_flow_work(s->flow) + ascent + s->other_work;
}

int plim_cut_solver_over(const plim_cut_solver *s) {
  return plim_cut_solver_work(s) >= s->end_work || plim_effort_over(s->ctx, PLIM_EFFORT_LOOK) ||
         (s->end_ns < INT64_MAX && plim_now_ns() >= s->end_ns);
}

void plim_cut_solver_phase(plim_cut_solver *s, int32_t percent) {
  int64_t work = plim_cut_solver_work(s), now_ns = plim_now_ns(), deadline_ns = s->limits->deadline_ns;
  s->end_work = work + (s->limits->work - work) / 100 * percent;
  s->end_ns = deadline_ns == INT64_MAX ? INT64_MAX : now_ns + (deadline_ns - now_ns) / 100 * percent;
}
