/* Finds what a schedule says about the future. One walk backward over the schedule finds the reads after each use. One
 * walk forward over the graph finds how long each storage can be recomputed.
 *
 * Between its last read and its next write nothing needs a storage. A storage can be recomputed before position r when
 * every operand that its producer reads is available there:
 *   a param or state until its first update
 *   an input as long as it is held
 *   a storage that can be recomputed itself before r
 *   a storage that cannot: it is not evicted, and so resident until its last read
 * The outputs of an op of class once cannot be recomputed. */
#include "runtime/arena/forecast.h"

#include <stdlib.h>

#include "runtime/arena/small.h"
#include "runtime/base/integers.h"

static const plim_op *op_at(const plim_forecast *forecast, int32_t position) {
  return &forecast->graph->op[forecast->schedule->command[position].op];
}

static void find_variants_and_starts(plim_forecast *forecast) {
  const plim_plan *schedule = forecast->schedule;
  for (int32_t j = schedule->n_commands - 1; j >= 0; j--) {
    forecast->variant[schedule->command[j].op] = schedule->command[j].variant;
  }
  for (int32_t o = 0; o < forecast->graph->n_ops; o++) {
    forecast->op_ns[o] = schedule->variant[forecast->variant[o]].variant.time_ns;
  }
  for (int32_t j = 0; j < schedule->n_commands; j++) {
    forecast->start_ns[j + 1] = forecast->start_ns[j] + schedule->variant[schedule->command[j].variant].variant.time_ns;
  }
}

static void count_uses(plim_forecast *forecast) {
  for (int32_t j = 0; j < forecast->schedule->n_commands; j++) {
    forecast->first_use[j + 1] = forecast->first_use[j] + op_at(forecast, j)->n_reads + op_at(forecast, j)->n_writes;
  }
}

/* next, last [n_storages], scratch: the reads after the position of the walk. */
static void find_reads(plim_forecast *forecast, int32_t *next, int32_t *last) {
  int32_t n = forecast->schedule->n_commands;
  for (int32_t s = 0; s < forecast->graph->n_storages; s++) {
    next[s] = last[s] = forecast->graph->storage[s].role == PLIM_ROLE_OUTPUT ? n : PLIM_NEVER;
  }
  for (int32_t j = n - 1; j >= 0; j--) {
    const plim_op *op = op_at(forecast, j);
    for (int32_t k = 0; k < op->n_writes; k++) {
      int32_t s = op->writes[k], use = forecast->first_use[j] + op->n_reads + k;
      forecast->next_read[use] = next[s];
      forecast->last_read[use] = last[s];
      next[s] = last[s] = PLIM_NEVER;
    }
    for (int32_t k = 0; k < op->n_reads; k++) {
      int32_t s = op->reads[k];
      forecast->next_read[forecast->first_use[j] + k] = next[s];
      if (next[s] == PLIM_NEVER) last[s] = j;
      next[s] = j;
    }
  }
}

/* Scratch of a forecast, [n_storages] each. */
typedef struct facts {
  int32_t *update; /* of params and states: first position that updates it; INT32_MAX: none */
  int32_t *last;   /* last position of the schedule that reads it; the schedule's length for outputs */
  int32_t *writes; /* how often it is written */
  int32_t *held;   /* of inputs: 1: it can be held */
  int32_t *a, *b;  /* of a single search */
} facts;

/* Find the inputs that can be held: all from position 0 on; from a later position those whose buffer in the schedule
 * has not ended. */
static void find_held(const plim_forecast *forecast, facts *at, int32_t from) {
  const plim_plan *schedule = forecast->schedule;
  for (int32_t s = 0; s < forecast->graph->n_storages; s++) at->held[s] = from == 0;
  for (int32_t i = 0; i < schedule->n_buffers && from > 0 && schedule->buffer[i].begin == 0; i++) {
    if (schedule->buffer[i].storage >= 0) at->held[schedule->buffer[i].storage] = schedule->buffer[i].end > from;
  }
}

