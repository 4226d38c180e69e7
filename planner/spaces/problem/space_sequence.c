/* Which buffers a sequence has, how long they live and what they come to at every event.
 *
 * Example, in a space "ram" and a page space: the events are 0 run a, 1 run b(a), 2 copy a out, 3 run c(b), 4 copy a
 * in, 5 run d(a, c). Event 0 fills a in ram, which event 2 touches last; event 2 fills it in the page space, up to
 * event 4; event 4 fills it in ram anew, up to event 5, and the one before it there is event 0. At event 3 ram has b
 * and c.
 *
 * Insertions update all of this in place, since a search makes thousands of them for each sequence. */
#include "planner/spaces/problem/space_sequence.h"

#include <string.h>

#include "runtime/base/array.h"

/* ---- events ---- */

void plim_space_events_add(plim_space_events *e, plim_space_event_kind kind, int32_t node, int32_t at) {
  if (e->status == PLIM_OK) e->status = plim_array_reserve(e->ctx, &e->event, &e->room, e->n + 1, sizeof *e->event);
  if (e->status == PLIM_OK) e->event[e->n++] = (plim_space_event){kind, node, at};
}

void plim_space_events_free(plim_space_events *e) {
  plim_release(e->ctx, e->event, e->room, sizeof *e->event);
  *e = (plim_space_events){.ctx = e->ctx};
}

/* ---- sequences ---- */

static int64_t spans(int64_t room) {
  return room / PLIM_SPACE_SPAN + 1;
}

plim_status plim_space_sequence_init(plim_space_sequence *s, const plim_space_problem *problem) {
  int64_t cells = (int64_t)problem->platform->n_spaces * problem->n;
  *s = (plim_space_sequence){.problem = problem};
  PLIM_TRY(plim_allocate(problem->ctx, problem->n, sizeof *s->runs, &s->runs));
  return plim_allocate(problem->ctx, cells, sizeof *s->latest, &s->latest);
}

static void free_items(plim_space_sequence *s) {
  plim_context *ctx = s->problem->ctx;
  int64_t n_spaces = s->problem->platform->n_spaces;
  plim_release(ctx, s->event, s->room, sizeof *s->event);
  plim_release(ctx, s->last, s->room, sizeof *s->last);
  plim_release(ctx, s->before, s->room, sizeof *s->before);
  plim_release(ctx, s->first_read, (int64_t)s->room + 1, sizeof *s->first_read);
  plim_release(ctx, s->map, s->room, sizeof *s->map);
  plim_release(ctx, s->live, n_spaces * s->room, sizeof *s->live);
  plim_release(ctx, s->top, n_spaces * spans(s->room), sizeof *s->top);
}

void plim_space_sequence_free(plim_space_sequence *s) {
  if (!s->problem) return;
  plim_context *ctx = s->problem->ctx;
  free_items(s);
  plim_release(ctx, s->read, s->room_read, sizeof *s->read);
  plim_release(ctx, s->latest, (int64_t)s->problem->platform->n_spaces * s->problem->n, sizeof *s->latest);
  plim_release(ctx, s->runs, s->problem->n, sizeof *s->runs);
  *s = (plim_space_sequence){.problem = NULL};
}

plim_status plim_space_sequence_reserve(plim_space_sequence *s, int64_t n) {
  plim_context *ctx = s->problem->ctx;
  int64_t n_spaces = s->problem->platform->n_spaces, room = 2 * n + PLIM_SPACE_SPAN;
  plim_space_sequence to = {.problem = s->problem};
  plim_status status;
  if (n <= s->room) return PLIM_OK;
  if (room >= INT32_MAX) return plim_fail(ctx, PLIM_EOVERFLOW, "the sequence has too many events");
  to.room = (int32_t)room;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, room, sizeof *to.event, &to.event));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, room, sizeof *to.last, &to.last));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, room, sizeof *to.before, &to.before));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, room + 1, sizeof *to.first_read, &to.first_read));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, room, sizeof *to.map, &to.map));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_spaces * room, sizeof *to.live, &to.live));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_spaces * spans(room), sizeof *to.top, &to.top));
  if (s->n > 0) memcpy(to.event, s->event, (size_t)s->n * sizeof *s->event);
  to.n = s->n;
  to.read = s->read;
  to.room_read = s->room_read;
  to.latest = s->latest;
  to.runs = s->runs;
  free_items(s);
  *s = to;
  return PLIM_OK;
