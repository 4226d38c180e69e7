/* Writes a plan in canonical form: a fixed order of fields, and one row on each line. */
#include "runtime/base/sha256.h"
#include "runtime/graph/plan_text.h"

static void write_waits(plim_text *text, const plim_command *command) {
  plim_text_format(text, ", \"queue\": %d, \"wait\": [", command->queue);
  for (int32_t i = 0; i < command->n_wait; i++) plim_text_format(text, i > 0 ? ", %d" : "%d", command->wait[i]);
  plim_text_add(text, "]}");
}

static void write_command(plim_text *text, const plim_command *command) {
  if (command->kind == PLIM_COMMAND_RUN) {
    plim_text_format(text, "{\"run\": %d, \"variant\": %d, \"pairs\": ", command->op, command->variant);
    plim_document_write_pairs(text, command->pair, command->n_pairs);
    if (command->space > 0) plim_text_format(text, ", \"space\": %d", command->space);
  } else {
    plim_text_format(text, "{\"copy\": %d, \"from\": %d, \"to\": %d, \"time_ns\": %lld", command->storage,
                     command->from, command->to, (long long)command->time_ns);
  }
  write_waits(text, command);
}

static void write_buffer(plim_text *text, const plim_plan_buffer *buffer) {
  plim_text_add(text, "{\"storage\": ");
  plim_document_write_int(text, buffer->storage, PLIM_WORKSPACE);
  plim_text_format(text, ", \"begin\": %d, \"end\": %d, \"space\": %d, \"offset\": ", buffer->begin, buffer->end,
                   buffer->space);
  plim_document_write_int(text, buffer->offset, PLIM_NONE);
  plim_text_format(text, ", \"bytes\": %lld}", (long long)buffer->bytes);
}

static void write_figure(plim_text *text, const char *key, int64_t x, int64_t none) {
  plim_text_format(text, "  \"%s\": ", key);
  plim_document_write_int(text, x, none);
  plim_text_add(text, ",\n");
}

/* Write the spaces beside the arena, a field that plans without such spaces do not have. */
static void write_pages(plim_text *text, const plim_plan *plan) {
  if (plan->n_page_spaces == 0) return;
  plim_text_add(text, "  \"pages\": [");
  for (int32_t k = 0; k < plan->n_page_spaces; k++) {
    plim_text_add(text, k > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
    plim_text_quote(text, plan->page[k].name);
    plim_text_add(text, ", \"budget_bytes\": ");
    plim_document_write_int(text, plan->page[k].budget_bytes, PLIM_BYTES_UNLIMITED);
    plim_text_format(text, ", \"peak_bytes\": %lld, \"arena_bytes\": ", (long long)plan->page[k].peak_bytes);
    plim_document_write_int(text, plan->page[k].arena_bytes, PLIM_NONE);
    if (plan->page[k].delay_permille > 0)
      plim_text_format(text, ", \"delay_permille\": %d", plan->page[k].delay_permille);
    plim_text_add(text, plan->page[k].computes ? ", \"computes\": true}" : "}");
  }
  plim_text_add(text, "\n  ],\n");
}

static void write_head(plim_text *text, const plim_plan *plan) {
  plim_document_write_head(text, "plan");
  plim_text_format(text, "  \"graph\": \"%s\",\n  \"arithmetic\": {", plan->fingerprint);
  plim_document_write_machine(text, &plan->numerics.machine);
  plim_text_format(text, ", \"hash\": \"%s\"},\n  \"planner\": ", plan->numerics.hash);
  plim_text_quote(text, plan->planner);
  plim_text_format(text, ",\n  \"class\": \"%s\",\n  \"packed\": %s,\n", plim_plan_class_name(plan->plan_class),
                   plan->packed ? "true" : "false");
  write_figure(text, "budget_bytes", plan->budget_bytes, PLIM_BYTES_UNLIMITED);
  write_figure(text, "peak_bytes", plan->peak_bytes, -1);
  write_figure(text, "arena_bytes", plan->arena_bytes, PLIM_NONE);
  write_figure(text, "time_ns", plan->time_ns, -1);
  write_figure(text, "keep_all_ns", plan->keep_all_ns, -1);
  write_figure(text, "bound_ns", plan->bound_ns, -1);
  plim_text_format(text, "  \"proved\": %s,\n", plan->proved ? "true" : "false");
}

void plim_plan_write(plim_text *text, const plim_plan *plan) {
  write_head(text, plan);
  write_pages(text, plan);
  plim_text_add(text, "  \"variants\": [");
  for (int32_t i = 0; i < plan->n_variants; i++) {
    plim_text_add(text, i > 0 ? ",\n    " : "\n    ");
    plim_document_write_variant(text, plan->variant[i].op, &plan->variant[i].variant);
  }
  plim_text_add(text, "\n  ],\n  \"steps\": [");
  for (int32_t j = 0; j < plan->n_commands; j++) {
    plim_text_add(text, j > 0 ? ",\n    " : "\n    ");
    write_command(text, &plan->command[j]);
  }
  plim_text_add(text, "\n  ],\n  \"lives\": [");
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    plim_text_add(text, i > 0 ? ",\n    " : "\n    ");
    write_buffer(text, &plan->buffer[i]);
  }
  plim_text_add(text, "\n  ]\n}\n");
}

plim_status plim_plan_fingerprint(const plim_plan *plan, char *hex) {
  plim_text text = {plan->ctx, NULL, 0, 0, PLIM_OK};
  plim_plan_write(&text, plan);
  plim_status status = text.status;
  if (status == PLIM_OK) plim_sha256_hex(text.chars, (size_t)text.length, hex);
  plim_text_free(&text);
  return status;
}

plim_status plim_plan_save(const plim_plan *plan, const char *path) {
  plim_text text = {plan->ctx, NULL, 0, 0, PLIM_OK};
  plim_plan_write(&text, plan);
  return plim_document_save(&text, path);
}
