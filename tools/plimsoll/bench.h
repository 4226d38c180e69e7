/* The tables that plimsoll bench prints: each in a file of its own, over the public instances of a folder. */
#ifndef PLIM_TOOLS_PLIMSOLL_BENCH_H
#define PLIM_TOOLS_PLIMSOLL_BENCH_H

#include <jansson.h>

#include "tools/plimsoll/session.h"

/* Print the table, or with --json one object, for the instances in `folder`. */
typedef plim_status bench_table(session *s, const char *folder);

bench_table bench_planners, bench_pack, bench_online, bench_large, bench_window;

/* Seed, threads and limits as the options say. */
plim_plan_options bench_planning(const session *s, const char *planner);

/* Names of the files in a folder that end so, sorted: calls `each` with the path of one after the other. PLIM_ENOFILE
 * when there is no such folder or none of these files. */
typedef plim_status bench_each(void *user, const char *path);
plim_status bench_files(session *s, const char *folder, const char *ending, bench_each *each, void *user);

/* With --json print the rows of a table that succeeded as one object; gives up the reference to them. */
void bench_rows_end(const session *s, plim_status status, json_t *rows);

#endif
