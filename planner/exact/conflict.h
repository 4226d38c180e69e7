/* Where a staged schedule has too many bytes, and what can be done about it. */
#ifndef PLIM_PLANNER_EXACT_CONFLICT_H
#define PLIM_PLANNER_EXACT_CONFLICT_H

#include "planner/exact/staged.h"
#include "planner/random.h"

/* A copy alive at a step that does not read it, and the latest stage in which making it again would spare it there. */
typedef struct plim_cure {
  plim_repeat repeat;
  double price; /* of a byte, by the bound */
  double worth; /* the lower, the sooner it is tried */
} plim_cure;

/* What a tree search over repeats has decided: `now` are in, forbidden ones are out. */
typedef struct plim_conflicts {
  const plim_dag *dag;
  int32_t copies;
  int64_t limit_bytes;
  plim_staged staged;  /* of what is in */
  uint8_t *forbidden;  /* [n * n] bits, node by node */
  int32_t *count;      /* [n] repeats that are in */
  uint8_t *is_operand; /* [n] scratch */
  double *left;        /* [n] scratch: what of a node's time the bound has not charged yet */
  int32_t *step;       /* steps with conflicts */
  plim_cure *cure;     /* [n] of one conflict */
  plim_random random;
  double noise; /* of worth: 0 to 1 */
} plim_conflicts;

PLIM_MUST_USE plim_status plim_conflicts_make(const plim_dag *dag, int32_t copies, int64_t limit_bytes,
                                              plim_conflicts *out);
void plim_conflicts_free(plim_conflicts *conflicts);

void plim_conflicts_forbid(plim_conflicts *conflicts, plim_repeat repeat, int forbid);

/* For the evaluated schedule, whose peak is above the limit: *bound_ns is a lower bound on the time of further repeats
 * that any completion needs (INT64_MAX: there is none), *branch the repeat to decide next. */
void plim_conflicts_look(plim_conflicts *conflicts, int64_t *bound_ns, plim_repeat *branch);

#endif
