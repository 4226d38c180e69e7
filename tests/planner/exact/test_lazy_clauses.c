/* planner/exact/lazy_clauses.c: clause learning against trying all values, on small random systems of forbidden
 * combinations. */
#include "planner/exact/moccasin_internal.h"

#include <criterion/criterion.h>

#include "tests/support/failing_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

enum { VARIABLES = 6, HIGHEST = 4, WIDE = 12, MOST_RULES = 160, MOST_BOUNDS = 4 };

static plim_context *ctx;
static void make_context(void) {
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
}
static void free_context(void) {
  plim_context_free(ctx);
}
TestSuite(lazy_clauses, .init = make_context, .fini = free_context);

/* Bounds that must not all hold. */
typedef struct rule {
  int32_t n;
  plim_lazy_clauses_bound bound[MOST_BOUNDS];
} rule;

typedef struct puzzle {
  int32_t n, highest;
  rule rule[MOST_RULES];
} puzzle;

static rule random_rule(uint64_t *random, int32_t fewest, int32_t highest) {
  rule r = {.n = (int32_t)test_random_between(random, fewest, MOST_BOUNDS)};
  for (int32_t k = 0; k < r.n; k++) {
    int32_t x = (int32_t)test_random_between(random, 0, VARIABLES - 1);
    int32_t value = (int32_t)test_random_between(random, 1, highest);
    r.bound[k] =
        test_random_chance(random, 50) ? plim_lazy_clauses_at_least(x, value) : plim_lazy_clauses_at_most(x, value - 1);
  }
  return r;
}

static puzzle random_puzzle(uint64_t seed) {
  uint64_t random = seed;
  puzzle p = {.n = 30 + (int32_t)(seed % 51), .highest = HIGHEST};
  for (int32_t i = 0; i < p.n; i++) p.rule[i] = random_rule(&random, 2, HIGHEST);
  return p;
}

static int breaks(const rule *r, const int32_t *value) {
  for (int32_t k = 0; k < r->n; k++) {
    int32_t x = r->bound[k].side / 2, v = r->bound[k].side % 2 ? -value[x] : value[x];
    if (v < r->bound[k].least) return 0;
  }
  return 1;
}

static int is_solution(const puzzle *p, const int32_t *value) {
  for (int32_t i = 0; i < p->n; i++) {
    if (breaks(&p->rule[i], value)) return 0;
  }
  return 1;
}

static int oracle(const puzzle *p) {
  int32_t value[VARIABLES] = {0};
  for (;;) {
    if (is_solution(p, value)) return 1;
    int32_t x = 0;
    while (x < VARIABLES && value[x] == HIGHEST) value[x++] = 0;
    if (x == VARIABLES) return 0;
    value[x]++;
  }
}

/* What a rule implies where all of its bounds but one hold. */
static plim_status apply(plim_lazy_clauses *l, const rule *r) {
  int32_t open = -1, n_open = 0, begin = l->reasons.n;
  for (int32_t k = 0; k < r->n; k++) {
    if (plim_lazy_clauses_holds(l, r->bound[k])) continue;
    open = k;
    n_open++;
  }
  if (n_open > 1 || (n_open == 1 && plim_lazy_clauses_denied(l, r->bound[open]))) return PLIM_OK;
  for (int32_t k = 0; k < r->n; k++) {
    if (k != open) PLIM_TRY(plim_lazy_clauses_note(l, r->bound[k]));
  }
  return n_open == 0 ? plim_lazy_clauses_fail(l, begin)
                     : plim_lazy_clauses_imply(l, plim_lazy_clauses_not(r->bound[open]), begin);
}

static plim_status propagate(plim_lazy_clauses *l, const puzzle *p) {
  int32_t before;
  do {
    PLIM_TRY(plim_lazy_clauses_propagate(l));
    before = l->n_trail;
    for (int32_t i = 0; i < p->n && !l->has_failed; i++) PLIM_TRY(apply(l, &p->rule[i]));
  } while (!l->has_failed && l->n_trail > before);
  return PLIM_OK;
}

static int decide(plim_lazy_clauses *l, uint64_t *random, plim_lazy_clauses_bound *out) {
  int32_t from = (int32_t)test_random_between(random, 0, VARIABLES - 1);
  for (int32_t i = 0; i < VARIABLES; i++) {
    int32_t x = (from + i) % VARIABLES, low = plim_lazy_clauses_low(l, x), high = plim_lazy_clauses_high(l, x);
    if (low == high) continue;
    *out = test_random_chance(random, 50) ? plim_lazy_clauses_at_most(x, low) : plim_lazy_clauses_at_least(x, low + 1);
    return 1;
  }
  return 0;
}

