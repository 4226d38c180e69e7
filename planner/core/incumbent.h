/* The incumbent: the best schedule found so far in one planning call, with its offsets.
 *
 * Its life:
 *   1. plim_incumbent_begin   there is no best yet
 *   2. `task`, `shared`       the owner changes what is looked for, and lends what other calls know
 *   3. plim_incumbent_submit  a strategy makes schedules and submits them, until plim_incumbent_decided or out of time
 *   4. plim_incumbent_emit    the best becomes a plan; where there is none, a refusal reads why
 *   5. plim_incumbent_end
 * Between 2 and 4 a strategy that splits its work makes *children*, with a budget, limit or seed of their own
 * (plim_incumbent_child), and joins them again (plim_incumbent_join).
 *
 * What becomes of a schedule that is submitted: the incumbent
 *   1. evaluates it (timeline), and selects other variants where that brings the peak within the budget,
 *   2. packs it (placement), unless its peak is above the budget,
 *   3. keeps it when it fits and is better than the best so far,
 *   4. adds it to the plan front, where there is one.
 * *Better* means less time; with `min_memory`, fewer bytes. In a tie the other figure decides.
 *
 * Anyone may read the fields. The owner writes `task` and `shared`, the functions of this header all others. */
#ifndef PLIM_PLANNER_CORE_INCUMBENT_H
#define PLIM_PLANNER_CORE_INCUMBENT_H

#include "planner/core/evaluation.h"
#include "planner/front/front.h"

/* ==== the task (task.c) ==== */

/* The task of a planning call: what is looked for, and until when. */

typedef struct plim_plan_task {
  const plim_plan_options *options; /* borrowed */
  int64_t budget_bytes; /* of the arena, or of the peak where options->unpacked; PLIM_BYTES_UNLIMITED: there is none */
  int32_t min_memory;   /* 0: find the fastest plan that fits; 1: find the plan of fewest bytes */
  int32_t is_quick;     /* with min_memory, 1: only the first annealing runs of the search */
  int32_t runs_an_op_limit; /* of searches; 0: no limit. Schedules that are submitted may have more */
  int64_t target_bytes;     /* with min_memory: stop at this many bytes; 0: at the proved least */
  /* Read where there is no budget. Packing ends at this size; where the peak is above it, packing ends after the
   * first-fit orders. 0: pack as small as possible */
  int64_t enough_bytes;
  /* The search ends when it is proved that no plan takes less. PLIM_TIME_INFINITE: it ends when its best plan is proved
   * to be optimal */
  int64_t known_ns;
  int64_t started_ns; /* by plim_now_ns; options->time_limit_ns counts from here */
} plim_plan_task;

/* The task that the options state, from now on. */
plim_plan_task plim_plan_task_of(const plim_plan_options *options);

/* The moment, by plim_now_ns, at which so many percent of the time limit are over; PLIM_TIME_UNLIMITED: there is no
 * limit. */
int64_t plim_plan_task_deadline(const plim_plan_task *task, int32_t percent);

/* A time limit for a part of the work: one part in `parts` of the whole limit, or the time left. At least 1 ns, since 0
 * means no limit; 0 where the task has no limit. */
int64_t plim_plan_task_part_ns(const plim_plan_task *task, int32_t parts);
int64_t plim_plan_task_left_ns(const plim_plan_task *task);

/* The options of a call that has to find a plan: a shorter time limit than a small graph needs becomes that. Parts of
 * the call may have less. */
plim_plan_options plim_plan_task_options(const plim_plan_options *options);

/* The latest moment at which a call with these options may end: the limit and a grace; PLIM_TIME_UNLIMITED: there is no
 * limit. */
int64_t plim_plan_task_last_moment(const plim_plan_options *options);

/* ==== the incumbent (incumbent.c) ==== */

/* What calls for one problem share. All is borrowed; NULL: there is none. */
typedef struct plim_shared {
  const plim_schedule *keep_all;        /* the result of an earlier plim_keep_all_run */
  struct plim_bound_cache *bound_cache; /* rows of the cut model that other budgets have found */
  plim_front *front;                    /* receives every submitted schedule that is a new point of the plan front */
} plim_shared;

