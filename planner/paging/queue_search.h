/* Devices and copies for the runs of a plan of one arena. */
#ifndef PLIM_PLANNER_PAGING_QUEUE_SEARCH_H
#define PLIM_PLANNER_PAGING_QUEUE_SEARCH_H

#include "planner/paging/command_list.h"
#include "runtime/base/random.h"

/* ==== runs on queues ==== */

/* Runs with a device each, in an order, and the command list that they need: copies bring operands to where they are
 * read, and page out what does not fit. */

/* Spaces, those that compute, and what a copy takes. Space 0 is the arena. */
typedef struct plim_queue_spaces {
  int32_t n;
  int32_t computes[PLIM_PAGE_SPACES + 1];
  int64_t budget_bytes[PLIM_PAGE_SPACES + 1];
  int32_t run_queue[PLIM_PAGE_SPACES + 1]; /* of those that compute */
  int32_t copy_queue[PLIM_PAGE_SPACES + 1][PLIM_PAGE_SPACES + 1];
  int64_t latency_ns[PLIM_PAGE_SPACES + 1][PLIM_PAGE_SPACES + 1];
  double bytes_per_ns[PLIM_PAGE_SPACES + 1][PLIM_PAGE_SPACES + 1]; /* 0: no link */
  plim_page_space page[PLIM_PAGE_SPACES];                          /* [n - 1] as the plan has them */
} plim_queue_spaces;

/* Those of options->paging: the arena, that of the second device, the page space, as far as they are there. */
void plim_queue_spaces_make(const plim_plan_options *options, plim_queue_spaces *s);

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

/* The plan has one queue. O(plan). */
PLIM_MUST_USE plim_status plim_queue_runs_make(const plim_graph *graph, const plim_plan *plan, plim_queue_runs *out);
void plim_queue_runs_free(plim_queue_runs *runs);

int64_t plim_queue_copy_ns(const plim_queue_spaces *spaces, int32_t from, int32_t to, int64_t bytes);

/* The command list of the runs; memory as a cache: where a space has no room for what a run needs, the buffer that is
 * read again last for its copies leaves it.
 *   space   [n]  in      where each run is; a run that updates is in space 0, where persistent storages are at home
 *   noise        in      > 0: victims are chosen at random to that degree, drawn from `random`
 *   list    [1]  out     empty before
 *   fits    [1]  out     0: no room was found; the list is then incomplete
 * Uses are in the order of their commands. Packing may still ask for more than the budgets. O(runs x live buffers). */
PLIM_MUST_USE plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                            const int32_t *space, double noise, plim_random *random,
                                            plim_command_list *list, int32_t *fits);

/* An order of the runs, and a device for each, in which those that others wait for come first: list scheduling on the
 * spaces that compute. Bytes are not looked at.
 *   fixed  [n]  in   1: the run is in space 0
 *   order  [n]  out  runs, by when they would begin; a run comes after all that it depends on
 *   space  [n]  out  where each run is
 * O(runs x those that are ready at once x operands). Deterministic. PLIM_ECANCEL: the effort is over. */
PLIM_MUST_USE plim_status plim_queue_order(const plim_queue_runs *runs, const plim_queue_spaces *spaces,
                                           const uint8_t *fixed, int32_t *order, int32_t *space);

/* ==== lowering ==== */

/* No plan takes less: keep-all's time, or on two devices the longest chain of ops or half of all, if that is longer. */
PLIM_MUST_USE plim_status plim_queue_bound(const plim_graph *graph, const plim_profile *profile,
                                           const plim_paging *paging, int64_t keep_all_ns, int64_t *bound_ns);

typedef struct plim_queue_lowering {
  const plim_paging *paging; /* what a better plan is */
  const plim_queue_spaces *spaces;
  const plim_plan *base;  /* its variants, and what else plim_plan_from_parts reads of a draft */
  const char *name, *how; /* of the plan: its planner is both */
  int64_t keep_all_ns, bound_ns;
  int32_t unspread; /* 1: the order of the list itself is tried too, and the faster plan taken */
} plim_queue_lowering;

/* The plan of a command list, checked, with copies spread as far as every space then packs.
 *   fits  out  0: no packing was found, and no plan is made
 *   out   out  untouched where it does not fit */
PLIM_MUST_USE plim_status plim_queue_lower(const plim_queue_lowering *lowering, plim_command_list *list, int *fits,
                                           plim_plan **out);

/* ==== search ==== */

/* The fastest checked plan found whose runs are those of `base`, a plan of one arena of whatever size, with its
 * recomputes and variants.
 *   options  in      budget_bytes, seed, iterations and paging are read
 *   best     in out  replaced (and freed) where a faster one is found; NULL: none yet
 * A plan that is not found is no failure. Deterministic without a deadline of the context. */
PLIM_MUST_USE plim_status plim_queue_search(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                            const plim_plan_options *options, const plim_plan *base,
                                            int64_t keep_all_ns, plim_plan **best);

#endif
