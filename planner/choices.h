/* Which variants a plan may use: label rules, the 3 % rule, dominated ones left out. */
#ifndef PLIM_PLANNER_CHOICES_H
#define PLIM_PLANNER_CHOICES_H

#include "planner/problem.h"

/* Fill the choices of every op and keep_all_ns. PLIM_EUSAGE for a given label that no variant of the op has. */
PLIM_MUST_USE plim_status plim_choices_make(plim_problem *problem, const plim_plan_options *options);

#endif
