/* planner/paging: plans that page fit where nothing else does, and are no slower than without. Several devices:
 * test_paging_devices.c. */
#include <assert.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "runtime/import/generate.h"
#include "tests/support/paging_rig.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

#ifdef PLIM_SANITIZED
enum { SEEDS = 3, LARGE = 1000, LENGTH = 8, GRAPHS = 32 /* drawn until one shows what it should */ };
#else
enum { SEEDS = 8, LARGE = 4000, LENGTH = 8, GRAPHS = 32 /* drawn until one shows what it should */ };
#endif

static int32_t count(const plim_plan *plan, plim_command_kind kind) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) n += plan->command[j].kind == kind;
  return n;
}

Test(paging, a_plan_that_may_page_is_no_slower_and_fits_both_spaces) {
  int paged = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan *without = NULL, *with = NULL;
    paging_rig_make(&r, LENGTH, seed);
    plim_status alone = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &without);
    cr_assert(alone == PLIM_OK || alone == PLIM_ENOFIT, "%s", plim_context_error(r.ctx));
    r.options.paging = &r.paging;
    plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &with);
    cr_assert(status == PLIM_OK || (status == PLIM_ENOFIT && alone == PLIM_ENOFIT), "%s", plim_context_error(r.ctx));
    if (with) {
      cr_assert_eq(plim_plan_check(r.ctx, r.graph, with), PLIM_OK, "%s", plim_context_error(r.ctx));
      cr_assert_leq(with->arena_bytes, r.options.budget_bytes);
      if (without) cr_assert_leq(with->time_ns, without->time_ns);
      if (with->n_page_spaces > 0) cr_assert_leq(with->page[0].arena_bytes, r.paging.budget_bytes);
      paged += with->n_page_spaces > 0;
    }
    plim_plan_free(without);
    plim_plan_free(with);
    paging_rig_free(&r);
  }
  cr_assert_gt(paged, SEEDS / 2, "%d of %d plans page", paged, (int)SEEDS);
}

Test(paging, without_recomputation_every_op_runs_once) {
  int paged = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan *plan = NULL;
    paging_rig_make(&r, LENGTH, seed);
    r.paging.recompute = 0;
    r.options.paging = &r.paging;
    plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r.ctx));
    if (plan) {
      cr_assert_eq(plim_plan_check(r.ctx, r.graph, plan), PLIM_OK, "%s", plim_context_error(r.ctx));
      cr_assert_eq(count(plan, PLIM_COMMAND_RUN), r.graph->n_ops);
      paged += count(plan, PLIM_COMMAND_COPY) > 0;
    }
    plim_plan_free(plan);
    paging_rig_free(&r);
  }
  cr_assert_gt(paged, SEEDS / 2, "%d of %d plans page", paged, (int)SEEDS);
}

typedef struct search_count {
  char last[32]; /* stage of the last report */
  int32_t n;     /* searches for copies, each after the planner of the runs that they are for */
} search_count;

static void count_searches(void *user, const plim_progress *progress) {
  search_count *to = user;
  to->n += strcmp(progress->stage, "copies") == 0 && strcmp(to->last, "copies") != 0;
  (void)snprintf(to->last, sizeof to->last, "%s", progress->stage);
}

/* Searches for copies, with so many iterations and a page space that lacks some of what keep-all needs. */
static int32_t count_copy_searches(uint64_t seed, int64_t iterations_an_op, int64_t more) {
  paging_rig r = {0};
  search_count searches = {.n = 0};
  plim_plan *plan = NULL;
  paging_rig_make(&r, LENGTH, seed);
  const int64_t keep_all_bytes = r.paging.budget_bytes / 4;
  r.paging.budget_bytes = (keep_all_bytes - r.options.budget_bytes) / 10 * 9;
  r.options.paging = &r.paging;
  r.options.iterations = iterations_an_op * r.graph->n_ops + more;
  plim_context_set_progress(r.ctx, count_searches, &searches);
  plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
  cr_assert(status == PLIM_OK, "%s", plim_context_error(r.ctx));
  plim_plan_free(plan);
  paging_rig_free(&r);
  return searches.n;
}

