/* One walk over the lines keeps, for each name, the tensor that it is a handle on; rows go to the builders of graph and
 * handle program as they come. What is not assumed of foreign logs: names used again, used before they are defined,
 * released twice, and results whose sizes and aliases are missing are refused with the number of their line.
 * Source: the logger of the DTR prototype (ICLR 2021). */
#include "runtime/import/importers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/graph/builder.h"
#include "runtime/graph/handles_build.h"
#include "runtime/graph/names.h"
#include "runtime/import/dtr_lines.h"
#include "runtime/import/symbols.h"

enum { RELEASED = -1, NO_VALUE = -1, NO_TENSOR = -1 };

typedef struct handle {
  int32_t tensor; /* RELEASED */
  int32_t pinned;
} handle;

typedef struct list {
  int32_t *id; /* [count] */
  int64_t count, capacity;
} list;

typedef struct importer {
  plim_context *ctx;
  plim_dtr_lines lines;
  plim_symbols names;
  plim_handles_builder program; /* the handle program in the making */
  plim_graph_builder *graph;
  handle *handle; /* [names.count] */
  int64_t handle_capacity;
  int32_t *value; /* [program.n_tensors] of the graph, for tensors with a storage; NO_VALUE */
  int64_t value_capacity;
  int64_t total_ns, total_bytes;
  plim_phase phase;
  /* the call in hand */
  list args, results, values; /* tensors, tensors, values of the graph */
  int64_t n_calls;            /* its number, from 1 */
  int64_t *in_call;           /* by value: the call that it was collected for last */
  int64_t in_call_capacity;
  int32_t n_fresh_results; /* with bytes of their own */
  int32_t shared_result;   /* tensor that the results share for which an op has no place; NO_TENSOR */
} importer;

PLIM_PRINTF(2, 3)
static plim_status fail_line(const importer *im, const char *format, ...) {
  char sentence[512];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  return plim_fail(im->ctx, PLIM_EDATA, "%s: line %lld: %s", im->lines.file, (long long)im->lines.number, sentence);
}

/* A failure of a builder gets the line's number. */
static plim_status at_line(importer *im, plim_status status) {
  plim_json_take(&im->lines.root, status);
  return im->lines.doc.status;
}

static plim_status list_add(importer *im, list *l, int32_t id) {
  PLIM_TRY(plim_array_reserve(im->ctx, &l->id, &l->capacity, l->count + 1, sizeof *l->id));
  l->id[l->count++] = id;
  return PLIM_OK;
}

/* ---- handles ---- */

/* NULL when there is none of that name: PLIM_EDATA, with its sentence. */
static handle *find_handle(const importer *im, const char *name) {
  int32_t number = plim_symbols_find(&im->names, name);
  if (number >= 0 && im->handle[number].tensor != RELEASED) return &im->handle[number];
  (void)fail_line(im, "'%.255s' is used %s", name, number < 0 ? "before it is defined" : "after its release");
  return NULL;
}

static plim_status add_handle(importer *im, const char *name, int32_t tensor) {
  int32_t number;
  if (plim_symbols_find(&im->names, name) >= 0) return fail_line(im, "'%.255s' is defined a second time", name);
  PLIM_TRY(plim_symbols_add(&im->names, name, &number));
  PLIM_TRY(plim_array_reserve(im->ctx, &im->handle, &im->handle_capacity, im->names.count, sizeof *im->handle));
  im->handle[number] = (handle){tensor, 0};
  return PLIM_OK;
}

static plim_status add_event(importer *im, plim_event_kind kind, int32_t tensor) {
  return plim_handles_add_event(&im->program, &(plim_event){.kind = kind, .tensor = tensor});
}

/* ---- tensors ---- */

/* Planners add up bytes and round them: what they can hold is the limit. */
static plim_status count_bytes(importer *im, int64_t bytes) {
  im->total_bytes = plim_add_bytes(im->total_bytes, bytes);
  if (im->total_bytes >= 0 && im->total_bytes <= INT64_MAX / 4) return PLIM_OK;
  return fail_line(im, "the sizes add up to more than 2^61 bytes");
}

