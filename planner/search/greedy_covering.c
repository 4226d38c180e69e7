/* One walk of greedy covering (search_internal.h has the terms gain, cost, rate).
 *
 * The walk goes through the runs in order. It knows where each item was accessed last. So at each read it knows the
 * whole range of positions in which a repeat before the read would free the item's bytes. The memory profile follows
 * each change, at positions of the begin of the walk. The bytes that a repeat itself takes are seen by the next walk
 * only. The cost of an input is the least of keeping and recomputing it. What keeping costs is the most that a chain of
 * repeats for it may cost, so chains end where they stop to pay.
 * Invariant: the schedule is valid after each decision. */
#include "planner/search/search_internal.h"

#include <math.h>

#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"

plim_status plim_greedy_covering_new(plim_track *track, int64_t limit, plim_greedy_covering **out) {
  const plim_problem *p = track->problem;
  plim_greedy_covering *covering = NULL;
  int64_t bytes = 0;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *covering, &covering));
  *covering = (plim_greedy_covering){.track = track, .limit = limit};
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, track->capacity, sizeof *covering->at, &covering->at));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *covering->last, &covering->last));
  PLIM_TRY_OR_DONE(plim_blocked_profile_begin(p->ctx, track->capacity, &covering->memory_profile));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, track->capacity + 1, sizeof *covering->n_above, &covering->n_above));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, track->capacity + 1, sizeof *covering->n_near, &covering->n_near));
  for (int32_t i = 0; i < p->n_items; i++) bytes += p->item[i].bytes;
  covering->mean_bytes = p->n_items > 0 ? bytes / p->n_items : 0;
  *out = covering;
done:
  if (status != PLIM_OK) plim_greedy_covering_free(covering);
  return status;
}

void plim_greedy_covering_free(plim_greedy_covering *covering) {
  if (!covering) return;
  const plim_problem *p = covering->track->problem;
  plim_release(p->ctx, covering->at, covering->track->capacity, sizeof *covering->at);
  plim_release(p->ctx, covering->last, p->n_items, sizeof *covering->last);
  if (covering->memory_profile.level) plim_blocked_profile_end(&covering->memory_profile);
  plim_release(p->ctx, covering->n_above, covering->track->capacity + 1, sizeof *covering->n_above);
  plim_release(p->ctx, covering->n_near, covering->track->capacity + 1, sizeof *covering->n_near);
  plim_release(p->ctx, covering, 1, sizeof *covering);
}

/* ---- live bytes ---- */

static void count_excess(plim_greedy_covering *covering) {
  plim_track *track = covering->track;
  int64_t alive = track->base_bytes;
  int32_t k = 0;
  covering->excess = 0;
  covering->changes = 0;
  for (int32_t r = track->head; r >= 0; r = track->run[r].next, k++) {
    const plim_memory_slot *slot = &track->memory_profile->slot[track->run[r].slot];
    int64_t over = alive + slot->up - covering->limit;
    covering->at[r] = k;
    covering->memory_profile.level[k] = alive + slot->up;
    alive += slot->up - slot->down;
    covering->n_above[k + 1] = covering->n_above[k] + (over > 0);
    covering->n_near[k + 1] = covering->n_near[k] + (over > -covering->mean_bytes);
    if (over > 0) covering->excess += (double)over;
  }
  plim_blocked_profile_set(&covering->memory_profile, k);
  for (int32_t i = 0; i < track->problem->n_items; i++) covering->last[i] = -1;
}

/* By how much the area above the limit falls where `bytes` are not alive between two positions, and by how much it
 * rises where they are. */
static double gain_between(const plim_greedy_covering *covering, int64_t bytes, int32_t from, int32_t to) {
  return (double)plim_blocked_profile_excess(&covering->memory_profile, covering->limit, bytes, from, to);
}

static double loss_between(const plim_greedy_covering *covering, int64_t bytes, int32_t from, int32_t to) {
  return (double)plim_blocked_profile_excess(&covering->memory_profile, covering->limit - bytes, bytes, from, to);
}

static void add_between(plim_greedy_covering *covering, int64_t bytes, int32_t from, int32_t to) {
  plim_blocked_profile_add(&covering->memory_profile, bytes, from, to);
}

/* ---- what a repeat before run r costs ---- */

static double repeat_cost(plim_greedy_covering *covering, int32_t op, int32_t r, double max_cost, int32_t depth);

static int in_chain(const plim_greedy_covering *covering, int32_t op) {
  for (int32_t i = 0; i < covering->n_chain; i++) {
    if (covering->chain[i] == op) return 1;
  }
  return 0;
}

/* The last reader of the newest lifetime before run r, where that reader comes before r; else -1: it is alive at r.
 */
static int32_t early_end(const plim_greedy_covering *covering, int32_t item, int32_t r) {
  const plim_track *track = covering->track;
  int32_t producer = track->problem->item[item].producer, slot = track->run[r].slot;
  if (producer < 0) return -1;
  int32_t made = plim_track_before(track, producer, slot), end = plim_track_end(track, item, made);
  return end >= 0 && track->run[end].slot < slot ? end : -1;
}

