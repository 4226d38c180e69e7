/* Online policies: which storage is evicted when there is no room, and how the arena searches for it. Rows of one
 * static table. All functions are safe from any thread, and deterministic. */
#ifndef PLIM_RUNTIME_ARENA_POLICY_H
#define PLIM_RUNTIME_ARENA_POLICY_H

#include <stdint.h>

#include "runtime/base/size.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The storage with the smallest score is evicted first. Score = cost / size / staleness. A column of the row says how
 * to compute each of the three.
 *
 * The cost of a storage is a sum of times of ops, in ns. A storage is missing when it was computed and is not resident
 * now. */
typedef enum plim_cost {
  PLIM_COST_ONE,           /* 1 for every storage */
  PLIM_COST_ACCESS,        /* the time of the last access, so that the least recently used is first */
  PLIM_COST_OWN,           /* the op that computes the storage */
  PLIM_COST_ANCESTORS,     /* that op, and the ops of all missing storages that it needs, directly or not */
  PLIM_COST_NEIGHBOURHOOD, /* these, and the ops of all missing storages that are computed from the storage */
  PLIM_COST_CLASSES        /* that op, and the equivalence classes of its missing neighbours (DTR, section 4) */
} plim_cost;

/* The divisor for size. */
typedef enum plim_per_size {
  PLIM_PER_NOTHING, /* 1 */
  PLIM_PER_BYTES,   /* bytes of the storage; of a window the bytes that it evicts */
  PLIM_PER_HOLE     /* bytes of the storage, and free bytes next to it */
} plim_per_size;

/* The divisor for staleness: 1; the square root of the staleness; the staleness. */
typedef enum plim_stale { PLIM_STALE_NOT, PLIM_STALE_ROOT, PLIM_STALE_PLAIN } plim_stale;

/* How room is made: evict one storage after another by score, until the request fits; or evict the window of
 * neighbouring blocks with the smallest sum of scores. */
typedef enum plim_search_way { PLIM_SEARCH_SINGLE, PLIM_SEARCH_WINDOW } plim_search_way;

typedef struct plim_policy {
  const char *name, *source; /* source: the paper or program that it is from */
  plim_cost cost;
  plim_per_size size;
  plim_stale stale; /* staleness: ns since the last access */
  plim_search_way search;
  int forecast; /* 1: knows the program's order. Staleness is the time to the next read, and several rows are tried */
} plim_policy;

/* Row i of the table, NULL after the last. Row 0 is the default. Valid for ever. */
const plim_policy *plim_policy_at(int32_t i);
/* The row of that name, NULL when there is none. Valid for ever. */
const plim_policy *plim_policy_find(const char *name);
const char *plim_policy_name(int32_t i); /* of row i; NULL after the last */

/* The divisor for staleness. stale_ns >= 0. O(1). */
double plim_policy_staleness(const plim_policy *policy, int64_t stale_ns);

/* The score of a storage or of a window: cost over size over staleness. O(1).
 *   cost      in  ns; for PLIM_COST_ACCESS the time of the last access, ns
 *   bytes     in  >= 0
 *   stale_ns  in  >= 0; PLIM_TIME_INFINITE: it was never accessed
 * Infinite where a divisor is 0. */
double plim_policy_score(const plim_policy *policy, int64_t cost, int64_t bytes, int64_t stale_ns);

/* An upper limit of the costs whose score is at most `score` >= 0. A search for the smallest score may stop adding to a
 * cost above this limit. 0 where a divisor is 0; PLIM_TIME_INFINITE when no cost is too large. O(1). */
int64_t plim_policy_most_cost(const plim_policy *policy, double score, int64_t bytes, int64_t stale_ns);

#ifdef __cplusplus
}
#endif
#endif
