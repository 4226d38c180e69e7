/* A run over spaces as a file for others: a picture (.svg), a page (.html) with the picture, the transfers and the
 * reasons, or events for Chrome's trace viewer and Perfetto (.json). */
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/size.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/options.h"
#include "tools/plimsoll/pictures.h"
#include "tools/plimsoll/trace/trace_spaces.h"

/* ==== the picture ==== */

/* Queues as rows over time, the rate of each link, and the bytes of each space below. A run that was measured has two
 * rows a queue: what was measured, and narrower what was planned. Where bars would be narrower than half a pixel, those
 * of one place are drawn as one. */

enum { WIDTH = 1000, LEFT = 150, RIGHT = 24, TOP = 62, ROW = 26, BAR = 18, LETTER = 7, QUEUE_NAME = 15 };
enum { THIN_ROW = 16, THIN_BAR = 8, LINK = 60, CHART = 90 };

static const double least_bar = 1.5; /* pixels, so that a short copy is seen */
#define FIRST_RUN "#4a7ebb"
#define RECOMPUTE "#c0504d"
#define COPY "#d98c2b"

typedef struct picture {
  const traced_spaces *t;
  plim_text *text;
  int64_t whole_ns; /* at the right edge */
} picture;

static double x_of(const picture *p, int64_t ns) {
  return LEFT + (double)(WIDTH - LEFT - RIGHT) * (double)ns / (double)(p->whole_ns > 0 ? p->whole_ns : 1);
}

static const char *time_words(const picture *p, int64_t time, char *text) {
  return space_time_words(p->t->graph, p->t->plan, time, text);
}

/* ---- queues ---- */

static const char *colour(const picture *p, int32_t c) {
  const plim_space_command *m = &p->t->plan->command[c];
  if (m->kind == PLIM_SPACE_COMMAND_COPY) return COPY;
  return p->t->in.run_of[m->op] == c ? FIRST_RUN : RECOMPUTE;
}

typedef struct bar {
  int64_t begin_ns, end_ns;
  double x, width, y;
  int height;
} bar;

static void add_bar(const picture *p, int32_t c, const bar *b) {
  char words[SPACE_WORDS], from[HUMAN_BYTES], to[HUMAN_BYTES];
  const traced_spaces *t = p->t;
  const char *name = space_command_words(t->graph, t->plan, c, words);
  plim_text_format(p->text, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"%s><title>%d ", b->x,
                   b->y, b->width, b->height, colour(p, c), b->height == BAR ? "" : " opacity=\".55\"", (int)c);
  svg_add(p->text, name, 60);
  plim_text_format(p->text, ", %s to %s</title></rect>\n", time_words(p, b->begin_ns, from),
                   time_words(p, b->end_ns, to));
  const char *label = strchr(name, ' ') ? strchr(name, ' ') + 1 : name;
  int room = (int)((b->width - 4) / LETTER), cut = (int)strlen(label) > room;
  if (room < 4 || b->height < BAR) return;
  plim_text_format(p->text, "<text x=\"%.2f\" y=\"%.1f\" class=\"on\">", b->x + 2, b->y + BAR - 5);
  svg_add(p->text, label, cut ? room - 1 : room);
  plim_text_add(p->text, cut ? "&#8230;</text>\n" : "</text>\n");
}

/* The time for which a run waited, before it. */
static void add_wait(const picture *p, int32_t c, double y) {
  const plim_trace_row *row = &p->t->row[c];
  char text[HUMAN_BYTES];
  double x = x_of(p, row->start_ns - row->waited_ns), width = x_of(p, row->start_ns) - x;
  if (width < 0.5) return;
  plim_text_format(p->text,
                   "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" class=\"wait\"><title>%d waits %s</title>"
                   "</rect>\n",
                   x, y, width, BAR, (int)c, time_words(p, row->waited_ns, text));
}

/* The share of the whole that the queue works. */
static void add_queue_name(const picture *p, int32_t q, double y, int64_t busy_ns, const char *suffix) {
  plim_text_format(p->text, "<text x=\"4\" y=\"%.1f\">", y);
  svg_add(p->text, suffix ? suffix : p->t->plan->queue[q].name, QUEUE_NAME);
  plim_text_format(p->text, "</text><text x=\"%d\" y=\"%.1f\" class=\"end\">%.0f %%</text>\n", LEFT - 4, y,
                   100 * (double)busy_ns / (double)(p->whole_ns > 0 ? p->whole_ns : 1));
}

