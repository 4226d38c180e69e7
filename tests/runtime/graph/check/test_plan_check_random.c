/* The checker against an interpreter, on random plans of random graphs: every plan that it accepts leaves what program
 * order leaves, whatever was done to it. */
#include "runtime/graph/check/check.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/interpret.h"
#include "tests/support/plan_draft.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_random.h"
#include "tests/support/test_seed.h"

static const random_plan_options packed = {
    .shuffle_percent = 25, .repeat_percent = 30, .pair_percent = 60, .merge_percent = 50, .packed = 1};

typedef struct instance {
  plim_context *ctx;
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *plan;
} instance;

static instance make_instance(uint64_t seed, int64_t max_bytes, random_plan_options p) {
  instance i = {.ctx = plim_test_context()};
  random_graph_options g = random_graph_options_default(seed);
  p.seed = seed;
  g.max_bytes = max_bytes;
  plim_status status = seed % 4 == 0 ? random_chain_make(i.ctx, 1 + (int32_t)(seed / 4 % 12), seed, &i.graph)
                                     : random_graph_make(i.ctx, &g, &i.graph);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(i.ctx));
  status = random_profile_make(i.graph, seed, 3, &i.profile);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(i.ctx));
  status = random_plan_make(i.graph, i.profile, &p, &i.plan);
  cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(i.ctx));
  return i;
}

static void free_instance(instance *i) {
  plim_plan_free(i->plan);
  plim_profile_free(i->profile);
  plim_graph_free(i->graph);
  plim_context_free(i->ctx);
}

Test(check_random, accepts_random_valid_plans_and_they_leave_what_program_order_leaves) {
  int repeats = 0, pairs = 0;
  for (uint64_t seed = test_seed(1), end = seed + 300; test_seed_at(seed) < end; seed++) {
    instance i = make_instance(seed, 3000, packed);
    plim_status status = plim_plan_check(i.ctx, i.graph, i.plan);
    cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(i.ctx));
    cr_assert(interpret_equals_program_order(i.graph, i.plan), "seed %llu", (unsigned long long)seed);
    repeats += i.plan->n_commands - i.graph->n_ops;
    for (int32_t j = 0; j < i.plan->n_commands; j++) pairs += i.plan->command[j].n_pairs;
    free_instance(&i);
  }
  cr_assert_gt(repeats, 300);
  cr_assert_gt(pairs, 300);
}

static int first_runs_in_program_order(const plim_plan *plan) {
  int32_t next = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    if (plan->command[j].op > next) return 0;
    next += plan->command[j].op == next;
  }
  return 1;
}

Test(check_random, accepts_a_class_of_plans_in_program_order_for_those_alone) {
  int accepted = 0, refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + 100; test_seed_at(seed) < end; seed++) {
    random_plan_options p = packed;
    p.shuffle_percent = seed % 2 ? 25 : 0;
    instance i = make_instance(seed, 800, p);
    plan_draft m = plan_draft_make(i.plan);
    int fits = first_runs_in_program_order(i.plan);
    m.plan.plan_class = seed % 4 < 2 ? PLIM_CLASS_FIXED : PLIM_CLASS_STAGES;
    plim_status status = plim_plan_check(i.ctx, i.graph, &m.plan);
    cr_expect_eq(status, fits ? PLIM_OK : PLIM_EPLAN, "seed %llu: %d", (unsigned long long)seed, status);
    cr_expect(fits || strstr(plim_context_error(i.ctx), "of class"), "%s", plim_context_error(i.ctx));
    accepted += fits;
    refused += !fits;
    plan_draft_free(&m);
    free_instance(&i);
  }
  cr_assert(accepted > 20 && refused > 20, "%d accepted, %d refused", accepted, refused);
}

Test(check_random, accepts_random_valid_plans_without_addresses) {
  random_plan_options unpacked = packed;
  unpacked.packed = 0;
  for (uint64_t seed = test_seed(1), end = seed + 300; test_seed_at(seed) < end; seed++) {
    instance i = make_instance(seed, 3000, unpacked);
    plim_status status = plim_plan_check(i.ctx, i.graph, i.plan);
    cr_assert_eq(status, PLIM_OK, "seed %llu: %s", (unsigned long long)seed, plim_context_error(i.ctx));
    free_instance(&i);
  }
}

Test(check_random, accepts_no_plan_with_stray_updates_repeats_or_keys_that_leaves_anything_else) {
  int accepted = 0, refused = 0;
  random_plan_options lawless = packed;
  lawless.lawless = 1;
  lawless.shuffle_percent = 3;
  lawless.repeat_percent = 10;
  for (uint64_t seed = test_seed(1), end = seed + 600; test_seed_at(seed) < end; seed++) {
    instance i = make_instance(seed, 800, lawless);
    if (plim_plan_check(i.ctx, i.graph, i.plan) == PLIM_OK) {
      accepted++;
      cr_assert(interpret_equals_program_order(i.graph, i.plan), "seed %llu", (unsigned long long)seed);
    } else {
      refused++;
    }
    free_instance(&i);
  }
  cr_assert_gt(accepted, 50);
  cr_assert_gt(refused, 50);
}

/* ---- mutations ---- */

/* A number near the old one, or one that is wild. */
static int64_t near_or_wild(uint64_t *random, int64_t old, int64_t unit) {
  static const int64_t wild[] = {-1, 0, 1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX - 511, 511};
  if (test_random_chance(random, 15)) return wild[test_random_between(random, 0, 8)];
  int64_t change = unit * test_random_between(random, -3, 3);
  return (int64_t)((uint64_t)old + (uint64_t)change);
}

