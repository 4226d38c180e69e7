/* runtime/base/hash_table.c: against a list that is searched from end to end. */
#include "runtime/base/hash_table.h"

#include <criterion/criterion.h>

#include "tests/support/failing_memory.h"
#include "tests/support/test_context.h"
#include "tests/support/test_random.h"

enum { KEYS = 500, OWN = 1000 };

typedef struct list {
  int32_t key[KEYS];
  int32_t n;
} list;

static int is_key(const void *owner, int32_t id, const void *key) {
  return ((const list *)owner)->key[id] == *(const int32_t *)key;
}

static int32_t find_in_list(const list *l, int32_t key) {
  for (int32_t i = 0; i < l->n; i++) {
    if (l->key[i] == key) return i;
  }
  return -1;
}

/* Keys from a range that is smaller than their number, with hashes of which many are equal or neighbours. */
Test(hash_table, finds_the_ids_that_a_search_of_the_list_finds) {
  plim_context *ctx = plim_test_context();
  for (uint64_t hashes = 1; hashes <= OWN; hashes *= 10) {
    plim_hash_table table = {.ctx = ctx};
    list l = {.n = 0};
    for (uint64_t i = 0; i < KEYS; i++) {
      int32_t key = (int32_t)(test_mix(i, hashes) % OWN);
      const uint64_t hash = (uint64_t)key % hashes;
      const int32_t id = plim_hash_find(&table, hash, is_key, &l, &key);
      cr_assert_eq(id, find_in_list(&l, key), "key %d of %d hashes", (int)key, (int)hashes);
      if (id >= 0) continue;
      cr_assert_eq(plim_hash_reserve(&table), PLIM_OK);
      plim_hash_add(&table, hash, l.n);
      l.key[l.n++] = key;
    }
    cr_assert_eq(table.n, l.n);
    plim_hash_clear(&table);
    cr_assert_eq(plim_hash_find(&table, (uint64_t)l.key[0] % hashes, is_key, &l, &l.key[0]), -1);
    plim_hash_release(&table);
  }
  plim_test_context_end(ctx);
}

static plim_status fill(plim_context *ctx, void *user) {
  plim_hash_table table = {.ctx = ctx};
  plim_status status = PLIM_OK;
  (void)user;
  for (int32_t id = 0; id < KEYS && status == PLIM_OK; id++) {
    status = plim_hash_reserve(&table);
    if (status == PLIM_OK) plim_hash_add(&table, (uint64_t)id, id);
  }
  plim_hash_release(&table);
  return status;
}

Test(hash_table, a_refused_allocation_leaves_a_table_that_can_be_released) {
  cr_assert_gt(plim_test_each_allocation(fill, NULL), 3);
}
