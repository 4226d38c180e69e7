/* Makes a command list of runs, in one pass. At each run, operands that are not in its space are copied there. Where a
 * space is full, a buffer leaves it: the one that is not read for longest, by the time that its copies take. A buffer
 * that another space has too is dropped. Any other is paged out right after its last use. The places of copies are a
 * first proposal: plim_command_list_spread moves them.
 *
 * Example: the arena holds two buffers. Runs 0, 1 and 2 write a, b and c; run 2 reads b; run 3 reads c and a. At run 2
 * there is no room for c. b is an operand, so a leaves. Its last use is run 0, and the copy out stands after that. At
 * run 3 a is copied in; b, which nothing reads any more, is gone. The list is run 0, a out, run 1, run 2, a in, run 3.
 *
 * A copy out may belong after a run that is in the list already. So commands have keys while they are made, and are
 * sorted by them in the end.
 *
 * planner/spaces/search/space_demand.c makes room in the same way. There nodes have one output, and the pass decides
 * what is recomputed. Here the runs and their devices are given, with in-place pairs and updates. */
#include <math.h>
#include <string.h>

#include "planner/paging/paging_internal.h"
#include "planner/paging/paging_tuning.h"
#include "runtime/base/array.h"
#include "runtime/base/effort.h"

/* Storage s in a space. */
typedef struct queue_place {
  int32_t last_use; /* run after which nothing has touched it, there or no longer there; -1: none has */
  int32_t at;       /* in open */
} queue_place;

typedef struct decode_pass {
  const plim_queue_runs *runs;
  const plim_graph *graph;
  const plim_queue_spaces *spaces;
  const int32_t *space;
  double noise;
  plim_random *random;
  plim_command_list *list;
  plim_block block;                /* of the arrays but keys */
  int32_t now;                     /* run */
  queue_place *place;              /* [spaces][n_storages] */
  int32_t *buffer;                 /* [spaces][n_storages] of the list; -1: it is not there */
  int32_t *cursor;                 /* [n_storages] first access after the run in hand, or at it */
  int32_t *pinned;                 /* [n_storages] run + 1 for which it stays */
  int32_t *stuck;                  /* [n_storages] run + 1 for which it has nowhere to go */
  int32_t *open[PLIM_PLAN_SPACES]; /* [n_storages] storages that may leave */
  int32_t n_open[PLIM_PLAN_SPACES];
  int64_t live_bytes[PLIM_PLAN_SPACES];
  int64_t *run_peak_bytes[PLIM_PLAN_SPACES]; /* [n + 1] live bytes at the end of each run */
  int32_t *over;                             /* by output of the op in hand: the storage that it overwrites, or -1 */
  int64_t *key;                              /* of commands */
  int64_t key_capacity;
} decode_pass;

/* ---- what is where ---- */

static queue_place *place_of(const decode_pass *pass, int32_t storage, int32_t space) {
  return &pass->place[(int64_t)space * pass->graph->n_storages + storage];
}

static int32_t *buffer_of(const decode_pass *pass, int32_t storage, int32_t space) {
  return &pass->buffer[(int64_t)space * pass->graph->n_storages + storage];
}

static int64_t bytes_of(const decode_pass *pass, int32_t storage) {
  return plim_align_up(pass->graph->storage[storage].bytes, PLIM_ALIGN);
}

static int is_home(const decode_pass *pass, int32_t storage, int32_t space) {
  return space == 0 && plim_role_persistent(pass->graph->storage[storage].role);
}

/* The next run after `run`, in a space (-1: in any), that reads what the storage has now; INT32_MAX: none. */
static int32_t next_read(const decode_pass *pass, int32_t storage, int32_t space, int32_t run) {
  for (int32_t i = pass->cursor[storage]; i < pass->runs->first[storage + 1]; i++) {
    const struct plim_run_access *a = &pass->runs->access[i];
    if (a->run == INT32_MAX) break;
    if (a->run <= run) continue;
    if (a->reads && (space < 0 || pass->space[a->run] == space)) return a->run;
    if (a->writes) break;
  }
  return INT32_MAX;
}

/* Does another space have a buffer of the storage? */
static int is_elsewhere(const decode_pass *pass, int32_t storage, int32_t space) {
  for (int32_t k = 0; k < pass->spaces->n; k++) {
    if (k != space && *buffer_of(pass, storage, k) >= 0) return 1;
  }
  return 0;
}

