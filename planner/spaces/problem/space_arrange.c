/* Moves copies of a sequence to earlier moments, so that they run beside compute. A copy that fills a buffer waits for
 * what the list has before it, so that it continues beside compute only where it stands early in the list and its
 * bytes are there so early. Copies are taken from the last to the first: each ends before its reader and before the
 * next copy of its link begin, and moves up by its own time. What a copy reads ends with the copy, not before: it is
 * held for as long as the runs after it take less than the copy.
 *
 * Totals are found in one pass: a wait of the plan is for the end of what fills a buffer that is read, or of what
 * touched a buffer that ended in the space that is filled, and waits that follow from others change no time. */
#include "planner/spaces/problem/space_sequence.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

enum { WORK = 500 }; /* ns that a copy takes, about */

typedef struct arrangement {
  plim_space_sequence *sequence;
  const plim_space_problem *problem;
  const int64_t *budget;
  int64_t *begin_ns;        /* [n + 1] time of the runs before an event */
  int64_t *link_ns;         /* [n_links] forward: free from; backward: busy from */
  int32_t *key;             /* [n] position before which the event is to stand */
  int32_t *end;             /* [n] event after which its buffer is dropped */
  int32_t *order;           /* [n + 1] heads of lists of buffers by end */
  int32_t *follower;        /* [n] */
  int32_t *touch;           /* [n] the first touch of the event's buffer after it; the event itself: none */
  int32_t *clock;           /* [n_links] links that share a queue have one: that of the first */
  int64_t *free_ns;         /* [n_devices + n_links] each queue is free from */
  int64_t *open_ns;         /* [n_spaces] what ended there is no longer touched from */
  int64_t *end_ns;          /* [n] of the event's command */
  int64_t *left_ns;         /* [n] the last command that touches the event's buffer ends */
  plim_space_event *events; /* [n] scratch */
  plim_block block;         /* memory of the arrays above */
} arrangement;

static void set_times(arrangement *a) {
  a->begin_ns[0] = 0;
  for (int32_t e = 0; e < a->sequence->n; e++) {
    const plim_space_event *v = &a->sequence->event[e];
    int64_t ns = v->kind == PLIM_SPACE_RUN ? plim_space_run_ns(a->problem, v->node, v->at) : 0;
    assert(ns >= 0); /* the node may run on the device */
    a->begin_ns[e + 1] = plim_integers_add_capped(a->begin_ns[e], ns);
  }
}

static void find_touches(arrangement *a) {
  const plim_space_sequence *s = a->sequence;
  for (int32_t e = 0; e < s->n; e++) a->touch[e] = e;
  for (int32_t u = s->n - 1; u >= 0; u--) {
    for (int32_t i = s->first_read[u]; i < s->first_read[u + 1]; i++) a->touch[s->read[i]] = u;
  }
}

static void move_up(arrangement *a, int32_t e) {
  const plim_space_sequence *s = a->sequence;
  const plim_space_event *v = &s->event[e];
  int32_t space = a->problem->platform->link[v->at].to, source = s->read[s->first_read[e]], q = e;
  int64_t *busy = &a->link_ns[a->clock[v->at]], ns = plim_space_copy_ns(a->problem, v->node, v->at);
  int64_t by = a->begin_ns[a->touch[e]], bytes = a->problem->node[v->node].bytes;
  int32_t least = source;
  if (s->before[e] >= 0 && s->last[s->before[e]] > least) least = s->last[s->before[e]];
  if (*busy < by) by = *busy;
  const int64_t *live = plim_space_live(s, space);
  while (q - 1 > least && a->begin_ns[q] > by - ns) {
    if (a->budget[space] < INT64_MAX && live[q - 1] > a->budget[space] - bytes) break;
    q--;
  }
  *busy = a->begin_ns[q] < by - ns ? a->begin_ns[q] : by - ns;
  plim_space_sequence_add(a->sequence, space, q, e, bytes);
  a->key[e] = q;
}

