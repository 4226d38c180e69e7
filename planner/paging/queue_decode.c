/* From runs to a command list, in one pass. At each run its operands are brought to its space. Room is made by buffers
 * that leave: what is somewhere else too is dropped, other buffers are paged out, at once after their last use. What
 * copies do in the list is a first proposal: plim_list_spread moves them.
 *
 * Commands have keys while they are made, since a copy out belongs after a run that is in the list already:
 * 4 r + 1 a copy for run r, 4 r + 2 the run, 4 r + 3 a copy after it. */
#include <math.h>
#include <string.h>

#include "planner/paging/paging_tuning.h"
#include "planner/paging/queue_search.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

enum { SPACES = PLIM_PAGE_SPACES + 1 };

/* ---- what is where ---- */

/* Storage s in a space. */
typedef struct place {
  int32_t last_use; /* run after which nothing has touched it, there or no longer there; -1: none has */
  int32_t at;       /* in open */
} place;

typedef struct decoder {
  const plim_queue_runs *r;
  const plim_graph *g;
  const plim_queue_spaces *spaces;
  const int32_t *space;
  double noise;
  plim_random *random;
  plim_space_command_list *l;
  int32_t now;           /* run */
  place *place;          /* [spaces][n_storages] */
  int32_t *buffer;       /* [spaces][n_storages] of the list; -1: it is not there */
  int32_t *cursor;       /* [n_storages] first access after the run in hand, or at it */
  int32_t *pinned;       /* [n_storages] run + 1 for which it stays */
  int32_t *stuck;        /* [n_storages] run + 1 for which it has nowhere to go */
  int32_t *open[SPACES]; /* [n_storages] storages that may leave */
  int32_t n_open[SPACES];
  int64_t live_bytes[SPACES];
  int64_t *most_bytes[SPACES]; /* [n + 1] live bytes at the end of each run */
  int64_t *key;                /* of commands */
  int64_t room_keys;
} decoder;

static place *place_of(const decoder *d, int32_t storage, int32_t space) {
  return &d->place[(int64_t)space * d->g->n_storages + storage];
}

static int32_t *buffer_of(const decoder *d, int32_t storage, int32_t space) {
  return &d->buffer[(int64_t)space * d->g->n_storages + storage];
}

static int64_t bytes_of(const decoder *d, int32_t storage) {
  return plim_align_up(d->g->storage[storage].bytes, PLIM_ALIGN);
}

static int is_home(const decoder *d, int32_t storage, int32_t space) {
  return space == 0 && plim_role_persistent(d->g->storage[storage].role);
}

/* The next run after `run` that reads the storage with what it has now, in a space (-1: anywhere); INT32_MAX: none. */
static int32_t next_read(const decoder *d, int32_t storage, int32_t space, int32_t run) {
  for (int32_t i = d->cursor[storage]; i < d->r->first[storage + 1]; i++) {
    const struct plim_run_access *a = &d->r->access[i];
    if (a->run == INT32_MAX) break;
    if (a->run <= run) continue;
    if (a->reads && (space < 0 || d->space[a->run] == space)) return a->run;
    if (a->writes) break;
  }
  return INT32_MAX;
}

static int is_elsewhere(const decoder *d, int32_t storage, int32_t space) {
  for (int32_t k = 0; k < d->spaces->n; k++) {
    if (k != space && *buffer_of(d, storage, k) >= 0) return 1;
  }
  return 0;
}

/* An output that no later run writes is to be in space 0 at the end. */
static int is_last_output(const decoder *d, int32_t storage, int32_t run) {
  if (d->g->storage[storage].role != PLIM_ROLE_OUTPUT) return 0;
  for (int32_t i = d->cursor[storage]; i < d->r->first[storage + 1]; i++) {
    if (d->r->access[i].run != INT32_MAX && d->r->access[i].run > run && d->r->access[i].writes) return 0;
  }
  return 1;
}

/* Is the buffer of the storage there read, copied or handed over after `run`? */
static int is_wanted(const decoder *d, int32_t storage, int32_t space, int32_t run) {
  if (is_home(d, storage, space)) return 1;
  if (is_last_output(d, storage, run) && (space == 0 || *buffer_of(d, storage, 0) < 0)) return 1;
  if (next_read(d, storage, space, run) < INT32_MAX) return 1;
  int keeps = !d->spaces->computes[space] || !is_elsewhere(d, storage, space);
  return keeps && next_read(d, storage, -1, run) < INT32_MAX;
}

