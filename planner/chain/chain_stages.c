/* Divides a step into stages: the forward part at candidates, the tail by the stages whose results it needs. The tail
 * begins with what needs the last stage alone. Its part of a stage ends before the first op that goes back to an
 * earlier stage. O(graph). */
#include "planner/chain/chain.h"

/* Where stages begin: after candidates. Where there are more than `max_stages`, stages of about equal bytes. */
static void place_stages(plim_stages *stages, plim_checkpoint_kind kind, int32_t max_stages) {
  const plim_forward *forward = &stages->forward;
  int64_t all = 0, made = 0;
  int32_t candidates = 0;
  for (int32_t i = 0; i < forward->n; i++) {
    candidates += kind == PLIM_CHECKPOINT_LINEAR || forward->is_cut[forward->op[i]];
    all += plim_problem_bytes_written(stages->problem, forward->op[i]);
  }
  int64_t stride = candidates < max_stages ? 0 : all / max_stages + 1;
  stages->n = 1;
  for (int32_t i = 0; i + 1 < forward->n; i++) {
    made += plim_problem_bytes_written(stages->problem, forward->op[i]);
    if (kind == PLIM_CHECKPOINT_CUTS && !forward->is_cut[forward->op[i]]) continue;
    if (made < stride || stages->n == max_stages) continue;
    stages->first[stages->n++] = i + 1;
    made = 0;
  }
  stages->first[stages->n] = forward->n;
}

static void find_items(plim_stages *stages) {
  const plim_problem *p = stages->problem;
  for (int32_t item = 0; item < p->n_items; item++) stages->made[item] = stages->read[item] = -1;
  for (int32_t i = 0; i < stages->n; i++) {
    for (int32_t k = stages->first[i]; k < stages->first[i + 1]; k++) {
      const plim_planned_op *op = &p->op[stages->forward.op[k]];
      for (int32_t j = 0; j < op->writes.n; j++) stages->made[op->writes.at[j]] = stages->read[op->writes.at[j]] = i;
      for (int32_t j = 0; j < op->reads.n; j++) stages->read[op->reads.at[j]] = i;
    }
  }
}

static plim_status list_states(plim_stages *stages) {
  const plim_problem *p = stages->problem;
  int64_t total = 0, at = 0;
  for (int32_t item = 0; item < p->n_items; item++) {
    total += stages->made[item] >= 0 ? stages->read[item] - stages->made[item] : 0;
  }
  PLIM_TRY(plim_allocate(p->ctx, total, sizeof *stages->state_item, &stages->state_item));
  stages->n_state_items = total;
  for (int32_t item = 0; item < p->n_items; item++) {
    for (int32_t k = stages->made[item] + 1; stages->made[item] >= 0 && k <= stages->read[item]; k++) {
      stages->state[k].n++;
    }
  }
  for (int32_t k = 0; k <= stages->n; k++) {
    stages->state[k].at = stages->state_item + at;
    at += stages->state[k].n;
    stages->state[k].n = 0;
  }
  for (int32_t item = 0; item < p->n_items; item++) {
    for (int32_t k = stages->made[item] + 1; stages->made[item] >= 0 && k <= stages->read[item]; k++) {
      stages->state_item[(stages->state[k].at - stages->state_item) + stages->state[k].n++] = item;
    }
  }
  return PLIM_OK;
}

/* The lowest stage that an op of the tail goes back to. */
static int32_t stage_needed(const plim_stages *stages, int32_t v) {
  const plim_ids *reads = &stages->problem->op[v].reads;
  int32_t lowest = stages->n;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i];
    if (stages->made[item] >= 0 && stages->read[item] < lowest) lowest = stages->read[item];
  }
  return lowest;
}

static void find_tail(plim_stages *stages) {
  int32_t v = stages->forward.n > 0 ? stages->forward.op[stages->forward.n - 1] + 1 : 0;
  stages->tail[stages->n] = v;
  for (int32_t i = stages->n - 1; i >= 0; i--) {
    while (v < stages->problem->n_ops && stage_needed(stages, v) >= i) v++;
    stages->tail[i] = v;
  }
  stages->tail[0] = stages->problem->n_ops;
}

plim_status plim_stages_new(const plim_problem *p, plim_checkpoint_kind kind, int32_t max_stages, plim_stages **out) {
  plim_stages *stages = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *stages, &stages));
  stages->problem = p;
  PLIM_TRY_OR_DONE(plim_forward_make(p, &stages->forward));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops + 2, sizeof *stages->first, &stages->first));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops + 2, sizeof *stages->tail, &stages->tail));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_ops + 2, sizeof *stages->state, &stages->state));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *stages->made, &stages->made));
  PLIM_TRY_OR_DONE(plim_allocate(p->ctx, p->n_items, sizeof *stages->read, &stages->read));
  place_stages(stages, kind, max_stages);
  find_items(stages);
  PLIM_TRY_OR_DONE(list_states(stages));
  find_tail(stages);
  *out = stages;
done:
  if (status != PLIM_OK) plim_stages_free(stages);
  return status;
}

int plim_stages_is_handed_on(const plim_stages *stages, int32_t item, int32_t i) {
  const plim_ids *readers = &stages->problem->item[item].readers;
  if (stages->made[item] < i || stages->read[item] > stages->made[item] || readers->n == 0) return 0;
  return readers->at[readers->n - 1] >= stages->tail[i];
}

void plim_stages_free(plim_stages *stages) {
  if (!stages) return;
  const plim_problem *p = stages->problem;
  plim_forward_free(&stages->forward);
  plim_release(p->ctx, stages->first, p->n_ops + 2, sizeof *stages->first);
  plim_release(p->ctx, stages->tail, p->n_ops + 2, sizeof *stages->tail);
  plim_release(p->ctx, stages->state, p->n_ops + 2, sizeof *stages->state);
  plim_release(p->ctx, stages->made, p->n_items, sizeof *stages->made);
  plim_release(p->ctx, stages->read, p->n_items, sizeof *stages->read);
  plim_release(p->ctx, stages->state_item, stages->n_state_items, sizeof *stages->state_item);
  plim_release(p->ctx, stages, 1, sizeof *stages);
}
