/* Names are used once: a handle that is copied, a new version of a mutated variable keeps its name as the logger's. */
#include "tests/support/log_tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000, MOST_IN = 8, MOST_EXTRA = 4, NONE = -1 };

/* Handles are numbers n of names "x<n>". */
typedef struct variable {
  int32_t handle;   /* the model's, NONE: dropped */
  int32_t gradient; /* handle, NONE */
  int64_t bytes;
  int32_t learns, stays; /* gets a gradient; it stays to the end */
} variable;

typedef struct entry {
  tape_call call;
  int32_t out;
  int32_t in_handle[MOST_IN], out_handle, extra[MOST_EXTRA]; /* saved: handles of the backward pass; NONE */
} entry;

struct log_tape {
  plim_text *log;
  int32_t n_handles, n_variables, n_entries;
  variable variable[MOST];
  entry entry[MOST];
};

log_tape *log_tape_new(plim_text *log) {
  log_tape *t = calloc(1, sizeof *t);
  if (!t) abort();
  t->log = log;
  plim_text_add(log, "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n");
  return t;
}

void log_tape_free(log_tape *t) {
  free(t);
}

static void memory(log_tape *t, int32_t handle, int64_t bytes) {
  plim_text_format(t->log, "{\"INSTRUCTION\":\"MEMORY\",\"MEMORY\":\"%lld\",\"NAME\":\"x%d\"}\n", (long long)bytes,
                   handle);
}

static int32_t copy(log_tape *t, int32_t handle) {
  plim_text_format(t->log, "{\"DST\":\"x%d\",\"INSTRUCTION\":\"COPY\",\"SRC\":\"x%d\"}\n", t->n_handles, handle);
  return t->n_handles++;
}

static void release(log_tape *t, int32_t handle) {
  if (handle != NONE) plim_text_format(t->log, "{\"INSTRUCTION\":\"RELEASE\",\"NAME\":\"x%d\"}\n", handle);
}

static int32_t add_variable(log_tape *t, int32_t handle, int64_t bytes, int32_t learns) {
  if (t->n_variables == MOST) abort();
  t->variable[t->n_variables] = (variable){handle, NONE, bytes, learns, 0};
  return t->n_variables++;
}

/* As loggers open: a constant, a copy under the name that is used, the first name let go. */
static int32_t constant(log_tape *t, int64_t bytes, int32_t learns) {
  int32_t first = t->n_handles++;
  plim_text_format(t->log, "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"x%d\"}\n", first);
  memory(t, first, bytes);
  int32_t handle = copy(t, first);
  release(t, first);
  int32_t v = add_variable(t, handle, bytes, learns);
  t->variable[v].stays = learns;
  return v;
}

int32_t log_tape_parameter(log_tape *t, int64_t bytes) {
  return constant(t, bytes, 1);
}

int32_t log_tape_input(log_tape *t, int64_t bytes) {
  return constant(t, bytes, 0);
}

typedef struct names {
  int32_t n, handle[MOST_IN + MOST_EXTRA + 2];
} names;

static void add_name(names *list, int32_t handle) {
  for (int32_t i = 0; i < list->n; i++) {
    if (list->handle[i] == handle) return; /* no argument is listed twice */
  }
  list->handle[list->n++] = handle;
}

static void write_names(log_tape *t, const char *key, const names *list) {
  plim_text_format(t->log, "\"%s\":[", key);
  for (int32_t i = 0; i < list->n; i++) plim_text_format(t->log, "%s\"x%d\"", i > 0 ? "," : "", list->handle[i]);
  plim_text_add(t->log, "],");
}

/* One call line, and for each result its bytes and the argument that it views (-1: none). */
static void write_call(log_tape *t, const char *op, const char *suffix, const names *args, const names *results,
                       const int64_t *bytes, int32_t alias, int64_t time_ns) {
  plim_text_add(t->log, "{");
  write_names(t, "ARGS", args);
  plim_text_format(t->log, "\"INSTRUCTION\":\"CALL\",\"NAME\":\"%s%s\",", op, suffix);
  write_names(t, "RESULT", results);
  plim_text_format(t->log, "\"TIME\":\"%lld\"}\n", (long long)time_ns);
  for (int32_t i = 0; i < results->n; i++) {
    memory(t, results->handle[i], bytes[i]);
    plim_text_format(t->log, "{\"ALIAS\":\"%d\",\"INSTRUCTION\":\"ALIAS\",\"NAME\":\"x%d\"}\n", alias,
                     results->handle[i]);
  }
}

static void write_mutation(log_tape *t, const tape_call *c, const names *args) {
  plim_text_add(t->log, "{");
  write_names(t, "ARGS", args);
  plim_text_format(t->log, "\"INSTRUCTION\":\"MUTATE\",\"MUTATE\":[0],\"NAME\":\"%s\",\"TIME\":\"%lld\"}\n", c->op,
                   (long long)c->time_ns);
}

