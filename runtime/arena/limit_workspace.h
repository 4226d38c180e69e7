/* A schedule whose commands from a given one on use variants of less workspace with the same numerics keys. Functions
 * run on the thread of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_ARENA_LIMIT_WORKSPACE_H
#define PLIM_RUNTIME_ARENA_LIMIT_WORKSPACE_H

#include "runtime/graph/plan.h"

typedef struct plim_limited_plan {
  /* Borrows everything except commands and variants. Its buffers are valid only for the commands before `from`. */
  plim_plan plan;
  int32_t n_ops, n_rows, command_capacity; /* lengths of the arrays */
  int32_t *again;                          /* [n_ops] the row of plan.variant that runs when the op is recomputed */
  plim_command *command;                   /* [command_capacity], plan.n_commands of them in use */
  plim_plan_variant *variant;              /* [n_rows], plan.n_variants of them in use */
} plim_limited_plan;

/* Choose for each op the fastest variant with the numerics key of the plan and at most `limit` bytes of workspace. When
 * there is none, choose the variant with the least workspace. Commands before `from`, and later commands within the
 * limit, keep their variants.
 *   profile    in   NULL: none. Where it has no better variant, the plan's own stays
 *   own_order  in   0: the ops that have not run by `from` run once, in program order, in which an update comes after
 *                   every reader of the old version; 1: the plan's order, with its recomputations
 *   out        out  release it also after a failure
 * PLIM_ENOMEM. Deterministic. */
PLIM_MUST_USE plim_status plim_limit_workspace(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                               const plim_profile *profile, int32_t from, int64_t limit, int own_order,
                                               plim_limited_plan *out);
void plim_limited_plan_release(plim_limited_plan *limited); /* a zeroed one is legal */

#endif
