/* A lower bound on the peak of every plan. While an op runs, these bytes are alive: all that it reads and writes, the
 * workspace of one of its variants, and persistent storages. An output may be written over an input, which saves bytes.
 * The largest sum over all ops is one bound.
 *
 * The other one counts outputs of the graph, which stay from the last run of their producer on. Order the producers by
 * their last runs: each of these runs has beside it the outputs of all producers before it. Over all orders the
 * largest sum is least where what a run needs beyond what it leaves falls from one to the next, as an exchange of two
 * neighbours shows.
 * Example: op a needs 10 bytes and leaves an output of 2, op b needs 9 and leaves 6. First a: 10, then 9 + 2, at most
 * 11. First b: 9, then 10 + 6, at most 16. So no plan has less than 11: a passes on 8 bytes, b only 3. */
#include <stdlib.h>

#include "planner/core/problem.h"
#include "runtime/base/integers.h"

int64_t plim_bound_overwritten(const plim_problem *p, int32_t v, plim_item_test *is_kept, const void *user) {
  const plim_planned_op *op = &p->op[v];
  int64_t by_out = 0, by_in = 0;
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    int first_of_out = 1, first_of_in = 1;
    if (is_kept && is_kept(user, w->in, v)) continue;
    for (int32_t i = 0; i < k; i++) {
      if (is_kept && is_kept(user, op->overwrite[i].in, v)) continue;
      if (op->overwrite[i].out_index == w->out_index) first_of_out = 0;
      if (op->overwrite[i].in == w->in) first_of_in = 0;
    }
    if (first_of_out) by_out += p->item[w->in].bytes;
    if (first_of_in) by_in += p->item[w->in].bytes;
  }
  return by_out < by_in ? by_out : by_in;
}

static int64_t least_workspace(const plim_planned_op *op) {
  int64_t least = INT64_MAX;
  for (int32_t i = 0; i < op->n_choices; i++) {
    if (op->choice[i].workspace_bytes < least) least = op->choice[i].workspace_bytes;
  }
  return least;
}

int64_t plim_bound_without_workspace(const plim_problem *p, int32_t op) {
  const plim_planned_op *planned = &p->op[op];
  int64_t bytes = p->persistent_bytes - plim_bound_overwritten(p, op, NULL, NULL);
  for (int32_t i = 0; i < planned->reads.n; i++) bytes += p->item[planned->reads.at[i]].bytes;
  return bytes + plim_problem_bytes_written(p, op);
}

/* The last run of an op that writes outputs of the graph. */
typedef struct last_run {
  int64_t needed_bytes; /* while it runs, without outputs of other ops */
  int64_t left_bytes;   /* its outputs of the graph */
  int32_t op;
} last_run;

static int most_passing_first(const void *a, const void *b) {
  const last_run *x = a, *y = b;
  int64_t of_x = x->needed_bytes - x->left_bytes, of_y = y->needed_bytes - y->left_bytes;
  return of_x != of_y ? plim_integers_compare(of_y, of_x) : plim_integers_compare(x->op, y->op);
}

static int64_t bytes_kept(const plim_problem *p, const plim_ids *items) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < items->n; i++) bytes += p->item[items->at[i]].is_output ? p->item[items->at[i]].bytes : 0;
  return bytes;
}

plim_status plim_bound_outputs(plim_problem *p) {
  last_run *run = NULL;
  int32_t n = 0;
  int64_t there = 0; /* outputs of the runs before */
  p->outputs_bound = (plim_outputs_bound){.bytes = -1};
  PLIM_TRY(plim_allocate(p->ctx, p->n_ops, sizeof *run, &run));
  for (int32_t v = 0; v < p->n_ops; v++) {
    int64_t left = bytes_kept(p, &p->op[v].writes);
    if (left == 0) continue;
    int64_t needed = plim_bound_without_workspace(p, v) + least_workspace(&p->op[v]) - bytes_kept(p, &p->op[v].reads);
    run[n++] = (last_run){needed, left, v};
  }
  if (n > 0) qsort(run, (size_t)n, sizeof *run, most_passing_first);
  for (int32_t i = 0; i < n; i++) {
    if (run[i].needed_bytes + there > p->outputs_bound.bytes) {
      p->outputs_bound = (plim_outputs_bound){run[i].needed_bytes + there, there, run[i].op};
    }
    there += run[i].left_bytes;
  }
  plim_release(p->ctx, run, p->n_ops, sizeof *run);
  return PLIM_OK;
}

int64_t plim_bound_bytes(const plim_problem *p, int32_t *op) {
  int64_t most = -1;
  for (int32_t v = 0; v < p->n_ops; v++) {
    int64_t bytes = plim_bound_without_workspace(p, v) + least_workspace(&p->op[v]);
    if (bytes <= most) continue;
    most = bytes;
    *op = v;
  }
  if (p->outputs_bound.bytes <= most) return most;
  *op = p->outputs_bound.op;
  return p->outputs_bound.bytes;
}

void plim_bound_floor(const plim_problem *p, plim_plan_floor *floor) {
  floor->bound_bytes = plim_bound_bytes(p, &floor->op);
  floor->outputs_bytes = floor->bound_bytes == p->outputs_bound.bytes && floor->op == p->outputs_bound.op
                             ? p->outputs_bound.outputs_bytes
                             : 0;
}
