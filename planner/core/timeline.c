/* Evaluates a schedule from nothing, in three passes over its runs:
 *   walk_runs        checks the rules, begins the lifetimes, and moves the end of each to each of its readers
 *   find_successors  lets outputs be written over inputs that end at the same run
 *   add_up           adds up live bytes at each position
 * Cost: O(runs x operands).
 * Source: the evaluator of the sequence formulation (FastSA, NeurIPS 2023), extended to several outputs, updates,
 * workspaces and in-place pairs. */
#include "planner/core/evaluation.h"

#include <string.h>

plim_status plim_timeline_new(const plim_problem *problem, plim_timeline **out) {
  plim_context *ctx = problem->ctx;
  plim_timeline *timeline = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *timeline, &timeline));
  timeline->problem = problem;
  plim_status status = plim_allocate(ctx, problem->n_items, sizeof *timeline->latest, &timeline->latest);
  if (status == PLIM_OK) status = plim_allocate(ctx, problem->n_ops, sizeof *timeline->ran, &timeline->ran);
  if (status != PLIM_OK) {
    plim_timeline_free(timeline);
    return status;
  }
  *out = timeline;
  return PLIM_OK;
}

void plim_timeline_free(plim_timeline *timeline) {
  if (!timeline) return;
  plim_context *ctx = timeline->problem->ctx;
  plim_release(ctx, timeline->latest, timeline->problem->n_items, sizeof *timeline->latest);
  plim_release(ctx, timeline->ran, timeline->problem->n_ops, sizeof *timeline->ran);
  plim_release(ctx, timeline->own_lifetime, timeline->lifetime_capacity, sizeof *timeline->own_lifetime);
  plim_release(ctx, timeline->own_level, timeline->run_capacity, sizeof *timeline->own_level);
  plim_release(ctx, timeline, 1, sizeof *timeline);
}

static plim_status reserve(plim_timeline *timeline, const plim_schedule *schedule) {
  const plim_problem *p = timeline->problem;
  int64_t lifetimes = p->n_items;
  for (int32_t j = 0; j < schedule->n; j++) lifetimes += p->op[schedule->op[j]].writes.n;
  if (lifetimes > INT32_MAX) return plim_fail(p->ctx, PLIM_EOVERFLOW, "a schedule of %d runs is too long", schedule->n);
  if (lifetimes > timeline->lifetime_capacity) {
    PLIM_TRY(plim_resize_array(p->ctx, &timeline->own_lifetime, timeline->lifetime_capacity, lifetimes,
                               sizeof *timeline->own_lifetime));
    timeline->lifetime_capacity = (int32_t)lifetimes;
  }
  if (schedule->n + 1 > timeline->run_capacity) {
    PLIM_TRY(plim_resize_array(p->ctx, &timeline->own_level, timeline->run_capacity, schedule->n + 1,
                               sizeof *timeline->own_level));
    timeline->run_capacity = schedule->n + 1;
  }
  timeline->lifetime = timeline->own_lifetime;
  timeline->level = timeline->own_level;
  return PLIM_OK;
}

/* May op v run at this position, after the runs marked in timeline->ran? */
static plim_status check_run(const plim_timeline *timeline, int32_t v, int32_t position) {
  const plim_problem *p = timeline->problem;
  const plim_planned_op *op = &p->op[v];
  const plim_op *name = p->graph->op;
  if (op->runs_once && timeline->ran[v]) {
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' again, which runs once", position, name[v].name);
  }
  for (int32_t i = 0; i < op->preds.n; i++) {
    int32_t a = op->preds.at[i];
    if (timeline->ran[a]) continue;
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' before '%s'", position, name[v].name, name[a].name);
  }
  for (int32_t i = 0; i < op->closed_by.n; i++) {
    int32_t u = op->closed_by.at[i];
    if (!timeline->ran[u]) continue;
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' after the update '%s'", position, name[v].name,
                     name[u].name);
  }
  if (p->has_fixed_order && !timeline->ran[v] && v > 0 && !timeline->ran[v - 1]) {
    return plim_fail(p->ctx, PLIM_EPLAN, "position %d runs '%s' for the first time before '%s'", position, name[v].name,
                     name[v - 1].name);
  }
  return PLIM_OK;
}

/* Inputs have their one lifetime from the first run on. */
static void begin_inputs(plim_timeline *timeline) {
  const plim_problem *p = timeline->problem;
  timeline->n_lifetimes = 0;
  for (int32_t i = 0; i < p->n_items; i++) {
    timeline->latest[i] = -1;
    if (p->item[i].producer >= 0) continue;
    timeline->latest[i] = timeline->n_lifetimes;
    timeline->own_lifetime[timeline->n_lifetimes++] = (plim_lifetime){.item = i, .begin = 0, .end = 1, .successor = -1};
  }
}

