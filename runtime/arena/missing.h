/* Classes of missing storages: storages that were dropped or evicted and may have to be recomputed, in groups that
 * would be recomputed together. The price of evicting a storage is its own time and that of the classes next to it.
 *
 * On the thread of the context. Storages are 0 .. n_storages - 1. Only init and add fail, with PLIM_ENOMEM. Costs are
 * those of union-find with path compression: nearly O(1). Source: DTR, ICLR 2021, section 4. */
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
  int32_t *node_of; /* [n_storages] -1: not missing */
  int64_t *own_ns;  /* [n_storages] time it brought */
  struct plim_missing_node {
    int32_t parent;
    int64_t sum_ns;  /* of the class, at its root */
    int64_t counted; /* stamp of the last sum that took this root in */
  } * node;          /* [capacity] */
  int64_t capacity, stamp;
} plim_missing;

/* No storage is missing. After a failure, too, release is legal. O(n_storages). */
PLIM_MUST_USE plim_status plim_missing_init(plim_missing *missing, plim_context *ctx, int32_t n_storages);
void plim_missing_release(plim_missing *missing);

/* 1: the storage is missing. O(1). */
int plim_missing_has(const plim_missing *missing, int32_t storage);

/* The storage goes missing, in a class of its own with time_ns >= 0; it must not be missing already. After a failure
 * nothing has changed. */
PLIM_MUST_USE plim_status plim_missing_add(plim_missing *missing, int32_t storage, int64_t time_ns);
/* The classes of two missing storages become one. */
void plim_missing_join(plim_missing *missing, int32_t a, int32_t b);
/* The storage is resident again; does nothing when it was not missing. */
void plim_missing_remove(plim_missing *missing, int32_t storage);
/* The same, but subtract `time_ns` from its class instead of its own time. */
void plim_missing_remove_time(plim_missing *missing, int32_t storage, int64_t time_ns);

/* A sum over distinct classes, ns: begin, then the class of each neighbour; 0 when the storage is not missing or its
 * class was counted since begin. */
void plim_missing_sum_begin(plim_missing *missing);
int64_t plim_missing_sum_class(plim_missing *missing, int32_t storage);

#ifdef __cplusplus
}
#endif
#endif
