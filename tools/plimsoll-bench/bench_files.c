/* What the tables share: the instances of a folder in the order of their names, how to plan, how to print rows. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plimsoll-bench/bench.h"

enum { PATH_BYTES = 4096 };

static const char *wanted_ending; /* of the listing under way: scandir's filter has no argument */

static int ends_so(const struct dirent *file) {
  size_t length = strlen(file->d_name), tail = strlen(wanted_ending);
  return length > tail && strcmp(file->d_name + length - tail, wanted_ending) == 0;
}

plim_status bench_files(session *s, const char *folder, const char *ending, bench_each *each, void *user) {
  struct dirent **file = NULL;
  char path[PATH_BYTES];
  plim_status status = PLIM_OK;
  wanted_ending = ending;
  int n = scandir(folder, &file, ends_so, alphasort);
  if (n <= 0) {
    free(file);
    return plim_fail(s->ctx, PLIM_ENOFILE, "%s: no folder with files that end in %s", folder, ending);
  }
  for (int i = 0; i < n; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, file[i]->d_name);
    if (status == PLIM_OK) status = each(user, path);
    free(file[i]);
  }
  free(file);
  return status;
}

plim_status bench_go_on(const session *s) {
  if (!plim_context_cancelled(s->ctx)) return PLIM_OK;
  return plim_fail(s->ctx, PLIM_ECANCEL, "stopped: the table ends here");
}

plim_plan_options bench_planning(const session *s, const char *planner) {
  plim_plan_options planning = plim_plan_options_default();
  planning.planner = planner;
  planning.seed = (uint64_t)s->o->seed;
  planning.threads = (int32_t)s->o->threads;
  planning.iterations = s->o->iterations;
  planning.time_limit_ns = (int64_t)(s->o->time_limit * 1e9);
  return planning;
}

void bench_row_add(const session *s, json_t *rows, json_t *row) {
  if (plim_context_cancelled(s->ctx)) (void)json_object_set_new(row, "stopped", json_true());
  (void)json_array_append_new(rows, row);
}

/* Why there are no more rows. */
static void add_failure(const session *s, plim_status status, json_t *object) {
  (void)json_object_set_new(object, "status", json_string(plim_status_name(status)));
  (void)json_object_set_new(object, "error", json_string(plim_context_error(s->ctx)));
}

void bench_rows_end(session *s, plim_status status, json_t *rows) {
  if (s->o->json && (status == PLIM_OK || json_array_size(rows) > 0)) {
    json_t *object = json_pack("{s:O, s:b}", "rows", rows, "partial", status != PLIM_OK);
    if (status != PLIM_OK) add_failure(s, status, object);
    s->answered = 1;
    (void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    printf("\n");
    json_decref(object);
  }
  json_decref(rows);
}
