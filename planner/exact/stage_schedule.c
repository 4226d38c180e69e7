/* Derives a stage schedule from what is kept between stages. Backwards through each stage, a run needs its operands;
 * those that are not kept run in the stage. Then live bytes: a copy is alive from its run to its last reader before the
 * next copy. */
#include "planner/exact/stage_model.h"

#include <string.h>

#include "planner/exact/dag.h"

plim_status plim_stage_schedule_new(const plim_dag *dag, plim_stage_schedule **out) {
  plim_context *ctx = dag->ctx;
  plim_stage_schedule *stages = NULL;
  if (dag->n > PLIM_STAGE_SCHEDULE_MAX_NODES) {
    return plim_fail(ctx, PLIM_EUSAGE,
                     "planners milp and lp-round take graphs of at most %d ops, not %d; search takes any",
                     PLIM_STAGE_SCHEDULE_MAX_NODES, dag->n);
  }
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *stages, &stages));
  *stages = (plim_stage_schedule){.dag = dag, .n = dag->n};
  int64_t cells = (int64_t)dag->n * dag->n;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, 1, &stages->keep));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, cells, 1, &stages->run));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, dag->n, sizeof *stages->latest, &stages->latest));
  *out = stages;
done:
  if (status != PLIM_OK) plim_stage_schedule_free(stages);
  return status;
}

static void release_positions(plim_stage_schedule *stages) {
  plim_context *ctx = stages->dag->ctx;
  plim_release(ctx, stages->node, stages->position_capacity, sizeof *stages->node);
  plim_release(ctx, stages->stage, stages->position_capacity, sizeof *stages->stage);
  plim_release(ctx, stages->last, stages->position_capacity, sizeof *stages->last);
  plim_release(ctx, stages->level, stages->position_capacity, sizeof *stages->level);
  stages->node = stages->stage = stages->last = NULL;
  stages->level = NULL;
}

void plim_stage_schedule_free(plim_stage_schedule *stages) {
  if (!stages) return;
  plim_context *ctx = stages->dag->ctx;
  int64_t cells = (int64_t)stages->n * stages->n;
  release_positions(stages);
  plim_release(ctx, stages->keep, cells, 1);
  plim_release(ctx, stages->run, cells, 1);
  plim_release(ctx, stages->latest, stages->n, sizeof *stages->latest);
  plim_release(ctx, stages, 1, sizeof *stages);
}

static plim_status reserve_positions(plim_stage_schedule *stages, int64_t n) {
  plim_context *ctx = stages->dag->ctx;
  if (n <= stages->position_capacity) return PLIM_OK;
  release_positions(stages);
  stages->position_capacity = n + n / 2;
  PLIM_TRY(plim_allocate(ctx, stages->position_capacity, sizeof *stages->node, &stages->node));
  PLIM_TRY(plim_allocate(ctx, stages->position_capacity, sizeof *stages->stage, &stages->stage));
  PLIM_TRY(plim_allocate(ctx, stages->position_capacity, sizeof *stages->last, &stages->last));
  return plim_allocate(ctx, stages->position_capacity, sizeof *stages->level, &stages->level);
}

/* Make node i available in stage t: by a run there, or kept since its last run where none is allowed any more. */
static void provide_node(plim_stage_schedule *stages, int32_t t, int32_t i) {
  if (t <= stages->dag->node[i].last_stage) {
    stages->run[plim_stage_cell(stages->n, t, i)] = 1;
    return;
  }
  for (int32_t k = t; !stages->run[plim_stage_cell(stages->n, k, i)]; k--) {
    stages->keep[plim_stage_cell(stages->n, k, i)] = 1;
  }
}

/* What is kept from stage to stage is there at the end of the stage before. */
static void provide_kept(plim_stage_schedule *stages) {
  for (int32_t t = 1; t < stages->n; t++) {
    const uint8_t *keep = stages->keep + plim_stage_cell(stages->n, t, 0), *before = keep - stages->n;
    for (int32_t i = 0; i < t - 1; i++) {
      if (keep[i] && !before[i]) provide_node(stages, t - 1, i);
    }
  }
}

static void provide_operands(plim_stage_schedule *stages) {
  for (int32_t t = 0; t < stages->n; t++) {
    const uint8_t *run = stages->run + plim_stage_cell(stages->n, t, 0);
    const uint8_t *keep = stages->keep + plim_stage_cell(stages->n, t, 0);
    for (int32_t k = t; k >= 0; k--) {
      if (!run[k]) continue;
      const plim_ids *preds = &stages->dag->node[k].preds;
      for (int32_t p = 0; p < preds->n; p++) {
        if (!run[preds->at[p]] && !keep[preds->at[p]]) provide_node(stages, t, preds->at[p]);
      }
    }
  }
}

