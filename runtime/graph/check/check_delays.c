/* The makespan of a plan whose copies delay runs, found by the checker itself. All runs share one account of work: it
 * grows by 1000 a nanosecond, less what each copy in hand takes. A run ends when the account has grown by 1000 times
 * its time since it began, a copy when its time is over. */
#include "runtime/graph/check/check_internal.h"

enum { IDLE = -1 };

/* Of the sum of all times: copies on all queues at once, each of which takes PLIM_PAGE_DELAY_PERMILLE a nanosecond,
 * overflow nothing. */
static const int64_t largest_ns = INT64_MAX / (2 * PLIM_PLAN_QUEUES * PLIM_PAGE_DELAY_PERMILLE);

typedef struct account {
  const plim_plan *plan;
  int64_t *end_ns; /* [n_commands] PLIM_TIME_INFINITE: it has not ended */
  int64_t now_ns, work;
  int64_t due[PLIM_PLAN_QUEUES];    /* of the command in hand: work of a run, time of a copy, at which it ends */
  int32_t busy[PLIM_PLAN_QUEUES];   /* the command in hand, IDLE: none */
  int32_t passed[PLIM_PLAN_QUEUES]; /* commands before this one have begun, or are of other queues */
} account;

static int64_t length_ns(const plim_plan *plan, const plim_command *command) {
  return command->kind == PLIM_COMMAND_COPY ? command->time_ns : plan->variant[command->variant].variant.time_ns;
}

static int64_t taken_by(const plim_plan *plan, const plim_command *copy) {
  const int64_t from = plim_plan_space_of(plan, copy->from).delay_permille;
  const int64_t to = plim_plan_space_of(plan, copy->to).delay_permille;
  return from > to ? from : to;
}

static int64_t pace(const account *a) {
  int64_t pace = 1000;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (a->busy[q] == IDLE || a->plan->command[a->busy[q]].kind != PLIM_COMMAND_COPY) continue;
    pace -= taken_by(a->plan, &a->plan->command[a->busy[q]]);
  }
  return pace;
}

static int is_due(const account *a, int32_t q) {
  const int copies = a->plan->command[a->busy[q]].kind == PLIM_COMMAND_COPY;
  return (copies ? a->now_ns : a->work) >= a->due[q];
}

/* The command that the queue comes to begins, if all that it waits for has ended. 1: it did. */
static int begin(account *a, int32_t q) {
  int32_t j = a->passed[q];
  while (j < a->plan->n_commands && a->plan->command[j].queue != q) j++;
  a->passed[q] = j;
  if (j == a->plan->n_commands) return 0;
  const plim_command *command = &a->plan->command[j];
  for (int32_t w = 0; w < command->n_wait; w++) {
    if (a->end_ns[command->wait[w]] == PLIM_TIME_INFINITE) return 0;
  }
  const int64_t ns = length_ns(a->plan, command);
  a->due[q] = command->kind == PLIM_COMMAND_COPY ? a->now_ns + ns : a->work + 1000 * ns;
  a->busy[q] = j;
  a->passed[q] = j + 1;
  return 1;
}

/* All that begins or ends at this moment. */
static void pass_moment(account *a) {
  int more = 1;
  while (more) {
    more = 0;
    for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
      if (a->busy[q] == IDLE) more |= begin(a, q);
      if (a->busy[q] == IDLE || !is_due(a, q)) continue;
      a->end_ns[a->busy[q]] = a->now_ns;
      a->busy[q] = IDLE;
      more = 1;
    }
  }
}

/* Time to the next end at the pace of now; PLIM_TIME_INFINITE: nothing is in hand. */
static int64_t next_ns(const account *a, int64_t pace_now) {
  int64_t least = PLIM_TIME_INFINITE;
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) {
    if (a->busy[q] == IDLE) continue;
    int64_t ns = a->due[q] - a->now_ns;
    if (a->plan->command[a->busy[q]].kind == PLIM_COMMAND_RUN) {
      if (pace_now <= 0) continue;
      ns = (a->due[q] - a->work + pace_now - 1) / pace_now;
    }
    if (ns < least) least = ns;
  }
  return least;
}

int plim_check_has_delays(const plim_plan *plan) {
  for (int32_t k = 0; k < plan->n_page_spaces; k++) {
    if (plan->page[k].delay_permille > 0) return 1;
  }
  return 0;
}

int64_t plim_check_delayed_makespan(const plim_plan *plan, int64_t *end_ns) {
  account a = {.plan = plan, .end_ns = end_ns};
  int64_t sum_ns = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const int64_t ns = length_ns(plan, &plan->command[j]);
    if (ns < 0 || ns > largest_ns - sum_ns) return -1;
    sum_ns += ns;
    end_ns[j] = PLIM_TIME_INFINITE;
  }
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) a.busy[q] = IDLE;
  for (;;) {
    pass_moment(&a);
    const int64_t speed = pace(&a), ns = next_ns(&a, speed);
    if (ns == PLIM_TIME_INFINITE) return a.now_ns;
    a.now_ns += ns;
    a.work += ns * speed;
  }
}
