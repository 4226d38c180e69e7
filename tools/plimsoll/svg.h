/* What the pictures share. */
#ifndef PLIM_TOOLS_PLIMSOLL_SVG_H
#define PLIM_TOOLS_PLIMSOLL_SVG_H

#include "runtime/base/text.h"

/* Text between tags: what has a meaning there is written as an entity; at most `most` characters. */
void svg_add(plim_text *text, const char *words, int most);

/* The smallest of 1, 2, 5, 10, 20, ... (and tenths, hundredths ... of them) that needs at most `most` marks over a
 * range. */
double svg_tick(double range, int most);

#endif
