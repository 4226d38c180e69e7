/* File names that belong together. */
#include "tools/plimsoll/beside.h"

#include <stdio.h>
#include <string.h>

plim_status beside_graph_path(plim_context *ctx, const char *plan, char *path) {
  static const char suffix[] = ".json";
  size_t stem = strlen(plan), tail = sizeof suffix - 1;
  if (stem > tail && strcmp(plan + stem - tail, suffix) == 0) stem -= tail;
  if (stem >= BESIDE_PATH_BYTES - 32) return plim_fail(ctx, PLIM_EUSAGE, "the path %.40s... is too long", plan);
  (void)snprintf(path, BESIDE_PATH_BYTES, "%.*s.graph.json", (int)stem, plan);
  return PLIM_OK;
}
