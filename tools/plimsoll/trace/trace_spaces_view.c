/* The answers about a run over spaces: words for its commands and reasons, text views of the whole, a command, a
 * storage, and the same as objects. Rows of queues and storages are cut to 79 columns; reasons are sentences of any
 * length. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/trace/trace_spaces.h"

/* ==== words ==== */

int space_has_own_times(const plim_graph *g, const plim_space_plan *p) {
  for (int32_t d = 0; g->costs && d < p->n_devices; d++) {
    if (plim_costs_find_device(g->costs, p->device[d].name) >= 0) return 1;
  }
  return 0;
}

const char *space_time_words(const plim_graph *g, const plim_space_plan *p, int64_t time, char *text) {
  return space_has_own_times(g, p) ? human_count(time, text) : human_time(time, text);
}

const char *space_storage_words(const plim_graph *g, int32_t storage, char *text) {
  const int32_t op = storage >= 0 ? g->storage[storage].producer : -1;
  const char *name = plim_graph_storage_name(g, storage, NULL);
  if (op >= 0 && (g->op[op].n_writes == 1 || !name)) name = g->op[op].name;
  if (name) {
    (void)snprintf(text, SPACE_WORDS, "%s", name);
  } else if (storage == PLIM_WORKSPACE) {
    (void)snprintf(text, SPACE_WORDS, "workspace");
  } else {
    (void)snprintf(text, SPACE_WORDS, "storage %d", (int)storage);
  }
  return text;
}

const char *space_command_words(const plim_graph *g, const plim_space_plan *p, int32_t c, char *text) {
  const plim_space_command *m = &p->command[c];
  char name[SPACE_WORDS];
  if (m->kind == PLIM_SPACE_COMMAND_RUN) {
    (void)snprintf(text, SPACE_WORDS, "run %.400s", g->op[m->op].name);
  } else if (m->n_storages == 1) {
    (void)snprintf(text, SPACE_WORDS, "copy %.400s", space_storage_words(g, m->storage[0], name));
  } else {
    (void)snprintf(text, SPACE_WORDS, "copy %.400s and %d more", space_storage_words(g, m->storage[0], name),
                   (int)m->n_storages - 1);
  }
  return text;
}

const char *space_link_words(const plim_space_plan *plan, const plim_transfer *transfer, char *words) {
  (void)snprintf(words, SPACE_WORDS, "%.31s>%.31s", plan->space[transfer->from].name, plan->space[transfer->to].name);
  return words;
}

static void add_words(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_words(char *text, const char *format, ...) {
  size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text + used, SPACE_WORDS - used, format, arguments);
  va_end(arguments);
}

static const char *time_in(const plim_space_inspect *in, int64_t time, char *text) {
  return space_time_words(in->graph, in->plan, time, text);
}

static void add_recompute(const plim_space_inspect *in, const plim_space_gap *gap, const plim_space_why *w,
                          char *text) {
  char time[HUMAN_BYTES], runs[HUMAN_BYTES];
  int64_t other = w->recompute_ns - w->copy_ns;
  if (!gap->paged) {
    add_words(text, "; recomputed by %s in %s", human_items(w->recompute_runs > 0 ? w->recompute_runs : 1, "run", runs),
              time_in(in, in->plan->command[gap->until].time_ns, time));
    return;
  }
  add_words(text, "; paged: copies take %s", time_in(in, w->copy_ns, time));
  if (!w->can_recompute) {
    add_words(text, ", and no recompute is possible");
    return;
  }
  add_words(text, ", a recompute %s in %s", time_in(in, w->recompute_ns, time),
            human_items(w->recompute_runs, "run", runs));
  if (w->recompute_copies == 1) add_words(text, " and 1 copy of what it reads");
  if (w->recompute_copies > 1) add_words(text, " and %d copies of what they read", (int)w->recompute_copies);
  if (in->plan->has_energy) add_words(text, " and %.4g J", w->recompute_joule);
  if (other <= 0) add_words(text, ", on the device instead of the link");
}

