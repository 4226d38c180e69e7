/* For the test of the checker against changed plans: base plans, and the kinds of change. */
#ifndef PLIM_TESTS_SUPPORT_MUTANTS_H
#define PLIM_TESTS_SUPPORT_MUTANTS_H

#include <stdint.h>

#include "tests/support/plan_draft.h"

typedef struct mutant_base {
  plim_graph *graph;
  plim_plan *plan;
} mutant_base;

/* Base i: a random plan, or a planner's, of a random or generated graph. It passes the checker and the judge. */
mutant_base mutant_base_make(plim_context *ctx, int i, uint64_t seed);

typedef struct mutant {
  plan_draft d;
  const plim_graph *graph;
  uint64_t *random;
} mutant;

typedef struct mutant_kind {
  const char *name;
  int (*change)(mutant *m); /* 1 when there was something to change */
  int fit;                  /* 1: figures are made right after the change; 0: the change is to them */
} mutant_kind;

/* Row i of the table of kinds; NULL after the last. */
const mutant_kind *mutant_kind_at(int i);

#endif
