/* What a device can do at most: rates, and times by them. */
#include <criterion/criterion.h>

#include "runtime/profile/roofline_peaks.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/small_graph.h"

static plim_roofline_peaks rates(double bytes_per_ns, double fp32, double tf32, double bf16) {
  return (plim_roofline_peaks){
      .bytes_per_ns = bytes_per_ns,
      .flops_per_ns = {[PLIM_PRECISION_FP32] = fp32, [PLIM_PRECISION_TF32] = tf32, [PLIM_PRECISION_BF16] = bf16}};
}

Test(roofline_peaks, an_op_takes_what_its_bytes_or_its_operations_take_whatever_is_more) {
  const plim_op_desc sum = kernel_sample(PLIM_OP_ADD, PLIM_FLAT);
  const double bytes = (double)plim_op_traffic(&sum), flops = (double)plim_op_flops(&sum);
  const plim_roofline_peaks slow_memory = rates(1e-3, 1e3, 1e3, 1e3), slow_arithmetic = rates(1e3, 1e-3, 1e3, 1e3);
  cr_assert_float_eq(plim_roofline_peaks_ns(&slow_memory, &sum), bytes * 1e3, 1e-6 * bytes);
  cr_assert_float_eq(plim_roofline_peaks_ns(&slow_arithmetic, &sum), flops * 1e3, 1e-6 * flops);
}

Test(roofline_peaks, operations_are_counted_at_the_rate_of_the_math_mode) {
  const plim_roofline_peaks roofline_peaks = rates(1e9, 1, 4, 16);
  plim_op_desc op = kernel_sample(PLIM_OP_LINEAR, PLIM_FLAT);
  const double flops = (double)plim_op_flops(&op);
  cr_assert_float_eq(plim_roofline_peaks_ns(&roofline_peaks, &op), flops, 1e-6 * flops);
  op.attrs.tf32 = 1;
  cr_assert_float_eq(plim_roofline_peaks_ns(&roofline_peaks, &op), flops / 4, 1e-6 * flops);
  op = kernel_sample_bf16(PLIM_OP_LINEAR_BWD_WEIGHTS, PLIM_FLAT); /* its output is f32 all the same */
  cr_assert_float_eq(plim_roofline_peaks_ns(&roofline_peaks, &op), (double)plim_op_flops(&op) / 16, 1e-6 * flops);
}

/* Each operand counted here by its shape, what is updated twice; arithmetic is at least an operation an element. */
Test(roofline_peaks, every_kind_of_op_has_bytes_and_operations) {
  for (int kind = PLIM_OP_CUSTOM + 1; kind < PLIM_OP_KIND_COUNT; kind++) {
    for (int bf16 = 0; bf16 < 2; bf16++) {
      const plim_op_desc op =
          bf16 ? kernel_sample_bf16((plim_op_kind)kind, PLIM_NHWC) : kernel_sample((plim_op_kind)kind, PLIM_NHWC);
      const plim_shape *largest = op.n_out > 0 ? &op.out[0] : &op.in[0];
      int64_t bytes = 0;
      for (int i = 0; i < op.n_in; i++) bytes += plim_shape_bytes(&op.in[i]);
      for (int i = 0; i < op.n_out; i++) bytes += plim_shape_bytes(&op.out[i]);
      for (int i = 0; i < op.n_upd; i++) bytes += 2 * plim_shape_bytes(&op.upd[i]);
      cr_assert_eq(plim_op_traffic(&op), bytes, "%s", plim_op_kind_name(op.kind));
      cr_assert_geq(plim_op_flops(&op), plim_shape_elements(largest), "%s", plim_op_kind_name(op.kind));
    }
  }
}

Test(roofline_peaks, a_device_has_a_rate_for_each_math_mode_that_it_has) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  plim_roofline_peaks roofline_peaks;
  cr_assert_eq(plim_device_open(ctx, "cpu", NULL, &device), PLIM_OK);
  cr_assert_eq(plim_roofline_peaks_measure(device, &roofline_peaks), PLIM_OK);
  cr_assert_gt(roofline_peaks.bytes_per_ns, 0);
  for (int math = 0; math < PLIM_PRECISION_COUNT; math++) {
    cr_assert_eq(roofline_peaks.flops_per_ns[math] > 0, math != PLIM_PRECISION_TF32, "%s",
                 plim_precision_name((plim_precision)math));
  }
  plim_device_close(device);
  plim_context_free(ctx);
}

Test(roofline_peaks, a_device_that_computes_nothing_has_none) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  plim_roofline_peaks roofline_peaks;
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &device), PLIM_OK);
  cr_assert_eq(plim_roofline_peaks_measure(device, &roofline_peaks), PLIM_EUNSUPPORTED);
  plim_device_close(device);
  plim_context_free(ctx);
}
