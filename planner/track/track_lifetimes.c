/* The lifetimes of a schedule under change: each remembers its last reader, where its bytes are given back. A new run
 * splits the lifetime before it, and without it the two are one again; reads move ends. An output that may be written
 * over an input does so when that input's lifetime ends there; this is settled last, for the runs that were touched. */
#include "planner/track/track_internal.h"

int32_t plim_track_before(const plim_track *t, int32_t op, int32_t slot) {
  int32_t r = t->last[op];
  while (r >= 0 && t->run[r].slot >= slot) r = t->run[r].op_prev;
  return r;
}

/* The latest reader of the item in (low, high), -1 when there is none. */
static int32_t latest_reader(const plim_track *t, int32_t item, int32_t low, int32_t high) {
  const plim_ids *readers = &t->problem->item[item].readers;
  int32_t best = -1;
  for (int32_t i = 0; i < readers->n; i++) {
    int32_t r = plim_track_before(t, readers->at[i], high);
    if (r < 0 || t->run[r].slot <= low) continue;
    low = t->run[r].slot;
    best = r;
  }
  return best;
}

int32_t plim_track_next_reader(const plim_track *t, int32_t item, int32_t from_slot, int32_t to_slot) {
  const plim_ids *readers = &t->problem->item[item].readers;
  int32_t best = -1;
  for (int32_t i = 0; i < readers->n; i++) {
    int32_t r = t->first[readers->at[i]];
    while (r >= 0 && t->run[r].slot <= from_slot) r = t->run[r].op_next;
    if (r < 0 || t->run[r].slot >= to_slot) continue;
    to_slot = t->run[r].slot;
    best = r;
  }
  return best;
}

int32_t plim_track_end(const plim_track *t, int32_t item, int32_t run) {
  const plim_item *it = &t->problem->item[item];
  return it->producer < 0 ? t->input_end[item] : t->end[(int64_t)run * t->outputs + it->write_index];
}

static int is_overwritten(const plim_track *t, int32_t item, int32_t run) {
  const plim_item *it = &t->problem->item[item];
  return it->producer < 0 ? t->input_over[item] : t->over[(int64_t)run * t->outputs + it->write_index];
}

void plim_track_touch(plim_track *t, int32_t run) {
  if (run < 0 || t->run[run].is_touched || t->problem->op[t->run[run].op].n_overwrites == 0) return;
  t->run[run].is_touched = 1;
  t->touched[t->n_touched++] = run;
}

/* Account (sign 1) or cancel (sign -1) the giving back of a lifetime's bytes at its end. */
static void account_end(plim_track *t, int32_t item, int32_t run, int sign) {
  int64_t bytes = sign * t->problem->item[item].bytes;
  int32_t end = plim_track_end(t, item, run);
  if (end < 0) return;
  if (is_overwritten(t, item, run)) {
    plim_memory_profile_add(t->memory_profile, t->run[end].slot, -bytes, 0);
  } else {
    plim_memory_profile_add(t->memory_profile, t->run[end].slot, 0, bytes);
  }
}

static void write_over(plim_track *t, int32_t item, int32_t run, int over) {
  const plim_item *it = &t->problem->item[item];
  if (it->producer < 0) {
    t->input_over[item] = (uint8_t)over;
  } else {
    t->over[(int64_t)run * t->outputs + it->write_index] = (uint8_t)over;
  }
}

static void write_end(plim_track *t, int32_t item, int32_t run, int32_t end) {
  const plim_item *it = &t->problem->item[item];
  if (it->producer < 0) {
    t->input_end[item] = end;
  } else {
    t->end[(int64_t)run * t->outputs + it->write_index] = end;
  }
}

/* Take the end of a lifetime away; afterwards it must get a new one or vanish. */
static void clear_end(plim_track *t, int32_t item, int32_t run) {
  account_end(t, item, run, -1);
  plim_track_touch(t, plim_track_end(t, item, run));
  write_over(t, item, run, 0);
}

static void set_end(plim_track *t, int32_t item, int32_t run, int32_t end) {
  write_end(t, item, run, end);
  account_end(t, item, run, 1);
  plim_track_touch(t, end);
}

static int32_t end_slot(const plim_track *t, int32_t item, int32_t run) {
  int32_t end = plim_track_end(t, item, run);
  if (end >= 0) return t->run[end].slot;
  return t->problem->item[item].is_output ? INT32_MAX : -1;
}

/* ---- reads and writes of one run ---- */

enum { NO_LIFETIME = -2 };

