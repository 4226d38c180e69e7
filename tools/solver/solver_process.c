/* The process tells how it goes through a socket and writes points into the shared memory: the better ones into two
 * places in turn, so that the one told of last is never written to, the answer's into a third. A thread waits for the
 * end of the socket, which is the end of the program that asked. */
#include "tools/solver/solver_process.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "planner/solvers/solvers_internal.h"

enum { NO_MODEL = 2, OTHER_VERSION = 3 };
enum { TELL_NS = 10000000 };
static const double own_share = 0.9; /* of the time limit: the rest is for the way out */

typedef struct teller {
  plim_share *share;
  plim_share_view view;
  int32_t place; /* the next to write to */
  int64_t told_ns;
} teller;

static double *point_at(const teller *t, int32_t place) {
  return t->view.point + (size_t)place * (size_t)t->share->n_columns;
}

static void tell(const plim_share_message *m) {
  if (send(PLIM_SHARE_SOCKET, m, sizeof *m, MSG_NOSIGNAL) != (ssize_t)sizeof *m) _exit(0); /* no one listens */
}

static int on_progress(void *user, double objective, double bound) {
  teller *t = user;
  int64_t now_ns = plim_now_ns();
  if (now_ns - t->told_ns >= TELL_NS) {
    plim_share_message m = {.subject = PLIM_TOLD_FIGURES, .solution = {.objective = objective, .bound = bound}};
    tell(&m);
    t->told_ns = now_ns;
  }
  return atomic_load(&t->share->stop);
}

static void on_point(void *user, double objective, const double *point) {
  teller *t = user;
  plim_share_message m = {
      .subject = PLIM_TOLD_POINT, .place = t->place, .solution = {.found = 1, .objective = objective}};
  memcpy(point_at(t, t->place), point, (size_t)t->share->n_columns * sizeof *point);
  tell(&m);
  t->place = !t->place;
}

static void *end_with_the_caller(void *user) {
  char byte;
  ssize_t n = 1;
  while (n > 0) n = recv(PLIM_SHARE_SOCKET, &byte, 1, 0);
  _exit(0);
  return user;
}

/* NULL: no one shares a model with this process. */
static plim_share *map_share(void) {
  struct stat st;
  if (fstat(PLIM_SHARE_MEMORY, &st) != 0 || st.st_size < (off_t)sizeof(plim_share)) return NULL;
  void *base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, PLIM_SHARE_MEMORY, 0);
  if (base == MAP_FAILED) return NULL;
  plim_share *s = base;
  if (strncmp(s->version, PLIM_VERSION, sizeof s->version) != 0) return s; /* the counts may stand elsewhere */
  return plim_share_look(base, s->n_columns, s->n_rows, s->n_entries).bytes == st.st_size ? s : NULL;
}

static void solve(plim_context *ctx, const plim_back_end *back_end, teller *t) {
  plim_share *s = t->share;
  const plim_share_view *v = &t->view;
  const plim_model model = {.ctx = ctx,
                            .n_columns = s->n_columns,
                            .n_rows = s->n_rows,
                            .n_entries = s->n_entries,
                            .cost = v->cost,
                            .low = v->low,
                            .high = v->high,
                            .integer = v->integer,
                            .row_low = v->row_low,
                            .row_high = v->row_high,
                            .row_first = v->row_first,
                            .column = v->column,
                            .value = v->value};
  const plim_solve_options options = {.relax = s->relax,
                                      .threads = s->threads,
                                      .seconds = s->seconds * own_share,
                                      .iterations = s->iterations,
                                      .gap = s->gap,
                                      .absolute_gap = s->absolute_gap,
                                      .cutoff = s->cutoff,
                                      .start = s->has_start ? v->start : NULL,
                                      .on_progress = on_progress,
                                      .on_point = on_point,
                                      .user = t};
  plim_share_message m = {
      .subject = PLIM_TOLD_END, .place = PLIM_SHARE_ANSWER, .solution = {.objective = INFINITY, .bound = -INFINITY}};
  s->status = back_end->solve(ctx, &model, &options, &m.solution, point_at(t, PLIM_SHARE_ANSWER));
  if (s->status != PLIM_OK) memcpy(s->error, plim_context_error(ctx), PLIM_ERROR_BYTES);
  tell(&m);
}

int plim_solver_process(const plim_back_end *const *back_end) {
  plim_context *ctx = NULL;
  pthread_t watcher;
  static const int callers[] = {SIGINT, SIGTERM, SIGHUP}; /* a terminal's are for the caller, which tells what to do */
  for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) (void)signal(callers[i], SIG_IGN);
  plim_share *s = map_share();
  if (!s) {
    (void)fprintf(stderr, "plimsoll-solver is started by libplimsoll-plan, with a model; it does nothing alone.\n");
    return NO_MODEL;
  }
  if (strncmp(s->version, PLIM_VERSION, sizeof s->version) != 0) return OTHER_VERSION;
  while (*back_end && strcmp((*back_end)->name, s->back_end) != 0) back_end++;
  if (!*back_end) return OTHER_VERSION;
  teller t = {.share = s, .view = plim_share_look(s, s->n_columns, s->n_rows, s->n_entries)};
  if (pthread_create(&watcher, NULL, end_with_the_caller, NULL) != 0) return NO_MODEL;
  if (plim_context_new(NULL, NULL, &ctx) != PLIM_OK) return NO_MODEL;
  solve(ctx, *back_end, &t);
  _exit(0); /* without what the library does at its end, which nothing waits for */
}
