/* The task of a planning call, and its time: parts of the limit, and when the call ends at the latest. */
#include "planner/core/incumbent.h"

#include "runtime/base/effort.h"

plim_plan_task plim_plan_task_of(const plim_plan_options *options) {
  return (plim_plan_task){.options = options,
                          .budget_bytes = options->budget_bytes,
                          .known_ns = PLIM_TIME_INFINITE,
                          .started_ns = plim_now_ns()};
}

int64_t plim_plan_task_deadline(const plim_plan_task *task, int32_t percent) {
  return plim_effort_deadline_of(task->started_ns, plim_effort_percent(task->options->time_limit_ns, percent));
}

int64_t plim_plan_task_part_ns(const plim_plan_task *task, int32_t parts) {
  return plim_effort_share(task->options->time_limit_ns, parts);
}

int64_t plim_plan_task_left_ns(const plim_plan_task *task) {
  return plim_effort_rest(task->options->time_limit_ns, task->started_ns);
}

plim_plan_options plim_plan_task_options(const plim_plan_options *options) {
  plim_plan_options timed = *options;
  if (timed.time_limit_ns > 0 && timed.time_limit_ns < core_tuning.limit_ns_min) {
    timed.time_limit_ns = core_tuning.limit_ns_min;
  }
  return timed;
}

int64_t plim_plan_task_last_moment(const plim_plan_options *options) {
  int64_t limit_ns = options->time_limit_ns, last_ns = plim_effort_deadline_of(plim_now_ns(), limit_ns);
  return plim_effort_deadline_of(last_ns, limit_ns / core_tuning.grace_parts + core_tuning.grace_ns);
}
