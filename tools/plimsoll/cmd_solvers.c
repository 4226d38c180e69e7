/* plimsoll solvers: which of the solvers that are opened at run time were found. */
#include <stdio.h>

#include "planner/solvers/solver.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/run_train.h"

enum { ERROR_BYTES = 1024 };

typedef struct probed {
  plim_solver_info info; /* of one that was found */
  int found;
  char error[ERROR_BYTES]; /* why another was not, and what to do */
} probed;

static probed probe(plim_context *ctx, const char *name) {
  probed p = {.info = {.name = name}};
  plim_solver *solver = NULL;
  p.found = plim_solver_open(ctx, name, &solver) == PLIM_OK;
  if (p.found) p.info = *plim_solver_about(solver);
  if (!p.found) (void)snprintf(p.error, sizeof p.error, "%s", plim_context_error(ctx));
  plim_solver_close(solver);
  return p;
}

static void print_row(const probed *p) {
  if (p->found) printf("%-6s  %-10s  %s\n", p->info.name, p->info.version, p->info.path);
  if (!p->found) printf("%-6s  %-10s  %s\n", p->info.name, "-", p->error);
}

static json_t *as_json(const probed *p) {
  if (!p->found) return json_pack("{s:s, s:b, s:s}", "name", p->info.name, "found", 0, "error", p->error);
  return json_pack("{s:s, s:b, s:s, s:s}", "name", p->info.name, "found", 1, "version", p->info.version, "path",
                   p->info.path);
}

static plim_status print_solvers(session *s) {
  json_t *list = s->o->json ? json_array() : NULL;
  for (int32_t row = 0; plim_solver_name(row); row++) {
    probed p = probe(s->ctx, plim_solver_name(row));
    if (list) (void)json_array_append_new(list, as_json(&p));
    if (!list) print_row(&p);
  }
  if (!list) return PLIM_OK;
  json_t *object = json_pack("{s:o}", "solvers", list);
  (void)json_dumpf(object, stdout, JSON_INDENT(2));
  printf("\n");
  json_decref(object);
  return PLIM_OK;
}

static int run_solvers(const options *o) {
  return session_run(o, print_solvers);
}

const command command_solvers = {
    .name = "solvers",
    .mask = COMMAND_SOLVERS,
    .summary = "list the exact solvers that were found",
    .about =
        "Tell which solvers for the exact planners were found, in which version and where, and how to get the others. "
        "They are opened at run time and nothing else needs them. `milp`, `lp-round`, `poet` and `xengine` take "
        "the first of highs and cbc; no other planner needs one.",
    .after =
        "EXAMPLES\n"
        "  tools/get_solvers && plimsoll solvers    (installed, the script is\n"
        "                                           libexec/plimsoll/get_solvers)\n\n"
        "ENVIRONMENT\n"
        "  PLIM_HIGHS, PLIM_CBC   the library's file; no other is tried then\n"
        "  PLIM_SOLVER            the program plimsoll-solver, in which highs and cbc\n"
        "                         run (default: beside the library, or in libexec)\n"
        "  XDG_DATA_HOME          plimsoll/lib below it (default: ~/.local/share) is\n"
        "                         searched after the loader's path; ignored unless it\n"
        "                         is an absolute path\n",
    .run = run_solvers,
};
