/* The optimum of small instances over spaces, by exhaustion: runs in any order and as often as they like. */
#ifndef PLIM_TESTS_SUPPORT_SPACE_ORACLE_H
#define PLIM_TESTS_SUPPORT_SPACE_ORACLE_H

#include "tests/support/space_cases.h"

/* The least sum of times until the last op's output is anywhere; -1: no budget is enough. At most 7 ops; a time of -1:
 * the op does not run there. Bytes budget [2]. */
int64_t space_oracle_sum(const space_case *c, const int64_t *budget);

/* The least makespan on d0 with the space of d1 as unlimited page space, reached by links of their own direction each
 * (duplex) or by one. At most 5 ops; times of 1 to 3. -1: the budget is too small. */
int64_t space_oracle_makespan(const space_case *c, int64_t budget, int duplex, int page);

/* The least makespan on two devices with a queue each and one for the copies to each; times of 1 to 3 units, at most
 * four ops; -1: never. */
int64_t space_oracle_makespan_two(const space_case *c, const int64_t *budget);

#endif
