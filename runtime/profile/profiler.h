/* Measure what each op of a graph costs on a device, by variant; cached by what decides the figures. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILER_H
#define PLIM_RUNTIME_PROFILE_PROFILER_H

#include "runtime/device/device.h"
#include "runtime/graph/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What measurements left out for lack of time. */
typedef struct plim_profiler_report {
  int32_t left_out; /* variants of distinct ops that were not measured, now or when the others were */
} plim_profiler_report;

typedef struct plim_profiler_options {
  size_t struct_bytes;  /* sizeof(plim_profiler_options) */
  int32_t repeats;      /* per distinct op and variant; 0: default */
  int64_t arena_bytes;  /* the profiler allocates no more than this, and leaves out variants that alone need more, which
                           no plan within so many bytes could run; 0: no limit (it takes what the largest op needs, or
                           what the step's values take together up to more than caches hold) */
  int64_t wanted_bytes; /* no more than this, except where one variant alone needs more: nothing is left out; 0: as
                           much as arena_bytes says */
  const char *cache_dir; /* NULL: XDG_CACHE_HOME/plimsoll or ~/.cache/plimsoll; "": no cache */
  /* Measuring ends about so long after begin_ns (by plim_now_ns; 0: the call): kernels that would have to be built are
   * left out, the likely ones last, and what is measured is repeated less. Every op keeps a variant. 0: kernels are
   * built for 60 s, those that are not the likeliest of their op only among the device's first 48 */
  int64_t limit_ns, begin_ns;
  /* > 0: the likely variants alone, and of convolutions only so many, those with most FLOPs; the others take 1 ns each,
   * so that the sums of two layouts can be compared. 0: all */
  int32_t sample;
  struct plim_profiler_report *report; /* NULL: not wanted; else its counts are added to */
} plim_profiler_options;
plim_profiler_options plim_profiler_options_default(void);

/* Let the device know which variants an earlier start found in its libraries, so that it need not search again: to be
 * called before variants are first listed; plim_profile_measure does it where no one has. cache_dir: as in the options.
 * Fails for lack of memory only. */
PLIM_MUST_USE plim_status plim_profile_remember(plim_device *device, const char *cache_dir);

/* Median of interleaved repeats per distinct (op description, variant); ops of equal description share one
 * measurement. Operands lie at varied places of one arena and are as warm as the graph says they are in a step.
 * On a GPU a variant that fails in prepare, run or capture, or whose numbers differ from the single-source kernel's, is
 * dropped with a note in the profile; PLIM_EDEVICE when an op has none left or the device itself is lost.
 * PLIM_ECANCEL; PLIM_EUNSUPPORTED on a device that computes nothing. Reports the stage "profile". */
PLIM_MUST_USE plim_status plim_profile_measure(plim_device *device, const plim_graph *graph,
                                               const plim_profiler_options *options, plim_profile **out);

/* A modelled profile with the device's real variants and workspaces (--model-costs): roofline figures of this class of
 * machine, no run. */
PLIM_MUST_USE plim_status plim_profile_roofline(plim_device *device, const plim_graph *graph, plim_profile **out);

#ifdef __cplusplus
}
#endif
#endif
