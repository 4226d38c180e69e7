/* The policy's decisions depend on graph and profile alone, so they are made before the first step; what comes out is a
 * plan, written as the arena was played, that is checked and runs as any other.
 *
 * A policy decides what stays, not which variants run: with arithmetic auto the fastest variants within a limit on
 * their workspace are tried, for several limits, and the fastest run is taken. */
#include "tools/plimsoll/online.h"

enum { WORKSPACE_LIMITS = 9 /* all of the budget, a half, a quarter, ... */ };

/* For each op the fastest variant with at most `limit` bytes of workspace; the one with the least when there is none.
 */
static const plim_variant *choose_variant(const plim_profile *p, int32_t op, int64_t limit) {
  const plim_variant *best = &p->variant[p->first[op]];
  for (int32_t i = p->first[op]; i < p->first[op + 1]; i++) {
    const plim_variant *v = &p->variant[i];
    int fits = v->workspace_bytes <= limit, best_fits = best->workspace_bytes <= limit;
    int faster = v->time_ns < best->time_ns, smaller = v->workspace_bytes < best->workspace_bytes;
    if (fits > best_fits || (fits && best_fits && faster) || (!fits && !best_fits && smaller)) best = v;
  }
  return best;
}

static plim_status profile_within(const plim_graph *graph, const plim_profile *from, int64_t limit,
                                  plim_profile **out) {
  plim_context *ctx = graph->ctx;
  int64_t n = graph->n_ops;
  int32_t *first = NULL;
  plim_variant *variant = NULL;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *first, &first));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *variant, &variant));
  for (int32_t o = 0; o < graph->n_ops; o++) {
    first[o + 1] = o + 1;
    variant[o] = *choose_variant(from, o, limit);
  }
  PLIM_CHECK(plim_profile_make(graph, &from->machine, from->measured, first, variant, out));
done:
  plim_release(ctx, first, n + 1, sizeof *first);
  plim_release(ctx, variant, n, sizeof *variant);
  return status;
}

/* Program order under a profile, its overhead against what all variants could do. */
static plim_status program_order(const session *s, const plim_profile *profile, plim_plan **out) {
  const plim_graph *graph = s->program->graph[PLIM_PROGRAM_TRAIN];
  plim_plan_options wanted = s->planning;
  plim_plan *order = NULL;
  wanted.planner = "keep-all";
  wanted.budget_bytes = INT64_MAX;
  wanted.unpacked = 1;
  wanted.order = PLIM_ORDER_FIXED;
  PLIM_TRY(plim_plan_make(s->ctx, graph, profile, &wanted, &order));
  plim_plan draft = *order;
  draft.keep_all_ns = draft.bound_ns = s->keep_all->keep_all_ns;
  draft.proved = 0;
  plim_status status = plim_plan_from_parts(graph, &draft, out);
  plim_plan_free(order);
  return status;
}

/* Keep in *best the faster of it and what the policy makes of the order. */
static plim_status try_order(session *s, const plim_plan *order, plim_plan **best) {
  int64_t budget = s->planning.budget_bytes < INT64_MAX ? s->planning.budget_bytes : s->keep_all->arena_bytes;
  double limit = s->o->thrash * (double)s->keep_all->time_ns;
  plim_replay_counts counts = {.policy = NULL};
  plim_plan *plan = NULL;
  PLIM_TRY(plim_arena_online(s->ctx, s->program->graph[PLIM_PROGRAM_TRAIN], order, plim_policy_find(s->o->online),
                             budget, limit < 9e18 ? (int64_t)limit : INT64_MAX, &counts, &plan));
  if (*best && (*best)->time_ns <= plan->time_ns) {
    plim_plan_free(plan);
    return PLIM_OK;
  }
  plim_plan_free(*best);
  *best = plan;
  s->replay = counts;
  return PLIM_OK;
}

static plim_status try_profile(session *s, const plim_profile *profile, plim_plan **best) {
  plim_plan *order = NULL;
  PLIM_TRY(program_order(s, profile, &order));
  plim_status status = *best && order->time_ns >= (*best)->time_ns ? PLIM_OK : try_order(s, order, best);
  plim_plan_free(order);
  return status;
}

/* PLIM_ENOFIT when nothing fits under any limit; the sentence is that of the last. */
static plim_status try_limits(session *s, plim_plan **best) {
  const plim_graph *graph = s->program->graph[PLIM_PROGRAM_TRAIN];
  const plim_profile *all = s->program->profile[PLIM_PROGRAM_TRAIN];
  int64_t limit = s->planning.budget_bytes;
  for (int i = 0; i < WORKSPACE_LIMITS; i++, limit /= 2) {
    plim_profile *profile = NULL;
    PLIM_TRY(profile_within(graph, all, i + 1 < WORKSPACE_LIMITS ? limit : 0, &profile));
    plim_status status = try_profile(s, profile, best);
    plim_profile_free(profile);
    if (status != PLIM_OK && status != PLIM_ENOFIT) return status;
  }
  return *best ? PLIM_OK : PLIM_ENOFIT;
}

plim_status online_run(session *s) {
  plim_plan *plan = NULL;
  plim_status status = s->planning.labels == PLIM_LABELS_AUTO
                           ? try_limits(s, &plan)
                           : try_profile(s, s->program->profile[PLIM_PROGRAM_TRAIN], &plan);
  progress_clear(&s->bar);
  if (status == PLIM_OK) return plim_program_adopt(s->program, plan);
  plim_plan_free(plan);
  return status;
}
