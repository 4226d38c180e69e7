/* What a GPU has to do whatever is on it: every variant that it offers computes what it says, captured steps leave the
 * bits of queued ones, and what lies beside the arena is as large as is told. For the device of PLIM_TEST_DEVICE. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device_cuda.h"
#include "runtime/device/vram.h"
#include "runtime/train/warm_up.h"
#include "tests/support/device_under_test.h"
#include "tests/support/gpu_rig.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/small_graph.h"
#include "tests/support/variant_check.h"

enum { MIB = 1 << 20, STEPS = 4, VARIANTS = 16 };

static void setup(void) {
  if (plim_test_on_cpu()) cr_skip_test("SKIP: PLIM_TEST_DEVICE names no GPU");
}
TestSuite(gpu, .init = setup);

/* ---- variants ---- */

static void check_variants(plim_device *device, const plim_op_desc *op) {
  plim_kernel_info info[VARIANTS];
  int n = device->api->kernels.variants(device, op, info, VARIANTS);
  cr_assert_geq(n, 1);
  for (int i = 0; i < n; i++) variant_check(device, op, &info[i]);
}

/* In every precision. */
static void check_modes(plim_device *device, const plim_op_desc *op) {
  plim_op_desc other = *op;
  check_variants(device, op);
  other.attrs.tf32 = 1;
  check_variants(device, &other);
  kernel_to_bf16(&other);
  check_variants(device, &other);
}

static const variant_window windows[] = {
    {5, 3, 7, 6, 4, {3, 3}, 1, 1},     {7, 2, 9, 8, 5, {3, 3}, 2, 1},   {3, 4, 7, 9, 6, {1, 1}, 2, 0},
    {2, 16, 10, 10, 16, {3, 3}, 1, 1}, {1, 2, 6, 9, 2, {5, 3}, 2, 2},   {4, 8, 8, 8, 8, {1, 1}, 1, 0},
    {1, 1, 5, 5, 1, {3, 3}, 1, 1},     {1, 17, 6, 6, 17, {3, 3}, 1, 1}, {1, 3, 4, 4, 17, {1, 1}, 1, 0},
};

Test(gpu, every_variant_of_a_convolution_agrees_with_the_reference) {
  static const plim_layout layouts[] = {PLIM_NHWC, PLIM_FLAT};
  plim_context *ctx = plim_test_context();
  plim_device *device = plim_test_device(ctx, 0);
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    for (int l = 0; l < 2; l++) {
      plim_op_desc op[3];
      variant_windows(&windows[i], layouts[l], op);
      for (int k = 0; k < 3; k++) check_modes(device, &op[k]);
    }
  }
  plim_device_close(device);
  plim_context_free(ctx);
}

Test(gpu, every_variant_of_a_linear_layer_agrees_with_the_reference) {
  static const plim_op_kind kinds[] = {PLIM_OP_LINEAR, PLIM_OP_LINEAR_BWD_DATA, PLIM_OP_LINEAR_BWD_WEIGHTS};
  plim_context *ctx = plim_test_context();
  plim_device *device = plim_test_device(ctx, 0);
  for (int k = 0; k < 3; k++) {
    const plim_op_desc op = kernel_sample(kinds[k], PLIM_NHWC);
    check_modes(device, &op);
  }
  plim_device_close(device);
  plim_context_free(ctx);
}

/* A sum of 65536 products in each element: parts of it that were rounded to bf16 would be off by parts of a hundred. */
Test(gpu, long_sums_of_products_in_bf16_are_sums_of_floats) {
  enum { LONG = 1 << 16, M = 4, N = 8 };
  plim_context *ctx = plim_test_context();
  plim_device *device = plim_test_device(ctx, 0);
  plim_op_desc op = kernel_op(PLIM_OP_LINEAR_BWD_WEIGHTS, 2, 1, kernel_shape(PLIM_F32, 2, LONG, M, 1, 1),
                              kernel_shape(PLIM_F32, 2, M, N, 1, 1));
  op.in[1] = kernel_shape(PLIM_F32, 2, LONG, N, 1, 1);
  kernel_to_bf16(&op);
  check_variants(device, &op); /* to 3e-4 of the largest: the result is floats */
  plim_device_close(device);
  plim_context_free(ctx);
}

/* ---- steps ---- */

static void train(gpu_rig *r, const char *family, int32_t eager, int32_t percent) {
  gpu_rig_ok(r, gpu_rig_open_tested(r, eager));
  r->family = family;
  gpu_rig_ok(r, gpu_rig_train(r, percent, STEPS));
}

