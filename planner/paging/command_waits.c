/* What each command of a list waits for, and the plan. A command waits for what filled the buffers that it reads, for
 * all that touched what it writes, and for all that touched the bytes that its buffers begin to use; less what follows
 * already from the order of its queue and from other waits. */
#include <string.h>
#include "planner/paging/command_list.h"

typedef struct waits {
  const plim_command_list *list;
  int32_t (*touched)[PLIM_PLAN_QUEUES]; /* [n_buffers] place + 1 of the last command that touches it */
  int32_t *written;                     /* [n_buffers] place + 1 of the last command that writes it */
  int32_t (*seen)[PLIM_PLAN_QUEUES];    /* [n] place + 1 of the last command of each queue that ends before it begins */
  int32_t *wait;                        /* [n][queues] */
  int32_t *n_wait;                      /* [n] */
  int32_t *by_first;                    /* [n_buffers] buffers by their first place */
  int32_t *use_first, *use;             /* uses by command */
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

/* Waits of place i for the places in `need`, ascending. */
static void add_waits(const waits *w, int32_t i, const int32_t *need) {
  int32_t own = queue_at(w, i), *seen = w->seen[i], *list = w->wait + (int64_t)i * PLIM_PLAN_QUEUES;
  w->n_wait[i] = 0;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (q == own || need[q] <= seen[q]) continue;
    int32_t earlier = need[q] - 1, at = w->n_wait[i]++;
    for (; at > 0 && list[at - 1] > earlier; at--) list[at] = list[at - 1];
    list[at] = earlier;
    seen[q] = need[q];
  }
  for (int32_t k = 0; k < w->n_wait[i]; k++) {
    const int32_t *of = w->seen[list[k]];
    for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) seen[q] = of[q] > seen[q] ? of[q] : seen[q];
  }
}

static void set_waits(const waits *w) {
  const plim_command_list *l = w->list;
  int32_t last[PLIM_PLAN_QUEUES] = {0}, next = 0; /* last: place + 1 */
  for (int32_t i = 0; i < l->n; i++) {
    int32_t c = l->order[i], own = queue_at(w, i), need[PLIM_PLAN_QUEUES] = {0}, *seen = w->seen[i];
    if (last[own] > 0) memcpy(seen, w->seen[last[own] - 1], sizeof *w->seen);
    seen[own] = last[own];
    find_needs(w, i, &next, need);
    add_waits(w, i, need);
    for (int32_t k = w->use_first[c]; k < w->use_first[c + 1]; k++) {
      w->touched[l->use[w->use[k]].buffer][own] = i + 1;
      if (l->use[w->use[k]].writes) w->written[l->use[w->use[k]].buffer] = i + 1;
    }
    last[own] = i + 1;
  }
}

/* Buffers by their first place, and uses by command: counting sorts. count [n + 2] is scratch. */
static void sort_lists(const waits *w, int32_t *count) {
  const plim_command_list *l = w->list;
  for (int32_t b = 0; b < l->n_buffers; b++) count[l->buffer[b].first + 1]++;
  for (int32_t i = 0; i <= l->n; i++) count[i + 1] += count[i];
  for (int32_t b = 0; b < l->n_buffers; b++) w->by_first[count[l->buffer[b].first]++] = b;
  for (int32_t u = 0; u < l->n_uses; u++) w->use_first[l->use[u].command + 1]++;
  for (int32_t c = 0; c <= l->n; c++) w->use_first[c + 1] += w->use_first[c];
  memcpy(count, w->use_first, (size_t)(l->n + 2) * sizeof *count);
  for (int32_t u = 0; u < l->n_uses; u++) w->use[count[l->use[u].command]++] = u;
}

static plim_status write_plan(const waits *w, const plim_plan *draft, plim_command *command, plim_plan_buffer *row,
                              plim_plan **out) {
  const plim_command_list *l = w->list;
  plim_plan plan = *draft;
  for (int32_t i = 0; i < l->n; i++) {
    command[i] = l->command[l->order[i]];
    if (command[i].kind == PLIM_COMMAND_COPY) command[i].time_ns = l->time_ns[l->order[i]];
    command[i].n_wait = w->n_wait[i];
    command[i].wait = w->wait + (int64_t)i * PLIM_PLAN_QUEUES;
  }
  for (int32_t i = 0; i < l->n_buffers; i++) {
    const plim_command_list_buffer *b = &l->buffer[i];
    row[i] = (plim_plan_buffer){b->storage, b->first, b->last, b->space, l->offset[i], b->bytes};
  }
  plan.n_commands = l->n;
  plan.n_buffers = l->n_buffers;
  plan.command = command;
  plan.buffer = row;
  return plim_plan_from_parts(l->graph, &plan, out);
}

plim_status plim_command_list_plan(const plim_command_list *l, const plim_plan *draft, plim_plan **out) {
  plim_context *ctx = l->ctx;
  waits w = {.list = l};
  plim_command *command = NULL;
  plim_plan_buffer *row = NULL;
  int32_t *count = NULL;
  int64_t n = l->n;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *w.touched, &w.touched));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *w.written, &w.written));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *w.seen, &w.seen));
  PLIM_CHECK(plim_allocate(ctx, n * PLIM_PLAN_QUEUES, sizeof *w.wait, &w.wait));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *w.n_wait, &w.n_wait));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *w.by_first, &w.by_first));
  PLIM_CHECK(plim_allocate(ctx, n + 2, sizeof *w.use_first, &w.use_first));
  PLIM_CHECK(plim_allocate(ctx, l->n_uses, sizeof *w.use, &w.use));
  PLIM_CHECK(plim_allocate(ctx, n + 2, sizeof *count, &count));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *command, &command));
  PLIM_CHECK(plim_allocate(ctx, l->n_buffers, sizeof *row, &row));
  sort_lists(&w, count);
  set_waits(&w);
  PLIM_CHECK(write_plan(&w, draft, command, row, out));
done:
  plim_release(ctx, w.touched, l->n_buffers, sizeof *w.touched);
  plim_release(ctx, w.written, l->n_buffers, sizeof *w.written);
  plim_release(ctx, w.seen, n, sizeof *w.seen);
  plim_release(ctx, w.wait, n * PLIM_PLAN_QUEUES, sizeof *w.wait);
  plim_release(ctx, w.n_wait, n, sizeof *w.n_wait);
  plim_release(ctx, w.by_first, l->n_buffers, sizeof *w.by_first);
  plim_release(ctx, w.use_first, n + 2, sizeof *w.use_first);
  plim_release(ctx, w.use, l->n_uses, sizeof *w.use);
  plim_release(ctx, count, n + 2, sizeof *count);
  plim_release(ctx, command, n, sizeof *command);
  plim_release(ctx, row, l->n_buffers, sizeof *row);
  return status;
}
