/* Reads the trace of a run that pages. A program's plan that pages is looked at as a plan over spaces. Of its trace
 * one training step is shown, that of the median length, so that its begins, ends and waits belong together. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/sibling.h"
#include "tools/plimsoll/trace/space_reason.h"
#include "tools/plimsoll/trace/trace_spaces.h"

static const char *time_words(const traced_spaces *t, int64_t time, char *text) {
  return space_time_words(t->graph, t->plan, time, text);
}

/* ---- files ---- */

/* NULL: the file is no plan that pages, whatever else it is; others say what is wrong with it. */
static plim_plan *load_paged(plim_context *ctx, const char *path) {
  plim_plan *plan = NULL;
  plim_space_plan *spaces = NULL;
  if (plim_space_plan_load_any(ctx, path, &plan, &spaces) != PLIM_OK) return NULL;
  plim_space_plan_free(spaces);
  if (plan && plan->n_page_spaces > 0) return plan;
  plim_plan_free(plan);
  return NULL;
}

static plim_status load_graph(traced_spaces *t, const char *plan) {
  char path[PLIM_FILE_PATH_BYTES];
  PLIM_TRY(plim_sibling_graph_path(t->ctx, plan, path));
  PLIM_TRY(plim_graph_load(t->ctx, path, &t->own_graph));
  t->graph = t->own_graph;
  return plim_plan_check(t->ctx, t->graph, t->paged);
}

/* ---- the step that is shown ---- */

typedef struct candidate {
  int64_t length_ns, run;
} candidate;

static int by_length(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->length_ns != y->length_ns) return x->length_ns < y->length_ns ? -1 : 1;
  return plim_integers_compare(x->run, y->run);
}

static plim_status choose_step(traced_spaces *t) {
  int32_t steps = t->paged->n_commands;
  int64_t runs = t->trace->n_rows / steps;
  candidate *c = NULL;
  if (runs == 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(t->ctx, runs, sizeof *c, &c));
  for (int64_t r = 0; r < runs; r++) {
    c[r].run = r;
    for (int32_t j = 0; j < steps; j++) {
      const plim_trace_row *row = &t->trace->row[r * steps + j];
      if (row->start_ns + row->time_ns > c[r].length_ns) c[r].length_ns = row->start_ns + row->time_ns;
    }
  }
  qsort(c, (size_t)runs, sizeof *c, by_length);
  t->row = t->trace->row + c[runs / 2].run * steps;
  plim_release(t->ctx, c, runs, sizeof *c);
  return PLIM_OK;
}

static plim_status take_transfers(traced_spaces *t) {
  int64_t *ns = NULL, n = t->paged->n_commands;
  if (!t->row) return PLIM_OK;
  PLIM_TRY(plim_allocate(t->ctx, 3 * n, sizeof *ns, &ns));
  for (int64_t j = 0; j < n; j++) {
    ns[j] = t->row[j].start_ns;
    ns[n + j] = t->row[j].time_ns;
    ns[2 * n + j] = t->row[j].waited_ns;
  }
  plim_status status =
      plim_paged_run_transfers(t->graph, t->paged, ns, ns + n, ns + 2 * n, &t->transfer, &t->n_transfers);
  plim_release(t->ctx, ns, 3 * n, sizeof *ns);
  return status;
}

static plim_status load_trace(traced_spaces *t, const char *path, const char *plan) {
  char print[PLIM_FINGERPRINT_BYTES];
  PLIM_TRY(plim_trace_load(t->ctx, path, &t->trace));
  PLIM_TRY(plim_plan_fingerprint(t->paged, print));
  if (strcmp(print, t->trace->plan) != 0) {
    return plim_fail(t->ctx, PLIM_EDATA, "%s: a trace of plan %.12s; %s is plan %.12s", path, t->trace->plan, plan,
                     print);
  }
  PLIM_TRY(choose_step(t));
  return take_transfers(t);
}

plim_status trace_run_open(traced_spaces *t, const char *path, int *is) {
  char beside[PLIM_FILE_PATH_BYTES];
  size_t n = strlen(path);
  int is_plan = n > 5 && strcmp(path + n - 5, ".json") == 0;
  *is = 0;
  if (!is_plan && plim_sibling_plan_path(t->ctx, path, beside) != PLIM_OK) return PLIM_OK;
  t->paged = t->own_paged = load_paged(t->ctx, is_plan ? path : beside);
  if (!t->paged) return PLIM_OK;
  *is = 1;
  PLIM_TRY(load_graph(t, is_plan ? path : beside));
  if (!is_plan) PLIM_TRY(load_trace(t, path, beside));
  PLIM_TRY(plim_paged_run_spaces(t->graph, t->paged, &t->own_plan));
  t->plan = t->own_plan;
  return plim_space_inspect_open(t->ctx, t->graph, t->plan, &t->in);
}

void trace_run_close(traced_spaces *t) {
  plim_release(t->ctx, t->transfer, t->n_transfers, sizeof *t->transfer);
  plim_trace_free(t->trace);
  plim_plan_free(t->own_paged);
}