/* The cost, in ns, of having the item at run r: of keeping it until then, or of recomputing it. What is recomputed
 * joins the chain. `max_cost`: a chain that costs more is not wanted. */
static double input_cost(plim_greedy_covering *covering, int32_t item, int32_t r, double max_cost, int32_t depth) {
  const plim_item *it = &covering->track->problem->item[item];
  if (it->producer < 0 || in_chain(covering, it->producer)) return 0;
  int32_t end = early_end(covering, item, r);
  if (end < 0) return 0;
  int32_t from = covering->at[end], to = covering->at[r];
  if (from >= to || covering->n_near[to] == covering->n_near[from + 1]) return 0;
  double keep = loss_between(covering, it->bytes, from, to) / covering->rate;
  if (depth < search_tuning.walk.chain_depth && plim_track_may_repeat(covering->track, it->producer, r)) {
    int32_t n = covering->n_chain;
    double bound = keep < max_cost ? keep : max_cost, again = repeat_cost(covering, it->producer, r, bound, depth + 1);
    if (again < bound) return again;
    covering->n_chain = n;
  }
  return keep;
}

/* The cost, in ns, of a repeat of the op before run r: its time and the cost of its inputs. INFINITY where it is
 * `max_cost` or more, or the chain is full. The depth of the recursion is at most chain_depth. */
static double repeat_cost(plim_greedy_covering *covering, int32_t op, int32_t r, double max_cost, int32_t depth) {
  const plim_track *track = covering->track;
  const plim_planned_op *planned = &track->problem->op[op];
  double cost = (double)planned->choice[track->run[track->first[op]].choice].time_ns;
  for (int32_t i = 0; i < planned->reads.n && cost < max_cost; i++) {
    cost += input_cost(covering, planned->reads.at[i], r, max_cost - cost, depth);
  }
  if (cost >= max_cost || covering->n_chain == PLIM_GREEDY_COVERING_CHAIN) return INFINITY;
  covering->chain[covering->n_chain++] = op;
  return cost;
}

/* ---- changes ---- */

/* The rate for one decision: that of the walk, with noise. */
static double rate_now(plim_greedy_covering *covering) {
  return covering->rate * (1 + covering->noise * (2 * plim_random_unit(&covering->random) - 1));
}

/* Add a repeat of the op before run r, and keep its inputs until there. */
static void run_again(plim_greedy_covering *covering, int32_t op, int32_t r) {
  plim_track *track = covering->track;
  const plim_planned_op *planned = &track->problem->op[op];
  int32_t to = covering->at[r];
  for (int32_t i = 0; i < planned->reads.n; i++) {
    int32_t item = planned->reads.at[i], end = early_end(covering, item, r);
    if (end >= 0) add_between(covering, track->problem->item[item].bytes, covering->at[end], to);
    covering->last[item] = to;
  }
  int32_t run = plim_track_insert(track, op, track->run[track->first[op]].choice, r);
  plim_track_keep(track);
  covering->at[run] = to;
  covering->changes++;
}

/* The gain of a repeat of the op before run r: its outputs, which run `made` wrote and which are still alive at r, free
 * their bytes from their last access on. */
static double gain_of(const plim_greedy_covering *covering, int32_t op, int32_t made, int32_t r) {
  const plim_track *track = covering->track;
  const plim_ids *writes = &track->problem->op[op].writes;
  double gain = 0;
  for (int32_t i = 0; i < writes->n; i++) {
    int32_t item = writes->at[i], end = plim_track_end(track, item, made);
    if (end >= 0 && track->run[end].slot < track->run[r].slot) continue;
    gain += gain_between(covering, track->problem->item[item].bytes, covering->last[item], covering->at[r]);
  }
  return gain;
}

/* The area that the chain adds while it runs before r. All that it writes is alive beside the rest, but for the outputs
 * of its last op, which are alive at r anyway. */
static double loss_of_chain(const plim_greedy_covering *covering, int32_t r) {
  const plim_problem *p = covering->track->problem;
  int64_t alive = 0, sum = 0, level = plim_blocked_profile_at(&covering->memory_profile, covering->at[r]);
  for (int32_t i = 0; i + 1 < covering->n_chain; i++) {
    alive += plim_problem_bytes_written(p, covering->chain[i]);
    int64_t over = level + alive - covering->limit;
    sum += over <= 0 ? 0 : over < alive ? over : alive;
  }
  return (double)sum;
}

