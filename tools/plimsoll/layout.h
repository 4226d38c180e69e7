/* The memory order of activations, chosen by profile. */
#ifndef PLIM_TOOLS_PLIMSOLL_LAYOUT_H
#define PLIM_TOOLS_PLIMSOLL_LAYOUT_H

#include "tools/plimsoll/session.h"

/* Begin the session's program in the layout of --layout. auto: profile the training step in each layout that the
 * device's kernels are made for, take the one in which every op once with its fastest variant takes least time;
 * differences under 3 % are ties, and the first candidate wins. Sets s->layout. */
plim_status layout_choose(session *s, plim_program **out);

#endif
