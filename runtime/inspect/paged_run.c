/* A plan with copies to other memory is looked at as a plan over spaces, so that one screen shows both kinds. This file
 * converts it, and finds what its transfers cost. The plan over spaces has the same commands in the same order, so that
 * indices of commands mean the same in both. */
#include "runtime/inspect/paged_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"

const char *plim_paged_run_space_name(const plim_plan *plan, int32_t space) {
  if (space > 0) return plan->page[plim_page_index(space)].name;
  return strcmp(plan->numerics.machine.device, "cuda") == 0 ? "cuda" : "cpu";
}

static void set_spaces(const plim_plan *plan, plim_space_memory *space) {
  for (int32_t s = 0; s <= plan->n_page_spaces; s++) {
    const plim_plan_space of_plan = plim_plan_space_of(plan, s);
    space[s] = (plim_space_memory){.budget_bytes = of_plan.budget_bytes, .peak_bytes = of_plan.peak_bytes};
    (void)snprintf(space[s].name, sizeof space[s].name, "%s", plim_paged_run_space_name(plan, s));
  }
}

/* Set a device for each space that computes. Returns the number of devices. */
static int32_t set_devices(const plim_plan *plan, plim_space_device *device, int32_t *of_space) {
  int32_t n = 0;
  for (int32_t s = 0; s <= plan->n_page_spaces; s++) {
    if (!plim_plan_computes(plan, s)) continue;
    device[n] = (plim_space_device){.space = s};
    (void)snprintf(device[n].name, sizeof device[n].name, "%s", plim_paged_run_space_name(plan, s));
    of_space[s] = n++;
  }
  return n;
}

/* One of the spaces of a queue's copies: its number, MANY where they have several. */
enum { NONE = -1, MANY = -2 };
static void note_space(int32_t *noted, int32_t space) {
  if (*noted == NONE) *noted = space;
  if (*noted != space) *noted = MANY;
}

static const char *noted_name(const plim_plan *plan, int32_t noted) {
  return noted == MANY ? "*" : plim_paged_run_space_name(plan, noted);
}

/* Name the queues of copies by the spaces that these go from and to, as "cpu>host", or "*>cpu" where they have several.
 */
static void name_links(const plim_plan *plan, plim_space_queue *queue) {
  int32_t from[PLIM_PLAN_QUEUES], to[PLIM_PLAN_QUEUES];
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) from[q] = to[q] = NONE;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    if (command->kind != PLIM_COMMAND_COPY) continue;
    note_space(&from[command->queue], command->from);
    note_space(&to[command->queue], command->to);
  }
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (from[q] == NONE) continue;
    (void)snprintf(queue[q].name, sizeof queue->name, "%s>%s", noted_name(plan, from[q]), noted_name(plan, to[q]));
  }
}

/* Set the queues; a queue of runs is named after its device. Returns the number of queues. */
static int32_t set_queues(const plim_plan *plan, const int32_t *device_of, plim_space_queue *queue) {
  int32_t n = 1;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) queue[q].device = PLIM_NONE;
  queue[0].device = 0;
  (void)snprintf(queue[0].name, sizeof queue->name, "%s", plim_paged_run_space_name(plan, 0));
  for (int32_t j = plan->n_commands - 1; j >= 0; j--) {
    const plim_command *command = &plan->command[j];
    if (command->queue >= n) n = command->queue + 1;
    if (command->kind != PLIM_COMMAND_RUN) continue;
    queue[command->queue].device = device_of[command->space];
    (void)snprintf(queue[command->queue].name, sizeof queue->name, "%s",
                   plim_paged_run_space_name(plan, command->space));
  }
  name_links(plan, queue);
  return n;
}

/* Leave out queues without commands. of [PLIM_PLAN_QUEUES] out: where a queue stands then. Returns their number. */
static int32_t close_ranks(plim_space_queue *queue, int32_t n_queues, int32_t *of) {
  int32_t n = 0;
  for (int32_t q = 0; q < n_queues; q++) {
    of[q] = n;
    if (queue[q].name[0]) queue[n++] = queue[q];
  }
  return n;
}

