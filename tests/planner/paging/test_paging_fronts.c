/* Plans that page for several budgets: fronts, and plans that are kept between calls. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "runtime/graph/check/check.h"
#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/paging_rig.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"

#ifdef PLIM_SANITIZED
enum { SEEDS = 3, LENGTH = 8, MORE = 24 /* cases that are drawn until one shows what it should */ };
#else
enum { SEEDS = 8, LENGTH = 8, MORE = 24 /* cases that are drawn until one shows what it should */ };
#endif

enum { BUDGETS = 6 };

/* Budgets of the arena in equal steps, up to all bytes. */
static void make_budgets(const paging_rig *r, int64_t budget[BUDGETS]) {
  plim_plan *keep_all = NULL;
  cr_assert_eq(plim_plan_keep_all(r->ctx, r->graph, r->profile, &r->options, &keep_all), PLIM_OK);
  int64_t persistent = plim_graph_persistent_bytes(r->graph), rest = keep_all->arena_bytes - persistent;
  for (int i = 0; i < BUDGETS; i++) budget[i] = persistent + rest * (i + 3) / (BUDGETS + 2);
  plim_plan_free(keep_all);
}

/* Time of the plan for each budget; INT64_MAX: none. */
static void make_front(paging_rig *r, const int64_t budget[BUDGETS], int64_t time_ns[BUDGETS]) {
  plim_plan *plan[BUDGETS];
  r->options.paging = &r->paging;
  cr_assert_eq(plim_plan_front(r->ctx, r->graph, r->profile, &r->options, BUDGETS, budget, plan), PLIM_OK, "%s",
               plim_context_error(r->ctx));
  for (int i = 0; i < BUDGETS; i++) {
    time_ns[i] = plan[i] ? plan[i]->time_ns : INT64_MAX;
    if (!plan[i]) continue;
    cr_assert_eq(plim_plan_check(r->ctx, r->graph, plan[i]), PLIM_OK, "%s", plim_context_error(r->ctx));
    cr_assert_leq(plan[i]->arena_bytes, budget[i]);
    cr_assert_eq(plan[i]->budget_bytes, budget[i]);
    plim_plan_free(plan[i]);
  }
}

Test(paging_fronts, more_bytes_of_the_arena_never_make_the_plan_of_a_front_slower) {
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    int64_t budget[BUDGETS], time_ns[BUDGETS];
    paging_rig_make(&r, LENGTH, seed);
    r.paging.delay_share = 0; /* cost is time */
    make_budgets(&r, budget);
    make_front(&r, budget, time_ns);
    cr_assert_lt(time_ns[BUDGETS - 1], INT64_MAX);
    for (int i = 1; i < BUDGETS; i++) {
      cr_assert_leq(time_ns[i], time_ns[i - 1], "seed %d: %lld ns within %lld bytes, %lld within %lld", (int)seed,
                    (long long)time_ns[i], (long long)budget[i], (long long)time_ns[i - 1], (long long)budget[i - 1]);
    }
    paging_rig_free(&r);
  }
}

static void cancel_at_first_budget(void *user, const plim_progress *progress) {
  if (strcmp(progress->stage, "front") == 0) plim_context_cancel(user);
}

/* What is known without a search is keep-all. */
Test(paging_fronts, a_cancelled_front_has_keep_all_where_it_fits) {
  paging_rig r = {0};
  int64_t budget[BUDGETS], time_ns[BUDGETS];
  plim_plan *keep_all = NULL;
  paging_rig_make(&r, 60, test_seed(1));
  cr_assert_eq(plim_plan_keep_all(r.ctx, r.graph, r.profile, &r.options, &keep_all), PLIM_OK);
  make_budgets(&r, budget);
  budget[BUDGETS - 1] = keep_all->arena_bytes;
  plim_context_set_progress(r.ctx, cancel_at_first_budget, r.ctx);
  make_front(&r, budget, time_ns);
  cr_expect_eq(time_ns[BUDGETS - 1], keep_all->time_ns);
  plim_plan_free(keep_all);
  paging_rig_free(&r);
}

