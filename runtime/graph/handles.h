/* The handle program: which tensors the imported program held, and when.
 *
 * A plan does not need it, since a buffer ends with its lifetime. A runtime without a plan sees calls, views and
 * handles instead. It may free a storage for good only when no handle on any of its tensors is held. A handle stands
 * for a tensor. Views of a storage are tensors of their own, defined by their own calls. The ops of the graph are the
 * calls with a result that is no view, in order. Planner and executor read only these ops. graph.h has the rules for
 * every document.
 * Source: traces of the DTR prototype (Kirisame et al., Dynamic Tensor Rematerialization, ICLR 2021).
 *
 * handles_peak.c has the figures, handles.c the rest. handles_build.h makes a program, handles_text.h writes one. */
#ifndef PLIM_RUNTIME_GRAPH_HANDLES_H
#define PLIM_RUNTIME_GRAPH_HANDLES_H

#include "runtime/base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plim_handle_tensor {
  int32_t base;    /* tensor whose storage it views; its own id when it is no view */
  int32_t storage; /* of the graph; PLIM_NONE: it has no bytes */
  int64_t bytes;   /* of the storage, >= 0 */
} plim_handle_tensor;

/* Events of the program.
 *   constant  defines a tensor from outside, with one handle
 *   call      defines its results, with one handle each
 *   get       adds a handle
 *   release   removes a handle */
#define PLIM_EVENT_KINDS(X) X(CONSTANT, "constant") X(CALL, "call") X(GET, "get") X(RELEASE, "release")
#define PLIM_X(id, name) PLIM_EVENT_##id,
typedef enum plim_event_kind { PLIM_EVENT_KINDS(PLIM_X) PLIM_EVENT_KIND_COUNT } plim_event_kind;
#undef PLIM_X

typedef struct plim_event {
  plim_event_kind kind;
  int32_t tensor;          /* call: not read */
  int32_t op;              /* call: of the graph, PLIM_NONE when all results are views */
  int64_t time_ns;         /* call */
  int32_t n_in, n_out;     /* call */
  const int32_t *in, *out; /* call: tensors; n_out > 0 */
} plim_event;

typedef struct plim_handles {
  plim_context *ctx;
  int64_t block_bytes;
  int32_t n_tensors, n_events, n_kept;
  const plim_handle_tensor *tensor;
  const plim_event *event;
  const int32_t *kept; /* tensors that must be held when the program ends, in this order */
} plim_handles;

struct plim_graph;

/* Sum of the times of all calls, ns. O(events). */
int64_t plim_handles_total_ns(const plim_handles *handles);

/* The largest number of bytes held at a time, when each storage is freed after its last release.
 *   in_arena  in       0: bytes are not rounded; 1: they are rounded up to PLIM_ALIGN, and constants are never freed
 *   peak      [1] out  bytes
 * PLIM_EOVERFLOW: the sum does not fit in 63 bits. O(events). */
PLIM_MUST_USE plim_status plim_handles_peak(const plim_handles *handles, int in_arena, int64_t *peak);

/* Make a checked copy of `draft` in one allocation; free it with plim_handles_free. The rules: ids are in range; each
 * tensor is defined once, before its use; no tensor is a view of a view; no count of handles is negative; kept tensors
 * are held. PLIM_EDATA; the sentence names the row. */
PLIM_MUST_USE plim_status plim_handles_make(plim_context *ctx, const plim_handles *draft, plim_handles **out);
void plim_handles_free(plim_handles *handles); /* NULL is legal */

/* Check that the handle program describes this graph: its storages have equal bytes, and its calls are the ops in
 * order, with their times. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_handles_match(const plim_handles *handles, const struct plim_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
