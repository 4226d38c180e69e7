/* plimsoll plan over spaces: the planner, its figures, and what it decided for each storage (--explain). */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planner/one_arena/arena_plan.h"
#include "planner/planner.h"
#include "planner/spaces/problem/space_problem.h"
#include "runtime/base/file.h"
#include "runtime/base/name.h"
#include "runtime/base/size.h"
#include "runtime/graph/sibling.h"
#include "tools/plimsoll/cmd_plan.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/trace/trace_spaces.h"

/* ==== why ==== */

/* What the plan decides for a storage, and the reason that the stepper gives too. */

typedef struct row {
  int32_t storage, op;
  plim_space_decision decision;
  char reason[SPACE_WORDS];
} row;

typedef struct explained {
  plim_space_inspect in;
  plim_space_gap *gap; /* [n_gaps] */
  int32_t n_gaps;
} explained;

static plim_status make_row(const explained *e, int32_t storage, row *r) {
  plim_space_why why;
  *r = (row){.storage = storage, .op = e->in.graph->storage[storage].producer};
  r->decision = plim_space_inspect_decision(&e->in, e->gap, e->n_gaps, storage);
  if (r->decision.gap != PLIM_NONE) {
    const plim_space_gap *gap = &e->gap[r->decision.gap];
    PLIM_TRY(plim_space_inspect_why(&e->in, gap, &why));
    (void)space_reason_words(&e->in, gap, &why, r->reason);
  }
  if (r->reason[0]) return PLIM_OK;
  (void)snprintf(r->reason, sizeof r->reason, "%s",
                 r->decision.copies > 0 ? "another device reads it" : "one buffer from its run to its last reader");
  return PLIM_OK;
}

static void print_row(const explained *e, const row *r) {
  const plim_graph *g = e->in.graph;
  const plim_space_decision *d = &r->decision;
  char time[HUMAN_BYTES], joule[HUMAN_BYTES] = "-";
  if (e->in.plan->has_energy) (void)snprintf(joule, sizeof joule, "%.6g", d->joule);
  printf("%-24s %-16s %-10s %14lld %14s %12s  %s\n", g->op[r->op].name, plim_space_decision_name(d),
         e->in.plan->device[d->device].name, (long long)g->storage[r->storage].bytes,
         space_time_words(g, e->in.plan, d->time_ns, time), joule, r->reason);
}

static json_t *row_json(const explained *e, const row *r) {
  const plim_graph *g = e->in.graph;
  const plim_space_decision *d = &r->decision;
  return json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:i, s:i, s:s}", "storage", g->op[r->op].name, "decision",
                   plim_space_decision_name(d), "device", e->in.plan->device[d->device].name, "bytes",
                   (json_int_t)g->storage[r->storage].bytes, "time_ns", (json_int_t)d->time_ns, "energy_joule",
                   e->in.plan->has_energy ? json_real(d->joule) : json_null(), "runs", (int)d->runs, "copies",
                   (int)d->copies, "reason", r->reason);
}

/* To `rows`, or where that is NULL to standard output. */
static plim_status explain(plim_context *ctx, const plim_graph *g, const plim_space_plan *p, json_t *rows) {
  explained e = {.n_gaps = 0};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_space_inspect_open(ctx, g, p, &e.in));
  PLIM_TRY_OR_DONE(plim_space_inspect_gaps(&e.in, &e.gap, &e.n_gaps));
  if (!rows) {
    printf("\n%-24s %-16s %-10s %14s %14s %12s  %s\n", "storage", "decision", "device", "bytes", "time", "energy, J",
           "reason");
  }
  for (int32_t s = 0; s < g->n_storages; s++) {
    row r;
    if (g->storage[s].producer < 0) continue;
    PLIM_TRY_OR_DONE(make_row(&e, s, &r));
    if (rows) (void)json_array_append_new(rows, row_json(&e, &r));
    if (!rows) print_row(&e, &r);
  }
  if (!rows) (void)fflush(stdout);
done:
  plim_release(ctx, e.gap, e.n_gaps, sizeof *e.gap);
  plim_space_inspect_close(&e.in);
  return status;
}

/* ==== the plan ==== */

/* From options to a plan over spaces, its figures and its file. */

typedef struct space_work {
  session *s;
  const plim_graph *graph;
  plim_platform *platform;
  int64_t *budget; /* [n_spaces] */
  plim_space_options options;
  plim_space_outcome outcome;
  plim_space_plan *plan;
} space_work;

