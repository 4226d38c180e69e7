/* A tiny interpreter of plans: the oracle of the checker's tests.
 *
 * Every op writes bytes that are a hash of the op, its numerics key and the bytes it reads. The plan runs over one byte
 * arena, where workspaces and outputs are scribbled over as a kernel might do; the graph runs in program order with
 * every storage on its own. Both must leave the same params, states and outputs. */
#ifndef PLIM_TESTS_SUPPORT_INTERPRET_H
#define PLIM_TESTS_SUPPORT_INTERPRET_H

#include "runtime/graph/plan.h"

/* 1 when the plan leaves what program order leaves; 0 when it does not or cannot be followed. The plan may be broken
 * in any way but the lengths of its arrays. Packed plans only, of ops with at most 256 inputs. */
int interpret_equals_program_order(const plim_graph *graph, const plim_plan *plan);

#endif
