/* Figures: a row is found by its label, so that two columns can be filled one after the other. */
#include "tools/plimsoll/figures.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/size.h"
#include "tools/plimsoll/format.h"

void figures_begin(figures *f, int columns, const char *const *title, const char *const *key) {
  memset(f, 0, sizeof *f);
  assert(columns >= 1 && columns <= FIGURES_COLUMNS);
  f->columns = columns;
  f->object = json_object();
  for (int c = 0; c < columns && columns > 1; c++) {
    f->title[c] = title[c];
    f->key[c] = key[c];
    (void)json_object_set_new(f->object, key[c], json_object());
  }
}

void figures_end(figures *f) {
  json_decref(f->object);
  f->object = NULL;
}

static figures_row *row_of(figures *f, const char *label) {
  for (f->last = 0; f->last < f->rows; f->last++) {
    if (strcmp(f->row[f->last].label, label) == 0) return &f->row[f->last];
  }
  assert(f->rows < FIGURES_ROWS);
  figures_row *row = &f->row[f->rows++];
  row->label = label;
  return row;
}

/* Takes the reference to `value`. */
static void add(figures *f, int column, const char *key, const char *label, json_t *value, const char *text) {
  json_t *object = f->columns > 1 && f->key[column] ? json_object_get(f->object, f->key[column]) : f->object;
  if (key) {
    (void)json_object_set_new(object, key, value);
  } else {
    json_decref(value);
  }
  if (label) (void)snprintf(row_of(f, label)->text[column], FIGURES_TEXT, "%s", text);
}

void figures_bytes(figures *f, int column, const char *key, const char *label, int64_t bytes) {
  char text[PLIM_SIZE_TEXT_BYTES];
  add(f, column, key, label, json_integer(bytes), plim_size_print(bytes, text));
}

void figures_count(figures *f, int column, const char *key, const char *label, int64_t count) {
  char text[HUMAN_BYTES];
  add(f, column, key, label, json_integer(count), human_count(count, text));
}

void figures_text(figures *f, int column, const char *key, const char *label, const char *text) {
  add(f, column, key, label, json_string(text), text);
}

void figures_flag(figures *f, int column, const char *key, const char *label, int yes) {
  add(f, column, key, label, json_boolean(yes), yes ? "yes" : "no");
}

void figures_real(figures *f, int column, const char *key, const char *label, const char *format, double x) {
  char text[FIGURES_TEXT];
  (void)snprintf(text, sizeof text, format, x);
  add(f, column, key, label, json_real(x), text);
}

void figures_null(figures *f, int column, const char *key) {
  add(f, column, key, NULL, json_null(), "");
}

void figures_note(figures *f, int column, const char *format, ...) {
  assert(f->rows > 0);
  char *text = f->row[f->last].text[column];
  size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text + used, FIGURES_TEXT - used, format, args);
  va_end(args);
}

static int is_pair(const figures *f, const figures_row *row) {
  return f->columns > 1 && row->text[1][0];
}

static int larger(int width, const char *text) {
  int length = (int)strlen(text);
  return length > width ? length : width;
}

/* Rows with one figure may be as long as they like; those with two stand in columns. */
static void print_table(const figures *f, FILE *to) {
  int label = 0, first = f->columns > 1 ? (int)strlen(f->title[0]) : 0;
  for (int i = 0; i < f->rows; i++) {
    label = larger(label, f->row[i].label);
    if (is_pair(f, &f->row[i])) first = larger(first, f->row[i].text[0]);
  }
  if (f->columns > 1) (void)fprintf(to, "%-*s  %-*s  %s\n", label, "", first, f->title[0], f->title[1]);
  for (int i = 0; i < f->rows; i++) {
    const figures_row *row = &f->row[i];
    if (is_pair(f, row)) {
      (void)fprintf(to, "%-*s  %-*s  %s\n", label, row->label, first, row->text[0], row->text[1]);
    } else {
      (void)fprintf(to, "%-*s  %s\n", label, row->label, row->text[0]);
    }
  }
}

void figures_print_to(const figures *f, int as_json, FILE *to) {
  if (as_json) {
    (void)json_dumpf(f->object, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    (void)fprintf(to, "\n");
  } else {
    print_table(f, to);
  }
  (void)fflush(to);
}

void figures_print(const figures *f, int as_json) {
  figures_print_to(f, as_json, stdout);
}
