/* Sums of the times of missing storages around a storage of the arena, kept by walk_bounds.c.
 *
 * When a storage is recomputed, all inputs of its op are resident. So walks towards inputs lose this storage alone, and
 * walks towards readers reach it only from those inputs. The window search adds costs, and needs exact sums: for it
 * every change resets the sums that it may touch. Changes by storages that went missing are applied together, before
 * the next sum is computed. */
#include "runtime/arena/residency_price.h"

static int32_t neighbours(const void *user, int32_t storage, plim_walk_direction direction, int32_t i,
                          const int32_t **list) {
  const plim_residency *res = user;
  const plim_graph *g = res->graph;
  if (direction == PLIM_WALK_TO_INPUTS) {
    const plim_op *op = &g->op[g->storage[storage].producer];
    *list = op->reads;
    return i == 0 ? op->n_reads : PLIM_NONE;
  }
  if (i >= g->reader_first[storage + 1] - g->reader_first[storage]) return PLIM_NONE;
  const plim_op *reader = &g->op[g->reader[g->reader_first[storage] + i]];
  *list = reader->writes;
  return reader->n_writes;
}

static int64_t missing_ns(const void *user, int32_t storage) {
  const plim_residency *res = user;
  if (!plim_residency_is_priced(res, storage)) return PLIM_NONE;
  return res->forecast->op_ns[res->graph->storage[storage].producer];
}

plim_status plim_residency_open_walks(plim_residency *res) {
  int32_t n = res->graph->n_storages;
  PLIM_TRY(plim_allocate(res->ctx, n, sizeof *res->lost.storage, &res->lost.storage));
  PLIM_TRY(plim_allocate(res->ctx, n, sizeof *res->lost.is_in, &res->lost.is_in));
  return plim_walks_open(res->ctx, n, 1, (plim_walk_owner){neighbours, missing_ns, res}, &res->walks);
}

/* Does the policy's cost count the missing storages in that direction? */
static int cost_needs_walk(const plim_residency *res, plim_walk_direction direction) {
  plim_cost cost = res->policy->cost;
  return cost == PLIM_COST_NEIGHBOURHOOD || (direction == PLIM_WALK_TO_INPUTS && cost == PLIM_COST_ANCESTORS);
}

void plim_residency_note_lost(plim_residency *res, int32_t storage) {
  if (!cost_needs_walk(res, PLIM_WALK_TO_INPUTS) || res->lost.is_in[storage]) return;
  res->lost.is_in[storage] = 1;
  res->lost.storage[res->lost.n++] = storage;
}

/* Apply all changes since the last update at once: storages that went missing, and for the window search also storages
 * that became resident. */
static void apply_lost(plim_residency *res) {
  int64_t lost_ns = res->policy->search == PLIM_SEARCH_WINDOW ? PLIM_TIME_INFINITE : 0;
  if (res->lost.n == 0) return;
  for (plim_walk_direction direction = 0; direction < PLIM_WALK_DIRECTIONS; direction++) {
    if (!cost_needs_walk(res, direction)) continue;
    plim_walks_lower(&res->walks, res->lost.n, res->lost.storage, direction, lost_ns, 0);
    for (int32_t i = 0; i < res->lost.n; i++) plim_walks_forget(&res->walks, res->lost.storage[i], direction);
  }
  for (int32_t i = 0; i < res->lost.n; i++) res->lost.is_in[res->lost.storage[i]] = 0;
  res->lost.n = 0;
}

void plim_residency_note_found(plim_residency *res, int32_t storage) {
  int64_t own_ns = res->forecast->op_ns[res->graph->storage[storage].producer];
  if (res->policy->search == PLIM_SEARCH_WINDOW) {
    plim_residency_note_lost(res, storage);
    return;
  }
  for (plim_walk_direction direction = 0; direction < PLIM_WALK_DIRECTIONS; direction++) {
    if (!cost_needs_walk(res, direction)) continue;
    int beyond = plim_walks_any_missing(&res->walks, storage, direction);
    plim_walks_lower(&res->walks, 1, &storage, direction, beyond ? PLIM_TIME_INFINITE : own_ns,
                     !beyond && res->lost.n == 0);
    plim_walks_forget(&res->walks, storage, direction);
  }
}

void plim_residency_note_uncertain(plim_residency *res, int32_t storage) {
  for (plim_walk_direction direction = 0; direction < PLIM_WALK_DIRECTIONS; direction++) {
    if (cost_needs_walk(res, direction)) plim_walks_lower(&res->walks, 1, &storage, direction, PLIM_TIME_INFINITE, 0);
  }
}

int64_t plim_residency_walk(plim_residency *res, int32_t storage, int64_t most) {
  apply_lost(res);
  if (!cost_needs_walk(res, PLIM_WALK_TO_READERS))
    return plim_walks_sum(&res->walks, storage, PLIM_WALK_TO_INPUTS, most);
  int64_t least = plim_walks_least(&res->walks, storage, PLIM_WALK_TO_READERS);
  int64_t sum_ns = plim_walks_sum(&res->walks, storage, PLIM_WALK_TO_INPUTS, most - least);
  if (sum_ns > most) return sum_ns;
  return sum_ns + plim_walks_sum(&res->walks, storage, PLIM_WALK_TO_READERS, most - sum_ns);
}
