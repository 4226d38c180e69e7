/* Text views of a plan over spaces: the whole, a command, a storage. Text views. Rows of queues and storages are cut
 * to 79 columns; reasons are sentences of any length. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/trace/space_reason.h"
#include "tools/plimsoll/trace/trace_spaces.h"

enum { MOST_STORAGES = 12, BAR = 24, LEFT_OUT = 3 };

static const char *time_words(const traced_spaces *t, int64_t time, char *text) {
  return space_time_words(t->graph, t->plan, time, text);
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
  trace_run_command(t, c, to);
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

int32_t trace_spaces_find(const traced_spaces *t, const char *name) {
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
  int32_t s = trace_spaces_find(t, name);
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
  trace_run_transfers(t, to);
  return PLIM_OK;
}
