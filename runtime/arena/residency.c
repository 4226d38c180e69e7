/* Persistent storages sit at the low end in graph order, inputs after them; nothing of both is ever evicted, so that
 * no pinned block stands as a wall in the middle of the arena. Small results and workspaces may have an area at the
 * high end, so that they do not stand between large ones either. */
#include "runtime/arena/residency.h"

#include <assert.h>

#include "runtime/base/array.h"

int plim_residency_holds(const plim_residency *t, int32_t storage) {
  return t->holder[storage].block != PLIM_NEVER;
}

int plim_residency_empty(const plim_residency *t, int32_t storage) {
  return t->graph->storage[storage].bytes == 0;
}

int plim_residency_wanted(const plim_residency *t, int32_t storage) {
  plim_role role = t->graph->storage[storage].role;
  if (plim_role_persistent(role)) return 1;
  return role == PLIM_ROLE_INPUT ? t->forecast->hold[storage] >= t->position
                                 : t->holder[storage].next_read != PLIM_NEVER;
}

/* Who holds the block of a workspace: an id that is no storage. */
static int32_t workspace_owner(const plim_residency *t) {
  return t->graph->n_storages;
}

plim_status plim_residency_add_buffer(plim_residency *t, const plim_plan_buffer *buffer) {
  PLIM_TRY(plim_array_reserve(t->ctx, &t->buffer, &t->buffer_capacity, t->n_buffers + 1, sizeof *t->buffer));
  t->buffer[t->n_buffers] = *buffer;
  t->buffer[t->n_buffers++].end = buffer->begin + 1;
  if (buffer->storage >= 0) t->holder[buffer->storage].buffer = t->n_buffers - 1;
  return PLIM_OK;
}

/* A buffer in that block from the next step on. */
static plim_status add_buffer(plim_residency *t, int32_t storage, int32_t block) {
  const plim_arena_block *p = &t->blocks->block[block];
  plim_plan_buffer buffer = {.storage = storage, .begin = t->n_steps, .offset = p->offset, .bytes = p->bytes};
  return plim_residency_add_buffer(t, &buffer);
}

static plim_end end_for(const plim_residency *t, int32_t storage) {
  if (!t->two_ends) return PLIM_END_LOW;
  if (storage < 0) return PLIM_END_HIGH;
  return t->graph->storage[storage].producer < 0 || t->forecast->costly[storage] ? PLIM_END_LOW : PLIM_END_HIGH;
}

static plim_status no_room(const plim_residency *t, int32_t op, int32_t storage, int64_t bytes) {
  const char *what = "its workspace";
  for (int32_t v = t->graph->n_values - 1; v >= 0 && storage >= 0; v--) {
    if (t->graph->value[v].storage == storage) what = t->graph->value[v].name;
  }
  return plim_fail(
      t->ctx, PLIM_ENOFIT,
      "op \"%s\" finds no room for %s, %lld bytes, in an arena of %lld: %lld are free, at most %lld in one "
      "piece, and nothing more can be evicted",
      op >= 0 ? t->graph->op[op].name : "(start)", what, (long long)bytes, (long long)t->blocks->bytes,
      (long long)t->blocks->free_bytes, (long long)plim_arena_blocks_largest_free(t->blocks));
}

/* Small results and workspaces go to their area. */
static plim_side side_for(const plim_residency *t, int32_t storage, int64_t bytes) {
  int made = storage < 0 || t->graph->storage[storage].producer >= 0;
  return made && bytes <= t->small_bytes ? PLIM_SIDE_SMALL : PLIM_SIDE_MAIN;
}

/* Take a free block, if there is one. A small request that finds its area full goes to the main area. A large request
 * that finds no room removes the wall of the small area. */
static plim_status take_free(plim_residency *t, int32_t storage, int64_t bytes, int32_t owner, int32_t *taken) {
  plim_end end = end_for(t, storage);
  if (side_for(t, storage, bytes) == PLIM_SIDE_SMALL) {
    PLIM_TRY(plim_arena_blocks_take(t->blocks, bytes, owner, PLIM_SIDE_SMALL, end, taken));
    if (*taken >= 0) return PLIM_OK;
    t->counts->spills++;
  }
  PLIM_TRY(plim_arena_blocks_take(t->blocks, bytes, owner, PLIM_SIDE_MAIN, end, taken));
  if (*taken >= 0 || t->small_bytes == 0 || plim_residency_can_make_room(t, plim_align_up(bytes, PLIM_ALIGN))) {
    return PLIM_OK;
  }
  plim_arena_blocks_join(t->blocks);
  t->small_bytes = 0;
  return plim_arena_blocks_take(t->blocks, bytes, owner, PLIM_SIDE_MAIN, end, taken);
}

