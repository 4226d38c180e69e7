/* plimsoll bench: tables over public instances, beside what others published. */
#include <stdio.h>
#include <sys/stat.h>

#include "runtime/base/nearest.h"
#include "tools/plimsoll-bench/bench_online.h"
#include "tools/plimsoll/commands.h"

static const struct {
  const char *name, *folder; /* under --data-dir; that folder itself when there is none; NULL: made-up instances */
  bench_table *run;
  int alone; /* 1: without --data-dir it has made-up instances */
} tables[] = {
    {"planners", "graphs", bench_planners, 0}, {"pack", "packing", bench_pack, 1}, {"online", "dtr", bench_online, 0},
    {"large", NULL, bench_large, 1},           {"window", NULL, bench_window, 1},
};
enum { TABLES = sizeof tables / sizeof tables[0], PATH_BYTES = 4096 };

const char *bench_table_name(int32_t row) {
  return row >= 0 && row < TABLES ? tables[row].name : NULL;
}

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
  PLIM_TRY(check_planners(s, tables[row].run == bench_online));
  if (!tables[row].folder || (!s->o->data_dir && tables[row].alone)) return tables[row].run(s, NULL);
  if (!s->o->data_dir)
    return plim_fail(s->ctx, PLIM_EUSAGE, "bench %s requires --data-dir DIR: where the instances are", s->o->file);
  (void)snprintf(folder, sizeof folder, "%s/%s", s->o->data_dir, tables[row].folder);
  return tables[row].run(s, stat(folder, &about) == 0 ? folder : s->o->data_dir);
}

static int run_bench(const options *o) {
  return session_run(o, bench);
}

const command command_bench = {
    .name = "bench",
    .mask = COMMAND_BENCH,
    .file = "TABLE",
    .summary = "tables over public instances, beside published figures",
    .about =
        "Run planners over public instances and print a table beside the figures that others published. Every search "
        "is "
        "made anew: what earlier runs found is not used. After Ctrl-C the rows so far stand; --json says \"partial\". "
        "Instances that were never published have no such columns. Published seconds are of other machines.\n\n"
        "planners: graphs (networkx node-link JSON) at 90, 80 and 70 % of program order's peak, with the proven bound "
        "and "
        "the ratio of time to it. A cell of others' figures has overhead and seconds; \"over\": more bytes than the "
        "budget. \"no plan\": none was found in the effort given.\n\n"
        "pack: buffers (CSV), time to a packing under --capacity and the lowest height in the time limit (default 5 "
        "s). "
        "Without --data-dir: buffers of training steps of --ops operations (default 18000) made up by --seed, and the "
        "time "
        "to 99 % of the load.\n\n"
        "online: logs of the DTR prototype (.log.gz) from 0.9 to 0.2 of the program's peak, every online policy in the "
        "same arena and the plans of search beside them. --planners names other policies and planners; -o FILE keeps "
        "the "
        "tables as Markdown. --sweep 9%:16%:0.2% goes through budgets close together (default: plans of search) and "
        "says "
        "where more memory fails or costs more than less.\n\n"
        "large: graphs made up by --seed, random layers and training steps of --ops operations (default 10000), at "
        "--budgets. Each row has the ratio of its overhead to the best above it and the most memory so far (default 55 "
        "s "
        "a plan).\n\n"
        "window: one search of the arena over 1,000 to 100,000 blocks.",
    .after =
        "EXAMPLES\n"
        "  plimsoll bench planners --data-dir instances --time-limit 10s\n"
        "  plimsoll bench planners --data-dir graphs --planners search,sqrt\n"
        "  plimsoll bench pack\n"
        "  plimsoll bench online --data-dir instances --planners best,coop,dtr,dte\n"
        "  plimsoll bench online --data-dir instances --sweep 9%:16%:0.2%\n"
        "  plimsoll bench large --ops 2000 --time-limit 20s\n"
        "  plimsoll bench large --shapes unet --budgets 50%,30% --planners rotor,search\n",
    .run = run_bench,
};
