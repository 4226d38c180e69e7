/* One walk of greedy covering (greedy_covering.h has the terms gain, cost, rate).
 *
 * The walk goes through the runs in order. It knows where each item was accessed last. So at each read it knows the
 * whole range of positions in which a repeat before the read would free the item's bytes. The memory profile follows
 * each change, at positions of the begin of the walk. The bytes that a repeat itself takes are seen by the next walk
 * only. The cost of an input is the least of keeping and recomputing it. What keeping costs is the most that a chain of
 * repeats for it may cost, so chains end where they stop to pay.
 * Invariant: the schedule is valid after each decision. */
#include "planner/search/greedy_covering.h"

#include <math.h>

#include "planner/search/search_tuning.h"
#include "runtime/base/effort.h"

plim_status plim_greedy_covering_new(plim_track *t, int64_t limit, plim_greedy_covering **out) {
  const plim_problem *p = t->problem;
  plim_greedy_covering *c = NULL;
  int64_t bytes = 0;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *c, &c));
  *c = (plim_greedy_covering){.track = t, .limit = limit};
  PLIM_CHECK(plim_allocate(p->ctx, t->room, sizeof *c->at, &c->at));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *c->last, &c->last));
  PLIM_CHECK(plim_blocked_profile_begin(p->ctx, t->room, &c->memory_profile));
  PLIM_CHECK(plim_allocate(p->ctx, t->room + 1, sizeof *c->n_above, &c->n_above));
  PLIM_CHECK(plim_allocate(p->ctx, t->room + 1, sizeof *c->n_near, &c->n_near));
  for (int32_t i = 0; i < p->n_items; i++) bytes += p->item[i].bytes;
  c->mean_bytes = p->n_items > 0 ? bytes / p->n_items : 0;
  *out = c;
done:
  if (status != PLIM_OK) plim_greedy_covering_free(c);
  return status;
}

void plim_greedy_covering_free(plim_greedy_covering *c) {
  if (!c) return;
  const plim_problem *p = c->track->problem;
  plim_release(p->ctx, c->at, c->track->room, sizeof *c->at);
  plim_release(p->ctx, c->last, p->n_items, sizeof *c->last);
  if (c->memory_profile.level) plim_blocked_profile_end(&c->memory_profile);
  plim_release(p->ctx, c->n_above, c->track->room + 1, sizeof *c->n_above);
  plim_release(p->ctx, c->n_near, c->track->room + 1, sizeof *c->n_near);
  plim_release(p->ctx, c, 1, sizeof *c);
}

/* ---- live bytes ---- */

static void count_excess(plim_greedy_covering *c) {
  plim_track *t = c->track;
  int64_t alive = t->base_bytes;
  int32_t k = 0;
  c->excess = 0;
  c->changes = 0;
  for (int32_t r = t->head; r >= 0; r = t->run[r].next, k++) {
    const plim_memory_slot *slot = &t->memory_profile->slot[t->run[r].slot];
    int64_t over = alive + slot->up - c->limit;
    c->at[r] = k;
    c->memory_profile.level[k] = alive + slot->up;
    alive += slot->up - slot->down;
    c->n_above[k + 1] = c->n_above[k] + (over > 0);
    c->n_near[k + 1] = c->n_near[k] + (over > -c->mean_bytes);
    if (over > 0) c->excess += (double)over;
  }
  plim_blocked_profile_set(&c->memory_profile, k);
  for (int32_t i = 0; i < t->problem->n_items; i++) c->last[i] = -1;
}

/* By how much the area above the limit falls where `bytes` are not alive between two positions, and by how much it
 * rises where they are. */
static double gain_between(const plim_greedy_covering *c, int64_t bytes, int32_t from, int32_t to) {
  return (double)plim_blocked_profile_excess(&c->memory_profile, c->limit, bytes, from, to);
}

static double loss_between(const plim_greedy_covering *c, int64_t bytes, int32_t from, int32_t to) {
  return (double)plim_blocked_profile_excess(&c->memory_profile, c->limit - bytes, bytes, from, to);
}

static void add_between(plim_greedy_covering *c, int64_t bytes, int32_t from, int32_t to) {
  plim_blocked_profile_add(&c->memory_profile, bytes, from, to);
}

/* ---- what a repeat before run r costs ---- */

static double repeat_cost(plim_greedy_covering *c, int32_t op, int32_t r, double max_cost, int32_t depth);

static int in_chain(const plim_greedy_covering *c, int32_t op) {
  for (int32_t i = 0; i < c->n_chain; i++) {
    if (c->chain[i] == op) return 1;
  }
  return 0;
}

/* The last reader of the newest lifetime before run r, where that reader comes before r; else -1: it is alive at r.
 */
static int32_t early_end(const plim_greedy_covering *c, int32_t item, int32_t r) {
  const plim_track *t = c->track;
  int32_t producer = t->problem->item[item].producer, slot = t->run[r].slot;
  if (producer < 0) return -1;
  int32_t made = plim_track_before(t, producer, slot), end = plim_track_end(t, item, made);
  return end >= 0 && t->run[end].slot < slot ? end : -1;
}

