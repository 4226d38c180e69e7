/* plimsoll-bench: tables over public instances, beside what others published. plimsoll bench runs it. */
#include <stdio.h>
#include <sys/stat.h>

#include "runtime/base/nearest.h"
#include "tools/plimsoll-bench/bench_online.h"
#include "tools/plimsoll-bench/peers.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/json_output.h"
#include "tools/plimsoll/refused_memory.h"
#include "tools/plimsoll/stdio_init.h"

static const struct {
  const char *folder; /* under --data-dir; that folder itself when there is none; NULL: made-up instances */
  bench_table *run;   /* folder NULL: made-up instances */
} tables[] = {
    [BENCH_PLANNERS] = {"graphs", bench_planners}, [BENCH_PACK] = {"packing", bench_pack},
    [BENCH_ONLINE] = {"dtr", bench_online},        [BENCH_LARGE] = {NULL, bench_large},
    [BENCH_WINDOW] = {NULL, bench_window},
};
enum { PATH_BYTES = 4096 };

/* Policies, which table online takes too, and planners. */
static const char *planner_name(int32_t row) {
  int32_t policies = 0;
  while (plim_policy_name(policies)) policies++;
  return row < policies ? plim_policy_name(row) : plim_planner_name(row - policies);
}

/* The names of --planners, before a table begins. */
static plim_status check_planners(session *s, int with_policies) {
  const char *next = s->o->planners ? s->o->planners : "";
  const char *(*names)(int32_t row) = with_policies ? planner_name : plim_planner_name;
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
  PLIM_TRY(check_planners(s, row == BENCH_ONLINE));
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
