/* Simulates one training step in an arena of a fixed size, without computing anything. It runs the schedule's commands
 * in their order. Where a result is needed that was evicted before to make room, it is recomputed first, and what that
 * needs before it, deepest first, with an explicit stack. After each command, storages that nothing reads any more are
 * dropped.
 *
 * A pinned storage is not evicted. Frontier pins keep all operands of a chain from its start, so that each op runs at
 * most once in the chain. Lazy pins keep an operand only when its op is about to run: that needs less room and may run
 * an op again. Source: Coop, NeurIPS 2023; pins as in OneFlow's implementation, without recursion. */
#include "runtime/arena/replay.h"

#include <assert.h>
#include <string.h>

#include "runtime/arena/residency.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

/* A replay is given up when it has run this many times the commands of its schedule: it recomputes the same storages
 * over and over. */
enum { GROWTH_MAX = 16 };

/* A run that waits for its operands. */
typedef struct frame {
  int32_t op; /* PLIM_NONE: no op; an output must be resident after the last command */
  int32_t n_reads;
  const int32_t *reads;
  int64_t first_flag; /* flags [n_reads]: the read is pinned by this frame */
} frame;

typedef struct replay {
  plim_residency res;
  plim_replay_config config;
  int64_t limit_ns; /* of the time of all recomputations */
  int may_stop;     /* 1: ends when the effort is over; 0: does not, because a running step waits for the result */
  int64_t stack_capacity, flag_capacity, n_flags;
  frame *stack;
  char *pinned;       /* flags of all frames */
  int32_t *walk;      /* ops of a chain that is pinned */
  int64_t walk_stamp; /* marks in mark[] */
  int64_t *mark;      /* [n_ops] */
} replay;

/* ---- one run ---- */

/* May the run overwrite the storage? It may when neither the schedule nor a waiting chain reads it again. */
static int dies(const replay *state, int32_t op, int32_t storage, int scheduled) {
  const plim_residency *res = &state->res;
  const plim_residency_storage *row = &res->storage[storage];
  if (row->pins != 1 || res->plan.buffer[row->buffer].begin >= res->plan.n_commands) return 0;
  if (!scheduled) return !plim_residency_wanted(res, storage);
  if (res->graph->storage[storage].role == PLIM_ROLE_INPUT) return res->forecast->last_need[storage] <= res->position;
  const plim_op *o = &res->graph->op[op];
  int32_t k = 0;
  while (k < o->n_reads && o->reads[k] != storage) k++;
  assert(k < o->n_reads); /* the storage is the input of a pair of the op */
  return res->forecast->next_read[res->forecast->first_use[res->position] + k] == PLIM_NEVER;
}

/* Use every in-place pair of the op that is possible. */
static plim_status overwrite_inputs(replay *state, plim_command *command, int scheduled) {
  plim_residency *res = &state->res;
  const plim_op *op = &res->graph->op[command->op];
  for (int32_t i = 0; i < op->n_pairs; i++) {
    int32_t in = res->graph->value[op->in[op->pair[i].in]].storage;
    int32_t out = res->graph->value[op->out[op->pair[i].out]].storage;
    if (!plim_residency_is_resident(res, in) || plim_residency_is_resident(res, out) || plim_residency_empty(res, in))
      continue;
    if (!dies(state, command->op, in, scheduled)) continue;
    PLIM_TRY(plim_residency_hand_over(res, in, out));
    command->pair[command->n_pairs++] = op->pair[i];
  }
  return PLIM_OK;
}

/* Place the outputs of an op. All are pinned first, so that room for one is not made by evicting another. */
static plim_status place_outputs(replay *state, int32_t id) {
  plim_residency *res = &state->res;
  const plim_op *op = &res->graph->op[id];
  for (int32_t k = 0; k < op->n_writes; k++) res->storage[op->writes[k]].pins++;
  for (int32_t k = 0; k < op->n_writes; k++) {
    int32_t block, s = op->writes[k];
    if (!plim_residency_is_resident(res, s))
      PLIM_TRY(plim_residency_place(res, id, s, res->graph->storage[s].bytes, &block));
  }
  return PLIM_OK;
}

