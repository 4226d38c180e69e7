/* Makes a graph and a handle program of a DTR log. One walk over the lines keeps, for each name, the tensor that it
 * stands for. Ops and events go to the builders of graph and handle program as they come. Refused, with the number of
 * the line, are: names defined twice, used before their definition or released twice, and results whose sizes or
 * aliases are missing.
 * Source: the logger of the DTR prototype (ICLR 2021). */
#include <stdio.h>
#include <string.h>

#include "runtime/graph/printable.h"
#include "runtime/import/dtr_import.h"
#include "runtime/import/importers.h"

/* ---- instructions other than calls ---- */

static plim_status read_constant(plim_dtr_import *im) {
  char name[PLIM_PRINTABLE_NAME_MAX + 1];
  int64_t bytes = 0;
  int32_t tensor;
  plim_json_copy(&im->lines.root, "NAME", name, sizeof name);
  PLIM_TRY(im->lines.doc.status);
  PLIM_TRY(plim_dtr_read_memory(im, name, &bytes));
  PLIM_TRY(plim_dtr_add_fresh(im, name, PLIM_ROLE_PARAM, bytes, &tensor));
  PLIM_TRY(plim_dtr_add_handle(im, name, tensor));
  return plim_dtr_add_event(im, PLIM_EVENT_CONSTANT, tensor);
}

static plim_status read_copy(plim_dtr_import *im) {
  plim_dtr_handle *source = NULL;
  const char *from = plim_dtr_text(&im->lines, "SRC"), *to = plim_dtr_text(&im->lines, "DST");
  PLIM_TRY(im->lines.doc.status);
  source = plim_dtr_find_handle(im, from);
  if (!source) return PLIM_EDATA;
  int32_t tensor = source->tensor;
  PLIM_TRY(plim_dtr_add_handle(im, to, tensor));
  return plim_dtr_add_event(im, PLIM_EVENT_GET, tensor);
}

static plim_status read_copy_from(plim_dtr_import *im) {
  plim_dtr_handle *source = NULL, *target = NULL;
  const char *from = plim_dtr_text(&im->lines, "SRC"), *to = plim_dtr_text(&im->lines, "DST");
  PLIM_TRY(im->lines.doc.status);
  source = plim_dtr_find_handle(im, from);
  if (!source) return PLIM_EDATA;
  target = plim_dtr_find_handle(im, to);
  if (!target) return PLIM_EDATA;
  if (source == target) return PLIM_OK;
  PLIM_TRY(plim_dtr_add_event(im, PLIM_EVENT_RELEASE, target->tensor));
  target->tensor = source->tensor;
  return plim_dtr_add_event(im, PLIM_EVENT_GET, target->tensor);
}

/* A release of a name that was never defined is ignored: the logger releases tensors that it made before START. */
static plim_status read_release(plim_dtr_import *im) {
  plim_dtr_handle *h = NULL;
  const char *name = plim_dtr_text(&im->lines, "NAME");
  PLIM_TRY(im->lines.doc.status);
  if (plim_symbols_find(&im->names, name) < 0) return PLIM_OK;
  h = plim_dtr_find_handle(im, name);
  if (!h) return PLIM_EDATA;
  if (h->pinned) return PLIM_OK;
  PLIM_TRY(plim_dtr_add_event(im, PLIM_EVENT_RELEASE, h->tensor));
  h->tensor = PLIM_DTR_RELEASED;
  return PLIM_OK;
}

static plim_status read_pin(plim_dtr_import *im) {
  plim_dtr_handle *h = NULL;
  const char *name = plim_dtr_text(&im->lines, "NAME");
  PLIM_TRY(im->lines.doc.status);
  h = plim_dtr_find_handle(im, name);
  if (!h) return PLIM_EDATA;
  h->pinned = 1;
  return PLIM_OK;
}

