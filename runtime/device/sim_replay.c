/* Replays a plan over several memory spaces on the sim device, to measure its times and bytes without reading a figure
 * of the plan. Times come from the device's clocks. Bytes come from a meter that counts a buffer from its first command
 * to its end. */
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/device/device_sim.h"

typedef struct meter {
  const plim_space_plan *plan;
  int64_t *live;  /* [n_spaces] */
  int32_t *first; /* [n_commands + 1] for each command the first buffer that ends there, as index + 1; 0: none */
  int32_t *after; /* [n_buffers] the next buffer with the same end, as index + 1; 0: none */
  int32_t next;   /* first buffer, by begin, that has not been counted */
  int64_t *peak;  /* [n_spaces] */
} meter;

static plim_status begin_meter(plim_device *sim, meter *m) {
  const plim_space_plan *p = m->plan;
  PLIM_TRY(plim_allocate(sim->ctx, p->n_spaces, sizeof *m->live, &m->live));
  PLIM_TRY(plim_allocate(sim->ctx, (int64_t)p->n_commands + 1, sizeof *m->first, &m->first));
  PLIM_TRY(plim_allocate(sim->ctx, p->n_buffers, sizeof *m->after, &m->after));
  memset(m->peak, 0, (size_t)p->n_spaces * sizeof *m->peak);
  for (int32_t i = 0; i < p->n_buffers; i++) {
    m->after[i] = m->first[p->buffer[i].end];
    m->first[p->buffer[i].end] = i + 1;
  }
  return PLIM_OK;
}

static void end_meter(plim_device *sim, meter *m) {
  plim_release(sim->ctx, m->live, m->plan->n_spaces, sizeof *m->live);
  plim_release(sim->ctx, m->first, (int64_t)m->plan->n_commands + 1, sizeof *m->first);
  plim_release(sim->ctx, m->after, m->plan->n_buffers, sizeof *m->after);
}

/* Subtract the buffers that end at command c, and add those that begin there. */
static plim_status count_buffers(plim_device *sim, meter *m, int32_t c) {
  const plim_space_plan *p = m->plan;
  for (int32_t i = m->first[c]; i > 0; i = m->after[i - 1]) m->live[p->buffer[i - 1].space] -= p->buffer[i - 1].bytes;
  for (; m->next < p->n_buffers && p->buffer[m->next].begin == c; m->next++) {
    const plim_space_buffer *b = &p->buffer[m->next];
    int64_t live = plim_add_checked(m->live[b->space], b->bytes);
    if (live < 0) {
      return plim_fail(sim->ctx, PLIM_EOVERFLOW, "space %s: the bytes need more than 63 bits", p->space[b->space].name);
    }
    m->live[b->space] = live;
    if (live > m->peak[b->space]) m->peak[b->space] = live;
  }
  return PLIM_OK;
}

/* Put a command on its queue. It begins at the time of the queue's clock after the waits. */
static plim_status put_command(plim_device *sim, const plim_space_plan *plan, int32_t c, plim_space_figures *out) {
  const plim_space_command *m = &plan->command[c];
  for (int32_t w = 0; w < m->n_wait; w++) PLIM_TRY(sim->api->queues.wait(sim, m->queue, m->wait[w]));
  out->begin_ns[c] = plim_sim_queue_ns(sim, m->queue);
  plim_sim_take(sim, m->time_ns);
  if (m->kind == PLIM_SPACE_COMMAND_RUN) PLIM_TRY(sim->api->kernels.run(sim, m->queue, NULL, NULL));
  if (m->kind == PLIM_SPACE_COMMAND_COPY) PLIM_TRY(sim->api->queues.copy(sim, m->queue, NULL, NULL, 0));
  out->end_ns[c] = plim_sim_queue_ns(sim, m->queue);
  out->serial_ns += m->time_ns;
  return sim->api->queues.mark(sim, m->queue, c);
}

plim_status plim_sim_replay(plim_device *sim, const plim_space_plan *plan, plim_space_figures *out) {
  meter m = {.plan = plan, .peak = out->peak_bytes};
  plim_status status;
  PLIM_TRY(sim->api->queues.sync(sim));
  int64_t began = sim->api->queues.clock(sim);
  out->serial_ns = 0;
  PLIM_TRY_OR_DONE(begin_meter(sim, &m));
  for (int32_t c = 0; c < plan->n_commands; c++) {
    PLIM_TRY_OR_DONE(count_buffers(sim, &m, c));
    PLIM_TRY_OR_DONE(put_command(sim, plan, c, out));
  }
  PLIM_TRY_OR_DONE(sim->api->queues.sync(sim));
  out->makespan_ns = sim->api->queues.clock(sim) - began;
  out->energy_joule = plim_space_plan_joule(plan, out->makespan_ns);
done:
  plim_sim_take(sim, 0);
  end_meter(sim, &m);
  return status;
}