plim_status plim_residency_place(plim_residency *t, int32_t op, int32_t storage, int64_t bytes, int32_t *block) {
  int32_t owner = storage >= 0 ? storage : workspace_owner(t), taken = PLIM_NEVER;
  plim_end end = end_for(t, storage);
  *block = PLIM_NO_ARENA_BLOCK;
  if (storage >= 0 && plim_residency_empty(t, storage)) {
    t->holder[storage].block = PLIM_NO_ARENA_BLOCK;
    return PLIM_OK;
  }
  PLIM_TRY(take_free(t, storage, bytes, owner, &taken));
  if (taken < 0) {
    int32_t hole = PLIM_NEVER;
    int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
    if (rounded > 0) PLIM_TRY(plim_residency_evict(t, &(plim_arena_request){op, storage, rounded}, &hole));
    if (hole < 0) return no_room(t, op, storage, bytes);
    PLIM_TRY(plim_arena_blocks_take_from(t->blocks, hole, bytes, owner, end, &taken));
  }
  if (storage >= 0) {
    assert(!plim_residency_holds(t, storage));
    if (plim_missing_has(&t->missing, storage)) plim_residency_found(t, storage);
    t->holder[storage].block = taken;
    plim_missing_remove(&t->missing, storage);
  }
  *block = taken;
  return add_buffer(t, storage, taken);
}

plim_status plim_residency_go_missing(plim_residency *t, int32_t storage) {
  const plim_graph *g = t->graph;
  int32_t producer = g->storage[storage].producer;
  t->holder[storage].block = PLIM_NEVER;
  if (producer < 0) return PLIM_OK;
  PLIM_TRY(plim_missing_add(&t->missing, storage, t->forecast->op_ns[producer]));
  for (int32_t k = 0; k < g->op[producer].n_reads; k++) {
    int32_t s = g->op[producer].reads[k];
    if (plim_missing_has(&t->missing, s)) plim_missing_join(&t->missing, storage, s);
  }
  for (int32_t i = g->reader_first[storage]; i < g->reader_first[storage + 1]; i++) {
    const plim_op *reader = &g->op[g->reader[i]];
    for (int32_t k = 0; k < reader->n_writes; k++) {
      int32_t s = reader->writes[k];
      if (plim_residency_counts(t, s)) plim_missing_join(&t->missing, storage, s);
    }
  }
  plim_residency_lost(t, storage);
  return PLIM_OK;
}

plim_status plim_residency_hand_over(plim_residency *t, int32_t in, int32_t out) {
  int32_t block = t->holder[in].block;
  plim_arena_blocks_hand_over(t->blocks, block, out);
  t->buffer[t->holder[in].buffer].end = t->n_steps;
  if (plim_missing_has(&t->missing, out)) plim_residency_found(t, out); /* what it reads is still there */
  PLIM_TRY(plim_residency_go_missing(t, in));
  t->holder[out].block = block;
  plim_missing_remove(&t->missing, out);
  return add_buffer(t, out, block);
}

plim_status plim_residency_drop(plim_residency *t, int32_t storage, int32_t *hole) {
  int32_t left = plim_arena_blocks_give(t->blocks, t->holder[storage].block);
  if (hole) *hole = left;
  return plim_residency_go_missing(t, storage);
}

plim_status plim_residency_drop_unwanted(plim_residency *t, int32_t storage) {
  if (!plim_residency_holds(t, storage) || t->holder[storage].pins > 0) return PLIM_OK;
  if (plim_residency_empty(t, storage)) return PLIM_OK;
  return plim_residency_wanted(t, storage) ? PLIM_OK : plim_residency_drop(t, storage, NULL);
}

plim_status plim_residency_add_step(plim_residency *t, const plim_step *step) {
  PLIM_TRY(plim_array_reserve(t->ctx, &t->step, &t->step_capacity, t->n_steps + 1, sizeof *t->step));
  t->step[t->n_steps++] = *step;
  t->clock_ns += t->forecast->schedule->variant[step->variant].variant.time_ns;
  return PLIM_OK;
}

void plim_residency_use(plim_residency *t, int32_t storage, int32_t step) {
  if (plim_residency_empty(t, storage)) return;
  t->buffer[t->holder[storage].buffer].end = step + 1;
  t->holder[storage].last_ns = t->clock_ns;
}

