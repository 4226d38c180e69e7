/* The state of ideal.c, shared with the costs of its policies. */
#ifndef PLIM_RUNTIME_ONLINE_IDEAL_STATE_H
#define PLIM_RUNTIME_ONLINE_IDEAL_STATE_H

#include "runtime/arena/missing.h"
#include "runtime/arena/walk_bounds.h"
#include "runtime/online/ideal.h"

enum { PLIM_IDEAL_NONE = -1, PLIM_IDEAL_NEVER = 0 /* the clock starts at 1 */ };

/* A storage; its id is that of the tensor it belongs to. */
typedef struct plim_ideal_storage {
  int64_t cost_ns; /* of the distinct calls that define tensors on it, so far */
  int64_t last;    /* access */
  int32_t resident, pinned, locks, handles;
  int32_t buffer;     /* times that it was evicted, + 1 */
  int32_t prev, next; /* in the pool */
  int32_t pooled;
  /* neighbours that the calls so far have made: parent[first_parent .. + n_parents), child[...] */
  int32_t first_parent, n_parents, first_child, n_children;
} plim_ideal_storage;

typedef struct plim_ideal {
  plim_context *ctx;
  const plim_handles *h;
  const plim_policy *policy;
  plim_ideal_storage *storage; /* [n_tensors] */
  int32_t *parent, *child;
  int32_t *defined; /* [n_tensors] buffer of the storage in which the tensor was computed last, 0: never */
  int32_t *maker;   /* [n_tensors] event that defines the tensor */
  int64_t *linked;  /* [n_tensors] stamp of the last list of parents that has the storage */
  int32_t pool_first, pool_last;
  int64_t n_edges, clock, used, budget, limit_ns, looks;
  plim_missing missing;
  plim_walks walks; /* their sums are lower bounds alone */
  plim_online_result *result;
} plim_ideal;

/* Room for the walks. After a failure, too, plim_walks_release is legal. */
PLIM_MUST_USE plim_status plim_ideal_open_walks(plim_ideal *m);

/* Update the bounds of walks before the storage becomes resident. */
void plim_ideal_comes_back(plim_ideal *m, int32_t s);

/* The policy's score of a resident storage; of one that is above `most`, any number above `most`. */
double plim_ideal_score(plim_ideal *m, int32_t s, double most);

#endif
