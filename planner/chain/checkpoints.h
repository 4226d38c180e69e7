/* The forward part of a step, which of its results the rest reads, and checkpoints in it. */
#ifndef PLIM_PLANNER_CHAIN_CHECKPOINTS_H
#define PLIM_PLANNER_CHAIN_CHECKPOINTS_H

#include "planner/core/problem.h"

/* ==== forward part (chain_forward.c) ==== */

/* The forward part of a step: what checkpoints are chosen from. */

/* The ops marked as forward, without effects. Where all ops are (a plain graph): the ops up to the one of program order
 * after which the most bytes are alive. */
typedef struct plim_forward {
  const plim_problem *problem;
  int32_t n;
  int32_t *op;          /* [n] in program order */
  uint8_t *is_forward;  /* [n_ops] */
  uint8_t *is_cut;      /* [n_ops] 1: an articulation point. Nothing written before it is read after it in the forward
                           part */
  int32_t *last_reader; /* [n_items] last reader in the forward part, -1 */
} plim_forward;

/* O(graph). */
PLIM_MUST_USE plim_status plim_forward_make(const plim_problem *problem, plim_forward *out);
void plim_forward_free(plim_forward *forward);

/* ==== demand (demand.c) ==== */

/* Running ops on demand: what an op misses is recomputed first, depth first, from what is available. */

typedef struct plim_demand {
  const plim_problem *problem;
  plim_schedule *out; /* borrowed; runs are appended */
  int32_t runs_limit; /* of the schedule */
  uint8_t *available; /* [n_items] 1: the latest value may be read. The caller clears it for what is evicted */
  uint8_t *ran;       /* [n_ops] 1: the op has run */
  int32_t *stack;     /* [n_ops] scratch */
  int32_t *seen;      /* [n_ops] scratch: reads of each op on the stack that are available */
} plim_demand;

PLIM_MUST_USE plim_status plim_demand_make(const plim_problem *problem, plim_demand *out);
void plim_demand_free(plim_demand *demand);

/* Begin anew: an empty schedule, nothing available, nothing has run. */
void plim_demand_begin(plim_demand *demand, plim_schedule *out, int32_t runs_limit);

/* Append a run of v with its fastest choice, and before it the runs that it misses. Where a repeat would come after an
 * update that its op must not see, the older value is read in its place, and is alive longer. PLIM_ENOFIT: more than
 * runs_limit runs. PLIM_ECANCEL: cancelled, or the context's deadline is over. O(reads of the ops that run). */
PLIM_MUST_USE plim_status plim_demand_run(plim_demand *demand, int32_t v);

/* ==== checkpoints (checkpoints.c) ==== */

/* Plans by checkpoints: what is kept determines what is recomputed. A set of forward ops goes in, a schedule comes out.
 *
 * Example: forward ops a b c d read the one before; backward ops d' c' b' a' each read the output of one of them. Every
 * second op is a checkpoint, so the outputs of b and d are kept. The schedule is
 *   a b c d d' c c' b' a a'
 * The output of a is evicted after b, that of c after d. c' misses its operand, so c runs once more, from the output of
 * b. At most three outputs of the forward part are alive (b, c and d, while d runs), in place of four. */

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
 *   runs_limit  in  PLIM_ENOFIT where more would be needed */
PLIM_MUST_USE plim_status plim_checkpoints_schedule(plim_checkpoints *checkpoints, int hold, int32_t runs_limit,
                                                    plim_schedule *out);

/* Call `visit` for greedy sets, first at cuts, then at all forward ops. The threshold starts at all forward bytes and
 * falls by one part in `parts` (at least 2) each time. A set of as many checkpoints as the one before is left out. Ends
 * with the first status that is not PLIM_OK. */
typedef plim_status plim_checkpoints_visit(void *user, plim_checkpoints *checkpoints);
PLIM_MUST_USE plim_status plim_checkpoints_sweep(plim_checkpoints *checkpoints, int32_t parts,
                                                 plim_checkpoints_visit *visit, void *user);

/* ==== tuning constants ==== */

/* Of planner/chain, in one table. They were set by trial. */
static const struct plim_chain_tuning {
  int32_t sweep_range; /* thresholds of a sweep go down to about e^-this of all bytes. Changes plans */
  int32_t run_ns;      /* ns that a run on demand takes, by guess: for deadlines */
} chain_tuning = {.sweep_range = 7, .run_ns = 100};

#endif
