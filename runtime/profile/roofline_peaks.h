/* Roofline peaks of a device: the largest measured rates of memory and arithmetic. The time of an op is compared with
 * the time that it takes at these rates. Source: Williams et al., Roofline, CACM 2009. */
#ifndef PLIM_RUNTIME_PROFILE_ROOFLINE_PEAKS_H
#define PLIM_RUNTIME_PROFILE_ROOFLINE_PEAKS_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_roofline_peaks {
  double bytes_per_ns; /* bytes read and written by a sum of two tensors that are larger than caches */
  /* By precision, for a product of two large matrices. A convolution that saves operations (Winograd) can exceed it. 0:
   * the device does not have that precision. */
  double flops_per_ns[PLIM_PRECISION_COUNT];
} plim_roofline_peaks;

/* Measure the peaks with the device's fastest variants: the best of up to 6 runs each.
 *   out  [1]  out
 * PLIM_EUNSUPPORTED: the device computes nothing (sim). PLIM_EDEVICE: it failed. PLIM_ENOMEM, PLIM_ENOFIT: fewer than
 * the about 200 MiB that the call uses are free. Takes up to a few seconds. Belongs to the thread of the device; not
 * deterministic. */
PLIM_MUST_USE plim_status plim_roofline_peaks_measure(plim_device *device, plim_roofline_peaks *out);

/* Least time of an op at these rates, ns: the larger of its bytes over bytes_per_ns and its FLOPs over the rate of its
 * precision. Infinite when that rate is 0. O(operands); safe from any thread. */
double plim_roofline_peaks_ns(const plim_roofline_peaks *roofline_peaks, const plim_op_desc *op);

#ifdef __cplusplus
}
#endif
#endif
