/* Persistent storages sit at the low end in graph order, inputs behind them; nothing of both is ever evicted, so that
 * no pinned piece stands as a wall in the middle of the arena. Small results and workspaces may have an area at the
 * high end, so that they do not stand between large ones either. */
#include "runtime/arena/tenants.h"

#include <assert.h>

#include "runtime/base/array.h"

int plim_tenants_resident(const plim_tenants *t, int32_t storage) {
  return t->tenant[storage].piece != PLIM_NEVER;
}

int plim_tenants_empty(const plim_tenants *t, int32_t storage) {
  return t->graph->storage[storage].bytes == 0;
}

int plim_tenants_wanted(const plim_tenants *t, int32_t storage) {
  plim_role role = t->graph->storage[storage].role;
  if (plim_role_persistent(role)) return 1;
  return role == PLIM_ROLE_INPUT ? t->forecast->hold[storage] >= t->position
                                 : t->tenant[storage].next_read != PLIM_NEVER;
}

/* Who holds the piece of a workspace: an id that is no storage. */
static int32_t workspace_owner(const plim_tenants *t) {
  return t->graph->n_storages;
}

plim_status plim_tenants_add_life(plim_tenants *t, const plim_life *life) {
  PLIM_TRY(plim_array_reserve(t->ctx, &t->life, &t->life_capacity, t->n_lives + 1, sizeof *t->life));
  t->life[t->n_lives] = *life;
  t->life[t->n_lives++].end = life->begin + 1;
  if (life->storage >= 0) t->tenant[life->storage].life = t->n_lives - 1;
  return PLIM_OK;
}

/* A life in that piece from the next step on. */
static plim_status add_life(plim_tenants *t, int32_t storage, int32_t piece) {
  const plim_piece *p = &t->pieces->piece[piece];
  plim_life life = {.storage = storage, .begin = t->n_steps, .offset = p->offset, .bytes = p->bytes};
  return plim_tenants_add_life(t, &life);
}

static plim_end end_for(const plim_tenants *t, int32_t storage) {
  if (!t->two_ends) return PLIM_END_LOW;
  if (storage < 0) return PLIM_END_HIGH;
  return t->graph->storage[storage].producer < 0 || t->forecast->dear[storage] ? PLIM_END_LOW : PLIM_END_HIGH;
}

static plim_status no_room(const plim_tenants *t, int32_t op, int32_t storage, int64_t bytes) {
  const char *what = "its workspace";
  for (int32_t v = t->graph->n_values - 1; v >= 0 && storage >= 0; v--) {
    if (t->graph->value[v].storage == storage) what = t->graph->value[v].name;
  }
  return plim_fail(
      t->ctx, PLIM_ENOFIT,
      "op \"%s\" finds no room for %s, %lld bytes, in an arena of %lld: %lld are free, at most %lld in one "
      "piece, and nothing more can be evicted",
      op >= 0 ? t->graph->op[op].name : "(start)", what, (long long)bytes, (long long)t->pieces->bytes,
      (long long)t->pieces->free_bytes, (long long)plim_pieces_largest_free(t->pieces));
}

/* Small results and workspaces go to their area. */
static plim_side side_for(const plim_tenants *t, int32_t storage, int64_t bytes) {
  int made = storage < 0 || t->graph->storage[storage].producer >= 0;
  return made && bytes <= t->small_bytes ? PLIM_SIDE_SMALL : PLIM_SIDE_MAIN;
}

/* A free piece, where there is one. What finds the area full goes to the others; what can find no room beside the area
 * takes the wall down. */
static plim_status take_free(plim_tenants *t, int32_t storage, int64_t bytes, int32_t owner, int32_t *taken) {
  plim_end end = end_for(t, storage);
  if (side_for(t, storage, bytes) == PLIM_SIDE_SMALL) {
    PLIM_TRY(plim_pieces_take(t->pieces, bytes, owner, PLIM_SIDE_SMALL, end, taken));
    if (*taken >= 0) return PLIM_OK;
    t->counts->spills++;
  }
  PLIM_TRY(plim_pieces_take(t->pieces, bytes, owner, PLIM_SIDE_MAIN, end, taken));
  if (*taken >= 0 || t->small_bytes == 0 || plim_tenants_can_make_room(t, plim_align_up(bytes, PLIM_ALIGN))) {
    return PLIM_OK;
  }
  plim_pieces_join(t->pieces);
  t->small_bytes = 0;
  return plim_pieces_take(t->pieces, bytes, owner, PLIM_SIDE_MAIN, end, taken);
}

