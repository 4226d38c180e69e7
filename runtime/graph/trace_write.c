/* Writes a trace. All lines of a training step are composed in one text, which is allocated at the begin. */
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/graph/document.h"
#include "runtime/graph/trace_text.h"

/* ---- lines ---- */

static void write_text(plim_text *text, const char *key, const char *value) {
  plim_text_format(text, ", \"%s\": ", key);
  plim_text_quote(text, value);
}

static void write_int(plim_text *text, const char *key, int64_t x, int64_t none) {
  plim_text_format(text, ", \"%s\": ", key);
  plim_document_write_int(text, x, none);
}

void plim_trace_write_head(plim_text *text, const plim_trace *head) {
  plim_text_format(text, "{\"plimsoll\": \"trace\", \"version\": %d, \"graph\": \"%s\"",
                   head->has_queues ? PLIM_TRACE_NEWEST : PLIM_DOCUMENT_VERSION, head->fingerprint);
  write_text(text, "name", head->name);
  write_text(text, "plan", head->plan);
  plim_text_add(text, ", \"arithmetic\": {");
  plim_document_write_machine(text, &head->numerics.machine);
  plim_text_format(text, ", \"hash\": \"%s\"}", head->numerics.hash);
  write_text(text, "planner", head->planner);
  write_int(text, "budget_bytes", head->budget_bytes, PLIM_BYTES_UNLIMITED);
  write_int(text, "peak_bytes", head->peak_bytes, -1);
  write_int(text, "arena_bytes", head->arena_bytes, PLIM_NONE);
  plim_text_format(text, ", \"steps\": %d}\n", head->n_commands);
}

void plim_trace_write_row(plim_text *text, const plim_trace *head, const plim_trace_row *row) {
  plim_text_format(text, "{\"training_step\": %lld, \"step\": %d, \"op\": ", (long long)row->training_step,
                   row->command);
  plim_document_write_int(text, row->op, PLIM_NONE);
  write_text(text, "name", row->name);
  write_text(text, "variant", row->variant);
  if (head->has_queues) {
    plim_text_format(text, ", \"queue\": %d, \"waited_ns\": %lld", (int)row->queue, (long long)row->waited_ns);
  }
  plim_text_format(
      text, ", \"start_ns\": %lld, \"time_ns\": %lld, \"planned_ns\": %lld, \"live_bytes\": %lld, \"out\": [",
      (long long)row->start_ns, (long long)row->time_ns, (long long)row->planned_ns, (long long)row->live_bytes);
  for (int32_t i = 0; i < row->n_out; i++) {
    if (i > 0) plim_text_add(text, ", ");
    plim_document_write_int(text, row->out[i], PLIM_NONE);
  }
  plim_text_add(text, "]}\n");
}

void plim_trace_write_end(plim_text *text, int64_t n_training_steps) {
  plim_text_format(text, "{\"end\": true, \"training_steps\": %lld}\n", (long long)n_training_steps);
}

/* ---- the writer ---- */

struct plim_trace_writer {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *plan;
  plim_file *file;
  plim_text text;      /* the lines of one training step */
  plim_trace head;     /* only has_queues is set */
  int64_t *live_bytes; /* [n_commands + 1] */
  int64_t *home;       /* [n_storages] arena offset of the storage's present or last buffer */
  int64_t *out;        /* [n_storages] of a row's outputs */
  int64_t n_training_steps, last_training_step;
  plim_status status;
};

void plim_trace_abandon(plim_trace_writer *writer) {
  if (!writer) return;
  plim_file_abandon(writer->file);
  plim_text_free(&writer->text);
  plim_release(writer->ctx, writer->live_bytes, (int64_t)writer->plan->n_commands + 1, sizeof *writer->live_bytes);
  plim_release(writer->ctx, writer->home, writer->graph->n_storages, sizeof *writer->home);
  plim_release(writer->ctx, writer->out, writer->graph->n_storages, sizeof *writer->out);
  plim_release(writer->ctx, writer, 1, sizeof *writer);
}