/* After a run at command `now`: note the uses, remove the pins, and drop storages that are not wanted. An operand that
 * was overwritten has no block any more. */
static plim_status after_run(replay *state, const plim_op *op, int32_t now, int scheduled) {
  plim_residency *res = &state->res;
  for (int32_t k = 0; k < op->n_reads; k++) {
    if (plim_residency_is_resident(res, op->reads[k])) plim_residency_use(res, op->reads[k], now);
    res->storage[op->reads[k]].pins--;
  }
  for (int32_t k = 0; k < op->n_writes; k++) {
    plim_residency_use(res, op->writes[k], now);
    res->storage[op->writes[k]].pins--;
  }
  if (scheduled) plim_residency_advance(res);
  for (int32_t k = 0; k < op->n_reads; k++) PLIM_TRY(plim_residency_drop_unwanted(res, op->reads[k]));
  for (int32_t k = 0; k < op->n_writes; k++) PLIM_TRY(plim_residency_drop_unwanted(res, op->writes[k]));
  return PLIM_OK;
}

/* Run an op whose reads are resident and pinned once by this run; unpins them.
 *   depth  in  0: a command of the schedule; > 0: a recomputation for which so many runs wait */
static plim_status run_op(replay *state, int32_t id, int32_t variant, int32_t depth) {
  plim_residency *res = &state->res;
  const plim_op *op = &res->graph->op[id];
  plim_command command = {.kind = PLIM_COMMAND_RUN, .op = id, .variant = variant};
  int64_t workspace_bytes = res->forecast->schedule->variant[variant].variant.workspace_bytes;
  int32_t workspace = PLIM_NONE, now = res->plan.n_commands;
  res->counts->op = id;
  PLIM_TRY(overwrite_inputs(state, &command, depth == 0));
  PLIM_TRY(place_outputs(state, id));
  if (workspace_bytes > 0) PLIM_TRY(plim_residency_place(res, id, PLIM_WORKSPACE, workspace_bytes, &workspace));
  PLIM_TRY(plim_residency_add_command(res, &command));
  if (workspace >= 0) (void)plim_arena_blocks_give(res->blocks, workspace);
  if (res->watch) PLIM_TRY(res->watch->ran(res->watch->user, res, depth));
  return after_run(state, op, now, depth == 0);
}

/* ---- chains ---- */

/* Push a frame for the op. With frontier pins its reads are pinned already. */
static plim_status push(replay *state, int32_t *depth, int32_t op, int32_t n_reads, const int32_t *reads) {
  PLIM_TRY(plim_array_reserve(state->res.ctx, &state->stack, &state->stack_capacity, *depth + 1, sizeof *state->stack));
  PLIM_TRY(plim_array_reserve(state->res.ctx, &state->pinned, &state->flag_capacity, state->n_flags + n_reads, 1));
  state->stack[(*depth)++] = (frame){op, n_reads, reads, state->n_flags};
  if (n_reads > 0) memset(state->pinned + state->n_flags, state->config.frontier ? 1 : 0, (size_t)n_reads);
  state->n_flags += n_reads;
  if (*depth > state->res.counts->depth) state->res.counts->depth = *depth;
  return PLIM_OK;
}

/* Frontier pins: pin the reads of every op that the chain for these reads will run, resident or not. */
static void pin_chain(replay *state, int32_t n_reads, const int32_t *reads) {
  plim_residency *res = &state->res;
  int32_t n = 0;
  state->walk_stamp++;
  for (;;) {
    for (int32_t k = 0; k < n_reads; k++) {
      int32_t s = reads[k], producer = res->graph->storage[s].producer;
      res->storage[s].pins++;
      if (plim_residency_is_resident(res, s) || state->mark[producer] == state->walk_stamp) continue;
      state->mark[producer] = state->walk_stamp;
      state->walk[n++] = producer;
    }
    if (n == 0) return;
    const plim_op *op = &res->graph->op[state->walk[--n]];
    reads = op->reads;
    n_reads = op->n_reads;
  }
}

