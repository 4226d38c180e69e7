/* Functions that making a plan and reading a plan share: a copy of its parts with the figures that they state.
 * plan_copy.c has the copy, plan.c the rest. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_PLAN_INTERNAL_H
#define PLIM_RUNTIME_GRAPH_PLAN_INTERNAL_H

#include "runtime/graph/plan.h"

typedef struct plim_own_plan {
  plim_plan plan; /* first: what callers hold */
  int64_t block_bytes;
  plim_command *command;
  plim_plan_buffer *buffer;
  plim_plan_variant *variant;
  plim_plan_space *page;
  int32_t *wait; /* of every command */
} plim_own_plan;

/* Check what can be checked without the graph (indices into the plan's own lists, lifetimes, sizes, text), and copy
 * everything, including the stated figures. PLIM_EDATA; the sentence names the first bad command, buffer or variant. */
PLIM_MUST_USE plim_status plim_plan_copy(plim_context *ctx, const plim_plan *draft, plim_own_plan **out);

/* Compare two buffers, or two variants, by their order in a document: < 0, 0 or > 0. */
int plim_plan_buffer_compare(const plim_plan_buffer *a, const plim_plan_buffer *b);
int plim_plan_variant_compare(const plim_plan_variant *a, const plim_plan_variant *b);

#endif