/* Time of the plan that a call of its own makes with a folder of kept plans. */
static int64_t make_alone(paging_rig *r, int64_t budget_bytes, uint64_t seed, const char *folder, int32_t *was_kept) {
  plim_plan_result made = {.plan = NULL};
  r->options.paging = &r->paging;
  r->options.front_folder = folder;
  r->options.budget_bytes = budget_bytes;
  r->options.seed = seed;
  plim_status status = plim_plan_search(r->ctx, r->graph, r->profile, &r->options, &made);
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(r->ctx));
  *was_kept = made.from_front;
  if (!made.plan) return INT64_MAX;
  const int64_t time_ns = made.plan->time_ns;
  cr_assert_eq(plim_plan_check(r->ctx, r->graph, made.plan), PLIM_OK, "%s", plim_context_error(r->ctx));
  cr_assert_eq(made.plan->budget_bytes, budget_bytes);
  plim_plan_free(made.plan);
  return time_ns;
}

Test(paging_fronts, a_cancelled_call_has_the_plan_that_was_kept) {
  paging_rig r = {0};
  int32_t was_kept = 0;
  paging_rig_make(&r, 16, test_seed(1));
  const int64_t first_bytes = r.options.budget_bytes;
  const int64_t time_ns = make_alone(&r, first_bytes, 1, plim_test_folder(), &was_kept);
  cr_assert_lt(time_ns, INT64_MAX);
  plim_context_cancel(r.ctx);
  cr_assert_leq(make_alone(&r, first_bytes, 1, r.options.front_folder, &was_kept), time_ns);
  cr_assert_eq(was_kept, 1);
  plim_test_folder_remove();
  paging_rig_free(&r);
}

/* Replace the number behind `name` in each kept file of plans. A number has as many digits as before, or fewer. */
static void edit_kept(const char *folder, const char *name, const char *number) {
  char pattern[4096], key[64];
  glob_t found;
  (void)snprintf(pattern, sizeof pattern, "%s/paged-*", folder);
  (void)snprintf(key, sizeof key, "\"%s\": ", name);
  cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    FILE *file = fopen(found.gl_pathv[i], "r+");
    static char text[1 << 20];
    cr_assert(file);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    char *at = strstr(text, key);
    cr_assert(at, "no %s in %s", name, found.gl_pathv[i]);
    const char *digit = number;
    for (at += strlen(key); *at >= '0' && *at <= '9'; at++) *at = *digit ? *digit++ : ' ';
    cr_assert_eq(*digit, 0, "%s has fewer digits than %s", name, number);
    rewind(file);
    cr_assert_eq(fwrite(text, 1, n, file), n);
    cr_assert_eq(fclose(file), 0);
  }
  globfree(&found);
}

static plim_plan *make_cancelled(paging_rig *r) {
  plim_plan_result made = {.plan = NULL};
  plim_context_cancel(r->ctx);
  const plim_status status = plim_plan_search(r->ctx, r->graph, r->profile, &r->options, &made);
  cr_assert(status == PLIM_OK || !made.plan);
  return made.plan;
}

/* The first seed of a rig of which a cancelled call has a plan by the kept file of plans that page alone: of others the
 * front of one arena, which is kept too, has one. */
static uint64_t find_rig(void) {
  for (uint64_t seed = test_seed(1);; seed++) {
    paging_rig r = {0};
    int32_t was_kept = 0;
    paging_rig_make(&r, 16, seed);
    const int64_t time_ns = make_alone(&r, r.options.budget_bytes, 1, plim_test_folder(), &was_kept);
    (void)plim_test_shell("rm -f paged-*");
    plim_plan *plan = make_cancelled(&r);
    const int found = time_ns < INT64_MAX && !plan;
    plim_plan_free(plan);
    plim_test_folder_remove();
    paging_rig_free(&r);
    if (found) return test_seed_at(seed);
  }
}

Test(paging_fronts, figures_of_a_kept_plan_are_those_of_the_call) {
  const uint64_t seed = find_rig();
  static const struct {
    const char *name, *number;
  } edit[] = {{"keep_all_ns", "0"}, {"keep_all_ns", "1"}, {"bound_ns", NULL}};
  for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
    paging_rig r = {0};
    char time[32];
    int32_t was_kept = 0;
    paging_rig_make(&r, 16, seed);
    const int64_t time_ns = make_alone(&r, r.options.budget_bytes, 1, plim_test_folder(), &was_kept);
    plim_plan *before = make_cancelled(&r);
    cr_assert(before && before->bound_ns < before->time_ns);
    (void)snprintf(time, sizeof time, "%lld", (long long)time_ns);
    edit_kept(r.options.front_folder, edit[i].name, edit[i].number ? edit[i].number : time);
    plim_plan *after = make_cancelled(&r);
    cr_expect_eq(!after, edit[i].number != NULL, "only a bound that is too high is mended, edit %d", (int)i);
    if (after) cr_expect_eq(after->keep_all_ns, before->keep_all_ns, "edit %d", (int)i);
    if (after) cr_expect_eq(after->bound_ns, before->bound_ns, "edit %d", (int)i);
    plim_plan_free(before);
    plim_plan_free(after);
    plim_test_folder_remove();
    paging_rig_free(&r);
  }
}