/* A tensor with a storage of its own and, when it has bytes, a value in the graph. */
static plim_status add_fresh(importer *im, const char *name, plim_role role, int64_t bytes, int32_t *tensor) {
  int32_t value = NO_VALUE, storage = -1;
  PLIM_TRY(count_bytes(im, bytes));
  if (bytes > 0) {
    plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
    PLIM_TRY(at_line(im, plim_graph_add(im->graph, name, role, &shape, &value)));
    storage = im->graph->value[value].value.storage;
  }
  PLIM_TRY(plim_handles_add_tensor(&im->program, -1, storage, bytes, tensor));
  PLIM_TRY(plim_array_reserve(im->ctx, &im->value, &im->value_capacity, im->program.n_tensors, sizeof *im->value));
  im->value[*tensor] = value;
  return PLIM_OK;
}

static plim_status add_view(importer *im, int32_t of, int32_t *tensor) {
  int32_t base = im->program.tensor[of].base;
  plim_handle_tensor t = im->program.tensor[base];
  PLIM_TRY(plim_handles_add_tensor(&im->program, base, t.storage, t.bytes, tensor));
  PLIM_TRY(plim_array_reserve(im->ctx, &im->value, &im->value_capacity, im->program.n_tensors, sizeof *im->value));
  im->value[*tensor] = im->value[base];
  return PLIM_OK;
}

/* The next line must be of this kind, whose word is `word`, and about `name`. */
static plim_status follow(importer *im, plim_dtr_kind kind, const char *word, const char *name) {
  const char *found = NULL;
  int more = 0;
  PLIM_TRY(plim_dtr_next(&im->lines, &more));
  if (more && im->lines.kind == kind) {
    found = plim_dtr_text(&im->lines, "NAME");
    PLIM_TRY(im->lines.doc.status);
  }
  if (found && strcmp(found, name) == 0) return PLIM_OK;
  return fail_line(im, "the %s of '%.255s' should be here", word, name);
}

static plim_status read_memory(importer *im, const char *name, int64_t *bytes) {
  PLIM_TRY(follow(im, PLIM_DTR_MEMORY, "MEMORY", name));
  *bytes = plim_dtr_number(&im->lines, "MEMORY", 0);
  return im->lines.doc.status;
}

/* ---- calls ---- */

/* A draw at random has to be the same again: such ops are tagged. Names as the logger writes them. */
static int draws_at_random(const char *op) {
  static const char *const parts[] = {"dropout", "droupout", "rand", "bernoulli", "normal_", "uniform_", "multinomial"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(op, parts[i]) && !strstr(op, "backward")) return 1;
  }
  return 0;
}

/* The values of the arguments, each storage once. */
static plim_status collect_inputs(importer *im) {
  im->values.count = 0;
  im->n_calls++;
  for (int64_t i = 0; i < im->args.count; i++) {
    int32_t value = im->value[im->args.id[i]];
    if (value == NO_VALUE) continue;
    PLIM_TRY(plim_array_reserve(im->ctx, &im->in_call, &im->in_call_capacity, (int64_t)value + 1, sizeof *im->in_call));
    if (im->in_call[value] == im->n_calls) continue;
    im->in_call[value] = im->n_calls;
    PLIM_TRY(list_add(im, &im->values, value));
  }
  return PLIM_OK;
}

static plim_status add_output(importer *im, plim_op_spec *spec, int32_t value) {
  if (spec->n_out == PLIM_OP_MAX_OUT) return fail_line(im, "'%.255s' has more results than an op may have", spec->name);
  spec->out[spec->n_out++] = value;
  return PLIM_OK;
}

/* Results that are no views and have bytes. When there are none, one byte stands for them. */
static plim_status collect_outputs(importer *im, plim_op_spec *spec) {
  int32_t value;
  for (int64_t i = 0; i < im->results.count; i++) {
    int32_t tensor = im->results.id[i];
    if (im->program.tensor[tensor].base != tensor || im->value[tensor] == NO_VALUE) continue;
    PLIM_TRY(add_output(im, spec, im->value[tensor]));
  }
  if (spec->n_out > 0) return PLIM_OK;
  char name[PLIM_NAME_MAX + 1];
  (void)snprintf(name, sizeof name, "nothing@%lld", (long long)im->lines.number);
  plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &(int64_t){1});
  PLIM_TRY(at_line(im, plim_graph_add(im->graph, name, PLIM_ROLE_ACTIVATION, &shape, &value)));
  return add_output(im, spec, value);
}

