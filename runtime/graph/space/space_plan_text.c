/* Writes and reads plans over spaces. Reading checks types and ranges; plim_space_plan_from_parts checks indices, and
 * plim_space_plan_check what the plan computes. */
#include "runtime/graph/space/space_plan_text.h"

#include <string.h>

#include "runtime/base/array.h"
#include "runtime/graph/document.h"
#include "runtime/graph/plan_text.h"

enum { VERSION = 2 };
static const double most_joule = 1e30;

/* ---- writing ---- */

static void write_name(plim_text *text, const char *key, const char *name) {
  plim_text_format(text, "\"%s\": ", key);
  plim_text_quote(text, name);
}

static void write_real(plim_text *text, const char *key, double x, int known) {
  plim_text_format(text, "\"%s\": ", key);
  if (known) {
    plim_text_real(text, x);
  } else {
    plim_text_add(text, "null");
  }
}

static void write_int(plim_text *text, const char *key, int64_t x, int64_t none) {
  plim_text_format(text, "\"%s\": ", key);
  plim_document_write_int(text, x, none);
}

static void begin_row(plim_text *text, int32_t i) {
  plim_text_add(text, i > 0 ? ",\n    {" : "\n    {");
}

static void write_command(plim_text *text, const plim_space_plan *plan, const plim_space_command *command) {
  if (command->kind == PLIM_SPACE_COMMAND_RUN) {
    plim_text_format(text, "\"run\": %d, \"device\": %d, ", command->op, command->device);
  } else {
    plim_text_add(text, "\"copy\": ");
    plim_document_write_ids(text, command->storage, command->n_storages);
    plim_text_format(text, ", \"from\": %d, \"to\": %d, ", command->from, command->to);
  }
  plim_text_format(text, "\"queue\": %d, \"wait\": ", command->queue);
  plim_document_write_ids(text, command->wait, command->n_wait);
  plim_text_format(text, ", \"time_ns\": %lld, ", (long long)command->time_ns);
  write_real(text, "joule", command->joule, plan->has_energy);
  plim_text_format(text, ", \"begin_ns\": %lld, \"end_ns\": %lld}", (long long)command->begin_ns,
                   (long long)command->end_ns);
}

static void write_places(plim_text *text, const plim_space_plan *plan) {
  plim_text_add(text, "  \"devices\": [");
  for (int32_t i = 0; i < plan->n_devices; i++) {
    begin_row(text, i);
    write_name(text, "name", plan->device[i].name);
    plim_text_format(text, ", \"space\": %d, ", plan->device[i].space);
    write_real(text, "idle_watt", plan->device[i].idle_watt, 1);
    plim_text_add(text, "}");
  }
  plim_text_add(text, "\n  ],\n  \"spaces\": [");
  for (int32_t i = 0; i < plan->n_spaces; i++) {
    begin_row(text, i);
    write_name(text, "name", plan->space[i].name);
    plim_text_add(text, ", ");
    write_int(text, "budget_bytes", plan->space[i].budget_bytes, PLIM_BYTES_UNLIMITED);
    plim_text_format(text, ", \"peak_bytes\": %lld}", (long long)plan->space[i].peak_bytes);
  }
  plim_text_add(text, "\n  ],\n  \"queues\": [");
  for (int32_t i = 0; i < plan->n_queues; i++) {
    begin_row(text, i);
    write_name(text, "name", plan->queue[i].name);
    plim_text_add(text, ", ");
    write_int(text, "device", plan->queue[i].device, PLIM_NONE);
    plim_text_add(text, "}");
  }
}

