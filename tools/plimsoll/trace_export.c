/* Trace Event Format: complete events ("X") and counters ("C"); times in microseconds. */
#include "tools/plimsoll/trace_export.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "runtime/base/file.h"

enum { EVENT = 1024 };

/* Names go through the JSON library, for its escapes. */
static plim_status write_event(const traced *t, plim_file *file, const plim_trace_row *row, int64_t begin_ns,
                               int first) {
  char line[EVENT];
  int again = plim_inspect_is_repeat(t->inspect, row->step);
  json_t *name = json_string(row->op < 0 ? "copy" : row->name);
  char *quoted = name ? json_dumps(name, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
  json_decref(name);
  if (!quoted) return plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
  double start = (double)(begin_ns + row->start_ns) / 1e3;
  int length = snprintf(line, sizeof line,
                        "%s{\"name\": %s, \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, "
                        "\"tid\": 1, \"args\": {\"step\": %d, \"planned_us\": %.3f}},\n"
                        "{\"name\": \"live bytes\", \"ph\": \"C\", \"ts\": %.3f, \"pid\": 1, \"args\": {\"bytes\": "
                        "%" PRId64 "}}",
                        first ? "" : ",\n", quoted, again ? "again" : "first", start, (double)row->time_ns / 1e3,
                        (int)row->step, (double)row->planned_ns / 1e3, start, row->live_bytes);
  free(quoted);
  if (length < 0 || length >= EVENT) return plim_fail(t->ctx, PLIM_EDATA, "the name of op %d is too long", row->op);
  return plim_file_write(file, line, length);
}

static plim_status write_text(plim_file *file, const char *text) {
  return plim_file_write(file, text, (int64_t)strlen(text));
}

static plim_status write_events(const traced *t, plim_file *file) {
  int64_t begin = 0;
  PLIM_TRY(write_text(file,
                      "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
                      "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"plimsoll\"}},\n"
                      "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"args\": {\"name\": "
                      "\"compute\"}},\n"));
  for (int64_t r = 0; r < t->trace->n_rows; r++) {
    const plim_trace_row *row = &t->trace->row[r];
    PLIM_TRY(write_event(t, file, row, begin, r == 0));
    if (row->step + 1 == t->trace->n_steps) begin += row->start_ns + row->time_ns;
  }
  return write_text(file, "\n]}\n");
}

plim_status trace_export(const traced *t, const char *path) {
  plim_file *file = NULL;
  PLIM_TRY(plim_file_begin(t->ctx, path, &file));
  plim_status status = write_events(t, file);
  if (status == PLIM_OK) return plim_file_commit(file);
  plim_file_abandon(file);
  return status;
}

/* ---- two traces ---- */

static int32_t runs_of(const plim_plan *plan, int32_t op) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_steps; j++) n += plan->step[j].kind == PLIM_STEP_RUN && plan->step[j].op == op;
  return n;
}

static int64_t measured(const traced *t) {
  int64_t sum = 0;
  for (int32_t j = 0; j < t->plan->n_steps; j++) sum += t->measured_ns[j];
  return sum;
}

/* The first step at which they do not run the same op in the same variant; the shorter one's length where there is none
 * before; -1: equal. */
static int32_t first_difference(const traced *a, const traced *b) {
  int32_t n = a->plan->n_steps < b->plan->n_steps ? a->plan->n_steps : b->plan->n_steps;
  for (int32_t j = 0; j < n; j++) {
    const plim_step *x = &a->plan->step[j], *y = &b->plan->step[j];
    if (x->kind != y->kind || x->op != y->op) return j;
    if (strcmp(a->plan->variant[x->variant].variant.name, b->plan->variant[y->variant].variant.name) != 0) return j;
  }
  return a->plan->n_steps == b->plan->n_steps ? -1 : n;
}

static const char *name_at(const traced *t, int32_t step) {
  return step < t->plan->n_steps ? traced_op_name(t, step) : "the end";
}

plim_status trace_diff(const traced *a, const traced *b, FILE *to, int *same) {
  if (strcmp(a->graph->fingerprint, b->graph->fingerprint) != 0) {
    return plim_fail(a->ctx, PLIM_EDATA, "these are runs of different graphs: %s, %.12s, and %s, %.12s", a->graph->name,
                     a->graph->fingerprint, b->graph->name, b->graph->fingerprint);
  }
  int32_t differ = first_difference(a, b);
  fprintf(to, "steps         %12d  %12d\n", (int)a->plan->n_steps, (int)b->plan->n_steps);
  fprintf(to, "peak bytes    %12lld  %12lld\n", (long long)a->plan->peak_bytes, (long long)b->plan->peak_bytes);
  fprintf(to, "planned ms    %12.3f  %12.3f\n", (double)a->plan->time_ns / 1e6, (double)b->plan->time_ns / 1e6);
  fprintf(to, "measured ms   %12.3f  %12.3f\n", (double)measured(a) / 1e6, (double)measured(b) / 1e6);
  if (differ >= 0) {
    fprintf(to, "first difference at step %d: %s, %s\n", (int)differ, name_at(a, differ), name_at(b, differ));
  } else {
    fprintf(to, "the same steps\n");
  }
  for (int32_t op = 0; op < a->graph->n_ops; op++) {
    int32_t of_a = runs_of(a->plan, op), of_b = runs_of(b->plan, op);
    if (of_a != of_b) fprintf(to, "  %-28s runs %d times, %d times\n", a->graph->op[op].name, (int)of_a, (int)of_b);
  }
  *same = differ < 0;
  return PLIM_OK;
}
