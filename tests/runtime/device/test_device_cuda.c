/* The host side of the cuda device, over a fake GPU (tests/support/fake_cuda.h): device memory that the host
 * may not touch, kernels that are the CPU's, every call able to fail. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/device_cuda.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/state.h"
#include "runtime/train/trainer.h"
#include "tests/support/failing_memory.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/folder.h"
#include "tests/support/gpu_rig.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/small_graph.h"

enum { STEPS = 4 };

Test(device_cuda, a_captured_step_under_a_budget_gives_the_bits_of_the_cpu) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig gpu, cpu;
  gpu_rig_ok(&gpu, gpu_rig_open(&gpu, &options, 0));
  gpu_rig_ok(&gpu, gpu_rig_train(&gpu, 90, STEPS));
  gpu_rig_ok(&cpu, gpu_rig_open_cpu(&cpu));
  gpu_rig_ok(&cpu, gpu_rig_train(&cpu, 100, STEPS));
  cr_assert_gt(gpu.program->plan[PLIM_PROGRAM_TRAIN]->n_commands, cpu.program->plan[PLIM_PROGRAM_TRAIN]->n_commands);
  gpu_rig_same(&gpu, &cpu);
  plim_exec_use use = plim_exec_measured(plim_trainer_exec(gpu.trainer), PLIM_PROGRAM_TRAIN);
  cr_assert_eq(use.space[0].peak_bytes, gpu.program->plan[PLIM_PROGRAM_TRAIN]->peak_bytes);
  cr_assert_eq(use.own_allocations, 0);
  gpu_rig_close(&gpu);
  gpu_rig_close(&cpu);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, a_step_is_queued_once_captured_once_and_replayed_from_then_on) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 1));
  cr_assert_eq(fake_cuda_count().captures, 0);
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 1, NULL, NULL));
  int64_t queued = fake_cuda_count().kernels_queued, run = fake_cuda_count().kernels_run;
  cr_assert_eq(fake_cuda_count().captures, 1);
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 3, NULL, NULL));
  cr_assert_eq(fake_cuda_count().captures, 1);
  cr_assert_eq(fake_cuda_count().launches, 4);
  cr_assert_eq(fake_cuda_count().kernels_queued, queued);
  cr_assert_eq(fake_cuda_count().kernels_run, run + 3 * (run / 2));
  gpu_rig_close(&r);
}

/* What the host does in a step that is replayed: the batch, the rates and the step number go out and the results come
 * back around one launch, and all of it is waited for once. */
Test(device_cuda, a_replayed_step_is_one_launch_and_one_wait) {
  enum { COPIES = 6, ROUND = 4 /* the launch, the wait, the device chosen for each way in */ };
  fake_cuda_options options = fake_cuda_options_default();
  plim_evaluation evaluation;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 4));
  for (int i = 0; i < 3; i++) gpu_rig_ok(&r, plim_trainer_evaluate(r.trainer, &evaluation));
  const fake_cuda_counts before = fake_cuda_count();
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 1, NULL, NULL));
  const fake_cuda_counts step = fake_cuda_count();
  cr_assert_eq(step.launches - before.launches, 1);
  cr_assert_eq(step.waits - before.waits, 1, "%d waits", (int)(step.waits - before.waits));
  cr_assert_eq(step.kernels_queued - before.kernels_queued, 0);
  cr_assert_eq(step.allocs - before.allocs + step.captures - before.captures, 0);
  cr_assert_leq(step.calls - before.calls, COPIES + ROUND, "%d calls", (int)(step.calls - before.calls));
  gpu_rig_ok(&r, plim_trainer_evaluate(r.trainer, &evaluation)); /* of one batch */
  cr_assert_eq(fake_cuda_count().waits - step.waits, 1);
  cr_assert_eq(evaluation.counted, GPU_RIG_BATCH);
  gpu_rig_close(&r);
}

typedef struct losses {
  int n;
  float loss[8];
  int32_t correct[8];
} losses;

static void keep_loss(void *user, const plim_step_report *report) {
  losses *l = user;
  l->loss[l->n] = report->loss;
  l->correct[l->n++] = report->correct;
}

