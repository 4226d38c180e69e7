/* The figures of a run, collected once and printed as a table or as one JSON object. */
#ifndef PLIM_TOOLS_PLIMSOLL_FIGURES_H
#define PLIM_TOOLS_PLIMSOLL_FIGURES_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

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

/* More words after the figure that was added to the table last. */
void figures_note(figures *f, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Print to standard output, or to another stream. */
void figures_print(const figures *f, int as_json);
void figures_print_to(const figures *f, int as_json, FILE *to);

#endif