static void sum_live_bytes(const plim_plan *plan, int64_t *live) {
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    live[plan->buffer[i].begin] += plan->buffer[i].bytes;
    live[plan->buffer[i].end] -= plan->buffer[i].bytes;
  }
  for (int32_t j = 1; j <= plan->n_commands; j++) live[j] += live[j - 1];
}

static void add_head(plim_trace_writer *writer) {
  const plim_plan *p = writer->plan;
  plim_trace head = {.name = writer->graph->name,
                     .numerics = p->numerics,
                     .budget_bytes = p->budget_bytes,
                     .peak_bytes = p->peak_bytes,
                     .arena_bytes = p->arena_bytes,
                     .n_commands = p->n_commands,
                     .has_queues = p->n_page_spaces > 0};
  memcpy(head.fingerprint, p->fingerprint, sizeof head.fingerprint);
  memcpy(head.planner, p->planner, sizeof head.planner);
  writer->status = plim_plan_fingerprint(p, head.plan);
  if (writer->status == PLIM_OK) plim_trace_write_head(&writer->text, &head);
}

/* Make room for the longest lines that a training step can have, so that no step allocates. */
static plim_status reserve_lines(plim_trace_writer *writer) {
  enum { LINE_BYTES = 400, OFFSET_BYTES = 22 }; /* keys and numbers of a row; the offset of an output */
  int64_t bytes = writer->text.length + LINE_BYTES;
  for (int32_t j = 0; j < writer->plan->n_commands; j++) {
    const plim_command *command = &writer->plan->command[j];
    bytes += LINE_BYTES;
    if (command->kind != PLIM_COMMAND_RUN) continue;
    bytes += OFFSET_BYTES * (int64_t)writer->graph->op[command->op].n_writes;
    bytes += 2 * (int64_t)strlen(writer->graph->op[command->op].name); /* a quote in a name takes two characters */
    bytes += 2 * (int64_t)strlen(writer->plan->variant[command->variant].variant.name);
  }
  return plim_array_reserve(writer->ctx, &writer->text.chars, &writer->text.capacity, bytes, 1);
}

static plim_status check_fit(const plim_graph *graph, const plim_plan *plan) {
  if (strcmp(graph->fingerprint, plan->fingerprint) != 0) {
    return plim_fail(graph->ctx, PLIM_EDATA, "the plan is for graph %.12s, this is graph %.12s", plan->fingerprint,
                     graph->fingerprint);
  }
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].kind == PLIM_COMMAND_RUN && plan->command[j].op >= graph->n_ops) {
      return plim_fail(graph->ctx, PLIM_EDATA, "command %d: op %d of %d", j, plan->command[j].op, graph->n_ops);
    }
  }
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    if (plan->buffer[i].storage >= graph->n_storages) {
      return plim_fail(graph->ctx, PLIM_EDATA, "buffer %d: storage %d of %d", i, plan->buffer[i].storage,
                       graph->n_storages);
    }
  }
  return PLIM_OK;
}

plim_status plim_trace_begin(const plim_graph *graph, const plim_plan *plan, const char *path,
                             plim_trace_writer **out) {
  plim_context *ctx = graph->ctx;
  plim_trace_writer *writer = NULL;
  plim_status status;
  PLIM_TRY(check_fit(graph, plan));
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *writer, &writer));
  *writer = (plim_trace_writer){
      .ctx = ctx, .graph = graph, .plan = plan, .text = {.ctx = ctx}, .last_training_step = PLIM_NONE};
  writer->head.has_queues = plan->n_page_spaces > 0;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)plan->n_commands + 1, sizeof *writer->live_bytes, &writer->live_bytes));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *writer->home, &writer->home));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *writer->out, &writer->out));
  sum_live_bytes(plan, writer->live_bytes);
  add_head(writer);
  PLIM_TRY_OR_DONE(writer->status != PLIM_OK ? writer->status : writer->text.status);
  PLIM_TRY_OR_DONE(reserve_lines(writer));
  PLIM_TRY_OR_DONE(plim_file_begin(ctx, path, &writer->file));
  *out = writer;
  writer = NULL;
