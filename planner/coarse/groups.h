/* Which ops are fused into their readers. */
#ifndef PLIM_PLANNER_COARSE_GROUPS_H
#define PLIM_PLANNER_COARSE_GROUPS_H

#include "planner/problem.h"

enum { PLIM_GROUP_MOST = 16 /* ops of a group */ };

/* The group of op v: member[v], n_members[v] of them, in program order, v last. A fused op has none of its own but is
 * in those of all its readers. */
typedef struct plim_groups {
  plim_context *ctx;
  int32_t n_ops;
  int32_t (*member)[PLIM_GROUP_MOST]; /* [n_ops] */
  int32_t *n_members;                 /* [n_ops] 0: fused */
} plim_groups;

/* In program order, fuse an op (with what was fused into it) into its readers, at most so many, when what it reads is
 * no larger than what it writes: then forgetting what it wrote costs its time and no bytes. What must run once, is
 * kept to the end or would run on the wrong side of an update stays alone; where program order is fixed, so does what
 * does not run right before its reader. O(operands x group). */
PLIM_MUST_USE plim_status plim_groups_make(const plim_problem *problem, int32_t most_readers, plim_groups *out);
void plim_groups_free(plim_groups *groups); /* leaves it empty */

#endif
