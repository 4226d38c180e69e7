/* Classes of missing storages. */
#include "runtime/arena/missing.h"

#include <criterion/criterion.h>

#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static int64_t sum_of(plim_missing *m, int32_t n, const int32_t *storage) {
  int64_t sum = 0;
  plim_missing_sum_begin(m);
  for (int32_t i = 0; i < n; i++) sum += plim_missing_sum_class(m, storage[i]);
  return sum;
}

#define SUM(m, ...) sum_of(m, (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (int32_t[]){__VA_ARGS__})

Test(missing, counts_each_class_once) {
  plim_context *ctx = plim_test_context();
  plim_missing m;
  cr_assert_eq(plim_missing_init(&m, ctx, 5), PLIM_OK);
  for (int32_t s = 0; s < 4; s++) cr_assert_eq(plim_missing_add(&m, s, 10 + s), PLIM_OK);
  plim_missing_join(&m, 0, 1);
  plim_missing_join(&m, 1, 0);
  cr_expect_eq(SUM(&m, 0), 21);
  cr_expect_eq(SUM(&m, 0, 1), 21);
  cr_expect_eq(SUM(&m, 0, 1, 2, 3, 4), 21 + 12 + 13);
  cr_expect_eq(SUM(&m, 4), 0);
  plim_missing_release(&m);
  plim_context_free(ctx);
}

Test(missing, a_class_keeps_its_sum_when_its_root_leaves) {
  plim_context *ctx = plim_test_context();
  plim_missing m;
  cr_assert_eq(plim_missing_init(&m, ctx, 2), PLIM_OK);
  for (int32_t root = 0; root < 2; root++) { /* whichever of the two is the root */
    cr_assert_eq(plim_missing_add(&m, 0, 100), PLIM_OK);
    cr_assert_eq(plim_missing_add(&m, 1, 7), PLIM_OK);
    plim_missing_join(&m, 0, 1);
    plim_missing_remove(&m, root);
    cr_expect_eq(SUM(&m, 1 - root), root == 0 ? 7 : 100);
    cr_expect_eq(SUM(&m, root), 0);
    cr_expect_not(plim_missing_has(&m, root));
    plim_missing_remove(&m, 1 - root);
    plim_missing_remove(&m, root);
  }
  plim_missing_release(&m);
  plim_context_free(ctx);
}

/* One member of the class always stays, so that no class ever becomes empty. */
Test(missing, need_no_more_memory_when_storages_come_and_leave_for_ever) {
  enum { STORAGES = 40, ROUNDS = 100000 };
  plim_context *ctx = plim_test_context();
  plim_missing m;
  cr_assert_eq(plim_missing_init(&m, ctx, STORAGES), PLIM_OK);
  cr_assert_eq(plim_missing_add(&m, 0, 1000), PLIM_OK);
  for (int32_t round = 0; round < ROUNDS; round++) {
    int32_t s = 1 + round % (STORAGES - 1);
    cr_assert_eq(plim_missing_add(&m, s, 7), PLIM_OK);
    plim_missing_join(&m, 0, s);
    cr_assert_eq(SUM(&m, 0, s), 1007);
    plim_missing_remove(&m, s);
  }
  cr_expect_leq(m.capacity, 4 * STORAGES);
  plim_missing_release(&m);
  plim_context_free(ctx);
}

/* Labels of classes, merged by relabelling; a class may have members that have left. */
Test(missing, follow_labels_through_random_changes) {
  enum { STORAGES = 12 };
  plim_context *ctx = plim_test_context();
  for (uint64_t seed = test_seed(1), end = seed + 50; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed;
    int32_t label[STORAGES] = {0}, next = 0;
    int64_t own[STORAGES] = {0};
    plim_missing m;
    cr_assert_eq(plim_missing_init(&m, ctx, STORAGES), PLIM_OK);
    for (int round = 0; round < 300; round++) {
      int32_t a = (int32_t)test_random_between(&random, 0, STORAGES - 1);
      int32_t b = (int32_t)test_random_between(&random, 0, STORAGES - 1);
      if (!plim_missing_has(&m, a)) {
        label[a] = next++;
        own[a] = test_random_between(&random, 1, 1000);
        cr_assert_eq(plim_missing_add(&m, a, own[a]), PLIM_OK);
      } else if (plim_missing_has(&m, b) && test_random_chance(&random, 60)) {
        plim_missing_join(&m, a, b);
        for (int32_t s = 0, from = label[b]; s < STORAGES; s++) label[s] = label[s] == from ? label[a] : label[s];
      } else {
        plim_missing_remove(&m, a);
        label[a] = -1;
      }
      for (int32_t s = 0; s < STORAGES; s++) {
        int64_t expected = 0;
        if (!plim_missing_has(&m, s)) continue;
        for (int32_t u = 0; u < STORAGES; u++) expected += plim_missing_has(&m, u) && label[u] == label[s] ? own[u] : 0;
        cr_assert_eq(SUM(&m, s), expected, "seed %d round %d", (int)seed, round);
      }
    }
    plim_missing_release(&m);
  }
  plim_context_free(ctx);
}
