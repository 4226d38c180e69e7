/* Another policy from the middle of a decision log on. In a plan a buffer ends with its last use, but in the arena its
 * storage stays until it is evicted. So a further simulation, stopped at the command, says what is resident there, and
 * the buffers of these storages continue.
 *
 * A decision log that ended early is completed first: the ops that it did not reach are appended, once, in program
 * order and with the variants of the order. The policy decides the rest. */
#include <string.h>

#include "runtime/inspect/decision_log_internal.h"

typedef struct whole {
  plim_plan plan; /* borrowed but for its steps and buffers */
  plim_step *step;
  plim_plan_buffer *buffer;
  int64_t n_room, area_bytes; /* area_bytes: for small requests, before the step */
} whole;

/* ---- what is there ---- */

typedef struct stop {
  whole *whole;
  int32_t from;
} stop;

/* Extend the buffers whose storages are resident at the step up to it. */
static plim_status on_run(void *user, const plim_residency *t, int32_t depth) {
  const stop *at = user;
  (void)depth;
  if (t->n_steps < at->from) return PLIM_OK;
  plim_plan_buffer *buffer = at->whole->buffer;
  for (int32_t i = 0; i < at->whole->plan.n_buffers && i < t->n_buffers; i++) {
    if (buffer[i].storage < 0 || t->holder[buffer[i].storage].buffer != i) continue;
    if (plim_residency_holds(t, buffer[i].storage) && buffer[i].end < at->from) buffer[i].end = at->from;
  }
  if (t->small_bytes > 0) at->whole->area_bytes = t->blocks->bytes - t->blocks->wall;
  return PLIM_ECANCEL;
}

static plim_status on_choice(void *user, plim_residency *t, const plim_arena_request *request,
                             const plim_arena_choice *choice) {
  (void)user, (void)t, (void)request, (void)choice;
  return PLIM_OK;
}

static plim_status on_end(void *user, const plim_residency *t, int32_t op) {
  (void)user, (void)t, (void)op;
  return PLIM_OK;
}

static plim_status prolong_buffers(const plim_decision_log *s, int32_t from, whole *w) {
  stop at = {w, from};
  plim_arena_watch watch = {&at, on_choice, on_run, on_end};
  plim_plan *plan = NULL;
  if (from == 0) return PLIM_OK;
  plim_status status = plim_decision_log_simulate(s, &watch, &plan);
  if (status == PLIM_ECANCEL) return PLIM_OK;
  plim_plan_free(plan);
  return status == PLIM_OK ? plim_fail(s->ctx, PLIM_EDIFF, "a second play took fewer steps") : status;
}

/* ---- what is to come ---- */

/* Rows of variants are those of the order, of which the decision log runs no others. row [n_ops] is scratch. */
static void fill(const plim_decision_log *s, int32_t *row, whole *w) {
  const plim_plan *order = s->options.order;
  int32_t n_ran = s->plan->n_steps - 1, n = n_ran; /* the last step was not run */
  for (int32_t j = 0; j < order->n_steps; j++) row[order->step[j].op] = order->step[j].variant;
  for (int32_t j = 0; j < n_ran; j++) {
    w->step[j] = s->plan->step[j];
    w->step[j].variant = row[w->step[j].op];
  }
  for (int32_t j = 0; j < n_ran; j++) row[w->step[j].op] = -1;
  for (int32_t j = 0; j < order->n_steps; j++) {
    if (row[order->step[j].op] >= 0) w->step[n++] = order->step[j];
  }
  w->plan.n_steps = n;
}

static plim_status make_steps(const plim_decision_log *s, whole *w) {
  const plim_plan *order = s->options.order;
  int32_t *row = NULL, n_ops = s->options.graph->n_ops;
  w->n_room = (int64_t)s->plan->n_steps + n_ops;
  PLIM_TRY(plim_allocate(s->ctx, n_ops, sizeof *row, &row));
  plim_status status = plim_allocate(s->ctx, w->n_room, sizeof *w->step, &w->step);
  if (status == PLIM_OK) fill(s, row, w);
  plim_release(s->ctx, row, n_ops, sizeof *row);
  w->plan.step = w->step;
  w->plan.variant = order->variant;
  w->plan.n_variants = order->n_variants;
  return status;
}

static plim_status make_whole(const plim_decision_log *s, int32_t from, int64_t arena_bytes, whole *w) {
  PLIM_TRY(plim_allocate(s->ctx, s->plan->n_buffers, sizeof *w->buffer, &w->buffer));
  if (s->plan->n_buffers > 0) memcpy(w->buffer, s->plan->buffer, (size_t)s->plan->n_buffers * sizeof *w->buffer);
  w->plan.buffer = w->buffer;
  PLIM_TRY(prolong_buffers(s, from, w));
  if (!s->failure) return PLIM_OK;
  if (w->plan.budget_bytes < arena_bytes) w->plan.budget_bytes = arena_bytes;
  return make_steps(s, w);
}

plim_status plim_decision_log_what_if(const plim_decision_log *s, const plim_policy *policy, int32_t from,
                                      int64_t arena_bytes, plim_replay_counts *counts, plim_plan **out) {
  if (!s->plan || from < 0 || from >= s->plan->n_steps) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "step %d of a run of %d", (int)from, s->plan ? (int)s->plan->n_steps : 0);
  }
  whole w = {.plan = *s->plan};
  plim_status status = make_whole(s, from, arena_bytes, &w);
  if (status == PLIM_OK) {
    const int as_large = arena_bytes - arena_bytes % PLIM_ALIGN == s->options.budget_bytes / PLIM_ALIGN * PLIM_ALIGN;
    status = plim_arena_what_if(s->ctx, s->options.graph, &w.plan, policy, from, arena_bytes,
                                as_large ? w.area_bytes : 0, counts, out);
  }
  plim_release(s->ctx, w.step, w.n_room, sizeof *w.step);
  plim_release(s->ctx, w.buffer, s->plan->n_buffers, sizeof *w.buffer);
  return status;
}
