/* A completion of what is decided runs every step that is there now. A copy that is alive at step e and next read at
 * step r is spared at e by a repeat of its node between e and r, and by nothing else. So at each step above the limit
 * the copies that such a repeat may spare must sum up to what is too much: a covering row, in which a node costs its
 * time once, whatever the number of rows that it helps. The bound takes rows one after the other, the one with the
 * largest excess first, charges each at its own fractional optimum, and leaves the rest of a node's time to later rows:
 * a feasible point of the dual of all rows together. */
#include "planner/exact/conflict.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CONFLICTS = 12 };

plim_status plim_conflicts_make(const plim_dag *dag, int32_t copies, int64_t limit_bytes, plim_conflicts *out) {
  plim_conflicts c = {.dag = dag, .copies = copies, .limit_bytes = limit_bytes};
  plim_context *ctx = dag->ctx;
  plim_status status;
  PLIM_CHECK(plim_staged_make(dag, &c.staged));
  PLIM_CHECK(plim_allocate(ctx, (int64_t)dag->n * dag->n / 8 + 1, 1, &c.forbidden));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.count, &c.count));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.is_operand, &c.is_operand));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.left, &c.left));
  PLIM_CHECK(plim_allocate(ctx, MOST_CONFLICTS, sizeof *c.step, &c.step));
  PLIM_CHECK(plim_allocate(ctx, dag->n, sizeof *c.cure, &c.cure));
  *out = c;
done:
  if (status != PLIM_OK) plim_conflicts_free(&c);
  return status;
}

void plim_conflicts_free(plim_conflicts *c) {
  if (!c->dag) return;
  plim_context *ctx = c->dag->ctx;
  int32_t n = c->dag->n;
  plim_staged_free(&c->staged);
  plim_release(ctx, c->forbidden, (int64_t)n * n / 8 + 1, 1);
  plim_release(ctx, c->count, n, sizeof *c->count);
  plim_release(ctx, c->is_operand, n, sizeof *c->is_operand);
  plim_release(ctx, c->left, n, sizeof *c->left);
  plim_release(ctx, c->step, MOST_CONFLICTS, sizeof *c->step);
  plim_release(ctx, c->cure, n, sizeof *c->cure);
  *c = (plim_conflicts){0};
}

void plim_conflicts_forbid(plim_conflicts *c, plim_repeat r, int forbid) {
  int64_t bit = (int64_t)r.node * c->dag->n + r.stage;
  uint8_t mask = (uint8_t)(1U << (bit & 7));
  c->forbidden[bit >> 3] = (uint8_t)(forbid ? c->forbidden[bit >> 3] | mask : c->forbidden[bit >> 3] & ~mask);
}

static int is_forbidden(const plim_conflicts *c, int32_t node, int32_t stage) {
  int64_t bit = (int64_t)node * c->dag->n + stage;
  return c->forbidden[bit >> 3] >> (bit & 7) & 1;
}

/* The first step behind `step` that reads node u. */
static int32_t next_reader(const plim_staged *s, int32_t u, int32_t step) {
  const plim_list *succs = &s->dag->node[u].succs;
  int32_t next = s->n;
  for (int32_t i = 0; i < succs->n; i++) {
    int32_t j = s->first[succs->at[i]];
    while (j >= 0 && j <= step) j = s->next[j];
    if (j >= 0 && j < next) next = j;
  }
  return next;
}

/* The latest stage in which a repeat of u spares its copy at `step`, -1. */
static int32_t cure_stage(const plim_conflicts *c, int32_t u, int32_t step) {
  const plim_staged *s = &c->staged;
  const plim_dag_node *node = &c->dag->node[u];
  if (c->count[u] + 1 >= c->copies) return -1;
  int32_t reader = next_reader(s, u, step);
  if (reader == s->n) return -1; /* kept to the end */
  int32_t low = s->stage[step], high = s->stage[reader];
  if (s->node[step] == low || u < s->node[step]) low++; /* its place in that stage is in front of the step */
  if (high > node->last_stage) high = node->last_stage;
  while (high >= low && is_forbidden(c, u, high)) high--;
  return high >= low ? high : -1;
}

