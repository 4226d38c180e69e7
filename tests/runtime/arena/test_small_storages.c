/* Small storages and their area: who is small, what happens when the area is full or in the way, and that no run is
 * lost or costlier for it. */
#include "runtime/arena/small.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "planner/planner.h"
#include "runtime/arena/residency.h"
#include "runtime/graph/check/check.h"
#include "runtime/inspect/decision_log.h"
#include "tests/support/dtr_logs.h"
#include "tests/support/failing_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { UNIT = 512, BIG = 2048 * UNIT };

static plim_context *ctx;

static void setup(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}

static void teardown(void) {
  plim_context_free(ctx);
}
TestSuite(small, .init = setup, .fini = teardown);

/* A program with the order it runs in. */
typedef struct program {
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *order;
} program;

static program open_graph(plim_graph *graph) {
  program p = {.graph = graph};
  plim_plan_options options = plim_plan_options_default();
  options.unpacked = 1;
  options.order = PLIM_ORDER_FIXED;
  cr_assert_eq(plim_profile_from_graph(graph, &p.profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, graph, p.profile, &options, &p.order), PLIM_OK);
  return p;
}

static program open_log(plim_text *log) {
  plim_graph *graph = dtr_graph(ctx, log->chars);
  plim_text_free(log);
  return open_graph(graph);
}

static void close_program(program *p) {
  plim_plan_free(p->order);
  plim_profile_free(p->profile);
  plim_graph_free(p->graph);
}

static plim_text begin_log(void) {
  plim_text log = {.ctx = ctx};
  plim_text_add(&log, "{\"ANNOTATION\":\"START\",\"INSTRUCTION\":\"ANNOTATE\"}\n");
  dtr_constant(&log, "c", UNIT);
  return log;
}

/* How a policy simulates as published, with an area or without. */
static plim_replay_config config_of(const plim_policy *policy, int small_area) {
  return (plim_replay_config){.policy = policy,
                              .two_ends = policy->search == PLIM_SEARCH_WINDOW,
                              .frontier = 1,
                              .hold_inputs = 1,
                              .small_area = small_area};
}

/* Time of what is recomputed, -1: it does not end. */
static int64_t simulate(const program *p, plim_replay_config config, int64_t bytes, const plim_arena_watch *watch,
                        plim_replay_counts *counts) {
  const char *policy = config.policy->name;
  plim_plan *plan = NULL;
  const plim_replay_limits limits = {bytes, p->order->time_ns};
  plim_status status = plim_arena_replay_watched(ctx, p->graph, p->order, &config, &limits, watch, counts, &plan);
  if (status == PLIM_ENOFIT) return -1;
  cr_assert_eq(status, PLIM_OK, "%s: %s", policy, plim_context_error(ctx));
  cr_assert_eq(plim_plan_check(ctx, p->graph, plan), PLIM_OK, "%s: %s", policy, plim_context_error(ctx));
  cr_assert_leq(plan->arena_bytes, bytes);
  if (!config.small_area) cr_assert_eq(counts->small_area_bytes, 0);
  int64_t again_ns = plan->time_ns - p->order->time_ns;
  plim_plan_free(plan);
  return again_ns;
}

/* ---- networks ---- */

enum { LAYERS = 12 };

static const char *numbered(char name[16], const char *stem, int i) {
  (void)snprintf(name, 16, "%s%d", stem, i);
  return name;
}

/* One result beside two statistics: dtr_call gives all results one size. */
static void call_with_statistics(plim_text *log, int i, int64_t bytes, int64_t time_ns) {
  plim_text_format(log,
                   "{\"INSTRUCTION\":\"CALL\",\"NAME\":\"norm\",\"ARGS\":[\"x%d\"],"
                   "\"RESULT\":[\"y%d\",\"m%d\",\"v%d\"],\"TIME\":\"%lld\"}\n",
                   i, i, i, i, (long long)time_ns);
  for (int k = 0; k < 3; k++) {
    plim_text_format(log,
                     "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"%c%d\",\"MEMORY\":\"%lld\"}\n"
                     "{\"INSTRUCTION\":\"ALIAS\",\"NAME\":\"%c%d\",\"ALIAS\":\"-1\"}\n",
                     "ymv"[k], i, (long long)(k == 0 ? bytes : 100), "ymv"[k], i);
  }
}

