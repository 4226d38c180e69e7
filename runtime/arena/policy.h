/* Online policies: which storage is evicted when there is no room, and how the arena searches for it. Rows of one
 * static table. All functions are safe from any thread, and deterministic. */
#ifndef PLIM_RUNTIME_ARENA_POLICY_H
#define PLIM_RUNTIME_ARENA_POLICY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The smallest score is evicted first. Score = cost / size / staleness, each factor as the row says.
 * Cost: of the storage alone (own), with everything missing that it was made from (ancestors) and that was made from it
 * as well (neighbourhood), or with the classes of its missing neighbours (classes); one: 1; access: the score is the
 * time of the last access itself. */
typedef enum plim_cost {
  PLIM_COST_ONE,
  PLIM_COST_ACCESS,
  PLIM_COST_OWN,
  PLIM_COST_ANCESTORS,
  PLIM_COST_NEIGHBOURHOOD,
  PLIM_COST_CLASSES
} plim_cost;

/* Size: none; the storage's bytes (of a window: what it would evict); those and the free bytes beside it. */
typedef enum plim_per_size { PLIM_PER_NOTHING, PLIM_PER_BYTES, PLIM_PER_HOLE } plim_per_size;

/* Staleness: not looked at; its root; as it is. */
typedef enum plim_stale { PLIM_STALE_NOT, PLIM_STALE_ROOT, PLIM_STALE_PLAIN } plim_stale;

/* How a hole is made: one storage after another by score, until the request fits; or the window of neighbouring blocks
 * with the smallest sum of scores. */
typedef enum plim_search_way { PLIM_SEARCH_SINGLE, PLIM_SEARCH_WINDOW } plim_search_way;

typedef struct plim_policy {
  const char *name, *source;
  plim_cost cost;
  plim_per_size size;
  plim_stale stale; /* the time since the last access */
  plim_search_way search;
  int forecast; /* 1: knows the program's order: distance of the next use for staleness, several rows tried */
} plim_policy;

/* Row i of the table, NULL after the last; the row of a name, NULL when there is none. The first is the default. */
const plim_policy *plim_policy_at(int32_t i);
const plim_policy *plim_policy_find(const char *name);
const char *plim_policy_name(int32_t i); /* of row i; NULL after the last */

/* What the staleness divides by. */
double plim_policy_staleness(const plim_policy *policy, int64_t stale_ns);

/* Cost over size over staleness. Bytes and staleness >= 0, stale_ns INT64_MAX: never accessed; a divisor of 0 makes the
 * score infinite. `cost` is the last access for PLIM_COST_ACCESS. */
double plim_policy_score(const plim_policy *policy, int64_t cost, int64_t bytes, int64_t stale_ns);

/* A greater cost has a greater score than `score` (which is >= 0), or the cost does not change the score: who looks for
 * the smallest may stop adding there. */
int64_t plim_policy_most_cost(const plim_policy *policy, double score, int64_t bytes, int64_t stale_ns);

#ifdef __cplusplus
}
#endif
#endif