static void open_place(decoder *d, int32_t storage, int32_t space, int32_t buffer) {
  place *p = place_of(d, storage, space);
  *buffer_of(d, storage, space) = buffer;
  p->at = d->n_open[space];
  d->open[space][d->n_open[space]++] = storage;
  d->live_bytes[space] += bytes_of(d, storage);
}

static void close_place(decoder *d, int32_t storage, int32_t space) {
  place *p = place_of(d, storage, space);
  int32_t last = d->open[space][--d->n_open[space]];
  d->open[space][p->at] = last;
  place_of(d, last, space)->at = p->at;
  *buffer_of(d, storage, space) = -1;
  d->live_bytes[space] -= bytes_of(d, storage);
}

/* ---- copies ---- */

static void add_command(decoder *d, const plim_command *command, int64_t time_ns, int64_t key) {
  plim_space_command_list *l = d->l;
  if (l->status == PLIM_OK)
    l->status = plim_array_reserve(l->ctx, &d->key, &d->room_keys, (int64_t)l->n + 1, sizeof *d->key);
  if (l->status == PLIM_OK) d->key[l->n] = key;
  (void)plim_list_add(l, command, time_ns);
}

/* The target must have room. after: the last run before it in the order. */
static void add_copy(decoder *d, int32_t storage, int32_t from, int32_t to, int64_t key, int32_t after) {
  int64_t bytes = bytes_of(d, storage);
  const plim_command command = {
      .kind = PLIM_COMMAND_COPY, .queue = d->spaces->copy_queue[from][to], .storage = storage, .from = from, .to = to};
  plim_list_add_use(d->l, *buffer_of(d, storage, from), 0);
  int32_t target = plim_list_add_buffer(d->l, storage, to, d->l->n, bytes, -1);
  plim_list_add_use(d->l, target, 1);
  add_command(d, &command, plim_queue_copy_ns(d->spaces, from, to, d->g->storage[storage].bytes), key);
  if (d->l->status != PLIM_OK) return;
  open_place(d, storage, to, target);
  place_of(d, storage, from)->last_use = place_of(d, storage, to)->last_use = after;
  for (int32_t j = after < 0 ? 0 : after; j < d->now; j++) d->most_bytes[to][j] += bytes;
}

/* ---- room ---- */

static int had_room(const decoder *d, int32_t space, int32_t since, int64_t bytes) {
  int64_t most = d->spaces->budget_bytes[space] - bytes;
  if (d->live_bytes[space] > most) return 0;
  for (int32_t j = since < 0 ? 0 : since; j < d->now && d->spaces->budget_bytes[space] < INT64_MAX; j++) {
    if (d->most_bytes[space][j] > most) return 0;
  }
  return 1;
}

/* Where a buffer that leaves is copied to: the least time there and on to its next reader; -1: nowhere. room 0: whether
 * there is room or not. */
static int32_t find_refuge(const decoder *d, int32_t storage, int32_t space, int room, int64_t *cost_ns) {
  int64_t bytes = d->g->storage[storage].bytes;
  int32_t reader = next_read(d, storage, -1, d->now - 1), best = -1;
  int32_t to = reader < INT32_MAX ? d->space[reader] : 0;
  for (int32_t k = 0; k < d->spaces->n; k++) {
    if (k == space || d->spaces->bytes_per_ns[space][k] <= 0) continue;
    if (k != to && d->spaces->bytes_per_ns[k][to] <= 0) continue;
    int64_t ns = plim_queue_copy_ns(d->spaces, space, k, bytes);
    if (k != to) ns += plim_queue_copy_ns(d->spaces, k, to, bytes);
    if (best >= 0 && ns >= *cost_ns) continue;
    if (room && !had_room(d, k, place_of(d, storage, space)->last_use, bytes_of(d, storage))) continue;
    best = k;
    *cost_ns = ns;
  }
  return best;
}

/* How good it is that the buffer leaves: how long it is not read, by what its copies take; -1: it may not. */
static double worth_of(const decoder *d, int32_t storage, int32_t space) {
  int32_t reader = next_read(d, storage, space, d->now - 1);
  int64_t cost_ns = 0;
  if (reader == INT32_MAX) reader = next_read(d, storage, -1, d->now - 1);
  if (!is_elsewhere(d, storage, space) && find_refuge(d, storage, space, 0, &cost_ns) < 0) return -1;
  if (reader == INT32_MAX) reader = d->r->n;
  double rest_ns = (double)(d->r->begin_ns[reader] - d->r->begin_ns[d->now]) + 1;
  double worth = rest_ns * (double)bytes_of(d, storage) / ((double)cost_ns + 1 + tuning.queue.rest_weight * rest_ns);
  return d->noise > 0 ? worth * exp(d->noise * (plim_random_unit(d->random) - 0.5)) : worth;
}

