/* A solver in a process of its own. Neither library asks everywhere whether to continue: HiGHS reads and presolves a
 * million columns and runs its interior point without, CBC never asks. A process can be ended at any moment, and a
 * library that crashes there takes nothing with it. It is another program, not a fork: the child of a program with
 * threads may call almost nothing. Its end is the end of its socket; who waits for it does not matter. */
#define _GNU_SOURCE /* memfd_create, SOCK_CLOEXEC */
#include "planner/solvers/solvers_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/effort.h"
#include "runtime/base/integers.h"

enum { LOOK_MS = 20, MOMENT_NS = 300000000, CANCEL_NS = 100000000 /* a cancel has to end all within the moment */ };
enum { HIGH_FD = 16 }; /* above those that the process gets */

extern char **environ;

typedef struct listener {
  plim_context *ctx;
  const plim_solve_options *options;
  const char *back_end;
  plim_share *share;
  plim_share_view view;
  int memory, socket; /* descriptors; -1: none */
  pid_t process;
  int32_t place, ended, stopping, killed;
  int64_t kill_ns;
  plim_solution best; /* as told */
} listener;

/* ---- the shared memory ---- */

static plim_status fail_system(listener *l, const char *what, int error) {
  plim_status status = error == ENOMEM || error == ENOSPC ? PLIM_ENOMEM : PLIM_EIO;
  (void)plim_fail(l->ctx, status, "%s for the solver %s was refused by the system: %s", what, l->back_end,
                  strerror(error));
  return status;
}

/* A descriptor that the ones of the process do not meet. */
static int raise_fd(int fd) {
  int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD), error = errno;
  if (fd >= 0) (void)close(fd);
  errno = error; /* of fcntl, or of what made fd */
  return high;
}

static plim_status map_memory(listener *l, const plim_model *m) {
  int64_t bytes = plim_share_look(NULL, m->n_columns, m->n_rows, m->n_entries).bytes;
  l->memory = raise_fd(memfd_create("plimsoll-solver", MFD_CLOEXEC));
  if (l->memory < 0) return fail_system(l, "shared memory", errno);
  int error = posix_fallocate(l->memory, 0, bytes); /* now, rather than a signal when it is written */
  void *base = error ? MAP_FAILED : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, l->memory, 0);
  if (base == MAP_FAILED) return fail_system(l, "shared memory", error ? error : errno);
  l->share = base;
  l->view = plim_share_look(base, m->n_columns, m->n_rows, m->n_entries);
  return PLIM_OK;
}

static void copy(void *to, const void *from, int64_t count, size_t size) {
  if (count > 0) memcpy(to, from, (size_t)count * size);
}

static void write_model(listener *l, const plim_model *m) {
  const plim_solve_options *o = l->options;
  const plim_share_view *v = &l->view;
  static const int32_t none = 0;
  *l->share = (plim_share){.version = PLIM_VERSION,
                           .n_columns = m->n_columns,
                           .n_rows = m->n_rows,
                           .n_entries = m->n_entries,
                           .relax = o->relax,
                           .threads = o->threads,
                           .has_start = o->start != NULL,
                           .effort = o->effort,
                           .seconds = o->seconds,
                           .gap = o->gap,
                           .absolute_gap = o->absolute_gap,
                           .cutoff = o->cutoff};
  (void)strncpy(l->share->back_end, l->back_end, PLIM_SHARE_NAME - 1);
  copy(v->cost, m->cost, m->n_columns, sizeof *m->cost);
  copy(v->low, m->low, m->n_columns, sizeof *m->low);
  copy(v->high, m->high, m->n_columns, sizeof *m->high);
  copy(v->row_low, m->row_low, m->n_rows, sizeof *m->row_low);
  copy(v->row_high, m->row_high, m->n_rows, sizeof *m->row_high);
  copy(v->value, m->value, m->n_entries, sizeof *m->value);
  copy(v->start, o->start, o->start ? m->n_columns : 0, sizeof *o->start);
  copy(v->integer, m->integer, m->n_columns, sizeof *m->integer);
  copy(v->row_first, m->row_first ? m->row_first : &none, m->n_rows + 1, sizeof *m->row_first);
  copy(v->column, m->column, m->n_entries, sizeof *m->column);
}

/* ---- the process ---- */

/* Its standard input is the socket; what a library prints is not the host's to show. */
static int spawn(listener *l, const char *program, int end) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  sigset_t none, all;
  char *const arguments[] = {(char *)program, NULL};
  (void)sigemptyset(&none);
  (void)sigfillset(&all);
  int error = posix_spawn_file_actions_init(&files);
  if (error) return error;
  error = posix_spawnattr_init(&how);
  if (!error) {
    error = posix_spawn_file_actions_adddup2(&files, end, PLIM_SHARE_SOCKET);
    if (!error) error = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, l->memory, PLIM_SHARE_MEMORY);
    if (!error) error = posix_spawnattr_setsigmask(&how, &none);
    if (!error) error = posix_spawnattr_setsigdefault(&how, &all);
    if (!error) error = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawn(&l->process, program, &files, &how, arguments, environ);
    (void)posix_spawnattr_destroy(&how);
  }
  (void)posix_spawn_file_actions_destroy(&files);
  return error;
}

static plim_status start(listener *l) {
  char program[PLIM_LIBRARY_PATH_BYTES];
  int ends[2];
  PLIM_TRY(plim_solver_program(l->ctx, program));
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return fail_system(l, "a socket", errno);
  l->socket = ends[0];
  int end = raise_fd(ends[1]), error = end < 0 ? errno : spawn(l, program, end);
  if (end >= 0) (void)close(end);
  if (!error) return PLIM_OK;
  return plim_fail(l->ctx, PLIM_EIO, "%s could not be started: %s", program, strerror(error));
}

