/* Simulates a policy with the arena, or, without addresses, by sums of bytes. A plan's figures come from the planner
 * itself. Both give the same figures, so that they can be compared. */
#include "runtime/simulate/simulation.h"

#include <string.h>

#include "runtime/base/halving.h"
#include "runtime/base/size.h"

/* Halvings of a range of at most twice the whole. The result is exact to a two-thousandth of the whole, or to a
 * sixtieth with a policy that forecasts, since each of its trials simulates many policies. */
enum { HALVINGS = 12, HALVINGS_OF_MANY = 7 };

plim_status plim_simulation_open(plim_context *ctx, const plim_graph *graph, double thrash, plim_simulation *out) {
  plim_simulation simulation = {.ctx = ctx, .graph = graph, .thrash = thrash};
  plim_plan_options options = plim_plan_options_default();
  plim_status status;
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  PLIM_TRY_OR_DONE(plim_profile_from_graph(graph, &simulation.profile));
  PLIM_TRY_OR_DONE(plim_plan_keep_all(ctx, graph, simulation.profile, &options, &simulation.order));
  *out = simulation;
  return PLIM_OK;
done:
  plim_simulation_close(&simulation);
  return status;
}

void plim_simulation_close(plim_simulation *simulation) {
  plim_plan_free(simulation->order);
  plim_profile_free(simulation->profile);
}

plim_status plim_simulation_whole(const plim_simulation *simulation, plim_simulation_addresses addresses,
                                  int64_t *bytes) {
  plim_plan_options options = plim_plan_options_default();
  plim_plan *plan = NULL;
  if (simulation->graph->handles)
    return plim_handles_peak(simulation->graph->handles, addresses != PLIM_SIMULATE_BYTES, bytes);
  *bytes = simulation->order->peak_bytes;
  if (addresses == PLIM_SIMULATE_BYTES) return PLIM_OK;
  PLIM_TRY(plim_plan_keep_all(simulation->ctx, simulation->graph, simulation->profile, &options, &plan));
  *bytes = plan->arena_bytes;
  plim_plan_free(plan);
  return PLIM_OK;
}

const char *plim_simulation_whole_name(const plim_simulation *simulation, plim_simulation_addresses addresses) {
  if (simulation->graph->handles) return "the program's own peak";
  return addresses == PLIM_SIMULATE_BYTES ? "keep-all: program order's peak" : "keep-all";
}

plim_status plim_simulation_budget(const plim_simulation *simulation, const char *memory,
                                   plim_simulation_addresses addresses, int64_t *bytes) {
  int64_t whole, budget;
  plim_size size;
  PLIM_TRY(plim_simulation_whole(simulation, addresses, &whole));
  budget = whole;
  if (memory) {
    PLIM_TRY(plim_size_parse(simulation->ctx, memory, &size));
    budget = plim_size_bytes(&size, whole);
  }
  if (budget < 0) return plim_fail(simulation->ctx, PLIM_EUSAGE, "a budget of %s does not fit in 63 bits", memory);
  *bytes = addresses == PLIM_SIMULATE_BYTES ? budget : budget - budget % PLIM_ALIGN;
  return PLIM_OK;
}

int64_t plim_simulation_limit_ns(const plim_simulation *simulation, int64_t total_ns) {
  double limit = simulation->thrash * (double)total_ns;
  return limit < 9e18 ? (int64_t)limit : PLIM_TIME_UNLIMITED;
}

static double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* Whether the result of `row` counts as one of `policy`. Without addresses, a policy with a forecast takes the best
 * result of all policies without one: nothing else sets it apart. */
static int stands_for(const plim_policy *policy, const plim_policy *row) {
  return row == policy || (policy->forecast && !row->forecast);
}

static plim_status run_ideal(const plim_simulation *simulation, const plim_policy *policy, plim_simulated *out) {
  const plim_handles *h = simulation->graph->handles;
  plim_online_result best = {.end = PLIM_ONLINE_OOM}, r;
  const plim_policy *row;
  int32_t tried = 0;
  for (int32_t i = 0; (row = plim_policy_at(i)); i++) {
    if (!stands_for(policy, row)) continue;
    PLIM_TRY(plim_ideal_run(simulation->ctx, h, row, out->budget_bytes,
                            plim_simulation_limit_ns(simulation, plim_handles_total_ns(h)), &r));
    int better = r.end == PLIM_ONLINE_OK && (best.end != PLIM_ONLINE_OK || r.recomputed_ns < best.recomputed_ns);
    if (tried++ > 0 && !better) continue; /* when none ends well, the first stands for all */
    best = r;
    out->by = row->name;
  }
  out->end = best.end;
  out->overhead_percent = percent(best.recomputed_ns, best.total_ns);
  out->evictions = best.evictions;
  out->recomputes = best.recomputes;
  out->scanned = best.scores;
  out->depth = best.depth;
  return PLIM_OK;
}

