/* Groups of rows in one array: the rows of group g are row[first[g]] to row[first[g + 1] - 1].
 *
 * Let first [n_groups + 1] be zeroed. Count the rows: first[g]++ for each. Sum. Then go through the rows from the last
 * to the first: row[--first[g]] = the row. After that first[g] is the start of group g, and the rows of a group have
 * the order in which they were counted. A counting sort: O(groups + rows). Safe on any thread. */
#ifndef PLIM_RUNTIME_BASE_GROUPS_H
#define PLIM_RUNTIME_BASE_GROUPS_H

#include <stdint.h>

/* Turn counts into ends.
 *   first  [n_groups + 1]  in, out */
static inline void plim_groups_sum(int32_t *first, int64_t n_groups) {
  for (int64_t g = 0; g < n_groups; g++) first[g + 1] += first[g];
}

#endif
