/* planner/exact/staged.c: the repeats of a schedule, against the rule applied one run at a time, and in number. */
#include "planner/exact/dag.h"
#include "planner/exact/staged.h"

#include <criterion/criterion.h>

#include "tests/support/planner_case.h"
#include "tests/support/test_seed.h"

enum { CASES = 60, CHANGES = 80, MANY_OPS = 800000, TRUNKS = 3 };

/* Runs in program order but for the repeats: what a track makes of a fixed order. */
static void draw_schedule(const planner_case *c, uint64_t seed, plim_schedule *out) {
  planner_case_sequence(c, seed, CHANGES, 6, out);
}

static int32_t count_of(const plim_repeats *r, int32_t node, int32_t *first) {
  int32_t n = 0;
  *first = -1;
  for (int32_t i = 0; i < r->n; i++) {
    if (r->at[i].node != node) continue;
    if (n++ == 0) *first = i;
  }
  return n;
}

/* 1: the repeat is in the set. */
static int has(const plim_repeats *r, plim_repeat repeat) {
  for (int32_t i = 0; i < r->n; i++) {
    if (r->at[i].stage == repeat.stage && r->at[i].node == repeat.node) return 1;
  }
  return 0;
}

static void take_away(plim_repeats *r, int32_t i) {
  for (r->n--; i < r->n; i++) r->at[i] = r->at[i + 1];
}

/* Run after run: one more of an op that has all its copies takes the place of its first repeat. */
static void one_by_one(const plim_dag *d, const plim_schedule *s, int32_t copies, plim_repeats *out) {
  int32_t next = d->n_inputs, first;
  out->n = 0;
  for (int32_t j = 0; j < s->n; j++) {
    plim_repeat repeat = {next, d->n_inputs + s->op[j]};
    if (repeat.node == next) {
      next++;
      continue;
    }
    if (copies < 2 || next == d->n || has(out, repeat)) continue;
    if (count_of(out, repeat.node, &first) == copies - 1) take_away(out, first);
    cr_assert_eq(plim_repeats_add(out, repeat), PLIM_OK);
  }
}

Test(staged_repeats, repeats_of_a_schedule_are_those_of_the_rule) {
  int32_t seen = 0;
  for (uint64_t seed = test_seed(5); seed <= 5 * CASES; seed += 5) { /* these have a fixed order */
    planner_case c = planner_case_random(seed, 20);
    plim_schedule schedule = {.ctx = c.ctx};
    plim_repeats want = {.ctx = c.ctx}, have = {.ctx = c.ctx};
    plim_dag *dag = NULL;
    cr_assert_eq(plim_dag_make(c.problem, INT64_MAX / 4, &dag), PLIM_OK, "%s", plim_context_error(c.ctx));
    draw_schedule(&c, seed, &schedule);
    for (int32_t copies = 1; copies <= 4; copies++) {
      one_by_one(dag, &schedule, copies, &want);
      cr_assert_eq(plim_repeats_from_schedule(dag, &schedule, copies, &have), PLIM_OK);
      cr_assert_eq(have.n, want.n, "seed %d, %d copies", (int)seed, (int)copies);
      for (int32_t i = 0; i < want.n; i++) {
        cr_assert_eq(have.at[i].stage, want.at[i].stage);
        cr_assert_eq(have.at[i].node, want.at[i].node);
      }
      seen += want.n;
    }
    plim_repeats_free(&want);
    plim_repeats_free(&have);
    plim_dag_free(dag);
    plim_schedule_free(&schedule);
    planner_case_free(&c);
  }
  cr_assert_gt(seen, 200);
}

/* Every op runs three times, all of them before the last op. A rule that looks at all repeats for each would take
 * minutes. */
Test(staged_repeats, a_million_repeats_are_found_without_a_look_at_all_for_each, .timeout = 60) {
  plim_dag dag = {.n = MANY_OPS};
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  dag.ctx = ctx;
  plim_schedule schedule = {.ctx = ctx};
  plim_repeats repeats = {.ctx = ctx};
  for (int32_t trunk = 0; trunk < TRUNKS; trunk++) {
    for (int32_t v = 0; v < MANY_OPS - 2; v++) cr_assert_eq(plim_schedule_add(&schedule, v, 0), PLIM_OK);
    if (trunk == 1) cr_assert_eq(plim_schedule_add(&schedule, MANY_OPS - 2, 0), PLIM_OK);
  }
  cr_assert_eq(plim_schedule_add(&schedule, MANY_OPS - 1, 0), PLIM_OK);
  cr_assert_eq(plim_repeats_from_schedule(&dag, &schedule, 3, &repeats), PLIM_OK);
  cr_assert_eq(repeats.n, (TRUNKS - 1) * (MANY_OPS - 2));
  plim_repeats_free(&repeats);
  plim_schedule_free(&schedule);
  plim_context_free(ctx);
}
