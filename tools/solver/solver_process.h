/* The program plimsoll-solver: it solves one model that it shares with the program that started it. */
#ifndef PLIM_TOOLS_SOLVER_SOLVER_PROCESS_H
#define PLIM_TOOLS_SOLVER_SOLVER_PROCESS_H

#include "planner/solvers/solvers_internal.h"

/* Its main function, over those back ends, NULL after the last. Returns the exit status: 0 when an answer was told, 2
 * when no one shares a model with it, 3 when that is of another version or asks for another back end. The process ends
 * with the one that started it, whatever the back end does. */
int plim_solver_process(const plim_back_end *const *back_end);

#endif
