/* Which ways are tried. No way is best at every budget, and each is cheap to replay: the rows of a table are tried and
 * the fastest plan is kept. A way that has spent more time than the best plan so far is given up. */
#include "runtime/arena/replay.h"

#include <stdio.h>
#include <string.h>

#include "runtime/arena/narrow.h"
#include "runtime/arena/one_replay.h"
#include "runtime/graph/check.h"

static const struct {
  int32_t two_ends, frontier, hold_inputs;
} switches[] = {{1, 1, 1}, {0, 1, 1}, {1, 0, 1}, {0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 0, 0}, {0, 0, 0}};
enum { SWITCHES = sizeof switches / sizeof switches[0], HOLD_INPUTS = SWITCHES / 2 /* the first */ };

/* What else a policy that knows the program tries: windows by each cost that counts neighbours, over the distance of
 * the next use and over staleness. */
static const plim_policy windows[] = {
    {"best", "our own", PLIM_COST_NEIGHBOURHOOD, PLIM_PER_NOTHING, 1, PLIM_SEARCH_WINDOW, 1},
    {"best", "our own", PLIM_COST_ANCESTORS, PLIM_PER_NOTHING, 1, PLIM_SEARCH_WINDOW, 1},
    {"best", "our own", PLIM_COST_CLASSES, PLIM_PER_NOTHING, 1, PLIM_SEARCH_WINDOW, 0},
    {"best", "our own", PLIM_COST_NEIGHBOURHOOD, PLIM_PER_NOTHING, 1, PLIM_SEARCH_WINDOW, 0},
    {"best", "our own", PLIM_COST_ANCESTORS, PLIM_PER_NOTHING, 1, PLIM_SEARCH_WINDOW, 0},
};
enum { WINDOWS = sizeof windows / sizeof windows[0] };

enum { WORKSPACE_LIMITS = 4 /* of what goes on: all of the arena, a quarter, a sixteenth, none */ };

typedef struct search {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *schedule;
  int32_t from;         /* of the schedule's steps the first that is played */
  const int32_t *again; /* [n_ops] row of schedule->variant of what is computed again; NULL: that of the first run */
  int64_t budget_bytes, limit_ns;
  plim_replay_counts counts; /* of the plan */
  plim_plan *plan;           /* NULL: none yet */
} search;

static int done(const search *s) {
  return s->plan && s->plan->time_ns == s->schedule->time_ns;
}

static plim_status try_way(search *s, plim_replay_way how) {
  plim_forecast forecast;
  plim_replay_counts counts;
  plim_plan *fresh = NULL;
  int64_t limit_ns = s->plan ? s->plan->time_ns - s->schedule->time_ns - 1 : s->limit_ns;
  if (limit_ns < 0) return PLIM_OK;
  if (done(s)) return PLIM_OK;
  PLIM_TRY(plim_forecast_make(s->ctx, s->graph, s->schedule, s->from, how.hold_inputs, &forecast));
  if (s->again) memcpy(forecast.variant, s->again, (size_t)s->graph->n_ops * sizeof *s->again);
  plim_status status =
      s->from > 0 ? plim_replay_rest(s->ctx, &forecast, s->from, s->budget_bytes, how, limit_ns, &counts, &fresh)
                  : plim_replay_once(s->ctx, &forecast, s->budget_bytes, how, limit_ns, NULL, &counts, &fresh);
  plim_forecast_release(&forecast);
  if (!s->plan && !s->counts.way.policy) s->counts = counts;
  if (status == PLIM_ENOFIT) return PLIM_OK; /* the sentence is that of the last way */
  if (status != PLIM_OK) return status;
  if (s->plan && fresh->time_ns >= s->plan->time_ns) {
    plim_plan_free(fresh);
    return PLIM_OK;
  }
  plim_plan_free(s->plan);
  s->plan = fresh;
  s->counts = counts;
  return PLIM_OK;
}

static plim_status try_switches(search *s, const plim_policy *policy, int n) {
  for (int i = 0; i < n; i++) {
    plim_replay_way how = {policy, switches[i].two_ends, switches[i].frontier, switches[i].hold_inputs};
    PLIM_TRY(try_way(s, how));
  }
  return PLIM_OK;
}

/* As published: Coop places from two ends, the others at one; all pin what a chain reads from its start. */
static plim_replay_way rival_way(const plim_policy *policy) {
  return (plim_replay_way){policy, policy->search == PLIM_SEARCH_WINDOW, 1, 1};
}

/* A policy that knows the program knows what its rivals would do in it, too. */
static plim_status try_rivals(search *s) {
  const plim_policy *rival;
  for (int32_t i = 0; (rival = plim_policy_at(i)); i++) {
    if (!rival->forecast) PLIM_TRY(try_way(s, rival_way(rival)));
  }
  return PLIM_OK;
}