static plim_status list_positions(plim_stage_schedule *stages) {
  size_t n = (size_t)stages->n;
  int64_t runs = 0;
  for (size_t i = 0; i < n * n; i++) runs += stages->run[i];
  PLIM_TRY(reserve_positions(stages, runs));
  stages->n_positions = 0;
  stages->time_ns = 0;
  for (int32_t t = 0; t < stages->n; t++) {
    for (int32_t i = 0; i <= t; i++) {
      if (!stages->run[plim_stage_cell(stages->n, t, i)]) continue;
      stages->node[stages->n_positions] = i;
      stages->stage[stages->n_positions++] = t;
      stages->time_ns += stages->dag->node[i].time_ns;
    }
  }
  return PLIM_OK;
}

static void find_last_readers(plim_stage_schedule *stages) {
  for (int32_t j = 0; j < stages->n_positions; j++) {
    const plim_ids *preds = &stages->dag->node[stages->node[j]].preds;
    stages->last[j] = j;
    for (int32_t p = 0; p < preds->n; p++) stages->last[stages->latest[preds->at[p]]] = j;
    stages->latest[stages->node[j]] = j;
  }
  for (int32_t v = 0; v < stages->n; v++) {
    if (stages->dag->node[v].is_output) stages->last[stages->latest[v]] = stages->n_positions;
  }
}

static void add_up(plim_stage_schedule *stages) {
  const plim_dag *dag = stages->dag;
  int64_t alive = dag->base_bytes;
  memset(stages->level, 0, (size_t)stages->n_positions * sizeof *stages->level);
  for (int32_t j = 0; j < stages->n_positions; j++) {
    if (stages->last[j] + 1 < stages->n_positions) {
      stages->level[stages->last[j] + 1] -= dag->node[stages->node[j]].bytes;
    }
  }
  stages->peak_bytes = 0;
  for (int32_t j = 0; j < stages->n_positions; j++) {
    const plim_dag_node *node = &dag->node[stages->node[j]];
    alive += stages->level[j] + node->bytes;
    stages->level[j] = alive + node->workspace_bytes;
    if (stages->level[j] <= stages->peak_bytes) continue;
    stages->peak_bytes = stages->level[j];
    stages->peak_position = j;
  }
}

plim_status plim_stage_schedule_derive(plim_stage_schedule *stages) {
  size_t n = (size_t)stages->n;
  memset(stages->run, 0, n * n);
  for (size_t v = 0; v < n; v++) stages->run[v * n + v] = 1;
  provide_kept(stages);
  provide_operands(stages);
  PLIM_TRY(list_positions(stages));
  find_last_readers(stages);
  add_up(stages);
  return PLIM_OK;
}

/* What has to be kept while a sequence is walked. made [n]: the stage of the latest run of each node. */
static void keep_copy(plim_stage_schedule *stages, int32_t node, int32_t t, const int32_t *made) {
  for (int32_t k = t; k > made[node]; k--) stages->keep[plim_stage_cell(stages->n, k, node)] = 1;
}

static void begin_walk(plim_stage_schedule *stages, int32_t *made) {
  memset(stages->keep, 0, (size_t)stages->n * (size_t)stages->n);
  for (int32_t v = 0; v < stages->n; v++) made[v] = v;
}

static void walk_position(plim_stage_schedule *stages, int32_t node, int32_t t, int32_t *made) {
  const plim_ids *preds = &stages->dag->node[node].preds;
  for (int32_t p = 0; p < preds->n; p++) keep_copy(stages, preds->at[p], t, made);
  made[node] = t;
}

static void end_walk(plim_stage_schedule *stages, const int32_t *made) {
  for (int32_t v = 0; v < stages->n; v++) {
    if (stages->dag->node[v].is_output) keep_copy(stages, v, stages->n - 1, made);
  }
}

plim_status plim_stage_schedule_project(plim_stage_schedule *stages, const plim_schedule *schedule) {
  int32_t t = stages->dag->n_inputs;
  begin_walk(stages, stages->latest);
  for (int32_t j = 0; j < schedule->n; j++) {
    int32_t node = stages->dag->n_inputs + schedule->op[j];
    walk_position(stages, node, t, stages->latest);
    t += node == t;
  }
  end_walk(stages, stages->latest);
  return plim_stage_schedule_derive(stages);
}

plim_status plim_stage_schedule_prune(plim_stage_schedule *stages) {
  int32_t before;
  do { /* runs that fall away leave others without a reader */
    before = stages->n_positions;
    begin_walk(stages, stages->latest);
    for (int32_t j = 0; j < stages->n_positions; j++) {
      walk_position(stages, stages->node[j], stages->stage[j], stages->latest);
    }
    end_walk(stages, stages->latest);
    PLIM_TRY(plim_stage_schedule_derive(stages));
  } while (stages->n_positions < before);
  return PLIM_OK;
}
