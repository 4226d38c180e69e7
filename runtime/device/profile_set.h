/* What a profile has to measure: the distinct op descriptions of a graph, each with its variants on a device. */
#ifndef PLIM_RUNTIME_DEVICE_PROFILE_SET_H
#define PLIM_RUNTIME_DEVICE_PROFILE_SET_H

#include "runtime/device/profile_operands.h"

enum { PLIM_PROFILE_VARIANTS = 16 }; /* an op has no more */

/* One variant of one description. */
typedef struct plim_profile_case {
  plim_variant variant; /* time_ns -1: not known yet */
  void *kernel;         /* prepared while it is measured */
} plim_profile_case;

/* Ops of equal description. */
typedef struct plim_profile_group {
  plim_op_desc desc;
  uint64_t hash;
  int32_t op;       /* the first in program order */
  int32_t first, n; /* cases [first, first + n) */
  plim_habit habit; /* of most of the ops */
} plim_profile_group;

typedef struct plim_profile_set {
  plim_device *device;
  const plim_graph *graph;
  int32_t n_groups, n_cases;
  int32_t *group_of;         /* [n_ops] */
  plim_profile_group *group; /* [n_ops] n_groups used, in the order of their first ops */
  plim_profile_case *cases;  /* [n_cases] */
} plim_profile_set;

/* List groups and cases. Cases that need more than `arena_bytes` (0: no limit) are left out: no plan within so many
 * bytes could run them. Each op keeps at least the one that needs least. PLIM_EUNSUPPORTED when the device has no
 * variant of an op. */
PLIM_MUST_USE plim_status plim_profile_set_make(plim_device *device, const plim_graph *graph, int64_t arena_bytes,
                                                plim_profile_set *out);
void plim_profile_set_free(plim_profile_set *set); /* a zeroed one is legal */

/* Fill in the groups' habits (runtime/device/profile_habit.c). */
PLIM_MUST_USE plim_status plim_profile_set_watch(plim_profile_set *set);

/* A profile of the graph from the cases' figures. */
PLIM_MUST_USE plim_status plim_profile_set_finish(const plim_profile_set *set, int measured, plim_profile **out);

#endif
