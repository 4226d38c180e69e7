/* A bound on plans over spaces: the cut model with rows for links, energy and deadline, relaxed by multipliers.
 *
 * H are the spaces where devices compute. Look at the moment when node v runs for the first time. All its ancestors
 * have run, and none of its descendants. H has v's output, v's inputs and v's workspace.
 * A node u is *needed* at v if it is an ancestor of v, no input of v, and some reader of u descends from v. Either H
 * has u's output at that moment, or the output is brought to H later, before that reader. There are two ways to bring
 * it: another run of u, or a copy into H, after an earlier copy out of H.
 * So each v gives a row: of the needed nodes, at least the bytes that exceed the budgets of H are brought.
 *
 * Example: H is one space of 10 bytes. a feeds b and d, b feeds c, and c feeds d. Outputs have 4 bytes, that of d has
 * 2. At c, H has c and its input b. a is needed, as d reads it. All three have 12 bytes, so the row asks for 2 bytes,
 * and a is the only node that can give them: a is brought at least once. A run of a takes 6 ns, a copy out 2 ns and a
 * copy in 2 ns. With a multiplier m >= 0 of the row the bound is the time of all first runs + m - max(0, m - 4). With
 * m = 4 that is the first runs and 4 ns, which is what the cheaper way takes.
 *
 * Gaps: two readers of u of which one descends from the other have a gap between them, and what is brought in a gap
 * counts for that gap alone. A row whose v lies in one gap asks for bytes of that gap, any other row for bytes of all
 * gaps of u. A copy out of H counts once for each node.
 *
 * Further rows: each queue takes no more time than the makespan, and the makespan no more than the deadline. With
 * multipliers for all rows the rest falls apart into a choice for each node, and any multipliers prove a bound. The
 * latency of a copy is left out, as several storages may share it. The programs are Shah et al.'s and Patil et al.'s;
 * the counting is ours.
 *
 * space_bound_cuts.c finds the rows. space_bound_relaxed.c has the bound of given multipliers, and the ascent here
 * looks for good ones. The bound is the better of that and of what placement costs (space_bound_placement.c). */
#include "planner/spaces/bound/space_bound.h"

#include <math.h>
#include <string.h>

#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

/* Multipliers of queues are at least 0; where no deadline bounds the makespan their sum is at most its cost. */
static void project(plim_space_relaxed *relaxed) {
  double *m = relaxed->multiplier + relaxed->cuts.n_rows,
         max_sum = relaxed->time_cost * relaxed->scale_ns / relaxed->scale, sum = 0;
  for (int32_t i = 0; i < relaxed->n; i++) relaxed->multiplier[i] = fmax(0, relaxed->multiplier[i]);
  for (int32_t q = relaxed->devices; q < relaxed->n_queues && relaxed->options->deadline_on_runs; q++) m[q] = 0;
  if (relaxed->options->deadline_ns < INT64_MAX) return;
  for (int32_t pass = 0; pass < spaces_tuning.bound.passes; pass++) {
    int32_t positive = 0;
    sum = 0;
    for (int32_t q = 0; q < relaxed->n_queues; q++) {
      sum += m[q];
      positive += m[q] > 0;
    }
    if (sum <= max_sum || positive == 0) return;
    for (int32_t q = 0; q < relaxed->n_queues; q++) m[q] = m[q] > 0 ? fmax(0, m[q] - (sum - max_sum) / positive) : 0;
  }
  for (int32_t q = 0; q < relaxed->n_queues; q++) m[q] = sum > 0 ? m[q] * (max_sum / sum) * (1 - 1e-12) : 0;
}

/* Subgradient steps towards a target above the best bound, which comes nearer while nothing is won. best_at [n]
 * scratch: the multipliers of the best bound. */
static double ascend(plim_space_relaxed *relaxed, double *best_at) {
  const int32_t n = relaxed->n;
  const size_t size = (size_t)n * sizeof *best_at;
  int32_t stale = 0;
  double best = plim_space_relaxed_evaluate(relaxed), above = spaces_tuning.bound.above_first;
  memcpy(best_at, relaxed->multiplier, size);
  for (int32_t i = 0; i < spaces_tuning.bound.iterations && above > spaces_tuning.bound.above_min; i++) {
    double value = i == 0 ? best : plim_space_relaxed_evaluate(relaxed), norm = 0;
    stale++;
    if (value > best) {
      if (value > best + spaces_tuning.bound.gain * above * relaxed->scale) stale = 0;
      best = value;
      memcpy(best_at, relaxed->multiplier, size);
    }
    if (plim_effort_over(relaxed->problem->ctx, 10 * relaxed->cuts.n_entries)) break;
    if (stale > spaces_tuning.bound.patience) {
      stale = 0;
      above *= spaces_tuning.bound.above_factor;
      memcpy(relaxed->multiplier, best_at, size);
      value = plim_space_relaxed_evaluate(relaxed);
    }
    for (int32_t k = 0; k < n; k++) {
      int held = relaxed->multiplier[k] <= 0 && relaxed->slope[k] < 0;
      norm += held ? 0 : relaxed->slope[k] * relaxed->slope[k];
    }
    if (!(norm > 0)) break;
    double length = (best / relaxed->scale + above - value / relaxed->scale) / norm;
    for (int32_t k = 0; k < n; k++) relaxed->multiplier[k] += length * relaxed->slope[k];
    project(relaxed);
  }
  return best;
}

/* The multipliers of devices at first: they share what the makespan costs. */
static void set_first_multipliers(plim_space_relaxed *relaxed) {
  for (int32_t d = 0; d < relaxed->devices && relaxed->time_cost > 0; d++) {
    relaxed->multiplier[relaxed->cuts.n_rows + d] =
        relaxed->time_cost * relaxed->scale_ns / relaxed->scale / relaxed->devices;
  }
}

static plim_status find_bound(plim_space_relaxed *relaxed, double *out) {
  const plim_space_problem *problem = relaxed->problem;
  const plim_space_search_options *options = relaxed->options;
  double *best_at = NULL;
  PLIM_TRY(plim_allocate(problem->ctx, relaxed->n, sizeof *best_at, &best_at));
  set_first_multipliers(relaxed);
  double value = ascend(relaxed, best_at) * (1 - 1e-9);
  plim_release(problem->ctx, best_at, relaxed->n, sizeof *best_at);
  PLIM_TRY(plim_space_bound_placement(problem, options, &value));
  if (options->objective != PLIM_OBJECTIVE_ENERGY)
    value = ceil(value - spaces_tuning.bound.rounding * fmax(1, value * spaces_tuning.bound.rounding));
  *out = fmax(*out, value);
  return PLIM_OK;
}

plim_status plim_space_bound(const plim_space_problem *problem, const plim_space_search_options *options, double *out) {
  plim_space_relaxed relaxed;
  double bound = 0;
  int32_t in_time = 0;
  plim_status status = PLIM_OK;
  if (problem->n <= spaces_tuning.bound.nodes) {
    status = plim_space_relaxed_make(problem, options, &relaxed, &in_time);
    if (status == PLIM_OK && in_time) status = find_bound(&relaxed, &bound);
    plim_space_relaxed_free(&relaxed);
  }
  if (status == PLIM_OK) *out = bound;
  return status;
}
