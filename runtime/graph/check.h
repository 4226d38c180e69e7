/* The independent checker. Written from docs/formats.md; shares no code with any planner and assumes nothing. */
#ifndef PLIM_RUNTIME_GRAPH_CHECK_H
#define PLIM_RUNTIME_GRAPH_CHECK_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prove that a plan computes the graph within its budget: every operand resident and of the version that program
 * order reads; effect ops exactly once, after every run of the readers of what they update; only pure and random
 * ops repeated, always with the numerics key of their first run; first runs in program order unless the class is free;
 * no two buffers overlap in time and space; alignment;
 * persistent storages alive over the whole plan, outputs at its end; workspaces present; peak, arena, time and
 * arithmetic hash as stated; arena_bytes <= budget_bytes.
 * Returns PLIM_EPLAN with a sentence naming step, op and storage, PLIM_EDATA when the plan is of another graph.
 * O((steps x operands + buffers) log buffers). */
PLIM_MUST_USE plim_status plim_plan_check(plim_context *ctx, const plim_graph *graph, const plim_plan *plan);

/* The first part of plim_plan_check alone: the plan is of this graph and every index in it is in range, so that it can
 * be read. It says nothing about what the plan computes. */
PLIM_MUST_USE plim_status plim_plan_check_form(plim_context *ctx, const plim_graph *graph, const plim_plan *plan);

/* Check a program: each plan alone, and persistent storages (matched by value name) at equal offsets and of
 * equal bytes in all of them. graph [n], plan [n]. */
PLIM_MUST_USE plim_status plim_program_check(plim_context *ctx, int32_t n, const plim_graph *const *graph,
                                             const plim_plan *const *plan);

#ifdef __cplusplus
}
#endif
#endif
