/* Tries several ways to decide what is evicted, and keeps the one that recomputes least. None is best at every budget,
 * and each is cheap to replay. So all rows of a table are replayed, with and without an area for small requests, and
 * the fastest plan is kept. A replay whose plan would be slower than the best so far is given up. Then local search
 * improves the fastest configurations. The number of replays depends on the length of the program, not on time. */
#include "runtime/arena/replay_search.h"

#include <stdio.h>

#include "runtime/arena/limit_workspace.h"
#include "runtime/arena/replay.h"
#include "runtime/base/effort.h"
#include "runtime/graph/check/check.h"

/* All combinations of where storages are placed, what is pinned, and whether inputs are held. Those that are usually
 * best come first, so that the others are given up early. The first N_HOLD_INPUTS hold inputs. The first
 * N_HOLD_AND_FRONTIER also have frontier pins: they differ in two_ends alone, and only they are tried with each row of
 * the table below. */
static const plim_replay_config combination[] = {
    {.two_ends = 1, .frontier = 1, .hold_inputs = 1}, {.two_ends = 0, .frontier = 1, .hold_inputs = 1},
    {.two_ends = 1, .frontier = 0, .hold_inputs = 1}, {.two_ends = 0, .frontier = 0, .hold_inputs = 1},
    {.two_ends = 1, .frontier = 1, .hold_inputs = 0}, {.two_ends = 0, .frontier = 1, .hold_inputs = 0},
    {.two_ends = 1, .frontier = 0, .hold_inputs = 0}, {.two_ends = 0, .frontier = 0, .hold_inputs = 0}};
enum { COMBINATIONS = sizeof combination / sizeof combination[0], N_HOLD_INPUTS = 4, N_HOLD_AND_FRONTIER = 2 };

/* More rows for a policy that knows the program's order: windows by each cost that counts neighbours, absolute or for
 * each byte, divided by the distance of the next use or by staleness. The last ones, which count all missing storages,
 * take the longest. */
