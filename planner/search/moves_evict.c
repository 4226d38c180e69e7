/* The move that evicts. At a slot where live bytes exceed the limit, it takes an item that is alive and not read there,
 * and recomputes it before its next reader. So its lifetime ends before the slot.
 *
 * The repeat needs its inputs: they are alive there, or are kept longer, or are recomputed too, and so on backwards.
 * How far back that pays differs from graph to graph. So each eviction draws with which probability it recomputes an
 * input.
 */
#include "planner/search/moves.h"

#include "planner/search/search_tuning.h"

enum { CHAIN_MAX = 12 /* most inputs that one eviction recomputes */ };

/* An item that may be evicted. */
typedef struct victim {
  int32_t item;
  int32_t next; /* the run that reads it next, before which it is recomputed; -1: it is needed at the end */
} victim;

/* Returns 1 and fills in the victim where the item is alive at the slot, is not read there, and may be recomputed. */
static int find_victim(const plim_mover *mover, int32_t item, int32_t slot, victim *out) {
  const plim_track *track = mover->track;
  const plim_item *it = &track->problem->item[item];
  if (it->producer < 0 || it->bytes == 0 || track->problem->op[it->producer].runs_once) return 0;
  int32_t made = plim_track_before(track, it->producer, slot);
  if (made < 0) return 0;
  int32_t end = plim_track_end(track, item, made);
  if (end >= 0 && track->run[end].slot <= slot) return 0;
  int32_t later = track->run[made].op_next, next = -1;
  if (end >= 0 || it->readers.n > 0) {
    next = plim_track_next_reader(track, item, slot - 1, later < 0 ? INT32_MAX : track->run[later].slot);
  }
  if (next >= 0 && track->run[next].slot == slot) return 0;
  *out = (victim){item, next};
  return plim_track_may_repeat(track, it->producer, next);
}

/* Recompute inputs that are alive only for this run, each with a probability of `percent`; then the inputs of those. */
static void repeat_inputs(plim_mover *mover, int32_t run, int percent) {
  plim_track *track = mover->track;
  int32_t stack[CHAIN_MAX], n = 0, left = CHAIN_MAX;
  stack[n++] = run;
  while (n > 0) {
    run = stack[--n];
    const plim_ids *reads = &track->problem->op[track->run[run].op].reads;
    for (int32_t i = 0; i < reads->n && left > 0; i++) {
      int32_t producer = track->problem->item[reads->at[i]].producer;
      if (producer < 0 || !plim_random_percent(&mover->random, percent)) continue;
      int32_t made = plim_track_before(track, producer, track->run[run].slot);
      if (plim_track_end(track, reads->at[i], made) != run || track->run[run].prev == made) continue;
      if (!plim_track_may_repeat(track, producer, run) || plim_track_full(track)) continue;
      int32_t again = plim_move_repeat(mover, producer, run);
      if (again < 0) continue;
      stack[n++] = again;
      left--;
    }
  }
}

/* Where the repeat stands: usually just before the next reader, sometimes anywhere after the slot, where its inputs may
 * still be alive. */
static int32_t place_after(plim_mover *mover, int32_t slot, int32_t next) {
  plim_track *track = mover->track;
  int32_t end = next < 0 ? track->run[track->tail].slot : track->run[next].slot;
  if (!plim_random_percent(&mover->random, search_tuning.evict.early_percent) || end - slot < 2) return next;
  int32_t at = slot + 1 + plim_random_below(&mover->random, end - slot);
  while (track->run_at[at] < 0) at++;
  return track->run_at[at];
}

/* A random item that may be evicted at the slot. *tries counts what was drawn; 0: all tries are over. */
static int draw_victim(plim_mover *mover, int32_t slot, int32_t *tries, victim *out) {
  for (; *tries < search_tuning.evict.tries; ++*tries) {
    if (find_victim(mover, plim_random_below(&mover->random, mover->track->problem->n_items), slot, out)) return 1;
  }
  return 0;
}

/* Time of recomputing the victim for each byte freed. */
static double time_for_a_byte(const plim_track *track, const victim *it) {
  const plim_item *item = &track->problem->item[it->item];
  const plim_choice *choice = track->problem->op[item->producer].choice;
  return (double)choice[track->run[track->first[item->producer]].choice].time_ns / (double)item->bytes;
}

/* A random victim; with the probability compare_percent, the cheaper of two. */
static int choose_victim(plim_mover *mover, int32_t slot, int32_t *tries, victim *out) {
  victim other;
  if (!draw_victim(mover, slot, tries, out)) return 0;
  if (!plim_random_percent(&mover->random, mover->compare_percent)) return 1;
  if (draw_victim(mover, slot, tries, &other) &&
      time_for_a_byte(mover->track, &other) < time_for_a_byte(mover->track, out)) {
    *out = other;
  }
  return 1;
}

int plim_move_evict_at(plim_mover *mover, int32_t slot) {
  const int32_t *percents = search_tuning.evict.repeat_inputs_percent;
  const int32_t kinds = sizeof search_tuning.evict.repeat_inputs_percent / sizeof *percents;
  plim_track *track = mover->track;
  victim chosen;
  for (int32_t tries = 0; choose_victim(mover, slot, &tries, &chosen); tries++) {
    int32_t run =
        plim_move_repeat(mover, track->problem->item[chosen.item].producer, place_after(mover, slot, chosen.next));
    if (run < 0) continue;
    int percent = percents[plim_random_below(&mover->random, kinds)];
    if (percent > 0) repeat_inputs(mover, run, percent);
    return 1;
  }
  return 0;
}

int32_t plim_move_slot_above(plim_mover *mover) {
  plim_track *track = mover->track;
  plim_track_settle(track);
  return plim_memory_profile_find_above(track->memory_profile, track->base_bytes, mover->limit,
                                        plim_random_next(&mover->random));
}

int plim_move_evict(plim_mover *mover) {
  int32_t slot = -1;
  if (plim_random_percent(&mover->random, search_tuning.evict.above_percent)) slot = plim_move_slot_above(mover);
  if (slot < 0) slot = mover->track->run[plim_move_random_run(mover)].slot;
  return plim_move_evict_at(mover, slot);
}