done:
  plim_trace_abandon(writer);
  return status;
}

/* Add the line of command row.command. Only its training step, command and times are set. */
static void add_line(plim_trace_writer *writer, plim_trace_row row) {
  const plim_command *command = &writer->plan->command[row.command];
  row.op = PLIM_NONE;
  row.name = row.variant = "";
  row.queue = command->queue;
  row.planned_ns = command->time_ns;
  row.live_bytes = writer->live_bytes[row.command];
  row.out = writer->out;
  if (command->kind == PLIM_COMMAND_RUN) {
    const plim_op *op = &writer->graph->op[command->op];
    const plim_variant *variant = &writer->plan->variant[command->variant].variant;
    row.op = command->op;
    row.name = op->name;
    row.variant = variant->name;
    row.planned_ns = variant->time_ns;
    row.n_out = op->n_writes;
    for (int32_t i = 0; i < op->n_writes; i++) writer->out[i] = writer->home[op->writes[i]];
  }
  plim_trace_write_row(&writer->text, &writer->head, &row);
}

/* Add the lines of a training step. begin_ns NULL: each command begins when the one before it ends. */
static plim_status add_step(plim_trace_writer *writer, int64_t training_step, const int64_t *begin_ns,
                            const int64_t *time_ns, const int64_t *waited_ns) {
  plim_trace_row row = {.training_step = training_step};
  int32_t buffer = 0;
  if (writer->status != PLIM_OK) return writer->status;
  if (writer->head.has_queues != (begin_ns != NULL)) {
    return writer->status = plim_fail(writer->ctx, PLIM_EUSAGE, "a trace of a plan with%s copies is asked for %s",
                                      writer->head.has_queues ? "" : "out", begin_ns ? "begins" : "times alone");
  }
  if (training_step <= writer->last_training_step) {
    return writer->status = plim_fail(writer->ctx, PLIM_EUSAGE, "training step %lld after step %lld in a trace",
                                      (long long)training_step, (long long)writer->last_training_step);
  }
  for (int32_t j = 0; j < writer->plan->n_commands; j++) {
    for (; buffer < writer->plan->n_buffers && writer->plan->buffer[buffer].begin == j; buffer++) {
      const plim_plan_buffer *l = &writer->plan->buffer[buffer];
      if (l->storage >= 0 && l->space == 0) writer->home[l->storage] = l->offset;
    }
    row.command = j;
    row.time_ns = time_ns[j];
    if (begin_ns) row.start_ns = begin_ns[j];
    if (waited_ns) row.waited_ns = waited_ns[j];
    add_line(writer, row);
    row.start_ns += time_ns[j];
  }
  writer->status = writer->text.status;
  if (writer->status == PLIM_OK)
    writer->status = plim_file_write(writer->file, writer->text.chars, writer->text.length);
  writer->text.length = 0;
  writer->last_training_step = training_step;
  writer->n_training_steps++;
  return writer->status;
}

plim_status plim_trace_add(plim_trace_writer *writer, int64_t training_step, const int64_t *time_ns) {
  return add_step(writer, training_step, NULL, time_ns, NULL);
}

plim_status plim_trace_add_queues(plim_trace_writer *writer, int64_t training_step, const int64_t *begin_ns,
                                  const int64_t *time_ns, const int64_t *waited_ns) {
  return add_step(writer, training_step, begin_ns, time_ns, waited_ns);
}

plim_status plim_trace_end(plim_trace_writer *writer) {
  plim_status status = writer->status;
  if (status == PLIM_OK) {
    plim_trace_write_end(&writer->text, writer->n_training_steps);
    status = writer->text.status;
  }
  if (status == PLIM_OK) {
    (void)plim_file_write(writer->file, writer->text.chars, writer->text.length); /* commit returns the failure */
    status = plim_file_commit(writer->file);
    writer->file = NULL;
  }
  plim_trace_abandon(writer);
  return status;
}
