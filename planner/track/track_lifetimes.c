/* The lifetimes of a schedule under change: each remembers its last reader, where its bytes are given back. A new run
 * splits the lifetime before it, and without it the two are one again; reads move ends. An output that may be written
 * over an input does so when that input's lifetime ends there; this is settled last, for the runs that were touched. */
#include "planner/track/track.h"

/* The latest reader of the item in (low, high), -1 when there is none. */
static int32_t latest_reader(const plim_track *track, int32_t item, int32_t low, int32_t high) {
  const plim_ids *readers = &track->problem->item[item].readers;
  int32_t best = -1;
  for (int32_t i = 0; i < readers->n; i++) {
    int32_t r = plim_track_before(track, readers->at[i], high);
    if (r < 0 || track->run[r].slot <= low) continue;
    low = track->run[r].slot;
    best = r;
  }
  return best;
}

int32_t plim_track_next_reader(const plim_track *track, int32_t item, int32_t from_slot, int32_t to_slot) {
  const plim_ids *readers = &track->problem->item[item].readers;
  int32_t best = -1;
  for (int32_t i = 0; i < readers->n; i++) {
    int32_t r = track->first[readers->at[i]];
    while (r >= 0 && track->run[r].slot <= from_slot) r = track->run[r].op_next;
    if (r < 0 || track->run[r].slot >= to_slot) continue;
    to_slot = track->run[r].slot;
    best = r;
  }
  return best;
}

/* What a track keeps of one lifetime: of an item that a run has made, or of an input. */
typedef struct kept_lifetime {
  int32_t *end;
  uint8_t *over;
  int64_t bytes;
} kept_lifetime;

/* `run` is read only where the item is no input. */
static kept_lifetime lifetime_at(const plim_track *track, int32_t item, int32_t run) {
  const plim_item *it = &track->problem->item[item];
  if (it->producer < 0) return (kept_lifetime){&track->input_end[item], &track->input_over[item], it->bytes};
  const int64_t at = (int64_t)run * track->outputs + it->write_index;
  return (kept_lifetime){&track->end[at], &track->over[at], it->bytes};
}

void plim_track_touch(plim_track *track, int32_t run) {
  if (!track->has_overwrites || run < 0) return;
  if (track->run[run].is_touched || track->problem->op[track->run[run].op].n_overwrites == 0) return;
  track->run[run].is_touched = 1;
  track->touched[track->n_touched++] = run;
}

/* Account (sign 1) or cancel (sign -1) the giving back of a lifetime's bytes at its end. */
static void account_end(plim_track *track, kept_lifetime lifetime, int sign) {
  const int64_t bytes = sign * lifetime.bytes;
  if (*lifetime.end < 0) return;
  const int32_t slot = track->run[*lifetime.end].slot;
  if (*lifetime.over) {
    plim_memory_profile_add(track->memory_profile, slot, -bytes, 0);
  } else {
    plim_memory_profile_add(track->memory_profile, slot, 0, bytes);
  }
}

/* Take the end of a lifetime away; afterwards it must get a new one or vanish. */
static void clear_end(plim_track *track, kept_lifetime lifetime) {
  account_end(track, lifetime, -1);
  plim_track_touch(track, *lifetime.end);
  *lifetime.over = 0;
}

static void set_end(plim_track *track, kept_lifetime lifetime, int32_t end) {
  *lifetime.end = end;
  account_end(track, lifetime, 1);
  plim_track_touch(track, end);
}

static void move_end(plim_track *track, kept_lifetime lifetime, int32_t end) {
  clear_end(track, lifetime);
  set_end(track, lifetime, end);
}

static int32_t end_slot(const plim_track *track, int32_t item, int32_t run) {
  int32_t end = plim_track_end(track, item, run);
  if (end >= 0) return track->run[end].slot;
  return track->problem->item[item].is_output ? INT32_MAX : -1;
}

/* ---- reads and writes of one run ---- */

enum { NO_LIFETIME = -2 };

/* Run that began the lifetime of an item that run r reads; -1: it is an input; NO_LIFETIME: r is an orphan. */
static int32_t lifetime_read_by(const plim_track *track, int32_t item, int32_t r) {
  int32_t producer = track->problem->item[item].producer;
  if (producer < 0) return -1;
  int32_t made = plim_track_before(track, producer, track->run[r].slot);
  return made < 0 ? NO_LIFETIME : made;
}

