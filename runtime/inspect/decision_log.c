/* Makes a decision log. The policy is simulated to find the configuration that it uses. Then that configuration is
 * simulated once more, and a watcher records the decisions. */
#include "runtime/inspect/decision_log.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/halving.h"
#include "runtime/inspect/decision_log_internal.h"

static int64_t limit_of(const plim_decision_log *s) {
  return s->options.limit_ns > 0 ? s->options.limit_ns : INT64_MAX;
}

plim_status plim_decision_log_simulate(const plim_decision_log *s, const plim_arena_watch *watch, plim_plan **out) {
  plim_replay_counts counts;
  const plim_decision_log_options *o = &s->options;
  return plim_arena_replay_watched(s->ctx, o->graph, o->order, s->way, o->budget_bytes, limit_of(s), watch, &counts,
                                   out);
}

/* ---- the end of a run that did not end well ---- */

/* The plan of a run that failed ends with the command that could not run, during which what is resident stays live. */
static plim_status draw_failure(plim_decision_log *s, const plim_residency *t, int32_t op) {
  const plim_plan *order = s->options.order;
  int32_t n_steps = t->n_steps + 1;
  plim_step *step = NULL;
  plim_plan_buffer *buffer = NULL;
  plim_status status = PLIM_OK;
  if (op < 0) return PLIM_OK;
  PLIM_CHECK(plim_allocate(s->ctx, n_steps, sizeof *step, &step));
  PLIM_CHECK(plim_allocate(s->ctx, t->n_buffers, sizeof *buffer, &buffer));
  if (t->n_steps > 0) memcpy(step, t->step, (size_t)t->n_steps * sizeof *step);
  if (t->n_buffers > 0) memcpy(buffer, t->buffer, (size_t)t->n_buffers * sizeof *buffer);
  step[t->n_steps] = (plim_step){.kind = PLIM_STEP_RUN, .op = op, .variant = t->forecast->variant[op]};
  for (int32_t i = 0; i < s->options.graph->n_storages; i++) {
    if (plim_residency_holds(t, i) && !plim_residency_empty(t, i)) buffer[t->holder[i].buffer].end = n_steps;
  }
  plim_plan draft = *order;
  draft.packed = 1;
  draft.n_steps = n_steps;
  draft.n_buffers = t->n_buffers;
  draft.step = step;
  draft.buffer = buffer;
  draft.budget_bytes = s->options.budget_bytes;
  draft.proved = 0;
  status = plim_plan_from_parts(s->options.graph, &draft, &s->plan);
done:
  plim_release(s->ctx, step, n_steps, sizeof *step);
  plim_release(s->ctx, buffer, t->n_buffers, sizeof *buffer);
  return status;
}

/* ---- listening ---- */

static plim_status add_evicted(plim_decision_log *s, int32_t storage) {
  PLIM_TRY(plim_array_reserve(s->ctx, &s->evicted, &s->evicted_capacity, s->n_evicted + 1, sizeof *s->evicted));
  s->evicted[s->n_evicted++] = storage;
  return PLIM_OK;
}

static plim_status on_choice(void *user, plim_residency *t, const plim_arena_request *request,
                             const plim_arena_choice *choice) {
  plim_decision_log *s = user;
  int32_t before = s->n_evicted;
  PLIM_TRY(plim_array_reserve(s->ctx, &s->choice, &s->choice_capacity, s->n_choices + 1, sizeof *s->choice));
  if (choice->storage >= 0) PLIM_TRY(add_evicted(s, choice->storage));
  for (int32_t i = choice->n > 0 ? choice->window[choice->chosen].begin : 0;
       choice->n > 0 && i < choice->window[choice->chosen].end; i++) {
    if (t->row[i].state == PLIM_ROW_HELD) PLIM_TRY(add_evicted(s, t->blocks->block[t->row_block[i]].owner));
  }
  s->choice[s->n_choices++] = (plim_decision){t->n_steps, *request, s->n_evicted - before, NULL};
  return s->n_evicted > before ? PLIM_OK : draw_failure(s, t, request->op);
}

static plim_status on_run(void *user, const plim_residency *t, int32_t depth) {
  plim_decision_log *s = user;
  PLIM_TRY(plim_array_reserve(s->ctx, &s->depth, &s->depth_capacity, t->n_steps, sizeof *s->depth));
  s->depth[t->n_steps - 1] = depth;
  s->n_steps = t->n_steps;
  return PLIM_OK;
}

static plim_status on_end(void *user, const plim_residency *t, int32_t op) {
  plim_decision_log *s = user;
  s->thrashed = 1;
  return draw_failure(s, t, op);
}

static plim_status keep_failure(plim_decision_log *s) {
  const char *sentence = plim_context_error(s->ctx);
  s->failure_bytes = (int64_t)strlen(sentence) + 1;
  PLIM_TRY(plim_allocate(s->ctx, s->failure_bytes, 1, &s->failure));
  memcpy(s->failure, sentence, (size_t)s->failure_bytes);
  return PLIM_OK;
}

/* The configuration that a policy uses: that of the plan it keeps, or the first one that it tried when it finds no
 * plan. */
