/* What a call of a planner over spaces asks for, checked and in numbers, and what follows from it alone. */
#ifndef PLIM_PLANNER_SPACES_SPACE_REQUEST_H
#define PLIM_PLANNER_SPACES_SPACE_REQUEST_H

#include "planner/spaces/space_make.h"
#include "planner/spaces/space_model.h"
#include "planner/spaces/space_search.h"

typedef struct plim_space_planner {
  const char *name, *source;
  plim_space_plan_class plan_class;
  plim_space_class model_class;
  unsigned objectives; /* bits by plim_objective */
  plim_objective own;
  int32_t recompute_alone; /* 1: cannot page */
  int32_t searches;        /* 1: without a program */
  int32_t joins;           /* 1: a copy may carry several storages; 0: no copy of its class does */
} plim_space_planner;

typedef struct plim_space_request {
  plim_context *ctx;
  const plim_space_options *options;
  const plim_space_planner *planner;
  plim_space_problem *problem;
  int64_t *budget;                /* [n_spaces] */
  plim_space_model_options model; /* with that budget */
  int64_t started_ns;
} plim_space_request;

/* Check what is asked. Free it also after a failure. PLIM_EUSAGE and PLIM_EDATA as plim_space_plan_make. */
PLIM_MUST_USE plim_status plim_space_request_make(plim_context *ctx, const plim_graph *graph,
                                                  const plim_platform *platform, const plim_space_options *options,
                                                  plim_space_request *out);
void plim_space_request_free(plim_space_request *request);

/* Seconds left of the time limit; 0: there is none; below 0: it is over. */
double plim_space_seconds_left(const plim_space_request *request);

/* ---- in units of the objective, ns or joule ---- */

/* What idle devices draw in so many nanoseconds. */
double plim_space_idle_joule(const plim_space_problem *problem, int64_t ns);
/* Every op once on one device; where none runs them all, each where it is fastest. */
double plim_space_keep_all(const plim_space_request *request);
/* No plan is better: every op once where it is cheapest. */
double plim_space_least(const plim_space_request *request);

/* ---- plans ---- */

/* May a command copy several storages? */
int plim_space_joins(const plim_space_request *request);
/* Does a program's bound hold for plans of its class? */
int plim_space_proves(const plim_space_request *request);

/* The plan of a sequence.
 *   events  in, out  copies that follow each other become one, where they may
 *   bound   in       no plan of its class is better
 *   proved  in       1: the sequence is known to have none that is better */
PLIM_MUST_USE plim_status plim_space_plan_of(const plim_space_request *request, plim_space_events *events, double bound,
                                             int proved, plim_space_plan **out);

#endif
