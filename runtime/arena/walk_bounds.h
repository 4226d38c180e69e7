/* Sums of the times of missing storages that a walk from a storage meets, for policies that price an eviction by them.
 *
 * A search for the smallest score needs few of these sums whole. So each storage keeps the sum of its walks: exact, or
 * a lower bound. A walk ends as soon as its sum exceeds what the caller has use for.
 *
 *   a storage goes missing         sums can only grow: what is kept stays a lower bound
 *   a storage becomes resident     the sums of walks that meet it are lowered (plim_walks_lower)
 *
 * No function fails, but for the opening. All run on the thread of the context. */
#ifndef PLIM_RUNTIME_ARENA_WALK_BOUNDS_H
#define PLIM_RUNTIME_ARENA_WALK_BOUNDS_H

#include "runtime/base/context.h"

/* What a storage is made from, and what is made from it. */
typedef enum plim_walk_way { PLIM_WALK_TO_INPUTS, PLIM_WALK_TO_READERS, PLIM_WALK_WAYS } plim_walk_way;

/* The storages and their neighbours, as the owner of the walks has them. */
typedef struct plim_walk_owner {
  /* Neighbours of the storage, list by list (i = 0, 1, ...); may name one storage twice. Returns the length of list i;
   * -1: there is no such list. */
  int32_t (*neighbours)(const void *user, int32_t storage, plim_walk_way way, int32_t i, const int32_t **list);
  /* What the storage adds to a sum, ns; -1: nothing, and no walk continues from it. */
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
  int64_t stamp;      /* of the walk at hand */
  int64_t *mark;      /* [n_storages] stamp of the walk that came there last */
  int32_t *stack;     /* [n_storages] */
  plim_walk_sum *sum[PLIM_WALK_WAYS]; /* [n_storages] */
} plim_walks;

/* All sums are 0, as lower bounds. After a failure, too, release is legal. `owner.user` must outlive the walks. */
PLIM_MUST_USE plim_status plim_walks_open(plim_context *ctx, int32_t n_storages, int keep_exact, plim_walk_owner owner,
                                          plim_walks *out);
void plim_walks_release(plim_walks *walks);

/* The sum over the missing storages that can be reached through missing ones; of one above `most`, any number above
 * `most` and at most the sum. O(storages and neighbours met); O(1) where the kept sum answers. */
int64_t plim_walks_sum(plim_walks *walks, int32_t storage, plim_walk_way way, int64_t most);

/* A lower bound of that sum. O(1). */
int64_t plim_walks_least(const plim_walks *walks, int32_t storage, plim_walk_way way);

/* Is a neighbour of the storage missing? O(neighbours). */
int plim_walks_any_missing(const plim_walks *walks, int32_t storage, plim_walk_way way);

/* Subtract lost_ns from the kept sums of all walks in direction `way` that meet one of storage [n]: those of the
 * storages that walks in the other direction reach from these. exact 1: sums that were exact stay so. */
void plim_walks_lower(plim_walks *walks, int32_t n, const int32_t *storage, plim_walk_way way, int64_t lost_ns,
                      int exact);

/* Forget the storage's own sum in that direction. */
void plim_walks_forget(plim_walks *walks, int32_t storage, plim_walk_way way);

#endif