/* Is the storage an output that no later run writes? It must be in space 0 at the end. */
static int is_last_output(const decode_pass *pass, int32_t storage, int32_t run) {
  if (pass->graph->storage[storage].role != PLIM_ROLE_OUTPUT) return 0;
  for (int32_t i = pass->cursor[storage]; i < pass->runs->first[storage + 1]; i++) {
    if (pass->runs->access[i].run != INT32_MAX && pass->runs->access[i].run > run && pass->runs->access[i].writes)
      return 0;
  }
  return 1;
}

/* Is the buffer of the storage there read, copied or handed over after `run`? */
static int is_wanted(const decode_pass *pass, int32_t storage, int32_t space, int32_t run) {
  if (is_home(pass, storage, space)) return 1;
  if (is_last_output(pass, storage, run) && (space == 0 || *buffer_of(pass, storage, 0) < 0)) return 1;
  if (next_read(pass, storage, space, run) < INT32_MAX) return 1;
  int keeps = !pass->spaces->computes[space] || !is_elsewhere(pass, storage, space);
  return keeps && next_read(pass, storage, -1, run) < INT32_MAX;
}

/* A buffer of the list begins in the space, or ends there. */
static void open_place(decode_pass *pass, int32_t storage, int32_t space, int32_t buffer) {
  queue_place *p = place_of(pass, storage, space);
  *buffer_of(pass, storage, space) = buffer;
  p->at = pass->n_open[space];
  pass->open[space][pass->n_open[space]++] = storage;
  pass->live_bytes[space] += bytes_of(pass, storage);
}

static void close_place(decode_pass *pass, int32_t storage, int32_t space) {
  queue_place *p = place_of(pass, storage, space);
  int32_t last = pass->open[space][--pass->n_open[space]];
  pass->open[space][p->at] = last;
  place_of(pass, last, space)->at = p->at;
  *buffer_of(pass, storage, space) = -1;
  pass->live_bytes[space] -= bytes_of(pass, storage);
}

/* ---- copies ---- */

/* Keys of commands: run r stands between the copies for it and those after it. */
static int64_t key_before(int32_t run) {
  return 3 * (int64_t)run;
}

static int64_t key_of_run(int32_t run) {
  return 3 * (int64_t)run + 1;
}

static int64_t key_after(int32_t run) {
  return 3 * (int64_t)run + 2;
}

static void add_command(decode_pass *pass, const plim_command *command, int64_t time_ns, int64_t key) {
  plim_command_list *list = pass->list;
  if (list->status == PLIM_OK)
    list->status =
        plim_array_reserve(list->ctx, &pass->key, &pass->key_capacity, (int64_t)list->n + 1, sizeof *pass->key);
  if (list->status == PLIM_OK) pass->key[list->n] = key;
  (void)plim_command_list_add(list, command, time_ns);
}

/* Add a copy to a space that has room for it. after: the run after which the copy stands; -1: it stands first. */
static void add_copy(decode_pass *pass, int32_t storage, int32_t from, int32_t to, int64_t key, int32_t after) {
  int64_t bytes = bytes_of(pass, storage);
  const plim_command command = {.kind = PLIM_COMMAND_COPY,
                                .queue = pass->spaces->copy_queue[from][to],
                                .storage = storage,
                                .from = from,
                                .to = to};
  plim_command_list_add_use(pass->list, *buffer_of(pass, storage, from), 0);
  int32_t target = plim_command_list_add_buffer(pass->list, storage, to, pass->list->n, bytes, -1);
  plim_command_list_add_use(pass->list, target, 1);
  add_command(pass, &command, plim_queue_copy_ns(pass->spaces, from, to, pass->graph->storage[storage].bytes), key);
  if (pass->list->status != PLIM_OK) return;
  open_place(pass, storage, to, target);
  place_of(pass, storage, from)->last_use = place_of(pass, storage, to)->last_use = after;
  for (int32_t j = after < 0 ? 0 : after; j < pass->now; j++) pass->run_peak_bytes[to][j] += bytes;
}

/* ---- room ---- */

static int had_room(const decode_pass *pass, int32_t space, int32_t since, int64_t bytes) {
  int64_t max_bytes = pass->spaces->budget_bytes[space] - bytes;
  if (pass->live_bytes[space] > max_bytes) return 0;
  for (int32_t j = since < 0 ? 0 : since; j < pass->now && pass->spaces->budget_bytes[space] < INT64_MAX; j++) {
    if (pass->run_peak_bytes[space][j] > max_bytes) return 0;
  }
  return 1;
}

