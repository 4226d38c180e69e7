/* Changing a schedule, with a journal: a run enters the sequence or leaves it, and the lifetimes follow.
 * Source: FastSA, NeurIPS 2023 (add and remove with sorted runs per op), extended to step graphs. */
#include "planner/track/track_internal.h"

#include <assert.h>
#include <string.h>

/* Room that is kept for one step of a move: runs that it inserts, changes in the journal (a group moves twelve runs).
 */
enum { JOURNAL_ROOM = 512, STEP_RUNS = 16, STEP_CHANGES = 24 };

static void lay_out(plim_track *t, plim_block *b) {
  const plim_problem *p = t->problem;
  t->run = plim_block_take(b, t->room, sizeof *t->run);
  t->end = plim_block_take(b, (int64_t)t->room * t->outputs, sizeof *t->end);
  t->over = plim_block_take(b, (int64_t)t->room * t->outputs, sizeof *t->over);
  t->run_at = plim_block_take(b, t->memory_profile->n_slots, sizeof *t->run_at);
  t->first = plim_block_take(b, p->n_ops, sizeof *t->first);
  t->last = plim_block_take(b, p->n_ops, sizeof *t->last);
  t->n_of = plim_block_take(b, p->n_ops, sizeof *t->n_of);
  t->stamp = plim_block_take(b, p->n_ops, sizeof *t->stamp);
  t->input_end = plim_block_take(b, p->n_items, sizeof *t->input_end);
  t->input_over = plim_block_take(b, p->n_items, sizeof *t->input_over);
  t->alive = plim_block_take(b, t->room, sizeof *t->alive);
  t->repeat = plim_block_take(b, t->room, sizeof *t->repeat);
  t->free_run = plim_block_take(b, t->room, sizeof *t->free_run);
  t->touched = plim_block_take(b, t->room, sizeof *t->touched);
  t->journal = plim_block_take(b, t->room_journal, sizeof *t->journal);
}

plim_status plim_track_new(const plim_problem *p, int32_t room, plim_track **out) {
  plim_context *ctx = p->ctx;
  plim_track *t = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *t, &t));
  t->problem = p;
  t->room = room;
  for (int32_t o = 0; o < p->n_ops; o++) {
    if (p->graph->op[o].n_out > t->outputs) t->outputs = p->graph->op[o].n_out;
  }
  t->room_journal = JOURNAL_ROOM;
  PLIM_CHECK(plim_memory_profile_new(ctx, 2 * room, &t->memory_profile));
  lay_out(t, &t->block);
  PLIM_CHECK(plim_block_allocate(ctx, &t->block));
  lay_out(t, &t->block);
  *out = t;
done:
  if (status != PLIM_OK) plim_track_free(t);
  return status;
}

void plim_track_free(plim_track *t) {
  if (!t) return;
  plim_context *ctx = t->problem->ctx;
  plim_block_release(ctx, &t->block);
  plim_memory_profile_free(t->memory_profile);
  plim_release(ctx, t, 1, sizeof *t);
}

plim_status plim_track_make_room(plim_track **track, int32_t runs) {
  plim_track *larger = NULL;
  if (runs <= (*track)->room / 2) return PLIM_OK;
  if (runs > INT32_MAX / 4) {
    return plim_fail((*track)->problem->ctx, PLIM_EOVERFLOW, "a schedule of %d runs is too long to be searched",
                     (int)runs);
  }
  PLIM_TRY(plim_track_new((*track)->problem, 2 * runs, &larger));
  plim_track_free(*track);
  *track = larger;
  return PLIM_OK;
}

/* ---- one run ---- */

static void add_workspace(plim_track *t, int32_t r, int sign) {
  const plim_choice *choice = &t->problem->op[t->run[r].op].choice[t->run[r].choice];
  t->time_ns += sign * choice->time_ns;
  int64_t bytes = sign * choice->workspace_bytes;
  if (bytes != 0) plim_memory_profile_add(t->memory_profile, t->run[r].slot, bytes, bytes);
}

static int32_t insert_at(plim_track *t, int32_t slot, int32_t op, int32_t choice, int32_t next) {
  int32_t r = t->free_run[--t->n_free];
  plim_track_run *run = &t->run[r];
  *run = (plim_track_run){.op = op, .choice = choice};
  for (int32_t k = 0; k < t->problem->op[op].writes.n; k++) t->over[(int64_t)r * t->outputs + k] = 0;
  int32_t old_head = t->head;
  plim_track_enter(t, r, slot, next);
  plim_track_add_reads(t, r);
  plim_track_add_writes(t, r);
  add_workspace(t, r, 1);
  plim_track_touch(t, r);
  if (t->head == r) plim_track_touch(t, old_head);
  plim_track_settle_touched(t);
  return r;
}

static int32_t insert(plim_track *t, int32_t op, int32_t choice, int32_t next) {
  return insert_at(t, plim_track_free_slot(t, next), op, choice, next);
}

