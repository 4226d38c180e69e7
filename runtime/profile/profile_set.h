/* What a profile has to measure: the distinct op descriptions of a graph, each with its variants on a device.
 *
 * On the thread of the device; device and graph must outlive the set. Every function may return PLIM_ENOMEM; the set
 * can be freed after any failure. Only plim_profile_set_measure_parts runs kernels. */
#ifndef PLIM_RUNTIME_PROFILE_PROFILE_SET_H
#define PLIM_RUNTIME_PROFILE_PROFILE_SET_H

#include "runtime/profile/profile_operands.h"

enum { PLIM_PROFILE_VARIANTS = 16 }; /* an op has no more */
enum { PLIM_PROFILE_HOW_BYTES = sizeof((plim_kernel_info *)0)->how };

/* One variant of one description. */
typedef struct plim_profile_case {
  plim_variant variant;             /* time_ns -1: not known yet */
  void *kernel;                     /* prepared while it is measured */
  int32_t dropped;                  /* 1 keeps it out of the profile */
  int32_t builds;                   /* as in plim_kernel_info */
  int32_t round;                    /* in which it is measured; -1: it is not measured and has no time */
  int64_t left_out_ns;              /* > 0: dropped for lack of time, which was so much */
  int32_t samples;                  /* times that it was measured */
  char how[PLIM_PROFILE_HOW_BYTES]; /* as in plim_kernel_info */
  char why[PLIM_DROPPED_WHY_BYTES]; /* dropped: a note for the profile; "": none */
} plim_profile_case;

/* Ops of equal description. */
typedef struct plim_profile_group {
  plim_op_desc desc;
  uint64_t hash;
  int32_t op;                     /* the first in program order */
  int32_t first, n;               /* cases [first, first + n) */
  int32_t whole;                  /* the case that counts as fastest, where it is run in parts too */
  int32_t first_part, n_parts;    /* cases of its parts, in the device's order */
  plim_cache_states cache_states; /* of most of the ops */
} plim_profile_group;

typedef struct plim_profile_set {
  plim_device *device;
  const plim_graph *graph;
  int32_t n_groups, n_cases;
  int64_t room_groups;
  int32_t *group_of;         /* [n_ops] */
  plim_profile_group *group; /* [room_groups] n_groups used, in the order of their first ops */
  plim_profile_case *cases;  /* [n_cases] */
} plim_profile_set;

/* List groups and cases. Cases that need more than `arena_bytes` (0: no limit) are left out: no plan within so many
 * bytes could run them. Each op keeps at least the one that needs least. PLIM_EUNSUPPORTED when the device has no
 * variant of an op. Asks the device once a distinct op, which may be slow where a library answers. */
PLIM_MUST_USE plim_status plim_profile_set_make(plim_device *device, const plim_graph *graph, int64_t arena_bytes,
                                                plim_profile_set *out);
void plim_profile_set_free(plim_profile_set *set); /* a zeroed one is legal */

/* Fill in the groups' cache states (runtime/profile/profile_cache_state.c): which operands a step finds in cache,
 * as program order alone tells. O(operands). */
PLIM_MUST_USE plim_status plim_profile_set_watch(plim_profile_set *set);

/* Add cases for what the groups' fastest variants are in parts, where that saves a good share of a step's bytes. All
 * cases must have their times; *added is how many there are (runtime/profile/profile_parts.c). */
PLIM_MUST_USE plim_status plim_profile_set_add_parts(plim_profile_set *set, int32_t *added);

/* Compare the results of parts with those of the whole and measure the equal ones, which get the whole's label; those
 * that differ or save too little are dropped. What is known already (label and time) is not run again.
 *   passes    in      as plim_profiler_options.repeats
 *   limit     in      as in plim_measure_begin
 *   measured  in/out  becomes 1 when something ran
 * PLIM_ECANCEL; PLIM_EDEVICE when the device cannot continue. */
PLIM_MUST_USE plim_status plim_profile_set_measure_parts(plim_profile_set *set, int32_t passes, int64_t limit,
                                                         int32_t *measured);

/* Decide the round of every case (runtime/profile/profile_rounds.c). In the first are all cases that need no building
 * and of each group the case that the device expects to be fastest; in the second, of each group, the one that needs
 * the least workspace; then follow the others, one of a group in each round, in the device's order. Rounds are below
 * PLIM_PROFILE_ROUNDS. */
enum { PLIM_PROFILE_ROUNDS = PLIM_PROFILE_VARIANTS + 2 };
void plim_profile_set_rounds(plim_profile_set *set);

/* Leave only what is likely: the cases of the first round; and of convolutions only the n with most FLOPs: each other
 * one keeps one case of 1 ns. */
void plim_profile_set_sample(plim_profile_set *set, int32_t n);

/* A profile of the graph from the cases' figures: those that are dropped become notes. Free it with plim_profile_free.
 *   measured  in  1: as plim_profile.measured */
PLIM_MUST_USE plim_status plim_profile_set_finish(const plim_profile_set *set, int measured, plim_profile **out);

#endif
