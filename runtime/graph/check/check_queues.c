/* Queues: commands that use the same bytes, one of them to write, must be ordered by queues and waits as in the list.
 * The parts before have proved that the list computes the graph when its commands run one after another. With this
 * order every execution gives each command the same bytes as the list.
 *
 * clock [n_commands][queues] says how many commands of each queue have ended before a command starts, so that "a before
 * b" is one comparison. The walk keeps for each buffer its last writer and, by queue, the last command that uses it. A
 * command that begins a buffer must follow all commands that use earlier buffers with the same bytes.
 *
 * The checker of plans over spaces (graph/space/space_check.c) keeps such clocks too, for any number of queues. The two
 * share no code, so that one mistake cannot let wrong plans through both. */
#include "runtime/graph/check/check_internal.h"

typedef struct queue_walk {
  const plim_checker *check;
  int32_t (*clock)[PLIM_PLAN_QUEUES];   /* [n_commands] */
  int32_t (*touched)[PLIM_PLAN_QUEUES]; /* [n_buffers] place of the last command that uses it; 0: none */
  int32_t *place;                       /* [n_commands] index in its queue, from 1 */
  int32_t *writer; /* [n_buffers] the last command that wrote it, PLIM_NONE: it was filled before */
  int32_t *latest; /* [spaces][n_storages] buffer that began last */
  int32_t next;    /* first buffer, by begin, that has not begun */
} queue_walk;

static int32_t *latest_of(const queue_walk *walk, int32_t storage, int32_t space) {
  return &walk->latest[(int64_t)space * walk->check->graph->n_storages + storage];
}

static void set_clocks(const queue_walk *walk) {
  const plim_plan *plan = walk->check->plan;
  int32_t last[PLIM_PLAN_QUEUES] = {0}; /* + 1 */
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int32_t before = last[command->queue] - 1;
    walk->place[j] = before < 0 ? 1 : walk->place[before] + 1;
    for (int32_t i = -1; i < command->n_wait; i++) {
      int32_t earlier = i < 0 ? before : command->wait[i];
      if (earlier < 0) continue;
      for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
        int32_t seen = q == plan->command[earlier].queue ? walk->place[earlier] : walk->clock[earlier][q];
        if (seen > walk->clock[j][q]) walk->clock[j][q] = seen;
      }
    }
    last[command->queue] = j + 1;
  }
}

/* Have all commands that use the buffer ended whenever command j starts? Those of its own queue have. */
static int all_ended(const queue_walk *walk, int32_t buffer, int32_t j) {
  int32_t own = walk->check->plan->command[j].queue;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (q != own && walk->touched[buffer][q] > walk->clock[j][q]) return 0;
  }
  return 1;
}

static plim_status touch(const queue_walk *walk, int32_t j, int32_t buffer, int writes) {
  const plim_plan *plan = walk->check->plan;
  int32_t queue = plan->command[j].queue, writer = walk->writer[buffer];
  if (writer >= 0 && writer != j && plan->command[writer].queue != queue &&
      walk->clock[j][plan->command[writer].queue] < walk->place[writer]) {
    return plim_check_fault(walk->check, j, "uses \"%s\", and command %d, which fills its buffer, need not have ended",
                            plim_check_storage_name(walk->check, plan->buffer[buffer].storage), writer);
  }
  if (writes && !all_ended(walk, buffer, j)) {
    return plim_check_fault(walk->check, j, "writes \"%s\", and a command that uses it need not have ended",
                            plim_check_storage_name(walk->check, plan->buffer[buffer].storage));
  }
  if (writes) walk->writer[buffer] = j;
  walk->touched[buffer][queue] = walk->place[j];
  return PLIM_OK;
}

static int overlap(const plim_plan_buffer *a, const plim_plan_buffer *b) {
  return a->space == b->space && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Begin the buffers of command j. Their bytes may be those of earlier buffers, whose commands must have ended. */
static plim_status begin_buffers(queue_walk *walk, int32_t j) {
  const plim_plan *plan = walk->check->plan;
  for (; walk->next < plan->n_buffers && plan->buffer[walk->next].begin <= j; walk->next++) {
    const plim_plan_buffer *fresh = &plan->buffer[walk->next];
    for (int32_t i = 0; i < walk->next; i++) {
      if (all_ended(walk, i, j) || !overlap(&plan->buffer[i], fresh)) continue;
      return plim_check_fault(walk->check, j, "takes bytes of \"%s\", which a command of another queue may still use",
                              plim_check_storage_name(walk->check, plan->buffer[i].storage));
    }
    walk->writer[walk->next] = PLIM_NONE;
    if (fresh->storage < 0) {
      PLIM_TRY(touch(walk, j, walk->next, 1));
    } else {
      *latest_of(walk, fresh->storage, fresh->space) = walk->next;
    }
  }
  return PLIM_OK;
}

static plim_status touch_storages(const queue_walk *walk, int32_t j, int32_t n, const int32_t *storage, int writes) {
  for (int32_t i = 0; i < n; i++) {
    int32_t buffer = *latest_of(walk, storage[i], walk->check->plan->command[j].space);
    if (buffer >= 0) PLIM_TRY(touch(walk, j, buffer, writes)); /* none: a storage without bytes */
  }
  return PLIM_OK;
}

static plim_status use_operands(const queue_walk *walk, int32_t j) {
  const plim_command *command = &walk->check->plan->command[j];
  if (command->kind == PLIM_COMMAND_COPY) {
    PLIM_TRY(touch(walk, j, *latest_of(walk, command->storage, command->from), 0));
    return touch(walk, j, *latest_of(walk, command->storage, command->to), 1);
  }
  const plim_op *op = &walk->check->graph->op[command->op];
  PLIM_TRY(touch_storages(walk, j, op->n_reads, op->reads, 0));
  PLIM_TRY(touch_storages(walk, j, op->n_writes, op->writes, 1));
  return touch_storages(walk, j, op->n_updates, op->updates, 1);
}

plim_status plim_check_queues(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  queue_walk walk = {.check = check};
  int64_t keys = plim_mul_checked(check->graph->n_storages, plan->n_page_spaces + 1);
  plim_status status;
  if (plan->n_page_spaces == 0) return PLIM_OK; /* one queue */
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_commands, sizeof *walk.clock, &walk.clock));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_buffers, sizeof *walk.touched, &walk.touched));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_commands, sizeof *walk.place, &walk.place));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_buffers, sizeof *walk.writer, &walk.writer));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, keys, sizeof *walk.latest, &walk.latest));
  for (int64_t k = 0; k < keys; k++) walk.latest[k] = PLIM_NONE;
  set_clocks(&walk);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    PLIM_TRY_OR_DONE(begin_buffers(&walk, j));
    PLIM_TRY_OR_DONE(use_operands(&walk, j));
  }
done:
  plim_release(check->ctx, walk.clock, plan->n_commands, sizeof *walk.clock);
  plim_release(check->ctx, walk.touched, plan->n_buffers, sizeof *walk.touched);
  plim_release(check->ctx, walk.place, plan->n_commands, sizeof *walk.place);
  plim_release(check->ctx, walk.writer, plan->n_buffers, sizeof *walk.writer);
  plim_release(check->ctx, walk.latest, keys, sizeof *walk.latest);
  return status;
}
