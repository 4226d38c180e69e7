/* Answers what would have happened if another policy had decided from some command on. In a plan a buffer ends with its
 * last use, but in the arena its storage stays until it is evicted. So another simulation, which stops at the command,
 * finds the storages that are resident there, and their buffers are extended.
 *
 * A decision log that ended early is completed first: the ops that it did not reach are appended once, in program order
 * and with the variants of the order. */
#include <string.h>

#include "runtime/inspect/decision_log_internal.h"

typedef struct extended_plan {
  plim_plan plan;        /* borrowed, except its commands and buffers */
  plim_command *command; /* [command_capacity] NULL: those of the log's plan */
  plim_plan_buffer *buffer;
  int64_t command_capacity, area_bytes; /* area_bytes: of the area for small requests at the command */
} extended_plan;

/* ---- storages that are resident ---- */

typedef struct stop {
  extended_plan *extended;
  int32_t from;
  int reached; /* 1: the simulation was stopped at the command */
} stop;

/* Does the simulation still hold the storage in that buffer? It appends buffers as they are asked for, and a plan sorts
 * them: so a buffer is known by its storage and its begin. */
static int is_resident(const plim_residency *res, const plim_plan_buffer *buffer) {
  if (buffer->storage < 0 || !plim_residency_is_resident(res, buffer->storage)) return 0;
  const int32_t latest = res->storage[buffer->storage].buffer;
  return latest >= 0 && res->plan.buffer[latest].begin == buffer->begin;
}

/* Is the storage an input that stays for what may be recomputed from it? The run that has just ended drops an input
 * that it read when the input is wanted no more; no other run does.
 *   depth  in  of that run: 0: the next command of the program is the next position */
static int is_held(const plim_residency *res, int32_t depth, int32_t storage) {
  const plim_op *ran = &res->graph->op[res->plan.command[res->plan.n_commands - 1].op];
  if (res->graph->storage[storage].role != PLIM_ROLE_INPUT) return 0;
  return !plim_op_reads(ran, storage) || res->forecast->last_need[storage] >= res->position + (depth == 0);
}

/* Extend the buffers of storages that are resident at the command up to it, and stop there. What the command reads
 * lasts beyond it: it may be a repeat that overwrites an operand in place, and then no command that is left reads that.
 * So does a held input, which no command that is left may read. */
static plim_status on_run(void *user, const plim_residency *res, int32_t depth) {
  stop *at = user;
  const plim_plan *plan = &at->extended->plan;
  if (res->plan.n_commands < at->from) return PLIM_OK;
  at->reached = 1;
  const plim_op *next = &res->graph->op[plan->command[at->from].op];
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    plim_plan_buffer *buffer = &at->extended->buffer[i];
    if (!is_resident(res, buffer)) continue;
    const int32_t end = at->from + (plim_op_reads(next, buffer->storage) || is_held(res, depth, buffer->storage));
    if (buffer->end < end) buffer->end = end;
  }
  if (res->small_bytes > 0) at->extended->area_bytes = res->blocks->bytes - res->blocks->wall;
  return PLIM_ECANCEL;
}

static plim_status on_choice(void *user, plim_residency *res, const plim_arena_request *request,
                             const plim_arena_choice *choice) {
  (void)user, (void)res, (void)request, (void)choice;
  return PLIM_OK;
}

static plim_status on_end(void *user, const plim_residency *res, int32_t op) {
  (void)user, (void)res, (void)op;
  return PLIM_OK;
}

static plim_status prolong_buffers(const plim_decision_log *decisions, int32_t from, extended_plan *extended) {
  stop at = {.extended = extended, .from = from};
  plim_arena_watch watch = {&at, on_choice, on_run, on_end};
  plim_plan *plan = NULL;
  if (from == 0) return PLIM_OK;
  plim_status status = plim_decision_log_simulate(decisions, &watch, &plan);
  if (status == PLIM_ECANCEL && at.reached) return PLIM_OK;
  plim_plan_free(plan);
  return status == PLIM_OK ? plim_fail(decisions->ctx, PLIM_EDIFF, "a second simulation took fewer commands") : status;
}

