/* A solver in a process of its own. Neither library asks everywhere whether to go on: HiGHS reads and presolves a
 * million columns and runs its interior point without, CBC never asks. A process can be ended at any moment, and a
 * library that crashes there takes nothing with it. The process tells how it goes through a pipe and writes points into
 * memory that both have: the better ones into two places in turn, so that the one told of last is never written to, the
 * answer's into a third. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "planner/exact/apart.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER = 2, PLACES = 3 };
enum { LOOK_MS = 20, TELL_NS = 10000000, MOMENT_NS = 300000000 };
static const double own_share = 0.9; /* of the time limit: the rest is for the way out */

/* In the memory of both. */
typedef struct shared {
  atomic_int stop; /* the caller asks for an end */
  plim_status status;
  char error[PLIM_ERROR_BYTES];
  double point[]; /* [PLACES][n_columns] */
} shared;

static double *place_of(shared *s, int32_t place, int32_t n_columns) {
  return s->point + (size_t)place * (size_t)n_columns;
}

typedef enum subject { TOLD_FIGURES, TOLD_POINT, TOLD_END } subject;

typedef struct message {
  subject subject;
  int32_t place; /* of the point */
  plim_solution solution;
} message;

/* ---- in the process ---- */

typedef struct teller {
  shared *shared;
  int pipe;
  int32_t n_columns, place; /* the next to write to */
  int64_t told_ns;
} teller;

static void tell(const teller *t, const message *m) {
  if (write(t->pipe, m, sizeof *m) != (ssize_t)sizeof *m) _exit(0); /* nobody listens */
}

static int on_progress(void *user, double objective, double bound) {
  teller *t = user;
  int64_t now_ns = plim_now_ns();
  if (now_ns - t->told_ns >= TELL_NS) {
    message m = {.subject = TOLD_FIGURES, .solution = {.objective = objective, .bound = bound}};
    tell(t, &m);
    t->told_ns = now_ns;
  }
  return atomic_load(&t->shared->stop);
}

static void on_point(void *user, double objective, const double *point) {
  teller *t = user;
  message m = {.subject = TOLD_POINT, .place = t->place, .solution = {.found = 1, .objective = objective}};
  memcpy(place_of(t->shared, t->place, t->n_columns), point, (size_t)t->n_columns * sizeof *point);
  tell(t, &m);
  t->place = !t->place;
}

static void be_the_process(plim_context *ctx, const plim_back_end *back_end, const plim_model *model,
                           const plim_solve_options *options, teller *t) {
  plim_solve_options own = *options;
  message m = {.subject = TOLD_END, .place = ANSWER, .solution = {.objective = INFINITY, .bound = -INFINITY}};
  (void)signal(SIGINT, SIG_IGN); /* Ctrl-C is for the caller */
  (void)signal(SIGPIPE, SIG_DFL);
  own.seconds *= own_share;
  own.on_progress = on_progress;
  own.on_point = on_point;
  own.user = t;
  t->shared->status = back_end->solve(ctx, model, &own, &m.solution, place_of(t->shared, ANSWER, t->n_columns));
  if (t->shared->status != PLIM_OK) memcpy(t->shared->error, plim_context_error(ctx), PLIM_ERROR_BYTES);
  tell(t, &m);
  _exit(0);
}

/* ---- beside it ---- */

typedef struct listener {
  plim_context *ctx;
  const plim_solve_options *options;
  shared *shared;
  pid_t process;
  int pipe;
  int32_t place, ended, stopping, killed;
  int64_t kill_ns;
  plim_solution best; /* as told */
} listener;

