/* planner/spaces/problem/space_sequence.c: insertions into an analysed sequence leave it as a whole analysis would. */
#include "planner/spaces/problem/space_sequence.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/space_cases.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

enum { INSERTIONS = 12 };

static void expect_equal_spaces(const plim_space_sequence *a, const plim_space_sequence *b, uint64_t seed) {
  for (int32_t space = 0; space < a->problem->platform->n_spaces; space++) {
    int64_t most = 0;
    for (int32_t e = 0; e < a->n; e++) {
      int64_t live = plim_space_live(a, space)[e];
      cr_assert_eq(live, plim_space_live(b, space)[e], "seed %llu: space %d, event %d", (unsigned long long)seed, space,
                   e);
      if (live > most) most = live;
    }
    cr_assert(plim_space_sequence_fits(a, space, 0, a->n, 0, most));
    cr_assert(most == 0 || !plim_space_sequence_fits(a, space, 0, a->n, 1, most));
  }
}

static void expect_equal(const plim_space_sequence *a, const plim_space_sequence *b, uint64_t seed) {
  int64_t cells = (int64_t)a->problem->platform->n_spaces * a->problem->n;
  cr_assert(a->valid && b->valid, "seed %llu", (unsigned long long)seed);
  cr_assert_eq(a->n, b->n, "seed %llu: %d and %d events", (unsigned long long)seed, a->n, b->n);
  for (int32_t e = 0; e < a->n; e++) {
    cr_assert(a->event[e].kind == b->event[e].kind && a->event[e].node == b->event[e].node &&
              a->event[e].at == b->event[e].at);
    cr_assert_eq(a->last[e], b->last[e], "seed %llu: last of %d", (unsigned long long)seed, e);
    cr_assert_eq(a->previous_filler[e], b->previous_filler[e], "seed %llu: before %d", (unsigned long long)seed, e);
    cr_assert_eq(a->first_read[e + 1], b->first_read[e + 1], "seed %llu: reads of %d", (unsigned long long)seed, e);
    for (int32_t i = a->first_read[e]; i < a->first_read[e + 1]; i++) cr_assert_eq(a->read[i], b->read[i]);
  }
  cr_assert_eq(memcmp(a->latest, b->latest, (size_t)cells * sizeof *a->latest), 0, "seed %llu",
               (unsigned long long)seed);
  expect_equal_spaces(a, b, seed);
}

/* Without room the plain way. */
static void extend(plim_space_sequence *s, int32_t at, const plim_space_event *item) {
  int32_t done = 0;
  cr_assert_eq(plim_space_sequence_extend(s, at, 1, item, &done), PLIM_OK);
  if (!done) cr_assert_eq(plim_space_sequence_insert(s, at, 1, item), PLIM_OK);
}

/* A run of `node`, or a copy out at `out` and in, before event u that reads it; in both sequences. */
static void insert_both(plim_space_sequence *s, plim_space_sequence *whole, int32_t out, int32_t u, int32_t node,
                        int copies) {
  const plim_space_event run = {PLIM_SPACE_RUN, node, 0}, away = {PLIM_SPACE_COPY, node, 0},
                         back = {PLIM_SPACE_COPY, node, 1};
  cr_assert_eq(plim_space_sequence_copy(whole, s), PLIM_OK);
  cr_assert_eq(plim_space_sequence_insert(whole, u, 1, copies ? &back : &run), PLIM_OK);
  if (copies) cr_assert_eq(plim_space_sequence_insert(whole, out, 1, &away), PLIM_OK);
  cr_assert_eq(plim_space_sequence_analyse(whole), PLIM_OK);
  if (copies) extend(s, out, &away);
  extend(s, u + copies, copies ? &back : &run);
  /* another copy out is nearer: that is not what extend promises for */
  if (copies && s->valid && s->last[out] == out) s->valid = 0;
  plim_space_sequence_trim(s);
}

/* How many insertions left the sequence analysed. */
static int insert_some(plim_space_sequence *s, plim_space_sequence *whole, uint64_t seed) {
  uint64_t random = seed;
  int kept = 0;
  for (int i = 0; i < INSERTIONS; i++) {
    int32_t u = (int32_t)test_random_between(&random, 0, s->n - 1);
    if (s->event[u].kind != PLIM_SPACE_RUN || s->first_read[u] == s->first_read[u + 1]) continue;
    int32_t filler = s->read[test_random_between(&random, s->first_read[u], s->first_read[u + 1] - 1)];
    int copies = test_random_chance(&random, 50);
    insert_both(s, whole, (int32_t)test_random_between(&random, filler + 1, u), u, s->event[filler].node, copies);
    kept += s->valid;
    if (!s->valid) cr_assert_eq(plim_space_sequence_analyse(s), PLIM_OK);
    expect_equal(s, whole, seed);
  }
  return kept;
}

Test(space_sequence, an_insertion_leaves_what_a_whole_analysis_finds) {
  plim_context *ctx = plim_test_context();
  plim_platform *platform = NULL;
  int kept = 0;
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
  for (uint64_t seed = test_seed(1), end = seed + 300; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    space_case c;
    plim_space_problem *problem = NULL;
    plim_space_sequence s, whole;
    space_case_random(&random, (int32_t)test_random_between(&random, 3, SPACE_OPS), &c);
    plim_graph *graph = space_case_flops(ctx, &c);
    for (int32_t i = 0; i < c.n; i++) graph->costs->workspace[i] = test_random_between(&random, 0, 3);
    cr_assert_eq(plim_space_problem_make(graph, platform, 0, &problem), PLIM_OK);
    cr_assert_eq(plim_space_sequence_init(&s, problem), PLIM_OK);
    cr_assert_eq(plim_space_sequence_init(&whole, problem), PLIM_OK);
    for (int32_t i = 0; i < c.n; i++) {
      const plim_space_event run = {PLIM_SPACE_RUN, i, 0};
      cr_assert_eq(plim_space_sequence_insert(&s, i, 1, &run), PLIM_OK);
    }
    cr_assert_eq(plim_space_sequence_analyse(&s), PLIM_OK);
    kept += insert_some(&s, &whole, seed);
    plim_space_sequence_free(&whole);
    plim_space_sequence_free(&s);
    plim_space_problem_free(problem);
    plim_graph_free(graph);
  }
  cr_expect_gt(kept, 1500, "%d insertions without a whole analysis", kept);
  plim_platform_free(platform);
  plim_test_context_end(ctx);
}

Test(space_sequence, a_long_sequence_gives_all_its_memory_back) {
  plim_context *ctx = plim_test_context();
  plim_platform *platform = NULL;
  plim_space_problem *problem = NULL;
  plim_space_sequence s;
  plim_graph *graph = space_case_flops(ctx, space_case_named("multi_skip_unit"));
  cr_assert_eq(plim_platform_built_in(ctx, "m4", &platform), PLIM_OK);
  cr_assert_eq(plim_space_problem_make(graph, platform, 0, &problem), PLIM_OK);
  const int64_t before = plim_context_memory(ctx).bytes;
  cr_assert_eq(plim_space_sequence_init(&s, problem), PLIM_OK);
  cr_assert_eq(plim_space_sequence_reserve(&s, 5 * PLIM_SPACE_BLOCK), PLIM_OK);
  cr_assert_gt(plim_context_memory(ctx).bytes, before);
  plim_space_sequence_free(&s);
  cr_assert_eq(plim_context_memory(ctx).bytes, before);
  plim_space_problem_free(problem);
  plim_platform_free(platform);
  plim_graph_free(graph);
  plim_test_context_end(ctx);
}
