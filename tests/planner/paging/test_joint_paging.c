/* planner/paging/joint_*.c: training steps as problems over spaces, and sequences as plans. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "planner/paging/command_list.h"
#include "planner/paging/paging_internal.h"
#include "planner/spaces/problem/space_sequence.h"
#include "runtime/graph/check/check.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

enum { CHAIN = 8, SEEDS = 4 };

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *keep_all;
  plim_paging paging;
  plim_plan_options options;
  plim_queue_spaces spaces;
  plim_joint_problem *joint;
  plim_space_events events;
  plim_command_list list;
} rig;

/* For the rig's own graph. */
static void complete_rig(rig *r, uint64_t seed, int devices) {
  cr_assert_eq(random_profile_make(r->graph, seed, 1, &r->profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &r->options, &r->keep_all), PLIM_OK);
  double bytes_per_ns = 4 * (double)r->keep_all->arena_bytes / (double)(r->keep_all->time_ns + 1);
  r->paging = (plim_paging){.struct_bytes = sizeof(plim_paging),
                            .space = "host",
                            .budget_bytes = 4 * r->keep_all->arena_bytes,
                            .latency_ns = {1, 1},
                            .bytes_per_ns = {bytes_per_ns, bytes_per_ns},
                            .recompute = 1,
                            .n_devices = devices - 1,
                            .device_latency_ns = 1,
                            .device_bytes_per_ns = 10 * bytes_per_ns};
  static const char *const name[PLIM_PAGE_DEVICES] = {"cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5", "cpu:6", "cpu:7"};
  for (int i = 0; i < devices - 1; i++) r->paging.device[i] = (plim_paging_device){name[i], r->keep_all->arena_bytes};
  r->options.budget_bytes = r->keep_all->arena_bytes;
  r->options.paging = &r->paging;
  plim_queue_spaces_make(&r->options, &r->spaces);
  cr_assert_eq(plim_joint_problem_make(r->graph, &r->spaces, r->keep_all, NULL, &r->joint), PLIM_OK);
  r->events = (plim_space_events){.ctx = r->ctx};
  r->list = (plim_command_list){.ctx = r->ctx, .graph = r->graph};
}

static void make_rig(rig *r, uint64_t seed, int devices) {
  *r = (rig){.ctx = plim_test_context(), .options = plim_plan_options_default()};
  cr_assert_eq(random_chain_make(r->ctx, CHAIN, seed, &r->graph), PLIM_OK);
  complete_rig(r, seed, devices);
}

static void free_rig(rig *r) {
  plim_command_list_free(&r->list);
  plim_space_events_free(&r->events);
  plim_joint_problem_free(r->joint);
  plim_plan_free(r->keep_all);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_context_free(r->ctx);
}

/* The plan of the events, without limits on bytes. */
static plim_plan *plan_of(rig *r) {
  plim_plan *plan = NULL;
  int32_t fits;
  for (int32_t s = 0; s < r->spaces.n; s++) r->spaces.budget_bytes[s] = r->spaces.page[0].budget_bytes;
  static const double all[] = {1};
  const plim_lowering lowering = {.paging = &r->paging,
                                  .spaces = &r->spaces,
                                  .base = r->keep_all,
                                  .planner = "test",
                                  .suffix = "paged",
                                  .keep_all_ns = r->keep_all->time_ns,
                                  .bound_ns = r->keep_all->time_ns,
                                  .n_shares = 1,
                                  .share = all};
  cr_assert_eq(plim_joint_list(r->joint, &r->events, r->keep_all, &r->list, &fits), PLIM_OK);
  cr_assert(fits);
  cr_assert_eq(plim_lower(&lowering, &r->list, &fits, &plan), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert(fits);
  return plan;
}

static int32_t count_runs(const plim_plan *plan, int32_t op) {
  int32_t n = 0;
  for (int32_t c = 0; c < plan->n_commands; c++) {
    n += plan->command[c].kind == PLIM_COMMAND_RUN && plan->command[c].op == op;
  }
  return n;
}

Test(joint_paging, the_problem_needs_at_least_the_bytes_of_the_plan_that_it_is_made_of) {
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    rig r;
    int32_t known;
    int64_t peak = 0;
    make_rig(&r, seed, 1);
    cr_assert_eq(plim_joint_events(r.joint, r.keep_all, &r.events, &known), PLIM_OK);
    cr_assert(known);
    plim_space_sequence s;
    cr_assert_eq(plim_space_sequence_init(&s, r.joint->problem), PLIM_OK);
    cr_assert_eq(plim_space_sequence_insert(&s, 0, (int32_t)r.events.n, r.events.event), PLIM_OK);
    cr_assert_eq(plim_space_sequence_analyse(&s), PLIM_OK);
    cr_assert(s.valid);
    for (int32_t e = 0; e < s.n; e++) peak = plim_space_live(&s, 0)[e] > peak ? plim_space_live(&s, 0)[e] : peak;
    cr_assert_geq(peak + r.joint->constant_bytes, r.keep_all->peak_bytes, "seed %llu", (unsigned long long)seed);
    plim_space_sequence_free(&s);
    free_rig(&r);
  }
}

