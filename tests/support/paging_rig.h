/* A training chain, its profile, and options with a page space: what tests of plans that page begin with. */
#ifndef PLIM_TESTS_SUPPORT_PAGING_RIG_H
#define PLIM_TESTS_SUPPORT_PAGING_RIG_H

#include "planner/planner.h"

typedef struct paging_rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan_options options;
  plim_paging paging;
} paging_rig;

/* A training chain with a link that copies all of keep-all's arena in a tenth of its time. options.paging is NULL. */
void paging_rig_make(paging_rig *r, int32_t length, uint64_t seed);
void paging_rig_free(paging_rig *r);

#endif