void plim_space_plan_write(plim_text *text, const plim_space_plan *plan) {
  plim_document_write_version(text, "plan", VERSION);
  plim_text_format(text, "  \"graph\": \"%s\",\n  ", plan->fingerprint);
  write_name(text, "planner", plan->planner);
  plim_text_add(text, ",\n  ");
  write_name(text, "class", plim_space_plan_class_name(plan->plan_class));
  plim_text_format(text, ",\n  \"objective\": \"%s\",\n  ", plim_objective_name(plan->objective));
  write_int(text, "deadline_ns", plan->deadline_ns, PLIM_TIME_UNLIMITED);
  plim_text_format(text, ",\n  \"makespan_ns\": %lld,\n  \"serial_ns\": %lld,\n  ", (long long)plan->makespan_ns,
                   (long long)plan->serial_ns);
  write_real(text, "energy_joule", plan->energy_joule, plan->has_energy);
  plim_text_add(text, ",\n  ");
  write_real(text, "keep_all", plan->keep_all, 1);
  plim_text_add(text, ",\n  ");
  write_real(text, "bound", plan->bound, 1);
  plim_text_format(text, ",\n  \"proved\": %s,\n", plan->proved ? "true" : "false");
  write_places(text, plan);
  plim_text_add(text, "\n  ],\n  \"commands\": [");
  for (int32_t i = 0; i < plan->n_commands; i++) {
    begin_row(text, i);
    write_command(text, plan, &plan->command[i]);
  }
  plim_text_add(text, "\n  ],\n  \"buffers\": [");
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_space_buffer *b = &plan->buffer[i];
    begin_row(text, i);
    write_int(text, "storage", b->storage, PLIM_WORKSPACE);
    plim_text_format(text, ", \"space\": %d, \"begin\": %d, \"end\": %d, \"offset\": null, \"bytes\": %lld}", b->space,
                     b->begin, b->end, (long long)b->bytes);
  }
  plim_text_add(text, "\n  ]\n}\n");
}

plim_status plim_space_plan_save(const plim_space_plan *plan, const char *path) {
  plim_text text = {plan->ctx, NULL, 0, 0, PLIM_OK};
  plim_space_plan_write(&text, plan);
  return plim_document_save(&text, path);
}

/* ---- reading ---- */

typedef struct plan_lists {
  plim_json *doc;
  plim_space_plan plan;
  plim_space_device *device;
  plim_space_memory *space;
  plim_space_queue *queue;
  plim_space_command *command;
  plim_space_buffer *buffer;
  int32_t *ids; /* storages and waits of every command; it moves while it grows */
  int64_t n_ids, cap_ids;
} plan_lists;

static void free_lists(plim_context *ctx, plan_lists *lists) {
  plim_release(ctx, lists->device, lists->plan.n_devices, sizeof *lists->device);
  plim_release(ctx, lists->space, lists->plan.n_spaces, sizeof *lists->space);
  plim_release(ctx, lists->queue, lists->plan.n_queues, sizeof *lists->queue);
  plim_release(ctx, lists->command, lists->plan.n_commands, sizeof *lists->command);
  plim_release(ctx, lists->buffer, lists->plan.n_buffers, sizeof *lists->buffer);
  plim_release(ctx, lists->ids, lists->cap_ids, sizeof *lists->ids);
}

static void read_devices(plim_json_at *root, plan_lists *lists) {
  plim_json_at list =
      plim_document_list(root, "devices", &lists->plan.n_devices, &lists->device, sizeof *lists->device);
  for (int32_t i = 0; i < lists->plan.n_devices && lists->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_json_copy(&at, "name", lists->device[i].name, sizeof lists->device[i].name);
    lists->device[i].space = plim_json_index(&at, "space");
    lists->device[i].idle_watt = plim_json_real(&at, "idle_watt", 0, most_joule);
    plim_json_end(&at);
  }
}

static void read_spaces(plim_json_at *root, plan_lists *lists) {
  plim_json_at list = plim_document_list(root, "spaces", &lists->plan.n_spaces, &lists->space, sizeof *lists->space);
  for (int32_t i = 0; i < lists->plan.n_spaces && lists->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_json_copy(&at, "name", lists->space[i].name, sizeof lists->space[i].name);
    lists->space[i].budget_bytes = plim_json_limit(&at, "budget_bytes");
    lists->space[i].peak_bytes = plim_json_amount(&at, "peak_bytes");
    plim_json_end(&at);
  }
}

static void read_queues(plim_json_at *root, plan_lists *lists) {
  plim_json_at list = plim_document_list(root, "queues", &lists->plan.n_queues, &lists->queue, sizeof *lists->queue);
  for (int32_t i = 0; i < lists->plan.n_queues && lists->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_json_copy(&at, "name", lists->queue[i].name, sizeof lists->queue[i].name);
    lists->queue[i].device = plim_json_index_or_none(&at, "device");
    plim_json_end(&at);
  }
}

