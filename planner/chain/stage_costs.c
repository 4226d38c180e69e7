/* The costs of stages, for Rotor's recurrence. The forward ops of a stage, and its part of the tail, are run on demand
 * with everything else available. A walk backwards over that schedule gives live bytes at each run. */
#include "planner/chain/rotor.h"

#include <stdlib.h>
#include <string.h>

#include "planner/chain/checkpoints.h"
#include "runtime/base/integers.h"

/* Options of a stage beside the first: each holds one part in so many less. Set by trial; changes plans of rotor, and
 * first plans of search. */
enum { QUARTERS = 4 };

typedef struct meter {
  plim_stage_costs *costs;
  const plim_stages *stages;
  const plim_problem *problem;
  plim_demand demand;
  plim_schedule schedule;
  uint8_t *alive; /* [n_items] */
  int32_t stage;
} meter;

/* Does the item count in this stage's figures? What it makes, and what the tail or later stages hand to its tail. */
static int counts(const meter *m, int32_t item) {
  int32_t made = m->stages->made[item];
  if (made < 0) return m->problem->item[item].producer >= 0;
  return made == m->stage || (made > m->stage && m->stages->read[item] == made);
}

/* Is the item handed on after the tail's part of stage i? */
static int is_handed_on(const meter *m, int32_t item, int32_t i) {
  const plim_item *it = &m->problem->item[item];
  if (m->stages->made[item] >= 0) return plim_stages_is_handed_on(m->stages, item, i);
  if (it->producer < 0 || it->producer >= m->stages->tail[i]) return 0;
  return it->is_output || (it->readers.n > 0 && it->readers.at[it->readers.n - 1] >= m->stages->tail[i]);
}

static int64_t set_alive(meter *m, int32_t item, int alive) {
  if (m->alive[item] == alive || !counts(m, item)) return 0;
  m->alive[item] = (uint8_t)alive;
  return alive ? m->problem->item[item].bytes : -m->problem->item[item].bytes;
}

/* Most bytes over runs [from, to) of the schedule, when `bytes` are alive after it. */
static int64_t peak_backward(meter *m, int32_t from, int32_t to, int64_t bytes) {
  int64_t peak = bytes;
  for (int32_t j = to - 1; j >= from; j--) {
    const plim_planned_op *op = &m->problem->op[m->schedule.op[j]];
    for (int32_t k = 0; k < op->writes.n; k++) bytes += set_alive(m, op->writes.at[k], 1);
    for (int32_t k = 0; k < op->reads.n; k++) bytes += set_alive(m, op->reads.at[k], 1);
    if (bytes + op->choice[0].workspace_bytes > peak) peak = bytes + op->choice[0].workspace_bytes;
    for (int32_t k = 0; k < op->writes.n; k++) bytes += set_alive(m, op->writes.at[k], 0);
  }
  return peak;
}

static int64_t time_of(const meter *m, int32_t from) {
  int64_t time_ns = 0;
  for (int32_t j = from; j < m->schedule.n; j++) time_ns += m->problem->op[m->schedule.op[j]].choice[0].time_ns;
  return time_ns;
}

static void begin_stage(meter *m) {
  plim_demand_begin(&m->demand, &m->schedule, INT32_MAX);
  for (int32_t item = 0; item < m->problem->n_items; item++) {
    m->demand.available[item] = m->stages->made[item] != m->stage;
  }
}

static plim_status run_forward(meter *m) {
  for (int32_t k = m->stages->first[m->stage]; k < m->stages->first[m->stage + 1]; k++) {
    PLIM_TRY(plim_demand_run(&m->demand, m->stages->forward.op[k]));
  }
  return PLIM_OK;
}

static plim_status run_tail(meter *m) {
  for (int32_t v = m->stages->tail[m->stage + 1]; v < m->stages->tail[m->stage]; v++) {
    PLIM_TRY(plim_demand_run(&m->demand, v));
  }
  return PLIM_OK;
}

