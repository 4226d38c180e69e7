/* Calls of a DTR log: their arguments, and their results with the lines that follow. A call becomes an event of the
 * handle program and, when a result is no view, an op of the graph. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/graph/printable.h"
#include "runtime/import/dtr_import.h"

enum { OPERANDS_MAX = 8 }; /* further results share the last one's storage; further inputs are in no in-place pair */

static plim_status list_add(plim_dtr_import *im, plim_dtr_list *l, int32_t id) {
  PLIM_TRY(plim_array_reserve(im->ctx, &l->id, &l->capacity, l->count + 1, sizeof *l->id));
  l->id[l->count++] = id;
  return PLIM_OK;
}

/* Whether the op, by its name in the log, draws at random. Such ops are tagged, since a recomputation has to draw the
 * same. */
static int draws_at_random(const char *op) {
  static const char *const parts[] = {"dropout", "droupout", "rand", "bernoulli", "normal_", "uniform_", "multinomial"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(op, parts[i]) && !strstr(op, "backward")) return 1;
  }
  return 0;
}

/* Collect the values of the arguments, each storage once. */
static plim_status collect_inputs(plim_dtr_import *im) {
  im->values.count = 0;
  im->n_calls++;
  for (int64_t i = 0; i < im->args.count; i++) {
    int32_t value = im->value[im->args.id[i]];
    if (value == PLIM_DTR_NO_VALUE) continue;
    PLIM_TRY(plim_array_reserve(im->ctx, &im->in_call, &im->in_call_capacity, (int64_t)value + 1, sizeof *im->in_call));
    if (im->in_call[value] == im->n_calls) continue;
    im->in_call[value] = im->n_calls;
    PLIM_TRY(list_add(im, &im->values, value));
  }
  return PLIM_OK;
}

static plim_status add_output(plim_dtr_import *im, plim_op_spec *spec, int32_t value) {
  if (spec->n_out == OPERANDS_MAX) {
    return plim_dtr_fail(im, "'%.255s' has more results than an op may have", spec->name);
  }
  spec->out[spec->n_out++] = value;
  return PLIM_OK;
}

/* Collect the results that are no views and have bytes. When there are none, a value of one byte replaces them. */
static plim_status collect_outputs(plim_dtr_import *im, plim_op_spec *spec) {
  int32_t value;
  for (int64_t i = 0; i < im->results.count; i++) {
    int32_t tensor = im->results.id[i];
    if (im->program.tensor[tensor].base != tensor || im->value[tensor] == PLIM_DTR_NO_VALUE) continue;
    PLIM_TRY(add_output(im, spec, im->value[tensor]));
  }
  if (spec->n_out > 0) return PLIM_OK;
  char name[PLIM_PRINTABLE_NAME_MAX + 1];
  (void)snprintf(name, sizeof name, "nothing@%lld", (long long)im->lines.number);
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &(int64_t){1});
  PLIM_TRY(plim_dtr_at_line(im, plim_graph_add(im->graph, name, PLIM_ROLE_ACTIVATION, &shape, &value)));
  return add_output(im, spec, value);
}

/* Add the in-place pair of a mutated tensor: the result may be written over it, unless it is a constant, or the op does
 * not have the result among its own. */
static void add_pair(const plim_dtr_import *im, plim_op_spec *spec, int32_t mutated, int32_t result) {
  int32_t in = 0, out = 0;
  if (im->value[mutated] == PLIM_DTR_NO_VALUE || spec->n_pairs == PLIM_OP_MAX_PAIRS) return;
  int32_t storage = plim_graph_builder_storage(im->graph, im->value[mutated]);
  if (plim_role_persistent(plim_graph_builder_role(im->graph, storage))) return;
  while (in < spec->n_in && im->values.id[in] != im->value[mutated]) in++;
  while (out < spec->n_out && spec->out[out] != im->value[result]) out++;
  if (in < spec->n_in && in < OPERANDS_MAX && out < spec->n_out) spec->pair[spec->n_pairs++] = (plim_pair){out, in};
}

/* Add the op of the current call, if it has a result that is no view, and the event. mutated [n]: tensors that results
 * 0 .. n-1 replace. */
