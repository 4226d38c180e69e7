/* Is a plan right and are its figures true? Decided without the checker: by the interpreter and by sums of its own. */
#ifndef PLIM_TESTS_SUPPORT_JUDGE_H
#define PLIM_TESTS_SUPPORT_JUDGE_H

#include "runtime/graph/plan.h"

/* NULL: the plan leaves what program order leaves, and every figure that a plan can show is true. Else what is wrong, a
 * static text. The plan may be broken in any way but the lengths of its arrays. */
const char *judge_plan(const plim_graph *graph, const plim_plan *plan);

#endif
