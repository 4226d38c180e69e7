/* Changing a schedule, with a journal: a run enters the sequence or leaves it, and the lifetimes follow.
 *
 * The journal has each change as it was made. Undoing takes the last one back first, so that the run ids and the order
 * of the sequence are exactly those of before: insert 7, remove 3 is undone by insert 3, remove 7.
 * Source: FastSA, NeurIPS 2023 (add and remove with sorted runs per op), extended to step graphs. */
#include "planner/track/track.h"

#include <assert.h>

enum { JOURNAL_ROOM = 512 /* changes of one move, at most */ };

static void lay_out(plim_track *track, plim_block *block) {
  const plim_problem *p = track->problem;
  track->run = plim_block_take(block, track->capacity, sizeof *track->run);
  track->end = plim_block_take(block, (int64_t)track->capacity * track->outputs, sizeof *track->end);
  track->over = plim_block_take(block, (int64_t)track->capacity * track->outputs, sizeof *track->over);
  track->run_at = plim_block_take(block, track->memory_profile->n_slots, sizeof *track->run_at);
  track->first = plim_block_take(block, p->n_ops, sizeof *track->first);
  track->last = plim_block_take(block, p->n_ops, sizeof *track->last);
  track->n_of = plim_block_take(block, p->n_ops, sizeof *track->n_of);
  track->stamp = plim_block_take(block, p->n_ops, sizeof *track->stamp);
  track->input_end = plim_block_take(block, p->n_items, sizeof *track->input_end);
  track->input_over = plim_block_take(block, p->n_items, sizeof *track->input_over);
  track->alive = plim_block_take(block, track->capacity, sizeof *track->alive);
  track->repeat = plim_block_take(block, track->capacity, sizeof *track->repeat);
  track->free_run = plim_block_take(block, track->capacity, sizeof *track->free_run);
  track->touched = plim_block_take(block, track->capacity, sizeof *track->touched);
  track->journal = plim_block_take(block, track->journal_capacity, sizeof *track->journal);
}

plim_status plim_track_new(const plim_problem *p, int32_t capacity, plim_track **out) {
  plim_context *ctx = p->ctx;
  plim_track *track = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *track, &track));
  track->problem = p;
  track->capacity = capacity;
  for (int32_t o = 0; o < p->n_ops; o++) {
    if (p->graph->op[o].n_out > track->outputs) track->outputs = p->graph->op[o].n_out;
    track->has_overwrites |= p->op[o].n_overwrites > 0;
  }
  track->journal_capacity = JOURNAL_ROOM;
  PLIM_TRY_OR_DONE(plim_memory_profile_new(ctx, 2 * capacity, &track->memory_profile));
  lay_out(track, &track->block);
  PLIM_TRY_OR_DONE(plim_block_allocate(ctx, &track->block));
  lay_out(track, &track->block);
  *out = track;
done:
  if (status != PLIM_OK) plim_track_free(track);
  return status;
}

void plim_track_free(plim_track *track) {
  if (!track) return;
  plim_context *ctx = track->problem->ctx;
  plim_block_release(ctx, &track->block);
  plim_memory_profile_free(track->memory_profile);
  plim_release(ctx, track, 1, sizeof *track);
}

plim_status plim_track_reserve(plim_track **track, int32_t runs) {
  plim_track *larger = NULL;
  if (runs <= (*track)->capacity / 2) return PLIM_OK;
  if (runs > INT32_MAX / 8) { /* 4 slots a run, of which there is a power of two */
    return plim_fail((*track)->problem->ctx, PLIM_EOVERFLOW, "a schedule of %d runs is too long to be searched",
                     (int)runs);
  }
  PLIM_TRY(plim_track_new((*track)->problem, 2 * runs, &larger));
  plim_track_free(*track);
  *track = larger;
  return PLIM_OK;
}

/* ---- one run ---- */

/* Add (sign 1) or take away (sign -1) what the variant of a run takes: its time, and its workspace while it runs. */
static void add_variant(plim_track *track, int32_t r, int sign) {
  const plim_choice *choice = &track->problem->op[track->run[r].op].choice[track->run[r].choice];
  track->time_ns += sign * choice->time_ns;
  int64_t bytes = sign * choice->workspace_bytes;
  if (bytes != 0) plim_memory_profile_add(track->memory_profile, track->run[r].slot, bytes, bytes);
}

/* Let a run enter the sequence in a free slot before run `next`; the lifetimes around it follow. Returns its id. */
static int32_t insert_at(plim_track *track, int32_t slot, int32_t op, int32_t choice, int32_t next) {
  int32_t r = track->free_run[--track->n_free];
  plim_track_run *run = &track->run[r];
  *run = (plim_track_run){.op = op, .choice = choice};
  for (int32_t k = 0; k < track->problem->op[op].writes.n; k++) track->over[(int64_t)r * track->outputs + k] = 0;
  int32_t old_head = track->head;
  plim_track_enter(track, r, slot, next);
  plim_track_add_reads(track, r);
  plim_track_add_writes(track, r);
  add_variant(track, r, 1);
  plim_track_touch(track, r);
  if (track->head == r) plim_track_touch(track, old_head);
  plim_track_settle_touched(track);
  return r;
}

static int32_t insert_before(plim_track *track, int32_t op, int32_t choice, int32_t next) {
  return insert_at(track, plim_track_free_slot(track, next), op, choice, next);
}

/* The reverse of insert_at. */
static void remove_run(plim_track *track, int32_t r) {
  plim_track_remove_reads(track, r);
  plim_track_remove_writes(track, r);
  add_variant(track, r, -1);
  if (track->head == r) plim_track_touch(track, track->run[r].next);
  plim_track_leave(track, r);
  plim_track_settle_touched(track);
  track->free_run[track->n_free++] = r;
}

