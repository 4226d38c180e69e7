/* planner/paging/queue_order.c: list scheduling of the runs of a plan on two devices. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "planner/paging/paging_internal.h"
#include "planner/planner.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

enum { CHAIN = 8, SEEDS = 5 };

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
  plim_queue_runs runs;
  int32_t *order, *space;
  uint8_t *fixed;
} rig;

static const plim_queue_spaces two_devices = {.n = 2,
                                              .computes = {1, 1},
                                              .budget_bytes = {INT64_MAX, INT64_MAX},
                                              .bytes_per_ns = {{0, 100}, {100, 0}},
                                              .run_queue = {0, 1},
                                              .copy_queue = {{0, 2}, {3, 0}}};

static void make_rig(rig *r, uint64_t seed) {
  plim_plan_options options = plim_plan_options_default();
  *r = (rig){.ctx = plim_test_context()};
  cr_assert_eq(random_chain_make(r->ctx, CHAIN, seed, &r->graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r->graph, seed, 1, &r->profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &options, &r->plan), PLIM_OK);
  cr_assert_eq(plim_queue_runs_make(r->graph, r->plan, &r->runs), PLIM_OK);
  r->order = calloc((size_t)r->runs.n, sizeof *r->order);
  r->space = calloc((size_t)r->runs.n, sizeof *r->space);
  r->fixed = calloc((size_t)r->runs.n, 1);
  cr_assert(r->order && r->space && r->fixed);
  for (int32_t i = 0; i < r->runs.n; i++) r->fixed[i] = r->graph->op[r->plan->command[i].op].n_updates > 0;
}

static void free_rig(rig *r) {
  free(r->order);
  free(r->space);
  free(r->fixed);
  plim_queue_runs_free(&r->runs);
  plim_plan_free(r->plan);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  plim_context_free(r->ctx);
}

/* Accesses of a storage of which one writes stay in the order of the plan. */
static int keeps_order(const rig *r, const int32_t *place) {
  for (int32_t s = 0; s < r->graph->n_storages; s++) {
    for (int32_t i = r->runs.first[s]; i < r->runs.first[s + 1] && r->runs.access[i].run != INT32_MAX; i++) {
      for (int32_t k = r->runs.first[s]; k < i; k++) {
        const int writes = r->runs.access[i].writes || r->runs.access[k].writes;
        if (writes && place[r->runs.access[k].run] > place[r->runs.access[i].run]) return 0;
      }
    }
  }
  return 1;
}

Test(queue_order, every_run_follows_what_it_depends_on_and_updates_stay_on_the_first_device) {
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    rig r;
    make_rig(&r, seed);
    int32_t *place = calloc((size_t)r.runs.n, sizeof *place);
    cr_assert(place);
    cr_assert_eq(plim_queue_order(&r.runs, &two_devices, r.fixed, r.order, r.space), PLIM_OK);
    for (int32_t i = 0; i < r.runs.n; i++) place[i] = -1;
    for (int32_t i = 0; i < r.runs.n; i++) {
      cr_assert_eq(place[r.order[i]], -1, "run %d is there twice", r.order[i]);
      place[r.order[i]] = i;
      cr_assert(!r.fixed[i] || r.space[i] == 0);
    }
    cr_assert(keeps_order(&r, place), "seed %llu", (unsigned long long)seed);
    free(place);
    free_rig(&r);
  }
}

Test(queue_order, a_cancel_ends_it_without_an_order) {
  rig r;
  make_rig(&r, test_seed(1));
  plim_context_cancel(r.ctx);
  r.order[0] = -7;
  cr_assert_eq(plim_queue_order(&r.runs, &two_devices, r.fixed, r.order, r.space), PLIM_ECANCEL);
  cr_assert_eq(r.order[0], -7);
  free_rig(&r);
}
