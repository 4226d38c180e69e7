/* From runs to a command list, in one pass. At each run its operands are brought to its space. Room is made by buffers
 * that leave: what is somewhere else too is dropped, other buffers are paged out, at once after their last use. What
 * copies do in the list is a first proposal: plim_command_list_spread moves them.
 *
 * Commands have keys while they are made, since a copy out belongs after a run that is in the list already:
 * 4 r + 1 a copy for run r, 4 r + 2 the run, 4 r + 3 a copy after it. */
#include <string.h>

#include "planner/paging/queue_search.h"

/* ---- runs ---- */

static void close_unwanted(plim_decoder *d, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < d->spaces->n; k++) {
      if (*plim_decoder_buffer_of(d, storage[i], k) >= 0 && !plim_decoder_is_wanted(d, storage[i], k, d->now))
        plim_decoder_close_place(d, storage[i], k);
    }
  }
}

/* Bring a storage to the space of the run. 0: no room, or it is nowhere. */
static int bring(plim_decoder *d, int32_t storage, int32_t space) {
  int64_t bytes = d->graph->storage[storage].bytes;
  int32_t from = -1;
  if (bytes == 0 || *plim_decoder_buffer_of(d, storage, space) >= 0) return 1;
  if (!plim_decoder_make_room(d, space, plim_decoder_bytes_of(d, storage))) return 0;
  for (int32_t k = 0; k < d->spaces->n; k++) {
    if (*plim_decoder_buffer_of(d, storage, k) < 0 || d->spaces->bytes_per_ns[k][space] <= 0) continue;
    if (from >= 0 &&
        plim_queue_copy_ns(d->spaces, k, space, bytes) >= plim_queue_copy_ns(d->spaces, from, space, bytes)) {
      continue;
    }
    from = k;
  }
  if (from < 0) return 0;
  plim_decoder_add_copy(d, storage, from, space, 4 * (int64_t)d->now + 1, d->now);
  if (!plim_decoder_is_wanted(d, storage, from, d->now - 1)) plim_decoder_close_place(d, storage, from);
  return 1;
}

/* May pair `pair` be taken, for all that its input is wanted afterwards? */
static int pair_is_free(const plim_decoder *d, const plim_op *op, plim_pair pair, int32_t space, const int32_t *over) {
  const plim_graph *g = d->graph;
  const int32_t in = g->value[op->in[pair.in]].storage, out = g->value[op->out[pair.out]].storage;
  for (int32_t k = 0; k < op->n_out; k++) {
    if (over[k] == in) return 0;
  }
  if (over[pair.out] >= 0 || g->storage[in].producer < 0 || !plim_op_may_overwrite(g, op, pair)) return 0;
  return *plim_decoder_buffer_of(d, in, space) >= 0 && *plim_decoder_buffer_of(d, out, space) < 0;
}

/* Outputs that are written over an input which nothing wants afterwards; over [n_out]: the input's storage, or -1. */
static void choose_pairs(const plim_decoder *d, const plim_op *op, int32_t space, plim_command *command,
                         int32_t *over) {
  command->n_pairs = 0;
  for (int32_t i = 0; i < op->n_out; i++) over[i] = -1;
  for (int32_t i = 0; i < op->n_pairs; i++) {
    const int32_t in = d->graph->value[op->in[op->pair[i].in]].storage;
    if (!pair_is_free(d, op, op->pair[i], space, over) || plim_decoder_is_wanted(d, in, space, d->now)) continue;
    over[op->pair[i].out] = in;
    command->pair[command->n_pairs++] = op->pair[i];
  }
}

/* Outputs that are written over an input which is wanted afterwards, and is somewhere else, or is copied there first.
 * For a run that has no room else. */
static void force_pairs(plim_decoder *d, const plim_op *op, int32_t space, plim_command *command, int32_t *over) {
  for (int32_t i = 0; i < op->n_pairs; i++) {
    const int32_t in = d->graph->value[op->in[op->pair[i].in]].storage;
    if (!pair_is_free(d, op, op->pair[i], space, over)) continue;
    if (!plim_decoder_is_elsewhere(d, in, space) && !plim_decoder_page_out(d, in, space)) continue;
    over[op->pair[i].out] = in;
    command->pair[command->n_pairs++] = op->pair[i];
  }
}

