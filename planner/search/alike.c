/* Colour refinement: an op's hash takes in the hashes of its neighbours, a link farther with every round. Readers are
 * added up, producers are told apart by the place that they are read at. Equal hashes of unlike surroundings cost a
 * useless match, no more. */
#include "planner/search/alike.h"

#include <stdlib.h>

#include "planner/random.h"

enum { ROUNDS = 3 };

static uint32_t mix(uint32_t a, uint32_t b) {
  plim_random random = {(uint64_t)a << 32 | b};
  return (uint32_t)(plim_random_next(&random) >> 32);
}

static uint32_t hash_alone(const plim_problem *p, int32_t v) {
  const plim_planned_op *op = &p->op[v];
  uint32_t lists = mix((uint32_t)op->reads.n, (uint32_t)op->writes.n);
  return mix(lists, (uint32_t)p->graph->op[v].kind << 1 | (uint32_t)op->once);
}

static uint32_t hash_around(const plim_problem *p, const uint32_t *hash, int32_t v) {
  const plim_planned_op *op = &p->op[v];
  uint32_t h = hash[v];
  for (int32_t i = 0; i < op->reads.n; i++) {
    const plim_item *item = &p->item[op->reads.at[i]];
    h = mix(h, item->producer < 0 ? 1 : mix(hash[item->producer], (uint32_t)item->write_index));
  }
  for (int32_t i = 0; i < op->writes.n; i++) {
    const plim_list *readers = &p->item[op->writes.at[i]].readers;
    uint32_t sum = (uint32_t)readers->n;
    for (int32_t k = 0; k < readers->n; k++) sum += mix(hash[readers->at[k]], 2);
    h = mix(h, sum);
  }
  return h;
}

static plim_status refine(plim_alike *a) {
  const plim_problem *p = a->problem;
  uint32_t *hash = NULL;
  PLIM_TRY(plim_allocate(p->ctx, p->n_ops, sizeof *hash, &hash));
  for (int32_t v = 0; v < p->n_ops; v++) hash[v] = hash_alone(p, v);
  for (int round = 0; round < ROUNDS; round++) {
    for (int32_t v = 0; v < p->n_ops; v++) a->far_hash[v] = hash_around(p, hash, v);
    for (int32_t v = 0; v < p->n_ops; v++) hash[v] = a->far_hash[v];
    for (int32_t v = 0; v < p->n_ops && round == 0; v++) a->near_hash[v] = hash[v];
  }
  plim_release(p->ctx, hash, p->n_ops, sizeof *hash);
  return PLIM_OK;
}

typedef struct colour {
  uint32_t hash;
  int32_t op;
} colour;

static int by_colour(const void *a, const void *b) {
  const colour *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return (x->op > y->op) - (x->op < y->op);
}

static plim_status link_alike(plim_alike *a) {
  int32_t n = a->problem->n_ops;
  colour *order = NULL;
  PLIM_TRY(plim_allocate(a->problem->ctx, n, sizeof *order, &order));
  for (int32_t v = 0; v < n; v++) order[v] = (colour){a->far_hash[v], v};
  qsort(order, (size_t)n, sizeof *order, by_colour);
  for (int32_t i = 0; i < n; i++) {
    int32_t v = order[i].op;
    a->other[v] = -1;
    a->prev[v] = i > 0 && order[i - 1].hash == order[i].hash ? order[i - 1].op : -1;
    a->next[v] = i + 1 < n && order[i + 1].hash == order[i].hash ? order[i + 1].op : -1;
  }
  plim_release(a->problem->ctx, order, n, sizeof *order);
  return PLIM_OK;
}

plim_status plim_alike_new(const plim_problem *p, plim_alike **out) {
  plim_alike *a = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *a, &a));
  a->problem = p;
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *a->near_hash, &a->near_hash));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *a->far_hash, &a->far_hash));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *a->next, &a->next));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *a->prev, &a->prev));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops, sizeof *a->other, &a->other));
  PLIM_CHECK(refine(a));
  PLIM_CHECK(link_alike(a));
  *out = a;
done:
  if (status != PLIM_OK) plim_alike_free(a);
  return status;
}

void plim_alike_free(plim_alike *a) {
  if (!a) return;
  const plim_problem *p = a->problem;
  plim_release(p->ctx, a->near_hash, p->n_ops, sizeof *a->near_hash);
  plim_release(p->ctx, a->far_hash, p->n_ops, sizeof *a->far_hash);
  plim_release(p->ctx, a->next, p->n_ops, sizeof *a->next);
  plim_release(p->ctx, a->prev, p->n_ops, sizeof *a->prev);
  plim_release(p->ctx, a->other, p->n_ops, sizeof *a->other);
  plim_release(p->ctx, a, 1, sizeof *a);
}

/* ---- matches ---- */

static void pair(plim_alike *a, int32_t v, int32_t w, int32_t most) {
  if (a->n >= most || v < 0 || w < 0 || v == w) return;
  if (a->other[v] >= 0 || a->other[w] >= 0 || a->near_hash[v] != a->near_hash[w]) return;
  a->other[v] = w;
  a->other[w] = v;
  a->from[a->n] = v;
  a->to[a->n++] = w;
}

void plim_alike_match(plim_alike *alike, int32_t a, int32_t b, int32_t most) {
  const plim_problem *p = alike->problem;
  while (alike->n > 0) {
    alike->n--;
    alike->other[alike->from[alike->n]] = alike->other[alike->to[alike->n]] = -1;
  }
  if (most > PLIM_ALIKE_MOST) most = PLIM_ALIKE_MOST;
  pair(alike, a, b, most);
  for (int32_t k = 0; k < alike->n; k++) { /* equal hashes: lists as long as each other, but for collisions */
    const plim_planned_op *x = &p->op[alike->from[k]], *y = &p->op[alike->to[k]];
    for (int32_t i = 0; i < x->reads.n && i < y->reads.n; i++) {
      pair(alike, p->item[x->reads.at[i]].producer, p->item[y->reads.at[i]].producer, most);
    }
    for (int32_t i = 0; i < x->writes.n && i < y->writes.n; i++) {
      const plim_list *s = &p->item[x->writes.at[i]].readers, *t = &p->item[y->writes.at[i]].readers;
      for (int32_t r = 0; r < s->n && r < t->n; r++) pair(alike, s->at[r], t->at[r], most);
    }
  }
}