static plim_status add_call(plim_dtr_import *im, const char *op, int64_t time_ns, const int32_t *mutated, int32_t n) {
  char name[PLIM_PRINTABLE_NAME_MAX + 1];
  int fresh = 0;
  int32_t id = -1;
  for (int64_t i = 0; i < im->results.count; i++) {
    fresh |= im->program.tensor[im->results.id[i]].base == im->results.id[i];
  }
  if (fresh) {
    PLIM_TRY(plim_dtr_at_line(im, plim_printable_name(im->ctx, "op", op)));
    (void)snprintf(name, sizeof name, "%.230s.%lld", op, (long long)plim_graph_builder_ops(im->graph));
    PLIM_TRY(collect_inputs(im));
    plim_op_spec spec = {.name = name,
                         .kind = PLIM_OP_CUSTOM,
                         .cls = draws_at_random(op) ? PLIM_OP_RANDOM : PLIM_OP_PURE,
                         .phase = im->phase,
                         .n_in = (int32_t)im->values.count,
                         .many_in = im->values.id,
                         .time_ns = time_ns};
    PLIM_TRY(collect_outputs(im, &spec));
    for (int32_t i = 0; i < n; i++) add_pair(im, &spec, mutated[i], im->results.id[i]);
    PLIM_TRY(plim_dtr_at_line(im, plim_graph_add_op(im->graph, &spec, &id)));
  }
  return plim_handles_add_event(&im->program, &(plim_event){.kind = PLIM_EVENT_CALL,
                                                            .op = id,
                                                            .time_ns = time_ns,
                                                            .n_in = (int32_t)im->args.count,
                                                            .n_out = (int32_t)im->results.count,
                                                            .in = im->args.id,
                                                            .out = im->results.id});
}

static plim_status read_time(plim_dtr_import *im, int64_t *time_ns) {
  *time_ns = plim_dtr_number(&im->lines, "TIME", 0);
  PLIM_TRY(im->lines.doc.status);
  im->total_ns = plim_add_checked(im->total_ns, *time_ns);
  return im->total_ns >= 0 ? PLIM_OK : plim_dtr_fail(im, "the sum of all TIME does not fit in 63 bits");
}

static plim_status read_args(plim_dtr_import *im) {
  int32_t n = 0;
  plim_dtr_handle *h = NULL;
  plim_json_at args = plim_json_list(&im->lines.root, "ARGS", &n);
  im->args.count = 0;
  for (int32_t i = 0; i < n; i++) {
    const char *name = plim_json_text_item(&args, i);
    PLIM_TRY(im->lines.doc.status);
    h = plim_dtr_find_handle(im, name);
    if (!h) return PLIM_EDATA;
    PLIM_TRY(list_add(im, &im->args, h->tensor));
  }
  return im->lines.doc.status;
}

/* Enlarge the storage of a result of the current call, and every tensor that shares it. */
static plim_status grow(plim_dtr_import *im, int32_t tensor, int64_t bytes) {
  PLIM_TRY(plim_dtr_count_bytes(im, bytes));
  int64_t sum = im->program.tensor[tensor].bytes + bytes;
  plim_graph_builder_set_bytes(im->graph, im->value[tensor], sum);
  for (int32_t t = tensor; t < im->program.n_tensors; t++) {
    if (im->program.tensor[t].base == tensor) im->program.tensor[t].bytes = sum;
  }
  return PLIM_OK;
}

/* Add a result with a storage of its own. When a call has more results than an op may have outputs (the gradients of a
 * list of weights), the rest share the storage of the last output. They are made together, and freed when the last of
 * them is released. */
static plim_status add_result(plim_dtr_import *im, const char *name, int64_t bytes, int32_t *tensor) {
  plim_role role = im->phase == PLIM_PHASE_FORWARD ? PLIM_ROLE_ACTIVATION : PLIM_ROLE_GRADIENT;
  if (bytes > 0 && im->shared_result != PLIM_DTR_NO_TENSOR) {
    PLIM_TRY(grow(im, im->shared_result, bytes));
    return plim_dtr_add_view(im, im->shared_result, tensor);
  }
  PLIM_TRY(plim_dtr_add_fresh(im, name, role, bytes, tensor));
  im->n_fresh_results += bytes > 0;
  if (im->n_fresh_results == OPERANDS_MAX && bytes > 0) im->shared_result = *tensor;
  return PLIM_OK;
}

/* Read a result's MEMORY and ALIAS lines, and add its tensor. */
static plim_status read_result(plim_dtr_import *im, const char *name) {
  int64_t bytes = 0;
  int32_t tensor;
  PLIM_TRY(plim_dtr_read_memory(im, name, &bytes));
  PLIM_TRY(plim_dtr_follow(im, PLIM_DTR_ALIAS, "ALIAS", name));
  int64_t of = plim_dtr_number(&im->lines, "ALIAS", -1);
  PLIM_TRY(im->lines.doc.status);
  if (of >= im->args.count) return plim_dtr_fail(im, "'%.255s' is a view of an argument that the call has not", name);
  if (of < 0) {
    PLIM_TRY(add_result(im, name, bytes, &tensor));
  } else {
    PLIM_TRY(plim_dtr_add_view(im, im->args.id[of], &tensor));
  }
  PLIM_TRY(list_add(im, &im->results, tensor));
  return plim_dtr_add_handle(im, name, tensor);
}

