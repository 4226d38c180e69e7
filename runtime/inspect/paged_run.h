/* Runs of plans with copies, to look at: such a plan as a plan over spaces, and its transfers beside what was planned.
 */
#ifndef PLIM_RUNTIME_INSPECT_PAGED_RUN_H
#define PLIM_RUNTIME_INSPECT_PAGED_RUN_H

#include "runtime/inspect/space_inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A checked plan with copies as a plan over spaces, for plim_space_inspect: the arena, then its page spaces; queues
 * with names as in "cpu>disk". O(plan). */
PLIM_MUST_USE plim_status plim_paged_run_spaces(const plim_graph *graph, const plim_plan *plan, plim_space_plan **out);

/* A copy as it was planned, and as it was measured in one training step. */
typedef struct plim_transfer {
  int32_t command, storage, from, to;       /* the command, what it copies, spaces */
  int64_t bytes;                            /* of the storage */
  int64_t planned_begin_ns, planned_end_ns; /* by the simulator */
  int64_t begin_ns, end_ns;                 /* measured */
  int32_t waiter;    /* the first run that began when this copy had ended, and waited for it; -1 */
  int64_t waited_ns; /* by all such runs */
} plim_transfer;

/* The transfers of a plan, in the order of commands.
 *   begin_ns, time_ns, waited_ns  [n_commands]  in   of one training step (plim_exec_last_timeline)
 *   out                           [*n]       out  plim_release with *n frees it; NULL without copies
 * A run that waited did so for the copy among its waits that ended last. O(commands + waits). */
PLIM_MUST_USE plim_status plim_paged_run_transfers(const plim_graph *graph, const plim_plan *plan,
                                                   const int64_t *begin_ns, const int64_t *time_ns,
                                                   const int64_t *waited_ns, plim_transfer **out, int32_t *n);

/* Time of copies that compute did not hide in that step: runs waited while these copies ran, or others before them on
 * their queue. What a run waits for beside, as for a run of another device, is not in it. O(commands x copies). */
int64_t plim_paged_run_exposed(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns,
                               const int64_t *waited_ns);

#ifdef __cplusplus
}
#endif
#endif
