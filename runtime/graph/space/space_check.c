/* The checker of plans over spaces: it proves the rules on the partial order of queues and waits.
 *
 * clock [n_commands][n_queues] says how many commands of each queue have ended before command c starts, so that "a
 * before b" is one comparison. For each buffer the walk keeps the last writer and, by queue, the last command that uses
 * it. The walk follows the commands in the order of the document, and checks each rule where it could be broken.
 * Written from docs/formats.md. Times and figures are in space_check_figures.c. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/groups.h"
#include "runtime/base/integers.h"
#include "runtime/graph/space/space_plan.h"

/* A buffer, sorted by storage, space, begin. */
typedef struct track {
  const plim_space_buffer *buffer;
  int32_t writer;  /* command that wrote it last, or PLIM_NONE so far */
  int32_t version; /* number of updates in its contents */
  int32_t initial; /* 1: it is filled before the first command */
} track;

typedef struct checker {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_space_plan *plan;
  int32_t n_queues;
  int64_t n_commands, n_buffers;
  int32_t *clock;    /* [n_commands][n_queues] */
  int32_t *place;    /* [n_commands] index in its queue, from 1 */
  track *track;      /* [n_buffers] */
  int32_t *touched;  /* [n_buffers][n_queues] place of the last command that uses it; 0: none */
  int32_t *by_end;   /* [n_buffers] tracks by the end of their buffers */
  int64_t next_end;  /* index into by_end: tracks before it have ended */
  int32_t *released; /* [n_spaces][n_queues] places of the commands that one must follow to use bytes of the space */
  int32_t *runs;     /* [n_ops] number of runs so far */
} checker;

static plim_status refuse(const checker *check, int32_t c, int32_t storage, const char *what) {
  const plim_space_command *command = &check->plan->command[c];
  int run = command->kind == PLIM_SPACE_COMMAND_RUN;
  return plim_fail(check->ctx, PLIM_EPLAN, "command %d (%s%s%s), storage %d: %s", c, run ? "run of '" : "copy",
                   run ? check->graph->op[command->op].name : "", run ? "'" : "", storage, what);
}

static int32_t *clock_of(const checker *check, int32_t c) {
  return check->clock + (int64_t)c * check->n_queues;
}

/* Has command a ended whenever b starts? */
static int before(const checker *check, int32_t a, int32_t b) {
  return a < 0 || clock_of(check, b)[check->plan->command[a].queue] >= check->place[a];
}

/* ---- buffers ---- */

static int by_key(const void *a, const void *b) {
  const plim_space_buffer *x = ((const track *)a)->buffer, *y = ((const track *)b)->buffer;
  if (x->storage != y->storage) return x->storage < y->storage ? -1 : 1;
  if (x->space != y->space) return x->space < y->space ? -1 : 1;
  return plim_integers_compare(x->begin, y->begin);
}

