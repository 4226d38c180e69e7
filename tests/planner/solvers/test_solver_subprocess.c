#define _DEFAULT_SOURCE /* usleep */
/* planner/solvers/solver_subprocess.c over tests/fake_solver.c, whose back ends answer, hang, crash or refuse; and what
 * a host may do meanwhile: ignore SIGCHLD, wait for whatever child ends, and end itself. */
#include "planner/solvers/solvers_internal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test_context.h"

enum { COLUMNS = 3 };

static plim_context *ctx;
static plim_model model;
static void setup(void) {
  ctx = plim_test_context();
  (void)setenv("PLIM_SOLVER", PLIM_BINARY_DIR "/bin/fake_solver", 1);
  model = (plim_model){.ctx = ctx};
  for (int i = 0; i < COLUMNS; i++) (void)plim_model_column(&model, 1, 0, 1, 1);
}
static void teardown(void) {
  plim_model_free(&model);
  plim_test_context_end(ctx);
}
TestSuite(solver_subprocess, .init = setup, .fini = teardown);

static plim_status solve(const char *how, const plim_solve_options *options, plim_solution *out, double *point) {
  return plim_solve_in_subprocess(ctx, how, &model, options, out, point);
}

Test(solver_subprocess, the_answer_and_its_point_come_from_the_process) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS] = {0};
  cr_assert_eq(solve("answers", &options, &s, point), PLIM_OK);
  cr_assert(s.end == PLIM_SOLVE_OPTIMAL && s.found && s.objective == 10 && s.bound == 10);
  for (int i = 0; i < COLUMNS; i++) cr_assert_eq(point[i], 10 + i);
}

static int asks_for_an_end(void *user, double objective, double bound) {
  *(int *)user = objective == 10 && bound == 5;
  return 1;
}

Test(solver_subprocess, a_library_that_does_not_listen_is_ended_and_its_best_point_kept) {
  int told = 0;
  const plim_solve_options asked = {.on_progress = asks_for_an_end, .user = &told}, limited = {.seconds = 0.2};
  const plim_solve_options *options[] = {&asked, &limited};
  for (int i = 0; i < 2; i++) {
    plim_solution s;
    double point[COLUMNS] = {0};
    cr_assert_eq(solve("hangs", options[i], &s, point), PLIM_OK);
    cr_assert(s.end == PLIM_SOLVE_STOPPED && s.found && s.objective == 10 && s.bound == 5);
    for (int k = 0; k < COLUMNS; k++) cr_assert_eq(point[k], 10 + k);
  }
  cr_assert(told);
}

Test(solver_subprocess, what_holds_the_socket_after_the_answer_is_not_waited_for, .timeout = 10) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS] = {0};
  cr_assert_eq(solve("leaves a child", &options, &s, point), PLIM_OK);
  cr_assert(s.end == PLIM_SOLVE_OPTIMAL && s.found && s.objective == 10);
  cr_assert_eq(point[2], 12);
}

Test(solver_subprocess, a_cancel_ends_it_too_within_a_quarter_of_a_second) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS];
  plim_context_cancel(ctx);
  int64_t begin_ns = plim_now_ns(), least_ns = INT64_MAX;
  for (int i = 0; i < 3; i++) { /* the machine may be busy once */
    cr_assert_eq(solve("hangs", &options, &s, point), PLIM_OK);
    cr_assert_eq(s.end, PLIM_SOLVE_STOPPED);
    if (plim_now_ns() - begin_ns < least_ns) least_ns = plim_now_ns() - begin_ns;
    begin_ns = plim_now_ns();
  }
  cr_assert_lt(least_ns, 250000000, "%lld ns", (long long)least_ns);
  plim_context_resume(ctx);
}

Test(solver_subprocess, a_library_that_listens_has_a_moment_to_answer) {
  int told = 0;
  const plim_solve_options options = {.on_progress = asks_for_an_end, .user = &told};
  plim_solution s;
  double point[COLUMNS] = {0};
  cr_assert_eq(solve("listens", &options, &s, point), PLIM_OK);
  cr_assert(s.found && s.objective == 7 && s.bound == 3);
  cr_assert_eq(point[2], 9);
}

Test(solver_subprocess, counts_that_the_process_writes_over_are_not_believed) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS + 1];
  for (int i = 0; i <= COLUMNS; i++) point[i] = -1;
  cr_assert_eq(solve("overwrites", &options, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert(s.found && point[COLUMNS] == -1, "a number after the point");
}

Test(solver_subprocess, a_crash_and_a_refusal_are_told) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS];
  cr_assert_eq(solve("crashes", &options, &s, point), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "the solver crashes ended by itself, by signal 11"), "%s",
                     plim_context_error(ctx));
  cr_assert_eq(solve("refuses", &options, &s, point), PLIM_EUNSUPPORTED);
  cr_assert_str_eq(plim_context_error(ctx), "it refuses 3 columns");
}

