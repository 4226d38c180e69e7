/* Checkpoint sets and the schedules that follow from them. The schedule is emitted directly: lives end at their last
 * reader by themselves, so that only what is missing has to be decided. Where a repeat would come behind an update that
 * its op must not see, the older copy is read instead and simply lives longer. */
#include "planner/chain/checkpoints.h"

#include <string.h>

enum { THRESHOLDS = 48 };

static int in_forward(const plim_problem *p, int32_t v) {
  return p->graph->op[v].phase == PLIM_PHASE_FORWARD && !p->op[v].once;
}

/* An op is a cut when no item made before it is read behind it in the forward part. */
static void find_cuts(plim_checkpoints *c) {
  const plim_problem *p = c->problem;
  int32_t reach = -1; /* furthest op that reads what was made so far */
  for (int32_t i = 0; i < c->n_forward; i++) {
    int32_t v = c->forward[i], furthest = -1;
    for (int32_t k = 0; k < p->op[v].writes.n; k++) {
      int32_t last = c->last_reader[p->op[v].writes.at[k]];
      if (last > furthest) furthest = last;
    }
    c->is_cut[v] = reach <= v && furthest > v;
    if (furthest > reach) reach = furthest;
  }
}

plim_status plim_checkpoints_new(const plim_problem *p, plim_checkpoints **out) {
  plim_context *ctx = p->ctx;
  plim_checkpoints *c = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *c, &c));
  c->problem = p;
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *c->forward, &c->forward));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *c->is_forward, &c->is_forward));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *c->is_cut, &c->is_cut));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *c->kept, &c->kept));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *c->stack, &c->stack));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *c->state, &c->state));
  PLIM_CHECK(plim_allocate(ctx, p->n_items, sizeof *c->available, &c->available));
  PLIM_CHECK(plim_allocate(ctx, p->n_items, sizeof *c->last_reader, &c->last_reader));
  for (int32_t v = 0; v < p->n_ops; v++) {
    c->is_forward[v] = (uint8_t)in_forward(p, v);
    if (c->is_forward[v]) c->forward[c->n_forward++] = v;
  }
  for (int32_t i = 0; i < p->n_items; i++) {
    c->last_reader[i] = -1;
    for (int32_t k = 0; k < p->item[i].readers.n; k++) {
      int32_t reader = p->item[i].readers.at[k];
      if (c->is_forward[reader] && reader > c->last_reader[i]) c->last_reader[i] = reader;
    }
  }
  find_cuts(c);
  *out = c;
done:
  if (status != PLIM_OK) plim_checkpoints_free(c);
  return status;
}

void plim_checkpoints_free(plim_checkpoints *c) {
  if (!c) return;
  const plim_problem *p = c->problem;
  plim_release(p->ctx, c->forward, p->n_ops, sizeof *c->forward);
  plim_release(p->ctx, c->is_forward, p->n_ops, sizeof *c->is_forward);
  plim_release(p->ctx, c->is_cut, p->n_ops, sizeof *c->is_cut);
  plim_release(p->ctx, c->kept, p->n_ops, sizeof *c->kept);
  plim_release(p->ctx, c->stack, p->n_ops, sizeof *c->stack);
  plim_release(p->ctx, c->state, p->n_ops, sizeof *c->state);
  plim_release(p->ctx, c->available, p->n_items, sizeof *c->available);
  plim_release(p->ctx, c->last_reader, p->n_items, sizeof *c->last_reader);
  plim_release(p->ctx, c, 1, sizeof *c);
}

static int is_candidate(const plim_checkpoints *c, int32_t op, plim_checkpoint_kind kind) {
  return kind == PLIM_CHECKPOINT_LINEAR || c->is_cut[op];
}

int32_t plim_checkpoints_every(plim_checkpoints *c, plim_checkpoint_kind kind, int32_t k) {
  int32_t n = 0;
  memset(c->kept, 0, (size_t)c->problem->n_ops);
  for (int32_t i = 0; i < c->n_forward; i++) {
    int32_t v = c->forward[i];
    if (is_candidate(c, v, kind) && ++n % k == 0) c->kept[v] = 1;
  }
  return n;
}

int32_t plim_checkpoints_greedy(plim_checkpoints *c, plim_checkpoint_kind kind, int64_t bytes) {
  const plim_problem *p = c->problem;
  int64_t written = 0;
  int32_t n = 0;
  memset(c->kept, 0, (size_t)p->n_ops);
  for (int32_t i = 0; i < c->n_forward; i++) {
    int32_t v = c->forward[i];
    for (int32_t k = 0; k < p->op[v].writes.n; k++) written += p->item[p->op[v].writes.at[k]].bytes;
    if (!is_candidate(c, v, kind) || written <= bytes) continue;
    c->kept[v] = 1;
    written = 0;
    n++;
  }
  return n;
}