void plim_track_add_reads(plim_track *track, int32_t r) {
  const plim_ids *reads = &track->problem->op[track->run[r].op].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], made = lifetime_read_by(track, item, r);
    if (made == NO_LIFETIME) continue; /* whoever begins the lifetime adopts it */
    if (end_slot(track, item, made) >= track->run[r].slot) continue;
    move_end(track, lifetime_at(track, item, made), r);
  }
}

void plim_track_remove_reads(plim_track *track, int32_t r) {
  const plim_ids *reads = &track->problem->op[track->run[r].op].reads;
  int32_t slot = track->run[r].slot;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], made = lifetime_read_by(track, item, r);
    if (made == NO_LIFETIME || plim_track_end(track, item, made) != r) continue;
    int32_t end = latest_reader(track, item, made < 0 ? -1 : track->run[made].slot, slot);
    move_end(track, lifetime_at(track, item, made), end < 0 ? made : end);
  }
}

static void add_write(plim_track *track, int32_t r, int32_t item) {
  int32_t slot = track->run[r].slot, old = track->run[r].op_prev, next = track->run[r].op_next, end = r;
  if (old >= 0) {
    if (end_slot(track, item, old) > slot) { /* later readers of the old lifetime are in the new one */
      int32_t stays = latest_reader(track, item, track->run[old].slot, slot);
      end = plim_track_end(track, item, old);
      move_end(track, lifetime_at(track, item, old), stays < 0 ? old : stays);
    }
  } else if (next < 0 && track->problem->item[item].is_output) {
    end = -1;
  } else {
    int32_t orphan = latest_reader(track, item, slot, next < 0 ? INT32_MAX : track->run[next].slot);
    if (orphan >= 0) end = orphan;
  }
  set_end(track, lifetime_at(track, item, r), end);
  plim_memory_profile_add(track->memory_profile, slot, track->problem->item[item].bytes, 0);
}

static void remove_write(plim_track *track, int32_t r, int32_t item) {
  int32_t old = track->run[r].op_prev, end = plim_track_end(track, item, r);
  clear_end(track, lifetime_at(track, item, r));
  plim_memory_profile_add(track->memory_profile, track->run[r].slot, -track->problem->item[item].bytes, 0);
  if (old < 0 || end == r) return; /* with no older lifetime the readers become orphans */
  move_end(track, lifetime_at(track, item, old), end);
}

void plim_track_add_writes(plim_track *track, int32_t r) {
  const plim_ids *writes = &track->problem->op[track->run[r].op].writes;
  for (int32_t i = 0; i < writes->n; i++) add_write(track, r, writes->at[i]);
}

void plim_track_remove_writes(plim_track *track, int32_t r) {
  const plim_ids *writes = &track->problem->op[track->run[r].op].writes;
  for (int32_t i = 0; i < writes->n; i++) remove_write(track, r, writes->at[i]);
}

/* ---- in-place pairs ---- */

/* Let the outputs of a run take the place of inputs whose lifetimes end there: in the order of the pairs, each output
 * and each input once. An input that the first run of all reads would have no buffer left. */
static void settle_overwrites(plim_track *track, int32_t r) {
  const plim_planned_op *op = &track->problem->op[track->run[r].op];
  uint32_t ends = 0, chosen = 0; /* pairs whose input ends here; pairs in use */
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    int32_t made = lifetime_read_by(track, w->in, r);
    if (made == NO_LIFETIME || plim_track_end(track, w->in, made) != r) continue;
    ends |= 1U << k;
    int taken = made < 0 && track->head == r;
    for (int32_t i = 0; i < k; i++) {
      const plim_overwrite *other = &op->overwrite[i];
      taken |= (chosen >> i & 1) && (other->in == w->in || other->out_index == w->out_index);
    }
    if (taken) continue;
    chosen |= 1U << k;
  }
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    int32_t in = op->overwrite[k].in, over = 0;
    if (!(ends >> k & 1)) continue;
    for (int32_t i = 0; i < op->n_overwrites; i++) over |= (chosen >> i & 1) && op->overwrite[i].in == in;
    kept_lifetime lifetime = lifetime_at(track, in, lifetime_read_by(track, in, r));
    if (over == *lifetime.over) continue;
    account_end(track, lifetime, -1);
    *lifetime.over = (uint8_t)over;
    account_end(track, lifetime, 1);
  }
}

void plim_track_settle_touched(plim_track *track) {
  for (int32_t i = 0; i < track->n_touched; i++) {
    int32_t r = track->touched[i];
    track->run[r].is_touched = 0;
    if (track->run[r].slot >= 0) settle_overwrites(track, r);
  }
  track->n_touched = 0;
}
