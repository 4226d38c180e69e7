/* Moves copies of a sequence to earlier events, so that they run beside compute.
 *
 * A copy waits for what ended before it in the space that it fills. So it begins early only where it stands early, and
 * where bytes are free for it so early. Copies move from the last to the first, each up by its own time. Then it ends
 * before its reader begins, and before the next copy of its link begins. What a copy reads is held until the copy has
 * ended: over as many of the runs after it as take less time than the copy.
 *
 * Example: runs take 2 ns, copies 3 ns. At 4 ns the sequence has out x, c, e(c), in y, d(e, y). The copy in is to end
 * when d begins, at 8 ns, so it is to begin by 5 ns: it moves before c, if y fits beside c and e. The copy out ends at
 * 7 ns, while e runs: what it reads is held until e has ended, if x fits beside c and e.
 *
 * Totals are found in one pass. A command of the plan waits for what fills the buffers that it reads, and for what
 * touched buffers that ended in the space that it fills. Waits that follow from others change no time. */
#include "planner/spaces/problem/space_sequence.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

enum { WORK = 500 }; /* ns that a copy takes, about */

typedef struct arrange_pass {
  plim_space_sequence *sequence;
  const plim_space_problem *problem;
  const int64_t *budget;
  int64_t *begin_ns;        /* [n + 1] time of the runs before an event */
  int64_t *link_ns;         /* [n_links] by queue_link: backward, busy from; forward, free from */
  int32_t *position;        /* [n] of a copy: the event before which it is to stand; itself: it does not move */
  int32_t *end;             /* [n] event after which its buffer is dropped */
  int32_t *head;            /* [n] lists by an event: of the copies before it, then of the buffers that end after it */
  int32_t *next;            /* [n] the next of the list */
  int32_t *next_filler;     /* [n] the event that fills the same node and space next; -1: none */
  int32_t *first_touch;     /* [n] the first touch of the event's buffer after it; the event itself: none */
  int32_t *queue_link;      /* [n_links] the first of the links that share a queue stands for all */
  int64_t *free_ns;         /* [n_devices + n_links] each queue is free from */
  int64_t *open_ns;         /* [n_spaces] what ended there is no longer touched from */
  int64_t *end_ns;          /* [n] of the event's command */
  int64_t *left_ns;         /* [n] the last command that touches the event's buffer ends */
  plim_space_event *events; /* [n] scratch */
  plim_block block;         /* memory of the arrays above */
} arrange_pass;

static void set_times(arrange_pass *pass) {
  pass->begin_ns[0] = 0;
  for (int32_t e = 0; e < pass->sequence->n; e++) {
    const plim_space_event *v = &pass->sequence->event[e];
    int64_t ns = v->kind == PLIM_SPACE_RUN ? plim_space_run_ns(pass->problem, v->node, v->at) : 0;
    assert(ns >= 0); /* the node may run on the device */
    pass->begin_ns[e + 1] = plim_integers_add_capped(pass->begin_ns[e], ns);
  }
}

static void find_touches(arrange_pass *pass) {
  const plim_space_sequence *s = pass->sequence;
  for (int32_t e = 0; e < s->n; e++) pass->first_touch[e] = e;
  for (int32_t u = s->n - 1; u >= 0; u--) {
    for (int32_t i = s->first_read[u]; i < s->first_read[u + 1]; i++) pass->first_touch[s->read[i]] = u;
  }
}

/* Find where copy e is to stand: as early as it must begin to end before its first reader and the next copy of its link
 * begin, and as bytes allow. */
static void move_up(arrange_pass *pass, int32_t e) {
  const plim_space_sequence *s = pass->sequence;
  const plim_space_event *v = &s->event[e];
  int32_t space = pass->problem->platform->link[v->at].to, source = s->read[s->first_read[e]], q = e;
  int64_t *busy = &pass->link_ns[pass->queue_link[v->at]], ns = plim_space_copy_ns(pass->problem, v->node, v->at);
  int64_t by = pass->begin_ns[pass->first_touch[e]], bytes = pass->problem->node[v->node].bytes;
  int32_t after = source;
  if (s->previous_filler[e] >= 0 && s->last[s->previous_filler[e]] > after) after = s->last[s->previous_filler[e]];
  if (*busy < by) by = *busy;
  const int64_t *live = plim_space_live(s, space);
  while (q - 1 > after && pass->begin_ns[q] > by - ns) {
    if (pass->budget[space] < INT64_MAX && live[q - 1] > pass->budget[space] - bytes) break;
    q--;
  }
  *busy = pass->begin_ns[q] < by - ns ? pass->begin_ns[q] : by - ns;
  plim_space_sequence_add_bytes(pass->sequence, space, q, e, bytes);
  pass->position[e] = q;
}