Test(joint_paging, the_sequence_of_a_plan_becomes_that_plan_again) {
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    rig r;
    int32_t known;
    make_rig(&r, seed, 1);
    cr_assert_eq(plim_joint_events(r.joint, r.keep_all, &r.events, &known), PLIM_OK);
    plim_plan *plan = plan_of(&r);
    cr_assert_eq(plan->n_commands, r.keep_all->n_commands);
    cr_assert_eq(plan->time_ns, r.keep_all->time_ns);
    cr_assert_leq(plan->peak_bytes, r.keep_all->peak_bytes);
    for (int32_t c = 0; c < plan->n_commands; c++) cr_assert_eq(plan->command[c].op, r.keep_all->command[c].op);
    plim_plan_free(plan);
    free_rig(&r);
  }
}

/* The first op that may run again, reads a given storage that an op updates, and writes something; its update. */
static int32_t find_updated_reader(const plim_graph *g, int32_t *update) {
  for (int32_t o = 0; o < g->n_ops; o++) {
    if (g->op[o].cls == PLIM_OP_EFFECT || g->op[o].cls == PLIM_OP_ONCE || g->op[o].n_writes == 0) continue;
    for (int32_t i = 0; i < g->op[o].n_reads; i++) {
      int32_t s = g->op[o].reads[i];
      if (g->updater_first[s + 1] == g->updater_first[s]) continue;
      *update = g->updater[g->updater_first[s]];
      return o;
    }
  }
  return -1;
}

Test(joint_paging, an_update_waits_for_the_last_run_that_reads_the_version_before_it) {
  int tried = 0;
  for (uint64_t seed = test_seed(1), end = seed + 4 * SEEDS; test_seed_at(seed) < end && tried < 2; seed++) {
    rig r;
    int32_t update = -1;
    make_rig(&r, seed, 1);
    const int32_t again = find_updated_reader(r.graph, &update);
    int there = again >= 0;
    for (int32_t i = 0; there && i < r.graph->op[again].n_reads; i++) {
      there = r.graph->storage[r.graph->op[again].reads[i]].producer < 0; /* so that it can run again at any time */
    }
    for (int32_t o = 0; there && o < r.graph->n_ops; o++) {
      plim_space_events_add(&r.events, PLIM_SPACE_RUN, o, 0);
      if (o == update) plim_space_events_add(&r.events, PLIM_SPACE_RUN, again, 0);
    }
    if (there) {
      plim_plan *plan = plan_of(&r); /* the checker refuses a run that reads a later version */
      cr_assert_eq(count_runs(plan, again), 2);
      plim_plan_free(plan);
      tried++;
    }
    free_rig(&r);
  }
  cr_assert_gt(tried, 0);
}

enum { UPDATES = 3 };

/* UPDATES pure ops, each with an update of one state: ops 2 i and 2 i + 1. */
static void make_updates_graph(rig *r) {
  const int64_t dim = 64;
  const plim_shape shape = plim_shape_make(PLIM_F32, PLIM_FLAT, 1, &dim);
  plim_graph_builder *b = NULL;
  int32_t input, state, made, id;
  *r = (rig){.ctx = plim_test_context(), .options = plim_plan_options_default()};
  cr_assert_eq(plim_graph_begin(r->ctx, "updates", 1, &b), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "x", PLIM_ROLE_INPUT, &shape, &input), PLIM_OK);
  cr_assert_eq(plim_graph_add(b, "running", PLIM_ROLE_STATE, &shape, &state), PLIM_OK);
  for (int i = 0; i < UPDATES; i++) {
    char name[2][24];
    (void)snprintf(name[0], sizeof name[0], "make%d", i);
    (void)snprintf(name[1], sizeof name[1], "update%d", i);
    cr_assert_eq(plim_graph_add(b, name[0], PLIM_ROLE_ACTIVATION, &shape, &made), PLIM_OK);
    const plim_op_spec make = {.name = name[0],
                               .kind = PLIM_OP_CUSTOM,
                               .cls = PLIM_OP_PURE,
                               .n_in = 1,
                               .n_out = 1,
                               .in = {input},
                               .out = {made},
                               .time_ns = 100};
    const plim_op_spec update = {.name = name[1],
                                 .kind = PLIM_OP_CUSTOM,
                                 .cls = PLIM_OP_EFFECT,
                                 .n_in = 1,
                                 .n_upd = 1,
                                 .in = {made},
                                 .upd = {state},
                                 .time_ns = 100};
    cr_assert_eq(plim_graph_add_op(b, &make, &id), PLIM_OK);
    cr_assert_eq(plim_graph_add_op(b, &update, &id), PLIM_OK);
  }
  cr_assert_eq(plim_graph_end(b, &r->graph), PLIM_OK, "%s", plim_context_error(r->ctx));
  complete_rig(r, 1, 1);
}

