/* Queues as rows over time, with the bytes of each space below: a picture (.svg), a page (.html) with the picture and
 * the reasons, or events for Chrome's trace viewer and Perfetto (.json). Where bars would be narrower than a pixel,
 * those of one pixel are drawn as one. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/pictures.h"
#include "tools/plimsoll/space_reason.h"
#include "tools/plimsoll/trace_spaces.h"

enum { WIDTH = 1000, LEFT = 130, TOP = 40, ROW = 26, BAR = 18, CHART = 90, MOST_REASONS = 200, LETTER = 7 };

/* ---- events ---- */

static void add_counters(const traced_spaces *t, int32_t c, plim_text *text) {
  for (int32_t s = 0; s < t->plan->n_spaces; s++) {
    plim_text_add(text, ",\n{\"name\": ");
    plim_text_quote(text, t->plan->space[s].name);
    plim_text_format(text, ", \"ph\": \"C\", \"ts\": %.3f, \"pid\": 1, \"args\": {\"bytes\": %lld}}",
                     (double)t->in.begin_ns[c] / 1e3, (long long)plim_space_inspect_live(&t->in, s, c));
  }
}

static void add_events(const traced_spaces *t, plim_text *text) {
  const plim_space_plan *p = t->plan;
  char words[SPACE_WORDS];
  plim_text_add(text,
                "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
                "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"plimsoll\"}}");
  for (int32_t q = 0; q < p->n_queues; q++) {
    plim_text_format(
        text,
        ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"args\": {\"name\": ", (int)q + 1);
    plim_text_quote(text, p->queue[q].name);
    plim_text_add(text, "}}");
  }
  for (int32_t c = 0; c < p->n_commands; c++) {
    int64_t idle;
    int32_t cause = plim_space_inspect_cause(&t->in, c, &idle);
    plim_text_add(text, ",\n{\"name\": ");
    plim_text_quote(text, space_command_words(t->graph, p, c, words));
    plim_text_format(text,
                     ", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, \"tid\": %d, "
                     "\"args\": {\"command\": %d, \"idle_before_us\": %.3f, \"waited_for\": %d}}",
                     p->command[c].kind == PLIM_COMMAND_RUN ? "run" : "copy", (double)t->in.begin_ns[c] / 1e3,
                     (double)p->command[c].time_ns / 1e3, (int)p->command[c].queue + 1, (int)c, (double)idle / 1e3,
                     (int)cause);
    add_counters(t, c, text);
  }
  plim_text_add(text, "\n]}\n");
}

/* ---- the picture ---- */

static double x_of(const traced_spaces *t, int64_t ns) {
  return LEFT +
         (double)(WIDTH - LEFT - 10) * (double)ns / (double)(t->plan->makespan_ns > 0 ? t->plan->makespan_ns : 1);
}

static const char *colour(const traced_spaces *t, int32_t c) {
  const plim_command *m = &t->plan->command[c];
  if (m->kind == PLIM_COMMAND_COPY) return "#d98c2b";
  return t->in.run_of[m->op] == c ? "#4a7ebb" : "#c0504d";
}

static void add_bar(const traced_spaces *t, int32_t c, double x, double width, double y, plim_text *text) {
  char words[SPACE_WORDS], a[HUMAN_BYTES], b[HUMAN_BYTES];
  const char *name = space_command_words(t->graph, t->plan, c, words);
  plim_text_format(text, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>%d ", x, y, width,
                   BAR, colour(t, c), (int)c);
  svg_add(text, name, 60);
  plim_text_format(text, ", %s to %s</title></rect>\n", human_count(t->in.begin_ns[c], a),
                   human_count(t->in.end_ns[c], b));
  int room = (int)((width - 4) / LETTER);
  if (room < 4) return;
  plim_text_format(text, "<text x=\"%.2f\" y=\"%.1f\" class=\"on\">", x + 2, y + BAR - 5);
  svg_add(text, strchr(name, ' ') ? strchr(name, ' ') + 1 : name, room);
  plim_text_add(text, "</text>\n");
}

