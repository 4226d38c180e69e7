/* What a device can do at most: the rates that the times of single ops are compared with. */
#ifndef PLIM_RUNTIME_DEVICE_CEILINGS_H
#define PLIM_RUNTIME_DEVICE_CEILINGS_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_ceilings {
  double bytes_per_ns; /* read and written, of a sum of two tensors that no cache holds */
  /* By math mode, of a product of two large matrices; a convolution that saves operations can pass it. 0: the device
   * has no such mode. */
  double flops_per_ns[PLIM_MATH_COUNT];
} plim_ceilings;

/* Measure them with the device's fastest variants, the best of a few runs. Takes about 200 MiB of its memory for the
 * time of the call. PLIM_EUNSUPPORTED on a device that computes nothing. */
PLIM_MUST_USE plim_status plim_ceilings_measure(plim_device *device, plim_ceilings *out);

/* Time below which an op cannot go by these rates, that of its math mode among them, ns. */
double plim_ceilings_ns(const plim_ceilings *ceilings, const plim_op_desc *op);

#ifdef __cplusplus
}
#endif
#endif
