/* Costs of policies in ideal memory. Storages that exist but were never computed count as missing: they are
 * results of the running call. walk_bounds.c keeps lower bounds of the sums of walks. An eviction is not applied to
 * them, since it only increases the sums. */
#include "runtime/simulate/ideal_state.h"

static int32_t neighbours(const void *user, int32_t storage, plim_walk_direction direction, int32_t i,
                          const int32_t **list) {
  const plim_ideal *sim = user;
  const plim_ideal_storage *row = &sim->storage[storage];
  if (i > 0) return PLIM_NONE;
  *list = direction == PLIM_WALK_TO_INPUTS ? sim->parent + row->first_parent : sim->child + row->first_child;
  return direction == PLIM_WALK_TO_INPUTS ? row->n_parents : row->n_children;
}

static int64_t missing_ns(const void *user, int32_t storage) {
  const plim_ideal_storage *row = &((const plim_ideal *)user)->storage[storage];
  return row->resident ? PLIM_NONE : row->cost_ns;
}

plim_status plim_ideal_open_walks(plim_ideal *sim) {
  return plim_walks_open(sim->ctx, sim->handles->n_tensors, 0, (plim_walk_owner){neighbours, missing_ns, sim},
                         &sim->walks);
}

/* When other neighbours of the storage are missing, the bounds become 0. Views may have added neighbours. */
void plim_ideal_comes_back(plim_ideal *sim, int32_t s) {
  if (sim->policy->cost != PLIM_COST_ANCESTORS && sim->policy->cost != PLIM_COST_NEIGHBOURHOOD) return;
  for (plim_walk_direction direction = 0; direction < PLIM_WALK_DIRECTIONS; direction++) {
    int beyond = plim_walks_any_missing(&sim->walks, s, direction);
    plim_walks_lower(&sim->walks, 1, &s, direction, beyond ? PLIM_TIME_INFINITE : sim->storage[s].cost_ns, 0);
    plim_walks_forget(&sim->walks, s, direction);
  }
}

static int64_t classes(plim_ideal *sim, int32_t s) {
  int64_t sum = 0;
  plim_missing_sum_begin(&sim->missing);
  for (plim_walk_direction direction = 0; direction < PLIM_WALK_DIRECTIONS; direction++) {
    const int32_t *next;
    int32_t n = neighbours(sim, s, direction, 0, &next);
    for (int32_t i = 0; i < n; i++) sum += plim_missing_sum_class(&sim->missing, next[i]);
  }
  return sum;
}

/* The policy's cost of a storage. Walks end when the cost exceeds `most`. */
static int64_t cost(plim_ideal *sim, int32_t s, int64_t most) {
  const plim_ideal_storage *row = &sim->storage[s];
  int64_t sum = row->cost_ns;
  switch (sim->policy->cost) {
    case PLIM_COST_ONE:
      return 1;
    case PLIM_COST_ACCESS:
      return row->last_ns;
    case PLIM_COST_OWN:
      return sum;
    case PLIM_COST_CLASSES:
      return sum + classes(sim, s);
    case PLIM_COST_ANCESTORS:
    case PLIM_COST_NEIGHBOURHOOD:
      break;
  }
  int below = sim->policy->cost == PLIM_COST_NEIGHBOURHOOD;
  int64_t least = below ? plim_walks_least(&sim->walks, s, PLIM_WALK_TO_READERS) : 0;
  sum += plim_walks_sum(&sim->walks, s, PLIM_WALK_TO_INPUTS, most - sum - least);
  return below && sum <= most ? sum + plim_walks_sum(&sim->walks, s, PLIM_WALK_TO_READERS, most - sum) : sum;
}

double plim_ideal_score(plim_ideal *sim, int32_t s, double most) {
  int64_t last = sim->storage[s].last_ns, bytes = sim->handles->tensor[s].bytes;
  int64_t stale_ns = last == PLIM_IDEAL_NEVER ? PLIM_TIME_INFINITE : sim->clock_ns - last;
  return plim_policy_score(sim->policy, cost(sim, s, plim_policy_most_cost(sim->policy, most, bytes, stale_ns)), bytes,
                           stale_ns);
}
