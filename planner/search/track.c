/* Changing a schedule: every copy remembers its last reader, where its bytes are given back. Inserting a run splits the
 * copy before it, removing one joins two; reads move ends. An output that may be written over an input does so when
 * that input's copy ends there; this is settled last, for the runs that were touched.
 * Source: FastSA, NeurIPS 2023 (add and remove with sorted runs per op), extended to step graphs. */
#include "planner/search/track.h"

#include <assert.h>
#include <string.h>

enum { JOURNAL_ROOM = 512 };

plim_status plim_track_new(const plim_problem *p, int32_t room, plim_track **out) {
  plim_context *ctx = p->ctx;
  plim_track *t = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *t, &t));
  t->problem = p;
  t->room = room;
  t->room_journal = JOURNAL_ROOM;
  PLIM_CHECK(plim_levels_new(ctx, 2 * room, &t->levels));
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *t->run, &t->run));
  PLIM_CHECK(plim_allocate(ctx, t->levels->n_slots, sizeof *t->run_at, &t->run_at));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *t->first, &t->first));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *t->last, &t->last));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *t->n_of, &t->n_of));
  PLIM_CHECK(plim_allocate(ctx, p->n_ops, sizeof *t->stamp, &t->stamp));
  PLIM_CHECK(plim_allocate(ctx, p->n_items, sizeof *t->input_end, &t->input_end));
  PLIM_CHECK(plim_allocate(ctx, p->n_items, sizeof *t->input_over, &t->input_over));
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *t->alive, &t->alive));
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *t->repeat, &t->repeat));
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *t->free_run, &t->free_run));
  PLIM_CHECK(plim_allocate(ctx, room, sizeof *t->touched, &t->touched));
  PLIM_CHECK(plim_allocate(ctx, t->room_journal, sizeof *t->journal, &t->journal));
  *out = t;
done:
  if (status != PLIM_OK) plim_track_free(t);
  return status;
}

void plim_track_free(plim_track *t) {
  if (!t) return;
  const plim_problem *p = t->problem;
  plim_context *ctx = p->ctx;
  plim_release(ctx, t->run, t->room, sizeof *t->run);
  if (t->levels) plim_release(ctx, t->run_at, t->levels->n_slots, sizeof *t->run_at);
  plim_release(ctx, t->first, p->n_ops, sizeof *t->first);
  plim_release(ctx, t->last, p->n_ops, sizeof *t->last);
  plim_release(ctx, t->n_of, p->n_ops, sizeof *t->n_of);
  plim_release(ctx, t->stamp, p->n_ops, sizeof *t->stamp);
  plim_release(ctx, t->input_end, p->n_items, sizeof *t->input_end);
  plim_release(ctx, t->input_over, p->n_items, sizeof *t->input_over);
  plim_release(ctx, t->alive, t->room, sizeof *t->alive);
  plim_release(ctx, t->repeat, t->room, sizeof *t->repeat);
  plim_release(ctx, t->free_run, t->room, sizeof *t->free_run);
  plim_release(ctx, t->touched, t->room, sizeof *t->touched);
  plim_release(ctx, t->journal, t->room_journal, sizeof *t->journal);
  plim_levels_free(t->levels);
  plim_release(ctx, t, 1, sizeof *t);
}

/* ---- copies ---- */

int32_t plim_track_before(const plim_track *t, int32_t op, int32_t slot) {
  int32_t r = t->last[op];
  while (r >= 0 && t->run[r].slot >= slot) r = t->run[r].op_prev;
  return r;
}

/* The latest reader of the item in (low, high), -1 when there is none. */
static int32_t latest_reader(const plim_track *t, int32_t item, int32_t low, int32_t high) {
  const plim_list *readers = &t->problem->item[item].readers;
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
  const plim_list *readers = &t->problem->item[item].readers;
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
  return it->producer < 0 ? t->input_end[item] : t->run[run].end[it->write_index];
}

static int is_over(const plim_track *t, int32_t item, int32_t run) {
  const plim_item *it = &t->problem->item[item];
  return it->producer < 0 ? t->input_over[item] : t->run[run].over >> it->write_index & 1;
}

static void touch(plim_track *t, int32_t run) {
  if (run < 0 || t->run[run].is_touched || t->problem->op[t->run[run].op].n_overwrites == 0) return;
  t->run[run].is_touched = 1;
  t->touched[t->n_touched++] = run;
}

