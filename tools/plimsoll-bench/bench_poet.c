/* Networks of POET on its boards at 20 budgets: energy under a deadline. Of each case the excess over keep-all's energy
 * of the default search, of the search with recompute alone and with paging alone, and of the programs that --planners
 * names, beside the best plan known. Every plan has passed the checker, and takes on the sim device what it
 * predicts. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "planner/spaces/problem/space_problem.h"
#include "planner/spaces/space_make.h"
#include "runtime/base/name.h"
#include "runtime/device/device_sim.h"
#include "runtime/import/import.h"
#include "tools/plimsoll-bench/bench.h"
#include "tools/plimsoll-bench/joint_case.h"

enum { BUDGETS = 20, PROGRAMS = 4, PATH_BYTES = 4096 };
static const char usual_networks[] = "linear,vgg16,resnet18,bert", usual_boards[] = "m0,m4,a72,a72nocache";
static const double deadline_factor = 1.5;

/* What the search may be above: so many times the least excess, and a share of keep-all's energy. */
static const double most_ratio = 1.05, least_share = 1e-6;

typedef struct result {
  double joule; /* INFINITY: no plan within budget and deadline */
  double seconds;
} result;

typedef struct table {
  session *s;
  json_t *rows, *earlier; /* earlier: rows of --with, NULL: none */
  const char *folder;
  plim_device *sim;
  const plim_graph *graph;
  const plim_platform *platform;
  char network[BENCH_NAME], board[BENCH_NAME];
  int64_t budget;      /* of the case under way */
  int64_t deadline_ns; /* of the makespan */
  double keep_all;     /* joule */
  result search, recompute, page, program[PROGRAMS];
  double known;
  int32_t cases, above;
  struct {
    int32_t cases, good;
    double ratio, seconds, most_seconds; /* the largest, the sum, the largest */
  } board_sums;                          /* of the network and the board under way */
} table;

/* ---- one plan ---- */

static plim_status replay(const table *t, const plim_space_plan *plan) {
  plim_context *ctx = t->s->ctx;
  plim_space_figures f = {.makespan_ns = -1};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *f.begin_ns, &f.begin_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *f.end_ns, &f.end_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_spaces, sizeof *f.peak_bytes, &f.peak_bytes));
  PLIM_TRY_OR_DONE(plim_sim_replay(t->sim, plan, &f));
  if (f.makespan_ns != plan->makespan_ns || fabs(f.energy_joule - plan->energy_joule) > 1e-9 * plan->energy_joule) {
    status = plim_fail(
        ctx, PLIM_EPLAN, "%s on %s: the sim device takes %lld ns and %.9g J, the plan says %lld and %.9g", t->network,
        t->board, (long long)f.makespan_ns, f.energy_joule, (long long)plan->makespan_ns, plan->energy_joule);
  }
done:
  plim_release(ctx, f.begin_ns, plan->n_commands, sizeof *f.begin_ns);
  plim_release(ctx, f.end_ns, plan->n_commands, sizeof *f.end_ns);
  plim_release(ctx, f.peak_bytes, plan->n_spaces, sizeof *f.peak_bytes);
  return status;
}

static plim_space_options options_of(const table *t, const char *planner) {
  plim_space_options o = plim_space_options_default();
  o.planner = planner;
  o.objective = PLIM_OBJECTIVE_ENERGY;
  o.deadline_factor = deadline_factor;
  o.iterations = t->s->o->iterations;
  o.threads = (int32_t)t->s->o->threads;
  return o;
}

/* Plan with these options, whose budget is not read. The best plan known has the least energy whose makespan keeps the
 * deadline. Programs may have no solver here, or no room for a graph. */
static plim_status plan(table *t, plim_space_options o, result *out) {
  plim_space_plan *p = NULL;
  int64_t budget[PLIM_PLATFORM_SPACES];
  int32_t n_spaces = t->platform->n_spaces;
  for (int32_t s = 0; s < n_spaces; s++)
    budget[s] = s == t->platform->device[0].space ? t->budget : PLIM_BYTES_UNLIMITED;
  o.budget = budget;
  clock_t begin = clock();
  plim_status status = plim_space_plan_make(t->s->ctx, t->graph, t->platform, &o, NULL, &p);
  *out = (result){.joule = INFINITY, .seconds = (double)(clock() - begin) / CLOCKS_PER_SEC};
  progress_clear(&t->s->bar);
  const int missing = status == PLIM_EUNSUPPORTED && o.planner;
  if (missing) bench_say_missing(t->s);
  if (missing || status == PLIM_ENOFIT) return PLIM_OK;
  PLIM_TRY(status);
  if (p->makespan_ns <= t->deadline_ns) out->joule = p->energy_joule;
  t->known = fmin(t->known, out->joule);
  status = replay(t, p);
  plim_space_plan_free(p);
  return status == PLIM_OK ? bench_go_on(t->s) : status;
}