/* *found: -1 refuted. Restarts, and forgets nearly everything, every few conflicts. */
static plim_status solve(plim_lazy_clauses *l, const puzzle *p, uint64_t seed, int32_t *found, int32_t *conflicts) {
  uint64_t random = seed;
  int32_t refuted = 0;
  plim_lazy_clauses_bound b;
  *found = 0;
  while (*found == 0) {
    PLIM_TRY(propagate(l, p));
    if (l->has_failed) {
      PLIM_TRY(plim_lazy_clauses_learn(l, &refuted));
      if (refuted) *found = -1;
      ++*conflicts;
      if (refuted || *conflicts % 7 != 0) continue;
      plim_lazy_clauses_back(l, 0);
      PLIM_TRY(plim_lazy_clauses_propagate(l));
      if (!l->has_failed) PLIM_TRY(plim_lazy_clauses_forget(l, 3 + *conflicts / 7));
    } else if (decide(l, &random, &b)) {
      PLIM_TRY(plim_lazy_clauses_open(l));
      PLIM_TRY(plim_lazy_clauses_decide(l, b));
    } else {
      *found = 1;
    }
  }
  return PLIM_OK;
}

static plim_status solve_from_nothing(plim_context *c, const puzzle *p, uint64_t seed, int32_t *found, int32_t *value,
                                      int32_t *conflicts) {
  int32_t low[VARIABLES] = {0}, high[VARIABLES];
  plim_lazy_clauses l = {0};
  for (int32_t x = 0; x < VARIABLES; x++) high[x] = p->highest;
  PLIM_TRY(plim_lazy_clauses_make(c, VARIABLES, low, high, &l));
  plim_status status = solve(&l, p, seed, found, conflicts);
  for (int32_t x = 0; x < VARIABLES; x++) value[x] = plim_lazy_clauses_low(&l, x);
  plim_lazy_clauses_free(&l);
  return status;
}

Test(lazy_clauses, what_is_learned_excludes_no_solution_and_proves_that_there_is_none) {
  int32_t with = 0, without = 0, conflicts = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    puzzle p = random_puzzle(seed);
    int32_t found, value[VARIABLES];
    cr_assert_eq(solve_from_nothing(ctx, &p, seed, &found, value, &conflicts), PLIM_OK);
    cr_assert_eq(found > 0, oracle(&p), "seed %d", (int)seed);
    if (found > 0) cr_assert(is_solution(&p, value), "seed %d", (int)seed);
    with += found > 0;
    without += found < 0;
  }
  cr_assert(with >= 50 && without >= 50, "%d with, %d without a solution", with, without);
  cr_assert_geq(conflicts, 400, "only %d conflicts", conflicts);
}

/* Many rules that a hidden assignment keeps, over wide domains: a wrong clause sooner or later forbids it. */
static puzzle puzzle_around(uint64_t seed, const int32_t *hidden) {
  uint64_t random = seed;
  puzzle p = {.n = 0, .highest = WIDE};
  while (p.n < MOST_RULES) {
    p.rule[p.n] = random_rule(&random, 3, WIDE);
    p.n += !breaks(&p.rule[p.n], hidden);
  }
  return p;
}

Test(lazy_clauses, a_hidden_solution_is_never_lost) {
  int32_t conflicts = 0;
  for (uint64_t seed = test_seed(1), end = seed + 200; test_seed_at(seed) < end; seed++) {
    uint64_t random = seed * 977;
    int32_t found, hidden[VARIABLES], value[VARIABLES];
    for (int32_t x = 0; x < VARIABLES; x++) hidden[x] = (int32_t)test_random_between(&random, 0, WIDE);
    puzzle p = puzzle_around(seed, hidden);
    cr_assert_eq(solve_from_nothing(ctx, &p, seed, &found, value, &conflicts), PLIM_OK);
    cr_assert_eq(found, 1, "seed %d", (int)seed);
    cr_assert(is_solution(&p, value));
  }
  cr_assert_geq(conflicts, 500, "only %d conflicts", conflicts);
}