/* The result of a mutation may be written over what it mutates, unless that is a constant. */
static void add_pair(const importer *im, plim_op_spec *spec, int32_t mutated, int32_t result) {
  int32_t in = 0, out = 0;
  if (im->value[mutated] == NO_VALUE || spec->n_pairs == PLIM_OP_MAX_PAIRS) return;
  int32_t storage = im->graph->value[im->value[mutated]].value.storage;
  if (plim_role_persistent(im->graph->storage[storage].role)) return;
  while (im->values.id[in] != im->value[mutated]) in++;
  while (spec->out[out] != im->value[result]) out++;
  if (in < PLIM_OP_MAX_IN) spec->pair[spec->n_pairs++] = (plim_pair){out, in};
}

/* The op of the call in hand, when it has a result that is no view; the event. mutated [n]: tensors that results
 * 0 .. n-1 replace. */
static plim_status add_call(importer *im, const char *op, int64_t time_ns, const int32_t *mutated, int32_t n) {
  char name[PLIM_NAME_MAX + 1];
  int fresh = 0;
  int32_t id = -1;
  for (int64_t i = 0; i < im->results.count; i++)
    fresh |= im->program.tensor[im->results.id[i]].base == im->results.id[i];
  if (fresh) {
    PLIM_TRY(at_line(im, plim_name_check(im->ctx, "op", op)));
    (void)snprintf(name, sizeof name, "%.230s.%lld", op, (long long)im->graph->n_ops);
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
    PLIM_TRY(at_line(im, plim_graph_add_op(im->graph, &spec, &id)));
  }
  return plim_handles_add_event(&im->program, &(plim_event){.kind = PLIM_EVENT_CALL,
                                                            .op = id,
                                                            .time_ns = time_ns,
                                                            .n_in = (int32_t)im->args.count,
                                                            .n_out = (int32_t)im->results.count,
                                                            .in = im->args.id,
                                                            .out = im->results.id});
}

static plim_status read_time(importer *im, int64_t *time_ns) {
  *time_ns = plim_dtr_number(&im->lines, "TIME", 0);
  PLIM_TRY(im->lines.doc.status);
  im->total_ns = plim_add_bytes(im->total_ns, *time_ns);
  return im->total_ns >= 0 ? PLIM_OK : fail_line(im, "the sum of all TIME does not fit in 63 bits");
}

static plim_status read_args(importer *im) {
  int32_t n = 0;
  handle *h = NULL;
  plim_json_at args = plim_json_list(&im->lines.root, "ARGS", &n);
  im->args.count = 0;
  for (int32_t i = 0; i < n; i++) {
    const char *name = plim_json_text_item(&args, i);
    PLIM_TRY(im->lines.doc.status);
    h = find_handle(im, name);
    if (!h) return PLIM_EDATA;
    PLIM_TRY(list_add(im, &im->args, h->tensor));
  }
  return im->lines.doc.status;
}

/* The storage of a result of the call in hand grows, and with it whatever shares it. */
static plim_status grow(importer *im, int32_t tensor, int64_t bytes) {
  plim_value *value = &im->graph->value[im->value[tensor]].value;
  PLIM_TRY(count_bytes(im, bytes));
  int64_t sum = im->program.tensor[tensor].bytes + bytes;
  value->shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &sum);
  value->bytes = im->graph->storage[value->storage].bytes = sum;
  for (int32_t t = tensor; t < im->program.n_tensors; t++) {
    if (im->program.tensor[t].base == tensor) im->program.tensor[t].bytes = sum;
  }
  return PLIM_OK;
}

/* A result with a storage of its own. Of more than an op may have (gradients of a list of weights), the last place
 * takes all that are left: they come together, and go when the last of them does. */
static plim_status add_result(importer *im, const char *name, int64_t bytes, int32_t *tensor) {
  plim_role role = im->phase == PLIM_PHASE_FORWARD ? PLIM_ROLE_ACTIVATION : PLIM_ROLE_GRADIENT;
  if (bytes > 0 && im->shared_result != NO_TENSOR) {
    PLIM_TRY(grow(im, im->shared_result, bytes));
    return add_view(im, im->shared_result, tensor);
  }
  PLIM_TRY(add_fresh(im, name, role, bytes, tensor));
  im->n_fresh_results += bytes > 0;
  if (im->n_fresh_results == PLIM_OP_MAX_OUT && bytes > 0) im->shared_result = *tensor;
  return PLIM_OK;
}