static int may_leave(const decoder *d, int32_t storage, int32_t space) {
  if (d->stuck[storage] == d->now + 1) return 0;
  if (d->pinned[storage] == d->now + 1 && d->spaces->computes[space]) return 0;
  if (d->g->storage[storage].producer < 0 && space == 0) return 0; /* inputs and persistent storages */
  return !(space == 0 && is_last_output(d, storage, d->now - 1));
}

/* One buffer leaves the space, or is found to have nowhere to go. 0: none can, or the effort is over. */
static int make_leave(decoder *d, int32_t space) {
  int32_t storage = -1, to = -1;
  double most = -1;
  int64_t cost_ns;
  if (plim_effort_over(d->l->ctx, 20 * (int64_t)d->n_open[space])) return 0;
  for (int32_t i = 0; i < d->n_open[space]; i++) {
    int32_t s = d->open[space][i];
    if (!may_leave(d, s, space)) continue;
    double worth = worth_of(d, s, space);
    if (worth <= most) continue;
    most = worth;
    storage = s;
  }
  if (storage < 0) return 0;
  if (!is_elsewhere(d, storage, space)) {
    to = find_refuge(d, storage, space, 1, &cost_ns);
    if (to < 0) {
      d->stuck[storage] = d->now + 1;
      return 1;
    }
    int32_t after = place_of(d, storage, space)->last_use;
    if (place_of(d, storage, to)->last_use > after) after = place_of(d, storage, to)->last_use;
    add_copy(d, storage, space, to, 4 * (int64_t)after + 3, after);
  }
  close_place(d, storage, space);
  return 1;
}

static int make_room(decoder *d, int32_t space, int64_t bytes) {
  while (d->live_bytes[space] > d->spaces->budget_bytes[space] - bytes) {
    if (!make_leave(d, space)) return 0;
  }
  return 1;
}

/* ---- runs ---- */

static void close_unwanted(decoder *d, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < d->spaces->n; k++) {
      if (*buffer_of(d, storage[i], k) >= 0 && !is_wanted(d, storage[i], k, d->now)) close_place(d, storage[i], k);
    }
  }
}

/* Bring a storage to the space of the run. 0: no room, or it is nowhere. */
static int bring(decoder *d, int32_t storage, int32_t space) {
  int64_t bytes = d->g->storage[storage].bytes;
  int32_t from = -1;
  if (bytes == 0 || *buffer_of(d, storage, space) >= 0) return 1;
  if (!make_room(d, space, bytes_of(d, storage))) return 0;
  for (int32_t k = 0; k < d->spaces->n; k++) {
    if (*buffer_of(d, storage, k) < 0 || d->spaces->bytes_per_ns[k][space] <= 0) continue;
    if (from >= 0 &&
        plim_queue_copy_ns(d->spaces, k, space, bytes) >= plim_queue_copy_ns(d->spaces, from, space, bytes)) {
      continue;
    }
    from = k;
  }
  if (from < 0) return 0;
  add_copy(d, storage, from, space, 4 * (int64_t)d->now + 1, d->now);
  if (!is_wanted(d, storage, from, d->now - 1)) close_place(d, storage, from);
  return 1;
}

/* Outputs that are written over an input which nothing wants afterwards; over [n_out]: the input's storage, or -1. */
static void choose_pairs(const decoder *d, const plim_op *op, int32_t space, plim_command *command, int32_t *over) {
  const plim_graph *g = d->g;
  command->n_pairs = 0;
  for (int32_t i = 0; i < op->n_out; i++) over[i] = -1;
  for (int32_t i = 0; i < op->n_pairs; i++) {
    plim_pair pair = op->pair[i];
    int32_t in = g->value[op->in[pair.in]].storage, out = g->value[op->out[pair.out]].storage, taken = 0;
    for (int32_t k = 0; k < op->n_out; k++) taken |= over[k] == in;
    if (taken || over[pair.out] >= 0 || g->storage[in].producer < 0 || g->storage[in].role == PLIM_ROLE_OUTPUT)
      continue;
    if (*buffer_of(d, in, space) < 0 || *buffer_of(d, out, space) >= 0) continue;
    if (is_wanted(d, in, space, d->now)) continue;
    over[pair.out] = in;
    command->pair[command->n_pairs++] = pair;
  }
}

