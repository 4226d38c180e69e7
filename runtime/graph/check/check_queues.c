/* Queues: commands that use the same bytes, one of them to write, must be ordered by queues and waits as in the list.
 * The parts before have proved that the list computes the graph when its commands run one after another. With this
 * order every execution gives each command the same bytes as the list.
 *
 * clock [n_commands][queues] says how many commands of each queue have ended before a command starts, so that "a before
 * b" is one comparison. The walk keeps for each buffer its last writer and, by queue, the last command that uses it. A
 * command that begins a buffer must follow all commands that use earlier buffers with the same bytes. */
#include "runtime/graph/check/check_internal.h"

typedef struct walk {
  const plim_checker *check;
  int32_t (*clock)[PLIM_PLAN_QUEUES];   /* [n_commands] */
  int32_t (*touched)[PLIM_PLAN_QUEUES]; /* [n_buffers] place of the last command that uses it; 0: none */
  int32_t *place;                       /* [n_commands] index in its queue, from 1 */
  int32_t *writer; /* [n_buffers] the last command that wrote it, PLIM_NONE: it was filled before */
  int32_t *latest; /* [spaces][n_storages] buffer that began last */
  int32_t next;    /* first buffer, by begin, that has not begun */
} walk;

static int32_t *latest_of(const walk *w, int32_t storage, int32_t space) {
  return &w->latest[(int64_t)space * w->check->graph->n_storages + storage];
}

static void set_clocks(const walk *w) {
  const plim_plan *plan = w->check->plan;
  int32_t last[PLIM_PLAN_QUEUES] = {0}; /* + 1 */
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int32_t before = last[command->queue] - 1;
    w->place[j] = before < 0 ? 1 : w->place[before] + 1;
    for (int32_t i = -1; i < command->n_wait; i++) {
      int32_t earlier = i < 0 ? before : command->wait[i];
      if (earlier < 0) continue;
      for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
        int32_t seen = q == plan->command[earlier].queue ? w->place[earlier] : w->clock[earlier][q];
        if (seen > w->clock[j][q]) w->clock[j][q] = seen;
      }
    }
    last[command->queue] = j + 1;
  }
}

/* Have all commands that use the buffer ended whenever command j starts? Those of its own queue have. */
static int all_ended(const walk *w, int32_t buffer, int32_t j) {
  int32_t own = w->check->plan->command[j].queue;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (q != own && w->touched[buffer][q] > w->clock[j][q]) return 0;
  }
  return 1;
}

static plim_status touch(const walk *w, int32_t j, int32_t buffer, int writes) {
  const plim_plan *plan = w->check->plan;
  int32_t queue = plan->command[j].queue, writer = w->writer[buffer];
  if (writer >= 0 && writer != j && plan->command[writer].queue != queue &&
      w->clock[j][plan->command[writer].queue] < w->place[writer]) {
    return plim_check_fault(w->check, j, "uses \"%s\", and command %d, which fills its buffer, need not have ended",
                            plim_check_storage_name(w->check, plan->buffer[buffer].storage), writer);
  }
  if (writes && !all_ended(w, buffer, j)) {
    return plim_check_fault(w->check, j, "writes \"%s\", and a command that uses it need not have ended",
                            plim_check_storage_name(w->check, plan->buffer[buffer].storage));
  }
  if (writes) w->writer[buffer] = j;
  w->touched[buffer][queue] = w->place[j];
  return PLIM_OK;
}

static int overlap(const plim_plan_buffer *a, const plim_plan_buffer *b) {
  return a->space == b->space && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Begin the buffers of command j. Their bytes may be those of earlier buffers, whose commands must have ended. */
static plim_status begin_buffers(walk *w, int32_t j) {
  const plim_plan *plan = w->check->plan;
  for (; w->next < plan->n_buffers && plan->buffer[w->next].begin <= j; w->next++) {
    const plim_plan_buffer *fresh = &plan->buffer[w->next];
    for (int32_t i = 0; i < w->next; i++) {
      if (all_ended(w, i, j) || !overlap(&plan->buffer[i], fresh)) continue;
      return plim_check_fault(w->check, j, "takes bytes of \"%s\", which a command of another queue may still use",
                              plim_check_storage_name(w->check, plan->buffer[i].storage));
    }
    w->writer[w->next] = PLIM_NONE;
    if (fresh->storage < 0) {
      PLIM_TRY(touch(w, j, w->next, 1));
    } else {
      *latest_of(w, fresh->storage, fresh->space) = w->next;
    }
  }
  return PLIM_OK;
}

static plim_status touch_storages(const walk *w, int32_t j, int32_t n, const int32_t *storage, int writes) {
  for (int32_t i = 0; i < n; i++) {
    int32_t buffer = *latest_of(w, storage[i], w->check->plan->command[j].space);
    if (buffer >= 0) PLIM_TRY(touch(w, j, buffer, writes)); /* none: a storage without bytes */
  }
  return PLIM_OK;
}

static plim_status use_operands(const walk *w, int32_t j) {
  const plim_command *command = &w->check->plan->command[j];
  if (command->kind == PLIM_COMMAND_COPY) {
    PLIM_TRY(touch(w, j, *latest_of(w, command->storage, command->from), 0));
    return touch(w, j, *latest_of(w, command->storage, command->to), 1);
  }
  const plim_op *op = &w->check->graph->op[command->op];
  PLIM_TRY(touch_storages(w, j, op->n_reads, op->reads, 0));
  PLIM_TRY(touch_storages(w, j, op->n_writes, op->writes, 1));
  return touch_storages(w, j, op->n_updates, op->updates, 1);
}

plim_status plim_check_queues(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  walk w = {.check = check};
  int64_t keys = plim_mul_checked(check->graph->n_storages, plan->n_page_spaces + 1);
  plim_status status;
  if (plan->n_page_spaces == 0) return PLIM_OK; /* one queue */
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_commands, sizeof *w.clock, &w.clock));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_buffers, sizeof *w.touched, &w.touched));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_commands, sizeof *w.place, &w.place));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, plan->n_buffers, sizeof *w.writer, &w.writer));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, keys, sizeof *w.latest, &w.latest));
  for (int64_t k = 0; k < keys; k++) w.latest[k] = PLIM_NONE;
  set_clocks(&w);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    PLIM_TRY_OR_DONE(begin_buffers(&w, j));
    PLIM_TRY_OR_DONE(use_operands(&w, j));
  }
done:
  plim_release(check->ctx, w.clock, plan->n_commands, sizeof *w.clock);
  plim_release(check->ctx, w.touched, plan->n_buffers, sizeof *w.touched);
  plim_release(check->ctx, w.place, plan->n_commands, sizeof *w.place);
  plim_release(check->ctx, w.writer, plan->n_buffers, sizeof *w.writer);
  plim_release(check->ctx, w.latest, keys, sizeof *w.latest);
  return status;
}