const char *space_reason_words(const plim_space_inspect *in, const plim_space_gap *gap, const plim_space_why *w,
                               char *text) {
  const plim_space_plan *p = in->plan;
  char bytes[HUMAN_BYTES], words[SPACE_WORDS], budget[HUMAN_BYTES];
  text[0] = 0;
  if (w->worst >= 0) {
    int64_t most = p->space[gap->space].budget_bytes;
    int above = w->with_it_bytes > most;
    add_words(text, "with it command %d (%.60s) would have %s bytes in %s", (int)w->worst,
              space_command_words(in->graph, p, w->worst, words), human_count(w->with_it_bytes, bytes),
              p->space[gap->space].name);
    if (above) add_words(text, ", more than the budget of %s", human_count(most, budget));
    if (!above) add_words(text, ", which would fit: it costs no more this way");
  } else {
    add_words(text, "it is never away: it returns as it ends");
  }
  add_recompute(in, gap, w, text);
  if (w->link_free_ns >= 0) {
    add_words(text, "; %s had %s of %s free", p->queue[p->command[gap->until].queue].name,
              time_in(in, w->link_free_ns, bytes), time_in(in, w->window_ns, budget));
  }
  if (w->next_use >= 0) {
    add_words(text, "; next use at command %d (%.60s)", (int)w->next_use,
              space_command_words(in->graph, p, w->next_use, words));
  }
  return text;
}

/* ==== text ==== */

enum { MOST_STORAGES = 12, BAR = 24, LEFT_OUT = 3 };

static const char *time_words(const traced_spaces *t, int64_t time, char *text) {
  return space_time_words(t->graph, t->plan, time, text);
}

/* ---- what was measured ---- */

static const plim_transfer *transfer_of(const traced_spaces *t, int32_t c) {
  for (int32_t i = 0; i < t->n_transfers; i++) {
    if (t->transfer[i].command == c) return &t->transfer[i];
  }
  return NULL;
}

static void print_measured(const traced_spaces *t, int32_t c, FILE *to) {
  char a[HUMAN_BYTES], b[HUMAN_BYTES];
  const plim_transfer *x = transfer_of(t, c);
  if (!t->row) return;
  fprintf(to, "measured from %s to %s in step %lld\n", time_words(t, plim_inspected_spaces_begin_ns(t, c), a),
          time_words(t, plim_inspected_spaces_end_ns(t, c), b), (long long)t->row[c].training_step);
  if (t->row[c].waited_ns > 0) {
    fprintf(to, "it waited %s for other queues\n", time_words(t, t->row[c].waited_ns, a));
  }
  if (!x) return;
  int64_t late_ns = x->end_ns - x->planned_end_ns;
  fprintf(to, "it ended %s %s than planned", time_words(t, late_ns < 0 ? -late_ns : late_ns, a),
          late_ns < 0 ? "earlier" : "later");
  if (x->waiter < 0) fprintf(to, ", and no run waited for it\n");
  if (x->waiter >= 0) {
    fprintf(to, ", and command %d waited %s for it\n", (int)x->waiter, time_words(t, x->waited_ns, b));
  }
}

static void print_transfers(const traced_spaces *t, FILE *to) {
  char words[SPACE_WORDS], link[SPACE_WORDS];
  if (!t->row) return;
  fprintf(to, "\ntransfers of step %lld, in ms\n%7s %-26s %-11s %8s %9s %9s %8s %8s %7s\n",
          (long long)t->row[0].training_step, "command", "storage", "link", "MiB", "planned", "ended", "late", "waited",
          "GB/s");
  for (int32_t i = 0; i < t->n_transfers; i++) {
    const plim_transfer *x = &t->transfer[i];
    double taken_ns = (double)(x->end_ns - x->begin_ns);
    fprintf(to, "%7d %-26.26s %-11.11s %8.2f %9.3f %9.3f %8.3f %8.3f %7.2f\n", (int)x->command,
            space_storage_words(t->graph, x->storage, words), space_link_words(t->plan, x, link),
            (double)x->bytes / (1 << 20), (double)x->planned_end_ns / 1e6, (double)x->end_ns / 1e6,
            (double)(x->end_ns - x->planned_end_ns) / 1e6, (double)x->waited_ns / 1e6,
            taken_ns > 0 ? (double)x->bytes / taken_ns : 0);
  }
}

/* ---- one command ---- */

