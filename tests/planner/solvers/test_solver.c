/* planner/solvers/solver.c and its back ends: small models with known answers on every solver that is installed, the
 * same optimum from all of them on random ones, and sentences for libraries that are not there or broken. */
#include "planner/solvers/solvers_internal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/file.h"
#include "tests/support/folder.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(solver, .init = make_context, .fini = free_context);

enum { MAX_COLUMNS = 16 };

static const plim_solve_options exactly = {.absolute_gap = 1e-6, .cutoff = INFINITY};

static plim_solver *open_or_skip(const char *name) {
  plim_solver *solver = NULL;
  if (plim_solver_open(ctx, name, &solver) != PLIM_OK) cr_skip_test("%s", plim_context_error(ctx));
  return solver;
}

/* Knapsack: values 10 13 7 8, weights 3 4 2 3, room 7: 23 by the first two; as fractions 24.0 */
static plim_model knapsack(void) {
  const double value[] = {10, 13, 7, 8}, weight[] = {3, 4, 2, 3};
  plim_model m = {.ctx = ctx};
  for (int i = 0; i < 4; i++) plim_model_term(&m, plim_model_column(&m, -value[i], 0, 1, 1), weight[i]);
  plim_model_row(&m, -INFINITY, 7);
  cr_assert_eq(m.status, PLIM_OK);
  return m;
}

