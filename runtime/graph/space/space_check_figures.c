/* Checks the figures that a plan over spaces says. Where the graph gives the time of a command, it must be that. All
 * figures that follow from the times must be those of the simulator. keep_all must agree with the times of graph and
 * plan: a lower and an upper limit of it are computed, since a time may be unknown. */
#include <math.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/graph/space/space_plan.h"

/* Compare what the plan says with what the simulator finds. */
static plim_status compare(const plim_space_plan *plan, const plim_space_figures *f) {
  plim_context *ctx = plan->ctx;
  for (int32_t c = 0; c < plan->n_commands; c++) {
    if (plan->command[c].begin_ns == f->begin_ns[c] && plan->command[c].end_ns == f->end_ns[c]) continue;
    return plim_fail(ctx, PLIM_EPLAN, "command %d: the plan says %lld to %lld ns, the simulator finds %lld to %lld", c,
                     (long long)plan->command[c].begin_ns, (long long)plan->command[c].end_ns,
                     (long long)f->begin_ns[c], (long long)f->end_ns[c]);
  }
  for (int32_t s = 0; s < plan->n_spaces; s++) {
    const plim_space_memory *space = &plan->space[s];
    if (space->peak_bytes != f->peak_bytes[s]) {
      return plim_fail(ctx, PLIM_EPLAN, "space %s: the plan says a peak of %lld bytes, the simulator finds %lld",
                       space->name, (long long)space->peak_bytes, (long long)f->peak_bytes[s]);
    }
    if (space->peak_bytes > space->budget_bytes) {
      return plim_fail(ctx, PLIM_EPLAN, "space %s: the peak of %lld bytes is above the budget of %lld", space->name,
                       (long long)space->peak_bytes, (long long)space->budget_bytes);
    }
  }
  if (plan->makespan_ns != f->makespan_ns || plan->serial_ns != f->serial_ns) {
    return plim_fail(ctx, PLIM_EPLAN,
                     "the plan says a makespan of %lld and a serial time of %lld ns, the simulator finds %lld and %lld",
                     (long long)plan->makespan_ns, (long long)plan->serial_ns, (long long)f->makespan_ns,
                     (long long)f->serial_ns);
  }
  if (plan->energy_joule != f->energy_joule) {
    return plim_fail(ctx, PLIM_EPLAN, "the plan says an energy of %.17g J, the simulator finds %.17g",
                     plan->energy_joule, f->energy_joule);
  }
  return PLIM_OK;
}

/* Check deadline and bound. A deadline limits the makespan. For planner poet, as published, it limits the sum of the
 * times of all runs. */
static plim_status check_promises(plim_context *ctx, const plim_space_plan *plan) {
  int64_t time_ns = plan->makespan_ns;
  if (strcmp(plan->planner, "poet") == 0) {
    time_ns = 0;
    for (int32_t c = 0; c < plan->n_commands; c++) {
      if (plan->command[c].kind == PLIM_SPACE_COMMAND_RUN) time_ns += plan->command[c].time_ns;
    }
  }
  if (time_ns > plan->deadline_ns) {
    return plim_fail(ctx, PLIM_EPLAN, "the plan takes %lld ns, its deadline is %lld ns", (long long)time_ns,
                     (long long)plan->deadline_ns);
  }
  double value = plim_space_plan_value(plan);
  if (plan->bound > value || (plan->proved && plan->bound < value)) {
    return plim_fail(ctx, PLIM_EPLAN, "the plan says a lower bound of %.17g%s, its objective is %.17g", plan->bound,
                     plan->proved ? " and that it is reached" : "", value);
  }
  return PLIM_OK;
}

/* ---- every op once ---- */

enum { NOWHERE = -1, UNKNOWN = -2 };

/* The time of every op once on the fastest device. Its lower and upper limit are equal when no time is unknown. */
typedef struct keep_all_figures {
  const plim_graph *graph;
  const plim_space_plan *plan;
  int32_t *run;   /* [n_devices][n_ops] 1 + the first command that runs an op on a device, 0: none */
  int64_t *least; /* [n_ops] the shortest time on any device; an unknown time counts as 0; PLIM_NONE: it runs nowhere */
  int32_t missing; /* 1: a time is unknown */
  int32_t device;  /* the fastest device that is known to run every op, or PLIM_NONE */
  int64_t device_ns;
} keep_all_figures;

