/* The checker of plans over spaces: it proves the rules on the partial order of queues and waits.
 *
 * clock [n_commands][n_queues] says how many commands of each queue have ended before command j starts, so that "a
 * before b" is one comparison. For each buffer the walk keeps the last writer and, by queue, the last command that uses
 * it. The walk follows the commands in the order of the document, and checks each rule where it could be broken.
 * Written from docs/formats.md. Times and figures are in space_check_figures.c. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/groups.h"
#include "runtime/base/integers.h"
#include "runtime/graph/space/space_plan.h"

/* What the walk knows of a buffer. Sorted by storage, space, begin. */
typedef struct buffer_state {
  const plim_space_buffer *buffer;
  int32_t writer;  /* command that wrote it last, or PLIM_NONE so far */
  int32_t version; /* number of updates in its contents */
  int32_t initial; /* 1: it is filled before the first command */
} buffer_state;

typedef struct space_checker {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_space_plan *plan;
  int32_t n_queues;
  int64_t n_commands, n_buffers;
  int32_t *clock;      /* [n_commands][n_queues] */
  int32_t *place;      /* [n_commands] index in its queue, from 1 */
  buffer_state *state; /* [n_buffers] */
  int32_t *touched;    /* [n_buffers][n_queues] place of the last command that uses it; 0: none */
  int32_t *by_end;     /* [n_buffers] indices of state, by the end of the buffer */
  int64_t next_end;    /* index into by_end: the buffers before it have ended */
  int32_t *released;   /* [n_spaces][n_queues] places of the commands that one must follow to use bytes of the space */
  int32_t *runs;       /* [n_ops] number of runs so far */
} space_checker;

static const char *name_of(const space_checker *check, int32_t storage) {
  return plim_graph_storage_name(check->graph, storage, "(workspace)");
}

static plim_status refuse_command(const space_checker *check, int32_t j, const char *what) {
  const plim_space_command *command = &check->plan->command[j];
  if (command->kind != PLIM_SPACE_COMMAND_RUN) {
    return plim_fail(check->ctx, PLIM_EPLAN, "command %d (copy): %s", j, what);
  }
  return plim_fail(check->ctx, PLIM_EPLAN, "command %d (run of \"%s\"): %s", j, check->graph->op[command->op].name,
                   what);
}

/* Refuse what command j does with the storage. */
static plim_status refuse(const space_checker *check, int32_t j, int32_t storage, const char *what) {
  const plim_space_command *command = &check->plan->command[j];
  int run = command->kind == PLIM_SPACE_COMMAND_RUN;
  return plim_fail(check->ctx, PLIM_EPLAN, "command %d (%s%s%s), storage \"%s\": %s", j, run ? "run of \"" : "copy",
                   run ? check->graph->op[command->op].name : "", run ? "\"" : "", name_of(check, storage), what);
}

static int32_t *clock_of(const space_checker *check, int32_t j) {
  return check->clock + (int64_t)j * check->n_queues;
}

/* Has command a ended whenever b starts? */
static int before(const space_checker *check, int32_t a, int32_t b) {
  return a < 0 || clock_of(check, b)[check->plan->command[a].queue] >= check->place[a];
}

/* ---- buffers ---- */

static int by_key(const void *a, const void *b) {
  const plim_space_buffer *x = ((const buffer_state *)a)->buffer, *y = ((const buffer_state *)b)->buffer;
  if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
  if (x->space != y->space) return x->space < y->space ? -1 : 1;
  return plim_integers_compare(x->begin, y->begin);
}