/* Spaces behind a document are legal, so that its size alone is why it holds no plans. */
Test(paging_fronts, a_kept_file_of_more_bytes_than_all_may_have_is_not_read) {
  enum { SPACES = 1 << 20 };
  static char spaces[SPACES];
  paging_rig r = {0};
  int32_t was_kept = 0;
  char pattern[4096];
  glob_t found;
  paging_rig_make(&r, 16, test_seed(1));
  cr_assert_lt(make_alone(&r, r.options.budget_bytes, 1, plim_test_folder(), &was_kept), INT64_MAX);
  (void)snprintf(pattern, sizeof pattern, "%s/paged-*", r.options.front_folder);
  cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
  cr_assert_eq(found.gl_pathc, 1);
  FILE *file = fopen(found.gl_pathv[0], "a");
  cr_assert(file);
  memset(spaces, ' ', sizeof spaces);
  for (int i = 0; i < 65; i++) cr_assert_eq(fwrite(spaces, 1, SPACES, file), (size_t)SPACES);
  cr_assert_eq(fclose(file), 0);
  globfree(&found);
  (void)make_alone(&r, r.options.budget_bytes, 1, r.options.front_folder, &was_kept);
  cr_expect_eq(was_kept, 0);
  plim_test_folder_remove();
  paging_rig_free(&r);
}

/* ---- energy ---- */

/* An op draws ten times what a copy does. */
static const plim_powers cheap_copies = {.device_watt = {10}, .idle_watt = 1, .link_watt = {{0, 1}, {1, 0}}};

/* A plan of least energy; NULL: there is none, with *status. */
static plim_plan *make_thrifty(paging_rig *r, const char *folder, plim_status *status, int32_t *was_kept) {
  plim_plan_result made = {.plan = NULL};
  r->options.paging = &r->paging;
  r->options.front_folder = folder;
  *status = plim_plan_search(r->ctx, r->graph, r->profile, &r->options, &made);
  *was_kept = made.from_front;
  if (made.plan) cr_assert_eq(plim_plan_check(r->ctx, r->graph, made.plan), PLIM_OK, "%s", plim_context_error(r->ctx));
  return made.plan;
}

static double energy_of(const plim_plan *plan) {
  return plim_plan_energy(plan, &cheap_copies);
}

Test(paging_fronts, a_plan_of_least_energy_is_kept) {
  paging_rig r = {0};
  plim_status status;
  int32_t was_kept = 0;
  paging_rig_make(&r, 16, test_seed(1));
  r.paging.powers = &cheap_copies;
  plim_plan *first = make_thrifty(&r, plim_test_folder(), &status, &was_kept);
  cr_assert(first && !was_kept, "%s", plim_context_error(r.ctx));
  plim_context_cancel(r.ctx); /* so that later calls know what is kept for these rates, and no more */
  plim_plan *again = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
  cr_assert(again && was_kept, "%s", plim_context_error(r.ctx));
  cr_expect_leq(energy_of(again), energy_of(first));
  r.paging.powers = NULL; /* the fastest plan is another question */
  cr_expect_null(make_thrifty(&r, r.options.front_folder, &status, &was_kept));
  cr_expect_eq(status, PLIM_ECANCEL);
  plim_plan_free(first);
  plim_plan_free(again);
  plim_test_folder_remove();
  paging_rig_free(&r);
}

static void count_reports(void *user, const plim_progress *progress) {
  (void)progress;
  ++*(int32_t *)user;
}

