/* Inspects runs of plans with copies: converts such a plan to a plan over spaces, and compares its transfers with the
 * prediction. Functions run on the thread of the plan's context, and are deterministic. */
#ifndef PLIM_RUNTIME_INSPECT_PAGED_RUN_H
#define PLIM_RUNTIME_INSPECT_PAGED_RUN_H

#include "runtime/inspect/space_inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Convert a checked plan with copies to a plan over spaces, for plim_space_inspect. Its spaces are the arena and the
 * page spaces. Its queues have names as "cpu>disk", or "*>cpu" where
 * several links share one; queues without commands are left out. *out: free with
 * plim_space_plan_free. PLIM_ENOMEM. O(plan). */
PLIM_MUST_USE plim_status plim_paged_run_spaces(const plim_graph *graph, const plim_plan *plan, plim_space_plan **out);

/* The name of a space of the plan: "cpu" or "cuda" of the arena, else the page space's. Borrowed from the plan. O(1).
 *   space  in  0: the arena; up to plan->n_page_spaces */
const char *plim_paged_run_space_name(const plim_plan *plan, int32_t space);

/* A copy as it was predicted, and as it was measured in one training step. */
typedef struct plim_transfer {
  int32_t command, storage, from, to;       /* the command, its storage, source space and target space */
  int64_t bytes;                            /* of the storage */
  int64_t planned_begin_ns, planned_end_ns; /* by the simulator */
  int64_t begin_ns, end_ns;                 /* measured */
  int32_t waiter;                           /* the first run that waited for this copy, or PLIM_NONE */
  int64_t waited_ns;                        /* sum of the waiting times of all such runs */
} plim_transfer;

/* List the transfers of a plan, in the order of commands.
 *   begin_ns, time_ns, waited_ns  [n_commands]  in   of one training step (plim_exec_last_timeline)
 *   out                           [*n]       out  free with plim_release and *n; NULL without copies
 * A run waits for the copy among its waits that ends last. PLIM_ENOMEM. O(commands + waits). */
PLIM_MUST_USE plim_status plim_paged_run_transfers(const plim_graph *graph, const plim_plan *plan,
                                                   const int64_t *begin_ns, const int64_t *time_ns,
                                                   const int64_t *waited_ns, plim_transfer **out, int32_t *n);

/* Time of copies that computation did not hide in that step: the time for which runs waited while their copies, or
 * earlier copies on the same queues, ran. Other waiting times, as for a run of another device, do not count.
 * O(commands x copies). */
int64_t plim_paged_run_exposed(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns,
                               const int64_t *waited_ns);

/* Time of each run in that step during which copies to and from page spaces ran beside it, summed over these copies; 0
 * for copies.
 *   beside_ns  [n_commands]  out
 * PLIM_ENOMEM. O(commands log copies + runs x copies beside each). */
PLIM_MUST_USE plim_status plim_paged_run_beside(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns,
                                                int64_t *beside_ns);

/* The lag of each command in that step: from the end of the last command that it follows, on its queue or among its
 * waits, to its begin. A thread that waited wakes in that time. No lag is below 0.
 *   lag_ns  [n_commands]  out
 * O(commands + waits). */
void plim_paged_run_lag(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns, int64_t *lag_ns);

/* One command of a timed step. */
typedef struct plim_timed {
  int64_t time_ns, beside_ns, lag_ns; /* of the command; of the copies beside it; before it */
} plim_timed;

/* The delay by copies in some steps, as a multiple of the time of copies beside a run: 0 to PLIM_PAGE_DELAY_PERMILLE /
 * 1000. Let runs without copies beside them take r times their planned times. What the other runs take beyond r times
 * theirs is the delay. 0 where no copy ran beside a run, or one ran beside each.
 *   timed  [steps][n_commands]  in */
double plim_paged_run_delay(const plim_plan *plan, int32_t steps, const plim_timed *timed);

#ifdef __cplusplus
}
#endif
#endif