/* The buffer of a storage in a space that is live at command j; NULL: none. */
static buffer_state *find(const space_checker *check, int32_t storage, int32_t space, int32_t j) {
  plim_space_buffer wanted = {.storage = storage, .space = space, .begin = j};
  buffer_state key = {.buffer = &wanted}, *found = NULL;
  int64_t low = 0, high = check->n_buffers;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (by_key(&check->state[middle], &key) <= 0) {
      found = &check->state[middle];
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (!found || found->buffer->storage != storage || found->buffer->space != space) return NULL;
  return found->buffer->end > j ? found : NULL;
}

/* Is the buffer filled before the first command? It is when no op writes the storage, it begins at 0, and command 0
 * does not copy to it. */
static int is_initial(const space_checker *check, const plim_space_buffer *buffer) {
  const plim_space_command *first = check->plan->command;
  if (buffer->storage < 0 || check->graph->storage[buffer->storage].producer >= 0 || buffer->begin > 0) return 0;
  if (first->kind != PLIM_SPACE_COMMAND_COPY || first->to != buffer->space) return 1;
  for (int32_t i = 0; i < first->n_storages; i++) {
    if (first->storage[i] == buffer->storage) return 0;
  }
  return 1;
}

/* Bytes of the workspace of a run of the op. */
static int64_t workspace_of(const plim_graph *graph, int32_t op) {
  return graph->costs ? graph->costs->workspace[op] : 0;
}

/* Check a workspace: it belongs to the run at its begin, and ends with it. */
static plim_status check_workspace(const space_checker *check, const plim_space_buffer *buffer) {
  const plim_space_command *command = &check->plan->command[buffer->begin];
  if (command->kind == PLIM_SPACE_COMMAND_RUN && command->op < check->graph->n_ops &&
      workspace_of(check->graph, command->op) == buffer->bytes && buffer->bytes > 0 &&
      check->plan->device[command->device].space == buffer->space && buffer->end == buffer->begin + 1) {
    return PLIM_OK;
  }
  return plim_fail(check->ctx, PLIM_EPLAN, "the workspace of %lld bytes at command %d is not that of a run",
                   (long long)buffer->bytes, buffer->begin);
}

static plim_status check_buffers(space_checker *check) {
  const plim_space_plan *plan = check->plan;
  for (int64_t i = 0; i < check->n_buffers; i++) {
    check->state[i] = (buffer_state){.buffer = &plan->buffer[i], .writer = PLIM_NONE};
  }
  qsort(check->state, (size_t)check->n_buffers, sizeof *check->state, by_key);
  for (int64_t i = 0; i < check->n_buffers; i++) {
    const plim_space_buffer *b = check->state[i].buffer, *last = i > 0 ? check->state[i - 1].buffer : NULL;
    if (b->storage < 0) PLIM_TRY(check_workspace(check, b));
    if (b->storage >= check->graph->n_storages) {
      return plim_fail(check->ctx, PLIM_EPLAN, "a buffer is of storage %d, the graph has %d", b->storage,
                       check->graph->n_storages);
    }
    if (b->storage >= 0 && b->bytes != check->graph->storage[b->storage].bytes) {
      return plim_fail(check->ctx, PLIM_EPLAN,
                       "the buffer of storage \"%s\" at command %d has %lld bytes, the storage %lld",
                       name_of(check, b->storage), b->begin, (long long)b->bytes,
                       (long long)check->graph->storage[b->storage].bytes);
    }
    if (last && last->storage == b->storage && last->space == b->space && last->end > b->begin) {
      return plim_fail(check->ctx, PLIM_EPLAN, "two buffers of storage \"%s\" live in space %s at command %d",
                       name_of(check, b->storage), plan->space[b->space].name, b->begin);
    }
    check->state[i].initial = is_initial(check, b);
  }
  return PLIM_OK;
}

/* Sort the buffers by end. */
static plim_status sort_ends(space_checker *check) {
  int32_t *first = NULL;
  int64_t n = check->n_commands + 2;
  PLIM_TRY(plim_allocate(check->ctx, n, sizeof *first, &first));
  for (int64_t i = 0; i < check->n_buffers; i++) first[check->state[i].buffer->end]++;
  plim_groups_sum(first, n - 1);
  for (int64_t i = check->n_buffers - 1; i >= 0; i--) {
    check->by_end[--first[check->state[i].buffer->end]] = (int32_t)i;
  }
  plim_release(check->ctx, first, n, sizeof *first);
  return PLIM_OK;
}

/* Check the buffers that are filled before the first command: a storage has at most one, and that of a persistent
 * storage ends with the plan. */
static plim_status check_initial(const space_checker *check) {
  const plim_graph *g = check->graph;
  for (int64_t i = 0; i < check->n_buffers; i++) {
    const plim_space_buffer *b = check->state[i].buffer;
    if (!check->state[i].initial) continue;
    if (plim_role_persistent(g->storage[b->storage].role) && b->end < check->n_commands) {
      return plim_fail(check->ctx, PLIM_EPLAN, "storage \"%s\" is persistent, and its buffer ends at command %d",
                       name_of(check, b->storage), b->end);
    }
    for (int64_t j = i + 1; j < check->n_buffers && check->state[j].buffer->storage == b->storage; j++) {
      if (!check->state[j].initial) continue;
      return plim_fail(check->ctx, PLIM_EPLAN, "storage \"%s\" is there from the start in two spaces",
                       name_of(check, b->storage));
    }
  }
  return PLIM_OK;
}

/* ---- the order ---- */

static void join(int32_t *to, const int32_t *from, int32_t n) {
  for (int32_t q = 0; q < n; q++) {
    if (from[q] > to[q]) to[q] = from[q];
  }
}

static void add_before(space_checker *check, int32_t j, int32_t earlier) {
  int32_t queue = check->plan->command[earlier].queue;
  join(clock_of(check, j), clock_of(check, earlier), check->n_queues);
  if (check->place[earlier] > clock_of(check, j)[queue]) clock_of(check, j)[queue] = check->place[earlier];
}

static plim_status set_clocks(space_checker *check) {
  int32_t *last = NULL; /* of each queue, + 1 */
  PLIM_TRY(plim_allocate(check->ctx, check->n_queues, sizeof *last, &last));
  for (int32_t j = 0; j < check->plan->n_commands; j++) {
    const plim_space_command *command = &check->plan->command[j];
    int32_t previous = last[command->queue] - 1;
    check->place[j] = previous < 0 ? 1 : check->place[previous] + 1;
    if (previous >= 0) add_before(check, j, previous);
    for (int32_t w = 0; w < command->n_wait; w++) add_before(check, j, command->wait[w]);
    last[command->queue] = j + 1;
  }
  plim_release(check->ctx, last, check->n_queues, sizeof *last);
  return PLIM_OK;
}

/* ---- one command ---- */

static int32_t *touched_of(const space_checker *check, const buffer_state *state) {
  return check->touched + (state - check->state) * check->n_queues;
}

static void touch(space_checker *check, buffer_state *state, int32_t j) {
  touched_of(check, state)[check->plan->command[j].queue] = check->place[j];
}

/* Check that command j may read a storage in a space; *out: its buffer. */
static plim_status read_storage(space_checker *check, int32_t j, int32_t storage, int32_t space, buffer_state **out) {
  buffer_state *state = find(check, storage, space, j);
  if (!state || (state->buffer->begin == j && !state->initial)) {
    return refuse(check, j, storage, "no buffer has it where it is read");
  }
  if (!before(check, state->writer, j)) return refuse(check, j, storage, "what fills its buffer need not have ended");
  touch(check, state, j);
  *out = state;
  return PLIM_OK;
}

/* Check that command j may fill the buffer that begins there: all commands that used its bytes before have ended. */
static plim_status fill_storage(space_checker *check, int32_t j, int32_t storage, int32_t space, int32_t version) {
  buffer_state *state = find(check, storage, space, j);
  const int32_t *released = check->released + (int64_t)space * check->n_queues;
  if (!state || state->buffer->begin != j || state->initial) {
    return refuse(check, j, storage, "no buffer begins where it is written");
  }
  for (int32_t q = 0; q < check->n_queues; q++) {
    if (clock_of(check, j)[q] >= released[q]) continue;
    return refuse(check, j, storage, "its bytes may still be in use: a command before need not have ended");
  }
  state->writer = j;
  state->version = version;
  touch(check, state, j);
  return PLIM_OK;
}

/* Number of updates of a storage by ops before `op` in program order. */
static int32_t updates_before(const space_checker *check, int32_t storage, int32_t op) {
  const plim_graph *g = check->graph;
  int32_t n = 0;
  for (int32_t i = g->updater_first[storage]; i < g->updater_first[storage + 1]; i++) n += g->updater[i] < op;
  return n;
}

static plim_status need_version(const space_checker *check, int32_t j, const buffer_state *state, int32_t version) {
  assert(state); /* read_storage found it */
  if (state->version == version) return PLIM_OK;
  return refuse(check, j, state->buffer->storage, "its buffer has another version than program order reads");
}

static plim_status update_storage(space_checker *check, int32_t j, int32_t storage, int32_t space, int32_t op) {
  buffer_state *state = NULL;
  PLIM_TRY(read_storage(check, j, storage, space, &state));
  PLIM_TRY(need_version(check, j, state, updates_before(check, storage, op)));
  assert(state);
  const int32_t *touched = touched_of(check, state);
  for (int32_t q = 0; q < check->n_queues; q++) {
    if (q == check->plan->command[j].queue || clock_of(check, j)[q] >= touched[q]) continue;
    return refuse(check, j, storage, "a reader of the old contents need not have ended");
  }
  state->writer = j;
  state->version++;
  return PLIM_OK;
}

static plim_status check_run(space_checker *check, int32_t j) {
  const plim_space_command *command = &check->plan->command[j];
  const plim_op *op = &check->graph->op[command->op];
  int32_t space = check->plan->device[command->device].space;
  buffer_state *state = NULL;
  check->runs[command->op]++;
  if (check->runs[command->op] > 1 && op->cls == PLIM_OP_EFFECT) {
    return refuse_command(check, j, "an effect op runs once");
  }
  if (check->runs[command->op] > 1 && op->cls == PLIM_OP_ONCE) {
    return refuse_command(check, j, "an op of class once runs once");
  }
  for (int32_t i = 0; i < op->n_reads; i++) {
    PLIM_TRY(read_storage(check, j, op->reads[i], space, &state));
    PLIM_TRY(need_version(check, j, state, updates_before(check, op->reads[i], command->op)));
  }
  for (int32_t i = 0; i < op->n_updates; i++) PLIM_TRY(update_storage(check, j, op->updates[i], space, command->op));
  for (int32_t i = 0; i < op->n_writes; i++) PLIM_TRY(fill_storage(check, j, op->writes[i], space, 0));
  if (workspace_of(check->graph, command->op) == 0) return PLIM_OK;
  if (!find(check, PLIM_WORKSPACE, space, j)) return refuse_command(check, j, "its workspace has no buffer");
  return fill_storage(check, j, PLIM_WORKSPACE, space, 0);
}

static plim_status check_copy(space_checker *check, int32_t j) {
  const plim_space_command *command = &check->plan->command[j];
  for (int32_t i = 0; i < command->n_storages; i++) {
    buffer_state *state = NULL;
    if (command->storage[i] >= check->graph->n_storages) {
      return plim_fail(check->ctx, PLIM_EPLAN, "command %d (copy): storage %d, the graph has %d", j,
                       command->storage[i], check->graph->n_storages);
    }
    PLIM_TRY(read_storage(check, j, command->storage[i], command->from, &state));
    assert(state);
    PLIM_TRY(fill_storage(check, j, command->storage[i], command->to, state->version));
  }
  return PLIM_OK;
}

/* Release the buffers that end at or before command j: commands that fill bytes of their space from now on must follow
 * all commands that used them. */
static void release_ended(space_checker *check, int32_t j) {
  while (check->next_end < check->n_buffers && check->state[check->by_end[check->next_end]].buffer->end <= j) {
    const buffer_state *state = &check->state[check->by_end[check->next_end++]];
    join(check->released + (int64_t)state->buffer->space * check->n_queues, touched_of(check, state), check->n_queues);
  }
}

static plim_status check_commands(space_checker *check) {
  for (int32_t j = 0; j < check->plan->n_commands; j++) {
    const plim_space_command *command = &check->plan->command[j];
    release_ended(check, j);
    if (command->kind == PLIM_SPACE_COMMAND_RUN && command->op >= check->graph->n_ops) {
      return plim_fail(check->ctx, PLIM_EPLAN, "command %d runs op %d, the graph has %d", j, command->op,
                       check->graph->n_ops);
    }
    PLIM_TRY(command->kind == PLIM_SPACE_COMMAND_RUN ? check_run(check, j) : check_copy(check, j));
  }
  return PLIM_OK;
}

/* ---- after the last command ---- */

static plim_status check_end(const space_checker *check) {
  const plim_graph *g = check->graph;
  for (int32_t o = 0; o < g->n_ops; o++) {
    if (check->runs[o] == 0) return plim_fail(check->ctx, PLIM_EPLAN, "op \"%s\" never runs", g->op[o].name);
  }
  for (int64_t i = 0; i < check->n_buffers; i++) {
    const buffer_state *state = &check->state[i];
    int32_t s = state->buffer->storage;
    if (state->writer < 0 && !state->initial) {
      return plim_fail(check->ctx, PLIM_EPLAN, "the buffer of storage \"%s\" at command %d is filled by nothing",
                       name_of(check, s), state->buffer->begin);
    }
    if (state->initial && plim_role_persistent(g->storage[s].role) &&
        state->version != updates_before(check, s, g->n_ops)) {
      return plim_fail(check->ctx, PLIM_EPLAN, "storage \"%s\" is persistent, and its buffer misses updates at the end",
                       name_of(check, s));
    }
  }
  for (int32_t s = 0; s < g->n_storages; s++) {
    int there = g->storage[s].role != PLIM_ROLE_OUTPUT;
    for (int32_t space = 0; space < check->plan->n_spaces && !there; space++) {
      there = find(check, s, space, check->plan->n_commands - 1) != NULL;
    }
    if (!there) return plim_fail(check->ctx, PLIM_EPLAN, "output \"%s\" is not there at the end", name_of(check, s));
  }
  return PLIM_OK;
}

static plim_status check_all(space_checker *check) {
  if (check->n_commands == 0) return plim_fail(check->ctx, PLIM_EPLAN, "the plan has no command");
  PLIM_TRY(check_buffers(check));
  PLIM_TRY(check_initial(check));
  PLIM_TRY(sort_ends(check));
  PLIM_TRY(set_clocks(check));
  PLIM_TRY(check_commands(check));
  return check_end(check);
}

static plim_status check_order(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan) {
  space_checker checker = {.ctx = ctx,
                           .graph = graph,
                           .plan = plan,
                           .n_queues = plan->n_queues,
                           .n_commands = plan->n_commands,
                           .n_buffers = plan->n_buffers};
  int64_t clocks = plim_mul_checked(checker.n_commands, checker.n_queues),
          marks = plim_mul_checked(checker.n_buffers, checker.n_queues);
  int64_t spaces = plim_mul_checked(plan->n_spaces, checker.n_queues);
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, clocks, sizeof *checker.clock, &checker.clock));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, checker.n_commands, sizeof *checker.place, &checker.place));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, checker.n_buffers, sizeof *checker.state, &checker.state));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, marks, sizeof *checker.touched, &checker.touched));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, checker.n_buffers, sizeof *checker.by_end, &checker.by_end));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, spaces, sizeof *checker.released, &checker.released));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_ops, sizeof *checker.runs, &checker.runs));
  PLIM_TRY_OR_DONE(check_all(&checker));
done:
  plim_release(ctx, checker.clock, clocks, sizeof *checker.clock);
  plim_release(ctx, checker.place, checker.n_commands, sizeof *checker.place);
  plim_release(ctx, checker.state, checker.n_buffers, sizeof *checker.state);
  plim_release(ctx, checker.touched, marks, sizeof *checker.touched);
  plim_release(ctx, checker.by_end, checker.n_buffers, sizeof *checker.by_end);
  plim_release(ctx, checker.released, spaces, sizeof *checker.released);
  plim_release(ctx, checker.runs, graph->n_ops, sizeof *checker.runs);
  return status;
}

plim_status plim_space_plan_check(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan) {
  if (strcmp(graph->fingerprint, plan->fingerprint) != 0) {
    return plim_fail(ctx, PLIM_EDATA, "the plan is of graph %.12s..., not of %.12s...", plan->fingerprint,
                     graph->fingerprint);
  }
  PLIM_TRY(check_order(ctx, graph, plan));
  return plim_space_plan_check_figures(ctx, graph, plan);
}
