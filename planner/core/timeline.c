/* Evaluates a schedule from nothing, in three passes over its runs:
 *   walk             checks the rules, begins the lifetimes, and moves the end of each to each of its readers
 *   find_successors  lets outputs be written over inputs that end at the same run
 *   add_up           adds up live bytes at each position
 * Cost: O(runs x operands).
 * Source: the evaluator of the sequence formulation (FastSA, NeurIPS 2023), extended to several outputs, updates,
 * workspaces and in-place pairs. */
#include "planner/core/timeline.h"

#include <string.h>

plim_status plim_timeline_new(const plim_problem *problem, plim_timeline **out) {
  plim_context *ctx = problem->ctx;
  plim_timeline *t = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *t, &t));
  t->problem = problem;
  plim_status status = plim_allocate(ctx, problem->n_items, sizeof *t->latest, &t->latest);
  if (status == PLIM_OK) status = plim_allocate(ctx, problem->n_ops, sizeof *t->ran, &t->ran);
  if (status != PLIM_OK) {
    plim_timeline_free(t);
    return status;
  }
  *out = t;
  return PLIM_OK;
}

void plim_timeline_free(plim_timeline *t) {
  if (!t) return;
  plim_context *ctx = t->problem->ctx;
  plim_release(ctx, t->latest, t->problem->n_items, sizeof *t->latest);
  plim_release(ctx, t->ran, t->problem->n_ops, sizeof *t->ran);
  plim_release(ctx, t->own_lifetime, t->room_lifetimes, sizeof *t->own_lifetime);
  plim_release(ctx, t->own_level, t->room_runs, sizeof *t->own_level);
  plim_release(ctx, t, 1, sizeof *t);
}

static plim_status reserve(plim_timeline *t, const plim_schedule *s) {
  const plim_problem *p = t->problem;
  int64_t lifetimes = p->n_items;
  for (int32_t j = 0; j < s->n; j++) lifetimes += p->op[s->op[j]].writes.n;
  if (lifetimes > INT32_MAX) return plim_fail(p->ctx, PLIM_EOVERFLOW, "a schedule of %d runs is too long", s->n);
  if (lifetimes > t->room_lifetimes) {
    PLIM_TRY(plim_resize_array(p->ctx, &t->own_lifetime, t->room_lifetimes, lifetimes, sizeof *t->own_lifetime));
    t->room_lifetimes = (int32_t)lifetimes;
  }
  if (s->n + 1 > t->room_runs) {
    PLIM_TRY(plim_resize_array(p->ctx, &t->own_level, t->room_runs, s->n + 1, sizeof *t->own_level));
    t->room_runs = s->n + 1;
  }
  t->lifetime = t->own_lifetime;
  t->level = t->own_level;
  return PLIM_OK;
}

/* May op v run at this position, after the runs marked in t->ran? */
static plim_status check_run(const plim_timeline *t, int32_t v, int32_t position) {
  const plim_problem *p = t->problem;
  const plim_planned_op *op = &p->op[v];
  const plim_op *name = p->graph->op;
  if (op->once && t->ran[v]) {
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' again, which runs once", position, name[v].name);
  }
  for (int32_t i = 0; i < op->preds.n; i++) {
    int32_t a = op->preds.at[i];
    if (t->ran[a]) continue;
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' before '%s'", position, name[v].name, name[a].name);
  }
  for (int32_t i = 0; i < op->closed_by.n; i++) {
    int32_t u = op->closed_by.at[i];
    if (!t->ran[u]) continue;
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' after the update '%s'", position, name[v].name,
                     name[u].name);
  }
  if (p->fixed_order && !t->ran[v] && v > 0 && !t->ran[v - 1]) {
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' for the first time before '%s'", position, name[v].name,
                     name[v - 1].name);
  }
  return PLIM_OK;
}

/* Inputs have their one lifetime from the first run on. */
static void begin_inputs(plim_timeline *t) {
  const plim_problem *p = t->problem;
  t->n_lifetimes = 0;
  for (int32_t i = 0; i < p->n_items; i++) {
    t->latest[i] = -1;
    if (p->item[i].producer >= 0) continue;
    t->latest[i] = t->n_lifetimes;
    t->own_lifetime[t->n_lifetimes++] = (plim_lifetime){.item = i, .begin = 0, .end = 1, .successor = -1};
  }
}

