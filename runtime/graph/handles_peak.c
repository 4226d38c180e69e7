/* The time of a handle program, and the bytes that it holds when nothing is evicted. */
#include "runtime/graph/handles.h"

int64_t plim_handles_total_ns(const plim_handles *handles) {
  int64_t sum = 0;
  for (int32_t i = 0; i < handles->n_events; i++) {
    sum += handles->event[i].kind == PLIM_EVENT_CALL ? handles->event[i].time_ns : 0;
  }
  return sum;
}

typedef struct held {
  const plim_handles *program;
  int in_arena;
  int32_t *handles; /* [n_tensors] by base */
  char *constant;   /* [n_tensors] by base */
  int64_t bytes, peak;
} held;

static int64_t bytes_of(const held *m, int32_t base) {
  int64_t bytes = m->program->tensor[base].bytes;
  return m->in_arena ? plim_align_up(bytes, PLIM_ALIGN) : bytes;
}

static plim_status hold_handle(held *m, int32_t tensor) {
  int32_t base = m->program->tensor[tensor].base;
  m->handles[base]++;
  if (tensor != base) return PLIM_OK;
  m->bytes = plim_add_checked(m->bytes, bytes_of(m, base));
  if (m->bytes < 0) {
    return plim_fail(m->program->ctx, PLIM_EOVERFLOW, "the bytes that the program holds overflow 63 bits");
  }
  return PLIM_OK;
}

static plim_status apply(held *m, const plim_event *event) {
  int32_t base = event->kind == PLIM_EVENT_CALL ? 0 : m->program->tensor[event->tensor].base;
  switch (event->kind) {
    case PLIM_EVENT_CONSTANT:
      m->constant[base] = 1;
      return hold_handle(m, event->tensor);
    case PLIM_EVENT_GET:
      m->handles[base]++;
      return PLIM_OK;
    case PLIM_EVENT_RELEASE:
      if (--m->handles[base] == 0 && !(m->in_arena && m->constant[base])) m->bytes -= bytes_of(m, base);
      return PLIM_OK;
    default:
      break;
  }
  for (int32_t i = 0; i < event->n_out; i++) PLIM_TRY(hold_handle(m, event->out[i]));
  return PLIM_OK;
}

plim_status plim_handles_peak(const plim_handles *handles, int in_arena, int64_t *peak) {
  held m = {.program = handles, .in_arena = in_arena};
  int64_t n = handles->n_tensors;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(handles->ctx, n, sizeof *m.handles, &m.handles));
  PLIM_TRY_OR_DONE(plim_allocate(handles->ctx, n, 1, &m.constant));
  for (int32_t i = 0; i < handles->n_events; i++) {
    PLIM_TRY_OR_DONE(apply(&m, &handles->event[i]));
    if (m.bytes > m.peak) m.peak = m.bytes;
  }
  *peak = m.peak;
done:
  plim_release(handles->ctx, m.handles, n, sizeof *m.handles);
  plim_release(handles->ctx, m.constant, n, 1);
  return status;
}
