/* planner/strategies/strategy_front.c and strategy_run.c: planning through plan fronts on disk. Budgets swept up never
 * get slower, separate calls agree, smallest budgets and ranges of budgets read the same plan front, and a file that is
 * wrong does no harm. */
#include "planner/strategies/strategy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/graph/check/check.h"
#include "tests/support/documents.h"
#include "tests/support/folder.h"
#include "tests/support/planner_case.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

static void setup(void) {
  (void)plim_test_folder();
}
TestSuite(warm_start, .init = setup, .fini = plim_test_folder_remove);

static int32_t from_front; /* of the plan that plan_at made last */

static planner_case make_case(uint64_t seed, int unpacked) {
  planner_case c = planner_case_random(seed, 25);
  c.options.unpacked = unpacked;
  c.options.iterations = 800;
  c.options.front_folder = plim_test_path("curves");
  return c;
}

static int64_t whole_bytes(planner_case *c) {
  plim_plan *plan = NULL;
  cr_assert_eq(plim_plan_keep_all(c->ctx, c->graph, c->profile, &c->options, &plan), PLIM_OK);
  int64_t bytes = c->options.unpacked ? plan->peak_bytes : plan->arena_bytes;
  plim_plan_free(plan);
  return bytes;
}

/* NULL when nothing fits. */
static plim_plan *plan_at(planner_case *c, int64_t budget) {
  plim_plan_result made = {.plan = NULL};
  c->options.budget_bytes = budget;
  plim_status status = plim_plan_search(c->ctx, c->graph, c->profile, &c->options, &made);
  plim_plan *plan = made.plan;
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(c->ctx));
  from_front = made.from_front;
  if (plan) cr_assert_eq(plan->budget_bytes, budget);
  if (plan) cr_assert_eq(plim_plan_check(c->ctx, c->graph, plan), PLIM_OK, "%s", plim_context_error(c->ctx));
  return plan;
}

Test(warm_start, more_bytes_are_never_slower_and_a_second_call_gives_the_same) {
  for (uint64_t seed = test_seed(1), end = seed + 8; test_seed_at(seed) < end; seed++) {
    planner_case c = make_case(seed, (int)(seed / 2 % 2));
    int64_t whole = whole_bytes(&c), last = INT64_MAX;
    for (int64_t percent = 60; percent <= 100; percent += 2) {
      plim_plan *plan = plan_at(&c, whole * percent / 100);
      if (!plan) continue;
      cr_assert_leq(plan->time_ns, last, "seed %d at %d %%", (int)seed, (int)percent);
      last = plan->time_ns;
      plim_plan *again = plan_at(&c, whole * percent / 100);
      char one[PLIM_FINGERPRINT_BYTES], two[PLIM_FINGERPRINT_BYTES];
      cr_assert_eq(from_front, 1);
      cr_assert_eq(plim_plan_fingerprint(plan, one), PLIM_OK);
      cr_assert_eq(plim_plan_fingerprint(again, two), PLIM_OK);
      cr_assert_str_eq(one, two);
      plim_plan_free(plan);
      plim_plan_free(again);
    }
    planner_case_free(&c);
  }
}

Test(warm_start, without_a_folder_nothing_is_kept) {
  planner_case c = make_case(3, 0);
  int64_t whole = whole_bytes(&c);
  c.options.front_folder = NULL;
  plim_plan_free(plan_at(&c, whole * 85 / 100));
  plim_plan_free(plan_at(&c, whole * 85 / 100));
  cr_assert_eq(from_front, 0);
  cr_assert_eq(plim_test_folder_count(), 0);
  planner_case_free(&c);
}

static void expect_refusal(planner_case *c, int64_t budget, int64_t lowest_bytes) {
  char words[64];
  plim_plan *plan = NULL;
  c->options.budget_bytes = budget;
  cr_assert_eq(plim_plan_make(c->ctx, c->graph, c->profile, &c->options, &plan), PLIM_ENOFIT);
  cr_assert_null(strstr(plim_context_error(c->ctx), "the smallest budget"), "%s", plim_context_error(c->ctx));
  (void)snprintf(words, sizeof words, "(%lld bytes)", (long long)lowest_bytes);
  cr_assert_not_null(strstr(plim_context_error(c->ctx), words), "%s: %s", words, plim_context_error(c->ctx));
}

