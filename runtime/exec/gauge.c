/* A life counts from the first argument bound to it until behind the last. Sizes are those of the graph's storages and
 * of the workspaces that the device asked for, addresses those that kernels were given: what the plan says of bytes,
 * ends, peak and height is not read before the comparison at the end.
 *
 * An input that the step's pair writes over ends at this very step and is not counted: its bytes are its output's. */
#include "runtime/exec/gauge.h"

static void count(plim_gauge *gauge, plim_bound_life *life, const char *address) {
  life->held = life->bytes;
  gauge->live_bytes += life->bytes;
  if (!gauge->base) return;
  int64_t top = address - gauge->base + life->bytes;
  if (top > gauge->height_bytes) gauge->height_bytes = top;
}

void plim_gauge_begin(plim_gauge *gauge, plim_bound *bound, const char *base) {
  const plim_plan *plan = bound->plan;
  *gauge = (plim_gauge){.base = base};
  for (int32_t i = 0; i < plan->n_lives; i++) bound->life[i].held = 0;
  for (int32_t i = 0; i < plan->n_lives && plan->life[i].begin == 0; i++) {
    int32_t storage = plan->life[i].storage;
    if (storage < 0 || bound->graph->storage[storage].producer >= 0) continue;
    count(gauge, &bound->life[i], base ? base + plan->life[i].offset : NULL);
  }
}

void plim_gauge_step(plim_gauge *gauge, plim_bound *bound, int32_t j) {
  for (int32_t i = bound->ending_first[j]; i < bound->ending_first[j + 1]; i++) {
    plim_bound_life *life = &bound->life[bound->ending[i]];
    gauge->live_bytes -= life->held;
    life->held = 0;
  }
  for (int32_t k = bound->step[j].first; k < bound->step[j + 1].first; k++) {
    const plim_bound_operand *operand = &bound->operand[k];
    if (operand->life < 0) continue;
    plim_bound_life *life = &bound->life[operand->life];
    if (life->held > 0 || life->end <= j) continue;
    count(gauge, life, (const char *)bound->pointer[k] - operand->offset);
  }
  if (gauge->live_bytes > gauge->peak_bytes) gauge->peak_bytes = gauge->live_bytes;
}

plim_status plim_gauge_compare(const plim_gauge *gauge, const plim_bound *bound) {
  const plim_plan *plan = bound->plan;
  if (gauge->peak_bytes != plan->peak_bytes) {
    return plim_fail(bound->ctx, PLIM_EDIFF, "the step held %lld bytes at its peak, the plan says %lld",
                     (long long)gauge->peak_bytes, (long long)plan->peak_bytes);
  }
  if (gauge->base && gauge->height_bytes != plan->arena_bytes) {
    return plim_fail(bound->ctx, PLIM_EDIFF, "the step used %lld bytes of the arena, the plan says %lld",
                     (long long)gauge->height_bytes, (long long)plan->arena_bytes);
  }
  return PLIM_OK;
}