plim_status trace_run_save_picture(const plim_graph *graph, const plim_plan *plan, const char *path) {
  plim_space_plan *spaces = NULL;
  PLIM_TRY(plim_paged_run_spaces(graph, plan, &spaces));
  plim_status status = trace_spaces_save_picture(graph, spaces, plan, path);
  plim_space_plan_free(spaces);
  return status;
}

/* ---- times ---- */

int64_t trace_run_begin(const traced_spaces *t, int32_t c) {
  return t->row ? t->row[c].start_ns : t->in.begin_ns[c];
}

int64_t trace_run_end(const traced_spaces *t, int32_t c) {
  return t->row ? t->row[c].start_ns + t->row[c].time_ns : t->in.end_ns[c];
}

int64_t trace_run_length(const traced_spaces *t) {
  int64_t most = 0;
  for (int32_t c = 0; c < t->plan->n_commands; c++) {
    if (trace_run_end(t, c) > most) most = trace_run_end(t, c);
  }
  return most;
}

/* ---- bytes ---- */

static int by_moment(const void *a, const void *b) {
  const trace_moment *x = a, *y = b;
  if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns ? -1 : 1;
  return plim_integers_compare(x->bytes, y->bytes); /* what ends makes room for what begins */
}

static void add_buffer(const traced_spaces *t, int32_t begin, int32_t end, int64_t bytes, trace_moment *m) {
  int last = end == t->plan->n_commands;
  m[0] = (trace_moment){begin > 0 ? trace_run_begin(t, begin) : 0, bytes};
  m[1] = (trace_moment){last ? trace_run_length(t) : trace_run_end(t, end - 1), -bytes};
}

plim_status trace_run_bytes(const traced_spaces *t, int32_t space, trace_moment **out, int32_t *n) {
  int64_t room = 2 * (int64_t)t->plan->n_buffers, live = 0;
  int32_t events = 0, kept = 0;
  trace_moment *m = NULL;
  PLIM_TRY(plim_allocate(t->ctx, room, sizeof *m, &m));
  for (int32_t i = 0; i < t->plan->n_buffers; i++) {
    const plim_space_buffer *b = &t->plan->buffer[i];
    if (b->space != space) continue;
    add_buffer(t, b->begin, b->end, b->bytes, m + events);
    events += 2;
  }
  qsort(m, (size_t)events, sizeof *m, by_moment);
  for (int32_t i = 0; i < events; i++) {
    live += m[i].bytes;
    if (i + 1 < events && m[i + 1].at_ns == m[i].at_ns) continue;
    if (kept > 0 && m[kept - 1].bytes == live) continue;
    m[kept++] = (trace_moment){m[i].at_ns, live};
  }
  plim_status status = plim_resize_array(t->ctx, &m, room, kept, sizeof *m);
  if (status != PLIM_OK) {
    plim_release(t->ctx, m, room, sizeof *m);
    return status;
  }
  *out = m;
  *n = kept;
  return PLIM_OK;
}

/* ---- views ---- */

static const plim_transfer *transfer_of(const traced_spaces *t, int32_t c) {
  for (int32_t i = 0; i < t->n_transfers; i++) {
    if (t->transfer[i].command == c) return &t->transfer[i];
  }
  return NULL;
}

void trace_run_command(const traced_spaces *t, int32_t c, FILE *to) {
  char a[HUMAN_BYTES], b[HUMAN_BYTES];
  const plim_transfer *x = transfer_of(t, c);
  if (!t->row) return;
  fprintf(to, "measured from %s to %s in step %lld\n", time_words(t, trace_run_begin(t, c), a),
          time_words(t, trace_run_end(t, c), b), (long long)t->row[c].training_step);
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

const char *trace_run_link(const traced_spaces *t, const plim_transfer *x, char *words) {
  (void)snprintf(words, SPACE_WORDS, "%.31s>%.31s", t->plan->space[x->from].name, t->plan->space[x->to].name);
  return words;
}

void trace_run_transfers(const traced_spaces *t, FILE *to) {
  char words[SPACE_WORDS], link[SPACE_WORDS];
  if (!t->row) return;
  fprintf(to, "\ntransfers of step %lld, in ms\n%7s %-26s %-11s %8s %9s %9s %8s %8s %7s\n",
          (long long)t->row[0].training_step, "command", "storage", "link", "MiB", "planned", "ended", "late", "waited",
          "GB/s");
  for (int32_t i = 0; i < t->n_transfers; i++) {
    const plim_transfer *x = &t->transfer[i];
    double taken_ns = (double)(x->end_ns - x->begin_ns);
    fprintf(to, "%7d %-26.26s %-11.11s %8.2f %9.3f %9.3f %8.3f %8.3f %7.2f\n", (int)x->command,
            space_storage_words(t->graph, x->storage, words), trace_run_link(t, x, link), (double)x->bytes / (1 << 20),
            (double)x->planned_end_ns / 1e6, (double)x->end_ns / 1e6, (double)(x->end_ns - x->planned_end_ns) / 1e6,
            (double)x->waited_ns / 1e6, taken_ns > 0 ? (double)x->bytes / taken_ns : 0);
  }
}
