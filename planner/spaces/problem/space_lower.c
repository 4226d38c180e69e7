/* Turns a sequence into a plan: commands with waits, buffers, figures. The sequence is walked three times: forward for
 * what each event opens and reads, backward for what is needed, forward again for commands, buffers and waits.
 *
 * Waits: a command follows what filled the buffers that it reads and, in the space that it fills, everything that
 * touched a buffer that ended before it in the sequence. So at whatever speed the queues run, the buffers that live at
 * one moment are some of those that live at one command, and the peak over commands holds.
 *
 * Example: the budget is 8 bytes; outputs have 4, that of d none. The events are run a, run b(a), copy a out, drop a,
 * run c(b), copy a in, run d(a, c). The run of c reuses the bytes of a, so it waits for the copy out. The copy in waits
 * for the copy out, which fills what it reads, and for the run of c, the last to touch b. d waits for the copy in.
 *
 * planner/paging/joint_list.c lowers sequences of a training step, and says how it differs. */
#include "planner/spaces/problem/space_sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/integers.h"

/* A buffer of the sequence. */
typedef struct open_buffer {
  int32_t node, space;
  int32_t filler, last; /* events: the one that fills it, the last needed one that touches it */
  int32_t drop;         /* event that drops it, INT32_MAX: none */
  int32_t needed, copied;
  int32_t workspace; /* 1: of its filler, a run, whose output is the buffer before it */
} open_buffer;

typedef struct lower_pass {
  plim_context *ctx;
  const plim_space_problem *problem;
  const plim_space_events *events;
  int64_t n_events;
  int32_t n_queues;
  int32_t *link_queue; /* [n_links] */
  int32_t *open;       /* [n_spaces][n] index of the open buffer + 1 */
  int32_t *filled;     /* [n_events] index of the buffer that the event fills, -1 */
  int32_t *first_read; /* [n_events + 1] into read */
  int32_t *read;       /* buffers that the events read */
  int64_t n_read, read_capacity;
  open_buffer *buffer;
  int64_t n_buffers, buffer_capacity;
  int32_t *ran;         /* [n] event of the first run + 1 */
  int32_t *command_of;  /* [n_events + 1] commands before the event */
  plim_space_plan plan; /* being made */
  plim_space_device *device;
  plim_space_memory *space;
  plim_space_queue *queue;
  plim_space_command *command; /* [n_events] */
  plim_space_buffer *row;      /* [n_buffers] */
  int32_t *storage;            /* [n_events] of all copies */
  int64_t n_storages;
  plim_queue_waits waits;
  int32_t *touched;                /* [n_buffers][n_queues] mark of the last command that touches the buffer */
  int32_t *released;               /* [n_spaces][n_queues] marks of what touched buffers that have ended */
  int32_t *need;                   /* [n_queues] scratch */
  plim_block of_walk, of_commands; /* memory of the arrays above, but read and buffer */
} lower_pass;

/* ---- forward: buffers ---- */

static int32_t *open_of(const lower_pass *pass, int32_t space, int32_t node) {
  return &pass->open[(int64_t)space * pass->problem->n + node];
}

static plim_status fill(lower_pass *pass, int32_t e, int32_t node, int32_t space) {
  PLIM_TRY(
      plim_array_reserve(pass->ctx, &pass->buffer, &pass->buffer_capacity, pass->n_buffers + 1, sizeof *pass->buffer));
  pass->buffer[pass->n_buffers] =
      (open_buffer){.node = node, .space = space, .filler = e, .last = e, .drop = INT32_MAX};
  pass->filled[e] = (int32_t)pass->n_buffers;
  *open_of(pass, space, node) = (int32_t)++pass->n_buffers;
  return PLIM_OK;
}