static int32_t over_of(const plim_graph *g, const plim_op *op, const int32_t *over, int32_t storage) {
  for (int32_t i = 0; i < op->n_out; i++) {
    if (g->value[op->out[i]].storage == storage && over[i] >= 0) return over[i];
  }
  return -1;
}

/* The outputs get buffers; those of pairs have the boxes of their inputs, which end. */
static void begin_outputs(plim_decoder *d, const plim_op *op, int32_t space, const int32_t *over) {
  for (int32_t i = 0; i < op->n_writes && d->list->status == PLIM_OK; i++) {
    int32_t s = op->writes[i], in = over_of(d->graph, op, over, s), old = -1;
    if (d->graph->storage[s].bytes == 0) continue;
    if (*plim_decoder_buffer_of(d, s, space) < 0) {
      int32_t fresh = plim_command_list_add_buffer(d->list, s, space, d->list->n, plim_decoder_bytes_of(d, s), -1);
      if (d->list->status != PLIM_OK) return;
      if (in >= 0) {
        old = *plim_decoder_buffer_of(d, in, space);
        plim_command_list_overwrite(d->list, old, fresh);
        plim_decoder_close_place(d, in, space);
      }
      plim_decoder_open_place(d, s, space, fresh);
    }
    plim_command_list_add_use(d->list, *plim_decoder_buffer_of(d, s, space), 1);
  }
}

static void use_storages(plim_decoder *d, int32_t n, const int32_t *storage, int32_t space, int32_t writes) {
  plim_command_list_add_uses(d->list, n, storage, plim_decoder_buffer_of(d, 0, space), writes);
  for (int32_t i = 0; i < n; i++) plim_decoder_place_of(d, storage[i], space)->last_use = d->now;
}

static void pin(plim_decoder *d, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) d->pinned[storage[i]] = d->now + 1;
}

static int64_t bytes_to_begin(const plim_decoder *d, const plim_op *op, int32_t space, const int32_t *over) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < op->n_writes; i++) {
    int32_t s = op->writes[i];
    if (*plim_decoder_buffer_of(d, s, space) < 0 && over_of(d->graph, op, over, s) < 0)
      bytes += plim_decoder_bytes_of(d, s);
  }
  return bytes;
}

/* Copies of what the run has updated are of no use. */
static void close_stale(plim_decoder *d, const plim_op *op) {
  for (int32_t i = 0; i < op->n_updates; i++) {
    for (int32_t k = 1; k < d->spaces->n; k++) {
      if (*plim_decoder_buffer_of(d, op->updates[i], k) >= 0) plim_decoder_close_place(d, op->updates[i], k);
    }
  }
}

static int add_run(plim_decoder *d) {
  plim_command command = d->runs->plan->command[d->now];
  const plim_op *op = &d->graph->op[command.op];
  const plim_variant *variant = &d->runs->plan->variant[command.variant].variant;
  int64_t workspace_bytes = plim_align_up(variant->workspace_bytes, PLIM_ALIGN);
  int32_t space = d->space[d->now], *over = d->over;
  pin(d, op->n_reads, op->reads);
  pin(d, op->n_writes, op->writes);
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (!bring(d, op->reads[i], space)) return 0;
  }
  choose_pairs(d, op, space, &command, over);
  if (!plim_decoder_make_room(d, space, bytes_to_begin(d, op, space, over) + workspace_bytes)) {
    force_pairs(d, op, space, &command, over);
    if (!plim_decoder_make_room(d, space, bytes_to_begin(d, op, space, over) + workspace_bytes)) return 0;
  }
  command.space = space;
  command.queue = d->spaces->run_queue[space];
  use_storages(d, op->n_reads, op->reads, space, 0);
  begin_outputs(d, op, space, over);
  use_storages(d, op->n_updates, op->updates, space, 1);
  for (int32_t i = 0; i < op->n_writes; i++) {
    if (d->graph->storage[op->writes[i]].bytes > 0) plim_decoder_place_of(d, op->writes[i], space)->last_use = d->now;
  }
  if (workspace_bytes > 0) {
    plim_command_list_add_use(d->list,
                              plim_command_list_add_buffer(d->list, -1, space, d->list->n, workspace_bytes, -1), 1);
  }
  plim_decoder_add_command(d, &command, variant->time_ns, 4 * (int64_t)d->now + 2);
  for (int32_t k = 0; k < d->spaces->n; k++) d->most_bytes[k][d->now] = d->live_bytes[k];
  d->most_bytes[space][d->now] += workspace_bytes;
  close_stale(d, op);
  close_unwanted(d, op->n_reads, op->reads);
  close_unwanted(d, op->n_writes, op->writes);
  return 1;
}