/* Run that began the lifetime of an item that run r reads; -1: it is an input; NO_LIFETIME: r is an orphan. */
static int32_t lifetime_read_by(const plim_track *t, int32_t item, int32_t r) {
  int32_t producer = t->problem->item[item].producer;
  if (producer < 0) return -1;
  int32_t made = plim_track_before(t, producer, t->run[r].slot);
  return made < 0 ? NO_LIFETIME : made;
}

void plim_track_add_reads(plim_track *t, int32_t r) {
  const plim_ids *reads = &t->problem->op[t->run[r].op].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], made = lifetime_read_by(t, item, r);
    if (made == NO_LIFETIME) continue; /* whoever begins the lifetime adopts it */
    if (end_slot(t, item, made) >= t->run[r].slot) continue;
    clear_end(t, item, made);
    set_end(t, item, made, r);
  }
}

void plim_track_remove_reads(plim_track *t, int32_t r) {
  const plim_ids *reads = &t->problem->op[t->run[r].op].reads;
  int32_t slot = t->run[r].slot;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], made = lifetime_read_by(t, item, r);
    if (made == NO_LIFETIME || plim_track_end(t, item, made) != r) continue;
    int32_t end = latest_reader(t, item, made < 0 ? -1 : t->run[made].slot, slot);
    clear_end(t, item, made);
    set_end(t, item, made, end < 0 ? made : end);
  }
}

static void add_write(plim_track *t, int32_t r, int32_t item) {
  int32_t slot = t->run[r].slot, old = t->run[r].op_prev, next = t->run[r].op_next, end = r;
  if (old >= 0) {
    if (end_slot(t, item, old) > slot) { /* later readers of the old lifetime are in the new one */
      int32_t stays = latest_reader(t, item, t->run[old].slot, slot);
      end = plim_track_end(t, item, old);
      clear_end(t, item, old);
      set_end(t, item, old, stays < 0 ? old : stays);
    }
  } else if (next < 0 && t->problem->item[item].is_output) {
    end = -1;
  } else {
    int32_t orphan = latest_reader(t, item, slot, next < 0 ? INT32_MAX : t->run[next].slot);
    if (orphan >= 0) end = orphan;
  }
  set_end(t, item, r, end);
  plim_memory_profile_add(t->memory_profile, slot, t->problem->item[item].bytes, 0);
}

static void remove_write(plim_track *t, int32_t r, int32_t item) {
  int32_t old = t->run[r].op_prev, end = plim_track_end(t, item, r);
  clear_end(t, item, r);
  plim_memory_profile_add(t->memory_profile, t->run[r].slot, -t->problem->item[item].bytes, 0);
  if (old < 0 || end == r) return; /* with no older lifetime the readers become orphans */
  clear_end(t, item, old);
  set_end(t, item, old, end);
}

void plim_track_add_writes(plim_track *t, int32_t r) {
  const plim_ids *writes = &t->problem->op[t->run[r].op].writes;
  for (int32_t i = 0; i < writes->n; i++) add_write(t, r, writes->at[i]);
}

void plim_track_remove_writes(plim_track *t, int32_t r) {
  const plim_ids *writes = &t->problem->op[t->run[r].op].writes;
  for (int32_t i = 0; i < writes->n; i++) remove_write(t, r, writes->at[i]);
}

/* ---- in-place pairs ---- */

/* Let the outputs of a run take the place of inputs whose lifetimes end there: in the order of the pairs, each output
 * and each input once. An input that the first run of all reads would have no buffer left. */
static void settle_overwrites(plim_track *t, int32_t r) {
  const plim_planned_op *op = &t->problem->op[t->run[r].op];
  uint32_t ends = 0, chosen = 0; /* pairs whose input ends here; pairs in use */
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    int32_t made = lifetime_read_by(t, w->in, r);
    if (made == NO_LIFETIME || plim_track_end(t, w->in, made) != r) continue;
    ends |= 1U << k;
    int taken = made < 0 && t->head == r;
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
    int32_t made = lifetime_read_by(t, in, r);
    if (over == is_overwritten(t, in, made)) continue;
    account_end(t, in, made, -1);
    write_over(t, in, made, over);
    account_end(t, in, made, 1);
  }
}

void plim_track_settle_touched(plim_track *t) {
  for (int32_t i = 0; i < t->n_touched; i++) {
    int32_t r = t->touched[i];
    t->run[r].is_touched = 0;
    if (t->run[r].slot >= 0) settle_overwrites(t, r);
  }
  t->n_touched = 0;
}