static void add_queue(const traced_spaces *t, int32_t q, double y, plim_text *text) {
  double drawn = -1; /* right end of what is drawn */
  int64_t busy = 0;
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    if (t->plan->command[c].queue != q) continue;
    double x = x_of(t, t->in.begin_ns[c]), end = x_of(t, t->in.end_ns[c]);
    busy += t->plan->command[c].time_ns;
    if (end - x < 0.5 && x < drawn) continue;
    double width = end - x < 0.5 ? 0.5 : end - x;
    add_bar(t, c, x, width, y, text);
    drawn = x + width;
  }
  plim_text_format(text, "<text x=\"4\" y=\"%.1f\">", y + BAR - 5);
  svg_add(text, t->plan->queue[q].name, 12);
  double whole = t->plan->makespan_ns > 0 ? (double)t->plan->makespan_ns : 1;
  plim_text_format(text, "</text><text x=\"%d\" y=\"%.1f\" class=\"end\">%.0f %%</text>\n", LEFT - 4, y + BAR - 5,
                   100 * (double)busy / whole);
}

typedef struct moment {
  int64_t at_ns;
  int32_t command;
} moment;

static int by_time(const void *a, const void *b) {
  const moment *x = a, *y = b;
  if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns ? -1 : 1;
  return (x->command > y->command) - (x->command < y->command);
}

/* Bytes at the begin of every command, in order of time. */
static plim_status add_chart(const traced_spaces *t, int32_t s, double y, plim_text *text) {
  const plim_space *space = &t->plan->space[s];
  int32_t n = t->plan->n_commands;
  int64_t budget = space->budget_bytes, most = t->in.peak_bytes[s];
  moment *m = NULL;
  char a[HUMAN_BYTES], b[HUMAN_BYTES];
  if (budget < INT64_MAX && budget > most) most = budget;
  double scale = (CHART - 20) / (double)(most > 0 ? most : 1), bottom = y + CHART - 10, x = LEFT, last = bottom;
  PLIM_TRY(plim_allocate(t->ctx, n, sizeof *m, &m));
  for (int32_t c = 0; c < n; c++) m[c] = (moment){t->in.begin_ns[c], c};
  qsort(m, (size_t)n, sizeof *m, by_time);
  plim_text_format(text, "<path class=\"bytes\" d=\"M%d %.1f", LEFT, bottom);
  for (int32_t i = 0; i < n; i++) {
    double next = x_of(t, m[i].at_ns), to = bottom - scale * (double)plim_space_inspect_live(&t->in, s, m[i].command);
    if (next - x < 0.2 && i > 0 && to >= last) continue; /* keeps the peaks */
    plim_text_format(text, "H%.2fV%.1f", next, to);
    x = next;
    last = to;
  }
  plim_text_format(text, "H%.2fV%.1fZ\"/>\n", x_of(t, t->plan->makespan_ns), bottom);
  if (budget < INT64_MAX) {
    double line = bottom - scale * (double)budget;
    plim_text_format(text, "<path class=\"budget\" d=\"M%d %.1fH%d\"/>\n", LEFT, line, WIDTH - 10);
  }
  plim_text_format(text, "<text x=\"4\" y=\"%.1f\">", y + 24);
  svg_add(text, space->name, 16);
  plim_text_format(text, "</text><text x=\"4\" y=\"%.1f\">peak %s</text>", y + 40, human_count(space->peak_bytes, a));
  if (budget < INT64_MAX)
    plim_text_format(text, "<text x=\"4\" y=\"%.1f\">of %s</text>", y + 56, human_count(budget, b));
  plim_text_add(text, "\n");
  plim_release(t->ctx, m, n, sizeof *m);
  return PLIM_OK;
}

static void add_ticks(const traced_spaces *t, double bottom, plim_text *text) {
  double whole = (double)t->plan->makespan_ns, tick = whole > 0 ? svg_tick(whole, 10) : 1;
  char a[HUMAN_BYTES];
  for (int i = 0; i * tick <= whole; i++) {
    double ns = i * tick;
    double x = x_of(t, (int64_t)ns);
    plim_text_format(text,
                     "<path class=\"tick\" d=\"M%.2f %dV%.1f\"/><text x=\"%.2f\" y=\"%.1f\" class=\"mid\">%s</text>\n",
                     x, TOP - 6, bottom, x, bottom + 14, human_count((int64_t)ns, a));
  }
}

