/* Finds what each command of a list waits for, and makes the plan. A command waits for what filled the buffers that it
 * reads. It waits for all that touched the buffers that it writes, and for all that touched bytes which its buffers
 * take over. In a serial list it also waits for the command before it. */
#include <string.h>

#include "planner/paging/command_list.h"
#include "planner/spaces/problem/space_sequence.h"

typedef struct wait_pass {
  const plim_command_list *list;
  plim_block block;                     /* memory of all arrays */
  plim_queue_waits queues;              /* by places in the order */
  int32_t (*touched)[PLIM_PLAN_QUEUES]; /* [n_buffers] marks of the last commands that touch it */
  int32_t *written;                     /* [n_buffers] mark of the last command that writes it */
  int32_t *by_first;                    /* [n_buffers] buffers by their first place */
  int32_t *use_first, *use;             /* uses by command */
  int32_t *count;                       /* [n + 2] scratch */
  plim_command *command;                /* [n] of the plan */
  plim_plan_buffer *row;                /* [n_buffers] */
} wait_pass;

static int32_t queue_at(const wait_pass *pass, int32_t place) {
  return pass->list->command[pass->list->order[place]].queue;
}

static int share_bytes(const plim_command_list *list, int32_t a, int32_t b) {
  return list->buffer[a].space == list->buffer[b].space && list->offset[a] < list->offset[b] + list->buffer[b].bytes &&
         list->offset[b] < list->offset[a] + list->buffer[a].bytes;
}

static void need_touched(const wait_pass *pass, int32_t id, int32_t *need) {
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (pass->touched[id][q] > need[q]) need[q] = pass->touched[id][q];
  }
}

/* What the command at place i must follow. */
static void find_needs(const wait_pass *pass, int32_t i, int32_t *next, int32_t *need) {
  const plim_command_list *list = pass->list;
  int32_t c = list->order[i];
  for (; *next < list->n_buffers && list->buffer[pass->by_first[*next]].first <= i; (*next)++) {
    for (int32_t k = 0; k < *next; k++) {
      if (share_bytes(list, pass->by_first[k], pass->by_first[*next])) need_touched(pass, pass->by_first[k], need);
    }
  }
  for (int32_t k = pass->use_first[c]; k < pass->use_first[c + 1]; k++) {
    const plim_command_list_use *u = &list->use[pass->use[k]];
    if (u->writes) {
      need_touched(pass, u->buffer, need);
    } else if (pass->written[u->buffer] > 0) {
      int32_t queue = queue_at(pass, pass->written[u->buffer] - 1);
      if (pass->written[u->buffer] > need[queue]) need[queue] = pass->written[u->buffer];
    }
  }
}

static void set_waits(wait_pass *pass) {
  const plim_command_list *list = pass->list;
  int32_t next = 0;
  for (int32_t i = 0; i < list->n; i++) {
    int32_t c = list->order[i], own = queue_at(pass, i), need[PLIM_PLAN_QUEUES] = {0};
    find_needs(pass, i, &next, need);
    if (list->serial && i > 0) need[queue_at(pass, i - 1)] = i; /* marks count from 1 */
    plim_queue_waits_add(&pass->queues, i, own, need);
    for (int32_t k = pass->use_first[c]; k < pass->use_first[c + 1]; k++) {
      pass->touched[list->use[pass->use[k]].buffer][own] = i + 1;
      if (list->use[pass->use[k]].writes) pass->written[list->use[pass->use[k]].buffer] = i + 1;
    }
  }
}

/* Buffers by their first place, and uses by command: counting sorts. */
static void sort_lists(const wait_pass *pass) {
  const plim_command_list *list = pass->list;
  int32_t *count = pass->count;
  for (int32_t b = 0; b < list->n_buffers; b++) count[list->buffer[b].first + 1]++;
  for (int32_t i = 0; i <= list->n; i++) count[i + 1] += count[i];
  for (int32_t b = 0; b < list->n_buffers; b++) pass->by_first[count[list->buffer[b].first]++] = b;
  for (int32_t u = 0; u < list->n_uses; u++) pass->use_first[list->use[u].command + 1]++;
  for (int32_t c = 0; c <= list->n; c++) pass->use_first[c + 1] += pass->use_first[c];
  memcpy(count, pass->use_first, (size_t)(list->n + 2) * sizeof *count);
  for (int32_t u = 0; u < list->n_uses; u++) pass->use[count[list->use[u].command]++] = u;
}

static plim_status write_plan(const wait_pass *pass, const plim_plan *draft, plim_plan **out) {
  const plim_command_list *list = pass->list;
  plim_plan plan = *draft;
  for (int32_t i = 0; i < list->n; i++) {
    plim_command *command = &pass->command[i];
    *command = list->command[list->order[i]];
    if (command->kind == PLIM_COMMAND_COPY) command->time_ns = list->time_ns[list->order[i]];
    command->n_wait = pass->queues.n_wait[i];
    command->wait = plim_queue_waits_of(&pass->queues, i);
  }
  for (int32_t i = 0; i < list->n_buffers; i++) {
    const plim_command_list_buffer *b = &list->buffer[i];
    pass->row[i] = (plim_plan_buffer){b->storage, b->first, b->last, b->space, list->offset[i], b->bytes};
  }
  plan.n_commands = list->n;
  plan.n_buffers = list->n_buffers;
  plan.command = pass->command;
  plan.buffer = pass->row;
  return plim_plan_from_parts(list->graph, &plan, out);
}

static void lay_out(wait_pass *pass, plim_block *b) {
  const plim_command_list *list = pass->list;
  plim_queue_waits_lay_out(&pass->queues, b, list->n);
  pass->touched = plim_block_take(b, list->n_buffers, sizeof *pass->touched);
  pass->written = plim_block_take(b, list->n_buffers, sizeof *pass->written);
  pass->by_first = plim_block_take(b, list->n_buffers, sizeof *pass->by_first);
  pass->use_first = plim_block_take(b, (int64_t)list->n + 2, sizeof *pass->use_first);
  pass->use = plim_block_take(b, list->n_uses, sizeof *pass->use);
  pass->count = plim_block_take(b, (int64_t)list->n + 2, sizeof *pass->count);
  pass->command = plim_block_take(b, list->n, sizeof *pass->command);
  pass->row = plim_block_take(b, list->n_buffers, sizeof *pass->row);
}

plim_status plim_command_list_plan(const plim_command_list *list, const plim_plan *draft, plim_plan **out) {
  wait_pass pass = {.list = list, .queues = {.n_queues = PLIM_PLAN_QUEUES}};
  lay_out(&pass, &pass.block);
  PLIM_TRY(plim_block_allocate(list->ctx, &pass.block));
  lay_out(&pass, &pass.block);
  sort_lists(&pass);
  set_waits(&pass);
  plim_status status = write_plan(&pass, draft, out);
  plim_block_release(list->ctx, &pass.block);
  return status;
}
