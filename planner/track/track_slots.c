/* The sequence: runs stand in slots with free ones between them, so that a run goes anywhere by moving few others, and
 * are linked to their neighbours and to the other runs of their op. */
#include <assert.h>

#include "planner/track/track.h"

static void place(plim_track *track, int32_t r, int32_t slot) {
  track->run[r].slot = slot;
  track->run_at[slot] = r;
  track->memory_profile->used[slot] = 1;
  plim_memory_profile_mark(track->memory_profile, slot);
}

/* The slot of run i of n that stand evenly in `size` slots. */
static int32_t even_slot(int32_t i, int32_t n, int32_t size) {
  return (int32_t)((2 * (int64_t)i + 1) * size / (2 * (int64_t)n));
}

/* Spread the runs of [low, low + size) evenly over it. Their order stays. */
static void spread_evenly(plim_track *track, int32_t low, int32_t size, int32_t n) {
  int32_t to = low + size, from = low + size;
  plim_memory_profile *profile = track->memory_profile;
  plim_memory_profile_forget(profile);
  /* first close up at the upper end, from above; then open up from below */
  while (from-- > low) {
    int32_t r = track->run_at[from];
    if (r < 0) continue;
    plim_memory_slot moved = profile->slot[from];
    track->run_at[from] = -1;
    profile->used[from] = 0;
    profile->slot[from] = (plim_memory_slot){0, 0};
    place(track, r, --to);
    profile->slot[to] = moved;
  }
  for (int32_t i = 0; i < n; i++, to++) {
    int32_t goal = low + even_slot(i, n, size), r = track->run_at[to];
    plim_memory_slot moved = profile->slot[to];
    track->run_at[to] = -1;
    profile->used[to] = 0;
    profile->slot[to] = (plim_memory_slot){0, 0};
    place(track, r, goal);
    profile->slot[goal] = moved;
  }
  for (int32_t s = low; s < low + size; s += PLIM_MEMORY_PROFILE_BLOCK) plim_memory_profile_mark(profile, s);
}

/* Make free slots on both sides of the run in or near this slot: spread the smallest aligned window around it that is
 * less than half full, so that it begins and ends with a free slot. The whole is never fuller than that. */
static void make_room(plim_track *track, int32_t slot) {
  int32_t size = PLIM_MEMORY_PROFILE_BLOCK;
  for (;;) {
    size *= 2;
    int32_t low = slot / size * size, n = 0;
    if (size >= track->memory_profile->n_slots) low = 0;
    for (int32_t s = low; s < low + size; s++) n += track->run_at[s] >= 0;
    if (2 * n < size || size >= track->memory_profile->n_slots) {
      spread_evenly(track, low, size, n);
      return;
    }
  }
}

int32_t plim_track_free_slot(plim_track *track, int32_t next) {
  for (;;) {
    int32_t prev = next < 0 ? track->tail : track->run[next].prev;
    int32_t low = prev < 0 ? -1 : track->run[prev].slot,
            high = next < 0 ? track->memory_profile->n_slots : track->run[next].slot;
    if (high - low > 1) return low + (high - low) / 2;
    make_room(track, next < 0 ? track->memory_profile->n_slots - 1 : high);
  }
}

int32_t plim_track_even_slot(const plim_track *track, int32_t i, int32_t n) {
  return even_slot(i, n, track->memory_profile->n_slots);
}

static void link_run(plim_track *track, int32_t r, int32_t next) {
  plim_track_run *run = &track->run[r];
  int32_t prev = next < 0 ? track->tail : track->run[next].prev;
  run->prev = prev;
  run->next = next;
  if (prev >= 0) track->run[prev].next = r;
  if (next >= 0) track->run[next].prev = r;
  if (prev < 0) track->head = r;
  if (next < 0) track->tail = r;
  int32_t before = plim_track_before(track, run->op, run->slot);
  run->op_prev = before;
  run->op_next = before < 0 ? track->first[run->op] : track->run[before].op_next;
  if (run->op_prev >= 0) track->run[run->op_prev].op_next = r;
  if (run->op_next >= 0) track->run[run->op_next].op_prev = r;
  if (run->op_prev < 0) track->first[run->op] = r;
  if (run->op_next < 0) track->last[run->op] = r;
}

static void unlink_run(plim_track *track, int32_t r) {
  plim_track_run *run = &track->run[r];
  if (run->prev >= 0) track->run[run->prev].next = run->next;
  if (run->next >= 0) track->run[run->next].prev = run->prev;
  if (track->head == r) track->head = run->next;
  if (track->tail == r) track->tail = run->prev;
  if (run->op_prev >= 0) track->run[run->op_prev].op_next = run->op_next;
  if (run->op_next >= 0) track->run[run->op_next].op_prev = run->op_prev;
  if (track->first[run->op] == r) track->first[run->op] = run->op_next;
  if (track->last[run->op] == r) track->last[run->op] = run->op_prev;
  assert(track->memory_profile->slot[run->slot].up == 0 && track->memory_profile->slot[run->slot].down == 0);
  plim_memory_profile_mark(track->memory_profile, run->slot);
  track->run_at[run->slot] = -1;
  track->memory_profile->used[run->slot] = 0;
  run->slot = -1;
}

/* Lists to draw runs from: all, and the repeats. */
static void enlist(plim_track *track, int32_t r) {
  plim_track_run *run = &track->run[r];
  run->alive_at = track->n_runs;
  track->alive[track->n_runs++] = r;
  run->repeat_at = -1;
  if (track->n_of[run->op]++ > 0) {
    run->repeat_at = track->n_repeats;
    track->repeat[track->n_repeats++] = r;
  }
}

static void drop_repeat(plim_track *track, int32_t at) {
  track->run[track->repeat[at]].repeat_at = -1;
  if (at != --track->n_repeats) {
    track->repeat[at] = track->repeat[track->n_repeats];
    track->run[track->repeat[at]].repeat_at = at;
  }
}

static void delist(plim_track *track, int32_t r) {
  plim_track_run *run = &track->run[r];
  int32_t last = track->alive[--track->n_runs];
  track->alive[run->alive_at] = last;
  track->run[last].alive_at = run->alive_at;
  if (--track->n_of[run->op] == 0) return;
  int32_t other = run->op_prev >= 0 ? run->op_prev : run->op_next;
  drop_repeat(track, run->repeat_at >= 0 ? run->repeat_at : track->run[other].repeat_at);
}

void plim_track_enter(plim_track *track, int32_t r, int32_t slot, int32_t next) {
  place(track, r, slot);
  link_run(track, r, next);
  enlist(track, r);
}

void plim_track_leave(plim_track *track, int32_t r) {
  delist(track, r);
  unlink_run(track, r);
}