void plim_residency_pass(plim_residency *t) {
  const plim_forecast *f = t->forecast;
  const plim_op *op = &t->graph->op[f->schedule->step[t->position].op];
  int32_t use = f->first_use[t->position];
  for (int32_t k = 0; k < op->n_reads; k++) {
    int32_t s = op->reads[k];
    t->holder[s].next_read = f->next_read[use + k];
    if (plim_missing_has(&t->missing, s)) plim_residency_uncertain(t, s); /* it was written over */
  }
  for (int32_t k = 0; k < op->n_writes; k++) {
    t->holder[op->writes[k]].next_read = f->next_read[use + op->n_reads + k];
    t->holder[op->writes[k]].last_read = f->last_read[use + op->n_reads + k];
  }
  t->position++;
}

/* Constants first, in graph order, then inputs: both at the low end of an empty arena. */
static plim_status place_sources(plim_residency *t) {
  for (int32_t inputs = 0; inputs < 2; inputs++) {
    for (int32_t s = 0; s < t->graph->n_storages; s++) {
      plim_role role = t->graph->storage[s].role;
      int32_t block, here = inputs ? role == PLIM_ROLE_INPUT && t->forecast->hold[s] >= 0 : plim_role_persistent(role);
      if (here) PLIM_TRY(plim_residency_place(t, PLIM_NEVER, s, t->graph->storage[s].bytes, &block));
    }
  }
  return PLIM_OK;
}

static plim_status open_residency(plim_residency *t, int32_t from, int64_t bytes, int64_t area_bytes) {
  PLIM_TRY(plim_missing_init(&t->missing, t->ctx, t->graph->n_storages));
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->holder, &t->holder));
  PLIM_TRY(plim_allocate(t->ctx, t->n_marks, sizeof *t->mark, &t->mark));
  PLIM_TRY(plim_allocate(t->ctx, t->n_marks, sizeof *t->stack, &t->stack));
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->lost, &t->lost));
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->is_lost, &t->is_lost));
  for (int way = 0; way < 2; way++) {
    PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->reach[way], &t->reach[way]));
  }
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    t->holder[s] = (plim_holder){PLIM_NEVER, PLIM_NEVER, 0, PLIM_NEVER, PLIM_NEVER, 0};
  }
  PLIM_TRY(plim_arena_blocks_new(t->ctx, bytes, &t->blocks));
  if (from > 0 && t->small_bytes > 0) PLIM_TRY(plim_arena_blocks_wall_off(t->blocks, area_bytes));
  if (from > 0) return plim_residency_resume(t, from);
  PLIM_TRY(place_sources(t));
  if (t->small_bytes > 0) PLIM_TRY(plim_arena_blocks_wall_off(t->blocks, t->forecast->small_load_bytes));
  t->counts->small_area_bytes = t->blocks->bytes - t->blocks->wall;
  if (t->counts->small_area_bytes == 0) t->small_bytes = 0;
  return PLIM_OK;
}

plim_status plim_residency_open(plim_context *ctx, const plim_forecast *forecast, int32_t from, int64_t bytes,
                                const plim_replay_config *how, plim_replay_counts *counts, plim_residency *out) {
  const plim_graph *graph = forecast->graph;
  *out = (plim_residency){.ctx = ctx,
                          .graph = graph,
                          .forecast = forecast,
                          .policy = how->policy,
                          .counts = counts,
                          .two_ends = how->two_ends,
                          .small_bytes = how->small_area ? forecast->small_bytes : 0,
                          .clock_ns = 1,
                          .n_marks = graph->n_ops > graph->n_storages ? graph->n_ops : graph->n_storages};
  plim_status status = open_residency(out, from, bytes, how->area_bytes);
  if (status == PLIM_OK) return PLIM_OK;
  plim_residency_close(out);
  *out = (plim_residency){.ctx = NULL};
  return status;
}

void plim_residency_close(plim_residency *t) {
  plim_missing_release(&t->missing);
  plim_arena_blocks_free(t->blocks);
  plim_release(t->ctx, t->holder, t->graph->n_storages, sizeof *t->holder);
  plim_release(t->ctx, t->mark, t->n_marks, sizeof *t->mark);
  plim_release(t->ctx, t->stack, t->n_marks, sizeof *t->stack);
  plim_release(t->ctx, t->lost, t->graph->n_storages, sizeof *t->lost);
  plim_release(t->ctx, t->is_lost, t->graph->n_storages, sizeof *t->is_lost);
  for (int way = 0; way < 2; way++) {
    plim_release(t->ctx, t->reach[way], t->graph->n_storages, sizeof *t->reach[way]);
  }
  plim_release(t->ctx, t->step, t->step_capacity, sizeof *t->step);
  plim_release(t->ctx, t->buffer, t->buffer_capacity, sizeof *t->buffer);
  plim_release(t->ctx, t->row, t->row_capacity, sizeof *t->row);
  plim_release(t->ctx, t->row_block, t->row_capacity, sizeof *t->row_block);
}
