/* CP-SAT through the C entry that OR-Tools has for other languages: serialized messages in and out. A thread of ours
 * waits beside a solve for the context to be cancelled. Source: Perron, Didier, CP-SAT, OR-Tools 9. */
#include "planner/solvers/cpsat.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { POLL_NS = 20000000 };
enum { TIME = 36, DETERMINISTIC = 67, SEED = 31, CATCH_CTRL_C = 135, WORKERS = 206 };
enum { ANSWER_STATUS = 1, ANSWER_SOLUTION = 2, ANSWER_BOUND = 4 };

typedef struct functions {
  void *(*new_env)(void);
  void (*destroy_env)(void *env);
  void (*stop)(void *env);
  void (*solve)(void *env, const void *model, int model_bytes, const void *parameters, int parameter_bytes,
                void **answer, int *answer_bytes);
  int (*major)(void);
  int (*minor)(void);
} functions;

static const plim_library_symbol symbols[] = {
    {"SolveCpNewEnv", offsetof(functions, new_env)},
    {"SolveCpDestroyEnv", offsetof(functions, destroy_env)},
    {"SolveCpStopSearch", offsetof(functions, stop)},
    {"SolveCpInterruptible", offsetof(functions, solve)},
    {"_ZN19operations_research19OrToolsMajorVersionEv", offsetof(functions, major)},
    {"_ZN19operations_research19OrToolsMinorVersionEv", offsetof(functions, minor)},
};

static const plim_library_spec library = {
    .name = "CP-SAT",
    .environment = "PLIM_ORTOOLS",
    .file = "libortools.so.9",
    .installed = "ortools/.libs/libortools.so.9",
    .fetched = 1,
    .remedy = "fetches it, or PLIM_ORTOOLS=FILE names a libortools.so.9",
    .major = 9,
    .n_symbols = sizeof symbols / sizeof symbols[0],
    .symbol = symbols,
};

struct plim_cpsat {
  plim_context *ctx;
  functions f;
  void (*free)(void *pointer); /* the library's: of the process, which a host linked with a malloc of its own has not */
  char version[32], path[PLIM_LIBRARY_PATH_BYTES];
};

/* The library's malloc is looked up among all that the process shows, so its free is there too. */
static plim_status find_free(plim_cpsat *c) {
  void *process = dlopen(NULL, RTLD_LAZY), *address = process ? dlsym(process, "free") : NULL;
  if (process) (void)dlclose(process);
  if (!address)
    return plim_fail(c->ctx, PLIM_EUNSUPPORTED, "this process shows no free(), which CP-SAT's answers need");
  memcpy(&c->free, &address, sizeof address); /* C has no conversion between the two kinds of pointers */
  return PLIM_OK;
}

plim_status plim_cpsat_open(plim_context *ctx, plim_cpsat **out) {
  plim_cpsat *c = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *c, &c));
  c->ctx = ctx;
  PLIM_CHECK(plim_library_open(ctx, &library, &c->f, c->path));
  PLIM_CHECK(find_free(c));
  (void)snprintf(c->version, sizeof c->version, "%d.%d", c->f.major(), c->f.minor());
  PLIM_CHECK(plim_library_known(ctx, &library, c->path, c->version));
  *out = c;
done:
  if (status != PLIM_OK) plim_cpsat_close(c);
  return status;
}

void plim_cpsat_close(plim_cpsat *c) {
  if (c) plim_release(c->ctx, c, 1, sizeof *c);
}

const char *plim_cpsat_version(const plim_cpsat *c) {
  return c->version;
}

const char *plim_cpsat_path(const plim_cpsat *c) {
  return c->path;
}

/* ---- the answer ---- */

static plim_status read_values(plim_context *ctx, const plim_wire_field *solution, int32_t n, int64_t *value) {
  plim_wire_reader r = {solution->bytes, solution->bytes + solution->n};
  for (int32_t i = 0; i < n; i++) {
    if (plim_wire_next_int(&r, &value[i]) != 1) {
      return plim_fail(ctx, PLIM_EUNSUPPORTED, "CP-SAT gave %d values for %d variables", i, n);
    }
  }
  return PLIM_OK;
}

