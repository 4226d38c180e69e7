/* A plan that a test may break: a copy whose arrays can be written. */
#ifndef PLIM_TESTS_SUPPORT_PLAN_DRAFT_H
#define PLIM_TESTS_SUPPORT_PLAN_DRAFT_H

#include "runtime/graph/plan.h"

typedef struct plan_draft {
  plim_plan plan; /* points to the arrays below, which have room for one more each */
  plim_command *command;
  plim_plan_buffer *buffer;
  plim_plan_variant *variant;
} plan_draft;

/* Fails the running test when memory is refused. */
plan_draft plan_draft_make(const plim_plan *plan);
/* Put the buffers in the order of a plan. */
void plan_draft_sort(plan_draft *draft);
void plan_draft_free(plan_draft *draft);

#endif