/* Copies before the events at whose positions they are to stand. */
static plim_status move_copies(arrangement *a) {
  plim_space_sequence *s = a->sequence;
  int32_t n = 0, *head = a->order, *next = a->follower;
  find_touches(a);
  for (int32_t l = 0; l < a->problem->platform->n_links; l++) a->link_ns[l] = INT64_MAX;
  for (int32_t e = 0; e < s->n; e++) head[e] = -1;
  for (int32_t e = s->n - 1; e >= 0; e--) {
    a->key[e] = e;
    if (s->event[e].kind == PLIM_SPACE_COPY && !plim_effort_over(a->problem->ctx, WORK)) move_up(a, e);
    if (a->key[e] == e) continue;
    next[e] = head[a->key[e]];
    head[a->key[e]] = e;
  }
  for (int32_t q = 0; q < s->n; q++) {
    for (int32_t e = head[q]; e >= 0; e = next[e]) a->events[n++] = s->event[e];
    if (a->key[q] == q) a->events[n++] = s->event[q];
  }
  memcpy(s->event, a->events, (size_t)n * sizeof *a->events);
  return plim_space_sequence_analyse(s);
}

/* Hold what copy e reads, and nothing reads after it, while the copy takes its time. */
static void hold(arrangement *a, int32_t e) {
  const plim_space_sequence *s = a->sequence;
  const plim_space_event *v = &s->event[e];
  int32_t source = s->read[s->first_read[e]], space = a->problem->platform->link[v->at].from, h = e;
  int64_t *free_ns = &a->link_ns[a->clock[v->at]], bytes = a->problem->node[v->node].bytes;
  int64_t begin = *free_ns > a->begin_ns[e] ? *free_ns : a->begin_ns[e];
  const int64_t *live = plim_space_live(s, space);
  *free_ns = begin + plim_space_copy_ns(a->problem, v->node, v->at);
  if (s->last[source] != e) return;
  int32_t most = a->follower[source] >= 0 ? a->follower[source] - 1 : s->n - 1;
  while (h < most && a->begin_ns[h + 1] < *free_ns) {
    if (a->budget[space] < INT64_MAX && live[h + 1] > a->budget[space] - bytes) break;
    h++;
  }
  plim_space_sequence_add(a->sequence, space, e + 1, h + 1, bytes);
  a->end[source] = h;
}

static void hold_sources(arrangement *a) {
  const plim_space_sequence *s = a->sequence;
  memset(a->link_ns, 0, (size_t)a->problem->platform->n_links * sizeof *a->link_ns);
  for (int32_t e = 0; e < s->n; e++) a->follower[e] = -1;
  for (int32_t e = 0; e < s->n; e++) {
    if (s->before[e] >= 0) a->follower[s->before[e]] = e;
  }
  for (int32_t e = 0; e < s->n; e++) {
    if (s->event[e].kind == PLIM_SPACE_COPY && !plim_effort_over(a->problem->ctx, WORK)) hold(a, e);
  }
}

/* The buffers that end after each event. */
static void list_ends(arrangement *a) {
  const plim_space_sequence *s = a->sequence;
  for (int32_t e = 0; e < s->n; e++) a->order[e] = -1;
  for (int32_t e = 0; e < s->n; e++) {
    a->follower[e] = a->order[a->end[e]];
    a->order[a->end[e]] = e;
  }
}

static void emit(const arrangement *a, plim_space_events *out) {
  const plim_space_sequence *s = a->sequence;
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_events_add(out, s->event[e].kind, s->event[e].node, s->event[e].at);
    for (int32_t b = a->order[e]; b >= 0; b = a->follower[b]) {
      plim_space_events_add(out, PLIM_SPACE_DROP, s->event[b].node, plim_space_event_space(a->problem, &s->event[b]));
    }
  }
}