static int32_t read_ids(plim_json_at *at, const char *key, plan_lists *lists) {
  int32_t n = 0;
  plim_json_at list = plim_json_list(at, key, &n);
  if (lists->doc->status != PLIM_OK) return 0;
  plim_json_take(
      &list, plim_array_reserve(lists->doc->ctx, &lists->ids, &lists->cap_ids, lists->n_ids + n, sizeof *lists->ids));
  for (int32_t i = 0; i < n && lists->doc->status == PLIM_OK; i++) {
    lists->ids[lists->n_ids++] = (int32_t)plim_json_int_item(&list, i, 0, INT32_MAX);
  }
  return n;
}

static void read_command(plim_json_at *at, plan_lists *lists, plim_space_command *command) {
  if (plim_json_has(at, "collective")) plim_json_fail(at, "collective", "is reserved: this version has none");
  command->kind = plim_json_has(at, "copy") ? PLIM_SPACE_COMMAND_COPY : PLIM_SPACE_COMMAND_RUN;
  if (command->kind == PLIM_SPACE_COMMAND_COPY) {
    command->n_storages = read_ids(at, "copy", lists);
    command->from = plim_json_index(at, "from");
    command->to = plim_json_index(at, "to");
  } else {
    command->op = plim_json_index(at, "run");
    command->device = plim_json_index(at, "device");
  }
  command->queue = plim_json_index(at, "queue");
  command->n_wait = read_ids(at, "wait", lists);
  command->time_ns = plim_json_amount(at, "time_ns");
  command->joule = plim_json_real_or_null(at, "joule", 0, most_joule, -1);
  command->begin_ns = plim_json_amount(at, "begin_ns");
  command->end_ns = plim_json_amount(at, "end_ns");
  if (lists->doc->status == PLIM_OK && lists->plan.has_energy != (command->joule >= 0)) {
    plim_json_fail(at, "joule", "is %s in a plan %s energy", command->joule >= 0 ? "given" : "null",
                   lists->plan.has_energy ? "with" : "without");
  }
  plim_json_end(at);
}

static void read_commands(plim_json_at *root, plan_lists *lists) {
  plim_json_at list =
      plim_document_list(root, "commands", &lists->plan.n_commands, &lists->command, sizeof *lists->command);
  for (int32_t i = 0; i < lists->plan.n_commands && lists->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    read_command(&at, lists, &lists->command[i]);
  }
  int64_t next = 0;
  for (int32_t i = 0; i < lists->plan.n_commands && lists->ids && lists->doc->status == PLIM_OK; i++) {
    lists->command[i].storage = lists->ids + next;
    lists->command[i].wait = lists->ids + next + lists->command[i].n_storages;
    next += (int64_t)lists->command[i].n_storages + lists->command[i].n_wait;
  }
}

static int is_sorted(const plim_space_buffer *a, const plim_space_buffer *b) {
  if (a->begin != b->begin) return a->begin < b->begin;
  return a->storage != b->storage ? (uint32_t)a->storage < (uint32_t)b->storage : a->space < b->space;
}

static void read_buffers(plim_json_at *root, plan_lists *lists) {
  plim_json_at list =
      plim_document_list(root, "buffers", &lists->plan.n_buffers, &lists->buffer, sizeof *lists->buffer);
  for (int32_t i = 0; i < lists->plan.n_buffers && lists->doc->status == PLIM_OK; i++) {
    plim_json_at at = plim_json_item(&list, i);
    plim_space_buffer *b = &lists->buffer[i];
    b->storage = (int32_t)plim_json_int_or_null(&at, "storage", 0, INT32_MAX, PLIM_WORKSPACE);
    b->space = plim_json_index(&at, "space");
    b->begin = plim_json_index(&at, "begin");
    b->end = plim_json_index(&at, "end");
    if (plim_json_int_or_null(&at, "offset", 0, INT64_MAX, PLIM_NONE) >= 0) {
      plim_json_fail(&at, "offset", "is given: buffers of this version have no addresses");
    }
    b->bytes = plim_json_amount(&at, "bytes");
    if (i > 0 && !is_sorted(b - 1, b)) {
      plim_json_fail(&at, NULL, "is not sorted by begin, storage, space, or is there twice");
    }
    plim_json_end(&at);
  }
}