static void add_queue(const picture *p, int32_t q, double y, int planned) {
  const traced_spaces *t = p->t;
  double drawn = -1; /* right end of what is drawn */
  int64_t busy_ns = 0;
  bar b = {.y = y, .height = planned ? THIN_BAR : BAR};
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    if (t->plan->command[c].queue != q) continue;
    b.begin_ns = planned ? t->in.begin_ns[c] : plim_inspected_spaces_begin_ns(t, c);
    b.end_ns = planned ? t->in.end_ns[c] : plim_inspected_spaces_end_ns(t, c);
    b.x = x_of(p, b.begin_ns);
    b.width = x_of(p, b.end_ns) - b.x;
    busy_ns += b.end_ns - b.begin_ns;
    if (!planned && t->row && t->row[c].waited_ns > 0) add_wait(p, c, y);
    if (b.width < least_bar && b.x < drawn) continue;
    if (b.width < least_bar) b.width = least_bar;
    add_bar(p, c, &b);
    drawn = b.x + b.width;
  }
  add_queue_name(p, q, y + (planned ? THIN_BAR : BAR - 5), busy_ns, planned ? "  planned" : NULL);
}

/* ---- links ---- */

/* Bytes a unit of time while a copy runs. */
static void add_link(const picture *p, int32_t q, double y) {
  const traced_spaces *t = p->t;
  double most = 0, bottom = y + LINK - 10;
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    double rate = t->plan->command[c].queue == q ? plim_inspected_spaces_rate(t, c) : 0;
    if (rate > most) most = rate;
  }
  plim_text_format(p->text, "<path class=\"link\" d=\"M%d %.1f", LEFT, bottom);
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    if (t->plan->command[c].queue != q) continue;
    plim_text_format(p->text, "H%.2fV%.1fH%.2fV%.1f", x_of(p, plim_inspected_spaces_begin_ns(t, c)),
                     bottom - (LINK - 20) * (most > 0 ? plim_inspected_spaces_rate(t, c) / most : 0),
                     x_of(p, plim_inspected_spaces_end_ns(t, c)), bottom);
  }
  plim_text_format(p->text, "H%d\"/>\n<text x=\"4\" y=\"%.1f\">", WIDTH - RIGHT, y + 24);
  svg_add(p->text, t->plan->queue[q].name, 16);
  plim_text_format(p->text, "</text><text x=\"4\" y=\"%.1f\">most %.3g %s</text>\n", y + 40, most,
                   space_has_own_times(t->graph, t->plan) ? "bytes/time" : "GB/s");
}

/* ---- spaces ---- */

static void add_space_name(const picture *p, int32_t s, double y) {
  const plim_space_memory *space = &p->t->plan->space[s];
  char text[HUMAN_BYTES];
  plim_text_format(p->text, "<text x=\"4\" y=\"%.1f\">", y + 24);
  svg_add(p->text, space->name, 16);
  plim_text_format(p->text, "</text><text x=\"4\" y=\"%.1f\">peak %s</text>", y + 40,
                   plim_size_print(space->peak_bytes, text));
  if (space->budget_bytes < PLIM_BYTES_UNLIMITED) {
    plim_text_format(p->text, "<text x=\"4\" y=\"%.1f\">of %s</text>", y + 56,
                     plim_size_print(space->budget_bytes, text));
  }
  plim_text_add(p->text, "\n");
}

/* The budget is drawn where it is not far above. */
static plim_status add_space(const picture *p, int32_t s, double y) {
  const traced_spaces *t = p->t;
  int64_t budget = t->plan->space[s].budget_bytes, most = t->in.peak_bytes[s];
  int shown = budget < PLIM_BYTES_UNLIMITED && (!t->paged || budget / 4 <= most);
  plim_space_moment *m = NULL;
  int32_t n = 0;
  if (shown && budget > most) most = budget;
  double scale = (CHART - 20) / (double)(most > 0 ? most : 1), bottom = y + CHART - 10, x = LEFT, last = bottom;
  PLIM_TRY(plim_inspected_spaces_bytes(t, s, &m, &n));
  plim_text_format(p->text, "<path class=\"bytes\" d=\"M%d %.1f", LEFT, bottom);
  for (int32_t i = 0; i < n; i++) {
    double next = x_of(p, m[i].at_ns), to = bottom - scale * (double)m[i].bytes;
    if (next - x < 0.2 && i > 0 && to >= last) continue; /* keeps the peaks */
    plim_text_format(p->text, "H%.2fV%.1f", next, to);
    x = next;
    last = to;
  }
  plim_text_format(p->text, "H%.2fV%.1fZ\"/>\n", x_of(p, plim_inspected_spaces_length_ns(t)), bottom);
  if (shown) {
    plim_text_format(p->text, "<path class=\"budget\" d=\"M%d %.1fH%d\"/>\n", LEFT, bottom - scale * (double)budget,
                     WIDTH - RIGHT);
  }
  add_space_name(p, s, y);
  plim_release(t->ctx, m, n, sizeof *m);
  return PLIM_OK;
}

