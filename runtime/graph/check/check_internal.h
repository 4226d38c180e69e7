/* Parts of the checker, in the order in which they run: each relies on what the parts before it have proved. */
#ifndef PLIM_RUNTIME_GRAPH_CHECK_CHECK_INTERNAL_H
#define PLIM_RUNTIME_GRAPH_CHECK_CHECK_INTERNAL_H

#include "runtime/graph/plan.h"

typedef struct plim_checker {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan;
} plim_checker;

/* Every index, count, size and enumeration is in range and nothing asks for what this version lacks. Afterwards the
 * other parts may follow any index. */
PLIM_MUST_USE plim_status plim_check_form(const plim_checker *check);

/* Every operand is resident where it is read, written or updated; buffers begin where their storage is written; pairs
 * and workspaces are as the command says; persistent storages and outputs are alive as long as they must be. */
PLIM_MUST_USE plim_status plim_check_buffers(const plim_checker *check);

/* Every run sees the versions that program order shows it, effect ops run once, labels stay the same. */
PLIM_MUST_USE plim_status plim_check_order(const plim_checker *check);

/* No two buffers of a space overlap in time and space; peak and arena bytes of every space are as stated and within its
 * budget. */
PLIM_MUST_USE plim_status plim_check_overlap(const plim_checker *check);

/* Commands of different queues that use the same bytes, one of them to write, are ordered by queues and waits as they
 * are in the list. So every execution computes what the list computes. */
PLIM_MUST_USE plim_status plim_check_queues(const plim_checker *check);

/* Do ops run in spaces beside space 0? */
int plim_check_computes(const plim_checker *check);

/* home [n_storages] out: the space in which a persistent storage, or an input, is before the first command; -1: none.
 * PLIM_EPLAN where there are two. */
PLIM_MUST_USE plim_status plim_check_homes(const plim_checker *check, int32_t *home);

/* Times, bound and numerics hash are as stated. */
PLIM_MUST_USE plim_status plim_check_figures(const plim_checker *check);

/* PLIM_EPLAN with "command 3 (op "conv1"): ..."; the command must have passed plim_check_form. */
plim_status plim_check_fault(const plim_checker *check, int32_t command, const char *format, ...) PLIM_PRINTF(3, 4);

/* A name for people: that of the first value over the storage, "workspace" for -1. */
const char *plim_check_storage_name(const plim_checker *check, int32_t storage);

/* Bytes that a buffer must have: rounded up when the plan is packed; -1 on overflow. storage -1: the workspace of the
 * command. */
int64_t plim_check_buffer_bytes(const plim_checker *check, int32_t storage, int32_t command);

#endif
