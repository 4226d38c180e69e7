/* Checks figures that follow from the commands: predicted time, an upper limit of the keep-all time, the order of both
 * and the bound, and the numerics hash. The bound itself does not follow from a plan, and is not checked. */
#include <string.h>

#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/check/check_internal.h"

/* The end of the last command, where no copy delays a run; -1: it exceeds 63 bits of ns. end_ns [n_commands] out. */
static int64_t find_makespan(const plim_plan *plan, int64_t *end_ns) {
  int64_t makespan_ns = 0;
  int32_t before[PLIM_PLAN_QUEUES]; /* the latest command of each queue, or PLIM_NONE */
  for (int32_t q = 0; q < PLIM_PLAN_QUEUES; q++) before[q] = PLIM_NONE;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *command = &plan->command[j];
    int64_t begin_ns = before[command->queue] < 0 ? 0 : end_ns[before[command->queue]];
    for (int32_t w = 0; w < command->n_wait; w++) {
      if (end_ns[command->wait[w]] > begin_ns) begin_ns = end_ns[command->wait[w]];
    }
    const int64_t ns =
        command->kind == PLIM_COMMAND_COPY ? command->time_ns : plan->variant[command->variant].variant.time_ns;
    if (ns < 0 || begin_ns > INT64_MAX - ns) return -1;
    end_ns[j] = begin_ns + ns;
    before[command->queue] = j;
    if (end_ns[j] > makespan_ns) makespan_ns = end_ns[j];
  }
  return makespan_ns;
}

static plim_status check_times(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  int64_t *end_ns = NULL;
  PLIM_TRY(plim_allocate(check->ctx, plan->n_commands, sizeof *end_ns, &end_ns));
  const int64_t time_ns =
      plim_check_has_delays(plan) ? plim_check_delayed_makespan(plan, end_ns) : find_makespan(plan, end_ns);
  plim_release(check->ctx, end_ns, plan->n_commands, sizeof *end_ns);
  if (time_ns < 0) return plim_fail(check->ctx, PLIM_EPLAN, "the times of its commands add up to more than 2^63 ns");
  if (time_ns != plan->time_ns) {
    return plim_fail(check->ctx, PLIM_EPLAN, "the plan says %lld ns, its commands %s %lld ns", (long long)plan->time_ns,
                     plan->n_page_spaces == 0 ? "add up to" : "take", (long long)time_ns);
  }
  int64_t least_ns = plim_plan_other_devices(plan) > 0 ? 0 : plan->keep_all_ns; /* several devices may take less */
  if (plan->keep_all_ns < 0 || least_ns > plan->bound_ns || plan->bound_ns > plan->time_ns) {
    return plim_fail(check->ctx, PLIM_EPLAN,
                     "keep-all %lld ns, bound %lld ns and time %lld ns of the plan are not in ascending order",
                     (long long)plan->keep_all_ns, (long long)plan->bound_ns, (long long)plan->time_ns);
  }
  if (plan->proved != 0 && (plan->proved != 1 || plan->bound_ns != plan->time_ns)) {
    return plim_fail(check->ctx, PLIM_EPLAN, "proved is %d with a bound of %lld ns and a time of %lld ns", plan->proved,
                     (long long)plan->bound_ns, (long long)plan->time_ns);
  }
  return PLIM_OK;
}

/* Keep-all runs every op once with its fastest variant. So it takes no longer than the fastest variants that the
 * commands use. The parts before have proved that every op runs. */
static plim_status check_keep_all(const plim_checker *check) {
  const plim_plan *plan = check->plan;
  int64_t *least = NULL, sum = 0;
  PLIM_TRY(plim_allocate(check->ctx, check->graph->n_ops, sizeof *least, &least));
  for (int32_t op = 0; op < check->graph->n_ops; op++) least[op] = PLIM_TIME_INFINITE;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].kind != PLIM_COMMAND_RUN) continue;
    const plim_plan_variant *row = &plan->variant[plan->command[j].variant];
    if (row->variant.time_ns < least[row->op]) least[row->op] = row->variant.time_ns;
  }
  for (int32_t op = 0; op < check->graph->n_ops && sum >= 0; op++) sum = plim_add_checked(sum, least[op]);
  plim_release(check->ctx, least, check->graph->n_ops, sizeof *least);
  if (plan->keep_all_ns <= sum || sum < 0) return PLIM_OK; /* < 0: more than 63 bits */
  return plim_fail(check->ctx, PLIM_EPLAN,
                   "the plan says %lld ns for every op once, the fastest variants that it runs itself take %lld ns",
                   (long long)plan->keep_all_ns, (long long)sum);
}

static void write_machine(plim_text *text, const plim_plan *plan) {
  const plim_machine *m = &plan->numerics.machine;
  plim_text_format(text, "plimsoll arithmetic 1\ngraph %s\n", plan->fingerprint);
  plim_text_format(text, "device %.*s\n", (int)sizeof m->device, m->device);
  plim_text_format(text, "cpu %.*s\n", (int)sizeof m->cpu, m->cpu);
  plim_text_format(text, "isa %.*s\n", (int)sizeof m->isa, m->isa);
  plim_text_format(text, "library %.*s\n", (int)sizeof m->library, m->library);
  plim_text_format(text, "build %.*s\n", (int)sizeof m->build, m->build);
  plim_text_format(text, "threads %d\n", m->threads);
}

/* Write the numerics key of every op. Any run of the op has it, since all have the same. run [n_ops] is scratch. */
static void write_keys(plim_text *text, const plim_checker *check, int32_t *run) {
  for (int32_t j = 0; j < check->plan->n_commands; j++) {
    if (check->plan->command[j].kind == PLIM_COMMAND_RUN) run[check->plan->command[j].op] = j;
  }
  for (int32_t op = 0; op < check->graph->n_ops; op++) {
    int32_t variant = check->plan->command[run[op]].variant;
    plim_text_format(text, "%d %s\n", op, check->plan->variant[variant].variant.numerics_key);
  }
}

static plim_status check_hash(const plim_checker *check) {
  const plim_numerics *numerics = &check->plan->numerics;
  plim_text text = {check->ctx, NULL, 0, 0, PLIM_OK};
  int32_t *run = NULL;
  plim_status status = plim_allocate(check->ctx, check->graph->n_ops, sizeof *run, &run);
  if (status == PLIM_OK) {
    write_machine(&text, check->plan);
    write_keys(&text, check, run);
    status = text.status;
  }
  if (status == PLIM_OK) {
    char hash[PLIM_SHA256_HEX_BYTES];
    plim_sha256_hex(text.chars, (size_t)text.length, hash);
    if (strncmp(hash, numerics->hash, sizeof hash) != 0) {
      status =
          plim_fail(check->ctx, PLIM_EPLAN, "the plan says numerics %.12s, its machine and numerics keys give %.12s",
                    numerics->hash, hash);
    }
  }
  plim_release(check->ctx, run, check->graph->n_ops, sizeof *run);
  plim_text_free(&text);
  return status;
}

plim_status plim_check_figures(const plim_checker *check) {
  PLIM_TRY(check_times(check));
  PLIM_TRY(check_keep_all(check));
  return check_hash(check);
}