/* Queued, captured, replayed. */
Test(device_cuda, what_a_step_reports_is_its_own_and_not_that_of_the_step_before) {
  enum { REPORTS = 6 };
  fake_cuda_options options = fake_cuda_options_default();
  losses told[2] = {{0}, {0}};
  gpu_rig r[2];
  gpu_rig_ok(&r[0], gpu_rig_open(&r[0], &options, 0));
  gpu_rig_ok(&r[1], gpu_rig_open_cpu(&r[1]));
  for (int i = 0; i < 2; i++) {
    gpu_rig_ok(&r[i], gpu_rig_train(&r[i], 100, 0));
    gpu_rig_ok(&r[i], plim_trainer_run(r[i].trainer, REPORTS, keep_loss, &told[i]));
    gpu_rig_close(&r[i]);
  }
  for (int i = 0; i < REPORTS; i++) {
    cr_assert_eq(told[0].loss[i], told[1].loss[i], "step %d", i);
    cr_assert_eq(told[0].correct[i], told[1].correct[i], "step %d", i);
    if (i > 0) cr_assert_neq(told[0].loss[i], told[0].loss[i - 1]);
  }
}

Test(device_cuda, eager_steps_give_the_same_bits_without_a_capture) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig captured, eager;
  gpu_rig_ok(&eager, gpu_rig_open(&eager, &options, 1));
  gpu_rig_ok(&eager, gpu_rig_train(&eager, 100, STEPS));
  cr_assert_eq(fake_cuda_count().captures, 0);
  plim_evaluation by_eager, by_captured;
  gpu_rig_ok(&eager, plim_trainer_evaluate(eager.trainer, &by_eager));
  gpu_rig_close(&eager);
  gpu_rig_ok(&captured, gpu_rig_open(&captured, &options, 0));
  gpu_rig_ok(&captured, gpu_rig_train(&captured, 100, STEPS));
  gpu_rig_ok(&captured, plim_trainer_evaluate(captured.trainer, &by_captured));
  cr_assert_eq(by_eager.loss, by_captured.loss);
  cr_assert_eq(by_eager.correct, by_captured.correct);
  gpu_rig_close(&captured);
}

static void expect_times_of_the_gpu(const gpu_rig *r) {
  const plim_plan *plan = r->program->plan[PLIM_PROGRAM_TRAIN];
  const int64_t *time_ns = plim_exec_times(plim_trainer_exec(r->trainer), PLIM_PROGRAM_TRAIN);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    cr_assert_eq(time_ns[j], gpu_rig_kernel_ns(r->program->graph[PLIM_PROGRAM_TRAIN], plan->command[j].op),
                 "command %d", j);
  }
}

Test(device_cuda, steps_that_are_timed_give_the_same_bits_and_the_times_of_the_gpu) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig timed, cpu = {.ctx = plim_test_context()};
  gpu_rig_ok(&timed, gpu_rig_open(&timed, &options, 0));
  gpu_rig_ok(&timed, gpu_rig_train(&timed, 100, 2));
  plim_exec_timing_begin(plim_trainer_exec(timed.trainer));
  gpu_rig_ok(&timed, plim_trainer_run(timed.trainer, 1, NULL, NULL)); /* what events cost is measured once, too */
  int64_t captures = fake_cuda_count().captures;
  gpu_rig_ok(&timed, plim_trainer_run(timed.trainer, 1, NULL, NULL));
  cr_assert_eq(fake_cuda_count().captures, captures + 1); /* anew each time */
  expect_times_of_the_gpu(&timed);
  plim_exec_timing_end(plim_trainer_exec(timed.trainer));
  gpu_rig_ok(&timed, plim_trainer_run(timed.trainer, 1, NULL, NULL));
  gpu_rig_ok(&cpu, plim_device_open(cpu.ctx, "cpu", NULL, &cpu.device));
  gpu_rig_ok(&cpu, gpu_rig_train(&cpu, 100, 5));
  gpu_rig_same(&timed, &cpu);
  gpu_rig_close(&timed);
  gpu_rig_close(&cpu);
}

