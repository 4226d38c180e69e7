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

enum { HIGH_FD = 16 }; /* above those that the process gets */

extern char **environ;

typedef struct subprocess {
  plim_context *ctx;
  const plim_solve_options *options;
  const char *back_end;
  plim_share *share;
  plim_share_view view;
  int32_t n_columns;  /* of the model; the copy in `share` may be overwritten by a solver that goes wrong */
  int memory, socket; /* descriptors; -1: none */
  pid_t process;
  int32_t place, ended, stopping, killed;
  int64_t kill_ns;
  plim_solution best; /* as told */
} subprocess;

/* ---- the shared memory ---- */

static plim_status fail_system(subprocess *run, const char *what, int error) {
  plim_status status = error == ENOMEM || error == ENOSPC ? PLIM_ENOMEM : PLIM_EIO;
  (void)plim_fail(run->ctx, status, "%s for the solver %s was refused by the system: %s", what, run->back_end,
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

static plim_status map_memory(subprocess *run, const plim_model *model) {
  int64_t bytes = plim_share_look(NULL, model->n_columns, model->n_rows, model->n_entries).bytes;
  run->memory = raise_fd(memfd_create("plimsoll-solver", MFD_CLOEXEC));
  if (run->memory < 0) return fail_system(run, "shared memory", errno);
  int error = posix_fallocate(run->memory, 0, bytes); /* now, rather than a signal when it is written */
  void *base = error ? MAP_FAILED : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, run->memory, 0);
  if (base == MAP_FAILED) return fail_system(run, "shared memory", error ? error : errno);
  run->share = base;
  run->view = plim_share_look(base, model->n_columns, model->n_rows, model->n_entries);
  return PLIM_OK;
}

static void copy_array(void *to, const void *from, int64_t count, size_t size) {
  if (count > 0) memcpy(to, from, (size_t)count * size);
}

static void write_model(subprocess *run, const plim_model *model) {
  const plim_solve_options *options = run->options;
  const plim_share_view *v = &run->view;
  static const int32_t none = 0;
  *run->share = (plim_share){.version = PLIM_VERSION,
                             .n_columns = model->n_columns,
                             .n_rows = model->n_rows,
                             .n_entries = model->n_entries,
                             .relax = options->relax,
                             .threads = options->threads,
                             .has_start = options->start != NULL,
                             .iterations = options->iterations,
                             .seconds = options->seconds,
                             .gap = options->gap,
                             .absolute_gap = options->absolute_gap,
                             .cutoff = options->cutoff};
  (void)strncpy(run->share->back_end, run->back_end, PLIM_SHARE_NAME - 1);
  copy_array(v->cost, model->cost, model->n_columns, sizeof *model->cost);
  copy_array(v->low, model->low, model->n_columns, sizeof *model->low);
  copy_array(v->high, model->high, model->n_columns, sizeof *model->high);
  copy_array(v->row_low, model->row_low, model->n_rows, sizeof *model->row_low);
  copy_array(v->row_high, model->row_high, model->n_rows, sizeof *model->row_high);
  copy_array(v->value, model->value, model->n_entries, sizeof *model->value);
  copy_array(v->start, options->start, options->start ? model->n_columns : 0, sizeof *options->start);
  copy_array(v->integer, model->integer, model->n_columns, sizeof *model->integer);
  copy_array(v->row_first, model->row_first ? model->row_first : &none, model->n_rows + 1, sizeof *model->row_first);
  copy_array(v->column, model->column, model->n_entries, sizeof *model->column);
}

/* ---- the process ---- */

/* Its standard input is the socket; what a library prints is not the host's to show. */
static int spawn(subprocess *run, const char *program, int end) {
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
    if (!error) error = posix_spawn_file_actions_adddup2(&files, run->memory, PLIM_SHARE_MEMORY);
    if (!error) error = posix_spawnattr_setsigmask(&how, &none);
    if (!error) error = posix_spawnattr_setsigdefault(&how, &all);
    if (!error) error = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawn(&run->process, program, &files, &how, arguments, environ);
    (void)posix_spawnattr_destroy(&how);
  }
  (void)posix_spawn_file_actions_destroy(&files);
  return error;
}

static plim_status start_process(subprocess *run) {
  char program[PLIM_LIBRARY_PATH_BYTES];
  int ends[2];
  PLIM_TRY(plim_solver_program(run->ctx, program));
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return fail_system(run, "a socket", errno);
  run->socket = ends[0];
  int end = raise_fd(ends[1]), error = end < 0 ? errno : spawn(run, program, end);
  if (end >= 0) (void)close(end);
  if (!error) return PLIM_OK;
  return plim_fail(run->ctx, PLIM_EIO, "%s could not be started: %s", program, strerror(error));
}

/* ---- what it says ---- */