/* Account (sign 1) or cancel (sign -1) the giving back of a copy's bytes at its end. */
static void account_end(plim_track *t, int32_t item, int32_t run, int sign) {
  int64_t bytes = sign * t->problem->item[item].bytes;
  int32_t end = plim_track_end(t, item, run);
  if (end < 0) return;
  if (is_over(t, item, run)) {
    plim_levels_add(t->levels, t->run[end].slot, -bytes, 0);
  } else {
    plim_levels_add(t->levels, t->run[end].slot, 0, bytes);
  }
}

static void write_over(plim_track *t, int32_t item, int32_t run, int over) {
  const plim_item *it = &t->problem->item[item];
  if (it->producer < 0) {
    t->input_over[item] = (uint8_t)over;
  } else {
    uint32_t bit = 1U << it->write_index, rest = t->run[run].over & ~bit;
    t->run[run].over = (uint8_t)(over ? rest | bit : rest);
  }
}

static void write_end(plim_track *t, int32_t item, int32_t run, int32_t end) {
  const plim_item *it = &t->problem->item[item];
  if (it->producer < 0) {
    t->input_end[item] = end;
  } else {
    t->run[run].end[it->write_index] = end;
  }
}

/* Take the end of a copy away; afterwards it must get a new one or vanish. */
static void clear_end(plim_track *t, int32_t item, int32_t run) {
  account_end(t, item, run, -1);
  touch(t, plim_track_end(t, item, run));
  write_over(t, item, run, 0);
}

static void set_end(plim_track *t, int32_t item, int32_t run, int32_t end) {
  write_end(t, item, run, end);
  account_end(t, item, run, 1);
  touch(t, end);
}

static int32_t end_slot(const plim_track *t, int32_t item, int32_t run) {
  int32_t end = plim_track_end(t, item, run);
  if (end >= 0) return t->run[end].slot;
  return t->problem->item[item].kept ? INT32_MAX : -1;
}

/* ---- reads and writes of one run ---- */

enum { NO_COPY = -2 };

/* Run that made the copy of an item that run r reads; -1: it is an input; NO_COPY: r is an orphan. */
static int32_t copy_read(const plim_track *t, int32_t item, int32_t r) {
  int32_t producer = t->problem->item[item].producer;
  if (producer < 0) return -1;
  int32_t made = plim_track_before(t, producer, t->run[r].slot);
  return made < 0 ? NO_COPY : made;
}

static void add_reads(plim_track *t, int32_t r) {
  const plim_list *reads = &t->problem->op[t->run[r].op].reads;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], made = copy_read(t, item, r);
    if (made == NO_COPY) continue; /* whoever makes the copy adopts it */
    if (end_slot(t, item, made) >= t->run[r].slot) continue;
    clear_end(t, item, made);
    set_end(t, item, made, r);
  }
}

static void remove_reads(plim_track *t, int32_t r) {
  const plim_list *reads = &t->problem->op[t->run[r].op].reads;
  int32_t slot = t->run[r].slot;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i], made = copy_read(t, item, r);
    if (made == NO_COPY || plim_track_end(t, item, made) != r) continue;
    int32_t end = latest_reader(t, item, made < 0 ? -1 : t->run[made].slot, slot);
    clear_end(t, item, made);
    set_end(t, item, made, end < 0 ? made : end);
  }
}

static void add_write(plim_track *t, int32_t r, int32_t item) {
  int32_t slot = t->run[r].slot, old = t->run[r].op_prev, next = t->run[r].op_next, end = r;
  if (old >= 0) {
    if (end_slot(t, item, old) > slot) { /* later readers of the old copy read the new one */
      int32_t stays = latest_reader(t, item, t->run[old].slot, slot);
      end = plim_track_end(t, item, old);
      clear_end(t, item, old);
      set_end(t, item, old, stays < 0 ? old : stays);
    }
  } else if (next < 0 && t->problem->item[item].kept) {
    end = -1;
  } else {
    int32_t orphan = latest_reader(t, item, slot, next < 0 ? INT32_MAX : t->run[next].slot);
    if (orphan >= 0) end = orphan;
  }
  set_end(t, item, r, end);
  plim_levels_add(t->levels, slot, t->problem->item[item].bytes, 0);
}

static void remove_write(plim_track *t, int32_t r, int32_t item) {
  int32_t old = t->run[r].op_prev, end = plim_track_end(t, item, r);
  clear_end(t, item, r);
  plim_levels_add(t->levels, t->run[r].slot, -t->problem->item[item].bytes, 0);
  if (old < 0 || end == r) return; /* with no older copy the readers become orphans */
  clear_end(t, item, old);
  set_end(t, item, old, end);
}