Test(device_cuda, profiles_without_touching_device_memory) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_net *net = NULL;
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_net(r.ctx, PLIM_NHWC, &net));
  gpu_rig_ok(&r, plim_net_train_graph(net, &graph));
  profiler.repeats = 2;
  profiler.cache_dir = "";
  gpu_rig_ok(&r, plim_profile_measure(r.device, graph, &profiler, &profile));
  cr_assert_str_eq(profile->machine.device, "cuda");
  cr_assert_str_eq(profile->machine.isa, "sm_90");
  for (int32_t v = 0; v < profile->first[profile->n_ops]; v++) {
    cr_assert_eq(profile->variant[v].time_ns, gpu_rig_kernel_ns(graph, v)); /* an op has one variant without cuBLAS */
  }
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_net_free(net);
  gpu_rig_close(&r);
}

Test(device_cuda, counts_what_goes_outside_the_arena) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_cuda_memory now;
  void *arena = NULL;
  gpu_rig r;
  options.blas = 1;
  options.blas_bytes = 32 << 20;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, r.device->api->memory.alloc(r.device, 4096, &arena));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  /* the workspace that the library takes for itself, and the step counter */
  cr_assert_eq(now.outside_bytes, options.blas_bytes + 2 * (int64_t)sizeof(uint64_t));
  cr_assert_eq(now.free_bytes, options.memory_bytes - 4096 - now.outside_bytes);
  r.device->api->memory.release(r.device, arena, 4096);
  gpu_rig_close(&r);
}

Test(device_cuda, arenas_are_aligned_where_the_library_gives_no_more_than_it_promises) {
  fake_cuda_options options = fake_cuda_options_default();
  void *arena[3];
  gpu_rig r, cpu;
  options.alignment = 256;
  options.blas = options.dnn = 1;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  for (int i = 0; i < 3; i++) {
    gpu_rig_ok(&r, r.device->api->memory.alloc(r.device, 1000, &arena[i]));
    cr_assert_eq((uintptr_t)arena[i] % PLIM_ALIGN, 0);
  }
  for (int i = 0; i < 3; i++) r.device->api->memory.release(r.device, arena[(i + 1) % 3], 1000);
  gpu_rig_ok(&r, gpu_rig_train(&r, 90, 2));
  gpu_rig_ok(&cpu, gpu_rig_open_cpu(&cpu));
  gpu_rig_ok(&cpu, gpu_rig_train(&cpu, 100, 2));
  gpu_rig_same(&r, &cpu);
  gpu_rig_close(&cpu);
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

/* ---- what goes wrong ---- */

Test(device_cuda, an_arena_that_finds_no_memory_of_the_host_does_not_say_that_the_gpu_is_full) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_context *ctx = NULL;
  plim_device *device = NULL;
  plim_failing_memory memory = {0};
  void *arena = NULL;
  options.alignment = 256;
  cr_assert_eq(plim_context_new(plim_failing_resize, &memory, &ctx), PLIM_OK);
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &device), PLIM_OK);
  memory.refuse_all = 1;
  cr_expect_eq(device->api->memory.alloc(device, 1000, &arena), PLIM_ENOMEM, "%s", plim_context_error(ctx));
  memory.refuse_all = 0;
  cr_assert_null(arena);
  plim_device_close(device);
  plim_context_free(ctx);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

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
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  cr_assert_eq(gpu_rig_train(&r, 100, 1), PLIM_ENOFIT);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "more than cuda:0 has free, 65520 of 65536"), "%s",
                     plim_context_error(r.ctx));
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

/* Each call of a training step fails in turn: the sentence has command or step, and op, or the ops between which it
 * was. */
static void expect_every_loss_named(gpu_rig *r, int captured) {
  int64_t calls = fake_cuda_count().calls;
  int whole = 0;
  gpu_rig_ok(r, plim_trainer_run(r->trainer, 1, NULL, NULL));
  calls = fake_cuda_count().calls - calls;
  for (int64_t n = 1; n <= calls; n++) {
    fake_cuda_fail_at(n);
    cr_assert_eq(plim_trainer_run(r->trainer, 1, NULL, NULL), PLIM_EDEVICE);
    const char *sentence = plim_context_error(r->ctx);
    cr_assert(strstr(sentence, "command ") || strstr(sentence, "step "), "call %d: %s", (int)n, sentence);
    cr_assert(strstr(sentence, "op \"") && strstr(sentence, "the device is lost"), "call %d: %s", (int)n, sentence);
    whole += strstr(sentence, "captured from op \"") != NULL;
    fake_cuda_fail_at(0);
    gpu_rig_ok(r, plim_trainer_run(r->trainer, 2, NULL, NULL)); /* captured again */
  }
  cr_assert_eq(whole > 0, captured);
}

