/* The task of a planning call: what is looked for, and until when. */
#ifndef PLIM_PLANNER_CORE_TASK_H
#define PLIM_PLANNER_CORE_TASK_H

#include "planner/core/problem.h"

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

/* ==== time ==== */

/* The moment, by plim_now_ns, at which so many percent of the time limit are over; PLIM_TIME_UNLIMITED: there is no
 * limit. */
int64_t plim_plan_task_deadline(const plim_plan_task *task, int32_t percent);

/* A time limit for a part of the work: one part in `parts` of the whole limit, or the time left. At least 1 ns, since 0
 * means no limit; 0 where the task has no limit. */
int64_t plim_plan_task_part_ns(const plim_plan_task *task, int32_t parts);
int64_t plim_plan_task_left_ns(const plim_plan_task *task);

/* ==== options of a whole call ==== */

/* The options of a call that has to find a plan: a shorter time limit than a small graph needs becomes that. Parts of
 * the call may have less. */
plim_plan_options plim_plan_task_options(const plim_plan_options *options);

/* The latest moment at which a call with these options may end: the limit and a grace; PLIM_TIME_UNLIMITED: there is no
 * limit. */
int64_t plim_plan_task_last_moment(const plim_plan_options *options);

#endif