Test(paging_fronts, a_search_of_equal_effort_is_not_repeated) {
  for (int energy = 0; energy < 2; energy++) {
    paging_rig r = {0};
    plim_status status;
    int32_t was_kept = 0, reports = 0;
    paging_rig_make(&r, 16, test_seed(1));
    if (energy) r.paging.powers = &cheap_copies;
    plim_context_set_progress(r.ctx, count_reports, &reports);
    plim_plan *first = make_thrifty(&r, plim_test_folder(), &status, &was_kept);
    cr_assert(first && !was_kept && reports > 0, "%s", plim_context_error(r.ctx));
    reports = 0;
    plim_plan *again = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
    cr_assert(again && was_kept);
    cr_expect_eq(reports, 0);
    cr_expect_eq(again->time_ns, first->time_ns);
    r.options.seed = 2;
    plim_plan *other = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
    cr_expect_gt(reports, 0);
    reports = 0;
    r.options.budget_bytes += 512; /* another question */
    plim_plan *more = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
    cr_expect_gt(reports, 0);
    plim_plan_free(first);
    plim_plan_free(again);
    plim_plan_free(other);
    plim_plan_free(more);
    plim_test_folder_remove();
    paging_rig_free(&r);
  }
}

/* What a search finds in a time depends on what else the machine does. */
Test(paging_fronts, a_search_that_a_time_limit_ended_is_repeated_unless_nothing_beats_its_plan) {
  for (int all = 0; all < 2; all++) {
    paging_rig r = {0};
    plim_status status;
    int32_t was_kept = 0, reports = 0;
    paging_rig_make(&r, 16, 1);
    r.options.time_limit_ns = 100000000;
    if (all) r.options.budget_bytes *= 2;
    plim_context_set_progress(r.ctx, count_reports, &reports);
    plim_plan *first = make_thrifty(&r, plim_test_folder(), &status, &was_kept);
    cr_assert(first && !was_kept, "%s", plim_context_error(r.ctx));
    cr_assert_eq(first->time_ns == first->bound_ns, all, "%lld ns, at least %lld", (long long)first->time_ns,
                 (long long)first->bound_ns);
    reports = 0;
    plim_plan *again = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
    cr_assert(again);
    cr_expect_eq(reports == 0, all);
    cr_expect_leq(again->time_ns, first->time_ns);
    plim_plan_free(first);
    plim_plan_free(again);
    plim_test_folder_remove();
    paging_rig_free(&r);
  }
}

/* Its iterations end it. */
Test(paging_fronts, a_search_that_ends_before_its_time_limit_is_not_repeated) {
  paging_rig r = {0};
  plim_status status;
  int32_t was_kept = 0, reports = 0;
  paging_rig_make(&r, 16, test_seed(1));
  r.options.iterations = 50;
  r.options.time_limit_ns = 3600 * INT64_C(1000000000);
  plim_context_set_progress(r.ctx, count_reports, &reports);
  plim_plan *first = make_thrifty(&r, plim_test_folder(), &status, &was_kept);
  cr_assert(first && !was_kept && reports > 0, "%s", plim_context_error(r.ctx));
  cr_assert_gt(first->time_ns, first->bound_ns);
  reports = 0;
  plim_plan *again = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
  cr_assert(again && was_kept);
  cr_expect_eq(reports, 0);
  plim_plan_free(first);
  plim_plan_free(again);
  plim_test_folder_remove();
  paging_rig_free(&r);
}

/* A search that a time limit ends, or another one that ends, may find or take a plan that is as good. */
Test(paging_fronts, a_search_is_not_repeated_after_others_whose_plans_are_as_good) {
  static const struct {
    uint64_t seed;
    int64_t time_limit_ns;
  } other[] = {{1, 50000000}, {2, 0}, {3, 0}};
  paging_rig r = {0};
  plim_status status;
  int32_t was_kept = 0, reports = 0;
  paging_rig_make(&r, 16, test_seed(1));
  plim_context_set_progress(r.ctx, count_reports, &reports);
  plim_plan *plan = make_thrifty(&r, plim_test_folder(), &status, &was_kept);
  cr_assert(plan && reports > 0, "%s", plim_context_error(r.ctx));
  plim_plan_free(plan);
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    r.options.seed = other[i].seed;
    r.options.time_limit_ns = other[i].time_limit_ns;
    plim_plan_free(make_thrifty(&r, r.options.front_folder, &status, &was_kept));
    r.options.seed = 1;
    r.options.time_limit_ns = reports = 0;
    plim_plan_free(make_thrifty(&r, r.options.front_folder, &status, &was_kept));
    cr_expect(was_kept && reports == 0, "the search is repeated after other %d", (int)i);
  }
  plim_test_folder_remove();
  paging_rig_free(&r);
}

