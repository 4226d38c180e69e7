/* Makes room for a request: chooses which results to drop, so that one range of addresses becomes free that is large
 * enough. The neighbouring blocks of such a range are a window. Each storage is priced alone: its cost to recompute
 * over its staleness. A policy that knows the program's order then prices each of the few best windows as a whole:
 * storages of one window may share the ops that recompute them, or need each other. */
#include <assert.h>

#include "runtime/arena/residency_evict.h"
#include "runtime/arena/residency_price.h"
#include "runtime/base/array.h"

enum { CANDIDATES = 8 };

int plim_residency_evictable(const plim_residency *res, int32_t storage) {
  const plim_residency_storage *row = &res->storage[storage];
  if (res->graph->storage[storage].producer < 0 || row->pins > 0) return 0;
  if (row->block >= 0 && plim_arena_blocks_side(res->blocks, row->block) == PLIM_SIDE_SMALL) return 0;
  return row->last_read <= res->forecast->deadline[storage];
}

/* May the block be in a window: is it free, or does it hold a storage that may be evicted? */
static int may_join(const plim_residency *res, const plim_arena_block *block) {
  if (block->owner == PLIM_ARENA_BLOCK_FREE) return 1;
  return block->owner < res->graph->n_storages && plim_residency_evictable(res, block->owner);
}

int plim_residency_can_make_room(const plim_residency *res, int64_t bytes) {
  int64_t run = 0;
  for (int32_t id = res->blocks->first; id != PLIM_NONE; id = res->blocks->block[id].next) {
    if (plim_arena_blocks_side(res->blocks, id) == PLIM_SIDE_SMALL) return 0;
    run = may_join(res, &res->blocks->block[id]) ? run + res->blocks->block[id].bytes : 0;
    if (run >= bytes) return 1;
  }
  return 0;
}

/* cost / distance in fixed point; both are times of one step. */
static int64_t per_distance(int64_t cost_ns, int64_t distance_ns) {
  const int64_t most = INT64_MAX >> PLIM_SCORE_FRACTION_BITS;
  if (distance_ns < 1) distance_ns = 1;
  if (distance_ns > most) distance_ns = most;
  int64_t quotient = cost_ns / distance_ns, remainder = cost_ns % distance_ns;
  if (quotient >= most) return INT64_MAX;
  return (quotient << PLIM_SCORE_FRACTION_BITS) + (remainder << PLIM_SCORE_FRACTION_BITS) / distance_ns;
}

/* The policy's divisor for a distance. */
static int64_t divisor(const plim_policy *policy, int64_t distance_ns) {
  if (policy->stale == PLIM_STALE_PLAIN) return distance_ns;
  return (int64_t)plim_policy_staleness(policy, distance_ns < 1 ? 1 : distance_ns);
}

int64_t plim_residency_distance(const plim_residency *res, int32_t storage) {
  if (!res->policy->forecast) return res->clock_ns - res->storage[storage].last_ns;
  int32_t next = res->storage[storage].next_read;
  if (next == PLIM_NEVER) next = res->forecast->schedule->n_commands; /* resident although nothing reads it again */
  return res->forecast->start_ns[next] - res->forecast->start_ns[res->position];
}

int64_t plim_residency_window_cost(plim_residency *res, int32_t storage) {
  return per_distance(plim_residency_cost(res, storage, PLIM_TIME_INFINITE),
                      divisor(res->policy, plim_residency_distance(res, storage)));
}

static plim_status reserve_rows(plim_residency *res, int64_t count) {
  plim_residency_rows *rows = &res->rows;
  PLIM_TRY(plim_array_reserve(res->ctx, &rows->row, &rows->row_capacity, count, sizeof *rows->row));
  return plim_array_reserve(res->ctx, &rows->block, &rows->block_capacity, count, sizeof *rows->block);
}

/* Fill the rows of the window search with the blocks below the wall. */
static void fill_rows(plim_residency *res) {
  int32_t n = 0;
  for (int32_t id = res->blocks->first; id != PLIM_NONE; id = res->blocks->block[id].next, n++) {
    const plim_arena_block *block = &res->blocks->block[id];
    if (plim_arena_blocks_side(res->blocks, id) == PLIM_SIDE_SMALL) break;
    res->rows.block[n] = id;
    res->rows.row[n] = (plim_window_row){block->bytes, 0, PLIM_ROW_BREAKER};
    if (block->owner == PLIM_ARENA_BLOCK_FREE) {
      res->rows.row[n].state = PLIM_ROW_FREE;
    } else if (may_join(res, block)) {
      res->rows.row[n].state = PLIM_ROW_EVICTABLE;
      res->rows.row[n].cost = plim_residency_window_cost(res, block->owner);
    }
  }
  res->rows.n = n;
}