/* ---- beside it ---- */

/* 0: no one speaks any more. */
static int hear(listener *l) {
  plim_share_message m;
  ssize_t n = recv(l->socket, &m, sizeof m, 0);
  if (n < 0 && errno == EINTR) return 1;
  if (n != (ssize_t)sizeof m || m.place < 0 || m.place >= PLIM_SHARE_POINTS) {
    if (n > 0) (void)kill(l->process, SIGKILL); /* not our program: nothing that it says counts */
    return 0;
  }
  if (m.subject == PLIM_TOLD_END) {
    int stands = m.solution.found || !l->best.found || m.solution.end != PLIM_SOLVE_STOPPED;
    plim_solution before = l->best;
    l->best = m.solution;
    l->ended = 1;
    if (stands) l->place = m.place;
    if (!stands) {
      l->best.found = before.found;
      l->best.objective = before.objective;
    }
  } else if (m.subject == PLIM_TOLD_POINT) {
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
  while (speaks && !l->ended) {
    struct pollfd look = {.fd = l->socket, .events = POLLIN};
    int ready = poll(&look, 1, LOOK_MS);
    if (ready > 0) speaks = hear(l);
    int64_t now_ns = plim_now_ns(), moment_ns = MOMENT_NS;
    if (plim_context_cancelled(l->ctx)) l->stopping = 1, moment_ns = CANCEL_NS;
    if (l->stopping && !atomic_exchange(&l->share->stop, 1) && l->kill_ns > now_ns + moment_ns) {
      l->kill_ns = now_ns + moment_ns;
    }
    if (!speaks || now_ns < l->kill_ns || l->ended || l->killed) continue;
    (void)kill(l->process, SIGKILL); /* its socket is open: the process is there */
    l->killed = 1;
  }
}

/* Its answer is there, and nothing else that it does counts. It has a moment to close its socket, then it is killed. */
static void end_it(const listener *l) {
  struct pollfd look = {.fd = l->socket}; /* a hang-up is always told */
  const int64_t end_ns = plim_now_ns() + (plim_context_cancelled(l->ctx) ? CANCEL_NS : MOMENT_NS);
  int64_t left_ns = end_ns - plim_now_ns();
  while (left_ns > 0 && poll(&look, 1, (int)(left_ns / 1000000) + 1) <= 0) left_ns = end_ns - plim_now_ns();
  if (left_ns <= 0) (void)kill(l->process, SIGKILL);
}

/* Another part of the host may have waited for it (ECHILD), or no one can (SIGCHLD is ignored): -1. */
static int wait_for_it(listener *l) {
  int how = 0;
  pid_t got;
  do got = waitpid(l->process, &how, 0);
  while (got < 0 && errno == EINTR);
  return got == l->process ? how : -1;
}

static plim_status answer(listener *l, int how, plim_solution *out, double *point) {
  if (l->ended && l->share->status != PLIM_OK) return plim_fail(l->ctx, l->share->status, "%s", l->share->error);
  if (!l->ended && !l->killed) {
    char by[48] = "";
    if (how >= 0 && WIFSIGNALED(how)) (void)snprintf(by, sizeof by, ", by signal %d", WTERMSIG(how));
    if (how >= 0 && WIFEXITED(how)) (void)snprintf(by, sizeof by, ", with exit status %d", WEXITSTATUS(how));
    return plim_fail(l->ctx, PLIM_EUNSUPPORTED, "the solver %s ended by itself%s, on a model of %d columns",
                     l->back_end, by, l->share->n_columns);
  }
  int32_t n = l->share->n_columns;
  *out = l->best;
  if (out->found) memcpy(point, l->view.point + (size_t)l->place * (size_t)n, (size_t)n * sizeof *point);
  return PLIM_OK;
}

/* By the options, and by the deadline of the work around it. */
static int64_t last_moment(const plim_context *ctx, const plim_solve_options *options) {
  const int64_t limit_ns = plim_integers_from_real(options->seconds > 0 ? options->seconds * 1e9 : 0);
  const int64_t now_ns = plim_now_ns(), own_ns = plim_effort_deadline_of(now_ns, limit_ns);
  const int64_t left_ns = plim_effort_left_ns(ctx);
  return left_ns < own_ns - now_ns ? now_ns + left_ns : own_ns;
}

plim_status plim_solve_in_subprocess(plim_context *ctx, const char *back_end, const plim_model *model,
                                     const plim_solve_options *options, plim_solution *out, double *point) {
  listener l = {.ctx = ctx,
                .options = options,
                .back_end = back_end,
                .memory = -1,
                .socket = -1,
                .kill_ns = INT64_MAX,
                .best = {.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY}};
  plim_status status = map_memory(&l, model);
  if (status == PLIM_OK) {
    write_model(&l, model);
    l.kill_ns = last_moment(ctx, options);
    status = start(&l);
  }
  if (status == PLIM_OK) {
    listen_to_the_end(&l);
    if (l.ended) end_it(&l);
    status = answer(&l, wait_for_it(&l), out, point);
  }
  if (l.socket >= 0) (void)close(l.socket);
  if (l.memory >= 0) (void)close(l.memory);
  if (l.share) (void)munmap(l.share, (size_t)l.view.bytes);
  return status;
}