static plim_status try_policy(search *s, const plim_policy *policy) {
  if (!policy->forecast) return try_way(s, rival_way(policy));
  PLIM_TRY(try_switches(s, policy, SWITCHES));
  for (int i = 0; i < WINDOWS; i++) PLIM_TRY(try_switches(s, &windows[i], HOLD_INPUTS));
  return try_rivals(s);
}

static plim_status finish(search *s, plim_status status, plim_replay_counts *counts, plim_plan **out) {
  if (counts) *counts = s->counts;
  if (status == PLIM_OK && !s->plan) return PLIM_ENOFIT;
  if (status != PLIM_OK) {
    plim_plan_free(s->plan);
    return status;
  }
  *out = s->plan;
  return PLIM_OK;
}

plim_status plim_arena_replay(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule,
                              int64_t budget_bytes, plim_replay_counts *counts, plim_plan **out) {
  search s = {.ctx = ctx, .graph = graph, .schedule = schedule, .budget_bytes = budget_bytes, .limit_ns = INT64_MAX};
  PLIM_TRY(plim_plan_check(ctx, graph, schedule));
  return finish(&s, try_switches(&s, plim_policy_at(0), SWITCHES), counts, out);
}

plim_status plim_arena_online(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                              const plim_policy *policy, int64_t budget_bytes, int64_t limit_ns,
                              plim_replay_counts *counts, plim_plan **out) {
  search s = {.ctx = ctx, .graph = graph, .schedule = order, .budget_bytes = budget_bytes, .limit_ns = limit_ns};
  PLIM_TRY(plim_plan_check(ctx, graph, order));
  plim_status status = finish(&s, try_policy(&s, policy), counts, out);
  if (status == PLIM_OK) (void)snprintf((*out)->planner, sizeof(*out)->planner, "online %s", policy->name);
  return status;
}

/* The rest of the plan with variants of at most `limit` bytes of workspace, in its own order, with the repeats that it
 * plans, or in that of the program. */
static plim_status continue_within(search *s, const plim_plan *plan, const plim_profile *profile, int64_t limit,
                                   int own_order) {
  plim_narrowed narrowed;
  plim_status status = plim_narrow(s->ctx, s->graph, plan, profile, s->from, limit, own_order, &narrowed);
  s->schedule = &narrowed.plan;
  s->again = narrowed.again;
  if (status == PLIM_OK) status = try_switches(s, plim_policy_at(0), HOLD_INPUTS);
  s->schedule = NULL;
  s->again = NULL;
  plim_narrowed_release(&narrowed);
  s->schedule = NULL;
  s->again = NULL;
  return status;
}

plim_status plim_arena_continue(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                const plim_profile *profile, int32_t from, int64_t arena_bytes,
                                plim_replay_counts *counts, plim_plan **out) {
  search s = {.ctx = ctx, .graph = graph, .from = from, .budget_bytes = arena_bytes, .limit_ns = INT64_MAX};
  int64_t limit = arena_bytes;
  plim_status status = PLIM_OK;
  for (int i = 0; i < WORKSPACE_LIMITS && status == PLIM_OK && !s.plan; i++, limit /= 4) {
    for (int own_order = 1; own_order >= 0 && status == PLIM_OK; own_order--) {
      status = continue_within(&s, plan, profile, i + 1 < WORKSPACE_LIMITS ? limit : 0, own_order);
    }
    if (!profile) break;
  }
  return finish(&s, status, counts, out);
}

plim_status plim_arena_what_if(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                               const plim_policy *policy, int32_t from, int64_t arena_bytes, plim_replay_counts *counts,
                               plim_plan **out) {
  search s = {.ctx = ctx, .graph = graph, .from = from, .budget_bytes = arena_bytes, .limit_ns = INT64_MAX};
  plim_narrowed narrowed;
  plim_status status = plim_narrow(ctx, graph, plan, NULL, from, arena_bytes, 0, &narrowed);
  s.schedule = &narrowed.plan;
  s.again = narrowed.again;
  if (status == PLIM_OK) status = try_policy(&s, policy);
  plim_narrowed_release(&narrowed);
  return finish(&s, status, counts, out);
}

plim_status plim_arena_replay_watched(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                      plim_replay_way how, int64_t budget_bytes, const plim_arena_watch *watch,
                                      plim_replay_counts *counts, plim_plan **out) {
  plim_forecast forecast;
  PLIM_TRY(plim_forecast_make(ctx, graph, order, 0, how.hold_inputs, &forecast));
  plim_status status = plim_replay_once(ctx, &forecast, budget_bytes, how, INT64_MAX, watch, counts, out);
  plim_forecast_release(&forecast);
  return status;
}