plim_status plim_tenants_place(plim_tenants *t, int32_t op, int32_t storage, int64_t bytes, int32_t *piece) {
  int32_t owner = storage >= 0 ? storage : workspace_owner(t), taken = PLIM_NEVER;
  plim_end end = end_for(t, storage);
  *piece = PLIM_PIECELESS;
  if (storage >= 0 && plim_tenants_empty(t, storage)) {
    t->tenant[storage].piece = PLIM_PIECELESS;
    return PLIM_OK;
  }
  PLIM_TRY(take_free(t, storage, bytes, owner, &taken));
  if (taken < 0) {
    int32_t hole = PLIM_NEVER;
    int64_t rounded = plim_align_up(bytes, PLIM_ALIGN);
    if (rounded > 0) PLIM_TRY(plim_tenants_evict(t, &(plim_arena_request){op, storage, rounded}, &hole));
    if (hole < 0) return no_room(t, op, storage, bytes);
    PLIM_TRY(plim_pieces_take_from(t->pieces, hole, bytes, owner, end, &taken));
  }
  if (storage >= 0) {
    assert(!plim_tenants_resident(t, storage));
    if (plim_missing_has(&t->missing, storage)) plim_tenants_found(t, storage);
    t->tenant[storage].piece = taken;
    plim_missing_remove(&t->missing, storage);
  }
  *piece = taken;
  return add_life(t, storage, taken);
}

plim_status plim_tenants_go_missing(plim_tenants *t, int32_t storage) {
  const plim_graph *g = t->graph;
  int32_t producer = g->storage[storage].producer;
  t->tenant[storage].piece = PLIM_NEVER;
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
      if (plim_tenants_counts(t, s)) plim_missing_join(&t->missing, storage, s);
    }
  }
  plim_tenants_lost(t, storage);
  return PLIM_OK;
}

plim_status plim_tenants_hand_over(plim_tenants *t, int32_t in, int32_t out) {
  int32_t piece = t->tenant[in].piece;
  plim_pieces_hand_over(t->pieces, piece, out);
  t->life[t->tenant[in].life].end = t->n_steps;
  if (plim_missing_has(&t->missing, out)) plim_tenants_found(t, out); /* what it reads is still there */
  PLIM_TRY(plim_tenants_go_missing(t, in));
  t->tenant[out].piece = piece;
  plim_missing_remove(&t->missing, out);
  return add_life(t, out, piece);
}

plim_status plim_tenants_drop(plim_tenants *t, int32_t storage, int32_t *hole) {
  int32_t left = plim_pieces_give(t->pieces, t->tenant[storage].piece);
  if (hole) *hole = left;
  return plim_tenants_go_missing(t, storage);
}

plim_status plim_tenants_drop_unwanted(plim_tenants *t, int32_t storage) {
  if (!plim_tenants_resident(t, storage) || t->tenant[storage].pins > 0) return PLIM_OK;
  if (plim_tenants_empty(t, storage)) return PLIM_OK;
  return plim_tenants_wanted(t, storage) ? PLIM_OK : plim_tenants_drop(t, storage, NULL);
}

plim_status plim_tenants_add_step(plim_tenants *t, const plim_step *step) {
  PLIM_TRY(plim_array_reserve(t->ctx, &t->step, &t->step_capacity, t->n_steps + 1, sizeof *t->step));
  t->step[t->n_steps++] = *step;
  t->clock_ns += t->forecast->schedule->variant[step->variant].variant.time_ns;
  return PLIM_OK;
}

void plim_tenants_use(plim_tenants *t, int32_t storage, int32_t step) {
  if (plim_tenants_empty(t, storage)) return;
  t->life[t->tenant[storage].life].end = step + 1;
  t->tenant[storage].last_ns = t->clock_ns;
}

void plim_tenants_pass(plim_tenants *t) {
  const plim_forecast *f = t->forecast;
  const plim_op *op = &t->graph->op[f->schedule->step[t->position].op];
  int32_t use = f->first_use[t->position];
  for (int32_t k = 0; k < op->n_reads; k++) {
    int32_t s = op->reads[k];
    t->tenant[s].next_read = f->next_read[use + k];
    if (plim_missing_has(&t->missing, s)) plim_tenants_unsure(t, s); /* it was written over */
  }
  for (int32_t k = 0; k < op->n_writes; k++) {
    t->tenant[op->writes[k]].next_read = f->next_read[use + op->n_reads + k];
    t->tenant[op->writes[k]].last_read = f->last_read[use + op->n_reads + k];
  }
  t->position++;
}