int plan_spaces_wanted(const options *o) {
  static const char *const names[] = {"platform", "objective", "deadline", "page", "recompute", "place"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (options_given(o, names[i])) return 1;
  }
  if (o->memory && strchr(o->memory, '=')) return 1;
  return o->planner && plim_name_find(plim_space_planner_name, o->planner) >= 0 &&
         plim_name_find(plim_planner_name, o->planner) < 0;
}

/* A built-in name, or else a file. */
static plim_status load_platform(space_work *w) {
  const char *name = w->s->o->platform;
  plim_context *ctx = w->s->ctx;
  if (!name && w->graph->costs) return plim_platform_from_costs(w->graph->costs, &w->platform);
  if (!name) {
    return plim_fail(ctx, PLIM_EDATA, "%s names no devices and has no FLOP: a plan over spaces needs --platform",
                     w->s->o->graph);
  }
  int path = strchr(name, '.') || strchr(name, '/') || access(name, F_OK) == 0;
  if (plim_name_find(plim_platform_name, name) >= 0 || !path) {
    return plim_platform_built_in(ctx, name, &w->platform);
  }
  return plim_platform_load(ctx, name, &w->platform);
}

static plim_status set_budgets(space_work *w) {
  const plim_platform *p = w->platform;
  PLIM_TRY(plim_allocate(w->s->ctx, p->n_spaces, sizeof *w->budget, &w->budget));
  for (int32_t s = 0; s < p->n_spaces; s++) w->budget[s] = p->space[s].budget_bytes;
  w->options.budget = w->budget;
  if (!w->s->o->memory) return PLIM_OK;
  return plim_space_budget_parse(p, w->s->o->memory, plim_space_keep_all_bytes(w->graph), w->budget);
}

static int is_on(const char *value) {
  return !value || strcmp(value, "on") == 0;
}

/* Does the platform give times? Those are seconds. */
static int has_seconds(const plim_platform *p) {
  for (int32_t d = 0; d < p->n_devices; d++) {
    if (p->device[d].flop_per_second > 0) return 1;
  }
  for (int32_t l = 0; l < p->n_links; l++) {
    if (!p->link[l].given) return 1;
  }
  return 0;
}

static plim_status refuse_deadline(const space_work *w, const char *text) {
  static const char *const what[] = {"a time as in 3s or 20ms", "a number, in the unit of the graph's times",
                                     "a time as in 3s or 20ms, or a number in the unit of the graph's times"};
  int own = plim_platform_has_own_times(w->platform, w->graph->costs);
  int kind = !own ? 0 : !has_seconds(w->platform) ? 1 : 2;
  return plim_fail(w->s->ctx, PLIM_EUSAGE, "--deadline %.80s is neither a factor of keep-all as in 1.5x nor %s", text,
                   what[kind]);
}

/* A factor as in 1.5x, a time with its unit, or a number alone in the unit of the graph's own times. */
static plim_status set_deadline(space_work *w) {
  const char *text = w->s->o->deadline;
  double x, seconds = 0;
  char *end;
  int own = plim_platform_has_own_times(w->platform, w->graph->costs);
  if (!text) return PLIM_OK;
  errno = 0;
  x = strtod(text, &end);
  if (errno != 0 || end == text || !(x > 0) || !isfinite(x)) return refuse_deadline(w, text);
  if (strcmp(end, "x") == 0) {
    w->options.deadline_factor = x;
  } else if (*end == 0 && own && x >= 1 && x < 0x1p60) {
    w->options.deadline_ns = (int64_t)x;
  } else if (*end != 0 && has_seconds(w->platform) && options_time(text, &seconds) && seconds >= 1e-9 &&
             seconds < 1e9) {
    w->options.deadline_ns = llround(seconds * 1e9);
  } else {
    return refuse_deadline(w, text);
  }
  return PLIM_OK;
}

/* A switch that asks for what the platform has no link for. */
static plim_status check_links(const space_work *w) {
  const plim_platform *p = w->platform;
  const options *o = w->s->o;
  int there_and_back = 0;
  for (int32_t l = 0; l < p->n_links; l++) {
    if (p->link[l].from != p->device[0].space) continue;
    if (plim_platform_find_link(p, p->link[l].to, p->link[l].from) >= 0) there_and_back = 1;
  }
  if ((!options_given(o, "page") || !is_on(o->page)) && (!options_given(o, "place") || !is_on(o->place)))
    return PLIM_OK;
  if (there_and_back) return PLIM_OK;
  return plim_fail(w->s->ctx, PLIM_EUSAGE, "platform %s has no link from space %s to another and back", p->name,
                   p->space[p->device[0].space].name);
}

