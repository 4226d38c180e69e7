/* Which window goes. Each storage is priced alone, by what it costs to compute again and by how far away its next read
 * is. Where the future is known, the search returns the few best windows, and those are priced again as a whole:
 * storages of one window may share the ops that bring them back, or need each other. */
#include <assert.h>

#include "runtime/arena/tenants.h"

enum { CANDIDATES = 8 };

int plim_tenants_evictable(const plim_tenants *t, int32_t storage) {
  const plim_tenant *tenant = &t->tenant[storage];
  if (t->graph->storage[storage].producer < 0 || tenant->pins > 0) return 0;
  if (tenant->piece >= 0 && plim_pieces_side(t->pieces, tenant->piece) == PLIM_SIDE_SMALL) return 0;
  return tenant->last_read <= t->forecast->deadline[storage];
}

/* Is the piece free, or held by what may go? */
static int may_join(const plim_tenants *t, const plim_piece *piece) {
  if (piece->owner == PLIM_PIECE_FREE) return 1;
  return piece->owner < t->graph->n_storages && plim_tenants_evictable(t, piece->owner);
}

int plim_tenants_can_make_room(const plim_tenants *t, int64_t bytes) {
  int64_t run = 0;
  for (int32_t id = t->pieces->first; id != PLIM_NEVER; id = t->pieces->piece[id].next) {
    if (plim_pieces_side(t->pieces, id) == PLIM_SIDE_SMALL) return 0;
    run = may_join(t, &t->pieces->piece[id]) ? run + t->pieces->piece[id].bytes : 0;
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

int64_t plim_tenants_distance(const plim_tenants *t, int32_t storage) {
  if (!t->policy->forecast) return t->clock_ns - t->tenant[storage].last_ns;
  int32_t next = t->tenant[storage].next_read;
  if (next == PLIM_NEVER) next = t->forecast->schedule->n_steps; /* resident still, in the middle of a plan */
  return t->forecast->start_ns[next] - t->forecast->start_ns[t->position];
}

int64_t plim_tenants_window_cost(plim_tenants *t, int32_t storage) {
  return per_distance(plim_tenants_cost(t, storage, INT64_MAX), divisor(t->policy, plim_tenants_distance(t, storage)));
}

static plim_status reserve_rows(plim_tenants *t, int64_t count) {
  if (count <= t->row_capacity) return PLIM_OK;
  int64_t capacity = 2 * count;
  plim_window_row *row = NULL;
  int32_t *piece = NULL;
  PLIM_TRY(plim_allocate(t->ctx, capacity, sizeof *row, &row));
  plim_status status = plim_allocate(t->ctx, capacity, sizeof *piece, &piece);
  if (status != PLIM_OK) {
    plim_release(t->ctx, row, capacity, sizeof *row);
    return status;
  }
  plim_release(t->ctx, t->row, t->row_capacity, sizeof *t->row);
  plim_release(t->ctx, t->row_piece, t->row_capacity, sizeof *t->row_piece);
  t->row = row;
  t->row_piece = piece;
  t->row_capacity = capacity;
  return PLIM_OK;
}

/* Pieces behind the wall stay out of it. */
static void fill_rows(plim_tenants *t) {
  int32_t n = 0;
  for (int32_t id = t->pieces->first; id != PLIM_NEVER; id = t->pieces->piece[id].next, n++) {
    const plim_piece *piece = &t->pieces->piece[id];
    if (plim_pieces_side(t->pieces, id) == PLIM_SIDE_SMALL) break;
    t->row_piece[n] = id;
    t->row[n] = (plim_window_row){piece->bytes, 0, PLIM_ROW_BREAKER};
    if (piece->owner == PLIM_PIECE_FREE) {
      t->row[n].state = PLIM_ROW_FREE;
    } else if (may_join(t, piece)) {
      t->row[n].state = PLIM_ROW_HELD;
      t->row[n].cost = plim_tenants_window_cost(t, piece->owner);
    }
  }
  t->n_rows = n;
}

/* storage [pieces]: what the window would evict. Returns how many. */
static int32_t held_storages(const plim_tenants *t, const plim_window *window, int32_t *storage) {
  int32_t n = 0;
  for (int32_t i = window->begin; i < window->end; i++) {
    if (t->row[i].state == PLIM_ROW_HELD) storage[n++] = t->pieces->piece[t->row_piece[i]].owner;
  }
  return n;
}

/* The window as a whole: its price together over the distance of its first read. storage [pieces] is scratch. Where
 * bytes count, for each MiB. */
static int64_t score_window(plim_tenants *t, const plim_window *window, int32_t *storage) {
  int32_t n = held_storages(t, window, storage);
  int64_t nearest = INT64_MAX;
  for (int32_t i = 0; i < n; i++) {
    if (plim_tenants_distance(t, storage[i]) < nearest) nearest = plim_tenants_distance(t, storage[i]);
  }
  int64_t score = per_distance(plim_tenants_price_together(t, n, storage), divisor(t->policy, nearest));
  if (t->policy->size == PLIM_PER_NOTHING) return score;
  double a_mebibyte = (double)score / (double)window->evicted_bytes * (1 << 20);
  return a_mebibyte < 9e18 ? (int64_t)a_mebibyte : INT64_MAX;
}

/* What looking ahead wants at this search instead of the window `own`. */
static int32_t turn_from(const plim_tenants *t, int32_t own, int32_t count) {
  for (int32_t i = 0; i < t->n_turns; i++) {
    if (t->turn[i].search == t->counts->searches) return t->turn[i].take % count;
  }
  return own;
}

static plim_status choose_and_evict(plim_tenants *t, const plim_arena_request *request, int32_t *storage,
                                    int32_t *hole) {
  plim_window window[CANDIDATES];
  int64_t score[CANDIDATES];
  fill_rows(t);
  int32_t best = 0, joint = t->policy->forecast, candidates = joint || t->n_turns > 0 ? CANDIDATES : 1;
  int32_t count =
      plim_window_find(t->n_rows, t->row, request->bytes, t->policy->size != PLIM_PER_NOTHING, candidates, window);
  t->counts->pieces_scanned += t->n_rows;
  for (int32_t i = 0; i < count && joint; i++) {
    score[i] = score_window(t, &window[i], storage);
    if (score[i] < score[best]) best = i;
  }
  if (count > 0) best = turn_from(t, best, count);
  PLIM_TRY(plim_tenants_tell(t, request, &(plim_arena_choice){count, best, window, joint ? score : NULL, PLIM_NEVER}));
  if (count == 0) return PLIM_OK;
  int32_t n = held_storages(t, &window[best], storage);
  assert(n > 0);
  for (int32_t i = 0; i < n; i++) PLIM_TRY(plim_tenants_drop(t, storage[i], hole));
  t->counts->evictions += n;
  return PLIM_OK;
}

static plim_status evict_window(plim_tenants *t, const plim_arena_request *request, int32_t *hole) {
  int32_t *storage = NULL, n_pieces = t->pieces->n_pieces;
  PLIM_TRY(reserve_rows(t, n_pieces));
  PLIM_TRY(plim_allocate(t->ctx, n_pieces, sizeof *storage, &storage));
  plim_status status = choose_and_evict(t, request, storage, hole);
  plim_release(t->ctx, storage, n_pieces, sizeof *storage);
  return status;
}

plim_status plim_tenants_tell(plim_tenants *t, const plim_arena_request *request, const plim_arena_choice *choice) {
  return t->watch ? t->watch->chose(t->watch->user, t, request, choice) : PLIM_OK;
}

plim_status plim_tenants_evict(plim_tenants *t, const plim_arena_request *request, int32_t *hole) {
  int64_t begin_ns = plim_now_ns();
  *hole = PLIM_NEVER;
  t->counts->searches++;
  t->counts->fragmentation_bytes += t->pieces->free_bytes;
  plim_status status = t->policy->search == PLIM_SEARCH_WINDOW ? evict_window(t, request, hole)
                                                               : plim_tenants_evict_single(t, request, hole);
  t->counts->search_ns += plim_now_ns() - begin_ns;
  return status;
}
