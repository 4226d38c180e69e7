/* runtime/inspect: against plain loops over random plans with repeats, and a plan whose reasons are known. */
#include "runtime/inspect/inspect.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/graph/check.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"

typedef struct rig {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
  plim_inspect *inspect;
} rig;

static rig make_rig(uint64_t seed) {
  rig r = {.ctx = plim_test_context()};
  random_graph_options graph = random_graph_options_default(seed);
  random_plan_options plan = random_plan_options_default(seed);
  plan.repeat_percent = 30;
  plan.packed = 1;
  cr_assert_eq(random_graph_make(r.ctx, &graph, &r.graph), PLIM_OK);
  cr_assert_eq(random_profile_make(r.graph, seed, 2, &r.profile), PLIM_OK);
  cr_assert_eq(random_plan_make(r.graph, r.profile, &plan, &r.plan), PLIM_OK);
  cr_assert_eq(plim_inspect_new(r.graph, r.plan, &r.inspect), PLIM_OK, "%s", plim_context_error(r.ctx));
  return r;
}

static void free_rig(rig *r) {
  plim_inspect_free(r->inspect);
  plim_plan_free(r->plan);
  plim_profile_free(r->profile);
  plim_graph_free(r->graph);
  cr_assert_eq(plim_context_memory(r->ctx).bytes, 0);
  plim_context_free(r->ctx);
}

static int reads(const rig *r, int32_t step, int32_t storage) {
  const plim_op *op = &r->graph->op[r->plan->step[step].op];
  for (int32_t i = 0; i < op->n_reads; i++) {
    if (op->reads[i] == storage) return 1;
  }
  return 0;
}

static int is_resident(const rig *r, int32_t storage, int32_t step) {
  for (int32_t i = 0; i < r->plan->n_lives; i++) {
    const plim_life *l = &r->plan->life[i];
    if (l->storage == storage && l->begin <= step && step < l->end) return 1;
  }
  return 0;
}

Test(inspect, residents_bytes_uses_and_repeats_are_those_of_plain_loops) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    rig r = make_rig(seed);
    int64_t peak = 0;
    for (int32_t j = 0; j < r.plan->n_steps; j++) {
      plim_resident row[512];
      int32_t n = plim_inspect_residents(r.inspect, j, row, 512), before = 0;
      int64_t bytes = 0;
      for (int32_t i = 0; i < n; i++) {
        const plim_life *l = &r.plan->life[row[i].life];
        cr_assert(l->begin <= j && j < l->end);
        cr_assert(i == 0 || r.plan->life[row[i - 1].life].offset < l->offset, "seed %d: by address", (int)seed);
        bytes += l->bytes;
      }
      cr_assert_eq(bytes, plim_inspect_live_bytes(r.inspect, j), "seed %d step %d", (int)seed, (int)j);
      if (bytes > peak) peak = bytes;
      for (int32_t i = 0; i < j; i++) before += r.plan->step[i].op == r.plan->step[j].op;
      cr_assert_eq(plim_inspect_is_repeat(r.inspect, j), before > 0);
      for (int32_t s = 0; s < r.graph->n_storages; s++) {
        int32_t next = j;
        while (next < r.plan->n_steps && !reads(&r, next, s)) next++;
        cr_assert_eq(plim_inspect_next_use(r.inspect, s, j), next == r.plan->n_steps ? -1 : next);
      }
    }
    cr_assert_eq(peak, r.plan->peak_bytes);
    free_rig(&r);
  }
}

/* What an absence says, from plain loops. */
static void check_absence(const rig *r, int32_t s, int32_t step, const plim_absence *a) {
  const plim_plan *plan = r->plan;
  if (is_resident(r, s, step)) {
    cr_assert_eq(a->kind, PLIM_ABSENT_NOT);
    return;
  }
  int32_t gone = -1, back = -1;
  int64_t bytes = 0;
  for (int32_t i = 0; i < plan->n_lives; i++) {
    const plim_life *l = &plan->life[i];
    if (l->storage != s) continue;
    bytes = l->bytes;
    if (l->end <= step && l->end > gone) gone = l->end;
    if (l->begin > step && (back < 0 || l->begin < back)) back = l->begin;
  }
  cr_assert_eq(a->kind, gone < 0 ? PLIM_ABSENT_UNMADE : back < 0 ? PLIM_ABSENT_DONE : PLIM_ABSENT_DROPPED);
  if (a->kind != PLIM_ABSENT_DROPPED) return;
  cr_assert(a->gone == gone && a->back == back);
  for (int32_t j = gone; j < back; j++) {
    plim_resident row[512];
    int64_t live = 0;
    int32_t n = plim_inspect_residents(r->inspect, j, row, 512);
    for (int32_t i = 0; i < n; i++) live += plan->life[row[i].life].bytes;
    int breaks = live + bytes > plan->budget_bytes;
    cr_assert(!breaks || a->full_step >= 0);
    if (j < a->full_step || a->full_step < 0) cr_assert(!breaks);
    if (j == a->full_step) cr_assert_eq(a->over_bytes, live + bytes - plan->budget_bytes);
  }
  cr_assert_geq(a->again_runs, 1);
  cr_assert_leq(a->again_depth, a->again_runs);
  cr_assert_geq(a->again_ns, plan->variant[plan->step[back].variant].variant.time_ns);
  if (a->instead < 0) return;
  cr_assert(is_resident(r, a->instead, gone) && is_resident(r, a->instead, a->full_step));
  cr_assert_geq(a->instead_bytes, a->over_bytes);
  for (int32_t j = gone; j <= a->full_step; j++) cr_assert(!reads(r, j, a->instead));
}

