/* The checker against 6,800 changed plans of 34 kinds: what an independent judge calls wrong is refused, every one.
 *
 * After a change the figures are made to fit where they can be, so that the meaning alone is wrong. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/check/check.h"
#include "tests/support/judge.h"
#include "tests/support/mutants.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

#ifdef PLIM_SANITIZED
enum { BASES = 20, EACH = 60 };
#else
enum { BASES = 60, EACH = 200 };
#endif

typedef struct tally {
  int mutants, harmful, refused, survivors, harmless_refused;
} tally;

static int same_plan(const plim_plan *a, const plim_plan *b) {
  if (a->n_commands != b->n_commands || a->n_buffers != b->n_buffers || a->n_variants != b->n_variants) return 0;
  return memcmp(a->command, b->command, (size_t)a->n_commands * sizeof *a->command) == 0 &&
         memcmp(a->buffer, b->buffer, (size_t)a->n_buffers * sizeof *a->buffer) == 0 &&
         memcmp(a->variant, b->variant, (size_t)a->n_variants * sizeof *a->variant) == 0 &&
         a->peak_bytes == b->peak_bytes && a->arena_bytes == b->arena_bytes && a->time_ns == b->time_ns &&
         a->keep_all_ns == b->keep_all_ns && a->bound_ns == b->bound_ns && a->budget_bytes == b->budget_bytes &&
         a->proved == b->proved && a->plan_class == b->plan_class && strcmp(a->fingerprint, b->fingerprint) == 0 &&
         strcmp(a->numerics.hash, b->numerics.hash) == 0 &&
         memcmp(&a->numerics.machine, &b->numerics.machine, sizeof a->numerics.machine) == 0;
}

static void decide(plim_context *ctx, const mutant_base *b, const plim_plan *plan, const char *kind, uint64_t seed,
                   tally *t) {
  const char *why = judge_plan(b->graph, plan);
  int refused = plim_plan_check(ctx, b->graph, plan) != PLIM_OK;
  t->mutants++;
  t->harmful += why != NULL;
  t->refused += refused;
  t->harmless_refused += refused && !why;
  t->survivors += why && !refused;
  cr_expect(!why || refused, "seed %llu, kind %s: accepted, but wrong: %s", (unsigned long long)seed, kind, why);
}

/* One mutant of the kind, or 0 when the base has nothing to change. */
static int try_kind(plim_context *ctx, const mutant_base *b, const mutant_kind *kind, uint64_t seed, tally *t) {
  uint64_t random = seed;
  mutant m = {plan_draft_make(b->plan), b->graph, &random};
  plim_plan *fitted = NULL;
  int changed = m.d.plan.n_buffers > 0 && kind->change(&m) && !same_plan(&m.d.plan, b->plan);
  if (changed) plan_draft_sort(&m.d);
  if (changed && kind->fit) {
    if (test_random_chance(&random, 70)) m.d.plan.budget_bytes = 1 << 26; /* what the interpreter can allocate */
    if (m.d.plan.bound_ns > m.d.plan.keep_all_ns) m.d.plan.bound_ns = m.d.plan.keep_all_ns;
    m.d.plan.proved = 0;
    if (plim_plan_from_parts(b->graph, &m.d.plan, &fitted) != PLIM_OK) fitted = NULL;
  }
  if (changed) decide(ctx, b, fitted ? fitted : &m.d.plan, kind->name, seed, t);
  plim_plan_free(fitted);
  plan_draft_free(&m.d);
  return changed;
}

Test(mutants, every_wrong_plan_of_34_kinds_of_change_is_refused) {
  uint64_t random = test_seed(20240917);
  plim_context *ctx = plim_test_context();
  static mutant_base bases[BASES];
  tally all = {0};
  for (int i = 0; i < BASES; i++) bases[i] = mutant_base_make(ctx, i, test_random(&random));
  const mutant_kind *kind;
  for (int k = 0; (kind = mutant_kind_at(k)) != NULL; k++) {
    tally t = {0};
    for (int tries = 0; t.mutants < EACH && tries < 100 * EACH; tries++) {
      (void)try_kind(ctx, &bases[test_random_between(&random, 0, BASES - 1)], kind, test_random(&random), &t);
    }
    printf("%-20s %4d mutants, %4d harmful, %4d refused, %d survivors, %d harmless refused\n", kind->name, t.mutants,
           t.harmful, t.refused, t.survivors, t.harmless_refused);
    cr_expect_eq(t.mutants, EACH, "%s", kind->name);
    all.mutants += t.mutants;
    all.harmful += t.harmful;
    all.survivors += t.survivors;
    all.harmless_refused += t.harmless_refused;
    all.refused += t.refused;
  }
  printf("%d mutants, %d harmful, %d refused, %d survivors\n", all.mutants, all.harmful, all.refused, all.survivors);
  cr_assert_eq(all.mutants, 34 * EACH);
  cr_assert_gt(all.harmful, 20 * EACH);
  cr_assert_gt(all.mutants - all.refused, EACH / 2, "a checker that refuses everything proves nothing");
  for (int i = 0; i < BASES; i++) {
    plim_plan_free(bases[i].plan);
    plim_graph_free(bases[i].graph);
  }
  plim_test_context_end(ctx);
}
