/* A decision log has what an online policy dropped from memory during a step, and for which request. The run is not
 * recorded while it trains. The policy is simulated to find the configuration that it uses. Then that configuration is
 * simulated once more, and a watcher records the decisions. */
#include "runtime/inspect/decision_log.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/halving.h"
#include "runtime/inspect/decision_log_internal.h"

static int64_t limit_of(const plim_decision_log *decisions) {
  return decisions->options.limit_ns > 0 ? decisions->options.limit_ns : PLIM_TIME_UNLIMITED;
}

plim_status plim_decision_log_simulate(const plim_decision_log *decisions, const plim_arena_watch *watch,
                                       plim_plan **out) {
  plim_replay_counts counts;
  const plim_decision_log_options *o = &decisions->options;
  const plim_replay_limits limits = {.arena_bytes = o->budget_bytes, .recomputed_ns = limit_of(decisions)};
  return plim_arena_replay_watched(decisions->ctx, o->graph, o->order, &decisions->config, &limits, watch, &counts,
                                   out);
}

/* ---- a run that ended early ---- */

/* Make the plan of a run that ended early. Its last command is the one that could not run; all resident storages stay
 * live during it. */
static plim_status draw_failure(plim_decision_log *decisions, const plim_residency *res, int32_t op) {
  const plim_plan *order = decisions->options.order;
  int32_t n_commands = res->plan.n_commands + 1;
  plim_command *command = NULL;
  plim_plan_buffer *buffer = NULL;
  plim_status status = PLIM_OK;
  if (op < 0) return PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(decisions->ctx, n_commands, sizeof *command, &command));
  PLIM_TRY_OR_DONE(plim_allocate(decisions->ctx, res->plan.n_buffers, sizeof *buffer, &buffer));
  if (res->plan.n_commands > 0) memcpy(command, res->plan.command, (size_t)res->plan.n_commands * sizeof *command);
  if (res->plan.n_buffers > 0) memcpy(buffer, res->plan.buffer, (size_t)res->plan.n_buffers * sizeof *buffer);
  command[res->plan.n_commands] =
      (plim_command){.kind = PLIM_COMMAND_RUN, .op = op, .variant = res->forecast->variant[op]};
  for (int32_t i = 0; i < decisions->options.graph->n_storages; i++) {
    if (plim_residency_is_resident(res, i) && !plim_residency_empty(res, i))
      buffer[res->storage[i].buffer].end = n_commands;
  }
  plim_plan draft = *order;
  draft.packed = 1;
  draft.n_commands = n_commands;
  draft.n_buffers = res->plan.n_buffers;
  draft.command = command;
  draft.buffer = buffer;
  draft.budget_bytes = decisions->options.budget_bytes;
  draft.proved = 0;
  status = plim_plan_from_parts(decisions->options.graph, &draft, &decisions->plan);
done:
  plim_release(decisions->ctx, command, n_commands, sizeof *command);
  plim_release(decisions->ctx, buffer, res->plan.n_buffers, sizeof *buffer);
  return status;
}

/* ---- the watcher ---- */

static plim_status add_evicted(plim_decision_log *decisions, int32_t storage) {
  PLIM_TRY(plim_array_reserve(decisions->ctx, &decisions->evicted, &decisions->evicted_capacity,
                              decisions->n_evicted + 1, sizeof *decisions->evicted));
  decisions->evicted[decisions->n_evicted++] = storage;
  return PLIM_OK;
}

static plim_status on_choice(void *user, plim_residency *res, const plim_arena_request *request,
                             const plim_arena_choice *choice) {
  plim_decision_log *decisions = user;
  int32_t before = decisions->n_evicted;
  PLIM_TRY(plim_array_reserve(decisions->ctx, &decisions->choice, &decisions->choice_capacity, decisions->n_choices + 1,
                              sizeof *decisions->choice));
  if (choice->storage >= 0) PLIM_TRY(add_evicted(decisions, choice->storage));
  for (int32_t i = choice->n > 0 ? choice->window[choice->chosen].begin : 0;
       choice->n > 0 && i < choice->window[choice->chosen].end; i++) {
    if (res->rows.row[i].state == PLIM_ROW_EVICTABLE) {
      PLIM_TRY(add_evicted(decisions, res->blocks->block[res->rows.block[i]].owner));
    }
  }
  decisions->choice[decisions->n_choices++] =
      (plim_decision){res->plan.n_commands, *request, decisions->n_evicted - before, NULL};
  return decisions->n_evicted > before ? PLIM_OK : draw_failure(decisions, res, request->op);
}

static plim_status on_run(void *user, const plim_residency *res, int32_t depth) {
  plim_decision_log *decisions = user;
  PLIM_TRY(plim_array_reserve(decisions->ctx, &decisions->depth, &decisions->depth_capacity, res->plan.n_commands,
                              sizeof *decisions->depth));
  decisions->depth[res->plan.n_commands - 1] = depth;
  decisions->n_commands = res->plan.n_commands;
  return PLIM_OK;
}

static plim_status on_end(void *user, const plim_residency *res, int32_t op) {
  plim_decision_log *decisions = user;
  decisions->thrashed = 1;
  return draw_failure(decisions, res, op);
}

static plim_status keep_failure(plim_decision_log *decisions) {
  const char *sentence = plim_context_error(decisions->ctx);
  decisions->failure_bytes = (int64_t)strlen(sentence) + 1;
  PLIM_TRY(plim_allocate(decisions->ctx, decisions->failure_bytes, 1, &decisions->failure));
  memcpy(decisions->failure, sentence, (size_t)decisions->failure_bytes);
  return PLIM_OK;
}

