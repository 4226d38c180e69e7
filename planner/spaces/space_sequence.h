/* A sequence of runs and copies as a search changes it. Nothing says when a buffer ends: it does after its last reader,
 * so that every change is an insertion or a removal. */
#ifndef PLIM_PLANNER_SPACES_SPACE_SEQUENCE_H
#define PLIM_PLANNER_SPACES_SPACE_SEQUENCE_H

#include "planner/spaces/space_lower.h"

enum { PLIM_SPACE_SPAN = 64, PLIM_SPACE_IDLE = 64 };

typedef struct plim_space_sequence {
  const plim_space_problem *problem;
  plim_space_event *item; /* [n] RUN and COPY */
  int32_t n, room;
  /* What plim_space_sequence_analyse finds. An item fills one buffer: its node's output in the space of the item. */
  int32_t valid;       /* 0: an item reads what is not there; the rest is not set */
  int32_t *last;       /* [n] last item that touches the buffer of the item */
  int32_t *before;     /* [n] the item that filled the same node and space before; -1: none */
  int32_t *latest;     /* [n_spaces][nodes] the last such item; -1: none */
  int32_t *first_read; /* [n + 1] into read */
  int32_t *read;       /* items whose buffers are read */
  int64_t room_read;
  int32_t *map;                  /* [room] scratch */
  int32_t *runs;                 /* [nodes] scratch */
  int64_t *live;                 /* [n_spaces][room] bytes of all buffers at an item */
  int64_t *top;                  /* [n_spaces][room / PLIM_SPACE_SPAN + 1] the most of each span */
  int32_t idle[PLIM_SPACE_IDLE]; /* [n_idle] items that insertions left without a reader */
  int32_t n_idle;
} plim_space_sequence;

PLIM_MUST_USE plim_status plim_space_sequence_init(plim_space_sequence *sequence, const plim_space_problem *problem);
void plim_space_sequence_free(plim_space_sequence *sequence);
/* The items alone. */
PLIM_MUST_USE plim_status plim_space_sequence_copy(plim_space_sequence *to, const plim_space_sequence *from);
PLIM_MUST_USE plim_status plim_space_sequence_reserve(plim_space_sequence *sequence, int64_t n);

/* The space that an item fills. */
static inline int32_t plim_space_item_space(const plim_space_problem *p, const plim_space_event *item) {
  return item->kind == PLIM_SPACE_RUN ? p->platform->device[item->at].space : p->platform->link[item->at].to;
}

/* Insert `n` items before position `at`. */
PLIM_MUST_USE plim_status plim_space_sequence_insert(plim_space_sequence *sequence, int32_t at, int32_t n,
                                                     const plim_space_event *item);

/* Insert `n` items before position `at` of an analysed sequence, where it is not empty. What they fill is read by one
 * of them or by items after them. The sequence stays analysed, without plim_space_sequence_analyse, but for items that
 * nothing reads any more: plim_space_sequence_trim takes them out. `valid` is 0 where they are too many.
 *   done  [1]  out  0: there is no room for them, and nothing was inserted
 * O(items), in plain loops over the arrays. */
PLIM_MUST_USE plim_status plim_space_sequence_extend(plim_space_sequence *sequence, int32_t at, int32_t n,
                                                     const plim_space_event *item, int32_t *done);

/* Take out what insertions left without a reader, and what is then without one: the sequence is analysed. O(items) for
 * each, in plain loops over the arrays. */
void plim_space_sequence_trim(plim_space_sequence *sequence);

/* Leave out what is not needed, and find buffers and bytes. O(items + their reads). */
PLIM_MUST_USE plim_status plim_space_sequence_analyse(plim_space_sequence *sequence);

/* The latest item before `at` that fills node and space; -1: none. */
int32_t plim_space_sequence_find(const plim_space_sequence *sequence, int32_t node, int32_t space, int32_t at);

/* Is there room for so many bytes at all items of [from, to)? */
int plim_space_sequence_fits(const plim_space_sequence *sequence, int32_t space, int32_t from, int32_t to,
                             int64_t bytes, int64_t budget);

/* Bytes more (or fewer) at all items of [from, to). */
void plim_space_sequence_add(plim_space_sequence *sequence, int32_t space, int32_t from, int32_t to, int64_t bytes);

static inline int64_t *plim_space_live(const plim_space_sequence *s, int32_t space) {
  return s->live + (int64_t)space * s->room;
}

/* Is there room in every space? budget [n_spaces] */
int plim_space_sequence_is_within(const plim_space_sequence *sequence, const int64_t *budget);

#endif