static void find_facts(const plim_forecast *forecast, facts *at) {
  for (int32_t s = 0; s < forecast->graph->n_storages; s++) {
    at->update[s] = INT32_MAX;
    at->last[s] = forecast->graph->storage[s].role == PLIM_ROLE_OUTPUT ? forecast->schedule->n_commands : PLIM_NEVER;
  }
  for (int32_t j = forecast->schedule->n_commands - 1; j >= 0; j--) {
    const plim_op *op = op_at(forecast, j);
    for (int32_t k = 0; k < op->n_updates; k++) at->update[op->updates[k]] = j;
    for (int32_t k = 0; k < op->n_writes; k++) at->writes[op->writes[k]]++;
    for (int32_t k = 0; k < op->n_reads; k++) {
      if (at->last[op->reads[k]] == PLIM_NEVER) at->last[op->reads[k]] = j;
    }
  }
}

/* Last position before which the storage is available to an op that runs again. */
static int32_t available(const plim_forecast *forecast, const facts *at, int32_t s) {
  plim_role role = forecast->graph->storage[s].role;
  if (plim_role_persistent(role)) return at->update[s];
  if (role == PLIM_ROLE_INPUT) return at->held[s] ? INT32_MAX : at->last[s];
  int32_t stays = at->writes[s] == 1 && forecast->deadline[s] < at->last[s];
  return stays ? at->last[s] : forecast->deadline[s];
}

static void find_deadlines(plim_forecast *forecast, const facts *at) {
  for (int32_t o = 0; o < forecast->graph->n_ops; o++) {
    const plim_op *op = &forecast->graph->op[o];
    int32_t least = op->cls == PLIM_OP_ONCE ? PLIM_NEVER : INT32_MAX;
    for (int32_t k = 0; k < op->n_reads; k++) {
      int32_t here = available(forecast, at, op->reads[k]);
      if (here < least) least = here;
    }
    for (int32_t k = 0; k < op->n_writes; k++) forecast->deadline[op->writes[k]] = least;
  }
}

/* Hold an input until the last read of any storage that may be recomputed from it. from [n_storages] is scratch. */
static void find_last_need(plim_forecast *forecast, int32_t input, const int32_t *last, int32_t *from) {
  for (int32_t s = 0; s < forecast->graph->n_storages; s++) from[s] = s == input;
  for (int32_t o = 0; o < forecast->graph->n_ops; o++) {
    const plim_op *op = &forecast->graph->op[o];
    int32_t reached = 0;
    for (int32_t k = 0; k < op->n_reads; k++) reached |= from[op->reads[k]];
    for (int32_t k = 0; k < op->n_writes && reached; k++) {
      int32_t s = op->writes[k];
      from[s] = 1;
      if (last[s] > forecast->last_need[input]) forecast->last_need[input] = last[s];
    }
  }
}

typedef struct ranked {
  double density; /* ns a byte */
  int32_t storage;
} ranked;

static int by_density(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->density != y->density) return x->density < y->density ? -1 : 1;
  return plim_integers_compare(x->storage, y->storage);
}

/* Mark the storages whose time a byte is at least the byte-weighted median. rank [n_storages] is scratch. */
static void find_costly(plim_forecast *forecast, ranked *rank) {
  int32_t n = 0;
  double total = 0, below = 0;
  for (int32_t s = 0; s < forecast->graph->n_storages; s++) {
    const plim_storage *storage = &forecast->graph->storage[s];
    if (storage->producer < 0 || storage->bytes == 0) continue;
    rank[n++] = (ranked){(double)forecast->op_ns[storage->producer] / (double)storage->bytes, s};
    total += (double)storage->bytes;
  }
  qsort(rank, (size_t)n, sizeof *rank, by_density);
  for (int32_t i = 0; i < n; i++) {
    below += (double)forecast->graph->storage[rank[i].storage].bytes;
    forecast->costly[rank[i].storage] = 2 * below > total;
  }
}

static plim_status allocate(plim_forecast *forecast) {
  int64_t n = forecast->schedule->n_commands, n_storages = forecast->graph->n_storages;
  PLIM_TRY(plim_allocate(forecast->ctx, forecast->graph->n_ops, sizeof *forecast->variant, &forecast->variant));
  PLIM_TRY(plim_allocate(forecast->ctx, forecast->graph->n_ops, sizeof *forecast->op_ns, &forecast->op_ns));
  PLIM_TRY(plim_allocate(forecast->ctx, n + 1, sizeof *forecast->start_ns, &forecast->start_ns));
  PLIM_TRY(plim_allocate(forecast->ctx, n + 1, sizeof *forecast->first_use, &forecast->first_use));
  count_uses(forecast);
  PLIM_TRY(plim_allocate(forecast->ctx, forecast->first_use[n], sizeof *forecast->next_read, &forecast->next_read));
  PLIM_TRY(plim_allocate(forecast->ctx, forecast->first_use[n], sizeof *forecast->last_read, &forecast->last_read));
  PLIM_TRY(plim_allocate(forecast->ctx, n_storages, sizeof *forecast->deadline, &forecast->deadline));
  PLIM_TRY(plim_allocate(forecast->ctx, n_storages, sizeof *forecast->last_need, &forecast->last_need));
  return plim_allocate(forecast->ctx, n_storages, sizeof *forecast->costly, &forecast->costly);
}

