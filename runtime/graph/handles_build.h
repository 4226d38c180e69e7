/* Builds a handle program row by row, for the functions that read one. Functions run on the thread of the context, and
 * are deterministic. */
#ifndef PLIM_RUNTIME_GRAPH_HANDLES_BUILD_H
#define PLIM_RUNTIME_GRAPH_HANDLES_BUILD_H

#include "runtime/graph/handles.h"

/* Begin with plim_handles_builder builder = {.ctx = ctx}. Release it also after a failure. */
typedef struct plim_handles_builder {
  plim_context *ctx;
  plim_handle_tensor *tensor;
  plim_event *event;
  int64_t *first_in; /* of event i: offset into `operand` */
  int32_t *operand, *kept;
  int64_t n_tensors, n_events, n_operands, n_kept;
  int64_t cap_tensors, cap_events, cap_first, cap_operands, cap_kept;
} plim_handles_builder;

/* Free what was added. Legal for an empty builder, and after a failure. */
void plim_handles_builder_release(plim_handles_builder *builder);

/* Add a tensor; *out is its id. base PLIM_NONE: it is no view. PLIM_EOVERFLOW: too many rows, also below. */
PLIM_MUST_USE plim_status plim_handles_add_tensor(plim_handles_builder *builder, int32_t base, int32_t storage,
                                                  int64_t bytes, int32_t *out);

/* Add an event; the lists of a call are copied. */
PLIM_MUST_USE plim_status plim_handles_add_event(plim_handles_builder *builder, const plim_event *event);
/* Add a tensor that must be held when the program ends. */
PLIM_MUST_USE plim_status plim_handles_add_kept(plim_handles_builder *builder, int32_t tensor);

/* Make the handle program, as plim_handles_make does. */
PLIM_MUST_USE plim_status plim_handles_build(plim_handles_builder *builder, plim_handles **out);

#endif