/* Move every copy before the event at its position. *moved 0: none moves, and the sequence is as it was. */
static plim_status move_copies(arrange_pass *pass, int32_t *moved) {
  plim_space_sequence *s = pass->sequence;
  int32_t n = 0, *head = pass->head, *next = pass->next;
  *moved = 0;
  find_touches(pass);
  for (int32_t l = 0; l < pass->problem->platform->n_links; l++) pass->link_ns[l] = INT64_MAX;
  for (int32_t e = 0; e < s->n; e++) head[e] = -1;
  for (int32_t e = s->n - 1; e >= 0; e--) {
    pass->position[e] = e;
    if (s->event[e].kind == PLIM_SPACE_COPY && !plim_effort_over(pass->problem->ctx, WORK)) move_up(pass, e);
    if (pass->position[e] == e) continue;
    next[e] = head[pass->position[e]];
    head[pass->position[e]] = e;
    *moved = 1;
  }
  if (!*moved) return PLIM_OK;
  for (int32_t q = 0; q < s->n; q++) {
    for (int32_t e = head[q]; e >= 0; e = next[e]) pass->events[n++] = s->event[e];
    if (pass->position[q] == q) pass->events[n++] = s->event[q];
  }
  memcpy(s->event, pass->events, (size_t)n * sizeof *pass->events);
  return plim_space_sequence_analyse(s);
}

/* Hold what copy e reads until the copy has ended, where nothing reads it after the copy. */
static void hold(arrange_pass *pass, int32_t e) {
  const plim_space_sequence *s = pass->sequence;
  const plim_space_event *v = &s->event[e];
  int32_t source = s->read[s->first_read[e]], space = pass->problem->platform->link[v->at].from, h = e;
  int64_t *free_ns = &pass->link_ns[pass->queue_link[v->at]], bytes = pass->problem->node[v->node].bytes;
  int64_t begin = *free_ns > pass->begin_ns[e] ? *free_ns : pass->begin_ns[e];
  const int64_t *live = plim_space_live(s, space);
  *free_ns = begin + plim_space_copy_ns(pass->problem, v->node, v->at);
  if (s->last[source] != e) return;
  int32_t last = pass->next_filler[source] >= 0 ? pass->next_filler[source] - 1 : s->n - 1;
  while (h < last && pass->begin_ns[h + 1] < *free_ns) {
    if (pass->budget[space] < INT64_MAX && live[h + 1] > pass->budget[space] - bytes) break;
    h++;
  }
  plim_space_sequence_add_bytes(pass->sequence, space, e + 1, h + 1, bytes);
  pass->end[source] = h;
}

static void hold_sources(arrange_pass *pass) {
  const plim_space_sequence *s = pass->sequence;
  memset(pass->link_ns, 0, (size_t)pass->problem->platform->n_links * sizeof *pass->link_ns);
  for (int32_t e = 0; e < s->n; e++) pass->next_filler[e] = -1;
  for (int32_t e = 0; e < s->n; e++) {
    if (s->previous_filler[e] >= 0) pass->next_filler[s->previous_filler[e]] = e;
  }
  for (int32_t e = 0; e < s->n; e++) {
    if (s->event[e].kind == PLIM_SPACE_COPY && !plim_effort_over(pass->problem->ctx, WORK)) hold(pass, e);
  }
}

/* The buffers that end after each event. */
static void list_ends(arrange_pass *pass) {
  const plim_space_sequence *s = pass->sequence;
  for (int32_t e = 0; e < s->n; e++) pass->head[e] = -1;
  for (int32_t e = 0; e < s->n; e++) {
    pass->next[e] = pass->head[pass->end[e]];
    pass->head[pass->end[e]] = e;
  }
}

static void emit(const arrange_pass *pass, plim_space_events *out) {
  const plim_space_sequence *s = pass->sequence;
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_events_add(out, s->event[e].kind, s->event[e].node, s->event[e].at);
    for (int32_t b = pass->head[e]; b >= 0; b = pass->next[b]) {
      plim_space_events_add(out, PLIM_SPACE_DROP, s->event[b].node,
                            plim_space_event_space(pass->problem, &s->event[b]));
    }
  }
}