/* Times are those from begin to end: a run that copies delay takes longer than its variant. */
static void set_commands(const plim_plan *plan, const int32_t *device_of, const int32_t *queue_of,
                         const int64_t *begin_ns, const int64_t *end_ns, plim_space_command *out,
                         plim_space_plan *draft) {
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int runs = command->kind == PLIM_COMMAND_RUN;
    out[j] = (plim_space_command){.kind = runs ? PLIM_SPACE_COMMAND_RUN : PLIM_SPACE_COMMAND_COPY,
                                  .op = command->op,
                                  .queue = queue_of[command->queue],
                                  .n_wait = command->n_wait,
                                  .wait = command->wait,
                                  .time_ns = end_ns[j] - begin_ns[j]};
    draft->serial_ns += out[j].time_ns;
    if (runs) out[j].device = device_of[command->space];
    if (runs) continue;
    out[j].n_storages = 1;
    out[j].storage = &command->storage;
    out[j].from = command->from;
    out[j].to = command->to;
  }
}

static void set_buffers(const plim_plan *plan, plim_space_buffer *buffer) {
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *b = &plan->buffer[i];
    int32_t storage = b->storage < 0 ? PLIM_WORKSPACE : b->storage;
    buffer[i] = (plim_space_buffer){storage, b->space, b->begin, b->end, b->bytes};
  }
}

plim_status plim_paged_run_spaces(const plim_graph *graph, const plim_plan *plan, plim_space_plan **out) {
  plim_space_memory space[PLIM_PLAN_SPACES];
  plim_space_queue queue[PLIM_PLAN_QUEUES] = {{.name = ""}};
  plim_space_device device[PLIM_PLAN_SPACES];
  int32_t device_of[PLIM_PLAN_SPACES] = {0}, queue_of[PLIM_PLAN_QUEUES] = {0};
  plim_space_command *command = NULL;
  plim_space_buffer *buffer = NULL;
  plim_space_plan draft = {.plan_class = PLIM_SPACE_PLAN_ALL,
                           .objective = PLIM_OBJECTIVE_TIME,
                           .n_devices = set_devices(plan, device, device_of),
                           .device = device,
                           .n_spaces = plan->n_page_spaces + 1,
                           .space = space,
                           .queue = queue,
                           .n_commands = plan->n_commands,
                           .deadline_ns = PLIM_TIME_UNLIMITED,
                           .keep_all = (double)plan->keep_all_ns,
                           .bound = (double)plan->bound_ns,
                           .proved = plan->proved};
  int64_t *begin_ns = NULL, commands = plan->n_commands;
  plim_status status;
  memcpy(draft.fingerprint, graph->fingerprint, sizeof draft.fingerprint);
  memcpy(draft.planner, plan->planner, sizeof draft.planner);
  PLIM_TRY_OR_DONE(plim_allocate(plan->ctx, commands, sizeof *command, &command));
  PLIM_TRY_OR_DONE(plim_allocate(plan->ctx, 2 * commands, sizeof *begin_ns, &begin_ns));
  PLIM_TRY_OR_DONE(plim_allocate(plan->ctx, plan->n_buffers, sizeof *buffer, &buffer));
  plim_plan_simulate(plan, begin_ns, begin_ns + commands, &draft.makespan_ns);
  set_spaces(plan, space);
  draft.n_queues = close_ranks(queue, set_queues(plan, device_of, queue), queue_of);
  set_commands(plan, device_of, queue_of, begin_ns, begin_ns + commands, command, &draft);
  draft.command = command;
  set_buffers(plan, buffer);
  draft.n_buffers = plan->n_buffers;
  draft.buffer = buffer;
  PLIM_TRY_OR_DONE(plim_space_plan_from_parts(plan->ctx, &draft, out));
done:
  plim_release(plan->ctx, command, commands, sizeof *command);
  plim_release(plan->ctx, begin_ns, 2 * commands, sizeof *begin_ns);
  plim_release(plan->ctx, buffer, plan->n_buffers, sizeof *buffer);
  return status;
}

/* ---- transfers ---- */

/* The copy for which the run at j waited: the one among its waits that ended last, PLIM_NONE: none is a copy. */
static int32_t waited_for(const plim_plan *plan, int32_t j, const int64_t *begin_ns, const int64_t *time_ns) {
  const plim_command *command = &plan->command[j];
  int32_t last = PLIM_NONE;
  for (int32_t w = 0; w < command->n_wait; w++) {
    int32_t c = command->wait[w];
    if (last < 0 || begin_ns[c] + time_ns[c] > begin_ns[last] + time_ns[last]) last = c;
  }
  return last >= 0 && plan->command[last].kind == PLIM_COMMAND_COPY ? last : PLIM_NONE;
}