static void print_head(const traced_spaces *t, int32_t c, FILE *to) {
  const plim_space_plan *p = t->plan;
  char words[SPACE_WORDS], a[HUMAN_BYTES], b[HUMAN_BYTES], d[HUMAN_BYTES];
  int64_t idle;
  int32_t cause = plim_space_inspect_cause(&t->in, c, &idle);
  fprintf(to, "command %d of %d: %.60s on %s\n", (int)c, (int)p->n_commands, space_command_words(t->graph, p, c, words),
          p->queue[p->command[c].queue].name);
  fprintf(to, "from %s to %s of %s\n", time_words(t, t->in.begin_ns[c], a), time_words(t, t->in.end_ns[c], b),
          time_words(t, p->makespan_ns, d));
  if (cause >= 0) {
    fprintf(to, "its queue stood idle for %s, until command %d (%.40s on %s) ended\n", time_words(t, idle, a),
            (int)cause, space_command_words(t->graph, p, cause, words), p->queue[p->command[cause].queue].name);
  }
  print_measured(t, c, to);
}

static void print_now(const traced_spaces *t, int32_t c, int64_t now, char *text, size_t size) {
  char words[SPACE_WORDS];
  const plim_space_command *m = &t->plan->command[c];
  int64_t done = m->time_ns > 0 ? 100 * (now - t->in.begin_ns[c]) / m->time_ns : 0;
  int at = snprintf(text, size, "%d %.60s", (int)c, space_command_words(t->graph, t->plan, c, words));
  if (m->kind == PLIM_SPACE_COMMAND_COPY && at > 0 && (size_t)at < size) {
    (void)snprintf(text + at, size - (size_t)at, ", %d %%", (int)done);
  }
}

static void print_queue(const traced_spaces *t, int32_t q, int64_t now, FILE *to) {
  char doing[128] = "idle", next[160] = "-", words[SPACE_WORDS], idle[HUMAN_BYTES];
  plim_space_queue_state s = plim_space_inspect_queue(&t->in, q, now);
  if (s.now >= 0) print_now(t, s.now, now, doing, sizeof doing);
  if (s.next >= 0) {
    (void)snprintf(next, sizeof next, "%d %.40s", (int)s.next, space_command_words(t->graph, t->plan, s.next, words));
  }
  fprintf(to, "%-16.16s %-30.30s %.31s\n", t->plan->queue[q].name, doing, next);
  if (s.next < 0 || s.caused_by < 0 || s.idle_ns == 0) return;
  fprintf(to, "%-16s   it waits %s for %d %.40s\n", "", time_words(t, s.idle_ns, idle), (int)s.caused_by,
          space_command_words(t->graph, t->plan, s.caused_by, words));
}

static void print_bar(const traced_spaces *t, int32_t space, int32_t c, FILE *to) {
  const plim_space_memory *s = &t->plan->space[space];
  char a[HUMAN_BYTES], b[HUMAN_BYTES], bar[BAR + 1];
  int64_t live = plim_space_inspect_live(&t->in, space, c);
  int64_t of = s->budget_bytes < PLIM_BYTES_UNLIMITED ? s->budget_bytes : t->in.peak_bytes[space];
  int filled = of > 0 ? (int)((double)live / (double)of * BAR + 0.5) : 0;
  memset(bar, '.', BAR);
  memset(bar, '#', (size_t)(filled > BAR ? BAR : filled));
  bar[BAR] = 0;
  fprintf(to, "%-12.12s [%s] %s of %s bytes%s\n", s->name, bar, human_count(live, a), human_count(of, b),
          s->budget_bytes < PLIM_BYTES_UNLIMITED ? "" : " at its peak");
}

static int by_bytes(const void *a, const void *b) {
  const plim_space_buffer *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return plim_integers_compare(x->storage, y->storage);
}

