/* Which buffers a sequence has, how long they live and what they come to at every event.
 *
 * Example, in a space "ram" and a page space: the events are 0 run a, 1 run b(a), 2 copy a out, 3 run c(b), 4 copy a
 * in, 5 run d(a, c). Event 0 fills a in ram, which event 2 touches last; event 2 fills it in the page space, up to
 * event 4; event 4 fills it in ram anew, up to event 5, and the one before it there is event 0. At event 3 ram has b
 * and c.
 *
 * Insertions update all of this in place (space_sequence_extend.c), since a search makes thousands of them for each
 * sequence. */
#include "planner/spaces/problem/space_sequence.h"

#include <string.h>

#include "runtime/base/array.h"

/* ---- events ---- */

void plim_space_events_add(plim_space_events *e, plim_space_event_kind kind, int32_t node, int32_t at) {
  if (e->status == PLIM_OK) e->status = plim_array_reserve(e->ctx, &e->event, &e->capacity, e->n + 1, sizeof *e->event);
  if (e->status == PLIM_OK) e->event[e->n++] = (plim_space_event){kind, node, at};
}

void plim_space_events_free(plim_space_events *e) {
  plim_release(e->ctx, e->event, e->capacity, sizeof *e->event);
  *e = (plim_space_events){.ctx = e->ctx};
}

/* ---- sequences ---- */

static int64_t n_blocks(int64_t capacity) {
  return capacity / PLIM_SPACE_BLOCK + 1;
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
  plim_release(ctx, s->event, s->capacity, sizeof *s->event);
  plim_release(ctx, s->last, s->capacity, sizeof *s->last);
  plim_release(ctx, s->previous_filler, s->capacity, sizeof *s->previous_filler);
  plim_release(ctx, s->first_read, (int64_t)s->capacity + 1, sizeof *s->first_read);
  plim_release(ctx, s->map, s->capacity, sizeof *s->map);
  plim_release(ctx, s->live, n_spaces * s->capacity, sizeof *s->live);
  plim_release(ctx, s->block_peak, n_spaces * n_blocks(s->capacity), sizeof *s->block_peak);
}

void plim_space_sequence_free(plim_space_sequence *s) {
  if (!s->problem) return;
  plim_context *ctx = s->problem->ctx;
  free_items(s);
  plim_release(ctx, s->read, s->read_capacity, sizeof *s->read);
  plim_release(ctx, s->latest, (int64_t)s->problem->platform->n_spaces * s->problem->n, sizeof *s->latest);
  plim_release(ctx, s->runs, s->problem->n, sizeof *s->runs);
  *s = (plim_space_sequence){.problem = NULL};
}

plim_status plim_space_sequence_reserve(plim_space_sequence *s, int64_t n) {
  plim_context *ctx = s->problem->ctx;
  int64_t n_spaces = s->problem->platform->n_spaces, capacity = 2 * n + PLIM_SPACE_BLOCK;
  plim_space_sequence to = {.problem = s->problem};
  plim_status status;
  if (n <= s->capacity) return PLIM_OK;
  if (capacity >= INT32_MAX) return plim_fail(ctx, PLIM_EOVERFLOW, "the sequence has too many events");
  to.capacity = (int32_t)capacity;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity, sizeof *to.event, &to.event));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity, sizeof *to.last, &to.last));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity, sizeof *to.previous_filler, &to.previous_filler));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity + 1, sizeof *to.first_read, &to.first_read));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity, sizeof *to.map, &to.map));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_spaces * capacity, sizeof *to.live, &to.live));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_spaces * n_blocks(capacity), sizeof *to.block_peak, &to.block_peak));
  if (s->n > 0) memcpy(to.event, s->event, (size_t)s->n * sizeof *s->event);
  to.n = s->n;
  to.read = s->read;
  to.read_capacity = s->read_capacity;
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

