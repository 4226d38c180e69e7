/* Plans by checkpoints: what is kept determines what is recomputed. */
#ifndef PLIM_PLANNER_CHECKPOINTS_H
#define PLIM_PLANNER_CHECKPOINTS_H

#include "planner/chain/demand.h"
#include "planner/chain/forward.h"

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

/* Walk the forward part and keep a candidate whenever the bytes written since the last one exceed `bytes`. Returns
 * the number kept. Source: the same, greedy form. */
int32_t plim_checkpoints_greedy(plim_checkpoints *checkpoints, plim_checkpoint_kind kind, int64_t bytes);

/* The schedule for what is kept: program order; an item of the forward part that is no checkpoint is given up after
 * its last reader there, and recomputed, from what is available, when the rest of the step reads it. hold 1: from then
 * on it stays, with everything that had to be made for it (a segment between checkpoints is recomputed once), and what
 * is made after the last checkpoint stays at once; 0: only what the op itself reads stays, the rest is recomputed
 * whenever it is needed (fewest bytes, many runs). At most `most_runs` runs; PLIM_ENOFIT when they do not suffice. */
PLIM_MUST_USE plim_status plim_checkpoints_schedule(plim_checkpoints *checkpoints, int32_t hold, int32_t most_runs,
                                                    plim_schedule *out);

/* Call `visit` for the greedy sets at cuts and then linearised, for thresholds from all forward bytes down, each less
 * by one part in `steps` (at least 2) than the one before; sets that keep as many as the one before are left out. Ends
 * with the first status that is not PLIM_OK. */
typedef plim_status plim_checkpoints_visit(void *user, plim_checkpoints *checkpoints);
PLIM_MUST_USE plim_status plim_checkpoints_sweep(plim_checkpoints *checkpoints, int32_t steps,
                                                 plim_checkpoints_visit *visit, void *user);

#endif
