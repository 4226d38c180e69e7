/* For tests alone: run plans that the checker refuses, so that the executor's own measurements and the check device
 * can be shown to find what is wrong with them. Never installed, never called by the library. */
#ifndef PLIM_RUNTIME_EXEC_EXEC_UNCHECKED_H
#define PLIM_RUNTIME_EXEC_EXEC_UNCHECKED_H

#include "runtime/exec/exec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* plim_exec_open without plim_program_check and without the comparison of workspaces. Indices must be in range and
 * every operand must have a lifetime that begins no later than its command; one that has ended is read where it was. */
PLIM_MUST_USE plim_status plim_exec_open_unchecked(plim_context *ctx, plim_device *device,
                                                   const plim_exec_options *options, int32_t n,
                                                   const plim_graph *const *graph, const plim_plan *const *plan,
                                                   plim_exec **out);

#ifdef __cplusplus
}
#endif
#endif