Test(device_cuda, names_the_step_and_op_at_which_a_device_is_lost) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 1));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 2));
  expect_every_loss_named(&r, 0);
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, names_the_step_of_the_run_when_a_replayed_one_is_lost) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 3));
  expect_every_loss_named(&r, 1);
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, names_the_layouts_that_libraries_of_a_gpu_take) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig gpu, cpu;
  gpu_rig_ok(&gpu, gpu_rig_open(&gpu, &options, 0));
  gpu_rig_ok(&cpu, gpu_rig_open_cpu(&cpu));
  cr_assert_eq(gpu.device->n_layouts, 2);
  cr_assert(gpu.device->layout[0] == PLIM_NHWC && gpu.device->layout[1] == PLIM_FLAT);
  cr_assert_eq(cpu.device->n_layouts, 2);
  cr_assert(cpu.device->layout[1] == PLIM_NCHW8C || cpu.device->layout[1] == PLIM_NCHW16C);
  gpu_rig_close(&gpu);
  gpu_rig_close(&cpu);
}

static void *host_alloc(void *user, int64_t bytes) {
  (void)user, (void)bytes;
  return NULL;
}
static void host_free(void *user, void *ptr, int64_t bytes) {
  (void)user, (void)ptr, (void)bytes;
}

/* Dropout of ones by a step's number, on a queue; nothing is waited for. */
static void put_dropout(const gpu_rig *r, void *kernel, const plim_op_desc *op, int32_t queue, int64_t step, void *x,
                        void *memory) {
  void *out[] = {memory, (char *)memory + plim_shape_bytes(&op->out[0])};
  const plim_kernel_args args = {.in = &x, .out = out, .seed = 5, .step = step, .op = 3};
  gpu_rig_ok(r, r->device->api->kernels.run(r->device, queue, kernel, &args));
}

/* The numbers that kernels draw by are those of their own call, though the host goes on to the next at once. */
Test(device_cuda, runs_that_are_queued_one_after_the_other_have_each_its_own_step_number) {
  enum { RUNS = 70, BYTES = 1 << 17 };
  const plim_op_desc op = kernel_sample(PLIM_OP_DROPOUT, PLIM_NHWC);
  fake_cuda_options options = fake_cuda_options_default();
  const int64_t bytes = plim_shape_bytes(&op.out[0]);
  static unsigned char got[RUNS][BYTES], alone[BYTES];
  void *kernel = NULL, *x = NULL, *memory = NULL;
  int different = 0;
  gpu_rig r;
  cr_assert_leq(bytes, BYTES);
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, r.device->api->kernels.prepare(r.device, &op, "single-source", &kernel));
  gpu_rig_ok(&r, r.device->api->memory.alloc(r.device, bytes, &x));
  gpu_rig_ok(&r, r.device->api->memory.alloc(r.device, (RUNS + 1) * (int64_t)BYTES * 2, &memory));
  gpu_rig_ok(&r, r.device->api->queues.fill(r.device, 0, x, 0x3f, bytes));
  for (int i = 0; i < RUNS; i++)
    put_dropout(&r, kernel, &op, i % 16 == 15, i, x, (char *)memory + (size_t)i * BYTES * 2);
  gpu_rig_ok(&r, r.device->api->queues.sync(r.device));
  for (int i = 0; i < RUNS; i++) {
    gpu_rig_ok(&r, r.device->api->queues.copy(r.device, 0, got[i], (char *)memory + (size_t)i * BYTES * 2, bytes));
    put_dropout(&r, kernel, &op, 0, i, x, (char *)memory + (size_t)RUNS * BYTES * 2);
    gpu_rig_ok(&r, r.device->api->queues.copy(r.device, 0, alone, (char *)memory + (size_t)RUNS * BYTES * 2, bytes));
    gpu_rig_ok(&r, r.device->api->queues.sync(r.device));
    cr_assert_arr_eq(got[i], alone, (size_t)bytes, "run %d", i);
    if (i > 0) different += memcmp(got[i], got[i - 1], (size_t)bytes) != 0;
  }
  cr_assert_gt(different, RUNS / 2);
  r.device->api->memory.release(r.device, x, bytes);
  r.device->api->memory.release(r.device, memory, (RUNS + 1) * (int64_t)BYTES * 2);
  r.device->api->kernels.unprepare(r.device, kernel);
  gpu_rig_close(&r);
}