static void find_all(plim_forecast *forecast, facts *at, ranked *rank) {
  find_variants_and_starts(forecast);
  find_reads(forecast, at->a, at->b);
  find_facts(forecast, at);
  find_deadlines(forecast, at);
  for (int32_t s = 0; s < forecast->graph->n_storages; s++) {
    int32_t read = forecast->graph->storage[s].role == PLIM_ROLE_INPUT && at->last[s] >= 0;
    forecast->last_need[s] = read ? at->last[s] : PLIM_NEVER;
    if (read && at->held[s]) find_last_need(forecast, s, at->last, at->a);
  }
  find_costly(forecast, rank);
}

plim_status plim_forecast_make(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule, int32_t from,
                               int32_t hold_inputs, plim_forecast *out) {
  plim_forecast forecast = {.ctx = ctx, .graph = graph, .schedule = schedule};
  facts at = {.update = NULL};
  ranked *rank = NULL;
  int64_t n = graph->n_storages;
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(allocate(&forecast));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *at.update, &at.update));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *at.last, &at.last));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *at.writes, &at.writes));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *at.held, &at.held));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *at.a, &at.a));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *at.b, &at.b));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *rank, &rank));
  if (hold_inputs) find_held(&forecast, &at, from);
  find_all(&forecast, &at, rank);
  PLIM_TRY_OR_DONE(plim_forecast_find_small(&forecast));
done:
  plim_release(ctx, at.update, n, sizeof *at.update);
  plim_release(ctx, at.last, n, sizeof *at.last);
  plim_release(ctx, at.writes, n, sizeof *at.writes);
  plim_release(ctx, at.held, n, sizeof *at.held);
  plim_release(ctx, at.a, n, sizeof *at.a);
  plim_release(ctx, at.b, n, sizeof *at.b);
  plim_release(ctx, rank, n, sizeof *rank);
  if (status != PLIM_OK) {
    plim_forecast_release(&forecast);
    return status;
  }
  *out = forecast;
  return PLIM_OK;
}

void plim_forecast_again(plim_forecast *forecast, const int32_t *again) {
  for (int32_t o = 0; o < forecast->graph->n_ops; o++) {
    forecast->variant[o] = again[o];
    if (again[o] >= 0) forecast->op_ns[o] = forecast->schedule->variant[again[o]].variant.time_ns;
  }
}

void plim_forecast_release(plim_forecast *forecast) {
  if (!forecast->graph) return;
  int64_t n = forecast->schedule->n_commands, n_storages = forecast->graph->n_storages;
  int64_t n_uses = forecast->first_use ? forecast->first_use[n] : 0;
  plim_release(forecast->ctx, forecast->variant, forecast->graph->n_ops, sizeof *forecast->variant);
  plim_release(forecast->ctx, forecast->op_ns, forecast->graph->n_ops, sizeof *forecast->op_ns);
  plim_release(forecast->ctx, forecast->start_ns, n + 1, sizeof *forecast->start_ns);
  plim_release(forecast->ctx, forecast->next_read, n_uses, sizeof *forecast->next_read);
  plim_release(forecast->ctx, forecast->last_read, n_uses, sizeof *forecast->last_read);
  plim_release(forecast->ctx, forecast->first_use, n + 1, sizeof *forecast->first_use);
  plim_release(forecast->ctx, forecast->deadline, n_storages, sizeof *forecast->deadline);
  plim_release(forecast->ctx, forecast->last_need, n_storages, sizeof *forecast->last_need);
  plim_release(forecast->ctx, forecast->costly, n_storages, sizeof *forecast->costly);
  *forecast = (plim_forecast){.ctx = NULL};
}