/* Find the configuration that the policy uses: that of the plan that it keeps, or the first one that it tries when it
 * finds no plan. */
static plim_status find_config(plim_decision_log *decisions) {
  const plim_decision_log_options *o = &decisions->options;
  plim_replay_counts counts = {.thrashed = 0};
  plim_plan *plan = NULL;
  plim_status status = plim_arena_online(decisions->ctx, o->graph, o->order, o->policy,
                                         (plim_replay_limits){o->budget_bytes, limit_of(decisions)}, &counts, &plan);
  plim_plan_free(plan);
  decisions->config = counts.config;
  return status == PLIM_ENOFIT && decisions->config.policy ? PLIM_OK : status;
}

static plim_status record(plim_decision_log *decisions) {
  plim_arena_watch watch = {decisions, on_choice, on_run, on_end};
  plim_plan *plan = NULL;
  PLIM_TRY(find_config(decisions));
  plim_status status = plim_decision_log_simulate(decisions, &watch, &plan);
  if (status == PLIM_ENOFIT) PLIM_TRY(keep_failure(decisions));
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  if (plan) decisions->plan = plan;
  if (decisions->plan) {
    (void)snprintf(decisions->plan->planner, sizeof decisions->plan->planner, "online %s",
                   decisions->options.policy->name);
  }
  const int32_t *next = decisions->evicted;
  for (int32_t i = 0; i < decisions->n_choices; i++) {
    decisions->choice[i].evicted = next;
    if (next) next += decisions->choice[i].n_evicted;
  }
  return PLIM_OK;
}

plim_status plim_decision_log_new(plim_context *ctx, const plim_decision_log_options *options,
                                  plim_decision_log **out) {
  plim_decision_log *decisions = NULL;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *decisions, &decisions));
  decisions->ctx = ctx;
  decisions->options = *options;
  plim_status status = record(decisions);
  if (status != PLIM_OK) {
    plim_decision_log_free(decisions);
    return status;
  }
  *out = decisions;
  return PLIM_OK;
}

void plim_decision_log_free(plim_decision_log *decisions) {
  if (!decisions) return;
  plim_plan_free(decisions->plan);
  plim_release(decisions->ctx, decisions->failure, decisions->failure_bytes, 1);
  plim_release(decisions->ctx, decisions->depth, decisions->depth_capacity, sizeof *decisions->depth);
  plim_release(decisions->ctx, decisions->choice, decisions->choice_capacity, sizeof *decisions->choice);
  plim_release(decisions->ctx, decisions->evicted, decisions->evicted_capacity, sizeof *decisions->evicted);
  plim_release(decisions->ctx, decisions->reasons.block, decisions->block_capacity, sizeof *decisions->reasons.block);
  plim_release(decisions->ctx, decisions, 1, sizeof *decisions);
}

/* ---- reading ---- */

const plim_plan *plim_decision_log_plan(const plim_decision_log *decisions) {
  return decisions->plan;
}

const char *plim_decision_log_failure(const plim_decision_log *decisions) {
  return decisions->failure;
}

int plim_decision_log_thrashed(const plim_decision_log *decisions) {
  return decisions->thrashed;
}

const plim_replay_config *plim_decision_log_config(const plim_decision_log *decisions) {
  return &decisions->config;
}

int32_t plim_decision_log_depth(const plim_decision_log *decisions, int32_t command) {
  return command < decisions->n_commands ? decisions->depth[command] : 0;
}

int32_t plim_decision_log_decisions(const plim_decision_log *decisions, const plim_decision **out) {
  *out = decisions->choice;
  return decisions->n_choices;
}

/* Is command j the same in both plans, including in-place pairs? */
static int is_same_command(const plim_plan *a, const plim_plan *b, int32_t j) {
  const plim_command *x = &a->command[j], *y = &b->command[j];
  if (x->kind != y->kind || x->n_pairs != y->n_pairs) return 0;
  for (int32_t i = 0; i < x->n_pairs; i++) {
    if (x->pair[i].in != y->pair[i].in || x->pair[i].out != y->pair[i].out) return 0;
  }
  return plim_plan_is_same_run(a, b, j);
}

int plim_decision_log_equals(const plim_decision_log *decisions, const plim_plan *plan, int32_t *command) {
  const plim_plan *own = decisions->plan;
  *command = 0;
  if (!own || decisions->failure) return 0;
  int32_t differ = own->n_commands < plan->n_commands ? own->n_commands : plan->n_commands;
  int same = own->n_commands == plan->n_commands && own->n_buffers == plan->n_buffers;
  for (int32_t j = 0; j < differ; j++) {
    if (is_same_command(own, plan, j)) continue;
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
  *command = differ;
  return same;
}

/* ---- a budget in which the policy ends ---- */

enum { TO_THE_UNIT = 64 /* enough halvings to reach one unit in any range */ };

static plim_status ends_within(void *user, int64_t bytes, int *yes) {
  const plim_decision_log *decisions = user;
  const plim_decision_log_options *o = &decisions->options;
  return plim_arena_gets_through(decisions->ctx, o->graph, o->order, o->policy,
                                 (plim_replay_limits){bytes, limit_of(decisions)}, yes);
}

plim_status plim_decision_log_enough(plim_decision_log *decisions, int64_t bytes_max, int64_t *bytes) {
  if (decisions->enough_most != bytes_max) {
    PLIM_TRY(plim_halve_bytes(ends_within, decisions, decisions->options.budget_bytes, bytes_max, PLIM_ALIGN,
                              TO_THE_UNIT, &decisions->enough_bytes));
    decisions->enough_most = bytes_max;
  }
  *bytes = decisions->enough_bytes;
  return PLIM_OK;
}
