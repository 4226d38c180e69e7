/* Appends the runs of moves on stages to a schedule. The first time, the forward part runs in program order with the
 * effects between its ops. Later only what a move needs runs. */
#include "planner/chain/chain.h"

#include <string.h>

plim_status plim_stage_runner_make(const plim_stages *stages, plim_stage_runner *out) {
  const plim_problem *p = stages->problem;
  plim_stage_runner runner = {.stages = stages, .schedule = {.ctx = p->ctx}};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_demand_make(p, &runner.demand));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *runner.held, &runner.held));
  *out = runner;
done:
  if (status != PLIM_OK) plim_stage_runner_free(&runner);
  return status;
}

void plim_stage_runner_free(plim_stage_runner *runner) {
  if (!runner->stages) return;
  const plim_problem *p = runner->stages->problem;
  plim_demand_free(&runner->demand);
  plim_release(p->ctx, runner->held, p->n_items, sizeof *runner->held);
  plim_schedule_free(&runner->schedule);
  *runner = (plim_stage_runner){0};
}

void plim_stage_begin(plim_stage_runner *runner, int32_t runs_limit) {
  plim_demand_begin(&runner->demand, &runner->schedule, runs_limit);
  memset(runner->held, 0, (size_t)runner->stages->problem->n_items * sizeof *runner->held);
  runner->next = 0;
}

/* The forward ops of stage i for the first time; 0: they have run before. */
static int is_first_time(const plim_stage_runner *runner, int32_t i) {
  const plim_stages *stages = runner->stages;
  return stages->first[i + 1] > stages->first[i] && runner->next <= stages->forward.op[stages->first[i + 1] - 1];
}

static plim_status run_first_time(plim_stage_runner *runner, int32_t i) {
  const plim_stages *stages = runner->stages;
  for (int32_t end = stages->forward.op[stages->first[i + 1] - 1]; runner->next <= end; runner->next++) {
    PLIM_TRY(plim_demand_run(&runner->demand, runner->next));
  }
  return PLIM_OK;
}

static plim_status make_item(plim_stage_runner *runner, int32_t item) {
  const plim_problem *p = runner->stages->problem;
  if (runner->demand.available[item]) return PLIM_OK;
  const plim_planned_op *op = &p->op[p->item[item].producer];
  for (int32_t i = 0; i < op->closed_by.n; i++) {
    if (runner->demand.ran[op->closed_by.at[i]]) {
      return PLIM_OK; /* an update that the op must not see has run: it cannot run again */
    }
  }
  return plim_demand_run(&runner->demand, p->item[item].producer);
}

/* Evict an item that no checkpoint holds. */
static void evict(plim_stage_runner *runner, int32_t item) {
  if (runner->held[item] == 0) runner->demand.available[item] = 0;
}

/* Evict what stage i wrote, except items of state i + 1. */
static void evict_stage(plim_stage_runner *runner, int32_t i) {
  const plim_stages *stages = runner->stages;
  for (int32_t k = stages->first[i]; k < stages->first[i + 1]; k++) {
    const plim_ids *writes = &stages->problem->op[stages->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) {
      if (stages->read[writes->at[j]] <= i) evict(runner, writes->at[j]);
    }
  }
}

plim_status plim_stage_advance(plim_stage_runner *runner, int32_t i) {
  const plim_stages *stages = runner->stages;
  if (is_first_time(runner, i)) PLIM_TRY(run_first_time(runner, i));
  for (int32_t k = 0; k < stages->state[i + 1].n; k++) PLIM_TRY(make_item(runner, stages->state[i + 1].at[k]));
  for (int32_t k = 0; k < stages->state[i].n; k++) {
    if (stages->read[stages->state[i].at[k]] <= i) evict(runner, stages->state[i].at[k]);
  }
  evict_stage(runner, i);
  return PLIM_OK;
}

void plim_stage_keep(plim_stage_runner *runner, int32_t k) {
  const plim_ids *state = &runner->stages->state[k];
  for (int32_t i = 0; i < state->n; i++) runner->held[state->at[i]]++;
}

void plim_stage_release(plim_stage_runner *runner, int32_t k) {
  const plim_ids *state = &runner->stages->state[k];
  for (int32_t i = 0; i < state->n; i++) {
    runner->held[state->at[i]]--;
    if (!runner->may_linger) evict(runner, state->at[i]);
  }
}

/* Is the item, made in stage i, on the tape of this option? */
static int is_taped(const plim_stage_runner *runner, int32_t item, int32_t i, int32_t option) {
  return runner->stages->read[item] > i || runner->drop_at[item] > option;
}

plim_status plim_stage_tape(plim_stage_runner *runner, int32_t i, int32_t option) {
  const plim_stages *stages = runner->stages;
  if (is_first_time(runner, i)) PLIM_TRY(run_first_time(runner, i));
  for (int32_t k = stages->first[i]; k < stages->first[i + 1]; k++) {
    const plim_ids *writes = &stages->problem->op[stages->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) {
      if (!is_taped(runner, writes->at[j], i, option)) continue;
      PLIM_TRY(make_item(runner, writes->at[j]));
      runner->held[writes->at[j]]++;
    }
  }
  evict_stage(runner, i);
  return PLIM_OK;
}

void plim_stage_untape(plim_stage_runner *runner, int32_t i, int32_t option) {
  const plim_stages *stages = runner->stages;
  for (int32_t k = stages->first[i]; k < stages->first[i + 1]; k++) {
    const plim_ids *writes = &stages->problem->op[stages->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) runner->held[writes->at[j]] -= is_taped(runner, writes->at[j], i, option);
  }
}

/* After the tail's part of stage i. */
static void give_up_after(plim_stage_runner *runner, int32_t item, int32_t i) {
  if (!plim_stages_is_handed_on(runner->stages, item, i)) evict(runner, item);
}

plim_status plim_stage_back(plim_stage_runner *runner, int32_t i) {
  const plim_stages *stages = runner->stages;
  int32_t from = runner->schedule.n;
  if (is_first_time(runner, i)) PLIM_TRY(run_first_time(runner, i));
  for (int32_t v = stages->tail[i + 1]; v < stages->tail[i]; v++) PLIM_TRY(plim_demand_run(&runner->demand, v));
  for (int32_t j = from; j < runner->schedule.n; j++) {
    int32_t v = runner->schedule.op[j];
    const plim_ids *writes = &stages->problem->op[v].writes;
    for (int32_t k = 0; k < writes->n && stages->forward.is_forward[v]; k++) give_up_after(runner, writes->at[k], i);
  }
  for (int32_t k = stages->first[i]; k < stages->first[i + 1]; k++) {
    const plim_ids *writes = &stages->problem->op[stages->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) give_up_after(runner, writes->at[j], i);
  }
  return PLIM_OK;
}
