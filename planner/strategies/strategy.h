/* The strategies: rows of one table. A strategy gets an incumbent and submits schedules to it until it is done.
 *
 * Only this folder combines bounds (planner/bound), chains, searches and exact models. None of those knows a strategy.
 */
#ifndef PLIM_PLANNER_STRATEGIES_STRATEGY_H
#define PLIM_PLANNER_STRATEGIES_STRATEGY_H

#include "planner/core/incumbent.h"
#include "planner/front/front.h"

/* run: submit schedules until done. run_min_memory: the same for an incumbent with `min_memory` set and no budget;
 * whatever it finds, `run` finds under a budget of that packed size. improve: go on from the incumbent's best; NULL: it
 * cannot. All deterministic unless there is a time limit; PLIM_ECANCEL keeps the best so far. */
typedef struct plim_strategy {
  const char *name, *source;
  plim_plan_class plan_class; /* the widest it searches; FREE: it can also keep program order */
  unsigned obeys;             /* bits by plim_plan_effort: what of the options changes what it does */
  plim_status (*run)(plim_incumbent *incumbent);
  plim_status (*run_min_memory)(plim_incumbent *incumbent);
  plim_status (*improve)(plim_incumbent *incumbent);
} plim_strategy;

/* Have further rows after those of the table, instead of any added before: planners that a program compares ours with.
 * The rows must stay where they are. Not thread-safe: to be called before the first plan. */
void plim_strategies_add(const plim_strategy *rows, int32_t n);

/* Row of the table by name, NULL: the first. PLIM_EUSAGE with the nearest name. */
PLIM_MUST_USE plim_status plim_strategy_find(plim_context *ctx, const char *name, const plim_strategy **out);

/* What a planning call has to do. */
typedef struct plim_strategy_call {
  const plim_plan_options *options; /* borrowed */
  const plim_strategy *strategy;    /* the row that the options name */
  plim_problem *problem;            /* in the class that the strategy searches when their order is asked for */
} plim_strategy_call;

/* PLIM_EUSAGE: there is no such planner, or the order is free and it cannot give that. Else as plim_problem_make. */
PLIM_MUST_USE plim_status plim_strategy_begin(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                              const plim_plan_options *options, plim_strategy_call *out);
void plim_strategy_end(plim_strategy_call *call); /* {0} is legal */

/* Let the incumbent, which has no best yet, find its plan.
 *
 * Without a plan front: run the strategy, then raise the bound where the strategy left that out.
 *
 * With one: first the plan front's fastest point within the budget (min_memory: its smallest), then the
 * strategy, unless a search with equal effort was made before or the bound is reached. Bounds that the plan front has
 * from a file are proved again by the cut model; an optimum that it cannot prove is searched again. New points and the
 * try are added to the plan front. *from_front is 1 when the best is still the plan front's own point. PLIM_ECANCEL
 * keeps the best so far. */
PLIM_MUST_USE plim_status plim_strategy_run(plim_incumbent *incumbent, const plim_strategy *strategy, plim_front *front,
                                            int32_t *from_front);

/* For a strategy that has found nothing: look for any schedule that fits by a search for fewest bytes, in the time that
 * is left. */
PLIM_MUST_USE plim_status plim_strategy_find_any(plim_incumbent *incumbent,
                                                 plim_status (*run_min_memory)(plim_incumbent *incumbent));

/* Open the plan front of a call in the folder options->front_folder; see plim_front_open. */
PLIM_MUST_USE plim_status plim_strategy_front(const plim_strategy_call *call, plim_front_file *file, plim_front *front);

/* Work that reads a plan front and adds to it. PLIM_EPLAN: the checker refused a plan of it. */
typedef plim_status plim_front_work(void *user, plim_front *front);

/* Do the work with the plan front of the call, once more with an empty one where a kept plan was bad, and save what the
 * plan front has then: also without a plan, since a larger budget may use its points. The status of the work. */
PLIM_MUST_USE plim_status plim_strategy_with_front(const plim_strategy_call *call, plim_front_work *work, void *user);

/* The functions of the rows: plim_X_run is in X.c or X_run.c, plim_stage_min_memory_run in stage_plans.c. */
PLIM_MUST_USE plim_status plim_search_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_chen_sqrt_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_chen_greedy_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_rotor_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_cut_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_milp_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_lp_round_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_stage_min_memory_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_moccasin_run(plim_incumbent *incumbent);
PLIM_MUST_USE plim_status plim_moccasin_min_memory_run(plim_incumbent *incumbent);

#endif
