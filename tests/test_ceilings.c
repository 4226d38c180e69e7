/* What a device can do at most: rates, and times by them. */
#include <criterion/criterion.h>

#include "runtime/device/ceilings.h"
#include "tests/support/kernel_samples.h"
#include "tests/support/small_graph.h"

Test(ceilings, an_op_takes_what_its_bytes_or_its_operations_take_whatever_is_more) {
  const plim_op_desc sum = kernel_sample(PLIM_OP_ADD, PLIM_FLAT);
  const double bytes = (double)plim_op_traffic(&sum), flops = (double)plim_op_flops(&sum);
  const plim_ceilings slow_memory = {.bytes_per_ns = 1e-3, .flops_per_ns = 1e3};
  const plim_ceilings slow_arithmetic = {.bytes_per_ns = 1e3, .flops_per_ns = 1e-3};
  cr_assert_float_eq(plim_ceilings_ns(&slow_memory, &sum), bytes * 1e3, 1e-6 * bytes);
  cr_assert_float_eq(plim_ceilings_ns(&slow_arithmetic, &sum), flops * 1e3, 1e-6 * flops);
}

Test(ceilings, a_device_that_computes_nothing_has_none) {
  plim_context *ctx = plim_test_context();
  plim_device *device = NULL;
  plim_ceilings ceilings;
  cr_assert_eq(plim_device_open(ctx, "sim", NULL, &device), PLIM_OK);
  cr_assert_eq(plim_ceilings_measure(device, &ceilings), PLIM_EUNSUPPORTED);
  plim_device_close(device);
  plim_context_free(ctx);
}
