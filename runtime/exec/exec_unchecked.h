/* For tests alone: runs plans that the checker refuses. So a test can show that the executor's own measurements and the
 * check device find what is wrong with them. Never installed, never called by the library. The function is in open.c.
 * Functions run on the thread of the executor. */
#ifndef PLIM_RUNTIME_EXEC_EXEC_UNCHECKED_H
#define PLIM_RUNTIME_EXEC_EXEC_UNCHECKED_H

#include "runtime/exec/exec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* plim_exec_open without plim_program_check and without the comparison of workspaces. Indices must be in range, and the
 * buffer of every operand must begin no later than its command. A buffer that has ended is read at its old offset. */
PLIM_MUST_USE plim_status plim_exec_open_unchecked(plim_context *ctx, plim_device *device,
                                                   const plim_exec_options *options, int32_t n,
                                                   const plim_graph *const *graph, const plim_plan *const *plan,
                                                   plim_exec **out);

#ifdef __cplusplus
}
#endif
#endif