/* Its batch is on its way when the step's first command fails. */
Test(device_cuda, a_trainer_that_failed_is_closed_after_its_copies) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 3));
  fake_cuda_fail_at(4); /* after image, label and rates: the step number */
  cr_assert_eq(plim_trainer_run(r.trainer, 1, NULL, NULL), PLIM_EDEVICE);
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, memory_of_the_host_is_refused_for_the_buffers_of_a_plan) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_trainer_options training = gpu_rig_training();
  plim_plan_options planning;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, gpu_rig_planning(&r, 100, &planning));
  gpu_rig_ok(&r, plim_program_plan(r.program, &planning));
  training.exec.addresses = PLIM_ADDRESSES_EACH;
  training.exec.buffer_alloc = host_alloc;
  training.exec.buffer_free = host_free;
  cr_assert_eq(plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "host memory"), "%s", plim_context_error(r.ctx));
  gpu_rig_close(&r);
}

/* ---- several devices and threads ---- */

static void *train_a_step(void *user) {
  gpu_rig *r = user;
  gpu_rig_ok(r, plim_trainer_run(r->trainer, 1, NULL, NULL));
  return NULL;
}

/* Streams and memory of a device are of no use on another, and each thread begins on device 0. */
Test(device_cuda, two_gpus_take_turns_in_one_thread_and_in_others) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig gpu[2] = {{.ctx = plim_test_context()}, {.ctx = plim_test_context()}}, cpu;
  options.devices = 2;
  options.blas = options.dnn = 1;
  const plim_cuda_driver *driver = fake_cuda_driver(&options);
  for (int i = 0; i < 2; i++) {
    gpu_rig_ok(&gpu[i], plim_device_cuda_open(gpu[i].ctx, driver, i, NULL, &gpu[i].device));
  }
  for (int i = 0; i < 2; i++) gpu_rig_ok(&gpu[i], gpu_rig_train(&gpu[i], 90, 2));
  for (int k = 0; k < 4; k++) {
    pthread_t thread;
    (void)train_a_step(&gpu[k % 2]);
    cr_assert_eq(pthread_create(&thread, NULL, train_a_step, &gpu[(k + 1) % 2]), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
  }
  cr_assert_eq(fake_cuda_count().foreign, 0);
  gpu_rig_ok(&cpu, gpu_rig_open_cpu(&cpu));
  gpu_rig_ok(&cpu, gpu_rig_train(&cpu, 100, 6));
  for (int i = 0; i < 2; i++) gpu_rig_same(&gpu[i], &cpu);
  gpu_rig_close(&cpu);
  for (int i = 0; i < 2; i++) gpu_rig_close(&gpu[i]);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, every_event_has_its_own_and_far_ones_are_refused) {
  enum { MARKS = 300 };
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  const plim_device_api *api = r.device->api;
  for (int32_t i = 0; i < MARKS; i++) gpu_rig_ok(&r, api->queues.mark(r.device, i % 2, i));
  cr_assert_eq(fake_cuda_count().events_recorded, MARKS);
  for (int32_t i = 0; i < MARKS; i++) gpu_rig_ok(&r, api->queues.wait(r.device, (i + 1) % 2, i));
  cr_assert_eq(api->queues.mark(r.device, 0, -1), PLIM_EUSAGE);
  cr_assert_eq(api->queues.wait(r.device, 0, INT32_MAX), PLIM_EUSAGE);
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, a_step_without_an_arena_that_fails_costs_no_other_its_capture) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_trainer_options training = gpu_rig_training();
  plim_trainer *each = NULL;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 3));
  training.exec.addresses = PLIM_ADDRESSES_EACH;
  gpu_rig_ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &training, &each));
  plim_status status = PLIM_OK;
  for (int64_t n = 12; n < 60 && status == PLIM_OK; n++) { /* some give a buffer back, which no one minds */
    fake_cuda_fail_at(n);
    status = plim_trainer_run(each, 1, NULL, NULL);
  }
  cr_assert_eq(status, PLIM_EDEVICE, "%d: %s", (int)status, plim_context_error(r.ctx));
  fake_cuda_fail_at(0);
  plim_trainer_close(each);
  int64_t captures = fake_cuda_count().captures;
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, 2, NULL, NULL));
  cr_assert_eq(fake_cuda_count().captures, captures, "the step was captured anew");
  gpu_rig_close(&r);
}

