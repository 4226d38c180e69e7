/* A graph on a platform as a planning problem, and budgets for its spaces. */
#ifndef PLIM_PLANNER_SPACES_PROBLEM_SPACE_PROBLEM_H
#define PLIM_PLANNER_SPACES_PROBLEM_SPACE_PROBLEM_H

#include "runtime/base/text.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/space/platform.h"

/* ==== problem (space_problem.c) ==== */

/* Planning over spaces: a graph on a platform, as models see it. An op is a node with one output; what it takes in time
 * and energy on each device, and what its output takes on each link. */

typedef struct plim_space_node {
  int32_t storage;
  int64_t bytes;
  int64_t workspace; /* bytes beside inputs and output while it runs, where the device computes */
  int32_t once;      /* 1: of class once, never repeated */
  int32_t n_preds, n_succs;
  const int32_t *pred, *succ; /* nodes, ascending */
} plim_space_node;

typedef struct plim_space_problem {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_platform *platform;
  int32_t n, n_edges;
  plim_space_node *node; /* [n] */
  int64_t *run_ns;       /* [n][n_devices] -1: not there */
  double *run_joule;     /* the same; read where has_energy */
  int64_t *copy_ns;      /* [n][n_links] -1: the link does not take it */
  double *copy_joule;
  int32_t has_energy;
  int64_t fastest_ns;  /* every op once on the device where it is fastest */
  int64_t device_ns;   /* keep-all on the fastest single device; INT64_MAX: none runs every op */
  double device_joule; /* its energy there, without idle power */
  int64_t bytes_unit;  /* > 0, divides the bytes and workspaces of all nodes */
  int32_t *ids;        /* owned: preds and succs */
  int64_t n_ids;
} plim_space_problem;

/* A problem of n nodes, whose figures are all 0, with room for the preds and succs that the graph's ops have. */
PLIM_MUST_USE plim_status plim_space_problem_new(const plim_graph *graph, const plim_platform *platform, int32_t n,
                                                 plim_space_problem **out);

/* Make the problem of a graph on a platform.
 *   needs_energy  in  1: PLIM_EDATA, with what is missing, where the energy of an op is not known
 * PLIM_EUSAGE: no link brings the inputs of an op to a device that runs it. PLIM_EDATA: an op updates something or has
 * several outputs, no device runs an op, or a time is not known. */
PLIM_MUST_USE plim_status plim_space_problem_make(const plim_graph *graph, const plim_platform *platform,
                                                  int needs_energy, plim_space_problem **out);
/* PLIM_EOVERFLOW: fastest_ns is so large that times of plans cannot be added up. */
PLIM_MUST_USE plim_status plim_space_problem_check_times(const plim_space_problem *problem);
/* Peak of program order: what percentages of a budget are of. An output that nothing reads stays, as in the models. */
int64_t plim_space_keep_all_bytes(const plim_graph *graph);
/* The most that one op needs: what it reads and writes, and its workspace. No budget is smaller. O(operands). */
int64_t plim_space_least_bytes(const plim_graph *graph);

void plim_space_problem_free(plim_space_problem *problem); /* NULL is legal */

/* What stands after a time in a sentence: " ns", or "" where times are in the unit of the graph's file. */
const char *plim_space_time_unit(const plim_space_problem *problem);

/* May the copy of a node's output along a link travel with others? It may where latency and bandwidth of the link give
 * its time, and not where the graph does. */
int plim_space_can_join(const plim_space_problem *problem, int32_t node, int32_t link);

/* What one copy of so many bytes takes along a link, whatever the number of its storages. PLIM_EDATA for a time above
 * 60 bits. */
PLIM_MUST_USE plim_status plim_space_joint_copy(const plim_space_problem *problem, int32_t link, int64_t bytes,
                                                int64_t *time_ns, double *joule);

static inline int64_t plim_space_run_ns(const plim_space_problem *p, int32_t node, int32_t device) {
  return p->run_ns[(int64_t)node * p->platform->n_devices + device];
}
static inline double plim_space_run_joule(const plim_space_problem *p, int32_t node, int32_t device) {
  return p->run_joule[(int64_t)node * p->platform->n_devices + device];
}
static inline int64_t plim_space_copy_ns(const plim_space_problem *p, int32_t node, int32_t link) {
  return p->copy_ns[(int64_t)node * p->platform->n_links + link];
}
static inline double plim_space_copy_joule(const plim_space_problem *p, int32_t node, int32_t link) {
  return p->copy_joule[(int64_t)node * p->platform->n_links + link];
}

/* ==== budgets (space_budget.c) ==== */

/* Budgets by space: as people write them, and what they leave room for. */

/* "ram=64MiB,sd=1GiB", percentages of keep-all bytes, or one size without a name for the first device's space.
 *   whole   bytes that percentages are of
 *   budget  [platform->n_spaces]  in out  those that are not named stay
 * PLIM_EUSAGE, with the spaces that there are, for one that is not there, and for one that is named twice. */
PLIM_MUST_USE plim_status plim_space_budget_parse(const plim_platform *platform, const char *text, int64_t whole,
                                                  int64_t *budget);

/* The budgets as they were given, "ram=1000,sd=2000", or "unlimited memory". */
void plim_space_name_budgets(plim_text *text, const plim_platform *platform, const int64_t *budget);

/* 1 when the device runs the node, and its inputs, output and workspace fit together where the device computes. */
int plim_space_has_room(const plim_space_problem *problem, const int64_t *budget, int32_t node, int32_t device);

#endif