plim_status plim_checkpoints_sweep(plim_checkpoints *c, plim_checkpoints_visit *visit, void *user) {
  const plim_problem *p = c->problem;
  int64_t all = 0;
  for (int32_t i = 0; i < c->n_forward; i++) {
    const plim_list *writes = &p->op[c->forward[i]].writes;
    for (int32_t k = 0; k < writes->n; k++) all += p->item[writes->at[k]].bytes;
  }
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR; kind++) {
    int32_t last = -1;
    int64_t bytes = all;
    for (int32_t i = 0; i < THRESHOLDS; i++, bytes -= bytes / 7) {
      int32_t n = plim_checkpoints_greedy(c, (plim_checkpoint_kind)kind, bytes);
      if (n == last) continue;
      last = n;
      PLIM_TRY(visit(user, c));
      if (plim_context_cancelled(p->ctx)) return plim_fail(p->ctx, PLIM_ECANCEL, "planning was cancelled");
    }
  }
  return PLIM_OK;
}

static plim_status run_op(plim_checkpoints *c, int32_t v, plim_schedule *out) {
  const plim_list *writes = &c->problem->op[v].writes;
  for (int32_t i = 0; i < writes->n; i++) c->available[writes->at[i]] = 1;
  c->state[v] = 1;
  return plim_schedule_add(out, v, 0);
}

/* May the op run again now? state[u]: u has run. */
static int may_repeat(const plim_checkpoints *c, int32_t v) {
  const plim_planned_op *op = &c->problem->op[v];
  if (op->once) return 0;
  for (int32_t i = 0; i < op->until.n; i++) {
    if (c->state[op->until.at[i]]) return 0;
  }
  return 1;
}

/* An op whose output this op misses and that may run again; -1 when the op can run. */
static int32_t missing_producer(plim_checkpoints *c, int32_t v) {
  const plim_list *reads = &c->problem->op[v].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], producer = c->problem->item[item].producer;
    if (producer < 0 || c->available[item]) continue;
    if (may_repeat(c, producer)) return producer;
    c->available[item] = 1; /* its older copy lives on */
  }
  return -1;
}

/* Run v, and before it, depth first, what it misses. */
static plim_status demand(plim_checkpoints *c, int32_t v, int32_t most_runs, plim_schedule *out) {
  int32_t n = 0;
  c->stack[n++] = v;
  while (n > 0) {
    int32_t missing = missing_producer(c, c->stack[n - 1]);
    if (missing >= 0) {
      c->stack[n++] = missing; /* producers come earlier in program order: no op is on the stack twice */
    } else if (out->n >= most_runs) {
      return plim_fail(c->problem->ctx, PLIM_ENOFIT, "recomputation needs more than %d runs", most_runs);
    } else {
      PLIM_TRY(run_op(c, c->stack[--n], out));
    }
  }
  return PLIM_OK;
}

/* Give up what was made again in out[from ..] for the run of v, except what v reads itself. */
static void drop_intermediates(plim_checkpoints *c, int32_t v, int32_t from, const plim_schedule *out) {
  const plim_problem *p = c->problem;
  for (int32_t j = from; j < out->n; j++) {
    const plim_list *writes = &p->op[out->op[j]].writes;
    for (int32_t i = 0; i < writes->n && out->op[j] != v && !c->kept[out->op[j]]; i++) c->available[writes->at[i]] = 0;
  }
  for (int32_t i = 0; i < p->op[v].reads.n; i++) c->available[p->op[v].reads.at[i]] = 1;
}

/* Behind the first run of forward op v: give up what the forward part needs no longer. */
static void give_up(plim_checkpoints *c, int32_t v) {
  const plim_problem *p = c->problem;
  for (int32_t pass = 0; pass < 2; pass++) {
    const plim_list *items = pass ? &p->op[v].writes : &p->op[v].reads;
    for (int32_t i = 0; i < items->n; i++) {
      int32_t item = items->at[i], producer = p->item[item].producer;
      if (producer < 0 || !c->is_forward[producer] || c->kept[producer] || p->item[item].kept) continue;
      if (c->last_reader[item] <= v) c->available[item] = 0;
    }
  }
}

plim_status plim_checkpoints_schedule(plim_checkpoints *c, int32_t hold, int32_t most_runs, plim_schedule *out) {
  const plim_problem *p = c->problem;
  memset(c->available, 0, (size_t)p->n_items);
  memset(c->state, 0, (size_t)p->n_ops * sizeof *c->state);
  out->n = 0;
  for (int32_t v = 0; v < p->n_ops; v++) {
    int32_t from = out->n;
    PLIM_TRY(demand(c, v, most_runs, out));
    if (c->is_forward[v]) {
      give_up(c, v);
    } else if (!hold) {
      drop_intermediates(c, v, from, out);
    }
  }
  return PLIM_OK;
}
