/* Copies and checks handle programs. The check simulates the events once, and counts the handles of each tensor. */
#include "runtime/graph/handles.h"

#include "runtime/base/array.h"
#include "runtime/graph/graph.h"

enum { UNDEFINED = -1 };

/* ---- the copy ---- */

typedef struct places {
  plim_handles *handles;
  plim_handle_tensor *tensor;
  plim_event *event;
  int32_t *kept, *operand;
} places;

static places carve(const plim_handles *draft, plim_block *block) {
  int64_t operands = 0;
  for (int32_t i = 0; i < draft->n_events; i++) operands += (int64_t)draft->event[i].n_in + draft->event[i].n_out;
  places p;
  p.handles = plim_block_take(block, 1, sizeof *p.handles);
  p.tensor = plim_block_take(block, draft->n_tensors, sizeof *p.tensor);
  p.event = plim_block_take(block, draft->n_events, sizeof *p.event);
  p.kept = plim_block_take(block, draft->n_kept, sizeof *p.kept);
  p.operand = plim_block_take(block, operands, sizeof *p.operand);
  return p;
}

static plim_status copy(plim_context *ctx, const plim_handles *draft, plim_handles **out) {
  plim_block block = {NULL, 0};
  (void)carve(draft, &block);
  PLIM_TRY(plim_block_allocate(ctx, &block));
  places p = carve(draft, &block);
  int32_t *operand = p.operand;
  for (int32_t i = 0; i < draft->n_tensors; i++) p.tensor[i] = draft->tensor[i];
  for (int32_t i = 0; i < draft->n_kept; i++) p.kept[i] = draft->kept[i];
  for (int32_t i = 0; i < draft->n_events; i++) {
    p.event[i] = draft->event[i];
    p.event[i].in = plim_ids_copy(&operand, draft->event[i].in, draft->event[i].n_in);
    p.event[i].out = plim_ids_copy(&operand, draft->event[i].out, draft->event[i].n_out);
  }
  *p.handles = *draft;
  p.handles->ctx = ctx;
  p.handles->block_bytes = block.bytes;
  p.handles->tensor = p.tensor;
  p.handles->event = p.event;
  p.handles->kept = p.kept;
  *out = p.handles;
  return PLIM_OK;
}

/* ---- the check; held [n_tensors]: number of handles, UNDEFINED before the tensor is defined ---- */

static plim_status check_tensors(const plim_handles *handles) {
  for (int32_t t = 0; t < handles->n_tensors; t++) {
    const plim_handle_tensor *tensor = &handles->tensor[t];
    if (tensor->base < 0 || tensor->base > t || handles->tensor[tensor->base].base != tensor->base) {
      return plim_fail(handles->ctx, PLIM_EDATA,
                       "handles: tensor %d has the base %d, which is no earlier tensor of its own", t, tensor->base);
    }
    const plim_handle_tensor *base = &handles->tensor[tensor->base];
    if (tensor->bytes < 0 || tensor->bytes != base->bytes || tensor->storage != base->storage) {
      return plim_fail(handles->ctx, PLIM_EDATA, "handles: tensor %d has %lld bytes, its base %d has %lld", t,
                       (long long)tensor->bytes, tensor->base, (long long)base->bytes);
    }
    if ((tensor->bytes == 0) != (tensor->storage < 0)) {
      return plim_fail(handles->ctx, PLIM_EDATA, "handles: tensor %d has %lld bytes in storage %d", t,
                       (long long)tensor->bytes, tensor->storage);
    }
  }
  return PLIM_OK;
}

static plim_status check_held(const plim_handles *handles, int32_t event, int32_t tensor, const int32_t *held) {
  if (tensor >= 0 && tensor < handles->n_tensors && held[tensor] > 0) return PLIM_OK;
  return plim_fail(handles->ctx, PLIM_EDATA, "handles: event %d uses tensor %d, on which there is no handle", event,
                   tensor);
}

static plim_status define(const plim_handles *handles, int32_t event, int32_t tensor, int32_t *held) {
  if (tensor < 0 || tensor >= handles->n_tensors || held[tensor] != UNDEFINED) {
    return plim_fail(handles->ctx, PLIM_EDATA,
                     "handles: event %d defines tensor %d, which is none that is still undefined", event, tensor);
  }
  int32_t base = handles->tensor[tensor].base;
  if (base != tensor && held[base] == UNDEFINED) {
    return plim_fail(handles->ctx, PLIM_EDATA, "handles: event %d defines a view of tensor %d before that is defined",
                     event, base);
  }
  held[tensor] = 1;
  return PLIM_OK;
}

