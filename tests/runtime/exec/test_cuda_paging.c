/* Plans with copies on a GPU (the fake one): the same bits as keep-all in whatever order the hardware runs what no
 * event orders, queued and captured. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/device/device_cuda.h"
#include "tests/support/gpu_rig.h"

enum { STEPS = 5 /* queued, captured, replayed */ };

static const plim_paging host = {.struct_bytes = sizeof(plim_paging),
                                 .space = "host",
                                 .budget_bytes = 1 << 24,
                                 .latency_ns = {1, 1},
                                 .bytes_per_ns = {1000, 1000},
                                 .homes = PLIM_HOMES_NEVER};

/* Train within `percent` of the keep-all bytes with a plan that copies. */
static void train_paged(gpu_rig *r, const plim_paging *paging, int32_t percent) {
  plim_trainer_options training = gpu_rig_training();
  plim_plan_options planning;
  gpu_rig_ok(r, gpu_rig_prepare(r));
  gpu_rig_ok(r, gpu_rig_planning(r, percent, &planning));
  planning.paging = paging;
  gpu_rig_ok(r, plim_program_plan(r->program, &planning));
  gpu_rig_ok(r, plim_trainer_open(r->device, r->dataset, r->program, &training, &r->trainer));
  gpu_rig_ok(r, plim_trainer_run(r->trainer, STEPS, NULL, NULL));
}

static int copies_of(const plim_plan *plan) {
  int copies = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) copies += plan->command[j].kind == PLIM_COMMAND_COPY;
  return copies;
}

static void weights_are_those_of_keep_all(const plim_paging *paging, int32_t percent, fake_cuda_order order,
                                          int32_t eager) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig all, paged;
  gpu_rig_ok(&all, gpu_rig_open_cpu(&all));
  gpu_rig_ok(&all, gpu_rig_train(&all, 100, STEPS));
  options.order = order;
  gpu_rig_ok(&paged, gpu_rig_open(&paged, &options, eager));
  train_paged(&paged, paging, percent);
  const plim_plan *plan = paged.program->plan[PLIM_PROGRAM_TRAIN];
  cr_expect_gt(copies_of(plan), 1);
  gpu_rig_same(&all, &paged);
  const plim_exec_use use = plim_exec_measured(plim_trainer_exec(paged.trainer), PLIM_PROGRAM_TRAIN);
  cr_expect_eq(use.space[0].peak_bytes, plan->peak_bytes);
  cr_expect_eq(use.own_allocations, 0);
  if (!eager) cr_expect_gt(fake_cuda_count().captures, 0);
  gpu_rig_close(&paged);
  cr_expect_eq(fake_cuda_count().open_handles, 0);
  gpu_rig_close(&all);
}

Test(cuda_paging, copies_beside_kernels_change_no_bit_in_any_order) {
  static const fake_cuda_order orders[] = {FAKE_CUDA_AS_QUEUED, FAKE_CUDA_EARLY_FIRST, FAKE_CUDA_LATE_FIRST};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    weights_are_those_of_keep_all(&host, 80, orders[i], 0);
    weights_are_those_of_keep_all(&host, 80, orders[i], 1);
  }
}

Test(cuda_paging, optimizer_state_lives_in_pinned_memory) {
  plim_paging homes = host;
  homes.homes = PLIM_HOMES_STATE;
  weights_are_those_of_keep_all(&homes, 100, FAKE_CUDA_LATE_FIRST, 0);
  weights_are_those_of_keep_all(&homes, 100, FAKE_CUDA_EARLY_FIRST, 0);
}

Test(cuda_paging, a_gpu_pages_to_host_alone) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_trainer_options training = gpu_rig_training();
  plim_plan_options planning;
  plim_paging disk = host;
  gpu_rig r;
  disk.space = "disk";
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, gpu_rig_planning(&r, 80, &planning));
  planning.paging = &disk;
  gpu_rig_ok(&r, plim_program_plan(r.program, &planning));
  cr_expect_eq(plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer), PLIM_EUNSUPPORTED);
  cr_expect_not_null(strstr(plim_context_error(r.ctx), "pages to host alone"), "%s", plim_context_error(r.ctx));
  gpu_rig_close(&r);
  cr_expect_eq(fake_cuda_count().open_handles, 0);
}