static plim_status read_annotate(plim_dtr_import *im) {
  const char *what = plim_dtr_text(&im->lines, "ANNOTATION");
  PLIM_TRY(im->lines.doc.status);
  if (strcmp(what, "BACKWARD") == 0 && im->phase == PLIM_PHASE_FORWARD) {
    im->phase = PLIM_PHASE_BACKWARD;
    return PLIM_OK;
  }
  return plim_dtr_fail(im, "annotation '%.40s' is not one that can come here", what);
}

static plim_status read_alone(plim_dtr_import *im) {
  return plim_dtr_fail(im, "a MEMORY or ALIAS line belongs after a CONSTANT or CALL");
}

typedef plim_status reader(plim_dtr_import *im);

static reader *const readers[PLIM_DTR_KIND_COUNT] = {
    [PLIM_DTR_ANNOTATE] = read_annotate, [PLIM_DTR_CONSTANT] = read_constant,
    [PLIM_DTR_MEMORY] = read_alone,      [PLIM_DTR_CALL] = plim_dtr_read_call,
    [PLIM_DTR_ALIAS] = read_alone,       [PLIM_DTR_MUTATE] = plim_dtr_read_mutate,
    [PLIM_DTR_COPY] = read_copy,         [PLIM_DTR_COPY_FROM] = read_copy_from,
    [PLIM_DTR_RELEASE] = read_release,   [PLIM_DTR_PIN] = read_pin};

/* ---- the log ---- */

/* Lines before START are skipped. */
static plim_status skip_to_start(plim_dtr_import *im) {
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

/* Tensors that still have a handle stay to the end, in the order of the handles' names. Their storages become outputs.
 */
static plim_status keep_held(plim_dtr_import *im) {
  for (int32_t i = 0; i < im->names.count; i++) {
    int32_t tensor = im->handle[i].tensor;
    if (tensor == PLIM_DTR_RELEASED) continue;
    PLIM_TRY(plim_handles_add_kept(&im->program, tensor));
    int32_t s = im->program.tensor[tensor].storage;
    if (s < 0 || plim_role_persistent(plim_graph_builder_role(im->graph, s))) continue;
    plim_graph_builder_set_role(im->graph, s, PLIM_ROLE_OUTPUT);
  }
  return PLIM_OK;
}

/* The name of the graph is that of the file, without the folder and without the part from the first point on. */
static plim_status begin_graph(plim_dtr_import *im) {
  char name[PLIM_PRINTABLE_NAME_MAX + 1];
  const char *slash = strrchr(im->lines.file, '/'), *base = slash ? slash + 1 : im->lines.file;
  size_t length = strcspn(base, ".");
  (void)snprintf(name, sizeof name, "%.*s", length > 0 && length < 200 ? (int)length : 3, length > 0 ? base : "log");
  return plim_graph_begin(im->ctx, name, 0, &im->graph);
}

static plim_status read_log(plim_dtr_import *im) {
  int more = 1;
  PLIM_TRY(begin_graph(im));
  PLIM_TRY(skip_to_start(im));
  for (;;) {
    PLIM_TRY(plim_dtr_next(&im->lines, &more));
    if (!more) break;
    PLIM_TRY(readers[im->lines.kind](im));
  }
  if (plim_graph_builder_ops(im->graph) == 0) {
    return plim_fail(im->ctx, PLIM_EDATA, "%s: none of the %lld lines is a CALL or MUTATE whose result is no view",
                     im->lines.file, (long long)im->lines.number);
  }
  return keep_held(im);
}

static void release(plim_dtr_import *im) {
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
  plim_dtr_import im = {.ctx = ctx, .names.ctx = ctx, .program.ctx = ctx, .phase = PLIM_PHASE_FORWARD};
  plim_handles *handles = NULL;
  plim_status status;
  plim_dtr_lines_begin(ctx, file, text, bytes, &im.lines);
  PLIM_TRY_OR_DONE(read_log(&im));
  PLIM_TRY_OR_DONE(plim_handles_build(&im.program, &handles));
  plim_graph_set_handles(im.graph, handles);
  plim_graph_builder *builder = im.graph;
  im.graph = NULL;
  PLIM_TRY_OR_DONE(plim_graph_end(builder, out));
done:
  release(&im);
  return status;
}
