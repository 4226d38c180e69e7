/* Tuning constants of planner/core, in one table. Only files of this folder include it. A change of the first changes
 * plans. */
#ifndef PLIM_PLANNER_CORE_CORE_TUNING_H
#define PLIM_PLANNER_CORE_CORE_TUNING_H

#include <stdint.h>

static const struct plim_core_tuning {
  int32_t second_packing_rounds, grace_parts;
  int64_t grace_ns, min_ns;
} core_tuning = {
    /* Rounds of packing up to which a schedule that does not fit is packed a second time, for the smallest size. More
     * rounds are asked for where exact search is to reach the budget. */
    .second_packing_rounds = 96,
    .grace_parts = 20,    /* what follows a search ends one part in so many of the time limit after it */
    .grace_ns = 50000000, /* on top of that */
    .min_ns = 50000000,   /* a shorter time limit counts as this: small graphs have a plan then */
};

#endif