static void solves_a_knapsack(const char *name) {
  plim_solver *solver = open_or_skip(name);
  plim_model m = knapsack();
  plim_solution s;
  double point[MAX_COLUMNS];
  cr_assert_eq(plim_solver_solve(solver, &m, &exactly, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert(s.end == PLIM_SOLVE_OPTIMAL && s.found);
  cr_assert_float_eq(s.objective, -23, 1e-6);
  cr_assert_float_eq(s.bound, -23, 1e-6);
  cr_assert(point[0] > 0.9 && point[1] > 0.9 && point[2] < 0.1 && point[3] < 0.1);
  plim_solve_options relaxed = exactly;
  relaxed.relax = 1;
  cr_assert_eq(plim_solver_solve(solver, &m, &relaxed, &s, point), PLIM_OK);
  cr_assert(s.end == PLIM_SOLVE_OPTIMAL && s.found);
  cr_assert_float_eq(s.objective, -23.5, 1e-6);
  plim_model_term(&m, 0, 1);
  plim_model_row(&m, 2, INFINITY);
  cr_assert_eq(plim_solver_solve(solver, &m, &exactly, &s, point), PLIM_OK);
  cr_assert(s.end == PLIM_SOLVE_INFEASIBLE && !s.found);
  plim_model_free(&m);
  plim_solver_close(solver);
}

Test(solver, highs_solves_a_knapsack_its_relaxation_and_what_has_no_point) {
  solves_a_knapsack("highs");
}

Test(solver, cbc_solves_a_knapsack_its_relaxation_and_what_has_no_point) {
  solves_a_knapsack("cbc");
}

/* 3 or 5 PiB of at least 4: a solver takes entries from a petabyte on for infinite. */
Test(solver, rows_of_petabytes_are_solved) {
  const double size[] = {3.0 * (double)((int64_t)1 << 50), 5.0 * (double)((int64_t)1 << 50)};
  int solvers = 0;
  for (int32_t row = 0; plim_solver_name(row); row++) {
    plim_solver *solver = NULL;
    if (plim_solver_open(ctx, plim_solver_name(row), &solver) != PLIM_OK) continue;
    plim_model m = {.ctx = ctx};
    plim_solution s;
    double point[2];
    for (int i = 0; i < 2; i++) plim_model_term(&m, plim_model_column(&m, 1 + i, 0, 1, 1), size[i]);
    plim_model_row(&m, 4.0 * (double)((int64_t)1 << 50), INFINITY);
    cr_assert_eq(plim_solver_solve(solver, &m, &exactly, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert(s.end == PLIM_SOLVE_OPTIMAL && s.found && point[0] < 0.1 && point[1] > 0.9);
    plim_model_free(&m);
    plim_solver_close(solver);
    solvers++;
  }
  if (solvers == 0) cr_skip_test("no solver is installed");
}

/* Random covering with two rows more than columns; every subset tried. */
static plim_model covering(uint64_t seed, int32_t n, double *least) {
  plim_model m = {.ctx = ctx};
  int64_t cost[MAX_COLUMNS], row[MAX_COLUMNS + 2][MAX_COLUMNS], need[MAX_COLUMNS + 2];
  uint64_t random = seed;
  for (int32_t j = 0; j < n; j++) {
    cost[j] = test_random_between(&random, 1, 50);
    (void)plim_model_column(&m, (double)cost[j], 0, 1, 1);
  }
  for (int32_t r = 0; r < n + 2; r++) {
    int64_t sum = 0;
    for (int32_t j = 0; j < n; j++) {
      row[r][j] = test_random_chance(&random, 40) ? test_random_between(&random, 1, 20) : 0;
      sum += row[r][j];
      if (row[r][j]) plim_model_term(&m, j, (double)row[r][j]);
    }
    need[r] = sum / 2;
    plim_model_row(&m, (double)need[r], INFINITY);
  }
  *least = INFINITY;
  for (uint32_t set = 0; set < 1U << n; set++) {
    int64_t total = 0, enough = 1;
    for (int32_t r = 0; r < n + 2; r++) {
      int64_t sum = 0;
      for (int32_t j = 0; j < n; j++) sum += set >> j & 1 ? row[r][j] : 0;
      enough &= sum >= need[r];
    }
    for (int32_t j = 0; j < n; j++) total += set >> j & 1 ? cost[j] : 0;
    if (enough && (double)total < *least) *least = (double)total;
  }
  return m;
}

Test(solver, every_solver_finds_the_optimum_of_random_coverings) {
  int solvers = 0;
  for (int32_t row = 0; plim_solver_name(row); row++) {
    plim_solver *solver = NULL;
    if (plim_solver_open(ctx, plim_solver_name(row), &solver) != PLIM_OK) continue;
    solvers++;
    for (uint64_t seed = test_seed(1), end = seed + 25; test_seed_at(seed) < end; seed++) {
      double least, point[MAX_COLUMNS];
      plim_model m = covering(seed, 4 + (int32_t)(seed % 8), &least);
      plim_solution s;
      plim_solve_options options = exactly;
      if (seed % 2) options.cutoff = least + 0.5;
      cr_assert_eq(plim_solver_solve(solver, &m, &options, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
      cr_assert(s.found && s.end == PLIM_SOLVE_OPTIMAL, "%s seed %llu", plim_solver_name(row),
                (unsigned long long)seed);
      cr_assert_float_eq(s.objective, least, 1e-6, "%s seed %llu: %g not %g", plim_solver_name(row),
                         (unsigned long long)seed, s.objective, least);
      plim_model_free(&m);
    }
    plim_solver_close(solver);
  }
  if (solvers == 0) cr_skip_test("no solver is installed");
}

static int stop_at_once(void *user, double objective, double bound) {
  (void)objective, (void)bound;
  ++*(int *)user;
  return 1;
}

Test(solver, highs_stops_when_the_caller_asks_and_takes_a_start) {
  plim_solver *solver = open_or_skip("highs");
  double least, point[MAX_COLUMNS], start[MAX_COLUMNS];
  int calls = 0;
  for (int i = 0; i < MAX_COLUMNS; i++) start[i] = 1; /* everything covers */
  plim_model m = covering(7, 11, &least);
  plim_solve_options options = exactly;
  options.start = start;
  options.on_progress = stop_at_once;
  options.user = &calls;
  plim_solution s;
  cr_assert_eq(plim_solver_solve(solver, &m, &options, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert(calls == 0 || s.found, "stopped without the point it was given");
  plim_model_free(&m);
  plim_solver_close(solver);
}

static void expect_refusal(const char *name, const char *words) {
  plim_solver *solver = NULL;
  cr_assert_eq(plim_solver_open(ctx, name, &solver), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), words), "%s", plim_context_error(ctx));
}

Test(solver, a_library_that_is_missing_broken_or_another_one_is_told_with_its_remedy) {
  plim_solver *solver = NULL;
  setenv("PLIM_HIGHS", "/nowhere/libhighs.so.1", 1);
  expect_refusal("highs", "tools/get_solvers");
  expect_refusal("highs", "/nowhere/libhighs.so.1");
  setenv("PLIM_HIGHS", "libm.so.6", 1);
  expect_refusal("highs", "has no Highs_version");
  setenv("PLIM_CBC", "/nowhere/libCbcSolver.so.3", 1);
  expect_refusal("cbc", "coinor-libcbc3");
  expect_refusal(NULL, "coinor-libcbc3");
  expect_refusal(NULL, "has no Highs_version"); /* of several that do not do, the one that is there counts most */
  cr_assert_eq(plim_solver_open(ctx, "higs", &solver), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(ctx), "\"highs\""));
}

Test(solver, without_the_program_that_solvers_run_in_none_is_opened) {
  plim_solver *solver = NULL;
  if (plim_solver_open(ctx, NULL, &solver) != PLIM_OK) cr_skip_test("%s", plim_context_error(ctx));
  plim_solver_close(solver);
  setenv("PLIM_SOLVER", "/nowhere/plimsoll-solver", 1);
  expect_refusal(NULL, "PLIM_SOLVER is \"/nowhere/plimsoll-solver\"");
}

/* The loader maps what is not there, and whoever reads it is ended by the system. */
Test(solver, a_library_that_is_cut_off_is_told) {
  char *bytes = NULL;
  int64_t n;
  cr_assert_eq(plim_file_read(ctx, "/proc/self/exe", INT64_MAX, &bytes, &n), PLIM_OK, "%s", plim_context_error(ctx));
  (void)plim_test_folder();
  cr_assert_eq(plim_file_save(ctx, plim_test_path("half.so"), bytes, n / 2), PLIM_OK);
  setenv("PLIM_HIGHS", plim_test_path("half.so"), 1);
  expect_refusal("highs", "bytes of it are missing");
  expect_refusal("highs", "tools/get_solvers");
  plim_file_release(ctx, bytes, n);
  plim_test_folder_remove();
}

Test(solver, a_broken_file_in_the_data_directory_is_told) {
  char path[PLIM_LIBRARY_PATH_BYTES], file[2 * PLIM_LIBRARY_PATH_BYTES];
  plim_solver *solver = NULL;
  unsetenv("PLIM_HIGHS");
  if (plim_solver_open(ctx, "highs", &solver) == PLIM_OK && !strchr(plim_solver_about(solver)->path, '/')) {
    plim_solver_close(solver);
    cr_skip_test("the system has HiGHS, which comes before the data directory");
  }
  plim_solver_close(solver);
  setenv("XDG_DATA_HOME", plim_test_folder(), 1);
  plim_library_folder(path);
  cr_assert_eq(mkdir(plim_test_path("plimsoll"), 0700), 0);
  cr_assert_eq(mkdir(path, 0700), 0);
  expect_refusal("highs", "HiGHS is not installed: ");
  (void)snprintf(file, sizeof file, "%s/libhighs.so.1", path);
  cr_assert_eq(plim_file_save(ctx, file, "not a library", 13), PLIM_OK);
  expect_refusal("highs", "HiGHS cannot be opened: ");
  plim_test_folder_remove();
}

Test(solver, the_data_directory_is_the_user_s) {
  char path[PLIM_LIBRARY_PATH_BYTES];
  setenv("XDG_DATA_HOME", "", 1);
  setenv("HOME", "/home/someone", 1);
  plim_library_folder(path);
  cr_assert_str_eq(path, "/home/someone/.local/share/plimsoll/lib");
  setenv("XDG_DATA_HOME", "/data", 1);
  plim_library_folder(path);
  cr_assert_str_eq(path, "/data/plimsoll/lib");
  setenv("XDG_DATA_HOME", "data", 1);
  plim_library_folder(path);
  cr_assert_str_eq(path, "/home/someone/.local/share/plimsoll/lib");
  setenv("HOME", ".", 1);
  plim_library_folder(path);
  cr_assert_str_empty(path);
}

Test(solver, a_library_is_found_under_its_other_name) {
  typedef struct functions {
    double (*cosine)(double x);
  } functions;
  static const plim_library_symbol symbols[] = {{"cos", offsetof(functions, cosine)}};
  const plim_library_spec spec = {.name = "Solver",
                                  .file = "libno_such_solver.so.9",
                                  .other_file = "libm.so.6",
                                  .remedy = "fetch it",
                                  .n_symbols = 1,
                                  .symbol = symbols};
  functions f;
  char path[PLIM_LIBRARY_PATH_BYTES];
  cr_assert_eq(plim_library_open(ctx, &spec, &f, path), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_str_eq(path, "libm.so.6");
  cr_assert_float_eq(f.cosine(0), 1, 0);
}

Test(solver, other_major_versions_of_a_library_are_refused_with_the_remedy) {
  const plim_library_spec spec = {.name = "Solver", .remedy = "fetch another", .major = 2};
  cr_assert_eq(plim_library_known(ctx, &spec, "lib.so", "2.10.8"), PLIM_OK);
  static const char *others[] = {"1.8.0", "21.1", "devel", "", "2", "3.2.0"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    cr_assert_eq(plim_library_known(ctx, &spec, "lib.so", others[i]), PLIM_EUNSUPPORTED, "%s", others[i]);
    cr_assert_not_null(strstr(plim_context_error(ctx), "and this program knows version 2; fetch another"));
  }
}
