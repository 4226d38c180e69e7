/* Copies a plan over spaces into memory of its own, after the checks without which it could not be read safely. */
#include "runtime/graph/space/space_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/integers.h"

typedef struct own_plan {
  plim_space_plan plan; /* first */
  int64_t block_bytes;
  plim_space_device *device;
  plim_space_memory *space;
  plim_space_queue *queue;
  plim_space_command *command;
  plim_space_buffer *buffer;
  int32_t *ids; /* storages and waits of every command */
} own_plan;

#define PLIM_X(id, name) name,
static const char *const objective_names[] = {PLIM_OBJECTIVES(PLIM_X)};
#undef PLIM_X

#define PLIM_X(id, name) name,
static const char *const class_names[] = {PLIM_SPACE_PLAN_CLASSES(PLIM_X)};
#undef PLIM_X

const char *plim_objective_name(plim_objective objective) {
  return objective >= 0 && objective < PLIM_OBJECTIVE_COUNT ? objective_names[objective] : NULL;
}

int plim_objective_find(const char *name) {
  for (int i = 0; i < PLIM_OBJECTIVE_COUNT; i++) {
    if (strcmp(objective_names[i], name) == 0) return i;
  }
  return PLIM_NONE;
}

const char *plim_space_plan_class_name(plim_space_plan_class plan_class) {
  return plan_class >= 0 && plan_class < PLIM_SPACE_PLAN_CLASS_COUNT ? class_names[plan_class] : NULL;
}

int plim_space_plan_class_find(const char *name) {
  for (int i = 0; i < PLIM_SPACE_PLAN_CLASS_COUNT; i++) {
    if (strcmp(class_names[i], name) == 0) return i;
  }
  return PLIM_NONE;
}

double plim_space_plan_value(const plim_space_plan *p) {
  if (p->objective == PLIM_OBJECTIVE_ENERGY) return p->energy_joule;
  return (double)(p->objective == PLIM_OBJECTIVE_SERIAL ? p->serial_ns : p->makespan_ns);
}

/* ---- form ---- */

static plim_status fail_at(plim_context *ctx, int32_t c, const char *what) {
  return plim_fail(ctx, PLIM_EDATA, "command %d: %s", c, what);
}

static plim_status check_ascending(plim_context *ctx, int32_t c, const char *what, const int32_t *id, int32_t n,
                                   int32_t end) {
  for (int32_t i = 0; i < n; i++) {
    if (id[i] >= 0 && id[i] < end && (i == 0 || id[i] > id[i - 1])) continue;
    return plim_fail(ctx, PLIM_EDATA, "command %d: %s[%d] = %d is not below %d, in ascending order", c, what, i, id[i],
                     end);
  }
  return PLIM_OK;
}

static plim_status check_command(plim_context *ctx, const plim_space_plan *p, int32_t c) {
  const plim_space_command *command = &p->command[c];
  if (command->queue < 0 || command->queue >= p->n_queues) return fail_at(ctx, c, "its queue is none of the plan's");
  if (command->time_ns < 0) return fail_at(ctx, c, "its time is negative");
  if (p->has_energy && !(command->joule >= 0 && isfinite(command->joule))) {
    return fail_at(ctx, c, "its energy is no number >= 0");
  }
  PLIM_TRY(check_ascending(ctx, c, "wait", command->wait, command->n_wait, c));
  if (command->kind == PLIM_SPACE_COMMAND_RUN) {
    if (command->op < 0) return fail_at(ctx, c, "its op is negative");
    if (command->device < 0 || command->device >= p->n_devices) {
      return fail_at(ctx, c, "its device is none of the plan's");
    }
    if (p->queue[command->queue].device != command->device) return fail_at(ctx, c, "its queue is not its device's");
    return PLIM_OK;
  }
  if (command->kind != PLIM_SPACE_COMMAND_COPY) return fail_at(ctx, c, "its kind is none");
  if (p->queue[command->queue].device >= 0) return fail_at(ctx, c, "a copy is on the queue of a device");
  if (command->n_storages < 1) return fail_at(ctx, c, "it copies nothing");
  PLIM_TRY(check_ascending(ctx, c, "copy", command->storage, command->n_storages, INT32_MAX));
  if (command->from < 0 || command->from >= p->n_spaces || command->to < 0 || command->to >= p->n_spaces ||
      command->from == command->to) {
    return fail_at(ctx, c, "its spaces are not two of the plan's");
  }
  return PLIM_OK;
}

static plim_status check_head(plim_context *ctx, const plim_space_plan *p) {
  size_t i = 0;
  while (p->planner[i] >= ' ' && p->planner[i] <= '~') i++;
  if (i == 0 || p->planner[i] != '\0') {
    return plim_fail(ctx, PLIM_EDATA, "planner: a name has 1 to %d printable characters", (int)sizeof p->planner - 1);
  }
  if (plim_space_plan_class_name(p->plan_class)) return PLIM_OK;
  return plim_fail(ctx, PLIM_EDATA, "class: %d is none", (int)p->plan_class);
}

