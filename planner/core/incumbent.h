/* The incumbent of one planning call: the problem, its budget, and the best schedule found so far. Strategies submit
 * schedules; the incumbent evaluates and packs each, and keeps the best: the fastest that fits, or the smallest. */
#ifndef PLIM_PLANNER_CORE_INCUMBENT_H
#define PLIM_PLANNER_CORE_INCUMBENT_H

#include "planner/archive/front.h"
#include "planner/core/core.h"

typedef struct plim_incumbent {
  const plim_problem *problem;
  const plim_plan_options *options;
  plim_plan_options own_options; /* of a child */
  int64_t budget_bytes;
  int32_t min_memory;   /* 1: the best is the lowest schedule, 0: the fastest one that fits */
  int64_t target_bytes; /* lowest: a packed size that is low enough to stop */
  int32_t quick;        /* lowest: 1: only the first rounds of a long search */
  int32_t most_runs; /* searches do not run an op more often; 0: no limit. Submitted schedules are not checked for it */
  int64_t bound_ns;  /* proven lower bound on time at this budget in the problem's class; strategies raise it */
  int32_t bounded;   /* 1: the cut model had its turn */
  int64_t started_ns;
  plim_timeline *timeline;         /* scratch: of whatever was evaluated last */
  plim_placement placement, spare; /* scratch */
  plim_variant_selection selection;
  plim_schedule reselected; /* scratch: a submitted schedule with other choices */
  plim_schedule best;
  plim_placement best_placement;
  int32_t found;   /* 1: best fits */
  int32_t adopted; /* 1: best is another incumbent's, which has its addresses */
  int64_t best_ns, best_bytes;
  int64_t least_bytes;    /* smallest packed size (unpacked: peak) of anything submitted */
  plim_schedule conflict; /* nothing found: of the schedules whose peaks fit the one that packs lowest, for a refusal */
  int64_t conflict_bytes; /* its packed size; INT64_MAX: none */
  const plim_schedule *keep_all; /* what plim_keep_all_run came to for this problem before; NULL: it looks itself */
  struct plim_bound_cache *bound_cache; /* what the cut model kept from other budgets; NULL: nothing */
  plim_front *front;                    /* gets everything submitted that it has no better point for; NULL: none */
} plim_incumbent;

PLIM_MUST_USE plim_status plim_incumbent_begin(const plim_problem *problem, const plim_plan_options *options,
                                               plim_incumbent **out);
void plim_incumbent_end(plim_incumbent *incumbent); /* NULL is legal */

/* What a child differs in from its parent. */
typedef struct plim_child {
  int32_t min_memory; /* 1: fewest bytes, under no budget; at the budget of a parent that has one they are few enough */
  int64_t budget_bytes;  /* where not lowest; 0: the parent's */
  int64_t time_limit_ns; /* 0: none */
  int64_t iterations;    /* 0: the parent's */
  int32_t unpacked;      /* 1: peaks alone count */
  uint64_t seed_step;    /* added to the seed */
} plim_child;

/* An incumbent of the same problem for a part of the work: with options of its own, and nothing found yet. */
PLIM_MUST_USE plim_status plim_incumbent_child(const plim_incumbent *incumbent, const plim_child *how,
                                               plim_incumbent **out);

/* End the child (NULL is legal), whose work came to `status`: where it was done or cancelled, the parent takes over its
 * best. Returns `status`, or why that could not be done. */
plim_status plim_incumbent_join(plim_incumbent *incumbent, plim_incumbent *child, plim_status status);

/* When so many percent of the time allowed are over, by plim_now_ns; INT64_MAX without a time limit. */
int64_t plim_incumbent_deadline(const plim_incumbent *incumbent, int32_t percent);

/* When work under these options has to end at the latest, for plim_effort_begin; INT64_MAX without a time limit. */
int64_t plim_incumbent_last_moment(const plim_plan_options *options);

/* A time limit for a part of the work: of the whole limit one part in `parts`, or what is left of it. At least 1, as 0
 * would be none; 0 where there is none. */
int64_t plim_incumbent_part_ns(const plim_incumbent *incumbent, int32_t parts);
int64_t plim_incumbent_left_ns(const plim_incumbent *incumbent);

/* 1: the time limit, or the deadline of the context, is over and something was submitted. Strategies that make one plan
 * after another end there. */
int plim_incumbent_over(const plim_incumbent *incumbent);

/* What submitting a schedule came to. All figures are those of `schedule`: the one given, or the incumbent's own with
 * other choices, which lasts until the next one is submitted. */
typedef struct plim_submit_result {
  const plim_schedule *schedule;
  int64_t time_ns, peak_bytes;
  int64_t bytes; /* what the budget bounds: its packed size, or its peak where that is too high or nothing is packed */
} plim_submit_result;

/* PLIM_OK where a deadline, and no cancel, ended the work and there is a best; else `status`. */
plim_status plim_incumbent_best_so_far(const plim_incumbent *incumbent, plim_status status);

/* Evaluate and pack with that effort (see plim_pack); keep when it fits and is better than the best (equal times: the
 * lower, equal packed sizes: the faster). Choices are made anew where the peak is too high (min_memory: where it could
 * be lower) for their workspaces alone. Faster choices that fit are kept too, but `result` (may be NULL) does not tell
 * of them. PLIM_EPLAN when the schedule is not valid. */
PLIM_MUST_USE plim_status plim_incumbent_submit(plim_incumbent *incumbent, const plim_schedule *schedule,
                                                int32_t effort, plim_submit_result *result);

/* The same with the schedule's own choices. */
PLIM_MUST_USE plim_status plim_incumbent_submit_exact(plim_incumbent *incumbent, const plim_schedule *schedule,
                                                      int32_t effort);

/* Every op once in program order, with the fastest choices that the limit does not rule out
 * (plim_variant_selection_run). */
PLIM_MUST_USE plim_status plim_incumbent_program_order(plim_incumbent *incumbent, int64_t limit, plim_schedule *out);

/* Report time, best and bound so far to the context's progress callback. */
void plim_incumbent_report(const plim_incumbent *incumbent, const char *stage);

/* Take over the best of another incumbent of the same problem, with its addresses, if it fits and is better. */
PLIM_MUST_USE plim_status plim_incumbent_merge(plim_incumbent *incumbent, plim_incumbent *from);

/* Continue from the best of another incumbent of the same problem, if it fits and is better, and from its bound. The
 * addresses stay there: this incumbent's best has none until it finds a better one itself. */
PLIM_MUST_USE plim_status plim_incumbent_adopt(plim_incumbent *incumbent, const plim_incumbent *leader);

/* Submit a point of a plan front with the addresses that it has. *taken is 0 when it is not a point of this problem. */
PLIM_MUST_USE plim_status plim_incumbent_submit_point(plim_incumbent *incumbent, const plim_front_point *point,
                                                      int32_t *taken);

/* The best as a checked plan made by `planner`. */
PLIM_MUST_USE plim_status plim_incumbent_emit(plim_incumbent *incumbent, const char *planner, plim_plan **out);

#endif