static plim_status walk_runs(plim_timeline *timeline, const plim_schedule *schedule) {
  const plim_problem *p = timeline->problem;
  memset(timeline->ran, 0, (size_t)p->n_ops * sizeof *timeline->ran);
  begin_inputs(timeline);
  timeline->time_ns = 0;
  for (int32_t j = 0; j < schedule->n; j++) {
    const plim_planned_op *op = &p->op[schedule->op[j]];
    PLIM_TRY(check_run(timeline, schedule->op[j], j));
    for (int32_t i = 0; i < op->reads.n; i++) timeline->own_lifetime[timeline->latest[op->reads.at[i]]].end = j + 1;
    for (int32_t i = 0; i < op->writes.n; i++) {
      timeline->latest[op->writes.at[i]] = timeline->n_lifetimes;
      timeline->own_lifetime[timeline->n_lifetimes++] =
          (plim_lifetime){.item = op->writes.at[i], .begin = j, .end = j + 1, .successor = -1};
    }
    timeline->ran[schedule->op[j]] = 1;
    timeline->time_ns += op->choice[schedule->choice[j]].time_ns;
  }
  for (int32_t v = 0; v < p->n_ops; v++) {
    if (!timeline->ran[v]) return plim_fail(p->ctx, PLIM_EPLAN, "op '%s' never runs", p->graph->op[v].name);
  }
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].is_output) timeline->own_lifetime[timeline->latest[i]].end = schedule->n;
  }
  return PLIM_OK;
}

/* At position j, where `op` begins the lifetimes from `made` on: they are written over inputs whose last reader it is.
 */
static void overwrite_inputs(plim_timeline *timeline, const plim_planned_op *op, int32_t j, int32_t made) {
  uint32_t chosen = 0; /* bit k: pair k is in use; at most PLIM_OP_MAX_PAIRS */
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    plim_lifetime *in = &timeline->own_lifetime[timeline->latest[w->in]];
    int taken = 0;
    for (int32_t i = 0; i < k; i++) taken |= (chosen >> i & 1U) && op->overwrite[i].out_index == w->out_index;
    if (taken || in->successor >= 0 || in->end != j + 1 || in->begin == j) continue;
    in->successor = made + w->out_index;
    in->pair = w->pair;
    chosen |= 1U << k;
  }
}

/* timeline->latest is built once more, so that each run sees the lifetimes that it reads. */
static void find_successors(plim_timeline *timeline, const plim_schedule *schedule) {
  const plim_problem *p = timeline->problem;
  int32_t made = 0;
  for (int32_t i = 0; i < p->n_items; i++) {
    if (p->item[i].producer < 0) timeline->latest[i] = made++;
  }
  for (int32_t j = 0; j < schedule->n; j++) {
    const plim_planned_op *op = &p->op[schedule->op[j]];
    overwrite_inputs(timeline, op, j, made);
    for (int32_t i = 0; i < op->writes.n; i++) timeline->latest[op->writes.at[i]] = made++;
  }
  for (int32_t c = 0; c < timeline->n_lifetimes; c++) {
    timeline->own_lifetime[c].end -= timeline->own_lifetime[c].successor >= 0;
  }
}

/* own_level first holds the change of live bytes at each position, then their sum. */
static void add_up(plim_timeline *timeline, const plim_schedule *schedule) {
  const plim_problem *p = timeline->problem;
  memset(timeline->own_level, 0, (size_t)(schedule->n + 1) * sizeof *timeline->own_level);
  for (int32_t c = 0; c < timeline->n_lifetimes; c++) {
    timeline->own_level[timeline->lifetime[c].begin] += p->item[timeline->lifetime[c].item].bytes;
    timeline->own_level[timeline->lifetime[c].end] -= p->item[timeline->lifetime[c].item].bytes;
  }
  int64_t alive = p->persistent_bytes;
  timeline->peak_bytes = alive;
  for (int32_t j = 0; j < schedule->n; j++) {
    alive += timeline->own_level[j];
    timeline->own_level[j] = alive + p->op[schedule->op[j]].choice[schedule->choice[j]].workspace_bytes;
    if (timeline->own_level[j] > timeline->peak_bytes) timeline->peak_bytes = timeline->own_level[j];
  }
}

plim_status plim_timeline_evaluate(plim_timeline *timeline, const plim_schedule *schedule) {
  PLIM_TRY(reserve(timeline, schedule));
  timeline->n_runs = schedule->n;
  PLIM_TRY(walk_runs(timeline, schedule));
  find_successors(timeline, schedule);
  add_up(timeline, schedule);
  return PLIM_OK;
}
