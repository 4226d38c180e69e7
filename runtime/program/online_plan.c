/* Makes a plan without a planner's search: a policy drops results when the arena is full, and recomputes them when they
 * are needed again. Its decisions depend on graph and profile alone, so the whole step is simulated before it runs, and
 * the simulation is the plan. To choose variants, the profile is reduced to one variant of each op. The policy is
 * simulated on program order. */
#include "runtime/program/online_plan.h"

#include "runtime/base/halving.h"

enum { WORKSPACE_LIMITS = 9 /* all of the budget, a half, a quarter, ..., none */, HALVINGS = 7 };

typedef struct decision {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_online_plan_options *options;
  int64_t keep_all_ns; /* time of every op once, with its fastest variant of any numerics key */
  plim_replay_counts counts;
  plim_plan *best; /* NULL: none yet */
} decision;

/* The op's variant within the limit, with the numerics key that it must have (NULL: any). When no variant has it, the
 * first variant: planning refuses it. */
static const plim_variant *choose_variant(const plim_profile *profile, int32_t op, int64_t limit,
                                          const char *numerics_key) {
  const plim_variant *own = &profile->variant[profile->first[op]];
  const int32_t n = profile->first[op + 1] - profile->first[op];
  const plim_variant *best = plim_variants_within(own, n, numerics_key, limit, NULL);
  return best ? best : own;
}

static plim_status profile_within(const decision *deciding, const plim_profile *from, int64_t limit,
                                  plim_profile **out) {
  const plim_plan_options *planning = &deciding->options->planning;
  const char *const *numerics_key = planning->numerics == PLIM_NUMERICS_GIVEN ? planning->numerics_key : NULL;
  const plim_graph *graph = deciding->graph;
  plim_context *ctx = deciding->ctx;
  int64_t n = graph->n_ops;
  int32_t *first = NULL;
  plim_variant *variant = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *first, &first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *variant, &variant));
  for (int32_t o = 0; o < graph->n_ops; o++) {
    first[o + 1] = o + 1;
    variant[o] = *choose_variant(from, o, limit, numerics_key ? numerics_key[o] : NULL);
  }
  PLIM_TRY_OR_DONE(plim_profile_make(graph, &from->machine, from->measured, first, variant, out));
done:
  plim_release(ctx, first, n + 1, sizeof *first);
  plim_release(ctx, variant, n, sizeof *variant);
  return status;
}

/* Make a plan of program order under a profile, without addresses. */
static plim_status program_order(const decision *deciding, const plim_profile *profile, plim_plan **out) {
  plim_plan_options wanted = deciding->options->planning;
  wanted.paging = NULL; /* a policy decides in one arena */
  wanted.planner = "keep-all";
  wanted.budget_bytes = PLIM_BYTES_UNLIMITED;
  wanted.unpacked = 1;
  wanted.order = PLIM_ORDER_FIXED;
  wanted.front_folder = NULL;
  return plim_plan_make(deciding->ctx, deciding->graph, profile, &wanted, out);
}

/* Make a plan of program order whose overhead is relative to the fastest variants of all limits. */
static plim_status compared_order(const decision *deciding, const plim_profile *profile, plim_plan **out) {
  plim_plan *order = NULL;
  PLIM_TRY(program_order(deciding, profile, &order));
  plim_plan draft = *order;
  /* Keep-all prefers the least workspace among nearly equal times, so it may be a little slower than this order. */
  draft.keep_all_ns = draft.bound_ns = deciding->keep_all_ns < order->time_ns ? deciding->keep_all_ns : order->time_ns;
  draft.proved = 0;
  plim_status status = plim_plan_from_parts(deciding->graph, &draft, out);
  plim_plan_free(order);
  return status;
}

/* Simulate the policy on an order. Keep its plan when it is faster than the best so far. */
static plim_status try_order(decision *deciding, const plim_plan *order) {
  const plim_online_plan_options *o = deciding->options;
  double limit = o->thrash * (double)deciding->keep_all_ns;
  plim_replay_counts counts = {.thrashed = 0};
  plim_plan *plan = NULL;
  PLIM_TRY(plim_arena_online(
      deciding->ctx, deciding->graph, order, o->policy,
      (plim_replay_limits){o->planning.budget_bytes, limit < 9e18 ? (int64_t)limit : PLIM_TIME_UNLIMITED}, &counts,
      &plan));
  if (deciding->best && deciding->best->time_ns <= plan->time_ns) {
    plim_plan_free(plan);
    return PLIM_OK;
  }
  plim_plan_free(deciding->best);
  deciding->best = plan;
  deciding->counts = counts;
  return PLIM_OK;
}

