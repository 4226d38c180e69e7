/* What the curves of plan --front share: how many budgets, and the form in which they are written. */
#ifndef PLIM_TOOLS_PLIMSOLL_CURVE_FORMS_H
#define PLIM_TOOLS_PLIMSOLL_CURVE_FORMS_H

#include "runtime/base/text.h"
#include "tools/plimsoll/session.h"

/* --points, or 41. */
int32_t curve_points(const options *o);

/* Does a path end so? 0 for NULL. */
int curve_ends_in(const char *path, const char *ending);

typedef void curve_writer(plim_text *text, const void *curve);
/* Write the curve to --output, as CSV where its name ends in .csv, else as JSON; without --output print JSON. */
plim_status curve_write_form(session *s, curve_writer *json, curve_writer *csv, const void *curve);

#endif
