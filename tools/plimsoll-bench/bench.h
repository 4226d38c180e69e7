/* The tables that plimsoll bench prints: each in a file of its own, over the public instances of a folder. */
#ifndef PLIM_TOOLS_PLIMSOLL_BENCH_H
#define PLIM_TOOLS_PLIMSOLL_BENCH_H

#include <jansson.h>

#include "planner/pack/pack.h"
#include "tools/plimsoll/session.h"

/* Print the table, or with --json one object, for the instances in `folder`. */
typedef plim_status bench_table(session *s, const char *folder);

bench_table bench_planners, bench_pack, bench_online, bench_large, bench_window, bench_tight, bench_poet, bench_joint,
    bench_xengine;

/* What bench pack prints without a folder: buffers of made-up training steps. */
plim_status bench_buffers(session *s);

/* Pack once under `capacity` (INT64_MAX: as low as possible) within the time limit of the options or 5 s; *seconds is
 * what it took. A time limit that is over is no failure. */
plim_status bench_pack_once(const session *s, const plim_boxes *boxes, int64_t capacity, int64_t *offset,
                            plim_pack_solution *found, double *seconds);

/* Seed, threads and limits as the options say. */
plim_plan_options bench_planning(const session *s, const char *planner);

/* PLIM_ECANCEL when Ctrl-C has been pressed: rows that were printed stand. */
plim_status bench_go_on(const session *s);

/* Names of the files in a folder that end so, sorted: calls `each` with the path of one after the other. PLIM_ENOFILE
 * when there is no such folder or none of these files. */
typedef plim_status bench_each(void *user, const char *path);
plim_status bench_files(session *s, const char *folder, const char *ending, bench_each *each, void *user);

/* Say on the error stream why a planner gave no plan, unless that was said last: its cells are empty for that reason.
 */
void bench_say_missing(const session *s);

enum { BENCH_NAME = 64 };

/* Copy the first of names with commas between them; returns what is left. */
const char *bench_next_name(const char *names, char name[BENCH_NAME]);

/* Add a row to a table; gives up the reference to it. After Ctrl-C it says "stopped": it is of what was found so far.
 */
void bench_row_add(const session *s, json_t *rows, json_t *row);

/* With --json print the rows as one object; gives up the reference to them. Rows of a table that ended early are
 * printed as well: the object says "partial", and why. */
void bench_rows_end(session *s, plim_status status, json_t *rows);

#endif
