/* plimsoll trace of a plan over spaces. The plan is read with its graph and checked; then a table of actions. By
 * hand: a screen where there is a terminal, else lines. */
#include "tools/plimsoll/trace/trace_spaces.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/graph/sibling.h"
#include "tools/plimsoll/page_options.h"
#include "tools/plimsoll/plan_spaces.h"
#include "tools/plimsoll/process.h"

enum { LINE = 512 };

/* ---- the file ---- */

static void close_plan(traced_spaces *t) {
  plim_release(t->ctx, t->gap, t->n_gaps, sizeof *t->gap);
  plim_space_inspect_close(&t->in);
  plim_space_plan_free(t->own_plan);
  trace_run_close(t);
  plim_graph_free(t->own_graph);
}

static int names_a_plan(const char *path) {
  size_t n = strlen(path);
  return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

static plim_status open_space_plan(traced_spaces *t, const char *path) {
  char beside[PLIM_FILE_PATH_BYTES];
  plim_plan *other = NULL;
  PLIM_TRY(plim_sibling_graph_path(t->ctx, path, beside));
  PLIM_TRY(plim_space_plan_load_any(t->ctx, path, &other, &t->own_plan));
  plim_plan_free(other);
  t->plan = t->own_plan;
  if (!t->plan) return PLIM_OK;
  PLIM_TRY(plim_graph_load(t->ctx, beside, &t->own_graph));
  t->graph = t->own_graph;
  PLIM_TRY(plim_space_plan_check(t->ctx, t->graph, t->plan));
  return plim_space_inspect_open(t->ctx, t->graph, t->plan, &t->in);
}

/* A plan of one arena is left to others, and so is its trace. */
static plim_status open_plan(traced_spaces *t, const char *path) {
  int is = 0;
  PLIM_TRY(trace_run_open(t, path, &is));
  if (!is && names_a_plan(path)) PLIM_TRY(open_space_plan(t, path));
  return t->plan ? plim_space_inspect_gaps(&t->in, &t->gap, &t->n_gaps) : PLIM_OK;
}

/* ---- by hand ---- */

static int is_any(const traced_spaces *t, int32_t c) {
  (void)t, (void)c;
  return 1;
}

static int is_copy(const traced_spaces *t, int32_t c) {
  return t->plan->command[c].kind == PLIM_SPACE_COMMAND_COPY;
}

static int is_waiting(const traced_spaces *t, int32_t c) {
  return plim_space_inspect_cause(&t->in, c, NULL) >= 0;
}

static int is_repeat(const traced_spaces *t, int32_t c) {
  const plim_space_command *m = &t->plan->command[c];
  return m->kind == PLIM_SPACE_COMMAND_RUN && t->in.run_of[m->op] != c;
}

static const struct {
  char on, back;
  int (*is)(const traced_spaces *t, int32_t c);
  const char *what;
} jumps[] = {{'n', 'p', is_any, "the next, the previous command"},
             {'c', 'C', is_copy, "the next, the previous copy"},
             {'w', 'W', is_waiting, "the next, the previous command whose queue stood idle for another"},
             {'r', 'R', is_repeat, "the next, the previous recompute"}};
enum { JUMPS = sizeof jumps / sizeof *jumps };

int trace_spaces_jump(const traced_spaces *t, char key, int32_t c, int32_t *to) {
  for (int i = 0; i < JUMPS; i++) {
    if (key != jumps[i].on && key != jumps[i].back) continue;
    int32_t by = key == jumps[i].on ? 1 : -1;
    for (c += by; c >= 0 && c < t->plan->n_commands && !jumps[i].is(t, c);) c += by;
    *to = c < t->plan->n_commands ? c : -1;
    return 1;
  }
  return 0;
}

void trace_spaces_keys(FILE *to) {
  for (int i = 0; i < JUMPS; i++) fprintf(to, "%c %c     %s\n", jumps[i].on, jumps[i].back, jumps[i].what);
  fprintf(to, "g N     command N\nf NAME  the storage that an op of this name writes\ns       the plan as a whole\n");
  fprintf(to, "h       this list\nq       quit\n");
}

static plim_status go(const traced_spaces *t, int32_t to, int32_t *c) {
  if (to < 0 || to >= t->plan->n_commands) {
    printf("there is no such command: they are 0 to %d\n", (int)t->plan->n_commands - 1);
    return PLIM_OK;
  }
  *c = to;
  return trace_spaces_step(t, to, stdout);
}

static plim_status obey(const traced_spaces *t, const char *line, int32_t *c) {
  char key = *line ? *line : 'n', *end;
  const char *word = line + strcspn(line, " ");
  int32_t to;
  word += strspn(word, " ");
  if ((!*line || !line[1]) && trace_spaces_jump(t, key, *c, &to)) return go(t, to, c);
  long n = strtol(word, &end, 10);
  if (key == 'g' && end != word && !*end) return go(t, n >= 0 && n < INT32_MAX ? (int32_t)n : -1, c);
  if (key == 's' && !line[1]) return trace_spaces_summary(t, stdout);
  if (key == 'f' && *word) {
    plim_status status = trace_spaces_storage(t, word, stdout);
    if (status == PLIM_EUSAGE) printf("%s\n", plim_context_error(t->ctx));
    return status == PLIM_EUSAGE ? PLIM_OK : status;
  }
  if (key != 'h') printf("\"%s\" is no command:\n", line);
  trace_spaces_keys(stdout);
  return PLIM_OK;
}

static plim_status prompt(const traced_spaces *t) {
  char line[LINE];
  int32_t c = 0;
  PLIM_TRY(trace_spaces_step(t, 0, stdout));
  while (!plim_context_cancelled(t->ctx)) {
    if (isatty(STDIN_FILENO)) printf("command %d> ", (int)c);
    (void)fflush(stdout);
    interrupt_breaks_reads(1);
    const char *got = fgets(line, sizeof line, stdin);
    interrupt_breaks_reads(0);
    if (!got || strcmp(line, "q\n") == 0 || strcmp(line, "q") == 0) break;
    line[strcspn(line, "\r\n")] = 0;
    PLIM_TRY(obey(t, line, &c));
  }
  return PLIM_OK;
}

/* ---- actions ---- */

static plim_status summary(session *s, const traced_spaces *t) {
  figures f;
  if (!s->o->json) return trace_spaces_summary(t, stdout);
  figures_begin(&f, 1, NULL, NULL);
  plan_spaces_figures(&f, t->graph, t->plan);
  if (t->trace) {
    json_t *list = paging_transfers_json(t->graph, t->paged, t->transfer, t->n_transfers);
    (void)json_object_set_new(f.object, "transfers", list);
  }
  figures_print(&f, 1);
  figures_end(&f);
  return PLIM_OK;
}

static plim_status step(session *s, const traced_spaces *t) {
  const options *o = s->o;
  int shown = 0;
  if (o->find) return (o->json ? trace_spaces_storage_json : trace_spaces_storage)(t, o->find, stdout);
  if (o->at >= t->plan->n_commands) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "--at %lld: the commands of this plan are 0 to %d", (long long)o->at,
                     (int)t->plan->n_commands - 1);
  }
  if (o->at >= 0) return (o->json ? trace_spaces_step_json : trace_spaces_step)(t, (int32_t)o->at, stdout);
