/* Free blocks in the order of (bytes, offset), in which best fit searches. A skip list: insert, erase and search take
 * O(log n) on average, whatever the order of insertion. On the thread of the context; deterministic: the levels of a
 * node are a function of its id. Only reserve fails. Source: Pugh, Skip lists, CACM 1990. */
#ifndef PLIM_RUNTIME_ARENA_FREE_SET_H
#define PLIM_RUNTIME_ARENA_FREE_SET_H

#include "runtime/base/context.h"

enum { PLIM_FREE_SET_LEVELS = 16 };

typedef struct plim_free_node {
  int64_t bytes, offset;              /* the key; bytes 0: not in the set */
  int32_t next[PLIM_FREE_SET_LEVELS]; /* id of the next node on each level, -1: none */
} plim_free_node;

/* Nodes have the ids of their blocks. */
typedef struct plim_free_set {
  plim_context *ctx;
  plim_free_node *node; /* [capacity] */
  int64_t capacity;
  int64_t compared; /* nodes compared so far: the cost of all requests */
  int32_t head[PLIM_FREE_SET_LEVELS];
} plim_free_set;

/* An empty set. */
void plim_free_set_init(plim_free_set *set, plim_context *ctx);
void plim_free_set_release(plim_free_set *set);

/* Room for the ids 0 .. count - 1. PLIM_ENOMEM: the set is as it was. */
PLIM_MUST_USE plim_status plim_free_set_reserve(plim_free_set *set, int64_t count);

/* bytes > 0; the id must not be in the set, or be in it, respectively. */
void plim_free_set_insert(plim_free_set *set, int32_t id, int64_t bytes, int64_t offset);
void plim_free_set_erase(plim_free_set *set, int32_t id);

/* 1: the id is in the set. O(1). */
int plim_free_set_has(const plim_free_set *set, int32_t id);

/* Smallest block of at least `bytes`, of equal ones the one with the lowest (last = 0) or highest (last = 1) offset;
 * -1: none. */
int32_t plim_free_set_best(plim_free_set *set, int64_t bytes, int last);

/* Bytes of the largest block, 0 when the set is empty. O(log n) on average. */
int64_t plim_free_set_largest(const plim_free_set *set);

/* 1: in order on every level, and the members of each level are on all levels below. O(n). */
int plim_free_set_valid(const plim_free_set *set);

#endif
