/* planner/paging: plans that page fit where nothing else does, are no slower than without, and run. */
#include <assert.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "runtime/import/generate.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/paging_rig.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

#ifdef PLIM_SANITIZED
enum { SEEDS = 3, LARGE = 1000, LENGTH = 8 };
#else
enum { SEEDS = 8, LARGE = 4000, LENGTH = 8 };
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

/* Seed 6 has ops that update nothing but a state. */
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
  for (uint64_t seed = test_seed(1), end = seed + 4 * SEEDS; test_seed_at(seed) < end; seed++) {
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
  cr_assert_gt(states, 0);
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

/* ---- two devices ---- */

static plim_plan *plan_devices(paging_rig *r, int32_t devices, int64_t budget_bytes) {
  static const char *const name[PLIM_PAGE_DEVICES] = {"cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5", "cpu:6", "cpu:7"};
  plim_plan *plan = NULL;
  r->paging.n_devices = devices - 1;
  for (int32_t i = 0; i < devices - 1; i++) r->paging.device[i] = (plim_paging_device){name[i], budget_bytes};
  r->paging.device_latency_ns = 1;
  r->paging.device_bytes_per_ns = 2 * r->paging.bytes_per_ns[0];
  r->options.budget_bytes = budget_bytes;
  r->options.paging = &r->paging;
  plim_status status = plim_plan_make(r->ctx, r->graph, r->profile, &r->options, &plan);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r->ctx));
  if (!plan) return NULL;
  cr_assert_eq(plim_plan_check(r->ctx, r->graph, plan), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_leq(plan->arena_bytes, budget_bytes);
  for (int32_t k = 0; k < plan->n_page_spaces; k++)
    cr_assert_leq(plan->page[k].arena_bytes, plan->page[k].budget_bytes);
  return plan;
}

static plim_plan *plan_two(paging_rig *r, int64_t budget_bytes) {
  return plan_devices(r, 2, budget_bytes);
}

Test(paging, two_devices_close_half_of_the_gap_between_one_device_and_the_bound) {
  double gap_ns = 0, closed_ns = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan *one = NULL, *two = NULL;
    paging_rig_make(&r, LENGTH, seed);
    r.paging.space = NULL;
    plim_status alone = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &one);
    two = plan_two(&r, r.options.budget_bytes);
    cr_assert(two || alone == PLIM_ENOFIT);
    if (two && one) {
      int64_t bound_ns = two->n_page_spaces > 0 ? two->bound_ns : one->keep_all_ns;
      cr_assert_leq(two->time_ns, one->time_ns);
      cr_assert_leq(bound_ns, two->time_ns);
      gap_ns += (double)(one->time_ns - bound_ns);
      closed_ns += (double)(one->time_ns - two->time_ns);
    }
    plim_plan_free(one);
    plim_plan_free(two);
    paging_rig_free(&r);
  }
  cr_assert_geq(closed_ns, 0.5 * gap_ns, "%.0f of %.0f ns", closed_ns, gap_ns);
}

Test(paging, without_recomputation_two_arenas_hold_what_one_does_not) {
  int fits = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan_floor floor;
    paging_rig_make(&r, LENGTH, seed);
    cr_assert_eq(plim_plan_smallest(r.ctx, r.graph, r.profile, &r.options, &floor, NULL), PLIM_OK);
    int64_t persistent = plim_graph_persistent_bytes(r.graph);
    r.paging.recompute = 0;
    r.paging.space = NULL;
    plim_plan *two = plan_two(&r, persistent + (floor.keep_all_bytes - persistent) * 6 / 10);
    fits += two && two->n_page_spaces > 0;
    plim_plan_free(two);
    paging_rig_free(&r);
  }
  cr_assert_gt(fits, SEEDS / 2, "%d of %d", fits, (int)SEEDS);
}

