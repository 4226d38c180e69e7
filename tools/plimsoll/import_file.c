/* The planner's library reads texts and knows no compression. */
#include "tools/plimsoll/import_file.h"

#include <string.h>

#include "runtime/base/file.h"
#include "runtime/graph/import.h"
#include "runtime/train/gzip.h"

plim_status import_file(plim_context *ctx, const char *format, const char *path, plim_graph **out) {
  const char *end = strrchr(path, '.');
  char *text = NULL;
  int64_t bytes = 0;
  if (!end || strcmp(end, ".gz") != 0) return plim_graph_import(ctx, format, path, out);
  PLIM_TRY(plim_gzip_read(ctx, path, PLIM_IMPORT_MAX_BYTES, &text, &bytes));
  plim_status status = plim_graph_import_text(ctx, format, path, text, bytes, out);
  plim_file_release(ctx, text, bytes);
  return status;
}