Test(gpu, captured_queued_timed_and_capped_steps_leave_the_same_bits) {
  static const char *const families[] = {NULL, "cublas", "cudnn"}; /* where they are offered */
  for (int f = 0; f < 3; f++) {
    gpu_rig captured, queued, capped, timed;
    train(&captured, families[f], 0, 100);
    train(&queued, families[f], 1, 100);
    train(&capped, families[f], 0, families[f] ? 100 : 95); /* workspaces of libraries leave nothing to save here */
    gpu_rig_ok(&timed, gpu_rig_open_tested(&timed, 0));
    timed.family = families[f];
    gpu_rig_ok(&timed, gpu_rig_train(&timed, 100, STEPS - 1));
    plim_exec_timing_begin(plim_trainer_exec(timed.trainer));
    gpu_rig_ok(&timed, plim_trainer_run(timed.trainer, 1, NULL, NULL));
    const plim_plan *plan = timed.program->plan[PLIM_PROGRAM_TRAIN];
    const int64_t *time_ns = plim_exec_times(plim_trainer_exec(timed.trainer), PLIM_PROGRAM_TRAIN);
    for (int32_t j = 0; j < plan->n_commands; j++) cr_assert_geq(time_ns[j], 0, "step %d", j);
    gpu_rig_same(&captured, &queued);
    gpu_rig_same(&captured, &capped);
    gpu_rig_same(&captured, &timed);
    gpu_rig_close(&captured);
    gpu_rig_close(&queued);
    gpu_rig_close(&capped);
    gpu_rig_close(&timed);
  }
}

/* The driver, of which one call is refused before it does anything. */
static struct {
  plim_cuda_driver driver;
  const plim_cuda_driver *real;
  int64_t launch_at, replay_at; /* the n-th kernel, or captured step, from now on; 0: none */
} refusing;
enum { OUT_OF_RESOURCES = 701 /* which is no error that stays */ };

static int refuse_launch(k_kernel kernel, const k_call *call, int64_t tiles, void *stream) {
  if (refusing.launch_at > 0 && --refusing.launch_at == 0) return OUT_OF_RESOURCES;
  return refusing.real->launch(kernel, call, tiles, stream);
}

static int refuse_replay(void *captured, void *stream) {
  if (refusing.replay_at > 0 && --refusing.replay_at == 0) return OUT_OF_RESOURCES;
  return refusing.real->captured_launch(captured, stream);
}

static void open_refusing(gpu_rig *r) {
  const char *index = strchr(plim_test_device_name(), ':');
  refusing.real = plim_cuda_driver_real();
  refusing.driver = *refusing.real;
  refusing.driver.launch = refuse_launch;
  refusing.driver.captured_launch = refuse_replay;
  *r = (gpu_rig){.ctx = plim_test_context()};
  gpu_rig_ok(r, plim_device_cuda_open(r->ctx, &refusing.driver, index ? (int32_t)strtol(index + 1, NULL, 10) : 0, NULL,
                                      &r->device));
}

/* Row of a table: steps before the one that fails, and what is refused in it. In none of them has the GPU begun. */
static const struct {
  int64_t steps, launch_at, replay_at;
} failures[] = {{0, 1, 0}, {1, 1, 0}, {1, 20, 0}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}};

Test(gpu, a_step_that_failed_is_run_again_and_leaves_the_bits_of_a_run_without_failure) {
  gpu_rig well;
  train(&well, NULL, 0, 100);
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    gpu_rig r;
    open_refusing(&r);
    gpu_rig_ok(&r, gpu_rig_train(&r, 100, failures[i].steps));
    refusing.launch_at = failures[i].launch_at;
    refusing.replay_at = failures[i].replay_at;
    cr_assert_eq(plim_trainer_run(r.trainer, 1, NULL, NULL), PLIM_EDEVICE, "row %d", (int)i);
    cr_assert_not_null(strstr(plim_context_error(r.ctx), "(CUDA error 701)"), "%s", plim_context_error(r.ctx));
    gpu_rig_ok(&r, plim_trainer_run(r.trainer, STEPS - failures[i].steps, NULL, NULL));
    gpu_rig_same(&well, &r);
    gpu_rig_close(&r);
  }
  gpu_rig_close(&well);
}

/* ---- threads, and what is lost ---- */

typedef struct work {
  plim_device *device;
  const plim_op_desc *op;
} work;

static void *check_on_thread(void *user) {
  const work *w = user;
  check_variants(w->device, w->op);
  return NULL;
}

Test(gpu, a_device_serves_another_thread_than_the_one_that_opened_it) {
  plim_context *ctx = plim_test_context();
  const plim_op_desc op = kernel_sample(PLIM_OP_LINEAR, PLIM_NHWC);
  work w = {plim_test_device(ctx, 0), &op};
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, check_on_thread, &w), 0);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  check_variants(w.device, &op);
  plim_device_close(w.device);
  plim_context_free(ctx);
}

Test(gpu, closing_and_opening_again_leaks_no_memory) {
  enum { TIMES = 20 };
  const plim_op_desc op = kernel_sample(PLIM_OP_LINEAR, PLIM_NHWC);
  plim_context *ctx = plim_test_context();
  int64_t free_bytes[TIMES];
  for (int i = 0; i < TIMES; i++) {
    plim_device *device = plim_test_device(ctx, 0);
    plim_cuda_memory now;
    check_variants(device, &op);
    cr_assert_eq(plim_device_cuda_memory(device, &now), PLIM_OK);
    free_bytes[i] = now.free_bytes;
    plim_device_close(device);
  }
  cr_assert_leq(free_bytes[1] - free_bytes[TIMES - 1], 2 * MIB, "%lld bytes went from the 2nd to the last",
                (long long)(free_bytes[1] - free_bytes[TIMES - 1]));
  plim_context_free(ctx);
}

