/* Some policies price a storage by all dropped results around it, which a walk over the graph finds. A walk for each
 * price would be slow. So the sums are kept for each storage, exact or as lower bounds, until a change may have touched
 * them. Walks have an explicit stack. A mark of the walk's stamp keeps it from meeting a storage twice, without
 * clearing. */
#include "runtime/arena/walk_bounds.h"

#include <assert.h>

plim_status plim_walks_open(plim_context *ctx, int32_t n_storages, int keep_exact, plim_walk_owner owner,
                            plim_walks *out) {
  *out = (plim_walks){.ctx = ctx, .owner = owner, .n_storages = n_storages, .keep_exact = keep_exact};
  PLIM_TRY(plim_allocate(ctx, n_storages, sizeof *out->mark, &out->mark));
  PLIM_TRY(plim_allocate(ctx, n_storages, sizeof *out->stack, &out->stack));
  for (int direction = 0; direction < PLIM_WALK_DIRECTIONS; direction++) {
    PLIM_TRY(plim_allocate(ctx, n_storages, sizeof *out->sum[direction], &out->sum[direction]));
  }
  return PLIM_OK;
}

void plim_walks_release(plim_walks *walks) {
  plim_release(walks->ctx, walks->mark, walks->n_storages, sizeof *walks->mark);
  plim_release(walks->ctx, walks->stack, walks->n_storages, sizeof *walks->stack);
  for (int direction = 0; direction < PLIM_WALK_DIRECTIONS; direction++) {
    plim_release(walks->ctx, walks->sum[direction], walks->n_storages, sizeof *walks->sum[direction]);
  }
}

static int64_t walk(plim_walks *walks, int32_t storage, plim_walk_direction direction, int64_t most) {
  int64_t sum_ns = 0;
  int32_t depth = 1, n;
  const int32_t *list;
  walks->mark[storage] = ++walks->stamp;
  walks->stack[0] = storage;
  while (depth > 0 && sum_ns <= most) {
    int32_t from = walks->stack[--depth];
    for (int32_t i = 0; (n = walks->owner.neighbours(walks->owner.user, from, direction, i, &list)) >= 0; i++) {
      for (int32_t k = 0; k < n; k++) {
        if (walks->mark[list[k]] == walks->stamp) continue;
        walks->mark[list[k]] = walks->stamp;
        int64_t ns = walks->owner.missing_ns(walks->owner.user, list[k]);
        if (ns < 0) continue;
        sum_ns += ns;
        walks->stack[depth++] = list[k];
      }
    }
  }
  return sum_ns;
}

/* A walk continues up to a sum of 2 x most, so that it is not repeated for every larger `most`. */
int64_t plim_walks_sum(plim_walks *walks, int32_t storage, plim_walk_direction direction, int64_t most) {
  plim_walk_sum *known = &walks->sum[direction][storage];
#ifdef PLIM_SANITIZED
  int64_t sum_ns = walk(walks, storage, direction, PLIM_TIME_INFINITE);
  assert(known->exact ? known->sum_ns == sum_ns : known->sum_ns <= sum_ns);
#endif
  if (known->exact || known->sum_ns > most) return known->sum_ns;
  int64_t end = most < INT64_MAX / 2 ? 2 * most : INT64_MAX;
  known->sum_ns = walk(walks, storage, direction, end);
  known->exact = walks->keep_exact && known->sum_ns <= end;
  return known->sum_ns;
}

int64_t plim_walks_least(const plim_walks *walks, int32_t storage, plim_walk_direction direction) {
  return walks->sum[direction][storage].sum_ns;
}

int plim_walks_any_missing(const plim_walks *walks, int32_t storage, plim_walk_direction direction) {
  const int32_t *list;
  int32_t n;
  for (int32_t i = 0; (n = walks->owner.neighbours(walks->owner.user, storage, direction, i, &list)) >= 0; i++) {
    for (int32_t k = 0; k < n; k++) {
      if (walks->owner.missing_ns(walks->owner.user, list[k]) >= 0) return 1;
    }
  }
  return 0;
}

void plim_walks_lower(plim_walks *walks, int32_t n_storages, const int32_t *storage, plim_walk_direction direction,
                      int64_t lost_ns, int exact) {
  const plim_walk_direction back = direction == PLIM_WALK_TO_INPUTS ? PLIM_WALK_TO_READERS : PLIM_WALK_TO_INPUTS;
  int32_t depth = 0, n;
  const int32_t *list;
  walks->stamp++;
  for (; depth < n_storages; depth++) {
    walks->stack[depth] = storage[depth];
    walks->mark[storage[depth]] = walks->stamp;
  }
  while (depth > 0) {
    int32_t from = walks->stack[--depth];
    for (int32_t i = 0; (n = walks->owner.neighbours(walks->owner.user, from, back, i, &list)) >= 0; i++) {
      for (int32_t k = 0; k < n; k++) {
        plim_walk_sum *known = &walks->sum[direction][list[k]];
        if (walks->mark[list[k]] == walks->stamp) continue;
        walks->mark[list[k]] = walks->stamp;
        known->exact = known->exact && exact;
        known->sum_ns = known->sum_ns > lost_ns ? known->sum_ns - lost_ns : 0;
        if (walks->owner.missing_ns(walks->owner.user, list[k]) >= 0) walks->stack[depth++] = list[k];
      }
    }
  }
}

void plim_walks_forget(plim_walks *walks, int32_t storage, plim_walk_direction direction) {
  walks->sum[direction][storage] = (plim_walk_sum){0, 0};
}
