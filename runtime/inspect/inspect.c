/* Answers what is in memory at a command of a plan, and when it is needed next. For that the plan gets an index: two
 * compressed tables of the buffers and the reads of each storage, in the order of commands. */
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

static void index_uses(plim_inspect *in) {
  for (int32_t j = 0; j < in->plan->n_commands; j++) {
    const plim_op *op = plim_inspect_op(in, j);
    for (int32_t i = 0; i < op->n_reads; i++) in->use_first[op->reads[i]]++;
  }
  plim_groups_sum(in->use_first, in->graph->n_storages);
  for (int32_t j = in->plan->n_commands - 1; j >= 0; j--) {
    const plim_op *op = plim_inspect_op(in, j);
    for (int32_t i = 0; i < op->n_reads; i++) in->use[--in->use_first[op->reads[i]]] = j;
  }
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

static plim_status mark_repeats(plim_inspect *in) {
  unsigned char *ran = NULL;
  PLIM_TRY(plim_allocate(in->ctx, in->graph->n_ops, 1, &ran));
  for (int32_t j = 0; j < in->plan->n_commands; j++) {
    in->repeat[j] = ran[in->plan->command[j].op];
    ran[in->plan->command[j].op] = 1;
  }
  plim_release(in->ctx, ran, in->graph->n_ops, 1);
  return PLIM_OK;
}

static plim_status allocate(plim_inspect *in) {
  const plim_plan *plan = in->plan;
  int32_t storages = in->graph->n_storages;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    in->n_use += plim_inspect_op(in, j)->n_reads;
  }
  PLIM_TRY(plim_allocate(in->ctx, plan->n_commands, sizeof *in->live_bytes, &in->live_bytes));
  PLIM_TRY(plim_allocate(in->ctx, plan->n_commands, 1, &in->repeat));
  PLIM_TRY(plim_allocate(in->ctx, storages + 1, sizeof *in->buffer_first, &in->buffer_first));
  PLIM_TRY(plim_allocate(in->ctx, plan->n_buffers, sizeof *in->buffer, &in->buffer));
  PLIM_TRY(plim_allocate(in->ctx, storages + 1, sizeof *in->use_first, &in->use_first));
  return plim_allocate(in->ctx, in->n_use, sizeof *in->use, &in->use);
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
  if (status == PLIM_OK) status = mark_repeats(in);
  if (status == PLIM_OK) status = index_offsets(in);
  if (status != PLIM_OK) {
    plim_inspect_free(in);
    return status;
  }
  index_buffers(in);
  index_uses(in);
  add_live_bytes(in);
  *out = in;
  return PLIM_OK;
}

void plim_inspect_free(plim_inspect *in) {
  if (!in) return;
  plim_release(in->ctx, in->live_bytes, in->plan->n_commands, sizeof *in->live_bytes);
  plim_release(in->ctx, in->repeat, in->plan->n_commands, 1);
  plim_release(in->ctx, in->buffer_first, in->graph->n_storages + 1, sizeof *in->buffer_first);
  plim_release(in->ctx, in->buffer, in->plan->n_buffers, sizeof *in->buffer);
  plim_release(in->ctx, in->by_offset, in->by_offset ? in->plan->n_buffers : 0, sizeof *in->by_offset);
  plim_release(in->ctx, in->use_first, in->graph->n_storages + 1, sizeof *in->use_first);
  plim_release(in->ctx, in->use, in->n_use, sizeof *in->use);
  plim_release(in->ctx, in, 1, sizeof *in);
}

int64_t plim_inspect_live_bytes(const plim_inspect *in, int32_t command) {
  return in->live_bytes[command];
}

int plim_inspect_is_repeat(const plim_inspect *in, int32_t command) {
  return in->repeat[command];
}

const char *plim_inspect_name(const plim_inspect *in, int32_t storage) {
  return plim_graph_storage_name(in->graph, storage, storage < 0 ? "workspace" : "");
}

int32_t plim_inspect_next_use(const plim_inspect *in, int32_t storage, int32_t command) {
  int32_t low = in->use_first[storage], high = in->use_first[storage + 1];
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (in->use[middle] < command) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < in->use_first[storage + 1] ? in->use[low] : PLIM_NONE;
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
