/* Costs of policies in memory without addresses. Storages that exist but were never computed count as missing: they are
 * outputs of the call in flight. */
#include "runtime/online/ideal_state.h"

typedef enum direction { TO_PARENTS, TO_CHILDREN } direction;

static const int32_t *neighbours(const plim_ideal *m, int32_t s, direction way, int32_t *n) {
  const plim_ideal_storage *st = &m->storage[s];
  *n = way == TO_PARENTS ? st->n_parents : st->n_children;
  return way == TO_PARENTS ? m->parent + st->first_parent : m->child + st->first_child;
}

/* Costs of the missing storages that can be reached through missing ones. */
static int64_t walk(plim_ideal *m, int32_t from, direction way) {
  int64_t sum = 0;
  int32_t depth = 0, n = 0;
  m->stamp++;
  m->stack[depth++] = from;
  while (depth > 0) {
    const int32_t *next = neighbours(m, m->stack[--depth], way, &n);
    for (int32_t i = 0; i < n; i++) {
      plim_ideal_storage *st = &m->storage[next[i]];
      if (st->resident || st->stamp == m->stamp) continue;
      st->stamp = m->stamp;
      sum += st->cost_ns;
      m->stack[depth++] = next[i];
    }
  }
  return sum;
}

static int64_t classes(plim_ideal *m, int32_t s) {
  int64_t sum = 0;
  int32_t n = 0;
  plim_missing_sum_begin(&m->missing);
  for (int way = TO_PARENTS; way <= TO_CHILDREN; way++) {
    const int32_t *next = neighbours(m, s, (direction)way, &n);
    for (int32_t i = 0; i < n; i++) sum += plim_missing_sum_class(&m->missing, next[i]);
  }
  return sum;
}

static int64_t cost(plim_ideal *m, int32_t s) {
  const plim_ideal_storage *st = &m->storage[s];
  switch (m->policy->cost) {
    case PLIM_COST_ONE:
      return 1;
    case PLIM_COST_ACCESS:
      return st->last;
    case PLIM_COST_OWN:
      return st->cost_ns;
    case PLIM_COST_ANCESTORS:
      return st->cost_ns + walk(m, s, TO_PARENTS);
    case PLIM_COST_NEIGHBOURHOOD:
      return st->cost_ns + walk(m, s, TO_PARENTS) + walk(m, s, TO_CHILDREN);
    case PLIM_COST_CLASSES:
      break;
  }
  return st->cost_ns + classes(m, s);
}

double plim_ideal_score(plim_ideal *m, int32_t s) {
  int64_t last = m->storage[s].last;
  return plim_policy_score(m->policy, cost(m, s), m->h->tensor[s].bytes,
                           last == PLIM_IDEAL_NEVER ? INT64_MAX : m->clock - last);
}
