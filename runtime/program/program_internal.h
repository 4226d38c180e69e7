/* Homes of persistent storages in a page space, which all plans of a program share: for program.c and replan.c. */
#ifndef PLIM_RUNTIME_PROGRAM_PROGRAM_INTERNAL_H
#define PLIM_RUNTIME_PROGRAM_PROGRAM_INTERNAL_H

#include "runtime/program/program.h"

/* Has the plan of a training step persistent storages at home in its page space? */
int plim_program_has_homes(const plim_graph *graph, const plim_plan *plan);

/* Set the paging options of the evaluation step, which must have the same homes as the training step's plan. The
 * options borrow graph and plan. Returns 0, and leaves *paging as it is, when the plan has no homes in a page space. */
int plim_program_eval_homes(const plim_graph *graph, const plim_plan *plan, plim_paging *paging);

#endif
