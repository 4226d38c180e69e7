/* Small graphs on small platforms, made up by seed, on which a joint model of recompute, paging and placement can be
 * proved: for plimsoll-bench and tests. */
#ifndef PLIM_TOOLS_PLIMSOLL_BENCH_JOINT_CASE_H
#define PLIM_TOOLS_PLIMSOLL_BENCH_JOINT_CASE_H

#include "runtime/graph/graph.h"
#include "runtime/graph/space/platform.h"

enum { JOINT_OPS = 13, JOINT_SPACES = 2 };

typedef struct joint_case {
  plim_graph *graph;
  plim_platform *platform; /* one device with a page space (even seeds), or two devices (odd seeds) */
  int64_t budget[JOINT_SPACES];
} joint_case;

/* 5 to `most_ops` ops (at most JOINT_OPS). Budgets lie between what one op needs and 90 % of the way to keep-all's
 * bytes; a page space has none. The copy of an output of mean size takes 0.2 to 2 times what an op of mean FLOP takes.
 * PLIM_EUSAGE for another number of ops. */
PLIM_MUST_USE plim_status joint_case_make(plim_context *ctx, uint64_t seed, int32_t most_ops, joint_case *out);
void joint_case_free(joint_case *c);

#endif