static void count_retimes(void *user, const plim_retime_report *report) {
  (void)report;
  ++*(int *)user;
}

/* The run begins without copies, and its steps are timed. Before the last of them the budget falls: the plan copies. */
Test(cuda_paging, a_plan_that_begins_to_copy_while_steps_are_timed_is_not_timed) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_trainer_options training = gpu_rig_training();
  plim_replan_options replan = {.struct_bytes = sizeof replan};
  plim_plan_options planning;
  int retimes = 0;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, gpu_rig_planning(&r, 100, &planning));
  gpu_rig_ok(&r, plim_program_plan(r.program, &planning));
  gpu_rig_ok(&r, gpu_rig_planning(&r, 80, &replan.planning));
  replan.planning.paging = &host;
  const plim_budget_change falls = {5, replan.planning.budget_bytes};
  training.replan = &replan;
  training.budget_change = &falls;
  training.n_budget_changes = 1;
  training.retime_steps = 4;
  training.on_retime = count_retimes;
  training.on_retime_user = &retimes;
  gpu_rig_ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 12, NULL, NULL));
  cr_expect_gt(plim_exec_copied(plim_trainer_exec(r.trainer), PLIM_PROGRAM_TRAIN).n, 1);
  cr_expect_eq(retimes, 0);
  gpu_rig_close(&r);
  cr_expect_eq(fake_cuda_count().open_handles, 0);
}

/* ---- the fake itself: what it would find ---- */

/* Two copies, of a first value to x and of x to y, on two queues: the second without a wait, or with one. */
static float copied_behind(fake_cuda_order order, int waits) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  void *x = NULL, *y = NULL;
  const float one = 1, two = 2;
  float found = 0;
  options.order = order;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  const plim_device_api *api = r.device->api;
  void *from = NULL;
  gpu_rig_ok(&r, api->memory.alloc_pinned(r.device, sizeof one, &from));
  gpu_rig_ok(&r, api->memory.alloc(r.device, 256, &x));
  gpu_rig_ok(&r, api->memory.alloc(r.device, 256, &y));
  memcpy(from, &one, sizeof one);
  gpu_rig_ok(&r, api->queues.copy(r.device, 0, x, from, sizeof one));
  gpu_rig_ok(&r, api->queues.sync(r.device));
  memcpy(from, &two, sizeof two);
  gpu_rig_ok(&r, api->queues.copy(r.device, 0, x, from, sizeof two));
  gpu_rig_ok(&r, api->queues.mark(r.device, 0, 0));
  if (waits) gpu_rig_ok(&r, api->queues.wait(r.device, 1, 0));
  gpu_rig_ok(&r, api->queues.copy(r.device, 1, y, x, sizeof two));
  gpu_rig_ok(&r, api->queues.sync(r.device));
  gpu_rig_ok(&r, api->queues.copy(r.device, 0, &found, y, sizeof found));
  gpu_rig_ok(&r, api->queues.sync(r.device));
  api->memory.release_pinned(r.device, from);
  api->memory.release(r.device, x, 256);
  api->memory.release(r.device, y, 256);
  gpu_rig_close(&r);
  return found;
}

Test(cuda_paging, the_fake_gpu_runs_first_what_no_wait_orders) {
  cr_expect_float_eq(copied_behind(FAKE_CUDA_LATE_FIRST, 0), 1, 0);
  cr_expect_float_eq(copied_behind(FAKE_CUDA_LATE_FIRST, 1), 2, 0);
  cr_expect_float_eq(copied_behind(FAKE_CUDA_EARLY_FIRST, 0), 2, 0);
}