/* Add a repeat of the op before run r, and a chain of repeats of its inputs, where that gains more than it costs. */
static void add_repeats(plim_greedy_covering *covering, int32_t op, int32_t made, int32_t r) {
  plim_track *track = covering->track;
  const plim_ids *writes = &track->problem->op[op].writes;
  double worth = gain_of(covering, op, made, r) / rate_now(covering);
  int32_t to = covering->at[r];
  covering->n_chain = 0;
  if (track->n_free <= 2 * PLIM_GREEDY_COVERING_CHAIN) return;
  double cost = repeat_cost(covering, op, r, worth, 0);
  if (cost >= worth || cost + loss_of_chain(covering, r) / covering->rate >= worth) return;
  for (int32_t i = 0; i < writes->n; i++) {
    int32_t item = writes->at[i], end = plim_track_end(track, item, made);
    int alive_at_r = end < 0 || track->run[end].slot >= track->run[r].slot;
    if (alive_at_r) add_between(covering, -track->problem->item[item].bytes, covering->last[item], to);
  }
  for (int32_t i = 0; i < covering->n_chain; i++) {
    const plim_ids *recomputed = &track->problem->op[covering->chain[i]].writes;
    run_again(covering, covering->chain[i], r);
    for (int32_t k = 0; k < recomputed->n; k++) covering->last[recomputed->at[k]] = to;
  }
}

/* By how much the area rises without repeat r: older lifetimes of its outputs are kept longer, its inputs end earlier.
 */
static double loss_without(const plim_greedy_covering *covering, int32_t r) {
  const plim_track *track = covering->track;
  const plim_planned_op *planned = &track->problem->op[track->run[r].op];
  double loss = 0;
  for (int32_t i = 0; i < planned->writes.n; i++) {
    int32_t item = planned->writes.at[i];
    if (plim_track_end(track, item, r) == r) continue;
    loss += loss_between(covering, track->problem->item[item].bytes, covering->last[item], covering->at[r]);
  }
  for (int32_t i = 0; i < planned->reads.n && loss > 0; i++) {
    int32_t item = planned->reads.at[i], producer = track->problem->item[item].producer;
    if (producer < 0 || plim_track_end(track, item, plim_track_before(track, producer, track->run[r].slot)) != r) {
      continue;
    }
    loss -= gain_between(covering, track->problem->item[item].bytes, covering->last[item], covering->at[r]);
  }
  return loss;
}

/* Remove repeat r where it gains less than its share of the rate. Returns 1 where it was removed. */
static int remove_repeat(plim_greedy_covering *covering, int32_t r) {
  plim_track *track = covering->track;
  const plim_planned_op *planned = &track->problem->op[track->run[r].op];
  double worth = (double)planned->choice[track->run[r].choice].time_ns * covering->keep_share * rate_now(covering);
  if (loss_without(covering, r) >= worth) return 0;
  for (int32_t i = 0; i < planned->writes.n; i++) {
    int32_t item = planned->writes.at[i];
    if (plim_track_end(track, item, r) != r) {
      add_between(covering, track->problem->item[item].bytes, covering->last[item], covering->at[r]);
    }
  }
  for (int32_t i = 0; i < planned->reads.n; i++) {
    int32_t item = planned->reads.at[i], producer = track->problem->item[item].producer;
    if (producer < 0 || plim_track_end(track, item, plim_track_before(track, producer, track->run[r].slot)) != r) {
      continue;
    }
    add_between(covering, -track->problem->item[item].bytes, covering->last[item], covering->at[r]);
  }
  plim_track_remove(track, r);
  plim_track_keep(track);
  covering->changes++;
  return 1;
}

/* ---- the walk ---- */

/* Decide on a repeat of the item's producer before run r. An upper bound on its gain, from counts of positions, refuses
 * most of them at once. */
static void consider_read(plim_greedy_covering *covering, int32_t item, int32_t r) {
  const plim_track *track = covering->track;
  const plim_item *it = &track->problem->item[item];
  int32_t from = covering->last[item], to = covering->at[r];
  if (it->producer < 0 || to - from <= 1) return;
  double max_gain =
      (double)(covering->n_above[to] - covering->n_above[from + 1]) * (double)it->bytes * (1 + covering->noise);
  int one_output = track->problem->op[it->producer].writes.n == 1;
  if (one_output && max_gain <= (double)track->problem->op[it->producer].choice[0].time_ns * covering->rate) return;
  if (!plim_track_may_repeat(track, it->producer, r)) return;
  add_repeats(covering, it->producer, plim_track_before(track, it->producer, track->run[r].slot), r);
}

void plim_greedy_covering_walk(plim_greedy_covering *covering) {
  plim_track *track = covering->track;
  plim_track_keep(track);
  count_excess(covering);
  for (int32_t r = track->head, next; r >= 0; r = next) {
    const plim_planned_op *planned = &track->problem->op[track->run[r].op];
    next = track->run[r].next;
    if (plim_effort_over(track->problem->ctx, search_tuning.walk.work_a_read * (int64_t)planned->reads.n)) break;
    if (covering->keep_share > 0 && track->run[r].op_prev >= 0 && remove_repeat(covering, r)) continue;
    for (int32_t i = 0; i < planned->reads.n; i++) consider_read(covering, planned->reads.at[i], r);
    for (int32_t i = 0; i < planned->reads.n; i++) covering->last[planned->reads.at[i]] = covering->at[r];
    for (int32_t i = 0; i < planned->writes.n; i++) covering->last[planned->writes.at[i]] = covering->at[r];
  }
  plim_track_settle(track);
}
