/* The costs of stages, for Rotor's recurrence. The forward ops of a stage, and its part of the tail, are run on demand
 * with everything else available. A walk backwards over that schedule gives live bytes at each run. */
#include "planner/chain/chain.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"

/* Options of a stage beside the first: each holds one part in so many less. Set by trial; changes plans of rotor, and
 * first plans of search. */
enum { QUARTERS = 4 };

typedef struct stage_meter {
  plim_stage_costs *costs;
  const plim_stages *stages;
  const plim_problem *problem;
  plim_demand demand;
  plim_schedule schedule;
  uint8_t *alive; /* [n_items] */
  int32_t stage;
} stage_meter;

/* Does the item count in this stage's figures? What it makes, and what the tail or later stages hand to its tail. */
static int is_counted(const stage_meter *meter, int32_t item) {
  int32_t made = meter->stages->made[item];
  if (made < 0) return meter->problem->item[item].producer >= 0;
  return made == meter->stage || (made > meter->stage && meter->stages->read[item] == made);
}

/* Is the item handed on after the tail's part of stage i? */
static int is_handed_on(const stage_meter *meter, int32_t item, int32_t i) {
  const plim_item *it = &meter->problem->item[item];
  if (meter->stages->made[item] >= 0) return plim_stages_is_handed_on(meter->stages, item, i);
  if (it->producer < 0 || it->producer >= meter->stages->tail[i]) return 0;
  return it->is_output || (it->readers.n > 0 && it->readers.at[it->readers.n - 1] >= meter->stages->tail[i]);
}

static int64_t set_alive(stage_meter *meter, int32_t item, int alive) {
  if (meter->alive[item] == alive || !is_counted(meter, item)) return 0;
  meter->alive[item] = (uint8_t)alive;
  return alive ? meter->problem->item[item].bytes : -meter->problem->item[item].bytes;
}

/* Most bytes over runs [from, to) of the schedule, when `bytes` are alive after it. */
static int64_t peak_backward(stage_meter *meter, int32_t from, int32_t to, int64_t bytes) {
  int64_t peak = bytes;
  for (int32_t j = to - 1; j >= from; j--) {
    const plim_planned_op *op = &meter->problem->op[meter->schedule.op[j]];
    for (int32_t k = 0; k < op->writes.n; k++) bytes += set_alive(meter, op->writes.at[k], 1);
    for (int32_t k = 0; k < op->reads.n; k++) bytes += set_alive(meter, op->reads.at[k], 1);
    if (bytes + op->choice[0].workspace_bytes > peak) peak = bytes + op->choice[0].workspace_bytes;
    for (int32_t k = 0; k < op->writes.n; k++) bytes += set_alive(meter, op->writes.at[k], 0);
  }
  return peak;
}

static int64_t time_of(const stage_meter *meter, int32_t from) {
  int64_t time_ns = 0;
  for (int32_t j = from; j < meter->schedule.n; j++)
    time_ns += meter->problem->op[meter->schedule.op[j]].choice[0].time_ns;
  return time_ns;
}

static void begin_stage(stage_meter *meter) {
  plim_demand_begin(&meter->demand, &meter->schedule, INT32_MAX);
  for (int32_t item = 0; item < meter->problem->n_items; item++) {
    meter->demand.available[item] = meter->stages->made[item] != meter->stage;
  }
}

static plim_status run_forward(stage_meter *meter) {
  for (int32_t k = meter->stages->first[meter->stage]; k < meter->stages->first[meter->stage + 1]; k++) {
    PLIM_TRY(plim_demand_run(&meter->demand, meter->stages->forward.op[k]));
  }
  return PLIM_OK;
}

static plim_status run_tail(stage_meter *meter) {
  for (int32_t v = meter->stages->tail[meter->stage + 1]; v < meter->stages->tail[meter->stage]; v++) {
    PLIM_TRY(plim_demand_run(&meter->demand, v));
  }
  return PLIM_OK;
}

