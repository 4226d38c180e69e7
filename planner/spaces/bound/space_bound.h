/* A lower bound on the objective of every plan over spaces, whatever its order, repeats, copies and devices. Callers
 * need plim_space_bound alone; its parts follow: cuts, their relaxation by multipliers, what placement costs. */
#ifndef PLIM_PLANNER_SPACES_BOUND_SPACE_BOUND_H
#define PLIM_PLANNER_SPACES_BOUND_SPACE_BOUND_H

#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/search/space_search.h"
#include "runtime/base/array.h"

/* ==== the bound (space_bound.c) ==== */

/* Read of `options`: objective, page, recompute, place, budget, deadline. No plan that they allow has a lower objective
 * than *out. 0 <= *out; 0 for graphs of more than 20,000 nodes. Deterministic unless a deadline of the context is over:
 * then what is proved so far. O(nodes^2 + rounds x cuts x nodes). */
PLIM_MUST_USE plim_status plim_space_bound(const plim_space_problem *problem, const plim_space_search_options *options,
                                           double *out);

/* ==== cuts (space_bound_cuts.c) ==== */

/* A node that may be brought for a row. */
typedef struct plim_space_cut_entry {
  int32_t node, gap; /* gap -1: any of the node's */
} plim_space_cut_entry;

/* The rows of the model: row r asks for demand[r] bytes of its entries. */
typedef struct plim_space_cuts {
  plim_context *ctx;
  plim_block block; /* of the arrays but `entry` */
  int32_t n_gaps, n_rows;
  int32_t *first_gap;          /* [nodes + 1] gaps of a node */
  int64_t *demand;             /* [n_rows] */
  int32_t *first_entry;        /* [n_rows + 1] */
  plim_space_cut_entry *entry; /* [first_entry[n_rows]] */
  int64_t n_entries;           /* allocated */
} plim_space_cuts;

/* Find gaps, and the cuts that ask for most.
 *   home_bytes  in   of all budgets of H; INT64_MAX: no row asks for anything, and there is none
 *   in_time     out  0: the effort was over first, and `out` is not complete
 * Free it also after a failure. O(nodes^2 / 64 x degree + cuts x nodes). */
PLIM_MUST_USE plim_status plim_space_cuts_make(const plim_space_problem *problem, int64_t home_bytes,
                                               plim_space_cuts *out, int32_t *in_time);
void plim_space_cuts_free(plim_space_cuts *cuts); /* {0} is legal */

/* ==== relaxation (space_bound_relaxed.c) ==== */

/* The model with a multiplier in place of each row and queue: it falls apart into a choice for each node. */
typedef struct plim_space_relaxed {
  const plim_space_problem *problem;
  const plim_space_search_options *options;
  plim_space_cuts cuts;
  plim_block block;       /* of the arrays */
  int32_t devices;        /* the first `devices` devices may be used */
  int32_t n_queues;       /* of these, then of links into H and out of it */
  int32_t *link_queue;    /* [n_links] -1: brings nothing into or out of H */
  double scale, scale_ns; /* of objective and time */
  double time_cost;       /* of the makespan in the objective, a nanosecond */
  int32_t n;              /* multipliers: of rows, then of queues */
  double *multiplier;     /* [n] scaled, >= 0 */
  double *slope;          /* [n] of the bound along each multiplier */
  double *worth;          /* [n_gaps] of bringing a node in a gap */
  double *any;            /* [nodes] in any gap */
  uint8_t *brought;       /* [n_gaps] */
  double *load;           /* [n_queues] ns */
} plim_space_relaxed;

/* Make it, with cuts and with multipliers of 0. *in_time as above. Free it also after a failure. */
PLIM_MUST_USE plim_status plim_space_relaxed_make(const plim_space_problem *problem,
                                                  const plim_space_search_options *options, plim_space_relaxed *out,
                                                  int32_t *in_time);
void plim_space_relaxed_free(plim_space_relaxed *relaxed);

/* The bound that the multipliers prove. Sets their slopes. O(entries + gaps + nodes x (devices + links)). */
double plim_space_relaxed_evaluate(plim_space_relaxed *relaxed);

/* ==== placement (space_bound_placement.c) ==== */

/* The part of the bound that counts copies between devices: *out rises where that bound is higher. The same errors;
 * O(edges x devices^2). */
PLIM_MUST_USE plim_status plim_space_bound_placement(const plim_space_problem *problem,
                                                     const plim_space_search_options *options, double *out);

/* The least share of a copy's time that is the node's own: several storages may share the latency. */
double plim_space_least_copy_ns(const plim_space_problem *problem, int32_t node, int32_t link);

#endif
