/* plimsoll trace export of a plan over spaces. A picture (.svg), a page (.html) with the picture, the transfers and
 * the reasons, or events for Chrome's trace viewer and Perfetto (.json). */
#include <string.h>

#include "runtime/base/file.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/pictures.h"
#include "tools/plimsoll/trace/space_reason.h"
#include "tools/plimsoll/trace/trace_spaces.h"

enum { MOST_REASONS = 200, MEASURED = 1, PLANNED = 2 /* processes of the events */ };

/* ---- events ---- */

static plim_status add_counters(const traced_spaces *t, int32_t s, plim_text *text) {
  trace_moment *m = NULL;
  int32_t n = 0;
  PLIM_TRY(trace_run_bytes(t, s, &m, &n));
  for (int32_t i = 0; i < n; i++) {
    plim_text_add(text, ",\n{\"name\": ");
    plim_text_quote(text, t->plan->space[s].name);
    plim_text_format(text, ", \"ph\": \"C\", \"ts\": %.3f, \"pid\": %d, \"args\": {\"bytes\": %lld}}",
                     (double)m[i].at_ns / 1e3, MEASURED, (long long)m[i].bytes);
  }
  plim_release(t->ctx, m, n, sizeof *m);
  return PLIM_OK;
}

static void add_process(const traced_spaces *t, int process, const char *name, plim_text *text) {
  plim_text_format(text, "%s{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, \"args\": {\"name\": \"%s\"}}",
                   process > MEASURED ? ",\n" : "", process, name);
  for (int32_t q = 0; q < t->plan->n_queues; q++) {
    plim_text_format(
        text, ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": ", process,
        (int)q + 1);
    plim_text_quote(text, t->plan->queue[q].name);
    plim_text_add(text, "}}");
  }
}

static void add_event(const traced_spaces *t, int32_t c, int process, int64_t begin_ns, int64_t end_ns,
                      plim_text *text) {
  char words[SPACE_WORDS];
  int64_t idle;
  int32_t cause = plim_space_inspect_cause(&t->in, c, &idle);
  const plim_space_command *m = &t->plan->command[c];
  plim_text_add(text, ",\n{\"name\": ");
  plim_text_quote(text, space_command_words(t->graph, t->plan, c, words));
  plim_text_format(text,
                   ", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": %d, \"tid\": %d, "
                   "\"args\": {\"command\": %d, \"idle_before_us\": %.3f, \"waited_for\": %d}}",
                   m->kind == PLIM_SPACE_COMMAND_RUN ? "run" : "copy", (double)begin_ns / 1e3,
                   (double)(end_ns - begin_ns) / 1e3, process, (int)m->queue + 1, (int)c, (double)idle / 1e3,
                   (int)cause);
}

/* Bytes a microsecond of a copy, as a counter of its queue. */
static void add_link(const traced_spaces *t, int32_t c, plim_text *text) {
  const plim_space_command *m = &t->plan->command[c];
  double taken_us = (double)(trace_run_end(t, c) - trace_run_begin(t, c)) / 1e3, bytes = 0;
  for (int32_t i = 0; i < m->n_storages; i++) bytes += (double)t->graph->storage[m->storage[i]].bytes;
  for (int ends = 0; ends < 2; ends++) {
    plim_text_add(text, ",\n{\"name\": ");
    plim_text_quote(text, t->plan->queue[m->queue].name);
    plim_text_format(text, ", \"ph\": \"C\", \"ts\": %.3f, \"pid\": %d, \"args\": {\"bytes_per_us\": %.1f}}",
                     (double)(ends ? trace_run_end(t, c) : trace_run_begin(t, c)) / 1e3, MEASURED,
                     ends || taken_us <= 0 ? 0 : bytes / taken_us);
  }
}

static plim_status add_events(const traced_spaces *t, plim_text *text) {
  plim_text_add(text, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  add_process(t, MEASURED, t->row ? "measured" : "plimsoll", text);
  if (t->row) add_process(t, PLANNED, "planned", text);
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    add_event(t, c, MEASURED, trace_run_begin(t, c), trace_run_end(t, c), text);
    if (t->row) add_event(t, c, PLANNED, t->in.begin_ns[c], t->in.end_ns[c], text);
    if (t->plan->command[c].kind == PLIM_SPACE_COMMAND_COPY) add_link(t, c, text);
  }
  for (int32_t s = 0; s < t->plan->n_spaces; s++) PLIM_TRY(add_counters(t, s, text));
  plim_text_add(text, "\n]}\n");
  return text->status;
}

/* ---- the page ---- */

static void add_transfers(const traced_spaces *t, plim_text *text) {
  char name[SPACE_WORDS], waiter[96];
  if (!t->row) return;
  plim_text_format(text,
                   "<h2>Transfers of step %lld</h2>\n<p>Times are in ms from the begin of the step.</p>\n<table "
                   "class=\"transfers\"><tr><th>command</th><th>storage</th><th>link</th><th>MiB</th><th>planned end"
                   "</th><th>ended</th><th>late</th><th>waited for</th><th>by command</th></tr>\n",
                   (long long)t->row[0].training_step);
  for (int32_t i = 0; i < t->n_transfers; i++) {
    const plim_transfer *x = &t->transfer[i];
    (void)snprintf(waiter, sizeof waiter, "<td>%.3f</td><td>%d</td>", (double)x->waited_ns / 1e6, (int)x->waiter);
    plim_text_format(text, "<tr><td>%d</td><td>", (int)x->command);
    svg_add(text, space_storage_words(t->graph, x->storage, name), 60);
    plim_text_add(text, "</td><td>");
    svg_add(text, trace_run_link(t, x, name), 40);
    plim_text_format(text, "</td><td>%.2f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td>%s</tr>\n",
                     (double)x->bytes / (1 << 20), (double)x->planned_end_ns / 1e6, (double)x->end_ns / 1e6,
                     (double)(x->end_ns - x->planned_end_ns) / 1e6, x->waiter >= 0 ? waiter : "<td></td><td></td>");
  }
  plim_text_add(text, "</table>\n");
}

static plim_status add_page(const traced_spaces *t, plim_text *text) {
  char name[SPACE_WORDS], reason[SPACE_WORDS];
  plim_text_add(text, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
  svg_add(text, t->graph->name, 80);
  plim_text_add(
      text,
      "</title><style>body{font-family:sans-serif;margin:1em}table{border-collapse:collapse}td,th{padding:2px "
      "8px;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}svg{max-width:100%;height:auto}"
      ".transfers td,.transfers th{text-align:right;font-variant-numeric:tabular-nums}"
      ".transfers :is(td,th):is(:nth-child(2),:nth-child(3)){text-align:left}"
      "</style></head><body>\n");
  PLIM_TRY(trace_spaces_picture(t, text));
  add_transfers(t, text);
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
    status = trace_spaces_picture(t, &text);
  } else if (ends_in(path, ".html")) {
    status = add_page(t, &text);
  } else if (ends_in(path, ".json") || plim_file_is_direct(path)) {
    status = add_events(t, &text);
  } else {
    status =
        plim_fail(t->ctx, PLIM_EUSAGE,
                  "%s ends neither in .json, for events, nor in .svg, for a picture, nor in .html, for a page", path);
  }
  if (status == PLIM_OK) status = plim_file_save(t->ctx, path, text.chars, text.length);
  plim_text_free(&text);
  return status;
}
