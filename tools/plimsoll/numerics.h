/* Which kernels may run, and which do. */
#ifndef PLIM_TOOLS_PLIMSOLL_NUMERICS_H
#define PLIM_TOOLS_PLIMSOLL_NUMERICS_H

#include "tools/plimsoll/session.h"

/* ==== numerics ==== */

/* Numerics: everything that decides bits. Which kernels a run may use, where that is said, and what is said of it. */

/* Set the session's planning by --numerics; without it a run keeps the numerics of the checkpoint that it loads. */
plim_status numerics_choose(session *s);

/* Plan with the numerics of `plan`, which must outlive `planning`. */
plim_status numerics_of_plan(session *s, const plim_plan *plan, plim_plan_options *planning);

/* Ops whose kernel gives other bits than that of the unlimited run. */
int numerics_changed(const session *s, const plim_plan *plan);

/* The first line of output, where a plan's numerics are not those of the unlimited run. Nothing with --json, whose
 * object has the number. */
void numerics_tell(const session *s, const plim_plan *plan);

/* What a run changes against the checkpoint that it continues from. */
void numerics_tell_resumed(const session *s);

/* What fixed the numerics of the session's planning, as in "batch 8 and the kernels of the unlimited run", from " and"
 * on; "" where nothing did. And what to do when they fit into no budget wanted. Static texts. */
const char *numerics_fixed_by(const session *s);
const char *numerics_remedy(const session *s);

void numerics_close(session *s);

#endif