static int32_t over_of(const plim_graph *g, const plim_op *op, const int32_t *over, int32_t storage) {
  for (int32_t i = 0; i < op->n_out; i++) {
    if (g->value[op->out[i]].storage == storage && over[i] >= 0) return over[i];
  }
  return -1;
}

/* The outputs get buffers; those of pairs have the boxes of their inputs, which end. */
static void begin_outputs(decoder *d, const plim_op *op, int32_t space, const int32_t *over) {
  for (int32_t i = 0; i < op->n_writes && d->l->status == PLIM_OK; i++) {
    int32_t s = op->writes[i], in = over_of(d->g, op, over, s), old = -1;
    if (d->g->storage[s].bytes == 0) continue;
    if (*buffer_of(d, s, space) < 0) {
      int32_t fresh = plim_list_add_buffer(d->l, s, space, d->l->n, bytes_of(d, s), -1);
      if (d->l->status != PLIM_OK) return;
      if (in >= 0) {
        old = *buffer_of(d, in, space);
        plim_list_overwrite(d->l, old, fresh);
        close_place(d, in, space);
      }
      open_place(d, s, space, fresh);
    }
    plim_list_add_use(d->l, *buffer_of(d, s, space), 1);
  }
}

static void use_storages(decoder *d, int32_t n, const int32_t *storage, int32_t space, int32_t writes) {
  plim_list_add_uses(d->l, n, storage, buffer_of(d, 0, space), writes);
  for (int32_t i = 0; i < n; i++) place_of(d, storage[i], space)->last_use = d->now;
}

static void pin(decoder *d, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) d->pinned[storage[i]] = d->now + 1;
}

static int64_t bytes_to_begin(const decoder *d, const plim_op *op, int32_t space, const int32_t *over) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < op->n_writes; i++) {
    int32_t s = op->writes[i];
    if (*buffer_of(d, s, space) < 0 && over_of(d->g, op, over, s) < 0) bytes += bytes_of(d, s);
  }
  return bytes;
}

/* Copies of what the run has updated are of no use. */
static void close_stale(decoder *d, const plim_op *op) {
  for (int32_t i = 0; i < op->n_updates; i++) {
    for (int32_t k = 1; k < d->spaces->n; k++) {
      if (*buffer_of(d, op->updates[i], k) >= 0) close_place(d, op->updates[i], k);
    }
  }
}

static int add_run(decoder *d) {
  plim_command command = d->r->plan->command[d->now];
  const plim_op *op = &d->g->op[command.op];
  const plim_variant *variant = &d->r->plan->variant[command.variant].variant;
  int64_t workspace_bytes = plim_align_up(variant->workspace_bytes, PLIM_ALIGN);
  int32_t space = d->space[d->now], over[PLIM_OP_MAX_OUT];
  pin(d, op->n_reads, op->reads);
  pin(d, op->n_writes, op->writes);
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (!bring(d, op->reads[i], space)) return 0;
  }
  choose_pairs(d, op, space, &command, over);
  if (!make_room(d, space, bytes_to_begin(d, op, space, over) + workspace_bytes)) return 0;
  command.space = space;
  command.queue = d->spaces->run_queue[space];
  use_storages(d, op->n_reads, op->reads, space, 0);
  begin_outputs(d, op, space, over);
  use_storages(d, op->n_updates, op->updates, space, 1);
  for (int32_t i = 0; i < op->n_writes; i++) {
    if (d->g->storage[op->writes[i]].bytes > 0) place_of(d, op->writes[i], space)->last_use = d->now;
  }
  if (workspace_bytes > 0) {
    plim_list_add_use(d->l, plim_list_add_buffer(d->l, -1, space, d->l->n, workspace_bytes, -1), 1);
  }
  add_command(d, &command, variant->time_ns, 4 * (int64_t)d->now + 2);
  for (int32_t k = 0; k < d->spaces->n; k++) d->most_bytes[k][d->now] = d->live_bytes[k];
  d->most_bytes[space][d->now] += workspace_bytes;
  close_stale(d, op);
  close_unwanted(d, op->n_reads, op->reads);
  close_unwanted(d, op->n_writes, op->writes);
  return 1;
}

