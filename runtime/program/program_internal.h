/* What plans of one program share when they page: used by program.c and replan.c. */
#ifndef PLIM_RUNTIME_PROGRAM_PROGRAM_INTERNAL_H
#define PLIM_RUNTIME_PROGRAM_PROGRAM_INTERNAL_H

#include "runtime/program/program.h"

/* Has the plan of a training step something that persists at home in its page space? */
int plim_program_has_homes(const plim_graph *graph, const plim_plan *plan);

/* Then the evaluation step beside it must have it there, too: options for its plan, which borrow both. 0: it has none,
 * and *paging stays as it is. */
int plim_program_eval_homes(const plim_graph *graph, const plim_plan *plan, plim_paging *paging);

#endif
