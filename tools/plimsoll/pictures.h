/* Pictures as SVG. */
#ifndef PLIM_TOOLS_PLIMSOLL_PICTURES_H
#define PLIM_TOOLS_PLIMSOLL_PICTURES_H

#include "runtime/base/text.h"
#include "runtime/graph/plan.h"

/* ==== words and marks ==== */

/* What the pictures share. */

/* Text between tags: what has a meaning there is written as an entity; at most `most` characters. */
void svg_add(plim_text *text, const char *words, int most);

/* The smallest of 1, 2, 5, 10, 20, ... (and tenths, hundredths ... of them) that needs at most `most` marks over a
 * range. */
double svg_tick(double range, int most);

/* ==== live chart ==== */

/* The picture of one step: live bytes over its commands. */

/* Write an SVG: `plan` and `keep_all` (both of this graph) as curves, the plan's budget as a line, repeats as marks.
 * The file is replaced whole. */
plim_status curve_save(const plim_graph *graph, const plim_plan *keep_all, const plim_plan *plan, const char *path);

#endif
