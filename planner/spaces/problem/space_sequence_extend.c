/* Inserts events into a sequence that is analysed, and takes out those that nothing reads any more. Lifetimes, fillers
 * and bytes are updated in place, by plain loops over the arrays: the sequence stays analysed.
 *
 * Invariant: after each call the arrays are those of plim_space_sequence_analyse, but for the events in `idle`, which
 * nothing reads and which are still there. */
#include <string.h>

#include "planner/spaces/problem/space_sequence.h"

/* ---- insertions ---- */

/* Indices of events from `at` on grow. */
static void shift_indices(int32_t *index, int64_t n, int32_t at, int32_t by) {
  for (int64_t i = 0; i < n; i++) index[i] += index[i] >= at ? by : 0;
}

static void open_gap(int32_t *x, int32_t n, int32_t at, int32_t by) {
  memmove(x + at + by, x + at, (size_t)(n - at) * sizeof *x);
}

/* Make room for `by` events at `at`, whose reads are `reads`; bytes there are those of buffers that live across. */
static void shift(plim_space_sequence *s, int32_t at, int32_t by, int32_t reads) {
  const plim_space_problem *p = s->problem;
  int32_t n = s->n, all = s->first_read[n], from = s->first_read[at];
  const plim_space_event *next = &s->event[at];
  for (int32_t space = 0; space < p->platform->n_spaces; space++) {
    int64_t *live = plim_space_live(s, space), across = live[at];
    if (plim_space_event_space(p, next) == space) {
      across -= p->node[next->node].bytes + (next->kind == PLIM_SPACE_RUN ? p->node[next->node].workspace : 0);
    }
    memmove(live + at + by, live + at, (size_t)(n - at) * sizeof *live);
    for (int32_t e = at; e < at + by; e++) live[e] = across;
  }
  shift_indices(s->last, n, at, by);
  shift_indices(s->previous_filler, n, at, by);
  shift_indices(s->read, all, at, by);
  shift_indices(s->latest, (int64_t)p->platform->n_spaces * p->n, at, by);
  shift_indices(s->idle, s->n_idle, at, by);
  open_gap(s->last, n, at, by);
  open_gap(s->previous_filler, n, at, by);
  open_gap(s->first_read, n + 1, at, by);
  open_gap(s->read, all, from, reads);
  for (int32_t e = at + by; e <= n + by; e++) s->first_read[e] += reads;
  memmove(s->event + at + by, s->event + at, (size_t)(n - at) * sizeof *s->event);
  s->n += by;
}

static void add_live(plim_space_sequence *s, int32_t filler, int32_t from, int32_t to, int sign) {
  const plim_space_event *event = &s->event[filler];
  int64_t *live = plim_space_live(s, plim_space_event_space(s->problem, event));
  for (int32_t e = from; e < to; e++) live[e] += sign * s->problem->node[event->node].bytes;
}

static int reads_it(const plim_space_sequence *s, int32_t e, int32_t filler) {
  for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
    if (s->read[i] == filler) return 1;
  }
  return 0;
}

/* Event e reads the buffer that is there. 0: none is. */
static int read_one(plim_space_sequence *s, int32_t e, int32_t node, int32_t space, int32_t *at) {
  int32_t filler = plim_space_sequence_find(s, node, space, e);
  if (filler < 0) return 0;
  s->read[(*at)++] = filler;
  if (s->last[filler] >= e) return 1;
  add_live(s, filler, s->last[filler] + 1, e + 1, 1);
  s->last[filler] = e;
  return 1;
}

/* Event e is without a reader. */
static void note_idle(plim_space_sequence *s, int32_t e) {
  for (int32_t i = 0; i < s->n_idle; i++) {
    if (s->idle[i] == e) return;
  }
  if (s->n_idle == PLIM_SPACE_IDLE) s->valid = 0;
  if (s->n_idle < PLIM_SPACE_IDLE) s->idle[s->n_idle++] = e;
}

/* The buffer of event e is read before event `end` alone: find the last that does, and take its bytes away after it. */
static void end_before(plim_space_sequence *s, int32_t e, int32_t end) {
  int32_t stays = end - 1;
  while (stays > e && !reads_it(s, stays, e)) stays--;
  add_live(s, e, stays + 1, s->last[e] + 1, -1);
  s->last[e] = stays;
  if (stays == e) note_idle(s, e);
}

/* Event e fills its buffer: what is read from `end` on of the buffer before it is now read of this one. */
static void take_readers(plim_space_sequence *s, int32_t e, int32_t end) {
  int32_t old = s->previous_filler[e], last = old < 0 ? -1 : s->last[old];
  s->last[e] = e;
  for (int32_t u = end; u <= last; u++) {
    for (int32_t i = s->first_read[u]; i < s->first_read[u + 1]; i++) {
      if (s->read[i] != old) continue;
      s->read[i] = e;
      s->last[e] = u;
    }
  }
  const plim_space_node *v = &s->problem->node[s->event[e].node];
  add_live(s, e, e, s->last[e] + 1, 1);
  if (s->event[e].kind == PLIM_SPACE_RUN) {
    plim_space_live(s, plim_space_event_space(s->problem, &s->event[e]))[e] += v->workspace;
  }
  if (s->last[e] > e) end_before(s, old, e);
}