/* ---- totals ---- */

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Event e is a command that begins when its queue is free, what it reads is filled, and nothing touches what ended. */
static void add_command(arrange_pass *pass, int32_t e, plim_space_totals *t) {
  const plim_space_sequence *s = pass->sequence;
  const plim_space_event *v = &s->event[e];
  int run = v->kind == PLIM_SPACE_RUN;
  int32_t space = plim_space_event_space(pass->problem, v);
  int64_t *queue =
      run ? &pass->free_ns[v->at] : &pass->free_ns[pass->problem->platform->n_devices + pass->queue_link[v->at]];
  int64_t ns =
      run ? plim_space_run_ns(pass->problem, v->node, v->at) : plim_space_copy_ns(pass->problem, v->node, v->at);
  int64_t begin = later(*queue, pass->open_ns[space]);
  for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) begin = later(begin, pass->end_ns[s->read[i]]);
  int64_t end = plim_integers_add_capped(begin, ns);
  for (int32_t i = s->first_read[e]; i < s->first_read[e + 1]; i++) {
    pass->left_ns[s->read[i]] = later(pass->left_ns[s->read[i]], end);
  }
  *queue = pass->end_ns[e] = pass->left_ns[e] = end;
  if (run && pass->problem->node[v->node].workspace > 0) pass->open_ns[space] = later(pass->open_ns[space], end);
  t->makespan_ns = later(t->makespan_ns, end);
  t->serial_ns = plim_integers_add_capped(t->serial_ns, ns);
  if (!pass->problem->has_energy) return;
  t->energy_joule +=
      run ? plim_space_run_joule(pass->problem, v->node, v->at) : plim_space_copy_joule(pass->problem, v->node, v->at);
}

static void add_up(arrange_pass *pass, plim_space_totals *t) {
  const plim_space_sequence *s = pass->sequence;
  const plim_platform *p = pass->problem->platform;
  *t = (plim_space_totals){.makespan_ns = 0};
  memset(pass->free_ns, 0, (size_t)(p->n_devices + p->n_links) * sizeof *pass->free_ns);
  memset(pass->open_ns, 0, (size_t)p->n_spaces * sizeof *pass->open_ns);
  for (int32_t e = 0; e < s->n; e++) {
    add_command(pass, e, t);
    for (int32_t b = pass->head[e]; b >= 0; b = pass->next[b]) {
      int64_t *open = &pass->open_ns[plim_space_event_space(pass->problem, &s->event[b])];
      *open = later(*open, pass->left_ns[b]);
    }
  }
  for (int32_t d = 0; d < p->n_devices && pass->problem->has_energy; d++) {
    t->energy_joule += p->device[d].idle_watt * ((double)t->makespan_ns * 1e-9);
  }
}

static void lay_out(arrange_pass *pass, plim_block *b) {
  const plim_platform *p = pass->problem->platform;
  int64_t n = pass->sequence->n;
  pass->begin_ns = plim_block_take(b, n + 1, sizeof *pass->begin_ns);
  pass->link_ns = plim_block_take(b, p->n_links, sizeof *pass->link_ns);
  pass->position = plim_block_take(b, n, sizeof *pass->position);
  pass->end = plim_block_take(b, n, sizeof *pass->end);
  pass->head = plim_block_take(b, n, sizeof *pass->head);
  pass->next = plim_block_take(b, n, sizeof *pass->next);
  pass->next_filler = plim_block_take(b, n, sizeof *pass->next_filler);
  pass->first_touch = plim_block_take(b, n, sizeof *pass->first_touch);
  pass->queue_link = plim_block_take(b, p->n_links, sizeof *pass->queue_link);
  pass->free_ns = plim_block_take(b, (int64_t)p->n_devices + p->n_links, sizeof *pass->free_ns);
  pass->open_ns = plim_block_take(b, p->n_spaces, sizeof *pass->open_ns);
  pass->end_ns = plim_block_take(b, n, sizeof *pass->end_ns);
  pass->left_ns = plim_block_take(b, n, sizeof *pass->left_ns);
  pass->events = plim_block_take(b, n, sizeof *pass->events);
}

plim_status plim_space_arrange(plim_space_sequence *s, const int64_t *budget, int spread, plim_space_totals *totals,
                               plim_space_events *out) {
  plim_context *ctx = s->problem->ctx;
  arrange_pass pass = {.sequence = s, .problem = s->problem, .budget = budget};
  int32_t moved = 0;
  plim_status status;
  lay_out(&pass, &pass.block);
  PLIM_TRY(plim_block_allocate(ctx, &pass.block));
  lay_out(&pass, &pass.block);
  for (int32_t l = 0; l < pass.problem->platform->n_links; l++)
    pass.queue_link[l] = plim_platform_queue_link(pass.problem->platform, l);
  set_times(&pass);
  if (spread) PLIM_TRY_OR_DONE(move_copies(&pass, &moved));
  if (moved) set_times(&pass);
  memcpy(pass.end, s->last, (size_t)s->n * sizeof *pass.end);
  if (spread) hold_sources(&pass);
  list_ends(&pass);
  emit(&pass, out);
  add_up(&pass, totals);
  status = out->status;
done:
  plim_block_release(ctx, &pass.block);
  return status;
}