static plim_status fill_transfers(const plim_graph *graph, const plim_plan *plan, const int64_t *begin_ns,
                                  const int64_t *time_ns, const int64_t *waited_ns, plim_transfer *out) {
  int64_t *planned_ns = NULL, makespan_ns, commands = plan->n_commands;
  int32_t *of = NULL, n = 0;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(plan->ctx, 2 * commands, sizeof *planned_ns, &planned_ns));
  PLIM_TRY_OR_DONE(plim_allocate(plan->ctx, commands, sizeof *of, &of));
  plim_plan_simulate(plan, planned_ns, planned_ns + commands, &makespan_ns);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int32_t copy =
        command->kind == PLIM_COMMAND_RUN && waited_ns[j] > 0 ? waited_for(plan, j, begin_ns, time_ns) : PLIM_NONE;
    if (copy >= 0) {
      if (out[of[copy]].waiter < 0) out[of[copy]].waiter = j;
      out[of[copy]].waited_ns += waited_ns[j];
    }
    if (command->kind != PLIM_COMMAND_COPY) continue;
    of[j] = n;
    out[n++] = (plim_transfer){.command = j,
                               .storage = command->storage,
                               .from = command->from,
                               .to = command->to,
                               .bytes = graph->storage[command->storage].bytes,
                               .planned_begin_ns = planned_ns[j],
                               .planned_end_ns = planned_ns[commands + j],
                               .begin_ns = begin_ns[j],
                               .end_ns = begin_ns[j] + time_ns[j],
                               .waiter = PLIM_NONE};
  }
done:
  plim_release(plan->ctx, planned_ns, 2 * commands, sizeof *planned_ns);
  plim_release(plan->ctx, of, commands, sizeof *of);
  return status;
}

plim_status plim_paged_run_transfers(const plim_graph *graph, const plim_plan *plan, const int64_t *begin_ns,
                                     const int64_t *time_ns, const int64_t *waited_ns, plim_transfer **out,
                                     int32_t *n) {
  plim_transfer *transfer = NULL;
  int32_t copies = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) copies += plan->command[j].kind == PLIM_COMMAND_COPY;
  PLIM_TRY(plim_allocate(plan->ctx, copies, sizeof *transfer, &transfer));
  plim_status status = fill_transfers(graph, plan, begin_ns, time_ns, waited_ns, transfer);
  if (status == PLIM_OK) {
    *out = transfer;
    *n = copies;
  } else {
    plim_release(plan->ctx, transfer, copies, sizeof *transfer);
  }
  return status;
}

/* ---- time that was not hidden ---- */

/* The part of the waiting time of the run at j during which copy c ran, or an earlier copy on the queue of c. */
static int64_t exposed_by(const plim_plan *plan, int32_t j, int32_t c, const int64_t *begin_ns, const int64_t *time_ns,
                          int64_t waited_ns) {
  const int64_t from_ns = begin_ns[j] - waited_ns;
  int64_t sum_ns = 0;
  for (int32_t k = c; k >= 0; k--) {
    if (plan->command[k].kind != PLIM_COMMAND_COPY || plan->command[k].queue != plan->command[c].queue) continue;
    const int64_t end_ns = begin_ns[k] + time_ns[k];
    if (end_ns <= from_ns) break;
    const int64_t begin = begin_ns[k] > from_ns ? begin_ns[k] : from_ns;
    const int64_t end = end_ns < begin_ns[j] ? end_ns : begin_ns[j];
    if (end > begin) sum_ns += end - begin;
  }
  return sum_ns;
}

int64_t plim_paged_run_exposed(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns,
                               const int64_t *waited_ns) {
  int64_t sum_ns = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].kind == PLIM_COMMAND_COPY || waited_ns[j] <= 0) continue;
    const int32_t c = waited_for(plan, j, begin_ns, time_ns);
    if (c >= 0) sum_ns += exposed_by(plan, j, c, begin_ns, time_ns, waited_ns[j]);
  }
  return sum_ns;
}

/* ---- what ran beside ---- */

static int is_paging(const plim_plan *plan, const plim_command *command) {
  if (command->kind != PLIM_COMMAND_COPY) return 0;
  return !plim_plan_computes(plan, command->from) || !plim_plan_computes(plan, command->to);
}