Test(joint_paging, updates_of_one_state_keep_program_order) {
  rig r;
  make_updates_graph(&r);
  for (int32_t i = UPDATES - 1; i >= 0; i--) {
    plim_space_events_add(&r.events, PLIM_SPACE_RUN, 2 * i, 0);
    plim_space_events_add(&r.events, PLIM_SPACE_RUN, 2 * i + 1, 0);
  }
  plim_plan *plan = plan_of(&r);
  cr_assert_eq(plim_plan_check(r.ctx, r.graph, plan), PLIM_OK, "%s", plim_context_error(r.ctx));
  cr_assert_eq(plan->command[0].op, 2 * (UPDATES - 1), "what updates nothing stays where it is");
  plim_plan_free(plan);
  free_rig(&r);
}

Test(joint_paging, a_sequence_that_reads_what_is_not_there_has_no_list) {
  rig r;
  int32_t fits;
  make_rig(&r, test_seed(1), 1);
  for (int32_t o = r.graph->n_ops - 1; o >= 0; o--) plim_space_events_add(&r.events, PLIM_SPACE_RUN, o, 0);
  cr_assert_eq(plim_joint_list(r.joint, &r.events, r.keep_all, &r.list, &fits), PLIM_OK);
  cr_assert_not(fits);
  free_rig(&r);
}

