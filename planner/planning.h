/* One call of the planner: the problem, its budget, and the best schedule found so far. Strategies offer schedules; the
 * planning evaluates and packs each, and keeps the best: the fastest that fits, or the lowest. */
#ifndef PLIM_PLANNER_PLANNING_H
#define PLIM_PLANNER_PLANNING_H

#include "planner/curve/curve.h"
#include "planner/pack/place.h"
#include "planner/refit.h"

typedef struct plim_planning {
  const plim_problem *problem;
  const plim_plan_options *options;
  plim_plan_options own_options; /* of a child */
  int64_t budget_bytes;
  int32_t lowest;       /* 1: the best is the lowest schedule, 0: the fastest one that fits */
  int64_t enough_bytes; /* lowest: a height that is low enough to stop */
  int32_t brief;        /* lowest: 1: only the first rounds of a long search */
  int32_t most_runs;    /* searches do not run an op more often; 0: no cap. Offers are not checked for it */
  int64_t bound_ns;     /* proven lower bound on time at this budget in the problem's class; strategies raise it */
  int32_t bounded;      /* 1: the cut model had its turn */
  int64_t started_ns;
  plim_timeline *timeline;         /* scratch: of whatever was evaluated last */
  plim_placement placement, spare; /* scratch */
  plim_refit refit;
  plim_schedule refitted; /* scratch: an offer with other choices */
  plim_schedule best;
  plim_placement best_placement;
  int32_t found;   /* 1: best fits */
  int32_t follows; /* 1: best is another planning's, which has its addresses */
  int64_t best_ns, best_bytes;
  int64_t least_bytes; /* smallest height (unpacked: peak) of anything offered */
  plim_schedule clash; /* nothing found: of the schedules whose peaks fit the one that packs lowest, for a refusal */
  int64_t clash_bytes; /* its height; INT64_MAX: none */
  const plim_schedule *keep_all; /* what plim_keep_all_run came to for this problem before; NULL: it looks itself */
  struct plim_cut_kit *kit;      /* what the cut model kept from other budgets; NULL: nothing */
  plim_curve *curve;             /* gets everything offered that it has no better point for; NULL: none */
} plim_planning;

PLIM_MUST_USE plim_status plim_planning_begin(const plim_problem *problem, const plim_plan_options *options,
                                              plim_planning **out);
void plim_planning_end(plim_planning *planning); /* NULL is legal */

/* What a child differs in from its parent. */
typedef struct plim_child {
  int32_t lowest; /* 1: fewest bytes, under no budget; at the budget of a parent that has one they are few enough */
  int64_t budget_bytes;  /* where not lowest; 0: the parent's */
  int64_t time_limit_ns; /* 0: none */
  int64_t iterations;    /* 0: the parent's */
  int32_t unpacked;      /* 1: peaks alone count */
  uint64_t seed_step;    /* added to the seed */
} plim_child;

/* A planning of the same problem for a part of the work: with options of its own, and nothing found yet. */
PLIM_MUST_USE plim_status plim_planning_child(const plim_planning *planning, const plim_child *how,
                                              plim_planning **out);

/* End the child (NULL is legal), whose work came to `status`: where it was done or cancelled, the parent takes over its
 * best. Returns `status`, or why that could not be done. */
plim_status plim_planning_join(plim_planning *planning, plim_planning *child, plim_status status);

/* When so many percent of the time allowed are over, by plim_now_ns; INT64_MAX without a time limit. */
int64_t plim_planning_deadline(const plim_planning *planning, int32_t percent);

/* When work under these options has to end at the latest, for plim_effort_begin; INT64_MAX without a time limit. */
int64_t plim_planning_last_moment(const plim_plan_options *options);

/* A time limit for a part of the work: of the whole limit one part in `parts`, or what is left of it. At least 1, as 0
 * would be none; 0 where there is none. */
int64_t plim_planning_part_ns(const plim_planning *planning, int32_t parts);
int64_t plim_planning_left_ns(const plim_planning *planning);

/* 1: the time limit, or the deadline of the context, is over and something was offered. Strategies that make one plan
 * after another end there. */
int plim_planning_over(const plim_planning *planning);

/* What submitting a schedule came to. All figures are those of `schedule`: the one given, or the planning's own with
 * other choices, which lasts until the next one is submitted. */
typedef struct plim_submit_result {
  const plim_schedule *schedule;
  int64_t time_ns, peak_bytes;
  int64_t bytes; /* what the budget bounds: its height, or its peak where that is too high or nothing is packed */
} plim_submit_result;

/* PLIM_OK where a deadline, and no cancel, ended the work and there is a best; else `status`. */
plim_status plim_planning_best_so_far(const plim_planning *planning, plim_status status);

/* Evaluate and pack with that effort (see plim_pack); keep when it fits and is better than the best (equal times: the
 * lower, equal heights: the faster). Choices are made anew where the peak is too high (lowest: where it could be lower)
 * for their workspaces alone. Faster choices that fit are kept too, but `result` (may be NULL) does not tell of them.
 * PLIM_EPLAN when the schedule is not valid. */
PLIM_MUST_USE plim_status plim_planning_offer(plim_planning *planning, const plim_schedule *schedule, int32_t effort,
                                              plim_submit_result *result);

/* The same with the schedule's own choices. */
PLIM_MUST_USE plim_status plim_planning_offer_as_is(plim_planning *planning, const plim_schedule *schedule,
                                                    int32_t effort);

/* Every op once in program order, with the fastest choices that the limit does not rule out (plim_refit_run). */
PLIM_MUST_USE plim_status plim_planning_program_order(plim_planning *planning, int64_t limit, plim_schedule *out);

/* Tell whoever listens to the context: time, best and bound so far. */
void plim_planning_report(const plim_planning *planning, const char *stage);

/* Take over the best of another planning of the same problem, with its addresses, if it fits and is better. */
PLIM_MUST_USE plim_status plim_planning_take(plim_planning *planning, plim_planning *from);

/* Go on from the best of another planning of the same problem, if it fits and is better, and from its bound. The
 * addresses stay there: this planning's best has none until it finds a better one itself. */
PLIM_MUST_USE plim_status plim_planning_follow(plim_planning *planning, const plim_planning *leader);

/* Offer a point of a curve with the addresses that it has. *taken is 0 when it is not a point of this problem. */
PLIM_MUST_USE plim_status plim_planning_offer_point(plim_planning *planning, const plim_curve_point *point,
                                                    int32_t *taken);

/* The best as a checked plan made by `planner`. */
PLIM_MUST_USE plim_status plim_planning_emit(plim_planning *planning, const char *planner, plim_plan **out);

#endif
