/* runtime/device/device_cuda: times by the GPU's events, which cost time themselves and are exact to half a
 * microsecond. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/cuda_timing_events.h"
#include "runtime/device/device_cuda.h"
#include "runtime/profile/profiler.h"
#include "tests/support/gpu_rig.h"

enum { TIMING_EVENT_NS = 1200, STEP_NS = 500 };

static fake_cuda_options noisy(int64_t jitter_ns) {
  fake_cuda_options options = fake_cuda_options_default();
  options.timing_event_ns = TIMING_EVENT_NS;
  options.jitter_ns = jitter_ns;
  options.timing_event_step_ns = jitter_ns > 0 ? STEP_NS : 1;
  return options;
}

Test(device_times, small_ops_are_timed_together_and_events_cost_them_nothing) {
  fake_cuda_options options = noisy(300);
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_profile *profile = NULL;
  gpu_rig r;
  int small = 0;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  cr_assert_eq(plim_device_cuda_timing_event_ns(r.device), -1);
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  const plim_graph *graph = r.program->graph[PLIM_PROGRAM_TRAIN];
  profiler.cache_dir = "";
  gpu_rig_ok(&r, plim_profile_measure(r.device, graph, &profiler, &profile));
  for (int32_t op = 0; op < graph->n_ops; op++) {
    const int64_t exact = gpu_rig_kernel_ns(graph, op), got = profile->variant[profile->first[op]].time_ns;
    cr_assert_leq(llabs(got - exact), 60 + exact / 20, "%s: %lld, not %lld", graph->op[op].name, (long long)got,
                  (long long)exact);
    small += exact < TIMING_EVENT_NS;
  }
  cr_assert_gt(small, 5);
  cr_assert_leq(llabs(plim_device_cuda_timing_event_ns(r.device) - TIMING_EVENT_NS), STEP_NS);
  plim_profile_free(profile);
  gpu_rig_close(&r);
}

static int64_t sum_of_times(gpu_rig *r) {
  const int64_t *time_ns = plim_exec_times(plim_trainer_exec(r->trainer), PLIM_PROGRAM_TRAIN);
  int64_t sum = 0;
  for (int32_t j = 0; j < r->program->plan[PLIM_PROGRAM_TRAIN]->n_commands; j++) sum += time_ns[j];
  return sum;
}

Test(device_times, times_of_a_step_sum_up_to_the_step_as_it_is_without_events) {
  fake_cuda_options options = noisy(0);
  gpu_rig r;
  int64_t exact = 0;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 4)); /* queued, recorded, replayed twice */
  plim_exec_timing_begin(plim_trainer_exec(r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 5, NULL, NULL));
  const plim_graph *graph = r.program->graph[PLIM_PROGRAM_TRAIN];
  const plim_plan *plan = r.program->plan[PLIM_PROGRAM_TRAIN];
  const int64_t *time_ns = plim_exec_times(plim_trainer_exec(r.trainer), PLIM_PROGRAM_TRAIN);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    cr_assert_leq(llabs(time_ns[j] - gpu_rig_kernel_ns(graph, plan->command[j].op)), 1);
    exact += gpu_rig_kernel_ns(graph, plan->command[j].op);
  }
  cr_assert_eq(sum_of_times(&r), exact);
  plim_exec_timing_end(plim_trainer_exec(r.trainer));
  gpu_rig_close(&r);
}

Test(device_times, with_events_that_are_inexact_the_sum_is_still_about_the_step) {
  fake_cuda_options options = noisy(300);
  gpu_rig r;
  int64_t exact = 0;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 8));
  plim_exec_timing_begin(plim_trainer_exec(r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 9, NULL, NULL));
  const plim_graph *graph = r.program->graph[PLIM_PROGRAM_TRAIN];
  const plim_plan *plan = r.program->plan[PLIM_PROGRAM_TRAIN];
  for (int32_t j = 0; j < plan->n_commands; j++) exact += gpu_rig_kernel_ns(graph, plan->command[j].op);
  /* least of some replays, less the cost of an event: each within jitter and a step of the clock */
  cr_assert_leq(llabs(sum_of_times(&r) - exact), 2 * (300 + STEP_NS) + STEP_NS);
  plim_exec_timing_end(plim_trainer_exec(r.trainer));
  gpu_rig_close(&r);
}

Test(device_times, shares_of_a_whole_keep_their_proportions_and_sum_up_to_it) {
  int64_t time_ns[] = {1000 + 50, 2000 + 50, 50, 7000 + 50};
  plim_cuda_timing_events_share(time_ns, 4, 50, 5000);
  cr_assert_eq(time_ns[0] + time_ns[1] + time_ns[2] + time_ns[3], 5000);
  cr_assert_leq(llabs(time_ns[0] - 500), 1);
  cr_assert_leq(llabs(time_ns[3] - 3500), 1);
  int64_t unknown[] = {60, 40};
  plim_cuda_timing_events_share(unknown, 2, 50, 0);
  cr_assert_eq(unknown[0], 10);
  cr_assert_eq(unknown[1], 1);
}