static void advance_cursors(const plim_decoder *d, const plim_op *op) {
  const int32_t n[] = {op->n_reads, op->n_writes, op->n_updates};
  const int32_t *const list[] = {op->reads, op->writes, op->updates};
  for (int32_t i = 0; i < 3; i++) {
    for (int32_t k = 0; k < n[i]; k++) {
      int32_t s = list[i][k];
      while (d->cursor[s] < d->runs->first[s + 1] && d->runs->access[d->cursor[s]].run <= d->now) d->cursor[s]++;
    }
  }
}

/* Persistent storages at the plan's offsets, and inputs, are there from the start. */
static void begin_given(plim_decoder *d) {
  const plim_plan *plan = d->runs->plan;
  for (int32_t i = 0; i < plan->n_buffers && d->list->status == PLIM_OK; i++) {
    const plim_plan_buffer *b = &plan->buffer[i];
    if (b->storage < 0 || d->graph->storage[b->storage].producer >= 0) continue;
    int32_t id = plim_command_list_add_buffer(d->list, b->storage, 0, -1, b->bytes, b->offset);
    if (d->list->status != PLIM_OK) return;
    d->list->buffer[id].stays = plim_role_persistent(d->graph->storage[b->storage].role);
    plim_decoder_open_place(d, b->storage, 0, id);
  }
}

/* Outputs end in space 0. */
static int hand_over(plim_decoder *d) {
  for (int32_t s = 0; s < d->graph->n_storages; s++) {
    if (d->graph->storage[s].role != PLIM_ROLE_OUTPUT || d->graph->storage[s].bytes == 0) continue;
    if (!bring(d, s, 0)) return 0;
    if (d->list->status == PLIM_OK) d->list->buffer[*plim_decoder_buffer_of(d, s, 0)].stays = 1;
  }
  return 1;
}

/* ---- all runs ---- */

static int decode(plim_decoder *d) {
  begin_given(d);
  for (d->now = 0; d->now < d->runs->n && d->list->status == PLIM_OK; d->now++) {
    if (!add_run(d)) return 0;
    advance_cursors(d, &d->graph->op[d->runs->plan->command[d->now].op]);
  }
  return d->list->status == PLIM_OK && hand_over(d);
}

static int32_t most_outputs(const plim_graph *g) {
  int32_t most = 0;
  for (int32_t o = 0; o < g->n_ops; o++) {
    if (g->op[o].n_out > most) most = g->op[o].n_out;
  }
  return most;
}

plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces, const int32_t *space,
                              double noise, plim_random *random, plim_command_list *list, int32_t *fits) {
  plim_context *ctx = runs->ctx;
  plim_decoder d = {.runs = runs,
                    .graph = runs->graph,
                    .spaces = spaces,
                    .space = space,
                    .noise = noise,
                    .random = random,
                    .list = list};
  int32_t storages = runs->graph->n_storages, outputs = most_outputs(runs->graph);
  int64_t places = (int64_t)storages * spaces->n, ends = (int64_t)runs->n + 1;
  plim_status status;
  *fits = 0;
  PLIM_CHECK(plim_allocate(ctx, outputs, sizeof *d.over, &d.over));
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
  for (int64_t i = 0; i < places; i++) d.place[i] = (plim_queue_place){.last_use = -1};
  memcpy(d.cursor, runs->first, (size_t)storages * sizeof *d.cursor);
  *fits = decode(&d);
  PLIM_CHECK(list->status);
  if (*fits) PLIM_CHECK(plim_command_list_sort(list, d.key));
done:
  plim_release(ctx, d.over, outputs, sizeof *d.over);
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