static plim_status try_profile(decision *deciding, const plim_profile *profile) {
  plim_plan *order = NULL;
  PLIM_TRY(compared_order(deciding, profile, &order));
  plim_status status =
      deciding->best && order->time_ns >= deciding->best->time_ns ? PLIM_OK : try_order(deciding, order);
  plim_plan_free(order);
  return status;
}

/* Try all limits on workspace. PLIM_ENOFIT when no limit yields a plan; the sentence is that of the last limit. A
 * cancel ends the tries with the fastest plan so far. */
static plim_status try_limits(decision *deciding, const plim_profile *all) {
  int64_t limit = deciding->options->planning.budget_bytes;
  for (int i = 0; i < WORKSPACE_LIMITS; i++, limit /= 2) {
    plim_profile *profile = NULL;
    PLIM_TRY(profile_within(deciding, all, i + 1 < WORKSPACE_LIMITS ? limit : 0, &profile));
    plim_status status = try_profile(deciding, profile);
    plim_profile_free(profile);
    if (status == PLIM_ECANCEL && deciding->best) return PLIM_OK;
    if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  }
  return deciding->best ? PLIM_OK : PLIM_ENOFIT;
}

static plim_status find_keep_all_ns(decision *deciding, const plim_profile *profile) {
  plim_plan *order = NULL;
  PLIM_TRY(program_order(deciding, profile, &order));
  deciding->keep_all_ns = order->keep_all_ns;
  plim_plan_free(order);
  return PLIM_OK;
}

plim_online_plan_options plim_online_plan_options_default(void) {
  return (plim_online_plan_options){.struct_bytes = sizeof(plim_online_plan_options),
                                    .policy = plim_policy_at(0),
                                    .planning = plim_plan_options_default(),
                                    .thrash = 1};
}

plim_status plim_online_plan_make(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                  const plim_online_plan_options *options, plim_replay_counts *counts,
                                  plim_plan **out) {
  decision deciding = {.ctx = ctx, .graph = graph, .options = options};
  PLIM_TRY(plim_check_options(ctx, "plim_online_plan_options", options->struct_bytes, sizeof *options));
  if (options->planning.budget_bytes == PLIM_BYTES_UNLIMITED) {
    return plim_fail(ctx, PLIM_EUSAGE, "an online policy needs a budget: without one everything stays");
  }
  PLIM_TRY(find_keep_all_ns(&deciding, profile));
  int choice = options->planning.numerics == PLIM_NUMERICS_AUTO || options->planning.numerics == PLIM_NUMERICS_GIVEN;
  plim_status status = choice ? try_limits(&deciding, profile) : try_profile(&deciding, profile);
  if (status != PLIM_OK) {
    plim_plan_free(deciding.best);
    return status;
  }
  if (counts) *counts = deciding.counts;
  *out = deciding.best;
  return PLIM_OK;
}

typedef struct trial {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_profile *profile;
  const plim_online_plan_options *options;
} trial;

static plim_status fits(void *user, int64_t bytes, int *yes) {
  const trial *t = user;
  plim_online_plan_options tried = *t->options;
  plim_plan *plan = NULL;
  tried.planning.budget_bytes = bytes;
  plim_status status = plim_online_plan_make(t->ctx, t->graph, t->profile, &tried, NULL, &plan);
  plim_plan_free(plan);
  *yes = status == PLIM_OK;
  return status == PLIM_ENOFIT ? PLIM_OK : status;
}

plim_status plim_online_plan_smallest(plim_context *ctx, const plim_graph *graph, const plim_profile *profile,
                                      const plim_online_plan_options *options, int64_t bytes_max, int64_t *bytes) {
  trial t = {ctx, graph, profile, options};
  PLIM_TRY(plim_check_options(ctx, "plim_online_plan_options", options->struct_bytes, sizeof *options));
  return plim_halve_bytes(fits, &t, options->planning.budget_bytes, bytes_max, PLIM_ALIGN, HALVINGS, bytes);
}
