/* kernels/memory.c: what kernels keep on the host comes from the memory hook. Each request is refused once; what came
 * before is given back then. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/device/device_cuda.h"
#include "tests/support/failing_memory.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/product_cases.h"

enum { VARIANTS = 32 };

static plim_op_desc convolution(void) {
  plim_op_desc op;
  for (int i = 0; product_case(i, &op); i++) {
    if (op.kind == PLIM_OP_CONV2D && op.in[0].layout == PLIM_NHWC) return op;
  }
  cr_assert_fail("there is no such case");
  return op;
}

static plim_op_desc relu(void) {
  plim_op_desc op = {.kind = PLIM_OP_RELU, .n_in = 1, .n_out = 2};
  op.in[0] = op.out[0] = plim_shape_make(PLIM_F32, PLIM_NHWC, 4, (int64_t[]){2, 8, 4, 4});
  op.out[1] = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, (int64_t[]){plim_shape_elements(&op.in[0])});
  return op;
}

static int prepared; /* variants, in the last call of use_cpu; on a GPU, in all calls */

/* Every variant of an op, prepared and freed one by one. */
static plim_status prepare_all(plim_device *device, plim_op_desc op) {
  plim_kernel_info info[VARIANTS];
  int n = device->api->kernels.variants(device, &op, info, VARIANTS);
  for (int i = 0; i < n && i < VARIANTS; i++) {
    void *kernel = NULL;
    PLIM_TRY(device->api->kernels.prepare(device, &op, info[i].name, &kernel));
    device->api->kernels.unprepare(device, kernel);
    prepared++;
  }
  return PLIM_OK;
}

static plim_status use_cpu(plim_context *ctx, void *user) {
  plim_device_options options = {.struct_bytes = sizeof options, .threads = 1};
  plim_device *device = NULL;
  (void)user;
  prepared = 0;
  PLIM_TRY(plim_device_open(ctx, "cpu", &options, &device));
  plim_status status = prepare_all(device, relu());
  if (status == PLIM_OK) status = prepare_all(device, convolution());
  plim_device_close(device);
  return status;
}

Test(kernel_memory, kernels_of_the_cpu_are_allocated_by_the_hook_and_fail_cleanly) {
  const int64_t requests = plim_test_each_allocation(use_cpu, NULL);
  cr_assert_geq(requests, 3 + 2 * prepared, "%lld requests: a device, a table, its rows, two a kernel %d",
                (long long)requests, prepared);
  cr_assert_geq(prepared, 2, "%d variants", prepared);
}

static plim_status use_gpu(plim_context *ctx, void *user) {
  fake_cuda_options options = fake_cuda_options_default();
  plim_op_desc op = convolution();
  plim_kernel_info *info = user; /* of VARIANTS */
  plim_device *device = NULL;
  options.blas = options.dnn = 1;
  PLIM_TRY(plim_device_cuda_open(ctx, fake_cuda_driver(&options), 0, NULL, &device));
  if (!info[0].name[0])
    (void)device->api->kernels.variants(device, &op, info, VARIANTS); /* no hook refuses the first time */
  plim_status status = PLIM_OK;
  for (int i = 0; i < VARIANTS && info[i].name[0] && status == PLIM_OK; i++) {
    void *kernel = NULL;
    status = device->api->kernels.prepare(device, &op, info[i].name, &kernel);
    if (status == PLIM_OK) device->api->kernels.unprepare(device, kernel);
    prepared += status == PLIM_OK;
  }
  plim_device_close(device);
  cr_assert_eq(fake_cuda_count().open_handles, 0);
  return status;
}

Test(kernel_memory, kernels_of_the_gpu_are_allocated_by_the_hook_and_fail_cleanly) {
  static plim_kernel_info info[VARIANTS];
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  cr_assert_eq(use_gpu(ctx, info), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_geq(prepared, 3, "%d variants", prepared);
  const int64_t taken = plim_context_memory(ctx).allocations;
  plim_context_free(ctx);
  cr_assert_geq(plim_test_each_allocation(use_gpu, info), 2 * 3, "two a kernel");
  cr_assert_geq(taken, 2 * 3, "two a kernel");
}
