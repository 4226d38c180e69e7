/* Appends the runs of moves on stages to a schedule. The first time, the forward part runs in program order with the
 * effects between its ops. Later only what a move needs runs. */
#include "planner/chain/rotor.h"

#include <string.h>

#include "planner/chain/chain_stages.h"
#include "planner/chain/checkpoints.h"

plim_status plim_stage_runner_make(const plim_stages *stages, plim_stage_runner *out) {
  const plim_problem *p = stages->problem;
  plim_stage_runner r = {.stages = stages, .schedule = {.ctx = p->ctx}};
  plim_status status;
  PLIM_CHECK(plim_demand_make(p, &r.demand));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *r.held, &r.held));
  *out = r;
done:
  if (status != PLIM_OK) plim_stage_runner_free(&r);
  return status;
}

void plim_stage_runner_free(plim_stage_runner *r) {
  if (!r->stages) return;
  const plim_problem *p = r->stages->problem;
  plim_demand_free(&r->demand);
  plim_release(p->ctx, r->held, p->n_items, sizeof *r->held);
  plim_schedule_free(&r->schedule);
  *r = (plim_stage_runner){0};
}

void plim_stage_begin(plim_stage_runner *r, int32_t runs_limit) {
  plim_demand_begin(&r->demand, &r->schedule, runs_limit);
  memset(r->held, 0, (size_t)r->stages->problem->n_items * sizeof *r->held);
  r->next = 0;
}

/* The forward ops of stage i for the first time; 0: they have run before. */
static int is_first_time(const plim_stage_runner *r, int32_t i) {
  const plim_stages *s = r->stages;
  return s->first[i + 1] > s->first[i] && r->next <= s->forward.op[s->first[i + 1] - 1];
}

static plim_status run_first_time(plim_stage_runner *r, int32_t i) {
  const plim_stages *s = r->stages;
  for (int32_t end = s->forward.op[s->first[i + 1] - 1]; r->next <= end; r->next++) {
    PLIM_TRY(plim_demand_run(&r->demand, r->next));
  }
  return PLIM_OK;
}

static plim_status make_item(plim_stage_runner *r, int32_t item) {
  const plim_problem *p = r->stages->problem;
  if (r->demand.available[item]) return PLIM_OK;
  const plim_planned_op *op = &p->op[p->item[item].producer];
  for (int32_t i = 0; i < op->closed_by.n; i++) {
    if (r->demand.ran[op->closed_by.at[i]])
      return PLIM_OK; /* an update that the op must not see has run: it cannot run again */
  }
  return plim_demand_run(&r->demand, p->item[item].producer);
}

/* Evict an item that no checkpoint holds. */
static void evict(plim_stage_runner *r, int32_t item) {
  if (r->held[item] == 0) r->demand.available[item] = 0;
}

/* Evict what stage i wrote, except items of state i + 1. */
static void evict_stage(plim_stage_runner *r, int32_t i) {
  const plim_stages *s = r->stages;
  for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) {
    const plim_ids *writes = &s->problem->op[s->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) {
      if (s->read[writes->at[j]] <= i) evict(r, writes->at[j]);
    }
  }
}

plim_status plim_stage_advance(plim_stage_runner *r, int32_t i) {
  const plim_stages *s = r->stages;
  if (is_first_time(r, i)) PLIM_TRY(run_first_time(r, i));
  for (int32_t k = 0; k < s->state[i + 1].n; k++) PLIM_TRY(make_item(r, s->state[i + 1].at[k]));
  for (int32_t k = 0; k < s->state[i].n; k++) {
    if (s->read[s->state[i].at[k]] <= i) evict(r, s->state[i].at[k]);
  }
  evict_stage(r, i);
  return PLIM_OK;
}

void plim_stage_keep(plim_stage_runner *r, int32_t k) {
  const plim_ids *state = &r->stages->state[k];
  for (int32_t i = 0; i < state->n; i++) r->held[state->at[i]]++;
}

void plim_stage_release(plim_stage_runner *r, int32_t k) {
  const plim_ids *state = &r->stages->state[k];
  for (int32_t i = 0; i < state->n; i++) {
    r->held[state->at[i]]--;
    if (!r->linger) evict(r, state->at[i]);
  }
}

/* Is the item, made in stage i, on the tape of this option? */
static int is_taped(const plim_stage_runner *r, int32_t item, int32_t i, int32_t option) {
  return r->stages->read[item] > i || r->drop_at[item] > option;
}

plim_status plim_stage_tape(plim_stage_runner *r, int32_t i, int32_t option) {
  const plim_stages *s = r->stages;
  if (is_first_time(r, i)) PLIM_TRY(run_first_time(r, i));
  for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) {
    const plim_ids *writes = &s->problem->op[s->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) {
      if (!is_taped(r, writes->at[j], i, option)) continue;
      PLIM_TRY(make_item(r, writes->at[j]));
      r->held[writes->at[j]]++;
    }
  }
  evict_stage(r, i);
  return PLIM_OK;
}

void plim_stage_untape(plim_stage_runner *r, int32_t i, int32_t option) {
  const plim_stages *s = r->stages;
  for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) {
    const plim_ids *writes = &s->problem->op[s->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) r->held[writes->at[j]] -= is_taped(r, writes->at[j], i, option);
  }
}

/* After the tail's part of stage i. */
static void give_up_after(plim_stage_runner *r, int32_t item, int32_t i) {
  if (!plim_stages_is_handed_on(r->stages, item, i)) evict(r, item);
}

plim_status plim_stage_back(plim_stage_runner *r, int32_t i) {
  const plim_stages *s = r->stages;
  int32_t from = r->schedule.n;
  if (is_first_time(r, i)) PLIM_TRY(run_first_time(r, i));
  for (int32_t v = s->tail[i + 1]; v < s->tail[i]; v++) PLIM_TRY(plim_demand_run(&r->demand, v));
  for (int32_t j = from; j < r->schedule.n; j++) {
    int32_t v = r->schedule.op[j];
    const plim_ids *writes = &s->problem->op[v].writes;
    for (int32_t k = 0; k < writes->n && s->forward.is_forward[v]; k++) give_up_after(r, writes->at[k], i);
  }
  for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) {
    const plim_ids *writes = &s->problem->op[s->forward.op[k]].writes;
    for (int32_t j = 0; j < writes->n; j++) give_up_after(r, writes->at[j], i);
  }
  return PLIM_OK;
}