static void copy_counts(const plim_replay_counts *counts, plim_simulated *out) {
  out->evictions = counts->evictions;
  out->recomputes = counts->recomputes;
  out->searches = counts->searches;
  out->search_ns = counts->search_ns;
  out->scanned = counts->blocks_scanned;
  out->depth = counts->depth;
  out->small_area_bytes = counts->small_area_bytes;
  out->spills = counts->spills;
  if (counts->searches > 0) {
    out->fragmentation_percent = percent(counts->fragmentation_bytes, out->budget_bytes) / (double)counts->searches;
  }
}

/* Turn a plan, or the status of its failure, into a result. */
static plim_status set_result(const plim_simulation *simulation, plim_status status, int thrashed,
                              plim_simulated *out) {
  if (status == PLIM_ENOFIT) {
    out->end = thrashed ? PLIM_ONLINE_THRASH : PLIM_ONLINE_OOM;
    return PLIM_OK;
  }
  if (status != PLIM_OK) return status;
  int64_t again_ns = out->plan->time_ns - simulation->order->keep_all_ns;
  out->end = again_ns <= plim_simulation_limit_ns(simulation, simulation->order->keep_all_ns) ? PLIM_ONLINE_OK
                                                                                              : PLIM_ONLINE_THRASH;
  out->overhead_percent = percent(again_ns, simulation->order->keep_all_ns);
  out->arena_bytes = out->plan->arena_bytes;
  return PLIM_OK;
}

static plim_status simulate_online(const plim_simulation *simulation, const plim_policy *policy,
                                   plim_simulation_addresses addresses, int64_t budget_bytes, plim_simulated *out) {
  plim_replay_counts counts = {.config.policy = policy};
  *out = (plim_simulated){.budget_bytes = budget_bytes, .arena_bytes = PLIM_NONE, .by = policy->name};
  if (addresses == PLIM_SIMULATE_PLANNED) {
    return plim_fail(simulation->ctx, PLIM_EUSAGE, "planned addresses belong to plans: an online policy has none");
  }
  if (addresses == PLIM_SIMULATE_BYTES && simulation->graph->handles) return run_ideal(simulation, policy, out);
  if (addresses == PLIM_SIMULATE_BYTES) {
    return plim_fail(simulation->ctx, PLIM_EUSAGE,
                     "without addresses a policy needs the handles that a program held; graph %s has none (import dtr "
                     "makes graphs that have)",
                     simulation->graph->name);
  }
  int64_t limit = plim_simulation_limit_ns(simulation, simulation->order->keep_all_ns);
  plim_status status = plim_arena_online(simulation->ctx, simulation->graph, simulation->order, policy,
                                         (plim_replay_limits){budget_bytes, limit}, &counts, &out->plan);
  if (status == PLIM_OK || status == PLIM_ENOFIT) copy_counts(&counts, out);
  if (counts.config.policy) out->by = counts.config.policy->name;
  return set_result(simulation, status, counts.thrashed, out);
}

/* ---- plans ---- */

/* Replay the plan's schedule in the arena, without the plan's addresses, then simulate the policies. Take the faster
 * result, so that a plan is not worse than any policy. `status` is that of making the plan. */
static plim_status replay_in_arena(const plim_simulation *simulation, plim_status status, plim_simulated *out) {
  plim_replay_counts counts = {.thrashed = 0}, online = {.thrashed = 0};
  plim_plan *schedule = out->plan, *simulated = NULL;
  int64_t limit = plim_simulation_limit_ns(simulation, simulation->order->keep_all_ns);
  out->plan = NULL;
  if (status == PLIM_OK) {
    status = plim_arena_replay(simulation->ctx, simulation->graph, schedule, out->budget_bytes, &counts, &out->plan);
  }
  plim_plan_free(schedule);
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  status = plim_arena_online(simulation->ctx, simulation->graph, simulation->order, plim_policy_at(0),
                             (plim_replay_limits){out->budget_bytes, limit}, &online, &simulated);
  if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  if (simulated && (!out->plan || simulated->time_ns < out->plan->time_ns)) {
    plim_plan_free(out->plan);
    out->plan = simulated;
    counts = online;
    out->by = online.config.policy->name;
  } else {
    plim_plan_free(simulated);
  }
  copy_counts(&counts, out);
  return set_result(simulation, out->plan ? PLIM_OK : PLIM_ENOFIT, online.thrashed, out);
}

