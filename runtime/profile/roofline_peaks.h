/* Roofline peaks of a device: the largest measured rates, with which the times of single ops are compared. */
#ifndef PLIM_RUNTIME_PROFILE_ROOFLINE_PEAKS_H
#define PLIM_RUNTIME_PROFILE_ROOFLINE_PEAKS_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_roofline_peaks {
  double bytes_per_ns; /* read and written, of a sum of two tensors that no cache holds */
  /* By precision, of a product of two large matrices; a convolution that saves operations can pass it. 0: the device
   * has no such mode. */
  double flops_per_ns[PLIM_PRECISION_COUNT];
} plim_roofline_peaks;

/* Measure them with the device's fastest variants, the best of a few runs. Takes about 200 MiB of its memory for the
 * time of the call. PLIM_EUNSUPPORTED on a device that computes nothing. */
PLIM_MUST_USE plim_status plim_roofline_peaks_measure(plim_device *device, plim_roofline_peaks *out);

/* The least time of an op at these rates, that of its precision included, ns. */
double plim_roofline_peaks_ns(const plim_roofline_peaks *roofline_peaks, const plim_op_desc *op);

#ifdef __cplusplus
}
#endif
#endif
