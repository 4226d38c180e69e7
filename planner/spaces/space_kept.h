/* Plans over spaces that are kept between calls. */
#ifndef PLIM_PLANNER_SPACES_SPACE_KEPT_H
#define PLIM_PLANNER_SPACES_SPACE_KEPT_H

#include "planner/spaces/space_make.h"
#include "runtime/base/cache.h"

enum { PLIM_SPACE_KEPT = 32 /* plans that a call reads, at most: those used last */ };

typedef struct plim_space_kept {
  plim_context *ctx;
  char path[PLIM_CACHE_PATH_BYTES]; /* of the plan of this call; "": nothing is kept */
  int32_t n, n_known, room_known;
  plim_space_plan *plan[PLIM_SPACE_KEPT]; /* [n] read, and proved by the checker */
  const plim_space_plan **known;          /* [n_known] those of the options, then those read */
} plim_space_kept;

/* Read the plans of the graph for devices, spaces and links of the same names. Their rates may be others, and so may
 * budgets, deadline and objective. A file that cannot be read, or is wrong in any way, is left out. Read of `options`:
 * folder, known, and what the plan depends on. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_space_kept_open(const plim_graph *graph, const plim_platform *platform,
                                               const plim_space_options *options, plim_space_kept *out);

/* Keep the plan in place of the last one for the same rates, budgets, deadline and switches. A folder that cannot be
 * written is no failure. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_space_kept_save(const plim_space_kept *kept, const plim_space_plan *plan);

void plim_space_kept_close(plim_space_kept *kept); /* {0} is legal */

#endif