/* The programs of --planners, each within the time limit. */
static plim_status plan_programs(table *t) {
  const char *names = t->s->o->planners ? t->s->o->planners : "";
  char name[BENCH_NAME];
  for (int i = 0; *names; i++) {
    names = bench_next_name(names, name);
    plim_space_options o = options_of(t, name);
    o.iterations = 0;
    o.time_limit_ns = (int64_t)(t->s->o->time_limit * 1e9);
    if (i == PROGRAMS) return plim_fail(t->s->ctx, PLIM_EUSAGE, "--planners: at most %d programs", PROGRAMS);
    PLIM_TRY(plan(t, o, &t->program[i]));
  }
  return PLIM_OK;
}

/* ---- rows ---- */

static double excess(const table *t, double joule) {
  return isfinite(joule) ? 100 * (joule / t->keep_all - 1) : INFINITY;
}

/* Is the search's plan as good as it has to be? */
static int is_good(const table *t) {
  double slack = least_share * t->keep_all, most = t->keep_all + most_ratio * (t->known - t->keep_all) + slack;
  if (!isfinite(t->known)) return 1;
  return t->search.joule <= most && t->search.joule <= fmin(t->recompute.joule, t->page.joule) * (1 + 1e-12);
}

static double ratio(const table *t) {
  double slack = least_share * t->keep_all;
  if (!isfinite(t->known) || t->search.joule - t->known <= slack) return 1;
  return (t->search.joule - t->keep_all) / fmax(t->known - t->keep_all, slack);
}

static void print_cell(double x) {
  if (isfinite(x)) printf(" %10.5f", x);
  if (!isfinite(x)) printf(" %10s", "no plan");
}