/* The workspace of the run whose output was added last. */
static plim_status add_workspace(lower_pass *pass) {
  PLIM_TRY(
      plim_array_reserve(pass->ctx, &pass->buffer, &pass->buffer_capacity, pass->n_buffers + 1, sizeof *pass->buffer));
  pass->buffer[pass->n_buffers] = pass->buffer[pass->n_buffers - 1];
  pass->buffer[pass->n_buffers++].workspace = 1;
  return PLIM_OK;
}

/* Is event e a run with a workspace? */
static int has_workspace(const lower_pass *pass, int32_t e) {
  const plim_space_event *v = &pass->events->event[e];
  return v->kind == PLIM_SPACE_RUN && pass->problem->node[v->node].workspace > 0;
}

static plim_status note_read(lower_pass *pass, int32_t e, int32_t node, int32_t space) {
  int32_t open = *open_of(pass, space, node);
  if (open == 0) {
    return plim_fail(pass->ctx, PLIM_EPLAN, "event %d reads the output of op %d, which is not in space %d", e, node,
                     space);
  }
  PLIM_TRY(plim_array_reserve(pass->ctx, &pass->read, &pass->read_capacity, pass->n_read + 1, sizeof *pass->read));
  pass->read[pass->n_read++] = open - 1;
  return PLIM_OK;
}

/* A copy joins the one before it where both take one link, whose latency one command pays once. */
static plim_status need_partner(const lower_pass *pass, int32_t e) {
  const plim_space_event *v = &pass->events->event[e], *before = e > 0 ? v - 1 : NULL;
  int follows = before && (before->kind == PLIM_SPACE_COPY || before->kind == PLIM_SPACE_JOIN) && before->at == v->at;
  if (follows && plim_space_can_join(pass->problem, v->node, v->at) &&
      plim_space_can_join(pass->problem, before->node, v->at)) {
    return PLIM_OK;
  }
  return plim_fail(pass->ctx, PLIM_EPLAN, "event %d copies the output of op %d with a copy that it cannot join", e,
                   v->node);
}

static plim_status walk_event(lower_pass *pass, int32_t e) {
  const plim_space_event *v = &pass->events->event[e];
  const plim_platform *platform = pass->problem->platform;
  if (v->kind == PLIM_SPACE_JOIN) PLIM_TRY(need_partner(pass, e));
  if (v->kind == PLIM_SPACE_DROP) {
    int32_t *open = open_of(pass, v->at, v->node);
    if (*open > 0) pass->buffer[*open - 1].drop = e;
    *open = 0;
    return PLIM_OK;
  }
  int32_t to = v->kind == PLIM_SPACE_RUN ? platform->device[v->at].space : platform->link[v->at].to;
  if (*open_of(pass, to, v->node) > 0) return PLIM_OK;
  if (v->kind != PLIM_SPACE_RUN) {
    PLIM_TRY(note_read(pass, e, v->node, platform->link[v->at].from));
  } else {
    const plim_space_node *node = &pass->problem->node[v->node];
    for (int32_t i = 0; i < node->n_preds; i++) PLIM_TRY(note_read(pass, e, node->pred[i], to));
    if (pass->ran[v->node] == 0) pass->ran[v->node] = e + 1;
  }
  PLIM_TRY(fill(pass, e, v->node, to));
  return has_workspace(pass, e) ? add_workspace(pass) : PLIM_OK;
}

static plim_status walk_events(lower_pass *pass) {
  for (int32_t e = 0; e < pass->n_events; e++) {
    pass->filled[e] = -1;
    pass->first_read[e] = (int32_t)pass->n_read;
    if (pass->n_read > INT32_MAX / 2) return plim_fail(pass->ctx, PLIM_EOVERFLOW, "the plan has too many reads");
    PLIM_TRY(walk_event(pass, e));
  }
  pass->first_read[pass->n_events] = (int32_t)pass->n_read;
  return PLIM_OK;
}

/* ---- backward: what is needed ---- */