/* Time of the best plan of queue_search.c alone, and of the joint search that begins with it. */
static void search_both(rig *r, int64_t *alone_ns, int64_t *joint_ns) {
  plim_plan *best = NULL;
  r->options.iterations = 60;
  *alone_ns = *joint_ns = INT64_MAX;
  cr_assert_eq(plim_queue_search(r->ctx, r->graph, r->profile, &r->options, r->keep_all, r->keep_all->time_ns, &best),
               PLIM_OK);
  if (!best) return;
  *alone_ns = best->time_ns;
  cr_assert_eq(plim_joint_search(r->ctx, r->graph, r->profile, &r->options, r->keep_all, r->keep_all->time_ns, &best),
               PLIM_OK, "%s", plim_context_error(r->ctx));
  *joint_ns = best->time_ns;
  cr_assert_eq(plim_plan_check(r->ctx, r->graph, best), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_leq(best->arena_bytes, r->options.budget_bytes);
  for (int32_t s = 0; s < best->n_page_spaces; s++)
    cr_assert_leq(best->page[s].arena_bytes, r->spaces.budget_bytes[s + 1]);
  plim_plan_free(best);
}

/* Some are faster: cases are drawn until one is. */
static void compare_searches(int devices) {
  enum { MOST = 60 };
  int faster = 0, found = 0, cases = 0;
  for (uint64_t seed = test_seed(1), end = seed + MOST; test_seed_at(seed) < end && (cases < SEEDS || !faster);
       seed++) {
    rig r;
    int64_t alone_ns, joint_ns, persistent;
    make_rig(&r, seed, devices);
    persistent = plim_graph_persistent_bytes(r.graph);
    r.options.budget_bytes = persistent + (r.keep_all->arena_bytes - persistent) * 6 / 10;
    search_both(&r, &alone_ns, &joint_ns);
    cr_assert_leq(joint_ns, alone_ns);
    faster += joint_ns < alone_ns;
    found += alone_ns < INT64_MAX;
    cases++;
    free_rig(&r);
  }
  cr_assert_gt(found, 1);
  cr_assert_gt(faster, 0, "on %d devices none of %d plans is faster", devices, found);
}

Test(joint_paging, what_begins_with_a_plan_that_pages_is_never_slower_and_at_times_faster) {
  compare_searches(1);
}

Test(joint_paging, what_begins_with_a_plan_on_two_devices_is_never_slower_and_at_times_faster) {
  compare_searches(2);
}

/* Runs draw much, copies little: what is paged and not recomputed saves energy. */
static const plim_powers powers = {.device_watt = {50, 50}, .idle_watt = 0, .link_watt = {{0, 1}, {1, 0}}};

static plim_status plan_by_deadline(rig *r, const plim_powers *given, int64_t deadline_ns, plim_plan **out) {
  r->paging.powers = given;
  r->paging.deadline_ns = deadline_ns;
  return plim_plan_make(r->ctx, r->graph, r->profile, &r->options, out);
}

Test(joint_paging, a_plan_for_energy_keeps_its_deadline_and_takes_no_more_energy_than_the_fastest) {
  int less = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    rig r;
    plim_plan *fast = NULL, *frugal = NULL, *hasty = NULL;
    make_rig(&r, seed, 1);
    int64_t persistent = plim_graph_persistent_bytes(r.graph);
    r.options.budget_bytes = persistent + (r.keep_all->arena_bytes - persistent) * 7 / 10;
    r.options.iterations = 60;
    for (int in = 0; in < 2; in++) r.paging.bytes_per_ns[in] /= 8; /* so that copies take time */
    if (plan_by_deadline(&r, NULL, 0, &fast) == PLIM_OK) {
      const int64_t deadline_ns = fast->time_ns + fast->time_ns / 4;
      cr_assert_eq(plan_by_deadline(&r, &powers, deadline_ns, &frugal), PLIM_OK, "%s", plim_context_error(r.ctx));
      cr_assert_leq(frugal->time_ns, deadline_ns);
      cr_assert_leq(plim_plan_energy(frugal, &powers), plim_plan_energy(fast, &powers));
      less += plim_plan_energy(frugal, &powers) < plim_plan_energy(fast, &powers);
      cr_assert_eq(plan_by_deadline(&r, &powers, r.keep_all->time_ns / 2, &hasty), PLIM_ENOFIT);
    }
    plim_plan_free(fast);
    plim_plan_free(frugal);
    free_rig(&r);
  }
  cr_assert_gt(less, 0);
}

Test(joint_paging, where_copies_draw_much_a_plan_for_energy_takes_no_more_than_recomputation_alone) {
  static const plim_powers costly_links = {.device_watt = {1, 1}, .idle_watt = 0, .link_watt = {{0, 1000}, {1000, 0}}};
  int compared = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    rig r;
    plim_plan *recomputed = NULL, *frugal = NULL;
    make_rig(&r, seed, 1);
    int64_t persistent = plim_graph_persistent_bytes(r.graph);
    r.options.budget_bytes = persistent + (r.keep_all->arena_bytes - persistent) * 7 / 10;
    r.options.iterations = 60;
    plim_plan_options alone = r.options;
    alone.paging = NULL;
    if (plim_plan_make(r.ctx, r.graph, r.profile, &alone, &recomputed) == PLIM_OK) {
      compared++;
      cr_assert_eq(plan_by_deadline(&r, &costly_links, 2 * recomputed->time_ns, &frugal), PLIM_OK, "%s",
                   plim_context_error(r.ctx));
      cr_assert_leq(plim_plan_energy(frugal, &costly_links), plim_plan_energy(recomputed, &costly_links), "seed %llu",
                    (unsigned long long)seed);
    }
    plim_plan_free(recomputed);
    plim_plan_free(frugal);
    free_rig(&r);
  }
  cr_assert_gt(compared, SEEDS / 2);
}

Test(joint_paging, energy_is_that_of_runs_copies_and_idle_time) {
  rig r;
  make_rig(&r, test_seed(1), 1);
  const plim_powers watts = {.device_watt = {3, 0}, .idle_watt = 2};
  const double joule = plim_plan_energy(r.keep_all, &watts);
  cr_assert_float_eq(joule, 5e-9 * (double)r.keep_all->time_ns, 1e-12 * joule);
  free_rig(&r);
}

/* Neither recomputation nor pages alone are enough: a plan has to do both. Every second case or so has one, so cases
 * are drawn until two had. */
