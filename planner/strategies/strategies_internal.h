/* What the files of planner/strategies share: schedules from elsewhere as first plans, and what the strategies of class
 * stages have in common. Callers read strategy.h. */
#ifndef PLIM_PLANNER_STRATEGIES_STRATEGIES_INTERNAL_H
#define PLIM_PLANNER_STRATEGIES_STRATEGIES_INTERNAL_H

#include "planner/core/incumbent.h"
#include "planner/exact/stage_model.h"
#include "planner/solvers/solver.h"

/* ==== plans (submit_plan.c) ==== */

/* A plan of other origin, submitted with its own addresses. */

/* `plan` is packed, has passed the checker, and `schedule` is its commands. *taken is 0 when the timeline of the
 * schedule has other buffers than the plan (other in-place pairs, say): then nothing was submitted. O(buffers log
 * buffers). */
PLIM_MUST_USE plim_status plim_submit_plan(plim_incumbent *incumbent, const plim_plan *plan,
                                           const plim_schedule *schedule, int *taken);

/* ==== replays (start_replay.c) ==== */

/* Starts from the online arena. */

/* Replay program order in arenas of the budget and of a few smaller ones (a schedule whose addresses were decided while
 * it ran need not pack as well again), and submit what comes out. *start gets the fastest one whose peak is within the
 * budget, or stays as it is when there is none. Deterministic. */
PLIM_MUST_USE plim_status plim_start_from_replay(plim_incumbent *incumbent, int32_t packing_rounds,
                                                 plim_schedule *start);

/* ==== class stages (stage_plans.c, stage_constraint.c) ==== */

/* The reduction to nodes, plans to begin with, and submits to the incumbent. */

typedef struct plim_stage_plans {
  plim_incumbent *inc;
  plim_dag *dag;
  plim_stage_schedule *stages; /* the one being worked on */
  plim_stage_schedule *best;   /* the fastest whose peak in the reduction was within `limit_bytes` */
  int32_t has_best;
  int64_t limit_bytes;  /* of the reduction: the budget, or less where packing needs more than the peak */
  int64_t excess_bytes; /* by which the last submit was above the budget; <= 0: it fits */
  plim_schedule schedule;
} plim_stage_plans;

/* Repair `stages` for the limit and submit the outcome, and what it was before when that fits as well. */
PLIM_MUST_USE plim_status plim_stage_plans_submit(plim_stage_plans *plans);

/* Submit program order, as it is and repaired. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_order(plim_stage_plans *plans);

/* Submit program order and the plan of a short search, both as stages; the search's bound holds for stages as well. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_first(plim_stage_plans *plans);

/* Submit what the constraint search finds from the best so far, in half of the time left or, without a limit, in a few
 * thousand nodes. Where it ends, and the graph is small enough to allow as many runs of a node as stages, the best is
 * proved and the bound raised to it. Deterministic without a time limit. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_search(plim_stage_plans *plans);

/* Submit the plan of the cut model for that many bytes as stages, where it has one. Needs no solver and takes graphs
 * whose programs are too large for one. The model's bound for all of the budget is taken. */
PLIM_MUST_USE plim_status plim_stage_plans_submit_cut(plim_stage_plans *plans, int64_t limit_bytes);

/* A strategy that needs a solver: open one, let `work` submit plans, fall back to any plan. PLIM_EUNSUPPORTED, with the
 * remedy, where there is no solver. */
typedef plim_status plim_stage_work(plim_stage_plans *plans, plim_solver *solver);
PLIM_MUST_USE plim_status plim_stage_plans_run(plim_incumbent *inc, plim_stage_work *work);

/* Seconds that are left to a solver, 0: there is no limit; negative: none are left. */
double plim_stage_plans_seconds_left(const plim_incumbent *inc);

/* The program for `limit` bytes of the reduction, without repeats that take longer than all those of the best plan. */
PLIM_MUST_USE plim_status plim_stage_plans_model(const plim_stage_plans *plans, int64_t limit, plim_stage_model **out);

/* Solve a model of these plans: the program itself, or its relaxation. Reports progress under that stage's name.
 * model: made from plans->dag. start: NULL, or a point. */
PLIM_MUST_USE plim_status plim_stage_plans_solve(plim_stage_plans *plans, plim_solver *solver,
                                                 const plim_stage_model *model, const double *start, int relax,
                                                 plim_solution *out, double *point);

/* Raise the incumbent's bound by a solver's, where the reduction lets bounds through. Nothing faster than the best plan
 * was left out of the model. */
void plim_stage_plans_raise_bound(plim_stage_plans *plans, const plim_stage_model *model, double bound);

#endif