/* Find the space to which a buffer that leaves is copied; -1: there is none. The copies to it, and from it to the next
 * reader, take the least time. needs_room 1: only spaces with room count. */
static int32_t find_refuge(const decode_pass *pass, int32_t storage, int32_t space, int needs_room, int64_t *cost_ns) {
  int64_t bytes = pass->graph->storage[storage].bytes;
  int32_t reader = next_read(pass, storage, -1, pass->now - 1), best = -1;
  int32_t to = reader < INT32_MAX ? pass->space[reader] : 0;
  for (int32_t k = 0; k < pass->spaces->n; k++) {
    if (k == space || pass->spaces->bytes_per_ns[space][k] <= 0) continue;
    if (k != to && pass->spaces->bytes_per_ns[k][to] <= 0) continue;
    int64_t ns = plim_queue_copy_ns(pass->spaces, space, k, bytes);
    if (k != to) ns += plim_queue_copy_ns(pass->spaces, k, to, bytes);
    if (best >= 0 && ns >= *cost_ns) continue;
    if (needs_room && !had_room(pass, k, place_of(pass, storage, space)->last_use, bytes_of(pass, storage))) continue;
    best = k;
    *cost_ns = ns;
  }
  return best;
}

/* How good it is that the buffer leaves: bytes times the time until its next reader, by what its copies take; -1: it
 * cannot leave. */
static double worth_of(const decode_pass *pass, int32_t storage, int32_t space) {
  int32_t reader = next_read(pass, storage, space, pass->now - 1);
  int64_t cost_ns = 0;
  if (reader == INT32_MAX) reader = next_read(pass, storage, -1, pass->now - 1);
  if (!is_elsewhere(pass, storage, space) && find_refuge(pass, storage, space, 0, &cost_ns) < 0) return -1;
  if (reader == INT32_MAX) reader = pass->runs->n;
  double unread_ns = (double)(pass->runs->begin_ns[reader] - pass->runs->begin_ns[pass->now]) + 1;
  double worth = unread_ns * (double)bytes_of(pass, storage) /
                 ((double)cost_ns + 1 + paging_tuning.queue.unread_weight * unread_ns);
  return pass->noise > 0 ? worth * exp(pass->noise * (plim_random_unit(pass->random) - 0.5)) : worth;
}

static int may_leave(const decode_pass *pass, int32_t storage, int32_t space) {
  if (pass->stuck[storage] == pass->now + 1) return 0;
  if (pass->pinned[storage] == pass->now + 1 && pass->spaces->computes[space]) return 0;
  if (pass->graph->storage[storage].producer < 0 && space == 0) return 0; /* inputs and persistent storages */
  return !(space == 0 && is_last_output(pass, storage, pass->now - 1));
}

/* Copy the storage, right after its last use, to a space where it waits for its next reader. The buffer stays.
 * 0: no space has room. */
static int page_out(decode_pass *pass, int32_t storage, int32_t space) {
  int64_t cost_ns;
  const int32_t to = find_refuge(pass, storage, space, 1, &cost_ns);
  if (to < 0) return 0;
  int32_t after = place_of(pass, storage, space)->last_use;
  if (place_of(pass, storage, to)->last_use > after) after = place_of(pass, storage, to)->last_use;
  /* what was copied in for the run in hand leaves before it, since the run may write over it */
  const int64_t key = after < pass->now ? key_after(after) : key_before(pass->now);
  add_copy(pass, storage, space, to, key, after);
  return 1;
}

/* Make the best buffer leave the space, or mark it as stuck there. 0: none may leave, or the effort is over. */
static int make_leave(decode_pass *pass, int32_t space) {
  int32_t storage = -1;
  double most = -1;
  if (plim_effort_over(pass->list->ctx, 20 * (int64_t)pass->n_open[space])) return 0;
  for (int32_t i = 0; i < pass->n_open[space]; i++) {
    int32_t s = pass->open[space][i];
    if (!may_leave(pass, s, space)) continue;
    double worth = worth_of(pass, s, space);
    if (worth <= most) continue;
    most = worth;
    storage = s;
  }
  if (storage < 0) return 0;
  if (!is_elsewhere(pass, storage, space) && !page_out(pass, storage, space)) {
    pass->stuck[storage] = pass->now + 1;
    return 1;
  }
  close_place(pass, storage, space);
  return 1;
}

/* Make buffers leave until so many bytes are free. Returns 0 when too few can leave. */
static int make_room(decode_pass *pass, int32_t space, int64_t bytes) {
  while (pass->live_bytes[space] > pass->spaces->budget_bytes[space] - bytes) {
    if (!make_leave(pass, space)) return 0;
  }
  return 1;
}

