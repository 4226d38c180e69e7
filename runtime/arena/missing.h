/* Classes of missing storages. A missing storage was dropped or evicted, and may have to be recomputed. A class holds
 * storages that would be recomputed together. The price of evicting a storage is its own time and that of the classes
 * next to it.
 *
 * Functions run on the thread of the context. Storages are 0 .. n_storages - 1. Only init and add fail, with
 * PLIM_ENOMEM. Costs are those of union-find with path halving: nearly O(1), on average for add. Nodes of storages that
 * have left are dropped from time to time, so memory stays O(n_storages). Source: DTR, ICLR 2021, section 4. */
#ifndef PLIM_RUNTIME_ARENA_MISSING_H
#define PLIM_RUNTIME_ARENA_MISSING_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Union-find. A storage that leaves subtracts its time from the sum of its class. Classes are never split, and the sum
 * of a class does not depend on its root. */
typedef struct plim_missing {
  plim_context *ctx;
  int32_t n_storages, n_nodes;
  int32_t *node_of; /* [n_storages] PLIM_NONE: not missing */
  int64_t *own_ns;  /* [n_storages] time with which the storage was added */
  struct plim_missing_node {
    int32_t parent;
    int64_t sum_ns;  /* of the class, at its root */
    int64_t counted; /* stamp of the last sum that counted the class, at its root */
  } * node;          /* [capacity] */
  int64_t capacity, stamp;
} plim_missing;

/* Begin with no missing storage. *missing is untouched on failure; release is legal for a zeroed one. O(n_storages). */
PLIM_MUST_USE plim_status plim_missing_init(plim_missing *missing, plim_context *ctx, int32_t n_storages);
void plim_missing_release(plim_missing *missing);

/* 1: the storage is missing. O(1). */
int plim_missing_has(const plim_missing *missing, int32_t storage);

/* Add a missing storage in a class of its own with time_ns >= 0; it must not be missing already. After a failure
 * nothing has changed. */
PLIM_MUST_USE plim_status plim_missing_add(plim_missing *missing, int32_t storage, int64_t time_ns);
/* Join the classes of two missing storages. */
void plim_missing_join(plim_missing *missing, int32_t a, int32_t b);
/* Remove a storage that is resident again, and its own time from its class. Does nothing when it was not missing. */
void plim_missing_remove(plim_missing *missing, int32_t storage);
/* Like plim_missing_remove, but subtracts `time_ns` from the class. */
void plim_missing_remove_time(plim_missing *missing, int32_t storage, int64_t time_ns);

/* Sum the times of distinct classes, ns. Call begin, then sum_class for each neighbour, and add the results. sum_class
 * returns 0 when the storage is not missing or its class was counted since begin. */
void plim_missing_sum_begin(plim_missing *missing);
int64_t plim_missing_sum_class(plim_missing *missing, int32_t storage);

#ifdef __cplusplus
}
#endif
#endif