static int64_t tail_peak(meter *m, int32_t from) {
  int64_t bytes = 0;
  memset(m->alive, 0, (size_t)m->problem->n_items);
  for (int32_t item = 0; item < m->problem->n_items; item++) {
    if (is_handed_on(m, item, m->stage)) bytes += set_alive(m, item, 1);
  }
  return peak_backward(m, from, m->schedule.n, bytes);
}

static int is_held(const meter *m, int32_t item, int32_t option) {
  return m->stages->read[item] > m->stage || m->costs->drop_at[item] > option;
}

/* Forward with the items of an option held after it; *held receives their bytes. */
static int64_t forward_peak(meter *m, int32_t option, int64_t *held) {
  *held = 0;
  memset(m->alive, 0, (size_t)m->problem->n_items);
  for (int32_t k = m->stages->first[m->stage]; k < m->stages->first[m->stage + 1]; k++) {
    const plim_ids *writes = &m->problem->op[m->stages->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) {
      int32_t item = writes->at[j];
      m->demand.available[item] = (uint8_t)is_held(m, item, option);
      if (is_held(m, item, option)) *held += set_alive(m, item, 1);
    }
  }
  return peak_backward(m, 0, m->schedule.n, *held);
}

static plim_status measure_option(meter *m, int32_t option, plim_rotor_option *out) {
  begin_stage(m);
  PLIM_TRY(run_forward(m));
  int32_t from = m->schedule.n;
  out->forward_bytes = forward_peak(m, option, &out->held_bytes);
  PLIM_TRY(run_tail(m));
  out->back_bytes = tail_peak(m, from);
  out->time_ns = time_of(m, 0);
  return PLIM_OK;
}

static plim_status measure(meter *m) {
  plim_rotor_stage *stage = &m->costs->stage[m->stage];
  int64_t held;
  for (int32_t item = 0; item < m->problem->n_items; item++) {
    if (is_handed_on(m, item, m->stage + 1)) stage->handed_bytes += m->problem->item[item].bytes;
  }
  begin_stage(m);
  PLIM_TRY(run_forward(m));
  stage->forward_ns = time_of(m, 0);
  stage->forward_bytes = forward_peak(m, PLIM_ROTOR_OPTIONS, &held);
  for (int32_t o = 0; o < stage->n_options; o++) PLIM_TRY(measure_option(m, o, &stage->option[o]));
  begin_stage(m);
  if (m->stage == m->stages->n - 1) PLIM_TRY(run_forward(m)); /* it has not run before */
  PLIM_TRY(run_tail(m));
  stage->back_ns = time_of(m, 0);
  stage->back_bytes = tail_peak(m, 0);
  return PLIM_OK;
}

/* ---- options ---- */

typedef struct candidate {
  int32_t item;
  int64_t bytes;
  double worth; /* time to recompute it, for its bytes */
} candidate;

static int by_worth(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->worth < y->worth || x->worth > y->worth) return x->worth < y->worth ? -1 : 1;
  return plim_integers_compare(x->item, y->item);
}

static int is_read_by_tail(const plim_stages *stages, int32_t item) {
  const plim_ids *readers = &stages->problem->item[item].readers;
  return readers->n > 0 && !stages->forward.is_forward[readers->at[readers->n - 1]];
}

/* What the tail reads of stage i besides states, as candidates; returns how many. */
static int32_t list_candidates(const plim_stages *stages, int32_t i, candidate *out) {
  const plim_problem *p = stages->problem;
  int32_t n = 0;
  for (int32_t k = stages->first[i]; k < stages->first[i + 1]; k++) {
    const plim_planned_op *op = &p->op[stages->forward.op[k]];
    for (int32_t j = 0; j < op->writes.n; j++) {
      int32_t item = op->writes.at[j];
      if (stages->read[item] > i || !is_read_by_tail(stages, item)) continue;
      double bytes = (double)p->item[item].bytes + 1;
      out[n++] = (candidate){item, p->item[item].bytes, (double)op->choice[0].time_ns / bytes};
    }
  }
  return n;
}