/* The buffer of a storage in a space that is live at command c; NULL: none. */
static track *find(const checker *check, int32_t storage, int32_t space, int32_t c) {
  plim_space_buffer wanted = {.storage = storage, .space = space, .begin = c};
  track key = {.buffer = &wanted}, *found = NULL;
  int64_t low = 0, high = check->n_buffers;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (by_key(&check->track[middle], &key) <= 0) {
      found = &check->track[middle];
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (!found || found->buffer->storage != storage || found->buffer->space != space) return NULL;
  return found->buffer->end > c ? found : NULL;
}

/* Is the buffer filled before the first command? It is when no op writes the storage, it begins at 0, and command 0
 * does not copy to it. */
static int is_initial(const checker *check, const plim_space_buffer *b) {
  const plim_space_command *first = check->plan->command;
  if (b->storage < 0 || check->graph->storage[b->storage].producer >= 0 || b->begin > 0) return 0;
  if (first->kind != PLIM_SPACE_COMMAND_COPY || first->to != b->space) return 1;
  for (int32_t i = 0; i < first->n_storages; i++) {
    if (first->storage[i] == b->storage) return 0;
  }
  return 1;
}

/* Bytes of the workspace of a run of the op. */
static int64_t workspace_of(const plim_graph *g, int32_t op) {
  return g->costs ? g->costs->workspace[op] : 0;
}

/* Check a workspace: it belongs to the run at its begin, and ends with it. */
static plim_status check_workspace(const checker *check, const plim_space_buffer *b) {
  const plim_space_command *command = &check->plan->command[b->begin];
  if (command->kind == PLIM_SPACE_COMMAND_RUN && command->op < check->graph->n_ops &&
      workspace_of(check->graph, command->op) == b->bytes && b->bytes > 0 &&
      check->plan->device[command->device].space == b->space && b->end == b->begin + 1) {
    return PLIM_OK;
  }
  return plim_fail(check->ctx, PLIM_EPLAN, "the workspace of %lld bytes at command %d is not that of a run",
                   (long long)b->bytes, b->begin);
}

static plim_status check_buffers(checker *check) {
  const plim_space_plan *p = check->plan;
  for (int64_t i = 0; i < check->n_buffers; i++) {
    check->track[i] = (track){.buffer = &p->buffer[i], .writer = PLIM_NONE};
  }
  qsort(check->track, (size_t)check->n_buffers, sizeof *check->track, by_key);
  for (int64_t i = 0; i < check->n_buffers; i++) {
    const plim_space_buffer *b = check->track[i].buffer, *last = i > 0 ? check->track[i - 1].buffer : NULL;
    if (b->storage < 0) PLIM_TRY(check_workspace(check, b));
    if (b->storage >= check->graph->n_storages) {
      return plim_fail(check->ctx, PLIM_EPLAN, "a buffer is of storage %d, the graph has %d", b->storage,
                       check->graph->n_storages);
    }
    if (b->storage >= 0 && b->bytes != check->graph->storage[b->storage].bytes) {
      return plim_fail(check->ctx, PLIM_EPLAN,
                       "the buffer of storage %d at command %d has %lld bytes, the storage %lld", b->storage, b->begin,
                       (long long)b->bytes, (long long)check->graph->storage[b->storage].bytes);
    }
    if (last && last->storage == b->storage && last->space == b->space && last->end > b->begin) {
      return plim_fail(check->ctx, PLIM_EPLAN, "two buffers of storage %d live in space %s at command %d", b->storage,
                       p->space[b->space].name, b->begin);
    }
    check->track[i].initial = is_initial(check, b);
  }
  return PLIM_OK;
}

/* Sort the tracks by end. */
static plim_status sort_ends(checker *check) {
  int32_t *first = NULL;
  int64_t n = check->n_commands + 2;
  PLIM_TRY(plim_allocate(check->ctx, n, sizeof *first, &first));
  for (int64_t i = 0; i < check->n_buffers; i++) first[check->track[i].buffer->end]++;
  plim_groups_sum(first, n - 1);
  for (int64_t i = check->n_buffers - 1; i >= 0; i--) {
    check->by_end[--first[check->track[i].buffer->end]] = (int32_t)i;
  }
  plim_release(check->ctx, first, n, sizeof *first);
  return PLIM_OK;
}

/* Check the buffers that are filled before the first command: a storage has at most one, and that of a persistent
 * storage ends with the plan. */
static plim_status check_initial(const checker *check) {
  const plim_graph *g = check->graph;
  for (int64_t i = 0; i < check->n_buffers; i++) {
    const plim_space_buffer *b = check->track[i].buffer;
    if (!check->track[i].initial) continue;
    if (plim_role_persistent(g->storage[b->storage].role) && b->end < check->n_commands) {
      return plim_fail(check->ctx, PLIM_EPLAN, "storage %d is persistent, and its buffer ends at command %d",
                       b->storage, b->end);
    }
    for (int64_t j = i + 1; j < check->n_buffers && check->track[j].buffer->storage == b->storage; j++) {
      if (!check->track[j].initial) continue;
      return plim_fail(check->ctx, PLIM_EPLAN, "storage %d is there from the start in two spaces", b->storage);
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

static void add_before(checker *check, int32_t c, int32_t earlier) {
  int32_t queue = check->plan->command[earlier].queue;
  join(clock_of(check, c), clock_of(check, earlier), check->n_queues);
  if (check->place[earlier] > clock_of(check, c)[queue]) clock_of(check, c)[queue] = check->place[earlier];
}

static plim_status set_clocks(checker *check) {
  int32_t *last = NULL; /* of each queue, + 1 */
  PLIM_TRY(plim_allocate(check->ctx, check->n_queues, sizeof *last, &last));
  for (int32_t c = 0; c < check->plan->n_commands; c++) {
    const plim_space_command *command = &check->plan->command[c];
    int32_t previous = last[command->queue] - 1;
    check->place[c] = previous < 0 ? 1 : check->place[previous] + 1;
    if (previous >= 0) add_before(check, c, previous);
    for (int32_t w = 0; w < command->n_wait; w++) add_before(check, c, command->wait[w]);
    last[command->queue] = c + 1;
  }
  plim_release(check->ctx, last, check->n_queues, sizeof *last);
  return PLIM_OK;
}

/* ---- one command ---- */

static int32_t *touched_of(const checker *check, const track *t) {
  return check->touched + (t - check->track) * check->n_queues;
}

static void touch(checker *check, track *t, int32_t c) {
  touched_of(check, t)[check->plan->command[c].queue] = check->place[c];
}

/* Check that command c may read a storage in a space; *out: its buffer. */
static plim_status read_storage(checker *check, int32_t c, int32_t storage, int32_t space, track **out) {
  track *t = find(check, storage, space, c);
  if (!t || (t->buffer->begin == c && !t->initial)) {
    return refuse(check, c, storage, "no buffer has it where it is read");
  }
  if (!before(check, t->writer, c)) return refuse(check, c, storage, "what fills its buffer need not have ended");
  touch(check, t, c);
  *out = t;
  return PLIM_OK;
}

/* Check that command c may fill the buffer that begins there: all commands that used its bytes before have ended. */
static plim_status fill_storage(checker *check, int32_t c, int32_t storage, int32_t space, int32_t version) {
  track *t = find(check, storage, space, c);
  const int32_t *released = check->released + (int64_t)space * check->n_queues;
  if (!t || t->buffer->begin != c || t->initial) {
    return refuse(check, c, storage, "no buffer begins where it is written");
  }
  for (int32_t q = 0; q < check->n_queues; q++) {
    if (clock_of(check, c)[q] >= released[q]) continue;
    return refuse(check, c, storage, "its bytes may still be in use: a command before need not have ended");
  }
  t->writer = c;
  t->version = version;
  touch(check, t, c);
  return PLIM_OK;
}

/* Number of updates of a storage by ops before `op` in program order. */
static int32_t updates_before(const checker *check, int32_t storage, int32_t op) {
  const plim_graph *g = check->graph;
  int32_t n = 0;
  for (int32_t i = g->updater_first[storage]; i < g->updater_first[storage + 1]; i++) n += g->updater[i] < op;
  return n;
}

static plim_status need_version(const checker *check, int32_t c, const track *t, int32_t version) {
  assert(t); /* read_storage found it */
  if (t->version == version) return PLIM_OK;
  return refuse(check, c, t->buffer->storage, "its buffer has another version than program order reads");
}

static plim_status update_storage(checker *check, int32_t c, int32_t storage, int32_t space, int32_t op) {
  track *t = NULL;
  PLIM_TRY(read_storage(check, c, storage, space, &t));
  PLIM_TRY(need_version(check, c, t, updates_before(check, storage, op)));
  assert(t);
  const int32_t *touched = touched_of(check, t);
  for (int32_t q = 0; q < check->n_queues; q++) {
    if (q == check->plan->command[c].queue || clock_of(check, c)[q] >= touched[q]) continue;
    return refuse(check, c, storage, "a reader of the old contents need not have ended");
  }
  t->writer = c;
  t->version++;
  return PLIM_OK;
}

static plim_status check_run(checker *check, int32_t c) {
  const plim_space_command *command = &check->plan->command[c];
  const plim_op *op = &check->graph->op[command->op];
  int32_t space = check->plan->device[command->device].space;
  track *t = NULL;
  check->runs[command->op]++;
  if (check->runs[command->op] > 1 && op->cls == PLIM_OP_EFFECT) {
    return refuse(check, c, PLIM_NONE, "an effect op runs once");
  }
  if (check->runs[command->op] > 1 && op->cls == PLIM_OP_ONCE) {
    return refuse(check, c, PLIM_NONE, "an op of class once runs once");
  }
  for (int32_t i = 0; i < op->n_reads; i++) {
    PLIM_TRY(read_storage(check, c, op->reads[i], space, &t));
    PLIM_TRY(need_version(check, c, t, updates_before(check, op->reads[i], command->op)));
  }
  for (int32_t i = 0; i < op->n_updates; i++) PLIM_TRY(update_storage(check, c, op->updates[i], space, command->op));
  for (int32_t i = 0; i < op->n_writes; i++) PLIM_TRY(fill_storage(check, c, op->writes[i], space, 0));
  if (workspace_of(check->graph, command->op) == 0) return PLIM_OK;
  if (!find(check, PLIM_WORKSPACE, space, c)) return refuse(check, c, PLIM_NONE, "its workspace has no buffer");
  return fill_storage(check, c, PLIM_WORKSPACE, space, 0);
}

static plim_status check_copy(checker *check, int32_t c) {
  const plim_space_command *command = &check->plan->command[c];
  for (int32_t i = 0; i < command->n_storages; i++) {
    track *t = NULL;
    if (command->storage[i] >= check->graph->n_storages) {
      return refuse(check, c, command->storage[i], "the graph has no such storage");
    }
    PLIM_TRY(read_storage(check, c, command->storage[i], command->from, &t));
    assert(t);
    PLIM_TRY(fill_storage(check, c, command->storage[i], command->to, t->version));
  }
  return PLIM_OK;
}

/* Release the buffers that end at or before command c: commands that fill bytes of their space from now on must follow
 * all commands that used them. */
static void release_ended(checker *check, int32_t c) {
  while (check->next_end < check->n_buffers && check->track[check->by_end[check->next_end]].buffer->end <= c) {
    const track *t = &check->track[check->by_end[check->next_end++]];
    join(check->released + (int64_t)t->buffer->space * check->n_queues, touched_of(check, t), check->n_queues);
  }
}

static plim_status check_commands(checker *check) {
  for (int32_t c = 0; c < check->plan->n_commands; c++) {
    const plim_space_command *command = &check->plan->command[c];
    release_ended(check, c);
    if (command->kind == PLIM_SPACE_COMMAND_RUN && command->op >= check->graph->n_ops) {
      return plim_fail(check->ctx, PLIM_EPLAN, "command %d runs op %d, the graph has %d", c, command->op,
                       check->graph->n_ops);
    }
    PLIM_TRY(command->kind == PLIM_SPACE_COMMAND_RUN ? check_run(check, c) : check_copy(check, c));
  }
  return PLIM_OK;
}

/* ---- after the last command ---- */

static plim_status check_end(const checker *check) {
  const plim_graph *g = check->graph;
  for (int32_t o = 0; o < g->n_ops; o++) {
    if (check->runs[o] == 0) return plim_fail(check->ctx, PLIM_EPLAN, "op %d '%s' never runs", o, g->op[o].name);
  }
  for (int64_t i = 0; i < check->n_buffers; i++) {
    const track *t = &check->track[i];
    int32_t s = t->buffer->storage;
    if (t->writer < 0 && !t->initial) {
      return plim_fail(check->ctx, PLIM_EPLAN, "the buffer of storage %d at command %d is filled by nothing", s,
                       t->buffer->begin);
    }
    if (t->initial && plim_role_persistent(g->storage[s].role) && t->version != updates_before(check, s, g->n_ops)) {
      return plim_fail(check->ctx, PLIM_EPLAN, "storage %d is persistent, and its buffer misses updates at the end", s);
    }
  }
  for (int32_t s = 0; s < g->n_storages; s++) {
    int there = g->storage[s].role != PLIM_ROLE_OUTPUT;
    for (int32_t space = 0; space < check->plan->n_spaces && !there; space++) {
      there = find(check, s, space, check->plan->n_commands - 1) != NULL;
    }
    if (!there) return plim_fail(check->ctx, PLIM_EPLAN, "output storage %d is not there at the end", s);
  }
  return PLIM_OK;
}

static plim_status check_all(checker *check) {
  if (check->n_commands == 0) return plim_fail(check->ctx, PLIM_EPLAN, "the plan has no command");
  PLIM_TRY(check_buffers(check));
  PLIM_TRY(check_initial(check));
  PLIM_TRY(sort_ends(check));
  PLIM_TRY(set_clocks(check));
  PLIM_TRY(check_commands(check));
  return check_end(check);
}

static plim_status check_order(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan) {
  checker k = {.ctx = ctx,
               .graph = graph,
               .plan = plan,
               .n_queues = plan->n_queues,
               .n_commands = plan->n_commands,
               .n_buffers = plan->n_buffers};
  int64_t clocks = plim_mul_checked(k.n_commands, k.n_queues), marks = plim_mul_checked(k.n_buffers, k.n_queues);
  int64_t spaces = plim_mul_checked(plan->n_spaces, k.n_queues);
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, clocks, sizeof *k.clock, &k.clock));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, k.n_commands, sizeof *k.place, &k.place));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, k.n_buffers, sizeof *k.track, &k.track));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, marks, sizeof *k.touched, &k.touched));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, k.n_buffers, sizeof *k.by_end, &k.by_end));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, spaces, sizeof *k.released, &k.released));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_ops, sizeof *k.runs, &k.runs));
  PLIM_TRY_OR_DONE(check_all(&k));
done:
  plim_release(ctx, k.clock, clocks, sizeof *k.clock);
  plim_release(ctx, k.place, k.n_commands, sizeof *k.place);
  plim_release(ctx, k.track, k.n_buffers, sizeof *k.track);
  plim_release(ctx, k.touched, marks, sizeof *k.touched);
  plim_release(ctx, k.by_end, k.n_buffers, sizeof *k.by_end);
  plim_release(ctx, k.released, spaces, sizeof *k.released);
  plim_release(ctx, k.runs, graph->n_ops, sizeof *k.runs);
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
