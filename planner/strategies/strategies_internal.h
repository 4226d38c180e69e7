/* What strategies share among themselves. */
#ifndef PLIM_PLANNER_STRATEGIES_STRATEGIES_INTERNAL_H
#define PLIM_PLANNER_STRATEGIES_STRATEGIES_INTERNAL_H

#include <stdint.h>

#include "planner/core/core.h"
#include "planner/core/incumbent.h"
#include "planner/exact/dag.h"
#include "planner/solvers/solver.h"

/* ==== groups ==== */

/* Which ops are fused into their readers. */

enum { PLIM_GROUP_MOST = 16 /* ops of a group */ };

/* The group of op v: member[v], n_members[v] of them, in program order, v last. A fused op has none of its own but is
 * in those of all its readers. */
typedef struct plim_groups {
  plim_context *ctx;
  int32_t n_ops;
  int32_t (*member)[PLIM_GROUP_MOST]; /* [n_ops] */
  int32_t *n_members;                 /* [n_ops] 0: fused */
} plim_groups;

/* In program order, fuse an op (with what was fused into it) into its readers, at most so many, when what it reads is
 * no larger than what it writes: then forgetting what it wrote costs its time and no bytes. What must run once, is
 * kept to the end or would run on the wrong side of an update stays alone; where program order is fixed, so does what
 * does not run right before its reader. O(operands x group). */
PLIM_MUST_USE plim_status plim_groups_make(const plim_problem *problem, int32_t most_readers, plim_groups *out);
void plim_groups_free(plim_groups *groups); /* leaves it empty */

/* ==== coarse ==== */

/* A coarse problem: groups of ops as one op each, so that a search takes fewer and larger steps. It is a problem like
 * any other, made from a graph and a profile of its own; a schedule of it expands to one of the fine problem. */

typedef struct plim_coarse {
  const plim_problem *fine;
  plim_groups groups;
  int32_t *op_of; /* [n_ops of the coarse problem] the op that ends the group */
  plim_graph *graph;
  plim_profile *profile;
  plim_problem *problem; /* of the fine one's class; one choice an op, the fastest of each member */
} plim_coarse;

/* The fine problem must outlive it. O(graph). */
PLIM_MUST_USE plim_status plim_coarse_make(const plim_problem *fine, int32_t most_readers, plim_coarse **out);
void plim_coarse_free(plim_coarse *coarse); /* NULL is legal */

/* The schedule of the fine problem: for each run the members of its group, in order, each with its fastest choice. A
 * valid schedule gives a valid one that takes as long and whose peak is no higher. */
PLIM_MUST_USE plim_status plim_coarse_expand(const plim_coarse *coarse, const plim_schedule *schedule,
                                             plim_schedule *out);

/* ==== revolve ==== */

/* Revolve's numbers: reversing a chain of steps of equal cost. */

/* Fewest forward steps that reverse a chain of `length` >= 1 steps with `slots` >= 1 states held at once, the first
 * state included. */
int64_t plim_revolve_steps(int32_t length, int32_t slots);

/* How far from the first state the next one is kept, in a way that takes the fewest steps; the lowest such number. */
int32_t plim_revolve_split(int32_t length, int32_t slots);

/* ==== submit plan ==== */

/* A plan of other origin, submitted with its own addresses. */

/* `plan` is packed, has passed the checker, and `schedule` is its steps. *taken is 0 when the timeline of the schedule
 * has other buffers than the plan (other in-place pairs, say): then nothing was submitted. O(buffers log buffers). */
PLIM_MUST_USE plim_status plim_submit_plan(plim_incumbent *incumbent, const plim_plan *plan,
                                           const plim_schedule *schedule, int32_t *taken);

/* ==== seed replay ==== */

/* Starting schedules from the online arena. */

/* Replay program order in arenas of the budget and of a few smaller ones (a schedule whose addresses were decided while
 * it ran need not pack as well again), and submit what comes out. *seed gets the fastest one whose peak is within the
 * budget, or stays as it is when there is none. Deterministic. */
PLIM_MUST_USE plim_status plim_seed_replay(plim_incumbent *incumbent, int32_t effort, plim_schedule *seed);

/* ==== stage plans ==== */

/* What the strategies of class stages share: the reduction, plans to begin with, and submits to the incumbent. */

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

/* choices_bytes: the budget that choices of variants are made for. */
PLIM_MUST_USE plim_status plim_stage_plans_begin(plim_incumbent *inc, int64_t choices_bytes, plim_stage_plans *out);
void plim_stage_plans_end(plim_stage_plans *plans); /* also after a failed begin */

/* Repair `stages` for the limit and submit the outcome, and what it was before when that fits as well. */
PLIM_MUST_USE plim_status plim_stage_plans_submit(plim_stage_plans *plans);

/* Submit program order, as it is and repaired. */
PLIM_MUST_USE plim_status plim_stage_plans_order(plim_stage_plans *plans);

/* Submit program order and the plan of a short search, both as stages; the search's bound holds for stages as well. */
PLIM_MUST_USE plim_status plim_stage_plans_start(plim_stage_plans *plans);

/* Submit what the constraint search finds with half of the effort, from the best so far. Where it ends, and the graph
 * is small enough to allow as many runs of a node as stages, the best is proved and the bound raised to it.
 * Deterministic without a time limit. */
PLIM_MUST_USE plim_status plim_stage_plans_search(plim_stage_plans *plans);

/* Submit the plan of the cut model for that many bytes as stages, where it has one. Needs no solver and takes graphs
 * whose programs are too large for one. The model's bound for all of the budget is taken. */
PLIM_MUST_USE plim_status plim_stage_plans_cut(plim_stage_plans *plans, int64_t limit_bytes);

/* For an incumbent that has found nothing: what plim_stage_min_memory_run finds, if it fits. That goes by repairs, in
 * halving steps between the least peak and that of program order. */
PLIM_MUST_USE plim_status plim_stage_plans_any(plim_incumbent *inc);

/* A strategy that needs a solver: open one, let `work` submit plans, fall back to any plan. PLIM_EUNSUPPORTED, with the
 * remedy, where there is no solver. */
typedef plim_status plim_stage_work(plim_stage_plans *plans, plim_solver *solver);
PLIM_MUST_USE plim_status plim_stage_plans_run(plim_incumbent *inc, plim_stage_work *work);

/* Seconds that are left to a solver, 0: there is no limit; negative: none are left. */
double plim_stage_plans_seconds(const plim_incumbent *inc);

/* The program for `limit` bytes of the reduction, without repeats that take longer than all those of the best plan. */
PLIM_MUST_USE plim_status plim_stage_plans_model(const plim_stage_plans *plans, int64_t limit, plim_stage_model **out);

/* Solve a model of these plans: the program itself, or its relaxation. Reports progress under that stage's name.
 * model: made from plans->dag. start: NULL, or a point. */
PLIM_MUST_USE plim_status plim_stage_plans_solve(plim_stage_plans *plans, plim_solver *solver,
                                                 const plim_stage_model *model, const double *start, int32_t relax,
                                                 plim_solution *out, double *point);

/* Raise the incumbent's bound by a solver's, where the reduction lets bounds through. Nothing faster than the best plan
 * was left out of the model. */
void plim_stage_plans_bound(plim_stage_plans *plans, const plim_stage_model *model, double bound);

#endif