static int is_needed(const lower_pass *pass, int32_t e) {
  if (pass->filled[e] < 0) return 0;
  return pass->buffer[pass->filled[e]].needed ||
         (pass->events->event[e].kind == PLIM_SPACE_RUN && pass->ran[pass->events->event[e].node] == e + 1);
}

static void mark_needed(lower_pass *pass) {
  for (int32_t e = (int32_t)pass->n_events - 1; e >= 0; e--) {
    if (!is_needed(pass, e)) {
      pass->filled[e] = -1;
      continue;
    }
    pass->buffer[pass->filled[e]].needed = 1;
    for (int32_t i = pass->first_read[e]; i < pass->first_read[e + 1]; i++) {
      open_buffer *b = &pass->buffer[pass->read[i]];
      b->needed = 1;
      if (b->last < e) b->last = e;
      if (pass->events->event[e].kind != PLIM_SPACE_RUN) b->copied = 1;
    }
  }
}

/* ---- places ---- */

static void name_queue(lower_pass *pass, const char *from, const char *to, int32_t device) {
  plim_space_queue *q = &pass->queue[pass->n_queues++];
  (void)snprintf(q->name, sizeof q->name, "%s%s%s", from, to[0] ? ">" : "", to);
  q->device = device;
}

/* A queue a device, and one a link, which links without duplex share with their opposite. */
static void make_places(lower_pass *pass, const int64_t *budget) {
  const plim_platform *p = pass->problem->platform;
  for (int32_t d = 0; d < p->n_devices; d++) {
    memcpy(pass->device[d].name, p->device[d].name, sizeof pass->device[d].name);
    pass->device[d].space = p->device[d].space;
    pass->device[d].idle_watt = p->device[d].idle_watt;
    name_queue(pass, p->device[d].name, "", d);
  }
  for (int32_t s = 0; s < p->n_spaces; s++) {
    memcpy(pass->space[s].name, p->space[s].name, sizeof pass->space[s].name);
    pass->space[s].budget_bytes = budget[s];
  }
  for (int32_t k = 0; k < p->n_links; k++) {
    int32_t first = plim_platform_queue_link(p, k);
    if (first != k) {
      pass->link_queue[k] = pass->link_queue[first];
      continue;
    }
    pass->link_queue[k] = pass->n_queues;
    name_queue(pass, p->space[p->link[k].from].name, p->space[p->link[k].to].name, -1);
  }
}

/* ---- forward: commands ---- */

/* The storages of the events [e, to) that fill buffers, ascending; their bytes. */
static int64_t add_storages(lower_pass *pass, int32_t e, int32_t to, plim_space_command *m) {
  int32_t *storage = pass->storage + pass->n_storages;
  int64_t bytes = 0;
  m->storage = storage;
  for (; e < to; e++) {
    const plim_space_node *node = &pass->problem->node[pass->events->event[e].node];
    int32_t i = m->n_storages;
    if (pass->filled[e] < 0) continue;
    for (; i > 0 && storage[i - 1] > node->storage; i--) storage[i] = storage[i - 1];
    storage[i] = node->storage;
    m->n_storages++;
    bytes += node->bytes;
  }
  pass->n_storages += m->n_storages;
  return bytes;
}

/* Command c of the events [e, to), of which the first is needed. */
static plim_status set_command(lower_pass *pass, int32_t c, int32_t e, int32_t to) {
  const plim_space_problem *p = pass->problem;
  const plim_space_event *v = &pass->events->event[e];
  plim_space_command *m = &pass->command[c];
  if (v->kind == PLIM_SPACE_RUN) {
    *m = (plim_space_command){.kind = PLIM_SPACE_COMMAND_RUN, .op = v->node, .device = v->at, .queue = v->at};
    m->time_ns = plim_space_run_ns(p, v->node, v->at);
    m->joule = plim_space_run_joule(p, v->node, v->at);
    return PLIM_OK;
  }
  *m = (plim_space_command){.kind = PLIM_SPACE_COMMAND_COPY};
  int64_t bytes = add_storages(pass, e, to, m);
  m->from = p->platform->link[v->at].from;
  m->to = p->platform->link[v->at].to;
  m->queue = pass->link_queue[v->at];
  m->time_ns = plim_space_copy_ns(p, v->node, v->at);
  m->joule = plim_space_copy_joule(p, v->node, v->at);
  return m->n_storages > 1 ? plim_space_joint_copy(p, v->at, bytes, &m->time_ns, &m->joule) : PLIM_OK;
}

