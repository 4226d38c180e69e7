/* What the commands print: figures in rows and as an object, failures in one form, numbers for people, medians. */
#include "tools/plimsoll/figures.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runtime/base/integers.h"
#include "runtime/base/size.h"

/* ==== figures ==== */

/* Figures: a row is found by its label, so that two columns can be filled one after the other. */

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

void figures_select(figures *f, const char *label) {
  (void)row_of(f, label);
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

/* ==== numbers for people ==== */

/* Numbers for people. */

const char *human_count(int64_t count, char *text) {
  char digits[HUMAN_BYTES / 2];
  int length = snprintf(digits, sizeof digits, "%" PRId64, count < 0 ? -count : count), to = 0;
  if (count < 0) text[to++] = '-';
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) text[to++] = ',';
    text[to++] = digits[i];
  }
  text[to] = 0;
  return text;
}

const char *human_bytes(int64_t bytes, char *text) {
  size_t length = strlen(plim_size_print(bytes, text));
  if (bytes >= 1024) (void)snprintf(text + length, HUMAN_BYTES - length, " (%lld bytes)", (long long)bytes);
  return text;
}

const char *human_items(int64_t count, const char *noun, char *text) {
  size_t length = strlen(human_count(count, text));
  (void)snprintf(text + length, HUMAN_BYTES - length, " %s%s", noun, count == 1 ? "" : "s");
  return text;
}

