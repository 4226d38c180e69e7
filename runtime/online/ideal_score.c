/* Costs of policies in memory without addresses. Storages that exist but were never computed count as missing: they are
 * outputs of the call in flight.
 *
 * The search wants the smallest score. So a walk over missing storages ends as soon as its sum is too high, and each
 * storage keeps a lower bound of the sum of its walks. A storage that goes missing only increases these sums. A storage
 * that is recomputed has all its producer's inputs resident. So walks towards inputs lose this storage alone, and walks
 * towards readers reach it only from those inputs. */
#include "runtime/online/ideal_state.h"

#include <assert.h>

typedef enum direction { TO_PARENTS, TO_CHILDREN } direction;

static const int32_t *neighbours(const plim_ideal *m, int32_t s, direction way, int32_t *n) {
  const plim_ideal_storage *st = &m->storage[s];
  *n = way == TO_PARENTS ? st->n_parents : st->n_children;
  return way == TO_PARENTS ? m->parent + st->first_parent : m->child + st->first_child;
}

static int64_t *least(plim_ideal_storage *st, direction way) {
  return way == TO_PARENTS ? &st->least_above : &st->least_below;
}

/* Sum of the costs of the missing storages that can be reached through missing ones. Ends when it exceeds `most`. */
static int64_t walk(plim_ideal *m, int32_t from, direction way, int64_t most) {
  int64_t sum = 0;
  int32_t depth = 0, n = 0;
  m->stamp++;
  m->stack[depth++] = from;
  while (depth > 0 && sum <= most) {
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

/* The sum of a walk. When it exceeds `most`, any number above `most` and at most the sum. A walk that is cut goes on to
 * 2 x most, so that it is not repeated for every larger `most`. */
static int64_t walked(plim_ideal *m, int32_t s, direction way, int64_t most) {
  int64_t *known = least(&m->storage[s], way);
#ifdef PLIM_SANITIZED
  assert(*known <= walk(m, s, way, INT64_MAX));
#endif
  if (*known > most) return *known;
  *known = walk(m, s, way, most < INT64_MAX / 2 ? 2 * most : INT64_MAX);
  return *known;
}

static int has_missing(const plim_ideal *m, int32_t s, direction way) {
  int32_t n = 0, i = 0;
  const int32_t *next = neighbours(m, s, way, &n);
  while (i < n && m->storage[next[i]].resident) i++;
  return i < n;
}

/* Subtract `cost_ns` from the bounds of all storages whose walks reach `s`. */
static void forget(plim_ideal *m, int32_t s, direction way, int64_t cost_ns) {
  int32_t depth = 0, n = 0;
  m->stamp++;
  m->stack[depth++] = s;
  while (depth > 0) {
    const int32_t *next = neighbours(m, m->stack[--depth], way == TO_PARENTS ? TO_CHILDREN : TO_PARENTS, &n);
    for (int32_t i = 0; i < n; i++) {
      plim_ideal_storage *st = &m->storage[next[i]];
      int64_t *known = least(st, way);
      if (st->stamp == m->stamp) continue;
      st->stamp = m->stamp;
      *known = *known > cost_ns ? *known - cost_ns : 0;
      if (!st->resident) m->stack[depth++] = next[i];
    }
  }
}

/* A view may have other inputs, and other storages computed from it may be missing: then the bounds become 0. */
void plim_ideal_comes_back(plim_ideal *m, int32_t s) {
  plim_ideal_storage *st = &m->storage[s];
  if (m->policy->cost != PLIM_COST_ANCESTORS && m->policy->cost != PLIM_COST_NEIGHBOURHOOD) return;
  for (int way = TO_PARENTS; way <= TO_CHILDREN; way++) {
    forget(m, s, (direction)way, has_missing(m, s, (direction)way) ? INT64_MAX : st->cost_ns);
    *least(st, (direction)way) = 0;
  }
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
  sum += walked(m, s, TO_PARENTS, most - sum - (below ? st->least_below : 0));
  return below && sum <= most ? sum + walked(m, s, TO_CHILDREN, most - sum) : sum;
}

double plim_ideal_score(plim_ideal *m, int32_t s, double most) {
  int64_t last = m->storage[s].last, bytes = m->h->tensor[s].bytes;
  int64_t stale_ns = last == PLIM_IDEAL_NEVER ? INT64_MAX : m->clock - last;
  return plim_policy_score(m->policy, cost(m, s, plim_policy_most_cost(m->policy, most, bytes, stale_ns)), bytes,
                           stale_ns);
}
