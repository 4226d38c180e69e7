/* Variants of a device whose memory the host cannot touch, compared with the reference. */
#ifndef PLIM_TESTS_SUPPORT_VARIANT_CHECK_H
#define PLIM_TESTS_SUPPORT_VARIANT_CHECK_H

#include "runtime/device/device.h"

/* Row of a table: a convolution. */
typedef struct variant_window {
  int64_t n, channels, height, width, filters;
  int32_t kernel[2], stride, pad;
} variant_window;

/* It forward, backward to its input, and to its weights, with activations in a layout. */
void variant_windows(const variant_window *window, plim_layout layout, plim_op_desc op[3]);

/* Prepare one variant and run it on random operands: within 1e-5 of the largest element of the reference, which is in
 * double precision, and half a unit in the last place of results in bf16. A GPU's libraries may be thirty times as
 * far (transforms), and where they round factors to ten bits, as far as that brings them. */
void variant_check(plim_device *device, const plim_op_desc *op, const plim_kernel_info *info);

#endif
