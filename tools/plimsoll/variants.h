/* Variants that the device refuses before the first step. */
#ifndef PLIM_TOOLS_VARIANTS_H
#define PLIM_TOOLS_VARIANTS_H

#include "tools/plimsoll/session.h"

/* Rehearse the session's plans. A variant that the device refuses leaves the profiles; *again is 1 then: the plans are
 * to be recomputed, with the same numerics where the options fix them. PLIM_EDEVICE when those numerics need the
 * variant, or --plan does. */
plim_status variants_rehearse(session *s, int *again);

/* The same for another program of this session, whose numerics are given. */
plim_status variants_rehearse_in(const session *s, plim_program *program, int *again);

#endif