/* The later calls draw less. */
Test(paging_fronts, a_kept_plan_of_least_energy_is_taken_where_it_keeps_the_deadline) {
  int32_t was_kept = 0, kept = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_status status;
    paging_rig_make(&r, 16, seed);
    r.paging.powers = &cheap_copies;
    plim_plan *first = make_thrifty(&r, plim_test_folder(), &status, &was_kept);
    cr_assert(first, "%s", plim_context_error(r.ctx));
    r.options.iterations = 1;
    r.options.seed = seed + 1;
    r.paging.deadline_ns = first->time_ns;
    plim_plan *in_time = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
    cr_assert(in_time, "%s", plim_context_error(r.ctx));
    cr_expect_leq(in_time->time_ns, first->time_ns, "seed %d", (int)seed);
    cr_expect_leq(energy_of(in_time), energy_of(first), "seed %d", (int)seed);
    kept += was_kept;
    r.paging.deadline_ns = in_time->time_ns - 1;
    plim_plan *earlier = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
    if (earlier) cr_expect_leq(earlier->time_ns, r.paging.deadline_ns, "seed %d", (int)seed);
    plim_plan_free(first);
    plim_plan_free(in_time);
    plim_plan_free(earlier);
    plim_test_folder_remove();
    paging_rig_free(&r);
  }
  cr_expect_gt(kept, 0);
}

/* Copies of the kept plan that name spaces which are not there have no powers either. */
Test(paging_fronts, a_kept_plan_of_least_energy_with_a_wrong_space_is_none) {
  paging_rig r = {0};
  plim_status status;
  int32_t was_kept = 0;
  paging_rig_make(&r, 16, test_seed(1));
  for (int in = 0; in < 2; in++) r.paging.bytes_per_ns[in] *= 10; /* so that it pages */
  r.paging.recompute = 0;
  r.paging.powers = &cheap_copies;
  plim_plan *first = make_thrifty(&r, plim_test_folder(), &status, &was_kept);
  cr_assert(first && first->n_page_spaces > 0, "%s", plim_context_error(r.ctx));
  const program_run *run =
      plim_test_shell("sed -i 's/\"from\": *1/\"from\": 100000/g' paged-*.json && grep -c 100000 paged-*.json");
  cr_assert_gt(atoi(run->out), 0, "%s", run->error);
  r.options.seed = 2;
  plim_plan *again = make_thrifty(&r, r.options.front_folder, &status, &was_kept);
  cr_assert(again && !was_kept, "%s", plim_context_error(r.ctx));
  plim_plan_free(first);
  plim_plan_free(again);
  plim_test_folder_remove();
  paging_rig_free(&r);
}

Test(paging_fronts, more_bytes_of_the_arena_never_make_a_front_take_more_energy_or_miss_the_deadline) {
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    int64_t budget[BUDGETS];
    plim_plan *plan[BUDGETS], *keep_all = NULL;
    paging_rig_make(&r, LENGTH, seed);
    make_budgets(&r, budget);
    cr_assert_eq(plim_plan_keep_all(r.ctx, r.graph, r.profile, &r.options, &keep_all), PLIM_OK);
    r.paging.powers = &cheap_copies;
    r.paging.deadline_ns = keep_all->time_ns + keep_all->time_ns / 5;
    r.options.paging = &r.paging;
    cr_assert_eq(plim_plan_front(r.ctx, r.graph, r.profile, &r.options, BUDGETS, budget, plan), PLIM_OK, "%s",
                 plim_context_error(r.ctx));
    cr_expect_not_null(plan[BUDGETS - 1]);
    for (int i = 0; i < BUDGETS; i++) {
      if (plan[i]) cr_expect_leq(plan[i]->time_ns, r.paging.deadline_ns, "seed %d", (int)seed);
      if (i == 0 || !plan[i - 1]) continue;
      cr_assert(plan[i], "seed %d: none within %lld bytes", (int)seed, (long long)budget[i]);
      cr_expect_leq(energy_of(plan[i]), energy_of(plan[i - 1]), "seed %d", (int)seed);
    }
    r.paging.deadline_ns = 1; /* keep-all is known, and late */
    plim_plan *late[BUDGETS];
    cr_assert_eq(plim_plan_front(r.ctx, r.graph, r.profile, &r.options, BUDGETS, budget, late), PLIM_OK);
    for (int i = 0; i < BUDGETS; i++) cr_expect_null(late[i], "seed %d", (int)seed);
    for (int i = 0; i < BUDGETS; i++) plim_plan_free(plan[i]);
    plim_plan_free(keep_all);
    paging_rig_free(&r);
  }
}

