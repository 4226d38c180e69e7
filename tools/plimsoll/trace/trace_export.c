/* A run for others to look at: events for trace viewers, and a page. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "runtime/base/file.h"
#include "tools/plimsoll/trace/trace_step.h"
#include "trace_page.h"

/* ==== events ==== */

/* Trace Event Format: complete events ("X") and counters ("C"); times in microseconds. */

enum { EVENT = 1024 };

/* Names go through the JSON library, for its escapes. */
static plim_status write_event(const traced *t, plim_file *file, const plim_trace_row *row, int64_t begin_ns) {
  char line[EVENT];
  int again = plim_inspect_is_repeat(t->inspect, row->command);
  json_t *name = json_string(row->op < 0 ? "copy" : row->name);
  char *quoted = name ? json_dumps(name, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
  json_decref(name);
  if (!quoted) return plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
  double start = (double)(begin_ns + row->start_ns) / 1e3;
  int length = snprintf(line, sizeof line,
                        ",\n{\"name\": %s, \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, "
                        "\"tid\": 1, \"args\": {\"command\": %d, \"planned_us\": %.3f}},\n"
                        "{\"name\": \"live bytes\", \"ph\": \"C\", \"ts\": %.3f, \"pid\": 1, \"args\": {\"bytes\": "
                        "%" PRId64 "}}",
                        quoted, again ? "again" : "first", start, (double)row->time_ns / 1e3, (int)row->command,
                        (double)row->planned_ns / 1e3, start, row->live_bytes);
  free(quoted);
  if (length < 0 || length >= EVENT) return plim_fail(t->ctx, PLIM_EDATA, "the name of op %d is too long", row->op);
  return plim_file_write(file, line, length);
}

/* Where nothing was measured, what was planned. */
static plim_trace_row planned_row(const traced *t, int32_t command) {
  int64_t time_ns = traced_planned_ns(t, command);
  return (plim_trace_row){.command = command,
                          .op = t->plan->command[command].kind == PLIM_COMMAND_RUN ? t->plan->command[command].op : -1,
                          .name = traced_op_name(t, command),
                          .time_ns = time_ns,
                          .planned_ns = time_ns,
                          .live_bytes = plim_inspect_live_bytes(t->inspect, command)};
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
    if (row->command + 1 == t->trace->n_commands) begin += row->start_ns + row->time_ns;
  }
  for (int32_t j = 0; measured == 0 && j < t->plan->n_commands; j++) {
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

/* ==== the page ==== */

/* trace_page.html with its data, one JSON object, in the place of a mark: {graph, by, bytes, packed: whether buffers
 * have addresses, cap, end: null or how the run ended early, roles, names, steps: [[name, again, planned us,
 * measured us]], lives: [[storage or -1, begin, end, offset, bytes]], why: {step: text}, history: {storage: text}}.
 * Texts go through the JSON library, which also escapes the slash, so that no name can end the script. A second mark,
 * SNAPSHOT, is for plimsoll.torch.add_snapshot. */

static const char mark[] = "/*DATA*/";
enum { MOST_TEXTS = 500 /* of decisions, of histories */ };

static json_t *storages_json(const traced *t, int roles) {
  json_t *list = json_array();
  for (int32_t s = 0; s < t->graph->n_storages; s++) {
    const char *text = roles ? plim_role_name(t->graph->storage[s].role) : plim_inspect_name(t->inspect, s);
    (void)json_array_append_new(list, json_string(text));
  }
  return list;
}

static json_t *steps_json(const traced *t) {
  json_t *list = json_array();
  for (int32_t j = 0; j < t->plan->n_commands; j++) {
    json_t *measured = t->runs > 0 ? json_real((double)t->measured_ns[j] / 1e3) : json_null();
    (void)json_array_append_new(list,
                                json_pack("[s, b, f, o]", traced_op_name(t, j), plim_inspect_is_repeat(t->inspect, j),
                                          (double)traced_planned_ns(t, j) / 1e3, measured));
  }
  return list;
}

static json_t *buffers_json(const traced *t) {
  json_t *list = json_array();
  for (int32_t i = 0; i < t->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    (void)json_array_append_new(list,
                                json_pack("[i, i, i, I, I]", (int)buffer->storage, (int)buffer->begin, (int)buffer->end,
                                          (json_int_t)buffer->offset, (json_int_t)buffer->bytes));
  }
  return list;
}

/* A view as text under a number. */
typedef plim_status view(const traced *t, int32_t id, FILE *to);

static plim_status add_text(const traced *t, view *print, int32_t id, json_t *object) {
  trace_pane pane;
  char key[16];
  PLIM_TRY(trace_pane_open(t->ctx, &pane));
  plim_status status = print(t, id, pane.to);
  if (status == PLIM_OK && fflush(pane.to) != 0) status = plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
  (void)snprintf(key, sizeof key, "%d", (int)id);
  if (status == PLIM_OK) (void)json_object_set_new(object, key, json_string(pane.chars));
  trace_pane_close(&pane);
  return status;
}

/* Of a planned run the decisions are its drops. */
static plim_status add_drops(const traced *t, json_t *object) {
  const trace_jump *drop = trace_jump_find(trace_kind_arena.jump, 'd');
  int32_t command = -1;
  for (int32_t i = 0; i < MOST_TEXTS; i++) {
    PLIM_TRY(trace_jump_to(drop, t, t->plan->n_commands, command, &command));
    if (command < 0) break;
    PLIM_TRY(add_text(t, trace_view_drops, command, object));
  }
  return PLIM_OK;
}

static plim_status add_reasons(const traced *t, json_t *object) {
  if (!t->decisions) return add_drops(t, object);
  const plim_decision *choice = NULL;
  int32_t n = plim_decision_log_decisions(t->decisions, &choice);
  for (int32_t i = 0; i < n && i < MOST_TEXTS; i++) {
    if (i > 0 && choice[i].command == choice[i - 1].command) continue;
    PLIM_TRY(add_text(t, trace_view_reasons, choice[i].command, object));
  }
  return PLIM_OK;
}

static plim_status print_history(const traced *t, int32_t storage, FILE *to) {
  return trace_view_tensor(t, plim_inspect_name(t->inspect, storage), to);
}

/* Of what is recomputed: with why it was away. The page tells the others itself. */
static plim_status add_histories(const traced *t, json_t *object) {
  int32_t texts = 0;
  for (int32_t i = 0; i < t->plan->n_buffers && texts < MOST_TEXTS; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    int32_t maker = buffer->storage < 0 ? -1 : t->graph->storage[buffer->storage].producer;
    if (maker < 0 || !plim_inspect_is_repeat(t->inspect, buffer->begin) || t->plan->command[buffer->begin].op != maker)
      continue;
    PLIM_TRY(add_text(t, print_history, buffer->storage, object));
    texts++;
  }
  return PLIM_OK;
}

static plim_status write_page(const traced *t, json_t *data, const char *path) {
  const char *head_end = strstr(trace_page, mark), *rest = head_end + strlen(mark);
  plim_file *file = NULL;
  char *text = json_dumps(data, JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH | JSON_COMPACT);
  plim_status status;
  if (!text) return plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
  PLIM_TRY_OR_DONE(plim_file_begin(t->ctx, path, &file));
  PLIM_TRY_OR_DONE(plim_file_write(file, trace_page, head_end - trace_page));
  PLIM_TRY_OR_DONE(plim_file_write(file, text, (int64_t)strlen(text)));
  PLIM_TRY_OR_DONE(plim_file_write(file, rest, (int64_t)strlen(rest)));
  status = plim_file_commit(file);
  file = NULL;
done:
  plim_file_abandon(file);
  free(text);
  return status;
}

plim_status trace_html(const traced *t, const char *path) {
  int64_t bytes = t->plan->packed ? trace_strip_bytes(t) : t->plan->peak_bytes;
  json_t *cap = t->plan->budget_bytes < INT64_MAX ? json_integer(t->plan->budget_bytes) : json_null();
  json_t *why = json_object(), *history = json_object();
  const char *end = traced_end(t) == PLIM_ONLINE_OK ? NULL : traced_end_title(t);
  json_t *data = json_pack("{s:s, s:s, s:I, s:b, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o}", "graph", t->graph->name,
                           "by", t->plan->planner, "bytes", (json_int_t)bytes, "packed", t->plan->packed, "cap", cap,
                           "end", end, "roles", storages_json(t, 1), "names", storages_json(t, 0), "steps",
                           steps_json(t), "lives", buffers_json(t), "why", why, "history", history);
  plim_status status = data ? add_reasons(t, why) : plim_fail(t->ctx, PLIM_ENOMEM, "out of memory");
  if (status == PLIM_OK) status = add_histories(t, history);
  if (status == PLIM_OK) status = write_page(t, data, path);
  json_decref(data);
  return status;
}