static plim_status simulate_planned(const plim_simulation *simulation, const plim_plan_options *options,
                                    plim_simulation_addresses addresses, int64_t budget_bytes, plim_simulated *out) {
  plim_plan_options wanted = *options;
  *out = (plim_simulated){.budget_bytes = budget_bytes, .arena_bytes = PLIM_NONE, .by = options->planner};
  wanted.budget_bytes = budget_bytes;
  wanted.unpacked = addresses == PLIM_SIMULATE_BYTES;
  plim_status status = plim_plan_make(simulation->ctx, simulation->graph, simulation->profile, &wanted, &out->plan);
  if (addresses == PLIM_SIMULATE_ARENA && (status == PLIM_OK || status == PLIM_ENOFIT)) {
    PLIM_TRY(replay_in_arena(simulation, status, out));
  } else {
    PLIM_TRY(set_result(simulation, status, 0, out));
  }
  if (out->plan) out->recomputes = out->plan->n_commands - simulation->graph->n_ops;
  return PLIM_OK;
}

plim_simulate_options plim_simulate_options_default(void) {
  return (plim_simulate_options){.struct_bytes = sizeof(plim_simulate_options),
                                 .addresses = PLIM_SIMULATE_PLANNED,
                                 .planning = plim_plan_options_default(),
                                 .budget_bytes = PLIM_BYTES_UNLIMITED};
}

plim_status plim_simulate(const plim_simulation *simulation, const plim_simulate_options *options,
                          plim_simulated *out) {
  PLIM_TRY(plim_check_options(simulation->ctx, "plim_simulate_options", options->struct_bytes, sizeof *options));
  int64_t budget = options->budget_bytes;
  if (budget == PLIM_BYTES_UNLIMITED) PLIM_TRY(plim_simulation_whole(simulation, options->addresses, &budget));
  plim_simulated r = {.plan = NULL};
  plim_status status = options->policy
                           ? simulate_online(simulation, options->policy, options->addresses, budget, &r)
                           : simulate_planned(simulation, &options->planning, options->addresses, budget, &r);
  if (status == PLIM_OK) {
    *out = r;
  } else {
    plim_simulated_free(&r);
  }
  return status;
}

plim_status plim_simulation_sweep(const plim_simulation *simulation, const plim_plan_options *options, int32_t n,
                                  const int64_t *budget, plim_simulated *out) {
  plim_plan **plan = NULL;
  PLIM_TRY(plim_allocate(simulation->ctx, n, sizeof(plim_plan *), &plan));
  plim_status status =
      plim_plan_front(simulation->ctx, simulation->graph, simulation->profile, options, n, budget, plan);
  for (int32_t i = 0; i < n && status == PLIM_OK; i++) {
    out[i] =
        (plim_simulated){.budget_bytes = budget[i], .arena_bytes = PLIM_NONE, .by = options->planner, .plan = plan[i]};
    status = set_result(simulation, plan[i] ? PLIM_OK : PLIM_ENOFIT, 0, &out[i]);
  }
  plim_release(simulation->ctx, plan, n, sizeof(plim_plan *));
  return status;
}

void plim_simulated_free(plim_simulated *result) {
  plim_plan_free(result->plan);
  result->plan = NULL;
}

/* ---- the smallest budget ---- */

typedef struct trial {
  const plim_simulation *s;
  const plim_policy *policy;
  plim_simulation_addresses addresses;
} trial;

static plim_status ideal_gets_through(const trial *t, int64_t bytes, int *yes) {
  const plim_handles *h = t->s->graph->handles;
  int64_t limit = plim_simulation_limit_ns(t->s, plim_handles_total_ns(h));
  const plim_policy *row;
  *yes = 0;
  for (int32_t i = 0; (row = plim_policy_at(i)) && !*yes; i++) {
    plim_online_result r;
    if (!stands_for(t->policy, row)) continue;
    PLIM_TRY(plim_ideal_run(t->s->ctx, h, row, bytes, limit, &r));
    *yes = r.end == PLIM_ONLINE_OK;
  }
  return PLIM_OK;
}

static plim_status gets_through(void *user, int64_t bytes, int *yes) {
  const trial *t = user;
  const plim_simulation *simulation = t->s;
  if (t->addresses == PLIM_SIMULATE_BYTES) return ideal_gets_through(t, bytes, yes);
  return plim_arena_gets_through(
      simulation->ctx, simulation->graph, simulation->order, t->policy,
      (plim_replay_limits){bytes, plim_simulation_limit_ns(simulation, simulation->order->keep_all_ns)}, yes);
}

plim_status plim_simulation_enough(const plim_simulation *simulation, const plim_policy *policy,
                                   plim_simulation_addresses addresses, int64_t budget_bytes, int64_t *bytes) {
  trial t = {simulation, policy, addresses};
  int64_t whole;
  PLIM_TRY(plim_simulation_whole(simulation, addresses, &whole));
  return plim_halve_bytes(gets_through, &t, budget_bytes, whole < INT64_MAX / 2 ? 2 * whole : whole,
                          addresses == PLIM_SIMULATE_BYTES ? 1 : PLIM_ALIGN,
                          policy->forecast ? HALVINGS_OF_MANY : HALVINGS, bytes);
}
