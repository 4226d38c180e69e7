/* Answers what is in memory at a command of a plan, and when it is needed next. For that the plan gets an index:
 * compressed tables of the buffers, the reads and the updates of each storage, in the order of commands. */
#include "runtime/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/groups.h"
#include "runtime/base/integers.h"
#include "runtime/inspect/inspect_internal.h"

const plim_op *plim_inspect_op(const plim_inspect *in, int32_t command) {
  return &in->graph->op[in->plan->command[command].op];
}

int64_t plim_inspect_time(const plim_inspect *in, int32_t command) {
  return in->plan->variant[in->plan->command[command].variant].variant.time_ns;
}

static void index_buffers(plim_inspect *in) {
  const plim_plan *plan = in->plan;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    if (plan->buffer[i].storage >= 0) in->buffer_first[plan->buffer[i].storage]++;
  }
  plim_groups_sum(in->buffer_first, in->graph->n_storages);
  for (int32_t i = plan->n_buffers - 1; i >= 0; i--) { /* buffers are sorted by begin */
    if (plan->buffer[i].storage >= 0) in->buffer[--in->buffer_first[plan->buffer[i].storage]] = i;
  }
}

/* The storages that the op of a command reads, or those that it updates. */
typedef struct storage_list {
  const int32_t *storage;
  int32_t n;
} storage_list;

static storage_list list_of(const plim_inspect *in, int32_t command, int updates) {
  const plim_op *op = plim_inspect_op(in, command);
  return updates ? (storage_list){op->updates, op->n_updates} : (storage_list){op->reads, op->n_reads};
}

static plim_status index_commands(const plim_inspect *in, int updates, plim_storage_commands *out) {
  const int32_t storages = in->graph->n_storages;
  for (int32_t j = 0; j < in->plan->n_commands; j++) out->n += list_of(in, j, updates).n;
  PLIM_TRY(plim_allocate(in->ctx, storages + 1, sizeof *out->first, &out->first));
  PLIM_TRY(plim_allocate(in->ctx, out->n, sizeof *out->command, &out->command));
  for (int32_t j = 0; j < in->plan->n_commands; j++) {
    const storage_list list = list_of(in, j, updates);
    for (int32_t i = 0; i < list.n; i++) out->first[list.storage[i]]++;
  }
  plim_groups_sum(out->first, storages);
  for (int32_t j = in->plan->n_commands - 1; j >= 0; j--) {
    const storage_list list = list_of(in, j, updates);
    for (int32_t i = 0; i < list.n; i++) out->command[--out->first[list.storage[i]]] = j;
  }
  return PLIM_OK;
}

static void free_commands(const plim_inspect *in, plim_storage_commands *list) {
  plim_release(in->ctx, list->first, in->graph->n_storages + 1, sizeof *list->first);
  plim_release(in->ctx, list->command, list->n, sizeof *list->command);
}

/* A row for sorting buffers by offset. */
typedef struct place {
  int64_t offset;
  int32_t buffer;
} place;

static int by_offset(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return plim_integers_compare(x->buffer, y->buffer);
}

static plim_status index_offsets(plim_inspect *in) {
  const plim_plan *plan = in->plan;
  place *row = NULL;
  if (!plan->packed) return PLIM_OK;
  PLIM_TRY(plim_allocate(in->ctx, plan->n_buffers, sizeof *in->by_offset, &in->by_offset));
  PLIM_TRY(plim_allocate(in->ctx, plan->n_buffers, sizeof *row, &row));
  for (int32_t i = 0; i < plan->n_buffers; i++) row[i] = (place){plan->buffer[i].offset, i};
  if (plan->n_buffers > 0) qsort(row, (size_t)plan->n_buffers, sizeof *row, by_offset);
  for (int32_t i = 0; i < plan->n_buffers; i++) in->by_offset[i] = row[i].buffer;
  plim_release(in->ctx, row, plan->n_buffers, sizeof *row);
  return PLIM_OK;
}

/* Find the live bytes of each command: the running sum of buffers that begin minus buffers that end. */
static void add_live_bytes(plim_inspect *in) {
  const plim_plan *plan = in->plan;
  int64_t live = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    in->live_bytes[buffer->begin] += buffer->bytes;
    if (buffer->end < plan->n_commands) in->live_bytes[buffer->end] -= buffer->bytes;
  }
  for (int32_t j = 0; j < plan->n_commands; j++) in->live_bytes[j] = live += in->live_bytes[j];
}

static void index_runs(plim_inspect *in) {
  for (int32_t o = 0; o < in->graph->n_ops; o++) in->run_of[o] = PLIM_NONE;
  for (int32_t j = 0; j < in->plan->n_commands; j++) {
    int32_t *run = &in->run_of[in->plan->command[j].op];
    if (*run == PLIM_NONE) *run = j;
  }
}