/* Order what the tail reads of the stage by time for its bytes, and divide it into options. */
static void set_options(plim_stage_costs *costs, int32_t i, candidate *list) {
  int32_t n = list_candidates(costs->stages, i, list), option = 1;
  int64_t all = 0, dropped = 0;
  for (int32_t k = 0; k < n; k++) all += list[k].bytes;
  qsort(list, (size_t)n, sizeof *list, by_worth);
  costs->stage[i].n_options = 1;
  for (int32_t k = 0; k < n; k++) {
    costs->drop_at[list[k].item] = option;
    costs->stage[i].n_options = option + 1;
    dropped += list[k].bytes;
    if (dropped >= all / QUARTERS * option) option++;
    if (option > QUARTERS) option = QUARTERS;
  }
}

/* Bytes of state k that are not in state i: items made in stage i or later, before k, and read in k or later. */
static void sum_states(plim_stage_costs *costs) {
  const plim_stages *stages = costs->stages;
  for (int32_t item = 0; item < stages->problem->n_items; item++) {
    for (int32_t k = stages->made[item] + 1; stages->made[item] >= 0 && k <= stages->read[item]; k++) {
      costs->state_bytes[(int64_t)stages->made[item] * stages->n + k] += stages->problem->item[item].bytes;
    }
  }
  for (int32_t i = stages->n - 2; i >= 0; i--) {
    for (int32_t k = i + 2; k < stages->n; k++) {
      costs->state_bytes[(int64_t)i * stages->n + k] += costs->state_bytes[(int64_t)(i + 1) * stages->n + k];
    }
  }
}

static plim_status measure_all(plim_stage_costs *costs) {
  const plim_stages *stages = costs->stages;
  const plim_problem *p = stages->problem;
  meter m = {.costs = costs, .stages = stages, .problem = p, .schedule = {.ctx = p->ctx}};
  candidate *list = NULL;
  plim_status status;
  PLIM_CHECK(plim_demand_make(p, &m.demand));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *m.alive, &m.alive));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *list, &list));
  for (m.stage = 0; m.stage < stages->n; m.stage++) {
    set_options(costs, m.stage, list);
    PLIM_CHECK(measure(&m));
  }
done:
  plim_demand_free(&m.demand);
  plim_schedule_free(&m.schedule);
  plim_release(p->ctx, m.alive, p->n_items, sizeof *m.alive);
  plim_release(p->ctx, list, p->n_items, sizeof *list);
  return status;
}

plim_status plim_stage_costs_new(const plim_stages *stages, plim_stage_costs **out) {
  plim_context *ctx = stages->problem->ctx;
  plim_stage_costs *costs = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *costs, &costs));
  costs->stages = stages;
  PLIM_CHECK(plim_allocate(ctx, stages->n, sizeof *costs->stage, &costs->stage));
  PLIM_CHECK(plim_allocate(ctx, (int64_t)stages->n * stages->n, sizeof *costs->state_bytes, &costs->state_bytes));
  PLIM_CHECK(plim_allocate(ctx, stages->problem->n_items, sizeof *costs->drop_at, &costs->drop_at));
  sum_states(costs);
  PLIM_CHECK(measure_all(costs));
  costs->chain = (plim_rotor_chain){.n = stages->n, .stage = costs->stage, .state_bytes = costs->state_bytes};
  *out = costs;
done:
  if (status != PLIM_OK) plim_stage_costs_free(costs);
  return status;
}

void plim_stage_costs_free(plim_stage_costs *costs) {
  if (!costs) return;
  const plim_stages *stages = costs->stages;
  plim_context *ctx = stages->problem->ctx;
  plim_release(ctx, costs->stage, stages->n, sizeof *costs->stage);
  plim_release(ctx, costs->state_bytes, (int64_t)stages->n * stages->n, sizeof *costs->state_bytes);
  plim_release(ctx, costs->drop_at, stages->problem->n_items, sizeof *costs->drop_at);
  plim_release(ctx, costs, 1, sizeof *costs);
}