static json_t *joule_json(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

static void end_row(table *t) {
  const char *names = t->s->o->planners ? t->s->o->planners : "";
  char name[BENCH_NAME], key[2 * BENCH_NAME];
  t->cases++;
  t->above += !is_good(t);
  t->board_sums.cases++;
  t->board_sums.good += is_good(t);
  t->board_sums.ratio = fmax(t->board_sums.ratio, ratio(t));
  t->board_sums.seconds += t->search.seconds;
  t->board_sums.most_seconds = fmax(t->board_sums.most_seconds, t->search.seconds);
  if (!t->s->o->json) {
    printf("%-10s %-11s %10lld", t->network, t->board, (long long)t->budget);
    print_cell(excess(t, t->known));
    print_cell(excess(t, t->search.joule));
    print_cell(excess(t, t->recompute.joule));
    print_cell(excess(t, t->page.joule));
    for (int i = 0; *names; i++) {
      names = bench_next_name(names, name);
      print_cell(excess(t, t->program[i].joule));
    }
    printf(" %7.4f %7.2f%s\n", ratio(t), t->search.seconds, is_good(t) ? "" : "  above");
    (void)fflush(stdout);
    return;
  }
  json_t *row = json_pack("{s:s, s:s, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:f, s:b}", "instance", t->network, "platform",
                          t->board, "budget_bytes", (json_int_t)t->budget, "keep_all_joule", t->keep_all, "known_joule",
                          joule_json(t->known), "search_joule", joule_json(t->search.joule), "recompute_joule",
                          joule_json(t->recompute.joule), "page_joule", joule_json(t->page.joule), "ratio",
                          joule_json(ratio(t)), "seconds", t->search.seconds, "good", is_good(t));
  for (int i = 0; *names; i++) {
    names = bench_next_name(names, name);
    (void)snprintf(key, sizeof key, "%s_joule", name);
    (void)json_object_set_new(row, key, joule_json(t->program[i].joule));
  }
  bench_row_add(t->s, t->rows, row);
}

static void print_head(const table *t) {
  const char *names = t->s->o->planners ? t->s->o->planners : "";
  char name[BENCH_NAME];
  if (t->s->o->json) return;
  printf("%-10s %-11s %10s %10s %10s %10s %10s", "network", "board", "budget", "known", "search", "recompute", "page");
  while (*names) {
    names = bench_next_name(names, name);
    printf(" %10s", name);
  }
  printf(" %7s %7s\n", "ratio", "cpu s");
}

/* ---- cases ---- */

/* The best plan that an earlier table knows. */
static double known_earlier(const table *t) {
  double best = INFINITY;
  json_t *row;
  size_t i;
  json_array_foreach(t->earlier, i, row) {
    const char *network = json_string_value(json_object_get(row, "instance"));
    const char *board = json_string_value(json_object_get(row, "platform"));
    const json_t *joule = json_object_get(row, "known_joule");
    if (!network || !board || strcmp(network, t->network) != 0 || strcmp(board, t->board) != 0) continue;
    if (json_integer_value(json_object_get(row, "budget_bytes")) != t->budget || !json_is_number(joule)) continue;
    best = fmin(best, json_number_value(joule));
  }
  return best;
}

static plim_status run_case(table *t) {
  plim_space_options all = options_of(t, NULL), recompute = all, page = all;
  t->known = known_earlier(t);
  recompute.page = 0;
  page.recompute = 0;
  PLIM_TRY(plan(t, all, &t->search));
  PLIM_TRY(plan(t, recompute, &t->recompute));
  PLIM_TRY(plan(t, page, &t->page));
  PLIM_TRY(plan_programs(t));
  end_row(t);
  return PLIM_OK;
}

/* Keep-all's energy and time. */
static plim_status measure(table *t) {
  plim_space_problem *p = NULL;
  PLIM_TRY(plim_space_problem_make(t->graph, t->platform, 1, &p));
  t->keep_all = p->device_joule;
  t->deadline_ns = (int64_t)floor(deadline_factor * (double)p->device_ns + 1e-6);
  plim_space_problem_free(p);
  return PLIM_OK;
}

static void print_sums(const table *t) {
  if (t->s->o->json || t->board_sums.cases == 0) return;
  printf("%s on %s: %d of %d as good as asked for, ratio at most %.4f, CPU time of a plan %.2f s, at most %.2f s\n",
         t->network, t->board, t->board_sums.good, t->board_sums.cases, t->board_sums.ratio,
         t->board_sums.seconds / t->board_sums.cases, t->board_sums.most_seconds);
}

static plim_status run_board(table *t) {
  plim_platform *platform = NULL;
  memset(&t->board_sums, 0, sizeof t->board_sums);
  PLIM_TRY(plim_platform_built_in(t->s->ctx, t->board, &platform));
  t->platform = platform;
  plim_status status = measure(t);
  int64_t least = plim_space_least_bytes(t->graph), whole = plim_space_keep_all_bytes(t->graph);
  for (int i = 0; i < BUDGETS && status == PLIM_OK; i++) {
    t->budget = least + (whole - least) / BUDGETS * i;
    status = run_case(t);
  }
  if (status == PLIM_OK) print_sums(t);
  plim_platform_free(platform);
  return status;
}

static plim_status run_network(table *t) {
  const char *boards = t->s->o->platform ? t->s->o->platform : usual_boards;
  char path[PATH_BYTES];
  plim_graph *graph = NULL;
  (void)snprintf(path, sizeof path, "%s/%s.json", t->folder, t->network);
  PLIM_TRY(plim_graph_import(t->s->ctx, "nx", path, &graph));
  t->graph = graph;
  plim_status status = PLIM_OK;
  while (*boards && status == PLIM_OK) {
    boards = bench_next_name(boards, t->board);
    status = run_board(t);
  }
  plim_graph_free(graph);
  return status;
}

static plim_status load_earlier(table *t) {
  const char *path = t->s->o->with;
  json_error_t error;
  if (!path) return PLIM_OK;
  json_t *file = json_load_file(path, 0, &error);
  if (!file) return plim_fail(t->s->ctx, PLIM_EDATA, "%s: %s", path, error.text);
  t->earlier = json_incref(json_object_get(file, "rows"));
  json_decref(file);
  if (json_is_array(t->earlier)) return PLIM_OK;
  return plim_fail(t->s->ctx, PLIM_EDATA, "%s: no table of bench poet --json: it has no rows", path);
}

static plim_status run(table *t) {
  const char *networks = t->s->o->shapes ? t->s->o->shapes : usual_networks;
  plim_device_options sim_options = plim_device_options_default();
  PLIM_TRY(load_earlier(t));
  PLIM_TRY(plim_device_open(t->s->ctx, "sim", &sim_options, &t->sim));
  print_head(t);
  while (*networks) {
    networks = bench_next_name(networks, t->network);
    PLIM_TRY(run_network(t));
  }
  if (!t->s->o->json) printf("%d of %d cases as good as asked for\n", t->cases - t->above, t->cases);
  return PLIM_OK;
}

plim_status bench_poet(session *s, const char *folder) {
  table t = {.s = s, .rows = json_array(), .folder = folder};
  plim_status status = run(&t);
  bench_rows_end(s, status, t.rows);
  plim_device_close(t.sim);
  json_decref(t.earlier);
  return status;
}