static void read_head(plim_json_at *root, plim_space_plan *plan) {
  if (plim_document_read_version(root, "plan", VERSION) != VERSION) {
    plim_json_fail(root, "version", "is that of a plan without spaces");
  }
  plim_document_read_hash(root, "graph", plan->fingerprint);
  plim_json_copy(root, "planner", plan->planner, sizeof plan->planner);
  plan->plan_class = (plim_space_plan_class)plim_json_name(root, "class", plim_space_plan_class_find);
  plan->objective = (plim_objective)plim_json_name(root, "objective", plim_objective_find);
  plan->deadline_ns = plim_json_limit(root, "deadline_ns");
  plan->makespan_ns = plim_json_amount(root, "makespan_ns");
  plan->serial_ns = plim_json_amount(root, "serial_ns");
  plan->energy_joule = plim_json_real_or_null(root, "energy_joule", 0, most_joule, -1);
  plan->has_energy = plan->energy_joule >= 0;
  if (!plan->has_energy) plan->energy_joule = 0;
  if (plan->objective == PLIM_OBJECTIVE_ENERGY && !plan->has_energy) plim_json_fail(root, "energy_joule", "is null");
  plan->keep_all = plim_json_real(root, "keep_all", 0, most_joule);
  plan->bound = plim_json_real(root, "bound", 0, most_joule);
  plan->proved = plim_json_bool(root, "proved");
}

static void read_plan(plim_json *doc, plim_space_plan **out) {
  plan_lists lists = {.doc = doc};
  plim_json_at root = plim_json_root(doc);
  read_head(&root, &lists.plan);
  read_devices(&root, &lists);
  read_spaces(&root, &lists);
  read_queues(&root, &lists);
  read_commands(&root, &lists);
  read_buffers(&root, &lists);
  plim_json_end(&root);
  lists.plan.device = lists.device;
  lists.plan.space = lists.space;
  lists.plan.queue = lists.queue;
  lists.plan.command = lists.command;
  lists.plan.buffer = lists.buffer;
  if (doc->status == PLIM_OK) plim_json_take(&root, plim_space_plan_from_parts(doc->ctx, &lists.plan, out));
  free_lists(doc->ctx, &lists);
}

plim_status plim_space_plan_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                  plim_space_plan **out) {
  plim_json doc;
  if (plim_document_open(ctx, file, text, bytes, &doc) == PLIM_OK) read_plan(&doc, out);
  plim_json_close(&doc);
  return doc.status;
}

/* ---- either version ---- */

typedef struct either {
  plim_plan **plan;
  plim_space_plan **space_plan;
} either;

/* Is it a plan of version 2 or of a newer version? */
static int is_over_spaces(const plim_json *doc) {
  const char *kind = json_string_value(json_object_get(doc->root, "plimsoll"));
  return kind && strcmp(kind, "plan") == 0 && json_integer_value(json_object_get(doc->root, "version")) >= VERSION;
}

/* The reader of version 1 reports all mistakes of a document that is no plan over spaces. */
static plim_status parse_either(plim_context *ctx, const char *file, const char *text, int64_t bytes, void *out) {
  const either *e = out;
  plim_json doc;
  const plim_status parsed = plim_json_parse(ctx, file, 0, text, bytes, &doc);
  const int over_spaces = parsed == PLIM_OK && is_over_spaces(&doc);
  if (over_spaces) read_plan(&doc, e->space_plan);
  plim_json_close(&doc);
  if (over_spaces || parsed == PLIM_ENOMEM) return doc.status;
  return plim_plan_parse(ctx, file, text, bytes, e->plan);
}

plim_status plim_space_plan_load_any(plim_context *ctx, const char *path, plim_plan **plan,
                                     plim_space_plan **space_plan) {
  either e = {plan, space_plan};
  return plim_document_load(ctx, path, parse_either, &e);
}