/* What a library refused is told with its own number. */
Test(device_cuda, errors_of_libraries_are_told_with_their_codes) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  fake_cuda_options options = fake_cuda_options_default();
  options.dnn = 1;
  int told = 0;
  for (int64_t n = 1; n < 4000 && !told; n += 7) {
    gpu_rig r;
    options.fail_at = n;
    plim_status status = gpu_rig_open(&r, &options, 0);
    r.family = "cudnn";
    if (status == PLIM_OK) status = gpu_rig_train(&r, 100, 1);
    told = status == PLIM_EDEVICE && strstr(plim_context_error(r.ctx), "(cuDNN status 5000") != NULL;
    gpu_rig_close(&r);
  }
  cr_assert(told, "no failure of cuDNN was told with its status");
}

Test(device_cuda, an_engine_that_refuses_to_be_planned_is_no_variant_and_ends_nothing) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_profiler_options profiler = plim_profiler_options_default();
  plim_profile *profile = NULL;
  gpu_rig r;
  options.dnn = 1;
  options.refuse_plan = 1;
  profiler.repeats = 1;
  profiler.cache_dir = "";
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, plim_profile_measure(r.device, r.program->graph[PLIM_PROGRAM_TRAIN], &profiler, &profile));
  int others = 0;
  for (int32_t v = 0; v < profile->first[profile->n_ops]; v++) {
    cr_assert_neq(strncmp(profile->variant[v].name, "cudnn-e1-", 9), 0);
    others += strncmp(profile->variant[v].name, "cudnn-e21-", 10) == 0;
  }
  cr_assert_gt(others, 0);
  plim_profile_free(profile);
  gpu_rig_close(&r);
}

static void expect_unprepared(plim_device *device, const plim_op_desc *op, const char *variant, plim_status status,
                              int by_cudnn) {
  void *kernel = NULL;
  const char *words = plim_context_error(device->ctx);
  cr_expect_eq(device->api->kernels.prepare(device, op, variant, &kernel), status, "%s: %s", variant, words);
  cr_expect_eq(strstr(words, "cuDNN status") != NULL, by_cudnn, "%s", words);
  cr_assert_null(kernel);
}

Test(device_cuda, what_cudnn_refused_is_not_said_of_other_kernels) {
  const plim_op_desc conv = kernel_sample(PLIM_OP_CONV2D, PLIM_NHWC),
                     product = kernel_sample(PLIM_OP_LINEAR, PLIM_FLAT);
  fake_cuda_options options = fake_cuda_options_default();
  plim_failing_memory memory = {0};
  plim_context *ctx = NULL;
  plim_device *device = NULL;
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  options.dnn = 1;
  options.refuse_plan = 1;
  cr_assert_eq(plim_context_new(plim_failing_resize, &memory, &ctx), PLIM_OK);
  cr_assert_eq(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &device), PLIM_OK);
  int refused = 0;
  const int n = device->api->kernels.variants(device, &conv, info, PLIM_KERNEL_VARIANTS);
  while (refused < n && strncmp(info[refused].name, "cudnn-e1-", 9) != 0) refused++;
  cr_assert_lt(refused, n);
  expect_unprepared(device, &conv, info[refused].name, PLIM_EUNSUPPORTED, 1);
  expect_unprepared(device, &product, "no such variant", PLIM_EUNSUPPORTED, 0);
  expect_unprepared(device, &conv, info[refused].name, PLIM_EUNSUPPORTED, 1);
  memory.refuse_all = 1;
  expect_unprepared(device, &product, "single-source", PLIM_ENOMEM, 0);
  memory.refuse_all = 0;
  plim_device_close(device);
  plim_context_free(ctx);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
}

