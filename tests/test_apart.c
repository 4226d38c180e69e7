#define _DEFAULT_SOURCE /* usleep */
/* planner/exact/apart.c over back ends that are none: they answer, hang, crash or refuse. */
#include "planner/exact/apart.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/context.h"

enum { COLUMNS = 3 };

static plim_context *ctx;
static plim_model model;
static void setup(void) {
  ctx = plim_test_context();
  model = (plim_model){.ctx = ctx};
  for (int i = 0; i < COLUMNS; i++) (void)plim_model_column(&model, 1, 0, 1, 1);
}
static void teardown(void) {
  plim_model_free(&model);
  plim_test_context_end(ctx);
}
TestSuite(apart, .init = setup, .fini = teardown);

typedef plim_status solving(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                            double *point);

static plim_status solve(solving *how, const plim_solve_options *options, plim_solution *out, double *point) {
  const plim_back_end back_end = {.name = "stand-in", .solve = how};
  return plim_solve_apart(ctx, &back_end, &model, options, out, point);
}

static void fill(double *point, double value) {
  for (int i = 0; i < COLUMNS; i++) point[i] = value + i;
}

/* Two better points on the way, and an answer that is better still. */
static plim_status answers(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                           double *point) {
  double found[COLUMNS];
  (void)c, (void)m;
  for (int i = 0; i < 2; i++) {
    fill(found, 30 - 10 * i);
    o->on_point(o->user, found[0], found);
  }
  fill(point, 10);
  *out = (plim_solution){.end = PLIM_SOLVE_OPTIMAL, .found = 1, .objective = 10, .bound = 10};
  return PLIM_OK;
}

Test(apart, the_answer_and_its_point_come_from_the_process) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS] = {0};
  cr_assert_eq(solve(answers, &options, &s, point), PLIM_OK);
  cr_assert(s.end == PLIM_SOLVE_OPTIMAL && s.found && s.objective == 10 && s.bound == 10);
  for (int i = 0; i < COLUMNS; i++) cr_assert_eq(point[i], 10 + i);
}

/* Three points and a bound, and no end to it. */
static plim_status hangs(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                         double *point) {
  double found[COLUMNS];
  (void)m, (void)out, (void)point;
  for (int i = 0; i < 3; i++) {
    fill(found, 30 - 10 * i);
    o->on_point(o->user, found[0], found);
  }
  (void)o->on_progress(o->user, found[0], 5);
  while (c) (void)pause();
  return PLIM_OK;
}

static int asks_for_an_end(void *user, double objective, double bound) {
  *(int *)user = objective == 10 && bound == 5;
  return 1;
}

Test(apart, a_library_that_does_not_listen_is_ended_and_its_best_point_kept) {
  int told = 0;
  const plim_solve_options asked = {.on_progress = asks_for_an_end, .user = &told}, limited = {.seconds = 0.2};
  const plim_solve_options *options[] = {&asked, &limited};
  for (int i = 0; i < 2; i++) {
    plim_solution s;
    double point[COLUMNS] = {0};
    cr_assert_eq(solve(hangs, options[i], &s, point), PLIM_OK);
    cr_assert(s.end == PLIM_SOLVE_STOPPED && s.found && s.objective == 10 && s.bound == 5);
    for (int k = 0; k < COLUMNS; k++) cr_assert_eq(point[k], 10 + k);
  }
  cr_assert(told);
}

Test(apart, a_cancel_ends_it_too) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS];
  plim_context_cancel(ctx);
  cr_assert_eq(solve(hangs, &options, &s, point), PLIM_OK);
  cr_assert_eq(s.end, PLIM_SOLVE_STOPPED);
  plim_context_resume(ctx);
}

/* Looks whether to go on, as HiGHS does here and there. */
static plim_status listens(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                           double *point) {
  (void)c, (void)m;
  while (!o->on_progress(o->user, INFINITY, 0)) (void)usleep(1000);
  fill(point, 7);
  *out = (plim_solution){.end = PLIM_SOLVE_STOPPED, .found = 1, .objective = 7, .bound = 3};
  return PLIM_OK;
}

Test(apart, a_library_that_listens_has_a_moment_to_answer) {
  int told = 0;
  const plim_solve_options options = {.on_progress = asks_for_an_end, .user = &told};
  plim_solution s;
  double point[COLUMNS] = {0};
  cr_assert_eq(solve(listens, &options, &s, point), PLIM_OK);
  cr_assert(s.found && s.objective == 7 && s.bound == 3);
  cr_assert_eq(point[2], 9);
}

static plim_status crashes(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                           double *point) {
  (void)c, (void)m, (void)o, (void)out, (void)point;
  (void)signal(SIGSEGV, SIG_DFL);
  (void)raise(SIGSEGV);
  return PLIM_OK;
}

static plim_status refuses(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                           double *point) {
  (void)o, (void)out, (void)point;
  return plim_fail(c, PLIM_EUNSUPPORTED, "it refuses %d columns", m->n_columns);
}

Test(apart, a_crash_and_a_refusal_are_told) {
  const plim_solve_options options = {.cutoff = INFINITY};
  plim_solution s;
  double point[COLUMNS];
  cr_assert_eq(solve(crashes, &options, &s, point), PLIM_EUNSUPPORTED);
  cr_assert_not_null(strstr(plim_context_error(ctx), "the solver stand-in ended by itself, by signal 11"), "%s",
                     plim_context_error(ctx));
  cr_assert_eq(solve(refuses, &options, &s, point), PLIM_EUNSUPPORTED);
  cr_assert_str_eq(plim_context_error(ctx), "it refuses 3 columns");
}
