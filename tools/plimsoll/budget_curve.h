/* plimsoll plan --front: plans for the whole range of budgets, as JSON, CSV or SVG. */
#ifndef PLIM_TOOLS_PLIMSOLL_BUDGET_CURVE_H
#define PLIM_TOOLS_PLIMSOLL_BUDGET_CURVE_H

#include "tools/plimsoll/session.h"

typedef struct budget_request {
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_plan_options *options; /* without a budget */
  int64_t whole_bytes;              /* what percentages are of: the largest budget */
} budget_request;

typedef struct budget_curve {
  const budget_request *request;
  plim_plan_floor floor;
  int32_t n;
  int64_t *budget;  /* [n] ascending */
  plim_plan **plan; /* [n] fastest known; NULL: none found */
} budget_curve;

/* Plan, write o->output in the form that its ending asks for (or print JSON), print a summary. */
plim_status budget_curve_run(session *s, const budget_request *request);

/* The picture: overhead and its proven bound over the budget. */
plim_status budget_curve_draw(plim_context *ctx, const budget_curve *curve, const char *path);

#endif
