/* Derives a stage schedule from what is kept between stages. Backwards through each stage, a run needs its operands;
 * those that are not kept run in the stage. Then live bytes: a copy is alive from its run to its last reader before the
 * next copy. */
#include "planner/exact/stage_model.h"

#include <string.h>

#include "planner/exact/dag.h"

plim_status plim_stage_schedule_new(const plim_dag *dag, plim_stage_schedule **out) {
  plim_context *ctx = dag->ctx;
  plim_stage_schedule *s = NULL;
  if (dag->n > PLIM_STAGE_SCHEDULE_MAX_NODES) {
    return plim_fail(ctx, PLIM_EUSAGE,
                     "planners milp and lp-round take graphs of at most %d ops, not %d; search takes any",
                     PLIM_STAGE_SCHEDULE_MAX_NODES, dag->n);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *s, &s));
  *s = (plim_stage_schedule){.dag = dag, .n = dag->n};
  int64_t cells = (int64_t)dag->n * dag->n;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, cells, 1, &s->keep));
  PLIM_CHECK(plim_allocate(ctx, cells, 1, &s->run));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *s->latest, &s->latest));
  *out = s;
done:
  if (status != PLIM_OK) plim_stage_schedule_free(s);
  return status;
}

static void release_positions(plim_stage_schedule *s) {
  plim_context *ctx = s->dag->ctx;
  plim_release(ctx, s->node, s->room_positions, sizeof *s->node);
  plim_release(ctx, s->stage, s->room_positions, sizeof *s->stage);
  plim_release(ctx, s->last, s->room_positions, sizeof *s->last);
  plim_release(ctx, s->level, s->room_positions, sizeof *s->level);
  s->node = s->stage = s->last = NULL;
  s->level = NULL;
}

void plim_stage_schedule_free(plim_stage_schedule *s) {
  if (!s) return;
  plim_context *ctx = s->dag->ctx;
  int64_t cells = (int64_t)s->n * s->n;
  release_positions(s);
  plim_release(ctx, s->keep, cells, 1);
  plim_release(ctx, s->run, cells, 1);
  plim_release(ctx, s->latest, s->n, sizeof *s->latest);
  plim_release(ctx, s, 1, sizeof *s);
}

static plim_status reserve_positions(plim_stage_schedule *s, int64_t n) {
  plim_context *ctx = s->dag->ctx;
  if (n <= s->room_positions) return PLIM_OK;
  release_positions(s);
  s->room_positions = n + n / 2;
  PLIM_TRY(plim_allocate(ctx, s->room_positions, sizeof *s->node, &s->node));
  PLIM_TRY(plim_allocate(ctx, s->room_positions, sizeof *s->stage, &s->stage));
  PLIM_TRY(plim_allocate(ctx, s->room_positions, sizeof *s->last, &s->last));
  return plim_allocate(ctx, s->room_positions, sizeof *s->level, &s->level);
}

/* Make node i available in stage t: by a run there, or kept since its last run where none is allowed any more. */
static void provide(plim_stage_schedule *s, int32_t t, int32_t i) {
  if (t <= s->dag->node[i].last_stage) {
    s->run[(size_t)t * (size_t)s->n + (size_t)i] = 1;
    return;
  }
  for (int32_t k = t; !s->run[(size_t)k * (size_t)s->n + (size_t)i]; k--) {
    s->keep[(size_t)k * (size_t)s->n + (size_t)i] = 1;
  }
}

/* What is kept from stage to stage is there at the end of the stage before. */
static void provide_kept(plim_stage_schedule *s) {
  size_t n = (size_t)s->n;
  for (int32_t t = 1; t < s->n; t++) {
    const uint8_t *keep = s->keep + (size_t)t * n, *before = keep - n;
    for (int32_t i = 0; i < t - 1; i++) {
      if (keep[i] && !before[i]) provide(s, t - 1, i);
    }
  }
}

static void provide_operands(plim_stage_schedule *s) {
  for (int32_t t = 0; t < s->n; t++) {
    const uint8_t *run = s->run + (size_t)t * (size_t)s->n, *keep = s->keep + (size_t)t * (size_t)s->n;
    for (int32_t k = t; k >= 0; k--) {
      if (!run[k]) continue;
      const plim_ids *preds = &s->dag->node[k].preds;
      for (int32_t p = 0; p < preds->n; p++) {
        if (!run[preds->at[p]] && !keep[preds->at[p]]) provide(s, t, preds->at[p]);
      }
    }
  }
}

