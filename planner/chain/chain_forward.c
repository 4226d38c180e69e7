/* Finds the forward part of a step and its articulation points, in one walk each over program order. The walk for the
 * points carries the furthest reader of what was written so far: op v is a point where no reader of what ops before v
 * wrote comes after v. In a chain a b c with a shortcut from a to c, b is no point: c reads what a wrote. */
#include "planner/chain/chain.h"

static int is_marked(const plim_problem *p) {
  for (int32_t v = 0; v < p->n_ops; v++) {
    if (p->graph->op[v].phase != PLIM_PHASE_FORWARD) return 1;
  }
  return 0;
}

static int32_t last_reader_of(const plim_item *item) {
  return item->readers.n > 0 ? item->readers.at[item->readers.n - 1] : -1;
}

/* The op after which the most bytes are alive; of equal ones the first. */
static int32_t widest_moment(const plim_problem *p) {
  int64_t alive = 0, most = -1;
  int32_t widest = p->n_ops - 1;
  for (int32_t v = 0; v < p->n_ops; v++) {
    for (int32_t i = 0; i < p->op[v].writes.n; i++) {
      const plim_item *item = &p->item[p->op[v].writes.at[i]];
      if (last_reader_of(item) > v) alive += item->bytes;
    }
    for (int32_t i = 0; i < p->op[v].reads.n; i++) {
      const plim_item *item = &p->item[p->op[v].reads.at[i]];
      if (item->producer >= 0 && last_reader_of(item) == v) alive -= item->bytes;
    }
    if (alive <= most) continue;
    most = alive;
    widest = v;
  }
  return widest;
}

static void find_last_readers(plim_forward *forward) {
  const plim_problem *p = forward->problem;
  for (int32_t i = 0; i < p->n_items; i++) {
    forward->last_reader[i] = -1;
    for (int32_t k = 0; k < p->item[i].readers.n; k++) {
      if (forward->is_forward[p->item[i].readers.at[k]]) forward->last_reader[i] = p->item[i].readers.at[k];
    }
  }
}

static void find_cuts(plim_forward *forward) {
  const plim_problem *p = forward->problem;
  int32_t reach = -1; /* furthest op that reads what was made so far */
  for (int32_t i = 0; i < forward->n; i++) {
    int32_t v = forward->op[i], furthest = -1;
    for (int32_t k = 0; k < p->op[v].writes.n; k++) {
      int32_t last = forward->last_reader[p->op[v].writes.at[k]];
      if (last > furthest) furthest = last;
    }
    forward->is_cut[v] = reach <= v && furthest > v;
    if (furthest > reach) reach = furthest;
  }
}

plim_status plim_forward_make(const plim_problem *p, plim_forward *out) {
  plim_forward forward = {.problem = p};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops, sizeof *forward.op, &forward.op));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops, sizeof *forward.is_forward, &forward.is_forward));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops, sizeof *forward.is_cut, &forward.is_cut));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *forward.last_reader, &forward.last_reader));
  int marked = is_marked(p);
  int32_t end = marked ? p->n_ops - 1 : widest_moment(p);
  for (int32_t v = 0; v <= end; v++) {
    forward.is_forward[v] = p->graph->op[v].phase == PLIM_PHASE_FORWARD && !p->op[v].runs_once;
    if (forward.is_forward[v]) forward.op[forward.n++] = v;
  }
  find_last_readers(&forward);
  find_cuts(&forward);
  *out = forward;
done:
  if (status != PLIM_OK) plim_forward_free(&forward);
  return status;
}

void plim_forward_free(plim_forward *forward) {
  const plim_problem *p = forward->problem;
  if (!p) return;
  plim_release(p->ctx, forward->op, p->n_ops, sizeof *forward->op);
  plim_release(p->ctx, forward->is_forward, p->n_ops, sizeof *forward->is_forward);
  plim_release(p->ctx, forward->is_cut, p->n_ops, sizeof *forward->is_cut);
  plim_release(p->ctx, forward->last_reader, p->n_items, sizeof *forward->last_reader);
  *forward = (plim_forward){0};
}