static plim_status check_form(plim_context *ctx, const plim_space_plan *p) {
  PLIM_TRY(check_head(ctx, p));
  for (int32_t d = 0; d < p->n_devices; d++) {
    const plim_space_device *v = &p->device[d];
    if (v->space < 0 || v->space >= p->n_spaces || !(v->idle_watt >= 0 && isfinite(v->idle_watt))) {
      return plim_fail(ctx, PLIM_EDATA, "device %d: space %d, %g W idle", d, v->space, v->idle_watt);
    }
  }
  for (int32_t q = 0; q < p->n_queues; q++) {
    if (p->queue[q].device >= -1 && p->queue[q].device < p->n_devices) continue;
    return plim_fail(ctx, PLIM_EDATA, "queue %d: device %d is none", q, p->queue[q].device);
  }
  for (int32_t c = 0; c < p->n_commands; c++) PLIM_TRY(check_command(ctx, p, c));
  for (int32_t i = 0; i < p->n_buffers; i++) {
    const plim_space_buffer *b = &p->buffer[i];
    if (b->storage >= PLIM_WORKSPACE && b->space >= 0 && b->space < p->n_spaces && b->begin >= 0 && b->begin < b->end &&
        b->end <= p->n_commands && b->bytes >= 0) {
      continue;
    }
    return plim_fail(ctx, PLIM_EDATA, "buffer %d: storage %d in space %d, [%d, %d) of %d commands, %lld bytes", i,
                     b->storage, b->space, b->begin, b->end, p->n_commands, (long long)b->bytes);
  }
  return PLIM_OK;
}

/* ---- memory ---- */

static own_plan *carve(const plim_space_plan *d, int64_t n_ids, plim_block *block, own_plan *own) {
  own_plan *place = plim_block_take(block, 1, sizeof *own);
  own->device = plim_block_take(block, d->n_devices, sizeof *own->device);
  own->space = plim_block_take(block, d->n_spaces, sizeof *own->space);
  own->queue = plim_block_take(block, d->n_queues, sizeof *own->queue);
  own->command = plim_block_take(block, d->n_commands, sizeof *own->command);
  own->buffer = plim_block_take(block, d->n_buffers, sizeof *own->buffer);
  own->ids = plim_block_take(block, n_ids, sizeof *own->ids);
  return place;
}

static int by_begin(const void *a, const void *b) {
  const plim_space_buffer *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->storage != y->storage) return (uint32_t)x->storage < (uint32_t)y->storage ? -1 : 1;
  return plim_integers_compare(x->space, y->space);
}

static void copy_rows(void *to, const void *from, int32_t n, size_t size) {
  if (n > 0) memcpy(to, from, (size_t)n * size);
}

plim_status plim_space_plan_from_parts(plim_context *ctx, const plim_space_plan *d, plim_space_plan **out) {
  own_plan own = {.block_bytes = 0}, *place;
  plim_block block = {NULL, 0};
  int64_t n_ids = 0;
  PLIM_TRY(check_form(ctx, d));
  for (int32_t c = 0; c < d->n_commands; c++) n_ids += (int64_t)d->command[c].n_storages + d->command[c].n_wait;
  (void)carve(d, n_ids, &block, &own);
  PLIM_TRY(plim_block_allocate(ctx, &block));
  place = carve(d, n_ids, &block, &own);
  own.block_bytes = block.bytes;
  copy_rows(own.device, d->device, d->n_devices, sizeof *d->device);
  copy_rows(own.space, d->space, d->n_spaces, sizeof *d->space);
  copy_rows(own.queue, d->queue, d->n_queues, sizeof *d->queue);
  copy_rows(own.command, d->command, d->n_commands, sizeof *d->command);
  copy_rows(own.buffer, d->buffer, d->n_buffers, sizeof *d->buffer);
  int32_t *next = own.ids;
  for (int32_t c = 0; c < d->n_commands; c++) {
    own.command[c].storage = plim_ids_copy(&next, d->command[c].storage, d->command[c].n_storages);
    own.command[c].wait = plim_ids_copy(&next, d->command[c].wait, d->command[c].n_wait);
  }
  qsort(own.buffer, (size_t)d->n_buffers, sizeof *own.buffer, by_begin);
  own.plan = *d;
  own.plan.ctx = ctx;
  own.plan.device = own.device;
  own.plan.space = own.space;
  own.plan.queue = own.queue;
  own.plan.command = own.command;
  own.plan.buffer = own.buffer;
  *place = own;
  *out = &place->plan;
  return PLIM_OK;
}

void plim_space_plan_free(plim_space_plan *plan) {
  own_plan *own = (own_plan *)plan;
  if (own) plim_release(own->plan.ctx, own, own->block_bytes, 1);
}
