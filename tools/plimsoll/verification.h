/* The same steps under the session's plan and under keep-all with the plan's arithmetic, compared bit for bit. */
#ifndef PLIM_TOOLS_PLIMSOLL_VERIFICATION_H
#define PLIM_TOOLS_PLIMSOLL_VERIFICATION_H

#include "runtime/train/state.h"
#include "tools/plimsoll/session.h"

typedef struct verification {
  int64_t steps;
  plim_program *free_program; /* keep-all, with the labels of the plan */
  plim_state_difference difference;
} verification;

/* Run `steps` steps both ways. The session must have a data set and a plan. A difference is not a failure here. */
plim_status verification_run(session *s, int64_t steps, verification *v);
/* A program like the session's, planned as keep-all with the numerics of the session's plan. */
plim_status verification_plan_freely(session *s, plim_program **program);
void verification_end(verification *v);

#endif