/* Layers of convolution and normalisation with their backward passes; gradients of weights, some of them small, stay.
 */
static program open_network(uint64_t seed) {
  plim_text log = begin_log();
  char a[64], b[16], c[16];
  int64_t bytes[LAYERS + 1];
  uint64_t random = seed;
  for (int i = 1; i <= LAYERS; i++) {
    bytes[i] = test_random_between(&random, 2000, 4000) * UNIT;
    (void)snprintf(a, sizeof a, i == 1 ? "c" : "y%d", i - 1);
    dtr_call(&log, "conv", a, numbered(b, "x", i), bytes[i], -1, test_random_between(&random, 10, 90));
    call_with_statistics(&log, i, bytes[i], test_random_between(&random, 5, 20));
  }
  dtr_call(&log, "loss", numbered(b, "y", LAYERS), numbered(c, "g", LAYERS), bytes[LAYERS], -1, 5);
  for (int i = LAYERS; i >= 1; i--) {
    (void)snprintf(a, sizeof a, "g%d x%d m%d v%d", i, i, i, i);
    dtr_call(&log, "norm_backward", a, numbered(b, "h", i), bytes[i], -1, test_random_between(&random, 5, 20));
    (void)snprintf(a, sizeof a, i == 1 ? "h1 c" : "h%d y%d", i, i - 1);
    dtr_call(&log, "weights", a, numbered(b, "w", i), test_random_between(&random, 1, 9) * UNIT, -1, 9);
    if (i > 1) dtr_call(&log, "conv_backward", numbered(b, "h", i), numbered(c, "g", i - 1), bytes[i - 1], -1, 40);
    static const char *const gone[] = {"g", "x", "y", "m", "v", "h"};
    for (size_t k = 0; k < sizeof gone / sizeof *gone; k++) dtr_release(&log, numbered(b, gone[k], i));
  }
  return open_log(&log);
}

static int64_t peak_of(const program *p) {
  int64_t peak;
  cr_assert_eq(plim_handles_peak(p->graph->handles, 1, &peak), PLIM_OK);
  return peak;
}

/* A policy's run is the better of both simulates. Returns whether there was an area. */
static int check_better_of_both(const program *p, const plim_policy *policy, int64_t bytes) {
  plim_replay_counts counts;
  plim_plan *plan = NULL;
  int64_t without = simulate(p, config_of(policy, 0), bytes, NULL, &counts);
  int64_t with = simulate(p, config_of(policy, 1), bytes, NULL, &counts);
  int64_t least = with < 0 || (without >= 0 && without < with) ? without : with;
  int area = counts.small_area_bytes > 0;
  plim_status status = plim_arena_online(ctx, p->graph, p->order, policy,
                                         (plim_replay_limits){bytes, p->order->time_ns}, &counts, &plan);
  cr_assert_eq(status, least < 0 ? PLIM_ENOFIT : PLIM_OK, "%s: %s", policy->name, plim_context_error(ctx));
  if (!plan) return area;
  cr_expect_eq(plan->time_ns - p->order->time_ns, least, "%s", policy->name);
  plim_plan_free(plan);
  return area;
}

/* ---- who is small ---- */

static void forecast_of(const program *p, plim_forecast *out) {
  cr_assert_eq(plim_forecast_make(ctx, p->graph, p->order, 0, 1, out), PLIM_OK);
}

/* Of 1,024 bytes written one may be small. */
Test(small, storages_are_the_smallest_that_are_together_a_thousandth_of_all) {
  plim_text log = begin_log();
  plim_forecast f;
  dtr_call(&log, "f", "c", "a", 1023 * 4 * UNIT, -1, 1);
  dtr_call(&log, "f", "c", "s", UNIT - 100, -1, 1);
  dtr_call(&log, "f", "s", "t", 2 * UNIT, -1, 1);
  dtr_release(&log, "s");
  dtr_call(&log, "f", "t", "u", UNIT, -1, 1);
  program p = open_log(&log);
  forecast_of(&p, &f);
  cr_expect_eq(f.small_bytes, 2 * UNIT, "4 units of 4,096 are small");
  cr_expect_eq(f.small_peak_bytes, 3 * UNIT, "s is gone when u comes; t and u stay to the end");
  plim_forecast_release(&f);
  close_program(&p);
}