/* ---- in-place pairs ---- */

/* Let the outputs of a run take the place of inputs whose copies end there: in the order of the pairs, each output and
 * each input once. An input that the first run of all reads would have no life left. */
static void settle_overwrites(plim_track *t, int32_t r) {
  const plim_planned_op *op = &t->problem->op[t->run[r].op];
  uint32_t outs = 0, ends = 0, chosen = 0; /* outputs taken; pairs whose input ends here; pairs in use */
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    const plim_overwrite *w = &op->overwrite[k];
    int32_t made = copy_read(t, w->in, r);
    if (made == NO_COPY || plim_track_end(t, w->in, made) != r) continue;
    ends |= 1U << k;
    int taken = (outs >> w->out_index & 1) || (made < 0 && t->head == r);
    for (int32_t i = 0; i < k; i++) taken |= (chosen >> i & 1) && op->overwrite[i].in == w->in;
    if (taken) continue;
    outs |= 1U << w->out_index;
    chosen |= 1U << k;
  }
  for (int32_t k = 0; k < op->n_overwrites; k++) {
    int32_t in = op->overwrite[k].in, over = 0;
    if (!(ends >> k & 1)) continue;
    for (int32_t i = 0; i < op->n_overwrites; i++) over |= (chosen >> i & 1) && op->overwrite[i].in == in;
    int32_t made = copy_read(t, in, r);
    if (over == is_over(t, in, made)) continue;
    account_end(t, in, made, -1);
    write_over(t, in, made, over);
    account_end(t, in, made, 1);
  }
}

static void settle_touched(plim_track *t) {
  for (int32_t i = 0; i < t->n_touched; i++) {
    int32_t r = t->touched[i];
    t->run[r].is_touched = 0;
    if (t->run[r].slot >= 0) settle_overwrites(t, r);
  }
  t->n_touched = 0;
}

/* ---- the sequence ---- */

static void place(plim_track *t, int32_t r, int32_t slot) {
  t->run[r].slot = slot;
  t->run_at[slot] = r;
  t->levels->used[slot] = 1;
  plim_levels_mark(t->levels, slot);
}

/* Spread the runs of [low, low + size) evenly over it. Their order stays. */
static void spread(plim_track *t, int32_t low, int32_t size, int32_t n) {
  int32_t to = low + size, from = low + size;
  plim_levels *l = t->levels;
  /* first close up at the upper end, from above; then open up from below */
  while (from-- > low) {
    int32_t r = t->run_at[from];
    if (r < 0) continue;
    plim_level_slot moved = l->slot[from];
    t->run_at[from] = -1;
    l->used[from] = 0;
    l->slot[from] = (plim_level_slot){0, 0};
    place(t, r, --to);
    l->slot[to] = moved;
  }
  for (int32_t i = 0; i < n; i++, to++) {
    int32_t goal = low + (int32_t)((2 * (int64_t)i + 1) * size / (2 * (int64_t)n)), r = t->run_at[to];
    plim_level_slot moved = l->slot[to];
    t->run_at[to] = -1;
    l->used[to] = 0;
    l->slot[to] = (plim_level_slot){0, 0};
    place(t, r, goal);
    l->slot[goal] = moved;
  }
  for (int32_t s = low; s < low + size; s += PLIM_LEVELS_BLOCK) plim_levels_mark(l, s);
}

/* Make free slots on both sides of the run in or near this slot: spread the smallest aligned window around it that is
 * less than half full, so that it begins and ends with a free slot. The whole is never fuller than that. */
static void make_room(plim_track *t, int32_t near) {
  int32_t size = PLIM_LEVELS_BLOCK;
  for (;;) {
    size *= 2;
    int32_t low = near / size * size, n = 0;
    if (size >= t->levels->n_slots) low = 0;
    for (int32_t s = low; s < low + size; s++) n += t->run_at[s] >= 0;
    if (2 * n < size || size >= t->levels->n_slots) {
      spread(t, low, size, n);
      return;
    }
  }
}

static int32_t free_slot(plim_track *t, int32_t next) {
  for (;;) {
    int32_t prev = next < 0 ? t->tail : t->run[next].prev;
    int32_t low = prev < 0 ? -1 : t->run[prev].slot, high = next < 0 ? t->levels->n_slots : t->run[next].slot;
    if (high - low > 1) return low + (high - low) / 2;
    make_room(t, next < 0 ? t->levels->n_slots - 1 : high);
  }
}

