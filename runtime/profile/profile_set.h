/* The set of variants that a profile measures: the distinct op descriptions of a graph, each with its variants on a
 * device.
 *
 * Functions run on the thread of the device; device and graph must outlive the set. Every function may return
 * PLIM_ENOMEM; the set can be freed after any failure. Only plim_profile_set_measure_parts runs kernels.
 *
 * These files work on a set:
 *   profile_set.c       its groups and variants; from a set to a profile
 *   profile_rounds.c    in which round each variant is measured
 *   profile_warmth.c    where the operands of each op are when it begins: the cache states
 *   profile_parts.c     variants in parts, and whether their bits are those of the whole
 *   busy_devices.c      other devices that are busy while a variant is timed */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_SET_H
#define PLIM_RUNTIME_PROFILE_PROFILE_SET_H

#include "runtime/profile/profile_operands.h"

enum { PLIM_PROFILE_HOW_BYTES = sizeof((plim_kernel_info *)0)->how };

/* One variant of one description. */
typedef struct plim_profile_case {
  plim_variant variant;             /* time_ns PLIM_UNKNOWN: not known yet */
  void *kernel;                     /* prepared while it is measured */
  int32_t dropped;                  /* 1: it is left out of the profile */
  int32_t builds;                   /* as in plim_kernel_info */
  int32_t round;                    /* in which it is measured; PLIM_NONE: it is not measured and has no time */
  int64_t left_out_ns;              /* > 0: it was dropped for lack of time, and this was the time limit */
  int32_t samples;                  /* how often it was measured */
  char how[PLIM_PROFILE_HOW_BYTES]; /* as in plim_kernel_info */
  char why[PLIM_DROPPED_WHY_BYTES]; /* dropped: a note for the profile; "": none */
} plim_profile_case;

/* Ops of equal description. */
typedef struct plim_profile_group {
  plim_op_desc desc;
  int32_t op;                     /* the first in program order */
  int32_t first, n;               /* cases [first, first + n) */
  int32_t whole;                  /* the fastest case, when it is run in parts too */
  int32_t first_part, n_parts;    /* cases of its parts, in the device's order */
  plim_cache_states cache_states; /* of most of the ops */
} plim_profile_group;

typedef struct plim_profile_set {
  plim_device *device;
  const plim_graph *graph;
  int32_t busy_devices; /* other devices that are busy while a case is timed */
  int32_t n_groups, n_cases;
  int64_t group_capacity;
  int32_t *group_of;         /* [n_ops] */
  plim_profile_group *group; /* [group_capacity] n_groups used, in the order of their first ops */
  plim_profile_case *cases;  /* [n_cases] */
} plim_profile_set;

/* List groups and cases.
 *   arena_bytes  in   cases that need more bytes are left out, since no plan within them could run such a case; each op
 *                     keeps at least the case that needs least. 0: no limit
 *   out          out  free with plim_profile_set_free
 * PLIM_EUNSUPPORTED: the device has no variant of an op. Calls the device once for each distinct op, which may be slow
 * when a library answers. */
PLIM_MUST_USE plim_status plim_profile_set_make(plim_device *device, const plim_graph *graph, int64_t arena_bytes,
                                                plim_profile_set *out);
void plim_profile_set_free(plim_profile_set *set); /* a zeroed one is legal */

/* Find the groups' cache states (runtime/profile/profile_warmth.c): which operands a step finds in cache when ops
 * run in program order. O(operands). */
PLIM_MUST_USE plim_status plim_profile_set_find_cache_states(plim_profile_set *set);

/* Add cases that run the groups' fastest variants in parts, for variants with a large workspace
 * (runtime/profile/profile_parts.c). All cases must have their times. *added out: number of new cases. */
PLIM_MUST_USE plim_status plim_profile_set_add_parts(plim_profile_set *set, int32_t *added);

/* Compare the results of parts with those of the whole, and measure the equal ones, which get the whole's numerics key.
 * Parts that differ or save too little are dropped. Parts whose numerics key and time are known do not run again.
 *   passes    in      as plim_profiler_options.repeats
 *   limit     in      as in plim_measure_begin
 *   measured  in/out  becomes 1 when something ran
 * PLIM_ECANCEL. PLIM_EDEVICE: the device cannot continue. */
PLIM_MUST_USE plim_status plim_profile_set_measure_parts(plim_profile_set *set, int32_t passes, int64_t limit,
                                                         int32_t *measured);

/* Decide the round in which every case is measured (runtime/profile/profile_rounds.c). The first round has all cases
 * that no library builds, and of each group the case that the device expects to be fastest. The second has the case of
 * each group with the least workspace. Each later round has one more case of each group, in the device's order. There
 * are at most PLIM_PROFILE_ROUNDS rounds. */
enum { PLIM_PROFILE_ROUNDS = PLIM_KERNEL_VARIANTS + 2 };
void plim_profile_set_rounds(plim_profile_set *set);

/* Reduce the set to a sample: the cases of the first round, and of convolutions only the n with most FLOPs. Each other
 * convolution keeps one case with a time of 1 ns. */
void plim_profile_set_sample(plim_profile_set *set, int32_t n);

/* Make a profile of the graph from the cases. Dropped cases with a reason become notes. Free it with plim_profile_free.
 *   measured  in  as plim_profile.measured */
PLIM_MUST_USE plim_status plim_profile_set_finish(const plim_profile_set *set, int measured, plim_profile **out);

#endif
