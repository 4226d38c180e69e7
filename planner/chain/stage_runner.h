/* From moves on a chain of stages to a schedule. What a move misses is recomputed on demand, so every sequence of moves
 * gives a valid schedule. Moves only decide what is evicted. */
#ifndef PLIM_PLANNER_CHAIN_STAGE_RUNNER_H
#define PLIM_PLANNER_CHAIN_STAGE_RUNNER_H

#include "planner/chain/chain_stages.h"

typedef struct plim_stage_runner {
  const plim_stages *stages;
  plim_demand demand;
  int32_t *held;          /* [n_items] how many checkpoints hold it */
  const int32_t *drop_at; /* [n_items] see plim_stage_tape; NULL: options are not used */
  int32_t next;           /* the first op of program order that has not run, as long as the forward part runs */
  int32_t linger;         /* 1: a released checkpoint stays until the stage before it is done */
  plim_schedule schedule;
} plim_stage_runner;

PLIM_MUST_USE plim_status plim_stage_runner_make(const plim_stages *stages, plim_stage_runner *out);
void plim_stage_runner_free(plim_stage_runner *runner);

void plim_stage_begin(plim_stage_runner *runner, int32_t most_runs);

/* Run the forward ops of stage i up to state i + 1, and evict the rest of what it read and wrote. */
PLIM_MUST_USE plim_status plim_stage_advance(plim_stage_runner *runner, int32_t i);
/* Hold state k; release it. */
void plim_stage_keep(plim_stage_runner *runner, int32_t k);
void plim_stage_release(plim_stage_runner *runner, int32_t k);
/* Run the forward ops of stage i and hold state i + 1 and what the tail reads of the rest, except items with
 * drop_at <= option; and let go of it. */
PLIM_MUST_USE plim_status plim_stage_tape(plim_stage_runner *runner, int32_t i, int32_t option);
void plim_stage_untape(plim_stage_runner *runner, int32_t i, int32_t option);
/* Run the tail's part of stage i, then evict what was recomputed for it. The last stage runs forward first. */
PLIM_MUST_USE plim_status plim_stage_back(plim_stage_runner *runner, int32_t i);

#endif
