/* Makes a schedule from a solution of the cut model.
 *
 * An op is *missing* when its outputs are evicted: it must be recomputed before anything reads them. There is no
 * command that evicts: a lifetime ends after its last reader before the next one. Invariant: a missing op may still be
 * recomputed. It is recomputed before any update that it must not see. */
#include "planner/bound/cut_solver.h"

#include <string.h>

#include "planner/bound/cut_model.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

typedef struct walker {
  const plim_cut_model *model;
  const plim_problem *problem;
  const uint8_t *solution;
  plim_schedule *out;
  double *x;         /* [n_columns] the solution as a point */
  int32_t *choice;   /* [n_ops] */
  int32_t *cut_of;   /* [n_ops] */
  uint8_t *missing;  /* [n_ops] */
  int32_t *repeated; /* [n_ops] the last column in which it has run again, -1: none. It stays to the segment's end */
  uint8_t *leaving;  /* [n_ops] 1: missing once the op that runs now has read it */
  uint8_t *again;    /* [n_ops] 1: recomputed after the op that runs now */
  int32_t *stack;    /* [n_ops] */
  plim_block block;
} walker;

static void lay_out(walker *w, plim_block *b) {
  int64_t ops = w->problem->n_ops;
  w->x = plim_block_take(b, w->model->n_columns, sizeof *w->x);
  w->choice = plim_block_take(b, ops, sizeof *w->choice);
  w->cut_of = plim_block_take(b, ops, sizeof *w->cut_of);
  w->repeated = plim_block_take(b, ops, sizeof *w->repeated);
  w->missing = plim_block_take(b, ops, 1);
  w->leaving = plim_block_take(b, ops, 1);
  w->again = plim_block_take(b, ops, 1);
  w->stack = plim_block_take(b, ops, sizeof *w->stack);
}

/* The choice that the solution takes for a cut's op: the slowest that it pays for. */
static int32_t choice_of(const walker *w, const plim_cut *cut) {
  int32_t choice = 0, chosen = 0;
  for (int32_t c = cut->first_column; c < cut->end_column; c++) {
    choice = plim_cut_next_choice(&w->problem->op[cut->op], choice);
    if (w->solution[c]) chosen = choice;
  }
  return chosen;
}

static void prepare(walker *w) {
  const plim_cut_model *m = w->model;
  for (int32_t j = 0; j < m->n_columns; j++) w->x[j] = w->solution[j];
  for (int32_t a = 0; a < w->problem->n_ops; a++) w->repeated[a] = -1;
  for (int32_t c = 0; c < m->n_cuts; c++) {
    w->cut_of[m->cut[c].op] = c;
    w->choice[m->cut[c].op] = choice_of(w, &m->cut[c]);
  }
}

/* The producer of one of the op's inputs that is missing, -1. */
static int32_t missing_input(const walker *w, int32_t op) {
  const plim_ids *reads = &w->problem->op[op].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t a = w->problem->item[reads->at[i]].producer;
    if (a >= 0 && w->missing[a]) return a;
  }
  return -1;
}

/* The op's segment under way at v, in program order. */
static int32_t column_at(const walker *w, int32_t op, int32_t v) {
  return plim_cut_span_of(&w->model->segments, &w->model->order, op, v).first;
}

/* Run a missing op again before v, its own missing inputs first. */
static plim_status restore(walker *w, int32_t op, int32_t v) {
  int32_t depth = 0;
  w->stack[depth++] = op;
  while (depth > 0) {
    int32_t a = w->stack[depth - 1], input = missing_input(w, a);
    if (input >= 0) {
      w->stack[depth++] = input;
      continue;
    }
    depth--;
    PLIM_TRY(plim_schedule_add(w->out, a, w->choice[a]));
    w->missing[a] = 0;
    w->repeated[a] = column_at(w, a, v);
  }
  return PLIM_OK;
}