Test(inspect, absences_are_explained_as_plain_loops_would) {
  int dropped = 0, full = 0, instead = 0, deep = 0;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    rig r = make_rig(seed);
    for (int32_t j = 0; j < r.plan->n_steps; j += 3) {
      for (int32_t s = 0; s < r.graph->n_storages; s++) {
        plim_absence a;
        cr_assert_eq(plim_inspect_absence(r.inspect, s, j, &a), PLIM_OK);
        check_absence(&r, s, j, &a);
        dropped += a.kind == PLIM_ABSENT_DROPPED;
        full += a.full_step >= 0;
        instead += a.instead >= 0;
        deep += a.again_depth > 1;
      }
    }
    free_rig(&r);
  }
  cr_assert(dropped > 20, "%d", dropped);
  (void)full, (void)instead, (void)deep;
}

/* A training chain under a budget: what the search drops, it had to. */
Test(inspect, under_a_cap_most_drops_name_the_step_that_is_full) {
  plim_context *ctx = plim_test_context();
  plim_graph *graph = NULL;
  plim_profile *profile = NULL;
  plim_plan *keep = NULL, *plan = NULL;
  plim_inspect *inspect = NULL;
  plim_plan_options options = plim_plan_options_default();
  int dropped = 0, full = 0, instead = 0;
  cr_assert_eq(random_chain_make(ctx, 14, 3, &graph), PLIM_OK);
  cr_assert_eq(random_profile_make(graph, 3, 1, &profile), PLIM_OK);
  cr_assert_eq(plim_plan_keep_all(ctx, graph, profile, &options, &keep), PLIM_OK);
  plim_plan_floor floor;
  cr_assert_eq(plim_plan_smallest(ctx, graph, profile, &options, &floor, NULL), PLIM_OK);
  options.budget_bytes = (keep->arena_bytes + floor.smallest_bytes) / 2;
  cr_assert_eq(plim_plan_make(ctx, graph, profile, &options, &plan), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(plim_inspect_new(graph, plan, &inspect), PLIM_OK);
  for (int32_t s = 0; s < graph->n_storages; s++) {
    for (int32_t j = 0; j < plan->n_steps; j++) {
      plim_absence a;
      cr_assert_eq(plim_inspect_absence(inspect, s, j, &a), PLIM_OK);
      if (a.kind != PLIM_ABSENT_DROPPED || a.gone != j) continue;
      dropped++;
      full += a.full_step >= 0;
      instead += a.instead >= 0;
      cr_assert(a.full_step < 0 || (a.over_bytes > 0 && a.full_step >= a.gone && a.full_step < a.back));
    }
  }
  cr_assert_gt(dropped, 0);
  cr_assert_gt(2 * full, dropped, "%d of %d", full, dropped);
  plim_inspect_free(inspect);
  plim_plan_free(plan);
  plim_plan_free(keep);
  plim_profile_free(profile);
  plim_graph_free(graph);
  plim_context_free(ctx);
}

Test(inspect, refuses_a_plan_of_another_graph_and_steps_that_are_none) {
  rig r = make_rig(5), other = make_rig(6);
  plim_inspect *none = NULL;
  plim_absence a;
  cr_assert_eq(plim_inspect_new(other.graph, r.plan, &none), PLIM_EDATA);
  cr_assert_null(none);
  cr_assert_eq(plim_inspect_absence(r.inspect, 0, r.plan->n_steps, &a), PLIM_EUSAGE);
  cr_assert_eq(plim_inspect_absence(r.inspect, -1, 0, &a), PLIM_EUSAGE);
  cr_assert_str_eq(plim_inspect_name(r.inspect, -1), "workspace");
  free_rig(&r);
  free_rig(&other);
}
