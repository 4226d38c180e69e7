/* plim_plan_check: runs the parts in their order, and holds the functions that they share. Written from "What a plan
 * means" in docs/formats.md. It calls no planner and no function that makes plans. */
#include "runtime/graph/check/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/graph/check/check_internal.h"

plim_status plim_check_fault(const plim_checker *check, int32_t j, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const plim_command *command = &check->plan->command[j];
  if (command->kind == PLIM_COMMAND_COPY) {
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d (copy of \"%s\" from space %d to space %d): %s", j,
                     plim_check_storage_name(check, command->storage), command->from, command->to, text);
  }
  return plim_fail(check->ctx, PLIM_EPLAN, "command %d (op \"%s\"): %s", j, check->graph->op[command->op].name, text);
}

const char *plim_check_storage_name(const plim_checker *check, int32_t storage) {
  return plim_graph_storage_name(check->graph, storage, storage < 0 ? "workspace" : "unnamed");
}

int64_t plim_check_buffer_bytes(const plim_checker *check, int32_t storage, int32_t command) {
  const plim_plan *plan = check->plan;
  int64_t bytes = storage >= 0 ? check->graph->storage[storage].bytes
                               : plan->variant[plan->command[command].variant].variant.workspace_bytes;
  return plan->packed ? plim_align_up(bytes, PLIM_ALIGN) : bytes;
}

/* Does the buffer hold its storage before the first command? It does when it begins at command 0, no op writes it, and
 * that command does not copy to it. */
static int is_given(const plim_checker *check, const plim_plan_buffer *buffer) {
  const plim_command *command = &check->plan->command[0];
  if (buffer->storage < 0 || buffer->begin > 0 || check->graph->storage[buffer->storage].producer >= 0) return 0;
  return command->kind != PLIM_COMMAND_COPY || command->storage != buffer->storage || command->to != buffer->space;
}

plim_status plim_check_homes(const plim_checker *check, int32_t *home) {
  for (int32_t s = 0; s < check->graph->n_storages; s++) home[s] = PLIM_NONE;
  for (int32_t i = 0; i < check->plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &check->plan->buffer[i];
    if (!is_given(check, buffer)) continue;
    if (home[buffer->storage] >= 0 && home[buffer->storage] != buffer->space) {
      return plim_fail(check->ctx, PLIM_EPLAN, "\"%s\" is in spaces %d and %d before the first command",
                       plim_check_storage_name(check, buffer->storage), home[buffer->storage], buffer->space);
    }
    home[buffer->storage] = buffer->space;
  }
  return PLIM_OK;
}

plim_status plim_plan_check_form(plim_context *ctx, const plim_graph *graph, const plim_plan *plan) {
  const plim_checker check = {ctx, graph, plan};
  if (strncmp(plan->fingerprint, graph->fingerprint, PLIM_FINGERPRINT_BYTES) != 0) {
    return plim_fail(ctx, PLIM_EDATA, "the plan is for graph %.12s, this is graph \"%s\" %.12s", plan->fingerprint,
                     graph->name, graph->fingerprint);
  }
  return plim_check_form(&check);
}

plim_status plim_plan_check(plim_context *ctx, const plim_graph *graph, const plim_plan *plan) {
  const plim_checker check = {ctx, graph, plan};
  PLIM_TRY(plim_plan_check_form(ctx, graph, plan));
  PLIM_TRY(plim_check_buffers(&check));
  PLIM_TRY(plim_check_order(&check));
  PLIM_TRY(plim_check_overlap(&check));
  PLIM_TRY(plim_check_queues(&check));
  return plim_check_figures(&check);
}