/* Below the bound nothing but keep-all is looked at. */
Test(warm_start, a_refusal_names_the_lowest_plan_that_is_known_and_no_smallest_budget) {
  planner_case c = make_case(3, 0);
  int64_t whole = whole_bytes(&c);
  plim_plan_floor floor;
  c.options.budget_bytes = INT64_MAX;
  cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, NULL), PLIM_OK);
  cr_assert_lt(floor.smallest_bytes, whole);
  expect_refusal(&c, floor.bound_bytes - 1, floor.smallest_bytes);
  c.options.front_folder = NULL;
  expect_refusal(&c, floor.bound_bytes - 1, whole);
  planner_case_free(&c);
}

Test(warm_start, other_options_have_other_curves) {
  planner_case c = make_case(3, 0);
  int64_t whole = whole_bytes(&c);
  plim_plan_free(plan_at(&c, whole * 90 / 100));
  c.options.order = PLIM_ORDER_FIXED;
  plim_plan_free(plan_at(&c, whole * 90 / 100));
  cr_assert_eq(from_front, 0);
  c.options.numerics = PLIM_NUMERICS_FASTEST;
  plim_plan_free(plan_at(&c, whole * 90 / 100));
  cr_assert_eq(from_front, 0);
  planner_case_free(&c);
}

Test(warm_start, smallest_budget_is_the_curves_lowest_and_can_be_planned) {
  planner_case c = make_case(5, 0);
  plim_plan_floor first, second;
  int64_t whole = whole_bytes(&c);
  plim_plan_free(plan_at(&c, whole * 80 / 100));
  c.options.budget_bytes = INT64_MAX;
  cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &first, NULL), PLIM_OK);
  cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &second, NULL), PLIM_OK);
  cr_assert_eq(first.from_front, 0);
  cr_assert_eq(second.from_front, 1);
  cr_assert_eq(first.smallest_bytes, second.smallest_bytes);
  plim_plan *plan = plan_at(&c, first.smallest_bytes);
  cr_assert_not_null(plan);
  plim_plan_free(plan);
  planner_case_free(&c);
}

Test(warm_start, range_of_budgets_never_rises_and_agrees_with_single_plans) {
  enum { BUDGETS = 25 };
  planner_case c = make_case(7, 1);
  int64_t whole = whole_bytes(&c), budget[BUDGETS], last = INT64_MAX;
  plim_plan *plan[BUDGETS];
  for (int32_t i = 0; i < BUDGETS; i++) budget[i] = whole * (52 + 2 * i) / 100;
  cr_assert_eq(plim_plan_front(c.ctx, c.graph, c.profile, &c.options, BUDGETS, budget, plan), PLIM_OK, "%s",
               plim_context_error(c.ctx));
  for (int32_t i = 0; i < BUDGETS; i++) {
    if (!plan[i]) continue;
    cr_assert_leq(plan[i]->peak_bytes, budget[i]);
    cr_assert_leq(plan[i]->time_ns, last);
    last = plan[i]->time_ns;
    plim_plan *single = plan_at(&c, budget[i]);
    cr_assert_eq(from_front, 1);
    cr_assert_eq(single->time_ns, plan[i]->time_ns);
    plim_plan_free(single);
  }
  cr_assert_eq(last, plan[BUDGETS - 1]->keep_all_ns);
  for (int32_t i = 0; i < BUDGETS; i++) plim_plan_free(plan[i]);
  planner_case_free(&c);
}

static void count_incumbents(void *user, const plim_progress *progress) {
  if (strcmp(progress->stage, "front") == 0) ++*(int *)user;
}

Test(warm_start, range_begins_at_the_smallest_budget_and_has_a_plan_for_each_without_time) {
  enum { BUDGETS = 20 };
  for (int unpacked = 0; unpacked < 2; unpacked++) {
    planner_case c = make_case(4, unpacked);
    int64_t whole = 4 * whole_bytes(&c), budget[BUDGETS], last = INT64_MAX; /* keep-all packs worse without time */
    plim_plan *plan[BUDGETS];
    plim_plan_span span = {.n = BUDGETS, .high_bytes = whole, .budget = budget, .plan = plan};
    int incumbents = 0;
    plim_context_set_progress(c.ctx, count_incumbents, &incumbents);
    c.options.front_folder = NULL;
    c.options.iterations = 0;
    c.options.time_limit_ns = 1;
    c.options.budget_bytes = INT64_MAX;
    cr_assert_eq(plim_plan_range(c.ctx, c.graph, c.profile, &c.options, &span), PLIM_OK);
    cr_assert_eq(budget[0], span.floor.smallest_bytes);
    cr_assert_eq(budget[BUDGETS - 1], span.floor.smallest_bytes > whole ? span.floor.smallest_bytes : whole);
    cr_assert_leq(incumbents, 3, "%d incumbents without time", incumbents);
    for (int32_t i = 0; i < BUDGETS; i++) {
      cr_assert_not_null(plan[i], "budget %d of %d has no plan", (int)i, BUDGETS);
      cr_assert_leq(unpacked ? plan[i]->peak_bytes : plan[i]->arena_bytes, budget[i]);
      cr_assert_leq(plan[i]->time_ns, last);
      last = plan[i]->time_ns;
    }
    cr_assert_eq(last, plan[0]->keep_all_ns);
    for (int32_t i = 0; i < BUDGETS; i++) plim_plan_free(plan[i]);
    planner_case_free(&c);
  }
}