static plim_status allocate(plim_inspect *in) {
  const plim_plan *plan = in->plan;
  PLIM_TRY(plim_allocate(in->ctx, plan->n_commands, sizeof *in->live_bytes, &in->live_bytes));
  PLIM_TRY(plim_allocate(in->ctx, in->graph->n_ops, sizeof *in->run_of, &in->run_of));
  PLIM_TRY(plim_allocate(in->ctx, in->graph->n_storages + 1, sizeof *in->buffer_first, &in->buffer_first));
  return plim_allocate(in->ctx, plan->n_buffers, sizeof *in->buffer, &in->buffer);
}

plim_status plim_inspect_new(const plim_graph *graph, const plim_plan *plan, plim_inspect **out) {
  plim_inspect *in = NULL;
  if (strcmp(graph->fingerprint, plan->fingerprint) != 0) {
    return plim_fail(plan->ctx, PLIM_EDATA, "the plan was made for graph %.12s, not for '%s', %.12s", plan->fingerprint,
                     graph->name, graph->fingerprint);
  }
  if (plan->n_page_spaces > 0) {
    return plim_fail(plan->ctx, PLIM_EUNSUPPORTED,
                     "the plan has buffers in %d other spaces: inspect it as a plan over spaces",
                     (int)plan->n_page_spaces);
  }
  PLIM_TRY(plim_allocate(plan->ctx, 1, sizeof *in, &in));
  in->ctx = plan->ctx;
  in->graph = graph;
  in->plan = plan;
  plim_status status = allocate(in);
  if (status == PLIM_OK) status = index_commands(in, 0, &in->reads);
  if (status == PLIM_OK) status = index_commands(in, 1, &in->updates);
  if (status == PLIM_OK) status = index_offsets(in);
  if (status != PLIM_OK) {
    plim_inspect_free(in);
    return status;
  }
  index_buffers(in);
  index_runs(in);
  add_live_bytes(in);
  *out = in;
  return PLIM_OK;
}

void plim_inspect_free(plim_inspect *in) {
  if (!in) return;
  plim_release(in->ctx, in->live_bytes, in->plan->n_commands, sizeof *in->live_bytes);
  plim_release(in->ctx, in->run_of, in->graph->n_ops, sizeof *in->run_of);
  plim_release(in->ctx, in->buffer_first, in->graph->n_storages + 1, sizeof *in->buffer_first);
  plim_release(in->ctx, in->buffer, in->plan->n_buffers, sizeof *in->buffer);
  plim_release(in->ctx, in->by_offset, in->by_offset ? in->plan->n_buffers : 0, sizeof *in->by_offset);
  free_commands(in, &in->reads);
  free_commands(in, &in->updates);
  plim_release(in->ctx, in, 1, sizeof *in);
}

int64_t plim_inspect_live_bytes(const plim_inspect *in, int32_t command) {
  return in->live_bytes[command];
}

int plim_inspect_is_repeat(const plim_inspect *in, int32_t command) {
  return in->run_of[in->plan->command[command].op] < command;
}

const char *plim_inspect_name(const plim_inspect *in, int32_t storage) {
  return plim_graph_storage_name(in->graph, storage, storage < 0 ? "workspace" : "");
}

/* The first command at or after `command` in the list of a storage, or PLIM_NONE. */
static int32_t next_in(const plim_storage_commands *list, int32_t storage, int32_t command) {
  int32_t low = list->first[storage], high = list->first[storage + 1];
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (list->command[middle] < command) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < list->first[storage + 1] ? list->command[low] : PLIM_NONE;
}

int32_t plim_inspect_next_use(const plim_inspect *in, int32_t storage, int32_t command) {
  return next_in(&in->reads, storage, command);
}

int32_t plim_inspect_next_update(const plim_inspect *in, int32_t storage, int32_t command) {
  return next_in(&in->updates, storage, command);
}

int32_t plim_inspect_buffer_at(const plim_inspect *in, int32_t storage, int32_t command) {
  int32_t found = PLIM_NONE;
  for (int32_t i = in->buffer_first[storage]; i < in->buffer_first[storage + 1]; i++) {
    const plim_plan_buffer *buffer = &in->plan->buffer[in->buffer[i]];
    if (buffer->begin <= command && command <= buffer->end && (command < buffer->end || found < 0)) {
      found = in->buffer[i];
    }
  }
  return found;
}

int32_t plim_inspect_residents(const plim_inspect *in, int32_t command, plim_resident *out, int32_t capacity) {
  const plim_plan *plan = in->plan;
  int32_t n = 0, written = 0;
  for (int32_t i = 0; i < plan->n_buffers && plan->buffer[i].begin <= command; i++) {
    const plim_plan_buffer *buffer = &plan->buffer[i];
    if (buffer->end <= command) continue;
    n++;
    if (written == capacity) continue;
    int32_t next = buffer->storage < 0 ? command : plim_inspect_next_use(in, buffer->storage, command), at = written++;
    /* insertion sort: a network has a few hundred residents */
    for (; at > 0 && plan->buffer[out[at - 1].buffer].offset > buffer->offset; at--) out[at] = out[at - 1];
    out[at] = (plim_resident){i, buffer->storage, next < 0 || next > buffer->end ? PLIM_NONE : next};
  }
  return n;
}