/* The event after which a buffer has ended. */
static int32_t end_event(const open_buffer *b) {
  return b->copied && b->drop > b->last && b->drop < INT32_MAX ? b->drop : b->last;
}

typedef struct ended {
  int32_t event, buffer;
} ended;

static int by_event(const void *a, const void *b) {
  const ended *x = a, *y = b;
  if (x->event != y->event) return x->event < y->event ? -1 : 1;
  return plim_integers_compare(x->buffer, y->buffer);
}

/* Buffers that the events [e, to) read and fill are touched by command c. */
static void touch(lower_pass *pass, int32_t e, int32_t to, int32_t c) {
  int32_t queue = pass->command[c].queue;
  for (; e < to; e++) {
    if (pass->filled[e] < 0) continue;
    pass->touched[(int64_t)pass->filled[e] * pass->n_queues + queue] = c + 1;
    if (has_workspace(pass, e)) pass->touched[((int64_t)pass->filled[e] + 1) * pass->n_queues + queue] = c + 1;
    for (int32_t i = pass->first_read[e]; i < pass->first_read[e + 1]; i++) {
      pass->touched[(int64_t)pass->read[i] * pass->n_queues + queue] = c + 1;
    }
  }
}

/* What the events [e, to) read must be filled. */
static void need_fillers(lower_pass *pass, int32_t e, int32_t to) {
  for (; e < to; e++) {
    for (int32_t i = pass->first_read[e]; i < pass->first_read[e + 1] && pass->filled[e] >= 0; i++) {
      int32_t filler = pass->command_of[pass->buffer[pass->read[i]].filler];
      int32_t *need = &pass->need[pass->command[filler].queue];
      if (filler + 1 > *need) *need = filler + 1;
    }
  }
}

/* One command for the events [e, to), of which the first is needed. */
static plim_status emit_command(lower_pass *pass, int32_t e, int32_t to, int32_t c) {
  PLIM_TRY(set_command(pass, c, e, to));
  plim_space_command *m = &pass->command[c];
  int32_t space = pass->buffer[pass->filled[e]].space;
  memcpy(pass->need, pass->released + (int64_t)space * pass->n_queues, (size_t)pass->n_queues * sizeof *pass->need);
  need_fillers(pass, e, to);
  plim_queue_waits_add(&pass->waits, c, m->queue, pass->need);
  m->n_wait = pass->waits.n_wait[c];
  m->wait = plim_queue_waits_of(&pass->waits, c);
  touch(pass, e, to, c);
  return PLIM_OK;
}

/* The event after e and those that join it. */
static int32_t end_of_command(const lower_pass *pass, int32_t e) {
  for (e++; e < pass->n_events && pass->events->event[e].kind == PLIM_SPACE_JOIN;) e++;
  return e;
}

/* Commands in the order of the events; what ended before an event is released before it. */
static plim_status emit_commands(lower_pass *pass, const ended *end, int64_t n_end) {
  int32_t c = 0;
  int64_t next = 0;
  for (int32_t e = 0, to; e < pass->n_events; e = to) {
    to = end_of_command(pass, e);
    for (int32_t i = e; i < to; i++) pass->command_of[i] = c;
    for (; next < n_end && end[next].event < e; next++) {
      int32_t b = end[next].buffer;
      plim_marks_join(pass->released + (int64_t)pass->buffer[b].space * pass->n_queues,
                      pass->touched + (int64_t)b * pass->n_queues, pass->n_queues);
    }
    while (e < to && pass->filled[e] < 0) e++;
    if (e < to) PLIM_TRY(emit_command(pass, e, to, c++));
  }
  pass->command_of[pass->n_events] = c;
  pass->plan.n_commands = c;
  return PLIM_OK;
}

