/* Measures each peak by one op, the probe. The rate is that of its fastest variant. */
#include "runtime/profile/roofline_peaks.h"

#include <string.h>

enum { SUM_ELEMENTS = 1 << 24, SUM_COLUMNS = 2048, RUNS = 6, SLOW = 3 };
enum { SIDE_MIN = 256, SIDE_MAX = 2048, LONG_NS = 30000000 };
enum { OPERANDS_MAX = PLIM_OP_MAX_IN + PLIM_OP_MAX_OUT };

static plim_op_desc probe(plim_op_kind kind, plim_precision math, int64_t rows, int64_t columns) {
  const int64_t dim[] = {rows, columns};
  plim_op_desc op = {.kind = kind, .n_in = 2, .n_out = 1, .attrs.tf32 = math == PLIM_PRECISION_TF32};
  op.in[0] = plim_shape_make(math == PLIM_PRECISION_BF16 ? PLIM_BF16 : PLIM_F32, PLIM_FLAT, 2, dim);
  op.in[1] = op.out[0] = op.in[0];
  return op;
}

/* Reduce *best_ns to the time of this variant when it is faster. A variant that is much slower is not run again. */
static plim_status time_variant(plim_device *device, const plim_op_desc *op, const plim_kernel_info *info,
                                void *const *operand, int64_t *best_ns) {
  plim_kernel_args args = {.in = (void **)operand, .out = (void **)operand + op->n_in};
  void *kernel = NULL, *workspace = NULL;
  int64_t time_ns = 0;
  plim_status status;
  PLIM_TRY(device->api->kernels.prepare(device, op, info->name, &kernel));
  if (info->workspace_bytes > 0) PLIM_TRY_OR_DONE(device->api->memory.alloc(device, info->workspace_bytes, &workspace));
  args.workspace = workspace;
  for (int i = 0; i < RUNS && time_ns / SLOW <= *best_ns; i++) {
    PLIM_TRY_OR_DONE(plim_device_time(device, kernel, &args, &time_ns));
    if (time_ns > 0 && time_ns < *best_ns) *best_ns = time_ns;
  }
  status = PLIM_OK;
done:
  if (workspace) device->api->memory.release(device, workspace, info->workspace_bytes);
  device->api->kernels.unprepare(device, kernel);
  return status;
}

static plim_status time_op(plim_device *device, const plim_op_desc *op, int64_t *best_ns) {
  plim_kernel_info info[PLIM_KERNEL_VARIANTS];
  void *operand[OPERANDS_MAX] = {NULL};
  int32_t n_operands = op->n_in + op->n_out;
  int64_t bytes = plim_shape_bytes(&op->out[0]);
  int n = device->api->kernels.variants(device, op, info, PLIM_KERNEL_VARIANTS);
  plim_status status = PLIM_OK;
  *best_ns = PLIM_TIME_INFINITE;
  for (int32_t k = 0; k < n_operands; k++) {
    PLIM_TRY_OR_DONE(device->api->memory.alloc(device, bytes, &operand[k]));
    PLIM_TRY_OR_DONE(device->api->queues.fill(device, 0, operand[k], 0, bytes));
  }
  for (int i = 0; i < n && i < PLIM_KERNEL_VARIANTS; i++) {
    if (n > 1 && strcmp(info[i].name, "single-source") == 0) continue; /* stands in for libraries that are there */
    PLIM_TRY_OR_DONE(time_variant(device, op, &info[i], operand, best_ns));
  }
done:
  for (int32_t k = 0; k < n_operands; k++) {
    if (operand[k]) device->api->memory.release(device, operand[k], bytes);
  }
  return status;
}

/* Measure the rate of products of square matrices. The side doubles until one run takes long: without a library for
 * this precision the largest product would take seconds, at no higher rate. */
static plim_status time_products(plim_device *device, plim_precision math, double *flops_per_ns) {
  int64_t time_ns = 0;
  for (int64_t side = SIDE_MIN; side <= SIDE_MAX && time_ns < LONG_NS; side *= 2) {
    const plim_op_desc product = probe(PLIM_OP_LINEAR, math, side, side);
    PLIM_TRY(time_op(device, &product, &time_ns));
    *flops_per_ns = (double)plim_op_flops(&product) / (double)time_ns;
  }
  return PLIM_OK;
}

plim_status plim_roofline_peaks_measure(plim_device *device, plim_roofline_peaks *out) {
  const plim_op_desc sum = probe(PLIM_OP_ADD, PLIM_PRECISION_FP32, SUM_ELEMENTS / SUM_COLUMNS, SUM_COLUMNS);
  plim_roofline_peaks measured = {0};
  int64_t time_ns;
  if (!device->api->computes) {
    return plim_fail(device->ctx, PLIM_EUNSUPPORTED, "sim computes nothing that could be measured");
  }
  PLIM_TRY(time_op(device, &sum, &time_ns));
  measured.bytes_per_ns = (double)plim_op_traffic(&sum) / (double)time_ns;
  for (int math = 0; math < PLIM_PRECISION_COUNT; math++) {
    if (math == PLIM_PRECISION_TF32 && !device->tf32) continue;
    PLIM_TRY(time_products(device, (plim_precision)math, &measured.flops_per_ns[math]));
  }
  *out = measured;
  return PLIM_OK;
}

double plim_roofline_peaks_ns(const plim_roofline_peaks *peaks, const plim_op_desc *op) {
  double bytes_ns = (double)plim_op_traffic(op) / peaks->bytes_per_ns,
         flops_ns = (double)plim_op_flops(op) / peaks->flops_per_ns[plim_op_math(op)];
  return bytes_ns > flops_ns ? bytes_ns : flops_ns;
}
