/* The independent checker of plans. It is written from docs/formats.md, and shares no code with a planner or with the
 * functions that make plans.
 *
 * It only reads graph and plan, so several threads may check the same plan, each with its own context. Results are
 * deterministic. Every function may return PLIM_ENOMEM.
 *
 * check.c calls the parts of check_internal.h in their order; check_program.c checks several plans together. */
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
 *   Commands of different queues that use the same bytes are ordered by queues and waits.
 *   Persistent storages are live over the whole plan, outputs at its end. Every run has the workspace that it needs.
 *   Peak, arena, time and numerics hash are what the plan states; arena_bytes <= budget_bytes.
 * The bound cannot be proved from a plan: only its order against the times is checked.
 * PLIM_EPLAN: a rule is broken; the sentence names command, op and storage. PLIM_EDATA: the plan is of another graph.
 * O((commands x operands + buffers) log buffers), and buffers^2 for plans with copies. */
PLIM_MUST_USE plim_status plim_plan_check(plim_context *ctx, const plim_graph *graph, const plim_plan *plan);

/* Only the first part of plim_plan_check: the plan is of this graph, and every index in it is in range, so that it can
 * be read. Does not check what the plan computes. Errors as plim_plan_check. O(plan). */
PLIM_MUST_USE plim_status plim_plan_check_form(plim_context *ctx, const plim_graph *graph, const plim_plan *plan);

/* Check the plans of one run, each alone, and together.
 *   graph, plan  [n]  in
 * Together: all plans have addresses, and persistent storages have equal homes, offsets, bytes and roles in all plans.
 * They are matched by the name of their first value. PLIM_EPLAN, PLIM_EDATA as plim_plan_check. */
PLIM_MUST_USE plim_status plim_program_check(plim_context *ctx, int32_t n, const plim_graph *const *graph,
                                             const plim_plan *const *plan);

#ifdef __cplusplus
}
#endif
#endif