typedef struct plim_incumbent {
  const plim_problem *problem;
  plim_plan_task task; /* what is looked for */
  plim_shared shared;
  /* the best: the answer so far */
  int32_t has_best;            /* 1: there is a best, and it fits */
  plim_schedule best;          /* empty without has_best */
  int64_t best_ns, best_bytes; /* INT64_MAX: none. Bytes: arena size, or peak where unpacked */
  /* the bound: how good the answer can be */
  int64_t bound_ns; /* proved: no plan of the problem's class within the budget takes less; PLIM_TIME_INFINITE: none */
  int32_t is_bounded; /* 1: the cut model has been asked for a bound */
  /* the refusal: how near the schedules came to the budget */
  int64_t least_bytes; /* fewest of any schedule submitted, of one above the budget its peak; INT64_MAX: none was */
  int64_t least_plan_bytes; /* the same of those that are plans: packed, or unpacked where no one packs */
  plim_schedule conflict;   /* of the schedules whose peak fits and whose offsets do not: the one that packs smallest */
  int64_t conflict_bytes;   /* its packed size; INT64_MAX: none */
  /* the placement of the best, and scratch: incumbent.c alone reads it */
  struct plim_incumbent_own *own;
} plim_incumbent;

/* An incumbent without a best. Problem and options must outlive it. */
PLIM_MUST_USE plim_status plim_incumbent_begin(const plim_problem *problem, const plim_plan_options *options,
                                               plim_incumbent **out);
void plim_incumbent_end(plim_incumbent *incumbent); /* NULL is legal */

/* ==== children (incumbent.c) ==== */

/* What a child is asked for. It has the parent's problem, options and budget, where these fields do not say otherwise.
 * It has nothing that the parent found, proved, shares or has enough of. */
typedef struct plim_child {
  int32_t min_memory;       /* 1: fewest bytes, without a budget; the parent's budget becomes target_bytes, unless
                             * the parent looks for the fewest bytes too */
  int64_t budget_bytes;     /* without min_memory; 0: the parent's */
  int64_t time_limit_ns;    /* from now on; 0: none */
  int64_t iterations;       /* moves; 0: the parent's */
  int32_t unpacked;         /* 1: the budget bounds peaks; nothing is packed */
  uint64_t seed_offset;     /* is added to the seed */
  int32_t runs_an_op_limit; /* its searches run no op more often; 0: the parent's */
} plim_child;

/* An incumbent of the same problem, without a best, for a part of the work. The parent must outlive it. */
PLIM_MUST_USE plim_status plim_incumbent_child(const plim_incumbent *incumbent, const plim_child *asked,
                                               plim_incumbent **out);

/* End a child (NULL is legal). `status` is what its work returned: on PLIM_OK and PLIM_ECANCEL the parent merges the
 * child's best. Returns `status`, or the failure of the merge. */
plim_status plim_incumbent_join(plim_incumbent *incumbent, plim_incumbent *child, plim_status status);

/* ==== submit (incumbent.c) ==== */

/* The figures of a submitted schedule. */
typedef struct plim_submit_result {
  const plim_schedule *schedule; /* the one submitted, or the same with other variants; valid until the next submit */
  int64_t time_ns, peak_bytes;   /* of `schedule` */
  int64_t bytes; /* what the budget bounds: packed size; the peak where that is above the budget or nothing is packed */
} plim_submit_result;

/* Submit a schedule: see the top of this file.
 *   packing_rounds  in       as for plim_pack
 *   result          [1] out  may be NULL
 * Variants are selected anew for less workspace where the peak is above the budget; with min_memory, where the peak
 * could be lower. A second schedule with faster variants is kept too where it fits; `result` does not describe it.
 * PLIM_EPLAN: the schedule is not valid. */
PLIM_MUST_USE plim_status plim_incumbent_submit(plim_incumbent *incumbent, const plim_schedule *schedule,
                                                int32_t packing_rounds, plim_submit_result *result);

/* The same with the variants that the schedule has. */
PLIM_MUST_USE plim_status plim_incumbent_submit_exact(plim_incumbent *incumbent, const plim_schedule *schedule,
                                                      int32_t packing_rounds);

