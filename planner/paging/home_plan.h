/* Plans in which what persists is at home in the page space. */
#ifndef PLIM_PLANNER_PAGING_HOME_PLAN_H
#define PLIM_PLANNER_PAGING_HOME_PLAN_H

#include "planner/paging/page_plan.h"

/* Which storages are at home in the page space: optimizer state that only its update touches, or that a step without
 * updates does not touch. With `params` also parameters, but not small ones. With paging->beside: storages that are at
 * home there in that plan and that this step does not update. */

typedef enum plim_home { PLIM_HOME_ARENA, PLIM_HOME_STATE, PLIM_HOME_PARAM } plim_home;

/* The graph that is planned in place of another one. It lacks the storages that are at home in the page space. */
typedef struct plim_home_graph {
  plim_context *ctx;
  const plim_graph *whole;
  plim_graph *graph;     /* without them */
  plim_profile *profile; /* of `graph` */
  plim_home *home;       /* [whole->n_storages] */
  int32_t *storage;      /* [graph->n_storages] of `whole`; -1: a mark in place of a parameter */
  int32_t *op;           /* [graph->n_ops] of `whole`; -1: "home in" */
  int32_t *fetched;      /* [graph->n_ops] the parameter whose bytes "home in" writes; -1: an op of `whole` */
} plim_home_graph;

/* Make it from the whole graph. O(graph). */
PLIM_MUST_USE plim_status plim_home_graph_make(plim_context *ctx, const plim_paging *paging, const plim_graph *whole,
                                               const plim_profile *profile, int params, plim_home_graph **out);
void plim_home_graph_free(plim_home_graph *graph); /* NULL is legal */

/* The bytes of the states that an op of the whole graph updates and that are at home in the page space. */
int64_t plim_home_away_bytes(const plim_home_graph *graph, int32_t op);

/* The bytes that storages at home there take in the page space. */
int64_t plim_home_bytes(const plim_paging *paging, const plim_graph *graph, int params);

/* Make a plan in which these storages are at home in the space of options->paging. A copy brings each of them in before
 * an op reads or updates it, and another one takes it out after the update.
 *   task      in  has a keep-all plan; the plan gets its keep_all_ns and its bound_ns. It has a space, and no second
 *                 device
 *   known_ns  in  passed to `make`
 *   params    in  1: parameters too
 *   make      in  plans the rest. With paging->homes ALWAYS or PARAMS the rest does not page
 * PLIM_ENOFIT: no plan was found. */
PLIM_MUST_USE plim_status plim_home_make(const plim_paging_task *task, int64_t known_ns, int params,
                                         plim_plan_maker *make, plim_plan **out);

#endif