/* A result's MEMORY and ALIAS lines, and its tensor. */
static plim_status read_result(importer *im, const char *name) {
  int64_t bytes = 0;
  int32_t tensor;
  PLIM_TRY(read_memory(im, name, &bytes));
  PLIM_TRY(follow(im, PLIM_DTR_ALIAS, "ALIAS", name));
  int64_t of = plim_dtr_number(&im->lines, "ALIAS", -1);
  PLIM_TRY(im->lines.doc.status);
  if (of >= im->args.count) return fail_line(im, "'%.255s' is a view of an argument that the call has not", name);
  if (of < 0) {
    PLIM_TRY(add_result(im, name, bytes, &tensor));
  } else {
    PLIM_TRY(add_view(im, im->args.id[of], &tensor));
  }
  PLIM_TRY(list_add(im, &im->results, tensor));
  return add_handle(im, name, tensor);
}

/* Names of results are read from lines that follow, so the call's own fields are copied out of its line first. */
static plim_status read_call(importer *im) {
  char op[PLIM_NAME_MAX + 1], *name = NULL;
  int64_t time_ns = 0, bytes = 0;
  int32_t n = 0;
  plim_json_copy(&im->lines.root, "NAME", op, sizeof op);
  PLIM_TRY(read_time(im, &time_ns));
  PLIM_TRY(read_args(im));
  plim_json_at results = plim_json_list(&im->lines.root, "RESULT", &n);
  PLIM_TRY(im->lines.doc.status);
  if (n == 0) return fail_line(im, "'%.255s' has no result", op);
  bytes = plim_mul_bytes(n, PLIM_NAME_MAX + 1);
  PLIM_TRY(plim_allocate(im->ctx, bytes, 1, &name));
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < n; i++) {
    const char *text = plim_json_text_item(&results, i);
    PLIM_CHECK(im->lines.doc.status);
    PLIM_CHECK(at_line(im, plim_name_check(im->ctx, "result", text)));
    (void)snprintf(name + (int64_t)i * (PLIM_NAME_MAX + 1), PLIM_NAME_MAX + 1, "%s", text);
  }
  im->results.count = im->n_fresh_results = 0;
  im->shared_result = NO_TENSOR;
  for (int32_t i = 0; i < n; i++) PLIM_CHECK(read_result(im, name + (int64_t)i * (PLIM_NAME_MAX + 1)));
  PLIM_CHECK(add_call(im, op, time_ns, NULL, 0));
done:
  plim_release(im->ctx, name, bytes, 1);
  return status;
}

/* A new version for one argument: its handle goes over to a fresh storage as large as the old one. */
static plim_status mutate(importer *im, int64_t index, const char *handle_name, list *mutated) {
  char name[PLIM_NAME_MAX + 1];
  handle *h = NULL;
  int32_t tensor;
  if (index < 0 || index >= im->args.count) return fail_line(im, "MUTATE names an argument that is not there");
  h = find_handle(im, handle_name);
  if (!h) return PLIM_EDATA;
  if (h->tensor != im->args.id[index]) return fail_line(im, "'%.255s' is mutated twice", handle_name);
  (void)snprintf(name, sizeof name, "%.220s@%lld", handle_name, (long long)im->lines.number);
  plim_role role = im->phase == PLIM_PHASE_FORWARD ? PLIM_ROLE_ACTIVATION : PLIM_ROLE_GRADIENT;
  PLIM_TRY(add_fresh(im, name, role, im->program.tensor[h->tensor].bytes, &tensor));
  PLIM_TRY(list_add(im, mutated, h->tensor));
  h->tensor = tensor;
  return list_add(im, &im->results, tensor);
}

static plim_status read_mutate(importer *im) {
  const char *op = plim_dtr_text(&im->lines, "NAME");
  int64_t time_ns = 0;
  int32_t n = 0, n_args = 0;
  list mutated = {NULL, 0, 0};
  plim_status status = PLIM_OK;
  PLIM_TRY(read_time(im, &time_ns));
  PLIM_TRY(read_args(im));
  plim_json_at args = plim_json_list(&im->lines.root, "ARGS", &n_args);
  plim_json_at which = plim_json_list(&im->lines.root, "MUTATE", &n);
  PLIM_TRY(im->lines.doc.status);
  if (n == 0) return fail_line(im, "'%.255s' mutates nothing", op);
  im->results.count = 0;
  for (int32_t i = 0; i < n; i++) {
    int64_t index = plim_json_int_item(&which, i, 0, n_args - 1);
    PLIM_CHECK(im->lines.doc.status);
    PLIM_CHECK(mutate(im, index, plim_json_text_item(&args, (int32_t)index), &mutated));
  }
  PLIM_CHECK(add_call(im, op, time_ns, mutated.id, n));
  for (int64_t i = 0; i < mutated.count; i++) PLIM_CHECK(add_event(im, PLIM_EVENT_RELEASE, mutated.id[i]));
done:
  plim_release(im->ctx, mutated.id, mutated.capacity, sizeof *mutated.id);
  return status;
}

