/* Brings a stage schedule within a limit by greedy changes of what is kept. A change concerns an interval of stages of
 * one node: its copy is evicted after its last reader before a position and recomputed in the stage of its next reader,
 * or kept. Each change of a round is tried and undone; the best is made. O(n^2) a trial. */
#include "planner/exact/stage_model.h"

#include <math.h>
#include <string.h>

#include "planner/exact/dag.h"
#include "planner/exact/exact_tuning.h"
#include "runtime/base/effort.h"

typedef struct repairer {
  plim_stage_schedule *stages;
  int64_t limit, deadline_ns;
  uint8_t *before; /* [n][n] what was kept before the change being tried */
} repairer;

typedef struct drop {
  int32_t node, from, to; /* stages (from, to] in which it is kept no more */
} drop;

static void set_keep(plim_stage_schedule *s, const drop *d, uint8_t value) {
  for (int32_t t = d->from + 1; t <= d->to; t++) s->keep[(size_t)t * (size_t)s->n + (size_t)d->node] = value;
}

static double excess(const plim_stage_schedule *s, int64_t limit) {
  double area = 0;
  for (int32_t j = 0; j < s->n_positions; j++) area += s->level[j] > limit ? (double)(s->level[j] - limit) : 0;
  return area;
}

static int reads(const plim_dag *d, int32_t node, int32_t operand) {
  const plim_ids *preds = &d->node[node].preds;
  for (int32_t p = 0; p < preds->n; p++) {
    if (preds->at[p] == operand) return 1;
  }
  return 0;
}

/* Can the copy made at position j, alive at position `at`, be dropped across it? From the stage of the last touch
 * before to that of the next reader. */
static int find_drop(const plim_stage_schedule *s, int32_t j, int32_t at, drop *out) {
  const plim_dag *d = s->dag;
  int32_t node = s->node[j], before = j, next = -1;
  if (j >= at || s->last[j] <= at || reads(d, s->node[at], node)) return 0;
  for (int32_t k = j + 1; k <= s->last[j] && k < s->n_positions && next < 0; k++) {
    if (!reads(d, s->node[k], node)) continue;
    if (k < at) before = k;
    if (k > at) next = k;
  }
  if (next < 0 || s->stage[next] > d->node[node].last_stage) return 0;
  *out = (drop){node, s->stage[before], s->stage[next]};
  return out->from < out->to;
}

/* The drops across the peak, largest copies first; how many. */
static int32_t list_drops(const plim_stage_schedule *s, drop *out) {
  const plim_dag *d = s->dag;
  int32_t n = 0;
  for (int32_t j = 0; j < s->peak_position; j++) {
    drop found;
    if (d->node[s->node[j]].bytes == 0 || !find_drop(s, j, s->peak_position, &found)) continue;
    int32_t at = n < PLIM_REPAIR_TRIALS ? n++ : PLIM_REPAIR_TRIALS;
    for (; at > 0 && d->node[out[at - 1].node].bytes < d->node[found.node].bytes; at--) {
      if (at < PLIM_REPAIR_TRIALS) out[at] = out[at - 1];
    }
    if (at < PLIM_REPAIR_TRIALS) out[at] = found;
  }
  return n;
}

/* The change tried out: what is kept is put back after it. */
static plim_status try_change(repairer *r, const drop *d, uint8_t value) {
  plim_stage_schedule *s = r->stages;
  memcpy(r->before, s->keep, (size_t)s->n * (size_t)s->n);
  set_keep(s, d, value);
  plim_status status = plim_stage_schedule_derive(s);
  memcpy(s->keep, r->before, (size_t)s->n * (size_t)s->n);
  return status;
}

/* Asked before every change: one is O(n^2). */
static int is_out_of_time(const repairer *r) {
  int late = r->deadline_ns < INT64_MAX && plim_now_ns() > r->deadline_ns;
  return late || plim_effort_over(r->stages->dag->ctx, PLIM_EFFORT_LOOK);
}

/* The drop that costs the least time for the excess it saves; -1: none saves any. */
static plim_status best_drop(repairer *r, int32_t n, const drop *drops, int32_t *best) {
  const plim_stage_schedule *s = r->stages;
  double before = excess(s, r->limit), least = INFINITY;
  int64_t time = s->time_ns;
  *best = -1;
  for (int32_t k = 0; k < n && !is_out_of_time(r); k++) {
    PLIM_TRY(try_change(r, &drops[k], 0));
    double saved = before - excess(s, r->limit);
    double price = saved > 0 ? ((double)(s->time_ns - time) + 1) / saved : INFINITY;
    if (price >= least) continue;
    least = price;
    *best = k;
  }
  return PLIM_OK;
}

static plim_status lower_peak(repairer *r) {
  plim_stage_schedule *s = r->stages;
  drop drops[PLIM_REPAIR_TRIALS];
  int32_t best = 0;
  while (s->peak_bytes > r->limit && best >= 0 && !is_out_of_time(r)) {
    int32_t n = list_drops(s, drops);
    PLIM_TRY(best_drop(r, n, drops, &best));
    if (best >= 0) set_keep(s, &drops[best], 0);
    PLIM_TRY(plim_stage_schedule_derive(s));
    PLIM_TRY(plim_stage_schedule_prune(s));
  }
  int stopped = s->peak_bytes > r->limit && plim_context_cancelled(s->dag->ctx);
  return stopped ? plim_fail(s->dag->ctx, PLIM_ECANCEL, "planning was cancelled") : PLIM_OK;
}

/* Keep the copy that position j recomputes, if that fits. */
static plim_status try_keep(repairer *r, int32_t j) {
  plim_stage_schedule *s = r->stages;
  size_t n = (size_t)s->n, node = (size_t)s->node[j];
  int32_t from = s->stage[j] - 1;
  int64_t time = s->time_ns;
  while (!s->run[(size_t)from * n + node] && !s->keep[(size_t)from * n + node]) from--;
  drop d = {s->node[j], from, s->stage[j]};
  PLIM_TRY(try_change(r, &d, 1));
  if (s->peak_bytes <= r->limit && s->time_ns < time) set_keep(s, &d, 1);
  return plim_stage_schedule_derive(s);
}

static plim_status shorten(repairer *r) {
  plim_stage_schedule *s = r->stages;
  for (int32_t j = s->n_positions - 1; j >= 0 && !is_out_of_time(r); j--) {
    if (j >= s->n_positions || s->node[j] == s->stage[j] || s->dag->node[s->node[j]].time_ns == 0) continue;
    PLIM_TRY(try_keep(r, j));
  }
  return PLIM_OK;
}

static plim_status drop_and_shorten(repairer *r, int32_t *fits) {
  plim_stage_schedule *s = r->stages;
  PLIM_TRY(plim_stage_schedule_prune(s));
  PLIM_TRY(lower_peak(r));
  if (s->peak_bytes > r->limit) return PLIM_OK;
  PLIM_TRY(shorten(r));
  PLIM_TRY(plim_stage_schedule_prune(s));
  *fits = s->peak_bytes <= r->limit;
  return PLIM_OK;
}

plim_status plim_stage_schedule_repair(plim_stage_schedule *s, int64_t limit, int64_t deadline_ns, int32_t *fits) {
  repairer r = {.stages = s, .limit = limit, .deadline_ns = deadline_ns};
  int64_t cells = (int64_t)s->n * s->n;
  *fits = 0;
  PLIM_TRY(plim_allocate(s->dag->ctx, cells, 1, &r.before));
  plim_status status = drop_and_shorten(&r, fits);
  plim_release(s->dag->ctx, r.before, cells, 1);
  return status;
}
