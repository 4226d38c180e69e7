/* Makes a schedule from a solution of the cut model.
 *
 * An op is *missing* when its outputs are evicted: it must be recomputed before anything reads them. There is no
 * command that evicts: a lifetime ends after its last reader before the next one. Invariant: a missing op may still be
 * recomputed. It is recomputed before any update that it must not see.
 *
 * Example (that of cut_model.h), with x = 1: ops 0, 1 and 2 run. At the cut, op 2, the solution recomputes op 0, which
 * op 2 does not read: op 0 is missing. Op 3 reads what it made, so the schedule is 0 1 2 0 3. */
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

static void lay_out(walker *walk, plim_block *memory) {
  int64_t ops = walk->problem->n_ops;
  walk->x = plim_block_take(memory, walk->model->n_columns, sizeof *walk->x);
  walk->choice = plim_block_take(memory, ops, sizeof *walk->choice);
  walk->cut_of = plim_block_take(memory, ops, sizeof *walk->cut_of);
  walk->repeated = plim_block_take(memory, ops, sizeof *walk->repeated);
  walk->missing = plim_block_take(memory, ops, 1);
  walk->leaving = plim_block_take(memory, ops, 1);
  walk->again = plim_block_take(memory, ops, 1);
  walk->stack = plim_block_take(memory, ops, sizeof *walk->stack);
}

/* The choice that the solution takes for a cut's op: the slowest that it pays for. */
static int32_t choice_of(const walker *walk, const plim_cut *cut) {
  int32_t choice = 0, chosen = 0;
  for (int32_t c = cut->first_column; c < cut->end_column; c++) {
    choice = plim_cut_next_choice(&walk->problem->op[cut->op], choice);
    if (walk->solution[c]) chosen = choice;
  }
  return chosen;
}

static void begin_walk_state(walker *walk) {
  const plim_cut_model *model = walk->model;
  for (int32_t j = 0; j < model->n_columns; j++) walk->x[j] = walk->solution[j];
  for (int32_t a = 0; a < walk->problem->n_ops; a++) walk->repeated[a] = -1;
  for (int32_t c = 0; c < model->n_cuts; c++) {
    walk->cut_of[model->cut[c].op] = c;
    walk->choice[model->cut[c].op] = choice_of(walk, &model->cut[c]);
  }
}

/* The producer of one of the op's inputs that is missing, -1. */
static int32_t missing_input(const walker *walk, int32_t op) {
  const plim_ids *reads = &walk->problem->op[op].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t a = walk->problem->item[reads->at[i]].producer;
    if (a >= 0 && walk->missing[a]) return a;
  }
  return -1;
}

/* The op's segment under way at v, in program order. */
static int32_t column_at(const walker *walk, int32_t op, int32_t v) {
  return plim_cut_segment_range_of(&walk->model->segments, &walk->model->order, op, v).first;
}

/* Run a missing op again before v, its own missing inputs first. */
static plim_status run_again_with_inputs(walker *walk, int32_t op, int32_t v) {
  int32_t depth = 0;
  walk->stack[depth++] = op;
  while (depth > 0) {
    int32_t a = walk->stack[depth - 1], input = missing_input(walk, a);
    if (input >= 0) {
      walk->stack[depth++] = input;
      continue;
    }
    depth--;
    PLIM_TRY(plim_schedule_add(walk->out, a, walk->choice[a]));
    walk->missing[a] = 0;
    walk->repeated[a] = column_at(walk, a, v);
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
static void give_up_results(walker *walk, plim_cut_flow *flow, int32_t v, int64_t budget_bytes) {
  const plim_cut *cut = &walk->model->cut[walk->cut_of[v]];
  (void)plim_cut_flow_run(flow, cut, walk->x, NULL, budget_bytes);
  plim_cut_flow_recomputed(flow, walk->again);
  for (int32_t a = 0; a < v; a++) {
    if (!walk->again[a] || walk->repeated[a] >= column_at(walk, a, v)) continue;
    if (reads_from(walk->problem, v, a)) {
      walk->leaving[a] = 1;
    } else {
      walk->missing[a] = 1;
    }
  }
}

/* Does the solution let the op run again from v on, beside what it has done? */
static int runs_again(const walker *walk, int32_t op, int32_t v) {
  int32_t c = v < walk->problem->n_ops ? column_at(walk, op, v) : walk->model->segments.first[op + 1] - 1;
  for (; c < walk->model->segments.first[op + 1]; c++) {
    if (walk->solution[c] && walk->repeated[op] < c) return 1;
  }
  return 0;
}

/* May another run read what the op makes, from v's first run on? */
static int is_read_later(const walker *walk, int32_t op, int32_t v) {
  const plim_ids *writes = &walk->problem->op[op].writes;
  for (int32_t i = 0; i < writes->n; i++) {
    const plim_item *item = &walk->problem->item[writes->at[i]];
    if (item->is_output) return 1;
    for (int32_t k = 0; k < item->readers.n; k++) {
      int32_t reader = item->readers.at[k];
      if (reader >= v || walk->missing[reader] || runs_again(walk, reader, v)) return 1;
    }
  }
  return 0;
}

static plim_status walk_op(walker *walk, plim_cut_flow *flow, int32_t v, int64_t budget_bytes) {
  const plim_planned_op *op = &walk->problem->op[v];
  give_up_results(walk, flow, v, budget_bytes);
  for (int32_t i = 0; i < op->closes.n; i++) {
    int32_t a = op->closes.at[i];
    if (walk->missing[a] && is_read_later(walk, a, v)) PLIM_TRY(run_again_with_inputs(walk, a, v));
  }
  for (int32_t a; (a = missing_input(walk, v)) >= 0;) PLIM_TRY(run_again_with_inputs(walk, a, v));
  PLIM_TRY(plim_schedule_add(walk->out, v, walk->choice[v]));
  for (int32_t i = 0; i < op->reads.n; i++) {
    int32_t a = walk->problem->item[op->reads.at[i]].producer;
    if (a < 0 || !walk->leaving[a]) continue;
    walk->leaving[a] = 0;
    walk->missing[a] = walk->repeated[a] < column_at(walk, a, v);
  }
  return PLIM_OK;
}

plim_status plim_cut_walk(plim_cut_flow *flow, const plim_cut_model *model, const uint8_t *solution,
                          int64_t budget_bytes, plim_schedule *out) {
  const plim_problem *p = model->problem;
  walker walk = {.model = model, .problem = p, .solution = solution, .out = out};
  lay_out(&walk, &walk.block);
  plim_status status = PLIM_OK;
  out->n = 0;
  PLIM_TRY(plim_block_allocate(p->ctx, &walk.block));
  lay_out(&walk, &walk.block);
  begin_walk_state(&walk);
  for (int32_t v = 0; v < p->n_ops; v++) {
    PLIM_TRY_OR_DONE(plim_effort_over(p->ctx, p->n_ops) ? PLIM_ECANCEL : PLIM_OK);
    PLIM_TRY_OR_DONE(walk_op(&walk, flow, v, budget_bytes));
  }
  for (int32_t a = 0; a < p->n_ops; a++) {
    if (walk.missing[a] && is_read_later(&walk, a, p->n_ops))
      PLIM_TRY_OR_DONE(run_again_with_inputs(&walk, a, p->n_ops - 1));
  }
done:
  plim_block_release(p->ctx, &walk.block);
  return status;
}