/* ---- the other instructions ---- */

static plim_status read_constant(importer *im) {
  char name[PLIM_NAME_MAX + 1];
  int64_t bytes = 0;
  int32_t tensor;
  plim_json_copy(&im->lines.root, "NAME", name, sizeof name);
  PLIM_TRY(im->lines.doc.status);
  PLIM_TRY(read_memory(im, name, &bytes));
  PLIM_TRY(add_fresh(im, name, PLIM_ROLE_PARAM, bytes, &tensor));
  PLIM_TRY(add_handle(im, name, tensor));
  return add_event(im, PLIM_EVENT_CONSTANT, tensor);
}

static plim_status read_copy(importer *im) {
  handle *source = NULL;
  const char *from = plim_dtr_text(&im->lines, "SRC"), *to = plim_dtr_text(&im->lines, "DST");
  PLIM_TRY(im->lines.doc.status);
  source = find_handle(im, from);
  if (!source) return PLIM_EDATA;
  int32_t tensor = source->tensor;
  PLIM_TRY(add_handle(im, to, tensor));
  return add_event(im, PLIM_EVENT_GET, tensor);
}

static plim_status read_copy_from(importer *im) {
  handle *source = NULL, *target = NULL;
  const char *from = plim_dtr_text(&im->lines, "SRC"), *to = plim_dtr_text(&im->lines, "DST");
  PLIM_TRY(im->lines.doc.status);
  source = find_handle(im, from);
  if (!source) return PLIM_EDATA;
  target = find_handle(im, to);
  if (!target) return PLIM_EDATA;
  if (source == target) return PLIM_OK;
  PLIM_TRY(add_event(im, PLIM_EVENT_RELEASE, target->tensor));
  target->tensor = source->tensor;
  return add_event(im, PLIM_EVENT_GET, target->tensor);
}

/* Names that were never defined are let go: the logger releases some from before START. */
static plim_status read_release(importer *im) {
  handle *h = NULL;
  const char *name = plim_dtr_text(&im->lines, "NAME");
  PLIM_TRY(im->lines.doc.status);
  if (plim_symbols_find(&im->names, name) < 0) return PLIM_OK;
  h = find_handle(im, name);
  if (!h) return PLIM_EDATA;
  if (h->pinned) return PLIM_OK;
  PLIM_TRY(add_event(im, PLIM_EVENT_RELEASE, h->tensor));
  h->tensor = RELEASED;
  return PLIM_OK;
}

static plim_status read_pin(importer *im) {
  handle *h = NULL;
  const char *name = plim_dtr_text(&im->lines, "NAME");
  PLIM_TRY(im->lines.doc.status);
  h = find_handle(im, name);
  if (!h) return PLIM_EDATA;
  h->pinned = 1;
  return PLIM_OK;
}

static plim_status read_annotate(importer *im) {
  const char *what = plim_dtr_text(&im->lines, "ANNOTATION");
  PLIM_TRY(im->lines.doc.status);
  if (strcmp(what, "BACKWARD") == 0 && im->phase == PLIM_PHASE_FORWARD) {
    im->phase = PLIM_PHASE_BACKWARD;
    return PLIM_OK;
  }
  return fail_line(im, "annotation '%.40s' is not one that can come here", what);
}

static plim_status read_alone(importer *im) {
  return fail_line(im, "a MEMORY or ALIAS line belongs after a CONSTANT or CALL");
}

typedef plim_status reader(importer *im);

