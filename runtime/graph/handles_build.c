/* Builds a handle program. The operands of all calls are in one list, which may move while it grows. Events get their
 * pointers at the end. */
#include "runtime/graph/handles_build.h"

#include <string.h>

#include "runtime/base/array.h"

void plim_handles_builder_release(plim_handles_builder *b) {
  plim_release(b->ctx, b->tensor, b->cap_tensors, sizeof *b->tensor);
  plim_release(b->ctx, b->event, b->cap_events, sizeof *b->event);
  plim_release(b->ctx, b->first_in, b->cap_first, sizeof *b->first_in);
  plim_release(b->ctx, b->operand, b->cap_operands, sizeof *b->operand);
  plim_release(b->ctx, b->kept, b->cap_kept, sizeof *b->kept);
  *b = (plim_handles_builder){.ctx = b->ctx};
}

static plim_status reserve(plim_handles_builder *b, const char *what, void *array, int64_t *capacity, int64_t count,
                           size_t size) {
  if (count > INT32_MAX) return plim_fail(b->ctx, PLIM_EOVERFLOW, "handles: more than %d %s", INT32_MAX, what);
  return plim_array_reserve(b->ctx, array, capacity, count, size);
}

plim_status plim_handles_add_tensor(plim_handles_builder *b, int32_t base, int32_t storage, int64_t bytes,
                                    int32_t *out) {
  PLIM_TRY(reserve(b, "tensors", &b->tensor, &b->cap_tensors, b->n_tensors + 1, sizeof *b->tensor));
  int32_t id = (int32_t)b->n_tensors;
  b->tensor[b->n_tensors++] = (plim_handle_tensor){base < 0 ? id : base, storage, bytes};
  *out = id;
  return PLIM_OK;
}

static void add_operands(plim_handles_builder *b, const int32_t *tensor, int32_t n) {
  if (n > 0) memcpy(b->operand + b->n_operands, tensor, (size_t)n * sizeof *tensor);
  b->n_operands += n;
}

plim_status plim_handles_add_event(plim_handles_builder *b, const plim_event *event) {
  int64_t n_operands = b->n_operands + event->n_in + event->n_out;
  PLIM_TRY(reserve(b, "events", &b->event, &b->cap_events, b->n_events + 1, sizeof *b->event));
  PLIM_TRY(reserve(b, "events", &b->first_in, &b->cap_first, b->n_events + 1, sizeof *b->first_in));
  PLIM_TRY(reserve(b, "operands", &b->operand, &b->cap_operands, n_operands, sizeof *b->operand));
  b->first_in[b->n_events] = b->n_operands;
  b->event[b->n_events++] = *event;
  add_operands(b, event->in, event->n_in);
  add_operands(b, event->out, event->n_out);
  return PLIM_OK;
}

plim_status plim_handles_add_kept(plim_handles_builder *b, int32_t tensor) {
  PLIM_TRY(reserve(b, "kept tensors", &b->kept, &b->cap_kept, b->n_kept + 1, sizeof *b->kept));
  b->kept[b->n_kept++] = tensor;
  return PLIM_OK;
}

plim_status plim_handles_build(plim_handles_builder *b, plim_handles **out) {
  for (int64_t i = 0; i < b->n_events; i++) {
    b->event[i].in = b->operand + b->first_in[i];
    b->event[i].out = b->event[i].in + b->event[i].n_in;
  }
  plim_handles draft = {.n_tensors = (int32_t)b->n_tensors,
                        .n_events = (int32_t)b->n_events,
                        .n_kept = (int32_t)b->n_kept,
                        .tensor = b->tensor,
                        .event = b->event,
                        .kept = b->kept};
  return plim_handles_make(b->ctx, &draft, out);
}