/* ---- the whole ---- */

static void add_ticks(const picture *p, double bottom) {
  double whole = (double)p->whole_ns, tick = whole > 0 ? svg_tick(whole, 10) : 1, unit_ns = 1;
  const char *unit =
      space_has_own_times(p->t->graph, p->t->plan) ? "graph's unit" : human_time_unit(p->whole_ns, &unit_ns);
  plim_text_format(p->text, "<text x=\"%d\" y=\"%.1f\" class=\"end\" font-size=\"10\">time, %s</text>\n", LEFT - 12,
                   bottom + 14, unit);
  for (int i = 0; i * tick <= whole; i++) {
    double ns = i * tick;
    double x = x_of(p, (int64_t)ns);
    plim_text_format(
        p->text, "<path class=\"tick\" d=\"M%.2f %dV%.1f\"/><text x=\"%.2f\" y=\"%.1f\" class=\"mid\">%.10g</text>\n",
        x, TOP - 6, bottom, x, bottom + 14, ns / unit_ns);
  }
}

/* What the colours and the numbers beside the rows mean. */
static void add_legend(const picture *p) {
  static const struct {
    const char *mark, *words;
    int width;
  } rows[] = {{"fill=\"" FIRST_RUN "\"", "first run", 72},
              {"fill=\"" RECOMPUTE "\"", "recompute", 80},
              {"fill=\"" COPY "\"", "copy", 50},
              {"class=\"wait\"", "a run waits", 84},
              {"class=\"bytes\"", "bytes in a space", 108},
              {"class=\"budget\"", "its budget", 72}};
  int x = 4;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int line = i + 1 == sizeof rows / sizeof *rows;
    plim_text_format(p->text,
                     line ? "<path d=\"M%d %dh10\" %s/>" : "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" %s/>", x,
                     line ? 32 : 26, rows[i].mark);
    plim_text_format(p->text, "<text x=\"%d\" y=\"35\" font-size=\"11\" fill=\"#666\">%s</text>\n", x + 14,
                     rows[i].words);
    x += rows[i].width + 10;
  }
  plim_text_format(
      p->text,
      "<text x=\"%d\" y=\"35\" font-size=\"11\" fill=\"#666\">percent: of the time that a queue works</text>\n", x);
}

