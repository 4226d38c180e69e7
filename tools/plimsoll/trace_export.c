/* Trace Event Format: complete events ("X") and counters ("C"); times in microseconds. */
#include "tools/plimsoll/trace_export.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "runtime/base/file.h"

enum { EVENT = 1024 };

/* Names go through the JSON library, for its escapes. */
static plim_status write_event(const traced *t, plim_file *file, const plim_trace_row *row, int64_t begin_ns) {
  char line[EVENT];
  int again = plim_inspect_is_repeat(t->inspect, row->step);
  json_t *name = json_string(row->op < 0 ? "copy" : row->name);
  char *quoted = name ? json_dumps(name, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
  json_decref(name);
  if (!quoted) return plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
  double start = (double)(begin_ns + row->start_ns) / 1e3;
  int length = snprintf(line, sizeof line,
                        ",\n{\"name\": %s, \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, "
                        "\"tid\": 1, \"args\": {\"step\": %d, \"planned_us\": %.3f}},\n"
                        "{\"name\": \"live bytes\", \"ph\": \"C\", \"ts\": %.3f, \"pid\": 1, \"args\": {\"bytes\": "
                        "%" PRId64 "}}",
                        quoted, again ? "again" : "first", start, (double)row->time_ns / 1e3, (int)row->step,
                        (double)row->planned_ns / 1e3, start, row->live_bytes);
  free(quoted);
  if (length < 0 || length >= EVENT) return plim_fail(t->ctx, PLIM_EDATA, "the name of op %d is too long", row->op);
  return plim_file_write(file, line, length);
}

/* Where nothing was measured, what was planned. */
static plim_trace_row planned_row(const traced *t, int32_t step) {
  int64_t time_ns = traced_planned_ns(t, step);
  return (plim_trace_row){.step = step,
                          .op = t->plan->step[step].kind == PLIM_STEP_RUN ? t->plan->step[step].op : -1,
                          .name = traced_op_name(t, step),
                          .time_ns = time_ns,
                          .planned_ns = time_ns,
                          .live_bytes = plim_inspect_live_bytes(t->inspect, step)};
}

static plim_status write_text(plim_file *file, const char *text) {
  return plim_file_write(file, text, (int64_t)strlen(text));
}

static plim_status write_events(const traced *t, plim_file *file) {
  int64_t begin = 0, measured = t->trace ? t->trace->n_rows : 0;
  PLIM_TRY(write_text(file,
                      "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
                      "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"plimsoll\"}},\n"
                      "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"args\": {\"name\": "
                      "\"compute\"}}"));
  for (int64_t r = 0; r < measured; r++) {
    const plim_trace_row *row = &t->trace->row[r];
    PLIM_TRY(write_event(t, file, row, begin));
    if (row->step + 1 == t->trace->n_steps) begin += row->start_ns + row->time_ns;
  }
  for (int32_t j = 0; measured == 0 && j < t->plan->n_steps; j++) {
    plim_trace_row row = planned_row(t, j);
    PLIM_TRY(write_event(t, file, &row, begin));
    begin += row.time_ns;
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