static plim_status read_answer(plim_context *ctx, const void *bytes, int n_bytes, int32_t n, plim_cpsat_answer *out,
                               int64_t *value) {
  plim_wire_reader r = {bytes, (const uint8_t *)bytes + n_bytes};
  plim_wire_field field;
  int got;
  *out = (plim_cpsat_answer){.end = PLIM_CPSAT_UNKNOWN};
  while ((got = plim_wire_next(&r, &field)) == 1) {
    if (field.number == ANSWER_STATUS && field.kind == PLIM_WIRE_INT) out->end = (plim_cpsat_end)field.value;
    if (field.number == ANSWER_BOUND && field.kind == PLIM_WIRE_REAL) out->bound = field.real;
    if (field.number != ANSWER_SOLUTION || field.kind != PLIM_WIRE_BYTES) continue;
    PLIM_TRY(read_values(ctx, &field, n, value));
  }
  if (got < 0) return plim_fail(ctx, PLIM_EUNSUPPORTED, "the %d bytes of CP-SAT's answer are broken", n_bytes);
  if (out->end == PLIM_CPSAT_INVALID) {
    return plim_fail(ctx, PLIM_EUNSUPPORTED, "CP-SAT refuses the model of %d variables", n);
  }
  return PLIM_OK;
}

/* ---- solving ---- */

typedef struct watch {
  plim_cpsat *cpsat;
  void *env;
  pthread_mutex_t lock;
  int done;
} watch;

static int is_done(watch *w) {
  (void)pthread_mutex_lock(&w->lock);
  int done = w->done;
  (void)pthread_mutex_unlock(&w->lock);
  return done;
}

static void *wait_for_cancel(void *user) {
  watch *w = user;
  const struct timespec poll = {.tv_nsec = POLL_NS};
  while (!is_done(w)) {
    if (plim_context_cancelled(w->cpsat->ctx)) w->cpsat->f.stop(w->env);
    (void)nanosleep(&poll, NULL);
  }
  return NULL;
}

static void write_parameters(const plim_cpsat_options *o, plim_wire *out) {
  if (o->seconds > 0) plim_wire_real(out, TIME, o->seconds);
  if (o->deterministic > 0) plim_wire_real(out, DETERMINISTIC, o->deterministic);
  plim_wire_int(out, SEED, (int64_t)(o->seed & 0x7fffffff));
  plim_wire_int(out, CATCH_CTRL_C, 0); /* the program has a handler, which cancels the context */
  plim_wire_int(out, WORKERS, o->threads > 1 ? o->threads : 1);
}

plim_status plim_cpsat_solve(plim_cpsat *c, const plim_cpsat_model *model, const plim_cpsat_options *options,
                             plim_cpsat_answer *out, int64_t *value) {
  plim_wire parameters = {.ctx = c->ctx};
  watch w = {.cpsat = c, .lock = PTHREAD_MUTEX_INITIALIZER};
  pthread_t watcher;
  void *answer = NULL;
  int answer_bytes = 0;
  write_parameters(options, &parameters);
  plim_status status = model->body.status != PLIM_OK ? model->body.status : parameters.status;
  if (status == PLIM_OK && model->body.n > INT32_MAX) {
    status =
        plim_fail(c->ctx, PLIM_EOVERFLOW, "a model of %lld bytes is too large for CP-SAT", (long long)model->body.n);
  }
  PLIM_CHECK(status);
  w.env = c->f.new_env();
  int watched = pthread_create(&watcher, NULL, wait_for_cancel, &w) == 0;
  c->f.solve(w.env, model->body.at, (int)model->body.n, parameters.at, (int)parameters.n, &answer, &answer_bytes);
  (void)pthread_mutex_lock(&w.lock);
  w.done = 1;
  (void)pthread_mutex_unlock(&w.lock);
  if (watched) (void)pthread_join(watcher, NULL);
  c->f.destroy_env(w.env);
  status = read_answer(c->ctx, answer, answer_bytes, model->n_variables, out, value);
  c->free(answer);
done:
  plim_wire_free(&parameters);
  return status;
}