static plim_status find_way(plim_decision_log *s) {
  const plim_decision_log_options *o = &s->options;
  plim_replay_counts counts = {.thrashed = 0};
  plim_plan *plan = NULL;
  plim_status status =
      plim_arena_online(s->ctx, o->graph, o->order, o->policy, o->budget_bytes, limit_of(s), &counts, &plan);
  plim_plan_free(plan);
  s->way = counts.way;
  return status == PLIM_ENOFIT && s->way.policy ? PLIM_OK : status;
}

static plim_status tell(plim_decision_log *s) {
  plim_arena_watch watch = {s, on_choice, on_run, on_end};
  plim_plan *plan = NULL;
  PLIM_TRY(find_way(s));
  plim_status status = plim_decision_log_simulate(s, &watch, &plan);
  if (status == PLIM_ENOFIT) PLIM_TRY(keep_failure(s));
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  if (plan) s->plan = plan;
  if (s->plan) {
    (void)snprintf(s->plan->planner, sizeof s->plan->planner, "online %s", s->options.policy->name);
  }
  const int32_t *next = s->evicted;
  for (int32_t i = 0; i < s->n_choices; i++) {
    s->choice[i].evicted = next;
    if (next) next += s->choice[i].n_evicted;
  }
  return PLIM_OK;
}

plim_status plim_decision_log_new(plim_context *ctx, const plim_decision_log_options *options,
                                  plim_decision_log **out) {
  plim_decision_log *s = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *s, &s));
  s->ctx = ctx;
  s->options = *options;
  plim_status status = tell(s);
  if (status != PLIM_OK) {
    plim_decision_log_free(s);
    return status;
  }
  *out = s;
  return PLIM_OK;
}

void plim_decision_log_free(plim_decision_log *s) {
  if (!s) return;
  plim_plan_free(s->plan);
  plim_release(s->ctx, s->failure, s->failure_bytes, 1);
  plim_release(s->ctx, s->depth, s->depth_capacity, sizeof *s->depth);
  plim_release(s->ctx, s->choice, s->choice_capacity, sizeof *s->choice);
  plim_release(s->ctx, s->evicted, s->evicted_capacity, sizeof *s->evicted);
  plim_release(s->ctx, s->reasons.block, s->block_capacity, sizeof *s->reasons.block);
  plim_release(s->ctx, s, 1, sizeof *s);
}

/* ---- reading ---- */

const plim_plan *plim_decision_log_plan(const plim_decision_log *s) {
  return s->plan;
}

const char *plim_decision_log_failure(const plim_decision_log *s) {
  return s->failure;
}

int plim_decision_log_thrashed(const plim_decision_log *s) {
  return s->thrashed;
}

const plim_replay_config *plim_decision_log_config(const plim_decision_log *s) {
  return &s->way;
}

int32_t plim_decision_log_depth(const plim_decision_log *s, int32_t step) {
  return step < s->n_steps ? s->depth[step] : 0;
}

int32_t plim_decision_log_decisions(const plim_decision_log *s, const plim_decision **out) {
  *out = s->choice;
  return s->n_choices;
}

static int same_step(const plim_plan *a, const plim_plan *b, int32_t j) {
  const plim_step *x = &a->step[j], *y = &b->step[j];
  if (x->kind != y->kind || x->op != y->op || x->n_pairs != y->n_pairs) return 0;
  for (int32_t i = 0; i < x->n_pairs; i++) {
    if (x->pair[i].in != y->pair[i].in || x->pair[i].out != y->pair[i].out) return 0;
  }
  return strcmp(a->variant[x->variant].variant.name, b->variant[y->variant].variant.name) == 0;
}

int plim_decision_log_equals(const plim_decision_log *s, const plim_plan *plan, int32_t *step) {
  const plim_plan *own = s->plan;
  *step = 0;
  if (!own || s->failure) return 0;
  int32_t differ = own->n_steps < plan->n_steps ? own->n_steps : plan->n_steps;
  int same = own->n_steps == plan->n_steps && own->n_buffers == plan->n_buffers;
  for (int32_t j = 0; j < differ; j++) {
    if (same_step(own, plan, j)) continue;
    differ = j;
    same = 0;
  }
  for (int32_t i = 0; i < own->n_buffers && i < plan->n_buffers; i++) {
    const plim_plan_buffer *x = &own->buffer[i], *y = &plan->buffer[i];
    if (x->storage == y->storage && x->begin == y->begin && x->end == y->end && x->offset == y->offset) continue;
    int32_t first = x->begin < y->begin ? x->begin : y->begin;
    if (first < differ) differ = first;
    same = 0;
    break;
  }
  *step = differ;
  return same;
}

/* ---- how much would do ---- */

enum { TO_THE_UNIT = 64 /* halvings of any range */ };

static plim_status ends_within(void *user, int64_t bytes, int *yes) {
  const plim_decision_log *s = user;
  const plim_decision_log_options *o = &s->options;
  return plim_arena_gets_through(s->ctx, o->graph, o->order, o->policy, bytes, limit_of(s), yes);
}

plim_status plim_decision_log_enough(plim_decision_log *s, int64_t most_bytes, int64_t *bytes) {
  if (s->enough_most != most_bytes) {
    PLIM_TRY(plim_halve_bytes(ends_within, s, s->options.budget_bytes, most_bytes, PLIM_ALIGN, TO_THE_UNIT,
                              &s->enough_bytes));
    s->enough_most = most_bytes;
  }
  *bytes = s->enough_bytes;
  return PLIM_OK;
}