static plim_status emit_order(lower_pass *pass) {
  ended *end = NULL;
  int64_t n = 0;
  PLIM_TRY(plim_allocate(pass->ctx, pass->n_buffers, sizeof *end, &end));
  for (int32_t b = 0; b < pass->n_buffers; b++) {
    const open_buffer *v = &pass->buffer[b];
    if (pass->filled[v->filler] == b - v->workspace) end[n++] = (ended){end_event(v), b};
  }
  qsort(end, (size_t)n, sizeof *end, by_event);
  plim_status status = emit_commands(pass, end, n);
  for (int64_t i = 0; i < n && status == PLIM_OK; i++) {
    const open_buffer *b = &pass->buffer[end[i].buffer];
    plim_space_buffer *row = &pass->row[pass->plan.n_buffers++];
    const plim_space_node *node = &pass->problem->node[b->node];
    *row = (plim_space_buffer){.storage = b->workspace ? PLIM_WORKSPACE : node->storage, .space = b->space};
    row->bytes = b->workspace ? node->workspace : node->bytes;
    row->begin = pass->command_of[b->filler];
    row->end = pass->command_of[end[i].event + (end[i].event == b->last)];
    if (row->end <= pass->command_of[b->last]) row->end = pass->command_of[b->last] + 1;
  }
  plim_release(pass->ctx, end, pass->n_buffers, sizeof *end);
  return status;
}

/* ---- the plan ---- */

static plim_status finish(lower_pass *pass, const plim_space_plan *draft, int proved, plim_space_plan **out) {
  plim_space_plan *p = &pass->plan;
  plim_space_figures f = {.makespan_ns = 0};
  plim_status status;
  p->n_devices = pass->problem->platform->n_devices;
  p->n_spaces = pass->problem->platform->n_spaces;
  p->n_queues = pass->n_queues;
  p->device = pass->device;
  p->space = pass->space;
  p->queue = pass->queue;
  p->command = pass->command;
  p->buffer = pass->row;
  PLIM_TRY_OR_DONE(plim_allocate(pass->ctx, p->n_commands, sizeof *f.begin_ns, &f.begin_ns));
  PLIM_TRY_OR_DONE(plim_allocate(pass->ctx, p->n_commands, sizeof *f.end_ns, &f.end_ns));
  PLIM_TRY_OR_DONE(plim_allocate(pass->ctx, p->n_spaces, sizeof *f.peak_bytes, &f.peak_bytes));
  PLIM_TRY_OR_DONE(plim_space_plan_simulate(p, &f));
  for (int32_t c = 0; c < p->n_commands; c++) {
    pass->command[c].begin_ns = f.begin_ns[c];
    pass->command[c].end_ns = f.end_ns[c];
  }
  for (int32_t s = 0; s < p->n_spaces; s++) pass->space[s].peak_bytes = f.peak_bytes[s];
  p->makespan_ns = f.makespan_ns;
  p->serial_ns = f.serial_ns;
  p->energy_joule = f.energy_joule;
  double value = plim_space_plan_value(p);
  p->proved = draft->bound >= value || (proved && draft->bound * (1 + 1e-6) >= value);
  p->bound = draft->bound < value && !p->proved ? draft->bound : value;
  PLIM_TRY_OR_DONE(plim_space_plan_from_parts(pass->ctx, p, out));
done:
  plim_release(pass->ctx, f.begin_ns, p->n_commands, sizeof *f.begin_ns);
  plim_release(pass->ctx, f.end_ns, p->n_commands, sizeof *f.end_ns);
  plim_release(pass->ctx, f.peak_bytes, p->n_spaces, sizeof *f.peak_bytes);
  return status;
}

