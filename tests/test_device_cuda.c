/* The host side of the cuda device, over a GPU that is none (tests/support/fake_cuda.h): device memory that the host
 * may not touch, kernels that are the CPU's, every call able to fail. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "kernels/launch.h"
#include "runtime/device/desc.h"
#include "runtime/device/device_cuda.h"
#include "runtime/train/state.h"
#include "runtime/train/trainer.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/small_graph.h"

enum { BATCH = 8, SIDE = 6, STEPS = 4, SEED = 3, CLASSES = 10 };

/* A trainer and all that it stands on. */
typedef struct rig {
  plim_context *ctx;
  plim_device *device;
  plim_dataset *dataset;
  plim_program *program;
  plim_trainer *trainer;
} rig;

/* A convolution, batch norm, two dropouts, a gradient that two branches add to. */
static plim_status make_net(plim_context *ctx, plim_net **out) {
  plim_net_options options = plim_net_options_default();
  plim_net *net = NULL;
  options.batch = BATCH;
  options.height = options.width = SIDE;
  options.channels = 1;
  options.classes = CLASSES;
  PLIM_TRY(plim_net_begin(ctx, "small", &options, &net));
  plim_tensor x = plim_net_conv2d(net, "conv", plim_net_image(net), 16, 3, 1, 1, 0);
  x = plim_net_batch_norm_relu(net, "bn", x);
  plim_tensor y = plim_net_dropout(net, "drop", x, 0.2f);
  x = plim_net_add_relu(net, "sum", x, y);
  x = plim_net_dropout(net, "drop2", plim_net_flatten(net, "flat", x), 0.2f);
  plim_net_softmax_xent(net, plim_net_linear(net, "fc", x, CLASSES));
  *out = net;
  return PLIM_OK;
}

static plim_status load_noise(rig *r) {
  plim_dataset_options options = plim_dataset_options_default();
  options.height = options.width = SIDE;
  options.channels = 1;
  options.train_count = 4 * BATCH;
  options.test_count = BATCH;
  return plim_dataset_load(r->ctx, "synthetic", &options, &r->dataset);
}

/* Plan with the single-source variants, which both devices have, within `percent` of the keep-all bytes. */
static plim_status make_plans(rig *r, int32_t percent) {
  plim_plan_options options = plim_plan_options_default();
  const plim_graph *graph = r->program->graph[PLIM_PROGRAM_TRAIN];
  const char *label[64];
  plim_plan *keep_all = NULL;
  for (int32_t i = 0; i < graph->n_ops; i++) label[i] = "single-source";
  options.labels = PLIM_LABELS_GIVEN;
  options.label = label;
  options.iterations = 2000;
  PLIM_TRY(plim_plan_keep_all(r->ctx, graph, r->program->profile[PLIM_PROGRAM_TRAIN], &options, &keep_all));
  if (percent < 100) options.budget_bytes = keep_all->arena_bytes * percent / 100;
  if (percent == 100) options.planner = "keep-all";
  plim_plan_free(keep_all);
  return plim_program_plan(r->program, &options);
}

/* Train on the device for some steps; the rig is to be closed also when this fails. */
static plim_status train(rig *r, int32_t percent, int64_t steps) {
  plim_trainer_options options = {
      .struct_bytes = sizeof options,
      .seed = SEED,
      .schedule = {.rate = 0.05f, .momentum = 0.9f, .weight_decay = 5e-4f, .total_steps = 10},
      .exec = {.struct_bytes = sizeof options.exec}};
  plim_net *net = NULL;
  PLIM_TRY(make_net(r->ctx, &net));
  plim_status status = plim_program_begin(r->device, net, NULL, &r->program);
  plim_net_free(net);
  if (status == PLIM_OK) status = load_noise(r);
  if (status == PLIM_OK) status = make_plans(r, percent);
  if (status == PLIM_OK) status = plim_trainer_open(r->device, r->dataset, r->program, &options, &r->trainer);
  return status == PLIM_OK ? plim_trainer_run(r->trainer, steps, NULL, NULL) : status;
}

static void close_rig(rig *r) {
  plim_trainer_close(r->trainer);
  plim_program_free(r->program);
  plim_dataset_free(r->dataset);
  plim_device_close(r->device);
  plim_context_free(r->ctx);
}

