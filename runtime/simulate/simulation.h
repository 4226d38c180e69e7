/* Simulation: what an online policy, or a plan, makes of a step within a budget, without computing it.
 *
 * No device is needed, and no clock is read but for search_ns: results repeat, unless a plan has a time limit. A
 * simulation belongs to the thread of its context. */
#ifndef PLIM_RUNTIME_SIMULATE_SIMULATION_H
#define PLIM_RUNTIME_SIMULATE_SIMULATION_H

#include "planner/planner.h"
#include "runtime/arena/replay.h"
#include "runtime/online/ideal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who decides addresses.
 *   bytes    no one: what fits is a sum of bytes, as in the simulator of DTR. A policy needs a graph with handles.
 *   arena    the online arena decides them while the step runs. What a plan keeps and recomputes stays, its addresses
 *            do not; where a policy makes less of the step than the plan, the policy's result is taken.
 *   planned  the plan has decided. Not for policies. */
typedef enum plim_simulation_addresses {
  PLIM_SIMULATE_BYTES,
  PLIM_SIMULATE_ARENA,
  PLIM_SIMULATE_PLANNED
} plim_simulation_addresses;

/* What the simulations of one graph share. The fields are for reading. */
typedef struct plim_simulation {
  plim_context *ctx;
  const plim_graph *graph; /* borrowed */
  plim_profile *profile;   /* the times that the graph carries */
  plim_plan *order;        /* program order, without addresses */
  double thrash;           /* limit on time spent recomputing, in times of the step */
} plim_simulation;

/* Begin with a graph that carries the times of its ops, and must outlive the simulation.
 *   thrash  in  a result in which recomputing takes more than so many times the step's time ends as PLIM_ONLINE_THRASH
 * Nothing is to be closed when this fails. */
PLIM_MUST_USE plim_status plim_simulation_open(plim_context *ctx, const plim_graph *graph, double thrash,
                                               plim_simulation *out);
void plim_simulation_close(plim_simulation *simulation);

typedef struct plim_simulate_options {
  size_t struct_bytes; /* sizeof(plim_simulate_options) */
  plim_simulation_addresses addresses;
  const plim_policy *policy;  /* the online policy that decides; NULL: a plan is made */
  plim_plan_options planning; /* of the plan; read: all but budget_bytes and unpacked */
  int64_t budget_bytes;       /* INT64_MAX: plim_simulation_whole */
} plim_simulate_options;

/* Planned addresses, no policy, planning as plim_plan_options_default has it, all bytes. */
plim_simulate_options plim_simulate_options_default(void);

/* What came of a step. */
typedef struct plim_simulated {
  plim_online_end end;
  int64_t budget_bytes, arena_bytes; /* arena_bytes -1: no addresses */
  double overhead_percent;           /* of a run that ended */
  int64_t evictions, recomputes, searches, search_ns, scanned, depth;
  int64_t small_area_bytes, spills; /* area for small requests, 0: none; how many of them found it full */
  double fragmentation_percent;     /* mean over searches: free bytes of the arena's when room had to be made */
  const char *by;                   /* policy or planner whose result it is; a static text or planning.planner */
  plim_plan *plan;                  /* that passes plim_plan_check; NULL: none */
} plim_simulated;

/* Simulate the step. A budget that does not do is a result (out->end), not a failure. Free with plim_simulated_free.
 * PLIM_EUSAGE: planned addresses with a policy, or bytes with a policy and a graph without handles. Else the errors of
 * plim_plan_make. */
PLIM_MUST_USE plim_status plim_simulate(const plim_simulation *simulation, const plim_simulate_options *options,
                                        plim_simulated *out);
void plim_simulated_free(plim_simulated *result); /* what it owns; twice is legal */

/* Plans with addresses through one plan front, so that more bytes are never slower.
 *   options  [1]  in   of the plans; budget_bytes is not read
 *   budget   [n]  in   bytes, ascending
 *   out      [n]  out  free each with plim_simulated_free */
PLIM_MUST_USE plim_status plim_simulation_sweep(const plim_simulation *simulation, const plim_plan_options *options,
                                                int32_t n, const int64_t *budget, plim_simulated *out);

/* A budget above budget_bytes, within which the policy does not end, in which it does, by halving up to twice the
 * whole; -1: in none of these. Smaller ones may exist: no policy is monotone. */
PLIM_MUST_USE plim_status plim_simulation_enough(const plim_simulation *simulation, const plim_policy *policy,
                                                 plim_simulation_addresses addresses, int64_t budget_bytes,
                                                 int64_t *bytes);

/* What percentages are of. Graphs with a handle program: its peak; with addresses rounded, and with constants that
 * stay. Others: the peak of program order without addresses, keep-all bytes with them. And its name, for people; a
 * static text. */
PLIM_MUST_USE plim_status plim_simulation_whole(const plim_simulation *simulation, plim_simulation_addresses addresses,
                                                int64_t *bytes);
const char *plim_simulation_whole_name(const plim_simulation *simulation, plim_simulation_addresses addresses);

/* Bytes of "40%" (rounded down; with addresses to a multiple of PLIM_ALIGN) or "96MiB"; NULL: all. */
PLIM_MUST_USE plim_status plim_simulation_budget(const plim_simulation *simulation, const char *memory,
                                                 plim_simulation_addresses addresses, int64_t *bytes);

/* The limit on time spent recomputing, of a step that takes total_ns. */
int64_t plim_simulation_limit_ns(const plim_simulation *simulation, int64_t total_ns);

#ifdef __cplusplus
}
#endif
#endif