/* Steps above the limit, one of each stretch of them: the highest; at most so many stretches, the highest. */
static int32_t list_conflicts(plim_conflicts *c) {
  const plim_staged *s = &c->staged;
  int32_t n = 0;
  for (int32_t j = 0; j < s->n; j++) {
    if (s->level[j] <= c->limit_bytes) continue;
    int32_t highest = j;
    for (; j < s->n && s->level[j] > c->limit_bytes; j++) highest = s->level[j] > s->level[highest] ? j : highest;
    int32_t at = n < MOST_CONFLICTS ? n++ : MOST_CONFLICTS;
    for (; at > 0 && s->level[c->step[at - 1]] < s->level[highest]; at--) {
      if (at < MOST_CONFLICTS) c->step[at] = c->step[at - 1];
    }
    if (at < MOST_CONFLICTS) c->step[at] = highest;
  }
  return n;
}

/* Time of u's repeat, and half that of what it reads and is not alive then. */
static double effort_of(const plim_conflicts *c, int32_t u, int32_t step) {
  const plim_dag_node *node = &c->dag->node[u];
  double effort = (double)node->time_ns;
  for (int32_t i = 0; i < node->preds.n; i++) {
    int32_t p = node->preds.at[i];
    if (c->staged.last[c->staged.latest[p]] <= step) effort += 0.5 * (double)c->dag->node[p].time_ns;
  }
  return effort;
}

/* The cures of one conflict; *bytes is what they can spare together. */
static int32_t list_cures(plim_conflicts *c, int32_t step, int64_t *bytes) {
  const plim_staged *s = &c->staged;
  const plim_list *preds = &c->dag->node[s->node[step]].preds;
  int32_t n = 0;
  *bytes = 0;
  for (int32_t i = 0; i < preds->n; i++) c->is_operand[preds->at[i]] = 1;
  for (int32_t j = 0; j < step; j++) {
    int32_t u = s->node[j];
    int64_t size = c->dag->node[u].bytes;
    if (s->last[j] <= step || size == 0 || c->is_operand[u]) continue;
    int32_t stage = cure_stage(c, u, step);
    if (stage < 0) continue;
    double noise = c->noise > 0 ? 1 + c->noise * plim_random_unit(&c->random) : 1;
    c->cure[n++] = (plim_cure){.repeat = {stage, u},
                               .price = c->left[u] / (double)size,
                               .worth = noise * (effort_of(c, u, step) + 1) / (double)size};
    *bytes += size;
  }
  for (int32_t i = 0; i < preds->n; i++) c->is_operand[preds->at[i]] = 0;
  return n;
}

static int by_price(const void *a, const void *b) {
  const plim_cure *x = a, *y = b;
  if (x->price < y->price || x->price > y->price) return x->price < y->price ? -1 : 1;
  return (x->repeat.node > y->repeat.node) - (x->repeat.node < y->repeat.node);
}

/* The fractional optimum of one row; what it charges is taken off the nodes' times. */
static double charge(plim_conflicts *c, int32_t n, int64_t excess) {
  double total = 0, price = 0;
  int64_t open = excess;
  qsort(c->cure, (size_t)n, sizeof *c->cure, by_price);
  for (int32_t i = 0; i < n && open > 0; i++) {
    int64_t size = c->dag->node[c->cure[i].repeat.node].bytes;
    int64_t part = size < open ? size : open;
    price = c->cure[i].price;
    total += price * (double)part;
    open -= part;
  }
  for (int32_t i = 0; i < n; i++) {
    int32_t u = c->cure[i].repeat.node;
    double charged = price * (double)c->dag->node[u].bytes;
    c->left[u] = charged < c->left[u] ? c->left[u] - charged : 0;
  }
  return total;
}

void plim_conflicts_look(plim_conflicts *c, int64_t *bound_ns, plim_repeat *branch) {
  double total = 0, tightest = 0;
  int32_t conflicts = list_conflicts(c);
  for (int32_t v = 0; v < c->dag->n; v++) c->left[v] = (double)c->dag->node[v].time_ns;
  *bound_ns = INT64_MAX;
  for (int32_t k = 0; k < conflicts; k++) {
    int64_t excess = c->staged.level[c->step[k]] - c->limit_bytes, spared;
    int32_t n = list_cures(c, c->step[k], &spared);
    if (spared < excess) return;
    double tight = (double)excess / (double)spared;
    if (tight > tightest) {
      int32_t best = 0;
      for (int32_t i = 1; i < n; i++) best = c->cure[i].worth < c->cure[best].worth ? i : best;
      tightest = tight;
      *branch = c->cure[best].repeat;
    }
    total += charge(c, n, excess);
  }
  *bound_ns = (int64_t)(total * (1 - 1e-9)); /* rounding never raises it */
}
