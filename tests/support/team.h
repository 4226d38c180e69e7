/* Kernels as a GPU runs them, by threads of the CPU: a team of lanes works on one tile after the other. What the walks
 * of CUDA do with lanes, rows and barriers is tested so where there is no GPU, by the thread sanitizer too. */
#ifndef PLIM_TESTS_SUPPORT_TEAM_H
#define PLIM_TESTS_SUPPORT_TEAM_H

#include "kernels/launch.h"

enum { TEAM_LANES = 32 };

extern const k_bodies team_bodies_float, team_bodies_bf16;

/* Run every phase of the launch on operands that are bound to its call. */
void team_run(const k_launch *launch, const k_call *call);

#endif
