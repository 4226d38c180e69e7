/* Writes and reads handle programs. Each line is one tensor or event. The name of an event's first field is its kind.
 */
#include "runtime/graph/handles_text.h"

#include "runtime/base/array.h"
#include "runtime/graph/document.h"
#include "runtime/graph/handles_build.h"

#define PLIM_X(id, name) name,
static const char *const event_names[] = {PLIM_EVENT_KINDS(PLIM_X)};
#undef PLIM_X

static void write_list(plim_text *text, const int32_t *id, int32_t n) {
  plim_text_add(text, "[");
  for (int32_t i = 0; i < n; i++) plim_text_format(text, i > 0 ? ", %d" : "%d", id[i]);
  plim_text_add(text, "]");
}

static void write_event(plim_text *text, const plim_event *event) {
  plim_text_format(text, "{\"%s\": ", event_names[event->kind]);
  plim_document_write_int(text, event->kind == PLIM_EVENT_CALL ? event->op : event->tensor, PLIM_NONE);
  if (event->kind == PLIM_EVENT_CALL) {
    plim_text_format(text, ", \"time_ns\": %lld, \"in\": ", (long long)event->time_ns);
    write_list(text, event->in, event->n_in);
    plim_text_add(text, ", \"out\": ");
    write_list(text, event->out, event->n_out);
  }
  plim_text_add(text, "}");
}

void plim_handles_write(plim_text *text, const plim_handles *handles) {
  plim_text_add(text, "{\n    \"tensors\": [");
  for (int32_t i = 0; i < handles->n_tensors; i++) {
    plim_text_format(text, "%s\n      {\"base\": %d, \"storage\": ", i > 0 ? "," : "", handles->tensor[i].base);
    plim_document_write_int(text, handles->tensor[i].storage, PLIM_NONE);
    plim_text_format(text, ", \"bytes\": %lld}", (long long)handles->tensor[i].bytes);
  }
  plim_text_add(text, "\n    ],\n    \"events\": [");
  for (int32_t i = 0; i < handles->n_events; i++) {
    plim_text_add(text, i > 0 ? ",\n      " : "\n      ");
    write_event(text, &handles->event[i]);
  }
  plim_text_add(text, "\n    ],\n    \"kept\": ");
  write_list(text, handles->kept, handles->n_kept);
  plim_text_add(text, "\n  }");
}

static void read_tensors(plim_json_at *at, plim_handles_builder *builder) {
  int32_t n = 0, id = 0;
  plim_json_at list = plim_json_list(at, "tensors", &n);
  for (int32_t i = 0; i < n && at->doc->status == PLIM_OK; i++) {
    plim_json_at row = plim_json_item(&list, i);
    int32_t base = (int32_t)plim_json_int(&row, "base", 0, i);
    int32_t storage = plim_json_index_or_none(&row, "storage");
    int64_t bytes = plim_json_amount(&row, "bytes");
    plim_json_end(&row);
    if (at->doc->status == PLIM_OK) plim_json_take(&row, plim_handles_add_tensor(builder, base, storage, bytes, &id));
  }
}

/* Append a list of ids to scratch [*capacity], which has *count elements. Returns the number of ids. */
static int32_t read_list(plim_json_at *at, const char *key, int32_t **scratch, int64_t *capacity, int64_t *count) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(at, key, &n);
  plim_context *ctx = at->doc->ctx;
  if (at->doc->status == PLIM_OK) {
    plim_json_take(at, plim_array_reserve(ctx, scratch, capacity, *count + n, sizeof **scratch));
  }
  for (int32_t i = 0; i < n && at->doc->status == PLIM_OK; i++) {
    (*scratch)[(*count)++] = (int32_t)plim_json_int_item(&list, i, 0, INT32_MAX);
  }
  return n;
}

static plim_event_kind kind_of(const plim_json_at *at) {
  for (int kind = 0; kind < PLIM_EVENT_KIND_COUNT; kind++) {
    if (plim_json_has(at, event_names[kind])) return (plim_event_kind)kind;
  }
  plim_json_fail(at, NULL, "is no event: none of constant, call, get, release");
  return PLIM_EVENT_GET;
}

typedef struct scratch {
  int32_t *id;
  int64_t capacity;
} scratch;

static void read_event(plim_json_at *row, plim_handles_builder *builder, scratch *s) {
  plim_event e = {.kind = kind_of(row), .op = PLIM_NONE};
  int64_t count = 0;
  if (e.kind == PLIM_EVENT_CALL) {
    e.op = plim_json_index_or_none(row, "call");
    e.time_ns = plim_json_amount(row, "time_ns");
    e.n_in = read_list(row, "in", &s->id, &s->capacity, &count);
    e.n_out = read_list(row, "out", &s->id, &s->capacity, &count);
    e.in = s->id;
    e.out = s->id ? s->id + e.n_in : NULL;
  } else {
    e.tensor = (int32_t)plim_json_int(row, event_names[e.kind], 0, INT32_MAX);
  }
  plim_json_end(row);
  if (row->doc->status == PLIM_OK) plim_json_take(row, plim_handles_add_event(builder, &e));
}

static void read_rows(plim_json_at *at, plim_handles_builder *builder, scratch *s) {
  int32_t n = 0;
  read_tensors(at, builder);
  plim_json_at events = plim_json_list(at, "events", &n);
  for (int32_t i = 0; i < n && at->doc->status == PLIM_OK; i++) {
    plim_json_at row = plim_json_item(&events, i);
    read_event(&row, builder, s);
  }
  plim_json_at kept = plim_json_list(at, "kept", &n);
  for (int32_t i = 0; i < n && at->doc->status == PLIM_OK; i++) {
    int32_t tensor = (int32_t)plim_json_int_item(&kept, i, 0, INT32_MAX);
    if (at->doc->status == PLIM_OK) plim_json_take(&kept, plim_handles_add_kept(builder, tensor));
  }
  plim_json_end(at);
}

void plim_handles_read(plim_json_at *root, plim_handles **out) {
  plim_handles_builder builder = {.ctx = root->doc->ctx};
  scratch s = {NULL, 0};
  plim_json_at at = plim_json_object(root, "handles");
  read_rows(&at, &builder, &s);
  if (root->doc->status == PLIM_OK) plim_json_take(root, plim_handles_build(&builder, out));
  plim_release(builder.ctx, s.id, s.capacity, sizeof *s.id);
  plim_handles_builder_release(&builder);
}
