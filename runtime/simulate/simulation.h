/* A training step simulated within a budget without being computed: by an online policy or by a plan. */
#ifndef PLIM_RUNTIME_SIMULATE_SIMULATION_H
#define PLIM_RUNTIME_SIMULATE_SIMULATION_H

#include "planner/planner.h"
#include "runtime/arena/replay.h"
#include "runtime/online/ideal.h"

/* none: sums of bytes. arena: the arena decides while the step runs. packed: the plan has decided. */
typedef enum plim_simulation_addresses {
  PLIM_SIMULATE_BYTES,
  PLIM_SIMULATE_ARENA,
  PLIM_SIMULATE_PLANNED
} plim_simulation_addresses;

/* What the simulations of one graph share. */
typedef struct plim_simulation {
  plim_context *ctx;
  const plim_graph *graph;
  plim_profile *profile;
  plim_plan *order; /* program order, without addresses */
  double thrash;    /* limit on time spent recomputing, in times of the step */
} plim_simulation;

plim_status plim_simulation_open(plim_context *ctx, const plim_graph *graph, double thrash, plim_simulation *out);
void plim_simulation_close(plim_simulation *s);

/* What percentages are of. Graphs with a handle program: its peak; with addresses rounded, and with constants that
 * stay. Others: the peak of program order without addresses, keep-all bytes with them. */
plim_status plim_simulation_whole(const plim_simulation *s, plim_simulation_addresses addresses, int64_t *bytes);

/* Its name, for people. */
const char *plim_simulation_whole_name(const plim_simulation *s, plim_simulation_addresses addresses);

/* Bytes of "40%" (rounded down; with addresses to a multiple of PLIM_ALIGN) or "96MiB"; NULL: all. */
plim_status plim_simulation_budget(const plim_simulation *s, const char *memory, plim_simulation_addresses addresses,
                                   int64_t *bytes);

/* The limit on time spent recomputing, of a step that takes total_ns. */
int64_t plim_simulation_limit_ns(const plim_simulation *s, int64_t total_ns);

typedef struct plim_simulated {
  plim_online_end end;
  int64_t budget_bytes, arena_bytes; /* arena_bytes -1: no addresses */
  double overhead_percent;           /* of a run that ended */
  int64_t evictions, recomputes, searches, search_ns, scanned, depth;
  int64_t small_area_bytes, spills; /* area for small requests, 0: none; how many of them found it full */
  double fragmentation_percent;     /* mean over searches: free bytes of the arena's when room had to be made */
  const char *by;                   /* policy or planner whose result it is */
  plim_plan *plan;                  /* NULL: none */
} plim_simulated;

/* out->end says how it ended; a failure is none of the three ends. */
plim_status plim_simulation_online(const plim_simulation *s, const plim_policy *policy,
                                   plim_simulation_addresses addresses, int64_t budget_bytes, plim_simulated *out);
/* A budget above budget_bytes, within which the policy does not end, in which it does, by halving up to twice the peak
 * (-1: in none of these). There may be smaller ones: no policy is monotone. */
plim_status plim_simulation_enough(const plim_simulation *s, const plim_policy *policy,
                                   plim_simulation_addresses addresses, int64_t budget_bytes, int64_t *bytes);
plim_status plim_simulation_planned(const plim_simulation *s, const plim_plan_options *options,
                                    plim_simulation_addresses addresses, int64_t budget_bytes, plim_simulated *out);
/* Plans with addresses for budgets [n], ascending, through one curve: more bytes are never slower. out [n]. */
plim_status plim_simulation_sweep(const plim_simulation *s, const plim_plan_options *options, int32_t n,
                                  const int64_t *budget, plim_simulated *out);
void plim_simulated_free(plim_simulated *result);

#endif
