/* Room for what a run needs: copies, and the buffers that leave for it. What is somewhere else too is dropped; of the
 * others the one leaves that is not read for longest, for what its copies take. */
#include <math.h>

#include "planner/paging/paging_tuning.h"
#include "planner/paging/queue_search.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

/* ---- copies ---- */

void plim_decoder_add_command(plim_decoder *d, const plim_command *command, int64_t time_ns, int64_t key) {
  plim_command_list *l = d->list;
  if (l->status == PLIM_OK)
    l->status = plim_array_reserve(l->ctx, &d->key, &d->room_keys, (int64_t)l->n + 1, sizeof *d->key);
  if (l->status == PLIM_OK) d->key[l->n] = key;
  (void)plim_command_list_add(l, command, time_ns);
}

/* The target must have room. after: the last run before it in the order. */
void plim_decoder_add_copy(plim_decoder *d, int32_t storage, int32_t from, int32_t to, int64_t key, int32_t after) {
  int64_t bytes = plim_decoder_bytes_of(d, storage);
  const plim_command command = {
      .kind = PLIM_COMMAND_COPY, .queue = d->spaces->copy_queue[from][to], .storage = storage, .from = from, .to = to};
  plim_command_list_add_use(d->list, *plim_decoder_buffer_of(d, storage, from), 0);
  int32_t target = plim_command_list_add_buffer(d->list, storage, to, d->list->n, bytes, -1);
  plim_command_list_add_use(d->list, target, 1);
  plim_decoder_add_command(d, &command, plim_queue_copy_ns(d->spaces, from, to, d->graph->storage[storage].bytes), key);
  if (d->list->status != PLIM_OK) return;
  plim_decoder_open_place(d, storage, to, target);
  plim_decoder_place_of(d, storage, from)->last_use = plim_decoder_place_of(d, storage, to)->last_use = after;
  for (int32_t j = after < 0 ? 0 : after; j < d->now; j++) d->most_bytes[to][j] += bytes;
}

/* ---- room ---- */

static int had_room(const plim_decoder *d, int32_t space, int32_t since, int64_t bytes) {
  int64_t most = d->spaces->budget_bytes[space] - bytes;
  if (d->live_bytes[space] > most) return 0;
  for (int32_t j = since < 0 ? 0 : since; j < d->now && d->spaces->budget_bytes[space] < INT64_MAX; j++) {
    if (d->most_bytes[space][j] > most) return 0;
  }
  return 1;
}

/* Where a buffer that leaves is copied to: the least time there and on to its next reader; -1: nowhere. room 0: whether
 * there is room or not. */
static int32_t find_refuge(const plim_decoder *d, int32_t storage, int32_t space, int room, int64_t *cost_ns) {
  int64_t bytes = d->graph->storage[storage].bytes;
  int32_t reader = plim_decoder_next_read(d, storage, -1, d->now - 1), best = -1;
  int32_t to = reader < INT32_MAX ? d->space[reader] : 0;
  for (int32_t k = 0; k < d->spaces->n; k++) {
    if (k == space || d->spaces->bytes_per_ns[space][k] <= 0) continue;
    if (k != to && d->spaces->bytes_per_ns[k][to] <= 0) continue;
    int64_t ns = plim_queue_copy_ns(d->spaces, space, k, bytes);
    if (k != to) ns += plim_queue_copy_ns(d->spaces, k, to, bytes);
    if (best >= 0 && ns >= *cost_ns) continue;
    if (room && !had_room(d, k, plim_decoder_place_of(d, storage, space)->last_use, plim_decoder_bytes_of(d, storage)))
      continue;
    best = k;
    *cost_ns = ns;
  }
  return best;
}

/* How good it is that the buffer leaves: how long it is not read, by what its copies take; -1: it may not. */
static double worth_of(const plim_decoder *d, int32_t storage, int32_t space) {
  int32_t reader = plim_decoder_next_read(d, storage, space, d->now - 1);
  int64_t cost_ns = 0;
  if (reader == INT32_MAX) reader = plim_decoder_next_read(d, storage, -1, d->now - 1);
  if (!plim_decoder_is_elsewhere(d, storage, space) && find_refuge(d, storage, space, 0, &cost_ns) < 0) return -1;
  if (reader == INT32_MAX) reader = d->runs->n;
  double rest_ns = (double)(d->runs->begin_ns[reader] - d->runs->begin_ns[d->now]) + 1;
  double worth = rest_ns * (double)plim_decoder_bytes_of(d, storage) /
                 ((double)cost_ns + 1 + paging_tuning.queue.rest_weight * rest_ns);
  return d->noise > 0 ? worth * exp(d->noise * (plim_random_unit(d->random) - 0.5)) : worth;
}

static int may_leave(const plim_decoder *d, int32_t storage, int32_t space) {
  if (d->stuck[storage] == d->now + 1) return 0;
  if (d->pinned[storage] == d->now + 1 && d->spaces->computes[space]) return 0;
  if (d->graph->storage[storage].producer < 0 && space == 0) return 0; /* inputs and persistent storages */
  return !(space == 0 && plim_decoder_is_last_output(d, storage, d->now - 1));
}

int plim_decoder_page_out(plim_decoder *d, int32_t storage, int32_t space) {
  int64_t cost_ns;
  const int32_t to = find_refuge(d, storage, space, 1, &cost_ns);
  if (to < 0) return 0;
  int32_t after = plim_decoder_place_of(d, storage, space)->last_use;
  if (plim_decoder_place_of(d, storage, to)->last_use > after) after = plim_decoder_place_of(d, storage, to)->last_use;
  /* what was copied in for the run in hand leaves before it, since the run may write over it */
  const int64_t key = after < d->now ? 4 * (int64_t)after + 3 : 4 * (int64_t)d->now + 1;
  plim_decoder_add_copy(d, storage, space, to, key, after);
  return 1;
}

/* One buffer leaves the space, or is found to have nowhere to go. 0: none can, or the effort is over. */
static int make_leave(plim_decoder *d, int32_t space) {
  int32_t storage = -1;
  double most = -1;
  if (plim_effort_over(d->list->ctx, 20 * (int64_t)d->n_open[space])) return 0;
  for (int32_t i = 0; i < d->n_open[space]; i++) {
    int32_t s = d->open[space][i];
    if (!may_leave(d, s, space)) continue;
    double worth = worth_of(d, s, space);
    if (worth <= most) continue;
    most = worth;
    storage = s;
  }
  if (storage < 0) return 0;
  if (!plim_decoder_is_elsewhere(d, storage, space) && !plim_decoder_page_out(d, storage, space)) {
    d->stuck[storage] = d->now + 1;
    return 1;
  }
  plim_decoder_close_place(d, storage, space);
  return 1;
}

int plim_decoder_make_room(plim_decoder *d, int32_t space, int64_t bytes) {
  while (d->live_bytes[space] > d->spaces->budget_bytes[space] - bytes) {
    if (!make_leave(d, space)) return 0;
  }
  return 1;
}