static plim_status check_call(const plim_handles *handles, int32_t event, int32_t *held) {
  const plim_event *e = &handles->event[event];
  int fresh = 0;
  if (e->time_ns < 0 || e->n_out <= 0) {
    return plim_fail(handles->ctx, PLIM_EDATA, "handles: event %d is a call of %lld ns with %d results", event,
                     (long long)e->time_ns, e->n_out);
  }
  for (int32_t i = 0; i < e->n_in; i++) PLIM_TRY(check_held(handles, event, e->in[i], held));
  for (int32_t i = 0; i < e->n_out; i++) {
    PLIM_TRY(define(handles, event, e->out[i], held));
    fresh |= handles->tensor[e->out[i]].base == e->out[i];
  }
  if (fresh != (e->op >= 0)) {
    return plim_fail(handles->ctx, PLIM_EDATA, "handles: event %d names op %d, but %s", event, e->op,
                     fresh ? "has a result that is no view" : "all its results are views");
  }
  return PLIM_OK;
}

static plim_status check_kept(const plim_handles *handles, const int32_t *held) {
  for (int32_t i = 0; i < handles->n_kept; i++) {
    int32_t tensor = handles->kept[i];
    if (tensor >= 0 && tensor < handles->n_tensors && held[tensor] > 0) continue;
    return plim_fail(handles->ctx, PLIM_EDATA, "handles: kept[%d] is tensor %d, on which there is no handle", i,
                     tensor);
  }
  return PLIM_OK;
}

static plim_status check_event(const plim_handles *handles, int32_t event, int32_t *held) {
  const plim_event *e = &handles->event[event];
  if (e->kind == PLIM_EVENT_CALL) return check_call(handles, event, held);
  if (e->kind == PLIM_EVENT_CONSTANT) return define(handles, event, e->tensor, held);
  PLIM_TRY(check_held(handles, event, e->tensor, held));
  held[e->tensor] += e->kind == PLIM_EVENT_GET ? 1 : -1;
  return PLIM_OK;
}

static plim_status check(const plim_handles *handles) {
  int32_t *held = NULL;
  PLIM_TRY(check_tensors(handles));
  PLIM_TRY(plim_allocate(handles->ctx, handles->n_tensors, sizeof *held, &held));
  for (int32_t t = 0; t < handles->n_tensors; t++) held[t] = UNDEFINED;
  plim_status status = PLIM_OK;
  for (int32_t i = 0; status == PLIM_OK && i < handles->n_events; i++) status = check_event(handles, i, held);
  if (status == PLIM_OK) status = check_kept(handles, held);
  plim_release(handles->ctx, held, handles->n_tensors, sizeof *held);
  return status;
}

plim_status plim_handles_make(plim_context *ctx, const plim_handles *draft, plim_handles **out) {
  plim_handles *handles = NULL;
  PLIM_TRY(copy(ctx, draft, &handles));
  plim_status status = check(handles);
  if (status == PLIM_OK) {
    *out = handles;
  } else {
    plim_handles_free(handles);
  }
  return status;
}

void plim_handles_free(plim_handles *handles) {
  if (handles) plim_release(handles->ctx, handles, handles->block_bytes, 1);
}

static plim_status match_results(const plim_handles *handles, const plim_graph *graph, const plim_event *event) {
  for (int32_t i = 0; i < event->n_out; i++) {
    const plim_handle_tensor *t = &handles->tensor[event->out[i]];
    if (t->base != event->out[i] || t->storage < 0 || graph->storage[t->storage].producer == event->op) continue;
    return plim_fail(handles->ctx, PLIM_EDATA, "handles: op %d makes tensor %d, but does not write its storage %d",
                     event->op, event->out[i], t->storage);
  }
  return PLIM_OK;
}

plim_status plim_handles_match(const plim_handles *handles, const plim_graph *graph) {
  int32_t op = 0;
  for (int32_t t = 0; t < handles->n_tensors; t++) {
    int32_t s = handles->tensor[t].storage;
    if (s < 0) continue;
    if (s >= graph->n_storages || graph->storage[s].bytes != handles->tensor[t].bytes) {
      return plim_fail(handles->ctx, PLIM_EDATA, "handles: tensor %d has %lld bytes in storage %d, which has not", t,
                       (long long)handles->tensor[t].bytes, s);
    }
  }
  for (int32_t i = 0; i < handles->n_events; i++) {
    const plim_event *e = &handles->event[i];
    if (e->kind != PLIM_EVENT_CALL || e->op < 0) continue;
    if (e->op != op || op >= graph->n_ops || graph->op[op].time_ns != e->time_ns) {
      return plim_fail(handles->ctx, PLIM_EDATA, "handles: event %d calls op %d in %lld ns, not op %d of the graph", i,
                       e->op, (long long)e->time_ns, op);
    }
    PLIM_TRY(match_results(handles, graph, e));
    op++;
  }
  if (op == graph->n_ops) return PLIM_OK;
  return plim_fail(handles->ctx, PLIM_EDATA, "handles: %d ops are called, the graph has %d", op, graph->n_ops);
}