static void link_run(plim_track *t, int32_t r, int32_t next) {
  plim_track_run *run = &t->run[r];
  int32_t prev = next < 0 ? t->tail : t->run[next].prev;
  run->prev = prev;
  run->next = next;
  if (prev >= 0) t->run[prev].next = r;
  if (next >= 0) t->run[next].prev = r;
  if (prev < 0) t->head = r;
  if (next < 0) t->tail = r;
  int32_t before = plim_track_before(t, run->op, run->slot);
  run->op_prev = before;
  run->op_next = before < 0 ? t->first[run->op] : t->run[before].op_next;
  if (run->op_prev >= 0) t->run[run->op_prev].op_next = r;
  if (run->op_next >= 0) t->run[run->op_next].op_prev = r;
  if (run->op_prev < 0) t->first[run->op] = r;
  if (run->op_next < 0) t->last[run->op] = r;
}

static void unlink_run(plim_track *t, int32_t r) {
  plim_track_run *run = &t->run[r];
  if (run->prev >= 0) t->run[run->prev].next = run->next;
  if (run->next >= 0) t->run[run->next].prev = run->prev;
  if (t->head == r) t->head = run->next;
  if (t->tail == r) t->tail = run->prev;
  if (run->op_prev >= 0) t->run[run->op_prev].op_next = run->op_next;
  if (run->op_next >= 0) t->run[run->op_next].op_prev = run->op_prev;
  if (t->first[run->op] == r) t->first[run->op] = run->op_next;
  if (t->last[run->op] == r) t->last[run->op] = run->op_prev;
  assert(t->levels->slot[run->slot].up == 0 && t->levels->slot[run->slot].down == 0);
  plim_levels_mark(t->levels, run->slot);
  t->run_at[run->slot] = -1;
  t->levels->used[run->slot] = 0;
  run->slot = -1;
}

/* Lists to draw runs from: all, and the repeats. */
static void enlist(plim_track *t, int32_t r) {
  plim_track_run *run = &t->run[r];
  run->alive_at = t->n_runs;
  t->alive[t->n_runs++] = r;
  run->repeat_at = -1;
  if (t->n_of[run->op]++ > 0) {
    run->repeat_at = t->n_repeats;
    t->repeat[t->n_repeats++] = r;
  }
}

static void drop_repeat(plim_track *t, int32_t at) {
  t->run[t->repeat[at]].repeat_at = -1;
  if (at != --t->n_repeats) {
    t->repeat[at] = t->repeat[t->n_repeats];
    t->run[t->repeat[at]].repeat_at = at;
  }
}

static void delist(plim_track *t, int32_t r) {
  plim_track_run *run = &t->run[r];
  int32_t last = t->alive[--t->n_runs];
  t->alive[run->alive_at] = last;
  t->run[last].alive_at = run->alive_at;
  if (--t->n_of[run->op] == 0) return;
  int32_t other = run->op_prev >= 0 ? run->op_prev : run->op_next;
  drop_repeat(t, run->repeat_at >= 0 ? run->repeat_at : t->run[other].repeat_at);
}

static void add_workspace(plim_track *t, int32_t r, int sign) {
  const plim_choice *choice = &t->problem->op[t->run[r].op].choice[t->run[r].choice];
  t->time_ns += sign * choice->time_ns;
  int64_t bytes = sign * choice->workspace_bytes;
  if (bytes != 0) plim_levels_add(t->levels, t->run[r].slot, bytes, bytes);
}

static int32_t insert(plim_track *t, int32_t op, int32_t choice, int32_t next) {
  int32_t r = t->free_run[--t->n_free];
  plim_track_run *run = &t->run[r];
  *run = (plim_track_run){.op = op, .choice = choice};
  place(t, r, free_slot(t, next));
  int32_t old_head = t->head;
  link_run(t, r, next);
  enlist(t, r);
  const plim_list *writes = &t->problem->op[op].writes;
  add_reads(t, r);
  for (int32_t i = 0; i < writes->n; i++) add_write(t, r, writes->at[i]);
  add_workspace(t, r, 1);
  touch(t, r);
  if (t->head == r) touch(t, old_head);
  settle_touched(t);
  return r;
}

static void remove_run(plim_track *t, int32_t r) {
  const plim_list *writes = &t->problem->op[t->run[r].op].writes;
  remove_reads(t, r);
  for (int32_t i = 0; i < writes->n; i++) remove_write(t, r, writes->at[i]);
  add_workspace(t, r, -1);
  if (t->head == r) touch(t, t->run[r].next);
  delist(t, r);
  unlink_run(t, r);
  settle_touched(t);
  t->free_run[t->n_free++] = r;
}