/* Without iterations for each op there is one plan of all spaces as one arena, and at most there are four. Where the
 * four are found, fewer iterations are for fewer of them. */
Test(paging, iterations_for_each_op_are_for_one_more_plan_of_all_spaces_as_one_arena) {
  uint64_t seed = test_seed(1), end = seed + GRAPHS;
  int32_t one = count_copy_searches(seed, 1, -1);
  while (test_seed_at(seed) < end && count_copy_searches(seed, 20, 0) != one + 3) {
    one = count_copy_searches(++seed, 1, -1);
  }
  cr_assert_lt(seed, end);
  for (int i = 1; i < 4; i++) cr_expect_eq(count_copy_searches(seed, i, 0), one + i, "%d iterations an op", i);
}

Test(paging, keep_all_does_not_page) {
  paging_rig r = {0};
  plim_plan *plan = NULL;
  paging_rig_make(&r, 16, test_seed(1));
  r.paging.bytes_per_ns[0] = -1; /* which a call that pages refuses */
  r.options.paging = &r.paging;
  cr_assert_eq(plim_plan_keep_all(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_OK, "%s",
               plim_context_error(r.ctx));
  cr_assert_eq(plan->n_page_spaces, 0);
  plim_plan_free(plan);
  paging_rig_free(&r);
}

/* Copies of persistent storages that no op reads. */
static int32_t count_copies_of_unread(const plim_graph *graph, const plim_plan *plan) {
  int32_t n = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const int32_t s = plan->command[j].storage;
    if (plan->command[j].kind != PLIM_COMMAND_COPY || !plim_role_persistent(graph->storage[s].role)) continue;
    n += graph->reader_first[s + 1] == graph->reader_first[s];
  }
  return n;
}

static int32_t count_unread_states(const plim_graph *graph) {
  int32_t n = 0;
  for (int32_t s = 0; s < graph->n_storages; s++) {
    n += graph->storage[s].role == PLIM_ROLE_STATE && graph->reader_first[s + 1] == graph->reader_first[s];
  }
  return n;
}

Test(paging, states_that_an_op_updates_alone_stay_in_the_arena) {
  int32_t states = 0;
  for (uint64_t seed = test_seed(1), end = seed + 16 * SEEDS; test_seed_at(seed) < end && states < SEEDS; seed++) {
    paging_rig r = {0};
    plim_plan *plan = NULL, *keep_all = NULL;
    random_graph_options random = random_graph_options_default(seed);
    random.n_ops = 16;
    paging_rig_make(&r, LENGTH, seed);
    plim_profile_free(r.profile);
    plim_graph_free(r.graph);
    cr_assert_eq(random_graph_make(r.ctx, &random, &r.graph), PLIM_OK);
    cr_assert_eq(random_profile_make(r.graph, seed, 1, &r.profile), PLIM_OK);
    cr_assert_eq(plim_plan_keep_all(r.ctx, r.graph, r.profile, &r.options, &keep_all), PLIM_OK);
    const int64_t persistent = plim_graph_persistent_bytes(r.graph);
    r.options.budget_bytes = persistent + (keep_all->arena_bytes - persistent) * 3 / 4;
    plim_plan_free(keep_all);
    r.options.paging = &r.paging;
    plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%d: %s", status, plim_context_error(r.ctx));
    if (plan && plan->n_page_spaces > 0) {
      cr_assert_eq(count_copies_of_unread(r.graph, plan), 0);
      states += count_unread_states(r.graph);
    }
    plim_plan_free(plan);
    paging_rig_free(&r);
  }
  cr_assert_geq(states, SEEDS);
}

