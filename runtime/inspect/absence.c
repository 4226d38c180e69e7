/* Explains why a storage is absent: when, and what its recomputation costs. The plan is compared with one in which the
 * storage had stayed; absence_room.c finds where that plan exceeds the budget.
 *
 * The cost is that of a tree of runs: the run that recomputes the storage, and the repeats that serve only this run. A
 * repeat belongs to the tree when only runs of the tree read what it writes, until those buffers end. */
#include <string.h>

#include "runtime/inspect/inspect_internal.h"

/* ---- when ---- */

static int32_t first_buffer_after(const plim_inspect *in, int32_t storage, int32_t command) {
  for (int32_t i = in->buffer_first[storage]; i < in->buffer_first[storage + 1]; i++) {
    if (in->plan->buffer[in->buffer[i]].begin > command) return in->buffer[i];
  }
  return PLIM_NONE;
}

static int32_t last_end_before(const plim_inspect *in, int32_t storage, int32_t command) {
  int32_t gone = PLIM_NONE;
  for (int32_t i = in->buffer_first[storage]; i < in->buffer_first[storage + 1]; i++) {
    int32_t end = in->plan->buffer[in->buffer[i]].end;
    if (end <= command && end > gone) gone = end;
  }
  return gone;
}

static int is_resident(const plim_inspect *in, int32_t storage, int32_t command) {
  int32_t buffer = plim_inspect_buffer_at(in, storage, command);
  return buffer >= 0 && command < in->plan->buffer[buffer].end;
}

static void find_gap(const plim_inspect *in, int32_t storage, int32_t command, plim_absence *absence) {
  absence->kind = PLIM_ABSENT_NOT;
  if (is_resident(in, storage, command)) return;
  int32_t next = first_buffer_after(in, storage, command);
  absence->gone = last_end_before(in, storage, command);
  absence->back = next < 0 ? PLIM_NONE : in->plan->buffer[next].begin;
  absence->kind = PLIM_ABSENT_DROPPED;
  if (absence->back < 0) absence->kind = PLIM_ABSENT_DONE;
  if (absence->gone < 0) absence->kind = PLIM_ABSENT_UNMADE;
}

/* ---- what it costs ---- */

typedef struct cause_tree {
  const plim_inspect *in;
  int32_t gone, root;
  unsigned char *depth; /* [n_commands] 0: not in the tree; 255: 255 or more */
} cause_tree;

/* Are all commands that read the outputs of command j, until their lifetimes end, in the tree? */
static int serves_the_tree(const cause_tree *tree, int32_t j) {
  const plim_inspect *in = tree->in;
  const plim_op *op = plim_inspect_op(in, j);
  for (int32_t i = 0; i < op->n_writes; i++) {
    int32_t s = op->writes[i], buffer = plim_inspect_buffer_at(in, s, j);
    int32_t end = buffer < 0 ? j : in->plan->buffer[buffer].end;
    for (int32_t u = plim_inspect_next_use(in, s, j + 1); u >= 0 && u <= end; u = plim_inspect_next_use(in, s, u + 1)) {
      if (!tree->depth[u]) return 0;
    }
  }
  return 1;
}

/* The greatest depth of a run of the tree that reads an output of command j; 0: none does. */
static int reader_depth(const cause_tree *tree, int32_t j) {
  const plim_inspect *in = tree->in;
  const plim_op *op = plim_inspect_op(in, j);
  int deepest = 0;
  for (int32_t i = 0; i < op->n_writes; i++) {
    int32_t s = op->writes[i];
    for (int32_t u = plim_inspect_next_use(in, s, j + 1); u >= 0 && u <= tree->root;
         u = plim_inspect_next_use(in, s, u + 1)) {
      if (tree->depth[u] > deepest) deepest = tree->depth[u];
    }
  }
  return deepest;
}

/* Add up the cost of the tree, from the last run to the first, so that all readers of a command are known before it. */
static void add_cost(cause_tree *tree, plim_absence *absence) {
  const plim_inspect *in = tree->in;
  tree->depth[tree->root] = 1;
  for (int32_t j = tree->root; j >= tree->gone; j--) {
    if (j < tree->root) {
      int depth = plim_inspect_is_repeat(in, j) ? reader_depth(tree, j) : 0;
      if (depth == 0 || !serves_the_tree(tree, j)) continue;
      tree->depth[j] = (unsigned char)(depth < 255 ? depth + 1 : 255);
    }
    absence->again_ns += plim_inspect_time(in, j);
    absence->again_runs++;
    if (tree->depth[j] > absence->again_depth) absence->again_depth = tree->depth[j];
  }
}