static void add_head(const picture *p, double bottom) {
  const traced_spaces *t = p->t;
  char makespan[HUMAN_BYTES];
  plim_text_format(p->text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
                   "font-family=\"sans-serif\" font-size=\"12\">\n<style>.end{text-anchor:end;fill:#666}"
                   ".mid{text-anchor:middle;fill:#666;font-size:10px}.on{fill:#fff;font-size:11px}"
                   ".bytes{fill:#b7cde8;stroke:#4a7ebb}.budget{stroke:#c0504d;stroke-dasharray:5 3;fill:none}"
                   ".link{fill:#f3dcbd;stroke:#d98c2b}.wait{fill:#e8e8e8;stroke:#888;stroke-dasharray:2 2}"
                   ".tick{stroke:#ddd;fill:none}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                   WIDTH, bottom + 24, WIDTH);
  plim_text_add(p->text, "<text x=\"4\" y=\"16\" font-size=\"14\">");
  svg_add(p->text, t->graph->name, 80);
  plim_text_add(p->text, ", by ");
  svg_add(p->text, t->plan->planner, (int)sizeof t->plan->planner);
  plim_text_format(p->text, ", makespan %s</text>\n", time_words(p, t->plan->makespan_ns, makespan));
  add_legend(p);
  if (!t->row) return;
  plim_text_format(p->text,
                   "<text x=\"4\" y=\"51\" font-size=\"11\" fill=\"#666\">step %lld as measured, each queue "
                   "with its plan below</text>\n",
                   (long long)t->row[0].training_step);
}

static plim_status add_picture(const traced_spaces *t, plim_text *text) {
  const plim_space_plan *plan = t->plan;
  int64_t measured_ns = plim_inspected_spaces_length_ns(t);
  picture p = {t, text, measured_ns > plan->makespan_ns ? measured_ns : plan->makespan_ns};
  double row = ROW + (t->row ? THIN_ROW : 0), links = TOP + (double)plan->n_queues * row + 6, charts = links;
  for (int32_t q = 0; q < plan->n_queues; q++) charts += plan->queue[q].device < 0 ? LINK : 0;
  double bottom = charts + (double)plan->n_spaces * CHART;
  add_head(&p, bottom);
  add_ticks(&p, bottom);
  for (int32_t q = 0; q < plan->n_queues; q++) {
    add_queue(&p, q, TOP + (double)q * row, 0);
    if (t->row) add_queue(&p, q, TOP + (double)q * row + BAR + 3, 1);
  }
  for (int32_t q = 0; q < plan->n_queues; q++) {
    if (plan->queue[q].device >= 0) continue;
    add_link(&p, q, links);
    links += LINK;
  }
  for (int32_t s = 0; s < plan->n_spaces; s++) PLIM_TRY(add_space(&p, s, charts + (double)s * CHART));
  plim_text_add(text, "</svg>\n");
  return text->status;
}

/* Of a plan that is not opened: without its reasons. */
static plim_status save_picture(traced_spaces *t, const char *path) {
  plim_text text = {.ctx = t->ctx};
  PLIM_TRY(plim_space_inspect_open(t->ctx, t->graph, t->plan, &t->in));
  plim_status status = add_picture(t, &text);
  if (status == PLIM_OK) status = plim_file_save(t->ctx, path, text.chars, text.length);
  plim_text_free(&text);
  plim_space_inspect_close(&t->in);
  return status;
}

plim_status trace_spaces_save_picture(const plim_graph *graph, const plim_space_plan *plan, const char *path) {
  traced_spaces t = {.ctx = graph->ctx, .graph = graph, .plan = plan};
  return save_picture(&t, path);
}

plim_status trace_paged_save_picture(const plim_graph *graph, const plim_plan *plan, const char *path) {
  plim_space_plan *spaces = NULL;
  PLIM_TRY(plim_paged_run_spaces(graph, plan, &spaces));
  traced_spaces t = {.ctx = graph->ctx, .graph = graph, .plan = spaces, .paged = plan};
  plim_status status = save_picture(&t, path);
  plim_space_plan_free(spaces);
  return status;
}

/* ==== events and the page ==== */

enum { MOST_REASONS = 200, MEASURED = 1, PLANNED = 2 /* processes of the events */ };

/* ---- events ---- */

static plim_status add_counters(const traced_spaces *t, int32_t s, plim_text *text) {
  plim_space_moment *m = NULL;
  int32_t n = 0;
  PLIM_TRY(plim_inspected_spaces_bytes(t, s, &m, &n));
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
static void add_rate(const traced_spaces *t, int32_t c, plim_text *text) {
  for (int ends = 0; ends < 2; ends++) {
    plim_text_add(text, ",\n{\"name\": ");
    plim_text_quote(text, t->plan->queue[t->plan->command[c].queue].name);
    plim_text_format(text, ", \"ph\": \"C\", \"ts\": %.3f, \"pid\": %d, \"args\": {\"bytes_per_us\": %.1f}}",
                     (double)(ends ? plim_inspected_spaces_end_ns(t, c) : plim_inspected_spaces_begin_ns(t, c)) / 1e3,
                     MEASURED, ends ? 0 : 1e3 * plim_inspected_spaces_rate(t, c));
  }
}

static plim_status add_events(const traced_spaces *t, plim_text *text) {
  plim_text_add(text, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  add_process(t, MEASURED, t->row ? "measured" : "plimsoll", text);
  if (t->row) add_process(t, PLANNED, "planned", text);
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    add_event(t, c, MEASURED, plim_inspected_spaces_begin_ns(t, c), plim_inspected_spaces_end_ns(t, c), text);
    if (t->row) add_event(t, c, PLANNED, t->in.begin_ns[c], t->in.end_ns[c], text);
    if (t->plan->command[c].kind == PLIM_SPACE_COMMAND_COPY) add_rate(t, c, text);
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
    svg_add(text, space_link_words(t->plan, x, name), 40);
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
  PLIM_TRY(add_picture(t, text));
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

plim_status trace_spaces_export(const traced_spaces *t, const char *path) {
  plim_text text = {.ctx = t->ctx};
  plim_status status;
  if (path_ends_in(path, ".svg")) {
    status = add_picture(t, &text);
  } else if (path_ends_in(path, ".html")) {
    status = add_page(t, &text);
  } else if (path_ends_in(path, ".json") || plim_file_is_direct(path)) {
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
