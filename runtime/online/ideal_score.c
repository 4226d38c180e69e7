/* Costs of policies in memory without addresses. Storages that exist but were never computed count as missing: they are
 * outputs of the call in flight. walk_bounds.c keeps the sums of walks, as lower bounds: an eviction only increases
 * them, and is not applied. */
#include "runtime/online/ideal_state.h"

static int32_t neighbours(const void *user, int32_t storage, plim_walk_way way, int32_t i, const int32_t **list) {
  const plim_ideal *m = user;
  const plim_ideal_storage *st = &m->storage[storage];
  if (i > 0) return -1;
  *list = way == PLIM_WALK_TO_INPUTS ? m->parent + st->first_parent : m->child + st->first_child;
  return way == PLIM_WALK_TO_INPUTS ? st->n_parents : st->n_children;
}

static int64_t missing_ns(const void *user, int32_t storage) {
  const plim_ideal_storage *st = &((const plim_ideal *)user)->storage[storage];
  return st->resident ? -1 : st->cost_ns;
}

plim_status plim_ideal_open_walks(plim_ideal *m) {
  return plim_walks_open(m->ctx, m->h->n_tensors, 0, (plim_walk_owner){neighbours, missing_ns, m}, &m->walks);
}

/* A view may have other inputs, and other storages computed from it may be missing: then the bounds become 0. */
void plim_ideal_comes_back(plim_ideal *m, int32_t s) {
  if (m->policy->cost != PLIM_COST_ANCESTORS && m->policy->cost != PLIM_COST_NEIGHBOURHOOD) return;
  for (plim_walk_way way = 0; way < PLIM_WALK_WAYS; way++) {
    int beyond = plim_walks_any_missing(&m->walks, s, way);
    plim_walks_lower(&m->walks, 1, &s, way, beyond ? INT64_MAX : m->storage[s].cost_ns, 0);
    plim_walks_forget(&m->walks, s, way);
  }
}

static int64_t classes(plim_ideal *m, int32_t s) {
  int64_t sum = 0;
  plim_missing_sum_begin(&m->missing);
  for (plim_walk_way way = 0; way < PLIM_WALK_WAYS; way++) {
    const int32_t *next;
    int32_t n = neighbours(m, s, way, 0, &next);
    for (int32_t i = 0; i < n; i++) sum += plim_missing_sum_class(&m->missing, next[i]);
  }
  return sum;
}

/* Walks end above `most`. */
static int64_t cost(plim_ideal *m, int32_t s, int64_t most) {
  const plim_ideal_storage *st = &m->storage[s];
  int64_t sum = st->cost_ns;
  switch (m->policy->cost) {
    case PLIM_COST_ONE:
      return 1;
    case PLIM_COST_ACCESS:
      return st->last;
    case PLIM_COST_OWN:
      return sum;
    case PLIM_COST_CLASSES:
      return sum + classes(m, s);
    case PLIM_COST_ANCESTORS:
    case PLIM_COST_NEIGHBOURHOOD:
      break;
  }
  int below = m->policy->cost == PLIM_COST_NEIGHBOURHOOD;
  int64_t least = below ? plim_walks_least(&m->walks, s, PLIM_WALK_TO_READERS) : 0;
  sum += plim_walks_sum(&m->walks, s, PLIM_WALK_TO_INPUTS, most - sum - least);
  return below && sum <= most ? sum + plim_walks_sum(&m->walks, s, PLIM_WALK_TO_READERS, most - sum) : sum;
}

double plim_ideal_score(plim_ideal *m, int32_t s, double most) {
  int64_t last = m->storage[s].last, bytes = m->h->tensor[s].bytes;
  int64_t stale_ns = last == PLIM_IDEAL_NEVER ? INT64_MAX : m->clock - last;
  return plim_policy_score(m->policy, cost(m, s, plim_policy_most_cost(m->policy, most, bytes, stale_ns)), bytes,
                           stale_ns);
}
