/* What commands on queues wait for, less what follows already: from the order of a queue, or from other waits. */
#ifndef PLIM_PLANNER_SPACES_PROBLEM_QUEUE_WAITS_H
#define PLIM_PLANNER_SPACES_PROBLEM_QUEUE_WAITS_H

#include "runtime/base/array.h"

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
