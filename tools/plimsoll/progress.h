/* One line on standard error that is drawn over: only on a terminal, cut to its width, ten times a
 * second at most. */
#ifndef PLIM_TOOLS_PLIMSOLL_PROGRESS_H
#define PLIM_TOOLS_PLIMSOLL_PROGRESS_H

#include "runtime/base/context.h"

typedef struct progress {
  int on;
  int shown; /* columns that stand on the line */
  int64_t last_ns;
} progress;

void progress_begin(progress *p, int wanted);

/* Draw done/total (total <= 0: unknown) with a text after the bar. Every call may be dropped but the last: done ==
 * total is always drawn. */
void progress_draw(progress *p, const char *stage, int64_t done, int64_t total, const char *text);

/* Take the line away. */
void progress_clear(progress *p);

/* plim_on_progress with a progress as its user: planning and profiling. */
void progress_report(void *user, const plim_progress *report);

#endif
