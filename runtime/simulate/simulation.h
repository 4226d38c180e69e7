/* Simulates a step within a budget under an online policy, or by a plan, without computing it.
 *
 * No device is needed. Results are deterministic, except for search_ns and for plans with a time limit. A simulation
 * belongs to the thread of its context. */
#ifndef PLIM_RUNTIME_SIMULATE_SIMULATION_H
#define PLIM_RUNTIME_SIMULATE_SIMULATION_H

#include "planner/planner.h"
#include "runtime/arena/replay_search.h"
#include "runtime/simulate/ideal_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How addresses are decided.
 *   bytes    there are none: only the sum of bytes must fit, as in the simulator of DTR. A policy needs a graph with
 *            handles.
 *   arena    the online arena decides them while the step runs. It replays the schedule of a plan, but not the plan's
 *            addresses. When a policy is faster than the plan, the policy's result is taken.
 *   planned  the plan decides them. Not for policies. */
typedef enum plim_simulation_addresses {
  PLIM_SIMULATE_BYTES,
  PLIM_SIMULATE_ARENA,
  PLIM_SIMULATE_PLANNED
} plim_simulation_addresses;

/* Data that all simulations of one graph share. The fields are only to be read. */
typedef struct plim_simulation {
  plim_context *ctx;
  const plim_graph *graph; /* borrowed */
  plim_profile *profile;   /* the times of the graph's own costs */
  plim_plan *order;        /* program order, without addresses */
  double thrash;           /* limit of the time of recomputations, as a multiple of the step's time */
} plim_simulation;

/* Open a simulation of a graph that carries the times of its ops. The graph must outlive the simulation.
 *   thrash  in  limit of the time of recomputations, as a multiple of the step's time; a result above it ends as
 *               PLIM_ONLINE_THRASH
 * Makes program order, so costs as much as plim_plan_keep_all. When this fails, *out needs no close. */
PLIM_MUST_USE plim_status plim_simulation_open(plim_context *ctx, const plim_graph *graph, double thrash,
                                               plim_simulation *out);
void plim_simulation_close(plim_simulation *simulation);

typedef struct plim_simulate_options {
  size_t struct_bytes; /* sizeof(plim_simulate_options) */
  plim_simulation_addresses addresses;
  const plim_policy *policy;  /* the online policy that decides; NULL: a plan is made */
  plim_plan_options planning; /* options of the plan; budget_bytes and unpacked are not read */
  int64_t budget_bytes;       /* PLIM_BYTES_UNLIMITED: plim_simulation_whole */
} plim_simulate_options;

/* Planned addresses, no policy, the default planning options, and the whole memory as the budget. */
plim_simulate_options plim_simulate_options_default(void);

/* The result of a simulated step. */
typedef struct plim_simulated {
  plim_online_end end;
  int64_t budget_bytes, arena_bytes; /* arena_bytes PLIM_NONE: no addresses */
  double overhead_percent;           /* of a run that reached its end */
  int64_t evictions, recomputes, searches, search_ns, scanned, depth;
  int64_t small_area_bytes, spills; /* area for small requests, 0: none; number of them that found it full */
  double fragmentation_percent;     /* free share of the budget when room had to be made, mean over the searches */
  const char *by;                   /* policy or planner whose result it is; a static text or planning.planner */
  plim_plan *plan;                  /* passes plim_plan_check; NULL: none */
} plim_simulated;

/* Simulate the step. A budget that is too small is a result (out->end), not a failure. Free with plim_simulated_free.
 * PLIM_EUSAGE: planned addresses with a policy, or bytes with a policy and a graph without handles. Other errors are
 * those of plim_plan_make. */
PLIM_MUST_USE plim_status plim_simulate(const plim_simulation *simulation, const plim_simulate_options *options,
                                        plim_simulated *out);
void plim_simulated_free(plim_simulated *result); /* frees the plan; a second call does nothing */

/* Make plans with addresses for several budgets through one plan front, so that a larger budget is never slower.
 *   options  [1]  in   options of the plans; budget_bytes is not read
 *   budget   [n]  in   bytes, ascending
 *   out      [n]  out  free each with plim_simulated_free */
PLIM_MUST_USE plim_status plim_simulation_sweep(const plim_simulation *simulation, const plim_plan_options *options,
                                                int32_t n, const int64_t *budget, plim_simulated *out);

/* Find a budget within which the policy ends, given that it does not end within budget_bytes. The search halves the
 * range up to twice the whole. *bytes is PLIM_NONE when the policy ends within no budget tried. A smaller budget may
 * exist, since no policy is monotone. */
PLIM_MUST_USE plim_status plim_simulation_enough(const plim_simulation *simulation, const plim_policy *policy,
                                                 plim_simulation_addresses addresses, int64_t budget_bytes,
                                                 int64_t *bytes);

/* Bytes of which a budget in percent is a share. For a graph with a handle program they are the program's peak; with
 * addresses its sizes are rounded and its constants stay. For other graphs they are the peak of program order without
 * addresses, and keep-all's bytes with them. The second function returns the name of these bytes, a static text for
 * people. */
PLIM_MUST_USE plim_status plim_simulation_whole(const plim_simulation *simulation, plim_simulation_addresses addresses,
                                                int64_t *bytes);
const char *plim_simulation_whole_name(const plim_simulation *simulation, plim_simulation_addresses addresses);

/* Convert a budget such as "40%" or "96MiB" to bytes, rounded down, with addresses to a multiple of PLIM_ALIGN.
 *   memory  in  NULL: the whole
 * PLIM_EUSAGE: not a size, or more than 63 bits. Other errors are those of plim_simulation_whole. */
PLIM_MUST_USE plim_status plim_simulation_budget(const plim_simulation *simulation, const char *memory,
                                                 plim_simulation_addresses addresses, int64_t *bytes);

/* Limit of the time of recomputations for a step that takes total_ns. */
int64_t plim_simulation_limit_ns(const plim_simulation *simulation, int64_t total_ns);

#ifdef __cplusplus
}
#endif
#endif
