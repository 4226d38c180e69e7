/* Tuning constants of planner/core, in one table. Only files of this folder include it. They were set by trial.
 *
 * What depends on a value: the first one changes plans, the others when a call with a time limit returns. */
#ifndef PLIM_PLANNER_CORE_CORE_TUNING_H
#define PLIM_PLANNER_CORE_CORE_TUNING_H

#include <stdint.h>

static const struct plim_core_tuning {
  int32_t second_packing_rounds, grace_parts;
  int64_t grace_ns, min_ns;
} core_tuning = {
    .second_packing_rounds = 96, /* rounds of packing up to which what does not fit is packed again, as low as can be */
    .grace_parts = 20,           /* what follows a search ends one part in so many of the time limit after it ... */
    .grace_ns = 50000000,        /* ... and so many ns */
    .min_ns = 50000000,          /* a shorter time limit counts as this: small graphs have a plan then */
};

#endif