/* ---- changes, journalled ---- */

int plim_track_full(const plim_track *t) {
  return t->n_free < 16 || t->n_journal + 16 > t->room_journal;
}

int32_t plim_track_insert(plim_track *t, int32_t op, int32_t choice, int32_t next) {
  int32_t r = insert(t, op, choice, next);
  t->journal[t->n_journal++] = (plim_change){PLIM_CHANGE_INSERT, r, op, choice, next};
  return r;
}

void plim_track_remove(plim_track *t, int32_t run) {
  const plim_track_run *r = &t->run[run];
  t->journal[t->n_journal++] = (plim_change){PLIM_CHANGE_REMOVE, run, r->op, r->choice, r->next};
  remove_run(t, run);
}

static void change_choice(plim_track *t, int32_t run, int32_t choice) {
  add_workspace(t, run, -1);
  t->run[run].choice = choice;
  add_workspace(t, run, 1);
}

void plim_track_set_choice(plim_track *t, int32_t run, int32_t choice) {
  t->journal[t->n_journal++] = (plim_change){PLIM_CHANGE_CHOICE, run, t->run[run].op, t->run[run].choice, -1};
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
  plim_levels_clear(t->levels);
  for (int32_t s = 0; s < t->levels->n_slots; s++) t->run_at[s] = -1;
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
  for (int32_t j = 0; j < s->n; j++) (void)insert(t, s->op[j], s->choice[j], -1);
  if (s->n > 0) spread(t, 0, t->levels->n_slots, s->n);
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
  plim_levels_settle(t->levels);
}

int64_t plim_track_peak(const plim_track *t) {
  return plim_levels_peak(t->levels, t->base_bytes);
}

int64_t plim_track_excess(const plim_track *t, int64_t limit) {
  const plim_levels *l = t->levels;
  int64_t excess = plim_levels_excess(l, t->base_bytes, limit);
  if (l->n_areas == l->n_blocks) return excess;
  return (int64_t)((double)excess * t->n_runs / l->n_areas); /* as if all runs of an area were as high as its highest */
}

int32_t plim_track_usual_room(const plim_problem *p) {
  int32_t n = p->n_ops;
  return n < 200 ? 16 * n + 64 : 4 * n + 2464;
}

/* ---- rules ---- */

int plim_track_may_repeat(const plim_track *t, int32_t op, int32_t next) {
  const plim_planned_op *v = &t->problem->op[op];
  int32_t slot = next < 0 ? t->levels->n_slots : t->run[next].slot;
  if (v->once || t->first[op] < 0 || t->run[t->first[op]].slot >= slot) return 0;
  for (int32_t i = 0; i < v->until.n; i++) {
    if (t->run[t->first[v->until.at[i]]].slot < slot) return 0;
  }
  return 1;
}

void plim_track_window(const plim_track *t, int32_t run, int32_t *low, int32_t *high) {
  int32_t op = t->run[run].op;
  const plim_planned_op *v = &t->problem->op[op];
  *low = -1;
  *high = t->levels->n_slots;
  for (int32_t i = 0; i < v->after.n; i++) {
    int32_t slot = t->run[t->first[v->after.at[i]]].slot;
    if (slot > *low) *low = slot;
  }
  for (int32_t i = 0; i < v->closes.n; i++) {
    int32_t slot = t->run[t->last[v->closes.at[i]]].slot;
    if (slot > *low) *low = slot;
  }
  for (int32_t i = 0; i < v->before.n; i++) {
    int32_t slot = t->run[t->first[v->before.at[i]]].slot;
    if (slot < *high) *high = slot;
  }
  for (int32_t i = 0; i < v->until.n; i++) {
    int32_t slot = t->run[t->first[v->until.at[i]]].slot;
    if (slot < *high) *high = slot;
  }
  if (!t->problem->fixed_order) return;
  if (op > 0 && t->run[t->first[op - 1]].slot > *low) *low = t->run[t->first[op - 1]].slot;
  if (op + 1 < t->problem->n_ops && t->run[t->first[op + 1]].slot < *high) *high = t->run[t->first[op + 1]].slot;
}

int plim_track_may_remove(const plim_track *t, int32_t run) {
  const plim_track_run *r = &t->run[run];
  if (t->n_of[r->op] < 2) return 0;
  if (r->op_prev >= 0) return 1;
  int32_t low, high;
  plim_track_window(t, run, &low, &high); /* of first runs: would the second one do as the first? */
  return t->run[r->op_next].slot < high;
}