/* Training updates p, m and counter; evaluation reads p alone. */
static plim_graph *make_step(plim_context *ctx, int trains) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){1024});
  plim_graph_builder *b;
  plim_graph *g = NULL;
  int32_t p, m, counter, x, y, id;
  cr_assert_eq(plim_graph_begin(ctx, trains ? "train" : "eval", 0, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "p", PLIM_ROLE_PARAM, &shape, &p), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "counter", PLIM_ROLE_STATE, &shape, &counter), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "m", PLIM_ROLE_STATE, &shape, &m), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &x), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &shape, &y), PLIM_OK);
  plim_op_spec run = {.name = "run", .n_in = 2, .in = {x, p}, .n_out = 1, .out = {y}, .time_ns = -1};
  plim_op_spec count_up = {.name = "count", .cls = PLIM_OP_EFFECT, .n_in = 1, .in = {x}, .time_ns = -1};
  plim_op_spec update = {.name = "update", .cls = PLIM_OP_EFFECT, .n_in = 1, .in = {y}, .time_ns = -1};
  count_up.n_upd = 1;
  count_up.upd[0] = counter;
  update.phase = PLIM_PHASE_UPDATE;
  update.n_upd = 2;
  update.upd[0] = p;
  update.upd[1] = m;
  plim_op_spec *const op[] = {&run, &count_up, &update};
  for (int i = 0; i < (trains ? 3 : 1); i++) {
    op[i]->kind = PLIM_OP_CUSTOM;
    cr_assert_eq(plim_graph_add_op(b, op[i], &id), PLIM_OK, "%s", plim_context_error(ctx));
  }
  cr_assert_eq(plim_graph_end(b, &g), PLIM_OK, "%s", plim_context_error(ctx));
  return g;
}

Test(paging, evaluation_has_at_home_in_the_page_space_what_training_has_there) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph[2];
  plim_profile *profile[2];
  plim_plan *plan[2] = {NULL, NULL};
  plim_plan_options options = plim_plan_options_default();
  plim_paging paging = {.struct_bytes = sizeof(plim_paging),
                        .space = "host",
                        .budget_bytes = 1 << 20,
                        .latency_ns = {1, 1},
                        .bytes_per_ns = {1, 1},
                        .recompute = 1,
                        .homes = PLIM_HOMES_STATE};
  options.paging = &paging;
  for (int i = 0; i < 2; i++) {
    graph[i] = make_step(ctx, i == 0);
    cr_assert_eq(random_profile_make(graph[i], test_seed(1), 1, &profile[i]), PLIM_OK);
    paging.beside = i > 0 ? plan[0] : NULL;
    paging.beside_graph = graph[0];
    cr_assert_eq(plim_plan_make(ctx, graph[i], profile[i], &options, &plan[i]), PLIM_OK, "%s", plim_context_error(ctx));
    cr_assert_eq(plan[i]->page[0].arena_bytes, 4096);
  }
  const plim_graph *const graphs[] = {graph[0], graph[1]};
  const plim_plan *const plans[] = {plan[0], plan[1]};
  cr_assert_eq(plim_program_check(ctx, 2, graphs, plans), PLIM_OK, "%s", plim_context_error(ctx));
  for (int i = 0; i < 2; i++) {
    plim_plan_free(plan[i]);
    plim_profile_free(profile[i]);
    plim_graph_free(graph[i]);
  }
  plim_test_context_end(ctx);
}

/* One op, and nothing that persists. */
static plim_graph *make_op(plim_context *ctx) {
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, (int64_t[]){1024});
  plim_graph_builder *b;
  plim_graph *g = NULL;
  int32_t x, y, id;
  cr_assert_eq(plim_graph_begin(ctx, "one op", 0, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &x), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "y", PLIM_ROLE_OUTPUT, &shape, &y), PLIM_OK);
  plim_op_spec run = {.name = "run", .kind = PLIM_OP_CUSTOM, .n_in = 1, .in = {x}, .n_out = 1, .out = {y}};
  run.time_ns = -1;
  cr_assert_eq(plim_graph_add_op(b, &run, &id), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_graph_end(b, &g), PLIM_OK, "%s", plim_context_error(ctx));
  return g;
}