/* ---- totals ---- */

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Item e is a command that begins when its queue is free, what it reads is filled, and nothing touches what ended. */
static void add_command(arrangement *a, int32_t e, plim_space_totals *t) {
  const plim_space_sequence *s = a->sequence;
  const plim_space_event *v = &s->event[e];
  int run = v->kind == PLIM_SPACE_RUN;
  int32_t space = plim_space_event_space(a->problem, v);
  int64_t *queue = run ? &a->free_ns[v->at] : &a->free_ns[a->problem->platform->n_devices + a->clock[v->at]];
  int64_t ns = run ? plim_space_run_ns(a->problem, v->node, v->at) : plim_space_copy_ns(a->problem, v->node, v->at);
  int64_t begin = later(*queue, a->open_ns[space]);
  for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) begin = later(begin, a->end_ns[s->read[i]]);
  int64_t end = plim_integers_add_capped(begin, ns);
  for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
    a->left_ns[s->read[i]] = later(a->left_ns[s->read[i]], end);
  }
  *queue = a->end_ns[e] = a->left_ns[e] = end;
  if (run && a->problem->node[v->node].workspace > 0) a->open_ns[space] = later(a->open_ns[space], end);
  t->makespan_ns = later(t->makespan_ns, end);
  t->serial_ns = plim_integers_add_capped(t->serial_ns, ns);
  if (!a->problem->has_energy) return;
  t->energy_joule +=
      run ? plim_space_run_joule(a->problem, v->node, v->at) : plim_space_copy_joule(a->problem, v->node, v->at);
}

static void add_up(arrangement *a, plim_space_totals *t) {
  const plim_space_sequence *s = a->sequence;
  const plim_platform *p = a->problem->platform;
  *t = (plim_space_totals){.makespan_ns = 0};
  memset(a->free_ns, 0, (size_t)(p->n_devices + p->n_links) * sizeof *a->free_ns);
  memset(a->open_ns, 0, (size_t)p->n_spaces * sizeof *a->open_ns);
  for (int32_t e = 0; e < s->n; e++) {
    add_command(a, e, t);
    for (int32_t b = a->order[e]; b >= 0; b = a->follower[b]) {
      int64_t *open = &a->open_ns[plim_space_event_space(a->problem, &s->event[b])];
      *open = later(*open, a->left_ns[b]);
    }
  }
  for (int32_t d = 0; d < p->n_devices && a->problem->has_energy; d++) {
    t->energy_joule += p->device[d].idle_watt * ((double)t->makespan_ns * 1e-9);
  }
}

static void lay_out(arrangement *a, plim_block *b) {
  const plim_platform *p = a->problem->platform;
  int64_t n = a->sequence->n;
  a->begin_ns = plim_block_take(b, n + 1, sizeof *a->begin_ns);
  a->link_ns = plim_block_take(b, p->n_links, sizeof *a->link_ns);
  a->key = plim_block_take(b, n, sizeof *a->key);
  a->end = plim_block_take(b, n, sizeof *a->end);
  a->order = plim_block_take(b, n, sizeof *a->order);
  a->follower = plim_block_take(b, n, sizeof *a->follower);
  a->touch = plim_block_take(b, n, sizeof *a->touch);
  a->clock = plim_block_take(b, p->n_links, sizeof *a->clock);
  a->free_ns = plim_block_take(b, (int64_t)p->n_devices + p->n_links, sizeof *a->free_ns);
  a->open_ns = plim_block_take(b, p->n_spaces, sizeof *a->open_ns);
  a->end_ns = plim_block_take(b, n, sizeof *a->end_ns);
  a->left_ns = plim_block_take(b, n, sizeof *a->left_ns);
  a->events = plim_block_take(b, n, sizeof *a->events);
}

plim_status plim_space_arrange(plim_space_sequence *s, const int64_t *budget, int spread, plim_space_totals *totals,
                               plim_space_events *out) {
  plim_context *ctx = s->problem->ctx;
  arrangement a = {.sequence = s, .problem = s->problem, .budget = budget};
  plim_status status;
  lay_out(&a, &a.block);
  PLIM_TRY(plim_block_allocate(ctx, &a.block));
  lay_out(&a, &a.block);
  for (int32_t l = 0; l < a.problem->platform->n_links; l++)
    a.clock[l] = plim_platform_queue_link(a.problem->platform, l);
  set_times(&a);
  if (spread) PLIM_CHECK(move_copies(&a));
  set_times(&a);
  memcpy(a.end, s->last, (size_t)s->n * sizeof *a.end);
  if (spread) hold_sources(&a);
  list_ends(&a);
  emit(&a, out);
  add_up(&a, totals);
  status = out->status;
done:
  plim_block_release(ctx, &a.block);
  return status;
}