/* Event e takes its place among those that fill its node and space. */
static void link_filler(plim_space_sequence *s, int32_t e) {
  int32_t space = plim_space_event_space(s->problem, &s->event[e]),
          *next = plim_space_latest(s, space, s->event[e].node);
  while (*next > e) next = &s->previous_filler[*next];
  s->previous_filler[e] = *next;
  *next = e;
}

static int32_t reads_of(const plim_space_sequence *s, const plim_space_event *event) {
  return event->kind == PLIM_SPACE_RUN ? s->problem->node[event->node].n_preds : 1;
}

plim_status plim_space_sequence_extend(plim_space_sequence *s, int32_t at, int32_t n, const plim_space_event *event,
                                       int32_t *done) {
  const plim_space_problem *p = s->problem;
  int32_t reads = 0, next, whole = 1;
  for (int32_t i = 0; i < n; i++) reads += reads_of(s, &event[i]);
  *done = s->valid && s->n + n <= s->capacity && s->first_read[s->n] + (int64_t)reads <= s->read_capacity;
  if (!*done) return PLIM_OK;
  next = s->first_read[at];
  shift(s, at, n, reads);
  memcpy(s->event + at, event, (size_t)n * sizeof *event);
  for (int32_t e = at; e < at + n && whole; e++) {
    const plim_space_event *v = &s->event[e];
    int run = v->kind == PLIM_SPACE_RUN;
    int32_t space = run ? plim_space_event_space(p, v) : p->platform->link[v->at].from;
    s->first_read[e] = next;
    for (int32_t i = 0; i < reads_of(s, v) && whole; i++) {
      whole = read_one(s, e, run ? p->node[v->node].pred[i] : v->node, space, &next);
    }
    s->first_read[e + 1] = next;
    link_filler(s, e);
    if (whole) take_readers(s, e, at + n);
  }
  s->valid = s->valid && whole;
  plim_space_sequence_set_block_peaks(s);
  return PLIM_OK;
}

/* ---- removals ---- */

/* Does another event run the node? */
static int has_other_run(const plim_space_sequence *s, int32_t e) {
  for (int32_t space = 0; space < s->problem->platform->n_spaces; space++) {
    for (int32_t u = *plim_space_latest(s, space, s->event[e].node); u >= 0; u = s->previous_filler[u]) {
      if (u != e && s->event[u].kind == PLIM_SPACE_RUN) return 1;
    }
  }
  return 0;
}

static void close_gap(int32_t *x, int32_t n, int32_t at, int32_t by) {
  memmove(x + at, x + at + by, (size_t)(n - at - by) * sizeof *x);
}

/* Indices of events after `at` fall. */
static void lower_indices(int32_t *index, int64_t n, int32_t at) {
  for (int64_t i = 0; i < n; i++) index[i] -= index[i] > at;
}

/* Nothing reads the buffer of event e: take it out of the arrays. */
static void remove_event(plim_space_sequence *s, int32_t e) {
  const plim_space_problem *p = s->problem;
  int32_t n = s->n, from = s->first_read[e], reads = s->first_read[e + 1] - from, all = s->first_read[n];
  int32_t *later = plim_space_latest(s, plim_space_event_space(p, &s->event[e]), s->event[e].node);
  while (*later != e) later = &s->previous_filler[*later];
  *later = s->previous_filler[e];
  for (int32_t space = 0; space < p->platform->n_spaces; space++) {
    int64_t *live = plim_space_live(s, space);
    memmove(live + e, live + e + 1, (size_t)(n - e - 1) * sizeof *live);
  }
  close_gap(s->last, n, e, 1);
  close_gap(s->previous_filler, n, e, 1);
  close_gap(s->read, all, from, reads);
  close_gap(s->first_read, n + 1, e, 1);
  for (int32_t i = e; i < n; i++) s->first_read[i] -= reads;
  memmove(s->event + e, s->event + e + 1, (size_t)(n - e - 1) * sizeof *s->event);
  s->n = n - 1;
  lower_indices(s->last, n - 1, e);
  lower_indices(s->previous_filler, n - 1, e);
  lower_indices(s->read, all - reads, e);
  lower_indices(s->latest, (int64_t)p->platform->n_spaces * p->n, e);
  lower_indices(s->idle, s->n_idle, e);
}

/* The last of the events that are noted, which is no longer. */
static int32_t take_idle(plim_space_sequence *s) {
  int32_t best = 0;
  for (int32_t i = 1; i < s->n_idle; i++) best = s->idle[i] > s->idle[best] ? i : best;
  int32_t e = s->idle[best];
  s->idle[best] = s->idle[--s->n_idle];
  return e;
}

void plim_space_sequence_trim(plim_space_sequence *s) {
  int removed = s->n_idle > 0;
  while (s->valid && s->n_idle > 0) {
    int32_t e = take_idle(s);
    if (s->last[e] > e || (s->event[e].kind == PLIM_SPACE_RUN && !has_other_run(s, e))) continue;
    for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
      if (s->last[s->read[i]] == e) end_before(s, s->read[i], e);
    }
    remove_event(s, e);
  }
  if (removed) plim_space_sequence_set_block_peaks(s);
}