static plim_status set_options(space_work *w) {
  const options *o = w->s->o;
  w->options = plim_space_options_default();
  w->options.planner = o->planner;
  w->options.one_arena = plim_one_arena_plan;
  w->options.front_folder = o->no_cache ? NULL : "";
  if (o->objective) w->options.objective = plim_objective_find(o->objective);
  w->options.page = is_on(o->page);
  w->options.recompute = is_on(o->recompute);
  w->options.place = is_on(o->place);
  w->options.threads = session_planner_threads(o);
  w->options.iterations = o->iterations;
  if (o->time_limit > 0) w->options.time_limit_ns = session_left_ns(w->s);
  PLIM_TRY(set_budgets(w));
  PLIM_TRY(set_deadline(w));
  return check_links(w);
}

/* ---- figures ---- */

static json_t *by_space(const plim_space_plan *p, int peaks) {
  json_t *object = json_object();
  for (int32_t s = 0; s < p->n_spaces; s++) {
    int64_t bytes = peaks ? p->space[s].peak_bytes : p->space[s].budget_bytes;
    (void)json_object_set_new(object, p->space[s].name, bytes < INT64_MAX ? json_integer(bytes) : json_null());
  }
  return object;
}

static void add_spaces(figures *f, const plim_space_plan *p) {
  char peak[PLIM_SIZE_TEXT_BYTES], budget[PLIM_SIZE_TEXT_BYTES];
  (void)json_object_set_new(f->object, "budget_bytes", by_space(p, 0));
  (void)json_object_set_new(f->object, "peak_bytes", by_space(p, 1));
  for (int32_t s = 0; s < p->n_spaces; s++) {
    const plim_space_memory *space = &p->space[s];
    figures_text(f, 0, NULL, space->name, plim_size_print(space->peak_bytes, peak));
    figures_note(f, 0, " (%lld bytes)", (long long)space->peak_bytes);
    if (space->budget_bytes < PLIM_BYTES_UNLIMITED) {
      figures_note(f, 0, " of %s (%lld)", plim_size_print(space->budget_bytes, budget), (long long)space->budget_bytes);
    }
  }
}

/* What the commands do. */
static void add_commands(figures *f, const plim_graph *graph, const plim_space_plan *p) {
  int64_t runs = 0, copies = 0;
  for (int32_t c = 0; c < p->n_commands; c++) {
    runs += p->command[c].kind == PLIM_SPACE_COMMAND_RUN;
    copies += p->command[c].kind == PLIM_SPACE_COMMAND_COPY;
  }
  figures_count(f, 0, "plan_commands", "commands", p->n_commands);
  figures_note(f, 0, ": %lld runs of %d ops, %lld copies", (long long)runs, graph->n_ops, (long long)copies);
  figures_count(f, 0, "recomputes", NULL, runs - graph->n_ops);
  figures_count(f, 0, "copies", NULL, copies);
}

static double percent(double x, double of) {
  return of > 0 ? 100 * (x - of) / of : 0;
}

