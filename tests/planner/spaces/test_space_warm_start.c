/* planner/spaces/space_kept.c: what calls know of those before them. */
#include "planner/spaces/space_make_internal.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/file.h"
#include "tests/support/folder.h"
#include "tests/support/test_context.h"
#include "tests/support/test_seed.h"
#include "tools/plimsoll-bench/joint_case.h"

enum { GROWING = 6, CASES = 12 };

/* The makespan of the plan within budgets that are `more` twentieths larger, and links that are so much faster; -1:
 * refused. */
static double found(plim_context *ctx, const joint_case *c, const char *folder, int more, double faster,
                    int64_t iterations) {
  int64_t budget[JOINT_SPACES];
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  for (int s = 0; s < JOINT_SPACES; s++) {
    budget[s] = c->budget[s] < INT64_MAX ? c->budget[s] / 20 * (20 + more) : INT64_MAX;
  }
  for (int32_t l = 0; l < c->platform->n_links; l++) c->platform->link[l].bytes_per_second *= faster;
  options.budget = budget;
  options.iterations = iterations;
  options.front_folder = folder;
  plim_status status = plim_space_plan_make(ctx, c->graph, c->platform, &options, NULL, &plan);
  for (int32_t l = 0; l < c->platform->n_links; l++) c->platform->link[l].bytes_per_second /= faster;
  cr_assert(status == PLIM_OK || status == PLIM_ENOFIT, "%s", plim_context_error(ctx));
  double value = plan ? plim_space_plan_value(plan) : -1;
  for (int32_t s = 0; plan && s < plan->n_spaces; s++) cr_expect_leq(plan->space[s].peak_bytes, budget[s]);
  plim_space_plan_free(plan);
  return value;
}

