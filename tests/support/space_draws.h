/* Random instances for plans over spaces, and random sequences for them. */
#ifndef PLIM_TESTS_SUPPORT_SPACE_DRAWS_H
#define PLIM_TESTS_SUPPORT_SPACE_DRAWS_H

#include "planner/spaces/problem/space_sequence.h"
#include "runtime/base/random.h"
#include "tools/plimsoll-bench/joint_case.h"

/* The instance of joint_case_make: by seed with one device and a page space or with two devices, with energies, some
 * with workspaces, some with one queue for both directions of a link. */
void space_draw_case(plim_context *ctx, uint64_t seed, uint64_t *draws, joint_case *c, plim_space_problem **problem);

/* Program order on drawn devices, repaired and covered with drawn weights. `sequence` is initialised. 0: it does not
 * fit. */
int space_draw_sequence(const int64_t *budget, uint64_t *draws, plim_random *random, plim_space_sequence *sequence);

#endif