#define ROW(cost, size, stale, forecast) \
  { "best", "our own", PLIM_COST_##cost, PLIM_PER_##size, PLIM_STALE_##stale, PLIM_SEARCH_WINDOW, forecast }
static const plim_policy windows[] = {
    ROW(CLASSES, BYTES, PLAIN, 1),        ROW(ANCESTORS, NOTHING, ROOT, 1),  ROW(NEIGHBOURHOOD, BYTES, ROOT, 1),
    ROW(NEIGHBOURHOOD, NOTHING, NOT, 1),  ROW(NEIGHBOURHOOD, BYTES, NOT, 1), ROW(CLASSES, NOTHING, ROOT, 1),
    ROW(ANCESTORS, NOTHING, NOT, 1),      ROW(ANCESTORS, NOTHING, PLAIN, 1), ROW(NEIGHBOURHOOD, NOTHING, PLAIN, 1),
    ROW(ANCESTORS, NOTHING, ROOT, 0),     ROW(ANCESTORS, NOTHING, PLAIN, 0), ROW(NEIGHBOURHOOD, NOTHING, PLAIN, 0),
    ROW(NEIGHBOURHOOD, BYTES, PLAIN, 0),  ROW(ANCESTORS, BYTES, ROOT, 0),    ROW(ANCESTORS, BYTES, PLAIN, 0),
    ROW(NEIGHBOURHOOD, NOTHING, ROOT, 0), ROW(ANCESTORS, BYTES, NOT, 0)};
#undef ROW
enum { WINDOWS = sizeof windows / sizeof windows[0] };

/* Workspace limits of the remaining commands, tried in turn: all of the arena, a quarter, a sixteenth, none. */
enum { WORKSPACE_LIMITS = 4 };

/* Effort of the rows above and of the trials of local search, in simulated commands. Long programs get fewer of both.
 */
enum { ROW_COMMANDS = 50000, TRIAL_COMMANDS = 150000, TRIALS_MAX = 160, LOCAL_SEARCHES = 2 };

/* The replays of one call: their input, and the best of what they yield. A search is what the arena does for room in a
 * replay. */
typedef struct trial_set {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_plan *schedule;
  int32_t from;         /* first command of the schedule that is simulated */
  const int32_t *again; /* [n_ops] row of schedule->variant for recomputations; NULL: that of the first run */
  plim_replay_limits limits;
  int64_t area_bytes;        /* with from > 0, of the area for small requests; 0: there is none */
  int32_t any;               /* 1: stop at the first plan */
  plim_replay_config first;  /* the first that was simulated; policy NULL: none yet */
  plim_replay_counts counts; /* of the plan; without one of the last simulation, as the sentence in the context */
  plim_plan *plan;           /* NULL: none yet */
  /* Without [0] and with [1] an area for small requests. A configuration is given up when it is slower than the best
   * with the same choice, not than the best of all: local search may make the slower choice the faster one. */
  struct area_choice {
    int64_t best_ns; /* of a plan; 0: none yet */
    int32_t n_local_searches;
    struct local_search { /* the fastest configurations of different window policies, fastest first */
      plim_replay_config config;
      int64_t time_ns, searches;
    } local_search[LOCAL_SEARCHES];
  } by_area[2];
  plim_forecast forecast[2]; /* [hold_inputs] made when first used */
} trial_set;

static int done(const trial_set *trials) {
  return trials->plan &&
         (trials->any || trials->plan->time_ns == trials->schedule->time_ns || plim_effort_over(trials->ctx, 0));
}

static plim_status make_forecast(const trial_set *trials, int32_t hold_inputs, plim_forecast *out) {
  PLIM_TRY(plim_forecast_make(trials->ctx, trials->graph, trials->schedule, trials->from, hold_inputs, out));
  if (trials->again) plim_forecast_again(out, trials->again);
  return PLIM_OK;
}

static void release_forecasts(trial_set *trials) {
  for (int i = 0; i < 2; i++) plim_forecast_release(&trials->forecast[i]);
}

/* Simulate one configuration, and keep its plan when it is the fastest.
 *   time_ns  out  time of the plan; PLIM_TIME_INFINITE: there was no room, or recomputing took more than limit_ns */
static plim_status simulate_config(trial_set *trials, const plim_replay_config *config, int64_t limit_ns,
                                   plim_replay_counts *counts, int64_t *time_ns) {
  const plim_replay_limits limits = {.arena_bytes = trials->limits.arena_bytes, .recomputed_ns = limit_ns};
  plim_forecast *forecast = &trials->forecast[config->hold_inputs];
  plim_plan *fresh = NULL;
  *time_ns = PLIM_TIME_INFINITE;
  if (!forecast->graph) PLIM_TRY(make_forecast(trials, config->hold_inputs, forecast));
  plim_status status = trials->from > 0
                           ? plim_replay_rest(trials->ctx, forecast, trials->from, &limits, config, counts, &fresh)
                           : plim_replay_once(trials->ctx, forecast, &limits, config, NULL, counts, &fresh);
  if (!trials->first.policy) trials->first = *config;
  if (!trials->plan) trials->counts = *counts;
  if (status == PLIM_ENOFIT) return PLIM_OK;
  if (status == PLIM_ECANCEL && trials->plan) return PLIM_OK; /* the fastest so far */
  if (status != PLIM_OK) return status;
  *time_ns = fresh->time_ns;
  if (trials->plan && fresh->time_ns >= trials->plan->time_ns) {
    plim_plan_free(fresh);
    return PLIM_OK;
  }
  plim_plan_free(trials->plan);
  trials->plan = fresh;
  trials->counts = *counts;
  return PLIM_OK;
}

/* Keep the fastest configurations as starts of local searches, at most one of each policy. */
static void remember(struct area_choice *choice, const plim_replay_config *config, int64_t time_ns, int64_t searches) {
  struct local_search fresh = {*config, time_ns, searches};
  int32_t at = 0;
  while (at < choice->n_local_searches && choice->local_search[at].config.policy != config->policy) at++;
  if (at == LOCAL_SEARCHES) at--;
  if (at < choice->n_local_searches && choice->local_search[at].time_ns <= time_ns) return;
  if (at == choice->n_local_searches) choice->n_local_searches++;
  for (; at > 0 && choice->local_search[at - 1].time_ns > time_ns; at--) {
    choice->local_search[at] = choice->local_search[at - 1];
  }
  choice->local_search[at] = fresh;
}

/* Try one configuration. It is given up when it takes longer than the best one with the same choice of small_area. */
static plim_status try_one(trial_set *trials, plim_replay_config config) {
  struct area_choice *choice = &trials->by_area[config.small_area];
  plim_replay_counts counts;
  int64_t time_ns, limit_ns = trials->limits.recomputed_ns;
  if (done(trials)) return PLIM_OK;
  if (trials->from == 0 && plim_effort_over(trials->ctx, 0)) {
    return plim_fail(trials->ctx, PLIM_ECANCEL, "stopped before a plan was found");
  }
  if (choice->best_ns > 0) limit_ns = choice->best_ns - trials->schedule->time_ns - 1;
  PLIM_TRY(simulate_config(trials, &config, limit_ns, &counts, &time_ns));
  if (time_ns == PLIM_TIME_INFINITE) return PLIM_OK;
  choice->best_ns = time_ns;
  if (config.policy->search == PLIM_SEARCH_WINDOW && counts.searches > 0) {
    remember(choice, &config, time_ns, counts.searches);
  }
  return PLIM_OK;
}

/* Try a configuration without and with an area for small requests: neither is always better. A replay from the middle
 * of a plan uses the area that the arena has. */
static plim_status try_config(trial_set *trials, plim_replay_config config) {
  config.area_bytes = trials->area_bytes;
  config.small_area = trials->area_bytes > 0;
  PLIM_TRY(try_one(trials, config));
  config.small_area = 1;
  return trials->from > 0 ? PLIM_OK : try_one(trials, config);
}

/* Try the policy with the first n combinations. */
static plim_status try_combinations(trial_set *trials, const plim_policy *policy, int n) {
  for (int i = 0; i < n; i++) {
    plim_replay_config config = combination[i];
    config.policy = policy;
    PLIM_TRY(try_config(trials, config));
  }
  return PLIM_OK;
}

/* The configuration of a published policy: Coop places at two ends, the others at one; all use frontier pins. */
static plim_replay_config rival_config(const plim_policy *policy) {
  return (plim_replay_config){
      .policy = policy, .two_ends = policy->search == PLIM_SEARCH_WINDOW, .frontier = 1, .hold_inputs = 1};
}

/* A policy that knows the program's order also tries the published configurations of all other policies. */
static plim_status try_rivals(trial_set *trials) {
  const plim_policy *rival;
  for (int32_t i = 0; (rival = plim_policy_at(i)); i++) {
    if (!rival->forecast) PLIM_TRY(try_config(trials, rival_config(rival)));
  }
  return PLIM_OK;
}

static plim_status try_windows(trial_set *trials) {
  for (int64_t i = 0; i < WINDOWS && i * N_HOLD_AND_FRONTIER * trials->schedule->n_commands < ROW_COMMANDS; i++) {
    PLIM_TRY(try_combinations(trials, &windows[i], N_HOLD_AND_FRONTIER));
  }
  return PLIM_OK;
}

/* The next state of the generator of perturbations; its upper bits are random. Source: MMIX, Knuth. Not
 * plim_random_next: other numbers would change the plans. */
static uint64_t next_random(uint64_t state) {
  return state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/* Add or replace one perturbation of the configuration: a window drawn at random for a search drawn at random. */
static void perturb(struct local_search *local, uint64_t *random, plim_replay_config *out) {
  *random = next_random(*random);
  plim_perturbation fresh = {(int32_t)(1 + (*random >> 33) % (uint64_t)local->searches), (int32_t)(*random >> 29 & 7)};
  *out = local->config;
  int32_t at = 0;
  while (at < out->n_perturbations && out->perturbation[at].search != fresh.search) at++;
  if (at == PLIM_PERTURBATIONS_MAX) at = (int32_t)(*random >> 24 & (PLIM_PERTURBATIONS_MAX - 1));
  if (at == out->n_perturbations) out->n_perturbations++;
  out->perturbation[at] = fresh;
}

/* Local search: simulate each perturbed configuration to its end. A trial that takes longer than the configuration that
 * it starts from is given up. */
static plim_status improve(trial_set *trials, struct local_search *local) {
  int64_t n = TRIAL_COMMANDS / trials->schedule->n_commands;
  uint64_t random = 1;
  for (int64_t i = 0; i < n && i < TRIALS_MAX && local->time_ns > trials->schedule->time_ns && !done(trials); i++) {
    plim_replay_counts counts;
    plim_replay_config config;
    int64_t time_ns;
    perturb(local, &random, &config);
    PLIM_TRY(simulate_config(trials, &config, local->time_ns - trials->schedule->time_ns - 1, &counts, &time_ns));
    if (time_ns < local->time_ns) *local = (struct local_search){config, time_ns, counts.searches};
  }
  return PLIM_OK;
}

/* The configurations that are usually best come first, so that the others are given up early. */
static plim_status try_everything(trial_set *trials, const plim_policy *policy) {
  PLIM_TRY(try_combinations(trials, policy, COMBINATIONS));
  PLIM_TRY(try_windows(trials));
  PLIM_TRY(try_rivals(trials));
  for (int k = 0; k < 2 * LOCAL_SEARCHES && !done(trials); k++) {
    struct area_choice *choice = &trials->by_area[k / LOCAL_SEARCHES];
    if (k % LOCAL_SEARCHES < choice->n_local_searches) {
      PLIM_TRY(improve(trials, &choice->local_search[k % LOCAL_SEARCHES]));
    }
  }
  return PLIM_OK;
}

/* When no configuration yields a plan, the first is simulated once more: it is the one that is usually best, or that of
 * the publication, and sentence and counts are to be its own. */
static plim_status try_policy(trial_set *trials, const plim_policy *policy) {
  plim_replay_counts counts;
  int64_t time_ns;
  PLIM_TRY(policy->forecast ? try_everything(trials, policy) : try_config(trials, rival_config(policy)));
  return trials->plan ? PLIM_OK
                      : simulate_config(trials, &trials->first, trials->limits.recomputed_ns, &counts, &time_ns);
}

static plim_status finish(trial_set *trials, plim_status status, plim_replay_counts *counts, plim_plan **out) {
  release_forecasts(trials);
  if (counts) *counts = trials->counts;
  if (status == PLIM_OK && !trials->plan) return PLIM_ENOFIT;
  if (status != PLIM_OK) {
    plim_plan_free(trials->plan);
    return status;
  }
  *out = trials->plan;
  return PLIM_OK;
}

plim_status plim_arena_replay(plim_context *ctx, const plim_graph *graph, const plim_plan *schedule,
                              int64_t budget_bytes, plim_replay_counts *counts, plim_plan **out) {
  trial_set trials = {.ctx = ctx, .graph = graph, .schedule = schedule, .limits = {budget_bytes, PLIM_TIME_UNLIMITED}};
  PLIM_TRY(plim_plan_check(ctx, graph, schedule));
  return finish(&trials, try_combinations(&trials, plim_policy_at(0), COMBINATIONS), counts, out);
}

plim_status plim_arena_online(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                              const plim_policy *policy, plim_replay_limits limits, plim_replay_counts *counts,
                              plim_plan **out) {
  trial_set trials = {.ctx = ctx, .graph = graph, .schedule = order, .limits = limits};
  PLIM_TRY(plim_plan_check(ctx, graph, order));
  plim_status status = finish(&trials, try_policy(&trials, policy), counts, out);
  if (status == PLIM_OK) (void)snprintf((*out)->planner, sizeof(*out)->planner, "online %s", policy->name);
  return status;
}

plim_status plim_arena_gets_through(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                    const plim_policy *policy, plim_replay_limits limits, int *yes) {
  trial_set trials = {.ctx = ctx, .graph = graph, .schedule = order, .limits = limits, .any = 1};
  plim_plan *plan = NULL;
  PLIM_TRY(plim_plan_check(ctx, graph, order));
  plim_status status = finish(&trials, try_policy(&trials, policy), NULL, &plan);
  plim_plan_free(plan);
  *yes = status == PLIM_OK;
  return status == PLIM_ENOFIT ? PLIM_OK : status;
}

/* Replay the rest of the plan with variants of at most `limit` bytes of workspace.
 *   own_order  in  1: the plan's order, with its recomputations; 0: program order */
static plim_status continue_within(trial_set *trials, const plim_plan *plan, const plim_profile *profile, int64_t limit,
                                   int own_order) {
  plim_limited_plan limited;
  plim_status status =
      plim_limit_workspace(trials->ctx, trials->graph, plan, profile, trials->from, limit, own_order, &limited);
  trials->schedule = &limited.plan;
  trials->again = limited.again;
  if (status == PLIM_OK) status = try_combinations(trials, plim_policy_at(0), N_HOLD_INPUTS);
  release_forecasts(trials);
  plim_limited_plan_release(&limited);
  trials->schedule = NULL;
  trials->again = NULL;
  return status;
}

plim_status plim_arena_continue(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                const plim_arena_change *change, plim_replay_counts *counts, plim_plan **out) {
  trial_set trials = {
      .ctx = ctx, .graph = graph, .from = change->from, .limits = {change->arena_bytes, PLIM_TIME_UNLIMITED}};
  int64_t limit = change->arena_bytes;
  plim_status status = PLIM_OK;
  for (int i = 0; i < WORKSPACE_LIMITS && status == PLIM_OK && !trials.plan; i++, limit /= 4) {
    for (int own_order = 1; own_order >= 0 && status == PLIM_OK; own_order--) {
      status = continue_within(&trials, plan, change->profile, i + 1 < WORKSPACE_LIMITS ? limit : 0, own_order);
    }
    if (!change->profile) break;
  }
  return finish(&trials, status, counts, out);
}

plim_status plim_arena_what_if(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                               const plim_arena_change *change, plim_replay_counts *counts, plim_plan **out) {
  const int32_t from = change->from;
  trial_set trials = {.ctx = ctx, .graph = graph, .from = from, .limits = {change->arena_bytes, PLIM_TIME_UNLIMITED}};
  trials.area_bytes = from > 0 ? change->area_bytes : 0;
  plim_limited_plan limited;
  plim_status status = plim_limit_workspace(ctx, graph, plan, NULL, from, change->arena_bytes, 0, &limited);
  trials.schedule = &limited.plan;
  trials.again = limited.again;
  if (status == PLIM_OK) status = try_policy(&trials, change->policy);
  release_forecasts(&trials);
  plim_limited_plan_release(&limited);
  return finish(&trials, status, counts, out);
}

plim_status plim_arena_replay_watched(plim_context *ctx, const plim_graph *graph, const plim_plan *order,
                                      const plim_replay_config *config, const plim_replay_limits *limits,
                                      const plim_arena_watch *watch, plim_replay_counts *counts, plim_plan **out) {
  plim_forecast forecast;
  PLIM_TRY(plim_forecast_make(ctx, graph, order, 0, config->hold_inputs, &forecast));
  plim_status status = plim_replay_once(ctx, &forecast, limits, config, watch, counts, out);
  plim_forecast_release(&forecast);
  return status;
}
