/* A plan whose steps from one on run variants of less workspace, of the same bits labels. */
#ifndef PLIM_RUNTIME_ARENA_NARROW_H
#define PLIM_RUNTIME_ARENA_NARROW_H

#include "runtime/graph/plan.h"

typedef struct plim_narrowed {
  plim_plan plan; /* borrows all but steps and variants; a schedule: its lives fit the steps in front of `from` only */
  int32_t n_ops, n_rows, n_room;
  int32_t *again;             /* [n_ops] the row of plan.variant that runs when the op is computed again */
  plim_step *step;            /* [n_room], plan.n_steps of them in use */
  plim_plan_variant *variant; /* [n_rows], plan.n_variants of them in use */
} plim_narrowed;

/* For each op the fastest variant of its label in the plan with at most `limit` bytes of workspace, the one with the
 * least when there is none; the plan's own where the profile (NULL: none) knows no better. own_order 0: what
 * has not run by `from` runs once, in the order of the program, whose updates come behind whatever reads what was made
 * before them; 1: as the plan has it, repeats and all. */
PLIM_MUST_USE plim_status plim_narrow(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                      const plim_profile *profile, int32_t from, int64_t limit, int own_order,
                                      plim_narrowed *out);
void plim_narrowed_release(plim_narrowed *narrowed); /* a zeroed one is legal */

#endif
