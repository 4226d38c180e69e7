/* What a schedule says about the future, on a training chain of two layers in program order. */
#include "runtime/arena/forecast.h"

#include <criterion/criterion.h>

#include "tests/support/failing_memory.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/small_graph.h"
#include "tests/support/test_seed.h"

/* Ids of random_chain_make(2); positions of the schedule are the ops. */
enum { X0, W1, V1, W2, V2, X1, X2, Y, DX2, DW2, DX1, DW1, DX0 };
enum { FORWARD1, FORWARD2, LOSS, WEIGHTS2, DATA2, UPDATE2, WEIGHTS1, DATA1, UPDATE1, END };

typedef struct chain {
  plim_graph *graph;
  plim_profile *profile;
  plim_plan *schedule;
  plim_forecast forecast;
} chain;

static plim_status make_chain(plim_context *ctx, int32_t hold_inputs, chain *c) {
  random_plan_options program_order = {.packed = 1};
  const uint64_t seed = test_seed(7);
  *c = (chain){NULL, NULL, NULL, {.ctx = NULL}};
  PLIM_TRY(random_chain_make(ctx, 2, seed, &c->graph));
  PLIM_TRY(random_profile_make(c->graph, seed, 1, &c->profile));
  PLIM_TRY(random_plan_make(c->graph, c->profile, &program_order, &c->schedule));
  return plim_forecast_make(ctx, c->graph, c->schedule, 0, hold_inputs, &c->forecast);
}

static void free_chain(chain *c) {
  plim_forecast_release(&c->forecast);
  plim_plan_free(c->schedule);
  plim_profile_free(c->profile);
  plim_graph_free(c->graph);
}

Test(forecast, knows_the_next_read_after_every_use) {
  plim_context *ctx = plim_test_context();
  chain c;
  cr_assert_eq(make_chain(ctx, 1, &c), PLIM_OK, "%s", plim_context_error(ctx));
  const plim_forecast *f = &c.forecast;
  int32_t made = f->first_use[FORWARD1] + c.graph->op[FORWARD1].n_reads; /* x1 is written */
  cr_expect_eq(f->next_read[made], FORWARD2);
  cr_expect_eq(f->last_read[made], WEIGHTS2);
  cr_expect_eq(f->next_read[f->first_use[FORWARD2]], WEIGHTS2);       /* x1 is read */
  cr_expect_eq(f->next_read[f->first_use[WEIGHTS2]], DATA2);          /* dx2 */
  cr_expect_eq(f->next_read[f->first_use[WEIGHTS2] + 1], PLIM_NEVER); /* x1 */
  int32_t loss = f->first_use[LOSS] + c.graph->op[LOSS].n_reads;
  cr_expect_eq(f->next_read[loss], END); /* an output is kept */
  cr_expect_eq(f->last_read[loss], END);
  cr_expect_eq(f->start_ns[END], c.schedule->time_ns);
  free_chain(&c);
  plim_context_free(ctx);
}

Test(forecast, knows_how_long_each_storage_can_be_recomputed) {
  plim_context *ctx = plim_test_context();
  chain c;
  cr_assert_eq(make_chain(ctx, 1, &c), PLIM_OK, "%s", plim_context_error(ctx));
  const int32_t *deadline = c.forecast.deadline;
  cr_expect_eq(deadline[X1], UPDATE1); /* from w1 */
  cr_expect_eq(deadline[X2], UPDATE2); /* from w2 and x1 */
  cr_expect_eq(deadline[DW2], UPDATE2);
  cr_expect_eq(deadline[DX1], UPDATE2);
  cr_expect_eq(deadline[DW1], DATA1); /* from dx1, which cannot be evicted and stays to its last read */
  cr_expect_eq(c.forecast.last_need[X0], END);
  free_chain(&c);
  cr_assert_eq(make_chain(ctx, 0, &c), PLIM_OK, "%s", plim_context_error(ctx));
  cr_expect_eq(c.forecast.last_need[X0], WEIGHTS1);
  cr_expect_eq(c.forecast.deadline[X1], WEIGHTS1);
  cr_expect_eq(c.forecast.last_need[W1], PLIM_NEVER);
  free_chain(&c);
  plim_context_free(ctx);
}

Test(forecast, splits_the_bytes_at_the_median_of_time_a_byte) {
  plim_context *ctx = plim_test_context();
  chain c;
  cr_assert_eq(make_chain(ctx, 1, &c), PLIM_OK, "%s", plim_context_error(ctx));
  int64_t costly = 0, cheap = 0, most = 0;
  double least_costly = 1e300, most_cheap = 0;
  for (int32_t s = 0; s < c.graph->n_storages; s++) {
    const plim_storage *storage = &c.graph->storage[s];
    if (storage->producer < 0) continue;
    double density = (double)c.forecast.op_ns[storage->producer] / (double)storage->bytes;
    if (c.forecast.costly[s] && density < least_costly) least_costly = density;
    if (!c.forecast.costly[s] && density > most_cheap) most_cheap = density;
    *(c.forecast.costly[s] ? &costly : &cheap) += storage->bytes;
    if (storage->bytes > most) most = storage->bytes;
  }
  cr_expect_leq(most_cheap, least_costly);
  cr_expect_leq(cheap, costly);
  cr_expect_leq(costly - cheap, 2 * most);
  free_chain(&c);
  plim_context_free(ctx);
}

static plim_status make_and_free(plim_context *ctx, void *user) {
  chain c;
  (void)user;
  plim_status status = make_chain(ctx, 1, &c);
  free_chain(&c);
  return status;
}

Test(forecast, gives_back_its_memory_when_any_allocation_fails) {
  cr_assert_gt(plim_test_each_allocation(make_and_free, NULL), 10);
}
