/* Plans in the making: events, the sequence that a search changes, and its way to commands. */
#ifndef PLIM_PLANNER_SPACES_PROBLEM_SPACE_SEQUENCE_H
#define PLIM_PLANNER_SPACES_PROBLEM_SPACE_SEQUENCE_H

#include "planner/spaces/problem/space_problem.h"
#include "runtime/base/array.h"
#include "runtime/graph/space/space_plan.h"

/* ==== events (space_sequence.c) ==== */

typedef enum plim_space_event_kind {
  PLIM_SPACE_RUN,  /* of a node on a device */
  PLIM_SPACE_COPY, /* of a node's output along a link */
  PLIM_SPACE_DROP, /* the end of a node's buffer in a space */
  PLIM_SPACE_JOIN, /* a copy by the same command as the COPY or JOIN right before it, along the same link */
  PLIM_SPACE_VOID  /* in the sequence of a search alone: plim_space_sequence_close_up removes it */
} plim_space_event_kind;

/* In the order of the sequence. A run of what is there already, and a copy to where it is already, do nothing. */
typedef struct plim_space_event {
  plim_space_event_kind kind;
  int32_t node;
  int32_t at; /* RUN: device; COPY, JOIN: link; DROP: space */
} plim_space_event;

typedef struct plim_space_events {
  plim_context *ctx;
  plim_space_event *event;
  int64_t n, capacity;
  plim_status status; /* first failure; later additions do nothing */
} plim_space_events;

void plim_space_events_add(plim_space_events *events, plim_space_event_kind kind, int32_t node, int32_t at);
void plim_space_events_free(plim_space_events *events);

/* ==== sequences (space_sequence.c, space_sequence_extend.c) ==== */

/* A sequence of runs and copies as a search changes it. Nothing says when a buffer ends: it does after its last reader,
 * so that every change is an insertion or a removal. */

enum {
  PLIM_SPACE_BLOCK = 64, /* events of a block of live bytes */
  PLIM_SPACE_IDLE = 64   /* events without a reader, at most: where insertions leave more, all is analysed anew */
};

typedef struct plim_space_sequence {
  const plim_space_problem *problem;
  plim_space_event *event; /* [n] RUN and COPY, between two changes VOID too */
  int32_t n, capacity;
  /* What plim_space_sequence_analyse finds. An event fills one buffer: its node's output in the space of the event. */
  int32_t valid;            /* 0: an event reads what is not there; the rest is not set */
  int32_t *last;            /* [n] last event that touches the buffer of the event */
  int32_t *previous_filler; /* [n] the event that filled the same node and space before; -1: none */
  int32_t *latest;          /* [n_spaces][nodes] the last such event; -1: none */
  int32_t *first_read;      /* [n + 1] into read */
  int32_t *read;            /* events whose buffers are read */
  int64_t read_capacity;
  int32_t *map;        /* [capacity] scratch */
  int32_t *runs;       /* [nodes] scratch */
  int64_t *live;       /* [n_spaces][capacity] bytes of all buffers at an event */
  int64_t *block_peak; /* [n_spaces][capacity / PLIM_SPACE_BLOCK + 1] the most live bytes at an event of a block */
  int32_t idle[PLIM_SPACE_IDLE]; /* [n_idle] events that insertions left without a reader */
  int32_t n_idle;
} plim_space_sequence;

PLIM_MUST_USE plim_status plim_space_sequence_init(plim_space_sequence *sequence, const plim_space_problem *problem);
void plim_space_sequence_free(plim_space_sequence *sequence);
/* Take the runs and copies of a list without its drops, and analyse them. A joined copy is a copy of its own. */
PLIM_MUST_USE plim_status plim_space_sequence_take(plim_space_sequence *sequence, const plim_space_events *events);
/* The events alone. */
PLIM_MUST_USE plim_status plim_space_sequence_copy(plim_space_sequence *to, const plim_space_sequence *from);
/* The events of an analysed sequence, with its analysis. O(events), in plain copies of the arrays. */
PLIM_MUST_USE plim_status plim_space_sequence_copy_analysed(plim_space_sequence *to, const plim_space_sequence *from);
PLIM_MUST_USE plim_status plim_space_sequence_reserve(plim_space_sequence *sequence, int64_t n);

/* The space that an event fills. */
static inline int32_t plim_space_event_space(const plim_space_problem *p, const plim_space_event *event) {
  return event->kind == PLIM_SPACE_RUN ? p->platform->device[event->at].space : p->platform->link[event->at].to;
}

/* Insert `n` events before position `at`. */
PLIM_MUST_USE plim_status plim_space_sequence_insert(plim_space_sequence *sequence, int32_t at, int32_t n,
                                                     const plim_space_event *event);

/* Remove the events that are VOID; the others close up. The sequence is no longer analysed. */
void plim_space_sequence_close_up(plim_space_sequence *sequence);

/* Insert `n` events before position `at` of an analysed sequence, where it is not empty. What they fill is read by one
 * of them or by events after them. The sequence stays analysed, without plim_space_sequence_analyse, but for events
 * that nothing reads any more: plim_space_sequence_trim takes them out. `valid` is 0 where they are too many.
 *   done  [1]  out  0: there is no room for them, and nothing was inserted
 * O(events), in plain loops over the arrays. */
PLIM_MUST_USE plim_status plim_space_sequence_extend(plim_space_sequence *sequence, int32_t at, int32_t n,
                                                     const plim_space_event *event, int32_t *done);

