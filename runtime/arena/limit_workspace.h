/* A plan whose commands after a given one use variants of less workspace with the same numerics keys. */
#ifndef PLIM_RUNTIME_ARENA_LIMIT_WORKSPACE_H
#define PLIM_RUNTIME_ARENA_LIMIT_WORKSPACE_H

#include "runtime/graph/plan.h"

typedef struct plim_limited_plan {
  /* Borrows all but commands and variants. A schedule: its buffers fit the commands before `from` only. */
  plim_plan plan;
  int32_t n_ops, n_rows, n_room;
  int32_t *again;             /* [n_ops] the row of plan.variant that runs when the op is recomputed */
  plim_command *command;      /* [n_room], plan.n_commands of them in use */
  plim_plan_variant *variant; /* [n_rows], plan.n_variants of them in use */
} plim_limited_plan;

/* Choose for each op the fastest variant with the numerics key of the plan and at most `limit` bytes of workspace, or
 * the one with the least workspace when there is none.
 *   profile    in  NULL: none. Where it has no better variant, the plan's own stays
 *   own_order  in  0: the ops that have not run by `from` run once, in program order, in which an update comes after
 *                  every reader of the old version; 1: in the plan's order, with its repeats */
PLIM_MUST_USE plim_status plim_limit_workspace(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                               const plim_profile *profile, int32_t from, int64_t limit, int own_order,
                                               plim_limited_plan *out);
void plim_limited_plan_release(plim_limited_plan *limited); /* a zeroed one is legal */

#endif
