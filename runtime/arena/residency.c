/* Keeps which results are in memory during a simulated step, and at which addresses, and writes down the plan that this
 * yields. Persistent storages are placed at the low end in graph order, inputs after them. Neither is ever evicted, and
 * at the low end they do not split the rest of the arena. Small outputs and workspaces may have an area at the high
 * end, so that they do not split it either. */
#include "runtime/arena/residency_evict.h"
#include "runtime/arena/residency_price.h"

#include <assert.h>

#include "runtime/base/array.h"

int plim_residency_is_resident(const plim_residency *res, int32_t storage) {
  return res->storage[storage].block != PLIM_NONE;
}

int plim_residency_empty(const plim_residency *res, int32_t storage) {
  return res->graph->storage[storage].bytes == 0;
}

int plim_residency_wanted(const plim_residency *res, int32_t storage) {
  plim_role role = res->graph->storage[storage].role;
  if (plim_role_persistent(role)) return 1;
  return role == PLIM_ROLE_INPUT ? res->forecast->last_need[storage] >= res->position
                                 : res->storage[storage].next_read != PLIM_NEVER;
}

/* The owner of a workspace's block: an id that is no storage. */
static int32_t workspace_owner(const plim_residency *res) {
  return res->graph->n_storages;
}

plim_status plim_residency_add_buffer(plim_residency *res, const plim_plan_buffer *buffer) {
  PLIM_TRY(plim_array_reserve(res->ctx, &res->plan.buffer, &res->plan.buffer_capacity, res->plan.n_buffers + 1,
                              sizeof *res->plan.buffer));
  res->plan.buffer[res->plan.n_buffers] = *buffer;
  res->plan.buffer[res->plan.n_buffers++].end = buffer->begin + 1;
  if (buffer->storage >= 0) res->storage[buffer->storage].buffer = res->plan.n_buffers - 1;
  return PLIM_OK;
}

/* Append a buffer in that block, which begins with the next command. */
static plim_status add_buffer(plim_residency *res, int32_t storage, int32_t block) {
  const plim_arena_block *from = &res->blocks->block[block];
  plim_plan_buffer buffer = {
      .storage = storage, .begin = res->plan.n_commands, .offset = from->offset, .bytes = from->bytes};
  return plim_residency_add_buffer(res, &buffer);
}

static plim_end end_for(const plim_residency *res, int32_t storage) {
  if (!res->two_ends) return PLIM_END_LOW;
  if (storage < 0) return PLIM_END_HIGH;
  return res->graph->storage[storage].producer < 0 || res->forecast->costly[storage] ? PLIM_END_LOW : PLIM_END_HIGH;
}

static plim_status no_room(const plim_residency *res, int32_t op, int32_t storage, int64_t bytes) {
  const char *what = plim_graph_storage_name(res->graph, storage, "its workspace");
  return plim_fail(
      res->ctx, PLIM_ENOFIT,
      "op \"%s\" finds no room for %s, %lld bytes, in an arena of %lld: %lld are free, at most %lld in one "
      "piece, and nothing more can be evicted",
      op >= 0 ? res->graph->op[op].name : "(start)", what, (long long)bytes, (long long)res->blocks->bytes,
      (long long)res->blocks->free_bytes, (long long)plim_arena_blocks_largest_free(res->blocks));
}

/* The side of a request: small outputs and workspaces have their own area. */
static plim_side side_for(const plim_residency *res, int32_t storage, int64_t bytes) {
  int made = storage < 0 || res->graph->storage[storage].producer >= 0;
  return made && bytes <= res->small_bytes ? PLIM_SIDE_SMALL : PLIM_SIDE_MAIN;
}

/* Take a free block, if there is one. A small request that finds its area full goes to the main area. A large request
 * that finds no room removes the wall of the small area. */
static plim_status use_free_block(plim_residency *res, int32_t storage, int64_t bytes, int32_t owner, int32_t *taken) {
  plim_end end = end_for(res, storage);
  if (side_for(res, storage, bytes) == PLIM_SIDE_SMALL) {
    PLIM_TRY(plim_arena_blocks_take(res->blocks, bytes, owner, PLIM_SIDE_SMALL, end, taken));
    if (*taken >= 0) return PLIM_OK;
    res->counts->spills++;
  }
  PLIM_TRY(plim_arena_blocks_take(res->blocks, bytes, owner, PLIM_SIDE_MAIN, end, taken));
  if (*taken >= 0 || res->small_bytes == 0 || plim_residency_can_make_room(res, plim_align_up(bytes, PLIM_ALIGN))) {
    return PLIM_OK;
  }
  plim_arena_blocks_join(res->blocks);
  res->small_bytes = 0;
  return plim_arena_blocks_take(res->blocks, bytes, owner, PLIM_SIDE_MAIN, end, taken);
}

