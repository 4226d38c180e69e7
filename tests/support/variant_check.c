/* Operands travel by the device's own copies. */
#include "tests/support/variant_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/device_under_test.h"
#include "tests/support/kernel_check.h"
#include "tests/support/kernel_reference.h"

static void *to_device(plim_device *device, const void *host, int64_t bytes) {
  void *memory = NULL;
  cr_assert_eq(device->api->memory.alloc(device, bytes, &memory), PLIM_OK);
  if (host) cr_assert_eq(device->api->queues.copy(device, 0, memory, host, bytes), PLIM_OK);
  return memory;
}

/* What rounding to eight significant bits may cost an element: of the result, where it is stored so or cuDNN hands it
 * over so, and of the bias, of at most 1, on its way into the product. */
static double rounding(const plim_op_desc *op, const plim_kernel_info *info, int output, double expected) {
  int on_the_way = op->in[0].dtype == PLIM_BF16 && strncmp(info->name, "cudnn", 5) == 0;
  if (op->out[output].dtype != PLIM_BF16 && !on_the_way) return 0;
  return (fabs(expected) + (op->n_in > 2)) / 256;
}

static double tolerance(const plim_op_desc *op, const plim_kernel_info *info) {
  const int between = op->kind == PLIM_OP_ATTENTION || op->kind == PLIM_OP_ATTENTION_BWD ||
                      op->kind == PLIM_OP_LINEAR_XENT_BWD; /* its products have a rounded result between them */
  if (strcmp(info->name, "single-source") == 0) return 1e-5;
  if (between && op->in[0].dtype == PLIM_BF16) return 1.0 / 256;
  if (plim_test_on_cpu()) return 1e-5;
  return op->attrs.tf32 ? 4.0 / 1024 : 3e-4;
}

static void compare(const plim_op_desc *op, const plim_kernel_info *info, int output, const void *got,
                    const double *expected) {
  const plim_shape *shape = &op->out[output];
  const int64_t n = plim_shape_elements(shape);
  double largest = 1e-30;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(expected[i]));
  for (int64_t i = 0; i < n; i++) {
    const double value = reference_get(shape, got, i);
    cr_assert(fabs(value - expected[i]) <= tolerance(op, info) * largest + rounding(op, info, output, expected[i]),
              "%s %s: %d [%lld] is %g, not %g", plim_op_kind_name(op->kind), info->name, output, (long long)i, value,
              expected[i]);
  }
}

void variant_check(plim_device *device, const plim_op_desc *op, const plim_kernel_info *info) {
  void *in[PLIM_OP_MAX_IN], *out[PLIM_OP_MAX_OUT], *kernel = NULL;
  double *expected[PLIM_OP_MAX_OUT];
  kernel_operands host;
  kernel_operands_make(op, 3, 0x7f, &host);
  for (int i = 0; i < op->n_out; i++) expected[i] = calloc((size_t)plim_shape_elements(&op->out[i]), sizeof(double));
  reference_run(op, host.in, NULL, NULL, expected, NULL);
  for (int i = 0; i < op->n_in; i++) in[i] = to_device(device, host.in[i], plim_shape_bytes(&op->in[i]));
  for (int i = 0; i < op->n_out; i++) out[i] = to_device(device, host.out[i], plim_shape_bytes(&op->out[i]));
  plim_kernel_args args = {.in = in, .out = out, .workspace = to_device(device, NULL, info->workspace_bytes)};
  cr_assert_eq(device->api->kernels.prepare(device, op, info->name, &kernel), PLIM_OK);
  cr_assert_eq(device->api->kernels.workspace(device, kernel), info->workspace_bytes);
  cr_assert_eq(device->api->kernels.run(device, 0, kernel, &args), PLIM_OK);
  for (int i = 0; i < op->n_out; i++) {
    cr_assert_eq(device->api->queues.copy(device, 0, host.out[i], out[i], plim_shape_bytes(&op->out[i])), PLIM_OK);
  }
  cr_assert_eq(device->api->queues.sync(device), PLIM_OK);
  for (int i = 0; i < op->n_out; i++) compare(op, info, i, host.out[i], expected[i]);
  device->api->kernels.unprepare(device, kernel);
  for (int i = 0; i < op->n_in; i++) device->api->memory.release(device, in[i], plim_shape_bytes(&op->in[i]));
  for (int i = 0; i < op->n_out; i++) device->api->memory.release(device, out[i], plim_shape_bytes(&op->out[i]));
  device->api->memory.release(device, args.workspace, info->workspace_bytes);
  kernel_operands_free(op, &host);
  for (int i = 0; i < op->n_out; i++) free(expected[i]);
}

void variant_windows(const variant_window *w, plim_layout layout, plim_op_desc op[3]) {
  const plim_shape x = kernel_activation(layout, w->n, w->channels, w->height, w->width);
  const plim_shape y =
      kernel_activation(layout, w->n, w->filters, (w->height + 2 * w->pad - w->kernel[0]) / w->stride + 1,
                        (w->width + 2 * w->pad - w->kernel[1]) / w->stride + 1);
  const plim_shape weights = kernel_shape(PLIM_F32, 4, w->filters, w->channels, w->kernel[0], w->kernel[1]);
  op[0] = kernel_op(PLIM_OP_CONV2D, 2, 1, x, y);
  op[1] = kernel_op(PLIM_OP_CONV2D_BWD_DATA, 2, 1, y, x);
  op[2] = kernel_op(PLIM_OP_CONV2D_BWD_WEIGHTS, 2, 1, y, weights);
  op[0].in[1] = op[1].in[1] = weights;
  op[2].in[1] = x;
  for (int k = 0; k < 3; k++) {
    memcpy(op[k].attrs.kernel, w->kernel, sizeof w->kernel);
    op[k].attrs.stride[0] = op[k].attrs.stride[1] = w->stride;
    op[k].attrs.pad[0] = op[k].attrs.pad[1] = w->pad;
  }
}
