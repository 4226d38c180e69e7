/* What each command of a list waits for, and the plan. A command waits for what filled the buffers that it reads, for
 * all that touched what it writes, and for all that touched the bytes that its buffers begin to use. */
#include <string.h>

#include "planner/paging/command_list.h"
#include "planner/spaces/problem/queue_waits.h"

typedef struct waits {
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
} waits;

static int32_t queue_at(const waits *w, int32_t place) {
  return w->list->command[w->list->order[place]].queue;
}

static int share_bytes(const plim_command_list *l, int32_t a, int32_t b) {
  return l->buffer[a].space == l->buffer[b].space && l->offset[a] < l->offset[b] + l->buffer[b].bytes &&
         l->offset[b] < l->offset[a] + l->buffer[a].bytes;
}

static void need_touched(const waits *w, int32_t id, int32_t *need) {
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (w->touched[id][q] > need[q]) need[q] = w->touched[id][q];
  }
}

/* What the command at place i must follow. */
static void find_needs(const waits *w, int32_t i, int32_t *next, int32_t *need) {
  const plim_command_list *l = w->list;
  int32_t c = l->order[i];
  for (; *next < l->n_buffers && l->buffer[w->by_first[*next]].first <= i; (*next)++) {
    for (int32_t k = 0; k < *next; k++) {
      if (share_bytes(l, w->by_first[k], w->by_first[*next])) need_touched(w, w->by_first[k], need);
    }
  }
  for (int32_t k = w->use_first[c]; k < w->use_first[c + 1]; k++) {
    const plim_command_list_use *u = &l->use[w->use[k]];
    if (u->writes) {
      need_touched(w, u->buffer, need);
    } else if (w->written[u->buffer] > 0) {
      int32_t queue = queue_at(w, w->written[u->buffer] - 1);
      if (w->written[u->buffer] > need[queue]) need[queue] = w->written[u->buffer];
    }
  }
}

static void set_waits(waits *w) {
  const plim_command_list *l = w->list;
  int32_t next = 0;
  for (int32_t i = 0; i < l->n; i++) {
    int32_t c = l->order[i], own = queue_at(w, i), need[PLIM_PLAN_QUEUES] = {0};
    find_needs(w, i, &next, need);
    plim_queue_waits_add(&w->queues, i, own, need);
    for (int32_t k = w->use_first[c]; k < w->use_first[c + 1]; k++) {
      w->touched[l->use[w->use[k]].buffer][own] = i + 1;
      if (l->use[w->use[k]].writes) w->written[l->use[w->use[k]].buffer] = i + 1;
    }
  }
}

/* Buffers by their first place, and uses by command: counting sorts. */
static void sort_lists(const waits *w) {
  const plim_command_list *l = w->list;
  int32_t *count = w->count;
  for (int32_t b = 0; b < l->n_buffers; b++) count[l->buffer[b].first + 1]++;
  for (int32_t i = 0; i <= l->n; i++) count[i + 1] += count[i];
  for (int32_t b = 0; b < l->n_buffers; b++) w->by_first[count[l->buffer[b].first]++] = b;
  for (int32_t u = 0; u < l->n_uses; u++) w->use_first[l->use[u].command + 1]++;
  for (int32_t c = 0; c <= l->n; c++) w->use_first[c + 1] += w->use_first[c];
  memcpy(count, w->use_first, (size_t)(l->n + 2) * sizeof *count);
  for (int32_t u = 0; u < l->n_uses; u++) w->use[count[l->use[u].command]++] = u;
}

static plim_status write_plan(const waits *w, const plim_plan *draft, plim_plan **out) {
  const plim_command_list *l = w->list;
  plim_plan plan = *draft;
  for (int32_t i = 0; i < l->n; i++) {
    plim_command *command = &w->command[i];
    *command = l->command[l->order[i]];
    if (command->kind == PLIM_COMMAND_COPY) command->time_ns = l->time_ns[l->order[i]];
    command->n_wait = w->queues.n_wait[i];
    command->wait = plim_queue_waits_of(&w->queues, i);
  }
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const plim_command_list_buffer *b = &l->buffer[i];
    w->row[i] = (plim_plan_buffer){b->storage, b->first, b->last, b->space, l->offset[i], b->bytes};
  }
  plan.n_commands = l->n;
  plan.n_buffers = l->n_buffers;
  plan.command = w->command;
  plan.buffer = w->row;
  return plim_plan_from_parts(l->graph, &plan, out);
}

static void lay_out(waits *w, plim_block *b) {
  const plim_command_list *l = w->list;
  plim_queue_waits_lay_out(&w->queues, b, l->n);
  w->touched = plim_block_take(b, l->n_buffers, sizeof *w->touched);
  w->written = plim_block_take(b, l->n_buffers, sizeof *w->written);
  w->by_first = plim_block_take(b, l->n_buffers, sizeof *w->by_first);
  w->use_first = plim_block_take(b, (int64_t)l->n + 2, sizeof *w->use_first);
  w->use = plim_block_take(b, l->n_uses, sizeof *w->use);
  w->count = plim_block_take(b, (int64_t)l->n + 2, sizeof *w->count);
  w->command = plim_block_take(b, l->n, sizeof *w->command);
  w->row = plim_block_take(b, l->n_buffers, sizeof *w->row);
}

plim_status plim_command_list_plan(const plim_command_list *l, const plim_plan *draft, plim_plan **out) {
  waits w = {.list = l, .queues = {.n_queues = PLIM_PLAN_QUEUES}};
  lay_out(&w, &w.block);
  PLIM_TRY(plim_block_allocate(l->ctx, &w.block));
  lay_out(&w, &w.block);
  sort_lists(&w);
  set_waits(&w);
  plim_status status = write_plan(&w, draft, out);
  plim_block_release(l->ctx, &w.block);
  return status;
}
