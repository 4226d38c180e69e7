/* The move that evicts. At a slot where live bytes exceed the limit, it takes an item that is alive and not read there,
 * and recomputes it before its next reader. So its lifetime ends before the slot.
 *
 * The repeat needs its inputs: they are alive there, or are kept longer, or are recomputed too, and so on backwards.
 * How far back that pays differs from graph to graph. So each eviction draws with which probability it recomputes an
 * input.
 */
#include "planner/search/moves.h"

#include "planner/search/search_tuning.h"

enum { LONGEST_CHAIN = 12 /* most inputs that one eviction recomputes */ };

int plim_move_alive_across(const plim_mover *m, int32_t item, int32_t slot, plim_victim *out) {
  const plim_track *t = m->track;
  const plim_item *it = &t->problem->item[item];
  if (it->producer < 0 || it->bytes == 0 || t->problem->op[it->producer].once) return 0;
  int32_t made = plim_track_before(t, it->producer, slot);
  if (made < 0) return 0;
  int32_t end = plim_track_end(t, item, made);
  if (end >= 0 && t->run[end].slot <= slot) return 0;
  int32_t later = t->run[made].op_next, next = -1;
  if (end >= 0 || it->readers.n > 0) {
    next = plim_track_next_reader(t, item, slot - 1, later < 0 ? INT32_MAX : t->run[later].slot);
  }
  if (next >= 0 && t->run[next].slot == slot) return 0;
  *out = (plim_victim){item, next};
  return plim_track_may_repeat(t, it->producer, next);
}

/* Recompute inputs that are alive only for this run, each with a probability of `percent`; then the inputs of those. */
static void repeat_inputs(plim_mover *m, int32_t run, int percent) {
  plim_track *t = m->track;
  int32_t stack[LONGEST_CHAIN], n = 0, left = LONGEST_CHAIN;
  stack[n++] = run;
  while (n > 0) {
    run = stack[--n];
    const plim_ids *reads = &t->problem->op[t->run[run].op].reads;
    for (int32_t i = 0; i < reads->n && left > 0; i++) {
      int32_t producer = t->problem->item[reads->at[i]].producer;
      if (producer < 0 || !plim_random_percent(&m->random, percent)) continue;
      int32_t made = plim_track_before(t, producer, t->run[run].slot);
      if (plim_track_end(t, reads->at[i], made) != run || t->run[run].prev == made) continue;
      if (!plim_track_may_repeat(t, producer, run) || plim_track_full(t)) continue;
      int32_t again = plim_move_repeat(m, producer, run);
      if (again < 0) continue;
      stack[n++] = again;
      left--;
    }
  }
}

/* Where the repeat stands: usually just before the next reader, sometimes anywhere after the slot, where its inputs may
 * still be alive. */
static int32_t place_after(plim_mover *m, int32_t slot, int32_t next) {
  plim_track *t = m->track;
  int32_t end = next < 0 ? t->run[t->tail].slot : t->run[next].slot;
  if (!plim_random_percent(&m->random, search_tuning.evict.early_percent) || end - slot < 2) return next;
  int32_t at = slot + 1 + plim_random_below(&m->random, end - slot);
  while (t->run_at[at] < 0) at++;
  return t->run_at[at];
}

/* A random item that may be evicted at the slot. *tries counts what was drawn; 0: all tries are over. */
static int draw_victim(plim_mover *m, int32_t slot, int32_t *tries, plim_victim *v) {
  for (; *tries < search_tuning.evict.tries; ++*tries) {
    if (plim_move_alive_across(m, plim_random_below(&m->random, m->track->problem->n_items), slot, v)) return 1;
  }
  return 0;
}

/* Time of recomputing the victim for each byte freed. */
static double price(const plim_track *t, const plim_victim *v) {
  const plim_item *item = &t->problem->item[v->item];
  const plim_choice *choice = t->problem->op[item->producer].choice;
  return (double)choice[t->run[t->first[item->producer]].choice].time_ns / (double)item->bytes;
}

/* A random victim; with the probability compare_percent, the cheaper of two. */
static int choose_victim(plim_mover *m, int32_t slot, int32_t *tries, plim_victim *v) {
  plim_victim other;
  if (!draw_victim(m, slot, tries, v)) return 0;
  if (!plim_random_percent(&m->random, m->compare_percent)) return 1;
  if (draw_victim(m, slot, tries, &other) && price(m->track, &other) < price(m->track, v)) *v = other;
  return 1;
}

int plim_move_evict_at(plim_mover *m, int32_t slot) {
  const int32_t *percents = search_tuning.evict.repeat_inputs_percent;
  const int32_t kinds = sizeof search_tuning.evict.repeat_inputs_percent / sizeof *percents;
  plim_track *t = m->track;
  plim_victim v;
  for (int32_t tries = 0; choose_victim(m, slot, &tries, &v); tries++) {
    int32_t run = plim_move_repeat(m, t->problem->item[v.item].producer, place_after(m, slot, v.next));
    if (run < 0) continue;
    int percent = percents[plim_random_below(&m->random, kinds)];
    if (percent > 0) repeat_inputs(m, run, percent);
    return 1;
  }
  return 0;
}

int32_t plim_move_slot_above(plim_mover *m) {
  plim_track *t = m->track;
  plim_track_settle(t);
  return plim_memory_profile_find_above(t->memory_profile, t->base_bytes, m->limit, plim_random_next(&m->random));
}

int plim_move_evict(plim_mover *m) {
  int32_t slot = -1;
  if (plim_random_percent(&m->random, search_tuning.evict.above_percent)) slot = plim_move_slot_above(m);
  if (slot < 0) slot = m->track->run[plim_move_random_run(m)].slot;
  return plim_move_evict_at(m, slot);
}
