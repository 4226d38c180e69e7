/* Sums of the times of missing storages that a walk from a storage meets, for policies that price an eviction by them.
 *
 * A search for the smallest score needs few exact sums. So the sum of each walk is kept, either exact or as a lower
 * bound. A walk ends as soon as its sum exceeds the caller's limit.
 *
 *   a storage goes missing         sums can only grow: a kept sum stays a lower bound
 *   a storage becomes resident     the sums of walks that meet it are lowered (plim_walks_lower)
 *
 * Only plim_walks_open can fail. All functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_ARENA_WALK_BOUNDS_H
#define PLIM_RUNTIME_ARENA_WALK_BOUNDS_H

#include "runtime/base/context.h"

/* The direction of a walk: towards what a storage is computed from, or towards what is computed from it. */
typedef enum plim_walk_direction {
  PLIM_WALK_TO_INPUTS,
  PLIM_WALK_TO_READERS,
  PLIM_WALK_DIRECTIONS
} plim_walk_direction;

/* Functions of the owner of the walks, which knows the storages and their neighbours. */
typedef struct plim_walk_owner {
  /* List i of the neighbours of the storage (i = 0, 1, ...). Lists may name a storage twice. Returns the length of the
   * list; PLIM_NONE: there is no such list. */
  int32_t (*neighbours)(const void *user, int32_t storage, plim_walk_direction direction, int32_t i,
                        const int32_t **list);
  /* Time that the storage adds to a sum, ns; PLIM_NONE: it adds nothing, and no walk continues from it. */
  int64_t (*missing_ns)(const void *user, int32_t storage);
  const void *user;
} plim_walk_owner;

/* The sum of one walk: exact, or a lower bound. */
typedef struct plim_walk_sum {
  int64_t sum_ns;
  int32_t exact;
} plim_walk_sum;

typedef struct plim_walks {
  plim_context *ctx;
  plim_walk_owner owner;
  int32_t n_storages;
  int32_t keep_exact; /* 1: the owner applies every change, so that the sum of a finished walk is exact */
  int64_t stamp;      /* of the current walk */
  int64_t *mark;      /* [n_storages] stamp of the last walk that met the storage */
  int32_t *stack;     /* [n_storages] */
  plim_walk_sum *sum[PLIM_WALK_DIRECTIONS]; /* [n_storages] */
} plim_walks;

/* Open the walks of n_storages storages; all sums are lower bounds of 0. `owner.user` must outlive the walks.
 * PLIM_ENOMEM; plim_walks_release is legal also after a failure. */
PLIM_MUST_USE plim_status plim_walks_open(plim_context *ctx, int32_t n_storages, int keep_exact, plim_walk_owner owner,
                                          plim_walks *out);
void plim_walks_release(plim_walks *walks);

/* The sum over all missing storages that can be reached through missing ones. When it exceeds `most`, the result is a
 * number above `most` that is at most the sum. O(storages and neighbours met), or O(1) when the kept sum suffices. */
int64_t plim_walks_sum(plim_walks *walks, int32_t storage, plim_walk_direction direction, int64_t most);

/* A lower bound of that sum. O(1). */
int64_t plim_walks_least(const plim_walks *walks, int32_t storage, plim_walk_direction direction);

/* Is a neighbour of the storage missing? O(neighbours). */
int plim_walks_any_missing(const plim_walks *walks, int32_t storage, plim_walk_direction direction);

/* Subtract lost_ns from the kept sums of all walks in direction `direction` that meet one of storage [n]. They begin at
 * the storages that walks in the other direction reach from storage [n]. exact 1: exact sums stay exact. */
void plim_walks_lower(plim_walks *walks, int32_t n, const int32_t *storage, plim_walk_direction direction,
                      int64_t lost_ns, int exact);

/* Reset the storage's own sum in that direction to a lower bound of 0. */
void plim_walks_forget(plim_walks *walks, int32_t storage, plim_walk_direction direction);

#endif