plim_status plim_residency_place(plim_residency *res, int32_t op, int32_t storage, int64_t bytes, int32_t *block) {
  int32_t owner = storage >= 0 ? storage : workspace_owner(res), taken = PLIM_NONE;
  plim_end end = end_for(res, storage);
  *block = PLIM_ARENA_BLOCK_EMPTY;
  if (storage >= 0 && plim_residency_empty(res, storage)) {
    res->storage[storage].block = PLIM_ARENA_BLOCK_EMPTY;
    return PLIM_OK;
  }
  PLIM_TRY(use_free_block(res, storage, bytes, owner, &taken));
  if (taken < 0) {
    int32_t hole = PLIM_NONE;
    int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
    if (rounded > 0) PLIM_TRY(plim_residency_evict(res, &(plim_arena_request){op, storage, rounded}, &hole));
    if (hole < 0) return no_room(res, op, storage, bytes);
    PLIM_TRY(plim_arena_blocks_take_from(res->blocks, hole, bytes, owner, end, &taken));
  }
  if (storage >= 0) {
    assert(!plim_residency_is_resident(res, storage));
    if (plim_missing_has(&res->missing, storage)) plim_residency_note_found(res, storage);
    res->storage[storage].block = taken;
    plim_missing_remove(&res->missing, storage);
  }
  *block = taken;
  return add_buffer(res, storage, taken);
}

plim_status plim_residency_go_missing(plim_residency *res, int32_t storage) {
  const plim_graph *g = res->graph;
  int32_t producer = g->storage[storage].producer;
  res->storage[storage].block = PLIM_NONE;
  if (producer < 0) return PLIM_OK;
  PLIM_TRY(plim_missing_add(&res->missing, storage, res->forecast->op_ns[producer]));
  for (int32_t k = 0; k < g->op[producer].n_reads; k++) {
    int32_t s = g->op[producer].reads[k];
    if (plim_missing_has(&res->missing, s)) plim_missing_join(&res->missing, storage, s);
  }
  for (int32_t i = g->reader_first[storage]; i < g->reader_first[storage + 1]; i++) {
    const plim_op *reader = &g->op[g->reader[i]];
    for (int32_t k = 0; k < reader->n_writes; k++) {
      int32_t s = reader->writes[k];
      if (plim_residency_is_priced(res, s)) plim_missing_join(&res->missing, storage, s);
    }
  }
  plim_residency_note_lost(res, storage);
  return PLIM_OK;
}

plim_status plim_residency_hand_over(plim_residency *res, int32_t in, int32_t out) {
  int32_t block = res->storage[in].block;
  plim_arena_blocks_hand_over(res->blocks, block, out);
  res->plan.buffer[res->storage[in].buffer].end = res->plan.n_commands;
  if (plim_missing_has(&res->missing, out)) plim_residency_note_found(res, out); /* its op's reads are still resident */
  PLIM_TRY(plim_residency_go_missing(res, in));
  res->storage[out].block = block;
  plim_missing_remove(&res->missing, out);
  return add_buffer(res, out, block);
}

plim_status plim_residency_drop(plim_residency *res, int32_t storage, int32_t *hole) {
  int32_t left = plim_arena_blocks_give(res->blocks, res->storage[storage].block);
  if (hole) *hole = left;
  return plim_residency_go_missing(res, storage);
}

plim_status plim_residency_drop_unwanted(plim_residency *res, int32_t storage) {
  if (!plim_residency_is_resident(res, storage) || res->storage[storage].pins > 0) return PLIM_OK;
  if (plim_residency_empty(res, storage)) return PLIM_OK;
  return plim_residency_wanted(res, storage) ? PLIM_OK : plim_residency_drop(res, storage, NULL);
}

plim_status plim_residency_add_command(plim_residency *res, const plim_command *command) {
  PLIM_TRY(plim_array_reserve(res->ctx, &res->plan.command, &res->plan.command_capacity, res->plan.n_commands + 1,
                              sizeof *res->plan.command));
  res->plan.command[res->plan.n_commands++] = *command;
  res->clock_ns += res->forecast->schedule->variant[command->variant].variant.time_ns;
  return PLIM_OK;
}

void plim_residency_use(plim_residency *res, int32_t storage, int32_t command) {
  if (plim_residency_empty(res, storage)) return;
  res->plan.buffer[res->storage[storage].buffer].end = command + 1;
  res->storage[storage].last_ns = res->clock_ns;
}