Test(gpu, an_illegal_address_is_told_and_what_follows_fails_without_a_hang) {
  const plim_op_desc op = kernel_sample(PLIM_OP_RELU, PLIM_NHWC);
  plim_context *ctx = plim_test_context();
  plim_device *device = plim_test_device(ctx, 0);
  void *kernel = NULL, *memory = NULL;
  void *nowhere[PLIM_OP_MAX_OUT];
  for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) nowhere[i] = (void *)(uintptr_t)PLIM_ALIGN;
  plim_kernel_args args = {.in = nowhere, .out = nowhere};
  cr_assert_eq(device->api->kernels.prepare(device, &op, "single-source", &kernel), PLIM_OK);
  plim_status status = device->api->kernels.run(device, 0, kernel, &args);
  if (status == PLIM_OK) status = device->api->queues.sync(device);
  cr_assert_eq(status, PLIM_EDEVICE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "(CUDA error 700)"), "%s", plim_context_error(ctx));
  cr_assert_eq(device->api->kernels.recover(device), PLIM_EDEVICE);
  cr_assert_eq(device->api->memory.alloc(device, 4096, &memory), PLIM_EDEVICE);
  device->api->kernels.unprepare(device, kernel);
  plim_device_close(device);
  plim_context_free(ctx);
}

/* ---- memory ---- */

Test(gpu, nothing_comes_to_lie_beside_the_arena_from_the_second_step_on) {
  plim_cuda_memory then, now;
  plim_evaluation evaluation;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open_tested(&r, 0));
  gpu_rig_ok(&r, gpu_rig_train(&r, 95, 2));
  for (int i = 0; i < 2; i++) gpu_rig_ok(&r, plim_trainer_evaluate(r.trainer, &evaluation));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &then));
  cr_assert_geq(then.outside_bytes, 0);
  for (int i = 0; i < 5; i++) {
    gpu_rig_ok(&r, plim_trainer_run(r.trainer, 4, NULL, NULL));
    gpu_rig_ok(&r, plim_trainer_evaluate(r.trainer, &evaluation));
  }
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  cr_assert_leq(now.outside_bytes, then.settled_bytes, "%lld bytes more",
                (long long)(now.outside_bytes - then.settled_bytes));
  gpu_rig_close(&r);
}

Test(gpu, a_thousand_small_allocations_are_aligned_and_are_given_back) {
  enum { MANY = 1000, SMALL = 72 };
  static void *made[MANY];
  plim_cuda_memory before, after;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open_tested(&r, 0));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &before));
  for (int i = 0; i < MANY; i++) {
    gpu_rig_ok(&r, r.device->api->memory.alloc(r.device, SMALL, &made[i]));
    cr_assert_eq((uintptr_t)made[i] % PLIM_ALIGN, 0, "allocation %d lies at %p", i, made[i]);
  }
  for (int i = 0; i < MANY; i++) r.device->api->memory.release(r.device, made[i], SMALL);
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &after));
  cr_assert_leq(after.outside_bytes, before.outside_bytes + 2 * MIB);
  gpu_rig_close(&r);
}

Test(gpu, a_budget_on_everything_is_kept) {
  plim_trainer_options training = gpu_rig_training();
  plim_plan_options planning;
  plim_cuda_memory now;
  int64_t captured = 0, left = 0;
  gpu_rig r;
  gpu_rig_ok(&r, gpu_rig_open_tested(&r, 0));
  gpu_rig_ok(&r, gpu_rig_prepare(&r));
  gpu_rig_ok(&r, gpu_rig_planning(&r, 95, &planning));
  gpu_rig_ok(&r, plim_program_plan(r.program, &planning));
  gpu_rig_ok(&r, plim_warm_up_run(r.device, r.dataset, r.program, &training, &captured));
  gpu_rig_ok(&r, plim_device_cuda_memory(r.device, &now));
  const int64_t budget = now.outside_bytes + captured + 64 * MIB;
  gpu_rig_ok(&r, plim_vram_left(r.device, budget, captured, &left));
  cr_assert(left > 60 * MIB && left <= 64 * MIB, "%lld bytes are left", (long long)left);
  cr_assert_leq(plim_program_arena_bytes(r.program), left);
  gpu_rig_ok(&r, plim_trainer_open(r.device, r.dataset, r.program, &training, &r.trainer));
  gpu_rig_ok(&r, plim_trainer_run(r.trainer, STEPS, NULL, NULL));
  gpu_rig_ok(&r, plim_vram_check(r.device, budget, plim_program_arena_bytes(r.program)));
  gpu_rig_close(&r);
}
