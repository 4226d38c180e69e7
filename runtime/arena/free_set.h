/* Free blocks in the order of (bytes, offset), for best fit. A skip list: insert, erase and search take O(log n) on
 * average, whatever the order of insertion. Functions run on the thread of the context. They are deterministic, since
 * the levels of a node are a function of its id. Only plim_free_set_reserve fails.
 * Source: Pugh, Skip lists, CACM 1990. */
#ifndef PLIM_RUNTIME_ARENA_FREE_SET_H
#define PLIM_RUNTIME_ARENA_FREE_SET_H

#include "runtime/base/context.h"

enum { PLIM_FREE_SET_LEVELS = 16 };

typedef struct plim_free_node {
  int64_t bytes, offset;              /* the key; bytes 0: not in the set */
  int32_t next[PLIM_FREE_SET_LEVELS]; /* id of the next node on each level, or PLIM_NONE */
} plim_free_node;

/* The set. A node has the id of its block. */
typedef struct plim_free_set {
  plim_context *ctx;
  plim_free_node *node; /* [capacity] */
  int64_t capacity;
  int64_t compared; /* nodes compared so far, the cost of all requests */
  int32_t head[PLIM_FREE_SET_LEVELS];
} plim_free_set;

/* Make an empty set without capacity. Release frees its memory. */
void plim_free_set_init(plim_free_set *set, plim_context *ctx);
void plim_free_set_release(plim_free_set *set);

/* Make room for the ids 0 .. count - 1. PLIM_ENOMEM: the set is unchanged. */
PLIM_MUST_USE plim_status plim_free_set_reserve(plim_free_set *set, int64_t count);

/* Insert a block of `bytes` > 0 whose id is not in the set. */
void plim_free_set_insert(plim_free_set *set, int32_t id, int64_t bytes, int64_t offset);
/* Erase an id that is in the set. */
void plim_free_set_erase(plim_free_set *set, int32_t id);

/* Is the id in the set? O(1). */
int plim_free_set_has(const plim_free_set *set, int32_t id);

/* The smallest block of at least `bytes`, or PLIM_NONE. Of equal ones that with the lowest (last = 0) or highest (last
 * = 1) offset. */
int32_t plim_free_set_best(plim_free_set *set, int64_t bytes, int last);

/* Bytes of the largest block, 0 when the set is empty. O(log n) on average. */
int64_t plim_free_set_largest(const plim_free_set *set);

/* Is every level in order, and does it hold exactly the nodes that are high enough? O(levels x capacity). */
int plim_free_set_valid(const plim_free_set *set);

#endif