static plim_status add_picture(const traced_spaces *t, plim_text *text) {
  const plim_space_plan *p = t->plan;
  double charts = TOP + (double)p->n_queues * ROW + 6, bottom = charts + (double)p->n_spaces * CHART;
  plim_text_format(text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
                   "font-family=\"sans-serif\" font-size=\"12\">\n<style>.end{text-anchor:end;fill:#666}"
                   ".mid{text-anchor:middle;fill:#666;font-size:10px}.on{fill:#fff;font-size:11px}"
                   ".bytes{fill:#b7cde8;stroke:#4a7ebb}.budget{stroke:#c0504d;stroke-dasharray:5 3;fill:none}"
                   ".tick{stroke:#ddd;fill:none}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                   WIDTH, bottom + 24, WIDTH);
  plim_text_add(text, "<text x=\"4\" y=\"16\" font-size=\"14\">");
  svg_add(text, t->graph->name, 80);
  plim_text_add(
      text,
      "</text>\n<text x=\"4\" y=\"32\" font-size=\"11\" fill=\"#666\">blue: first run, red: recompute, orange: "
      "copy; percent of the makespan that a queue works</text>\n");
  add_ticks(t, bottom, text);
  for (int32_t q = 0; q < p->n_queues; q++) add_queue(t, q, TOP + (double)q * ROW, text);
  for (int32_t s = 0; s < p->n_spaces; s++) PLIM_TRY(add_chart(t, s, charts + (double)s * CHART, text));
  plim_text_add(text, "</svg>\n");
  return text->status;
}

/* ---- the page ---- */

static plim_status add_page(const traced_spaces *t, plim_text *text) {
  char name[SPACE_WORDS], reason[SPACE_WORDS];
  plim_text_add(text, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
  svg_add(text, t->graph->name, 80);
  plim_text_add(
      text,
      "</title><style>body{font-family:sans-serif;margin:1em}table{border-collapse:collapse}td,th{padding:2px "
      "8px;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}svg{max-width:100%;height:auto}"
      "</style></head><body>\n");
  PLIM_TRY(add_picture(t, text));
  plim_text_format(text,
                   "<h2>Away and back: %d times%s</h2>\n<table><tr><th>storage</th><th>space</th><th>commands</th>"
                   "<th>why</th></tr>\n",
                   (int)t->n_gaps, t->n_gaps > MOST_REASONS ? ", the first 200 shown" : "");
  for (int32_t i = 0; i < t->n_gaps && i < MOST_REASONS; i++) {
    const plim_space_gap *g = &t->gap[i];
    plim_space_why w;
    PLIM_TRY(plim_space_inspect_why(&t->in, g, &w));
    plim_text_add(text, "<tr><td>");
    svg_add(text, space_storage_words(t->graph, g->storage, name), 60);
    plim_text_add(text, "</td><td>");
    svg_add(text, t->plan->space[g->space].name, 40);
    plim_text_format(text, "</td><td>%d to %d</td><td>", (int)g->from, (int)g->until);
    svg_add(text, space_reason_words(&t->in, g, &w, reason), SPACE_WORDS);
    plim_text_add(text, "</td></tr>\n");
  }
  plim_text_add(text, "</table></body></html>\n");
  return text->status;
}

static int ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && strcmp(path + n - m, end) == 0;
}

plim_status trace_spaces_export(const traced_spaces *t, const char *path) {
  plim_text text = {.ctx = t->ctx};
  plim_status status;
  if (ends_in(path, ".svg")) {
    status = add_picture(t, &text);
  } else if (ends_in(path, ".html")) {
    status = add_page(t, &text);
  } else if (ends_in(path, ".json") || plim_file_is_direct(path)) {
    add_events(t, &text);
    status = text.status;
  } else {
    status =
        plim_fail(t->ctx, PLIM_EUSAGE,
                  "%s ends neither in .json, for events, nor in .svg, for a picture, nor in .html, for a page", path);
  }
  if (status == PLIM_OK) status = plim_file_save(t->ctx, path, text.chars, text.length);
  plim_text_free(&text);
  return status;
}
