/* Building a handle program row by row, for those that read one. */
#ifndef PLIM_RUNTIME_GRAPH_HANDLES_BUILD_H
#define PLIM_RUNTIME_GRAPH_HANDLES_BUILD_H

#include "runtime/graph/handles.h"

/* Empty: plim_handles_builder b = {.ctx = ctx}. Release it whatever happened. */
typedef struct plim_handles_builder {
  plim_context *ctx;
  plim_handle_tensor *tensor;
  plim_event *event;
  int64_t *first_in; /* of event i: offset into `operand` */
  int32_t *operand, *kept;
  int64_t n_tensors, n_events, n_operands, n_kept;
  int64_t cap_tensors, cap_events, cap_first, cap_operands, cap_kept;
} plim_handles_builder;

void plim_handles_builder_release(plim_handles_builder *b);

/* base -1: the tensor has a storage of its own. */
PLIM_MUST_USE plim_status plim_handles_add_tensor(plim_handles_builder *b, int32_t base, int32_t storage, int64_t bytes,
                                                  int32_t *out);

/* Lists of a call are copied. */
PLIM_MUST_USE plim_status plim_handles_add_event(plim_handles_builder *b, const plim_event *event);
PLIM_MUST_USE plim_status plim_handles_add_kept(plim_handles_builder *b, int32_t tensor);

PLIM_MUST_USE plim_status plim_handles_build(plim_handles_builder *b, plim_handles **out);

#endif