static void pin_read(replay *state, const frame *top, int32_t k) {
  char *pinned = &state->pinned[top->first_flag + k];
  if (*pinned) return;
  *pinned = 1;
  state->res.storage[top->reads[k]].pins++;
}

/* First read of the frame that is not resident; n_reads: none. */
static int32_t missing_read(const replay *state, const frame *top) {
  int32_t k = 0;
  while (k < top->n_reads && plim_residency_is_resident(&state->res, top->reads[k])) k++;
  return k;
}

/* PLIM_ECANCEL when the work must end now. */
static plim_status check_effort(const replay *state) {
  if (!state->may_stop || !plim_effort_over(state->res.ctx, PLIM_EFFORT_LOOK / 4)) return PLIM_OK;
  return plim_fail(state->res.ctx, PLIM_ECANCEL, "stopped before a plan was found");
}

/* Count a recomputation. PLIM_ENOFIT when recomputing has taken too long. */
static plim_status count_again(replay *state, int32_t op) {
  plim_replay_counts *counts = state->res.counts;
  int32_t n = state->res.forecast->schedule->n_commands;
  const plim_arena_watch *watch = state->res.watch;
  counts->recomputes++;
  counts->recomputed_ns += state->res.forecast->op_ns[op];
  if (counts->recomputed_ns <= state->limit_ns && state->res.plan.n_commands < (int64_t)GROWTH_MAX * n) return PLIM_OK;
  counts->thrashed = 1;
  counts->op = op;
  if (watch) PLIM_TRY(watch->gave_up(watch->user, &state->res, op));
  return plim_fail(
      state->res.ctx, PLIM_ENOFIT,
      "an arena of %lld bytes computes %s: %d commands for the first %d of %d, %lld ns of them again",
      (long long)state->res.blocks->bytes,
      counts->recomputed_ns > state->limit_ns ? "again for longer than the limit" : "the same again and again",
      state->res.plan.n_commands, state->res.position, n, (long long)counts->recomputed_ns);
}

/* Make the reads of an op resident, each pinned once. */
static plim_status bring(replay *state, int32_t op, int32_t n_reads, const int32_t *reads) {
  plim_residency *res = &state->res;
  int32_t depth = 0;
  state->n_flags = 0;
  if (state->config.frontier) pin_chain(state, n_reads, reads);
  PLIM_TRY(push(state, &depth, op, n_reads, reads));
  for (;;) {
    frame *top = &state->stack[depth - 1];
    int32_t k = missing_read(state, top);
    if (k < top->n_reads) {
      pin_read(state, top, k);
      int32_t maker = res->graph->storage[top->reads[k]].producer;
      assert(maker >= 0);
      PLIM_TRY(push(state, &depth, maker, res->graph->op[maker].n_reads, res->graph->op[maker].reads));
      continue;
    }
    for (k = 0; k < top->n_reads; k++) pin_read(state, top, k);
    if (depth == 1) return PLIM_OK;
    PLIM_TRY(check_effort(state)); /* a chain may be as long as the schedule */
    PLIM_TRY(count_again(state, top->op));
    PLIM_TRY(run_op(state, top->op, res->forecast->variant[top->op], depth - 1));
    state->n_flags = top->first_flag;
    depth--;
  }
}

/* ---- the schedule ---- */

static plim_status run_schedule(replay *state) {
  const plim_plan *schedule = state->res.forecast->schedule;
  const plim_graph *graph = state->res.graph;
  for (int32_t j = state->res.position; j < schedule->n_commands; j++) {
    const plim_op *op = &graph->op[schedule->command[j].op];
    PLIM_TRY(check_effort(state));
    PLIM_TRY(bring(state, schedule->command[j].op, op->n_reads, op->reads));
    PLIM_TRY(run_op(state, schedule->command[j].op, schedule->command[j].variant, 0));
  }
  for (int32_t s = 0; s < graph->n_storages; s++) {
    if (graph->storage[s].role == PLIM_ROLE_OUTPUT) PLIM_TRY(bring(state, PLIM_NONE, 1, &s));
  }
  return PLIM_OK;
}