static plim_status open_fake(rig *r, const fake_cuda_options *options, int32_t eager) {
  plim_device_options device = {.struct_bytes = sizeof device, .eager = eager};
  *r = (rig){.ctx = plim_test_context()};
  return plim_device_cuda_open(r->ctx, fake_cuda_driver(options), 0, &device, &r->device);
}

static void ok(const rig *r, plim_status status) {
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(r->ctx));
}

static void expect_same_state(const rig *a, const rig *b) {
  plim_state_difference d;
  ok(a, plim_state_compare(a->trainer, b->trainer, &d));
  cr_assert_gt(d.values, 8);
  cr_assert_eq(d.different, 0, "%s differs", d.name);
}

Test(device_cuda, a_captured_step_under_a_budget_gives_the_bits_of_the_cpu) {
  fake_cuda_options options = fake_cuda_options_default();
  rig gpu, cpu = {.ctx = plim_test_context()};
  plim_device_options one = {.struct_bytes = sizeof one, .threads = 1};
  ok(&gpu, open_fake(&gpu, &options, 0));
  ok(&gpu, train(&gpu, 90, STEPS));
  ok(&cpu, plim_device_open(cpu.ctx, "cpu", &one, &cpu.device));
  ok(&cpu, train(&cpu, 100, STEPS));
  cr_assert_gt(gpu.program->plan[PLIM_PROGRAM_TRAIN]->n_steps, cpu.program->plan[PLIM_PROGRAM_TRAIN]->n_steps);
  expect_same_state(&gpu, &cpu);
  plim_exec_use use = plim_exec_measured(plim_trainer_exec(gpu.trainer), PLIM_PROGRAM_TRAIN);
  cr_assert_eq(use.peak_bytes, gpu.program->plan[PLIM_PROGRAM_TRAIN]->peak_bytes);
  cr_assert_eq(use.own_allocations, 0);
  close_rig(&gpu);
  close_rig(&cpu);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, a_step_is_queued_once_captured_once_and_replayed_from_then_on) {
  fake_cuda_options options = fake_cuda_options_default();
  rig r;
  ok(&r, open_fake(&r, &options, 0));
  ok(&r, train(&r, 100, 1));
  cr_assert_eq(fake_cuda_count().captures, 0);
  ok(&r, plim_trainer_run(r.trainer, 1, NULL, NULL));
  int64_t queued = fake_cuda_count().kernels_queued, run = fake_cuda_count().kernels_run;
  cr_assert_eq(fake_cuda_count().captures, 1);
  ok(&r, plim_trainer_run(r.trainer, 3, NULL, NULL));
  cr_assert_eq(fake_cuda_count().captures, 1);
  cr_assert_eq(fake_cuda_count().launches, 4);
  cr_assert_eq(fake_cuda_count().kernels_queued, queued);
  cr_assert_eq(fake_cuda_count().kernels_run, run + 3 * (run / 2));
  close_rig(&r);
}

Test(device_cuda, eager_steps_give_the_same_bits_without_a_capture) {
  fake_cuda_options options = fake_cuda_options_default();
  rig captured, eager;
  ok(&eager, open_fake(&eager, &options, 1));
  ok(&eager, train(&eager, 100, STEPS));
  cr_assert_eq(fake_cuda_count().captures, 0);
  plim_evaluation by_eager, by_captured;
  ok(&eager, plim_trainer_evaluate(eager.trainer, &by_eager));
  close_rig(&eager);
  ok(&captured, open_fake(&captured, &options, 0));
  ok(&captured, train(&captured, 100, STEPS));
  ok(&captured, plim_trainer_evaluate(captured.trainer, &by_captured));
  cr_assert_eq(by_eager.loss, by_captured.loss);
  cr_assert_eq(by_eager.correct, by_captured.correct);
  close_rig(&captured);
}

/* What the op takes by the clock of the GPU that is none. */
static int64_t kernel_ns(const plim_graph *graph, int32_t op) {
  plim_op_desc desc;
  k_launch launch;
  int64_t tiles = 0;
  plim_desc_of(graph, op, &desc);
  cr_assert(k_launch_make(&desc, &launch));
  for (int i = 0; i < launch.phases; i++) tiles += launch.phase[i].tiles;
  return tiles * FAKE_CUDA_TILE_NS;
}

