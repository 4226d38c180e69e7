/* Plans over spaces and queues: recompute, paging and placement, by local search or integer programming.
 *
 *   search   least time, sum of times or energy, without a solver, for graphs of any size. Programs begin with its
 *            plan, and end with it where the solver ends without a better one
 *   poet     least energy, recompute and paging of one device; the deadline bounds compute. Patil et al., ICML 2022
 *   xengine  least sum of times, recompute and placement on several devices, a budget each. Schuler et al., ACM TACO
 *            2022, with memory counted by device
 *   milp     least time or energy; recompute, paging and placement over any spaces, copies beside compute */
#ifndef PLIM_PLANNER_SPACES_SPACE_MAKE_H
#define PLIM_PLANNER_SPACES_SPACE_MAKE_H

#include "runtime/graph/space/platform.h"
#include "runtime/graph/space/space_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A planner of one arena, which this folder does not see: a plan of the graph whose peak is within budget_bytes and
 * whose sum of costs is small, each run of an op at `cost` [n_ops]; plim_one_arena_plan
 * (planner/one_arena/arena_plan.h). *out NULL: it found none. */
typedef plim_status plim_space_one_arena(const plim_graph *graph, const int64_t *cost, int64_t budget_bytes,
                                         int64_t time_limit_ns, int32_t threads, plim_plan **out);

typedef struct plim_space_options {
  size_t struct_bytes;            /* sizeof(plim_space_options); another: PLIM_EUSAGE */
  const char *planner;            /* NULL: search */
  int32_t objective;              /* a plim_objective; -1: the planner's own */
  int32_t page, recompute, place; /* 0: not allowed */
  const int64_t *budget;          /* [platform->n_spaces] bytes, INT64_MAX: none; NULL: those of the platform */
  double deadline_factor;         /* > 0: so many times keep-all on the fastest device */
  int64_t deadline_ns;            /* INT64_MAX: none */
  int64_t time_limit_ns;          /* 0: none; but a solver ends two minutes after the call began */
  /* Planner search: rounds of local search. The others: nodes of the solver's tree after its first one, which the time
   * alone bounds. 0: rounds by the number of ops; any number of nodes. */
  int64_t iterations;
  int32_t threads;
  /* Plans of the same graph and links, for any budgets, times and deadline: their commands are tried here, and the plan
   * is no worse than what fits of them. So plans for growing budgets or bandwidths, each of which knows those before
   * it, never grow worse. NULL: none. */
  const plim_space_plan *const *known; /* [n_known] a NULL is left out */
  int32_t n_known;
  int32_t together; /* 0: each copy carries one storage; of planners poet and xengine it always does */
  /* Its plan is a first one of planner search, where one device alone may be used and the graph has 1,000 ops or more.
   * NULL: none. */
  plim_space_one_arena *one_arena;
  /* Folder of plans that are kept between runs. "": the user's cache folder. NULL: none. With a folder, earlier plans
   * of the graph are known too, for devices, spaces and links of the same names, 32 at most: so no call for no fewer
   * bytes and no slower links has a worse plan than one before it. A folder that cannot be read or written is no
   * failure. */
  const char *front_folder;
} plim_space_options;

plim_space_options plim_space_options_default(void);

/* The planners, in order: name and source of row i, NULL after the last. */
const char *plim_space_planner_name(int32_t row);
const char *plim_space_planner_source(int32_t row);

/* What the integer program says beside the plan; infinite where none was solved, or where it has no point of interest.
 */
typedef struct plim_space_outcome {
  double model_objective; /* of the program, in ns or joule; the plan may be better: it leaves out what nothing needs */
  double model_bound;
  int32_t n_columns, n_rows;
  int32_t cut_short; /* with PLIM_ENOFIT, 1: the effort was over first, so that more of it may find a plan */
} plim_space_outcome;

/* Make a plan and check it. outcome may be NULL; it is set with PLIM_OK and PLIM_ENOFIT. PLIM_EUSAGE: an unknown
 * planner, an objective that it has not, a graph too large for its integer program, an op whose inputs no link brings
 * to a device that runs it. PLIM_EDATA: graph and platform do not suit. PLIM_ENOFIT, with the smallest budgets that
 * have a plan, when there is none. PLIM_EUNSUPPORTED without a solver, where one is needed. PLIM_ECANCEL when nothing
 * was found before a cancel. */
PLIM_MUST_USE plim_status plim_space_plan_make(plim_context *ctx, const plim_graph *graph,
                                               const plim_platform *platform, const plim_space_options *options,
                                               plim_space_outcome *outcome, plim_space_plan **out);

/* Plans for several budgets of one space; those of the others are options->budget.
 *   space   in        whose budgets they are
 *   budget  [n]  in   bytes, ascending
 *   plan    [n]  out  NULL where none was found
 * Each search knows the plans before it, so that a larger budget never has a worse plan. options->iterations is for
 * each budget, options->time_limit_ns for all of them. A cancel is no failure: the budgets that are left get what is
 * known of others, with a bound that holds of all budgets. After a failure each plan[i] is NULL. PLIM_EUSAGE: budgets
 * that descend, or no such space. Else as plim_space_plan_make, but PLIM_ENOFIT. */
PLIM_MUST_USE plim_status plim_space_plan_front(plim_context *ctx, const plim_graph *graph,
                                                const plim_platform *platform, const plim_space_options *options,
                                                int32_t space, int32_t n, const int64_t *budget,
                                                plim_space_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