Test(warm_start, sweep_in_steps_of_a_thousandth_never_rises) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  enum { STEPS = 400 };
  for (int unpacked = 0; unpacked < 2; unpacked++) {
    planner_case c = make_case(9, unpacked);
    int64_t whole = whole_bytes(&c), budget[STEPS + 1], last = INT64_MAX;
    plim_plan *plan[STEPS + 1];
    int32_t found = 0, levels = 0;
    c.options.front_folder = NULL;
    c.options.iterations = 150;
    for (int32_t i = 0; i <= STEPS; i++) budget[i] = (whole * (1000 - STEPS + i) + 999) / 1000;
    cr_assert_eq(plim_plan_front(c.ctx, c.graph, c.profile, &c.options, STEPS + 1, budget, plan), PLIM_OK, "%s",
                 plim_context_error(c.ctx));
    for (int32_t i = 0; i <= STEPS; i++) {
      if (!plan[i]) {
        cr_assert_eq(found, 0, "budget %d has no plan and a smaller one has", (int)i);
        continue;
      }
      cr_assert_leq(plan[i]->time_ns, last, "budget %d", (int)i);
      levels += plan[i]->time_ns < last;
      last = plan[i]->time_ns;
      found++;
      plim_plan_free(plan[i]);
    }
    cr_assert_gt(found, 50);
    cr_assert_gt(levels, 3);
    planner_case_free(&c);
  }
}

static void open_front(const planner_case *c, plim_front_file *file, plim_front *front) {
  plim_strategy_call call = {.problem = c->problem, .options = &c->options};
  cr_assert_eq(plim_strategy_find(c->ctx, "search", &call.strategy), PLIM_OK);
  cr_assert_eq(plim_strategy_front(&call, file, front), PLIM_OK);
}

/* The only file of the folder of plan fronts. */
static plim_front_file file_of(const planner_case *c) {
  plim_front front = {.ctx = c->ctx};
  plim_front_file file;
  open_front(c, &file, &front);
  plim_front_free(&front);
  return file;
}

/* The file as a liar would write it: whole, with its checksum. */
typedef void edit_front(plim_front *front);
static void edit_file(const planner_case *c, edit_front *edit) {
  plim_front front = {.ctx = c->ctx};
  plim_front_file file;
  open_front(c, &file, &front);
  cr_assert_gt(front.n, 0);
  cr_assert_gt(front.n_tries, 0);
  const int32_t n = front.n;
  edit(&front);
  front.is_changed = 1;
  cr_assert_eq(plim_front_save(&file, &front), PLIM_OK);
  front.n = n; /* what the edit left out of the file is freed too */
  plim_front_free(&front);
}

static void state_any_bound(plim_front *front) {
  for (int32_t i = 0; i < front->n_tries; i++) front->attempt[i].hint_ns = INT64_MAX;
}

static void state_best_is_optimal(plim_front *front) {
  for (int32_t i = 0; i < front->n_tries; i++) front->attempt[i].hint_ns = front->point[0].time_ns;
}

static void state_bound_without_points(plim_front *front) {
  state_any_bound(front);
  front->n = 0;
}

static void state_fewer_bytes(plim_front *front) {
  for (int32_t i = 0; i < front->n; i++) front->point[i].bytes /= 2;
}

