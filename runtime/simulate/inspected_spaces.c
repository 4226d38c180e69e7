/* Opens inspected runs over spaces. A program's plan that pages is looked at as a plan over spaces. Of its trace one
 * training step is kept, that of the median length, so that its begins, ends and waits belong together. */
#include "runtime/simulate/inspected_spaces.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/sibling.h"

/* ---- the step that is shown ---- */

typedef struct candidate {
  int64_t length_ns, run;
} candidate;

static int by_length(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  const int by = plim_integers_compare(x->length_ns, y->length_ns);
  return by != 0 ? by : plim_integers_compare(x->run, y->run);
}

static plim_status choose_step(plim_inspected_spaces *t) {
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

static plim_status take_transfers(plim_inspected_spaces *t) {
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

static plim_status load_trace(plim_inspected_spaces *t, const char *path, const char *plan) {
  PLIM_TRY(plim_trace_load(t->ctx, path, &t->trace));
  PLIM_TRY(plim_trace_check(t->trace, path, t->paged, plan));
  PLIM_TRY(choose_step(t));
  return take_transfers(t);
}

/* ---- files ---- */

/* Load the plan at `path`: t->own_paged where it pages, t->own_plan where it is one over spaces, else none. */
static plim_status load_plan(plim_inspected_spaces *t, const char *path) {
  plim_plan *plan = NULL;
  PLIM_TRY(plim_space_plan_load_any(t->ctx, path, &plan, &t->own_plan));
  if (plan && plan->n_page_spaces > 0) {
    t->paged = t->own_paged = plan;
  } else {
    plim_plan_free(plan);
  }
  return PLIM_OK;
}

/* trace NULL: the plan alone. */
static plim_status open_paged(plim_inspected_spaces *t, const char *plan, const char *trace) {
  PLIM_TRY(plim_plan_check(t->ctx, t->graph, t->paged));
  if (trace) PLIM_TRY(load_trace(t, trace, plan));
  return plim_paged_run_spaces(t->graph, t->paged, &t->own_plan);
}

/* A plan that has been loaded, with the graph beside it. */
static plim_status open_plan(plim_inspected_spaces *t, const char *plan, const char *trace) {
  char beside[PLIM_FILE_PATH_BYTES];
  PLIM_TRY(plim_sibling_graph_path(t->ctx, plan, beside));
  PLIM_TRY(plim_graph_load(t->ctx, beside, &t->own_graph));
  t->graph = t->own_graph;
  PLIM_TRY(t->paged ? open_paged(t, plan, trace) : plim_space_plan_check(t->ctx, t->graph, t->own_plan));
  t->plan = t->own_plan;
  PLIM_TRY(plim_space_inspect_open(t->ctx, t->graph, t->plan, &t->in));
  return plim_space_inspect_gaps(&t->in, &t->gap, &t->n_gaps);
}

/* What is wrong with a trace, or with the plan beside it, is for the reader of runs in one arena to say. Plans over
 * spaces have no traces. */
static plim_status open_trace(plim_inspected_spaces *t, const char *path) {
  char plan[PLIM_FILE_PATH_BYTES];
  plim_status status = plim_sibling_plan_path(t->ctx, path, plan);
  if (status == PLIM_OK) status = load_plan(t, plan);
  if (status == PLIM_OK && t->paged) return open_plan(t, plan, path);
  return status == PLIM_ENOMEM ? status : PLIM_OK;
}

static plim_status open_file(plim_inspected_spaces *t, const char *path) {
  if (!plim_sibling_is_plan(path)) return open_trace(t, path);
  PLIM_TRY(load_plan(t, path));
  return t->paged || t->own_plan ? open_plan(t, path, NULL) : PLIM_OK;
}

plim_status plim_inspected_spaces_open(plim_context *ctx, const char *path, plim_inspected_spaces *out) {
  plim_inspected_spaces run = {.ctx = ctx};
  plim_status status = open_file(&run, path);
  if (status == PLIM_OK) *out = run;
  if (status != PLIM_OK) plim_inspected_spaces_close(&run);
  return status;
}

void plim_inspected_spaces_close(plim_inspected_spaces *run) {
  plim_release(run->ctx, run->gap, run->n_gaps, sizeof *run->gap);
  plim_space_inspect_close(&run->in);
  plim_space_plan_free(run->own_plan);
  plim_release(run->ctx, run->transfer, run->n_transfers, sizeof *run->transfer);
  plim_trace_free(run->trace);
  plim_plan_free(run->own_paged);
  plim_graph_free(run->own_graph);
  *run = (plim_inspected_spaces){.ctx = run->ctx};
}

/* ---- times ---- */

int64_t plim_inspected_spaces_begin_ns(const plim_inspected_spaces *run, int32_t command) {
  return run->row ? run->row[command].start_ns : run->in.begin_ns[command];
}

int64_t plim_inspected_spaces_end_ns(const plim_inspected_spaces *run, int32_t command) {
  return run->row ? run->row[command].start_ns + run->row[command].time_ns : run->in.end_ns[command];
}

double plim_inspected_spaces_rate(const plim_inspected_spaces *run, int32_t command) {
  const plim_space_command *m = &run->plan->command[command];
  int64_t taken_ns = plim_inspected_spaces_end_ns(run, command) - plim_inspected_spaces_begin_ns(run, command);
  double bytes = 0;
  for (int32_t i = 0; i < m->n_storages; i++) bytes += (double)run->graph->storage[m->storage[i]].bytes;
  return taken_ns > 0 ? bytes / (double)taken_ns : 0;
}

int64_t plim_inspected_spaces_length_ns(const plim_inspected_spaces *run) {
  int64_t most = 0;
  for (int32_t c = 0; c < run->plan->n_commands; c++) {
    if (plim_inspected_spaces_end_ns(run, c) > most) most = plim_inspected_spaces_end_ns(run, c);
  }
  return most;
}

/* ---- bytes ---- */

static int by_moment(const void *a, const void *b) {
  const plim_space_moment *x = a, *y = b;
  const int by_time = plim_integers_compare(x->at_ns, y->at_ns);
  return by_time != 0 ? by_time : plim_integers_compare(x->bytes, y->bytes); /* what ends makes room for what begins */
}

static int has(int32_t n, const int32_t *storages, int32_t storage) {
  for (int32_t i = 0; i < n; i++) {
    if (storages[i] == storage) return 1;
  }
  return 0;
}

/* Does a command in the lifetime of the buffer use it? Others of that lifetime are on other queues, or in between. */
static int uses(const plim_inspected_spaces *run, int32_t c, const plim_space_buffer *b) {
  const plim_space_command *command = &run->plan->command[c];
  if (c == b->begin) return 1;
  if (command->kind == PLIM_SPACE_COMMAND_COPY) {
    return (command->from == b->space || command->to == b->space) &&
           has(command->n_storages, command->storage, b->storage);
  }
  const plim_op *op = &run->graph->op[command->op];
  return run->plan->device[command->device].space == b->space &&
         (plim_op_touches(op, b->storage) || has(op->n_updates, op->updates, b->storage));
}

static int64_t last_end_ns(const plim_inspected_spaces *run, const plim_space_buffer *b) {
  int64_t last_ns = 0;
  for (int32_t c = b->begin; c < b->end; c++) {
    const int64_t end_ns = plim_inspected_spaces_end_ns(run, c);
    if (end_ns > last_ns && uses(run, c, b)) last_ns = end_ns;
  }
  return last_ns;
}

/* length_ns: of the run, where a buffer that lives to its end ends. */
static void add_buffer(const plim_inspected_spaces *run, const plim_space_buffer *b, int64_t length_ns,
                       plim_space_moment *m) {
  const int is_last = b->end == run->plan->n_commands;
  m[0] = (plim_space_moment){b->begin > 0 ? plim_inspected_spaces_begin_ns(run, b->begin) : 0, b->bytes};
  m[1] = (plim_space_moment){is_last ? length_ns : last_end_ns(run, b), -b->bytes};
}

plim_status plim_inspected_spaces_bytes(const plim_inspected_spaces *run, int32_t space, plim_space_moment **out,
                                        int32_t *n) {
  int64_t room = 2 * (int64_t)run->plan->n_buffers, live = 0;
  const int64_t length_ns = plim_inspected_spaces_length_ns(run);
  int32_t events = 0, kept = 0;
  plim_space_moment *m = NULL;
  PLIM_TRY(plim_allocate(run->ctx, room, sizeof *m, &m));
  for (int32_t i = 0; i < run->plan->n_buffers; i++) {
    const plim_space_buffer *b = &run->plan->buffer[i];
    if (b->space != space) continue;
    add_buffer(run, b, length_ns, m + events);
    events += 2;
  }
  qsort(m, (size_t)events, sizeof *m, by_moment);
  for (int32_t i = 0; i < events; i++) {
    live += m[i].bytes;
    if (i + 1 < events && m[i + 1].at_ns == m[i].at_ns) continue;
    if (kept > 0 && m[kept - 1].bytes == live) continue;
    m[kept++] = (plim_space_moment){m[i].at_ns, live};
  }
  plim_status status = plim_resize_array(run->ctx, &m, room, kept, sizeof *m);
  if (status != PLIM_OK) {
    plim_release(run->ctx, m, room, sizeof *m);
    return status;
  }
  *out = m;
  *n = kept;
  return PLIM_OK;
}
