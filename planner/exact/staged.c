/* Sets of repeats: insertion, evaluation, and the way to and from schedules of the problem.
 *
 * Evaluation runs the stages one after the other: the repeats of a stage in order of their nodes, then its first run. A
 * run moves the ends of what it reads. A second pass adds up live bytes, which gives the peak. */
#include "planner/exact/staged.h"

#include <stdlib.h>
#include <string.h>

#include "planner/exact/dag.h"

void plim_repeats_free(plim_repeats *r) {
  if (!r->ctx) return;
  plim_release(r->ctx, r->at, r->room, sizeof *r->at);
  *r = (plim_repeats){.ctx = r->ctx};
}

static int comes_before(plim_repeat a, plim_repeat b) {
  return a.stage != b.stage ? a.stage < b.stage : a.node < b.node;
}

/* Index of the first that does not come before it. */
static int32_t place_of(const plim_repeats *r, plim_repeat repeat) {
  int32_t low = 0, high = r->n;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (comes_before(r->at[middle], repeat)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static plim_status reserve(plim_repeats *r, int32_t room) {
  if (room <= r->room) return PLIM_OK;
  room += room / 2 + 16;
  PLIM_TRY(plim_resize_array(r->ctx, &r->at, r->room, room, sizeof *r->at));
  r->room = room;
  return PLIM_OK;
}

plim_status plim_repeats_add(plim_repeats *r, plim_repeat repeat) {
  PLIM_TRY(reserve(r, r->n + 1));
  int32_t i = place_of(r, repeat);
  memmove(r->at + i + 1, r->at + i, (size_t)(r->n - i) * sizeof *r->at);
  r->at[i] = repeat;
  r->n++;
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

void plim_staged_free(plim_staged *s) {
  if (!s->dag) return;
  plim_context *ctx = s->dag->ctx;
  plim_release(ctx, s->node, s->room, sizeof *s->node);
  plim_release(ctx, s->stage, s->room, sizeof *s->stage);
  plim_release(ctx, s->last, s->room, sizeof *s->last);
  plim_release(ctx, s->next, s->room, sizeof *s->next);
  plim_release(ctx, s->level, s->room, sizeof *s->level);
  plim_release(ctx, s->first, s->dag->n, sizeof *s->first);
  plim_release(ctx, s->latest, s->dag->n, sizeof *s->latest);
  *s = (plim_staged){0};
}

static plim_status grow(plim_staged *s, int32_t positions) {
  plim_context *ctx = s->dag->ctx;
  if (positions <= s->room) return PLIM_OK;
  int32_t room = positions + positions / 2;
  int64_t *level = NULL;
  int32_t *at[4] = {NULL, NULL, NULL, NULL};
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *level, &level));
  for (int i = 0; i < 4; i++) PLIM_CHECK(plim_allocate(ctx, room, sizeof *at[i], &at[i]));
  plim_release(ctx, s->node, s->room, sizeof *s->node);
  plim_release(ctx, s->stage, s->room, sizeof *s->stage);
  plim_release(ctx, s->last, s->room, sizeof *s->last);
  plim_release(ctx, s->next, s->room, sizeof *s->next);
  plim_release(ctx, s->level, s->room, sizeof *s->level);
  s->node = at[0];
  s->stage = at[1];
  s->last = at[2];
  s->next = at[3];
  s->level = level;
  s->room = room;
  return PLIM_OK;
done:
  plim_release(ctx, level, room, sizeof *level);
  for (int i = 0; i < 4; i++) plim_release(ctx, at[i], room, sizeof *at[i]);
  return status;
}

static void run_node(plim_staged *s, int32_t stage, int32_t v) {
  const plim_dag_node *node = &s->dag->node[v];
  int32_t j = s->n++;
  s->node[j] = v;
  s->stage[j] = stage;
  s->last[j] = j;
  s->next[j] = -1;
  if (s->latest[v] < 0) {
    s->first[v] = j;
  } else {
    s->next[s->latest[v]] = j;
  }
  for (int32_t i = 0; i < node->preds.n; i++) s->last[s->latest[node->preds.at[i]]] = j;
  s->latest[v] = j;
  s->time_ns += node->time_ns;
}

static void add_levels(plim_staged *s) {
  const plim_dag *d = s->dag;
  int64_t alive = d->base_bytes;
  s->peak_bytes = 0;
  memset(s->level, 0, (size_t)s->n * sizeof *s->level);
  for (int32_t j = 0; j < s->n; j++) { /* level[j]: what ends at position j, until it is reached */
    int64_t bytes = d->node[s->node[j]].bytes;
    s->level[s->last[j]] += bytes;
    alive += bytes;
    int64_t ends = s->level[j];
    s->level[j] = alive + d->node[s->node[j]].workspace_bytes;
    alive -= ends;
    if (s->level[j] > s->peak_bytes) s->peak_bytes = s->level[j];
  }
}

plim_status plim_staged_evaluate(plim_staged *s, const plim_repeats *r) {
  const plim_dag *d = s->dag;
  int32_t next = 0;
  PLIM_TRY(grow(s, d->n + r->n));
  for (int32_t v = 0; v < d->n; v++) s->latest[v] = -1;
  s->n = 0;
  s->time_ns = 0;
  for (int32_t stage = 0; stage < d->n; stage++) {
    for (; next < r->n && r->at[next].stage == stage; next++) run_node(s, stage, r->at[next].node);
    run_node(s, stage, stage);
  }
  for (int32_t v = 0; v < d->n; v++) {
    if (d->node[v].is_output) s->last[s->latest[v]] = s->n - 1;
  }
  add_levels(s);
  return PLIM_OK;
}

/* ---- schedules of the problem ---- */

plim_status plim_staged_schedule(const plim_staged *s, plim_schedule *out) {
  return plim_dag_schedule(s->dag, s->n, s->node, out);
}

static int compare_repeats(const void *a, const void *b) {
  const plim_repeat *x = a, *y = b;
  return comes_before(*x, *y) ? -1 : comes_before(*y, *x);
}

/* All repeats of the schedule in its order, of a node that a stage runs twice only one. mark [nodes] is 0. */
static plim_status gather(const plim_dag *d, const plim_schedule *schedule, int32_t *mark, plim_repeats *out) {
  int32_t next = d->n_inputs; /* the stage: its node has not run yet */
  for (int32_t j = 0; j < schedule->n; j++) {
    plim_repeat repeat = {next, d->n_inputs + schedule->op[j]};
    if (repeat.node == next) {
      next++;
      continue;
    }
    if (next == d->n) break; /* after the last first run there is nothing to recompute for */
    if (mark[repeat.node] == next + 1) continue;
    mark[repeat.node] = next + 1;
    PLIM_TRY(reserve(out, out->n + 1));
    out->at[out->n++] = repeat;
  }
  return PLIM_OK;
}

/* Of every node only the latest `max_repeats` repeats. count [nodes] is 0. */
static void keep_latest(plim_repeats *r, int32_t max_repeats, int32_t *count) {
  int32_t first = r->n;
  for (int32_t i = r->n - 1; i >= 0; i--) {
    if (count[r->at[i].node]++ < max_repeats) r->at[--first] = r->at[i];
  }
  r->n -= first;
  memmove(r->at, r->at + first, (size_t)r->n * sizeof *r->at);
}

plim_status plim_repeats_from_schedule(const plim_dag *d, const plim_schedule *schedule, int32_t copies,
                                       plim_repeats *out) {
  int32_t *of_node = NULL;
  out->n = 0;
  if (copies < 2) return PLIM_OK;
  PLIM_TRY(plim_allocate(d->ctx, d->n, sizeof *of_node, &of_node));
  plim_status status = gather(d, schedule, of_node, out);
  if (status == PLIM_OK && out->n > 0) {
    memset(of_node, 0, (size_t)d->n * sizeof *of_node);
    keep_latest(out, copies - 1, of_node);
    qsort(out->at, (size_t)out->n, sizeof *out->at, compare_repeats);
  }
  plim_release(d->ctx, of_node, d->n, sizeof *of_node);
  return status;
}
