/* Writes a plan in canonical form: a fixed order of fields, and one row on each line. */
#include "runtime/base/sha256.h"
#include "runtime/graph/plan_text.h"

static void write_waits(plim_text *t, const plim_command *command) {
  plim_text_format(t, ", \"queue\": %d, \"wait\": [", command->queue);
  for (int32_t i = 0; i < command->n_wait; i++) plim_text_format(t, i > 0 ? ", %d" : "%d", command->wait[i]);
  plim_text_add(t, "]}");
}

static void write_command(plim_text *t, const plim_command *command) {
  if (command->kind == PLIM_COMMAND_RUN) {
    plim_text_format(t, "{\"run\": %d, \"variant\": %d, \"pairs\": ", command->op, command->variant);
    plim_document_write_pairs(t, command->pair, command->n_pairs);
    if (command->space > 0) plim_text_format(t, ", \"space\": %d", command->space);
  } else {
    plim_text_format(t, "{\"copy\": %d, \"from\": %d, \"to\": %d, \"time_ns\": %lld", command->storage, command->from,
                     command->to, (long long)command->time_ns);
  }
  write_waits(t, command);
}

static void write_buffer(plim_text *t, const plim_plan_buffer *buffer) {
  plim_text_add(t, "{\"storage\": ");
  plim_document_write_int(t, buffer->storage, PLIM_WORKSPACE);
  plim_text_format(t, ", \"begin\": %d, \"end\": %d, \"space\": %d, \"offset\": ", buffer->begin, buffer->end,
                   buffer->space);
  plim_document_write_int(t, buffer->offset, PLIM_NONE);
  plim_text_format(t, ", \"bytes\": %lld}", (long long)buffer->bytes);
}

static void write_figure(plim_text *t, const char *key, int64_t x, int64_t none) {
  plim_text_format(t, "  \"%s\": ", key);
  plim_document_write_int(t, x, none);
  plim_text_add(t, ",\n");
}

/* Write the spaces beside the arena, a field that plans without such spaces do not have. */
static void write_pages(plim_text *t, const plim_plan *p) {
  if (p->n_page_spaces == 0) return;
  plim_text_add(t, "  \"pages\": [");
  for (int32_t k = 0; k < p->n_page_spaces; k++) {
    plim_text_add(t, k > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
    plim_text_quote(t, p->page[k].name);
    plim_text_add(t, ", \"budget_bytes\": ");
    plim_document_write_int(t, p->page[k].budget_bytes, PLIM_BYTES_UNLIMITED);
    plim_text_format(t, ", \"peak_bytes\": %lld, \"arena_bytes\": ", (long long)p->page[k].peak_bytes);
    plim_document_write_int(t, p->page[k].arena_bytes, PLIM_NONE);
    if (p->page[k].delay_permille > 0) plim_text_format(t, ", \"delay_permille\": %d", p->page[k].delay_permille);
    plim_text_add(t, p->page[k].computes ? ", \"computes\": true}" : "}");
  }
  plim_text_add(t, "\n  ],\n");
}

static void write_head(plim_text *t, const plim_plan *p) {
  plim_document_write_head(t, "plan");
  plim_text_format(t, "  \"graph\": \"%s\",\n  \"arithmetic\": {", p->fingerprint);
  plim_document_write_machine(t, &p->numerics.machine);
  plim_text_format(t, ", \"hash\": \"%s\"},\n  \"planner\": ", p->numerics.hash);
  plim_text_quote(t, p->planner);
  plim_text_format(t, ",\n  \"class\": \"%s\",\n  \"packed\": %s,\n", plim_plan_class_name(p->plan_class),
                   p->packed ? "true" : "false");
  write_figure(t, "budget_bytes", p->budget_bytes, PLIM_BYTES_UNLIMITED);
  write_figure(t, "peak_bytes", p->peak_bytes, -1);
  write_figure(t, "arena_bytes", p->arena_bytes, PLIM_NONE);
  write_figure(t, "time_ns", p->time_ns, -1);
  write_figure(t, "keep_all_ns", p->keep_all_ns, -1);
  write_figure(t, "bound_ns", p->bound_ns, -1);
  plim_text_format(t, "  \"proved\": %s,\n", p->proved ? "true" : "false");
}

void plim_plan_write(plim_text *t, const plim_plan *p) {
  write_head(t, p);
  write_pages(t, p);
  plim_text_add(t, "  \"variants\": [");
  for (int32_t i = 0; i < p->n_variants; i++) {
    plim_text_add(t, i > 0 ? ",\n    " : "\n    ");
    plim_document_write_variant(t, p->variant[i].op, &p->variant[i].variant);
  }
  plim_text_add(t, "\n  ],\n  \"steps\": [");
  for (int32_t j = 0; j < p->n_commands; j++) {
    plim_text_add(t, j > 0 ? ",\n    " : "\n    ");
    write_command(t, &p->command[j]);
  }
  plim_text_add(t, "\n  ],\n  \"lives\": [");
  for (int32_t i = 0; i < p->n_buffers; i++) {
    plim_text_add(t, i > 0 ? ",\n    " : "\n    ");
    write_buffer(t, &p->buffer[i]);
  }
  plim_text_add(t, "\n  ]\n}\n");
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
