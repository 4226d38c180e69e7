/* Ops that are alike: the blocks that a network repeats.
 *
 * Two ops are alike when their surroundings look the same: kinds and links of everything within a few links of them,
 * whatever the bytes and times. Between two such ops a *match* is grown along the links: op by op, the surroundings of
 * one are paired with those of the other, forward and backward part at once, since they are linked. So a match pairs
 * two blocks of a network without anybody saying what a block is. */
#ifndef PLIM_PLANNER_ALIKE_H
#define PLIM_PLANNER_ALIKE_H

#include "planner/problem.h"

enum { PLIM_ALIKE_MOST = 96 /* pairs of a match */ };

typedef struct plim_alike {
  const plim_problem *problem;
  uint32_t *near_hash;  /* [n_ops] of what is one link away */
  uint32_t *far_hash;   /* [n_ops] of what is within three links */
  int32_t *next, *prev; /* [n_ops] nearest op behind and in front, in program order, with an equal far hash; -1 */
  int32_t *other;       /* [n_ops] in the match: the op that it is paired with, -1 */
  int32_t n;            /* the match: */
  int32_t from[PLIM_ALIKE_MOST], to[PLIM_ALIKE_MOST]; /* [n] no op is in both, or twice in one */
} plim_alike;

/* O(links + n log n). */
PLIM_MUST_USE plim_status plim_alike_new(const plim_problem *problem, plim_alike **out);
void plim_alike_free(plim_alike *alike); /* NULL is legal */

/* Replace the match by one of at most `most` pairs grown from (a, b), nearest first. O(most x degree). */
void plim_alike_match(plim_alike *alike, int32_t a, int32_t b, int32_t most);

#endif
