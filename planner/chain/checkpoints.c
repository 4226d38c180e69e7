/* Sets of checkpoints by Chen's rules, and the schedule that follows from a set. Source: Chen, Xu, Zhang, Guestrin,
 * "Training deep nets with sublinear memory cost", 2016; on step graphs by recomputation on demand. */
#include "planner/chain/chain.h"

#include <string.h>

#include "runtime/base/effort.h"

plim_status plim_checkpoints_new(const plim_problem *p, plim_checkpoints **out) {
  plim_context *ctx = p->ctx;
  plim_checkpoints *checkpoints = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *checkpoints, &checkpoints));
  checkpoints->problem = p;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, p->n_ops, sizeof *checkpoints->kept, &checkpoints->kept));
  PLIM_TRY_OR_DONE(plim_forward_make(p, &checkpoints->forward));
  PLIM_TRY_OR_DONE(plim_demand_make(p, &checkpoints->demand));
  *out = checkpoints;
done:
  if (status != PLIM_OK) plim_checkpoints_free(checkpoints);
  return status;
}

void plim_checkpoints_free(plim_checkpoints *checkpoints) {
  if (!checkpoints) return;
  const plim_problem *p = checkpoints->problem;
  plim_release(p->ctx, checkpoints->kept, p->n_ops, sizeof *checkpoints->kept);
  plim_forward_free(&checkpoints->forward);
  plim_demand_free(&checkpoints->demand);
  plim_release(p->ctx, checkpoints, 1, sizeof *checkpoints);
}

static int is_candidate(const plim_checkpoints *checkpoints, int32_t op, plim_checkpoint_kind kind) {
  return kind == PLIM_CHECKPOINT_LINEAR || checkpoints->forward.is_cut[op];
}

int32_t plim_checkpoints_every(plim_checkpoints *checkpoints, plim_checkpoint_kind kind, int32_t k) {
  int32_t n = 0;
  memset(checkpoints->kept, 0, (size_t)checkpoints->problem->n_ops);
  for (int32_t i = 0; i < checkpoints->forward.n; i++) {
    int32_t v = checkpoints->forward.op[i];
    if (is_candidate(checkpoints, v, kind) && ++n % k == 0) checkpoints->kept[v] = 1;
  }
  return n;
}

/* Walk the forward part and keep a candidate whenever the bytes written since the last one exceed `bytes`. Returns
 * the number kept. Source: Chen, Xu, Zhang, Guestrin, 2016, greedy form. */
static int32_t keep_greedily(plim_checkpoints *checkpoints, plim_checkpoint_kind kind, int64_t bytes) {
  const plim_problem *p = checkpoints->problem;
  int64_t written = 0;
  int32_t n = 0;
  memset(checkpoints->kept, 0, (size_t)p->n_ops);
  for (int32_t i = 0; i < checkpoints->forward.n; i++) {
    int32_t v = checkpoints->forward.op[i];
    written += plim_problem_bytes_written(p, v);
    if (!is_candidate(checkpoints, v, kind) || written <= bytes) continue;
    checkpoints->kept[v] = 1;
    written = 0;
    n++;
  }
  return n;
}

plim_status plim_checkpoints_sweep(plim_checkpoints *checkpoints, int32_t parts, plim_checkpoints_visit *visit,
                                   void *user) {
  const plim_problem *p = checkpoints->problem;
  int64_t all = 0;
  for (int32_t i = 0; i < checkpoints->forward.n; i++) all += plim_problem_bytes_written(p, checkpoints->forward.op[i]);
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR; kind++) {
    int32_t last = -1;
    int64_t bytes = all;
    for (int32_t i = 0; i < chain_tuning.sweep_range * parts && bytes >= 0; i++, bytes -= bytes / parts + 1) {
      int32_t n = keep_greedily(checkpoints, (plim_checkpoint_kind)kind, bytes);
      if (n == last) continue;
      last = n;
      PLIM_TRY(visit(user, checkpoints));
      if (plim_effort_over(p->ctx, PLIM_EFFORT_LOOK)) return plim_fail(p->ctx, PLIM_ECANCEL, "planning was cancelled");
    }
  }
  return PLIM_OK;
}

/* Evict what was recomputed in out[from ..] for the run of v, except what v reads itself. */
static void drop_intermediates(plim_checkpoints *checkpoints, int32_t v, int32_t from, const plim_schedule *out) {
  const plim_problem *p = checkpoints->problem;
  for (int32_t j = from; j < out->n; j++) {
    const plim_ids *writes = &p->op[out->op[j]].writes;
    for (int32_t i = 0; i < writes->n && out->op[j] != v && !checkpoints->kept[out->op[j]]; i++) {
      checkpoints->demand.available[writes->at[i]] = 0;
    }
  }
  for (int32_t i = 0; i < p->op[v].reads.n; i++) checkpoints->demand.available[p->op[v].reads.at[i]] = 1;
}

/* After the first run of forward op v: evict what the forward part no longer reads, of ops up to `stays`. */
static void evict(plim_checkpoints *checkpoints, int32_t v, int32_t stays) {
  const plim_problem *p = checkpoints->problem;
  for (int32_t pass = 0; pass < 2; pass++) {
    const plim_ids *items = pass ? &p->op[v].writes : &p->op[v].reads;
    for (int32_t i = 0; i < items->n; i++) {
      int32_t item = items->at[i], producer = p->item[item].producer;
      if (producer < 0 || producer > stays || !checkpoints->forward.is_forward[producer] ||
          checkpoints->kept[producer] || p->item[item].is_output) {
        continue;
      }
      if (checkpoints->forward.last_reader[item] <= v) checkpoints->demand.available[item] = 0;
    }
  }
}

/* The last op of the forward part whose outputs are checkpoints, -1. */
static int32_t last_kept(const plim_checkpoints *checkpoints) {
  int32_t i = checkpoints->forward.n - 1;
  while (i >= 0 && !checkpoints->kept[checkpoints->forward.op[i]]) i--;
  return i < 0 ? -1 : checkpoints->forward.op[i];
}

plim_status plim_checkpoints_schedule(plim_checkpoints *checkpoints, int hold, int32_t runs_limit, plim_schedule *out) {
  const plim_problem *p = checkpoints->problem;
  /* the segment after the last checkpoint is the first that is read again, so it is not evicted */
  int32_t stays = hold ? last_kept(checkpoints) : p->n_ops;
  plim_demand_begin(&checkpoints->demand, out, runs_limit);
  for (int32_t v = 0; v < p->n_ops; v++) {
    int32_t from = out->n;
    PLIM_TRY(plim_demand_run(&checkpoints->demand, v));
    if (checkpoints->forward.is_forward[v]) {
      evict(checkpoints, v, stays);
    } else if (!hold) {
      drop_intermediates(checkpoints, v, from, out);
    }
  }
  return PLIM_OK;
}
