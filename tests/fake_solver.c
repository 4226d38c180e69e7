#define _DEFAULT_SOURCE /* usleep */
/* plimsoll-solver over back ends that are fake: they answer, hang, crash or refuse. */
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/solver/solver_process.h"

enum { COLUMNS = 3 };

static void fill(double *point, double value) {
  for (int i = 0; i < COLUMNS; i++) point[i] = value + i;
}

/* Two better points on the way, and an answer that is better still. */
static plim_status answers(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                           double *point) {
  double found[COLUMNS + 1] = {0}; /* one more number for a count that is written over */
  (void)c, (void)m;
  for (int i = 0; i < 2; i++) {
    fill(found, 30 - 10 * i);
    o->on_point(o->user, found[0], found);
  }
  fill(point, 10);
  *out = (plim_solution){.end = PLIM_SOLVE_OPTIMAL, .found = 1, .objective = 10, .bound = 10};
  return PLIM_OK;
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

/* Looks whether to continue, as HiGHS does here and there. */
static plim_status listens(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                           double *point) {
  (void)c, (void)m;
  while (!o->on_progress(o->user, INFINITY, 0)) (void)usleep(1000);
  fill(point, 7);
  *out = (plim_solution){.end = PLIM_SOLVE_STOPPED, .found = 1, .objective = 7, .bound = 3};
  return PLIM_OK;
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

/* The sum of all that it was given, by column: what is shared is what was meant. */
static plim_status sums(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                        double *point) {
  (void)c;
  for (int32_t j = 0; j < m->n_columns; j++) {
    point[j] = m->cost[j] + m->low[j] + m->high[j] + m->integer[j] + (o->start ? o->start[j] : 0);
  }
  for (int32_t r = 0; r < m->n_rows; r++) {
    for (int32_t e = m->row_first[r]; e < m->row_first[r + 1]; e++) {
      point[m->column[e]] += m->value[e] * (m->row_low[r] + m->row_high[r]);
    }
  }
  *out = (plim_solution){.end = PLIM_SOLVE_OPTIMAL, .found = 1, .objective = o->gap + o->absolute_gap + o->cutoff};
  out->bound = (double)o->iterations + o->threads + o->relax;
  return PLIM_OK;
}

/* Prints, as libraries do. */
static plim_status prints(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                          double *point) {
  ssize_t n = write(1, "chatter\n", 8) + write(2, "chatter\n", 8);
  (void)n;
  return answers(c, m, o, out, point);
}

/* A process of its own keeps the socket open after the answer. */
static plim_status leaves_a_child(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                                  double *point) {
  if (fork() == 0) {
    (void)usleep(20000000);
    _exit(0);
  }
  return answers(c, m, o, out, point);
}

/* Writes over the counts in the shared memory, as a library with a stray pointer may, and answers. */
static plim_status overwrites(plim_context *c, const plim_model *m, const plim_solve_options *o, plim_solution *out,
                              double *point) {
  plim_share *share = mmap(NULL, sizeof *share, PROT_READ | PROT_WRITE, MAP_SHARED, PLIM_SHARE_MEMORY, 0);
  if (share == MAP_FAILED) return plim_fail(c, PLIM_EIO, "no shared memory");
  share->n_columns = COLUMNS + 1;
  return answers(c, m, o, out, point);
}

static const plim_back_end fake[] = {
    {.name = "answers", .solve = answers},      {.name = "hangs", .solve = hangs},
    {.name = "listens", .solve = listens},      {.name = "crashes", .solve = crashes},
    {.name = "refuses", .solve = refuses},      {.name = "sums", .solve = sums},
    {.name = "prints", .solve = prints},        {.name = "leaves a child", .solve = leaves_a_child},
    {.name = "overwrites", .solve = overwrites}};
enum { FAKES = sizeof fake / sizeof fake[0] };

int main(void) {
  const plim_back_end *list[FAKES + 1] = {NULL};
  for (int i = 0; i < FAKES; i++) list[i] = &fake[i];
  return plim_solver_process(list);
}