/* Persistent storages and outputs stay live to the end. The buffer of an input that was held, but not read again, ends
 * with its last use. */
static void end_buffers(plim_residency *res) {
  for (int32_t s = 0; s < res->graph->n_storages; s++) {
    plim_role role = res->graph->storage[s].role;
    if (plim_residency_empty(res, s)) continue;
    if (plim_role_persistent(role) || role == PLIM_ROLE_OUTPUT) {
      res->plan.buffer[res->storage[s].buffer].end = res->plan.n_commands;
    }
  }
}

static plim_status make_plan(const plim_residency *res, int64_t budget_bytes, plim_plan **out) {
  const plim_plan *schedule = res->forecast->schedule;
  plim_plan draft = {.numerics.machine = schedule->numerics.machine,
                     .planner = "arena",
                     .plan_class = PLIM_CLASS_FREE,
                     .packed = 1,
                     .n_commands = res->plan.n_commands,
                     .n_buffers = res->plan.n_buffers,
                     .n_variants = schedule->n_variants,
                     .command = res->plan.command,
                     .buffer = res->plan.buffer,
                     .variant = schedule->variant,
                     .budget_bytes = budget_bytes,
                     .keep_all_ns = schedule->keep_all_ns,
                     .bound_ns = schedule->keep_all_ns};
  return plim_plan_from_parts(res->graph, &draft, out);
}

/* Simulate the schedule from position `from` on in an arena of `arena_bytes`. */
static plim_status simulate_from(replay *state, plim_context *ctx, const plim_forecast *forecast, int32_t from,
                                 int64_t arena_bytes, const plim_arena_watch *watch, plim_replay_counts *counts) {
  *counts = (plim_replay_counts){.config = state->config, .n_commands = from, .op = PLIM_NONE};
  PLIM_TRY(plim_residency_open(ctx, forecast, from, arena_bytes, &state->config, counts, &state->res));
  state->res.watch = watch;
  state->res.perturbation = state->config.perturbation;
  state->res.n_perturbations = state->config.n_perturbations;
  PLIM_TRY(plim_allocate(ctx, forecast->graph->n_ops, sizeof *state->walk, &state->walk));
  PLIM_TRY(plim_allocate(ctx, forecast->graph->n_ops, sizeof *state->mark, &state->mark));
  plim_status status = run_schedule(state);
  counts->n_commands = state->res.plan.n_commands;
  if (status == PLIM_OK) end_buffers(&state->res);
  return status;
}

static void release(replay *state) {
  if (!state->res.ctx) return; /* not opened */
  int64_t n_ops = state->res.graph->n_ops;
  plim_release(state->res.ctx, state->walk, n_ops, sizeof *state->walk);
  plim_release(state->res.ctx, state->mark, n_ops, sizeof *state->mark);
  plim_release(state->res.ctx, state->stack, state->stack_capacity, sizeof *state->stack);
  plim_release(state->res.ctx, state->pinned, state->flag_capacity, 1);
  plim_residency_close(&state->res);
}

plim_status plim_replay_once(plim_context *ctx, const plim_forecast *forecast, const plim_replay_limits *limits,
                             const plim_replay_config *config, const plim_arena_watch *watch,
                             plim_replay_counts *counts, plim_plan **out) {
  replay state = {.config = *config, .limit_ns = limits->recomputed_ns, .may_stop = 1};
  plim_status status = simulate_from(&state, ctx, forecast, 0, limits->arena_bytes, watch, counts);
  if (status == PLIM_OK) status = make_plan(&state.res, limits->arena_bytes, out);
  release(&state);
  return status;
}

plim_status plim_replay_rest(plim_context *ctx, const plim_forecast *forecast, int32_t from,
                             const plim_replay_limits *limits, const plim_replay_config *config,
                             plim_replay_counts *counts, plim_plan **out) {
  replay state = {.config = *config, .limit_ns = limits->recomputed_ns};
  plim_status status = simulate_from(&state, ctx, forecast, from, limits->arena_bytes, NULL, counts);
  if (status == PLIM_OK) status = make_plan(&state.res, forecast->schedule->budget_bytes, out);
  release(&state);
  return status;
}