plim_status plim_space_sequence_copy_analysed(plim_space_sequence *to, const plim_space_sequence *from) {
  const int64_t n = from->n, cells = (int64_t)from->problem->platform->n_spaces * from->problem->n;
  const int64_t reads = from->first_read[n];
  PLIM_TRY(plim_space_sequence_copy(to, from));
  PLIM_TRY(plim_array_reserve(to->problem->ctx, &to->read, &to->read_capacity, reads, sizeof *to->read));
  memcpy(to->last, from->last, (size_t)n * sizeof *to->last);
  memcpy(to->previous_filler, from->previous_filler, (size_t)n * sizeof *to->previous_filler);
  memcpy(to->first_read, from->first_read, (size_t)(n + 1) * sizeof *to->first_read);
  if (reads > 0) memcpy(to->read, from->read, (size_t)reads * sizeof *to->read);
  memcpy(to->latest, from->latest, (size_t)cells * sizeof *to->latest);
  for (int32_t space = 0; space < from->problem->platform->n_spaces; space++) {
    memcpy(plim_space_live(to, space), plim_space_live(from, space), (size_t)n * sizeof *to->live);
    memcpy(to->block_peak + space * n_blocks(to->capacity), from->block_peak + space * n_blocks(from->capacity),
           (size_t)n_blocks(n) * sizeof *to->block_peak);
  }
  to->valid = 1;
  to->n_idle = 0;
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

static plim_status reserve_reads(plim_space_sequence *s) {
  int64_t reads = 0;
  for (int32_t e = 0; e < s->n; e++) {
    reads += s->event[e].kind == PLIM_SPACE_RUN ? s->problem->node[s->event[e].node].n_preds : 1;
  }
  if (reads >= INT32_MAX) return plim_fail(s->problem->ctx, PLIM_EOVERFLOW, "the sequence has too many reads");
  return plim_array_reserve(s->problem->ctx, &s->read, &s->read_capacity, reads, sizeof *s->read);
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
      int32_t filler = run ? *plim_space_latest(s, space, v->pred[i])
                           : *plim_space_latest(s, p->platform->link[event->at].from, event->node);
      if (filler < 0) return 0;
      s->read[n++] = filler;
    }
    s->previous_filler[e] = *plim_space_latest(s, space, event->node);
    *plim_space_latest(s, space, event->node) = e;
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
    int32_t from = s->first_read[e], to = s->first_read[e + 1], before = mapped(s, s->previous_filler[e]);
    s->map[e] = s->last[e] < 0 ? before : n;
    if (s->last[e] < 0) continue;
    s->event[n] = s->event[e];
    s->last[n] = s->last[e];
    s->previous_filler[n] = before;
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

static void set_block_peaks(plim_space_sequence *s, int32_t space, int32_t from, int32_t to) {
  const int64_t *live = plim_space_live(s, space);
  int64_t *peak = s->block_peak + space * n_blocks(s->capacity);
  for (int32_t b = from / PLIM_SPACE_BLOCK; b * PLIM_SPACE_BLOCK < to; b++) {
    int32_t end = (b + 1) * PLIM_SPACE_BLOCK < s->n ? (b + 1) * PLIM_SPACE_BLOCK : s->n;
    peak[b] = 0;
    for (int32_t e = b * PLIM_SPACE_BLOCK; e < end; e++) {
      if (live[e] > peak[b]) peak[b] = live[e];
    }
  }
}

void plim_space_sequence_set_block_peaks(plim_space_sequence *s) {
  for (int32_t space = 0; space < s->problem->platform->n_spaces; space++) set_block_peaks(s, space, 0, s->n);
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
  }
  plim_space_sequence_set_block_peaks(s);
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

/* ---- what is there, and changes that leave the order ---- */

/* The first event of [from, to) at which more than max_bytes are alive; to: none. */
static int32_t first_above(const plim_space_sequence *s, int32_t space, int32_t from, int32_t to, int64_t max_bytes) {
  const int64_t *live = plim_space_live(s, space), *peak = s->block_peak + space * n_blocks(s->capacity);
  for (int32_t e = from; e < to; e++) {
    if (e % PLIM_SPACE_BLOCK == 0 && peak[e / PLIM_SPACE_BLOCK] <= max_bytes) {
      e += PLIM_SPACE_BLOCK - 1;
    } else if (live[e] > max_bytes) {
      return e;
    }
  }
  return to;
}

int32_t plim_space_sequence_first_above(const plim_space_sequence *s, int32_t space, int32_t from, int64_t bytes) {
  return first_above(s, space, from, s->n, bytes);
}

int plim_space_sequence_fits(const plim_space_sequence *s, int32_t space, int32_t from, int32_t to, int64_t bytes,
                             int64_t budget) {
  return budget == INT64_MAX || first_above(s, space, from, to, budget - bytes) >= to;
}

void plim_space_sequence_add_bytes(plim_space_sequence *s, int32_t space, int32_t from, int32_t to, int64_t bytes) {
  int64_t *live = plim_space_live(s, space);
  for (int32_t e = from; e < to; e++) live[e] += bytes;
  if (from < to) set_block_peaks(s, space, from, to);
}

void plim_space_sequence_void(plim_space_sequence *s, int32_t e) {
  const int32_t before = s->previous_filler[e], space = plim_space_event_space(s->problem, &s->event[e]);
  plim_space_sequence_add_bytes(s, space, s->last[before] + 1, e, s->problem->node[s->event[e].node].bytes);
  s->last[before] = s->last[e];
  s->event[e].kind = PLIM_SPACE_VOID;
  for (int32_t later = *plim_space_latest(s, space, s->event[e].node); later > e; later = s->previous_filler[later]) {
    if (s->previous_filler[later] == e) s->previous_filler[later] = before;
  }
}

int plim_space_sequence_is_within(const plim_space_sequence *s, const int64_t *budget) {
  for (int32_t space = 0; space < s->problem->platform->n_spaces; space++) {
    if (!plim_space_sequence_fits(s, space, 0, s->n, 0, budget[space])) return 0;
  }
  return 1;
}