/* What is resident, the largest first. */
static plim_status print_residents(const traced_spaces *t, int32_t space, int32_t c, FILE *to) {
  const plim_space_plan *p = t->plan;
  char words[SPACE_WORDS], bytes[HUMAN_BYTES];
  int32_t n = 0, shown = 0;
  plim_space_buffer *row = NULL;
  PLIM_TRY(plim_allocate(t->ctx, p->n_buffers, sizeof *row, &row));
  for (int32_t i = 0; i < p->n_buffers && p->buffer[i].begin <= c; i++) {
    if (p->buffer[i].space == space && c < p->buffer[i].end) row[n++] = p->buffer[i];
  }
  qsort(row, (size_t)n, sizeof *row, by_bytes);
  for (; shown < n && shown < (n > MOST_STORAGES + LEFT_OUT ? MOST_STORAGES : n); shown++) {
    int32_t use = plim_space_inspect_next_use(&t->in, row[shown].storage, space, c);
    fprintf(to, "  %-30.30s %15s bytes", space_storage_words(t->graph, row[shown].storage, words),
            human_count(row[shown].bytes, bytes));
    if (use >= 0 && use < row[shown].end) fprintf(to, "  next use %d", (int)use);
    fprintf(to, "\n");
  }
  if (shown < n) fprintf(to, "  and %d smaller ones\n", (int)(n - shown));
  plim_release(t->ctx, row, p->n_buffers, sizeof *row);
  return PLIM_OK;
}

static plim_status print_gap(const traced_spaces *t, const plim_space_gap *g, FILE *to) {
  const plim_space_plan *p = t->plan;
  char words[SPACE_WORDS], reason[SPACE_WORDS];
  plim_space_why w;
  PLIM_TRY(plim_space_inspect_why(&t->in, g, &w));
  fprintf(to, "  %.40s: not in %s at commands %d to %d, %s by command %d\n",
          space_storage_words(t->graph, g->storage, words), p->space[g->space].name, (int)g->from, (int)g->until - 1,
          g->paged ? "copied back" : "recomputed", (int)g->until);
  fprintf(to, "    %s\n", space_reason_words(&t->in, g, &w, reason));
  return PLIM_OK;
}

plim_status trace_spaces_step(const traced_spaces *t, int32_t c, FILE *to) {
  const plim_space_plan *p = t->plan;
  int32_t shown = 0, away = 0;
  int64_t now = t->in.begin_ns[c];
  print_head(t, c, to);
  fprintf(to, "\n%-16s %-30s %s\n", "queue", "now", "next");
  for (int32_t q = 0; q < p->n_queues; q++) print_queue(t, q, now, to);
  fprintf(to, "\n");
  for (int32_t s = 0; s < p->n_spaces; s++) {
    print_bar(t, s, c, to);
    PLIM_TRY(print_residents(t, s, c, to));
  }
  for (int32_t i = 0; i < t->n_gaps; i++) {
    if (t->gap[i].from > c || c >= t->gap[i].until) continue;
    if (away++ == 0) fprintf(to, "\naway, and needed again\n");
    if (shown == MOST_STORAGES) continue;
    PLIM_TRY(print_gap(t, &t->gap[i], to));
    shown++;
  }
  if (away > shown) fprintf(to, "  and %d more\n", (int)(away - shown));
  return PLIM_OK;
}

/* ---- one storage ---- */

static int32_t find_storage(const traced_spaces *t, const char *name) {
  char words[SPACE_WORDS];
  int32_t value = plim_graph_find_value(t->graph, name);
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    if (strcmp(space_storage_words(t->graph, s, words), name) == 0) return s;
  }
  return value >= 0 ? t->graph->value[value].storage : -1;
}

plim_status trace_spaces_storage(const traced_spaces *t, const char *name, FILE *to) {
  const plim_space_plan *p = t->plan;
  char bytes[HUMAN_BYTES];
  int32_t s = find_storage(t, name);
  if (s < 0) return plim_fail(t->ctx, PLIM_EUSAGE, "the graph has no op or tensor '%s'", name);
  fprintf(to, "%s: %s bytes\n", name, human_count(t->graph->storage[s].bytes, bytes));
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    if (b->storage != s) continue;
    char words[SPACE_WORDS];
    fprintf(to, "  in %s from command %d (%.40s) to %d\n", p->space[b->space].name, (int)b->begin,
            space_command_words(t->graph, p, b->begin, words), (int)b->end - 1);
  }
  for (int32_t i = 0; i < t->n_gaps; i++) {
    if (t->gap[i].storage == s) PLIM_TRY(print_gap(t, &t->gap[i], to));
  }
  return PLIM_OK;
}

/* ---- the whole ---- */