/* ---- runs ---- */

static void close_unwanted(decode_pass *pass, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < pass->spaces->n; k++) {
      if (*buffer_of(pass, storage[i], k) >= 0 && !is_wanted(pass, storage[i], k, pass->now))
        close_place(pass, storage[i], k);
    }
  }
}

/* Copy a storage to the space of the run, if it is not there. Returns 0 when there is no room, or no space has it. */
static int bring(decode_pass *pass, int32_t storage, int32_t space) {
  int64_t bytes = pass->graph->storage[storage].bytes;
  int32_t from = -1;
  if (bytes == 0 || *buffer_of(pass, storage, space) >= 0) return 1;
  if (!make_room(pass, space, bytes_of(pass, storage))) return 0;
  for (int32_t k = 0; k < pass->spaces->n; k++) {
    if (*buffer_of(pass, storage, k) < 0 || pass->spaces->bytes_per_ns[k][space] <= 0) continue;
    if (from >= 0 &&
        plim_queue_copy_ns(pass->spaces, k, space, bytes) >= plim_queue_copy_ns(pass->spaces, from, space, bytes)) {
      continue;
    }
    from = k;
  }
  if (from < 0) return 0;
  add_copy(pass, storage, from, space, key_before(pass->now), pass->now);
  if (!is_wanted(pass, storage, from, pass->now - 1)) close_place(pass, storage, from);
  return 1;
}

/* May the output of the pair be written over its input? Whether the input is wanted afterwards does not count here. */
static int pair_is_free(const decode_pass *pass, const plim_op *op, plim_pair pair, int32_t space,
                        const int32_t *over) {
  const plim_graph *g = pass->graph;
  const int32_t in = g->value[op->in[pair.in]].storage, out = g->value[op->out[pair.out]].storage;
  for (int32_t k = 0; k < op->n_out; k++) {
    if (over[k] == in) return 0;
  }
  if (over[pair.out] >= 0 || g->storage[in].producer < 0 || !plim_op_may_overwrite(g, op, pair)) return 0;
  return *buffer_of(pass, in, space) >= 0 && *buffer_of(pass, out, space) < 0;
}

/* Write outputs over inputs that nothing wants afterwards. over [n_out]: the storage that is overwritten, or -1. */
static void choose_pairs(const decode_pass *pass, const plim_op *op, int32_t space, plim_command *command,
                         int32_t *over) {
  command->n_pairs = 0;
  for (int32_t i = 0; i < op->n_out; i++) over[i] = -1;
  for (int32_t i = 0; i < op->n_pairs; i++) {
    const int32_t in = pass->graph->value[op->in[op->pair[i].in]].storage;
    if (!pair_is_free(pass, op, op->pair[i], space, over) || is_wanted(pass, in, space, pass->now)) continue;
    over[op->pair[i].out] = in;
    command->pair[command->n_pairs++] = op->pair[i];
  }
}

/* Write outputs over inputs that are wanted afterwards, for a run that has no room otherwise. Another space has such an
 * input, or it is copied to one before. */
static void force_pairs(decode_pass *pass, const plim_op *op, int32_t space, plim_command *command, int32_t *over) {
  for (int32_t i = 0; i < op->n_pairs; i++) {
    const int32_t in = pass->graph->value[op->in[op->pair[i].in]].storage;
    if (!pair_is_free(pass, op, op->pair[i], space, over)) continue;
    if (!is_elsewhere(pass, in, space) && !page_out(pass, in, space)) continue;
    over[op->pair[i].out] = in;
    command->pair[command->n_pairs++] = op->pair[i];
  }
}

static int32_t over_of(const plim_graph *g, const plim_op *op, const int32_t *over, int32_t storage) {
  for (int32_t i = 0; i < op->n_out; i++) {
    if (g->value[op->out[i]].storage == storage && over[i] >= 0) return over[i];
  }
  return -1;
}

/* Begin the buffers of the outputs. In a pair the buffer of the input ends, and the output takes its bytes over. */
static void begin_outputs(decode_pass *pass, const plim_op *op, int32_t space, const int32_t *over) {
  for (int32_t i = 0; i < op->n_writes && pass->list->status == PLIM_OK; i++) {
    int32_t s = op->writes[i], in = over_of(pass->graph, op, over, s), old = -1;
    if (pass->graph->storage[s].bytes == 0) continue;
    if (*buffer_of(pass, s, space) < 0) {
      int32_t fresh = plim_command_list_add_buffer(pass->list, s, space, pass->list->n, bytes_of(pass, s), -1);
      if (pass->list->status != PLIM_OK) return;
      if (in >= 0) {
        old = *buffer_of(pass, in, space);
        plim_command_list_overwrite(pass->list, old, fresh);
        close_place(pass, in, space);
      }
      open_place(pass, s, space, fresh);
    }
    plim_command_list_add_use(pass->list, *buffer_of(pass, s, space), 1);
  }
}

