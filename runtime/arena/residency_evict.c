/* Which window goes. Each storage is priced alone, by what it costs to recompute and by how far away its next read
 * is. Where the future is known, the search returns the few best windows, and those are priced again as a whole:
 * storages of one window may share the ops that bring them back, or need each other. */
#include <assert.h>

#include "runtime/arena/residency.h"

enum { CANDIDATES = 8 };

int plim_residency_evictable(const plim_residency *t, int32_t storage) {
  const plim_holder *holder = &t->holder[storage];
  if (t->graph->storage[storage].producer < 0 || holder->pins > 0) return 0;
  if (holder->block >= 0 && plim_arena_blocks_side(t->blocks, holder->block) == PLIM_SIDE_SMALL) return 0;
  return holder->last_read <= t->forecast->deadline[storage];
}

/* Is the block free, or held by what may be evicted? */
static int may_join(const plim_residency *t, const plim_arena_block *block) {
  if (block->owner == PLIM_ARENA_BLOCK_FREE) return 1;
  return block->owner < t->graph->n_storages && plim_residency_evictable(t, block->owner);
}

int plim_residency_can_make_room(const plim_residency *t, int64_t bytes) {
  int64_t run = 0;
  for (int32_t id = t->blocks->first; id != PLIM_NEVER; id = t->blocks->block[id].next) {
    if (plim_arena_blocks_side(t->blocks, id) == PLIM_SIDE_SMALL) return 0;
    run = may_join(t, &t->blocks->block[id]) ? run + t->blocks->block[id].bytes : 0;
    if (run >= bytes) return 1;
  }
  return 0;
}

/* cost / distance in fixed point; both are times of one step. */
static int64_t per_distance(int64_t cost_ns, int64_t distance_ns) {
  const int64_t most = INT64_MAX >> PLIM_SCORE_FRACTION_BITS;
  if (distance_ns < 1) distance_ns = 1;
  if (distance_ns > most) distance_ns = most;
  int64_t whole = cost_ns / distance_ns, rest = cost_ns % distance_ns;
  if (whole >= most) return INT64_MAX;
  return (whole << PLIM_SCORE_FRACTION_BITS) + (rest << PLIM_SCORE_FRACTION_BITS) / distance_ns;
}

/* A distance as the policy divides by it. */
static int64_t divisor(const plim_policy *policy, int64_t distance_ns) {
  if (policy->stale == PLIM_STALE_PLAIN) return distance_ns;
  return (int64_t)plim_policy_staleness(policy, distance_ns < 1 ? 1 : distance_ns);
}

int64_t plim_residency_distance(const plim_residency *t, int32_t storage) {
  if (!t->policy->forecast) return t->clock_ns - t->holder[storage].last_ns;
  int32_t next = t->holder[storage].next_read;
  if (next == PLIM_NEVER) next = t->forecast->schedule->n_steps; /* resident still, in the middle of a plan */
  return t->forecast->start_ns[next] - t->forecast->start_ns[t->position];
}

int64_t plim_residency_window_cost(plim_residency *t, int32_t storage) {
  return per_distance(plim_residency_cost(t, storage, INT64_MAX),
                      divisor(t->policy, plim_residency_distance(t, storage)));
}

static plim_status reserve_rows(plim_residency *t, int64_t count) {
  if (count <= t->row_capacity) return PLIM_OK;
  int64_t capacity = 2 * count;
  plim_window_row *row = NULL;
  int32_t *block = NULL;
  PLIM_TRY(plim_allocate(t->ctx, capacity, sizeof *row, &row));
  plim_status status = plim_allocate(t->ctx, capacity, sizeof *block, &block);
  if (status != PLIM_OK) {
    plim_release(t->ctx, row, capacity, sizeof *row);
    return status;
  }
  plim_release(t->ctx, t->row, t->row_capacity, sizeof *t->row);
  plim_release(t->ctx, t->row_block, t->row_capacity, sizeof *t->row_block);
  t->row = row;
  t->row_block = block;
  t->row_capacity = capacity;
  return PLIM_OK;
}

/* Blocks behind the wall stay out of it. */
static void fill_rows(plim_residency *t) {
  int32_t n = 0;
  for (int32_t id = t->blocks->first; id != PLIM_NEVER; id = t->blocks->block[id].next, n++) {
    const plim_arena_block *block = &t->blocks->block[id];
    if (plim_arena_blocks_side(t->blocks, id) == PLIM_SIDE_SMALL) break;
    t->row_block[n] = id;
    t->row[n] = (plim_window_row){block->bytes, 0, PLIM_ROW_BREAKER};
    if (block->owner == PLIM_ARENA_BLOCK_FREE) {
      t->row[n].state = PLIM_ROW_FREE;
    } else if (may_join(t, block)) {
      t->row[n].state = PLIM_ROW_HELD;
      t->row[n].cost = plim_residency_window_cost(t, block->owner);
    }
  }
  t->n_rows = n;
}

