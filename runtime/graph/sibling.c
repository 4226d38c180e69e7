/* Paths of documents that belong together. */
#include "runtime/graph/sibling.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"

/* Replace the path's ending by another, or append that when the path ends otherwise. */
static plim_status exchange(plim_context *ctx, const char *from, const char *ending, const char *with, char *path) {
  size_t stem = strlen(from), tail = strlen(ending);
  if (stem > tail && strcmp(from + stem - tail, ending) == 0) stem -= tail;
  if (stem >= PLIM_FILE_PATH_BYTES - 32) return plim_fail(ctx, PLIM_EUSAGE, "the path %.40s... is too long", from);
  (void)snprintf(path, PLIM_FILE_PATH_BYTES, "%.*s%s", (int)stem, from, with);
  return PLIM_OK;
}

int plim_sibling_is_plan(const char *path) {
  const size_t n = strlen(path);
  return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

plim_status plim_sibling_graph_path(plim_context *ctx, const char *plan, char *path) {
  return exchange(ctx, plan, ".json", ".graph.json", path);
}

plim_status plim_sibling_plan_path(plim_context *ctx, const char *trace, char *path) {
  return exchange(ctx, trace, ".jsonl", ".plan.json", path);
}

plim_status plim_sibling_save(const plim_graph *graph, const plim_plan *plan, const char *path) {
  char of_graph[PLIM_FILE_PATH_BYTES];
  if (plim_file_is_direct(path)) return plim_plan_save(plan, path);
  PLIM_TRY(plim_file_try(graph->ctx, path)); /* so that no graph is written without its plan */
  PLIM_TRY(plim_sibling_graph_path(graph->ctx, path, of_graph));
  PLIM_TRY(plim_graph_save(graph, of_graph));
  return plim_plan_save(plan, path);
}

plim_status plim_sibling_save_trace(const plim_graph *graph, const plim_plan *plan, const char *path) {
  char of_plan[PLIM_FILE_PATH_BYTES];
  PLIM_TRY(plim_sibling_plan_path(graph->ctx, path, of_plan));
  return plim_sibling_save(graph, plan, of_plan);
}