Test(lazy_clauses, bounds_come_back_with_their_levels) {
  const int32_t low[2] = {0, 3}, high[2] = {9, 5};
  plim_lazy_clauses l;
  cr_assert_eq(plim_lazy_clauses_make(ctx, 2, low, high, &l), PLIM_OK);
  cr_assert_eq(plim_lazy_clauses_open(&l), PLIM_OK);
  cr_assert_eq(plim_lazy_clauses_decide(&l, plim_lazy_clauses_at_least(0, 4)), PLIM_OK);
  int32_t begin = l.reasons.n;
  cr_assert_eq(plim_lazy_clauses_note(&l, plim_lazy_clauses_at_least(0, 2)), PLIM_OK);
  cr_assert_eq(plim_lazy_clauses_imply(&l, plim_lazy_clauses_at_most(1, 3), begin), PLIM_OK);
  cr_assert(plim_lazy_clauses_low(&l, 0) == 4 && plim_lazy_clauses_high(&l, 1) == 3);
  cr_assert_eq(plim_lazy_clauses_change_of(&l, plim_lazy_clauses_at_least(0, 2)), 0);
  cr_assert_eq(plim_lazy_clauses_change_of(&l, plim_lazy_clauses_at_least(1, 3)), -1); /* from the beginning */
  plim_lazy_clauses_back(&l, 0);
  cr_assert(plim_lazy_clauses_low(&l, 0) == 0 && plim_lazy_clauses_high(&l, 1) == 5);
  plim_lazy_clauses_free(&l);
}

/* x and y of [0, 1] are decided to be 1, and cannot both be. Afterwards no decision is open. */
static void learn_that_not_both(plim_lazy_clauses *l, int32_t x, int32_t y) {
  int refuted = 1;
  const int32_t both[] = {x, y};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(plim_lazy_clauses_open(l), PLIM_OK);
    cr_assert_eq(plim_lazy_clauses_decide(l, plim_lazy_clauses_at_least(both[i], 1)), PLIM_OK);
  }
  const int32_t begin = l->reasons.n;
  for (int i = 0; i < 2; i++) cr_assert_eq(plim_lazy_clauses_note(l, plim_lazy_clauses_at_least(both[i], 1)), PLIM_OK);
  cr_assert_eq(plim_lazy_clauses_fail(l, begin), PLIM_OK);
  cr_assert_eq(plim_lazy_clauses_learn(l, &refuted), PLIM_OK);
  cr_assert_not(refuted);
  plim_lazy_clauses_back(l, 0);
}

Test(lazy_clauses, what_a_conflict_needed_is_more_active_than_what_it_did_not) {
  const int32_t low[3] = {0, 0, 0}, high[3] = {1, 1, 1};
  plim_lazy_clauses l;
  cr_assert_eq(plim_lazy_clauses_make(ctx, 3, low, high, &l), PLIM_OK);
  learn_that_not_both(&l, 0, 1);
  cr_assert(l.activity[0] > l.activity[2] && l.activity[1] > l.activity[2]);
  plim_lazy_clauses_free(&l);
}

Test(lazy_clauses, a_clause_that_holds_for_good_is_forgotten_and_the_one_before_it_is_not) {
  const int32_t low[4] = {0, 0, 0, 0}, high[4] = {1, 1, 1, 1};
  plim_lazy_clauses l;
  cr_assert_eq(plim_lazy_clauses_make(ctx, 4, low, high, &l), PLIM_OK);
  learn_that_not_both(&l, 0, 1);
  learn_that_not_both(&l, 2, 3);
  cr_assert_eq(l.n_clauses, 2);
  const plim_lazy_clauses_bound first = l.literals.at[l.clause[1].begin];
  cr_assert_eq(plim_lazy_clauses_imply(&l, first, l.reasons.n), PLIM_OK);
  cr_assert_eq(plim_lazy_clauses_forget(&l, 2), PLIM_OK);
  cr_assert_eq(l.n_clauses, 1);
  for (int i = 0; i < 2; i++) cr_assert_leq(l.literals.at[l.clause[0].begin + i].side / 2, 1);
  plim_lazy_clauses_free(&l);
}

static plim_status solve_one(plim_context *failing, void *user) {
  int32_t found, value[VARIABLES], conflicts = 0;
  return solve_from_nothing(failing, user, 3, &found, value, &conflicts);
}

Test(lazy_clauses, a_refused_allocation_leaves_nothing_after) {
  puzzle p = random_puzzle(3);
  cr_assert_geq(plim_test_each_allocation(solve_one, &p), 10);
}
