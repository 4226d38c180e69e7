/* Runs over queues: who reads what, the pass that adds copies, list scheduling, and the search over devices. */
#ifndef PLIM_PLANNER_PAGING_QUEUE_SEARCH_H
#define PLIM_PLANNER_PAGING_QUEUE_SEARCH_H

#include "planner/paging/command_list.h"
#include "runtime/base/random.h"

/* ==== runs on queues (queue_decode.c, queue_order.c, queue_runs.c) ==== */

/* Runs with a device each, in an order, and the command list that they need: copies bring operands to where they are
 * read, and page out what does not fit. */

/* Runs of a plan of one arena, and who reads and writes what in them. */
typedef struct plim_queue_runs {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan; /* borrowed */
  int32_t n;             /* runs */
  int64_t *begin_ns;     /* [n + 1] one after another */
  int64_t n_accesses;
  int32_t *first; /* [n_storages + 1] into access */
  struct plim_run_access {
    int32_t run;
    int32_t reads, writes; /* both: an update */
  } * access;              /* by storage, then run */
} plim_queue_runs;

/* Find the runs of a plan that has one queue. O(plan). */
PLIM_MUST_USE plim_status plim_queue_runs_make(const plim_graph *graph, const plim_plan *plan, plim_queue_runs *out);
void plim_queue_runs_free(plim_queue_runs *runs);

/* Make the command list of the runs. Memory is treated as a cache: where a space has no room for what a run needs, the
 * buffer leaves whose next read is the latest for what its copies take.
 *   space   [n]  in      where each run is; a run that updates is in space 0, where persistent storages are at home
 *   noise        in      > 0: victims are chosen at random to that degree, drawn from `random`
 *   list    [1]  out     empty before
 *   fits    [1]  out     0: no room was found; the list is then incomplete
 * Uses are in the order of their commands. Packing may still ask for more than the budgets. O(runs x live buffers). */
PLIM_MUST_USE plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                            const int32_t *space, double noise, plim_random *random,
                                            plim_command_list *list, int32_t *fits);

/* Order the runs, and choose a device for each, by list scheduling on the spaces that compute: runs that others wait
 * for come first. Bytes are not looked at.
 *   fixed  [n]  in   1: the run is in space 0
 *   order  [n]  out  runs, by when they would begin; a run comes after all that it depends on
 *   space  [n]  out  where each run is
 * O(runs x those that are ready at once x operands). Deterministic. PLIM_ECANCEL: the effort is over. */
PLIM_MUST_USE plim_status plim_queue_order(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                           const uint8_t *fixed, int32_t *order, int32_t *space);

/* Choose a device for each run, in the order given: where it ends first, if copies never wait for each other.
 *   fixed  [n]  in   1: the run is in space 0
 *   space  [n]  out  where each run is
 * O(runs x operands x spaces^2). */
PLIM_MUST_USE plim_status plim_queue_place(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                           const uint8_t *fixed, int32_t *space);

/* ==== search (queue_search.c) ==== */

/* Search for the fastest checked plan that has the runs of `base`, with its recomputes and variants. `base` is a plan
 * of one arena of any size.
 *   options  in      budget_bytes, seed, iterations and paging are read
 *   best     in out  replaced (and freed) where a faster one is found; NULL: none yet
 * A plan that is not found is no failure. Deterministic without a deadline of the context. */
PLIM_MUST_USE plim_status plim_queue_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, const plim_plan *base,
                                            int64_t keep_all_ns, plim_plan **best);

#endif
