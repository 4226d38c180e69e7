/* The strategies: rows of one table. Only here bounds, chains, searches and exact models meet; none of them knows a
 * strategy. */
#ifndef PLIM_PLANNER_STRATEGY_H
#define PLIM_PLANNER_STRATEGY_H

#include "planner/curve/curve_file.h"
#include "planner/planning.h"

/* run: offer schedules until done. run_lowest: the same for a planning with `lowest` set and no budget; whatever it
 * finds, `run` finds under a budget of that height. Both deterministic unless there is a time limit; PLIM_ECANCEL keeps
 * the best so far. */
typedef struct plim_strategy {
  const char *name, *source;
  plim_plan_class plan_class; /* the widest it searches; FREE: it can also keep program order */
  unsigned obeys;             /* bits by plim_plan_effort: what of the options changes what it does */
  plim_status (*run)(plim_planning *planning);
  plim_status (*run_lowest)(plim_planning *planning);
} plim_strategy;

/* Row of the table by name, NULL: the first. PLIM_EUSAGE with the nearest name. */
PLIM_MUST_USE plim_status plim_strategy_find(plim_context *ctx, const char *name, const plim_strategy **out);

/* The class searched by a strategy when that order is asked for. PLIM_EUSAGE for a free order that it cannot give. */
PLIM_MUST_USE plim_status plim_strategy_class(plim_context *ctx, const plim_strategy *strategy, plim_plan_order order,
                                              plim_plan_class *out);

/* Let the planning, which has no best yet, find its plan.
 *
 * Without a curve: run the strategy, then raise the bound where the strategy left that out.
 *
 * With one: first the curve's fastest point within the budget (lowest: the curve's lowest), then the strategy, unless a
 * search with equal effort was made before or the bound is reached. Bounds that the curve has from a file are proved
 * again by the cut model; an optimum that it cannot prove is searched again. New points and the try are added to the
 * curve. *kept is 1 when the best is still the curve's own point. PLIM_ECANCEL keeps the best so far. */
PLIM_MUST_USE plim_status plim_strategy_run(plim_planning *planning, const plim_strategy *strategy, plim_curve *curve,
                                            int32_t *kept);

/* Open the curve of a problem and a strategy in the folder options->curves; see plim_curve_open. */
PLIM_MUST_USE plim_status plim_strategy_curve(const plim_problem *problem, const plim_plan_options *options,
                                              const plim_strategy *strategy, plim_curve_file *file, plim_curve *curve);

plim_status plim_fastsa_run(plim_planning *planning);
plim_status plim_search_run(plim_planning *planning);
plim_status plim_chen_sqrt_run(plim_planning *planning);
plim_status plim_chen_greedy_run(plim_planning *planning);
plim_status plim_revolve_run(plim_planning *planning);
plim_status plim_rotor_run(plim_planning *planning);
plim_status plim_cut_run(plim_planning *planning);
plim_status plim_milp_run(plim_planning *planning);
plim_status plim_lp_round_run(plim_planning *planning);
plim_status plim_stage_lowest_run(plim_planning *planning);
plim_status plim_moccasin_run(plim_planning *planning);
plim_status plim_moccasin_lowest_run(plim_planning *planning);

#endif
