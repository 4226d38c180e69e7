/* The table of formats that graphs can be imported from. */
#include "runtime/import/import.h"

#include "runtime/base/file.h"
#include "runtime/base/name.h"
#include "runtime/import/importers.h"

static const struct {
  const char *name, *about;
  plim_importer *run;
} formats[] = {
    {"nx", "networkx node-link JSON: networks of Checkmate and Moccasin, random layered graphs", plim_import_nx},
    {"dtr", "log of the DTR prototype: one training step with sizes, times, views and handles", plim_import_dtr},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

const char *plim_import_name(int32_t row) {
  return row >= 0 && row < FORMATS ? formats[row].name : NULL;
}

const char *plim_import_about(int32_t row) {
  return row >= 0 && row < FORMATS ? formats[row].about : NULL;
}

static plim_status find_format(plim_context *ctx, const char *name, int32_t *row) {
  char advice[PLIM_NAME_ADVICE_BYTES];
  *row = plim_name_find(plim_import_name, name);
  if (*row >= 0) return PLIM_OK;
  return plim_fail(ctx, PLIM_EUSAGE, "graphs are not imported from \"%s\"%s", name,
                   plim_name_advice(plim_import_name, name, advice));
}

plim_status plim_graph_import_text(plim_context *ctx, const char *format, const char *file, const char *text,
                                   int64_t bytes, plim_graph **out) {
  int32_t row;
  PLIM_TRY(find_format(ctx, format, &row));
  return formats[row].run(ctx, file, text, bytes, out);
}

plim_status plim_graph_import(plim_context *ctx, const char *format, const char *path, plim_graph **out) {
  int32_t row;
  char *text = NULL;
  int64_t bytes = 0;
  PLIM_TRY(find_format(ctx, format, &row)); /* first, so that an unknown format costs no reading */
  PLIM_TRY(plim_file_read(ctx, path, PLIM_IMPORT_MAX_BYTES, &text, &bytes));
  plim_status status = formats[row].run(ctx, path, text, bytes, out);
  plim_file_release(ctx, text, bytes);
  return status;
}