/* 0: nobody speaks any more. */
static int hear(listener *l) {
  message m;
  ssize_t n = read(l->pipe, &m, sizeof m);
  if (n < 0 && errno == EINTR) return 1;
  if (n != (ssize_t)sizeof m) return 0;
  if (m.subject == TOLD_END) {
    int stands = m.solution.found || !l->best.found || m.solution.end != PLIM_SOLVE_STOPPED;
    plim_solution before = l->best;
    l->best = m.solution;
    l->ended = 1;
    if (stands) l->place = m.place;
    if (!stands) l->best.found = before.found, l->best.objective = before.objective;
  } else if (m.subject == TOLD_POINT) {
    l->best.found = 1;
    l->best.objective = m.solution.objective;
    l->place = m.place;
  } else {
    if (!l->options->relax && m.solution.bound > l->best.bound) l->best.bound = m.solution.bound;
    if (plim_solve_should_stop(l->ctx, l->options, m.solution.objective, m.solution.bound)) l->stopping = 1;
  }
  return 1;
}

static void listen_to_the_end(listener *l) {
  int speaks = 1;
  while (speaks) {
    struct pollfd look = {.fd = l->pipe, .events = POLLIN};
    int ready = poll(&look, 1, LOOK_MS);
    if (ready > 0) speaks = hear(l);
    int64_t now_ns = plim_now_ns();
    if (plim_context_cancelled(l->ctx)) l->stopping = 1;
    if (l->stopping && !atomic_exchange(&l->shared->stop, 1) && l->kill_ns > now_ns + MOMENT_NS) {
      l->kill_ns = now_ns + MOMENT_NS;
    }
    if (now_ns < l->kill_ns || l->ended || l->killed) continue;
    (void)kill(l->process, SIGKILL);
    l->killed = 1;
  }
}

static plim_status answer(listener *l, const plim_back_end *back_end, int how, int32_t n_columns, plim_solution *out,
                          double *point) {
  if (l->ended && l->shared->status != PLIM_OK) return plim_fail(l->ctx, l->shared->status, "%s", l->shared->error);
  if (!l->ended && !l->killed) {
    return plim_fail(l->ctx, PLIM_EUNSUPPORTED, "the solver %s ended by itself, by signal %d, on a model of %d columns",
                     back_end->name, WIFSIGNALED(how) ? WTERMSIG(how) : 0, n_columns);
  }
  *out = l->best;
  if (out->found) memcpy(point, place_of(l->shared, l->place, n_columns), (size_t)n_columns * sizeof *point);
  return PLIM_OK;
}

static plim_status start(listener *l, const plim_back_end *back_end, const plim_model *model) {
  int ends[2];
  if (pipe(ends) != 0) return plim_fail(l->ctx, PLIM_EIO, "no pipe for a solver's process: %s", strerror(errno));
  l->process = fork();
  if (l->process == 0) {
    teller t = {.shared = l->shared, .pipe = ends[1], .n_columns = model->n_columns};
    (void)close(ends[0]);
    be_the_process(l->ctx, back_end, model, l->options, &t);
  }
  int error = errno;
  (void)close(ends[1]);
  l->pipe = ends[0];
  if (l->process > 0) return PLIM_OK;
  (void)close(ends[0]);
  return plim_fail(l->ctx, PLIM_EIO, "no process for a solver: %s", strerror(error));
}

plim_status plim_solve_apart(plim_context *ctx, const plim_back_end *back_end, const plim_model *model,
                             const plim_solve_options *options, plim_solution *out, double *point) {
  size_t bytes = sizeof(shared) + PLACES * (size_t)model->n_columns * sizeof *point;
  listener l = {.ctx = ctx,
                .options = options,
                .kill_ns = INT64_MAX,
                .best = {.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY}};
  int how = 0;
  l.shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (l.shared == MAP_FAILED) {
    return plim_fail(ctx, PLIM_ENOMEM, "%lld bytes for a solver's points were refused by the system", (long long)bytes);
  }
  if (options->seconds > 0) l.kill_ns = plim_now_ns() + (int64_t)(options->seconds * 1e9);
  plim_status status = start(&l, back_end, model);
  if (status == PLIM_OK) {
    listen_to_the_end(&l);
    (void)close(l.pipe);
    while (waitpid(l.process, &how, 0) < 0 && errno == EINTR) continue;
    status = answer(&l, back_end, how, model->n_columns, out, point);
  }
  (void)munmap(l.shared, bytes);
  return status;
}