/* The model's call. Returns the handle of its result. */
static int32_t run_forward(log_tape *t, entry *e) {
  const tape_call *c = &e->call;
  names args = {0, {0}}, results = {0, {0}};
  int64_t bytes[1 + MOST_EXTRA];
  for (int32_t i = 0; i < c->n_in; i++) add_name(&args, t->variable[c->in[i]].handle);
  if (c->mutates) {
    int32_t handle = t->variable[c->in[0]].handle;
    write_mutation(t, c, &args);
    t->variable[c->in[0]].handle = NONE;
    return handle;
  }
  for (int32_t i = 0; i <= c->n_extra; i++) {
    bytes[i] = i == 0 ? c->bytes : c->extra_bytes;
    results.handle[results.n++] = t->n_handles++;
    if (i > 0) e->extra[i - 1] = results.handle[i];
  }
  write_call(t, c->op, "", &args, &results, bytes, c->view ? 0 : -1, c->time_ns);
  return results.handle[0];
}

int32_t log_tape_call(log_tape *t, const tape_call *call) {
  if (t->n_entries == MOST || call->n_in > MOST_IN || call->n_extra > MOST_EXTRA) abort();
  entry *e = &t->entry[t->n_entries++];
  int32_t learns = 0;
  *e = (entry){.call = *call, .out_handle = NONE};
  for (int32_t i = 0; i < MOST_IN; i++) e->in_handle[i] = NONE;
  for (int32_t i = 0; i < MOST_EXTRA; i++) e->extra[i] = NONE;
  for (int32_t i = 0; i < call->n_in; i++) {
    learns |= t->variable[call->in[i]].learns;
    if (call->saves & TAPE_SAVE_IN) e->in_handle[i] = copy(t, t->variable[call->in[i]].handle);
  }
  int64_t bytes = call->view || call->mutates ? t->variable[call->in[0]].bytes : call->bytes;
  e->call.bytes = bytes;
  e->out = add_variable(t, run_forward(t, e), bytes, learns);
  if (call->saves & TAPE_SAVE_OUT) e->out_handle = copy(t, t->variable[e->out].handle);
  for (int32_t i = 0; i < call->n_extra && !(call->saves & TAPE_SAVE_EXTRA); i++) {
    release(t, e->extra[i]);
    e->extra[i] = NONE;
  }
  return e->out;
}

void log_tape_drop(log_tape *t, int32_t v) {
  release(t, t->variable[v].handle);
  t->variable[v].handle = NONE;
}

/* A second gradient is added to the first. */
static void take_gradient(log_tape *t, int32_t v, int32_t handle) {
  variable *to = &t->variable[v];
  if (to->gradient == NONE) {
    to->gradient = handle;
    return;
  }
  names args = {2, {to->gradient, handle}}, result = {1, {t->n_handles++}};
  write_call(t, "add", "", &args, &result, &to->bytes, -1, 1 + to->bytes / 16);
  release(t, to->gradient);
  release(t, handle);
  to->gradient = result.handle[0];
}

static void run_backward(log_tape *t, const entry *e, int32_t gradient) {
  const tape_call *c = &e->call;
  names args = {1, {gradient}}, results = {0, {0}};
  int64_t bytes[MOST_IN];
  int32_t of[MOST_IN];
  for (int32_t i = 0; i < c->n_in; i++) {
    if (e->in_handle[i] != NONE) add_name(&args, e->in_handle[i]);
    int32_t seen = 0;
    for (int32_t k = 0; k < results.n; k++) seen |= of[k] == c->in[i];
    if (!t->variable[c->in[i]].learns || seen) continue;
    of[results.n] = c->in[i];
    bytes[results.n] = t->variable[c->in[i]].bytes;
    results.handle[results.n++] = t->n_handles++;
  }
  if (e->out_handle != NONE) add_name(&args, e->out_handle);
  for (int32_t i = 0; i < c->n_extra; i++) {
    if (e->extra[i] != NONE) add_name(&args, e->extra[i]);
  }
  write_call(t, c->op, "_backward", &args, &results, bytes, c->view ? 0 : -1, c->view ? c->time_ns : 2 * c->time_ns);
  for (int32_t i = 0; i < results.n; i++) take_gradient(t, of[i], results.handle[i]);
}

/* What was saved for the entry is let go, whether its backward call was made or not. */
static void release_entry(log_tape *t, const entry *e) {
  for (int32_t i = 0; i < MOST_IN; i++) release(t, e->in_handle[i]);
  release(t, e->out_handle);
  for (int32_t i = 0; i < MOST_EXTRA; i++) release(t, e->extra[i]);
}

void log_tape_backward(log_tape *t, int32_t loss) {
  names none = {0, {0}}, seed = {1, {t->n_handles++}};
  plim_text_add(t->log, "{\"ANNOTATION\":\"BACKWARD\",\"INSTRUCTION\":\"ANNOTATE\"}\n");
  write_call(t, "ones_like", "", &none, &seed, &t->variable[loss].bytes, -1, 1);
  t->variable[loss].gradient = seed.handle[0];
  for (int32_t i = t->n_entries - 1; i >= 0; i--) {
    const entry *e = &t->entry[i];
    variable *out = &t->variable[e->out];
    if (out->gradient != NONE) {
      if (out->learns) run_backward(t, e, out->gradient);
      release(t, out->gradient);
      out->gradient = NONE;
    }
    release_entry(t, e);
  }
}
