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
  cr_assert_eq(device->api->alloc(device, bytes, &memory), PLIM_OK);
  if (host) cr_assert_eq(device->api->copy(device, 0, memory, host, bytes), PLIM_OK);
  return memory;
}

/* What rounding to eight significant bits may cost an element: of the result, where it is stored so or cuDNN hands it
 * over so, and of the bias, of at most 1, on its way into the product. */
static double rounding(const plim_op_desc *op, const plim_kernel_info *info, double expected) {
  int on_the_way = op->in[0].dtype == PLIM_BF16 && strncmp(info->name, "cudnn", 5) == 0;
  if (op->out[0].dtype != PLIM_BF16 && !on_the_way) return 0;
  return (fabs(expected) + (op->n_in > 2)) / 256;
}

static double tolerance(const plim_op_desc *op, const plim_kernel_info *info) {
  if (plim_test_on_cpu() || strcmp(info->name, "single-source") == 0) return 1e-5;
  return op->attrs.tf32 ? 4.0 / 1024 : 3e-4;
}

void variant_check(plim_device *device, const plim_op_desc *op, const plim_kernel_info *info) {
  void *in[PLIM_OP_MAX_IN], *out[1], *kernel = NULL;
  kernel_operands host;
  kernel_operands_make(op, 3, 0x7f, &host);
  int64_t n = plim_shape_elements(&op->out[0]), bytes = plim_shape_bytes(&op->out[0]);
  double *expected[1] = {calloc((size_t)n, sizeof(double))}, largest = 1e-30;
  reference_run(op, host.in, NULL, NULL, expected, NULL);
  for (int i = 0; i < op->n_in; i++) in[i] = to_device(device, host.in[i], plim_shape_bytes(&op->in[i]));
  out[0] = to_device(device, host.out[0], bytes);
  plim_kernel_args args = {.in = in, .out = out, .workspace = to_device(device, NULL, info->workspace_bytes)};
  cr_assert_eq(device->api->prepare(device, op, info->name, &kernel), PLIM_OK);
  cr_assert_eq(device->api->workspace(device, kernel), info->workspace_bytes);
  cr_assert_eq(device->api->run(device, 0, kernel, &args), PLIM_OK);
  cr_assert_eq(device->api->copy(device, 0, host.out[0], out[0], bytes), PLIM_OK);
  cr_assert_eq(device->api->sync(device), PLIM_OK);
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(expected[0][i]));
  for (int64_t i = 0; i < n; i++) {
    double got = reference_get(&op->out[0], host.out[0], i);
    cr_assert(fabs(got - expected[0][i]) <= tolerance(op, info) * largest + rounding(op, info, expected[0][i]),
              "%s %s: [%lld] is %g, not %g", plim_op_kind_name(op->kind), info->name, (long long)i, got,
              expected[0][i]);
  }
  device->api->unprepare(device, kernel);
  for (int i = 0; i < op->n_in; i++) device->api->release(device, in[i], plim_shape_bytes(&op->in[i]));
  device->api->release(device, out[0], bytes);
  device->api->release(device, args.workspace, info->workspace_bytes);
  kernel_operands_free(op, &host);
  free(expected[0]);
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
