/* What happens when a plan over spaces runs at some speed: an interpreter that knows nothing of the checker. Commands
 * of a queue run one after another and after those that they wait for; how long each takes is drawn. */
#ifndef PLIM_TESTS_SUPPORT_SPACE_INTERPRET_H
#define PLIM_TESTS_SUPPORT_SPACE_INTERPRET_H

#include "runtime/graph/space/space_plan.h"

/* NULL: nothing is wrong at the speeds that were drawn, and the figures are right; else what is. */
const char *space_interpret(const plim_graph *graph, const plim_space_plan *plan, uint64_t *random, int runs);

#endif