/* storage [blocks]: what the window would evict. Returns how many. */
static int32_t held_storages(const plim_residency *t, const plim_window *window, int32_t *storage) {
  int32_t n = 0;
  for (int32_t i = window->begin; i < window->end; i++) {
    if (t->row[i].state == PLIM_ROW_HELD) storage[n++] = t->blocks->block[t->row_block[i]].owner;
  }
  return n;
}

/* The window as a whole: its price together over the distance of its first read. storage [blocks] is scratch. Where
 * bytes count, for each MiB. */
static int64_t score_window(plim_residency *t, const plim_window *window, int32_t *storage) {
  int32_t n = held_storages(t, window, storage);
  int64_t nearest = INT64_MAX;
  for (int32_t i = 0; i < n; i++) {
    if (plim_residency_distance(t, storage[i]) < nearest) nearest = plim_residency_distance(t, storage[i]);
  }
  int64_t score = per_distance(plim_residency_price_together(t, n, storage), divisor(t->policy, nearest));
  if (t->policy->size == PLIM_PER_NOTHING) return score;
  double a_mebibyte = (double)score / (double)window->evicted_bytes * (1 << 20);
  return a_mebibyte < 9e18 ? (int64_t)a_mebibyte : INT64_MAX;
}

/* What looking ahead wants at this search instead of the window `own`. */
static int32_t perturbation_from(const plim_residency *t, int32_t own, int32_t count) {
  for (int32_t i = 0; i < t->n_perturbations; i++) {
    if (t->perturbation[i].search == t->counts->searches) return t->perturbation[i].take % count;
  }
  return own;
}

static plim_status choose_and_evict(plim_residency *t, const plim_arena_request *request, int32_t *storage,
                                    int32_t *hole) {
  plim_window window[CANDIDATES];
  int64_t score[CANDIDATES];
  fill_rows(t);
  int32_t best = 0, joint = t->policy->forecast, candidates = joint || t->n_perturbations > 0 ? CANDIDATES : 1;
  int32_t count =
      plim_window_find(t->n_rows, t->row, request->bytes, t->policy->size != PLIM_PER_NOTHING, candidates, window);
  t->counts->blocks_scanned += t->n_rows;
  for (int32_t i = 0; i < count && joint; i++) {
    score[i] = score_window(t, &window[i], storage);
    if (score[i] < score[best]) best = i;
  }
  if (count > 0) best = perturbation_from(t, best, count);
  PLIM_TRY(
      plim_residency_notify(t, request, &(plim_arena_choice){count, best, window, joint ? score : NULL, PLIM_NEVER}));
  if (count == 0) return PLIM_OK;
  int32_t n = held_storages(t, &window[best], storage);
  assert(n > 0);
  for (int32_t i = 0; i < n; i++) PLIM_TRY(plim_residency_drop(t, storage[i], hole));
  t->counts->evictions += n;
  return PLIM_OK;
}

static plim_status evict_window(plim_residency *t, const plim_arena_request *request, int32_t *hole) {
  int32_t *storage = NULL, n_blocks = t->blocks->n_blocks;
  PLIM_TRY(reserve_rows(t, n_blocks));
  PLIM_TRY(plim_allocate(t->ctx, n_blocks, sizeof *storage, &storage));
  plim_status status = choose_and_evict(t, request, storage, hole);
  plim_release(t->ctx, storage, n_blocks, sizeof *storage);
  return status;
}

plim_status plim_residency_notify(plim_residency *t, const plim_arena_request *request,
                                  const plim_arena_choice *choice) {
  return t->watch ? t->watch->chose(t->watch->user, t, request, choice) : PLIM_OK;
}

plim_status plim_residency_evict(plim_residency *t, const plim_arena_request *request, int32_t *hole) {
  int64_t begin_ns = plim_now_ns();
  *hole = PLIM_NEVER;
  t->counts->searches++;
  t->counts->fragmentation_bytes += t->blocks->free_bytes;
  plim_status status = t->policy->search == PLIM_SEARCH_WINDOW ? evict_window(t, request, hole)
                                                               : plim_residency_evict_single(t, request, hole);
  t->counts->search_ns += plim_now_ns() - begin_ns;
  return status;
}
