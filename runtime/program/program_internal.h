/* What the files of a program share, all in program.c: planning both steps. Functions run on the
 * thread of the device. */
#ifndef PLIM_RUNTIME_PROGRAM_PROGRAM_INTERNAL_H
#define PLIM_RUNTIME_PROGRAM_PROGRAM_INTERNAL_H

#include "runtime/program/program.h"

enum { PLIM_PROGRAM_PLANNED = PLIM_PROGRAM_EVAL + 1 };

/* Plan the evaluation step beside a plan of the training step; NULL: there is none. */
PLIM_MUST_USE plim_status plim_program_plan_eval(const plim_program *program, const plim_plan_options *options,
                                                 const plim_plan *train, plim_plan **out);

/* Plan both steps, as plim_program_plan, and leave the program as it is. On failure both plans are not made. */
PLIM_MUST_USE plim_status plim_program_make_plans(const plim_program *program, const plim_plan_options *options,
                                                  plim_plan_result *train, plim_plan **eval);

#endif
