/* Counts the bytes that a step uses, and compares them with the plan. A buffer counts from the first command that binds
 * it to the end of the last command that binds it. Sizes come from the graph's storages and from the workspaces that
 * the device asked for. Addresses are those that kernels were given. Persistent storages and inputs hold bytes before
 * the first kernel: their addresses follow from the plan's offsets. The plan's bytes, ends, peak and arena size are
 * read only for the comparison at the end of the step.
 *
 * An input that the command's in-place pair overwrites is not counted at that command: its bytes are its output's. */
#include "runtime/exec/memory_meter.h"

static void count(struct plim_meter_space *space, plim_bound_buffer *buffer, const char *address) {
  buffer->held = buffer->bytes;
  space->live_bytes += buffer->bytes;
  if (!space->base) return;
  int64_t top = address - space->base + buffer->bytes;
  if (top > space->packed_bytes) space->packed_bytes = top;
}

void plim_memory_meter_begin(plim_memory_meter *meter, plim_bound_plan *bound, const plim_memory_region *memory) {
  const plim_plan *plan = bound->plan;
  *meter = (plim_memory_meter){.space[0].base = NULL};
  for (int32_t space = 0; space <= plan->n_page_spaces; space++) meter->space[space].base = memory[space].base;
  for (int32_t i = 0; i < plan->n_buffers; i++) bound->buffer[i].held = 0;
  for (int32_t i = 0; i < plan->n_buffers && plan->buffer[i].begin == 0; i++) {
    int32_t storage = plan->buffer[i].storage;
    if (storage < 0 || bound->graph->storage[storage].producer >= 0) continue;
    int32_t space = plan->buffer[i].space;
    if (space > 0 && !plim_plan_is_home(bound->graph, plan, &plan->buffer[i])) continue; /* a copy fills it */
    const char *base = meter->space[space].base;
    count(&meter->space[space], &bound->buffer[i], base ? base + plan->buffer[i].offset : NULL);
  }
}

void plim_memory_meter_command(plim_memory_meter *meter, plim_bound_plan *bound, int32_t j) {
  for (int32_t i = bound->ending_first[j]; i < bound->ending_first[j + 1]; i++) {
    plim_bound_buffer *buffer = &bound->buffer[bound->ending[i]];
    meter->space[bound->plan->buffer[bound->ending[i]].space].live_bytes -= buffer->held;
    buffer->held = 0;
  }
  for (int32_t k = bound->command[j].first; k < bound->command[j + 1].first; k++) {
    const plim_bound_operand *operand = &bound->operand[k];
    if (operand->buffer < 0) continue;
    plim_bound_buffer *buffer = &bound->buffer[operand->buffer];
    if (buffer->held > 0 || buffer->end <= j) continue;
    struct plim_meter_space *space = &meter->space[bound->plan->buffer[operand->buffer].space];
    count(space, buffer, (const char *)bound->pointer[k] - operand->offset);
  }
  for (int32_t space = 0; space <= bound->plan->n_page_spaces; space++) {
    struct plim_meter_space *counted = &meter->space[space];
    if (counted->live_bytes > counted->peak_bytes) counted->peak_bytes = counted->live_bytes;
  }
}

static plim_status compare(plim_context *ctx, const struct plim_meter_space *space, const plim_plan_space *stated) {
  const char *in = stated->name[0] ? " in " : "";
  if (space->peak_bytes != stated->peak_bytes) {
    return plim_fail(ctx, PLIM_EDIFF, "the step held %lld bytes%s%s at its peak, the plan says %lld",
                     (long long)space->peak_bytes, in, stated->name, (long long)stated->peak_bytes);
  }
  if (space->base && space->packed_bytes != stated->arena_bytes) {
    return plim_fail(ctx, PLIM_EDIFF, "the step used %lld bytes of the arena%s%s, the plan says %lld",
                     (long long)space->packed_bytes, in, stated->name, (long long)stated->arena_bytes);
  }
  return PLIM_OK;
}

plim_status plim_memory_meter_compare(const plim_memory_meter *meter, const plim_bound_plan *bound) {
  const plim_plan *plan = bound->plan;
  for (int32_t space = 0; space <= plan->n_page_spaces; space++) {
    const plim_plan_space stated = plim_plan_space_of(plan, space);
    PLIM_TRY(compare(bound->ctx, &meter->space[space], &stated));
  }
  return PLIM_OK;
}
