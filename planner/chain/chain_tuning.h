/* Tuning constants of planner/chain, in one table. Only files of this folder include it. All were set by trial on
 * chains and networks of 100 to 2,000 ops.
 *
 * What depends on a value: the last two change plans of sqrt, greedy and rotor, and first plans of search. */
#ifndef PLIM_PLANNER_CHAIN_CHAIN_TUNING_H
#define PLIM_PLANNER_CHAIN_CHAIN_TUNING_H

#include <stdint.h>

static const struct plim_chain_tuning {
  int32_t work_a_run, sweep_range, quarters;
} chain_tuning = {
    .work_a_run = 100, /* ns that a run on demand takes, about: for deadlines */
    .sweep_range = 7,  /* thresholds of a sweep go down to about e^-7 of all bytes */
    .quarters = 4,     /* options of a stage beside the first: each holds one part in so many less */
};

#endif
