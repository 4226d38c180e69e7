/* Plans that continue in a smaller arena from the middle: what has run stays as it was, the rest lies within the new
 * end, and the whole is a plan that the checker accepts and that leaves what program order leaves. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/arena/replay_search.h"
#include "runtime/graph/check/check.h"
#include "tests/support/failing_memory.h"
#include "tests/support/interpret.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

typedef struct flight {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *schedule, *plan; /* plan: in flight */
} flight;

static plim_status make_flight(plim_context *ctx, uint64_t seed, flight *f) {
  random_graph_options g = random_graph_options_default(seed);
  random_plan_options p = random_plan_options_default(seed);
  p.merge_percent = 0;
  p.packed = 1;
  g.max_bytes = 3000;
  *f = (flight){.ctx = ctx};
  PLIM_TRY(seed % 2 ? random_chain_make(ctx, 2 + (int32_t)(seed % 20), seed, &f->graph)
                    : random_graph_make(ctx, &g, &f->graph));
  PLIM_TRY(random_profile_make(f->graph, seed, 2, &f->profile));
  PLIM_TRY(random_plan_make(f->graph, f->profile, &p, &f->schedule));
  return plim_arena_replay(ctx, f->graph, f->schedule, 2 * f->schedule->peak_bytes, NULL, &f->plan);
}

static void free_flight(flight *f) {
  plim_plan_free(f->plan);
  plim_plan_free(f->schedule);
  plim_profile_free(f->profile);
  plim_graph_free(f->graph);
}

/* How many buffers have moved. Buffers that have begun match one by one; what is over stays where it was, and what
 * continues from beyond `end` has moved below it. */
static int compare_buffers(const flight *f, const plim_plan *next, int32_t from, int64_t end) {
  int moves = 0;
  for (int32_t i = 0; i < f->plan->n_buffers && f->plan->buffer[i].begin < from; i++) {
    const plim_plan_buffer *old = &f->plan->buffer[i], *new = &next->buffer[i];
    cr_assert_eq(new->storage, old->storage);
    cr_assert_eq(new->begin, old->begin);
    if (new->offset == old->offset) continue;
    cr_assert_geq(old->end, from, "what is over cannot move");
    cr_assert_gt(old->offset + old->bytes, end);
    moves++;
  }
  for (int32_t i = 0; i < next->n_buffers; i++) {
    if (next->buffer[i].end > from) cr_assert_leq(next->buffer[i].offset + next->buffer[i].bytes, end);
  }
  return moves;
}

static int assert_goes_on(const flight *f, const plim_plan *next, int32_t from, int64_t end) {
  int moves = compare_buffers(f, next, from, end);
  if (moves == 0) {
    cr_assert_eq(plim_plan_check(f->ctx, f->graph, next), PLIM_OK, "%s", plim_context_error(f->ctx));
    cr_assert(interpret_equals_program_order(f->graph, next));
  }
  for (int32_t j = 0; j < from; j++) {
    cr_assert_eq(next->command[j].op, f->plan->command[j].op);
    cr_assert_eq(next->command[j].n_pairs, f->plan->command[j].n_pairs);
    cr_assert_str_eq(next->variant[next->command[j].variant].variant.name,
                     f->plan->variant[f->plan->command[j].variant].variant.name);
  }
  return moves;
}

Test(resume, goes_on_in_less_from_any_step_or_says_why_not) {
  plim_context *ctx = plim_test_context();
  int went_on = 0, refused = 0, moved = 0;
  int64_t recomputes = 0;
  for (uint64_t seed = test_seed(1), stop = seed + 60; test_seed_at(seed) < stop; seed++) {
    flight f;
    cr_assert_eq(make_flight(ctx, seed, &f), PLIM_OK, "seed %llu: %s", (unsigned long long)seed,
                 plim_context_error(ctx));
    for (int32_t from = 1; from < f.plan->n_commands; from += 1 + f.plan->n_commands / 12) {
      for (int64_t percent = 100; percent >= 40; percent -= 15) {
        plim_plan *next = NULL;
        plim_replay_counts counts;
        int64_t end = f.plan->arena_bytes * percent / 100 / PLIM_ALIGN * PLIM_ALIGN;
        const plim_arena_change change = {.from = from, .arena_bytes = end, .profile = seed % 3 ? f.profile : NULL};
        plim_status status = plim_arena_continue(ctx, f.graph, f.plan, &change, &counts, &next);
        if (status == PLIM_OK) {
          moved += assert_goes_on(&f, next, from, end);
          went_on++;
          recomputes += counts.recomputes;
        } else {
          cr_assert_eq(status, PLIM_ENOFIT, "seed %llu: %s", (unsigned long long)seed, plim_context_error(ctx));
          cr_assert(plim_context_error(ctx)[0]);
          refused++;
        }
        plim_plan_free(next);
      }
    }
    free_flight(&f);
  }
  cr_log_info("%d went on, %d refused, %d buffers moved, %lld recomputes", went_on, refused, moved,
              (long long)recomputes);
  cr_assert_gt(went_on, 800);
  cr_assert_gt(refused, 20);
  cr_assert_gt(recomputes, 100);
  cr_assert_gt(moved, 500);
  plim_context_free(ctx);
}

Test(resume, in_as_many_bytes_costs_nothing) {
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 40; test_seed_at(seed) < end; seed++) {
    flight f;
    cr_assert_eq(make_flight(ctx, seed, &f), PLIM_OK);
    for (int32_t from = 1; from < f.plan->n_commands; from++) {
      plim_plan *next = NULL;
      plim_replay_counts counts;
      const plim_arena_change change = {.from = from, .arena_bytes = 2 * f.schedule->peak_bytes};
      cr_assert_eq(plim_arena_continue(ctx, f.graph, f.plan, &change, &counts, &next), PLIM_OK,
                   "seed %llu, step %d: %s", (unsigned long long)seed, (int)from, plim_context_error(ctx));
      cr_assert_leq(next->time_ns, f.plan->time_ns, "seed %llu, step %d: %lld, not %lld", (unsigned long long)seed,
                    (int)from, (long long)next->time_ns, (long long)f.plan->time_ns);
      cr_assert_eq(counts.evictions, 0);
      plim_plan_free(next);
    }
    free_flight(&f);
  }
  plim_context_free(ctx);
}

static plim_status go_on_half_way(plim_context *ctx, void *user) {
  (void)user;
  flight f;
  plim_plan *next = NULL;
  plim_status status = make_flight(ctx, 7, &f);
  if (status == PLIM_OK) {
    const plim_arena_change change = {
        .from = f.plan->n_commands / 2, .arena_bytes = 2 * f.schedule->peak_bytes, .profile = f.profile};
    status = plim_arena_continue(ctx, f.graph, f.plan, &change, NULL, &next);
  }
  plim_plan_free(next);
  free_flight(&f);
  return status;
}

Test(resume, survives_every_allocation_that_fails) {
  cr_assert_gt(plim_test_each_allocation(go_on_half_way, NULL), 50);
}