static plim_status list_positions(plim_stage_schedule *s) {
  size_t n = (size_t)s->n;
  int64_t runs = 0;
  for (size_t i = 0; i < n * n; i++) runs += s->run[i];
  PLIM_TRY(reserve_positions(s, runs));
  s->n_positions = 0;
  s->time_ns = 0;
  for (int32_t t = 0; t < s->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      if (!s->run[(size_t)t * n + (size_t)i]) continue;
      s->node[s->n_positions] = i;
      s->stage[s->n_positions++] = t;
      s->time_ns += s->dag->node[i].time_ns;
    }
  }
  return PLIM_OK;
}

static void find_last_readers(plim_stage_schedule *s) {
  for (int32_t j = 0; j < s->n_positions; j++) {
    const plim_ids *preds = &s->dag->node[s->node[j]].preds;
    s->last[j] = j;
    for (int32_t p = 0; p < preds->n; p++) s->last[s->latest[preds->at[p]]] = j;
    s->latest[s->node[j]] = j;
  }
  for (int32_t v = 0; v < s->n; v++) {
    if (s->dag->node[v].is_output) s->last[s->latest[v]] = s->n_positions;
  }
}

static void add_up(plim_stage_schedule *s) {
  const plim_dag *d = s->dag;
  int64_t alive = d->base_bytes;
  memset(s->level, 0, (size_t)s->n_positions * sizeof *s->level);
  for (int32_t j = 0; j < s->n_positions; j++) {
    if (s->last[j] + 1 < s->n_positions) s->level[s->last[j] + 1] -= d->node[s->node[j]].bytes;
  }
  s->peak_bytes = 0;
  for (int32_t j = 0; j < s->n_positions; j++) {
    const plim_dag_node *node = &d->node[s->node[j]];
    alive += s->level[j] + node->bytes;
    s->level[j] = alive + node->workspace_bytes;
    if (s->level[j] <= s->peak_bytes) continue;
    s->peak_bytes = s->level[j];
    s->peak_position = j;
  }
}

plim_status plim_stage_schedule_derive(plim_stage_schedule *s) {
  size_t n = (size_t)s->n;
  memset(s->run, 0, n * n);
  for (size_t v = 0; v < n; v++) s->run[v * n + v] = 1;
  provide_kept(s);
  provide_operands(s);
  PLIM_TRY(list_positions(s));
  find_last_readers(s);
  add_up(s);
  return PLIM_OK;
}

/* What has to be kept while a sequence is walked. made [n]: the stage of the latest run of each node. */
static void keep_copy(plim_stage_schedule *s, int32_t node, int32_t t, const int32_t *made) {
  for (int32_t k = t; k > made[node]; k--) s->keep[(size_t)k * (size_t)s->n + (size_t)node] = 1;
}

static void begin_walk(plim_stage_schedule *s, int32_t *made) {
  memset(s->keep, 0, (size_t)s->n * (size_t)s->n);
  for (int32_t v = 0; v < s->n; v++) made[v] = v;
}

static void walk_position(plim_stage_schedule *s, int32_t node, int32_t t, int32_t *made) {
  const plim_ids *preds = &s->dag->node[node].preds;
  for (int32_t p = 0; p < preds->n; p++) keep_copy(s, preds->at[p], t, made);
  made[node] = t;
}

static void end_walk(plim_stage_schedule *s, const int32_t *made) {
  for (int32_t v = 0; v < s->n; v++) {
    if (s->dag->node[v].is_output) keep_copy(s, v, s->n - 1, made);
  }
}

plim_status plim_stage_schedule_project(plim_stage_schedule *s, const plim_schedule *schedule) {
  int32_t t = s->dag->n_inputs;
  begin_walk(s, s->latest);
  for (int32_t j = 0; j < schedule->n; j++) {
    int32_t node = s->dag->n_inputs + schedule->op[j];
    walk_position(s, node, t, s->latest);
    t += node == t;
  }
  end_walk(s, s->latest);
  return plim_stage_schedule_derive(s);
}

plim_status plim_stage_schedule_prune(plim_stage_schedule *s) {
  int32_t before;
  do { /* runs that fall away leave others without a reader */
    before = s->n_positions;
    begin_walk(s, s->latest);
    for (int32_t j = 0; j < s->n_positions; j++) walk_position(s, s->node[j], s->stage[j], s->latest);
    end_walk(s, s->latest);
    PLIM_TRY(plim_stage_schedule_derive(s));
  } while (s->n_positions < before);
  return PLIM_OK;
}