/* Reading the lines of the results replaces the current line, so the call's own fields are copied first. */
plim_status plim_dtr_read_call(plim_dtr_import *im) {
  char op[PLIM_PRINTABLE_NAME_MAX + 1], *name = NULL;
  int64_t time_ns = 0, bytes = 0;
  int32_t n = 0;
  plim_json_copy(&im->lines.root, "NAME", op, sizeof op);
  PLIM_TRY(read_time(im, &time_ns));
  PLIM_TRY(read_args(im));
  plim_json_at results = plim_json_list(&im->lines.root, "RESULT", &n);
  PLIM_TRY(im->lines.doc.status);
  if (n == 0) return plim_dtr_fail(im, "'%.255s' has no result", op);
  bytes = plim_mul_checked(n, PLIM_PRINTABLE_NAME_MAX + 1);
  PLIM_TRY(plim_allocate(im->ctx, bytes, 1, &name));
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < n; i++) {
    const char *text = plim_json_text_item(&results, i);
    PLIM_TRY_OR_DONE(im->lines.doc.status);
    PLIM_TRY_OR_DONE(plim_dtr_at_line(im, plim_printable_name(im->ctx, "result", text)));
    (void)snprintf(name + (int64_t)i * (PLIM_PRINTABLE_NAME_MAX + 1), PLIM_PRINTABLE_NAME_MAX + 1, "%s", text);
  }
  im->results.count = im->n_fresh_results = 0;
  im->shared_result = PLIM_DTR_NO_TENSOR;
  for (int32_t i = 0; i < n; i++) PLIM_TRY_OR_DONE(read_result(im, name + (int64_t)i * (PLIM_PRINTABLE_NAME_MAX + 1)));
  PLIM_TRY_OR_DONE(add_call(im, op, time_ns, NULL, 0));
done:
  plim_release(im->ctx, name, bytes, 1);
  return status;
}

/* Give one argument a new version: its handle then stands for a new storage, as large as the old one. */
static plim_status mutate(plim_dtr_import *im, int64_t index, const char *handle_name, plim_dtr_list *mutated) {
  char name[PLIM_PRINTABLE_NAME_MAX + 1];
  plim_dtr_handle *h = NULL;
  int32_t tensor;
  if (index < 0 || index >= im->args.count) return plim_dtr_fail(im, "MUTATE names an argument that is not there");
  h = plim_dtr_find_handle(im, handle_name);
  if (!h) return PLIM_EDATA;
  if (h->tensor != im->args.id[index]) return plim_dtr_fail(im, "'%.255s' is mutated twice", handle_name);
  (void)snprintf(name, sizeof name, "%.220s@%lld", handle_name, (long long)im->lines.number);
  plim_role role = im->phase == PLIM_PHASE_FORWARD ? PLIM_ROLE_ACTIVATION : PLIM_ROLE_GRADIENT;
  PLIM_TRY(plim_dtr_add_fresh(im, name, role, im->program.tensor[h->tensor].bytes, &tensor));
  PLIM_TRY(list_add(im, mutated, h->tensor));
  h->tensor = tensor;
  return list_add(im, &im->results, tensor);
}

plim_status plim_dtr_read_mutate(plim_dtr_import *im) {
  const char *op = plim_dtr_text(&im->lines, "NAME");
  int64_t time_ns = 0;
  int32_t n = 0, n_args = 0;
  plim_dtr_list mutated = {NULL, 0, 0};
  plim_status status = PLIM_OK;
  PLIM_TRY(read_time(im, &time_ns));
  PLIM_TRY(read_args(im));
  plim_json_at args = plim_json_list(&im->lines.root, "ARGS", &n_args);
  plim_json_at which = plim_json_list(&im->lines.root, "MUTATE", &n);
  PLIM_TRY(im->lines.doc.status);
  if (n == 0) return plim_dtr_fail(im, "'%.255s' mutates nothing", op);
  im->results.count = 0;
  for (int32_t i = 0; i < n; i++) {
    int64_t index = plim_json_int_item(&which, i, 0, n_args - 1);
    PLIM_TRY_OR_DONE(im->lines.doc.status);
    PLIM_TRY_OR_DONE(mutate(im, index, plim_json_text_item(&args, (int32_t)index), &mutated));
  }
  PLIM_TRY_OR_DONE(add_call(im, op, time_ns, mutated.id, n));
  for (int64_t i = 0; i < mutated.count; i++)
    PLIM_TRY_OR_DONE(plim_dtr_add_event(im, PLIM_EVENT_RELEASE, mutated.id[i]));
done:
  plim_release(im->ctx, mutated.id, mutated.capacity, sizeof *mutated.id);
  return status;
}