static int64_t run_at(const keep_all_figures *keep_all, int32_t device, int32_t op) {
  return (int64_t)device * keep_all->graph->n_ops + op;
}

/* The first run of an op on a device; NULL: none. */
static const plim_space_command *run_of(const keep_all_figures *keep_all, int32_t device, int32_t op) {
  int32_t run = keep_all->run[run_at(keep_all, device, op)];
  return run > 0 ? &keep_all->plan->command[run - 1] : NULL;
}

/* The time of an op on a device, or UNKNOWN or NOWHERE. `named`: index of the device among those that the graph names,
 * PLIM_NONE: it is none of these. */
static int64_t time_there(const keep_all_figures *keep_all, int32_t device, int32_t named, int32_t op) {
  const plim_costs *costs = keep_all->graph->costs;
  const plim_space_command *run = run_of(keep_all, device, op);
  int64_t given = named >= 0 ? costs->duration[plim_costs_duration_at(costs, op, named)] : PLIM_UNKNOWN;
  if (given >= 0) return given;
  if (run) return run->time_ns;
  if (costs && costs->flops[op] >= 0) return UNKNOWN;
  if (costs && costs->n_devices > 0) return NOWHERE;
  return keep_all->graph->op[op].time_ns >= 0 ? keep_all->graph->op[op].time_ns : NOWHERE;
}

static void add_device(keep_all_figures *keep_all, int32_t device) {
  const plim_costs *costs = keep_all->graph->costs;
  int32_t named = costs ? plim_costs_find_device(costs, keep_all->plan->device[device].name) : PLIM_NONE;
  int64_t sum = 0;
  int all = 1;
  for (int32_t o = 0; o < keep_all->graph->n_ops; o++) {
    int64_t time_ns = time_there(keep_all, device, named, o);
    if (time_ns == UNKNOWN) keep_all->missing = 1;
    all = all && time_ns >= 0;
    if (time_ns == NOWHERE) continue;
    if (time_ns == UNKNOWN) time_ns = 0;
    sum = plim_integers_add_capped(sum, time_ns);
    if (keep_all->least[o] < 0 || time_ns < keep_all->least[o]) keep_all->least[o] = time_ns;
  }
  if (!all || (keep_all->device >= 0 && sum >= keep_all->device_ns)) return;
  keep_all->device = device;
  keep_all->device_ns = sum;
}

/* Find limits of the energy of every op once. It is known only when the fastest device runs every op in this plan. */
static void find_energy(const keep_all_figures *keep_all, double *low, double *high) {
  double joule = 0, watt = 0;
  *low = 0;
  *high = INFINITY;
  if (keep_all->missing || keep_all->device < 0) return;
  for (int32_t o = 0; o < keep_all->graph->n_ops; o++) {
    const plim_space_command *run = run_of(keep_all, keep_all->device, o);
    if (!run) return;
    joule += run->joule;
  }
  for (int32_t d = 0; d < keep_all->plan->n_devices; d++) watt += keep_all->plan->device[d].idle_watt;
  *low = *high = joule + watt * ((double)keep_all->device_ns * 1e-9);
}

static void find_time(const keep_all_figures *keep_all, double *low, double *high) {
  int64_t least = 0;
  for (int32_t o = 0; o < keep_all->graph->n_ops; o++) {
    least = plim_integers_add_capped(least, keep_all->least[o] > 0 ? keep_all->least[o] : 0);
  }
  *low = (double)(keep_all->device >= 0 && !keep_all->missing ? keep_all->device_ns : least);
  *high = keep_all->device >= 0 ? (double)keep_all->device_ns : keep_all->missing ? INFINITY : *low;
}

static plim_status compare_keep_all(keep_all_figures *keep_all) {
  const plim_space_plan *p = keep_all->plan;
  double low, high;
  for (int32_t o = 0; o < keep_all->graph->n_ops; o++) keep_all->least[o] = PLIM_NONE;
  for (int32_t c = 0; c < p->n_commands; c++) {
    const plim_space_command *command = &p->command[c];
    if (command->kind != PLIM_SPACE_COMMAND_RUN) continue;
    int32_t *first = &keep_all->run[run_at(keep_all, command->device, command->op)];
    if (*first == 0) *first = c + 1;
  }
  for (int32_t d = 0; d < p->n_devices; d++) add_device(keep_all, d);
  (p->objective == PLIM_OBJECTIVE_ENERGY ? find_energy : find_time)(keep_all, &low, &high);
  if (p->keep_all >= low && p->keep_all <= high) return PLIM_OK;
  if (low < high) {
    return plim_fail(p->ctx, PLIM_EPLAN, "the plan says keep_all %.17g, every op once takes from %.17g to %.17g",
                     p->keep_all, low, high);
  }
  return plim_fail(p->ctx, PLIM_EPLAN, "the plan says keep_all %.17g, every op once on the fastest device takes %.17g",
                   p->keep_all, low);
}