static reader *const readers[PLIM_DTR_KIND_COUNT] = {
    [PLIM_DTR_ANNOTATE] = read_annotate, [PLIM_DTR_CONSTANT] = read_constant,
    [PLIM_DTR_MEMORY] = read_alone,      [PLIM_DTR_CALL] = read_call,
    [PLIM_DTR_ALIAS] = read_alone,       [PLIM_DTR_MUTATE] = read_mutate,
    [PLIM_DTR_COPY] = read_copy,         [PLIM_DTR_COPY_FROM] = read_copy_from,
    [PLIM_DTR_RELEASE] = read_release,   [PLIM_DTR_PIN] = read_pin};

/* ---- the log ---- */

/* Everything before START is left alone. */
static plim_status skip_to_start(importer *im) {
  int more = 1;
  while (more) {
    PLIM_TRY(plim_dtr_next(&im->lines, &more));
    if (!more || im->lines.kind != PLIM_DTR_ANNOTATE) continue;
    const char *what = plim_dtr_text(&im->lines, "ANNOTATION");
    PLIM_TRY(im->lines.doc.status);
    if (strcmp(what, "START") == 0) return PLIM_OK;
  }
  return plim_fail(im->ctx, PLIM_EDATA, "%s: none of the %lld lines is the annotation START", im->lines.file,
                   (long long)im->lines.number);
}

/* Tensors with a handle stay to the end, in the order of their handles' names; what they are of becomes an output. */
static plim_status keep_held(importer *im) {
  for (int32_t i = 0; i < im->names.count; i++) {
    int32_t tensor = im->handle[i].tensor;
    if (tensor == RELEASED) continue;
    PLIM_TRY(plim_handles_add_kept(&im->program, tensor));
    int32_t s = im->program.tensor[tensor].storage;
    if (s >= 0 && !plim_role_persistent(im->graph->storage[s].role)) im->graph->storage[s].role = PLIM_ROLE_OUTPUT;
  }
  return PLIM_OK;
}

/* The graph is called as the file, without its folder and what follows the first point. */
static plim_status begin_graph(importer *im) {
  char name[PLIM_NAME_MAX + 1];
  const char *slash = strrchr(im->lines.file, '/'), *base = slash ? slash + 1 : im->lines.file;
  size_t length = strcspn(base, ".");
  (void)snprintf(name, sizeof name, "%.*s", length > 0 && length < 200 ? (int)length : 3, length > 0 ? base : "log");
  return plim_graph_begin(im->ctx, name, 0, &im->graph);
}

static plim_status read_log(importer *im) {
  int more = 1;
  PLIM_TRY(begin_graph(im));
  PLIM_TRY(skip_to_start(im));
  for (;;) {
    PLIM_TRY(plim_dtr_next(&im->lines, &more));
    if (!more) break;
    PLIM_TRY(readers[im->lines.kind](im));
  }
  if (im->graph->n_ops == 0) {
    return plim_fail(im->ctx, PLIM_EDATA, "%s: none of the %lld lines is a CALL or MUTATE whose result is no view",
                     im->lines.file, (long long)im->lines.number);
  }
  return keep_held(im);
}

static void release(importer *im) {
  plim_dtr_lines_end(&im->lines);
  plim_symbols_release(&im->names);
  plim_handles_builder_release(&im->program);
  plim_graph_builder_free(im->graph);
  plim_release(im->ctx, im->handle, im->handle_capacity, sizeof *im->handle);
  plim_release(im->ctx, im->value, im->value_capacity, sizeof *im->value);
  plim_release(im->ctx, im->in_call, im->in_call_capacity, sizeof *im->in_call);
  plim_release(im->ctx, im->args.id, im->args.capacity, sizeof *im->args.id);
  plim_release(im->ctx, im->results.id, im->results.capacity, sizeof *im->results.id);
  plim_release(im->ctx, im->values.id, im->values.capacity, sizeof *im->values.id);
}

plim_status plim_import_dtr(plim_context *ctx, const char *file, const char *text, int64_t bytes, plim_graph **out) {
  importer im = {.ctx = ctx, .names.ctx = ctx, .program.ctx = ctx, .phase = PLIM_PHASE_FORWARD};
  plim_handles *handles = NULL;
  plim_status status;
  plim_dtr_lines_begin(ctx, file, text, bytes, &im.lines);
  PLIM_CHECK(read_log(&im));
  PLIM_CHECK(plim_handles_build(&im.program, &handles));
  plim_graph_set_handles(im.graph, handles);
  plim_graph_builder *b = im.graph;
  im.graph = NULL;
  PLIM_CHECK(plim_graph_end(b, out));
done:
  release(&im);
  return status;
}