/* 0: no one speaks any more. */
static int read_message(subprocess *run) {
  plim_share_message m;
  ssize_t n = recv(run->socket, &m, sizeof m, 0);
  if (n < 0 && errno == EINTR) return 1;
  if (n != (ssize_t)sizeof m || m.place < 0 || m.place >= PLIM_SHARE_POINTS) {
    if (n > 0) (void)kill(run->process, SIGKILL); /* not our program: nothing that it says counts */
    return 0;
  }
  if (m.subject == PLIM_TOLD_END) {
    int stands = m.solution.found || !run->best.found || m.solution.end != PLIM_SOLVE_STOPPED;
    plim_solution before = run->best;
    run->best = m.solution;
    run->ended = 1;
    if (stands) run->place = m.place;
    if (!stands) {
      run->best.found = before.found;
      run->best.objective = before.objective;
    }
  } else if (m.subject == PLIM_TOLD_POINT) {
    run->best.found = 1;
    run->best.objective = m.solution.objective;
    run->place = m.place;
  } else {
    if (!run->options->relax && m.solution.bound > run->best.bound) run->best.bound = m.solution.bound;
    if (plim_solve_should_stop(run->options, m.solution.objective, m.solution.bound)) {
      run->stopping = 1;
    }
  }
  return 1;
}

static void read_until_end(subprocess *run) {
  int speaks = 1;
  while (speaks && !run->ended) {
    struct pollfd look = {.fd = run->socket, .events = POLLIN};
    int ready = poll(&look, 1, solvers_tuning.look_ms);
    if (ready > 0) speaks = read_message(run);
    int64_t now_ns = plim_now_ns(), moment_ns = solvers_tuning.moment_ns;
    if (plim_context_cancelled(run->ctx)) run->stopping = 1, moment_ns = solvers_tuning.cancel_ns;
    if (run->stopping && !atomic_exchange(&run->share->stop, 1) && run->kill_ns > now_ns + moment_ns) {
      run->kill_ns = now_ns + moment_ns;
    }
    if (!speaks || now_ns < run->kill_ns || run->ended || run->killed) continue;
    (void)kill(run->process, SIGKILL); /* its socket is open: the process is there */
    run->killed = 1;
  }
}

/* Its answer is there, and nothing else that it does counts. It has a moment to close its socket, then it is killed. */
static void end_process(const subprocess *run) {
  struct pollfd look = {.fd = run->socket}; /* a hang-up is always told */
  const int64_t end_ns =
      plim_now_ns() + (plim_context_cancelled(run->ctx) ? solvers_tuning.cancel_ns : solvers_tuning.moment_ns);
  int64_t left_ns = end_ns - plim_now_ns();
  while (left_ns > 0 && poll(&look, 1, (int)(left_ns / 1000000) + 1) <= 0) left_ns = end_ns - plim_now_ns();
  if (left_ns <= 0) (void)kill(run->process, SIGKILL);
}

/* The wait status of the process; -1: another part of the host has waited for it (ECHILD), or no one can (SIGCHLD is
 * ignored). */
static int wait_for_process(subprocess *run) {
  int how = 0;
  pid_t got;
  do got = waitpid(run->process, &how, 0);
  while (got < 0 && errno == EINTR);
  return got == run->process ? how : -1;
}

static plim_status read_outcome(subprocess *run, int how, plim_solution *out, double *point) {
  if (run->ended && run->share->status != PLIM_OK) {
    run->share->error[PLIM_ERROR_BYTES - 1] = 0;
    return plim_fail(run->ctx, run->share->status, "%s", run->share->error);
  }
  if (!run->ended && !run->killed) {
    char by[48] = "";
    if (how >= 0 && WIFSIGNALED(how)) (void)snprintf(by, sizeof by, ", by signal %d", WTERMSIG(how));
    if (how >= 0 && WIFEXITED(how)) (void)snprintf(by, sizeof by, ", with exit status %d", WEXITSTATUS(how));
    return plim_fail(run->ctx, PLIM_EUNSUPPORTED, "the solver %s ended by itself%s, on a model of %d columns",
                     run->back_end, by, run->n_columns);
  }
  const size_t n = (size_t)run->n_columns;
  *out = run->best;
  if (out->found) memcpy(point, run->view.point + (size_t)run->place * n, n * sizeof *point);
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
  subprocess run = {.ctx = ctx,
                    .options = options,
                    .back_end = back_end,
                    .n_columns = model->n_columns,
                    .memory = -1,
                    .socket = -1,
                    .kill_ns = INT64_MAX,
                    .best = {.end = PLIM_SOLVE_STOPPED, .objective = INFINITY, .bound = -INFINITY}};
  plim_status status = map_memory(&run, model);
  if (status == PLIM_OK) {
    write_model(&run, model);
    run.kill_ns = last_moment(ctx, options);
    status = start_process(&run);
  }
  if (status == PLIM_OK) {
    read_until_end(&run);
    if (run.ended) end_process(&run);
    status = read_outcome(&run, wait_for_process(&run), out, point);
  }
  if (run.socket >= 0) (void)close(run.socket);
  if (run.memory >= 0) (void)close(run.memory);
  if (run.share) (void)munmap(run.share, (size_t)run.view.bytes);
  return status;
}
