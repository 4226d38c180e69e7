/* Plans by checkpoints: what is kept determines what is recomputed. */
#ifndef PLIM_PLANNER_CHAIN_CHECKPOINTS_H
#define PLIM_PLANNER_CHAIN_CHECKPOINTS_H

#include "planner/chain/chain_forward.h"
#include "planner/chain/demand.h"

/* Where checkpoints may stand. cuts: articulation points of the forward part. linear: every op of it, as if it were a
 * chain. */
typedef enum plim_checkpoint_kind { PLIM_CHECKPOINT_CUTS, PLIM_CHECKPOINT_LINEAR } plim_checkpoint_kind;

typedef struct plim_checkpoints {
  const plim_problem *problem;
  plim_forward forward;
  plim_demand demand;
  uint8_t *kept; /* [n_ops] the outputs of this op are checkpoints */
} plim_checkpoints;

PLIM_MUST_USE plim_status plim_checkpoints_new(const plim_problem *problem, plim_checkpoints **out);
void plim_checkpoints_free(plim_checkpoints *checkpoints); /* NULL is legal */

/* Keep every k-th candidate. Returns the number of candidates. Source: Chen, Xu, Zhang, Guestrin, 2016. */
int32_t plim_checkpoints_every(plim_checkpoints *checkpoints, plim_checkpoint_kind kind, int32_t k);

/* The schedule that follows from a set of checkpoints. It is program order; an item of the forward part that is no
 * checkpoint is evicted after its last reader there, and recomputed on demand when the rest of the step reads it.
 *   hold       in  1: what was recomputed stays, so a segment between checkpoints is recomputed once; the segment after
 *                  the last checkpoint is not evicted at all. 0: only what the op reads stays: fewest bytes, many runs
 *   most_runs  in  PLIM_ENOFIT where more would be needed */
PLIM_MUST_USE plim_status plim_checkpoints_schedule(plim_checkpoints *checkpoints, int32_t hold, int32_t most_runs,
                                                    plim_schedule *out);

/* Call `visit` for greedy sets, first at cuts, then at all forward ops. The threshold starts at all forward bytes and
 * falls by one part in `parts` (at least 2) each time. A set of as many checkpoints as the one before is left out. Ends
 * with the first status that is not PLIM_OK. */
typedef plim_status plim_checkpoints_visit(void *user, plim_checkpoints *checkpoints);
PLIM_MUST_USE plim_status plim_checkpoints_sweep(plim_checkpoints *checkpoints, int32_t parts,
                                                 plim_checkpoints_visit *visit, void *user);

#endif