done:
  free_items(&to);
  return status;
}

plim_status plim_space_sequence_copy(plim_space_sequence *to, const plim_space_sequence *from) {
  PLIM_TRY(plim_space_sequence_reserve(to, from->n));
  if (from->n > 0) memcpy(to->event, from->event, (size_t)from->n * sizeof *from->event);
  to->n = from->n;
  to->valid = 0;
  return PLIM_OK;
}

plim_status plim_space_sequence_insert(plim_space_sequence *s, int32_t at, int32_t n, const plim_space_event *event) {
  PLIM_TRY(plim_space_sequence_reserve(s, (int64_t)s->n + n));
  memmove(s->event + at + n, s->event + at, (size_t)(s->n - at) * sizeof *s->event);
  memcpy(s->event + at, event, (size_t)n * sizeof *s->event);
  s->n += n;
  s->valid = 0;
  return PLIM_OK;
}

void plim_space_sequence_close_up(plim_space_sequence *s) {
  int32_t n = 0;
  for (int32_t e = 0; e < s->n; e++) {
    if (s->event[e].kind != PLIM_SPACE_VOID) s->event[n++] = s->event[e];
  }
  s->n = n;
  s->valid = 0;
}

/* ---- buffers ---- */

static int32_t *latest_of(const plim_space_sequence *s, int32_t space, int32_t node) {
  return &s->latest[(int64_t)space * s->problem->n + node];
}

static plim_status reserve_reads(plim_space_sequence *s) {
  int64_t reads = 0;
  for (int32_t e = 0; e < s->n; e++) {
    reads += s->event[e].kind == PLIM_SPACE_RUN ? s->problem->node[s->event[e].node].n_preds : 1;
  }
  if (reads >= INT32_MAX) return plim_fail(s->problem->ctx, PLIM_EOVERFLOW, "the sequence has too many reads");
  return plim_array_reserve(s->problem->ctx, &s->read, &s->room_read, reads, sizeof *s->read);
}

/* Who fills what the events read; 0: something is not there. */
static int find_reads(plim_space_sequence *s) {
  const plim_space_problem *p = s->problem;
  int64_t cells = (int64_t)p->platform->n_spaces * p->n;
  int32_t n = 0;
  for (int64_t i = 0; i < cells; i++) s->latest[i] = -1;
  for (int32_t e = 0; e < s->n; e++) {
    const plim_space_event *event = &s->event[e];
    int32_t space = plim_space_event_space(p, event), run = event->kind == PLIM_SPACE_RUN;
    const plim_space_node *v = &p->node[event->node];
    s->first_read[e] = n;
    for (int32_t i = 0; i < (run ? v->n_preds : 1); i++) {
      int32_t filler =
          run ? *latest_of(s, space, v->pred[i]) : *latest_of(s, p->platform->link[event->at].from, event->node);
      if (filler < 0) return 0;
      s->read[n++] = filler;
    }
    s->before[e] = *latest_of(s, space, event->node);
    *latest_of(s, space, event->node) = e;
  }
  s->first_read[s->n] = n;
  return 1;
}

/* Mark in last [n] what is needed: -1 not, else the last event that touches the buffer. A run that nothing reads is
 * needed where the node has no other that is. */
static int32_t mark_needed(plim_space_sequence *s) {
  int32_t removed = 0, *runs = s->runs;
  memset(runs, 0, (size_t)s->problem->n * sizeof *runs);
  for (int32_t e = 0; e < s->n; e++) {
    s->last[e] = -1;
    if (s->event[e].kind == PLIM_SPACE_RUN) runs[s->event[e].node]++;
  }
  for (int32_t e = s->n - 1; e >= 0; e--) {
    int run = s->event[e].kind == PLIM_SPACE_RUN;
    if (s->last[e] < 0 && (!run || runs[s->event[e].node] > 1)) {
      runs[s->event[e].node] -= run;
      removed++;
      continue;
    }
    if (s->last[e] < 0) s->last[e] = e;
    for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
      if (s->last[s->read[i]] < e) s->last[s->read[i]] = e;
    }
  }
  return removed;
}

