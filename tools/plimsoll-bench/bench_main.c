/* plimsoll-bench: tables over public instances, beside what others published. plimsoll bench runs it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "planner/spaces/space_make.h"
#include "runtime/base/name.h"
#include "tools/plimsoll-bench/bench.h"
#include "tools/plimsoll-bench/peers.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/process.h"

/* ---- what the tables share: instances of a folder, how to plan, rows ---- */

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

void bench_say_missing(const session *s) {
  static char said[PLIM_ERROR_BYTES];
  if (strcmp(said, plim_context_error(s->ctx)) == 0) return;
  (void)snprintf(said, sizeof said, "%s", plim_context_error(s->ctx));
  (void)fprintf(stderr, "plimsoll: %s\n", said);
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

const char *bench_next_name(const char *names, char name[BENCH_NAME]) {
  size_t length = strcspn(names, ",");
  (void)snprintf(name, BENCH_NAME, "%.*s", (int)length, names);
  return names + length + (names[length] == ',');
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

/* ---- the program ---- */

static const struct {
  const char *folder; /* under --data-dir; that folder itself when there is none; NULL: made-up instances */
  bench_table *run;   /* folder NULL: made-up instances */
} tables[] = {
    [BENCH_PLANNERS] = {"graphs", bench_planners}, [BENCH_PACK] = {"packing", bench_pack},
    [BENCH_ONLINE] = {"dtr", bench_online},        [BENCH_LARGE] = {NULL, bench_large},
    [BENCH_WINDOW] = {NULL, bench_window},         [BENCH_TIGHT] = {"packing", bench_tight},
    [BENCH_POET] = {"poet", bench_poet},           [BENCH_JOINT] = {NULL, bench_joint},
    [BENCH_XENGINE] = {NULL, bench_xengine},
};

/* Policies, which table online takes too, and planners. */
static const char *planner_name(int32_t row) {
  int32_t policies = 0;
  while (plim_policy_name(policies)) policies++;
  return row < policies ? plim_policy_name(row) : plim_planner_name(row - policies);
}

/* The names of --planners, before a table begins. */
static plim_status check_planners(session *s, int32_t table) {
  const char *next = s->o->planners ? s->o->planners : "";
  int with_policies = table == BENCH_ONLINE;
  const char *(*names)(int32_t row) = with_policies ? planner_name : plim_planner_name;
  if (table == BENCH_POET) names = plim_space_planner_name;
  char name[BENCH_NAME], advice[PLIM_NAME_ADVICE_BYTES];
  while (*next) {
    next = bench_next_name(next, name);
    if (plim_name_find(names, name) >= 0) continue;
    return plim_fail(s->ctx, PLIM_EUSAGE, "--planners: no planner%s is called \"%s\"%s",
                     with_policies ? " or policy" : "", name, plim_name_advice(names, name, advice));
  }
  return PLIM_OK;
}

static plim_status bench(session *s) {
  char folder[PATH_BYTES], advice[PLIM_NAME_ADVICE_BYTES];
  struct stat about;
  int32_t row = plim_name_find(bench_table_name, s->o->file);
  if (row < 0) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "bench has no table \"%s\"%s", s->o->file,
                     plim_name_advice(bench_table_name, s->o->file, advice));
  }
  PLIM_TRY(check_planners(s, row));
  if (!tables[row].folder || !s->o->data_dir) return tables[row].run(s, NULL);
  (void)snprintf(folder, sizeof folder, "%s/%s", s->o->data_dir, tables[row].folder);
  return tables[row].run(s, stat(folder, &about) == 0 ? folder : s->o->data_dir);
}

int main(int argc, char **argv) {
  options o;
  standard_streams();
  peers_add();
  options_parse(&command_bench, argc, argv, &o);
  refused_memory_watch();
  json_output_watch();
  return json_output_end(session_run(&o, bench));
}