/* Constants first, in graph order, then inputs: both at the low end of an empty arena. */
static plim_status place_sources(plim_tenants *t) {
  for (int32_t inputs = 0; inputs < 2; inputs++) {
    for (int32_t s = 0; s < t->graph->n_storages; s++) {
      plim_role role = t->graph->storage[s].role;
      int32_t piece, here = inputs ? role == PLIM_ROLE_INPUT && t->forecast->hold[s] >= 0 : plim_role_persistent(role);
      if (here) PLIM_TRY(plim_tenants_place(t, PLIM_NEVER, s, t->graph->storage[s].bytes, &piece));
    }
  }
  return PLIM_OK;
}

static plim_status open_tenants(plim_tenants *t, int32_t from, int64_t bytes, int64_t area_bytes) {
  PLIM_TRY(plim_missing_init(&t->missing, t->ctx, t->graph->n_storages));
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->tenant, &t->tenant));
  PLIM_TRY(plim_allocate(t->ctx, t->n_marks, sizeof *t->mark, &t->mark));
  PLIM_TRY(plim_allocate(t->ctx, t->n_marks, sizeof *t->stack, &t->stack));
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->lost, &t->lost));
  PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->is_lost, &t->is_lost));
  for (int way = 0; way < 2; way++) {
    PLIM_TRY(plim_allocate(t->ctx, t->graph->n_storages, sizeof *t->reach[way], &t->reach[way]));
  }
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    t->tenant[s] = (plim_tenant){PLIM_NEVER, PLIM_NEVER, 0, PLIM_NEVER, PLIM_NEVER, 0};
  }
  PLIM_TRY(plim_pieces_new(t->ctx, bytes, &t->pieces));
  if (from > 0 && t->small_bytes > 0) PLIM_TRY(plim_pieces_wall_off(t->pieces, area_bytes));
  if (from > 0) return plim_tenants_resume(t, from);
  PLIM_TRY(place_sources(t));
  if (t->small_bytes > 0) PLIM_TRY(plim_pieces_wall_off(t->pieces, t->forecast->small_load_bytes));
  t->counts->small_area_bytes = t->pieces->bytes - t->pieces->wall;
  if (t->counts->small_area_bytes == 0) t->small_bytes = 0;
  return PLIM_OK;
}

plim_status plim_tenants_open(plim_context *ctx, const plim_forecast *forecast, int32_t from, int64_t bytes,
                              const plim_replay_way *how, plim_replay_counts *counts, plim_tenants *out) {
  const plim_graph *graph = forecast->graph;
  *out = (plim_tenants){.ctx = ctx,
                        .graph = graph,
                        .forecast = forecast,
                        .policy = how->policy,
                        .counts = counts,
                        .two_ends = how->two_ends,
                        .small_bytes = how->small_area ? forecast->small_bytes : 0,
                        .clock_ns = 1,
                        .n_marks = graph->n_ops > graph->n_storages ? graph->n_ops : graph->n_storages};
  plim_status status = open_tenants(out, from, bytes, how->area_bytes);
  if (status == PLIM_OK) return PLIM_OK;
  plim_tenants_close(out);
  *out = (plim_tenants){.ctx = NULL};
  return status;
}

void plim_tenants_close(plim_tenants *t) {
  plim_missing_release(&t->missing);
  plim_pieces_free(t->pieces);
  plim_release(t->ctx, t->tenant, t->graph->n_storages, sizeof *t->tenant);
  plim_release(t->ctx, t->mark, t->n_marks, sizeof *t->mark);
  plim_release(t->ctx, t->stack, t->n_marks, sizeof *t->stack);
  plim_release(t->ctx, t->lost, t->graph->n_storages, sizeof *t->lost);
  plim_release(t->ctx, t->is_lost, t->graph->n_storages, sizeof *t->is_lost);
  for (int way = 0; way < 2; way++) {
    plim_release(t->ctx, t->reach[way], t->graph->n_storages, sizeof *t->reach[way]);
  }
  plim_release(t->ctx, t->step, t->step_capacity, sizeof *t->step);
  plim_release(t->ctx, t->life, t->life_capacity, sizeof *t->life);
  plim_release(t->ctx, t->row, t->row_capacity, sizeof *t->row);
  plim_release(t->ctx, t->row_piece, t->row_capacity, sizeof *t->row_piece);
}