/* Few of the graphs drawn gain by pages of two devices at once: they are drawn until one does. */
Test(paging, two_devices_page_to_a_third_space) {
  enum { DRAWN = 4 * SEEDS };
  int paged = 0;
  for (uint64_t seed = test_seed(1), end = seed + DRAWN; test_seed_at(seed) < end && !paged; seed++) {
    paging_rig r = {0};
    paging_rig_make(&r, LENGTH, seed);
    int64_t persistent = plim_graph_persistent_bytes(r.graph);
    r.paging.recompute = 0;
    plim_plan *plan = plan_two(&r, persistent + (r.options.budget_bytes - persistent) * 5 / 10);
    paged += plan && plan->n_page_spaces == 2 && plan->page[0].computes && plan->page[1].peak_bytes > 0;
    plim_plan_free(plan);
    paging_rig_free(&r);
  }
  cr_assert_gt(paged, 0, "none of %d", (int)DRAWN);
}

/* ---- several devices ---- */

/* With a page space (percent of the room that keep-all has beside what persists) or without one (percent 0). */
static void expect_no_slower_with_more(uint64_t seed, int64_t percent, int32_t most, int *faster) {
  paging_rig r = {0};
  int64_t fewer_ns = INT64_MAX;
  paging_rig_make(&r, LENGTH, seed);
  const int64_t persistent = plim_graph_persistent_bytes(r.graph);
  const int64_t budget =
      percent > 0 ? persistent + (r.options.budget_bytes - persistent) * percent / 100 : r.options.budget_bytes;
  if (percent == 0) r.paging.space = NULL;
  r.options.iterations = 40;
  for (int32_t devices = 2; devices <= most; devices++) {
    plim_plan *plan = plan_devices(&r, devices, budget);
    cr_assert(plan || fewer_ns == INT64_MAX, "seed %llu, %d devices", (unsigned long long)seed, (int)devices);
    if (!plan) continue;
    cr_assert_leq(plan->time_ns, fewer_ns, "seed %llu, %d devices", (unsigned long long)seed, (int)devices);
    if (plan->n_page_spaces > 0) cr_assert_eq(plan->n_page_spaces, devices - 1 + (r.paging.space != NULL));
    if (plan->n_page_spaces > 0) cr_assert_leq(plan->bound_ns, plan->time_ns);
    *faster += fewer_ns < INT64_MAX && plan->time_ns < fewer_ns;
    fewer_ns = plan->time_ns;
    plim_plan_free(plan);
  }
  paging_rig_free(&r);
}

Test(paging, no_plan_is_slower_with_one_device_more) {
  int faster = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    expect_no_slower_with_more(seed, 0, 4, &faster);
    expect_no_slower_with_more(seed, 60, 3, &faster);
  }
  cr_assert_gt(faster, 0);
}

/* More links than a plan has queues. */
Test(paging, eight_devices_and_a_page_space_have_a_plan) {
  paging_rig r = {0};
  paging_rig_make(&r, LENGTH, test_seed(1));
  r.options.iterations = 40;
  plim_plan *plan = plan_devices(&r, 8, r.options.budget_bytes);
  cr_assert_not_null(plan);
  cr_assert_eq(plan->n_page_spaces, 8);
  plim_plan_free(plan);
  paging_rig_free(&r);
}

Test(paging, too_many_devices_are_refused_and_so_is_one_without_a_name) {
  paging_rig r = {0};
  plim_plan *plan = NULL;
  paging_rig_make(&r, LENGTH, test_seed(1));
  r.options.paging = &r.paging;
  r.paging.n_devices = PLIM_PAGE_DEVICES + 1;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_EUSAGE);
  cr_assert_str_eq(plim_context_error(r.ctx), "8 devices beside the first one, not 0 to 7");
  r.paging.n_devices = 2;
  r.paging.device[0].name = "cpu:1";
  r.paging.device_bytes_per_ns = 1;
  cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan), PLIM_EUSAGE);
  cr_assert_not_null(strstr(plim_context_error(r.ctx), "a device without a name"), "%s", plim_context_error(r.ctx));
  paging_rig_free(&r);
}