static void print_queue_use(const traced_spaces *t, int32_t q, FILE *to) {
  char a[HUMAN_BYTES], b[HUMAN_BYTES];
  int64_t busy = 0, waited = 0, idle;
  int32_t n = 0;
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    if (t->plan->command[c].queue != q) continue;
    n++;
    busy += t->plan->command[c].time_ns;
    if (plim_space_inspect_cause(&t->in, c, &idle) >= 0) waited += idle;
  }
  double share = t->plan->makespan_ns > 0 ? 100.0 * (double)busy / (double)t->plan->makespan_ns : 0;
  fprintf(to, "%-16.16s %8d %17s %6.1f %% %17s\n", t->plan->queue[q].name, (int)n, time_words(t, busy, a), share,
          time_words(t, waited, b));
}

plim_status trace_spaces_summary(const traced_spaces *t, FILE *to) {
  const plim_space_plan *p = t->plan;
  char a[HUMAN_BYTES];
  int32_t paged = 0;
  for (int32_t i = 0; i < t->n_gaps; i++) paged += t->gap[i].paged;
  fprintf(to, "%s by %s: %d commands, makespan %s", t->graph->name, p->planner, (int)p->n_commands,
          time_words(t, p->makespan_ns, a));
  if (p->has_energy) fprintf(to, ", %.8g J", p->energy_joule);
  fprintf(to, "\n\n%-16s %8s %17s %8s %17s\n", "queue", "commands", "busy", "share", "waits for others");
  for (int32_t q = 0; q < p->n_queues; q++) print_queue_use(t, q, to);
  fprintf(to, "\n%-16s %17s %17s\n", "space", "peak bytes", "budget");
  for (int32_t s = 0; s < p->n_spaces; s++) {
    char b[HUMAN_BYTES];
    fprintf(to, "%-16.16s %17s %17s\n", p->space[s].name, human_count(p->space[s].peak_bytes, a),
            p->space[s].budget_bytes < PLIM_BYTES_UNLIMITED ? human_count(p->space[s].budget_bytes, b) : "none");
  }
  fprintf(to, "\n%d times a storage leaves a space and returns: %d by copies, %d by runs\n", (int)t->n_gaps, (int)paged,
          (int)(t->n_gaps - paged));
  print_transfers(t, to);
  return PLIM_OK;
}

/* ==== objects: docs/formats.md, plans over spaces ==== */

static json_t *number_or_null(int32_t id) {
  return id >= 0 ? json_integer(id) : json_null();
}

static json_t *command_json(const traced_spaces *t, int32_t c) {
  const plim_space_plan *p = t->plan;
  char words[SPACE_WORDS];
  int64_t idle;
  int32_t cause;
  if (c < 0) return json_null();
  cause = plim_space_inspect_cause(&t->in, c, &idle);
  return json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "command", (int)c, "does",
                   space_command_words(t->graph, p, c, words), "kind",
                   p->command[c].kind == PLIM_SPACE_COMMAND_RUN ? "run" : "copy", "queue",
                   p->queue[p->command[c].queue].name, "begin_ns", (json_int_t)t->in.begin_ns[c], "end_ns",
                   (json_int_t)t->in.end_ns[c], "idle_ns", (json_int_t)idle, "waited_for", number_or_null(cause));
}

static json_t *queues_json(const traced_spaces *t, int64_t now) {
  json_t *list = json_array();
  for (int32_t q = 0; q < t->plan->n_queues; q++) {
    plim_space_queue_state s = plim_space_inspect_queue(&t->in, q, now);
    (void)json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "queue", t->plan->queue[q].name, "now",
                                                command_json(t, s.now), "next", command_json(t, s.next)));
  }
  return list;
}

static json_t *spaces_json(const traced_spaces *t, int32_t c) {
  const plim_space_plan *p = t->plan;
  json_t *list = json_array();
  char words[SPACE_WORDS];
  for (int32_t s = 0; s < p->n_spaces; s++) {
    json_t *residents = json_array();
    int64_t budget = p->space[s].budget_bytes;
    for (int32_t i = 0; i < p->n_buffers && p->buffer[i].begin <= c; i++) {
      const plim_space_buffer *b = &p->buffer[i];
      if (b->space != s || c >= b->end) continue;
      int32_t use = plim_space_inspect_next_use(&t->in, b->storage, s, c);
      (void)json_array_append_new(
          residents, json_pack("{s:s, s:I, s:i, s:i, s:o}", "storage", space_storage_words(t->graph, b->storage, words),
                               "bytes", (json_int_t)b->bytes, "begin", (int)b->begin, "end", (int)b->end, "next_use",
                               number_or_null(use < b->end ? use : -1)));
    }
    (void)json_array_append_new(
        list, json_pack("{s:s, s:I, s:o, s:o}", "space", p->space[s].name, "live_bytes",
                        (json_int_t)plim_space_inspect_live(&t->in, s, c), "budget_bytes",
                        budget < INT64_MAX ? json_integer(budget) : json_null(), "residents", residents));
  }
  return list;
}

