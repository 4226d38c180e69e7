/* The independent checker. Written from docs/formats.md; shares no code with any planner and assumes nothing.
 *
 * It only reads graph and plan, so several threads may check the same ones, each with its own context. The result is
 * deterministic. Every function may return PLIM_ENOMEM. */
#ifndef PLIM_RUNTIME_GRAPH_CHECK_CHECK_H
#define PLIM_RUNTIME_GRAPH_CHECK_CHECK_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prove that a plan computes the graph within its budget:
 *   Every operand is resident, and of the version that program order reads.
 *   An effect op runs once, after every run of the ops that read what it updates.
 *   Only pure and random ops are repeated, with the numerics key of their first run.
 *   First runs are in program order, unless the class is free.
 *   No two buffers overlap in time and space, and offsets are multiples of PLIM_ALIGN.
 *   Persistent storages are live over the whole plan, outputs at its end. Workspaces are there.
 *   Peak, arena, time and numerics hash are what the plan states; arena_bytes <= budget_bytes.
 * PLIM_EPLAN with a sentence that names command, op and storage. PLIM_EDATA: the plan is of another graph.
 * O((commands x operands + buffers) log buffers). */
PLIM_MUST_USE plim_status plim_plan_check(plim_context *ctx, const plim_graph *graph, const plim_plan *plan);

/* The first part of plim_plan_check alone: the plan is of this graph, and every index in it is in range, so that it can
 * be read. It says nothing about what the plan computes. The same errors. */
PLIM_MUST_USE plim_status plim_plan_check_form(plim_context *ctx, const plim_graph *graph, const plim_plan *plan);

/* Check the plans of one run: each alone, and together. graph [n], plan [n] in. Persistent storages, matched by the
 * name of their first value, have equal offsets, bytes and roles in all of them. PLIM_EPLAN, PLIM_EDATA as above. */
PLIM_MUST_USE plim_status plim_program_check(plim_context *ctx, int32_t n, const plim_graph *const *graph,
                                             const plim_plan *const *plan);

#ifdef __cplusplus
}
#endif
#endif