Test(solver_subprocess, the_whole_model_and_its_options_reach_the_process) {
  plim_model m = {.ctx = ctx};
  const double start[2] = {1000, 2000};
  const plim_solve_options options = {
      .relax = 1, .threads = 3, .iterations = 500, .gap = 0.5, .absolute_gap = 0.25, .cutoff = 64, .start = start};
  plim_solution s;
  double point[2] = {0};
  for (int i = 0; i < 2; i++) plim_model_term(&m, plim_model_column(&m, 3 + i, -10, 20, i), 100 + i);
  plim_model_row(&m, -1, 3);
  plim_model_term(&m, 1, 5);
  plim_model_row(&m, 1, 1);
  cr_assert_eq(m.status, PLIM_OK);
  cr_assert_eq(plim_solve_in_subprocess(ctx, "sums", &m, &options, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(point[0], 3 - 10 + 20 + 0 + 1000 + 100 * 2);
  cr_assert_eq(point[1], 4 - 10 + 20 + 1 + 2000 + 101 * 2 + 5 * 2);
  cr_assert(s.objective == 64.75 && s.bound == 504);
  plim_model_free(&m);
}

Test(solver_subprocess, a_program_that_is_missing_another_or_without_that_back_end_is_told) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS];
  cr_assert_eq(solve("none", &options, &s, point), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "exit status 3"), "%s", plim_context_error(ctx));
  (void)setenv("PLIM_SOLVER", "/bin/false", 1);
  cr_assert_eq(solve("answers", &options, &s, point), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "exit status 1"), "%s", plim_context_error(ctx));
  static const char *const wrong[] = {"/nowhere/solver", "bin/fake_solver"};
  for (int i = 0; i < 2; i++) {
    (void)setenv("PLIM_SOLVER", wrong[i], 1);
    cr_assert_eq(solve("answers", &options, &s, point), PLIM_EUNSUPPORTED);
    cr_assert_not_null(strstr(plim_context_error(ctx), "not the absolute path of a program"));
    cr_assert_not_null(strstr(plim_context_error(ctx), wrong[i]), "%s", plim_context_error(ctx));
  }
}

Test(solver_subprocess, what_a_library_prints_is_not_seen) {
  int ends[2];
  char text[64];
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS];
  int out = dup(1), error = dup(2);
  cr_assert_eq(pipe(ends), 0);
  (void)dup2(ends[1], 1), (void)dup2(ends[1], 2);
  plim_status status = solve("prints", &options, &s, point);
  (void)dup2(out, 1), (void)dup2(error, 2);
  (void)close(ends[1]);
  cr_assert_eq(status, PLIM_OK);
  cr_assert_eq(read(ends[0], text, sizeof text), 0);
}

/* ---- hosts ---- */

Test(solver_subprocess, a_host_that_ignores_its_children_gets_answers_and_crashes_told) {
  const plim_solve_options options = {.cutoff = INFINITY}, limited = {.seconds = 0.2};
  plim_solution s;
  double point[COLUMNS];
  (void)signal(SIGCHLD, SIG_IGN);
  cr_assert_eq(solve("answers", &options, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(s.objective, 10);
  cr_assert_eq(solve("hangs", &limited, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(solve("crashes", &options, &s, point), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "ended by itself"), "%s", plim_context_error(ctx));
  (void)signal(SIGCHLD, SIG_DFL);
}

static void *wait_for_all(void *user) {
  const atomic_int *stop = user;
  while (!atomic_load(stop)) {
    if (waitpid(-1, NULL, 0) < 0) (void)usleep(100);
  }
  return NULL;
}

Test(solver_subprocess, a_host_that_waits_for_every_child_gets_answers_and_crashes_told) {
  const plim_solve_options options = {.cutoff = INFINITY}, limited = {.seconds = 0.2};
  plim_solution s;
  double point[COLUMNS];
  static atomic_int stop;
  pthread_t waiter;
  cr_assert_eq(pthread_create(&waiter, NULL, wait_for_all, &stop), 0);
  for (int i = 0; i < 20; i++) {
    cr_assert_eq(solve("answers", &options, &s, point), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(solve("crashes", &options, &s, point), PLIM_EUNSUPPORTED);
  }
  cr_assert_eq(solve("hangs", &limited, &s, point), PLIM_OK);
  cr_assert_eq(s.objective, 10);
  atomic_store(&stop, 1);
  cr_assert_eq(pthread_join(waiter, NULL), 0);
}

/* A pipe that every process below the host inherits ends when the last of them does. */
Test(solver_subprocess, a_host_that_is_killed_takes_the_process_with_it) {
  int ends[2];
  char byte;
  cr_assert_eq(pipe(ends), 0);
  pid_t host = fork();
  if (host == 0) {
    const plim_solve_options options = {.cutoff = INFINITY};
    plim_solution s;
    double point[COLUMNS];
    (void)close(ends[0]);
    plim_status status = solve("hangs", &options, &s, point);
    _exit(status == PLIM_OK);
  }
  (void)close(ends[1]);
  struct pollfd look = {.fd = ends[0], .events = POLLIN};
  cr_assert_eq(poll(&look, 1, 300), 0, "it hangs");
  cr_assert_eq(kill(host, SIGKILL), 0);
  cr_assert_eq(waitpid(host, NULL, 0), host);
  cr_assert_eq(poll(&look, 1, 10000), 1, "the process outlives its host");
  cr_assert_eq(read(ends[0], &byte, 1), 0);
}

Test(solver_subprocess, a_standard_input_that_a_host_closed_does_not_matter) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS];
  int in = dup(0);
  (void)close(0); /* the first that is free */
  plim_status status = solve("answers", &options, &s, point);
  (void)dup2(in, 0);
  cr_assert_eq(status, PLIM_OK, "%s", plim_context_error(ctx));
}