/* NULL: no memory. */
static json_t *gap_json(const traced_spaces *t, const plim_space_gap *g) {
  char words[SPACE_WORDS], reason[SPACE_WORDS];
  plim_space_why w;
  if (plim_space_inspect_why(&t->in, g, &w) != PLIM_OK) return NULL;
  json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:b, s:o, s:o, s:o, s:I}", "storage",
                        space_storage_words(t->graph, g->storage, words), "space", t->plan->space[g->space].name,
                        "from", (int)g->from, "until", (int)g->until, "paged", (int)g->paged, "copied_out_by",
                        number_or_null(w.out), "next_use", number_or_null(w.next_use), "worst", number_or_null(w.worst),
                        "with_it_bytes", (json_int_t)w.with_it_bytes);
  (void)json_object_set_new(o, "copy_ns", g->paged ? json_integer(w.copy_ns) : json_null());
  (void)json_object_set_new(o, "window_ns", json_integer(w.window_ns));
  (void)json_object_set_new(o, "link_free_ns", w.link_free_ns >= 0 ? json_integer(w.link_free_ns) : json_null());
  (void)json_object_set_new(o, "recompute_ns", w.can_recompute ? json_integer(w.recompute_ns) : json_null());
  (void)json_object_set_new(o, "recompute_runs", json_integer(w.recompute_runs));
  (void)json_object_set_new(o, "recompute_copies", json_integer(w.recompute_copies));
  (void)json_object_set_new(o, "recompute_joule",
                            w.can_recompute && t->plan->has_energy ? json_real(w.recompute_joule) : json_null());
  (void)json_object_set_new(o, "reason", json_string(space_reason_words(&t->in, g, &w, reason)));
  return o;
}

/* Takes the reference. */
static plim_status print_json(const traced_spaces *t, json_t *o, FILE *to) {
  int written = o && json_dumpf(o, to, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0 && fputc('\n', to) != EOF;
  json_decref(o);
  return written ? PLIM_OK : plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
}

plim_status trace_spaces_step_json(const traced_spaces *t, int32_t c, FILE *to) {
  json_t *o = command_json(t, c), *away = json_array();
  (void)json_object_set_new(o, "commands", json_integer(t->plan->n_commands));
  (void)json_object_set_new(o, "queues", queues_json(t, t->in.begin_ns[c]));
  (void)json_object_set_new(o, "spaces", spaces_json(t, c));
  for (int32_t i = 0; i < t->n_gaps; i++) {
    if (t->gap[i].from > c || c >= t->gap[i].until) continue;
    (void)json_array_append_new(away, gap_json(t, &t->gap[i]));
  }
  (void)json_object_set_new(o, "away", away);
  return print_json(t, o, to);
}

plim_status trace_spaces_storage_json(const traced_spaces *t, const char *name, FILE *to) {
  const plim_space_plan *p = t->plan;
  int32_t s = find_storage(t, name);
  if (s < 0) return plim_fail(t->ctx, PLIM_EUSAGE, "the graph has no op or tensor '%s'", name);
  json_t *buffers = json_array(), *gaps = json_array();
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    if (b->storage != s) continue;
    (void)json_array_append_new(buffers, json_pack("{s:s, s:i, s:i}", "space", p->space[b->space].name, "begin",
                                                   (int)b->begin, "end", (int)b->end));
  }
  for (int32_t i = 0; i < t->n_gaps; i++) {
    if (t->gap[i].storage == s) (void)json_array_append_new(gaps, gap_json(t, &t->gap[i]));
  }
  return print_json(t,
                    json_pack("{s:s, s:I, s:o, s:o}", "storage", name, "bytes", (json_int_t)t->graph->storage[s].bytes,
                              "buffers", buffers, "away", gaps),
                    to);
}