void plim_residency_advance(plim_residency *res) {
  const plim_forecast *forecast = res->forecast;
  const plim_op *op = &res->graph->op[forecast->schedule->command[res->position].op];
  int32_t use = forecast->first_use[res->position];
  for (int32_t k = 0; k < op->n_reads; k++) {
    int32_t s = op->reads[k];
    res->storage[s].next_read = forecast->next_read[use + k];
    if (plim_missing_has(&res->missing, s)) plim_residency_note_uncertain(res, s); /* it was overwritten in place */
  }
  for (int32_t k = 0; k < op->n_writes; k++) {
    res->storage[op->writes[k]].next_read = forecast->next_read[use + op->n_reads + k];
    res->storage[op->writes[k]].last_read = forecast->last_read[use + op->n_reads + k];
  }
  res->position++;
}

/* Place persistent storages in graph order, then inputs: both at the low end of an empty arena. */
static plim_status place_sources(plim_residency *res) {
  for (int32_t inputs = 0; inputs < 2; inputs++) {
    for (int32_t s = 0; s < res->graph->n_storages; s++) {
      const plim_role role = res->graph->storage[s].role;
      const int is_needed_input = role == PLIM_ROLE_INPUT && res->forecast->last_need[s] >= 0;
      const int is_wanted = inputs ? is_needed_input : plim_role_persistent(role);
      int32_t block;
      if (is_wanted) PLIM_TRY(plim_residency_place(res, PLIM_NONE, s, res->graph->storage[s].bytes, &block));
    }
  }
  return PLIM_OK;
}

static plim_status open_residency(plim_residency *res, int32_t from, int64_t bytes, int64_t area_bytes) {
  PLIM_TRY(plim_missing_init(&res->missing, res->ctx, res->graph->n_storages));
  PLIM_TRY(plim_allocate(res->ctx, res->graph->n_storages, sizeof *res->storage, &res->storage));
  PLIM_TRY(plim_allocate(res->ctx, res->graph->n_ops, sizeof *res->price.mark, &res->price.mark));
  PLIM_TRY(plim_allocate(res->ctx, res->graph->n_ops, sizeof *res->price.stack, &res->price.stack));
  PLIM_TRY(plim_residency_open_walks(res));
  for (int32_t s = 0; s < res->graph->n_storages; s++) {
    res->storage[s] = (plim_residency_storage){
        .block = PLIM_NONE, .buffer = PLIM_NONE, .next_read = PLIM_NEVER, .last_read = PLIM_NEVER};
  }
  PLIM_TRY(plim_arena_blocks_new(res->ctx, bytes, &res->blocks));
  if (from > 0 && res->small_bytes > 0) PLIM_TRY(plim_arena_blocks_wall_off(res->blocks, area_bytes));
  if (from > 0) return plim_residency_resume(res, from);
  PLIM_TRY(place_sources(res));
  if (res->small_bytes > 0) PLIM_TRY(plim_arena_blocks_wall_off(res->blocks, res->forecast->small_peak_bytes));
  res->counts->small_area_bytes = res->blocks->bytes - res->blocks->wall;
  if (res->counts->small_area_bytes == 0) res->small_bytes = 0;
  return PLIM_OK;
}

plim_status plim_residency_open(plim_context *ctx, const plim_forecast *forecast, int32_t from, int64_t bytes,
                                const plim_replay_config *config, plim_replay_counts *counts, plim_residency *out) {
  const plim_graph *graph = forecast->graph;
  *out = (plim_residency){.ctx = ctx,
                          .graph = graph,
                          .forecast = forecast,
                          .policy = config->policy,
                          .counts = counts,
                          .two_ends = config->two_ends,
                          .small_bytes = config->small_area ? forecast->small_bytes : 0,
                          .clock_ns = 1};
  plim_status status = open_residency(out, from, bytes, config->area_bytes);
  if (status == PLIM_OK) return PLIM_OK;
  plim_residency_close(out);
  *out = (plim_residency){.ctx = NULL};
  return status;
}

void plim_residency_close(plim_residency *res) {
  plim_missing_release(&res->missing);
  plim_arena_blocks_free(res->blocks);
  plim_release(res->ctx, res->storage, res->graph->n_storages, sizeof *res->storage);
  plim_release(res->ctx, res->price.mark, res->graph->n_ops, sizeof *res->price.mark);
  plim_release(res->ctx, res->price.stack, res->graph->n_ops, sizeof *res->price.stack);
  plim_release(res->ctx, res->lost.storage, res->graph->n_storages, sizeof *res->lost.storage);
  plim_release(res->ctx, res->lost.is_in, res->graph->n_storages, sizeof *res->lost.is_in);
  plim_walks_release(&res->walks);
  plim_release(res->ctx, res->plan.command, res->plan.command_capacity, sizeof *res->plan.command);
  plim_release(res->ctx, res->plan.buffer, res->plan.buffer_capacity, sizeof *res->plan.buffer);
  plim_release(res->ctx, res->rows.row, res->rows.row_capacity, sizeof *res->rows.row);
  plim_release(res->ctx, res->rows.block, res->rows.block_capacity, sizeof *res->rows.block);
}