/* The cost, in ns, of having the item at run r: of keeping it until then, or of recomputing it. What is recomputed
 * joins the chain. `max_cost`: a chain that costs more is not wanted. */
static double input_cost(plim_greedy_covering *c, int32_t item, int32_t r, double max_cost, int32_t depth) {
  const plim_item *it = &c->track->problem->item[item];
  if (it->producer < 0 || in_chain(c, it->producer)) return 0;
  int32_t end = early_end(c, item, r);
  if (end < 0) return 0;
  int32_t from = c->at[end], to = c->at[r];
  if (from >= to || c->n_near[to] == c->n_near[from + 1]) return 0;
  double keep = loss_between(c, it->bytes, from, to) / c->rate;
  if (depth < search_tuning.walk.chain_depth && plim_track_may_repeat(c->track, it->producer, r)) {
    int32_t n = c->n_chain;
    double bound = keep < max_cost ? keep : max_cost, again = repeat_cost(c, it->producer, r, bound, depth + 1);
    if (again < bound) return again;
    c->n_chain = n;
  }
  return keep;
}

/* The cost, in ns, of a repeat of the op before run r: its time and the cost of its inputs. INFINITY where it is
 * `max_cost` or more, or the chain is full. The depth of the recursion is at most chain_depth. */
static double repeat_cost(plim_greedy_covering *c, int32_t op, int32_t r, double max_cost, int32_t depth) {
  const plim_track *t = c->track;
  const plim_planned_op *v = &t->problem->op[op];
  double cost = (double)v->choice[t->run[t->first[op]].choice].time_ns;
  for (int32_t i = 0; i < v->reads.n && cost < max_cost; i++) {
    cost += input_cost(c, v->reads.at[i], r, max_cost - cost, depth);
  }
  if (cost >= max_cost || c->n_chain == PLIM_GREEDY_COVERING_CHAIN) return INFINITY;
  c->chain[c->n_chain++] = op;
  return cost;
}

/* ---- changes ---- */

/* The rate for one decision: that of the walk, with noise. */
static double rate_now(plim_greedy_covering *c) {
  return c->rate * (1 + c->noise * (2 * plim_random_unit(&c->random) - 1));
}

/* Add a repeat of the op before run r, and keep its inputs until there. */
static void run_again(plim_greedy_covering *c, int32_t op, int32_t r) {
  plim_track *t = c->track;
  const plim_planned_op *v = &t->problem->op[op];
  int32_t to = c->at[r];
  for (int32_t i = 0; i < v->reads.n; i++) {
    int32_t item = v->reads.at[i], end = early_end(c, item, r);
    if (end >= 0) add_between(c, t->problem->item[item].bytes, c->at[end], to);
    c->last[item] = to;
  }
  int32_t run = plim_track_insert(t, op, t->run[t->first[op]].choice, r);
  plim_track_keep(t);
  c->at[run] = to;
  c->changes++;
}

/* The gain of a repeat of the op before run r: its outputs, which run `made` wrote and which are still alive at r, free
 * their bytes from their last access on. */
static double gain_of(const plim_greedy_covering *c, int32_t op, int32_t made, int32_t r) {
  const plim_track *t = c->track;
  const plim_ids *writes = &t->problem->op[op].writes;
  double gain = 0;
  for (int32_t i = 0; i < writes->n; i++) {
    int32_t item = writes->at[i], end = plim_track_end(t, item, made);
    if (end >= 0 && t->run[end].slot < t->run[r].slot) continue;
    gain += gain_between(c, t->problem->item[item].bytes, c->last[item], c->at[r]);
  }
  return gain;
}

/* The area that the chain adds while it runs before r. All that it writes is alive beside the rest, but for the outputs
 * of its last op, which are alive at r anyway. */
static double loss_of_chain(const plim_greedy_covering *c, int32_t r) {
  const plim_problem *p = c->track->problem;
  int64_t alive = 0, sum = 0, level = plim_blocked_profile_at(&c->memory_profile, c->at[r]);
  for (int32_t i = 0; i + 1 < c->n_chain; i++) {
    alive += plim_problem_bytes_written(p, c->chain[i]);
    int64_t over = level + alive - c->limit;
    sum += over <= 0 ? 0 : over < alive ? over : alive;
  }
  return (double)sum;
}

