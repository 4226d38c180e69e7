/* runtime/device/vram and runtime/train/warm_up: a limit on everything that a run holds on a GPU, over the fake GPU. */
#include "runtime/device/vram.h"
#include "runtime/train/warm_up.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/device/device_cuda.h"
#include "tests/support/gpu_rig.h"

enum { MIB = 1 << 20, CONTEXT = 40 * MIB, MODULES = 7 * MIB, GRAPH = 3 * MIB };

static fake_cuda_options gpu(void) {
  fake_cuda_options options = fake_cuda_options_default();
  options.context_bytes = CONTEXT;
  options.module_bytes = MODULES;
  options.graph_bytes = GRAPH;
  return options;
}

static void expect_words(const gpu_rig *r, const char *words) {
  cr_assert_not_null(strstr(plim_context_error(r->ctx), words), "%s", plim_context_error(r->ctx));
}

Test(vram, the_context_counts_and_what_is_left_is_whole_pages) {
  fake_cuda_options options = gpu();
  plim_cuda_memory now;
  int64_t left = 0;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_eq(now.outside_bytes, CONTEXT + 16); /* and the step counter */
  cr_assert_eq(now.settled_bytes, -1);
  gpu_rig_ok(&r, plim_vram_left(r.device, 64 * MIB, 0, &left));
  cr_assert_eq(left, 22 * MIB);
  gpu_rig_close(&r);
}

Test(vram, where_no_one_can_tell_what_the_context_took_everything_that_is_gone_counts) {
  fake_cuda_options options = gpu();
  plim_cuda_memory now;
  gpu_rig r;
  options.context_bytes = -1;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_eq(now.outside_bytes, MIB + 16);
  gpu_rig_close(&r);
}

Test(vram, a_budget_below_the_needs_of_the_context_or_above_the_gpu_is_refused_with_numbers) {
  fake_cuda_options options = gpu();
  int64_t left = -1;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  cr_assert_eq(plim_vram_left(r.device, 41 * MIB, 0, &left), PLIM_ENOFIT);
  expect_words(&r, "take 40.0 MiB (41943056 bytes)");
  expect_words(&r, "below 41.0 MiB");
  cr_assert_eq(plim_vram_left(r.device, (int64_t)2048 * MIB, 0, &left), PLIM_ENOFIT);
  expect_words(&r, "more than the GPU can give now: 40.0 MiB are taken and 984.0 MiB");
  cr_assert_eq(left, -1);
  gpu_rig_close(&r);
}

Test(vram, is_for_gpus) {
  int64_t left;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open_cpu(&r));
  cr_assert_eq(plim_vram_left(r.device, 64 * MIB, 0, &left), PLIM_EUSAGE);
  expect_words(&r, "this device is cpu");
  gpu_rig_close(&r);
}

/* What is outside while the plans of a program run is what the warm-up has left there. */
Test(vram, after_a_warm_up_nothing_comes_to_lie_beside_the_arena) {
  fake_cuda_options options = gpu();
  plim_trainer_options training = gpu_rig_training();
  plim_plan_options planning;
  plim_cuda_memory now, then;
  plim_evaluation evaluation;
  int64_t before = 0, after = 0, captured = 0, budget = 64 * MIB;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, gpu_rig_planning(&r, 90, &planning));
  gpu_rig_ok(&r, plim_program_plan(r.program, &planning));
  gpu_rig_ok(&r, plim_vram_left(r.device, budget, 0, &before));
  cr_assert_eq(before, 22 * MIB);
  gpu_rig_ok(&r, plim_warm_up_run(r.device, r.dataset, r.program, &training, &captured));
  gpu_rig_ok(&r, plim_vram_left(r.device, budget, captured, &after));
  cr_assert_eq(captured, 2 * GRAPH); /* of training and of evaluation */
  cr_assert_eq(after, 10 * MIB);     /* less modules and those, in whole pages */
  gpu_rig_ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 2, NULL, NULL));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &then));
  cr_assert_eq(then.outside_bytes, CONTEXT + MODULES + GRAPH + 16);
  cr_assert_eq(then.settled_bytes, then.outside_bytes);
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 5, NULL, NULL));
  for (int i = 0; i < 3; i++) gpu_rig_ok(&r, plim_trainer_evaluate(r.trainer, &evaluation));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_eq(now.outside_bytes, CONTEXT + MODULES + 2 * GRAPH + 16);
  cr_assert_eq(now.outside_bytes, now.settled_bytes);
  gpu_rig_ok(&r, plim_vram_check(r.device, budget, plim_program_arena_bytes(r.program)));
  gpu_rig_close(&r);
}

/* One captured step a plan, also while steps are timed and after plans that gave way to others. */
Test(vram, plans_recomputed_leave_nothing_captured_after) {
  fake_cuda_options options = gpu();
  plim_trainer_options training = gpu_rig_training();
  plim_plan_options planning;
  plim_cuda_memory now;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, gpu_rig_planning(&r, 90, &planning));
  gpu_rig_ok(&r, plim_program_plan(r.program, &planning));
  const plim_replan_options replan = {.struct_bytes = sizeof replan, .planning = planning};
  const plim_budget_change smaller = {3, plim_program_arena_bytes(r.program) * 97 / 100};
  training.replan = &replan;
  training.budget_change = &smaller;
  training.n_budget_changes = 1;
  gpu_rig_ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 7, NULL, NULL));
  const plim_plan *plan = plim_exec_plan_of(plim_trainer_exec(r.trainer), PLIM_PROGRAM_TRAIN);
  cr_assert_neq(plan, r.program->plan[PLIM_PROGRAM_TRAIN], "no plan was made anew");
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_eq(now.outside_bytes, CONTEXT + MODULES + GRAPH + 16);
  plim_exec_timing_begin(plim_trainer_exec(r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 1, NULL, NULL));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_eq(now.outside_bytes, CONTEXT + MODULES + 16);
  gpu_rig_close(&r);
}

Test(vram, what_grows_after_the_second_step_is_seen) {
  fake_cuda_options options = gpu();
  plim_cuda_memory now;
  int64_t arena, budget;
  gpu_rig r;
  options.leak_bytes = MIB;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 90, 2));
  arena = plim_program_arena_bytes(r.program);
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  budget = arena + now.outside_bytes;
  gpu_rig_ok(&r, plim_vram_check(r.device, budget, arena));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 3, NULL, NULL));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_eq(now.outside_bytes - now.settled_bytes, 3 * MIB);
  cr_assert_eq(plim_vram_check(r.device, budget, arena), PLIM_ENOFIT);
  expect_words(&r, "more than the");
  gpu_rig_close(&r);
}