#ifdef PLIM_HAVE_CURSES
  if (!o->plain && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) PLIM_TRY(trace_spaces_screen(t, &shown));
#endif
  return shown ? PLIM_OK : prompt(t);
}

static plim_status export(session *s, const traced_spaces *t) {
  return trace_spaces_export(t, s->o->output);
}

static plim_status refuse(session *s, const traced_spaces *t) {
  return plim_fail(s->ctx, PLIM_EUSAGE,
                   "trace %s is for runs in one arena; this plan has %d queues over %d spaces: use summary, step or "
                   "export",
                   s->o->file, (int)t->plan->n_queues, (int)t->plan->n_spaces);
}

static const struct {
  const char *name;
  plim_status (*run)(session *s, const traced_spaces *t);
} actions[] = {{"summary", summary}, {"step", step}, {"export", export}};
enum { ACTIONS = sizeof actions / sizeof *actions };

plim_status trace_spaces(session *s, const char *name, const char *path, int *is) {
  traced_spaces t = {.ctx = s->ctx};
  int row = 0;
  while (row < ACTIONS && strcmp(actions[row].name, name) != 0) row++;
  interrupt_at_once(1);
  plim_status status = open_plan(&t, path);
  interrupt_at_once(0);
  *is = t.plan != NULL;
  if (status == PLIM_OK && t.plan) status = row < ACTIONS ? actions[row].run(s, &t) : refuse(s, &t);
  close_plan(&t);
  return status;
}
