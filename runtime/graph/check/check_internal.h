/* The parts of the checker, in the order in which they run. Each relies on what the parts before it have proved. All
 * return PLIM_EPLAN when their rule is broken.
 *
 * In their order: check_form.c, check_buffers.c, check_order.c, check_overlap.c, check_queues.c, check_figures.c with
 * check_delays.c. What several parts need is in check.c. */
#ifndef PLIM_RUNTIME_GRAPH_CHECK_CHECK_INTERNAL_H
#define PLIM_RUNTIME_GRAPH_CHECK_CHECK_INTERNAL_H

#include "runtime/graph/plan.h"

typedef struct plim_checker {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan;
} plim_checker;

/* Check that every index, count, size and enumeration is in range. Afterwards the other parts may follow any index. */
PLIM_MUST_USE plim_status plim_check_form(const plim_checker *check);

/* Check that every operand is resident where it is read, written or updated; that buffers begin where their storage is
 * written; that pairs and workspaces are those of the command; and that persistent storages and outputs are live as
 * long as they must be. */
PLIM_MUST_USE plim_status plim_check_buffers(const plim_checker *check);

/* Check that every run reads the versions that program order gives it, that effect ops run once, and that all runs of
 * an op have the same numerics key. */
PLIM_MUST_USE plim_status plim_check_order(const plim_checker *check);

/* Check that no two buffers of a space overlap in time and space, and that peak and arena bytes of every space are as
 * stated and within its budget. */
PLIM_MUST_USE plim_status plim_check_overlap(const plim_checker *check);

/* Check that commands of different queues that use the same bytes, one of them to write, are ordered by queues and
 * waits as they are in the list. So every execution computes the same as the list. */
PLIM_MUST_USE plim_status plim_check_queues(const plim_checker *check);

/* Find the space in which each persistent storage and each input is before the first command: home [n_storages] out,
 * PLIM_NONE: none. PLIM_EPLAN when a storage is in two. */
PLIM_MUST_USE plim_status plim_check_homes(const plim_checker *check, int32_t *home);

/* Do copies of the plan delay the runs beside them? */
int plim_check_has_delays(const plim_plan *plan);

/* The end of the last command of a plan with delays; -1: the times are too large. end_ns [n_commands] out. */
int64_t plim_check_delayed_makespan(const plim_plan *plan, int64_t *end_ns);

/* Check that times and numerics hash are as stated, and that the bound lies between keep-all time and time. */
PLIM_MUST_USE plim_status plim_check_figures(const plim_checker *check);

/* Fail with PLIM_EPLAN and the sentence "command 3 (op "conv1"): ...". The command must have passed plim_check_form. */
plim_status plim_check_fault(const plim_checker *check, int32_t j, const char *format, ...) PLIM_PRINTF(3, 4);

/* The name of a storage in sentences: that of its first value; "workspace" for PLIM_WORKSPACE. */
const char *plim_check_storage_name(const plim_checker *check, int32_t storage);

/* The bytes that a buffer must have, rounded up when the plan is packed; -1 on overflow. PLIM_WORKSPACE: that of
 * the command. */
int64_t plim_check_buffer_bytes(const plim_checker *check, int32_t storage, int32_t command);

#endif