static plim_status walk(plim_timeline *t, const plim_schedule *s) {
  const plim_problem *p = t->problem;
  memset(t->ran, 0, (size_t)p->n_ops * sizeof *t->ran);
  begin_inputs(t);
  t->time_ns = 0;
  for (int32_t j = 0; j < s->n; j++) {
    const plim_planned_op *op = &p->op[s->op[j]];
    PLIM_TRY(check_run(t, s->op[j], j));
    for (int32_t i = 0; i < op->reads.n; i++) t->own_lifetime[t->latest[op->reads.at[i]]].end = j + 1;
    for (int32_t i = 0; i < op->writes.n; i++) {
      t->latest[op->writes.at[i]] = t->n_lifetimes;
      t->own_lifetime[t->n_lifetimes++] =
          (plim_lifetime){.item = op->writes.at[i], .begin = j, .end = j + 1, .successor = -1};
    }
    t->ran[s->op[j]] = 1;
    t->time_ns += op->choice[s->choice[j]].time_ns;
  }
  for (int32_t v = 0; v < p->n_ops; v++) {
    if (!t->ran[v]) return plim_fail(p->ctx, PLIM_EPLAN, "op '%s' never runs", p->graph->op[v].name);
  }
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].is_output) t->own_lifetime[t->latest[i]].end = s->n;
  }
  return PLIM_OK;
}

/* At position j, where `op` begins the lifetimes from `made` on: they are written over inputs whose last reader it is.
 */
static void overwrite_inputs(plim_timeline *t, const plim_planned_op *op, int32_t j, int32_t made) {
  uint32_t chosen = 0; /* bit k: pair k is in use; at most PLIM_OP_MAX_PAIRS */
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    plim_lifetime *in = &t->own_lifetime[t->latest[w->in]];
    int taken = 0;
    for (int32_t i = 0; i < k; i++) taken |= (chosen >> i & 1U) && op->overwrite[i].out_index == w->out_index;
    if (taken || in->successor >= 0 || in->end != j + 1 || in->begin == j) continue;
    in->successor = made + w->out_index;
    in->pair = w->pair;
    chosen |= 1U << k;
  }
}

/* t->latest is built once more, so that each run sees the lifetimes that it reads. */
static void find_successors(plim_timeline *t, const plim_schedule *s) {
  const plim_problem *p = t->problem;
  int32_t made = 0;
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].producer < 0) t->latest[i] = made++;
  }
  for (int32_t j = 0; j < s->n; j++) {
    const plim_planned_op *op = &p->op[s->op[j]];
    overwrite_inputs(t, op, j, made);
    for (int32_t i = 0; i < op->writes.n; i++) t->latest[op->writes.at[i]] = made++;
  }
  for (int32_t c = 0; c < t->n_lifetimes; c++) t->own_lifetime[c].end -= t->own_lifetime[c].successor >= 0;
}

/* own_level first holds the change of live bytes at each position, then their sum. */
static void add_up(plim_timeline *t, const plim_schedule *s) {
  const plim_problem *p = t->problem;
  memset(t->own_level, 0, (size_t)(s->n + 1) * sizeof *t->own_level);
  for (int32_t c = 0; c < t->n_lifetimes; c++) {
    t->own_level[t->lifetime[c].begin] += p->item[t->lifetime[c].item].bytes;
    t->own_level[t->lifetime[c].end] -= p->item[t->lifetime[c].item].bytes;
  }
  int64_t alive = p->persistent_bytes;
  t->peak_bytes = alive;
  for (int32_t j = 0; j < s->n; j++) {
    alive += t->own_level[j];
    t->own_level[j] = alive + p->op[s->op[j]].choice[s->choice[j]].workspace_bytes;
    if (t->own_level[j] > t->peak_bytes) t->peak_bytes = t->own_level[j];
  }
}

plim_status plim_timeline_evaluate(plim_timeline *t, const plim_schedule *s) {
  PLIM_TRY(reserve(t, s));
  t->n_runs = s->n;
  PLIM_TRY(walk(t, s));
  find_successors(t, s);
  add_up(t, s);
  return PLIM_OK;
}