Test(warm_start, what_a_file_states_is_no_proof_and_no_refusal) {
  static edit_front *const lies[] = {state_any_bound, state_best_is_optimal, state_bound_without_points,
                                     state_fewer_bytes};
  int32_t unproved = 0;
  for (uint64_t seed = test_seed(1), end = seed + 12; test_seed_at(seed) < end; seed++) {
    planner_case c = make_case(seed, (int)(seed % 2));
    int64_t budget = whole_bytes(&c) * 80 / 100;
    c.options.iterations = 60;
    plim_plan *honest = plan_at(&c, budget);
    for (size_t i = 0; honest && i < sizeof lies / sizeof lies[0]; i++) {
      edit_file(&c, lies[i]);
      plim_plan *plan = plan_at(&c, budget);
      cr_assert_not_null(plan, "seed %d, lie %d: refused", (int)seed, (int)i);
      if (!honest->proved && plan->time_ns == honest->time_ns) {
        cr_assert_not(plan->proved, "seed %d, lie %d: proved", (int)seed, (int)i);
        unproved++;
      }
      plim_plan_free(plan);
    }
    plim_plan_free(honest);
    planner_case_free(&c);
  }
  cr_assert_gt(unproved, 3);
}

Test(warm_start, a_proof_is_found_again_in_another_process) {
  int32_t proved = 0, bounded = 0;
  for (uint64_t seed = test_seed(1), end = seed + 12; test_seed_at(seed) < end; seed++) {
    planner_case c = make_case(seed, (int)(seed % 2));
    int64_t whole = whole_bytes(&c);
    for (int64_t percent = 65; percent <= 95; percent += 10) {
      plim_plan *first = plan_at(&c, whole * percent / 100), *second = plan_at(&c, whole * percent / 100);
      if (first) {
        cr_assert_eq(from_front, 1);
        cr_assert_eq(second->bound_ns, first->bound_ns, "seed %d at %d %%", (int)seed, (int)percent);
        cr_assert_eq(second->proved, first->proved);
        proved += second->proved && second->bound_ns > second->keep_all_ns;
        bounded += second->bound_ns > second->keep_all_ns;
      }
      plim_plan_free(first);
      plim_plan_free(second);
    }
    planner_case_free(&c);
  }
  cr_assert_gt(proved, 2);
  cr_assert_gt(bounded, 4);
}

/* Offsets that overlap below the highest one. Where that buffer ends highest too, only the checker sees it. */
static void state_overlapping_offsets(plim_front *front) {
  for (int32_t i = 0; i < front->n; i++) {
    const int32_t n = front->point[i].n_offsets;
    int64_t *offset = (int64_t *)front->point[i].offset, lowest = INT64_MAX, highest = 0;
    for (int32_t b = 0; b < n; b++) lowest = offset[b] < lowest ? offset[b] : lowest;
    for (int32_t b = 0; b < n; b++) highest = offset[b] > highest ? offset[b] : highest;
    for (int32_t b = 0; b < n; b++) offset[b] = offset[b] < highest ? lowest : highest;
  }
}

/* A bad point that stayed would cost each later call a second search. */
Test(warm_start, a_bad_file_is_replaced_by_each_call_that_finds_it_bad) {
  int32_t replaced = 0;
  for (uint64_t seed = test_seed(1), end = seed + 6; test_seed_at(seed) < end; seed++) {
    planner_case c = make_case(seed, 0);
    plim_plan_floor floor;
    plim_plan *honest = plan_at(&c, whole_bytes(&c) * 90 / 100), *plan = NULL;
    if (honest) {
      c.options.budget_bytes = INT64_MAX;
      edit_file(&c, state_overlapping_offsets);
      cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, NULL), PLIM_OK);
      cr_assert_eq(plim_plan_smallest(c.ctx, c.graph, c.profile, &c.options, &floor, NULL), PLIM_OK);
      cr_assert_eq(floor.from_front, 1, "seed %d: smallest", (int)seed);
      edit_file(&c, state_overlapping_offsets);
      cr_assert_eq(plim_plan_front(c.ctx, c.graph, c.profile, &c.options, 1, &honest->budget_bytes, &plan), PLIM_OK);
      plim_plan_free(plan);
      plim_plan_free(plan_at(&c, honest->budget_bytes));
      cr_assert_eq(from_front, 1, "seed %d: front", (int)seed);
      replaced++;
    }
    plim_plan_free(honest);
    planner_case_free(&c);
  }
  cr_assert_gt(replaced, 2);
}

static char *read_file(plim_context *ctx, const char *path, int64_t *bytes) {
  char *text = NULL;
  cr_assert_eq(plim_file_read(ctx, path, 1 << 24, &text, bytes), PLIM_OK, "%s", plim_context_error(ctx));
  return text;
}

