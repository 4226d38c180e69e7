/* Names of a DTR log, the tensors that they stand for, and the lines with their sizes. A name is refused when it is
 * defined twice, or used before its definition or after its release. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/import/dtr_import.h"

plim_status plim_dtr_fail(const plim_dtr_import *im, const char *format, ...) {
  char sentence[512];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  return plim_fail(im->ctx, PLIM_EDATA, "%s: line %lld: %s", im->lines.file, (long long)im->lines.number, sentence);
}

plim_status plim_dtr_at_line(plim_dtr_import *im, plim_status status) {
  plim_json_take(&im->lines.root, status);
  return im->lines.doc.status;
}

/* ---- handles ---- */

plim_dtr_handle *plim_dtr_find_handle(const plim_dtr_import *im, const char *name) {
  int32_t number = plim_symbols_find(&im->names, name);
  if (number >= 0 && im->handle[number].tensor != PLIM_DTR_RELEASED) return &im->handle[number];
  (void)plim_dtr_fail(im, "'%.255s' is used %s", name, number < 0 ? "before it is defined" : "after its release");
  return NULL;
}

plim_status plim_dtr_add_handle(plim_dtr_import *im, const char *name, int32_t tensor) {
  int32_t number;
  if (plim_symbols_find(&im->names, name) >= 0) return plim_dtr_fail(im, "'%.255s' is defined a second time", name);
  PLIM_TRY(plim_symbols_add(&im->names, name, &number));
  PLIM_TRY(plim_array_reserve(im->ctx, &im->handle, &im->handle_capacity, im->names.count, sizeof *im->handle));
  im->handle[number] = (plim_dtr_handle){tensor, 0};
  return PLIM_OK;
}

plim_status plim_dtr_add_event(plim_dtr_import *im, plim_event_kind kind, int32_t tensor) {
  return plim_handles_add_event(&im->program, &(plim_event){.kind = kind, .tensor = tensor});
}

/* ---- tensors ---- */

plim_status plim_dtr_count_bytes(plim_dtr_import *im, int64_t bytes) {
  im->total_bytes = plim_add_checked(im->total_bytes, bytes);
  if (im->total_bytes >= 0 && im->total_bytes <= INT64_MAX / 4) return PLIM_OK;
  return plim_dtr_fail(im, "the sizes add up to more than 2^61 bytes");
}

plim_status plim_dtr_add_fresh(plim_dtr_import *im, const char *name, plim_role role, int64_t bytes, int32_t *tensor) {
  int32_t value = PLIM_DTR_NO_VALUE, storage = -1;
  PLIM_TRY(plim_dtr_count_bytes(im, bytes));
  if (bytes > 0) {
    plim_shape shape = plim_shape_make(PLIM_U8, PLIM_FLAT, 1, &bytes);
    PLIM_TRY(plim_dtr_at_line(im, plim_graph_add(im->graph, name, role, &shape, &value)));
    storage = plim_graph_builder_storage(im->graph, value);
  }
  PLIM_TRY(plim_handles_add_tensor(&im->program, -1, storage, bytes, tensor));
  PLIM_TRY(plim_array_reserve(im->ctx, &im->value, &im->value_capacity, im->program.n_tensors, sizeof *im->value));
  im->value[*tensor] = value;
  return PLIM_OK;
}

plim_status plim_dtr_add_view(plim_dtr_import *im, int32_t of, int32_t *tensor) {
  int32_t base = im->program.tensor[of].base;
  plim_handle_tensor t = im->program.tensor[base];
  PLIM_TRY(plim_handles_add_tensor(&im->program, base, t.storage, t.bytes, tensor));
  PLIM_TRY(plim_array_reserve(im->ctx, &im->value, &im->value_capacity, im->program.n_tensors, sizeof *im->value));
  im->value[*tensor] = im->value[base];
  return PLIM_OK;
}

plim_status plim_dtr_follow(plim_dtr_import *im, plim_dtr_kind kind, const char *word, const char *name) {
  const char *found = NULL;
  int more = 0;
  PLIM_TRY(plim_dtr_next(&im->lines, &more));
  if (more && im->lines.kind == kind) {
    found = plim_dtr_text(&im->lines, "NAME");
    PLIM_TRY(im->lines.doc.status);
  }
  if (found && strcmp(found, name) == 0) return PLIM_OK;
  return plim_dtr_fail(im, "the %s of '%.255s' should be here", word, name);
}

plim_status plim_dtr_read_memory(plim_dtr_import *im, const char *name, int64_t *bytes) {
  PLIM_TRY(plim_dtr_follow(im, PLIM_DTR_MEMORY, "MEMORY", name));
  *bytes = plim_dtr_number(&im->lines, "MEMORY", 0);
  return im->lines.doc.status;
}
