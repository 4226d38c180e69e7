/* Seeded random plans that are valid: a random order of the ops, random repeats, pairs and variants, addresses by first
 * fit. No planner takes part, so that checker and executor can be tested without one. */
#ifndef PLIM_TESTS_SUPPORT_RANDOM_PLAN_H
#define PLIM_TESTS_SUPPORT_RANDOM_PLAN_H

#include "runtime/graph/plan.h"

typedef struct random_plan_options {
  uint64_t seed;
  int32_t shuffle_percent; /* chance that a step is not the next op of program order but any other that is ready */
  int32_t repeat_percent;  /* chance that an op is recomputed before a step */
  int32_t pair_percent;    /* chance that an allowed in-place pair is used where it may be */
  int32_t merge_percent;   /* chance that a storage stays resident until its next write */
  int32_t packed;
  int32_t
      lawless; /* 1: buffers are right, but updates come anywhere, effects and numerics keys may repeat: seldom valid */
} random_plan_options;

random_plan_options random_plan_options_default(uint64_t seed);

/* All percentages 0 gives every op once in program order. */
PLIM_MUST_USE plim_status random_plan_make(const plim_graph *graph, const plim_profile *profile,
                                           const random_plan_options *options, plim_plan **out);

#endif
