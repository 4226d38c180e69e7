/* The simulator of plans. Without delays one pass over the commands is enough. Each command begins at the latest end of
 * the commands that it follows. With delays, copies slow the runs that they overlap, and the end of a run decides when
 * later copies begin. Then the simulator advances from event to event, with one command a queue. It counts the
 * remaining work in thousandths of a nanosecond, so that all times are exact. */
#include <string.h>

#include "runtime/base/size.h"
#include "runtime/graph/plan.h"

enum { WHOLE = 1000 /* thousandths */ };

/* The limit of the sum of all times, so that no product of a time and a speed overflows. The copies of each queue may
 * delay runs by PLIM_PAGE_DELAY_PERMILLE. The speed of runs then is between WHOLE and WHOLE less all these delays. */
enum { SPEEDS = 2 * PLIM_PLAN_QUEUES * PLIM_PAGE_DELAY_PERMILLE }; /* twice the largest speed */
static const int64_t most_ns = INT64_MAX / SPEEDS;

static int64_t time_of(const plim_plan *plan, int32_t j) {
  const plim_command *command = &plan->command[j];
  return command->kind == PLIM_COMMAND_RUN ? plan->variant[command->variant].variant.time_ns : command->time_ns;
}

/* ---- without delays ---- */

static void simulate_order(const plim_plan *plan, int64_t *begin_ns, int64_t *end_ns, int64_t *makespan_ns) {
  int64_t free_ns[PLIM_PLAN_QUEUES] = {0};
  *makespan_ns = 0;
  for (int32_t j = 0; j < plan->n_commands && *makespan_ns >= 0; j++) {
    const plim_command *command = &plan->command[j];
    begin_ns[j] = plim_command_begin_ns(free_ns[command->queue], command->n_wait, command->wait, end_ns);
    end_ns[j] = free_ns[command->queue] = plim_add_checked(begin_ns[j], time_of(plan, j));
    if (end_ns[j] < 0 || end_ns[j] > *makespan_ns) *makespan_ns = end_ns[j];
  }
}

/* ---- with delays ---- */

/* The command of a queue that runs now, or is next. */
typedef struct queue_now {
  int32_t command; /* n_commands: none is left */
  int32_t runs;    /* 1: it runs now */
  int32_t delay;   /* by which a copy that runs slows the runs, in thousandths */
  int64_t left;    /* remaining work, in thousandths of ns */
} queue_now;

typedef struct events {
  const plim_plan *plan;
  int64_t *begin_ns, *end_ns; /* end PLIM_NONE: it has not ended */
  int64_t now_ns;
  queue_now queue[PLIM_PLAN_QUEUES];
} events;

static int32_t next_of(const plim_plan *plan, int32_t queue, int32_t from) {
  while (from < plan->n_commands && plan->command[from].queue != queue) from++;
  return from;
}

static int is_ready(const events *e, const plim_command *command) {
  for (int32_t w = 0; w < command->n_wait; w++) {
    if (e->end_ns[command->wait[w]] < 0) return 0;
  }
  return 1;
}

/* Begin every command that is ready now, and end every command whose work is done, until neither changes anything. */
static void begin_and_end(events *e) {
  for (int changes = 1; changes;) {
    changes = 0;
    for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
      queue_now *h = &e->queue[q];
      if (h->command == e->plan->n_commands) continue;
      const plim_command *command = &e->plan->command[h->command];
      if (!h->runs && is_ready(e, command)) {
        e->begin_ns[h->command] = e->now_ns;
        *h = (queue_now){h->command, 1, plim_command_delay(e->plan, command), time_of(e->plan, h->command) * WHOLE};
      }
      if (!h->runs || h->left > 0) continue;
      e->end_ns[h->command] = e->now_ns;
      *h = (queue_now){.command = next_of(e->plan, q, h->command + 1)};
      changes = 1;
    }
  }
}

static int is_copy(const events *e, const queue_now *h) {
  return e->plan->command[h->command].kind == PLIM_COMMAND_COPY;
}

/* Advance the time to the next end of a command, by the present speeds. Below zero, the speed of runs adds to their
 * work: copies delay them by more than the time that passes. 0: no command runs. */
static int advance(events *e) {
  int64_t speed = WHOLE, step_ns = PLIM_TIME_INFINITE;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) speed -= e->queue[q].delay;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    const queue_now *h = &e->queue[q];
    if (!h->runs) continue;
    const int64_t rate = is_copy(e, h) ? WHOLE : speed;
    if (rate > 0 && (h->left + rate - 1) / rate < step_ns) step_ns = (h->left + rate - 1) / rate;
  }
  if (step_ns == PLIM_TIME_INFINITE) return 0;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    queue_now *h = &e->queue[q];
    if (h->runs) h->left -= step_ns * (is_copy(e, h) ? WHOLE : speed);
  }
  e->now_ns += step_ns;
  return 1;
}

/* Whether all sums can be counted in thousandths of ns. */
static int is_countable(const plim_plan *plan) {
  int64_t sum_ns = 0;
  for (int32_t j = 0; j < plan->n_commands && sum_ns >= 0; j++) sum_ns = plim_add_checked(sum_ns, time_of(plan, j));
  return sum_ns >= 0 && sum_ns <= most_ns;
}

static void simulate_events(const plim_plan *plan, int64_t *begin_ns, int64_t *end_ns, int64_t *makespan_ns) {
  events e = {.plan = plan, .begin_ns = begin_ns, .end_ns = end_ns};
  *makespan_ns = -1;
  if (!is_countable(plan)) return;
  for (int32_t j = 0; j < plan->n_commands; j++) end_ns[j] = PLIM_NONE;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) e.queue[q].command = next_of(plan, q, 0);
  do {
    begin_and_end(&e);
  } while (advance(&e));
  *makespan_ns = e.now_ns;
}

void plim_plan_simulate(const plim_plan *plan, int64_t *begin_ns, int64_t *end_ns, int64_t *makespan_ns) {
  int delays = 0;
  for (int32_t k = 0; k < plan->n_page_spaces; k++) delays |= plan->page[k].delay_permille > 0;
  if (delays) {
    simulate_events(plan, begin_ns, end_ns, makespan_ns);
  } else {
    simulate_order(plan, begin_ns, end_ns, makespan_ns);
  }
}