static int64_t tail_peak(stage_meter *meter, int32_t from) {
  int64_t bytes = 0;
  memset(meter->alive, 0, (size_t)meter->problem->n_items);
  for (int32_t item = 0; item < meter->problem->n_items; item++) {
    if (is_handed_on(meter, item, meter->stage)) bytes += set_alive(meter, item, 1);
  }
  return peak_backward(meter, from, meter->schedule.n, bytes);
}

static int is_held(const stage_meter *meter, int32_t item, int32_t option) {
  return meter->stages->read[item] > meter->stage || meter->costs->drop_at[item] > option;
}

/* Forward with the items of an option held after it; *held receives their bytes. */
static int64_t forward_peak(stage_meter *meter, int32_t option, int64_t *held) {
  *held = 0;
  memset(meter->alive, 0, (size_t)meter->problem->n_items);
  for (int32_t k = meter->stages->first[meter->stage]; k < meter->stages->first[meter->stage + 1]; k++) {
    const plim_ids *writes = &meter->problem->op[meter->stages->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) {
      int32_t item = writes->at[j];
      meter->demand.available[item] = (uint8_t)is_held(meter, item, option);
      if (is_held(meter, item, option)) *held += set_alive(meter, item, 1);
    }
  }
  return peak_backward(meter, 0, meter->schedule.n, *held);
}

static plim_status measure_option(stage_meter *meter, int32_t option, plim_rotor_option *out) {
  begin_stage(meter);
  PLIM_TRY(run_forward(meter));
  int32_t from = meter->schedule.n;
  out->forward_bytes = forward_peak(meter, option, &out->held_bytes);
  PLIM_TRY(run_tail(meter));
  out->back_bytes = tail_peak(meter, from);
  out->time_ns = time_of(meter, 0);
  return PLIM_OK;
}

static plim_status measure_stage(stage_meter *meter) {
  plim_rotor_stage *stage = &meter->costs->stage[meter->stage];
  int64_t held;
  for (int32_t item = 0; item < meter->problem->n_items; item++) {
    if (is_handed_on(meter, item, meter->stage + 1)) stage->handed_bytes += meter->problem->item[item].bytes;
  }
  begin_stage(meter);
  PLIM_TRY(run_forward(meter));
  stage->forward_ns = time_of(meter, 0);
  stage->forward_bytes = forward_peak(meter, PLIM_ROTOR_OPTIONS, &held);
  for (int32_t o = 0; o < stage->n_options; o++) PLIM_TRY(measure_option(meter, o, &stage->option[o]));
  begin_stage(meter);
  if (meter->stage == meter->stages->n - 1) PLIM_TRY(run_forward(meter)); /* it has not run before */
  PLIM_TRY(run_tail(meter));
  stage->back_ns = time_of(meter, 0);
  stage->back_bytes = tail_peak(meter, 0);
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
  stage_meter meter = {.costs = costs, .stages = stages, .problem = p, .schedule = {.ctx = p->ctx}};
  candidate *list = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_demand_make(p, &meter.demand));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *meter.alive, &meter.alive));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *list, &list));
  for (meter.stage = 0; meter.stage < stages->n; meter.stage++) {
    set_options(costs, meter.stage, list);
    PLIM_TRY_OR_DONE(measure_stage(&meter));
  }
done:
  plim_demand_free(&meter.demand);
  plim_schedule_free(&meter.schedule);
  plim_release(p->ctx, meter.alive, p->n_items, sizeof *meter.alive);
  plim_release(p->ctx, list, p->n_items, sizeof *list);
  return status;
}

plim_status plim_stage_costs_new(const plim_stages *stages, plim_stage_costs **out) {
  plim_context *ctx = stages->problem->ctx;
  plim_stage_costs *costs = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *costs, &costs));
  costs->stages = stages;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, stages->n, sizeof *costs->stage, &costs->stage));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, (int64_t)stages->n * stages->n, sizeof *costs->state_bytes, &costs->state_bytes));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, stages->problem->n_items, sizeof *costs->drop_at, &costs->drop_at));
  sum_states(costs);
  PLIM_TRY_OR_DONE(measure_all(costs));
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
