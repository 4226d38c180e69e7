/* A hash table of ids from 0. The owner of the table has what the ids stand for, and compares it.
 *
 * Not safe from several threads; find alone is. The order of ids with equal places depends on the calls, and no result
 * does. */
#ifndef PLIM_RUNTIME_BASE_HASH_TABLE_H
#define PLIM_RUNTIME_BASE_HASH_TABLE_H

#include "runtime/base/context.h"

typedef struct plim_hash_slot {
  uint64_t hash;
  int32_t taken; /* id + 1; 0: free */
} plim_hash_slot;

/* An empty table is plim_hash_table t = {.ctx = ctx}. Release it, also after a failure. */
typedef struct plim_hash_table {
  plim_context *ctx;
  plim_hash_slot *slot; /* [n_slots], a power of two; at most half of them are taken */
  int64_t n_slots, n;   /* n: ids in the table */
} plim_hash_table;

/* Is `key` what the id of `owner` stands for? */
typedef int plim_hash_same(const void *owner, int32_t id, const void *key);

/* Find the id of a key; PLIM_NONE: the table has none. O(1) on average. */
int32_t plim_hash_find(const plim_hash_table *table, uint64_t hash, plim_hash_same *same, const void *owner,
                       const void *key);

/* Make room for one more id. PLIM_ENOMEM, PLIM_EOVERFLOW: the table is unchanged. Amortised O(1). */
PLIM_MUST_USE plim_status plim_hash_reserve(plim_hash_table *table);
/* Add an id whose key the table does not have. There must be room for it. O(1) on average. */
void plim_hash_add(plim_hash_table *table, uint64_t hash, int32_t id);

void plim_hash_clear(plim_hash_table *table);   /* forget all ids, and keep the room; O(slots) */
void plim_hash_release(plim_hash_table *table); /* an empty table is legal */

#endif