static void expect_times_of_the_gpu(const rig *r) {
  const plim_plan *plan = r->program->plan[PLIM_PROGRAM_TRAIN];
  const int64_t *time_ns = plim_exec_times(plim_trainer_exec(r->trainer), PLIM_PROGRAM_TRAIN);
  for (int32_t j = 0; j < plan->n_steps; j++) {
    cr_assert_eq(time_ns[j], kernel_ns(r->program->graph[PLIM_PROGRAM_TRAIN], plan->step[j].op), "step %d", j);
  }
}

Test(device_cuda, steps_that_are_timed_give_the_same_bits_and_the_times_of_the_gpu) {
  fake_cuda_options options = fake_cuda_options_default();
  rig timed, cpu = {.ctx = plim_test_context()};
  ok(&timed, open_fake(&timed, &options, 0));
  ok(&timed, train(&timed, 100, 2));
  plim_exec_set_timing(plim_trainer_exec(timed.trainer), 1);
  int64_t captures = fake_cuda_count().captures;
  ok(&timed, plim_trainer_run(timed.trainer, 2, NULL, NULL));
  cr_assert_eq(fake_cuda_count().captures, captures + 2); /* anew each time */
  expect_times_of_the_gpu(&timed);
  plim_exec_set_timing(plim_trainer_exec(timed.trainer), 0);
  ok(&timed, plim_trainer_run(timed.trainer, 1, NULL, NULL));
  ok(&cpu, plim_device_open(cpu.ctx, "cpu", NULL, &cpu.device));
  ok(&cpu, train(&cpu, 100, 5));
  expect_same_state(&timed, &cpu);
  close_rig(&timed);
  close_rig(&cpu);
}

Test(device_cuda, profiles_without_touching_device_memory) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  rig r;
  ok(&r, open_fake(&r, &options, 0));
  ok(&r, make_net(r.ctx, &net));
  ok(&r, plim_net_train_graph(net, &graph));
  profiler.repeats = 2;
  profiler.cache_dir = "";
  ok(&r, plim_profile_measure(r.device, graph, &profiler, &profile));
  cr_assert_str_eq(profile->machine.device, "cuda");
  cr_assert_str_eq(profile->machine.isa, "sm_90");
  for (int32_t v = 0; v < profile->first[profile->n_ops]; v++) {
    cr_assert_eq(profile->variant[v].time_ns, kernel_ns(graph, v)); /* an op has one variant without cuBLAS */
  }
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_net_free(net);
  close_rig(&r);
}

Test(device_cuda, counts_what_goes_outside_the_arena) {
  fake_cuda_options options = fake_cuda_options_default();
  int64_t outside, free_bytes;
  void *arena = NULL;
  rig r;
  ok(&r, open_fake(&r, &options, 0));
  ok(&r, r.device->api->alloc(r.device, 4096, &arena));
  ok(&r, plim_device_cuda_outside(r.device, &outside, &free_bytes));
  cr_assert_eq(outside, 2 * sizeof(uint64_t)); /* the step counter */
  cr_assert_eq(free_bytes, options.memory_bytes - 4096 - outside);
  r.device->api->release(r.device, arena, 4096);
  close_rig(&r);
}

/* ---- what goes wrong ---- */

static void expect_refusal(fake_cuda_options options, int32_t index, plim_status status, const char *words) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), index, NULL, &device), status);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "%s", plim_context_error(ctx));
  cr_assert_null(device);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
  plim_context_free(ctx);
}

Test(device_cuda, says_why_there_is_no_gpu) {
  fake_cuda_options none = fake_cuda_options_default(), old = none, absent = none;
  none.no_driver = 1;
  expect_refusal(none, 0, PLIM_EDEVICE, "no GPU can be used: no driver (CUDA error 35)");
  expect_refusal(absent, 2, PLIM_EDEVICE, "there is no cuda:2: the driver knows 1 GPUs");
  old.major = 6;
  old.minor = 1;
  expect_refusal(old, 0, PLIM_EDEVICE, "compute capability 6.1; the least is 7.5");
}

