/* --vram: an arena within what a budget on all of a GPU's memory leaves. */
#ifndef PLIM_TOOLS_PLIMSOLL_VRAM_LIMIT_H
#define PLIM_TOOLS_PLIMSOLL_VRAM_LIMIT_H

#include "tools/plimsoll/run_train.h"

/* The budget in bytes into s->vram_bytes, 0 without the option; the device must be open. */
plim_status vram_parse(session *s);

/* Two steps of the run, then PLIM_ENOFIT when the GPU holds more than the budget. */
plim_status vram_first_steps(run *r);

#endif
