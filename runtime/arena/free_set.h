/* Free blocks in the order of (bytes, offset), for best fit: an array that is searched by halves. An insertion or an
 * erasure moves the blocks that follow: cheap for some hundreds, a microsecond or two for some thousands.
 * Functions run on the thread of the context. They are deterministic. Only plim_free_set_reserve fails. In costs, n is
 * the number of blocks in the set. */
#ifndef PLIM_RUNTIME_ARENA_FREE_SET_H
#define PLIM_RUNTIME_ARENA_FREE_SET_H

#include "runtime/base/context.h"

/* A free block, and the id that the caller gave it. */
typedef struct plim_free_entry {
  int64_t bytes, offset;
  int32_t id;
} plim_free_entry;

typedef struct plim_free_set {
  plim_context *ctx;
  plim_free_entry *entry; /* [n] ascending by bytes, then by offset */
  int64_t n, capacity;
  int64_t compared; /* entries compared so far, the cost of all searches */
} plim_free_set;

/* Make an empty set without capacity. Release frees its memory. */
void plim_free_set_init(plim_free_set *set, plim_context *ctx);
void plim_free_set_release(plim_free_set *set);

/* Make room for `count` blocks. PLIM_ENOMEM: the set is unchanged. */
PLIM_MUST_USE plim_status plim_free_set_reserve(plim_free_set *set, int64_t count);

/* Insert a block of `bytes` > 0 that is not in the set; there is room for it. O(log n), and moves up to n
 * entries. */
void plim_free_set_insert(plim_free_set *set, int32_t id, int64_t bytes, int64_t offset);
/* Erase a block that is in the set. O(log n), and moves up to n entries. */
void plim_free_set_erase(plim_free_set *set, int64_t bytes, int64_t offset);

/* Is the block in the set, with this id? O(log n). */
int plim_free_set_has(const plim_free_set *set, int32_t id, int64_t bytes, int64_t offset);

/* The id of the smallest block of at least `bytes`, or PLIM_NONE. Of equal ones that with the lowest (last = 0) or
 * highest (last = 1) offset. O(log n). */
int32_t plim_free_set_best(plim_free_set *set, int64_t bytes, int last);

/* Bytes of the largest block, 0 when the set is empty. O(1). */
int64_t plim_free_set_largest(const plim_free_set *set);

/* Are the blocks in order, and all of some bytes? O(n). */
int plim_free_set_valid(const plim_free_set *set);

#endif
