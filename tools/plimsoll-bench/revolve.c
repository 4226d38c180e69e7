/* Revolve on step graphs: the stages between cuts (or between all ops, as if they were a chain) count as steps of equal
 * cost, `slots` states are held at once. Every number of slots is tried, fewer of the large ones; the incumbent
 * keeps the fastest that fits. Source: Griewank, Walther, ACM TOMS 26(1), 2000. */
#include "tools/plimsoll-bench/peers_internal.h"

#include "planner/chain/chain.h"
#include "runtime/base/effort.h"

enum { MOST_STAGES = 512, DENSE_SLOTS = 128, PACKING_ROUNDS = 8, MOST_RUNS_AN_OP = 64, LEAST_RUNS = 100000 };

/* n over k, INT64_MAX / 4 when it is more. k + 1 factors at most are looked at. */
static int64_t binomial(int64_t n, int64_t k) {
  int64_t value = 1;
  if (k > n - k) k = n - k;
  for (int64_t i = 1; i <= k; i++) {
    if (value > INT64_MAX / 4 / (n - k + i)) return INT64_MAX / 4;
    value = value * (n - k + i) / i;
  }
  return k < 0 ? 0 : value;
}

/* Least number r of times that a step runs forward at most, so that slots suffice. */
static int64_t repeats_needed(int32_t length, int32_t slots) {
  int64_t repeats = 0;
  while (binomial(slots + repeats, slots) < length) repeats++;
  return repeats;
}

int64_t plim_revolve_steps(int32_t length, int32_t slots) {
  int64_t repeats = repeats_needed(length, slots);
  return repeats * length - binomial(slots + repeats, slots + 1);
}

int32_t plim_revolve_split(int32_t length, int32_t slots) {
  int64_t repeats = repeats_needed(length, slots);
  /* both parts need as many repeats as they may have, or one less */
  int64_t first = binomial(slots + repeats - 2, slots), rest = length - binomial(slots + repeats - 1, slots - 1);
  int64_t split = first > rest ? first : rest;
  return split > 1 ? (int32_t)split : 1;
}

/* Reverse stages [begin, end) from state `begin`, which is held, with that many slots (this state's included). */
static plim_status reverse(plim_stage_runner *r, int32_t begin, int32_t end, int32_t slots) {
  while (end - begin > 1) {
    int32_t middle = slots > 1 ? begin + plim_revolve_split(end - begin, slots) : end - 1;
    for (int32_t i = begin; i < middle; i++) PLIM_TRY(plim_stage_advance(r, i));
    if (slots == 1) {
      PLIM_TRY(plim_stage_back(r, middle));
    } else {
      plim_stage_keep(r, middle);
      PLIM_TRY(reverse(r, middle, end, slots - 1));
      plim_stage_release(r, middle);
    }
    end = middle;
  }
  return plim_stage_back(r, begin);
}

static plim_status submit(plim_incumbent *inc, plim_stage_runner *r, int32_t slots, int32_t linger) {
  int64_t most = LEAST_RUNS + MOST_RUNS_AN_OP * (int64_t)inc->problem->n_ops;
  if (plim_effort_over(inc->problem->ctx, PLIM_EFFORT_LOOK)) {
    return plim_fail(inc->problem->ctx, PLIM_ECANCEL, "planning was cancelled");
  }
  if (plim_incumbent_is_out_of_time(inc)) return PLIM_OK;
  r->may_linger = linger;
  plim_stage_begin(r, most < INT32_MAX ? (int32_t)most : INT32_MAX);
  plim_status status = reverse(r, 0, r->stages->n, slots);
  if (status == PLIM_ENOFIT) return PLIM_OK; /* too many runs */
  if (status != PLIM_OK) return status;
  return plim_incumbent_submit(inc, &r->schedule, PACKING_ROUNDS, NULL);
}

static plim_status try_slots(plim_incumbent *inc, const plim_stages *stages) {
  plim_stage_runner r = {0};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_stage_runner_make(stages, &r));
  for (int32_t slots = 1; slots <= stages->n; slots += 1 + slots / DENSE_SLOTS) {
    for (int32_t linger = 0; linger < 2; linger++) PLIM_TRY_OR_DONE(submit(inc, &r, slots, linger));
  }
done:
  plim_stage_runner_free(&r);
  return status;
}

plim_status plim_revolve_run(plim_incumbent *inc) {
  for (int kind = PLIM_CHECKPOINT_CUTS; kind <= PLIM_CHECKPOINT_LINEAR; kind++) {
    plim_stages *stages = NULL;
    PLIM_TRY(plim_stages_new(inc->problem, (plim_checkpoint_kind)kind, MOST_STAGES, &stages));
    plim_status status = try_slots(inc, stages);
    plim_stages_free(stages);
    PLIM_TRY(status);
  }
  return PLIM_OK;
}