/* Another storage that the run at `back` writes and that a later command reads. */
static int32_t sibling_of(const plim_inspect *in, int32_t storage, int32_t back) {
  const plim_op *op = plim_inspect_op(in, back);
  for (int32_t i = 0; i < op->n_writes; i++) {
    int32_t s = op->writes[i], buffer = plim_inspect_buffer_at(in, s, back);
    int begins = buffer >= 0 && in->plan->buffer[buffer].begin == back && in->plan->buffer[buffer].end > back + 1;
    if (s != storage && begins) return s;
  }
  return PLIM_NONE;
}

/* ---- another storage that could have been evicted ---- */

/* Could the op that ran at command `made` run again at `command`? It could when no storage that it reads is updated
 * between. */
static int may_run_at(const plim_inspect *in, const plim_op *op, int32_t made, int32_t command) {
  for (int32_t i = 0; i < op->n_reads; i++) {
    const int32_t update = plim_inspect_next_update(in, op->reads[i], made);
    if (update >= 0 && update < command) return 0;
  }
  return 1;
}

/* The time of an op's first run; PLIM_TIME_INFINITE: it has none. */
static int64_t first_time(const plim_inspect *in, int32_t op) {
  return in->run_of[op] >= 0 ? plim_inspect_time(in, in->run_of[op]) : PLIM_TIME_INFINITE;
}

/* Consider a buffer whose eviction would leave enough room. It must not be read while it is evicted, and be cheaper
 * than the best so far. For live bytes it is evicted at the full command, since there is room until then. For addresses
 * it is evicted from `gone` on. */
static void consider(const plim_inspect *in, const plim_plan_buffer *buffer, plim_absence *absence) {
  int32_t from = absence->breaks == PLIM_BREAKS_BUDGET ? absence->full_command : absence->gone;
  if (buffer->storage < 0 || buffer->begin >= from || buffer->end <= absence->full_command) return;
  if (plim_role_persistent(in->graph->storage[buffer->storage].role)) return;
  int32_t producer = in->graph->storage[buffer->storage].producer;
  int32_t next = plim_inspect_next_use(in, buffer->storage, from);
  if (producer < 0 || plim_op_class_once(in->graph->op[producer].cls) || (next >= 0 && next <= absence->full_command))
    return;
  int64_t time = first_time(in, producer);
  if (absence->other >= 0 && time >= absence->other_ns) return;
  if (!may_run_at(in, &in->graph->op[producer], buffer->begin, next < 0 ? in->plan->n_commands : next)) return;
  absence->other = buffer->storage;
  absence->other_ns = time;
  absence->other_bytes = buffer->bytes;
}

/* Find the cheapest storage to evict instead. For live bytes any buffer that is large enough is considered; for
 * addresses any buffer without which a range is large enough. */
static void find_instead(const plim_inspect *in, int32_t storage, plim_absence *absence) {
  const plim_plan *plan = in->plan;
  plim_room_walk walk = {.last = PLIM_NONE};
  int32_t id;
  for (int32_t i = 0; i < plan->n_buffers && absence->breaks == PLIM_BREAKS_BUDGET; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (buffer->storage != storage && buffer->bytes >= absence->over_bytes) consider(in, buffer, absence);
  }
  while (absence->breaks == PLIM_BREAKS_ADDRESSES && (id = plim_inspect_makes_room(in, storage, absence, &walk)) >= 0) {
    consider(in, &plan->buffer[id], absence);
  }
}

plim_status plim_inspect_absence(const plim_inspect *in, int32_t storage, int32_t command, plim_absence *out) {
  plim_absence absence = {.gone = PLIM_NONE,
                          .back = PLIM_NONE,
                          .full_command = PLIM_NONE,
                          .free_offset = PLIM_NONE,
                          .blocker = PLIM_NONE,
                          .sibling = PLIM_NONE,
                          .other = PLIM_NONE};
  if (storage < 0 || storage >= in->graph->n_storages || command < 0 || command >= in->plan->n_commands) {
    return plim_fail(in->ctx, PLIM_EUSAGE, "storage %d at command %d; there are %d storages and %d commands",
                     (int)storage, (int)command, (int)in->graph->n_storages, (int)in->plan->n_commands);
  }
  find_gap(in, storage, command, &absence);
  if (absence.kind == PLIM_ABSENT_DROPPED) {
    cause_tree tree = {.in = in, .gone = absence.gone, .root = absence.back};
    PLIM_TRY(plim_allocate(in->ctx, in->plan->n_commands, 1, &tree.depth));
    plim_inspect_room(in, storage, &absence);
    find_instead(in, storage, &absence);
    add_cost(&tree, &absence);
    absence.sibling = sibling_of(in, storage, absence.back);
    plim_release(in->ctx, tree.depth, in->plan->n_commands, 1);
  }
  *out = absence;
  return PLIM_OK;
}