Test(joint_paging, a_small_page_space_and_recomputation_together_fit_where_neither_does) {
  int32_t tried = 0, found = 0;
  for (uint64_t seed = test_seed(1), end = seed + 4 * SEEDS; test_seed_at(seed) < end && found < 2; seed++) {
    rig r = {.ctx = plim_test_context(), .options = plim_plan_options_default()};
    plim_plan_floor floor;
    plim_plan *plan = NULL;
    r.options.iterations = 100;
    cr_assert_eq(random_chain_make(r.ctx, 2 * CHAIN, seed, &r.graph), PLIM_OK);
    complete_rig(&r, seed, 1);
    cr_assert_eq(plim_plan_smallest(r.ctx, r.graph, r.profile, &r.options, &floor, NULL), PLIM_OK);
    r.options.budget_bytes = floor.smallest_bytes - floor.smallest_bytes / 20;
    r.paging.budget_bytes = r.keep_all->arena_bytes / 8;
    r.paging.recompute = 0;
    plim_status without = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan);
    r.paging.recompute = 1;
    if (without == PLIM_ENOFIT && floor.bound_bytes < r.options.budget_bytes) {
      tried++;
      found += plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &plan) == PLIM_OK;
    }
    plim_plan_free(plan);
    free_rig(&r);
  }
  cr_assert_eq(found, 2, "%d of %d", found, tried);
}

/* A list in one pass, for devices drawn for each run and arenas that are hardly enough. PLIM_EPLAN: the checker refuses
 * the plan. *fits: there is a plan. */
static plim_status decode_drawn(rig *r, uint64_t seed, int32_t percent, int32_t *fits) {
  const int32_t devices = r->paging.n_devices + 1;
  plim_command_list list = {.ctx = r->ctx, .graph = r->graph};
  plim_queue_runs runs;
  plim_plan *plan = NULL;
  plim_random random = {seed};
  int32_t device[512];
  static const double whole[] = {1};
  const int64_t persistent = plim_graph_persistent_bytes(r->graph), room = r->keep_all->arena_bytes - persistent;
  r->options.budget_bytes = persistent + room * percent / 100;
  r->paging.space = NULL;
  for (int32_t i = 0; i < r->paging.n_devices; i++) r->paging.device[i].budget_bytes = room * percent / 100;
  plim_queue_spaces_make(&r->options, &r->spaces);
  cr_assert_eq(plim_queue_runs_make(r->graph, r->keep_all, &runs), PLIM_OK);
  cr_assert_leq(runs.n, 512);
  for (int32_t i = 0; i < runs.n; i++) {
    const int updates = r->graph->op[r->keep_all->command[i].op].n_updates > 0;
    device[i] = updates ? 0 : plim_random_below(&random, devices);
  }
  const plim_lowering lowering = {.paging = &r->paging,
                                  .spaces = &r->spaces,
                                  .base = r->keep_all,
                                  .planner = "test",
                                  .keep_all_ns = r->keep_all->time_ns,
                                  .bound_ns = 0,
                                  .n_shares = 1,
                                  .share = whole};
  cr_assert_eq(plim_queue_decode(&runs, &r->spaces, device, 0, &random, &list, fits), PLIM_OK);
  plim_status status = *fits ? plim_lower(&lowering, &list, fits, &plan) : PLIM_OK;
  plim_plan_free(plan);
  plim_command_list_free(&list);
  plim_queue_runs_free(&runs);
  return status;
}

/* A run that has no room writes over an input. Where the input was copied in for this very run, it is copied out before
 * the run too: after it the bytes are others. */
static void expect_drawn_plans(int devices) {
  int32_t made = 0;
  for (uint64_t seed = test_seed(1), end = seed + 60; test_seed_at(seed) < end; seed++) {
    rig r;
    make_rig(&r, seed, devices);
    for (int32_t percent = 50; percent < 100; percent++) {
      int32_t fits;
      plim_status status = decode_drawn(&r, seed * 100 + (uint64_t)percent, percent, &fits);
      cr_assert_eq(status, PLIM_OK, "seed %llu, %d %%: %s", (unsigned long long)seed, percent,
                   plim_context_error(r.ctx));
      made += fits;
    }
    free_rig(&r);
  }
  cr_assert_gt(made, 100, "%d", made);
}

Test(joint_paging, tight_arenas_of_two_devices_give_plans_that_the_checker_accepts) {
  expect_drawn_plans(2);
}

/* With eight the links to a space share a queue. */
Test(joint_paging, so_do_those_of_three_and_of_eight_devices) {
  expect_drawn_plans(3);
  expect_drawn_plans(8);
}
