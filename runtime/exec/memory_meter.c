/* A buffer counts from the first command that binds it to the end of the last one.
 * Sizes come from the graph's storages and from the workspaces that the device asked for. Addresses are those that
 * kernels were given. Persistent storages and inputs hold bytes before the first kernel: their address is the plan's
 * offset. Everything else that the plan says of bytes, ends, peak and arena size is read only for the comparison at
 * the end of the step.
 *
 * An input that the command's in-place pair overwrites is not counted at that command: its bytes are its output's. */
#include "runtime/exec/memory_meter.h"

static void count(plim_memory_meter *meter, plim_bound_buffer *buffer, const char *address) {
  buffer->held = buffer->bytes;
  meter->live_bytes += buffer->bytes;
  if (!meter->base) return;
  int64_t top = address - meter->base + buffer->bytes;
  if (top > meter->packed_bytes) meter->packed_bytes = top;
}

void plim_memory_meter_begin(plim_memory_meter *meter, plim_bound *bound, const char *base) {
  const plim_plan *plan = bound->plan;
  *meter = (plim_memory_meter){.base = base};
  for (int32_t i = 0; i < plan->n_buffers; i++) bound->buffer[i].held = 0;
  for (int32_t i = 0; i < plan->n_buffers && plan->buffer[i].begin == 0; i++) {
    int32_t storage = plan->buffer[i].storage;
    if (storage < 0 || bound->graph->storage[storage].producer >= 0) continue;
    count(meter, &bound->buffer[i], base ? base + plan->buffer[i].offset : NULL);
  }
}

void plim_memory_meter_step(plim_memory_meter *meter, plim_bound *bound, int32_t j) {
  for (int32_t i = bound->ending_first[j]; i < bound->ending_first[j + 1]; i++) {
    plim_bound_buffer *buffer = &bound->buffer[bound->ending[i]];
    meter->live_bytes -= buffer->held;
    buffer->held = 0;
  }
  for (int32_t k = bound->step[j].first; k < bound->step[j + 1].first; k++) {
    const plim_bound_operand *operand = &bound->operand[k];
    if (operand->buffer < 0) continue;
    plim_bound_buffer *buffer = &bound->buffer[operand->buffer];
    if (buffer->held > 0 || buffer->end <= j) continue;
    count(meter, buffer, (const char *)bound->pointer[k] - operand->offset);
  }
  if (meter->live_bytes > meter->peak_bytes) meter->peak_bytes = meter->live_bytes;
}

plim_status plim_memory_meter_compare(const plim_memory_meter *meter, const plim_bound *bound) {
  const plim_plan *plan = bound->plan;
  if (meter->peak_bytes != plan->peak_bytes) {
    return plim_fail(bound->ctx, PLIM_EDIFF, "the step held %lld bytes at its peak, the plan says %lld",
                     (long long)meter->peak_bytes, (long long)plan->peak_bytes);
  }
  if (meter->base && meter->packed_bytes != plan->arena_bytes) {
    return plim_fail(bound->ctx, PLIM_EDIFF, "the step used %lld bytes of the arena, the plan says %lld",
                     (long long)meter->packed_bytes, (long long)plan->arena_bytes);
  }
  return PLIM_OK;
}
