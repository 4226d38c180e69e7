/* A lower bound on the peak of every plan. While an op runs, these bytes are alive: all that it reads and writes, the
 * workspace of one of its variants, and persistent storages. An output may be written over an input, which saves bytes.
 * The largest sum over all ops is the bound. */
#include "planner/core/core.h"

/* Most bytes that writing over inputs can save: at most all outputs that have such a pair, and at most all inputs that
 * have one. Both are upper bounds on what a matching of the pairs saves. */
static int64_t most_saved(const plim_problem *p, const plim_planned_op *op) {
  int64_t by_out = 0, by_in = 0;
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    int first_of_out = 1, first_of_in = 1;
    for (int32_t i = 0; i < k; i++) {
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

int64_t plim_bound_beside(const plim_problem *p, int32_t op) {
  const plim_planned_op *v = &p->op[op];
  int64_t bytes = p->persistent_bytes - most_saved(p, v);
  for (int32_t i = 0; i < v->reads.n; i++) bytes += p->item[v->reads.at[i]].bytes;
  return bytes + plim_problem_bytes_written(p, op);
}

int64_t plim_bound_bytes(const plim_problem *p, int32_t *op) {
  int64_t most = -1;
  for (int32_t v = 0; v < p->n_ops; v++) {
    int64_t bytes = plim_bound_beside(p, v) + least_workspace(&p->op[v]);
    if (bytes <= most) continue;
    most = bytes;
    *op = v;
  }
  return most;
}