Test(warm_start, a_curve_file_changed_anywhere_never_gives_a_bad_plan) {
  planner_case c = make_case(2, 0);
  int64_t whole = whole_bytes(&c), bytes = 0;
  plim_plan *right = plan_at(&c, whole * 90 / 100);
  cr_assert_not_null(right);
  plim_front_file file = file_of(&c);
  char *text = read_file(c.ctx, file.path, &bytes);
  for (int64_t i = 0; i < bytes; i += bytes / 150 + 1) {
    char old = text[i];
    text[i] = old >= '0' && old < '9' ? (char)(old + 1) : 'x';
    cr_assert_eq(plim_file_save(c.ctx, file.path, text, bytes), PLIM_OK);
    text[i] = old;
    plim_plan_free(plan_at(&c, whole * 90 / 100)); /* checks it */
  }
  plim_file_release(c.ctx, text, bytes);
  plim_plan_free(right);
  planner_case_free(&c);
}

Test(warm_start, a_file_whose_text_was_changed_is_not_read) {
  planner_case c = make_case(2, 0);
  int64_t budget = whole_bytes(&c) * 90 / 100, bytes = 0;
  plim_plan_free(plan_at(&c, budget));
  plim_front_file file = file_of(&c);
  char *text = read_file(c.ctx, file.path, &bytes), *seed = strstr(text, "\"seed\": 1");
  cr_assert_not_null(seed);
  seed[strlen("\"seed\": ")] = '2'; /* as well formed as before */
  cr_assert_eq(plim_file_save(c.ctx, file.path, text, bytes), PLIM_OK);
  plim_plan_free(plan_at(&c, budget));
  cr_assert_eq(from_front, 0);
  plim_plan_free(plan_at(&c, budget));
  cr_assert_eq(from_front, 1, "it was replaced by a good one");
  plim_file_release(c.ctx, text, bytes);
  planner_case_free(&c);
}

/* A plan front of version 1 has no checksum. */
Test(warm_start, a_curve_of_the_first_version_can_be_read) {
  static const char text[] =
      "{\n  \"plimsoll\": \"curve\",\n  \"version\": 1,\n  \"key\": \""
      "00000000000000000000000000000000000000000000000000000000000000ab\",\n  \"tries\": [\n"
      "    {\"budget_bytes\": 9, \"seed\": 1, \"iterations\": 5, \"time_limit_ns\": 0, "
      "\"threads\": 1, \"bound_ns\": 20}\n  ],\n  \"points\": [\n"
      "    {\"bytes\": 8, \"time_ns\": 30, \"ops\": [0], \"choices\": [0], \"offsets\": []}\n"
      "  ]\n}\n";
  static const char key[] = "00000000000000000000000000000000000000000000000000000000000000ab";
  plim_context *ctx = NULL;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_front front = {.ctx = ctx};
  cr_assert_eq(plim_front_parse(ctx, "front.json", text, (int64_t)strlen(text), key, &front), PLIM_OK, "%s",
               plim_context_error(ctx));
  cr_assert_eq(front.n, 1);
  cr_assert_eq(plim_front_bound(&front, 9), 0, "a file's bound is no proof");
  cr_assert_eq(plim_front_hint(&front, 9), 20);
  plim_front_free(&front);
  plim_context_free(ctx);
}

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  static const char key[] = "00000000000000000000000000000000000000000000000000000000000000ab";
  plim_front front = {.ctx = ctx};
  plim_status status = plim_front_parse(ctx, "doc.json", text, bytes, key, &front);
  if (again && status == PLIM_OK) plim_front_write(again, key, &front);
  plim_front_free(&front);
  return status;
}

Test(warm_start, document_is_canonical_and_its_faults_are_named) {
  static const plim_test_fault faults[] = {
      {"ab\"", "ac\"", "key: is that of another graph"},
      {"\"seed\": 1", "\"seed\": -1", "tries[0].seed: -1 is not in [0,"},
      {"\"choices\": [0, 0, 1]", "\"choices\": [0, 0]", "points[0].choices: has 2 items for 3 ops"},
      {"\"ops\": [0, 1, 0]", "\"ops\": [0, -1, 0]", "points[0].ops[1]: -1 is not in [0,"},
      {"\"offsets\": [0, 512]", "\"offsets\": {}", "points[0].offsets: is an object, not a list"},
      {"\"time_ns\": 30,", "\"time_ns\": 30, \"more\": 1,", "points[0]: unknown field 'more'"},
  };
  plim_test_canonical(parse, plim_test_golden("curve.json"));
  plim_test_cuts(parse, plim_test_golden("curve.json"));
  plim_test_allocations(parse, plim_test_golden("curve.json"));
  plim_test_bytes(parse, plim_test_golden("curve.json"));
  plim_test_faults(parse, plim_test_golden("curve.json"), faults, (int)(sizeof faults / sizeof *faults));
}