/* ---- commands that are left ---- */

/* Fill in the commands: those that ran, then the ops that did not, once. Variants are rows of the order, since the
 * decision log runs no others. row [n_ops] is scratch. */
static void fill(const plim_decision_log *decisions, int32_t *row, extended_plan *extended) {
  const plim_plan *order = decisions->options.order;
  int32_t n_ran = decisions->plan->n_commands - 1, n = n_ran; /* the last command was not run */
  for (int32_t j = 0; j < order->n_commands; j++) row[order->command[j].op] = order->command[j].variant;
  for (int32_t j = 0; j < n_ran; j++) {
    extended->command[j] = decisions->plan->command[j];
    extended->command[j].variant = row[extended->command[j].op];
  }
  for (int32_t j = 0; j < n_ran; j++) row[extended->command[j].op] = PLIM_NONE;
  for (int32_t j = 0; j < order->n_commands; j++) {
    if (row[order->command[j].op] >= 0) extended->command[n++] = order->command[j];
  }
  extended->plan.n_commands = n;
}

static plim_status make_steps(const plim_decision_log *decisions, extended_plan *extended) {
  const plim_plan *order = decisions->options.order;
  int32_t *row = NULL, n_ops = decisions->options.graph->n_ops;
  extended->command_capacity = (int64_t)decisions->plan->n_commands + n_ops;
  PLIM_TRY(plim_allocate(decisions->ctx, n_ops, sizeof *row, &row));
  plim_status status =
      plim_allocate(decisions->ctx, extended->command_capacity, sizeof *extended->command, &extended->command);
  if (status == PLIM_OK) fill(decisions, row, extended);
  plim_release(decisions->ctx, row, n_ops, sizeof *row);
  extended->plan.command = extended->command;
  extended->plan.variant = order->variant;
  extended->plan.n_variants = order->n_variants;
  return status;
}

static plim_status extend_plan(const plim_decision_log *decisions, int32_t from, int64_t arena_bytes,
                               extended_plan *extended) {
  PLIM_TRY(plim_allocate(decisions->ctx, decisions->plan->n_buffers, sizeof *extended->buffer, &extended->buffer));
  if (decisions->plan->n_buffers > 0) {
    memcpy(extended->buffer, decisions->plan->buffer, (size_t)decisions->plan->n_buffers * sizeof *extended->buffer);
  }
  extended->plan.buffer = extended->buffer;
  PLIM_TRY(prolong_buffers(decisions, from, extended));
  if (!decisions->failure) return PLIM_OK;
  if (extended->plan.budget_bytes < arena_bytes) extended->plan.budget_bytes = arena_bytes;
  return make_steps(decisions, extended);
}

plim_status plim_decision_log_what_if(const plim_decision_log *decisions, const plim_policy *policy, int32_t from,
                                      int64_t arena_bytes, plim_replay_counts *counts, plim_plan **out) {
  if (!decisions->plan || from < 0 || from >= decisions->plan->n_commands) {
    return plim_fail(decisions->ctx, PLIM_EUSAGE, "command %d of a run of %d", (int)from,
                     decisions->plan ? (int)decisions->plan->n_commands : 0);
  }
  extended_plan extended = {.plan = *decisions->plan};
  plim_status status = extend_plan(decisions, from, arena_bytes, &extended);
  if (status == PLIM_OK) {
    const int as_large =
        arena_bytes - arena_bytes % PLIM_ALIGN == decisions->options.budget_bytes / PLIM_ALIGN * PLIM_ALIGN;
    const plim_arena_change change = {
        .from = from, .arena_bytes = arena_bytes, .area_bytes = as_large ? extended.area_bytes : 0, .policy = policy};
    status = plim_arena_what_if(decisions->ctx, decisions->options.graph, &extended.plan, &change, counts, out);
  }
  plim_release(decisions->ctx, extended.command, extended.command_capacity, sizeof *extended.command);
  plim_release(decisions->ctx, extended.buffer, decisions->plan->n_buffers, sizeof *extended.buffer);
  return status;
}