Test(device_cuda, a_lost_device_leaves_no_checkpoint_and_is_closed) {
  fake_cuda_options options = fake_cuda_options_default();
  gpu_rig r;
  (void)plim_test_folder();
  options.fail_stays = 1;
  gpu_rig_ok(&r, gpu_rig_open(&r, &options, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 100, 3));
  fake_cuda_fail_at(1);
  cr_assert_eq(plim_trainer_run(r.trainer, 1, NULL, NULL), PLIM_EDEVICE);
  cr_assert_eq(plim_checkpoint_save(r.trainer, plim_test_path("lost.ck")), PLIM_EDEVICE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "the device is lost"), "%s", plim_context_error(r.ctx));
  cr_assert_neq(access(plim_test_path("lost.ck"), F_OK), 0);
  gpu_rig_close(&r);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
  plim_test_folder_remove();
}

/* Measure the op kinds of the net, then time a step in place. *dropped: variants that failed, and others continued. */
static plim_status measure_and_time(gpu_rig *r, int *dropped) {
  plim_profiler_options options = plim_profiler_options_default();
  plim_profile *profile = NULL;
  options.repeats = 1;
  options.cache_dir = "";
  options.wanted_bytes = 1; /* what the largest op needs, and no more: the calls are the same */
  PLIM_TRY(plim_profile_measure(r->device, r->program->graph[PLIM_PROGRAM_EVAL], &options, &profile));
  *dropped = profile->n_dropped;
  plim_profile_free(profile);
  plim_exec_timing_begin(plim_trainer_exec(r->trainer));
  return plim_trainer_run(r->trainer, 1, NULL, NULL);
}

/* Open, train, evaluate, time, close with the n-th call failing, and where that stays so all after it: a
 * failure each time, nothing left open. */
static void expect_every_failure(int stays) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_evaluation evaluation;
  int failed = 1;
  options.blas = 1;
  options.major = 8; /* an eighth of the workspace that cuBLAS gets from 9 on: the calls are the same */
  options.fail_stays = stays;
#ifdef PLIM_SANITIZED
  const int64_t stride = stays ? 21 : 11; /* of the calls; the release build lets each fail */
#else
  const int64_t stride = stays ? 7 : 1;
#endif
  for (int64_t n = 1; failed; n += stride) {
    gpu_rig r;
    int dropped = 0;
    options.fail_at = n;
    plim_status status = gpu_rig_open(&r, &options, 0);
    if (status == PLIM_OK) status = gpu_rig_train(&r, 100, 3);
    if (status == PLIM_OK) status = plim_trainer_evaluate(r.trainer, &evaluation);
    if (status == PLIM_OK) status = measure_and_time(&r, &dropped);
    int64_t calls = fake_cuda_count().calls;
    failed = calls >= n;
    int noted = failed && fake_cuda_count().failed_leaving == 0 && dropped == 0;
    if (stays && failed && status != PLIM_OK) noted = 1; /* what only gives something back may fail first */
    cr_assert_eq(status, noted ? PLIM_EDEVICE : PLIM_OK, "call %lld: %s", (long long)n, plim_context_error(r.ctx));
    if (noted) cr_assert_not_null(strstr(plim_context_error(r.ctx), "the device is lost"));
    gpu_rig_close(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0, "call %lld leaves %lld open", (long long)n,
                 (long long)fake_cuda_count().open_handles);
  }
}

Test(device_cuda, survives_the_failure_of_every_call) {
  expect_every_failure(0);
}

Test(device_cuda, survives_a_loss_of_the_device_at_every_seventh_call) {
  expect_every_failure(1);
}

Test(device_cuda, survives_the_failure_of_every_allocation) {
  fake_cuda_options options = fake_cuda_options_default();
  int failed = 1;
  for (int64_t n = 1; failed; n++) {
    gpu_rig r;
    options.fail_alloc_at = n;
    plim_status status = gpu_rig_open(&r, &options, 0);
    if (status == PLIM_OK) status = gpu_rig_train(&r, 100, 1);
    failed = fake_cuda_count().allocs >= n;
    int told = failed ? status == PLIM_ENOMEM || status == PLIM_ENOFIT : status == PLIM_OK; /* ENOFIT: the arena */
    cr_assert(told, "allocation %lld: %s", (long long)n, plim_context_error(r.ctx));
    gpu_rig_close(&r);
    cr_assert_eq(fake_cuda_count().open_handles, 0);
  }
}