void plan_spaces_figures(figures *f, const plim_graph *graph, const plim_space_plan *p) {
  char text[HUMAN_BYTES];
  double value = plim_space_plan_value(p);
  int64_t time_ns = p->objective == PLIM_OBJECTIVE_SERIAL ? p->serial_ns : p->makespan_ns;
  figures_text(f, 0, "graph", "graph", graph->name);
  figures_note(f, 0, ", %d ops", graph->n_ops);
  figures_text(f, 0, "planner", "planner", p->planner);
  figures_text(f, 0, "class", NULL, plim_space_plan_class_name(p->plan_class));
  figures_note(f, 0, ", class %s", plim_space_plan_class_name(p->plan_class));
  figures_text(f, 0, "objective", "objective", plim_objective_name(p->objective));
  add_spaces(f, p);
  figures_count(f, 0, "time_ns", NULL, time_ns);
  figures_count(f, 0, "makespan_ns", NULL, p->makespan_ns);
  figures_text(f, 0, NULL, "makespan", space_time_words(graph, p, p->makespan_ns, text));
  figures_count(f, 0, "serial_ns", NULL, p->serial_ns);
  figures_text(f, 0, NULL, "sum of times", space_time_words(graph, p, p->serial_ns, text));
  if (space_has_own_times(graph, p)) figures_note(f, 0, " (in the unit of the graph's times)");
  if (p->has_energy) {
    figures_real(f, 0, "energy_joule", "energy", "%.8g J", p->energy_joule);
  } else {
    figures_null(f, 0, "energy_joule");
  }
  if (p->deadline_ns < PLIM_TIME_UNLIMITED) {
    figures_count(f, 0, "deadline_ns", NULL, p->deadline_ns);
    figures_text(f, 0, NULL, "deadline", space_time_words(graph, p, p->deadline_ns, text));
  }
  figures_real(f, 0, "overhead_percent", "overhead", "%.4f %%", percent(value, p->keep_all));
  figures_real(f, 0, "bound_percent", "lower bound", "%.4f %%", percent(p->bound, p->keep_all));
  figures_note(f, 0, ", class %s%s", plim_space_plan_class_name(p->plan_class), p->proved ? ", proved" : "");
  figures_flag(f, 0, "proved", NULL, p->proved);
  add_commands(f, graph, p);
}

static void add_model(figures *f, const char *key, double x) {
  if (isfinite(x)) figures_real(f, 0, key, NULL, "%.17g", x);
  if (!isfinite(x)) figures_null(f, 0, key);
}

static plim_status print(const space_work *w, double seconds) {
  plim_context *ctx = w->s->ctx;
  plim_status status = PLIM_OK;
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  plan_spaces_figures(&f, w->graph, w->plan);
  figures_text(&f, 0, "platform", "platform", w->platform->name);
  add_model(&f, "model_objective", w->outcome.model_objective);
  add_model(&f, "model_bound", w->outcome.model_bound);
  figures_real(&f, 0, "seconds", "planned in", "%.2f s", seconds);
  if (w->s->o->explain && w->s->o->json) {
    json_t *rows = json_array();
    status = explain(ctx, w->graph, w->plan, rows);
    (void)json_object_set_new(f.object, "storages", rows);
  }
  figures_print(&f, w->s->o->json);
  figures_end(&f);
  if (w->s->o->explain && !w->s->o->json) status = explain(ctx, w->graph, w->plan, NULL);
  return status;
}

static plim_status save(const space_work *w) {
  char of_graph[PLIM_FILE_PATH_BYTES];
  const char *path = w->s->o->output;
  if (w->s->o->svg) PLIM_TRY(trace_spaces_save_picture(w->graph, w->plan, w->s->o->svg));
  if (!path) return PLIM_OK;
  if (!plim_file_is_direct(path)) {
    PLIM_TRY(plim_sibling_graph_path(w->s->ctx, path, of_graph));
    PLIM_TRY(plim_graph_save(w->graph, of_graph));
  }
  return plim_space_plan_save(w->plan, path);
}

/* Where more effort may find a plan, the sentence ends with how to ask for it. */
static plim_status advise(const space_work *w, plim_status status) {
  char sentence[PLIM_ERROR_BYTES];
  if (status != PLIM_ENOFIT || !w->outcome.cut_short) return status;
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(w->s->ctx));
  return plim_fail(w->s->ctx, status, "%s; raise --time-limit or --iterations", sentence);
}

static plim_status run(space_work *w) {
  int64_t begin = plim_now_ns();
  PLIM_TRY(load_platform(w));
  PLIM_TRY(set_options(w));
  interrupt_at_once(0); /* the best plan so far is kept */
  if (w->s->o->front) return space_front_run(w->s, w->graph, w->platform, &w->options);
  plim_status made = plim_space_plan_make(w->s->ctx, w->graph, w->platform, &w->options, &w->outcome, &w->plan);
  PLIM_TRY(advise(w, made));
  progress_clear(&w->s->bar);
  PLIM_TRY(save(w));
  return print(w, (double)(plim_now_ns() - begin) / 1e9);
}

plim_status plan_spaces(session *s, const plim_graph *graph) {
  space_work w = {.s = s, .graph = graph};
  plim_status status = run(&w);
  plim_space_plan_free(w.plan);
  if (w.platform) plim_release(s->ctx, w.budget, w.platform->n_spaces, sizeof *w.budget);
  plim_platform_free(w.platform);
  return status;
}