static void use_storages(decode_pass *pass, int32_t n, const int32_t *storage, int32_t space, int writes) {
  plim_command_list_add_uses(pass->list, n, storage, buffer_of(pass, 0, space), writes);
  for (int32_t i = 0; i < n; i++) place_of(pass, storage[i], space)->last_use = pass->now;
}

static void pin(decode_pass *pass, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) pass->pinned[storage[i]] = pass->now + 1;
}

static int64_t bytes_to_begin(const decode_pass *pass, const plim_op *op, int32_t space, const int32_t *over) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < op->n_writes; i++) {
    int32_t s = op->writes[i];
    if (*buffer_of(pass, s, space) < 0 && over_of(pass->graph, op, over, s) < 0) bytes += bytes_of(pass, s);
  }
  return bytes;
}

/* The run has updated storages, so their copies in other spaces are stale. */
static void close_stale(decode_pass *pass, const plim_op *op) {
  for (int32_t i = 0; i < op->n_updates; i++) {
    for (int32_t k = 1; k < pass->spaces->n; k++) {
      if (*buffer_of(pass, op->updates[i], k) >= 0) close_place(pass, op->updates[i], k);
    }
  }
}

/* Bring what a run reads to its space, choose its in-place pairs, and make room for its outputs and its workspace.
 * Returns 0 where there is no room. */
static int prepare_run(decode_pass *pass, const plim_op *op, int64_t workspace_bytes, plim_command *command) {
  int32_t space = pass->space[pass->now], *over = pass->over;
  pin(pass, op->n_reads, op->reads);
  pin(pass, op->n_writes, op->writes);
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (!bring(pass, op->reads[i], space)) return 0;
  }
  choose_pairs(pass, op, space, command, over);
  if (make_room(pass, space, bytes_to_begin(pass, op, space, over) + workspace_bytes)) return 1;
  force_pairs(pass, op, space, command, over);
  return make_room(pass, space, bytes_to_begin(pass, op, space, over) + workspace_bytes);
}

/* Add the run pass->now to the list, with the copies that it needs. Returns 0 where there is no room for it. */
static int add_run(decode_pass *pass) {
  plim_command command = pass->runs->plan->command[pass->now];
  const plim_op *op = &pass->graph->op[command.op];
  const plim_variant *variant = &pass->runs->plan->variant[command.variant].variant;
  const int64_t workspace_bytes = plim_align_up(variant->workspace_bytes, PLIM_ALIGN);
  const int32_t space = pass->space[pass->now];
  if (!prepare_run(pass, op, workspace_bytes, &command)) return 0;
  command.space = space;
  command.queue = pass->spaces->run_queue[space];
  use_storages(pass, op->n_reads, op->reads, space, 0);
  begin_outputs(pass, op, space, pass->over);
  use_storages(pass, op->n_updates, op->updates, space, 1);
  for (int32_t i = 0; i < op->n_writes; i++) {
    if (pass->graph->storage[op->writes[i]].bytes > 0) place_of(pass, op->writes[i], space)->last_use = pass->now;
  }
  plim_command_list_add_workspace(pass->list, space, workspace_bytes, -1);
  add_command(pass, &command, variant->time_ns, key_of_run(pass->now));
  for (int32_t k = 0; k < pass->spaces->n; k++) pass->run_peak_bytes[k][pass->now] = pass->live_bytes[k];
  pass->run_peak_bytes[space][pass->now] += workspace_bytes;
  close_stale(pass, op);
  close_unwanted(pass, op->n_reads, op->reads);
  close_unwanted(pass, op->n_writes, op->writes);
  return 1;
}

static void advance_cursors(const decode_pass *pass, const plim_op *op) {
  const int32_t n[] = {op->n_reads, op->n_writes, op->n_updates};
  const int32_t *const list[] = {op->reads, op->writes, op->updates};
  for (int32_t i = 0; i < 3; i++) {
    for (int32_t k = 0; k < n[i]; k++) {
      int32_t s = list[i][k];
      while (pass->cursor[s] < pass->runs->first[s + 1] && pass->runs->access[pass->cursor[s]].run <= pass->now)
        pass->cursor[s]++;
    }
  }
}

