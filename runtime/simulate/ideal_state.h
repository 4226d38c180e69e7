/* The state of a simulation in ideal memory, shared by its files: ideal_score.c has the scores of the policies,
 * ideal_memory.c the rest. Functions run on the thread of the context, and are deterministic. */
#ifndef PLIM_RUNTIME_SIMULATE_IDEAL_STATE_H
#define PLIM_RUNTIME_SIMULATE_IDEAL_STATE_H

#include "runtime/arena/missing.h"
#include "runtime/arena/walk_bounds.h"
#include "runtime/simulate/ideal_memory.h"

enum { PLIM_IDEAL_NEVER = 0 /* the clock starts at 1 */ };

/* A storage. Its id is that of the tensor that owns it. */
typedef struct plim_ideal_storage {
  int64_t cost_ns;    /* time of the distinct calls so far that define tensors on it */
  int64_t last_ns;    /* clock of its last access, PLIM_IDEAL_NEVER: none */
  int32_t resident;   /* 1: its bytes are in memory */
  int32_t pinned;     /* 1: it is never evicted, because it is a constant or kept at the end */
  int32_t n_locks;    /* number of arguments of waiting calls in it */
  int32_t n_handles;  /* number of handles that the program holds */
  int32_t buffer;     /* number of evictions so far + 1; 0: the program has not computed it yet */
  int32_t in_pool;    /* 1: in the pool of storages that may be evicted */
  int32_t prev, next; /* neighbours in the pool, PLIM_NONE: the end of the list */
  /* Neighbours by the calls so far: storages from which it is computed, and storages computed from it. */
  int32_t first_parent, n_parents; /* into plim_ideal.parent */
  int32_t first_child, n_children; /* into plim_ideal.child */
} plim_ideal_storage;

typedef struct plim_ideal {
  /* the arguments of the run, all borrowed */
  plim_context *ctx;
  const plim_handles *handles; /* the program */
  const plim_policy *policy;
  int64_t budget_bytes;
  int64_t limit_ns; /* of the time of recomputations */
  plim_online_result *result;
  /* memory now */
  int64_t clock_ns;              /* time of all calls so far, + 1 */
  int64_t used_bytes;            /* of resident storages */
  plim_ideal_storage *storage;   /* [n_tensors] */
  int32_t *defined;              /* [n_tensors] value of `buffer` when the tensor was computed last, 0: never */
  int32_t *maker;                /* [n_tensors] event that defines the tensor */
  int32_t pool_first, pool_last; /* first and last storage of the pool, in the order in which they were added */
  /* neighbours */
  int64_t n_edges;    /* length of parent and of child */
  int32_t *parent;    /* [n_edges] */
  int32_t *child;     /* [n_edges] */
  int64_t link_stamp; /* of the list of parents that is being extended */
  int64_t *linked;    /* [n_tensors] stamp of the last list of parents that has the storage */
  /* scratch and caches of scores */
  plim_missing missing; /* classes of storages that are not resident */
  plim_walks walks;     /* only lower bounds are kept */
} plim_ideal;

/* Allocate the walks. plim_walks_release is legal also after a failure. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_ideal_open_walks(plim_ideal *sim);

/* Update the bounds of walks before the storage becomes resident. */
void plim_ideal_comes_back(plim_ideal *sim, int32_t s);

/* The policy's score of a resident storage. When it exceeds `most`, the result is any number above `most`. */
double plim_ideal_score(plim_ideal *sim, int32_t s, double most);

#endif