static plim_status check_keep_all(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan) {
  keep_all_figures keep_all = {.graph = graph, .plan = plan, .device = PLIM_NONE};
  int64_t runs = plim_mul_checked(graph->n_ops, plan->n_devices);
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, runs, sizeof *keep_all.run, &keep_all.run));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_ops, sizeof *keep_all.least, &keep_all.least));
  PLIM_TRY_OR_DONE(compare_keep_all(&keep_all));
done:
  plim_release(ctx, keep_all.run, runs, sizeof *keep_all.run);
  plim_release(ctx, keep_all.least, graph->n_ops, sizeof *keep_all.least);
  return status;
}

static plim_status check_figures(plim_context *ctx, const plim_space_plan *plan) {
  plim_space_figures f = {.makespan_ns = 0};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *f.begin_ns, &f.begin_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_commands, sizeof *f.end_ns, &f.end_ns));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, plan->n_spaces, sizeof *f.peak_bytes, &f.peak_bytes));
  PLIM_TRY_OR_DONE(plim_space_plan_simulate(plan, &f));
  PLIM_TRY_OR_DONE(compare(plan, &f));
  PLIM_TRY_OR_DONE(check_promises(ctx, plan));
done:
  plim_release(ctx, f.begin_ns, plan->n_commands, sizeof *f.begin_ns);
  plim_release(ctx, f.end_ns, plan->n_commands, sizeof *f.end_ns);
  plim_release(ctx, f.peak_bytes, plan->n_spaces, sizeof *f.peak_bytes);
  return status;
}

/* Check a copy's time: when the graph gives a time for each of its storages, it is their sum. */
static plim_status check_given_copy(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan,
                                    int32_t c) {
  const plim_space_command *command = &plan->command[c];
  const char *from = plan->space[command->from].name, *to = plan->space[command->to].name;
  int64_t total = 0;
  for (int32_t i = 0; i < command->n_storages; i++) {
    int64_t time = -1;
    int32_t producer = graph->storage[command->storage[i]].producer;
    if (producer < 0 || !plim_costs_find_copy(graph->costs, producer, from, to, &time)) return PLIM_OK;
    if (time < 0) {
      return plim_fail(ctx, PLIM_EPLAN, "command %d copies storage %d from %s to %s, and the graph has no such link", c,
                       command->storage[i], from, to);
    }
    total += time; /* below 2^61, as is the sum of all */
  }
  if (total == command->time_ns) return PLIM_OK;
  return plim_fail(ctx, PLIM_EPLAN, "command %d copies from %s to %s in %lld ns, the graph says %lld", c, from, to,
                   (long long)command->time_ns, (long long)total);
}

/* Check the times of commands against the times that the graph gives for the plan's devices. */
static plim_status check_given(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan) {
  const plim_costs *costs = graph->costs;
  for (int32_t c = 0; costs && c < plan->n_commands; c++) {
    const plim_space_command *command = &plan->command[c];
    if (command->kind != PLIM_SPACE_COMMAND_RUN) {
      PLIM_TRY(check_given_copy(ctx, graph, plan, c));
      continue;
    }
    int32_t d = plim_costs_find_device(costs, plan->device[command->device].name);
    if (d < 0) continue;
    int64_t given = costs->duration[plim_costs_duration_at(costs, command->op, d)];
    if (given == command->time_ns || (given < 0 && costs->flops[command->op] >= 0)) continue;
    return plim_fail(ctx, PLIM_EPLAN, "command %d runs op '%s' on device %s in %lld ns, the graph says %lld", c,
                     graph->op[command->op].name, costs->device[d], (long long)command->time_ns, (long long)given);
  }
  return PLIM_OK;
}

plim_status plim_space_plan_check_figures(plim_context *ctx, const plim_graph *graph, const plim_space_plan *plan) {
  PLIM_TRY(check_given(ctx, graph, plan));
  PLIM_TRY(check_figures(ctx, plan));
  return check_keep_all(ctx, graph, plan);
}