static void lay_out_walk(lower_pass *pass, plim_block *b) {
  const plim_platform *p = pass->problem->platform;
  int64_t queues = (int64_t)p->n_devices + p->n_links;
  pass->link_queue = plim_block_take(b, p->n_links, sizeof *pass->link_queue);
  pass->open = plim_block_take(b, (int64_t)p->n_spaces * pass->problem->n, sizeof *pass->open);
  pass->filled = plim_block_take(b, pass->n_events, sizeof *pass->filled);
  pass->first_read = plim_block_take(b, pass->n_events + 1, sizeof *pass->first_read);
  pass->ran = plim_block_take(b, pass->problem->n, sizeof *pass->ran);
  pass->command_of = plim_block_take(b, pass->n_events + 1, sizeof *pass->command_of);
  pass->device = plim_block_take(b, p->n_devices, sizeof *pass->device);
  pass->space = plim_block_take(b, p->n_spaces, sizeof *pass->space);
  pass->queue = plim_block_take(b, queues, sizeof *pass->queue);
}

static void lay_out_commands(lower_pass *pass, plim_block *b) {
  pass->command = plim_block_take(b, pass->n_events, sizeof *pass->command);
  pass->storage = plim_block_take(b, pass->n_events, sizeof *pass->storage);
  pass->row = plim_block_take(b, pass->n_buffers, sizeof *pass->row);
  pass->waits.n_queues = pass->n_queues;
  plim_queue_waits_lay_out(&pass->waits, b, pass->n_events);
  pass->touched = plim_block_take(b, pass->n_buffers * pass->n_queues, sizeof *pass->touched);
  pass->released =
      plim_block_take(b, (int64_t)pass->problem->platform->n_spaces * pass->n_queues, sizeof *pass->released);
  pass->need = plim_block_take(b, pass->n_queues, sizeof *pass->need);
}

static plim_status allocate_block(lower_pass *pass, plim_block *block, void (*lay_out)(lower_pass *, plim_block *)) {
  lay_out(pass, block);
  PLIM_TRY(plim_block_allocate(pass->ctx, block));
  lay_out(pass, block);
  return PLIM_OK;
}

static void free_all(lower_pass *pass) {
  plim_block_release(pass->ctx, &pass->of_walk);
  plim_block_release(pass->ctx, &pass->of_commands);
  plim_release(pass->ctx, pass->read, pass->read_capacity, sizeof *pass->read);
  plim_release(pass->ctx, pass->buffer, pass->buffer_capacity, sizeof *pass->buffer);
}

plim_status plim_space_lower(const plim_space_problem *problem, const plim_space_events *events,
                             const plim_space_plan *draft, const int64_t *budget, int proved, plim_space_plan **out) {
  lower_pass pass = {.ctx = problem->ctx, .problem = problem, .events = events, .n_events = events->n, .plan = *draft};
  plim_status status;
  PLIM_TRY(events->status);
  if (events->n >= INT32_MAX) return plim_fail(pass.ctx, PLIM_EOVERFLOW, "the sequence has too many events");
  pass.plan.ctx = pass.ctx;
  pass.plan.n_buffers = 0;
  pass.plan.has_energy = problem->has_energy;
  memcpy(pass.plan.fingerprint, problem->graph->fingerprint, sizeof pass.plan.fingerprint);
  PLIM_TRY_OR_DONE(allocate_block(&pass, &pass.of_walk, lay_out_walk));
  make_places(&pass, budget);
  PLIM_TRY_OR_DONE(walk_events(&pass));
  mark_needed(&pass);
  PLIM_TRY_OR_DONE(allocate_block(&pass, &pass.of_commands, lay_out_commands));
  PLIM_TRY_OR_DONE(emit_order(&pass));
  PLIM_TRY_OR_DONE(finish(&pass, draft, proved, out));
done:
  free_all(&pass);
  return status;
}