Test(small, storages_of_one_size_are_small_all_together_or_not_at_all) {
  plim_text log = begin_log();
  plim_forecast f;
  dtr_call(&log, "f", "c", "a", 1024 * 3 * UNIT, -1, 1);
  dtr_call(&log, "f", "c", "s", UNIT, -1, 1);
  for (int i = 0; i < 3; i++) dtr_call(&log, "f", "c", i == 0 ? "x" : i == 1 ? "y" : "z", 2 * UNIT, -1, 1);
  program p = open_log(&log);
  forecast_of(&p, &f);
  cr_expect_eq(f.small_bytes, UNIT, "one of three would still be within the share");
  cr_expect_eq(f.small_peak_bytes, UNIT);
  plim_forecast_release(&f);
  close_program(&p);
}

Test(small, none_is_where_all_are_of_one_size_and_then_there_is_no_area) {
  plim_text log = begin_log();
  plim_forecast f;
  plim_replay_counts counts;
  plim_replay_config config = {.policy = plim_policy_find("coop"), .hold_inputs = 1, .small_area = 1};
  plim_plan *plan = NULL;
  dtr_call(&log, "f", "c", "a", UNIT, -1, 1);
  dtr_call(&log, "f", "a", "b", UNIT, -1, 1);
  program p = open_log(&log);
  forecast_of(&p, &f);
  cr_expect_eq(f.small_bytes, 0);
  cr_expect_eq(f.small_peak_bytes, 0);
  const plim_replay_limits limits = {3 * UNIT, INT64_MAX};
  cr_assert_eq(plim_arena_replay_watched(ctx, p.graph, p.order, &config, &limits, NULL, &counts, &plan), PLIM_OK);
  cr_expect_eq(counts.small_area_bytes, 0);
  plim_plan_free(plan);
  plim_forecast_release(&f);
  close_program(&p);
}

/* ---- the published defect, and its reverse ---- */

/* When "bn" runs again, t and u fill the area, a and r the rest: its small result s finds no free block on either side.
 * An area that does not spill evicts r in vain and aborts. */
Test(small, request_that_finds_its_area_full_takes_the_place_of_what_may_go_in_the_rest) {
  plim_text log = begin_log();
  plim_replay_counts counts;
  plim_text_format(
      &log,
      "{\"INSTRUCTION\":\"CALL\",\"NAME\":\"bn\",\"ARGS\":[\"c\"],\"RESULT\":[\"a\",\"s\"],\"TIME\":\"1\"}\n"
      "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"a\",\"MEMORY\":\"%d\"}\n"
      "{\"INSTRUCTION\":\"ALIAS\",\"NAME\":\"a\",\"ALIAS\":\"-1\"}\n"
      "{\"INSTRUCTION\":\"MEMORY\",\"NAME\":\"s\",\"MEMORY\":\"%d\"}\n"
      "{\"INSTRUCTION\":\"ALIAS\",\"NAME\":\"s\",\"ALIAS\":\"-1\"}\n",
      BIG, UNIT);
  dtr_call(&log, "f", "s", "t", UNIT, -1, 1);
  dtr_release(&log, "s");
  dtr_call(&log, "f", "c", "u", UNIT, -1, 1);
  dtr_call(&log, "make", "c", "r", BIG, -1, 1000);
  dtr_call(&log, "wide", "c", "w", BIG, -1, 1);
  dtr_release(&log, "w");
  dtr_call(&log, "join", "a t u", "z", BIG, -1, 1);
  for (int i = 0; i < 3; i++) dtr_release(&log, i == 0 ? "a" : i == 1 ? "t" : "u");
  dtr_call(&log, "last", "r z", "y", UNIT, -1, 1);
  dtr_release(&log, "r");
  program p = open_log(&log);
  for (int i = 0; i < 2; i++) {
    cr_expect_eq(
        simulate(&p, config_of(plim_policy_find(i == 0 ? "coop" : "dtr"), 1), 2 * BIG + 3 * UNIT, NULL, &counts), 1001,
        "bn and r run again");
    cr_expect_eq(counts.spills, 1);
    cr_expect_eq(counts.small_area_bytes, 2 * UNIT);
    cr_expect_eq(counts.evictions, 2, "a for w, r for s");
  }
  close_program(&p);
}