/* The storages that the window would evict. storage [blocks] out. Returns how many. */
static int32_t evictable_storages(const plim_residency *res, const plim_window *window, int32_t *storage) {
  int32_t n = 0;
  for (int32_t i = window->begin; i < window->end; i++) {
    if (res->rows.row[i].state == PLIM_ROW_EVICTABLE) storage[n++] = res->blocks->block[res->rows.block[i]].owner;
  }
  return n;
}

/* Score of a window as a whole: the price of all its storages together over the distance of the nearest read. A policy
 * that divides by bytes gets the score of one MiB. storage [blocks] is scratch. */
static int64_t score_window(plim_residency *res, const plim_window *window, int32_t *storage) {
  int32_t n = evictable_storages(res, window, storage);
  int64_t nearest = INT64_MAX;
  for (int32_t i = 0; i < n; i++) {
    if (plim_residency_distance(res, storage[i]) < nearest) nearest = plim_residency_distance(res, storage[i]);
  }
  int64_t score = per_distance(plim_residency_price_together(res, n, storage), divisor(res->policy, nearest));
  if (res->policy->size == PLIM_PER_NOTHING) return score;
  double a_mebibyte = (double)score / (double)window->evicted_bytes * (1 << 20);
  return a_mebibyte < 9e18 ? (int64_t)a_mebibyte : PLIM_TIME_INFINITE;
}

/* The window that a perturbation takes at this search; `own` when there is no perturbation. */
static int32_t perturbation_from(const plim_residency *res, int32_t own, int32_t count) {
  for (int32_t i = 0; i < res->n_perturbations; i++) {
    if (res->perturbation[i].search == res->counts->searches) return res->perturbation[i].take % count;
  }
  return own;
}

static plim_status choose_and_evict(plim_residency *res, const plim_arena_request *request, int32_t *storage,
                                    int32_t *hole) {
  plim_window window[CANDIDATES];
  int64_t score[CANDIDATES];
  fill_rows(res);
  int32_t best = 0, joint = res->policy->forecast, candidates = joint || res->n_perturbations > 0 ? CANDIDATES : 1;
  int32_t count = plim_window_find(res->rows.n, res->rows.row, request->bytes, res->policy->size != PLIM_PER_NOTHING,
                                   candidates, window);
  res->counts->blocks_scanned += res->rows.n;
  for (int32_t i = 0; i < count && joint; i++) {
    score[i] = score_window(res, &window[i], storage);
    if (score[i] < score[best]) best = i;
  }
  if (count > 0) best = perturbation_from(res, best, count);
  PLIM_TRY(
      plim_residency_notify(res, request, &(plim_arena_choice){count, best, window, joint ? score : NULL, PLIM_NONE}));
  if (count == 0) return PLIM_OK;
  int32_t n = evictable_storages(res, &window[best], storage);
  assert(n > 0);
  for (int32_t i = 0; i < n; i++) PLIM_TRY(plim_residency_drop(res, storage[i], hole));
  res->counts->evictions += n;
  return PLIM_OK;
}

static plim_status evict_window(plim_residency *res, const plim_arena_request *request, int32_t *hole) {
  int32_t *storage = NULL, n_blocks = res->blocks->n_blocks;
  PLIM_TRY(reserve_rows(res, n_blocks));
  PLIM_TRY(plim_allocate(res->ctx, n_blocks, sizeof *storage, &storage));
  plim_status status = choose_and_evict(res, request, storage, hole);
  plim_release(res->ctx, storage, n_blocks, sizeof *storage);
  return status;
}

plim_status plim_residency_notify(plim_residency *res, const plim_arena_request *request,
                                  const plim_arena_choice *choice) {
  return res->watch ? res->watch->chose(res->watch->user, res, request, choice) : PLIM_OK;
}

plim_status plim_residency_evict(plim_residency *res, const plim_arena_request *request, int32_t *hole) {
  int64_t begin_ns = plim_now_ns();
  *hole = PLIM_NONE;
  res->counts->searches++;
  res->counts->fragmentation_bytes += res->blocks->free_bytes;
  plim_status status = res->policy->search == PLIM_SEARCH_WINDOW ? evict_window(res, request, hole)
                                                                 : plim_residency_evict_single(res, request, hole);
  res->counts->search_ns += plim_now_ns() - begin_ns;
  return status;
}