static int32_t mapped(const plim_space_sequence *s, int32_t e) {
  return e < 0 ? -1 : s->map[e];
}

/* Leave out what is not needed. What is needed reads nothing else, so that indices alone change. */
static void compact(plim_space_sequence *s) {
  int32_t n = 0, reads = 0;
  for (int32_t e = 0; e < s->n; e++) {
    int32_t from = s->first_read[e], to = s->first_read[e + 1], before = mapped(s, s->before[e]);
    s->map[e] = s->last[e] < 0 ? before : n;
    if (s->last[e] < 0) continue;
    s->event[n] = s->event[e];
    s->last[n] = s->last[e];
    s->before[n] = before;
    s->first_read[n++] = reads;
    for (int32_t i = from; i < to; i++) s->read[reads++] = s->map[s->read[i]];
  }
  s->first_read[n] = reads;
  s->n = n;
  for (int32_t e = 0; e < n; e++) s->last[e] = s->map[s->last[e]];
  int64_t cells = (int64_t)s->problem->platform->n_spaces * s->problem->n;
  for (int64_t i = 0; i < cells; i++) s->latest[i] = mapped(s, s->latest[i]);
}

/* ---- bytes ---- */

static void set_top(plim_space_sequence *s, int32_t space, int32_t from, int32_t to) {
  const int64_t *live = plim_space_live(s, space);
  int64_t *top = s->top + space * spans(s->room);
  for (int32_t b = from / PLIM_SPACE_SPAN; b * PLIM_SPACE_SPAN < to; b++) {
    int32_t end = (b + 1) * PLIM_SPACE_SPAN < s->n ? (b + 1) * PLIM_SPACE_SPAN : s->n;
    top[b] = 0;
    for (int32_t e = b * PLIM_SPACE_SPAN; e < end; e++) {
      if (live[e] > top[b]) top[b] = live[e];
    }
  }
}

static void find_bytes(plim_space_sequence *s) {
  const plim_space_problem *p = s->problem;
  for (int32_t space = 0; space < p->platform->n_spaces; space++) {
    memset(plim_space_live(s, space), 0, (size_t)s->n * sizeof *s->live);
  }
  for (int32_t e = 0; e < s->n; e++) {
    int64_t *live = plim_space_live(s, plim_space_event_space(p, &s->event[e]));
    live[e] += p->node[s->event[e].node].bytes;
    if (s->last[e] + 1 < s->n) live[s->last[e] + 1] -= p->node[s->event[e].node].bytes;
    if (s->event[e].kind != PLIM_SPACE_RUN) continue;
    live[e] += p->node[s->event[e].node].workspace;
    if (e + 1 < s->n) live[e + 1] -= p->node[s->event[e].node].workspace;
  }
  for (int32_t space = 0; space < p->platform->n_spaces; space++) {
    int64_t *live = plim_space_live(s, space);
    for (int32_t e = 1; e < s->n; e++) live[e] += live[e - 1];
    set_top(s, space, 0, s->n);
  }
}

plim_status plim_space_sequence_analyse(plim_space_sequence *s) {
  s->valid = s->n_idle = 0;
  PLIM_TRY(reserve_reads(s));
  if (!find_reads(s)) return PLIM_OK;
  if (mark_needed(s) > 0) compact(s);
  find_bytes(s);
  s->valid = 1;
  return PLIM_OK;
}

plim_status plim_space_sequence_take(plim_space_sequence *s, const plim_space_events *events) {
  PLIM_TRY(events->status);
  PLIM_TRY(plim_space_sequence_reserve(s, events->n));
  s->n = 0;
  for (int64_t e = 0; e < events->n; e++) {
    plim_space_event event = events->event[e];
    if (event.kind == PLIM_SPACE_DROP) continue;
    if (event.kind == PLIM_SPACE_JOIN) event.kind = PLIM_SPACE_COPY;
    s->event[s->n++] = event;
  }
  return plim_space_sequence_analyse(s);
}

