/* Reads a file that may be compressed. The planner's library reads texts alone: it knows no compression. */
#include "tools/plimsoll/import_file.h"

#include <string.h>

#include "runtime/base/file.h"
#include "runtime/data/gzip.h"
#include "runtime/import/import.h"

/* A stream has no name that could end with .gz: its first bytes say what it is. */
static plim_status import_stream(plim_context *ctx, const char *format, const char *path, plim_graph **out) {
  char *text = NULL, *inflated = NULL;
  int64_t bytes = 0, inflated_bytes = 0;
  PLIM_TRY(plim_file_read(ctx, path, PLIM_IMPORT_MAX_BYTES, &text, &bytes));
  plim_status status = plim_gzip_inflate(ctx, path, text, bytes, PLIM_IMPORT_MAX_BYTES, &inflated, &inflated_bytes);
  if (status == PLIM_OK) {
    status =
        plim_graph_import_text(ctx, format, path, inflated ? inflated : text, inflated ? inflated_bytes : bytes, out);
  }
  if (inflated) plim_file_release(ctx, inflated, inflated_bytes);
  plim_file_release(ctx, text, bytes);
  return status;
}

plim_status import_file(plim_context *ctx, const char *format, const char *path, plim_graph **out) {
  const char *end = strrchr(path, '.');
  char *text = NULL;
  int64_t bytes = 0;
  if (plim_file_is_direct(path)) return import_stream(ctx, format, path, out);
  if (!end || strcmp(end, ".gz") != 0) return plim_graph_import(ctx, format, path, out);
  PLIM_TRY(plim_gzip_read(ctx, path, PLIM_IMPORT_MAX_BYTES, &text, &bytes));
  plim_status status = plim_graph_import_text(ctx, format, path, text, bytes, out);
  plim_file_release(ctx, text, bytes);
  return status;
}