static void advance_cursors(const decoder *d, const plim_op *op) {
  const int32_t n[] = {op->n_reads, op->n_writes, op->n_updates};
  const int32_t *const list[] = {op->reads, op->writes, op->updates};
  for (int32_t i = 0; i < 3; i++) {
    for (int32_t k = 0; k < n[i]; k++) {
      int32_t s = list[i][k];
      while (d->cursor[s] < d->r->first[s + 1] && d->r->access[d->cursor[s]].run <= d->now) d->cursor[s]++;
    }
  }
}

/* Persistent storages at the plan's offsets, and inputs, are there from the start. */
static void begin_given(decoder *d) {
  const plim_plan *plan = d->r->plan;
  for (int32_t i = 0; i < plan->n_buffers && d->l->status == PLIM_OK; i++) {
    const plim_plan_buffer *b = &plan->buffer[i];
    if (b->storage < 0 || d->g->storage[b->storage].producer >= 0) continue;
    int32_t id = plim_list_add_buffer(d->l, b->storage, 0, -1, b->bytes, b->offset);
    if (d->l->status != PLIM_OK) return;
    d->l->buffer[id].stays = plim_role_persistent(d->g->storage[b->storage].role);
    open_place(d, b->storage, 0, id);
  }
}

/* Outputs end in space 0. */
static int hand_over(decoder *d) {
  for (int32_t s = 0; s < d->g->n_storages; s++) {
    if (d->g->storage[s].role != PLIM_ROLE_OUTPUT || d->g->storage[s].bytes == 0) continue;
    if (!bring(d, s, 0)) return 0;
    if (d->l->status == PLIM_OK) d->l->buffer[*buffer_of(d, s, 0)].stays = 1;
  }
  return 1;
}

/* ---- all runs ---- */

static int decode(decoder *d) {
  begin_given(d);
  for (d->now = 0; d->now < d->r->n && d->l->status == PLIM_OK; d->now++) {
    if (!add_run(d)) return 0;
    advance_cursors(d, &d->g->op[d->r->plan->command[d->now].op]);
  }
  return d->l->status == PLIM_OK && hand_over(d);
}

plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces, const int32_t *space,
                              double noise, plim_random *random, plim_space_command_list *list, int32_t *fits) {
  plim_context *ctx = runs->ctx;
  decoder d = {
      .r = runs, .g = runs->graph, .spaces = spaces, .space = space, .noise = noise, .random = random, .l = list};
  int32_t storages = runs->graph->n_storages;
  int64_t places = (int64_t)storages * spaces->n, ends = (int64_t)runs->n + 1;
  plim_status status;
  *fits = 0;
  PLIM_CHECK(plim_allocate(ctx, places, sizeof *d.place, &d.place));
  PLIM_CHECK(plim_allocate(ctx, places, sizeof *d.buffer, &d.buffer));
  PLIM_CHECK(plim_allocate(ctx, storages, sizeof *d.cursor, &d.cursor));
  PLIM_CHECK(plim_allocate(ctx, storages, sizeof *d.pinned, &d.pinned));
  PLIM_CHECK(plim_allocate(ctx, storages, sizeof *d.stuck, &d.stuck));
  for (int32_t k = 0; k < spaces->n; k++) {
    PLIM_CHECK(plim_allocate(ctx, storages, sizeof *d.open[k], &d.open[k]));
    PLIM_CHECK(plim_allocate(ctx, ends, sizeof *d.most_bytes[k], &d.most_bytes[k]));
  }
  memset(d.buffer, -1, (size_t)places * sizeof *d.buffer);
  for (int64_t i = 0; i < places; i++) d.place[i] = (place){.last_use = -1};
  memcpy(d.cursor, runs->first, (size_t)storages * sizeof *d.cursor);
  *fits = decode(&d);
  PLIM_CHECK(list->status);
  if (*fits) PLIM_CHECK(plim_list_sort(list, d.key));
done:
  plim_release(ctx, d.place, places, sizeof *d.place);
  plim_release(ctx, d.buffer, places, sizeof *d.buffer);
  plim_release(ctx, d.cursor, storages, sizeof *d.cursor);
  plim_release(ctx, d.pinned, storages, sizeof *d.pinned);
  plim_release(ctx, d.stuck, storages, sizeof *d.stuck);
  for (int32_t k = 0; k < spaces->n; k++) {
    plim_release(ctx, d.open[k], storages, sizeof *d.open[k]);
    plim_release(ctx, d.most_bytes[k], ends, sizeof *d.most_bytes[k]);
  }
  plim_release(ctx, d.key, d.room_keys, sizeof *d.key);
  return status;
}