static int32_t near_or_wild_32(uint64_t *random, int32_t old) {
  return (int32_t)near_or_wild(random, old, 1);
}

static void mutate_buffer(uint64_t *random, plan_draft *m) {
  int32_t n = m->plan.n_buffers;
  plim_plan_buffer *buffer = &m->buffer[test_random_between(random, 0, n - 1)];
  switch (test_random_between(random, 0, 8)) {
    case 0:
      buffer->storage = near_or_wild_32(random, buffer->storage);
      break;
    case 1:
      buffer->begin = near_or_wild_32(random, buffer->begin);
      break;
    case 2:
      buffer->end = near_or_wild_32(random, buffer->end);
      break;
    case 3:
      buffer->space = near_or_wild_32(random, buffer->space);
      break;
    case 4:
    case 5:
      buffer->offset = near_or_wild(random, buffer->offset, PLIM_ALIGN);
      break;
    case 6:
      buffer->bytes = near_or_wild(random, buffer->bytes, PLIM_ALIGN);
      break;
    case 7:
      *buffer = m->buffer[n - 1];
      m->plan.n_buffers--;
      break;
    default: { /* two buffers change places */
      plim_plan_buffer *other = &m->buffer[test_random_between(random, 0, n - 1)];
      int64_t offset = buffer->offset;
      buffer->offset = other->offset;
      other->offset = offset;
    }
  }
}

static void mutate_step(uint64_t *random, plan_draft *m) {
  plim_command *command = &m->command[test_random_between(random, 0, m->plan.n_commands - 1)];
  plim_command *other = &m->command[test_random_between(random, 0, m->plan.n_commands - 1)];
  plim_command kept = *command;
  switch (test_random_between(random, 0, 8)) {
    case 0:
      command->kind = (plim_command_kind)test_random_between(random, 0, 2);
      break;
    case 1:
      command->op = near_or_wild_32(random, command->op);
      break;
    case 2:
      command->variant = near_or_wild_32(random, command->variant);
      break;
    case 3:
      command->queue = near_or_wild_32(random, command->queue);
      break;
    case 4:
      command->n_pairs = near_or_wild_32(random, command->n_pairs);
      break;
    case 5:
      command->pair[0].in = near_or_wild_32(random, command->pair[0].in);
      break;
    case 6:
      command->pair[0].out = near_or_wild_32(random, command->pair[0].out);
      break;
    case 7:
      *command = *other;
      break;
    default:
      *command = *other;
      *other = kept;
  }
}

static void mutate(uint64_t *random, plan_draft *m) {
  int64_t kind = test_random_between(random, 0, 9);
  if (kind < 5) {
    mutate_buffer(random, m);
  } else if (kind < 9) {
    mutate_step(random, m);
  } else {
    plim_variant *v = &m->variant[test_random_between(random, 0, m->plan.n_variants - 1)].variant;
    v->workspace_bytes = near_or_wild(random, v->workspace_bytes, 300);
    if (test_random_chance(random, 30)) v->numerics_key[0]++;
  }
}

/* Checks the mutant as it is (it may be wild: nothing must crash), then with figures that fit its buffers, so that no
 * wrong sum hides a fault. Returns 1 when it was accepted. */
static int try_mutant(const instance *i, const plan_draft *m, uint64_t seed) {
  plim_plan *fitted = NULL;
  int accepted = plim_plan_check(i->ctx, i->graph, &m->plan) == PLIM_OK;
  cr_assert(!accepted || interpret_equals_program_order(i->graph, &m->plan), "seed %llu", (unsigned long long)seed);
  if (plim_plan_from_parts(i->graph, &m->plan, &fitted) != PLIM_OK) return accepted;
  plim_status status = plim_plan_check(i->ctx, i->graph, fitted);
  if (status == PLIM_OK) {
    accepted = 1;
    cr_assert(interpret_equals_program_order(i->graph, fitted), "seed %llu", (unsigned long long)seed);
  } else {
    cr_assert(status == PLIM_EPLAN || status == PLIM_EUNSUPPORTED, "seed %llu: %d", (unsigned long long)seed, status);
    cr_assert(plim_context_error(i->ctx)[0], "seed %llu", (unsigned long long)seed);
  }
  plim_plan_free(fitted);
  return accepted;
}

Test(check_random, accepts_no_mutated_plan_that_leaves_anything_else) {
  int accepted = 0, refused = 0;
  for (uint64_t seed = test_seed(1), end = seed + 150; test_seed_at(seed) < end; seed++) {
    instance i = make_instance(seed, 800, packed);
    uint64_t random = seed;
    for (int round = 0; round < 60; round++) {
      plan_draft m = plan_draft_make(i.plan);
      m.plan.budget_bytes = 1 << 26; /* what the interpreter can allocate: a far offset is above the budget */
      for (int64_t k = test_random_between(&random, 1, 2); k > 0; k--) mutate(&random, &m);
      plan_draft_sort(&m);
      if (try_mutant(&i, &m, seed)) {
        accepted++;
      } else {
        refused++;
      }
      plan_draft_free(&m);
    }
    free_instance(&i);
  }
  cr_assert_gt(accepted, 100);
  cr_assert_gt(refused, 1000);
}
