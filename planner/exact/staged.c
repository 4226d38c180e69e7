/* Sets of repeats: insertion, evaluation, and the way to and from schedules of the problem.
 *
 * Evaluation runs the stages one after the other: the repeats of a stage in order of their nodes, then its first run. A
 * run moves the ends of what it reads. A second pass adds up live bytes, which gives the peak. */
#include "planner/exact/staged.h"

#include <stdlib.h>
#include <string.h>

#include "planner/exact/dag.h"
#include "runtime/base/array.h"

void plim_repeats_free(plim_repeats *repeats) {
  if (!repeats->ctx) return;
  plim_release(repeats->ctx, repeats->at, repeats->capacity, sizeof *repeats->at);
  *repeats = (plim_repeats){.ctx = repeats->ctx};
}

static int comes_before(plim_repeat a, plim_repeat b) {
  return a.stage != b.stage ? a.stage < b.stage : a.node < b.node;
}

/* Index of the first that does not come before it. */
static int32_t place_of(const plim_repeats *repeats, plim_repeat repeat) {
  int32_t low = 0, high = repeats->n;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (comes_before(repeats->at[middle], repeat)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static plim_status reserve(plim_repeats *repeats, int32_t n) {
  return plim_array_reserve(repeats->ctx, &repeats->at, &repeats->capacity, n, sizeof *repeats->at);
}

plim_status plim_repeats_add(plim_repeats *repeats, plim_repeat repeat) {
  PLIM_TRY(reserve(repeats, repeats->n + 1));
  int32_t i = place_of(repeats, repeat);
  memmove(repeats->at + i + 1, repeats->at + i, (size_t)(repeats->n - i) * sizeof *repeats->at);
  repeats->at[i] = repeat;
  repeats->n++;
  return PLIM_OK;
}

plim_status plim_repeats_copy(plim_repeats *to, const plim_repeats *from) {
  PLIM_TRY(reserve(to, from->n));
  if (from->n > 0) memcpy(to->at, from->at, (size_t)from->n * sizeof *to->at);
  to->n = from->n;
  return PLIM_OK;
}

/* ---- evaluation ---- */

plim_status plim_staged_make(const plim_dag *dag, plim_staged *out) {
  *out = (plim_staged){.dag = dag};
  PLIM_TRY(plim_allocate(dag->ctx, dag->n, sizeof *out->latest, &out->latest));
  plim_status status = plim_allocate(dag->ctx, dag->n, sizeof *out->first, &out->first);
  if (status != PLIM_OK) plim_staged_free(out);
  return status;
}

void plim_staged_free(plim_staged *staged) {
  if (!staged->dag) return;
  plim_context *ctx = staged->dag->ctx;
  plim_release(ctx, staged->node, staged->capacity, sizeof *staged->node);
  plim_release(ctx, staged->stage, staged->capacity, sizeof *staged->stage);
  plim_release(ctx, staged->last, staged->capacity, sizeof *staged->last);
  plim_release(ctx, staged->next, staged->capacity, sizeof *staged->next);
  plim_release(ctx, staged->level, staged->capacity, sizeof *staged->level);
  plim_release(ctx, staged->first, staged->dag->n, sizeof *staged->first);
  plim_release(ctx, staged->latest, staged->dag->n, sizeof *staged->latest);
  *staged = (plim_staged){0};
}

static plim_status grow(plim_staged *staged, int32_t positions) {
  plim_context *ctx = staged->dag->ctx;
  if (positions <= staged->capacity) return PLIM_OK;
  int32_t capacity = positions + positions / 2;
  int64_t *level = NULL;
  int32_t *at[4] = {NULL, NULL, NULL, NULL};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity, sizeof *level, &level));
  for (int i = 0; i < 4; i++) PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity, sizeof *at[i], &at[i]));
  plim_release(ctx, staged->node, staged->capacity, sizeof *staged->node);
  plim_release(ctx, staged->stage, staged->capacity, sizeof *staged->stage);
  plim_release(ctx, staged->last, staged->capacity, sizeof *staged->last);
  plim_release(ctx, staged->next, staged->capacity, sizeof *staged->next);
  plim_release(ctx, staged->level, staged->capacity, sizeof *staged->level);
  staged->node = at[0];
  staged->stage = at[1];
  staged->last = at[2];
  staged->next = at[3];
  staged->level = level;
  staged->capacity = capacity;
  return PLIM_OK;
done:
  plim_release(ctx, level, capacity, sizeof *level);
  for (int i = 0; i < 4; i++) plim_release(ctx, at[i], capacity, sizeof *at[i]);
  return status;
}