/* Returns the spaces beside the arena. */
static int32_t plan_with_homes(int persists, const char *space, int32_t n_devices, plim_homes homes) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = persists ? make_step(ctx, 1) : make_op(ctx);
  plim_profile *profile = NULL;
  plim_plan *plan = NULL;
  plim_plan_options options = plim_plan_options_default();
  plim_paging paging = plim_paging_default();
  cr_assert_eq(random_profile_make(graph, test_seed(1), 1, &profile), PLIM_OK);
  paging.space = space;
  paging.budget_bytes = 1 << 20;
  paging.homes = homes;
  paging.n_devices = n_devices;
  paging.device[0] = (plim_paging_device){.name = "cpu:1", .budget_bytes = 1 << 20};
  options.paging = &paging;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "'%s'", plim_context_error(ctx));
  assert(plan);
  cr_assert_eq(plim_plan_check(ctx, graph, plan), PLIM_OK, "%s", plim_context_error(ctx));
  const int32_t n_spaces = plan->n_page_spaces;
  plim_plan_free(plan);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
  return n_spaces;
}

Test(paging, where_nothing_can_be_at_home_in_the_page_space_the_plan_is_without_homes) {
  static const plim_homes homes[] = {PLIM_HOMES_STATE, PLIM_HOMES_PARAMS};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(plan_with_homes(0, "host", 0, homes[i]), 0);
    cr_assert_eq(plan_with_homes(1, NULL, 0, homes[i]), 0);
    cr_assert_leq(plan_with_homes(1, "host", 1, homes[i]), 1);
    cr_assert_eq(plan_with_homes(1, "host", 0, homes[i]), 1, "the state is at home there");
  }
}

/* Bytes of parameters in a space, between steps. */
static int64_t params_at_home(const paging_rig *r, const plim_plan *plan, int32_t space) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *b = &plan->buffer[i];
    int whole = b->begin == 0 && b->end == plan->n_commands && b->space == space && b->storage >= 0;
    if (whole && r->graph->storage[b->storage].role == PLIM_ROLE_PARAM) bytes += b->bytes;
  }
  return bytes;
}

Test(paging, parameters_at_home_in_the_page_space_come_in_for_readers_and_leave_after_their_update) {
  int homed = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan *plan = NULL;
    paging_rig_make(&r, LENGTH, seed);
    r.paging.homes = PLIM_HOMES_PARAMS;
    r.options.budget_bytes = INT64_MAX;
    r.options.paging = &r.paging;
    plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r.ctx));
    if (plan) { /* it is checked: each reader has the version that it must see, and the last one ends at home */
      cr_assert_eq(plim_plan_check(r.ctx, r.graph, plan), PLIM_OK, "%s", plim_context_error(r.ctx));
      homed += params_at_home(&r, plan, 1) > 0;
      cr_assert_eq(count(plan, PLIM_COMMAND_RUN), r.graph->n_ops);
      cr_assert_gt(count(plan, PLIM_COMMAND_COPY), 0);
    }
    plim_plan_free(plan);
    paging_rig_free(&r);
  }
  cr_assert_gt(homed, SEEDS / 2, "%d of %d", homed, (int)SEEDS);
}

Test(paging, a_page_space_without_bytes_pages_nothing) {
  paging_rig r = {0};
  plim_plan *plan = NULL;
  paging_rig_make(&r, LENGTH, test_seed(1));
  r.paging.budget_bytes = 0;
  r.paging.recompute = 0;
  r.options.paging = &r.paging;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_ENOFIT);
  cr_assert(strstr(plim_context_error(r.ctx), "and 0 of host, without recomputation"), "%s", plim_context_error(r.ctx));
  r.options.budget_bytes = INT64_MAX;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_OK);
  cr_assert_eq(plan->n_page_spaces, 0);
  plim_plan_free(plan);
  paging_rig_free(&r);
}

/* ---- time ---- */

static double cpu_seconds(void) {
  struct rusage used;
  cr_assert_eq(getrusage(RUSAGE_SELF, &used), 0);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* So many ops that what pages is chosen among thousands of pauses, over a link that is too slow for all of them. */
static void make_large_rig(paging_rig *r) {
  plim_generate_options generated = plim_generate_options_default("transformer");
  plim_plan *keep_all = NULL;
  generated.n = LARGE;
  generated.packed = 1;
  cr_assert_eq(plim_context_new(NULL, NULL, &r->ctx), PLIM_OK);
  cr_assert_eq(plim_graph_generate(r->ctx, &generated, &r->graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r->graph, test_seed(1), 1, &r->profile), PLIM_OK);
  r->options = plim_plan_options_default();
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &r->options, &keep_all), PLIM_OK);
  double bytes_per_ns = (double)keep_all->arena_bytes / (double)keep_all->time_ns;
  r->paging = (plim_paging){.struct_bytes = sizeof(plim_paging),
                            .space = "host",
                            .budget_bytes = INT64_MAX,
                            .latency_ns = {1, 1},
                            .bytes_per_ns = {bytes_per_ns / 20, bytes_per_ns / 20},
                            .recompute = 1};
  r->options.paging = &r->paging;
  r->options.budget_bytes = keep_all->arena_bytes * 6 / 10;
  plim_plan_free(keep_all);
}