/* Arenas of other devices are spaces like the others: a plan for one of them is none for two. */
Test(paging_fronts, a_plan_that_was_kept_for_two_devices_is_not_taken_for_three) {
  paging_rig r = {0};
  plim_plan_result made = {.plan = NULL};
  int32_t was_kept = 0;
  paging_rig_make(&r, 16, test_seed(1));
  const int64_t bytes = r.options.budget_bytes;
  r.paging.n_devices = 1;
  r.paging.device[0] = (plim_paging_device){"cpu:1", bytes};
  r.paging.device[1] = (plim_paging_device){"cpu:2", bytes};
  r.paging.device_bytes_per_ns = 1;
  cr_assert_lt(make_alone(&r, bytes, 1, plim_test_folder(), &was_kept), INT64_MAX);
  plim_context_cancel(r.ctx);
  cr_assert_lt(make_alone(&r, bytes, 1, r.options.front_folder, &was_kept), INT64_MAX);
  cr_assert_eq(was_kept, 1);
  r.paging.n_devices = 2;
  cr_assert_eq(plim_plan_search(r.ctx, r.graph, r.profile, &r.options, &made), PLIM_ECANCEL);
  cr_assert_null(made.plan);
  plim_test_folder_remove();
  paging_rig_free(&r);
}

/* A bound of the cut model counts no pages, and is one for its bytes alone. So no plan of one arena that wins has it,
 * nor has a cancelled call for more bytes, which takes that plan. */
Test(paging_fronts, a_bound_of_one_arena_is_none_where_pages_are_allowed_nor_for_more_bytes) {
  int32_t proofs = 0;
  for (uint64_t seed = test_seed(1), end = seed + SEEDS; test_seed_at(seed) < end; seed++) {
    paging_rig r = {0};
    plim_plan *alone = NULL, *fewer = NULL, *more = NULL;
    paging_rig_make(&r, 12, seed);
    for (int in = 0; in < 2; in++) r.paging.bytes_per_ns[in] /= 1e6; /* so that nothing pages */
    plim_status status = plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &alone);
    cr_assert(status == PLIM_OK || status == PLIM_ENOFIT);
    r.options.paging = &r.paging;
    r.options.front_folder = plim_test_folder();
    if (plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &fewer) == PLIM_OK) {
      cr_assert_leq(fewer->bound_ns, fewer->keep_all_ns, "seed %d", (int)seed);
      plim_context_cancel(r.ctx);
      r.options.budget_bytes += 512;
      cr_assert_eq(plim_plan_make(r.ctx, r.graph, r.profile, &r.options, &more), PLIM_OK, "%s",
                   plim_context_error(r.ctx));
      cr_assert_leq(more->bound_ns, more->keep_all_ns, "seed %d", (int)seed);
      proofs += alone && alone->bound_ns > alone->keep_all_ns && fewer->n_page_spaces == 0;
    }
    plim_plan_free(alone);
    plim_plan_free(fewer);
    plim_plan_free(more);
    plim_test_folder_remove();
    paging_rig_free(&r);
  }
  cr_assert_gt(proofs, 0, "fewer bytes proved nothing");
}

/* The later call draws less, and would be slower on its own. */
Test(paging_fronts, more_bytes_of_the_page_space_never_make_a_call_slower_than_one_before_it) {
  int32_t was_kept = 0, kept = 0;
  uint64_t seed = test_seed(1);
  for (const uint64_t least = seed + SEEDS; test_seed_at(seed) < least || (kept == 0 && seed < least + MORE); seed++) {
    paging_rig r = {0};
    paging_rig_make(&r, 12, seed);
    const int64_t bytes = r.options.budget_bytes, most_bytes = r.paging.budget_bytes;
    for (int in = 0; in < 2; in++) r.paging.bytes_per_ns[in] /= 40;
    r.paging.delay_share = 0; /* cost is time */
    r.paging.budget_bytes = most_bytes / 2;
    const int64_t time_ns = make_alone(&r, bytes, seed, plim_test_folder(), &was_kept);
    r.paging.budget_bytes = most_bytes;
    r.options.iterations = 1;
    const int64_t later_ns = make_alone(&r, bytes, seed, r.options.front_folder, &was_kept);
    cr_assert_leq(later_ns, time_ns, "seed %d", (int)seed);
    kept += was_kept;
    plim_test_folder_remove();
    paging_rig_free(&r);
  }
  cr_assert_gt(kept, 0);
}