/* A copy in time. latest_ns is the latest end of this copy and of those before it in their list. */
typedef struct timed_copy {
  int64_t begin_ns, end_ns, latest_ns;
} timed_copy;

static int by_begin(const void *a, const void *b) {
  const timed_copy *x = a, *y = b;
  return plim_integers_compare(x->begin_ns, y->begin_ns);
}

/* List the copies to and from page spaces by begin. Returns their number. */
static int32_t list_copies(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns, timed_copy *copy) {
  int32_t n = 0;
  for (int32_t c = 0; c < plan->n_commands; c++) {
    if (is_paging(plan, &plan->command[c])) copy[n++] = (timed_copy){begin_ns[c], begin_ns[c] + time_ns[c], 0};
  }
  if (n > 0) qsort(copy, (size_t)n, sizeof *copy, by_begin);
  for (int32_t i = 0; i < n; i++) {
    copy[i].latest_ns = copy[i].end_ns;
    if (i > 0 && copy[i - 1].latest_ns > copy[i].latest_ns) copy[i].latest_ns = copy[i - 1].latest_ns;
  }
  return n;
}

/* The number of copies that begin before t. */
static int32_t count_before(const timed_copy *copy, int32_t n, int64_t t_ns) {
  int32_t low = 0, high = n;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (copy[middle].begin_ns < t_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The time of all copies within [begin, end). */
static int64_t copied_within(const timed_copy *copy, int32_t n, int64_t begin_ns, int64_t end_ns) {
  int64_t sum_ns = 0;
  for (int32_t i = count_before(copy, n, end_ns) - 1; i >= 0 && copy[i].latest_ns > begin_ns; i--) {
    const int64_t from = plim_integers_larger(copy[i].begin_ns, begin_ns);
    const int64_t to = plim_integers_smaller(copy[i].end_ns, end_ns);
    if (to > from) sum_ns += to - from;
  }
  return sum_ns;
}

plim_status plim_paged_run_beside(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns,
                                  int64_t *beside_ns) {
  timed_copy *copy = NULL;
  PLIM_TRY(plim_allocate(plan->ctx, plan->n_commands, sizeof *copy, &copy));
  const int32_t n = list_copies(plan, begin_ns, time_ns, copy);
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const int is_copy = plan->command[j].kind == PLIM_COMMAND_COPY;
    beside_ns[j] = is_copy ? 0 : copied_within(copy, n, begin_ns[j], begin_ns[j] + time_ns[j]);
  }
  plim_release(plan->ctx, copy, plan->n_commands, sizeof *copy);
  return PLIM_OK;
}

void plim_paged_run_lag(const plim_plan *plan, const int64_t *begin_ns, const int64_t *time_ns, int64_t *lag_ns) {
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0};
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int64_t ready_ns = free_ns[command->queue];
    for (int32_t w = 0; w < command->n_wait; w++) {
      const int64_t end_ns = begin_ns[command->wait[w]] + time_ns[command->wait[w]];
      if (end_ns > ready_ns) ready_ns = end_ns;
    }
    lag_ns[j] = begin_ns[j] > ready_ns ? begin_ns[j] - ready_ns : 0;
    free_ns[command->queue] = begin_ns[j] + time_ns[j];
  }
}

double plim_paged_run_delay(const plim_plan *plan, int32_t steps, const plim_timed *timed) {
  double alone_ns = 0, planned_alone_ns = 0, late_ns = 0, planned_late_ns = 0, beside_ns = 0;
  for (int64_t i = 0; i < (int64_t)steps * plan->n_commands; i++) {
    const plim_command *command = &plan->command[i % plan->n_commands];
    if (command->kind == PLIM_COMMAND_COPY) continue;
    const double planned_ns = (double)plan->variant[command->variant].variant.time_ns;
    if (timed[i].beside_ns > 0) {
      beside_ns += (double)timed[i].beside_ns;
      late_ns += (double)timed[i].time_ns;
      planned_late_ns += planned_ns;
    } else {
      alone_ns += (double)timed[i].time_ns;
      planned_alone_ns += planned_ns;
    }
  }
  if (beside_ns <= 0 || planned_alone_ns <= 0) return 0;
  const double delay = (late_ns - planned_late_ns * alone_ns / planned_alone_ns) / beside_ns;
  const double most = (double)PLIM_PAGE_DELAY_PERMILLE / 1000;
  return delay < 0 ? 0 : delay > most ? most : delay;
}