static int reads_from(const plim_problem *p, int32_t v, int32_t a) {
  for (int32_t i = 0; i < p->op[v].reads.n; i++) {
    if (p->item[p->op[v].reads.at[i]].producer == a) return 1;
  }
  return 0;
}

/* At v: what is recomputed after it is given up, what v reads right after v. */
static void forget(walker *w, plim_cut_flow *flow, int32_t v, int64_t budget_bytes) {
  const plim_cut *cut = &w->model->cut[w->cut_of[v]];
  (void)plim_cut_flow_run(flow, cut, w->x, NULL, budget_bytes);
  plim_cut_flow_recomputed(flow, w->again);
  for (int32_t a = 0; a < v; a++) {
    if (!w->again[a] || w->repeated[a] >= column_at(w, a, v)) continue;
    if (reads_from(w->problem, v, a)) {
      w->leaving[a] = 1;
    } else {
      w->missing[a] = 1;
    }
  }
}

/* Does the solution let the op run again from v on, beside what it has done? */
static int runs_again(const walker *w, int32_t op, int32_t v) {
  int32_t c = v < w->problem->n_ops ? column_at(w, op, v) : w->model->segments.first[op + 1] - 1;
  for (; c < w->model->segments.first[op + 1]; c++) {
    if (w->solution[c] && w->repeated[op] < c) return 1;
  }
  return 0;
}

/* May anybody read what the op makes, from v's first run on? */
static int wanted(const walker *w, int32_t op, int32_t v) {
  const plim_ids *writes = &w->problem->op[op].writes;
  for (int32_t i = 0; i < writes->n; i++) {
    const plim_item *item = &w->problem->item[writes->at[i]];
    if (item->is_output) return 1;
    for (int32_t k = 0; k < item->readers.n; k++) {
      int32_t reader = item->readers.at[k];
      if (reader >= v || w->missing[reader] || runs_again(w, reader, v)) return 1;
    }
  }
  return 0;
}

static plim_status walk_op(walker *w, plim_cut_flow *flow, int32_t v, int64_t budget_bytes) {
  const plim_planned_op *op = &w->problem->op[v];
  forget(w, flow, v, budget_bytes);
  for (int32_t i = 0; i < op->closes.n; i++) {
    int32_t a = op->closes.at[i];
    if (w->missing[a] && wanted(w, a, v)) PLIM_TRY(restore(w, a, v));
  }
  for (int32_t a; (a = missing_input(w, v)) >= 0;) PLIM_TRY(restore(w, a, v));
  PLIM_TRY(plim_schedule_add(w->out, v, w->choice[v]));
  for (int32_t i = 0; i < op->reads.n; i++) {
    int32_t a = w->problem->item[op->reads.at[i]].producer;
    if (a < 0 || !w->leaving[a]) continue;
    w->leaving[a] = 0;
    w->missing[a] = w->repeated[a] < column_at(w, a, v);
  }
  return PLIM_OK;
}

plim_status plim_cut_walk(plim_cut_flow *flow, const plim_cut_model *model, const uint8_t *solution,
                          int64_t budget_bytes, plim_schedule *out) {
  const plim_problem *p = model->problem;
  walker w = {.model = model, .problem = p, .solution = solution, .out = out};
  lay_out(&w, &w.block);
  plim_status status = PLIM_OK;
  out->n = 0;
  PLIM_TRY(plim_block_allocate(p->ctx, &w.block));
  lay_out(&w, &w.block);
  prepare(&w);
  for (int32_t v = 0; v < p->n_ops; v++) {
    PLIM_CHECK(plim_effort_over(p->ctx, p->n_ops) ? PLIM_ECANCEL : PLIM_OK);
    PLIM_CHECK(walk_op(&w, flow, v, budget_bytes));
  }
  for (int32_t a = 0; a < p->n_ops; a++) {
    if (w.missing[a] && wanted(&w, a, p->n_ops)) PLIM_CHECK(restore(&w, a, p->n_ops - 1));
  }
done:
  plim_block_release(p->ctx, &w.block);
  return status;
}