/* The later calls draw less. The last one has the links of the first again: what faster links kept has not replaced its
 * plan. */
Test(paging_fronts, a_faster_link_never_makes_a_call_slower_than_one_before_it) {
  int32_t was_kept = 0, kept = 0, faster = 0;
  uint64_t seed = test_seed(1);
  for (const uint64_t least = seed + SEEDS;
       test_seed_at(seed) < least || ((kept == 0 || faster == 0) && seed < least + MORE); seed++) {
    paging_rig r = {0};
    paging_rig_make(&r, 12, seed);
    const int64_t bytes = r.options.budget_bytes;
    for (int in = 0; in < 2; in++) r.paging.bytes_per_ns[in] /= 40;
    r.paging.delay_share = 0; /* cost is time */
    const int64_t slow_ns = make_alone(&r, bytes, seed, plim_test_folder(), &was_kept);
    r.options.iterations = 1;
    const plim_paging slow = r.paging;
    for (int in = 0; in < 2; in++) r.paging.bytes_per_ns[in] *= 1.02;
    const int64_t fast_ns = make_alone(&r, bytes, seed, r.options.front_folder, &was_kept);
    cr_assert_leq(fast_ns, slow_ns, "seed %d", (int)seed);
    kept += was_kept;
    faster += fast_ns < slow_ns;
    r.paging = slow;
    cr_assert_leq(make_alone(&r, bytes, seed, r.options.front_folder, &was_kept), slow_ns, "seed %d", (int)seed);
    plim_test_folder_remove();
    paging_rig_free(&r);
  }
  cr_assert(kept > 0 && faster > 0, "%d kept, %d faster", (int)kept, (int)faster);
}

Test(paging_fronts, budgets_of_a_front_that_descend_are_refused) {
  paging_rig r = {0};
  plim_plan *plan[2] = {NULL};
  paging_rig_make(&r, 16, test_seed(1));
  const int64_t budget[] = {r.options.budget_bytes, r.options.budget_bytes - 512};
  for (int pages = 0; pages < 2; pages++) {
    r.options.paging = pages ? &r.paging : NULL;
    cr_assert_eq(plim_plan_front(r.ctx, r.graph, r.profile, &r.options, 2, budget, plan), PLIM_EUSAGE);
  }
  paging_rig_free(&r);
}

/* Searches with other random choices find other plans, some of them slower in more bytes. */
Test(paging_fronts, a_later_call_for_more_bytes_is_never_slower_where_plans_are_kept) {
  enum { CALLS = 4 };
  const char *folder = plim_test_folder();
  int32_t kept = 0, was_kept = 0;
  /* Until a later search finds a slower plan. */
  for (uint64_t seed = test_seed(1), end = seed + 2 * MORE; test_seed_at(seed) < end && kept == 0; seed++) {
    paging_rig r = {0};
    int64_t before_ns = INT64_MAX;
    paging_rig_make(&r, 16, seed);
    const int64_t first_bytes = r.options.budget_bytes;
    for (int i = 0; i < CALLS; i++) {
      const int64_t time_ns = make_alone(&r, first_bytes + 512 * i, (uint64_t)i + 1, folder, &was_kept);
      cr_assert_leq(time_ns, before_ns, "seed %d, call %d", (int)seed, i);
      before_ns = time_ns;
      kept += was_kept;
    }
    r.paging.delay_share = 0.2; /* a plan of other copies is judged anew, and may be taken */
    cr_assert_lt(make_alone(&r, first_bytes, 1, folder, &was_kept), INT64_MAX);
    paging_rig_free(&r);
  }
  cr_assert_gt(kept, 0, "no plan was slower alone");
  const program_run *run = plim_test_shell("for f in paged-*.json; do echo '{' >$f; done; ls paged-*.json | wc -l");
  cr_assert_gt(atoi(run->out), 0);
  paging_rig r = {0};
  paging_rig_make(&r, LENGTH, test_seed(1));
  cr_assert_lt(make_alone(&r, r.options.budget_bytes, 1, folder, &was_kept), INT64_MAX);
  cr_assert_eq(was_kept, 0);
  paging_rig_free(&r);
  plim_test_folder_remove();
}