/* Add a repeat of the op before run r, and a chain of repeats of its inputs, where that gains more than it costs. */
static void add_repeats(plim_greedy_covering *c, int32_t op, int32_t made, int32_t r) {
  plim_track *t = c->track;
  const plim_ids *writes = &t->problem->op[op].writes;
  double worth = gain_of(c, op, made, r) / rate_now(c);
  int32_t to = c->at[r];
  c->n_chain = 0;
  if (t->n_free <= 2 * PLIM_GREEDY_COVERING_CHAIN) return;
  double cost = repeat_cost(c, op, r, worth, 0);
  if (cost >= worth || cost + loss_of_chain(c, r) / c->rate >= worth) return;
  for (int32_t i = 0; i < writes->n; i++) {
    int32_t item = writes->at[i], end = plim_track_end(t, item, made);
    int alive_at_r = end < 0 || t->run[end].slot >= t->run[r].slot;
    if (alive_at_r) add_between(c, -t->problem->item[item].bytes, c->last[item], to);
  }
  for (int32_t i = 0; i < c->n_chain; i++) {
    const plim_ids *recomputed = &t->problem->op[c->chain[i]].writes;
    run_again(c, c->chain[i], r);
    for (int32_t k = 0; k < recomputed->n; k++) c->last[recomputed->at[k]] = to;
  }
}

/* By how much the area rises without repeat r: older lifetimes of its outputs are kept longer, its inputs end earlier.
 */
static double loss_without(const plim_greedy_covering *c, int32_t r) {
  const plim_track *t = c->track;
  const plim_planned_op *v = &t->problem->op[t->run[r].op];
  double loss = 0;
  for (int32_t i = 0; i < v->writes.n; i++) {
    int32_t item = v->writes.at[i];
    if (plim_track_end(t, item, r) == r) continue;
    loss += loss_between(c, t->problem->item[item].bytes, c->last[item], c->at[r]);
  }
  for (int32_t i = 0; i < v->reads.n && loss > 0; i++) {
    int32_t item = v->reads.at[i], producer = t->problem->item[item].producer;
    if (producer < 0 || plim_track_end(t, item, plim_track_before(t, producer, t->run[r].slot)) != r) continue;
    loss -= gain_between(c, t->problem->item[item].bytes, c->last[item], c->at[r]);
  }
  return loss;
}

/* Remove repeat r where it gains less than its share of the rate. Returns 1 where it was removed. */
static int remove_repeat(plim_greedy_covering *c, int32_t r) {
  plim_track *t = c->track;
  const plim_planned_op *v = &t->problem->op[t->run[r].op];
  double worth = (double)v->choice[t->run[r].choice].time_ns * c->keep_share * rate_now(c);
  if (loss_without(c, r) >= worth) return 0;
  for (int32_t i = 0; i < v->writes.n; i++) {
    int32_t item = v->writes.at[i];
    if (plim_track_end(t, item, r) != r) add_between(c, t->problem->item[item].bytes, c->last[item], c->at[r]);
  }
  for (int32_t i = 0; i < v->reads.n; i++) {
    int32_t item = v->reads.at[i], producer = t->problem->item[item].producer;
    if (producer < 0 || plim_track_end(t, item, plim_track_before(t, producer, t->run[r].slot)) != r) continue;
    add_between(c, -t->problem->item[item].bytes, c->last[item], c->at[r]);
  }
  plim_track_remove(t, r);
  plim_track_keep(t);
  c->changes++;
  return 1;
}

/* ---- the walk ---- */

/* Decide on a repeat of the item's producer before run r. An upper bound on its gain, from counts of positions, refuses
 * most of them at once. */
static void consider(plim_greedy_covering *c, int32_t item, int32_t r) {
  const plim_track *t = c->track;
  const plim_item *it = &t->problem->item[item];
  int32_t from = c->last[item], to = c->at[r];
  if (it->producer < 0 || to - from <= 1) return;
  double max_gain = (double)(c->n_above[to] - c->n_above[from + 1]) * (double)it->bytes * (1 + c->noise);
  int one_output = t->problem->op[it->producer].writes.n == 1;
  if (one_output && max_gain <= (double)t->problem->op[it->producer].choice[0].time_ns * c->rate) return;
  if (!plim_track_may_repeat(t, it->producer, r)) return;
  add_repeats(c, it->producer, plim_track_before(t, it->producer, t->run[r].slot), r);
}

void plim_greedy_covering_walk(plim_greedy_covering *c) {
  plim_track *t = c->track;
  plim_track_keep(t);
  count_excess(c);
  for (int32_t r = t->head, next; r >= 0; r = next) {
    const plim_planned_op *v = &t->problem->op[t->run[r].op];
    next = t->run[r].next;
    if (plim_effort_over(t->problem->ctx, search_tuning.walk.work_a_read * (int64_t)v->reads.n)) break;
    if (c->keep_share > 0 && t->run[r].op_prev >= 0 && remove_repeat(c, r)) continue;
    for (int32_t i = 0; i < v->reads.n; i++) consider(c, v->reads.at[i], r);
    for (int32_t i = 0; i < v->reads.n; i++) c->last[v->reads.at[i]] = c->at[r];
    for (int32_t i = 0; i < v->writes.n; i++) c->last[v->writes.at[i]] = c->at[r];
  }
  plim_track_settle(t);
}