/* ---- the program ---- */

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  plim_test_folder_remove();
}
TestSuite(paging_program, .init = setup, .fini = teardown, .timeout = 600);

#define VERIFY "$PLIMSOLL verify --model resnet20 --data synthetic --batch 8 --steps 2 --model-costs --no-cache -q "
#define VERIFY_SMALL \
  "$PLIMSOLL verify --model tinyres --data synthetic --batch 8 --steps 2 --model-costs --no-cache -q "

static void expect(const char *command, int status, const char *out, const char *error) {
  const program_run *run = plim_test_shell(command);
  cr_assert_eq(run->status, status, "%s: %d %s%s", command, run->status, run->out, run->error);
  cr_assert(strstr(run->out, out), "%s: %s", command, run->out);
  cr_assert(strstr(run->error, error), "%s: %s", command, run->error);
}

#define GPT                                                                                                         \
  "$PLIMSOLL verify --model gpt --layers 2 --width 64 --heads 2 --context 32 --data text:text --batch 4 --steps 2 " \
  "--model-costs --no-cache -q "

Test(paging_program, weights_are_those_of_keep_all) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  expect(VERIFY_SMALL "--memory cpu=60%,host=1GiB --recompute off", 0, "weights identical    yes", "");
  expect(VERIFY_SMALL "--memory cpu=60%,disk=1GiB --recompute off --page-file pages", 0, "weights identical    yes",
         "");
}

/* Its update has attributes that an op without its state has not. */
Test(paging_program, the_state_of_adamw_is_at_home_in_the_page_space) {
  (void)plim_test_shell(
      "for i in 1 2 3 4 5 6 7 8; do echo the update alone needs the moments of AdamW; done >line; "
      "cat line line line line line line line line >text");
  expect(GPT "--memory cpu=60%,host=1GiB", 0, "weights identical    yes", "");
}

#define PLAN_TWO "$PLIMSOLL plan --model resnet20 --data synthetic --batch 8 --model-costs --no-cache -q "

Test(paging_program, a_model_is_planned_on_two_devices) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  expect(PLAN_TWO "--threads 2 --memory cpu:0=60%,cpu:1=60% -o two.json", 0, " on devices", "");
  expect("$PLIMSOLL check two.json", 0, "valid                yes", "");
  expect(VERIFY_SMALL "--threads 2 --memory cpu:0=60%,cpu:1=60%", 0, "weights identical    yes", "");
  expect(PLAN_TWO "--threads 2 --time-limit 2 --memory cpu:0=1MiB,cpu:1=1MiB", 4, "",
         "the smallest budget of cpu:0 for which one was found is ");
}

Test(paging_program, two_devices_close_half_of_the_gap_of_a_model) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  expect("$PLIMSOLL bench xengine --shapes resnet20 --budgets 100%", 0, "1 of 1 cases close 50 % of the gap or more",
         "");
}

Test(paging_program, bad_spaces_are_refused) {
  expect(VERIFY "--memory cpu=60%,nvme=1GiB", 2, "",
         "there is no space nvme; there are cpu, or cpu:0, cpu:1 and so on,");
  expect(VERIFY "--memory cuda:0=60%,cuda:1=60%", 2, "", "cpu or cuda:0, and one space to page to");
  expect(VERIFY "--memory host=1GiB", 2, "", "the arena needs a size too");
  expect(VERIFY "--memory cpu=60%,host=1GiB,disk=1GiB", 2, "", "one space to page to");
  expect(VERIFY "--memory cpu=60%,host=1GiB --device check", 2, "", "--device and plans that page");
#ifndef PLIM_SANITIZED /* half a minute of planning */
  expect(VERIFY_SMALL "--time-limit 2 --memory cpu=64KiB,host=1GiB --recompute off", 4, "",
         "no plan of tinyres with batch 8 within 64.0 KiB (65536 bytes) beside 1.0 GiB of host was found");
#endif
  expect(VERIFY_SMALL "--memory cpu=60%,disk=1GiB --page-file no/folder", 5, "", "no/folder");
}
