/* Plans in which what persists is at home in the page space. */
#ifndef PLIM_PLANNER_PAGING_HOME_PLAN_H
#define PLIM_PLANNER_PAGING_HOME_PLAN_H

#include "planner/paging/page_plan.h"

/* Storages that are at home in the page space: optimizer state that its update alone touches, or nothing in a step that
 * updates nothing; and with `params` parameters, but small ones. With paging->beside: those that are at home there in
 * that plan, and that this step does not update. */

typedef enum plim_home { PLIM_HOME_ARENA, PLIM_HOME_STATE, PLIM_HOME_PARAM } plim_home;

/* A graph, and the one that is planned in its place. */
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

/* O(graph). */
PLIM_MUST_USE plim_status plim_home_graph_make(plim_context *ctx, const plim_paging *paging, const plim_graph *whole,
                                               const plim_profile *profile, int params, plim_home_graph **out);
void plim_home_graph_free(plim_home_graph *graph); /* NULL is legal */

/* Bytes of states at home elsewhere that an op of the whole graph updates. */
int64_t plim_home_away_bytes(const plim_home_graph *graph, int32_t op);

/* Bytes that they take in the page space. */
int64_t plim_home_bytes(const plim_paging *paging, const plim_graph *graph, int params);

/* A plan in which they are at home in options->paging's space, copied in before what reads or updates them, and out
 * after the update. `make` plans the rest; with paging->homes ALWAYS or PARAMS without paging.
 *   task      in  with a keep-all plan, whose time is that of the plan's, and whose bound is the same
 *   known_ns  in  for `make`
 * PLIM_ENOFIT: none was found. Needs a space, and no second device. */
PLIM_MUST_USE plim_status plim_home_make(const plim_paging_task *task, int64_t known_ns, int params,
                                         plim_plan_maker *make, plim_plan **out);

#endif