/* Take out what insertions left without a reader, and what is then without one: the sequence is analysed. O(events) for
 * each, in plain loops over the arrays. */
void plim_space_sequence_trim(plim_space_sequence *sequence);

/* Leave out what is not needed, and find buffers and bytes. O(events + their reads). */
PLIM_MUST_USE plim_status plim_space_sequence_analyse(plim_space_sequence *sequence);

/* Is there room for so many bytes at all events of [from, to)? */
int plim_space_sequence_fits(const plim_space_sequence *sequence, int32_t space, int32_t from, int32_t to,
                             int64_t bytes, int64_t budget);

/* The first event from `from` on at which more bytes are alive; n: there is none. */
int32_t plim_space_sequence_first_above(const plim_space_sequence *sequence, int32_t space, int32_t from,
                                        int64_t bytes);

/* Take the buffer of event e out of an analysed sequence: what read it reads the buffer that was there before it, whose
 * bytes then stay. The event is VOID; close up and analyse after the last. */
void plim_space_sequence_void(plim_space_sequence *sequence, int32_t e);

/* Bytes more (or fewer) at all events of [from, to). */
void plim_space_sequence_add_bytes(plim_space_sequence *sequence, int32_t space, int32_t from, int32_t to,
                                   int64_t bytes);

static inline int64_t *plim_space_live(const plim_space_sequence *s, int32_t space) {
  return s->live + (int64_t)space * s->capacity;
}

/* The last event that fills node and space; -1: none. */
static inline int32_t *plim_space_latest(const plim_space_sequence *s, int32_t space, int32_t node) {
  return &s->latest[(int64_t)space * s->problem->n + node];
}

/* The latest event before `at` that fills node and space; -1: none. */
static inline int32_t plim_space_sequence_find(const plim_space_sequence *s, int32_t node, int32_t space, int32_t at) {
  int32_t e = *plim_space_latest(s, space, node);
  while (e >= at) e = s->previous_filler[e];
  return e;
}

/* Find the peaks of all blocks anew, after a change of the live bytes. O(events x spaces). */
void plim_space_sequence_set_block_peaks(plim_space_sequence *sequence);

/* Is there room in every space? budget [n_spaces] */
int plim_space_sequence_is_within(const plim_space_sequence *sequence, const int64_t *budget);

/* ==== arranging (space_arrange.c) ==== */

/* From a search's sequence to events, with copies where they continue beside compute. */

/* What the commands of a plan take. */
typedef struct plim_space_totals {
  int64_t makespan_ns, serial_ns;
  double energy_joule; /* idle power too; 0 where energies are not known */
} plim_space_totals;

/* `sequence` is analysed and within the budgets, and is changed. spread: 1: copies begin as early, and what they read
 * stays as long, as the time of the copy asks for and bytes allow; else, and where the time of the context is over,
 * they stand where the sequence has them.
 *   totals  [1]  out  of the plan that plim_space_lower makes of `out`, without making it
 *   out          in   its list is empty */
PLIM_MUST_USE plim_status plim_space_arrange(plim_space_sequence *sequence, const int64_t *budget, int spread,
                                             plim_space_totals *totals, plim_space_events *out);

/* ==== lowering (space_lower.c) ==== */

/* From a sequence of runs, copies and drops to a plan over queues: what nothing needs is left out, buffers begin and
 * end, and each command waits for what it must. */

/* The plan of a sequence. Read of `draft`: planner, plan_class, objective, deadline_ns, keep_all, bound (no higher than
 * the plan's objective; `proved`: equal to it where no more than a solver's tolerance lies between them) and the
 * spaces' budgets [n_spaces]; its figures are the simulator's. A buffer ends after the last command that touches it,
 * or, where a copy reads it, at its drop, so that runs need not wait for the copy before. PLIM_EPLAN when the sequence
 * reads what is not there. */
PLIM_MUST_USE plim_status plim_space_lower(const plim_space_problem *problem, const plim_space_events *events,
                                           const plim_space_plan *draft, const int64_t *budget, int proved,
                                           plim_space_plan **out);

/* ==== waits (queue_waits.c) ==== */

/* What commands on queues wait for, less what follows already: from the order of a queue, or from other waits. */

/* Commands have indices 0, 1, ... in one order over all queues. A mark is an index + 1; 0: none. */
typedef struct plim_queue_waits {
  int32_t n_queues;
  int32_t *n_wait; /* [n] */
  int32_t *wait;   /* [n][n_queues] commands, ascending */
  int32_t *clock;  /* [n][n_queues] mark of the last command of each queue that ends before the command begins */
  int32_t *last;   /* [n_queues] mark of the last command added */
} plim_queue_waits;

/* Take the arrays of n commands from a block; n_queues is set. */
void plim_queue_waits_lay_out(plim_queue_waits *waits, plim_block *block, int64_t n);

/* Add command c, the next one. It has to follow, on each queue, the command that `need` marks and all before it.
 *   need  [n_queues]  in  marks of commands before c
 * O(queues^2 for each wait). */
void plim_queue_waits_add(plim_queue_waits *waits, int32_t c, int32_t queue, const int32_t *need);

/* The waits of command c. */
static inline const int32_t *plim_queue_waits_of(const plim_queue_waits *waits, int32_t c) {
  return waits->wait + (int64_t)c * waits->n_queues;
}

/* Raise each of n marks to that of `from`. */
void plim_marks_join(int32_t *marks, const int32_t *from, int32_t n);

#endif
