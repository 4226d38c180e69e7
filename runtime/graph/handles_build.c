/* Builds a handle program. The operands of all calls are in one list, which may move while it grows. Events get their
 * pointers at the end. */
#include "runtime/graph/handles_build.h"

#include <string.h>

#include "runtime/base/array.h"

void plim_handles_builder_release(plim_handles_builder *builder) {
  plim_release(builder->ctx, builder->tensor, builder->cap_tensors, sizeof *builder->tensor);
  plim_release(builder->ctx, builder->event, builder->cap_events, sizeof *builder->event);
  plim_release(builder->ctx, builder->first_in, builder->cap_first, sizeof *builder->first_in);
  plim_release(builder->ctx, builder->operand, builder->cap_operands, sizeof *builder->operand);
  plim_release(builder->ctx, builder->kept, builder->cap_kept, sizeof *builder->kept);
  *builder = (plim_handles_builder){.ctx = builder->ctx};
}

static plim_status reserve(plim_handles_builder *builder, const char *what, void *array, int64_t *capacity,
                           int64_t count, size_t size) {
  if (count > INT32_MAX) return plim_fail(builder->ctx, PLIM_EOVERFLOW, "handles: more than %d %s", INT32_MAX, what);
  return plim_array_reserve(builder->ctx, array, capacity, count, size);
}

plim_status plim_handles_add_tensor(plim_handles_builder *builder, int32_t base, int32_t storage, int64_t bytes,
                                    int32_t *out) {
  PLIM_TRY(reserve(builder, "tensors", &builder->tensor, &builder->cap_tensors, builder->n_tensors + 1,
                   sizeof *builder->tensor));
  int32_t id = (int32_t)builder->n_tensors;
  builder->tensor[builder->n_tensors++] = (plim_handle_tensor){base < 0 ? id : base, storage, bytes};
  *out = id;
  return PLIM_OK;
}

static void add_operands(plim_handles_builder *builder, const int32_t *tensor, int32_t n) {
  if (n > 0) memcpy(builder->operand + builder->n_operands, tensor, (size_t)n * sizeof *tensor);
  builder->n_operands += n;
}

plim_status plim_handles_add_event(plim_handles_builder *builder, const plim_event *event) {
  int64_t n_operands = builder->n_operands + event->n_in + event->n_out;
  PLIM_TRY(
      reserve(builder, "events", &builder->event, &builder->cap_events, builder->n_events + 1, sizeof *builder->event));
  PLIM_TRY(reserve(builder, "events", &builder->first_in, &builder->cap_first, builder->n_events + 1,
                   sizeof *builder->first_in));
  PLIM_TRY(
      reserve(builder, "operands", &builder->operand, &builder->cap_operands, n_operands, sizeof *builder->operand));
  builder->first_in[builder->n_events] = builder->n_operands;
  builder->event[builder->n_events++] = *event;
  add_operands(builder, event->in, event->n_in);
  add_operands(builder, event->out, event->n_out);
  return PLIM_OK;
}

plim_status plim_handles_add_kept(plim_handles_builder *builder, int32_t tensor) {
  PLIM_TRY(
      reserve(builder, "kept tensors", &builder->kept, &builder->cap_kept, builder->n_kept + 1, sizeof *builder->kept));
  builder->kept[builder->n_kept++] = tensor;
  return PLIM_OK;
}

plim_status plim_handles_build(plim_handles_builder *builder, plim_handles **out) {
  for (int64_t i = 0; i < builder->n_events; i++) {
    builder->event[i].in = builder->operand + builder->first_in[i];
    builder->event[i].out = builder->event[i].in + builder->event[i].n_in;
  }
  plim_handles draft = {.n_tensors = (int32_t)builder->n_tensors,
                        .n_events = (int32_t)builder->n_events,
                        .n_kept = (int32_t)builder->n_kept,
                        .tensor = builder->tensor,
                        .event = builder->event,
                        .kept = builder->kept};
  return plim_handles_make(builder->ctx, &draft, out);
}
