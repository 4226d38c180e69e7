/* Kernels as a GPU runs them, by threads of the CPU: a thread block of threads works on one tile after the other. What
 * the walks of CUDA do with threads, rows and barriers is tested so where there is no GPU, by the thread sanitizer
 * too. */
#ifndef PLIM_TESTS_SUPPORT_THREAD_BLOCK_H
#define PLIM_TESTS_SUPPORT_THREAD_BLOCK_H

#include "kernels/launch.h"

enum { BLOCK_LANES = 32 };

extern const k_kernels block_kernels_float, block_kernels_bf16;

/* Run every phase of the launch on operands that are bound to its call. */
void block_run(const k_launch *launch, const k_call *call);

#endif