const char *human_planner(const char *planner, char *text) {
  static const struct {
    const char *end, *joint, *after;
  } rows[] = {{", paged", "search of runs and copies together", "paging"},
              {", placed", "search of runs, copies and devices together", "placement on devices"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *end = strstr(planner, rows[i].end);
    if (!end) continue;
    if (strncmp(planner, "joint,", 6) == 0) return rows[i].joint;
    (void)snprintf(text, HUMAN_BYTES, "%.*s, then %s", (int)(end - planner), planner, rows[i].after);
    return text;
  }
  return planner;
}

const char *human_seconds(double seconds, char *text) {
  int64_t s = seconds < 0 ? 0 : (int64_t)(seconds + 0.5);
  if (s >= 3600) {
    (void)snprintf(text, HUMAN_BYTES, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
  } else {
    (void)snprintf(text, HUMAN_BYTES, "%d:%02d", (int)(s / 60), (int)(s % 60));
  }
  return text;
}

const char *human_time_unit(int64_t ns, double *unit_ns) {
  static const struct {
    const char *name;
    double ns;
  } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
  size_t i = 0;
  while (units[i].ns > 1 && (double)ns < units[i].ns) i++;
  *unit_ns = units[i].ns;
  return units[i].name;
}

const char *human_time(int64_t ns, char *text) {
  double unit_ns;
  const char *unit = human_time_unit(ns, &unit_ns);
  (void)snprintf(text, HUMAN_BYTES, "%.6g %s", (double)ns / unit_ns, unit);
  return text;
}

/* ==== medians ==== */

/* Step times. */

void times_add(times *t, int64_t ns) {
  t->ns[t->count++ % TIMES_KEPT] = ns;
}

int64_t times_percentile(const times *t, int percent) {
  static int64_t sorted[TIMES_KEPT];
  int64_t kept = t->count < TIMES_KEPT ? t->count : TIMES_KEPT;
  if (kept == 0) return 0;
  memcpy(sorted, t->ns, (size_t)kept * sizeof *sorted);
  plim_integers_sort(sorted, kept);
  return sorted[(kept - 1) * percent / 100];
}

/* ==== a graph ==== */

/* What a graph has: ops, links, sums. */

void graph_figures_print(const plim_graph *graph, int as_json) {
  int64_t bytes = 0, time_ns = 0, links = 0;
  figures f;
  for (int32_t i = 0; i < graph->n_storages; i++) bytes += graph->storage[i].bytes;
  for (int32_t i = 0; i < graph->n_ops; i++) {
    links += graph->op[i].n_reads;
    time_ns += graph->op[i].time_ns > 0 ? graph->op[i].time_ns : 0;
  }
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", graph->name);
  figures_count(&f, 0, "ops", "ops", graph->n_ops);
  figures_count(&f, 0, "links", "links", links);
  figures_count(&f, 0, "sum_bytes", "sum of sizes", bytes);
  figures_count(&f, 0, "sum_time", "sum of durations", time_ns);
  figures_text(&f, 0, "addresses", "addresses", graph->unpacked ? "none" : "packed");
  figures_text(&f, 0, "fingerprint", "fingerprint", graph->fingerprint);
  figures_print(&f, as_json);
  figures_end(&f);
}

/* ==== failures ==== */

/* One form for all failures, those of options included. */

enum { LONG_SENTENCE = 100 };

json_t *failure_object(plim_status status, const char *sentence) {
  return json_pack("{s:s, s:s}", "status", plim_status_name(status), "error", sentence);
}

/* On a terminal a long sentence gets a line for each of its parts; a program reads one line. */
static void print_sentence(const char *sentence) {
  size_t shown = strlen(sentence) > LONG_SENTENCE && isatty(STDERR_FILENO) ? 0 : strlen(sentence);
  (void)fprintf(stderr, "plimsoll: %.*s", (int)shown, sentence);
  while (sentence[shown]) {
    const char *end = strstr(sentence + shown, "; ");
    size_t part = end ? (size_t)(end - sentence) - shown + 1 : strlen(sentence + shown);
    (void)fprintf(stderr, "%s%.*s", shown > 0 ? "\n  " : "", (int)part, sentence + shown);
    shown += part + (end != NULL);
  }
  (void)fprintf(stderr, "\n");
}

void failure_print(const char *sentence, json_t *object) {
  print_sentence(sentence);
  if (!object) return;
  (void)json_dumpf(object, stdout, JSON_INDENT(2));
  printf("\n");
  json_decref(object);
}

/* ==== progress ==== */

enum { BAR = 24, INTERVAL_NS = 100000000, LINE = 160 };

void progress_begin(progress *p, int wanted) {
  *p = (progress){.on = wanted && isatty(STDERR_FILENO)};
}

/* Columns that do not make the terminal continue to the next row. */
static int columns(void) {
  struct winsize size;
  int known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known && size.ws_col < LINE ? size.ws_col - 1 : LINE - 1;
}

void progress_draw(progress *p, const char *stage, int64_t done, int64_t total, const char *text) {
  char bar[BAR + 1], line[LINE];
  int64_t now = plim_now_ns();
  if (!p->on || (p->shown && done != total && now - p->last_ns < INTERVAL_NS)) return;
  int filled = total > 0 ? (int)(done * BAR / total) : 0, most = columns(), length;
  memset(bar, '.', BAR);
  memset(bar, '#', filled > BAR ? BAR : (size_t)filled);
  bar[BAR] = 0;
  if (total > 0) {
    length =
        snprintf(line, sizeof line, "%-8s [%s] %lld/%lld  %s", stage, bar, (long long)done, (long long)total, text);
  } else {
    length = snprintf(line, sizeof line, "%-8s %s", stage, text);
  }
  if (length > most) length = most;
  /* blanks over what is longer, for terminals without codes */
  (void)fprintf(stderr, "\r%.*s%*s", length, line, p->shown > length ? (p->shown < most ? p->shown : most) - length : 0,
                "");
  (void)fflush(stderr);
  p->shown = length;
  p->last_ns = now;
}

void progress_clear(progress *p) {
  if (!p->shown) return;
  (void)fprintf(stderr, "\r%*s\r", p->shown, "");
  (void)fflush(stderr);
  p->shown = 0;
}

void progress_report(void *user, const plim_progress *report) {
  char text[LINE], *to = text;
  size_t left = sizeof text;
  int n = snprintf(to, left, "%.1f s", (double)report->elapsed_ns / 1e9);
  if (report->best_percent >= 0 && n > 0) {
    to += n;
    left -= (size_t)n;
    n = snprintf(to, left, "  best +%.2f %%", report->best_percent);
    if (report->bound_percent >= 0 && n > 0) {
      (void)snprintf(to + n, left - (size_t)n, "  bound +%.2f %%  gap %.2f", report->bound_percent,
                     report->best_percent - report->bound_percent);
    }
  }
  progress_draw(user, report->stage, report->done, report->total, text);
}