/* ---- changes, journalled ---- */

int plim_track_journal_full(const plim_track *track) {
  return track->n_journal + PLIM_TRACK_PART_CHANGES > track->journal_capacity;
}

int plim_track_full(const plim_track *track) {
  return track->n_free < PLIM_TRACK_PART_RUNS || plim_track_journal_full(track);
}

static void note_change(plim_track *track, plim_change change) {
  assert(track->n_journal < track->journal_capacity);
  track->journal[track->n_journal++] = change;
}

int32_t plim_track_insert(plim_track *track, int32_t op, int32_t choice, int32_t next) {
  int32_t r = insert_before(track, op, choice, next);
  note_change(track, (plim_change){PLIM_CHANGE_INSERT, r, op, choice, next, -1});
  return r;
}

void plim_track_remove(plim_track *track, int32_t run) {
  const plim_track_run *r = &track->run[run];
  note_change(track, (plim_change){PLIM_CHANGE_REMOVE, run, r->op, r->choice, r->next, r->slot});
  remove_run(track, run);
}

static void change_choice(plim_track *track, int32_t run, int32_t choice) {
  add_variant(track, run, -1);
  track->run[run].choice = choice;
  add_variant(track, run, 1);
}

void plim_track_set_choice(plim_track *track, int32_t run, int32_t choice) {
  note_change(track, (plim_change){PLIM_CHANGE_CHOICE, run, track->run[run].op, track->run[run].choice, -1, -1});
  change_choice(track, run, choice);
}

void plim_track_undo(plim_track *track) {
  while (track->n_journal > 0) {
    plim_change c = track->journal[--track->n_journal];
    if (c.kind == PLIM_CHANGE_INSERT) remove_run(track, c.run);
    if (c.kind == PLIM_CHANGE_CHOICE) change_choice(track, c.run, c.choice);
    if (c.kind == PLIM_CHANGE_REMOVE) {
      int32_t r = insert_before(track, c.op, c.choice, c.next); /* the free runs are a stack: it gets its old id */
      assert(r == c.run);
      if (track->run[r].slot == c.slot) continue;
      plim_memory_profile_moved(track->memory_profile, c.slot);
      plim_memory_profile_moved(track->memory_profile, track->run[r].slot);
    }
  }
  plim_memory_profile_undo(track->memory_profile);
}

void plim_track_keep(plim_track *track) {
  track->n_journal = 0;
  plim_memory_profile_keep(track->memory_profile);
}

/* ---- whole schedules and figures ---- */

static void clear(plim_track *track) {
  const plim_problem *p = track->problem;
  plim_memory_profile_clear(track->memory_profile);
  for (int32_t s = 0; s < track->memory_profile->n_slots; s++) track->run_at[s] = -1;
  for (int32_t v = 0; v < p->n_ops; v++) {
    track->first[v] = track->last[v] = -1;
    track->n_of[v] = 0;
  }
  track->base_bytes = p->persistent_bytes;
  for (int32_t i = 0; i < p->n_items; i++) {
    track->input_end[i] = -1;
    track->input_over[i] = 0;
    if (p->item[i].producer >= 0) continue;
    track->base_bytes += p->item[i].bytes;
  }
  track->n_free = 0;
  for (int32_t r = track->capacity - 1; r >= 0; r--) track->free_run[track->n_free++] = r;
  track->n_runs = track->n_repeats = track->n_touched = track->n_journal = 0;
  track->head = track->tail = -1;
  track->time_ns = 0;
}

void plim_track_load(plim_track *track, const plim_schedule *schedule) {
  assert(schedule->n <= track->capacity);
  clear(track);
  for (int32_t j = 0; j < schedule->n; j++) {
    (void)insert_at(track, plim_track_even_slot(track, j, schedule->n), schedule->op[j], schedule->choice[j], -1);
  }
  plim_track_settle(track);
  plim_track_keep(track);
}

plim_status plim_track_store(const plim_track *track, plim_schedule *out) {
  PLIM_TRY(plim_schedule_reserve(out, track->n_runs));
  out->n = 0;
  for (int32_t r = track->head; r >= 0; r = track->run[r].next) {
    PLIM_TRY(plim_schedule_add(out, track->run[r].op, track->run[r].choice));
  }
  return PLIM_OK;
}

void plim_track_settle(plim_track *track) {
  plim_memory_profile_settle(track->memory_profile);
}

int64_t plim_track_peak(const plim_track *track) {
  return plim_memory_profile_peak(track->memory_profile, track->base_bytes);
}

int64_t plim_track_excess(const plim_track *track, int64_t limit) {
  const plim_memory_profile *profile = track->memory_profile;
  int64_t excess = plim_memory_profile_excess(profile, track->base_bytes, limit);
  if (profile->n_areas == profile->n_blocks) return excess;
  double sum =
      (double)excess * track->n_runs / profile->n_areas; /* as if all runs of an area were as high as its highest */
  return sum < 9e18 ? (int64_t)sum : INT64_MAX;
}

int32_t plim_track_usual_capacity(const plim_problem *p) {
  int32_t n = p->n_ops;
  const int32_t small = track_tuning.small_ops;
  if (n < small) return track_tuning.small_runs_an_op * n + track_tuning.runs_more;
  const int32_t most = track_tuning.small_runs_an_op * small + track_tuning.runs_more; /* where both rules meet */
  return most + track_tuning.large_runs_an_op * (n - small);
}