static void run_node(plim_staged *staged, int32_t stage, int32_t v) {
  const plim_dag_node *node = &staged->dag->node[v];
  int32_t j = staged->n++;
  staged->node[j] = v;
  staged->stage[j] = stage;
  staged->last[j] = j;
  staged->next[j] = -1;
  if (staged->latest[v] < 0) {
    staged->first[v] = j;
  } else {
    staged->next[staged->latest[v]] = j;
  }
  for (int32_t i = 0; i < node->preds.n; i++) staged->last[staged->latest[node->preds.at[i]]] = j;
  staged->latest[v] = j;
  staged->time_ns += node->time_ns;
}

static void add_levels(plim_staged *staged) {
  const plim_dag *dag = staged->dag;
  int64_t alive = dag->base_bytes;
  staged->peak_bytes = 0;
  memset(staged->level, 0, (size_t)staged->n * sizeof *staged->level);
  for (int32_t j = 0; j < staged->n; j++) { /* level[j]: what ends at position j, until it is reached */
    int64_t bytes = dag->node[staged->node[j]].bytes;
    staged->level[staged->last[j]] += bytes;
    alive += bytes;
    int64_t ends = staged->level[j];
    staged->level[j] = alive + dag->node[staged->node[j]].workspace_bytes;
    alive -= ends;
    if (staged->level[j] > staged->peak_bytes) staged->peak_bytes = staged->level[j];
  }
}

plim_status plim_staged_evaluate(plim_staged *staged, const plim_repeats *repeats) {
  const plim_dag *dag = staged->dag;
  int32_t next = 0;
  PLIM_TRY(grow(staged, dag->n + repeats->n));
  for (int32_t v = 0; v < dag->n; v++) staged->latest[v] = -1;
  staged->n = 0;
  staged->time_ns = 0;
  for (int32_t stage = 0; stage < dag->n; stage++) {
    for (; next < repeats->n && repeats->at[next].stage == stage; next++) {
      run_node(staged, stage, repeats->at[next].node);
    }
    run_node(staged, stage, stage);
  }
  for (int32_t v = 0; v < dag->n; v++) {
    if (dag->node[v].is_output) staged->last[staged->latest[v]] = staged->n - 1;
  }
  add_levels(staged);
  return PLIM_OK;
}

/* ---- schedules of the problem ---- */

plim_status plim_staged_schedule(const plim_staged *staged, plim_schedule *out) {
  return plim_dag_schedule(staged->dag, staged->n, staged->node, out);
}

static int compare_repeats(const void *a, const void *b) {
  const plim_repeat *x = a, *y = b;
  return comes_before(*x, *y) ? -1 : comes_before(*y, *x);
}

/* All repeats of the schedule in its order, of a node that a stage runs twice only one. mark [nodes] is 0. */
static plim_status list_repeats(const plim_dag *dag, const plim_schedule *schedule, int32_t *mark, plim_repeats *out) {
  int32_t next = dag->n_inputs; /* the stage: its node has not run yet */
  for (int32_t j = 0; j < schedule->n; j++) {
    plim_repeat repeat = {next, dag->n_inputs + schedule->op[j]};
    if (repeat.node == next) {
      next++;
      continue;
    }
    if (next == dag->n) break; /* after the last first run there is nothing to recompute for */
    if (mark[repeat.node] == next + 1) continue;
    mark[repeat.node] = next + 1;
    PLIM_TRY(reserve(out, out->n + 1));
    out->at[out->n++] = repeat;
  }
  return PLIM_OK;
}

/* Of every node only the latest `max_repeats` repeats. count [nodes] is 0. */
static void keep_latest(plim_repeats *repeats, int32_t max_repeats, int32_t *count) {
  int32_t first = repeats->n;
  for (int32_t i = repeats->n - 1; i >= 0; i--) {
    if (count[repeats->at[i].node]++ < max_repeats) repeats->at[--first] = repeats->at[i];
  }
  repeats->n -= first;
  memmove(repeats->at, repeats->at + first, (size_t)repeats->n * sizeof *repeats->at);
}

plim_status plim_repeats_from_schedule(const plim_dag *dag, const plim_schedule *schedule, int32_t copies,
                                       plim_repeats *out) {
  int32_t *of_node = NULL;
  out->n = 0;
  if (copies < 2) return PLIM_OK;
  PLIM_TRY(plim_allocate(dag->ctx, dag->n, sizeof *of_node, &of_node));
  plim_status status = list_repeats(dag, schedule, of_node, out);
  if (status == PLIM_OK && out->n > 0) {
    memset(of_node, 0, (size_t)dag->n * sizeof *of_node);
    keep_latest(out, copies - 1, of_node);
    qsort(out->at, (size_t)out->n, sizeof *out->at, compare_repeats);
  }
  plim_release(dag->ctx, of_node, dag->n, sizeof *of_node);
  return status;
}