/* a and b take all of the arena but for c, when no small storage is there: the wall must not stand between them. */
Test(small, area_gives_way_where_a_large_request_finds_no_room_beside_it) {
  plim_text log = begin_log();
  plim_replay_counts counts;
  dtr_call(&log, "f", "c", "s", UNIT, -1, 1);
  dtr_call(&log, "f", "s", "t", UNIT, -1, 1);
  dtr_release(&log, "s");
  dtr_call(&log, "make", "t", "a", BIG, -1, 1);
  dtr_release(&log, "t");
  dtr_call(&log, "g", "a", "b", BIG, -1, 1);
  program p = open_log(&log);
  for (int32_t i = 0; plim_policy_at(i); i++) {
    plim_replay_config config = config_of(plim_policy_at(i), 1);
    config.two_ends = 0; /* else a, which costs little, lies before the wall: with the area no configuration has room */
    cr_expect_eq(simulate(&p, config, 2 * BIG + UNIT, NULL, &counts), 0, "%s", config.policy->name);
    cr_expect_gt(counts.small_area_bytes, 0, "%s", config.policy->name);
    cr_expect_eq(simulate(&p, config, 2 * BIG, NULL, &counts), -1, "%s: it takes that much", config.policy->name);
    if (i > 0) (void)check_better_of_both(&p, config.policy, 2 * BIG + UNIT);
  }
  close_program(&p);
}

/* ---- the window is still the cheapest of all ---- */

typedef struct listener {
  int64_t windows;
} listener;

/* Rows are the blocks below the wall, and no run of them that is large enough costs less than what was chosen. */
static plim_status compare_with_all(void *user, plim_residency *res, const plim_arena_request *request,
                                    const plim_arena_choice *choice) {
  listener *l = user;
  int32_t n = 0;
  double cheapest = -1, taken = 0;
  for (int32_t id = res->blocks->first; id >= 0; id = res->blocks->block[id].next) {
    n += res->blocks->block[id].offset < res->blocks->wall;
  }
  cr_assert_eq(res->rows.n, n);
  for (int32_t begin = 0; begin < n; begin++) {
    double cost = 0;
    int64_t bytes = 0;
    for (int32_t k = begin; k < n && res->rows.row[k].state != PLIM_ROW_BREAKER && bytes < request->bytes; k++) {
      bytes += res->rows.row[k].bytes;
      cost += res->rows.row[k].state == PLIM_ROW_EVICTABLE ? (double)res->rows.row[k].cost : 0;
    }
    if (bytes >= request->bytes && (cheapest < 0 || cost < cheapest)) cheapest = cost;
  }
  cr_assert_eq(choice->n > 0, cheapest >= 0);
  if (choice->n == 0) return PLIM_OK;
  for (int32_t k = choice->window[0].begin; k < choice->window[0].end; k++) {
    taken += res->rows.row[k].state == PLIM_ROW_EVICTABLE ? (double)res->rows.row[k].cost : 0;
  }
  cr_assert_leq(taken, cheapest * (1 + 1e-12));
  l->windows++;
  return PLIM_OK;
}

static plim_status on_run(void *user, const plim_residency *res, int32_t depth) {
  (void)user, (void)res, (void)depth;
  return PLIM_OK;
}

static plim_status on_end(void *user, const plim_residency *res, int32_t op) {
  (void)user, (void)res, (void)op;
  return PLIM_OK;
}

