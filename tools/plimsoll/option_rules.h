/* Options that are of no use beside others: said, not ignored. */
#ifndef PLIM_TOOLS_PLIMSOLL_OPTION_RULES_H
#define PLIM_TOOLS_PLIMSOLL_OPTION_RULES_H

#include "runtime/base/context.h"
#include "tools/plimsoll/options.h"

/* PLIM_EUSAGE with the names of both when an option was given that its command would ignore for the sake of another
 * option, of one that is missing, or of what the command is asked to do. */
PLIM_MUST_USE plim_status pairs_check(plim_context *ctx, const options *o);

#endif
