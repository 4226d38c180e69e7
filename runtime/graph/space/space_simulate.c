/* The simulator of plans over spaces: times by queues and waits, peaks by the lifetimes of buffers. */
#include "runtime/graph/space/space_plan.h"

double plim_space_plan_joule(const plim_space_plan *p, int64_t makespan_ns) {
  double joule = 0;
  if (!p->has_energy) return 0;
  for (int32_t c = 0; c < p->n_commands; c++) joule += p->command[c].joule;
  for (int32_t d = 0; d < p->n_devices; d++) joule += p->device[d].idle_watt * ((double)makespan_ns * 1e-9);
  return joule;
}

static plim_status simulate_times(const plim_space_plan *p, int64_t *free_ns, plim_space_figures *out) {
  out->makespan_ns = out->serial_ns = 0;
  for (int32_t c = 0; c < p->n_commands; c++) {
    const plim_space_command *command = &p->command[c];
    int64_t begin = plim_command_begin_ns(free_ns[command->queue], command->n_wait, command->wait, out->end_ns);
    int64_t end = plim_add_checked(begin, command->time_ns);
    out->serial_ns = plim_add_checked(out->serial_ns, command->time_ns);
    if (end < 0 || out->serial_ns < 0) {
      return plim_fail(p->ctx, PLIM_EOVERFLOW, "command %d: the times add up to more than 63 bits hold", c);
    }
    out->begin_ns[c] = begin;
    out->end_ns[c] = free_ns[command->queue] = end;
    if (end > out->makespan_ns) out->makespan_ns = end;
  }
  out->energy_joule = plim_space_plan_joule(p, out->makespan_ns);
  return PLIM_OK;
}

/* Find the peak of each space. change [n_spaces][n_commands + 1], zeroed scratch: bytes that begin at each command
 * minus bytes that end there. */
static plim_status simulate_peaks(const plim_space_plan *p, int64_t *change, int64_t *peak) {
  int64_t n = (int64_t)p->n_commands + 1;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    int64_t *at = change + b->space * n;
    if (b->bytes > INT64_MAX / 4 || at[b->begin] > INT64_MAX / 4 || at[b->end] < -(INT64_MAX / 4)) {
      return plim_fail(p->ctx, PLIM_EOVERFLOW, "buffer %d: the bytes add up to more than 62 bits hold", i);
    }
    at[b->begin] += b->bytes;
    at[b->end] -= b->bytes;
  }
  for (int32_t s = 0; s < p->n_spaces; s++) {
    int64_t live = 0;
    peak[s] = 0;
    for (int64_t c = 0; c < n; c++) {
      if (change[s * n + c] > 0 && live > INT64_MAX / 4) {
        return plim_fail(p->ctx, PLIM_EOVERFLOW, "space %s: the bytes add up to more than 61 bits hold",
                         p->space[s].name);
      }
      live += change[s * n + c];
      if (live > peak[s]) peak[s] = live;
    }
  }
  return PLIM_OK;
}

plim_status plim_space_plan_simulate(const plim_space_plan *p, plim_space_figures *out) {
  int64_t *free_ns = NULL, *change = NULL, n = p->n_spaces * ((int64_t)p->n_commands + 1);
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_queues, sizeof *free_ns, &free_ns));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, n, sizeof *change, &change));
  PLIM_TRY_OR_DONE(simulate_times(p, free_ns, out));
  PLIM_TRY_OR_DONE(simulate_peaks(p, change, out->peak_bytes));
done:
  plim_release(p->ctx, change, n, sizeof *change);
  plim_release(p->ctx, free_ns, p->n_queues, sizeof *free_ns);
  return status;
}
