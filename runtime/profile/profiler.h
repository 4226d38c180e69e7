/* Measures the time of each variant of each op of a graph on a device. A cache on disk keeps the times, with everything
 * that decides them as the key.
 *
 * All functions belong to the thread of the device. Measured times are not deterministic; modelled times are.
 *
 * profiler.c measures, roofline.c models. profile_set.h has the state of a measurement and lists the files that work on
 * it. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILER_H
#define PLIM_RUNTIME_PROFILE_PROFILER_H

#include "runtime/device/device.h"
#include "runtime/graph/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A report about measuring. */
typedef struct plim_profiler_report {
  int32_t left_out; /* number of variants of distinct ops that were not measured for lack of time, now or earlier */
} plim_profiler_report;

typedef struct plim_profiler_options {
  size_t struct_bytes; /* sizeof(plim_profiler_options) */
  int32_t repeats;     /* number of runs of each distinct op and variant, up to 1000; 0: 9 */
  /* Most bytes that the profiler allocates on the device. A variant that needs more is left out, since no plan within
   * so many bytes could run it. 0: no limit; then it allocates the bytes that the largest op needs, or the bytes of
   * all values of the step, up to more than caches hold */
  int64_t arena_bytes;
  /* Another limit of these bytes, which leaves no variant out: it is exceeded for a variant that needs more. 0: none */
  int64_t wanted_bytes;
  const char *cache_dir; /* NULL: XDG_CACHE_HOME/plimsoll or ~/.cache/plimsoll; "": no cache */
  /* Measuring ends about limit_ns after begin_ns (by plim_now_ns; 0: the call). After that no library builds further
   * kernels, of which the likely ones come first, and variants are repeated less. Every op keeps a variant. limit_ns 0:
   * kernels are built for 60 s; those other than the likeliest of their op only until the device has built 48 */
  int64_t limit_ns, begin_ns;
  /* > 0: measure only the likely variants, and only so many convolutions, those with most FLOPs. Other convolutions get
   * 1 ns, so that the sums of two layouts can be compared. 0: measure all */
  int32_t sample;
  /* Number of other devices like this one that are busy while a variant is timed: each runs the same variant, with
   * memory of its own, as many bytes as the profiler has for this device. For plans that place ops on several devices,
   * which share caches and memory bandwidth. Only for devices that have no queues. 0 to 63; 0: it is timed alone */
  int32_t busy_devices;
  struct plim_profiler_report *report; /* the counts are added to its fields; NULL: not wanted */
} plim_profiler_options;

/* 9 repeats, no limit on memory, the user's cache, kernels built for 60 s. */
plim_profiler_options plim_profiler_options_default(void);

/* Give the device the variants that an earlier process found in its libraries, so that it need not search again. Call
 * it before variants are first listed; plim_profile_measure calls it when the caller has not. A second call does
 * nothing.
 *   cache_dir  in  as in the options. A cache that cannot be read counts as empty
 * PLIM_ENOMEM. O(file of the cache). */
PLIM_MUST_USE plim_status plim_profile_remember(plim_device *device, const char *cache_dir);

/* Measure each distinct pair of op description and variant: the median of interleaved repeats. Ops of equal description
 * share one measurement. Operands are at varied offsets of one allocation, and in the cache state that they have in a
 * step.
 *   options  in       NULL: plim_profiler_options_default
 *   out      [1] out  free with plim_profile_free
 * Times that the cache has are not measured again; new ones are added to it.
 * On a GPU a variant that fails in prepare, run or capture, or whose numbers differ from the single-source kernel's, is
 * left out with a note in the profile (plim_profile.dropped).
 * PLIM_EUSAGE: options are not allowed. PLIM_EDEVICE: the device failed, or one that is busy, or an op has no variant
 * left. PLIM_EUNSUPPORTED: an op has no variant, the device computes nothing (sim), or none can be busy beside it.
 * PLIM_ENOFIT, PLIM_ENOMEM: memory is short. PLIM_ECANCEL. Takes seconds to minutes; reports the stage "profile". */
PLIM_MUST_USE plim_status plim_profile_measure(plim_device *device, const plim_graph *graph,
                                               const plim_profiler_options *options, plim_profile **out);

/* Make a modelled profile with the device's real variants and workspaces (--model-costs). Nothing runs: times are those
 * of a roofline with the rates of an AVX-512 server core of 2024, multiplied by the threads of the device. Free it with
 * plim_profile_free. PLIM_EUNSUPPORTED: an op has no variant. PLIM_ENOMEM. O(ops x variants). Deterministic.
 * Source: Williams et al., CACM 2009. */
PLIM_MUST_USE plim_status plim_profile_roofline(plim_device *device, const plim_graph *graph, plim_profile **out);

#ifdef __cplusplus
}
#endif
#endif