Test(device_cuda, says_that_a_build_without_cuda_has_none) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  cr_assert_eq(plim_device_cuda_open(ctx, NULL, 0, NULL, &device), PLIM_EDEVICE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "no CUDA"), "%s", plim_context_error(ctx));
  plim_context_free(ctx);
}

Test(device_cuda, opens_by_name_or_says_why_not) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  static const char *const wrong[] = {"cuda:", "cuda:x", "cuda:0x", "cuda:1234", "cpu:0", "cudax"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cr_assert_eq(plim_device_open(ctx, wrong[i], NULL, &device), PLIM_EUSAGE, "%s", wrong[i]);
  }
  cr_assert_eq(plim_device_open(ctx, "cuda:99", NULL, &device), PLIM_EDEVICE); /* a GPU or none: not that many */
  plim_context_free(ctx);
}

Test(device_cuda, refuses_an_arena_larger_than_what_is_free) {
  fake_cuda_options options = fake_cuda_options_default();
  options.memory_bytes = 1 << 16;
  rig r;
  ok(&r, open_fake(&r, &options, 0));
  cr_assert_eq(train(&r, 100, 1), PLIM_ENOMEM);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "more than cuda:0 has free: 65520 of 65536"), "%s",
                     plim_context_error(r.ctx));
  close_rig(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, names_the_step_and_op_at_which_a_device_is_lost) {
  fake_cuda_options options = fake_cuda_options_default();
  rig r;
  ok(&r, open_fake(&r, &options, 1));
  ok(&r, train(&r, 100, 2));
  fake_cuda_fail_at(20);
  cr_assert_eq(plim_trainer_run(r.trainer, 1, NULL, NULL), PLIM_EDEVICE);
  const char *sentence = plim_context_error(r.ctx);
  cr_assert(strstr(sentence, "step ") && strstr(sentence, "op \"") && strstr(sentence, "the device is lost"), "%s",
            sentence);
  close_rig(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

/* Measure the op kinds of the net, then time a step in place. */
static plim_status measure_and_time(rig *r) {
  plim_profiler_options options = plim_profiler_options_default();
  plim_profile *profile = NULL;
  options.repeats = 1;
  options.cache_dir = "";
  PLIM_TRY(plim_profile_measure(r->device, r->program->graph[PLIM_PROGRAM_EVAL], &options, &profile));
  plim_profile_free(profile);
  plim_exec_set_timing(plim_trainer_exec(r->trainer), 1);
  return plim_trainer_run(r->trainer, 1, NULL, NULL);
}

/* Open, train, evaluate, time, close with the n-th call failing, for every n: a failure each time, nothing left open.
 */
Test(device_cuda, survives_the_failure_of_every_call) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_evaluation evaluation;
  int failed = 1;
  options.blas = 1;
  for (int64_t n = 1; failed; n++) {
    rig r;
    options.fail_at = n;
    plim_status status = open_fake(&r, &options, 0);
    if (status == PLIM_OK) status = train(&r, 100, 3);
    if (status == PLIM_OK) status = plim_trainer_evaluate(r.trainer, &evaluation);
    if (status == PLIM_OK) status = measure_and_time(&r);
    int64_t calls = fake_cuda_count().calls;
    failed = calls >= n;
    int heard = failed && fake_cuda_count().failed_leaving == 0;
    cr_assert_eq(status, heard ? PLIM_EDEVICE : PLIM_OK, "call %lld: %s", (long long)n, plim_context_error(r.ctx));
    if (heard) cr_assert_not_null(strstr(plim_context_error(r.ctx), "the device is lost"));
    close_rig(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0, "call %lld leaves %lld open", (long long)n,
                 (long long)fake_cuda_count().open_handles);
  }
}

Test(device_cuda, survives_the_failure_of_every_allocation) {
  fake_cuda_options options = fake_cuda_options_default();
  int failed = 1;
  for (int64_t n = 1; failed; n++) {
    rig r;
    options.fail_alloc_at = n;
    plim_status status = open_fake(&r, &options, 0);
    if (status == PLIM_OK) status = train(&r, 100, 1);
    failed = fake_cuda_count().allocs >= n;
    cr_assert_eq(status, failed ? PLIM_ENOMEM : PLIM_OK, "allocation %lld: %s", (long long)n,
                 plim_context_error(r.ctx));
    close_rig(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0);
  }
}