/* The first call searches long, the others hardly at all. */
static int worse_as_they_grow(plim_context *ctx, uint64_t seed, const char *folder) {
  joint_case c;
  int worse = 0;
  cr_assert_eq(joint_case_make(ctx, seed, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
  double last = found(ctx, &c, folder, 0, 1, 1500);
  for (int i = 1; i < GROWING; i++) {
    double value = found(ctx, &c, folder, i < 4 ? i - 1 : 2, i < 4 ? 1 : 1 + 0.3 * (i - 3), 1);
    worse += last >= 0 && (value < 0 || value > last);
    if (value >= 0) last = value;
  }
  joint_case_free(&c);
  return worse;
}

Test(space_kept, separate_calls_are_never_worse_for_more_bytes_or_faster_links, .fini = plim_test_folder_remove) {
  plim_context *ctx = plim_test_context();
  const char *folder = plim_test_folder();
  int alone = 0;
  for (uint64_t seed = test_seed(1), end = seed + CASES; test_seed_at(seed) < end; seed++) {
    alone += worse_as_they_grow(ctx, seed, NULL);
    int worse = worse_as_they_grow(ctx, seed, folder);
    cr_expect_eq(worse, 0, "seed %llu: %d plans are worse", (unsigned long long)seed, worse);
  }
  cr_expect_gt(alone, 0, "nothing is worse without the folder either: the calls show nothing");
  plim_test_context_end(ctx);
}

/* Write `text` over every file of the folder that begins so. Returns their number. */
static int spoil(plim_context *ctx, const char *folder, const char *prefix, const char *text) {
  int n = 0;
  DIR *files = opendir(folder);
  cr_assert_not_null(files);
  for (const struct dirent *file = readdir(files); file; file = readdir(files)) {
    if (strncmp(file->d_name, prefix, strlen(prefix)) != 0) continue;
    cr_assert_eq(plim_file_save(ctx, plim_test_path(file->d_name), text, (int64_t)strlen(text)), PLIM_OK);
    n++;
  }
  (void)closedir(files);
  return n;
}

Test(space_kept, a_file_that_is_wrong_and_a_folder_that_cannot_be_made_are_no_failure,
     .fini = plim_test_folder_remove) {
  plim_context *ctx = plim_test_context();
  const char *folder = plim_test_folder();
  joint_case c;
  cr_assert_eq(joint_case_make(ctx, 2, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
  double value = found(ctx, &c, NULL, 0, 1, 1);
  cr_expect_eq(found(ctx, &c, folder, 0, 1, 1), value);
  cr_expect_eq(spoil(ctx, folder, "spaces-", "{\"plimsoll\": \"plan\", \"version\": 2}"), 1);
  cr_expect_eq(found(ctx, &c, folder, 0, 1, 1), value);
  cr_expect_eq(spoil(ctx, folder, "spaces-", ""), 1, "the plan of the same question has the same name");
  cr_expect_eq(found(ctx, &c, plim_test_path("no\nfolder/\x01/"), 0, 1, 1), value);
  cr_expect_eq(plim_file_save(ctx, plim_test_path("file"), "", 0), PLIM_OK);
  cr_expect_eq(found(ctx, &c, plim_test_path("file"), 0, 1, 1), value);
  joint_case_free(&c);
  plim_test_context_end(ctx);
}

/* A plan of another graph under the name of this one's: the checker finds it. */
Test(space_kept, a_plan_of_another_graph_is_not_believed, .fini = plim_test_folder_remove) {
  plim_context *ctx = plim_test_context();
  joint_case c, other;
  plim_space_kept kept, none;
  plim_space_plan *plan = NULL;
  plim_space_options options = plim_space_options_default();
  cr_assert_eq(joint_case_make(ctx, 2, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_eq(joint_case_make(ctx, 4, JOINT_OPS, &other), PLIM_OK, "%s", plim_context_error(ctx));
  options.iterations = 1;
  options.front_folder = plim_test_folder();
  options.budget = other.budget;
  cr_assert_eq(plim_space_plan_make(ctx, other.graph, other.platform, &options, NULL, &plan), PLIM_OK);
  cr_assert_eq(plim_space_kept_open(c.graph, c.platform, &options, &none), PLIM_OK);
  cr_expect_eq(none.n, 0);
  cr_assert_eq(plim_space_kept_save(&none, plan), PLIM_OK);
  cr_assert_eq(plim_space_kept_open(c.graph, c.platform, &options, &kept), PLIM_OK);
  cr_expect_eq(kept.n, 0, "a plan of another graph was read");
  plim_space_kept_close(&kept);
  plim_space_kept_close(&none);
  cr_assert_eq(plim_space_kept_open(other.graph, other.platform, &options, &kept), PLIM_OK);
  cr_expect_eq(kept.n, 1);
  cr_expect_eq(kept.n_known, 1);
  plim_space_kept_close(&kept);
  plim_space_plan_free(plan);
  joint_case_free(&other);
  joint_case_free(&c);
  plim_test_context_end(ctx);
}

/* Make every file of the folder that begins so longer than half of what all may have. */
static int pad(const char *folder, const char *prefix) {
  static char spaces[40 << 20];
  int n = 0;
  memset(spaces, ' ', sizeof spaces);
  DIR *files = opendir(folder);
  cr_assert_not_null(files);
  for (const struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
    if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
    FILE *file = fopen(plim_test_path(entry->d_name), "a");
    cr_assert(file && fwrite(spaces, sizeof spaces, 1, file) == 1);
    (void)fclose(file);
    n++;
  }
  (void)closedir(files);
  return n;
}

Test(space_kept, a_call_reads_no_more_bytes_than_all_files_may_have, .fini = plim_test_folder_remove) {
  plim_context *ctx = plim_test_context();
  const char *folder = plim_test_folder();
  joint_case c;
  plim_space_kept kept;
  plim_space_options options = plim_space_options_default();
  cr_assert_eq(joint_case_make(ctx, 2, JOINT_OPS, &c), PLIM_OK, "%s", plim_context_error(ctx));
  for (int more = 0; more < 2; more++) cr_assert_geq(found(ctx, &c, folder, more, 1, 1), 0);
  options.front_folder = folder;
  options.budget = c.budget;
  for (int padded = 0; padded < 2; padded++) {
    if (padded) cr_assert_eq(pad(folder, "spaces-"), 2);
    cr_assert_eq(plim_space_kept_open(c.graph, c.platform, &options, &kept), PLIM_OK);
    cr_expect_eq(kept.n, padded ? 1 : 2);
    plim_space_kept_close(&kept);
  }
  joint_case_free(&c);
  plim_test_context_end(ctx);
}