static void remove_run(plim_track *t, int32_t r) {
  plim_track_remove_reads(t, r);
  plim_track_remove_writes(t, r);
  add_workspace(t, r, -1);
  if (t->head == r) plim_track_touch(t, t->run[r].next);
  plim_track_leave(t, r);
  plim_track_settle_touched(t);
  t->free_run[t->n_free++] = r;
}

/* ---- changes, journalled ---- */

int plim_track_journal_full(const plim_track *t) {
  return t->n_journal + STEP_CHANGES > t->room_journal;
}

int plim_track_full(const plim_track *t) {
  return t->n_free < STEP_RUNS || plim_track_journal_full(t);
}

static void note_change(plim_track *t, plim_change change) {
  assert(t->n_journal < t->room_journal);
  t->journal[t->n_journal++] = change;
}

int32_t plim_track_insert(plim_track *t, int32_t op, int32_t choice, int32_t next) {
  int32_t r = insert(t, op, choice, next);
  note_change(t, (plim_change){PLIM_CHANGE_INSERT, r, op, choice, next});
  return r;
}

void plim_track_remove(plim_track *t, int32_t run) {
  const plim_track_run *r = &t->run[run];
  note_change(t, (plim_change){PLIM_CHANGE_REMOVE, run, r->op, r->choice, r->next});
  remove_run(t, run);
}

static void change_choice(plim_track *t, int32_t run, int32_t choice) {
  add_workspace(t, run, -1);
  t->run[run].choice = choice;
  add_workspace(t, run, 1);
}

void plim_track_set_choice(plim_track *t, int32_t run, int32_t choice) {
  note_change(t, (plim_change){PLIM_CHANGE_CHOICE, run, t->run[run].op, t->run[run].choice, -1});
  change_choice(t, run, choice);
}

void plim_track_undo(plim_track *t) {
  plim_track_undo_to(t, 0);
}

void plim_track_undo_to(plim_track *t, int32_t n_journal) {
  while (t->n_journal > n_journal) {
    plim_change c = t->journal[--t->n_journal];
    if (c.kind == PLIM_CHANGE_INSERT) remove_run(t, c.run);
    if (c.kind == PLIM_CHANGE_CHOICE) change_choice(t, c.run, c.choice);
    if (c.kind == PLIM_CHANGE_REMOVE) {
      int32_t r = insert(t, c.op, c.choice, c.next); /* the free runs are a stack: it gets its old id */
      assert(r == c.run);
      (void)r;
    }
  }
}

void plim_track_keep(plim_track *t) {
  t->n_journal = 0;
}

/* ---- whole schedules and figures ---- */

static void clear(plim_track *t) {
  const plim_problem *p = t->problem;
  plim_memory_profile_clear(t->memory_profile);
  for (int32_t s = 0; s < t->memory_profile->n_slots; s++) t->run_at[s] = -1;
  for (int32_t v = 0; v < p->n_ops; v++) {
    t->first[v] = t->last[v] = -1;
    t->n_of[v] = 0;
  }
  t->base_bytes = p->persistent_bytes;
  for (int32_t i = 0; i < p->n_items; i++) {
    t->input_end[i] = -1;
    t->input_over[i] = 0;
    if (p->item[i].producer >= 0) continue;
    t->base_bytes += p->item[i].bytes;
  }
  t->n_free = 0;
  for (int32_t r = t->room - 1; r >= 0; r--) t->free_run[t->n_free++] = r;
  t->n_runs = t->n_repeats = t->n_touched = t->n_journal = 0;
  t->head = t->tail = -1;
  t->time_ns = 0;
}

void plim_track_load(plim_track *t, const plim_schedule *s) {
  assert(s->n <= t->room);
  clear(t);
  for (int32_t j = 0; j < s->n; j++) {
    (void)insert_at(t, plim_track_even_slot(t, j, s->n), s->op[j], s->choice[j], -1);
  }
  plim_track_settle(t);
}

plim_status plim_track_store(const plim_track *t, plim_schedule *out) {
  PLIM_TRY(plim_schedule_reserve(out, t->n_runs));
  out->n = 0;
  for (int32_t r = t->head; r >= 0; r = t->run[r].next) {
    PLIM_TRY(plim_schedule_add(out, t->run[r].op, t->run[r].choice));
  }
  return PLIM_OK;
}

void plim_track_settle(plim_track *t) {
  plim_memory_profile_settle(t->memory_profile);
}

int64_t plim_track_peak(const plim_track *t) {
  return plim_memory_profile_peak(t->memory_profile, t->base_bytes);
}

int64_t plim_track_excess(const plim_track *t, int64_t limit) {
  const plim_memory_profile *l = t->memory_profile;
  int64_t excess = plim_memory_profile_excess(l, t->base_bytes, limit);
  if (l->n_areas == l->n_blocks) return excess;
  double sum = (double)excess * t->n_runs / l->n_areas; /* as if all runs of an area were as high as its highest */
  return sum < 9e18 ? (int64_t)sum : INT64_MAX;
}

int32_t plim_track_usual_room(const plim_problem *p) {
  int32_t n = p->n_ops;
  return n < 200 ? 16 * n + 64 : 4 * n + 2464;
}
