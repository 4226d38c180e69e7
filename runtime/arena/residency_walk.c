/* Sums of the times of missing storages, found by walks. Each storage keeps the sum of its walks: exact, or a lower
 * bound.
 *
 * A storage that goes missing only increases sums, so old sums stay lower bounds. A storage that is recomputed has all
 * its producer's inputs resident: walks towards inputs lose this storage alone, and walks towards readers reach it only
 * from those inputs. When the search wants the smallest score, a walk ends as soon as its sum is too large for the
 * caller, and thanks to the lower bounds most walks are not made at all. Windows are sums of costs: they need exact
 * ones. */
#include <assert.h>

#include "runtime/arena/residency.h"

typedef enum direction { TO_INPUTS, TO_READERS } direction;

/* Called for each storage that a walk meets for the first time; not 0: the walk continues from there. */
typedef int visitor(plim_residency *res, int32_t storage, void *user);

static void meet(plim_residency *res, int32_t storage, visitor *visit, void *user, int32_t *depth) {
  if (res->mark[storage] == res->stamp) return;
  res->mark[storage] = res->stamp;
  if (visit(res, storage, user)) res->stack[(*depth)++] = storage;
}

/* Meet the storages next to this one in a direction. */
static void meet_next(plim_residency *res, int32_t storage, direction way, visitor *visit, void *user, int32_t *depth) {
  const plim_graph *g = res->graph;
  if (way == TO_INPUTS) {
    const plim_op *op = &g->op[g->storage[storage].producer];
    for (int32_t k = 0; k < op->n_reads; k++) meet(res, op->reads[k], visit, user, depth);
    return;
  }
  for (int32_t i = g->reader_first[storage]; i < g->reader_first[storage + 1]; i++) {
    const plim_op *op = &g->op[g->reader[i]];
    for (int32_t k = 0; k < op->n_writes; k++) meet(res, op->writes[k], visit, user, depth);
  }
}

static int add_time(plim_residency *res, int32_t storage, void *user) {
  int64_t *sum_ns = user;
  if (!plim_residency_counts(res, storage)) return 0;
  *sum_ns += res->forecast->op_ns[res->graph->storage[storage].producer];
  return 1;
}

/* Sum of the times of the missing storages that can be reached through missing ones. Ends when it exceeds `most`. */
static int64_t walk(plim_residency *res, int32_t storage, direction way, int64_t most) {
  int64_t sum_ns = 0;
  int32_t depth = 1;
  res->mark[storage] = ++res->stamp;
  res->stack[0] = storage;
  while (depth > 0 && sum_ns <= most) meet_next(res, res->stack[--depth], way, add_time, &sum_ns, &depth);
  return sum_ns;
}

/* A walk that is cut goes on to 2 x most, so that it is not repeated for every larger `most`. */
static int64_t walked(plim_residency *res, int32_t storage, direction way, int64_t most) {
  plim_walk_sum *known = &res->reach[way][storage];
#ifdef PLIM_SANITIZED
  int64_t sum_ns = walk(res, storage, way, INT64_MAX);
  assert(known->exact ? known->sum_ns == sum_ns : known->sum_ns <= sum_ns);
#endif
  if (known->exact || known->sum_ns > most) return known->sum_ns;
  int64_t end = most < INT64_MAX / 2 ? 2 * most : INT64_MAX;
  known->sum_ns = walk(res, storage, way, end);
  known->exact = known->sum_ns <= end;
  return known->sum_ns;
}

static int walks(const plim_residency *res, direction way) {
  return res->policy->cost == PLIM_COST_NEIGHBOURHOOD || (way == TO_INPUTS && res->policy->cost == PLIM_COST_ANCESTORS);
}

/* ---- what changes ---- */

typedef struct change {
  direction way;
  int64_t lost_ns; /* subtracted from the sums of walks in this direction */
  int exact;       /* 1: exactly that */
} change;

static int apply(plim_residency *res, int32_t storage, void *user) {
  const change *c = user;
  plim_walk_sum *known = &res->reach[c->way][storage];
  known->exact = known->exact && c->exact;
  known->sum_ns = known->sum_ns > c->lost_ns ? known->sum_ns - c->lost_ns : 0;
  return plim_residency_counts(res, storage);
}

/* Apply a change to every storage whose walk in the change's direction reaches one of storage [n]. These are the
 * storages that a walk from them in the other direction reaches. */
static void lower_sums(plim_residency *res, int32_t n, const int32_t *storage, change c) {
  int32_t depth = 0;
  res->stamp++;
  for (; depth < n; depth++) {
    res->stack[depth] = storage[depth];
    res->mark[storage[depth]] = res->stamp;
  }
  while (depth > 0) meet_next(res, res->stack[--depth], c.way == TO_INPUTS ? TO_READERS : TO_INPUTS, apply, &c, &depth);
}

static int is_missing(plim_residency *res, int32_t storage, void *user) {
  *(int *)user |= plim_residency_counts(res, storage);
  return 0;
}

void plim_residency_lost(plim_residency *res, int32_t storage) {
  if (!walks(res, TO_INPUTS) || res->is_lost[storage]) return;
  res->is_lost[storage] = 1;
  res->lost[res->n_lost++] = storage;
}

/* Apply all changes since the last update at once: storages that went missing; for windows also those that became
 * resident. */
static void apply_lost(plim_residency *res) {
  int64_t lost_ns = res->policy->search == PLIM_SEARCH_WINDOW ? INT64_MAX : 0;
  if (res->n_lost == 0) return;
  for (int way = TO_INPUTS; way <= TO_READERS; way++) {
    if (!walks(res, (direction)way)) continue;
    lower_sums(res, res->n_lost, res->lost, (change){(direction)way, lost_ns, 0});
    for (int32_t i = 0; i < res->n_lost; i++) res->reach[way][res->lost[i]] = (plim_walk_sum){0, 0};
  }
  for (int32_t i = 0; i < res->n_lost; i++) res->is_lost[res->lost[i]] = 0;
  res->n_lost = 0;
}

void plim_residency_found(plim_residency *res, int32_t storage) {
  int64_t own = res->forecast->op_ns[res->graph->storage[storage].producer];
  if (res->policy->search == PLIM_SEARCH_WINDOW) {
    plim_residency_lost(res, storage);
    return;
  }
  for (int way = TO_INPUTS; way <= TO_READERS; way++) {
    int beyond = 0, depth = 0;
    if (!walks(res, (direction)way)) continue;
    res->stamp++;
    meet_next(res, storage, (direction)way, is_missing, &beyond, &depth);
    lower_sums(res, 1, &storage, (change){(direction)way, beyond ? INT64_MAX : own, !beyond && res->n_lost == 0});
    res->reach[way][storage] = (plim_walk_sum){0, 0};
  }
}

void plim_residency_uncertain(plim_residency *res, int32_t storage) {
  for (int way = TO_INPUTS; way <= TO_READERS; way++) {
    if (walks(res, (direction)way)) lower_sums(res, 1, &storage, (change){(direction)way, INT64_MAX, 0});
  }
}

int64_t plim_residency_walk(plim_residency *res, int32_t storage, int64_t most) {
  apply_lost(res);
  if (!walks(res, TO_READERS)) return walked(res, storage, TO_INPUTS, most);
  int64_t sum_ns = walked(res, storage, TO_INPUTS, most - res->reach[TO_READERS][storage].sum_ns);
  return sum_ns <= most ? sum_ns + walked(res, storage, TO_READERS, most - sum_ns) : sum_ns;
}
