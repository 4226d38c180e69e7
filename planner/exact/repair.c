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

static void set_keep(plim_stage_schedule *stages, const drop *change, uint8_t value) {
  for (int32_t t = change->from + 1; t <= change->to; t++) {
    stages->keep[plim_stage_cell(stages->n, t, change->node)] = value;
  }
}

static double excess(const plim_stage_schedule *stages, int64_t limit) {
  double area = 0;
  for (int32_t j = 0; j < stages->n_positions; j++) {
    area += stages->level[j] > limit ? (double)(stages->level[j] - limit) : 0;
  }
  return area;
}

static int has_operand(const plim_dag *dag, int32_t node, int32_t operand) {
  const plim_ids *preds = &dag->node[node].preds;
  for (int32_t p = 0; p < preds->n; p++) {
    if (preds->at[p] == operand) return 1;
  }
  return 0;
}

/* Can the copy made at position j, alive at position `at`, be dropped across it? From the stage of the last touch
 * before to that of the next reader. */
static int find_drop(const plim_stage_schedule *stages, int32_t j, int32_t at, drop *out) {
  const plim_dag *dag = stages->dag;
  int32_t node = stages->node[j], before = j, next = -1;
  if (j >= at || stages->last[j] <= at || has_operand(dag, stages->node[at], node)) return 0;
  for (int32_t k = j + 1; k <= stages->last[j] && k < stages->n_positions && next < 0; k++) {
    if (!has_operand(dag, stages->node[k], node)) continue;
    if (k < at) before = k;
    if (k > at) next = k;
  }
  if (next < 0 || stages->stage[next] > dag->node[node].last_stage) return 0;
  *out = (drop){node, stages->stage[before], stages->stage[next]};
  return out->from < out->to;
}

/* The drops across the peak, largest copies first; how many. */
static int32_t list_drops(const plim_stage_schedule *stages, drop *out) {
  const plim_dag *dag = stages->dag;
  int32_t n = 0;
  for (int32_t j = 0; j < stages->peak_position; j++) {
    drop found;
    if (dag->node[stages->node[j]].bytes == 0 || !find_drop(stages, j, stages->peak_position, &found)) continue;
    int32_t at = n < PLIM_REPAIR_TRIALS ? n++ : PLIM_REPAIR_TRIALS;
    for (; at > 0 && dag->node[out[at - 1].node].bytes < dag->node[found.node].bytes; at--) {
      if (at < PLIM_REPAIR_TRIALS) out[at] = out[at - 1];
    }
    if (at < PLIM_REPAIR_TRIALS) out[at] = found;
  }
  return n;
}

/* The change tried out: what is kept is put back after it. */
static plim_status try_change(repairer *repair, const drop *d, uint8_t value) {
  plim_stage_schedule *stages = repair->stages;
  memcpy(repair->before, stages->keep, (size_t)stages->n * (size_t)stages->n);
  set_keep(stages, d, value);
  plim_status status = plim_stage_schedule_derive(stages);
  memcpy(stages->keep, repair->before, (size_t)stages->n * (size_t)stages->n);
  return status;
}

/* Asked before every change: one is O(n^2). */
static int is_out_of_time(const repairer *repair) {
  int late = repair->deadline_ns < PLIM_TIME_UNLIMITED && plim_now_ns() > repair->deadline_ns;
  return late || plim_effort_over(repair->stages->dag->ctx, PLIM_EFFORT_LOOK);
}

/* The drop that costs the least time for the excess it saves; -1: none saves any. */
static plim_status best_drop(repairer *repair, int32_t n, const drop *drops, int32_t *best) {
  const plim_stage_schedule *stages = repair->stages;
  double before = excess(stages, repair->limit), least = INFINITY;
  int64_t time = stages->time_ns;
  *best = -1;
  for (int32_t k = 0; k < n && !is_out_of_time(repair); k++) {
    PLIM_TRY(try_change(repair, &drops[k], 0));
    double saved = before - excess(stages, repair->limit);
    double price = saved > 0 ? ((double)(stages->time_ns - time) + 1) / saved : INFINITY;
    if (price >= least) continue;
    least = price;
    *best = k;
  }
  return PLIM_OK;
}

static plim_status lower_peak(repairer *repair) {
  plim_stage_schedule *stages = repair->stages;
  drop drops[PLIM_REPAIR_TRIALS];
  int32_t best = 0;
  while (stages->peak_bytes > repair->limit && best >= 0 && !is_out_of_time(repair)) {
    int32_t n = list_drops(stages, drops);
    PLIM_TRY(best_drop(repair, n, drops, &best));
    if (best >= 0) set_keep(stages, &drops[best], 0);
    PLIM_TRY(plim_stage_schedule_derive(stages));
    PLIM_TRY(plim_stage_schedule_prune(stages));
  }
  int stopped = stages->peak_bytes > repair->limit && plim_context_cancelled(stages->dag->ctx);
  return stopped ? plim_fail(stages->dag->ctx, PLIM_ECANCEL, "planning was cancelled") : PLIM_OK;
}

/* Keep the copy that position j recomputes, if that fits. */
static plim_status try_keep(repairer *repair, int32_t j) {
  plim_stage_schedule *stages = repair->stages;
  int32_t n = stages->n, node = stages->node[j];
  int32_t from = stages->stage[j] - 1;
  int64_t time = stages->time_ns;
  while (!stages->run[plim_stage_cell(n, from, node)] && !stages->keep[plim_stage_cell(n, from, node)]) from--;
  drop d = {stages->node[j], from, stages->stage[j]};
  PLIM_TRY(try_change(repair, &d, 1));
  if (stages->peak_bytes <= repair->limit && stages->time_ns < time) set_keep(stages, &d, 1);
  return plim_stage_schedule_derive(stages);
}

static plim_status shorten(repairer *repair) {
  plim_stage_schedule *stages = repair->stages;
  for (int32_t j = stages->n_positions - 1; j >= 0 && !is_out_of_time(repair); j--) {
    if (j >= stages->n_positions || stages->node[j] == stages->stage[j] ||
        stages->dag->node[stages->node[j]].time_ns == 0) {
      continue;
    }
    PLIM_TRY(try_keep(repair, j));
  }
  return PLIM_OK;
}

static plim_status drop_and_shorten(repairer *repair, int *fits) {
  plim_stage_schedule *stages = repair->stages;
  PLIM_TRY(plim_stage_schedule_prune(stages));
  PLIM_TRY(lower_peak(repair));
  if (stages->peak_bytes > repair->limit) return PLIM_OK;
  PLIM_TRY(shorten(repair));
  PLIM_TRY(plim_stage_schedule_prune(stages));
  *fits = stages->peak_bytes <= repair->limit;
  return PLIM_OK;
}

plim_status plim_stage_schedule_repair(plim_stage_schedule *stages, int64_t limit, int64_t deadline_ns, int *fits) {
  repairer repair = {.stages = stages, .limit = limit, .deadline_ns = deadline_ns};
  int64_t cells = (int64_t)stages->n * stages->n;
  *fits = 0;
  PLIM_TRY(plim_allocate(stages->dag->ctx, cells, 1, &repair.before));
  plim_status status = drop_and_shorten(&repair, fits);
  plim_release(stages->dag->ctx, repair.before, cells, 1);
  return status;
}
