/* What the commands print. */
#ifndef PLIM_TOOLS_PLIMSOLL_FIGURES_H
#define PLIM_TOOLS_PLIMSOLL_FIGURES_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/context.h"
#include "runtime/graph/graph.h"

/* ==== figures ==== */

/* The figures of a run, collected once and printed as a table or as one JSON object. */

enum { FIGURES_COLUMNS = 2, FIGURES_ROWS = 48, FIGURES_TEXT = 256 };

typedef struct figures_row {
  const char *label;
  char text[FIGURES_COLUMNS][FIGURES_TEXT];
} figures_row;

/* A table of one or two columns. Figures of column 0 of a one-column table are members of the object itself; with two
 * columns each has an object of its own, named by `key`. */
typedef struct figures {
  int columns, rows, last; /* last: row that was added to last */
  const char *title[FIGURES_COLUMNS], *key[FIGURES_COLUMNS];
  figures_row row[FIGURES_ROWS];
  json_t *object;
} figures;

void figures_begin(figures *f, int columns, const char *const *title, const char *const *key);
void figures_end(figures *f); /* frees; legal after a failed begin or twice */

/* Add a figure to column `column`. key NULL: not in the object. label NULL: not in the table. */
void figures_bytes(figures *f, int column, const char *key, const char *label, int64_t bytes);
void figures_count(figures *f, int column, const char *key, const char *label, int64_t count);
void figures_text(figures *f, int column, const char *key, const char *label, const char *text);
void figures_flag(figures *f, int column, const char *key, const char *label, int yes);
/* `format` prints one double. */
void figures_real(figures *f, int column, const char *key, const char *label, const char *format, double x);

/* null in the object: a figure that this result does not have. */
void figures_null(figures *f, int column, const char *key);

/* The row of this label, which is there, becomes the one that was added last. */
void figures_select(figures *f, const char *label);

/* More words after the figure that was added to the table last. */
void figures_note(figures *f, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Print to standard output, or to another stream. */
void figures_print(const figures *f, int as_json);
void figures_print_to(const figures *f, int as_json, FILE *to);

/* ==== numbers for people ==== */

/* Numbers for people; sizes: plim_size_print. */

enum { HUMAN_BYTES = 64 };

/* Each writes to text [HUMAN_BYTES] and returns it. */
const char *human_count(int64_t count, char *text);                   /* "60,000" */
const char *human_bytes(int64_t bytes, char *text);                   /* "64.0 MiB (67108864 bytes)", "512 B" */
const char *human_items(int64_t count, const char *noun, char *text); /* "1 step", "12,000 steps" */
/* Who made a plan: "search, then paging" of the planner "search, paged"; returns text, or a static string. */
const char *human_planner(const char *planner, char *text);
const char *human_seconds(double seconds, char *text); /* "4:05", "1:02:03" */
const char *human_time(int64_t ns, char *text);        /* "12 ns", "345.531 us", "2.5 ms", "90 s" */

/* The largest of ns, us, ms and s that is no longer than the time. *unit_ns out: its length. */
const char *human_time_unit(int64_t ns, double *unit_ns);

/* ==== medians ==== */

/* Step times: a median over the last few thousand, in constant memory. */

enum { TIMES_KEPT = 4096 };

typedef struct times {
  int64_t count; /* added so far */
  int64_t ns[TIMES_KEPT];
} times;

void times_add(times *t, int64_t ns);

/* The time that `percent` of the kept ones do not exceed (50: the median); 0 when there is none. */
int64_t times_percentile(const times *t, int percent);

/* ==== a graph ==== */

/* The figures of a graph that came from outside. */

void graph_figures_print(const plim_graph *graph, int as_json);

/* ==== failures ==== */

/* How a command says that it failed: a sentence for people, an object for programs. */

/* "status" and "error"; the caller owns the reference. */
json_t *failure_object(plim_status status, const char *sentence);

/* The sentence on standard error; the object, unless it is NULL, on standard output. Takes the reference. */
void failure_print(const char *sentence, json_t *object);

/* ==== progress ==== */

/* One line on standard error that is drawn over: only on a terminal, cut to its width, ten times a second at most. */

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