/* Persistent storages at the plan's offsets, and inputs, are there from the start. */
static void begin_given(decode_pass *pass) {
  const plim_plan *plan = pass->runs->plan;
  for (int32_t i = 0; i < plan->n_buffers && pass->list->status == PLIM_OK; i++) {
    const plim_plan_buffer *b = &plan->buffer[i];
    if (b->storage < 0 || pass->graph->storage[b->storage].producer >= 0) continue;
    int32_t id = plim_command_list_add_buffer(pass->list, b->storage, 0, -1, b->bytes, b->offset);
    if (pass->list->status != PLIM_OK) return;
    pass->list->buffer[id].stays = plim_role_persistent(pass->graph->storage[b->storage].role);
    open_place(pass, b->storage, 0, id);
  }
}

/* Outputs end in space 0. */
static int hand_over(decode_pass *pass) {
  for (int32_t s = 0; s < pass->graph->n_storages; s++) {
    if (pass->graph->storage[s].role != PLIM_ROLE_OUTPUT || pass->graph->storage[s].bytes == 0) continue;
    if (!bring(pass, s, 0)) return 0;
    if (pass->list->status == PLIM_OK) pass->list->buffer[*buffer_of(pass, s, 0)].stays = 1;
  }
  return 1;
}

/* ---- the whole ---- */

static int decode_runs(decode_pass *pass) {
  begin_given(pass);
  for (pass->now = 0; pass->now < pass->runs->n && pass->list->status == PLIM_OK; pass->now++) {
    if (!add_run(pass)) return 0;
    advance_cursors(pass, &pass->graph->op[pass->runs->plan->command[pass->now].op]);
  }
  return pass->list->status == PLIM_OK && hand_over(pass);
}

static int32_t most_outputs(const plim_graph *g) {
  int32_t most = 0;
  for (int32_t o = 0; o < g->n_ops; o++) {
    if (g->op[o].n_out > most) most = g->op[o].n_out;
  }
  return most;
}

static void lay_out(decode_pass *pass) {
  const int64_t storages = pass->graph->n_storages, places = storages * pass->spaces->n;
  plim_block *b = &pass->block;
  pass->over = plim_block_take(b, most_outputs(pass->graph), sizeof *pass->over);
  pass->place = plim_block_take(b, places, sizeof *pass->place);
  pass->buffer = plim_block_take(b, places, sizeof *pass->buffer);
  pass->cursor = plim_block_take(b, storages, sizeof *pass->cursor);
  pass->pinned = plim_block_take(b, storages, sizeof *pass->pinned);
  pass->stuck = plim_block_take(b, storages, sizeof *pass->stuck);
  for (int32_t k = 0; k < pass->spaces->n; k++) {
    pass->open[k] = plim_block_take(b, storages, sizeof *pass->open[k]);
    pass->run_peak_bytes[k] = plim_block_take(b, (int64_t)pass->runs->n + 1, sizeof *pass->run_peak_bytes[k]);
  }
}

plim_status plim_queue_decode(const plim_queue_runs *runs, const plim_queue_spaces *spaces, const int32_t *space,
                              double noise, plim_random *random, plim_command_list *list, int32_t *fits) {
  plim_context *ctx = runs->ctx;
  decode_pass pass = {.runs = runs,
                      .graph = runs->graph,
                      .spaces = spaces,
                      .space = space,
                      .noise = noise,
                      .random = random,
                      .list = list};
  const int64_t storages = runs->graph->n_storages, places = storages * spaces->n;
  plim_status status;
  *fits = 0;
  lay_out(&pass);
  PLIM_TRY_OR_DONE(plim_block_allocate(ctx, &pass.block));
  lay_out(&pass);
  memset(pass.buffer, -1, (size_t)places * sizeof *pass.buffer);
  for (int64_t i = 0; i < places; i++) pass.place[i] = (queue_place){.last_use = -1};
  memcpy(pass.cursor, runs->first, (size_t)storages * sizeof *pass.cursor);
  *fits = decode_runs(&pass);
  PLIM_TRY_OR_DONE(list->status);
  if (*fits) PLIM_TRY_OR_DONE(plim_command_list_sort(list, pass.key));
done:
  plim_block_release(ctx, &pass.block);
  plim_release(ctx, pass.key, pass.key_capacity, sizeof *pass.key);
  return status;
}