Test(small, window_below_the_wall_is_the_cheapest_of_all) {
  listener l = {0};
  plim_arena_watch watch = {&l, compare_with_all, on_run, on_end};
  plim_replay_counts counts;
  for (uint64_t seed = test_seed(1), end = seed + 4; test_seed_at(seed) < end; seed++) {
    program p = open_network(seed);
    for (int64_t tenths = 3; tenths <= 9; tenths++) {
      (void)simulate(&p, config_of(plim_policy_find("coop"), 1), peak_of(&p) / 10 * tenths, &watch, &counts);
      cr_assert_gt(counts.small_area_bytes, 0);
    }
    close_program(&p);
  }
  cr_expect_gt(l.windows, 100, "%lld windows", (long long)l.windows);
}

/* ---- nothing is lost ---- */

Test(small, policies_take_the_better_of_one_area_and_two) {
  int areas = 0;
  for (uint64_t seed = test_seed(1), end = seed + 4; test_seed_at(seed) < end; seed++) {
    program p = open_network(seed);
    for (int32_t i = 1; plim_policy_at(i); i++) {
      for (int64_t share = 15; share <= 90; share += 15) {
        areas += check_better_of_both(&p, plim_policy_at(i), peak_of(&p) / 100 * share);
      }
    }
    close_program(&p);
  }
  cr_expect_gt(areas, 150, "%d simulations had one", areas);
}

/* ---- reasons ---- */

/* Small blocks that the first decision of the run leaves alone; each lies at the arena's high end. */
static int32_t small_blocks(const program *p, const plim_policy *policy, int64_t bytes) {
  plim_decision_log_options options = {p->graph, p->order, policy, bytes, p->order->time_ns};
  const plim_decision *choice;
  const plim_decision_reasons *why;
  plim_decision_log *decisions = NULL;
  int32_t n = 0;
  cr_assert_eq(plim_decision_log_new(ctx, &options, &decisions), PLIM_OK, "%s", plim_context_error(ctx));
  if (plim_decision_log_config(decisions)->small_area && plim_decision_log_decisions(decisions, &choice) > 0) {
    cr_assert_eq(plim_decision_log_explain(decisions, 0, &why), PLIM_OK, "%s", plim_context_error(ctx));
    for (int32_t i = 0; i < why->n_blocks; i++) {
      if (why->block[i].state != PLIM_ARENA_BLOCK_SMALL) continue;
      cr_expect_leq(why->block[i].bytes, 9 * UNIT);
      n++;
    }
    cr_expect(n == 0 || why->block[why->n_blocks - 1].bytes <= 2 * LAYERS * 9 * UNIT, "the last piece is of the area");
  }
  plim_decision_log_free(decisions);
  return n;
}

Test(small, the_log_says_that_nothing_in_the_area_is_evicted) {
  int32_t n = 0;
  for (uint64_t seed = test_seed(1), end = seed + 4; test_seed_at(seed) < end; seed++) {
    program p = open_network(seed);
    for (int32_t i = 1; plim_policy_at(i); i++) n += small_blocks(&p, plim_policy_at(i), peak_of(&p) / 2);
    close_program(&p);
  }
  cr_expect_gt(n, 10, "%d small pieces", (int)n);
}

/* ---- memory ---- */

static plim_status run_case(plim_context *c, void *user) {
  const program *p = user;
  plim_replay_config config = {.policy = plim_policy_find("coop"), .hold_inputs = 1, .small_area = 1};
  plim_replay_counts counts;
  plim_plan *plan = NULL;
  plim_graph graph = *p->graph;
  graph.ctx = c;
  const plim_replay_limits limits = {2 * BIG + UNIT, INT64_MAX};
  PLIM_TRY(plim_arena_replay_watched(c, &graph, p->order, &config, &limits, NULL, &counts, &plan));
  plim_plan_free(plan);
  return PLIM_OK;
}

Test(small, refused_allocation_leaves_nothing_after) {
  plim_text log = begin_log();
  dtr_call(&log, "f", "c", "s", UNIT, -1, 1);
  dtr_call(&log, "make", "s", "a", BIG, -1, 1);
  dtr_release(&log, "s");
  dtr_call(&log, "g", "a", "b", BIG, -1, 1);
  program p = open_log(&log);
  cr_expect_gt(plim_test_each_allocation(run_case, &p), 10);
  close_program(&p);
}
