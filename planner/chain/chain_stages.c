/* Divides a step into stages: the forward part at candidates, the tail by the stages whose results it needs. The tail
 * begins with what needs the last stage alone. Its part of a stage ends before the first op that goes back to an
 * earlier stage. O(graph). */
#include "planner/chain/chain_stages.h"

#include "planner/chain/checkpoints.h"

/* Where stages begin: after candidates. Where there are more than `max_stages`, stages of about equal bytes. */
static void place_stages(plim_stages *s, plim_checkpoint_kind kind, int32_t max_stages) {
  const plim_forward *f = &s->forward;
  int64_t all = 0, made = 0;
  int32_t candidates = 0;
  for (int32_t i = 0; i < f->n; i++) {
    candidates += kind == PLIM_CHECKPOINT_LINEAR || f->is_cut[f->op[i]];
    all += plim_problem_bytes_written(s->problem, f->op[i]);
  }
  int64_t stride = candidates < max_stages ? 0 : all / max_stages + 1;
  s->n = 1;
  for (int32_t i = 0; i + 1 < f->n; i++) {
    made += plim_problem_bytes_written(s->problem, f->op[i]);
    if (kind == PLIM_CHECKPOINT_CUTS && !f->is_cut[f->op[i]]) continue;
    if (made < stride || s->n == max_stages) continue;
    s->first[s->n++] = i + 1;
    made = 0;
  }
  s->first[s->n] = f->n;
}

static void find_items(plim_stages *s) {
  const plim_problem *p = s->problem;
  for (int32_t item = 0; item < p->n_items; item++) s->made[item] = s->read[item] = -1;
  for (int32_t i = 0; i < s->n; i++) {
    for (int32_t k = s->first[i]; k < s->first[i + 1]; k++) {
      const plim_planned_op *op = &p->op[s->forward.op[k]];
      for (int32_t j = 0; j < op->writes.n; j++) s->made[op->writes.at[j]] = s->read[op->writes.at[j]] = i;
      for (int32_t j = 0; j < op->reads.n; j++) s->read[op->reads.at[j]] = i;
    }
  }
}

static plim_status list_states(plim_stages *s) {
  const plim_problem *p = s->problem;
  int64_t total = 0, at = 0;
  for (int32_t item = 0; item < p->n_items; item++) total += s->made[item] >= 0 ? s->read[item] - s->made[item] : 0;
  PLIM_TRY(plim_allocate(p->ctx, total, sizeof *s->state_item, &s->state_item));
  s->n_state_items = total;
  for (int32_t item = 0; item < p->n_items; item++) {
    for (int32_t k = s->made[item] + 1; s->made[item] >= 0 && k <= s->read[item]; k++) s->state[k].n++;
  }
  for (int32_t k = 0; k <= s->n; k++) {
    s->state[k].at = s->state_item + at;
    at += s->state[k].n;
    s->state[k].n = 0;
  }
  for (int32_t item = 0; item < p->n_items; item++) {
    for (int32_t k = s->made[item] + 1; s->made[item] >= 0 && k <= s->read[item]; k++) {
      s->state_item[(s->state[k].at - s->state_item) + s->state[k].n++] = item;
    }
  }
  return PLIM_OK;
}

/* The lowest stage that an op of the tail goes back to. */
static int32_t stage_needed(const plim_stages *s, int32_t v) {
  const plim_ids *reads = &s->problem->op[v].reads;
  int32_t lowest = s->n;
  for (int32_t i = 0; i < reads->n; i++) {
    int32_t item = reads->at[i];
    if (s->made[item] >= 0 && s->read[item] < lowest) lowest = s->read[item];
  }
  return lowest;
}

static void find_tail(plim_stages *s) {
  int32_t v = s->forward.n > 0 ? s->forward.op[s->forward.n - 1] + 1 : 0;
  s->tail[s->n] = v;
  for (int32_t i = s->n - 1; i >= 0; i--) {
    while (v < s->problem->n_ops && stage_needed(s, v) >= i) v++;
    s->tail[i] = v;
  }
  s->tail[0] = s->problem->n_ops;
}

plim_status plim_stages_new(const plim_problem *p, plim_checkpoint_kind kind, int32_t max_stages, plim_stages **out) {
  plim_stages *s = NULL;
  plim_status status;
  PLIM_TRY(plim_allocate(p->ctx, 1, sizeof *s, &s));
  s->problem = p;
  PLIM_CHECK(plim_forward_make(p, &s->forward));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops + 2, sizeof *s->first, &s->first));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops + 2, sizeof *s->tail, &s->tail));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_ops + 2, sizeof *s->state, &s->state));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *s->made, &s->made));
  PLIM_CHECK(plim_allocate(p->ctx, p->n_items, sizeof *s->read, &s->read));
  place_stages(s, kind, max_stages);
  find_items(s);
  PLIM_CHECK(list_states(s));
  find_tail(s);
  *out = s;
done:
  if (status != PLIM_OK) plim_stages_free(s);
  return status;
}

int plim_stages_is_handed_on(const plim_stages *s, int32_t item, int32_t i) {
  const plim_ids *readers = &s->problem->item[item].readers;
  if (s->made[item] < i || s->read[item] > s->made[item] || readers->n == 0) return 0;
  return readers->at[readers->n - 1] >= s->tail[i];
}

void plim_stages_free(plim_stages *s) {
  if (!s) return;
  const plim_problem *p = s->problem;
  plim_forward_free(&s->forward);
  plim_release(p->ctx, s->first, p->n_ops + 2, sizeof *s->first);
  plim_release(p->ctx, s->tail, p->n_ops + 2, sizeof *s->tail);
  plim_release(p->ctx, s->state, p->n_ops + 2, sizeof *s->state);
  plim_release(p->ctx, s->made, p->n_items, sizeof *s->made);
  plim_release(p->ctx, s->read, p->n_items, sizeof *s->read);
  plim_release(p->ctx, s->state_item, s->n_state_items, sizeof *s->state_item);
  plim_release(p->ctx, s, 1, sizeof *s);
}