/* Submit a point of a plan front with its own offsets. The point may come from a file: it is evaluated anew.
 * *taken is 0 when it is not a valid point of this problem with the figures that it states. */
PLIM_MUST_USE plim_status plim_incumbent_submit_point(plim_incumbent *incumbent, const plim_front_point *point,
                                                      int *taken);

/* For the sentence of a refusal: submit the smallest point of a plan front (NULL: none), where it has fewer bytes than
 * any plan met so far. */
PLIM_MUST_USE plim_status plim_incumbent_submit_smallest(plim_incumbent *incumbent, const plim_front *front);

/* Make the schedule of every op once in program order, each with its fastest variant within `limit` bytes. */
PLIM_MUST_USE plim_status plim_incumbent_program_order(plim_incumbent *incumbent, int64_t limit, plim_schedule *out);

/* ==== a look at schedules (incumbent.c) ==== */

/* Evaluate a schedule without submitting it.
 *   out  [1] out  borrowed, valid until the next call that submits or looks
 * PLIM_EPLAN: the schedule is not valid. */
PLIM_MUST_USE plim_status plim_incumbent_evaluate(plim_incumbent *incumbent, const plim_schedule *schedule,
                                                  const plim_timeline **out);

/* The same, and offsets by the first-fit orders.
 *   placement  [1] out  borrowed like the timeline */
PLIM_MUST_USE plim_status plim_incumbent_place(plim_incumbent *incumbent, const plim_schedule *schedule,
                                               const plim_timeline **out, const plim_placement **placement);

/* ==== other incumbents of the same problem (incumbent.c) ==== */

/* Take the best of another incumbent, with its placement, if it fits and is better. */
PLIM_MUST_USE plim_status plim_incumbent_merge(plim_incumbent *incumbent, plim_incumbent *from);

/* Take the best of another incumbent without its placement, if it fits and is better, and its bound. */
PLIM_MUST_USE plim_status plim_incumbent_adopt(plim_incumbent *incumbent, const plim_incumbent *leader);

/* ==== what is proved (incumbent.c) ==== */

/* Proved: no plan of the problem's class within the budget takes less time; PLIM_TIME_INFINITE: there is no plan. A
 * bound that is no higher than the one known changes nothing. */
void plim_incumbent_raise_bound(plim_incumbent *incumbent, int64_t bound_ns);

/* The cut model has been asked for a bound. */
void plim_incumbent_note_bounded(plim_incumbent *incumbent);

/* ==== the end (incumbent.c) ==== */

/* 1: something was submitted, and the time limit or the context's deadline is over. */
int plim_incumbent_is_out_of_time(const plim_incumbent *incumbent);

/* Returns PLIM_OK where `status` is PLIM_ECANCEL, a deadline and not the caller ended the work, and there is a best.
 * Otherwise returns `status`. */
plim_status plim_incumbent_best_so_far(const plim_incumbent *incumbent, plim_status status);

/* Tell the context's progress callback the stage, the best overhead and the bound. */
void plim_incumbent_report(const plim_incumbent *incumbent, const char *stage);

/* 1: the best is proved: it takes no more time than the bound. */
int plim_incumbent_proved(const plim_incumbent *incumbent);

/* 1: the best is proved, or it is proved that there is no plan, or none that is faster than known_ns. */
int plim_incumbent_decided(const plim_incumbent *incumbent);

/* Write the best as a plan made by `planner`, and check it with plim_plan_check. */
PLIM_MUST_USE plim_status plim_incumbent_emit(plim_incumbent *incumbent, const char *planner, plim_plan **out);

/* ==== tuning constants ==== */

/* Of planner/core, in one table. They were set by trial. second_packing_rounds changes plans; the others change when a
 * call with a time limit returns. */
static const struct plim_core_tuning {
  int32_t second_packing_rounds; /* rounds up to which what does not fit is packed again, as low as can be */
  int32_t grace_parts;           /* what follows a search ends one part in so many of the time limit after it ... */
  int64_t grace_ns;              /* ... and so many ns */
  int64_t limit_ns_min;          /* ns of a time limit, at least: small graphs have a plan then */
} core_tuning = {.second_packing_rounds = 96, .grace_parts = 20, .grace_ns = 50000000, .limit_ns_min = 50000000};

#endif