Test(paging, a_time_limit_holds_while_pages_are_chosen_and_plans_lowered) {
  paging_rig r = {0};
  plim_plan *plan = NULL;
  make_large_rig(&r);
  r.options.time_limit_ns = 1000000000;
  double began = cpu_seconds();
  plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
  cr_expect_lt(cpu_seconds() - began, 4); /* with sanitizers; minutes before covering and lowering read the clock */
  cr_assert(status == PLIM_OK || status == PLIM_ECANCEL, "%d %s", status, plim_context_error(r.ctx));
  plim_plan_free(plan);
  paging_rig_free(&r);
}

/* When the first plan with copies is about to be made. */
static void cancel_soon(void *user, const plim_progress *progress) {
  const paging_rig *r = user;
  if (strcmp(progress->stage, "copies") == 0) plim_context_cancel(r->ctx);
}

Test(paging, a_cancel_ends_it_with_the_plan_found_so_far) {
  paging_rig r = {0};
  plim_plan *plan = NULL;
  make_large_rig(&r);
  plim_context_set_progress(r.ctx, cancel_soon, &r);
  double began = cpu_seconds();
  plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
  cr_expect_lt(cpu_seconds() - began, 6);
  cr_assert(status == PLIM_OK || status == PLIM_ECANCEL, "%d %s", status, plim_context_error(r.ctx));
  cr_assert_eq(status == PLIM_OK, plan != NULL);
  plim_plan_free(plan);
  paging_rig_free(&r);
}

/* Cancels at one report of many. */
typedef struct canceller {
  plim_context *ctx;
  int64_t reports, at; /* at 0: never */
} canceller;

static void cancel_at(void *user, const plim_progress *progress) {
  canceller *c = user;
  (void)progress;
  if (++c->reports == c->at) plim_context_cancel(c->ctx);
}

static int makes_plan(uint64_t seed, plim_homes homes, canceller *c) {
  paging_rig r = {0};
  plim_plan *plan = NULL;
  paging_rig_make(&r, 12, seed);
  int64_t persistent = plim_graph_persistent_bytes(r.graph);
  r.paging.homes = homes;
  r.paging.delay_share = 0;
  for (int in = 0; in < 2; in++) r.paging.bytes_per_ns[in] /= 40;
  r.options.budget_bytes = persistent + (r.options.budget_bytes - persistent) * 2 / 3;
  r.options.paging = &r.paging;
  c->ctx = r.ctx;
  c->reports = 0;
  plim_context_set_progress(r.ctx, cancel_at, c);
  plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ECANCEL || status == PLIM_ENOFIT, "%s", plim_context_error(r.ctx));
  plim_plan_free(plan);
  paging_rig_free(&r);
  return status == PLIM_OK;
}

/* Plans with homes are looked for last. */
Test(paging, a_plan_that_was_found_is_lost_by_no_later_cancel) {
  int cancels = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    canceller c = {.at = 0};
    if (!makes_plan(seed, PLIM_HOMES_NEVER, &c)) continue;
    const int64_t without = c.reports;
    (void)makes_plan(seed, PLIM_HOMES_WHERE_FASTER, &c);
    for (int64_t i = 1, n = c.reports - without; i <= n && i <= 8; i++) {
      c.at = without + i;
      cr_assert(makes_plan(seed, PLIM_HOMES_WHERE_FASTER, &c), "seed %llu, report %lld", (unsigned long long)seed,
                (long long)c.at);
      c.at = 0;
      cancels++;
    }
  }
  cr_assert_gt(cancels, 0);
}