/* ---- insertions into what is analysed ---- */

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
  shift_indices(s->before, n, at, by);
  shift_indices(s->read, all, at, by);
  shift_indices(s->latest, (int64_t)p->platform->n_spaces * p->n, at, by);
  shift_indices(s->idle, s->n_idle, at, by);
  open_gap(s->last, n, at, by);
  open_gap(s->before, n, at, by);
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
  int32_t old = s->before[e], last = old < 0 ? -1 : s->last[old];
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
  int32_t space = plim_space_event_space(s->problem, &s->event[e]), *next = latest_of(s, space, s->event[e].node);
  while (*next > e) next = &s->before[*next];
  s->before[e] = *next;
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
  *done = s->valid && s->n + n <= s->room && s->first_read[s->n] + (int64_t)reads <= s->room_read;
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
  for (int32_t space = 0; space < p->platform->n_spaces; space++) set_top(s, space, 0, s->n);
  return PLIM_OK;
}

/* ---- removals ---- */

/* Does another event run the node? */
static int has_other_run(const plim_space_sequence *s, int32_t e) {
  for (int32_t space = 0; space < s->problem->platform->n_spaces; space++) {
    for (int32_t u = *latest_of(s, space, s->event[e].node); u >= 0; u = s->before[u]) {
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
  int32_t *later = latest_of(s, plim_space_event_space(p, &s->event[e]), s->event[e].node);
  while (*later != e) later = &s->before[*later];
  *later = s->before[e];
  for (int32_t space = 0; space < p->platform->n_spaces; space++) {
    int64_t *live = plim_space_live(s, space);
    memmove(live + e, live + e + 1, (size_t)(n - e - 1) * sizeof *live);
  }
  close_gap(s->last, n, e, 1);
  close_gap(s->before, n, e, 1);
  close_gap(s->read, all, from, reads);
  close_gap(s->first_read, n + 1, e, 1);
  for (int32_t i = e; i < n; i++) s->first_read[i] -= reads;
  memmove(s->event + e, s->event + e + 1, (size_t)(n - e - 1) * sizeof *s->event);
  s->n = n - 1;
  lower_indices(s->last, n - 1, e);
  lower_indices(s->before, n - 1, e);
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
  for (int32_t space = 0; space < s->problem->platform->n_spaces && removed; space++) set_top(s, space, 0, s->n);
}

int32_t plim_space_sequence_find(const plim_space_sequence *s, int32_t node, int32_t space, int32_t at) {
  int32_t e = *latest_of(s, space, node);
  while (e >= at) e = s->before[e];
  return e;
}

int plim_space_sequence_fits(const plim_space_sequence *s, int32_t space, int32_t from, int32_t to, int64_t bytes,
                             int64_t budget) {
  const int64_t *live = plim_space_live(s, space), *top = s->top + space * spans(s->room);
  int64_t max_bytes = budget - bytes;
  if (budget == INT64_MAX) return 1;
  for (int32_t e = from; e < to; e++) {
    if (e % PLIM_SPACE_SPAN == 0 && e + PLIM_SPACE_SPAN <= to && top[e / PLIM_SPACE_SPAN] <= max_bytes) {
      e += PLIM_SPACE_SPAN - 1;
    } else if (live[e] > max_bytes) {
      return 0;
    }
  }
  return 1;
}

void plim_space_sequence_add_bytes(plim_space_sequence *s, int32_t space, int32_t from, int32_t to, int64_t bytes) {
  int64_t *live = plim_space_live(s, space);
  for (int32_t e = from; e < to; e++) live[e] += bytes;
  if (from < to) set_top(s, space, from, to);
}

void plim_space_sequence_void(plim_space_sequence *s, int32_t e) {
  const int32_t before = s->before[e], space = plim_space_event_space(s->problem, &s->event[e]);
  plim_space_sequence_add_bytes(s, space, s->last[before] + 1, e, s->problem->node[s->event[e].node].bytes);
  s->last[before] = s->last[e];
  s->event[e].kind = PLIM_SPACE_VOID;
  for (int32_t later = *latest_of(s, space, s->event[e].node); later > e; later = s->before[later]) {
    if (s->before[later] == e) s->before[later] = before;
  }
}

int plim_space_sequence_is_within(const plim_space_sequence *s, const int64_t *budget) {
  for (int32_t space = 0; space < s->problem->platform->n_spaces; space++) {
    if (!plim_space_sequence_fits(s, space, 0, s->n, 0, budget[space])) return 0;
  }
  return 1;
}
